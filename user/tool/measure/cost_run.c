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

#include "cost.h"

/* bytes of a SEND over the connection that is not idle */
#define ECHO_BYTES	64

/* connects that stand for "the last ones" */
#define LAST		16

static int open_client(struct cost *c, struct rtgt_client *client, struct rtgt_err *err)
{
	const struct rtgt_client_param param = {
		.cm = {
			.host = c->to.host, .service = c->to.service, .source = c->to.source,
			.timeout_ms = (int)c->to.timeout * 1000,
		},
		.payload = ECHO_BYTES,
	};
	int ret = rtgt_client_open(client, &param, err);

	if (!ret && !c->facts.version)
		rtgt_facts_get(&c->facts, &client->qp);
	return ret;
}

/* ------------------------------------------------------------------- registrations */

static int time_registrations(struct cost *c, struct ibv_pd *pd, uint64_t size,
			      struct rtgt_err *err)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_WRITE;
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
		struct ibv_mr *mr = ibv_reg_mr(pd, at, size, access);

		if (!mr) {
			ret = rtgt_fail(err, errno, "registering %llu bytes: %s (ulimit -l?)",
					(unsigned long long)size, strerror(errno));
			break;
		}
		rtgt_hist_add(&reg, rtgt_now_ns() - start);
		start = rtgt_now_ns();
		ret = ibv_dereg_mr(mr);
		if (ret)
			ret = rtgt_fail(err, ret, "deregistering: %s", strerror(ret));
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
	struct rtgt_client *client = calloc(1, sizeof(*client));
	int ret = client ? open_client(c, client, err) : rtgt_fail(err, ENOMEM, "no memory");

	if (!ret) {
		for (unsigned int i = 0; !ret && i < c->size.nr; i++)
			ret = time_registrations(c, client->qp.pd, c->size.at[i], err);
		rtgt_client_close(client);
	}
	free(client);
	return ret;
}

/* ---------------------------------------------------------------------- connections */

enum {
	ADDR, ROUTE, QP, CONNECT, ALL, CLOSE, NR_STEPS,
};

static const char *const step_name[NR_STEPS] = {
	"address", "route", "queue pair", "connect", "in all", "close",
};

static int one_connect(struct cost *c, struct rtgt_client *client, struct rtgt_hist *step,
		       struct rtgt_err *err)
{
	uint64_t start = rtgt_now_ns();
	int ret = open_client(c, client, err);

	if (ret)
		return ret;
	rtgt_hist_add(&step[ALL], rtgt_now_ns() - start);
	rtgt_hist_add(&step[ADDR], client->cm.step_ns[RTGT_CM_ADDR]);
	rtgt_hist_add(&step[ROUTE], client->cm.step_ns[RTGT_CM_ROUTE]);
	rtgt_hist_add(&step[CONNECT], client->cm.step_ns[RTGT_CM_CONNECT]);
	rtgt_hist_add(&step[QP], client->qp.made_ns);
	start = rtgt_now_ns();
	rtgt_client_close(client);
	rtgt_hist_add(&step[CLOSE], rtgt_now_ns() - start);
	return 0;
}

/**
 * cost_connects() - connections, one after the other, step by step
 * @c: the command
 * @err: says what is wrong
 *
 * The first one is not counted: it opens the device.
 *
 * Return: 0, or a negative errno.
 */
