// SPDX-License-Identifier: GPL-2.0
/*
 * After a run of the kernel's initiator: do both ends hold the same bytes?
 *
 * The target is asked for the checksum of what was written or read.  Each question
 * is one operation at a time on the run's queue pair, which no lane uses any more;
 * what it needs lives on the stack, so a question that fails drains the queue pair
 * before it returns.
 */
#include "initiator/initiator.h"

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
	struct rtgt_lane *lane = &run->lanes[run->cfg.depth];
	u32 size = sizeof(struct rtgt_msg) + sizeof(struct rtgt_range);
	struct rtgt_reply reply;
	struct once sent, got;
	struct ib_sge sge = {
		.addr = lane->tx_dma,
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
	ib_dma_sync_single_for_cpu(run->id->device, lane->tx_dma, size, DMA_TO_DEVICE);
	rtgt_encode_msg(lane->tx, RTGT_MSG_CHECKSUM, 0, sizeof(struct rtgt_range));
	rtgt_encode_range(lane->tx + sizeof(struct rtgt_msg), run->cfg.region, offset,
			  run->cfg.size);
	ib_dma_sync_single_for_device(run->id->device, lane->tx_dma, size, DMA_TO_DEVICE);
	ret = rtgt_lane_post_recv(lane, &got.cqe);
	if (ret)
		return ret;
	ret = ib_post_send(run->id->qp, &send, NULL);
	/* both live on this stack: whatever happens, they must have ended */
	if (!ret)
		ret = once_wait(run, &sent);
	if (!ret)
		ret = once_wait(run, &got);
	if (ret) {
		ib_drain_qp(run->id->qp);
		return ret;
	}
	ib_dma_sync_single_for_cpu(run->id->device, lane->rx_dma, lane->recv_sge.length,
				   DMA_FROM_DEVICE);
	if (rtgt_decode_reply(lane->rx, got.wc.byte_len, &reply) || reply.status != RTGT_OK ||
	    reply.op != RTGT_MSG_CHECKSUM || reply.covered != run->cfg.size)
		return -EPROTO;
	*crc = reply.crc;
	return 0;
}

/* One more READ, of bytes from @offset on: all READs of a run have one buffer. */
static int read_once(struct rtgt_run *run, u64 offset)
{
	struct rtgt_lane *lane = &run->lanes[0];
	struct once once;
	int ret;

	once_init(&once);
	rtgt_lane_bytes_to_device(lane);
	rtgt_lane_cut(lane, 0, run->cfg.size);
	lane->wr.rdma.remote_addr = run->peer.region[run->cfg.region].addr + offset;
	lane->wr.send.wr_cqe = &once.cqe;
	lane->wr.send.next = NULL;
	lane->wr.send.send_flags = IB_SEND_SIGNALED;
	ret = ib_post_send(run->id->qp, &lane->wr.send, NULL);
	if (!ret)
		ret = once_wait(run, &once);
	if (ret)
		ib_drain_qp(run->id->qp);
	return ret;
}

/* The CRC-32 of the bytes a lane has here. */
static u32 lane_checksum(struct rtgt_lane *lane)
{
	rtgt_lane_bytes_to_cpu(lane);
	return rtgt_mem_crc32(lane->bytes->mem, 0, lane->run->cfg.size);
}

/* How many places the operations went to. */
static u32 run_places(const struct rtgt_run *run)
{
	return min_t(u64, rtgt_lanes_places(run),
		     run->cfg.walk ? run->total : min(run->cfg.depth, run->total));
}

/**
 * rtgt_lanes_verify() - do both ends hold the same?
 * @run: all operations went well
 * @bytes: how many were compared
 *
 * Of WRITEs every place they went to, of READs one more from every place, or what each
 * brought.  Echoes and atomics were compared while they came.  May sleep.
 *
 * Return: 0; -EILSEQ when bytes differ; another negative errno when it could not be
 * found out.
 */
int rtgt_lanes_verify(struct rtgt_run *run, u64 *bytes)
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
	/* a plain target cannot be asked */
	if (!run->peer.rtgt)
		return 0;
	for (i = 0; i < run_places(run) && !ret; i++) {
		u64 offset = run->cfg.offset + (u64)i * run->cfg.size;

		if (op == RTGT_INI_READ && !all)
			ret = read_once(run, offset);
		/* the bytes that went out are the same everywhere, unless each has its own */
		if (!i || op == RTGT_INI_READ || all)
			mine = lane_checksum(&run->lanes[all ? i : 0]);
		if (!ret)
			ret = ask_checksum(run, offset, &crc);
		if (!ret && crc != mine)
			ret = -EILSEQ;
		if (!ret)
			*bytes += run->cfg.size;
	}
	return ret;
}
