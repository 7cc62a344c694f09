// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A stream of rtgt bw over RDMA.
 *
 * A work request for each place is made once; a message is the post of one.  A
 * completion says that its message has ended, and all before it that asked for none:
 * they end in order.  Of what is answered the answer says so, and a completion only
 * that the send queue has room again.
 *
 * The tag of a message that is answered is new each time, and each answer must be to a message
 * that awaits one; they may come in any order.  The first bytes of each message are new as
 * well, so that the last one to an offset is told from those before it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bw.h"

/* In the id of a receive; the rest of it is its place.  No send is left when the library posts */
#define ID_RECV		RTGT_CALLERS_ID

/* Completions taken at a time */
#define BATCH		16

/* Tags: 28 bits, as an immediate has; the low ones are an index in bw_stream.owed */
#define TAG_BITS	RTGT_IMM_ARG_BITS
#define OWED_BITS	7
static_assert(1 << OWED_BITS == BW_DEPTH_MAX, "an index of each outstanding message");

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
	rtgt_pattern_fill(s->mr.buf, s->mr.len, measure_seed(&s->b->m));
	if (is_send(s))
		rtgt_pattern_fill(s->rx.buf, s->rx.len, measure_seed(&s->b->m));
}

/* The next message awaits an answer: the index of its tag in @owed */
static unsigned int expect_answer(struct bw_stream *s)
{
	unsigned int i = (unsigned int)(s->posted % s->b->depth);

	/* if answers come out of order, another one is free: less than depth are awaited */
	while (s->owed[i])
		i = (i + 1) % s->b->depth;
	/* never 0 */
	s->owed[i] = (uint32_t)((s->posted + 1) << OWED_BITS | i) & ((1u << TAG_BITS) - 1);
	if (!(s->owed[i] >> OWED_BITS))
		s->owed[i] |= 1u << OWED_BITS;
	return i;
}

static int post(struct bw_stream *s, struct rtgt_err *err)
{
	unsigned int place = (unsigned int)(s->posted % s->slots);
	unsigned int i = s->op->answered ? expect_answer(s) : 0;
	struct ibv_send_wr *wr, *bad;
	uint8_t *bytes;
	int ret;

	/* the bytes of an echo that is still to come stay as they are */
	if (is_send(s))
		place = i;
	wr = &s->wr[place];
	bytes = (uint8_t *)(uintptr_t)s->sge[place].addr;
	if (is_send(s)) {
		rtgt_encode_msg((struct rtgt_msg *)bytes, RTGT_MSG_ECHO, s->owed[i],
				s->b->m.at.size);
		bytes += sizeof(struct rtgt_msg);
	} else if (s->op->answered) {
		wr->imm_data = htonl(rtgt_imm(RTGT_IMM_ACK, s->owed[i]));
	}
	measure_stamp(bytes, s->b->m.at.size);
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
	uint64_t len;
	uint32_t i;

	s->received++;
	if (ret)
		return ret;
	i = reply.tag % BW_DEPTH_MAX;
	if (reply.status == RTGT_OK && (!s->owed[i] || s->owed[i] != reply.tag))
		return rtgt_fail(err, EPROTO, "a reply has tag %u, and no request awaits that one",
				 reply.tag);
	ret = rtgt_wire_match(&reply, is_send(s) ? RTGT_MSG_ECHO : RTGT_MSG_IMM, s->owed[i],
			      is_send(s) ? 0 : rtgt_imm(RTGT_IMM_ACK, s->owed[i]), err);
	if (ret)
		return ret;
	len = is_send(s) ? reply.len : reply.covered;
	if (len != s->b->m.at.size)
		return rtgt_fail(err, EPROTO, "the target answers for %llu bytes, %u were sent",
				 (unsigned long long)len, s->b->m.at.size);
	s->owed[i] = 0;
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
	/* of no message: their numbers are not 0 */
	const uint32_t tag = (uint32_t)s->received % BW_DEPTH_MAX;
	const uint64_t place = s->received++ % s->b->depth;
	struct rtgt_client *c = &s->client;
	struct rtgt_wr wr = {
		.opcode = IBV_WR_SEND, .mr = &c->tx,
		.len = sizeof(struct rtgt_msg) + sizeof(struct rtgt_range),
	};
	struct rtgt_reply reply = { };
	struct ibv_wc wc;
	int ret;

	rtgt_encode_msg((struct rtgt_msg *)c->tx.buf, RTGT_MSG_CHECKSUM, tag,
			sizeof(struct rtgt_range));
	rtgt_encode_range((struct rtgt_range *)rtgt_client_tx(c), s->b->m.region, offset, len);
	ret = rtgt_qp_post(&c->qp, &wr, err);
	if (!ret)
		ret = rtgt_client_wait(c, wr.id, "SEND", &wc, err);
	if (!ret)
		ret = rtgt_client_wait(c, ID_RECV | place, "the receive of the reply", &wc, err);
	if (!ret)
		ret = rtgt_wire_reply(&reply, s->rx.buf + place * answer_size(s), wc.byte_len, err);
	if (!ret)
		ret = rtgt_wire_match(&reply, RTGT_MSG_CHECKSUM, tag, 0, err);
	if (!ret && reply.covered != len)
		ret = rtgt_fail(err, EPROTO, "the checksum covers %llu bytes, not %u",
				(unsigned long long)reply.covered, len);
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

/*
 * The last answers, one for each place of the receive queue.  If answers came out of order, the
 * bytes of some message may have been overwritten: then its tag has been, too.
 */
static int check_echoes(struct bw_stream *s, struct rtgt_err *err)
{
	const uint64_t nr = s->done < s->slots ? s->done : s->slots;

	for (uint64_t i = 0; i < nr; i++) {
		const uint64_t place = (s->received - nr + i) % s->b->depth;
		const uint8_t *got = s->rx.buf + place * message_size(s);
		const struct rtgt_msg *head = (const struct rtgt_msg *)got;
		const uint8_t *sent = s->mr.buf + ntohl(head->tag) % BW_DEPTH_MAX *
				      (uint64_t)message_size(s);

		if (head->tag != ((const struct rtgt_msg *)sent)->tag)
			continue;
		if (memcmp(head + 1, sent + sizeof(*head), s->b->m.at.size))
			return rtgt_fail(err, EILSEQ, "an echo differs from what was sent");
		s->verified += s->b->m.at.size;
	}
	return 0;
}

static int rdma_check(struct bw_stream *s, struct rtgt_err *err)
{
	const char *no_checksum = measure_no_checksum(&s->b->m, &s->client);

	if (is_send(s))
		return check_echoes(s, err);
	if (no_checksum) {
		s->why = no_checksum;
		return 0;
	}
	return bw_compare(s, s->mr.buf, ask, err);
}

const struct bw_transport bw_rdma = {
	.open = rdma_open,
	.close = rdma_close,
	.refresh = rdma_refresh,
	.transfer = rdma_transfer,
	.check = rdma_check,
};
