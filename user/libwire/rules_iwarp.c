// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The rules for iWARP: MPA (RFC 5044), DDP (RFC 5041), RDMAP (RFC 5040).  The table is in
 * rules.c.
 *
 * A rule sees an FPDU (@fpdu) and what its sender had sent before (@dir).  TCP delivers in
 * order and without loss, so every FPDU has to go on exactly where the one before ended.
 */
#include <inttypes.h>

#include "flow_priv.h"
#include "iwarp.h"

/* The queue of an untagged operation; -1: it is a tagged one */
static int queue_of(uint8_t op)
{
	switch (op) {
	case PKT_RDMAP_WRITE:
	case PKT_RDMAP_READ_RESPONSE:
		return -1;
	case PKT_RDMAP_READ_REQUEST:
	case PKT_RDMAP_ATOMIC_REQUEST:
		return 1;
	case PKT_RDMAP_TERMINATE:
		return 2;
	case PKT_RDMAP_ATOMIC_RESPONSE:
		return 3;
	default:
		return 0;
	}
}

/* Does it belong to the message that its sender has begun? */
static bool goes_on(const struct rule_case *c)
{
	const struct flow_fpdu *d = c->fpdu, *open = &c->dir->current;

	return c->dir->open && d->op == open->op && d->tagged == open->tagged &&
	       (d->tagged || (d->qn == open->qn && d->msn == open->msn));
}

uint64_t rule_mpa_frame(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_mpa *m = &c->conn->iwarp->mpa[c->seen->from];
	const char *name = c->seen->from ? "Reply" : "Request";
	uint8_t reserved = m->revision > 1 ? 0x0f : 0x1f;

	if (!c->seen->from)
		reserved |= MPA_REJECT;
	if (m->flags & reserved)
		return rule_say(c->p->number, words, size,
				"a %s of revision %u has the flags 0x%02x, of which 0x%02x have to be 0",
				name, m->revision, m->flags, m->flags & reserved);
	if (m->private_len > MPA_PRIVATE_MAX)
		return rule_say(c->p->number, words, size,
				"a %s with %u bytes of private data: %u are allowed", name,
				m->private_len, MPA_PRIVATE_MAX);
	if (m->revision > 1 && m->flags & MPA_ENHANCED && !m->has_depths)
		return rule_say(c->p->number, words, size,
				"a %s says that IRD and ORD come first, but has only %u bytes of private data",
				name, m->private_len);
	return 0;
}

uint64_t rule_mpa_revision(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_mpa *request = &c->conn->iwarp->mpa[0], *reply = request + 1;

	if (!c->seen->from)
		return 0;
	if (reply->revision > request->revision)
		return rule_say(c->p->number, words, size,
				"a Reply of revision %u, but the Request has revision %u",
				reply->revision, request->revision);
	if (reply->revision < 2 || !((reply->flags ^ request->flags) & MPA_ENHANCED))
		return 0;
	return rule_say(c->p->number, words, size, "a Reply %s IRD and ORD, but the Request %s",
			reply->flags & MPA_ENHANCED ? "with" : "without",
			request->flags & MPA_ENHANCED ? "has them" : "has none");
}

uint64_t rule_mpa_depths(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_mpa *request = &c->conn->iwarp->mpa[0], *reply = request + 1;

	/* One that rejects may do so to tell which ORD it needs */
	if (!c->seen->from || !request->has_depths || !reply->has_depths ||
	    reply->flags & MPA_REJECT || reply->ord == MPA_DEPTH_MASK ||
	    reply->ord <= request->ird)
		return 0;
	return rule_say(c->p->number, words, size,
			"the Reply says that its sender has up to %u READs outstanding (ORD), but the sender of the Request answers %u at a time (IRD)",
			reply->ord, request->ird);
}

