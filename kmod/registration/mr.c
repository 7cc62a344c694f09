// SPDX-License-Identifier: GPL-2.0
/*
 * An MR: what makes an extent reachable, under one rkey, until it is deregistered.
 *
 * REG_MR makes an rkey valid.  It is posted to the QP of a connection:
 *
 *   InfiniBand, RoCE   to a QP in RTS, before the REP, which has the rkey (domain.c), and for a
 *                      client's EXTENTS or REVOKE
 *   iWARP              a QP gets to RTS with its TCP stream only: for EXTENTS, with which a client
 *                      requests the capability that the REP lacks, and for REVOKE
 *
 * The rkey belongs to the protection domain, so on a shared port it stays valid for other
 * connections when that one is gone.  The target ends an rkey with ib_dereg_mr(), which needs
 * neither a QP nor memory, so a revocation does not fail.  A peer that has an rkey can invalidate
 * it as well, at any time (SEND_WITH_INV).
 *
 * rkeys.  A device may give a new MR the number of one that was deregistered.  The lowest eight
 * bits, which are ours, count the MRs of the domain, so an rkey comes again after 256 others of its
 * domain at the earliest.
 *
 *   rtgt_mr_begin()    make an MR for an extent, which nobody else knows yet
 *   rtgt_mr_reg_wr()   the work request, which the caller posts.  In the send queue it may wait
 *                      after replies that the peer has to read, for as long as the peer likes
 *   rtgt_mr_finish()   it has completed: the extent has this MR, the old one is deregistered.  Of
 *                      two connections that register an extent the faster one wins
 *   rtgt_mr_destroy()  it has not, or failed
 *
 * Ownership.  An extent owns its MR and its spare one, whoever called rtgt_mr_begin() the new one.
 * rtgt_dev.by_rkey refers to an MR from its allocation until it is deregistered; a completion that
 * looks an MR up there uses it under the lock of by_rkey only.
 */
#include <linux/completion.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "registration/region.h"

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
	return &mr->ext->map->dom->user.dev->by_rkey;
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

static struct ib_mr *mr_alloc(struct rtgt_extent *ext)
{
	struct rtgt_map *map = ext->map;
	struct rtgt_domain *dom = map->dom;
	struct ib_mr *ib;
	int ret;

	if (!mr_aligned(&ext->sgt, map->entry_size))
		return ERR_PTR(-EAGAIN);
	ib = ib_alloc_mr(dom->pd, IB_MR_TYPE_MEM_REG, DIV_ROUND_UP_ULL(ext->len, map->entry_size));
	if (IS_ERR(ib))
		return ib;
	ret = ib_map_mr_sg(ib, ext->sgt.sgl, ext->sgt.nents, NULL, map->entry_size);
	if (ret != ext->sgt.nents) {
		ib_dereg_mr(ib);
		return ERR_PTR(ret < 0 ? ret : -EINVAL);
	}
	ib->iova = ext->iova;
	mutex_lock(&dom->lock);
	ib_update_fast_reg_key(ib, dom->next_key++);
	mutex_unlock(&dom->lock);
	return ib;
}

/**
 * rtgt_mr_create() - make an MR that maps an extent, not registered
 * @ext: extent, with an iova and a DMA mapping
 * Context: may sleep.
 * Return: for rtgt_mr_destroy(), or an ERR_PTR: -EAGAIN when the memory can only be registered in
 * pages, -ENOMEM, or what the device returned.
 */
struct rtgt_mr *rtgt_mr_create(struct rtgt_extent *ext)
{
	struct rtgt_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int ret;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->ext = ext;
	mr->invalid = true;
	mr->ib = mr_alloc(ext);
	if (IS_ERR(mr->ib)) {
		ret = PTR_ERR(mr->ib);
		goto free;
	}
	ret = xa_err(xa_store_irq(mr_by_rkey(mr), mr->ib->rkey >> 8, mr, GFP_KERNEL));
	if (!ret)
		return mr;
	ib_dereg_mr(mr->ib);
free:
	kfree(mr);
	return ERR_PTR(ret);
}

/**
 * rtgt_mr_destroy() - deregister an MR, which ends its rkey
 * @mr: from rtgt_mr_create() or rtgt_mr_begin(), or NULL.  No work request of it is outstanding
 * Context: may sleep.
 */
void rtgt_mr_destroy(struct rtgt_mr *mr)
{
	if (!mr)
		return;
	xa_erase_irq(mr_by_rkey(mr), mr->ib->rkey >> 8);
	ib_dereg_mr(mr->ib);
	kfree(mr);
}

