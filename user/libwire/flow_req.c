// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests: SEND, WRITE, READ, atomics, FLUSH; assembled from First, Middle, Last.
 *
 * What is followed is what the receiver does (IBA 9.7.2: it takes the PSN it expects,
 * answers an earlier one again and leaves a later one alone): a packet behind a gap is
 * counted and nothing else, because its sender must send it again.  So the messages
 * are right wherever the capture was made, before the place of a loss or behind it.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "flow_priv.h"

struct flow_msg *flow_msg_at(struct flow_half *h, uint32_t i)
{
	return &h->msg[(h->head + i) % h->room];
}

/* The open message that has this PSN; one that is being sent has all from its first on */
struct flow_msg *flow_msg_of(struct flow_half *h, uint32_t psn)
{
	for (uint32_t i = h->nr; i-- > 0;) {
		struct flow_msg *m = flow_msg_at(h, i);

		if (flow_psn_diff(psn, m->first_psn) < 0)
			continue;
		return !m->whole || flow_psn_diff(psn, m->last_psn) <= 0 ? m : NULL;
	}
	return NULL;
}

/* Lets go of what is done at the front */
void flow_msgs_shrink(struct flow_half *h)
{
	while (h->nr && flow_msg_at(h, 0)->status != FLOW_OPEN) {
		h->head = (h->head + 1) % h->room;
		h->nr--;
	}
	if (!h->nr)
		h->repeated = false;
}

/**
 * flow_msg_done() - a message has ended
 * @p: the packet it ended with; NULL: its connection, or the capture
 */
void flow_msg_done(struct flow *f, struct flow_conn *c, struct flow_msg *m, enum flow_status status,
		   const struct pkt *p)
{
	struct rule_case done = { .p = p, .conn = c, .half = &c->half[m->from], .msg = m,
		.want = -1 };

	m->status = status;
	m->end_ns = p ? p->ns : m->sent_ns;
	m->end_packet = p ? p->number : 0;
	if (status == FLOW_OK || status == FLOW_SENT) {
		c->half[m->from].ops[m->op]++;
		c->half[m->from].op_bytes[m->op] += m->bytes;
		if (m->bytes > c->half[m->from].most)
			c->half[m->from].most = m->bytes;
	}
	f->totals.messages++;
	if (m->answer_gap && !m->asked_again && status != FLOW_OK)
		c->lacking = true;
	if (status == FLOW_OK ||
	    (status == FLOW_NAK && PKT_SYNDROME_VALUE(m->syndrome) == PKT_NAK_ACCESS))
		flow_cap_refused(f, c, m);
	if (status == FLOW_OK && done.half->failed && m->nth > done.half->failed)
		c->half[m->from].served_after++;
	rules_judge(f, AT_DONE, &done);
	if (f->ops->message)
		f->ops->message(f->arg, c, m);
}

/**
 * flow_is_lost() - does a message lack its answer, or could that still come, or be missing in the
 *		    capture?
 * @c: its connection
 * @m: message that was not answered
 * @last_ns: of the capture's latest packet
 */
bool flow_is_lost(const struct flow_conn *c, const struct flow_msg *m, uint64_t last_ns)
{
	const struct flow_half *h = &c->half[m->from], *other = &c->half[!m->from];
	uint64_t since = h->last_ns > m->first_ns ? h->last_ns : m->first_ns;
	uint8_t who;

	if (m->retransmitted || m->rnr)
		return true;
	/* an ACK of a later message acknowledges SENDs and WRITEs, too */
	if (!flow_own_answer(m) && h->has_answered && flow_psn_diff(h->answered, m->last_psn) > 0)
		return false;
	if (flow_step_packet(c, FLOW_STEP_DREQ, &who) > m->first_packet)
		return true;
	/* the data of a READ come */
	if (other->last_ns > since)
		since = other->last_ns;
	return other->last_packet && flow_since(last_ns, since) > FLOW_LONG_NS;
}

