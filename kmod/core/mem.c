// SPDX-License-Identifier: GPL-2.0
/*
 * The memory a region exposes: pages with counted references.  It knows no device;
 * registration/ registers it.
 *
 * It is made of equal chunks of linear-map pages, as large as the allocator gives
 * (up to 2 MiB), because a registration has one entry for each: 1 GiB in 2 MiB
 * chunks is 512 entries, in pages 262,144.
 *
 * Nobody but the peer writes here after the fill; a reader (checksum, debugfs)
 * sees whatever a peer may be writing at that moment.
 *
 * Between a device and the CPU the memory changes hands through ib_dma_sync_*, which needs
 * the DMA mapping: what maps the memory is a user of it and does that for a reader.
 *
 * Failures: without memory it is NULL and the log says how much there was.  An
 * administrator who asks for more than the machine has gets that answer and not
 * the OOM killer.
 *
 * Whoever allocates what an administrator or a peer can make large has it promised
 * before: of what the machine has available an eighth of all its memory stays with the
 * others, and what was promised and is not allocated yet counts as gone.  So the sum
 * is checked, however many ask at a time.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/crc32.h>
#include <linux/debugfs.h>
#include <linux/gfp.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/mem.h"
#include "main.h"

/* 2 MiB with 4 KiB pages: what one leaf of a page table one level up covers */
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

	/*
	 * A high order is a wish: do not reclaim half the machine for it.  Single
	 * pages are worth more work, but no process.
	 */
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
 * rtgt_mem_at() - where a range begins, and how far that goes
 * @mem: memory
 * @offset: first byte; below its size
 * @len: bytes
 * @here: how many of them are in one piece: @len, or up to the end of the chunk
 *
 * Any context.
 *
 * Return: the first byte, in the linear map.
 */
