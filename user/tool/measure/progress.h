/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a person who waits is told.  See progress.c.
 */
#ifndef RTGT_PROGRESS_H
#define RTGT_PROGRESS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * struct progress - how far something is
 * @on: there is one who wants to know
 * @what: in words
 * @start: rtgt_now_ns() of its beginning
 * @told: when the last line was written; 0 before the first
 * @total: operations to do; 0 when that is not known
 * @done: operations that have ended
 * @thread: tells what nobody else has told
 * @runs: it does
 * @end: posted when it shall end
 */
struct progress {
	bool on;
	char what[96];
	uint64_t start;
	atomic_ullong told;
	uint64_t total;
	atomic_ullong done;
	pthread_t thread;
	bool runs;
	sem_t end;
};

void progress_begin(struct progress *p, uint64_t total);
void progress_print(struct progress *p);
void progress_end(struct progress *p);

/* Operations have ended.  Any thread may say so */
static inline void progress_count(struct progress *p, uint64_t n)
{
	atomic_fetch_add_explicit(&p->done, n, memory_order_relaxed);
}

/*
 * Tell how far it is, if somebody wants to know and it is time to.  For who measures, between two
 * operations: the thread would do it within one.  One thread does
 */
static inline void progress_tell(struct progress *p)
{
	if (p->on)
		progress_print(p);
}

#endif /* RTGT_PROGRESS_H */
