// SPDX-License-Identifier: GPL-2.0
/*
 * RW contexts: READs and WRITEs towards the peer.
 *
 * The core does the work (rdma_rw_ctx_*): it maps the memory, splits the transfer by what
 * the device takes in one work request (max_send_sge, max_sge_rd), and registers the
 * memory where a device needs that (iWARP's READs; ib_core.force_mr).  The QP is created
 * with cap.max_rdma_ctxs, so the core sizes the send queue and makes the registrations.
 *
 * A worker takes an rw context, adds memory to it and posts it; the core allocates and may
 * sleep.  The completion undoes the mapping and calls the service's "moved", also in
 * completion context; the connection's next transfer is a worker's again.  If all rw
 * contexts are posted, the request waits in rtgt_conn.rw_wait and is deferred again when
 * one is free.
 *
 * Errors.  A transfer that the peer refuses ends the connection, as the transport has it.
 * An rw context that could not be posted may be so in part; its mapping stays until the
 * QP is drained.
 */
#include <linux/slab.h>
#include <rdma/rw.h>

#include "registration/region.h"
#include "target/conn.h"
#include "target/port.h"
#include "target/rw.h"
#include "target/send.h"
#include "target/service.h"

static void rw_put(struct rtgt_conn *conn, struct rtgt_rw_ctx *rw)
{
	struct rtgt_recv_ctx *next;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	rw->state = RTGT_RW_FREE;
	list_add(&rw->entry, &conn->rw_free);
	next = list_first_entry_or_null(&conn->rw_wait, struct rtgt_recv_ctx, entry);
	if (next) {
		list_del(&next->entry);
		next->state = RTGT_RECV_WORK;
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	if (next)
		rtgt_recv_defer(next);
}

static void rw_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_rw_ctx *rw = container_of(wc->wr_cqe, struct rtgt_rw_ctx, cqe);
	struct rtgt_conn *conn = container_of(cq->cq_context, struct rtgt_conn, cq);
	bool moved = rtgt_wc_sent(conn, wc);
	struct rtgt_recv_ctx *recv = rw->recv;

	rdma_rw_ctx_destroy(&rw->ctx, conn->qp, conn->port_num, rw->sg, rw->nr, rw->dir);
	recv->state = RTGT_RECV_WORK;
	recv->worker = false;
	if (moved && READ_ONCE(conn->state) != RTGT_CONN_CLOSING)
		conn->port->cfg.service->moved(recv);
	else
		rtgt_recv_drop(recv);
	rw_put(conn, rw);
}

/**
 * rtgt_rw_get() - take an rw context
 * @recv: the caller, a worker, owns it
 *
 * Return: for rtgt_rw_post(); NULL if @recv waits for one now: then it is not the caller's
 * any more, and the service's "work" is called again.
 */
struct rtgt_rw_ctx *rtgt_rw_get(struct rtgt_recv_ctx *recv)
{
	struct rtgt_conn *conn = recv->conn;
	struct rtgt_rw_ctx *rw;

	spin_lock_irq(&conn->lock);
	rw = list_first_entry_or_null(&conn->rw_free, struct rtgt_rw_ctx, entry);
	if (rw) {
		list_del(&rw->entry);
		rw->state = RTGT_RW_FILLED;
	} else {
		recv->state = RTGT_RECV_RW_WAIT;
		list_add_tail(&recv->entry, &conn->rw_wait);
	}
	spin_unlock_irq(&conn->lock);
	if (rw) {
		rw->recv = recv;
		rw->nr = 0;
		sg_init_table(rw->sg, RTGT_RW_SGS);
	}
	return rw;
}

/**
 * rtgt_rw_add() - add memory to a transfer
 * @rw: from rtgt_rw_get()
 * @at: contiguous memory of the linear map
 * @len: bytes
 *
 * Return: how many of them were added; 0 when no more can be.
 */
u32 rtgt_rw_add(struct rtgt_rw_ctx *rw, void *at, u32 len)
{
	u32 max = ib_dma_max_seg_size(rw->recv->pool->pd->device);

	if (rw->nr == RTGT_RW_SGS)
		return 0;
	len = min(len, max);
	sg_set_buf(&rw->sg[rw->nr++], at, len);
	return len;
}

