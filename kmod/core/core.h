/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What target and initiator share: the hold on a device, memory, completion queues, and
 * the text of attributes.  With proto.h this is all the initiator knows of the module;
 * it includes neither rtgt.h nor anything of a port, a connection or a region.
 */
#ifndef _RTGT_CORE_H
#define _RTGT_CORE_H

#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>

#define RTGT_NAME_LEN		32

/* ---------------------------------------------------------------- device.c */

/**
 * struct rtgt_dev - what the module keeps for one ib_device
 * @entry: in rtgt_devs.list until the device is being removed
 * @ibdev: the device
 * @users: connections, domains and ports that hold resources of the device
 * @idle: woken when @users became empty
 */
struct rtgt_dev {
	struct list_head entry;
	struct ib_device *ibdev;
	struct list_head users;
	wait_queue_head_t idle;
};

/**
 * struct rtgt_dev_user - one holder of device resources
 * @entry: in rtgt_dev.users
 * @dev: the device, which waits for its users before it goes
 * @gone: the device is being removed: start to let go of it, without waiting for
 *	  others.  Called with rtgt_devs.lock held.  NULL if another user's does it
 */
struct rtgt_dev_user {
	struct list_head entry;
	struct rtgt_dev *dev;
	void (*gone)(struct rtgt_dev_user *user);
};

int rtgt_dev_attach(struct ib_device *ibdev, struct rtgt_dev_user *user);
void rtgt_dev_detach(struct rtgt_dev_user *user);

/* ------------------------------------------------------------------- mem.c */

#define RTGT_REGION_MAX		(16ULL * SZ_1G)

/* rtgt_spec.fill: a byte value, or one of these */
#define RTGT_FILL_COUNTER	256

/**
 * struct rtgt_spec - a region as the administrator described it
 * @name: directory name
 * @size: bytes, 1 to RTGT_REGION_MAX
 * @access: RTGT_ACCESS_*
 * @fill: what the memory holds when the port is enabled or the connection made
 */
struct rtgt_spec {
	char name[RTGT_NAME_LEN];
	u64 size;
	u32 access;
	u16 fill;
};

/**
 * struct rtgt_mem - memory that can be exposed
 * @ref: each domain that maps it, each debugfs file, the port
 * @size: bytes
 * @alloc_ns: how long it took to get it, zeroed
 * @fill_ns: how long to fill it
 * @order: each chunk is PAGE_SIZE << @order bytes of linear-map memory
 * @nr: number of chunks
 * @chunk: the chunks
 */
struct rtgt_mem {
	struct kref ref;
	u64 size;
	u64 alloc_ns;
	u64 fill_ns;
	unsigned int order;
	unsigned int nr;
	struct page *chunk[] __counted_by(nr);
};

static inline size_t rtgt_mem_chunk(const struct rtgt_mem *mem)
{
	return PAGE_SIZE << mem->order;
}

bool rtgt_mem_promise(u64 bytes);
void rtgt_mem_kept(u64 bytes);
u64 rtgt_mem_needs(u64 size);
struct rtgt_mem *rtgt_mem_alloc(const struct rtgt_spec *spec);
struct rtgt_mem *rtgt_mem_alloc_promised(const struct rtgt_spec *spec);
void rtgt_mem_put(struct rtgt_mem *mem);
void *rtgt_mem_at(struct rtgt_mem *mem, u64 offset, u64 len, size_t *here);
u32 rtgt_mem_crc32(struct rtgt_mem *mem, u64 offset, u64 len);
u32 rtgt_mem_crc32_more(struct rtgt_mem *mem, u32 crc, u64 offset, u64 len);
ssize_t rtgt_mem_read_user(struct rtgt_mem *mem, char __user *to, size_t len, loff_t *pos);

/* -------------------------------------------------------------------- cq.c */

/**
 * struct rtgt_cq - a completion queue
 * @ib: the device's; NULL if there is none
 * @kick: interrupts a device that notifies from no interrupt
 * @softirq: the core's own notification, if completions run in softirq
 */
struct rtgt_cq {
	struct ib_cq *ib;
	struct irq_work kick;
	void (*softirq)(struct ib_cq *ib, void *context);
};

int rtgt_cq_create(struct rtgt_cq *cq, struct ib_device *ibdev, int nr, enum ib_poll_context poll);
void rtgt_cq_destroy(struct rtgt_cq *cq);

/* ------------------------------------------------------------------ text.c */

int rtgt_check_text(const char *page, size_t count);
int rtgt_parse_bytes(const char *page, u64 min, u64 max, u64 *out);
int rtgt_parse_u32(const char *page, u32 min, u32 max, u32 *out);
int rtgt_parse_bool(const char *page, bool *out);
int rtgt_parse_word(const char *page, char *word, size_t size);
int rtgt_parse_access(const char *page, u32 *out);
int rtgt_parse_fill(const char *page, u16 *out);
int rtgt_parse_addr(const char *word, struct sockaddr_storage *addr);
ssize_t rtgt_show_access(char *page, u32 access);
ssize_t rtgt_show_fill(char *page, u16 fill);
ssize_t rtgt_show_addr(char *page, const struct sockaddr_storage *addr);

#endif /* _RTGT_CORE_H */
