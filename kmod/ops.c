// SPDX-License-Identifier: GPL-2.0
/*
 * Receives, the operations they ask for, and the replies.
 *
 * A connection has a fixed number of slots.  A slot is posted as a receive; its
 * completion hands it to the port's service, which ends in one of
 *
 *   slot_repost()   nothing to answer: receive again
 *   slot_reply()    send what lies in the slot's buffer; receive again when that
 *                   has completed
 *   slot_defer()    run the operation in a work item, then one of the above
 *
 * so a slot is always in exactly one place and its buffer has one owner.  A peer
 * that sends faster than slots come back is told so by the device (RNR NAK).
 *
 * Errors.  A receive that is flushed while the connection is up means the device
 * moved the QP to error, mostly because the peer was refused an access: the
 * connection is closed.  A flush while it is being closed is the normal end.  A
 * message nobody understands is answered with a typed status and counted; what a
 * peer sends never reaches the log.
 *
 * Completions run in softirq (the CQ's irq_poll) and never two at a time for one
 * connection.
 */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "rtgt.h"
#include "trace.h"

static struct ib_device *slot_ibdev(const struct rtgt_slot *slot)
{
	return slot->conn->qp->device;
}

static int slot_post_recv(struct rtgt_slot *slot)
{
	struct ib_sge sge = {
		.addr = slot->dma,
		.length = slot->conn->recv_size,
		.lkey = slot->conn->domain->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &slot->recv_cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	ib_dma_sync_single_for_device(slot_ibdev(slot), slot->dma, slot->conn->recv_size,
				      DMA_BIDIRECTIONAL);
	return ib_post_recv(slot->conn->qp, &wr, NULL);
}

static void slot_repost(struct rtgt_slot *slot)
{
	if (slot_post_recv(slot))
		rtgt_conn_close(slot->conn, "a receive could not be posted");
}

static void slot_reply(struct rtgt_slot *slot, u32 status, u32 len, u32 arg)
{
	struct rtgt_conn *conn = slot->conn;
	struct ib_sge sge = {
		.addr = slot->dma,
		.length = sizeof(struct rtgt_msg) + len,
		.lkey = conn->domain->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &slot->send_cqe,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};

	rtgt_encode_reply(slot->buf, &slot->rq, status, len, arg);
	trace_rtgt_reply(conn, &slot->rq, status, len);
	if (status != RTGT_OK)
		rtgt_count(conn->port->stats, RTGT_MALFORMED, 1);
	ib_dma_sync_single_for_device(slot_ibdev(slot), slot->dma, sge.length, DMA_BIDIRECTIONAL);
	if (ib_post_send(conn->qp, &wr, NULL))
		rtgt_conn_close(conn, "a reply could not be posted");
}

static void slot_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_slot *slot = container_of(wc->wr_cqe, struct rtgt_slot, send_cqe);
	struct rtgt_conn *conn = slot->conn;

	trace_rtgt_wc(conn, wc, true);
	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		if (wc->status != IB_WC_WR_FLUSH_ERR) {
			rtgt_count(conn->port->stats, RTGT_SEND_ERRORS, 1);
			rtgt_conn_close(conn, ib_wc_status_msg(wc->status));
		}
		return;
	}
	WRITE_ONCE(conn->replies, conn->replies + 1);
	rtgt_count(conn->port->stats, RTGT_REPLIES, 1);
	slot_repost(slot);
}

static void slot_recv_failed(struct rtgt_slot *slot, struct ib_wc *wc)
{
	struct rtgt_conn *conn = slot->conn;

	if (wc->status == IB_WC_WR_FLUSH_ERR)
		rtgt_count(conn->port->stats, RTGT_RECV_FLUSHED, 1);
	rtgt_conn_fail(conn, wc->status == IB_WC_WR_FLUSH_ERR ?
		       "the device refused what the peer did" : ib_wc_status_msg(wc->status));
}

static void slot_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_slot *slot = container_of(wc->wr_cqe, struct rtgt_slot, recv_cqe);
	struct rtgt_conn *conn = slot->conn;
	const struct rtgt_service *service = conn->port->cfg.service;

	trace_rtgt_wc(conn, wc, false);
	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		slot_recv_failed(slot, wc);
		return;
	}
	ib_dma_sync_single_for_cpu(slot_ibdev(slot), slot->dma, conn->recv_size,
				   DMA_BIDIRECTIONAL);
	if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM) {
		WRITE_ONCE(conn->imms, conn->imms + 1);
		rtgt_count(conn->port->stats, RTGT_IMMS, 1);
		rtgt_count(conn->port->stats, RTGT_IMM_BYTES, wc->byte_len);
		service->imm(slot, wc);
	} else {
		WRITE_ONCE(conn->recv_msgs, conn->recv_msgs + 1);
		rtgt_count(conn->port->stats, RTGT_RECV_MSGS, 1);
		rtgt_count(conn->port->stats, RTGT_RECV_BYTES, wc->byte_len);
		service->message(slot, wc);
	}
}

/* ---- operations: a request in slot->rq, its body behind the head in slot->buf */

static void op_echo(struct rtgt_slot *slot)
{
	slot_reply(slot, RTGT_OK, slot->rq.len, 0);
}

static void op_checksum(struct rtgt_slot *slot)
{
	struct rtgt_domain *dom = slot->conn->domain;
	struct rtgt_request *rq = &slot->rq;
	struct rtgt_crc *body = slot->buf + sizeof(struct rtgt_msg);
	struct rtgt_mem *mem;

	if (rq->region >= dom->nr) {
		slot_reply(slot, RTGT_ST_REGION, 0, 0);
		return;
	}
	mem = dom->map[rq->region].mem;
	if (!rtgt_range_ok(rq->offset, rq->count, mem->size)) {
		slot_reply(slot, RTGT_ST_RANGE, 0, 0);
		return;
	}
	body->crc = cpu_to_be32(rtgt_mem_crc32(mem, rq->offset, rq->count));
	body->rsvd = 0;
	body->len = cpu_to_be64(rq->count);
	slot_reply(slot, RTGT_OK, sizeof(*body), 0);
}

