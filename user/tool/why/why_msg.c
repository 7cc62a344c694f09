// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt why: messages that were refused, not answered, or answered late, and the causes.
 *
 * One problem has one cause: of a connection's messages behind the first that failed only the
 * number is told.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <json-c/json.h>
#include <infiniband/verbs.h>

#include "tool/out/json.h"
#include "why.h"

#define NEAR		65536	/* packets, or PSNs: more are about something else */
#define READ_LONG	(1u << 20)	/* bytes of a READ whose data may take a while */
#define SHOWN		8	/* messages of a connection that took long */
#define BESIDE		60	/* bytes beside the payload: IPv4, UDP, BTH, RETH, ICRC */
#define BESIDE_PING	28	/* what ping adds to the bytes that it is told */
/* Codes of a NAK (IBA 9.7.5.2.8) */
#define NAK_INVALID	1
#define NAK_ACCESS	2

/* 12 ms, or 3.2 s */
static const char *duration(uint64_t ns, char *buf, size_t size)
{
	if (ns < 1000000000)
		snprintf(buf, size, "%" PRIu64 ".%03" PRIu64 " ms", ns / 1000000, ns / 1000 % 1000);
	else
		snprintf(buf, size, "%" PRIu64 ".%03" PRIu64 " s", ns / 1000000000,
			 ns / 1000000 % 1000);
	return buf;
}

static struct json_object *message_problem(const struct flow_conn *c, const struct flow_msg *m)
{
	struct json_object *o = why_problem("message");

	rtgt_json_int(o, "connection", (int64_t)c->id);
	rtgt_json_int(o, "message", (int64_t)m->id);
	rtgt_json_int(o, "packet", (int64_t)m->first_packet);
	rtgt_json_str(o, "op", flow_op_name(m));
	rtgt_json_int(o, "bytes", (int64_t)m->bytes);
	rtgt_json_str(o, "from", why_end(m->from) + 4);
	return o;
}

__attribute__((format(printf, 4, 5)))
static void what(struct json_object *o, const struct flow_conn *c, const struct flow_msg *m,
		 const char *fmt, ...)
{
	char from[64], to[64], text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	why_say(o, "what", "connection %" PRIu64 ", packet %" PRIu64 ": %s of %" PRIu64
		" bytes from %s%s to %s: %s", c->id, m->first_packet, flow_op_name(m), m->bytes,
		why_address(c, m->from, from, sizeof(from)),
		c->guessed ? "" : m->from ? " (the server)" : " (the client)",
		why_address(c, !m->from, to, sizeof(to)), text);
}

/* Packets as large as its largest one were never answered, smaller ones were */
static bool is_too_big(const struct flow_conn *c, const struct flow_msg *m)
{
	const struct flow_half *h = &c->half[m->from];

	return c->mtu && m->op != FLOW_READ && h->most && m->bytes > h->most && h->most < c->mtu;
}

static void too_big(struct json_object *o, const struct flow_conn *c, const struct flow_msg *m)
{
	const uint64_t bytes = m->bytes < c->mtu ? m->bytes : c->mtu;
	char text[128], to[64];

	why_seen(o, "messages of up to %" PRIu64 " bytes were answered, none of %" PRIu64,
		 c->half[m->from].most, bytes);
	snprintf(text, sizeof(text), "ping -M do -s %" PRIu64 " %s", bytes + BESIDE - BESIDE_PING,
		 why_address(c, !m->from, to, sizeof(to)));
	why_because(o, false, text, "an MTU on the way is smaller than these packets");
}

static void seen_last(struct json_object *o, const struct flow_conn *c, const struct flow_msg *m)
{
	const struct flow_half *other = &c->half[!m->from];
	char text[64];

	if (!other->last_packet)
		why_seen(o, "no packet of %s at all", why_end(!m->from));
	else if (other->last_packet < m->first_packet)
		why_seen(o, "the last packet of %s is %" PRIu64 ", %s before", why_end(!m->from),
			 other->last_packet,
			 duration(flow_since(m->first_ns, other->last_ns), text, sizeof(text)));
	else
		why_seen(o, "%s still sends: its last packet is %" PRIu64, why_end(!m->from),
			 other->last_packet);
}

