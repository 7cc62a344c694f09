// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a person who waits is told: a line on stderr, over itself on a terminal, of
 * anything that takes longer than two seconds.
 */
#include <stdio.h>
#include <unistd.h>

#include <rtgt/log.h>

#include "progress.h"

/* Before the first line, and between two */
#define FIRST_NS	2000000000ull
#define NEXT_NS		1000000000ull

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
	p->before = 0;
}

/**
 * progress_tell() - tell how far it is, if it is time to
 * @p: begun
 * @done: operations that have ended since @p->before
 */
void progress_tell(struct progress *p, uint64_t done)
{
	uint64_t now;
	char far[64] = "";

	if (!p->on)
		return;
	now = rtgt_now_ns();
	if (now < (p->told ? p->told + NEXT_NS : p->start + FIRST_NS))
		return;
	p->told = now;
	done += p->before;
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
