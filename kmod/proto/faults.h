/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Faults that a target commits on demand, to test initiators: their names, when each is due, and
 * what it does to the bytes of a reply or of a REP.  This code builds in the kernel and in user
 * space (rtgt serve), where it is <rtgt/faults.h>, hence uint32_t and not u32.
 */
#ifndef _RTGT_FAULTS_H
#define _RTGT_FAULTS_H

#ifdef __KERNEL__
#include <linux/types.h>
#include "../include/uapi/rtgt.h"
#else
#include <stdbool.h>
#include <stdint.h>
#include <rtgt/uapi.h>
#endif

/*
 * faults.c has the names and, for the documentation, what each does.  A fault counts its
 * opportunities from 0.  An opportunity is an event of its group, named before the group, at
 * which the fault can be committed: a reply without a body is none for reply-bit.  The groups
 * are in the order in which a connection meets them, except that all of the service rtgt come
 * first (RTGT_FAULT_SERVICE).
 */
enum rtgt_fault {
	/* a reply of the service rtgt, with any status */
	RTGT_FAULT_REPLY_DROP,
	RTGT_FAULT_REPLY_DELAY,
	RTGT_FAULT_REPLY_TWICE,
	RTGT_FAULT_REPLY_SWAP,
	RTGT_FAULT_REPLY_TAG,
	RTGT_FAULT_REPLY_OP,
	RTGT_FAULT_REPLY_LEN,
	RTGT_FAULT_REPLY_SHORT,
	RTGT_FAULT_REPLY_LONG,
	RTGT_FAULT_REPLY_STATUS,
	RTGT_FAULT_REPLY_BIT,
	RTGT_FAULT_REPLY_STALE,
	/* a CHECKSUM of at least one byte, before the target reads the memory */
	RTGT_FAULT_REGION_BIT,
	/* a PULL or a PUSH of at least one byte */
	RTGT_FAULT_MOVE_RANGE,
	RTGT_FAULT_MOVE_TWICE,
	RTGT_FAULT_MOVE_LATE,
	RTGT_FAULT_MOVE_NEVER,
	/* a reply to EXTENTS or REVOKE that returns a capability */
	RTGT_FAULT_CAP_RKEY,
	RTGT_FAULT_CAP_ADDR,
	RTGT_FAULT_CAP_LEN,
	/* a valid REQ: the REP, or a REJ instead of it */
	RTGT_FAULT_REP_RKEY,
	RTGT_FAULT_REP_ADDR,
	RTGT_FAULT_REP_LEN,
	RTGT_FAULT_REP_ASK,
	RTGT_FAULT_REP_VERSION,
	RTGT_FAULT_REP_SHORT,
	RTGT_FAULT_REP_DELAY,
	RTGT_FAULT_REP_NEVER,
	RTGT_FAULT_REJ_VERSION,
	RTGT_FAULT_REJ_SIZE,
	RTGT_FAULT_REJ_FULL,
	RTGT_FAULT_REJ_RESOURCES,
	RTGT_FAULT_REJ_DEVICE,
	RTGT_FAULT_REJ_STOPPING,
	RTGT_FAULT_REJ_ASK,
	/* a connection: its first receives, its RTU when the REP is sent, its DREQ */
	RTGT_FAULT_RECV_NONE,
	RTGT_FAULT_RTU_IGNORE,
	RTGT_FAULT_DREQ_IGNORE,
	/* a message or an immediate that arrives */
	RTGT_FAULT_DISCONNECT,
	RTGT_FAULT_QP_ERR,
	RTGT_FAULT_QP_SQD,
	RTGT_NR_FAULTS
};

/* When a fault is due */
struct rtgt_fault_rule {
	uint32_t every;	/* at the first and each @every-th opportunity; 0: never */
	uint32_t after;	/* opportunities to leave alone before that */
	uint32_t times;	/* how often it is due in all; 0: no limit */
	uint32_t ms;	/* milliseconds, for a fault that delays */
};

/* Faults below this are of the service rtgt: its replies and the requests behind them */
#define RTGT_FAULT_SERVICE	RTGT_FAULT_REP_RKEY

#define RTGT_FAULT_LINE_MAX	96	/* bytes of a line, its end included */
#define RTGT_FAULT_MAX_MS	10000

/* The beginning of a reply's body, for reply-stale */
struct rtgt_fault_stale {
	uint32_t len;
	uint8_t bytes[64];
};

const char *rtgt_fault_name(unsigned int fault);
const char *rtgt_fault_about(unsigned int fault);
int rtgt_fault_parse(const char *line, unsigned int *fault, struct rtgt_fault_rule *rule);
int rtgt_fault_print(char *line, unsigned int size, unsigned int fault,
		     const struct rtgt_fault_rule *rule);
bool rtgt_fault_reply_fits(unsigned int fault, const void *buf, uint32_t len, uint32_t room,
			   const struct rtgt_fault_stale *stale);
uint32_t rtgt_fault_reply(unsigned int fault, void *buf, uint32_t len, uint32_t room,
			  const struct rtgt_fault_stale *stale);
void rtgt_fault_keep(struct rtgt_fault_stale *stale, const void *buf, uint32_t len);
bool rtgt_fault_rep_fits(unsigned int fault, const void *priv, uint32_t len);
uint32_t rtgt_fault_rep(unsigned int fault, void *priv, uint32_t len);
uint32_t rtgt_fault_rej(unsigned int fault, uint32_t *arg);
bool rtgt_fault_range(uint64_t *offset, uint64_t len, uint64_t size);

/**
 * rtgt_fault_has_ms() - does the rule of a fault need "ms"?
 * @fault: enum rtgt_fault
 * Return: true if so; otherwise the rule must not have it.
 */
static inline bool rtgt_fault_has_ms(unsigned int fault)
{
	return fault == RTGT_FAULT_REPLY_DELAY || fault == RTGT_FAULT_MOVE_LATE ||
	       fault == RTGT_FAULT_REP_DELAY;
}

/**
 * rtgt_fault_due() - is a fault due at an opportunity?
 * @rule: of the fault
 * @nth: number of the opportunity, from 0
 * Return: true if so.
 */
static inline bool rtgt_fault_due(const struct rtgt_fault_rule *rule, uint32_t nth)
{
	if (!rule->every || nth < rule->after)
		return false;
	nth -= rule->after;
	return !(nth % rule->every) && (!rule->times || nth / rule->every < rule->times);
}

#endif /* _RTGT_FAULTS_H */
