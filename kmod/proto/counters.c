// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Names of the counters, for debugfs and for rtgt serve.
 */
#ifdef __KERNEL__
#include <linux/build_bug.h>
#else
#include <assert.h>
#endif

#include "counters.h"
#include "../include/uapi/rtgt.h"

static_assert(RTGT_REJECTS_STOPPING - RTGT_REJECTS_VERSION ==
	      RTGT_REJ_STOPPING - RTGT_REJ_VERSION);

/**
 * rtgt_counter_name() - what a counter is called
 * @counter: enum rtgt_counter, below RTGT_NR_COUNTERS
 *
 * Return: a constant string.
 */
const char *rtgt_counter_name(unsigned int counter)
{
	static const char *const names[RTGT_NR_COUNTERS] = {
		[RTGT_CONNS_ACCEPTED]		= "conns_accepted",
		[RTGT_CONNS_ESTABLISHED]	= "conns_established",
		[RTGT_CONNS_CLOSED]		= "conns_closed",
		[RTGT_REJECTS_VERSION]		= "rejects_version",
		[RTGT_REJECTS_SIZE]		= "rejects_size",
		[RTGT_REJECTS_FULL]		= "rejects_full",
		[RTGT_REJECTS_RESOURCES]	= "rejects_resources",
		[RTGT_REJECTS_DEVICE]		= "rejects_device",
		[RTGT_REJECTS_STOPPING]		= "rejects_stopping",
		[RTGT_RECV_MSGS]		= "recv_msgs",
		[RTGT_RECV_BYTES]		= "recv_bytes",
		[RTGT_IMMS]			= "imms",
		[RTGT_IMM_BYTES]		= "imm_bytes",
		[RTGT_REPLIES]			= "replies",
		[RTGT_MALFORMED]		= "malformed",
		[RTGT_QP_ERRORS]		= "qp_errors",
		[RTGT_RECV_FLUSHED]		= "recv_flushed",
		[RTGT_SEND_ERRORS]		= "send_errors",
		[RTGT_REGISTRATIONS]		= "registrations",
		[RTGT_INVALIDATIONS]		= "invalidations",
		[RTGT_ROTATIONS]		= "rotations",
	};

	return names[counter];
}
