// SPDX-License-Identifier: GPL-2.0
/*
 * Admission: a port counts the connections, the half-open connections and the memory of its peers,
 * and refuses what exceeds a bound (all bounds: Documentation/security.rst).  What it admits runs
 * in the shares of the peer (share.c).
 *
 * A CM handler calls rtgt_port_admit() before it queues the set-up of a connection, so a refused
 * REQ has cost an allocation of struct rtgt_conn and nothing else.  rtgt_port.lock protects the
 * numbers of connections and their memory; rtgt_port.half_lock, a spinlock, protects the numbers of
 * half-open connections, because a connection may be established in softirq.
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

/* A client address that has connections to a port */
struct rtgt_peer {
	struct kref ref;	/* held by rtgt_port.peers, and by each share that has work */
	struct hlist_node entry;	/* in rtgt_port.peers while @nr_conns is not 0 */
	struct sockaddr_storage addr;	/* its port number is not compared */
	unsigned int nr_conns;		/* under rtgt_port.lock */
	u64 memory;			/* bytes of its connections; under rtgt_port.lock */
	unsigned int half_open;		/* its half-open connections; under rtgt_port.half_lock */
	struct rtgt_share setups;
	struct rtgt_share closes;	/* teardowns */
	struct rtgt_share requests;	/* those that sleep or take long */
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

/* If the peer has no other connection, add @new as that peer. */
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

static void half_open_count(struct rtgt_port *port, int by)
{
	lockdep_assert_held(&port->half_lock);
	port->nr_half_open += by;
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
		half_open_count(port, 1);
		peer->half_open++;
		conn->half_open = true;
	}
	spin_unlock_irq(&port->half_lock);
	return ret;
}

/* Stop counting a connection as half-open, if it is counted; any context. */
void rtgt_port_established(struct rtgt_port *port, struct rtgt_conn *conn)
{
	unsigned long flags;

	spin_lock_irqsave(&port->half_lock, flags);
	if (conn->half_open) {
		conn->half_open = false;
		conn->peer_entry->half_open--;
		half_open_count(port, -1);
	}
	spin_unlock_irqrestore(&port->half_lock, flags);
}

/*
 * Both bounds apply to a sum: conn_memory_max to all connections of the port, rtgt_mem_promise() to
 * all that the module has promised.  A peer gets no more when it has as much as it would leave to
 * the peers of all ports.
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
 * rtgt_port_admit() - admit a connection, which gets its number and is listed, or refuse it
 * @port: the port
 * @conn: new connection
 * @bytes: memory that the connection will take
 * @bound: set to the bound when that is the reason to refuse
 * Context: may sleep; the CM handler of a REQ or, after rtgt_port_admit_request(), a worker.
 * Return: 0; -EUSERS when a number has reached its bound, -ENOMEM when conn_memory_max or the
 * machine's memory does not suffice, -ESHUTDOWN when the port does not listen.
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

/* Print a line for each peer of a port; may sleep. */
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
 * rtgt_port_admit_request() - count a client that waits for a datagram endpoint as half-open
 * @port: the port
 * @bound: set to the bound
 * Context: may sleep; the CM handler of the request.
 * Return: 0, and the caller calls rtgt_port_request_done() later; -EUSERS when the backlog is full,
 * -ESHUTDOWN when the port does not listen.
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
		half_open_count(port, 1);
		port->nr_requests++;
	}
	spin_unlock_irq(&port->half_lock);
	mutex_unlock(&port->lock);
	return ret;
}

/* True without a connection or a waiting client; then rtgt_port.idle is woken.  Any context. */
bool rtgt_port_idle(const struct rtgt_port *port)
{
	return !READ_ONCE(port->nr_conns) && !READ_ONCE(port->nr_requests);
}

/* Stop counting a client that waited for an endpoint; may sleep. */
void rtgt_port_request_done(struct rtgt_port *port)
{
	mutex_lock(&port->lock);
	spin_lock_irq(&port->half_lock);
	half_open_count(port, -1);
	spin_unlock_irq(&port->half_lock);
	WRITE_ONCE(port->nr_requests, port->nr_requests - 1);
	if (rtgt_port_idle(port))
		wake_up(&port->idle);
	mutex_unlock(&port->lock);
}

/* Unlist a connection, whose resources are released, and stop counting it; may sleep. */
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
