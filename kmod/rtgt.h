/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private types of the rtgt module.  Prototypes are grouped by the file that
 * defines them, lowest layer first; a file calls only what stands above its own
 * group, never below:
 *
 *   configfs -> port -> service -> conn -> ops -> slot -> region -> mem -> pool -> regqp -> device
 *
 * proto, stats and trace are leaves anyone may use.
 */
#ifndef _RTGT_H
#define _RTGT_H

#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "core/core.h"
#include "include/uapi/rtgt.h"
#include "proto/proto.h"
#include "target/stats.h"

struct dentry;
struct net;
struct rtgt_conn;
struct rtgt_peer;
struct rtgt_port;
struct rtgt_slot;

/*
 * Names that older kernels do not have, for bits that all of them keep free
 * (enum ib_uverbs_device_cap_flags, enum ib_uverbs_access_flags).
 */
#define RTGT_IB_DEVICE_FLUSH_GLOBAL	BIT_ULL(38)
#define RTGT_IB_DEVICE_ATOMIC_WRITE	BIT_ULL(40)
#define RTGT_IB_ACCESS_FLUSH_GLOBAL	BIT(8)

/* ------------------------------------------------------------------ main.c */

/**
 * struct rtgt_devs - the devices there are
 * @lock: protects @list and the users of every device
 * @list: of struct rtgt_dev
 */
struct rtgt_devs {
	struct mutex lock;	/* @list, every device's users */
	struct list_head list;
};

/**
 * struct rtgt_budget - memory that was promised and is not allocated yet
 * @lock: protects @promised
 * @promised: bytes
 */
struct rtgt_budget {
	spinlock_t lock;	/* @promised */
	u64 promised;
};

/**
 * struct rtgt_live - objects that are allocated and not freed yet, for debugfs
 * @ports: struct rtgt_port
 * @conns: struct rtgt_conn
 * @domains: struct rtgt_domain
 * @mems: struct rtgt_mem
 */
struct rtgt_live {
	atomic_t ports;
	atomic_t conns;
	atomic_t domains;
	atomic_t mems;
};

extern struct ib_client rtgt_client;
extern struct workqueue_struct *rtgt_conn_wq;
extern struct workqueue_struct *rtgt_req_wq;
extern struct rtgt_devs rtgt_devs;
extern struct rtgt_budget rtgt_budget;
extern struct rtgt_live rtgt_live;
extern struct dentry *rtgt_debugfs_ports;
extern struct dentry *rtgt_debugfs_initiators;

/* ---------------------------------------------------------------- device.c */

int rtgt_dev_add(struct ib_device *ibdev);
void rtgt_dev_remove(struct ib_device *ibdev, void *data);
int rtgt_dev_check(struct ib_device *ibdev);
ssize_t rtgt_dev_features(char *buf, ssize_t len);

/* ----------------------------------------------------------------- regqp.c */

struct rtgt_regqp;

struct rtgt_regqp *rtgt_regqp_create(struct ib_pd *pd);
void rtgt_regqp_destroy(struct rtgt_regqp *reg);
int rtgt_regqp_register(struct rtgt_regqp *reg, struct ib_mr *mr, int access);
int rtgt_regqp_invalidate(struct rtgt_regqp *reg, struct ib_mr *mr);

/* ------------------------------------------------------------------ pool.c */

/* elements of one transfer's work request */
#define RTGT_XFER_SGES		8

/**
 * struct rtgt_buf - room for one message
 * @at: bytes
 * @dma: their address for the device
 */
struct rtgt_buf {
	void *at;
	u64 dma;
};

