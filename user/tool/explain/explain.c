// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt explain: the packets of a capture, one line each, their fields, or JSON.
 *
 * One packet is in memory at a time, so memory does not grow with the capture.  A
 * capture that ends in the middle or is damaged is explained up to there; the exit
 * status is then that of a failure.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <json-c/json.h>

#include "tool/cli/interrupt.h"
#include "tool/cli/options.h"
#include "explain.h"

static const struct usage_option options[] = {
	{ OPT_INTERFACE, "capture packets on this interface until interrupted; with a FILE in the "
			 "format pcapng: those of this interface" },
	{ OPT_FILTER, "only these packets, in the language of pcap-filter(7)" },
	{ OPT_COUNT, "the first N packets only" },
	{ OPT_FORMAT, "print fields, separated by tabs: those that -e names" },
	{ OPT_FIELD, "a field for -T fields; may be given many times; the names are tshark's" },
	{ OPT_LIST_FIELDS, "list the fields: name, header, first bit, bits, meaning" },
	{ OPT_JSON, "print a JSON object a line: packets, then a summary" },
	{ OPT_HEADERS, "with --json: each field of each header, and the bytes" },
	{ OPT_VERBOSE, "each packet in plain words: what it asks or answers, and why" },
	{ OPT_LADDER, "an arrow a packet, the client left and the server right" },
	{ OPT_CHECK, "check the capture against the rules of the protocol; print the violations, and "
		     "how much was checked" },
	{ OPT_COMPLETE, "with --check: the capture lacks no packet, so a missing one is a "
			"violation" },
	{ OPT_IGNORE, "with --check: skip this rule; may be given many times" },
	{ OPT_PROFILE, "with --check: also that the device does what rxe does (rxe), or that programs "
		       "leave their memory alone until it is acknowledged (memory); may be "
		       "given many times" },
	{ OPT_CONN, "only the packets of this connection, by the number that --ladder, --json and "
		    "rtgt why print" },
	{ OPT_QP, "only those of connections that have this queue pair; FILE is read twice, unless it "
		  "is a pipe" },
	{ OPT_MESSAGE, "only those of this message, by the number that --ladder and --json print" },
	{ OPT_FAILED, "only those of connections on which something failed; FILE is read twice" },
	{ OPT_LIST_RULES, "list the rules: name, requirement, reference" },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "explain",
	.synopsis = "explain [OPTIONS] FILE\nexplain [OPTIONS] -i INTERFACE",
	.about =
"Explain the packets of a capture: RoCE v2, the CM's messages, iWARP, a line a packet.  FILE\n"
"is pcap or pcapng; \"-\" is standard input.\n",
	.options = options,
	.notes =
"Exit status: 0 done, 1 the capture is damaged, lacks packets or cannot be read, or --conn, --qp\n"
"and --message select nothing of it, 2 the command line is wrong.  With --check: 0 no rule is\n"
"broken, 1 one is, 2 the capture cannot be read or lacks packets that the kernel dropped, 3 it has\n"
"nothing that could be judged.  130 interrupted: the part that was read is printed.  See rtgt-explain(1).\n",
};

#define IGNORED_MAX	32
#define SNAPLEN		262144	/* all of the largest packet there is */

/* What the command line says of where the packets come from */
struct source {
	const char *file, *interface, *filter;
	char *ignored[IGNORED_MAX];
	unsigned int nr_ignored;
	bool list, rules, fields;
};

/* For the signal handler */
static struct capture *current;

static void stop(void)
{
	capture_stop(current);
}

/* What the options say */
struct chosen {
	struct explain *x;
	struct source *s;
};

static int set_format(struct source *s, const char *text)
{
	static const char *const words[] = { "fields", NULL };
	unsigned int which;

	s->fields = true;
	return opt_word(OPT_FORMAT, text, words, &which);
}

static int add_ignored(struct source *s, char *rule)
{
	if (s->nr_ignored == IGNORED_MAX)
		return misused("--ignore: at most " STRING(IGNORED_MAX) " rules");
	s->ignored[s->nr_ignored++] = rule;
	return EXIT_OK;
}

static int set_source(struct source *s, enum opt opt, char *text)
{
	switch (opt) {
	case OPT_INTERFACE:
		s->interface = text;
		return EXIT_OK;
	case OPT_FILTER:
		s->filter = text;
		return EXIT_OK;
	case OPT_FORMAT:
		return set_format(s, text);
	case OPT_IGNORE:
		return add_ignored(s, text);
	case OPT_LIST_FIELDS:
		s->list = true;
		return EXIT_OK;
	default:
		s->rules = true;
		return EXIT_OK;
	}
}

static int set_select(struct explain_select *s, enum opt opt, const char *text)
{
	s->any = true;
	switch (opt) {
	case OPT_CONN:
		return opt_int(opt, text, 1, UINT64_MAX, &s->conn);
	case OPT_MESSAGE:
		return opt_int(opt, text, 1, UINT64_MAX, &s->message);
	case OPT_QP:
		s->has_qp = true;
		return opt_uint(opt, text, 0, 0xffffff, &s->qp);
	default:
		s->failed = true;
		return EXIT_OK;
	}
}

