// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The rules: requirement, reference, and the deviations of devices that are accepted.
 *
 * A rule says what is wrong on the wire, not what went wrong: a refusal that was
 * provoked, a packet that was lost and sent again, a duplicate are as they should be.
 * So a rule asks whether the answer is right, for instance not whether an rkey is one
 * that was advertised but whether one that was not is served.
 *
 * What a rule finds may also be a packet that the capture lacks.  Then it is doubtful, and no
 * violation, unless the capture is known to lack none (flow_complete()).
 *
 * IBA is the InfiniBand Architecture Specification, volume 1, release 1.4 or later.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_priv.h"
#include "parse.h"

static uint64_t icrc(const struct rule_case *c, char *words, size_t size)
{
	const uint8_t *has = pkt_bytes(c->p, PKT_ICRC);
	const uint32_t want = c->p->icrc_want;
	const char *why = "the packet was changed on its way";

	if (c->p->icrc != PKT_ICRC_BAD || !has)
		return 0;
	if (be32(has) == want)
		why = "its bytes are in reverse order, as rxe sends them on a big-endian machine";
	else if (flow_no_icrc(c->p))
		why = "perhaps the packet was captured before its device put the ICRC in";
	/* the least significant byte is sent first */
	return rule_say(c->p->number, words, size,
		   "the ICRC is %02x %02x %02x %02x, of these bytes it is %02x %02x %02x %02x: %s",
		   has[0], has[1], has[2], has[3], want & 0xff, want >> 8 & 0xff, want >> 16 & 0xff,
		   want >> 24, why);
}

static uint64_t continuity(const struct rule_case *c, char *words, size_t size)
{
	if (c->half->gap)
		return rule_say(c->half->gap_packet, words, size,
			   "PSN %u is missing before this and was never sent again, but packet %"
			   PRIu64 " answers PSN %u",
			   c->missing, c->p->number, c->p->psn);
	return rule_say(c->p->number, words, size,
		   "this answers PSN %u, but the last request that was sent has PSN %u",
		   c->p->psn, (c->missing - 1) & FLOW_PSN_MASK);
}

static uint64_t read_gap(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_msg *m = c->msg;

	if (!m->answer_gap || m->asked_again || m->status == FLOW_OK)
		return 0;
	return rule_say(m->answer_gap, words, size,
		   "PSN %u of the data that packet %" PRIu64
		   " asked for is missing in front of this packet, and nobody asked for it again",
		   m->op == FLOW_READ ? m->answer_psn : m->first_psn, m->first_packet);
}

static uint64_t sequence(const struct rule_case *c, char *words, size_t size)
{
	if (c->first == c->first_op)
		return 0;
	return rule_say(c->p->number, words, size, c->first_op ?
		   "%s begins a message, but the one before has not ended" :
		   "%s goes on with a message that has no beginning",
		   pkt_opcode_name(c->p->opcode));
}

static uint64_t ackreq(const struct rule_case *c, char *words, size_t size)
{
	if (!c->last_op || c->p->ackreq || c->conn->transport != PKT_RC || !c->msg ||
	    (c->msg->op != FLOW_SEND && c->msg->op != FLOW_WRITE))
		return 0;
	return rule_say(c->p->number, words, size,
		   "the last packet of a message does not ask for an acknowledge");
}

/*
 * What was sent when the refusal was on its way is no answer to it.  Then the requester's timer had
 * expired, and no device has one that is shorter than this.
 */
#define ACK_TIMEOUT_MIN_NS	4000000

static uint64_t rnr_timer(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_half *h = c->half;
	const uint64_t waited = c->p->ns - h->rnr_ns, wait = 1000ull * h->rnr_us;

	/* on a veth two packets may have times of two clocks, and one clock has its limits */
	if (!h->rnr_packet || c->p->psn != h->rnr_psn || c->p->ns < h->rnr_ns ||
	    waited >= wait - wait / 20 || c->p->ns - h->rnr_asked_ns >= ACK_TIMEOUT_MIN_NS)
		return 0;
	return rule_say(c->p->number, words, size,
		   "PSN %u comes again %" PRIu64 " us after packet %" PRIu64
		   " asked to wait for %u us",
		   c->p->psn, waited / 1000, h->rnr_packet, h->rnr_us);
}

