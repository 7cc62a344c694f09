/* SPDX-License-Identifier: GPL-2.0 */
/* RDMA devices and their users. */
#ifndef _RTGT_DEVICE_H
#define _RTGT_DEVICE_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

/*
 * Bits of enum ib_uverbs_device_cap_flags and enum ib_uverbs_access_flags.  Older kernels do
 * not name these bits, and use them for nothing else.
 */
#define RTGT_IB_DEVICE_FLUSH_GLOBAL	BIT_ULL(38)
#define RTGT_IB_DEVICE_ATOMIC_WRITE	BIT_ULL(40)
#define RTGT_IB_ACCESS_FLUSH_GLOBAL	BIT(8)

/* One ib_device */
struct rtgt_dev {
	struct list_head entry;		/* in rtgt_devs.list until the device is being removed */
	struct ib_device *ibdev;
	struct list_head users;		/* struct rtgt_dev_user */
	wait_queue_head_t idle;		/* woken when @users has become empty */
	bool last_wqe;			/* has raised IB_EVENT_QP_LAST_WQE_REACHED */
	bool no_last_wqe;		/* has not, for a QP that waited */
	/*
	 * struct rtgt_mr by the upper 24 bits of their rkeys, which no two MRs of a device share.
	 * Completions take its lock
	 */
	struct xarray by_rkey;
};

/* A user of a device, embedded in the object that holds resources of the device */
struct rtgt_dev_user {
	struct list_head entry;		/* in rtgt_dev.users */
	struct rtgt_dev *dev;		/* its removal waits for this user */
	/*
	 * The device is being removed: start to release its resources, without waiting.  Called
	 * with rtgt_devs.lock held.  NULL if another user's notice does this
	 */
	void (*gone)(struct rtgt_dev_user *user);
};

int rtgt_dev_attach(struct ib_device *ibdev, struct rtgt_dev_user *user);
void rtgt_dev_detach(struct rtgt_dev_user *user);

int rtgt_dev_add(struct ib_device *ibdev);
void rtgt_dev_remove(struct ib_device *ibdev, void *data);
int rtgt_dev_check(struct ib_device *ibdev);
ssize_t rtgt_dev_features(char *buf, ssize_t len);

#endif /* _RTGT_DEVICE_H */
