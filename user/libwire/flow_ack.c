// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Answers on RC: ACK, NAK, RNR NAK, the data of a READ, the ACK of an atomic.
 *
 * An answer's PSN is that of a request (of a READ one of those the request took), and
 * it answers all before that one as well, except what has an answer of its own and did
 * not get it: that will be asked for again (IBA 9.7).
 */
#include "flow_priv.h"

static bool is_data(const struct pkt *p)
{
	uint8_t op = p->opcode & 0x1f;

	return op >= PKT_READ_FIRST && op <= PKT_READ_ONLY;
}

/* Something behind what is missing was answered; whoever misses it asks again */
static void lacks_answer(struct flow *f, struct flow_half *h, struct flow_msg *m,
			 const struct pkt *p)
{
	m->answer_gap = p->number;
	h->gaps++;
	f->totals.gaps++;
}

/* All before @psn was answered by what answers @psn */
static void answered_before(struct flow *f, struct flow_conn *c, struct flow_half *h, uint32_t psn,
			    const struct pkt *p)
{
	for (uint32_t i = 0; i < h->nr; i++) {
		struct flow_msg *m = flow_msg_at(h, i);

		if (!m->whole || flow_psn_diff(m->last_psn, psn) >= 0)
			break;
		if (m->status != FLOW_OPEN)
			continue;
		if (flow_own_answer(m)) {
			/* a queue pair that fails asks for nothing again */
			if (!m->answer_gap && PKT_SYNDROME(p->syndrome) == PKT_AETH_ACK)
				lacks_answer(f, h, m, p);
			continue;
		}
		flow_msg_done(f, c, m, FLOW_OK, p);
		if (m->has_inv)
			flow_cap_inv(f, c, m, true);
	}
}

/* A packet of a READ's answer */
static void data(struct flow *f, const struct pkt *p, struct flow_seen *seen, struct flow_half *h,
		 struct flow_msg *m)
{
	const uint8_t op = p->opcode & 0x1f;
	struct flow_conn *c = seen->conn;
	struct rule_case rule = { .p = p, .conn = c, .half = h, .msg = m, .seen = seen };
	int32_t diff = flow_psn_diff(p->psn, m->answer_psn);
	uint64_t at = (uint64_t)(uint32_t)flow_psn_diff(p->psn, m->first_psn) * c->mtu;

	m->sent++;
	if (diff < 0 || m->status != FLOW_OPEN) {
		seen->class = seen->class == FLOW_DUPLICATE ? FLOW_DUPLICATE : FLOW_RETRANSMITTED;
		*(seen->class == FLOW_DUPLICATE ? &m->duplicates : &m->retransmitted) += 1;
		return;
	}
	if (diff > 0) {
		seen->class = FLOW_BEYOND;
		if (!m->answer_gap)
			lacks_answer(f, h, m, p);
		return;
	}
	seen->class = FLOW_NEW;
	rule.first_op = op == PKT_READ_FIRST || op == PKT_READ_ONLY;
	rule.last_op = op == PKT_READ_LAST || op == PKT_READ_ONLY;
	rule.first = p->psn == m->first_psn || (m->asked_again && p->psn == m->resumed_psn);
	rule.last = p->psn == m->last_psn;
	rule.want = !c->mtu ? -1 : at > m->bytes ? 0 : m->bytes - at > c->mtu ? c->mtu :
		(int64_t)(m->bytes - at);
	rules_judge(f, AT_DATA, &rule);
	m->answer_psn = (p->psn + 1) & FLOW_PSN_MASK;
	m->answer_gap = 0;
	if (rule.last)
		flow_msg_done(f, c, m, FLOW_OK, p);
}

/* The MSN: how many messages the answering end has done */
static void check_msn(struct flow *f, const struct pkt *p, struct flow_seen *seen,
		      struct flow_half *h,
		      const struct flow_msg *m, bool news)
{
	struct rule_case rule = { .p = p, .conn = seen->conn, .half = h, .msg = m, .seen = seen,
		.want = -1 };
	bool refused = PKT_SYNDROME(p->syndrome) != PKT_AETH_ACK;
	uint32_t whole = h->begun, done;

	if (!p->at[PKT_AETH].len || (!h->msn_known && !m))
		return;
	if (h->nr && !flow_msg_at(h, h->nr - 1)->whole)
		whole--;
	done = !m ? whole : m->nth;
	/* Of a message that goes on, or was refused, the one before is the last done; a
	 * READ is done when its answer begins
	 */
	if (m && (refused || !m->whole || (!flow_own_answer(m) && p->psn != m->last_psn)))
		done--;
	if (!h->msn_known) {
		h->msn_known = true;
		h->base = p->msn - done;
	}
	rule.low = (done + h->base) & FLOW_PSN_MASK;
	rule.high = rule.low;
	if (!news || h->repeated || !m) {
		rule.high = (whole + h->base) & FLOW_PSN_MASK;
		if (!m)
			rule.low = h->base & FLOW_PSN_MASK;
	}
	/* Whether a READ that is refused when its answer has begun still counts is not said */
	if (m && refused && m->op == FLOW_READ && m->answer_psn != m->first_psn)
		rule.high = (rule.low + 1) & FLOW_PSN_MASK;
	/* A QP that was taken down and up again counts from 0 */
	if (p->msn == 1 && rule.low == rule.high && rule.low > 1) {
		h->restarts++;
		h->base = 1 - done;
	}
	rules_judge(f, AT_ANSWER, &rule);
}