static uint64_t repeat(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_mark *b = c->before;
	struct flow_mark now;

	if (!b)
		return 0;
	flow_mark_of(&now, c->p);
	if (b->opcode == now.opcode && b->headers == now.headers)
		return 0;
	return rule_say(c->p->number, words, size,
		   "PSN %u comes again as %s%s, but packet %" PRIu64 " was %s",
		   c->p->psn, pkt_opcode_name(now.opcode),
		   b->opcode == now.opcode ? " with another address, key, length or operand" : "",
		   b->packet, pkt_opcode_name(b->opcode));
}

static uint64_t repeat_bytes(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_mark *b = c->before;
	struct flow_mark now;

	if (!b)
		return 0;
	flow_mark_of(&now, c->p);
	if (b->opcode != now.opcode || b->headers != now.headers || !b->whole || !now.whole ||
	    b->payload == now.payload)
		return 0;
	return rule_say(c->p->number, words, size,
		   "PSN %u comes again with other bytes than in packet %" PRIu64
		   ": the program changed its memory before the completion, or the device sent other memory",
		   c->p->psn, b->packet);
}

static uint64_t atomic_replay(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_mark *b = c->before;

	if (!b || (c->p->opcode & 0x1f) != PKT_ATOMIC_ACK || b->opcode != c->p->opcode ||
	    b->orig == c->p->orig)
		return 0;
	return rule_say(c->p->number, words, size,
		   "the atomic operation of PSN %u is answered again, with %" PRIu64
		   "; in packet %" PRIu64 " it was %" PRIu64 ": it was executed twice",
		   c->p->psn, c->p->orig, b->packet, b->orig);
}

static uint64_t length(const struct rule_case *c, char *words, size_t size)
{
	uint32_t has = c->seen->payload;

	if (c->conn->transport == PKT_UD || !c->msg)
		return 0;
	if (c->want >= 0 && has != c->want)
		return rule_say(c->p->number, words, size,
			   "%u bytes, but here it has to be %"
			   PRIi64 ", with a path MTU of %u and a message of %" PRIu64,
			   has, c->want, c->conn->mtu, c->msg->bytes);
	if (c->conn->mtu && has > c->conn->mtu)
		return rule_say(c->p->number, words, size, "%u bytes, more than the path MTU of %u",
			   has, c->conn->mtu);
	if (c->want < 0 && c->last_op && !c->first_op && !has)
		return rule_say(c->p->number, words, size, "the last packet of a message is empty");
	return 0;
}

static uint64_t count(const struct rule_case *c, char *words, size_t size)
{
	if (!c->msg || c->last == c->last_op || !c->conn->mtu)
		return 0;
	return rule_say(c->p->number, words, size, c->last_op ?
		   "this is the last packet of %"
		   PRIu64 " bytes, but with a path MTU of %u there have to be %u packets" :
		   "%" PRIu64 " bytes go on here, but with a path MTU of %u they take %u packets",
		   c->msg->bytes, c->conn->mtu, flow_packets(c->msg->bytes, c->conn->mtu));
}

static uint64_t pad(const struct rule_case *c, char *words, size_t size)
{
	if (c->p->pad == (-c->seen->payload & 3) || c->p->fault)
		return 0;
	return rule_say(c->p->number, words, size,
		   "%u bytes of padding behind %u bytes, which take %u", c->p->pad,
		   c->seen->payload, -c->seen->payload & 3);
}

static uint64_t answer_sequence(const struct rule_case *c, char *words, size_t size)
{
	if (c->first == c->first_op && c->last == c->last_op)
		return 0;
	return rule_say(c->p->number, words, size, "%s, but it is packet %u of %u of the answer",
		   pkt_opcode_name(c->p->opcode),
		   (unsigned int)flow_psn_diff(c->p->psn, c->msg->first_psn) + 1,
		   (unsigned int)flow_psn_diff(c->msg->last_psn, c->msg->first_psn) + 1);
}

