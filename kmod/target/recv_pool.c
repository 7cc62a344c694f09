// SPDX-License-Identifier: GPL-2.0
/*
 * Receive contexts of one connection or, with an SRQ, of all connections of a protection domain.
 *
 * The pool owns the contexts, their buffers and, if there is one, the SRQ.  A reply exchanges the
 * buffer of its request for that of a send context (send.c), so all buffers of a port's connections
 * through one device have the same size.  A client can have receives withheld for a time
 * (WITHHOLD), at most withhold_max of a pool for all its connections; one timer posts them again.
 * The caller destroys all QPs that use a pool before it destroys the pool.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/log2.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "registration/region.h"
#include "target/conn.h"
#include "target/port.h"
#include "target/recv.h"

/* Without memory the client gets a REJ; the OOM killer must not run for it. */
#define RTGT_RECV_GFP	(GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

/* Allocate a message buffer and map it for the device: 0 or -ENOMEM; may sleep. */
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

/* @buf is from rtgt_buf_alloc(), or zeroed. */
void rtgt_buf_free(struct ib_device *ibdev, struct rtgt_buf *buf, u32 size)
{
	if (!buf->at)
		return;
	ib_dma_unmap_single(ibdev, buf->dma, size, DMA_BIDIRECTIONAL);
	kfree(buf->at);
}

/* Bytes that kmalloc() uses: an object of a cache or pages; both are powers of two. */
u64 rtgt_buf_needs(u32 size)
{
	return roundup_pow_of_two(size);
}

/**
 * rtgt_recv_post() - post a receive context
 * @recv: owned by the caller; on success, afterwards by the device
 * Context: any.
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
	int ret;

	ib_dma_sync_single_for_device(pool->pd->device, recv->buf.dma, pool->size,
				      DMA_BIDIRECTIONAL);
	if (pool->srq) {
		ret = ib_post_srq_recv(pool->srq, &wr, NULL);
		if (ret)
			pr_warn_ratelimited("%s did not take a shared receive: error %d: without any, no client of its port is served: disable and enable the port\n",
					    dev_name(&pool->pd->device->dev), ret);
		return ret;
	}
	return ib_post_recv(pool->qp, &wr, NULL);
}

/* Post all contexts of a new pool with an SRQ, or a QP in INIT: 0, or the driver's errno. */
int rtgt_recv_pool_post(struct rtgt_recv_pool *pool)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < pool->nr; i++)
		ret = rtgt_recv_post(&pool->recvs[i]);
	return ret;
}

/**
 * rtgt_recv_withhold() - have a receive context withheld at the end of its request
 * @recv: owned by the caller
 * @ms: milliseconds
 * Context: any.
 * Return: false if withhold_max contexts are withheld already.
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

/* After rtgt_recv_withhold(), at the end of the request: the pool owns @recv now.  Any context. */
void rtgt_recv_hold(struct rtgt_recv_ctx *recv)
{
	struct rtgt_recv_pool *pool = recv->pool;
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	recv->due = jiffies + msecs_to_jiffies(recv->withhold_ms);
	recv->withhold_ms = 0;
	list_add_tail(&recv->entry, &pool->withheld);
	if (!timer_pending(&pool->timer) || time_before(recv->due, pool->timer.expires))
		mod_timer(&pool->timer, recv->due);
	spin_unlock_irqrestore(&pool->lock, flags);
}

/* Cancel rtgt_recv_withhold(); any context. */
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

/* Move the contexts whose time is over to @due; start the timer for the next one. */
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
		/* recv->conn is valid: a teardown deletes the timer of the connection's own pool */
		if (rtgt_recv_post(recv) && !pool->srq)
			rtgt_conn_close(recv->conn, "a receive could not be posted");
	}
}

/**
 * rtgt_recv_pool_create() - create a pool; no context is posted yet
 * @conn: connection with a domain, whose PD outlives the pool; not kept
 * @nr: number of contexts
 * @size: maximum size of a message in bytes
 * @head: bytes that the device writes before a message (the GRH of a UD QP)
 * @srq: create an SRQ
 * @withhold_max: maximum number of withheld contexts
 * @done: handler of the completions of receives
 * Context: may sleep.
 * Return: a pool for rtgt_recv_pool_destroy(), or an ERR_PTR; -ESHUTDOWN if @conn closes meanwhile.
 */
struct rtgt_recv_pool *rtgt_recv_pool_create(const struct rtgt_conn *conn, unsigned int nr,
					     u32 size, u32 head, bool srq,
					     unsigned int withhold_max,
					     void (*done)(struct ib_cq *cq, struct ib_wc *wc))
{
	struct ib_srq_init_attr attr = {
		.attr = { .max_wr = nr, .max_sge = 1 },
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_pd *pd = conn->domain->pd;
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
	if (head) {
		ret = -ENOMEM;
		pool->wcs = kvcalloc(nr, sizeof(*pool->wcs), RTGT_RECV_GFP);
		if (!pool->wcs)
			goto destroy;
	}
	if (srq) {
		pool->srq = ib_create_srq(pd, &attr);
		if (IS_ERR(pool->srq)) {
			ret = PTR_ERR(pool->srq);
			pool->srq = NULL;
			goto destroy;
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
		ret = -ESHUTDOWN;
		if (rtgt_conn_closing(conn))
			goto destroy;
	}
	return pool;

destroy:
	rtgt_recv_pool_destroy(pool);
	return ERR_PTR(ret);
}

/* Number of a connection's own receive contexts with an SRQ, at any stage of its set-up, or 0. */
unsigned int rtgt_recvs_own(const struct rtgt_conn *conn)
{
	if (!conn->port->cfg.srq || conn->transport == RTGT_UD)
		return 0;
	return min(conn->recv_depth, RTGT_REQUESTS_SRQ);
}

/* Make the contexts for requests that outlive a shared receive: 0 or -ENOMEM; may sleep. */
int rtgt_recvs_own_create(struct rtgt_conn *conn)
{
	struct rtgt_recv_pool *own;
	unsigned int i;

	if (!conn->pool->srq)
		return 0;
	own = rtgt_recv_pool_create(conn, rtgt_recvs_own(conn), conn->recv_size, 0, false, 0, NULL);
	if (IS_ERR(own))
		return PTR_ERR(own);
	for (i = 0; i < own->nr; i++)
		list_add_tail(&own->recvs[i].entry, &conn->own_free);
	conn->own = own;
	return 0;
}

/* Bytes of a pool without its message buffers; @messages: bytes of these. */
size_t rtgt_recv_pool_bytes(const struct rtgt_recv_pool *pool, size_t *messages)
{
	*messages = (size_t)pool->size * pool->nr;
	return struct_size(pool, recvs, pool->nr) +
	       (pool->wcs ? array_size(pool->nr, sizeof(*pool->wcs)) : 0);
}

/* Bytes that a pool of @nr contexts will take; @size, @head as in rtgt_recv_pool_create(). */
u64 rtgt_recv_pool_needs(unsigned int nr, u32 size, u32 head)
{
	struct rtgt_recv_pool *pool;

	return struct_size(pool, recvs, nr) + rtgt_buf_needs(size + head) * nr +
	       (head ? array_size(nr, sizeof(*pool->wcs)) : 0);
}

/* Delete the timer of a pool that gets no message and has no request in work.  May sleep. */
void rtgt_recv_pool_quiet(struct rtgt_recv_pool *pool)
{
	timer_delete_sync(&pool->timer);
}

/* Free a pool that no QP uses any more; may sleep. */
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
	kvfree(pool->wcs);
	kvfree(pool);
}
