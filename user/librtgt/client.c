// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An initiator: connect, then one operation at a time.  The one-sided ones are
 * here, requests to the target in request.c.
 *
 * Each function posts one operation, waits for its completion and, where the
 * target answers, for the reply, which it checks as far as the protocol goes:
 * operation, tag, length, status.  What the bytes should be is the caller's
 * business.  A receive is posted before each request that will be answered, so
 * the target never meets an empty receive queue.
 *
 * After a failed completion the queue pair is in the error state: close.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

/* The bodies of requests and replies other than an echo fit into this */
#define SMALL_BODY	64

/* Replies that list extents need not be larger, however large they may be */
#define LIST_BODY	65536u

/* One operation: a request, perhaps a message, and its answer */
#define DEPTH		4

#define PORT_ATTEMPTS	8

static void log_peer(const struct rtgt_client *c)
{
	const struct rtgt_log *log = c->cm.param.log;
	const struct rtgt_rep_info *p = &c->peer;
	char access[32];

	if (!log)
		return;
	if (p->rtgt)
		rtgt_log(log, "rep", "rtgt version %u, connection %u%s%s, recv_size %u recv_depth %u",
			 p->version, p->conn_id,
			 p->features & RTGT_F_PRIVATE ? ", regions of its own" : "",
			 p->features & RTGT_F_ASK ? ", capabilities on request" : "",
			 p->recv_size, p->recv_depth);
	else
		rtgt_log(log, "rep", "a plain capability, no rtgt magic behind it");
	for (uint32_t i = 0; i < p->nr; i++) {
		const struct rtgt_region_info *mem = &p->region[i];

		rtgt_access_str(mem->access, access, sizeof(access));
		rtgt_log(log, "rep", "region %u: remote addr 0x%llx rkey 0x%x len %llu access %s",
			 i, (unsigned long long)mem->addr, mem->rkey,
			 (unsigned long long)mem->len, access);
	}
}

/* Bytes a reply's body may have */
static uint32_t reply_body(const struct rtgt_client *c, uint32_t body)
{
	uint32_t list = c->peer.recv_size - (uint32_t)sizeof(struct rtgt_msg);

	for (uint32_t i = 0; i < c->peer.nr; i++)
		if (c->peer.region[i].access & RTGT_ACCESS_MORE && body < list)
			body = list < LIST_BODY ? list : LIST_BODY;
	return body;
}

/* The message buffers wait for the REP: it says how large a SEND may be */
static int make_messages(struct rtgt_client *c, uint32_t payload, bool odp, struct rtgt_err *err)
{
	const unsigned int needs = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
	const int access = odp && (c->qp.odp & needs) == needs ? IBV_ACCESS_ON_DEMAND : 0;
	const struct rtgt_log *log = c->cm.param.log;
	uint32_t body;
	int ret;

	if (!c->peer.rtgt)
		return 0;
	if (c->peer.recv_size < sizeof(struct rtgt_msg) + sizeof(struct rtgt_range))
		return rtgt_fail(err, EPROTO, "the target takes SENDs of %u bytes only: too few",
				 c->peer.recv_size);
	c->payload = c->peer.recv_size - (uint32_t)sizeof(struct rtgt_msg);
	/* a datagram is one packet: ours must leave, and come back */
	if (c->head && c->payload > c->qp.mtu - sizeof(struct rtgt_msg))
		c->payload = c->qp.mtu - (uint32_t)sizeof(struct rtgt_msg);
	if (c->payload > payload)
		c->payload = payload;
	body = c->payload > SMALL_BODY ? c->payload : SMALL_BODY;
	ret = rtgt_mr_create(&c->tx, c->qp.pd, "request", sizeof(struct rtgt_msg) + body, access,
			     log, err);
	if (ret)
		return ret;
	body = reply_body(c, body);
	return rtgt_mr_create(&c->rx, c->qp.pd, "reply",
			      c->head + sizeof(struct rtgt_msg) + body,
			      access | IBV_ACCESS_LOCAL_WRITE, log, err);
}

