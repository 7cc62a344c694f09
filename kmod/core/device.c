// SPDX-License-Identifier: GPL-2.0
/*
 * What the module keeps for each ib_device, and how a device goes.
 *
 * The ib_client's add puts a struct rtgt_dev on the list of devices, its remove
 * takes it off.  Whoever holds a PD, a QP or a CQ of the device is a
 * rtgt_dev_user of it.  Removal is: off the list, so that no user comes any more;
 * tell the present ones; wait until the last has let go.  ib_core removes
 * clients in the reverse order of their coming, so this happens before rdma_cm
 * drops its ids, and nobody has to act on RDMA_CM_EVENT_DEVICE_REMOVAL but a
 * listener that is bound to the device.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <rdma/ib_verbs.h>

#include "core/device.h"
#include "main.h"

/**
 * rtgt_dev_add() - ib_client.add
 * @ibdev: the new device
 *
 * Every device is taken, whatever it can: rtgt_dev_check() tells at the time a
 * port wants to use it.
 *
 * Return: 0 or -ENOMEM.
 */
int rtgt_dev_add(struct ib_device *ibdev)
{
	struct rtgt_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return -ENOMEM;
	dev->ibdev = ibdev;
	INIT_LIST_HEAD(&dev->users);
	init_waitqueue_head(&dev->idle);
	xa_init_flags(&dev->by_rkey, XA_FLAGS_LOCK_IRQ);
	ib_set_client_data(ibdev, &rtgt_client, dev);

	mutex_lock(&rtgt_devs.lock);
	list_add_tail(&dev->entry, &rtgt_devs.list);
	mutex_unlock(&rtgt_devs.lock);
	return 0;
}

/**
 * rtgt_dev_remove() - ib_client.remove
 * @ibdev: the device that goes
 * @data: its rtgt_dev
 *
 * Returns when nothing of the module uses the device any more.
 */
void rtgt_dev_remove(struct ib_device *ibdev, void *data)
{
	struct rtgt_dev *dev = data;
	struct rtgt_dev_user *user;

	mutex_lock(&rtgt_devs.lock);
	list_del(&dev->entry);
	list_for_each_entry(user, &dev->users, entry)
		if (user->gone)
			user->gone(user);
	mutex_unlock(&rtgt_devs.lock);

	wait_event(dev->idle, list_empty_careful(&dev->users));
	/* the last one may still hold it */
	mutex_lock(&rtgt_devs.lock);
	mutex_unlock(&rtgt_devs.lock);
	xa_destroy(&dev->by_rkey);
	kfree(dev);
}

static struct rtgt_dev *dev_find(struct ib_device *ibdev)
{
	struct rtgt_dev *dev;

	lockdep_assert_held(&rtgt_devs.lock);
	list_for_each_entry(dev, &rtgt_devs.list, entry)
		if (dev->ibdev == ibdev)
			return dev;
	return NULL;
}

/**
 * rtgt_dev_attach() - become a user of a device
 * @ibdev: the device
 * @user: with @user->gone set, or NULL if somebody else sees to it that it lets go
 *
 * May sleep.
 *
 * Return: 0, or -ENODEV if the device is being removed.
 */
int rtgt_dev_attach(struct ib_device *ibdev, struct rtgt_dev_user *user)
{
	struct rtgt_dev *dev;

	mutex_lock(&rtgt_devs.lock);
	dev = dev_find(ibdev);
	if (dev) {
		user->dev = dev;
		list_add_tail(&user->entry, &dev->users);
	}
	mutex_unlock(&rtgt_devs.lock);
	return dev ? 0 : -ENODEV;
}

/**
 * rtgt_dev_detach() - let go of a device
 * @user: attached; all it held of the device is released
 *
 * May sleep.  @user->gone is not called any more when this returns.
 */
void rtgt_dev_detach(struct rtgt_dev_user *user)
{
	mutex_lock(&rtgt_devs.lock);
	list_del_init(&user->entry);
	if (list_empty(&user->dev->users))
		wake_up(&user->dev->idle);
	mutex_unlock(&rtgt_devs.lock);
}

/**
 * rtgt_dev_check() - can a port be served on this device?
 * @ibdev: the device
 *
 * Return: 0, or -EOPNOTSUPP after a line in the log that says what is missing.
 */
int rtgt_dev_check(struct ib_device *ibdev)
{
	if (!(ibdev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS)) {
		pr_warn_ratelimited("%s: not served: no fast registration (memory management extensions)\n",
				    dev_name(&ibdev->dev));
		return -EOPNOTSUPP;
	}
	if (!rdma_ib_or_roce(ibdev, rdma_start_port(ibdev))) {
		pr_warn_ratelimited("%s: not served: neither InfiniBand nor RoCE, so no rkey can be valid before the connection is up\n",
				    dev_name(&ibdev->dev));
		return -EOPNOTSUPP;
	}
	return 0;
}

/**
 * rtgt_dev_features() - print what the devices can
 * @buf: a page
 * @len: bytes in it already
 *
 * "device:word" a line.  May sleep.
 *
 * Return: bytes in @buf.
 */
ssize_t rtgt_dev_features(char *buf, ssize_t len)
{
	struct rtgt_dev *dev;

	mutex_lock(&rtgt_devs.lock);
	list_for_each_entry(dev, &rtgt_devs.list, entry) {
		const struct ib_device_attr *attrs = &dev->ibdev->attrs;
		const char *name = dev_name(&dev->ibdev->dev);
		const struct {
			const char *word;
			bool can;
		} caps[] = {
			{ "roce", rdma_protocol_roce(dev->ibdev, rdma_start_port(dev->ibdev)) },
			{ "infiniband", rdma_protocol_ib(dev->ibdev, rdma_start_port(dev->ibdev)) },
			{ "iwarp", rdma_protocol_iwarp(dev->ibdev, rdma_start_port(dev->ibdev)) },
			{ "fast-registration",
			  attrs->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS },
			{ "atomic", attrs->atomic_cap != IB_ATOMIC_NONE },
			{ "srq", attrs->max_srq > 0 },
			{ "flush", attrs->device_cap_flags & RTGT_IB_DEVICE_FLUSH_GLOBAL },
			{ "atomic-write", attrs->device_cap_flags & RTGT_IB_DEVICE_ATOMIC_WRITE },
			{ "memory-window", attrs->max_mw > 0 },
		};
		unsigned int i;

		for (i = 0; i < ARRAY_SIZE(caps); i++)
			if (caps[i].can)
				len += sysfs_emit_at(buf, len, "%s:%s\n", name, caps[i].word);
	}
	mutex_unlock(&rtgt_devs.lock);
	return len;
}
