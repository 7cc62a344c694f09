/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wire, decoded.  Builds in the kernel and in user space; no allocation, no
 * lock, no verbs.
 */
#ifndef _RTGT_PROTO_H
#define _RTGT_PROTO_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#endif

#include "include/uapi/rtgt.h"

/**
 * struct rtgt_hello - a REQ's private data, decoded
 * @plain: no magic: the peer does not speak rtgt
 * @features: what it asked for
 */
struct rtgt_hello {
	bool plain;
	u32 features;
};

/**
 * struct rtgt_welcome - what a REP says
 * @features: RTGT_F_*
 * @recv_size: bytes of the largest SEND
 * @conn_id: number of the connection
 * @recv_depth: SENDs at a time
 * @nr: regions, 1 to RTGT_MAX_REGIONS
 * @region: their capabilities, in host order
 */
struct rtgt_welcome {
	u32 features;
	u32 recv_size;
	u32 conn_id;
	u16 recv_depth;
	u16 nr;
	struct {
		u64 addr;
		u64 len;
		u32 rkey;
		u32 access;
	} region[RTGT_MAX_REGIONS];
};

/**
 * struct rtgt_request - a request message, decoded
 * @op: enum rtgt_op
 * @tag: to return; 0 where the message was too short to hold one
 * @len: bytes of the body
 * @region: which region; CHECKSUM, PULL, PUSH, REVOKE, EXTENTS
 * @offset: first byte; CHECKSUM, PULL, PUSH.  First extent; EXTENTS
 * @count: bytes; CHECKSUM, PULL, PUSH.  Extents at most; EXTENTS
 * @addr: of the initiator's memory; PULL, PUSH
 * @rkey: likewise
 * @ms: WITHHOLD
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

int rtgt_decode_req(const void *buf, size_t len, struct rtgt_hello *hello, u32 *arg);
int rtgt_decode_rej(const void *buf, size_t len, u32 *reason, u32 *arg);
size_t rtgt_encode_rej(void *buf, size_t size, u32 reason, u32 arg);
size_t rtgt_encode_rep(void *buf, size_t size, const struct rtgt_welcome *welcome);
void rtgt_encode_region(void *buf, u64 addr, u32 rkey, u64 len, u32 access);
void rtgt_encode_extents(void *buf, u64 size, u32 total, u32 nr);
void rtgt_encode_extent(void *buf, u32 i, u64 addr, u32 rkey, u64 len);
u32 rtgt_decode_msg(const void *buf, size_t len, struct rtgt_request *rq);
void rtgt_encode_reply(void *buf, const struct rtgt_request *rq, u32 status, u32 len, u32 arg);
bool rtgt_range_ok(u64 offset, u64 len, u64 size);
const char *rtgt_rej_name(u32 reason);
const char *rtgt_status_name(u32 status);

/* proto_client.c, in the kernel only */
void rtgt_encode_req(struct rtgt_req *req);
int rtgt_decode_rep(const void *buf, size_t len, struct rtgt_welcome *welcome);
void rtgt_encode_msg(void *buf, u32 op, u32 tag, u32 len);
void rtgt_encode_range(void *buf, u32 region, u64 offset, u64 len);
int rtgt_decode_reply(const void *buf, size_t len, u32 op, u32 body, u32 *tag);

#endif /* _RTGT_PROTO_H */
