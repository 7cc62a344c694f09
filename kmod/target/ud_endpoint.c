// SPDX-License-Identifier: GPL-2.0
/*
 * A datagram endpoint: one UD QP for all clients of a device's port.  It is a struct rtgt_conn
 * (conn.c) without a peer and without a cm_id.
 *
 * A client requests the QP number of the endpoint (SIDR) and gets a reply; the target does not
 * keep the id of the request.  If the endpoint exists and knows the client's address
 * (ud_sources.c), the CM handler replies.  Otherwise a job of the port makes the endpoint, an id of
 * its own resolves the address, and another job replies; such requests count as half-open
 * connections of the port.  The client may have written an address that does not exist into its
 * request.  No worker waits for the resolution, which then takes a second; the client gets its
 * reply all the same.
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
#include "target/ud_endpoint.h"
#include "target/port.h"
#include "target/qp.h"
#include "target/service.h"
#include "target/setup.h"
#include "target/ud_sources.h"

/* Milliseconds in which the address of a client has to be resolved */
#define RESOLVE_MS	1000

/* The request of a client that waits for the endpoint */
struct endpoint_request {
	struct rtgt_job make;		/* makes the endpoint, if there is none */
	struct rtgt_job finish;		/* replies; of the port */
	struct rtgt_port *port;		/* a counted reference; a disable waits for its requests */
	struct rdma_cm_id *id;		/* of the request, owned */
	struct rtgt_conn *conn;		/* the endpoint, a counted reference, or NULL */
	struct rdma_cm_id *resolver;	/* resolves the client's address, owned, or NULL */
	bool heard;			/* @resolver has had its event */
	bool resolved;			/* the address was resolved */
	u32 why;			/* without @conn, the reason of the reject */
	u32 arg;			/* argument of @why */
};

/* Return a reference to the endpoint of a device's port, for rtgt_conn_put(), or NULL. */
static struct rtgt_conn *endpoint_get(struct rtgt_port *port, const struct rdma_cm_id *id)
{
	struct rtgt_conn *conn, *found = NULL;

	mutex_lock(&port->lock);
	list_for_each_entry(conn, &port->conns, port_entry) {
		if (READ_ONCE(conn->state) == RTGT_CONN_LIVE && conn->domain &&
		    conn->domain->ibdev == id->device && conn->port_num == id->port_num) {
			kref_get(&conn->ref);
			found = conn;
			break;
		}
	}
	mutex_unlock(&port->lock);
	return found;
}

static struct rtgt_conn *endpoint_create(struct rtgt_port *port, struct rdma_cm_id *id, u32 *why,
					 u32 *arg)
{
	struct rdma_conn_param param = {};
	struct ib_port_attr attr;
	struct rtgt_conn *conn;
	int ret;

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
	ret = rtgt_conn_settle(conn, id->device) ?: rtgt_qp_create(conn, id, &param);
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

	accept.qp_num = conn->qpn;
	accept.private_data_len = rtgt_service_endpoint(conn, priv, sizeof(priv));
	if (rdma_accept(id, &accept))
		pr_info_ratelimited("%s: a datagram client could not be answered\n", port->name);
}

/* Reply, or reject, and free the request. */
static void endpoint_finish(struct rtgt_job *job)
{
	struct endpoint_request *req = container_of(job, struct endpoint_request, finish);
	struct rtgt_port *port = req->port;

	if (req->resolver)
		rdma_destroy_id(req->resolver);
	if (req->resolved)
		rtgt_sources_add(req->conn->sources,
				 (struct sockaddr *)&req->id->route.addr.dst_addr);
	rdma_lock_handler(req->id);
	if (req->conn)
		endpoint_answer(port, req->id, req->conn);
	else
		rtgt_conn_reject(port, req->id, req->why, req->arg);
	rdma_unlock_handler(req->id);
	if (req->conn)
		rtgt_conn_put(req->conn);
	rdma_destroy_id(req->id);
	rtgt_port_request_done(port);
	rtgt_port_put(port);
	kfree(req);
}

