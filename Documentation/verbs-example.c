// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The smallest client in the kernel: WRITE a text into a target's memory and READ it back.
 *	insmod verbs-example.ko addr=192.0.2.1 [port=7471]
 * Documentation/verbs.rst explains each step.  When insmod returns, nothing is left to tear down.
 */
#include <linux/inet.h>
#include <linux/module.h>
#include <rdma/rdma_cm.h>

static char *addr = "192.0.2.1";
static ushort port = 7471;
module_param(addr, charp, 0444);
module_param(port, ushort, 0444);

static const char text[] = "a-kernel-wrote-this";

struct demo {
	struct rdma_cm_id *id;
	struct completion step, done;
	struct ib_cqe cqe;
	int event;
	enum ib_wc_status status;
	struct { __be64 addr; __be32 rkey; __be64 len; } __packed cap;
};

/* step 1: the CM reports each step, in its work queue.  Return 0: the id stays ours */
static int cm_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct demo *d = id->context;

	/* the private data is gone when this function returns */
	if (ev->event == RDMA_CM_EVENT_ESTABLISHED &&
	    ev->param.conn.private_data_len >= sizeof(d->cap))
		memcpy(&d->cap, ev->param.conn.private_data, sizeof(d->cap));
	d->event = ev->event;
	complete(&d->step);
	return 0;
}

static int wait_for(struct demo *d, int ret, enum rdma_cm_event_type event)
{
	if (!ret)
		wait_for_completion(&d->step);
	return ret ?: d->event == event ? 0 : -ECONNREFUSED;
}

/* step 2: a completion runs in softirq, so it only wakes the one that waits */
static void done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct demo *d = container_of(wc->wr_cqe, struct demo, cqe);

	d->status = wc->status;
	complete(&d->done);
}

static int post(struct demo *d, struct ib_send_wr *wr)
{
	int ret;

	wr->wr_cqe = &d->cqe;
	wr->send_flags = IB_SEND_SIGNALED;
	ret = ib_post_send(d->id->qp, wr, NULL);
	if (!ret)
		wait_for_completion(&d->done);
	return ret ?: d->status == IB_WC_SUCCESS ? 0 : -EREMOTEIO;
}

/* step 3: map, post, wait, unmap.  From the post to the completion the buffer is the device's */
static int transfer(struct demo *d, enum ib_wr_opcode opcode, void *buf)
{
	enum dma_data_direction dir = opcode == IB_WR_RDMA_READ ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	struct ib_device *dev = d->id->device;
	struct ib_sge sge = { .length = sizeof(text), .lkey = d->id->qp->pd->local_dma_lkey };
	struct ib_rdma_wr wr = {
		.wr.opcode = opcode, .wr.sg_list = &sge, .wr.num_sge = 1,
		.remote_addr = be64_to_cpu(d->cap.addr), .rkey = be32_to_cpu(d->cap.rkey),
	};
	int ret;

	sge.addr = ib_dma_map_single(dev, buf, sizeof(text), dir);
	if (ib_dma_mapping_error(dev, sge.addr))
		return -ENOMEM;
	ret = post(d, &wr.wr);
	ib_dma_unmap_single(dev, sge.addr, sizeof(text), dir);
	pr_info("%s: %d\n", opcode == IB_WR_RDMA_READ ? "READ" : "WRITE", ret);
	return ret;
}

