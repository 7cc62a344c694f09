// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests nobody waits for.
 *
 *	flood	opens count=N connections, up to the first that is refused, and then sends
 *		what the lines of stdin say, without a look at what is answered: "OP N", N
 *		messages of that operation over each of them.  It ends with stdin
 *	storm	threads=N clients connect, send a DISCONNECT and, in one go, "depth" ECHOs
 *		and a CHECKSUM behind it, and leave; count=M times in all
 *	overtake  sends count=N REQs to the port, opens a connection to another port of
 *		the same host, at=PORT, and prints how many of the N were answered before
 *		that one was
 */
#include <endian.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

/* A place for each operation: the device may not have sent the last message yet */
#define PLACE		64
#define PLACES		16

/* Of @op @n, which ask for the whole region and for the longest time */
static int post_ops(struct link *l, unsigned int op, long long n, struct rtgt_err *err)
{
	const size_t at = op % PLACES * PLACE;
	struct rtgt_msg *msg = (void *)(l->buf.buf + at);
	const struct rtgt_withhold withhold = { .ms = htobe32(RTGT_WITHHOLD_MAX_MS) };
	struct rtgt_extents_query query;
	struct rtgt_range range;
	struct rtgt_xfer xfer;
	struct rtgt_wr wr = {
		.id = SEND_ID, .opcode = IBV_WR_SEND, .mr = &l->buf, .offset = at,
		.len = sizeof(*msg), .unsignaled = true,
	};

	if (op == RTGT_MSG_CHECKSUM || op == RTGT_MSG_REVOKE) {
		rtgt_encode_range(&range, 0, 0, l->peer.region[0].len);
		memcpy(msg + 1, &range, sizeof(range));
		wr.len += sizeof(range);
	} else if (op == RTGT_MSG_PULL) {
		rtgt_encode_xfer(&xfer, 0, 0, l->peer.region[0].len, (uintptr_t)l->buf.buf,
				 l->buf.mr->rkey);
		memcpy(msg + 1, &xfer, sizeof(xfer));
		wr.len += sizeof(xfer);
	} else if (op == RTGT_MSG_WITHHOLD) {
		memcpy(msg + 1, &withhold, sizeof(withhold));
		wr.len += sizeof(withhold);
	} else if (op == RTGT_MSG_EXTENTS) {
		rtgt_encode_query(&query, 0, 0, UINT32_MAX);
		memcpy(msg + 1, &query, sizeof(query));
		wr.len += sizeof(query);
	}
	rtgt_encode_msg(msg, (uint32_t)op, 0, wr.len - (uint32_t)sizeof(*msg));
	while (n-- > 0)
		if (rtgt_qp_post(&l->qp, &wr, err))
			return -1;
	return 0;
}

/* With a receive for each answer that may come, all of them in one buffer */
static int open_flood(struct link *l, const struct option *o, struct rtgt_err *err)
{
	struct option mine = *o;
	int ret;

	mine.len = PLACES * PLACE;
	ret = open_link(l, &mine, err);
	for (long long i = 0; i < o->depth && !ret; i++)
		ret = rtgt_qp_post_recv(&l->qp, RECV_ID, &l->recv, (uint32_t)l->recv.len, err);
	return ret;
}

static int cmd_flood(const struct option *o)
{
	static struct link l[MAX_LINKS];
	int n = o->count < MAX_LINKS ? (int)o->count : MAX_LINKS, up = 0;
	struct rtgt_err err = {};
	unsigned int op;
	long long times;
	char line[32];

	while (up < n && !open_flood(&l[up], o, &err))
		up++;
	if (up < n)
		complain("flood", &err);
	if (up < n && l[up].cm.refusal.typed)
		printf("refused=%s arg=%u\n", reason_name(l[up].cm.refusal.reason),
		       l[up].cm.refusal.arg);
	printf("ready=%d\n", up);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		int posted = 0;

		if (sscanf(line, "%u %lld", &op, &times) != 2)
			continue;
		for (int i = 0; i < n; i++) {
			if (!l[i].cm.connected || post_ops(&l[i], op, times, &err))
				complain("flood", &err);
			else
				posted++;
		}
		printf("posted=%d op=%u\n", posted, op);
		fflush(stdout);
	}
	for (int i = 0; i < n; i++)
		close_link(&l[i]);
	puts("closed=1");
	return 0;
}

struct storm {
	const struct option *o;
	atomic_int left, up;
};

static int post_storm(struct link *l, const struct option *o, long long nr, struct rtgt_err *err)
{
	int ret;

	ret = post_ops(l, RTGT_MSG_ECHO, 1, err);
	if (!ret)
		ret = post_ops(l, RTGT_MSG_DISCONNECT, 1, err);
	if (!ret)
		ret = post_ops(l, RTGT_MSG_ECHO, 1, err);
	return ret ? ret : post_ops(l, RTGT_MSG_CHECKSUM, o->depth, err);
}

