// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The public library: connections.  Their operations are in submit.c and complete.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "internal.h"
#include "public.h"

#define DEPTH		16
#define PAYLOAD		4096
#define SMALL_BODY	64

/* Work requests that ask for no completion stay in the send queue for a while */
#define SENT_MIN	32

static int add_fd(const struct rtgt_conn *c, int fd, struct rtgt_err *err)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &ev) ?
	       rtgt_fail(err, errno, "no epoll: %s", strerror(errno)) : 0;
}

static int make_epoll(struct rtgt_conn *c, struct rtgt_err *err)
{
	int ret;

	if (!c->client.qp.channel)
		return 0;
	c->readable = true;
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll < 0)
		return rtgt_fail(err, errno, "no epoll: %s", strerror(errno));
	c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->timer < 0)
		return rtgt_fail(err, errno, "no timer: %s", strerror(errno));
	ret = add_fd(c, c->client.qp.channel->fd, err);
	if (!ret)
		ret = add_fd(c, c->client.cm.channel->fd, err);
	if (!ret)
		ret = add_fd(c, c->timer, err);
	/* from now on: the program may submit and poll before it calls rtgt_complete() */
	if (!ret)
		ret = rtgt_conn_arm(c, err);
	return ret < 0 ? ret : 0;
}

/*
 * siw may leave the first message of a connection in the peer's socket until more comes, and a
 * program that polls by itself would never wake it: so an echo makes both ends heard, here.
 */
static int be_heard(struct rtgt_conn *c, struct rtgt_err *err)
{
	const struct rtgt_echo nothing = { .opcode = IBV_WR_SEND };
	struct rtgt_took took;

	if (!rtgt_qp_unheard(&c->client.qp) || !c->client.peer.rtgt)
		return 0;
	return rtgt_client_echo(&c->client, &nothing, &took, err);
}

static int make_slots(struct rtgt_conn *c, struct rtgt_err *err)
{
	const uint32_t body = c->client.payload > SMALL_BODY ? c->client.payload : SMALL_BODY;
	int ret;

	c->slot = calloc(c->depth, sizeof(*c->slot));
	c->free_recv = calloc(c->depth, sizeof(*c->free_recv));
	c->ready = calloc(c->depth, sizeof(*c->ready));
	c->sent = calloc(c->sent_max, sizeof(*c->sent));
	if (!c->slot || !c->free_recv || !c->ready || !c->sent)
		return rtgt_fail(err, ENOMEM, "no memory for %u operations", c->depth);
	c->nr_free_recv = c->depth;
	for (unsigned int i = 0; i < c->depth; i++)
		c->free_recv[i] = i;
	c->stride = (uint32_t)sizeof(struct rtgt_msg) + body;
	/* the target posts so many receives: more messages would wait for one another */
	c->messages_max = c->client.peer.recv_depth;
	if (c->client.peer.rtgt && !c->messages_max)
		return rtgt_fail(err, EPROTO, "the target says that it has no receive");
	c->tx_stride = (uint32_t)sizeof(struct rtgt_msg) + RTGT_COPY_MAX;
	ret = rtgt_mr_create(&c->tx, c->domain->pd, "requests", (size_t)c->depth * c->tx_stride, 0,
			     NULL, err);
	if (!ret)
		ret = rtgt_mr_create(&c->rx, c->domain->pd, "replies",
				     (size_t)c->depth * c->stride, IBV_ACCESS_LOCAL_WRITE, NULL,
				     err);
	return ret;
}

static int make_conn(struct rtgt_conn *c, const struct rtgt_params *params, struct rtgt_err *err)
{
	struct rtgt_client_param param = {
		.poll = params && params->flags & RTGT_PARAM_BUSY_POLL,
		.heads = true, .pd = c->domain->pd,
	};
	int ret = rtgt_where_make(&c->where, params, err);

	if (ret)
		return ret;
	c->depth = params->depth ? params->depth : DEPTH;
	param.cm = c->where.cm;
	param.payload = params->payload ? params->payload : PAYLOAD;
	c->sent_max = 2 * c->depth > SENT_MIN ? 2 * c->depth : SENT_MIN;
	param.chain = c->sent_max;
	param.recvs = c->depth;
	ret = rtgt_client_open(&c->client, &param, err);
	if (!ret)
		ret = be_heard(c, err);
	if (!ret)
		ret = make_slots(c, err);
	return ret ? ret : make_epoll(c, err);
}

static void free_conn(struct rtgt_conn *c)
{
	if (c->timer >= 0)
		close(c->timer);
	if (c->epoll >= 0)
		close(c->epoll);
	rtgt_cm_disconnect(&c->client.cm);
	rtgt_mr_destroy(&c->tx);
	rtgt_mr_destroy(&c->rx);
	rtgt_client_close(&c->client);
	rtgt_sent_drop(c);
	for (unsigned int i = 0; c->slot && i < c->depth; i++)
		if (c->slot[i].busy && c->slot[i].work.buffer)
			__atomic_sub_fetch(&c->slot[i].work.buffer->users, 1, __ATOMIC_RELEASE);
	free(c->sent);
	free(c->slot);
	free(c->free_recv);
	free(c->ready);
	rtgt_where_free(&c->where);
	free(c);
}

