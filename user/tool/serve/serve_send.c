// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: what a connection's queue pair is given: receives, replies, transfers.
 *
 * What cannot be posted ends the connection.  A receive context is in one place at a time, so there
 * is space in the queues for all of them.
 */
#include <errno.h>
#include <string.h>

#include "serve.h"

/* -------------------------------------------------------------- receive contexts */

/* Post as many receives as the peer was told, if enough receive contexts are free */
void serve_recv_refill(struct serve_conn *c)
{
	if (c->state == SERVE_CLOSING && !c->pool->srq)
		return;
	if (c->deaf)
		return;
	if (serve_pool_refill(c->pool, c->qp))
		serve_close(c, "a receive could not be posted");
}

/* Nothing is left to do for its message */
void serve_recv_done(struct serve_recv *recv)
{
	serve_recv_move(recv, &recv->pool->free);
	if (recv->conn)
		serve_recv_refill(recv->conn);
	else
		serve_pool_refill(recv->pool, NULL);
}

/* ----------------------------------------------------------------------- sending */

/* The last there is must come back, or nothing would be free again */
static bool must_signal(struct serve_conn *c, const struct serve_recv *recv)
{
	return c->pool->srq || recv->later_ms || TAILQ_EMPTY(&c->pool->free) ||
	       c->unsignaled + 1 >= SERVE_SIGNAL_EVERY;
}

static void post(struct serve_recv *recv, const struct rtgt_wr *wr)
{
	struct serve_conn *c = recv->conn;
	struct rtgt_err err;

	if (rtgt_qp_post(&c->send, wr, &err))
		serve_close(c, "a reply or a transfer could not be posted");
}

/* Send a reply of @len bytes, its header included */
void serve_reply_send(struct serve_recv *recv, uint32_t len)
{
	struct serve_conn *c = recv->conn;
	const struct rtgt_mr reply = { .mr = recv->pool->mr, .buf = recv->buf, .len = len };
	struct rtgt_wr wr = {
		.id = SERVE_WR_ID(recv->index, SERVE_WR_REPLY),
		.opcode = IBV_WR_SEND,
		.mr = &reply,
		.len = len,
		.unsignaled = true,
	};
	bool unsignaled;

	if (c->state == SERVE_CLOSING)
		return;
	if (recv->way) {
		c->send.ah = recv->way->ah;
		c->to.ud.qp_num = recv->src_qp;
		c->to.ud.qkey = RDMA_UDP_QKEY;
	}
	unsignaled = !must_signal(c, recv);
	/* the completion of the second one stands for both */
	if (recv->twice)
		post(recv, &wr);
	recv->twice = false;
	c->unsignaled = unsignaled ? c->unsignaled + 1 : 0;
	serve_recv_move(recv, &c->sending);
	wr.unsignaled = unsignaled;
	c->replies++;
	serve_count(c->s, RTGT_REPLIES, 1);
	post(recv, &wr);
	/* of the fault reply-swap: the one that waited for another reply follows */
	recv = c->swapped;
	c->swapped = NULL;
	if (recv) {
		serve_recv_move(recv, NULL);
		serve_reply_send(recv, recv->len);
	}
}

/* READ or WRITE the peer's memory, then go on with @then, if that succeeded */
void serve_xfer(struct serve_recv *recv, struct rtgt_wr *wr,
		void (*then)(struct serve_recv *recv))
{
	if (recv->conn->state == SERVE_CLOSING)
		return;
	recv->then = then;
	serve_recv_move(recv, NULL);
	wr->id = SERVE_WR_ID(recv->index, SERVE_WR_XFER);
	post(recv, wr);
}

/*
 * Give windows their next keys, then go on with @then.  They are done in the order they
 * are posted in: so only the last asks for a completion.
 */
void serve_bind(struct serve_recv *recv, struct serve_map *map[], unsigned int nr,
		void (*then)(struct serve_recv *recv))
{
	const uint64_t id = SERVE_WR_ID(recv->index, SERVE_WR_BIND);

	recv->then = then;
	serve_recv_move(recv, NULL);
	for (unsigned int i = 0; i < nr; i++) {
		const struct rtgt_mr all = { .mr = map[i]->mr[0], .buf = (void *)map[i]->iova[0] };
		const struct rtgt_window window = { .mw = map[i]->mw };
		const struct rtgt_wr kill = {
			.id = id,
			.opcode = IBV_WR_LOCAL_INV,
			.rkey = map[i]->mw->rkey,
			.unsignaled = true,
		};
		const struct rtgt_wr bind = {
			.id = id,
			.opcode = IBV_WR_BIND_MW,
			.mr = &all,
			.len = (uint32_t)map[i]->mem->size,
			.window = &window,
			.access = serve_remote_access(map[i]),
			.unsignaled = i + 1 < nr,
		};

		if (!map[i]->dead)
			post(recv, &kill);
		map[i]->dead = false;
		post(recv, &bind);
	}
}

/* Its receive comes back only after a time: in the order of that */
void serve_recv_later(struct serve_recv *recv)
{
	struct serve_recvs *later = &recv->conn->s->later;
	struct serve_recv *before = TAILQ_LAST(later, serve_recvs);

	recv->due_ns = rtgt_now_ns() + (uint64_t)recv->later_ms * 1000000u;
	recv->later_ms = 0;
	serve_recv_move(recv, NULL);
	recv->list = later;
	while (before && before->due_ns > recv->due_ns)
		before = TAILQ_PREV(before, serve_recvs, entry);
	if (before)
		TAILQ_INSERT_AFTER(later, before, recv, entry);
	else
		TAILQ_INSERT_HEAD(later, recv, entry);
}

/*
 * Replace a receive whose message is a request.  Returns the context that has the request: with an
 * SRQ another one, of the connection's own; NULL when the connection closes, because it has none.
 */
struct serve_recv *serve_recv_keep(struct serve_recv *recv)
{
	struct serve_conn *c = recv->conn;
	struct serve_recv *own;

	if (!c->own) {
		serve_recv_refill(c);
		return recv;
	}
	own = TAILQ_FIRST(&c->own->free);
	if (own) {
		memcpy(own->buf, recv->buf, recv->len < c->recv_size ? recv->len : c->recv_size);
		own->conn = c;
		own->len = recv->len;
		own->imm = recv->imm;
		own->rq = recv->rq;
		serve_recv_move(own, NULL);
	} else {
		serve_count(c->s, RTGT_OVER_DEPTH, 1);
		serve_close(c, "more requests outstanding than recv_depth");
	}
	if (recv->later_ms)
		serve_recv_later(recv);
	else
		serve_recv_done(recv);
	return own;
}
