// SPDX-License-Identifier: GPL-2.0
/*
 * A renewal: another MR for an extent, registered through the queue pair of a connection.
 *
 * For iWARP.  A queue pair gets to RTS there with its TCP stream only, so there is none before the
 * first connection, and a request of a client registers: EXTENTS, with which a client requests the
 * capabilities that the REP lacks, and REVOKE.  rkeys belong to the protection domain, so on a
 * shared port they stay valid for the other connections, also when this one is gone.
 *
 * Nobody waits for a peer.  A work request waits in the send queue behind replies that the peer
 * has to read, and the peer may never read them.  So a renewal has an MR of its own, which nobody
 * else knows until the device has registered it; rtgt_domain.lock is held only to exchange the
 * MR of the extent for it.  Of two connections that renew the same extent the faster one wins, and
 * the other throws its MR away and looks again.
 *
 *   rtgt_renewal_begin()   allocate the MR
 *   rtgt_renewal_wr()      the work request, which the caller posts
 *   rtgt_renewal_finish()  it has completed: exchange the MR
 *   rtgt_renewal_abort()   it has not, or failed: deregister the MR
 *
 * The connection owns the renewal, in an rw context (target/rw.c).
 */
#include <rdma/ib_verbs.h>

#include "registration/internal.h"

/**
 * rtgt_renewal_begin() - make another MR for an extent
 * @rn: the renewal; for rtgt_renewal_finish() or rtgt_renewal_abort() if this returns 0
 * @dom: domain, on which the caller holds a reference
 * @index: region, below @dom->nr
 * @at: extent, below the region's number of extents
 *
 * May sleep.
 *
 * Return: 0, -ENOMEM, or what the device returned.
 */
int rtgt_renewal_begin(struct rtgt_renewal *rn, struct rtgt_domain *dom, unsigned int index, u32 at)
{
	struct rtgt_map *map = &dom->map[index];
	struct rtgt_extent *ext = &map->extent[at];
	struct rtgt_mr *mr;

	mr = rtgt_mr_create(map, &ext->sgt, rtgt_extent_len(map, at));
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mr->ib->iova = ext->iova;	/* peers know it */
	mutex_lock(&dom->lock);
	rn->changes = ext->changes;
	mutex_unlock(&dom->lock);
	rn->map = map;
	rn->ext = ext;
	rn->mr = mr;
	return 0;
}

/**
 * rtgt_renewal_wr() - fill the work request that registers the MR of a renewal
 * @rn: from rtgt_renewal_begin()
 * @wr: filled but for its completion and its flags
 *
 * Any context.
 */
void rtgt_renewal_wr(struct rtgt_renewal *rn, struct ib_reg_wr *wr)
{
	rtgt_mr_reg_wr(rn->mr, rn->map, wr);
}

/**
 * rtgt_renewal_finish() - give the extent the MR of a renewal, which the device has registered
 * @rn: from rtgt_renewal_begin(); empty afterwards
 *
 * The device accepts the old rkey no more when this returns.  May sleep.
 *
 * Return: 1 if the rkey is another one, 0 if the old one was never valid; -EAGAIN when the extent
 * got another MR since rtgt_renewal_begin(), and has that.
 */
int rtgt_renewal_finish(struct rtgt_renewal *rn)
{
	struct rtgt_domain *dom = rn->map->dom;
	int ret = -EAGAIN;

	mutex_lock(&dom->lock);
	if (rn->ext->changes == rn->changes) {
		ret = !rn->ext->mr || !rn->ext->mr->fresh;
		rtgt_extent_replace_mr(rn->ext, rn->mr);
		rn->mr = NULL;
	}
	mutex_unlock(&dom->lock);
	rtgt_renewal_abort(rn);
	return ret;
}

/**
 * rtgt_renewal_abort() - deregister the MR of a renewal
 * @rn: empty afterwards; may be empty.  No work request of it is outstanding
 *
 * May sleep.
 */
void rtgt_renewal_abort(struct rtgt_renewal *rn)
{
	if (rn->mr)
		rtgt_mr_destroy(rn->mr);
	rn->mr = NULL;
}
