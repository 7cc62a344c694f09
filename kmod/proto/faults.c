// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults on demand: the table of names, and the text of a rule.
 *
 * A rule is a line: a name, then any of "every N", "after N", "for N" and "ms N".  A name alone
 * means every opportunity; "NAME off" ends the fault.  Everything here is pure: the caller counts
 * the opportunities, asks rtgt_fault_due() at each, and commits the fault.
 */
#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#else
#include <errno.h>
#include <stdio.h>
#include <string.h>
#endif

#include "faults.h"

static const struct {
	const char *name;
	const char *about;
} faults[RTGT_NR_FAULTS] = {
	[RTGT_FAULT_REPLY_DROP]	  = { "reply-drop", "send no reply" },
	[RTGT_FAULT_REPLY_DELAY]  = { "reply-delay", "send the reply after \"ms\" milliseconds" },
	[RTGT_FAULT_REPLY_TWICE]  = { "reply-twice", "send the reply twice" },
	[RTGT_FAULT_REPLY_SWAP]	  = { "reply-swap", "send the reply after the next one" },
	[RTGT_FAULT_REPLY_TAG]	  = { "reply-tag", "reply with the tag of another request" },
	[RTGT_FAULT_REPLY_OP]	  = { "reply-op", "reply with another operation" },
	[RTGT_FAULT_REPLY_LEN]	  = { "reply-len", "reply with a length that is one too small" },
	[RTGT_FAULT_REPLY_STATUS] = { "reply-status", "reply with the status \"the device refused\"" },
	[RTGT_FAULT_REPLY_BIT]	  = { "reply-bit", "flip a bit of the reply's body" },
	[RTGT_FAULT_REPLY_STALE]  = { "reply-stale", "reply with the body of an earlier reply" },
	[RTGT_FAULT_REGION_BIT]	  = { "region-bit", "flip a bit of the region before a CHECKSUM" },
	[RTGT_FAULT_MOVE_RANGE]	  = { "move-range", "PULL or PUSH the neighbouring bytes of the region" },
	[RTGT_FAULT_MOVE_TWICE]	  = { "move-twice", "PULL or PUSH twice" },
	[RTGT_FAULT_MOVE_LATE]	  = { "move-late", "reply before the PULL or PUSH" },
	[RTGT_FAULT_MOVE_NEVER]	  = { "move-never", "reply without a PULL or PUSH" },
	[RTGT_FAULT_CAP_RKEY]	  = { "cap-rkey", "return another rkey to EXTENTS or REVOKE" },
	[RTGT_FAULT_CAP_ADDR]	  = { "cap-addr", "return an address beyond the memory" },
	[RTGT_FAULT_CAP_LEN]	  = { "cap-len", "return a length of 1" },
	[RTGT_FAULT_REP_RKEY]	  = { "rep-rkey", "send another rkey in the REP" },
	[RTGT_FAULT_REP_ADDR]	  = { "rep-addr", "send an address beyond the memory" },
	[RTGT_FAULT_REP_LEN]	  = { "rep-len", "send twice the length" },
	[RTGT_FAULT_REP_ASK]	  = { "rep-ask", "send a REP that has no capability (RTGT_F_ASK)" },
	[RTGT_FAULT_REP_SHORT]	  = { "rep-short", "send a REP that ends too early" },
	[RTGT_FAULT_REP_DELAY]	  = { "rep-delay", "send the REP after \"ms\" milliseconds" },
	[RTGT_FAULT_REP_NEVER]	  = { "rep-never", "send neither REP nor REJ" },
	[RTGT_FAULT_REJ_VERSION]  = { "rej-version", "reject with the reason \"version\"" },
	[RTGT_FAULT_REJ_SIZE]	  = { "rej-size", "reject with the reason \"size\"" },
	[RTGT_FAULT_REJ_FULL]	  = { "rej-full", "reject with the reason \"full\"" },
	[RTGT_FAULT_REJ_RESOURCES] = { "rej-resources", "reject with the reason \"resources\"" },
	[RTGT_FAULT_REJ_DEVICE]	  = { "rej-device", "reject with the reason \"device\"" },
	[RTGT_FAULT_REJ_STOPPING] = { "rej-stopping", "reject with the reason \"stopping\"" },
	[RTGT_FAULT_REJ_ASK]	  = { "rej-ask", "reject with the reason \"ask\"" },
	[RTGT_FAULT_RTU_IGNORE]	  = { "rtu-ignore", "ignore the RTU and the first message" },
	[RTGT_FAULT_DREQ_IGNORE]  = { "dreq-ignore", "keep the connection when the peer disconnects" },
	[RTGT_FAULT_RECV_NONE]	  = { "recv-none", "post no receives" },
	[RTGT_FAULT_DISCONNECT]	  = { "disconnect", "disconnect instead of serving a message" },
	[RTGT_FAULT_QP_ERR]	  = { "qp-err", "move the QP to ERR instead of serving a message" },
	[RTGT_FAULT_QP_SQD]	  = { "qp-sqd", "move the QP to SQD before serving a message" },
};

/**
 * rtgt_fault_name() - return the name of a fault
 * @fault: enum rtgt_fault, below RTGT_NR_FAULTS
 *
 * Return: a constant string, one word.
 */
const char *rtgt_fault_name(unsigned int fault)
{
	return faults[fault].name;
}

/**
 * rtgt_fault_about() - return what a fault does
 * @fault: enum rtgt_fault, below RTGT_NR_FAULTS
 *
 * Return: a constant string, the predicate of a sentence whose subject is the target.
 */
const char *rtgt_fault_about(unsigned int fault)
{
	return faults[fault].about;
}
