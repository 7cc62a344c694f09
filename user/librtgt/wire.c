// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * kmod/proto/proto_client.c decodes what a target sent; this file puts into words why it cannot be
 * used, and what a status or a reject means.
 *
 * Pure functions: no verbs, no allocation, no input or output.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rtgt/wire.h>

/**
 * rtgt_wire_rep() - understand the private data of a REP
 * @rep: filled; see rtgt_decode_rep()
 * @data: the private data as it came; may be NULL when @len is 0
 * @len: bytes of @data
 * @err: says what is wrong
 *
 * Return: 0, or -EPROTO.
 */
int rtgt_wire_rep(struct rtgt_rep_info *rep, const void *data, size_t len, struct rtgt_err *err)
{
	switch (rtgt_decode_rep(data, len, rep)) {
	case RTGT_FITS:
		return 0;
	case RTGT_MISFIT_VERSION:
		return rtgt_fail(err, EPROTO,
				 "the target speaks version %u of the protocol, this tool %u: update the older one",
				 rep->version, RTGT_VERSION);
	case RTGT_MISFIT_NO_CAP:
		return rtgt_fail(err, EPROTO,
				 "the server gave no capability in its REP: it is neither an rtgt target nor a server that sends { be64 addr, be32 rkey, be64 len }");
	default:
		return rtgt_fail(err, EPROTO,
				 "the target's REP is malformed: its size or its number of regions does not match its %zu bytes",
				 len);
	}
}

/**
 * rtgt_wire_rej() - understand the private data of a REJ
 * @refusal: filled; not typed when the bytes are not ours
 * @data: the private data as it came; may be NULL when @len is 0
 * @len: bytes of @data
 */
void rtgt_wire_rej(struct rtgt_refusal *refusal, const void *data, size_t len)
{
	uint32_t reason, arg;

	memset(refusal, 0, sizeof(*refusal));
	if (rtgt_decode_rej(data, len, &reason, &arg))
		return;
	refusal->typed = true;
	refusal->reason = (uint16_t)reason;
	refusal->arg = arg;
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
	const struct rtgt_msg *msg = data;

	switch (rtgt_decode_reply(data, len, reply)) {
	case RTGT_FITS:
		return 0;
	case RTGT_MISFIT_SIZE:
		return rtgt_fail(err, EPROTO,
				 "the target's reply has %zu bytes, a header has %zu", len,
				 sizeof(*msg));
	case RTGT_MISFIT_BODY:
		return rtgt_fail(err, EPROTO,
				 "the body of the reply to op %u is too short (%u bytes)",
				 reply->op, reply->len);
	default:
		return rtgt_fail(err, EPROTO,
				 "not a reply: version %u, op 0x%02x, %zu bytes behind the header",
				 msg->version, msg->op, len - sizeof(*msg));
	}
}

/**
 * rtgt_wire_match() - is a reply the one to a request, and does it report success?
 * @reply: from rtgt_wire_reply()
 * @op: of the request
 * @tag: of the request
 * @arg: immediate that came with the request; 0 if none did
 * @err: says what is wrong
 *
 * Everything in the header is compared.  The length of the body is the caller's to compare: it
 * depends on the request.
 *
 * Return: 0, or -EPROTO.
 */
int rtgt_wire_match(const struct rtgt_reply *reply, enum rtgt_op op, uint32_t tag, uint32_t arg,
		    struct rtgt_err *err)
{
	if (reply->status != RTGT_OK) {
		rtgt_fail(err, EPROTO, "the target refused request %u: %s (status %u)", op,
			  rtgt_status_str(reply->status), reply->status);
		err->target_status = reply->status;
		return -EPROTO;
	}
	if (reply->op != op)
		return rtgt_fail(err, EPROTO, "the target answered op %u, not %u", reply->op, op);
	if (reply->tag != tag)
		return rtgt_fail(err, EPROTO, "the reply's tag is %u, the request's was %u",
				 reply->tag, tag);
	if (reply->arg != arg)
		return rtgt_fail(err, EPROTO, "the target got immediate 0x%08x, 0x%08x was sent",
				 reply->arg, arg);
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
	case RTGT_ST_ABSENT:
		return "others did not come in time";
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
				"its bound of %u connections is reached, of all, of one address or half-open: wait, or raise max_conns, peer_conns_max or backlog there",
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
	case RTGT_REJ_ASK:
		return snprintf(buf, size,
				"over iWARP the capability comes with the reply to an EXTENTS request, which a client that sends no rtgt private data cannot make: use rtgt serve as the target, or librtgt as the client");
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