/* step 5: what a peer could READ by the MR's rkey, from REG_MR to LOCAL_INV and no longer */
static int expose(struct demo *d, void *buf)
{
	struct ib_reg_wr reg = { .wr.opcode = IB_WR_REG_MR, .access = IB_ACCESS_REMOTE_READ };
	struct ib_send_wr invalidate = { .opcode = IB_WR_LOCAL_INV };
	struct ib_mr *mr = ib_alloc_mr(d->id->qp->pd, IB_MR_TYPE_MEM_REG, 1);
	struct scatterlist sg;
	int ret = -ENOMEM;

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	sg_init_one(&sg, buf, sizeof(text));
	if (!ib_dma_map_sg(d->id->device, &sg, 1, DMA_TO_DEVICE))
		goto free_mr;
	ret = ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE) == 1 ? 0 : -EINVAL;
	reg.mr = mr;
	reg.key = mr->rkey;
	ret = ret ?: post(d, &reg.wr);
	pr_info("REG_MR: %d\n", ret);
	if (!ret) {
		/* a real client tells its peer mr->rkey, mr->iova and the length here, and waits */
		invalidate.ex.invalidate_rkey = mr->rkey;
		ret = post(d, &invalidate);
		pr_info("LOCAL_INV: %d\n", ret);
	}
	ib_dma_unmap_sg(d->id->device, &sg, 1, DMA_TO_DEVICE);
free_mr:
	ib_dereg_mr(mr);
	return ret;
}

static int run(struct demo *d, struct sockaddr *to, char *buf)
{
	struct ib_qp_init_attr qp = {
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = 2, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_conn_param param = { .initiator_depth = 1, .rnr_retry_count = 7, };
	struct ib_cq *cq;
	struct ib_pd *pd;
	int ret;

	ret = wait_for(d, rdma_resolve_addr(d->id, NULL, to, 5000), RDMA_CM_EVENT_ADDR_RESOLVED) ?:
	      wait_for(d, rdma_resolve_route(d->id, 5000), RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (ret)
		return ret;
	/* step 4: from here on the id has a device.  PD, CQ, QP; freed in the opposite order */
	pd = ib_alloc_pd(d->id->device, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	cq = ib_alloc_cq_any(d->id->device, d, 4, IB_POLL_SOFTIRQ);
	ret = PTR_ERR_OR_ZERO(cq);
	if (ret)
		goto free_pd;
	qp.send_cq = cq;
	qp.recv_cq = cq;
	ret = rdma_create_qp(d->id, pd, &qp);
	if (ret)
		goto free_cq;
	ret = wait_for(d, rdma_connect(d->id, &param), RDMA_CM_EVENT_ESTABLISHED) ?:
	      transfer(d, IB_WR_RDMA_WRITE, memcpy(buf, text, sizeof(text)));
	memset(buf, 0, sizeof(text));
	if (!ret)
		ret = transfer(d, IB_WR_RDMA_READ, buf);
	if (!ret)
		ret = expose(d, buf);
	pr_info("the target holds \"%s\"\n", buf);
	/* step 6: DREQ; then flush and wait, so that no completion comes after the QP is freed */
	rdma_disconnect(d->id);
	ib_drain_qp(d->id->qp);
	rdma_destroy_qp(d->id);
free_cq:
	ib_free_cq(cq);
free_pd:
	ib_dealloc_pd(pd);
	return ret;
}

static int __init demo_init(void)
{
	struct sockaddr_in to = { AF_INET, htons(port), .sin_addr.s_addr = in_aton(addr) };
	struct demo d = { .cqe.done = done };
	char *buf = kzalloc(sizeof(text), GFP_KERNEL); /* the stack cannot be mapped for DMA */
	int ret = -ENOMEM;

	init_completion(&d.step);
	init_completion(&d.done);
	d.id = rdma_create_id(&init_net, cm_event, &d, RDMA_PS_TCP, IB_QPT_RC);
	if (!IS_ERR(d.id)) {
		ret = buf ? run(&d, (struct sockaddr *)&to, buf) : ret;
		rdma_destroy_id(d.id); /* waits for handlers: d may go */
	}
	kfree(buf);
	return ret;
}

static void __exit demo_exit(void) { }
module_init(demo_init);
module_exit(demo_exit);
MODULE_DESCRIPTION("the smallest RDMA client in the kernel");
MODULE_LICENSE("Dual BSD/GPL");
