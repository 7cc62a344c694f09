// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A log-bucketed histogram: exact below 128 ns, within 0.8 % above, any number
 * of samples in the same memory.
 */
#include <string.h>

#include "histogram.h"

#define SUB	((unsigned int)RTGT_HIST_ROW)

/*
 * Values below SUB have a bucket each.  Above, the highest bit selects a row
 * and the RTGT_HIST_BITS bits behind it the bucket in that row.
 */
static unsigned int index_of(uint64_t v)
{
	unsigned int shift;

	if (v < SUB)
		return (unsigned int)v;
	shift = 63u - (unsigned int)__builtin_clzll(v) - RTGT_HIST_BITS;
	return (shift + 1) * SUB + (unsigned int)(v >> shift) - SUB;
}

/* The largest value of a bucket */
static uint64_t value_of(unsigned int index)
{
	unsigned int row = index / SUB;
	uint64_t base;

	if (!row)
		return index;
	base = SUB + index % SUB;
	return ((base + 1) << (row - 1)) - 1;
}

/**
 * rtgt_hist_reset() - forget all samples
 * @h: the histogram
 */
void rtgt_hist_reset(struct rtgt_hist *h)
{
	memset(h, 0, sizeof(*h));
}

/**
 * rtgt_hist_add() - one more sample
 * @h: the histogram
 * @ns: the sample
 */
void rtgt_hist_add(struct rtgt_hist *h, uint64_t ns)
{
	if (!h->count || ns < h->min)
		h->min = ns;
	if (ns > h->max)
		h->max = ns;
	h->count++;
	h->sum += ns;
	h->bucket[index_of(ns)]++;
}

/* Nearest rank, counted from 1 */
static uint64_t rank_of(uint64_t nr, unsigned int per_mille)
{
	uint64_t rank = (nr * per_mille + 999) / 1000;

	return rank ? rank : 1;
}

/**
 * rtgt_samples_percentile() - nearest-rank percentile of all samples
 * @sorted: the samples, in rising order
 * @nr: how many, at least one
 * @per_mille: 0 to 1000
 *
 * Return: the sample.
 */
uint64_t rtgt_samples_percentile(const uint64_t *sorted, uint64_t nr, unsigned int per_mille)
{
	return sorted[rank_of(nr, per_mille) - 1];
}

/**
 * rtgt_hist_percentile() - nearest-rank percentile
 * @h: the histogram
 * @per_mille: 0 to 1000
 *
 * Return: nanoseconds; the upper end of the bucket, never outside what was
 * measured; 0 without samples.
 */
uint64_t rtgt_hist_percentile(const struct rtgt_hist *h, unsigned int per_mille)
{
	uint64_t rank = rank_of(h->count, per_mille), seen = 0, v;

	if (rank <= 1)
		return h->min;
	for (unsigned int i = 0; i < RTGT_HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen < rank)
			continue;
		v = value_of(i);
		if (v > h->max)
			return h->max;
		return v < h->min ? h->min : v;
	}
	return h->max;
}
