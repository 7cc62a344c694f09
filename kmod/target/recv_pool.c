// SPDX-License-Identifier: GPL-2.0
/*
 * A pool of receive contexts: those of one connection, or, with a shared receive
 * queue (SRQ), those of all connections of a protection domain.
 *
 * The pool owns the contexts and, if there is one, the SRQ.  Each context owns a
 * buffer.  A reply takes the buffer of its request along and leaves that of its send
 * context there (send.c), so all buffers of a device's connections on a port have one
 * size.
 *
 * A client can have receives held back for a time (WITHHOLD): withhold_max of them at
 * a time, whichever connections asked for it.  One timer posts them again.
 *
 * Before a pool is destroyed, no QP can complete into it any more.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "target/conn.h"
#include "target/recv.h"

/* A client that is refused is better than a process that is killed for it. */
#define RTGT_RECV_GFP	(GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

/**
 * rtgt_buf_alloc() - allocate a message buffer, mapped for the device
 * @ibdev: device
 * @buf: to fill in
 * @size: bytes
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rtgt_buf_alloc(struct ib_device *ibdev, struct rtgt_buf *buf, u32 size)
{
	buf->at = kzalloc(size, RTGT_RECV_GFP);
	if (!buf->at)
		return -ENOMEM;
	buf->dma = ib_dma_map_single(ibdev, buf->at, size, DMA_BIDIRECTIONAL);
	if (!ib_dma_mapping_error(ibdev, buf->dma))
		return 0;
	kfree(buf->at);
	buf->at = NULL;
	return -ENOMEM;
}

/**
 * rtgt_buf_free() - free a message buffer
 * @ibdev: device
 * @buf: from rtgt_buf_alloc(), or zeroed
 * @size: bytes
 */
void rtgt_buf_free(struct ib_device *ibdev, struct rtgt_buf *buf, u32 size)
{
	if (!buf->at)
		return;
	ib_dma_unmap_single(ibdev, buf->dma, size, DMA_BIDIRECTIONAL);
	kfree(buf->at);
}

/**
 * rtgt_buf_needs() - the memory that a message buffer takes
 * @size: bytes of it
 *
 * Return: bytes.
 */
u64 rtgt_buf_needs(u32 size)
{
	return size < PAGE_SIZE ? roundup_pow_of_two(size) : PAGE_ALIGN(size);
}

/**
 * rtgt_recv_post() - post a receive context
 * @recv: the caller owns it; on success the device does
 *
 * Any context.
 *
 * Return: 0, or the errno of the device's driver.
 */
int rtgt_recv_post(struct rtgt_recv_ctx *recv)
{
	struct rtgt_recv_pool *pool = recv->pool;
	struct ib_sge sge = {
		.addr = recv->buf.dma,
		.length = pool->size,
		.lkey = pool->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &recv->cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	recv->state = RTGT_RECV_POSTED;
	ib_dma_sync_single_for_device(pool->pd->device, recv->buf.dma, pool->size,
				      DMA_BIDIRECTIONAL);
	if (pool->srq)
		return ib_post_srq_recv(pool->srq, &wr, NULL);
	return ib_post_recv(pool->qp, &wr, NULL);
}

/**
 * rtgt_recv_pool_post() - post all contexts of a new pool
 * @pool: with an SRQ, or with a QP in INIT or later
 *
 * Return: 0, or the errno of the device's driver.
 */
int rtgt_recv_pool_post(struct rtgt_recv_pool *pool)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < pool->nr; i++)
		ret = rtgt_recv_post(&pool->recvs[i]);
	return ret;
}

/**
 * rtgt_recv_withhold() - have a receive context held back when its request is done
 * @recv: the caller owns it
 * @ms: for how long
 *
 * Any context.
 *
 * Return: whether there may be one more.
 */
bool rtgt_recv_withhold(struct rtgt_recv_ctx *recv, u32 ms)
{
	struct rtgt_recv_pool *pool = recv->pool;
	unsigned long flags;
	bool may;

	spin_lock_irqsave(&pool->lock, flags);
	may = !ms || pool->nr_withheld < pool->withhold_max;
	if (ms && may) {
		pool->nr_withheld++;
		recv->withhold_ms = ms;
	}
	spin_unlock_irqrestore(&pool->lock, flags);
	return may;
}

/**
 * rtgt_recv_hold() - hold a receive context back
 * @recv: rtgt_recv_withhold() allowed it; the pool owns it afterwards
 *
 * Any context.
 */
void rtgt_recv_hold(struct rtgt_recv_ctx *recv)
{
	struct rtgt_recv_pool *pool = recv->pool;
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	recv->state = RTGT_RECV_WITHHELD;
	recv->due = jiffies + msecs_to_jiffies(recv->withhold_ms);
	recv->withhold_ms = 0;
	list_add_tail(&recv->entry, &pool->withheld);
	if (!timer_pending(&pool->timer) || time_before(recv->due, pool->timer.expires))
		mod_timer(&pool->timer, recv->due);
	spin_unlock_irqrestore(&pool->lock, flags);
}

/**
 * rtgt_recv_unhold() - take rtgt_recv_withhold() back
 * @recv: the caller owns it
 *
 * Any context.
 */
void rtgt_recv_unhold(struct rtgt_recv_ctx *recv)
{
	struct rtgt_recv_pool *pool = recv->pool;
	unsigned long flags;

	if (!recv->withhold_ms)
		return;
	recv->withhold_ms = 0;
	spin_lock_irqsave(&pool->lock, flags);
	pool->nr_withheld--;
	spin_unlock_irqrestore(&pool->lock, flags);
}

