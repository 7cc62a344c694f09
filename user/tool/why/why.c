// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt why: of each operation and connection in a capture that failed, or took long, what may have
 * caused it, and what in the capture says so.
 *
 * libwire/flow.c follows the connections, as for rtgt explain, and why_seen.c notes what it does
 * not keep.  What is never answered is told when its connection ends, or the capture, so that all
 * evidence is known then.  A cause is certain if the capture shows it, and otherwise one of
 * several.
 */
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <json-c/json.h>

#include "libwire/capture.h"
#include "tool/cli/interrupt.h"
#include "tool/cli/options.h"
#include "tool/out/json.h"
#include "why.h"

static const struct usage_option options[] = {
	{ OPT_FILTER, "only these packets, in the language of pcap-filter(7)" },
	{ OPT_JSON, "print a JSON object a line: each problem, then a summary" },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "why",
	.synopsis = "why [OPTIONS] CAPTURE\nwhy [OPTIONS] DIR\nwhy [OPTIONS] STATUS",
	.about =
"CAPTURE: list the operations and connections in it that failed or took long, with what may have\n"
"caused it and what in the capture shows that.  DIR: the same of its capture.pcap or wire.pcap;\n"
"what rtgt timeline record left there, and NAME-before.json and NAME-after.json of counters, are\n"
"evidence, too.  STATUS, a completion's (12, RETRY_EXC_ERR, \"remote access error\"): what it\n"
"says, the usual causes, and how to find out which it is.\n",
	.options = options,
	.notes =
"Exit status: 0 nothing failed, or STATUS is known; 1 something failed or took long; 2 CAPTURE\n"
"cannot be read; 3 it has neither RoCE nor iWARP; 130 interrupted: the part that was read.\n"
"See rtgt-why(1).\n",
};

static void one(struct why *w, const struct pkt *p)
{
	struct flow_seen seen;

	why_note(w, p);
	why_knock(w, p);
	flow_packet(w->flow, p, &seen);
	if (seen.class != FLOW_CORRUPT)
		return;
	if (!w->corrupt++)
		w->first_corrupt = p->number;
}

static void follow(struct why *w, const struct pkt *p)
{
	const struct pkt *inner = NULL;
	unsigned int nr = 0;

	if (p->kind == PKT_TCP_SEGMENT)
		inner = iwarp_feed(w->iwarp, p, &nr);
	w->packets++;
	w->first_ns = p->first_ns;
	if (p->ns > w->last_ns)
		w->last_ns = p->ns;
	one(w, p);
	for (unsigned int i = 0; i < nr; i++)
		one(w, &inner[i]);
}

static int sum_up(struct why *w)
{
	const struct flow_totals *t = flow_totals(w->flow);
	struct json_object *o;

	flow_end(w->flow);
	why_knocks(w);
	if (!t->connections)
		why_neighbours(w);
	if (w->corrupt) {
		o = why_problem("corrupt");
		rtgt_json_int(o, "packet", (int64_t)w->first_corrupt);
		why_say(o, "what", "%" PRIu64 " packets, from %" PRIu64 " on: the ICRC or CRC is wrong: who gets them drops them",
			w->corrupt, w->first_corrupt);
		why_because(o, false, "ip -s link and ethtool -S on the way; does it always hit the same bytes?",
			    "a packet was changed on the way");
		why_because(o, false, "uname -m at both ends: are all packets of one host like this?",
			    "the sender computes it wrongly, as rxe of old kernels does on big-endian machines");
		why_found(w, o);
	}
	why_dir_counters(w);
	o = why_problem("summary");
	rtgt_json_int(o, "packets", (int64_t)w->packets);
	rtgt_json_int(o, "connections", (int64_t)t->connections);
	rtgt_json_int(o, "messages", (int64_t)t->messages);
	rtgt_json_int(o, "problems", (int64_t)w->problems);
	if (!t->connections)
		why_say(o, "what", "%" PRIu64 " packets, and no connection of RoCE or iWARP",
			w->packets);
	else
		why_say(o, "what", "%" PRIu64 " packets, %" PRIu64 " connections, %" PRIu64
			" messages: %" PRIu64 " failed or took long", w->packets, t->connections,
			t->messages, w->problems);
	why_put(w->tool, o);
	return w->problems ? EXIT_FAILED : t->connections ? EXIT_OK : EXIT_NOTHING;
}

