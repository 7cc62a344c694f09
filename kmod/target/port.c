// SPDX-License-Identifier: GPL-2.0
/*
 * A port: one listener, the regions it exposes and the connections it has.
 *
 * An administrator's thread enables and disables it, under rtgt_port.config; CM
 * handlers and teardowns work on its lists, under rtgt_port.lock.  The two are
 * never held the wrong way round, because a handler never takes config and the
 * listener is destroyed (which waits for handlers) without lock.  A CM handler waits
 * for rtgt_port.lock, so nothing that takes long is done under it: shared domains are
 * made under rtgt_port.making, keys are revoked under no lock of the port.
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
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "rtgt.h"

/* ignored by RoCE, where max_conns does the work */
#define RTGT_BACKLOG	128

/**
 * struct rtgt_port_domain - a shared port's domain on one device
 * @entry: in rtgt_port.domains; who takes it off the list, under rtgt_port.lock, releases it
 * @port: the port; not looked at once it is off the list
 * @user: tells when the device goes
 * @gone: releases it then
 * @domain: a counted reference
 */
struct rtgt_port_domain {
	struct list_head entry;
	struct rtgt_port *port;
	struct rtgt_dev_user user;
	struct work_struct gone;
	struct rtgt_domain *domain;
};

/**
 * struct rtgt_peer - an address that has connections of a port
 * @entry: in rtgt_port.peers, as long as there is one
 * @addr: the address; its port does not count
 * @nr_conns: of these connections; under rtgt_port.lock
 * @half_open: how many of them are; under rtgt_port.half_lock
 */
struct rtgt_peer {
	struct hlist_node entry;
	struct sockaddr_storage addr;
	unsigned int nr_conns;
	unsigned int half_open;
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

/* Take it off the list.  Returns whether that makes it the caller's. */
static bool port_domain_unlink(struct rtgt_port_domain *pd)
{
	struct rtgt_port *port = pd->port;
	bool mine;

	mutex_lock(&port->lock);
	mine = !list_empty(&pd->entry);
	list_del_init(&pd->entry);
	mutex_unlock(&port->lock);
	return mine;
}

/* The domain holds the device itself, until its last user has put it. */
static void port_domain_release(struct rtgt_port_domain *pd)
{
	rtgt_dev_detach(&pd->user);
	rtgt_domain_put(pd->domain);
	kfree(pd);
}

static void port_domain_gone(struct work_struct *work)
{
	port_domain_release(container_of(work, struct rtgt_port_domain, gone));
}

static void port_domain_device_gone(struct rtgt_dev_user *user)
{
	struct rtgt_port_domain *pd = container_of(user, struct rtgt_port_domain, user);

	if (port_domain_unlink(pd))
		queue_work(rtgt_conn_wq, &pd->gone);
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
		port_domain_release(pd);
	}
}

static struct rtgt_domain *port_domain_find(struct rtgt_port *port, struct ib_device *ibdev)
{
	struct rtgt_domain *dom = NULL;
	struct rtgt_port_domain *pd;

	mutex_lock(&port->lock);
	list_for_each_entry(pd, &port->domains, entry) {
		if (pd->domain->ibdev == ibdev) {
			dom = pd->domain;
			kref_get(&dom->ref);
			break;
		}
	}
	mutex_unlock(&port->lock);
	return dom;
}

/* On the list before the device may notify it: whoever takes it off the list releases it. */
static struct rtgt_domain *port_domain_create(struct rtgt_port *port, struct ib_device *ibdev)
{
	struct rtgt_port_domain *pd;
	struct rtgt_domain *dom;
	int ret;

	lockdep_assert_held(&port->making);
	pd = kzalloc(sizeof(*pd), GFP_KERNEL);
	if (!pd)
		return ERR_PTR(-ENOMEM);
	pd->port = port;
	pd->user.gone = port_domain_device_gone;
	INIT_WORK(&pd->gone, port_domain_gone);
	dom = rtgt_domain_create(ibdev, port->stats, port->spec, port->mem, port->nr_regions,
				 port->cfg.mr_max);
	if (IS_ERR(dom)) {
		kfree(pd);
		return dom;
	}
	pd->domain = dom;
	kref_get(&dom->ref);	/* for the caller */
	mutex_lock(&port->lock);
	list_add_tail(&pd->entry, &port->domains);
	mutex_unlock(&port->lock);
	ret = rtgt_dev_attach(ibdev, &pd->user);
	if (!ret)
		return dom;	/* @pd may be gone by now */
	port_domain_unlink(pd);
	rtgt_domain_put(dom);
	rtgt_domain_put(dom);
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
	struct rtgt_domain *dom;

