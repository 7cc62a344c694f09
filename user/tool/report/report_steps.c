// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The packets of a report's ladder: what rtgt explain --json --headers says of them, in a form
 * that takes a fifth of the room.  Fields come by the thousand but are of a few dozen kinds: name,
 * label and place are written once.  A packet is
 *
 *	{ n number, t time, s source, d destination, l length, k kind, o opcode, q QP, p PSN,
 *	  i ICRC, x line, w words, c connection, m message, r whether it is new,
 *	  h [[header, offset, length, hexadecimal bytes, [[field, value, words], ...]], ...] }
 *
 * A TCP segment that completes MPA frames or FPDUs of iWARP has their lines, words and headers,
 * and the connection and message of the first of them.  The offset of such a header is
 * in the frame, and a true stands behind its fields.
 *
 * Of a header or payload only the first bytes are kept.  When the room is used up, the
 * rest is counted and not shown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/explain/explain.h"
#include "tool/out/json.h"
#include "report.h"
#include "tool/cli/cli.h"

/* Packets looked at, and bytes kept of one header */
#define STEPS_LIMIT	2000
#define KEPT		224

struct steps {
	struct json_object *list, *fields, *index;
	struct json_object *connections, *messages, *broken, *summary;
	size_t room;
	bool full;
	int64_t last;	/* number of the last packet shown */
};

static struct json_object *get(struct json_object *from, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(from, key, &value);
	return value;
}

static const char *text(struct json_object *from, const char *key)
{
	struct json_object *value = get(from, key);

	return value ? json_object_get_string(value) : "";
}

/* The field's place in the list of kinds */
static int field_index(struct steps *s, struct json_object *field)
{
	struct json_object *kind, *known;
	char key[256];
	int at;

	snprintf(key, sizeof(key), "%s %s %s %s", text(field, "name"), text(field, "bit"),
		 text(field, "bits"), text(field, "label"));
	known = get(s->index, key);
	if (known)
		return json_object_get_int(known);
	kind = json_object_new_array();
	json_object_array_add(kind, json_object_get(get(field, "name")));
	json_object_array_add(kind, json_object_get(get(field, "label")));
	json_object_array_add(kind, json_object_get(get(field, "bit")));
	json_object_array_add(kind, json_object_get(get(field, "bits")));
	json_object_array_add(s->fields, kind);
	at = (int)json_object_array_length(s->fields) - 1;
	rtgt_json_int(s->index, key, at);
	return at;
}

static struct json_object *compact_field(struct steps *s, struct json_object *field)
{
	struct json_object *o = json_object_new_array(), *value = get(field, "value");
	size_t n = value ? (size_t)json_object_get_string_len(value) : 0;

	json_object_array_add(o, json_object_new_int(field_index(s, field)));
	if (n > 2 * KEPT)
		value = json_object_new_string_len(json_object_get_string(value), 2 * KEPT);
	else
		json_object_get(value);
	json_object_array_add(o, value);
	if (get(field, "words"))
		json_object_array_add(o, json_object_get(get(field, "words")));
	return o;
}

/* @hex is the packet's; what a header says of its place may be more than was captured */
static struct json_object *compact_header(struct steps *s, struct json_object *header,
					  const char *hex)
{
	struct json_object *o = json_object_new_array(), *fields = json_object_new_array();
	struct json_object *all = get(header, "fields");
	size_t off = (size_t)json_object_get_int64(get(header, "off"));
	size_t len = (size_t)json_object_get_int64(get(header, "len"));
	size_t have = strlen(hex) / 2, keep = off < have ? have - off : 0;

	keep = keep < len ? keep : len;
	keep = keep < KEPT ? keep : KEPT;
	for (size_t i = 0; all && i < json_object_array_length(all); i++)
		json_object_array_add(fields,
				      compact_field(s, json_object_array_get_idx(all, i)));
	json_object_array_add(o, json_object_get(get(header, "name")));
	json_object_array_add(o, json_object_new_int64((int64_t)off));
	json_object_array_add(o, json_object_new_int64((int64_t)len));
	json_object_array_add(o, json_object_new_string_len(keep ? hex + 2 * off : "",
							    (int)(2 * keep)));
	json_object_array_add(o, fields);
	return o;
}

static void move(struct json_object *to, const char *as, struct json_object *from, const char *key)
{
	if (get(from, key))
		json_object_object_add(to, as, json_object_get(get(from, key)));
}

static void add_headers(struct steps *s, struct json_object *to, struct json_object *from,
			bool inner)
{
	struct json_object *all = get(from, "headers"), *header;

	for (size_t i = 0; all && i < json_object_array_length(all); i++) {
		header = compact_header(s, json_object_array_get_idx(all, i), text(from, "hex"));
		if (inner)
			json_object_array_add(header, json_object_new_boolean(true));
		json_object_array_add(to, header);
	}
}

