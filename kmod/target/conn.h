/* SPDX-License-Identifier: GPL-2.0 */
/* A connection. */
#ifndef _RTGT_CONN_H
#define _RTGT_CONN_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "core/cq.h"
#include "core/device.h"
#include "target/service.h"

struct dentry;
struct rtgt_domain;
struct rtgt_peer;
struct rtgt_recv_pool;
struct rtgt_rw_ctx;
struct rtgt_send_ctx;
struct rtgt_port;
struct rtgt_sources;

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

/* How long a device has to send a NAK and flush receives, once it has told of an error */
#define RTGT_NAK_MS		100

/**
 * struct rtgt_conn - a connection
 * @ref: the teardown holds one until all is released; a reader holds more
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
 * @port_num: of the device
 * @pool: its receive contexts: @domain's if that has an SRQ, otherwise own
 * @transport: of its QP
 * @recv_depth: receive contexts in @pool
 * @recv_size: bytes of the largest message
 * @deferred: receive contexts whose requests wait for a worker, under @lock
 * @sends: send contexts
 * @nr_sends: of @sends
 * @send_free: free ones, under @lock
 * @send_wait: receive contexts whose reply waits for one, under @lock
 * @send_chain: posted ones that complete with a later one.  Used in completions of @cq only
 * @send_unsignaled: those of @send_chain behind the last one that is signaled
 * @rws: rw contexts; none of a datagram endpoint
 * @nr_rws: of @rws
 * @rw_free: free ones, under @lock
 * @rw_wait: receive contexts whose transfer waits for one, under @lock
 * @sources: of a datagram endpoint: whose datagrams are resolved; NULL otherwise
 * @quiet: UD: woken when a reply has completed
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
 * @lock: protects @state, @building, and the lists that say so
 * @state: changed by conn_set_state() only
 * @failing: why the device is about to move the QP to error, NULL if it is not; set once,
 *	     under @lock
 * @building: the set-up is not done with it: that queues the teardown then, under @lock
 * @setup_work: the set-up
 * @close_work: the teardown; queued under @lock
 * @recv_msgs: SENDs received (@recv_msgs and @imms are written in completions of
 *	       @cq only, which never run in parallel)
 * @imms: immediates received
 * @replies: replies sent
 * @step_end: nanoseconds of the clock at the end of each step of the set-up, 0 before
 * @debugfs: directory of a private connection's memory
 * @nr_workers: of @workers
 * @workers: run @deferred: one, but RTGT_UD_WORKERS of a datagram endpoint, where a request may
 *	     have to wait for the resolution of an address.  Queued under @lock, and not
 *	     any more once the state is CLOSING
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
	u32 port_num;
	struct rtgt_recv_pool *pool;
	enum rtgt_transport transport;
	unsigned int recv_depth;
	u32 recv_size;
	struct list_head deferred;
	struct rtgt_send_ctx *sends;
	unsigned int nr_sends;
	struct list_head send_free;
	struct list_head send_wait;
	struct list_head send_chain;
	unsigned int send_unsignaled;
	struct rtgt_rw_ctx *rws;
	unsigned int nr_rws;
	struct list_head rw_free;
	struct list_head rw_wait;
	struct rtgt_sources *sources;
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
	spinlock_t lock;	/* @state, @building, @deferred, contexts */
	enum rtgt_conn_state state;
	const char *failing;
	bool building;
	struct work_struct setup_work;
	struct work_struct close_work;
	u64 recv_msgs;
	u64 imms;
	atomic64_t replies;
	u64 step_end[RTGT_CONN_STEPS];
	struct dentry *debugfs;
	unsigned int nr_workers;
	struct rtgt_conn_worker {
		struct work_struct work;
		struct rtgt_conn *conn;
	} workers[];
};

struct rtgt_conn *rtgt_conn_alloc(struct rtgt_port *port, struct ib_device *ibdev);
void rtgt_conn_put(struct rtgt_conn *conn);
void rtgt_conn_step_done(struct rtgt_conn *conn, enum rtgt_conn_step step);
void rtgt_conn_built(struct rtgt_conn *conn);
void rtgt_conn_live(struct rtgt_conn *conn);
void rtgt_conn_close(struct rtgt_conn *conn, const char *why);
void rtgt_conn_fail(struct rtgt_conn *conn, const char *why);
void rtgt_conn_failing(struct rtgt_conn *conn, const char *why);
const char *rtgt_conn_state_name(enum rtgt_conn_state state);

#endif /* _RTGT_CONN_H */
