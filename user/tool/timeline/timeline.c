// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt timeline: when did what happen, at both ends and on the wire?
 *
 * A directory holds a trace of the kernel and a capture, of the same time and made with
 * clocks that can be told one by the other; rtgt timeline record makes it.  Of each
 * connection the states its queue pairs went through are put between the CM's packets; of
 * each operation the post, the packets, the completions.
 *
 * timeline_trace.c reads the trace, timeline_wire.c the capture; timeline_conn.c and
 * timeline_op.c join them; timeline_out.c and timeline_json.c tell it.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/out/json.h"
#include "timeline.h"

#define OPS_TOLD	4

static const char help[] =
"Usage: rtgt timeline [-n N] DIR\n"
"       rtgt timeline record [-i INTERFACE] [-n N] DIR -- COMMAND...\n"
"\n"
"When did what happen? Of each connection: how the queue pairs of both ends went through\n"
"their states, between which packets of the connection manager. Of each operation: post,\n"
"packets, completions, at the client and at the target. In microseconds; -j gives JSON.\n"
"\n"
"DIR holds " TL_TRACE " and " TL_CAPTURE ", as record leaves them there: it traces the kernel\n"
"and listens to the interface while COMMAND runs, then tells, and writes " TL_JSON " as well.\n"
"What was traced at this machine only is told of this machine only: run it where both ends\n"
"are, or at each of them.\n"
"\n"
"  -i, --interface IF   record: where the packets are; needed where there are several RDMA\n"
"                       devices, and then the client's\n"
"  -n, --operations N   tell the first N operations, " STRING(OPS_TOLD) " if not told; JSON has all\n"
"  -h, --help           this text\n"
"\n"
"Exit status: 0 done, 1 failed, 2 the command line is wrong; of record, that of COMMAND if\n"
"it is not 0. See rtgt-timeline(1).\n";

static const struct option options[] = {
	{ "interface", required_argument, NULL, 'i' },
	{ "operations", required_argument, NULL, 'n' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

/* Read a directory and join what is in it; tl_close() frees @t, also where this fails */
static int tl_open(struct timeline *t, const char *dir, struct rtgt_err *err)
{
	char path[4096];
	int ret;

	snprintf(path, sizeof(path), "%s/" TL_TRACE, dir);
	ret = tl_trace_read(&t->trace, path, err);
	snprintf(path, sizeof(path), "%s/" TL_CAPTURE, dir);
	if (!ret)
		ret = tl_wire_read(t, path, err);
	if (!ret)
		ret = tl_join_conns(t, err);
	return ret ? ret : tl_join_ops(t, err);
}

static void tl_close(struct timeline *t)
{
	for (unsigned int i = 0; i < t->conns; i++)
		free(t->conn[i].events.event);
	free(t->packet);
	free(t->conn);
	free(t->msg);
	free(t->qp);
	tl_trace_free(&t->trace);
}

static int tell_json(const struct timeline *t, FILE *to)
{
	struct json_object *doc = tl_json(t);
	int ret = rtgt_json_print(doc, t->tool->pretty, to);

	json_object_put(doc);
	return ret;
}

static int write_json(const struct timeline *t, const char *dir)
{
	char path[4096];
	FILE *f;
	int ret;

	snprintf(path, sizeof(path), "%s/" TL_JSON, dir);
	f = fopen(path, "we");
	ret = f ? tell_json(t, f) : -1;
	if (f && fclose(f))
		ret = -1;
	return ret ? failed("%s cannot be written", path) : EXIT_OK;
}

/* @keep: write the JSON into the directory as well */
static int tell(const struct tool *tool, const char *dir, uint64_t limit, bool keep)
{
	struct timeline t = { .tool = tool };
	struct rtgt_err err = {};
	int rc = EXIT_OK;

	if (tl_open(&t, dir, &err)) {
		rc = failed("timeline: %s", err.text);
	} else {
		if (tool->json)
			tell_json(&t, stdout);
		else
			tl_print(&t, limit);
		if (fflush(stdout) || ferror(stdout))
			rc = failed("timeline: standard output does not take it");
		if (keep && write_json(&t, dir))
			rc = EXIT_FAILED;
	}
	tl_close(&t);
	return rc;
}

/* What is behind the options: DIR, and for record the command */
static int judge(bool record, const char *interface, int words)
{
	if (!record && interface)
		return misused("timeline: -i is for record");
	if (!record && words != 1)
		return misused("timeline: give one DIR (rtgt timeline --help)");
	if (record && words < 2)
		return misused("timeline: record needs DIR -- COMMAND (rtgt timeline --help)");
	return EXIT_OK;
}

int cmd_timeline(const struct tool *tool, int argc, char **argv)
{
	const bool record = argc && !strcmp(argv[0], "record");
	const char *interface = NULL;
	uint64_t limit = OPS_TOLD;
	int opt, rc;
	bool recorded;

	argc -= record;
	argv += record;
	optind = 0;
	/* "+": what stands behind DIR is the command's; getopt_long() wants a word in front */
	while ((opt = getopt_long(argc + 1, argv - 1, "+:i:n:h", options, NULL)) != -1) {
		switch (opt) {
		case 'i':
			interface = optarg;
			break;
		case 'n':
			rc = parse_int("--operations", optarg, 0, UINT64_MAX, &limit);
			if (rc)
				return rc;
			break;
		case 'h':
			return print_help(help);
		case ':':
			return misused("timeline: %s needs a value", argv[optind - 2]);
		default:
			return misused("timeline: unknown option %s (rtgt timeline --help)",
				       argv[optind - 2]);
		}
	}
	argc -= optind - 1;
	argv += optind - 1;
	if (record && argc > 1 && !strcmp(argv[1], "--")) {
		argv[1] = argv[0];
		argc--;
		argv++;
	}
	rc = judge(record, interface, argc);
	if (rc)
		return rc;
	if (!record)
		return tell(tool, argv[0], limit, false);
	rc = tl_record(argv[0], interface, argv + 1, &recorded);
	opt = recorded ? tell(tool, argv[0], limit, true) : EXIT_OK;
	return rc ? rc : opt;
}
