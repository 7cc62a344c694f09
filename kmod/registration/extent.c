// SPDX-License-Identifier: GPL-2.0
/*
 * An extent: a byte range of a region, which a peer reaches through one MR.
 *
 * To register it: map the memory for DMA, allocate an MR, write its page list (mr.c), run REG_MR.
 * An extent keeps the DMA mapping for as long as it lives; its MR may be replaced.
 *
 * A peer reaches an extent at an iova chosen at random, never at the address the kernel
 * knows it by: a capability tells nothing about the kernel's layout.  The length of the
 * registration is that of the extent, to the byte, so the device itself refuses an access
 * beyond it.  The iova stays the same when the rkey or the MR changes.
 *
 * After RTGT_ROTATIONS_MAX rotations the extent gets another MR, because the next rkey would be
 * the first one again; also when LOCAL_INV fails, for instance because a peer has invalidated the
 * rkey.
 *
 * Ownership.  The region owns its extents and calls this file with rtgt_domain.lock held, or
 * before anybody else knows the domain.
 *
 * iWARP.  The domain has nothing to post to (rtgt_domain.regqp is NULL): an extent is created, and
 * its rkey revoked, by an MR that is not registered.  A connection replaces that by one that
 * is (renewal.c).
 *
 * Failures.  Creation is all or nothing.  A rotation that fails, at whichever step, leaves an
 * extent that no peer reaches until a later rotation succeeds.  It keeps an old MR whose rkey is
 * known to be invalid, so that the MR that will replace it has another number.  Otherwise it
 * deregisters the MR, which needs no memory, and has none.
 */
#include <linux/ktime.h>
#include <rdma/ib_verbs.h>

#include "registration/internal.h"

static int extent_dma(struct rtgt_map *map, struct rtgt_extent *ext, u64 offset, u64 len)
{
	unsigned int shift = PAGE_SHIFT + map->mem->order;
	struct scatterlist *sg;
	unsigned int i;
	int ret;

	ret = sg_alloc_table(&ext->sgt, ((offset + len - 1) >> shift) - (offset >> shift) + 1,
			     GFP_KERNEL);
	if (ret)
		return ret;
	for_each_sgtable_sg(&ext->sgt, sg, i) {
		size_t here;
		void *p = rtgt_mem_at(map->mem, offset, len, &here);

		sg_set_buf(sg, p, here);
		offset += here;
		len -= here;
	}
	ret = ib_dma_map_sgtable_attrs(map->dom->ibdev, &ext->sgt, DMA_BIDIRECTIONAL, 0);
	if (ret)
		sg_free_table(&ext->sgt);
	return ret;
}

static void extent_dma_undo(struct rtgt_map *map, struct rtgt_extent *ext)
{
	ib_dma_unmap_sgtable_attrs(map->dom->ibdev, &ext->sgt, DMA_BIDIRECTIONAL, 0);
	sg_free_table(&ext->sgt);
}

/**
 * rtgt_extent_replace_mr() - give an extent another MR, which ends the rkey of the old one
 * @ext: extent, which owns @mr afterwards
 * @mr: maps the extent, at its iova.  It was made before the old one is deregistered here, so it
 *	has another number.  NULL to close the extent
 *
 * The caller holds rtgt_domain.lock.  May sleep.
 */
void rtgt_extent_replace_mr(struct rtgt_extent *ext, struct rtgt_mr *mr)
{
	if (ext->mr)
		rtgt_mr_destroy(ext->mr);
	ext->mr = mr;
	ext->changes++;
}

/*
 * Make the present rkey of @ext valid; on iWARP, leave that to a connection.  After an error the
 * extent has no MR.
 */
static int extent_register(struct rtgt_map *map, struct rtgt_extent *ext)
{
	struct rtgt_mr *mr = ext->mr;
	struct ib_reg_wr wr;
	int ret;

	if (!map->dom->regqp)
		return 0;
	rtgt_mr_reg_wr(mr, map, &wr);
	ret = rtgt_regqp_run(map->dom->regqp, &wr.wr);
	/* the device may have executed it */
	if (ret)
		rtgt_extent_replace_mr(ext, NULL);
	return ret;
}

/**
 * rtgt_extent_create() - register a byte range of a region
 * @map: region; what the steps took is added to its times
 * @ext: zeroed
 * @offset: first byte of the range in the region's memory
 * @len: bytes
 *
 * May sleep.
 *
 * Return: 0 when the rkey is valid, or on iWARP can be made so; -EAGAIN when the memory can
 * only be registered in pages, -ENOMEM, or what the device returned.  After an error nothing is
 * left.
 */