static uint64_t answer_length(const struct rule_case *c, char *words, size_t size)
{
	if (c->want < 0 || c->seen->payload == c->want)
		return 0;
	return rule_say(c->p->number, words, size,
		   "%u bytes come back, but here it has to be %" PRIi64 ": packet %"
		   PRIu64 " asked for %" PRIu64,
		   c->seen->payload, c->want, c->msg->first_packet, c->msg->bytes);
}

static uint64_t msn(const struct rule_case *c, char *words, size_t size)
{
	uint32_t room = (c->high - c->low) & FLOW_PSN_MASK;

	if (((c->p->msn - c->low) & FLOW_PSN_MASK) <= room)
		return 0;
	if (!room)
		return rule_say(c->p->number, words, size,
			   "the MSN is %u, but %u messages are done with PSN %u",
			   c->p->msn, c->low, c->p->psn);
	return rule_say(c->p->number, words, size,
		   "the MSN is %u, but it has to be from %u to %u with PSN %u",
		   c->p->msn, c->low, c->high, c->p->psn);
}

static uint64_t capability(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_msg *m = c->msg;

	if (m->status != FLOW_OK || m->grant < FLOW_GRANT_KEY)
		return 0;
	return rule_say(m->first_packet, words, size,
		   "%s of %" PRIu64 " bytes at 0x%" PRIx64 " with rkey 0x%x: %s, but packet %"
		   PRIu64 " says it was done",
		   flow_op_name(m), m->bytes, m->va, m->rkey, flow_grant_words(m->grant),
			   m->end_packet);
}

static bool is_atomic(const struct flow_msg *m)
{
	return m->op == FLOW_CAS || m->op == FLOW_FAA || m->op == FLOW_ATOMIC_WRITE;
}

static uint64_t alignment(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_msg *m = c->msg;

	if (m->status != FLOW_OK || !is_atomic(m) || !(m->va & 7))
		return 0;
	return rule_say(m->first_packet, words, size,
		   "%s at 0x%" PRIx64 ", which is no multiple of 8, but packet %"
		   PRIu64 " says it was done",
		   flow_op_name(m), m->va, m->end_packet);
}

static uint64_t nak_reason(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_msg *m = c->msg;

	if (!m->refused_packet)
		return 0;
	return rule_say(m->refused_packet, words, size,
		   "an access with rkey 0x%x is refused, which was advertised and is good: the %s of packet %"
		   PRIu64 " is served with it later", m->rkey, flow_op_name(m), m->first_packet);
}

static uint64_t nak_invalid(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_msg *m = c->msg;
	/* READ and atomics take a resource, which the end that answers may not have */
	bool depth = m->outstanding > c->conn->responder_resources[1];

	if (m->status != FLOW_NAK || PKT_SYNDROME_VALUE(m->syndrome) != PKT_NAK_INVALID ||
	    m->from || m->wrong ||
	    m->grant != FLOW_GRANT_INSIDE || depth || (is_atomic(m) && m->va & 7))
		return 0;
	return rule_say(m->end_packet, words, size,
		   "%s of packet %"
		   PRIu64 " is called invalid, but it is whole, aligned and inside what was advertised",
		   flow_op_name(m), m->first_packet);
}

static uint64_t after_nak(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_msg *m = c->msg;

	/* once is enough */
	if (m->status != FLOW_OK || !c->half->failed || m->nth <= c->half->failed ||
	    c->half->served_after > 1)
		return 0;
	return rule_say(m->end_packet, words, size,
		   "this answers packet %" PRIu64 ", but packet %"
		   PRIu64 " refused one before it, and the queue pair failed",
		   m->first_packet, c->half->failed_packet);
}

static uint64_t cm(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_conn *conn = c->conn;
	const char *missing = NULL;

	/* it began before the capture, or was let go */
	if (!conn)
		return 0;
	if (c->p->attr == PKT_CM_RTU && !conn->rep)
		missing = "REP";
	else if (c->p->attr == PKT_CM_DREP && !conn->dreq)
		missing = "DREQ";
	/* the client's REJ, for want of a REP, may cross it */
	else if (c->p->attr == PKT_CM_REP && c->seen->from == 1 && conn->rej && conn->rej_from)
		missing = "new REQ";
	if (!missing)
		return 0;
	return rule_say(c->p->number, words, size, "a %s, but there was no %s before it",
		   pkt_cm_name(c->p->attr), missing);
}

