// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The kernel's initiators for rtgt bw: one for each connection, all started before the
 * first is waited for.
 *
 * Each has its part of the region, as a connection of user space has.  The kernel
 * connects as the first step of a run, so with several of them the time, from the
 * first beginning to the last end, may hold a connect of a later one: many messages
 * make that small.
 */
#include <errno.h>
#include <stdlib.h>

#include "bw.h"

/* For a duration: so many depths' worth are timed to know how many will fill it */
#define TRIAL		8

#define ITERS_MAX	(1u << 20)

static int prepare(struct bw *b, unsigned int i, uint64_t share, struct rtgt_err *err)
{
	const struct measure *m = &b->m;
	const struct measure_op *op = bw_stream_op(b, i);
	int ret = kernel_set(m, i, "op", op->name, err);

	if (!ret)
		ret = kernel_set_number(m, i, "size", m->at.size, err);
	if (!ret)
		ret = kernel_set_number(m, i, "depth", b->depth, err);
	/* its time would begin with messages under way: see bw.c */
	if (!ret)
		ret = kernel_set_number(m, i, "warmup", 0, err);
	if (!ret)
		ret = kernel_set_number(m, i, "offset", i * share, err);
	if (!ret)
		ret = kernel_set_number(m, i, "span", share, err);
	return ret;
}

static int run(struct bw *b, unsigned int nr, uint64_t iters, struct rtgt_err *err)
{
	uint64_t begin = UINT64_MAX, end = 0;
	struct kernel_result r;
	int ret = 0;

	for (unsigned int i = 0; i < nr && !ret; i++)
		ret = kernel_set_number(&b->m, i, "iters", iters, err);
	if (!ret)
		ret = kernel_run(&b->m, nr, err);
	b->messages = 0;
	b->verified = 0;
	for (unsigned int i = 0; i < nr && !ret; i++) {
		ret = kernel_result(&b->m, i, &r, err);
		if (ret)
			break;
		begin = r.begin_ns < begin ? r.begin_ns : begin;
		end = r.begin_ns + r.elapsed_ns > end ? r.begin_ns + r.elapsed_ns : end;
		b->messages += r.ops;
		b->verified += r.verified;
	}
	b->elapsed_ns = end - begin;
	return ret;
}

static uint64_t iters_for(const struct bw *b, unsigned int nr)
{
	uint64_t each = b->messages / nr, ns = b->elapsed_ns ? b->elapsed_ns : 1;
	uint64_t iters = b->seconds * 1000000000ull / (ns / each + 1);

	if (!iters)
		return 1;
	return iters < ITERS_MAX ? iters : ITERS_MAX;
}

int bw_kernel_run(struct bw *b, struct rtgt_err *err)
{
	const struct rtgt_client *c = &b->m.client;
	const unsigned int nr = bw_connections(b);
	uint64_t share, iters = b->m.count;
	int ret = bw_share(b, c->peer.region[b->m.region].len, &share, err);

	if (!ret)
		ret = measure_can(&b->m, c, share, err);
	if (!ret && b->verify_all)
		ret = rtgt_fail(err, EOPNOTSUPP,
				"the kernel compares at the end of a run only (--verify end)");
	if (!ret && b->m.at.op->answered && b->depth > c->peer.recv_depth)
		ret = rtgt_fail(err, ERANGE, "depth %u: the target's recv_depth is %u", b->depth,
				c->peer.recv_depth);
	for (unsigned int i = 0; i < nr && !ret; i++)
		ret = prepare(b, i, share, err);
	progress_begin(&b->m, 0);
	if (!ret && b->seconds) {
		ret = run(b, nr, TRIAL * b->depth, err);
		iters = ret ? 1 : iters_for(b, nr);
	}
	return ret ? ret : run(b, nr, iters, err);
}