static void *storm_thread(void *arg)
{
	struct storm *s = arg;
	struct rtgt_err err;
	struct link l;
	int nr;

	while ((nr = atomic_fetch_sub(&s->left, 1)) > 0) {
		if (open_flood(&l, s->o, &err)) {
			complain("storm", &err);
		} else {
			atomic_fetch_add(&s->up, 1);
			/* a target that has closed already is no failure */
			post_storm(&l, s->o, nr, &err);
			await_end(&l);
		}
		close_link(&l);
	}
	return NULL;
}

static int cmd_storm(const struct option *o)
{
	struct storm s = { .o = o, .left = (int)o->count };
	pthread_t thread[64];
	int n = 0;

	while (n < o->threads && n < 64 && !pthread_create(&thread[n], NULL, storm_thread, &s))
		n++;
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	printf("established=%d threads=%d\n", s.up, n);
	return 0;
}

/* A REQ on its way, nothing waited for */
static int start_link(struct link *l, const struct option *o, struct rtgt_err *err)
{
	const struct rtgt_cm_param to = {
		.host = o->host, .service = o->port, .source = o->source,
		.timeout_ms = (int)o->timeout * 1000,
	};
	const struct rtgt_qp_param queues = { .send_depth = 1, .recv_depth = 1, .sges = 1 };
	struct rdma_conn_param conn = { .retry_count = 7, .rnr_retry_count = 7 };
	struct rtgt_req req;
	int ret;

	memset(l, 0, sizeof(*l));
	rtgt_encode_req(&req);
	conn.private_data = &req;
	conn.private_data_len = sizeof(req);
	ret = rtgt_cm_resolve(&l->cm, &to, err);
	if (!ret)
		ret = rtgt_qp_create(&l->qp, &l->cm, &queues, err);
	if (!ret && rdma_connect(l->cm.id, &conn))
		ret = rtgt_fail(err, 5, "the REQ could not be sent");
	return ret;
}

/* Has the REP arrived? */
static bool answered(struct link *l, int timeout_ms)
{
	struct pollfd pfd = { .fd = l->cm.channel->fd, .events = POLLIN };

	return poll(&pfd, 1, timeout_ms) > 0;
}

/* What came for it, in the end; then it can be closed as any other */
static int finish_link(struct link *l)
{
	struct rdma_cm_event *ev;

	if (!answered(l, l->cm.param.timeout_ms) || rdma_get_cm_event(l->cm.channel, &ev))
		return 0;
	l->cm.connected = ev->event == RDMA_CM_EVENT_ESTABLISHED;
	rdma_ack_cm_event(ev);
	return l->cm.connected;
}

static int cmd_overtake(const struct option *o)
{
	static struct link slow[16];
	int n = o->count < 16 ? (int)o->count : 16, started = 0, before = 0, up = 0;
	struct rtgt_err err = {};
	struct option other = *o;
	char port[8];
	struct link l;
	int ret = 0;

	snprintf(port, sizeof(port), "%lld", o->at);
	other.port = port;
	while (started < n && !ret)
		ret = start_link(&slow[started++], o, &err);
	if (!ret)
		ret = open_link(&l, &other, &err);
	for (int i = 0; i < started && !ret; i++)
		before += answered(&slow[i], 0);
	if (ret)
		complain("overtake", &err);
	for (int i = 0; i < started; i++) {
		up += !ret && finish_link(&slow[i]);
		close_link(&slow[i]);
	}
	if (started == n)
		close_link(&l);
	printf("before=%d established=%d\n", before, up);
	return ret ? 1 : 0;
}

static const struct arg flood_args[] = {
	NUMBER(count, "connections, up to the first one that is refused"),
	{ }
};

const struct command flood_command = {
	.name = "flood",
	.help = "send the requests that lines on stdin name (OP N), and take no reply",
	.run = cmd_flood,
	.args = { flood_args, message_args, link_args },
};

static const struct arg storm_args[] = {
	NUMBER(count, "connections in all"),
	NUMBER(threads, "clients at a time"),
	{ }
};

const struct command storm_command = {
	.name = "storm",
	.help = "clients that connect, send a DISCONNECT and more behind it, and leave",
	.run = cmd_storm,
	.args = { storm_args, message_args, link_args },
};

static const struct arg overtake_args[] = {
	NUMBER(count, "REQs"),
	NUMBER(at, "the other port"),
	{ }
};

const struct command overtake_command = {
	.name = "overtake",
	.help = "connect to another port while REQs wait at this one",
	.run = cmd_overtake,
	.args = { overtake_args, link_args },
};
