// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a person who waits is told: a line on stderr, over itself on a terminal, of
 * anything that takes longer than two seconds.
 */
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <rtgt/log.h>

#include "progress.h"

/* Before the first line, and between two; a thread waits longer, for who tells by itself */
#define FIRST_NS	2000000000ull
#define NEXT_NS		1000000000ull
#define LATE_NS		500000000ull

static uint64_t due(const struct progress *p)
{
	const uint64_t told = atomic_load(&p->told);

	return told ? told + NEXT_NS : p->start + FIRST_NS;
}

static void print(struct progress *p, uint64_t now)
{
	const uint64_t done = atomic_load(&p->done);
	char far[64] = "";

	atomic_store(&p->told, now);
	if (p->total)
		snprintf(far, sizeof(far), ", %llu %% (%llu of %llu)",
			 (unsigned long long)(done * 100 / p->total), (unsigned long long)done,
			 (unsigned long long)p->total);
	else if (done)
		snprintf(far, sizeof(far), ", %llu done", (unsigned long long)done);
	fprintf(stderr, "%srtgt: %s: %llu s%s%s",
		isatty(STDERR_FILENO) ? "\r\033[K" : "", p->what,
		(unsigned long long)((now - p->start) / 1000000000u), far,
		isatty(STDERR_FILENO) ? "" : "\n");
	fflush(stderr);
}

/* It wakes up once a second: what is measured beside it should not feel it */
static void *watcher(void *arg)
{
	struct progress *p = arg;
	struct timespec at;
	uint64_t until;

	do {
		until = due(p) + LATE_NS;
		if (rtgt_now_ns() >= until) {
			print(p, rtgt_now_ns());
			until = due(p) + LATE_NS;
		}
		at.tv_sec = (time_t)(until / 1000000000u);
		at.tv_nsec = (long)(until % 1000000000u);
	} while (sem_clockwait(&p->end, CLOCK_MONOTONIC, &at));
	return NULL;
}

static void unwatch(struct progress *p)
{
	if (!p->runs)
		return;
	sem_post(&p->end);
	pthread_join(p->thread, NULL);
	sem_destroy(&p->end);
	p->runs = false;
}

/**
 * progress_begin() - something begins, or it is known how much there is to do
 * @p: says what
 * @total: operations to do; 0 when that is not known
 *
 * From now on a thread tells how far it is, also while all others wait.  Signals stay the caller's.
 */
void progress_begin(struct progress *p, uint64_t total)
{
	sigset_t all, before;

	unwatch(p);
	p->start = rtgt_now_ns();
	p->total = total;
	atomic_store(&p->told, 0);
	atomic_store(&p->done, 0);
	if (!p->on)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	sem_init(&p->end, 0, 0);
	p->runs = !pthread_create(&p->thread, NULL, watcher, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/**
 * progress_print() - tell how far it is, if it is time to
 * @p: begun; see progress_tell()
 */
void progress_print(struct progress *p)
{
	const uint64_t now = rtgt_now_ns();

	if (now >= due(p))
		print(p, now);
}

/**
 * progress_end() - it is done: its line goes
 * @p: begun
 */
void progress_end(struct progress *p)
{
	unwatch(p);
	if (atomic_load(&p->told) && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}
