// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe move: have the target READ our memory (op=pull) or WRITE it (op=push).
 *
 * The local memory is "len" bytes, and count=N requests, all under way together,
 * move an equal part of it each.  What should not work can be had as well.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

#define LOCAL_ID	3

struct mover {
	const struct option *o;
	struct link link, other;
	struct link *asked;
	struct rtgt_mr mem;
	struct rtgt_window window;
	bool pull;
};

static unsigned int ib_access(long long rights)
{
	return (rights & 1 ? IBV_ACCESS_REMOTE_READ : 0) |
	       (rights & 2 ? IBV_ACCESS_REMOTE_WRITE : 0);
}

static int make_memory(struct mover *m, struct rtgt_err *err)
{
	const struct option *o = m->o;
	unsigned int access = ib_access(o->rights) | (o->odp ? IBV_ACCESS_ON_DEMAND : 0);

	/* to be written from outside it must be writable from inside */
	if (o->rights & 2)
		access |= IBV_ACCESS_LOCAL_WRITE;
	if (o->window && o->bindable)
		access |= IBV_ACCESS_MW_BIND;
	if (rtgt_mr_create(&m->mem, m->link.qp.pd, "memory", (size_t)o->len, (int)access, NULL,
			   err))
		return -1;
	rtgt_pattern_fill(m->mem.buf, (size_t)o->len, (uint64_t)o->seed);
	rtgt_mr_arm(&m->mem, (size_t)o->len);
	return 0;
}

/* Bind or invalidate; prints how that went, and returns whether well */
static bool local(struct mover *m, const char *what, struct rtgt_wr *wr, struct rtgt_err *err)
{
	struct ibv_wc wc;

	wr->id = LOCAL_ID;
	if (rtgt_qp_post(&m->link.qp, wr, err)) {
		printf("%s=unposted\n", what);
		return false;
	}
	if (wait_for(&m->link, LOCAL_ID, &wc, err))
		return false;
	printf("%s=%s ", what, wc.status == IBV_WC_MW_BIND_ERR ? "bind" : wc_name(wc.status));
	return wc.status == IBV_WC_SUCCESS;
}

/* 0 to go on, 1 when there is no such window, -1 when it could not be tried */
static int make_window(struct mover *m, struct rtgt_err *err)
{
	const struct option *o = m->o;
	struct rtgt_wr bind = {
		.opcode = IBV_WR_BIND_MW, .window = &m->window, .mr = &m->mem,
		.offset = (size_t)o->window_at, .access = ib_access(o->window_rights),
		.len = (uint32_t)(o->window_len < 0 ? o->len : o->window_len),
	};
	struct rtgt_wr kill = { .opcode = IBV_WR_LOCAL_INV };

	err->text[0] = '\0';
	if (!o->window)
		return 0;
	if (!(m->link.qp.can & RTGT_CAN_WINDOW)) {
		puts("window=none");
		return 1;
	}
	if (rtgt_window_create(&m->window, m->link.qp.pd, err))
		return -1;
	if (!local(m, "window", &bind, err))
		return err->text[0] ? -1 : 1;
	kill.rkey = m->window.mw->rkey;
	if (o->kill && !local(m, "killed", &kill, err))
		return err->text[0] ? -1 : 1;
	return 0;
}

static int ask_for(struct mover *m, long long i, struct rtgt_err *err)
{
	const struct option *o = m->o;
	uint32_t rkey = o->window ? m->window.mw->rkey : m->mem.mr->rkey;
	struct rtgt_msg *msg = (void *)(m->asked->buf.buf + 64 * i);
	uint64_t part = (uint64_t)(o->len / o->count);
	struct rtgt_xfer xfer;
	const struct rtgt_wr wr = {
		.id = SEND_ID, .opcode = IBV_WR_SEND, .mr = &m->asked->buf,
		.offset = 64 * (size_t)i, .len = sizeof(*msg) + sizeof(xfer),
	};

	rtgt_encode_xfer(&xfer, (uint32_t)o->region, (uint64_t)o->offset + part * (uint64_t)i, part,
			 (uintptr_t)m->mem.buf + (uint64_t)o->at + part * (uint64_t)i,
			 rkey ^ (uint32_t)o->rkey_xor);
	rtgt_encode_msg(msg, m->pull ? RTGT_MSG_PULL : RTGT_MSG_PUSH, (uint32_t)i, sizeof(xfer));
	memcpy(msg + 1, &xfer, sizeof(xfer));
	return rtgt_qp_post(&m->asked->qp, &wr, err);
}

/*
 * Our device has refused, and our queue pair is in error.  Were we to disconnect now,
 * the target might hear of that first, and never learn why its request fails.
 */
