// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A stream of rtgt bw over RDMA: operations of librtgt, as many at once as the depth says.
 *
 * Of what is not answered one in so many asks for a completion, and the library tells then that all
 * before it have ended.  It compares each reply with its request.  The first bytes of each message
 * are new, so that the last one to an offset is told from those before it.
 */
#include <errno.h>
#include <string.h>

#include "bw.h"

/* Operations taken at a time */
#define BATCH		16

static bool is_send(const struct bw_stream *s)
{
	return s->op->work == RTGT_WORK_ECHO;
}

static int rdma_open(struct bw_stream *s, struct rtgt_err *err)
{
	const uint64_t len = (uint64_t)s->slots * s->b->m.at.size;
	const struct measure *m = &s->b->m;
	int ret = measure_connect(m, &s->conn, s->b->depth, is_send(s) ? m->at.size : 1, err);

	/* not the reasons of a first connection: the server has accepted that one */
	if (!m->client->peer.rtgt &&
	    (ret == -ETIMEDOUT || (ret == -ECONNREFUSED && !err->reject)))
		return rtgt_fail(err, -ret,
				 "%s accepts no further connection while it has the first one: rtgt bw needs a server that accepts two or more",
				 m->to.host);
	if (ret)
		return ret;
	if (s->op->answered && s->b->depth > m->client->peer.recv_depth)
		return rtgt_fail(err, ERANGE, "depth %u: the target's recv_depth is %u: smaller -t, or more there",
				 s->b->depth, m->client->peer.recv_depth);
	return rtgt_buffer_create(&s->buffer, m->domain, is_send(s) ? 2 * len : len, 0, err);
}

static void rdma_close(struct bw_stream *s)
{
	struct rtgt_err err;

	rtgt_close(s->conn);
	rtgt_buffer_destroy(s->buffer, &err);
}

static void rdma_refresh(struct bw_stream *s)
{
	rtgt_pattern_fill(rtgt_buffer_bytes(s->buffer), rtgt_buffer_len(s->buffer),
			  measure_seed(&s->b->m));
}

/* The place of the next message.  That of an echo that is still to come stays as it is */
static unsigned int next_place(struct bw_stream *s)
{
	unsigned int i = (unsigned int)(s->posted % s->slots);

	/* if replies come out of order, another one is free */
	while (is_send(s) && s->busy[i])
		i = (i + 1) % s->slots;
	return i;
}

static int post(struct bw_stream *s, struct rtgt_err *err)
{
	const uint32_t size = s->b->m.at.size;
	const unsigned int place = next_place(s);
	const uint64_t at = (uint64_t)place * size;
	const struct rtgt_work work = {
		.size = sizeof(work), .type = s->op->work, .id = place,
		.flags = bw_signaled(s) ? 0 : RTGT_WORK_F_UNSIGNALED,
		.region = s->b->m.region, .remote = s->base + at, .len = size,
		.buffer = s->buffer, .local = at, .back = (uint64_t)s->slots * size + at,
	};
	uint8_t *bytes = (uint8_t *)rtgt_buffer_bytes(s->buffer) + at;
	int ret;

	measure_stamp(bytes, size, 1);
	ret = rtgt_submit(s->conn, &work, err);
	if (ret) {
		/* what was sent from there last is compared with what came back */
		measure_stamp(bytes, size, -1);
		return ret;
	}
	s->busy[place % BW_DEPTH_MAX] = true;
	s->posted++;
	return 0;
}

static int take(struct bw_stream *s, struct rtgt_err *err)
{
	struct rtgt_done done[BATCH];
	int n = measure_wait(&s->b->m, s->conn, done, BATCH, s->op->answered, err);

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++)
		s->busy[done[i].id % BW_DEPTH_MAX] = false;
	bw_done(s, s->done + (unsigned int)n);
	return measure_goes_on(&s->b->m, err);
}

static int rdma_transfer(struct bw_stream *s, struct rtgt_err *err)
{
	int ret = 0;

	while (!ret && s->done < s->total) {
		while (!ret && bw_may_post(s))
			ret = post(s, err);
		/* the send queue is full of what asked for no completion */
		if (ret == -EAGAIN)
			ret = 0;
		if (!ret)
			ret = take(s, err);
	}
	return ret;
}

static int ask(struct bw_stream *s, uint64_t offset, uint32_t len, uint32_t *crc,
	       struct rtgt_err *err)
{
	return measure_checksum(&s->b->m, s->conn, offset, len, crc, err);
}

static int rdma_check(struct bw_stream *s, struct rtgt_err *err)
{
	const uint8_t *bytes = rtgt_buffer_bytes(s->buffer);
	const char *no_checksum = measure_no_checksum(&s->b->m);

	if (is_send(s)) {
		if (memcmp(bytes, bytes + (uint64_t)s->slots * s->b->m.at.size, bw_touched(s)))
			return rtgt_fail(err, EILSEQ, "an echo differs from what was sent");
		s->verified += bw_touched(s);
		return 0;
	}
	if (no_checksum) {
		s->why = no_checksum;
		return 0;
	}
	return bw_compare(s, bytes, ask, err);
}

const struct bw_transport bw_rdma = {
	.open = rdma_open,
	.close = rdma_close,
	.refresh = rdma_refresh,
	.transfer = rdma_transfer,
	.check = rdma_check,
};
