// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: connections, from the peer's REQ to the release.
 *
 *   REQ arrives	judged (kmod/proto/proto.c), admitted, built, accepted; or refused, with the
 *			reasons the module has
 *   RTU arrives	CONNECTING -> LIVE
 *   the end		whatever comes first of: the peer disconnects, a completion fails, the
 *			server stops.  serve_close() marks the connection, once, and serve_reap()
 *			releases it when nothing is being worked on
 *
 * A connection's keys are valid before its REP leaves: ibv_reg_mr() has returned by then,
 * or the window's binding has completed.
 * The end of a connection that took a completion queue with errors in it is told by the
 * peer at about the same time: what it did comes before that it left, so its completions
 * are looked at first.
 *
 * The endpoint of datagrams goes the same way (serve_ud.c), but no peer ends it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve.h"

/* ------------------------------------------------------------------------- the end */

static const char *peer_of(struct rdma_cm_id *id, char *buf, size_t size)
{
	const struct sockaddr *addr = rdma_get_peer_addr(id);
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	char host[INET6_ADDRSTRLEN] = "?";

	if (addr->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(buf, size, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(buf, size, "%s:%u", host, ntohs(in->sin_port));
	}
	return buf;
}

/* Refuse a request, with the reason and what goes with it */
void serve_reject(struct server *s, struct rdma_cm_id *id, uint32_t reason, uint32_t arg)
{
	uint8_t priv[RTGT_REJ_MAX];
	size_t len = rtgt_encode_rej(priv, sizeof(priv), reason, arg);
	char peer[SERVE_PEER];

	serve_count(s, rtgt_reject_counter(reason), 1);
	serve_say(s, "connection from %s: refused: %s (%u)", peer_of(id, peer, sizeof(peer)),
		  rtgt_rej_name(reason), arg);
	rdma_reject(id, priv, (uint8_t)len);
}

static void destroy(struct serve_conn *c)
{
	struct server *s = c->s;

	if (c->ready)
		TAILQ_REMOVE(&s->ready, c, ready_entry);
	if (s->cfg.private)
		serve_windows_destroy(c->domain);
	serve_io_destroy(c);
	serve_ways_destroy(c);
	if (s->cfg.private)
		serve_domain_destroy(c->domain, true);
	if (c->cm_id)
		rdma_destroy_id(c->cm_id);
	TAILQ_REMOVE(&s->conns, c, entry);
	s->nr_conns--;
	s->lost += c->cm_id && !c->accepted;
	serve_count(s, RTGT_CONNS_CLOSED, 1);
	serve_say(s, "connection %u from %s: closed: %s", c->id, c->peer, c->why);
	free(c);
}

static void say_goodbye(struct serve_conn *c)
{
	if (c->accepted)
		rdma_disconnect(c->cm_id);
	else if (c->cm_id)
		serve_reject(c->s, c->cm_id, c->refusal, c->refusal_arg);
}

/* Release what was closed, when it is drained; no completion of it is being worked on */
void serve_reap(struct server *s)
{
	struct serve_conn *c;

	while ((c = TAILQ_FIRST(&s->dying))) {
		TAILQ_REMOVE(&s->dying, c, dying_entry);
		if (!c->draining) {
			say_goodbye(c);
			c->draining = serve_io_drain(c);
			if (c->draining)
				continue;
		}
		destroy(c);
	}
}

/* The server ends: whatever state they are in, and whatever they wait for */
void serve_close_all(struct server *s)
{
	struct serve_conn *c;

	s->stop = true;
	for (c = TAILQ_FIRST(&s->conns); c; c = TAILQ_NEXT(c, entry)) {
		/* the reason in the REJ of a client that has no REP yet */
		if (c->state == SERVE_CONNECTING) {
			c->refusal = RTGT_REJ_STOPPING;
			c->refusal_arg = ESHUTDOWN;
		}
		serve_close(c, "the server ends");
	}
	serve_reap(s);
	while ((c = TAILQ_FIRST(&s->conns)))
		destroy(c);
}

/* ---------------------------------------------------------------------- the REQ */

/* The reason an errno of a connection that could not be built is told with */
uint32_t serve_reject_reason(int err, uint32_t *arg)
{
	*arg = (uint32_t)-err;
	switch (-err) {
	case ENODEV:
	case ESHUTDOWN:
		return RTGT_REJ_STOPPING;
	case EOPNOTSUPP:
		return RTGT_REJ_DEVICE;
	default:
		return RTGT_REJ_RESOURCES;
	}
}

static size_t welcome(const struct serve_conn *c, uint8_t *priv, size_t size)
{
	struct rtgt_rep_info w = {
		.features = c->s->cfg.private ? RTGT_F_PRIVATE : 0,
		.recv_size = c->recv_size,
		.recv_depth = (uint16_t)serve_requests_max(&c->s->cfg),
		.conn_id = c->id,
		.nr = (uint16_t)c->domain->nr,
	};

	for (unsigned int i = 0; i < c->domain->nr; i++) {
		const struct serve_map *map = &c->domain->map[i];

		w.region[i].addr = map->iova[0];
		w.region[i].len = serve_extent_len(map, 0);
		w.region[i].rkey = serve_key(map, 0);
		w.region[i].access = serve_map_access(map);
	}
	return rtgt_encode_rep(priv, size, &w);
}

static uint8_t least(uint8_t asked, int can)
{
	return asked < can ? asked : (uint8_t)can;
}

/* All a queue pair needs, and that, in RTS.  0 or a negative errno */
int serve_build(struct serve_conn *c, const struct rdma_conn_param *req)
{
	const struct ibv_device_attr *attr;
	int ret = 0;

	c->dev = serve_device_get(c->s, c->cm_id->verbs, &ret);
	if (!c->dev)
		return ret;
	attr = &c->dev->attr.orig_attr;
	c->param.responder_resources = least(req->responder_resources, attr->max_qp_rd_atom);
	c->param.initiator_depth = least(req->initiator_depth, attr->max_qp_init_rd_atom);
	c->can_read = c->s->cfg.transport == SERVE_RC && c->param.initiator_depth > 0;
	if (c->s->cfg.private)
		ret = serve_domain_create(&c->domain, c->s, c->dev, c->id);
	else
		c->domain = c->dev->shared;
	if (!ret)
		ret = serve_io_create(c);
	return ret ? ret : serve_windows_create(c->domain);
}

static int accept_conn(struct serve_conn *c)
{
	uint8_t priv[RTGT_REP_MAX];
	struct rdma_conn_param param = c->param;

	param.private_data = priv;
	param.private_data_len = (uint8_t)welcome(c, priv, sizeof(priv));
	if (c->s->cfg.faulty)
		param.private_data_len = (uint8_t)serve_fault_rep(c, priv, param.private_data_len);
	if (!param.private_data_len)
		return 0;
	param.flow_control = 1;
	param.rnr_retry_count = 7;
	param.srq = c->s->cfg.srq;
	param.qp_num = c->qp->qp_num;
	if (rdma_accept(c->cm_id, &param))
		return -errno;
	c->accepted = true;
	return 0;
}

/* What could not be built, or accepted, is refused when it is released */
static void give_up(struct serve_conn *c, int err)
{
	c->refusal = serve_reject_reason(err, &c->refusal_arg);
	serve_close(c, "could not be accepted");
}

/* @recv has waited for this moment, and is free from now on */
static void accept_now(struct serve_recv *recv)
{
	struct serve_conn *c = recv->conn;
	int ret = accept_conn(c);

	serve_recv_done(recv);
	if (ret)
		give_up(c, ret);
}

/* The keys are valid before the peer has them: where they are windows', that takes a turn */
static int accept_bound(struct serve_conn *c)
{
	struct serve_recv *recv = TAILQ_FIRST(c->own ? &c->own->free : &c->pool->free);
	struct serve_map *map[RTGT_MAX_REGIONS];
	unsigned int nr = 0;

	for (unsigned int i = 0; i < c->domain->nr; i++)
		if (c->domain->map[i].mw)
			map[nr++] = &c->domain->map[i];
	if (!nr && c->s->cfg.faulty && serve_fault_accept(c, accept_now))
		return 0;
	if (!nr)
		return accept_conn(c);
	recv->conn = c;
	serve_bind(recv, map, nr, accept_now);
	return 0;
}

/* One that nobody knows of yet; NULL without memory */
struct serve_conn *serve_conn_create(struct server *s)
{
	struct serve_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->s = s;
	c->recv_size = s->cfg.recv_size;
	c->refusal = RTGT_REJ_RESOURCES;
	c->refusal_arg = EIO;
	snprintf(c->peer, sizeof(c->peer), "0.0.0.0:0");
	TAILQ_INIT(&c->sending);
	TAILQ_INIT(&c->ways);
	return c;
}

/* Why there is no place for one more; 0 if there is */
uint32_t serve_full(const struct server *s, uint32_t *arg)
{
	if (s->stop || (s->cfg.count && s->next_id - s->lost >= s->cfg.count))
		return RTGT_REJ_STOPPING;
	if (s->nr_conns < s->cfg.max_conns)
		return 0;
	*arg = s->cfg.max_conns;
	return RTGT_REJ_FULL;
}

/* It counts from here on, and is released like any other */
void serve_admit(struct serve_conn *c)
{
	c->id = ++c->s->next_id;
	TAILQ_INSERT_TAIL(&c->s->conns, c, entry);
	c->s->nr_conns++;
	serve_count(c->s, RTGT_CONNS_ACCEPTED, 1);
}

/* A REQ arrived */
void serve_conn_request(struct server *s, struct rdma_cm_id *id,
			const struct rdma_conn_param *req)
{
	struct serve_conn *c = serve_conn_create(s);
	struct rtgt_req_info hello;
	uint32_t why, arg = 0;
	int ret;

	if (!c) {
		rdma_reject(id, NULL, 0);
		rdma_destroy_id(id);
		return;
	}
	why = (uint32_t)rtgt_decode_req(req->private_data, req->private_data_len, &hello, &arg);
	if (!why)
		why = serve_full(s, &arg);
	if (!why && s->cfg.faulty)
		why = serve_fault_request(s, &arg);
	if (why) {
		serve_reject(s, id, why, arg);
		rdma_destroy_id(id);
		free(c);
		return;
	}
	c->cm_id = id;
	c->plain = hello.plain;
	peer_of(id, c->peer, sizeof(c->peer));
	id->context = c;
	serve_admit(c);
	ret = serve_build(c, req);
	if (!ret)
		ret = accept_bound(c);
	if (ret)
		give_up(c, ret);
}

/* ------------------------------------------------------------------ rdma_cm's events */

/* rdma_cm says something of a connection that there is */
void serve_conn_event(struct serve_conn *c, enum rdma_cm_event_type event)
{
	switch (event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		if (!c->ignored)
			serve_established(c);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (c->s->cfg.faulty && serve_fault_dreq(c))
			break;
		serve_io_poll(c);
		serve_close(c, "disconnected");
		break;
	case RDMA_CM_EVENT_REJECTED:
		serve_io_poll(c);
		serve_close(c, "disconnected");
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		serve_close(c, rdma_event_str(event));
		break;
	default:
		break;
	}
}