/* The capability of a region that has one extent, where the REP has none */
static int learn_capability(struct rtgt_client *c, uint32_t region, struct rtgt_err *err)
{
	struct rtgt_layout *layout = &c->layout[region];
	int ret = rtgt_client_extents(c, region, err);

	if (ret)
		return ret;
	c->peer.region[region] = layout->extent[0];
	if (layout->nr > 1)
		return 0;
	rtgt_layout_free(layout);
	*layout = (struct rtgt_layout) { .size = c->peer.region[region].len, .nr = 1 };
	return 0;
}

/* Learn what the regions of a new connection are made of */
static int learn_layout(struct rtgt_client *c, struct rtgt_err *err)
{
	bool ask = c->peer.features & RTGT_F_ASK;
	int ret = 0;

	for (uint32_t i = 0; i < c->peer.nr && !ret; i++) {
		c->layout[i] = (struct rtgt_layout) { .size = c->peer.region[i].len, .nr = 1 };
		if (ask)
			ret = learn_capability(c, i, err);
		else if (c->peer.rtgt && c->peer.region[i].access & RTGT_ACCESS_MORE)
			ret = rtgt_client_extents(c, i, err);
	}
	return ret;
}

/* One attempt; closed already when it fails */
static int open_once(struct rtgt_client *c, const struct rtgt_client_param *param,
		     struct rtgt_err *err)
{
	const struct rtgt_qp_param qp = {
		.send_depth = DEPTH + param->chain, .recv_depth = DEPTH + param->recvs,
		.poll = param->poll, .sges = param->sges, .heads = param->heads,
		.inline_data = param->flags & IBV_SEND_INLINE, .pd = param->pd,
	};
	struct rtgt_req req;
	int ret;

	memset(c, 0, sizeof(*c));
	c->depth = qp.send_depth;
	c->head = param->cm.transport == RTGT_UD ? RTGT_GRH : 0;
	c->sges = param->sges;
	c->flags = param->flags;
	rtgt_encode_req(&req);
	ret = rtgt_cm_resolve(&c->cm, &param->cm, err);
	if (!ret)
		ret = rtgt_qp_create(&c->qp, &c->cm, &qp, err);
	if (!ret)
		ret = rtgt_cm_connect(&c->cm, &req, sizeof(req), err);
	if (!ret)
		ret = rtgt_qp_address(&c->qp, err);
	if (!ret) {
		rtgt_qp_log(&c->qp);
		ret = rtgt_wire_rep(&c->peer, c->cm.rep, c->cm.rep_len, err);
	}
	if (!ret) {
		log_peer(c);
		ret = make_messages(c, param->payload, param->odp, err);
	}
	if (!ret)
		ret = learn_layout(c, err);
	if (ret)
		rtgt_client_close(c);
	return ret;
}

/**
 * rtgt_client_open() - connect to a target and read what it offers
 * @c: filled; closed already when this fails
 * @param: where to, and how
 * @err: says what is wrong
 *
 * If TCP uses the local port that rdma_cm chose (iWARP), this tries again with another one, at
 * most PORT_ATTEMPTS times in all.
 *
 * Return: 0, or a negative errno.
 */
int rtgt_client_open(struct rtgt_client *c, const struct rtgt_client_param *param,
		     struct rtgt_err *err)
{
	unsigned int attempts = 0;
	int ret;

	do {
		ret = open_once(c, param, err);
	} while (ret == -EADDRINUSE && ++attempts < PORT_ATTEMPTS);
	return ret;
}

/**
 * rtgt_client_close() - disconnect and release everything
 * @c: open, closed, or zero; the caller's registrations are gone already
 */
void rtgt_client_close(struct rtgt_client *c)
{
	rtgt_cm_disconnect(&c->cm);
	for (unsigned int i = 0; i < RTGT_MAX_REGIONS; i++)
		rtgt_layout_free(&c->layout[i]);
	rtgt_mr_destroy(&c->tx);
	rtgt_mr_destroy(&c->rx);
	rtgt_qp_destroy(&c->qp);
	rtgt_cm_close(&c->cm);
}

