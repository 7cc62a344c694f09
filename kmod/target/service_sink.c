// SPDX-License-Identifier: GPL-2.0
/*
 * The service "sink": accept any connection and any message, and send no reply.  It is for
 * clients that measure or stress connecting (cmtime, ucmatose), and for clients that only WRITE
 * and READ.  A port with this service needs no region.
 */
#include <linux/bits.h>

#include "target/recv.h"
#include "target/service.h"

const struct rtgt_service rtgt_service_sink = {
	.name = "sink",
	.transports = BIT(RTGT_RC) | BIT(RTGT_UC) | BIT(RTGT_UD),
	.rep_only = true,
	.request = rtgt_service_accept_any,
	.reply = rtgt_service_capability,
	.message = rtgt_recv_release,
	.imm = rtgt_recv_release,
};