/*
 * What a request runs.  "defer" is set for what sleeps or takes long; the rest
 * runs in the completion itself.
 */
static const struct {
	void (*run)(struct rtgt_slot *slot);
	bool defer;
} rtgt_ops[] = {
	[RTGT_MSG_ECHO]		= { .run = op_echo },
	[RTGT_MSG_CHECKSUM]	= { .run = op_checksum, .defer = true },
};

static void slot_work(struct work_struct *work)
{
	struct rtgt_slot *slot = container_of(work, struct rtgt_slot, work);

	rtgt_ops[slot->rq.op].run(slot);
}

/**
 * rtgt_slot_message() - run the request a SEND brought
 * @slot: the caller owns it
 * @wc: its receive
 *
 * Completion context.  A plain client's SENDs are only counted: it would not
 * know what to do with an answer.
 */
void rtgt_slot_message(struct rtgt_slot *slot, const struct ib_wc *wc)
{
	u32 status;

	if (slot->conn->plain) {
		slot_repost(slot);
		return;
	}
	status = rtgt_decode_msg(slot->buf, wc->byte_len, &slot->rq);
	trace_rtgt_request(slot->conn, &slot->rq, status);
	if (status != RTGT_OK)
		slot_reply(slot, status, 0, 0);
	else if (rtgt_ops[slot->rq.op].defer)
		queue_work(rtgt_wq, &slot->work);
	else
		rtgt_ops[slot->rq.op].run(slot);
}

/**
 * rtgt_slot_imm() - act on the immediate a WRITE brought
 * @slot: the caller owns it
 * @wc: its receive
 *
 * Completion context.
 */
void rtgt_slot_imm(struct rtgt_slot *slot, const struct ib_wc *wc)
{
	struct rtgt_imm_ack *body = slot->buf + sizeof(struct rtgt_msg);
	u32 imm = be32_to_cpu(wc->ex.imm_data);

	trace_rtgt_imm(slot->conn, imm, wc->byte_len);
	if (slot->conn->plain || rtgt_imm_op(imm) != RTGT_IMM_ACK) {
		slot_repost(slot);
		return;
	}
	slot->rq = (struct rtgt_request){ .op = RTGT_MSG_IMM, .tag = rtgt_imm_arg(imm) };
	body->byte_len = cpu_to_be32(wc->byte_len);
	slot_reply(slot, RTGT_OK, sizeof(*body), imm);
}

/**
 * rtgt_slots_create() - give a connection its receives
 * @conn: with a QP, and recv_size and nr_slots set
 *
 * The slots are not posted yet.  May sleep.
 *
 * Return: 0 or -ENOMEM; rtgt_slots_destroy() takes back also what was made
 * before a failure.
 */
int rtgt_slots_create(struct rtgt_conn *conn)
{
	struct ib_device *ibdev = conn->qp->device;
	unsigned int i;

	conn->slots = kvcalloc(conn->nr_slots, sizeof(*conn->slots), GFP_KERNEL);
	if (!conn->slots)
		return -ENOMEM;
	for (i = 0; i < conn->nr_slots; i++) {
		struct rtgt_slot *slot = &conn->slots[i];

		slot->conn = conn;
		slot->recv_cqe.done = slot_recv_done;
		slot->send_cqe.done = slot_send_done;
		INIT_WORK(&slot->work, slot_work);
		slot->buf = kzalloc(conn->recv_size, GFP_KERNEL | __GFP_NOWARN);
		if (!slot->buf)
			return -ENOMEM;
		slot->dma = ib_dma_map_single(ibdev, slot->buf, conn->recv_size,
					      DMA_BIDIRECTIONAL);
		if (ib_dma_mapping_error(ibdev, slot->dma)) {
			kfree(slot->buf);
			slot->buf = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

/**
 * rtgt_slots_post() - post all slots as receives
 * @conn: its QP is in INIT or later
 *
 * Return: 0, or what ib_post_recv() says; the teardown's drain gets back those
 * that were posted.
 */
int rtgt_slots_post(struct rtgt_conn *conn)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < conn->nr_slots; i++)
		ret = slot_post_recv(&conn->slots[i]);
	return ret;
}

/**
 * rtgt_slots_cancel() - wait for deferred operations
 * @conn: its receive queue is drained, so no new ones come
 *
 * May sleep.  Replies may have been posted when this returns: drain the send
 * queue after it.
 */
void rtgt_slots_cancel(struct rtgt_conn *conn)
{
	unsigned int i;

	for (i = 0; conn->slots && i < conn->nr_slots; i++)
		if (conn->slots[i].buf)
			cancel_work_sync(&conn->slots[i].work);
}

/**
 * rtgt_slots_destroy() - free the receives
 * @conn: its QP is drained; the device is still there
 */
void rtgt_slots_destroy(struct rtgt_conn *conn)
{
	unsigned int i;

	for (i = 0; conn->slots && i < conn->nr_slots; i++) {
		struct rtgt_slot *slot = &conn->slots[i];

		if (!slot->buf)
			continue;
		ib_dma_unmap_single(conn->domain->ibdev, slot->dma, conn->recv_size,
				    DMA_BIDIRECTIONAL);
		kfree(slot->buf);
	}
	kvfree(conn->slots);
	conn->slots = NULL;
}
