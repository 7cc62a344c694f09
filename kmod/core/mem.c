// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a region: pages with counted references.  It belongs to no device;
 * registration/ maps and registers it.
 *
 * A memory consists of chunks of equal size in the linear map.  The chunks are as large as the
 * allocator can provide, up to 2 MiB, because a registration has one entry for each chunk: 512 for
 * 1 GiB in chunks of 2 MiB, 262,144 in pages.
 *
 * After the fill, only peers write to the memory.  A reader (CHECKSUM, debugfs) may read bytes
 * while a peer writes them.
 *
 * The CPU reads what a device wrote only after an ib_dma_sync_*() of the DMA mapping, which
 * rtgt_mem_user.sync does for a reader.
 *
 * Failures: without memory, an allocation returns NULL and the log names the bytes that are
 * available; the OOM killer does not run.
 *
 * Promises: an allocation whose size an administrator or a peer chooses is promised first
 * (rtgt_mem_promise()).  One eighth of the machine's memory is kept for others, and promised
 * bytes that are not allocated yet are not available to the next caller.  So the bound applies
 * to the sum of all callers.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/crc32.h>
#include <linux/debugfs.h>
#include <linux/gfp.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib_verbs.h>

#include "core/mem.h"
#include "main.h"

/* 2 MiB: with pages of 4 KiB, the size of a huge page on x86-64 and arm64 */
#define RTGT_CHUNK_ORDER	(21 - PAGE_SHIFT)

static void mem_release(struct kref *ref)
{
	struct rtgt_mem *mem = container_of(ref, struct rtgt_mem, ref);
	unsigned int i;

	for (i = 0; i < mem->nr; i++) {
		if (mem->chunk[i])
			__free_pages(mem->chunk[i], mem->order);
		cond_resched();
	}
	kvfree(mem);
	atomic_dec(&rtgt_live.mems);
}

static struct rtgt_mem *mem_alloc_order(u64 size, unsigned int order)
{
	unsigned int nr = DIV_ROUND_UP_ULL(size, PAGE_SIZE << order);
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN;
	struct rtgt_mem *mem;
	unsigned int i;

	/* a smaller order is tried next, so do not reclaim much for a high one; no OOM killer */
	gfp |= order ? __GFP_NORETRY : __GFP_RETRY_MAYFAIL;
	mem = kvzalloc(struct_size(mem, chunk, nr), GFP_KERNEL | __GFP_NOWARN);
	if (!mem)
		return NULL;
	atomic_inc(&rtgt_live.mems);
	kref_init(&mem->ref);
	mutex_init(&mem->lock);
	INIT_LIST_HEAD(&mem->users);
	mem->size = size;
	mem->order = order;
	mem->nr = nr;
	for (i = 0; i < nr; i++) {
		mem->chunk[i] = alloc_pages(gfp, order);
		if (!mem->chunk[i]) {
			kref_put(&mem->ref, mem_release);
			return NULL;
		}
		cond_resched();
	}
	return mem;
}

/**
 * rtgt_random_iova() - choose an address for memory that a peer will use
 * @align: its alignment, a power of two of at most 1 GiB
 *
 * Return: an address below the canonical hole, so that no arithmetic on it wraps by accident and it
 * cannot be taken for an address of the kernel.
 */
u64 rtgt_random_iova(u32 align)
{
	u64 iova = get_random_u64() & GENMASK_ULL(45, 30);

	return iova | BIT_ULL(46) | (get_random_u32() & GENMASK(29, 0) & ~(align - 1));
}

/**
 * rtgt_mem_at() - find the address of a byte, and the contiguous bytes after it
 * @mem: memory
 * @offset: offset of the byte, less than the size of @mem
 * @len: bytes wanted
 * @here: set to the number of contiguous bytes: @len, or fewer at the end of a chunk
 * Context: any.
 * Return: address in the linear map.
 */
void *rtgt_mem_at(struct rtgt_mem *mem, u64 offset, u64 len, size_t *here)
{
	size_t chunk = rtgt_mem_chunk(mem);
	size_t in = offset & (chunk - 1);

	*here = min_t(u64, len, chunk - in);
	return page_address(mem->chunk[offset >> (PAGE_SHIFT + mem->order)]) + in;
}

