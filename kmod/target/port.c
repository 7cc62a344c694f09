// SPDX-License-Identifier: GPL-2.0
/*
 * A port: its attributes, its state and its references.  Files above this one do the work:
 * admission.c, port_domains.c (the protection domains) and listener.c (enable and disable).
 *
 * The administrator's thread enables and disables a port under rtgt_port.config, for as long as
 * that takes.  CM handlers and teardowns use its lists under rtgt_port.lock, which is taken after
 * config: a CM handler never takes config, and rdma_destroy_id() of the listener, which waits for
 * handlers, is called without rtgt_port.lock.
 *
 * All listeners of the machine share the work queue of CM handlers, and a handler waits for
 * rtgt_port.lock.  So no holder of the lock waits for a device, for memory or for a peer: shared
 * domains are made under rtgt_port.making, and rkeys are revoked without a lock of the port.
 */
#include <linux/debugfs.h>
#include <linux/in.h>
#include <linux/slab.h>

#include "main.h"
#include "target/port.h"
#include "target/trace.h"

static const char *const port_state_names[] = {
	[RTGT_PORT_DISABLED]	= "disabled",
	[RTGT_PORT_LISTENING]	= "listening",
	[RTGT_PORT_STARTING]	= "starting",
	[RTGT_PORT_STOPPING]	= "stopping",
	[RTGT_PORT_REMOVED]	= "device-removed",
};

const char *rtgt_port_state_name(enum rtgt_port_state state)
{
	return port_state_names[state];
}

void rtgt_port_enter(struct rtgt_port *port, enum rtgt_port_state state)
{
	lockdep_assert_held(&port->lock);
	if (port->state == state)
		return;
	port->state = state;
	trace_rtgt_port_state(port);
}

/* Takes rtgt_port.lock; may sleep. */
void rtgt_port_set_state(struct rtgt_port *port, enum rtgt_port_state state)
{
	mutex_lock(&port->lock);
	rtgt_port_enter(port, state);
	mutex_unlock(&port->lock);
}

/*
 * True from enable to disable, also when the device was removed.  To act on it, hold
 * rtgt_port.config; to show it, do not, because an enable or a disable may hold that for long.
 */
bool rtgt_port_enabled(const struct rtgt_port *port)
{
	return READ_ONCE(port->state) != RTGT_PORT_DISABLED;
}

static void port_free(struct kref *ref)
{
	struct rtgt_port *port = container_of(ref, struct rtgt_port, ref);

	rtgt_stats_free(port->stats);
	rtgt_service_put(port->cfg.service);
	kfree(port);
	atomic_dec(&rtgt_live.ports);
}

/**
 * rtgt_port_create() - allocate a port with default attributes, disabled
 * @name: name of the port
 * Context: may sleep.
 * Return: the port, which the caller releases with rtgt_port_destroy(), or an ERR_PTR.
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
	mutex_init(&port->regions);
	mutex_init(&port->making);
	INIT_WORK(&port->clients.work, rtgt_share_work);
	rtgt_share_init(&port->clients, rtgt_conn_wq, &port->ref, port_free);
	rtgt_faults_init(&port->faults);
	spin_lock_init(&port->half_lock);
	hash_init(port->peers);
	ratelimit_state_init(&port->closings, DEFAULT_RATELIMIT_INTERVAL, DEFAULT_RATELIMIT_BURST);
	ratelimit_state_init(&port->failures, DEFAULT_RATELIMIT_INTERVAL, DEFAULT_RATELIMIT_BURST);
	mutex_init(&port->lock);
	INIT_LIST_HEAD(&port->conns);
	INIT_LIST_HEAD(&port->domains);
	init_waitqueue_head(&port->idle);
	port->state = RTGT_PORT_DISABLED;
	port->cfg.service = &rtgt_service_rtgt;
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

/* The last put frees the port; any context. */
void rtgt_port_put(struct rtgt_port *port)
{
	kref_put(&port->ref, port_free);
}

/*
 * Put the first reference of a disabled port without regions; teardowns may hold more.  May sleep.
 */
void rtgt_port_destroy(struct rtgt_port *port)
{
	debugfs_remove(port->debugfs);
	rtgt_port_put(port);
}
