// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What rtgt lat prints: a table as results come, or one JSON document at the end.
 */
#include <stdio.h>

#include "lat.h"

/* Nearest rank; the samples are sorted */
static uint64_t percentile(const struct lat_run *run, unsigned int per_mille)
{
	uint64_t rank = (run->nr * per_mille + 999) / 1000;

	return run->ns[rank ? rank - 1 : 0];
}

static const char *from_str(enum lat_from from)
{
	return from == LAT_KERNEL ? "kernel" : "user";
}

static bool is_half(const struct lat *l, const struct lat_run *run)
{
	return l->half && run->op->answered;
}

/* Buckets of an eighth of a power of two, those that hold something */
static struct json_object *json_histogram(const struct lat_run *run, unsigned int by)
{
	struct json_object *a = json_object_new_array();

	for (uint64_t i = 0, next; i < run->nr; i = next) {
		uint64_t v = run->ns[i] / by, width = 1, low;
		struct json_object *o = json_object_new_object();

		while (width * 16 <= v)
			width *= 2;
		low = v / width * width;
		for (next = i; next < run->nr && run->ns[next] / by < low + width; next++)
			;
		rtgt_json_us(o, "from", low);
		rtgt_json_us(o, "below", low + width);
		rtgt_json_int(o, "count", (int64_t)(next - i));
		json_object_array_add(a, o);
	}
	return a;
}

static struct json_object *json_times(const struct lat_run *run, unsigned int by)
{
	struct json_object *o = json_object_new_object();
	uint64_t sum = 0;

	for (uint64_t i = 0; i < run->nr; i++)
		sum += run->ns[i];
	rtgt_json_us(o, "min", run->ns[0] / by);
	rtgt_json_us(o, "mean", sum / run->nr / by);
	rtgt_json_us(o, "p50", percentile(run, 500) / by);
	rtgt_json_us(o, "p90", percentile(run, 900) / by);
	rtgt_json_us(o, "p99", percentile(run, 990) / by);
	rtgt_json_us(o, "p99_9", percentile(run, 999) / by);
	rtgt_json_us(o, "max", run->ns[run->nr - 1] / by);
	return o;
}

static struct json_object *json_row(const struct lat *l, const struct lat_run *run)
{
	struct json_object *o = json_object_new_object();

	rtgt_json_str(o, "from", from_str(run->from));
	rtgt_json_str(o, "op", run->op->name);
	rtgt_json_int(o, "size", run->size);
	rtgt_json_str(o, "completions", run->from == LAT_KERNEL ? l->completion :
		      l->poll ? "polling" : "events");
	return o;
}

void lat_out_row(struct lat *l, const struct lat_run *run)
{
	bool half = is_half(l, run);
	unsigned int by = half ? 2 : 1;
	struct json_object *o;

	if (!l->tool->json) {
		if (!l->rows++)
			printf("%-6s %-9s %8s %8s %-4s %9s %9s %9s %9s %9s %9s\n", "from",
			       "op", "bytes", "count", "trip", "min us", "p50", "p90", "p99",
			       "p99.9", "max");
		printf("%-6s %-9s %8u %8llu %-4s %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f\n",
		       from_str(run->from), run->op->name, run->size,
		       (unsigned long long)run->nr, half ? "half" : "full",
		       (double)run->ns[0] / by / 1e3, (double)percentile(run, 500) / by / 1e3,
		       (double)percentile(run, 900) / by / 1e3,
		       (double)percentile(run, 990) / by / 1e3,
		       (double)percentile(run, 999) / by / 1e3,
		       (double)run->ns[run->nr - 1] / by / 1e3);
		fflush(stdout);
	}
	o = json_row(l, run);
	rtgt_json_str(o, "trip", half ? "half" : "full");
	rtgt_json_int(o, "count", (int64_t)run->nr);
	rtgt_json_int(o, "verified_bytes", (int64_t)run->verified);
	rtgt_json_us(o, "elapsed_us", run->elapsed_ns);
	json_object_object_add(o, "us", json_times(run, by));
	json_object_object_add(o, "histogram", json_histogram(run, by));
	json_object_array_add(l->results, o);
}

void lat_out_skip(struct lat *l, const struct lat_run *run, const char *why)
{
	struct json_object *o = json_row(l, run);

	if (!l->tool->json)
		printf("%-6s %-9s %8u skipped: %s\n", from_str(run->from), run->op->name,
		       run->size, why);
	rtgt_json_str(o, "skipped", why);
	json_object_array_add(l->results, o);
}

int lat_out_end(struct lat *l, int argc, char **argv)
{
	struct json_object *doc, *line;
	int ret;

	if (!l->tool->json) {
		puts("full: post to completion, or to the target's answer; half: half of that");
		return EXIT_OK;
	}
	doc = json_object_new_object();
	line = json_object_new_array();
	for (int i = 0; i < argc; i++)
		json_object_array_add(line, json_object_new_string(argv[i]));
	rtgt_json_str(doc, "schema", LAT_SCHEMA);
	json_object_object_add(doc, "command", line);
	json_object_object_add(doc, "facts", rtgt_json_facts(&l->facts));
	json_object_object_add(doc, "results", json_object_get(l->results));
	ret = rtgt_json_print(doc, l->tool->pretty, stdout);
	json_object_put(doc);
	return ret ? EXIT_FAILED : EXIT_OK;
}
