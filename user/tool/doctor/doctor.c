// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt doctor: examines this host, and the way to another one, before anything fails.
 *
 * Each check tries what a program will do, or reads what the kernel says, and is one line: what is
 * wrong, and the command that mends it.  It changes nothing, here or there.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <json-c/json.h>

#include "tool/out/json.h"
#include "doctor.h"

static const struct usage_option options[] = {
	{ OPT_ADDRESS, NULL },
	{ OPT_PORT, "port of its target (default: 7471)" },
	{ OPT_SOURCE, NULL },
	{ OPT_TIMEOUT, NULL },
	{ OPT_VERBOSE, "print the checks that found nothing wrong, too" },
	{ OPT_JSON, NULL },
	{ OPT_PRETTY, NULL },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "doctor",
	.synopsis = "doctor [OPTIONS] [HOST]",
	.about =
"Examine what RDMA needs on this host: files, devices, ports, addresses, MTUs, memory that may be\n"
"locked.  With HOST also the way there: name, route, neighbour, RDMA device, firewall, path MTU,\n"
"target.  A line for each problem, with the command that solves it.  Nothing is changed.\n",
	.options = options,
	.notes =
"Exit status: 0 nothing is wrong, 1 something is, 2 the command line is wrong.\n"
"See rtgt-doctor(1).\n",
};

/* @note: it can be mended, but need not: nothing is wrong without */
static void add(struct doctor *d, const char *check, const char *fix, bool note, const char *text)
{
	struct json_object *o = json_object_new_object();

	rtgt_json_str(o, "check", check);
	rtgt_json_bool(o, "ok", !fix || note);
	rtgt_json_str(o, "text", text);
	if (fix)
		rtgt_json_str(o, "fix", fix);
	json_object_array_add(d->found, o);
	d->nr++;
	d->wrong += fix && !note;
	if (d->tool->json)
		return;
	if (fix)
		printf("%s: %s: %s: %s\n", note ? "note" : "wrong", check, text, fix);
	else if (d->verbose)
		printf("ok: %s: %s\n", check, text);
	fflush(stdout);
}

/* A check that found nothing wrong: what it saw */
void doctor_fine(struct doctor *d, const char *check, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add(d, check, NULL, false, text);
}

/**
 * doctor_wrong() - a check that found something wrong
 * @d: where to note it
 * @check: a word for the check
 * @fix: the command that mends it
 * @fmt: what is wrong
 *
 * Of a device that another one stands in for it is a note.
 */
void doctor_wrong(struct doctor *d, const char *check, const char *fix, const char *fmt, ...)
{
	char text[640];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add(d, check, fix, d->spare, text);
}

/* The first line of a file; false, and an empty one, if it cannot be read */
bool doctor_read(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");

	buf[0] = '\0';
	if (!f)
		return false;
	if (fgets(buf, (int)size, f))
		buf[strcspn(buf, "\n")] = '\0';
	fclose(f);
	return true;
}

static int set_option(void *arg, enum opt opt, char *text)
{
	struct doctor *d = arg;

	if (opt == OPT_VERBOSE) {
		d->verbose = true;
		return EXIT_OK;
	}
	return where_option(&d->to, opt, text);
}

static int print(struct doctor *d)
{
	struct json_object *doc;
	int ret;

	if (!d->tool->json) {
		printf("%u checks, %u wrong\n", d->nr, d->wrong);
		json_object_put(d->found);
		return fflush(stdout) || ferror(stdout) ? -1 : 0;
	}
	doc = rtgt_json_document("rtgt-doctor-1");
	rtgt_json_bool(doc, "ok", !d->wrong);
	if (d->to.host)
		rtgt_json_str(doc, "host", d->to.host);
	json_object_object_add(doc, "checks", d->found);
	ret = rtgt_json_print(doc, d->tool->pretty, stdout);
	json_object_put(doc);
	return ret;
}

int cmd_doctor(struct tool *tool, int argc, char **argv)
{
	struct words words = { argc, argv };
	struct doctor d = { .tool = tool, .to = { .service = "7471" } };
	int rc;

	d.to.timeout = default_timeout();
	rc = options_parse(&usage, tool, &words, set_option, &d);
	if (rc)
		return rc == OPTIONS_HELP ? EXIT_OK : rc;
	if (words.argc || d.to.host) {
		rc = where_host(&d.to, "doctor", &words);
		if (rc)
			return rc;
	}
	d.found = json_object_new_array();
	doctor_host(&d);
	if (d.to.host)
		doctor_peer(&d);
	if (print(&d))
		return failed("doctor: standard output does not take it");
	return d.wrong ? EXIT_FAILED : EXIT_OK;
}
