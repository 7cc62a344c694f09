// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt explain --verbose: a packet in plain words, for somebody who sees RDMA for the
 * first time: not what its fields are but what is asked for, what is answered and why.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include <rtgt/uapi.h>
#include "libwire/flow.h"
#include "explain.h"

/* A text that grows; what does not fit is left out */
struct text {
	char *buf;
	size_t size, len;
};

__attribute__((format(printf, 2, 3)))
static void add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->len, t->size - t->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n < t->size - t->len ? (size_t)n : t->size - t->len - 1;
}

/* Where an access goes: seen from the capability it uses */
static void add_where(struct text *t, const struct flow_conn *c, const struct flow_msg *m)
{
	const struct flow_half *h = &c->half[!m->from];

	add(t, " at address 0x%" PRIx64, m->va);
	for (const struct flow_cap *cap = h->cap; cap < h->cap + h->caps; cap++) {
		if (cap->rkey != m->rkey || m->va < cap->addr || m->va - cap->addr > cap->len)
			continue;
		if (m->va == cap->addr)
			add(t, ", which is the one");
		else
			add(t, ", which is %" PRIu64 " bytes after the one", m->va - cap->addr);
		add(t, " %s, and carries the key that came with it (rkey 0x%x)",
		    cap->source == 'r' ? "it got in the ConnectReply" :
		    cap->source == 'm' ? "it got in a reply" : "the client named in its request",
			    m->rkey);
		break;
	}
	if (m->grant >= FLOW_GRANT_KEY)
		add(t, " (rkey 0x%x: %s)", m->rkey, flow_grant_words(m->grant));
}

static void add_part(struct text *t, const struct pkt *p, const struct flow_seen *seen)
{
	const struct flow_msg *m = seen->msg;
	uint64_t at = (uint64_t)(uint32_t)flow_psn_diff(p->psn, m->first_psn) * seen->conn->mtu;

	add(t, "bytes %" PRIu64 " to %" PRIu64, at, at + (seen->payload ? seen->payload - 1 : 0));
}

static void add_first(struct text *t, const struct flow_seen *seen)
{
	const struct flow_msg *m = seen->msg;
	const char *other = who(!m->from);
	char name[64];

	switch (m->op) {
	case FLOW_SEND:
		flow_message_name(m, name, sizeof(name));
		add(t, " sends a message into the next receive that %s has posted%s%s", other,
		    name[0] ? ": in the target's language, " : "", name);
		return;
	case FLOW_WRITE:
		add(t, " asks to write %" PRIu64 " bytes into the memory of %s", m->bytes, other);
		break;
	case FLOW_READ:
		add(t, " asks to read %" PRIu64 " bytes of the memory of %s", m->bytes, other);
		break;
	case FLOW_CAS:
		add(t, " asks to compare eight bytes in the memory of %s and to swap them if equal",
		    other);
		break;
	case FLOW_FAA:
		add(t, " asks to add to eight bytes in the memory of %s", other);
		break;
	case FLOW_FLUSH:
		add(t, " asks that %"
		    PRIu64 " bytes written before can be seen by all, in the memory of %s",
		    m->bytes, other);
		break;
	default:
		add(t, " asks to write eight bytes at one stroke into the memory of %s", other);
	}
	if (m->grant == FLOW_GRANT_NONE_NEEDED)
		add(t, "; nothing is touched, so address and key do not matter");
	else
		add_where(t, seen->conn, m);
}

static void request(struct text *t, const struct pkt *p, const struct flow_seen *seen)
{
	const struct flow_msg *m = seen->msg;

	add(t, "%s", who(seen->from));
	if (!m) {
		add(t, " asks for something that began before the capture, or in front of a gap");
		return;
	}
	if (m->first_psn == p->psn) {
		add_first(t, seen);
		if (m->op == FLOW_READ)
			add(t, m->needed == 2 ? ". The answer takes one packet and one PSN" :
			    ". The answer takes %u packets and as many PSNs", m->needed - 1);
		else if (!m->whole)
			add(t, ". This packet has the first %u bytes", seen->payload);
	} else {
		add(t, " goes on with what packet %" PRIu64 " began: ", m->first_packet);
		add_part(t, p, seen);
		if (m->whole && m->last_psn == p->psn)
			add(t, ", the last");
	}
	if (m->has_imm && m->whole && m->last_psn == p->psn)
		add(t, ". The immediate value 0x%x takes a receive of %s and tells its program",
		    m->imm, who(!m->from));
	if (m->has_inv && m->whole && m->last_psn == p->psn)
		add(t, ". The key 0x%x of %s shall be good for nothing any more", m->inv_rkey,
		    who(!m->from));
	if (p->ackreq && seen->conn->transport == PKT_RC && m->op != FLOW_READ)
		add(t, ". It requests an acknowledgment");
}

static void refusal(struct text *t, const struct pkt *p, const struct flow_seen *seen)
{
	const struct flow_msg *m = seen->msg;

	if (PKT_SYNDROME(p->syndrome) == PKT_AETH_RNR) {
		add(t, " %s PSN %u: try again in %u microseconds", m && m->op != FLOW_SEND &&
		    !m->has_imm ? "is not ready, though this takes no receive, for" :
		    "has no receive posted for", p->psn, pkt_rnr_us(p->syndrome));
		return;
	}
	if (PKT_SYNDROME(p->syndrome) != PKT_AETH_NAK) {
		add(t, " answers with 0x%02x, a syndrome that is reserved", p->syndrome);
		return;
	}
	if (!PKT_SYNDROME_VALUE(p->syndrome)) {
		add(t, " misses a packet: it wants PSN %u and all after it again", p->psn);
		return;
	}
	add(t, " refuses PSN %u: %s", p->psn, pkt_nak_name(p->syndrome));
	if (m) {
		add(t, ". It was packet %" PRIu64 ", a %s", m->first_packet, flow_op_name(m));
		if (m->grant >= FLOW_GRANT_UNCERTAIN)
			add(t, ": %s", flow_grant_words(m->grant));
	}
	add(t, ". The connection is lost with it: both queue pairs fail");
}

