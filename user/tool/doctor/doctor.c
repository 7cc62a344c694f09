// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt doctor: examines this host, and the way to another one, before anything fails.
 *
 * Each check tries what a program will do, or reads what the kernel says, and is one line: what is
 * wrong, and the command that mends it.  It changes nothing, here or there.
 */
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
"target, and whether both ends see the same bytes.  A line for each problem, with the command that\n"
"solves it.  Nothing is changed.\n",
	.options = options,
	.notes =
"Exit status: 0 nothing is wrong, 1 something is, 2 the command line is wrong.\n"
"See rtgt-doctor(1).\n",
};

static int set_option(void *arg, enum opt opt, char *text)
{
	struct doctor *d = arg;

	if (opt == OPT_VERBOSE) {
		d->verbose = true;
		return EXIT_OK;
	}
	d->to_host = true;
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
	if (!words.argc && !d.to.host && d.to_host)
		return misused("doctor: -I, -p and --timeout are for a HOST");
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
