// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe rping: a client of the service "rping" that goes wrong in one way.
 *
 * It does count=N pings as rping does, and then sends a message that is as asked
 * for and tells how that ended.
 *
 * inv=1: it is a client of "rping-inv".  Each answer has to invalidate the rkey that was
 * announced.  That is a memory window's, bound anew for each message, or, where the device has
 * none (siw, which invalidates any rkey), that of memory registered anew.  The wrong message
 * announces an rkey that the target has invalidated.  If that is served, nothing was invalidated.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

#define SIZE		64
#define BUFFER		(64 * 1024)
#define BIND_ID		3
/* rxe shows user space the kernel's bit: Documentation/findings/rxe-invalidate-flag.rst */
#define WITH_INV	(IBV_WC_WITH_INV | 1U << 2)

struct announcement {
	uint64_t addr;
	uint32_t rkey;
	uint32_t size;
} __attribute__((packed));

/* Memory for the target; with inv=1, rkey is the one that was announced last */
struct memory {
	struct rtgt_mr mr;
	struct rtgt_window window;
	unsigned int access;
	uint32_t rkey;
};

struct pinger {
	struct link l;
	bool inv;
	struct memory source, sink;
};

/* Announce and wait for the answer; -ECONNRESET when the target disconnects instead */
static int announce(struct pinger *p, const struct announcement *a, size_t len, const char **end,
		    struct rtgt_err *err)
{
	struct link *l = &p->l;
	const struct rtgt_wr wr = {
		.id = SEND_ID, .opcode = IBV_WR_SEND, .mr = &l->buf, .len = (uint32_t)len,
	};
	struct ibv_wc wc;
	int ret;

	memset(l->buf.buf, 0, l->buf.len);
	memcpy(l->buf.buf, a, sizeof(*a));
	ret = rtgt_qp_post(&l->qp, &wr, err);
	while (!ret && !l->answered) {
		ret = rtgt_qp_wait(&l->qp, &wc, err);
		if (!ret && wc.status != IBV_WC_SUCCESS) {
			*end = wc_name(wc.status);
			return 0;
		}
		l->answered = !ret && wc.wr_id == RECV_ID;
		l->answer = wc;
	}
	if (ret == -ECONNRESET) {
		*end = "disconnected";
		return 0;
	}
	l->answered = false;
	*end = "answered";
	return ret ? ret : rtgt_qp_post_recv(&l->qp, RECV_ID, &l->recv, (uint32_t)l->recv.len, err);
}

static int register_memory(struct pinger *p, struct memory *m, struct rtgt_err *err)
{
	const bool windows = p->inv && p->l.qp.can & RTGT_CAN_WINDOW;
	unsigned int access = m->access | (windows ? IBV_ACCESS_MW_BIND : 0);
	int ret;

	if (access & IBV_ACCESS_REMOTE_WRITE)
		access |= IBV_ACCESS_LOCAL_WRITE;
	ret = rtgt_mr_create(&m->mr, p->l.qp.pd, "memory", BUFFER, (int)access, NULL, err);
	if (!ret && windows && !m->window.mw)
		ret = rtgt_window_create(&m->window, p->l.qp.pd, err);
	if (!ret)
		m->rkey = m->mr.mr->rkey;
	return ret;
}

/* Give the memory an rkey that is valid */
static int grant(struct pinger *p, struct memory *m, struct rtgt_err *err)
{
	const struct rtgt_wr bind = {
		.id = BIND_ID, .opcode = IBV_WR_BIND_MW, .window = &m->window, .mr = &m->mr,
		.access = m->access, .len = BUFFER,
	};
	struct ibv_wc wc;

	if (!p->inv)
		return 0;
	if (!m->window.mw) {
		rtgt_mr_destroy(&m->mr);
		return register_memory(p, m, err);
	}
	if (rtgt_qp_post(&p->l.qp, &bind, err) || wait_for(&p->l, BIND_ID, &wc, err))
		return -1;
	if (wc.status != IBV_WC_SUCCESS)
		return rtgt_fail(err, EIO, "binding a window: %s", wc_name(wc.status));
	m->rkey = m->window.mw->rkey;
	return 0;
}

