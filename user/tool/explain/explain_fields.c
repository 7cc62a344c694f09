// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt explain -T fields: columns of fields, tabs between them, as tshark prints them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "explain.h"

#define VALUE_MAX	65536

/**
 * explain_add_column() - print a field
 * @x: what is asked for
 * @name: of the field
 *
 * Return: an exit status; what is wrong has been told.
 */
int explain_add_column(struct explain *x, const char *name)
{
	struct column *c = &x->column[x->nr_columns];

	if (x->nr_columns == EXPLAIN_FIELDS_MAX)
		return misused("explain: at most %d fields", EXPLAIN_FIELDS_MAX);
	for (const struct pkt_layout *l = pkt_layouts; l->nr; l++) {
		for (unsigned int i = 0; i < l->nr; i++) {
			if (strcmp(l->field[i].name, name) ||
			    c->nr == sizeof(c->place) / sizeof(c->place[0]))
				continue;
			c->place[c->nr].layout = l;
			c->place[c->nr++].field = &l->field[i];
		}
	}
	if (!c->nr)
		return misused("explain: no field \"%s\" (rtgt explain --list-fields)", name);
	x->nr_columns++;
	return EXIT_OK;
}

/**
 * explain_list_fields() - print what fields there are
 *
 * Return: an exit status.
 */
int explain_list_fields(void)
{
	for (const struct pkt_layout *l = pkt_layouts; l->nr; l++) {
		for (unsigned int i = 0; i < l->nr; i++) {
			const struct pkt_field *f = &l->field[i];
			const bool frame = l->header == PKT_FRAME;
			const unsigned int bit = frame ? 0 : f->bit, bits = frame ? 0 : f->bits;

			printf("%s\t%s\t%u\t%u\t%s\n", f->name, pkt_header_name(l->header), bit,
			       bits, f->label);
		}
	}
	return fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}

/* A field's values in a packet, behind those that were there before */
static void print_column(const struct column *c, const struct pkt *p, bool *more)
{
	static char text[VALUE_MAX];
	size_t len;

	for (unsigned int i = 0; i < c->nr; i++) {
		if (!pkt_has_layout(p, c->place[i].layout) ||
		    !pkt_has_field(p, c->place[i].layout, c->place[i].field))
			continue;
		if (*more)
			putchar_unlocked(',');
		len = pkt_field_print(p, c->place[i].layout, c->place[i].field, text, sizeof(text));
		fwrite_unlocked(text, 1, len, stdout);
		*more = true;
	}
}

/**
 * explain_columns() - a packet's line
 * @x: with columns
 * @u: the packet
 */
void explain_columns(const struct explain *x, const struct unit *u)
{
	for (unsigned int i = 0; i < x->nr_columns; i++) {
		const struct column *c = &x->column[i];
		bool more = false;

		if (i)
			putchar_unlocked('\t');
		print_column(c, u->p, &more);
		/* Of what is inside, what is not the packet's own */
		for (unsigned int j = 0; j < u->nr && c->place[0].layout->header != PKT_FRAME; j++)
			print_column(c, &u->inner[j], &more);
	}
	putchar_unlocked('\n');
}

/* A packet, in a line, and what became whole with it below */
void explain_line(const struct unit *u)
{
	const struct pkt *p = u->p;
	const uint64_t ns = explain_since(p);
	char src[64], dst[64], line[512];

	pkt_line(p, line, sizeof(line));
	printf("%6" PRIu64 " %s%4" PRIu64 ".%09" PRIu64 " %s > %s %s\n", p->number,
	       p->ns < p->first_ns ? "-" : "", ns / 1000000000, ns % 1000000000,
	       pkt_src(p, src, sizeof(src)), pkt_dst(p, dst, sizeof(dst)), line);
	for (unsigned int i = 0; i < u->nr; i++) {
		pkt_line(&u->inner[i], line, sizeof(line));
		printf("%22s %s\n", "", line);
	}
}
