/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What flow*.c and rules.c share among themselves. */
#ifndef RTGT_FLOW_PRIV_H
#define RTGT_FLOW_PRIV_H

#include "flow.h"
#include "rules.h"

/* Codes of a NAK */
enum { PKT_NAK_SEQUENCE, PKT_NAK_INVALID, PKT_NAK_ACCESS, PKT_NAK_OPERATION };

#define FLOW_RULES	64
#define FLOW_MTU_MIN	256	/* bytes: the smallest path MTU */
#define FLOW_BUCKETS	16384
#define FLOW_SHARED	256	/* capabilities that a port's connections share */
#define FLOW_SENT_KEPT	32	/* messages of an end that a Terminate may quote */
#define FLOW_KILLED	64	/* keys that died lately, of whatever connection */
/* Together less than 72 MiB: connections, the least of each, and these three */
#define FLOW_CONNS	10240	/* connections that are kept, if nobody says how many */
#define FLOW_MSG_BYTES	(16u << 20)	/* of messages, beyond FLOW_MSGS_LEAST of each direction */
#define FLOW_MARK_BYTES	(8u << 20)	/* of marks, beyond FLOW_MARKS_LEAST of each direction */
#define FLOW_CAP_BYTES	(8u << 20)	/* of capabilities, beyond FLOW_CAPS_LEAST of each end */
#define FLOW_MSGS_LEAST	4
#define FLOW_MARKS_LEAST	4
#define FLOW_CAPS_LEAST	8
#define FLOW_OLDEST	16	/* so many are looked at for one that has ended */
#define FLOW_GUESSES	64	/* so many connections are looked through for each answer */
#define FLOW_TRIES_WAIT	1024	/* answers without a look, at most */
#define FLOW_AHEAD	65536	/* packets: more than a requester has outstanding */
#define FLOW_LINGER_NS	2000000000ull	/* so long late packets find their ended connection */

/* Of a host: the address is as in struct pkt */
struct flow_shared {
	uint8_t addr[16];
	struct flow_cap cap;
};

/* An answer that had no connection: so many more to this queue pair get no look at all guesses */
struct flow_try {
	uint32_t qpn, left, wait;
};

struct flow_killed {
	uint8_t addr[16];
	uint32_t rkey;
	uint64_t ns;
};

/*
 * Access that was refused though it was inside what had been advertised.
 * @op: FLOW_OPS: the key was called invalid, whatever the operation
 */
struct flow_refused {
	uint8_t addr[16];
	enum flow_op op;
	uint64_t packet;
	uint32_t rkey;
};

struct flow {
	const struct flow_ops *ops;
	void *arg;
	unsigned int max_conns, max_msgs, conns;
	struct flow_key *by_qp[FLOW_BUCKETS], *by_comm[FLOW_BUCKETS];
	struct flow_conn *newest, *oldest, *lone;
	unsigned int lones;
	struct flow_shared shared[FLOW_SHARED];
	struct flow_killed killed[FLOW_KILLED];
	struct flow_try tries[FLOW_BUCKETS];
	/* of all messages', marks' and capabilities' memory, beyond the least */
	uint64_t msg_bytes, mark_bytes, cap_bytes;
	struct flow_half gsi;	/* the CM's packets, of which copies are told */
	struct flow_refused refused[FLOW_KILLED];
	unsigned int shareds, killeds, refuseds;
	uint64_t first_ns, next_conn, next_msg;
	enum flow_unjudged why;		/* of the latest packet */
	uint32_t tcp_end, tcp_ack;	/* of the latest TCP segment: behind it, and what it has */
	bool complete;		/* the capture lacks no packet */
	uint64_t ignored;	/* rules, a bit each */
	uint64_t applied[FLOW_RULES];	/* by rule: how often it was asked */
	struct flow_totals totals;
};

/*
 * What an FPDU says, out of its headers: RFC 5041, 4 and RFC 5040, 4.
 * @len: bytes that it carries, without headers
 * @sink_stag: READ request: where the bytes go; @src_stag: where they are; @size: how many
 */
struct flow_fpdu {
	bool tagged, last;
	uint8_t op;		/* enum pkt_rdmap */
	uint32_t stag, qn, msn, mo, len, inv_stag;
	uint64_t to;
	uint32_t sink_stag, src_stag, size;
	uint64_t sink_to, src_to;
};

/* What an FPDU of a message had wrong, so that a Terminate may refuse it; bits */
enum flow_wrong { FLOW_WRONG_QUEUE = 1, FLOW_WRONG_MSN = 2, FLOW_WRONG_OFFSET = 4 };

/*
 * A message that one end sent, for a Terminate that quotes it.
 * @packet: of its first segment
 * @to, @bytes: of its memory, or of the READ's source
 * @first: its first segment; of a READ request it has all
 * @wrong: enum flow_wrong, of all its segments
 */
struct flow_sent {
	uint64_t packet, to, bytes;
	struct flow_fpdu first;
	enum flow_grant grant;
	uint8_t wrong;
};

/*
 * What one end has sent of FPDUs.
 * @partial: the capture has the beginning of a next FPDU, or may have it
 * @msn: of the last message that was begun, by queue
 * @tcp_next: TCP sequence number behind all that was seen
 * @open: the last message lacks its last segment; @current is its latest one
 * @lost: an FPDU could not be read, so what was sent is not known any more
 * @next: what the next segment's place is, in @open
 * @first_packet: of its first FPDU
 * @terminated: packet of the Terminate it sent
 * @bad: the first access that was not inside what was advertised; 0: there is none
 * @bad_sends: SENDs that were begun before @bad
 * @bad_told: a rule was broken by @bad: once is enough
 * @sent: the latest messages, a ring; @nr_sent: all there were
 */
