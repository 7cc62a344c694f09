// SPDX-License-Identifier: GPL-2.0
/*
 * The table of services, and what several of them do alike.  Each service is a file of
 * its own, service_NAME.c.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "core/mem.h"
#include "proto/proto.h"
#include "registration/reg.h"
#include "registration/region.h"
#include "target/conn.h"
#include "target/port.h"
#include "target/service.h"
#include "target/services.h"

/* A port speaks the first one unless the administrator names another. */
static const struct rtgt_service *const services[] = {
	&rtgt_service_rtgt,
	&rtgt_service_rping,
	&rtgt_service_sink,
};

/**
 * rtgt_service_nth() - walk the table of services
 * @n: 0, 1, ...
 *
 * Return: the service, or NULL after the last one.
 */
const struct rtgt_service *rtgt_service_nth(unsigned int n)
{
	return n < ARRAY_SIZE(services) ? services[n] : NULL;
}

/**
 * rtgt_service_find() - look a service up
 * @name: as the administrator wrote it
 *
 * Return: the service or NULL.
 */
const struct rtgt_service *rtgt_service_find(const char *name)
{
	const struct rtgt_service *service;
	unsigned int i;

	for (i = 0; (service = rtgt_service_nth(i)); i++)
		if (!strcmp(service->name, name))
			break;
	return service;
}

/**
 * rtgt_service_accept_any() - a rtgt_service.request that judges nothing
 * @conn: connection; its client is a plain one
 * @priv: not looked at
 * @len: likewise
 * @arg: not set
 *
 * Return: 0.
 */
int rtgt_service_accept_any(struct rtgt_conn *conn, const void *priv, size_t len, u32 *arg)
{
	conn->plain = true;
	return 0;
}

/**
 * rtgt_service_capability() - a rtgt_service.reply that tells of all regions
 * @conn: connection
 * @priv: the REP's private data
 * @size: room there
 *
 * Return: bytes written; none for a port without regions.
 */
size_t rtgt_service_capability(const struct rtgt_conn *conn, void *priv, size_t size)
{
	struct rtgt_domain *dom = conn->domain;
	struct rtgt_rep_info rep = {
		.features = conn->port->cfg.private ? RTGT_F_PRIVATE : 0,
		.recv_size = conn->recv_size,
		.recv_depth = conn->recv_depth,
		.conn_id = conn->id,
		.nr = dom->nr,
	};
	unsigned int i;

	if (!dom->nr)
		return 0;
	/* a client whose REP holds no capability asks for it */
	if (!dom->reg->ops->before_rep)
		return rtgt_service_endpoint(conn, priv, size);
	/* a key that is just being made is waited for */
	mutex_lock(&dom->lock);
	for (i = 0; i < dom->nr; i++) {
		const struct rtgt_map *map = &dom->map[i];

		rep.region[i].addr = map->extent[0].mr->iova;
		rep.region[i].len = rtgt_extent_len(map, 0);
		rep.region[i].rkey = map->extent[0].mr->rkey;
		rep.region[i].access = rtgt_map_access(map);
	}
	mutex_unlock(&dom->lock);
	return rtgt_encode_rep(priv, size, &rep);
}

/**
 * rtgt_service_endpoint() - what a datagram client is told
 * @conn: endpoint
 * @priv: the private data
 * @size: room there
 *
 * No capability: a datagram reaches no memory.
 *
 * Return: bytes written.
 */
size_t rtgt_service_endpoint(const struct rtgt_conn *conn, void *priv, size_t size)
{
	struct rtgt_rep_info rep = {
		.recv_size = conn->recv_size,
		.recv_depth = conn->recv_depth,
		.conn_id = conn->id,
	};

	return rtgt_encode_rep(priv, size, &rep);
}
