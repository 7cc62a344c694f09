// SPDX-License-Identifier: GPL-2.0
/*
 * Enable and disable a port.
 *
 * enable:   allocate the memory, bind the listener, make the domain if the address belongs to one
 *           device, listen
 * disable:  destroy the listener, close the connections, wait until the last one is released, put
 *           domains and memory
 *
 * When its device is removed, a listener that is bound to an address of the device stops; the state
 * is device-removed, and port_listen_again() tries each second whether a device has the address.  A
 * listener that is bound to a wildcard address keeps listening, on all other devices.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cm.h>

#include "core/device.h"
#include "core/mem.h"
#include "main.h"
#include "registration/region.h"
#include "target/admission.h"
#include "target/conn.h"
#include "target/port_domains.h"
#include "target/ud_endpoint.h"
#include "target/listener.h"
#include "target/port.h"
#include "target/setup.h"

/* Of rdma_listen(), which ignores it on RoCE; rtgt_port_cfg.backlog is the bound */
#define RTGT_BACKLOG	128

static void port_close_conns(struct rtgt_port *port)
{
	struct rtgt_conn *conn;

	mutex_lock(&port->lock);
	list_for_each_entry(conn, &port->conns, port_entry)
		rtgt_conn_close(conn, "the port is being disabled");
	mutex_unlock(&port->lock);
	wait_event(port->idle, rtgt_port_idle(port));
}

/* The largest recv_depth for which the device makes a queue, one marker included */
static unsigned int port_recv_depth_max(const struct rtgt_port *port, const struct ib_device *ibdev)
{
	const struct ib_device_attr *attrs = &ibdev->attrs;

	if (port->cfg.srq && port->cfg.transport != RTGT_UD)
		return attrs->max_srq ? attrs->max_srq_wr : 0;
	return attrs->max_qp_wr - 1;
}

/* No attribute tells that iWARP has neither UC nor UD; its REP has no capabilities (mr.c). */
static int port_check_device(struct rtgt_port *port, struct ib_device *ibdev)
{
	bool iwarp = rdma_protocol_iwarp(ibdev, rdma_start_port(ibdev));
	unsigned int depth = port_recv_depth_max(port, ibdev);

	if (port->cfg.recv_depth > depth) {
		pr_warn_ratelimited("%s: %s takes %u receives in a queue: set recv_depth to at most that, or srq to %d\n",
				    port->name, dev_name(&ibdev->dev), depth, !port->cfg.srq);
		return -EOPNOTSUPP;
	}
	if (iwarp && port->cfg.transport != RTGT_RC) {
		pr_warn_ratelimited("%s: %s is an iWARP device, which has reliable connections only: set transport to rc\n",
				    port->name, dev_name(&ibdev->dev));
		return -EOPNOTSUPP;
	}
	if (iwarp && port->cfg.service->rep_only && port->nr_regions) {
		pr_warn_ratelimited("%s: %s is an iWARP device, on which service %s cannot tell clients where a region is: remove the regions, or set service to rtgt\n",
				    port->name, dev_name(&ibdev->dev), port->cfg.service->name);
		return -EOPNOTSUPP;
	}
	return rtgt_dev_check(ibdev);
}

static int port_request(struct rtgt_port *port, struct rdma_cm_id *id,
			const struct rdma_cm_event *ev)
{
	int ret = port_check_device(port, id->device);

	if (ret)
		rtgt_conn_reject(port, id, RTGT_REJ_DEVICE, -ret);
	else if (port->cfg.transport == RTGT_UD)
		ret = rtgt_endpoint_request(port, id, &ev->param.ud);
	else
		ret = rtgt_conn_request(port, id, &ev->param.conn);
	return ret;
}

static int port_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rtgt_port *port = id->context;
	const char *what = "was removed";
	bool mine;

	switch (ev->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return port_request(port, id, ev);
	case RDMA_CM_EVENT_ADDR_CHANGE:		/* another port of a bond has the address now */
		what = "changed its address";
		fallthrough;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		/*
		 * Only a listener that is bound to an address gets these events.  Whoever has its
		 * id, an enable, a disable or the work, destroys it, and so waits for this handler:
		 * the port and the module stay until it has returned
		 */
		mutex_lock(&port->lock);
		mine = port->state == RTGT_PORT_LISTENING && port->listen_id == id;
		if (port->state == RTGT_PORT_LISTENING)
			rtgt_port_enter(port, RTGT_PORT_REMOVED);
		if (mine)
			queue_delayed_work(rtgt_conn_wq, &port->listen_again, 0);
		mutex_unlock(&port->lock);
		if (mine)
			pr_warn("%s: %s %s, not listening until it is back\n", port->name,
				dev_name(&id->device->dev), what);
		return 0;
	default:
		return 0;
	}
}

