// SPDX-License-Identifier: GPL-2.0
/*
 * A connection, from the peer's REQ to the release of the last resource.  With
 * datagrams, an endpoint: one QP for all clients of a device, which lives like a
 * connection that has no peer and no cm_id.
 *
 *   REQ arrives   rtgt_conn_request() admits it to the port, becomes a user of
 *                 the device, builds domain, CQ, QP and receives, and accepts
 *   RTU arrives   CONNECTING -> LIVE
 *   the end       whatever comes first of: the peer disconnects, a completion
 *                 fails, the port is disabled, the device goes, the handshake
 *                 fails.  rtgt_conn_close() moves to CLOSING, which happens once,
 *                 and queues the teardown
 *
 * conn_teardown() is the one teardown, in one order, and takes a connection that
 * was built only half way as well: so the REQ handler has no unwinding of its
 * own.  From the moment a connection is admitted it owns its cm_id, and the
 * handler returns 0 whatever happens; the teardown destroys the id.
 *
 * Locks: rtgt_conn.lock protects the state only.  CM handlers run under the id's
 * handler mutex, completions in softirq.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "rtgt.h"
#include "trace.h"

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
		WRITE_ONCE(conn->state, new);
	spin_unlock_irqrestore(&conn->lock, flags);
	if (changed)
		trace_rtgt_conn_state(conn, old, new);
	return changed;
}

static void conn_free(struct kref *ref)
{
	kfree(container_of(ref, struct rtgt_conn, ref));
}

/**
 * rtgt_conn_put() - give a reference back
 * @conn: connection
 */
void rtgt_conn_put(struct rtgt_conn *conn)
{
	kref_put(&conn->ref, conn_free);
}

static bool conn_start_close(struct rtgt_conn *conn, const char *why)
{
	if (!conn_set_state(conn, RTGT_CONN_CLOSING))
		return false;
	pr_info_ratelimited("%s: connection %u from %pISpc: closing: %s\n", conn->port->name,
			    conn->id, &conn->peer, why);
	queue_work(rtgt_wq, &conn->close_work);
	return true;
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
	conn_start_close(conn, why);
}

/**
 * rtgt_conn_fail() - end a connection whose QP the device moved to error
 * @conn: connection
 * @why: for the log
 *
 * Any context.  A flush during the teardown comes here too and does nothing.
 */
void rtgt_conn_fail(struct rtgt_conn *conn, const char *why)
{
	if (conn_start_close(conn, why))
		rtgt_count(conn->port->stats, RTGT_QP_ERRORS, 1);
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

	/* the REQ handler may still be building */
	wait_for_completion(&conn->built);

	cancel_delayed_work_sync(&conn->idle_work);
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

/* Whoever sends nothing for so long is not missed. */
static void conn_idle(struct work_struct *work)
{
	struct rtgt_conn *conn = container_of(to_delayed_work(work), struct rtgt_conn, idle_work);
	unsigned long limit = msecs_to_jiffies(conn->port->cfg.idle_ms);
	unsigned long idle = jiffies - READ_ONCE(conn->active);

	if (idle >= limit)
		rtgt_conn_close(conn, "idle");
	else
		queue_delayed_work(rtgt_wq, &conn->idle_work, limit - idle);
}

static void conn_did(struct rtgt_conn *conn, enum rtgt_conn_step step)
{
	WRITE_ONCE(conn->step_end[step], ktime_get_ns());
}

/*
 * Once the state is CLOSING nothing is queued any more that the teardown has not seen.
 */
static void conn_watch_idle(struct rtgt_conn *conn)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (conn->state == RTGT_CONN_LIVE)
		queue_delayed_work(rtgt_wq, &conn->idle_work,
				   msecs_to_jiffies(conn->port->cfg.idle_ms));
	spin_unlock_irqrestore(&conn->lock, flags);
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
	if (!conn_set_state(conn, RTGT_CONN_LIVE))
		return;
	conn_did(conn, RTGT_CONN_LIVE_DONE);
	rtgt_count(conn->port->stats, RTGT_CONNS_ESTABLISHED, 1);
	pr_info_ratelimited("%s: connection %u from %pISpc on %s: established, QP %u\n",
			    conn->port->name, conn->id, &conn->peer, conn->dev_name, conn->qpn);
	WRITE_ONCE(conn->active, jiffies);
	if (conn->port->cfg.idle_ms && conn->transport != RTGT_UD)
		conn_watch_idle(conn);
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
	int revived;

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
		revived = rtgt_domain_revive(dom);
		if (revived < 0)
			return revived;
		rtgt_count(port->stats, RTGT_ROTATIONS, revived);
		return 0;
	}

	snprintf(name, sizeof(name), "%u", conn->id);
	conn->debugfs = debugfs_create_dir(name, port->debugfs_conns);
	for (i = 0; i < dom->nr; i++)
		rtgt_debugfs_mem(conn->debugfs, port->spec[i]->name, dom->map[i].mem);
	return 0;
}

