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
 * rtgt_hist_merge() - add the samples of another one
 * @h: the histogram
 * @other: whose samples
 */
void rtgt_hist_merge(struct rtgt_hist *h, const struct rtgt_hist *other)
{
	if (other->count && (!h->count || other->min < h->min))
		h->min = other->min;
	if (other->max > h->max)
		h->max = other->max;
	h->count += other->count;
	h->sum += other->sum;
	for (unsigned int i = 0; i < RTGT_HIST_BUCKETS; i++)
		h->bucket[i] += other->bucket[i];
}

/* Nearest rank, counted from 1 */
static uint64_t rank_of(uint64_t nr, unsigned int of_10000)
{
	uint64_t rank = (nr * of_10000 + 9999) / 10000;

	return rank ? rank : 1;
}

/**
 * rtgt_samples_percentile() - nearest-rank percentile of all samples
 * @sorted: the samples, in rising order
 * @nr: how many, at least one
 * @of_10000: 0 to 10000, hundredths of a percent
 *
 * Return: the sample.
 */
uint64_t rtgt_samples_percentile(const uint64_t *sorted, uint64_t nr, unsigned int of_10000)
{
	return sorted[rank_of(nr, of_10000) - 1];
}

/**
 * rtgt_samples_stdev() - standard deviation
 * @ns: the samples
 * @nr: how many, at least one
 *
 * Return: nanoseconds, of the samples as they are (divided by @nr); rounded down.
 */
uint64_t rtgt_samples_stdev(const uint64_t *ns, uint64_t nr)
{
	double mean = 0, squares = 0, root = 1;

	for (uint64_t i = 0; i < nr; i++)
		mean += (double)ns[i] / (double)nr;
	for (uint64_t i = 0; i < nr; i++)
		squares += ((double)ns[i] - mean) * ((double)ns[i] - mean) / (double)nr;
	/* Newton's, from above: to link libm would cost every start of the program */
	if (squares > root)
		root = squares;
	for (unsigned int i = 0; i < 64; i++)
		root = (root + squares / root) / 2;
	return (uint64_t)root;
}

/**
 * rtgt_hist_percentile() - nearest-rank percentile
 * @h: the histogram
 * @of_10000: 0 to 10000, hundredths of a percent
 *
 * Return: nanoseconds; the upper end of the bucket, never outside what was
 * measured; 0 without samples.
 */
uint64_t rtgt_hist_percentile(const struct rtgt_hist *h, unsigned int of_10000)
{
	uint64_t rank = rank_of(h->count, of_10000), seen = 0, v;

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
