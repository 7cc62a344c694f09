// SPDX-License-Identifier: GPL-2.0
/*
 * The set-up and the teardown of a connection, jobs of its peer (share.c).
 *
 * rtgt_conn_request(), in the CM handler of a REQ, validates it, has the port admit the connection
 * and queues the set-up.  It allocates nothing that grows with the request, and waits for no device
 * and no peer.  conn_setup() makes the resources and calls rdma_accept().  After the REP, the peer
 * has handshake_ms by the clock of the target, whatever response timeout its REQ names.
 *
 * The peer disconnects, a completion fails, the port is disabled, the device is removed, or the
 * handshake fails: the first of these moves the connection to CLOSING, which queues the teardown,
 * at the end of the set-up if that runs.
 *
 * conn_teardown() is the only teardown and has one order (Documentation/lifetime.rst).  It also
 * releases a connection whose set-up failed, so the set-up has no error path of its own.  Once the
 * port has admitted a connection, the connection owns its cm_id: the CM handler returns 0, and the
 * teardown destroys the id.  The teardown waits for every caller of rtgt_conn_close(): it deletes
 * the timer, drains the QP, frees the CQ, destroys the id (which waits for CM handlers), and
 * detaches from the device.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/ratelimit.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "core/mem.h"
#include "main.h"
#include "proto/proto.h"
#include "registration/region.h"
#include "target/admission.h"
#include "target/conn.h"
#include "target/port_domains.h"
#include "target/fault.h"
#include "target/port.h"
#include "target/qp.h"
#include "target/recv.h"
#include "target/service.h"
#include "target/setup.h"
#include "target/trace.h"

/* Registrations for one REP, if each is revoked before the REP is written */
#define REPLY_TRIES	8

static void conn_release_domain(struct rtgt_conn *conn)
{
	struct rtgt_domain *dom;

	/* a revocation and debugfs use conn->domain with the lock held */
	mutex_lock(&conn->port->lock);
	dom = conn->domain;
	conn->domain = NULL;
	mutex_unlock(&conn->port->lock);
	if (conn->own)
		rtgt_recv_pool_destroy(conn->own);
	if (conn->pool && conn->pool != dom->pool)
		rtgt_recv_pool_destroy(conn->pool);
	rtgt_domain_put(dom);
}

static void conn_teardown(struct rtgt_job *job)
{
	struct rtgt_conn *conn = container_of(job, struct rtgt_conn, close);

	timer_delete_sync(&conn->timer);
	rtgt_fault_cancel_rep(conn);
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

static int conn_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rtgt_conn *conn = id->context;

	trace_rtgt_cm_event(conn, ev->event, ev->status);
	switch (ev->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		rtgt_conn_live(conn);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (rtgt_faulty(&conn->port->faults) &&
		    READ_ONCE(conn->state) != RTGT_CONN_CLOSING &&
		    rtgt_fault_commit(conn->port, RTGT_FAULT_DREQ_IGNORE, NULL))
			break;
		WRITE_ONCE(conn->abandoned, true);
		/* an iWARP device ends the connection itself after an error */
		if (READ_ONCE(conn->failing))
			rtgt_conn_fail(conn, "disconnected");
		else
			rtgt_conn_close(conn, "disconnected");
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		WRITE_ONCE(conn->abandoned, true);
		rtgt_conn_close(conn, rdma_event_msg(ev->event));
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		/* rtgt_dev_remove() closes it, too; the teardown destroys the id */
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
	unsigned int i;
	char name[16];

	if (port->cfg.private)
		dom = rtgt_domain_create(ibdev, port->stats, port->spec, NULL, port->nr_regions,
					 port->cfg.mr_max);
	else
		dom = rtgt_port_domain_get(port, ibdev);
	if (IS_ERR(dom))
		return PTR_ERR(dom);
	/* a revocation and debugfs use conn->domain with the lock held */
	mutex_lock(&port->lock);
	conn->domain = dom;
	mutex_unlock(&port->lock);
	if (!port->cfg.private)
		return 0;
	snprintf(name, sizeof(name), "%u", conn->id);
	conn->debugfs = debugfs_create_dir(name, port->debugfs_conns);
	for (i = 0; i < dom->nr; i++)
		rtgt_mem_debugfs(conn->debugfs, port->spec[i]->name, dom->map[i].mem);
	return 0;
}

/* The REP of iWARP has no rkeys to register. */
static bool conn_incomplete(const struct rtgt_conn *conn)
{
	return !conn->iwarp && rtgt_domain_incomplete(conn->domain);
}

/*
 * Returns the length of the REP's private data or an errno.  Its rkeys are valid then, unless a
 * revocation has followed each of REPLY_TRIES registrations.
 */
static int conn_reply(struct rtgt_conn *conn, void *priv, size_t size)
{
	struct rtgt_domain *dom = conn->domain;
	int len, ret, tries = REPLY_TRIES;

	do {
		ret = 0;
		if (conn_incomplete(conn))
			ret = conn->transport == RTGT_UC ? rtgt_domain_register_uc(dom, conn->qp) :
							   rtgt_domain_register(dom, conn->qp);
		if (ret)
			return ret;
		len = conn->port->cfg.service->reply(conn, priv, size);
	} while (conn_incomplete(conn) && --tries);
	return len;
}

/**
 * rtgt_conn_send_rep() - send the REP
 * @conn: connection that is being set up
 * @param: of the REP
 * Context: may sleep; not in a handler of the id.
 * Return: 0, -ECONNABORTED when the peer has given up, or what rdma_accept() returned.
 */
int rtgt_conn_send_rep(struct rtgt_conn *conn, struct rdma_conn_param *param)
{
	int ret;

	rdma_lock_handler(conn->cm_id);
	ret = rdma_accept(conn->cm_id, param);
	rdma_unlock_handler(conn->cm_id);
	rtgt_conn_step_done(conn, RTGT_CONN_ACCEPT_DONE);
	/* the id expects no REP any more: its event waits for the handler's lock, or comes yet */
	return ret == -EINVAL ? -ECONNABORTED : ret;
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
		/* the delay in an RNR NAK, 0.64 ms; the default is 655 ms */
		ret = rdma_set_min_rnr_timer(conn->cm_id, IB_RNR_TIMER_000_64);
		if (ret)
			return ret;
		conn->can_read = param.initiator_depth > 0;
		/* a client that speaks rtgt wakes it; a READ would meet its first message */
		conn->unheard = conn->plain && conn->can_read &&
				conn->cm_id->device->ops.driver_id == RDMA_DRIVER_SIW;
	}
	ret = rtgt_qp_create(conn, conn->cm_id, &param);
	if (ret)
		return ret;
	rtgt_conn_step_done(conn, RTGT_CONN_QP_DONE);
	ret = rtgt_conn_closing(conn) ? -ESHUTDOWN : conn_reply(conn, priv, sizeof(priv));
	if (ret < 0)
		return ret;
	if (rtgt_conn_closing(conn))
		return -ESHUTDOWN;
	WRITE_ONCE(conn->acceptable, true);
	param.qp_num = conn->qpn;
	param.private_data_len = ret;
	if (rtgt_faulty(&conn->port->faults) && rtgt_fault_accept(conn, &param, priv))
		return 0;
	return rtgt_conn_send_rep(conn, &param);
}

