/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive contexts: recv.c has what becomes of one, recv_pool.c the memory they share.
 */
#ifndef _RTGT_RECV_H
#define _RTGT_RECV_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "proto/proto.h"

struct rtgt_conn;
struct rtgt_recv_pool;

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
 * enum rtgt_recv_state - where a receive context is, and so who owns it
 * @RTGT_RECV_IDLE: not posted yet, or its connection closes: owned by the pool
 * @RTGT_RECV_POSTED: a receive that the device owns
 * @RTGT_RECV_WORK: owned by the completion or the worker that runs its request
 * @RTGT_RECV_DEFERRED: in rtgt_conn.deferred, until a worker takes it
 * @RTGT_RECV_RW_WAIT: in rtgt_conn.rw_wait, until an rw context is free
 * @RTGT_RECV_TRANSFER: owned by an rw context, until the transfer completes
 * @RTGT_RECV_SEND_WAIT: in rtgt_conn.send_wait, its reply complete, until a send context is free
 * @RTGT_RECV_WITHHELD: in rtgt_recv_pool.withheld, until its time is over
 */
enum rtgt_recv_state {
	RTGT_RECV_IDLE,
	RTGT_RECV_POSTED,
	RTGT_RECV_WORK,
	RTGT_RECV_DEFERRED,
	RTGT_RECV_RW_WAIT,
	RTGT_RECV_TRANSFER,
	RTGT_RECV_SEND_WAIT,
	RTGT_RECV_WITHHELD,
};

/**
 * struct rtgt_recv_ctx - a receive and the request it brings
 * @cqe: completion of the receive
 * @state: where it is
 * @worker: in RTGT_RECV_WORK: a worker owns it, and not a completion
 * @resolve: a datagram whose sender's address is to be resolved first
 * @pool: owner of the memory
 * @conn: connection whose message it holds; not valid in RTGT_RECV_POSTED and
 *	  RTGT_RECV_WITHHELD
 * @entry: in the list that @state names
 * @buf: the request.  The reply is written over it; then @buf changes places with that of
 *	 a send context
 * @len: bytes that arrived, or that the WRITE of an immediate carried
 * @imm: the immediate, 0 without one
 * @rq: the request, decoded; while it is worked on, what is left of it
 * @done: result so far: the CRC of a CHECKSUM, the new keys of a REVOKE, the bytes of
 *	  the transfer that is outstanding
 * @reply_len: bytes of the reply
 * @withhold_ms: how long it is held back when the request is done, 0 for not at all
 * @due: RTGT_RECV_WITHHELD: jiffies when it is posted again
 * @wc: UD: the receive
 * @ah: UD: where the reply goes to
 * @src_qp: UD: QP number there
 */
struct rtgt_recv_ctx {
	struct ib_cqe cqe;
	enum rtgt_recv_state state;
	bool worker;
	bool resolve;
	struct rtgt_recv_pool *pool;
	struct rtgt_conn *conn;
	struct list_head entry;
	struct rtgt_buf buf;
	u32 len;
	u32 imm;
	struct rtgt_request rq;
	u32 done;
	u32 reply_len;
	u32 withhold_ms;
	unsigned long due;
	struct ib_wc wc;
	struct ib_ah *ah;
	u32 src_qp;
};

/**
 * struct rtgt_recv_pool - receive contexts of a connection, or of an SRQ
 * @pd: protection domain
 * @srq: shared by the connections of @pd, or NULL
 * @qp: without an SRQ, the QP they are posted to
 * @size: bytes of a buffer
 * @head: bytes of it before a message: the GRH of a UD QP
 * @withhold_max: how many may be held back at a time
 * @lock: protects @withheld, @nr_withheld
 * @withheld: contexts in RTGT_RECV_WITHHELD
 * @nr_withheld: these, and those that will be when their request is done
 * @timer: posts the withheld ones
 * @nr: number of contexts
 * @recvs: the contexts
 */
struct rtgt_recv_pool {
	struct ib_pd *pd;
	struct ib_srq *srq;
	struct ib_qp *qp;
	u32 size;
	u32 head;
	unsigned int withhold_max;
	spinlock_t lock;	/* @withheld, @nr_withheld */
	struct list_head withheld;
	unsigned int nr_withheld;
	struct timer_list timer;
	unsigned int nr;
	struct rtgt_recv_ctx recvs[];
};

/* The message in a receive context, behind the head a UD QP puts before it. */
static inline void *rtgt_recv_msg(struct rtgt_recv_ctx *recv)
{
	return recv->buf.at + recv->pool->head;
}

/* recv_pool.c */
int rtgt_buf_alloc(struct ib_device *ibdev, struct rtgt_buf *buf, u32 size);
void rtgt_buf_free(struct ib_device *ibdev, struct rtgt_buf *buf, u32 size);
u64 rtgt_buf_needs(u32 size);
struct rtgt_recv_pool *rtgt_recv_pool_create(struct ib_pd *pd, unsigned int nr, u32 size, u32 head,
					     bool srq, unsigned int withhold_max,
					     void (*done)(struct ib_cq *cq, struct ib_wc *wc));
void rtgt_recv_pool_destroy(struct rtgt_recv_pool *pool);
void rtgt_recv_pool_quiet(struct rtgt_recv_pool *pool);
size_t rtgt_recv_pool_bytes(const struct rtgt_recv_pool *pool, size_t *messages);
u64 rtgt_recv_pool_needs(unsigned int nr, u32 size);
int rtgt_recv_pool_post(struct rtgt_recv_pool *pool);
int rtgt_recv_post(struct rtgt_recv_ctx *recv);
bool rtgt_recv_withhold(struct rtgt_recv_ctx *recv, u32 ms);
void rtgt_recv_hold(struct rtgt_recv_ctx *recv);
void rtgt_recv_unhold(struct rtgt_recv_ctx *recv);

/* recv.c */
void rtgt_recv_completed(struct ib_cq *cq, struct ib_wc *wc);
void rtgt_recv_release(struct rtgt_recv_ctx *recv);
void rtgt_recv_drop(struct rtgt_recv_ctx *recv);
void rtgt_recv_drop_all(struct list_head *recvs);
void rtgt_recv_defer(struct rtgt_recv_ctx *recv);
void rtgt_recv_work(struct work_struct *work);
void rtgt_recv_cancel(struct rtgt_conn *conn);

#endif /* _RTGT_RECV_H */
