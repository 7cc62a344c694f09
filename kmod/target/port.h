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
#include "target/service.h"

struct dentry;
struct rdma_cm_id;

/**
 * enum rtgt_port_state - of a port
 * @RTGT_PORT_DISABLED: attributes and regions can be changed
 * @RTGT_PORT_LISTENING: connections are taken
 * @RTGT_PORT_STOPPING: no new connection; the old ones are going
 * @RTGT_PORT_REMOVED: enabled, but its device went; disable and enable it again
 */
enum rtgt_port_state {
	RTGT_PORT_DISABLED,
	RTGT_PORT_LISTENING,
	RTGT_PORT_STOPPING,
	RTGT_PORT_REMOVED,
};

/**
 * struct rtgt_port_cfg - a port's attributes
 * @addr: address and port to listen on
 * @service: what it speaks
 * @transport: RC, UC or UD
 * @private: each connection has its own copy of the regions
 * @srq: connections of a domain share their receives
 * @idle_ms: a connection that sends nothing for so long is closed; 0 for never
 * @max_conns: connections at a time
 * @backlog: half-open ones of them at a time; one peer address may have half of that
 * @peer_conns_max: connections of one peer address at a time; 0 for @max_conns
 * @conn_memory_max: bytes for all connections together; 0 for what the machine has
 * @handshake_ms: how long a peer that was sent the REP may take
 * @recv_size: bytes of a receive
 * @recv_depth: receives of a connection
 * @withhold_max: receives that WITHHOLD may hold back at a time; 0 for half of @recv_depth
 *		  where clients share them, for all where they do not
 * @mr_max: bytes of the largest MR; 0 for what the device takes
 */
struct rtgt_port_cfg {
	struct sockaddr_storage addr;
	const struct rtgt_service *service;
	enum rtgt_transport transport;
	bool private;
	bool srq;
	u32 idle_ms;
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
 * struct rtgt_port - a listener and what it exposes
 * @ref: its directory holds one, and so does each connection
 * @name: directory name
 * @config: serialises the administrator: protects @cfg, @spec and @nr_regions,
 *	    which do not change while the port is enabled, and the transitions
 *	    between enabled and disabled.  Never taken in a CM handler
 * @cfg: attributes
 * @spec: regions, in order of their creation
 * @nr_regions: how many
 * @mem: their memory, while enabled and shared
 * @stats: counters, kept until the port goes
 * @listen_id: xchg() decides who destroys it
 * @making: one shared domain is made at a time.  Held long
 * @making_endpoint: one datagram endpoint is made at a time.  Held long
 * @lock: protects @state, @conns, @nr_conns, @conn_memory, @nr_requests, @peers, @domains; taken in
 *	  CM handlers, so nothing that takes long is done under it
 * @state: see above
 * @conns: connections, the closing ones included
 * @nr_conns: how many
 * @conn_memory: bytes of all connections, their private regions and receives included
 * @nr_requests: clients that wait for a datagram endpoint to be made
 * @peers: addresses that have connections: struct rtgt_peer
 * @half_lock: protects @nr_half_open, rtgt_peer.half_open, rtgt_conn.half_open
 * @nr_half_open: connections that are not established yet, and @nr_requests
 * @failures: limits the log's lines about connections the device moved to error
 * @next_id: of the next connection
 * @domains: of a shared port, one rtgt_port_domain for each device
 * @idle: woken when @conns and the requests became empty
 * @debugfs: directory
 * @debugfs_regions: below it while enabled and shared
 * @debugfs_conns: below it
 */
struct rtgt_port {
	struct kref ref;
	char name[RTGT_NAME_LEN];
	struct mutex config;	/* @cfg, @spec, @nr_regions; enable and disable */
	struct rtgt_port_cfg cfg;
	struct rtgt_spec *spec[RTGT_MAX_REGIONS];
	unsigned int nr_regions;
	struct rtgt_mem *mem[RTGT_MAX_REGIONS];
	struct rtgt_stats __percpu *stats;
	struct rdma_cm_id *listen_id;
	struct mutex making;	/* one shared domain is made at a time */
	struct mutex making_endpoint;	/* one datagram endpoint is made at a time */
	struct mutex lock;	/* @state, @conns, @nr_conns, @nr_requests, @peers, @domains */
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
bool rtgt_port_enabled(struct rtgt_port *port);
const char *rtgt_port_state_name(enum rtgt_port_state state);

#endif /* _RTGT_PORT_H */
