/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Faults that a target commits on demand, to test initiators: their names, when each is due, and
 * what it does to the bytes of a reply or of a REP.  This code builds in the kernel and in user
 * space (rtgt serve).
 */
#ifndef _RTGT_FAULTS_H
#define _RTGT_FAULTS_H

#ifdef __KERNEL__
#include "../include/uapi/rtgt.h"
#else
#include <rtgt/uapi.h>
#endif
#include "types.h"

/*
 * faults.c has the names and, for the documentation, what each does.  The order of the groups
 * matters: rtgt_fault_of() searches them.
 */
enum rtgt_fault {
	/* an opportunity is a reply of the service rtgt */
	RTGT_FAULT_REPLY_DROP,
	RTGT_FAULT_REPLY_DELAY,
	RTGT_FAULT_REPLY_TWICE,
	RTGT_FAULT_REPLY_SWAP,
	RTGT_FAULT_REPLY_TAG,
	RTGT_FAULT_REPLY_OP,
	RTGT_FAULT_REPLY_LEN,
	RTGT_FAULT_REPLY_STATUS,
	RTGT_FAULT_REPLY_BIT,
	RTGT_FAULT_REPLY_STALE,
	/* a CHECKSUM, before the target reads the memory */
	RTGT_FAULT_REGION_BIT,
	/* a PULL or a PUSH */
	RTGT_FAULT_MOVE_RANGE,
	RTGT_FAULT_MOVE_TWICE,
	RTGT_FAULT_MOVE_LATE,
	RTGT_FAULT_MOVE_NEVER,
	/* an EXTENTS or a REVOKE: the capability in the reply */
	RTGT_FAULT_CAP_RKEY,
	RTGT_FAULT_CAP_ADDR,
	RTGT_FAULT_CAP_LEN,
	/* a REQ that the target would accept: the REP, or a REJ instead of it */
	RTGT_FAULT_REP_RKEY,
	RTGT_FAULT_REP_ADDR,
	RTGT_FAULT_REP_LEN,
	RTGT_FAULT_REP_ASK,
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
	/* a connection: its RTU, its DREQ, its first receives */
	RTGT_FAULT_RTU_IGNORE,
	RTGT_FAULT_DREQ_IGNORE,
	RTGT_FAULT_RECV_NONE,
	/* a message or an immediate that arrives */
	RTGT_FAULT_DISCONNECT,
	RTGT_FAULT_QP_ERR,
	RTGT_FAULT_QP_SQD,
	RTGT_NR_FAULTS
};

/**
 * struct rtgt_fault_rule - when a fault is due
 * @every: it is due at each @every-th opportunity, the first of them included; 0: never
 * @after: opportunities to leave alone before that
 * @times: how often it is due in all; 0: no limit
 * @ms: milliseconds, for a fault that delays
 */
struct rtgt_fault_rule {
	u32 every;
	u32 after;
	u32 times;
	u32 ms;
};

#define RTGT_FAULT_LINE_MAX	96	/* bytes of a line, its end included */

const char *rtgt_fault_name(unsigned int fault);
const char *rtgt_fault_about(unsigned int fault);
int rtgt_fault_parse(const char *line, unsigned int *fault, struct rtgt_fault_rule *rule);
int rtgt_fault_print(char *line, unsigned int size, unsigned int fault,
		     const struct rtgt_fault_rule *rule);

/**
 * rtgt_fault_due() - is a fault due at an opportunity?
 * @rule: of the fault
 * @nth: number of the opportunity, from 0
 *
 * Return: true if so.
 */
static inline int rtgt_fault_due(const struct rtgt_fault_rule *rule, u32 nth)
{
	if (!rule->every || nth < rule->after)
		return 0;
	nth -= rule->after;
	return !(nth % rule->every) && (!rule->times || nth / rule->every < rule->times);
}

#endif /* _RTGT_FAULTS_H */
