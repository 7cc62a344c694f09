// SPDX-License-Identifier: GPL-2.0
/*
 * The protection domains of a port, with the regions registered in them.
 *
 * On a shared port, all connections of one device use one domain, registered once:
 * when the port is enabled, if its address belongs to one device, otherwise with the
 * first connection through the device.  The port's domain is released when the port is
 * disabled or the device is removed.  On a private port, each connection has a domain
 * of its own, made and released with it (setup.c).
 *
 * A revocation reaches both kinds.
 */
#include <linux/slab.h>

#include "core/device.h"
#include "core/stats.h"
#include "main.h"
#include "registration/region.h"
#include "target/conn.h"
#include "target/domains.h"
#include "target/port.h"

/**
 * struct rtgt_port_domain - a shared port's domain on one device
 * @entry: in rtgt_port.domains; who takes it off the list, under rtgt_port.lock, releases it
 * @port: the port; not looked at once it is off the list
 * @user: tells when the device goes
 * @gone: releases it then
 * @domain: a counted reference
 */
struct rtgt_port_domain {
	struct list_head entry;
	struct rtgt_port *port;
	struct rtgt_dev_user user;
	struct work_struct gone;
	struct rtgt_domain *domain;
};

/* Take it off the list.  Returns whether that makes it the caller's. */
static bool port_domain_unlink(struct rtgt_port_domain *pd)
{
	struct rtgt_port *port = pd->port;
	bool mine;

	mutex_lock(&port->lock);
	mine = !list_empty(&pd->entry);
	list_del_init(&pd->entry);
	mutex_unlock(&port->lock);
	return mine;
}

/* The domain holds the device itself, until its last user has put it. */
static void port_domain_release(struct rtgt_port_domain *pd)
{
	rtgt_dev_detach(&pd->user);
	rtgt_domain_put(pd->domain);
	kfree(pd);
}

static void port_domain_gone(struct work_struct *work)
{
	port_domain_release(container_of(work, struct rtgt_port_domain, gone));
}

static void port_domain_device_gone(struct rtgt_dev_user *user)
{
	struct rtgt_port_domain *pd = container_of(user, struct rtgt_port_domain, user);

	if (port_domain_unlink(pd))
		queue_work(rtgt_conn_wq, &pd->gone);
}

/**
 * rtgt_port_domains_drop() - release the domains of a shared port
 * @port: being disabled, without connections
 *
 * May sleep.
 */
void rtgt_port_domains_drop(struct rtgt_port *port)
{
	struct rtgt_port_domain *pd;

	for (;;) {
		mutex_lock(&port->lock);
		pd = list_first_entry_or_null(&port->domains, struct rtgt_port_domain, entry);
		if (pd)
			list_del_init(&pd->entry);
		mutex_unlock(&port->lock);
		if (!pd)
			return;
		port_domain_release(pd);
	}
}

static struct rtgt_domain *port_domain_find(struct rtgt_port *port, struct ib_device *ibdev)
{
	struct rtgt_domain *dom = NULL;
	struct rtgt_port_domain *pd;

	mutex_lock(&port->lock);
	list_for_each_entry(pd, &port->domains, entry) {
		if (pd->domain->ibdev == ibdev) {
			dom = pd->domain;
			kref_get(&dom->ref);
			break;
		}
	}
	mutex_unlock(&port->lock);
	return dom;
}

/* On the list before the device may notify it: whoever takes it off the list releases it. */
static struct rtgt_domain *port_domain_create(struct rtgt_port *port, struct ib_device *ibdev)
{
	struct rtgt_port_domain *pd;
	struct rtgt_domain *dom;
	int ret;

	lockdep_assert_held(&port->making);
	pd = kzalloc(sizeof(*pd), GFP_KERNEL);
	if (!pd)
		return ERR_PTR(-ENOMEM);
	pd->port = port;
	pd->user.gone = port_domain_device_gone;
	INIT_WORK(&pd->gone, port_domain_gone);
	dom = rtgt_domain_create(ibdev, port->stats, port->spec, port->mem, port->nr_regions,
				 port->cfg.mr_max);
	if (IS_ERR(dom)) {
		kfree(pd);
		return dom;
	}
	pd->domain = dom;
	kref_get(&dom->ref);	/* for the caller */
	mutex_lock(&port->lock);
	list_add_tail(&pd->entry, &port->domains);
	mutex_unlock(&port->lock);
	ret = rtgt_dev_attach(ibdev, &pd->user);
	if (!ret)
		return dom;	/* @pd may be gone by now */
	port_domain_unlink(pd);
	rtgt_domain_put(dom);
	rtgt_domain_put(dom);
	kfree(pd);
	return ERR_PTR(ret);
}

