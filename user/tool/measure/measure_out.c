// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What rtgt lat and rtgt bw have in common of what they print: how a row begins, what
 * was skipped, and the frame of the JSON document.  user/schema/ says what is in it.
 */
#include <stdio.h>

#include "measure.h"

static void add_not_compared(struct not_compared *list, uint64_t bytes, const char *why)
{
	struct not_compared *n = list;

	while (n->why && n->why != why)
		n++;
	/* the last one ends the list */
	if (n == list + NOT_COMPARED_MAX - 1)
		return;
	n->why = why;
	n->bytes += bytes;
}

/**
 * measure_not_compared() - note that bytes of the cell were moved and not compared
 * @m: its cell is set
 * @bytes: how many; none is no news
 * @why: a constant string
 */
void measure_not_compared(struct measure *m, uint64_t bytes, const char *why)
{
	if (bytes)
		add_not_compared(m->not_compared, bytes, why);
}

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
 * measure_out_compared() - add to a row what of its bytes was compared, and what was not
 * @m: its cell is done
 * @row: from measure_json_row()
 */
void measure_out_compared(struct measure *m, struct json_object *row)
{
	struct json_object *list = json_object_new_array();

	rtgt_json_int(row, "verified_bytes", (int64_t)m->verified);
	m->all_verified += m->verified;
	for (const struct not_compared *n = m->not_compared; n->why; n++) {
		rtgt_json_not_compared(list, n->bytes, n->why);
		add_not_compared(m->all_not_compared, n->bytes, n->why);
	}
	json_object_object_add(row, "not_compared", list);
}

/**
 * measure_out_end() - print what of all rows was compared, and what was not
 * @m: all has been measured
 */
void measure_out_end(const struct measure *m)
{
	printf("%llu bytes verified: compared at both ends, outside of the time; seed %llu\n",
	       (unsigned long long)m->all_verified, (unsigned long long)m->seed);
	for (const struct not_compared *n = m->all_not_compared; n->why; n++)
		printf("%llu bytes not compared: %s\n", (unsigned long long)n->bytes, n->why);
}

/**
 * out_document() - the document of a command that measures
 * @tool: the command line
 * @schema: what it holds
 * @facts: where it was measured
 * @results: an array, which stays the caller's
 * @error: what ended it early, which becomes the document's; NULL for nothing
 *
 * Return: the document, for out_print().
 */
struct json_object *out_document(const struct tool *tool, const char *schema,
				 const struct rtgt_facts *facts, struct json_object *results,
				 struct json_object *error)
{
	struct json_object *doc = rtgt_json_document(schema);
	struct json_object *line = json_object_new_array();
	struct json_object *errors = json_object_new_array();

	for (int i = 0; i < tool->argc; i++)
		json_object_array_add(line, json_object_new_string(tool->argv[i]));
	json_object_object_add(doc, "command", line);
	json_object_object_add(doc, "facts", rtgt_json_facts(facts));
	json_object_object_add(doc, "results", json_object_get(results));
	if (error)
		json_object_array_add(errors, error);
	json_object_object_add(doc, "errors", errors);
	return doc;
}

/**
 * out_print() - print a document and release it
 * @tool: the command line
 * @doc: from out_document()
 *
 * Return: an exit status.
 */
int out_print(const struct tool *tool, struct json_object *doc)
{
	int ret = rtgt_json_print(doc, tool->pretty, stdout);

	json_object_put(doc);
	return ret ? failed("standard output does not take it") : EXIT_OK;
}

static struct json_object *json_error(const struct measure *m)
{
	struct json_object *o;

	if (!m->error.code)
		return NULL;
	o = rtgt_json_error(&m->error);
	if (m->at.op) {
		rtgt_json_str(o, "from", measure_from_str(m->at.from));
		rtgt_json_str(o, "over", measure_over_str(m->at.over));
		rtgt_json_str(o, "op", m->at.op->name);
		rtgt_json_int(o, "size", m->at.size);
	}
	return o;
}

/**
 * measure_out_json() - the document of a matrix
 * @m: all has been measured, or as much as could be
 *
 * Return: an exit status.
 */
int measure_out_json(struct measure *m)
{
	struct json_object *doc = out_document(m->tool, m->schema, &m->facts, m->results,
					       json_error(m));

	rtgt_json_int(doc, "seed", (int64_t)m->seed);
	return out_print(m->tool, doc);
}
