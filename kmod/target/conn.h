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

/* State of a connection; it only moves forwards */
enum rtgt_conn_state {
	RTGT_CONN_CONNECTING,	/* half-open: the set-up is queued or runs, or the REP was sent */
	RTGT_CONN_LIVE,			/* established: the RTU or the first message arrived */
	RTGT_CONN_CLOSING,	/* the teardown is queued or runs, or the set-up will queue it */
};

/* Steps of connecting, whose times debugfs shows */
enum rtgt_conn_step {
	RTGT_CONN_REQ_DONE,		/* the REQ arrived */
	RTGT_CONN_DOMAIN_DONE,	/* the domain is there and, if private, its memory is registered */
	RTGT_CONN_QP_DONE,		/* receives are posted and the QP is in RTS */
	RTGT_CONN_ACCEPT_DONE,		/* rdma_accept() has sent the REP */
	RTGT_CONN_LIVE_DONE,		/* the RTU or the first message arrived */
	RTGT_CONN_STEPS,
};

/* Workers of a datagram endpoint: the number of sources that it resolves at a time */
#define RTGT_UD_WORKERS		16

/* Milliseconds in which a device sends a NAK and flushes receives after it reported an error */
#define RTGT_NAK_MS		100

/* The reason in the log if the device moved the QP to error */
#define RTGT_WHY_REFUSED	"the device refused what the peer did"

/*
 * Milliseconds after which siw's target wakes its own device, see rtgt_conn.unheard.  A client that
 * speaks rtgt does it by itself, after 100: the active side speaks first (RFC 5044).
 */
#define RTGT_WAKE_MS		300

/* A connection */
struct rtgt_conn {
	struct kref ref;		/* the teardown holds one to its end; readers take more */
	struct list_head port_entry;	/* in rtgt_port.conns, under rtgt_port.lock */
	u64 memory;			/* bytes in rtgt_port.conn_memory, from the admission on */
	struct rtgt_peer *peer_entry;	/* in rtgt_port.peers, from the admission on */
	bool half_open;		/* the port counts it as half-open; under rtgt_port.half_lock */
	struct rtgt_port *port;		/* received the REQ; a counted reference */
	struct rtgt_dev_user user;	/* hold on the device */
	bool attached;			/* @user is in use */
	struct rtgt_domain *domain;	/* counted reference; the port's or, if private, its own */
	struct rdma_cm_id *cm_id;	/* owned; NULL for a datagram endpoint */
	struct rtgt_cq cq;		/* owned; completions of @qp */
	struct ib_qp *qp;		/* owned; in the PD of @domain */
	bool iwarp;
	u32 port_num;			/* of the device */
	struct rtgt_recv_pool *pool;	/* receive contexts: of @domain with an SRQ, else owned */
	enum rtgt_transport transport;
	unsigned int recv_depth;	/* number of receive contexts in @pool */
	u32 recv_size;			/* maximum size of a message in bytes */
	unsigned int requests_max;	/* that the peer may have outstanding, as the REP says */
	struct rtgt_recv_pool *own;	/* owned; with an SRQ, see rtgt_recv_keep(); else NULL */
	struct list_head own_free;	/* contexts of @own without a request, under @lock */
	unsigned int nr_held;		/* contexts of @own with a request, under @lock */
	struct list_head deferred;	/* receive contexts that wait for @requests, under @lock */
	struct list_head parked;	/* those that the service keeps, under @lock */
	struct list_head unresolved;	/* UD: those that wait for one of @workers, under @lock */
	struct rtgt_send_ctx *sends;
	unsigned int nr_sends;
	struct list_head send_free;	/* under @lock */
	struct list_head send_wait;	/* receive contexts that wait for a free one, under @lock */
	struct list_head send_chain;	/* only completions of @cq use it, see send.c */
	unsigned int send_unsignaled;	/* entries of @send_chain after the last signaled one */
	struct rtgt_rw_ctx *rws;	/* a datagram endpoint has none */
	unsigned int nr_rws;
	struct list_head rw_free;	/* under @lock */
	struct list_head rw_wait;	/* receive contexts that wait for a free one, under @lock */
	struct rtgt_sources *sources;	/* of a datagram endpoint, otherwise NULL */
	wait_queue_head_t quiet;	/* woken by @last_wqe; UD: and when a reply has completed */
	bool last_wqe;		/* @qp uses no receive of its SRQ any more; set by its event */
	unsigned long active;		/* jiffies of the last receive or transfer */
	/*
	 * Closes the connection: in CONNECTING after handshake_ms, in LIVE after idle_ms without a
	 * receive or transfer, and RTGT_NAK_MS after @failing was set.  Posts a probe after
	 * keepalive_ms of silence, and RTGT_WAKE_MS after LIVE while @unheard.  Started under @lock
	 */
	struct timer_list timer;
	u32 id;				/* on the wire, in debugfs and in the trace */
	struct sockaddr_storage peer;
	char dev_name[IB_DEVICE_NAME_MAX];	/* for log and debugfs */
	u32 qpn;		/* of @qp, for log, debugfs and trace; 0 before there is a QP */
	bool plain;		/* no rtgt private data in the REQ: count SENDs, do not reply */
	bool can_read;			/* the peer allows the target to READ its memory */
	void *service_priv;	/* from rtgt_service.setup, freed by rtgt_service.teardown */
	struct rtgt_conn_faults faults;	/* what faults of the port hold */
	u8 responder_resources;	/* outstanding READs and atomics of the peer, from the REQ */
	u8 initiator_depth;		/* outstanding READs of the target, from the REQ */
	spinlock_t lock;		/* @state, @building, @failing, @unheard, lists marked so */
	enum rtgt_conn_state state;	/* only conn_set_state() changes it */
	/*
	 * siw may have left a plain client's message in the socket until another segment arrives
	 * (Documentation/findings/siw-first-fpdu.rst).  Cleared by the timer; under @lock
	 */
	bool unheard;
	struct ib_cqe probe_cqe;	/* of an empty WRITE or READ, see conn_probe() */
	bool probing;		/* set by the timer, cleared by the completion of the probe */
	unsigned long answered;		/* jiffies of the last completion of a probe */
	const char *failing;	/* see rtgt_conn_failing(), or NULL; set once, under @lock */
	bool building;		/* the set-up has not ended, see rtgt_conn_built(); under @lock */
	bool acceptable;	/* all rkeys are registered, and a peer may have the REP */
	bool abandoned;	/* the peer ended it or gave up before the REP; set by CM handlers */
	struct rtgt_job setup;		/* a job of its peer, like the next two */
	struct rtgt_job close;		/* the teardown; queued under @lock */
	struct rtgt_job requests;	/* runs @deferred; queued under @lock, not in CLOSING */
	u64 recv_msgs;		/* SENDs received; only completions of @cq write it, and @imms */
	u64 imms;			/* immediates received */
	atomic64_t replies;		/* sent */
	u64 step_end[RTGT_CONN_STEPS];	/* nanoseconds at the end of each step, 0 before */
	struct dentry *debugfs;		/* directory of the memory of a private connection */
	unsigned int nr_workers;	/* RTGT_UD_WORKERS for a datagram endpoint, otherwise 0 */
	struct rtgt_conn_worker {
		struct work_struct work;
		struct rtgt_conn *conn;
		bool busy;	/* queued or running; under @lock */
	} workers[];	/* each runs one of @unresolved; queued under @lock, not in CLOSING */
};

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