static int port_mem_alloc(struct rtgt_port *port)
{
	unsigned int i;

	for (i = 0; i < port->nr_regions; i++) {
		port->mem[i] = rtgt_mem_alloc(port->spec[i]);
		if (!port->mem[i])
			return -ENOMEM;
	}
	return 0;
}

static void port_mem_put(struct rtgt_port *port)
{
	unsigned int i;

	for (i = 0; i < port->nr_regions; i++) {
		rtgt_mem_put(port->mem[i]);
		port->mem[i] = NULL;
	}
}

static int port_listen(struct rtgt_port *port)
{
	struct sockaddr *addr = (struct sockaddr *)&port->cfg.addr;
	static const struct {
		enum rdma_ucm_port_space ps;
		enum ib_qp_type type;
	} kind[] = {
		[RTGT_RC] = { RDMA_PS_TCP, IB_QPT_RC },
		[RTGT_UC] = { RDMA_PS_IB, IB_QPT_UC },
		[RTGT_UD] = { RDMA_PS_UDP, IB_QPT_UD },
	};
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(port->net, port_event, port, kind[port->cfg.transport].ps,
			    kind[port->cfg.transport].type);
	if (IS_ERR(id))
		return PTR_ERR(id);
	/* an IPv6 wildcard must not take the port's IPv4 half */
	if (addr->sa_family == AF_INET6)
		rdma_set_afonly(id, 1);
	ret = rdma_bind_addr(id, addr);
	if (ret)
		goto destroy_id;
	if (id->device) {
		ret = port_check_device(port, id->device);
		if (ret)
			goto destroy_id;
	}
	if (id->device && !port->cfg.private) {
		struct rtgt_domain *dom = rtgt_port_domain_get(port, id->device);

		if (IS_ERR(dom)) {
			ret = PTR_ERR(dom);
			goto destroy_id;
		}
		rtgt_domain_put(dom);	/* the port keeps its own reference */
	}
	/* a client may come before rdma_listen() returns */
	rtgt_port_set_state(port, RTGT_PORT_LISTENING);
	ret = rdma_listen(id, RTGT_BACKLOG);
	/* until here the id belongs to this function, also when the device is removed meanwhile */
	mutex_lock(&port->lock);
	if (!ret && port->state != RTGT_PORT_LISTENING)
		ret = -ENODEV;
	if (ret)
		rtgt_port_enter(port, RTGT_PORT_STOPPING);
	else
		port->listen_id = id;
	mutex_unlock(&port->lock);
	if (!ret)
		return 0;
destroy_id:
	rdma_destroy_id(id);
	return ret;
}

/*
 * Destroys the id of a listener that stopped, for which a removal of the device waits; later tries
 * to listen again.  A disable holds config and waits for this, so this does not wait for config.
 */
static void port_listen_again(struct work_struct *work)
{
	struct rtgt_port *port = container_of(to_delayed_work(work), struct rtgt_port,
					      listen_again);
	struct rdma_cm_id *id = NULL;

	mutex_lock(&port->lock);
	if (port->state == RTGT_PORT_REMOVED)
		swap(id, port->listen_id);
	mutex_unlock(&port->lock);
	if (id) {
		rdma_destroy_id(id);
	} else if (mutex_trylock(&port->config)) {
		if (port->state == RTGT_PORT_REMOVED && port_listen(port))
			rtgt_port_set_state(port, RTGT_PORT_REMOVED);
		if (port->state == RTGT_PORT_LISTENING)
			pr_info("%s: listening on %pISpc again\n", port->name, &port->cfg.addr);
		mutex_unlock(&port->config);
	}
	mutex_lock(&port->lock);
	if (port->state == RTGT_PORT_REMOVED)
		queue_delayed_work(rtgt_conn_wq, &port->listen_again, HZ);
	mutex_unlock(&port->lock);
}

