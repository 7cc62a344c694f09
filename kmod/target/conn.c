// SPDX-License-Identifier: GPL-2.0
/*
 * The state of a connection, and the functions that change it.
 *
 *   CONNECTING --RTU, or the first message--> LIVE --.
 *        |                                           |
 *        `---------------------------------------> CLOSING
 *
 * Completions, CM handlers, the timer and the removal of the device close a connection with
 * rtgt_conn_close().  They hold no reference: the transition to CLOSING happens once and queues the
 * teardown, which waits for each of these callers before it frees anything (setup.c).
 *
 * rtgt_conn.lock protects the state.  The timer is started and work is queued with the lock held,
 * after a check that the state is not CLOSING.  CM handlers run under the handler mutex of the id,
 * completions and the timer in softirq.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ratelimit.h>
#include <linux/slab.h>

#include "main.h"
#include "target/admission.h"
#include "target/conn.h"
#include "target/port.h"
#include "target/ud_sources.h"
#include "target/trace.h"

static const char *const conn_state_names[] = {
	[RTGT_CONN_CONNECTING]	= "connecting",
	[RTGT_CONN_LIVE]	= "live",
	[RTGT_CONN_CLOSING]	= "closing",
};

const char *rtgt_conn_state_name(enum rtgt_conn_state state)
{
	return conn_state_names[state];
}

/* The milliseconds in LIVE after which the timer has something to do, 0 for never. */
static unsigned int conn_live_ms(const struct rtgt_conn *conn)
{
	const struct rtgt_port_cfg *cfg = &conn->port->cfg;
	unsigned int ms = min_not_zero(cfg->idle_ms, cfg->keepalive_ms);

	if (conn->transport == RTGT_UD)
		return 0;
	return conn->unheard ? min_not_zero(ms, RTGT_WAKE_MS) : ms;
}

static void conn_enter(struct rtgt_conn *conn, enum rtgt_conn_state state)
{
	lockdep_assert_held(&conn->lock);
	WRITE_ONCE(conn->state, state);
	if (state == RTGT_CONN_CLOSING && !conn->building)
		rtgt_job_queue(&conn->close);
	else if (state == RTGT_CONN_LIVE && conn_live_ms(conn) && !conn->failing)
		mod_timer(&conn->timer, jiffies + msecs_to_jiffies(conn_live_ms(conn)));
}

/* Makes a transition only if it leads forwards; returns whether the state changed. */
static bool conn_set_state(struct rtgt_conn *conn, enum rtgt_conn_state new, const char *why)
{
	enum rtgt_conn_state old;
	unsigned long flags;
	bool changed;

	spin_lock_irqsave(&conn->lock, flags);
	old = conn->state;
	changed = new > old;
	if (changed)
		conn_enter(conn, new);
	spin_unlock_irqrestore(&conn->lock, flags);
	if (changed)
		trace_rtgt_conn_state(conn, old, new, why);
	return changed;
}

static void conn_free(struct kref *ref)
{
	struct rtgt_conn *conn = container_of(ref, struct rtgt_conn, ref);

	rtgt_port_put(conn->port);
	rtgt_sources_destroy(conn->sources);
	kfree(conn);
	atomic_dec(&rtgt_live.conns);
}

/* The last put frees the connection; any context. */
void rtgt_conn_put(struct rtgt_conn *conn)
{
	kref_put(&conn->ref, conn_free);
}

/**
 * rtgt_conn_close() - close a connection, unless it is closing; does not wait
 * @conn: connection
 * @why: reason for the log, whose limit is the port's
 * Context: any.
 */
void rtgt_conn_close(struct rtgt_conn *conn, const char *why)
{
	if (conn_set_state(conn, RTGT_CONN_CLOSING, why) && __ratelimit(&conn->port->closings))
		pr_info("%s: connection %u from %pISpc: closing: %s\n", conn->port->name,
			conn->id, &conn->peer, why);
}

