// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: a connection's queue pair and its completions.
 *
 * Errors.  A receive that is flushed, or fails, while the connection stands: the device
 * refused what the peer did.  One that fails leaves the device some time to send its NAK.  A
 * send or a transfer that fails: the peer's device refused what we did.  Both end the connection.
 * What is flushed while it ends is the normal end.
 *
 * An SRQ's receives are not flushed: the device tells by an event that the queue pair is in
 * error.  And a receive it had taken by then must not be lost to the others: before such a
 * queue pair is destroyed it is drained, which takes some turns of the loop.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "serve.h"

/* Completions of a connection before the others have their turn */
#define BUDGET		64
#define BATCH		16

/* 0.64 ms: what a peer waits that finds no receive; the default is 655 ms */
#define RNR_TIMER	12

static struct serve_recv *wr_recv(const struct serve_conn *c, uint64_t id)
{
	uint64_t i = id >> SERVE_WR_BITS;

	return i < c->pool->nr ? &c->pool->recvs[i] : &c->own->recvs[i - c->pool->nr];
}

/*
 * This reply's completion stands for those posted before it as well.  Of a READ before it it says
 * nothing: over iWARP the reply is sent, and done, while the READ's response is still to come.
 */
static void replied(struct serve_conn *c, struct serve_recv *recv)
{
	struct serve_recv *first;

	while ((first = TAILQ_FIRST(&c->sending)) && first != recv)
		serve_recv_move(first, &first->pool->free);
	if (recv->later_ms)
		serve_recv_later(recv);
	else
		serve_recv_move(recv, &recv->pool->free);
	serve_recv_refill(c);
}

static void sent(struct serve_conn *c, struct serve_recv *recv, unsigned int what)
{
	if (what == SERVE_WR_REPLY) {
		/* one less is held, which no counter tells */
		c->s->dirty = true;
		replied(c, recv);
		return;
	}
	if (what == SERVE_WR_XFER)
		serve_active(c);
	recv->then(recv);
}

/* -------------------------------------------------------------------- completions */

static void send_failed(struct serve_conn *c, const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		return;
	if (c->state != SERVE_CLOSING)
		serve_count(c->s, RTGT_SEND_ERRORS, 1);
	serve_close(c, ibv_wc_status_str(wc->status));
}

static void recv_failed(struct serve_conn *c, const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		serve_count(c->s, RTGT_RECV_FLUSHED, 1);
	/*
	 * An iWARP device flushes when the TCP stream ends, for whatever reason, and may do so
	 * before rdma_cm says that it is established: its word of the end follows
	 */
	if (wc->status == IBV_WC_WR_FLUSH_ERR && c->dev->iwarp)
		return;
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		serve_qp_failed(c, "the device refused what the peer did");
	else
		serve_qp_failing(c, ibv_wc_status_str(wc->status));
}

static void received(struct serve_conn *c, struct serve_recv *recv, struct ibv_wc *wc)
{
	bool ud = c->s->cfg.transport == SERVE_UD;

	serve_active(c);
	/* who sends has had the REP; its RTU, which is sent once, may be lost */
	if (!c->ignored)
		serve_established(c);
	if (c->s->cfg.faulty && serve_fault_message(c)) {
		serve_recv_move(recv, &c->pool->free);
		return;
	}
	/* the device itself refuses a peer that is connected */
	if (ud && wc->byte_len > c->recv_size + c->pool->head) {
		serve_count(c->s, RTGT_MALFORMED, 1);
		serve_recv_done(recv);
		return;
	}
	recv->imm = 0;
	recv->len = wc->byte_len - c->pool->head;
	if (wc->wc_flags & IBV_WC_WITH_IMM) {
		recv->imm = ntohl(wc->imm_data);
		c->imms++;
		serve_count(c->s, RTGT_IMMS, 1);
	} else if (wc->wc_flags & (IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK) &&
		   serve_domain_invalidated(c->domain, wc->invalidated_rkey)) {
		/* rxe has the kernel's bit for it, which here means a checksum */
		serve_count(c->s, RTGT_INVALIDATIONS, 1);
	}
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
		serve_count(c->s, RTGT_IMM_BYTES, wc->byte_len);
		serve_imm(recv);
		return;
	}
	c->recv_msgs++;
	serve_count(c->s, RTGT_RECV_MSGS, 1);
	serve_count(c->s, RTGT_RECV_BYTES, recv->len);
	if (!ud || serve_way_take(recv, wc))
		serve_message(recv);
}

static void complete(struct serve_conn *c, struct ibv_wc *wc)
{
	struct serve_recv *recv = wr_recv(c, wc->wr_id);
	unsigned int what = wc->wr_id & ((1u << SERVE_WR_BITS) - 1);
	bool good = wc->status == IBV_WC_SUCCESS;

	if (what == SERVE_WR_RECV) {
		c->pool->posted--;
		recv->conn = c;
	}
	if (what == SERVE_WR_REPLY && wc->status == IBV_WC_WR_FLUSH_ERR)
		serve_count(c->s, RTGT_SEND_FLUSHED, 1);
	if (what == SERVE_WR_DRAIN) {
		serve_drained(c);
	} else if (c->state == SERVE_CLOSING) {
		if (what == SERVE_WR_RECV && wc->status == IBV_WC_WR_FLUSH_ERR)
			serve_count(c->s, RTGT_RECV_FLUSHED, 1);
	} else if (what == SERVE_WR_RECV) {
		if (good)
			received(c, recv, wc);
		else
			recv_failed(c, wc);
	} else if (good) {
		sent(c, recv, what);
	} else {
		send_failed(c, wc);
	}
}

