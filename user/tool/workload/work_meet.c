// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt work rendezvous: clients that wait for one another, as before an epoch or a collective.
 *
 * Each announces itself, and the target answers all when the last one has come (the service "ps",
 * without weights).  All run in one process, so each knows, with the reply in its hands, how many
 * had announced the round: if not all had, the target has released it too early.
 */
#include <errno.h>
#include <stdlib.h>

#include <rtgt/log.h>
#include "work.h"

/* struct work_pattern.counts */
enum { ROUNDS, EARLY };

/* --ignore */
enum { RULE_REPLY };

/* Rounds whose announcements are counted at a time: nobody is two ahead of another */
#define ROUNDS_KEPT	4

/**
 * struct meet - what the workers share
 * @announced: how many have begun to announce a round, by round
 * @last_ns: when the last of them did
 */
struct meet {
	atomic_uint announced[ROUNDS_KEPT];
	atomic_ullong last_ns[ROUNDS_KEPT];
};

static uint64_t need(const struct work *w)
{
	return rtgt_ps_slot_at(0, w->workers);
}

static uint64_t buffer(const struct work *w)
{
	(void)w;
	return 64u << 10;
}

static int one_round(struct worker *c, uint64_t round)
{
	struct meet *meet = c->w->own;
	const unsigned int now = round % ROUNDS_KEPT, next = (round + 1) % ROUNDS_KEPT;
	const unsigned long long start = rtgt_now_ns();
	unsigned long long last = atomic_load(&meet->last_ns[now]);
	unsigned int there;
	int ret;

	/* the last one of this round prepares the next but one; nobody is there yet */
	if (atomic_fetch_add(&meet->announced[now], 1) + 1 == c->w->workers)
		atomic_store(&meet->announced[next], 0);
	while (last < start &&
	       !atomic_compare_exchange_weak(&meet->last_ns[now], &last, start))
		;
	ret = work_round_announce(c, 0, (uint32_t)round, 0);
	if (!ret && !(c->w->ignored >> RULE_REPLY & 1))
		ret = work_wait(c);
	if (ret)
		return ret;
	there = atomic_load(&meet->announced[now]);
	if (there != c->w->workers)
		work_wrong(c, "worker %u was released from round %llu when %u of %u were there",
			   c->index, (unsigned long long)round, there, c->w->workers);
	/* from the last one's arrival */
	else
		rtgt_hist_add(&c->took, rtgt_now_ns() - atomic_load(&meet->last_ns[now]));
	ret = work_wait(c);
	c->counts[ROUNDS] += !ret && !c->index;
	progress_count(&c->w->progress, 1);
	return ret;
}

static int run(struct worker *c)
{
	int ret = 0;

	for (uint64_t round = 1; round <= c->w->count && !ret; round++)
		ret = one_round(c, round);
	return ret;
}

static int begin(struct worker *first)
{
	first->w->own = calloc(1, sizeof(struct meet));
	if (!first->w->own)
		return rtgt_fail(&first->err, ENOMEM, "no memory");
	return work_round_begin(first, 0, 0);
}

static void end(struct work *w)
{
	free(w->own);
}

const struct work_pattern work_meet = {
	.name = "rendezvous",
	.each = "announcements",
	.counts = {
		[ROUNDS] = { "rounds", "rounds" },
		[EARLY] = { "early", "released too early" },
	},
	.wrong = EARLY,
	.rules = { [RULE_REPLY] = "reply" },
	.size = 64,
	.count = 100,
	.rounds = true,
	.need = need,
	.buffer = buffer,
	.begin = begin,
	.run = run,
	.end = end,
};
