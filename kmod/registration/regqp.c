// SPDX-License-Identifier: GPL-2.0
/*
 * An RC QP that registers for a UC connection, for as long as that takes.
 *
 * The specification lets REG_MR be posted to a UC QP, but rxe refuses it
 * (rxe_wr_opcode_info): on RC only.  rkeys belong to the protection domain, so a QP of the same PD
 * can make them valid, and they stay valid without it.
 *
 * The QP is connected to itself and carries no packet.  RTR asks for an address: it gets that of
 * the UC connection's peer, to whom nothing is sent.
 */
#include <rdma/ib_verbs.h>

#include "registration/regqp.h"

static int regqp_connect(struct ib_qp *qp, struct ib_qp *like)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr = {}, path = {};
	int ret;

	ret = ib_query_qp(like, &path, IB_QP_AV | IB_QP_PORT, &init);
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_INIT;
	attr.port_num = path.port_num;
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	if (ret)
		return ret;

	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = IB_MTU_256;
	attr.dest_qp_num = qp->qp_num;
	attr.ah_attr = path.ah_attr;
	/* rxe does not return it */
	attr.ah_attr.type = rdma_ah_find_type(qp->device, path.port_num);
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			   IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (ret)
		return ret;

	attr.qp_state = IB_QPS_RTS;
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			    IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

/**
 * rtgt_regqp_create() - create a QP that registers
 * @rqp: filled in
 * @like: UC QP in RTR or RTS, of whose protection domain and address it is
 *
 * May sleep.
 *
 * Return: 0, and the caller calls rtgt_regqp_destroy(); -ENOMEM, or what the device returned.
 */
int rtgt_regqp_create(struct rtgt_regqp *rqp, struct ib_qp *like)
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
	int ret;

	rqp->cq = ib_alloc_cq_any(like->device, NULL, 4, IB_POLL_SOFTIRQ);
	if (IS_ERR(rqp->cq))
		return PTR_ERR(rqp->cq);
	init.send_cq = rqp->cq;
	init.recv_cq = rqp->cq;
	rqp->qp = ib_create_qp(like->pd, &init);
	if (IS_ERR(rqp->qp)) {
		ret = PTR_ERR(rqp->qp);
		goto free_cq;
	}
	ret = regqp_connect(rqp->qp, like);
	if (!ret)
		return 0;
	ib_destroy_qp(rqp->qp);
free_cq:
	ib_free_cq(rqp->cq);
	return ret;
}

/**
 * rtgt_regqp_destroy() - destroy a QP that registers
 * @rqp: nothing that was posted to it is outstanding
 *
 * rkeys that it made valid stay valid.  May sleep.
 */
void rtgt_regqp_destroy(struct rtgt_regqp *rqp)
{
	ib_destroy_qp(rqp->qp);
	ib_free_cq(rqp->cq);
}