/* Take completions, not more than one turn's; whether there may be others */
bool serve_io_poll(struct serve_conn *c)
{
	struct ibv_wc wc[BATCH];
	int n, total = 0;

	do {
		n = ibv_poll_cq(c->cq, BATCH, wc);
		if (n < 0)
			serve_close(c, "the completion queue failed");
		for (int i = 0; i < n; i++)
			complete(c, &wc[i]);
		total += n;
	} while (n == BATCH && total < BUDGET);
	return n == BATCH;
}

/* ------------------------------------------------------------------- the queue pair */

static int make_pool(struct serve_conn *c)
{
	int ret;

	c->pool = c->domain->pool;
	if (c->pool)
		return serve_own(&c->s->cfg) ?
		       serve_pool_create_own(&c->own, &c->s->cfg, c->pool) : 0;
	ret = serve_pool_create(&c->pool, &c->s->cfg, c->domain->pd);
	for (unsigned int i = 0; !ret && i < c->pool->nr; i++)
		c->pool->recvs[i].conn = c;
	return ret;
}

static int make_qp(struct serve_conn *c)
{
	/* and one to drain it */
	uint32_t nr = c->pool->nr + (c->own ? c->own->nr : 0);
	uint32_t each = c->s->cfg.private || c->s->cfg.faulty ? SERVE_RECV_WRS : 1;
	uint32_t wrs = nr * each + SERVE_BINDS + 1;
	struct ibv_qp_init_attr attr = {
		.qp_type = serve_qp_type(&c->s->cfg),
		.qp_context = c,
		.srq = c->pool->srq,
		.cap = {
			.max_send_wr = wrs,
			.max_recv_wr = c->pool->srq ? 0 : c->pool->depth,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	/* a receive context is in one place at a time: if all are flushed, there is space */
	errno = 0;
	c->cq = ibv_create_cq(c->dev->verbs, (int)wrs, c, c->dev->channel, 0);
	if (!c->cq || (c->dev->channel && ibv_req_notify_cq(c->cq, 0)))
		return serve_no_object();
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	errno = 0;
	c->qp = ibv_create_qp(c->domain->pd, &attr);
	if (!c->qp)
		return serve_no_object();
	c->send = (struct rtgt_qp) { .qp = c->qp, .cm = &c->to };
	return 0;
}

static int modify(struct serve_conn *c, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	/* of datagrams rdma_cm knows INIT only */
	if (c->s->cfg.transport == SERVE_UD && state != IBV_QPS_INIT) {
		mask = IBV_QP_STATE | (state == IBV_QPS_RTS ? IBV_QP_SQ_PSN : 0);
		return -ibv_modify_qp(c->qp, &attr, mask);
	}
	if (rdma_init_qp_attr(c->cm_id, &attr, &mask))
		return -errno;
	/* rdma_cm learns these only with the REP, and the timer not at all */
	if (state == IBV_QPS_RTR) {
		attr.max_dest_rd_atomic = c->param.responder_resources;
		attr.min_rnr_timer = RNR_TIMER;
	} else if (state == IBV_QPS_RTS) {
		attr.max_rd_atomic = c->param.initiator_depth;
	}
	return -ibv_modify_qp(c->qp, &attr, mask);
}

/*
 * Receives, completion queue and queue pair, by hand up to RTS, as the kernel's target has
 * it: the minimum RNR timer cannot be told to librdmacm.  What was made before a failure
 * is for serve_io_destroy().
 */
int serve_io_create(struct serve_conn *c)
{
	int ret = make_pool(c);

	if (!ret)
		ret = make_qp(c);
	if (!ret)
		ret = modify(c, IBV_QPS_INIT);
	if (ret)
		return ret;
	c->deaf = c->s->cfg.faulty && serve_fault_receives(c);
	serve_recv_refill(c);
	if (c->state == SERVE_CLOSING)
		return -EIO;
	/* an iWARP one gets its TCP stream, and so to RTS, with rdma_accept() */
	if (c->dev->iwarp)
		return 0;
	ret = modify(c, IBV_QPS_RTR);
	return ret ? ret : modify(c, IBV_QPS_RTS);
}

/*
 * Have the device give back what the queue pair took of an SRQ others use: it is flushed,
 * and what is posted last completes last.  Whether that is to be waited for.
 */
bool serve_io_drain(struct serve_conn *c)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	const struct rtgt_wr wr = { .id = SERVE_WR_ID(0, SERVE_WR_DRAIN), .opcode = IBV_WR_SEND };
	struct rtgt_err err;

	if (!c->accepted || !c->pool->srq || c->s->cfg.private || c->s->stop)
		return false;
	if (ibv_modify_qp(c->qp, &attr, IBV_QP_STATE))
		return false;
	if (!c->dev->iwarp)
		return !rtgt_qp_post(&c->send, &wr, &err);
	/* flushed inside that call; what is posted now may never complete (siw) */
	while (serve_io_poll(c))
		;
	return false;
}

/* At whatever stage serve_io_create() stopped */
void serve_io_destroy(struct serve_conn *c)
{
	if (c->qp)
		ibv_destroy_qp(c->qp);
	if (c->cq) {
		ibv_ack_cq_events(c->cq, c->events);
		ibv_destroy_cq(c->cq);
	}
	if (c->pool && c->pool->srq)
		serve_pool_leave(c->pool, c, &c->s->later);
	else
		serve_pool_destroy(c->pool);
	serve_pool_destroy(c->own);
}
