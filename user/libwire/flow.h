/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the packets of a capture make together: connections, messages, answers.
 *
 * A capture is given packet by packet.  What is kept is bounded, however long it is:
 * so many connections, so many messages of each that wait for their answer, so many
 * capabilities.  What is beyond a bound is let go, the oldest first, and counted.
 *
 * A connection's two ends are 0, the client (who sent the REQ), and 1, the server.  Of
 * one whose beginning is not in the capture (@guessed) end 0 is whoever is seen asking
 * first.
 */
#ifndef RTGT_FLOW_H
#define RTGT_FLOW_H

#include "packet.h"

#define FLOW_STEPS	12	/* of a connection that are kept */
#define FLOW_CAPS	1024	/* capabilities of an end's memory */
#define FLOW_RECENT	64	/* packets a copy of which is told from another sending */
#define FLOW_PENDING	16	/* requests whose reply changes capabilities */

#define FLOW_REGIONS	6	/* RTGT_MAX_REGIONS */

#define FLOW_PSN_MASK	0xffffffu
#define FLOW_LONG_NS	1000000000ull	/* longer than this is long, and unanswered */
#define FLOW_DAY_NS	(86400 * 1000000000ull)

/* flow_conn.transport beside enum pkt_transport's */
#define FLOW_IWARP	0xff
/* What an iWARP connection's end has in the place of a queue pair's number */
#define FLOW_PORT(port)	(0x1000000u | (port))

enum flow_op {
	FLOW_SEND, FLOW_WRITE, FLOW_READ, FLOW_CAS, FLOW_FAA, FLOW_FLUSH, FLOW_ATOMIC_WRITE,
	FLOW_OPS
};

/* How a message ended */
enum flow_status {
	FLOW_OPEN,
	FLOW_OK,		/* answered */
	FLOW_NAK,		/* refused: syndrome says why */
	FLOW_UNANSWERED,	/* its connection ended, or the capture did */
	FLOW_SENT,		/* all of it was sent; on UC, UD and iWARP nobody answers */
	FLOW_INCOMPLETE,	/* UC: a part of it was never seen */
	FLOW_TERMINATED		/* iWARP: refused, and the connection ended with it */
};

/* What a packet is beside those before it */
enum flow_class {
	FLOW_ALIEN,		/* not RDMA, or of nothing we know */
	FLOW_NEW,
	FLOW_DUPLICATE,		/* the network made a copy */
	FLOW_RETRANSMITTED,	/* its sender sent it again */
	FLOW_BEYOND,		/* behind a gap: one before it is missing */
	FLOW_CORRUPT		/* its ICRC is wrong: nobody may believe it */
};

/* Is an access inside what was advertised? */
enum flow_grant {
	FLOW_GRANT_NONE_NEEDED,	/* nothing is touched */
	FLOW_GRANT_UNKNOWN,	/* we do not know what was advertised */
	FLOW_GRANT_INSIDE,
	FLOW_GRANT_CLAIMED,	/* inside what a client says is its memory */
	FLOW_GRANT_UNCERTAIN,	/* the key is another connection's, or is being revoked */
	FLOW_GRANT_KEY,		/* no such key was advertised */
	FLOW_GRANT_DEAD,	/* the key was revoked */
	FLOW_GRANT_RANGE,	/* the key's memory does not reach there */
	FLOW_GRANT_RIGHT	/* it may be reached, but not like this */
};

enum flow_step {
	FLOW_STEP_REQ, FLOW_STEP_MRA, FLOW_STEP_REJ, FLOW_STEP_REP, FLOW_STEP_RTU, FLOW_STEP_DREQ,
	FLOW_STEP_DREP, FLOW_STEP_SIDR_REQ, FLOW_STEP_SIDR_REP, FLOW_STEP_MPA_REQUEST,
	FLOW_STEP_MPA_REPLY, FLOW_STEP_TERMINATE, FLOW_STEP_OTHER
};

/**
 * struct flow_cap - memory a peer may reach
 * @source: who said so: 'r' the REP, 'm' a reply of the target, 'c' the client's request
 * @access: RTGT_ACCESS_*
 * @region: the target's index of it
 * @dying: being revoked: it may be alive or not
 * @dead: revoked
 */
