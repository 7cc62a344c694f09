// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe send: one SEND of any bytes, its reply, and an echo afterwards.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

/* What the operation needs, or as much of it as there is room for */
static void make_body(void *to, const struct option *o)
{
	union {
		struct rtgt_range range;
		struct rtgt_xfer xfer;
		struct rtgt_withhold withhold;
		struct rtgt_extents_query query;
	} body;
	size_t len = 0;

	switch (o->msg_op) {
	case RTGT_MSG_CHECKSUM:
	case RTGT_MSG_REVOKE:
		rtgt_encode_range(&body.range, (uint32_t)o->region, (uint64_t)o->offset,
				  (uint64_t)o->count);
		len = sizeof(body.range);
		break;
	case RTGT_MSG_PULL:
	case RTGT_MSG_PUSH:
		rtgt_encode_xfer(&body.xfer, (uint32_t)o->region, (uint64_t)o->offset,
				 (uint64_t)o->count, (uint64_t)o->addr, (uint32_t)o->rkey);
		len = sizeof(body.xfer);
		break;
	case RTGT_MSG_EXTENTS:
		rtgt_encode_query(&body.query, (uint32_t)o->region, (uint32_t)o->offset,
				  (uint32_t)o->count);
		len = sizeof(body.query);
		break;
	case RTGT_MSG_WITHHOLD:
		body.withhold.ms = htobe32((uint32_t)o->ms);
		len = sizeof(body.withhold);
		break;
	}
	memcpy(to, &body, len < (size_t)o->body ? len : (size_t)o->body);
}

/* The message as asked for, into the link's buffer; its length */
size_t make_msg(const struct link *l, const struct option *o)
{
	struct rtgt_msg *msg = (void *)l->buf.buf;
	size_t len = sizeof(*msg) + (size_t)o->body;

	rtgt_pattern_fill(msg + 1, (size_t)o->body, (uint64_t)o->seed);
	make_body(msg + 1, o);
	rtgt_encode_msg(msg, (enum rtgt_op)o->msg_op, (uint32_t)o->tag, (uint32_t)o->body);
	msg->version = (uint8_t)o->msg_version;
	msg->arg = htobe32((uint32_t)o->arg);
	if (o->msg_len >= 0)
		msg->len = htobe32((uint32_t)o->msg_len);
	return o->cut >= 0 ? (size_t)o->cut : len;
}

/* Send what the buffer holds and, when that went well, take the reply */
int exchange(struct link *l, size_t len, struct ibv_wc *wc, struct rtgt_reply *reply,
	     struct rtgt_err *err)
{
	const struct rtgt_wr wr = {
		.id = SEND_ID, .opcode = IBV_WR_SEND, .mr = &l->buf, .len = (uint32_t)len,
	};

	if (rtgt_qp_post(&l->qp, &wr, err) || wait_for(l, SEND_ID, wc, err))
		return -1;
	return wc->status == IBV_WC_SUCCESS ? take_reply(l, reply, err) : 0;
}

/* A request that is right, and what it is answered; the buffer's bytes are lost */
int ask(struct link *l, enum rtgt_op op, const void *body, uint32_t len, struct rtgt_reply *reply,
	struct rtgt_err *err)
{
	struct rtgt_msg *msg = (void *)l->buf.buf;
	struct ibv_wc wc;

	rtgt_encode_msg(msg, op, 0, len);
	memcpy(msg + 1, body, len);
	if (exchange(l, sizeof(*msg) + len, &wc, reply, err))
		return -1;
	if (wc.status != IBV_WC_SUCCESS)
		return rtgt_fail(err, 5, "request %d ended with %s", op, wc_name(wc.status));
	if (reply->status != RTGT_OK)
		return rtgt_fail(err, 5, "request %d was answered %s", op,
				 status_name(reply->status));
	return 0;
}