	mutex_lock(&port->making);
	dom = port_domain_find(port, ibdev) ?: port_domain_create(port, ibdev);
	mutex_unlock(&port->making);
	return dom;
}

/* ------------------------------------------------------------------ connections */

static bool same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET6)
		return ipv6_addr_equal(&((const struct sockaddr_in6 *)a)->sin6_addr,
				       &((const struct sockaddr_in6 *)b)->sin6_addr);
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

static u32 host_hash(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET6)
		return ipv6_addr_hash(&((const struct sockaddr_in6 *)a)->sin6_addr);
	return (__force u32)((const struct sockaddr_in *)a)->sin_addr.s_addr;
}

/* The peer of a new connection; NULL without memory. */
static struct rtgt_peer *port_peer_get(struct rtgt_port *port, const struct sockaddr_storage *addr)
{
	u32 hash = host_hash(addr);
	struct rtgt_peer *peer;

	lockdep_assert_held(&port->lock);
	hash_for_each_possible(port->peers, peer, entry, hash)
		if (same_host(&peer->addr, addr))
			return peer;
	peer = kzalloc(sizeof(*peer), GFP_KERNEL);
	if (!peer)
		return NULL;
	peer->addr = *addr;
	hash_add(port->peers, &peer->entry, hash);
	return peer;
}

static void port_peer_put(struct rtgt_port *port, struct rtgt_peer *peer)
{
	lockdep_assert_held(&port->lock);
	if (peer->nr_conns)
		return;
	hash_del(&peer->entry);
	kfree(peer);
}

/* One peer has at most half of the backlog. */
static int port_count_half(struct rtgt_port *port, struct rtgt_peer *peer, struct rtgt_conn *conn,
			   u32 *bound)
{
	u32 share = DIV_ROUND_UP(port->cfg.backlog, 2);
	int ret = 0;

	spin_lock_irq(&port->half_lock);
	if (port->nr_half_open >= port->cfg.backlog || peer->half_open >= share) {
		*bound = peer->half_open >= share ? share : port->cfg.backlog;
		ret = -EUSERS;
	} else {
		port->nr_half_open++;
		peer->half_open++;
		conn->half_open = true;
	}
	spin_unlock_irq(&port->half_lock);
	return ret;
}

/**
 * rtgt_port_established() - a connection is not half-open any more
 * @port: the port
 * @conn: admitted to it; established or freed
 *
 * Any context.
 */
void rtgt_port_established(struct rtgt_port *port, struct rtgt_conn *conn)
{
	unsigned long flags;

	spin_lock_irqsave(&port->half_lock, flags);
	if (conn->half_open) {
		conn->half_open = false;
		conn->peer_entry->half_open--;
		port->nr_half_open--;
	}
	spin_unlock_irqrestore(&port->half_lock, flags);
}

/* What a connection takes until it is released. */
static u64 port_conn_needs(const struct rtgt_port *port, const struct rtgt_conn *conn)
{
	u64 bytes = rtgt_qp_needs(conn) + port->cfg.service->conn_bytes;
	unsigned int i;

	for (i = 0; port->cfg.private && i < port->nr_regions; i++)
		bytes += rtgt_mem_needs(port->spec[i]->size);
	return bytes;
}

/* The port's ceiling is checked as a sum, and so is what the machine has left. */
static int port_promise(struct rtgt_port *port, struct rtgt_conn *conn)
{
	u64 most = port->cfg.conn_memory_max ?: U64_MAX;
	u64 bytes = port_conn_needs(port, conn);

	lockdep_assert_held(&port->lock);
	if (bytes > most || port->conn_memory > most - bytes || !rtgt_mem_promise(bytes))
		return -ENOMEM;
	port->conn_memory += bytes;
	conn->memory = bytes;
	return 0;
}

static int port_admit(struct rtgt_port *port, struct rtgt_conn *conn, struct rtgt_peer *peer,
		      u32 *bound)
{
	bool ud = conn->transport == RTGT_UD;
	u32 share = ud ? 0 : port->cfg.peer_conns_max;
	int ret = 0;

	lockdep_assert_held(&port->lock);
	*bound = port->cfg.max_conns;
	if (port->nr_conns >= *bound)
		return -EUSERS;
	*bound = share;
	if (share && peer->nr_conns >= share)
		return -EUSERS;
	ret = port_promise(port, conn);
	if (ret)
		return ret;
	if (!ud)
		ret = port_count_half(port, peer, conn, bound);
	if (ret) {
		rtgt_mem_kept(conn->memory);
		port->conn_memory -= conn->memory;
		return ret;
	}
	conn->id = ++port->next_id;
	conn->peer_entry = peer;
	peer->nr_conns++;
	port->nr_conns++;
	list_add_tail(&conn->port_entry, &port->conns);
	return 0;
}

