// SPDX-License-Identifier: GPL-2.0
/*
 * A port: one listener, the regions it exposes and the connections it has.
 *
 * An administrator's thread enables and disables it, under rtgt_port.config; CM
 * handlers and teardowns work on its lists, under rtgt_port.lock.  The two are
 * never held the wrong way round, because a handler never takes config and the
 * listener is destroyed (which waits for handlers) without lock.
 *
 * enable:   memory -> listener bound -> domain, if the device is known -> listen
 * disable:  stop the listener, close the connections, wait for the last, release
 *           domains and memory
 *
 * Of a shared port, all connections of one device use one domain, registered
 * once: at enable when the address tells the device, otherwise with the first
 * connection that comes through it.  When a device is removed its domain goes
 * with it.  A listener bound to the device's address is dead then (state
 * device-removed) until the port is disabled and enabled again; one that is
 * bound to a wildcard goes on with the devices that are left and those to come.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "rtgt.h"

/* ignored by RoCE, where max_conns does the work */
#define RTGT_BACKLOG	128

/**
 * struct rtgt_port_domain - a shared port's domain on one device
 * @entry: in rtgt_port.domains; who takes it off the list releases it
 * @port: the port
 * @user: hold on the device
 * @gone: releases it when the device goes
 * @domain: a counted reference
 */
struct rtgt_port_domain {
	struct list_head entry;
	struct rtgt_port *port;
	struct rtgt_dev_user user;
	struct work_struct gone;
	struct rtgt_domain *domain;
};

static const char *const port_state_names[] = {
	[RTGT_PORT_DISABLED]	= "disabled",
	[RTGT_PORT_LISTENING]	= "listening",
	[RTGT_PORT_STOPPING]	= "stopping",
	[RTGT_PORT_REMOVED]	= "device-removed",
};

/**
 * rtgt_port_state_name() - a state as one word
 * @state: state
 *
 * Return: a constant string.
 */
const char *rtgt_port_state_name(enum rtgt_port_state state)
{
	return port_state_names[state];
}

/* ----------------------------------------------------- domains of a shared port */

static void port_domain_release(struct rtgt_port_domain *pd)
{
	rtgt_domain_put(pd->domain);
	rtgt_dev_detach(&pd->user);
	kfree(pd);
}

static void port_domain_gone(struct work_struct *work)
{
	struct rtgt_port_domain *pd = container_of(work, struct rtgt_port_domain, gone);
	struct rtgt_port *port = pd->port;
	bool mine;

	mutex_lock(&port->lock);
	mine = !list_empty(&pd->entry);
	list_del_init(&pd->entry);
	mutex_unlock(&port->lock);
	if (mine)
		port_domain_release(pd);
}

static void port_domain_device_gone(struct rtgt_dev_user *user)
{
	queue_work(rtgt_wq, &container_of(user, struct rtgt_port_domain, user)->gone);
}

static void port_domains_drop(struct rtgt_port *port)
{
	struct rtgt_port_domain *pd;

	for (;;) {
		mutex_lock(&port->lock);
		pd = list_first_entry_or_null(&port->domains, struct rtgt_port_domain, entry);
		if (pd)
			list_del_init(&pd->entry);
		mutex_unlock(&port->lock);
		if (!pd)
			return;
		/* it may have been queued, and finds the list empty */
		cancel_work_sync(&pd->gone);
		port_domain_release(pd);
	}
}

static struct rtgt_port_domain *port_domain_create(struct rtgt_port *port, struct ib_device *ibdev)
{
	struct rtgt_port_domain *pd;
	int ret;

	pd = kzalloc(sizeof(*pd), GFP_KERNEL);
	if (!pd)
		return ERR_PTR(-ENOMEM);
	pd->port = port;
	pd->user.gone = port_domain_device_gone;
	INIT_WORK(&pd->gone, port_domain_gone);
	INIT_LIST_HEAD(&pd->entry);
	ret = rtgt_dev_attach(ibdev, &pd->user);
	if (ret)
		goto free_pd;
	pd->domain = rtgt_domain_create(ibdev, port->stats, port->spec, port->mem,
					port->nr_regions, port->cfg.mr_max);
	if (IS_ERR(pd->domain)) {
		ret = PTR_ERR(pd->domain);
		goto detach;
	}
	return pd;

detach:
	rtgt_dev_detach(&pd->user);
	/* the device may have gone in between and queued it */
	cancel_work_sync(&pd->gone);
free_pd:
	kfree(pd);
	return ERR_PTR(ret);
}

/**
 * rtgt_port_domain_get() - the domain of a shared port on a device
 * @port: enabled, or being enabled
 * @ibdev: the device
 *
 * Made when first asked for.  May sleep.
 *
 * Return: a reference for rtgt_domain_put(), or an ERR_PTR.
 */
