// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: datagrams.
 *
 * A device has one endpoint for all its clients: a queue pair that lives like a connection
 * without a peer and without an identifier.  A client asks rdma_cm for it (SIDR), is told
 * its number or why not, and that is all there is between the two.
 *
 * An answer needs an address handle.  To make one asks the kernel for the way back, and
 * where the neighbour is not known that takes up to a second, in which the loop stands
 * still.  So a handle is made once for an address, when the first datagram comes from
 * there, and only if the address has asked for the endpoint: its neighbour is known from
 * the answer to that.  A datagram from anywhere else is not answered, and counts as a send
 * error.  An address whose handle could not be made must ask again.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "serve.h"

/* Addresses an endpoint answers to; the one not heard of for longest makes room */
#define WAYS	1024

/* IPv4 in the place of a GRH: at its end, and how it begins */
#define IPV4_AT		20
#define IPV4_SOURCE	32
#define IPV4_BEGINS	0x45

/* Bytes of a path MTU */
static uint32_t mtu_bytes(enum ibv_mtu mtu)
{
	return 128u << mtu;
}

/* ------------------------------------------------------------------ the way back */

static void mapped(uint8_t addr[16], const void *ipv4)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	memcpy(addr, prefix, sizeof(prefix));
	memcpy(addr + sizeof(prefix), ipv4, 4);
}

static struct serve_way *find_way(struct serve_conn *c, const uint8_t addr[16])
{
	struct serve_way *way;

	for (way = TAILQ_FIRST(&c->ways); way; way = TAILQ_NEXT(way, entry))
		if (!memcmp(way->addr, addr, sizeof(way->addr)))
			break;
	return way;
}

static void drop_way(struct serve_conn *c, struct serve_way *way)
{
	TAILQ_REMOVE(&c->ways, way, entry);
	c->nr_ways--;
	if (way->ah)
		ibv_destroy_ah(way->ah);
	free(way);
}

/* Nobody's answer is on it */
static struct serve_way *oldest_way(struct serve_conn *c)
{
	struct serve_way *way = TAILQ_LAST(&c->ways, serve_ways);

	while (way && way->users)
		way = TAILQ_PREV(way, serve_ways, entry);
	return way;
}

/* Whoever is at @peer may send datagrams from now on */
static void expect_from(struct serve_conn *c, const struct sockaddr *peer)
{
	const struct sockaddr_in6 *in6 = (const void *)peer;
	const struct sockaddr_in *in = (const void *)peer;
	struct serve_way *way;
	uint8_t addr[16];

	if (peer->sa_family == AF_INET6)
		memcpy(addr, &in6->sin6_addr, sizeof(addr));
	else
		mapped(addr, &in->sin_addr);
	if (find_way(c, addr))
		return;
	if (c->nr_ways == WAYS) {
		way = oldest_way(c);
		if (!way)
			return;
		drop_way(c, way);
	}
	way = calloc(1, sizeof(*way));
	if (!way)
		return;
	memcpy(way->addr, addr, sizeof(addr));
	TAILQ_INSERT_HEAD(&c->ways, way, entry);
	c->nr_ways++;
}

/* Where a datagram came from, if that has asked for us: what lies before it tells */
static struct serve_way *way_of(struct serve_conn *c, const struct serve_recv *recv)
{
	const uint8_t *head = recv->buf - recv->pool->head;
	const struct ibv_grh *grh = (const void *)head;
	struct serve_way *way = NULL;
	uint8_t addr[16];

	if (head[IPV4_AT] == IPV4_BEGINS) {
		mapped(addr, head + IPV4_SOURCE);
		way = find_way(c, addr);
	}
	return way ? way : find_way(c, grh->sgid.raw);
}

/* A receive context that becomes free uses its way no more */
void serve_ud_done(struct serve_recv *recv)
{
	if (recv->way)
		recv->way->users--;
	recv->way = NULL;
}

/* ------------------------------------------------------------------- the datagrams */

