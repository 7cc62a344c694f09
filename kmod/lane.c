// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of the kernel's initiator: posted, timed, posted again.
 *
 * A lane is one operation under way; a run has as many as its depth.  The completion
 * of one posts the next from where it is, so nothing is woken, locked or allocated
 * between two operations; work requests are made once.  Completions of a run's one
 * CQ never run two at a time, so a lane and the run's figures have one owner.
 *
 * What is answered by a message (SEND, WRITE_WITH_IMM) is timed until the answer is
 * here.  The answer's tag is the number of its lane: with several under way an
 * answer need not come in the receive its lane posted.
 *
 * Any failure is noted once and ends the run: no lane posts again, and those under
 * way end when the QP is drained.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "initiator.h"

/* Of requests that are answered every so many asks for a completion */
#define LANE_SIGNAL_EVERY	16

/* room for any answer but an echo, and for the request of a checksum */
#define LANE_MSG_SIZE		64

/**
 * rtgt_op_is_atomic() - is it of eight bytes, always?
 * @op: operation
 *
 * Return: true if it is.
 */
bool rtgt_op_is_atomic(enum rtgt_ini_op op)
{
	return op == RTGT_INI_CAS || op == RTGT_INI_FAA;
}

/**
 * rtgt_op_is_answered() - is the target's answer waited for?
 * @op: operation
 *
 * Return: true if it is, false if the completion is all there is.
 */
bool rtgt_op_is_answered(enum rtgt_ini_op op)
{
	return op == RTGT_INI_SEND || op == RTGT_INI_WRITE_IMM;
}

static u32 lane_number(const struct rtgt_lane *lane)
{
	return lane - lane->run->lanes;
}

static u32 lane_rx_size(const struct rtgt_ini_cfg *cfg)
{
	u32 echo = cfg->op == RTGT_INI_SEND ? sizeof(struct rtgt_msg) + cfg->size : 0;

	return max_t(u32, echo, LANE_MSG_SIZE);
}

/* ---------------------------------------------------------------- under way */

static void lane_retire(struct rtgt_run *run)
{
	if (atomic_dec_and_test(&run->under_way)) {
		complete(&run->all_done);
		wake_up(&run->ini->wake);
	}
}

/* The first failure counts; whoever waits looks at it. */
static void run_fail(struct rtgt_run *run, int why)
{
	if (!cmpxchg(&run->failed, 0, why))
		wake_up(&run->ini->wake);
}

/**
 * rtgt_lanes_places() - how many operations have room beside each other
 * @run: knows its peer; offset and span are inside the region
 *
 * Return: how many times the size fits into the part of the region that is used.
 */
u64 rtgt_lanes_places(const struct rtgt_run *run)
{
	const struct rtgt_ini_cfg *cfg = &run->cfg;
	u64 rest = run->peer.region[cfg->region].len - cfg->offset;

	return div_u64(cfg->span ?: rest, cfg->size);
}

/* Where the iteration takes place, counted from the region's first byte. */
static u64 lane_offset(const struct rtgt_lane *lane)
{
	const struct rtgt_run *run = lane->run;
	u64 place = run->cfg.walk ? lane->index : lane_number(lane);
	u64 nth;

	div64_u64_rem(place, rtgt_lanes_places(run), &nth);
	return run->cfg.offset + nth * run->cfg.size;
}

static int lane_post_recv(struct rtgt_lane *lane)
{
	struct ib_recv_wr wr = {
		.wr_cqe = &lane->recv_cqe,
		.sg_list = &lane->recv_sge,
		.num_sge = 1,
	};

	return ib_post_recv(lane->run->id->qp, &wr, NULL);
}

static int lane_post(struct rtgt_lane *lane)
{
	struct rtgt_run *run = lane->run;

	if (run->cfg.walk && run->cfg.op != RTGT_INI_SEND)
		lane->wr.rdma.remote_addr = run->peer.region[run->cfg.region].addr +
					    lane_offset(lane);
	if (rtgt_op_is_answered(run->cfg.op))
		lane->wr.send.send_flags = lane->index % LANE_SIGNAL_EVERY ? 0 : IB_SEND_SIGNALED;
	lane->start = ktime_get_ns();
	if (!lane->index)
		run->begin = lane->start;
	return ib_post_send(run->id->qp, &lane->wr.send, NULL);
}

