// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt doctor: a check and what it found, as a line or an object; and the first line of a file.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <json-c/json.h>

#include "tool/out/json.h"
#include "doctor.h"

/* @note: it can be mended, but need not: nothing is wrong without */
static void add(struct doctor *d, const char *check, const char *fix, bool note, const char *text)
{
	struct json_object *o = json_object_new_object();

	rtgt_json_str(o, "check", check);
	rtgt_json_bool(o, "ok", !fix || note);
	rtgt_json_str(o, "text", text);
	if (fix)
		rtgt_json_str(o, "fix", fix);
	json_object_array_add(d->found, o);
	d->nr++;
	d->wrong += fix && !note;
	if (d->tool->json)
		return;
	if (fix)
		printf("%s: %s: %s: %s\n", note ? "note" : "wrong", check, text, fix);
	else if (d->verbose)
		printf("ok: %s: %s\n", check, text);
	fflush(stdout);
}

/* A check that found nothing wrong: what it saw */
void doctor_fine(struct doctor *d, const char *check, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add(d, check, NULL, false, text);
}

/**
 * doctor_wrong() - a check that found something wrong
 * @d: where to note it
 * @check: a word for the check
 * @fix: the command that mends it
 * @fmt: what is wrong
 *
 * Of a device that another one stands in for it is a note.
 */
void doctor_wrong(struct doctor *d, const char *check, const char *fix, const char *fmt, ...)
{
	char text[640];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add(d, check, fix, d->spare, text);
}

/* The first line of a file; false, and an empty one, if it cannot be read */
bool doctor_read(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");

	buf[0] = '\0';
	if (!f)
		return false;
	if (fgets(buf, (int)size, f))
		buf[strcspn(buf, "\n")] = '\0';
	fclose(f);
	return true;
}
