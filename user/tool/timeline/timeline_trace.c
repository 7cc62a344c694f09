// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads a trace as tracefs prints it ("trace"), and what the recorder wrote into it:
 *
 *	  task-PID  [CPU] FLAGS SECONDS.MICROS: EVENT: REST
 *
 * The task's name may hold anything, so a line is found by what follows it.  A line that
 * is not like this is an error that names it: half a trace would make a story with gaps
 * nobody sees.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timeline.h"

#define TEXT_MAX	(256u << 20)

/**
 * tl_grow() - room for one more
 * @array: of @nr elements of @size bytes, in room for @room
 *
 * Return: the array, perhaps elsewhere; NULL without memory, @array is as it was.
 */
void *tl_grow(void *array, unsigned int nr, unsigned int *room, size_t size)
{
	unsigned int more = *room ? *room * 2 : 64;

	if (nr < *room)
		return array;
	array = reallocarray(array, more, size);
	if (array)
		*room = more;
	return array;
}

/* Where the value of "key=" begins; NULL if there is none */
static const char *find(const char *rest, const char *key)
{
	const size_t len = strlen(key);

	for (const char *at = rest; (at = strstr(at, key)); at += len)
		if ((at == rest || at[-1] == ' ') && at[len] == '=')
			return at + len + 1;
	return NULL;
}

/**
 * tl_text() - a value of an event
 * @rest: what the event says
 * @key: its name, without "="
 * @buf: filled in, without the quotes that strings have
 * @size: of @buf; a longer value is no value
 *
 * Return: whether there is one.
 */
bool tl_text(const char *rest, const char *key, char *buf, size_t size)
{
	const char *at = find(rest, key);
	size_t len;

	if (!at)
		return false;
	if (*at == '"')
		len = strcspn(++at, "\"");
	else
		len = strcspn(at, " ");
	if (len >= size)
		return false;
	memcpy(buf, at, len);
	buf[len] = 0;
	return true;
}

/* The same of a number, decimal or hexadecimal */
bool tl_number(const char *rest, const char *key, int64_t *value)
{
	const char *at = find(rest, key);
	char *end;

	if (!at || (!isdigit((unsigned char)*at) && *at != '-'))
		return false;
	errno = 0;
	*value = strtoll(at, &end, 0);
	return !errno && end != at && (!*end || *end == ' ' || *end == ',' || *end == ')');
}

/* "[0-9]+" at *@at, and goes behind it */
static bool digits(char **at, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	errno = 0;
	*value = strtoull(*at, &end, 10);
	*at = end;
	return !errno;
}

/* From the bracket of "[CPU]" on */
static bool parse_rest(struct tl_line *l, char *at)
{
	uint64_t cpu, s, us;
	char *begin;

	at++;
	if (!digits(&at, &cpu) || *at++ != ']' || *at++ != ' ')
		return false;
	at += strcspn(at, " ");	/* flags */
	at += strspn(at, " ");
	if (!digits(&at, &s) || *at++ != '.')
		return false;
	begin = at;
	if (!digits(&at, &us) || at - begin != 6 || s > INT64_MAX / 2000000000)
		return false;
	if (*at++ != ':' || *at++ != ' ')
		return false;
	l->us = (int64_t)(s * 1000000 + us);
	l->event = at;
	at += strcspn(at, ": ");
	if (at == l->event || *at != ':')
		return false;
	*at++ = 0;
	l->rest = at + (*at == ' ');
	return true;
}

static bool parse(struct tl_line *l, char *line)
{
	uint64_t pid = 0;

	for (char *at = line; (at = strchr(at, '[')); at++) {
		char *end = at;

		while (end > line && end[-1] == ' ')
			end--;
		while (end > line && isdigit((unsigned char)end[-1]))
			end--;
		if (end == line || end[-1] != '-')
			continue;
		if (!digits(&end, &pid) || !parse_rest(l, at))
			continue;
		l->pid = (uint32_t)pid;
		return true;
	}
	return false;
}

/* "# entries-in-buffer/entries-written: 61/64   #P:1" */
static void header(struct tl_trace *t, const char *line)
{
	unsigned long long in, written;

	if (sscanf(line, "# entries-in-buffer/entries-written: %llu/%llu", &in, &written) == 2 &&
	    written > in)
		t->lost += written - in;
}

static void device(struct tl_trace *t, const char *text)
{
	struct tl_device *d = &t->device[t->devices];

	if (t->devices < sizeof(t->device) / sizeof(t->device[0]) &&
	    tl_text(text, "device", d->name, sizeof(d->name)) &&
	    tl_text(text, "addr", d->addr, sizeof(d->addr)))
		t->devices++;
}