/*
 * The first event is that of the resolution, or of a removal of the device, which cancels it.  The
 * worker destroys the id, whatever comes later.
 */
static int endpoint_resolved(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct endpoint_request *req = id->context;

	if (req->heard)
		return 0;
	req->heard = true;
	req->resolved = ev->event == RDMA_CM_EVENT_ADDR_RESOLVED;
	rtgt_job_queue(&req->finish);
	return 0;
}

/* Returns 0 if endpoint_resolved() will be called, or was. */
static int endpoint_resolve(struct endpoint_request *req)
{
	struct rdma_addr *addr = &req->id->route.addr;
	struct sockaddr_storage from = addr->src_addr;
	int ret;

	if (!rdma_protocol_roce(req->id->device, req->id->port_num))
		return -EOPNOTSUPP;
	req->resolver = rdma_create_id(addr->dev_addr.net, endpoint_resolved, req, RDMA_PS_UDP,
				       IB_QPT_UD);
	if (IS_ERR(req->resolver)) {
		req->resolver = NULL;
		return -ENOMEM;
	}
	/* any port number: the listener has its own; at the same place in both families */
	((struct sockaddr_in *)&from)->sin_port = 0;
	ret = rdma_resolve_addr(req->resolver, (struct sockaddr *)&from,
				(struct sockaddr *)&addr->dst_addr, RESOLVE_MS);
	if (!ret)
		return 0;
	/* it may be bound to the device: no event of a removal may come behind this */
	rdma_destroy_id(req->resolver);
	req->resolver = NULL;
	return req->heard ? 0 : ret;
}

static void endpoint_make(struct rtgt_job *job)
{
	struct endpoint_request *req = container_of(job, struct endpoint_request, make);
	struct rtgt_port *port = req->port;

	req->conn = endpoint_get(port, req->id) ?:
		    endpoint_create(port, req->id, &req->why, &req->arg);
	if (!req->conn || endpoint_resolve(req))
		rtgt_job_queue(&req->finish);
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
	rtgt_job_init(&req->make, endpoint_make);
	rtgt_job_init(&req->finish, endpoint_finish);
	req->make.share = &port->clients;
	req->finish.share = &port->clients;
	kref_get(&port->ref);
	req->port = port;
	req->id = id;
	id->event_handler = endpoint_event;
	rtgt_job_queue(&req->make);
	return 0;
}

/**
 * rtgt_endpoint_request() - handle the request for a datagram endpoint: reply, or queue it
 * @port: port that received the request
 * @id: id of the request
 * @param: parameters of the request
 *
 * Called in the CM handler.
 * Return: 0 when a worker owns @id; a negative errno when the reply was sent and the core
 * must destroy @id.
 */
int rtgt_endpoint_request(struct rtgt_port *port, struct rdma_cm_id *id,
			  const struct rdma_ud_param *param)
{
	struct rtgt_req_info req;
	struct rtgt_conn *conn;
	u32 arg = 0;
	bool known;
	u32 why;
	int ret;

	why = rtgt_decode_req(param->private_data, param->private_data_len, &req, &arg);
	if (why) {
		rtgt_conn_reject(port, id, why, arg);
		return -ECONNREFUSED;
	}
	conn = endpoint_get(port, id);
	known = conn && rtgt_sources_has(conn->sources,
					 (struct sockaddr *)&id->route.addr.dst_addr);
	if (known)
		endpoint_answer(port, id, conn);
	if (conn)
		rtgt_conn_put(conn);
	if (known)
		return -ECONNABORTED;
	ret = endpoint_defer(port, id, &arg);
	if (!ret)
		return 0;
	why = ret == -EUSERS ? RTGT_REJ_FULL : rtgt_conn_reject_reason(ret, &arg);
	rtgt_conn_reject(port, id, why, arg);
	return -ECONNREFUSED;
}