/* A RTU may be lost; then the REP is sent again, which is seen */
static uint64_t no_rtu(const struct rule_case *c, char *words, size_t size)
{
	const struct flow_conn *conn = c->conn;
	uint8_t from;

	if (!conn->rep || conn->rtu || !conn->early_data || conn->repeated_steps ||
	    !(conn->dreq || conn->ended))
		return 0;
	return rule_say(conn->early_data, words, size,
		   "the client sends on a connection for which it never sent the RTU (REP: packet %"
		   PRIu64 ")",
		   flow_step_packet(conn, FLOW_STEP_REP, &from));
}

static const struct rule rules[] = {
	{ "icrc", "the ICRC matches the bytes of the packet", "IBA 7.8, annex A17 (RoCE v2)",
	  AT_PACKET, icrc, .needs = NEEDS_PACKET },
	{ "psn-continuity",
	  "a response is only for packets that were sent: a missing PSN is sent again before a later one gets a response",
	  "IBA 9.7", AT_MISSING, continuity, .needs = NEEDS_ALL },
	{ "read-continuity", "the requester requests missing data of a READ again", "IBA 9.7",
	  AT_DONE, read_gap, .needs = NEEDS_ALL },
	{ "opcode-sequence", "First, Middle and Last follow one another; Only is a whole message",
	  "IBA 9.7", AT_REQUEST,
	  sequence, .needs = NEEDS_BEFORE },
	{ "ackreq", "the last packet of a SEND or WRITE requests an acknowledgment",
	  "IBA 9.7 leaves this to the requester. rxe always requests one, and sends none without a request",
	  AT_REQUEST, ackreq, .needs = NEEDS_PACKET, .profile = "rxe" },
	{ "rnr-timer", "after an RNR NAK the requester waits as long as it says before it sends the request again",
	  "IBA 9.7.5.2.8", AT_AGAIN, rnr_timer, .needs = NEEDS_ALL },
	{ "repeat", "a request that is sent again with its PSN has the operation, address, key, length and operands that it had",
	  "IBA 9.7.5.1.1", AT_AGAIN, repeat, .needs = NEEDS_ALL },
	{ "repeat-bytes", "a packet that is sent again has the bytes that it had",
	  "IBA 9.7.5.1.1. A program that changes its memory before the completion, for instance when a reply has come, sends others",
	  AT_AGAIN, repeat_bytes, .needs = NEEDS_ALL, .profile = "memory" },
	{ "atomic-replay", "an atomic operation that is requested again is not executed again: its response has the value of the first",
	  "IBA 9.4.5", AT_REPLAYED, atomic_replay, .needs = NEEDS_ALL },
	{ "length", "First and Middle carry the path MTU, Last and Only the rest", "IBA 9.7",
	  AT_REQUEST, length, .needs = NEEDS_PACKET },
	{ "segments",
	  "a WRITE has the number of packets that its length requires", "IBA 9.7", AT_REQUEST,
	  count, .needs = NEEDS_PACKET },
	{ "pad", "zero to three pad bytes fill the last word", "IBA 9.2", AT_REQUEST, pad,
	  .needs = NEEDS_PACKET },
	{ "read-sequence",
	  "the response to a READ is First, Middle, Last or Only, according to its length", "IBA 9.7",
	  AT_DATA, answer_sequence, .needs = NEEDS_BEFORE },
	{ "read-length", "the response to a READ has the requested length", "IBA 9.7", AT_DATA,
	  answer_length, .needs = NEEDS_PACKET },
	{ "read-pad", "zero to three pad bytes fill the last word", "IBA 9.2", AT_DATA, pad,
	  .needs = NEEDS_PACKET },
	{ "msn",
	  "the MSN of a response is the number of completed messages", "IBA 9.7", AT_ANSWER, msn,
	  .needs = NEEDS_BEFORE },
	{ "capability", "an access outside of all advertised capabilities is refused",
	  "IBA 9.7, 10.6",
	  AT_DONE, capability, .needs = NEEDS_BEFORE },
	{ "alignment",
	  "an atomic operation at a misaligned address is refused", "IBA 9.4.5", AT_DONE,
	  alignment, .needs = NEEDS_PACKET },
	{ "nak-reason", "an access that was refused is not executed later with the same rkey",
	  "IBA 9.7. A target may invalidate an rkey without a packet, so the refusal alone breaks no rule",
	  AT_DONE, nak_reason, .needs = NEEDS_BEFORE },
	{ "nak-invalid",
	  "a request that is complete, aligned and inside an advertised capability gets no NAK invalid request",
	  "IBA 9.7", AT_DONE, nak_invalid, .needs = NEEDS_BEFORE },
	{ "after-nak", "after a refused request no other is executed: the queue pair has failed",
	  "IBA 9.9.3", AT_DONE, after_nak, .needs = NEEDS_BEFORE },
	{ "cm-sequence", "REP follows REQ, RTU follows REP, DREP follows DREQ", "IBA 12.9",
	  AT_CM, cm, .needs = NEEDS_ALL },
	{ "rtu", "a client that sends requests has sent an RTU, or the target repeated the REP",
	  "IBA 12.9. Requests may arrive before the RTU, because the QP is ready when the RTU is sent",
	  AT_END, no_rtu, .needs = NEEDS_ALL },
	{ "mpa-frame",
	  "Request and Reply have no reserved flag, at most 512 bytes of private data, and IRD and ORD if the flag S announces them; a Request has no reject flag",
	  "RFC 5044, 7.1.1; RFC 6581, 6", AT_MPA, rule_mpa_frame, .needs = NEEDS_PACKET },
	{ "mpa-revision",
	  "the revision of the Reply is not above the one of the Request, and a Reply of revision 2 has IRD and ORD if the Request has them",
	  "RFC 5044, 7.1.1; RFC 6581, 6 and 10", AT_MPA, rule_mpa_revision, .needs = NEEDS_PACKET },
	{ "mpa-depths", "the ORD of the Reply is not above the IRD of the Request",
	  "RFC 6581, 9.1. Some devices raise their IRD then: --ignore mpa-depths", AT_MPA,
	  rule_mpa_depths, .needs = NEEDS_PACKET },
	{ "mpa-ready",
	  "flags B, C and D name messages by which the client may say that it is ready, if flag A says that it does; the Reply has the flag A of the Request",
	  "RFC 6581, 9.2", AT_MPA, rule_mpa_ready, .needs = NEEDS_PACKET },
	{ "mpa-ready-first",
	  "with flag A, the client's first FPDU is an empty SEND, WRITE or READ that the Reply names",
	  "RFC 6581, 5 and 9.2", AT_FPDU, rule_mpa_ready_first, .needs = NEEDS_PACKET },
	{ "mpa-order", "the client sends no FPDU before the Reply", "RFC 5044, 7.1.2", AT_MPA,
	  rule_mpa_order, .needs = NEEDS_ALL },
	{ "mpa-reject", "no FPDU follows a Reply that rejects the connection",
	  "RFC 5044, 7.1.2", AT_FPDU, rule_mpa_reject, .needs = NEEDS_PACKET },
	{ "mpa-marker",
	  "if one end requested markers, the FPDUs of the other have them every 512 bytes, and they point to the beginning of their FPDU",
	  "RFC 5044, 4.3 and 7.1.1", AT_FPDU, rule_mpa_marker, .needs = NEEDS_PACKET },
	{ "mpa-crc", "the CRC of an FPDU matches its bytes, if one end requested CRCs",
	  "RFC 5044, 4.4 and 7.1.1", AT_FPDU, rule_mpa_crc, .needs = NEEDS_PACKET },
	{ "mpa-first", "the client sends the first FPDU", "RFC 5044, 7.1.2", AT_FPDU,
	  rule_mpa_first, .needs = NEEDS_BEFORE },
	{ "iwarp-header",
	  "DDP has version 1, RDMAP 1 or the RDMA Consortium's 0, and RDMAP defines the operation",
	  "RFC 5041, 4.1; RFC 5040, 4.1", AT_FPDU, rule_iwarp_header, .needs = NEEDS_PACKET },
	{ "ddp-queue",
	  "WRITE and READ response are tagged; SEND uses queue 0, READ request queue 1, Terminate queue 2",
	  "RFC 5040, 4.1", AT_FPDU, rule_ddp_queue, .needs = NEEDS_PACKET },
	{ "ddp-msn", "the messages of each queue are numbered from 1 without gaps",
	  "RFC 5041, 4.3", AT_FPDU, rule_ddp_msn, .needs = NEEDS_PACKET },
	{ "ddp-offset", "the first segment of a message has offset 0, and each next one continues it",
	  "RFC 5041, 4.3 and 5.2", AT_FPDU, rule_ddp_offset, .needs = NEEDS_PACKET },
	{ "ddp-last", "the last segment of a message has the last flag, and nothing but a Terminate begins before it",
	  "RFC 5041, 4.1 and 5.2; RFC 5040, A.2 and A.6: READ request and Terminate are one segment",
	  AT_FPDU, rule_ddp_last, .needs = NEEDS_PACKET },
	{ "read-response",
	  "the response to a READ goes to the memory that the request named, and has its length",
	  "RFC 5040, 5.2.2. Responses have the order of the requests", AT_FPDU,
	  rule_read_response, .needs = NEEDS_BEFORE },
	{ "terminate", "after a Terminate, its sender sends nothing", "RFC 5040, 5.4", AT_FPDU,
	  rule_terminate, .needs = NEEDS_PACKET },
	{ "terminate-reason",
	  "a Terminate names an error that the refused FPDU has",
	  "RFC 5040, 4.8 and 7.2; RFC 5041, 7. For an STag that is called invalid: nak-reason",
	  AT_TERMINATE, rule_terminate_reason, .needs = NEEDS_BEFORE },
	{ "stag",
	  "an access outside of all advertised capabilities is refused: no later READ or request of rtgt gets a response",
	  "RFC 5040, 7.2; RFC 5041, 7.1. A WRITE has no response", AT_DONE, rule_stag,
	  .needs = NEEDS_BEFORE },
	{ }
};