/* One arrived, and its sender is at the other end of some way */
void serve_ud_message(struct serve_recv *recv, struct ibv_wc *wc)
{
	struct serve_conn *c = recv->conn;
	struct serve_way *way = way_of(c, recv);

	if (way && !way->ah) {
		way->ah = ibv_create_ah_from_wc(c->domain->pd, wc,
						(void *)(recv->buf - recv->pool->head), c->port);
		if (!way->ah) {
			drop_way(c, way);
			way = NULL;
		}
	}
	if (!way) {
		serve_count(c->s, RTGT_SEND_ERRORS, 1);
		serve_recv_done(recv);
		return;
	}
	TAILQ_REMOVE(&c->ways, way, entry);
	TAILQ_INSERT_HEAD(&c->ways, way, entry);
	way->users++;
	recv->way = way;
	recv->src_qp = wc->src_qp;
	serve_message(recv);
}

/* ------------------------------------------------------------------- the endpoint */

static struct serve_conn *find_endpoint(struct server *s, const struct ibv_context *verbs)
{
	struct serve_conn *c;

	for (c = TAILQ_FIRST(&s->conns); c; c = TAILQ_NEXT(c, entry))
		if (c->state == SERVE_LIVE && c->dev->verbs == verbs)
			break;
	return c;
}

/* Its queue pair is made with the first client's identifier, which it does not keep */
static int build_endpoint(struct serve_conn *c, struct rdma_cm_id *id)
{
	const struct rdma_conn_param none = { };
	struct ibv_port_attr attr;
	int ret = ibv_query_port(id->verbs, id->port_num, &attr);

	if (ret)
		return -ret;
	if (c->recv_size > mtu_bytes(attr.active_mtu))
		c->recv_size = mtu_bytes(attr.active_mtu);
	c->port = id->port_num;
	c->cm_id = id;
	ret = serve_build(c, &none);
	c->cm_id = NULL;
	return ret;
}

/* NULL with the reason */
static struct serve_conn *make_endpoint(struct server *s, struct rdma_cm_id *id, uint32_t *why,
					uint32_t *arg)
{
	struct serve_conn *c;
	int ret;

	*why = serve_full(s, arg);
	if (*why)
		return NULL;
	c = serve_conn_create(s);
	if (!c) {
		*why = serve_reject_reason(-ENOMEM, arg);
		return NULL;
	}
	serve_admit(c);
	ret = build_endpoint(c, id);
	if (!ret) {
		serve_established(c);
		return c;
	}
	serve_close(c, "the endpoint could not be made");
	*why = serve_reject_reason(ret, arg);
	return NULL;
}

static void answer(struct serve_conn *c, struct rdma_cm_id *id)
{
	uint8_t priv[RTGT_REP_UD_MAX];
	const struct rtgt_rep_info w = {
		.recv_size = c->recv_size,
		.recv_depth = (uint16_t)c->s->cfg.recv_depth,
		.conn_id = c->id,
	};
	struct rdma_conn_param param = {
		.private_data = priv,
		.private_data_len = (uint8_t)rtgt_encode_rep(priv, sizeof(priv), &w),
		.qp_num = c->qp->qp_num,
	};

	expect_from(c, rdma_get_peer_addr(id));
	rdma_accept(id, &param);
}

/* A client asks for the endpoint of the device its request came through */
void serve_ud_request(struct server *s, struct rdma_cm_id *id, const void *priv, size_t len)
{
	struct serve_conn *c = NULL;
	struct rtgt_req_info hello;
	uint32_t why, arg = 0;

	why = (uint32_t)rtgt_decode_req(priv, len, &hello, &arg);
	if (!why)
		c = find_endpoint(s, id->verbs);
	if (!why && !c)
		c = make_endpoint(s, id, &why, &arg);
	if (c)
		answer(c, id);
	else
		serve_reject(s, id, why, arg);
	rdma_destroy_id(id);
}

/* No queue pair sends on its ways any more */
void serve_ud_destroy(struct serve_conn *c)
{
	struct serve_way *way;

	while ((way = TAILQ_FIRST(&c->ways)))
		drop_way(c, way);
}
