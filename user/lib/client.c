// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An initiator: connect, then one operation at a time.
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

#include "client.h"

/* The bodies of requests and replies other than an echo fit into this */
#define SMALL_BODY	64

/* One operation: a request, perhaps a message, and its answer */
#define DEPTH		4

static void log_peer(const struct rtgt_client *c)
{
	const struct rtgt_log *log = c->cm.param.log;
	const struct rtgt_peer *p = &c->peer;
	char access[32];

	if (!log)
		return;
	if (p->rtgt)
		rtgt_log(log, "rep", "rtgt version %u, connection %u%s, recv_size %u recv_depth %u",
			 p->version, p->conn_id,
			 p->features & RTGT_F_PRIVATE ? ", regions of its own" : "", p->recv_size,
			 p->recv_depth);
	else
		rtgt_log(log, "rep", "a plain capability, no rtgt magic behind it");
	for (uint32_t i = 0; i < p->nr_regions; i++) {
		const struct rtgt_mem *mem = &p->region[i];

		rtgt_access_str(mem->access, access, sizeof(access));
		rtgt_log(log, "rep", "region %u: remote addr 0x%llx rkey 0x%x len %llu access %s",
			 i, (unsigned long long)mem->addr, mem->rkey,
			 (unsigned long long)mem->len, access);
	}
}

/* The message buffers wait for the REP: it says how large a SEND may be */
static int make_messages(struct rtgt_client *c, uint32_t payload, struct rtgt_err *err)
{
	const struct rtgt_log *log = c->cm.param.log;
	uint32_t body;
	int ret;

	if (!c->peer.rtgt)
		return 0;
	if (c->peer.recv_size < sizeof(struct rtgt_msg) + sizeof(struct rtgt_range))
		return rtgt_fail(err, EPROTO, "the target takes SENDs of %u bytes only: too few",
				 c->peer.recv_size);
	c->payload = c->peer.recv_size - (uint32_t)sizeof(struct rtgt_msg);
	if (c->payload > payload)
		c->payload = payload;
	body = c->payload > SMALL_BODY ? c->payload : SMALL_BODY;
	body += sizeof(struct rtgt_msg);
	ret = rtgt_mr_create(&c->tx, c->qp.pd, "request", body, 0, log, err);
	if (ret)
		return ret;
	return rtgt_mr_create(&c->rx, c->qp.pd, "reply", body, IBV_ACCESS_LOCAL_WRITE, log, err);
}

/**
 * rtgt_client_open() - connect to a target and read what it offers
 * @c: filled; to be closed when this succeeds
 * @param: where to, and how
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_client_open(struct rtgt_client *c, const struct rtgt_client_param *param,
		     struct rtgt_err *err)
{
	const struct rtgt_qp_param qp = {
		.send_depth = DEPTH, .recv_depth = DEPTH, .poll = param->poll,
	};
	struct rtgt_req req;
	int ret;

	memset(c, 0, sizeof(*c));
	rtgt_wire_req(&req);
	ret = rtgt_cm_resolve(&c->cm, &param->cm, err);
	if (!ret)
		ret = rtgt_qp_create(&c->qp, &c->cm, &qp, err);
	if (!ret)
		ret = rtgt_cm_connect(&c->cm, &req, sizeof(req), err);
	if (!ret) {
		rtgt_qp_log(&c->qp);
		ret = rtgt_wire_rep(&c->peer, c->cm.rep, c->cm.rep_len, err);
	}
	if (!ret) {
		log_peer(c);
		ret = make_messages(c, param->payload, err);
	}
	if (ret)
		rtgt_client_close(c);
	return ret;
}

/**
 * rtgt_client_close() - disconnect and release everything
 * @c: opened; the caller's registrations are gone already
 */
void rtgt_client_close(struct rtgt_client *c)
{
	rtgt_cm_disconnect(&c->cm);
	rtgt_mr_destroy(&c->tx);
	rtgt_mr_destroy(&c->rx);
	rtgt_qp_destroy(&c->qp);
	rtgt_cm_close(&c->cm);
}

static int take_kept(struct rtgt_client *c, uint64_t id, struct ibv_wc *wc)
{
	for (unsigned int i = 0; i < c->nr_kept; i++) {
		if (c->kept[i].wr_id != id)
			continue;
		*wc = c->kept[i];
		c->kept[i] = c->kept[--c->nr_kept];
		return 1;
	}
	return 0;
}

