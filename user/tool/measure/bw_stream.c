// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What every stream of rtgt bw does, over RDMA, over TCP and from the kernel: its part of the
 * region, how far it is, and whether both ends hold the same.
 */
#include <errno.h>

#include <rtgt/pattern.h>
#include "bw.h"

/* What a target is asked to read and sum up at a time: it does so in one go */
#define CHECK_BYTES	(1u << 20)

/**
 * bw_connections() - how many the present cell has
 * @b: its cell is set
 *
 * Return: the number.
 */
unsigned int bw_connections(const struct bw *b)
{
	return b->qps * (b->m.at.op->both ? 2 : 1);
}

/**
 * bw_stream_op() - what a connection does
 * @b: its cell is set
 * @i: which connection
 *
 * Return: the cell's operation; of what goes both ways WRITE or READ in turn.
 */
const struct measure_op *bw_stream_op(const struct bw *b, unsigned int i)
{
	if (!b->m.at.op->both)
		return b->m.at.op;
	return &b->m.op[i % 2 ? OP_READ : OP_WRITE];
}

/**
 * bw_share() - the part of a region a connection has for itself
 * @b: its cell is set
 * @size: bytes of the region
 * @share: filled
 * @err: says why there is none
 *
 * Return: 0, or -ERANGE.
 */
int bw_share(const struct bw *b, uint64_t size, uint64_t *share, struct rtgt_err *err)
{
	unsigned int nr = bw_connections(b);

	*share = size / nr;
	if ((*share & ~63ull) >= b->m.at.size)
		*share &= ~63ull;
	if (b->m.at.op->work == RTGT_WORK_ECHO || *share >= b->m.at.size)
		return 0;
	if (!size)
		return rtgt_fail(err, EINVAL, "the server does not tell how much memory it has: -o send needs none");
	return rtgt_fail(err, ERANGE, "the target's memory has %llu bytes%s for %u connection%s",
			 (unsigned long long)size,
			 b->m.at.over == OVER_TCP ? "" : measure_extent_str(&b->m), nr,
			 nr > 1 ? "s" : "");
}

/**
 * bw_may_post() - is there room for one more message?
 * @s: in a round
 *
 * Return: true if there is, and the round is not over.
 */
bool bw_may_post(const struct bw_stream *s)
{
	return s->posted < s->total && s->posted - s->done < s->b->depth;
}

/**
 * bw_signaled() - does the next message ask for a completion?
 * @s: in a round
 *
 * Return: true for one in so many, and for the last.
 */
bool bw_signaled(const struct bw_stream *s)
{
	return (s->posted + 1) % s->b->signal == 0 || s->posted + 1 == s->total;
}

/**
 * bw_done() - messages have ended
 * @s: in a round
 * @done: so many of it, in all
 */
void bw_done(struct bw_stream *s, uint64_t done)
{
	uint64_t now = rtgt_now_ns();

	progress_count(&s->b->m.progress, done - s->done);
	s->done = done;
	s->end = now;
	/* one more: the last one must ask for a completion */
	if (s->total == UINT64_MAX && now - s->begin >= s->b->seconds * 1000000000ull)
		s->total = s->posted + 1;
}

/**
 * bw_touched() - bytes of its part of the region a stream has used
 * @s: a round is over
 *
 * Return: the bytes, from bw_stream.base on.
 */
uint64_t bw_touched(const struct bw_stream *s)
{
	return (s->done < s->slots ? s->done : s->slots) * (uint64_t)s->b->m.at.size;
}

/**
 * bw_compare() - do both ends hold the same?
 * @s: a round is over
 * @mine: the bytes at this end
 * @checksum: asks the other end; the offset counts from the region's beginning
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno; -EILSEQ when they differ.
 */
int bw_compare(struct bw_stream *s, const uint8_t *mine,
	       int (*checksum)(struct bw_stream *s, uint64_t offset, uint32_t len, uint32_t *crc,
			       struct rtgt_err *err),
	       struct rtgt_err *err)
{
	uint64_t all = bw_touched(s);
	uint32_t crc, len;
	int ret;

	for (uint64_t at = 0; at < all; at += len) {
		len = all - at < CHECK_BYTES ? (uint32_t)(all - at) : CHECK_BYTES;
		ret = checksum(s, s->base + at, len, &crc, err);
		if (ret)
			return ret;
		if (crc != rtgt_crc32(0, mine + at, len))
			return rtgt_fail(err, EILSEQ,
					 "the two ends hold different bytes, from %llu to %llu of the region: does another client use it?",
					 (unsigned long long)(s->base + at),
					 (unsigned long long)(s->base + at + len - 1));
		s->verified += len;
	}
	return 0;
}
