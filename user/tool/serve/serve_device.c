// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: devices connections come through, and what a device tells of them.
 *
 * A device is made when it is first asked for and stays until the server ends.  It has
 * the channel all its completion queues tell the loop through and, of a shared port, the
 * domain with the regions.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include <rtgt/qp.h>

#include "serve.h"

#define EVENTS	64	/* of one kind, before the others have their turn */

/* Whose completion queue has something; it is polled when the loop comes to it */
static void completions(struct server *s, void *arg)
{
	struct serve_device *dev = arg;
	struct serve_conn *c;
	struct ibv_cq *cq;
	void *context;

	for (int i = 0; i < EVENTS && !ibv_get_cq_event(dev->channel, &cq, &context); i++) {
		c = context;
		c->events++;
		/* armed before it is polled: what comes in between raises an event */
		if (ibv_req_notify_cq(cq, 0))
			serve_close(c, "its completion queue cannot be armed");
		if (!c->ready) {
			c->ready = true;
			TAILQ_INSERT_TAIL(&s->ready, c, ready_entry);
		}
	}
}

static void asyncs(struct server *s, void *arg)
{
	struct serve_device *dev = arg;
	struct ibv_async_event ev;

	while (!ibv_get_async_event(dev->verbs, &ev)) {
		struct serve_conn *c = NULL;

		switch (ev.event_type) {
		case IBV_EVENT_COMM_EST:
			serve_established(ev.element.qp->qp_context);
			break;
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
			c = ev.element.qp->qp_context;
			serve_qp_failing(c, "the device refused what the peer did");
			break;
		case IBV_EVENT_QP_LAST_WQE_REACHED:
			c = ev.element.qp->qp_context;
			serve_qp_failed(c, "the device refused what the peer did");
			break;
		case IBV_EVENT_DEVICE_FATAL:
			serve_fail(s, ENODEV, "the RDMA device is being removed, or has failed");
			break;
		default:
			break;
		}
		ibv_ack_async_event(&ev);
	}
}

static int nonblocking(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) ? -errno : 0;
}

static void device_close(struct serve_device *dev)
{
	serve_domain_destroy(dev->shared, false);
	if (dev->channel)
		ibv_destroy_comp_channel(dev->channel);
	free(dev);
}

enum ibv_qp_type serve_qp_type(const struct serve_cfg *cfg)
{
	static const enum ibv_qp_type type[] = {
		[SERVE_RC] = IBV_QPT_RC,
		[SERVE_UC] = IBV_QPT_UC,
		[SERVE_UD] = IBV_QPT_UD,
	};

	return type[cfg->transport];
}

/* No attribute of a device tells which queue pairs it has: so it is asked for one */
static int try_transport(struct serve_device *dev, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type,
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct ibv_qp *qp = NULL;
	struct ibv_pd *pd;
	int ret;

	errno = 0;
	pd = ibv_alloc_pd(dev->verbs);
	attr.send_cq = pd ? ibv_create_cq(dev->verbs, 1, NULL, NULL, 0) : NULL;
	attr.recv_cq = attr.send_cq;
	if (attr.send_cq)
		qp = ibv_create_qp(pd, &attr);
	ret = qp ? 0 : attr.send_cq ? -EOPNOTSUPP : serve_no_object();
	if (qp)
		ibv_destroy_qp(qp);
	if (attr.send_cq)
		ibv_destroy_cq(attr.send_cq);
	if (pd)
		ibv_dealloc_pd(pd);
	return ret;
}

static int device_open(struct server *s, struct serve_device *dev)
{
	int ret;

	dev->iwarp = dev->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	if (dev->iwarp)
		rtgt_ignore_sigpipe();
	ret = -ibv_query_device_ex(dev->verbs, NULL, &dev->attr);
	if (!ret && s->cfg.srq && !dev->attr.orig_attr.max_srq)
		ret = -EOPNOTSUPP;
	if (!ret && s->cfg.transport != SERVE_RC && dev->iwarp)
		ret = -EOPNOTSUPP;
	if (!ret && s->cfg.transport != SERVE_RC)
		ret = try_transport(dev, serve_qp_type(&s->cfg));
	if (!ret)
		ret = nonblocking(dev->verbs->async_fd);
	if (!ret)
		ret = serve_watch(s, dev->verbs->async_fd, &dev->asyncs);
	if (!ret && !s->cfg.poll) {
		dev->channel = ibv_create_comp_channel(dev->verbs);
		ret = dev->channel ? nonblocking(dev->channel->fd) : -errno;
	}
	if (!ret && dev->channel)
		ret = serve_watch(s, dev->channel->fd, &dev->completions);
	if (!ret && !s->cfg.private)
		ret = serve_domain_create(&dev->shared, s, dev, 0);
	return ret;
}

/* The device of a context, made when first asked for; NULL with *@ret a negative errno */
struct serve_device *serve_device_get(struct server *s, struct ibv_context *verbs, int *ret)
{
	struct serve_device *dev;

	for (dev = TAILQ_FIRST(&s->devices); dev; dev = TAILQ_NEXT(dev, entry))
		if (dev->verbs == verbs)
			return dev;
	dev = calloc(1, sizeof(*dev));
	if (!dev) {
		*ret = -ENOMEM;
		return NULL;
	}
	dev->verbs = verbs;
	dev->completions = (struct serve_source) { completions, dev };
	dev->asyncs = (struct serve_source) { asyncs, dev };
	*ret = device_open(s, dev);
	if (*ret) {
		serve_unwatch(s, verbs->async_fd);
		device_close(dev);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&s->devices, dev, entry);
	return dev;
}

/* After the last connection, before the listener's id, which holds the device open */
void serve_devices_close(struct server *s)
{
	struct serve_device *dev;

	while ((dev = TAILQ_FIRST(&s->devices))) {
		TAILQ_REMOVE(&s->devices, dev, entry);
		device_close(dev);
	}
}
