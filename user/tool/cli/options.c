// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The options of all commands: one table.  A letter means the same everywhere, but for two: in lat
 * and bw, which speak as perftest does, -a and -d are not what they are in ping (rtgt(1)).
 *
 * A command lists those it has (struct usage) and what they do there.  The help is printed
 * from the two.  The shells complete from the help (complete.c), and the manual pages take their
 * lists of options from it (man/fill.awk).
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rtgt/uapi.h>
#include "options.h"

/**
 * struct spelling - how an option is written
 * @name: behind "--"; NULL if it has letters only
 * @also: another name
 * @letters: each of them; the first is the one that errors name
 * @value: what it takes, for the help; NULL for nothing
 * @help: what it does, where the command does not say
 */
struct spelling {
	const char *name;
	const char *also;
	const char *letters;
	const char *value;
	const char *help;
};

/*
 * -C, -S, -I, -p and, of ping, -a and -d are those of rping; -n, -s, -b, -D, -t, -Q, -q, -x, -m,
 * -F, -H and, of lat and bw, -a and -d those of perftest;
 * -i, -f, -c, -T, -e and -G those of tshark.  In front of a command -p is --pretty, as it is of
 * ip and rdma (main.c).
 */
static const struct spelling table[NR_OPTS] = {
	[OPT_ADDRESS] = { "address", .letters = "a", .value = "HOST",
			  .help = "the target; the same as HOST" },
	[OPT_ALL] = { "all", .letters = "a", .help = "sizes from 2 bytes to 8 MiB, doubling" },
	[OPT_ASYNC] = { "async" },
	[OPT_BIDI] = { "bidi", .letters = "b" },
	[OPT_BULK] = { "bulk" },
	[OPT_CAPTURE] = { "capture", .value = "FILE" },
	[OPT_CHECK] = { "check" },
	[OPT_COMPLETE] = { "complete" },
	[OPT_COMPLETION] = { "completion", .value = "HOW",
			     .help = "kernel: softirq (default), workqueue or direct, which "
				     "polls" },
	[OPT_CONN] = { "conn", .value = "N" },
	[OPT_COUNT] = { "count", .also = "iters", .letters = "Cnc", .value = "N" },
	[OPT_DEBUG] = { "debug", .letters = "d" },
	[OPT_DEPTH] = { "depth", .letters = "t", .value = "N" },
	[OPT_DEVICE] = { "device", .letters = "d", .value = "DEV",
			 .help = "connect from this RDMA device: an address of its interface" },
	[OPT_DOCS] = { "docs", .value = "URL" },
	[OPT_DURATION] = { "duration", .letters = "D", .value = "SECONDS" },
	[OPT_EVENTS] = { "events",
			 .help = "user: sleep until a completion event comes (default)" },
	[OPT_FAILED] = { "failed" },
	[OPT_FAULT] = { "fault", .value = "RULE" },
	[OPT_FAULTS] = { "faults" },
	[OPT_FENCE] = { "fence" },
	[OPT_FIELD] = { "field", .letters = "e", .value = "NAME" },
	[OPT_FILTER] = { "filter", .letters = "f", .value = "FILTER" },
	[OPT_FORMAT] = { .letters = "T", .value = "fields" },
	[OPT_FREQUENCY] = { "CPU-freq", .letters = "F",
			    .help = "perftest's; does nothing, as no clock rate is looked at" },
	[OPT_FROM] = { "from", .value = "LIST",
		       .help = "user (default), kernel, or both: user,kernel.  The kernel's "
			       "initiator needs root and the module loaded here" },
	[OPT_GBITS] = { "report_gbits", .help = "print Gbit/s, of 10^9 bits, instead of MiB/s" },
	[OPT_GID_INDEX] = { "gid-index", .letters = "x", .value = "N",
			    .help = "connect from the address of this entry of the GID table of -d, or "
				    "of the only device" },
	[OPT_HALF] = { "half" },
	[OPT_HEADERS] = { "headers" },
	[OPT_HELD] = { "held", .value = "LIST" },
	[OPT_HELP] = { "help", .letters = "h", .help = "print this text" },
	[OPT_HISTOGRAM] = { "report-histogram", .letters = "H" },
	[OPT_IGNORE] = { "ignore", .value = "RULE" },
	[OPT_INLINE] = { "inline" },
	[OPT_INTERFACE] = { "interface", .letters = "i", .value = "IF" },
	[OPT_JSON] = { "json", .letters = "j", .help = "print JSON; the same as rtgt -j" },
	[OPT_KEYS] = { "keys", .value = "N" },
	[OPT_LADDER] = { "ladder", .letters = "l" },
	[OPT_LIST_FIELDS] = { "list-fields", .letters = "G" },
	[OPT_LIST_RULES] = { "list-rules" },
	[OPT_LOAD] = { "load", .value = "N" },
	[OPT_MESSAGE] = { "message", .value = "N" },
	[OPT_MTU] = { "mtu", .letters = "m", .value = "BYTES",
		      .help = "fail unless the path MTU is this; the interface's decides it" },
	[OPT_NEW_MEMORY] = { "new-memory" },
	[OPT_NO_VERIFY] = { "no-verify" },
	[OPT_ODP] = { "odp" },
	[OPT_ONCE] = { "once" },
	[OPT_OPS] = { "ops", .letters = "o", .value = "LIST" },
	[OPT_OUTPUT] = { "output", .letters = "w", .value = "FILE" },
	[OPT_OVER] = { "over", .value = "LIST",
		       .help = "rdma (default), tcp, or both: rdma,tcp" },
	[OPT_POLL] = { "poll",
		       .help = "poll the completion queues instead of sleeping; needs a CPU of its "
			       "own" },
	[OPT_PORT] = { "port", .letters = "p", .value = "PORT",
		       .help = "the target's port; default " STRING(RTGT_PORT) },
	[OPT_PRETTY] = { "pretty", .help = "indent the JSON; the same as rtgt -p" },
	[OPT_PROFILE] = { "profile", .value = "NAME" },
	[OPT_PROGRESS] = { "progress",
			   .help = "print the progress on stderr even if that is no terminal" },
	[OPT_QP] = { "qp", .value = "N" },
	[OPT_QPS] = { "qps", .letters = "q", .value = "N" },
	[OPT_QUIET] = { "quiet", .help = "print errors only" },
	[OPT_RECONNECT] = { "reconnect", .value = "SECONDS" },
	[OPT_REGION] = { "region", .letters = "r", .value = "N",
			 .help = "index of the port's region; default 0" },
	[OPT_RULE] = { "rule", .value = "RULE" },
	[OPT_RULES] = { "rules", .value = "FILE" },
	[OPT_SAMPLES] = { "samples", .value = "FILE" },
	[OPT_SATURATE] = { "saturate" },
	[OPT_SEED] = { "seed", .value = "N",
		       .help = "seed of the data, to repeat a run; default: another one each time, "
			       "which is printed" },
	[OPT_SEGMENT] = { "segment", .value = "BYTES" },
	[OPT_SGE] = { "sge", .value = "N" },
	[OPT_SIGNAL] = { "signal", .letters = "Q", .value = "N" },
	[OPT_SIZE] = { "size", .letters = "Ss", .value = "BYTES" },
	[OPT_SOURCE] = { "source", .letters = "I", .value = "ADDR",
			 .help = "connect from this address" },
	[OPT_STATE] = { "state", .value = "DIR" },
	[OPT_STATS] = { "stats" },
	[OPT_TCP_PORT] = { "tcp-port", .value = "PORT" },
	[OPT_TIMEOUT] = { "timeout", .value = "SECONDS",
			  .help = "time limit of each step; default 10" },
	[OPT_TRANSPORT] = { "transport", .value = "T" },
	[OPT_UNSIGNALED] = { "unsignaled", .value = "N" },
	[OPT_VERBOSE] = { "verbose", .letters = "v" },
	[OPT_VERIFY] = { "verify", .value = "WHAT" },
	[OPT_WARMUP] = { "warmup", .letters = "W", .value = "N" },
	[OPT_WHAT] = { "what", .value = "LIST" },
	[OPT_WINDOW] = { "window" },
	[OPT_WINDOWS] = { "windows" },
};

