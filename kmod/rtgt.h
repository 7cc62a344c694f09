/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private types of the rtgt module.  Prototypes are grouped by the file that
 * defines them, lowest layer first; a file calls only what stands above its own
 * group, never below:
 *
 *   configfs -> port -> service -> conn -> ops -> region -> device
 *
 * proto, stats and trace are leaves anyone may use.
 */
#ifndef _RTGT_H
#define _RTGT_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "include/uapi/rtgt.h"
#include "proto.h"
#include "stats.h"

#define RTGT_NAME_LEN		32

struct dentry;
struct net;
struct rtgt_conn;
struct rtgt_port;
struct rtgt_slot;

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

extern struct ib_client rtgt_client;
extern struct workqueue_struct *rtgt_wq;
extern struct rtgt_devs rtgt_devs;
extern struct dentry *rtgt_debugfs_ports;

/* ---------------------------------------------------------------- device.c */

/**
 * struct rtgt_dev - what the module keeps for one ib_device
 * @entry: in rtgt_devs.list until the device is being removed
 * @ibdev: the device
 * @users: connections and port domains that hold resources of the device
 * @idle: woken when @users became empty
 */
struct rtgt_dev {
	struct list_head entry;
	struct ib_device *ibdev;
	struct list_head users;
	wait_queue_head_t idle;
};

/**
 * struct rtgt_dev_user - one holder of device resources
 * @entry: in rtgt_dev.users
 * @dev: the device, which waits for its users before it goes
 * @gone: the device is being removed: start to let go of it, without waiting.
 *	  Called with rtgt_devs.lock held
 */
struct rtgt_dev_user {
	struct list_head entry;
	struct rtgt_dev *dev;
	void (*gone)(struct rtgt_dev_user *user);
};

int rtgt_dev_add(struct ib_device *ibdev);
void rtgt_dev_remove(struct ib_device *ibdev, void *data);
int rtgt_dev_attach(struct ib_device *ibdev, struct rtgt_dev_user *user);
void rtgt_dev_detach(struct rtgt_dev_user *user);
int rtgt_dev_check(struct ib_device *ibdev);
ssize_t rtgt_dev_features(char *buf, ssize_t len);

/* ----------------------------------------------------------------- regqp.c */

struct rtgt_regqp;

struct rtgt_regqp *rtgt_regqp_create(struct ib_pd *pd);
void rtgt_regqp_destroy(struct rtgt_regqp *reg);
int rtgt_regqp_register(struct rtgt_regqp *reg, struct ib_mr *mr, int access);

/* ---------------------------------------------------------------- region.c */

#define RTGT_REGION_MAX		SZ_1G

/* rtgt_spec.fill: a byte value, or one of these */
#define RTGT_FILL_COUNTER	256

/**
 * struct rtgt_spec - a region as the administrator described it
 * @name: directory name
 * @size: bytes, 1 to RTGT_REGION_MAX
 * @access: RTGT_ACCESS_*
 * @fill: what the memory holds when the port is enabled or the connection made
 */
struct rtgt_spec {
	char name[RTGT_NAME_LEN];
	u64 size;
	u32 access;
	u16 fill;
};

/**
 * struct rtgt_mem - memory that can be exposed
 * @ref: each domain that maps it, each debugfs file, the port
 * @size: bytes
 * @order: each chunk is PAGE_SIZE << @order bytes of linear-map memory
 * @nr: number of chunks
 * @chunk: the chunks
 */
struct rtgt_mem {
	struct kref ref;
	u64 size;
	unsigned int order;
	unsigned int nr;
	struct page *chunk[] __counted_by(nr);
};

/**
 * struct rtgt_map - a memory registered in a domain
 * @mem: the memory, a counted reference
 * @mr: registered with the rkey in @mr->rkey
 * @sgt: DMA mapping
 * @iova: the address a peer uses, chosen at random
 * @access: RTGT_ACCESS_*
 */
struct rtgt_map {
	struct rtgt_mem *mem;
	struct ib_mr *mr;
	struct sg_table sgt;
	u64 iova;
	u32 access;
};

/**
 * struct rtgt_domain - a protection domain and the regions registered in it
 * @ref: a shared one is held by its port and its connections
 * @ibdev: the device; whoever holds a reference is a rtgt_dev_user
 * @pd: QPs that shall reach the regions are created here
 * @reg: posts the registrations
 * @nr: number of regions
 * @map: the regions, in the order of their index on the wire
 */
