// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What rtgt cost measures.  Each function opens what it needs and closes it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <rtgt/rtgt.h>

#include "tool/cli/interrupt.h"
#include "cost.h"

/* bytes of a SEND over the connection that is not idle */
#define ECHO_BYTES	64

/* open files of a connection: of events of two kinds, and of both */
#define FILES		3

/* connects that stand for "the last ones" */
#define LAST		16

static struct rtgt_params params_of(const struct cost *c)
{
	return (struct rtgt_params) {
		.size = sizeof(struct rtgt_params), .host = c->to.host, .port = c->to.service,
		.source = c->to.source, .timeout_ms = (int)c->to.timeout * 1000, .depth = 1,
		.payload = ECHO_BYTES, .cancel_fd = c->cancel,
	};
}

static int connect_one(struct cost *c, struct rtgt_domain *domain, struct rtgt_conn **conn,
		       struct rtgt_err *err)
{
	const struct rtgt_params params = params_of(c);
	int ret = rtgt_connect(conn, domain, &params, err);

	if (!ret && !c->facts.version)
		rtgt_facts_get(&c->facts, &rtgt_conn_client(*conn)->qp);
	return ret;
}

static int open_domain(const struct cost *c, struct rtgt_domain **domain, struct rtgt_err *err)
{
	const struct rtgt_params params = params_of(c);

	return rtgt_domain_open(domain, &params, err);
}

/* ------------------------------------------------------------------- registrations */

static int time_registrations(struct cost *c, struct rtgt_domain *domain, uint64_t size,
			      struct rtgt_err *err)
{
	struct rtgt_hist reg, dereg;
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int ret = 0;

	if (at == MAP_FAILED)
		return rtgt_fail(err, errno, "no %llu bytes: %s", (unsigned long long)size,
				 strerror(errno));
	rtgt_hist_reset(&reg);
	rtgt_hist_reset(&dereg);
	for (uint64_t i = 0; !ret && i < c->count; i++) {
		uint64_t start = rtgt_now_ns();
		struct rtgt_buffer *b;

		ret = interrupted ? rtgt_fail(err, EINTR, "interrupted") :
		      rtgt_buffer_register(&b, domain, at, size,
					   RTGT_BUFFER_PULL | RTGT_BUFFER_PUSH, err);
		if (ret)
			break;
		rtgt_hist_add(&reg, rtgt_now_ns() - start);
		start = rtgt_now_ns();
		ret = rtgt_buffer_destroy(b, err);
		rtgt_hist_add(&dereg, rtgt_now_ns() - start);
	}
	munmap(at, size);
	if (ret)
		return ret;
	cost_out(c, &(struct cost_row) { "register", "bytes", size, &reg, -1 });
	cost_out(c, &(struct cost_row) { "deregister", "bytes", size, &dereg, -1 });
	return 0;
}

/**
 * cost_registrations() - memory that is there already is registered and deregistered
 * @c: the command
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int cost_registrations(struct cost *c, struct rtgt_err *err)
{
	struct rtgt_domain *domain;
	struct rtgt_conn *conn = NULL;
	struct rtgt_err no;
	int ret = open_domain(c, &domain, err);

	/* for the facts: the way to the target is only known when it is connected */
	if (!ret)
		ret = connect_one(c, domain, &conn, err);
	for (unsigned int i = 0; !ret && i < c->size.nr; i++)
		ret = time_registrations(c, domain, c->size.at[i], err);
	rtgt_close(conn);
	rtgt_domain_close(domain, &no);
	return ret;
}

/* ---------------------------------------------------------------------- connections */

enum {
	ADDR, ROUTE, QP, CONNECT, ALL, CLOSE, NR_STEPS,
};

static const char *const step_name[NR_STEPS] = {
	"address", "route", "queue pair", "connect", "in all", "close",
};

static int one_connect(struct cost *c, struct rtgt_domain *domain, struct rtgt_hist *step,
		       struct rtgt_err *err)
{
	uint64_t start = rtgt_now_ns();
	const struct rtgt_client *client;
	struct rtgt_conn *conn;
	int ret = connect_one(c, domain, &conn, err);

	if (ret)
		return ret;
	client = rtgt_conn_client(conn);
	rtgt_hist_add(&step[ALL], rtgt_now_ns() - start);
	rtgt_hist_add(&step[ADDR], client->cm.step_ns[RTGT_CM_ADDR]);
	rtgt_hist_add(&step[ROUTE], client->cm.step_ns[RTGT_CM_ROUTE]);
	rtgt_hist_add(&step[CONNECT], client->cm.step_ns[RTGT_CM_CONNECT]);
	rtgt_hist_add(&step[QP], client->qp.made_ns);
	start = rtgt_now_ns();
	rtgt_close(conn);
	rtgt_hist_add(&step[CLOSE], rtgt_now_ns() - start);
	return 0;
}

/**
 * cost_connects() - connections of one domain, one after the other, step by step
 * @c: the command
 * @err: says what is wrong
 *
 * The first one is not counted: what it uses is not there yet.
 *
 * Return: 0, or a negative errno.
 */
int cost_connects(struct cost *c, struct rtgt_err *err)
{
	struct rtgt_hist *step = calloc(NR_STEPS, sizeof(*step));
	struct rtgt_domain *domain = NULL;
	struct rtgt_err no;
	int ret = step ? open_domain(c, &domain, err) : rtgt_fail(err, ENOMEM, "no memory");

	for (uint64_t i = 0; !ret && i <= c->count; i++) {
		if (i < 2)
			for (unsigned int k = 0; k < NR_STEPS; k++)
				rtgt_hist_reset(&step[k]);
		ret = one_connect(c, domain, step, err);
	}
	for (unsigned int k = 0; !ret && k < NR_STEPS; k++)
		cost_out(c, &(struct cost_row) { step_name[k], "connections", 1, &step[k], -1 });
	rtgt_domain_close(domain, &no);
	free(step);
	return ret;
}