/**
 * struct rtgt_slot - a receive, the request it brings and the reply to it
 * @pool: owner of the memory
 * @conn: connection whose message it holds
 * @recv_cqe: completion of the receive
 * @send_cqe: completion of the reply; the receive is posted again there
 * @xfer_cqe: completion of a READ or WRITE towards the peer
 * @entry: in rtgt_conn.deferred
 * @busy: counted in rtgt_conn.busy: deferred, or on the way from there
 * @later: posts the receive again after a time
 * @later_ms: that time, 0 for at once
 * @then: what a completed transfer or the work item goes on with
 * @buf: the request, and in place the reply
 * @len: bytes that arrived, or that the WRITE of an immediate carried
 * @imm: the immediate, 0 without one
 * @rq: the request, decoded; while it is worked on, what is left of it
 * @done: what has been worked off: the CRC of a CHECKSUM, the new keys of a REVOKE
 * @wc: UD: the receive
 * @ah: UD: where the reply goes
 * @src_qp: UD: likewise
 *
 * A slot is always in one place: posted as a receive, being worked on, or, when it
 * could not leave its buffer behind, posted as a reply.  So nothing is allocated or
 * locked for a request.
 */
struct rtgt_slot {
	struct rtgt_pool *pool;
	struct rtgt_conn *conn;
	struct ib_cqe recv_cqe;
	struct ib_cqe send_cqe;
	struct ib_cqe xfer_cqe;
	struct list_head entry;
	bool busy;
	struct timer_list later;
	u32 later_ms;
	void (*then)(struct rtgt_slot *slot);
	struct rtgt_buf buf;
	u32 len;
	u32 imm;
	struct rtgt_request rq;
	u32 done;
	struct ib_wc wc;
	struct ib_ah *ah;
	u32 src_qp;
};

/* Replies that can be under way without holding their slots, at most */
#define RTGT_SPARES	8

/**
 * struct rtgt_pool - slots of a connection, or of an SRQ
 * @pd: protection domain
 * @srq: shared by the connections of @pd, or NULL
 * @size: bytes of a slot's buffer
 * @head: bytes of it before a message: the GRH of a UD QP
 * @nr_spares: of @spare; a power of two from 2 on, or 0, as with an SRQ
 * @taken: how often one was taken, ever
 * @back: how often one came back
 * @spare_cqe: every so many replies from a spare complete here
 * @spare: a slot whose reply goes out takes the buffer of one, and leaves it its own
 * @nr: number of slots
 * @slots: the slots
 *
 * The spares belong to the connection's completion context: no lock.
 */
struct rtgt_pool {
	struct ib_pd *pd;
	struct ib_srq *srq;
	u32 size;
	u32 head;
	unsigned int nr_spares;
	unsigned int taken;
	unsigned int back;
	struct ib_cqe spare_cqe;
	struct rtgt_buf spare[RTGT_SPARES];
	unsigned int nr;
	struct rtgt_slot slots[];
};

struct rtgt_pool *rtgt_pool_create(struct ib_pd *pd, unsigned int nr, u32 size, u32 head, bool srq,
				   void (*init)(struct rtgt_slot *slot));
void rtgt_pool_destroy(struct rtgt_pool *pool);
void rtgt_pool_quiet(struct rtgt_pool *pool);
size_t rtgt_pool_bytes(const struct rtgt_pool *pool, size_t *messages);
u64 rtgt_pool_needs(unsigned int nr, u32 size);
int rtgt_pool_post(struct rtgt_slot *slot, struct ib_qp *qp);
int rtgt_pool_post_all(struct rtgt_pool *pool, struct ib_qp *qp);

/* ---------------------------------------------------------------- region.c */

/*
 * The largest MR: rxe keeps 16 bytes for each page of one, in one piece, and for
 * 1 GiB that is as much as the allocator gives.
 */
#define RTGT_EXTENT_MAX		SZ_1G

/* of a region */
#define RTGT_MAX_EXTENTS	16384

/*
 * Rotations of an MR's rkey.  They change its lower eight bits only, so one more would
 * make the first key valid again, which a peer may have kept: the extent gets a new MR.
 */
#define RTGT_ROTATIONS_MAX	255

/**
 * struct rtgt_extent - a part of a memory, registered
 * @mr: a peer reaches it at @mr->iova
 * @sgt: DMA mapping
 * @rkey: of @mr; under rtgt_domain.key_lock
 * @dead: it was invalidated by a peer, or could not be registered: nobody reaches the
 *	  extent; under rtgt_domain.key_lock
 * @rotations: keys @mr had before this one
 */