/**
 * rtgt_connect() - connect to a target
 * @conn: set, NULL when this fails; rtgt_close() releases it
 * @domain: open, on the way to the host; must outlive the connection
 * @params: where to, and how
 * @err: says what is wrong
 *
 * Context: waits, at most timeout_ms for each of a few steps; to look up a name may take longer.
 * Return: 0 or a negative errno: those of rtgt_domain_open(); -ECONNREFUSED when the target
 * refused, -ETIMEDOUT when nobody answered, -EXDEV when another device is on the way to the host
 * than the domain's, -EADDRINUSE when TCP has no port left (iWARP), -EPROTO for a target that errs.
 */
int rtgt_connect(struct rtgt_conn **conn, struct rtgt_domain *domain,
		 const struct rtgt_params *params, struct rtgt_err *err)
{
	struct rtgt_conn *c = calloc(1, sizeof(*c));
	int ret;

	*conn = NULL;
	if (!c)
		return rtgt_fail(err, ENOMEM, "no memory for a connection");
	c->domain = domain;
	c->epoll = -1;
	c->timer = -1;
	ret = make_conn(c, params, err);
	if (ret) {
		free_conn(c);
		return ret;
	}
	__atomic_add_fetch(&domain->users, 1, __ATOMIC_RELAXED);
	*conn = c;
	return 0;
}

/**
 * rtgt_close() - disconnect and release
 * @conn: open, or NULL; operations that are outstanding are dropped, and no longer use their
 *	  buffers
 *
 * Context: waits for the target's answer, at most one second.
 */
void rtgt_close(struct rtgt_conn *conn)
{
	struct rtgt_domain *d;

	if (!conn)
		return;
	d = conn->domain;
	free_conn(conn);
	__atomic_sub_fetch(&d->users, 1, __ATOMIC_RELEASE);
}

/**
 * rtgt_conn_grace() - how long completions may follow the news of the end: longer where all is slow
 * @c: open; its descriptor becomes readable when that is over
 *
 * Return: when it is over, as rtgt_now_ns() counts.
 */
uint64_t rtgt_conn_grace(const struct rtgt_conn *c)
{
	const int part = c->where.cm.timeout_ms / 50, ms = part > 200 ? part : 200;
	const struct itimerspec at = {
		.it_value.tv_sec = ms / 1000, .it_value.tv_nsec = ms % 1000 * 1000000L,
	};

	if (c->timer >= 0)
		timerfd_settime(c->timer, 0, &at, NULL);
	return rtgt_now_ns() + (uint64_t)ms * 1000000u;
}

/**
 * rtgt_conn_client() - what is behind a connection
 * @conn: open
 *
 * Return: lives as long as the connection.
 */
const struct rtgt_client *rtgt_conn_client(const struct rtgt_conn *conn)
{
	return &conn->client;
}

/**
 * rtgt_conn_number() - what the target calls the connection, in debugfs and in its trace
 * @conn: open
 *
 * Return: the number; 0 if the target does not speak rtgt.
 */
uint32_t rtgt_conn_number(const struct rtgt_conn *conn)
{
	return conn->client.peer.conn_id;
}

/**
 * rtgt_conn_payload() - how large an echo may be
 * @conn: open
 *
 * Return: bytes; 0 if the target does not speak rtgt.
 */
uint32_t rtgt_conn_payload(const struct rtgt_conn *conn)
{
	return conn->client.payload;
}

/**
 * rtgt_conn_regions() - how many regions the target has
 * @conn: open
 *
 * Return: 1 or more.
 */
uint32_t rtgt_conn_regions(const struct rtgt_conn *conn)
{
	return conn->client.peer.nr;
}

/**
 * rtgt_conn_region() - what the target said of a region
 * @conn: open
 * @region: counted from 0
 * @facts: filled
 * @err: says what is wrong
 *
 * Return: 0, or -EINVAL if there is no such region.
 */
int rtgt_conn_region(const struct rtgt_conn *conn, uint32_t region,
		     struct rtgt_region_facts *facts, struct rtgt_err *err)
{
	const struct rtgt_region_info *info;

	if (region >= conn->client.peer.nr)
		return rtgt_fail(err, EINVAL, "region %u: the target has %u", region,
				 conn->client.peer.nr);
	info = &conn->client.peer.region[region];
	*facts = (struct rtgt_region_facts) {
		.len = conn->client.layout[region].size,
		.access = info->access & ~RTGT_ACCESS_MORE,
		.rkey = info->rkey,
	};
	return 0;
}

/**
 * rtgt_outstanding() - how many operations have not been taken
 * @conn: open
 *
 * Return: those submitted for which no struct rtgt_done was handed over.
 */
uint32_t rtgt_outstanding(const struct rtgt_conn *conn)
{
	return conn->busy;
}

/**
 * rtgt_fd() - a descriptor that is readable when something may be done
 * @conn: open; the descriptor is its own, and must not be closed or read
 *
 * Return: for poll(), select() and epoll; -1 with RTGT_PARAM_BUSY_POLL.
 */
int rtgt_fd(const struct rtgt_conn *conn)
{
	return conn->epoll;
}
