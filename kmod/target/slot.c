// SPDX-License-Identifier: GPL-2.0
/*
 * Receives, replies and transfers of a connection.
 *
 * A connection has a fixed number of slots.  A slot is posted as a receive; its
 * completion hands it to the port's service, which ends in one of
 *
 *   rtgt_slot_repost()   nothing to answer: receive again
 *   rtgt_slot_reply()    send what lies in the slot's buffer and receive again
 *                        (rtgt_slot_send() without the head)
 *   rtgt_slot_xfer()     READ or WRITE the peer's memory, then go on
 *   rtgt_slot_defer()    go on in a worker
 *
 * so a slot is always in exactly one place and its buffer has one owner.  A peer
 * that sends faster than slots come back is told so by the device (RNR NAK).
 *
 * A reply takes the slot's buffer with it and leaves one of the pool's spares behind:
 * the receive is posted again before the reply goes out, and of the replies only each
 * half of the spares' last one completes.  When no spare is left, or the slot went
 * through a work item, is held back or belongs to an SRQ, the receive is posted when
 * the reply has completed.
 *
 * Errors.  A receive that is flushed while the connection is up means the device
 * moved the QP to error, mostly because the peer was refused an access: the
 * connection is closed.  A flush while it is being closed is the normal end.
 * Nothing a peer can cause is printed here.
 *
 * Completions run in softirq (the CQ's irq_poll) and never two at a time for one
 * connection.
 */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm_ib.h>

#include "core/stats.h"
#include "main.h"
#include "proto/proto.h"
#include "registration/region.h"
#include "target/conn.h"
#include "target/port.h"
#include "target/recv.h"
#include "target/service.h"
#include "target/sources.h"
#include "target/trace.h"

static struct ib_device *slot_ibdev(const struct rtgt_slot *slot)
{
	return slot->pool->pd->device;
}

/*
 * The slot leaves the connection's hands, in two steps: when it is not busy any
 * more, but still the caller's; and when it is where it goes.  The connection may
 * be gone after the second.
 */
static bool slot_leave(struct rtgt_slot *slot)
{
	bool busy = slot->busy;

	slot->busy = false;
	return busy;
}

static void slot_left(struct rtgt_conn *conn, bool busy)
{
	if (!busy)
		return;
	if (atomic_dec_and_test(&conn->busy))
		wake_up(&conn->quiet);
	rtgt_conn_put(conn);
}

/* A transfer went wrong; a slot of an SRQ serves others, the rest ends with the QP. */
static void slot_lost(struct rtgt_slot *slot)
{
	struct rtgt_conn *conn = slot->conn;
	bool busy = slot_leave(slot);

	slot->later_ms = 0;
	if (slot->pool->srq)
		rtgt_pool_post(slot, NULL);
	slot_left(conn, busy);
}

/**
 * rtgt_slot_repost() - receive again
 * @slot: the caller owns it; the device does afterwards
 *
 * Any context.  The connection of an SRQ's slot may be gone, if nothing was under
 * way for it.
 */
void rtgt_slot_repost(struct rtgt_slot *slot)
{
	struct rtgt_conn *conn = slot->conn;
	bool busy = slot_leave(slot);
	u32 ms = slot->later_ms;

	slot->later_ms = 0;
	if (ms)	/* the teardown cancels it, unless it is an SRQ's */
		mod_timer(&slot->later, jiffies + msecs_to_jiffies(ms));
	else if (slot->pool->srq)
		rtgt_pool_post(slot, NULL);
	else if (rtgt_pool_post(slot, conn->qp))
		rtgt_conn_close(conn, "a receive could not be posted");
	slot_left(conn, busy);
}

static void slot_later(struct timer_list *timer)
{
	rtgt_slot_repost(container_of(timer, struct rtgt_slot, later));
}

/* Returns whether the completion was a success. */
static bool slot_sent(struct rtgt_conn *conn, struct ib_wc *wc)
{
	trace_rtgt_wc(conn, wc, true);
	if (likely(wc->status == IB_WC_SUCCESS))
		return true;
	if (wc->status != IB_WC_WR_FLUSH_ERR) {
		rtgt_count(conn->port->stats, RTGT_SEND_ERRORS, 1);
		rtgt_conn_close(conn, ib_wc_status_msg(wc->status));
	}
	return false;
}

