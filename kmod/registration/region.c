// SPDX-License-Identifier: GPL-2.0
/*
 * Registrations: what makes memory reachable.
 *
 *   struct rtgt_mem     the memory, see mem.c
 *   struct rtgt_extent  a part of it, registered: an MR with an rkey and an iova
 *   struct rtgt_map     a region: its memory and the extents that cover it
 *   struct rtgt_domain  a protection domain with all regions of a port: one for
 *                       each device of a shared port, one for each connection of
 *                       a private one
 *
 * One MR covers a region where it can.  Where it cannot, the region is cut into
 * extents of one size (the last may be shorter), as large as
 *
 * - the port's mr_max allows,
 * - the device's page list reaches: in pages where those do, otherwise in chunks of
 *   the memory, if that is a page size the device says it takes,
 * - RTGT_EXTENT_MAX, or half of it and so on while the driver finds no memory for
 *   what it keeps for an MR.
 *
 * Pages come first because they are what every driver is used with; rxe before
 * 6.12.115 says that it takes larger ones and handles those right only if they
 * are aligned to their size and in the linear map, which chunks are.
 *
 * An extent is reached at an iova chosen at random, never at the address the
 * kernel knows it by: a capability says nothing about the kernel's layout.  The
 * length of the registration is the extent's size to the byte, so the device
 * itself refuses what lies beyond.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "rtgt.h"

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

/* ------------------------------------------------------------------ an extent */

/*
 * Any address aligned to the entries will do, below the canonical hole, so that no
 * arithmetic on it wraps by accident and it cannot be taken for a kernel address.
 */
static u64 extent_random_iova(u32 entry_size)
{
	u64 iova = get_random_u64() & GENMASK_ULL(45, 30);

	return iova | BIT_ULL(46) | (get_random_u32() & GENMASK(29, 0) & ~(entry_size - 1));
}

static int extent_dma(struct rtgt_domain *dom, struct rtgt_map *map, struct rtgt_extent *ext,
		      u64 offset, u64 len)
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
	ret = ib_dma_map_sgtable_attrs(dom->ibdev, &ext->sgt, DMA_BIDIRECTIONAL, 0);
	if (ret)
		sg_free_table(&ext->sgt);
	return ret;
}

