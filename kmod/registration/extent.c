// SPDX-License-Identifier: GPL-2.0
/*
 * An extent: a byte range of a region, registered as one MR.
 *
 * To register it: map the memory for DMA, allocate an MR, write its page list, run REG_MR.
 * An extent keeps the DMA mapping for as long as it lives; its MR may be replaced.
 *
 * A peer reaches an extent at an iova chosen at random, never at the address the kernel
 * knows it by: a capability tells nothing about the kernel's layout.  The length of the
 * registration is that of the extent, to the byte, so the device itself refuses an access
 * beyond it.  The iova stays the same when the rkey changes.
 *
 * rkeys.  The upper 24 bits are those of the MR, the lower eight are changed by a rotation:
 * invalidate, change the rkey, register.  After RTGT_ROTATIONS_MAX rotations the extent gets
 * another MR, because the next rkey would be the first one again.  A peer that has the rkey
 * can invalidate it as well, at any time: then LOCAL_INV fails, and the MR is replaced.
 *
 * Ownership.  The region owns its extents and calls this file with rtgt_domain.lock held, or
 * before anybody else knows the domain.  rtgt_dev.by_rkey refers to an extent from the
 * allocation of its MR until that is deregistered; a completion that looks an extent up there
 * uses it under the lock of by_rkey only.
 *
 * iWARP.  Without a connection nothing can be posted (struct rtgt_reg is NULL): an extent is
 * created, and its rkey revoked, by an MR that is not registered.  A rotation for a connection
 * registers it.
 *
 * Failures.  Creation is all or nothing.  A rotation that fails leaves the extent invalid:
 * no peer reaches it until a later rotation succeeds.
 */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "registration/internal.h"

static int map_ib_access(const struct rtgt_map *map)
{
	int ib = IB_ACCESS_LOCAL_WRITE;

	if (map->access & RTGT_ACCESS_READ)
		ib |= IB_ACCESS_REMOTE_READ;
	if (map->access & RTGT_ACCESS_WRITE)
		ib |= IB_ACCESS_REMOTE_WRITE;
	if (map->access & RTGT_ACCESS_ATOMIC)
		ib |= IB_ACCESS_REMOTE_ATOMIC;
	if (map->access & RTGT_ACCESS_FLUSH)
		ib |= RTGT_IB_ACCESS_FLUSH_GLOBAL;
	return ib;
}

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

/* An address that is not aligned to its entry would be taken for one that is. */
static bool extent_aligned(struct rtgt_extent *ext, u32 entry_size)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(&ext->sgt, sg, i)
		if (sg_dma_address(sg) & (entry_size - 1))
			return false;
	return true;
}

static struct xarray *extent_by_rkey(const struct rtgt_map *map)
{
	return &map->dom->user.dev->by_rkey;
}

static unsigned int extent_entries(const struct rtgt_map *map, u64 len)
{
	return DIV_ROUND_UP_ULL(len, map->entry_size);
}

static struct ib_mr *extent_alloc_mr(struct rtgt_map *map, struct rtgt_extent *ext, u64 len)
{
	struct ib_mr *mr;
	int ret;

	if (!extent_aligned(ext, map->entry_size))
		return ERR_PTR(-EAGAIN);
	mr = ib_alloc_mr(map->dom->pd, IB_MR_TYPE_MEM_REG, extent_entries(map, len));
	if (IS_ERR(mr))
		return mr;
	ret = ib_map_mr_sg(mr, ext->sgt.sgl, ext->sgt.nents, NULL, map->entry_size);
	if (ret != ext->sgt.nents) {
		ib_dereg_mr(mr);
		return ERR_PTR(ret < 0 ? ret : -EINVAL);
	}
	return mr;
}

/*
 * An MR with its page list that rtgt_dev.by_rkey knows, not registered.  -EAGAIN when it
 * can only be had in pages.
 */
static struct ib_mr *extent_get_mr(struct rtgt_map *map, struct rtgt_extent *ext, u64 len)
{
	struct ib_mr *mr = extent_alloc_mr(map, ext, len);
	int ret;

	if (IS_ERR(mr))
		return mr;
	ret = xa_err(xa_store_irq(extent_by_rkey(map), mr->rkey >> 8, ext, GFP_KERNEL));
	if (ret) {
		ib_dereg_mr(mr);
		return ERR_PTR(ret);
	}
	return mr;
}