static const struct usage_option help_option = { OPT_HELP, NULL };

/* Names and letters of all, and ends */
#define LONG_MAX_	(2 * NR_OPTS + 1)
#define SHORT_MAX	128

/* What getopt_long() returns for the long name of an option; a letter is itself */
#define LONG		256

/**
 * opt_name() - an option as errors name it
 * @opt: which
 *
 * Return: a string that the next call overwrites.
 */
const char *opt_name(enum opt opt)
{
	static char name[32];
	const struct spelling *s = &table[opt];

	if (s->letters)
		snprintf(name, sizeof(name), "-%c", s->letters[0]);
	else
		snprintf(name, sizeof(name), "--%s", s->name);
	return name;
}

/* ----------------------------------------------------------------------------- the help */

#define HELP_WIDTH	96

/* The words of a text from HELP_COLUMN on, in as many lines as it takes; now at @column */
static void print_text(FILE *to, const char *text, int column)
{
	while (*text) {
		int len = (int)strcspn(text, " ");

		if (column > HELP_COLUMN && column + 1 + len > HELP_WIDTH) {
			fputc('\n', to);
			column = 0;
		}
		if (column < HELP_COLUMN)
			column += fprintf(to, "%*s", HELP_COLUMN - column, "");
		else
			column += fprintf(to, " ");
		column += fprintf(to, "%.*s", len, text);
		text += len + (text[len] == ' ');
	}
	fputc('\n', to);
}

