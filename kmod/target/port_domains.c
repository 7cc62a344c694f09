// SPDX-License-Identifier: GPL-2.0
/*
 * The protection domains of a port, with its regions.
 *
 * On a shared port, all connections through one device use one domain, whose regions are
 * registered once, by the first connection.  The domain is made when the port is enabled, if its
 * address belongs to one device, otherwise with the first connection through the device.  The port
 * puts its reference when the port is disabled or the device is removed.  On a private port, each
 * connection has its own domain, which its set-up makes and its teardown puts (setup.c).
 *
 * rtgt_port_revoke() revokes the rkeys of both kinds.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ratelimit.h>
#include <linux/slab.h>

#include "core/device.h"
#include "core/stats.h"
#include "main.h"
#include "registration/region.h"
#include "target/conn.h"
#include "target/port_domains.h"
#include "target/port.h"

/* The domain of a shared port on one device */
struct rtgt_port_domain {
	struct list_head entry;	/* in rtgt_port.domains; the path that removes it releases it */
	struct rtgt_port *port;		/* not used after @entry was removed */
	struct rtgt_dev_user user;	/* gets the notice that the device is being removed */
	struct work_struct gone;	/* releases the domain after that notice */
	struct rtgt_domain *domain;	/* a counted reference */
};

/* Remove @pd from the port's list.  Returns whether it was there: then the caller owns it. */
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

/* The domain stays a user of the device until its last reference is put. */
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
 * rtgt_port_domains_drop() - put the domains of a shared port
 * @port: being disabled, without connections
 * Context: may sleep.
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

/*
 * Add the domain to the list before rtgt_dev_attach(): as soon as that returns, the device's
 * removal may take the domain off the list and release it.
 */
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
		return dom;	/* @pd may be freed by now */
	port_domain_unlink(pd);
	rtgt_domain_put(dom);
	rtgt_domain_put(dom);
	kfree(pd);
	return ERR_PTR(ret);
}

/**
 * rtgt_port_domain_get() - get the domain of a shared port on a device
 * @port: enabled, or being enabled
 * @ibdev: the device
 *
 * The first call for a device makes the domain.  May sleep.
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
 * rtgt_port_domains() - call a function for each domain of a port
 * @port: port
 * @fn: function; @conn is the number of the connection that owns the domain, 0 for a shared
 *	domain.  It is called with @port->lock held, so it must not wait.  The domain stays
 *	valid, because a teardown takes the lock before it puts a domain
 * @arg: passed to @fn
 * Context: may sleep.
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
	/* in any state: a peer may reach a domain until it is released */
	list_for_each_entry(conn, &port->conns, port_entry)
		if (port->cfg.private && conn->domain)
			fn(port, conn->domain, conn->id, arg);
	mutex_unlock(&port->lock);
}

/* The domains that rtgt_port_revoke() has not come to */
struct revocation {
	u32 conn;			/* only the domain of this connection; 0 for all domains */
	unsigned int nr;		/* number of domains found */
	struct rtgt_domain *next;	/* one of them, with a reference */
};

/* Mark a domain whose rkeys are to be revoked.  For rtgt_port_domains(). */
static void revocation_mark(struct rtgt_port *port, struct rtgt_domain *dom, u32 conn, void *arg)
{
	struct revocation *rv = arg;

	if (rv->conn && rv->conn != conn)
		return;
	dom->revoke = true;
	rv->nr++;
}

/* Take a reference to the first domain that is marked, and unmark it.  For rtgt_port_domains(). */
static void revocation_take(struct rtgt_port *port, struct rtgt_domain *dom, u32 conn, void *arg)
{
	struct revocation *rv = arg;

	if (rv->next || !dom->revoke)
		return;
	dom->revoke = false;
	kref_get(&dom->ref);
	rv->next = dom;
}

/**
 * rtgt_port_revoke() - end the rkeys that clients have
 * @port: port; the caller holds rtgt_port.config
 * @id: number of a connection of a private port; 0 for all connections
 *
 * Clients that connect later, or request new ones, get other rkeys.  May sleep.
 * Return: 0; -ENOENT without such a connection, -EINVAL for one connection of a shared port.
 */
int rtgt_port_revoke(struct rtgt_port *port, u32 id)
{
	struct revocation rv = { .conn = id };
	unsigned int i;

	lockdep_assert_held(&port->config);
	if (id && !port->cfg.private)
		return -EINVAL;
	rtgt_port_domains(port, revocation_mark, &rv);
	for (;;) {
		rv.next = NULL;
		rtgt_port_domains(port, revocation_take, &rv);
		if (!rv.next)
			return id && !rv.nr ? -ENOENT : 0;
		/* without rtgt_port.lock, which CM handlers take: this waits for the device */
		for (i = 0; i < rv.next->nr; i++)
			rtgt_domain_revoke(rv.next, i);
		rtgt_domain_put(rv.next);
	}
}
