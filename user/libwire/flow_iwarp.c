// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * iWARP: MPA's two frames, and the messages that FPDUs carry.
 *
 * iwarp.c has put the TCP streams together; here its units come one by one, each behind the
 * segment that completed it.  A connection begins with an MPA request (one whose request is not in
 * the capture is not followed: nothing tells its FPDUs from data) and is found by both ends'
 * addresses and TCP ports.
 *
 * Nothing acknowledges a WRITE or a SEND: it is "sent" with its last segment, and TCP sees to
 * the rest.  A READ is answered by its response.  What an end refuses it refuses with a
 * Terminate, which quotes the headers of what it refuses, and the connection is over.
 */
#include <stdlib.h>
#include <string.h>

#include <rtgt/proto.h>
#include "flow_priv.h"
#include "iwarp.h"
#include "parse.h"

#define TCP_FIN		0x01
#define TCP_RST		0x04
#define TCP_ACK		0x10
#define READ_QUEUE	1
#define READ_HEADERS	46	/* DDP's and RDMAP's of a READ request */

/* What the Request or the Reply of end @from says, which the rules see */
static void mpa(struct flow *f, struct flow_conn *c, const struct pkt *p, uint8_t from)
{
	const uint8_t *h = pkt_bytes(p, PKT_MPA), *depths = pkt_bytes(p, PKT_MPA_DEPTHS);
	const struct flow_seen seen = { .conn = c, .from = from };
	const struct rule_case rule = { .p = p, .conn = c, .seen = &seen, .want = -1 };
	struct flow_mpa *m = &c->iwarp->mpa[from];

	*m = (struct flow_mpa){ .seen = true, .flags = h[16], .revision = h[17],
				.private_len = be16(h + 18), .has_depths = depths };
	if (depths) {
		m->ird = be16(depths) & MPA_DEPTH_MASK;
		m->ord = be16(depths + 2) & MPA_DEPTH_MASK;
		m->ready = (depths[0] >> 6) << 2 | depths[2] >> 6;
	}
	rules_judge(f, AT_MPA, &rule);
}

static struct flow_conn *mpa_request(struct flow *f, const struct pkt *p)
{
	uint8_t from;
	struct flow_conn *c = flow_find_tcp(f, p, &from);

	if (c)
		flow_conn_end(f, c);
	c = flow_conn_new(f, p);
	if (!c)
		return NULL;
	c->iwarp = calloc(1, sizeof(*c->iwarp));
	if (!c->iwarp) {
		flow_conn_end(f, c);
		return NULL;
	}
	c->transport = FLOW_IWARP;
	c->req = true;
	c->service_id = p->dport;
	c->hello = p->at[PKT_RTGT_REQ].len > 0;
	c->end[1].qpn = FLOW_PORT(p->dport);
	c->iwarp->dir[0].tcp_next = f->tcp_end;
	c->iwarp->dir[1].tcp_next = f->tcp_ack;
	flow_bind(f, c, 0, FLOW_PORT(p->sport));
	mpa(f, c, p, 0);
	return c;
}

static void mpa_reply(struct flow *f, struct flow_conn *c, const struct pkt *p)
{
	mpa(f, c, p, 1);
	if (c->iwarp->mpa[1].flags & MPA_REJECT) {
		c->rej = true;
		c->rej_from = 1;
		c->ended = true;
	} else {
		c->rep = true;
		flow_cap_rep(f, c, p);
	}
}

static bool decode(struct flow_fpdu *d, const struct pkt *p)
{
	const uint8_t *ddp = pkt_bytes(p, PKT_DDP), *rdmap = pkt_bytes(p, PKT_RDMAP);

	memset(d, 0, sizeof(*d));
	if (!ddp || !rdmap || p->fault)
		return false;
	d->tagged = ddp[0] & 0x80;
	d->last = ddp[0] & 0x40;
	d->op = p->at[PKT_RDMAP].variant;
	d->len = p->at[PKT_PAYLOAD].len;
	if (d->tagged) {
		d->stag = be32(ddp + 2);
		d->to = be64(ddp + 6);
		return true;
	}
	d->inv_stag = be32(ddp + 2);
	d->qn = be32(ddp + 6);
	d->msn = be32(ddp + 10);
	d->mo = be32(ddp + 14);
	if (d->op == PKT_RDMAP_READ_REQUEST) {
		d->sink_stag = be32(ddp + 18);
		d->sink_to = be64(ddp + 22);
		d->size = be32(ddp + 30);
		d->src_stag = be32(ddp + 34);
		d->src_to = be64(ddp + 38);
	}
	return true;
}

