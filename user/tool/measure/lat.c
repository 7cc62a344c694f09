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
	{ OPT_PORT, NULL },
	{ OPT_TCP_PORT, "the port of rtgt tcp-serve; default " STRING(RTGT_TCP_PORT) },
	{ OPT_SOURCE, NULL },
	{ OPT_DEVICE, NULL },
	{ OPT_GID_INDEX, NULL },
	{ OPT_MTU, NULL },
	{ OPT_FROM, NULL },
	{ OPT_OVER, NULL },
	{ OPT_OPS, "write, read, send, write-imm, cas, faa; default write,read,send.  TCP has no "
		   "atomics" },
	{ OPT_SIZE, "64 (default) or 1,4K,1M or 1-1M (doubling)" },
	{ OPT_ALL, NULL },
	{ OPT_COUNT, "operations timed; default 1000" },
	{ OPT_DURATION, "user: time operations for this many seconds instead, 1048576 at most" },
	{ OPT_WARMUP, "operations before them; default 100" },
	{ OPT_HALF, "print half the round trip of send and write-imm, as ib_send_lat does" },
	{ OPT_SAMPLES, "write each operation's time there, in the order in which they were posted: "
		       "a line of from, over, op, bytes, number, nanoseconds, with tabs between" },
	{ OPT_HISTOGRAM, "print each operation's time behind its line, in rising order, as "
			 "perftest does" },
	{ OPT_LOAD, "beside N other connections of this process, each of which WRITEs 16 messages of "
		    "64 KiB at once, or READs them" },
	{ OPT_FREQUENCY, NULL },
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
"Exit status: 0 done, 1 failed, 2 the command line is wrong, 130 interrupted.\n"
"See rtgt-lat(1).\n",
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

	switch (opt) {
	case OPT_HALF:
		l->half = true;
		return EXIT_OK;
	case OPT_HISTOGRAM:
		l->list = true;
		return EXIT_OK;
	case OPT_DURATION:
		m->timed = true;
		return opt_uint(opt, text, 1, 3600, &l->seconds);
	case OPT_LOAD:
		return opt_uint(opt, text, 1, LAT_LOAD_MAX, &l->load);
	default:
		break;
	}
	l->samples_file = text;
	return EXIT_OK;
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
	ret = lat_load_begin(l, err);
	if (!ret && m->at.from == FROM_KERNEL)
		ret = kernel_cell(l, err);
	else if (!ret)
		ret = m->at.over == OVER_TCP ? lat_tcp_run(l, err) : lat_user_run(l, err);
	ret = lat_load_end(l, ret, err);
	if (ret)
		return ret;
	ret = lat_out_samples(l, err);
	if (ret)
		return ret;
	qsort(l->ns, l->nr, sizeof(*l->ns), compare);
	lat_out_row(l);
	return 0;
}

static int check_options(struct lat *l)
{
	/* whatever -C says, in front of it or behind */
	if (l->seconds)
		l->m.count = LAT_SAMPLES_MAX;
	if (l->seconds && l->m.from != 1u << FROM_USER)
		return misused("-D is for the initiators of this process: --from kernel takes a count (-C)");
	if (l->samples_file && l->m.from != 1u << FROM_USER)
		return misused("--samples is for the initiators of this process: the kernel's sorts its times");
	if (l->load && !(l->m.over & 1u << OVER_RDMA))
		return misused("--load makes connections over RDMA: --over rdma");
	/* not before the command line is right: the file may have another run's */
	l->samples = l->samples_file ? fopen(l->samples_file, "we") : NULL;
	if (l->samples_file && !l->samples)
		return failed("%s: %s", l->samples_file, strerror(errno));
	return EXIT_OK;
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
	int end, ret = measure_parse(&l.m, tool, argc, argv);

	if (!ret)
		ret = check_options(&l);
	if (ret)
		return ret == OPTIONS_HELP ? EXIT_OK : ret;
	l.ns = calloc(l.m.count, sizeof(*l.ns));
	if (!l.ns)
		return failed("no memory for %llu samples", (unsigned long long)l.m.count);
	ret = measure_run(&l.m, cell, 1);
	end = !ret || tool->json ? lat_out_end(&l) : EXIT_OK;
	ret = ret ? ret : end;
	json_object_put(l.m.results);
	free(l.ns);
	if (l.samples && fclose(l.samples) && !ret)
		ret = failed("the samples cannot be written: %s", strerror(errno));
	return ret;
}
