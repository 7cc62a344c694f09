// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The life of a connection: states of the queue pairs at both ends, what rdma_cm did,
 * the CM's packets.
 *
 * Who is who: a packet names addresses and queue pair numbers.  A number belongs to a
 * device and is used again and again, so what joins an event to a connection is device,
 * number and time; the devices' addresses are in the trace.  rdma_cma's events name
 * addresses with ports, and two of them a queue pair as well, by which the others follow.
 * What is different on iWARP is in timeline_iwarp.c.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rtgt/qp.h>
#include "timeline.h"

#define QP_STATE_BIT	1	/* IB_QP_STATE of a mask */

static const char *state_name(int64_t state)
{
	return rtgt_qp_state_str((enum ibv_qp_state)state);
}

static int note_qp(struct timeline *t, const struct tl_line *l, struct rtgt_err *err)
{
	char device[TL_NAME];
	struct tl_qp *all;
	int64_t qpn;

	if (!tl_text(l->rest, "dev", device, sizeof(device)) || !tl_number(l->rest, "qpn", &qpn))
		return 0;	/* "(fault)": it could not be made */
	if (tl_qp_event(l, "rtgt_qp_create")) {
		all = tl_grow(t->qp, t->qps, &t->qp_room, sizeof(*all));
		if (!all)
			return rtgt_fail(err, ENOMEM, "no memory");
		t->qp = all;
		all += t->qps++;
		*all = (struct tl_qp) {
			.qpn = (uint32_t)qpn, .pid = l->pid, .from_us = l->us, .to_us = INT64_MAX,
		};
		memcpy(all->device, device, sizeof(device));
	} else if (tl_qp_event(l, "rtgt_qp_destroy")) {
		all = tl_qp_at(t, device, qpn, l->us);
		if (all)
			all->to_us = l->us;
	}
	return 0;
}

static const char *device_of(const struct tl_trace *t, const char *addr)
{
	for (unsigned int i = 0; i < t->devices; i++)
		if (!strcmp(t->device[i].addr, addr))
			return t->device[i].name;
	return NULL;
}

/* The last queue pair of that number which was there before the end of the connection */
static const struct tl_qp *find_qp(const struct timeline *t, const struct tl_conn *c,
				   unsigned int end)
{
	const struct tl_qp *found = NULL;

	if (c->iwarp)
		return tl_qp_at(t, c->device[end], c->qpn[end], c->learned_us[end]);
	for (unsigned int i = 0; i < t->qps; i++)
		if (t->qp[i].qpn == c->qpn[end] && !strcmp(t->qp[i].device, c->device[end]) &&
		    t->qp[i].from_us <= c->to_us && t->qp[i].to_us >= c->from_us)
			found = &t->qp[i];
	return found;
}

static void find_qps(const struct timeline *t, struct tl_conn *c)
{
	for (unsigned int end = 0; end < 2; end++) {
		c->device[end] = device_of(&t->trace, c->addr[end]);
		if (!c->device[end] || !c->has_qpn[end])
			continue;
		c->qp[end] = find_qp(t, c, end);
		if (c->qp[end])
			c->pid[end] = c->qp[end]->pid;
	}
}

static void add_packets(const struct timeline *t, struct tl_conn *c)
{
	for (unsigned int i = 0; i < c->seen.steps; i++) {
		const int64_t us = tl_wire_us(t, c->seen.step[i].ns);
		struct tl_event *e = tl_event(&c->events, TL_WIRE, us);

		e->packet = c->seen.step[i].packet;
		e->to_target = !c->seen.step[i].from;
		snprintf(e->what, sizeof(e->what), "%s", flow_step_name(c->seen.step[i].step));
	}
}

/* What was done to one queue pair */
static void add_states(const struct timeline *t, struct tl_conn *c, unsigned int end)
{
	int64_t state, mask, ret, old = 0;

	for (unsigned int i = 0; i < t->trace.lines; i++) {
		const struct tl_line *l = &t->trace.line[i];
		struct tl_event *e;

		if (!tl_qp_is(l, c->qp[end]))
			continue;
		if (tl_qp_event(l, "rtgt_qp_modify")) {
			if (!tl_number(l->rest, "state", &state) ||
			    !tl_number(l->rest, "mask", &mask) ||
			    !tl_number(l->rest, "ret", &ret) || !(mask & QP_STATE_BIT))
				continue;
			e = tl_event(&c->events, end ? TL_TARGET : TL_CLIENT, l->us);
			snprintf(e->what, sizeof(e->what), "QP %s->%s%s", state_name(old),
				 state_name(state), ret ? " fails" : "");
			old = ret ? old : state;
		} else {
			e = tl_event(&c->events, end ? TL_TARGET : TL_CLIENT, l->us);
			snprintf(e->what, sizeof(e->what), "QP %s",
				 tl_qp_event(l, "rtgt_qp_destroy") ? "destroyed" : "created: RESET");
		}
	}
}