/**
 * rtgt_conn_fail() - close a connection whose QP the device moved to error, unless it is closing
 * @conn: connection
 * @why: reason for the log, with a rate limit that ordinary closings do not use up
 * Context: any; the flushes of a teardown call this, too.
 */
void rtgt_conn_fail(struct rtgt_conn *conn, const char *why)
{
	why = READ_ONCE(conn->failing) ?: why;
	if (!conn_set_state(conn, RTGT_CONN_CLOSING, why))
		return;
	rtgt_count(conn->port->stats, RTGT_QP_ERRORS, 1);
	if (__ratelimit(&conn->port->failures))
		pr_info("%s: connection %u from %pISpc: closing: %s\n", conn->port->name,
			conn->id, &conn->peer, why);
}

/**
 * rtgt_conn_failing() - note that the device refuses an access and moves the QP to error, or has
 * @conn: connection
 * @why: reason for the log, a constant string; only the first one is kept
 *
 * A device may report the error before it sends the NAK, which is never sent if a teardown destroys
 * the QP.  So the connection stays open until the device flushes a receive or raises
 * IB_EVENT_QP_LAST_WQE_REACHED, for RTGT_NAK_MS at most.
 * Context: any.
 */
void rtgt_conn_failing(struct rtgt_conn *conn, const char *why)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (conn->state != RTGT_CONN_CLOSING && !conn->failing) {
		WRITE_ONCE(conn->failing, why);
		mod_timer(&conn->timer, jiffies + msecs_to_jiffies(RTGT_NAK_MS));
	}
	spin_unlock_irqrestore(&conn->lock, flags);
}

static void conn_gone(struct rtgt_dev_user *user)
{
	rtgt_conn_close(container_of(user, struct rtgt_conn, user), "the device is being removed");
}

/*
 * A probe READs on iWARP, which acknowledges no WRITE; and there only after the client's first
 * message, which siw requires of it (RFC 5044).
 */
static bool conn_may_probe(const struct rtgt_conn *conn)
{
	return !READ_ONCE(conn->probing) &&
	       (!conn->iwarp || (conn->can_read && READ_ONCE(conn->recv_msgs)));
}

/* A completion may be newer than jiffies were when they were read. */
static unsigned long jiffies_since(unsigned long then)
{
	return max_t(long, jiffies - then, 0);
}

/*
 * Returns the reason to close the connection, or NULL: then sets @probe if nothing was heard for
 * keepalive_ms, and restarts the timer if idle_ms or keepalive_ms is set.
 */
static const char *conn_live_timer(struct rtgt_conn *conn, bool *probe)
{
	unsigned long limit = msecs_to_jiffies(conn->port->cfg.idle_ms);
	unsigned long keep = msecs_to_jiffies(conn->port->cfg.keepalive_ms);
	unsigned long idle = jiffies_since(READ_ONCE(conn->active));
	unsigned long quiet = min(idle, jiffies_since(READ_ONCE(conn->answered)));
	unsigned long next = 0;

	if (conn->transport == RTGT_UD)
		return NULL;
	/* the service keeps it waiting */
	if (!list_empty(&conn->parked))
		idle = 0;
	if (limit && idle >= limit)
		return "idle";
	if (limit)
		next = limit - idle;
	if (keep && quiet >= keep) {
		/* a device may try to send it for ever */
		if (READ_ONCE(conn->probing))
			return "the peer's device does not answer";
		*probe = conn_may_probe(conn);
		if (*probe)
			rtgt_count(conn->port->stats, RTGT_KEEPALIVES, 1);
		next = min_not_zero(next, keep);
	} else if (keep) {
		next = min_not_zero(next, keep - quiet);
	}
	if (next)
		mod_timer(&conn->timer, jiffies + next);
	return NULL;
}

static const char *conn_timed_out(struct rtgt_conn *conn, bool *probe)
{
	lockdep_assert_held(&conn->lock);
	/* rtgt_conn_failing() restarted the timer, for RTGT_NAK_MS */
	if (conn->failing)
		return NULL;
	switch (conn->state) {
	case RTGT_CONN_CONNECTING:
		return "not established in time";
	case RTGT_CONN_LIVE:
		return conn_live_timer(conn, probe);
	default:
		return NULL;
	}
}

