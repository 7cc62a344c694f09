/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Percentiles of latencies: in fixed memory, or of all samples.  See histogram.c.
 */
#ifndef RTGT_HISTOGRAM_H
#define RTGT_HISTOGRAM_H

#include <stdint.h>

/* 128 buckets to each power of two: a value is known to 0.8 % */
#define RTGT_HIST_BITS		7
#define RTGT_HIST_ROW		128
#define RTGT_HIST_BUCKETS	((64 - RTGT_HIST_BITS + 1) * RTGT_HIST_ROW)

/**
 * struct rtgt_hist - samples, in nanoseconds
 * @count: how many
 * @sum: of all
 * @min: smallest, exact
 * @max: largest, exact
 * @bucket: how many fell into each
 */
struct rtgt_hist {
	uint64_t count;
	uint64_t sum;
	uint64_t min;
	uint64_t max;
	uint32_t bucket[RTGT_HIST_BUCKETS];
};

void rtgt_hist_reset(struct rtgt_hist *h);
void rtgt_hist_add(struct rtgt_hist *h, uint64_t ns);
void rtgt_hist_merge(struct rtgt_hist *h, const struct rtgt_hist *other);
uint64_t rtgt_hist_percentile(const struct rtgt_hist *h, unsigned int of_10000);
uint64_t rtgt_samples_percentile(const uint64_t *sorted, uint64_t nr, unsigned int of_10000);
uint64_t rtgt_samples_stdev(const uint64_t *ns, uint64_t nr);

#endif /* RTGT_HISTOGRAM_H */