/**
 * rtgt_port_domain_get() - the domain of a shared port on a device
 * @port: enabled, or being enabled
 * @ibdev: the device
 *
 * Made when first asked for.  May sleep.
 *
 * Return: a reference for rtgt_domain_put(), or an ERR_PTR.
 */
struct rtgt_domain *rtgt_port_domain_get(struct rtgt_port *port, struct ib_device *ibdev)
{
	struct rtgt_domain *dom;

	mutex_lock(&port->making);
	dom = port_domain_find(port, ibdev) ?: port_domain_create(port, ibdev);
	mutex_unlock(&port->making);
	return dom;
}

/**
 * rtgt_port_domains() - do something with each domain of a port
 * @port: port
 * @fn: gets the domain and the number of the connection it belongs to, 0 of a shared
 *	one.  @port->lock is held, so it does not take long, and the domain stays: a
 *	teardown takes that before it drops one
 * @arg: for @fn
 *
 * May sleep.
 */
void rtgt_port_domains(struct rtgt_port *port,
		       void (*fn)(struct rtgt_port *port, struct rtgt_domain *dom, u32 conn,
				  void *arg), void *arg)
{
	struct rtgt_port_domain *pd;
	struct rtgt_conn *conn;

	mutex_lock(&port->lock);
	list_for_each_entry(pd, &port->domains, entry)
		fn(port, pd->domain, 0, arg);
	/* whatever the state: as long as there is a domain a peer may reach it */
	list_for_each_entry(conn, &port->conns, port_entry)
		if (port->cfg.private && conn->domain)
			fn(port, conn->domain, conn->id, arg);
	mutex_unlock(&port->lock);
}

/*
 * A reference to each domain of the port, or of one connection's, in an array for kvfree().
 * Its length is in @nr.
 */
static struct rtgt_domain **port_domains_get(struct rtgt_port *port, u32 id, unsigned int *nr)
{
	struct rtgt_port_domain *pd;
	struct rtgt_domain **dom;
	struct rtgt_conn *conn;
	unsigned int most;

	*nr = 0;
	mutex_lock(&port->lock);
	most = port->nr_conns;
	list_for_each_entry(pd, &port->domains, entry)
		most++;
	dom = kvcalloc(most + 1, sizeof(*dom), GFP_KERNEL);
	if (!dom)
		goto unlock;
	list_for_each_entry(pd, &port->domains, entry)
		dom[(*nr)++] = pd->domain;
	/* whatever the state: as long as there is a domain a peer may reach it */
	list_for_each_entry(conn, &port->conns, port_entry)
		if (port->cfg.private && conn->domain && (!id || conn->id == id))
			dom[(*nr)++] = conn->domain;
	for (most = 0; most < *nr; most++)
		kref_get(&dom[most]->ref);
unlock:
	mutex_unlock(&port->lock);
	return dom;
}

/* Returns 0 or the first error: one that cannot be revoked does not keep others valid. */
static int domain_revoke(struct rtgt_port *port, struct rtgt_domain *dom)
{
	unsigned int i;
	int err = 0;
	int ret;

	for (i = 0; i < dom->nr; i++) {
		ret = rtgt_domain_rotate(dom, i, 0, U32_MAX, false);
		if (ret >= 0)
			rtgt_count(port->stats, RTGT_ROTATIONS, ret);
		else if (!err)
			err = ret;
	}
	return err;
}

/**
 * rtgt_port_revoke() - make the rkeys that were given away invalid
 * @port: port
 * @id: of a connection of a private port; 0 for all that are there
 *
 * New rkeys are made; those who connect later get them.  May sleep.
 *
 * Return: 0; -ENOENT without such a connection, -EINVAL for one connection of a
 * shared port, -EIO when the device refused.
 */
int rtgt_port_revoke(struct rtgt_port *port, u32 id)
{
	struct rtgt_domain **dom;
	unsigned int nr, i;
	int err = 0;
	int ret;

	if (id && !port->cfg.private)
		return -EINVAL;
	/* not under rtgt_port.lock: a CM handler takes it */
	dom = port_domains_get(port, id, &nr);
	if (!dom)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		ret = domain_revoke(port, dom[i]);
		err = err ?: ret;
		rtgt_domain_put(dom[i]);
	}
	kvfree(dom);
	return id && !nr ? -ENOENT : err;
}
