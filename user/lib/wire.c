// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Between the wire's structures (kmod/include/uapi/rtgt.h, network order) and
 * an initiator's.
 *
 * Pure functions: no verbs, no allocation, no input or output.  What arrives is
 * not trusted: a length is checked before the bytes behind it are read.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "wire.h"

static_assert(sizeof(struct rtgt_cap) == 20, "the walkthrough's capability");
static_assert(sizeof(struct rtgt_req) <= RTGT_REQ_MAX, "fits a REQ");
static_assert(sizeof(struct rtgt_rep) <= RTGT_REP_MAX, "fits a REP");
static_assert(sizeof(struct rtgt_rej) <= RTGT_REJ_MAX, "fits a REJ");
static_assert(sizeof(struct rtgt_msg) == 16, "a message's header");

/* The walkthrough's server sends this much: an address and an rkey */
#define CAP_MIN		offsetof(struct rtgt_cap, len)

/**
 * rtgt_wire_req() - the private data an initiator puts into its REQ
 * @req: filled
 */
void rtgt_wire_req(struct rtgt_req *req)
{
	*req = (struct rtgt_req) {
		.magic = htobe32(RTGT_MAGIC),
		.version = htobe16(RTGT_VERSION),
		.size = htobe16(sizeof(*req)),
	};
}

static struct rtgt_mem decode_cap(const struct rtgt_cap *cap, __be32 access)
{
	return (struct rtgt_mem) {
		.addr = be64toh(cap->addr),
		.len = be64toh(cap->len),
		.rkey = be32toh(cap->rkey),
		.access = be32toh(access),
	};
}

static int decode_rtgt_rep(struct rtgt_peer *peer, const struct rtgt_rep *rep, size_t len,
			   struct rtgt_err *err)
{
	size_t size = be16toh(rep->size), need = offsetof(struct rtgt_rep, more);
	uint16_t n = be16toh(rep->nr_regions);

	peer->version = be16toh(rep->version);
	if (peer->version != RTGT_VERSION)
		return rtgt_fail(err, EPROTO,
				 "the target speaks version %u of the protocol, this tool %u: update the older one",
				 peer->version, RTGT_VERSION);
	if (n > RTGT_MAX_REGIONS)
		need = SIZE_MAX;
	else if (n > 1)
		need += (n - 1u) * sizeof(struct rtgt_region);
	if (size > len || size < need)
		return rtgt_fail(err, EPROTO,
				 "the target's REP is malformed (%u regions in %zu of %zu bytes)",
				 n, size, len);

	peer->rtgt = true;
	peer->features = be32toh(rep->features);
	peer->nr_regions = n;
	peer->recv_depth = be16toh(rep->recv_depth);
	peer->recv_size = be32toh(rep->recv_size);
	peer->conn_id = be32toh(rep->conn_id);
	if (n)
		peer->region[0] = decode_cap(&rep->cap, rep->access);
	for (unsigned int i = 1; i < n; i++)
		peer->region[i] = decode_cap(&rep->more[i - 1].cap, rep->more[i - 1].access);
	return 0;
}

/**
 * rtgt_wire_rep() - understand the private data of a REP
 * @peer: filled
 * @data: the private data as it came; may be NULL when @len is 0
 * @len: bytes of @data; on RoCE always RTGT_REP_MAX, padded with zeros
 * @err: says what is wrong
 *
 * Three layouts are taken: ours; address, rkey and length; address and rkey
 * alone, as the founding walkthrough's server sends.
 *
 * Return: 0, or -EPROTO.
 */
int rtgt_wire_rep(struct rtgt_peer *peer, const void *data, size_t len, struct rtgt_err *err)
{
	size_t have = len < sizeof(struct rtgt_rep) ? len : sizeof(struct rtgt_rep);
	struct rtgt_rep rep;

	memset(peer, 0, sizeof(*peer));
	memset(&rep, 0, sizeof(rep));
	/* a length of which only the first bytes came is none */
	if (len < sizeof(rep.cap))
		have = len < CAP_MIN ? 0 : CAP_MIN;
	if (have)
		memcpy(&rep, data, have);
	if (len >= offsetof(struct rtgt_rep, more) && rep.magic == htobe32(RTGT_MAGIC))
		return decode_rtgt_rep(peer, &rep, len, err);

	if (len < CAP_MIN || (!rep.cap.addr && !rep.cap.rkey))
		return rtgt_fail(err, EPROTO,
				 "the server gave no capability in its REP: it is neither an rtgt target nor a server that sends { be64 addr, be32 rkey, be64 len }");
	peer->nr_regions = 1;
	peer->region[0] = decode_cap(&rep.cap, htobe32(RTGT_ACCESS_READ | RTGT_ACCESS_WRITE));
	return 0;
}

/**
 * rtgt_wire_rej() - understand the private data of a REJ
 * @refusal: filled; not typed when the bytes are not ours
 * @data: the private data as it came; may be NULL when @len is 0
 * @len: bytes of @data
 */
