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

enum rtgt_port_state {
	RTGT_PORT_DISABLED,		/* the administrator can change attributes and regions */
	RTGT_PORT_LISTENING,		/* the port accepts connections */
	RTGT_PORT_STARTING,		/* being enabled: no listener yet */
	RTGT_PORT_STOPPING,		/* being disabled: the port rejects connections */
	RTGT_PORT_REMOVED,	/* enabled, without its device: listens again when that is back */
};

/* The attributes of a port; times in milliseconds */
struct rtgt_port_cfg {
	struct sockaddr_storage addr;	/* to listen on, with the port number */
	const struct rtgt_service *service;
	enum rtgt_transport transport;
	bool private;			/* each connection has its own copy of the regions */
	bool srq;			/* the connections of a domain share one SRQ */
	u32 idle_ms;		/* close a connection that sent nothing for as long; 0 for never */
	u32 keepalive_ms;	/* probe a peer that was not heard for as long; 0 for never */
	u32 max_conns;			/* maximum number of connections */
	u32 backlog;	/* maximum of half-open connections; half of it for one peer address */
	u32 peer_conns_max;		/* maximum for one peer address; 0 for @max_conns */
	u64 conn_memory_max;	/* bytes for all connections together; 0 for what the machine has */
	u32 handshake_ms;		/* between the REP and the RTU or the first message */
	u32 recv_size;			/* bytes of a receive */
	u32 recv_depth;			/* receives of a connection or, with an SRQ, of a domain */
	u32 withhold_max;	/* receives for WITHHOLD; 0: half if clients share them, or all */
	u64 mr_max;		/* maximum size of an MR in bytes; 0 for what the device supports */
};

#define RTGT_PEERS_BITS		6

/* A listener, its regions and its connections */
struct rtgt_port {
	/* held by configfs, connections, clients that wait for an endpoint, @clients with work */
	struct kref ref;
	char name[RTGT_NAME_LEN];	/* of its directory */
	struct mutex config;	/* @cfg, attributes of regions; serializes enable, disable */
	struct rtgt_port_cfg cfg;	/* does not change while the port is enabled */
	struct rtgt_port_faults faults;	/* what the target does wrong on purpose */
	/* @spec, @nr_regions, @pinned; mkdir, for which others wait, takes it: no holder waits */
	struct mutex regions;
	struct rtgt_spec *spec[RTGT_MAX_REGIONS];	/* in order of creation; fixed if @pinned */
	unsigned int nr_regions;
	bool pinned;			/* the port is enabled, or being enabled or disabled */
	struct rtgt_mem *mem[RTGT_MAX_REGIONS];	/* of the regions, while a shared port is enabled */
	struct rtgt_stats __percpu *stats;	/* kept until the port is freed */
	struct rdma_cm_id *listen_id;	/* the path that takes it has it destroyed */
	struct net *net;		/* counted reference while the port is enabled */
	struct delayed_work listen_again;	/* queued while @state is REMOVED */
	struct mutex making;	/* one shared domain is made at a time: each device gets one */
	struct rtgt_share clients;	/* for endpoints, one at a time: one for a device's port */
	struct mutex lock;	/* @state, @listen_id, @net, @conns to @peers, @next_id, @domains */
	enum rtgt_port_state state;
	struct list_head conns;		/* in all states */
	unsigned int nr_conns;
	u64 conn_memory;		/* bytes, private regions and receives included */
	unsigned int nr_requests;	/* clients that wait for a datagram endpoint */
	DECLARE_HASHTABLE(peers, RTGT_PEERS_BITS);	/* struct rtgt_peer */
	spinlock_t half_lock;	/* @nr_half_open, rtgt_peer.half_open, rtgt_conn.half_open */
	unsigned int nr_half_open;	/* @nr_requests included */
	struct ratelimit_state closings;	/* of the log lines about ends of connections */
	struct ratelimit_state failures;	/* ... about QP errors */
	u32 next_id;			/* number of the last connection */
	struct list_head domains;	/* of a shared port, a rtgt_port_domain for each device */
	wait_queue_head_t idle;		/* woken when @nr_conns and @nr_requests have become 0 */
	struct dentry *debugfs;
	struct dentry *debugfs_regions;	/* below @debugfs, while a shared port is enabled */
	struct dentry *debugfs_conns;	/* below @debugfs */
};

struct rtgt_port *rtgt_port_create(const char *name);
void rtgt_port_put(struct rtgt_port *port);
void rtgt_port_destroy(struct rtgt_port *port);
void rtgt_port_enter(struct rtgt_port *port, enum rtgt_port_state state);
void rtgt_port_set_state(struct rtgt_port *port, enum rtgt_port_state state);
bool rtgt_port_enabled(const struct rtgt_port *port);
const char *rtgt_port_state_name(enum rtgt_port_state state);

#endif /* _RTGT_PORT_H */
