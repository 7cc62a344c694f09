// SPDX-License-Identifier: GPL-2.0
/*
 * Receive contexts: from the completion of a receive until it is posted again.
 *
 * The completion passes the context to the port's service, which calls rtgt_recv_release() (no
 * reply: post the receive again), rtgt_reply() (send a reply and post the receive again),
 * rtgt_recv_defer() (continue in a worker, in rtgt_service.work) or, in a worker, rtgt_rw_post()
 * (READ or WRITE the peer's memory; continue in rtgt_service.moved).
 *
 * So a context has one owner: the device while it is posted, the completion or the worker that runs
 * its request, an rw context during a transfer, or one of the lists rtgt_conn.deferred, parked,
 * unresolved, send_wait, rw_wait and own_free, rtgt_conn_faults.held and rtgt_recv_pool.withheld.
 * If a peer
 * sends more requests than there are receives, the device returns RNR NAKs.
 *
 * Errors.  A flushed receive on an open connection means that the device moved the QP to error,
 * mostly because it refused an access of the peer: it closes the connection.  A receive that
 * completes with another error may do so before the device has sent its NAK: the next flush, or a
 * timer, closes the connection.  This file prints nothing that a peer can cause.
 *
 * Contexts of an SRQ outlive a connection: when it closes, their owners post them again.  A request
 * that outlives the completion of a shared receive, in a worker or because its reply waits, moves
 * to a context of the connection's own (rtgt_recv_keep()).  There are as many of these as the REP
 * allows requests; a peer with more has broken the protocol, and the connection closes.  So no peer
 * takes the receives of the SRQ from the others, except with WITHHOLD.
 *
 * Completions run in softirq (irq_poll of the CQ), one at a time for each connection.
 */
#include <linux/export.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "core/stats.h"
#include "main.h"
#include "proto/proto.h"
#include "registration/region.h"
#include "target/conn.h"
#include "target/fault.h"
#include "target/port.h"
#include "target/recv.h"
#include "target/service.h"
#include "target/ud_sources.h"
#include "target/trace.h"

/**
 * rtgt_recv_release() - post a receive context again, or withhold it, at the end of its request
 * @recv: owned by the caller; afterwards by the device, or by the pool
 * Context: any.
 */
void rtgt_recv_release(struct rtgt_recv_ctx *recv)
{
	struct rtgt_conn *conn = recv->conn;
	bool shared = recv->pool->srq;
	unsigned long flags;

	if (recv->pool == conn->own) {
		spin_lock_irqsave(&conn->lock, flags);
		list_add(&recv->entry, &conn->own_free);
		conn->nr_held--;
		spin_unlock_irqrestore(&conn->lock, flags);
		return;
	}
	if (recv->withhold_ms)
		rtgt_recv_hold(recv);
	else if (rtgt_recv_post(recv) && !shared)
		rtgt_conn_close(conn, "a receive could not be posted");
}

/**
 * rtgt_recv_keep() - let a request outlive the completion of its receive
 * @recv: owned by the caller, which holds rtgt_conn.lock; a shared receive is posted again
 * Return: the context that has the request, owned by the caller; NULL if the connection has none
 * left: then the caller calls rtgt_recv_refuse() without the lock.
 */
struct rtgt_recv_ctx *rtgt_recv_keep(struct rtgt_recv_ctx *recv)
{
	struct rtgt_conn *conn = recv->conn;
	struct rtgt_recv_ctx *own;
	struct rtgt_buf buf;

	lockdep_assert_held(&conn->lock);
	if (!recv->pool->srq)
		return recv;
	own = list_first_entry_or_null(&conn->own_free, struct rtgt_recv_ctx, entry);
	if (!own)
		return NULL;
	list_del(&own->entry);
	conn->nr_held++;
	buf = own->buf;
	*own = *recv;
	own->pool = conn->own;
	own->withhold_ms = 0;
	recv->buf = buf;
	rtgt_recv_release(recv);
	return own;
}

