// SPDX-License-Identifier: GPL-2.0
/*
 * Send contexts, for replies: each with a buffer as large as that of a receive context.
 *
 * A reply is written over its request, in the buffer of the receive context (an ECHO is not copied
 * at all).  rtgt_send() takes a free send context, exchanges the buffers of the two, posts the
 * receive again, and then the reply.  If none is free, the receive context (with an SRQ, one that
 * takes its place) waits in rtgt_conn.send_wait.  So if a peer does not acknowledge its replies,
 * only requests that wait for a send context keep their receives.
 *
 * Replies that a completion sends form a chain, rtgt_conn.send_chain: one in nr_sends / 2 is
 * signaled, and its completion also frees the send contexts before it.  Completions of a connection
 * run one at a time, so the chain needs no lock and is in the order of the send queue.  Replies
 * that a worker sends, and datagrams, are all signaled.  At most half of the send contexts follow
 * the last signaled one, so a receive context that waits gets one.
 *
 * When a reply fails, the QP is in error and the connection closes; the teardown drops the requests
 * that wait.
 */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm_ib.h>

#include "core/stats.h"
#include "proto/proto.h"
#include "registration/region.h"
#include "target/conn.h"
#include "target/fault.h"
#include "target/port.h"
#include "target/send.h"
#include "target/trace.h"

/* NULL: the reply waits for a send context, owned by send_wait, or the connection closes. */
static struct rtgt_send_ctx *send_get(struct rtgt_conn *conn, struct rtgt_recv_ctx *recv)
{
	struct rtgt_recv_ctx *kept = NULL;
	struct rtgt_send_ctx *send;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	send = list_first_entry_or_null(&conn->send_free, struct rtgt_send_ctx, entry);
	if (send) {
		list_del(&send->entry);
		send->state = RTGT_SEND_POSTED;
	} else {
		kept = rtgt_recv_keep(recv);
	}
	if (kept)
		list_add_tail(&kept->entry, &conn->send_wait);
	spin_unlock_irqrestore(&conn->lock, flags);
	if (!send && !kept)
		rtgt_recv_refuse(recv);
	return send;
}

/*
 * Give @send to a receive context that waits and return that, or free @send and return NULL; a
 * closing connection frees it, because the teardown drops the requests that wait.
 */
static struct rtgt_recv_ctx *send_put(struct rtgt_conn *conn, struct rtgt_send_ctx *send)
{
	struct rtgt_recv_ctx *recv = NULL;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (conn->state != RTGT_CONN_CLOSING)
		recv = list_first_entry_or_null(&conn->send_wait, struct rtgt_recv_ctx, entry);
	if (recv) {
		list_del(&recv->entry);
		recv->worker = false;
		send->state = RTGT_SEND_POSTED;
	} else {
		list_add(&send->entry, &conn->send_free);
		send->state = RTGT_SEND_FREE;
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	return recv;
}

/* Chains the reply, unless it has a completion of its own; returns whether to signal. */
static bool send_signaled(struct rtgt_conn *conn, struct rtgt_send_ctx *send,
			  const struct rtgt_recv_ctx *recv)
{
	if (recv->worker || conn->transport == RTGT_UD)
		return true;
	send->state = RTGT_SEND_CHAINED;
	list_add_tail(&send->entry, &conn->send_chain);
	if (++conn->send_unsignaled < conn->nr_sends / 2)
		return false;
	conn->send_unsignaled = 0;
	return true;
}

static void send_post(struct rtgt_conn *conn, struct rtgt_send_ctx *send,
		      struct rtgt_recv_ctx *recv)
{
	struct ib_device *ibdev = recv->pool->pd->device;
	u32 size = recv->pool->size;
	struct ib_sge sge = {
		.addr = recv->buf.dma + recv->pool->head,
		.length = recv->reply_len,
		.lkey = recv->pool->pd->local_dma_lkey,
	};
	struct ib_ud_wr wr = {
		.wr = {
			.wr_cqe = &send->cqe,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IB_WR_SEND,
		},
		.ah = recv->ah,
		.remote_qpn = recv->src_qp,
		.remote_qkey = RDMA_UDP_QKEY,
	};
	bool keep, again;