uint64_t rule_mpa_ready(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_mpa *request = &c->conn->iwarp->mpa[0], *reply = request + 1;
	const struct flow_mpa *m = request + c->seen->from;
	const char *name = c->seen->from ? "Reply" : "Request";

	if (!m->has_depths)
		return 0;
	if (m->ready && !(m->ready & MPA_READY))
		return rule_say(c->p->number, words, size,
				"a %s tells by which message the client says that it is ready, but not that it does (flag A)",
				name);
	if (m->ready == MPA_READY)
		return rule_say(c->p->number, words, size,
				"a %s says that the client says when it is ready (flag A), but not by which message",
				name);
	if (!c->seen->from || !request->has_depths ||
	    !((request->ready ^ reply->ready) & MPA_READY))
		return 0;
	return rule_say(c->p->number, words, size, "a Reply %s the flag A, but the Request %s",
			reply->ready ? "with" : "without", reply->ready ? "has none" : "has it");
}

uint64_t rule_mpa_ready_first(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_mpa *request = &c->conn->iwarp->mpa[0], *reply = request + 1;
	const struct flow_fpdu *d = c->fpdu;
	bool empty;
	uint8_t is;

	if (c->seen->from || c->dir->began || !d || d->op == PKT_RDMAP_TERMINATE ||
	    !(request->ready & reply->ready & MPA_READY) || reply->flags & MPA_REJECT)
		return 0;
	is = d->op == PKT_RDMAP_WRITE ? MPA_READY_WRITE :
	     d->op == PKT_RDMAP_READ_REQUEST ? MPA_READY_READ :
	     d->op == PKT_RDMAP_SEND ? MPA_READY_SEND : 0;
	empty = d->op == PKT_RDMAP_READ_REQUEST ? !d->size : !d->len && d->last;
	if (empty && reply->ready & is)
		return 0;
	return rule_say(c->p->number, words, size,
			"the client's first FPDU is a %s%s, but the Reply requests an empty%s%s%s",
			pkt_rdmap_name(d->op), empty ? " without bytes" : "",
			reply->ready & MPA_READY_SEND ? " SEND" : "",
			reply->ready & MPA_READY_WRITE ? " WRITE" : "",
			reply->ready & MPA_READY_READ ? " READ" : "");
}

/* By the Reply that comes late, since a capture may lack it */
uint64_t rule_mpa_order(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_dir *client = &c->conn->iwarp->dir[0];

	if (!c->seen->from || !client->began)
		return 0;
	return rule_say(client->first_packet, words, size,
			"the client sends an FPDU before the Reply, which is packet %" PRIu64,
			c->p->number);
}

uint64_t rule_mpa_reject(const struct rule_case *c, char *words, size_t size)
{
	if (!c->conn->rej || c->dir->began)
		return 0;
	return rule_say(c->p->number, words, size,
			"the %s sends an FPDU, but the Reply has rejected the connection",
			c->seen->from ? "server" : "client");
}

uint64_t rule_mpa_marker(const struct rule_case *c, char *words, size_t size)
{
	if (!c->p->bad_marker)
		return 0;
	return rule_say(c->p->number, words, size,
			"the %s requested markers, but the bytes at the place of one are none",
			c->seen->from ? "client" : "server");
}

uint64_t rule_mpa_crc(const struct rule_case *c, char *words, size_t size)
{
	const uint8_t *has = pkt_bytes(c->p, PKT_CRC);

	if (c->p->icrc != PKT_ICRC_BAD || !has)
		return 0;
	return rule_say(c->p->number, words, size,
			"the CRC of an FPDU is %02x%02x%02x%02x, which is not that of its bytes",
			has[0], has[1], has[2], has[3]);
}

uint64_t rule_mpa_first(const struct rule_case *c, char *words, size_t size)
{
	if (!c->seen->from || c->conn->iwarp->dir[0].began || c->dir->began)
		return 0;
	return rule_say(c->p->number, words, size,
			"the server sends an FPDU before the client has sent one");
}

