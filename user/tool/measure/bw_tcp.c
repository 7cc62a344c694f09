// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A stream of rtgt bw over TCP, to rtgt tcp-serve.
 *
 * As over RDMA, so many messages are under way at most.  A WRITE that asks for a
 * completion is answered when its bytes, and so those of all before it, are in the
 * server's memory; READs and echoes are their own answers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bw.h"

static int tcp_open(struct bw_stream *s, struct rtgt_err *err)
{
	size_t len = (size_t)s->slots * s->b->m.at.size;
	int ret = measure_tcp_open(&s->b->m, &s->tcp, err);

	if (ret)
		return ret;
	s->open = true;
	s->out = malloc(len);
	s->in = s->op->tcp == RTGT_TCP_WRITE ? NULL : malloc(len);
	if (!s->out || (!s->in && s->op->tcp != RTGT_TCP_WRITE))
		return rtgt_fail(err, ENOMEM, "no memory for %u messages", s->slots);
	return 0;
}

static void tcp_close(struct bw_stream *s)
{
	if (s->open)
		rtgt_tcp_close(&s->tcp);
	free(s->out);
	free(s->in);
}

static void tcp_refresh(struct bw_stream *s)
{
	size_t len = (size_t)s->slots * s->b->m.at.size;

	rtgt_pattern_fill(s->out, len, measure_seed(&s->b->m));
	/* what does not come is not there */
	if (s->in)
		rtgt_pattern_fill(s->in, len, measure_seed(&s->b->m));
}

static uint8_t *place(const struct bw_stream *s, uint8_t *buf, uint64_t message)
{
	return buf + message % s->slots * s->b->m.at.size;
}

static void send_next(struct bw_stream *s)
{
	const uint32_t size = s->b->m.at.size;
	const uint64_t i = s->posted;

	rtgt_tcp_send(&s->tcp, s->op->tcp, bw_signaled(s) || s->op->answered ? RTGT_TCP_ACK : 0,
		      (uint32_t)(i + 1), s->base + i % s->slots * size,
		      s->op->tcp == RTGT_TCP_READ ? NULL : place(s, s->out, i), size);
	s->posted++;
}

static int take_answer(struct bw_stream *s, struct rtgt_err *err)
{
	/* of a WRITE it says how many are there */
	uint32_t news = ntohl(s->tcp.rx.head.tag) - (uint32_t)s->done;
	int ret;

	if (s->op->tcp != RTGT_TCP_WRITE)
		news = 1;
	ret = rtgt_tcp_answer(&s->tcp, s->op->tcp, (uint32_t)(s->done + news), err);
	if (!ret && (!news || news > s->posted - s->done))
		ret = rtgt_fail(err, EPROTO, "the server answers what was not asked");
	if (ret)
		return ret;
	bw_done(s, s->done + news);
	return 0;
}

static int tcp_transfer(struct bw_stream *s, struct rtgt_err *err)
{
	struct rtgt_tcp *t = &s->tcp;
	int ret = 0;

	while (!ret && s->done < s->total) {
		if (!t->tx.busy && bw_may_post(s))
			send_next(s);
		if (!t->rx.busy)
			rtgt_tcp_expect(t, s->in ? place(s, s->in, s->done) : NULL,
					s->b->m.at.size);
		ret = rtgt_tcp_step(t, err);
		if (!ret)
			ret = measure_goes_on(&s->b->m, err);
		if (!ret && !t->rx.busy)
			ret = take_answer(s, err);
	}
	return ret;
}

static int ask(struct bw_stream *s, uint64_t offset, uint32_t len, uint32_t *crc,
	       struct rtgt_err *err)
{
	return rtgt_tcp_checksum(&s->tcp, offset, len, crc, err);
}

static int tcp_check(struct bw_stream *s, struct rtgt_err *err)
{
	if (s->op->tcp != RTGT_TCP_ECHO)
		return bw_compare(s, s->in ? s->in : s->out, ask, err);
	if (memcmp(s->in, s->out, bw_touched(s)))
		return rtgt_fail(err, EILSEQ, "an echo differs from what was sent");
	s->verified += bw_touched(s);
	return 0;
}

const struct bw_transport bw_tcp = {
	.open = tcp_open,
	.close = tcp_close,
	.refresh = tcp_refresh,
	.transfer = tcp_transfer,
	.check = tcp_check,
};