struct rtgt_extent {
	struct ib_mr *mr;
	struct sg_table sgt;
	u32 rkey;
	bool dead;
	u8 rotations;
};

/**
 * struct rtgt_map - a region in a domain: a memory and the extents that cover it
 * @mem: the memory, a counted reference
 * @access: RTGT_ACCESS_*
 * @entry_size: bytes of a page-list entry
 * @entries: of all extents together
 * @extent_size: bytes of each extent but the last, a multiple of @entry_size
 * @nr: number of extents
 * @extent: the extents, in the order of what they cover
 * @dma_ns: how long it took to map all of them for DMA
 * @mr_ns: how long to allocate the MRs and write their page lists
 * @reg_ns: how long until the device had registered them
 */
struct rtgt_map {
	struct rtgt_mem *mem;
	u32 access;
	u32 entry_size;
	u32 entries;
	u64 extent_size;
	unsigned int nr;
	struct rtgt_extent *extent;
	u64 dma_ns;
	u64 mr_ns;
	u64 reg_ns;
};

/**
 * struct rtgt_domain - a protection domain and the regions registered in it
 * @ref: a shared one is held by its port and its connections
 * @ibdev: the device
 * @user: hold on the device, until the last reference is put
 * @pd: QPs that shall reach the regions are created here
 * @reg: posts the registrations
 * @lock: rkeys change under it
 * @key_lock: protects rtgt_extent.rkey, rtgt_extent.dead
 * @by_key: extents by the upper 24 bits of their rkey, which are those of the MR
 * @any_dead: a key was invalidated, or not registered, since rtgt_domain_revive() looked
 * @pool: with an SRQ, the receives of all connections in @pd; set under @lock
 * @mr_max: bytes of the largest MR, 0 for no limit
 * @nr: number of regions
 * @map: the regions, in the order of their index on the wire
 */
struct rtgt_domain {
	struct kref ref;
	struct ib_device *ibdev;
	struct rtgt_dev_user user;
	struct ib_pd *pd;
	struct rtgt_regqp *reg;
	struct mutex lock;	/* every rkey, @pool */
	spinlock_t key_lock;	/* rtgt_extent.rkey, rtgt_extent.dead */
	struct xarray by_key;
	bool any_dead;
	struct rtgt_pool *pool;
	u64 mr_max;
	unsigned int nr;
	struct rtgt_map map[RTGT_MAX_REGIONS];
};

/* What a capability of the region's first extent says. */
static inline u32 rtgt_map_access(const struct rtgt_map *map)
{
	return map->access | (map->nr > 1 ? RTGT_ACCESS_MORE : 0);
}

static inline u64 rtgt_extent_len(const struct rtgt_map *map, unsigned int i)
{
	return min_t(u64, map->extent_size, map->mem->size - i * map->extent_size);
}

struct rtgt_domain *rtgt_domain_create(struct ib_device *ibdev, struct rtgt_stats __percpu *stats,
				       struct rtgt_spec *const spec[], struct rtgt_mem *const mem[],
				       unsigned int nr, u64 mr_max);
void rtgt_domain_put(struct rtgt_domain *dom);
int rtgt_domain_rotate(struct rtgt_domain *dom, unsigned int index, u32 from, u32 nr,
		       bool only_dead);
int rtgt_domain_revive(struct rtgt_domain *dom);
void rtgt_domain_invalidated(struct rtgt_domain *dom, u32 rkey);
void rtgt_map_sync_for_cpu(struct rtgt_domain *dom, unsigned int index, u64 offset, u64 len);
u32 rtgt_map_sges(struct rtgt_domain *dom, unsigned int index, u64 offset, u32 len,
		  struct ib_sge *sge, unsigned int max, unsigned int *nr);

/* ------------------------------------------------------------------ slot.c */

/* The message in a slot, behind the head a UD QP puts before it. */
static inline void *rtgt_slot_msg(struct rtgt_slot *slot)
{
	return slot->buf.at + slot->pool->head;
}