static void answer(struct text *t, const struct pkt *p, const struct flow_seen *seen)
{
	const struct flow_msg *m = seen->msg;

	add(t, "%s", who(seen->from));
	if (p->at[PKT_AETH].len && PKT_SYNDROME(p->syndrome) != PKT_AETH_ACK) {
		refusal(t, p, seen);
		return;
	}
	if (m && m->op == FLOW_READ && seen->payload) {
		add(t, " sends ");
		add_part(t, p, seen);
		add(t, " of the %" PRIu64 " that packet %" PRIu64 " asked for", m->bytes,
		    m->first_packet);
	} else if (m && p->at[PKT_ATOMICACKETH].len) {
		add(t, " has done what packet %" PRIu64 " asked for; before, 0x%"
		    PRIx64 " was there",
		    m->first_packet, p->orig);
	} else if (m && m->whole && m->last_psn == p->psn) {
		add(t, " has all of packet %" PRIu64 "%s and all before it: the %s of %"
		    PRIu64 " bytes is done",
		    m->first_packet, m->first_packet == m->last_packet ? "" :
			    " and those that go on with it",
		    flow_op_name(m), m->bytes);
		if (m->end_packet == p->number)
			add(t, ", %" PRIu64 " us after it was sent",
			    m->end_ns > m->sent_ns ? (m->end_ns - m->sent_ns) / 1000 : 0);
	} else {
		add(t, " has all packets up to PSN %u", p->psn);
	}
	if (p->at[PKT_AETH].len)
		add(t, ". It has done %u message%s on this connection", p->msn,
		    p->msn == 1 ? "" : "s");
}

static void reply(struct text *t, const struct flow_conn *c)
{
	const struct flow_half *h = &c->half[1];

	add(t, "the server agrees. It has queue pair %u, and the client shall begin with PSN %u",
	    c->end[1].qpn,
	    c->half[0].next);
	for (unsigned int i = 0; i < h->caps; i++)
		add(t, "%s %" PRIu64 " bytes at address 0x%" PRIx64 " with the key 0x%x",
		    i ? ", and" : ". It says which memory may be reached:", h->cap[i].len,
		    h->cap[i].addr,
		    h->cap[i].rkey);
}

static void manage(struct text *t, const struct pkt *p, const struct flow_seen *seen)
{
	const struct flow_conn *c = seen->conn;
	const char *name = who(seen->from);

	if (!c)
		return;
	switch (p->attr) {
	case PKT_CM_REQ:
		if (p->at[PKT_SERVICE].len)
			add(t, "the client asks for a connection to port %u",
			    (unsigned int)(c->service_id & 0xffff));
		else
			add(t, "the client asks for a connection to the service 0x%" PRIx64,
			    c->service_id);
		add(t, ". It has queue pair %u, and the server shall begin with PSN %u", p->cm_qpn,
		    p->cm_psn);
		if (c->mtu)
			add(t, "; packets carry up to %u bytes", c->mtu);
		if (c->hello)
			add(t, ". Its private data is rtgt's");
		break;
	case PKT_CM_REP:
		reply(t, c);
		break;
	case PKT_CM_RTU:
		add(t,
		    "the client has got the ConnectReply: both ends know that the connection is up");
		break;
	case PKT_CM_REJ:
		add(t, "%s refuses the connection: %s", name, pkt_reject_name(p->reason));
		break;
	case PKT_CM_DREQ:
		add(t, "%s ends the connection", name);
		break;
	case PKT_CM_DREP:
		add(t, "%s knows that the connection has ended: nothing follows", name);
		break;
	case PKT_CM_MRA:
		add(t, "%s needs longer to answer and asks for patience", name);
		break;
	}
}

/**
 * explain_words() - a packet in plain words
 * @p: packet
 * @seen: what it is to its connection
 * @buf: the words; empty if there is nothing to say beyond pkt_line()
 * @size: bytes there
 */
void explain_words(const struct pkt *p, const struct flow_seen *seen, char *buf, size_t size)
{
	struct text t = { .buf = buf, .size = size };

	buf[0] = '\0';
	switch (seen->class) {
	case FLOW_ALIEN:
		return;
	case FLOW_CORRUPT:
		if (p->kind == PKT_IWARP) {
			add(&t, "the CRC is wrong: who gets this FPDU ends the connection");
			return;
		}
		add(&t,
		    "the checksum (ICRC) is wrong: the packet was changed on its way, and who gets it drops it");
		return;
	case FLOW_DUPLICATE:
		add(&t, "a copy that the network made of a packet seen before: ");
		break;
	case FLOW_RETRANSMITTED:
		add(&t, "sent again: ");
		break;
	case FLOW_BEYOND:
		add(&t,
		    "a packet in front of this one is missing, so this one counts for nothing and will be sent again: ");
		break;
	case FLOW_NEW:
		break;
	}
	if (p->kind == PKT_IWARP)
		explain_iwarp_words(p, seen, t.buf + t.len, t.size - t.len);
	else if (p->kind == PKT_TCP_SEGMENT)
		return;
	else if (p->kind == PKT_ROCE_CM)
		manage(&t, p, seen);
	else if (seen->answer)
		answer(&t, p, seen);
	else if (seen->conn)
		request(&t, p, seen);
}
