// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt explain --json: objects of a "type" that says what each is about; the schema is
 * rtgt-explain-1.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tool/out/json.h"
#include "explain.h"

/* What every object begins with */
struct json_object *explain_object(const char *type)
{
	struct json_object *o = rtgt_json_document("rtgt-explain-1");

	rtgt_json_str(o, "type", type);
	return o;
}

/* Seconds since the capture's first packet, which need not be the one with the earliest time */
void explain_json_time(struct json_object *to, const char *key, uint64_t ns, uint64_t first_ns)
{
	const bool before = ns < first_ns;
	const uint64_t since = before ? first_ns - ns : ns - first_ns;
	const double seconds = (double)since / 1e9;
	char text[40];

	snprintf(text, sizeof(text), "%s%llu.%09llu", before ? "-" : "",
		 (unsigned long long)(since / 1000000000),
		 (unsigned long long)(since % 1000000000));
	json_object_object_add(to, key,
			       json_object_new_double_s(before ? -seconds : seconds, text));
}

static struct json_object *json_field(const struct pkt *p, const struct pkt_layout *l,
				      const struct pkt_field *f)
{
	struct json_object *o = json_object_new_object();
	static char text[65536];
	const char *words = NULL;
	size_t n = pkt_field_print(p, l, f, text, sizeof(text));

	rtgt_json_str(o, "name", f->name);
	rtgt_json_str(o, "label", f->label);
	rtgt_json_int(o, "bit", f->bit);
	rtgt_json_int(o, "bits", f->format == PKT_REST ? 8 * p->at[l->header].len - f->bit :
		      f->bits);
	json_object_object_add(o, "value", json_object_new_string_len(text, (int)n));
	if (f->words)
		words = f->words(pkt_field_value(p, l, f));
	if (words)
		rtgt_json_str(o, "words", words);
	return o;
}

static struct json_object *json_header(const struct pkt *p, enum pkt_header h)
{
	struct json_object *o = json_object_new_object(), *fields = json_object_new_array();

	rtgt_json_str(o, "name", pkt_header_name(h));
	rtgt_json_int(o, "off", p->at[h].off);
	rtgt_json_int(o, "len", p->at[h].len);
	for (const struct pkt_layout *l = pkt_layouts; l->nr; l++) {
		if (l->header != h || !pkt_has_layout(p, l))
			continue;
		for (unsigned int i = 0; i < l->nr; i++)
			if (pkt_has_field(p, l, &l->field[i]))
				json_object_array_add(fields, json_field(p, l, &l->field[i]));
	}
	json_object_object_add(o, "fields", fields);
	return o;
}

