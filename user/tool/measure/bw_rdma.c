// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A stream of rtgt bw over RDMA.
 *
 * A work request for each place is made once; a message is the post of one.  A
 * completion says that its message has ended, and all before it that asked for none:
 * they end in order.  Of what is answered the answer says so, and a completion only
 * that the send queue has room again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bw.h"

/* In the id of a receive; the rest of it is its place */
#define ID_RECV		(1ull << 63)

/* Completions taken at a time */
#define BATCH		16

/* An answer without the bytes of an echo */
#define SMALL_ANSWER	64

static uint32_t message_size(const struct bw_stream *s)
{
	return (uint32_t)sizeof(struct rtgt_msg) + s->b->m.at.size;
}

static uint32_t answer_size(const struct bw_stream *s)
{
	return s->op->opcode == IBV_WR_SEND ? message_size(s) : SMALL_ANSWER;
}

static bool is_send(const struct bw_stream *s)
{
	return s->op->opcode == IBV_WR_SEND;
}

static int post_recv(struct bw_stream *s, uint64_t place, struct rtgt_err *err)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)s->rx.buf + place * answer_size(s),
		.length = answer_size(s), .lkey = s->rx.mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = ID_RECV | place, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;
	int ret = ibv_post_recv(s->client.qp.qp, &wr, &bad);

	return ret ? rtgt_fail(err, ret, "posting a receive failed: %s", strerror(ret)) : 0;
}

/* ----------------------------------------------------------------------- made once */

static void make_wr(struct bw_stream *s, unsigned int place)
{
	const uint32_t len = is_send(s) ? message_size(s) : s->b->m.at.size;
	const struct rtgt_region_info *mem = &s->client.peer.region[s->b->m.region];
	struct ibv_send_wr *wr = &s->wr[place];
	struct ibv_sge *sge = &s->sge[place];

	sge->addr = (uintptr_t)s->mr.buf + (uint64_t)place * len;
	sge->length = len;
	sge->lkey = s->mr.mr->lkey;
	wr->opcode = s->op->opcode;
	wr->sg_list = sge;
	wr->num_sge = 1;
	if (is_send(s))
		return;
	wr->wr.rdma.remote_addr = mem->addr + s->base + (uint64_t)place * len;
	wr->wr.rdma.rkey = mem->rkey;
	if (s->op->answered)
		wr->imm_data = htonl(rtgt_imm(RTGT_IMM_ACK, place));
}

static int make_buffers(struct bw_stream *s, struct rtgt_err *err)
{
	const uint64_t one = is_send(s) ? message_size(s) : s->b->m.at.size;
	struct ibv_pd *pd = s->client.qp.pd;
	int ret;

	s->wr = calloc(s->slots, sizeof(*s->wr));
	s->sge = calloc(s->slots, sizeof(*s->sge));
	if (!s->wr || !s->sge)
		return rtgt_fail(err, ENOMEM, "no memory for %u messages", s->slots);
	ret = rtgt_mr_create(&s->mr, pd, "messages", s->slots * one, IBV_ACCESS_LOCAL_WRITE, NULL,
			     err);
	if (!ret && s->op->answered)
		ret = rtgt_mr_create(&s->rx, pd, "answers",
				     (uint64_t)s->b->depth * answer_size(s),
				     IBV_ACCESS_LOCAL_WRITE, NULL, err);
	for (unsigned int i = 0; i < s->slots && !ret; i++)
		make_wr(s, i);
	for (unsigned int i = 0; i < s->b->depth && s->op->answered && !ret; i++)
		ret = post_recv(s, i, err);
	return ret;
}

static int rdma_open(struct bw_stream *s, struct rtgt_err *err)
{
	const struct measure *m = &s->b->m;
	const struct rtgt_client_param param = {
		.cm = measure_cm_param(m), .poll = m->poll, .chain = 2 * s->b->depth,
		.recvs = s->b->depth, .payload = SMALL_ANSWER,
	};
	int ret = rtgt_client_open(&s->client, &param, err);

	/* not the reasons of a first connection: the server has accepted that one */
	if (m->open && (ret == -ETIMEDOUT ||
			(ret == -ECONNREFUSED && !s->client.cm.refusal.typed)))
		return rtgt_fail(err, -ret,
				 "%s accepts no further connection while it has the first one: rtgt bw needs a server that accepts two or more",
				 m->to.host);
	if (ret)
		return ret;
	s->open = true;
	s->w.client = &s->client;
	if (s->op->answered && s->b->depth > s->client.peer.recv_depth)
		return rtgt_fail(err, ERANGE, "depth %u: the target's recv_depth is %u",
				 s->b->depth, s->client.peer.recv_depth);
	return make_buffers(s, err);
}

static void rdma_close(struct bw_stream *s)
{
	if (s->open) {
		rtgt_cm_disconnect(&s->client.cm);
		rtgt_mr_destroy(&s->mr);
		rtgt_mr_destroy(&s->rx);
		rtgt_client_close(&s->client);
	}
	free(s->wr);
	free(s->sge);
}

/* ---------------------------------------------------------------------- the messages */

static void rdma_refresh(struct bw_stream *s)
{
	rtgt_pattern_fill(s->mr.buf, s->mr.len, rtgt_now_ns() ^ s->base);
	if (!is_send(s))
		return;
	for (unsigned int i = 0; i < s->slots; i++)
		rtgt_encode_msg((struct rtgt_msg *)(s->mr.buf + (size_t)i * message_size(s)),
				RTGT_MSG_ECHO, i, s->b->m.at.size);
}

