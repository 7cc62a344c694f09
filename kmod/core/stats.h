/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of a port. */
#ifndef _RTGT_STATS_H
#define _RTGT_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

#include "proto/counters.h"

struct seq_file;

/**
 * struct rtgt_stats - counters of one port on one CPU
 * @count: values, by enum rtgt_counter
 */
struct rtgt_stats {
	u64 count[RTGT_NR_COUNTERS];
};

struct rtgt_stats __percpu *rtgt_stats_alloc(void);
void rtgt_stats_free(struct rtgt_stats __percpu *stats);
void rtgt_stats_show(struct rtgt_stats __percpu *stats, struct seq_file *m);

/**
 * rtgt_count() - add to a counter
 * @stats: counters of a port
 * @counter: the counter
 * @n: number to add
 *
 * Any context.
 */
static inline void rtgt_count(struct rtgt_stats __percpu *stats, enum rtgt_counter counter, u64 n)
{
	this_cpu_add(stats->count[counter], n);
}

#endif /* _RTGT_STATS_H */
