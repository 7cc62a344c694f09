// SPDX-License-Identifier: GPL-2.0
/*
 * A connection, from the peer's REQ to the release of the last resource.  With
 * datagrams, an endpoint: one QP for all clients of a device, which lives like a
 * connection that has no peer and no cm_id.
 *
 *   REQ arrives   rtgt_conn_request(), in the CM's handler, validates it, has the port
 *                 admit the connection and queues the set-up: nothing there allocates
 *                 more than the connection itself, or waits
 *   set-up        conn_setup(), in a worker, becomes a user of the device, builds
 *                 domain, CQ, QP and receives, and accepts
 *   RTU arrives   CONNECTING -> LIVE.  A peer that has the REP and says nothing has
 *                 handshake_ms by the target's clock, whatever its REQ says
 *   the end       whatever comes first of: the peer disconnects, a completion
 *                 fails, the port is disabled, the device goes, the handshake
 *                 fails.  rtgt_conn_close() moves to CLOSING, which happens once,
 *                 and queues the teardown; while the set-up runs, its end does
 *
 * conn_teardown() is the one teardown, in one order, and takes a connection that
 * was built only half way as well: so the set-up has no unwinding of its own.  From
 * the moment a connection is admitted it owns its cm_id, and the handler returns 0
 * whatever happens; the teardown destroys the id.
 *
 * Whoever may call rtgt_conn_close() is waited for by the teardown: completions by the
 * release of the CQ, CM handlers by that of the id, the timer, the device's removal.
 *
 * Locks: rtgt_conn.lock protects the state, and what is queued for a connection that
 * is not closing.  CM handlers run under the id's handler mutex, completions and the
 * timer in softirq.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "rtgt.h"
#include "target/sources.h"
#include "target/trace.h"

static const char *const conn_state_names[] = {
	[RTGT_CONN_CONNECTING]	= "connecting",
	[RTGT_CONN_LIVE]	= "live",
	[RTGT_CONN_CLOSING]	= "closing",
};

/**
 * rtgt_conn_state_name() - a state as one word
 * @state: state
 *
 * Return: a constant string.
 */
const char *rtgt_conn_state_name(enum rtgt_conn_state state)
{
	return conn_state_names[state];
}

/* What a state needs once it is entered; nothing is started for one that is closing. */
static void conn_enter(struct rtgt_conn *conn, enum rtgt_conn_state state)
{
	lockdep_assert_held(&conn->lock);
	WRITE_ONCE(conn->state, state);
	if (state == RTGT_CONN_CLOSING && !conn->building)
		queue_work(rtgt_conn_wq, &conn->close_work);
	else if (state == RTGT_CONN_LIVE && conn->transport != RTGT_UD && conn->port->cfg.idle_ms)
		mod_timer(&conn->timer, jiffies + msecs_to_jiffies(conn->port->cfg.idle_ms));
}

/* All transitions are here.  Returns whether the state changed. */
static bool conn_set_state(struct rtgt_conn *conn, enum rtgt_conn_state new)
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
		trace_rtgt_conn_state(conn, old, new);
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

/**
 * rtgt_conn_put() - give a reference back
 * @conn: connection
 *
 * Any context.
 */
void rtgt_conn_put(struct rtgt_conn *conn)
{
	kref_put(&conn->ref, conn_free);
}

/**
 * rtgt_conn_close() - end a connection
 * @conn: connection
 * @why: for the log
 *
 * Any context.  Does not wait; nothing happens if the connection is closing
 * already.
 */
void rtgt_conn_close(struct rtgt_conn *conn, const char *why)
{
	if (conn_set_state(conn, RTGT_CONN_CLOSING))
		pr_info_ratelimited("%s: connection %u from %pISpc: closing: %s\n",
				    conn->port->name, conn->id, &conn->peer, why);
}

