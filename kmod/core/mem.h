/* SPDX-License-Identifier: GPL-2.0 */
/* The memory of regions, and the bound of the memory that the module allocates. */
#ifndef _RTGT_MEM_H
#define _RTGT_MEM_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include "include/uapi/rtgt.h"

struct dentry;
struct ib_device;
struct sg_table;

/* Bytes of the name of a port, a region or an initiator, the final NUL included */
#define RTGT_NAME_LEN		32

#define RTGT_REGION_MAX		(1ULL * RTGT_REGION_MAX_GIB * SZ_1G)

/* rtgt_spec.fill is a byte value, or this: the 32-bit words 0, 1, 2, ... in little endian */
#define RTGT_FILL_COUNTER	256

/* The attributes of a region */
struct rtgt_spec {
	char name[RTGT_NAME_LEN];	/* of its directory */
	u64 size;			/* bytes, 1 to RTGT_REGION_MAX */
	u32 access;			/* RTGT_ACCESS_* */
	u16 fill;			/* initial contents of the memory */
};

/* A DMA mapping through which a device writes to a memory */
struct rtgt_mem_user {
	struct list_head entry;		/* in rtgt_mem.users */
	/* synchronize @len bytes for the CPU; called with rtgt_mem.lock held */
	void (*sync)(struct rtgt_mem_user *user, u64 offset, u64 len);
};

/* The memory of a region */
struct rtgt_mem {
	struct kref ref;	/* held by each domain that maps it and, if shared, by the port */
	struct mutex lock;		/* protects @users */
	struct list_head users;		/* struct rtgt_mem_user */
	u64 size;			/* bytes */
	u64 alloc_ns;			/* nanoseconds for allocating and zeroing it */
	u64 fill_ns;			/* nanoseconds for filling it */
	unsigned int order;		/* a chunk has PAGE_SIZE << @order bytes */
	unsigned int nr;		/* number of chunks */
	struct page *chunk[] __counted_by(nr);
};

static inline size_t rtgt_mem_chunk(const struct rtgt_mem *mem)
{
	return PAGE_SIZE << mem->order;
}

bool rtgt_mem_promise(u64 bytes, u64 left);
void rtgt_mem_kept(u64 bytes);
u64 rtgt_mem_needs(u64 size);
struct rtgt_mem *rtgt_mem_alloc(const struct rtgt_spec *spec);
struct rtgt_mem *rtgt_mem_alloc_promised(const struct rtgt_spec *spec);
void rtgt_mem_put(struct rtgt_mem *mem);
void rtgt_mem_add_user(struct rtgt_mem *mem, struct rtgt_mem_user *user);
void rtgt_mem_remove_user(struct rtgt_mem *mem, struct rtgt_mem_user *user);
void *rtgt_mem_at(struct rtgt_mem *mem, u64 offset, u64 len, size_t *here);
u32 rtgt_mem_crc32_more(struct rtgt_mem *mem, u32 crc, u64 offset, u64 len);
int rtgt_mem_map(struct rtgt_mem *mem, u64 offset, u64 len, struct ib_device *ibdev,
		 struct sg_table *sgt);
void rtgt_mem_unmap(struct ib_device *ibdev, struct sg_table *sgt);
u64 rtgt_random_iova(u32 align);
void rtgt_mem_debugfs(struct dentry *dir, const char *name, struct rtgt_mem *mem);

#endif /* _RTGT_MEM_H */