struct rtgt_domain *rtgt_port_domain_get(struct rtgt_port *port, struct ib_device *ibdev)
{
	struct rtgt_port_domain *pd;
	struct rtgt_domain *dom;

	mutex_lock(&port->lock);
	list_for_each_entry(pd, &port->domains, entry)
		if (pd->domain->ibdev == ibdev)
			goto found;
	pd = port_domain_create(port, ibdev);
	if (IS_ERR(pd)) {
		mutex_unlock(&port->lock);
		return ERR_CAST(pd);
	}
	list_add_tail(&pd->entry, &port->domains);
found:
	dom = pd->domain;
	kref_get(&dom->ref);
	mutex_unlock(&port->lock);
	return dom;
}

/* ------------------------------------------------------------------ connections */

/**
 * rtgt_port_admit() - count a connection in
 * @port: the port
 * @conn: the new connection; gets its number
 *
 * Return: 0, -EUSERS when the port is full, -ESHUTDOWN when it is not listening.
 */
int rtgt_port_admit(struct rtgt_port *port, struct rtgt_conn *conn)
{
	int ret = 0;

	mutex_lock(&port->lock);
	if (port->state != RTGT_PORT_LISTENING) {
		ret = -ESHUTDOWN;
	} else if (port->nr_conns >= port->cfg.max_conns) {
		ret = -EUSERS;
	} else {
		conn->id = ++port->next_id;
		port->nr_conns++;
		list_add_tail(&conn->port_entry, &port->conns);
	}
	mutex_unlock(&port->lock);
	return ret;
}

/**
 * rtgt_port_forget() - the last step of a connection's teardown
 * @port: the port; may be gone when this returns
 * @conn: admitted to it, everything released
 */
void rtgt_port_forget(struct rtgt_port *port, struct rtgt_conn *conn)
{
	mutex_lock(&port->lock);
	list_del(&conn->port_entry);
	WRITE_ONCE(port->nr_conns, port->nr_conns - 1);
	if (!port->nr_conns)
		wake_up(&port->idle);
	mutex_unlock(&port->lock);
}

/**
 * rtgt_port_endpoint() - the datagram endpoint of a device, if there is one
 * @port: a UD port
 * @ibdev: the device
 *
 * Return: a reference for rtgt_conn_put(), or NULL.
 */
struct rtgt_conn *rtgt_port_endpoint(struct rtgt_port *port, struct ib_device *ibdev)
{
	struct rtgt_conn *conn;

	mutex_lock(&port->lock);
	list_for_each_entry(conn, &port->conns, port_entry) {
		if (READ_ONCE(conn->state) == RTGT_CONN_LIVE && conn->domain &&
		    conn->domain->ibdev == ibdev) {
			kref_get(&conn->ref);
			goto unlock;
		}
	}
	conn = NULL;
unlock:
	mutex_unlock(&port->lock);
	return conn;
}

/**
 * rtgt_port_domains() - do something with each domain of a port
 * @port: port
 * @id: of a connection of a private port; 0 for all domains that are there
 * @fn: gets the domain and the number of the connection it belongs to, 0 of a shared
 *	one; returns 0 to go on.  @port->lock is held, so the domain stays: a teardown
 *	takes that before it drops one
 * @arg: for @fn
 *
 * May sleep.
 *
 * Return: 0, -ENOENT without such a connection, or what @fn returned.
 */
int rtgt_port_domains(struct rtgt_port *port, u32 id,
		      int (*fn)(struct rtgt_port *port, struct rtgt_domain *dom, u32 conn,
				void *arg), void *arg)
{
	struct rtgt_port_domain *pd;
	struct rtgt_conn *conn;
	int ret = id ? -ENOENT : 0;

	mutex_lock(&port->lock);
	list_for_each_entry(pd, &port->domains, entry) {
		ret = fn(port, pd->domain, 0, arg);
		if (ret)
			goto unlock;
	}
	/* whatever the state: as long as there is a domain a peer may reach it */
	list_for_each_entry(conn, &port->conns, port_entry) {
		if (!port->cfg.private || !conn->domain || (id && conn->id != id))
			continue;
		ret = fn(port, conn->domain, conn->id, arg);
		if (ret)
			goto unlock;
	}
unlock:
	mutex_unlock(&port->lock);
	return ret;
}

/* One that cannot be revoked does not keep the others valid; @arg is the first error. */
static int domain_revoke(struct rtgt_port *port, struct rtgt_domain *dom, u32 conn, void *arg)
{
	int *first = arg;
	unsigned int i;
	int ret;

	for (i = 0; i < dom->nr; i++) {
		ret = rtgt_domain_rotate(dom, i, false);
		if (ret >= 0)
			rtgt_count(port->stats, RTGT_ROTATIONS, ret);
		else if (!*first)
			*first = ret;
	}
	return 0;
}