/**
 * rtgt_conn_fail() - end a connection whose QP the device moved to error
 * @conn: connection
 * @why: for the log, which has a limit of its own for these: ordinary closings do not
 *	 use it up
 *
 * Any context.  A flush during the teardown comes here too and does nothing.
 */
void rtgt_conn_fail(struct rtgt_conn *conn, const char *why)
{
	if (!conn_set_state(conn, RTGT_CONN_CLOSING))
		return;
	rtgt_count(conn->port->stats, RTGT_QP_ERRORS, 1);
	if (__ratelimit(&conn->port->failures))
		pr_info("%s: connection %u from %pISpc: closing: %s\n", conn->port->name,
			conn->id, &conn->peer, why);
}

static void conn_gone(struct rtgt_dev_user *user)
{
	rtgt_conn_close(container_of(user, struct rtgt_conn, user), "the device is being removed");
}

static void conn_release_domain(struct rtgt_conn *conn)
{
	struct rtgt_domain *dom;

	/* a revocation looks at it with the lock held */
	mutex_lock(&conn->port->lock);
	dom = conn->domain;
	conn->domain = NULL;
	mutex_unlock(&conn->port->lock);
	if (conn->pool && conn->pool != dom->pool)
		rtgt_pool_destroy(conn->pool);
	rtgt_domain_put(dom);
}

/* Unpublish, wait, release. */
static void conn_teardown(struct work_struct *work)
{
	struct rtgt_conn *conn = container_of(work, struct rtgt_conn, close_work);

	timer_delete_sync(&conn->timer);
	if (conn->cm_id)
		rdma_disconnect(conn->cm_id);
	rtgt_qp_destroy(conn);
	if (conn->port->cfg.service->teardown)
		conn->port->cfg.service->teardown(conn);
	debugfs_remove(conn->debugfs);
	if (conn->domain)
		conn_release_domain(conn);
	if (conn->cm_id)
		rdma_destroy_id(conn->cm_id);
	if (conn->attached)
		rtgt_dev_detach(&conn->user);
	rtgt_count(conn->port->stats, RTGT_CONNS_CLOSED, 1);
	rtgt_port_forget(conn->port, conn);
	rtgt_conn_put(conn);
}

/* In CONNECTING the peer had its time; in LIVE, did it send nothing for so long? */
static const char *conn_timed_out(struct rtgt_conn *conn)
{
	unsigned long limit = msecs_to_jiffies(conn->port->cfg.idle_ms);
	unsigned long idle = jiffies - READ_ONCE(conn->active);

	lockdep_assert_held(&conn->lock);
	switch (conn->state) {
	case RTGT_CONN_CONNECTING:
		return "not established in time";
	case RTGT_CONN_LIVE:
		/* without idle_ms it was started for the handshake */
		if (!limit || conn->transport == RTGT_UD)
			return NULL;
		if (idle >= limit)
			return "idle";
		mod_timer(&conn->timer, jiffies + limit - idle);
		return NULL;
	default:
		return NULL;
	}
}

static void conn_timer(struct timer_list *timer)
{
	struct rtgt_conn *conn = container_of(timer, struct rtgt_conn, timer);
	unsigned long flags;
	const char *why;

	spin_lock_irqsave(&conn->lock, flags);
	why = conn_timed_out(conn);
	spin_unlock_irqrestore(&conn->lock, flags);
	if (why)
		rtgt_conn_close(conn, why);
}

static void conn_did(struct rtgt_conn *conn, enum rtgt_conn_step step)
{
	WRITE_ONCE(conn->step_end[step], ktime_get_ns());
}

/**
 * rtgt_conn_live() - the peer has the REP
 * @conn: connection
 *
 * Its RTU says so, or its first message: the RTU is sent once and may be lost, and that rdma_cm
 * sends the REP again takes seconds.  rdma_cm is not told (rdma_notify()): of a connection that
 * was closed right behind that, rdma_destroy_id() waited more than 30 s for a last reference
 * (cm_destroy_id_wait_timeout, seen once on 6.12), probably that of the REP still under way.
 *
 * Any context; does nothing but the first time.
 */
