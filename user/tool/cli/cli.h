/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the commands of the tool share: errors, words.  See main.c and args.c; options are in
 * options.h.
 */
#ifndef RTGT_TOOL_H
#define RTGT_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A macro's value as text */
#define STRINGIFY(x)	#x
#define STRING(x)	STRINGIFY(x)

/* Exit statuses */
#define EXIT_OK		0
#define EXIT_FAILED	1	/* the operation failed */
#define EXIT_USAGE	2	/* the command line is wrong */
#define EXIT_INTERRUPTED	130	/* by a signal: what is printed is not all */
#define EXIT_NOTHING	3	/* explain --check: nothing could be judged */

/**
 * struct tool - the options in front of the command
 * @json: results as JSON
 * @pretty: indent it
 * @argc: words of the whole command line
 * @argv: the words
 */
struct tool {
	bool json;
	bool pretty;
	int argc;
	char **argv;
};

/**
 * struct command - a word and what it runs
 * @name: the word; may be abbreviated
 * @run: gets the words behind it; returns the exit status
 */
struct command {
	const char *name;
	int (*run)(struct tool *tool, int argc, char **argv);
};

int cmd_bridge(struct tool *tool, int argc, char **argv);
int cmd_bw(struct tool *tool, int argc, char **argv);
int cmd_cost(struct tool *tool, int argc, char **argv);
int cmd_doctor(struct tool *tool, int argc, char **argv);
int cmd_explain(struct tool *tool, int argc, char **argv);
int cmd_reconcile(struct tool *tool, int argc, char **argv);
int cmd_lat(struct tool *tool, int argc, char **argv);
int cmd_monitor(struct tool *tool, int argc, char **argv);
int cmd_ping(struct tool *tool, int argc, char **argv);
int cmd_port(struct tool *tool, int argc, char **argv);
int cmd_region(struct tool *tool, int argc, char **argv);
int cmd_report(struct tool *tool, int argc, char **argv);
int cmd_serve(struct tool *tool, int argc, char **argv);
int cmd_soak(struct tool *tool, int argc, char **argv);
int cmd_show(struct tool *tool, int argc, char **argv);
int cmd_timeline(struct tool *tool, int argc, char **argv);
int cmd_tcp_serve(struct tool *tool, int argc, char **argv);
int cmd_work(struct tool *tool, int argc, char **argv);
int cmd_why(struct tool *tool, int argc, char **argv);

int dispatch(struct tool *tool, const struct command *table, const char *what,
	     const char *help, int argc, char **argv);

/* document.c */
void document_want(void);
void document_begin(void);
void document_error(const char *text);
int document_end(int status);

/* complete.c; the texts of a help's lists begin in this column, counted from 0 */
#define HELP_COLUMN	25
int print_help(const char *text);
void completion_begin(bool later);

int failed(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int misused(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

bool is_prefix(const char *word, const char *of);
int parse_number(const char *text, uint64_t max, uint64_t *value);
unsigned int default_timeout(void);
int read_size(const char *text, const char **end, uint64_t *value);

#endif /* RTGT_TOOL_H */
