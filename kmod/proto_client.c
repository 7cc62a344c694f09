// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The wire as the kernel's own initiator needs it: proto.c the other way round.
 *
 * Pure like proto.c: what a target sent is judged by its length first, and nothing
 * beyond that is read.
 */
#include <linux/kernel.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "proto.h"

/**
 * rtgt_encode_req() - write the private data of a CM REQ
 * @req: where to
 */
void rtgt_encode_req(struct rtgt_req *req)
{
	*req = (struct rtgt_req){
		.magic = cpu_to_be32(RTGT_MAGIC),
		.version = cpu_to_be16(RTGT_VERSION),
		.size = cpu_to_be16(sizeof(*req)),
	};
}

static void decode_region(const struct rtgt_cap *cap, __be32 access, struct rtgt_welcome *welcome)
{
	unsigned int i = welcome->nr++;

	welcome->region[i].addr = be64_to_cpu(cap->addr);
	welcome->region[i].rkey = be32_to_cpu(cap->rkey);
	welcome->region[i].len = be64_to_cpu(cap->len);
	welcome->region[i].access = be32_to_cpu(access);
}

/**
 * rtgt_decode_rep() - read the private data of a CM REP
 * @buf: the data; may be NULL when @len is 0
 * @len: bytes
 * @welcome: filled in
 *
 * Return: 0, or -1 if it does not come from an rtgt that can be understood.
 */
int rtgt_decode_rep(const void *buf, size_t len, struct rtgt_welcome *welcome)
{
	const struct rtgt_rep *rep = buf;
	size_t size;
	u32 nr, i;

	memset(welcome, 0, sizeof(*welcome));
	if (len < offsetof(struct rtgt_rep, more) || be32_to_cpu(rep->magic) != RTGT_MAGIC ||
	    be16_to_cpu(rep->version) != RTGT_VERSION)
		return -1;
	size = be16_to_cpu(rep->size);
	nr = be16_to_cpu(rep->nr_regions);
	if (size < offsetof(struct rtgt_rep, more) || size > len || nr > RTGT_MAX_REGIONS ||
	    (nr && size < offsetof(struct rtgt_rep, more) + (nr - 1) * sizeof(rep->more[0])))
		return -1;
	welcome->features = be32_to_cpu(rep->features);
	welcome->recv_size = be32_to_cpu(rep->recv_size);
	welcome->recv_depth = be16_to_cpu(rep->recv_depth);
	welcome->conn_id = be32_to_cpu(rep->conn_id);
	if (nr)
		decode_region(&rep->cap, rep->access, welcome);
	for (i = 1; i < nr; i++)
		decode_region(&rep->more[i - 1].cap, rep->more[i - 1].access, welcome);
	return 0;
}

/**
 * rtgt_encode_msg() - write the head of a request
 * @buf: at least sizeof(struct rtgt_msg) bytes
 * @op: enum rtgt_op
 * @tag: comes back in the reply
 * @len: bytes of the body, which the caller puts behind the head
 */
void rtgt_encode_msg(void *buf, u32 op, u32 tag, u32 len)
{
	*(struct rtgt_msg *)buf = (struct rtgt_msg){
		.version = RTGT_VERSION,
		.op = op,
		.tag = cpu_to_be32(tag),
		.len = cpu_to_be32(len),
	};
}

/**
 * rtgt_encode_range() - write the body of a CHECKSUM
 * @buf: sizeof(struct rtgt_range) bytes
 * @region: index of the region
 * @offset: first byte
 * @len: bytes
 */
void rtgt_encode_range(void *buf, u32 region, u64 offset, u64 len)
{
	*(struct rtgt_range *)buf = (struct rtgt_range){
		.region = cpu_to_be32(region),
		.offset = cpu_to_be64(offset),
		.len = cpu_to_be64(len),
	};
}

/**
 * rtgt_decode_reply() - judge an answer
 * @buf: what arrived
 * @len: bytes of it
 * @op: what was asked for
 * @body: bytes its body must have at least
 * @tag: of the request
 *
 * Return: its enum rtgt_status; -1 if it is no answer to such a request.
 */
int rtgt_decode_reply(const void *buf, size_t len, u32 op, u32 body, u32 *tag)
{
	const struct rtgt_msg *msg = buf;
	u32 status;

	if (len < sizeof(*msg) || msg->version != RTGT_VERSION ||
	    msg->op != (op | RTGT_MSG_REPLY) || be32_to_cpu(msg->len) != len - sizeof(*msg))
		return -1;
	*tag = be32_to_cpu(msg->tag);
	status = be16_to_cpu(msg->status);
	return status == RTGT_OK && len - sizeof(*msg) < body ? -1 : status;
}
