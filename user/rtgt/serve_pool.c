// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: a pool of slots, the buffers messages come and go in.
 *
 * A receive that completes is replaced by a free slot at once, before its request is
 * looked at, so the peer finds recv_depth of them whatever that request takes.  A reply
 * is sent from the slot that brought the request.  One reply in SERVE_SIGNAL_EVERY asks
 * for a completion, which stands for those before it; so a slot is free again some
 * replies later, and there are more of them than receives:
 *
 *	recv_depth		posted
 *	recv_depth		being worked on or under way
 *	SERVE_SIGNAL_EVERY	under way, with no completion asked for
 *
 * A peer that asks for more at a time finds receives missing, is told so by the device
 * (RNR) and repeats: nothing is allocated for a request.
 *
 * With an SRQ a slot belongs to no connection but while it holds a message of one, and all
 * replies complete: a connection that says nothing more would keep its last ones' slots.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "serve.h"

/*
 * The largest packet there is: a device may take an endpoint's queue pair down for one that
 * is longer than its receive (rxe before 6.12), and it serves others.
 */
#define MTU_MAX	4096

/* A slot is in one list, or, NULL, with the device */
void serve_slot_move(struct serve_slot *slot, struct serve_slots *list)
{
	if (slot->list)
		TAILQ_REMOVE(slot->list, slot, entry);
	slot->list = list;
	if (list == &slot->pool->free)
		serve_ud_done(slot);
	if (list)
		TAILQ_INSERT_TAIL(list, slot, entry);
}

static int post_recv(struct serve_slot *slot, struct ibv_qp *qp)
{
	struct serve_pool *pool = slot->pool;
	struct ibv_sge sge = {
		.addr = (uintptr_t)slot->buf - pool->head,
		.length = pool->size,
		.lkey = pool->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = SERVE_WR_ID(slot->index, SERVE_WR_RECV),
		.sg_list = &sge,
		.num_sge = 1,
	};
	int ret;

	if (pool->srq)
		ret = ibv_post_srq_recv(pool->srq, &wr, &bad);
	else
		ret = ibv_post_recv(qp, &wr, &bad);
	if (ret)
		return -ret;
	if (pool->srq)
		slot->conn = NULL;
	serve_slot_move(slot, NULL);
	pool->posted++;
	return 0;
}

/*
 * As many receives as peers were told, if there are slots: in the pool's SRQ or else on
 * @qp.  0 or a negative errno.
 */
int serve_pool_refill(struct serve_pool *pool, struct ibv_qp *qp)
{
	struct serve_slot *slot;
	int ret = 0;

	while (!ret && pool->posted + pool->withheld < pool->depth) {
		slot = TAILQ_FIRST(&pool->free);
		if (!slot)
			break;
		ret = post_recv(slot, qp);
	}
	return ret;
}

static int make_slots(struct serve_pool *pool, struct ibv_pd *pd)
{
	uint32_t stride = (pool->size + 63) & ~63u;

	pool->bufs_len = (size_t)stride * pool->nr;
	pool->bufs = mmap(NULL, pool->bufs_len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pool->bufs == MAP_FAILED)
		pool->bufs = NULL;
	else
		pool->mr = ibv_reg_mr(pd, pool->bufs, pool->bufs_len, IBV_ACCESS_LOCAL_WRITE);
	if (pool->mr)
		pool->slots = calloc(pool->nr, sizeof(*pool->slots));
	if (!pool->slots)
		return -errno;
	for (unsigned int i = 0; i < pool->nr; i++) {
		pool->slots[i].pool = pool;
		pool->slots[i].index = i;
		pool->slots[i].buf = (uint8_t *)pool->bufs + (size_t)stride * i + pool->head;
		serve_slot_move(&pool->slots[i], &pool->free);
	}
	return 0;
}

static int make_srq(struct serve_pool *pool, struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = pool->depth, .max_sge = 1 } };

	pool->srq = ibv_create_srq(pd, &attr);
	return pool->srq ? serve_pool_refill(pool, NULL) : -errno;
}

/*
 * Slots in @pd; all receives are posted if they are an SRQ's, or else none yet.  To be
 * destroyed when this returns 0.
 */
int serve_pool_create(struct serve_pool **out, const struct serve_cfg *cfg, struct ibv_pd *pd)
{
	struct serve_pool *pool = calloc(1, sizeof(*pool));
	int ret;

	if (!pool)
		return -ENOMEM;
	TAILQ_INIT(&pool->free);
	pool->depth = cfg->recv_depth;
	if (cfg->withhold_max)
		pool->withhold_max = cfg->withhold_max;
	else
		pool->withhold_max = pool->depth / (cfg->srq || cfg->transport == SERVE_UD ? 2 : 1);
	pool->size = cfg->recv_size;
	if (cfg->transport == SERVE_UD) {
		pool->head = sizeof(struct ibv_grh);
		pool->size = pool->head + (cfg->recv_size > MTU_MAX ? cfg->recv_size : MTU_MAX);
	}
	pool->nr = 2 * cfg->recv_depth + SERVE_SIGNAL_EVERY;
	ret = make_slots(pool, pd);
	if (!ret && cfg->srq)
		ret = make_srq(pool, pd);
	if (ret)
		serve_pool_destroy(pool);
	else
		*out = pool;
	return ret;
}

/*
 * A connection leaves the others the slots it had.  What it withheld stays withheld for
 * its time, in @later; of a reply that never left nothing is known, and it comes back.
 */
void serve_pool_leave(struct serve_pool *pool, const struct serve_conn *c,
		      const struct serve_slots *later)
{
	for (unsigned int i = 0; i < pool->nr; i++) {
		struct serve_slot *slot = &pool->slots[i];

		if (slot->conn != c)
			continue;
		slot->conn = NULL;
		serve_ud_done(slot);
		if (slot->list == later)
			continue;
		if (slot->later_ms)
			pool->withheld--;
		slot->later_ms = 0;
		serve_slot_move(slot, &pool->free);
	}
	serve_pool_refill(pool, NULL);
}

/* No queue pair uses it any more; whatever its slots waited for is forgotten */
void serve_pool_destroy(struct serve_pool *pool)
{
	if (!pool)
		return;
	for (unsigned int i = 0; pool->slots && i < pool->nr; i++)
		serve_slot_move(&pool->slots[i], NULL);
	if (pool->srq)
		ibv_destroy_srq(pool->srq);
	if (pool->mr)
		ibv_dereg_mr(pool->mr);
	if (pool->bufs)
		munmap(pool->bufs, pool->bufs_len);
	free(pool->slots);
	free(pool);
}
