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

/* The private data of a REQ, decoded */
struct rtgt_req_info {
	bool plain;		/* the REQ has no magic: a plain client */
	uint32_t features;	/* features that the client requests */
};

/* A capability, in host order */
struct rtgt_region_info {
	uint64_t addr;	/* goes into a work request as it is */
	uint64_t len;	/* bytes; 0 if the target did not send it */
	uint32_t rkey;	/* goes into a work request as it is */
	uint32_t access; /* RTGT_ACCESS_*; READ and WRITE if the target does not speak rtgt */
};

/* The private data of a REP, decoded */
struct rtgt_rep_info {
	/* not used when encoding.  Without @rtgt, the target sent only what is in @region[0] */
	bool rtgt;
	uint16_t version;
	uint16_t recv_depth;	/* SENDs and immediates the target can hold at a time */
	uint16_t nr;	/* valid entries of @region; 0 for a datagram client */
	uint32_t features;	/* RTGT_F_* */
	uint32_t recv_size;	/* bytes of the largest SEND, header included */
	uint32_t conn_id;	/* number of the connection */
	struct rtgt_region_info region[RTGT_MAX_REGIONS];
};

/* A request message, decoded */
struct rtgt_request {
	uint8_t op;		/* enum rtgt_op */
	uint32_t tag;		/* tag for the reply; 0 if the message is too short for one */
	uint32_t len;		/* bytes of the body */
	uint32_t region;	/* index of the region; CHECKSUM, PULL, PUSH, REVOKE, EXTENTS */
	uint64_t offset;	/* first byte; CHECKSUM, PULL, PUSH.  First extent; EXTENTS */
	uint64_t count;	/* bytes; CHECKSUM, PULL, PUSH.  Maximum number of extents; EXTENTS */
	uint64_t addr;		/* address of the initiator's memory; PULL, PUSH */
	uint32_t rkey;		/* rkey of the initiator's memory; PULL, PUSH */
	uint32_t ms;		/* milliseconds; WITHHOLD */
};

/* A reply, header and small bodies */
struct rtgt_reply {
	uint8_t op;			/* enum rtgt_op, RTGT_MSG_REPLY removed */
	uint16_t status;		/* enum rtgt_status */
	uint32_t tag;			/* of the request */
	uint32_t arg;			/* the immediate; IMM, ECHO */
	const void *body;		/* the body, in the receive buffer */
	uint32_t len;			/* bytes of @body */
	uint32_t crc;			/* CHECKSUM */
	uint64_t covered;		/* bytes that @crc covers; CHECKSUM.  Of the WRITE; IMM */
	struct rtgt_region_info region;	/* the new capability of the region; REVOKE */
	uint64_t size;			/* bytes of the region; EXTENTS */
	uint32_t total;			/* extents of the region; EXTENTS */
	uint32_t nr;			/* extents in the body, for rtgt_decode_extent(); EXTENTS */
};

/* Why the private data of a REP, or a reply, cannot be used */
enum rtgt_misfit {
	RTGT_FITS,
	RTGT_MISFIT_VERSION,	/* another one, in rtgt_rep_info.version */
	RTGT_MISFIT_SIZE,	/* shorter than its header, or than it claims to be */
	RTGT_MISFIT_NO_CAP,	/* a REP without rtgt's magic and without a capability */
	RTGT_MISFIT_HEADER,	/* the header is none of a reply */
	RTGT_MISFIT_BODY,	/* the body of a reply is shorter than its operation requires */
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
