/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The options of all commands.  See options.c, which has the table, and values.c, which reads
 * their values.
 */
#ifndef RTGT_OPTIONS_H
#define RTGT_OPTIONS_H

#include "cli.h"

/* Each option that any command has; options.c says how it is written */
enum opt {
	OPT_ADDRESS,
	OPT_ALL,
	OPT_ASYNC,
	OPT_BIDI,
	OPT_BULK,
	OPT_CAPTURE,
	OPT_CHECK,
	OPT_COMPLETE,
	OPT_COMPLETION,
	OPT_CONN,
	OPT_COUNT,
	OPT_DEBUG,
	OPT_DEPTH,
	OPT_DEVICE,
	OPT_DOCS,
	OPT_DURATION,
	OPT_EVENTS,
	OPT_FAILED,
	OPT_FAULT,
	OPT_FAULTS,
	OPT_FENCE,
	OPT_FIELD,
	OPT_FILTER,
	OPT_FORMAT,
	OPT_FREQUENCY,
	OPT_FROM,
	OPT_GBITS,
	OPT_GID_INDEX,
	OPT_HALF,
	OPT_HEADERS,
	OPT_HELD,
	OPT_HELP,
	OPT_HISTOGRAM,
	OPT_IGNORE,
	OPT_INLINE,
	OPT_INTERFACE,
	OPT_JSON,
	OPT_KEYS,
	OPT_LADDER,
	OPT_LIST_FIELDS,
	OPT_LIST_RULES,
	OPT_LOAD,
	OPT_MESSAGE,
	OPT_MTU,
	OPT_NEW_MEMORY,
	OPT_NO_VERIFY,
	OPT_ODP,
	OPT_ONCE,
	OPT_OPS,
	OPT_OUTPUT,
	OPT_OVER,
	OPT_POLL,
	OPT_PORT,
	OPT_PRETTY,
	OPT_PROFILE,
	OPT_PROGRESS,
	OPT_QP,
	OPT_QPS,
	OPT_QUIET,
	OPT_RECONNECT,
	OPT_REGION,
	OPT_RULE,
	OPT_RULES,
	OPT_SAMPLES,
	OPT_SATURATE,
	OPT_SEED,
	OPT_SEGMENT,
	OPT_SGE,
	OPT_SIGNAL,
	OPT_SIZE,
	OPT_SOURCE,
	OPT_STATE,
	OPT_STATS,
	OPT_TCP_PORT,
	OPT_TIMEOUT,
	OPT_TRANSPORT,
	OPT_UNSIGNALED,
	OPT_VERBOSE,
	OPT_VERIFY,
	OPT_WARMUP,
	OPT_WHAT,
	OPT_WINDOW,
	OPT_WINDOWS,
	NR_OPTS,
};

/**
 * struct usage_option - an option that a command has
 * @opt: which
 * @help: what it does there; NULL for what the table says
 */
struct usage_option {
	enum opt opt;
	const char *help;
};

/**
 * struct usage - the command line of a command
 * @name: of the command
 * @synopsis: what stands behind "rtgt ", a line for each form
 * @about: text in front of the options
 * @options: its options; ends with a @help that is "" (NO_MORE_OPTIONS)
 * @notes: text behind the options
 * @stop: what stands behind the first word that is no option is no option either
 */
struct usage {
	const char *name;
	const char *synopsis;
	const char *about;
	const struct usage_option *options;
	const char *notes;
	bool stop;
};

#define NO_MORE_OPTIONS	{ NR_OPTS, "" }

/* options_parse(): the help was asked for and printed, there is nothing more to do */
#define OPTIONS_HELP	(-1)

/**
 * struct words - the command line behind the options
 * @argc: how many words
 * @argv: the words
 */
struct words {
	int argc;
	char **argv;
};

int options_parse(const struct usage *usage, struct tool *tool, struct words *words,
		  int (*set)(void *arg, enum opt opt, char *text), void *arg);
const char *opt_name(enum opt opt);

#define SIZES_MAX	128

/**
 * struct sizes - a list of numbers
 * @at: they
 * @nr: how many
 */
struct sizes {
	uint64_t at[SIZES_MAX];
	unsigned int nr;
};

/* values.c */
int opt_int(enum opt opt, const char *text, uint64_t min, uint64_t max, uint64_t *value);
int opt_uint(enum opt opt, const char *text, unsigned int min, unsigned int max,
	     unsigned int *value);
int opt_bytes(enum opt opt, const char *text, uint64_t min, uint64_t max, uint64_t *value);
int opt_seed(const char *text, uint64_t *seed);
uint64_t new_seed(void);
int opt_sizes(enum opt opt, const char *text, uint64_t min, uint64_t max, struct sizes *sizes);
int opt_word(enum opt opt, const char *text, const char *const *words, unsigned int *which);
int opt_words(enum opt opt, const char *text, const char *const *words, unsigned int *bits);

/**
 * struct where - the target that a command connects to
 * @host: where to
 * @service: its port, as text
 * @source: where from; NULL leaves it to the routing table
 * @timeout: bound of each step, in seconds
 */
struct where {
	const char *host;
	const char *service;
	const char *source;
	unsigned int timeout;
};

/* where_option(): the option is not about the target */
#define NOT_WHERE	(-1)

int where_option(struct where *to, enum opt opt, char *text);
int where_host(struct where *to, const char *command, const struct words *words);

#endif /* RTGT_OPTIONS_H */