/* An address as 4 or 16 bytes; how many, or 0 if it is none */
static size_t parse_addr(const char *text, uint8_t *addr)
{
	if (inet_pton(AF_INET, text, addr) == 1)
		return 4;
	return inet_pton(AF_INET6, text, addr) == 1 ? 16 : 0;
}

/* Does "ADDRESS:PORT" name @addr?  An IPv6 address has brackets, and may be spelt otherwise */
static bool is_at(const char *name, const char *addr)
{
	const char *port = strrchr(name, ':');
	size_t len = port ? (size_t)(port - name) : 0;
	uint8_t a[16], b[16];
	char text[TL_ADDR];

	if (len > 2 && name[0] == '[' && name[len - 1] == ']') {
		name++;
		len -= 2;
	}
	if (!len || len >= sizeof(text))
		return false;
	memcpy(text, name, len);
	text[len] = 0;
	len = parse_addr(text, a);
	return len && parse_addr(addr, b) == len && !memcmp(a, b, len);
}

/* REQ and REP are sent for a queue pair: so the addresses with ports get known */
static void learn_name(struct timeline *t, const struct tl_line *l)
{
	const bool req = !strcmp(l->event, "cm_send_req");
	char src[TL_ADDR + 8], dst[TL_ADDR + 8];
	int64_t qpn;

	if ((!req && strcmp(l->event, "cm_send_rep")) || !tl_number(l->rest, "qp_num", &qpn) ||
	    !tl_text(l->rest, "src", src, sizeof(src)) ||
	    !tl_text(l->rest, "dst", dst, sizeof(dst)))
		return;
	for (unsigned int i = 0; i < t->conns; i++) {
		struct tl_conn *c = &t->conn[i];

		if (c->name[0][0] || c->qpn[!req] != qpn || !is_at(src, c->addr[!req]) ||
		    l->us > c->to_us)
			continue;
		strcpy(c->name[!req], src);
		strcpy(c->name[req], dst);
		return;
	}
}

/* The event that rdma_cm reports; its name follows "tos=N " */
static bool cm_told(const struct tl_line *l, char *what, size_t size)
{
	const char *word = strstr(l->rest, "tos=");

	word = word ? strchr(word, ' ') : NULL;
	if (!word)
		return false;
	word++;
	if (!strncmp(word, "ADDR_RESOLVED", 13))
		snprintf(what, size, "address resolved");
	else if (!strncmp(word, "ROUTE_RESOLVED", 14))
		snprintf(what, size, "route resolved");
	else
		snprintf(what, size, "rdma_cm reports %.*s", (int)strcspn(word, " "), word);
	return true;
}

static bool cm_words(const struct tl_line *l, char *what, size_t size)
{
	static const struct { const char *event, *words; } table[] = {
		{ "cm_send_req", "rdma_cm sends REQ" }, { "cm_send_rep", "rdma_cm sends REP" },
		{ "cm_send_rtu", "rdma_cm sends RTU" }, { "cm_send_rej", "rdma_cm sends REJ" },
		{ "cm_disconnect", "asks rdma_cm to disconnect" },
		{ "cm_sent_dreq", "rdma_cm has sent DREQ" },
		{ "cm_sent_drep", "rdma_cm has sent DREP" },
		{ "cm_id_destroy", "rdma_cm id destroyed" },
	};

	if (!strcmp(l->event, "cm_event_handler"))
		return cm_told(l, what, size);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(l->event, table[i].event)) {
			snprintf(what, size, "%s", table[i].words);
			return true;
		}
	return false;
}

static void add_cm(struct timeline *t, const struct tl_line *l)
{
	char src[TL_ADDR + 8], dst[TL_ADDR + 8], what[TL_WHAT];
	struct tl_event *e;
	struct tl_conn *c;
	unsigned int end;

	if (strncmp(l->event, "cm_", 3) || !cm_words(l, what, sizeof(what)) ||
	    !tl_text(l->rest, "src", src, sizeof(src)) ||
	    !tl_text(l->rest, "dst", dst, sizeof(dst)))
		return;
	c = tl_conn_named(t, src, dst, &end);
	if (!c)
		return;
	e = tl_event(&c->events, end ? TL_TARGET : TL_CLIENT, l->us);
	memcpy(e->what, what, sizeof(what));
	if (!strcmp(l->event, "cm_id_destroy"))
		c->gone[end] = true;
}

