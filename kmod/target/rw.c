// SPDX-License-Identifier: GPL-2.0
/*
 * RW contexts: READs and WRITEs of the peer's memory, and registrations that a client requests.
 *
 * The core (rdma_rw_ctx_*) maps the memory, splits the transfer into work requests by max_send_sge
 * and max_sge_rd of the device, and registers the memory where a device needs that (iWARP for
 * READs; any device with the parameter force_mr of ib_core).  The QP has cap.max_rdma_ctxs, so the
 * core sizes the send queue and allocates the MRs.  A worker posts a transfer, because the core
 * allocates with GFP_KERNEL.  The completion unmaps the memory and calls rtgt_service.moved.  If
 * all rw contexts are posted, the request waits in rtgt_conn.rw_wait and is deferred when one is
 * free.
 *
 * A registration posts the REG_MR of an MR and calls rtgt_service.moved, but the rw context stays
 * with the request until a worker has given the MR to its extent.  Like a transfer it may wait in
 * the send queue for as long as the peer likes; nobody else waits for it (registration/mr.c).
 *
 * A READ or WRITE that the peer refuses moves the QP to error, so the connection closes.  When
 * posting fails, some of the work requests may have been posted; the rw context keeps its mapping
 * until the QP is drained.  siw loses completions of transfers when a connection ends: what has not
 * completed by then never will.
 */
#include <linux/slab.h>
#include <rdma/rw.h>

#include "core/mem.h"
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
	list_add(&rw->entry, &conn->rw_free);
	next = list_first_entry_or_null(&conn->rw_wait, struct rtgt_recv_ctx, entry);
	if (next)
		list_del(&next->entry);
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

	rw->posted = false;
	rdma_rw_ctx_destroy(&rw->ctx, conn->qp, conn->port_num, rw->sg, rw->nr, rw->dir);
	recv->worker = false;
	/* neither idle nor silent; of a WRITE over iWARP TCP has the bytes, and holds few */
	if (moved)
		WRITE_ONCE(conn->active, jiffies);
	if (moved && READ_ONCE(conn->state) != RTGT_CONN_CLOSING)
		conn->port->cfg.service->moved(recv);
	else
		rtgt_recv_drop(recv);
	rw_put(conn, rw);
}

/**
 * rtgt_rw_get() - take an rw context
 * @recv: owned by the caller, a worker
 * Return: an rw context for rtgt_rw_post(); NULL if there is none.  Then rtgt_conn.rw_wait owns
 * @recv, and a worker calls rtgt_service.work when one is free.
 */
struct rtgt_rw_ctx *rtgt_rw_get(struct rtgt_recv_ctx *recv)
{
	struct rtgt_conn *conn = recv->conn;
	struct rtgt_rw_ctx *rw;

	spin_lock_irq(&conn->lock);
	rw = list_first_entry_or_null(&conn->rw_free, struct rtgt_rw_ctx, entry);
	if (rw)
		list_del(&rw->entry);
	else
		list_add_tail(&recv->entry, &conn->rw_wait);
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
 * @at: contiguous memory in the linear map
 * @len: bytes
 * Return: number of bytes that were added, at most @len; 0 when the rw context is full.
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
 * rtgt_rw_bytes() - return the number of bytes that one transfer can move
 * @conn: connection
 * @offset: of the memory; its offset in a page counts
 * @len: bytes that are left
 * Return: @len or fewer; the rest needs another transfer.
 */
u32 rtgt_rw_bytes(const struct rtgt_conn *conn, u64 offset, u64 len)
{
	u32 pages = min_t(u32, conn->domain->ibdev->attrs.max_fast_reg_page_list_len,
			  RTGT_RW_PAGES);
	u64 most = min_t(u64, RTGT_RW_BYTES, (u64)max(pages, 2U) * PAGE_SIZE);

	return min(len, most - offset_in_page(offset));
}

/*
 * An iWARP READ request names the local memory by the address in the MR that the core registers for
 * it: an address of the kernel.  So choose another one first, with the same offset in the page.
 */
static void rw_hide_addresses(struct rtgt_rw_ctx *rw)
{
	u32 i;

	for (i = 0; i < rw->ctx.nr_ops; i++) {
		struct rdma_rw_reg_ctx *reg = &rw->ctx.reg[i];

		reg->mr->iova = rtgt_random_iova(PAGE_SIZE) | offset_in_page(reg->mr->iova);
		reg->sge.addr = reg->mr->iova;
	}
}

/**
 * rtgt_rw_post() - post a transfer
 * @rw: from rtgt_rw_get(), with memory that the CPU must not access until rtgt_service.moved is
 *	called.  The caller loses it and, if this returns 0, the receive context
 * @dir: DMA_FROM_DEVICE to READ the peer's memory, DMA_TO_DEVICE to WRITE it
 * @addr: address of the peer's memory
 * @rkey: its rkey
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int rtgt_rw_post(struct rtgt_rw_ctx *rw, enum dma_data_direction dir, u64 addr, u32 rkey)
{
	struct rtgt_recv_ctx *recv = rw->recv;
	struct rtgt_conn *conn = recv->conn;
	int ret;

	rw->dir = dir;
	rw->cqe.done = rw_done;
	sg_mark_end(&rw->sg[rw->nr - 1]);
	ret = rdma_rw_ctx_init(&rw->ctx, conn->qp, conn->port_num, rw->sg, rw->nr, 0, addr, rkey,
			       dir);
	if (ret < 0) {
		rw_put(conn, rw);
		return ret;
	}
	if (conn->iwarp && dir == DMA_FROM_DEVICE)
		rw_hide_addresses(rw);
	/* the completion may come before this returns */
	rw->posted = true;
	ret = rdma_rw_ctx_post(&rw->ctx, conn->qp, conn->port_num, &rw->cqe, NULL);
	if (!ret)
		return 0;
	rtgt_conn_close(conn, "a transfer could not be posted");
	return ret;
}

