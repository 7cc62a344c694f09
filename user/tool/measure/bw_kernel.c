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

static int prepare(struct bw *b, unsigned int i, uint64_t share, struct rtgt_err *err)
{
	const struct measure *m = &b->m;
	const struct measure_op *op = bw_stream_op(b, i);
	int ret = kernel_set(&m->kernel, i, "op", op->name, err);

	if (!ret)
		ret = kernel_set_number(&m->kernel, i, "size", m->at.size, err);
	/* its time would begin with messages under way: see bw.c */
	if (!ret)
		ret = kernel_set_number(&m->kernel, i, "warmup", 0, err);
	if (!ret && b->segment)
		ret = kernel_set_number(&m->kernel, i, "segment", b->segment, err);
	if (!ret)
		ret = kernel_set_number(&m->kernel, i, "offset", i * share, err);
	if (!ret)
		ret = kernel_set_number(&m->kernel, i, "span", share, err);
	if (!ret)
		ret = kernel_set_number(&m->kernel, i, "duration_ms", b->seconds * 1000ull, err);
	if (!ret)
		ret = kernel_set(&m->kernel, i, "verify", b->verify_all ? "all" : "end", err);
	return ret;
}

/* A run of all initiators, and its figures added */
static int run(struct bw *b, unsigned int nr, uint64_t iters, unsigned int depth,
	       struct rtgt_err *err)
{
	unsigned int signal = b->signal < depth ? b->signal : depth;
	uint64_t begin = UINT64_MAX, end = 0;
	struct kernel_result r;
	int ret = 0;

	for (unsigned int i = 0; i < nr && !ret; i++) {
		ret = kernel_set_number(&b->m.kernel, i, "iters", iters, err);
		if (!ret)
			ret = kernel_set_number(&b->m.kernel, i, "depth", depth, err);
		if (!ret)
			ret = kernel_set_number(&b->m.kernel, i, "signal", signal, err);
	}
	if (!ret)
		ret = kernel_run(&b->m.kernel, nr, err);
	for (unsigned int i = 0; i < nr && !ret; i++) {
		ret = kernel_result(&b->m.kernel, i, &r, err);
		if (ret)
			break;
		begin = r.begin_ns < begin ? r.begin_ns : begin;
		end = r.begin_ns + r.elapsed_ns > end ? r.begin_ns + r.elapsed_ns : end;
		b->messages += r.ops;
		b->m.verified += r.verified;
		if (r.why_not)
			measure_not_compared(&b->m, r.not_compared, r.why_not);
	}
	if (!ret)
		b->elapsed_ns += end - begin;
	return ret;
}

/* Each message compared: no more at once than there are under way, and places */
static int rounds(struct bw *b, unsigned int nr, uint64_t share, struct rtgt_err *err)
{
	uint64_t left = b->m.count, at_once = b->depth;
	int ret = 0;

	if (b->m.at.op->work != RTGT_WORK_ECHO && at_once > share / b->m.at.size)
		at_once = share / b->m.at.size;
	for (; left && !ret; left -= at_once) {
		if (at_once > left)
			at_once = left;
		ret = run(b, nr, at_once, (unsigned int)at_once, err);
	}
	return ret;
}

int bw_kernel_run(struct bw *b, struct rtgt_err *err)
{
	const struct rtgt_client *c = b->m.client;
	const unsigned int nr = bw_connections(b);
	uint64_t share;
	int ret = bw_share(b, c->peer.region[b->m.region].len, &share, err);

	if (!ret)
		ret = measure_can(&b->m, share, err);
	if (!ret && b->m.at.op->answered && b->depth > c->peer.recv_depth)
		ret = rtgt_fail(err, ERANGE,
				"depth %u: the target's recv_depth is %u: smaller -t, or more there",
				b->depth, c->peer.recv_depth);
	if (!ret && b->m.at.op->answered && b->segment)
		ret = rtgt_fail(err, EOPNOTSUPP, "--segment cuts WRITEs and READs");
	for (unsigned int i = 0; i < nr && !ret; i++)
		ret = prepare(b, i, share, err);
	if (ret)
		return ret;
	progress_begin(&b->m.progress, 0);
	if (b->verify_all)
		return rounds(b, nr, share, err);
	return run(b, nr, b->m.count, b->depth, err);
}