/* What an opcode says; by its lower five bits */
static const struct {
	bool request, first, last, imm, inv;
	enum flow_op op;
} ops[0x20] = {
	[PKT_SEND_FIRST] = { true, .first = true, .op = FLOW_SEND },
	[PKT_SEND_MIDDLE] = { true, .op = FLOW_SEND },
	[PKT_SEND_LAST] = { true, .last = true, .op = FLOW_SEND },
	[PKT_SEND_LAST_IMM] = { true, .last = true, .imm = true, .op = FLOW_SEND },
	[PKT_SEND_ONLY] = { true, true, true, .op = FLOW_SEND },
	[PKT_SEND_ONLY_IMM] = { true, true, true, .imm = true, .op = FLOW_SEND },
	[PKT_WRITE_FIRST] = { true, .first = true, .op = FLOW_WRITE },
	[PKT_WRITE_MIDDLE] = { true, .op = FLOW_WRITE },
	[PKT_WRITE_LAST] = { true, .last = true, .op = FLOW_WRITE },
	[PKT_WRITE_LAST_IMM] = { true, .last = true, .imm = true, .op = FLOW_WRITE },
	[PKT_WRITE_ONLY] = { true, true, true, .op = FLOW_WRITE },
	[PKT_WRITE_ONLY_IMM] = { true, true, true, .imm = true, .op = FLOW_WRITE },
	[PKT_READ_REQUEST] = { true, true, true, .op = FLOW_READ },
	[PKT_COMPARE_SWAP] = { true, true, true, .op = FLOW_CAS },
	[PKT_FETCH_ADD] = { true, true, true, .op = FLOW_FAA },
	[PKT_SEND_LAST_INV] = { true, .last = true, .inv = true, .op = FLOW_SEND },
	[PKT_SEND_ONLY_INV] = { true, true, true, .inv = true, .op = FLOW_SEND },
	[PKT_FLUSH] = { true, true, true, .op = FLOW_FLUSH },
	[PKT_ATOMIC_WRITE] = { true, true, true, .op = FLOW_ATOMIC_WRITE },
};

/* Room for four times as many, as long as there is memory for that */
static void more_marks(struct flow *f, struct flow_half *h)
{
	const uint32_t marks = h->marks ? 4 * h->marks : FLOW_MARKS_LEAST;
	const size_t bytes = (marks - h->marks) * sizeof(*h->mark);
	struct flow_mark *all;

	if (h->marks && f->mark_bytes + bytes > FLOW_MARK_BYTES)
		return;
	all = calloc(marks, sizeof(*all));
	if (!all)
		return;
	for (uint32_t i = 0; i < h->marks; i++)
		if (h->mark[i].ns)
			all[h->mark[i].psn % marks] = h->mark[i];
	if (h->marks)
		f->mark_bytes += bytes;
	free(h->mark);
	h->mark = all;
	h->marks = marks;
}

/* A direction is over */
void flow_marks_free(struct flow *f, struct flow_half *h)
{
	if (h->marks > FLOW_MARKS_LEAST)
		f->mark_bytes -= (h->marks - FLOW_MARKS_LEAST) * sizeof(*h->mark);
	free(h->mark);
}

/*
 * A copy that the network made has the IP identification and the ICRC of the first;
 * what a sender sends again has an identification of its own.  IPv6 has none, and some
 * devices do not count it: there a copy is what comes at once.
 */
bool flow_is_copy(struct flow *f, struct flow_half *h, const struct pkt *p)
{
	struct flow_mark *m, now;
	bool same;

	h->before.ns = 0;
	if (h->marked >= h->marks && h->marks < FLOW_RECENT)
		more_marks(f, h);
	if (!h->marks)
		return false;
	m = &h->mark[p->psn % h->marks];
	h->marked++;
	flow_mark_of(&now, p);
	same = m->ns && m->psn == now.psn && m->opcode == now.opcode && m->icrc == now.icrc &&
	       m->ip_id == now.ip_id && (now.ip_id || now.ns - m->ns < 100000);
	h->before = *m;
	if (m->psn != now.psn ||
	    ops[m->opcode & 0x1f].request != ops[now.opcode & 0x1f].request)
		h->before.ns = 0;
	*m = now;
	return same;
}

