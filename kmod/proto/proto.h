/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The protocol, decoded.  This code builds in the kernel and in user space, and uses no
 * allocation, no lock and no verbs.
 *
 * This is also the header <rtgt/proto.h> of librtgt, hence uint32_t and not u32, which would be
 * a name of the program that includes it.
 */
#ifndef _RTGT_PROTO_H
#define _RTGT_PROTO_H

#ifdef __KERNEL__
#include <linux/types.h>
#include "../include/uapi/rtgt.h"
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rtgt/uapi.h>
#endif

/**
 * struct rtgt_req_info - the private data of a REQ, decoded
 * @plain: the REQ has no magic: a plain client
 * @features: features that the client requests
 */
struct rtgt_req_info {
	bool plain;
	uint32_t features;
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
	uint64_t addr;
	uint64_t len;
	uint32_t rkey;
	uint32_t access;
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
	uint16_t version;
	uint16_t recv_depth;
	uint16_t nr;
	uint32_t features;
	uint32_t recv_size;
	uint32_t conn_id;
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
	uint8_t op;
	uint32_t tag;
	uint32_t len;
	uint32_t region;
	uint64_t offset;
	uint64_t count;
	uint64_t addr;
	uint32_t rkey;
	uint32_t ms;
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
	uint8_t op;
	uint16_t status;
	uint32_t tag;
	uint32_t arg;
	const void *body;
	uint32_t len;
	uint32_t crc;
	uint64_t covered;
	struct rtgt_region_info region;
	uint64_t size;
	uint32_t total;
	uint32_t nr;
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
int rtgt_decode_req(const void *buf, size_t len, struct rtgt_req_info *info, uint32_t *arg);
int rtgt_decode_rej(const void *buf, size_t len, uint32_t *reason, uint32_t *arg);
size_t rtgt_encode_rej(void *buf, size_t size, uint32_t reason, uint32_t arg);
size_t rtgt_encode_rep(void *buf, size_t size, const struct rtgt_rep_info *info);
void rtgt_encode_region(void *buf, uint64_t addr, uint32_t rkey, uint64_t len, uint32_t access);
void rtgt_encode_extents(void *buf, uint64_t size, uint32_t total, uint32_t nr);
void rtgt_encode_extent(void *buf, uint32_t i, uint64_t addr, uint32_t rkey, uint64_t len);
uint32_t rtgt_decode_msg(const void *buf, size_t len, struct rtgt_request *rq);
void rtgt_encode_reply(void *buf, const struct rtgt_request *rq, uint32_t status, uint32_t len,
		       uint32_t arg);
bool rtgt_range_ok(uint64_t offset, uint64_t len, uint64_t size);
const char *rtgt_rej_name(uint32_t reason);
const char *rtgt_status_name(uint32_t status);

/* proto_client.c: the initiator's half */
void rtgt_encode_req(struct rtgt_req *req);
enum rtgt_misfit rtgt_decode_rep(const void *buf, size_t len, struct rtgt_rep_info *info);
uint64_t rtgt_region_len(const struct rtgt_region_info *region, uint64_t want);
void rtgt_encode_msg(void *buf, uint32_t op, uint32_t tag, uint32_t len);
void rtgt_encode_range(void *buf, uint32_t region, uint64_t offset, uint64_t len);
void rtgt_encode_xfer(void *buf, uint32_t region, uint64_t offset, uint64_t len, uint64_t addr,
		      uint32_t rkey);
void rtgt_encode_query(void *buf, uint32_t region, uint32_t first, uint32_t max);
enum rtgt_misfit rtgt_decode_reply(const void *buf, size_t len, struct rtgt_reply *reply);
struct rtgt_region_info rtgt_decode_extent(const struct rtgt_reply *reply, uint32_t i,
					   uint32_t access);

#endif /* _RTGT_PROTO_H */
