/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a person who waits is told.  See progress.c.
 */
#ifndef RTGT_PROGRESS_H
#define RTGT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct progress - how far something is
 * @on: there is one who wants to know
 * @what: in words
 * @start: rtgt_now_ns() of its beginning
 * @told: when the last line was written; 0 before the first
 * @total: operations to do; 0 when that is not known
 * @before: operations done before those that are watched
 */
struct progress {
	bool on;
	char what[96];
	uint64_t start;
	uint64_t told;
	uint64_t total;
	uint64_t before;
};

void progress_begin(struct progress *p, uint64_t total);
void progress_tell(struct progress *p, uint64_t done);
void progress_end(struct progress *p);

#endif /* RTGT_PROGRESS_H */
