/* SPDX-License-Identifier: GPL-2.0 */
/* Registration: what makes an rkey valid or invalid, whatever the device needs for that. */
#ifndef _RTGT_REG_H
#define _RTGT_REG_H

#include <linux/completion.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

/**
 * struct rtgt_reg - one way to run REG_MR and LOCAL_INV
 * @run: post @wr, which the caller filled but for its completion and flags, and wait for
 *	 its completion; one at a time.  Returns 0, -EIO when the device refused it, or
 *	 what ib_post_send() returned.  May sleep
 *
 * An implementation embeds it.
 */
struct rtgt_reg {
	int (*run)(struct rtgt_reg *reg, struct ib_send_wr *wr);
};

/**
 * struct rtgt_connreg - registers through the queue pair of a connection
 * @reg: what the rest of the module knows of it
 * @qp: the queue pair
 * @cqe: of the outstanding work request
 * @done: completes with it
 * @status: of it
 */
struct rtgt_connreg {
	struct rtgt_reg reg;
	struct ib_qp *qp;
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

/* connreg.c */
void rtgt_connreg_init(struct rtgt_connreg *connreg, struct ib_qp *qp);

/* regqp.c */
struct rtgt_reg *rtgt_regqp_create(struct ib_pd *pd);
void rtgt_regqp_destroy(struct rtgt_reg *reg);

/* reg.c */
int rtgt_reg_register(struct rtgt_reg *reg, struct ib_mr *mr, int access);
int rtgt_reg_invalidate(struct rtgt_reg *reg, struct ib_mr *mr);

#endif /* _RTGT_REG_H */
