// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt lat: how long an operation takes, from user space and from the kernel.
 *
 * A connection of the user initiator comes first in any case: it tells what the
 * target is and what its region grants.  A cell of the matrix that cannot be is told
 * as skipped; one that fails ends the command.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lat.h"

#define COUNT_MAX	(1u << 20)

static const char help[] =
"Usage: rtgt [-j] [-p] lat [OPTIONS] HOST\n"
"\n"
"Time single operations to a target, from user space and from this machine's kernel.\n"
"\n"
"  -a, --address HOST   where to; the same as HOST\n"
"  -p, --port PORT      port, " STRING(RTGT_PORT) " by default\n"
"  -I, --source ADDR    connect from this address\n"
"      --from LIST      user (the default), kernel, or both: user,kernel.  The kernel's\n"
"                       needs root and the module loaded here\n"
"  -o, --ops LIST       of write, read, write-imm, send, cas, faa; by default write, read\n"
"                       and send\n"
"  -S, --size LIST      bytes: 64 (the default) or 1,4K,1M\n"
"  -C, --count N        operations timed, 1000 by default\n"
"  -W, --warmup N       operations before them, 100 by default\n"
"  -r, --region N       which of the port's regions, 0 by default\n"
"  -e, --events         user: sleep until a completion comes (default)\n"
"      --poll           user: spin instead\n"
"      --completion C   kernel: softirq (default), workqueue or direct, which polls\n"
"      --half           tell half of what is answered (send, write-imm), as ib_send_lat does\n"
"      --timeout S      bound of each step, 10 seconds by default\n"
"  -h, --help           this text\n"
"\n"
"Times are in microseconds, of the full round trip unless the column \"trip\" says half:\n"
"from the post to the completion, or to the target's answer of what is answered.  Bytes\n"
"are compared at both ends after each line.\n"
"\n"
"Exit status: 0 done, 1 failed, 2 the command line is wrong.  See rtgt-lat(1).\n";

enum {
	OPT_FROM = 256,
	OPT_POLL,
	OPT_COMPLETION,
	OPT_HALF,
	OPT_TIMEOUT,
};

