// SPDX-License-Identifier: GPL-2.0
/*
 * A domain: a protection domain and the regions that are registered in it.
 *
 *   struct rtgt_domain  PD, what registers in it, regions
 *   struct rtgt_map     a region: its memory and the extents that cover it (map.c)
 *   struct rtgt_extent  a byte range of it, at an iova (extent.c)
 *   struct rtgt_mr      what makes that reachable, under an rkey (mr.c)
 *   struct rtgt_mem     the memory, which knows no device (core/mem.c)
 *
 * A shared port has a domain for each device, which all its connections use; a private port
 * has one for each connection.  References are counted: the port, the connections and an
 * administrator's revocation hold one, the last put deregisters.  Until then the domain is a
 * user of the device, whose removal waits for it; a domain is not told of the removal, those
 * that hold it are.
 *
 * REG_MR makes an rkey valid, LOCAL_INV invalidates it.  What differs is the queue pair that they
 * can be posted to, and when there is one:
 *
 *   InfiniBand, RoCE   regqp.c: a queue pair of the domain's own, there before the first
 *                      connection.  rkeys are valid before the REP that holds them, and
 *                      the connections of a shared port use the same rkeys
 *
 *   iWARP              renewal.c: the connection's own queue pair, after it is established.
 *                      The REP holds no rkeys; a client requests them, and the request
 *                      registers what is not registered yet.  Without a connection, an rkey
 *                      is invalidated by replacing its MR (extent.c)
 *
 * rkeys change under rtgt_domain.lock, a mutex, since that waits for the device, but for no peer:
 *
 *   rtgt_domain_rotate()        the administrator or a client revokes rkeys
 *   rtgt_domain_reregister()    a client connects: rkeys that another client invalidated
 *                               are replaced, and those that could not be registered
 *   rtgt_domain_invalidated()   a SEND_WITH_INV completed: notes that the rkey is invalid,
 *                               in softirq, found by the rkey whatever the number of extents
 *
 * Failures.  rtgt_domain_create() is all or nothing.  A rotation that fails leaves extents that no
 * peer reaches, and no old rkey is valid; the next rotation or rtgt_domain_reregister(), on iWARP
 * the next request of a client, tries again.
 */
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "core/stats.h"
#include "main.h"
#include "registration/internal.h"

static void domain_release(struct kref *ref)
{
	struct rtgt_domain *dom = container_of(ref, struct rtgt_domain, ref);

	if (dom->pool)
		dom->release_pool(dom->pool);
	while (dom->nr)
		rtgt_map_destroy(&dom->map[--dom->nr]);
	if (dom->regqp)
		rtgt_regqp_destroy(dom->regqp);
	if (!IS_ERR_OR_NULL(dom->pd))
		ib_dealloc_pd(dom->pd);
	rtgt_dev_detach(&dom->user);
	kfree(dom);
	atomic_dec(&rtgt_live.domains);
}

/**
 * rtgt_domain_create() - make a protection domain and register regions in it
 * @ibdev: the device, whose removal waits for the last rtgt_domain_put(); the caller, as
 *	   another rtgt_dev_user, ensures that this comes
 * @stats: counts the registrations
 * @spec: the regions
 * @mem: their memory, for a domain that connections share; NULL for a connection's own
 *	 domain with memory of its own, which the caller had promised
 * @nr: number of regions, at most RTGT_MAX_REGIONS
 * @mr_max: maximum size of an MR in bytes, a multiple of PAGE_SIZE; 0 for no limit
 *
 * May sleep.  Each rkey is valid when this returns, if rtgt_domain_early() is true.
 *
 * Return: a reference for rtgt_domain_put(), or an ERR_PTR: -ENODEV when the device is being
 * removed, -EOPNOTSUPP when it lacks something, what rtgt_map_create() returned.
 */
struct rtgt_domain *rtgt_domain_create(struct ib_device *ibdev, struct rtgt_stats __percpu *stats,
				       struct rtgt_spec *const spec[], struct rtgt_mem *const mem[],
				       unsigned int nr, u64 mr_max)
{
	struct rtgt_domain *dom;
	int ret;

	ret = rtgt_dev_check(ibdev);
	if (ret)
		return ERR_PTR(ret);
	dom = kzalloc(sizeof(*dom), GFP_KERNEL);
	if (!dom)
		return ERR_PTR(-ENOMEM);
	ret = rtgt_dev_attach(ibdev, &dom->user);
	if (ret) {
		kfree(dom);
		return ERR_PTR(ret);
	}
	atomic_inc(&rtgt_live.domains);
	kref_init(&dom->ref);
	mutex_init(&dom->lock);
	dom->ibdev = ibdev;
	dom->mr_max = mr_max;
	dom->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(dom->pd)) {
		ret = PTR_ERR(dom->pd);
		goto put;
	}
	if (rdma_ib_or_roce(ibdev, rdma_start_port(ibdev)))
		dom->regqp = rtgt_regqp_create(dom->pd);
	if (IS_ERR(dom->regqp)) {
		ret = PTR_ERR(dom->regqp);
		dom->regqp = NULL;
		goto put;
	}
	while (dom->nr < nr) {
		ret = rtgt_map_create(dom, spec[dom->nr], mem ? mem[dom->nr] : NULL);
		if (ret)
			goto put;
		rtgt_count(stats, RTGT_REGISTRATIONS, dom->map[dom->nr - 1].nr);
	}
	return dom;

