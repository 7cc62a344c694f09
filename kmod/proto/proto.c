// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Decode and encode the structures of include/uapi/rtgt.h.
 *
 * Every function is pure.  It reads no byte beyond the given length, whatever the bytes contain,
 * and needs no alignment, because the structures are packed.  Invalid bytes get a rtgt_rej_reason
 * or a rtgt_status and not an errno, because it is sent to the peer.  The file also builds in user
 * space, where it is tested and fuzzed.
 */
#ifdef __KERNEL__
#include <linux/kernel.h>
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/string.h>
#else
#include <assert.h>
#include <stddef.h>
#include <string.h>
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#endif
#include <asm/byteorder.h>

#include "proto.h"
#include "types.h"

/* The private data of RoCE has these sizes; a longer structure would be truncated */
static_assert(sizeof(struct rtgt_cap) == 20);
static_assert(sizeof(struct rtgt_req) == 16);
static_assert(sizeof(struct rtgt_req) <= RTGT_REQ_MAX);
static_assert(sizeof(struct rtgt_rep) == 172);
static_assert(sizeof(struct rtgt_rep) <= RTGT_REP_MAX);
static_assert(offsetof(struct rtgt_rep, more) <= RTGT_REP_UD_MAX);
static_assert(sizeof(struct rtgt_rej) == 16);
static_assert(sizeof(struct rtgt_rej) <= RTGT_REJ_MAX);
static_assert(sizeof(struct rtgt_msg) == 16);
static_assert(sizeof(struct rtgt_range) == 24);
static_assert(sizeof(struct rtgt_crc) == 16);
static_assert(sizeof(struct rtgt_imm_ack) == 4);
static_assert(sizeof(struct rtgt_region) == 24);
static_assert(sizeof(struct rtgt_xfer) == 32);
static_assert(sizeof(struct rtgt_withhold) == 4);
static_assert(sizeof(struct rtgt_extents_query) == 16);
static_assert(sizeof(struct rtgt_extents) == 16);

/**
 * rtgt_decode_req() - validate and decode the private data of a CM REQ
 * @buf: the data; may be NULL when @len is 0
 * @len: bytes.  RoCE always delivers RTGT_REQ_MAX, iWARP what was sent
 * @info: filled in when 0 is returned
 * @arg: argument for the REJ, when not 0 is returned
 * Return: 0, or the rtgt_rej_reason to reject with.
 */
int rtgt_decode_req(const void *buf, size_t len, struct rtgt_req_info *info, u32 *arg)
{
	const struct rtgt_req *req = buf;
	size_t size;

	memset(info, 0, sizeof(*info));
	if (len < sizeof(req->magic) || __be32_to_cpu(req->magic) != RTGT_MAGIC) {
		info->plain = true;
		return 0;
	}

	*arg = sizeof(*req);
	if (len < sizeof(*req))
		return RTGT_REJ_SIZE;
	if (__be16_to_cpu(req->version) != RTGT_VERSION) {
		*arg = RTGT_VERSION;
		return RTGT_REJ_VERSION;
	}
	size = __be16_to_cpu(req->size);
	if (size < sizeof(*req) || size > len)
		return RTGT_REJ_SIZE;

	info->features = __be32_to_cpu(req->features);
	return 0;
}

/**
 * rtgt_encode_rej() - write the private data of a CM REJ
 * @buf: buffer
 * @size: bytes of the buffer
 * @reason: enum rtgt_rej_reason
 * @arg: argument of the reason
 * Return: number of bytes written, 0 if the buffer is too small.
 */
size_t rtgt_encode_rej(void *buf, size_t size, u32 reason, u32 arg)
{
	struct rtgt_rej rej = {
		.magic = __cpu_to_be32(RTGT_MAGIC),
		.version = __cpu_to_be16(RTGT_VERSION),
		.size = __cpu_to_be16(sizeof(rej)),
		.reason = __cpu_to_be16(reason),
		.arg = __cpu_to_be32(arg),
	};

	if (size < sizeof(rej))
		return 0;
	memcpy(buf, &rej, sizeof(rej));
	return sizeof(rej);
}

/**
 * rtgt_decode_rej() - read the private data of a CM REJ
 * @buf: the data; may be NULL when @len is 0
 * @len: bytes
 * @reason: set to an enum rtgt_rej_reason, or to a number that this version does not know
 * @arg: set to the argument of the reason
 * Return: 0, or -1 if the reject does not come from rtgt.
 */
int rtgt_decode_rej(const void *buf, size_t len, u32 *reason, u32 *arg)
{
	const struct rtgt_rej *rej = buf;

	if (len < sizeof(*rej) || __be32_to_cpu(rej->magic) != RTGT_MAGIC ||
	    __be16_to_cpu(rej->size) < sizeof(*rej))
		return -1;
	*reason = __be16_to_cpu(rej->reason);
	*arg = __be32_to_cpu(rej->arg);
	return 0;
}

