// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt [-j] [-p] COMMAND ...: the options in front, then a table of commands.
 */
#include <getopt.h>
#include <stdlib.h>

#include "rtgt.h"

static const char help[] =
"Usage: rtgt [-j] [-p] COMMAND ...\n"
"\n"
"An RDMA target in the Linux kernel: set it up, look at it, talk to it.\n"
"\n"
"Commands (each has --help, and may be abbreviated where that is unambiguous):\n"
"  port      add, set, enable, disable, delete and show ports of the kernel target\n"
"  region    add, set, delete and show the memory a port exposes\n"
"  show      everything: ports, regions, connections, counters\n"
"  serve     the kernel target's protocol, served from user space\n"
"  ping      every RDMA operation to a target, every byte verified\n"
"  lat       latency of single operations, from user space and from the kernel\n"
"  bw        bandwidth and message rate, likewise\n"
"  cost      what comes before: registrations, connections, connections held\n"
"  explain   packets of a capture or an interface, taken apart\n"
"  reconcile  do client, target, devices and wire tell the same story?\n"
"  report    what a run left in a directory, as one page: packet by packet, figures\n"
"  timeline  when did what happen, at both ends and on the wire\n"
"  tcp-serve serve lat and bw over TCP, to compare with\n"
"\n"
"Options:\n"
"  -j, --json      results as JSON\n"
"  -p, --pretty    JSON indented\n"
"  -h, --help      this text\n"
"\n"
"Exit status: 0 done, 1 the operation failed, 2 the command line is wrong.\n"
"See rtgt(1), rtgt-ping(1), rtgt(7).\n";

static const struct command commands[] = {
	{ "port", cmd_port },
	{ "region", cmd_region },
	{ "show", cmd_show },
	{ "serve", cmd_serve },
	{ "ping", cmd_ping },
	{ "lat", cmd_lat },
	{ "bw", cmd_bw },
	{ "cost", cmd_cost },
	{ "reconcile", cmd_reconcile },
	{ "explain", cmd_explain },
	{ "report", cmd_report },
	{ "timeline", cmd_timeline },
	{ "tcp-serve", cmd_tcp_serve },
	{ }
};

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "pretty", no_argument, NULL, 'p' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

int main(int argc, char **argv)
{
	struct tool tool = { .argc = argc, .argv = argv };
	int opt;

	/* "+": what stands behind the command is the command's */
	while ((opt = getopt_long(argc, argv, "+:jph", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			tool.json = true;
			break;
		case 'p':
			tool.pretty = true;
			break;
		case 'h':
			return print_help(help);
		default:
			return misused("unknown option %s (rtgt --help)", argv[optind - 1]);
		}
	}
	return dispatch(&tool, commands, "", help, argc - optind, argv + optind);
}