static void port_set_net(struct rtgt_port *port, struct net *net)
{
	struct net *old = port->net;

	mutex_lock(&port->lock);
	port->net = net;
	mutex_unlock(&port->lock);
	if (old)
		put_net(old);
}

static void port_release(struct rtgt_port *port)
{
	rtgt_port_domains_drop(port);
	debugfs_remove(port->debugfs_regions);
	port->debugfs_regions = NULL;
	port_mem_put(port);
	port_set_net(port, NULL);
	rtgt_port_set_state(port, RTGT_PORT_DISABLED);
}

/**
 * rtgt_port_enable() - enable a port
 * @port: port; the caller holds rtgt_port.config
 * @net: network namespace to listen in; the port holds a reference until it is disabled
 * Context: may sleep.
 * Return: 0; -EINVAL without a region, if the service does not work over the transport or in the
 * scope, or if the transport has no keepalive_ms; -ENOMEM; -E2BIG when a region needs too many
 * registrations; -ENODEV when the address belongs to no RDMA device or the device is being removed;
 * -EOPNOTSUPP when the device lacks a feature or has too small queues; or an error of
 * rdma_bind_addr() and rdma_listen() (-EADDRINUSE, -EADDRNOTAVAIL).
 */
int rtgt_port_enable(struct rtgt_port *port, struct net *net)
{
	unsigned int i;
	int ret;

	lockdep_assert_held(&port->config);
	if (!port->nr_regions && port->cfg.service->needs_region) {
		pr_err("%s: no region: mkdir regions/NAME first\n", port->name);
		return -EINVAL;
	}
	if (!(port->cfg.service->transports & BIT(port->cfg.transport))) {
		pr_warn("%s: the service %s does not work over this transport: set transport to rc\n",
			port->name, port->cfg.service->name);
		return -EINVAL;
	}
	if (port->cfg.private && port->cfg.service->shared) {
		pr_warn("%s: the clients of the service %s share the regions: set scope to shared\n",
			port->name, port->cfg.service->name);
		return -EINVAL;
	}
	if (port->cfg.keepalive_ms && port->cfg.transport != RTGT_RC) {
		pr_warn("%s: only a reliable connection tells whether its peer is there: set transport to rc, or keepalive_ms to 0\n",
			port->name);
		return -EINVAL;
	}
	rtgt_port_set_state(port, RTGT_PORT_STARTING);
	port_set_net(port, get_net(net));
	INIT_DELAYED_WORK(&port->listen_again, port_listen_again);
	if (!port->cfg.private) {
		ret = port_mem_alloc(port);
		if (ret)
			goto fail;
	}
	ret = port_listen(port);
	if (ret)
		goto fail;
	if (!port->cfg.private) {
		port->debugfs_regions = debugfs_create_dir("regions", port->debugfs);
		for (i = 0; i < port->nr_regions; i++)
			rtgt_mem_debugfs(port->debugfs_regions, port->spec[i]->name, port->mem[i]);
	}
	pr_info("%s: listening on %pISpc, service %s, %u region(s), %s\n", port->name,
		&port->cfg.addr, port->cfg.service->name, port->nr_regions,
		port->cfg.private ? "private" : "shared");
	return 0;

fail:
	port_close_conns(port);
	port_release(port);
	pr_err("%s: cannot listen on %pISpc, or make what that needs: error %d\n", port->name,
	       &port->cfg.addr, ret);
	return ret;
}

/**
 * rtgt_port_disable() - disable a port, if enabled, and wait for the release of its connections
 * @port: port; the caller holds rtgt_port.config
 * Context: may sleep, for as long as the slowest teardown takes.
 */
void rtgt_port_disable(struct rtgt_port *port)
{
	struct rdma_cm_id *id;

	lockdep_assert_held(&port->config);
	if (!rtgt_port_enabled(port))
		return;
	mutex_lock(&port->lock);
	rtgt_port_enter(port, RTGT_PORT_STOPPING);
	id = port->listen_id;
	port->listen_id = NULL;
	mutex_unlock(&port->lock);
	cancel_delayed_work_sync(&port->listen_again);
	if (id)
		rdma_destroy_id(id);
	port_close_conns(port);
	port_release(port);
	pr_info("%s: disabled\n", port->name);
}