/**
 * rtgt_mem_map() - map a range for DMA in both directions
 * @mem: memory
 * @offset: first byte
 * @len: bytes, not 0
 * @ibdev: device
 * @sgt: filled in: an entry for each chunk
 * Context: may sleep.
 * Return: 0, and the caller calls rtgt_mem_unmap(); or a negative errno.
 */
int rtgt_mem_map(struct rtgt_mem *mem, u64 offset, u64 len, struct ib_device *ibdev,
		 struct sg_table *sgt)
{
	unsigned int shift = PAGE_SHIFT + mem->order, i;
	struct scatterlist *sg;
	int ret;

	ret = sg_alloc_table(sgt, ((offset + len - 1) >> shift) - (offset >> shift) + 1,
			     GFP_KERNEL);
	if (ret)
		return ret;
	for_each_sgtable_sg(sgt, sg, i) {
		size_t here;
		void *p = rtgt_mem_at(mem, offset, len, &here);

		sg_set_buf(sg, p, here);
		offset += here;
		len -= here;
	}
	ret = ib_dma_map_sgtable_attrs(ibdev, sgt, DMA_BIDIRECTIONAL, 0);
	if (ret)
		sg_free_table(sgt);
	return ret;
}

/* End what rtgt_mem_map() made, which synchronizes the memory for the CPU, too. */
void rtgt_mem_unmap(struct ib_device *ibdev, struct sg_table *sgt)
{
	ib_dma_unmap_sgtable_attrs(ibdev, sgt, DMA_BIDIRECTIONAL, 0);
	sg_free_table(sgt);
}

static void mem_fill(struct rtgt_mem *mem, u16 fill)
{
	size_t chunk = rtgt_mem_chunk(mem);
	unsigned int i;
	u32 word = 0;

	for (i = 0; i < mem->nr; i++) {
		__le32 *p = page_address(mem->chunk[i]);
		size_t k;

		cond_resched();
		if (fill != RTGT_FILL_COUNTER) {
			memset(p, fill, chunk);
			continue;
		}
		for (k = 0; k < chunk / sizeof(*p); k++)
			p[k] = cpu_to_le32(word++);
	}
}

/* The bytes that can still be promised */
static u64 mem_available(void)
{
	s64 pages = si_mem_available() - (s64)(totalram_pages() / 8);
	u64 bytes = (u64)max_t(s64, pages, 0) << PAGE_SHIFT;
	u64 promised = READ_ONCE(rtgt_budget.promised);

	return bytes - min(bytes, promised);
}

/**
 * rtgt_mem_promise() - reserve memory that will be allocated soon
 * @bytes: number of bytes
 * @left: number of bytes that must be left afterwards
 *
 * After true the caller calls rtgt_mem_kept(), once the memory is allocated or is not needed
 * any more.  Process context.
 * Return: true if @bytes and @left are available.
 */
bool rtgt_mem_promise(u64 bytes, u64 left)
{
	u64 available;
	bool ok;

	spin_lock(&rtgt_budget.lock);
	available = mem_available();
	ok = bytes <= available && left <= available - bytes;
	if (ok)
		WRITE_ONCE(rtgt_budget.promised, rtgt_budget.promised + bytes);
	spin_unlock(&rtgt_budget.lock);
	return ok;
}

/* End a promise: the memory is allocated, or is not needed.  Process context. */
void rtgt_mem_kept(u64 bytes)
{
	spin_lock(&rtgt_budget.lock);
	WRITE_ONCE(rtgt_budget.promised, rtgt_budget.promised - bytes);
	spin_unlock(&rtgt_budget.lock);
}

/**
 * rtgt_mem_needs() - return the memory that a region takes
 * @size: size of the region in bytes
 * Return: bytes of all its chunks, and 16 bytes per page that a device keeps (rxe in
 * 6.12.117).
 */
u64 rtgt_mem_needs(u64 size)
{
	u64 chunk = PAGE_SIZE << min_t(int, get_order(size), RTGT_CHUNK_ORDER);

	return ALIGN(size, chunk) + size / 256;
}

static struct rtgt_mem *mem_none(const struct rtgt_spec *spec)
{
	pr_warn_ratelimited("region %s: no memory for its %llu bytes: %llu can be had\n",
			    spec->name, spec->size, mem_available());
	return NULL;
}

/**
 * rtgt_mem_alloc_promised() - allocate the memory of a region; rtgt_mem_promise() was called
 * @spec: the region
 * Context: may sleep.
 * Return: a reference for rtgt_mem_put(), or NULL without memory.
 */