int rtgt_extent_create(struct rtgt_map *map, struct rtgt_extent *ext, u64 offset, u64 len)
{
	u64 start = ktime_get_ns(), dma, alloc;
	struct rtgt_mr *mr;
	int ret;

	ret = extent_dma(map, ext, offset, len);
	if (ret)
		return ret;
	dma = ktime_get_ns();
	mr = rtgt_mr_create(map, &ext->sgt, len);
	if (IS_ERR(mr)) {
		ret = PTR_ERR(mr);
		goto undo_dma;
	}
	ext->iova = rtgt_random_iova(map->entry_size);
	mr->ib->iova = ext->iova;
	ext->mr = mr;
	alloc = ktime_get_ns();
	ret = extent_register(map, ext);
	if (ret)
		goto undo_dma;
	map->entries += rtgt_mr_entries(map, len);
	map->dma_ns += dma - start;
	map->mr_ns += alloc - dma;
	map->reg_ns += ktime_get_ns() - alloc;
	return 0;

undo_dma:
	extent_dma_undo(map, ext);
	return ret;
}

/**
 * rtgt_extent_destroy() - deregister an extent
 * @map: its region
 * @ext: from rtgt_extent_create(); the memory stays
 *
 * May sleep.
 */
void rtgt_extent_destroy(struct rtgt_map *map, struct rtgt_extent *ext)
{
	if (ext->mr)
		rtgt_mr_destroy(ext->mr);
	extent_dma_undo(map, ext);
}

/**
 * rtgt_extent_invalid() - check that no peer reaches an extent
 * @ext: extent
 *
 * The caller holds rtgt_domain.lock.
 *
 * Return: true if its rkey was invalid just now, or it has none.
 */
bool rtgt_extent_invalid(const struct rtgt_extent *ext)
{
	return !ext->mr || READ_ONCE(ext->mr->invalid);
}

static int extent_new_mr(struct rtgt_map *map, struct rtgt_extent *ext, u64 len)
{
	struct rtgt_mr *mr = rtgt_mr_create(map, &ext->sgt, len);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mr->ib->iova = ext->iova;	/* peers know it */
	rtgt_extent_replace_mr(ext, mr);
	return extent_register(map, ext);
}

static int extent_invalidate(struct rtgt_map *map, struct rtgt_extent *ext)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = ext->mr->ib->rkey,
	};

	return rtgt_regqp_run(map->dom->regqp, &wr);
}

/**
 * rtgt_extent_rotate() - invalidate an rkey and register the extent under a new one
 * @map: region
 * @ext: extent, its rkey valid or invalidated, or without one
 * @len: its bytes
 *
 * On iWARP the extent is not registered afterwards, which is left to a connection.  The caller
 * holds rtgt_domain.lock.  May sleep.
 *
 * Return: 1 if the rkey is another one, 0 if the old one was never valid; or a negative errno: no
 * rkey of the extent is valid then.
 */
int rtgt_extent_rotate(struct rtgt_map *map, struct rtgt_extent *ext, u64 len)
{
	struct rtgt_mr *mr = ext->mr;
	bool closed = !mr || READ_ONCE(mr->invalid);
	int ret;

	lockdep_assert_held(&map->dom->lock);
	if (mr && mr->fresh)
		return 0;
	if (!closed) {
		/* fails if a peer invalidated the rkey first */
		closed = map->dom->regqp && !extent_invalidate(map, ext);
		rtgt_mr_set_invalid(mr, true);
	}
	if (mr && closed && map->dom->regqp && mr->rotations < RTGT_ROTATIONS_MAX) {
		mr->rotations++;
		ib_update_fast_reg_key(mr->ib, ib_inc_rkey(mr->ib->rkey));
		return extent_register(map, ext) ?: 1;
	}
	ret = extent_new_mr(map, ext, len);
	if (ret && !closed)
		rtgt_extent_replace_mr(ext, NULL);
	return ret ?: 1;
}

/**
 * rtgt_extent_sync() - hand memory over between CPU and device
 * @map: region
 * @ext: extent
 * @offset: first byte in the extent
 * @len: bytes, inside the extent
 * @cpu: let the CPU see what the device has written; otherwise let the device see what
 *	 the memory has got by other ways
 *
 * Any context.
 */
void rtgt_extent_sync(struct rtgt_map *map, struct rtgt_extent *ext, u64 offset, u64 len, bool cpu)
{
	struct ib_device *ibdev = map->dom->ibdev;
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(&ext->sgt, sg, i) {
		u64 here = sg_dma_len(sg), addr;

		if (!len)
			return;
		if (offset >= here) {
			offset -= here;
			continue;
		}
		here = min(here - offset, len);
		addr = sg_dma_address(sg) + offset;
		if (cpu)
			ib_dma_sync_single_for_cpu(ibdev, addr, here, DMA_FROM_DEVICE);
		else
			ib_dma_sync_single_for_device(ibdev, addr, here, DMA_TO_DEVICE);
		len -= here;
		offset = 0;
	}
}
