/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The service "ps" of rtgt_work.ko, a parameter server: what its clients write to the first region
 * of a port.  All numbers are little-endian, all parts begin at a multiple of 64:
 *
 *	struct rtgt_ps_head
 *	the weights, 32-bit integers with a sign
 *	for each worker: struct rtgt_ps_slot, and its gradient, as long as the weights
 *
 * Somebody writes the head, once.  In each round a worker WRITEs its gradient and its slot, and
 * announces it: the last WRITE has an immediate that requests a reply (RTGT_IMM_ACK), or an ECHO
 * follows.  When all have come, the target adds the gradients to the weights, counts the round, and
 * sends the replies.  Without weights it is a rendezvous.
 *
 * The status of the reply: RTGT_OK; RTGT_ST_RANGE when the head or the slot is wrong, the slot is
 * of another round; RTGT_ST_LIMIT when the worker is here already, or has come again on another
 * connection; RTGT_ST_ABSENT when others did not come within deadline_ms, or a worker has come that
 * has found another head: the round has not been counted, and may be announced again.
 */
#ifndef _RTGT_WORK_PS_H
#define _RTGT_WORK_PS_H

#include <linux/types.h>

#define RTGT_PS_MAGIC		0x73707472
#define RTGT_PS_WORKERS		64
#define RTGT_PS_DEADLINE_MS	3600000

/* struct rtgt_ps_head.flags */
#define RTGT_PS_SATURATE	0x1	/* a sum stays in the range of 32 bits; else it wraps */
#define RTGT_PS_ASYNC		0x2	/* no rounds: a gradient is added when it is announced */

/**
 * struct rtgt_ps_head - what the target has to do, at offset 0
 * @magic: RTGT_PS_MAGIC
 * @workers: 1 to RTGT_PS_WORKERS
 * @count: weights
 * @flags: RTGT_PS_*
 * @deadline_ms: time from the first announcement of a round to the last, at least 1
 * @round: rounds that have ended; the target counts it
 * @ticket: for FETCH_AND_ADD of the workers; the target leaves it alone
 * @rsvd: 0
 */
struct rtgt_ps_head {
	__le32 magic;
	__le32 workers;
	__le32 count;
	__le32 flags;
	__le32 deadline_ms;
	__le32 round;
	__le64 ticket;
	__u8 rsvd[32];
};

/**
 * struct rtgt_ps_slot - in front of a worker's gradient
 * @conn: number of its connection, as the target's REP says
 * @round: of the gradient, counted from 1
 * @rsvd: 0
 */
struct rtgt_ps_slot {
	__le32 conn;
	__le32 round;
	__u8 rsvd[56];
};

/* Bytes of the weights or of a gradient */
static inline __u64 rtgt_ps_bytes(__u32 count)
{
	return ((__u64)count * 4 + 63) & ~63ULL;
}

static inline __u64 rtgt_ps_slot_at(__u32 count, __u32 worker)
{
	return sizeof(struct rtgt_ps_head) + rtgt_ps_bytes(count) +
	       worker * (sizeof(struct rtgt_ps_slot) + rtgt_ps_bytes(count));
}

#endif /* _RTGT_WORK_PS_H */
