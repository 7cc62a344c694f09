// SPDX-License-Identifier: GPL-2.0
/*
 * Registrations: what makes memory (mem.c) reachable.
 *
 *   struct rtgt_map     a memory registered in one protection domain
 *   struct rtgt_domain  a protection domain with all regions of a port: one for
 *                       each device of a shared port, one for each connection of
 *                       a private one
 *
 * A registration has an entry for each chunk of the memory.  Where the pages fit
 * the device's page list they are registered one by one all the same: rxe before
 * 6.12.115 mishandles entries that are larger than a page.
 *
 * A region is reached at an iova chosen at random, never at the address the
 * kernel knows it by: a capability says nothing about the kernel's layout.  The
 * length of the registration is the region's size to the byte, so the device
 * itself refuses what lies beyond.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "rtgt.h"

static int map_ib_access(u32 access)
{
	int ib = IB_ACCESS_LOCAL_WRITE;

	if (access & RTGT_ACCESS_READ)
		ib |= IB_ACCESS_REMOTE_READ;
	if (access & RTGT_ACCESS_WRITE)
		ib |= IB_ACCESS_REMOTE_WRITE;
	if (access & RTGT_ACCESS_ATOMIC)
		ib |= IB_ACCESS_REMOTE_ATOMIC;
	if (access & RTGT_ACCESS_FLUSH)
		ib |= RTGT_IB_ACCESS_FLUSH_GLOBAL;
	return ib;
}

/*
 * Any chunk-aligned address will do, below the canonical hole, so that no
 * arithmetic on it wraps by accident and it cannot be taken for a kernel address.
 */
static u64 map_random_iova(const struct rtgt_mem *mem)
{
	u64 iova = get_random_u64() & GENMASK_ULL(45, 30);

	return iova | BIT_ULL(46) | (get_random_u32() & GENMASK(29, PAGE_SHIFT + mem->order));
}

static int map_dma(struct rtgt_domain *dom, struct rtgt_map *map)
{
	struct rtgt_mem *mem = map->mem;
	struct scatterlist *sg;
	u64 left = mem->size;
	unsigned int i;
	int ret;

	ret = sg_alloc_table(&map->sgt, mem->nr, GFP_KERNEL);
	if (ret)
		return ret;
	for_each_sgtable_sg(&map->sgt, sg, i) {
		unsigned int here = min_t(u64, left, rtgt_mem_chunk(mem));

		sg_set_page(sg, mem->chunk[i], here, 0);
		left -= here;
	}
	ret = ib_dma_map_sgtable_attrs(dom->ibdev, &map->sgt, DMA_BIDIRECTIONAL, 0);
	if (ret)
		sg_free_table(&map->sgt);
	return ret;
}

static int map_register(struct rtgt_domain *dom, struct rtgt_map *map)
{
	struct rtgt_mem *mem = map->mem;
	u32 max = dom->ibdev->attrs.max_fast_reg_page_list_len;
	u32 entries = DIV_ROUND_UP_ULL(mem->size, PAGE_SIZE);
	u32 entry_size = PAGE_SIZE;
	int ret;

	if (map->access & RTGT_ACCESS_FLUSH &&
	    !(dom->ibdev->attrs.device_cap_flags & RTGT_IB_DEVICE_FLUSH_GLOBAL)) {
		pr_err("%s: cannot FLUSH: take that from the region's access\n",
		       dev_name(&dom->ibdev->dev));
		return -EOPNOTSUPP;
	}
	if (entries > max) {
		entries = mem->nr;
		entry_size = rtgt_mem_chunk(mem);
	}
	if (entries > max) {
		pr_err("%s: %llu bytes need %u entries of %u bytes, the device takes %u: make the region smaller\n",
		       dev_name(&dom->ibdev->dev), mem->size, entries, entry_size, max);
		return -E2BIG;
	}
	map->mr = ib_alloc_mr(dom->pd, IB_MR_TYPE_MEM_REG, entries);
	if (IS_ERR(map->mr))
		return PTR_ERR(map->mr);
	ret = ib_map_mr_sg(map->mr, map->sgt.sgl, map->sgt.nents, NULL, entry_size);
	if (ret != map->sgt.nents) {
		ret = ret < 0 ? ret : -EINVAL;
		goto dereg;
	}
	map->mr->iova = map->iova;
	ret = rtgt_regqp_register(dom->reg, map->mr, map_ib_access(map->access));
	if (ret)
		goto dereg;
	return 0;

dereg:
	ib_dereg_mr(map->mr);
	return ret;
}

