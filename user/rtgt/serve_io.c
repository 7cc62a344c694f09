// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: a connection's queue pair, its receives, replies and transfers.
 *
 * Errors.  A receive that is flushed, or fails, while the connection stands: the device
 * refused what the peer did.  A send or a transfer that fails: the peer's device refused
 * what we did.  Both end the connection.  What is flushed while it ends is the normal end.
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

/* Work requests of a slot, at most: a REVOKE's two; and what all windows take at first */
#define SLOT_WRS	2
#define BINDS		(SLOT_WRS * RTGT_MAX_REGIONS)

/* 0.64 ms: what a peer waits that finds no receive; the default is 655 ms */
#define RNR_TIMER	12

static struct serve_slot *wr_slot(const struct serve_conn *c, uint64_t id)
{
	return &c->pool->slots[id >> SERVE_WR_BITS];
}

/* ------------------------------------------------------------------------- slots */

/* As many receives as the peer was told, if there are slots */
void serve_io_refill(struct serve_conn *c)
{
	if (c->state == SERVE_CLOSING && !c->pool->srq)
		return;
	if (serve_pool_refill(c->pool, c->qp))
		serve_close(c, "a receive could not be posted");
}

/* Nothing is left to do for its message */
void serve_slot_done(struct serve_slot *slot)
{
	serve_slot_move(slot, &slot->pool->free);
	if (slot->conn)
		serve_io_refill(slot->conn);
	else
		serve_pool_refill(slot->pool, NULL);
}

/* ----------------------------------------------------------------------- sending */

/* The last there is must come back, or nothing would be free again */
static bool must_signal(struct serve_conn *c, const struct serve_slot *slot)
{
	return c->pool->srq || slot->later_ms || TAILQ_EMPTY(&c->pool->free) ||
	       c->unsignaled + 1 >= SERVE_SIGNAL_EVERY;
}

static void post_send(struct serve_slot *slot, struct ibv_send_wr *wr, bool signaled)
{
	struct serve_conn *c = slot->conn;
	struct ibv_send_wr *bad;

	c->unsignaled = signaled ? 0 : c->unsignaled + 1;
	serve_slot_move(slot, &c->sending);
	if (ibv_post_send(c->qp, wr, &bad))
		serve_close(c, "a reply or a transfer could not be posted");
}

/* Answer the request in @slot->rq; its buffer holds @len bytes of body behind the head */
void serve_reply(struct serve_slot *slot, uint32_t status, uint32_t len)
{
	struct serve_conn *c = slot->conn;
	struct ibv_sge sge = {
		.addr = (uintptr_t)slot->buf,
		.length = (uint32_t)sizeof(struct rtgt_msg) + len,
		.lkey = c->pool->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = SERVE_WR_ID(slot->index, SERVE_WR_REPLY),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
	};
	bool signaled;

	if (slot->way) {
		wr.wr.ud.ah = slot->way->ah;
		wr.wr.ud.remote_qpn = slot->src_qp;
		wr.wr.ud.remote_qkey = RDMA_UDP_QKEY;
	}

	if (c->state == SERVE_CLOSING)
		return;
	rtgt_encode_reply(slot->buf, &slot->rq, status, len, slot->imm);
	if (status != RTGT_OK)
		serve_count(c->s, RTGT_MALFORMED, 1);
	signaled = must_signal(c, slot);
	wr.send_flags = signaled ? IBV_SEND_SIGNALED : 0;
	c->replies++;
	serve_count(c->s, RTGT_REPLIES, 1);
	post_send(slot, &wr, signaled);
}

/* READ or WRITE the peer's memory, then go on with @then, if that succeeded */
void serve_xfer(struct serve_slot *slot, enum ibv_wr_opcode opcode, struct ibv_sge *sge,
		uint64_t addr, void (*then)(struct serve_slot *slot))
{
	struct ibv_send_wr wr = {
		.wr_id = SERVE_WR_ID(slot->index, SERVE_WR_XFER),
		.sg_list = sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = addr, .rkey = slot->rq.rkey },
	};

	if (slot->conn->state == SERVE_CLOSING)
		return;
	slot->then = then;
	post_send(slot, &wr, true);
}

/*
 * Give windows their next keys, then go on with @then.  They are done in the order they
 * are posted in: so only the last asks for a completion.
 */
void serve_bind(struct serve_slot *slot, struct serve_map *map[], unsigned int nr,
		void (*then)(struct serve_slot *slot))
{
	struct ibv_send_wr wr[BINDS];
	int n = 0;

	for (unsigned int i = 0; i < nr; i++)
		n += serve_window_bind(map[i], &wr[n]);
	for (int i = 0; i < n; i++) {
		bool last = i + 1 == n;

		wr[i].wr_id = SERVE_WR_ID(slot->index, SERVE_WR_BIND);
		wr[i].next = last ? NULL : &wr[i + 1];
		wr[i].send_flags = last ? IBV_SEND_SIGNALED : 0;
	}
	slot->then = then;
	post_send(slot, wr, true);
}