struct flow_cap {
	uint64_t addr, len;
	uint32_t rkey, access;
	uint16_t region;
	char source;
	bool dying, dead;
};

/**
 * struct flow_msg - a message, from First to Last
 * @id: of the capture, from 1
 * @from: end that sent it
 * @nth: of its direction, from 1: its MSN once it is done
 * @last_psn: valid when @whole; of a READ the last one of its answer
 * @bytes: its length; of a SEND those seen so far
 * @needed: packets that it takes on this path, answers with data included, acknowledges not
 * @sent: those that were seen, copies included
 * @again_packet: the first of its packets that was sent again; 0: none was
 * @answer_psn: READ: what the next packet of the answer has
 * @resumed_psn: READ: where it was requested again last, valid with @asked_again
 * @outstanding: READs, atomics and whatever else has an answer of its own that were open when it
 *	came, itself included
 * @wrong: a rule speaks against its packets, so it may be refused as invalid
 * @refused_packet: a NAK said that what this one was allowed is not (nobody is asked twice)
 * @answer_gap: the packet of the answer behind the one that is missing, or the answer to something
 *	behind it that came instead; 0: none is
 * @sent_ns: when its last packet was sent first
 * @end_packet: the one that answered it
 * @rtgt_op: of a SEND in the target's language, 0 if it is not; with @rtgt_tag
 * @sink_va: iWARP's READ: where its requester wants the bytes; @sink_rkey: with this STag
 * @unrefused: iWARP's READ: an access sent before it was not inside what was advertised, and
 *	the packet of that one
 *
 * An iWARP message has no PSN.  @first_psn of one is its MSN, if it is untagged.
 */
struct flow_msg {
	uint64_t id;
	enum flow_op op;
	enum flow_status status;
	enum flow_grant grant;
	uint8_t from, syndrome;
	uint8_t rtgt_op;
	bool has_imm, has_inv, whole, asked_again, wrong;
	uint32_t nth, first_psn, last_psn;
	uint64_t bytes, va;
	uint32_t rkey, imm, inv_rkey, rtgt_tag;
	uint32_t needed, sent, retransmitted, duplicates, rnr;
	uint32_t answer_psn, resumed_psn, outstanding;
	uint64_t answer_gap, refused_packet, again_packet;
	uint64_t sink_va, unrefused;
	uint32_t sink_rkey;
	uint64_t first_packet, last_packet, end_packet;
	uint64_t first_ns, sent_ns, end_ns;
};

/*
 * A packet that was seen lately.
 * @headers: checksum of the fields that a retransmission must repeat
 * @payload: checksum of its bytes, valid if the capture has the packet @whole
 * @orig: of the answer to an atomic operation
 */
struct flow_mark {
	uint32_t psn, icrc, headers, payload;
	uint16_t ip_id;
	uint8_t opcode;
	bool whole;
	uint64_t ns, packet, orig;
};

/**
 * struct flow_half - what one end asks of the other
 * @known: @next is valid
 * @first: PSN of the first request, or one FLOW_AHEAD in front of @next
 * @next: PSN of the next new request
 * @beyond: behind the highest PSN seen
 * @gap: @next is missing: @gap_packet is behind it
 * @begun: messages begun
 * @base: what is added to flow_msg.nth to give the MSN, valid with @msn_known
 * @answered: highest PSN that was answered, valid with @has_answered
 * @repeated: something was seen twice since all was answered
 * @restarts: how often the other end began to count from 0 again
 * @unsure: the last message is a READ, and how many PSNs it takes is not known: @next is the lowest
 * @midway: messages were given up: the next packet may go on with one
 * @rnr_packet: the last RNR NAK: of @rnr_psn, which had been sent at @rnr_asked_ns, that asks to
 *	wait for @rnr_us from @rnr_ns on; 0: that was sent again
 * @mark: @marks packets that were seen lately, by their PSNs, of @marked; at most FLOW_RECENT
 * @before: what had the PSN of this end's latest packet before, and was a request like that one,
 *	or an answer; its ns is 0: nothing is known of it
 * @stale: requests that came when one with this PSN had been taken, whoever made them
 * @failed: message that was refused for good: its QP has failed with it
 * @served_after: messages behind that one which were served all the same
 * @cut: a message was refused before its last packet was seen: more of it may be on the way
 * @cut_op: what that one was
 * @last_packet: the latest of this end's packets, sent at @last_ns
 * @sequence_packet: the latest NAK that asked for a PSN again, @sequence_psn
 * @most: bytes of the longest message of this end that was answered
 * @msg: those that are open, a ring that begins at @head
 * @cap: the memory of *this* end, which the other asks for
 * @caps_lost: some are no longer kept
 * @caps_true: an access was inside of one
 */
