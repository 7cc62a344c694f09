// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The connection manager's messages: REQ, REP, RTU, DREQ, DREP, REJ, MRA, SIDR.
 *
 * A REQ tells the client's QP and the PSN the *server* begins with, a REP the
 * server's QP and the PSN the client begins with: each end says what it will receive.
 */
#include <string.h>

#include "flow_priv.h"

static enum flow_step step_of(uint16_t attr)
{
	static const enum flow_step steps[] = {
		[PKT_CM_REQ - 0x10] = FLOW_STEP_REQ, [PKT_CM_MRA - 0x10] = FLOW_STEP_MRA,
		[PKT_CM_REJ - 0x10] = FLOW_STEP_REJ, [PKT_CM_REP - 0x10] = FLOW_STEP_REP,
		[PKT_CM_RTU - 0x10] = FLOW_STEP_RTU, [PKT_CM_DREQ - 0x10] = FLOW_STEP_DREQ,
		[PKT_CM_DREP - 0x10] = FLOW_STEP_DREP, [PKT_CM_SIDR_REQ - 0x10] =
			FLOW_STEP_SIDR_REQ,
		[PKT_CM_SIDR_REP - 0x10] = FLOW_STEP_SIDR_REP,
	};

	return attr >= 0x10 && attr - 0x10u < sizeof(steps) / sizeof(steps[0]) ?
		steps[attr - 0x10] :
		FLOW_STEP_OTHER;
}

/* Notes a step; one that is repeated is counted only */
void flow_cm_note(struct flow_conn *c, const struct flow_seen *seen, const struct pkt *p,
		  enum flow_step step)
{
	for (unsigned int i = 0; i < c->steps; i++) {
		if (c->step[i].step == step && c->step[i].from == seen->from) {
			c->repeated_steps++;
			return;
		}
	}
	if (c->steps == FLOW_STEPS)
		return;
	c->step[c->steps].step = step;
	c->step[c->steps].from = seen->from;
	c->step[c->steps].packet = p->number;
	c->step[c->steps++].ns = p->ns;
}

static void begins(struct flow_half *h, uint32_t psn)
{
	h->known = true;
	h->next = psn & FLOW_PSN_MASK;
	h->beyond = h->next;
	h->msn_known = true;
}

static struct flow_conn *req(struct flow *f, const struct pkt *p)
{
	uint8_t end;
	struct flow_conn *c = flow_find_comm(f, p->src, p->comm_id, &end);

	/* Sent again for want of an answer, or an old number of a new connection */
	if (c && !end && c->req && c->end[0].qpn == p->cm_qpn && c->half[1].next == p->cm_psn &&
	    !c->ended)
		return c;
	if (c)
		flow_conn_end(f, c);
	c = flow_conn_new(f, p);
	if (!c)
		return NULL;
	c->req = true;
	c->service_id = p->service_id;
	c->mtu = p->path_mtu >= 1 && p->path_mtu <= 5 ? 128u << p->path_mtu : 0;
	c->responder_resources[0] = p->responder_resources;
	c->hello = p->at[PKT_RTGT_REQ].len > 0;
	flow_name(f, c, 0, p->comm_id);
	flow_bind(f, c, 0, p->cm_qpn);
	begins(&c->half[1], p->cm_psn);
	return c;
}

static void rep(struct flow *f, struct flow_conn *c, const struct pkt *p)
{
	if (c->rep)
		return;
	c->rep = true;
	c->responder_resources[1] = p->responder_resources;
	flow_name(f, c, 1, p->comm_id);
	flow_bind(f, c, 1, p->cm_qpn);
	begins(&c->half[0], p->cm_psn);
	flow_cap_rep(f, c, p);
}

static struct flow_conn *find(struct flow *f, const struct pkt *p, uint8_t *from)
{
	struct flow_conn *c;
	uint8_t to;

	c = flow_find_comm(f, p->dst, p->remote_comm_id, &to);
	if (c && flow_same_addr(c->end[!to].addr, p->src)) {
		*from = !to;
		return c;
	}
	/* The receiver's number is not known where the message that tells it is missing */
	c = flow_find_comm(f, p->src, p->comm_id, from);
	return c && flow_same_addr(c->end[!*from].addr, p->dst) ? c : NULL;
}

/* What must have been there before this message was not */
static bool lacks(const struct flow_conn *c, uint16_t attr)
{
	return attr == PKT_CM_DREP ? !c->dreq :
	       (attr == PKT_CM_RTU || attr == PKT_CM_DREQ) && !c->rep;
}

static void count(struct flow_conn *c, const struct pkt *p, uint8_t from)
{
	switch (p->attr) {
	case PKT_CM_RTU:
		c->rtu = true;
		break;
	case PKT_CM_DREQ:
		c->dreq = true;
		break;
	case PKT_CM_DREP:
		c->ended = true;
		break;
	case PKT_CM_REJ:
		c->rej = true;
		c->rej_from = from;
		c->ended = true;
		c->reject = p->reason;
		break;
	}
}

/**
 * flow_cm() - a message of the connection manager
 * @f: flow
 * @p: packet
 * @seen: filled in
 */
void flow_cm(struct flow *f, const struct pkt *p, struct flow_seen *seen)
{
	struct rule_case rule = { .p = p, .seen = seen, .want = -1 };
	struct flow_conn *c = NULL;

	if (!p->at[PKT_CM].len)
		return;
	seen->class = flow_is_copy(f, &f->gsi, p) ? FLOW_DUPLICATE : FLOW_NEW;
	if (p->attr == PKT_CM_REQ) {
		c = req(f, p);
	} else if (p->attr != PKT_CM_SIDR_REQ && p->attr != PKT_CM_SIDR_REP) {
		c = find(f, p, &seen->from);
		rule.conn = c;
		if (c && lacks(c, p->attr))
			c->lacking = true;
		rules_judge(f, AT_CM, &rule);
	}
	if (!c)
		return;
	seen->conn = c;
	flow_touch(f, c, p);
	if (p->attr == PKT_CM_REP && !seen->from)
		return;
	flow_cm_note(c, seen, p, step_of(p->attr));
	if (p->attr == PKT_CM_REP)
		rep(f, c, p);
	count(c, p, seen->from);
}