/*
 * Leave the slot's buffer to the reply, with another in its place.  In completion
 * context only: others must not touch the spares.
 */
static struct rtgt_buf *slot_leave_buf(struct rtgt_slot *slot)
{
	struct rtgt_pool *pool = slot->pool;
	struct rtgt_buf *spare;

	if (slot->busy || slot->later_ms || pool->taken - pool->back >= pool->nr_spares)
		return NULL;
	spare = &pool->spare[pool->taken++ % pool->nr_spares];
	swap(*spare, slot->buf);
	return spare;
}

/* As many spares are back as lie between two replies that complete. */
static void slot_spares_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_conn *conn = container_of(cq->cq_context, struct rtgt_conn, cq);
	struct rtgt_pool *pool = conn->pool;

	if (slot_sent(conn, wc))
		pool->back += pool->nr_spares / 2;
}

/**
 * rtgt_slot_send() - send the first bytes of the slot's buffer
 * @slot: the caller owns it; it is posted as a receive again
 * @len: bytes, at most rtgt_conn.recv_size
 *
 * Completion context, or the work item the slot was handed to.
 */
void rtgt_slot_send(struct rtgt_slot *slot, u32 len)
{
	struct rtgt_conn *conn = slot->conn;
	struct rtgt_pool *pool = slot->pool;
	struct ib_sge sge = {
		.addr = slot->buf.dma + pool->head,
		.length = len,
		.lkey = pool->pd->local_dma_lkey,
	};
	struct ib_ud_wr wr = {
		.wr = {
			.wr_cqe = &slot->send_cqe,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED,
		},
		.ah = slot->ah,
		.remote_qpn = slot->src_qp,
		.remote_qkey = RDMA_UDP_QKEY,
	};
	struct rtgt_buf *left;

	ib_dma_sync_single_for_device(slot_ibdev(slot), slot->buf.dma, pool->size,
				      DMA_BIDIRECTIONAL);
	left = slot_leave_buf(slot);
	if (left) {
		wr.wr.wr_cqe = &pool->spare_cqe;
		if (pool->taken % (pool->nr_spares / 2))
			wr.wr.send_flags = 0;
		rtgt_slot_repost(slot);
	}
	/* before the peer can have it, and whatever becomes of its completion */
	atomic64_inc(&conn->replies);
	rtgt_count(conn->port->stats, RTGT_REPLIES, 1);
	/* a connected QP looks at the common part of the request only */
	if (ib_post_send(conn->qp, &wr.wr, NULL)) {
		rtgt_conn_close(conn, "a reply could not be posted");
		if (!left)
			slot_lost(slot);
	}
}

/**
 * rtgt_slot_reply() - answer the request in @slot->rq
 * @slot: the caller owns it; its buffer holds the body behind the head
 * @status: enum rtgt_status
 * @len: bytes of the body
 *
 * Tells the immediate that came with the request.  Any context.
 */
void rtgt_slot_reply(struct rtgt_slot *slot, u32 status, u32 len)
{
	rtgt_encode_reply(rtgt_slot_msg(slot), &slot->rq, status, len, slot->imm);
	trace_rtgt_reply(slot->conn, &slot->rq, status, len);
	if (status != RTGT_OK)
		rtgt_count(slot->conn->port->stats, RTGT_MALFORMED, 1);
	rtgt_slot_send(slot, sizeof(struct rtgt_msg) + len);
}

static bool slot_closing(const struct rtgt_slot *slot)
{
	return READ_ONCE(slot->conn->state) == RTGT_CONN_CLOSING;
}

