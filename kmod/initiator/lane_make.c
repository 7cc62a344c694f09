// SPDX-License-Identifier: GPL-2.0
/*
 * What the operations of the kernel's initiator need, made before the first and freed
 * behind the last: work requests, messages, and the local bytes of one-sided
 * operations.
 *
 * Those bytes are the same for all lanes, but where each operation is verified by
 * itself: then each lane has its own.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "initiator/initiator.h"

/* room for any answer but an echo, and for the request of a checksum */
#define LANE_MSG_SIZE		64

static u32 lane_rx_size(const struct rtgt_ini_cfg *cfg)
{
	u32 echo = cfg->op == RTGT_INI_SEND ? sizeof(struct rtgt_msg) + cfg->size : 0;

	return max_t(u32, echo, LANE_MSG_SIZE);
}

static int bytes_map(struct rtgt_run *run, struct rtgt_lane_bytes *bytes)
{
	struct rtgt_mem *mem = bytes->mem;
	size_t chunk = PAGE_SIZE << mem->order;
	struct scatterlist *sg;
	u64 left = mem->size;
	unsigned int i;
	int ret;

	ret = sg_alloc_table(&bytes->sgt, mem->nr, GFP_KERNEL);
	if (ret)
		return ret;
	for_each_sgtable_sg(&bytes->sgt, sg, i) {
		sg_set_page(sg, mem->chunk[i], min_t(u64, left, chunk), 0);
		left -= min_t(u64, left, chunk);
		get_random_bytes(page_address(mem->chunk[i]), sg->length);
	}
	ret = ib_dma_map_sgtable_attrs(run->id->device, &bytes->sgt, DMA_BIDIRECTIONAL, 0);
	if (ret)
		sg_free_table(&bytes->sgt);
	bytes->mapped = !ret;
	return ret;
}

static int bytes_create(struct rtgt_run *run, struct rtgt_lane_bytes *bytes)
{
	const struct rtgt_ini_cfg *cfg = &run->cfg;
	const struct ib_device_attr *can = &run->id->device->attrs;
	struct rtgt_spec spec = {
		.name = "initiator",
		.size = rtgt_op_is_atomic(cfg->op) ? cfg->depth * sizeof(u64) : cfg->size,
	};
	u32 most;

	bytes->mem = rtgt_mem_alloc(&spec);
	if (!bytes->mem)
		return -ENOMEM;
	most = min_t(u32, RTGT_LANE_SGES,
		     cfg->op == RTGT_INI_READ ? min(can->max_sge_rd, can->max_send_sge) :
						can->max_send_sge);
	if (bytes->mem->nr > most)
		return rtgt_run_fail(run, -E2BIG,
				     "size %u is %u pieces of memory, a request of the device has %u: lower size",
				     cfg->size, bytes->mem->nr, most);
	return bytes_map(run, bytes);
}

static void bytes_destroy(struct rtgt_run *run, struct rtgt_lane_bytes *bytes)
{
	if (bytes->mapped) {
		ib_dma_unmap_sgtable_attrs(run->id->device, &bytes->sgt, DMA_BIDIRECTIONAL, 0);
		sg_free_table(&bytes->sgt);
	}
	rtgt_mem_put(bytes->mem);
}

