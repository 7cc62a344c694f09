/* SPDX-License-Identifier: GPL-2.0 */
/* Regions: memory that peers reach through the MRs of a protection domain. */
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

/* The largest MR: for each page rxe keeps 16 bytes, in one piece, and more cannot be allocated */
#define RTGT_EXTENT_MAX		(RTGT_EXTENT_MAX_GIB * SZ_1G)

/* of a region */
#define RTGT_MAX_EXTENTS	16384

struct rtgt_domain;
struct rtgt_extent;
struct rtgt_map;

/* An MR of the device, which has one rkey and is registered at most once */
struct rtgt_mr {
	struct ib_mr *ib;
	struct rtgt_extent *ext;	/* the extent that it makes reachable */
	bool invalid;	/* not registered yet, or invalidated; under the lock of rtgt_dev.by_rkey */
	u32 changes;			/* rtgt_extent.changes when its registration began */
};

/* A byte range of a region, which a peer reaches through one MR */
struct rtgt_extent {
	struct rtgt_map *map;
	u64 iova;		/* a peer reaches the extent there */
	u64 len;
	/* these under rtgt_domain.lock */
	struct rtgt_mr *mr;	/* registered; NULL before the first client and once revoked */
	struct rtgt_mr *spare;	/* allocated with the extent, for the first registration, or NULL */
	u32 changes;		/* how often @mr changed */
	bool registered;	/* it had an MR once */
	struct sg_table sgt;	/* DMA mapping */
};

/* A region in a domain: a memory and the extents that cover it */
struct rtgt_map {
	struct rtgt_domain *dom;
	struct rtgt_mem *mem;		/* a counted reference */
	struct rtgt_mem_user mem_user;	/* the extents' DMA mappings, for readers of @mem */
	u32 access;			/* RTGT_ACCESS_* */
	u32 entry_size;			/* bytes of a page-list entry */
	u32 entries;			/* of all extents together */
	u64 extent_size;	/* bytes of each extent but the last, a multiple of @entry_size */
	unsigned int nr;		/* number of extents */
	struct rtgt_extent *extent;	/* in the order of the byte ranges they cover */
	u64 dma_ns;			/* nanoseconds for mapping all of them for DMA */
	u64 mr_ns;	/* nanoseconds for allocating the MRs and writing their page lists */
	u64 reg_ns;	/* nanoseconds until the device had registered them, before a REP; or 0 */
};

/* A protection domain and its regions */
struct rtgt_domain {
	struct kref ref;	/* a shared one is held by its port and its connections */
	struct ib_device *ibdev;
	struct rtgt_dev_user user;	/* hold on the device, until the last reference is put */
	struct rtgt_stats __percpu *stats;	/* counts registrations and rotations */
	struct ib_pd *pd;
	struct mutex registering;	/* one set-up at a time registers what is not reachable */
	struct mutex lock;	/* protects the MRs of the extents, @next_key and @pool */
	bool incomplete;	/* an extent may be unreachable, and nobody is registering it */
	u8 next_key;			/* lowest eight bits of the next rkey */
	bool revoke;	/* rtgt_port_revoke() has not come to it yet; under rtgt_port.lock */
	struct rtgt_recv_pool *pool;	/* with an SRQ, the receives of all connections in @pd */
	void (*release_pool)(struct rtgt_recv_pool *pool);	/* set with @pool */
	u64 mr_max;			/* maximum size of an MR in bytes, 0 for no limit */
	unsigned int nr;
	struct rtgt_map map[RTGT_MAX_REGIONS];	/* in the order of their index on the wire */
};

/* What a capability of the region's first extent says. */
static inline u32 rtgt_map_access(const struct rtgt_map *map)
{
	return map->access | (map->nr > 1 ? RTGT_ACCESS_MORE : 0);
}

/* Return the rkey of an extent, 0 if it has none.  The caller holds rtgt_domain.lock. */
static inline u32 rtgt_extent_rkey(const struct rtgt_extent *ext)
{
	return ext->mr ? ext->mr->ib->rkey : 0;
}

/* domain.c */
struct rtgt_domain *rtgt_domain_create(struct ib_device *ibdev, struct rtgt_stats __percpu *stats,
				       struct rtgt_spec *const spec[], struct rtgt_mem *const mem[],
				       unsigned int nr, u64 mr_max);
void rtgt_domain_put(struct rtgt_domain *dom);
bool rtgt_domain_incomplete(struct rtgt_domain *dom);
int rtgt_domain_register(struct rtgt_domain *dom, struct ib_qp *qp);
void rtgt_domain_revoke(struct rtgt_domain *dom, unsigned int index);
bool rtgt_domain_reaches(struct rtgt_domain *dom, unsigned int index, u32 at);
void rtgt_domain_invalidated(struct rtgt_domain *dom, u32 rkey);

/* map.c */
int rtgt_map_create(struct rtgt_domain *dom, const struct rtgt_spec *spec, struct rtgt_mem *mem);
void rtgt_map_destroy(struct rtgt_map *map);
void rtgt_map_sync_for_cpu(struct rtgt_domain *dom, unsigned int index, u64 offset, u64 len);
void rtgt_map_sync_for_device(struct rtgt_domain *dom, unsigned int index, u64 offset, u64 len);

/* mr.c */
struct rtgt_mr *rtgt_mr_create(struct rtgt_extent *ext);
struct rtgt_mr *rtgt_mr_begin(struct rtgt_extent *ext);
void rtgt_mr_reg_wr(struct rtgt_mr *mr, struct ib_reg_wr *wr);
int rtgt_mr_finish(struct rtgt_mr *mr);
int rtgt_mr_register(struct rtgt_mr *mr, struct ib_qp *qp);
void rtgt_mr_destroy(struct rtgt_mr *mr);

/* regqp.c */
int rtgt_domain_register_uc(struct rtgt_domain *dom, struct ib_qp *like);

#endif /* _RTGT_REGION_H */
