// SPDX-License-Identifier: GPL-2.0
/*
 * A region in a domain: a memory and the extents that cover it.  An extent is a byte range, which a
 * peer reaches through one MR (mr.c).  Its iova and its DMA mapping stay for as long as it lives.
 *
 * One extent covers a region where one can.  Otherwise the region is cut into extents of one
 * size (the last may be shorter), as large as
 *
 * - the port's mr_max allows,
 * - the device's page list reaches: in pages where those do, otherwise in chunks of
 *   the memory, if that is a page size the device supports,
 * - RTGT_EXTENT_MAX, or half of it and so on while the driver finds no memory for
 *   what it keeps for an MR.
 *
 * Pages come first because all users of a driver register pages; rxe before 6.12.115 reports
 * that it supports larger entries and handles those right only if they are aligned to their
 * size and in the linear map, which chunks are.
 *
 * The iova is chosen at random, so a capability tells nothing about the kernel's layout.  The
 * length of an MR is that of the extent, to the byte, so the device itself refuses an access beyond
 * it.  The first MR is allocated with the extent, because that shows whether the device and the
 * memory allow an extent of this size; the first client has it registered.
 *
 * Ownership.  The domain owns its regions; a region owns its extents and holds a reference to
 * its memory, which other domains may register too.  A region does not change while its
 * domain is used, except for its MRs, under rtgt_domain.lock.
 *
 * Failures.  A region is made as a whole or not at all; the log names the reason.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "main.h"
#include "registration/region.h"

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

/* Both MRs may be NULL. */
static void extent_destroy(struct rtgt_extent *ext)
{
	rtgt_mr_destroy(ext->mr);
	rtgt_mr_destroy(ext->spare);
	rtgt_mem_unmap(ext->map->dom->ibdev, &ext->sgt);
}

/* Returns 0, -EAGAIN when the memory can only be registered in pages, or another errno. */
static int extent_create(struct rtgt_extent *ext, u64 offset)
{
	struct rtgt_map *map = ext->map;
	u64 start = ktime_get_ns(), dma;
	struct rtgt_mr *mr;
	int ret;

	ret = rtgt_mem_map(map->mem, offset, ext->len, map->dom->ibdev, &ext->sgt);
	if (ret)
		return ret;
	dma = ktime_get_ns();
	ext->iova = rtgt_random_iova(map->entry_size);
	mr = rtgt_mr_create(ext);
	if (IS_ERR(mr)) {
		extent_destroy(ext);
		return PTR_ERR(mr);
	}
	ext->spare = mr;
	map->entries += DIV_ROUND_UP_ULL(ext->len, map->entry_size);
	map->dma_ns += dma - start;
	map->mr_ns += ktime_get_ns() - dma;
	return 0;
}

static void map_drop_extents(struct rtgt_map *map)
{
	while (map->nr)
		extent_destroy(&map->extent[--map->nr]);
	kvfree(map->extent);
	map->extent = NULL;
}

/* All extents, or none. */
static int map_make_extents(struct rtgt_map *map)
{
	u64 nr = DIV_ROUND_UP_ULL(map->mem->size, map->extent_size);
	bool chunks = map->extent_size > domain_page_reach(map->dom);
	int ret;

	if (nr > RTGT_MAX_EXTENTS)
		return -E2BIG;
	map->entries = 0;
	map->dma_ns = 0;
	map->mr_ns = 0;
	map->entry_size = chunks ? rtgt_mem_chunk(map->mem) : PAGE_SIZE;
	map->extent = kvcalloc(nr, sizeof(*map->extent), GFP_KERNEL | __GFP_NOWARN);
	if (!map->extent)
		return -ENOMEM;
	while (map->nr < nr) {
		struct rtgt_extent *ext = &map->extent[map->nr];
		u64 offset = map->nr * map->extent_size;

		ext->map = map;
		ext->len = min(map->extent_size, map->mem->size - offset);
		ret = extent_create(ext, offset);
		if (ret) {
			map_drop_extents(map);
			return ret;
		}
		map->nr++;
	}
	return 0;
}

/* After an error: can it be had in smaller extents? */
static bool map_shrink(struct rtgt_map *map, int err)
{
	u64 pages = domain_page_reach(map->dom);

	if (map->extent_size <= pages || (err != -ENOMEM && err != -EAGAIN))
		return false;
	map->extent_size = err == -EAGAIN ? pages :
		max(ALIGN_DOWN(map->extent_size / 2, rtgt_mem_chunk(map->mem)), pages);
	return true;
}

