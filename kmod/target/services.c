// SPDX-License-Identifier: GPL-2.0
/*
 * The services, and functions that several of them use.  A service, or one with variants, is a
 * file, service_NAME.c, or of another module, which registers it.
 *
 * A port keeps the module of its service from the store of the attribute until another one is
 * stored or the port is gone, so that rmmod fails meanwhile.
 */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "core/mem.h"
#include "proto/proto.h"
#include "registration/region.h"
#include "target/conn.h"
#include "target/ops.h"
#include "target/port.h"
#include "target/recv.h"
#include "target/send.h"
#include "target/service.h"

/* In the order in which configfs lists them */
static const struct rtgt_service *const own[] = {
	&rtgt_service_rtgt,
	&rtgt_service_rping,
	&rtgt_service_rping_inv,
	&rtgt_service_sink,
};

/* Those of other modules, under the lock */
static LIST_HEAD(others);
static DEFINE_MUTEX(others_lock);

static const struct rtgt_service *find(const char *name)
{
	const struct rtgt_service *service;
	unsigned int i;

	lockdep_assert_held(&others_lock);
	for (i = 0; i < ARRAY_SIZE(own); i++)
		if (!strcmp(own[i]->name, name))
			return own[i];
	list_for_each_entry(service, &others, entry)
		if (!strcmp(service->name, name))
			return service;
	return NULL;
}

/**
 * rtgt_service_set() - give a port another service, and keep its module
 * @at: where the port has its service
 * @name: of the new one
 * Context: may sleep.
 * Return: 0, or -EINVAL when there is none of this name.
 */
int rtgt_service_set(const struct rtgt_service **at, const char *name)
{
	const struct rtgt_service *service, *old = *at;

	mutex_lock(&others_lock);
	service = find(name);
	if (service && !try_module_get(service->owner))
		service = NULL;
	if (service)
		*at = service;
	mutex_unlock(&others_lock);
	if (!service)
		return -EINVAL;
	rtgt_service_put(old);
	return 0;
}

/* Print the name of a port's service; its module cannot go meanwhile, without the lock it could. */
ssize_t rtgt_service_show(const struct rtgt_service *const *at, char *page)
{
	ssize_t len;

	mutex_lock(&others_lock);
	len = sysfs_emit(page, "%s\n", (*at)->name);
	mutex_unlock(&others_lock);
	return len;
}

void rtgt_service_put(const struct rtgt_service *service)
{
	module_put(service->owner);
}

/* Add a line for each service to @page, behind @len bytes; returns how many there are then. */
ssize_t rtgt_services_show(char *page, ssize_t len)
{
	const struct rtgt_service *service;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(own); i++)
		len += sysfs_emit_at(page, len, "service-%s\n", own[i]->name);
	mutex_lock(&others_lock);
	list_for_each_entry(service, &others, entry)
		len += sysfs_emit_at(page, len, "service-%s\n", service->name);
	mutex_unlock(&others_lock);
	return len;
}

/* Are its requests and replies those of the service rtgt? */
bool rtgt_service_speaks_rtgt(const struct rtgt_service *service)
{
	return service->message == rtgt_ops_message;
}

/**
 * rtgt_service_register() - let ports have a service of another module
 * @service: with its name, owner, transports and functions; stays until it is unregistered
 * Context: may sleep.
 * Return: 0, or -EEXIST when there is a service of this name.
 */
int rtgt_service_register(struct rtgt_service *service)
{
	int ret = 0;

	if (!service->message) {
		service->rws = rtgt_service_rtgt.rws;
		service->needs_region = true;
		service->request = rtgt_service_rtgt.request;
		service->reply = rtgt_service_rtgt.reply;
		service->message = rtgt_service_rtgt.message;
		service->imm = rtgt_service_rtgt.imm;
		service->work = rtgt_service_rtgt.work;
		service->moved = rtgt_service_rtgt.moved;
	}
	mutex_lock(&others_lock);
	if (find(service->name))
		ret = -EEXIST;
	else
		list_add_tail(&service->entry, &others);
	mutex_unlock(&others_lock);
	return ret;
}
EXPORT_SYMBOL_GPL(rtgt_service_register);

/**
 * rtgt_service_unregister() - take a service back
 * @service: registered; no port has it, because its module could not be removed otherwise
 * Context: may sleep.
 */
void rtgt_service_unregister(struct rtgt_service *service)
{
	mutex_lock(&others_lock);
	list_del(&service->entry);
	mutex_unlock(&others_lock);
}
EXPORT_SYMBOL_GPL(rtgt_service_unregister);

struct rtgt_conn *rtgt_service_conn(const struct rtgt_recv_ctx *recv)
{
	return recv->conn;
}
EXPORT_SYMBOL_GPL(rtgt_service_conn);

/* Where setup() stores what teardown() frees */
void **rtgt_service_priv(struct rtgt_conn *conn)
{
	return &conn->service_priv;
}
EXPORT_SYMBOL_GPL(rtgt_service_priv);

/* What the connections of a port have in common; only to be compared */
const void *rtgt_service_port(const struct rtgt_conn *conn)
{
	return conn->port;
}
EXPORT_SYMBOL_GPL(rtgt_service_port);

/* The number that the REP tells the client */
u32 rtgt_service_conn_id(const struct rtgt_conn *conn)
{
	return conn->id;
}
EXPORT_SYMBOL_GPL(rtgt_service_conn_id);

/**
 * rtgt_service_memory() - the bytes of a region
 * @conn: connection
 * @region: index of the region
 * @offset: first byte
 * @len: how many are wanted, at least one
 * @here: set to how many follow one another at the address that is returned
 *
 * Peers may change them at any time.  rtgt_service_sync() comes before the CPU reads what peers
 * have written, and behind what it writes.
 * Context: any.
 * Return: the address, or NULL when the range is empty or not inside the region.
 */
void *rtgt_service_memory(struct rtgt_conn *conn, unsigned int region, u64 offset, u64 len,
			  u64 *here)
{
	struct rtgt_domain *dom = conn->domain;
	size_t bytes;
	void *at;

	if (!len || region >= dom->nr || !rtgt_range_ok(offset, len, dom->map[region].mem->size))
		return NULL;
	at = rtgt_mem_at(dom->map[region].mem, offset, len, &bytes);
	*here = bytes;
	return at;
}
EXPORT_SYMBOL_GPL(rtgt_service_memory);

/**
 * rtgt_service_sync() - make bytes of a region those that the CPU, or the device, has written
 * @conn: connection
 * @region: index of the region
 * @offset: first byte
 * @len: how many; the range is inside the region
 * @for_cpu: what peers wrote is read by the CPU now; otherwise what it wrote, by the device
 *
 * For the device of @conn only: another device of the port may have mapped the region otherwise.
 * Context: may sleep.
 */
void rtgt_service_sync(struct rtgt_conn *conn, unsigned int region, u64 offset, u64 len,
		       bool for_cpu)
{
	if (for_cpu)
		rtgt_map_sync_for_cpu(conn->domain, region, offset, len);
	else
		rtgt_map_sync_for_device(conn->domain, region, offset, len);
}
EXPORT_SYMBOL_GPL(rtgt_service_sync);

/**
 * rtgt_service_answer() - send the reply to what a client has announced
 * @recv: from rtgt_service.announced, which owns it no more
 * @status: enum rtgt_status
 * Context: any.
 */
void rtgt_service_answer(struct rtgt_recv_ctx *recv, u32 status)
{
	rtgt_reply(recv, status, status == RTGT_OK ? recv->reply_len : 0);
}
EXPORT_SYMBOL_GPL(rtgt_service_answer);

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
