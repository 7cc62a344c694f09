// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA devices: their users, and their removal.
 *
 * ib_core calls rtgt_dev_add() and rtgt_dev_remove() for each device.  An object that holds a
 * PD, a QP or a CQ of a device is a struct rtgt_dev_user of it.  rtgt_dev_remove() takes the
 * device off the list, so that it gets no new user, notifies each user, and waits until the
 * last one has called rtgt_dev_detach().
 *
 * ib_core removes clients in the reverse order of their registration, so this happens before
 * rdma_cm destroys its ids.  Only a listener that is bound to the device must act on
 * RDMA_CM_EVENT_DEVICE_REMOVAL.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <rdma/ib_verbs.h>

#include "core/device.h"
#include "main.h"

/**
 * rtgt_dev_add() - implement ib_client.add
 * @ibdev: the new device
 *
 * Adds any device; rtgt_dev_check() checks its features when a port wants to use it.
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
 * rtgt_dev_remove() - implement ib_client.remove
 * @ibdev: the device
 * @data: its struct rtgt_dev
 *
 * Returns when no object of the module uses the device any more.  May sleep.
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
	while (!list_empty(&dev->users)) {
		mutex_unlock(&rtgt_devs.lock);
		wait_event(dev->idle, list_empty_careful(&dev->users));
		mutex_lock(&rtgt_devs.lock);
	}
	mutex_unlock(&rtgt_devs.lock);
	xa_destroy(&dev->by_rkey);
	kfree(dev);
}

/**
 * rtgt_dev_attach() - become a user of a device
 * @ibdev: the device
 * @user: the user; @user->gone is set, or NULL if another user's notice ends this use, too
 * Context: may sleep.
 * Return: 0, or -ENODEV if the device is being removed.
 */
int rtgt_dev_attach(struct ib_device *ibdev, struct rtgt_dev_user *user)
{
	struct rtgt_dev *dev;
	int ret = -ENODEV;

	mutex_lock(&rtgt_devs.lock);
	list_for_each_entry(dev, &rtgt_devs.list, entry) {
		if (dev->ibdev == ibdev) {
			user->dev = dev;
			list_add_tail(&user->entry, &dev->users);
			ret = 0;
			break;
		}
	}
	mutex_unlock(&rtgt_devs.lock);
	return ret;
}

/**
 * rtgt_dev_detach() - stop being a user of a device
 * @user: attached; it has released all its resources of the device
 *
 * @user->gone is not called any more when this returns.  May sleep.
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
 * rtgt_dev_check() - check that a port can use a device
 * @ibdev: the device
 * Return: 0, or -EOPNOTSUPP; then the log names the missing feature.
 */
int rtgt_dev_check(struct ib_device *ibdev)
{
	if (ibdev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS)
		return 0;
	pr_warn_ratelimited("%s: not served: no fast registration (memory management extensions)\n",
			    dev_name(&ibdev->dev));
	return -EOPNOTSUPP;
}

/**
 * rtgt_dev_features() - print the features of all devices
 * @buf: a page
 * @len: number of bytes that it holds already
 *
 * Prints lines "device:word".  May sleep.
 * Return: number of bytes in @buf.
 */
ssize_t rtgt_dev_features(char *buf, ssize_t len)
{
	struct rtgt_dev *dev;

	mutex_lock(&rtgt_devs.lock);
	list_for_each_entry(dev, &rtgt_devs.list, entry) {
		const struct ib_device_attr *attrs = &dev->ibdev->attrs;
		const char *name = dev_name(&dev->ibdev->dev);
		u32 port = rdma_start_port(dev->ibdev);
		const struct {
			const char *word;
			bool can;
		} caps[] = {
			{ "roce", rdma_protocol_roce(dev->ibdev, port) },
			{ "infiniband", rdma_protocol_ib(dev->ibdev, port) },
			{ "iwarp", rdma_protocol_iwarp(dev->ibdev, port) },
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