/**
 * rtgt_port_admit() - count a connection in
 * @port: the port
 * @conn: the new connection; gets its number
 * @bound: set to the bound that is reached, if one is
 *
 * CM handler, or a worker for a datagram endpoint, whose request was counted already.
 *
 * Return: 0, -EUSERS when the port is full, -ENOMEM when its connections or the machine
 * would have too little memory, -ESHUTDOWN when it is not listening.
 */
int rtgt_port_admit(struct rtgt_port *port, struct rtgt_conn *conn, u32 *bound)
{
	struct rtgt_peer *peer;
	int ret = -ESHUTDOWN;

	mutex_lock(&port->lock);
	if (port->state != RTGT_PORT_LISTENING)
		goto unlock;
	ret = -ENOMEM;
	peer = port_peer_get(port, &conn->peer);
	if (!peer)
		goto unlock;
	ret = port_admit(port, conn, peer, bound);
	port_peer_put(port, peer);
unlock:
	mutex_unlock(&port->lock);
	return ret;
}

/**
 * rtgt_port_admit_request() - count a client in that waits for a datagram endpoint
 * @port: the port
 * @bound: set to the bound that is reached, if one is
 *
 * CM handler.
 *
 * Return: as rtgt_port_admit(); after 0 rtgt_port_request_done() is due.
 */
int rtgt_port_admit_request(struct rtgt_port *port, u32 *bound)
{
	int ret = 0;

	mutex_lock(&port->lock);
	*bound = port->cfg.backlog;
	spin_lock_irq(&port->half_lock);
	if (port->state != RTGT_PORT_LISTENING) {
		ret = -ESHUTDOWN;
	} else if (port->nr_half_open >= port->cfg.backlog) {
		ret = -EUSERS;
	} else {
		port->nr_half_open++;
		port->nr_requests++;
	}
	spin_unlock_irq(&port->half_lock);
	mutex_unlock(&port->lock);
	return ret;
}

static bool port_idle(const struct rtgt_port *port)
{
	return !READ_ONCE(port->nr_conns) && !READ_ONCE(port->nr_requests);
}

/**
 * rtgt_port_request_done() - such a client has its answer
 * @port: the port
 */
void rtgt_port_request_done(struct rtgt_port *port)
{
	mutex_lock(&port->lock);
	spin_lock_irq(&port->half_lock);
	port->nr_half_open--;
	spin_unlock_irq(&port->half_lock);
	WRITE_ONCE(port->nr_requests, port->nr_requests - 1);
	if (port_idle(port))
		wake_up(&port->idle);
	mutex_unlock(&port->lock);
}

/**
 * rtgt_port_forget() - the last step of a connection's teardown
 * @port: the port
 * @conn: admitted to it, everything released
 */