/* Returns whether it could be: nothing is deferred any more once the state is CLOSING. */
static bool conn_defer(struct rtgt_conn *conn, struct rtgt_slot *slot)
{
	unsigned long flags;
	unsigned int i;
	bool open;

	spin_lock_irqsave(&conn->lock, flags);
	open = conn->state != RTGT_CONN_CLOSING;
	if (open) {
		if (!slot->busy) {
			slot->busy = true;
			atomic_inc(&conn->busy);
			kref_get(&conn->ref);
		}
		list_add_tail(&slot->entry, &conn->deferred);
		for (i = 0; i < conn->nr_workers; i++)
			if (queue_work(rtgt_req_wq, &conn->workers[i].work))
				break;
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	return open;
}

/**
 * rtgt_slot_defer() - go on in a worker, where sleeping is allowed
 * @slot: the caller owns it
 * @then: runs there, unless the connection is closing
 *
 * A connection's requests are worked on one at a time, and after each other
 * connections have their turn.  So what takes long does a part of it and defers the rest.
 *
 * Any context.
 */
void rtgt_slot_defer(struct rtgt_slot *slot, void (*then)(struct rtgt_slot *slot))
{
	slot->then = then;
	if (!conn_defer(slot->conn, slot))
		slot_lost(slot);
}

/**
 * rtgt_slot_run_deferred() - run one of a connection's deferred requests
 * @work: one of rtgt_conn.workers
 *
 * The teardown cancels it once no slot is busy any more, so the connection stays.
 */
void rtgt_slot_run_deferred(struct work_struct *work)
{
	struct rtgt_conn *conn = container_of(work, struct rtgt_conn_worker, work)->conn;
	struct rtgt_slot *slot;

	spin_lock_irq(&conn->lock);
	slot = list_first_entry_or_null(&conn->deferred, struct rtgt_slot, entry);
	if (slot)
		list_del(&slot->entry);
	spin_unlock_irq(&conn->lock);
	if (!slot)
		return;
	if (slot_closing(slot))
		slot_lost(slot);
	else
		slot->then(slot);
	spin_lock_irq(&conn->lock);
	if (!list_empty(&conn->deferred))
		queue_work(rtgt_req_wq, work);
	spin_unlock_irq(&conn->lock);
}

/**
 * rtgt_slot_xfer() - READ or WRITE the peer's memory
 * @slot: the caller owns it, and @then does when the transfer has completed
 * @opcode: IB_WR_RDMA_READ or IB_WR_RDMA_WRITE
 * @addr: of the peer's memory
 * @rkey: likewise
 * @sge: local memory
 * @nr: elements of it, at most RTGT_XFER_SGES
 * @then: called in completion context, after a success only: a transfer that the
 *	  peer refuses ends the connection, as the transport has it
 *
 * Any context.
 */
void rtgt_slot_xfer(struct rtgt_slot *slot, enum ib_wr_opcode opcode, u64 addr, u32 rkey,
		    struct ib_sge *sge, unsigned int nr, void (*then)(struct rtgt_slot *slot))
{
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &slot->xfer_cqe,
			.sg_list = sge,
			.num_sge = nr,
			.opcode = opcode,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = addr,
		.rkey = rkey,
	};

	slot->then = then;
	if (ib_post_send(slot->conn->qp, &wr.wr, NULL)) {
		rtgt_conn_close(slot->conn, "a transfer could not be posted");
		slot_lost(slot);
	}
}

static void slot_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_slot *slot = container_of(wc->wr_cqe, struct rtgt_slot, send_cqe);

	if (slot_sent(slot->conn, wc))
		rtgt_slot_repost(slot);
	else
		slot_lost(slot);
}

static void slot_xfer_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_slot *slot = container_of(wc->wr_cqe, struct rtgt_slot, xfer_cqe);

	if (slot_sent(slot->conn, wc) && !slot_closing(slot))
		slot->then(slot);
	else
		slot_lost(slot);
}

static void slot_ud_run(struct rtgt_slot *slot)
{
	struct ib_pd *pd = slot->pool->pd;
	struct ib_ah *ah;

	if (slot->ah)
		rdma_destroy_ah(slot->ah, RDMA_DESTROY_AH_SLEEPABLE);
	slot->ah = NULL;
	ah = rtgt_sources_ah(slot->conn->sources, pd, &slot->wc, slot->buf.at);
	if (IS_ERR(ah)) {
		rtgt_count(slot->conn->port->stats, RTGT_SEND_ERRORS, 1);
		rtgt_slot_repost(slot);
		return;
	}
	slot->ah = ah;
	slot->src_qp = slot->wc.src_qp;
	slot->conn->port->cfg.service->message(slot);
}

