// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The life of an iWARP connection: TCP's segments and the first FPDU, what iw_cm and the
 * device reported to each other, states of the queue pairs.
 *
 * No packet of iWARP has the number of a queue pair.  The ends of a TCP connection are known
 * by addresses and ports, which are also those of rdma_cma's events.  The functions of iw_cm
 * that connect and accept have them and the number.
 *
 * A program moves its queue pair through few of its states: the device sets RTS when MPA has
 * agreed, and the others when the TCP connection ends.  So the states are those that siw has
 * set.  The number of a state is that of siw's enum siw_qp_state.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libwire/parse.h"
#include "timeline.h"

#define TCP_FIN		0x01
#define TCP_SYN		0x02
#define TCP_RST		0x04
#define TCP_ACK		0x10

#define ADDR_BYTES	22	/* behind the family: a port, and what IPv6 has up to its address */
#define ADDR6_AT	6
#define QP_STATE_BIT	1	/* IB_QP_STATE of a mask */
#define BEGUN		8	/* calls of the driver at a time */

/* An end, spelt as rdma_cma's events spell it */
static void spell(int family, const void *addr, unsigned int port, char *buf, size_t size)
{
	char text[INET6_ADDRSTRLEN] = "";

	inet_ntop(family, addr, text, sizeof(text));
	snprintf(buf, size, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
}

/* "{0x1d,0x2f,...}" */
static bool bytes(const char *rest, const char *key, uint8_t *buf, size_t n)
{
	char text[160], *at = text;

	if (!tl_text(rest, key, text, sizeof(text)))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (*at != (i ? ',' : '{'))
			return false;
		buf[i] = (uint8_t)strtoul(at + 1, &at, 16);
	}
	return *at == '}';
}

/* An address of an event of iw_cm */
static bool address(const char *rest, const char *key, char *buf, size_t size)
{
	uint8_t b[ADDR_BYTES];
	int64_t family;

	if (!tl_number(rest, "family", &family) || !bytes(rest, key, b, sizeof(b)))
		return false;
	if (family != AF_INET && family != AF_INET6)
		return false;
	spell((int)family, family == AF_INET6 ? b + ADDR6_AT : b + 2, be16(b), buf, size);
	return true;
}

/* Both ends of such an event: @local is that of the machine's own */
static bool addresses(const struct tl_line *l, char local[TL_ADDR + 8], char remote[TL_ADDR + 8])
{
	int64_t event;

	/* a connection that is still to come: @cm_id is the listener's */
	if (tl_number(l->rest, "event", &event) && event == 1)
		return address(l->rest, "new_local", local, TL_ADDR + 8) &&
		       address(l->rest, "new_remote", remote, TL_ADDR + 8);
	return address(l->rest, "local", local, TL_ADDR + 8) &&
	       address(l->rest, "remote", remote, TL_ADDR + 8);
}

/**
 * tl_iwarp_learn() - which queue pair a connection has
 * @t: its capture is read
 * @l: line of the trace, which may tell
 */
void tl_iwarp_learn(struct timeline *t, const struct tl_line *l)
{
	char local[TL_ADDR + 8], remote[TL_ADDR + 8];
	struct tl_conn *c;
	unsigned int end;
	int64_t qpn;

	if ((strcmp(l->event, "rtgt_iw_connect") && strcmp(l->event, "rtgt_iw_accept")) ||
	    !tl_number(l->rest, "qpn", &qpn) || !addresses(l, local, remote))
		return;
	c = tl_conn_named(t, local, remote, &end);
	if (!c || !c->iwarp || c->has_qpn[end])
		return;
	c->qpn[end] = (uint32_t)qpn;
	c->has_qpn[end] = true;
	c->learned_us[end] = l->us;
	c->pid[end] = l->pid;
}

/* Does the segment belong to the connection?  @from is set to its sender */
static bool is_of(const struct tl_conn *c, const struct tl_segment *s, unsigned int *from)
{
	const struct flow_end *e = c->seen.end;

	for (*from = 0; *from < 2; ++*from)
		if (!memcmp(e[*from].addr, s->src, 16) && !memcmp(e[!*from].addr, s->dst, 16) &&
		    (e[*from].qpn & 0xffff) == s->sport && (e[!*from].qpn & 0xffff) == s->dport)
			return true;
	return false;
}

