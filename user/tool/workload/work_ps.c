// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt work ps: a parameter server, the oldest way to train on many machines.
 *
 * In each round a worker WRITEs its gradient to its own part of the region and announces it with
 * the immediate of the last WRITE.  When all have come the target adds the gradients to the weights
 * and answers; then each worker READs the weights.  All gradients follow from the seed, so each
 * worker computes the weights of every round itself, and compares all of them.
 *
 * With --async there are no rounds: a worker takes a ticket with FETCH_AND_ADD, its gradient is
 * that of the ticket, and the target adds it when it comes.  Nobody can say what the weights are
 * meanwhile, but in the end they are the sum of the gradients of all tickets, in whatever order.
 *
 * Rules that this relies on:
 *
 *  - A WRITE is placed before the immediate, or the SEND, of a later one is delivered.
 *  - The weights are those of the round only behind the reply: a READ that is posted behind the
 *    announcement is answered at once.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rtgt/log.h>
#include <rtgt/pattern.h>
#include "work.h"

#define CHUNK		(64u << 10)

/* struct work_pattern.counts */
enum { ROUNDS, ADDED, WRONG };

/* --ignore */
enum { RULE_REPLY, RULE_ORDER };

/**
 * struct ps - what the workers share
 * @ticket: --async, where the device has no atomics
 * @left: --async, workers that have not ended: the last one looks at the sum
 */
struct ps {
	atomic_ullong ticket;
	atomic_uint left;
};

static uint32_t weights(const struct work *w)
{
	return (uint32_t)(w->size / 4);
}

static uint64_t need(const struct work *w)
{
	return rtgt_ps_slot_at(weights(w), w->workers);
}

/* The gradient, then the weights, then a slot */
static uint64_t buffer(const struct work *w)
{
	return 2 * rtgt_ps_bytes(weights(w)) + CHUNK;
}

static bool ignores(const struct work *w, unsigned int rule)
{
	return w->ignored >> rule & 1;
}

/* What is added by @number: a worker and a round, or a ticket */
static void gradient(const struct work *w, uint8_t *to, uint64_t number)
{
	rtgt_pattern_fill(to, w->size, work_mix(w->seed, number));
}

static int32_t weight(const uint8_t *from, uint32_t i)
{
	uint32_t le;

	memcpy(&le, from + 4 * (uint64_t)i, sizeof(le));
	return (int32_t)le32toh(le);
}

/* Add some gradients to @sum; @scratch has room for one */
static int add_all(struct worker *c, int32_t *sum, uint64_t first, uint64_t nr, uint8_t *scratch)
{
	const uint32_t n = weights(c->w);
	int64_t *wide = calloc(n, sizeof(*wide));

	if (!wide)
		return rtgt_fail(&c->err, ENOMEM, "no memory");
	for (uint64_t k = 0; k < nr; k++) {
		gradient(c->w, scratch, first + k);
		for (uint32_t i = 0; i < n; i++)
			wide[i] += weight(scratch, i);
	}
	for (uint32_t i = 0; i < n; i++) {
		const int64_t value = sum[i] + wide[i];

		if (c->w->saturate)
			sum[i] = value > INT32_MAX ? INT32_MAX :
				 value < INT32_MIN ? INT32_MIN : (int32_t)value;
		else
			sum[i] = (int32_t)(uint32_t)value;
	}
	free(wide);
	return 0;
}

/* ------------------------------------------------------------------------- a worker */

static int write_gradient(struct worker *c)
{
	const uint64_t remote = rtgt_ps_slot_at(weights(c->w), c->index) +
				sizeof(struct rtgt_ps_slot);
	int ret = 0;

	for (uint64_t at = 0, n; at < c->w->size && !ret; at += n) {
		n = c->w->size - at < CHUNK ? c->w->size - at : CHUNK;
		ret = work_post(c, RTGT_WORK_WRITE, remote + at, n, at);
	}
	return ret;
}

static uint64_t weights_at(const struct work *w)
{
	return rtgt_ps_bytes(weights(w));
}

/* What comes goes to bytes that all differ from those expected */
static int read_weights(struct worker *c, const int32_t *expected)
{
	uint8_t *at = work_bytes(c, weights_at(c->w));

	for (uint32_t i = 0; i < weights(c->w); i++) {
		const uint32_t le = ~htole32((uint32_t)expected[i]);

		memcpy(at + 4 * (uint64_t)i, &le, sizeof(le));
	}
	return work_post(c, RTGT_WORK_READ, sizeof(struct rtgt_ps_head), c->w->size,
			 weights_at(c->w));
}

static void compare(struct worker *c, const int32_t *expected, uint64_t round)
{
	const uint8_t *got = work_bytes(c, weights_at(c->w));
	uint32_t i = 0;

	while (i < weights(c->w) && weight(got, i) == expected[i])
		i++;
	if (i == weights(c->w))
		c->verified += c->w->size;
	else
		work_wrong(c, "worker %u, round %llu: weight %u is %d instead of %d", c->index,
			   (unsigned long long)round, i, weight(got, i), expected[i]);
}