/* The module's own */
static void add_target(struct timeline *t, const struct tl_line *l)
{
	struct tl_event *e;
	struct tl_conn *c;
	int64_t qpn;
	const char *at, *end, *why;

	if ((strcmp(l->event, "rtgt_conn_state") && strcmp(l->event, "rtgt_qp_event")) ||
	    !tl_number(l->rest, "qpn", &qpn))
		return;
	c = tl_conn_at(t, 1, qpn, l->us);
	at = strstr(l->rest, "qpn=");
	at = at ? strchr(at, ' ') : NULL;
	if (!c || !at)
		return;
	e = tl_event(&c->events, TL_TARGET, l->us);
	/* without the port and the peer, which the connection has */
	end = strstr(at, " port=");
	why = end ? strstr(end, " why=") : NULL;
	why = why && why[5] ? why + 5 : NULL;
	snprintf(e->what, sizeof(e->what), "%s:%.*s%s%.56s%s",
		 l->event[5] == 'c' ? "connection" : "queue pair", end ? (int)(end - at) : 80, at,
		 why ? " (" : "", why ? why : "", why ? ")" : "");
}

/* From when to when a client's process speaks of this connection */
static void client_span(const struct timeline *t, const struct tl_conn *c, int64_t *from,
			int64_t *to)
{
	*from = c->qp[0] ? c->qp[0]->from_us : c->learned_us[0];
	*to = c->qp[0] ? c->qp[0]->to_us : INT64_MAX;
	/* without queue pairs: until the process connects again */
	for (unsigned int i = 0; !c->qp[0] && i < t->conns; i++)
		if (t->conn[i].pid[0] == c->pid[0] && t->conn[i].learned_us[0] > *from &&
		    t->conn[i].learned_us[0] < *to)
			*to = t->conn[i].learned_us[0];
}

/* What a client tells of itself beside its work requests, from before its queue pair on */
static void add_client(const struct timeline *t, struct tl_conn *c)
{
	const struct tl_line *first = NULL;
	struct tl_event *e;
	int64_t from, to;

	client_span(t, c, &from, &to);
	for (unsigned int i = 0; i < t->trace.lines; i++) {
		const struct tl_line *l = &t->trace.line[i];

		if (l->pid != c->pid[0] || strcmp(l->event, "tracing_mark_write") || l->us > to)
			continue;
		if (l->us <= from && !strncmp(l->rest, "rtgt cm resolve ", 16))
			first = l;
		if (l->us >= from && (!strncmp(l->rest, "rtgt cm established", 19) ||
				      !strncmp(l->rest, "rtgt cm disconnected", 20))) {
			e = tl_event(&c->events, TL_CLIENT, l->us);
			snprintf(e->what, sizeof(e->what), "rdma_cm reports to the program: %s",
				 l->rest[8] == 'e' ? "connected" : "disconnected");
		}
	}
	if (!first)
		return;
	e = tl_event(&c->events, TL_CLIENT, first->us);
	snprintf(e->what, sizeof(e->what), "starts to %.70s", first->rest + 8);
}

/* Packets and queue pairs of one connection, and what its client says */
static void add_ends(struct timeline *t, struct tl_conn *c)
{
	find_qps(t, c);
	add_packets(t, c);
	if (c->iwarp)
		tl_iwarp_segments(t, c);
	for (unsigned int end = 0; end < 2; end++) {
		if (c->qp[end] && c->iwarp)
			tl_iwarp_states(t, c, end);
		else if (c->qp[end])
			add_states(t, c, end);
	}
	if (c->qp[0] || c->learned_us[0])
		add_client(t, c);
}

/**
 * tl_join_conns() - fill in the events of all connections
 * @t: trace and capture are read
 * @err: filled in when not 0 is returned
 *
 * Return: 0 or a negative errno.
 */
int tl_join_conns(struct timeline *t, struct rtgt_err *err)
{
	int ret = 0;

	for (unsigned int i = 0; i < t->trace.lines && !ret; i++) {
		ret = note_qp(t, &t->trace.line[i], err);
		learn_name(t, &t->trace.line[i]);
		tl_iwarp_learn(t, &t->trace.line[i]);
	}
	if (ret)
		return ret;
	for (unsigned int i = 0; i < t->conns; i++)
		add_ends(t, &t->conn[i]);
	for (unsigned int i = 0; i < t->trace.lines; i++) {
		add_cm(t, &t->trace.line[i]);
		tl_iwarp_event(t, &t->trace.line[i]);
		add_target(t, &t->trace.line[i]);
	}
	for (unsigned int i = 0; i < t->conns && !ret; i++) {
		tl_sort(&t->conn[i].events);
		if (t->conn[i].events.no_memory)
			ret = rtgt_fail(err, ENOMEM, "no memory");
	}
	return ret;
}