static int map_create(struct rtgt_domain *dom, const struct rtgt_spec *spec, struct rtgt_mem *mem)
{
	struct rtgt_map *map = &dom->map[dom->nr];
	int ret;

	if (mem)
		kref_get(&mem->ref);
	else
		mem = rtgt_mem_alloc(spec);
	if (!mem)
		return -ENOMEM;
	map->mem = mem;
	map->access = spec->access;
	map->iova = map_random_iova(mem);
	ret = map_dma(dom, map);
	if (ret)
		goto put_mem;
	ret = map_register(dom, map);
	if (ret)
		goto unmap;
	dom->nr++;
	return 0;

unmap:
	ib_dma_unmap_sgtable_attrs(dom->ibdev, &map->sgt, DMA_BIDIRECTIONAL, 0);
	sg_free_table(&map->sgt);
put_mem:
	rtgt_mem_put(mem);
	return ret;
}

static void map_destroy(struct rtgt_domain *dom, struct rtgt_map *map)
{
	ib_dereg_mr(map->mr);
	ib_dma_unmap_sgtable_attrs(dom->ibdev, &map->sgt, DMA_BIDIRECTIONAL, 0);
	sg_free_table(&map->sgt);
	rtgt_mem_put(map->mem);
}

static void domain_release(struct kref *ref)
{
	struct rtgt_domain *dom = container_of(ref, struct rtgt_domain, ref);

	if (dom->pool)
		rtgt_pool_destroy(dom->pool);
	while (dom->nr)
		map_destroy(dom, &dom->map[--dom->nr]);
	if (dom->reg)
		rtgt_regqp_destroy(dom->reg);
	ib_dealloc_pd(dom->pd);
	kfree(dom);
}

/**
 * rtgt_domain_create() - a protection domain with regions ready to be used
 * @ibdev: the device; the caller is a rtgt_dev_user of it until after
 *	   rtgt_domain_put()
 * @stats: counts the registrations
 * @spec: the regions
 * @mem: their memory; NULL, or a NULL entry, for a memory of its own
 * @nr: number of regions, 1 to RTGT_MAX_REGIONS
 *
 * May sleep.  Each rkey is valid when this returns.
 *
 * Return: a reference for rtgt_domain_put(), or an ERR_PTR.
 */
struct rtgt_domain *rtgt_domain_create(struct ib_device *ibdev, struct rtgt_stats __percpu *stats,
				       struct rtgt_spec *const spec[], struct rtgt_mem *const mem[],
				       unsigned int nr)
{
	struct rtgt_domain *dom;
	int ret;

	ret = rtgt_dev_check(ibdev);
	if (ret)
		return ERR_PTR(ret);
	dom = kzalloc(sizeof(*dom), GFP_KERNEL);
	if (!dom)
		return ERR_PTR(-ENOMEM);
	kref_init(&dom->ref);
	mutex_init(&dom->lock);
	dom->ibdev = ibdev;
	dom->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(dom->pd)) {
		ret = PTR_ERR(dom->pd);
		kfree(dom);
		return ERR_PTR(ret);
	}
	dom->reg = rtgt_regqp_create(dom->pd);
	if (IS_ERR(dom->reg)) {
		ret = PTR_ERR(dom->reg);
		dom->reg = NULL;
		goto put;
	}
	while (dom->nr < nr) {
		ret = map_create(dom, spec[dom->nr], mem ? mem[dom->nr] : NULL);
		if (ret)
			goto put;
		rtgt_count(stats, RTGT_REGISTRATIONS, 1);
	}
	return dom;