/* rxe (rxe_resp.c) continues with Middle or Last if a READ is requested again from its
 * middle: rdatm_res_state_replay is not rdatm_res_state_new
 */
static bool resumed(const struct rule_case *c)
{
	return c->msg->asked_again && c->last == c->last_op && !c->first_op;
}

static bool invalidation(const struct rule_case *c)
{
	return c->msg && c->msg->has_inv && c->p->msn == ((c->low - 1) & FLOW_PSN_MASK);
}

static bool restarted(const struct rule_case *c)
{
	return c->p->msn == 1 && c->half->restarts;
}

static const struct {
	struct deviation d;
	bool (*is)(const struct rule_case *c);
} deviations[] = {
	{ { .name = "read-sequence",
	    .says = "the response to a READ that is requested again from its middle begins with Middle or Last",
	    .why = "rxe: it continues the old response (rxe_resp.c)" },
	  .is = resumed },
	{ { .name = "msn",
	    .says = "the ACK of a SEND_WITH_INVALIDATE with an invalid rkey does not count the message",
	    .why = "rxe: it sends the ACK before the operation fails (rxe_resp.c, execute)" },
	  .is = invalidation },
	{ { .name = "msn",
	    .says = "the MSN restarts at 1",
	    .why = "a queue pair that is reset counts from 0, without a message of the CM" },
	  .is = restarted },
};

