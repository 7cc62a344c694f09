/* SPDX-License-Identifier: GPL-2.0 */
/* A queue pair that registers for UC connections. */
#ifndef _RTGT_REGQP_H
#define _RTGT_REGQP_H

#include <rdma/ib_verbs.h>

/**
 * struct rtgt_regqp - an RC QP in RTS, and its CQ
 * @cq: own
 * @qp: own
 */
struct rtgt_regqp {
	struct ib_cq *cq;
	struct ib_qp *qp;
};

int rtgt_regqp_create(struct rtgt_regqp *rqp, struct ib_qp *like);
void rtgt_regqp_destroy(struct rtgt_regqp *rqp);

#endif /* _RTGT_REGQP_H */
