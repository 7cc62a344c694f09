// SPDX-License-Identifier: GPL-2.0
/*
 * rtgt: an RDMA target in the kernel.  Initialization and exit of the module.
 *
 * Loading the module opens no port: an administrator makes and enables ports below
 * /sys/kernel/config/rtgt.  Each of these directories pins the module, so there is no port and
 * no connection at unload.  The last steps of a teardown may still run; rtgt_exit() waits for
 * them.
 *
 * Each work queue has one purpose, and no work waits for work on its own queue:
 *
 *   rtgt_conn_wq  set-up and teardown of connections, one of each at a time for each peer
 *                 of a port; datagram clients, one at a time for each port; release of a
 *                 shared domain, and of a listener, whose device is being removed.  A teardown
 *                 waits for rtgt_req_wq
 *   rtgt_req_wq   requests that sleep or take long, one at a time for each peer of a port
 *   rtgt_run_wq   runs of initiators, which wait for a peer (initiator.c)
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "admin/configfs.h"
#include "admin/debugfs.h"
#include "core/device.h"
#include "initiator/initiator.h"
#include "main.h"

#define CREATE_TRACE_POINTS
#include "target/trace.h"

struct workqueue_struct *rtgt_conn_wq;
struct workqueue_struct *rtgt_req_wq;
struct dentry *rtgt_debugfs_ports;
struct dentry *rtgt_debugfs_initiators;

struct rtgt_budget rtgt_budget = {
	.lock = __SPIN_LOCK_UNLOCKED(rtgt_budget.lock),
};

struct rtgt_live rtgt_live;

struct rtgt_devs rtgt_devs = {
	.lock = __MUTEX_INITIALIZER(rtgt_devs.lock),
	.list = LIST_HEAD_INIT(rtgt_devs.list),
};

struct ib_client rtgt_client = {
	.name = "rtgt",
	.add = rtgt_dev_add,
	.remove = rtgt_dev_remove,
};

static void destroy_queues(void)
{
	if (rtgt_req_wq)
		destroy_workqueue(rtgt_req_wq);
	if (rtgt_conn_wq)
		destroy_workqueue(rtgt_conn_wq);
}

static int __init create_queues(void)
{
	rtgt_conn_wq = alloc_workqueue("rtgt_conn", WQ_UNBOUND, 0);
	rtgt_req_wq = alloc_workqueue("rtgt_req", WQ_UNBOUND, 0);
	if (rtgt_conn_wq && rtgt_req_wq)
		return 0;
	destroy_queues();
	return -ENOMEM;
}

static int __init rtgt_init(void)
{
	int ret;

	ret = create_queues();
	if (ret)
		return ret;
	rtgt_debugfs_init();
	ret = rtgt_initiators_init(rtgt_debugfs_initiators);
	if (ret)
		goto debugfs_exit;
	ret = ib_register_client(&rtgt_client);
	if (ret)
		goto initiators_exit;
	ret = rtgt_configfs_init();
	if (ret)
		goto unregister_client;
	pr_info("loaded; make ports below /sys/kernel/config/rtgt/ports\n");
	return 0;

unregister_client:
	ib_unregister_client(&rtgt_client);
initiators_exit:
	rtgt_initiators_exit();
debugfs_exit:
	rtgt_debugfs_exit();
	destroy_queues();
	return ret;
}

static void __exit rtgt_exit(void)
{
	rtgt_configfs_exit();
	flush_workqueue(rtgt_conn_wq);
	ib_unregister_client(&rtgt_client);
	rtgt_initiators_exit();
	rtgt_debugfs_exit();
	destroy_queues();
	pr_info("unloaded\n");
}

module_init(rtgt_init);
module_exit(rtgt_exit);

MODULE_DESCRIPTION("RDMA target");
MODULE_AUTHOR("rtgt maintainers");
MODULE_LICENSE("GPL");