/* The READ of this half that is to be answered next */
static struct flow_msg *unanswered_read(struct flow_half *h)
{
	for (uint32_t i = 0; i < h->nr; i++) {
		struct flow_msg *m = flow_msg_at(h, i);

		if (m->op == FLOW_READ && m->status == FLOW_OPEN)
			return m;
	}
	return NULL;
}

static struct flow_msg *begin(struct flow *f, const struct pkt *p, const struct flow_fpdu *d,
			      struct flow_seen *seen)
{
	struct flow_conn *c = seen->conn;
	struct flow_half *h = &c->half[seen->from];
	struct flow_dir *dir = &c->iwarp->dir[seen->from];
	struct flow_msg *m = flow_msg_push(f, c, h);

	if (!m)
		return NULL;
	m->id = ++f->next_msg;
	m->from = seen->from;
	m->nth = ++h->begun;
	m->first_packet = p->number;
	m->first_ns = p->ns;
	m->first_psn = d->msn;
	if (d->op == PKT_RDMAP_WRITE) {
		m->op = FLOW_WRITE;
		m->va = d->to;
		m->rkey = d->stag;
	} else if (d->op == PKT_RDMAP_READ_REQUEST) {
		m->op = FLOW_READ;
		m->va = d->src_to;
		m->rkey = d->src_stag;
		m->bytes = d->size;
		m->sink_va = d->sink_to;
		m->sink_rkey = d->sink_stag;
		m->unrefused = dir->bad;
		m->grant = flow_cap_grant(f, c, m, p);
	} else {
		m->op = FLOW_SEND;
		m->has_inv = d->op == PKT_RDMAP_SEND_INV || d->op == PKT_RDMAP_SEND_SE_INV;
		m->inv_rkey = m->has_inv ? d->inv_stag : 0;
	}
	return m;
}

/*
 * The server has got as many of the client's SENDs as it has replied to.  DDP delivers in order: if
 * one of these was sent after an access that ought to have been refused, that one was not.
 */
static void replied(struct flow_conn *c, struct flow_msg *m)
{
	const struct flow_dir *client = &c->iwarp->dir[0];

	if (++c->iwarp->replies > client->bad_sends && !client->bad_told)
		m->unrefused = client->bad;
}

/* A message has ended; what @m->unrefused names is told once */
static void done(struct flow *f, struct flow_conn *c, struct flow_msg *m, enum flow_status status,
		 const struct pkt *p)
{
	struct flow_dir *client = &c->iwarp->dir[0], *dir = &c->iwarp->dir[m->from];

	if (m->op == FLOW_READ && dir->bad_told)
		m->unrefused = 0;
	flow_msg_done(f, c, m, status, p);
	if (m->unrefused)
		(m->op == FLOW_READ ? dir : client)->bad_told = true;
	/* An answered READ that ought to have been refused is told as such: capability */
	if (status == FLOW_OK && m->grant >= FLOW_GRANT_KEY && dir->bad == m->first_packet)
		dir->bad_told = true;
}

/* A segment of a WRITE, a SEND or a READ request */
static void request(struct flow *f, const struct pkt *p, const struct flow_fpdu *d,
		    struct flow_seen *seen, bool first)
{
	struct flow_conn *c = seen->conn;
	struct flow_half *h = &c->half[seen->from];
	struct flow_dir *dir = &c->iwarp->dir[seen->from];
	struct flow_msg *m;