struct flow_half {
	bool known, gap, msn_known, has_answered, repeated, caps_lost, caps_true;
	bool sending, cut, unsure, midway;
	uint8_t cut_op;
	uint32_t first, next, beyond, answered, begun, base, restarts, failed;
	uint64_t failed_packet, served_after, last_packet, last_ns, sequence_packet, most;
	uint64_t gap_packet, rnr_packet, rnr_ns, rnr_asked_ns;
	uint32_t rnr_psn, rnr_us, sequence_psn;
	struct flow_msg *msg;
	uint32_t head, nr, room;
	struct flow_mark *mark, before;
	uint32_t marks, marked;
	struct flow_cap *cap;
	uint16_t caps, caps_room;
	uint64_t retransmitted, duplicates, stale, gaps, rnr, naks;
	uint64_t ops[FLOW_OPS], op_bytes[FLOW_OPS];
	/* the list of an EXTENTS reply, which may reach over several packets */
	struct {
		uint32_t left, access;
		uint16_t region;
		uint8_t part[20], have;
	} list;
};

struct flow_end {
	uint8_t ip_version, addr[16];
	uint32_t qpn, comm_id;
};

/* Of an end, in a table: by its QP, by its communication ID */
struct flow_key {
	struct flow_key *next;
	struct flow_conn *conn;		/* NULL: it is not in the table */
	uint8_t end;
};

/**
 * struct flow_conn - a connection, or who talks to whom by UD
 * @transport: enum pkt_transport
 * @mtu: path MTU in bytes, 0 while unknown
 * @guessed: its beginning is not in the capture
 * @lacking: nor are other packets of it
 * @rtgt: both ends speak rtgt (REQ), what the REP said is below
 * @ended: DREP or REJ was seen, at @last_ns
 * @forgotten: it was let go for another
 * @region_access: of the REP: RTGT_ACCESS_* of each region
 * @iwarp: what flow_iwarp.c keeps of it; NULL: it is none of iWARP's
 * @terminate: packet of the Terminate; what it refused: the message of packet @terminated
 */
struct flow_conn {
	uint64_t id;
	uint8_t transport;
	uint32_t mtu;
	bool guessed, lacking, rtgt, hello, is_private, ended, forgotten;
	bool req, rep, rtu, rej, dreq, data;
	uint8_t rej_from;
	uint16_t responder_resources[2], reject;
	uint64_t service_id;
	struct flow_end end[2];
	struct flow_half half[2];
	struct { enum flow_step step; uint8_t from; uint64_t packet, ns; } step[FLOW_STEPS];
	unsigned int steps, repeated_steps;
	uint64_t early_data;	/* packet of the client's before the RTU */
	/* an access to the client's memory, whose message may be missing: told at the end */
	char *late;
	uint64_t late_packet;
	uint64_t packets, bytes, first_packet, first_ns, last_ns, last_packet;
	uint32_t recv_size, conn_id, region_access[FLOW_REGIONS];
	struct { uint32_t tag; uint16_t region; uint8_t op; bool used; } pending[FLOW_PENDING];
	unsigned int pendings;
	struct flow_key qp[2], comm[2];
	struct flow_conn *newer, *older;		/* by their last packet */
	struct flow_conn *next_lone, **lone;	/* guessed, and nobody knows who answers it */
	struct flow_iwarp *iwarp;
	uint64_t terminate, terminated;
};