void rtgt_wire_rej(struct rtgt_refusal *refusal, const void *data, size_t len)
{
	struct rtgt_rej rej;

	memset(refusal, 0, sizeof(*refusal));
	if (len < sizeof(rej))
		return;
	memcpy(&rej, data, sizeof(rej));
	if (rej.magic != htobe32(RTGT_MAGIC) || be16toh(rej.size) < sizeof(rej))
		return;
	refusal->typed = true;
	refusal->reason = be16toh(rej.reason);
	refusal->arg = be32toh(rej.arg);
}

/**
 * rtgt_wire_msg() - the head of a request
 * @msg: filled
 * @op: what is asked for
 * @tag: comes back in the reply
 * @len: bytes of the body behind it
 */
void rtgt_wire_msg(struct rtgt_msg *msg, enum rtgt_op op, uint32_t tag, uint32_t len)
{
	*msg = (struct rtgt_msg) {
		.version = RTGT_VERSION,
		.op = (__u8)op,
		.tag = htobe32(tag),
		.len = htobe32(len),
	};
}

/**
 * rtgt_wire_range() - the body of RTGT_MSG_CHECKSUM and RTGT_MSG_REVOKE
 * @range: filled
 * @region: index, as in struct rtgt_peer
 * @offset: first byte, counted from the region's beginning
 * @len: bytes
 */
void rtgt_wire_range(struct rtgt_range *range, uint32_t region, uint64_t offset, uint64_t len)
{
	*range = (struct rtgt_range) {
		.region = htobe32(region),
		.offset = htobe64(offset),
		.len = htobe64(len),
	};
}

/**
 * rtgt_wire_xfer() - the body of RTGT_MSG_PULL and RTGT_MSG_PUSH
 * @xfer: filled
 * @region: index, as in struct rtgt_peer
 * @offset: first byte, counted from the region's beginning
 * @len: bytes
 * @addr: of our memory
 * @rkey: of our memory
 */
void rtgt_wire_xfer(struct rtgt_xfer *xfer, uint32_t region, uint64_t offset, uint64_t len,
		    uint64_t addr, uint32_t rkey)
{
	*xfer = (struct rtgt_xfer) {
		.region = htobe32(region),
		.rkey = htobe32(rkey),
		.offset = htobe64(offset),
		.len = htobe64(len),
		.addr = htobe64(addr),
	};
}

/**
 * rtgt_wire_query() - the body of RTGT_MSG_EXTENTS
 * @query: filled
 * @region: index, as in struct rtgt_peer
 * @first: first extent wanted
 * @max: extents the reply's buffer has room for
 */
void rtgt_wire_query(struct rtgt_extents_query *query, uint32_t region, uint32_t first,
		     uint32_t max)
{
	*query = (struct rtgt_extents_query) {
		.region = htobe32(region),
		.first = htobe32(first),
		.max = htobe32(max),
	};
}

static int decode_extents(struct rtgt_reply *reply)
{
	struct rtgt_extents extents;

	if (reply->len < sizeof(extents))
		return -EPROTO;
	memcpy(&extents, reply->body, sizeof(extents));
	reply->size = be64toh(extents.size);
	reply->total = be32toh(extents.total);
	reply->nr = be32toh(extents.nr);
	return reply->nr > (reply->len - sizeof(extents)) / sizeof(struct rtgt_cap) ? -EPROTO : 0;
}

/**
 * rtgt_wire_extent() - an entry of a list of extents
 * @reply: to RTGT_MSG_EXTENTS
 * @i: place in its list, below @reply->nr
 * @access: of the region
 *
 * Return: the extent.
 */
struct rtgt_mem rtgt_wire_extent(const struct rtgt_reply *reply, uint32_t i, uint32_t access)
{
	struct rtgt_cap cap;

	memcpy(&cap, (const char *)reply->body + offsetof(struct rtgt_extents, cap) +
	       i * sizeof(cap), sizeof(cap));
	return decode_cap(&cap, htobe32(access));
}

static int decode_body(struct rtgt_reply *reply)
{
	struct rtgt_region region;
	struct rtgt_imm_ack ack;
	struct rtgt_crc crc;

	switch (reply->op) {
	case RTGT_MSG_ECHO:
		return 0;
	case RTGT_MSG_CHECKSUM:
		if (reply->len < sizeof(crc))
			return -EPROTO;
		memcpy(&crc, reply->body, sizeof(crc));
		reply->crc = be32toh(crc.crc);
		reply->covered = be64toh(crc.len);
		return 0;
	case RTGT_MSG_IMM:
		if (reply->len < sizeof(ack))
			return -EPROTO;
		memcpy(&ack, reply->body, sizeof(ack));
		reply->covered = be32toh(ack.byte_len);
		return 0;
	case RTGT_MSG_REVOKE:
		if (reply->len < sizeof(region))
			return -EPROTO;
		memcpy(&region, reply->body, sizeof(region));
		reply->mem = decode_cap(&region.cap, region.access);
		return 0;
	case RTGT_MSG_EXTENTS:
		return decode_extents(reply);
	default:
		return 0;
	}
}