/* Post the next iteration, if there is one; its answer may come into @got's receive. */
static void lane_go(struct rtgt_lane *lane, struct rtgt_lane *got)
{
	struct rtgt_run *run = lane->run;

	lane->index = atomic_inc_return(&run->next) - 1;
	if (lane->index >= run->total || READ_ONCE(run->failed) || READ_ONCE(run->ini->stop)) {
		lane_retire(run);
	} else if ((rtgt_op_is_answered(run->cfg.op) && lane_post_recv(got)) || lane_post(lane)) {
		run_fail(run, -1);
		lane_retire(run);
	}
}

static void lane_done(struct rtgt_lane *lane)
{
	struct rtgt_run *run = lane->run;
	u64 now = ktime_get_ns();

	WRITE_ONCE(run->progress, run->progress + 1);
	/* with several under way, the first that counts was posted long before */
	if (run->progress == run->cfg.warmup)
		run->begin = now;
	if (lane->index >= run->cfg.warmup) {
		run->sample[lane->index - run->cfg.warmup] = min_t(u64, now - lane->start, U32_MAX);
		run->end = now;
	}
}

/*
 * The value an atomic found must be the one this lane left there: nobody else has
 * been told the place.  The first one finds out.
 */
static bool lane_atomic_ok(struct rtgt_lane *lane)
{
	struct ib_atomic_wr *wr = &lane->wr.atomic;
	u64 old = ((u64 *)page_address(lane->run->mem->chunk[0]))[lane_number(lane)];
	bool ok = !lane->known || old == lane->value;

	if (lane->run->cfg.op == RTGT_INI_FAA) {
		lane->value = old + wr->compare_add;
	} else {
		/* the first comparison fails, most likely */
		lane->value = old == wr->compare_add ? wr->swap : old;
		wr->compare_add = lane->value;
		wr->swap = lane->value + 1;
	}
	lane->known = true;
	return ok;
}

/* The operation itself is what was waited for. */
static void lane_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_lane *lane = container_of(wc->wr_cqe, struct rtgt_lane, send_cqe);
	struct rtgt_run *run = lane->run;

	if (wc->status != IB_WC_SUCCESS) {
		run_fail(run, wc->status);
		lane_retire(run);
		return;
	}
	lane_done(lane);
	if (rtgt_op_is_atomic(run->cfg.op) && !lane_atomic_ok(lane))
		run_fail(run, -1);
	lane_go(lane, lane);
}

/* The request of something that will be answered. */
static void lane_idle_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_lane *lane = container_of(wc->wr_cqe, struct rtgt_lane, idle_cqe);

	if (wc->status != IB_WC_SUCCESS)
		run_fail(lane->run, wc->status);
}

/* Is it the answer to a request under way?  The first and the last echo are compared. */
static struct rtgt_lane *lane_answered(struct rtgt_lane *got, u32 len)
{
	struct rtgt_run *run = got->run;
	bool echo = run->cfg.op == RTGT_INI_SEND;
	struct rtgt_lane *lane;
	u32 tag;

	if (rtgt_decode_reply(got->rx, len, echo ? RTGT_MSG_ECHO : RTGT_MSG_IMM,
			      echo ? run->cfg.size : sizeof(struct rtgt_imm_ack), &tag) ||
	    tag >= run->cfg.depth)
		return NULL;
	lane = &run->lanes[tag];
	if (echo && (!lane->index || lane->index == run->total - 1) &&
	    memcmp(got->rx + sizeof(struct rtgt_msg), lane->tx + sizeof(struct rtgt_msg),
		   run->cfg.size))
		return NULL;
	return lane;
}

static void lane_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_lane *got = container_of(wc->wr_cqe, struct rtgt_lane, recv_cqe);
	struct rtgt_run *run = got->run;
	struct rtgt_lane *lane;

	if (wc->status != IB_WC_SUCCESS) {
		/* what failed before says more */
		if (wc->status != IB_WC_WR_FLUSH_ERR)
			run_fail(run, wc->status);
		return;
	}
	ib_dma_sync_single_for_cpu(cq->device, got->rx_dma, got->recv_sge.length, DMA_FROM_DEVICE);
	lane = lane_answered(got, wc->byte_len);
	if (!lane) {
		run_fail(run, -1);
		return;
	}
	lane_done(lane);
	lane_go(lane, got);
}

/* ------------------------------------------------------------------ made once */

