/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One run of rtgt work, shared by its files:
 *
 *	work.c		the command line, the threads
 *	work_worker.c	a connection: operations, one after the other or several at a time
 *	work_round.c	rounds, which the target's service "ps" ends
 *	work_kv.c	the pattern "kv"; a pattern is one file and one row of work.c's table
 *	work_ckpt.c	the pattern "checkpoint"
 *	work_ps.c	the pattern "ps"
 *	work_meet.c	the pattern "rendezvous"
 *	work_out.c	what is printed
 */
#ifndef RTGT_WORK_H
#define RTGT_WORK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rtgt/rtgt.h>
#include "tool/cli/options.h"
#include "tool/measure/progress.h"
#include "tool/out/histogram.h"
#include "ps.h"

/* Workers at most, and connections: kv has one more */
#define WORK_WORKERS	64
#define WORK_CONNS	(WORK_WORKERS + 1)
#define WORK_DEPTH	32
#define WORK_COUNTS	6
#define WORK_RULES	2
#define WORK_KEYS	4096
#define WORK_SIZE	(64u << 20)

struct work;
struct worker;

/**
 * struct work_pattern - a pattern
 * @name: on the command line and in results
 * @each: what --count counts, for the text
 * @counts: what is counted: the name in documents, and the text in front of the number
 * @wrong: index of the count of wrong results, each of which fails the run
 * @rules: those that the pattern relies on and that --ignore breaks; ends with NULL
 * @unit: --size is a multiple of it; 0 for 1
 * @size: default of --size
 * @count: default of --count
 * @rounds: all workers have the same number of them, so --duration says nothing
 * @helpers: connections beside the workers; they have the lowest indices
 * @need: bytes of the region
 * @buffer: bytes of a connection's buffer
 * @begin: on the first connection, before all others are made; NULL for nothing to do
 * @run: of each connection, in a thread of its own
 * @end: releases what @begin has made, also when that failed; NULL for nothing
 */
struct work_pattern {
	const char *name;
	const char *each;
	struct {
		const char *name, *text;
	} counts[WORK_COUNTS];
	unsigned int wrong;
	const char *rules[WORK_RULES + 1];
	uint64_t unit, size, count;
	bool rounds;
	unsigned int helpers;
	uint64_t (*need)(const struct work *w);
	uint64_t (*buffer)(const struct work *w);
	int (*begin)(struct worker *first);
	int (*run)(struct worker *c);
	void (*end)(struct work *w);
};

extern const struct work_pattern work_kv, work_ckpt, work_ps, work_meet;

/**
 * struct worker - a connection, and what is done with it
 * @w: the run
 * @index: counts from 0
 * @thread: does all of it
 * @runs: it has been started
 * @random: state of the generator
 * @domain, @buffer, @conn: as long as it is connected
 * @iwarp: a WRITE that has completed need not have arrived
 * @counts: as in the pattern
 * @verified: bytes that were compared
 * @took: what a lookup or a checkpoint took
 * @ret: how it ended
 * @err: why, if it failed
 * @wrong: the first wrong result
 */
struct worker {
	struct work *w;
	unsigned int index;
	pthread_t thread;
	bool runs;
	uint64_t random;
	struct rtgt_domain *domain;
	struct rtgt_buffer *buffer;
	struct rtgt_conn *conn;
	bool iwarp;
	uint64_t counts[WORK_COUNTS];
	uint64_t verified;
	struct rtgt_hist took;
	int ret;
	struct rtgt_err err;
	struct rtgt_err wrong;
};

/**
 * struct work - a run
 * @pattern: which
 * @to: the target
 * @count: lookups or checkpoints of each worker; 0 while @seconds says how long
 * @seconds: or how long
 * @workers, @region, @keys, @size, @seed, @ignored, @check, @async, @saturate: options
 * @json, @pretty, @quiet: options
 * @cancel: readable when the command is to end
 * @end_ns: rtgt_now_ns() of the end, with @seconds
 * @working: workers that have not ended, without helpers
 * @alone: a helper has ended before them
 * @progress: lookups or checkpoints that have ended
 * @own: the pattern's
 * @worker: the pattern's helpers, then @workers
 */
struct work {
	const struct work_pattern *pattern;
	struct where to;
	uint64_t count;
	unsigned int seconds;
	unsigned int workers, region, keys, ignored;
	uint64_t size, seed;
	bool check, async, saturate;
	bool json, pretty, quiet;
	int cancel;
	uint64_t end_ns;
	atomic_uint working;
	atomic_bool alone;
	struct progress progress;
	void *own;
	struct worker worker[WORK_CONNS];
};

static inline unsigned int work_conns(const struct work *w)
{
	return w->workers + w->pattern->helpers;
}

/* work_worker.c */
uint64_t work_mix(uint64_t seed, uint64_t number);
uint64_t work_random(struct worker *c);
int work_connect(struct worker *c);
void work_drop(struct worker *c);
uint8_t *work_bytes(const struct worker *c, uint64_t at);
int work_post(struct worker *c, uint32_t type, uint64_t remote, uint64_t len, uint64_t local);
int work_wait(struct worker *c);
int work_do(struct worker *c, uint32_t type, uint64_t remote, uint64_t len, uint64_t local);
bool work_is_enough(const struct worker *c, uint64_t done);
void work_wrong(struct worker *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* work_round.c */
int work_round_begin(struct worker *first, uint32_t count, uint32_t flags);
int work_round_announce(struct worker *c, uint32_t count, uint32_t round, uint64_t local);

/* work_out.c */
void work_out_head(const struct work *w);
int work_out(const struct work *w, const struct rtgt_err *errors, unsigned int nr);

#endif /* RTGT_WORK_H */