void rtgt_slot_init(struct rtgt_slot *slot);
void rtgt_slot_repost(struct rtgt_slot *slot);
void rtgt_slot_send(struct rtgt_slot *slot, u32 len);
void rtgt_slot_reply(struct rtgt_slot *slot, u32 status, u32 len);
void rtgt_slot_defer(struct rtgt_slot *slot, void (*then)(struct rtgt_slot *slot));
void rtgt_slot_run_deferred(struct work_struct *work);
void rtgt_slot_xfer(struct rtgt_slot *slot, enum ib_wr_opcode opcode, u64 addr, u32 rkey,
		    struct ib_sge *sge, unsigned int nr, void (*then)(struct rtgt_slot *slot));

/* ------------------------------------------------------------------- ops.c */

void rtgt_ops_message(struct rtgt_slot *slot);
void rtgt_ops_imm(struct rtgt_slot *slot);

/* -------------------------------------------------------- a connection, qp.c */

/**
 * enum rtgt_transport - what QPs a port's connections have
 * @RTGT_RC: reliable connections
 * @RTGT_UC: unreliable connections
 * @RTGT_UD: datagrams: one QP for all clients of a device
 */
enum rtgt_transport {
	RTGT_RC,
	RTGT_UC,
	RTGT_UD,
};

/**
 * enum rtgt_conn_state - life of a connection
 * @RTGT_CONN_CONNECTING: half-open: the set-up waits or runs, or the REP is on its way
 * @RTGT_CONN_LIVE: the peer's RTU arrived, or its first message
 * @RTGT_CONN_CLOSING: teardown is queued or runs; nothing leads out of it
 */
enum rtgt_conn_state {
	RTGT_CONN_CONNECTING,
	RTGT_CONN_LIVE,
	RTGT_CONN_CLOSING,
};

/**
 * enum rtgt_conn_step - what a connection goes through until it is established
 * @RTGT_CONN_REQ_DONE: the REQ has come
 * @RTGT_CONN_DOMAIN_DONE: it has a protection domain and, of a private port, its memory
 * @RTGT_CONN_QP_DONE: it has queues, in RTS, and receives are posted
 * @RTGT_CONN_ACCEPT_DONE: the REP is on its way
 * @RTGT_CONN_LIVE_DONE: the RTU has come, or what stands for it
 * @RTGT_CONN_STEPS: how many
 */
enum rtgt_conn_step {
	RTGT_CONN_REQ_DONE,
	RTGT_CONN_DOMAIN_DONE,
	RTGT_CONN_QP_DONE,
	RTGT_CONN_ACCEPT_DONE,
	RTGT_CONN_LIVE_DONE,
	RTGT_CONN_STEPS,
};

/* Requests of a datagram endpoint that are worked on at a time */
#define RTGT_UD_WORKERS		16

/**
 * struct rtgt_conn - a connection
 * @ref: the teardown holds one until all is released; each of @busy and a reader
 *	 hold more
 * @port_entry: in rtgt_port.conns, under rtgt_port.lock
 * @memory: bytes it counts in rtgt_port.conn_memory, from its admission on
 * @peer_entry: its peer among those of the port, once it is admitted
 * @half_open: counted as such by the port, until it is established or freed; under
 *	       rtgt_port.half_lock
 * @port: the port that accepted it, a counted reference
 * @user: hold on the device
 * @attached: @user is in use
 * @domain: shared with the port, or own
 * @cm_id: owned; destroyed by the teardown.  NULL of a datagram endpoint
 * @cq: own
 * @qp: own, in @domain's PD
 * @pool: its receives: @domain's if that has an SRQ, otherwise own
 * @transport: of its QP
 * @max_sge: elements of one transfer's work request
 * @nr_slots: receive queue depth
 * @recv_size: bytes of the largest message
 * @deferred: slots whose requests wait for a worker, under @lock
 * @workers: run them: one, but RTGT_UD_WORKERS of a datagram endpoint, where a request may
 *	     have to wait for the resolution of an address.  Queued under @lock, and not
 *	     any more once the state is CLOSING
 * @nr_workers: of @workers
 * @busy: deferred slots, and those on their way from there
 * @quiet: woken when there are none any more
 * @active: jiffies of the last receive
 * @timer: closes the connection: in CONNECTING when the peer takes too long, in LIVE
 *	   when nothing was received for a time.  Started under @lock
 * @id: number on the wire, in debugfs and in the trace
 * @peer: its address, for log and debugfs
 * @dev_name: of the device, likewise
 * @qpn: of @qp, likewise, 0 before there is one
 * @plain: the peer's REQ did not speak rtgt: serve its one-sided operations and
 *	   immediates, count its SENDs
 * @can_read: the peer lets the target READ its memory
 * @service_priv: the service's, made by its setup, freed by its teardown
 * @responder_resources: READs and atomics at a time, as the REQ has it
 * @initiator_depth: READs towards the peer at a time, as the REQ has it
 * @lock: protects @state, @building and @deferred
 * @state: changed by conn_set_state() only
 * @building: the set-up is not done with it: that queues the teardown then, under @lock
 * @setup_work: the set-up
 * @close_work: the teardown; queued under @lock
 * @recv_msgs: SENDs received (@recv_msgs and @imms are written in completions of
 *	       @cq only, which never run in parallel)
 * @imms: immediates received
 * @replies: replies sent
 * @step_end: nanoseconds of the clock at the end of each step of the set-up, 0 before
 * @debugfs: directory of a private connection's memory
 */
