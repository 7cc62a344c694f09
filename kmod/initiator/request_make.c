// SPDX-License-Identifier: GPL-2.0
/*
 * What the requests of a run need, made before the first operation and freed after the
 * last one: work requests, messages, and the local memory of one-sided operations.  And
 * what follows from the attributes alone: where in the region each operation goes.
 *
 * A READ over iWARP tells the target the address of the local memory.  So that memory is
 * registered, at an address chosen at random, and by the queue pair of the run.
 *
 * All requests use the same local memory, except READs of which each is verified.
 */
#include <linux/hash.h>
#include <linux/math64.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "initiator/request.h"

/* WRITEs begin at one of 2^10 cache lines of the local memory, so it has 64 KiB more than one */
#define SHIFT_BITS		10
#define SHIFT_STEP		64
#define SHIFT_BYTES		(SHIFT_STEP << SHIFT_BITS)

/* enough for each reply but an echo, and for a CHECKSUM request */
#define REQ_MSG_SIZE		64

/* Bytes of the target's region that can be used: what the attributes need if it sent no length */
u64 rtgt_run_region_len(const struct rtgt_run *run)
{
	const struct rtgt_ini_cfg *cfg = &run->cfg;

	return rtgt_region_len(&run->peer.region[cfg->region],
			       cfg->offset + (cfg->span ?: cfg->size));
}

/* How often the size fits into the span, which is inside the region */
u64 rtgt_run_places(const struct rtgt_run *run)
{
	const struct rtgt_ini_cfg *cfg = &run->cfg;

	return div_u64(cfg->span ?: rtgt_run_region_len(run) - cfg->offset, cfg->size);
}

/* Where the operation of a request goes, in units of the size from the offset on */
u64 rtgt_ini_req_place(const struct rtgt_ini_req *req)
{
	const struct rtgt_ini_cfg *cfg = &req->run->cfg;
	u64 nth;

	div64_u64_rem(cfg->walk || cfg->verify_all ? req->index : rtgt_ini_req_number(req),
		      rtgt_run_places(req->run), &nth);
	return nth;
}

/* Where the operation of a request goes, in bytes from the start of the region */
u64 rtgt_ini_req_offset(const struct rtgt_ini_req *req)
{
	return req->run->cfg.offset + rtgt_ini_req_place(req) * req->run->cfg.size;
}

static bool op_writes(enum rtgt_ini_op op)
{
	return op == RTGT_INI_WRITE || op == RTGT_INI_WRITE_IMM;
}

/**
 * rtgt_run_shift() - return where in the local memory the bytes of an operation begin
 * @run: run
 * @index: number of the operation
 *
 * The memory is random, so WRITEs that begin at different bytes of it carry different bytes.  Of
 * any two WRITEs, one pair in 2^10 begins at the same byte.
 * Return: offset in bytes; 0 unless the operation is a WRITE.
 */
u32 rtgt_run_shift(const struct rtgt_run *run, u32 index)
{
	return op_writes(run->cfg.op) ? hash_32(index, SHIFT_BITS) * SHIFT_STEP : 0;
}

static u32 req_rx_size(const struct rtgt_ini_cfg *cfg)
{
	u32 echo = cfg->op == RTGT_INI_SEND ? sizeof(struct rtgt_msg) + cfg->size : 0;

	return max_t(u32, echo, REQ_MSG_SIZE);
}

/* Does the target get to know the address of the local memory? */
static bool bytes_exposed(const struct rtgt_run *run)
{
	return run->cfg.op == RTGT_INI_READ &&
	       rdma_protocol_iwarp(run->id->device, run->id->port_num);
}

static u32 bytes_pages(const struct rtgt_ini_buf *bytes)
{
	return DIV_ROUND_UP(bytes->mem->size, PAGE_SIZE);
}

static int bytes_register(struct rtgt_run *run, struct rtgt_ini_buf *bytes)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		/* of a READ's sink iWARP wants both */
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};
	int ret;

	bytes->mr = ib_alloc_mr(run->pd, IB_MR_TYPE_MEM_REG, bytes_pages(bytes));
	if (IS_ERR(bytes->mr)) {
		ret = PTR_ERR(bytes->mr);
		bytes->mr = NULL;
		return ret;
	}
	ret = ib_map_mr_sg(bytes->mr, bytes->sgt.sgl, bytes->sgt.nents, NULL, PAGE_SIZE);
	if (ret != bytes->sgt.nents)
		return ret < 0 ? ret : -EINVAL;
	bytes->mr->iova = rtgt_random_iova(PAGE_SIZE);
	wr.mr = bytes->mr;
	wr.key = bytes->mr->rkey;
	return rtgt_run_post_once(run, &wr.wr);
}

