// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe chain: a range in several work requests, of which only the last is
 * signaled, each with its local bytes in several pieces, with gaps between them that must not
 * change.  What was posted inline is overwritten at once, since the post has made a copy.  The
 * fenced WRITEs would write the bytes that were there before if they were not fenced.
 *
 * The bytes are told by their CRC-32, for the test to hold against the target's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

#define GAP	16
#define GAPPED	0x3c

struct chain {
	const struct option *o;
	unsigned int n;
	uint8_t *bytes;
	struct rtgt_mr list;
	enum ibv_wr_opcode opcode;
};

/* Where piece @k of request @i lies, and what of the range it holds */
static uint8_t *piece(const struct chain *c, unsigned int i, unsigned int k, uint32_t *at,
		      uint32_t *len)
{
	unsigned int sges = (unsigned int)c->o->sges;
	uint32_t first, in, all = rtgt_piece((uint32_t)c->o->len, c->n, i, &first);

	*len = rtgt_piece(all, sges, k, &in);
	*at = first + in;
	return c->list.buf + first + in + ((size_t)i * sges + k) * GAP;
}

static void spread(const struct chain *c)
{
	uint32_t at, len;
	uint8_t *p;

	memset(c->list.buf, GAPPED, c->list.len);
	for (unsigned int i = 0; i < c->n; i++) {
		for (unsigned int k = 0; k < c->o->sges; k++) {
			p = piece(c, i, k, &at, &len);
			memcpy(p, c->bytes + at, len);
		}
	}
}

/* Returns whether the gap behind each piece is as it was; takes what a READ brought */
static bool gather(struct chain *c)
{
	struct rtgt_diff diff;
	uint32_t at, len;
	bool whole = true;
	uint8_t *p;

	for (unsigned int i = 0; i < c->n; i++) {
		for (unsigned int k = 0; k < c->o->sges; k++) {
			p = piece(c, i, k, &at, &len);
			if (c->opcode == IBV_WR_RDMA_READ)
				memcpy(c->bytes + at, p, len);
			if (rtgt_bytes_verify(p + len, GAP, GAPPED, &diff))
				whole = false;
		}
	}
	return whole;
}

static int post(struct link *l, const struct chain *c, enum ibv_wr_opcode opcode, unsigned int i,
		bool last, struct rtgt_err *err)
{
	bool fenced = c->opcode != opcode;
	uint32_t first, len = rtgt_piece((uint32_t)c->o->len, c->n, i, &first);
	const struct rtgt_wr wr = {
		.id = SEND_ID,
		.opcode = opcode,
		.mr = &c->list,
		.len = len,
		.offset = first + (size_t)i * c->o->sges * GAP,
		.sges = (unsigned int)c->o->sges,
		.gap = GAP,
		.remote_addr = l->peer.region[0].addr + first +
			       (uint64_t)(fenced ? c->o->to : c->o->offset),
		.rkey = l->peer.region[0].rkey,
		.flags = (c->o->inline_data ? IBV_SEND_INLINE : 0) | (fenced ? IBV_SEND_FENCE : 0),
		.unsignaled = !last,
	};

	return rtgt_qp_post(&l->qp, &wr, err);
}

static int run(struct link *l, struct chain *c, struct rtgt_err *err)
{
	bool read = c->opcode == IBV_WR_RDMA_READ, twice = read && c->o->fence;
	bool copied = !read && c->o->inline_data && c->n == 1 &&
		      c->o->len <= (long long)l->qp.max_inline;
	unsigned int completions = 0;
	struct ibv_wc wc;
	bool whole;
	int ret = 0;

	for (unsigned int i = 0; i < c->n && !ret; i++)
		ret = post(l, c, c->opcode, i, !twice && i == c->n - 1, err);
	for (unsigned int i = 0; twice && i < c->n && !ret; i++)
		ret = post(l, c, IBV_WR_RDMA_WRITE, i, i == c->n - 1, err);
	if (copied)
		memset(c->list.buf, ~GAPPED, c->list.len);
	if (ret || wait_for(l, SEND_ID, &wc, err))
		return -1;
	do
		completions++;
	while (rtgt_qp_poll(&l->qp, &wc, 1, err) > 0);
	whole = copied || gather(c);
	printf("wc=%s completions=%u crc=%u gaps=%d inline=%u\n", wc_name(wc.status), completions,
	       rtgt_crc32(0, c->bytes, (size_t)c->o->len), whole, l->qp.max_inline);
	return 0;
}

static int cmd_chain(const struct option *o)
{
	struct chain c = { .o = o, .n = (unsigned int)o->count };
	struct option deep = *o;
	struct rtgt_err err = {};
	struct link l;
	int ret = 1;

	c.opcode = strcmp(o->op, "read") ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
	c.bytes = malloc((size_t)o->len + 1);
	deep.depth = o->count;
	if (c.bytes && !open_link(&l, &deep, &err) &&
	    !rtgt_mr_create(&c.list, l.qp.pd, "pieces",
			    (size_t)o->len + (size_t)o->count * (size_t)o->sges * GAP,
			    IBV_ACCESS_LOCAL_WRITE | (o->odp ? IBV_ACCESS_ON_DEMAND : 0), NULL,
			    &err)) {
		rtgt_pattern_fill(c.bytes, (size_t)o->len, (uint64_t)o->seed);
		spread(&c);
		ret = run(&l, &c, &err);
	}
	if (ret)
		complain("chain", &err);
	rtgt_mr_destroy(&c.list);
	close_link(&l);
	free(c.bytes);
	return ret ? 1 : 0;
}

static const struct arg chain_args[] = {
	TEXT(op, "write or read"),
	NUMBER(count, "number of work requests"),
	NUMBER(fence, "1: fenced WRITEs of what a READ brings follow it"),
	NUMBER(to, "offset that the fenced WRITEs go to"),
	{ }
};

const struct command chain_command = {
	.name = "chain",
	.help = "a range in several work requests, of which only the last is signaled",
	.run = cmd_chain,
	.args = { chain_args, wr_args, link_args },
};