static int conn_accept(struct rtgt_conn *conn, const struct rdma_conn_param *req)
{
	const struct ib_device_attr *attrs = &conn->cm_id->device->attrs;
	u8 priv[RTGT_REP_MAX];
	struct rdma_conn_param param = {
		.private_data = priv,
		.responder_resources = min_t(int, req->responder_resources, attrs->max_qp_rd_atom),
		.initiator_depth = min_t(int, req->initiator_depth, attrs->max_qp_init_rd_atom),
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
	ret = rdma_accept(conn->cm_id, &param);
	conn_did(conn, RTGT_CONN_ACCEPT_DONE);
	return ret;
}

static void conn_reject(struct rtgt_port *port, struct rdma_cm_id *id, u32 reason, u32 arg)
{
	u8 priv[RTGT_REJ_MAX];
	size_t len = rtgt_encode_rej(priv, sizeof(priv), reason, arg);

	rtgt_count(port->stats, RTGT_REJECTS_VERSION + reason - RTGT_REJ_VERSION, 1);
	trace_rtgt_reject(id, reason, arg);
	pr_info_ratelimited("%s: connection from %pISpc rejected: %s (%u)\n", port->name,
			    &id->route.addr.dst_addr, rtgt_rej_name(reason), arg);
	rdma_reject(id, priv, len, IB_CM_REJ_CONSUMER_DEFINED);
}

static struct rtgt_conn *conn_alloc(struct rtgt_port *port, struct ib_device *ibdev)
{
	struct rtgt_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	kref_init(&conn->ref);
	INIT_LIST_HEAD(&conn->port_entry);
	INIT_WORK(&conn->close_work, conn_teardown);
	INIT_DELAYED_WORK(&conn->idle_work, conn_idle);
	init_completion(&conn->built);
	init_waitqueue_head(&conn->quiet);
	spin_lock_init(&conn->lock);
	conn->state = RTGT_CONN_CONNECTING;
	conn->port = port;
	conn->peer.ss_family = AF_INET;
	strscpy(conn->dev_name, dev_name(&ibdev->dev), sizeof(conn->dev_name));
	conn->user.gone = conn_gone;
	conn->transport = port->cfg.transport;
	conn->nr_slots = port->cfg.recv_depth;
	conn->recv_size = port->cfg.recv_size;
	conn_did(conn, RTGT_CONN_REQ_DONE);
	return conn;
}

/* Hold the device and have a domain. */
static int conn_settle(struct rtgt_conn *conn, struct ib_device *ibdev)
{
	int ret = rtgt_dev_attach(ibdev, &conn->user);

	if (ret)
		return ret;
	conn->attached = true;
	return conn_create_domain(conn, ibdev);
}

/* The reject an errno of a connection that could not be built is told with. */
static u32 conn_reject_reason(int err, u32 *arg)
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

static int conn_admit(struct rtgt_port *port, struct rtgt_conn *conn, u32 *why, u32 *arg)
{
	int ret = rtgt_port_admit(port, conn);

	if (!ret) {
		rtgt_count(port->stats, RTGT_CONNS_ACCEPTED, 1);
	} else if (ret == -EUSERS) {
		*why = RTGT_REJ_FULL;
		*arg = port->cfg.max_conns;
	} else {
		*why = conn_reject_reason(ret, arg);
	}
	return ret;
}

/**
 * rtgt_conn_request() - answer a REQ
 * @port: that listens
 * @id: the new id
 * @param: of the REQ
 *
 * CM handler.
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
	int ret;

	conn = conn_alloc(port, id->device);
	if (!conn) {
		conn_reject(port, id, RTGT_REJ_RESOURCES, ENOMEM);
		return -ENOMEM;
	}
	conn->peer = id->route.addr.dst_addr;
	conn->cm_id = id;
	why = port->cfg.service->request(conn, param->private_data, param->private_data_len, &arg);
	if (why || conn_admit(port, conn, &why, &arg)) {
		conn_reject(port, id, why, arg);
		rtgt_conn_put(conn);
		return -ECONNREFUSED;
	}

	id->context = conn;
	id->event_handler = conn_event;
	ret = conn_settle(conn, id->device);
	conn_did(conn, RTGT_CONN_DOMAIN_DONE);
	if (!ret)
		ret = conn_accept(conn, param);
	if (ret) {
		why = conn_reject_reason(ret, &arg);
		conn_reject(port, id, why, arg);
		rtgt_conn_close(conn, "could not be accepted");
	}
	complete(&conn->built);
	return 0;
}

/* The endpoint's QP is built with the first client's id, which it does not keep. */
static struct rtgt_conn *conn_create_endpoint(struct rtgt_port *port, struct rdma_cm_id *id,
					      u32 *why, u32 *arg)
{
	struct rdma_conn_param param = {};
	struct ib_port_attr attr;
	struct rtgt_conn *conn;
	int ret;

	conn = conn_alloc(port, id->device);
	if (!conn) {
		*why = conn_reject_reason(-ENOMEM, arg);
		return NULL;
	}
	ret = ib_query_port(id->device, id->port_num, &attr);
	if (!ret)
		conn->recv_size = min_t(u32, conn->recv_size, ib_mtu_enum_to_int(attr.active_mtu));
	else
		*why = conn_reject_reason(ret, arg);
	if (ret || conn_admit(port, conn, why, arg)) {
		rtgt_conn_put(conn);
		return NULL;
	}
	kref_get(&conn->ref);	/* for the caller */
	ret = conn_settle(conn, id->device);
	if (!ret)
		ret = rtgt_qp_create(conn, id, &param);
	if (!ret)
		rtgt_conn_live(conn);
	else
		rtgt_conn_close(conn, "the endpoint could not be made");
	complete(&conn->built);
	if (!ret)
		return conn;
	*why = conn_reject_reason(ret, arg);
	rtgt_conn_put(conn);
	return NULL;
}

/**
 * rtgt_conn_request_ud() - answer the request for a datagram endpoint
 * @port: that listens
 * @id: the new id
 * @param: of the request
 *
 * CM handler.  The answer is all that happens between this client and the
 * target; the id is not kept.
 *
 * Return: a negative errno always, so that the core destroys @id.
 */
int rtgt_conn_request_ud(struct rtgt_port *port, struct rdma_cm_id *id,
			 const struct rdma_ud_param *param)
{
	u8 priv[RTGT_REP_UD_MAX];
	struct rdma_conn_param accept = { .private_data = priv };
	struct rtgt_hello hello;
	struct rtgt_conn *conn;
	u32 arg = 0;
	u32 why;

	why = rtgt_decode_req(param->private_data, param->private_data_len, &hello, &arg);
	if (why) {
		conn_reject(port, id, why, arg);
		return -ECONNREFUSED;
	}
	conn = rtgt_port_endpoint(port, id->device);
	if (!conn)
		conn = conn_create_endpoint(port, id, &why, &arg);
	if (!conn) {
		conn_reject(port, id, why, arg);
		return -ECONNREFUSED;
	}
	accept.qp_num = conn->qpn;
	accept.private_data_len = rtgt_service_endpoint(conn, priv, sizeof(priv));
	if (rdma_accept(id, &accept))
		pr_info_ratelimited("%s: a datagram client could not be answered\n", port->name);
	rtgt_conn_put(conn);
	return -ECONNABORTED;
}
