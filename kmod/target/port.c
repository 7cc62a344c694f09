// SPDX-License-Identifier: GPL-2.0
/*
 * A port: its attributes, its state and its references.
 *
 * What a port does is in the files above: admission.c counts what its peers have,
 * domains.c has the protection domains, listener.c enables and disables it.
 *
 * An administrator's thread enables and disables it, under rtgt_port.config; CM
 * handlers and teardowns work on its lists, under rtgt_port.lock.  The two are
 * never held the wrong way round, because a handler never takes config and the
 * listener is destroyed (which waits for handlers) without lock.  A CM handler waits
 * for rtgt_port.lock, so nothing that takes long is done under it: shared domains are
 * made under rtgt_port.making, keys are revoked under no lock of the port.
 */
#include <linux/debugfs.h>
#include <linux/in.h>
#include <linux/slab.h>

#include "main.h"
#include "target/port.h"

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

/**
 * rtgt_port_set_state() - change the state of a port
 * @port: port
 * @state: the new state
 *
 * May sleep.
 */
void rtgt_port_set_state(struct rtgt_port *port, enum rtgt_port_state state)
{
	mutex_lock(&port->lock);
	port->state = state;
	mutex_unlock(&port->lock);
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
 * rtgt_port_create() - make a port with default attributes, disabled
 * @name: its name
 * @service: what it speaks unless the administrator names another service
 *
 * May sleep.
 *
 * Return: for rtgt_port_destroy(), or an ERR_PTR.
 */
struct rtgt_port *rtgt_port_create(const char *name, const struct rtgt_service *service)
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
	port->cfg.service = service;
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
