/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The protocol of rtgt on the wire, for targets and initiators in the kernel and in user space.
 *
 * All structures are packed and in network byte order.  A structure grows at its end: "size" is
 * the number of bytes that the sender knows; a receiver reads the part that it knows, and
 * rejects a structure shorter than the part that it needs.  Documentation/protocol.rst explains
 * the layout.
 *
 *   CM REQ private data   struct rtgt_req   the version of the initiator
 *   CM REP private data   struct rtgt_rep   the capabilities
 *   CM REJ private data   struct rtgt_rej   the reason
 *   SEND messages         struct rtgt_msg   requests and replies
 *
 * The 32 bits of an immediate are an operation and an argument.
 */
#ifndef _UAPI_RTGT_H
#define _UAPI_RTGT_H

#include <linux/types.h>

#define RTGT_MAGIC		0x52544754	/* "RTGT" */
#define RTGT_VERSION		1
#define RTGT_PORT		7471		/* the port of the founding walkthrough */

/*
 * Bytes of private data in the CM messages of RoCE (InfiniBand Architecture Specification 1.4,
 * 12.6: 92 bytes in a REQ of which rdma_cm uses 36, 196 in a REP, 148 in a REJ).  The receiver
 * always gets the full length, padded with zeros.
 */
#define RTGT_REQ_MAX		56
#define RTGT_REP_MAX		196
#define RTGT_REJ_MAX		148
/* Bytes of private data in the reply to a datagram client (SIDR) */
#define RTGT_REP_UD_MAX		136

#define RTGT_PACKED		__attribute__((packed))

/*
 * Limits of the attributes of a port and a region, for the target in the kernel, for rtgt serve and
 * for the words of the tool.  They are plain numbers because the tool makes text of them.
 */
#define RTGT_CONNS_MAX		65536
#define RTGT_RECV_SIZE_MIN	64		/* bytes */
#define RTGT_RECV_SIZE_MAX	2097152
#define RTGT_RECV_DEPTH_MAX	4096
#define RTGT_IDLE_MAX_MS	86400000	/* a day */
#define RTGT_EXTENT_MAX_GIB	1		/* the largest MR */
#define RTGT_REGION_MAX_GIB	16

/**
 * struct rtgt_cap - capability: what an initiator needs to access a region
 * @addr: address for a work request; the target chooses this iova at random, so it reveals
 *	  nothing about the memory's address
 * @rkey: rkey for a work request
 * @len: number of bytes, from @addr on
 */
struct rtgt_cap {
	__be64 addr;
	__be32 rkey;
	__be64 len;
} RTGT_PACKED;

/* rtgt_rep.access and rtgt_region.access: the operations that the region allows */
#define RTGT_ACCESS_READ	(1U << 0)
#define RTGT_ACCESS_WRITE	(1U << 1)
#define RTGT_ACCESS_ATOMIC	(1U << 2)
#define RTGT_ACCESS_FLUSH	(1U << 3)
/*
 * Not an access: the region has several extents, and this capability covers only the first.
 * RTGT_MSG_EXTENTS returns the others.
 */
#define RTGT_ACCESS_MORE	(1U << 31)

/**
 * struct rtgt_req - CM REQ private data of an initiator
 * @magic: RTGT_MAGIC; with any other value the sender is a plain client, which is accepted
 * @version: RTGT_VERSION; any other version is rejected with RTGT_REJ_VERSION
 * @size: bytes of this structure that the sender knows, at least 16 and at most RTGT_REQ_MAX,
 *	  otherwise it is rejected with RTGT_REJ_SIZE
 * @features: reserved for features that an initiator requests; 0
 * @rsvd: 0
 */
struct rtgt_req {
	__be32 magic;
	__be16 version;
	__be16 size;
	__be32 features;
	__be32 rsvd;
} RTGT_PACKED;

/**
 * struct rtgt_region - a region other than the first one in the REP
 * @cap: its capability, or with RTGT_ACCESS_MORE the capability of its first extent
 * @access: RTGT_ACCESS_*
 */
struct rtgt_region {
	struct rtgt_cap cap;
	__be32 access;
} RTGT_PACKED;