/**
 * struct flow_seen - what a packet is to its connection
 * @conn: NULL if it has none.  It and @msg are valid until the next packet
 * @from: the end that sent it
 * @answer: it goes with a request of the other end: @msg is that one's
 * @payload: bytes that it carries, padding left out
 */
struct flow_seen {
	enum flow_class class;
	struct flow_conn *conn;
	struct flow_msg *msg;
	uint8_t from;
	bool answer;
	uint32_t payload;
};

struct flow;

/**
 * struct flow_ops - who is told what
 * @message: a message has ended
 * @connection: a connection has, or the capture
 * @broken: a rule is broken: its name, the packet, what is wrong
 * @doubtful: the same, but it may be that the capture lacks a packet
 */
struct flow_ops {
	void (*message)(void *arg, const struct flow_conn *conn, const struct flow_msg *msg);
	void (*connection)(void *arg, const struct flow_conn *conn);
	void (*broken)(void *arg, const char *rule, uint64_t packet, const char *words);
	void (*doubtful)(void *arg, const char *rule, uint64_t packet, const char *words);
};

/* Why a packet was not judged */
enum flow_unjudged {
	FLOW_FOREIGN,		/* it is neither RoCE nor iWARP */
	FLOW_CUT,		/* the capture has not all of its headers */
	FLOW_MALFORMED,
	FLOW_TRANSPORT,		/* RD, a management datagram that is not the CM's */
	FLOW_NO_REQUEST,	/* it answers what the capture lacks, or nobody knows what */
	FLOW_NO_BEGINNING,	/* iWARP: what the capture has of its connection has no beginning */
	FLOW_UNJUDGED
};

struct flow_totals {
	uint64_t connections, guessed, messages, broken, doubtful, deviations;
	uint64_t judged, unjudged[FLOW_UNJUDGED];	/* packets */
	uint64_t forgotten_connections, forgotten_messages;
	uint64_t retransmitted, duplicates, gaps, rnr, naks, corrupt;
};

struct flow *flow_new(const struct flow_ops *ops, void *arg, unsigned int max_conns,
		      unsigned int max_msgs);
void flow_packet(struct flow *f, const struct pkt *p, struct flow_seen *seen);
void flow_end(struct flow *f);
void flow_free(struct flow *f);
const struct flow_totals *flow_totals(const struct flow *f);
bool flow_ignore(struct flow *f, const char *rule);
bool flow_profile(struct flow *f, const char *profile);
void flow_complete(struct flow *f);
const char *flow_unjudged_name(enum flow_unjudged why);

bool flow_is_lost(const struct flow_conn *c, const struct flow_msg *m, uint64_t last_ns);

const char *flow_op_name(const struct flow_msg *m);
void flow_message_name(const struct flow_msg *m, char *buf, size_t size);
const char *flow_status_name(const struct flow_msg *m, char *buf, size_t size);
const char *flow_step_name(enum flow_step step);
const char *flow_class_name(enum flow_class class);
const char *flow_grant_words(enum flow_grant grant);

/* Signed distance of two PSNs, from -2^23 to 2^23 - 1 */
static inline int32_t flow_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* A capture's clock may jump: what it says of more than a day is not believed */
static inline uint64_t flow_since(uint64_t later, uint64_t earlier)
{
	return later > earlier && later - earlier < FLOW_DAY_NS ? later - earlier : 0;
}

/* The packet of a step of the CM, and whose it is; 0: there is none */
static inline uint64_t flow_step_packet(const struct flow_conn *c, enum flow_step step,
					uint8_t *from)
{
	for (unsigned int i = 0; i < c->steps; i++) {
		if (c->step[i].step == step) {
			*from = c->step[i].from;
			return c->step[i].packet;
		}
	}
	return 0;
}

/* Packets that so many bytes take */
static inline uint32_t flow_packets(uint64_t bytes, uint32_t mtu)
{
	return bytes && mtu ? (bytes + mtu - 1) / mtu : 1;
}

#endif /* RTGT_FLOW_H */
