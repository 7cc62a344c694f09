// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A line of rtgt cost, and its object.
 */
#include <stdio.h>

#include "tool/out/json.h"
#include "cost.h"

/**
 * cost_out() - a line of what was found
 * @c: where
 * @row: what
 */
void cost_out(struct cost *c, const struct cost_row *row)
{
	struct json_object *o = json_object_new_object(), *us = json_object_new_object();
	const struct rtgt_hist *h = row->ns;
	uint64_t p50 = rtgt_hist_percentile(h, 5000), p99 = rtgt_hist_percentile(h, 9900);
	char kib[32] = "";

	if (!c->tool->json) {
		if (!c->rows++)
			printf("%-12s %12s %-12s %7s %10s %10s %10s %10s %6s\n", "what", "number", "",
			       "count", "min us", "p50", "p99", "max", "KiB");
		if (row->kib >= 0)
			snprintf(kib, sizeof(kib), "%.1f", row->kib);
		printf("%-12s %12llu %-12s %7llu %10.1f %10.1f %10.1f %10.1f %6s\n", row->what,
		       (unsigned long long)row->number, row->unit, (unsigned long long)h->count,
		       (double)h->min / 1e3, (double)p50 / 1e3, (double)p99 / 1e3,
		       (double)h->max / 1e3, kib);
		fflush(stdout);
	}
	rtgt_json_str(o, "what", row->what);
	rtgt_json_int(o, "number", (int64_t)row->number);
	rtgt_json_str(o, "unit", row->unit);
	rtgt_json_int(o, "count", (int64_t)h->count);
	rtgt_json_us(us, "min", h->min);
	rtgt_json_us(us, "p50", p50);
	rtgt_json_us(us, "p99", p99);
	rtgt_json_us(us, "max", h->max);
	json_object_object_add(o, "us", us);
	if (row->kib >= 0)
		json_object_object_add(o, "kib_per_connection", json_object_new_double(row->kib));
	json_object_array_add(c->results, o);
}
