// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What rtgt lat and rtgt bw have in common of what they print: how a row begins, what
 * was skipped, and the frame of the JSON document.  user/schema/ says what is in it.
 */
#include <stdio.h>

#include "measure.h"

/**
 * measure_json_row() - how a row begins
 * @m: its cell is set
 *
 * Return: an object that says what was measured.
 */
struct json_object *measure_json_row(const struct measure *m)
{
	struct json_object *o = json_object_new_object();

	rtgt_json_str(o, "from", measure_from_str(m->at.from));
	rtgt_json_str(o, "over", measure_over_str(m->at.over));
	rtgt_json_str(o, "op", m->at.op->name);
	rtgt_json_int(o, "size", m->at.size);
	rtgt_json_str(o, "completions", measure_completions(m));
	return o;
}

/**
 * measure_out_skip() - tell that a cell cannot be
 * @m: its cell is set
 * @why: in words
 */
void measure_out_skip(struct measure *m, const char *why)
{
	struct json_object *o = measure_json_row(m);

	if (!m->tool->json) {
		printf("%-6s %-4s %-10s %8u skipped: %s\n", measure_from_str(m->at.from),
		       measure_over_str(m->at.over), m->at.op->name, m->at.size, why);
		fflush(stdout);
	}
	rtgt_json_str(o, "skipped", why);
	json_object_array_add(m->results, o);
}

/**
 * measure_out_json() - the document
 * @m: all has been measured
 *
 * Return: an exit status.
 */
int measure_out_json(struct measure *m)
{
	struct json_object *doc = json_object_new_object();
	struct json_object *line = json_object_new_array();
	int ret;

	for (int i = 0; i < m->tool->argc; i++)
		json_object_array_add(line, json_object_new_string(m->tool->argv[i]));
	rtgt_json_str(doc, "schema", m->schema);
	json_object_object_add(doc, "command", line);
	json_object_object_add(doc, "facts", rtgt_json_facts(&m->facts));
	json_object_object_add(doc, "results", json_object_get(m->results));
	ret = rtgt_json_print(doc, m->tool->pretty, stdout);
	json_object_put(doc);
	return ret ? EXIT_FAILED : EXIT_OK;
}
