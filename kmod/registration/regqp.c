// SPDX-License-Identifier: GPL-2.0
/*
 * The registration queue pair, for InfiniBand and RoCE: an RC QP connected to itself, on
 * which fast registrations are posted and waited for.
 *
 * Why it exists.  The capability travels in the CM REP, so its rkey must be
 * valid before the REP leaves.  A fast registration (IB_WR_REG_MR) is posted to
 * a QP in RTS, and there is none before the first connection; a UD QP cannot post
 * one at all.  Keys belong to the protection domain, not to the QP that registered
 * them: so a second QP of the same PD, ready long before, can make them valid, and
 * a port whose connections share a PD registers once for all of them.
 *
 * The QP carries no packet: what is posted here is local.  It is addressed to
 * the device's own first GID only because RTR asks for an address.
 *
 * Failures: a device whose port has no GID gives -ENODEV; a registration the
 * device refuses gives -EIO.  The QP is in error then: it is reset and connected
 * again, at once and, if that fails, before the next registration.
 */
#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "registration/regqp.h"

/**
 * struct rtgt_regqp - a registration queue pair
 * @lock: one work request at a time
 * @cq: own
 * @qp: own
 * @cqe: of the outstanding work request
 * @done: completes with it
 * @status: of it
 * @broken: @qp is in error; under @lock
 */
struct rtgt_regqp {
	struct mutex lock;	/* one work request at a time */
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
	bool broken;
};

static void regqp_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_regqp *rqp = container_of(wc->wr_cqe, struct rtgt_regqp, cqe);

	rqp->status = wc->status;
	complete(&rqp->done);
}

/* The first GID the port has, for an address that is never sent to. */
static const struct ib_gid_attr *regqp_gid(struct ib_device *ibdev, u32 port)
{
	int i;

	for (i = 0; i < ibdev->port_data[port].immutable.gid_tbl_len; i++) {
		const struct ib_gid_attr *gid = rdma_get_gid_attr(ibdev, port, i);

		if (!IS_ERR(gid))
			return gid;
	}
	return ERR_PTR(-ENODEV);
}

static int regqp_address(struct ib_qp *qp, u32 port, struct rdma_ah_attr *ah)
{
	struct ib_device *ibdev = qp->device;
	const struct ib_gid_attr *gid = regqp_gid(ibdev, port);
	int ret = 0;

	if (IS_ERR(gid))
		return PTR_ERR(gid);
	ah->type = rdma_ah_find_type(ibdev, port);
	rdma_ah_set_port_num(ah, port);
	rdma_ah_set_grh(ah, (union ib_gid *)&gid->gid, 0, gid->index, 1, 0);
	if (ah->type == RDMA_AH_ATTR_TYPE_ROCE) {
		ret = rdma_read_gid_l2_fields(gid, NULL, ah->roce.dmac);
	} else {
		struct ib_port_attr attr;

		ret = ib_query_port(ibdev, port, &attr);
		if (!ret)
			rdma_ah_set_dlid(ah, attr.lid);
	}
	rdma_put_gid_attr(gid);
	return ret;
}

static int regqp_connect(struct ib_qp *qp)
{
	u32 port = rdma_start_port(qp->device);
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = port,
	};
	int ret;

	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	if (ret)
		return ret;

	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = IB_MTU_256;
	attr.dest_qp_num = qp->qp_num;
	ret = regqp_address(qp, port, &attr.ah_attr);
	if (ret)
		return ret;
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			   IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (ret)
		return ret;

	attr.qp_state = IB_QPS_RTS;
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			    IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

static int regqp_recover(struct rtgt_regqp *rqp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	int ret;

	lockdep_assert_held(&rqp->lock);
	if (!rqp->broken)
		return 0;
	ret = ib_modify_qp(rqp->qp, &attr, IB_QP_STATE);
	if (!ret)
		ret = regqp_connect(rqp->qp);
	rqp->broken = ret;
	return ret;
}

/**
 * rtgt_regqp_run() - post REG_MR or LOCAL_INV, and wait until the device has done it
 * @rqp: of the protection domain of the MR
 * @wr: filled but for its completion and its flags
 *
 * One at a time.  May sleep.
 *
 * Return: 0; -EIO when the device refused, as it does a LOCAL_INV when a peer has invalidated the
 * rkey before; or what ib_post_send() returned.  The state of the MR is unknown after an error.
 */
int rtgt_regqp_run(struct rtgt_regqp *rqp, struct ib_send_wr *wr)
{
	int ret;

	wr->wr_cqe = &rqp->cqe;
	wr->send_flags = IB_SEND_SIGNALED;
	mutex_lock(&rqp->lock);
	ret = regqp_recover(rqp);
	if (ret)
		goto unlock;
	reinit_completion(&rqp->done);
	ret = ib_post_send(rqp->qp, wr, NULL);
	if (ret)
		goto unlock;
	wait_for_completion(&rqp->done);
	if (rqp->status != IB_WC_SUCCESS) {
		ret = -EIO;
		rqp->broken = true;
		regqp_recover(rqp);
	}
unlock:
	mutex_unlock(&rqp->lock);
	return ret;
}

/**
 * rtgt_regqp_create() - create the registration queue pair of a protection domain
 * @pd: protection domain
 *
 * May sleep.
 *
 * Return: for rtgt_regqp_destroy(), before @pd is; or an ERR_PTR.
 */
struct rtgt_regqp *rtgt_regqp_create(struct ib_pd *pd)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.cap = {
			.max_send_wr = 2,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct rtgt_regqp *rqp;
	int ret;

	rqp = kzalloc(sizeof(*rqp), GFP_KERNEL);
	if (!rqp)
		return ERR_PTR(-ENOMEM);
	mutex_init(&rqp->lock);
	init_completion(&rqp->done);
	rqp->cqe.done = regqp_done;

	rqp->cq = ib_alloc_cq_any(pd->device, NULL, 4, IB_POLL_SOFTIRQ);
	if (IS_ERR(rqp->cq)) {
		ret = PTR_ERR(rqp->cq);
		goto free_rqp;
	}
	init.send_cq = rqp->cq;
	init.recv_cq = rqp->cq;
	rqp->qp = ib_create_qp(pd, &init);
	if (IS_ERR(rqp->qp)) {
		ret = PTR_ERR(rqp->qp);
		goto free_cq;
	}
	ret = regqp_connect(rqp->qp);
	if (ret)
		goto destroy_qp;
	return rqp;

destroy_qp:
	ib_destroy_qp(rqp->qp);
free_cq:
	ib_free_cq(rqp->cq);
free_rqp:
	kfree(rqp);
	return ERR_PTR(ret);
}

/**
 * rtgt_regqp_destroy() - destroy a registration queue pair
 * @rqp: nothing is registered or invalidated with it any more
 *
 * rkeys that it made valid stay valid.  May sleep.
 */
void rtgt_regqp_destroy(struct rtgt_regqp *rqp)
{
	ib_destroy_qp(rqp->qp);
	ib_free_cq(rqp->cq);
	kfree(rqp);
}
