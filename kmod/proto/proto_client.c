// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The initiator's half of the protocol: what a client encodes and decodes.  proto.c is
 * the target's half.
 *
 * Every function is pure.  The bytes of a target are not trusted: a function checks a length
 * before it reads the bytes that the length counts.  The result for bytes that cannot be used
 * is an enum rtgt_misfit.  The file also builds in user space, where rtgt and the library use it.
 */
#ifdef __KERNEL__
#include <linux/stddef.h>
#include <linux/string.h>
#else
#include <stddef.h>
#include <string.h>
#endif
#include <asm/byteorder.h>

#include "proto.h"
#include "types.h"

/* Bytes that the server of the founding walkthrough sends: an address and an rkey */
#define CAP_MIN		offsetof(struct rtgt_cap, len)

/* Bytes of that server's memory, and the length that is assumed if a target sends none */
#define PLAIN_LEN	4096

/**
 * rtgt_encode_req() - write the private data of a CM REQ
 * @req: filled in
 */
void rtgt_encode_req(struct rtgt_req *req)
{
	*req = (struct rtgt_req){
		.magic = __cpu_to_be32(RTGT_MAGIC),
		.version = __cpu_to_be16(RTGT_VERSION),
		.size = __cpu_to_be16(sizeof(*req)),
	};
}

static struct rtgt_region_info decode_cap(const struct rtgt_cap *cap, u32 access)
{
	return (struct rtgt_region_info){
		.addr = __be64_to_cpu(cap->addr),
		.len = __be64_to_cpu(cap->len),
		.rkey = __be32_to_cpu(cap->rkey),
		.access = access,
	};
}

static enum rtgt_misfit decode_rtgt_rep(const struct rtgt_rep *rep, size_t len,
					struct rtgt_rep_info *info)
{
	size_t size = __be16_to_cpu(rep->size), need = offsetof(struct rtgt_rep, more);
	u16 nr = __be16_to_cpu(rep->nr_regions), i;

	info->version = __be16_to_cpu(rep->version);
	if (info->version != RTGT_VERSION)
		return RTGT_MISFIT_VERSION;
	if (nr > 1)
		need += (nr - 1) * sizeof(rep->more[0]);
	if (nr > RTGT_MAX_REGIONS || size > len || size < need)
		return RTGT_MISFIT_SIZE;

	info->rtgt = true;
	info->features = __be32_to_cpu(rep->features);
	info->recv_depth = __be16_to_cpu(rep->recv_depth);
	info->recv_size = __be32_to_cpu(rep->recv_size);
	info->conn_id = __be32_to_cpu(rep->conn_id);
	info->nr = nr;
	if (nr)
		info->region[0] = decode_cap(&rep->cap, __be32_to_cpu(rep->access));
	for (i = 1; i < nr; i++)
		info->region[i] = decode_cap(&rep->more[i - 1].cap,
					     __be32_to_cpu(rep->more[i - 1].access));
	return RTGT_FITS;
}

/**
 * rtgt_decode_rep() - read the private data of a CM REP
 * @buf: the data; may be NULL when @len is 0
 * @len: bytes; on RoCE always RTGT_REP_MAX, padded with zeros
 * @info: filled in
 *
 * Three layouts are accepted: struct rtgt_rep; address, rkey and length; address and
 * rkey alone, as the founding walkthrough's server sends.
 * Return: RTGT_FITS, RTGT_MISFIT_VERSION, RTGT_MISFIT_SIZE or RTGT_MISFIT_NO_CAP.
 */
enum rtgt_misfit rtgt_decode_rep(const void *buf, size_t len, struct rtgt_rep_info *info)
{
	size_t have = len < sizeof(struct rtgt_rep) ? len : sizeof(struct rtgt_rep);
	struct rtgt_rep rep;

	memset(info, 0, sizeof(*info));
	memset(&rep, 0, sizeof(rep));
	/* ignore a length of which only some bytes arrived */
	if (len < sizeof(rep.cap))
		have = len < CAP_MIN ? 0 : CAP_MIN;
	if (have)
		memcpy(&rep, buf, have);
	/* one that ends too early is not a plain server's: nothing would be verified */
	if (rep.magic == __cpu_to_be32(RTGT_MAGIC))
		return len < offsetof(struct rtgt_rep, more) ? RTGT_MISFIT_SIZE :
							       decode_rtgt_rep(&rep, len, info);

	if (!rep.cap.addr && !rep.cap.rkey)
		return RTGT_MISFIT_NO_CAP;
	info->nr = 1;
	info->region[0] = decode_cap(&rep.cap, RTGT_ACCESS_READ | RTGT_ACCESS_WRITE);
	return RTGT_FITS;
}

/**
 * rtgt_region_len() - return the number of bytes of a region that can be used
 * @region: from rtgt_decode_rep()
 * @want: number of bytes that the user requested
 *
 * If the target did not send the length, @want is used; the target's device rejects accesses
 * beyond the region.
 * Return: bytes.
 */
u64 rtgt_region_len(const struct rtgt_region_info *region, u64 want)
{
	if (region->len)
		return region->len;
	return want > PLAIN_LEN ? want : PLAIN_LEN;
}

/**
 * rtgt_encode_msg() - write the header of a request
 * @buf: at least sizeof(struct rtgt_msg) bytes
 * @op: enum rtgt_op
 * @tag: comes back in the reply
 * @len: bytes of the body, which the caller writes after the header
 */
void rtgt_encode_msg(void *buf, u32 op, u32 tag, u32 len)
{
	*(struct rtgt_msg *)buf = (struct rtgt_msg){
		.version = RTGT_VERSION,
		.op = (__u8)op,
		.tag = __cpu_to_be32(tag),
		.len = __cpu_to_be32(len),
	};
}