static int announce(struct worker *c, uint64_t round)
{
	return work_round_announce(c, weights(c->w), (uint32_t)round, 2 * weights_at(c->w));
}

/* One round; @expected are the weights behind it */
static int one_round(struct worker *c, uint64_t round, const int32_t *expected)
{
	uint64_t start;
	int ret = 0;

	gradient(c->w, work_bytes(c, 0), round * c->w->workers + c->index);
	if (!ignores(c->w, RULE_ORDER))
		ret = write_gradient(c);
	start = rtgt_now_ns();
	if (!ret)
		ret = announce(c, round);
	if (!ret && ignores(c->w, RULE_ORDER))
		ret = write_gradient(c);
	if (!ret && !ignores(c->w, RULE_REPLY))
		ret = work_wait(c);
	if (!ret)
		ret = read_weights(c, expected);
	if (!ret)
		ret = work_wait(c);
	if (ret)
		return ret;
	rtgt_hist_add(&c->took, rtgt_now_ns() - start);
	compare(c, expected, round);
	c->counts[ROUNDS] += !c->index;
	c->counts[ADDED]++;
	progress_count(&c->w->progress, 1);
	return 0;
}

static int run_rounds(struct worker *c, int32_t *expected, uint8_t *scratch)
{
	int ret = 0;

	/* all have the same number of rounds, or one would wait for the others in vain */
	for (uint64_t round = 1; round <= c->w->count && !ret; round++) {
		ret = add_all(c, expected, round * c->w->workers, c->w->workers, scratch);
		if (!ret)
			ret = one_round(c, round, expected);
	}
	return ret;
}

/* ---------------------------------------------------------------------------- --async */

static int take_ticket(struct worker *c, uint64_t *ticket)
{
	const struct rtgt_work work = {
		.size = sizeof(work), .type = RTGT_WORK_FAA, .region = c->w->region,
		.remote = offsetof(struct rtgt_ps_head, ticket), .len = 8, .buffer = c->buffer,
		.local = 2 * weights_at(c->w), .compare_add = 1,
	};
	struct ps *ps = c->w->own;
	int ret;

	if (c->iwarp) {
		*ticket = atomic_fetch_add(&ps->ticket, 1);
		return 0;
	}
	ret = rtgt_submit(c->conn, &work, &c->err);
	if (!ret)
		ret = work_wait(c);
	if (!ret)
		memcpy(ticket, work_bytes(c, work.local), sizeof(*ticket));
	return ret;
}

static int run_async(struct worker *c, int32_t *expected, uint8_t *scratch)
{
	struct ps *ps = c->w->own;
	uint64_t ticket, start;
	int ret = 0;

	while (!ret && !work_is_enough(c, c->counts[ADDED])) {
		ret = take_ticket(c, &ticket);
		if (ret)
			break;
		gradient(c->w, work_bytes(c, 0), ticket);
		ret = write_gradient(c);
		start = rtgt_now_ns();
		if (!ret)
			ret = announce(c, 1);
		if (!ret)
			ret = work_wait(c);
		if (ret)
			break;
		rtgt_hist_add(&c->took, rtgt_now_ns() - start);
		c->counts[ADDED]++;
		progress_count(&c->w->progress, 1);
	}
	if (ret || atomic_fetch_sub(&ps->left, 1) != 1)
		return ret;
	/* the last one, if none failed: the ticket that it gets is how many there have been */
	ret = take_ticket(c, &ticket);
	if (!ret)
		ret = add_all(c, expected, 0, ticket, scratch);
	if (!ret)
		ret = read_weights(c, expected);
	if (!ret)
		ret = work_wait(c);
	if (!ret)
		compare(c, expected, ticket);
	return ret;
}

static int run(struct worker *c)
{
	int32_t *expected = calloc(weights(c->w), sizeof(*expected));
	uint8_t *scratch = malloc(c->w->size);
	int ret;

	if (!expected || !scratch)
		ret = rtgt_fail(&c->err, ENOMEM, "no memory");
	else
		ret = c->w->async ? run_async(c, expected, scratch) :
			run_rounds(c, expected, scratch);
	free(scratch);
	free(expected);
	return ret;
}

static int begin(struct worker *first)
{
	struct work *w = first->w;
	struct ps *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return rtgt_fail(&first->err, ENOMEM, "no memory");
	w->own = ps;
	atomic_store(&ps->left, w->workers);
	return work_round_begin(first, weights(w), (w->saturate ? RTGT_PS_SATURATE : 0) |
				(w->async ? RTGT_PS_ASYNC : 0));
}

static void end(struct work *w)
{
	free(w->own);
}

const struct work_pattern work_ps = {
	.name = "ps",
	.each = "gradients",
	.counts = {
		[ROUNDS] = { "rounds", "rounds" },
		[ADDED] = { "gradients", "gradients added" },
		[WRONG] = { "wrong", "wrong weights read" },
	},
	.wrong = WRONG,
	.rules = { [RULE_REPLY] = "reply", [RULE_ORDER] = "order" },
	.unit = 4,
	.size = 64 << 10,
	.count = 20,
	.rounds = true,
	.need = need,
	.buffer = buffer,
	.begin = begin,
	.run = run,
	.end = end,
};
