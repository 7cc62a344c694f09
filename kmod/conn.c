// SPDX-License-Identifier: GPL-2.0
/*
 * A connection, from the peer's REQ to the release of the last resource.
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
 * The QP is brought to RTS by hand, before rdma_accept() (which then only sends
 * the REP): so receives are posted in time, the QP carries this module's name in
 * "rdma resource show", and a QP type whose keys are registered elsewhere needs
 * no special case.
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

/*
 * Waiting time a peer is told when no receive is posted: 0.64 ms, code 14 of
 * InfiniBand Architecture Specification 1.4, table 45.  The default, 0, is the
 * longest (655 ms).
 */
#define RTGT_RNR_TIMER		14

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

/*
 * Unpublish, wait, release.  Draining the receive queue moves the QP to error;
 * after it no completion starts new work, so the deferred work can be waited
 * for, and after that nothing posts a send.
 */
static void conn_teardown(struct work_struct *work)
{
	struct rtgt_conn *conn = container_of(work, struct rtgt_conn, close_work);

	/* the REQ handler may still be building */
	rdma_lock_handler(conn->cm_id);
	rdma_unlock_handler(conn->cm_id);

	rdma_disconnect(conn->cm_id);
	if (conn->qp) {
		ib_drain_rq(conn->qp);
		rtgt_slots_cancel(conn);
		ib_drain_sq(conn->qp);
		ib_destroy_qp(conn->qp);
	}
	if (conn->cq)
		ib_free_cq(conn->cq);
	rtgt_slots_destroy(conn);
	debugfs_remove(conn->debugfs);
	if (conn->domain)
		rtgt_domain_put(conn->domain);
	rdma_destroy_id(conn->cm_id);
	if (conn->attached)
		rtgt_dev_detach(&conn->user);
	rtgt_count(conn->port->stats, RTGT_CONNS_CLOSED, 1);
	rtgt_port_forget(conn->port, conn);
	rtgt_conn_put(conn);
}

