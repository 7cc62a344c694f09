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

/* Before the first line, and between two */
#define FIRST_NS	2000000000ull
#define NEXT_NS		1000000000ull

/* How often a thread looks whether it is time */
#define LOOK_NS		100000000

/**
 * progress_begin() - something begins
 * @p: says what
 * @total: operations to do; 0 when that is not known
 */
void progress_begin(struct progress *p, uint64_t total)
{
	p->start = rtgt_now_ns();
	p->told = 0;
	p->total = total;
	atomic_store(&p->done, 0);
}

/**
 * progress_print() - tell how far it is, if it is time to
 * @p: begun; see progress_tell()
 */
void progress_print(struct progress *p)
{
	const uint64_t now = rtgt_now_ns(), done = atomic_load(&p->done);
	char far[64] = "";

	if (now < (p->told ? p->told + NEXT_NS : p->start + FIRST_NS))
		return;
	p->told = now;
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

static void *watcher(void *arg)
{
	struct progress *p = arg;
	struct timespec at;

	do {
		progress_print(p);
		clock_gettime(CLOCK_REALTIME, &at);
		at.tv_nsec += LOOK_NS;
		at.tv_sec += at.tv_nsec / 1000000000;
		at.tv_nsec %= 1000000000;
	} while (sem_timedwait(&p->end, &at));
	return NULL;
}

/**
 * progress_watch() - tell from now on, while this thread waits or others work
 * @p: begun
 *
 * Signals stay this thread's.  Without a thread nothing is told.
 */
void progress_watch(struct progress *p)
{
	sigset_t all, before;

	if (!p->on)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	sem_init(&p->end, 0, 0);
	p->runs = !pthread_create(&p->thread, NULL, watcher, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/**
 * progress_unwatch() - the wait is over
 * @p: progress_watch() was called
 */
void progress_unwatch(struct progress *p)
{
	if (!p->runs)
		return;
	sem_post(&p->end);
	pthread_join(p->thread, NULL);
	sem_destroy(&p->end);
	p->runs = false;
}

/**
 * progress_end() - it is done: its line goes
 * @p: begun
 */
void progress_end(struct progress *p)
{
	if (p->told && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	p->told = 0;
}
