// SPDX-License-Identifier: GPL-2.0
/*
 * A pool of slots: the receive buffers of one connection, or, with a shared
 * receive queue (SRQ), those of all connections of a protection domain.
 *
 * The pool owns the memory and, if there is one, the SRQ.  Buffers go from slots to
 * spares and back, all are of one size.  What a slot does is slot.c's business.
 * Whoever destroys a pool has seen to it that no QP can complete into it any more.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "target/recv.h"

/* A client that is refused is better than a process that is killed for it. */
#define RTGT_POOL_GFP	(GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

static int pool_alloc(struct rtgt_pool *pool, struct rtgt_buf *buf)
{
	struct ib_device *ibdev = pool->pd->device;

	buf->at = kzalloc(pool->size, RTGT_POOL_GFP);
	if (!buf->at)
		return -ENOMEM;
	buf->dma = ib_dma_map_single(ibdev, buf->at, pool->size, DMA_BIDIRECTIONAL);
	if (!ib_dma_mapping_error(ibdev, buf->dma))
		return 0;
	kfree(buf->at);
	return -ENOMEM;
}

static void pool_free(struct rtgt_pool *pool, struct rtgt_buf *buf)
{
	ib_dma_unmap_single(pool->pd->device, buf->dma, pool->size, DMA_BIDIRECTIONAL);
	kfree(buf->at);
}

/*
 * Half as many as slots, so that replies complete by halves; a power of two, so that
 * the counters of what was taken may wrap.
 */
static unsigned int pool_spares(unsigned int slots)
{
	return slots < 4 ? 0 : rounddown_pow_of_two(min_t(unsigned int, slots / 2, RTGT_SPARES));
}

static int pool_add_spares(struct rtgt_pool *pool, unsigned int slots)
{
	unsigned int nr = pool_spares(slots);
	int ret = 0;

	while (!ret && pool->nr_spares < nr) {
		ret = pool_alloc(pool, &pool->spare[pool->nr_spares]);
		if (!ret)
			pool->nr_spares++;
	}
	return ret;
}

/**
 * rtgt_pool_post() - post a slot as a receive
 * @slot: the caller owns it; on success the device does
 * @qp: where to, unless the pool has an SRQ
 *
 * Any context.
 *
 * Return: 0, or what the device says.
 */
int rtgt_pool_post(struct rtgt_slot *slot, struct ib_qp *qp)
{
	struct rtgt_pool *pool = slot->pool;
	struct ib_sge sge = {
		.addr = slot->buf.dma,
		.length = pool->size,
		.lkey = pool->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &slot->recv_cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	ib_dma_sync_single_for_device(pool->pd->device, slot->buf.dma, pool->size,
				      DMA_BIDIRECTIONAL);
	if (pool->srq)
		return ib_post_srq_recv(pool->srq, &wr, NULL);
	return ib_post_recv(qp, &wr, NULL);
}

/**
 * rtgt_pool_post_all() - post all slots of a new pool
 * @pool: pool
 * @qp: in INIT or later, unless the pool has an SRQ
 *
 * Return: 0, or what the device says.
 */
int rtgt_pool_post_all(struct rtgt_pool *pool, struct ib_qp *qp)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < pool->nr; i++)
		ret = rtgt_pool_post(&pool->slots[i], qp);
	return ret;
}

/**
 * rtgt_pool_create() - make a pool, nothing posted yet
 * @pd: protection domain; outlives the pool
 * @nr: slots
 * @size: bytes of a buffer
 * @head: bytes of it the device puts before a message (the GRH of a UD QP)
 * @srq: with an SRQ
 * @init: prepares a slot
 *
 * May sleep.
 *
 * Return: for rtgt_pool_destroy(), or an ERR_PTR.
 */
struct rtgt_pool *rtgt_pool_create(struct ib_pd *pd, unsigned int nr, u32 size, u32 head, bool srq,
				   void (*init)(struct rtgt_slot *slot))
{
	struct ib_srq_init_attr attr = {
		.attr = { .max_wr = nr, .max_sge = 1 },
		.srq_type = IB_SRQT_BASIC,
	};
	struct rtgt_pool *pool;
	int ret;

	pool = kvzalloc(struct_size(pool, slots, nr), RTGT_POOL_GFP);
	if (!pool)
		return ERR_PTR(-ENOMEM);
	pool->pd = pd;
	pool->size = size + head;
	pool->head = head;
	if (srq) {
		pool->srq = ib_create_srq(pd, &attr);
		if (IS_ERR(pool->srq)) {
			ret = PTR_ERR(pool->srq);
			kvfree(pool);
			return ERR_PTR(ret);
		}
	}
	while (pool->nr < nr) {
		struct rtgt_slot *slot = &pool->slots[pool->nr];

		slot->pool = pool;
		init(slot);
		ret = pool_alloc(pool, &slot->buf);
		if (ret)
			goto destroy;
		pool->nr++;
	}
	/* more than one connection's context would need a lock */
	ret = srq ? 0 : pool_add_spares(pool, nr);
	if (ret)
		goto destroy;
	return pool;

destroy:
	rtgt_pool_destroy(pool);
	return ERR_PTR(ret);
}

/**
 * rtgt_pool_bytes() - the memory of a pool
 * @pool: pool
 * @messages: set to the bytes of its message buffers
 *
 * Return: the other bytes.
 */
size_t rtgt_pool_bytes(const struct rtgt_pool *pool, size_t *messages)
{
	*messages = (size_t)pool->size * (pool->nr + pool->nr_spares);
	return struct_size(pool, slots, pool->nr);
}

/**
 * rtgt_pool_needs() - the memory that a connection's own pool will take
 * @nr: slots
 * @size: bytes of a buffer
 *
 * Return: bytes.
 */
u64 rtgt_pool_needs(unsigned int nr, u32 size)
{
	struct rtgt_pool *pool;
	u64 buf = size < PAGE_SIZE ? roundup_pow_of_two(size) : PAGE_ALIGN(size);

	return struct_size(pool, slots, nr) + buf * (nr + pool_spares(nr));
}

/**
 * rtgt_pool_quiet() - wait until no slot is held back any more
 * @pool: no message arrives and no reply completes any more
 *
 * May sleep.
 */
void rtgt_pool_quiet(struct rtgt_pool *pool)
{
	unsigned int i;

	for (i = 0; i < pool->nr; i++)
		timer_delete_sync(&pool->slots[i].later);
}

/**
 * rtgt_pool_destroy() - free a pool
 * @pool: no QP uses it any more
 *
 * May sleep.
 */
void rtgt_pool_destroy(struct rtgt_pool *pool)
{
	rtgt_pool_quiet(pool);
	if (pool->srq)
		ib_destroy_srq(pool->srq);
	while (pool->nr) {
		struct rtgt_slot *slot = &pool->slots[--pool->nr];

		if (slot->ah)
			rdma_destroy_ah(slot->ah, RDMA_DESTROY_AH_SLEEPABLE);
		pool_free(pool, &slot->buf);
	}
	while (pool->nr_spares)
		pool_free(pool, &pool->spare[--pool->nr_spares]);
	kvfree(pool);
}
