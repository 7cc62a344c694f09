// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt report: what a run left in a directory, as one HTML page that needs nothing else.
 *
 * The page is page/report.html with style sheet, scripts and data put in where it says
 * @report.css@, @words.js@ ... and @data@; the files are linked into the program as
 * they are.  The data is one JSON document: what the other report_*.c files gather.  The
 * scripts draw all of it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tool/out/json.h"
#include "report.h"
#include "tool/cli/options.h"

static const struct usage_option options[] = {
	{ OPT_CAPTURE, "the packets to step through; default DIR/steps.pcap, or else "
		       "DIR/wire.pcap" },
	{ OPT_DOCS, "where the HTML documentation is, which the chapters and terms link to: a "
		    "URL, or a path seen from the page" },
	{ OPT_OUTPUT, "write the page to this file" },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "report",
	.synopsis = "report [OPTIONS] DIR",
	.about =
"Write DIR/report.html: one page, complete in itself, that shows what is in DIR: the packets\n"
"to step through, the wire as a whole, latencies, counters.  It leaves out what DIR has not.\n"
"\n"
"Read from DIR: wire.pcap (the whole wire), *.json of rtgt -j ping and rtgt -j lat, pairs\n"
"NAME-before.json and NAME-after.json of counters, timeline.json, transcript.txt.\n",
	.options = options,
	.notes =
"Exit status: 0 done, 1 failed, 2 the command line is wrong.  See rtgt-report(1).\n",
};

/* What the options say */
struct report_options {
	const char *capture;
	const char *docs;
	const char *output;
};

/* From ld -r -b binary: where a file of tool/report/page begins and ends */
#define EMBEDDED(name) \
	extern const char _binary_##name##_start[], _binary_##name##_end[]
EMBEDDED(report_html);
EMBEDDED(report_css);
EMBEDDED(words_js);
EMBEDDED(packets_js);
EMBEDDED(dom_js);
EMBEDDED(ladder_js);
EMBEDDED(claims_js);
EMBEDDED(figures_js);
EMBEDDED(main_js);

/* What stands in the template for the text from @start to @end */
struct part {
	const char *mark, *start, *end;
};

/* The first of the marks in the template, from @at on; its end if there is none */
static const char *next_mark(const char *at, const struct part *parts, const struct part **found)
{
	const char *first = _binary_report_html_end;

	*found = NULL;
	for (const struct part *p = parts; p->mark; p++) {
		const char *here = memmem(at, (size_t)(_binary_report_html_end - at), p->mark,
					  strlen(p->mark));

		if (here && here < first) {
			first = here;
			*found = p;
		}
	}
	return first;
}

static void put(FILE *to, const char *start, const char *end)
{
	fwrite(start, 1, (size_t)(end - start), to);
}

/* Within the script element a "<" could end it: JSON knows another way to write one */
static char *escaped(const char *json)
{
	size_t size = 0;
	FILE *to;
	char *text = NULL;

	to = open_memstream(&text, &size);
	if (!to)
		return NULL;
	for (const char *c = json; *c; c++) {
		if (*c == '<')
			fputs("\\u003c", to);
		else
			putc(*c, to);
	}
	return fclose(to) ? NULL : text;
}

static int write_page(FILE *to, struct json_object *data)
{
	char *json = escaped(json_object_to_json_string_ext(data, JSON_C_TO_STRING_PLAIN |
							    JSON_C_TO_STRING_NOSLASHESCAPE));
#define PART(mark, name) { mark, _binary_##name##_start, _binary_##name##_end }
	const struct part parts[] = {
		PART("@report.css@", report_css),
		{ "@data@", json, json ? json + strlen(json) : NULL },
		PART("@words.js@", words_js),
		PART("@packets.js@", packets_js),
		PART("@dom.js@", dom_js),
		PART("@ladder.js@", ladder_js),
		PART("@claims.js@", claims_js),
		PART("@figures.js@", figures_js),
		PART("@main.js@", main_js),
		{ }
	};
#undef PART
	const char *at = _binary_report_html_start;
	const struct part *p;

	if (!json)
		return -ENOMEM;
	for (;;) {
		const char *mark = next_mark(at, parts, &p);

		put(to, at, mark);
		if (!p)
			break;
		put(to, p->start, p->end);
		at = mark + strlen(p->mark);
	}
	free(json);
	return ferror(to) ? -EIO : 0;
}