/* The peer has more requests than the REP allows: close, and post @recv again.  Any context. */
void rtgt_recv_refuse(struct rtgt_recv_ctx *recv)
{
	struct rtgt_conn *conn = recv->conn;

	rtgt_count(conn->port->stats, RTGT_OVER_DEPTH, 1);
	rtgt_conn_close(conn, "more requests outstanding than recv_depth");
	rtgt_recv_drop(recv);
}

/**
 * rtgt_recv_drop() - drop the request of a connection that is closing
 * @recv: owned by the caller; afterwards by the SRQ, or by the pool until that is freed
 * Context: any.
 */
void rtgt_recv_drop(struct rtgt_recv_ctx *recv)
{
	rtgt_recv_unhold(recv);
	if (recv->pool->srq)
		rtgt_recv_post(recv);
}

/* Nothing else uses the list any more. */
void rtgt_recv_drop_all(struct list_head *recvs)
{
	struct rtgt_recv_ctx *recv, *next;

	list_for_each_entry_safe(recv, next, recvs, entry) {
		list_del(&recv->entry);
		rtgt_recv_drop(recv);
	}
}

/* Not one that runs: it may wait for a source that does not exist. */
static void recv_queue_resolve(struct rtgt_conn *conn)
{
	unsigned int i;

	lockdep_assert_held(&conn->lock);
	for (i = 0; i < conn->nr_workers; i++) {
		if (!conn->workers[i].busy) {
			conn->workers[i].busy = true;
			queue_work(rtgt_req_wq, &conn->workers[i].work);
			break;
		}
	}
}

/**
 * rtgt_recv_defer() - continue a request in a worker, in rtgt_service.work, which may sleep
 * @recv: owned by the caller; afterwards by the list of deferred requests, or dropped
 *
 * Requests of a peer to the port run one at a time, so a long one defers its rest.
 * Context: any.
 */