static void extent_dma_undo(struct rtgt_domain *dom, struct rtgt_extent *ext)
{
	ib_dma_unmap_sgtable_attrs(dom->ibdev, &ext->sgt, DMA_BIDIRECTIONAL, 0);
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

/* Return: an MR with its page list, or -EAGAIN when it can only be had in pages. */
static struct ib_mr *extent_alloc_mr(struct rtgt_domain *dom, struct rtgt_map *map,
				     struct rtgt_extent *ext, unsigned int entries)
{
	struct ib_mr *mr;
	int ret;

	if (!extent_aligned(ext, map->entry_size))
		return ERR_PTR(-EAGAIN);
	mr = ib_alloc_mr(dom->pd, IB_MR_TYPE_MEM_REG, entries);
	if (IS_ERR(mr))
		return mr;
	ret = ib_map_mr_sg(mr, ext->sgt.sgl, ext->sgt.nents, NULL, map->entry_size);
	if (ret != ext->sgt.nents) {
		ib_dereg_mr(mr);
		return ERR_PTR(ret < 0 ? ret : -EINVAL);
	}
	mr->iova = extent_random_iova(map->entry_size);
	return mr;
}

static void extent_set_key(struct rtgt_domain *dom, struct rtgt_extent *ext, u32 rkey, bool dead)
{
	spin_lock_irq(&dom->key_lock);
	ext->rkey = rkey;
	ext->dead = dead;
	spin_unlock_irq(&dom->key_lock);
}

/*
 * Make the present key of @ext->mr valid.  It is known before: a peer that guesses it can
 * invalidate it the moment it is valid, before this function returns.
 */
static int extent_register(struct rtgt_domain *dom, struct rtgt_map *map, struct rtgt_extent *ext)
{
	int ret;

	extent_set_key(dom, ext, ext->mr->rkey, false);
	ret = rtgt_reg_register(dom->reg, ext->mr, map_ib_access(map));
	if (!ret)
		return 0;
	/* whatever state the MR is in: the next rotation, or client, replaces it */
	extent_set_key(dom, ext, ext->mr->rkey, true);
	ext->rotations = RTGT_ROTATIONS_MAX;
	return ret;
}

static int extent_mr(struct rtgt_domain *dom, struct rtgt_map *map, struct rtgt_extent *ext,
		     u64 len)
{
	unsigned int entries = DIV_ROUND_UP_ULL(len, map->entry_size);
	struct ib_mr *mr = extent_alloc_mr(dom, map, ext, entries);
	int ret;

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	ret = xa_err(xa_store(&dom->by_key, mr->rkey >> 8, ext, GFP_KERNEL));
	if (ret) {
		ib_dereg_mr(mr);
		return ret;
	}
	ext->mr = mr;
	map->entries += entries;
	return 0;
}

static void extent_dereg(struct rtgt_domain *dom, struct rtgt_extent *ext)
{
	xa_erase(&dom->by_key, ext->mr->rkey >> 8);
	ib_dereg_mr(ext->mr);
}

static int extent_create(struct rtgt_domain *dom, struct rtgt_map *map, struct rtgt_extent *ext,
			 u64 offset, u64 len)
{
	u64 start = ktime_get_ns(), dma, mr;
	int ret;

	ret = extent_dma(dom, map, ext, offset, len);
	if (ret)
		return ret;
	dma = ktime_get_ns();
	ret = extent_mr(dom, map, ext, len);
	if (ret)
		goto undo_dma;
	mr = ktime_get_ns();
	ret = extent_register(dom, map, ext);
	if (ret)
		goto dereg;
	map->dma_ns += dma - start;
	map->mr_ns += mr - dma;
	map->reg_ns += ktime_get_ns() - mr;
	return 0;

dereg:
	extent_dereg(dom, ext);
undo_dma:
	extent_dma_undo(dom, ext);
	return ret;
}

static void extent_destroy(struct rtgt_domain *dom, struct rtgt_extent *ext)
{
	extent_dereg(dom, ext);
	extent_dma_undo(dom, ext);
}

/*
 * Another MR in place of the present one, whose keys end with it.  It is made before that
 * goes, so it cannot have the same number.
 */
static int extent_renew(struct rtgt_domain *dom, struct rtgt_map *map, struct rtgt_extent *ext,
			u64 len)
{
	unsigned int entries = DIV_ROUND_UP_ULL(len, map->entry_size);
	struct ib_mr *mr = extent_alloc_mr(dom, map, ext, entries);
	int ret;

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	ret = xa_err(xa_store(&dom->by_key, mr->rkey >> 8, ext, GFP_KERNEL));
	if (ret) {
		ib_dereg_mr(mr);
		return ret;
	}
	mr->iova = ext->mr->iova;	/* peers know it */
	extent_dereg(dom, ext);
	ext->mr = mr;
	ext->rotations = 0;
	return extent_register(dom, map, ext);
}

static int extent_rotate(struct rtgt_domain *dom, struct rtgt_map *map, struct rtgt_extent *ext,
			 u64 len)
{
	lockdep_assert_held(&dom->lock);
	if (!READ_ONCE(ext->dead)) {
		/* fails if a peer has been faster; then, too, the MR is replaced */
		if (rtgt_reg_invalidate(dom->reg, ext->mr))
			ext->rotations = RTGT_ROTATIONS_MAX;
		extent_set_key(dom, ext, ext->rkey, true);
	}
	if (ext->rotations == RTGT_ROTATIONS_MAX)
		return extent_renew(dom, map, ext, len);
	ext->rotations++;
	ib_update_fast_reg_key(ext->mr, ib_inc_rkey(ext->mr->rkey));
	return extent_register(dom, map, ext);
}

/* ------------------------------------------------------------------- a region */

/* What the device's page list reaches in pages */
static u64 domain_page_reach(const struct rtgt_domain *dom)
{
	return (u64)dom->ibdev->attrs.max_fast_reg_page_list_len << PAGE_SHIFT;
}

/* As large as an extent can be; not 0. */
static u64 map_extent_size(const struct rtgt_domain *dom, const struct rtgt_mem *mem)
{
	const struct ib_device_attr *attrs = &dom->ibdev->attrs;
	u64 most = min_t(u64, dom->mr_max ?: U64_MAX, RTGT_EXTENT_MAX);
	u64 pages = domain_page_reach(dom), chunk = rtgt_mem_chunk(mem), chunks = 0;

	if (min(most, mem->size) <= pages)
		return min_t(u64, most, PAGE_ALIGN(mem->size));
	if (attrs->page_size_cap & chunk)
		chunks = min3(ALIGN_DOWN(most, chunk), mem->nr * chunk,
			      attrs->max_fast_reg_page_list_len * chunk);
	return max(chunks, pages);
}

static void map_unregister(struct rtgt_domain *dom, struct rtgt_map *map)
{
	while (map->nr)
		extent_destroy(dom, &map->extent[--map->nr]);
	kvfree(map->extent);
	map->extent = NULL;
}

/* All extents, or none. */
static int map_register(struct rtgt_domain *dom, struct rtgt_map *map)
{
	u64 nr = DIV_ROUND_UP_ULL(map->mem->size, map->extent_size);
	int ret;

	if (nr > RTGT_MAX_EXTENTS)
		return -E2BIG;
	map->entries = 0;
	map->dma_ns = 0;
	map->mr_ns = 0;
	map->reg_ns = 0;
	map->entry_size = map->extent_size > domain_page_reach(dom) ? rtgt_mem_chunk(map->mem) :
								      PAGE_SIZE;
	map->extent = kvcalloc(nr, sizeof(*map->extent), GFP_KERNEL | __GFP_NOWARN);
	if (!map->extent)
		return -ENOMEM;
	while (map->nr < nr) {
		ret = extent_create(dom, map, &map->extent[map->nr], map->nr * map->extent_size,
				    rtgt_extent_len(map, map->nr));
		if (ret) {
			map_unregister(dom, map);
			return ret;
		}
		map->nr++;
	}
	return 0;
}

/* After an error: can it be had in smaller extents? */
static bool map_shrink(const struct rtgt_domain *dom, struct rtgt_map *map, int err)
{
	u64 pages = domain_page_reach(dom);

	if (map->extent_size <= pages)
		return false;
	switch (err) {
	case -ENOMEM:
		map->extent_size = max(ALIGN_DOWN(map->extent_size / 2, rtgt_mem_chunk(map->mem)),
				       pages);
		return true;
	case -EAGAIN:
		map->extent_size = pages;
		return true;
	default:
		return false;
	}
}

static int map_create(struct rtgt_domain *dom, const struct rtgt_spec *spec, struct rtgt_mem *mem)
{
	struct rtgt_map *map = &dom->map[dom->nr];
	int ret;

	if (spec->access & RTGT_ACCESS_FLUSH &&
	    !(dom->ibdev->attrs.device_cap_flags & RTGT_IB_DEVICE_FLUSH_GLOBAL)) {
		pr_err_ratelimited("%s: cannot FLUSH: take that from the access of region %s\n",
				   dev_name(&dom->ibdev->dev), spec->name);
		return -EOPNOTSUPP;
	}
	if (mem)
		kref_get(&mem->ref);
	else
		mem = rtgt_mem_alloc_promised(spec);
	if (!mem)
		return -ENOMEM;
	map->mem = mem;
	map->access = spec->access;
	map->extent_size = map_extent_size(dom, mem);
	do {
		ret = map_register(dom, map);
	} while (ret && map_shrink(dom, map, ret));
	if (!ret) {
		dom->nr++;
		return 0;
	}
	pr_err_ratelimited("%s: region %s cannot be registered (%llu bytes in MRs of %llu, %u at most): error %d\n",
			   dev_name(&dom->ibdev->dev), spec->name, mem->size, map->extent_size,
			   RTGT_MAX_EXTENTS, ret);
	rtgt_mem_put(mem);
	return ret;
}

static void map_destroy(struct rtgt_domain *dom, struct rtgt_map *map)
{
	map_unregister(dom, map);
	rtgt_mem_put(map->mem);
}

/* ------------------------------------------------------------------- a domain */

static void domain_release(struct kref *ref)
{
	struct rtgt_domain *dom = container_of(ref, struct rtgt_domain, ref);

	if (dom->pool)
		rtgt_pool_destroy(dom->pool);
	while (dom->nr)
		map_destroy(dom, &dom->map[--dom->nr]);
	if (dom->reg)
		rtgt_reg_destroy(dom->reg);
	if (!IS_ERR_OR_NULL(dom->pd))
		ib_dealloc_pd(dom->pd);
	xa_destroy(&dom->by_key);
	rtgt_dev_detach(&dom->user);
	kfree(dom);
	atomic_dec(&rtgt_live.domains);
}

/**
 * rtgt_domain_create() - a protection domain with regions ready to be used
 * @ibdev: the device, which waits for the last rtgt_domain_put() when it is removed: the
 *	   caller sees to it that this comes, as another rtgt_dev_user
 * @stats: counts the registrations
 * @spec: the regions
 * @mem: their memory; NULL for a memory of its own, which the caller had promised
 * @nr: number of regions, at most RTGT_MAX_REGIONS
 * @mr_max: bytes of the largest MR, a multiple of PAGE_SIZE; 0 for no limit
 *
 * May sleep.  Each rkey is valid when this returns.
 *
 * Return: a reference for rtgt_domain_put(), or an ERR_PTR.
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
	spin_lock_init(&dom->key_lock);
	xa_init(&dom->by_key);
	dom->ibdev = ibdev;
	dom->mr_max = mr_max;
	dom->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(dom->pd)) {
		ret = PTR_ERR(dom->pd);
		goto put;
	}
	dom->reg = rtgt_reg_create(dom->pd);
	if (IS_ERR(dom->reg)) {
		ret = PTR_ERR(dom->reg);
		dom->reg = NULL;
		goto put;
	}
	/* an rkey that waits for one connection is no use to the others */
	ret = -EOPNOTSUPP;
	if (mem && !dom->reg->ops->before_rep)
		goto put;
	while (dom->nr < nr) {
		ret = map_create(dom, spec[dom->nr], mem ? mem[dom->nr] : NULL);
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
 * rtgt_domain_rotate() - kill a region's rkeys and make others
 * @dom: domain
 * @index: region, below @dom->nr
 * @from: its first extent
 * @nr: how many; beyond the last there are none
 * @only_dead: only those that a remote invalidation has killed already
 *
 * May sleep.  When it returns the device accepts the old rkeys no more; an access
 * that was under way has either ended or fails.
 *
 * Return: how many rkeys are new, or a negative errno when the device refused: part of
 * the region is unreachable then, until the next rotation or rtgt_domain_revive().
 */
int rtgt_domain_rotate(struct rtgt_domain *dom, unsigned int index, u32 from, u32 nr,
		       bool only_dead)
{
	struct rtgt_map *map = &dom->map[index];
	u32 end = from + min(nr, map->nr - from);
	int new = 0;
	int ret = 0;
	u32 i;

	mutex_lock(&dom->lock);
	for (i = from; i < end && !ret; i++) {
		if (only_dead && !READ_ONCE(map->extent[i].dead))
			continue;
		ret = extent_rotate(dom, map, &map->extent[i], rtgt_extent_len(map, i));
		new++;
	}
	mutex_unlock(&dom->lock);
	if (ret)
		WRITE_ONCE(dom->any_dead, true);
	return ret ?: new;
}

/**
 * rtgt_domain_revive() - new rkeys for what a peer has invalidated
 * @dom: domain
 *
 * A remote invalidation needs no more than the rkey, so a peer can kill that of a
 * shared region.  Those who come after it get a new one.  May sleep.
 *
 * Return: how many rkeys are new, or a negative errno.
 */
int rtgt_domain_revive(struct rtgt_domain *dom)
{
	int revived = 0;
	unsigned int i;
	int ret;

	if (!xchg(&dom->any_dead, false))
		return 0;
	for (i = 0; i < dom->nr; i++) {
		ret = rtgt_domain_rotate(dom, i, 0, U32_MAX, true);
		if (ret < 0)
			return ret;
		revived += ret;
	}
	return revived;
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
	struct rtgt_extent *ext = xa_load(&dom->by_key, rkey >> 8);
	unsigned long flags;

	if (!ext)
		return;
	spin_lock_irqsave(&dom->key_lock, flags);
	/* of a key that was rotated meanwhile it comes too late */
	if (ext->rkey == rkey) {
		ext->dead = true;
		WRITE_ONCE(dom->any_dead, true);
	}
	spin_unlock_irqrestore(&dom->key_lock, flags);
}

static void extent_sync_for_cpu(struct rtgt_domain *dom, struct rtgt_extent *ext, u64 offset,
				u64 len)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(&ext->sgt, sg, i) {
		u64 here = sg_dma_len(sg);

		if (!len)
			return;
		if (offset >= here) {
			offset -= here;
			continue;
		}
		here = min(here - offset, len);
		ib_dma_sync_single_for_cpu(dom->ibdev, sg_dma_address(sg) + offset, here,
					   DMA_FROM_DEVICE);
		len -= here;
		offset = 0;
	}
}

/**
 * rtgt_map_sync_for_cpu() - let the CPU see what the device has written
 * @dom: domain
 * @index: region
 * @offset: first byte
 * @len: bytes; the caller has checked the range
 *
 * The device keeps the memory: the CPU only reads, so there is nothing to hand back.
 * Any context.
 */
void rtgt_map_sync_for_cpu(struct rtgt_domain *dom, unsigned int index, u64 offset, u64 len)
{
	struct rtgt_map *map = &dom->map[index];

	while (len) {
		u64 in, at = div64_u64_rem(offset, map->extent_size, &in);
		u64 here = min(len, map->extent_size - in);

		extent_sync_for_cpu(dom, &map->extent[at], in, here);
		offset += here;
		len -= here;
	}
}

static u32 extent_sges(struct rtgt_domain *dom, struct rtgt_extent *ext, u64 offset, u32 len,
		       struct ib_sge *sge, unsigned int max, unsigned int *nr)
{
	struct scatterlist *sg;
	u32 done = 0;
	int i;

	for_each_sgtable_dma_sg(&ext->sgt, sg, i) {
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
	u32 done = 0;

	*nr = 0;
	while (done < len && *nr < max) {
		u64 in, at = div64_u64_rem(offset + done, map->extent_size, &in);

		done += extent_sges(dom, &map->extent[at], in, len - done, sge, max, nr);
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
