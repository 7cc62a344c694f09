// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt ping: every operation against a target, every byte verified.
 *
 * One connection, one operation outstanding at a time, each size after the
 * other.  The first thing that goes wrong ends the run with exit status 1; what
 * was measured before it is still reported.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/cli/interrupt.h"
#include "ping.h"

/* Sizes up to here get MANY iterations, larger ones FEW, unless -C says otherwise */
#define SMALL		(64u << 10)
#define MANY		100
#define FEW		10

static uint32_t largest(const struct ping *p)
{
	uint32_t max = 0;

	for (unsigned int i = 0; i < p->sizes.nr; i++)
		if (p->sizes.at[i] > max)
			max = (uint32_t)p->sizes.at[i];
	return max;
}

/* One operation and size */
static int run_size(struct ping *p, uint32_t len, struct rtgt_err *err)
{
	uint64_t count = p->count ? p->count : len <= SMALL ? MANY : FEW;
	int ret;

	p->len = len;
	p->iteration = 0;
	p->blind = false;
	rtgt_hist_reset(&p->completion);
	rtgt_hist_reset(&p->reply);
	ret = ping_prepare(p, err);
	while (!ret && p->iteration < count) {
		ret = interrupted ? rtgt_fail(err, EINTR, "interrupted") : ping_once(p, err);
		if (!ret)
			p->iteration++;
	}
	p->first = false;
	if (p->iteration)
		ping_out_result(p, p->iteration);
	return ret;
}

static uint64_t region_limit(const struct ping *p, uint32_t wanted, char *why, size_t size)
{
	if (p->client.peer.rtgt)
		snprintf(why, size,
			 "region %u has %llu bytes (there: rtgt region set PORT/NAME size %u)",
			 p->region, (unsigned long long)p->region_len, wanted);
	else
		snprintf(why, size, "the server's buffer has %llu bytes",
			 (unsigned long long)p->region_len);
	return p->region_len;
}

static uint64_t message_limit(const struct ping *p, uint32_t wanted, char *why, size_t size)
{
	const size_t head = sizeof(struct rtgt_msg);

	if (p->transport == RTGT_UD && p->client.qp.mtu < wanted + head)
		snprintf(why, size,
			 "a datagram is one packet of at most %u bytes, %zu of them header",
			 p->client.qp.mtu, head);
	else
		snprintf(why, size,
			 "the port takes SENDs of %u bytes, %zu of them header (there: rtgt port set PORT recv_size %zu)",
			 p->client.peer.recv_size, head, wanted + head);
	return p->client.payload;
}

/* The largest size an operation can have here, and in words what limits it */
static uint64_t limit(const struct ping *p, uint32_t wanted, char *why, size_t size)
{
	if (p->op->needs & PING_MSG &&
	    (!p->op->access || p->client.payload < p->region_len))
		return message_limit(p, wanted, why, size);
	return region_limit(p, wanted, why, size);
}

static int run_sizes(struct ping *p, bool asked, struct rtgt_err *err)
{
	uint32_t wanted = largest(p), done = 0;
	bool cut = false;
	int ret = 0;
	char why[192];
	uint64_t max = limit(p, wanted, why, sizeof(why));

	if (p->op->size)
		return run_size(p, p->op->size, err);
	/* A size somebody asked for is not quietly left out */
	if (wanted > max && !p->sweep && (asked || !(p->op->needs & PING_MSG)))
		return rtgt_fail(err, EMSGSIZE, "%s of %u bytes is not possible: %s", p->op->name,
				 wanted, why);
	for (unsigned int i = 0; i < p->sizes.nr && !ret; i++) {
		if (p->sizes.at[i] > max) {
			cut = true;
			continue;
		}
		done = (uint32_t)p->sizes.at[i];
		ret = run_size(p, done, err);
	}
	/* The sweep ends with the largest there is */
	if (!ret && cut && p->sweep && done < max)
		ret = run_size(p, (uint32_t)max, err);
	if (!ret && cut)
		ping_out_skip(p, NULL, "sizes above %llu: %s", (unsigned long long)max, why);
	return ret;
}

static int run_op(struct ping *p, bool asked, struct rtgt_err *err)
{
	char why[PING_WHY];
	const char *missing = ping_lacks(p, why);

	if (!missing)
		return run_sizes(p, asked, err);
	if (asked)
		return rtgt_fail(err, EOPNOTSUPP, "%s is not possible: %s", p->op->name, why);
	ping_out_skip(p, missing, "%s", why);
	return 0;
}

static int run_ops(struct ping *p, struct rtgt_err *err)
{
	int ret = 0;

	for (unsigned int i = 0; i < PING_OPS && !ret; i++) {
		p->op = &ping_ops[i];
		p->len = 0;
		p->iteration = 0;
		p->first = true;
		if (p->all || p->asked & 1u << i ||
		    (!p->asked && !(p->op->needs & PING_EXTRA)))
			ret = run_op(p, p->asked & 1u << i, err);
	}
	if (!ret && !json_object_array_length(p->results))
		ret = rtgt_fail(err, EOPNOTSUPP, "nothing of what was asked is possible here: %s",
				ping_out_first_skip(p));
	return ret;
}

