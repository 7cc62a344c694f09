// SPDX-License-Identifier: GPL-2.0
/*
 * Admission: a port counts the connections, the half-open connections and the memory of
 * its peers, and refuses what exceeds a bound.  What it admits runs in the shares of the peer
 * (share.c).
 *
 * A CM handler calls rtgt_port_admit() before it queues the set-up of a connection, so a
 * refused REQ has cost an allocation of struct rtgt_conn and nothing else.  rtgt_port.lock
 * protects the numbers of connections and their memory.  rtgt_port.half_lock, a spinlock,
 * protects the numbers of half-open connections, because a connection may be established
 * in softirq.
 *
 * Documentation/security.rst has the table of all bounds.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "core/mem.h"
#include "main.h"
#include "target/admission.h"
#include "target/conn.h"
#include "target/port.h"
#include "target/share.h"

/**
 * struct rtgt_peer - a client address that has connections to a port
 * @ref: held by rtgt_port.peers, and by each share that has work
 * @entry: in rtgt_port.peers while @nr_conns is not 0
 * @addr: the address; its port number is not compared
 * @nr_conns: number of its connections; under rtgt_port.lock
 * @memory: bytes of its connections; under rtgt_port.lock
 * @half_open: number of its half-open connections; under rtgt_port.half_lock
 * @setups: set-ups of its connections
 * @closes: their teardowns
 * @requests: requests of its connections that sleep or take long
 */
struct rtgt_peer {
	struct kref ref;
	struct hlist_node entry;
	struct sockaddr_storage addr;
	unsigned int nr_conns;
	u64 memory;
	unsigned int half_open;
	struct rtgt_share setups;
	struct rtgt_share closes;
	struct rtgt_share requests;
};

static void peer_free(struct kref *ref)
{
	kfree(container_of(ref, struct rtgt_peer, ref));
	atomic_dec(&rtgt_live.peers);
}

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

/* Find the peer of a new connection; if it has no other connection, add @new as that peer. */
static struct rtgt_peer *port_peer_get(struct rtgt_port *port, const struct sockaddr_storage *addr,
				       struct rtgt_peer *new)
{
	u32 hash = host_hash(addr);
	struct rtgt_peer *peer;

	lockdep_assert_held(&port->lock);
	hash_for_each_possible(port->peers, peer, entry, hash)
		if (same_host(&peer->addr, addr))
			return peer;
	new->addr = *addr;
	kref_init(&new->ref);
	INIT_WORK(&new->setups.work, rtgt_share_work);
	INIT_WORK(&new->closes.work, rtgt_share_work);
	INIT_WORK(&new->requests.work, rtgt_share_work);
	rtgt_share_init(&new->setups, rtgt_conn_wq, &new->ref, peer_free);
	rtgt_share_init(&new->closes, rtgt_conn_wq, &new->ref, peer_free);
	rtgt_share_init(&new->requests, rtgt_req_wq, &new->ref, peer_free);
	hash_add(port->peers, &new->entry, hash);
	atomic_inc(&rtgt_live.peers);
	return new;
}

/* Forget a peer without connections; a share that still runs keeps it. */
static void port_peer_put(struct rtgt_port *port, struct rtgt_peer *peer)
{
	lockdep_assert_held(&port->lock);
	if (peer->nr_conns)
		return;
	hash_del(&peer->entry);
	kref_put(&peer->ref, peer_free);
}

/* Count a connection as half-open.  One peer may have half of the backlog. */
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
 * rtgt_port_established() - stop counting a connection as half-open
 * @port: the port
 * @conn: connection that the port admitted; does nothing if it is not counted as half-open
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

/*
 * Reserve the memory of a connection.  Both bounds apply to a sum: conn_memory_max to all
 * connections of the port, rtgt_mem_promise() to all that the module has promised.  A peer gets
 * no more memory when it has as much as it would leave to the peers of all ports.
 */
static int port_promise(struct rtgt_port *port, struct rtgt_conn *conn,
			const struct rtgt_peer *peer, u64 bytes)
{
	u64 most = port->cfg.conn_memory_max ?: U64_MAX;

	lockdep_assert_held(&port->lock);
	if (bytes > most || port->conn_memory > most - bytes ||
	    !rtgt_mem_promise(bytes, peer->memory))
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
	ret = port_promise(port, conn, peer, bytes);
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
	conn->setup.share = &peer->setups;
	conn->close.share = &peer->closes;
	conn->requests.share = &peer->requests;
	peer->nr_conns++;
	peer->memory += bytes;
	port->nr_conns++;
	list_add_tail(&conn->port_entry, &port->conns);
	return 0;
}