uint64_t rule_iwarp_header(const struct rule_case *c, char *words, size_t size)
{
	if (c->p->icrc == PKT_ICRC_BAD || !c->p->fault)
		return 0;
	return rule_say(c->p->number, words, size, "an FPDU's headers: %s",
			pkt_fault_name(c->p->fault));
}

uint64_t rule_ddp_queue(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_fpdu *d = c->fpdu;
	int queue;

	if (!d)
		return 0;
	queue = queue_of(d->op);
	if (d->tagged ? queue < 0 : queue == (int)d->qn)
		return 0;
	if (d->tagged || queue < 0)
		return rule_say(c->p->number, words, size, "a %s comes %s",
				pkt_rdmap_name(d->op),
				d->tagged ? "with an STag and belongs to a queue" :
				"to a queue and needs an STag");
	return rule_say(c->p->number, words, size, "a %s comes to queue %u instead of queue %d",
			pkt_rdmap_name(d->op), d->qn, queue);
}

uint64_t rule_ddp_msn(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_fpdu *d = c->fpdu;
	uint32_t want;

	if (!d || d->tagged || d->qn > 2)
		return 0;
	/* One that goes on has the number by definition; a wrong one there begins another */
	want = c->dir->msn[d->qn] + !goes_on(c);
	if (d->msn == want)
		return 0;
	return rule_say(c->p->number, words, size,
			"MSN %u on queue %u, but the message before it had %u", d->msn, d->qn,
			c->dir->msn[d->qn]);
}

uint64_t rule_ddp_offset(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_fpdu *d = c->fpdu;

	if (!d)
		return 0;
	if (d->tagged) {
		if (!goes_on(c) || (d->stag == c->dir->current.stag && d->to == c->dir->next))
			return 0;
		return rule_say(c->p->number, words, size,
				"a segment for STag 0x%x at 0x%" PRIx64
				", but its message goes on for STag 0x%x at 0x%" PRIx64,
				d->stag, d->to, c->dir->current.stag, c->dir->next);
	}
	if (d->mo == (goes_on(c) ? c->dir->next : 0))
		return 0;
	return rule_say(c->p->number, words, size, "a segment with offset %u, but it has to be %"
			PRIu64, d->mo, goes_on(c) ? c->dir->next : 0);
}

uint64_t rule_ddp_last(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_fpdu *d = c->fpdu;

	if (!d)
		return 0;
	/* A sender may find that it cannot go on: a READ of memory that has gone */
	if (c->dir->open && !goes_on(c) && d->op != PKT_RDMAP_TERMINATE)
		return rule_say(c->p->number, words, size,
				"a %s begins, but the %s before it (packet %" PRIu64
				") has no last segment", pkt_rdmap_name(d->op),
				pkt_rdmap_name(c->dir->current.op), c->dir->packet);
	if (!d->last && (queue_of(d->op) == 1 || queue_of(d->op) == 2))
		return rule_say(c->p->number, words, size,
				"a %s is of one segment, and this is not the last one",
				pkt_rdmap_name(d->op));
	return 0;
}

/* @half and @msg: the READ that is to be answered next, which the other end sent */
uint64_t rule_read_response(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_fpdu *d = c->fpdu;
	const struct flow_msg *m = c->msg;
	uint64_t got;

	if (!d || d->op != PKT_RDMAP_READ_RESPONSE)
		return 0;
	if (!m)
		return rule_say(c->p->number, words, size,
				"a READ response, but no READ request is without one");
	got = m->answer_psn;
	if (d->stag != m->sink_rkey || d->to != m->sink_va + got)
		return rule_say(c->p->number, words, size,
				"a READ response for STag 0x%x at 0x%" PRIx64
				", but packet %" PRIu64
				" asked for it at STag 0x%x, where the next byte is 0x%" PRIx64,
				d->stag, d->to, m->first_packet, m->sink_rkey, m->sink_va + got);
	if (got + d->len > m->bytes || (d->last && got + d->len < m->bytes))
		return rule_say(c->p->number, words, size,
				"a READ response of %" PRIu64 " bytes%s, but packet %" PRIu64
				" asked for %" PRIu64, got + d->len,
				d->last ? "" : " or more", m->first_packet, m->bytes);
	return 0;
}