static int post(struct bw_stream *s, struct rtgt_err *err)
{
	struct ibv_send_wr *wr = &s->wr[s->posted % s->slots], *bad;
	int ret;

	wr->wr_id = s->posted + 1;
	wr->send_flags = bw_signaled(s) ? IBV_SEND_SIGNALED : 0;
	ret = ibv_post_send(s->client.qp.qp, wr, &bad);
	if (ret)
		return rtgt_fail(err, ret, "posting a %s failed: %s", s->op->name, strerror(ret));
	s->posted++;
	return 0;
}

/* An answer: is it to a message of ours?  Its bytes are compared when the round is over */
static int answered(struct bw_stream *s, const struct ibv_wc *wc, struct rtgt_err *err)
{
	const uint64_t place = wc->wr_id & ~ID_RECV;
	struct rtgt_reply reply;
	int ret = rtgt_wire_reply(&reply, s->rx.buf + place * answer_size(s), wc->byte_len, err);

	s->received++;
	if (ret)
		return ret;
	if (reply.status != RTGT_OK)
		return rtgt_fail(err, EPROTO, "the target answered: %s",
				 rtgt_status_str(reply.status));
	if (reply.op != (is_send(s) ? RTGT_MSG_ECHO : RTGT_MSG_IMM) ||
	    (is_send(s) && (reply.len != s->b->m.at.size || reply.tag >= s->slots)) ||
	    (!is_send(s) && reply.covered != s->b->m.at.size))
		return rtgt_fail(err, EPROTO, "an answer is not to what was sent");
	return post_recv(s, place, err);
}

static int take(struct bw_stream *s, struct rtgt_err *err)
{
	struct ibv_wc wc[BATCH];
	int n = watch_poll(&s->w, wc, BATCH, err), ret = 0;
	uint64_t done = s->done;

	if (n < 0)
		return n;
	for (int i = 0; i < n && !ret; i++) {
		if (wc[i].wr_id & ID_RECV) {
			ret = answered(s, &wc[i], err);
			done++;
			continue;
		}
		s->sent = wc[i].wr_id;
		if (!s->op->answered)
			done = s->sent;
	}
	if (!ret && done != s->done)
		bw_done(s, done);
	return ret;
}

static int rdma_transfer(struct bw_stream *s, struct rtgt_err *err)
{
	int ret = 0;

	/* the send queue's last completion must not come into the next round */
	while (!ret && (s->done < s->total || s->sent < s->total)) {
		while (!ret && bw_may_post(s))
			ret = post(s, err);
		if (!ret)
			ret = take(s, err);
	}
	return ret;
}

/* ------------------------------------------------------------------------ both ends */

/*
 * Where answers are expected, that of the target's checksum comes into the receive that
 * is next, and not into one of the client's.
 */
static int ask_among_answers(struct bw_stream *s, uint64_t offset, uint32_t len, uint32_t *crc,
			     struct rtgt_err *err)
{
	const uint64_t place = s->received++ % s->b->depth;
	struct rtgt_client *c = &s->client;
	struct rtgt_wr wr = {
		.opcode = IBV_WR_SEND, .mr = &c->tx,
		.len = sizeof(struct rtgt_msg) + sizeof(struct rtgt_range),
	};
	struct rtgt_reply reply = { };
	struct ibv_wc wc;
	int ret;

	rtgt_encode_msg((struct rtgt_msg *)c->tx.buf, RTGT_MSG_CHECKSUM, 0,
			sizeof(struct rtgt_range));
	rtgt_encode_range((struct rtgt_range *)rtgt_client_tx(c), s->b->m.region, offset, len);
	ret = rtgt_qp_post(&c->qp, &wr, err);
	if (!ret)
		ret = rtgt_client_wait(c, wr.id, "SEND", &wc, err);
	if (!ret)
		ret = rtgt_client_wait(c, ID_RECV | place, "the receive of the reply", &wc, err);
	if (!ret)
		ret = rtgt_wire_reply(&reply, s->rx.buf + place * answer_size(s), wc.byte_len, err);
	if (!ret && (reply.op != RTGT_MSG_CHECKSUM || reply.status != RTGT_OK))
		ret = rtgt_fail(err, EPROTO, "the target gave no checksum: %s",
				rtgt_status_str(reply.status));
	if (ret)
		return ret;
	*crc = reply.crc;
	return post_recv(s, place, err);
}

static int ask(struct bw_stream *s, uint64_t offset, uint32_t len, uint32_t *crc,
	       struct rtgt_err *err)
{
	if (s->op->answered)
		return ask_among_answers(s, offset, len, crc, err);
	return rtgt_client_checksum(&s->client, s->b->m.region, offset, len, crc, err);
}

/* The last answers, one for each place of the receive queue */
static int check_echoes(struct bw_stream *s, struct rtgt_err *err)
{
	const uint64_t nr = s->done < s->slots ? s->done : s->slots;
	const uint32_t head = (uint32_t)sizeof(struct rtgt_msg);

	for (uint64_t i = 0; i < nr; i++) {
		const uint8_t *got = s->rx.buf + i * message_size(s);
		uint32_t tag = ntohl(((const struct rtgt_msg *)got)->tag);

		if (memcmp(got + head, s->mr.buf + (uint64_t)tag * message_size(s) + head,
			   s->b->m.at.size))
			return rtgt_fail(err, EILSEQ, "an echo differs from what was sent");
		s->verified += s->b->m.at.size;
	}
	return 0;
}

static int rdma_check(struct bw_stream *s, struct rtgt_err *err)
{
	if (is_send(s))
		return check_echoes(s, err);
	/* a plain target cannot be asked */
	return s->client.peer.rtgt ? bw_compare(s, s->mr.buf, ask, err) : 0;
}

const struct bw_transport bw_rdma = {
	.open = rdma_open,
	.close = rdma_close,
	.refresh = rdma_refresh,
	.transfer = rdma_transfer,
	.check = rdma_check,
};
