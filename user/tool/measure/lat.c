// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt lat: how long an operation takes, from user space and from the kernel, over
 * RDMA and over TCP.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lat.h"

static const struct usage_option options[] = {
	{ OPT_ADDRESS, NULL },
	{ OPT_PORT, NULL },
	{ OPT_TCP_PORT, "the port of rtgt tcp-serve; default " STRING(RTGT_TCP_PORT) },
	{ OPT_SOURCE, NULL },
	{ OPT_FROM, NULL },
	{ OPT_OVER, NULL },
	{ OPT_OPS, "write, read, send, write-imm, cas, faa; default write,read,send.  TCP has no "
		   "atomics" },
	{ OPT_SIZE, "64 (default) or 1,4K,1M or 1-1M (doubling)" },
	{ OPT_COUNT, "operations timed; default 1000" },
	{ OPT_WARMUP, "operations before them; default 100" },
	{ OPT_HALF, "print half the round trip of send and write-imm, as ib_send_lat does" },
	{ OPT_SAMPLES, "write each operation's time there, in the order in which they were posted: "
		       "a line of from, over, op, bytes, number, nanoseconds, with tabs between" },
	{ OPT_REGION, NULL },
	{ OPT_EVENTS, NULL },
	{ OPT_POLL, "user: poll instead; needs a CPU of its own" },
	{ OPT_COMPLETION, NULL },
	{ OPT_SEED, NULL },
	{ OPT_TIMEOUT, NULL },
	{ OPT_PROGRESS, NULL },
	{ OPT_JSON, NULL },
	{ OPT_PRETTY, NULL },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "lat",
	.synopsis = "[-j] [-p] lat [OPTIONS] HOST",
	.about =
"Time single operations to a target, from user space and from this machine's kernel.\n",
	.options = options,
	.notes =
"Times are in microseconds, of the full round trip unless the column \"trip\" says half:\n"
"from the post to the completion, or to the target's answer if it answers the operation; over\n"
"TCP to the answer of rtgt tcp-serve, which it sends when it has all bytes.  The bytes are\n"
"compared at both ends after each line.\n"
"\n"
"Exit status: 0 done, 1 failed, 2 the command line is wrong.  See rtgt-lat(1).\n",
};

static const struct measure_op lat_ops[] = {
	{ .name = "write", .work = RTGT_WORK_WRITE, .tcp = RTGT_TCP_WRITE,
	  .access = RTGT_ACCESS_WRITE },
	{ .name = "read", .work = RTGT_WORK_READ, .tcp = RTGT_TCP_READ,
	  .access = RTGT_ACCESS_READ },
	{ .name = "send", .work = RTGT_WORK_ECHO, .tcp = RTGT_TCP_ECHO, .answered = true },
	{ .name = "write-imm", .work = RTGT_WORK_WRITE_IMM, .tcp = RTGT_TCP_WRITE,
	  .answered = true, .access = RTGT_ACCESS_WRITE },
	{ .name = "cas", .work = RTGT_WORK_CAS, .access = RTGT_ACCESS_ATOMIC },
	{ .name = "faa", .work = RTGT_WORK_FAA, .access = RTGT_ACCESS_ATOMIC },
};

/* write, read and send */
#define DEFAULT_OPS	0x7u

static struct lat *to_lat(struct measure *m)
{
	return (struct lat *)((char *)m - offsetof(struct lat, m));
}

static int own_option(struct measure *m, enum opt opt, const char *text)
{
	struct lat *l = to_lat(m);

	if (opt == OPT_HALF) {
		l->half = true;
		return EXIT_OK;
	}
	l->samples = fopen(text, "we");
	return l->samples ? EXIT_OK : failed("%s: %s", text, strerror(errno));
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int kernel_cell(struct lat *l, struct rtgt_err *err)
{
	struct measure *m = &l->m;
	struct kernel_result result;
	int ret = measure_can(m, m->client->peer.region[m->region].len, err);

	if (!ret)
		ret = kernel_set(&m->kernel, 0, "op", m->at.op->name, err);
	if (!ret)
		ret = kernel_set_number(&m->kernel, 0, "size", m->at.size, err);
	if (!ret)
		ret = kernel_run(&m->kernel, 1, err);
	if (!ret)
		ret = kernel_result(&m->kernel, 0, &result, err);
	if (!ret)
		ret = kernel_samples(&m->kernel, 0, l->ns, m->count, err);
	if (ret)
		return ret;
	l->nr = m->count;
	l->elapsed_ns = result.elapsed_ns;
	m->verified = result.verified;
	if (result.why_not)
		measure_not_compared(m, result.not_compared, result.why_not);
	return 0;
}

static int cell(struct measure *m, struct rtgt_err *err)
{
	struct lat *l = to_lat(m);
	int ret;

	l->nr = 0;
	l->gives_way = false;
	if (m->at.from == FROM_KERNEL)
		ret = kernel_cell(l, err);
	else
		ret = m->at.over == OVER_TCP ? lat_tcp_run(l, err) : lat_user_run(l, err);
	if (ret)
		return ret;
	ret = lat_out_samples(l, err);
	if (ret)
		return ret;
	qsort(l->ns, l->nr, sizeof(*l->ns), compare);
	lat_out_row(l);
	return 0;
}

int cmd_lat(struct tool *tool, int argc, char **argv)
{
	struct lat l = {
		.m = {
			.tool = tool, .usage = &usage, .own = own_option,
			.schema = LAT_SCHEMA, .op = lat_ops,
			.nr_ops = sizeof(lat_ops) / sizeof(lat_ops[0]),
			.to = { .service = STRING(RTGT_PORT), .timeout = default_timeout() },
			.tcp_service = STRING(RTGT_TCP_PORT),
			.from = 1u << FROM_USER, .over = 1u << OVER_RDMA, .ops = DEFAULT_OPS,
			.sizes = { { 64 }, 1 }, .count = 1000, .warmup = 100,
			.completion = "softirq",
		},
	};
	int ret = measure_parse(&l.m, tool, argc, argv);

	if (ret)
		return ret == OPTIONS_HELP ? EXIT_OK : ret;
	l.ns = calloc(l.m.count, sizeof(*l.ns));
	if (!l.ns)
		return failed("no memory for %llu samples", (unsigned long long)l.m.count);
	ret = measure_run(&l.m, cell, 1);
	if (!ret)
		ret = lat_out_end(&l);
	json_object_put(l.m.results);
	free(l.ns);
	if (l.samples && fclose(l.samples) && !ret)
		ret = failed("the samples cannot be written: %s", strerror(errno));
	return ret;
}
