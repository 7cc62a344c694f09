// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * With --json a command always prints a document: whoever reads it needs no second way to learn
 * that there is none.
 *
 * A command that knows more, or has results already, prints its own, with what went wrong.  If it
 * ends without one, because it is misused, fails early or is interrupted, main() prints one here:
 * the schema rtgt-failure-1, with the error that was told last.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define BEFORE	"{\"schema\":\"rtgt-failure-1\",\"errors\":[{\"text\":\""
#define BEHIND	"\"}]}\n"

static atomic_bool begun;
static bool wanted;
static char last[1024];

/* Only what a handler may call */
static void on_signal(int sig)
{
	static const char document[] = BEFORE "interrupted" BEHIND;
	ssize_t n = 0;

	(void)sig;
	if (!begun)
		n = write(STDOUT_FILENO, document, sizeof(document) - 1);
	_exit(n < 0 ? EXIT_FAILED : EXIT_INTERRUPTED);
}

/**
 * document_want() - from now on, something is printed in every case
 *
 * A command that ends otherwise when it is interrupted catches the signals itself.
 */
void document_want(void)
{
	const struct sigaction act = { .sa_handler = on_signal };

	wanted = true;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

/**
 * document_begin() - the command prints one, or the first of several
 */
void document_begin(void)
{
	begun = true;
}

/**
 * document_error() - remember what is wrong; of several errors the last one ends the command
 * @text: a line
 */
void document_error(const char *text)
{
	snprintf(last, sizeof(last), "%s", text);
}

/* Bytes of the character of UTF-8 that begins here; 0: it is none */
static size_t character(const unsigned char *c)
{
	const size_t n = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 :
			 c[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	/* longer than it need be, half of a pair of UTF-16, or behind the last one */
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] >= 0xa0) ||
	    (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] >= 0x90))
		return 0;
	return n;
}

/**
 * document_end() - print a document if the command has not
 * @status: its exit status
 *
 * Return: @status.
 */
int document_end(int status)
{
	if (!wanted || begun || !last[0] || status == EXIT_OK)
		return status;
	fputs(BEFORE, stdout);
	for (const char *c = last; *c; c++) {
		const size_t n = character((const unsigned char *)c);

		if (*c == '"' || *c == '\\')
			printf("\\%c", *c);
		else if (!n)
			fputs("\\ufffd", stdout);
		else if ((unsigned char)*c < ' ')
			printf("\\u%04x", *c);
		else
			c += fwrite(c, 1, n, stdout) - 1;
	}
	fputs(BEHIND, stdout);
	fflush(stdout);
	return status;
}
