/* SPDX-License-Identifier: GPL-2.0 */
/* Receive contexts: recv.c runs their requests, recv_pool.c has their memory. */
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

/* Buffer of one message */
struct rtgt_buf {
	void *at;
	u64 dma;
};

/* A receive and the request that arrived in it */
struct rtgt_recv_ctx {
	struct ib_cqe cqe;		/* of the receive */
	bool worker;			/* its owner is a worker, not a completion */
	bool resolve;		/* it holds a datagram whose source must be resolved first */
	bool parked;		/* its request has been in rtgt_conn.parked */
	struct rtgt_recv_pool *pool;	/* owns its memory */
	struct rtgt_conn *conn;	/* whose message it holds; not valid while posted or withheld */
	struct list_head entry;		/* in the list of its owner, see recv.c */
	struct rtgt_buf buf;	/* the request, then its reply; sending exchanges it for another */
	u32 len;	/* bytes that arrived, or bytes of the WRITE that carried an immediate */
	u32 imm;			/* the immediate, 0 without one */
	struct rtgt_request rq;	/* decoded; a long request changes it to what is left to do */
	u32 done;	/* so far: a CRC, a number of new rkeys, bytes of the transfer */
	u32 extent;			/* EXTENTS and REVOKE: the next extent to register */
	struct rtgt_rw_ctx *rw;	/* EXTENTS and REVOKE: the rw context that registers it, or NULL */
	u32 reply_len;			/* bytes of the reply */
	bool reply_inv;			/* the reply invalidates the client's rkey in @rq */
	u32 withhold_ms;	/* for which it is withheld at the end of the request, or 0 */
	unsigned long due;	/* jiffies until which it is withheld, or held by a fault */
	u32 faults;			/* RTGT_FAULT_DO_*, 0 without faults */
	u32 late_ms;		/* move-late: milliseconds between the reply and the transfer */
	u64 count;			/* move-twice: bytes of the request */
	struct ib_ah *ah;		/* UD: address handle for the reply */
	u32 src_qp;			/* UD: QP number for the reply */
};

/* The receive contexts of a connection, or of an SRQ */
struct rtgt_recv_pool {
	struct ib_pd *pd;
	struct ib_srq *srq;		/* SRQ that the connections of @pd share, or NULL */
	struct ib_qp *qp;	/* without an SRQ, the QP to which the receives are posted */
	u32 size;			/* bytes of a buffer */
	u32 head;		/* bytes of a buffer before the message: the GRH of a UD QP */
	unsigned int withhold_max;	/* maximum of @nr_withheld */
	spinlock_t lock;		/* protects @withheld, @nr_withheld */
	struct list_head withheld;
	unsigned int nr_withheld;	/* these, and those that will be after their requests */
	struct timer_list timer;	/* posts withheld contexts */
	struct ib_wc *wcs;		/* UD: the completions of the receives, by context */
	unsigned int nr;
	struct rtgt_recv_ctx recvs[];
};

/* On a UD QP it follows the GRH. */
static inline void *rtgt_recv_msg(struct rtgt_recv_ctx *recv)
{
	return recv->buf.at + recv->pool->head;
}

/* Where a datagram's completion is kept until a worker has resolved its source. */
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