static int bytes_create(struct rtgt_run *run, struct rtgt_ini_buf *bytes)
{
	const struct rtgt_ini_cfg *cfg = &run->cfg;
	const struct ib_device_attr *can = &run->id->device->attrs;
	struct rtgt_spec spec = {
		.name = "initiator",
		.size = rtgt_op_is_atomic(cfg->op) ? cfg->depth * sizeof(u64) :
			cfg->size + (op_writes(cfg->op) ? SHIFT_BYTES : 0),
	};
	u32 most, pieces, i;
	int ret;

	bytes->mem = rtgt_mem_alloc(&spec);
	if (!bytes->mem)
		return -ENOMEM;
	most = min_t(u32, RTGT_INI_SGES,
		     cfg->op == RTGT_INI_READ ? min(can->max_sge_rd, can->max_send_sge) :
						can->max_send_sge);
	if (bytes_exposed(run) && bytes_pages(bytes) > can->max_fast_reg_page_list_len)
		return rtgt_run_fail(run, "size %u: above %u pages: lower size", cfg->size,
				     can->max_fast_reg_page_list_len);
	pieces = bytes->mem->nr + cfg->sges - 1;
	if (!bytes_exposed(run) && pieces > most)
		return rtgt_run_fail(run,
				     "size %u, sges %u: %u pieces of memory, a request of the device has %u: lower them",
				     cfg->size, cfg->sges, pieces, most);
	for (i = 0; i < bytes->mem->nr; i++)
		get_random_bytes(page_address(bytes->mem->chunk[i]), rtgt_mem_chunk(bytes->mem));
	ret = rtgt_mem_map(bytes->mem, 0, spec.size, run->id->device, &bytes->sgt);
	bytes->mapped = !ret;
	return ret;
}

static void bytes_destroy(struct rtgt_run *run, struct rtgt_ini_buf *bytes)
{
	if (bytes->mr)
		ib_dereg_mr(bytes->mr);
	if (bytes->mapped)
		rtgt_mem_unmap(run->id->device, &bytes->sgt);
	rtgt_mem_put(bytes->mem);
}

static int req_create_bytes(struct rtgt_ini_req *req)
{
	struct rtgt_run *run = req->run;
	bool own = req == run->reqs || (run->cfg.verify_all && run->cfg.op == RTGT_INI_READ);

	if (run->cfg.op == RTGT_INI_SEND)
		return 0;
	req->bytes = own ? &req->own : &run->reqs[0].own;
	return own ? bytes_create(run, req->bytes) : 0;
}

static int req_create_msgs(struct rtgt_ini_req *req)
{
	struct rtgt_run *run = req->run;
	struct ib_device *ibdev = run->id->device;
	u32 size = req_rx_size(&run->cfg);

	req->tx = kmalloc(size, GFP_KERNEL | __GFP_NOWARN);
	req->rx = kmalloc(size, GFP_KERNEL | __GFP_NOWARN);
	if (!req->tx || !req->rx)
		return -ENOMEM;
	if (run->cfg.op == RTGT_INI_SEND) {
		rtgt_encode_msg(req->tx, RTGT_MSG_ECHO, 0, run->cfg.size);
		get_random_bytes(req->tx + sizeof(struct rtgt_msg), run->cfg.size);
	}
	req->tx_dma = ib_dma_map_single(ibdev, req->tx, size, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(ibdev, req->tx_dma))
		return -ENOMEM;
	req->tx_mapped = true;
	req->rx_dma = ib_dma_map_single(ibdev, req->rx, size, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ibdev, req->rx_dma))
		return -ENOMEM;
	req->rx_mapped = true;
	req->recv_sge = (struct ib_sge){
		.addr = req->rx_dma,
		.length = size,
		.lkey = run->pd->local_dma_lkey,
	};
	return 0;
}

/* Pass the local memory to the CPU or to the device, in any context; no request is outstanding. */
void rtgt_ini_req_sync(struct rtgt_ini_req *req, bool cpu)
{
	struct ib_device *ibdev = req->run->id->device;

	if (ib_uses_virt_dma(ibdev))
		return;
	if (cpu)
		dma_sync_sgtable_for_cpu(ibdev->dma_device, &req->bytes->sgt, DMA_BIDIRECTIONAL);
	else
		dma_sync_sgtable_for_device(ibdev->dma_device, &req->bytes->sgt,
					    DMA_BIDIRECTIONAL);
}

/**
 * rtgt_ini_req_cut() - make a request transfer a segment of its bytes
 * @req: of a WRITE or a READ
 * @at: offset of the segment in the local memory
 * @len: its length, not 0
 *
 * Over iWARP, the bytes of a READ are one piece: the device takes one SGE.
 *
 * The caller sets the address at the target.  Any context.
 */