static int run_map(struct rtgt_run *run)
{
	struct rtgt_mem *mem = run->mem;
	size_t chunk = PAGE_SIZE << mem->order;
	struct scatterlist *sg;
	u64 left = mem->size;
	unsigned int i;
	int ret;

	ret = sg_alloc_table(&run->sgt, mem->nr, GFP_KERNEL);
	if (ret)
		return ret;
	for_each_sgtable_sg(&run->sgt, sg, i) {
		sg_set_page(sg, mem->chunk[i], min_t(u64, left, chunk), 0);
		left -= min_t(u64, left, chunk);
		get_random_bytes(page_address(mem->chunk[i]), sg->length);
	}
	ret = ib_dma_map_sgtable_attrs(run->id->device, &run->sgt, DMA_BIDIRECTIONAL, 0);
	if (ret)
		sg_free_table(&run->sgt);
	run->mapped = !ret;
	return ret;
}

/* The local bytes of one-sided operations: the same for all lanes, but of atomics. */
static int run_create_mem(struct rtgt_run *run)
{
	const struct rtgt_ini_cfg *cfg = &run->cfg;
	struct rtgt_spec spec = {
		.name = "initiator",
		.size = rtgt_op_is_atomic(cfg->op) ? cfg->depth * sizeof(u64) : cfg->size,
	};

	if (cfg->op == RTGT_INI_SEND)
		return 0;
	run->mem = rtgt_mem_alloc(&spec);
	if (!run->mem)
		return -ENOMEM;
	if (run->mem->nr > RTGT_LANE_SGES || run->mem->nr > run->id->device->attrs.max_send_sge ||
	    (cfg->op == RTGT_INI_READ && run->mem->nr > run->id->device->attrs.max_sge_rd))
		return -E2BIG;
	return run_map(run);
}

static int lane_create_msgs(struct rtgt_lane *lane)
{
	struct rtgt_run *run = lane->run;
	struct ib_device *ibdev = run->id->device;
	u32 size = lane_rx_size(&run->cfg);

	lane->tx = kmalloc(size, GFP_KERNEL | __GFP_NOWARN);
	lane->rx = kmalloc(size, GFP_KERNEL | __GFP_NOWARN);
	if (!lane->tx || !lane->rx)
		return -ENOMEM;
	lane->tx_dma = ib_dma_map_single(ibdev, lane->tx, size, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(ibdev, lane->tx_dma))
		return -ENOMEM;
	lane->tx_mapped = true;
	lane->rx_dma = ib_dma_map_single(ibdev, lane->rx, size, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ibdev, lane->rx_dma))
		return -ENOMEM;
	lane->rx_mapped = true;
	lane->recv_sge = (struct ib_sge){
		.addr = lane->rx_dma,
		.length = size,
		.lkey = run->pd->local_dma_lkey,
	};
	return 0;
}

static void lane_make_sges(struct rtgt_lane *lane)
{
	struct rtgt_run *run = lane->run;
	struct ib_send_wr *wr = &lane->wr.send;
	struct scatterlist *sg;
	int i;

	wr->sg_list = lane->sge;
	wr->num_sge = 1;
	lane->sge[0].lkey = run->pd->local_dma_lkey;
	if (run->cfg.op == RTGT_INI_SEND) {
		lane->sge[0].addr = lane->tx_dma;
		lane->sge[0].length = sizeof(struct rtgt_msg) + run->cfg.size;
		return;
	}
	if (rtgt_op_is_atomic(run->cfg.op)) {
		lane->sge[0].addr = sg_dma_address(run->sgt.sgl) + lane_number(lane) * sizeof(u64);
		lane->sge[0].length = sizeof(u64);
		return;
	}
	wr->num_sge = run->sgt.nents;
	for_each_sgtable_dma_sg(&run->sgt, sg, i) {
		lane->sge[i].addr = sg_dma_address(sg);
		lane->sge[i].length = sg_dma_len(sg);
		lane->sge[i].lkey = run->pd->local_dma_lkey;
	}
}

