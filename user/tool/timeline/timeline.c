// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt timeline: when did what happen, at both ends and on the wire?
 *
 * A directory holds a trace of the kernel and a capture, of the same time and made with
 * clocks that can be told one by the other; rtgt timeline record makes it.  Of each
 * connection the states its queue pairs went through are put between the CM's packets; of
 * each operation the post, the packets, the completions.
 *
 * timeline_trace.c reads the trace, timeline_wire.c the capture; timeline_conn.c,
 * timeline_iwarp.c and timeline_op.c join them; timeline_out.c and timeline_json.c print them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/cli/options.h"
#include "tool/out/json.h"
#include "timeline.h"

#define OPS_TOLD	4

static const struct usage_option options[] = {
	{ OPT_INTERFACE, "record: where the packets are; needed if there are several RDMA devices, and "
			 "then the client's" },
	{ OPT_COUNT, "print the first N operations; default " STRING(OPS_TOLD) "; JSON has all" },
	{ OPT_JSON, NULL },
	{ OPT_PRETTY, NULL },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "timeline",
	.synopsis = "[-j] [-p] timeline [OPTIONS] DIR\n"
		    "[-j] [-p] timeline record [OPTIONS] DIR -- COMMAND...",
	.about =
"When did what happen?  Of each connection: how the queue pairs of both ends went through\n"
"their states, between which packets of the connection manager.  Of each operation: post,\n"
"packets, completions, at the client and at the target.  In microseconds.\n"
"\n"
"DIR holds " TL_TRACE " and " TL_CAPTURE ", as record leaves them there: it traces the kernel\n"
"and captures on the interface while COMMAND runs, then prints, and writes " TL_JSON ".\n"
"It traces this machine only: run it where both ends are, or at each of them.\n",
	.options = options,
	.notes =
"Exit status: 0 done, 1 failed, 2 the command line is wrong; of record, that of COMMAND if\n"
"it is not 0.  See rtgt-timeline(1).\n",
	.stop = true,
};

/* What the options say */
struct timeline_options {
	const char *interface;
	uint64_t limit;
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
	free(t->segment);
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

static int set_option(void *arg, enum opt opt, char *text)
{
	struct timeline_options *o = arg;

	if (opt == OPT_COUNT)
		return opt_int(opt, text, 0, UINT64_MAX, &o->limit);
	o->interface = text;
	return EXIT_OK;
}

/* Record, and tell what was recorded; the exit status of the command counts first */
static int record_and_tell(const struct tool *tool, const struct timeline_options *o,
			   struct words *words)
{
	char *dir = words->argv[0];
	int rc, told = EXIT_OK;
	bool recorded;

	rc = tl_record(dir, o->interface, words->argv + 1, &recorded);
	if (recorded)
		told = tell(tool, dir, o->limit, true);
	return rc ? rc : told;
}

int cmd_timeline(struct tool *tool, int argc, char **argv)
{
	const bool record = argc && !strcmp(argv[0], "record");
	struct words words = { argc - record, argv + record };
	struct timeline_options o = { .limit = OPS_TOLD };
	int rc = options_parse(&usage, tool, &words, set_option, &o);

	if (rc)
		return rc == OPTIONS_HELP ? EXIT_OK : rc;
	if (record && words.argc > 1 && !strcmp(words.argv[1], "--")) {
		words.argv[1] = words.argv[0];
		words.argc--;
		words.argv++;
	}
	rc = judge(record, o.interface, words.argc);
	if (rc)
		return rc;
	return record ? record_and_tell(tool, &o, &words) :
	       tell(tool, words.argv[0], o.limit, false);
}