static void add_headers(struct json_object *to, const struct pkt *p)
{
	struct json_object *headers = json_object_new_array();
	char *hex = malloc(2 * (size_t)p->caplen + 1);

	for (enum pkt_header h = PKT_FRAME + 1; h < PKT_HEADERS; h++)
		if (p->at[h].len)
			json_object_array_add(headers, json_header(p, h));
	json_object_object_add(to, "headers", headers);
	if (!hex)
		return;
	hex[0] = '\0';
	for (uint32_t i = 0; i < p->caplen; i++) {
		hex[2 * i] = "0123456789abcdef"[p->data[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[p->data[i] & 0xf];
		hex[2 * i + 2] = '\0';
	}
	rtgt_json_str(to, "hex", hex);
	free(hex);
}

static void add_seen(struct json_object *o, const struct pkt *p, const struct flow_seen *seen)
{
	char text[1024];

	if (!seen->conn)
		return;
	rtgt_json_int(o, "connection", (int64_t)seen->conn->id);
	rtgt_json_str(o, "from", seen->from ? "server" : "client");
	rtgt_json_str(o, "class", flow_class_name(seen->class));
	if (seen->msg)
		rtgt_json_int(o, "message", (int64_t)seen->msg->id);
	explain_words(p, seen, text, sizeof(text));
	rtgt_json_str(o, "words", text);
}

/* What a packet and what is inside a segment have in common */
static void add_line(const struct explain *x, struct json_object *o, const struct pkt *p,
		     const struct flow_seen *seen)
{
	char text[512];

	if (p->fault)
		rtgt_json_str(o, "fault", pkt_fault_name(p->fault));
	pkt_line(p, text, sizeof(text));
	rtgt_json_str(o, "line", text);
	add_seen(o, p, seen);
	if (x->headers)
		add_headers(o, p);
}

/**
 * explain_json_inner() - what of iWARP became whole with a segment
 * @x: what is asked for
 * @to: the segment's object
 * @p: MPA's frame, or an FPDU
 * @seen: what it is to its connection
 */
void explain_json_inner(const struct explain *x, struct json_object *to, const struct pkt *p,
			const struct flow_seen *seen)
{
	struct json_object *o = json_object_new_object(), *all;

	if (!json_object_object_get_ex(to, "iwarp", &all)) {
		all = json_object_new_array();
		json_object_object_add(to, "iwarp", all);
	}
	rtgt_json_str(o, "crc", pkt_icrc_name(p->icrc));
	add_line(x, o, p, seen);
	json_object_array_add(all, o);
}

/**
 * explain_json() - a packet
 * @x: what is asked for
 * @u: the packet
 * @seen: what it is to its connection
 *
 * Return: an object, the caller's.
 */
struct json_object *explain_json(const struct explain *x, const struct unit *u,
				 const struct flow_seen *seen)
{
	struct json_object *o = explain_object("packet");
	const struct pkt *p = u->p;
	char text[64];

	rtgt_json_int(o, "number", (int64_t)p->number);
	explain_json_time(o, "time", p->ns, p->first_ns);
	if (p->ip_version || p->at[PKT_LRH].len) {
		rtgt_json_str(o, "src", pkt_src(p, text, sizeof(text)));
		rtgt_json_str(o, "dst", pkt_dst(p, text, sizeof(text)));
	}
	rtgt_json_int(o, "len", p->len);
	rtgt_json_str(o, "kind", pkt_kind_name(u->nr ? PKT_IWARP : p->kind));
	if (p->at[PKT_BTH].len) {
		rtgt_json_str(o, "opcode", pkt_opcode_name(p->opcode));
		rtgt_json_int(o, "qpn", p->qpn);
		rtgt_json_int(o, "psn", p->psn);
	}
	rtgt_json_str(o, "icrc", pkt_icrc_name(p->icrc));
	add_line(x, o, p, seen);
	return o;
}

/**
 * explain_json_summary() - what all packets came to
 * @x: at the end
 *
 * Return: an object, the caller's.
 */
struct json_object *explain_json_summary(const struct explain *x)
{
	struct json_object *o = explain_object("summary"), *by = json_object_new_object();
	struct json_object *icrc = json_object_new_object(), *fault = json_object_new_object();
	struct json_object *crc = json_object_new_object();

	rtgt_json_int(o, "packets", (int64_t)x->packets);
	rtgt_json_int(o, "bytes", (int64_t)x->bytes);
	for (unsigned int i = 0; i <= PKT_IWARP; i++)
		rtgt_json_int(by, pkt_kind_name((enum pkt_kind)i), (int64_t)x->seen[i]);
	json_object_object_add(o, "by", by);
	for (unsigned int i = 0; i <= PKT_ICRC_CUT; i++) {
		rtgt_json_int(icrc, pkt_icrc_name((enum pkt_icrc)i), (int64_t)x->icrc[i]);
		rtgt_json_int(crc, pkt_icrc_name((enum pkt_icrc)i), (int64_t)x->crc[i]);
	}
	json_object_object_add(o, "icrc", icrc);
	json_object_object_add(o, "crc", crc);
	for (unsigned int i = 1; i < PKT_FAULTS; i++)
		if (x->fault[i])
			rtgt_json_int(fault, pkt_fault_name((enum pkt_fault)i),
				      (int64_t)x->fault[i]);
	json_object_object_add(o, "faults", fault);
	return o;
}