static int try_echo(struct link *l, uint32_t tag, struct rtgt_err *err)
{
	struct rtgt_msg *msg = (void *)l->buf.buf;
	struct rtgt_reply reply;
	struct ibv_wc wc;

	rtgt_encode_msg(msg, RTGT_MSG_ECHO, tag, 0);
	if (exchange(l, sizeof(*msg), &wc, &reply, err))
		return -1;
	if (wc.status == IBV_WC_SUCCESS && reply.op == RTGT_MSG_ECHO &&
	    reply.status == RTGT_OK && reply.tag == tag && !reply.len)
		return 0;
	return rtgt_fail(err, EPROTO, "another reply than to an ECHO");
}

/* An echo that must come back as it went */
bool echo(struct link *l, uint32_t tag)
{
	struct rtgt_err err;

	return !try_echo(l, tag, &err) || (complain("echo", &err), false);
}

/*
 * Did the connection survive a WRITE or a READ?  The completion says so, but not over iWARP: the
 * work request completes when TCP has its bytes, and the target may refuse it later.  There a
 * message after it shows whether the connection is alive, and this prints the answer.  A plain
 * client gets no reply to a message, and one whose receives are withheld must not send any.
 */
bool survived(struct link *l, const struct option *o, enum ibv_wc_status status)
{
	struct rtgt_err err;
	bool alive;

	if (!over_iwarp(l) || o->plain || o->blind || o->withhold)
		return status == IBV_WC_SUCCESS;
	l->watched = true;
	alive = status == IBV_WC_SUCCESS && !try_echo(l, 4712, &err);
	puts(alive ? "own=alive" : "own=dead");
	return alive;
}

void print_reply(const struct rtgt_reply *r, const struct option *o)
{
	struct rtgt_diff diff;

	printf("status=%s op=%u tag=%u len=%u arg=%u", status_name(r->status), r->op, r->tag,
	       r->len, r->arg);
	if (r->op == RTGT_MSG_CHECKSUM && r->status == RTGT_OK)
		printf(" crc=%u covered=%llu", r->crc, (unsigned long long)r->covered);
	if (r->op == RTGT_MSG_EXTENTS && r->status == RTGT_OK)
		printf(" extents=%u size=%llu listed=%u", r->total, (unsigned long long)r->size,
		       r->nr);
	if (r->op == RTGT_MSG_ECHO && r->status == RTGT_OK)
		printf(" same=%d", r->len == o->body &&
		       !rtgt_pattern_verify(r->body, r->len, (uint64_t)o->seed, &diff));
	putchar('\n');
}

static int cmd_send(const struct option *o)
{
	struct rtgt_reply reply = {};
	struct rtgt_err err = {};
	struct ibv_wc wc;
	struct link l;
	int ret = 1;

	if (open_link(&l, o, &err) || exchange(&l, make_msg(&l, o), &wc, &reply, &err)) {
		complain("send", &err);
		goto out;
	}
	printf("wc=%s\n", wc_name(wc.status));
	if (wc.status == IBV_WC_SUCCESS) {
		print_reply(&reply, o);
		printf("alive=%d\n", echo(&l, 4711));
	}
	ret = 0;
out:
	close_link(&l);
	return ret;
}

/* A message of the protocol */
const struct arg message_args[] = {
	NUMBER(msg_op, "operation, a number"),
	NUMBER(msg_version, "version"),
	NUMBER(msg_len, "length that the message says"),
	NUMBER(tag, "tag"),
	NUMBER(arg, "argument"),
	NUMBER(body, "bytes of the body"),
	NUMBER(cut, "bytes of the message that are sent"),
	NUMBER(seed, "of an echo's bytes"),
	NUMBER(region, "region of the body"),
	NUMBER(offset, "offset of the body"),
	NUMBER(count, "length of the body's range"),
	NUMBER(addr, "address of the body"),
	NUMBER(rkey, "rkey of the body"),
	NUMBER(ms, "how long receives are withheld"),
	{ }
};

const struct command send_command = {
	.name = "send",
	.help = "one SEND of any bytes, its reply, and an echo after it",
	.run = cmd_send,
	.args = { message_args, link_args },
};
