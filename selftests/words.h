/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the rules said in the unit tests, for scripts/unit-tests, which compares it with
 * selftests/words-expected: a test says which rule is broken, and not with which words.
 */
#ifndef RTGT_WORDS_H
#define RTGT_WORDS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A test that gives packets by the thousand shall not fill the file */
#define WORDS_PACKETS	200

static inline void note_words(const char *rule, uint64_t packet, const char *words)
{
	const char *path = getenv("RTGT_WORDS");
	FILE *f = path && packet <= WORDS_PACKETS ? fopen(path, "ae") : NULL;

	if (!f)
		return;
	fprintf(f, "%s: %s\n", rule, words);
	fclose(f);
}

#endif /* RTGT_WORDS_H */