/**
 * rtgt_rw_bytes() - the bytes one transfer can have
 * @conn: connection
 * @offset: where the memory begins, as far as its place in a page goes
 * @len: bytes that shall be transferred
 *
 * Return: @len or less; what is left takes another transfer.
 */
u32 rtgt_rw_bytes(const struct rtgt_conn *conn, u64 offset, u64 len)
{
	u32 pages = min_t(u32, conn->domain->ibdev->attrs.max_fast_reg_page_list_len,
			  RTGT_RW_PAGES);
	u64 most = min_t(u64, RTGT_RW_BYTES, (u64)max(pages, 2U) * PAGE_SIZE);

	return min(len, most - offset_in_page(offset));
}

/**
 * rtgt_rw_post() - begin a transfer
 * @rw: at least a byte was added; not the caller's any more, nor is the receive context when
 *	this returns 0
 * @dir: DMA_FROM_DEVICE to READ the peer's memory, DMA_TO_DEVICE to WRITE it
 * @addr: address of the peer's memory
 * @rkey: its rkey
 *
 * The CPU does not touch the memory from here on until the service's "moved" is called.
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int rtgt_rw_post(struct rtgt_rw_ctx *rw, enum dma_data_direction dir, u64 addr, u32 rkey)
{
	struct rtgt_recv_ctx *recv = rw->recv;
	struct rtgt_conn *conn = recv->conn;
	int ret;

	rw->dir = dir;
	sg_mark_end(&rw->sg[rw->nr - 1]);
	ret = rdma_rw_ctx_init(&rw->ctx, conn->qp, conn->port_num, rw->sg, rw->nr, 0, addr, rkey,
			       dir);
	if (ret < 0) {
		rw_put(conn, rw);
		return ret;
	}
	/* the completion may come before this returns */
	recv->state = RTGT_RECV_TRANSFER;
	rw->state = RTGT_RW_POSTED;
	ret = rdma_rw_ctx_post(&rw->ctx, conn->qp, conn->port_num, &rw->cqe, NULL);
	if (!ret)
		return 0;
	recv->state = RTGT_RECV_WORK;
	rw->state = RTGT_RW_LOST;
	rtgt_conn_close(conn, "a transfer could not be posted");
	return ret;
}

/**
 * rtgt_rw_wrs() - the number of work requests of one transfer, at most
 * @ibdev: device
 *
 * Those of registrations, which the core adds itself, not included.
 *
 * Return: at least 1.
 */
unsigned int rtgt_rw_wrs(const struct ib_device *ibdev)
{
	unsigned int sges = min3(RTGT_RW_SGS, ibdev->attrs.max_send_sge, ibdev->attrs.max_sge_rd);

	return DIV_ROUND_UP(RTGT_RW_SGS, max(sges, 1U));
}

/**
 * rtgt_rws_create() - allocate the rw contexts of a connection
 * @conn: connection
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rtgt_rws_create(struct rtgt_conn *conn)
{
	unsigned int nr = conn->port->cfg.service->rws, i;

	if (conn->transport == RTGT_UD || !nr)
		return 0;
	conn->rws = kcalloc(nr, sizeof(*conn->rws), GFP_KERNEL);
	if (!conn->rws)
		return -ENOMEM;
	conn->nr_rws = nr;
	for (i = 0; i < nr; i++) {
		conn->rws[i].cqe.done = rw_done;
		list_add_tail(&conn->rws[i].entry, &conn->rw_free);
	}
	return 0;
}

/**
 * rtgt_rws_release() - release the mappings of transfers that could not be posted
 * @conn: its QP is drained and still there
 */
void rtgt_rws_release(struct rtgt_conn *conn)
{
	unsigned int i;

	for (i = 0; i < conn->nr_rws; i++) {
		struct rtgt_rw_ctx *rw = &conn->rws[i];

		if (rw->state == RTGT_RW_LOST)
			rdma_rw_ctx_destroy(&rw->ctx, conn->qp, conn->port_num, rw->sg, rw->nr,
					    rw->dir);
		rw->state = RTGT_RW_FREE;
	}
}

/**
 * rtgt_rws_destroy() - free the rw contexts of a connection
 * @conn: without a QP
 */
void rtgt_rws_destroy(struct rtgt_conn *conn)
{
	kfree(conn->rws);
	conn->rws = NULL;
	conn->nr_rws = 0;
}