/**
 * rtgt_port_admit() - admit a connection, or refuse it
 * @port: the port
 * @conn: new connection; gets its number and is on the port's list when this returns 0
 * @bytes: memory that the connection will take
 * @bound: set to the bound when that is the reason to refuse
 *
 * Called in the CM handler of a REQ; for a datagram endpoint in a worker, whose request
 * rtgt_port_admit_request() has counted before.  May sleep.
 *
 * Return: 0; -EUSERS when a number of connections has reached its bound, -ENOMEM when
 * conn_memory_max or the memory of the machine does not suffice, -ESHUTDOWN when the port
 * does not listen.
 */
int rtgt_port_admit(struct rtgt_port *port, struct rtgt_conn *conn, u64 bytes, u32 *bound)
{
	/* before the lock: an allocation may wait, and all CM handlers take the lock */
	struct rtgt_peer *new = kzalloc(sizeof(*new), GFP_KERNEL), *peer;
	int ret = -ESHUTDOWN;

	if (!new)
		return -ENOMEM;
	mutex_lock(&port->lock);
	if (port->state == RTGT_PORT_LISTENING) {
		peer = port_peer_get(port, &conn->peer, new);
		if (peer == new)
			new = NULL;
		ret = port_admit(port, conn, peer, bytes, bound);
		port_peer_put(port, peer);
	}
	mutex_unlock(&port->lock);
	kfree(new);
	return ret;
}

/**
 * rtgt_port_show_peers() - print a line for each peer of a port
 * @port: port
 * @m: file
 *
 * May sleep.
 */
void rtgt_port_show_peers(struct rtgt_port *port, struct seq_file *m)
{
	struct rtgt_peer *peer;
	unsigned int i;

	mutex_lock(&port->lock);
	hash_for_each(port->peers, i, peer, entry)
		seq_printf(m, "peer=%pISc conns=%u half_open=%u memory=%llu setups=%u closes=%u requests=%u\n",
			   &peer->addr, peer->nr_conns, READ_ONCE(peer->half_open), peer->memory,
			   READ_ONCE(peer->setups.nr), READ_ONCE(peer->closes.nr),
			   READ_ONCE(peer->requests.nr));
	mutex_unlock(&port->lock);
}

/**
 * rtgt_port_admit_request() - count a client that waits for a datagram endpoint
 * @port: the port
 * @bound: set to the bound
 *
 * Called in the CM handler of the request.  Such clients count as half-open connections.
 *
 * Return: 0, and the caller calls rtgt_port_request_done() later; -EUSERS when the backlog
 * is full, -ESHUTDOWN when the port does not listen.
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
 * rtgt_port_idle() - check that a port has no connection and no client that waits
 * @port: port
 *
 * Any context.
 *
 * Return: true if it has none; rtgt_port.idle is woken when that becomes true.
 */
bool rtgt_port_idle(const struct rtgt_port *port)
{
	return !READ_ONCE(port->nr_conns) && !READ_ONCE(port->nr_requests);
}

/**
 * rtgt_port_request_done() - stop counting a client that waited for an endpoint
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
 * rtgt_port_forget() - take a connection off its port's list and stop counting it
 * @port: the port
 * @conn: connection that the port admitted; all its resources are released
 *
 * The teardown calls this before it puts its reference.  May sleep.
 */
void rtgt_port_forget(struct rtgt_port *port, struct rtgt_conn *conn)
{
	rtgt_port_established(port, conn);
	mutex_lock(&port->lock);
	list_del(&conn->port_entry);
	port->conn_memory -= conn->memory;
	conn->peer_entry->nr_conns--;
	conn->peer_entry->memory -= conn->memory;
	port_peer_put(port, conn->peer_entry);
	WRITE_ONCE(port->nr_conns, port->nr_conns - 1);
	if (rtgt_port_idle(port))
		wake_up(&port->idle);
	mutex_unlock(&port->lock);
}