void rtgt_conn_live(struct rtgt_conn *conn)
{
	WRITE_ONCE(conn->active, jiffies);
	if (!conn_set_state(conn, RTGT_CONN_LIVE))
		return;
	rtgt_port_established(conn->port, conn);
	conn_did(conn, RTGT_CONN_LIVE_DONE);
	rtgt_count(conn->port->stats, RTGT_CONNS_ESTABLISHED, 1);
	pr_info_ratelimited("%s: connection %u from %pISpc on %s: established, QP %u\n",
			    conn->port->name, conn->id, &conn->peer, conn->dev_name, conn->qpn);
}

static int conn_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rtgt_conn *conn = id->context;

	trace_rtgt_cm_event(conn, ev->event, ev->status);
	switch (ev->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		rtgt_conn_live(conn);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rtgt_conn_close(conn, "disconnected");
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		rtgt_conn_close(conn, rdma_event_msg(ev->event));
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		/* rtgt_dev_remove() closes too; the teardown destroys the id */
		rtgt_conn_close(conn, rdma_event_msg(ev->event));
		break;
	default:
		break;
	}
	return 0;
}

static int conn_create_domain(struct rtgt_conn *conn, struct ib_device *ibdev)
{
	struct rtgt_port *port = conn->port;
	struct rtgt_domain *dom;
	char name[16];
	unsigned int i;
	int rotated;

	if (port->cfg.private)
		dom = rtgt_domain_create(ibdev, port->stats, port->spec, NULL, port->nr_regions,
					 port->cfg.mr_max);
	else
		dom = rtgt_port_domain_get(port, ibdev);
	if (IS_ERR(dom))
		return PTR_ERR(dom);
	/* a revocation looks at it with the lock held */
	mutex_lock(&port->lock);
	conn->domain = dom;
	mutex_unlock(&port->lock);
	if (!port->cfg.private) {
		rotated = rtgt_domain_reregister(dom);
		if (rotated < 0)
			return rotated;
		rtgt_count(port->stats, RTGT_ROTATIONS, rotated);
		return 0;
	}

	snprintf(name, sizeof(name), "%u", conn->id);
	conn->debugfs = debugfs_create_dir(name, port->debugfs_conns);
	for (i = 0; i < dom->nr; i++)
		rtgt_mem_debugfs(conn->debugfs, port->spec[i]->name, dom->map[i].mem);
	return 0;
}

static int conn_accept(struct rtgt_conn *conn)
{
	const struct ib_device_attr *attrs = &conn->cm_id->device->attrs;
	u8 priv[RTGT_REP_MAX];
	struct rdma_conn_param param = {
		.private_data = priv,
		.responder_resources = min_t(int, conn->responder_resources, attrs->max_qp_rd_atom),
		.initiator_depth = min_t(int, conn->initiator_depth, attrs->max_qp_init_rd_atom),
		.flow_control = 1,
		.rnr_retry_count = 7,
		.srq = conn->port->cfg.srq,
	};
	int ret;

	if (conn->transport == RTGT_RC) {
		/* for a peer that finds no receive posted; the default is 655 ms */
		ret = rdma_set_min_rnr_timer(conn->cm_id, IB_RNR_TIMER_000_64);
		if (ret)
			return ret;
		conn->can_read = param.initiator_depth > 0;
	}
	ret = rtgt_qp_create(conn, conn->cm_id, &param);
	if (ret)
		return ret;
	conn_did(conn, RTGT_CONN_QP_DONE);
	param.qp_num = conn->qpn;
	param.private_data_len = conn->port->cfg.service->reply(conn, priv, sizeof(priv));
	rdma_lock_handler(conn->cm_id);
	ret = rdma_accept(conn->cm_id, &param);
	rdma_unlock_handler(conn->cm_id);
	conn_did(conn, RTGT_CONN_ACCEPT_DONE);
	return ret;
}