/**
 * rtgt_port_revoke() - make the rkeys that were given away invalid
 * @port: port
 * @id: of a connection of a private port; 0 for all that are there
 *
 * New rkeys are made; those who connect later get them.  May sleep.
 *
 * Return: 0; -ENOENT without such a connection, -EINVAL for one connection of a
 * shared port, -EIO when the device refused.
 */
int rtgt_port_revoke(struct rtgt_port *port, u32 id)
{
	int err = 0;
	int ret;

	if (id && !port->cfg.private)
		return -EINVAL;
	ret = rtgt_port_domains(port, id, domain_revoke, &err);
	return ret ?: err;
}

static void port_close_conns(struct rtgt_port *port)
{
	struct rtgt_conn *conn;

	mutex_lock(&port->lock);
	list_for_each_entry(conn, &port->conns, port_entry)
		rtgt_conn_close(conn, "the port is being disabled");
	mutex_unlock(&port->lock);
	wait_event(port->idle, !READ_ONCE(port->nr_conns));
	/* the last one may still hold it */
	mutex_lock(&port->lock);
	mutex_unlock(&port->lock);
}

/* --------------------------------------------------------------------- listener */

static void port_set_state(struct rtgt_port *port, enum rtgt_port_state state)
{
	mutex_lock(&port->lock);
	port->state = state;
	mutex_unlock(&port->lock);
}

static int port_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rtgt_port *port = id->context;

	switch (ev->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (port->cfg.transport == RTGT_UD)
			return rtgt_conn_request_ud(port, id, &ev->param.ud);
		return rtgt_conn_request(port, id, &ev->param.conn);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		/* comes only to a listener that is bound to an address */
		if (xchg(&port->listen_id, NULL) != id)
			return 0;
		mutex_lock(&port->lock);
		if (port->state == RTGT_PORT_LISTENING)
			port->state = RTGT_PORT_REMOVED;
		mutex_unlock(&port->lock);
		pr_warn("%s: %s was removed, not listening any more: disable and enable the port when it is back\n",
			port->name, dev_name(&id->device->dev));
		return 1;	/* the core destroys the id */
	default:
		return 0;
	}
}

static int port_mem_alloc(struct rtgt_port *port)
{
	unsigned int i;

	for (i = 0; i < port->nr_regions; i++) {
		port->mem[i] = rtgt_mem_alloc(port->spec[i]);
		if (!port->mem[i])
			return -ENOMEM;
	}
	return 0;
}

static void port_mem_put(struct rtgt_port *port)
{
	unsigned int i;

	for (i = 0; i < port->nr_regions; i++) {
		rtgt_mem_put(port->mem[i]);
		port->mem[i] = NULL;
	}
}

static int port_listen(struct rtgt_port *port, struct net *net)
{
	struct sockaddr *addr = (struct sockaddr *)&port->cfg.addr;
	static const struct {
		enum rdma_ucm_port_space ps;
		enum ib_qp_type type;
	} kind[] = {
		[RTGT_RC] = { RDMA_PS_TCP, IB_QPT_RC },
		[RTGT_UC] = { RDMA_PS_IB, IB_QPT_UC },
		[RTGT_UD] = { RDMA_PS_UDP, IB_QPT_UD },
	};
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(net, port_event, port, kind[port->cfg.transport].ps,
			    kind[port->cfg.transport].type);
	if (IS_ERR(id))
		return PTR_ERR(id);
	/* an IPv6 wildcard must not take the port's IPv4 half */
	if (addr->sa_family == AF_INET6)
		rdma_set_afonly(id, 1);
	ret = rdma_bind_addr(id, addr);
	if (ret)
		goto destroy_id;
	if (id->device) {
		ret = rtgt_dev_check(id->device);
		if (ret)
			goto destroy_id;
	}
	if (id->device && !port->cfg.private) {
		struct rtgt_domain *dom = rtgt_port_domain_get(port, id->device);

		if (IS_ERR(dom)) {
			ret = PTR_ERR(dom);
			goto destroy_id;
		}
		rtgt_domain_put(dom);	/* the port keeps its own reference */
	}
	port->listen_id = id;
	port_set_state(port, RTGT_PORT_LISTENING);
	ret = rdma_listen(id, RTGT_BACKLOG);
	if (!ret)
		return 0;
	port_set_state(port, RTGT_PORT_STOPPING);
	if (xchg(&port->listen_id, NULL) != id)
		return ret;
destroy_id:
	rdma_destroy_id(id);
	return ret;
}