/* Wait for the completion of @id; @what is its name in the sentence about a failure */
static int wait_for(struct rtgt_client *c, uint64_t id, const char *what, struct ibv_wc *wc,
		    struct rtgt_err *err)
{
	while (!take_kept(c, id, wc)) {
		int ret;

		if (c->nr_kept == RTGT_KEPT)
			return rtgt_fail(err, EPROTO, "completions nobody waits for arrive");
		ret = rtgt_qp_wait(&c->qp, &c->kept[c->nr_kept], err);
		if (ret)
			return ret;
		c->nr_kept++;
	}
	if (wc->status == IBV_WC_SUCCESS)
		return 0;
	rtgt_fail(err, EIO, "%s failed: %s (status %d, vendor error 0x%x): %s", what,
		  ibv_wc_status_str(wc->status), wc->status, wc->vendor_err,
		  rtgt_wc_meaning(wc->status));
	err->wc_status = wc->status;
	err->vendor_err = wc->vendor_err;
	return -EIO;
}

static int post_reply_buffer(struct rtgt_client *c, uint64_t *id, struct rtgt_err *err)
{
	*id = ++c->wr_id;
	return rtgt_qp_post_recv(&c->qp, *id, &c->rx, (uint32_t)c->rx.len, err);
}

static int take_reply(struct rtgt_client *c, uint64_t id, enum rtgt_op op, struct rtgt_reply *reply,
		      struct rtgt_err *err)
{
	struct ibv_wc wc;
	int ret = wait_for(c, id, "the receive of the reply", &wc, err);

	if (!ret)
		ret = rtgt_wire_reply(reply, c->rx.buf, wc.byte_len, err);
	if (ret)
		return ret;
	rtgt_log(c->cm.param.log, "msg", "reply to op %u: %s, tag %u, %u bytes", reply->op,
		 rtgt_status_str(reply->status), reply->tag, reply->len);
	if (reply->status != RTGT_OK)
		return rtgt_fail(err, EPROTO, "the target refused request %u: %s (status %u)",
				 op, rtgt_status_str(reply->status), reply->status);
	if (reply->op != op)
		return rtgt_fail(err, EPROTO, "the target answered op %u, not %u", reply->op, op);
	return 0;
}

/* Ask and take the answer; the body is in place behind the header of c->tx */
static int ask(struct rtgt_client *c, enum rtgt_op op, uint32_t len, struct rtgt_reply *reply,
	       struct rtgt_took *took, struct rtgt_err *err)
{
	struct rtgt_wr wr = {
		.opcode = IBV_WR_SEND, .mr = &c->tx, .len = (uint32_t)sizeof(struct rtgt_msg) + len,
	};
	uint64_t start, recv;
	struct ibv_wc wc;
	int ret;

	if (!c->peer.rtgt)
		return rtgt_fail(err, EOPNOTSUPP,
				 "the server gave a plain capability: it does not answer SENDs");
	rtgt_wire_msg((struct rtgt_msg *)c->tx.buf, op, ++c->tag, len);
	ret = post_reply_buffer(c, &recv, err);
	if (ret)
		return ret;
	wr.id = ++c->wr_id;
	start = rtgt_now_ns();
	ret = rtgt_qp_post(&c->qp, &wr, err);
	if (!ret)
		ret = wait_for(c, wr.id, "SEND", &wc, err);
	if (ret)
		return ret;
	took->completion = rtgt_now_ns() - start;
	ret = take_reply(c, recv, op, reply, err);
	took->reply = rtgt_now_ns() - start;
	if (!ret && reply->tag != c->tag)
		ret = rtgt_fail(err, EPROTO, "the reply's tag is %u, the request's was %u",
				reply->tag, c->tag);
	return ret;
}

static const char *rdma_name(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_READ:
		return "READ";
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return "WRITE_WITH_IMM";
	default:
		return "WRITE";
	}
}

