// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A completion handler that requests the next notification, as krping's does.  Makes one
 * completion on each device when the module is loaded; logs that the handler returned.
 */
#include <linux/module.h>
#include <rdma/ib_verbs.h>

static DECLARE_COMPLETION(handled);

static void handler(struct ib_cq *cq, void *context)
{
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	complete(&handled);
}

static void flush_a_receive(struct ib_qp *qp)
{
	struct ib_qp_attr init = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };
	struct ib_recv_wr wr = {};

	if (ib_modify_qp(qp, &init, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			 IB_QP_ACCESS_FLAGS) || ib_post_recv(qp, &wr, NULL) ||
	    ib_modify_qp(qp, &error, IB_QP_STATE))
		return;
	if (wait_for_completion_timeout(&handled, 5 * HZ))
		dev_info(&qp->device->dev, "rxe-cq-handler-lock: the handler returned\n");
}

static int add(struct ib_device *device)
{
	const struct ib_cq_init_attr attr = { .cqe = 4 };
	struct ib_qp_init_attr init = { .qp_type = IB_QPT_RC, .cap = {
		.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct ib_pd *pd = ib_alloc_pd(device, 0);
	struct ib_cq *cq = ib_create_cq(device, handler, NULL, NULL, &attr);
	struct ib_qp *qp;

	init.send_cq = init.recv_cq = cq;
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	qp = ib_create_qp(pd, &init);
	if (!IS_ERR(qp)) {
		flush_a_receive(qp);
		ib_destroy_qp(qp);
	}
	ib_destroy_cq(cq);
	ib_dealloc_pd(pd);
	return -ENODEV;
}

static struct ib_client client = { .name = "rxe-cq-handler-lock", .add = add };

module_driver(client, ib_register_client, ib_unregister_client);
MODULE_DESCRIPTION("a completion handler that requests a notification");
MODULE_LICENSE("Dual BSD/GPL");
