// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt work: a connection and its buffer.
 *
 * Operations are posted without waiting, as far as the queue has room, and work_wait() waits for
 * all of them.  A function that fails leaves the reason in worker.err.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <rtgt/client.h>
#include <rtgt/log.h>
#include "tool/cli/interrupt.h"
#include "work.h"

/**
 * work_mix() - a number that depends on all bits of two others (the step of SplitMix64)
 * @seed: one
 * @number: the other
 */
uint64_t work_mix(uint64_t seed, uint64_t number)
{
	uint64_t x = seed + (number + 1) * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

uint64_t work_random(struct worker *c)
{
	return work_mix(c->w->seed, work_mix(c->index, c->random++));
}

uint8_t *work_bytes(const struct worker *c, uint64_t at)
{
	return (uint8_t *)rtgt_buffer_bytes(c->buffer) + at;
}

/* The region must have what the pattern needs */
static int look_at_region(struct worker *c)
{
	const struct work *w = c->w;
	const uint32_t access = RTGT_REGION_READ | (w->check ? 0 : RTGT_REGION_WRITE) |
				(w->async && !c->iwarp ? RTGT_REGION_ATOMIC : 0);
	const uint64_t need = w->pattern->need(w);
	struct rtgt_region_facts region;
	int ret = rtgt_conn_region(c->conn, w->region, &region, &c->err);
	uint32_t lacks;

	if (ret)
		return ret;
	lacks = access & ~region.access;
	if (lacks)
		return rtgt_fail(&c->err, EACCES,
				 "region %u does not allow %s (there: rtgt region set PORT/NAME access)",
				 w->region, lacks & RTGT_REGION_READ ? "READ" :
				 lacks & RTGT_REGION_WRITE ? "WRITE" : "atomics");
	/* a target that does not tell refuses what is outside */
	if (region.len && region.len < need)
		return rtgt_fail(&c->err, ERANGE,
				 "region %u has %llu bytes, and %llu are needed: take less, or there: rtgt region set PORT/NAME size",
				 w->region, (unsigned long long)region.len,
				 (unsigned long long)need);
	return 0;
}

int work_connect(struct worker *c)
{
	const struct work *w = c->w;
	const struct rtgt_params params = {
		.size = sizeof(params), .host = w->to.host, .port = w->to.service,
		.source = w->to.source, .timeout_ms = (int)w->to.timeout * 1000,
		.depth = WORK_DEPTH, .cancel_fd = w->cancel,
	};
	int ret = rtgt_domain_open(&c->domain, &params, &c->err);

	if (!ret)
		ret = rtgt_buffer_create(&c->buffer, c->domain, w->pattern->buffer(w), 0, &c->err);
	if (!ret)
		ret = rtgt_connect(&c->conn, c->domain, &params, &c->err);
	if (ret)
		return ret;
	c->iwarp = rtgt_conn_client(c->conn)->qp.qp->context->device->transport_type ==
		   IBV_TRANSPORT_IWARP;
	return look_at_region(c);
}

/* Close the connection, whatever is under way, and wait until the target has heard of that */
void work_drop(struct worker *c)
{
	struct rtgt_err err;

	if (c->conn)
		rtgt_close(c->conn);
	if (c->buffer)
		rtgt_buffer_destroy(c->buffer, &err);
	if (c->domain)
		rtgt_domain_close(c->domain, &err);
	c->conn = NULL;
	c->buffer = NULL;
	c->domain = NULL;
}

/* Take what is done, and wait for something */
static int take(struct worker *c)
{
	struct rtgt_done done[WORK_DEPTH];
	int n, ret = 0;

	do {
		n = rtgt_wait(c->conn, done, WORK_DEPTH, (int)c->w->to.timeout * 1000, &c->err);
	} while (n == -EINTR && !interrupted);
	for (int i = 0; i < n && !ret; i++)
		if (done[i].error)
			ret = rtgt_done_error(c->conn, &done[i], &c->err);
	if (n == -EINTR)
		return -ECANCELED;
	return n < 0 ? n : ret;
}

/* Post an operation of @len bytes between region offset @remote and buffer offset @local */
int work_post(struct worker *c, uint32_t type, uint64_t remote, uint64_t len, uint64_t local)
{
	const struct rtgt_work work = {
		.size = sizeof(work), .type = type, .region = c->w->region, .remote = remote,
		.len = len, .buffer = c->buffer, .local = local,
	};
	int ret;

	for (ret = rtgt_submit(c->conn, &work, &c->err); ret == -EAGAIN && !(ret = take(c));)
		ret = rtgt_submit(c->conn, &work, &c->err);
	return ret;
}

/* Wait until all that was posted is done */
int work_wait(struct worker *c)
{
	int ret = 0;

	while (!ret && rtgt_outstanding(c->conn))
		ret = take(c);
	return ret;
}

int work_do(struct worker *c, uint32_t type, uint64_t remote, uint64_t len, uint64_t local)
{
	int ret = work_post(c, type, remote, len, local);

	return ret ? ret : work_wait(c);
}

bool work_is_enough(const struct worker *c, uint64_t done)
{
	const struct work *w = c->w;

	return interrupted || (w->count ? done >= w->count : rtgt_now_ns() >= w->end_ns);
}

/* A result is wrong.  The run goes on, counts such results, and fails */
void work_wrong(struct worker *c, const char *fmt, ...)
{
	va_list args;

	if (c->counts[c->w->pattern->wrong]++)
		return;
	c->wrong.code = EILSEQ;
	va_start(args, fmt);
	vsnprintf(c->wrong.text, sizeof(c->wrong.text), fmt, args);
	va_end(args);
}
