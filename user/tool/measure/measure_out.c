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
 * out_document() - the document of a command that measures
 * @tool: the command line
 * @schema: what it holds
 * @facts: where it was measured
 * @results: an array, which stays the caller's
 *
 * Return: an exit status.
 */
int out_document(const struct tool *tool, const char *schema, const struct rtgt_facts *facts,
		 struct json_object *results)
{
	struct json_object *doc = rtgt_json_document(schema);
	struct json_object *line = json_object_new_array();
	int ret;

	for (int i = 0; i < tool->argc; i++)
		json_object_array_add(line, json_object_new_string(tool->argv[i]));
	json_object_object_add(doc, "command", line);
	json_object_object_add(doc, "facts", rtgt_json_facts(facts));
	json_object_object_add(doc, "results", json_object_get(results));
	ret = rtgt_json_print(doc, tool->pretty, stdout);
	json_object_put(doc);
	return ret ? EXIT_FAILED : EXIT_OK;
}

/**
 * measure_out_json() - the document of a matrix
 * @m: all has been measured
 *
 * Return: an exit status.
 */
int measure_out_json(struct measure *m)
{
	return out_document(m->tool, m->schema, &m->facts, m->results);
}