static int read_all(struct why *w, struct capture *c)
{
	struct rtgt_err err = {};
	struct pkt p;
	int ret, rc;

	while ((ret = capture_next(c, &p, &err)) == 1 && !ferror(stdout) && !interrupted)
		follow(w, &p);
	rc = sum_up(w);
	/* what was read is summed up; the status says that it is not all */
	if (interrupted) {
		failed("why: interrupted behind packet %" PRIu64, w->packets);
		rc = EXIT_INTERRUPTED;
	}
	/* 1 says that something failed in the capture */
	if (fflush(stdout) || ferror(stdout)) {
		failed("why: standard output does not take it");
		return EXIT_USAGE;
	}
	if (ret < 0 && !interrupted) {
		failed("%s; what was before it is explained", err.text);
		return EXIT_USAGE;
	}
	return rc;
}

static int read_file(struct why *w, const char *path, const char *filter)
{
	static const struct flow_ops ops = { .message = why_message, .connection = why_connection };
	struct rtgt_err err = {};
	struct capture *c;
	int rc = EXIT_USAGE;

	if (capture_open_file(&c, path, &err)) {
		failed("%s", err.text);
		return EXIT_USAGE;
	}
	w->flow = flow_new(&ops, w, 0, 0);
	w->iwarp = iwarp_new();
	if (!w->flow || !w->iwarp) {
		failed("no memory");
	} else if (filter && capture_filter(c, filter, &err)) {
		failed("%s", err.text);
	} else {
		/* a second one ends it at once */
		interrupt_catch((int)SA_RESETHAND, NULL);
		rc = read_all(w, c);
		interrupt_release();
	}
	capture_close(c);
	flow_free(w->flow);
	iwarp_free(w->iwarp);
	return rc;
}

static int set_option(void *arg, enum opt opt, char *text)
{
	(void)opt;
	*(const char **)arg = text;
	return EXIT_OK;
}

int cmd_why(struct tool *tool, int argc, char **argv)
{
	struct words words = { argc, argv };
	const char *filter = NULL, *path;
	char capture[PATH_MAX];
	struct stat st;
	struct why *w;
	int rc = options_parse(&usage, tool, &words, set_option, &filter);

	if (rc)
		return rc == OPTIONS_HELP ? EXIT_OK : rc;
	if (words.argc != 1)
		return misused("why: give one CAPTURE, one DIR, or one STATUS in quotes (rtgt why --help)");
	if (strcmp(words.argv[0], "-") && access(words.argv[0], F_OK)) {
		if (filter)
			return misused("why: -f is for a CAPTURE or a DIR, and there is no \"%s\"",
				       words.argv[0]);
		rc = why_word(tool, words.argv[0]);
		if (rc == EXIT_NOTHING)
			return misused("why: \"%s\" is neither a file nor a status: a number of enum ibv_wc_status, or a name as RETRY_EXC_ERR",
				       words.argv[0]);
		return rc;
	}
	w = calloc(1, sizeof(*w));
	if (!w)
		return failed("no memory");
	w->tool = tool;
	path = words.argv[0];
	rc = EXIT_OK;
	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		path = capture;
		if (!why_dir_open(w, words.argv[0], capture, sizeof(capture))) {
			failed("why: %s has neither capture.pcap nor wire.pcap", words.argv[0]);
			rc = EXIT_USAGE;
		}
	}
	/* with a filter the numbers are others than the timeline's */
	if (filter) {
		json_object_put(w->timeline);
		w->timeline = NULL;
	}
	if (!rc)
		rc = read_file(w, path, filter);
	json_object_put(w->timeline);
	free(w);
	return rc;
}
