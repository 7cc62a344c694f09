/* SPDX-License-Identifier: GPL-2.0 */
/* Completion queues. */
#ifndef _RTGT_CQ_H
#define _RTGT_CQ_H

#include <linux/irq_work.h>
#include <rdma/ib_verbs.h>

struct rtgt_cq {
	struct ib_cq *ib;	/* NULL if there is none */
	struct irq_work kick;	/* interrupts a driver that notifies outside of an interrupt */
	/* the core's own comp_handler, if completions run in softirq */
	void (*softirq)(struct ib_cq *ib, void *context);
};

int rtgt_cq_create(struct rtgt_cq *cq, struct ib_device *ibdev, int nr, enum ib_poll_context poll);
void rtgt_cq_destroy(struct rtgt_cq *cq);

#endif /* _RTGT_CQ_H */