static void encode_cap(struct rtgt_cap *cap, u64 addr, u32 rkey, u64 len)
{
	cap->addr = __cpu_to_be64(addr);
	cap->rkey = __cpu_to_be32(rkey);
	cap->len = __cpu_to_be64(len);
}

/**
 * rtgt_encode_region() - write a capability and its access
 * @buf: sizeof(struct rtgt_region) bytes
 * @addr: of struct rtgt_cap
 * @rkey: of struct rtgt_cap
 * @len: of struct rtgt_cap
 * @access: RTGT_ACCESS_*
 */
void rtgt_encode_region(void *buf, u64 addr, u32 rkey, u64 len, u32 access)
{
	struct rtgt_region *region = buf;

	encode_cap(&region->cap, addr, rkey, len);
	region->access = __cpu_to_be32(access);
}

/**
 * rtgt_encode_extents() - write the header of a list of extents
 * @buf: sizeof(struct rtgt_extents) bytes, and space for the list after them
 * @size: bytes of the region
 * @total: number of extents of the region
 * @nr: number of extents in the list
 */
void rtgt_encode_extents(void *buf, u64 size, u32 total, u32 nr)
{
	struct rtgt_extents *extents = buf;

	extents->size = __cpu_to_be64(size);
	extents->total = __cpu_to_be32(total);
	extents->nr = __cpu_to_be32(nr);
}

/**
 * rtgt_encode_extent() - write an entry of a list of extents
 * @buf: buffer, as in rtgt_encode_extents()
 * @i: index in the list
 * @addr: of struct rtgt_cap
 * @rkey: of struct rtgt_cap
 * @len: of struct rtgt_cap
 */
void rtgt_encode_extent(void *buf, u32 i, u64 addr, u32 rkey, u64 len)
{
	struct rtgt_extents *extents = buf;

	encode_cap(&extents->cap[i], addr, rkey, len);
}

/**
 * rtgt_encode_rep() - write the private data of a CM REP
 * @buf: buffer
 * @size: bytes of the buffer: it must hold struct rtgt_rep, of which rtgt_rep.more is only
 *	  needed if there is more than one region
 * @info: contents; without a region the capability is all zero
 * Return: number of bytes written; 0 if the buffer is too small or there are more regions than
 * the REP can hold.
 */
size_t rtgt_encode_rep(void *buf, size_t size, const struct rtgt_rep_info *info)
{
	struct rtgt_rep rep = {
		.magic = __cpu_to_be32(RTGT_MAGIC),
		.version = __cpu_to_be16(RTGT_VERSION),
		.features = __cpu_to_be32(info->features),
		.nr_regions = __cpu_to_be16(info->nr),
		.recv_depth = __cpu_to_be16(info->recv_depth),
		.recv_size = __cpu_to_be32(info->recv_size),
		.conn_id = __cpu_to_be32(info->conn_id),
	};
	size_t len = sizeof(rep);
	unsigned int i;

	if (info->nr <= 1 && size < len)
		len = offsetof(struct rtgt_rep, more);
	if (size < len || info->nr > RTGT_MAX_REGIONS)
		return 0;

	rep.size = __cpu_to_be16(len);
	if (info->nr) {
		rep.access = __cpu_to_be32(info->region[0].access);
		encode_cap(&rep.cap, info->region[0].addr, info->region[0].rkey,
			   info->region[0].len);
	}
	for (i = 1; i < info->nr; i++)
		rtgt_encode_region(&rep.more[i - 1], info->region[i].addr, info->region[i].rkey,
				   info->region[i].len, info->region[i].access);
	memcpy(buf, &rep, len);
	return len;
}

/* The minimum size of the body of each request, in bytes */
static const size_t body_size[] = {
	[RTGT_MSG_CHECKSUM] = sizeof(struct rtgt_range),
	[RTGT_MSG_PULL] = sizeof(struct rtgt_xfer),
	[RTGT_MSG_PUSH] = sizeof(struct rtgt_xfer),
	[RTGT_MSG_REVOKE] = sizeof(struct rtgt_range),
	[RTGT_MSG_WITHHOLD] = sizeof(struct rtgt_withhold),
	[RTGT_MSG_DISCONNECT] = 0,
	[RTGT_MSG_EXTENTS] = sizeof(struct rtgt_extents_query),
};

static_assert(ARRAY_SIZE(body_size) == RTGT_MSG_NR);

/**
 * rtgt_decode_msg() - validate and decode the message of a SEND
 * @buf: the message
 * @len: its bytes
 * @rq: filled in as far as the message allows, so that a reply with an error can have its tag
 * Return: RTGT_OK, or the rtgt_status for the reply.
 */
