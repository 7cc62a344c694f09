// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe replies: the bytes of everything that a target sends, whether it is a reply or not.
 *
 * Sends "count" requests, "depth" of them at a time at most, and takes "expect" messages; each is
 * a line, as it arrived:
 *
 *	reply 0 bytes=20 hex=018100...
 *
 * The tags count from 0, and so do the seeds of the bodies.  A request whose reply does not come
 * keeps its place, so with depth=1 nothing follows it.  Then an echo, whose tag is 4711, shows that
 * nothing else is in transit: what comes before its reply is printed too.  Prints how it ended:
 * alive, silent (no message within the timeout), or disconnected.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

#define FENCE		4711
#define RECVS		32
#define HEX		96	/* bytes that are printed */

struct taker {
	const struct option *o;
	struct link link;
	struct rtgt_mr memory, recv[RECVS];
	long long asked, taken;
	const char *end;
};

static int ask_next(struct taker *t, long long tag, struct rtgt_err *err)
{
	struct option o = *t->o;
	size_t len, room = sizeof(struct rtgt_msg) + (size_t)o.body;
	struct rtgt_wr wr = { .id = SEND_ID, .opcode = IBV_WR_SEND, .mr = &t->link.buf };
	struct link at = t->link;

	o.tag = tag;
	o.seed += tag;
	if (tag == FENCE) {
		o.msg_op = RTGT_MSG_ECHO;
		o.body = 0;
	}
	/* of each request outstanding its own bytes */
	wr.offset = room * (size_t)(t->asked % o.depth);
	at.buf.buf += wr.offset;
	len = make_msg(&at, &o);
	wr.len = (uint32_t)len;
	t->asked++;
	return rtgt_qp_post(&t->link.qp, &wr, err);
}

static void print_bytes(const struct taker *t, const uint8_t *buf, uint32_t len)
{
	printf("reply %lld bytes=%u hex=", t->taken, len);
	for (uint32_t i = 0; i < len && i < HEX; i++)
		printf("%02x", buf[i]);
	putchar('\n');
	fflush(stdout);
}

/* 1: a message was printed; 2: it was the fence's reply */
static int take_one(struct taker *t, struct rtgt_err *err)
{
	const struct rtgt_msg *msg;
	struct rtgt_mr *recv;
	struct ibv_wc wc;
	int ret;

	do {
		ret = rtgt_qp_wait(&t->link.qp, &wc, err);
		if (ret)
			t->end = ret == -ETIMEDOUT ? "silent" : "disconnected";
		else if (wc.status != IBV_WC_SUCCESS)
			t->end = wc_name(wc.status);
		if (t->end)
			return 0;
	} while (wc.wr_id == SEND_ID);
	recv = wc.wr_id == RECV_ID ? &t->link.recv : &t->recv[wc.wr_id - RECV_ID - 1];
	msg = (const void *)recv->buf;
	if (wc.byte_len >= sizeof(*msg) && msg->op == (RTGT_MSG_ECHO | RTGT_MSG_REPLY) &&
	    msg->tag == htobe32(FENCE))
		return 2;
	print_bytes(t, recv->buf, wc.byte_len);
	t->taken++;
	return rtgt_qp_post_recv(&t->link.qp, wc.wr_id, recv, (uint32_t)recv->len, err) ? -1 : 1;
}

static int run(struct taker *t, struct rtgt_err *err)
{
	const struct option *o = t->o;
	size_t size = t->link.recv.len;
	int ret = rtgt_mr_create(&t->memory, t->link.qp.pd, "receives", RECVS * size,
				 IBV_ACCESS_LOCAL_WRITE, NULL, err);

	for (int i = 0; i < RECVS && !ret; i++) {
		t->recv[i] = t->memory;
		t->recv[i].buf += (size_t)i * size;
		t->recv[i].len = size;
		ret = rtgt_qp_post_recv(&t->link.qp, RECV_ID + 1 + (uint64_t)i, &t->recv[i],
					(uint32_t)size, err);
	}
	while (!ret && !t->end && t->taken < o->expect) {
		while (!ret && t->asked < o->count && t->asked - t->taken < o->depth)
			ret = ask_next(t, t->asked, err);
		if (!ret && take_one(t, err) < 0)
			ret = -1;
	}
	while (!ret && !t->end && t->asked < o->count)
		ret = ask_next(t, t->asked, err);
	if (!ret && !t->end)
		ret = ask_next(t, FENCE, err);
	while (!ret && !t->end) {
		ret = take_one(t, err);
		if (ret == 2)
			t->end = "alive";
		ret = ret < 0 ? ret : 0;
	}
	return ret;
}

static int cmd_replies(const struct option *o)
{
	struct taker t = { .o = o };
	struct option link = *o;
	struct rtgt_err err = {};
	int ret;

	link.len = o->depth * ((long long)sizeof(struct rtgt_msg) + o->body);
	link.depth = o->depth > RECVS ? o->depth : RECVS;
	ret = open_link(&t.link, &link, &err);
	if (!ret)
		ret = run(&t, &err);
	if (ret)
		complain("replies", &err);
	else
		printf("replies=%lld end=%s\n", t.taken, t.end);
	close_link(&t.link);
	rtgt_mr_destroy(&t.memory);
	return ret ? 1 : 0;
}

static const struct arg replies_args[] = {
	NUMBER(expect, "messages to take"),
	{ }
};

const struct command replies_command = {
	.name = "replies",
	.help = "the bytes of every message that the target sends",
	.run = cmd_replies,
	.args = { replies_args, message_args, link_args },
};
