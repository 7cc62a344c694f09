/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of a port. */
#ifndef _RTGT_STATS_H
#define _RTGT_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

#include "proto/counters.h"

struct seq_file;

/* Counters of one port on one CPU */
struct rtgt_stats {
	u64 count[RTGT_NR_COUNTERS];	/* values, by enum rtgt_counter */
};

void rtgt_stats_show(struct rtgt_stats __percpu *stats, struct seq_file *m);

/* All zero; for rtgt_stats_free(), or NULL without memory.  May sleep. */
static inline struct rtgt_stats __percpu *rtgt_stats_alloc(void)
{
	return alloc_percpu(struct rtgt_stats);
}

static inline void rtgt_stats_free(struct rtgt_stats __percpu *stats)
{
	free_percpu(stats);
}

/* Add to a counter, in any context. */
static inline void rtgt_count(struct rtgt_stats __percpu *stats, enum rtgt_counter counter, u64 n)
{
	this_cpu_add(stats->count[counter], n);
}

#endif /* _RTGT_STATS_H */
