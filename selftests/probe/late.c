// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe late: a receive and a SEND that are posted to a queue pair in error, which completes both
 * as flushed, whenever they were posted.  A program that drains a queue pair relies on that: what
 * it posts last completes last.
 *
 * Prints the status of each, or none after the seconds of timeout.
 */
#include <errno.h>
#include <stdio.h>

#include "probe.h"

#define LATE_SEND	11
#define LATE_RECV	12

static int post(struct link *l, struct rtgt_err *err)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	const struct rtgt_wr wr = { .id = LATE_SEND, .opcode = IBV_WR_SEND };
	int ret;

	/* until it has a reply, the library may post to wake the peer */
	if (!echo(l, 0))
		return rtgt_fail(err, EIO, "no reply to an ECHO");
	if (ibv_modify_qp(l->qp.qp, &attr, IBV_QP_STATE))
		return rtgt_fail(err, EIO, "the queue pair cannot be put in error");
	ret = rtgt_qp_post_recv(&l->qp, LATE_RECV, &l->recv, l->recv.len, err);
	return ret ? ret : rtgt_qp_post(&l->qp, &wr, err);
}

static int cmd_late(const struct option *o)
{
	const char *sent = "none", *received = "none";
	struct rtgt_err err = {};
	struct option deep = *o;
	struct ibv_wc wc;
	struct link l;
	int ret;

	deep.depth = 2;
	ret = open_link(&l, &deep, &err);
	if (!ret)
		ret = post(&l, &err);
	for (int left = 2; !ret && left; ) {
		ret = next_wc(&l, &wc, &err);
		if (ret == -ETIMEDOUT) {
			ret = 0;
			break;
		}
		if (!ret && wc.wr_id == LATE_SEND)
			sent = wc_name(wc.status), left--;
		else if (!ret && wc.wr_id == LATE_RECV)
			received = wc_name(wc.status), left--;
	}
	if (ret)
		complain("late", &err);
	else
		printf("send=%s recv=%s\n", sent, received);
	close_link(&l);
	return ret ? 1 : 0;
}

const struct command late_command = {
	.name = "late",
	.help = "a receive and a SEND that are posted to a queue pair in error",
	.run = cmd_late,
	.args = { link_args },
};
