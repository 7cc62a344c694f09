// SPDX-License-Identifier: GPL-2.0
/*
 * After a run of the kernel's initiator: do both ends hold the same bytes?
 *
 * The initiator requests from the target the checksum of what was written or read, one
 * at a time on the run's queue pair, on which no request of the run is outstanding.  The
 * completions are on the stack, so a failure drains the queue pair before it returns.
 */
#include <linux/completion.h>
#include <linux/minmax.h>
#include <rdma/ib_verbs.h>

#include "core/mem.h"
#include "initiator/initiator.h"
#include "initiator/request.h"
#include "initiator/run.h"
#include "initiator/verify.h"
#include "proto/proto.h"

struct once {
	struct ib_cqe cqe;
	struct completion done;
	struct ib_wc wc;
};

static void once_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct once *once = container_of(wc->wr_cqe, struct once, cqe);
	struct rtgt_run *run = container_of(cq->cq_context, struct rtgt_run, cq);

	once->wc = *wc;
	complete(&once->done);
	wake_up(&run->ini->wake);
}

static void once_init(struct once *once)
{
	once->cqe.done = once_done;
	init_completion(&once->done);
}

static int once_wait(struct rtgt_run *run, struct once *once)
{
	int ret = rtgt_run_wait(run, &once->done);

	if (!ret && once->wc.status != IB_WC_SUCCESS)
		ret = -EIO;
	return ret;
}

/* The target's CRC-32 of a range of the region. */
static int ask_checksum(struct rtgt_run *run, u64 offset, u32 *crc)
{
	struct rtgt_ini_req *req = &run->reqs[run->cfg.depth];
	u32 size = sizeof(struct rtgt_msg) + sizeof(struct rtgt_range);
	struct rtgt_reply reply;
	struct once sent, got;
	struct ib_sge sge = {
		.addr = req->tx_dma,
		.length = size,
		.lkey = run->pd->local_dma_lkey,
	};
	struct ib_send_wr send = {
		.wr_cqe = &sent.cqe,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	int ret;

	once_init(&sent);
	once_init(&got);
	ib_dma_sync_single_for_cpu(run->id->device, req->tx_dma, size, DMA_TO_DEVICE);
	rtgt_encode_msg(req->tx, RTGT_MSG_CHECKSUM, 0, sizeof(struct rtgt_range));
	rtgt_encode_range(req->tx + sizeof(struct rtgt_msg), run->cfg.region, offset,
			  run->cfg.size);
	ib_dma_sync_single_for_device(run->id->device, req->tx_dma, size, DMA_TO_DEVICE);
	ret = rtgt_ini_req_post_recv(req, &got.cqe);
	if (ret)
		return ret;
	ret = ib_post_send(run->id->qp, &send, NULL);
	/* both are on this stack: they must have completed before it returns */
	if (!ret)
		ret = once_wait(run, &sent);
	if (!ret)
		ret = once_wait(run, &got);
	if (ret) {
		ib_drain_qp(run->id->qp);
		return ret;
	}
	ib_dma_sync_single_for_cpu(run->id->device, req->rx_dma, req->recv_sge.length,
				   DMA_FROM_DEVICE);
	if (rtgt_decode_reply(req->rx, got.wc.byte_len, &reply) || reply.status != RTGT_OK ||
	    reply.op != RTGT_MSG_CHECKSUM || reply.covered != run->cfg.size)
		return -EPROTO;
	*crc = reply.crc;
	return 0;
}

/* One more READ, of bytes from @offset on: all READs of a run have one buffer. */
static int read_once(struct rtgt_run *run, u64 offset)
{
	struct rtgt_ini_req *req = &run->reqs[0];
	struct once once;
	int ret;

	once_init(&once);
	rtgt_ini_req_sync_for_device(req);
	rtgt_ini_req_cut(req, 0, run->cfg.size);
	req->wr.rdma.remote_addr = run->peer.region[run->cfg.region].addr + offset;
	req->wr.send.wr_cqe = &once.cqe;
	req->wr.send.next = NULL;
	req->wr.send.send_flags = IB_SEND_SIGNALED;
	ret = ib_post_send(run->id->qp, &req->wr.send, NULL);
	if (!ret)
		ret = once_wait(run, &once);
	if (ret)
		ib_drain_qp(run->id->qp);
	return ret;
}

/* The CRC-32 of the local bytes of a request. */
static u32 req_checksum(struct rtgt_ini_req *req)
{
	rtgt_ini_req_sync_for_cpu(req);
	return rtgt_mem_crc32(req->bytes->mem, 0, req->run->cfg.size);
}

/* How many different offsets the operations used. */
static u32 places_used(const struct rtgt_run *run)
{
	return min_t(u64, rtgt_run_places(run),
		     run->cfg.walk ? run->total : min(run->cfg.depth, run->total));
}

/**
 * rtgt_run_verify() - check that both ends hold the same bytes
 * @run: all its operations succeeded
 * @bytes: set to the number of bytes that were compared
 *
 * Compares each offset that WRITEs used.  Of READs it compares what each returned, if each
 * has its own memory, otherwise it READs each offset once more.  Echoes and atomics were
 * compared as they completed.  May sleep.
 *
 * Return: 0; -EILSEQ when bytes differ; another negative errno when they could not be
 * compared.
 */
int rtgt_run_verify(struct rtgt_run *run, u64 *bytes)
{
	enum rtgt_ini_op op = run->cfg.op;
	bool all = run->cfg.verify_all;
	u32 i, mine = 0, crc;
	int ret = 0;

	*bytes = 0;
	if (op == RTGT_INI_SEND || rtgt_op_is_atomic(op)) {
		*bytes = (u64)run->cfg.size *
			 (op == RTGT_INI_SEND && !all ? min(2U, run->total) : run->total);
		return 0;
	}
	/* a target without the rtgt protocol has no checksums */
	if (!run->peer.rtgt)
		return 0;
	for (i = 0; i < places_used(run) && !ret; i++) {
		u64 offset = run->cfg.offset + (u64)i * run->cfg.size;

		if (op == RTGT_INI_READ && !all)
			ret = read_once(run, offset);
		/* all WRITEs have the same bytes, unless each request has its own memory */
		if (!i || op == RTGT_INI_READ || all)
			mine = req_checksum(&run->reqs[all ? i : 0]);
		if (!ret)
			ret = ask_checksum(run, offset, &crc);
		if (!ret && crc != mine)
			ret = -EILSEQ;
		if (!ret)
			*bytes += run->cfg.size;
	}
	return ret;
}
