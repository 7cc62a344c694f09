// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe invalidate: kill the region's rkey with a SEND_WITH_INVALIDATE, and see
 * what can still be done with it.
 */
#include <errno.h>
#include <stdio.h>

#include "probe.h"

static int write_with(struct link *l, const struct option *o, const char *what, uint32_t rkey,
		      enum ibv_wc_status *status, struct rtgt_err *err)
{
	const struct rtgt_wr wr = {
		.id = SEND_ID, .opcode = IBV_WR_RDMA_WRITE, .mr = &l->buf, .rkey = rkey,
		.remote_addr = l->peer.region[0].addr + (uint64_t)o->offset,
		.len = (uint32_t)o->len,
	};
	struct ibv_wc wc;

	rtgt_pattern_fill(l->buf.buf, (size_t)o->len, (uint64_t)o->seed);
	if (rtgt_qp_post(&l->qp, &wr, err) || wait_for(l, SEND_ID, &wc, err))
		return -1;
	printf("%s=%s crc=%u\n", what, wc_name(wc.status),
	       rtgt_crc32(0, l->buf.buf, (size_t)o->len));
	*status = wc.status;
	return 0;
}

static int run(struct link *l, const struct option *o, struct rtgt_err *err)
{
	uint32_t old = l->peer.region[0].rkey;
	const struct rtgt_wr wr = {
		.id = SEND_ID, .opcode = IBV_WR_SEND_WITH_INV, .mr = &l->buf, .rkey = old,
		.len = (uint32_t)make_msg(l, o),
	};
	enum ibv_wc_status status;
	struct rtgt_range range;
	struct rtgt_reply reply;
	struct ibv_wc wc;
	struct tap tap;

	if (rtgt_qp_post(&l->qp, &wr, err) || wait_for(l, SEND_ID, &wc, err) ||
	    take_reply(l, &reply, err))
		return -1;
	printf("wc=%s ", wc_name(wc.status));
	print_reply(&reply, o);
	rtgt_encode_range(&range, 0, 0, 0);
	for (long long i = 0; i < o->rotate; i++)
		if (ask(l, RTGT_MSG_REVOKE, &range, sizeof(range), &reply, err))
			return -1;
	if (o->rotate) {
		printf("other=%d same_addr=%d\n", reply.region.rkey != old,
		       reply.region.addr == l->peer.region[0].addr);
		if (write_with(l, o, "new", reply.region.rkey, &status, err))
			return -1;
	}
	fflush(stdout);
	if (o->wait && getchar() == EOF)
		return rtgt_fail(err, EPIPE, "stdin ended");
	if (tap_open(&tap, l))
		return rtgt_fail(err, EIO, "no packet socket");
	if (write_with(l, o, "old", old, &status, err))
		return -1;
	tap_close(&tap, !survived(l, o, status));
	leave_refused(l, status);
	return 0;
}

static int cmd_invalidate(const struct option *o)
{
	struct rtgt_err err = {};
	struct link l;
	int ret = 1;

	if (!open_link(&l, o, &err))
		ret = run(&l, o, &err);
	if (ret)
		complain("invalidate", &err);
	close_link(&l);
	return ret ? 1 : 0;
}

static const struct arg invalidate_args[] = {
	NUMBER(rotate, "have the target make a new rkey N times, and use the last one"),
	NUMBER(wait, "1: wait for a line on stdin before the old rkey is used"),
	{ }
};

const struct command invalidate_command = {
	.name = "invalidate",
	.help = "invalidate the region's rkey by SEND_WITH_INVALIDATE, and use it",
	.run = cmd_invalidate,
	.args = { invalidate_args, wr_args, message_args, link_args },
};