static int lane_create_bytes(struct rtgt_lane *lane)
{
	struct rtgt_run *run = lane->run;
	bool own = lane == run->lanes ||
		   (run->cfg.verify_all && !rtgt_op_is_atomic(run->cfg.op));

	if (run->cfg.op == RTGT_INI_SEND)
		return 0;
	lane->bytes = own ? &lane->own : &run->lanes[0].own;
	return own ? bytes_create(run, lane->bytes) : 0;
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

/**
 * rtgt_lane_bytes_to_cpu() - let the CPU read what the device has written
 * @lane: of a one-sided operation; none of its requests is outstanding
 *
 * Any context.
 */
void rtgt_lane_bytes_to_cpu(struct rtgt_lane *lane)
{
	struct ib_device *ibdev = lane->run->id->device;

	if (!ib_uses_virt_dma(ibdev))
		dma_sync_sgtable_for_cpu(ibdev->dma_device, &lane->bytes->sgt, DMA_BIDIRECTIONAL);
}

/**
 * rtgt_lane_bytes_to_device() - let the device write there again
 * @lane: likewise
 *
 * Any context.
 */
void rtgt_lane_bytes_to_device(struct rtgt_lane *lane)
{
	struct ib_device *ibdev = lane->run->id->device;

	if (!ib_uses_virt_dma(ibdev))
		dma_sync_sgtable_for_device(ibdev->dma_device, &lane->bytes->sgt,
					    DMA_BIDIRECTIONAL);
}

/**
 * rtgt_lane_cut() - let a lane's request move a part of its bytes
 * @lane: of a WRITE or a READ
 * @at: where the part begins
 * @len: its bytes, not 0; with @at at most rtgt_ini_cfg.size
 *
 * Where it goes at the target is the caller's.  Any context.
 */
void rtgt_lane_cut(struct rtgt_lane *lane, u32 at, u32 len)
{
	struct ib_sge *sge = lane->sge;
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(&lane->bytes->sgt, sg, i) {
		u32 skip = min(at, sg_dma_len(sg));

		at -= skip;
		if (skip == sg_dma_len(sg))
			continue;
		sge->addr = sg_dma_address(sg) + skip;
		sge->length = min(len, sg_dma_len(sg) - skip);
		sge->lkey = lane->run->pd->local_dma_lkey;
		len -= sge++->length;
		if (!len)
			break;
	}
	lane->wr.send.num_sge = sge - lane->sge;
}

static void lane_make_sges(struct rtgt_lane *lane)
{
	struct rtgt_run *run = lane->run;
	struct ib_send_wr *wr = &lane->wr.send;

	wr->sg_list = lane->sge;
	wr->num_sge = 1;
	lane->sge[0].lkey = run->pd->local_dma_lkey;
	if (run->cfg.op == RTGT_INI_SEND) {
		lane->sge[0].addr = lane->tx_dma;
		lane->sge[0].length = sizeof(struct rtgt_msg) + run->cfg.size;
		return;
	}
	if (rtgt_op_is_atomic(run->cfg.op)) {
		lane->sge[0].addr = sg_dma_address(lane->bytes->sgt.sgl) +
				    rtgt_lane_number(lane) * sizeof(u64);
		lane->sge[0].length = sizeof(u64);
		return;
	}
	rtgt_lane_cut(lane, 0, run->cfg.size);
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
		ib_dma_sync_single_for_cpu(run->id->device, lane->tx_dma, lane_rx_size(&run->cfg),
					   DMA_TO_DEVICE);
		get_random_bytes(lane->tx + sizeof(struct rtgt_msg), run->cfg.size);
		rtgt_encode_msg(lane->tx, RTGT_MSG_ECHO, rtgt_lane_number(lane), run->cfg.size);
		ib_dma_sync_single_for_device(run->id->device, lane->tx_dma,
					      lane_rx_size(&run->cfg), DMA_TO_DEVICE);
		return;
	}
	addr = run->peer.region[run->cfg.region].addr + rtgt_lane_offset(lane);
	if (rtgt_op_is_atomic(run->cfg.op)) {
		lane->wr.atomic.remote_addr = addr;
		lane->wr.atomic.rkey = run->peer.region[run->cfg.region].rkey;
		lane->wr.atomic.compare_add = run->cfg.op == RTGT_INI_FAA;
		return;
	}
	lane->wr.rdma.remote_addr = addr;
	lane->wr.rdma.rkey = run->peer.region[run->cfg.region].rkey;
	if (run->cfg.op == RTGT_INI_WRITE_IMM)
		wr->ex.imm_data = cpu_to_be32(rtgt_imm(RTGT_IMM_ACK, rtgt_lane_number(lane)));
}

/**
 * rtgt_lanes_send_depth() - how large a send queue must be
 * @cfg: of the run
 *
 * Return: work requests.
 */
u32 rtgt_lanes_send_depth(const struct rtgt_ini_cfg *cfg)
{
	return cfg->depth + (rtgt_op_is_answered(cfg->op) ? RTGT_LANE_SIGNAL_EVERY : 0);
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
	int ret = 0;

	run->lanes = kvcalloc(nr, sizeof(*run->lanes), GFP_KERNEL);
	if (!run->lanes)
		return -ENOMEM;
	for (i = 0; i < nr && !ret; i++) {
		struct rtgt_lane *lane = &run->lanes[i];

		lane->run = run;
		rtgt_lane_init(lane);
		ret = lane_create_msgs(lane);
		if (ret || i == run->cfg.depth)
			break;
		ret = lane_create_bytes(lane);
		if (!ret)
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
		bytes_destroy(run, &lane->own);
	}
	kvfree(run->lanes);
}
