// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt explain --json: messages, connections, broken rules.
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "libwire/rules.h"
#include "tool/out/json.h"
#include "explain.h"

static void add_us(struct json_object *to, const char *key, uint64_t ns)
{
	rtgt_json_us(to, key, ns);
}

/**
 * explain_json_message() - a message
 * @x: knows when the capture began
 * @c: its connection
 * @m: message
 *
 * Return: an object, the caller's.
 */
struct json_object *explain_json_message(const struct explain *x, const struct flow_conn *c,
					 const struct flow_msg *m)
{
	struct json_object *o = explain_object("message");
	char text[96];

	rtgt_json_int(o, "id", (int64_t)m->id);
	rtgt_json_int(o, "connection", (int64_t)c->id);
	rtgt_json_str(o, "op", flow_op_name(m));
	rtgt_json_str(o, "from", m->from ? "server" : "client");
	rtgt_json_str(o, "status", flow_status_name(m, text, sizeof(text)));
	rtgt_json_int(o, "bytes", (int64_t)m->bytes);
	if (m->op != FLOW_SEND) {
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)m->va);
		rtgt_json_str(o, "va", text);
		snprintf(text, sizeof(text), "0x%x", m->rkey);
		rtgt_json_str(o, "rkey", text);
		rtgt_json_str(o, "grant", flow_grant_words(m->grant));
	}
	if (m->has_imm)
		rtgt_json_int(o, "imm", m->imm);
	flow_message_name(m, text, sizeof(text));
	if (text[0])
		rtgt_json_str(o, "rtgt", text);
	rtgt_json_int(o, "first_packet", (int64_t)m->first_packet);
	rtgt_json_int(o, "last_packet", (int64_t)m->last_packet);
	if (m->end_packet)
		rtgt_json_int(o, "answer_packet", (int64_t)m->end_packet);
	rtgt_json_int(o, "packets", m->sent - m->retransmitted - m->duplicates);
	rtgt_json_int(o, "needed", m->needed);
	rtgt_json_int(o, "sent", m->sent);
	rtgt_json_int(o, "retransmitted", m->retransmitted);
	rtgt_json_int(o, "duplicates", m->duplicates);
	rtgt_json_int(o, "rnr", m->rnr);
	explain_json_time(o, "time", m->first_ns, x->first_ns);
	if (m->status == FLOW_OK || m->status == FLOW_NAK || m->status == FLOW_TERMINATED)
		add_us(o, "rtt_us", m->end_ns > m->sent_ns ? m->end_ns - m->sent_ns : 0);
	return o;
}

static struct json_object *json_end(const struct flow_conn *c, int end)
{
	struct json_object *o = json_object_new_object();
	char text[INET6_ADDRSTRLEN] = "";

	rtgt_json_str(o, "addr", pkt_address(c->end[end].ip_version, c->end[end].addr, text,
					     sizeof(text)));
	if (c->transport == FLOW_IWARP)
		rtgt_json_int(o, "port", c->end[end].qpn & 0xffff);
	else
		rtgt_json_int(o, "qpn", c->end[end].qpn);
	return o;
}

static struct json_object *json_steps(const struct explain *x, const struct flow_conn *c)
{
	struct json_object *a = json_object_new_array();

	for (unsigned int i = 0; i < c->steps; i++) {
		struct json_object *o = json_object_new_object();

		rtgt_json_str(o, "name", flow_step_name(c->step[i].step));
		rtgt_json_str(o, "from", c->step[i].from ? "server" : "client");
		rtgt_json_int(o, "packet", (int64_t)c->step[i].packet);
		explain_json_time(o, "time", c->step[i].ns, x->first_ns);
		json_object_array_add(a, o);
	}
	return a;
}

static void add_sum(struct json_object *o, const char *key, uint64_t a, uint64_t b)
{
	rtgt_json_int(o, key, (int64_t)(a + b));
}

static const char *transport(const struct flow_conn *c)
{
	if (c->transport == FLOW_IWARP)
		return "iWARP";
	if (c->transport == PKT_XRC)
		return "XRC";
	return c->transport == PKT_UD ? "UD" : c->transport == PKT_UC ? "UC" : "RC";
}