	if (first)
		m = begin(f, p, d, seen);
	else
		m = h->nr ? flow_msg_at(h, h->nr - 1) : NULL;
	if (!m || m->whole || m->status != FLOW_OPEN)
		return;
	seen->msg = m;
	m->sent++;
	m->needed++;
	m->last_packet = p->number;
	m->sent_ns = p->ns;
	if (m->op != FLOW_READ)
		m->bytes += d->len;
	/* How far a WRITE reaches is known with its last segment only */
	if (m->op == FLOW_WRITE)
		m->grant = flow_cap_grant(f, c, m, p);
	if (m->op == FLOW_SEND)
		flow_cap_payload(f, c, m, p, first);
	if (first && m->from && m->rtgt_op & RTGT_MSG_REPLY)
		replied(c, m);
	if (m->grant >= FLOW_GRANT_KEY && !dir->bad) {
		dir->bad = m->first_packet;
		dir->bad_sends = dir->msn[0];
	}
	if (!d->last)
		return;
	m->whole = true;
	if (m->has_inv)
		flow_cap_inv(f, c, m, true);
	if (m->op != FLOW_READ)
		done(f, c, m, FLOW_SENT, p);
}

static void response(struct flow *f, const struct pkt *p, const struct flow_fpdu *d,
		     struct flow_seen *seen, struct flow_msg *m)
{
	seen->answer = true;
	seen->msg = m;
	if (!m)
		return;
	m->sent++;
	m->needed++;
	m->answer_psn += d->len;
	if (d->last)
		done(f, seen->conn, m, FLOW_OK, p);
}

/* Are these the headers of @m?  siw quotes a READ's length in the place of its MSN */
static bool quotes(const struct flow_msg *m, const struct pkt_terminate *t)
{
	const bool read = m->op == FLOW_READ;
	const uint8_t *ddp = t->ddp;

	if (ddp[0] & 0x80)
		return m->op == FLOW_WRITE && m->rkey == be32(ddp + 2);
	if (read && t->len >= READ_HEADERS)
		return m->sink_rkey == be32(ddp + 18) && m->sink_va == be64(ddp + 22);
	return m->first_psn == be32(ddp + 10) && read == (be32(ddp + 6) == READ_QUEUE);
}

/* Is this the message of which a segment is quoted?  Of a READ as in quotes() */
static bool was_sent(const struct flow_sent *s, const struct pkt_terminate *t)
{
	const struct flow_fpdu *d = &s->first;
	const uint8_t *ddp = t->ddp;
	uint64_t at;

	if (d->tagged != !!(ddp[0] & 0x80) || d->op != (ddp[1] & 0xf))
		return false;
	if (d->tagged) {
		at = be64(ddp + 6) - s->to;
		return d->stag == be32(ddp + 2) && (at < s->bytes || !at);
	}
	if (d->op == PKT_RDMAP_READ_REQUEST && t->len >= READ_HEADERS)
		return d->sink_stag == be32(ddp + 18) && d->sink_to == be64(ddp + 22);
	return d->qn == be32(ddp + 6) && d->msn == be32(ddp + 10);
}

/*
 * The latest message that a Terminate may quote.  A receiver may refuse an FPDU of which the
 * capture has the beginning only as yet; then none of those before is it.
 */
static const struct flow_sent *refused_one(const struct flow_dir *dir,
					   const struct pkt_terminate *t)
{
	if (!t->ddp || dir->partial || dir->lost)
		return NULL;
	for (unsigned int i = 1; i <= dir->nr_sent && i <= FLOW_SENT_KEPT; i++) {
		const struct flow_sent *s = &dir->sent[(dir->nr_sent - i) % FLOW_SENT_KEPT];

		if (was_sent(s, t))
			return s;
	}
	return NULL;
}