const struct rule *rules_list(void)
{
	return rules;
}

const struct deviation *rules_deviations(void)
{
	static struct deviation all[sizeof(deviations) / sizeof(deviations[0]) + 1];

	for (size_t i = 0; i < sizeof(deviations) / sizeof(deviations[0]); i++)
		all[i] = deviations[i].d;
	return all;
}

static bool is_deviation(const struct rule *r, const struct rule_case *c)
{
	for (size_t i = 0; i < sizeof(deviations) / sizeof(deviations[0]); i++)
		if (!strcmp(deviations[i].d.name, r->name) && deviations[i].is(c))
			return true;
	return false;
}

/*
 * The client names its memory in messages.  Whether one is missing is known when the next one
 * comes, so what the server does with that memory is judged when the connection has ended.
 */
static bool is_early(const struct flow *f, const struct rule *r, const struct rule_case *c)
{
	return !f->complete && r->judge == capability && c->msg->from == 1;
}

static void tell(struct flow *f, const char *rule, uint64_t packet, const char *words,
		 bool doubtful)
{
	void (*to)(void *arg, const char *rule, uint64_t packet, const char *words) =
		doubtful ? f->ops->doubtful : f->ops->broken;

	*(doubtful ? &f->totals.doubtful : &f->totals.broken) += 1;
	if (to)
		to(f->arg, rule, packet, words);
}