/* Remove the messages that are done, also those behind an open one */
static void keep_open(struct flow_half *h)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < h->nr; i++)
		if (flow_msg_at(h, i)->status == FLOW_OPEN)
			*flow_msg_at(h, kept++) = *flow_msg_at(h, i);
	h->nr = kept;
}

/**
 * flow_msg_push() - room for a message behind all others
 * @f: flow
 * @c: its connection
 * @h: the half of the end that sends it
 *
 * Return: the message, all zero; NULL without memory.
 */
struct flow_msg *flow_msg_push(struct flow *f, struct flow_conn *c, struct flow_half *h)
{
	const uint32_t room = h->room ? 2 * h->room : FLOW_MSGS_LEAST;

	if (h->nr == h->room && h->room < f->max_msgs &&
	    (!h->room || f->msg_bytes + (room - h->room) * sizeof(*h->msg) <= FLOW_MSG_BYTES)) {
		struct flow_msg *all = calloc(room, sizeof(*all));

		if (!all)
			return NULL;
		for (uint32_t i = 0; i < h->nr; i++)
			all[i] = *flow_msg_at(h, i);
		free(h->msg);
		/* the first ones of each direction are free */
		if (h->room)
			f->msg_bytes += (room - h->room) * sizeof(*all);
		h->msg = all;
		h->head = 0;
		h->room = room;
	}
	if (h->nr == h->room)
		keep_open(h);
	if (h->nr == h->room) {
		struct flow_msg *oldest = flow_msg_at(h, 0);

		/* its answer will answer nothing that is known */
		if (flow_own_answer(oldest))
			c->lacking = true;
		flow_msg_done(f, c, oldest, FLOW_UNANSWERED, NULL);
		f->totals.forgotten_messages++;
		h->head = (h->head + 1) % h->room;
		h->nr--;
	}
	return memset(flow_msg_at(h, h->nr++), 0, sizeof(struct flow_msg));
}

static void ended(struct flow_conn *c, struct flow_msg *m, const struct pkt *p)
{
	m->whole = true;
	m->last_psn = p->psn;
	m->has_imm = ops[p->opcode & 0x1f].imm;
	m->has_inv = ops[p->opcode & 0x1f].inv;
	m->imm = p->imm;
	m->inv_rkey = p->inv_rkey;
	m->sent_ns = p->ns;
	if (m->op == FLOW_SEND)
		m->needed = flow_packets(m->bytes, c->mtu);
	if (m->op == FLOW_READ) {
		uint32_t n = flow_packets(m->bytes, c->mtu);

		m->last_psn = (p->psn + n - 1) & FLOW_PSN_MASK;
		m->answer_psn = p->psn;
		m->needed = 1 + n;
	}
}

/* The READ that was sent last takes so many PSNs */
static void spans(struct flow_half *h, uint32_t n)
{
	struct flow_msg *m = flow_msg_at(h, h->nr - 1);

	h->unsure = false;
	m->last_psn = (m->first_psn + n - 1) & FLOW_PSN_MASK;
	m->needed = 1 + n;
	h->next = (m->last_psn + 1) & FLOW_PSN_MASK;
	if (flow_psn_diff(h->next, h->beyond) > 0)
		h->beyond = h->next;
}

/**
 * flow_mtu() - the path MTU of a connection whose REQ is not in the capture is known now
 * @c: connection
 * @mtu: bytes that a packet carries which is not the last one of its message
 */
void flow_mtu(struct flow_conn *c, uint32_t mtu)
{
	if (c->mtu || mtu < FLOW_MTU_MIN || mtu > 4096 || mtu & (mtu - 1))
		return;
	c->mtu = mtu;
	for (int i = 0; i < 2; i++)
		if (c->half[i].unsure)
			spans(&c->half[i],
			      flow_packets(flow_msg_at(&c->half[i], c->half[i].nr - 1)->bytes,
					   mtu));
}

/*
 * How many PSNs the READ that was sent last takes: behind it comes, or it is answered by, @psn.
 * The path MTU is not known, so all that is asked is whether there can be so many.
 */