/**
 * rtgt_wire_reply() - understand a reply
 * @reply: filled; its body points into @data
 * @data: the receive buffer
 * @len: bytes that arrived
 * @err: says what is wrong
 *
 * A reply with a status other than RTGT_OK is a valid reply.
 *
 * Return: 0, or -EPROTO.
 */
int rtgt_wire_reply(struct rtgt_reply *reply, const void *data, size_t len, struct rtgt_err *err)
{
	struct rtgt_msg msg;

	memset(reply, 0, sizeof(*reply));
	if (len < sizeof(msg))
		return rtgt_fail(err, EPROTO,
				 "the target's reply has %zu bytes, a header has %zu", len,
				 sizeof(msg));
	memcpy(&msg, data, sizeof(msg));
	if (msg.version != RTGT_VERSION || !(msg.op & RTGT_MSG_REPLY) ||
	    be32toh(msg.len) != len - sizeof(msg))
		return rtgt_fail(err, EPROTO,
				 "not a reply: version %u, op 0x%02x, %u bytes announced and %zu there",
				 msg.version, msg.op, be32toh(msg.len), len - sizeof(msg));
	reply->op = msg.op & (__u8)~RTGT_MSG_REPLY;
	reply->status = be16toh(msg.status);
	reply->tag = be32toh(msg.tag);
	reply->arg = be32toh(msg.arg);
	reply->body = (const char *)data + sizeof(msg);
	reply->len = be32toh(msg.len);
	if (reply->status == RTGT_OK && decode_body(reply))
		return rtgt_fail(err, EPROTO,
				 "the body of the reply to op %u is too short (%u bytes)",
				 reply->op, reply->len);
	return 0;
}

/**
 * rtgt_status_str() - a reply's status in words
 * @status: enum rtgt_status
 *
 * Return: a static string.
 */
const char *rtgt_status_str(uint16_t status)
{
	switch (status) {
	case RTGT_OK:
		return "done";
	case RTGT_ST_VERSION:
		return "the message's version is not served";
	case RTGT_ST_OP:
		return "unknown operation";
	case RTGT_ST_LENGTH:
		return "wrong length";
	case RTGT_ST_REGION:
		return "no such region";
	case RTGT_ST_RANGE:
		return "not inside the region, or no such extent";
	case RTGT_ST_SHARED:
		return "the region is shared with other connections";
	case RTGT_ST_DEPTH:
		return "the connection agreed on no READ towards us";
	case RTGT_ST_LIMIT:
		return "a value beyond what it takes";
	case RTGT_ST_FAILED:
		return "its device refused: see its dmesg";
	case RTGT_ST_ACCESS:
		return "the region's access does not allow it";
	default:
		return "unknown status";
	}
}

/**
 * rtgt_refusal_str() - a typed refusal in words
 * @refusal: from rtgt_wire_rej(), typed
 * @buf: where to
 * @size: bytes of @buf
 *
 * Return: as snprintf().
 */
int rtgt_refusal_str(const struct rtgt_refusal *refusal, char *buf, size_t size)
{
	switch (refusal->reason) {
	case RTGT_REJ_VERSION:
		return snprintf(buf, size,
				"it serves version %u of the protocol, not the one asked for: update the older side",
				refusal->arg);
	case RTGT_REJ_SIZE:
		return snprintf(buf, size,
				"the size in our REQ is not one it takes (at least %u bytes)",
				refusal->arg);
	case RTGT_REJ_FULL:
		return snprintf(buf, size,
				"all of the port's %u connections are in use: wait, or raise its max_conns",
				refusal->arg);
	case RTGT_REJ_RESOURCES:
		return snprintf(buf, size,
				"it ran out of resources (%s): smaller regions or fewer connections, see its dmesg",
				strerror((int)refusal->arg));
	case RTGT_REJ_DEVICE:
		return snprintf(buf, size,
				"its RDMA device lacks what the port needs: see its dmesg");
	case RTGT_REJ_STOPPING:
		return snprintf(buf, size,
				"the port is being disabled: enable it (rtgt port enable) and try again");
	default:
		return snprintf(buf, size, "reason %u, which this tool does not know",
				refusal->reason);
	}
}

/**
 * rtgt_access_str() - access bits as configfs writes them
 * @access: RTGT_ACCESS_*
 * @buf: where to
 * @size: bytes of @buf
 *
 * Return: as snprintf().
 */
int rtgt_access_str(uint32_t access, char *buf, size_t size)
{
	const char *read = access & RTGT_ACCESS_READ ? ",read" : "";
	const char *write = access & RTGT_ACCESS_WRITE ? ",write" : "";
	const char *atomic = access & RTGT_ACCESS_ATOMIC ? ",atomic" : "";
	const char *flush = access & RTGT_ACCESS_FLUSH ? ",flush" : "";
	char all[32];

	snprintf(all, sizeof(all), "%s%s%s%s", read, write, atomic, flush);
	return snprintf(buf, size, "%s", all[0] ? all + 1 : "none");
}