/* Send a REJ with an enum rtgt_rej_reason and its argument; may sleep. */
void rtgt_conn_reject(struct rtgt_port *port, struct rdma_cm_id *id, u32 reason, u32 arg)
{
	u8 priv[RTGT_REJ_MAX];
	size_t len = rtgt_encode_rej(priv, sizeof(priv), reason, arg);

	rtgt_count(port->stats, rtgt_reject_counter(reason), 1);
	trace_rtgt_reject(port, id, reason, arg);
	pr_info_ratelimited("%s: connection from %pISpc rejected: %s (%u)\n", port->name,
			    &id->route.addr.dst_addr, rtgt_rej_name(reason), arg);
	rdma_reject(id, priv, len, IB_CM_REJ_CONSUMER_DEFINED);
}

/**
 * rtgt_conn_settle() - become a user of the device, and get a domain
 * @conn: connection that the port admitted
 * @ibdev: the device
 * Context: may sleep.
 * Return: 0 or a negative errno; the teardown releases what was made before a failure.
 */
int rtgt_conn_settle(struct rtgt_conn *conn, struct ib_device *ibdev)
{
	int ret = rtgt_dev_attach(ibdev, &conn->user);

	if (ret)
		return ret;
	conn->attached = true;
	ret = conn_create_domain(conn, ibdev);
	rtgt_conn_step_done(conn, RTGT_CONN_DOMAIN_DONE);
	return !ret && rtgt_conn_closing(conn) ? -ESHUTDOWN : ret;
}

/* Map the errno of a failed set-up to the enum rtgt_rej_reason of the REJ and its argument. */
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

/**
 * rtgt_conn_not_accepted() - close a connection whose set-up failed, with a REJ if the peer waits
 * @conn: connection
 * @err: negative errno
 * Context: may sleep.
 */
void rtgt_conn_not_accepted(struct rtgt_conn *conn, int err)
{
	u32 why, arg;

	if (err == -ECONNABORTED || READ_ONCE(conn->abandoned)) {
		rtgt_count(conn->port->stats, RTGT_CONNS_ABANDONED, 1);
		rtgt_conn_close(conn, "the peer gave up before it was accepted");
		return;
	}
	why = rtgt_conn_reject_reason(err, &arg);
	rtgt_conn_reject(conn->port, conn->cm_id, why, arg);
	rtgt_conn_close(conn, "could not be accepted");
}