/* RNR NAKs, which only what takes a receive should get */
static void not_ready(struct json_object *o, const struct flow_msg *m)
{
	if (m->op == FLOW_SEND || m->has_imm)
		why_perhaps(o, why_completion(IBV_WC_RNR_RETRY_EXC_ERR));
	else
		why_because(o, false, "there: dmesg, rdma statistic; rtgt explain --check CAPTURE",
			    "the responder is not ready, though a %s takes no receive: its memory is being paged in, or its MTU differs from the path's",
			    flow_op_name(m));
}

/* @alive: of a host that still sends, or did, something else */
static void unexplained(struct json_object *o, bool alive)
{
	const struct why_cause *causes = why_completion(IBV_WC_RETRY_EXC_ERR)->cause;

	/* the second and the third are a host that is not heard at all */
	for (unsigned int i = 0; causes[i].cause; i++)
		if (!alive || i < 1 || i > 2)
			why_because(o, false, causes[i].check, "%s", causes[i].cause);
	if (alive)
		why_because(o, false, "a capture at the other end: are the packets there?",
			    "the requests are lost on their way, or the answers are");
}

static void never_answered(struct why *w, const struct flow_conn *c, const struct flow_msg *m)
{
	const struct flow_half *h = &c->half[m->from];
	struct json_object *o = message_problem(c, m);
	uint8_t who = 0;
	const uint64_t dreq = flow_step_packet(c, FLOW_STEP_DREQ, &who);
	const struct why_refusal *reset = c->iwarp ? why_reset(w, c, m->first_packet) : NULL;
	char by[64];

	what(o, c, m, "no answer");
	if (m->retransmitted)
		why_seen(o, "%u of its packets were sent again, from packet %" PRIu64 " on",
			 m->retransmitted, m->again_packet);
	seen_last(o, c, m);
	if (m->rnr) {
		why_seen(o, "%u RNR NAKs", m->rnr);
		not_ready(o, m);
	} else if (why_on_the_way(w, o, c, !m->from, m->first_packet)) {
		;
	} else if (dreq > m->first_packet && (!m->again_packet || dreq < m->again_packet)) {
		why_seen(o, "packet %" PRIu64 ": DREQ of %s", dreq, why_end(who));
		/* who asks may have waited in vain; who was asked has not answered */
		why_because(o, who != m->from, "the program there: why does it disconnect?",
			    "%s ended the connection before it was answered", why_end(who));
		if (who == m->from)
			unexplained(o, true);
	} else if (reset) {
		why_seen(o, "packet %" PRIu64 ": RST from %s", reset->packet,
			 pkt_address(reset->version, reset->by, by, sizeof(by)));
		why_because(o, true, "the program there; a firewall between them",
			    "the TCP connection was reset");
	} else {
		if (h->sequence_packet > m->first_packet)
			why_seen(o, "packet %" PRIu64 ": the other end asked for a lost packet again",
				 h->sequence_packet);
		if (is_too_big(c, m))
			too_big(o, c, m);
		unexplained(o, c->half[!m->from].last_packet > m->first_packet);
	}
	why_found(w, o);
}

/* What a NAK may mean, once it is known what was advertised */
static bool access_refused(struct json_object *o, const struct flow_conn *c,
			   const struct flow_msg *m)
{
	static const struct why_cause causes[] = {
		[FLOW_GRANT_INSIDE] = {
			"access, address and length are inside what was advertised: the registration is of another PD, or is gone",
			"there: rdma resource show mr, show qp (pdn); was it deregistered?"
		},
		[FLOW_GRANT_KEY] = {
			"nobody advertised this rkey on this connection",
			"where the program has it from: another connection, an earlier run, another byte order"
		},
		[FLOW_GRANT_DEAD] = {
			"the rkey was revoked before",
			"get the new one: of rtgt, with another EXTENTS or REP"
		},
		[FLOW_GRANT_RANGE] = {
			"the range is not all inside the memory of this rkey",
			"address and length of the WR against those that were advertised"
		},
		[FLOW_GRANT_RIGHT] = {
			"the memory was advertised without the right to do this",
			"there: access of the region, the flags of the registration"
		},
	};

	/* all that the target advertised is known; of a client's memory what it told the target */
	const bool certain = c->rtgt && !c->lacking && !c->half[1].list.left && !m->from &&
			     m->grant != FLOW_GRANT_INSIDE;

	if (m->grant >= sizeof(causes) / sizeof(causes[0]) || !causes[m->grant].cause)
		return false;
	why_because(o, certain, causes[m->grant].check, "%s", causes[m->grant].cause);
	return true;
}

