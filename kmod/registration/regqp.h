/* SPDX-License-Identifier: GPL-2.0 */
/* The registration queue pair of a protection domain. */
#ifndef _RTGT_REGQP_H
#define _RTGT_REGQP_H

struct ib_mr;
struct ib_pd;

struct rtgt_regqp;

struct rtgt_regqp *rtgt_regqp_create(struct ib_pd *pd);
void rtgt_regqp_destroy(struct rtgt_regqp *reg);
int rtgt_regqp_register(struct rtgt_regqp *reg, struct ib_mr *mr, int access);
int rtgt_regqp_invalidate(struct rtgt_regqp *reg, struct ib_mr *mr);

#endif /* _RTGT_REGQP_H */