/**
 * rtgt_conn_reject() - answer a request with a typed REJ
 * @port: that listens
 * @id: the request's
 * @reason: enum rtgt_rej_reason
 * @arg: as the reason says
 *
 * May sleep.
 */
void rtgt_conn_reject(struct rtgt_port *port, struct rdma_cm_id *id, u32 reason, u32 arg)
{
	u8 priv[RTGT_REJ_MAX];
	size_t len = rtgt_encode_rej(priv, sizeof(priv), reason, arg);

	rtgt_count(port->stats, rtgt_reject_counter(reason), 1);
	trace_rtgt_reject(id, reason, arg);
	pr_info_ratelimited("%s: connection from %pISpc rejected: %s (%u)\n", port->name,
			    &id->route.addr.dst_addr, rtgt_rej_name(reason), arg);
	rdma_reject(id, priv, len, IB_CM_REJ_CONSUMER_DEFINED);
}

/**
 * rtgt_conn_settle() - hold the device and have a domain
 * @conn: admitted
 * @ibdev: the device
 *
 * May sleep.
 *
 * Return: 0 or a negative errno; the teardown takes back what was made.
 */
int rtgt_conn_settle(struct rtgt_conn *conn, struct ib_device *ibdev)
{
	int ret = rtgt_dev_attach(ibdev, &conn->user);

	if (ret)
		return ret;
	conn->attached = true;
	ret = conn_create_domain(conn, ibdev);
	conn_did(conn, RTGT_CONN_DOMAIN_DONE);
	return ret;
}

/**
 * rtgt_conn_built() - nothing more is added to a connection
 * @conn: its teardown may run from here on, the caller looks at it no more without a
 *	  reference
 *
 * From here on the peer's time runs, too, until it is established.
 */
void rtgt_conn_built(struct rtgt_conn *conn)
{
	unsigned long handshake = msecs_to_jiffies(conn->port->cfg.handshake_ms);

	rtgt_mem_kept(conn->memory);
	spin_lock_irq(&conn->lock);
	conn->building = false;
	if (conn->state == RTGT_CONN_CLOSING)
		queue_work(rtgt_conn_wq, &conn->close_work);
	else if (conn->state == RTGT_CONN_CONNECTING)
		mod_timer(&conn->timer, jiffies + handshake);
	spin_unlock_irq(&conn->lock);
}

/**
 * rtgt_conn_reject_reason() - map the errno of a failed set-up to the reason in the REJ
 * @err: negative errno
 * @arg: set
 *
 * Return: enum rtgt_rej_reason.
 */
u32 rtgt_conn_reject_reason(int err, u32 *arg)
{
	*arg = -err;
	switch (err) {
	case -ENODEV:
	case -ESHUTDOWN:
		return RTGT_REJ_STOPPING;
	case -EOPNOTSUPP:
		return RTGT_REJ_DEVICE;
	default:
		return RTGT_REJ_RESOURCES;
	}
}

/* From an admitted REQ to the REP. */
static void conn_setup(struct work_struct *work)
{
	struct rtgt_conn *conn = container_of(work, struct rtgt_conn, setup_work);
	u32 why, arg;
	int ret = -ESHUTDOWN;

	if (READ_ONCE(conn->state) == RTGT_CONN_CONNECTING)
		ret = rtgt_conn_settle(conn, conn->cm_id->device);
	if (!ret)
		ret = conn_accept(conn);
	if (ret) {
		why = rtgt_conn_reject_reason(ret, &arg);
		rtgt_conn_reject(conn->port, conn->cm_id, why, arg);
		rtgt_conn_close(conn, "could not be accepted");
	}
	rtgt_conn_built(conn);
}