/* Hand a range over: to the CPU what the device has written, or to the device what others have. */
static void extent_sync(struct rtgt_extent *ext, u64 offset, u64 len, bool cpu)
{
	struct ib_device *ibdev = ext->map->dom->ibdev;
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(&ext->sgt, sg, i) {
		u64 skip = min_t(u64, offset, sg_dma_len(sg));
		u64 here = min_t(u64, len, sg_dma_len(sg) - skip);

		if (here && cpu)
			ib_dma_sync_single_for_cpu(ibdev, sg_dma_address(sg) + skip, here,
						   DMA_FROM_DEVICE);
		else if (here)
			ib_dma_sync_single_for_device(ibdev, sg_dma_address(sg) + skip, here,
						      DMA_TO_DEVICE);
		offset -= skip;
		len -= here;
		if (!len)
			return;
	}
}

static void map_sync(struct rtgt_map *map, u64 offset, u64 len, bool cpu)
{
	while (len) {
		u64 in, at = div64_u64_rem(offset, map->extent_size, &in);
		u64 here = min(len, map->extent_size - in);

		extent_sync(&map->extent[at], in, here, cpu);
		offset += here;
		len -= here;
	}
}

static void map_sync_for_reader(struct rtgt_mem_user *user, u64 offset, u64 len)
{
	map_sync(container_of(user, struct rtgt_map, mem_user), offset, len, true);
}

/**
 * rtgt_map_create() - make the extents of a region
 * @dom: domain; the region becomes its last one
 * @spec: what the administrator asked for
 * @mem: its memory, of which a reference is taken; NULL for memory that the caller had promised
 * Context: may sleep.
 * Return: 0, and each extent can be registered; -EOPNOTSUPP when the device lacks FLUSH or atomics,
 * -ENOMEM, -E2BIG when it takes more than RTGT_MAX_EXTENTS, or what the device returned.
 */
int rtgt_map_create(struct rtgt_domain *dom, const struct rtgt_spec *spec, struct rtgt_mem *mem)
{
	struct rtgt_map *map = &dom->map[dom->nr];
	const char *lacks = NULL;
	int ret;

	if (spec->access & RTGT_ACCESS_FLUSH &&
	    !(dom->ibdev->attrs.device_cap_flags & RTGT_IB_DEVICE_FLUSH_GLOBAL))
		lacks = "cannot FLUSH";
	else if (spec->access & RTGT_ACCESS_ATOMIC &&
		 dom->ibdev->attrs.atomic_cap == IB_ATOMIC_NONE)
		lacks = "no atomics";
	if (lacks) {
		pr_err_ratelimited("%s: %s: take that from the access of region %s\n",
				   dev_name(&dom->ibdev->dev), lacks, spec->name);
		return -EOPNOTSUPP;
	}
	if (mem)
		kref_get(&mem->ref);
	else
		mem = rtgt_mem_alloc_promised(spec);
	if (!mem)
		return -ENOMEM;
	map->dom = dom;
	map->mem = mem;
	map->access = spec->access;
	map->extent_size = map_extent_size(dom, mem);
	do {
		ret = map_make_extents(map);
	} while (ret && map_shrink(map, ret));
	if (!ret) {
		map->mem_user.sync = map_sync_for_reader;
		rtgt_mem_add_user(mem, &map->mem_user);
		dom->nr++;
		return 0;
	}
	pr_err_ratelimited("%s: region %s cannot be registered (%llu bytes in MRs of %llu, %u at most): error %d: make it smaller, or mr_max larger\n",
			   dev_name(&dom->ibdev->dev), spec->name, mem->size, map->extent_size,
			   RTGT_MAX_EXTENTS, ret);
	rtgt_mem_put(mem);
	return ret;
}

/**
 * rtgt_map_destroy() - deregister a region, and free its extents
 * @map: region; no queue pair reaches it any more
 * Context: may sleep.
 */
void rtgt_map_destroy(struct rtgt_map *map)
{
	rtgt_mem_remove_user(map->mem, &map->mem_user);
	map_drop_extents(map);
	rtgt_mem_put(map->mem);
}

/**
 * rtgt_map_sync_for_cpu() - let the CPU see what the device has written
 * @dom: domain
 * @index: region
 * @offset: first byte
 * @len: bytes; the caller has checked the range
 *
 * The device keeps the memory: the CPU only reads, so there is nothing to hand back.
 * Context: any.
 */
void rtgt_map_sync_for_cpu(struct rtgt_domain *dom, unsigned int index, u64 offset, u64 len)
{
	map_sync(&dom->map[index], offset, len, true);
}

/**
 * rtgt_map_sync_for_device() - let the device see what others have written to the memory
 * @dom: domain
 * @index: region
 * @offset: first byte
 * @len: bytes; the caller has checked the range
 * Context: any.
 */
void rtgt_map_sync_for_device(struct rtgt_domain *dom, unsigned int index, u64 offset, u64 len)
{
	map_sync(&dom->map[index], offset, len, false);
}
