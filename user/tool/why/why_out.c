// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt why: a problem is an object with what happened, what was seen of it, and what may have
 * caused it.  It is printed as JSON, or as lines.
 */
#include <stdarg.h>
#include <stdio.h>
#include <json-c/json.h>

#include "tool/out/json.h"
#include "why.h"

/**
 * why_problem() - begin one
 * @type: what it is about: message, connection, status, summary
 *
 * Return: an object for why_put().
 */
struct json_object *why_problem(const char *type)
{
	struct json_object *o = rtgt_json_document("rtgt-why-1");

	rtgt_json_str(o, "type", type);
	json_object_object_add(o, "seen", json_object_new_array());
	json_object_object_add(o, "causes", json_object_new_array());
	return o;
}

/* A member in words */
void why_say(struct json_object *o, const char *key, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rtgt_json_str(o, key, text);
}

/* Evidence */
void why_seen(struct json_object *o, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_object_array_add(json_object_object_get(o, "seen"), json_object_new_string(text));
}

/**
 * why_because() - a cause
 * @o: problem
 * @certain: the evidence leaves no other
 * @check: what shows whether it is, or mends it
 * @fmt: the cause
 */
void why_because(struct json_object *o, bool certain, const char *check, const char *fmt, ...)
{
	struct json_object *cause = json_object_new_object();
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rtgt_json_str(cause, "cause", text);
	rtgt_json_str(cause, "check", check);
	rtgt_json_bool(cause, "certain", certain);
	json_object_array_add(json_object_object_get(o, "causes"), cause);
}

/* All that a status may have as causes */
void why_perhaps(struct json_object *o, const struct why_status *s)
{
	for (const struct why_cause *c = s->cause; c->cause; c++)
		why_because(o, false, c->check, "%s", c->cause);
}

static const char *member(struct json_object *o, const char *key)
{
	return json_object_get_string(json_object_object_get(o, key));
}

/**
 * why_put() - print a problem, and free it
 * @tool: says how
 * @o: problem
 */
void why_put(const struct tool *tool, struct json_object *o)
{
	struct json_object *seen = json_object_object_get(o, "seen");
	struct json_object *causes = json_object_object_get(o, "causes");

	if (tool->json) {
		document_begin();
		puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE |
						    (tool->pretty ? JSON_C_TO_STRING_PRETTY |
						     JSON_C_TO_STRING_SPACED :
						     JSON_C_TO_STRING_PLAIN)));
		json_object_put(o);
		return;
	}
	puts(member(o, "what"));
	for (size_t i = 0; i < json_object_array_length(seen); i++)
		printf("  seen: %s\n", json_object_get_string(json_object_array_get_idx(seen, i)));
	for (size_t i = 0; i < json_object_array_length(causes); i++) {
		struct json_object *c = json_object_array_get_idx(causes, i);
		bool certain = json_object_get_boolean(json_object_object_get(c, "certain"));

		printf("  %s: %s\n    check: %s\n", certain ? "cause" : "perhaps",
		       member(c, "cause"), member(c, "check"));
	}
	json_object_put(o);
}
