// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe unheard: a message that is to get lost, and two echoes behind it.
 *
 * Over UC and UD nobody tells the sender that a message was dropped.  What tells
 * it here are the echoes: all go the same way, so the answer that comes first, and
 * takes the one receive there is, belongs to the first message that was heard.
 * "behind" is how many of the echoes were not.
 */
#include <stdio.h>

#include "probe.h"

#define ECHO_TAG	4711
#define ECHO_ID		3	/* of the first; the next has the next */
#define ECHOES		2

static int post(struct link *l, uint64_t id, size_t at, size_t len, struct rtgt_err *err)
{
	const struct rtgt_wr wr = {
		.id = id, .opcode = IBV_WR_SEND, .mr = &l->buf, .offset = at, .len = (uint32_t)len,
	};

	return rtgt_qp_post(&l->qp, &wr, err);
}

/* All at once: over iWARP the reply to the first echo finds no receive, and ends the connection */
static int post_all(struct link *l, const struct option *o, struct rtgt_err *err)
{
	const size_t end = l->buf.len;
	struct rtgt_msg *msg;
	int ret;

	l->cm.ud.qkey ^= (uint32_t)o->qkey_xor;
	ret = post(l, SEND_ID, 0, make_msg(l, o), err);
	l->cm.ud.qkey ^= (uint32_t)o->qkey_xor;
	for (uint32_t i = 0; i < ECHOES && !ret; i++) {
		msg = (void *)(l->buf.buf + end - (i + 1) * sizeof(*msg));
		rtgt_encode_msg(msg, RTGT_MSG_ECHO, ECHO_TAG + i, 0);
		ret = post(l, ECHO_ID + i, end - (i + 1) * sizeof(*msg), sizeof(*msg), err);
	}
	return ret;
}

static int cmd_unheard(const struct option *o)
{
	struct rtgt_reply reply;
	struct rtgt_err err = {};
	struct ibv_wc first, last;
	struct link l;
	int ret;

	ret = open_link(&l, o, &err);
	if (!ret)
		ret = post_all(&l, o, &err);
	if (!ret)
		ret = wait_for(&l, SEND_ID, &first, &err);
	/* What waits in the queue when it is destroyed is never sent */
	if (!ret)
		ret = wait_for(&l, ECHO_ID + ECHOES - 1, &last, &err);
	if (!ret)
		ret = take_reply(&l, &reply, &err);
	if (ret)
		complain("unheard", &err);
	else
		printf("wc=%s heard=%d behind=%d\n", wc_name(first.status), reply.tag < ECHO_TAG,
		       reply.tag > ECHO_TAG);
	fflush(stdout);
	while (!ret && o->wait && getchar() != EOF)
		;
	close_link(&l);
	return ret ? 1 : 0;
}

static const struct arg unheard_args[] = {
	NUMBER(qkey_xor, "bits of the first message's Q_Key to change"),
	NUMBER(wait, "1: take no reply and do not disconnect until stdin ends"),
	{ }
};

const struct command unheard_command = {
	.name = "unheard",
	.help = "a message that the target is to drop, and two echoes after it",
	.run = cmd_unheard,
	.args = { unheard_args, message_args, link_args },
};
