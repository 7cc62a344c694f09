// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A timeline as JSON: user/schema/rtgt-timeline-1.json.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tool/out/json.h"
#include "timeline.h"

static const char *stage_name(enum tl_stage stage)
{
	static const char *const name[] = {
		[TL_POST] = "post", [TL_FIRST] = "first", [TL_PACKET] = "packet",
		[TL_LAST] = "last",
		[TL_ACK] = "ack", [TL_TARGET_WC] = "target-completion",
		[TL_TARGET_TAKES] = "target-takes",
		[TL_COMPLETION] = "completion", [TL_REPLY_POST] = "reply-post",
		[TL_REPLY_FIRST] = "reply-first",
		[TL_REPLY_LAST] = "reply-last", [TL_REPLY_ACK] = "reply-ack",
		[TL_REPLY_WC] = "reply-completion",
	};

	return name[stage];
}

/* Seconds with six decimals, as they were told */
static void add_time(const struct timeline *t, struct json_object *to, int64_t us)
{
	const int64_t since = us - tl_wire_us(t, t->first_ns);
	char text[40];

	snprintf(text, sizeof(text), "%s%lld.%06lld", since < 0 ? "-" : "", llabs(since) / 1000000,
		 llabs(since) % 1000000);
	json_object_object_add(to, "time", json_object_new_double_s((double)since / 1e6, text));
}

static struct json_object *events(const struct timeline *t, const struct tl_events *e)
{
	struct json_object *a = json_object_new_array();

	for (unsigned int i = 0; i < e->nr; i++) {
		const struct tl_event *ev = &e->event[i];
		struct json_object *o = json_object_new_object();

		add_time(t, o, ev->us);
		rtgt_json_str(o, "end", tl_end_name(ev->end));
		if (ev->stage != TL_OTHER)
			rtgt_json_str(o, "stage", stage_name(ev->stage));
		rtgt_json_str(o, "what", ev->what);
		if (ev->packet) {
			rtgt_json_int(o, "packet", (int64_t)ev->packet);
			rtgt_json_str(o, "from", ev->to_target ? "client" : "target");
		}
		if (ev->has_psn)
			rtgt_json_int(o, "psn", ev->psn);
		json_object_array_add(a, o);
	}
	return a;
}

static struct json_object *json_end(const struct tl_conn *c, unsigned int end)
{
	struct json_object *o = json_object_new_object();

	rtgt_json_str(o, "addr", c->addr[end]);
	if (c->iwarp)
		rtgt_json_int(o, "port", c->seen.end[end].qpn & 0xffff);
	if (c->has_qpn[end])
		rtgt_json_int(o, "qpn", c->qpn[end]);
	if (c->device[end])
		rtgt_json_str(o, "device", c->device[end]);
	return o;
}

static struct json_object *json_conn(const struct timeline *t, const struct tl_conn *c)
{
	struct json_object *o = json_object_new_object();

	rtgt_json_int(o, "id", (int64_t)c->seen.id);
	json_object_object_add(o, "client", json_end(c, 0));
	json_object_object_add(o, "target", json_end(c, 1));
	json_object_object_add(o, "events", events(t, &c->events));
	return o;
}

static struct json_object *spans(const struct tl_events *e)
{
	struct json_object *a = json_object_new_array();
	int64_t us;

	for (const struct tl_span *s = tl_spans; s->what; s++) {
		struct json_object *o;

		if (!tl_span_us(e, s, &us))
			continue;
		o = json_object_new_object();
		rtgt_json_str(o, "from", stage_name(s->from));
		rtgt_json_str(o, "to", stage_name(s->to));
		rtgt_json_str(o, "what", s->what);
		rtgt_json_int(o, "us", us);
		json_object_array_add(a, o);
	}
	return a;
}

static bool iwarp(const struct timeline *t, const struct tl_msg *m)
{
	for (unsigned int i = 0; i < t->conns; i++)
		if (t->conn[i].seen.id == m->conn)
			return t->conn[i].iwarp;
	return false;
}

static struct json_object *json_op(const struct timeline *t, const struct tl_msg *m)
{
	struct json_object *o = json_object_new_object();
	struct tl_events e;
	char text[96];

	tl_op_events(t, m, &e);
	rtgt_json_int(o, "id", (int64_t)m->seen.id);
	rtgt_json_int(o, "connection", (int64_t)m->conn);
	rtgt_json_str(o, "op", flow_op_name(&m->seen));
	rtgt_json_str(o, "from", m->seen.from ? "target" : "client");
	rtgt_json_int(o, "bytes", (int64_t)m->seen.bytes);
	rtgt_json_str(o, "status", flow_status_name(&m->seen, text, sizeof(text)));
	if (m->seen.has_imm)
		rtgt_json_int(o, "imm", m->seen.imm);
	rtgt_json_int(o, "nth", m->seen.nth);
	if (!iwarp(t, m))
		rtgt_json_int(o, "first_psn", m->seen.first_psn);
	rtgt_json_int(o, "needed", m->seen.needed);
	json_object_object_add(o, "events", events(t, &e));
	json_object_object_add(o, "stages", spans(&e));
	free(e.event);
	return o;
}

static struct json_object *json_clock(const struct timeline *t)
{
	struct json_object *o = json_object_new_object();

	rtgt_json_int(o, "first_packet_ns", (int64_t)t->first_ns);
	rtgt_json_int(o, "offset_ns", t->trace.offset_ns);
	rtgt_json_int(o, "error_ns", t->trace.error_ns);
	rtgt_json_int(o, "moved_ns", t->trace.moved_ns);
	return o;
}

/**
 * tl_json() - all of it
 * @t: joined
 *
 * Return: a document, the caller's.
 */
struct json_object *tl_json(const struct timeline *t)
{
	struct json_object *doc = rtgt_json_document("rtgt-timeline-1");
	struct json_object *ops = json_object_new_array(), *missing = json_object_new_array();
	struct json_object *conns = json_object_new_array();

	json_object_object_add(doc, "clock", json_clock(t));
	for (unsigned int i = 0; i < t->trace.nr_missing; i++)
		json_object_array_add(missing, json_object_new_string(t->trace.missing[i]));
	json_object_object_add(doc, "missing", missing);
	rtgt_json_int(doc, "lost_events", (int64_t)t->trace.lost);
	rtgt_json_int(doc, "lost_packets", (int64_t)t->trace.dropped);
	for (unsigned int i = 0; i < t->conns; i++)
		json_object_array_add(conns, json_conn(t, &t->conn[i]));
	json_object_object_add(doc, "connections", conns);
	for (unsigned int i = 0; i < t->msgs; i++)
		if (!t->msg[i].is_reply)
			json_object_array_add(ops, json_op(t, &t->msg[i]));
	json_object_object_add(doc, "operations", ops);
	return doc;
}
