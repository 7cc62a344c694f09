// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What rtgt work prints.
 */
#include <stdio.h>
#include <json-c/json.h>

#include "tool/out/json.h"
#include "work.h"

void work_out_head(const struct work *w)
{
	if (w->json || w->quiet)
		return;
	printf("work %s %s port %s: %u worker%s, %llu bytes", w->pattern->name, w->to.host,
	       w->to.service, w->workers, w->workers == 1 ? "" : "s", (unsigned long long)w->size);
	if (w->pattern == &work_kv)
		printf(", %u key%s", w->keys, w->keys == 1 ? "" : "s");
	printf("%s%s", w->async ? ", no rounds" : "", w->saturate ? ", saturating" : "");
	for (unsigned int i = 0; w->pattern->rules[i]; i++)
		if (w->ignored >> i & 1)
			printf(", \"%s\" ignored", w->pattern->rules[i]);
	printf(", seed %llu\n", (unsigned long long)w->seed);
	fflush(stdout);
}

static uint64_t count(const struct work *w, unsigned int which)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < work_conns(w); i++)
		n += w->worker[i].counts[which];
	return n;
}

static uint64_t verified(const struct work *w)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < work_conns(w); i++)
		n += w->worker[i].verified;
	return n;
}

/* What all workers' lookups or checkpoints took */
static void took(const struct work *w, struct rtgt_hist *all)
{
	rtgt_hist_reset(all);
	for (unsigned int i = 0; i < work_conns(w); i++)
		rtgt_hist_merge(all, &w->worker[i].took);
}

static void print_text(const struct work *w)
{
	struct rtgt_hist all;

	for (unsigned int i = 0; i < WORK_COUNTS && w->pattern->counts[i].name; i++)
		printf("%-34s %10llu\n", w->pattern->counts[i].text,
		       (unsigned long long)count(w, i));
	took(w, &all);
	if (all.count)
		printf("microseconds: 50 %% %.1f, 99 %% %.1f, 99.9 %% %.1f, longest %.1f\n",
		       (double)rtgt_hist_percentile(&all, 5000) / 1000,
		       (double)rtgt_hist_percentile(&all, 9900) / 1000,
		       (double)rtgt_hist_percentile(&all, 9990) / 1000, (double)all.max / 1000);
	printf("%llu bytes verified\n", (unsigned long long)verified(w));
}

static int print_json(const struct work *w, const struct rtgt_err *errors, unsigned int nr)
{
	struct json_object *doc = rtgt_json_document("rtgt-work-1");
	struct json_object *counts = json_object_new_object(), *ignored = json_object_new_array();
	struct json_object *list = json_object_new_array();
	struct rtgt_hist all;
	int ret;

	rtgt_json_bool(doc, "ok", !nr);
	rtgt_json_str(doc, "host", w->to.host);
	rtgt_json_str(doc, "port", w->to.service);
	rtgt_json_str(doc, "pattern", w->pattern->name);
	rtgt_json_int(doc, "seed", (int64_t)w->seed);
	rtgt_json_int(doc, "workers", w->workers);
	rtgt_json_int(doc, "size", (int64_t)w->size);
	if (w->pattern == &work_kv)
		rtgt_json_int(doc, "keys", w->keys);
	if (w->pattern == &work_ps) {
		rtgt_json_bool(doc, "async", w->async);
		rtgt_json_bool(doc, "saturate", w->saturate);
	}
	for (unsigned int i = 0; w->pattern->rules[i]; i++) {
		if (w->ignored >> i & 1)
			json_object_array_add(ignored,
					      json_object_new_string(w->pattern->rules[i]));
	}
	json_object_object_add(doc, "ignored", ignored);
	for (unsigned int i = 0; i < WORK_COUNTS && w->pattern->counts[i].name; i++)
		rtgt_json_int(counts, w->pattern->counts[i].name, (int64_t)count(w, i));
	json_object_object_add(doc, "counts", counts);
	rtgt_json_int(doc, "verified_bytes", (int64_t)verified(w));
	took(w, &all);
	if (all.count)
		json_object_object_add(doc, "took_us", rtgt_json_hist(&all));
	for (unsigned int i = 0; i < nr; i++)
		json_object_array_add(list, rtgt_json_error(&errors[i]));
	json_object_object_add(doc, "errors", list);
	ret = rtgt_json_print(doc, w->pretty, stdout);
	json_object_put(doc);
	return ret;
}

/* The whole run.  Nonzero if standard output does not take it */
int work_out(const struct work *w, const struct rtgt_err *errors, unsigned int nr)
{
	if (w->json)
		return print_json(w, errors, nr);
	if (!w->quiet)
		print_text(w);
	return fflush(stdout) || ferror(stdout);
}