#define RTGT_MORE_REGIONS	5
#define RTGT_MAX_REGIONS	(1 + RTGT_MORE_REGIONS)

/**
 * struct rtgt_rep - CM REP private data
 * @cap: capability of region 0, or with RTGT_ACCESS_MORE of its first extent.  It comes first,
 *	 for clients that know only address and rkey, or address, rkey and length
 * @magic: RTGT_MAGIC
 * @version: RTGT_VERSION
 * @size: bytes of this structure that the target knows; for a datagram client it ends
 *	  before @more
 * @features: RTGT_F_*
 * @access: RTGT_ACCESS_* of region 0
 * @nr_regions: number of regions of the port, region 0 included (1 to RTGT_MAX_REGIONS); for a
 *		datagram client 0, and @cap is 0, too
 * @recv_depth: number of receives for SENDs and immediates
 * @recv_size: maximum size of a SEND in bytes, header included
 * @conn_id: number of the connection in debugfs and in the trace of the target
 * @rsvd: 0
 * @more: regions 1 to @nr_regions - 1
 */
struct rtgt_rep {
	struct rtgt_cap cap;
	__be32 magic;
	__be16 version;
	__be16 size;
	__be32 features;
	__be32 access;
	__be16 nr_regions;
	__be16 recv_depth;
	__be32 recv_size;
	__be32 conn_id;
	__be32 rsvd;
	struct rtgt_region more[RTGT_MORE_REGIONS];
} RTGT_PACKED;

#define RTGT_F_PRIVATE		(1U << 0)	/* no other connection uses the regions */
/*
 * The REP holds the lengths and the access of the regions, but neither addresses nor rkeys: on
 * iWARP, memory is registered after the connection is established.  The client requests them
 * with RTGT_MSG_EXTENTS.
 */
#define RTGT_F_ASK		(1U << 1)

/**
 * enum rtgt_rej_reason - why the target rejects a connection
 * @RTGT_REJ_VERSION: it does not support the version of the REQ; @arg is the supported one
 * @RTGT_REJ_SIZE: the size in the REQ is less than 16, or more than what arrived; @arg is the
 *		   minimum
 * @RTGT_REJ_FULL: the number of connections, or of half-open connections, of the port or of the
 *		   client's address has reached a bound; @arg is the bound
 * @RTGT_REJ_RESOURCES: memory or device resources are exhausted; @arg is the errno
 * @RTGT_REJ_DEVICE: the device lacks a feature that the port needs; @arg is the errno
 * @RTGT_REJ_STOPPING: the port is being disabled, or the device is being removed; @arg is the
 *		       errno
 * @RTGT_REJ_ASK: the REP of this transport has no capability (RTGT_F_ASK), and the REQ of a plain
 *		  client has no rtgt private data, so it cannot request one; @arg is the
 *		  operation that requests it
 */
enum rtgt_rej_reason {
	RTGT_REJ_VERSION	= 1,
	RTGT_REJ_SIZE		= 2,
	RTGT_REJ_FULL		= 3,
	RTGT_REJ_RESOURCES	= 4,
	RTGT_REJ_DEVICE		= 5,
	RTGT_REJ_STOPPING	= 6,
	RTGT_REJ_ASK		= 7,
};

/**
 * struct rtgt_rej - CM REJ private data
 * @magic: RTGT_MAGIC
 * @version: RTGT_VERSION
 * @size: bytes of this structure
 * @reason: enum rtgt_rej_reason
 * @rsvd: 0
 * @arg: argument of the reason
 */
struct rtgt_rej {
	__be32 magic;
	__be16 version;
	__be16 size;
	__be16 reason;
	__be16 rsvd;
	__be32 arg;
} RTGT_PACKED;