/* Release what a port that listens to nobody and has no connection still has. */
static void port_release(struct rtgt_port *port)
{
	port_domains_drop(port);
	debugfs_remove(port->debugfs_regions);
	port->debugfs_regions = NULL;
	port_mem_put(port);
	port_set_state(port, RTGT_PORT_DISABLED);
}

/**
 * rtgt_port_enabled() - does the administrator want the port to listen?
 * @port: port
 *
 * Caller holds rtgt_port.config.
 *
 * Return: true also when its device was removed.
 */
bool rtgt_port_enabled(struct rtgt_port *port)
{
	lockdep_assert_held(&port->config);
	return READ_ONCE(port->state) != RTGT_PORT_DISABLED;
}

/**
 * rtgt_port_enable() - start to listen
 * @port: port; caller holds rtgt_port.config
 * @net: network namespace to listen in
 *
 * May sleep.
 *
 * Return: 0; -EINVAL without a region, -ENOMEM, -E2BIG when a region needs too many
 * registrations, -ENODEV when the address belongs to no RDMA device, -EOPNOTSUPP
 * when the device lacks something, or what rdma_bind_addr() and rdma_listen() say
 * (-EADDRINUSE, -EADDRNOTAVAIL).
 */
int rtgt_port_enable(struct rtgt_port *port, struct net *net)
{
	unsigned int i;
	int ret;

	lockdep_assert_held(&port->config);
	if (!port->nr_regions && port->cfg.service->needs_region) {
		pr_err("%s: no region: mkdir regions/NAME first\n", port->name);
		return -EINVAL;
	}
	port_set_state(port, RTGT_PORT_STOPPING);
	if (!port->cfg.private) {
		ret = port_mem_alloc(port);
		if (ret)
			goto fail;
	}
	ret = port_listen(port, net);
	if (ret)
		goto fail;
	if (!port->cfg.private) {
		port->debugfs_regions = debugfs_create_dir("regions", port->debugfs);
		for (i = 0; i < port->nr_regions; i++)
			rtgt_debugfs_mem(port->debugfs_regions, port->spec[i]->name, port->mem[i]);
	}
	pr_info("%s: listening on %pISpc, service %s, %u region(s), %s\n", port->name,
		&port->cfg.addr, port->cfg.service->name, port->nr_regions,
		port->cfg.private ? "private" : "shared");
	return 0;

fail:
	port_close_conns(port);
	port_release(port);
	pr_err("%s: cannot listen on %pISpc: error %d\n", port->name, &port->cfg.addr, ret);
	return ret;
}

/**
 * rtgt_port_disable() - stop, and wait until nothing is left
 * @port: port; caller holds rtgt_port.config
 *
 * May sleep, as long as the slowest teardown takes.  A port that is disabled
 * already stays so.
 */
void rtgt_port_disable(struct rtgt_port *port)
{
	struct rdma_cm_id *id;

	lockdep_assert_held(&port->config);
	if (!rtgt_port_enabled(port))
		return;
	port_set_state(port, RTGT_PORT_STOPPING);
	id = xchg(&port->listen_id, NULL);
	if (id)
		rdma_destroy_id(id);
	port_close_conns(port);
	port_release(port);
	pr_info("%s: disabled\n", port->name);
}

/**
 * rtgt_port_create() - a port with default attributes, disabled
 * @name: its name
 *
 * May sleep.
 *
 * Return: for rtgt_port_destroy(), or an ERR_PTR.
 */
struct rtgt_port *rtgt_port_create(const char *name)
{
	struct rtgt_port *port;
	struct sockaddr_in *sin;

	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return ERR_PTR(-ENOMEM);
	port->stats = rtgt_stats_alloc();
	if (!port->stats) {
		kfree(port);
		return ERR_PTR(-ENOMEM);
	}
	strscpy(port->name, name, sizeof(port->name));
	mutex_init(&port->config);
	mutex_init(&port->lock);
	INIT_LIST_HEAD(&port->conns);
	INIT_LIST_HEAD(&port->domains);
	init_waitqueue_head(&port->idle);
	port->state = RTGT_PORT_DISABLED;
	port->cfg.service = rtgt_service_nth(0);
	port->cfg.max_conns = 1024;
	port->cfg.recv_size = 4096;
	port->cfg.recv_depth = 16;
	sin = (struct sockaddr_in *)&port->cfg.addr;
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = htonl(INADDR_ANY);
	sin->sin_port = htons(RTGT_PORT);
	rtgt_debugfs_port(port);
	return port;
}

/**
 * rtgt_port_destroy() - free a port
 * @port: disabled, without regions
 */
void rtgt_port_destroy(struct rtgt_port *port)
{
	debugfs_remove(port->debugfs);
	/* a teardown or a domain's end may be in its last unlock */
	flush_workqueue(rtgt_wq);
	rtgt_stats_free(port->stats);
	kfree(port);
}