static int choose_region(struct ping *p, struct rtgt_err *err)
{
	const struct rtgt_rep_info *peer = &p->client.peer;

	if (p->region >= peer->nr && (p->region || p->transport != RTGT_UD))
		return rtgt_fail(err, ENOENT, "no region %u: the port has %u, counted from 0",
				 p->region, peer->nr);
	p->mem = &peer->region[p->region];
	p->region_len = p->client.layout[p->region].size;
	if (!p->region_len)
		p->region_len = rtgt_region_len(p->mem, p->sweep ? 0 : largest(p));
	return 0;
}

static int make_buffers(struct ping *p, struct rtgt_err *err)
{
	const struct rtgt_log *log = p->client.cm.param.log;
	struct ibv_pd *pd = p->client.qp.pd;
	int ret, all = p->odp && p->client.qp.odp ? IBV_ACCESS_ON_DEMAND : 0;
	size_t len = largest(p);
	int tx = all, rx = all | IBV_ACCESS_LOCAL_WRITE;
	bool window = p->window && p->client.qp.can & RTGT_CAN_WINDOW;

	if (len > p->region_len)
		len = p->region_len;
	if (len < sizeof(uint64_t))
		len = sizeof(uint64_t);
	len += 2 * PING_MARGIN;
	/* for PULL and PUSH; only the target is told the keys, those of windows if there are */
	if (p->transport == RTGT_RC && p->client.peer.rtgt) {
		tx |= window ? IBV_ACCESS_MW_BIND : IBV_ACCESS_REMOTE_READ;
		rx |= window ? IBV_ACCESS_MW_BIND : IBV_ACCESS_REMOTE_WRITE;
	}
	ret = rtgt_mr_create(&p->tx, pd, "data to write", len, tx, log, err);
	if (!ret)
		ret = rtgt_mr_create(&p->rx, pd, "data read", len, rx, log, err);
	if (!ret && p->sges > 1)
		ret = rtgt_mr_create(&p->list, pd, "data in pieces", len + ping_list_room(p),
				     all | IBV_ACCESS_LOCAL_WRITE, log, err);
	if (!ret && window)
		ret = rtgt_window_create(&p->mw, pd, err);
	return ret;
}

/* Connected: choose the region, run, release; @facts is filled */
static int run_connected(struct ping *p, struct rtgt_facts *facts, struct rtgt_err *err)
{
	int ret = choose_region(p, err);

	rtgt_facts_get(facts, &p->client.qp);
	if (!ret && p->flags & IBV_SEND_INLINE && !p->client.qp.max_inline)
		ret = rtgt_fail(err, EOPNOTSUPP, "--inline: the device takes no inline data");
	if (!ret)
		ret = make_buffers(p, err);
	if (!ret) {
		ping_out_head(p, facts);
		ret = run_ops(p, err);
	}
	if (!ret)
		ping_out_end(p);
	rtgt_window_destroy(&p->mw);
	rtgt_mr_destroy(&p->tx);
	rtgt_mr_destroy(&p->rx);
	rtgt_mr_destroy(&p->list);
	return ret;
}

static int run(struct ping *p, int cancel)
{
	struct rtgt_log log = { .to = p->debug ? stderr : NULL, .start = rtgt_now_ns() };
	struct rtgt_client_param param = {
		.cm = {
			.host = p->to.host, .service = p->to.service, .source = p->to.source,
			.transport = p->transport,
			.timeout_ms = (int)p->to.timeout * 1000,
			.cancel_fd = cancel,
		},
		.poll = p->poll,
		.payload = largest(p),
		.sges = p->sges,
		.depth = 2 * p->chain + 1,
		.flags = p->flags,
		.odp = p->odp,
	};
	struct rtgt_err err = { };
	struct rtgt_facts facts;
	bool connected;
	int ret;

	if (rtgt_log_marker(&log, &err))
		return failed("%s", err.text);
	if (log.to || log.marker)
		param.cm.log = &log;
	/* Beside the facts of -d each result is to stand where it belongs */
	if (p->debug)
		setlinebuf(stdout);
	p->results = json_object_new_array();
	p->skipped = json_object_new_array();
	ret = rtgt_client_open(&p->client, &param, &err);
	connected = !ret;
	if (connected)
		ret = run_connected(p, &facts, &err);
	if (ret == -ECANCELED && interrupted)
		ret = rtgt_fail(&err, EINTR, "interrupted");
	if (p->json && ping_out_json(p, connected ? &facts : NULL, &err))
		ret = rtgt_fail(&err, EIO, "cannot write to standard output");
	if (ret)
		failed("%s", err.text);
	if (connected)
		rtgt_client_close(&p->client);
	json_object_put(p->results);
	json_object_put(p->skipped);
	return !ret ? EXIT_OK : interrupted ? EXIT_INTERRUPTED : EXIT_FAILED;
}

int cmd_ping(struct tool *tool, int argc, char **argv)
{
	struct ping *p;
	int ret;

	p = calloc(1, sizeof(*p));
	if (!p)
		return failed("no memory");
	ret = ping_parse(p, tool, argc, argv);
	if (!ret) {
		ret = interrupt_event((int)SA_RESETHAND);
		ret = ret < 0 ? failed("no eventfd: %s", strerror(errno)) : run(p, ret);
	} else if (ret == OPTIONS_HELP) {
		ret = EXIT_OK;
	}
	free(p);
	return ret;
}
