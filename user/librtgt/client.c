// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An initiator: a connection, what its target offers, and what its operations need: slots, a
 * ring for the send queue, and messages.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "internal.h"

/* The bodies of requests and replies other than an echo fit into this */
#define SMALL_BODY	64

/* Replies that list extents need not be larger, however large they may be */
#define LIST_BODY	65536u

/* What several messages at once have room for of such a list */
#define SOME_BODY	1024u

/* Work requests that ask for no completion stay in the send queue for a while */
#define SENT_MIN	32u

#define PORT_ATTEMPTS	8

static void log_peer(const struct rtgt_client *c)
{
	const struct rtgt_log *log = c->cm.param.log;
	const struct rtgt_rep_info *p = &c->peer;
	char access[32];

	if (!log)
		return;
	if (p->rtgt)
		rtgt_log(log, "rep", "rtgt version %u, connection %u%s%s, recv_size %u recv_depth %u",
			 p->version, p->conn_id,
			 p->features & RTGT_F_PRIVATE ? ", regions of its own" : "",
			 p->features & RTGT_F_ASK ? ", capabilities on request" : "",
			 p->recv_size, p->recv_depth);
	else
		rtgt_log(log, "rep", "a plain capability, no rtgt magic behind it");
	for (uint32_t i = 0; i < p->nr; i++) {
		const struct rtgt_region_info *mem = &p->region[i];

		rtgt_access_str(mem->access, access, sizeof(access));
		rtgt_log(log, "rep", "region %u: remote addr 0x%llx rkey 0x%x len %llu access %s",
			 i, (unsigned long long)mem->addr, mem->rkey,
			 (unsigned long long)mem->len, access);
	}
}

/* Bytes a reply's body may have */
static uint32_t reply_body(const struct rtgt_client *c)
{
	const uint32_t most = c->nr_messages > 1 ? SOME_BODY : LIST_BODY;
	uint32_t list = c->peer.recv_size - (uint32_t)sizeof(struct rtgt_msg);
	uint32_t body = c->payload > SMALL_BODY ? c->payload : SMALL_BODY;

	list = list < most ? list : most;
	for (uint32_t i = 0; i < c->peer.nr; i++)
		if (c->peer.region[i].access & RTGT_ACCESS_MORE && body < list)
			body = list;
	return body;
}

/* The message buffers wait for the REP: it says how large a SEND may be */
static int make_messages(struct rtgt_client *c, uint32_t payload, bool odp, struct rtgt_err *err)
{
	const unsigned int needs = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
	const int access = odp && (c->qp.odp & needs) == needs ? IBV_ACCESS_ON_DEMAND : 0;
	const struct rtgt_log *log = c->cm.param.log;
	uint32_t body;
	int ret;

	if (!c->peer.rtgt)
		return 0;
	if (c->peer.recv_size < sizeof(struct rtgt_msg) + sizeof(struct rtgt_range))
		return rtgt_fail(err, EPROTO, "the target takes SENDs of %u bytes only: too few",
				 c->peer.recv_size);
	if (!c->peer.recv_depth)
		return rtgt_fail(err, EPROTO, "the target says that it has no receive");
	c->payload = c->peer.recv_size - (uint32_t)sizeof(struct rtgt_msg);
	/* a datagram is one packet: ours must leave, and come back */
	if (c->head && c->payload > c->qp.mtu - sizeof(struct rtgt_msg))
		c->payload = c->qp.mtu - (uint32_t)sizeof(struct rtgt_msg);
	if (c->payload > payload)
		c->payload = payload;
	/* the target posts so many receives: more messages would wait for one another */
	c->messages_max = c->peer.recv_depth;
	c->free_tx = calloc(c->nr_messages, sizeof(*c->free_tx));
	if (!c->free_tx)
		return rtgt_fail(err, ENOMEM, "no memory for %u messages", c->nr_messages);
	/* the first is used first: that is the one of rtgt_client_tx() */
	for (; c->nr_free_tx < c->nr_messages; c->nr_free_tx++)
		c->free_tx[c->nr_free_tx] = c->nr_messages - c->nr_free_tx - 1;
	body = c->payload > SMALL_BODY ? c->payload : SMALL_BODY;
	c->tx_stride = (uint32_t)sizeof(struct rtgt_msg) + (c->copies ? RTGT_COPY_MAX : body);
	c->rx_stride = c->head + (uint32_t)sizeof(struct rtgt_msg) + reply_body(c);
	ret = rtgt_mr_create(&c->tx, c->qp.pd, "request", (size_t)c->nr_messages * c->tx_stride,
			     access, log, err);
	if (ret)
		return ret;
	return rtgt_mr_create(&c->rx, c->qp.pd, "reply", (size_t)c->nr_messages * c->rx_stride,
			      access | IBV_ACCESS_LOCAL_WRITE, log, err);
}

static int add_fd(const struct rtgt_client *c, int fd, uint32_t events, uint32_t what,
		  struct rtgt_err *err)
{
	struct epoll_event ev = { .events = events, .data.u32 = what };

	return fd < 0 || !epoll_ctl(c->waits, EPOLL_CTL_ADD, fd, &ev) ? 0 :
	       rtgt_fail(err, errno, "no epoll: %s", strerror(errno));
}

/* Of completions the edge counts: events that were not taken do not wake anybody */
static int make_waits(struct rtgt_client *c, struct rtgt_err *err)
{
	int ret;

	if (!c->qp.channel)
		return 0;
	c->waits = epoll_create1(EPOLL_CLOEXEC);
	if (c->waits < 0)
		return rtgt_fail(err, errno, "no epoll: %s", strerror(errno));
	ret = add_fd(c, c->qp.channel->fd, EPOLLIN | EPOLLET, RTGT_WAITS_COMPLETION, err);
	if (!ret)
		ret = add_fd(c, c->cm.channel->fd, EPOLLIN, RTGT_WAITS_CM, err);
	return ret ? ret : add_fd(c, rtgt_cm_cancel_fd(&c->cm), EPOLLIN, RTGT_WAITS_CANCEL, err);
}

