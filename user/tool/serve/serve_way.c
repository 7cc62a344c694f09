// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: address handles, by which datagrams are answered.
 *
 * An answer needs an address handle.  To make one asks the kernel for the way back, and
 * where the neighbour is not known that takes up to a second, in which the loop stands
 * still.  So a handle is made once for an address, when the first datagram comes from
 * there, and only if the address has asked for the endpoint: its neighbour is known from
 * the answer to that.  A datagram from anywhere else is not answered, and counts as a send
 * error.  An address whose handle could not be made must ask again.
 */
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
void serve_way_expect(struct serve_conn *c, const struct sockaddr *peer)
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

/* A datagram arrived: can its sender be answered?  If not, that is all there is to it */
bool serve_way_take(struct serve_recv *recv, struct ibv_wc *wc)
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
		return false;
	}
	TAILQ_REMOVE(&c->ways, way, entry);
	TAILQ_INSERT_HEAD(&c->ways, way, entry);
	way->users++;
	recv->way = way;
	recv->src_qp = wc->src_qp;
	return true;
}

/* No queue pair sends on its ways any more */
void serve_ways_destroy(struct serve_conn *c)
{
	struct serve_way *way;

	while ((way = TAILQ_FIRST(&c->ways)))
		drop_way(c, way);
}