/* Which message a Terminate is about: its headers are quoted */
static void terminate(struct flow *f, const struct pkt *p, struct flow_seen *seen)
{
	struct flow_conn *c = seen->conn;
	struct flow_half *h = &c->half[!seen->from];
	struct rule_case rule = { .p = p, .conn = c, .seen = seen, .want = -1 };
	const struct flow_fpdu *d;
	struct pkt_terminate t;

	seen->answer = true;
	c->terminate = p->number;
	c->iwarp->dir[seen->from].terminated = p->number;
	pkt_terminate(p, &t);
	rule.said = &t;
	rule.refused = refused_one(&c->iwarp->dir[!seen->from], &t);
	rules_judge(f, AT_TERMINATE, &rule);
	if (rule.refused && t.cause == PKT_CAUSE_STAG &&
	    rule.refused->grant == FLOW_GRANT_INSIDE) {
		d = &rule.refused->first;
		flow_cap_refuse_key(f, c->end[seen->from].addr, d->tagged ? d->stag : d->src_stag,
				    p->number);
	}
	if (!t.ddp)
		return;
	for (uint32_t i = 0; i < h->nr; i++) {
		struct flow_msg *m = flow_msg_at(h, i);

		if (m->status != FLOW_OPEN)
			continue;
		if (!quotes(m, &t))
			continue;
		c->terminated = m->first_packet;
		seen->msg = m;
		flow_msg_done(f, c, m, FLOW_TERMINATED, p);
		return;
	}
	/* A WRITE that was all sent is over for us */
	if (rule.refused)
		c->terminated = rule.refused->packet;
	else if (t.ddp[0] & 0x80)
		c->terminated = c->iwarp->dir[!seen->from].bad;
}

/* What of an FPDU a Terminate may call wrong; asked before its message takes it */
static uint8_t wrongs(const struct rule_case *c)
{
	uint8_t wrong = 0;
	char words[256];

	if (rule_ddp_queue(c, words, sizeof(words)))
		wrong |= FLOW_WRONG_QUEUE;
	if (rule_ddp_msn(c, words, sizeof(words)))
		wrong |= FLOW_WRONG_MSN;
	if (rule_ddp_offset(c, words, sizeof(words)))
		wrong |= FLOW_WRONG_OFFSET;
	/* The receiver may take it for the next segment of the message before it */
	if (rule_ddp_last(c, words, sizeof(words)))
		wrong |= FLOW_WRONG_QUEUE | FLOW_WRONG_MSN | FLOW_WRONG_OFFSET;
	return wrong;
}

/* What a Terminate may quote; @m: the access, NULL: it is none */
static void remember(struct flow_dir *dir, const struct pkt *p, const struct flow_fpdu *d,
		     bool first, const struct flow_msg *m, uint8_t wrong)
{
	const bool read = d->op == PKT_RDMAP_READ_REQUEST;
	struct flow_sent *s;

	if (first || !dir->nr_sent)
		dir->sent[dir->nr_sent++ % FLOW_SENT_KEPT] = (struct flow_sent) {
			.packet = p->number, .to = read ? d->src_to : d->to, .first = *d,
			.grant = FLOW_GRANT_UNKNOWN,
		};
	s = &dir->sent[(dir->nr_sent - 1) % FLOW_SENT_KEPT];
	s->bytes += read ? d->size : d->len;
	s->wrong |= wrong;
	if (m)
		s->grant = m->grant;
}