struct rtgt_domain {
	struct kref ref;
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct rtgt_regqp *reg;
	unsigned int nr;
	struct rtgt_map map[RTGT_MAX_REGIONS];
};

struct rtgt_mem *rtgt_mem_alloc(u64 size, u16 fill);
void rtgt_mem_put(struct rtgt_mem *mem);
u32 rtgt_mem_crc32(struct rtgt_mem *mem, u64 offset, u64 len);
ssize_t rtgt_mem_read_user(struct rtgt_mem *mem, char __user *to, size_t len, loff_t *pos);
struct rtgt_domain *rtgt_domain_create(struct ib_device *ibdev, struct rtgt_stats __percpu *stats,
				       struct rtgt_spec *const spec[], struct rtgt_mem *const mem[],
				       unsigned int nr);
void rtgt_domain_put(struct rtgt_domain *dom);

/* ------------------------------------------------------------------- ops.c */

/**
 * struct rtgt_slot - a receive, the request it brings and the reply to it
 * @conn: owner
 * @recv_cqe: completion of the receive
 * @send_cqe: completion of the reply; the receive is posted again there
 * @work: for requests that take long
 * @buf: rtgt_conn.recv_size bytes: the request, and in place the reply
 * @dma: its address for the device
 * @rq: the request, decoded
 *
 * A slot is always in one place: posted as a receive, being worked on, or
 * posted as a reply.  So nothing is allocated or locked for a request.
 */
struct rtgt_slot {
	struct rtgt_conn *conn;
	struct ib_cqe recv_cqe;
	struct ib_cqe send_cqe;
	struct work_struct work;
	void *buf;
	u64 dma;
	struct rtgt_request rq;
};

int rtgt_slots_create(struct rtgt_conn *conn);
void rtgt_slots_cancel(struct rtgt_conn *conn);
void rtgt_slots_destroy(struct rtgt_conn *conn);
int rtgt_slots_post(struct rtgt_conn *conn);
void rtgt_slot_imm(struct rtgt_slot *slot, const struct ib_wc *wc);
void rtgt_slot_message(struct rtgt_slot *slot, const struct ib_wc *wc);

/* ------------------------------------------------------------------ conn.c */

/**
 * enum rtgt_conn_state - life of a connection
 * @RTGT_CONN_CONNECTING: the REQ is being answered, or the REP is on its way
 * @RTGT_CONN_LIVE: the peer's RTU arrived
 * @RTGT_CONN_CLOSING: teardown is queued or runs; nothing leads out of it
 */
enum rtgt_conn_state {
	RTGT_CONN_CONNECTING,
	RTGT_CONN_LIVE,
	RTGT_CONN_CLOSING,
};

/**
 * struct rtgt_conn - a connection
 * @ref: the teardown holds one until all is released; a reader may hold more
 * @port_entry: in rtgt_port.conns, under rtgt_port.lock
 * @port: the port that accepted it; outlives it
 * @user: hold on the device
 * @attached: @user is in use
 * @domain: shared with the port, or own
 * @cm_id: owned; destroyed by the teardown
 * @cq: own
 * @qp: own, in @domain's PD
 * @slots: @nr_slots receives of @recv_size bytes
 * @nr_slots: receive queue depth
 * @recv_size: bytes
 * @id: number on the wire, in debugfs and in the trace
 * @peer: its address, for log and debugfs
 * @dev_name: of the device, likewise
 * @qpn: of @qp, likewise, 0 before there is one
 * @plain: the peer's REQ did not speak rtgt: serve its one-sided operations and
 *	   immediates, count its SENDs
 * @lock: protects @state
 * @state: changed by rtgt_conn_set_state() only
 * @close_work: the teardown
 * @recv_msgs: SENDs received (@recv_msgs, @imms and @replies are written in
 *	       completions of @cq only, which never run in parallel)
 * @imms: immediates received
 * @replies: replies completed
 * @debugfs: directory of a private connection's memory
 */