/**
 * enum rtgt_op - the request in a SEND message
 * @RTGT_MSG_ECHO: return the body unchanged
 * @RTGT_MSG_CHECKSUM: compute the CRC-32 (the one of zlib and Ethernet) of a range of a region
 *		       that allows READ; body struct rtgt_range, reply struct rtgt_crc
 * @RTGT_MSG_IMM: only in a reply: the reply to an immediate with RTGT_IMM_ACK
 * @RTGT_MSG_PULL: READ the initiator's memory into a region; body struct rtgt_xfer, reply
 *		   without a body when the bytes have arrived
 * @RTGT_MSG_PUSH: WRITE bytes of a region to the initiator's memory; body struct rtgt_xfer,
 *		   reply without a body when the WRITE has completed
 * @RTGT_MSG_REVOKE: invalidate the rkey of a region and register it under a new one; body
 *		     struct rtgt_range, of which only the region is used, reply struct
 *		     rtgt_region.  On a shared port only after a client has invalidated the
 *		     rkey.  A region of several extents has several rkeys: on a private port
 *		     all of them change, on a shared port the invalidated ones
 * @RTGT_MSG_WITHHOLD: reply, but post the receive of this message only after a time; body
 *		       struct rtgt_withhold.  RTGT_ST_LIMIT if the target withholds as many
 *		       receives as the port allows (withhold_max)
 * @RTGT_MSG_DISCONNECT: disconnect; there is no reply
 * @RTGT_MSG_EXTENTS: return capabilities of a region that has several extents, or with
 *		      RTGT_F_ASK those of any region, registered if they are not; body struct
 *		      rtgt_extents_query, reply struct rtgt_extents
 * @RTGT_MSG_NR: no operation: the first number that is free
 * @RTGT_MSG_REPLY: set in the op of a reply
 */
enum rtgt_op {
	RTGT_MSG_ECHO		= 1,
	RTGT_MSG_CHECKSUM	= 2,
	RTGT_MSG_IMM		= 3,
	RTGT_MSG_PULL		= 4,
	RTGT_MSG_PUSH		= 5,
	RTGT_MSG_REVOKE		= 6,
	RTGT_MSG_WITHHOLD	= 7,
	RTGT_MSG_DISCONNECT	= 8,
	RTGT_MSG_EXTENTS	= 9,
	RTGT_MSG_NR,
	RTGT_MSG_REPLY		= 0x80,
};

/**
 * enum rtgt_status - the result of a request
 * @RTGT_OK: success
 * @RTGT_ST_VERSION: the target does not support the version of the message
 * @RTGT_ST_OP: unknown operation, or one that a datagram client cannot request
 * @RTGT_ST_LENGTH: the message is shorter than its header or than its request, or @len is not
 *		    the length of the body that arrived
 * @RTGT_ST_REGION: no such region
 * @RTGT_ST_RANGE: the range is not inside the region, or there is no such extent
 * @RTGT_ST_SHARED: other connections share the region
 * @RTGT_ST_DEPTH: the initiator allows no READs of its memory (responder_resources in its REQ
 *		   is 0)
 * @RTGT_ST_LIMIT: a value is larger than the target supports
 * @RTGT_ST_FAILED: the device refused
 * @RTGT_ST_ACCESS: the access of the region does not allow the request
 * @RTGT_ST_ABSENT: others, without whom there is no result, did not come in time
 */
enum rtgt_status {
	RTGT_OK			= 0,
	RTGT_ST_VERSION		= 1,
	RTGT_ST_OP		= 2,
	RTGT_ST_LENGTH		= 3,
	RTGT_ST_REGION		= 4,
	RTGT_ST_RANGE		= 5,
	RTGT_ST_SHARED		= 6,
	RTGT_ST_DEPTH		= 7,
	RTGT_ST_LIMIT		= 8,
	RTGT_ST_FAILED		= 9,
	RTGT_ST_ACCESS		= 10,
	RTGT_ST_ABSENT		= 11,
};

/**
 * struct rtgt_msg - the header of every SEND, request or reply
 * @version: RTGT_VERSION
 * @op: enum rtgt_op
 * @status: 0 in a request, enum rtgt_status in a reply
 * @tag: the initiator chooses it, the reply returns it
 * @len: number of bytes after this header
 * @arg: in the reply to a WRITE or a SEND with an immediate, the immediate; otherwise 0
 */