uint64_t rule_terminate(const struct rule_case *c, char *words, size_t size)
{
	if (!c->dir->terminated)
		return 0;
	return rule_say(c->p->number, words, size,
			"an FPDU behind the Terminate of packet %" PRIu64, c->dir->terminated);
}

/* Why the error is not one of what is refused; NULL: it is, or nobody can tell from outside */
static const char *unfounded(const struct rule_case *c)
{
	const struct pkt_terminate *t = c->said;
	const struct flow_mpa *mpa = c->conn->iwarp->mpa;
	const struct flow_sent *s = c->refused;

	if (t->cause == PKT_CAUSE_CRC)
		return mpa[0].seen && mpa[1].seen && !((mpa[0].flags | mpa[1].flags) & MPA_CRC) ?
		       "neither end has requested CRCs" : NULL;
	if (!s)
		return NULL;
	if (t->buffer && t->buffer != (s->first.tagged ? 1 : 2))
		return s->first.tagged ? "it has an STag and goes to no queue" :
		       "it goes to a queue and has no STag";
	switch (t->cause) {
	/* Not "invalid STag": it may be invalidated without a packet; see nak-reason */
	case PKT_CAUSE_BOUNDS:
	case PKT_CAUSE_ACCESS:
	case PKT_CAUSE_STREAM:
		return s->grant == FLOW_GRANT_INSIDE ? "it is inside what was advertised" : NULL;
	case PKT_CAUSE_WRAP:
		return s->to + s->bytes >= s->to ? "its last offset is above its first" : NULL;
	case PKT_CAUSE_VERSION:
		return (t->ddp[0] & 3) == 1 && t->ddp[1] >> 6 == 1 ? "its version is 1" : NULL;
	case PKT_CAUSE_QUEUE:
		return s->wrong & FLOW_WRONG_QUEUE ? NULL : "its queue is that of its operation";
	case PKT_CAUSE_MSN:
		return s->wrong & FLOW_WRONG_MSN ? NULL : "its MSN follows the one before it";
	case PKT_CAUSE_OFFSET:
		return s->wrong & FLOW_WRONG_OFFSET ? NULL :
		       "its offset is where the segment before it ends";
	case PKT_CAUSE_OPERATION:
		/* not so immediate data, which only RFC 7306 has */
		return s->first.op == PKT_RDMAP_WRITE ||
		       (s->first.op >= PKT_RDMAP_SEND && s->first.op <= PKT_RDMAP_SEND_SE_INV) ?
		       "a WRITE or a SEND may come at any time" : NULL;
	default:
		return NULL;
	}
}

uint64_t rule_terminate_reason(const struct rule_case *c, char *words, size_t size)
{
	const char *why = unfounded(c);

	if (!why)
		return 0;
	if (!c->refused)
		return rule_say(c->p->number, words, size, "a Terminate says \"%s\", but %s",
				c->said->name, why);
	return rule_say(c->p->number, words, size,
			"a Terminate says \"%s\" of the %s of packet %" PRIu64 ", but %s",
			c->said->name, pkt_rdmap_name(c->refused->first.op), c->refused->packet,
			why);
}

uint64_t rule_stag(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_msg *m = c->msg;

	if ((m->status != FLOW_OK && m->status != FLOW_SENT) || !m->unrefused)
		return 0;
	return rule_say(m->unrefused, words, size,
			"an access that is not inside what was advertised was not refused: packet %"
			PRIu64 " answers a %s that was sent after it", m->end_packet,
			m->op == FLOW_READ ? "READ" : "request");
}