/* The page appears whole or not at all */
static int write_file(const char *path, struct json_object *data)
{
	char new[PATH_MAX + 8];
	FILE *to;
	int ret;

	snprintf(new, sizeof(new), "%s.new", path);
	to = fopen(new, "w");
	if (!to)
		return failed("%s: cannot be written: %s", new, strerror(errno));
	ret = write_page(to, data);
	if (!ret && !fflush(to) && ftell(to) > REPORT_MAX) {
		failed("%s: would have %ld bytes, more than %d: leave documents out of the directory, or shorten transcript.txt",
		       path, ftell(to), REPORT_MAX);
		fclose(to);
		unlink(new);
		return EXIT_FAILED;
	}
	if (fclose(to) || ret || rename(new, path)) {
		ret = failed("%s: %s", path, strerror(ret ? -ret : errno));
		unlink(new);
		return ret;
	}
	return EXIT_OK;
}

static bool in_dir(char *path, const char *dir, const char *name)
{
	snprintf(path, PATH_MAX, "%s/%s", dir, name);
	/* a file that exists and cannot be read: the function that opens it reports that */
	return !access(path, F_OK);
}

/* An array or object, if there is one */
static void add(struct json_object *to, const char *key, struct json_object *value)
{
	if (value)
		json_object_object_add(to, key, value);
}

static void add_origin(struct json_object *to, const char *dir)
{
	char full[PATH_MAX], made[32];
	time_t now = time(NULL);
	struct tm tm;
	const char *base;

	/* dir may be "." */
	base = realpath(dir, full) ? strrchr(full, '/') : NULL;
	strftime(made, sizeof(made), "%F %R", localtime_r(&now, &tm));
	rtgt_json_str(to, "version", RTGT_TOOL_VERSION);
	rtgt_json_str(to, "made", made);
	rtgt_json_str(to, "directory", base && base[1] ? base + 1 : dir);
}

static int report(const char *dir, const struct report_options *o)
{
	const char *capture = o->capture;
	struct json_object *data, *steps = NULL, *wire = NULL;
	char path[PATH_MAX], shown[PATH_MAX];
	int ret;

	if (!capture && (in_dir(shown, dir, "steps.pcap") || in_dir(shown, dir, "wire.pcap")))
		capture = shown;
	if (capture) {
		steps = report_steps(capture);
		if (!steps)
			return EXIT_FAILED;
	}
	if (!in_dir(path, dir, "wire.pcap"))
		snprintf(path, sizeof(path), "%s", capture ? capture : "");
	if (*path) {
		wire = report_wire(path);
		if (!wire) {
			json_object_put(steps);
			return EXIT_FAILED;
		}
	}
	data = rtgt_json_document("rtgt-report-1");
	add_origin(data, dir);
	if (o->docs)
		rtgt_json_str(data, "pages", o->docs);
	add(data, "docs", report_docs(dir));
	add(data, "commands", report_commands(dir));
	add(data, "steps", steps);
	add(data, "wire", wire);
	in_dir(path, dir, "report.html");
	ret = write_file(o->output ? o->output : path, data);
	json_object_put(data);
	return ret;
}

static int set_option(void *arg, enum opt opt, char *text)
{
	struct report_options *o = arg;

	if (opt == OPT_CAPTURE)
		o->capture = text;
	else if (opt == OPT_DOCS)
		o->docs = text;
	else
		o->output = text;
	return EXIT_OK;
}

int cmd_report(struct tool *tool, int argc, char **argv)
{
	struct words words = { argc, argv };
	struct report_options o = { };
	struct stat st;
	int ret = options_parse(&usage, tool, &words, set_option, &o);

	if (ret)
		return ret == OPTIONS_HELP ? EXIT_OK : ret;
	if (words.argc != 1)
		return misused("report: one directory is wanted, here are %d (rtgt report --help)",
			       words.argc);
	if (stat(words.argv[0], &st) || !S_ISDIR(st.st_mode))
		return failed("report: %s is no directory; make demo leaves one, build/demo",
			      words.argv[0]);
	return report(words.argv[0], &o);
}