/**
 * rtgt_conn_alloc() - a connection that is being built
 * @port: of it
 * @ibdev: the device it comes through
 *
 * May sleep.
 *
 * Return: for rtgt_conn_put() until it is admitted, or NULL.
 */
struct rtgt_conn *rtgt_conn_alloc(struct rtgt_port *port, struct ib_device *ibdev)
{
	struct rtgt_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	unsigned int i;

	if (!conn)
		return NULL;
	atomic_inc(&rtgt_live.conns);
	kref_init(&conn->ref);
	INIT_LIST_HEAD(&conn->port_entry);
	INIT_LIST_HEAD(&conn->deferred);
	INIT_WORK(&conn->setup_work, conn_setup);
	INIT_WORK(&conn->close_work, conn_teardown);
	timer_setup(&conn->timer, conn_timer, 0);
	init_waitqueue_head(&conn->quiet);
	spin_lock_init(&conn->lock);
	conn->state = RTGT_CONN_CONNECTING;
	conn->building = true;
	kref_get(&port->ref);
	conn->port = port;
	conn->peer.ss_family = AF_INET;
	strscpy(conn->dev_name, dev_name(&ibdev->dev), sizeof(conn->dev_name));
	conn->user.gone = conn_gone;
	conn->transport = port->cfg.transport;
	conn->nr_slots = port->cfg.recv_depth;
	conn->recv_size = port->cfg.recv_size;
	conn->nr_workers = conn->transport == RTGT_UD ? RTGT_UD_WORKERS : 1;
	for (i = 0; i < conn->nr_workers; i++) {
		INIT_WORK(&conn->workers[i].work, rtgt_slot_run_deferred);
		conn->workers[i].conn = conn;
	}
	conn_did(conn, RTGT_CONN_REQ_DONE);
	return conn;
}

/**
 * rtgt_conn_admit() - have the port count a connection in
 * @conn: new
 * @why: set to the reason of the REJ when the port does not
 * @arg: of it
 *
 * CM handler: waits for nobody who waits.
 *
 * Return: 0 or a negative errno.
 */
int rtgt_conn_admit(struct rtgt_conn *conn, u32 *why, u32 *arg)
{
	int ret = rtgt_port_admit(conn->port, conn, arg);

	if (!ret)
		rtgt_count(conn->port->stats, RTGT_CONNS_ACCEPTED, 1);
	else if (ret == -EUSERS)
		*why = RTGT_REJ_FULL;
	else
		*why = rtgt_conn_reject_reason(ret, arg);
	return ret;
}

/**
 * rtgt_conn_request() - answer a REQ
 * @port: that listens
 * @id: the new id
 * @param: of the REQ
 *
 * CM handler: other listeners of the machine wait for it.
 *
 * Return: 0 when @id is owned by a connection, even one that is being torn down
 * already; a negative errno when the peer was rejected and the core shall destroy
 * @id.
 */
int rtgt_conn_request(struct rtgt_port *port, struct rdma_cm_id *id,
		      const struct rdma_conn_param *param)
{
	struct rtgt_conn *conn;
	u32 arg = 0;
	u32 why;

	conn = rtgt_conn_alloc(port, id->device);
	if (!conn) {
		rtgt_conn_reject(port, id, RTGT_REJ_RESOURCES, ENOMEM);
		return -ENOMEM;
	}
	conn->peer = id->route.addr.dst_addr;
	conn->cm_id = id;
	conn->responder_resources = param->responder_resources;
	conn->initiator_depth = param->initiator_depth;
	why = port->cfg.service->request(conn, param->private_data, param->private_data_len, &arg);
	if (why || rtgt_conn_admit(conn, &why, &arg)) {
		rtgt_conn_reject(port, id, why, arg);
		rtgt_conn_put(conn);
		return -ECONNREFUSED;
	}
	id->context = conn;
	id->event_handler = conn_event;
	queue_work(rtgt_conn_wq, &conn->setup_work);
	return 0;
}
