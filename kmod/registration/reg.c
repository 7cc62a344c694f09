// SPDX-License-Identifier: GPL-2.0
/*
 * Registration: how the rkeys of a protection domain become valid and invalid.
 *
 * The work requests are the same for all devices: REG_MR makes an rkey valid, LOCAL_INV
 * invalidates it.  What differs is the queue pair that they can be posted to, and when
 * there is one.  That is an implementation, struct rtgt_reg_ops:
 *
 *   InfiniBand, RoCE   regqp.c: a queue pair of the domain's own, there before the first
 *                      connection.  rkeys are valid before the REP that holds them, and
 *                      the connections of a shared port use the same rkeys
 *
 *   iWARP              none yet: rtgt_dev_check() refuses such a device.  A queue pair gets
 *                      to RTS with its TCP stream only, so the only one is the
 *                      connection's own, after it is established, with @before_rep false
 *
 * For such an implementation these are ready: rtgt_service_capability() puts no capability
 * into the REP, the client asks for it (which satisfies MPA as well, where the active side
 * sends first); rtgt_domain_create() refuses a domain that connections share.  These are to
 * be added with it: map_register() leaves the extents invalid, as an extent that the device
 * could not register is, and the set-up of the connection hands its queue pair over when that
 * is in RTS; a request that sleeps then has rtgt_domain_reregister() run.  @run posts to
 * that queue pair, which has one more send work request for it, with a struct ib_cqe of its
 * own, and waits in the worker of the request; the queue pair's drain flushes the work
 * request, which ends the wait.
 *
 * The domain owns the struct rtgt_reg and destroys it after the last MR.  Errors: a device
 * without an implementation gives -EOPNOTSUPP.
 */
#include <linux/err.h>
#include <rdma/ib_verbs.h>

#include "registration/reg.h"

static const struct rtgt_reg_ops *reg_ops(struct ib_device *ibdev)
{
	if (rdma_ib_or_roce(ibdev, rdma_start_port(ibdev)))
		return &rtgt_regqp_ops;
	return NULL;
}

/**
 * rtgt_reg_create() - make what registers memory in a protection domain
 * @pd: protection domain
 *
 * May sleep.
 *
 * Return: for rtgt_reg_destroy(), before @pd is; -EOPNOTSUPP or another ERR_PTR otherwise.
 */
struct rtgt_reg *rtgt_reg_create(struct ib_pd *pd)
{
	const struct rtgt_reg_ops *ops = reg_ops(pd->device);
	struct rtgt_reg *reg;

	if (!ops)
		return ERR_PTR(-EOPNOTSUPP);
	reg = ops->create(pd);
	if (!IS_ERR(reg))
		reg->ops = ops;
	return reg;
}

/**
 * rtgt_reg_destroy() - the counterpart of rtgt_reg_create()
 * @reg: nothing is registered or invalidated with it any more
 *
 * rkeys that it made valid stay valid.  May sleep.
 */
void rtgt_reg_destroy(struct rtgt_reg *reg)
{
	reg->ops->destroy(reg);
}

/**
 * rtgt_reg_register() - register a mapped MR and wait until its rkey is valid
 * @reg: of the MR's protection domain
 * @mr: mapped by ib_map_mr_sg(), with the iova that the peer will use; not registered
 * @access: IB_ACCESS_*
 *
 * May sleep.
 *
 * Return: 0 when @mr->rkey can be given to a peer; -EIO when the device refused, or another
 * negative errno.  The state of @mr is unknown after an error.
 */
int rtgt_reg_register(struct rtgt_reg *reg, struct ib_mr *mr, int access)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.mr = mr,
		.key = mr->rkey,
		.access = access,
	};

	return reg->ops->run(reg, &wr.wr);
}

/**
 * rtgt_reg_invalidate() - invalidate a registered MR and wait until the device has done it
 * @reg: of the MR's protection domain
 * @mr: registered
 *
 * May sleep.
 *
 * Return: 0 when the device accepts @mr->rkey no more; -EIO when it refused, as it does when
 * a peer has invalidated the rkey before, or another negative errno.
 */
int rtgt_reg_invalidate(struct rtgt_reg *reg, struct ib_mr *mr)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = mr->rkey,
	};

	return reg->ops->run(reg, &wr);
}