static bool request_invalid(struct json_object *o, const struct flow_conn *c,
			    const struct flow_msg *m)
{
	if ((m->op == FLOW_CAS || m->op == FLOW_FAA || m->op == FLOW_ATOMIC_WRITE) && m->va & 7) {
		why_because(o, true, "remote_addr of the WR",
			    "the address 0x%" PRIx64 " is not a multiple of 8", m->va);
		return true;
	}
	if (m->op == FLOW_SEND && !m->from && c->recv_size && m->bytes > c->recv_size) {
		why_because(o, true, "recv_size of the port, or shorter messages",
			    "the message is longer than the receives there, which have %u bytes",
			    c->recv_size);
		return true;
	}
	return false;
}

/* READs and atomic operations that waited, @m included, against what was agreed on */
static bool too_many(struct json_object *o, const struct flow_conn *c, const struct flow_msg *m)
{
	const unsigned int limit = c->responder_resources[!m->from];

	if (m->op == FLOW_SEND || m->op == FLOW_WRITE || m->op == FLOW_FLUSH || !c->req ||
	    !c->rep || c->lacking || m->outstanding <= limit)
		return false;
	why_because(o, true, "initiator_depth of the requester, responder_resources of the other end",
		    "%u READs and atomic operations are outstanding, and %s agreed to %u",
		    m->outstanding, why_end(!m->from), limit);
	return true;
}

static void refused(struct why *w, const struct flow_conn *c, const struct flow_msg *m)
{
	struct json_object *o = message_problem(c, m);
	const unsigned int code = PKT_SYNDROME_VALUE(m->syndrome);
	bool known = false;

	what(o, c, m, "refused: NAK %s", pkt_nak_name(m->syndrome));
	why_seen(o, "packet %" PRIu64 ": the NAK; both queue pairs are in the error state then",
		 m->end_packet);
	if (m->op != FLOW_SEND)
		why_seen(o, "it asks for address 0x%" PRIx64 " with rkey 0x%x", m->va, m->rkey);
	if (code == NAK_ACCESS)
		known = access_refused(o, c, m);
	else
		known = request_invalid(o, c, m) || (code == NAK_INVALID && too_many(o, c, m));
	if (!known)
		why_perhaps(o, why_completion(code == NAK_INVALID ? IBV_WC_REM_INV_REQ_ERR :
						code == NAK_ACCESS ? IBV_WC_REM_ACCESS_ERR :
						IBV_WC_REM_OP_ERR));
	why_found(w, o);
}

static void terminated(struct why *w, const struct flow_conn *c, const struct flow_msg *m)
{
	struct json_object *o = message_problem(c, m);
	const struct why_said *said = why_terminate(w, c->terminate);

	what(o, c, m, "refused: Terminate, %s", why_said_name(said));
	why_seen(o, "packet %" PRIu64 ": the Terminate, with which the connection ends",
		 m->end_packet);
	if (m->op != FLOW_SEND)
		why_seen(o, "it asks for address 0x%" PRIx64 " with STag 0x%x", m->va, m->rkey);
	why_terminate_causes(o, said);
	why_found(w, o);
}

/* A NAK was not long before the message, or while it was sent */
static bool is_near(const struct flow_msg *m, uint64_t packet)
{
	return packet && packet < m->end_packet && m->first_packet < packet + NEAR;
}