bool flow_read_spans(struct flow_half *h, uint32_t psn)
{
	const struct flow_msg *m = flow_msg_at(h, h->nr - 1);
	int32_t n = flow_psn_diff(psn, m->first_psn);

	if (n < 1 || (uint32_t)n > flow_packets(m->bytes, FLOW_MTU_MIN))
		return false;
	spans(h, (uint32_t)n);
	return true;
}

static struct flow_msg *begin(struct flow *f, struct flow_conn *c, struct flow_half *h,
			      const struct pkt *p,
			      uint8_t from)
{
	struct flow_msg *m = flow_msg_push(f, c, h);

	if (!m)
		return NULL;
	m->id = ++f->next_msg;
	m->op = ops[p->opcode & 0x1f].op;
	m->from = from;
	m->nth = ++h->begun;
	m->first_psn = p->psn;
	m->first_packet = p->number;
	m->first_ns = p->ns;
	m->va = p->va;
	m->rkey = p->rkey;
	switch (m->op) {
	case FLOW_SEND:
		break;
	case FLOW_CAS:
	case FLOW_FAA:
	case FLOW_ATOMIC_WRITE:
		m->bytes = 8;
		m->needed = 2;
		break;
	case FLOW_FLUSH:
		m->bytes = p->dma_len;
		m->needed = 2;
		break;
	default:
		m->bytes = p->dma_len;
		m->needed = flow_packets(m->bytes, c->mtu);
	}
	for (uint32_t i = 0; flow_own_answer(m) && i < h->nr; i++)
		m->outstanding += flow_own_answer(flow_msg_at(h, i)) &&
				  flow_msg_at(h, i)->status == FLOW_OPEN;
	m->grant = flow_cap_grant(f, c, m, p);
	return m;
}

/* Bytes of a WRITE that are not sent before this packet */
static uint64_t left(const struct flow_conn *c, const struct flow_msg *m, const struct pkt *p)
{
	uint64_t done = (uint64_t)(uint32_t)flow_psn_diff(p->psn, m->first_psn) * c->mtu;

	return done < m->bytes ? m->bytes - done : 0;
}

/* Bytes that this packet of a message ought to carry; -1: that is the sender's choice */
static int64_t wanted(const struct flow_conn *c, const struct flow_msg *m, const struct pkt *p,
		      bool last)
{
	if (m->op == FLOW_READ || m->op == FLOW_CAS || m->op == FLOW_FAA || m->op == FLOW_FLUSH)
		return 0;
	if (m->op == FLOW_ATOMIC_WRITE)
		return 8;
	if (!c->mtu)
		return -1;
	if (m->op == FLOW_SEND)
		return last ? -1 : (int64_t)c->mtu;
	return left(c, m, p) > c->mtu ? c->mtu : (int64_t)left(c, m, p);
}

/* A packet of a request that comes when it should */
static void take(struct flow *f, const struct pkt *p, struct flow_seen *seen)
{
	const uint8_t op = p->opcode & 0x1f;
	struct flow_conn *c = seen->conn;
	struct flow_half *h = &c->half[seen->from];
	struct flow_msg *m = h->nr ? flow_msg_at(h, h->nr - 1) : NULL;
	struct rule_case rule = { .p = p, .conn = c, .half = h, .seen = seen };
	uint32_t n = 1;

	/* Path MTU of a capture that begins in the middle */
	if (ops[op].op != FLOW_READ && !ops[op].last)
		flow_mtu(c, seen->payload);
	if (m && (m->whole || m->status != FLOW_OPEN || (!ops[op].first && m->op != ops[op].op)))
		m = NULL;
	rule.first_op = ops[op].first;
	rule.last_op = ops[op].last;
	rule.first = !m;
	if (ops[op].first) {
		h->cut = false;
		if (m) {
			flow_msg_done(f, c, m, FLOW_INCOMPLETE, p);
			/* nor does the other end's MSN count it */
			h->begun--;
		}
		m = begin(f, c, h, p, seen->from);
	}
	seen->msg = m;
	rule.msg = m;
	rule.want = -1;
	rule.last = rule.last_op;
	if (m) {
		rule.want = wanted(c, m, p, ops[op].last);
		if (m->op == FLOW_WRITE && c->mtu)
			rule.last = left(c, m, p) <= c->mtu;
		if (m->op == FLOW_SEND) {
			flow_cap_payload(f, c, m, p, ops[op].first);
			m->bytes += seen->payload;
		}
		m->sent++;
		m->last_packet = p->number;
		if (ops[op].last) {
			ended(c, m, p);
			h->unsure = m->op == FLOW_READ && !c->mtu && m->bytes > FLOW_MTU_MIN;
			n = (uint32_t)(flow_psn_diff(m->last_psn, p->psn) + 1);
			if (m->has_inv)
				flow_cap_inv(f, c, m, false);
		}
	}
	h->next = (p->psn + n) & FLOW_PSN_MASK;
	/* or half of all PSNs later what comes next seems to be from before the first one */
	if (flow_psn_diff(h->next, h->first) > FLOW_AHEAD)
		h->first = (h->next - FLOW_AHEAD) & FLOW_PSN_MASK;
	if (flow_psn_diff(h->next, h->beyond) > 0)
		h->beyond = h->next;
	/* The refusal of its beginning may overtake the rest of a message */
	if (!m && h->cut && ops[op].op == h->cut_op)
		return;
	/* A capture that begins, or goes on, in the middle may do so in the middle of a message */
	if (m || !(c->guessed ? h->midway || !h->begun : h->midway))
		rules_judge(f, AT_REQUEST, &rule);
	if (m)
		h->midway = false;
}

