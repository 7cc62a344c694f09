// SPDX-License-Identifier: GPL-2.0
/*
 * Registration through the queue pair of a connection, for iWARP.
 *
 * An iWARP queue pair gets to RTS with its TCP stream only, so there is none before the first
 * connection.  A request of the client that sleeps registers what is not registered yet:
 * EXTENTS, with which a client requests the capabilities that the REP lacks, and REVOKE.
 * rkeys belong to the protection domain, so on a shared port they stay valid for the other
 * connections, also when this one is gone.
 *
 * The wait.  The worker of the connection posts and waits; it runs one request at a time, so
 * there is one work request at a time.  The teardown moves the queue pair to error before it
 * waits for the worker: the device then flushes the work request, or refuses to accept it,
 * and both end the wait.
 */
#include <linux/completion.h>
#include <rdma/ib_verbs.h>

#include "registration/reg.h"

static void connreg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_connreg *connreg = container_of(wc->wr_cqe, struct rtgt_connreg, cqe);

	connreg->status = wc->status;
	complete(&connreg->done);
}

static int connreg_run(struct rtgt_reg *reg, struct ib_send_wr *wr)
{
	struct rtgt_connreg *connreg = container_of(reg, struct rtgt_connreg, reg);
	int ret;

	wr->wr_cqe = &connreg->cqe;
	wr->send_flags = IB_SEND_SIGNALED;
	reinit_completion(&connreg->done);
	ret = ib_post_send(connreg->qp, wr, NULL);
	if (ret)
		return ret;
	wait_for_completion(&connreg->done);
	return connreg->status == IB_WC_SUCCESS ? 0 : -EIO;
}

/**
 * rtgt_connreg_init() - let a connection register through its queue pair
 * @connreg: of the connection; needs no release
 * @qp: its queue pair, whose send queue and CQ hold one entry more for this
 */
void rtgt_connreg_init(struct rtgt_connreg *connreg, struct ib_qp *qp)
{
	connreg->reg.run = connreg_run;
	connreg->qp = qp;
	connreg->cqe.done = connreg_done;
	init_completion(&connreg->done);
}