/**
 * rtgt_mr_begin() - make another MR for an extent, to be registered
 * @ext: extent of a domain on which the caller holds a reference
 * Context: may sleep.
 * Return: for rtgt_mr_finish() or rtgt_mr_destroy(), or an ERR_PTR as rtgt_mr_create() returns.
 */
struct rtgt_mr *rtgt_mr_begin(struct rtgt_extent *ext)
{
	struct rtgt_domain *dom = ext->map->dom;
	struct rtgt_mr *mr;
	u32 changes;

	mutex_lock(&dom->lock);
	changes = ext->changes;
	mr = ext->spare;
	ext->spare = NULL;
	mutex_unlock(&dom->lock);
	if (!mr)
		mr = rtgt_mr_create(ext);
	if (!IS_ERR(mr))
		mr->changes = changes;
	return mr;
}

/**
 * rtgt_mr_reg_wr() - fill the work request that registers an MR, and note its rkey as valid
 * @mr: from rtgt_mr_begin()
 * @wr: filled but for its completion and its flags
 *
 * The rkey is noted before it is valid: a peer that guesses it can invalidate it as soon as it
 * is, before the completion of @wr.  Any context.
 */
void rtgt_mr_reg_wr(struct rtgt_mr *mr, struct ib_reg_wr *wr)
{
	unsigned long flags;

	*wr = (struct ib_reg_wr) {
		.wr.opcode = IB_WR_REG_MR,
		.mr = mr->ib,
		.key = mr->ib->rkey,
		.access = mr_access(mr->ext->map),
	};
	xa_lock_irqsave(mr_by_rkey(mr), flags);
	mr->invalid = false;
	xa_unlock_irqrestore(mr_by_rkey(mr), flags);
}

/**
 * rtgt_mr_finish() - give an extent the MR that the device has registered
 * @mr: from rtgt_mr_begin(); not the caller's any more
 *
 * When this returns the device does not accept the extent's old rkey any more.  May sleep.
 * Return: 0; -EAGAIN when the MR of the extent has changed since rtgt_mr_begin(): @mr is
 * deregistered then.
 */
int rtgt_mr_finish(struct rtgt_mr *mr)
{
	struct rtgt_extent *ext = mr->ext;
	struct rtgt_domain *dom = ext->map->dom;
	struct rtgt_mr *old = mr;
	int ret = -EAGAIN;

	mutex_lock(&dom->lock);
	if (ext->changes == mr->changes) {
		ret = 0;
		old = ext->mr;
		ext->mr = mr;
		ext->changes++;
		if (!ext->registered)
			rtgt_count(dom->stats, RTGT_REGISTRATIONS, 1);
		ext->registered = true;
		if (old)
			rtgt_count(dom->stats, RTGT_ROTATIONS, 1);
	}
	/* under the lock: who reads the new rkey there may rely on the end of the old one */
	rtgt_mr_destroy(old);
	mutex_unlock(&dom->lock);
	return ret;
}

struct mr_wait {
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

static void mr_registered(struct ib_cq *cq, struct ib_wc *wc)
{
	struct mr_wait *wait = container_of(wc->wr_cqe, struct mr_wait, cqe);

	wait->status = wc->status;
	complete(&wait->done);
}

/**
 * rtgt_mr_register() - register an MR, and wait until the device has done so
 * @mr: from rtgt_mr_begin(); not the caller's any more
 * @qp: RC QP in RTS, to which nobody else posts, whatever a peer sends to it
 *
 * The completion comes in any case, if only as a flush.  May sleep.
 * Return: 0; -EAGAIN as rtgt_mr_finish(), -EIO when the device refused, or what ib_post_send()
 * returned.  After an error other than -EAGAIN the QP may be in error.
 */
int rtgt_mr_register(struct rtgt_mr *mr, struct ib_qp *qp)
{
	struct mr_wait wait = { .cqe.done = mr_registered };
	struct ib_reg_wr wr;
	int ret;

	init_completion(&wait.done);
	rtgt_mr_reg_wr(mr, &wr);
	wr.wr.wr_cqe = &wait.cqe;
	wr.wr.send_flags = IB_SEND_SIGNALED;
	ret = ib_post_send(qp, &wr.wr, NULL);
	if (!ret) {
		wait_for_completion(&wait.done);
		if (wait.status == IB_WC_SUCCESS)
			return rtgt_mr_finish(mr);
		ret = -EIO;
	}
	rtgt_mr_destroy(mr);
	return ret;
}
