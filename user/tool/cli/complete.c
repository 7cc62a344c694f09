// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the shells' completions (user/completion/) offer: the words that a help lists.
 *
 * "rtgt --complete WORD..." calls completion_begin() and then lets the command print its help, as
 * --help does.  From then on print_help() prints, instead of the text, a line for each word that
 * may stand next: the word, a tab, and what it does.  So a new option or key is completed without
 * another list.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static enum { NO, FIRST_WORD, LATER_WORD } completing;

/**
 * completion_begin() - from now on, print_help() lists words
 * @later: the command already has a word, so the next one is no verb
 */
void completion_begin(bool later)
{
	completing = later ? LATER_WORD : FIRST_WORD;
}

static void offer(const char *word, size_t len, const char *about)
{
	printf("%.*s\t%.*s\n", (int)len, word, (int)strcspn(about, "\n"), about);
}

/* "-C, -n, --count N  how many": each spelling is a word.  The text begins in a fixed column */
static void offer_options(const char *line, const char *at)
{
	size_t len = strcspn(line, "\n");
	const char *about = line + (len < HELP_COLUMN ? len : HELP_COLUMN);

	while (*at == '-' && at < line + HELP_COLUMN) {
		len = strcspn(at, "\n, ");
		offer(at, len, about);
		at += len;
		at += strspn(at, ", ");
	}
}

/* What stands behind two blanks, or the end of the line */
static const char *behind_gap(const char *at)
{
	const char *end = at + strcspn(at, "\n"), *gap = strstr(at, "  ");

	return gap && gap < end ? gap + strspn(gap, " ") : end;
}

/* "rtgt port add NAME...    make a port": the verb, once */
static void offer_verb(const char *at, const char **last)
{
	size_t len;

	at += strlen("rtgt ");
	at += strcspn(at, "\n ");
	at += strspn(at, " ");
	len = strcspn(at, "\n ");
	if (!*last || strncmp(*last, at, len + 1))
		offer(at, len, behind_gap(at));
	*last = at;
}

static void offer_words(const char *help)
{
	const char *verb = NULL;
	bool list = false, usage = true;

	for (const char *line = help; *line; line += *line == '\n') {
		const char *at = line + strspn(line, " ");

		if (at == line && *at != '\n') {
			list = !strncmp(at, "Keys", 4) || !strncmp(at, "Commands", 8);
			usage = usage && !list && strncmp(at, "Example", 7);
		} else if (*at == '-' && at < line + HELP_COLUMN) {
			offer_options(line, at);
		} else if (usage && at == line + 2 && !strncmp(at, "rtgt ", 5)) {
			if (completing == FIRST_WORD)
				offer_verb(at, &verb);
		} else if (list && at == line + 2 && islower((unsigned char)*at) &&
			   (!verb || completing == LATER_WORD)) {
			offer(at, strcspn(at, "\n "), behind_gap(at));
		}
		line += strcspn(line, "\n");
	}
}

int print_help(const char *text)
{
	if (completing)
		offer_words(text);
	else
		fputs(text, stdout);
	return fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}
