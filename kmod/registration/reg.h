/* SPDX-License-Identifier: GPL-2.0 */
/* Registration: what makes an rkey valid or invalid, whatever the device needs for that. */
#ifndef _RTGT_REG_H
#define _RTGT_REG_H

#include <linux/types.h>

struct ib_mr;
struct ib_pd;
struct ib_send_wr;
struct rtgt_reg;

/**
 * struct rtgt_reg_ops - one way to run REG_MR and LOCAL_INV
 * @before_rep: rkeys can be valid before a connection exists, so the CM REP may hold them
 *		and the connections of a port may share them
 * @create: make what the work requests of a protection domain are run with; returns an
 *	    ERR_PTR on failure.  May sleep
 * @destroy: free it; nothing runs on it any more.  rkeys stay valid.  May sleep
 * @run: post @wr, which the caller filled but for its completion and flags, and wait for
 *	 its completion; one at a time.  Returns 0, -EIO when the device refused it, or
 *	 what ib_post_send() returned.  May sleep
 */
struct rtgt_reg_ops {
	bool before_rep;
	struct rtgt_reg *(*create)(struct ib_pd *pd);
	void (*destroy)(struct rtgt_reg *reg);
	int (*run)(struct rtgt_reg *reg, struct ib_send_wr *wr);
};

/**
 * struct rtgt_reg - runs the registrations of one protection domain
 * @ops: how; set by rtgt_reg_create()
 *
 * An implementation embeds it.
 */
struct rtgt_reg {
	const struct rtgt_reg_ops *ops;
};

extern const struct rtgt_reg_ops rtgt_regqp_ops;

struct rtgt_reg *rtgt_reg_create(struct ib_pd *pd);
void rtgt_reg_destroy(struct rtgt_reg *reg);
int rtgt_reg_register(struct rtgt_reg *reg, struct ib_mr *mr, int access);
int rtgt_reg_invalidate(struct rtgt_reg *reg, struct ib_mr *mr);

#endif /* _RTGT_REG_H */