	if (recv->reply_inv) {
		wr.wr.opcode = IB_WR_SEND_WITH_INV;
		wr.wr.ex.invalidate_rkey = recv->rq.rkey;
	}
	if (send_signaled(conn, send, recv))
		wr.wr.send_flags = IB_SEND_SIGNALED;
	/* a fault goes on with the receive context, and may send the same reply again */
	again = recv->faults & RTGT_FAULT_DO_COPY;
	keep = again || recv->faults & RTGT_FAULT_DO_LATE;
	if (unlikely(keep))
		memcpy(send->buf.at, recv->buf.at, size);
	swap(send->buf, recv->buf);
	swap(send->ah, recv->ah);
	ib_dma_sync_single_for_device(ibdev, send->buf.dma, size, DMA_BIDIRECTIONAL);
	if (likely(!keep))
		rtgt_recv_release(recv);
	/* before the post, so that a peer that has the reply finds it counted; once */
	if (likely(!again)) {
		atomic64_inc(&conn->replies);
		rtgt_count(conn->port->stats, RTGT_REPLIES, 1);
	}
	/* for a connected QP, the driver reads only wr.wr */
	if (ib_post_send(conn->qp, &wr.wr, NULL)) {
		rtgt_conn_close(conn, "a reply could not be posted");
		if (send->state != RTGT_SEND_CHAINED)
			send_put(conn, send);
	}
	if (unlikely(keep))
		rtgt_fault_sent(recv);
}

static void send_as(struct rtgt_recv_ctx *recv, u32 len, bool inv)
{
	struct rtgt_conn *conn = recv->conn;
	struct rtgt_send_ctx *send;

	recv->reply_len = len;
	recv->reply_inv = inv;
	send = send_get(conn, recv);
	if (likely(send))
		send_post(conn, send, recv);
}

/**
 * rtgt_send() - send the first bytes of a receive context's buffer, and post its receive again
 * @recv: owned by the caller, a completion or a worker
 * @len: bytes, at most rtgt_conn.recv_size
 * Context: any.
 */
void rtgt_send(struct rtgt_recv_ctx *recv, u32 len)
{
	send_as(recv, len, false);
}

/**
 * rtgt_send_inv() - like rtgt_send(), but invalidate the rkey of the client that its request has
 * @recv: as for rtgt_send(), not on a UD port; if the client's device refuses the invalidation, the
 *	SEND fails and the connection closes
 * @len: as for rtgt_send()
 * Context: any.
 */
void rtgt_send_inv(struct rtgt_recv_ctx *recv, u32 len)
{
	send_as(recv, len, true);
}

/**
 * rtgt_reply() - send the reply to a request, with its immediate
 * @recv: owned by the caller, a completion or a worker; its buffer holds the body after the header
 * @status: enum rtgt_status
 * @len: bytes of the body
 * Context: any.
 */
void rtgt_reply(struct rtgt_recv_ctx *recv, u32 status, u32 len)
{
	rtgt_encode_reply(rtgt_recv_msg(recv), &recv->rq, status, len, recv->imm);
	trace_rtgt_reply(recv->conn, &recv->rq, status, len);
	/* the client is not to blame for others */
	if (status != RTGT_OK && status != RTGT_ST_ABSENT)
		rtgt_count(recv->conn->port->stats, RTGT_MALFORMED, 1);
	len += sizeof(struct rtgt_msg);
	if (rtgt_faulty(&recv->conn->port->faults))
		rtgt_fault_send(recv, len);
	else
		rtgt_send(recv, len);
}

static void send_next(struct rtgt_conn *conn, struct rtgt_send_ctx *send)
{
	struct rtgt_recv_ctx *recv = send_put(conn, send);

	if (recv)
		send_post(conn, send, recv);
}

static void send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_send_ctx *send = container_of(wc->wr_cqe, struct rtgt_send_ctx, cqe);
	struct rtgt_conn *conn = container_of(cq->cq_context, struct rtgt_conn, cq);
	bool sent = rtgt_wc_sent(conn, wc);
	struct rtgt_send_ctx *first;

	if (wc->status == IB_WC_WR_FLUSH_ERR)
		rtgt_count(conn->port->stats, RTGT_SEND_FLUSHED, 1);
	if (send->state == RTGT_SEND_CHAINED) {
		/* after an error, each reply completes by itself; the teardown frees all */
		if (!sent)
			return;
		do {
			first = list_first_entry(&conn->send_chain, struct rtgt_send_ctx, entry);
			list_del(&first->entry);
			send_next(conn, first);
		} while (first != send);
		return;
	}
	send_next(conn, send);
	if (conn->transport == RTGT_UD)
		wake_up(&conn->quiet);
}

/* Is no reply of a datagram endpoint outstanding?  Its replies are all signaled. */
bool rtgt_sends_idle(struct rtgt_conn *conn)
{
	unsigned int i, idle = 0;

	spin_lock_irq(&conn->lock);
	for (i = 0; i < conn->nr_sends; i++)
		idle += conn->sends[i].state == RTGT_SEND_FREE;
	spin_unlock_irq(&conn->lock);
	return idle == conn->nr_sends;
}

/* Number of send contexts, at least 1.  With an SRQ there are fewer, which saves memory, too. */
unsigned int rtgt_sends_of(unsigned int depth, bool srq)
{
	return clamp(depth / 2, 1U, srq ? RTGT_SENDS_SRQ : RTGT_SENDS_MAX);
}

/* Allocate send contexts: 0 or -ENOMEM; rtgt_sends_destroy() frees what there is.  May sleep. */
int rtgt_sends_create(struct rtgt_conn *conn)
{
	unsigned int nr = rtgt_sends_of(conn->recv_depth, conn->pool->srq);
	struct rtgt_send_ctx *send;
	int ret;

	conn->sends = kcalloc(nr, sizeof(*conn->sends), GFP_KERNEL);
	if (!conn->sends)
		return -ENOMEM;
	while (conn->nr_sends < nr) {
		send = &conn->sends[conn->nr_sends];
		ret = rtgt_buf_alloc(conn->domain->ibdev, &send->buf, conn->pool->size);
		if (ret)
			return ret;
		send->cqe.done = send_done;
		list_add_tail(&send->entry, &conn->send_free);
		conn->nr_sends++;
	}
	return 0;
}

/* Free them, without a QP, before the receive contexts and the domain; may sleep. */
void rtgt_sends_destroy(struct rtgt_conn *conn)
{
	while (conn->nr_sends) {
		struct rtgt_send_ctx *send = &conn->sends[--conn->nr_sends];

		if (send->ah)
			rdma_destroy_ah(send->ah, RDMA_DESTROY_AH_SLEEPABLE);
		rtgt_buf_free(conn->domain->ibdev, &send->buf, conn->pool->size);
	}
	kfree(conn->sends);
	conn->sends = NULL;
}
