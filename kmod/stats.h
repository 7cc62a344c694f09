/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of a port: which there are, and how they are bumped and summed. */
#ifndef _RTGT_STATS_H
#define _RTGT_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

struct seq_file;

/*
 * The counters, named in stats.c.  A reject has the counter
 * RTGT_REJECTS_VERSION - RTGT_REJ_VERSION + reason, so their order is the wire's.
 */
enum rtgt_counter {
	RTGT_CONNS_ACCEPTED,
	RTGT_CONNS_ESTABLISHED,
	RTGT_CONNS_CLOSED,
	RTGT_REJECTS_VERSION,
	RTGT_REJECTS_SIZE,
	RTGT_REJECTS_FULL,
	RTGT_REJECTS_RESOURCES,
	RTGT_REJECTS_DEVICE,
	RTGT_REJECTS_STOPPING,
	RTGT_RECV_MSGS,
	RTGT_RECV_BYTES,
	RTGT_IMMS,
	RTGT_IMM_BYTES,
	RTGT_REPLIES,
	RTGT_MALFORMED,
	RTGT_QP_ERRORS,
	RTGT_RECV_FLUSHED,
	RTGT_SEND_ERRORS,
	RTGT_REGISTRATIONS,
	RTGT_INVALIDATIONS,
	RTGT_ROTATIONS,
	RTGT_NR_COUNTERS
};

/**
 * struct rtgt_stats - the counters of one port on one CPU
 * @count: by enum rtgt_counter
 */
struct rtgt_stats {
	u64 count[RTGT_NR_COUNTERS];
};

struct rtgt_stats __percpu *rtgt_stats_alloc(void);
void rtgt_stats_free(struct rtgt_stats __percpu *stats);
void rtgt_stats_show(struct rtgt_stats __percpu *stats, struct seq_file *m);

/**
 * rtgt_count() - add to a counter
 * @stats: a port's, from rtgt_stats_alloc()
 * @counter: which
 * @n: how much
 *
 * Any context.
 */
static inline void rtgt_count(struct rtgt_stats __percpu *stats, enum rtgt_counter counter, u64 n)
{
	this_cpu_add(stats->count[counter], n);
}

#endif /* _RTGT_STATS_H */