/* Its receive comes back only after a time: in the order of that */
static void wait_for_time(struct serve_slot *slot)
{
	struct serve_slots *later = &slot->conn->s->later;
	struct serve_slot *before = TAILQ_LAST(later, serve_slots);

	slot->due_ns = rtgt_now_ns() + (uint64_t)slot->later_ms * 1000000u;
	slot->later_ms = 0;
	serve_slot_move(slot, NULL);
	slot->list = later;
	while (before && before->due_ns > slot->due_ns)
		before = TAILQ_PREV(before, serve_slots, entry);
	if (before)
		TAILQ_INSERT_AFTER(later, before, slot, entry);
	else
		TAILQ_INSERT_HEAD(later, slot, entry);
}

/* This one's completion stands for those posted before it as well */
static void sent(struct serve_conn *c, struct serve_slot *slot, unsigned int what)
{
	struct serve_slot *first;

	while ((first = TAILQ_FIRST(&c->sending)) && first != slot)
		serve_slot_move(first, &c->pool->free);
	if (what != SERVE_WR_REPLY)
		serve_slot_move(slot, NULL);
	else if (slot->later_ms)
		wait_for_time(slot);
	else
		serve_slot_move(slot, &c->pool->free);
	serve_io_refill(c);
	if (what != SERVE_WR_REPLY)
		slot->then(slot);
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
	serve_qp_failed(c, wc->status == IBV_WC_WR_FLUSH_ERR ?
			"the device refused what the peer did" : ibv_wc_status_str(wc->status));
}

static void received(struct serve_conn *c, struct serve_slot *slot, struct ibv_wc *wc)
{
	bool ud = c->s->cfg.transport == SERVE_UD;

	serve_active(c);
	/* who sends has had the REP; its RTU, which is sent once, may be lost */
	serve_established(c);
	/* the device itself refuses a peer that is connected */
	if (ud && wc->byte_len > c->recv_size + c->pool->head) {
		serve_count(c->s, RTGT_MALFORMED, 1);
		serve_slot_done(slot);
		return;
	}
	slot->imm = 0;
	slot->len = wc->byte_len - c->pool->head;
	if (wc->wc_flags & IBV_WC_WITH_IMM) {
		slot->imm = ntohl(wc->imm_data);
		c->imms++;
		serve_count(c->s, RTGT_IMMS, 1);
	} else if (wc->wc_flags & (IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK) &&
		   serve_domain_invalidated(c->domain, wc->invalidated_rkey)) {
		/* rxe has the kernel's bit for it, which here means a checksum */
		serve_count(c->s, RTGT_INVALIDATIONS, 1);
	}
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
		serve_count(c->s, RTGT_IMM_BYTES, wc->byte_len);
		serve_imm(slot);
		return;
	}
	c->recv_msgs++;
	serve_count(c->s, RTGT_RECV_MSGS, 1);
	serve_count(c->s, RTGT_RECV_BYTES, slot->len);
	if (ud)
		serve_ud_message(slot, wc);
	else
		serve_message(slot);
}

static void complete(struct serve_conn *c, struct ibv_wc *wc)
{
	struct serve_slot *slot = wr_slot(c, wc->wr_id);
	unsigned int what = wc->wr_id & ((1u << SERVE_WR_BITS) - 1);
	bool good = wc->status == IBV_WC_SUCCESS;

	if (what == SERVE_WR_RECV) {
		c->pool->posted--;
		slot->conn = c;
	}
	if (what == SERVE_WR_DRAIN) {
		serve_drained(c);
	} else if (c->state == SERVE_CLOSING) {
		if (what == SERVE_WR_RECV && wc->status == IBV_WC_WR_FLUSH_ERR)
			serve_count(c->s, RTGT_RECV_FLUSHED, 1);
	} else if (what == SERVE_WR_RECV) {
		if (good)
			received(c, slot, wc);
		else
			recv_failed(c, wc);
	} else if (good) {
		sent(c, slot, what);
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
		return 0;
	ret = serve_pool_create(&c->pool, &c->s->cfg, c->domain->pd);
	for (unsigned int i = 0; !ret && i < c->pool->nr; i++)
		c->pool->slots[i].conn = c;
	return ret;
}

static int make_qp(struct serve_conn *c)
{
	/* and one to drain it */
	uint32_t wrs = c->pool->nr * (c->s->cfg.private ? SLOT_WRS : 1) + BINDS + 1;
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

	/* a slot is in one place at a time: if all are flushed, there is room */
	c->cq = ibv_create_cq(c->dev->verbs, (int)wrs, c, c->dev->channel, 0);
	if (!c->cq || (c->dev->channel && ibv_req_notify_cq(c->cq, 0)))
		return errno ? -errno : -ENOMEM;
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	c->qp = ibv_create_qp(c->domain->pd, &attr);
	return c->qp ? 0 : -errno;
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
	serve_io_refill(c);
	if (c->state == SERVE_CLOSING)
		return -EIO;
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
	struct ibv_send_wr *bad, wr = {
		.wr_id = SERVE_WR_ID(0, SERVE_WR_DRAIN),
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (!c->accepted || !c->pool->srq || c->s->cfg.private || c->s->stop)
		return false;
	return !ibv_modify_qp(c->qp, &attr, IBV_QP_STATE) && !ibv_post_send(c->qp, &wr, &bad);
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
}
