// SPDX-License-Identifier: GPL-2.0
/*
 * What the peers of a port may have, counted: connections, half-open connections,
 * and memory.
 *
 * A CM handler asks before it queues the set-up of a connection, so a peer that is
 * refused has cost the port a structure and no more.  Connections and memory are
 * counted under rtgt_port.lock.  Half-open connections are counted under
 * rtgt_port.half_lock, because a connection is established in softirq.
 *
 * The bounds on a peer are a table in Documentation/lifetime.rst.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "core/mem.h"
#include "target/admission.h"
#include "target/conn.h"
#include "target/port.h"

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
 * rtgt_port_established() - count a connection as half-open no more
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

/* The port's ceiling is checked as a sum, and so is what the machine has left. */
static int port_promise(struct rtgt_port *port, struct rtgt_conn *conn, u64 bytes)
{
	u64 most = port->cfg.conn_memory_max ?: U64_MAX;

	lockdep_assert_held(&port->lock);
	if (bytes > most || port->conn_memory > most - bytes || !rtgt_mem_promise(bytes))
		return -ENOMEM;
	port->conn_memory += bytes;
	conn->memory = bytes;
	return 0;
}

static int port_admit(struct rtgt_port *port, struct rtgt_conn *conn, struct rtgt_peer *peer,
		      u64 bytes, u32 *bound)
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
	ret = port_promise(port, conn, bytes);
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
 * rtgt_port_admit() - count a connection against the bounds
 * @port: the port
 * @conn: the new connection; gets its number
 * @bytes: memory that the connection will take
 * @bound: set to the bound that is reached, if one is
 *
 * CM handler, or a worker for a datagram endpoint, whose request was counted already.
 *
 * Return: 0, -EUSERS when the port is full, -ENOMEM when its connections or the machine
 * would have too little memory, -ESHUTDOWN when it is not listening.
 */
int rtgt_port_admit(struct rtgt_port *port, struct rtgt_conn *conn, u64 bytes, u32 *bound)
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
	ret = port_admit(port, conn, peer, bytes, bound);
	port_peer_put(port, peer);
unlock:
	mutex_unlock(&port->lock);
	return ret;
}

/**
 * rtgt_port_admit_request() - count a client that waits for a datagram endpoint
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

/**
 * rtgt_port_idle() - has a port no connection and no waiting client?
 * @port: port
 *
 * Any context.
 *
 * Return: true if so; rtgt_port.idle is woken when that becomes true.
 */
bool rtgt_port_idle(const struct rtgt_port *port)
{
	return !READ_ONCE(port->nr_conns) && !READ_ONCE(port->nr_requests);
}

/**
 * rtgt_port_request_done() - count a client no more that waited for an endpoint
 * @port: the port
 */
void rtgt_port_request_done(struct rtgt_port *port)
{
	mutex_lock(&port->lock);
	spin_lock_irq(&port->half_lock);
	port->nr_half_open--;
	spin_unlock_irq(&port->half_lock);
	WRITE_ONCE(port->nr_requests, port->nr_requests - 1);
	if (rtgt_port_idle(port))
		wake_up(&port->idle);
	mutex_unlock(&port->lock);
}

/**
 * rtgt_port_forget() - count a connection no more: the last step of its teardown
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
	if (rtgt_port_idle(port))
		wake_up(&port->idle);
	mutex_unlock(&port->lock);
}