/* --------------------------------------------------------------------------- held */

/* Memory this machine could still give, in KiB; negative when it does not say */
static double available(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];
	double kib = -1;

	while (f && kib < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %lf", &kib) != 1)
			kib = -1;
	if (f)
		fclose(f);
	return kib;
}

/* A connection is some open files, and some are there already */
static int allow_files(uint64_t connections, struct rtgt_err *err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return rtgt_fail(err, errno, "no limit of open files: %s", strerror(errno));
	if (limit.rlim_cur >= FILES * connections + 64)
		return 0;
	limit.rlim_cur = FILES * connections + 64;
	if (limit.rlim_max < limit.rlim_cur)
		limit.rlim_max = limit.rlim_cur;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return rtgt_fail(err, errno, "%llu connections take %llu open files: ulimit -n",
				 (unsigned long long)connections,
				 (unsigned long long)limit.rlim_cur);
	return 0;
}

static int one_echo(struct rtgt_conn *conn, struct rtgt_buffer *b, uint64_t i, struct cost *c,
		    struct rtgt_hist *h, struct rtgt_err *err)
{
	const struct rtgt_work work = {
		.size = sizeof(work), .type = RTGT_WORK_ECHO, .len = ECHO_BYTES, .buffer = b,
		.back = ECHO_BYTES,
	};
	uint8_t *bytes = rtgt_buffer_bytes(b);
	struct rtgt_done done;
	struct rtgt_diff diff;
	int ret;

	rtgt_pattern_fill(bytes, ECHO_BYTES, i);
	rtgt_pattern_invert(bytes + ECHO_BYTES, ECHO_BYTES, i);
	ret = rtgt_submit(conn, &work, err);
	if (!ret)
		ret = rtgt_wait(conn, &done, 1, (int)c->to.timeout * 1000, err);
	if (ret < 0)
		return ret;
	if (done.error)
		return rtgt_done_error(conn, &done, err);
	rtgt_hist_add(h, done.reply_ns);
	if (rtgt_pattern_verify(bytes + ECHO_BYTES, ECHO_BYTES, i, &diff))
		return rtgt_fail(err, EILSEQ, "echo %llu: byte %zu is 0x%02x, expected 0x%02x",
				 (unsigned long long)i, diff.offset, diff.got, diff.expected);
	return 0;
}

static int time_echoes(struct cost *c, struct rtgt_domain *domain, struct rtgt_conn **held_conn,
		       uint64_t held, double kib, struct rtgt_err *err)
{
	struct rtgt_conn *conn = *held_conn;
	struct rtgt_buffer *b;
	struct rtgt_err no;
	struct rtgt_hist h;
	int ret;

	if (rtgt_conn_payload(conn) < ECHO_BYTES)
		return rtgt_fail(err, EMSGSIZE, "the target takes SENDs of %u bytes (there: rtgt port set PORT recv_size)",
				 rtgt_conn_payload(conn));
	ret = rtgt_buffer_create(&b, domain, 2ull * ECHO_BYTES, 0, err);
	rtgt_hist_reset(&h);
	for (uint64_t i = 0; !ret && i < c->count; i++)
		ret = one_echo(conn, b, i, c, &h, err);
	/* an operation that did not end holds it */
	if (ret) {
		rtgt_close(conn);
		*held_conn = NULL;
	}
	rtgt_buffer_destroy(b, &no);
	if (!ret)
		cost_out(c, &(struct cost_row) { "SEND", "held", held, &h, kib });
	return ret;
}

/* From @nr connections to @wanted of them */
static int hold_more(struct cost *c, struct rtgt_domain *domain, struct rtgt_conn **conn,
		     uint64_t nr, uint64_t wanted, struct rtgt_err *err)
{
	struct rtgt_hist h;
	int ret = 0;

	rtgt_hist_reset(&h);
	for (; !ret && nr < wanted; nr++) {
		uint64_t start = rtgt_now_ns();

		ret = connect_one(c, domain, &conn[nr], err);
		if (!ret && wanted - nr <= LAST)
			rtgt_hist_add(&h, rtgt_now_ns() - start);
	}
	if (!ret)
		cost_out(c, &(struct cost_row) { "connect", "held", wanted, &h, -1 });
	return ret;
}

/**
 * cost_held() - many connections, of which one is in use
 * @c: the command
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int cost_held(struct cost *c, struct rtgt_err *err)
{
	uint64_t most = c->held.at[c->held.nr - 1], nr = 0;
	struct rtgt_conn **conn = calloc(most, sizeof(*conn));
	struct rtgt_domain *domain = NULL;
	double before = -1, now, kib;
	struct rtgt_err no;
	int ret = conn ? allow_files(most, err) : rtgt_fail(err, ENOMEM, "no memory");

	if (!ret)
		ret = open_domain(c, &domain, err);
	for (unsigned int i = 0; !ret && i < c->held.nr; nr = c->held.at[i++]) {
		ret = hold_more(c, domain, conn, nr, c->held.at[i], err);
		if (ret)
			break;
		now = available();
		/* the first one is not counted: what it uses is not there yet */
		kib = before < 0 || now < 0 ? -1 :
		      (before - now) / (double)(c->held.at[i] - c->held.at[0]);
		if (!i)
			before = now;
		ret = time_echoes(c, domain, &conn[0], c->held.at[i], kib, err);
	}
	for (nr = 0; conn && nr < most; nr++)
		rtgt_close(conn[nr]);
	rtgt_domain_close(domain, &no);
	free(conn);
	return ret;
}