/* May the device have left the peer's first message in the socket?  True at most once. */
static bool conn_unheard(struct rtgt_conn *conn)
{
	bool unheard = conn->unheard && conn->state == RTGT_CONN_LIVE &&
		       !READ_ONCE(conn->recv_msgs) && !READ_ONCE(conn->imms);

	lockdep_assert_held(&conn->lock);
	if (conn->state == RTGT_CONN_LIVE)
		conn->unheard = false;
	return unheard;
}

/* Did a SEND, READ or WRITE succeed?  An error closes the connection.  Completion context. */
bool rtgt_wc_sent(struct rtgt_conn *conn, const struct ib_wc *wc)
{
	trace_rtgt_wc(conn, wc, true);
	if (likely(wc->status == IB_WC_SUCCESS))
		return true;
	if (wc->status != IB_WC_WR_FLUSH_ERR) {
		rtgt_count(conn->port->stats, RTGT_SEND_ERRORS, 1);
		rtgt_conn_close(conn, ib_wc_status_msg(wc->status));
	} else if (!conn->iwarp) {
		/* if no receive is posted, none is flushed; on iWARP, see recv_failed() */
		rtgt_conn_failing(conn, RTGT_WHY_REFUSED);
	}
	return false;
}

static void conn_probe_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_conn *conn = container_of(cq->cq_context, struct rtgt_conn, cq);

	if (!rtgt_wc_sent(conn, wc))
		return;
	WRITE_ONCE(conn->answered, jiffies);
	WRITE_ONCE(conn->probing, false);
}

/*
 * WRITE nothing, which needs no rkey: an acknowledgment shows that the peer is there.  Over iWARP
 * READ nothing: the response does, and it is a segment, on which siw looks into the socket.  The
 * request shows the peer the STag of the sink, which is therefore none.
 */
static void conn_probe(struct rtgt_conn *conn)
{
	struct ib_sge nothing = {};
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &conn->probe_cqe,
			.sg_list = &nothing,
			.num_sge = conn->iwarp,
			.opcode = conn->iwarp ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
	};

	conn->probe_cqe.done = conn_probe_done;
	WRITE_ONCE(conn->probing, true);
	if (ib_post_send(conn->qp, &wr.wr, NULL))
		rtgt_conn_close(conn, "an empty message could not be posted");
}

/* conn_teardown() waits for this before it touches the QP */
static void conn_timer(struct timer_list *timer)
{
	struct rtgt_conn *conn = container_of(timer, struct rtgt_conn, timer);
	unsigned long flags;
	const char *why = READ_ONCE(conn->failing);
	bool probe = false;

	if (why) {
		rtgt_conn_fail(conn, why);
		return;
	}
	spin_lock_irqsave(&conn->lock, flags);
	why = conn_timed_out(conn, &probe);
	if (conn_unheard(conn) && !conn->probing)
		probe = true;
	spin_unlock_irqrestore(&conn->lock, flags);
	if (why)
		rtgt_conn_close(conn, why);
	else if (probe)
		conn_probe(conn);
}

/* Record the time at which a step of the set-up ended; any context. */
void rtgt_conn_step_done(struct rtgt_conn *conn, enum rtgt_conn_step step)
{
	WRITE_ONCE(conn->step_end[step], ktime_get_ns());
}

/**
 * rtgt_conn_live() - mark a connection established, unless it is: the peer has the REP
 * @conn: connection
 *
 * Called for the RTU and for each message until then.  A peer sends the RTU once, so it may be
 * lost, and the CM takes seconds to retransmit the REP.  The first message does not call
 * rdma_notify(): after that call, rdma_destroy_id() of a connection that closed immediately waited
 * more than 30 s for a reference (cm_destroy_id_wait_timeout, seen once on 6.12), probably that of
 * the outstanding REP.
 * Context: any.
 */
