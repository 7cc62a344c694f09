// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt explain -T fields: columns of fields, tabs between them, as tshark prints them.
 */
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
			if (strcmp(l->field[i].name, name) || c->nr == sizeof(c->place) / sizeof(c->place[0]))
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
			const unsigned int bit = l->header == PKT_FRAME ? 0 : f->bit;

			printf("%s\t%s\t%u\t%u\t%s\n", f->name, pkt_header_name(l->header), bit,
			       l->header == PKT_FRAME ? 0 : f->bits, f->label);
		}
	}
	return fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}

/**
 * explain_columns() - a packet's line
 * @x: with columns
 * @p: parsed
 */
void explain_columns(const struct explain *x, const struct pkt *p)
{
	static char text[VALUE_MAX];

	for (unsigned int i = 0; i < x->nr_columns; i++) {
		const struct column *c = &x->column[i];
		bool more = false;

		if (i)
			putchar_unlocked('\t');
		for (unsigned int j = 0; j < c->nr; j++) {
			if (!pkt_has_layout(p, c->place[j].layout) ||
			    !pkt_has_field(p, c->place[j].layout, c->place[j].field))
				continue;
			if (more)
				putchar_unlocked(',');
			fwrite_unlocked(text, 1, pkt_field_print(p, c->place[j].layout, c->place[j].field,
								 text, sizeof(text)), stdout);
			more = true;
		}
	}
	putchar_unlocked('\n');
}