static void refused(struct flow *f, const struct pkt *p, struct flow_seen *seen,
		    struct flow_half *h,
		    struct flow_msg *m)
{
	if (PKT_SYNDROME(p->syndrome) == PKT_AETH_RNR) {
		const struct flow_mark *asked = h->marks ? &h->mark[p->psn % h->marks] : NULL;

		h->rnr++;
		f->totals.rnr++;
		/* whoever asked again since then was not told yet */
		h->rnr_packet = asked && asked->psn == p->psn ? p->number : 0;
		h->rnr_psn = p->psn;
		h->rnr_ns = p->ns;
		h->rnr_asked_ns = asked ? asked->ns : 0;
		h->rnr_us = pkt_rnr_us(p->syndrome);
		if (m)
			m->rnr++;
		return;
	}
	h->naks++;
	f->totals.naks++;
	if ((p->syndrome & 0x7f) == (PKT_AETH_NAK << 5 | PKT_NAK_SEQUENCE)) {
		h->sequence_packet = p->number;
		h->sequence_psn = p->psn;
	}
	if (PKT_SYNDROME(p->syndrome) != PKT_AETH_NAK ||
	    PKT_SYNDROME_VALUE(p->syndrome) == PKT_NAK_SEQUENCE ||
	    !m || m->status != FLOW_OPEN)
		return;
	m->syndrome = p->syndrome;
	h->cut = !m->whole;
	h->cut_op = (uint8_t)m->op;
	m->whole = true;
	if (flow_psn_diff(m->last_psn, m->first_psn) < 0 || !m->sent_ns)
		m->last_psn = p->psn;
	if (!h->failed) {
		h->failed = m->nth;
		h->failed_packet = p->number;
	}
	flow_msg_done(f, seen->conn, m, FLOW_NAK, p);
}

/* Data of a READ while the path MTU is not known */
static void read_answered(struct flow_conn *c, struct flow_half *h, const struct pkt *p,
			  uint32_t payload)
{
	const uint8_t op = p->opcode & 0x1f;

	if (op == PKT_READ_FIRST || op == PKT_READ_MIDDLE)
		flow_mtu(c, payload);
	else if (h->unsure && flow_psn_diff(p->psn, flow_msg_at(h, h->nr - 1)->first_psn) >= 0)
		flow_read_spans(h, (p->psn + 1) & FLOW_PSN_MASK);
}

/* An answer to what was not in the capture */
static void missing(struct flow *f, const struct pkt *p, struct flow_seen *seen,
		    struct flow_half *h)
{
	struct rule_case rule = { .p = p, .conn = seen->conn, .half = h, .seen = seen, .want = -1,
				  .missing = h->next };

	seen->conn->lacking = true;
	rules_judge(f, AT_MISSING, &rule);
	answered_before(f, seen->conn, h, p->psn, p);
	flow_lost_track(f, seen->conn, h, p->psn + 1);
}

/**
 * flow_answer() - a packet that answers
 * @seen: conn and from are set
 */
void flow_answer(struct flow *f, const struct pkt *p, struct flow_seen *seen)
{
	struct flow_conn *c = seen->conn;
	struct flow_half *h = &c->half[!seen->from], *mine = &c->half[seen->from];
	bool negative = p->at[PKT_AETH].len && PKT_SYNDROME(p->syndrome) != PKT_AETH_ACK, news;
	bool sequence = negative && (p->syndrome & 0x7f) == (PKT_AETH_NAK << 5 | PKT_NAK_SEQUENCE);
	struct flow_msg *m;

	seen->class = FLOW_NEW;
	if (flow_is_copy(f, mine, p)) {
		seen->class = FLOW_DUPLICATE;
		mine->duplicates++;
		f->totals.duplicates++;
	} else if (mine->before.ns) {
		rules_judge(f, AT_REPLAYED, &(struct rule_case){ .p = p, .conn = c, .half = h,
			    .seen = seen, .want = -1, .before = &mine->before });
	}
	if (!h->known)
		return;
	if (!c->mtu && is_data(p))
		read_answered(c, h, p, seen->payload);
	/* "I want this PSN" may be of the very next one */
	if (flow_psn_diff(p->psn, h->next) >= (sequence ? 1 : 0)) {
		missing(f, p, seen, h);
		return;
	}
	m = flow_msg_of(h, p->psn);
	seen->msg = m;
	news = seen->class != FLOW_DUPLICATE &&
	       (!h->has_answered || flow_psn_diff(p->psn, h->answered) > 0);
	if (!sequence)
		check_msn(f, p, seen, h, m, news);
	answered_before(f, c, h, p->psn, p);
	if (negative) {
		refused(f, p, seen, h, m);
	} else if (m) {
		/* an atomic's answer is one of the packets that it needs, as a READ's are */
		if (m->op != FLOW_READ && flow_own_answer(m) && (p->opcode & 0x1f) != PKT_ACK)
			m->sent++;
		if (m->op == FLOW_READ && is_data(p))
			data(f, p, seen, h, m);
		else if (m->status == FLOW_OPEN && m->whole && m->last_psn == p->psn &&
			 m->op != FLOW_READ &&
			 flow_own_answer(m) == ((p->opcode & 0x1f) != PKT_ACK))
			flow_msg_done(f, c, m, FLOW_OK, p);
		if (m->has_inv && m->status == FLOW_OK)
			flow_cap_inv(f, c, m, true);
	}
	if (news && !negative) {
		h->answered = p->psn;
		h->has_answered = true;
	}
	flow_msgs_shrink(h);
}
