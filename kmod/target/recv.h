/* SPDX-License-Identifier: GPL-2.0 */
/* Receives, replies and transfers of a connection, and what requests run. */
#ifndef _RTGT_RECV_H
#define _RTGT_RECV_H

#include <linux/list.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "proto/proto.h"

struct rtgt_conn;
struct rtgt_pool;
struct rtgt_slot;

/* elements of one transfer's work request */
#define RTGT_XFER_SGES		8

/**
 * struct rtgt_buf - room for one message
 * @at: bytes
 * @dma: their address for the device
 */
struct rtgt_buf {
	void *at;
	u64 dma;
};

/**
 * struct rtgt_slot - a receive, the request it brings and the reply to it
 * @pool: owner of the memory
 * @conn: connection whose message it holds
 * @recv_cqe: completion of the receive
 * @send_cqe: completion of the reply; the receive is posted again there
 * @xfer_cqe: completion of a READ or WRITE towards the peer
 * @entry: in rtgt_conn.deferred
 * @busy: counted in rtgt_conn.busy: deferred, or on the way from there
 * @later: posts the receive again after a time
 * @later_ms: that time, 0 for at once
 * @then: what a completed transfer or the work item goes on with
 * @buf: the request, and in place the reply
 * @len: bytes that arrived, or that the WRITE of an immediate carried
 * @imm: the immediate, 0 without one
 * @rq: the request, decoded; while it is worked on, what is left of it
 * @done: what has been worked off: the CRC of a CHECKSUM, the new keys of a REVOKE
 * @wc: UD: the receive
 * @ah: UD: where the reply goes
 * @src_qp: UD: likewise
 *
 * A slot is always in one place: posted as a receive, being worked on, or, when it
 * could not leave its buffer behind, posted as a reply.  So nothing is allocated or
 * locked for a request.
 */
struct rtgt_slot {
	struct rtgt_pool *pool;
	struct rtgt_conn *conn;
	struct ib_cqe recv_cqe;
	struct ib_cqe send_cqe;
	struct ib_cqe xfer_cqe;
	struct list_head entry;
	bool busy;
	struct timer_list later;
	u32 later_ms;
	void (*then)(struct rtgt_slot *slot);
	struct rtgt_buf buf;
	u32 len;
	u32 imm;
	struct rtgt_request rq;
	u32 done;
	struct ib_wc wc;
	struct ib_ah *ah;
	u32 src_qp;
};

/* Replies that can be under way without holding their slots, at most */
#define RTGT_SPARES	8

/**
 * struct rtgt_pool - slots of a connection, or of an SRQ
 * @pd: protection domain
 * @srq: shared by the connections of @pd, or NULL
 * @size: bytes of a slot's buffer
 * @head: bytes of it before a message: the GRH of a UD QP
 * @nr_spares: of @spare; a power of two from 2 on, or 0, as with an SRQ
 * @taken: how often one was taken, ever
 * @back: how often one came back
 * @spare_cqe: every so many replies from a spare complete here
 * @spare: a slot whose reply goes out takes the buffer of one, and leaves it its own
 * @nr: number of slots
 * @slots: the slots
 *
 * The spares belong to the connection's completion context: no lock.
 */
struct rtgt_pool {
	struct ib_pd *pd;
	struct ib_srq *srq;
	u32 size;
	u32 head;
	unsigned int nr_spares;
	unsigned int taken;
	unsigned int back;
	struct ib_cqe spare_cqe;
	struct rtgt_buf spare[RTGT_SPARES];
	unsigned int nr;
	struct rtgt_slot slots[];
};

struct rtgt_pool *rtgt_pool_create(struct ib_pd *pd, unsigned int nr, u32 size, u32 head, bool srq,
				   void (*init)(struct rtgt_slot *slot));
void rtgt_pool_destroy(struct rtgt_pool *pool);
void rtgt_pool_quiet(struct rtgt_pool *pool);
size_t rtgt_pool_bytes(const struct rtgt_pool *pool, size_t *messages);
u64 rtgt_pool_needs(unsigned int nr, u32 size);
int rtgt_pool_post(struct rtgt_slot *slot, struct ib_qp *qp);
int rtgt_pool_post_all(struct rtgt_pool *pool, struct ib_qp *qp);

/* The message in a slot, behind the head a UD QP puts before it. */
static inline void *rtgt_slot_msg(struct rtgt_slot *slot)
{
	return slot->buf.at + slot->pool->head;
}

void rtgt_slot_init(struct rtgt_slot *slot);
void rtgt_slot_repost(struct rtgt_slot *slot);
void rtgt_slot_send(struct rtgt_slot *slot, u32 len);
void rtgt_slot_reply(struct rtgt_slot *slot, u32 status, u32 len);
void rtgt_slot_defer(struct rtgt_slot *slot, void (*then)(struct rtgt_slot *slot));
void rtgt_slot_run_deferred(struct work_struct *work);
void rtgt_slot_xfer(struct rtgt_slot *slot, enum ib_wr_opcode opcode, u64 addr, u32 rkey,
		    struct ib_sge *sge, unsigned int nr, void (*then)(struct rtgt_slot *slot));

void rtgt_ops_message(struct rtgt_slot *slot);
void rtgt_ops_imm(struct rtgt_slot *slot);

#endif /* _RTGT_RECV_H */