static void extent_put_mr(struct rtgt_map *map, struct rtgt_extent *ext)
{
	xa_erase_irq(extent_by_rkey(map), ext->mr->rkey >> 8);
	ib_dereg_mr(ext->mr);
}

static void extent_set_key(struct rtgt_map *map, struct rtgt_extent *ext, u32 rkey, bool invalid)
{
	xa_lock_irq(extent_by_rkey(map));
	ext->rkey = rkey;
	ext->invalid = invalid;
	xa_unlock_irq(extent_by_rkey(map));
}

/*
 * Make the present rkey of @ext->mr valid; without @reg, leave that to a later rotation.  The
 * rkey is noted before: a peer that guesses it can invalidate it as soon as it is valid, before
 * this function returns.
 */
static int extent_register(struct rtgt_map *map, struct rtgt_extent *ext, struct rtgt_reg *reg)
{
	int ret;

	extent_set_key(map, ext, ext->mr->rkey, !reg);
	ext->fresh = !reg;
	if (!reg)
		return 0;
	ret = rtgt_reg_register(reg, ext->mr, map_ib_access(map));
	if (!ret)
		return 0;
	/* whatever state the MR is in: the next rotation replaces it */
	extent_set_key(map, ext, ext->mr->rkey, true);
	ext->rotations = RTGT_ROTATIONS_MAX;
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
	struct ib_mr *mr;
	int ret;

	ext->map = map;
	ret = extent_dma(map, ext, offset, len);
	if (ret)
		return ret;
	dma = ktime_get_ns();
	mr = extent_get_mr(map, ext, len);
	if (IS_ERR(mr)) {
		ret = PTR_ERR(mr);
		goto undo_dma;
	}
	mr->iova = rtgt_random_iova(map->entry_size);
	ext->mr = mr;
	alloc = ktime_get_ns();
	ret = extent_register(map, ext, map->dom->reg);
	if (ret)
		goto put_mr;
	map->entries += extent_entries(map, len);
	map->dma_ns += dma - start;
	map->mr_ns += alloc - dma;
	map->reg_ns += ktime_get_ns() - alloc;
	return 0;

put_mr:
	extent_put_mr(map, ext);
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
	extent_put_mr(map, ext);
	extent_dma_undo(map, ext);
}

/*
 * Replace the MR, which ends all its rkeys.  The new one is made before the old one is
 * deregistered, so it cannot have the same number.
 */
static int extent_replace_mr(struct rtgt_map *map, struct rtgt_extent *ext, u64 len,
			     struct rtgt_reg *reg)
{
	struct ib_mr *mr = extent_get_mr(map, ext, len);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mr->iova = ext->mr->iova;	/* peers know it */
	extent_put_mr(map, ext);
	ext->mr = mr;
	ext->rotations = 0;
	return extent_register(map, ext, reg);
}

/**
 * rtgt_extent_rotate() - invalidate an rkey and register the extent under a new one
 * @map: region
 * @ext: extent, its rkey valid or invalidated
 * @len: its bytes
 * @reg: registers; NULL to leave the extent invalid
 *
 * The caller holds rtgt_domain.lock.  May sleep.
 *
 * Return: 1 if the rkey is another one, 0 if it was valid never before and is now; or a
 * negative errno: the extent is invalid then.
 */
int rtgt_extent_rotate(struct rtgt_map *map, struct rtgt_extent *ext, u64 len,
		       struct rtgt_reg *reg)
{
	lockdep_assert_held(&map->dom->lock);
	if (ext->fresh)
		return extent_register(map, ext, reg);
	if (!READ_ONCE(ext->invalid)) {
		/* fails if a peer invalidated the rkey first */
		if (!reg || rtgt_reg_invalidate(reg, ext->mr))
			ext->rotations = RTGT_ROTATIONS_MAX;
		extent_set_key(map, ext, ext->rkey, true);
	}
	if (ext->rotations == RTGT_ROTATIONS_MAX)
		return extent_replace_mr(map, ext, len, reg) ?: 1;
	ext->rotations++;
	ib_update_fast_reg_key(ext->mr, ib_inc_rkey(ext->mr->rkey));
	return extent_register(map, ext, reg) ?: 1;
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