/*
 * A datagram can come from anybody: to answer it takes an address handle, and to
 * make that may sleep.
 */
static void slot_ud_message(struct rtgt_slot *slot, const struct ib_wc *wc)
{
	slot->wc = *wc;
	rtgt_slot_defer(slot, slot_ud_run);
}

static void slot_recv_failed(struct rtgt_slot *slot, struct ib_wc *wc)
{
	struct rtgt_conn *conn = slot->conn;

	if (wc->status == IB_WC_WR_FLUSH_ERR)
		rtgt_count(conn->port->stats, RTGT_RECV_FLUSHED, 1);
	rtgt_conn_fail(conn, wc->status == IB_WC_WR_FLUSH_ERR ?
		       "the device refused what the peer did" : ib_wc_status_msg(wc->status));
	if (slot->pool->srq)
		rtgt_pool_post(slot, NULL);
}

static void slot_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_slot *slot = container_of(wc->wr_cqe, struct rtgt_slot, recv_cqe);
	struct rtgt_conn *conn = container_of(cq->cq_context, struct rtgt_conn, cq);
	struct rtgt_stats __percpu *stats = conn->port->stats;

	slot->conn = conn;
	trace_rtgt_wc(conn, wc, false);
	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		slot_recv_failed(slot, wc);
		return;
	}
	WRITE_ONCE(conn->active, jiffies);
	/* not every device has an event for that (IB_EVENT_COMM_EST; rxe) */
	if (unlikely(READ_ONCE(conn->state) == RTGT_CONN_CONNECTING))
		rtgt_conn_live(conn);
	/* a completion that begins after this posts nothing: see qp_drain() */
	if (unlikely(slot_closing(slot))) {
		if (slot->pool->srq)
			rtgt_pool_post(slot, NULL);
		return;
	}
	/* the device itself refuses a peer that is connected */
	if (conn->transport == RTGT_UD && wc->byte_len > conn->recv_size + slot->pool->head) {
		rtgt_count(stats, RTGT_MALFORMED, 1);
		rtgt_slot_repost(slot);
		return;
	}
	ib_dma_sync_single_for_cpu(slot_ibdev(slot), slot->buf.dma, slot->pool->size,
				   DMA_BIDIRECTIONAL);
	slot->imm = 0;
	if (wc->wc_flags & IB_WC_WITH_IMM) {
		slot->imm = be32_to_cpu(wc->ex.imm_data);
		WRITE_ONCE(conn->imms, conn->imms + 1);
		rtgt_count(stats, RTGT_IMMS, 1);
	}
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE) {
		rtgt_count(stats, RTGT_INVALIDATIONS, 1);
		rtgt_domain_invalidated(conn->domain, wc->ex.invalidate_rkey);
	}
	if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM) {
		rtgt_count(stats, RTGT_IMM_BYTES, wc->byte_len);
		slot->len = wc->byte_len;
		conn->port->cfg.service->imm(slot);
		return;
	}
	slot->len = wc->byte_len - slot->pool->head;
	WRITE_ONCE(conn->recv_msgs, conn->recv_msgs + 1);
	rtgt_count(stats, RTGT_RECV_MSGS, 1);
	rtgt_count(stats, RTGT_RECV_BYTES, slot->len);
	if (conn->transport == RTGT_UD)
		slot_ud_message(slot, wc);
	else
		conn->port->cfg.service->message(slot);
}

/**
 * rtgt_slot_init() - prepare a slot of a new pool
 * @slot: zeroed, but for its pool
 */
void rtgt_slot_init(struct rtgt_slot *slot)
{
	slot->pool->spare_cqe.done = slot_spares_done;
	slot->recv_cqe.done = slot_recv_done;
	slot->send_cqe.done = slot_send_done;
	slot->xfer_cqe.done = slot_xfer_done;
	timer_setup(&slot->later, slot_later, 0);
}