u32 rtgt_decode_msg(const void *buf, size_t len, struct rtgt_request *rq)
{
	const struct rtgt_msg *msg = buf;
	const struct rtgt_extents_query *query = (const void *)(msg + 1);
	const struct rtgt_withhold *withhold = (const void *)(msg + 1);
	const struct rtgt_range *range = (const void *)(msg + 1);
	const struct rtgt_xfer *xfer = (const void *)(msg + 1);

	memset(rq, 0, sizeof(*rq));
	if (len < sizeof(*msg))
		return RTGT_ST_LENGTH;

	rq->op = msg->op;
	rq->tag = __be32_to_cpu(msg->tag);
	rq->len = __be32_to_cpu(msg->len);

	if (msg->version != RTGT_VERSION)
		return RTGT_ST_VERSION;
	if (rq->len != len - sizeof(*msg))
		return RTGT_ST_LENGTH;

	if (!rq->op || rq->op == RTGT_MSG_IMM || rq->op >= ARRAY_SIZE(body_size))
		return RTGT_ST_OP;
	if (rq->len < body_size[rq->op])
		return RTGT_ST_LENGTH;

	switch (rq->op) {
	case RTGT_MSG_CHECKSUM:
	case RTGT_MSG_REVOKE:
		rq->region = __be32_to_cpu(range->region);
		rq->offset = __be64_to_cpu(range->offset);
		rq->count = __be64_to_cpu(range->len);
		break;
	case RTGT_MSG_PULL:
	case RTGT_MSG_PUSH:
		rq->region = __be32_to_cpu(xfer->region);
		rq->rkey = __be32_to_cpu(xfer->rkey);
		rq->offset = __be64_to_cpu(xfer->offset);
		rq->count = __be64_to_cpu(xfer->len);
		rq->addr = __be64_to_cpu(xfer->addr);
		break;
	case RTGT_MSG_EXTENTS:
		rq->region = __be32_to_cpu(query->region);
		rq->offset = __be32_to_cpu(query->first);
		rq->count = __be32_to_cpu(query->max);
		break;
	case RTGT_MSG_WITHHOLD:
		rq->ms = __be32_to_cpu(withhold->ms);
		if (rq->ms > RTGT_WITHHOLD_MAX_MS)
			return RTGT_ST_LIMIT;
		break;
	}
	return RTGT_OK;
}

/**
 * rtgt_encode_reply() - write the header of a reply over the header of its request
 * @buf: at least sizeof(struct rtgt_msg) bytes; the body after them is not changed
 * @rq: the request
 * @status: enum rtgt_status
 * @len: bytes of the body
 * @arg: the immediate of the request, or 0
 */
void rtgt_encode_reply(void *buf, const struct rtgt_request *rq, u32 status, u32 len, u32 arg)
{
	struct rtgt_msg *msg = buf;

	msg->version = RTGT_VERSION;
	msg->op = rq->op | RTGT_MSG_REPLY;
	msg->status = __cpu_to_be16(status);
	msg->tag = __cpu_to_be32(rq->tag);
	msg->len = __cpu_to_be32(len);
	msg->arg = __cpu_to_be32(arg);
}

/**
 * rtgt_range_ok() - check that a range is inside a region
 * @offset: first byte
 * @len: bytes; an empty range may begin at the end of the region
 * @size: bytes of the region
 *
 * Computes no sum, so nothing can wrap.
 * Return: true if it is.
 */
bool rtgt_range_ok(u64 offset, u64 len, u64 size)
{
	return offset <= size && len <= size - offset;
}

/**
 * rtgt_rej_name() - return the name of a reason
 * @reason: enum rtgt_rej_reason
 * Return: a constant string, "unknown" for any other number.
 */
const char *rtgt_rej_name(u32 reason)
{
	static const char *const names[] = {
		[RTGT_REJ_VERSION] = "version",
		[RTGT_REJ_SIZE] = "size",
		[RTGT_REJ_FULL] = "full",
		[RTGT_REJ_RESOURCES] = "resources",
		[RTGT_REJ_DEVICE] = "device",
		[RTGT_REJ_STOPPING] = "stopping",
		[RTGT_REJ_ASK] = "ask",
	};

	if (reason >= ARRAY_SIZE(names) || !names[reason])
		return "unknown";
	return names[reason];
}

/**
 * rtgt_status_name() - return the name of a status
 * @status: enum rtgt_status
 * Return: a constant string, "unknown" for any other number.
 */
const char *rtgt_status_name(u32 status)
{
	static const char *const names[] = {
		[RTGT_OK] = "ok",
		[RTGT_ST_VERSION] = "version",
		[RTGT_ST_OP] = "op",
		[RTGT_ST_LENGTH] = "length",
		[RTGT_ST_REGION] = "region",
		[RTGT_ST_RANGE] = "range",
		[RTGT_ST_SHARED] = "shared",
		[RTGT_ST_DEPTH] = "depth",
		[RTGT_ST_LIMIT] = "limit",
		[RTGT_ST_FAILED] = "failed",
		[RTGT_ST_ACCESS] = "access",
		[RTGT_ST_ABSENT] = "absent",
	};

	if (status >= ARRAY_SIZE(names))
		return "unknown";
	return names[status];
}