/* One half of a ping that is right */
static int half(struct pinger *p, const struct memory *m, struct rtgt_err *err)
{
	const struct announcement a = {
		.addr = htobe64((uintptr_t)m->mr.buf), .rkey = htobe32(m->rkey),
		.size = htobe32(SIZE),
	};
	const struct ibv_wc *wc = &p->l.answer;
	const char *end;
	const bool iwarp =
		p->l.qp.qp->context->device->transport_type == IBV_TRANSPORT_IWARP;
	bool invalidated;
	int ret = announce(p, &a, sizeof(a), &end, err);

	if (ret)
		return ret;
	if (strcmp(end, "answered"))
		return rtgt_fail(err, EPROTO, "a right message is %s", end);
	/* siw does not tell user space: Documentation/findings/not-pursued.rst */
	if (iwarp)
		return 0;
	invalidated = wc->wc_flags & WITH_INV;
	if (invalidated != p->inv)
		return rtgt_fail(err, EPROTO, "the answer %s",
				 invalidated ? "invalidates an rkey" : "invalidates no rkey");
	if (invalidated && wc->invalidated_rkey != m->rkey)
		return rtgt_fail(err, EPROTO, "the answer invalidates rkey 0x%x instead of 0x%x",
				 wc->invalidated_rkey, m->rkey);
	return 0;
}

static int ping(struct pinger *p, long long i, struct rtgt_err *err)
{
	uint8_t sent[SIZE];
	int ret;

	rtgt_pattern_fill(sent, SIZE, (uint64_t)i + 1);
	ret = grant(p, &p->source, err);
	if (!ret) {
		memcpy(p->source.mr.buf, sent, SIZE);
		ret = half(p, &p->source, err);
	}
	if (!ret)
		ret = grant(p, &p->sink, err);
	if (!ret) {
		memset(p->sink.mr.buf, 0, SIZE);
		ret = half(p, &p->sink, err);
	}
	if (!ret && memcmp(sent, p->sink.mr.buf, SIZE))
		ret = rtgt_fail(err, EILSEQ, "ping %lld came back changed", i);
	return ret;
}

/* The message as asked for */
static int go_wrong(struct pinger *p, const struct option *o, const char **end,
		    struct rtgt_err *err)
{
	const struct memory *m = o->sink ? &p->sink : &p->source;
	const uint64_t addr = o->addr ? (uint64_t)o->addr : (uintptr_t)m->mr.buf;
	const uint32_t rkey = (o->rkey ? (uint32_t)o->rkey : m->rkey) ^ (uint32_t)o->rkey_xor;
	const struct announcement a = {
		.addr = htobe64(addr), .rkey = htobe32(rkey), .size = htobe32((uint32_t)o->len),
	};
	int ret = o->sink ? grant(p, &p->source, err) : 0;

	if (!ret && o->sink)
		ret = half(p, &p->source, err);
	return ret ? ret : announce(p, &a, o->cut < 0 ? sizeof(a) : (size_t)o->cut, end, err);
}

static int open_pinger(struct pinger *p, const struct option *o, struct rtgt_err *err)
{
	struct option mine = *o;
	int ret;

	mine.plain = 1;
	mine.blind = 1;
	mine.len = 0;
	p->inv = o->inv;
	p->source.access = IBV_ACCESS_REMOTE_READ;
	p->sink.access = IBV_ACCESS_REMOTE_WRITE;
	ret = open_link(&p->l, &mine, err);
	if (!ret)
		ret = register_memory(p, &p->source, err);
	if (!ret)
		ret = register_memory(p, &p->sink, err);
	return ret;
}

static int cmd_rping(const struct option *o)
{
	struct pinger p = {};
	struct rtgt_err err = {};
	const char *end = "";
	int ret = open_pinger(&p, o, &err);

	for (long long i = 0; i < o->count && !ret; i++)
		ret = ping(&p, i, &err);
	if (!ret)
		ret = go_wrong(&p, o, &end, &err);
	/* our device refused the target, which would not learn it if we left first */
	if (!ret && !strcmp(end, "flush"))
		await_end(&p.l);
	if (ret)
		complain("rping", &err);
	else
		printf("pings=%lld end=%s\n", o->count, end);
	rtgt_cm_disconnect(&p.l.cm);
	rtgt_window_destroy(&p.source.window);
	rtgt_window_destroy(&p.sink.window);
	rtgt_mr_destroy(&p.source.mr);
	rtgt_mr_destroy(&p.sink.mr);
	close_link(&p.l);
	return ret ? 1 : 0;
}

static const struct arg rping_args[] = {
	NUMBER(count, "right pings before it"),
	NUMBER(len, "size of the buffer it announces"),
	NUMBER(addr, "its address"),
	NUMBER(rkey, "its rkey"),
	NUMBER(rkey_xor, "bits of its rkey to change"),
	NUMBER(cut, "bytes of the message"),
	NUMBER(inv, "1: each answer invalidates the rkey that was announced"),
	NUMBER(sink, "1: the wrong message is the second one of a ping"),
	{ }
};

const struct command rping_command = {
	.name = "rping",
	.help = "a client of the service rping that sends one wrong message",
	.run = cmd_rping,
	.args = { rping_args, link_args },
};