void rtgt_recv_defer(struct rtgt_recv_ctx *recv)
{
	struct rtgt_conn *conn = recv->conn;
	struct rtgt_recv_ctx *kept = NULL;
	unsigned long flags;
	bool open;

	spin_lock_irqsave(&conn->lock, flags);
	open = conn->state != RTGT_CONN_CLOSING;
	if (open)
		kept = rtgt_recv_keep(recv);
	if (kept) {
		list_add_tail(&kept->entry, kept->resolve ? &conn->unresolved : &conn->deferred);
		if (kept->resolve)
			recv_queue_resolve(conn);
		else
			rtgt_job_queue(&conn->requests);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	/* the teardown waits for the deferred requests, so a closing connection gets no more */
	if (!open)
		rtgt_recv_drop(recv);
	else if (!kept)
		rtgt_recv_refuse(recv);
}

/**
 * rtgt_recv_park() - keep a request until rtgt_conn_resume()
 * @recv: from rtgt_service.announced, which owns it no more; a connection that closes drops it
 * Context: process.
 */
void rtgt_recv_park(struct rtgt_recv_ctx *recv)
{
	struct rtgt_conn *conn = recv->conn;
	bool open;

	recv->parked = true;
	spin_lock_irq(&conn->lock);
	open = conn->state != RTGT_CONN_CLOSING;
	/* deferred before, so it keeps no receive of an SRQ */
	if (open)
		list_add_tail(&recv->entry, &conn->parked);
	spin_unlock_irq(&conn->lock);
	if (!open)
		rtgt_recv_drop(recv);
}
EXPORT_SYMBOL_GPL(rtgt_recv_park);

/* Has the request been kept before? */
bool rtgt_recv_parked(const struct rtgt_recv_ctx *recv)
{
	return recv->parked;
}
EXPORT_SYMBOL_GPL(rtgt_recv_parked);

/**
 * rtgt_conn_resume() - call rtgt_service.announced for all requests that a connection keeps
 * @conn: connection of which rtgt_service.teardown has not returned
 * Context: may sleep.
 */
void rtgt_conn_resume(struct rtgt_conn *conn)
{
	spin_lock_irq(&conn->lock);
	if (conn->state != RTGT_CONN_CLOSING && !list_empty(&conn->parked)) {
		list_splice_tail_init(&conn->parked, &conn->deferred);
		/* it was not idle */
		WRITE_ONCE(conn->active, jiffies);
		rtgt_job_queue(&conn->requests);
	}
	spin_unlock_irq(&conn->lock);
}
EXPORT_SYMBOL_GPL(rtgt_conn_resume);

/* Makes the address handle for the reply, which may sleep; then the service gets the datagram. */
static void recv_resolve(struct rtgt_recv_ctx *recv)
{
	struct ib_pd *pd = recv->pool->pd;
	struct ib_ah *ah;

	recv->resolve = false;
	if (recv->ah)
		rdma_destroy_ah(recv->ah, RDMA_DESTROY_AH_SLEEPABLE);
	recv->ah = NULL;
	ah = rtgt_sources_ah(recv->conn->sources, pd, rtgt_recv_wc(recv), recv->buf.at);
	if (IS_ERR(ah)) {
		rtgt_count(recv->conn->port->stats, RTGT_SEND_ERRORS, 1);
		rtgt_recv_release(recv);
		return;
	}
	recv->ah = ah;
	recv->src_qp = rtgt_recv_wc(recv)->src_qp;
	recv->conn->port->cfg.service->message(recv);
}

static struct rtgt_recv_ctx *recv_take(struct rtgt_conn *conn, struct list_head *from)
{
	struct rtgt_recv_ctx *recv;

	spin_lock_irq(&conn->lock);
	recv = list_first_entry_or_null(from, struct rtgt_recv_ctx, entry);
	if (recv) {
		list_del(&recv->entry);
		recv->worker = true;
	}
	spin_unlock_irq(&conn->lock);
	return recv;
}

/* Run a deferred request.  The teardown waits for this before it frees the connection. */
void rtgt_recv_work(struct rtgt_job *job)
{
	struct rtgt_conn *conn = container_of(job, struct rtgt_conn, requests);
	struct rtgt_recv_ctx *recv = recv_take(conn, &conn->deferred);

	if (!recv)
		return;
	if (rtgt_conn_closing(conn))
		rtgt_recv_drop(recv);
	else if (unlikely(recv->faults & (RTGT_FAULT_DO_ERR | RTGT_FAULT_DO_SQD)))
		rtgt_fault_work(recv);
	else
		conn->port->cfg.service->work(recv);
	spin_lock_irq(&conn->lock);
	if (!list_empty(&conn->deferred) && conn->state != RTGT_CONN_CLOSING)
		rtgt_job_queue(&conn->requests);
	spin_unlock_irq(&conn->lock);
}

/* Resolve the source of a datagram.  The teardown waits for this before it frees the connection. */
void rtgt_recv_resolve_work(struct work_struct *work)
{
	struct rtgt_conn_worker *worker = container_of(work, struct rtgt_conn_worker, work);
	struct rtgt_conn *conn = worker->conn;
	struct rtgt_recv_ctx *recv = recv_take(conn, &conn->unresolved);

	if (recv && rtgt_conn_closing(conn))
		rtgt_recv_drop(recv);
	else if (recv)
		recv_resolve(recv);
	spin_lock_irq(&conn->lock);
	worker->busy = !list_empty(&conn->unresolved) && conn->state != RTGT_CONN_CLOSING;
	if (worker->busy)
		queue_work(rtgt_req_wq, work);
	spin_unlock_irq(&conn->lock);
}

/* In CLOSING: wait for what runs requests, and drop those not begun.  May sleep. */
void rtgt_recv_cancel(struct rtgt_conn *conn)
{
	unsigned int i;

	rtgt_job_cancel(&conn->requests);
	for (i = 0; i < conn->nr_workers; i++)
		cancel_work_sync(&conn->workers[i].work);
	rtgt_recv_drop_all(&conn->deferred);
	rtgt_recv_drop_all(&conn->parked);
	rtgt_recv_drop_all(&conn->unresolved);
}

static void recv_failed(struct rtgt_conn *conn, struct rtgt_recv_ctx *recv, struct ib_wc *wc)
{
	if (wc->status == IB_WC_WR_FLUSH_ERR) {
		rtgt_count(conn->port->stats, RTGT_RECV_FLUSHED, 1);
		/* iWARP flushes when the TCP stream ends, for any reason: DISCONNECTED follows */
		if (!conn->iwarp || READ_ONCE(conn->failing))
			rtgt_conn_fail(conn, RTGT_WHY_REFUSED);
	} else {
		rtgt_conn_failing(conn, ib_wc_status_msg(wc->status));
	}
	rtgt_recv_drop(recv);
}

static void recv_message(struct rtgt_conn *conn, struct rtgt_recv_ctx *recv, struct ib_wc *wc)
{
	recv->len = wc->byte_len - recv->pool->head;
	WRITE_ONCE(conn->recv_msgs, conn->recv_msgs + 1);
	rtgt_count(conn->port->stats, RTGT_RECV_MSGS, 1);
	rtgt_count(conn->port->stats, RTGT_RECV_BYTES, recv->len);
	if (conn->transport == RTGT_UD) {
		*rtgt_recv_wc(recv) = *wc;
		recv->resolve = true;
		rtgt_recv_defer(recv);
		return;
	}
	if (rtgt_faulty(&conn->port->faults) && rtgt_fault_arrival(recv, false))
		return;
	conn->port->cfg.service->message(recv);
}

/* A message, an immediate or an error; completion context. */
void rtgt_recv_completed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_recv_ctx *recv = container_of(wc->wr_cqe, struct rtgt_recv_ctx, cqe);
	struct rtgt_conn *conn = container_of(cq->cq_context, struct rtgt_conn, cq);
	struct rtgt_stats __percpu *stats = conn->port->stats;

	recv->worker = false;
	recv->conn = conn;
	trace_rtgt_wc(conn, wc, false);
	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		recv_failed(conn, recv, wc);
		return;
	}
	WRITE_ONCE(conn->active, jiffies);
	/* rxe does not raise IB_EVENT_COMM_EST */
	if (unlikely(READ_ONCE(conn->state) == RTGT_CONN_CONNECTING)) {
		/*
		 * Somebody has guessed the QPN.  A reply that nobody acknowledges would be in front
		 * of the REG_MRs that the set-up waits for
		 */
		if (conn->transport != RTGT_UD && !READ_ONCE(conn->acceptable)) {
			rtgt_conn_close(conn, "a message came before the REP");
			rtgt_recv_drop(recv);
			return;
		}
		rtgt_conn_live(conn);
		if (conn->faults.deaf) {
			rtgt_recv_release(recv);
			return;
		}
	}
	/* qp_drain() relies on this: a completion that begins in CLOSING posts nothing */
	if (unlikely(rtgt_conn_closing(conn))) {
		rtgt_recv_drop(recv);
		return;
	}
	/* on a connected QP the device refuses a message that is too long */
	if (conn->transport == RTGT_UD && wc->byte_len > conn->recv_size + recv->pool->head) {
		rtgt_count(stats, RTGT_MALFORMED, 1);
		rtgt_recv_release(recv);
		return;
	}
	ib_dma_sync_single_for_cpu(recv->pool->pd->device, recv->buf.dma, recv->pool->size,
				   DMA_BIDIRECTIONAL);
	recv->imm = 0;
	recv->rw = NULL;
	recv->parked = false;
	recv->faults = 0;
	if (wc->wc_flags & IB_WC_WITH_IMM) {
		recv->imm = be32_to_cpu(wc->ex.imm_data);
		WRITE_ONCE(conn->imms, conn->imms + 1);
		rtgt_count(stats, RTGT_IMMS, 1);
	}
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE) {
		rtgt_count(stats, RTGT_INVALIDATIONS, 1);
		rtgt_domain_invalidated(conn->domain, wc->ex.invalidate_rkey);
	}
	if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM) {
		rtgt_count(stats, RTGT_IMM_BYTES, wc->byte_len);
		recv->len = wc->byte_len;
		if (rtgt_faulty(&conn->port->faults) && rtgt_fault_arrival(recv, true))
			return;
		conn->port->cfg.service->imm(recv);
		return;
	}
	recv_message(conn, recv, wc);
}
