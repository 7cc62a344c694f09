// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe traffic: WRITE without pause until stdin ends or a WRITE fails.
 *
 * Each WRITE is its own number, counted from 1, again and again in 64 bits, so the
 * target's bytes tell which was the last to land.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

struct traffic {
	const struct option *o;
	struct link link;
	struct rtgt_mr data;
	unsigned long posted, acked;
	bool asked, stop;
	const char *end;
};

/* Take what stdin holds; returns the number of lines, -1 at its end */
static int read_lines(int timeout)
{
	struct pollfd pfd = { .fd = STDIN_FILENO, .events = POLLIN };
	char text[64];
	int lines = 0;
	ssize_t n;

	if (poll(&pfd, 1, timeout) <= 0)
		return 0;
	n = read(STDIN_FILENO, text, sizeof(text));
	for (ssize_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	return n > 0 ? lines : -1;
}

static int post(struct traffic *t, struct rtgt_err *err)
{
	size_t len = (size_t)t->o->len, slot = t->posted % (unsigned long)t->o->depth;
	const struct rtgt_wr wr = {
		.id = SEND_ID, .opcode = IBV_WR_RDMA_WRITE, .mr = &t->data, .offset = slot * len,
		.len = (uint32_t)len,
		.remote_addr = t->link.peer.region[0].addr + (uint64_t)t->o->offset,
		.rkey = t->link.peer.region[0].rkey,
	};
	uint64_t number = ++t->posted;

	for (size_t i = 0; i + sizeof(number) <= len; i += sizeof(number))
		memcpy(t->data.buf + slot * len + i, &number, sizeof(number));
	return rtgt_qp_post(&t->link.qp, &wr, err);
}

/* In the middle of the WRITEs, which go on behind it */
static int ask_for_key(struct traffic *t, struct rtgt_err *err)
{
	struct rtgt_msg *msg = (void *)t->link.buf.buf;
	struct rtgt_range range;
	const struct rtgt_wr wr = {
		.id = RECV_ID + 1, .opcode = IBV_WR_SEND, .mr = &t->link.buf,
		.len = sizeof(*msg) + sizeof(range),
	};

	t->asked = true;
	rtgt_encode_range(&range, 0, 0, 0);
	rtgt_encode_msg(msg, RTGT_MSG_REVOKE, 0, sizeof(range));
	memcpy(msg + 1, &range, sizeof(range));
	return rtgt_qp_post(&t->link.qp, &wr, err);
}

static void take(struct traffic *t, struct rtgt_err *err)
{
	struct rtgt_reply reply;
	struct ibv_wc wc;

	if (rtgt_qp_wait(&t->link.qp, &wc, err)) {
		t->end = err->code == ETIMEDOUT ? "timeout" : "disconnected";
	} else if (wc.status != IBV_WC_SUCCESS) {
		t->end = wc_name(wc.status);
	} else if (wc.wr_id == RECV_ID) {
		if (rtgt_wire_reply(&reply, t->link.recv.buf, wc.byte_len, err))
			t->end = "reply";
		else
			printf("revoked=%s posted=%lu\n", status_name(reply.status), t->posted);
	} else if (wc.wr_id == SEND_ID && !t->acked++) {
		printf("started=1 conn_id=%u\n", t->link.peer.conn_id);
		fflush(stdout);
	}
}

static bool post_more(struct traffic *t, int *lines, struct rtgt_err *err)
{
	const struct option *o = t->o;

	while (!t->stop && t->posted - t->acked < (unsigned long)o->depth &&
	       (!o->step || !t->posted || *lines > 0)) {
		*lines -= t->posted > 0;
		if (post(t, err))
			return false;
		if (o->revoke && !t->asked && t->posted >= (unsigned long)o->revoke &&
		    ask_for_key(t, err))
			return false;
	}
	return true;
}

static void say_at(const struct traffic *t)
{
	printf("at=%lu\n", t->acked);
	fflush(stdout);
}

static void run(struct traffic *t, struct rtgt_err *err)
{
	bool step = t->o->step;
	int lines;

	while (!t->end) {
		bool idle = t->posted == t->acked;

		if (t->stop && idle)
			return;
		lines = t->stop ? 0 : read_lines(step && idle && t->posted ? -1 : 0);
		if (lines < 0)
			t->stop = true;
		if (lines > 0 && !step)
			say_at(t);
		if (!post_more(t, &lines, err))
			t->end = "unposted";
		if (!t->end && t->posted > t->acked)
			take(t, err);
		if (!t->end && step)
			say_at(t);
	}
}

static int cmd_traffic(const struct option *o)
{
	struct traffic t = { .o = o };
	struct option link = *o;
	struct rtgt_err err = {};
	struct tap tap;
	int ret;

	/* its message buffers are small */
	link.len = 64;
	ret = open_link(&t.link, &link, &err);
	if (!ret)
		ret = rtgt_mr_create(&t.data, t.link.qp.pd, "data",
				     (size_t)o->len * (size_t)o->depth, 0, NULL, &err);
	if (!ret)
		ret = tap_open(&tap, &t.link);
	if (ret) {
		complain("traffic", &err);
	} else {
		run(&t, &err);
		printf("writes=%lu\n", t.acked);
		tap_close(&tap, t.end);
		printf("end=%s\n", t.end ? t.end : "stdin");
		/* closing may take its time */
		fflush(stdout);
	}
	rtgt_mr_destroy(&t.data);
	close_link(&t.link);
	return ret ? 1 : 0;
}

static const struct arg traffic_args[] = {
	NUMBER(step, "1: one WRITE for each line on stdin; 0: a line asks for the number so far"),
	NUMBER(revoke, "after N WRITEs have the target rotate the rkey, and use the old one"),
	{ }
};

const struct command traffic_command = {
	.name = "traffic",
	.help = "WRITE until stdin ends or a WRITE fails",
	.run = cmd_traffic,
	.args = { traffic_args, wr_args, link_args },
};
