// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Words of a command line: finding the command they mean, numbers, help, errors.
 *
 * An error is one line on stderr that begins with "rtgt: "; the functions that
 * print one return the exit status that goes with it.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static void complain(const char *fmt, va_list ap)
{
	char text[1024];

	/* What was printed before comes before, also in a file that takes both */
	fflush(stdout);
	vsnprintf(text, sizeof(text), fmt, ap);
	document_error(text);
	fprintf(stderr, "rtgt: %s\n", text);
}

/* The operation failed: what is wrong and what to do */
int failed(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(fmt, ap);
	va_end(ap);
	return EXIT_FAILED;
}

/* The command line is wrong */
int misused(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(fmt, ap);
	va_end(ap);
	return EXIT_USAGE;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
}

bool is_prefix(const char *word, const char *of)
{
	return *word && !strncmp(word, of, strlen(word));
}

static void join_names(const struct command *table, const char *word, char *buf, size_t size)
{
	size_t at = 0;

	buf[0] = '\0';
	for (const struct command *c = table; c->name && at < size; c++) {
		if (*word && !is_prefix(word, c->name))
			continue;
		at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "", c->name);
	}
}

/* Below an object --help means the object's; the word help could be a name there */
static int run(struct tool *tool, const struct command *command, const char *what,
	       const char *help, int argc, char **argv)
{
	if (*what && argc > 1 && argv[1][0] == '-' && is_help(argv[1]))
		return print_help(help);
	return command->run(tool, argc - 1, argv + 1);
}

/*
 * Run the command argv[0] names.  It may be abbreviated as long as only one
 * command begins that way.  @what is the object whose commands these are, with
 * the space behind it, or empty.
 */
int dispatch(struct tool *tool, const struct command *table, const char *what,
	     const char *help, int argc, char **argv)
{
	const struct command *found = NULL;
	unsigned int matches = 0;
	char names[256];

	join_names(table, "", names, sizeof(names));
	if (!argc)
		return misused("%swhat? one of: %s (rtgt %shelp)", what, names, what);
	if (is_help(argv[0]))
		return print_help(help);
	for (const struct command *c = table; c->name; c++) {
		if (!strcmp(argv[0], c->name))
			return run(tool, c, what, help, argc, argv);
		if (!is_prefix(argv[0], c->name))
			continue;
		found = c;
		matches++;
	}
	if (matches == 1)
		return run(tool, found, what, help, argc, argv);
	if (!matches)
		return misused("no command \"%s%s\": one of %s", what, argv[0], names);
	join_names(table, argv[0], names, sizeof(names));
	return misused("\"%s%s\" is ambiguous: %s", what, argv[0], names);
}

/* A decimal number from 0 to @max, nothing behind it */
int parse_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &end, 10);
	if (errno || *end || *value > max)
		return -EINVAL;
	return 0;
}

/*
 * Seconds a step may take where --timeout does not say: RTGT_TIMEOUT of the environment,
 * for a machine on which all takes longer, or 10
 */
unsigned int default_timeout(void)
{
	const char *text = getenv("RTGT_TIMEOUT");
	uint64_t value;

	return text && !parse_number(text, 3600, &value) && value ? (unsigned int)value : 10;
}

/* Bytes: a number and K, M, G or nothing behind it; @end is told where it ends */
int read_size(const char *text, const char **end, uint64_t *value)
{
	static const char suffix[] = "kmg";
	const char *unit;
	unsigned int shift;
	char *stop;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &stop, 10);
	unit = *stop ? strchr(suffix, tolower((unsigned char)*stop)) : NULL;
	shift = unit ? 10 * (unsigned int)(unit - suffix + 1) : 0;
	if (errno || *value > UINT64_MAX >> shift)
		return -EINVAL;
	*value <<= shift;
	*end = unit ? stop + 1 : stop;
	return 0;
}
