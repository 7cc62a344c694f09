// SPDX-License-Identifier: GPL-2.0
/*
 * An MR: what makes an extent reachable under one rkey at a time.
 *
 * rkeys.  The upper 24 bits are those of the MR, the lower eight are changed by a rotation:
 * invalidate, change the rkey, register.  A peer that has the rkey can invalidate it as well, at
 * any time (SEND_WITH_INV).
 *
 * Ownership.  An extent owns its MR, a renewal the one that is to replace it.  rtgt_dev.by_rkey
 * refers to an MR from its allocation until it is deregistered; a completion that looks an MR up
 * there uses it under the lock of by_rkey only.
 */
#include <linux/math64.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "registration/internal.h"

static int mr_access(const struct rtgt_map *map)
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

static struct xarray *mr_by_rkey(const struct rtgt_mr *mr)
{
	return &mr->dom->user.dev->by_rkey;
}

/* An address that is not aligned to its entry would be taken for one that is. */
static bool mr_aligned(struct sg_table *sgt, u32 entry_size)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i)
		if (sg_dma_address(sg) & (entry_size - 1))
			return false;
	return true;
}

static struct ib_mr *mr_alloc(struct rtgt_map *map, struct sg_table *sgt, u64 len)
{
	struct ib_mr *ib;
	int ret;

	if (!mr_aligned(sgt, map->entry_size))
		return ERR_PTR(-EAGAIN);
	ib = ib_alloc_mr(map->dom->pd, IB_MR_TYPE_MEM_REG, rtgt_mr_entries(map, len));
	if (IS_ERR(ib))
		return ib;
	ret = ib_map_mr_sg(ib, sgt->sgl, sgt->nents, NULL, map->entry_size);
	if (ret != sgt->nents) {
		ib_dereg_mr(ib);
		return ERR_PTR(ret < 0 ? ret : -EINVAL);
	}
	return ib;
}

/**
 * rtgt_mr_create() - make an MR that maps an extent, not registered
 * @map: region of the extent
 * @sgt: DMA mapping of the extent
 * @len: bytes of the extent
 *
 * The caller sets the iova.  May sleep.
 *
 * Return: for rtgt_mr_destroy(), or an ERR_PTR: -EAGAIN when the memory can only be registered in
 * pages, -ENOMEM, or what the device returned.
 */
struct rtgt_mr *rtgt_mr_create(struct rtgt_map *map, struct sg_table *sgt, u64 len)
{
	struct rtgt_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int ret;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->dom = map->dom;
	mr->invalid = true;
	mr->fresh = true;
	mr->ib = mr_alloc(map, sgt, len);
	if (IS_ERR(mr->ib)) {
		ret = PTR_ERR(mr->ib);
		goto free;
	}
	mr->rkey = mr->ib->rkey;
	ret = xa_err(xa_store_irq(mr_by_rkey(mr), mr->rkey >> 8, mr, GFP_KERNEL));
	if (!ret)
		return mr;
	ib_dereg_mr(mr->ib);
free:
	kfree(mr);
	return ERR_PTR(ret);
}

/**
 * rtgt_mr_destroy() - deregister an MR, which ends its rkey
 * @mr: from rtgt_mr_create()
 *
 * May sleep.
 */
void rtgt_mr_destroy(struct rtgt_mr *mr)
{
	xa_erase_irq(mr_by_rkey(mr), mr->ib->rkey >> 8);
	ib_dereg_mr(mr->ib);
	kfree(mr);
}

/**
 * rtgt_mr_entries() - return the number of page-list entries of an MR
 * @map: region
 * @len: bytes of the extent
 *
 * Return: at least 1.
 */
unsigned int rtgt_mr_entries(const struct rtgt_map *map, u64 len)
{
	return DIV_ROUND_UP_ULL(len, map->entry_size);
}

/**
 * rtgt_mr_set_invalid() - note whether a peer can reach an MR
 * @mr: MR
 * @invalid: whether it cannot
 *
 * Notes the present rkey of @mr->ib as well.  Any context.
 */
void rtgt_mr_set_invalid(struct rtgt_mr *mr, bool invalid)
{
	unsigned long flags;

	xa_lock_irqsave(mr_by_rkey(mr), flags);
	mr->rkey = mr->ib->rkey;
	mr->invalid = invalid;
	xa_unlock_irqrestore(mr_by_rkey(mr), flags);
}

/**
 * rtgt_mr_reg_wr() - fill the work request that registers an MR, and note its rkey as valid
 * @mr: MR
 * @map: its region
 * @wr: filled but for its completion and its flags
 *
 * The rkey is noted before it is valid: a peer that guesses it can invalidate it as soon as it
 * is, before the completion of @wr.  Any context.
 */
void rtgt_mr_reg_wr(struct rtgt_mr *mr, const struct rtgt_map *map, struct ib_reg_wr *wr)
{
	*wr = (struct ib_reg_wr) {
		.wr.opcode = IB_WR_REG_MR,
		.mr = mr->ib,
		.key = mr->ib->rkey,
		.access = mr_access(map),
	};
	rtgt_mr_set_invalid(mr, false);
	mr->fresh = false;
}