void rtgt_port_forget(struct rtgt_port *port, struct rtgt_conn *conn)
{
	rtgt_port_established(port, conn);
	mutex_lock(&port->lock);
	list_del(&conn->port_entry);
	port->conn_memory -= conn->memory;
	conn->peer_entry->nr_conns--;
	port_peer_put(port, conn->peer_entry);
	WRITE_ONCE(port->nr_conns, port->nr_conns - 1);
	if (port_idle(port))
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
 * @fn: gets the domain and the number of the connection it belongs to, 0 of a shared
 *	one.  @port->lock is held, so it does not take long, and the domain stays: a
 *	teardown takes that before it drops one
 * @arg: for @fn
 *
 * May sleep.
 */
void rtgt_port_domains(struct rtgt_port *port,
		       void (*fn)(struct rtgt_port *port, struct rtgt_domain *dom, u32 conn,
				  void *arg), void *arg)
{
	struct rtgt_port_domain *pd;
	struct rtgt_conn *conn;

	mutex_lock(&port->lock);
	list_for_each_entry(pd, &port->domains, entry)
		fn(port, pd->domain, 0, arg);
	/* whatever the state: as long as there is a domain a peer may reach it */
	list_for_each_entry(conn, &port->conns, port_entry)
		if (port->cfg.private && conn->domain)
			fn(port, conn->domain, conn->id, arg);
	mutex_unlock(&port->lock);
}

/*
 * A reference to each domain of the port, or of one connection's, in an array for kvfree().
 * Its length is in @nr.
 */
static struct rtgt_domain **port_domains_get(struct rtgt_port *port, u32 id, unsigned int *nr)
{
	struct rtgt_port_domain *pd;
	struct rtgt_domain **dom;
	struct rtgt_conn *conn;
	unsigned int most;

	*nr = 0;
	mutex_lock(&port->lock);
	most = port->nr_conns;
	list_for_each_entry(pd, &port->domains, entry)
		most++;
	dom = kvcalloc(most + 1, sizeof(*dom), GFP_KERNEL);
	if (!dom)
		goto unlock;
	list_for_each_entry(pd, &port->domains, entry)
		dom[(*nr)++] = pd->domain;
	/* whatever the state: as long as there is a domain a peer may reach it */
	list_for_each_entry(conn, &port->conns, port_entry)
		if (port->cfg.private && conn->domain && (!id || conn->id == id))
			dom[(*nr)++] = conn->domain;
	for (most = 0; most < *nr; most++)
		kref_get(&dom[most]->ref);
unlock:
	mutex_unlock(&port->lock);
	return dom;
}

/* Returns 0 or the first error: one that cannot be revoked does not keep others valid. */
static int domain_revoke(struct rtgt_port *port, struct rtgt_domain *dom)
{
	unsigned int i;
	int err = 0;
	int ret;

	for (i = 0; i < dom->nr; i++) {
		ret = rtgt_domain_rotate(dom, i, 0, U32_MAX, false);
		if (ret >= 0)
			rtgt_count(port->stats, RTGT_ROTATIONS, ret);
		else if (!err)
			err = ret;
	}
	return err;
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
	struct rtgt_domain **dom;
	unsigned int nr, i;
	int err = 0;
	int ret;

	if (id && !port->cfg.private)
		return -EINVAL;
	/* not under rtgt_port.lock: a CM handler takes it */
	dom = port_domains_get(port, id, &nr);
	if (!dom)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		ret = domain_revoke(port, dom[i]);
		err = err ?: ret;
		rtgt_domain_put(dom[i]);
	}
	kvfree(dom);
	return id && !nr ? -ENOENT : err;
}

static void port_close_conns(struct rtgt_port *port)
{
	struct rtgt_conn *conn;

	mutex_lock(&port->lock);
	list_for_each_entry(conn, &port->conns, port_entry)
		rtgt_conn_close(conn, "the port is being disabled");
	mutex_unlock(&port->lock);
	wait_event(port->idle, port_idle(port));
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
			return rtgt_endpoint_request(port, id, &ev->param.ud);
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
 * Return: 0; -EINVAL without a region or with a transport that the service does not
 * work over, -ENOMEM, -E2BIG when a region needs too many
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
	if (!(port->cfg.service->transports & BIT(port->cfg.transport))) {
		pr_warn("%s: the service %s does not work over this transport: set transport to rc\n",
			port->name, port->cfg.service->name);
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
			rtgt_mem_debugfs(port->debugfs_regions, port->spec[i]->name, port->mem[i]);
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
	atomic_inc(&rtgt_live.ports);
	kref_init(&port->ref);
	mutex_init(&port->config);
	mutex_init(&port->making);
	mutex_init(&port->making_endpoint);
	spin_lock_init(&port->half_lock);
	hash_init(port->peers);
	ratelimit_state_init(&port->failures, DEFAULT_RATELIMIT_INTERVAL,
			     DEFAULT_RATELIMIT_BURST);
	mutex_init(&port->lock);
	INIT_LIST_HEAD(&port->conns);
	INIT_LIST_HEAD(&port->domains);
	init_waitqueue_head(&port->idle);
	port->state = RTGT_PORT_DISABLED;
	port->cfg.service = rtgt_service_nth(0);
	port->cfg.max_conns = 1024;
	port->cfg.backlog = 512;
	port->cfg.handshake_ms = 10000;
	port->cfg.recv_size = 4096;
	port->cfg.recv_depth = 16;
	sin = (struct sockaddr_in *)&port->cfg.addr;
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = htonl(INADDR_ANY);
	sin->sin_port = htons(RTGT_PORT);
	return port;
}

static void port_free(struct kref *ref)
{
	struct rtgt_port *port = container_of(ref, struct rtgt_port, ref);

	rtgt_stats_free(port->stats);
	kfree(port);
	atomic_dec(&rtgt_live.ports);
}

/**
 * rtgt_port_put() - give a reference back
 * @port: port
 *
 * Any context.
 */
void rtgt_port_put(struct rtgt_port *port)
{
	kref_put(&port->ref, port_free);
}

/**
 * rtgt_port_destroy() - the end of a port
 * @port: disabled, without regions
 *
 * The memory goes with the last reference: a teardown may be in its last steps.
 */
void rtgt_port_destroy(struct rtgt_port *port)
{
	debugfs_remove(port->debugfs);
	rtgt_port_put(port);
}