/* Move those whose time is over to @due, which the caller owns; set the timer for the next. */
static void pool_take_due(struct rtgt_recv_pool *pool, struct list_head *due)
{
	struct rtgt_recv_ctx *recv, *tmp, *next = NULL;
	unsigned long flags, now = jiffies;

	spin_lock_irqsave(&pool->lock, flags);
	list_for_each_entry_safe(recv, tmp, &pool->withheld, entry) {
		if (!time_before(now, recv->due)) {
			list_move_tail(&recv->entry, due);
			pool->nr_withheld--;
		} else if (!next || time_before(recv->due, next->due)) {
			next = recv;
		}
	}
	if (next)
		mod_timer(&pool->timer, next->due);
	spin_unlock_irqrestore(&pool->lock, flags);
}

static void pool_timer(struct timer_list *timer)
{
	struct rtgt_recv_pool *pool = container_of(timer, struct rtgt_recv_pool, timer);
	struct rtgt_recv_ctx *recv;
	LIST_HEAD(due);

	pool_take_due(pool, &due);
	while ((recv = list_first_entry_or_null(&due, struct rtgt_recv_ctx, entry))) {
		list_del(&recv->entry);
		/* the teardown of a connection ends the timer of its own pool */
		if (rtgt_recv_post(recv) && !pool->srq)
			rtgt_conn_close(recv->conn, "a receive could not be posted");
	}
}

/**
 * rtgt_recv_pool_create() - make a pool, nothing posted yet
 * @pd: protection domain; outlives the pool
 * @nr: contexts
 * @size: bytes of a message
 * @head: bytes the device puts before a message (the GRH of a UD QP)
 * @srq: with an SRQ
 * @withhold_max: how many may be held back at a time
 * @done: completion of a receive
 *
 * May sleep.
 *
 * Return: for rtgt_recv_pool_destroy(), or an ERR_PTR.
 */
struct rtgt_recv_pool *rtgt_recv_pool_create(struct ib_pd *pd, unsigned int nr, u32 size, u32 head,
					     bool srq, unsigned int withhold_max,
					     void (*done)(struct ib_cq *cq, struct ib_wc *wc))
{
	struct ib_srq_init_attr attr = {
		.attr = { .max_wr = nr, .max_sge = 1 },
		.srq_type = IB_SRQT_BASIC,
	};
	struct rtgt_recv_pool *pool;
	int ret;

	pool = kvzalloc(struct_size(pool, recvs, nr), RTGT_RECV_GFP);
	if (!pool)
		return ERR_PTR(-ENOMEM);
	pool->pd = pd;
	pool->size = size + head;
	pool->head = head;
	pool->withhold_max = withhold_max;
	spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->withheld);
	timer_setup(&pool->timer, pool_timer, 0);
	if (srq) {
		pool->srq = ib_create_srq(pd, &attr);
		if (IS_ERR(pool->srq)) {
			ret = PTR_ERR(pool->srq);
			kvfree(pool);
			return ERR_PTR(ret);
		}
	}
	while (pool->nr < nr) {
		struct rtgt_recv_ctx *recv = &pool->recvs[pool->nr];

		recv->pool = pool;
		recv->cqe.done = done;
		ret = rtgt_buf_alloc(pd->device, &recv->buf, pool->size);
		if (ret)
			goto destroy;
		pool->nr++;
	}
	return pool;

destroy:
	rtgt_recv_pool_destroy(pool);
	return ERR_PTR(ret);
}

/**
 * rtgt_recv_pool_bytes() - the memory of a pool
 * @pool: pool
 * @messages: set to the bytes of its message buffers
 *
 * Return: the other bytes.
 */
size_t rtgt_recv_pool_bytes(const struct rtgt_recv_pool *pool, size_t *messages)
{
	*messages = (size_t)pool->size * pool->nr;
	return struct_size(pool, recvs, pool->nr);
}

/**
 * rtgt_recv_pool_needs() - the memory that a connection's own pool will take
 * @nr: contexts
 * @size: bytes of a message
 *
 * Return: bytes.
 */
u64 rtgt_recv_pool_needs(unsigned int nr, u32 size)
{
	struct rtgt_recv_pool *pool;

	return struct_size(pool, recvs, nr) + rtgt_buf_needs(size) * nr;
}

/**
 * rtgt_recv_pool_quiet() - wait until the pool's timer posts nothing any more
 * @pool: no message arrives and no request is in work
 *
 * May sleep.
 */
void rtgt_recv_pool_quiet(struct rtgt_recv_pool *pool)
{
	timer_delete_sync(&pool->timer);
}

/**
 * rtgt_recv_pool_destroy() - free a pool
 * @pool: no QP uses it any more
 *
 * May sleep.
 */
void rtgt_recv_pool_destroy(struct rtgt_recv_pool *pool)
{
	rtgt_recv_pool_quiet(pool);
	if (pool->srq)
		ib_destroy_srq(pool->srq);
	while (pool->nr) {
		struct rtgt_recv_ctx *recv = &pool->recvs[--pool->nr];

		if (recv->ah)
			rdma_destroy_ah(recv->ah, RDMA_DESTROY_AH_SLEEPABLE);
		rtgt_buf_free(pool->pd->device, &recv->buf, pool->size);
	}
	kvfree(pool);
}