static void fpdu(struct flow *f, const struct pkt *p, struct flow_seen *seen)
{
	struct flow_conn *c = seen->conn;
	struct flow_dir *dir = &c->iwarp->dir[seen->from];
	const struct flow_dir *asker = &c->iwarp->dir[!seen->from];
	struct flow_half *other = &c->half[!seen->from];
	struct rule_case rule = { .p = p, .conn = c, .seen = seen, .dir = dir, .want = -1 };
	struct flow_msg *read = NULL;
	struct flow_fpdu d;
	bool whole = decode(&d, p), first;
	uint8_t wrong;

	dir->partial = p->behind;
	seen->payload = d.len;
	if (p->icrc == PKT_ICRC_BAD) {
		f->totals.corrupt++;
		seen->class = FLOW_CORRUPT;
		whole = false;
	}
	/*
	 * One that cannot be read may have been anything: what its sender sends behind it cannot be
	 * judged, nor what may answer it.
	 */
	if (whole && !dir->lost && !(d.op == PKT_RDMAP_READ_RESPONSE && asker->lost))
		rule.fpdu = &d;
	if (whole && d.op == PKT_RDMAP_READ_RESPONSE) {
		read = unanswered_read(other);
		rule.half = other;
		rule.msg = read;
	}
	rules_judge(f, AT_FPDU, &rule);
	if (!dir->began)
		dir->first_packet = p->number;
	dir->began = true;
	if (!whole) {
		dir->lost = true;
		return;
	}
	wrong = wrongs(&rule);
	first = !dir->open || d.op != dir->current.op ||
		(!d.tagged && d.msn != dir->current.msn);
	dir->open = !d.last;
	dir->next = d.tagged ? d.to + d.len : d.mo + d.len;
	dir->packet = p->number;
	dir->current = d;
	if (!d.tagged && d.qn < 3)
		dir->msn[d.qn] = d.msn;
	if (d.op == PKT_RDMAP_TERMINATE) {
		terminate(f, p, seen);
		flow_cm_note(c, seen, p, FLOW_STEP_TERMINATE);
	} else if (d.op == PKT_RDMAP_READ_RESPONSE) {
		response(f, p, &d, seen, read);
	} else {
		request(f, p, &d, seen, first);
	}
	remember(dir, p, &d, first, seen->answer ? NULL : seen->msg, wrong);
	flow_msgs_shrink(&c->half[0]);
	flow_msgs_shrink(&c->half[1]);
}

/*
 * Is there what a segment follows, and what it acknowledges?  A FIN has a sequence number, too.
 */
static void segment(const struct flow *f, struct flow_conn *c, const struct pkt *p, uint8_t from)
{
	struct flow_dir *dir = &c->iwarp->dir[from], *other = &c->iwarp->dir[!from];
	const uint8_t *tcp = pkt_bytes(p, PKT_TCP);

	if (p->fault == PKT_CUT || (int32_t)(be32(tcp + 4) - dir->tcp_next) > 0 ||
	    (tcp[13] & TCP_ACK && (int32_t)(f->tcp_ack - other->tcp_next) > 1))
		c->lacking = true;
	if ((int32_t)(f->tcp_end - dir->tcp_next) > 0)
		dir->tcp_next = f->tcp_end;
}

/**
 * flow_iwarp() - a TCP segment, or a unit of iWARP that became whole with one
 * @f: flow
 * @p: packet, or unit
 * @seen: filled in
 */
void flow_iwarp(struct flow *f, const struct pkt *p, struct flow_seen *seen)
{
	const bool unit = p->kind == PKT_IWARP;
	const uint8_t *tcp = unit ? NULL : pkt_bytes(p, PKT_TCP);
	struct flow_conn *c;

	if (tcp) {
		f->tcp_end = be32(tcp + 4) + p->at[PKT_PAYLOAD].len;
		f->tcp_ack = be32(tcp + 8);
	}

	if (unit && p->at[PKT_MPA].variant == PKT_MPA_REQUEST)
		c = mpa_request(f, p);
	else
		c = flow_find_tcp(f, p, &seen->from);
	if (!c)
		return;
	seen->conn = c;
	seen->class = FLOW_NEW;
	if (!unit) {
		flow_touch(f, c, p);
		if (tcp && tcp[13] & (TCP_FIN | TCP_RST))
			c->ended = true;
		if (tcp)
			segment(f, c, p, seen->from);
		/* The units that it completes tell */
		if (p->at[PKT_PAYLOAD].len)
			c->iwarp->dir[seen->from].partial = true;
		return;
	}
	if (p->at[PKT_MPA].variant == PKT_MPA_REQUEST) {
		flow_touch(f, c, p);
		flow_cm_note(c, seen, p, FLOW_STEP_MPA_REQUEST);
	} else if (p->at[PKT_MPA].variant == PKT_MPA_REPLY) {
		mpa_reply(f, c, p);
		flow_cm_note(c, seen, p, FLOW_STEP_MPA_REPLY);
	} else {
		fpdu(f, p, seen);
	}
}
