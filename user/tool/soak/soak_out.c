// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What rtgt soak prints, and the failures that it has seen.
 */
#include <stdio.h>
#include <string.h>
#include <json-c/json.h>

#include "tool/out/json.h"
#include "soak.h"

static const char overwritten[] = "changed again before they were read";
static const char unread[] = "not read after they were changed";

/* A connection has failed, or an attempt to make one; any thread */
void soak_failed(struct soak *s, const char *text)
{
	unsigned int i = 0;

	pthread_mutex_lock(&s->lock);
	while (i < s->nr_failures && strncmp(s->failure[i].text, text, SOAK_TEXT - 1) != 0)
		i++;
	/* the last one stands for all others */
	if (i == SOAK_FAILURES)
		i--;
	if (i == s->nr_failures) {
		snprintf(s->failure[i].text, SOAK_TEXT, "%s",
			 i == SOAK_FAILURES - 1 ? "others" : text);
		s->nr_failures++;
	}
	s->failure[i].count++;
	pthread_mutex_unlock(&s->lock);
}

void soak_out_head(const struct soak *s)
{
	if (s->json || s->quiet)
		return;
	printf("soak %s port %s: %u connection%s of %u operation%s of %llu to %llu bytes, seed %llu\n",
	       s->to.host, s->to.service, s->conns, s->conns == 1 ? "" : "s", s->depth,
	       s->depth == 1 ? "" : "s", (unsigned long long)s->least, (unsigned long long)s->size,
	       (unsigned long long)s->seed);
	fflush(stdout);
}

static struct soak_counts sum(const struct soak *s)
{
	struct soak_counts all = { };

	for (unsigned int i = 0; i < s->conns; i++) {
		const struct soak_counts *one = &s->client[i].counts;

		for (unsigned int k = 0; k < SOAK_OPS; k++)
			all.done[k] += one->done[k];
		all.verified += one->verified;
		all.overwritten += one->overwritten;
		all.unread += one->unread;
		all.connected += one->connected;
		all.renewed += one->renewed;
	}
	return all;
}

static void print_text(const struct soak *s, const struct soak_counts *all)
{
	uint64_t done = 0;

	for (unsigned int i = 0; i < SOAK_OPS; i++) {
		done += all->done[i];
		if (all->done[i])
			printf("%-12s %12llu\n", soak_ops[i].name,
			       (unsigned long long)all->done[i]);
	}
	for (unsigned int i = 0; i < s->nr_failures; i++)
		printf("failed %llu time%s: %s\n", (unsigned long long)s->failure[i].count,
		       s->failure[i].count == 1 ? "" : "s", s->failure[i].text);
	if (all->renewed)
		printf("%llu connection%s found new memory\n", (unsigned long long)all->renewed,
		       all->renewed == 1 ? "" : "s");
	printf("%llu operations, %llu bytes verified\n", (unsigned long long)done,
	       (unsigned long long)all->verified);
	if (all->overwritten)
		printf("not compared: %llu bytes %s\n", (unsigned long long)all->overwritten,
		       overwritten);
	if (all->unread)
		printf("not compared: %llu bytes %s\n", (unsigned long long)all->unread, unread);
}

static int print_json(const struct soak *s, const struct soak_counts *all,
		      const struct rtgt_err *err)
{
	struct json_object *doc = rtgt_json_document("rtgt-soak-1");
	struct json_object *ops = json_object_new_object(), *list = json_object_new_array();
	struct json_object *failures = json_object_new_array(), *errors = json_object_new_array();
	int ret;

	rtgt_json_bool(doc, "ok", !err->code);
	rtgt_json_str(doc, "host", s->to.host);
	rtgt_json_str(doc, "port", s->to.service);
	rtgt_json_int(doc, "seed", (int64_t)s->seed);
	rtgt_json_int(doc, "connections", s->conns);
	rtgt_json_int(doc, "depth", s->depth);
	rtgt_json_int(doc, "least", (int64_t)s->least);
	rtgt_json_int(doc, "size", (int64_t)s->size);
	for (unsigned int i = 0; i < SOAK_OPS; i++)
		if (all->done[i])
			rtgt_json_int(ops, soak_ops[i].name, (int64_t)all->done[i]);
	json_object_object_add(doc, "operations", ops);
	rtgt_json_int(doc, "verified_bytes", (int64_t)all->verified);
	if (all->overwritten)
		rtgt_json_not_compared(list, all->overwritten, overwritten);
	if (all->unread)
		rtgt_json_not_compared(list, all->unread, unread);
	json_object_object_add(doc, "not_compared", list);
	rtgt_json_int(doc, "connected", (int64_t)all->connected);
	rtgt_json_int(doc, "renewed", (int64_t)all->renewed);
	for (unsigned int i = 0; i < s->nr_failures; i++) {
		struct json_object *o = json_object_new_object();

		rtgt_json_str(o, "text", s->failure[i].text);
		rtgt_json_int(o, "count", (int64_t)s->failure[i].count);
		json_object_array_add(failures, o);
	}
	json_object_object_add(doc, "failures", failures);
	if (err->code)
		json_object_array_add(errors, rtgt_json_error(err));
	json_object_object_add(doc, "errors", errors);
	ret = rtgt_json_print(doc, s->pretty, stdout);
	json_object_put(doc);
	return ret;
}

/* The whole run; @err->code is 0 when all is well.  Nonzero if standard output does not take it */
int soak_out(struct soak *s, const struct rtgt_err *err)
{
	const struct soak_counts all = sum(s);

	if (s->json)
		return print_json(s, &all, err);
	if (!s->quiet)
		print_text(s, &all);
	return fflush(stdout) || ferror(stdout);
}