struct flow_dir {
	bool began, partial, open, lost, bad_told;
	uint32_t msn[3], bad_sends, tcp_next;
	struct flow_fpdu current;
	uint64_t next, packet, first_packet, terminated, bad;
	struct flow_sent sent[FLOW_SENT_KEPT];
	unsigned int nr_sent;
};

/* What a Request or a Reply of MPA says: RFC 5044, 7.1.1; RFC 6581, 6 and 9 */
struct flow_mpa {
	bool seen;
	uint8_t flags, revision;
	uint16_t private_len;
	bool has_depths;
	uint8_t ready;		/* MPA_READY and which */
	uint16_t ird, ord;
};

/* @replies: messages of the server's that answer one of the client's */
struct flow_iwarp {
	struct flow_dir dir[2];
	struct flow_mpa mpa[2];
	uint64_t replies;
};

/* flow.c: the tables */
struct flow_conn *flow_find_qp(struct flow *f, const uint8_t *addr, uint32_t qpn, uint8_t *end);
struct flow_conn *flow_find_tcp(struct flow *f, const struct pkt *p, uint8_t *from);
struct flow_conn *flow_find_comm(struct flow *f, const uint8_t *addr, uint32_t comm_id,
				 uint8_t *end);
struct flow_conn *flow_conn_new(struct flow *f, const struct pkt *p);
void flow_bind(struct flow *f, struct flow_conn *c, uint8_t end, uint32_t qpn);
void flow_name(struct flow *f, struct flow_conn *c, uint8_t end, uint32_t comm_id);
void flow_conn_end(struct flow *f, struct flow_conn *c);
void flow_lone_add(struct flow *f, struct flow_conn *c);
void flow_lone_remove(struct flow *f, struct flow_conn *c);
bool flow_is_end(const struct flow_conn *c, uint8_t end, const uint8_t *addr, uint32_t qpn);
struct flow_conn *flow_find_datagrams(struct flow *f, const struct pkt *p);
void flow_bind_datagrams(struct flow *f, struct flow_conn *c);
void flow_let_go(struct flow *f, uint64_t ns);
void flow_touch(struct flow *f, struct flow_conn *c, const struct pkt *p);

/* flow_iwarp.c */
void flow_iwarp(struct flow *f, const struct pkt *p, struct flow_seen *seen);

/* flow_cm.c */
void flow_cm_note(struct flow_conn *c, const struct flow_seen *seen, const struct pkt *p,
		  enum flow_step step);
void flow_cm(struct flow *f, const struct pkt *p, struct flow_seen *seen);

/* flow_req.c, flow_ack.c: what is asked, what is answered */
void flow_request(struct flow *f, const struct pkt *p, struct flow_seen *seen);
void flow_answer(struct flow *f, const struct pkt *p, struct flow_seen *seen);
struct flow_msg *flow_msg_push(struct flow *f, struct flow_conn *c, struct flow_half *h);
struct flow_msg *flow_msg_of(struct flow_half *h, uint32_t psn);
struct flow_msg *flow_msg_at(struct flow_half *h, uint32_t i);
void flow_msg_done(struct flow *f, struct flow_conn *c, struct flow_msg *m, enum flow_status status,
		   const struct pkt *p);
void flow_msgs_shrink(struct flow_half *h);
void flow_mtu(struct flow_conn *c, uint32_t mtu);
bool flow_read_spans(struct flow_half *h, uint32_t psn);
void flow_mark_of(struct flow_mark *m, const struct pkt *p);
bool flow_is_copy(struct flow *f, struct flow_half *h, const struct pkt *p);
void flow_marks_free(struct flow *f, struct flow_half *h);
void flow_lost_track(struct flow *f, struct flow_conn *c, struct flow_half *h, uint32_t next);

/* flow_cap.c */
void flow_cap_rep(struct flow *f, struct flow_conn *c, const struct pkt *p);
void flow_cap_payload(struct flow *f, struct flow_conn *c, struct flow_msg *m,
		      const struct pkt *p, bool first);
void flow_cap_inv(struct flow *f, struct flow_conn *c, const struct flow_msg *m, bool done);
enum flow_grant flow_cap_grant(struct flow *f, struct flow_conn *c, const struct flow_msg *m,
			       const struct pkt *p);

void flow_cap_refused(struct flow *f, const struct flow_conn *c, struct flow_msg *m);
void flow_cap_refuse_key(struct flow *f, const uint8_t *addr, uint32_t rkey, uint64_t packet);

/* Captured before the device put the ICRC in?  Of a packet whose ICRC is wrong */
static inline bool flow_no_icrc(const struct pkt *p)
{
	const uint8_t *icrc = pkt_bytes(p, PKT_ICRC);

	return icrc && !(icrc[0] | icrc[1] | icrc[2] | icrc[3]);
}

/* It has an answer of its own, no ACK will do */
static inline bool flow_own_answer(const struct flow_msg *m)
{
	return m->op != FLOW_SEND && m->op != FLOW_WRITE;
}

static inline bool flow_same_addr(const uint8_t *a, const uint8_t *b)
{
	return !__builtin_memcmp(a, b, 16);
}

#endif /* RTGT_FLOW_PRIV_H */
