// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A capture, packet by packet: which connection a packet is of.
 *
 * flow_conn.c has the connections.  flow_cm.c follows the CM, flow_req.c and flow_ack.c the
 * messages, flow_iwarp.c both for iWARP, flow_cap.c what memory was advertised; rules.c and
 * rules_iwarp.c judge.
 */
#include <stdlib.h>
#include <string.h>

#include "flow_priv.h"

static bool is_answer(uint8_t opcode)
{
	uint8_t op = opcode & 0x1f;

	return op >= PKT_READ_FIRST && op <= PKT_ATOMIC_ACK;
}

/* Where many connections would be looked through in vain, not each answer gets that look */
static bool is_tried(struct flow *f, const struct pkt *p)
{
	struct flow_try *t = &f->tries[p->qpn % FLOW_BUCKETS];

	if (t->qpn != p->qpn) {
		*t = (struct flow_try) { .qpn = p->qpn };
	} else if (t->left) {
		t->left--;
		return true;
	}
	t->wait = !t->wait ? 1 : t->wait < FLOW_TRIES_WAIT ? 2 * t->wait : FLOW_TRIES_WAIT;
	t->left = t->wait;
	return false;
}

/* Who of a capture that begins in the middle answers whom: by the PSN, if it is only one's */
static struct flow_conn *guess_answered(struct flow *f, const struct pkt *p)
{
	struct flow_conn *found = NULL;

	if (f->lones > FLOW_GUESSES && is_tried(f, p))
		return NULL;
	for (struct flow_conn *c = f->lone; c; c = c->next_lone) {
		struct flow_half *h = &c->half[0];

		if (c->transport != (p->opcode & 0xe0) || !h->known ||
		    !flow_same_addr(c->end[1].addr, p->src) ||
		    !flow_same_addr(c->end[0].addr, p->dst) ||
		    flow_psn_diff(p->psn, h->next) >= 0 ||
		    !(flow_msg_of(h, p->psn) || flow_psn_diff(h->next, p->psn) == 1))
			continue;
		if (found)
			return NULL;
		found = c;
	}
	if (!found)
		return NULL;
	flow_bind(f, found, 0, p->qpn);
	flow_lone_remove(f, found);
	return found;
}

static struct flow_conn *guess(struct flow *f, const struct pkt *p, uint8_t *to)
{
	struct flow_conn *c = NULL;

	*to = 0;
	if (is_answer(p->opcode))
		return guess_answered(f, p);
	c = flow_conn_new(f, p);
	if (!c)
		return NULL;
	c->guessed = true;
	c->lacking = true;
	flow_lone_add(f, c);
	c->transport = p->opcode & 0xe0;
	flow_bind(f, c, 1, p->qpn);
	*to = 1;
	return c;
}

/* It is judged by nothing but its packets */
static void datagram(struct flow *f, const struct pkt *p, struct flow_seen *seen)
{
	struct flow_conn *c = flow_find_datagrams(f, p);

	if (!c) {
		c = flow_conn_new(f, p);
		if (!c)
			return;
		c->transport = PKT_UD;
		c->end[0].qpn = p->src_qpn;
		c->end[1].qpn = p->qpn;
		flow_bind_datagrams(f, c);
	}
	seen->conn = c;
	seen->from = !flow_is_end(c, 0, p->src, p->src_qpn);
	flow_touch(f, c, p);
	flow_request(f, p, seen);
}

/*
 * Without the CM's messages, no packet shows that a queue pair number belongs to a new queue pair.
 * But a sender does not repeat PSNs from before its first one, and if all its requests have been
 * answered, its next PSN is not that far ahead.
 */
static bool begins_anew(const struct flow_conn *c, const struct pkt *p, uint8_t from)
{
	const struct flow_half *h = &c->half[from];

	if (!c->guessed || !h->known || is_answer(p->opcode) || h->nr)
		return false;
	return flow_psn_diff(p->psn, h->first) < 0 || flow_psn_diff(p->psn, h->next) > FLOW_AHEAD;
}

static void connected(struct flow *f, const struct pkt *p, struct flow_seen *seen)
{
	uint8_t to;
	struct flow_conn *c = flow_find_qp(f, p->dst, p->qpn, &to);

	/* Another host that sends to this QP is not its peer, nor has a datagram QP one */
	if (c && (c->transport == PKT_UD || !flow_same_addr(c->end[!to].addr, p->src)))
		return;
	if (c && begins_anew(c, p, !to)) {
		flow_conn_end(f, c);
		c = NULL;
	}
	if (!c)
		c = guess(f, p, &to);
	if (!c)
		return;
	c->transport = p->opcode & 0xe0;
	seen->conn = c;
	seen->from = !to;
	flow_touch(f, c, p);
	if (!c->data && !seen->from && !c->rtu)
		c->early_data = p->number;
	if (!seen->from)
		c->data = true;
	if (is_answer(p->opcode)) {
		seen->answer = true;
		flow_answer(f, p, seen);
	} else {
		flow_request(f, p, seen);
	}
}

/* A packet nobody may believe: only where it belongs is told */
static void corrupt(struct flow *f, const struct pkt *p, struct flow_seen *seen)
{
	uint8_t to = 0;

	f->totals.corrupt++;
	seen->class = FLOW_CORRUPT;
	seen->conn = p->kind == PKT_ROCE ? flow_find_qp(f, p->dst, p->qpn, &to) : NULL;
	seen->from = !to;
	if (seen->conn)
		flow_touch(f, seen->conn, p);
}