/* What the recorder says */
static void mark(struct tl_trace *t, const char *text)
{
	int64_t offset, error, n;

	if (tl_number(text, "offset_ns", &offset) && tl_number(text, "error_ns", &error)) {
		if (t->has_offset)
			t->moved_ns = offset - t->offset_ns;
		else
			t->offset_ns = offset, t->error_ns = error;
		t->has_offset = true;
	} else if (tl_number(text, "dropped", &n) && n > 0) {
		t->dropped += (uint64_t)n;
	} else if (find(text, "missing") &&
		   t->nr_missing < sizeof(t->missing) / sizeof(t->missing[0])) {
		t->missing[t->nr_missing++] = find(text, "missing");
	} else {
		device(t, text);
	}
}

static int add(struct tl_trace *t, char *text, unsigned int nr, const char *path,
	       struct rtgt_err *err)
{
	struct tl_line l = { .nr = nr }, *line;
	unsigned long long lost;
	unsigned int cpu;

	if (!*text)
		return 0;
	if (*text == '#') {
		header(t, text);
		return 0;
	}
	if (sscanf(text, "CPU:%u [LOST %llu EVENTS]", &cpu, &lost) == 2) {
		t->lost += lost;
		return 0;
	}
	/* as many as the kernel does not know */
	if (sscanf(text, "CPU:%u", &cpu) == 1 && strstr(text, " [LOST EVENTS]")) {
		t->lost++;
		return 0;
	}
	if (!parse(&l, text))
		return rtgt_fail(err, EPROTO, "%s: line %u is no event of a trace: \"%.40s\"", path,
				 nr, text);
	if (!strcmp(l.event, "tracing_mark_write") && !strncmp(l.rest, TL_MARK, strlen(TL_MARK))) {
		mark(t, l.rest + strlen(TL_MARK));
		return 0;
	}
	line = tl_grow(t->line, t->lines, &t->room, sizeof(*line));
	if (!line)
		return rtgt_fail(err, ENOMEM, "no memory");
	t->line = line;
	t->line[t->lines++] = l;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct tl_line *x = a, *y = b;

	if (x->us != y->us)
		return x->us < y->us ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

static int read_file(struct tl_trace *t, const char *path, size_t *len, struct rtgt_err *err)
{
	FILE *f = fopen(path, "re");
	size_t room = 1 << 16;
	int ret = 0;
	char *text;

	if (!f)
		return rtgt_fail(err, errno, "%s: %s", path, strerror(errno));
	for (*len = 0; !ret; room *= 2) {
		text = realloc(t->text, room + 1);
		if (!text) {
			ret = rtgt_fail(err, ENOMEM, "no memory");
			break;
		}
		t->text = text;
		*len += fread(text + *len, 1, room - *len, f);
		if (*len < room)
			break;
		if (room >= TEXT_MAX)
			ret = rtgt_fail(err, EFBIG, "%s: more than %u MiB: record less", path,
					TEXT_MAX >> 20);
	}
	if (!ret && ferror(f))
		ret = rtgt_fail(err, EIO, "%s: cannot be read", path);
	fclose(f);
	return ret;
}

/**
 * tl_trace_read() - read a trace
 * @t: filled in, also where it fails; tl_trace_free() frees it
 * @path: of the file
 * @err: filled in when not 0 is returned
 *
 * Return: 0 or a negative errno.
 */
int tl_trace_read(struct tl_trace *t, const char *path, struct rtgt_err *err)
{
	unsigned int nr = 0;
	size_t len = 0;
	char *at, *end;
	int ret;

	memset(t, 0, sizeof(*t));
	ret = read_file(t, path, &len, err);
	if (ret)
		return ret;
	t->text[len] = 0;
	if (strlen(t->text) != len)
		return rtgt_fail(err, EPROTO, "%s: no text", path);
	if (len && t->text[len - 1] != '\n')
		return rtgt_fail(err, EPROTO, "%s: its last line is cut short", path);
	for (at = t->text; !ret && *at; at = end + 1) {
		end = strchr(at, '\n');
		*end = 0;
		ret = add(t, at, ++nr, path, err);
	}
	if (ret)
		return ret;
	if (!t->has_offset)
		return rtgt_fail(err, EPROTO,
				 "%s: does not say how its clock and the capture's go together: was it made by rtgt timeline record?",
				 path);
	qsort(t->line, t->lines, sizeof(*t->line), by_time);
	return 0;
}

void tl_trace_free(struct tl_trace *t)
{
	free(t->line);
	free(t->text);
}
