/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The counters of a port and their names.  This code builds in the kernel and in user space
 * (rtgt serve).
 */
#ifndef _RTGT_COUNTERS_H
#define _RTGT_COUNTERS_H

#ifdef __KERNEL__
#include "../include/uapi/rtgt.h"
#else
#include <rtgt/uapi.h>
#endif

/* counters.c has the names */
enum rtgt_counter {
	RTGT_CONNS_ACCEPTED,
	RTGT_CONNS_ESTABLISHED,
	RTGT_CONNS_CLOSED,
	RTGT_CONNS_ABANDONED,
	/* one for each enum rtgt_rej_reason, in its order */
	RTGT_REJECTS_VERSION,
	RTGT_REJECTS_SIZE,
	RTGT_REJECTS_FULL,
	RTGT_REJECTS_RESOURCES,
	RTGT_REJECTS_DEVICE,
	RTGT_REJECTS_STOPPING,
	RTGT_REJECTS_ASK,
	RTGT_RECV_MSGS,
	RTGT_RECV_BYTES,
	RTGT_IMMS,
	RTGT_IMM_BYTES,
	RTGT_REPLIES,
	RTGT_MALFORMED,
	RTGT_OVER_DEPTH,
	RTGT_QP_ERRORS,
	RTGT_RECV_FLUSHED,
	RTGT_SEND_ERRORS,
	RTGT_SEND_FLUSHED,
	RTGT_REGISTRATIONS,
	RTGT_INVALIDATIONS,
	RTGT_ROTATIONS,
	RTGT_ASKS,
	RTGT_KEEPALIVES,
	RTGT_NR_COUNTERS
};

const char *rtgt_counter_name(unsigned int counter);
enum rtgt_counter rtgt_reject_counter(enum rtgt_rej_reason reason);

#endif /* _RTGT_COUNTERS_H */