/**
 * rtgt_encode_range() - write the body of RTGT_MSG_CHECKSUM and RTGT_MSG_REVOKE
 * @buf: sizeof(struct rtgt_range) bytes
 * @region: index, as in struct rtgt_rep_info
 * @offset: first byte, counted from the region's beginning
 * @len: bytes
 */
void rtgt_encode_range(void *buf, u32 region, u64 offset, u64 len)
{
	*(struct rtgt_range *)buf = (struct rtgt_range){
		.region = __cpu_to_be32(region),
		.offset = __cpu_to_be64(offset),
		.len = __cpu_to_be64(len),
	};
}

/**
 * rtgt_encode_xfer() - write the body of RTGT_MSG_PULL and RTGT_MSG_PUSH
 * @buf: sizeof(struct rtgt_xfer) bytes
 * @region: index, as in struct rtgt_rep_info
 * @offset: first byte, counted from the region's beginning
 * @len: bytes
 * @addr: of the initiator's memory
 * @rkey: of the initiator's memory
 */
void rtgt_encode_xfer(void *buf, u32 region, u64 offset, u64 len, u64 addr, u32 rkey)
{
	*(struct rtgt_xfer *)buf = (struct rtgt_xfer){
		.region = __cpu_to_be32(region),
		.rkey = __cpu_to_be32(rkey),
		.offset = __cpu_to_be64(offset),
		.len = __cpu_to_be64(len),
		.addr = __cpu_to_be64(addr),
	};
}

/**
 * rtgt_encode_query() - write the body of RTGT_MSG_EXTENTS
 * @buf: sizeof(struct rtgt_extents_query) bytes
 * @region: index, as in struct rtgt_rep_info
 * @first: first extent wanted
 * @max: number of extents that fit into the buffer for the reply
 */
void rtgt_encode_query(void *buf, u32 region, u32 first, u32 max)
{
	*(struct rtgt_extents_query *)buf = (struct rtgt_extents_query){
		.region = __cpu_to_be32(region),
		.first = __cpu_to_be32(first),
		.max = __cpu_to_be32(max),
	};
}

static enum rtgt_misfit decode_extents(struct rtgt_reply *reply)
{
	const struct rtgt_extents *extents = reply->body;

	if (reply->len < sizeof(*extents))
		return RTGT_MISFIT_BODY;
	reply->size = __be64_to_cpu(extents->size);
	reply->total = __be32_to_cpu(extents->total);
	reply->nr = __be32_to_cpu(extents->nr);
	return reply->nr > (reply->len - sizeof(*extents)) / sizeof(struct rtgt_cap) ?
	       RTGT_MISFIT_BODY : RTGT_FITS;
}

static enum rtgt_misfit decode_body(struct rtgt_reply *reply)
{
	const struct rtgt_region *region = reply->body;
	const struct rtgt_imm_ack *ack = reply->body;
	const struct rtgt_crc *crc = reply->body;

	switch (reply->op) {
	case RTGT_MSG_CHECKSUM:
		if (reply->len < sizeof(*crc))
			return RTGT_MISFIT_BODY;
		reply->crc = __be32_to_cpu(crc->crc);
		reply->covered = __be64_to_cpu(crc->len);
		return RTGT_FITS;
	case RTGT_MSG_IMM:
		if (reply->len < sizeof(*ack))
			return RTGT_MISFIT_BODY;
		reply->covered = __be32_to_cpu(ack->byte_len);
		return RTGT_FITS;
	case RTGT_MSG_REVOKE:
		if (reply->len < sizeof(*region))
			return RTGT_MISFIT_BODY;
		reply->region = decode_cap(&region->cap, __be32_to_cpu(region->access));
		return RTGT_FITS;
	case RTGT_MSG_EXTENTS:
		return decode_extents(reply);
	default:
		return RTGT_FITS;
	}
}

/**
 * rtgt_decode_reply() - validate and decode a reply
 * @buf: the message
 * @len: its bytes
 * @reply: filled in; its body points into @buf
 *
 * A reply with a status other than RTGT_OK is a valid reply; its body is not read.  The
 * caller compares operation and tag with those of its requests.
 * Return: RTGT_FITS, RTGT_MISFIT_SIZE, RTGT_MISFIT_HEADER or RTGT_MISFIT_BODY.
 */
enum rtgt_misfit rtgt_decode_reply(const void *buf, size_t len, struct rtgt_reply *reply)
{
	const struct rtgt_msg *msg = buf;

	memset(reply, 0, sizeof(*reply));
	if (len < sizeof(*msg))
		return RTGT_MISFIT_SIZE;
	if (msg->version != RTGT_VERSION || !(msg->op & RTGT_MSG_REPLY) ||
	    __be32_to_cpu(msg->len) != len - sizeof(*msg))
		return RTGT_MISFIT_HEADER;
	reply->op = msg->op & ~RTGT_MSG_REPLY;
	reply->status = __be16_to_cpu(msg->status);
	reply->tag = __be32_to_cpu(msg->tag);
	reply->arg = __be32_to_cpu(msg->arg);
	reply->body = msg + 1;
	reply->len = __be32_to_cpu(msg->len);
	return reply->status == RTGT_OK ? decode_body(reply) : RTGT_FITS;
}

/**
 * rtgt_decode_extent() - read an entry of a list of extents
 * @reply: to RTGT_MSG_EXTENTS
 * @i: index in its list, below @reply->nr
 * @access: of the region
 * Return: the extent.
 */
struct rtgt_region_info rtgt_decode_extent(const struct rtgt_reply *reply, u32 i, u32 access)
{
	const struct rtgt_extents *extents = reply->body;

	return decode_cap(&extents->cap[i], access);
}
