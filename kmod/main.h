/* SPDX-License-Identifier: GPL-2.0 */
/* The variables of the module that exist once.  main.c defines them. */
#ifndef _RTGT_MAIN_H
#define _RTGT_MAIN_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct dentry;
struct ib_client;
struct workqueue_struct;

/**
 * struct rtgt_devs - the RDMA devices
 * @lock: protects @list and the users of every device
 * @list: devices: struct rtgt_dev
 */
struct rtgt_devs {
	struct mutex lock;	/* @list, every device's users */
	struct list_head list;
};

/**
 * struct rtgt_budget - memory that is promised but not allocated yet (core/mem.c)
 * @lock: protects @promised
 * @promised: bytes
 */
struct rtgt_budget {
	spinlock_t lock;	/* @promised */
	u64 promised;
};

/**
 * struct rtgt_live - numbers of objects that are allocated and not freed, for debugfs
 * @ports: number of struct rtgt_port
 * @conns: number of struct rtgt_conn
 * @domains: number of struct rtgt_domain
 * @mems: number of struct rtgt_mem
 * @peers: number of struct rtgt_peer
 * @initiators: number of struct rtgt_initiator
 */
struct rtgt_live {
	atomic_t ports;
	atomic_t conns;
	atomic_t domains;
	atomic_t mems;
	atomic_t peers;
	atomic_t initiators;
};

extern struct ib_client rtgt_client;
extern struct workqueue_struct *rtgt_conn_wq;
extern struct workqueue_struct *rtgt_req_wq;
extern struct rtgt_devs rtgt_devs;
extern struct rtgt_budget rtgt_budget;
extern struct rtgt_live rtgt_live;
extern struct dentry *rtgt_debugfs_ports;
extern struct dentry *rtgt_debugfs_initiators;

#endif /* _RTGT_MAIN_H */