void rtgt_ini_req_cut(struct rtgt_ini_req *req, u32 at, u32 len)
{
	u32 piece = DIV_ROUND_UP(len, req->run->cfg.sges);
	struct ib_sge *sge = req->sge;
	struct scatterlist *sg;
	int i;

	if (req->bytes->mr) {
		sge->addr = req->bytes->mr->iova + at;
		sge->length = len;
		sge->lkey = req->bytes->mr->lkey;
		req->wr.send.num_sge = 1;
		return;
	}
	for_each_sgtable_dma_sg(&req->bytes->sgt, sg, i) {
		u32 skip = min(at, sg_dma_len(sg));

		at -= skip;
		for (; len && skip < sg_dma_len(sg); skip += sge++->length) {
			sge->addr = sg_dma_address(sg) + skip;
			sge->length = min3(len, piece, sg_dma_len(sg) - skip);
			sge->lkey = req->run->pd->local_dma_lkey;
			len -= sge->length;
		}
		if (!len)
			break;
	}
	req->wr.send.num_sge = sge - req->sge;
}

static void req_make_wr(struct rtgt_ini_req *req)
{
	static const enum ib_wr_opcode opcodes[] = {
		[RTGT_INI_WRITE] = IB_WR_RDMA_WRITE,
		[RTGT_INI_READ] = IB_WR_RDMA_READ,
		[RTGT_INI_WRITE_IMM] = IB_WR_RDMA_WRITE_WITH_IMM,
		[RTGT_INI_SEND] = IB_WR_SEND,
		[RTGT_INI_CAS] = IB_WR_ATOMIC_CMP_AND_SWP,
		[RTGT_INI_FAA] = IB_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct rtgt_run *run = req->run;
	struct ib_send_wr *wr = &req->wr.send;

	wr->wr_cqe = rtgt_op_is_answered(run->cfg.op) ? &req->idle_cqe : &req->send_cqe;
	wr->opcode = opcodes[run->cfg.op];
	wr->sg_list = req->sge;
	wr->num_sge = 1;
	req->sge[0].lkey = run->pd->local_dma_lkey;
	if (run->cfg.op == RTGT_INI_SEND) {
		req->sge[0].addr = req->tx_dma;
		req->sge[0].length = sizeof(struct rtgt_msg) + run->cfg.size;
	} else if (rtgt_op_is_atomic(run->cfg.op)) {
		req->sge[0].addr = sg_dma_address(req->bytes->sgt.sgl) +
				    rtgt_ini_req_number(req) * sizeof(u64);
		req->sge[0].length = sizeof(u64);
		req->wr.atomic.rkey = run->peer.region[run->cfg.region].rkey;
		req->wr.atomic.compare_add = 1;
	} else {
		req->wr.rdma.rkey = run->peer.region[run->cfg.region].rkey;
	}
}

/**
 * rtgt_ini_reqs_create() - make a run's requests with their buffers, and one more for ask.c
 * @run: connected
 * Context: may sleep.
 * Return: 0 or a negative errno; the caller calls rtgt_ini_reqs_destroy() in both cases.
 */
int rtgt_ini_reqs_create(struct rtgt_run *run)
{
	u32 nr = run->cfg.depth + 1, i;
	int ret = 0;

	run->reqs = kvcalloc(nr, sizeof(*run->reqs), GFP_KERNEL);
	if (!run->reqs)
		return -ENOMEM;
	for (i = 0; i < nr && !ret; i++) {
		struct rtgt_ini_req *req = &run->reqs[i];

		/* they may be 128 times 16 MiB */
		if (READ_ONCE(run->ini->stop) || READ_ONCE(run->removed))
			return -EINTR;
		req->run = run;
		ret = req_create_msgs(req);
		if (!ret && i < run->cfg.depth)
			ret = req_create_bytes(req);
	}
	return ret;
}

/**
 * rtgt_ini_reqs_make() - make the work requests of a run
 * @run: with requests, and the capability of its region
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int rtgt_ini_reqs_make(struct rtgt_run *run)
{
	u32 i;
	int ret;

	for (i = 0; i < run->cfg.depth; i++) {
		struct rtgt_ini_req *req = &run->reqs[i];

		ret = bytes_exposed(run) && req->own.mem ? bytes_register(run, &req->own) : 0;
		if (ret)
			return ret;
		req_make_wr(req);
	}
	return 0;
}

/* The QP of the run is drained. */
void rtgt_ini_reqs_destroy(struct rtgt_run *run)
{
	u32 size = req_rx_size(&run->cfg), i;

	for (i = 0; run->reqs && i <= run->cfg.depth; i++) {
		struct rtgt_ini_req *req = &run->reqs[i];

		if (req->tx_mapped)
			ib_dma_unmap_single(run->id->device, req->tx_dma, size, DMA_TO_DEVICE);
		if (req->rx_mapped)
			ib_dma_unmap_single(run->id->device, req->rx_dma, size, DMA_FROM_DEVICE);
		kfree(req->tx);
		kfree(req->rx);
		bytes_destroy(run, &req->own);
	}
	kvfree(run->reqs);
}
