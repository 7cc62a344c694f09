// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Names of the counters, for debugfs and for rtgt serve.
 */
#include "counters.h"

/**
 * rtgt_counter_name() - return the name of a counter
 * @counter: enum rtgt_counter, below RTGT_NR_COUNTERS
 * Return: a constant string.
 */
const char *rtgt_counter_name(unsigned int counter)
{
	static const char *const names[RTGT_NR_COUNTERS] = {
		[RTGT_CONNS_ACCEPTED]		= "conns_accepted",
		[RTGT_CONNS_ESTABLISHED]	= "conns_established",
		[RTGT_CONNS_CLOSED]		= "conns_closed",
		[RTGT_CONNS_ABANDONED]		= "conns_abandoned",
		[RTGT_REJECTS_VERSION]		= "rejects_version",
		[RTGT_REJECTS_SIZE]		= "rejects_size",
		[RTGT_REJECTS_FULL]		= "rejects_full",
		[RTGT_REJECTS_RESOURCES]	= "rejects_resources",
		[RTGT_REJECTS_DEVICE]		= "rejects_device",
		[RTGT_REJECTS_STOPPING]		= "rejects_stopping",
		[RTGT_REJECTS_ASK]		= "rejects_ask",
		[RTGT_RECV_MSGS]		= "recv_msgs",
		[RTGT_RECV_BYTES]		= "recv_bytes",
		[RTGT_IMMS]			= "imms",
		[RTGT_IMM_BYTES]		= "imm_bytes",
		[RTGT_REPLIES]			= "replies",
		[RTGT_MALFORMED]		= "malformed",
		[RTGT_OVER_DEPTH]		= "over_depth",
		[RTGT_QP_ERRORS]		= "qp_errors",
		[RTGT_RECV_FLUSHED]		= "recv_flushed",
		[RTGT_SEND_ERRORS]		= "send_errors",
		[RTGT_SEND_FLUSHED]		= "send_flushed",
		[RTGT_REGISTRATIONS]		= "registrations",
		[RTGT_INVALIDATIONS]		= "invalidations",
		[RTGT_ROTATIONS]		= "rotations",
		[RTGT_ASKS]			= "asks",
		[RTGT_KEEPALIVES]		= "keepalives",
	};

	return names[counter];
}

/**
 * rtgt_reject_counter() - return the counter of rejects with a reason
 * @reason: of the reject
 * Return: the counter; both enums have the reasons in the same order.
 */
enum rtgt_counter rtgt_reject_counter(enum rtgt_rej_reason reason)
{
	return RTGT_REJECTS_VERSION + (reason - RTGT_REJ_VERSION);
}
