/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive contexts: recv.c runs their requests, recv_pool.c has their memory.
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
struct rtgt_job;
struct rtgt_recv_pool;
struct rtgt_rw_ctx;

/* With an SRQ: requests that a peer may have outstanding, if recv_depth is not less */
#define RTGT_REQUESTS_SRQ	16U

/**
 * struct rtgt_buf - buffer of one message
 * @at: the buffer
 * @dma: its DMA address
 */
struct rtgt_buf {
	void *at;
	u64 dma;
};

/**
 * struct rtgt_recv_ctx - a receive and the request that arrived in it
 * @cqe: completion of the receive
 * @worker: its owner is a worker, not a completion
 * @resolve: it holds a datagram whose source must be resolved first
 * @pool: pool that owns its memory
 * @conn: connection whose message it holds; not valid while it is posted or withheld
 * @entry: in the list of its owner, see recv.c
 * @buf: the request.  The reply is written over it; then @buf and the buffer of a send
 *	 context are exchanged
 * @len: bytes that arrived, or bytes of the WRITE that carried an immediate
 * @imm: the immediate, 0 without one
 * @rq: the request, decoded; a long request changes it to what is left to do
 * @done: result so far: the CRC of a CHECKSUM, the number of new rkeys of a REVOKE or EXTENTS, the
 *	  bytes of the outstanding transfer
 * @extent: EXTENTS and REVOKE: the next extent to register
 * @rw: likewise: the rw context that registers it, or NULL
 * @reply_len: bytes of the reply
 * @reply_inv: the reply invalidates the client's rkey in @rq
 * @withhold_ms: milliseconds for which it is withheld at the end of the request, or 0
 * @due: withheld: jiffies at which it is posted again; held by a fault: jiffies at which its
 *	 request goes on
 * @faults: RTGT_FAULT_DO_*, 0 without faults
 * @late_ms: move-late: milliseconds between the reply and the transfer
 * @count: move-twice: bytes of the request
 * @ah: UD: address handle for the reply
 * @src_qp: UD: QP number for the reply
 */
struct rtgt_recv_ctx {
	struct ib_cqe cqe;
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
	u32 extent;
	struct rtgt_rw_ctx *rw;
	u32 reply_len;
	bool reply_inv;
	u32 withhold_ms;
	unsigned long due;
	u32 faults;
	u32 late_ms;
	u64 count;
	struct ib_ah *ah;
	u32 src_qp;
};

/**
 * struct rtgt_recv_pool - the receive contexts of a connection, or of an SRQ
 * @pd: protection domain
 * @srq: SRQ that the connections of @pd share, or NULL
 * @qp: without an SRQ, the QP to which the receives are posted
 * @size: bytes of a buffer
 * @head: bytes of a buffer before the message: the GRH of a UD QP
 * @withhold_max: maximum number of withheld contexts
 * @lock: protects @withheld, @nr_withheld
 * @withheld: contexts that are withheld
 * @nr_withheld: number of @withheld, and of contexts that will be withheld at the end of
 *		 their requests
 * @timer: posts withheld contexts
 * @wcs: UD: the completions of the receives, by context
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
	struct ib_wc *wcs;
	unsigned int nr;
	struct rtgt_recv_ctx recvs[];
};

/* Return the message of a receive context; on a UD QP it follows the GRH. */
static inline void *rtgt_recv_msg(struct rtgt_recv_ctx *recv)
{
	return recv->buf.at + recv->pool->head;
}

/* Return where a datagram's completion is kept until a worker has resolved its source. */
static inline struct ib_wc *rtgt_recv_wc(struct rtgt_recv_ctx *recv)
{
	return &recv->pool->wcs[recv - recv->pool->recvs];
}

/* recv_pool.c */
unsigned int rtgt_recvs_own(const struct rtgt_conn *conn);
int rtgt_recvs_own_create(struct rtgt_conn *conn);
int rtgt_buf_alloc(struct ib_device *ibdev, struct rtgt_buf *buf, u32 size);
void rtgt_buf_free(struct ib_device *ibdev, struct rtgt_buf *buf, u32 size);
u64 rtgt_buf_needs(u32 size);
struct rtgt_recv_pool *rtgt_recv_pool_create(const struct rtgt_conn *conn, unsigned int nr,
					     u32 size, u32 head, bool srq,
					     unsigned int withhold_max,
					     void (*done)(struct ib_cq *cq, struct ib_wc *wc));
void rtgt_recv_pool_destroy(struct rtgt_recv_pool *pool);
void rtgt_recv_pool_quiet(struct rtgt_recv_pool *pool);
size_t rtgt_recv_pool_bytes(const struct rtgt_recv_pool *pool, size_t *messages);
u64 rtgt_recv_pool_needs(unsigned int nr, u32 size, u32 head);
int rtgt_recv_pool_post(struct rtgt_recv_pool *pool);
int rtgt_recv_post(struct rtgt_recv_ctx *recv);
bool rtgt_recv_withhold(struct rtgt_recv_ctx *recv, u32 ms);
void rtgt_recv_hold(struct rtgt_recv_ctx *recv);
void rtgt_recv_unhold(struct rtgt_recv_ctx *recv);

/* recv.c */
void rtgt_recv_completed(struct ib_cq *cq, struct ib_wc *wc);
void rtgt_recv_release(struct rtgt_recv_ctx *recv);
struct rtgt_recv_ctx *rtgt_recv_keep(struct rtgt_recv_ctx *recv);
void rtgt_recv_refuse(struct rtgt_recv_ctx *recv);
void rtgt_recv_drop(struct rtgt_recv_ctx *recv);
void rtgt_recv_drop_all(struct list_head *recvs);
void rtgt_recv_defer(struct rtgt_recv_ctx *recv);
void rtgt_recv_work(struct rtgt_job *job);
void rtgt_recv_resolve_work(struct work_struct *work);
void rtgt_recv_cancel(struct rtgt_conn *conn);

#endif /* _RTGT_RECV_H */
