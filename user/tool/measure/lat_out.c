// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What rtgt lat prints: a table as results come, or one JSON document at the end.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lat.h"

static uint64_t percentile(const struct lat *l, unsigned int of_10000)
{
	return rtgt_samples_percentile(l->ns, l->nr, of_10000);
}

static bool is_half(const struct lat *l)
{
	return l->half && l->m.at.op->answered;
}

/* Buckets of an eighth of a power of two, those that hold something */
static struct json_object *json_histogram(const struct lat *l, unsigned int by)
{
	struct json_object *a = json_object_new_array();

	for (uint64_t i = 0, next; i < l->nr; i = next) {
		uint64_t v = l->ns[i] / by, width = 1, low;
		struct json_object *o = json_object_new_object();

		while (width * 16 <= v)
			width *= 2;
		low = v / width * width;
		for (next = i; next < l->nr && l->ns[next] / by < low + width; next++)
			;
		rtgt_json_us(o, "from", low);
		rtgt_json_us(o, "below", low + width);
		rtgt_json_int(o, "count", (int64_t)(next - i));
		json_object_array_add(a, o);
	}
	return a;
}

static struct json_object *json_times(const struct lat *l, unsigned int by)
{
	struct json_object *o = json_object_new_object();
	uint64_t sum = 0;

	for (uint64_t i = 0; i < l->nr; i++)
		sum += l->ns[i];
	rtgt_json_us(o, "min", l->ns[0] / by);
	rtgt_json_us(o, "mean", sum / l->nr / by);
	rtgt_json_us(o, "p50", percentile(l, 5000) / by);
	rtgt_json_us(o, "p90", percentile(l, 9000) / by);
	rtgt_json_us(o, "p99", percentile(l, 9900) / by);
	rtgt_json_us(o, "p99_9", percentile(l, 9990) / by);
	rtgt_json_us(o, "p99_99", percentile(l, 9999) / by);
	rtgt_json_us(o, "max", l->ns[l->nr - 1] / by);
	rtgt_json_us(o, "stdev", rtgt_samples_stdev(l->ns, l->nr) / by);
	return o;
}

/**
 * lat_out_samples() - write each operation's time, in the order in which they were posted
 * @l: the cell is done, and @l->ns not yet sorted
 * @err: says what is wrong
 *
 * A line for each: from, over, op, bytes, the number of the operation, nanoseconds; never halved.
 *
 * Return: 0, or a negative errno.
 */
int lat_out_samples(const struct lat *l, struct rtgt_err *err)
{
	const struct cell *at = &l->m.at;

	for (uint64_t i = 0; l->samples && i < l->nr; i++)
		fprintf(l->samples, "%s\t%s\t%s\t%u\t%llu\t%llu\n", measure_from_str(at->from),
			measure_over_str(at->over), at->op->name, at->size, (unsigned long long)i,
			(unsigned long long)l->ns[i]);
	if (l->samples && (fflush(l->samples) || ferror(l->samples)))
		return rtgt_fail(err, errno, "the samples cannot be written: %s", strerror(errno));
	return 0;
}

void lat_out_row(struct lat *l)
{
	const struct cell *at = &l->m.at;
	bool half = is_half(l);
	unsigned int by = half ? 2 : 1;
	struct json_object *o;

	if (!l->m.tool->json) {
		if (!l->m.rows++)
			printf("%-6s %-4s %-10s %8s %8s %-4s %9s %9s %9s %9s %9s %9s %9s %9s\n",
			       "from", "over", "op", "bytes", "count", "trip", "min us", "p50",
			       "p90", "p99", "p99.9", "p99.99", "max", "stdev");
		printf("%-6s %-4s %-10s %8u %8llu %-4s %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f\n",
		       measure_from_str(at->from), measure_over_str(at->over), at->op->name,
		       at->size, (unsigned long long)l->nr, half ? "half" : "full",
		       (double)l->ns[0] / by / 1e3, (double)percentile(l, 5000) / by / 1e3,
		       (double)percentile(l, 9000) / by / 1e3,
		       (double)percentile(l, 9900) / by / 1e3,
		       (double)percentile(l, 9990) / by / 1e3,
		       (double)percentile(l, 9999) / by / 1e3,
		       (double)l->ns[l->nr - 1] / by / 1e3,
		       (double)rtgt_samples_stdev(l->ns, l->nr) / by / 1e3);
		if (l->load)
			printf("       beside %u connections that moved %llu bytes\n", l->load,
			       (unsigned long long)l->load_bytes);
		for (uint64_t i = 0; l->list && i < l->nr; i++)
			printf("%llu, %.3f\n", (unsigned long long)i + 1,
			       (double)l->ns[i] / by / 1e3);
		fflush(stdout);
	}
	o = measure_json_row(&l->m);
	rtgt_json_str(o, "trip", half ? "half" : "full");
	json_object_object_add(o, "gives_way", json_object_new_boolean(l->gives_way));
	rtgt_json_int(o, "count", (int64_t)l->nr);
	if (l->load) {
		rtgt_json_int(o, "load", l->load);
		rtgt_json_int(o, "load_bytes", (int64_t)l->load_bytes);
	}
	measure_out_compared(&l->m, o);
	rtgt_json_us(o, "elapsed_us", l->elapsed_ns);
	json_object_object_add(o, "us", json_times(l, by));
	json_object_object_add(o, "histogram", json_histogram(l, by));
	json_object_array_add(l->m.results, o);
}

int lat_out_end(struct lat *l)
{
	if (l->m.tool->json)
		return measure_out_json(&l->m);
	measure_out_end(&l->m);
	puts("full: post to completion, or to the target's answer; half: half of that");
	return EXIT_OK;
}