struct rtgt_conn {
	struct kref ref;
	struct list_head port_entry;
	u64 memory;
	struct rtgt_peer *peer_entry;
	bool half_open;
	struct rtgt_port *port;
	struct rtgt_dev_user user;
	bool attached;
	struct rtgt_domain *domain;
	struct rdma_cm_id *cm_id;
	struct rtgt_cq cq;
	struct ib_qp *qp;
	struct rtgt_pool *pool;
	enum rtgt_transport transport;
	unsigned int max_sge;
	unsigned int nr_slots;
	u32 recv_size;
	struct list_head deferred;
	struct rtgt_conn_worker {
		struct work_struct work;
		struct rtgt_conn *conn;
	} workers[RTGT_UD_WORKERS];
	unsigned int nr_workers;
	atomic_t busy;
	wait_queue_head_t quiet;
	unsigned long active;
	struct timer_list timer;
	u32 id;
	struct sockaddr_storage peer;
	char dev_name[IB_DEVICE_NAME_MAX];
	u32 qpn;
	bool plain;
	bool can_read;
	void *service_priv;
	u8 responder_resources;
	u8 initiator_depth;
	spinlock_t lock;	/* @state, @building, @deferred */
	enum rtgt_conn_state state;
	bool building;
	struct work_struct setup_work;
	struct work_struct close_work;
	u64 recv_msgs;
	u64 imms;
	atomic64_t replies;
	u64 step_end[RTGT_CONN_STEPS];
	struct dentry *debugfs;
};

u64 rtgt_qp_needs(const struct rtgt_conn *conn);
int rtgt_qp_create(struct rtgt_conn *conn, struct rdma_cm_id *id,
		   const struct rdma_conn_param *param);
void rtgt_qp_destroy(struct rtgt_conn *conn);

/* ------------------------------------------------------------------ conn.c */

int rtgt_conn_request(struct rtgt_port *port, struct rdma_cm_id *id,
		      const struct rdma_conn_param *param);
struct rtgt_conn *rtgt_conn_alloc(struct rtgt_port *port, struct ib_device *ibdev);
int rtgt_conn_admit(struct rtgt_conn *conn, u32 *why, u32 *arg);
int rtgt_conn_settle(struct rtgt_conn *conn, struct ib_device *ibdev);
void rtgt_conn_built(struct rtgt_conn *conn);
void rtgt_conn_reject(struct rtgt_port *port, struct rdma_cm_id *id, u32 reason, u32 arg);
u32 rtgt_conn_reject_reason(int err, u32 *arg);
void rtgt_conn_close(struct rtgt_conn *conn, const char *why);
void rtgt_conn_fail(struct rtgt_conn *conn, const char *why);
void rtgt_conn_live(struct rtgt_conn *conn);
void rtgt_conn_put(struct rtgt_conn *conn);
const char *rtgt_conn_state_name(enum rtgt_conn_state state);

/* -------------------------------------------------------------- endpoint.c */

