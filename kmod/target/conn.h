/* SPDX-License-Identifier: GPL-2.0 */
/* A connection: its resources and its state. */
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
#include "target/fault.h"
#include "target/service.h"
#include "target/share.h"

struct dentry;
struct rtgt_domain;
struct rtgt_peer;
struct rtgt_recv_pool;
struct rtgt_rw_ctx;
struct rtgt_send_ctx;
struct rtgt_port;
struct rtgt_sources;

/**
 * enum rtgt_conn_state - state of a connection; it only moves forwards
 * @RTGT_CONN_CONNECTING: half-open: the set-up is queued or runs, or the REP was sent
 * @RTGT_CONN_LIVE: established: the RTU or the first message arrived
 * @RTGT_CONN_CLOSING: the teardown is queued or runs, or the set-up will queue it
 */
enum rtgt_conn_state {
	RTGT_CONN_CONNECTING,
	RTGT_CONN_LIVE,
	RTGT_CONN_CLOSING,
};

/**
 * enum rtgt_conn_step - the steps of connecting, whose times debugfs shows
 * @RTGT_CONN_REQ_DONE: the REQ arrived
 * @RTGT_CONN_DOMAIN_DONE: the domain is there and, on a private port, its memory is registered
 * @RTGT_CONN_QP_DONE: receives are posted and the QP is in RTS
 * @RTGT_CONN_ACCEPT_DONE: rdma_accept() has sent the REP
 * @RTGT_CONN_LIVE_DONE: the RTU or the first message arrived
 * @RTGT_CONN_STEPS: number of steps
 */
enum rtgt_conn_step {
	RTGT_CONN_REQ_DONE,
	RTGT_CONN_DOMAIN_DONE,
	RTGT_CONN_QP_DONE,
	RTGT_CONN_ACCEPT_DONE,
	RTGT_CONN_LIVE_DONE,
	RTGT_CONN_STEPS,
};

/* Workers of a datagram endpoint: so many of its datagrams have their source resolved at a time */
#define RTGT_UD_WORKERS		16

/* Milliseconds in which a device sends a NAK and flushes receives after it reported an error */
#define RTGT_NAK_MS		100

/*
 * Milliseconds after which siw's target wakes its own device, see rtgt_conn.unheard.  A client
 * that speaks rtgt does it by itself, after 100: the active side speaks first (RFC 5044).
 */
#define RTGT_WAKE_MS		300