/**
 * explain_json_connection() - a connection
 * @x: knows when the capture began
 * @c: connection
 *
 * Return: an object, the caller's.
 */
struct json_object *explain_json_connection(const struct explain *x, const struct flow_conn *c)
{
	struct json_object *o = explain_object("connection"), *private = json_object_new_object();

	rtgt_json_int(o, "id", (int64_t)c->id);
	rtgt_json_str(o, "transport", transport(c));
	json_object_object_add(o, "client", json_end(c, 0));
	json_object_object_add(o, "server", json_end(c, 1));
	rtgt_json_bool(o, "guessed", c->guessed);
	rtgt_json_bool(o, "ended", c->ended);
	rtgt_json_bool(o, "forgotten", c->forgotten);
	/* its top bit is one of it like all others */
	json_object_object_add(o, "service_id", json_object_new_uint64(c->service_id));
	rtgt_json_int(o, "mtu", c->mtu);
	rtgt_json_bool(private, "rtgt", c->rtgt);
	if (c->rtgt) {
		rtgt_json_bool(private, "private", c->is_private);
		rtgt_json_int(private, "recv_size", c->recv_size);
		rtgt_json_int(private, "conn_id", c->conn_id);
	}
	json_object_object_add(o, "private", private);
	json_object_object_add(o, "steps", json_steps(x, c));
	if (c->terminate)
		rtgt_json_int(o, "terminate_packet", (int64_t)c->terminate);
	if (c->terminated)
		rtgt_json_int(o, "terminated_packet", (int64_t)c->terminated);
	rtgt_json_int(o, "packets", (int64_t)c->packets);
	rtgt_json_int(o, "bytes", (int64_t)c->bytes);
	explain_json_time(o, "time", c->first_ns, x->first_ns);
	add_us(o, "duration_us", c->last_ns > c->first_ns ? c->last_ns - c->first_ns : 0);
	add_sum(o, "retransmitted", c->half[0].retransmitted, c->half[1].retransmitted);
	add_sum(o, "duplicates", c->half[0].duplicates, c->half[1].duplicates);
	add_sum(o, "gaps", c->half[0].gaps, c->half[1].gaps);
	add_sum(o, "rnr", c->half[0].rnr, c->half[1].rnr);
	add_sum(o, "naks", c->half[0].naks, c->half[1].naks);
	return o;
}

struct json_object *explain_json_broken(const char *type, const char *rule, uint64_t packet,
					const char *words)
{
	struct json_object *o = explain_object(type);

	rtgt_json_str(o, "rule", rule);
	rtgt_json_int(o, "packet", (int64_t)packet);
	rtgt_json_str(o, "words", words);
	return o;
}

/**
 * explain_json_totals() - adds to the summary what the connections came to
 * @to: summary
 * @f: flow, of which nothing is left
 */
void explain_json_totals(struct json_object *to, const struct flow *f)
{
	struct json_object *unjudged = json_object_new_object(), *rules = json_object_new_object();
	const struct flow_totals *t = flow_totals(f);
	const struct { const char *name; uint64_t n; } all[] = {
		{ "connections", t->connections }, { "guessed", t->guessed },
		{ "messages", t->messages },
		{ "judged", t->judged }, { "broken", t->broken }, { "doubtful", t->doubtful },
		{ "deviations", t->deviations },
		{ "retransmitted", t->retransmitted }, { "duplicates", t->duplicates },
		{ "gaps", t->gaps },
		{ "rnr", t->rnr }, { "naks", t->naks },
		{ "forgotten_connections", t->forgotten_connections },
		{ "forgotten_messages", t->forgotten_messages },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		rtgt_json_int(to, all[i].name, (int64_t)all[i].n);
	for (enum flow_unjudged why = 0; why < FLOW_UNJUDGED; why++)
		rtgt_json_int(unjudged, flow_unjudged_name(why), (int64_t)t->unjudged[why]);
	for (const struct rule *r = rules_list(); r->name; r++)
		rtgt_json_int(rules, r->name, (int64_t)flow_applied(f, r));
	json_object_object_add(to, "unjudged", unjudged);
	json_object_object_add(to, "rules", rules);
}
