// SPDX-License-Identifier: GPL-2.0
/*
 * The table of services, and functions that several services use.  A service, or one with
 * variants, is a file, service_NAME.c.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "core/mem.h"
#include "proto/proto.h"
#include "registration/region.h"
#include "target/conn.h"
#include "target/port.h"
#include "target/service.h"

/* The first one is the service of a new port. */
static const struct rtgt_service *const services[] = {
	&rtgt_service_rtgt,
	&rtgt_service_rping,
	&rtgt_service_rping_inv,
	&rtgt_service_sink,
};

/* A service of the table, counted from 0, or NULL after the last one */
const struct rtgt_service *rtgt_service_nth(unsigned int n)
{
	return n < ARRAY_SIZE(services) ? services[n] : NULL;
}

/* The service of this name, or NULL */
const struct rtgt_service *rtgt_service_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(services); i++)
		if (!strcmp(services[i]->name, name))
			return services[i];
	return NULL;
}

/* rtgt_service.request of a service that accepts any private data: every client is a plain one. */
int rtgt_service_accept_any(struct rtgt_conn *conn, const void *priv, size_t len, u32 *arg)
{
	conn->plain = true;
	return 0;
}

/**
 * rtgt_service_capability() - implement rtgt_service.reply: the capabilities of all regions
 * @conn: connection
 * @priv: buffer for the private data of the REP
 * @size: bytes of the buffer
 *
 * On iWARP no rkey is valid yet: then addresses and rkeys are 0, and RTGT_F_ASK is set.
 * Return: number of bytes written; 0 for a port without regions.
 */
size_t rtgt_service_capability(const struct rtgt_conn *conn, void *priv, size_t size)
{
	struct rtgt_domain *dom = conn->domain;
	struct rtgt_rep_info rep = {
		.features = (conn->port->cfg.private ? RTGT_F_PRIVATE : 0) |
			    (conn->iwarp ? RTGT_F_ASK : 0),
		.recv_size = conn->recv_size,
		.recv_depth = conn->requests_max,
		.conn_id = conn->id,
		.nr = dom->nr,
	};
	unsigned int i;

	if (!dom->nr)
		return 0;
	mutex_lock(&dom->lock);
	for (i = 0; i < dom->nr; i++) {
		const struct rtgt_map *map = &dom->map[i];

		rep.region[i].len = map->extent[0].len;
		rep.region[i].access = rtgt_map_access(map);
		if (conn->iwarp)
			continue;
		rep.region[i].addr = map->extent[0].iova;
		rep.region[i].rkey = rtgt_extent_rkey(&map->extent[0]);
	}
	mutex_unlock(&dom->lock);
	return rtgt_encode_rep(priv, size, &rep);
}

/**
 * rtgt_service_endpoint() - write the private data for a datagram client
 * @conn: endpoint
 * @priv: buffer for the private data
 * @size: bytes of the buffer
 *
 * It contains no capability, because UD has no RDMA operations.
 * Return: number of bytes written.
 */
size_t rtgt_service_endpoint(const struct rtgt_conn *conn, void *priv, size_t size)
{
	struct rtgt_rep_info rep = {
		.recv_size = conn->recv_size,
		.recv_depth = conn->requests_max,
		.conn_id = conn->id,
	};

	return rtgt_encode_rep(priv, size, &rep);
}