/* What was kept until the connection's end */
void rules_late(struct flow *f, struct flow_conn *c)
{
	if (c->late)
		tell(f, "capability", c->late_packet, c->late, c->lacking);
	free(c->late);
	c->late = NULL;
}

/* May it be that the capture lacks a packet? */
static bool is_doubtful(const struct flow *f, const struct rule *r, const struct rule_case *c)
{
	if (f->complete)
		return false;
	if (r->judge == icrc && flow_no_icrc(c->p))
		return true;
	/* it may answer a request for the rest of the READ */
	if (r->judge == answer_sequence && c->first_op && !c->first)
		return true;
	return r->needs == NEEDS_ALL ||
	       (r->needs == NEEDS_BEFORE && (!c->conn || c->conn->lacking));
}

/**
 * rules_judge() - ask the rules of an occasion
 * @f: flow, whose broken() is told
 * @at: the occasion
 * @c: what there is to look at
 */
void rules_judge(struct flow *f, enum rule_at at, const struct rule_case *c)
{
	char words[512];

	for (const struct rule *r = rules; r->name; r++) {
		const bool ignored = f->ignored >> (r - rules) & 1;
		uint64_t packet;

		if (r->at != at || (ignored && at != AT_REQUEST))
			continue;
		packet = r->judge(c, words, sizeof(words));
		/* the other end may refuse the message, also where --ignore hides this rule */
		if (packet && at == AT_REQUEST && c->msg && !r->profile)
			((struct flow_msg *)c->msg)->wrong = true;
		if (ignored)
			continue;
		f->applied[r - rules]++;
		if (!packet)
			continue;
		if (is_deviation(r, c)) {
			f->totals.deviations++;
			continue;
		}
		if (!is_early(f, r, c)) {
			tell(f, r->name, packet, words, is_doubtful(f, r, c));
		} else if (!c->conn->late) {
			/* the connection is flow.c's, which made it changeable */
			struct flow_conn *conn = (struct flow_conn *)c->conn;

			conn->late = strdup(words);
			conn->late_packet = packet;
		}
	}
}

/**
 * flow_applied() - how often a rule was asked
 * @f: flow
 * @rule: of rules_list()
 */
uint64_t flow_applied(const struct flow *f, const struct rule *rule)
{
	return f->applied[rule - rules];
}

/* Ask what the specification requires, and nothing else */
void rules_begin(struct flow *f)
{
	for (const struct rule *r = rules; r->name; r++)
		if (r->profile)
			f->ignored |= 1ull << (r - rules);
}

/**
 * flow_profile() - also check the rules of a profile
 * @profile: struct rule.profile
 *
 * Return: false if no rule has this profile.
 */
bool flow_profile(struct flow *f, const char *profile)
{
	bool found = false;

	for (const struct rule *r = rules; r->name; r++) {
		if (!r->profile || strcmp(r->profile, profile))
			continue;
		f->ignored &= ~(1ull << (r - rules));
		found = true;
	}
	return found;
}

/**
 * flow_ignore() - leave a rule out
 * @rule: its name
 *
 * Return: false if there is no such rule.
 */
bool flow_ignore(struct flow *f, const char *rule)
{
	for (const struct rule *r = rules; r->name; r++) {
		if (!strcmp(r->name, rule)) {
			f->ignored |= 1ull << (r - rules);
			return true;
		}
	}
	return false;
}