put:
	rtgt_domain_put(dom);
	return ERR_PTR(ret);
}

/**
 * rtgt_domain_rotate() - kill a region's rkey and make another one
 * @dom: domain
 * @index: region, below @dom->nr
 * @only_dead: do nothing unless a remote invalidation has killed the rkey
 *
 * May sleep.  When it returns the device accepts the old rkey no more; an access
 * that was under way has either ended or fails.
 *
 * Return: 0 with the new rkey in @dom->map[@index].mr->rkey; -EPERM when
 * @only_dead forbids; -EIO when the device refused, the region is unreachable
 * then.
 */
int rtgt_domain_rotate(struct rtgt_domain *dom, unsigned int index, bool only_dead)
{
	struct rtgt_map *map = &dom->map[index];
	int ret = 0;

	mutex_lock(&dom->lock);
	if (only_dead && !READ_ONCE(map->dead)) {
		ret = -EPERM;
		goto unlock;
	}
	if (!READ_ONCE(map->dead))
		ret = rtgt_regqp_invalidate(dom->reg, map->mr);
	if (ret)
		goto unlock;
	WRITE_ONCE(map->dead, true);
	ib_update_fast_reg_key(map->mr, ib_inc_rkey(map->mr->rkey));
	ret = rtgt_regqp_register(dom->reg, map->mr, map_ib_access(map->access));
	if (!ret)
		WRITE_ONCE(map->dead, false);
unlock:
	mutex_unlock(&dom->lock);
	return ret;
}

/**
 * rtgt_domain_revive() - new rkeys for regions a peer has invalidated
 * @dom: domain
 *
 * A remote invalidation needs no more than the rkey, so a peer can kill that of a
 * shared region.  Those who come after it get a new one.  May sleep.
 *
 * Return: 0, or what rtgt_domain_rotate() says.
 */
int rtgt_domain_revive(struct rtgt_domain *dom)
{
	unsigned int i;
	int ret;

	for (i = 0; i < dom->nr; i++) {
		ret = rtgt_domain_rotate(dom, i, true);
		if (ret && ret != -EPERM)
			return ret;
	}
	return 0;
}

/**
 * rtgt_domain_invalidated() - note a remote invalidation
 * @dom: domain
 * @rkey: what the completion says
 *
 * Any context.
 */
void rtgt_domain_invalidated(struct rtgt_domain *dom, u32 rkey)
{
	unsigned int i;

	for (i = 0; i < dom->nr; i++)
		if (dom->map[i].mr->rkey == rkey)
			WRITE_ONCE(dom->map[i].dead, true);
}

/**
 * rtgt_map_sges() - scatter/gather elements for a piece of a region
 * @dom: domain
 * @index: region
 * @offset: first byte
 * @len: bytes; the caller has checked the range
 * @sge: room for @max elements, to be used with QPs of @dom
 * @max: at least 1
 * @nr: how many were filled in
 *
 * Any context.
 *
 * Return: bytes they cover: @len, or less if @max is too few.
 */
u32 rtgt_map_sges(struct rtgt_domain *dom, unsigned int index, u64 offset, u32 len,
		  struct ib_sge *sge, unsigned int max, unsigned int *nr)
{
	struct rtgt_map *map = &dom->map[index];
	struct scatterlist *sg;
	u32 done = 0;
	int i;

	*nr = 0;
	for_each_sgtable_dma_sg(&map->sgt, sg, i) {
		u32 here = sg_dma_len(sg);

		if (offset >= here) {
			offset -= here;
			continue;
		}
		if (done == len || *nr == max)
			break;
		sge[*nr].addr = sg_dma_address(sg) + offset;
		sge[*nr].length = min_t(u32, here - offset, len - done);
		sge[*nr].lkey = dom->pd->local_dma_lkey;
		done += sge[*nr].length;
		(*nr)++;
		offset = 0;
	}
	return done;
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