/* What the device has sent before it sends once more */
static void judge_again(struct flow *f, const struct pkt *p, const struct flow_seen *seen)
{
	struct flow_half *h = &seen->conn->half[seen->from];
	const struct rule_case rule = { .p = p, .conn = seen->conn, .half = h, .seen = seen,
					.msg = seen->msg, .want = -1,
					.before = h->before.ns ? &h->before : NULL };

	if (seen->class != FLOW_RETRANSMITTED)
		return;
	rules_judge(f, AT_AGAIN, &rule);
	if (p->psn == h->rnr_psn)
		h->rnr_packet = 0;
}

/* It was there before: copied by the network, or sent again */
static void again(struct flow *f, const struct pkt *p, struct flow_seen *seen, bool copy)
{
	struct flow_half *h = &seen->conn->half[seen->from];
	struct flow_msg *m = flow_msg_of(h, p->psn);

	seen->class = copy ? FLOW_DUPLICATE : FLOW_RETRANSMITTED;
	*(copy ? &h->duplicates : &h->retransmitted) += 1;
	*(copy ? &f->totals.duplicates : &f->totals.retransmitted) += 1;
	h->stale++;
	h->repeated = true;
	seen->msg = m;
	judge_again(f, p, seen);
	if (!m)
		return;
	m->sent++;
	*(copy ? &m->duplicates : &m->retransmitted) += 1;
	if (!copy && !m->again_packet)
		m->again_packet = p->number;
	if (flow_own_answer(m) && m->status == FLOW_OPEN) {
		m->asked_again = true;
		m->resumed_psn = p->psn;
		m->answer_gap = 0;
	}
}

/* UC: what is missing stays missing, and the message with it */
static void unreliable(struct flow *f, const struct pkt *p, struct flow_seen *seen)
{
	struct flow_half *h = &seen->conn->half[seen->from];
	struct flow_msg *m = h->nr ? flow_msg_at(h, h->nr - 1) : NULL;

	if (h->known && p->psn != h->next) {
		if (flow_psn_diff(p->psn, h->next) < 0) {
			again(f, p, seen, flow_is_copy(f, h, p));
			return;
		}
		h->gaps++;
		f->totals.gaps++;
		if (m && m->status == FLOW_OPEN)
			flow_msg_done(f, seen->conn, m, FLOW_INCOMPLETE, p);
		flow_msgs_shrink(h);
		/* The middle of a message whose beginning is lost */
		if (!ops[p->opcode & 0x1f].first) {
			h->next = (p->psn + 1) & FLOW_PSN_MASK;
			h->gap = true;
			seen->class = FLOW_BEYOND;
			return;
		}
	}
	if (h->gap && !ops[p->opcode & 0x1f].first) {
		h->next = (p->psn + 1) & FLOW_PSN_MASK;
		seen->class = FLOW_BEYOND;
		return;
	}
	h->gap = false;
	h->known = true;
	seen->class = FLOW_NEW;
	flow_is_copy(f, h, p);
	take(f, p, seen);
}