static int wait_for_the_end(struct link *l)
{
	struct pollfd pfd = { .fd = l->cm.channel->fd, .events = POLLIN };
	struct rtgt_err err;

	while (!rtgt_cm_check(&l->cm, &err))
		if (poll(&pfd, 1, l->cm.param.timeout_ms) <= 0)
			return fputs("probe: move: the target does not disconnect\n", stderr), -1;
	puts("end=disconnected");
	return 0;
}

/* The answers, each in a small receive of its own */
static int take_answers(struct mover *m, struct rtgt_err *err)
{
	long long done = 0, ok = 0;
	struct rtgt_reply reply = {};
	struct ibv_wc wc;

	while (done < m->o->count) {
		int ret = rtgt_qp_wait(&m->asked->qp, &wc, err);

		if (ret == -ECONNRESET || (!ret && wc.status != IBV_WC_SUCCESS))
			return wait_for_the_end(m->asked);
		if (ret)
			return ret;
		if (wc.wr_id == SEND_ID)
			continue;
		if (rtgt_wire_reply(&reply, m->asked->recv.buf, wc.byte_len, err))
			return -1;
		done++;
		ok += reply.status == RTGT_OK;
	}
	printf("status=%s ok=%lld\n", status_name(reply.status), ok);
	return 0;
}

static int run(struct mover *m, struct rtgt_err *err)
{
	const struct option *o = m->o;
	const uint8_t was = m->mem.buf[0];
	const uint32_t before = rtgt_crc32(0, m->mem.buf, (size_t)o->len);
	struct rtgt_diff diff;
	int ret = make_window(m, err);
	uint32_t crc;

	if (ret)
		return ret < 0 ? ret : 0;
	/* open_link() has posted one */
	for (long long i = 1; i < o->count && !ret; i++)
		ret = rtgt_qp_post_recv(&m->asked->qp, RECV_ID, &m->asked->recv,
					(uint32_t)m->asked->recv.len, err);
	for (long long i = 0; i < o->count && !ret; i++)
		ret = ask_for(m, i, err);
	if (ret)
		return ret;
	if (o->leave) {
		puts("asked=1");
		fflush(stdout);
		while (__atomic_load_n(m->mem.buf, __ATOMIC_RELAXED) == was)
			sched_yield();
		puts("left=1");
		return 0;
	}
	ret = take_answers(m, err);
	if (!ret) {
		crc = rtgt_crc32(0, m->mem.buf, (size_t)o->len);
		printf("crc=%u changed=%d guards=%d\n", crc, crc != before,
		       rtgt_mr_check(&m->mem, (size_t)o->len, &diff));
	}
	if (!ret && o->elsewhere)
		printf("alive=%d\n", echo(&m->link, 1));
	return ret;
}

static int cmd_move(const struct option *o)
{
	struct mover m = { .o = o, .pull = !strcmp(o->op, "pull") };
	struct option link = *o;
	struct rtgt_err err = {};
	int ret = -1;

	link.depth = o->count;
	link.len = 64 * o->count;
	m.asked = o->elsewhere ? &m.other : &m.link;
	if (!open_link(&m.link, &link, &err) && !make_memory(&m, &err) &&
	    (!o->elsewhere || !open_link(&m.other, &link, &err)))
		ret = run(&m, &err);
	if (ret)
		complain("move", &err);
	/* the queue pair goes first: it may hold the window, and that the memory */
	rtgt_cm_disconnect(&m.link.cm);
	rtgt_window_destroy(&m.window);
	rtgt_mr_destroy(&m.mem);
	close_link(&m.other);
	close_link(&m.link);
	return ret ? 1 : 0;
}

static const struct arg move_args[] = {
	TEXT(op, "pull or push"),
	NUMBER(count, "number of requests that move an equal part each, all at a time"),
	NUMBER(at, "tell the target an address that many bytes after the memory's first one"),
	NUMBER(rights, "what the target may do to the memory: 1 READ, 2 WRITE, 3 both"),
	NUMBER(window, "1: tell the target the rkey of a memory window"),
	NUMBER(window_at, "offset of the window in the memory"),
	NUMBER(window_len, "bytes of the window"),
	NUMBER(window_rights, "what the window grants, as rights"),
	NUMBER(bindable, "0: the memory is not registered for windows"),
	NUMBER(kill, "1: invalidate the window before the target is asked"),
	NUMBER(elsewhere, "1: ask over another connection than that of the memory"),
	NUMBER(leave, "1: disconnect when the first byte of a push has arrived"),
	{ }
};

const struct command move_command = {
	.name = "move",
	.help = "have the target READ (op=pull) or WRITE (op=push) our memory",
	.run = cmd_move,
	.args = { move_args, wr_args, link_args },
};
