// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: a pool of receive contexts, each with the buffer of a request and its reply.
 *
 * When a receive completes, a free context is posted in its place before the request is
 * decoded, so the peer finds recv_depth receives however long that request takes.  The reply
 * is sent from the context that received the request.  One reply in SERVE_SIGNAL_EVERY is
 * signaled; its completion frees the contexts of the replies before it too.  So a pool has
 * more contexts than receives:
 *
 *	recv_depth		posted
 *	recv_depth		with a request, or with a reply that is signaled
 *	SERVE_SIGNAL_EVERY	with a reply that is not signaled
 *
 * If a peer sends more requests at a time, the device finds no receive and returns RNR NAKs,
 * and the peer's device retries: nothing is allocated for a request.
 *
 * With an SRQ (but for UD, where one queue pair serves all) there are recv_depth contexts for all
 * connections, and none of them holds a message after the iteration of the loop in which it came:
 * the message moves to a context of the connection's own pool (serve_recv_keep()), which has two
 * for each request that the REP allows, one for the request and one for a reply that the peer has
 * not acknowledged yet.  A peer for whose message none is left has broken the protocol: the
 * connection closes.  So whatever some peers do, the others find the receives of the SRQ, except
 * those that WITHHOLD withholds.  All replies are signaled: a connection that sends nothing more
 * would keep its last contexts.
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

/* A receive context that becomes free uses its way no more */
static void leave_way(struct serve_recv *recv)
{
	if (recv->way)
		recv->way->users--;
	recv->way = NULL;
}

/* Move a receive context to a list; NULL if the device has it */
void serve_recv_move(struct serve_recv *recv, struct serve_recvs *list)
{
	if (recv->list)
		TAILQ_REMOVE(recv->list, recv, entry);
	recv->list = list;
	if (list == &recv->pool->free) {
		leave_way(recv);
		recv->twice = false;
		recv->silent = false;
	}
	if (list)
		TAILQ_INSERT_TAIL(list, recv, entry);
}

static int post_recv(struct serve_recv *recv, struct ibv_qp *qp)
{
	struct serve_pool *pool = recv->pool;
	struct ibv_sge sge = {
		.addr = (uintptr_t)recv->buf - pool->head,
		.length = pool->size,
		.lkey = pool->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = SERVE_WR_ID(recv->index, SERVE_WR_RECV),
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
		recv->conn = NULL;
	serve_recv_move(recv, NULL);
	pool->posted++;
	return 0;
}

/*
 * Post as many receives as peers were told, if contexts are free: to the pool's SRQ or to
 * @qp.  0 or a negative errno.
 */
int serve_pool_refill(struct serve_pool *pool, struct ibv_qp *qp)
{
	struct serve_recv *recv;
	int ret = 0;

	while (!ret && pool->posted + pool->withheld < pool->depth) {
		recv = TAILQ_FIRST(&pool->free);
		if (!recv)
			break;
		ret = post_recv(recv, qp);
	}
	return ret;
}

/* Contexts that are numbered from @base on */
static int make_recvs(struct serve_pool *pool, struct ibv_pd *pd, unsigned int base)
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
		pool->recvs = calloc(pool->nr, sizeof(*pool->recvs));
	if (!pool->recvs)
		return -errno;
	for (unsigned int i = 0; i < pool->nr; i++) {
		pool->recvs[i].pool = pool;
		pool->recvs[i].index = base + i;
		pool->recvs[i].buf = (uint8_t *)pool->bufs + (size_t)stride * i + pool->head;
		serve_recv_move(&pool->recvs[i], &pool->free);
	}
	return 0;
}

static int make_srq(struct serve_pool *pool, struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = pool->depth, .max_sge = 1 } };

	errno = 0;
	pool->srq = ibv_create_srq(pd, &attr);
	if (!pool->srq)
		return serve_no_object();
	return serve_pool_refill(pool, NULL);
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
	pool->nr = serve_own(cfg) ? pool->depth : 2 * pool->depth + SERVE_SIGNAL_EVERY;
	ret = make_recvs(pool, pd, 0);
	if (!ret && cfg->srq)
		ret = make_srq(pool, pd);
	if (ret)
		serve_pool_destroy(pool);
	else
		*out = pool;
	return ret;
}

/* Do connections share receives, and have contexts of their own for the requests? */
bool serve_own(const struct serve_cfg *cfg)
{
	return cfg->srq && cfg->transport != SERVE_UD;
}

/* Requests that a peer may have outstanding, as the REP says */
uint32_t serve_requests_max(const struct serve_cfg *cfg)
{
	return serve_own(cfg) && cfg->recv_depth > SERVE_REQUESTS_SRQ ? SERVE_REQUESTS_SRQ :
									cfg->recv_depth;
}

/* The contexts of a connection for its requests from @shared, an SRQ's; as serve_pool_create() */
int serve_pool_create_own(struct serve_pool **out, const struct serve_cfg *cfg,
			  const struct serve_pool *shared)
{
	struct serve_pool *pool = calloc(1, sizeof(*pool));
	int ret;

	if (!pool)
		return -ENOMEM;
	TAILQ_INIT(&pool->free);
	pool->size = shared->size;
	pool->nr = 2 * serve_requests_max(cfg);
	ret = make_recvs(pool, shared->mr->pd, shared->nr);
	if (ret)
		serve_pool_destroy(pool);
	else
		*out = pool;
	return ret;
}

/*
 * Give the receive contexts of a connection to the others.  A withheld one stays in @later for
 * its time; one whose reply did not complete becomes free.
 */
void serve_pool_leave(struct serve_pool *pool, const struct serve_conn *c,
		      const struct serve_recvs *later)
{
	for (unsigned int i = 0; i < pool->nr; i++) {
		struct serve_recv *recv = &pool->recvs[i];

		if (recv->conn != c)
			continue;
		recv->conn = NULL;
		leave_way(recv);
		if (recv->list == later)
			continue;
		if (recv->later_ms)
			pool->withheld--;
		recv->later_ms = 0;
		serve_recv_move(recv, &pool->free);
	}
	serve_pool_refill(pool, NULL);
}

/* No queue pair uses the pool any more; what its contexts waited for is dropped */
void serve_pool_destroy(struct serve_pool *pool)
{
	if (!pool)
		return;
	for (unsigned int i = 0; pool->recvs && i < pool->nr; i++)
		serve_recv_move(&pool->recvs[i], NULL);
	if (pool->srq)
		ibv_destroy_srq(pool->srq);
	if (pool->mr)
		ibv_dereg_mr(pool->mr);
	if (pool->bufs)
		munmap(pool->bufs, pool->bufs_len);
	free(pool->recvs);
	free(pool);
}
