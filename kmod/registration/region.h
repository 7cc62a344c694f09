/* SPDX-License-Identifier: GPL-2.0 */
/* Regions: memory registered in a protection domain. */
#ifndef _RTGT_REGION_H
#define _RTGT_REGION_H

#include <linux/kref.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "core/device.h"
#include "core/mem.h"
#include "core/stats.h"
#include "include/uapi/rtgt.h"

struct rtgt_recv_pool;
struct rtgt_regqp;

/*
 * The largest MR: rxe keeps 16 bytes for each page of one, in one piece, and for
 * 1 GiB that is as much as the allocator gives.
 */
#define RTGT_EXTENT_MAX		(RTGT_EXTENT_MAX_GIB * SZ_1G)

/* of a region */
#define RTGT_MAX_EXTENTS	16384

/*
 * Rotations of an MR's rkey.  They change its lower eight bits only, so one more would
 * make the first rkey valid again, which a peer may have kept: the extent gets a new MR.
 */
#define RTGT_ROTATIONS_MAX	255

struct rtgt_domain;

/**
 * struct rtgt_mr - what makes an extent reachable, under one rkey at a time
 * @ib: the device's MR, at the iova of the extent
 * @dom: the domain
 * @rkey: of @ib; under the lock of rtgt_dev.by_rkey
 * @invalid: @rkey was not registered yet, a peer invalidated it, or it could not be registered:
 *	     no peer reaches the extent; under the lock of rtgt_dev.by_rkey
 * @fresh: never registered: @rkey was never valid
 * @rotations: rkeys that @ib had before this one
 */
struct rtgt_mr {
	struct ib_mr *ib;
	struct rtgt_domain *dom;
	u32 rkey;
	bool invalid;
	bool fresh;
	u8 rotations;
};

/**
 * struct rtgt_extent - a byte range of a region, which a peer reaches through one MR
 * @iova: a peer reaches the extent there
 * @mr: owned; NULL after a rotation that failed and had to deregister it.  Under rtgt_domain.lock
 * @changes: how many MRs it had before this one; under rtgt_domain.lock
 * @sgt: DMA mapping
 */
struct rtgt_extent {
	u64 iova;
	struct rtgt_mr *mr;
	u32 changes;
	struct sg_table sgt;
};

/**
 * struct rtgt_map - a region in a domain: a memory and the extents that cover it
 * @dom: the domain
 * @mem: the memory, a counted reference
 * @mem_user: the extents' DMA mappings, for readers of @mem
 * @access: RTGT_ACCESS_*
 * @entry_size: bytes of a page-list entry
 * @entries: of all extents together
 * @extent_size: bytes of each extent but the last, a multiple of @entry_size
 * @nr: number of extents
 * @extent: the extents, in the order of the byte ranges they cover
 * @dma_ns: how long it took to map all of them for DMA
 * @mr_ns: how long to allocate the MRs and write their page lists
 * @reg_ns: how long until the device had registered them
 */
struct rtgt_map {
	struct rtgt_domain *dom;
	struct rtgt_mem *mem;
	struct rtgt_mem_user mem_user;
	u32 access;
	u32 entry_size;
	u32 entries;
	u64 extent_size;
	unsigned int nr;
	struct rtgt_extent *extent;
	u64 dma_ns;
	u64 mr_ns;
	u64 reg_ns;
};

/**
 * struct rtgt_domain - a protection domain and the regions registered in it
 * @ref: a shared one is held by its port and its connections
 * @ibdev: the device
 * @user: hold on the device, until the last reference is put
 * @pd: QPs that are to reach the regions are created here
 * @regqp: registers and invalidates; NULL on iWARP, where only a connection can (renewal.c)
 * @lock: rkeys change under it; protects @pool
 * @any_invalid: an rkey was invalidated, or not registered, since
 *		 rtgt_domain_reregister() last looked
 * @revoke: rtgt_port_revoke() has not come to it yet; under rtgt_port.lock
 * @pool: with an SRQ, the receives of all connections in @pd; the target's
 * @release_pool: frees @pool when the domain is released; set with it
 * @mr_max: maximum size of an MR in bytes, 0 for no limit
 * @nr: number of regions
 * @map: the regions, in the order of their index on the wire
 */
struct rtgt_domain {
	struct kref ref;
	struct ib_device *ibdev;
	struct rtgt_dev_user user;
	struct ib_pd *pd;
	struct rtgt_regqp *regqp;
	struct mutex lock;	/* every rkey, @pool */
	bool any_invalid;
	bool revoke;
	struct rtgt_recv_pool *pool;
	void (*release_pool)(struct rtgt_recv_pool *pool);
	u64 mr_max;
	unsigned int nr;
	struct rtgt_map map[RTGT_MAX_REGIONS];
};

/**
 * struct rtgt_renewal - another MR for an extent, which a connection registers (iWARP)
 * @map: region of the extent
 * @ext: extent
 * @mr: owned; NULL if the renewal is empty
 * @changes: rtgt_extent.changes when it began
 */
struct rtgt_renewal {
	struct rtgt_map *map;
	struct rtgt_extent *ext;
	struct rtgt_mr *mr;
	u32 changes;
};

/* What a capability of the region's first extent says. */
static inline u32 rtgt_map_access(const struct rtgt_map *map)
{
	return map->access | (map->nr > 1 ? RTGT_ACCESS_MORE : 0);
}

static inline u64 rtgt_extent_len(const struct rtgt_map *map, unsigned int i)
{
	return min_t(u64, map->extent_size, map->mem->size - i * map->extent_size);
}

/* Return the rkey of an extent, 0 if it has none.  The caller holds rtgt_domain.lock. */
static inline u32 rtgt_extent_rkey(const struct rtgt_extent *ext)
{
	return ext->mr ? ext->mr->ib->rkey : 0;
}

struct rtgt_domain *rtgt_domain_create(struct ib_device *ibdev, struct rtgt_stats __percpu *stats,
				       struct rtgt_spec *const spec[], struct rtgt_mem *const mem[],
				       unsigned int nr, u64 mr_max);
void rtgt_domain_put(struct rtgt_domain *dom);
bool rtgt_domain_early(const struct rtgt_domain *dom);
int rtgt_domain_rotate(struct rtgt_domain *dom, unsigned int index, u32 from, u32 nr,
		       bool only_invalid, unsigned int *rotated);
bool rtgt_domain_reaches(struct rtgt_domain *dom, unsigned int index, u32 at);
int rtgt_domain_reregister(struct rtgt_domain *dom, unsigned int *rotated);
void rtgt_domain_invalidated(struct rtgt_domain *dom, u32 rkey);
int rtgt_renewal_begin(struct rtgt_renewal *rn, struct rtgt_domain *dom, unsigned int index,
		       u32 at);
void rtgt_renewal_wr(struct rtgt_renewal *rn, struct ib_reg_wr *wr);
int rtgt_renewal_finish(struct rtgt_renewal *rn);
void rtgt_renewal_abort(struct rtgt_renewal *rn);
void rtgt_map_sync_for_cpu(struct rtgt_domain *dom, unsigned int index, u64 offset, u64 len);
void rtgt_map_sync_for_device(struct rtgt_domain *dom, unsigned int index, u64 offset, u64 len);

#endif /* _RTGT_REGION_H */
