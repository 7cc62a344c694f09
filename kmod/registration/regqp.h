/* SPDX-License-Identifier: GPL-2.0 */
/* The registration queue pair of a protection domain. */
#ifndef _RTGT_REGQP_H
#define _RTGT_REGQP_H

#include <rdma/ib_verbs.h>

struct rtgt_regqp;

struct rtgt_regqp *rtgt_regqp_create(struct ib_pd *pd);
void rtgt_regqp_destroy(struct rtgt_regqp *rqp);
int rtgt_regqp_run(struct rtgt_regqp *rqp, struct ib_send_wr *wr);

#endif /* _RTGT_REGQP_H */