static int set_option(void *arg, enum opt opt, char *text)
{
	const struct chosen *to = arg;
	struct explain *x = to->x;

	switch (opt) {
	case OPT_COUNT:
		return opt_int(opt, text, 1, UINT64_MAX, &x->limit);
	case OPT_FIELD:
		return explain_add_column(x, text);
	case OPT_HEADERS:
		x->headers = true;
		return EXIT_OK;
	case OPT_VERBOSE:
		x->verbose = true;
		return EXIT_OK;
	case OPT_LADDER:
		x->ladder = true;
		return EXIT_OK;
	case OPT_CHECK:
		x->check = true;
		return EXIT_OK;
	case OPT_COMPLETE:
		x->complete = true;
		return EXIT_OK;
	case OPT_PROFILE:
		if (x->nr_profiles == EXPLAIN_PROFILES_MAX)
			return misused("--profile: at most " STRING(EXPLAIN_PROFILES_MAX));
		x->profile[x->nr_profiles++] = text;
		return EXIT_OK;
	case OPT_CONN:
	case OPT_QP:
	case OPT_MESSAGE:
	case OPT_FAILED:
		return set_select(&x->select, opt, text);
	default:
		return set_source(to->s, opt, text);
	}
}

/* Only a regular file can be read twice.  If there is no file, opening it fails with the reason. */
static bool is_regular(const char *path)
{
	struct stat st;

	return strcmp(path, "-") && (stat(path, &st) || S_ISREG(st.st_mode));
}

/* What does not go together */
static int judge(const struct explain *x, const struct source *s)
{
	if (!s->file && !s->interface)
		return misused("explain: give a FILE or -i INTERFACE (rtgt explain --help)");
	if (s->fields && !x->nr_columns)
		return misused("explain: -T fields needs fields: -e NAME; -G lists them");
	if (x->nr_columns && !s->fields)
		return misused("explain: -e is for -T fields");
	if (x->json && s->fields)
		return misused("explain: --json and -T fields do not go together");
	if (x->headers && !x->json)
		return misused("explain: --headers is for --json");
	if (x->check + x->ladder + x->verbose + s->fields > 1)
		return misused("explain: --check, --ladder, --verbose and -T fields are one or the other");
	if (x->json && (x->ladder || x->verbose))
		return misused("explain: --json tells all that --ladder and --verbose tell");
	if (x->select.any && x->check)
		return misused("explain: --check judges all packets: no --conn, --qp, --message or --failed");
	if (x->select.failed && (s->interface || !is_regular(s->file)))
		return misused("explain: --failed reads a FILE twice: give a file, no pipe and no interface");
	if ((s->nr_ignored || x->complete || x->nr_profiles) && !x->check)
		return misused("explain: %s is for --check", x->complete ? "--complete" :
			       x->nr_profiles ? "--profile" : "--ignore");
	return EXIT_OK;
}

static int parse(struct explain *x, struct source *s, struct tool *tool, int argc, char **argv)
{
	struct words words = { argc, argv };
	struct chosen to = { x, s };
	int ret = options_parse(&usage, tool, &words, set_option, &to);

	x->json = tool->json;
	if (ret)
		return ret;
	if (s->list || s->rules)
		return s->list + s->rules + words.argc + !!s->interface + x->json == 1 ? EXIT_OK :
		       misused("explain: -G and --list-rules print a list, as text: no FILE, no interface, no --json");
	if (words.argc > 1)
		return misused("explain: one FILE, not \"%s\" as well", words.argv[1]);
	s->file = words.argv[0];
	return judge(x, s);
}

static void explain_one(struct explain *x, const struct pkt *p)
{
	struct unit u = { .p = p };

	if (p->kind == PKT_TCP_SEGMENT)
		u.inner = iwarp_feed(x->iwarp, p, &u.nr);
	x->packets++;
	x->bytes += p->len;
	x->seen[u.nr ? PKT_IWARP : p->kind]++;
	x->icrc[p->icrc]++;
	for (unsigned int i = 0; i < u.nr; i++)
		x->crc[u.inner[i].icrc]++;
	x->fault[p->fault]++;
	if (x->flow)
		explain_flow_one(x, &u);
	else if (x->nr_columns)
		explain_columns(x, &u);
	else
		explain_line(&u);
	if (x->live)
		fflush(stdout);
}

/* What is not read or not written is not judged.  With --check, 1 says that a rule is broken */
static int unread(const struct explain *x)
{
	return x->check ? EXIT_USAGE : EXIT_FAILED;
}

/* On a terminal, where nothing else is printed for long */
static void progress(const struct explain *x, bool last)
{
	if (!x->check || x->packets < 0x10000 || !isatty(STDERR_FILENO))
		return;
	if (last)
		fputs("\r                        \r", stderr);
	else
		fprintf(stderr, "\r%" PRIu64 " packets", x->packets);
}

