// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What rtgt bw prints: a table as results come, or one JSON document at the end.
 */
#include <stdio.h>

#include "bw.h"

static double per_second(const struct bw *b, double what)
{
	return b->elapsed_ns ? what * 1e9 / (double)b->elapsed_ns : 0;
}

static void json_rate(struct json_object *o, const char *key, double value)
{
	char text[48];

	snprintf(text, sizeof(text), "%.2f", value);
	json_object_object_add(o, key, json_object_new_double_s(value, text));
}

void bw_out_row(struct bw *b)
{
	const struct cell *at = &b->m.at;
	const uint64_t bytes = b->messages * at->size;
	const double mib = per_second(b, (double)bytes / (1 << 20));
	const double rate = per_second(b, (double)b->messages);
	struct json_object *o;

	if (!b->m.tool->json) {
		if (!b->m.rows++)
			printf("%-6s %-4s %-10s %8s %4s %5s %8s %12s %10s %12s\n", "from", "over",
			       "op", "bytes", "qps", "depth", "messages", "verified",
			       b->gbits ? "Gbit/s" : "MiB/s",
			       "messages/s");
		printf("%-6s %-4s %-10s %8u %4u %5u %8llu %12llu %10.2f %12.0f\n",
		       measure_from_str(at->from), measure_over_str(at->over), at->op->name,
		       at->size, bw_connections(b), b->depth, (unsigned long long)b->messages,
		       (unsigned long long)b->m.verified,
		       b->gbits ? per_second(b, (double)bytes * 8 / 1e9) : mib, rate);
		fflush(stdout);
	}
	o = measure_json_row(&b->m);
	rtgt_json_int(o, "qps", bw_connections(b));
	rtgt_json_int(o, "depth", b->depth);
	/* the kernel posts what is answered one by one */
	rtgt_json_int(o, "signal", at->from == FROM_KERNEL && at->op->answered ? 1 : b->signal);
	if (b->segment)
		rtgt_json_int(o, "segment", b->segment);
	rtgt_json_str(o, "verify", b->verify_all ? "all" : "end");
	rtgt_json_int(o, "messages", (int64_t)b->messages);
	rtgt_json_int(o, "bytes", (int64_t)bytes);
	measure_out_compared(&b->m, o);
	rtgt_json_us(o, "elapsed_us", b->elapsed_ns);
	json_rate(o, "mib_per_s", mib);
	json_rate(o, "messages_per_s", rate);
	json_object_array_add(b->m.results, o);
}

int bw_out_end(struct bw *b)
{
	if (b->m.tool->json)
		return measure_out_json(&b->m);
	measure_out_end(&b->m);
	return EXIT_OK;
}
