// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a person who waits is told: a line on stderr, over itself on a terminal, of
 * anything that takes longer than two seconds.
 */
#include <stdio.h>
#include <unistd.h>

#include "measure.h"

/* Before the first line, and between two */
#define FIRST_NS	2000000000ull
#define NEXT_NS		1000000000ull

/**
 * progress_begin() - a cell begins
 * @m: its cell is set
 * @total: operations to do; 0 when that is not known
 */
void progress_begin(struct measure *m, uint64_t total)
{
	m->progress.start = rtgt_now_ns();
	m->progress.told = 0;
	m->progress.total = total;
	m->progress.before = 0;
}

/**
 * progress_tell() - tell how far it is, if it is time to
 * @m: begun
 * @done: operations that have ended since progress.before
 */
void progress_tell(struct measure *m, uint64_t done)
{
	struct progress *p = &m->progress;
	const struct cell *at = &m->at;
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
	fprintf(stderr, "%srtgt: %s %s of %u bytes over %s: %llu s%s%s",
		isatty(STDERR_FILENO) ? "\r\033[K" : "", measure_from_str(at->from), at->op->name,
		at->size, measure_over_str(at->over),
		(unsigned long long)((now - p->start) / 1000000000u), far,
		isatty(STDERR_FILENO) ? "" : "\n");
	fflush(stderr);
}

/**
 * progress_end() - a cell is done: its line goes
 * @m: begun
 */
void progress_end(struct measure *m)
{
	if (m->progress.told && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	m->progress.told = 0;
}