static int explain_all(struct explain *x, struct capture *c)
{
	struct rtgt_err err = {};
	uint64_t dropped;
	struct pkt p;
	int ret, rc;

	do {
		ret = capture_next(c, &p, &err);
		if (ret == 1)
			explain_one(x, &p);
		if (ret == 1 && x->check && !(x->packets & 0xffff))
			progress(x, false);
	} while (ret == 1 && x->packets != x->limit && !ferror(stdout));
	progress(x, true);
	rc = x->flow ? explain_flow_close(x) : EXIT_OK;
	/* none of those behind the last one that is asked for */
	dropped = x->limit && x->packets == x->limit ? 0 : capture_dropped(c);
	if (dropped) {
		failed("explain: the kernel dropped %" PRIu64 " packets before they were read: let fewer through, with -f",
		       dropped);
		/* a violation stays one */
		rc = x->check && rc == EXIT_FAILED ? rc : unread(x);
	}
	/* what was read is summed up; the status says that it is not all */
	if (!x->live && atomic_load(&interrupted)) {
		failed("explain: interrupted behind packet %" PRIu64, x->packets);
		rc = EXIT_INTERRUPTED;
	}
	if (fflush(stdout) || ferror(stdout)) {
		failed("explain: standard output does not take it");
		return unread(x);
	}
	if (ret < 0) {
		failed("%s; what was before it is explained", err.text);
		return unread(x);
	}
	return rc;
}

static int explain(struct explain *x, struct source *s)
{
	const struct capture_how how = { .snaplen = SNAPLEN, .promisc = true };
	struct rtgt_err err = {};
	struct capture *c;
	int ret, rc;

	x->live = !s->file;
	atomic_store(&interrupted, false);
	if (x->live)
		ret = capture_open_live(&c, s->interface, &how, &err);
	else
		ret = capture_open_file(&c, s->file, &err);
	if (ret) {
		failed("%s", err.text);
		return unread(x);
	}
	if (s->file && s->interface && capture_only(c, s->interface, &err)) {
		capture_close(c);
		return misused("%s", err.text);
	}
	if (s->filter && capture_filter(c, s->filter, &err)) {
		capture_close(c);
		return misused("%s", err.text);
	}
	current = c;
	/* a second one ends it at once */
	interrupt_catch(x->live ? SA_RESTART : (int)SA_RESETHAND, stop);
	if ((x->select.failed ||
	     (x->select.has_qp && s->file && !s->interface && is_regular(s->file))) &&
	    explain_find(&x->select, s->file, s->filter, x->limit, &err)) {
		failed("%s", err.text);
		rc = unread(x);
	} else {
		rc = explain_flow_open(x, s->ignored, s->nr_ignored);
	}
	/* Nothing is missed from here on */
	if (!rc && x->live)
		fprintf(stderr, "rtgt: listening on %s\n", s->interface);
	if (!rc)
		rc = explain_all(x, c);
	interrupt_release();
	capture_close(c);
	return rc;
}

static struct explain *explain_new(void (*out)(void *arg, struct json_object *o), void *arg)
{
	struct explain *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->out = out;
	x->arg = arg;
	x->iwarp = iwarp_new();
	if (x->iwarp)
		return x;
	free(x);
	return NULL;
}

static void explain_free(struct explain *x)
{
	iwarp_free(x->iwarp);
	flow_free(x->flow);
	free(x->select.conns);
	free(x);
}

/**
 * explain_file() - a capture as objects: what --json --headers prints
 * @path: of the capture
 * @limit: packets to look at; 0: all
 * @out: gets each object, which it may keep with json_object_get()
 * @arg: for @out
 *
 * Return: an exit status; an error has been told.  Of a damaged capture @out has got what comes
 * before the damage.
 */
int explain_file(const char *path, uint64_t limit, void (*out)(void *arg, struct json_object *o),
		 void *arg)
{
	struct explain *x = explain_new(out, arg);
	struct source s = { .file = path };
	int rc;

	if (!x)
		return failed("no memory");
	x->json = true;
	x->headers = true;
	x->limit = limit;
	rc = explain(x, &s);
	explain_free(x);
	return rc;
}

/* A line for each, unless --pretty takes more */
static void print(void *arg, struct json_object *o)
{
	const struct tool *tool = arg;

	document_begin();
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE |
					    (tool->pretty ? JSON_C_TO_STRING_PRETTY |
					     JSON_C_TO_STRING_SPACED : JSON_C_TO_STRING_PLAIN)));
}

int cmd_explain(struct tool *tool, int argc, char **argv)
{
	struct explain *x = explain_new(print, tool);
	struct source s = {};
	int rc;

	if (!x)
		return failed("no memory");
	rc = parse(x, &s, tool, argc, argv);
	if (rc == OPTIONS_HELP) {
		rc = EXIT_OK;
	} else if (rc == EXIT_OK) {
		if (s.list)
			rc = explain_list_fields();
		else if (s.rules)
			rc = explain_list_rules();
		else
			rc = explain(x, &s);
	}
	explain_free(x);
	return rc;
}