/* The other end missed a packet of it, and said so; behind the loss it is seen once only */
static bool is_missed(const struct flow_half *h, const struct flow_msg *m)
{
	return is_near(m, h->sequence_packet) &&
	       flow_psn_diff(h->sequence_psn, m->first_psn) >= 0 &&
	       flow_psn_diff(h->sequence_psn, m->last_psn) <= 0;
}

/* It was sent again because one before it was: that one is told */
static bool is_carried(const struct flow_half *h, const struct flow_msg *m)
{
	if (!m->retransmitted || m->rnr)
		return false;
	return (is_near(m, h->sequence_packet) &&
		flow_psn_diff(h->sequence_psn, m->first_psn) < 0) ||
	       (h->rnr && flow_psn_diff(h->rnr_psn, m->first_psn) < 0 &&
		flow_psn_diff(m->first_psn, h->rnr_psn) < NEAR);
}

static uint64_t took(const struct flow_msg *m)
{
	return flow_since(m->end_ns, m->first_ns);
}

/* From its last packet on; what a READ's data take is not known */
static bool is_long(const struct flow_msg *m)
{
	return !(m->op == FLOW_READ && m->bytes > READ_LONG) &&
	       flow_since(m->end_ns, m->sent_ns ? m->sent_ns : m->first_ns) > FLOW_LONG_NS;
}

/* It was answered, but late */
static void delayed(struct why *w, const struct flow_conn *c, const struct flow_msg *m)
{
	const struct flow_half *h = &c->half[m->from];
	struct why_conn *note = why_conn_of(w, c);
	struct json_object *o;
	char text[64];

	if (note->told == SHOWN || is_carried(h, m)) {
		note->more++;
		return;
	}
	note->told++;
	o = message_problem(c, m);
	what(o, c, m, "took %s", duration(took(m), text, sizeof(text)));
	if (m->rnr && (m->op == FLOW_SEND || m->has_imm)) {
		why_seen(o, "%u RNR NAKs", m->rnr);
		why_because(o, true, "messages outstanding here, receives posted there",
			    "the other end had no receive posted, and it was asked again later");
	} else if (m->rnr) {
		why_seen(o, "%u RNR NAKs", m->rnr);
		not_ready(o, m);
	} else if (is_missed(h, m)) {
		why_seen(o, "packet %" PRIu64 ": the other end missed a packet (NAK)",
			 h->sequence_packet);
		why_because(o, true, "ip -s link at both ends and between them: drops, errors",
			    "a packet did not come in its turn: lost on the way there or in the adapter, or overtaken by later ones");
	} else if (m->retransmitted) {
		why_seen(o, "%u of its packets were sent again, and nobody had asked for them",
			 m->retransmitted);
		why_because(o, false, "ip -s link at both ends and between them",
			    "its last packet or the answer was lost, and the timeout of the queue pair passed");
		why_because(o, false, "timeout of the queue pair; load of the other host",
			    "the answer took longer than the timeout of the queue pair");
	} else {
		why_because(o, false, "the load of the other host; of an adapter: PFC (ethtool -S)",
			    "the other end was slow: nothing was lost or sent again");
		why_because(o, false, "what the capture program said that it had dropped",
			    "its own acknowledgment is not in the capture");
	}
	why_found(w, o);
}

/* A message has ended */
void why_message(void *arg, const struct flow_conn *c, const struct flow_msg *m)
{
	const uint32_t failed = c->half[m->from].failed;
	struct why *w = arg;
	struct why_conn *note = why_conn_of(w, c);

	switch (m->status) {
	case FLOW_NAK:
		refused(w, c, m);
		note->failed[m->from] = true;
		break;
	case FLOW_TERMINATED:
		terminated(w, c, m);
		note->terminated = true;
		break;
	case FLOW_UNANSWERED:
		if (c->forgotten || !flow_is_lost(c, m, w->last_ns))
			break;
		if (c->terminate || note->failed[m->from] || (failed && m->nth > failed))
			note->behind++;
		else
			never_answered(w, c, m);
		note->failed[m->from] = true;
		break;
	case FLOW_OK:
		if (m->rnr || m->retransmitted || is_missed(&c->half[m->from], m) || is_long(m))
			delayed(w, c, m);
		break;
	default:
		break;
	}
}