static int conn_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rtgt_conn *conn = id->context;

	trace_rtgt_cm_event(conn, ev->event, ev->status);
	switch (ev->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		if (conn_set_state(conn, RTGT_CONN_LIVE)) {
			rtgt_count(conn->port->stats, RTGT_CONNS_ESTABLISHED, 1);
			pr_info_ratelimited("%s: connection %u from %pISpc on %s: established, QP %u\n",
					    conn->port->name, conn->id, &conn->peer, conn->dev_name,
					    conn->qpn);
		}
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

static void conn_qp_event(struct ib_event *ev, void *context)
{
	struct rtgt_conn *conn = context;

	/* may run with interrupts off: leave the QP alone, the flush closes */
	trace_rtgt_qp_event(conn, ev->event);
	if (ev->event == IB_EVENT_COMM_EST)
		rdma_notify(conn->cm_id, IB_EVENT_COMM_EST);
}

static int conn_create_domain(struct rtgt_conn *conn)
{
	struct rtgt_port *port = conn->port;
	struct rtgt_domain *dom;
	char name[16];
	unsigned int i;

	if (port->cfg.private)
		dom = rtgt_domain_create(conn->cm_id->device, port->stats, port->spec, NULL,
					 port->nr_regions);
	else
		dom = rtgt_port_domain_get(port, conn->cm_id->device);
	if (IS_ERR(dom))
		return PTR_ERR(dom);
	conn->domain = dom;

	if (port->cfg.private) {
		snprintf(name, sizeof(name), "%u", conn->id);
		conn->debugfs = debugfs_create_dir(name, port->debugfs_conns);
		for (i = 0; i < dom->nr; i++)
			rtgt_debugfs_mem(conn->debugfs, port->spec[i]->name, dom->map[i].mem);
	}
	return 0;
}

static int conn_create_qp(struct rtgt_conn *conn)
{
	struct ib_device *ibdev = conn->cm_id->device;
	unsigned int depth = conn->nr_slots;
	struct ib_qp_init_attr init = {
		.event_handler = conn_qp_event,
		.qp_context = conn,
		.qp_type = conn->cm_id->qp_type,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			/* one more of each for the drain */
			.max_send_wr = depth + 1,
			.max_recv_wr = depth + 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct ib_cq *cq;
	struct ib_qp *qp;

	cq = ib_alloc_cq_any(ibdev, conn, 2 * (depth + 1), IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	conn->cq = cq;
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ib_create_qp(conn->domain->pd, &init);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	conn->qp = qp;
	conn->qpn = qp->qp_num;
	return 0;
}

static int conn_modify_qp(struct rtgt_conn *conn, enum ib_qp_state state,
			  const struct rdma_conn_param *param)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask, ret;

	ret = rdma_init_qp_attr(conn->cm_id, &attr, &mask);
	if (ret)
		return ret;
	/* rdma_cm learns these two only with the REP */
	if (state == IB_QPS_RTR)
		attr.max_dest_rd_atomic = param->responder_resources;
	else if (state == IB_QPS_RTS)
		attr.max_rd_atomic = param->initiator_depth;
	return ib_modify_qp(conn->qp, &attr, mask);
}

/* To INIT at once: only from there on can the teardown drain the QP. */
static int conn_setup_qp(struct rtgt_conn *conn, const struct rdma_conn_param *param)
{
	struct ib_qp *qp;
	int ret;

	ret = conn_create_qp(conn);
	if (ret)
		return ret;
	ret = conn_modify_qp(conn, IB_QPS_INIT, param);
	if (ret) {
		qp = conn->qp;
		conn->qp = NULL;
		ib_destroy_qp(qp);
		return ret;
	}
	ret = rtgt_slots_create(conn);
	if (ret)
		return ret;
	ret = rtgt_slots_post(conn);
	if (ret)
		return ret;
	ret = conn_modify_qp(conn, IB_QPS_RTR, param);
	if (ret)
		return ret;
	return conn_modify_qp(conn, IB_QPS_RTS, param);
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
	};
	int ret;

	ret = rdma_set_min_rnr_timer(conn->cm_id, RTGT_RNR_TIMER);
	if (ret)
		return ret;
	ret = conn_setup_qp(conn, &param);
	if (ret)
		return ret;
	param.qp_num = conn->qp->qp_num;
	param.private_data_len = conn->port->cfg.service->reply(conn, priv, sizeof(priv));
	return rdma_accept(conn->cm_id, &param);
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

static struct rtgt_conn *conn_alloc(struct rtgt_port *port, struct rdma_cm_id *id)
{
	struct rtgt_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	kref_init(&conn->ref);
	INIT_LIST_HEAD(&conn->port_entry);
	INIT_WORK(&conn->close_work, conn_teardown);
	spin_lock_init(&conn->lock);
	conn->state = RTGT_CONN_CONNECTING;
	conn->port = port;
	conn->cm_id = id;
	conn->peer = id->route.addr.dst_addr;
	strscpy(conn->dev_name, dev_name(&id->device->dev), sizeof(conn->dev_name));
	conn->user.gone = conn_gone;
	conn->nr_slots = port->cfg.recv_depth;
	conn->recv_size = port->cfg.recv_size;
	return conn;
}

/* Everything a connection needs, the REP included.  0, or a reject reason. */
static u32 conn_build(struct rtgt_conn *conn, const struct rdma_conn_param *param, u32 *arg)
{
	int ret;

	ret = rtgt_dev_attach(conn->cm_id->device, &conn->user);
	if (ret)
		return RTGT_REJ_STOPPING;
	conn->attached = true;
	ret = conn_create_domain(conn);
	if (!ret)
		ret = conn_accept(conn, param);
	*arg = -ret;
	if (ret == -EOPNOTSUPP)
		return RTGT_REJ_DEVICE;
	return ret ? RTGT_REJ_RESOURCES : 0;
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
	int ret;
	u32 why;

	conn = conn_alloc(port, id);
	if (!conn) {
		conn_reject(port, id, RTGT_REJ_RESOURCES, ENOMEM);
		return -ENOMEM;
	}
	why = port->cfg.service->request(conn, param->private_data, param->private_data_len, &arg);
	if (!why) {
		ret = rtgt_port_admit(port, conn);
		if (ret == -EUSERS) {
			why = RTGT_REJ_FULL;
			arg = port->cfg.max_conns;
		} else if (ret) {
			why = RTGT_REJ_STOPPING;
		}
	}
	if (why) {
		conn_reject(port, id, why, arg);
		rtgt_conn_put(conn);
		return -ECONNREFUSED;
	}

	id->context = conn;
	id->event_handler = conn_event;
	rtgt_count(port->stats, RTGT_CONNS_ACCEPTED, 1);
	why = conn_build(conn, param, &arg);
	if (why) {
		conn_reject(port, id, why, arg);
		rtgt_conn_close(conn, "could not be accepted");
	}
	return 0;
}
