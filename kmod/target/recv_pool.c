// SPDX-License-Identifier: GPL-2.0
/*
 * A pool of receive contexts: the contexts of one connection or, with a shared receive queue
 * (SRQ), of all connections of a protection domain.
 *
 * The pool owns the contexts and, if there is one, the SRQ.  Each context owns a buffer.  A
 * reply exchanges the buffer of its request for the buffer of a send context (send.c), so all
 * buffers of a port's connections through one device have the same size.
 *
 * A client can have receives withheld for a time (WITHHOLD), at most withhold_max of a pool
 * for all its connections.  One timer posts them again.
 *
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

/**
 * rtgt_buf_alloc() - allocate a message buffer and map it for the device
 * @ibdev: device
 * @buf: filled in
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
 * rtgt_buf_needs() - return the memory that a message buffer takes
 * @size: bytes of the buffer
 *
 * Return: bytes that kmalloc() uses for it: an object of a cache, or pages beyond the largest
 * cache; both are powers of two.
 */
u64 rtgt_buf_needs(u32 size)
{
	return roundup_pow_of_two(size);
}

/**
 * rtgt_recv_post() - post a receive context
 * @recv: owned by the caller; on success, afterwards by the device
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

/**
 * rtgt_recv_pool_post() - post all contexts of a new pool
 * @pool: pool with an SRQ, or with a QP in INIT or later
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
 * rtgt_recv_withhold() - have a receive context withheld at the end of its request
 * @recv: owned by the caller
 * @ms: milliseconds
 *
 * Any context.
 *
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

/**
 * rtgt_recv_hold() - withhold a receive context at the end of its request
 * @recv: context for which rtgt_recv_withhold() returned true; afterwards owned by the pool
 *
 * Any context.
 */
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

/**
 * rtgt_recv_unhold() - cancel rtgt_recv_withhold()
 * @recv: owned by the caller
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
 *
 * May sleep.
 *
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

/**
 * rtgt_recvs_own() - return the number of a connection's own receive contexts with an SRQ
 * @conn: connection, at any stage of its set-up
 *
 * Return: 0 without an SRQ.
 */
unsigned int rtgt_recvs_own(const struct rtgt_conn *conn)
{
	if (!conn->port->cfg.srq || conn->transport == RTGT_UD)
		return 0;
	return min(conn->recv_depth, RTGT_REQUESTS_SRQ);
}

/**
 * rtgt_recvs_own_create() - create the receive contexts into which requests move from an SRQ
 * @conn: connection with a pool; conn_release_domain() destroys @conn->own
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
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

/**
 * rtgt_recv_pool_bytes() - return the memory of a pool
 * @pool: pool
 * @messages: set to the bytes of its message buffers
 *
 * Return: bytes of the pool without the message buffers.
 */
size_t rtgt_recv_pool_bytes(const struct rtgt_recv_pool *pool, size_t *messages)
{
	*messages = (size_t)pool->size * pool->nr;
	return struct_size(pool, recvs, pool->nr) +
	       (pool->wcs ? array_size(pool->nr, sizeof(*pool->wcs)) : 0);
}

/**
 * rtgt_recv_pool_needs() - return the memory that a connection's own pool will take
 * @nr: number of contexts
 * @size: maximum size of a message in bytes
 * @head: bytes that the device writes before a message
 *
 * Return: bytes.
 */
u64 rtgt_recv_pool_needs(unsigned int nr, u32 size, u32 head)
{
	struct rtgt_recv_pool *pool;

	return struct_size(pool, recvs, nr) + rtgt_buf_needs(size + head) * nr +
	       (head ? array_size(nr, sizeof(*pool->wcs)) : 0);
}

/**
 * rtgt_recv_pool_quiet() - delete the timer of a pool, and wait until it does not run
 * @pool: pool that gets no message any more, and has no request in work
 *
 * May sleep.
 */
void rtgt_recv_pool_quiet(struct rtgt_recv_pool *pool)
{
	timer_delete_sync(&pool->timer);
}

/**
 * rtgt_recv_pool_destroy() - free a pool
 * @pool: pool that no QP uses any more
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
	kvfree(pool->wcs);
	kvfree(pool);
}