void *rtgt_mem_at(struct rtgt_mem *mem, u64 offset, u64 len, size_t *here)
{
	size_t chunk = rtgt_mem_chunk(mem);
	size_t in = offset & (chunk - 1);

	*here = min_t(u64, len, chunk - in);
	return page_address(mem->chunk[offset >> (PAGE_SHIFT + mem->order)]) + in;
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

/* What can be promised. */
static u64 mem_available(void)
{
	s64 pages = si_mem_available() - (s64)(totalram_pages() / 8);
	u64 bytes = (u64)max_t(s64, pages, 0) << PAGE_SHIFT;
	u64 promised = READ_ONCE(rtgt_budget.promised);

	return bytes - min(bytes, promised);
}

/**
 * rtgt_mem_promise() - is there memory for something?
 * @bytes: to be allocated soon
 *
 * Process context.
 *
 * Return: true; rtgt_mem_kept() is due when it was allocated, or will not be.
 */
bool rtgt_mem_promise(u64 bytes)
{
	bool ok;

	spin_lock(&rtgt_budget.lock);
	ok = bytes <= mem_available();
	if (ok)
		WRITE_ONCE(rtgt_budget.promised, rtgt_budget.promised + bytes);
	spin_unlock(&rtgt_budget.lock);
	return ok;
}

/**
 * rtgt_mem_kept() - what was promised is allocated, or not needed
 * @bytes: as promised
 *
 * Process context.
 */
void rtgt_mem_kept(u64 bytes)
{
	spin_lock(&rtgt_budget.lock);
	WRITE_ONCE(rtgt_budget.promised, rtgt_budget.promised - bytes);
	spin_unlock(&rtgt_budget.lock);
}

/**
 * rtgt_mem_needs() - what a region takes in all
 * @size: of the region
 *
 * Return: bytes: whole chunks, and what a device keeps for each page.
 */
u64 rtgt_mem_needs(u64 size)
{
	u64 chunk = PAGE_SIZE << min_t(int, get_order(size), RTGT_CHUNK_ORDER);

	return ALIGN(size, chunk) + size / 256;
}

/**
 * rtgt_mem_alloc_promised() - memory to expose, promised by rtgt_mem_promise()
 * @spec: the region it is for
 *
 * May sleep.
 *
 * Return: a reference for rtgt_mem_put(), or NULL without memory.
 */
struct rtgt_mem *rtgt_mem_alloc_promised(const struct rtgt_spec *spec)
{
	int order = min_t(int, get_order(spec->size), RTGT_CHUNK_ORDER);
	struct rtgt_mem *mem = NULL;
	u64 start = ktime_get_ns();

	for (; order >= 0 && !mem; order--)
		mem = mem_alloc_order(spec->size, order);
	if (!mem) {
		pr_warn_ratelimited("region %s: no memory for its %llu bytes: %llu can be had\n",
				    spec->name, spec->size, mem_available());
		return NULL;
	}
	mem->alloc_ns = ktime_get_ns() - start;
	if (spec->fill)
		mem_fill(mem, spec->fill);
	mem->fill_ns = ktime_get_ns() - start - mem->alloc_ns;
	return mem;
}

/**
 * rtgt_mem_alloc() - memory to expose
 * @spec: the region it is for
 *
 * May sleep.
 *
 * Return: a reference for rtgt_mem_put(), or NULL without memory.
 */
struct rtgt_mem *rtgt_mem_alloc(const struct rtgt_spec *spec)
{
	u64 needs = rtgt_mem_needs(spec->size);
	struct rtgt_mem *mem;

	if (!rtgt_mem_promise(needs)) {
		pr_warn_ratelimited("region %s: no memory for its %llu bytes: %llu can be had\n",
				    spec->name, spec->size, mem_available());
		return NULL;
	}
	mem = rtgt_mem_alloc_promised(spec);
	rtgt_mem_kept(needs);
	return mem;
}

/**
 * rtgt_mem_put() - give a reference back
 * @mem: memory, or NULL
 *
 * May sleep.
 */
void rtgt_mem_put(struct rtgt_mem *mem)
{
	if (mem)
		kref_put(&mem->ref, mem_release);
}

/**
 * rtgt_mem_add_user() - a device can write into the memory from here on
 * @mem: memory
 * @user: with @user->sync set
 *
 * May sleep.
 */
void rtgt_mem_add_user(struct rtgt_mem *mem, struct rtgt_mem_user *user)
{
	mutex_lock(&mem->lock);
	list_add_tail(&user->entry, &mem->users);
	mutex_unlock(&mem->lock);
}

/**
 * rtgt_mem_remove_user() - the DMA mapping is about to be removed, which synchronizes too
 * @mem: memory
 * @user: added; @user->sync is not called any more when this returns
 *
 * May sleep.
 */
void rtgt_mem_remove_user(struct rtgt_mem *mem, struct rtgt_mem_user *user)
{
	mutex_lock(&mem->lock);
	list_del(&user->entry);
	mutex_unlock(&mem->lock);
}

static void mem_sync_for_cpu(struct rtgt_mem *mem, u64 offset, u64 len)
{
	struct rtgt_mem_user *user;

	mutex_lock(&mem->lock);
	list_for_each_entry(user, &mem->users, entry)
		user->sync(user, offset, len);
	mutex_unlock(&mem->lock);
}

/**
 * rtgt_mem_crc32() - CRC-32 of a range, as zlib's crc32()
 * @mem: memory
 * @offset: first byte
 * @len: bytes; the caller has checked the range
 *
 * May sleep: the longest range takes seconds.
 *
 * Return: the CRC, 0 for an empty range.
 */
u32 rtgt_mem_crc32(struct rtgt_mem *mem, u64 offset, u64 len)
{
	return rtgt_mem_crc32_more(mem, 0, offset, len);
}

/**
 * rtgt_mem_crc32_more() - go on with a CRC-32
 * @mem: memory
 * @crc: CRC of the bytes before @offset; 0 at the beginning
 * @offset: first byte
 * @len: bytes; the caller has checked the range
 *
 * May sleep.
 *
 * Return: the CRC of all so far.
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

/*
 * read() of the memory, synchronized for the CPU before: the number of bytes, 0 at the end,
 * or a negative errno.
 */
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
 * rtgt_mem_debugfs() - make a debugfs file that shows the bytes of a memory
 * @dir: a directory that is removed before @mem is put
 * @name: of the region, and of the directory of the file "data"
 * @mem: memory
 */
void rtgt_mem_debugfs(struct dentry *dir, const char *name, struct rtgt_mem *mem)
{
	debugfs_create_file_size("data", 0400, debugfs_create_dir(name, dir), mem, &mem_fops,
				 mem->size);
}