static void print_option(FILE *to, const struct usage_option *option)
{
	const struct spelling *s = &table[option->opt];
	const char *before = "";
	char text[80];
	int at = 0;

	for (const char *letter = s->letters; letter && *letter; letter++) {
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s-%c", before, *letter);
		before = ", ";
	}
	if (s->name)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s--%s", before, s->name);
	if (s->value)
		snprintf(text + at, sizeof(text) - (size_t)at, " %s", s->value);
	/* as wide as "-x, " where there is no letter */
	at = fprintf(to, "  %s%s", s->letters ? "" : "    ", text);
	print_text(to, option->help ? option->help : s->help, at);
}

static int print_usage(const struct usage *u)
{
	const char *prefix = "Usage:";
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	int ret;

	if (!to)
		return failed("no memory");
	for (const char *line = u->synopsis; *line;) {
		int len = (int)strcspn(line, "\n");

		fprintf(to, "%-6s rtgt %.*s\n", prefix, len, line);
		prefix = "";
		line += len + (line[len] == '\n');
	}
	fprintf(to, "\n%s\nOptions:\n", u->about);
	for (const struct usage_option *o = u->options; o->opt != NR_OPTS; o++)
		print_option(to, o);
	print_option(to, &help_option);
	fprintf(to, "\n%s", u->notes);
	ret = fclose(to) ? failed("no memory") : print_help(text);
	free(text);
	return ret == EXIT_OK ? OPTIONS_HELP : ret;
}

/* ---------------------------------------------------------------------- the command line */

static void add(const struct usage_option *o, struct option *names, unsigned int *nr,
		char *letters)
{
	const struct spelling *s = &table[o->opt];
	const char *const name[] = { s->name, s->also };
	char *end = letters + strlen(letters);

	for (unsigned int i = 0; i < 2; i++)
		if (name[i])
			names[(*nr)++] = (struct option) {
				name[i], s->value ? required_argument : no_argument, NULL,
				LONG + (int)o->opt,
			};
	for (const char *letter = s->letters; letter && *letter; letter++) {
		*end++ = *letter;
		if (s->value)
			*end++ = ':';
	}
	*end = '\0';
}

/* The option that a letter or the number of a long name stands for; NR_OPTS if none */
static enum opt find(const struct usage *u, int code)
{
	if (code >= LONG)
		return (enum opt)(code - LONG);
	for (const struct usage_option *o = u->options; code && o->opt != NR_OPTS; o++)
		if (table[o->opt].letters && strchr(table[o->opt].letters, code))
			return o->opt;
	return code == 'h' ? OPT_HELP : NR_OPTS;
}

static int wrong(const struct usage *u, int code, const char *word)
{
	if (code == ':')
		return misused("%s needs a value (rtgt %s --help)", opt_name(find(u, optopt)),
			       u->name);
	if (optopt >= LONG)
		return misused("%s takes no value (rtgt %s --help)", opt_name(find(u, optopt)),
			       u->name);
	if (optopt)
		return misused("unknown option -%c (rtgt %s --help)", optopt, u->name);
	return misused("unknown option %s (rtgt %s --help)", word, u->name);
}

/**
 * options_parse() - take the options out of a command line
 * @usage: the command's
 * @tool: what --json and --pretty set
 * @words: those behind the command; what is no option is left
 * @set: takes every other option and its value, which is NULL where it takes none; returns an
 *	 exit status.  NULL for a command without options of its own
 * @arg: for @set
 *
 * Return: EXIT_OK to go on, OPTIONS_HELP, or another exit status after an error was told.
 */
int options_parse(const struct usage *usage, struct tool *tool, struct words *words,
		  int (*set)(void *arg, enum opt opt, char *text), void *arg)
{
	struct option names[LONG_MAX_] = { };
	char letters[SHORT_MAX] = "";
	unsigned int nr = 0;
	int code, ret = EXIT_OK;
	/* the command stands in front, where getopt_long() expects a word */
	char **argv = words->argv - 1;

	if (words->argc && !strcmp(words->argv[0], "help"))
		return print_usage(usage);
	strcpy(letters, usage->stop ? "+:" : ":");
	for (const struct usage_option *o = usage->options; o->opt != NR_OPTS; o++)
		add(o, names, &nr, letters);
	add(&help_option, names, &nr, letters);
	/* main() used getopt_long() on other words and with other rules: begin anew */
	optind = 0;
	while (ret == EXIT_OK &&
	       (code = getopt_long(words->argc + 1, argv, letters, names, NULL)) != -1) {
		enum opt opt = code == ':' || code == '?' ? NR_OPTS : find(usage, code);

		if (opt == NR_OPTS)
			return wrong(usage, code, argv[optind - 1]);
		if (opt == OPT_HELP)
			return print_usage(usage);
		if (opt == OPT_JSON) {
			tool->json = true;
			document_want();
		} else if (opt == OPT_PRETTY) {
			tool->pretty = true;
		} else {
			ret = set(arg, opt, optarg);
		}
	}
	words->argc -= optind - 1;
	words->argv += optind - 1;
	return ret;
}