static void add_segment(struct tl_conn *c, const struct tl_segment *s, unsigned int from)
{
	struct tl_event *e = tl_event(&c->events, TL_WIRE, s->us);

	e->packet = s->number;
	e->to_target = !from;
	snprintf(e->what, sizeof(e->what), "TCP %s",
		 s->flags & TCP_RST ? "RST" : s->flags & TCP_FIN ? "FIN" :
		 s->flags & TCP_ACK ? "SYN, ACK" : "SYN");
}

/* The first segment of the connection: addresses and ports may have been another's before */
static unsigned int first_segment(const struct timeline *t, const struct tl_conn *c)
{
	unsigned int first = 0, from;
	bool opens = false;

	for (unsigned int i = 0; i < t->segments; i++) {
		const struct tl_segment *s = &t->segment[i];
		const bool syn = s->flags & TCP_SYN;

		if (s->number > c->seen.first_packet)
			break;
		if (!is_of(c, s, &from))
			continue;
		if (syn && !opens)
			first = i;
		opens = syn;
	}
	return first;
}

static void add_first_fpdu(const struct timeline *t, struct tl_conn *c)
{
	const struct tl_packet *first = NULL;
	struct tl_event *e;

	for (unsigned int i = 0; i < t->msgs && !first; i++)
		for (unsigned int p = 0; t->msg[i].conn == c->seen.id && p < t->packets; p++)
			if (t->packet[p].msg == t->msg[i].seen.id) {
				first = &t->packet[p];
				break;
			}
	if (!first)
		return;
	e = tl_event(&c->events, TL_WIRE, first->us);
	e->packet = first->number;
	e->to_target = !first->from_server;
	snprintf(e->what, sizeof(e->what), "the first FPDU: %s",
		 pkt_rdmap_name(first->opcode) ? pkt_rdmap_name(first->opcode) : "unknown");
}

/**
 * tl_iwarp_segments() - how TCP opens and closes a connection, and the first FPDU
 * @t: its capture is read
 * @c: filled in
 */
void tl_iwarp_segments(const struct timeline *t, struct tl_conn *c)
{
	unsigned int from;
	bool past = false;

	for (unsigned int i = first_segment(t, c); i < t->segments; i++) {
		const struct tl_segment *s = &t->segment[i];

		if (!is_of(c, s, &from))
			continue;
		past = past || s->number > c->seen.first_packet;
		if (past && s->flags & TCP_SYN)
			break;
		add_segment(c, s, from);
	}
	add_first_fpdu(t, c);
}

/* A call of the driver, which sets the state in it and returns later; @what is 0 when it has */
struct begun {
	uint32_t pid;
	char what;
	int64_t us;
};

/* When the call that returns with @l began; @l's own time if that was not seen */
static int64_t began(struct begun *begun, const struct tl_line *l)
{
	for (unsigned int i = 0; i < BEGUN; i++)
		if (begun[i].pid == l->pid && begun[i].what == l->event[9]) {
			begun[i].what = 0;
			return begun[i].us;
		}
	return l->us;
}

static void begin(struct begun *begun, unsigned int *next, const struct tl_line *l)
{
	unsigned int i;

	for (i = 0; i < BEGUN; i++)
		if (begun[i].pid == l->pid && begun[i].what == l->event[9])
			break;
	if (i == BEGUN)
		i = (*next)++ % BEGUN;
	begun[i] = (struct begun){ l->pid, l->event[9], l->us };
}

static const char *state_name(int64_t state)
{
	static const char *const name[] = {
		"IDLE", "RTR", "RTS", "CLOSING", "TERMINATE", "ERROR"
	};

	return state >= 0 && state < 6 ? name[state] : "unknown";
}

/* What verbs call a state: enum ib_qp_state */
static const char *verbs_name(int64_t state)
{
	static const char *const name[] = {
		"RESET", "IDLE", "RTR", "RTS", "CLOSING", "TERMINATE", "ERROR"
	};

	return state >= 0 && state < 7 ? name[state] : "unknown";
}

static void add_event(struct tl_conn *c, unsigned int end, int64_t us, const char *what)
{
	struct tl_event *e = tl_event(&c->events, end ? TL_TARGET : TL_CLIENT, us);

	snprintf(e->what, sizeof(e->what), "%s", what);
}

