// SPDX-License-Identifier: GPL-2.0
/*
 * A domain: a protection domain and the regions that peers reach in it.  map.c has the regions and
 * their extents, mr.c the MRs, core/mem.c the memory, which knows no device.
 *
 * A shared port has a domain for each device, which all its connections use; a private port
 * has one for each connection.  References are counted: the port, the connections and an
 * administrator's revocation hold one, the last put deregisters.  Until then the domain is a
 * user of the device, whose removal waits for it and notifies the holders of the domain.
 *
 * The set-up of a connection registers what no peer reaches, before the REP that has the rkeys:
 * all of it with the first client, later what was revoked or invalidated (rtgt_domain_register()).
 * On iWARP, and when a client asks, its request does so (target/ops.c).
 *
 * Failures.  rtgt_domain_create() is all or nothing.  A revocation does not fail.  A registration
 * that fails leaves extents that no peer reaches; the next client tries again.
 */
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "core/stats.h"
#include "main.h"
#include "registration/region.h"

static void domain_release(struct kref *ref)
{
	struct rtgt_domain *dom = container_of(ref, struct rtgt_domain, ref);

	if (dom->pool)
		dom->release_pool(dom->pool);
	while (dom->nr)
		rtgt_map_destroy(&dom->map[--dom->nr]);
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
 * @stats: counters of the port
 * @spec: the regions
 * @mem: their memory; NULL for memory of the domain's own, which the caller had promised
 * @nr: number of regions, at most RTGT_MAX_REGIONS
 * @mr_max: maximum size of an MR in bytes, a multiple of PAGE_SIZE; 0 for no limit
 *
 * May sleep.  No peer reaches a region before rtgt_domain_register().
 * Return: a reference for rtgt_domain_put(), or an ERR_PTR: -ENODEV when the device is being
 * removed, -EOPNOTSUPP when it lacks something, what rtgt_map_create() returned.
 */
struct rtgt_domain *rtgt_domain_create(struct ib_device *ibdev, struct rtgt_stats __percpu *stats,
				       struct rtgt_spec *const spec[], struct rtgt_mem *const mem[],
				       unsigned int nr, u64 mr_max)
{
	int ret = rtgt_dev_check(ibdev);
	struct rtgt_domain *dom;

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
	mutex_init(&dom->registering);
	mutex_init(&dom->lock);
	dom->incomplete = true;
	dom->next_key = get_random_u32();
	dom->stats = stats;
	dom->ibdev = ibdev;
	dom->mr_max = mr_max;
	dom->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(dom->pd)) {
		ret = PTR_ERR(dom->pd);
		goto put;
	}
	while (dom->nr < nr) {
		ret = rtgt_map_create(dom, spec[dom->nr], mem ? mem[dom->nr] : NULL);
		if (ret)
			goto put;
	}
	return dom;

put:
	rtgt_domain_put(dom);
	return ERR_PTR(ret);
}

/**
 * rtgt_domain_reaches() - check whether a peer reaches an extent just now
 * @dom: domain
 * @index: region, below @dom->nr
 * @at: extent, below the region's number of extents
 * Context: may sleep.
 * Return: true if its rkey is valid.
 */
bool rtgt_domain_reaches(struct rtgt_domain *dom, unsigned int index, u32 at)
{
	struct rtgt_extent *ext = &dom->map[index].extent[at];
	bool reaches;

	mutex_lock(&dom->lock);
	reaches = ext->mr && !READ_ONCE(ext->mr->invalid);
	mutex_unlock(&dom->lock);
	return reaches;
}

/* Register what no peer reaches of a region. */
static int domain_register(struct rtgt_domain *dom, unsigned int index, struct ib_qp *qp)
{
	struct rtgt_map *map = &dom->map[index];
	u64 start = ktime_get_ns();
	struct rtgt_mr *mr;
	int ret = 0;
	u32 at = 0;

	while (at < map->nr && (!ret || ret == -EAGAIN)) {
		if (rtgt_domain_reaches(dom, index, at)) {
			at++;
			continue;
		}
		mr = rtgt_mr_begin(&map->extent[at]);
		ret = IS_ERR(mr) ? PTR_ERR(mr) : rtgt_mr_register(mr, qp);
	}
	map->reg_ns += ktime_get_ns() - start;
	return ret == -EAGAIN ? 0 : ret;
}

/**
 * rtgt_domain_incomplete() - check whether rtgt_domain_register() has something to do
 * @dom: domain
 *
 * Waits for a set-up that is registering.  May sleep.
 * Return: true if an extent may be unreachable.
 */
bool rtgt_domain_incomplete(struct rtgt_domain *dom)
{
	bool incomplete;

	mutex_lock(&dom->registering);
	incomplete = READ_ONCE(dom->incomplete);
	mutex_unlock(&dom->registering);
	return incomplete;
}

/**
 * rtgt_domain_register() - register all extents that no peer reaches
 * @dom: domain
 * @qp: RC QP of its PD in RTS, to which nobody else posts, whatever a peer sends to it
 *
 * A remote invalidation needs no more than the rkey, so a client can invalidate that of a shared
 * region: clients that connect later get a new one.
 * Context: may sleep, for the device and for another set-up that registers; for no peer.
 * Return: 0, -ENOMEM, -EIO when the device refused, or what it returned.
 */
int rtgt_domain_register(struct rtgt_domain *dom, struct ib_qp *qp)
{
	unsigned int i;
	int ret = 0;

	mutex_lock(&dom->registering);
	if (xchg(&dom->incomplete, false))
		for (i = 0; !ret && i < dom->nr; i++)
			ret = domain_register(dom, i, qp);
	if (ret)
		WRITE_ONCE(dom->incomplete, true);
	mutex_unlock(&dom->registering);
	return ret;
}

/**
 * rtgt_domain_revoke() - end all rkeys of a region
 * @dom: domain
 * @index: region, below @dom->nr
 *
 * When it returns the device accepts the rkeys no more; an outstanding access has either completed
 * or fails.  A registration that has begun is in vain.
 * Context: may sleep, for the device.
 */
void rtgt_domain_revoke(struct rtgt_domain *dom, unsigned int index)
{
	struct rtgt_map *map = &dom->map[index];
	u32 i;

	mutex_lock(&dom->lock);
	for (i = 0; i < map->nr; i++) {
		struct rtgt_extent *ext = &map->extent[i];

		if (ext->mr)
			rtgt_count(dom->stats, RTGT_ROTATIONS, 1);
		rtgt_mr_destroy(ext->mr);
		ext->mr = NULL;
		ext->changes++;
	}
	/* under the lock: who finds no rkey there finds this, too, and registers again */
	WRITE_ONCE(dom->incomplete, true);
	mutex_unlock(&dom->lock);
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
	 * Another rkey: its MR is gone, and this one has got its number.  But siw does not compare
	 * the low eight bits (siw_invalidate_stag()) and has invalidated this one.
	 */
	if (mr && (mr->ib->rkey == rkey ||
		   rdma_protocol_iwarp(dom->ibdev, rdma_start_port(dom->ibdev)))) {
		mr->invalid = true;
		WRITE_ONCE(mr->ext->map->dom->incomplete, true);
	}
	xa_unlock_irqrestore(by_rkey, flags);
}

/* May sleep.  No QP of the caller is left in the PD. */
void rtgt_domain_put(struct rtgt_domain *dom)
{
	kref_put(&dom->ref, domain_release);
}
