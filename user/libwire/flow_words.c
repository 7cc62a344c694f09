// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Names of what flow.h knows.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include <rtgt/uapi.h>
#include "flow.h"
#include "rules.h"

/**
 * flow_op_name() - what a message does, as "rtgt ping" calls it
 * @m: message
 */
const char *flow_op_name(const struct flow_msg *m)
{
	static const char *const names[] = {
		[FLOW_SEND] = "SEND", [FLOW_WRITE] = "WRITE", [FLOW_READ] = "READ", [FLOW_CAS] =
			"CAS",
		[FLOW_FAA] = "FAA", [FLOW_FLUSH] = "FLUSH", [FLOW_ATOMIC_WRITE] = "ATOMIC_WRITE",
	};

	if (m->op == FLOW_SEND && m->has_inv)
		return "SEND_WITH_INV";
	if (m->has_imm)
		return m->op == FLOW_SEND ? "SEND_WITH_IMM" : "WRITE_WITH_IMM";
	return names[m->op];
}

/**
 * flow_status_name() - how a message ended
 * @m: message
 * @buf: room for the words
 * @size: bytes of it
 */
const char *flow_status_name(const struct flow_msg *m, char *buf, size_t size)
{
	static const char *const names[] = {
		[FLOW_OPEN] = "open", [FLOW_OK] = "ok", [FLOW_UNANSWERED] = "unanswered",
		[FLOW_SENT] = "sent",
		[FLOW_INCOMPLETE] = "incomplete", [FLOW_TERMINATED] = "terminated",
	};

	if (m->status != FLOW_NAK)
		return names[m->status];
	snprintf(buf, size, "nak %s", pkt_nak_name(m->syndrome));
	return buf;
}

const char *flow_step_name(enum flow_step step)
{
	static const char *const names[] = {
		[FLOW_STEP_REQ] = "REQ", [FLOW_STEP_MRA] = "MRA", [FLOW_STEP_REJ] = "REJ",
		[FLOW_STEP_REP] = "REP", [FLOW_STEP_RTU] = "RTU", [FLOW_STEP_DREQ] = "DREQ",
		[FLOW_STEP_DREP] = "DREP", [FLOW_STEP_SIDR_REQ] = "SIDR_REQ",
		[FLOW_STEP_SIDR_REP] = "SIDR_REP", [FLOW_STEP_MPA_REQUEST] = "MPA request",
		[FLOW_STEP_MPA_REPLY] = "MPA reply", [FLOW_STEP_TERMINATE] = "Terminate",
		[FLOW_STEP_OTHER] = "other",
	};

	return names[step];
}

const char *flow_class_name(enum flow_class class)
{
	static const char *const names[] = {
		[FLOW_ALIEN] = "alien", [FLOW_NEW] = "new", [FLOW_DUPLICATE] = "duplicate",
		[FLOW_RETRANSMITTED] = "retransmitted", [FLOW_BEYOND] = "beyond a gap",
		[FLOW_CORRUPT] = "corrupt",
	};

	return names[class];
}

const char *flow_unjudged_name(enum flow_unjudged why)
{
	static const char *const names[] = {
		[FLOW_FOREIGN] = "neither RoCE nor iWARP",
		[FLOW_CUT] = "headers cut off", [FLOW_MALFORMED] = "malformed",
		[FLOW_TRANSPORT] = "a transport without rules",
		[FLOW_NO_REQUEST] = "answers to unknown requests",
		[FLOW_NO_BEGINNING] = "TCP without the beginning of iWARP",
	};

	return names[why];
}

const char *flow_grant_words(enum flow_grant grant)
{
	static const char *const words[] = {
		[FLOW_GRANT_NONE_NEEDED] = "nothing is touched",
		[FLOW_GRANT_UNKNOWN] = "what was advertised is not known",
		[FLOW_GRANT_INSIDE] = "inside what was advertised",
		[FLOW_GRANT_CLAIMED] = "inside what the client says it has",
		[FLOW_GRANT_UNCERTAIN] = "the key is another connection's, or is being revoked",
		[FLOW_GRANT_KEY] = "no such key was advertised",
		[FLOW_GRANT_DEAD] = "the key was revoked",
		[FLOW_GRANT_RANGE] = "that is not all inside the memory of this key",
		[FLOW_GRANT_RIGHT] = "the key does not allow this operation",
	};

	return words[grant];
}

/**
 * flow_message_name() - what a SEND says in the target's language
 * @m: message
 * @buf: the words; empty if it is none of that language
 * @size: bytes there
 */
void flow_message_name(const struct flow_msg *m, char *buf, size_t size)
{
	static const char *const names[] = {
		[RTGT_MSG_ECHO] = "ECHO", [RTGT_MSG_CHECKSUM] = "CHECKSUM", [RTGT_MSG_IMM] = "IMM",
		[RTGT_MSG_PULL] = "PULL", [RTGT_MSG_PUSH] = "PUSH", [RTGT_MSG_REVOKE] = "REVOKE",
		[RTGT_MSG_WITHHOLD] = "WITHHOLD", [RTGT_MSG_DISCONNECT] = "DISCONNECT",
		[RTGT_MSG_EXTENTS] = "EXTENTS",
	};
	static_assert(sizeof(names) / sizeof(names[0]) == RTGT_MSG_NR, "a request without a name");
	unsigned int op = m->rtgt_op & ~(unsigned int)RTGT_MSG_REPLY;

	buf[0] = '\0';
	if (op && op < RTGT_MSG_NR)
		snprintf(buf, size, "%s %s", names[op], m->rtgt_op & RTGT_MSG_REPLY ? "reply" :
			 "request");
}

/* What is wrong, in words; returns @packet */
uint64_t rule_say(uint64_t packet, char *words, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, size, fmt, ap);
	va_end(ap);
	return packet;
}