static void lane_make_wr(struct rtgt_lane *lane)
{
	static const enum ib_wr_opcode opcodes[] = {
		[RTGT_INI_WRITE] = IB_WR_RDMA_WRITE,
		[RTGT_INI_READ] = IB_WR_RDMA_READ,
		[RTGT_INI_WRITE_IMM] = IB_WR_RDMA_WRITE_WITH_IMM,
		[RTGT_INI_SEND] = IB_WR_SEND,
		[RTGT_INI_CAS] = IB_WR_ATOMIC_CMP_AND_SWP,
		[RTGT_INI_FAA] = IB_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct rtgt_run *run = lane->run;
	struct ib_send_wr *wr = &lane->wr.send;
	u64 addr;

	wr->wr_cqe = rtgt_op_is_answered(run->cfg.op) ? &lane->idle_cqe : &lane->send_cqe;
	wr->opcode = opcodes[run->cfg.op];
	wr->send_flags = IB_SEND_SIGNALED;
	lane_make_sges(lane);
	if (run->cfg.op == RTGT_INI_SEND) {
		get_random_bytes(lane->tx + sizeof(struct rtgt_msg), run->cfg.size);
		rtgt_encode_msg(lane->tx, RTGT_MSG_ECHO, lane_number(lane), run->cfg.size);
		ib_dma_sync_single_for_device(run->id->device, lane->tx_dma,
					      lane_rx_size(&run->cfg), DMA_TO_DEVICE);
		return;
	}
	addr = run->peer.region[run->cfg.region].addr + lane_offset(lane);
	if (rtgt_op_is_atomic(run->cfg.op)) {
		lane->wr.atomic.remote_addr = addr;
		lane->wr.atomic.rkey = run->peer.region[run->cfg.region].rkey;
		lane->wr.atomic.compare_add = run->cfg.op == RTGT_INI_FAA;
		return;
	}
	lane->wr.rdma.remote_addr = addr;
	lane->wr.rdma.rkey = run->peer.region[run->cfg.region].rkey;
	if (run->cfg.op == RTGT_INI_WRITE_IMM)
		wr->ex.imm_data = cpu_to_be32(rtgt_imm(RTGT_IMM_ACK, lane_number(lane)));
}

/**
 * rtgt_lanes_send_depth() - how large a send queue must be
 * @cfg: of the run
 *
 * Return: work requests.
 */
u32 rtgt_lanes_send_depth(const struct rtgt_ini_cfg *cfg)
{
	return cfg->depth + (rtgt_op_is_answered(cfg->op) ? LANE_SIGNAL_EVERY : 0);
}

/**
 * rtgt_lanes_create() - make all that an operation needs
 * @run: connected
 *
 * There is one lane more than the depth, for rtgt_lanes_verify().  May sleep.
 *
 * Return: 0 or a negative errno; rtgt_lanes_destroy() in either case.
 */
int rtgt_lanes_create(struct rtgt_run *run)
{
	u32 nr = run->cfg.depth + 1, i;
	int ret;

	run->lanes = kvcalloc(nr, sizeof(*run->lanes), GFP_KERNEL);
	if (!run->lanes)
		return -ENOMEM;
	ret = run_create_mem(run);
	for (i = 0; i < nr && !ret; i++) {
		struct rtgt_lane *lane = &run->lanes[i];

		lane->run = run;
		lane->send_cqe.done = lane_send_done;
		lane->idle_cqe.done = lane_idle_done;
		lane->recv_cqe.done = lane_recv_done;
		ret = lane_create_msgs(lane);
		if (!ret && i < run->cfg.depth)
			lane_make_wr(lane);
	}
	return ret;
}

/**
 * rtgt_lanes_destroy() - free it
 * @run: its QP is drained
 */
void rtgt_lanes_destroy(struct rtgt_run *run)
{
	u32 size = lane_rx_size(&run->cfg), i;

	for (i = 0; run->lanes && i <= run->cfg.depth; i++) {
		struct rtgt_lane *lane = &run->lanes[i];

		if (lane->tx_mapped)
			ib_dma_unmap_single(run->id->device, lane->tx_dma, size, DMA_TO_DEVICE);
		if (lane->rx_mapped)
			ib_dma_unmap_single(run->id->device, lane->rx_dma, size, DMA_FROM_DEVICE);
		kfree(lane->tx);
		kfree(lane->rx);
	}
	kvfree(run->lanes);
	if (run->mapped) {
		ib_dma_unmap_sgtable_attrs(run->id->device, &run->sgt, DMA_BIDIRECTIONAL, 0);
		sg_free_table(&run->sgt);
	}
	rtgt_mem_put(run->mem);
}

/**
 * rtgt_lanes_start() - post the first operation of each lane
 * @run: with lanes
 *
 * @run->all_done is completed when no lane is under way any more.  An answer that
 * never comes keeps its lane: the caller bounds the time and drains the QP.
 */
void rtgt_lanes_start(struct rtgt_run *run)
{
	u32 i;

	atomic_set(&run->under_way, run->cfg.depth + 1);
	for (i = 0; i < run->cfg.depth; i++)
		lane_go(&run->lanes[i], &run->lanes[i]);
	lane_retire(run);
}