/* Adds @from's text to that of @o, with @between if there is one */
static void append(struct json_object *o, const char *as, const char *between, const char *more)
{
	const char *has = text(o, as);
	char *all;

	if (asprintf(&all, "%s%s%s", has, *has ? between : "", more) < 0)
		return;
	rtgt_json_str(o, as, all);
	free(all);
}

/* Replace the line and the words of a TCP segment by those of the iWARP frames that it completed */
static void add_inner(struct steps *s, struct json_object *o, struct json_object *headers,
		      struct json_object *all)
{
	struct json_object *u;

	json_object_object_del(o, "x");
	json_object_object_del(o, "w");
	for (size_t i = 0; i < json_object_array_length(all); i++) {
		u = json_object_array_get_idx(all, i);
		append(o, "x", "; ", text(u, "line"));
		append(o, "w", ". ", text(u, "words"));
		if (!get(o, "c"))
			move(o, "c", u, "connection");
		if (!get(o, "m"))
			move(o, "m", u, "message");
		if (!get(o, "r"))
			move(o, "r", u, "class");
		add_headers(s, headers, u, true);
	}
	move(o, "o", o, "x");
}

static void add_packet(struct steps *s, struct json_object *line)
{
	static const char *const names[][2] = {
		{ "n", "number" }, { "t", "time" }, { "s", "src" }, { "d", "dst" }, { "l", "len" },
		{ "k", "kind" }, { "o", "opcode" }, { "q", "qpn" }, { "p", "psn" }, { "i", "icrc" },
		{ "x", "line" }, { "w", "words" }, { "c", "connection" }, { "m", "message" },
		{ "r", "class" },
	};
	struct json_object *o = json_object_new_object(), *headers = json_object_new_array();
	struct json_object *inner = get(line, "iwarp");
	size_t size;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		move(o, names[i][0], line, names[i][1]);
	add_headers(s, headers, line, false);
	if (inner)
		add_inner(s, o, headers, inner);
	json_object_object_add(o, "h", headers);
	size = strlen(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	if (size > s->room) {
		s->full = true;
		json_object_put(o);
		return;
	}
	s->room -= size;
	s->last = json_object_get_int64(get(line, "number"));
	json_object_array_add(s->list, o);
}

static void keep(struct json_object *list, struct json_object *line)
{
	/* far more than a ladder that fits can have */
	if (json_object_array_length(list) < STEPS_LIMIT)
		json_object_array_add(list, json_object_get(line));
}

static void add_line(void *arg, struct json_object *line)
{
	struct steps *s = arg;
	const char *type = text(line, "type");

	if (!strcmp(type, "packet")) {
		if (!s->full)
			add_packet(s, line);
	} else if (!strcmp(type, "connection")) {
		keep(s->connections, line);
	} else if (!strcmp(type, "message")) {
		/* explain reports an iWARP message before the packet that ends it */
		if (json_object_get_int64(get(line, "first_packet")) <= s->last + 1)
			keep(s->messages, line);
	} else if (!strcmp(type, "broken")) {
		keep(s->broken, line);
	} else if (!strcmp(type, "summary")) {
		json_object_put(s->summary);
		s->summary = json_object_get(line);
	}
}

static struct json_object *to_json(struct steps *s, const char *path)
{
	struct json_object *o = json_object_new_object();
	const char *base = strrchr(path, '/');

	rtgt_json_str(o, "file", base ? base + 1 : path);
	json_object_object_add(o, "list", s->list);
	json_object_object_add(o, "fields", s->fields);
	json_object_object_add(o, "connections", s->connections);
	json_object_object_add(o, "messages", s->messages);
	json_object_object_add(o, "broken", s->broken);
	json_object_object_add(o, "summary", s->summary);
	rtgt_json_bool(o, "more", s->full || json_object_array_length(s->list) == STEPS_LIMIT);
	json_object_put(s->index);
	return o;
}

/**
 * report_steps() - the packets of a capture, each with all its fields
 * @path: the capture
 *
 * Return: an object, the caller's, or NULL; then a line was printed.
 */
struct json_object *report_steps(const char *path)
{
	struct steps s = {
		.list = json_object_new_array(), .fields = json_object_new_array(),
		.index = json_object_new_object(), .connections = json_object_new_array(),
		.messages = json_object_new_array(), .broken = json_object_new_array(),
		.room = REPORT_STEPS_MAX,
	};
	int rc = explain_file(path, STEPS_LIMIT, add_line, &s);
	struct json_object *o = to_json(&s, path);

	/* of a damaged capture explain has said so, and what comes before the damage is shown */
	if (!rc || (rc != EXIT_INTERRUPTED && json_object_array_length(s.list)))
		return o;
	json_object_put(o);
	return NULL;
}