/* What a person calls it */
static const char *rdma_name(enum ibv_wr_opcode opcode)
{
	const char *name = rtgt_wr_opcode_str(opcode);

	return strncmp(name, "RDMA_", 5) ? name : name + 5;
}

/* @len: bytes of the work request that carried the immediate */
static int check_imm_reply(uint32_t len, const struct rtgt_reply *reply, struct rtgt_err *err)
{
	if (reply->covered != len)
		return rtgt_fail(err, EPROTO,
				 "the target's completion tells %llu bytes, %u were written",
				 (unsigned long long)reply->covered, len);
	return 0;
}

/* The work request for what is left of @op behind its first @done bytes, within an extent */
static struct rtgt_wr next_wr(const struct rtgt_client *c, const struct rtgt_rdma *op,
			      uint32_t done)
{
	struct rtgt_wr wr = {
		.opcode = op->opcode, .mr = op->mr, .offset = op->local, .all = op->len,
		.at = done, .sges = op->sges, .gap = op->gap, .imm = op->imm,
		.compare_add = op->compare_add, .swap = op->swap, .flags = op->flags,
	};

	wr.len = rtgt_layout_piece(c, op->region, op->remote + done, op->len - done,
				   &wr.remote_addr, &wr.rkey);
	/* the target is told when all is there */
	if (op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && done + wr.len < op->len)
		wr.opcode = IBV_WR_RDMA_WRITE;
	return wr;
}

/*
 * Post all, the last of them signaled, and wait for it; those a full send queue ends
 * with are signaled and waited for too.  Returns in @last_len the bytes of the last.
 */
static int run_chain(struct rtgt_client *c, const struct rtgt_rdma *op, unsigned int n,
		     const char *what, uint32_t *last_len, struct rtgt_err *err)
{
	const uint64_t id = ++c->wr_id;
	unsigned int posted = 0;
	struct ibv_wc wc;
	int ret = 0;

	for (const struct rtgt_rdma *o = op; o < op + n; o++) {
		uint32_t done = 0;

		do {
			struct rtgt_wr wr = next_wr(c, o, done);
			bool last = o == op + n - 1 && done + wr.len == o->len;

			wr.id = id;
			wr.unsignaled = !last && ++posted % c->depth;
			ret = rtgt_qp_post(&c->qp, &wr, err);
			if (!ret && !wr.unsignaled)
				ret = rtgt_client_wait(c, id, what, &wc, err);
			if (ret)
				return ret;
			done += wr.len;
			*last_len = wr.len;
		} while (done < o->len);
	}
	return 0;
}

/* What would be read out of bounds here; what the target refuses is not checked */
static int check_rdma(const struct rtgt_rdma *op, struct rtgt_err *err)
{
	const uint64_t gaps = (uint64_t)op->gap * (op->sges ? op->sges - 1 : 0);

	if (op->region >= RTGT_MAX_REGIONS)
		return rtgt_fail(err, EINVAL, "region %u: there are at most %u",
				 op->region, RTGT_MAX_REGIONS);
	if (op->sges > RTGT_SGES)
		return rtgt_fail(err, EINVAL, "%u pieces: at most %u", op->sges, RTGT_SGES);
	/* they touch nothing here */
	if (!op->len || op->opcode == RTGT_WR_FLUSH)
		return 0;
	if (!op->mr)
		return rtgt_fail(err, EINVAL, "%s without a buffer", rdma_name(op->opcode));
	if (op->local > op->mr->len || op->len + gaps > op->mr->len - op->local)
		return rtgt_fail(err, EINVAL, "%u bytes at %zu of a buffer of %zu", op->len,
				 op->local, op->mr->len);
	return 0;
}

/**
 * rtgt_client_chain() - several one-sided operations, of which the last is waited for
 * @c: open
 * @op: what; not checked against the regions: a refusal is the target's business
 * @n: how many, at most what rtgt_client_param.chain promised
 * @took: filled, from the first post
 * @err: says what is wrong
 *
 * Only the last asks for a completion; that tells of all, since they complete in
 * order.  All have one id, so that the completion of one that failed is the first
 * to be seen.  If the last is a WRITE_WITH_IMM whose immediate asks for it
 * (RTGT_IMM_ACK), the target's answer is waited for, and the immediate and the
 * byte count in it are checked.  Where operations cross from one extent into the
 * next there may be more work requests than the send queue holds; then the rest
 * is posted when those have completed.
 *
 * Return: 0, or a negative errno; -EINVAL for a value out of range, -EIO with
 * @err->wc_status for a failed completion.
 */