struct rtgt_msg {
	__u8 version;
	__u8 op;
	__be16 status;
	__be32 tag;
	__be32 len;
	__be32 arg;
} RTGT_PACKED;

/**
 * struct rtgt_range - body of RTGT_MSG_CHECKSUM and RTGT_MSG_REVOKE
 * @region: index of the region, as in the REP
 * @rsvd: 0
 * @offset: offset of the first byte in the region
 * @len: bytes; 0 is allowed
 */
struct rtgt_range {
	__be32 region;
	__be32 rsvd;
	__be64 offset;
	__be64 len;
} RTGT_PACKED;

/**
 * struct rtgt_crc - body of the reply to RTGT_MSG_CHECKSUM
 * @crc: CRC-32 of the range, 0 for an empty range
 * @rsvd: 0
 * @len: bytes of the range
 */
struct rtgt_crc {
	__be32 crc;
	__be32 rsvd;
	__be64 len;
} RTGT_PACKED;

/**
 * struct rtgt_xfer - body of RTGT_MSG_PULL and RTGT_MSG_PUSH
 * @region: index of the target's region, as in the REP
 * @rkey: rkey of the initiator's memory
 * @offset: offset of the first byte in the region
 * @len: bytes; 0 is allowed
 * @addr: address of the initiator's memory
 */
struct rtgt_xfer {
	__be32 region;
	__be32 rkey;
	__be64 offset;
	__be64 len;
	__be64 addr;
} RTGT_PACKED;

#define RTGT_WITHHOLD_MAX_MS	10000

/**
 * struct rtgt_withhold - body of RTGT_MSG_WITHHOLD
 * @ms: time in milliseconds, at most RTGT_WITHHOLD_MAX_MS
 */
struct rtgt_withhold {
	__be32 ms;
} RTGT_PACKED;

/**
 * struct rtgt_extents_query - body of RTGT_MSG_EXTENTS
 * @region: index of the region, as in the REP
 * @first: index of the first extent to return, counted from 0
 * @max: maximum number of capabilities in the reply; with 0 it has only @size and @total
 * @rsvd: 0
 */
struct rtgt_extents_query {
	__be32 region;
	__be32 first;
	__be32 max;
	__be32 rsvd;
} RTGT_PACKED;

/**
 * struct rtgt_extents - body of the reply to RTGT_MSG_EXTENTS
 * @size: bytes of the region
 * @total: number of extents of the region; they cover it in order, without a gap
 * @nr: number of capabilities in this reply, of extents @first, @first + 1 and so on: as many
 *	as @max and the port's recv_size allow, at least one if @max is not 0
 * @cap: the capabilities; the access of the region applies to all of them
 */
struct rtgt_extents {
	__be64 size;
	__be32 total;
	__be32 nr;
	struct rtgt_cap cap[];
} RTGT_PACKED;

/**
 * struct rtgt_imm_ack - body of the reply to an immediate with RTGT_IMM_ACK
 * @byte_len: bytes of the WRITE, from the completion at the target
 */
struct rtgt_imm_ack {
	__be32 byte_len;
} RTGT_PACKED;

/*
 * An immediate: four bits of operation, 28 bits of argument.  Small numbers, which clients
 * without rtgt use, are RTGT_IMM_NOTIFY.
 */
#define RTGT_IMM_NOTIFY		0	/* the target counts it */
#define RTGT_IMM_ACK		1	/* the target counts it and sends a RTGT_MSG_IMM reply */
#define RTGT_IMM_ARG_BITS	28
#define RTGT_IMM_ARG_MASK	((1U << RTGT_IMM_ARG_BITS) - 1)

static inline __u32 rtgt_imm(__u32 op, __u32 arg)
{
	return op << RTGT_IMM_ARG_BITS | (arg & RTGT_IMM_ARG_MASK);
}

static inline __u32 rtgt_imm_op(__u32 imm)
{
	return imm >> RTGT_IMM_ARG_BITS;
}

static inline __u32 rtgt_imm_arg(__u32 imm)
{
	return imm & RTGT_IMM_ARG_MASK;
}

#endif /* _UAPI_RTGT_H */
