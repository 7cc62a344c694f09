// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The public library: connections.  Their operations are in work.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "public.h"

#define DEPTH		16
#define PAYLOAD		4096

static int add_fd(const struct rtgt_conn *c, int fd, struct rtgt_err *err)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &ev) ?
	       rtgt_fail(err, errno, "no epoll: %s", strerror(errno)) : 0;
}

static void drop_epoll(struct rtgt_conn *c)
{
	if (c->client.timer >= 0)
		close(c->client.timer);
	if (c->epoll >= 0)
		close(c->epoll);
	c->client.timer = -1;
	c->epoll = -1;
}

static int make_epoll(struct rtgt_conn *c, struct rtgt_err *err)
{
	struct rtgt_client *client = &c->client;
	int ret;

	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll < 0)
		return rtgt_fail(err, errno, "no epoll: %s", strerror(errno));
	client->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (client->timer < 0)
		return rtgt_fail(err, errno, "no timer: %s", strerror(errno));
	ret = add_fd(c, client->qp.channel->fd, err);
	if (!ret)
		ret = add_fd(c, client->cm.channel->fd, err);
	if (!ret)
		ret = add_fd(c, client->timer, err);
	/* if it is armed, or an event was not read, whatever has come makes it readable */
	if (!ret && !client->armed && !client->unread)
		ret = rtgt_client_arm(client, err);
	/* the news of the end has come already */
	if (client->ending_ns || client->broken)
		rtgt_client_grace(client);
	return ret < 0 ? ret : 0;
}

/*
 * siw may leave the first message of a connection in the peer's socket until more comes, and a
 * program that polls by itself would never wake it: so an echo makes both ends heard, here.
 */
static int be_heard(struct rtgt_conn *c, struct rtgt_err *err)
{
	const struct rtgt_work nothing = { .type = RTGT_WORK_ECHO };
	struct rtgt_client *client = &c->client;
	struct rtgt_done done;
	int ret;

	if (!rtgt_qp_unheard(&client->qp) || !client->peer.rtgt)
		return 0;
	ret = rtgt_client_submit(client, &nothing, NULL, NULL, err);
	if (!ret)
		ret = rtgt_client_wait(client, &done, 1, client->cm.param.timeout_ms, err);
	return ret < 0 ? ret : rtgt_client_why(client, &done, err);
}

static int make_conn(struct rtgt_conn *c, const struct rtgt_params *params, struct rtgt_err *err)
{
	struct rtgt_client_param param = {
		.poll = params && params->flags & RTGT_PARAM_BUSY_POLL,
		.copies = true, .pd = c->domain->pd,
	};
	int ret = rtgt_where_make(&c->where, params, err);

	if (ret)
		return ret;
	param.cm = c->where.cm;
	param.depth = params->depth ? params->depth : DEPTH;
	param.messages = param.depth;
	param.payload = params->payload ? params->payload : PAYLOAD;
	ret = rtgt_client_open(&c->client, &param, err);
	if (!ret)
		ret = be_heard(c, err);
	/* from now on: the program may submit and poll before it calls rtgt_complete() */
	if (!ret)
		ret = rtgt_client_arm(&c->client, err);
	return ret < 0 ? ret : 0;
}

static void free_conn(struct rtgt_conn *c)
{
	drop_epoll(c);
	rtgt_client_close(&c->client);
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
	c->client.timer = -1;
	c->client.waits = -1;
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
	return conn->client.busy;
}

/**
 * rtgt_fd() - a descriptor that is readable when something may be done
 * @conn: open; the descriptor is its own, and must not be closed or read
 *
 * It is made by the first call: each event costs more from then on.
 *
 * Return: for poll(), select() and epoll; -1 with RTGT_PARAM_BUSY_POLL, and with errno when none
 * can be made.
 */
int rtgt_fd(const struct rtgt_conn *conn)
{
	struct rtgt_conn *c = (struct rtgt_conn *)(uintptr_t)conn;
	struct rtgt_err err;

	if (c->epoll < 0 && c->client.qp.channel && make_epoll(c, &err)) {
		drop_epoll(c);
		errno = err.code;
	}
	return c->epoll;
}