put:
	rtgt_domain_put(dom);
	return ERR_PTR(ret);
}

/**
 * rtgt_domain_early() - check whether rkeys are valid before there is a connection
 * @dom: domain
 *
 * Return: true if so; false on iWARP, where a request of a client registers.
 */
bool rtgt_domain_early(const struct rtgt_domain *dom)
{
	return dom->regqp;
}

/**
 * rtgt_domain_reaches() - check whether a peer reaches an extent
 * @dom: domain
 * @index: region, below @dom->nr
 * @at: extent, below the region's number of extents
 *
 * May sleep.
 *
 * Return: true if its rkey was valid just now.
 */
bool rtgt_domain_reaches(struct rtgt_domain *dom, unsigned int index, u32 at)
{
	bool invalid;

	mutex_lock(&dom->lock);
	invalid = rtgt_extent_invalid(&dom->map[index].extent[at]);
	mutex_unlock(&dom->lock);
	return !invalid;
}

/**
 * rtgt_domain_rotate() - invalidate rkeys of a region and make others
 * @dom: domain
 * @index: region, below @dom->nr
 * @from: first extent, below the region's number of extents
 * @nr: how many; ends with the last extent
 * @only_invalid: only the extents whose rkey is invalid already
 * @rotated: the number of rkeys that were replaced is added
 *
 * On iWARP the extents are not registered afterwards: the next request of a client does that.
 * May sleep.  When it returns the device accepts the old rkeys no more; an outstanding
 * access has either completed or fails.
 *
 * Return: 0; or a negative errno, without memory or when the device refused.  The old rkeys are
 * invalid then as well, and part of the region is unreachable until the next rotation or
 * rtgt_domain_reregister().
 */
int rtgt_domain_rotate(struct rtgt_domain *dom, unsigned int index, u32 from, u32 nr,
		       bool only_invalid, unsigned int *rotated)
{
	int ret;

	mutex_lock(&dom->lock);
	ret = rtgt_map_rotate(&dom->map[index], from, nr, only_invalid, rotated);
	mutex_unlock(&dom->lock);
	if (ret)
		WRITE_ONCE(dom->any_invalid, true);
	return ret;
}

/**
 * rtgt_domain_reregister() - register extents again whose rkeys are invalid
 * @dom: domain
 * @rotated: the number of rkeys that are new is added
 *
 * A remote invalidation needs no more than the rkey, so a client can invalidate that of a
 * shared region.  Clients that connect later get a new one.  May sleep.
 *
 * Return: 0 or a negative errno.
 */
int rtgt_domain_reregister(struct rtgt_domain *dom, unsigned int *rotated)
{
	unsigned int i;
	int err = 0;
	int ret;

	/* on iWARP the client's request for the capabilities does this */
	if (!dom->regqp || !xchg(&dom->any_invalid, false))
		return 0;
	for (i = 0; i < dom->nr; i++) {
		ret = rtgt_domain_rotate(dom, i, 0, U32_MAX, true, rotated);
		err = err ?: ret;
	}
	return err;
}

/**
 * rtgt_domain_invalidated() - note a remote invalidation
 * @dom: domain of the queue pair that received it
 * @rkey: as the completion of the SEND_WITH_INV reports it
 *
 * A device may not check that @rkey belongs to @dom (rxe), so that of another domain on the
 * device is noted as well: clients that connect there get a new one.  Any context.
 */
void rtgt_domain_invalidated(struct rtgt_domain *dom, u32 rkey)
{
	struct xarray *by_rkey = &dom->user.dev->by_rkey;
	struct rtgt_mr *mr;
	unsigned long flags;

	xa_lock_irqsave(by_rkey, flags);
	mr = xa_load(by_rkey, rkey >> 8);
	/*
	 * Another rkey: it has been rotated meanwhile.  But siw does not compare the low eight bits
	 * (siw_invalidate_stag()) and has invalidated the MR.  Only iWARP has no regqp.
	 */
	if (mr && (mr->rkey == rkey || !mr->dom->regqp)) {
		mr->invalid = true;
		WRITE_ONCE(mr->dom->any_invalid, true);
	}
	xa_unlock_irqrestore(by_rkey, flags);
}

/**
 * rtgt_domain_put() - give a reference back
 * @dom: domain; no QP of the caller is left in its PD
 *
 * May sleep.
 */
void rtgt_domain_put(struct rtgt_domain *dom)
{
	kref_put(&dom->ref, domain_release);
}