int cost_connects(struct cost *c, struct rtgt_err *err)
{
	struct rtgt_hist *step = calloc(NR_STEPS, sizeof(*step));
	struct rtgt_client *client = calloc(1, sizeof(*client));
	int ret = step && client ? 0 : rtgt_fail(err, ENOMEM, "no memory");

	for (uint64_t i = 0; !ret && i <= c->count; i++) {
		if (i < 2)
			for (unsigned int k = 0; k < NR_STEPS; k++)
				rtgt_hist_reset(&step[k]);
		ret = one_connect(c, client, step, err);
	}
	for (unsigned int k = 0; !ret && k < NR_STEPS; k++)
		cost_out(c, &(struct cost_row) { step_name[k], "connections", 1, &step[k], -1 });
	free(client);
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

/* A connection is two open files, and some are there already */
static int allow_files(uint64_t connections, struct rtgt_err *err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return rtgt_fail(err, errno, "no limit of open files: %s", strerror(errno));
	if (limit.rlim_cur >= 2 * connections + 64)
		return 0;
	limit.rlim_cur = 2 * connections + 64;
	if (limit.rlim_max < limit.rlim_cur)
		limit.rlim_max = limit.rlim_cur;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return rtgt_fail(err, errno, "%llu connections take %llu open files: ulimit -n",
				 (unsigned long long)connections,
				 (unsigned long long)limit.rlim_cur);
	return 0;
}

static int time_echoes(struct cost *c, struct rtgt_client *client, uint64_t held, double kib,
		       struct rtgt_err *err)
{
	const struct rtgt_echo echo = { .opcode = IBV_WR_SEND, .len = ECHO_BYTES };
	uint8_t *back = client->rx.buf + client->head + sizeof(struct rtgt_msg);
	struct rtgt_took took;
	struct rtgt_diff diff;
	struct rtgt_hist h;
	int ret = 0;

	if (client->payload < ECHO_BYTES)
		return rtgt_fail(err, EMSGSIZE, "the target takes SENDs of %u bytes (recv_size)",
				 client->payload);
	rtgt_hist_reset(&h);
	for (uint64_t i = 0; !ret && i < c->count; i++) {
		rtgt_pattern_fill(rtgt_client_tx(client), ECHO_BYTES, i);
		rtgt_pattern_invert(back, ECHO_BYTES, i);
		ret = rtgt_client_echo(client, &echo, &took, err);
		rtgt_hist_add(&h, took.reply);
		if (!ret && rtgt_pattern_verify(back, ECHO_BYTES, i, &diff))
			ret = rtgt_fail(err, EILSEQ,
					"echo %llu: byte %zu is 0x%02x, expected 0x%02x",
					(unsigned long long)i, diff.offset, diff.got,
					diff.expected);
	}
	if (!ret)
		cost_out(c, &(struct cost_row) { "SEND", "held", held, &h, kib });
	return ret;
}

/* From @nr connections to @wanted of them */
static int hold_more(struct cost *c, struct rtgt_client **client, uint64_t nr, uint64_t wanted,
		     struct rtgt_err *err)
{
	struct rtgt_hist h;
	int ret = 0;

	rtgt_hist_reset(&h);
	for (; !ret && nr < wanted; nr++) {
		uint64_t start = rtgt_now_ns();

		client[nr] = calloc(1, sizeof(**client));
		ret = client[nr] ? open_client(c, client[nr], err) :
				   rtgt_fail(err, ENOMEM, "no memory");
		if (ret) {
			free(client[nr]);
			client[nr] = NULL;
		} else if (wanted - nr <= LAST) {
			rtgt_hist_add(&h, rtgt_now_ns() - start);
		}
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
	struct rtgt_client **client = calloc(most, sizeof(*client));
	double before = -1, now, kib;
	int ret = client ? allow_files(most, err) : rtgt_fail(err, ENOMEM, "no memory");

	for (unsigned int i = 0; !ret && i < c->held.nr; nr = c->held.at[i++]) {
		ret = hold_more(c, client, nr, c->held.at[i], err);
		if (ret)
			break;
		now = available();
		/* the first one opens the device and is not counted */
		kib = before < 0 || now < 0 ? -1 :
		      (before - now) / (double)(c->held.at[i] - c->held.at[0]);
		if (!i)
			before = now;
		ret = time_echoes(c, client[0], c->held.at[i], kib, err);
	}
	for (nr = 0; client && nr < most && client[nr]; nr++) {
		rtgt_client_close(client[nr]);
		free(client[nr]);
	}
	free(client);
	return ret;
}
