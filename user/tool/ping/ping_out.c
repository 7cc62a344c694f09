// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What rtgt ping prints: a table as results come, or one JSON document at the end.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "ping.h"

/* Bytes of the data -v shows */
#define SHOWN	16

static bool table(const struct ping *p)
{
	return !p->json && !p->quiet;
}

void ping_out_head(const struct ping *p, const struct rtgt_facts *f)
{
	const struct rtgt_rep_info *peer = &p->client.peer;
	const uint32_t extents = p->client.layout[p->region].nr;
	char access[32], several[32] = "";

	if (!table(p))
		return;
	rtgt_access_str(p->mem->access, access, sizeof(access));
	printf("ping %s port %s from %s: device %s, %s, path MTU %s, %s, kernel %s, %s, seed %llu\n",
	       f->destination, p->to.service, f->source, f->device,
	       rtgt_transport_str(p->transport), f->path_mtu,
	       f->same_machine ? "one machine" : "two machines", f->kernel,
	       p->poll ? "polling" : "completion events", (unsigned long long)p->seed);
	if (extents > 1)
		snprintf(several, sizeof(several), " in %u extents", extents);
	if (p->flags & IBV_SEND_INLINE)
		printf("inline up to %u bytes\n", p->client.qp.max_inline);
	if (p->transport == RTGT_UD)
		printf("endpoint %u: SENDs of up to %u bytes\n", peer->conn_id, peer->recv_size);
	else if (peer->rtgt)
		printf("connection %u, region %u of %u: %llu bytes%s, access %s\n", peer->conn_id,
		       p->region, peer->nr, (unsigned long long)p->region_len, several,
		       access);
	else if (p->mem->len)
		printf("a plain capability: %llu bytes, access not told\n",
		       (unsigned long long)p->mem->len);
	else
		printf("a plain capability, length not told: taken for %llu bytes\n",
		       (unsigned long long)p->region_len);
}

static double us(uint64_t ns)
{
	return (double)ns / 1e3;
}

static void print_row(const struct ping *p, uint64_t iterations, uint64_t verified)
{
	const struct rtgt_hist *h = &p->completion;
	char reply[16] = "-";

	if (!json_object_array_length(p->results))
		printf("%-12s %9s %10s %14s %10s %10s %10s %10s %10s\n", "operation", "bytes",
		       "iterations", "verified bytes", "min us", "p50 us", "p99 us", "max us",
		       "reply p50");
	if (p->reply.count)
		snprintf(reply, sizeof(reply), "%.1f", us(rtgt_hist_percentile(&p->reply, 5000)));
	printf("%-12s %9u %10llu %14llu %10.1f %10.1f %10.1f %10.1f %10s\n", p->op->name, p->len,
	       (unsigned long long)iterations, (unsigned long long)verified, us(h->min),
	       us(rtgt_hist_percentile(h, 5000)), us(rtgt_hist_percentile(h, 9900)), us(h->max),
	       reply);
	fflush(stdout);
}

/* Why the bytes of an operation were not compared; NULL if they were */
static const char *not_compared(const struct ping *p)
{
	if (!p->verify)
		return "--no-verify";
	return p->blind ? "the region does not allow READ" : NULL;
}

/* One operation and size is done, or as many iterations of it as there were */
void ping_out_result(struct ping *p, uint64_t iterations)
{
	const char *why = not_compared(p);
	uint64_t verified = why ? 0 : iterations * p->len;
	struct json_object *o = json_object_new_object();
	struct json_object *list = json_object_new_array();

	if (table(p))
		print_row(p, iterations, verified);
	rtgt_json_str(o, "op", p->op->name);
	rtgt_json_int(o, "size", p->len);
	rtgt_json_int(o, "iterations", (int64_t)iterations);
	rtgt_json_int(o, "verified_bytes", (int64_t)verified);
	if (why)
		rtgt_json_not_compared(list, iterations * p->len, why);
	json_object_object_add(o, "not_compared", list);
	json_object_object_add(o, "completion_us", rtgt_json_hist(&p->completion));
	if (p->reply.count)
		json_object_object_add(o, "reply_us", rtgt_json_hist(&p->reply));
	json_object_array_add(p->results, o);
	p->total_iterations += iterations;
	p->total_bytes += verified;
	p->total_blind += iterations * p->len - verified;
}

