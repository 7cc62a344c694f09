// SPDX-License-Identifier: GPL-2.0
/*
 * A region in a domain: a memory and the extents that cover it.
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
 * Ownership.  The domain owns its regions; a region owns its extents and holds a reference to
 * its memory, which other domains may register too.  A region does not change while its
 * domain is used, except for its rkeys, under rtgt_domain.lock.
 *
 * Failures.  A region is registered as a whole or not at all; the log names the reason.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kref.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "main.h"
#include "registration/internal.h"

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

static void map_unregister(struct rtgt_map *map)
{
	while (map->nr)
		rtgt_extent_destroy(map, &map->extent[--map->nr]);
	kvfree(map->extent);
	map->extent = NULL;
}

/* All extents, or none. */
static int map_register(struct rtgt_map *map)
{
	u64 nr = DIV_ROUND_UP_ULL(map->mem->size, map->extent_size);
	bool chunks = map->extent_size > domain_page_reach(map->dom);
	int ret;

	if (nr > RTGT_MAX_EXTENTS)
		return -E2BIG;
	map->entries = 0;
	map->dma_ns = 0;
	map->mr_ns = 0;
	map->reg_ns = 0;
	map->entry_size = chunks ? rtgt_mem_chunk(map->mem) : PAGE_SIZE;
	map->extent = kvcalloc(nr, sizeof(*map->extent), GFP_KERNEL | __GFP_NOWARN);
	if (!map->extent)
		return -ENOMEM;
	while (map->nr < nr) {
		ret = rtgt_extent_create(map, &map->extent[map->nr], map->nr * map->extent_size,
					 rtgt_extent_len(map, map->nr));
		if (ret) {
			map_unregister(map);
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

static void map_sync(struct rtgt_map *map, u64 offset, u64 len, bool cpu)
{
	while (len) {
		u64 in, at = div64_u64_rem(offset, map->extent_size, &in);
		u64 here = min(len, map->extent_size - in);

		rtgt_extent_sync(map, &map->extent[at], in, here, cpu);
		offset += here;
		len -= here;
	}
}

static void map_sync_for_reader(struct rtgt_mem_user *user, u64 offset, u64 len)
{
	map_sync(container_of(user, struct rtgt_map, mem_user), offset, len, true);
}

/**
 * rtgt_map_create() - register a region
 * @dom: domain; the region becomes its last one
 * @spec: what the administrator asked for
 * @mem: its memory, of which a reference is taken; NULL for a memory of its own, which the
 *	 caller had promised
 *
 * May sleep.
 *
 * Return: 0 when all rkeys are valid, or on iWARP can be made so; -EOPNOTSUPP when the device
 * lacks FLUSH or atomics, -ENOMEM, -E2BIG
 * when it takes more than RTGT_MAX_EXTENTS, or what the device returned.
 */
int rtgt_map_create(struct rtgt_domain *dom, const struct rtgt_spec *spec, struct rtgt_mem *mem)
{
	struct rtgt_map *map = &dom->map[dom->nr];
	int ret;

	if (spec->access & RTGT_ACCESS_FLUSH &&
	    !(dom->ibdev->attrs.device_cap_flags & RTGT_IB_DEVICE_FLUSH_GLOBAL)) {
		pr_err_ratelimited("%s: cannot FLUSH: take that from the access of region %s\n",
				   dev_name(&dom->ibdev->dev), spec->name);
		return -EOPNOTSUPP;
	}
	if (spec->access & RTGT_ACCESS_ATOMIC && dom->ibdev->attrs.atomic_cap == IB_ATOMIC_NONE) {
		pr_err_ratelimited("%s: no atomics: take that from the access of region %s\n",
				   dev_name(&dom->ibdev->dev), spec->name);
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
		ret = map_register(map);
	} while (ret && map_shrink(map, ret));
	if (!ret) {
		map->mem_user.sync = map_sync_for_reader;
		rtgt_mem_add_user(mem, &map->mem_user);
		dom->nr++;
		return 0;
	}
	pr_err_ratelimited("%s: region %s cannot be registered (%llu bytes in MRs of %llu, %u at most): error %d\n",
			   dev_name(&dom->ibdev->dev), spec->name, mem->size, map->extent_size,
			   RTGT_MAX_EXTENTS, ret);
	rtgt_mem_put(mem);
	return ret;
}

/**
 * rtgt_map_destroy() - deregister a region
 * @map: region; no queue pair reaches it any more
 *
 * May sleep.
 */
void rtgt_map_destroy(struct rtgt_map *map)
{
	rtgt_mem_remove_user(map->mem, &map->mem_user);
	map_unregister(map);
	rtgt_mem_put(map->mem);
}

/**
 * rtgt_map_rotate() - invalidate rkeys of a region and register its extents under new ones
 * @map: region
 * @from: first extent
 * @nr: how many; ends with the last extent
 * @only_invalid: only the extents whose rkey is invalid already
 * @rotated: the number of rkeys that are new is added
 *
 * Goes on after an error, so that no old rkey stays valid.  The caller holds rtgt_domain.lock.  May
 * sleep.
 *
 * Return: 0 or the first error.
 */
int rtgt_map_rotate(struct rtgt_map *map, u32 from, u32 nr, bool only_invalid,
		    unsigned int *rotated)
{
	u32 end = from + min(nr, map->nr - from);
	int err = 0;
	int ret;
	u32 i;

	lockdep_assert_held(&map->dom->lock);
	for (i = from; i < end; i++) {
		if (only_invalid && !rtgt_extent_invalid(&map->extent[i]))
			continue;
		ret = rtgt_extent_rotate(map, &map->extent[i], rtgt_extent_len(map, i));
		if (ret >= 0)
			*rotated += ret;
		else
			err = err ?: ret;
	}
	return err;
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
	map_sync(&dom->map[index], offset, len, true);
}

/**
 * rtgt_map_sync_for_device() - let the device see what the memory has got by other ways
 * @dom: domain
 * @index: region
 * @offset: first byte
 * @len: bytes; the caller has checked the range
 *
 * For what the CPU, or the device through another mapping, has written.  Any context.
 */
void rtgt_map_sync_for_device(struct rtgt_domain *dom, unsigned int index, u64 offset, u64 len)
{
	map_sync(&dom->map[index], offset, len, false);
}
