/* SPDX-License-Identifier: GPL-2.0 */
/* A port: its attributes and its state. */
#ifndef _RTGT_PORT_H
#define _RTGT_PORT_H

#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "core/mem.h"
#include "core/stats.h"
#include "include/uapi/rtgt.h"
#include "target/fault.h"
#include "target/service.h"
#include "target/share.h"

struct dentry;
struct net;
struct rdma_cm_id;

/**
 * enum rtgt_port_state - state of a port
 * @RTGT_PORT_DISABLED: the administrator can change attributes and regions
 * @RTGT_PORT_LISTENING: the port accepts connections
 * @RTGT_PORT_STOPPING: the port rejects connections: it is being enabled or disabled
 * @RTGT_PORT_REMOVED: enabled, but its device was removed: listens again when it is back
 */
enum rtgt_port_state {
	RTGT_PORT_DISABLED,
	RTGT_PORT_LISTENING,
	RTGT_PORT_STOPPING,
	RTGT_PORT_REMOVED,
};

/**
 * struct rtgt_port_cfg - the attributes of a port
 * @addr: address and port number to listen on
 * @service: service of the port
 * @transport: RC, UC or UD
 * @private: each connection has its own copy of the regions
 * @srq: the connections of a domain share one SRQ
 * @idle_ms: close a connection that sent nothing for this many milliseconds; 0 for never
 * @keepalive_ms: probe a peer from which nothing was heard for this many milliseconds; 0 for never
 * @max_conns: maximum number of connections
 * @backlog: maximum number of half-open connections; half of it for one peer address
 * @peer_conns_max: maximum number of connections of one peer address; 0 for @max_conns
 * @conn_memory_max: maximum number of bytes for all connections together; 0 for what the
 *		     machine has
 * @handshake_ms: milliseconds between the REP and the RTU or the first message
 * @recv_size: bytes of a receive
 * @recv_depth: number of receives of a connection or, with an SRQ, of a domain
 * @withhold_max: maximum number of receives that WITHHOLD may hold back; 0 for half of
 *		  @recv_depth if clients share the receives, for @recv_depth if they do not
 * @mr_max: maximum size of an MR in bytes; 0 for what the device supports
 */
struct rtgt_port_cfg {
	struct sockaddr_storage addr;
	const struct rtgt_service *service;
	enum rtgt_transport transport;
	bool private;
	bool srq;
	u32 idle_ms;
	u32 keepalive_ms;
	u32 max_conns;
	u32 backlog;
	u32 peer_conns_max;
	u64 conn_memory_max;
	u32 handshake_ms;
	u32 recv_size;
	u32 recv_depth;
	u32 withhold_max;
	u64 mr_max;
};

#define RTGT_PEERS_BITS		6

/**
 * struct rtgt_port - a listener, its regions and its connections
 * @ref: held by the configfs directory, by each connection, by each datagram client that waits for
 *	 an endpoint, and by @clients while it has work
 * @name: name of its directory
 * @config: protects @cfg and the attributes of the regions, which do not change while the port
 *	    is enabled, and serializes enable and disable, which hold it for as long as they
 *	    take.  CM handlers never take it
 * @cfg: attributes
 * @faults: what the target does wrong on purpose
 * @regions: protects @spec, @nr_regions and @pinned.  mkdir and rmdir take it, for which all
 *	     others of the module wait, so no holder waits
 * @spec: regions, in the order of their creation; they do not change while @pinned is true
 * @nr_regions: number of regions
 * @pinned: the port is enabled, or being enabled or disabled
 * @mem: memory of the regions, while a shared port is enabled
 * @stats: counters, kept until the port is freed
 * @listen_id: the listener, from the end of rdma_listen() on; the path that takes it destroys
 *	       it or has the core do so
 * @net: network namespace of the listener, a counted reference while the port is enabled
 * @listen_again: queued while @state is REMOVED
 * @making: held while a shared domain is made, so that each device gets one
 * @clients: jobs of the datagram clients that wait for an endpoint.  One runs at a time, so each
 *	     device gets one endpoint
 * @lock: protects @state, @listen_id, @net, @conns, @nr_conns, @conn_memory, @nr_requests,
 *	  @peers, @next_id and @domains.  CM handlers take it, so no holder waits for a device, for
 *	  memory or for a peer
 * @state: state of the port
 * @conns: connections, in all states
 * @nr_conns: number of @conns
 * @conn_memory: bytes of all connections, private regions and receives included
 * @nr_requests: number of clients that wait for a datagram endpoint
 * @peers: client addresses that have connections: struct rtgt_peer
 * @half_lock: protects @nr_half_open, rtgt_peer.half_open, rtgt_conn.half_open
 * @nr_half_open: number of half-open connections, @nr_requests included
 * @failures: rate limit of the log lines about QP errors
 * @next_id: number of the last connection
 * @domains: of a shared port, one rtgt_port_domain for each device
 * @idle: woken when @nr_conns and @nr_requests have become 0
 * @debugfs: directory
 * @debugfs_regions: directory below @debugfs, while a shared port is enabled
 * @debugfs_conns: directory below @debugfs
 */
struct rtgt_port {
	struct kref ref;
	char name[RTGT_NAME_LEN];
	struct mutex config;	/* @cfg, attributes of regions; enable and disable */
	struct rtgt_port_cfg cfg;
	struct rtgt_port_faults faults;
	struct mutex regions;	/* @spec, @nr_regions, @pinned */
	struct rtgt_spec *spec[RTGT_MAX_REGIONS];
	unsigned int nr_regions;
	bool pinned;
	struct rtgt_mem *mem[RTGT_MAX_REGIONS];
	struct rtgt_stats __percpu *stats;
	struct rdma_cm_id *listen_id;
	struct net *net;
	struct delayed_work listen_again;
	struct mutex making;	/* one shared domain is made at a time */
	struct rtgt_share clients;
	struct mutex lock;	/* @state, @listen_id, connections, @nr_requests, ... @domains */
	enum rtgt_port_state state;
	struct list_head conns;
	unsigned int nr_conns;
	u64 conn_memory;
	unsigned int nr_requests;
	DECLARE_HASHTABLE(peers, RTGT_PEERS_BITS);
	spinlock_t half_lock;	/* @nr_half_open, rtgt_peer.half_open, rtgt_conn.half_open */
	unsigned int nr_half_open;
	struct ratelimit_state failures;
	u32 next_id;
	struct list_head domains;
	wait_queue_head_t idle;
	struct dentry *debugfs;
	struct dentry *debugfs_regions;
	struct dentry *debugfs_conns;
};

struct rtgt_port *rtgt_port_create(const char *name, const struct rtgt_service *service);
void rtgt_port_put(struct rtgt_port *port);
void rtgt_port_destroy(struct rtgt_port *port);
void rtgt_port_set_state(struct rtgt_port *port, enum rtgt_port_state state);
bool rtgt_port_enabled(const struct rtgt_port *port);
const char *rtgt_port_state_name(enum rtgt_port_state state);

#endif /* _RTGT_PORT_H */