/* Something was not done: why, and, if it was all of the operation, what is missing */
void ping_out_skip(struct ping *p, const char *missing, const char *fmt, ...)
{
	struct json_object *o = json_object_new_object();
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (table(p))
		printf("%-12s skipped: %s\n", p->op->name, text);
	rtgt_json_str(o, "op", p->op->name);
	if (missing)
		rtgt_json_str(o, "missing", missing);
	rtgt_json_str(o, "reason", text);
	json_object_array_add(p->skipped, o);
}

/* The reason why the first of all that was skipped was */
const char *ping_out_first_skip(const struct ping *p)
{
	struct json_object *first = json_object_array_get_idx(p->skipped, 0);

	return first ? json_object_get_string(json_object_object_get(first, "reason")) : "";
}

/* -v: the first bytes of what was written, read or echoed */
void ping_out_data(const struct ping *p, const void *data, uint32_t len)
{
	const uint8_t *bytes = data;
	uint32_t n = len < SHOWN ? len : SHOWN;

	if (!table(p))
		return;
	printf("%-12s %9u #%llu ", p->op->name, len, (unsigned long long)p->iteration);
	for (uint32_t i = 0; i < n; i++)
		printf(" %02x", bytes[i]);
	fputs(len > n ? " ... |" : " |", stdout);
	for (uint32_t i = 0; i < n; i++)
		putchar(isprint(bytes[i]) ? bytes[i] : '.');
	puts("|");
}

void ping_out_end(const struct ping *p)
{
	if (!table(p))
		return;
	puts("times: full round trip, post to completion; reply: post to the target's answer");
	if (p->verify)
		printf("%llu operations, %llu bytes verified at both ends%s\n",
		       (unsigned long long)p->total_iterations,
		       (unsigned long long)p->total_bytes,
		       p->unwatched ? "" : ", nothing else touched");
	if (p->verify && p->total_blind)
		printf("%llu bytes not compared: the region does not allow READ\n",
		       (unsigned long long)p->total_blind);
	else if (p->verify && p->unwatched)
		puts("bytes beside them not compared: the region does not allow READ");
	if (p->verify)
		return;
	printf("%llu operations completed, data not verified\n",
	       (unsigned long long)p->total_iterations);
}

static struct json_object *json_error(const struct rtgt_err *err, const struct ping *p)
{
	struct json_object *o = rtgt_json_error(err);

	if (p->op) {
		rtgt_json_str(o, "op", p->op->name);
		rtgt_json_int(o, "size", p->len);
		rtgt_json_int(o, "iteration", (int64_t)p->iteration);
	}
	return o;
}

/* The whole run; @facts is NULL when it never connected, @err->code 0 when all is well */
int ping_out_json(struct ping *p, const struct rtgt_facts *facts, const struct rtgt_err *err)
{
	struct json_object *doc = rtgt_json_document("rtgt-ping-1");
	struct json_object *errors = json_object_new_array();
	int ret;

	rtgt_json_str(doc, "command", "ping");
	rtgt_json_bool(doc, "ok", !err->code);
	rtgt_json_str(doc, "host", p->to.host);
	rtgt_json_str(doc, "port", p->to.service);
	rtgt_json_bool(doc, "verify", p->verify);
	rtgt_json_int(doc, "seed", (int64_t)p->seed);
	rtgt_json_int(doc, "sges", p->sges);
	rtgt_json_int(doc, "chain", p->chain);
	rtgt_json_bool(doc, "fence", p->flags & IBV_SEND_FENCE);
	rtgt_json_bool(doc, "window", p->window);
	rtgt_json_bool(doc, "odp", p->odp);
	rtgt_json_str(doc, "completions", p->poll ? "polling" : "events");
	if (facts) {
		rtgt_json_int(doc, "region", p->region);
		json_object_object_add(doc, "facts", rtgt_json_facts(facts));
		json_object_object_add(doc, "connection", rtgt_json_client(&p->client));
		rtgt_json_int(doc, "max_inline", p->client.qp.max_inline);
	}
	json_object_object_add(doc, "results", json_object_get(p->results));
	json_object_object_add(doc, "skipped", json_object_get(p->skipped));
	if (err->code)
		json_object_array_add(errors, json_error(err, p));
	json_object_object_add(doc, "errors", errors);
	ret = rtgt_json_print(doc, p->pretty, stdout);
	json_object_put(doc);
	return ret;
}