static void conn_setup(struct rtgt_job *job)
{
	struct rtgt_conn *conn = container_of(job, struct rtgt_conn, setup);
	int ret = -ESHUTDOWN;

	/* the state is looked at again between the steps: a disable waits for all set-ups */
	if (!rtgt_conn_closing(conn))
		ret = rtgt_conn_settle(conn, conn->cm_id->device);
	if (!ret)
		ret = conn_accept(conn);
	if (ret)
		rtgt_conn_not_accepted(conn, ret);
	rtgt_conn_built(conn);
}

/* Allocate a connection without resources; see rtgt_conn_alloc(). */
struct rtgt_conn *rtgt_conn_create(struct rtgt_port *port, struct ib_device *ibdev)
{
	struct rtgt_conn *conn = rtgt_conn_alloc(port, ibdev);
	unsigned int i;

	if (!conn)
		return NULL;
	conn->requests_max = rtgt_recvs_own(conn) ?: conn->recv_depth;
	rtgt_job_init(&conn->setup, conn_setup);
	rtgt_job_init(&conn->close, conn_teardown);
	rtgt_job_init(&conn->requests, rtgt_recv_work);
	for (i = 0; i < conn->nr_workers; i++) {
		INIT_WORK(&conn->workers[i].work, rtgt_recv_resolve_work);
		conn->workers[i].conn = conn;
	}
	return conn;
}

static u64 conn_needs(const struct rtgt_conn *conn)
{
	const struct rtgt_port *port = conn->port;
	u64 bytes = rtgt_qp_needs(conn) + port->cfg.service->conn_bytes;
	unsigned int i;

	for (i = 0; port->cfg.private && i < port->nr_regions; i++)
		bytes += rtgt_mem_needs(port->spec[i]->size);
	return bytes;
}

/**
 * rtgt_conn_admit() - have the port admit a connection
 * @conn: new connection
 * @why: set to the reason of the REJ if the port refuses
 * @arg: set to the argument of that reason
 * Context: CM handler; waits for rtgt_port.lock, whose holders wait for no device, memory or peer.
 * Return: 0 or a negative errno.
 */
int rtgt_conn_admit(struct rtgt_conn *conn, u32 *why, u32 *arg)
{
	int ret = rtgt_port_admit(conn->port, conn, conn_needs(conn), arg);

	if (!ret)
		rtgt_count(conn->port->stats, RTGT_CONNS_ACCEPTED, 1);
	else if (ret == -EUSERS)
		*why = RTGT_REJ_FULL;
	else
		*why = rtgt_conn_reject_reason(ret, arg);
	return ret;
}

/*
 * The address to which the REP goes.  The one in rdma_cm's header, @id's, may be another: the
 * client writes it, and bounds for each peer must not depend on what a peer says.
 */
static void conn_peer(const struct rdma_cm_id *id, struct sockaddr_storage *peer)
{
	const struct rdma_route *route = &id->route;
	__be16 port = ((const struct sockaddr_in *)&route->addr.dst_addr)->sin_port;

	*peer = route->addr.dst_addr;
	if (rdma_protocol_iwarp(id->device, id->port_num))
		return;
	memset(peer, 0, sizeof(*peer));
	rdma_gid2ip((struct sockaddr *)peer, &route->path_rec->dgid);
	/* at the same place in both families */
	((struct sockaddr_in *)peer)->sin_port = port;
}

/**
 * rtgt_conn_request() - handle a REQ: queue the set-up of a connection, or send a REJ
 * @port: port that received the REQ
 * @id: id of the REQ
 * @param: parameters of the REQ
 * Context: CM handler, for which other listeners of the machine wait.
 * Return: 0 when a connection owns @id; an errno after a REJ, and the core must destroy @id.
 */
int rtgt_conn_request(struct rtgt_port *port, struct rdma_cm_id *id,
		      const struct rdma_conn_param *param)
{
	struct rtgt_conn *conn;
	u32 arg = 0;
	u32 why;

	conn = rtgt_conn_create(port, id->device);
	if (!conn) {
		rtgt_conn_reject(port, id, RTGT_REJ_RESOURCES, ENOMEM);
		return -ENOMEM;
	}
	conn_peer(id, &conn->peer);
	conn->cm_id = id;
	conn->responder_resources = param->responder_resources;
	conn->initiator_depth = param->initiator_depth;
	why = port->cfg.service->request(conn, param->private_data, param->private_data_len, &arg);
	if (!why && rtgt_faulty(&port->faults))
		why = rtgt_fault_reject(port, &arg);
	if (why || rtgt_conn_admit(conn, &why, &arg)) {
		rtgt_conn_reject(port, id, why, arg);
		rtgt_conn_put(conn);
		return -ECONNREFUSED;
	}
	id->context = conn;
	id->event_handler = conn_event;
	rtgt_job_queue(&conn->setup);
	return 0;
}
