// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe rping: a client of the service "rping" that goes wrong in one way.
 *
 * It does count=N pings as rping does, and then sends a message that is as asked
 * for and tells how that ended.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

#define SIZE		64
#define BUFFER		(64 * 1024)

struct announcement {
	uint64_t addr;
	uint32_t rkey;
	uint32_t size;
} __attribute__((packed));

struct pinger {
	struct link l;
	struct rtgt_mr source, sink;
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
	}
	if (ret == -ECONNRESET) {
		*end = "disconnected";
		return 0;
	}
	l->answered = false;
	*end = "answered";
	return ret ? ret : rtgt_qp_post_recv(&l->qp, RECV_ID, &l->recv, (uint32_t)l->recv.len, err);
}

/* One half of a ping that is right */
static int half(struct pinger *p, const struct rtgt_mr *mr, struct rtgt_err *err)
{
	const struct announcement a = {
		.addr = htobe64((uintptr_t)mr->buf), .rkey = htobe32(mr->mr->rkey),
		.size = htobe32(SIZE),
	};
	const char *end;
	int ret = announce(p, &a, sizeof(a), &end, err);

	if (!ret && strcmp(end, "answered"))
		ret = rtgt_fail(err, EPROTO, "a right message is %s", end);
	return ret;
}

static int ping(struct pinger *p, long long i, struct rtgt_err *err)
{
	int ret;

	rtgt_pattern_fill(p->source.buf, SIZE, (uint64_t)i + 1);
	memset(p->sink.buf, 0, SIZE);
	ret = half(p, &p->source, err);
	if (!ret)
		ret = half(p, &p->sink, err);
	if (!ret && memcmp(p->source.buf, p->sink.buf, SIZE))
		ret = rtgt_fail(err, EILSEQ, "ping %lld came back changed", i);
	return ret;
}

/* The message as asked for */
static int go_wrong(struct pinger *p, const struct option *o, const char **end,
		    struct rtgt_err *err)
{
	const struct rtgt_mr *mr = o->sink ? &p->sink : &p->source;
	const uint64_t addr = o->addr ? (uint64_t)o->addr : (uintptr_t)mr->buf;
	const uint32_t rkey = (o->rkey ? (uint32_t)o->rkey : mr->mr->rkey) ^ (uint32_t)o->rkey_xor;
	const struct announcement a = {
		.addr = htobe64(addr), .rkey = htobe32(rkey), .size = htobe32((uint32_t)o->len),
	};
	int ret = o->sink ? half(p, &p->source, err) : 0;

	return ret ? ret : announce(p, &a, o->cut < 0 ? sizeof(a) : (size_t)o->cut, end, err);
}

static int open_pinger(struct pinger *p, const struct option *o, struct rtgt_err *err)
{
	struct option mine = *o;
	int ret;

	mine.plain = 1;
	mine.blind = 1;
	mine.len = 0;
	ret = open_link(&p->l, &mine, err);
	if (!ret)
		ret = rtgt_mr_create(&p->source, p->l.qp.pd, "source", BUFFER,
				     IBV_ACCESS_REMOTE_READ, NULL, err);
	if (!ret)
		ret = rtgt_mr_create(&p->sink, p->l.qp.pd, "sink", BUFFER,
				     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, NULL, err);
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
	rtgt_mr_destroy(&p.source);
	rtgt_mr_destroy(&p.sink);
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
	NUMBER(sink, "1: the wrong message is the second one of a ping"),
	{ }
};

const struct command rping_command = {
	.name = "rping",
	.help = "a client of the service rping that sends one wrong message",
	.run = cmd_rping,
	.args = { rping_args, link_args },
};
