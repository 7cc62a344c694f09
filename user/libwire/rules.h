/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The rules of the protocol, a table: rules.c.
 *
 * A rule looks at one occasion and at what flow.c knows by then, and says what is
 * wrong, or nothing.
 */
#ifndef RTGT_RULES_H
#define RTGT_RULES_H

#include "flow.h"

/* When a rule is asked */
enum rule_at {
	AT_PACKET,	/* any packet of RoCE's */
	AT_REQUEST,	/* a new packet of a request, with its message */
	AT_AGAIN,	/* a packet of a request that was sent before */
	AT_REPLAYED,	/* a packet that answers and was sent before */
	AT_MISSING,	/* an answer to what nobody sent */
	AT_ANSWER,	/* a packet that answers, before its messages are done */
	AT_DATA,	/* a new packet of a READ's answer */
	AT_DONE,	/* a message has ended */
	AT_CM,		/* a message of the CM, before it is counted */
	AT_END,		/* a connection has ended */
	AT_MPA,		/* iWARP: a Request or a Reply of MPA */
	AT_FPDU,	/* iWARP: an FPDU, before its message takes it */
	AT_TERMINATE,	/* iWARP: a Terminate */
};

/**
 * struct rule_case - what a rule may look at
 * @p: the packet, NULL for what happened because the capture ended
 * @conn: its connection, may be NULL where the rule is AT_PACKET
 * @half: requests of the end that asked
 * @msg: message that the packet belongs to, or NULL
 * @seen: what flow.c made of the packet
 * @want: bytes that a packet of data ought to have; -1: unknown
 * @low: AT_ANSWER: lowest MSN that is right
 * @high: highest one
 * @before: AT_AGAIN, AT_REPLAYED: what had this PSN before; NULL if that is not known any more
 * @first, @last: AT_REQUEST, AT_DATA: of its message by the length; @first_op, @last_op by
 *	its opcode
 * @fpdu: AT_FPDU: what it says; @dir: what its sender had sent before
 * @said: AT_TERMINATE: what it says; @refused: what it refuses, NULL if that is not known
 */
struct rule_case {
	const struct pkt *p;
	const struct flow_conn *conn;
	const struct flow_half *half;
	const struct flow_msg *msg;
	const struct flow_seen *seen;
	int64_t want;
	uint32_t low, high;
	bool first, last, first_op, last_op;
	uint32_t missing;
	const struct flow_mark *before;
	const struct flow_fpdu *fpdu;
	const struct flow_dir *dir;
	const struct pkt_terminate *said;
	const struct flow_sent *refused;
};

struct flow;

void rules_judge(struct flow *f, enum rule_at at, const struct rule_case *c);
void rules_late(struct flow *f, struct flow_conn *c);
void rules_begin(struct flow *f);

/* What must be in the capture, so that a broken rule is not a packet that the capture lacks */
enum rule_needs {
	NEEDS_PACKET,	/* the packet, and what it belongs to */
	NEEDS_BEFORE,	/* what its connection sent before it */
	NEEDS_ALL,	/* everything: the rule is about a packet that is not there */
};

/**
 * struct rule - one of the rules
 * @name: one word
 * @says: the requirement
 * @why: the reference, and what devices do
 * @profile: NULL: the specification requires it of the devices; else who does it, a device or
 *	programs, and by that name the rule is asked for: flow_profile()
 */
struct rule {
	const char *name, *says, *why;
	enum rule_at at;
	/* Returns the packet to name, 0 if all is well; writes what is wrong */
	uint64_t (*judge)(const struct rule_case *c, char *words, size_t size);
	enum rule_needs needs;
	const char *profile;
};

/* What a device does that the rules call wrong, and is let pass */
struct deviation {
	const char *name, *says, *why;
};

uint64_t rule_say(uint64_t packet, char *words, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* rules_iwarp.c */
uint64_t rule_mpa_frame(const struct rule_case *c, char *words, size_t size);
uint64_t rule_mpa_revision(const struct rule_case *c, char *words, size_t size);
uint64_t rule_mpa_depths(const struct rule_case *c, char *words, size_t size);
uint64_t rule_mpa_ready(const struct rule_case *c, char *words, size_t size);
uint64_t rule_mpa_ready_first(const struct rule_case *c, char *words, size_t size);
uint64_t rule_mpa_order(const struct rule_case *c, char *words, size_t size);
uint64_t rule_mpa_reject(const struct rule_case *c, char *words, size_t size);
uint64_t rule_mpa_marker(const struct rule_case *c, char *words, size_t size);
uint64_t rule_mpa_crc(const struct rule_case *c, char *words, size_t size);
uint64_t rule_mpa_first(const struct rule_case *c, char *words, size_t size);
uint64_t rule_iwarp_header(const struct rule_case *c, char *words, size_t size);
uint64_t rule_ddp_queue(const struct rule_case *c, char *words, size_t size);
uint64_t rule_ddp_msn(const struct rule_case *c, char *words, size_t size);
uint64_t rule_ddp_offset(const struct rule_case *c, char *words, size_t size);
uint64_t rule_ddp_last(const struct rule_case *c, char *words, size_t size);
uint64_t rule_read_response(const struct rule_case *c, char *words, size_t size);
uint64_t rule_terminate(const struct rule_case *c, char *words, size_t size);
uint64_t rule_terminate_reason(const struct rule_case *c, char *words, size_t size);
uint64_t rule_stag(const struct rule_case *c, char *words, size_t size);

uint64_t flow_applied(const struct flow *f, const struct rule *rule);
const struct rule *rules_list(void);		/* ends with an entry without a name */
const struct deviation *rules_deviations(void);

#endif /* RTGT_RULES_H */
