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

/**
 * rtgt_hist_percentile() - nearest-rank percentile
 * @h: the histogram
 * @percent: 0 to 100
 *
 * Return: nanoseconds; the upper end of the bucket, never outside what was
 * measured; 0 without samples.
 */
uint64_t rtgt_hist_percentile(const struct rtgt_hist *h, double percent)
{
	double exact = percent / 100.0 * (double)h->count;
	uint64_t rank = (uint64_t)exact, seen = 0, v;

	if ((double)rank < exact)
		rank++;
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