void rtgt_conn_live(struct rtgt_conn *conn)
{
	WRITE_ONCE(conn->active, jiffies);
	if (unlikely(conn->faults.deaf))
		return;
	if (!conn_set_state(conn, RTGT_CONN_LIVE, ""))
		return;
	rtgt_port_established(conn->port, conn);
	rtgt_conn_step_done(conn, RTGT_CONN_LIVE_DONE);
	rtgt_count(conn->port->stats, RTGT_CONNS_ESTABLISHED, 1);
	pr_info_ratelimited("%s: connection %u from %pISpc on %s: established, QP %u\n",
			    conn->port->name, conn->id, &conn->peer, conn->dev_name, conn->qpn);
}

/**
 * rtgt_conn_built() - end the set-up: queue the teardown if CLOSING, else start the timer
 * @conn: its teardown may run from now on, so the caller needs a reference to use it any more
 * Context: process.
 */
void rtgt_conn_built(struct rtgt_conn *conn)
{
	unsigned long handshake = msecs_to_jiffies(conn->port->cfg.handshake_ms);
	bool closing;

	rtgt_mem_kept(conn->memory);
	spin_lock_irq(&conn->lock);
	conn->building = false;
	closing = conn->state == RTGT_CONN_CLOSING;
	if (conn->state == RTGT_CONN_CONNECTING && !conn->failing)
		mod_timer(&conn->timer, jiffies + handshake);
	spin_unlock_irq(&conn->lock);
	/* unlocked: without a QP, nothing in the teardown waits for this caller */
	if (closing)
		rtgt_job_queue(&conn->close);
}

/**
 * rtgt_conn_alloc() - allocate a connection in the state CONNECTING; setup.c initializes its jobs
 * @port: the port that received the request
 * @ibdev: the device that received it
 * Context: may sleep.
 * Return: the connection, which the caller frees with rtgt_conn_put() if the port does not admit
 * it; NULL without memory.
 */
struct rtgt_conn *rtgt_conn_alloc(struct rtgt_port *port, struct ib_device *ibdev)
{
	unsigned int nr = port->cfg.transport == RTGT_UD ? RTGT_UD_WORKERS : 0;
	struct rtgt_conn *conn;

	conn = kzalloc(struct_size(conn, workers, nr), GFP_KERNEL);
	if (!conn)
		return NULL;
	atomic_inc(&rtgt_live.conns);
	kref_init(&conn->ref);
	INIT_LIST_HEAD(&conn->port_entry);
	INIT_LIST_HEAD(&conn->own_free);
	INIT_LIST_HEAD(&conn->deferred);
	INIT_LIST_HEAD(&conn->parked);
	INIT_LIST_HEAD(&conn->unresolved);
	INIT_LIST_HEAD(&conn->send_free);
	INIT_LIST_HEAD(&conn->send_wait);
	INIT_LIST_HEAD(&conn->send_chain);
	INIT_LIST_HEAD(&conn->rw_free);
	INIT_LIST_HEAD(&conn->rw_wait);
	timer_setup(&conn->timer, conn_timer, 0);
	rtgt_fault_conn_init(conn);
	init_waitqueue_head(&conn->quiet);
	spin_lock_init(&conn->lock);
	conn->state = RTGT_CONN_CONNECTING;
	conn->building = true;
	kref_get(&port->ref);
	conn->port = port;
	conn->peer.ss_family = AF_INET;
	strscpy(conn->dev_name, dev_name(&ibdev->dev), sizeof(conn->dev_name));
	conn->user.gone = conn_gone;
	conn->iwarp = rdma_protocol_iwarp(ibdev, rdma_start_port(ibdev));
	conn->transport = port->cfg.transport;
	conn->recv_depth = port->cfg.recv_depth;
	conn->recv_size = port->cfg.recv_size;
	conn->nr_workers = nr;
	conn->answered = jiffies;
	rtgt_conn_step_done(conn, RTGT_CONN_REQ_DONE);
	return conn;
}
