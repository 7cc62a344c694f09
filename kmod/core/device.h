/* SPDX-License-Identifier: GPL-2.0 */
/* What the module keeps for each RDMA device, and the hold others have on it. */
#ifndef _RTGT_DEVICE_H
#define _RTGT_DEVICE_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

/*
 * Names that older kernels do not have, for bits that all of them keep free
 * (enum ib_uverbs_device_cap_flags, enum ib_uverbs_access_flags).
 */
#define RTGT_IB_DEVICE_FLUSH_GLOBAL	BIT_ULL(38)
#define RTGT_IB_DEVICE_ATOMIC_WRITE	BIT_ULL(40)
#define RTGT_IB_ACCESS_FLUSH_GLOBAL	BIT(8)

/**
 * struct rtgt_dev - what the module keeps for one ib_device
 * @entry: in rtgt_devs.list until the device is being removed
 * @ibdev: the device
 * @users: connections, domains and ports that hold resources of the device
 * @idle: woken when @users became empty
 * @by_rkey: what the module registered: struct rtgt_extent, by the upper 24 bits of its rkey,
 *	     which no two MRs of a device share.  Its lock is taken in completions
 */
struct rtgt_dev {
	struct list_head entry;
	struct ib_device *ibdev;
	struct list_head users;
	wait_queue_head_t idle;
	struct xarray by_rkey;
};

/**
 * struct rtgt_dev_user - one holder of device resources
 * @entry: in rtgt_dev.users
 * @dev: the device, which waits for its users before it goes
 * @gone: the device is being removed: start to let go of it, without waiting for
 *	  others.  Called with rtgt_devs.lock held.  NULL if another user's does it
 */
struct rtgt_dev_user {
	struct list_head entry;
	struct rtgt_dev *dev;
	void (*gone)(struct rtgt_dev_user *user);
};

int rtgt_dev_attach(struct ib_device *ibdev, struct rtgt_dev_user *user);
void rtgt_dev_detach(struct rtgt_dev_user *user);

int rtgt_dev_add(struct ib_device *ibdev);
void rtgt_dev_remove(struct ib_device *ibdev, void *data);
int rtgt_dev_check(struct ib_device *ibdev);
ssize_t rtgt_dev_features(char *buf, ssize_t len);

#endif /* _RTGT_DEVICE_H */