static void rw_register_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_rw_ctx *rw = container_of(wc->wr_cqe, struct rtgt_rw_ctx, cqe);
	struct rtgt_conn *conn = container_of(cq->cq_context, struct rtgt_conn, cq);
	bool registered = rtgt_wc_sent(conn, wc);
	struct rtgt_recv_ctx *recv = rw->recv;

	recv->worker = false;
	if (registered && READ_ONCE(conn->state) != RTGT_CONN_CLOSING)
		conn->port->cfg.service->moved(recv);
	else
		rtgt_recv_drop(recv);
}

/**
 * rtgt_rw_register() - register an extent of the request's region through the connection
 * @recv: owned by the caller, a worker; not afterwards if this returns 0
 * @at: extent
 *
 * Continues in rtgt_service.moved or, after a wait for an rw context, in rtgt_service.work with
 * rtgt_recv_ctx.rw NULL.
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int rtgt_rw_register(struct rtgt_recv_ctx *recv, u32 at)
{
	struct rtgt_rw_ctx *rw = rtgt_rw_get(recv);
	struct rtgt_conn *conn = recv->conn;
	struct ib_reg_wr wr;
	int ret;

	if (!rw)
		return 0;
	rw->mr = rtgt_mr_begin(&conn->domain->map[recv->rq.region].extent[at]);
	if (IS_ERR(rw->mr)) {
		ret = PTR_ERR(rw->mr);
		rw->mr = NULL;
		rw_put(conn, rw);
		return ret;
	}
	rw->cqe.done = rw_register_done;
	rtgt_mr_reg_wr(rw->mr, &wr);
	wr.wr.wr_cqe = &rw->cqe;
	wr.wr.send_flags = IB_SEND_SIGNALED;
	/* the completion may come before this returns */
	recv->rw = rw;
	ret = ib_post_send(conn->qp, &wr.wr, NULL);
	if (!ret)
		return 0;
	recv->rw = NULL;
	rtgt_conn_close(conn, "a registration could not be posted");
	return ret;
}

/* In a worker: finish a registration, free its rw context, return what rtgt_mr_finish() did. */
int rtgt_rw_registered(struct rtgt_recv_ctx *recv)
{
	struct rtgt_rw_ctx *rw = recv->rw;
	int ret = rtgt_mr_finish(rw->mr);

	rw->mr = NULL;
	recv->rw = NULL;
	rw_put(recv->conn, rw);
	return ret;
}

/* Maximum of READs or WRITEs of a transfer, at least 1; the core adds those of registrations. */
unsigned int rtgt_rw_wrs(const struct ib_device *ibdev)
{
	unsigned int sges = min3(RTGT_RW_SGS, ibdev->attrs.max_send_sge, ibdev->attrs.max_sge_rd);

	return DIV_ROUND_UP(RTGT_RW_SGS, max(sges, 1U));
}

/* Allocate the rw contexts of a connection: 0 or -ENOMEM; may sleep. */
int rtgt_rws_create(struct rtgt_conn *conn)
{
	unsigned int nr = conn->port->cfg.service->rws, i;

	if (conn->transport == RTGT_UD || !nr)
		return 0;
	conn->rws = kcalloc(nr, sizeof(*conn->rws), GFP_KERNEL);
	if (!conn->rws)
		return -ENOMEM;
	conn->nr_rws = nr;
	for (i = 0; i < nr; i++)
		list_add_tail(&conn->rws[i].entry, &conn->rw_free);
	return 0;
}

/* Release what has not completed; the QP is drained, but not destroyed. */
void rtgt_rws_release(struct rtgt_conn *conn)
{
	unsigned int i;

	for (i = 0; i < conn->nr_rws; i++) {
		struct rtgt_rw_ctx *rw = &conn->rws[i];

		if (rw->posted)
			rdma_rw_ctx_destroy(&rw->ctx, conn->qp, conn->port_num, rw->sg, rw->nr,
					    rw->dir);
		rtgt_mr_destroy(rw->mr);
		rw->mr = NULL;
		rw->posted = false;
	}
}

/* Free the rw contexts of a connection without a QP. */
void rtgt_rws_destroy(struct rtgt_conn *conn)
{
	kfree(conn->rws);
	conn->rws = NULL;
	conn->nr_rws = 0;
}
