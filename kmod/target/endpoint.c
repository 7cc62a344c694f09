// SPDX-License-Identifier: GPL-2.0
/*
 * A datagram endpoint: one UD QP for all clients of a device.  It is a struct rtgt_conn
 * (conn.c) without a peer and without a cm_id.
 *
 * A client requests the QP number of the endpoint (SIDR) and gets a reply; the target does not
 * keep the id of the request.  If the endpoint exists, the CM handler replies.  Otherwise a
 * worker makes the endpoint and then replies; such requests count as half-open connections of
 * the port.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "main.h"
#include "proto/proto.h"
#include "registration/region.h"
#include "target/admission.h"
#include "target/conn.h"
#include "target/endpoint.h"
#include "target/port.h"
#include "target/qp.h"
#include "target/services.h"
#include "target/setup.h"
#include "target/sources.h"

/**
 * struct endpoint_request - the request of a client that waits for the endpoint
 * @work: makes the endpoint, unless another request has done so, and replies
 * @port: the port, a counted reference; a disable waits for its requests
 * @id: id of the request, owned
 */
struct endpoint_request {
	struct work_struct work;
	struct rtgt_port *port;
	struct rdma_cm_id *id;
};

/* Return a reference to the endpoint of a device, for rtgt_conn_put(), or NULL. */
static struct rtgt_conn *endpoint_get(struct rtgt_port *port, struct ib_device *ibdev)
{
	struct rtgt_conn *conn;

	mutex_lock(&port->lock);
	list_for_each_entry(conn, &port->conns, port_entry) {
		if (READ_ONCE(conn->state) == RTGT_CONN_LIVE && conn->domain &&
		    conn->domain->ibdev == ibdev) {
			kref_get(&conn->ref);
			goto unlock;
		}
	}
	conn = NULL;
unlock:
	mutex_unlock(&port->lock);
	return conn;
}

static struct rtgt_conn *endpoint_create(struct rtgt_port *port, struct rdma_cm_id *id, u32 *why,
					 u32 *arg)
{
	struct rdma_conn_param param = {};
	struct ib_port_attr attr;
	struct rtgt_conn *conn;
	int ret;

	lockdep_assert_held(&port->making_endpoint);
	conn = rtgt_conn_create(port, id->device);
	if (!conn) {
		*why = rtgt_conn_reject_reason(-ENOMEM, arg);
		return NULL;
	}
	ret = -ENOMEM;
	conn->sources = rtgt_sources_create();
	if (conn->sources)
		ret = ib_query_port(id->device, id->port_num, &attr);
	if (!ret)
		conn->recv_size = min_t(u32, conn->recv_size, ib_mtu_enum_to_int(attr.active_mtu));
	else
		*why = rtgt_conn_reject_reason(ret, arg);
	if (ret || rtgt_conn_admit(conn, why, arg)) {
		rtgt_conn_put(conn);
		return NULL;
	}
	kref_get(&conn->ref);	/* for the caller */
	ret = rtgt_conn_settle(conn, id->device);
	if (!ret)
		ret = rtgt_qp_create(conn, id, &param);
	if (!ret)
		rtgt_conn_live(conn);
	else
		rtgt_conn_close(conn, "the endpoint could not be made");
	rtgt_conn_built(conn);
	if (!ret)
		return conn;
	*why = rtgt_conn_reject_reason(ret, arg);
	rtgt_conn_put(conn);
	return NULL;
}

static void endpoint_answer(struct rtgt_port *port, struct rdma_cm_id *id, struct rtgt_conn *conn)
{
	u8 priv[RTGT_REP_UD_MAX];
	struct rdma_conn_param accept = { .private_data = priv };

	/* rdma_cm resolved the client before it reported the request */
	rtgt_sources_add(conn->sources, (struct sockaddr *)&id->route.addr.dst_addr);
	accept.qp_num = conn->qpn;
	accept.private_data_len = rtgt_service_endpoint(conn, priv, sizeof(priv));
	if (rdma_accept(id, &accept))
		pr_info_ratelimited("%s: a datagram client could not be answered\n", port->name);
}

static void endpoint_make(struct work_struct *work)
{
	struct endpoint_request *req = container_of(work, struct endpoint_request, work);
	struct rtgt_port *port = req->port;
	struct rtgt_conn *conn;
	u32 arg = 0;
	u32 why = 0;

	mutex_lock(&port->making_endpoint);
	conn = endpoint_get(port, req->id->device) ?:
	       endpoint_create(port, req->id, &why, &arg);
	mutex_unlock(&port->making_endpoint);
	rdma_lock_handler(req->id);
	if (conn)
		endpoint_answer(port, req->id, conn);
	else
		rtgt_conn_reject(port, req->id, why, arg);
	rdma_unlock_handler(req->id);
	if (conn)
		rtgt_conn_put(conn);
	rdma_destroy_id(req->id);
	rtgt_port_request_done(port);
	rtgt_port_put(port);
	kfree(req);
}

/* Ignore the events of a request's id: the worker destroys the id in any case. */
static int endpoint_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	return 0;
}

/* Queue the request for a worker.  Returns 0 or a negative errno. */
static int endpoint_defer(struct rtgt_port *port, struct rdma_cm_id *id, u32 *arg)
{
	struct endpoint_request *req = kzalloc(sizeof(*req), GFP_KERNEL);
	int ret;

	if (!req)
		return -ENOMEM;
	ret = rtgt_port_admit_request(port, arg);
	if (ret) {
		kfree(req);
		return ret;
	}
	INIT_WORK(&req->work, endpoint_make);
	kref_get(&port->ref);
	req->port = port;
	req->id = id;
	id->event_handler = endpoint_event;
	queue_work(rtgt_conn_wq, &req->work);
	return 0;
}

/**
 * rtgt_endpoint_request() - handle the request for a datagram endpoint: reply, or queue it
 * @port: port that received the request
 * @id: id of the request
 * @param: parameters of the request
 *
 * Called in the CM handler.
 *
 * Return: 0 when a worker owns @id; a negative errno when the reply was sent and the core
 * must destroy @id.
 */
int rtgt_endpoint_request(struct rtgt_port *port, struct rdma_cm_id *id,
			  const struct rdma_ud_param *param)
{
	struct rtgt_req_info req;
	struct rtgt_conn *conn;
	u32 arg = 0;
	u32 why;
	int ret;

	why = rtgt_decode_req(param->private_data, param->private_data_len, &req, &arg);
	if (why) {
		rtgt_conn_reject(port, id, why, arg);
		return -ECONNREFUSED;
	}
	conn = endpoint_get(port, id->device);
	if (conn) {
		endpoint_answer(port, id, conn);
		rtgt_conn_put(conn);
		return -ECONNABORTED;
	}
	ret = endpoint_defer(port, id, &arg);
	if (!ret)
		return 0;
	why = ret == -EUSERS ? RTGT_REJ_FULL : rtgt_conn_reject_reason(ret, &arg);
	rtgt_conn_reject(port, id, why, arg);
	return -ECONNREFUSED;
}
