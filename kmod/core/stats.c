// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of a port.  Each CPU bumps its own copy, in any context, so counting
 * costs no shared cache line; a reader sums them.  They live as long as the
 * port and never go back.
 */
#include <linux/seq_file.h>

#include "core/stats.h"

/**
 * rtgt_stats_alloc() - new counters, all zero
 *
 * May sleep.
 *
 * Return: to be freed with rtgt_stats_free(); NULL without memory.
 */
struct rtgt_stats __percpu *rtgt_stats_alloc(void)
{
	return alloc_percpu(struct rtgt_stats);
}

/**
 * rtgt_stats_free() - free counters
 * @stats: from rtgt_stats_alloc(), or NULL
 */
void rtgt_stats_free(struct rtgt_stats __percpu *stats)
{
	free_percpu(stats);
}

/**
 * rtgt_stats_show() - print the sums, "name value" a line
 * @stats: counters
 * @m: where to
 */
void rtgt_stats_show(struct rtgt_stats __percpu *stats, struct seq_file *m)
{
	unsigned int i;

	for (i = 0; i < RTGT_NR_COUNTERS; i++) {
		u64 sum = 0;
		int cpu;

		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(stats, cpu)->count[i]);
		seq_printf(m, "%s %llu\n", rtgt_counter_name(i), sum);
	}
}