/* What a program asks for, where the device's own states are not known */
static void add_wish(struct tl_conn *c, unsigned int end, const struct tl_line *l)
{
	int64_t state, mask, ret;
	char what[TL_WHAT];

	if (!tl_number(l->rest, "state", &state) || !tl_number(l->rest, "mask", &mask) ||
	    !tl_number(l->rest, "ret", &ret) || !(mask & QP_STATE_BIT))
		return;
	snprintf(what, sizeof(what), "requests the QP state %s%s", verbs_name(state),
		 ret ? ": refused" : "");
	add_event(c, end, l->us, what);
}

static bool knows_states(const struct timeline *t)
{
	for (unsigned int i = 0; i < t->trace.lines; i++)
		if (!strncmp(t->trace.line[i].event, "rtgt_siw_", 9))
			return true;
	return false;
}

/**
 * tl_iwarp_states() - what became of one queue pair
 * @t: joined so far
 * @c: filled in
 * @end: whose @c->qp it is
 */
void tl_iwarp_states(const struct timeline *t, struct tl_conn *c, unsigned int end)
{
	const bool known = knows_states(t);
	struct begun begun[BEGUN] = {};
	unsigned int next = 0;
	char what[TL_WHAT];
	int64_t us, now, old = 0;

	for (unsigned int i = 0; i < t->trace.lines; i++) {
		const struct tl_line *l = &t->trace.line[i];

		if (!tl_qp_is(l, c->qp[end]))
			continue;
		if (!strcmp(l->event, "rtgt_siw_modifies") ||
		    !strcmp(l->event, "rtgt_siw_closes")) {
			begin(begun, &next, l);
		} else if (!strncmp(l->event, "rtgt_siw_", 9)) {
			us = began(begun, l);
			if (!tl_number(l->rest, "now", &now) || now == old)
				continue;
			snprintf(what, sizeof(what), "QP %s->%s", state_name(old), state_name(now));
			add_event(c, end, us, what);
			old = now;
		} else if (tl_qp_event(l, "rtgt_qp_modify")) {
			if (!known)
				add_wish(c, end, l);
		} else {
			add_event(c, end, l->us, tl_qp_event(l, "rtgt_qp_destroy") ?
				  "QP destroyed" : "QP created: IDLE");
		}
	}
}

/* enum iw_cm_event_type */
static bool reported(const struct tl_line *l, char *what, size_t size)
{
	static const char *const name[] = {
		[1] = "CONNECT_REQUEST", [2] = "CONNECT_REPLY", [3] = "ESTABLISHED",
		[4] = "DISCONNECT", [5] = "CLOSE"
	};
	int64_t event, status;

	if (!tl_number(l->rest, "event", &event) || !tl_number(l->rest, "status", &status) ||
	    event < 1 || event > 5)
		return false;
	if (status)
		snprintf(what, size, "the device reports %s to iw_cm, error %" PRId64, name[event],
			 status);
	else
		snprintf(what, size, "the device reports %s to iw_cm", name[event]);
	return true;
}

/**
 * tl_iwarp_event() - add a request to iw_cm, or a report of the device to iw_cm
 * @t: its connections are known; one of them gets an event
 * @l: line of the trace
 */
void tl_iwarp_event(struct timeline *t, const struct tl_line *l)
{
	static const struct { const char *event, *words; } table[] = {
		{ "connect", "rdma_cm asks iw_cm to connect" },
		{ "accept", "rdma_cm asks iw_cm to accept" },
		{ "reject", "rdma_cm asks iw_cm to reject" },
		{ "disconnect", "rdma_cm asks iw_cm to disconnect" },
	};
	char local[TL_ADDR + 8], remote[TL_ADDR + 8], what[TL_WHAT] = "";
	struct tl_conn *c;
	unsigned int end;

	if (strncmp(l->event, "rtgt_iw_", 8))
		return;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(l->event + 8, table[i].event))
			snprintf(what, sizeof(what), "%s", table[i].words);
	if ((!what[0] && !reported(l, what, sizeof(what))) || !addresses(l, local, remote))
		return;
	c = tl_conn_named(t, local, remote, &end);
	if (c && c->iwarp)
		add_event(c, end, l->us, what);
}