/* Of a transport whose queue pairs have one peer, and rules: of XRC those of RC */
static bool has_connection(uint8_t opcode)
{
	const unsigned int transport = opcode & 0xe0;

	return transport == PKT_RC || transport == PKT_UC || transport == PKT_XRC;
}

/* Why no rule of a connection looked at a packet; FLOW_UNJUDGED: some did */
static enum flow_unjudged unjudged(const struct pkt *p, const struct flow_seen *seen)
{
	const bool tcp = p->kind == PKT_TCP_SEGMENT;

	if (seen->conn || (p->kind == PKT_ROCE && p->icrc == PKT_ICRC_BAD) || p->kind == PKT_CNP)
		return FLOW_UNJUDGED;
	if (p->kind == PKT_OTHER)
		return FLOW_FOREIGN;
	if (tcp)
		return FLOW_NO_BEGINNING;
	if (p->fault == PKT_CUT && !pkt_has_headers(p))
		return FLOW_CUT;
	if (p->fault != PKT_WHOLE && p->fault != PKT_CUT)
		return FLOW_MALFORMED;
	if (p->kind == PKT_ROCE && !has_connection(p->opcode))
		return FLOW_TRANSPORT;
	return FLOW_NO_REQUEST;
}

static void roce(struct flow *f, const struct pkt *p, struct flow_seen *seen)
{
	struct rule_case any = { .p = p, .seen = seen, .want = -1 };

	flow_let_go(f, p->ns);
	seen->payload = p->fault == PKT_CUT ? p->payload : p->at[PKT_PAYLOAD].len;
	if (p->icrc == PKT_ICRC_BAD && (f->complete || !flow_no_icrc(p)))
		corrupt(f, p, seen);
	else if (p->fault == PKT_CUT ? !pkt_has_headers(p) : p->fault != PKT_WHOLE)
		seen->class = FLOW_ALIEN;
	else if (p->kind == PKT_ROCE_CM)
		flow_cm(f, p, seen);
	else if ((p->opcode & 0xe0) == PKT_UD)
		datagram(f, p, seen);
	else if (has_connection(p->opcode))
		connected(f, p, seen);
	any.conn = seen->conn;
	any.msg = seen->msg;
	rules_judge(f, AT_PACKET, &any);
}

static void follow(struct flow *f, const struct pkt *p, struct flow_seen *seen)
{
	if (p->kind == PKT_TCP_SEGMENT || p->kind == PKT_IWARP) {
		flow_let_go(f, p->ns);
		flow_iwarp(f, p, seen);
	} else if (p->kind == PKT_ROCE || p->kind == PKT_ROCE_CM) {
		roce(f, p, seen);
	} else if (p->kind == PKT_CNP && p->fault == PKT_WHOLE) {
		/* it belongs to no message */
		rules_judge(f, AT_PACKET, &(struct rule_case){ .p = p, .seen = seen, .want = -1 });
	}
	if (seen->conn && seen->class != FLOW_CORRUPT) {
		seen->conn->half[seen->from].last_packet = p->number;
		seen->conn->half[seen->from].last_ns = p->ns;
	}
}

/**
 * flow_packet() - the next packet
 * @f: flow
 * @p: packet
 * @seen: filled in: what it is to its connection
 */
void flow_packet(struct flow *f, const struct pkt *p, struct flow_seen *seen)
{
	enum flow_unjudged why;

	memset(seen, 0, sizeof(*seen));
	if (!f->first_ns)
		f->first_ns = p->ns;
	follow(f, p, seen);
	/* what a segment completed is no packet, but may show that the segment was iWARP's */
	if (p->kind == PKT_IWARP) {
		if (seen->conn && f->why == FLOW_NO_BEGINNING) {
			f->totals.unjudged[f->why]--;
			f->totals.judged++;
			f->why = FLOW_UNJUDGED;
		}
		return;
	}
	why = unjudged(p, seen);
	f->why = why;
	*(why == FLOW_UNJUDGED ? &f->totals.judged : &f->totals.unjudged[why]) += 1;
}

/**
 * flow_complete() - the capture lacks no packet of its connections: rules may rely on that
 * @f: flow, before its first packet
 */
void flow_complete(struct flow *f)
{
	f->complete = true;
}

/**
 * flow_new() - begin with a capture
 * @ops: who is told what; any of them may be NULL
 * @arg: handed to them
 * @max_conns: connections that are kept at a time, 0 for the usual FLOW_CONNS
 * @max_msgs: messages that wait in each direction of one, 0 for the usual 1024
 *
 * Return: the flow, to be freed with flow_free(); NULL without memory.
 */
struct flow *flow_new(const struct flow_ops *ops, void *arg, unsigned int max_conns,
		      unsigned int max_msgs)
{
	struct flow *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->ops = ops;
	f->arg = arg;
	f->max_conns = max_conns ? max_conns : FLOW_CONNS;
	f->max_msgs = max_msgs ? max_msgs : 1024;
	rules_begin(f);
	return f;
}

/* The capture is over: tells of all connections that are left, the oldest first */
void flow_end(struct flow *f)
{
	while (f->oldest)
		flow_conn_end(f, f->oldest);
}

void flow_free(struct flow *f)
{
	static const struct flow_ops nobody;

	if (!f)
		return;
	f->ops = &nobody;
	flow_end(f);
	flow_marks_free(f, &f->gsi);
	free(f);
}

const struct flow_totals *flow_totals(const struct flow *f)
{
	return &f->totals;
}