struct rtgt_conn {
	struct kref ref;
	struct list_head port_entry;
	struct rtgt_port *port;
	struct rtgt_dev_user user;
	bool attached;
	struct rtgt_domain *domain;
	struct rdma_cm_id *cm_id;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct rtgt_slot *slots;
	unsigned int nr_slots;
	u32 recv_size;
	u32 id;
	struct sockaddr_storage peer;
	char dev_name[IB_DEVICE_NAME_MAX];
	u32 qpn;
	bool plain;
	spinlock_t lock;	/* @state */
	enum rtgt_conn_state state;
	struct work_struct close_work;
	u64 recv_msgs;
	u64 imms;
	u64 replies;
	struct dentry *debugfs;
};

int rtgt_conn_request(struct rtgt_port *port, struct rdma_cm_id *id,
		      const struct rdma_conn_param *param);
void rtgt_conn_close(struct rtgt_conn *conn, const char *why);
void rtgt_conn_fail(struct rtgt_conn *conn, const char *why);
void rtgt_conn_put(struct rtgt_conn *conn);
const char *rtgt_conn_state_name(enum rtgt_conn_state state);

/* --------------------------------------------------------------- service.c */

/**
 * struct rtgt_service - what a port speaks
 * @name: as written to the port's service attribute
 * @request: judges a REQ's private data; 0, or a rtgt_rej_reason with @arg set.
 *	     May set @conn's flags.  Process context
 * @reply: writes the REP's private data, at most @size bytes; returns its
 *	   length.  Process context
 * @message: a SEND arrived in @slot; must see to it that the slot is posted
 *	     again.  Completion context
 * @imm: an immediate arrived; likewise
 */
struct rtgt_service {
	const char *name;
	int (*request)(struct rtgt_conn *conn, const void *priv, size_t len, u32 *arg);
	size_t (*reply)(const struct rtgt_conn *conn, void *priv, size_t size);
	void (*message)(struct rtgt_slot *slot, const struct ib_wc *wc);
	void (*imm)(struct rtgt_slot *slot, const struct ib_wc *wc);
};

const struct rtgt_service *rtgt_service_find(const char *name);
const struct rtgt_service *rtgt_service_nth(unsigned int n);

extern const struct rtgt_service rtgt_service_rtgt;

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
 * @private: each connection has its own copy of the regions
 * @max_conns: connections at a time
 * @recv_size: bytes of a receive
 * @recv_depth: receives of a connection
 */
struct rtgt_port_cfg {
	struct sockaddr_storage addr;
	const struct rtgt_service *service;
	bool private;
	u32 max_conns;
	u32 recv_size;
	u32 recv_depth;
};

/**
 * struct rtgt_port - a listener and what it exposes
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
 * @lock: protects @state, @conns, @nr_conns, @domains; taken in CM handlers
 * @state: see above
 * @conns: connections, the closing ones included
 * @nr_conns: how many
 * @next_id: of the next connection
 * @domains: of a shared port, one rtgt_port_domain for each device
 * @idle: woken when a connection left @conns
 * @debugfs: directory
 * @debugfs_regions: below it while enabled and shared
 * @debugfs_conns: below it
 */
struct rtgt_port {
	char name[RTGT_NAME_LEN];
	struct mutex config;	/* @cfg, @spec, @nr_regions; enable and disable */
	struct rtgt_port_cfg cfg;
	struct rtgt_spec *spec[RTGT_MAX_REGIONS];
	unsigned int nr_regions;
	struct rtgt_mem *mem[RTGT_MAX_REGIONS];
	struct rtgt_stats __percpu *stats;
	struct rdma_cm_id *listen_id;
	struct mutex lock;	/* @state, @conns, @nr_conns, @domains */
	enum rtgt_port_state state;
	struct list_head conns;
	unsigned int nr_conns;
	u32 next_id;
	struct list_head domains;
	wait_queue_head_t idle;
	struct dentry *debugfs;
	struct dentry *debugfs_regions;
	struct dentry *debugfs_conns;
};

struct rtgt_port *rtgt_port_create(const char *name);
void rtgt_port_destroy(struct rtgt_port *port);
int rtgt_port_enable(struct rtgt_port *port, struct net *net);
void rtgt_port_disable(struct rtgt_port *port);
bool rtgt_port_enabled(struct rtgt_port *port);
struct rtgt_domain *rtgt_port_domain_get(struct rtgt_port *port, struct ib_device *ibdev);
int rtgt_port_admit(struct rtgt_port *port, struct rtgt_conn *conn);
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