int rtgt_client_chain(struct rtgt_client *c, const struct rtgt_rdma *op, unsigned int n,
		      struct rtgt_took *took, struct rtgt_err *err)
{
	const struct rtgt_rdma *last;
	bool answered;
	struct rtgt_reply reply;
	uint64_t start, recv = 0;
	uint32_t last_len = 0;
	char what[64];
	int ret = 0;

	memset(took, 0, sizeof(*took));
	if (!n)
		return rtgt_fail(err, EINVAL, "a chain of no operation");
	for (unsigned int i = 0; i < n && !ret; i++)
		ret = check_rdma(&op[i], err);
	if (ret)
		return ret;
	last = &op[n - 1];
	answered = last->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && c->peer.rtgt &&
		   rtgt_imm_op(last->imm) == RTGT_IMM_ACK;
	if (answered)
		ret = rtgt_client_expect(c, &recv, err);
	if (ret)
		return ret;
	snprintf(what, sizeof(what), "%s of %u bytes", rdma_name(last->opcode), last->len);
	start = rtgt_now_ns();
	ret = run_chain(c, op, n, what, &last_len, err);
	if (ret)
		return ret;
	took->completion = rtgt_now_ns() - start;
	if (!answered)
		return 0;
	ret = rtgt_client_reply(c, recv, RTGT_MSG_IMM, rtgt_imm_arg(last->imm), last->imm, &reply,
				err);
	took->reply = rtgt_now_ns() - start;
	return ret ? ret : check_imm_reply(last_len, &reply, err);
}

/**
 * rtgt_client_rdma() - one one-sided operation
 * @c: open
 * @op: what
 * @took: filled
 * @err: says what is wrong
 *
 * A chain of one, see rtgt_client_chain().
 *
 * Return: 0, or a negative errno.
 */
int rtgt_client_rdma(struct rtgt_client *c, const struct rtgt_rdma *op, struct rtgt_took *took,
		     struct rtgt_err *err)
{
	return rtgt_client_chain(c, op, 1, took, err);
}

static int do_local(struct rtgt_client *c, struct rtgt_wr *wr, const char *what,
		    struct rtgt_err *err)
{
	struct ibv_wc wc;
	int ret;

	wr->id = ++c->wr_id;
	ret = rtgt_qp_post(&c->qp, wr, err);
	return ret ? ret : rtgt_client_wait(c, wr->id, what, &wc, err);
}

/**
 * rtgt_client_bind() - give a window a part of a buffer, and a new key
 * @c: open
 * @window: bound to nothing
 * @mr: registered with IBV_ACCESS_MW_BIND
 * @local: first byte, counted from @mr->buf
 * @len: bytes, at least 1
 * @access: what the window grants, IBV_ACCESS_REMOTE_*
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_client_bind(struct rtgt_client *c, const struct rtgt_window *window,
		     const struct rtgt_mr *mr, size_t local, uint32_t len, unsigned int access,
		     struct rtgt_err *err)
{
	struct rtgt_wr wr = {
		.opcode = IBV_WR_BIND_MW, .window = window, .mr = mr, .offset = local, .len = len,
		.access = access,
	};

	return do_local(c, &wr, "BIND_MW", err);
}

/**
 * rtgt_client_unbind() - invalidate a window's key
 * @c: open
 * @window: bound
 * @err: says what is wrong
 *
 * Return: 0 when nobody can use it any more, or a negative errno.
 */
int rtgt_client_unbind(struct rtgt_client *c, const struct rtgt_window *window,
		       struct rtgt_err *err)
{
	struct rtgt_wr wr = { .opcode = IBV_WR_LOCAL_INV, .rkey = window->mw->rkey };

	return do_local(c, &wr, "LOCAL_INV", err);
}
