// SPDX-License-Identifier: GPL-2.0
/*
 * Registration: how the rkeys of a protection domain become valid and invalid.
 *
 * The work requests are the same for all devices: REG_MR makes an rkey valid, LOCAL_INV
 * invalidates it.  What differs is the queue pair that they can be posted to, and when
 * there is one:
 *
 *   InfiniBand, RoCE   regqp.c: a queue pair of the domain's own, there before the first
 *                      connection.  rkeys are valid before the REP that holds them, and
 *                      the connections of a shared port use the same rkeys
 *
 *   iWARP              connreg.c: the connection's own queue pair, after it is established.
 *                      The REP holds no rkeys; a client requests them, and the request
 *                      registers what is not registered yet.  Without a connection, an rkey
 *                      is invalidated by replacing its MR (extent.c)
 *
 * A domain has the first, or none (rtgt_domain.reg); callers that act for a connection pass
 * the second as well.
 */
#include <rdma/ib_verbs.h>

#include "registration/reg.h"

/**
 * rtgt_reg_register() - register a mapped MR and wait until its rkey is valid
 * @reg: posts to a queue pair of the MR's protection domain
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

	return reg->run(reg, &wr.wr);
}

/**
 * rtgt_reg_invalidate() - invalidate a registered MR and wait until the device has done it
 * @reg: posts to a queue pair of the MR's protection domain
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

	return reg->run(reg, &wr);
}
