/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The protocol, decoded.  This code builds in the kernel and in user space, and uses no
 * allocation, no lock and no verbs.
 */
#ifndef _RTGT_PROTO_H
#define _RTGT_PROTO_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
#endif

#include "../include/uapi/rtgt.h"

/**
 * struct rtgt_req_info - the private data of a REQ, decoded
 * @plain: the REQ has no magic: a plain client
 * @features: features that the client requests
 */
struct rtgt_req_info {
	bool plain;
	u32 features;
};

/**
 * struct rtgt_region_info - a capability, in host order
 * @addr: goes into a work request as it is
 * @len: bytes; 0 if the target did not send it
 * @rkey: goes into a work request as it is
 * @access: RTGT_ACCESS_*; READ and WRITE are assumed of a target that does not speak rtgt.
 *	    With RTGT_ACCESS_MORE this is the first extent of a region
 */
struct rtgt_region_info {
	u64 addr;
	u64 len;
	u32 rkey;
	u32 access;
};

/**
 * struct rtgt_rep_info - the private data of a REP, decoded
 * @rtgt: the target speaks rtgt; otherwise it sent a bare capability (address, rkey
 *	  and perhaps a length), and all but @region[0] is 0.  Not used when encoding
 * @version: of the protocol; not used when encoding
 * @recv_depth: SENDs and immediates the target can hold at a time
 * @nr: valid entries of @region; 0 for a datagram client
 * @features: RTGT_F_*
 * @recv_size: bytes of the largest SEND, header included
 * @conn_id: number of the connection
 * @region: the capabilities
 */
struct rtgt_rep_info {
	bool rtgt;
	u16 version;
	u16 recv_depth;
	u16 nr;
	u32 features;
	u32 recv_size;
	u32 conn_id;
	struct rtgt_region_info region[RTGT_MAX_REGIONS];
};

/**
 * struct rtgt_request - a request message, decoded
 * @op: enum rtgt_op
 * @tag: tag for the reply; 0 if the message is too short for one
 * @len: bytes of the body
 * @region: index of the region; CHECKSUM, PULL, PUSH, REVOKE, EXTENTS
 * @offset: first byte; CHECKSUM, PULL, PUSH.  First extent; EXTENTS
 * @count: bytes; CHECKSUM, PULL, PUSH.  Maximum number of extents; EXTENTS
 * @addr: address of the initiator's memory; PULL, PUSH
 * @rkey: rkey of the initiator's memory; PULL, PUSH
 * @ms: milliseconds; WITHHOLD
 */
struct rtgt_request {
	u8 op;
	u32 tag;
	u32 len;
	u32 region;
	u64 offset;
	u64 count;
	u64 addr;
	u32 rkey;
	u32 ms;
};

/**
 * struct rtgt_reply - a reply, header and small bodies
 * @op: enum rtgt_op, RTGT_MSG_REPLY removed
 * @status: enum rtgt_status
 * @tag: of the request
 * @arg: the immediate; IMM, ECHO
 * @body: the body, in the receive buffer
 * @len: bytes of @body
 * @crc: CHECKSUM
 * @covered: bytes that @crc covers; CHECKSUM.  Bytes that the WRITE carried; IMM
 * @region: the new capability of the region; REVOKE
 * @size: bytes of the region; EXTENTS
 * @total: extents of the region; EXTENTS
 * @nr: extents in the body, for rtgt_decode_extent(); EXTENTS
 */
struct rtgt_reply {
	u8 op;
	u16 status;
	u32 tag;
	u32 arg;
	const void *body;
	u32 len;
	u32 crc;
	u64 covered;
	struct rtgt_region_info region;
	u64 size;
	u32 total;
	u32 nr;
};

/**
 * enum rtgt_misfit - why the private data of a REP, or a reply, cannot be used
 * @RTGT_FITS: it can
 * @RTGT_MISFIT_VERSION: another version of the protocol; it is in rtgt_rep_info.version
 * @RTGT_MISFIT_SIZE: shorter than its header, or than it claims to be
 * @RTGT_MISFIT_NO_CAP: a REP without rtgt's magic and without a capability
 * @RTGT_MISFIT_HEADER: the header is none of a reply
 * @RTGT_MISFIT_BODY: the body of a reply is shorter than its operation requires
 */
enum rtgt_misfit {
	RTGT_FITS,
	RTGT_MISFIT_VERSION,
	RTGT_MISFIT_SIZE,
	RTGT_MISFIT_NO_CAP,
	RTGT_MISFIT_HEADER,
	RTGT_MISFIT_BODY,
};

/* proto.c: the target's half, and what both halves need */
int rtgt_decode_req(const void *buf, size_t len, struct rtgt_req_info *info, u32 *arg);
int rtgt_decode_rej(const void *buf, size_t len, u32 *reason, u32 *arg);
size_t rtgt_encode_rej(void *buf, size_t size, u32 reason, u32 arg);
size_t rtgt_encode_rep(void *buf, size_t size, const struct rtgt_rep_info *info);
void rtgt_encode_region(void *buf, u64 addr, u32 rkey, u64 len, u32 access);
void rtgt_encode_extents(void *buf, u64 size, u32 total, u32 nr);
void rtgt_encode_extent(void *buf, u32 i, u64 addr, u32 rkey, u64 len);
u32 rtgt_decode_msg(const void *buf, size_t len, struct rtgt_request *rq);
void rtgt_encode_reply(void *buf, const struct rtgt_request *rq, u32 status, u32 len, u32 arg);
bool rtgt_range_ok(u64 offset, u64 len, u64 size);
const char *rtgt_rej_name(u32 reason);
const char *rtgt_status_name(u32 status);

/* proto_client.c: the initiator's half */
void rtgt_encode_req(struct rtgt_req *req);
enum rtgt_misfit rtgt_decode_rep(const void *buf, size_t len, struct rtgt_rep_info *info);
u64 rtgt_region_len(const struct rtgt_region_info *region, u64 want);
void rtgt_encode_msg(void *buf, u32 op, u32 tag, u32 len);
void rtgt_encode_range(void *buf, u32 region, u64 offset, u64 len);
void rtgt_encode_xfer(void *buf, u32 region, u64 offset, u64 len, u64 addr, u32 rkey);
void rtgt_encode_query(void *buf, u32 region, u32 first, u32 max);
enum rtgt_misfit rtgt_decode_reply(const void *buf, size_t len, struct rtgt_reply *reply);
struct rtgt_region_info rtgt_decode_extent(const struct rtgt_reply *reply, u32 i, u32 access);

#endif /* _RTGT_PROTO_H */
