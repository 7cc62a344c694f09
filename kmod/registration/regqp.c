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

#include "registration/region.h"

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
 * rtgt_domain_register_uc() - register all extents that no peer reaches, without an RC QP
 * @dom: domain
 * @like: UC QP of its PD in RTR or RTS, whose address the QP that registers gets
 * Context: may sleep.
 * Return: as rtgt_domain_register(), or what creating the QP returned.
 */
int rtgt_domain_register_uc(struct rtgt_domain *dom, struct ib_qp *like)
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
	struct ib_cq *cq;
	struct ib_qp *qp;
	int ret;

	if (!rtgt_domain_incomplete(dom))
		return 0;
	cq = ib_alloc_cq_any(like->device, NULL, 4, IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ib_create_qp(like->pd, &init);
	ret = PTR_ERR_OR_ZERO(qp);
	if (!ret) {
		ret = regqp_connect(qp, like) ?: rtgt_domain_register(dom, qp);
		ib_destroy_qp(qp);
	}
	ib_free_cq(cq);
	return ret;
}