/**
 * struct rtgt_conn - a connection
 * @ref: the teardown holds one reference until all resources are released; readers take more
 * @port_entry: in rtgt_port.conns, under rtgt_port.lock
 * @memory: bytes counted in rtgt_port.conn_memory, from the admission on
 * @peer_entry: its peer in rtgt_port.peers, from the admission on
 * @half_open: the port counts it as half-open; under rtgt_port.half_lock
 * @port: the port that received the REQ, a counted reference
 * @user: hold on the device
 * @attached: @user is in use
 * @domain: a counted reference: the port's domain or, on a private port, its own
 * @cm_id: owned; the teardown destroys it.  NULL for a datagram endpoint
 * @cq: owned; completions of @qp
 * @qp: owned; in the PD of @domain
 * @iwarp: the device is an iWARP one
 * @port_num: port of the device
 * @pool: its receive contexts: the pool of @domain if that has an SRQ, otherwise its own
 * @transport: transport of @qp
 * @recv_depth: number of receive contexts in @pool
 * @requests_max: requests that the peer may have outstanding, as the REP says
 * @recv_size: maximum size of a message in bytes
 * @own: with an SRQ: receive contexts of the connection, one for each request that outlives
 *	 the completion of its shared receive (rtgt_recv_keep()); otherwise NULL
 * @own_free: those of @own that hold no request, under @lock
 * @nr_held: those that hold one, under @lock
 * @deferred: receive contexts whose requests wait for @requests, under @lock
 * @unresolved: UD: receive contexts that wait for one of @workers, under @lock
 * @sends: send contexts
 * @nr_sends: number of @sends
 * @send_free: free send contexts, under @lock
 * @send_wait: receive contexts whose reply waits for a send context, under @lock
 * @send_chain: posted send contexts that the completion of a later one frees.  Only
 *		completions of @cq use the list
 * @send_unsignaled: number of entries of @send_chain after the last signaled one
 * @rws: rw contexts; a datagram endpoint has none
 * @nr_rws: number of @rws
 * @rw_free: free rw contexts, under @lock
 * @rw_wait: receive contexts whose transfer waits for an rw context, under @lock
 * @sources: the sources of datagrams that the endpoint knows; NULL if it is no endpoint
 * @quiet: UD: woken when a reply has completed
 * @active: jiffies of the last receive
 * @timer: closes the connection: in CONNECTING after handshake_ms, in LIVE when nothing was
 *	   received for idle_ms, and RTGT_NAK_MS after @failing was set.  Posts a probe when
 *	   nothing was heard for keepalive_ms, and RTGT_WAKE_MS after LIVE while @unheard.
 *	   Started under @lock
 * @id: its number on the wire, in debugfs and in the trace
 * @peer: address of the peer
 * @dev_name: name of the device, for log and debugfs
 * @qpn: number of @qp, for log, debugfs and trace; 0 before there is a QP
 * @plain: the REQ had no rtgt private data: serve one-sided operations and immediates, count
 *	   SENDs and do not reply
 * @can_read: the peer allows the target to READ its memory
 * @service_priv: data of the service, which rtgt_service.setup allocates and
 *		  rtgt_service.teardown frees
 * @faults: what faults of the port hold
 * @responder_resources: outstanding READs and atomics of the peer, from the REQ
 * @initiator_depth: outstanding READs of the target, from the REQ
 * @lock: protects @state, @building, @failing, @unheard, and the lists whose line says so
 * @state: only conn_set_state() changes it
 * @unheard: the device is siw, which may have left the message of a plain client in the socket
 *	     until another segment arrives (Documentation/findings/siw-first-fpdu.rst); cleared
 *	     when the timer has looked.  Under @lock
 * @probe_cqe: of the probe, an empty WRITE or READ that makes the peer's device answer
 * @probing: the probe is outstanding.  The timer sets it, the completion of the probe clears it
 * @answered: jiffies of the last completion of a probe
 * @failing: why the device will move the QP to error, NULL if it will not; set once,
 *	     under @lock
 * @building: the set-up has not ended; at its end rtgt_conn_built() queues the teardown if the
 *	      state is CLOSING.  Under @lock
 * @abandoned: the peer has ended it, or has given up before it was accepted; set by CM handlers
 * @setup: the set-up, a job of its peer
 * @close: the teardown, a job of its peer; queued under @lock
 * @requests: runs one of @deferred, a job of its peer.  Queued under @lock, and only while the
 *	      state is not CLOSING
 * @recv_msgs: number of SENDs received.  Only completions of @cq, which never run in
 *	       parallel, write @recv_msgs and @imms
 * @imms: number of immediates received
 * @replies: number of replies sent
 * @step_end: time in nanoseconds at which each step of connecting ended, 0 before
 * @debugfs: directory of the memory of a private connection
 * @nr_workers: number of @workers: RTGT_UD_WORKERS for a datagram endpoint, otherwise 0
 * @workers: each runs one of @unresolved, which may wait for the resolution of an address.
 *	     Queued under @lock, and only while the state is not CLOSING
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
	bool iwarp;
	u32 port_num;
	struct rtgt_recv_pool *pool;
	enum rtgt_transport transport;
	unsigned int recv_depth;
	u32 recv_size;
	unsigned int requests_max;
	struct rtgt_recv_pool *own;
	struct list_head own_free;
	unsigned int nr_held;
	struct list_head deferred;
	struct list_head unresolved;
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
	struct rtgt_conn_faults faults;
	u8 responder_resources;
	u8 initiator_depth;
	spinlock_t lock;	/* @state, @building, @failing, @unheard, lists of contexts */
	enum rtgt_conn_state state;
	bool unheard;
	struct ib_cqe probe_cqe;
	bool probing;
	unsigned long answered;
	const char *failing;
	bool building;
	bool abandoned;
	struct rtgt_job setup;
	struct rtgt_job close;
	struct rtgt_job requests;
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

/* Return whether the connection is closing; any context. */
static inline bool rtgt_conn_closing(const struct rtgt_conn *conn)
{
	return READ_ONCE(conn->state) == RTGT_CONN_CLOSING;
}

struct rtgt_conn *rtgt_conn_alloc(struct rtgt_port *port, struct ib_device *ibdev);
void rtgt_conn_put(struct rtgt_conn *conn);
void rtgt_conn_step_done(struct rtgt_conn *conn, enum rtgt_conn_step step);
void rtgt_conn_built(struct rtgt_conn *conn);
void rtgt_conn_live(struct rtgt_conn *conn);
void rtgt_conn_close(struct rtgt_conn *conn, const char *why);
void rtgt_conn_fail(struct rtgt_conn *conn, const char *why);
bool rtgt_wc_sent(struct rtgt_conn *conn, const struct ib_wc *wc);
void rtgt_conn_failing(struct rtgt_conn *conn, const char *why);
const char *rtgt_conn_state_name(enum rtgt_conn_state state);

#endif /* _RTGT_CONN_H */