struct rtgt_mem *rtgt_mem_alloc_promised(const struct rtgt_spec *spec)
{
	int order = min_t(int, get_order(spec->size), RTGT_CHUNK_ORDER);
	struct rtgt_mem *mem = NULL;
	u64 start = ktime_get_ns();

	for (; order >= 0 && !mem; order--)
		mem = mem_alloc_order(spec->size, order);
	if (!mem)
		return mem_none(spec);
	mem->alloc_ns = ktime_get_ns() - start;
	if (spec->fill)
		mem_fill(mem, spec->fill);
	mem->fill_ns = ktime_get_ns() - start - mem->alloc_ns;
	return mem;
}

/**
 * rtgt_mem_alloc() - allocate the memory of a region
 * @spec: the region
 * Context: may sleep.
 * Return: a reference for rtgt_mem_put(), or NULL without memory.
 */
struct rtgt_mem *rtgt_mem_alloc(const struct rtgt_spec *spec)
{
	u64 needs = rtgt_mem_needs(spec->size);
	struct rtgt_mem *mem;

	if (!rtgt_mem_promise(needs, 0))
		return mem_none(spec);
	mem = rtgt_mem_alloc_promised(spec);
	rtgt_mem_kept(needs);
	return mem;
}

/* The last put frees the memory, and may sleep.  @mem may be NULL. */
void rtgt_mem_put(struct rtgt_mem *mem)
{
	if (mem)
		kref_put(&mem->ref, mem_release);
}

/* Add a DMA mapping through which a device writes to the memory.  May sleep. */
void rtgt_mem_add_user(struct rtgt_mem *mem, struct rtgt_mem_user *user)
{
	mutex_lock(&mem->lock);
	list_add_tail(&user->entry, &mem->users);
	mutex_unlock(&mem->lock);
}

/* @user->sync() is not called any more when this returns.  The caller unmaps next.  May sleep. */
void rtgt_mem_remove_user(struct rtgt_mem *mem, struct rtgt_mem_user *user)
{
	mutex_lock(&mem->lock);
	list_del(&user->entry);
	mutex_unlock(&mem->lock);
}

/**
 * rtgt_mem_crc32_more() - compute the CRC-32 of a range, as crc32() of zlib
 * @mem: memory
 * @crc: CRC of the bytes before @offset; 0 for the first bytes
 * @offset: first byte
 * @len: bytes; the caller has checked the range
 * Context: may sleep.
 * Return: the CRC of these bytes and the ones before.
 */
u32 rtgt_mem_crc32_more(struct rtgt_mem *mem, u32 crc, u64 offset, u64 len)
{
	crc = ~crc;
	while (len) {
		size_t here;
		void *p = rtgt_mem_at(mem, offset, len, &here);

		crc = crc32_le(crc, p, here);
		offset += here;
		len -= here;
		cond_resched();
	}
	return ~crc;
}

static void mem_sync_for_cpu(struct rtgt_mem *mem, u64 offset, u64 len)
{
	struct rtgt_mem_user *user;

	mutex_lock(&mem->lock);
	list_for_each_entry(user, &mem->users, entry)
		user->sync(user, offset, len);
	mutex_unlock(&mem->lock);
}

/* The file "data" */
static ssize_t mem_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	struct rtgt_mem *mem = file->private_data;
	size_t done = 0;

	if (*pos < 0)
		return -EINVAL;
	if (*pos >= mem->size)
		return 0;
	len = min_t(u64, len, mem->size - *pos);
	while (done < len) {
		size_t here;
		void *p = rtgt_mem_at(mem, *pos, len - done, &here);

		mem_sync_for_cpu(mem, *pos, here);
		if (copy_to_user(to + done, p, here))
			return done ?: -EFAULT;
		done += here;
		*pos += here;
		cond_resched();
	}
	return done;
}

static const struct file_operations mem_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = mem_read,
	.llseek = default_llseek,
};

/**
 * rtgt_mem_debugfs() - create a debugfs file with the bytes of a memory
 * @dir: parent directory; the caller removes it before it puts @mem
 * @name: name of the region, and of the directory of the file "data"
 * @mem: memory
 */
void rtgt_mem_debugfs(struct dentry *dir, const char *name, struct rtgt_mem *mem)
{
	debugfs_create_file_size("data", 0400, debugfs_create_dir(name, dir), mem, &mem_fops,
				 mem->size);
}
