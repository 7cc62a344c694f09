// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of a port.  Each CPU adds to its own copy, in any context, so counting writes no
 * shared cache line; a reader adds up the copies.  A port keeps its counters until it is
 * freed, and they never decrease.
 */
#include <linux/seq_file.h>

#include "core/stats.h"

/**
 * rtgt_stats_show() - print the sums as lines "name value"
 * @stats: counters
 * @m: output
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