/* PSNs that a request takes: a READ has those of its answer */
static uint32_t psns(const struct flow_conn *c, const struct pkt *p)
{
	return (p->opcode & 0x1f) == PKT_READ_REQUEST ? flow_packets(p->dma_len, c->mtu) : 1;
}

static void reliable(struct flow *f, const struct pkt *p, struct flow_seen *seen)
{
	struct flow_half *h = &seen->conn->half[seen->from];
	bool copy = flow_is_copy(f, h, p);
	int32_t diff;

	if (!h->known) {
		h->known = true;
		h->first = p->psn;
		h->next = p->psn;
		h->beyond = p->psn;
	}
	/* Behind a READ whose length in packets is not known, and farther than that can be */
	if (h->unsure && flow_psn_diff(p->psn, h->next) >= 0 && !flow_read_spans(h, p->psn))
		flow_lost_track(f, seen->conn, h, p->psn);
	diff = flow_psn_diff(p->psn, h->next);
	if (diff < 0) {
		again(f, p, seen, copy);
		return;
	}
	if (diff > 0) {
		bool seen_before = flow_psn_diff(p->psn, h->beyond) < 0;

		seen->class = seen_before ? copy ? FLOW_DUPLICATE : FLOW_RETRANSMITTED :
			FLOW_BEYOND;
		h->repeated = true;
		if (!h->gap) {
			h->gap = true;
			h->gap_packet = p->number;
			h->gaps++;
			f->totals.gaps++;
		}
		if (!seen_before)
			h->beyond = (p->psn + psns(seen->conn, p)) & FLOW_PSN_MASK;
		judge_again(f, p, seen);
		return;
	}
	h->gap = false;
	seen->class = FLOW_NEW;
	/* Up to here it had come already when one before it was missing */
	if (flow_psn_diff(p->psn, h->beyond) < 0) {
		seen->class = FLOW_RETRANSMITTED;
		h->retransmitted++;
		f->totals.retransmitted++;
		judge_again(f, p, seen);
	}
	take(f, p, seen);
}

/**
 * flow_request() - a packet that asks
 * @seen: conn and from are set
 */
void flow_request(struct flow *f, const struct pkt *p, struct flow_seen *seen)
{
	struct flow_conn *c = seen->conn;
	struct flow_half *h = &c->half[seen->from];

	if (!ops[p->opcode & 0x1f].request)
		return;
	if (c->transport == PKT_RC || c->transport == PKT_XRC) {
		reliable(f, p, seen);
		return;
	}
	if (c->transport == PKT_UD) {
		/* The PSN of a datagram QP counts all it sends, to whomever */
		seen->class = flow_is_copy(f, h, p) ? FLOW_DUPLICATE : FLOW_NEW;
		if (seen->class == FLOW_NEW)
			take(f, p, seen);
	} else {
		unreliable(f, p, seen);
	}
	if (seen->msg && seen->msg->whole && seen->msg->status == FLOW_OPEN)
		flow_msg_done(f, c, seen->msg, FLOW_SENT, p);
	flow_msgs_shrink(h);
}

/* What is to come next is known no more: open messages are given up */
void flow_lost_track(struct flow *f, struct flow_conn *c, struct flow_half *h, uint32_t next)
{
	for (uint32_t i = 0; i < h->nr; i++) {
		struct flow_msg *m = flow_msg_at(h, i);

		if (m->status == FLOW_OPEN)
			flow_msg_done(f, c, m, FLOW_INCOMPLETE, NULL);
	}
	flow_msgs_shrink(h);
	c->lacking = true;
	h->unsure = false;
	h->midway = true;
	h->gap = false;
	h->msn_known = false;
	h->next = next & FLOW_PSN_MASK;
	if (flow_psn_diff(h->beyond, h->next) > 0)
		h->next = h->beyond;
	h->beyond = h->next;
}
