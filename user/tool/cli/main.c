// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt [-j] [-p] COMMAND ...: the options in front, then a table of commands.
 *
 * Commands that read captures need libpcap, and with it come libraries of half a desktop:
 * to link it costs a start more than all else together.  So they are a program of their
 * own, rtgt-wire, and this file is the main() of both, built twice (RTGT_WIRE).  Whichever
 * program does not have a command becomes the other, with the whole command line.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#ifdef RTGT_WIRE
#define WIRE		true
#define OTHER		"rtgt"
#else
#define WIRE		false
#define OTHER		"rtgt-wire"
#endif

/* Of which program a command is */
#define IN_RTGT(run)	(WIRE ? other : (run))
#define IN_WIRE(run)	(WIRE ? (run) : other)

static const char help[] =
"Usage: rtgt [-j] [-p] COMMAND ...\n"
"\n"
"An RDMA target in the Linux kernel: set it up, look at it, talk to it.\n"
"\n"
"Commands (each has --help, and may be abbreviated where that is unambiguous):\n"
"  port       add, set, enable, disable, revoke, del and show ports of the kernel target\n"
"  region     add, set, del and show the memory a port exposes\n"
"  show       everything: ports, regions, connections, counters\n"
"  monitor    what happens at the ports: connections and why they end\n"
"  serve      the kernel target's protocol, served from user space\n"
"  ping       every RDMA operation to a target, every byte verified\n"
"  lat        latency of single operations, from user space and from the kernel\n"
"  bw         bandwidth and message rate, from user space and from the kernel\n"
"  cost       registrations, the steps of a connection, many connections held\n"
"  doctor     what this host, or the way to another one, lacks for RDMA\n"
"  bridge     a wire that loses, delays and changes the packets that rules name\n"
"  explain    packets of a capture or an interface, in words\n"
"  reconcile  compare the counts of client, target, devices and capture\n"
"  report     what a run left in a directory, as one page: packet by packet, figures\n"
"  soak       random operations, and a model of what the memory must hold\n"
"  timeline   when did what happen, at both ends and on the wire\n"
"  tcp-serve  serve lat and bw over TCP, to compare with\n"
"  work       what training, inference and storage do with the verbs, checked\n"
"  why        what in a capture failed or took long, and why; what a status means\n"
"\n"
"Options:\n"
"  -j, --json             print results as JSON\n"
"  -p, --pretty           indent the JSON; behind a command -p is the port\n"
"  -V, --version          print the version\n"
"  -h, --help             print this text; rtgt help COMMAND that of a command\n"
"\n"
"Exit status: 0 done, 1 the operation failed, 2 the command line is wrong, 130 interrupted.\n"
"See rtgt(1), rtgt-ping(1), rtgt(7).\n";

/* Beside this program, as it is installed and as it is built, or else in PATH */
static int other(struct tool *tool, int argc, char **argv)
{
	char path[PATH_MAX + sizeof(OTHER)];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
	char *slash = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;

	(void)argc;
	if (slash) {
		strcpy(slash + 1, OTHER);
		execv(path, tool->argv);
	}
	execvp(OTHER, tool->argv);
	/* argv is behind the command, which may be abbreviated */
	return failed("%s needs the program " OTHER ", beside this one or in PATH: %s", argv[-1],
		      strerror(errno));
}

static const struct command commands[] = {
	{ "port", IN_RTGT(cmd_port) },
	{ "region", IN_RTGT(cmd_region) },
	{ "show", IN_RTGT(cmd_show) },
	{ "monitor", IN_RTGT(cmd_monitor) },
	{ "serve", IN_RTGT(cmd_serve) },
	{ "ping", IN_RTGT(cmd_ping) },
	{ "lat", IN_RTGT(cmd_lat) },
	{ "bw", IN_RTGT(cmd_bw) },
	{ "cost", IN_RTGT(cmd_cost) },
	{ "reconcile", IN_WIRE(cmd_reconcile) },
	{ "bridge", IN_WIRE(cmd_bridge) },
	{ "doctor", IN_RTGT(cmd_doctor) },
	{ "explain", IN_WIRE(cmd_explain) },
	{ "report", IN_WIRE(cmd_report) },
	{ "soak", IN_RTGT(cmd_soak) },
	{ "timeline", IN_WIRE(cmd_timeline) },
	{ "tcp-serve", IN_RTGT(cmd_tcp_serve) },
	{ "work", IN_RTGT(cmd_work) },
	{ "why", IN_WIRE(cmd_why) },
	{ }
};

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "pretty", no_argument, NULL, 'p' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

/* "help COMMAND ..." is "COMMAND ... --help", and "help" alone our own */
static int help_with(struct tool *tool, int argc, char **argv)
{
	if (argc == 1)
		return print_help(help);
	memmove(argv, argv + 1, (size_t)(argc - 1) * sizeof(*argv));
	argv[argc - 1] = strdup("--help");
	if (!argv[argc - 1])
		return failed("no memory");
	return dispatch(tool, commands, "", help, argc, argv);
}

/* For the shells: what may stand behind these words.  Of options only the names are known here */
static int complete(struct tool *tool, int argc, char **argv)
{
	char *line[3] = { };

	while (argc && argv[0][0] == '-') {
		argc--;
		argv++;
	}
	completion_begin(argc > 1);
	if (!argc)
		return print_help(help);
	line[0] = argv[0];
	line[1] = strdup("--help");
	if (!line[1])
		return failed("no memory");
	return dispatch(tool, commands, "", help, 2, line);
}

/* A command whose output was lost has failed, whatever it has done */
static int written(int rc)
{
	return (fflush(stdout) || ferror(stdout)) && !rc ?
	       failed("standard output does not take it") : rc;
}

int main(int argc, char **argv)
{
	struct tool tool = { .argc = argc, .argv = argv };
	int opt;

	if (argc > 1 && !strcmp(argv[1], "--complete"))
		return complete(&tool, argc - 2, argv + 2);
	/* "+": what stands behind the command is the command's */
	while ((opt = getopt_long(argc, argv, "+:jpVh", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			tool.json = true;
			document_want();
			break;
		case 'p':
			tool.pretty = true;
			break;
		case 'V':
			return print_help("rtgt " RTGT_TOOL_VERSION "\n");
		case 'h':
			return print_help(help);
		default:
			/* of letters that stand together optind has not moved */
			if (optopt)
				misused("unknown option -%c (rtgt --help)", optopt);
			else
				misused("unknown option %s (rtgt --help)", argv[optind - 1]);
			return document_end(EXIT_USAGE);
		}
	}
	if (optind < argc && !strcmp(argv[optind], "help"))
		return document_end(help_with(&tool, argc - optind, argv + optind));
	return document_end(written(dispatch(&tool, commands, "", help, argc - optind,
					     argv + optind)));
}
