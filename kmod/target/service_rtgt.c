// SPDX-License-Identifier: GPL-2.0
/*
 * The service "rtgt": the REP has the capabilities, SENDs are requests, immediates may request
 * a reply.  A client whose REQ has no rtgt private data is a plain client: it gets the same REP,
 * and reads as much of it as it knows.  On iWARP the REP has no capability, and a plain client
 * cannot request one: it is rejected.
 */
#include <linux/bits.h>

#include "proto/proto.h"
#include "target/conn.h"
#include "target/ops.h"
#include "target/service.h"

static int rtgt_request(struct rtgt_conn *conn, const void *priv, size_t len, u32 *arg)
{
	struct rtgt_req_info req;
	int why;

	why = rtgt_decode_req(priv, len, &req, arg);
	conn->plain = req.plain;
	if (!why && req.plain && conn->iwarp) {
		*arg = RTGT_MSG_EXTENTS;
		return RTGT_REJ_ASK;
	}
	return why;
}

const struct rtgt_service rtgt_service_rtgt = {
	.name = "rtgt",
	.transports = BIT(RTGT_RC) | BIT(RTGT_UC) | BIT(RTGT_UD),
	.rws = 3,
	.needs_region = true,
	.request = rtgt_request,
	.reply = rtgt_service_capability,
	.message = rtgt_ops_message,
	.imm = rtgt_ops_imm,
	.work = rtgt_ops_work,
	.moved = rtgt_ops_moved,
};