static int check_imm_reply(const struct rtgt_rdma *op, const struct rtgt_reply *reply,
			   struct rtgt_err *err)
{
	if (reply->arg != op->imm)
		return rtgt_fail(err, EPROTO, "the target got immediate 0x%08x, 0x%08x was sent",
				 reply->arg, op->imm);
	if (reply->covered != op->len)
		return rtgt_fail(err, EPROTO,
				 "the target's completion tells %llu bytes, %u were written",
				 (unsigned long long)reply->covered, op->len);
	return 0;
}

/**
 * rtgt_client_rdma() - READ, WRITE or WRITE_WITH_IMM
 * @c: open
 * @op: what; not checked against the region: a refusal is the target's business
 * @took: filled
 * @err: says what is wrong
 *
 * A WRITE_WITH_IMM whose immediate asks for it (RTGT_IMM_ACK) waits for the
 * target's answer, and checks the immediate and the byte count in it.
 *
 * Return: 0, or a negative errno; -EIO with @err->wc_status for a failed
 * completion.
 */
int rtgt_client_rdma(struct rtgt_client *c, const struct rtgt_rdma *op, struct rtgt_took *took,
		     struct rtgt_err *err)
{
	const struct rtgt_mem *mem = &c->peer.region[op->region];
	struct rtgt_wr wr = {
		.opcode = op->opcode, .mr = op->mr, .offset = op->local, .len = op->len,
		.remote_addr = mem->addr + op->remote, .rkey = mem->rkey, .imm = op->imm,
	};
	bool answered = op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && c->peer.rtgt &&
			rtgt_imm_op(op->imm) == RTGT_IMM_ACK;
	uint64_t start, recv = 0;
	struct rtgt_reply reply;
	struct ibv_wc wc;
	char what[64];
	int ret = 0;

	memset(took, 0, sizeof(*took));
	if (answered)
		ret = post_reply_buffer(c, &recv, err);
	if (ret)
		return ret;
	wr.id = ++c->wr_id;
	snprintf(what, sizeof(what), "%s of %u bytes", rdma_name(op->opcode), op->len);
	start = rtgt_now_ns();
	ret = rtgt_qp_post(&c->qp, &wr, err);
	if (!ret)
		ret = wait_for(c, wr.id, what, &wc, err);
	if (ret)
		return ret;
	took->completion = rtgt_now_ns() - start;
	if (!answered)
		return 0;
	ret = take_reply(c, recv, RTGT_MSG_IMM, &reply, err);
	took->reply = rtgt_now_ns() - start;
	return ret ? ret : check_imm_reply(op, &reply, err);
}

/**
 * rtgt_client_echo() - SEND bytes and get them back
 * @c: open; the bytes are at rtgt_client_tx()
 * @len: how many, at most @c->payload
 * @took: filled
 * @err: says what is wrong
 *
 * What came back is at rtgt_client_rx() until the next operation.
 *
 * Return: 0, or a negative errno.
 */
int rtgt_client_echo(struct rtgt_client *c, uint32_t len, struct rtgt_took *took,
		     struct rtgt_err *err)
{
	struct rtgt_reply reply;
	int ret = ask(c, RTGT_MSG_ECHO, len, &reply, took, err);

	if (!ret && reply.len != len)
		ret = rtgt_fail(err, EPROTO, "the echo has %u bytes, %u were sent", reply.len, len);
	return ret;
}

/**
 * rtgt_client_checksum() - let the target read its own memory
 * @c: open
 * @region: index in @c->peer
 * @offset: first byte, counted from the region's beginning
 * @len: bytes
 * @crc: CRC-32 of the range; rtgt_crc32() computes the same here
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_client_checksum(struct rtgt_client *c, uint32_t region, uint64_t offset, uint64_t len,
			 uint32_t *crc, struct rtgt_err *err)
{
	struct rtgt_range range;
	struct rtgt_reply reply;
	struct rtgt_took took;
	int ret;

	rtgt_wire_range(&range, region, offset, len);
	if (c->peer.rtgt)
		memcpy(rtgt_client_tx(c), &range, sizeof(range));
	ret = ask(c, RTGT_MSG_CHECKSUM, sizeof(range), &reply, &took, err);
	if (!ret && reply.covered != len)
		ret = rtgt_fail(err, EPROTO, "the checksum covers %llu bytes, not %llu",
				(unsigned long long)reply.covered, (unsigned long long)len);
	*crc = ret ? 0 : reply.crc;
	return ret;
}