static int make_slots(struct rtgt_client *c, struct rtgt_err *err)
{
	c->slot = calloc(c->depth, sizeof(*c->slot));
	c->ready = calloc(c->depth, sizeof(*c->ready));
	c->sent = calloc(c->sent_max, sizeof(*c->sent));
	return c->slot && c->ready && c->sent ? 0 :
	       rtgt_fail(err, ENOMEM, "no memory for %u operations", c->depth);
}

/* The capability of a region that has one extent, where the REP has none */
static int learn_capability(struct rtgt_client *c, uint32_t region, struct rtgt_err *err)
{
	struct rtgt_layout *layout = &c->layout[region];
	int ret = rtgt_client_extents(c, region, err);

	if (ret)
		return ret;
	c->peer.region[region] = layout->extent[0];
	if (layout->nr > 1)
		return 0;
	rtgt_layout_free(layout);
	*layout = (struct rtgt_layout) { .size = c->peer.region[region].len, .nr = 1 };
	return 0;
}

/* Learn what the regions of a new connection are made of */
static int learn_layout(struct rtgt_client *c, struct rtgt_err *err)
{
	bool ask = c->peer.features & RTGT_F_ASK;
	int ret = 0;

	for (uint32_t i = 0; i < c->peer.nr && !ret; i++) {
		c->layout[i] = (struct rtgt_layout) { .size = c->peer.region[i].len, .nr = 1 };
		if (ask)
			ret = learn_capability(c, i, err);
		else if (c->peer.rtgt && c->peer.region[i].access & RTGT_ACCESS_MORE)
			ret = rtgt_client_extents(c, i, err);
	}
	return ret;
}

/* One attempt; closed already when it fails */
static int open_once(struct rtgt_client *c, const struct rtgt_client_param *param,
		     struct rtgt_err *err)
{
	const unsigned int depth = param->depth ? param->depth : 1;
	const unsigned int messages = param->messages ? param->messages : 1;
	const unsigned int sent = 2 * depth > SENT_MIN ? 2 * depth : SENT_MIN;
	const struct rtgt_qp_param qp = {
		.send_depth = RTGT_WAKES_MAX + sent, .recv_depth = messages,
		.poll = param->poll, .sges = param->sges, .heads = param->copies,
		.inline_data = param->flags & IBV_SEND_INLINE, .pd = param->pd,
	};
	struct rtgt_req req;
	int ret;

	memset(c, 0, sizeof(*c));
	c->waits = -1;
	c->timer = -1;
	c->depth = depth;
	c->nr_messages = messages;
	c->sent_max = sent;
	c->copies = param->copies;
	c->head = param->cm.transport == RTGT_UD ? RTGT_GRH : 0;
	c->sges = param->sges;
	c->flags = param->flags;
	rtgt_encode_req(&req);
	ret = rtgt_cm_resolve(&c->cm, &param->cm, err);
	if (!ret)
		ret = rtgt_qp_create(&c->qp, &c->cm, &qp, err);
	if (!ret)
		ret = rtgt_cm_connect(&c->cm, &req, sizeof(req), err);
	if (!ret)
		ret = rtgt_qp_address(&c->qp, err);
	if (!ret) {
		rtgt_qp_log(&c->qp);
		ret = rtgt_wire_rep(&c->peer, c->cm.rep, c->cm.rep_len, err);
	}
	if (!ret) {
		log_peer(c);
		ret = make_messages(c, param->payload, param->odp, err);
	}
	if (!ret)
		ret = make_slots(c, err);
	if (!ret)
		ret = make_waits(c, err);
	if (!ret)
		ret = learn_layout(c, err);
	if (ret)
		rtgt_client_close(c);
	return ret;
}

/**
 * rtgt_client_open() - connect to a target and read what it offers
 * @c: filled; closed already when this fails
 * @param: where to, and how
 * @err: says what is wrong
 *
 * If TCP uses the local port that rdma_cm chose (iWARP), this tries again with another one, at
 * most PORT_ATTEMPTS times in all.
 *
 * Return: 0, or a negative errno.
 */
int rtgt_client_open(struct rtgt_client *c, const struct rtgt_client_param *param,
		     struct rtgt_err *err)
{
	unsigned int attempts = 0;
	int ret;

	do {
		ret = open_once(c, param, err);
	} while (ret == -EADDRINUSE && ++attempts < PORT_ATTEMPTS);
	return ret;
}

/**
 * rtgt_client_close() - disconnect and release everything
 * @c: open, closed, or zero; the caller's registrations are gone already
 */
void rtgt_client_close(struct rtgt_client *c)
{
	rtgt_cm_disconnect(&c->cm);
	for (unsigned int i = 0; i < RTGT_MAX_REGIONS; i++)
		rtgt_layout_free(&c->layout[i]);
	rtgt_mr_destroy(&c->tx);
	rtgt_mr_destroy(&c->rx);
	rtgt_qp_destroy(&c->qp);
	/* the device holds no buffer any more */
	rtgt_slots_drop(c);
	/* made behind the slots */
	if (c->sent && c->waits >= 0)
		close(c->waits);
	free(c->free_tx);
	free(c->slot);
	free(c->ready);
	free(c->sent);
	c->free_tx = NULL;
	c->slot = NULL;
	c->ready = NULL;
	c->sent = NULL;
	rtgt_cm_close(&c->cm);
}
