// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Values of options.  The functions return an exit status, and have told the error if that is
 * not EXIT_OK.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "options.h"

/* The value of an option, from @min to @max */
int opt_int(enum opt opt, const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	if (!parse_number(text, max, value) && *value >= min)
		return EXIT_OK;
	return misused("%s \"%s\": a number from %llu to %llu", opt_name(opt), text,
		       (unsigned long long)min, (unsigned long long)max);
}

int opt_uint(enum opt opt, const char *text, unsigned int min, unsigned int max,
	     unsigned int *value)
{
	uint64_t wide = 0;
	int ret = opt_int(opt, text, min, max, &wide);

	if (!ret)
		*value = (unsigned int)wide;
	return ret;
}

/* The seed of a run's data: 32 bits, which JSON and a person can repeat */
int opt_seed(const char *text, uint64_t *seed)
{
	return opt_int(OPT_SEED, text, 0, UINT32_MAX, seed);
}

/* The seed of a run for which none was given: never that of a run before */
uint64_t new_seed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint32_t)((uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 16 ^
			  (uint64_t)getpid() << 8);
}

/* Bytes as rtgt writes them: 16M and not 16777216 */
static const char *bytes_str(uint64_t bytes, char *buf, size_t size)
{
	static const char *const units[] = { "", "K", "M", "G" };
	unsigned int unit = 0;

	for (; bytes && bytes % 1024 == 0 && unit < 3; bytes /= 1024)
		unit++;
	snprintf(buf, size, "%llu%s", (unsigned long long)bytes, units[unit]);
	return buf;
}

/* A number of bytes, with K, M or G behind it or nothing */
int opt_bytes(enum opt opt, const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	const char *end;
	char most[32];

	if (!read_size(text, &end, value) && !*end && *value >= min && *value <= max)
		return EXIT_OK;
	return misused("%s \"%s\": %llu to %s bytes", opt_name(opt), text, (unsigned long long)min,
		       bytes_str(max, most, sizeof(most)));
}

static int add_size(struct sizes *sizes, uint64_t size)
{
	if (sizes->nr == SIZES_MAX)
		return -E2BIG;
	sizes->at[sizes->nr++] = size;
	return 0;
}

/* NUMBER, or FIRST-LAST, which doubles; @end is where it ends */
static int add_range(struct sizes *sizes, const char *text, const char **end, uint64_t min,
		     uint64_t max)
{
	uint64_t first, last;

	if (read_size(text, end, &first))
		return -EINVAL;
	last = first;
	if (**end == '-' && read_size(*end + 1, end, &last))
		return -EINVAL;
	if (first < min || last < first || last > max)
		return -EINVAL;
	for (uint64_t size = first; size < last; size = size ? 2 * size : 1)
		if (add_size(sizes, size))
			return -E2BIG;
	return add_size(sizes, last);
}

/* A list of numbers and ranges with commas between */
int opt_sizes(enum opt opt, const char *text, uint64_t min, uint64_t max, struct sizes *sizes)
{
	const char *end = text;
	char most[32];

	for (sizes->nr = 0; !add_range(sizes, end, &end, min, max); end++) {
		/* who makes a list in a loop ends it with a comma */
		if (!*end || !strcmp(end, ","))
			return EXIT_OK;
		if (*end != ',')
			break;
	}
	return misused("%s \"%s\": at most %d numbers of %llu to %s, or ranges like 1-64K, separated by commas",
		       opt_name(opt), text, SIZES_MAX, (unsigned long long)min,
		       bytes_str(max, most, sizeof(most)));
}

/* "read, write or send" */
static const char *join(const char *const *words, char *buf, size_t size)
{
	size_t at = 0;

	buf[0] = '\0';
	for (; *words && at < size; words++)
		at += (size_t)snprintf(buf + at, size - at, "%s%s",
				       !at ? "" : words[1] ? ", " : " or ", *words);
	return buf;
}

/* The index of the first @len bytes of @text among the words; behind the last if none */
static unsigned int find(const char *text, size_t len, const char *const *words)
{
	unsigned int i;

	for (i = 0; words[i] && (strncmp(text, words[i], len) || words[i][len]); i++)
		;
	return i;
}

/* One of the words, which end with NULL: its index */
int opt_word(enum opt opt, const char *text, const char *const *words, unsigned int *which)
{
	unsigned int i = find(text, strlen(text), words);
	char all[256];

	if (!words[i])
		return misused("%s \"%s\": %s", opt_name(opt), text,
			       join(words, all, sizeof(all)));
	*which = i;
	return EXIT_OK;
}

/* A list of the words with commas between: 1 << index of each */
int opt_words(enum opt opt, const char *text, const char *const *words, unsigned int *bits)
{
	char all[256];

	*bits = 0;
	for (size_t len; *text; text += len + (text[len] == ',')) {
		unsigned int i;

		len = strcspn(text, ",");
		i = find(text, len, words);
		if (!words[i])
			return misused("%s: no \"%.*s\": one or more of %s", opt_name(opt),
				       (int)len, text, join(words, all, sizeof(all)));
		*bits |= 1u << i;
	}
	return *bits ? EXIT_OK :
	       misused("%s: an empty list: one or more of %s", opt_name(opt),
		       join(words, all, sizeof(all)));
}

/**
 * where_option() - take an option if it is about the target
 * @to: the target
 * @opt: which option
 * @text: its value
 *
 * Return: an exit status, or NOT_WHERE.
 */
int where_option(struct where *to, enum opt opt, char *text)
{
	uint64_t port;

	switch (opt) {
	case OPT_ADDRESS:
		to->host = text;
		return EXIT_OK;
	case OPT_PORT:
		to->service = text;
		return opt_int(opt, text, 1, 65535, &port);
	case OPT_SOURCE:
		to->source = text;
		return EXIT_OK;
	case OPT_TIMEOUT:
		return opt_uint(opt, text, 1, 3600, &to->timeout);
	default:
		return NOT_WHERE;
	}
}

/**
 * where_host() - take HOST from behind the options
 * @to: the target
 * @command: for errors
 * @words: what is behind the options
 *
 * Return: an exit status.
 */
int where_host(struct where *to, const char *command, const struct words *words)
{
	const int used = words->argc && !to->host;

	if (used)
		to->host = words->argv[0];
	if (words->argc > used)
		return misused("%s takes one HOST: what is \"%s\"? (rtgt %s --help)", command,
			       words->argv[used], command);
	if (!to->host)
		return misused("%s needs a HOST: where to? (rtgt %s --help)", command, command);
	return EXIT_OK;
}