static const struct option options[] = {
	{ "address", required_argument, NULL, 'a' },
	{ "port", required_argument, NULL, 'p' },
	{ "source", required_argument, NULL, 'I' },
	{ "from", required_argument, NULL, OPT_FROM },
	{ "ops", required_argument, NULL, 'o' },
	{ "size", required_argument, NULL, 'S' },
	{ "count", required_argument, NULL, 'C' },
	{ "warmup", required_argument, NULL, 'W' },
	{ "region", required_argument, NULL, 'r' },
	{ "events", no_argument, NULL, 'e' },
	{ "poll", no_argument, NULL, OPT_POLL },
	{ "completion", required_argument, NULL, OPT_COMPLETION },
	{ "half", no_argument, NULL, OPT_HALF },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

const struct lat_op lat_ops[LAT_OPS] = {
	{ "write", IBV_WR_RDMA_WRITE, false, RTGT_ACCESS_WRITE },
	{ "read", IBV_WR_RDMA_READ, false, RTGT_ACCESS_READ },
	{ "send", IBV_WR_SEND, true, 0 },
	{ "write-imm", IBV_WR_RDMA_WRITE_WITH_IMM, true, RTGT_ACCESS_WRITE },
	{ "cas", IBV_WR_ATOMIC_CMP_AND_SWP, false, RTGT_ACCESS_ATOMIC },
	{ "faa", IBV_WR_ATOMIC_FETCH_AND_ADD, false, RTGT_ACCESS_ATOMIC },
};

/* write, read and send */
#define DEFAULT_OPS	0x7u

sig_atomic_t lat_interrupted;

static void on_signal(int sig)
{
	(void)sig;
	lat_interrupted = 1;
}

/* Each item of a list by its name in a table; the bits of those found */
static int parse_words(const char *text, const char *(*name)(unsigned int), unsigned int *bits)
{
	*bits = 0;
	for (size_t len; *text; text += len + (text[len] == ',')) {
		unsigned int i;

		len = strcspn(text, ",");
		for (i = 0; name(i) && (strncmp(text, name(i), len) || name(i)[len]); i++)
			;
		if (!name(i))
			return misused("no \"%.*s\" (rtgt lat --help)", (int)len, text);
		*bits |= 1u << i;
	}
	return *bits ? EXIT_OK : misused("an empty list (rtgt lat --help)");
}

static const char *op_name(unsigned int i)
{
	return i < LAT_OPS ? lat_ops[i].name : NULL;
}

static const char *from_name(unsigned int i)
{
	static const char *const names[] = { [LAT_USER] = "user", [LAT_KERNEL] = "kernel" };

	return i < LAT_FROMS ? names[i] : NULL;
}

static int parse_sizes(struct lat *l, const char *text)
{
	uint64_t size;

	for (l->nr_sizes = 0; l->nr_sizes < LAT_SIZES; text++) {
		if (parse_size(text, &text, &size) || !size || size > 1u << 24)
			break;
		l->size[l->nr_sizes++] = (uint32_t)size;
		if (!*text)
			return EXIT_OK;
		if (*text != ',')
			break;
	}
	return misused("-S: up to %d sizes of 1 byte to 16M, with commas between (%s)", LAT_SIZES,
		       text);
}

static int parse_completion(struct lat *l, const char *text)
{
	if (strcmp(text, "softirq") && strcmp(text, "workqueue") && strcmp(text, "direct"))
		return misused("--completion \"%s\": softirq, workqueue or direct", text);
	l->completion = text;
	return EXIT_OK;
}

static int set_number(struct lat *l, int opt, const char *text)
{
	uint64_t value = 0;
	int ret;

	switch (opt) {
	case 'p':
		l->service = text;
		return parse_int("-p", text, 1, 65535, &value);
	case 'C':
		return parse_int("-C", text, 1, COUNT_MAX, &l->count);
	case 'W':
		return parse_int("-W", text, 0, COUNT_MAX, &l->warmup);
	case 'r':
		ret = parse_int("-r", text, 0, RTGT_MAX_REGIONS - 1, &value);
		l->region = (uint32_t)value;
		return ret;
	default:
		ret = parse_int("--timeout", text, 1, 3600, &value);
		l->timeout = (unsigned int)value;
		return ret;
	}
}

static int set_option(struct lat *l, int opt, char **argv)
{
	switch (opt) {
	case 'a':
		l->host = optarg;
		return EXIT_OK;
	case 'I':
		l->source = optarg;
		return EXIT_OK;
	case OPT_FROM:
		return parse_words(optarg, from_name, &l->from);
	case 'o':
		return parse_words(optarg, op_name, &l->ops);
	case 'S':
		return parse_sizes(l, optarg);
	case 'e':
	case OPT_POLL:
		l->poll = opt == OPT_POLL;
		return EXIT_OK;
	case OPT_COMPLETION:
		return parse_completion(l, optarg);
	case OPT_HALF:
		l->half = true;
		return EXIT_OK;
	case ':':
		return misused("%s needs a value (rtgt lat --help)", argv[optind - 1]);
	case '?':
		return misused("unknown option %s (rtgt lat --help)", argv[optind - 1]);
	default:
		return set_number(l, opt, optarg);
	}
}

/* EXIT_OK to go on; -1 when --help was the whole of it */
static int parse(struct lat *l, int argc, char **argv)
{
	int opt, ret;

	/* main() used getopt() on other words and with other rules: begin anew */
	optind = 0;
	while ((opt = getopt_long(argc, argv, ":a:p:I:o:S:C:W:r:eh", options, NULL)) != -1) {
		if (opt == 'h')
			return print_help(help) ? EXIT_FAILED : -1;
		ret = set_option(l, opt, argv);
		if (ret)
			return ret;
	}
	if (optind < argc && !l->host)
		l->host = argv[optind++];
	if (optind < argc)
		return misused("one HOST is enough: %s, %s", l->host, argv[optind]);
	if (!l->host)
		return misused("lat to which HOST? (rtgt lat --help)");
	return EXIT_OK;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool cannot_be(int ret)
{
	return ret == -EOPNOTSUPP || ret == -EACCES || ret == -ERANGE || ret == -EMSGSIZE;
}

static int cell(struct lat *l, struct lat_run *run, struct rtgt_err *err)
{
	int ret;

	run->nr = 0;
	run->verified = 0;
	ret = run->from == LAT_USER ? lat_user_run(l, run, err) : lat_kernel_run(l, run, err);
	if (cannot_be(ret)) {
		lat_out_skip(l, run, err->text);
		return 0;
	}
	if (ret)
		return ret;
	qsort(run->ns, run->nr, sizeof(*run->ns), compare);
	lat_out_row(l, run);
	return 0;
}

static int matrix(struct lat *l, struct lat_run *run, struct rtgt_err *err)
{
	int ret = 0;

	for (unsigned int op = 0; op < LAT_OPS; op++) {
		bool atomic = lat_ops[op].access == RTGT_ACCESS_ATOMIC;

		if (!(l->ops & 1u << op))
			continue;
		run->op = &lat_ops[op];
		for (unsigned int i = 0; i < (atomic ? 1 : l->nr_sizes); i++) {
			run->size = atomic ? 8 : l->size[i];
			for (unsigned int from = 0; from < LAT_FROMS && !ret; from++) {
				run->from = (enum lat_from)from;
				if (l->from & 1u << from)
					ret = cell(l, run, err);
			}
		}
	}
	return ret;
}

int cmd_lat(const struct tool *tool, int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal };
	struct lat l = {
		.tool = tool, .service = STRING(RTGT_PORT), .from = 1u << LAT_USER,
		.ops = DEFAULT_OPS, .size = { 64 }, .nr_sizes = 1, .count = 1000, .warmup = 100,
		.timeout = 10, .completion = "softirq",
	};
	struct rtgt_err err = { };
	struct lat_run run = { };
	/* the command itself stands in front, where getopt() expects it */
	int ret = parse(&l, argc + 1, argv - 1);

	if (ret)
		return ret < 0 ? EXIT_OK : ret;
	run.ns = calloc(l.count, sizeof(*run.ns));
	if (!run.ns)
		return failed("no memory for %llu samples", (unsigned long long)l.count);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	l.results = json_object_new_array();
	ret = lat_user_open(&l, &err);
	if (!ret && l.from & 1u << LAT_KERNEL)
		ret = lat_kernel_open(&l, &err);
	if (!ret)
		ret = matrix(&l, &run, &err);
	lat_kernel_close();
	lat_user_close(&l);
	ret = ret ? failed("lat%s%s: %s", run.op ? " " : "", run.op ? run.op->name : "", err.text) :
		    lat_out_end(&l, argc + 1, argv - 1);
	json_object_put(l.results);
	free(run.ns);
	return ret;
}