int rtgt_endpoint_request(struct rtgt_port *port, struct rdma_cm_id *id,
			  const struct rdma_ud_param *param);

/* --------------------------------------------------------------- service.c */

/**
 * struct rtgt_service - what a port speaks
 * @name: as written to the port's service attribute
 * @transports: bits of enum rtgt_transport it works over
 * @conn_bytes: what @setup allocates
 * @needs_region: a port without a region makes no sense
 * @request: judges a REQ's private data; 0, or a rtgt_rej_reason with @arg set.
 *	     May set @conn's flags.  Process context
 * @reply: writes the REP's private data, at most @size bytes; returns its
 *	   length.  Process context
 * @setup: makes rtgt_conn.service_priv when the QP and the slots are there; 0 or a
 *	   negative errno.  May be NULL.  Process context
 * @teardown: frees it; the QP is gone, the device is not.  Called also when
 *	      @setup failed or never ran.  May be NULL.  Process context
 * @message: a SEND arrived in @slot; must see to it that the slot is posted
 *	     again.  Completion context, or process context on a UD port
 * @imm: an immediate arrived; likewise
 */
struct rtgt_service {
	const char *name;
	u32 transports;
	u32 conn_bytes;
	bool needs_region;
	int (*request)(struct rtgt_conn *conn, const void *priv, size_t len, u32 *arg);
	size_t (*reply)(const struct rtgt_conn *conn, void *priv, size_t size);
	int (*setup)(struct rtgt_conn *conn);
	void (*teardown)(struct rtgt_conn *conn);
	void (*message)(struct rtgt_slot *slot);
	void (*imm)(struct rtgt_slot *slot);
};

int rtgt_service_accept_any(struct rtgt_conn *conn, const void *priv, size_t len, u32 *arg);
size_t rtgt_service_capability(const struct rtgt_conn *conn, void *priv, size_t size);
size_t rtgt_service_endpoint(const struct rtgt_conn *conn, void *priv, size_t size);
const struct rtgt_service *rtgt_service_find(const char *name);
const struct rtgt_service *rtgt_service_nth(unsigned int n);

#define RTGT_SERVICE(name) extern const struct rtgt_service rtgt_service_##name
#include "target/services.h"

/* ------------------------------------------------------------------ port.c */

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

struct rtgt_port *rtgt_port_create(const char *name);
void rtgt_port_put(struct rtgt_port *port);
void rtgt_port_destroy(struct rtgt_port *port);
int rtgt_port_enable(struct rtgt_port *port, struct net *net);
void rtgt_port_disable(struct rtgt_port *port);
bool rtgt_port_enabled(struct rtgt_port *port);
struct rtgt_domain *rtgt_port_domain_get(struct rtgt_port *port, struct ib_device *ibdev);
int rtgt_port_admit(struct rtgt_port *port, struct rtgt_conn *conn, u32 *bound);
int rtgt_port_admit_request(struct rtgt_port *port, u32 *bound);
void rtgt_port_request_done(struct rtgt_port *port);
void rtgt_port_established(struct rtgt_port *port, struct rtgt_conn *conn);
struct rtgt_conn *rtgt_port_endpoint(struct rtgt_port *port, struct ib_device *ibdev);
void rtgt_port_domains(struct rtgt_port *port,
		       void (*fn)(struct rtgt_port *port, struct rtgt_domain *dom, u32 conn,
				  void *arg), void *arg);
int rtgt_port_revoke(struct rtgt_port *port, u32 id);
void rtgt_port_forget(struct rtgt_port *port, struct rtgt_conn *conn);
const char *rtgt_port_state_name(enum rtgt_port_state state);

/* --------------------------------------------------------------- debugfs.c */

void rtgt_debugfs_init(void);
void rtgt_debugfs_exit(void);
void rtgt_debugfs_port(struct rtgt_port *port);
void rtgt_debugfs_mem(struct dentry *dir, const char *name, struct rtgt_mem *mem);

/* -------------------------------------------------------------- configfs.c */

int rtgt_configfs_init(void);
void rtgt_configfs_exit(void);

#endif /* _RTGT_H */
