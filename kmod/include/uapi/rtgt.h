/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What rtgt puts on the wire, once, for the kernel target and for every
 * initiator.  Nothing else is shared with user space.
 *
 * All of it is in network byte order and packed.  A message grows at its end:
 * "size" counts the bytes the sender knows, a receiver reads the part it knows
 * and refuses less than the part it needs.  Documentation/protocol.rst holds
 * the same layout with its reasons.
 *
 * Four places carry it:
 *
 *   CM REQ private data   struct rtgt_req   the initiator says who it is
 *   CM REP private data   struct rtgt_rep   the capability, first of all
 *   CM REJ private data   struct rtgt_rej   why not
 *   SEND messages         struct rtgt_msg   requests and replies
 *
 * and the 32 bits of an immediate are an operation and an argument.
 */
#ifndef _UAPI_RTGT_H
#define _UAPI_RTGT_H

#include <linux/types.h>

#define RTGT_MAGIC		0x52544754	/* "RTGT" */
#define RTGT_VERSION		1
#define RTGT_PORT		7471		/* the port of the founding walkthrough */

/*
 * Private data a RoCE RC connection carries (InfiniBand Architecture
 * Specification 1.4, 12.6: 92 bytes in a REQ of which rdma_cm takes 36, 196 in
 * a REP, 148 in a REJ).  The receiver always sees the full length, zero-padded.
 */
#define RTGT_REQ_MAX		56
#define RTGT_REP_MAX		196
#define RTGT_REJ_MAX		148
/* what a datagram client gets (SIDR), likewise */
#define RTGT_REP_UD_MAX		136

#define RTGT_PACKED		__attribute__((packed))

/**
 * struct rtgt_cap - what an initiator needs to reach a region
 * @addr: address to put into a work request; an iova the target chose, which
 *	  says nothing about where the memory is
 * @rkey: key to put into a work request
 * @len: bytes that may be reached, beginning at @addr
 */
struct rtgt_cap {
	__be64 addr;
	__be32 rkey;
	__be64 len;
} RTGT_PACKED;

/* rtgt_rep.access and rtgt_region.access: what the peer may do */
#define RTGT_ACCESS_READ	(1U << 0)
#define RTGT_ACCESS_WRITE	(1U << 1)
#define RTGT_ACCESS_ATOMIC	(1U << 2)
#define RTGT_ACCESS_FLUSH	(1U << 3)
/*
 * Not an access: the region is larger than what this capability reaches.  It is
 * covered by several, of which this is the first; RTGT_MSG_EXTENTS tells the rest.
 */
#define RTGT_ACCESS_MORE	(1U << 31)

/**
 * struct rtgt_req - CM REQ private data of an initiator that knows rtgt
 * @magic: RTGT_MAGIC; anything else makes it a plain client, which is served too
 * @version: RTGT_VERSION; another one is rejected with RTGT_REJ_VERSION
 * @size: bytes of this structure as the sender knows it, at least 16 and at
 *	  most RTGT_REQ_MAX, otherwise RTGT_REJ_SIZE
 * @features: reserved for what an initiator wants; 0
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
 * struct rtgt_region - a further region in the REP
 * @cap: its capability, or with RTGT_ACCESS_MORE that of its first extent
 * @access: RTGT_ACCESS_*
 */
struct rtgt_region {
	struct rtgt_cap cap;
	__be32 access;
} RTGT_PACKED;

#define RTGT_MORE_REGIONS	5
#define RTGT_MAX_REGIONS	(1 + RTGT_MORE_REGIONS)

/**
 * struct rtgt_rep - CM REP private data: the capability first
 * @cap: region 0, or with RTGT_ACCESS_MORE its first extent.  A client that knows
 *	 only address and rkey, or address, rkey and length, reads no further
 * @magic: RTGT_MAGIC
 * @version: RTGT_VERSION
 * @size: bytes of this structure as the target knows it; to a datagram client it
 *	  ends before @more
 * @features: RTGT_F_*
 * @access: RTGT_ACCESS_* of region 0
 * @nr_regions: regions of this port, region 0 included (1 to RTGT_MAX_REGIONS); to
 *		a datagram client 0, and @cap is 0 as well
 * @recv_depth: SENDs (and immediates) the target can hold at a time
 * @recv_size: the largest SEND it takes, in bytes, header included
 * @conn_id: the connection's number in the target's debugfs and trace
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

#define RTGT_F_PRIVATE		(1U << 0)	/* the regions are this connection's own */

/**
 * enum rtgt_rej_reason - why a connection was refused
 * @RTGT_REJ_VERSION: the REQ's version is not served; @arg holds the one that is
 * @RTGT_REJ_SIZE: the REQ's size is below 16 or beyond what arrived; @arg holds
 *		   the smallest that is taken
 * @RTGT_REJ_FULL: the connections, or half-open connections, of the port or of the
 *		   client's address have reached a bound; @arg holds it
 * @RTGT_REJ_RESOURCES: memory or device resources ran out; @arg holds the errno
 * @RTGT_REJ_DEVICE: the device lacks what the port needs
 * @RTGT_REJ_STOPPING: the port is being disabled or the device removed
 */
enum rtgt_rej_reason {
	RTGT_REJ_VERSION	= 1,
	RTGT_REJ_SIZE		= 2,
	RTGT_REJ_FULL		= 3,
	RTGT_REJ_RESOURCES	= 4,
	RTGT_REJ_DEVICE		= 5,
	RTGT_REJ_STOPPING	= 6,
};

/**
 * struct rtgt_rej - CM REJ private data
 * @magic: RTGT_MAGIC
 * @version: RTGT_VERSION
 * @size: bytes of this structure
 * @reason: enum rtgt_rej_reason
 * @rsvd: 0
 * @arg: as the reason says
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
 * enum rtgt_op - what a SEND message asks for
 * @RTGT_MSG_ECHO: send the payload back as it came
 * @RTGT_MSG_CHECKSUM: CRC-32 (the one of zlib and Ethernet) of a range of a
 *		       region that grants READ; body struct rtgt_range, answered by struct rtgt_crc
 * @RTGT_MSG_IMM: never asked for: the answer to an immediate with RTGT_IMM_ACK
 * @RTGT_MSG_PULL: the target READs the initiator's memory into a region; body
 *		   struct rtgt_xfer, answered without a body when the bytes are there
 * @RTGT_MSG_PUSH: the target WRITEs a region's bytes to the initiator's memory;
 *		   likewise
 * @RTGT_MSG_REVOKE: invalidate a region's rkey and make a new one; body struct
 *		     rtgt_range (only the region counts), answered by struct
 *		     rtgt_region.  On a shared port only after a client has
 *		     invalidated the rkey.  A region of several extents has as many
 *		     rkeys: on a private port all of them are new afterwards, on a
 *		     shared port those that were invalidated
 * @RTGT_MSG_WITHHOLD: answer, but post this message's receive again only after a
 *		       time; body struct rtgt_withhold.  RTGT_ST_LIMIT if as many receives
 *		       as the port allows (withhold_max) are held back already
 * @RTGT_MSG_DISCONNECT: the target disconnects; there is no answer
 * @RTGT_MSG_EXTENTS: the capabilities of a region that one does not cover; body
 *		      struct rtgt_extents_query, answered by struct rtgt_extents
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
	RTGT_MSG_REPLY		= 0x80,
};

/**
 * enum rtgt_status - how a request ended
 * @RTGT_OK: done
 * @RTGT_ST_VERSION: the message's version is not served
 * @RTGT_ST_OP: unknown operation
 * @RTGT_ST_LENGTH: shorter than its header, or than its operation needs, or
 *		    @len disagrees with what arrived
 * @RTGT_ST_REGION: no such region
 * @RTGT_ST_RANGE: not inside the region, or no such extent
 * @RTGT_ST_SHARED: the region is shared with other connections
 * @RTGT_ST_DEPTH: the connection agreed on no READ towards the initiator
 *		   (responder_resources in its REQ is 0)
 * @RTGT_ST_LIMIT: a value beyond what the target takes
 * @RTGT_ST_FAILED: the device refused; the kernel log says more
 * @RTGT_ST_ACCESS: the region's access does not allow it to a peer
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
};

/**
 * struct rtgt_msg - the head of every SEND, request and reply
 * @version: RTGT_VERSION
 * @op: enum rtgt_op
 * @status: 0 in a request, enum rtgt_status in a reply
 * @tag: the initiator's, returned as it came
 * @len: bytes behind this header, exactly
 * @arg: in a reply to what came with an immediate (a WRITE or a SEND), its 32
 *	 bits; otherwise 0
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
 * struct rtgt_range - body of RTGT_MSG_CHECKSUM
 * @region: index of the region, as in the REP
 * @rsvd: 0
 * @offset: first byte, counted from the region's beginning
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
 * @crc: CRC-32 of the range (0 for an empty one)
 * @rsvd: 0
 * @len: bytes it covers
 */
struct rtgt_crc {
	__be32 crc;
	__be32 rsvd;
	__be64 len;
} RTGT_PACKED;

/**
 * struct rtgt_xfer - body of RTGT_MSG_PULL and RTGT_MSG_PUSH
 * @region: index of the target's region, as in the REP
 * @rkey: of the initiator's memory
 * @offset: first byte in the region
 * @len: bytes; 0 is allowed
 * @addr: of the initiator's memory
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
 * @ms: how long, in milliseconds, at most RTGT_WITHHOLD_MAX_MS
 */
struct rtgt_withhold {
	__be32 ms;
} RTGT_PACKED;

/**
 * struct rtgt_extents_query - body of RTGT_MSG_EXTENTS
 * @region: index of the region, as in the REP
 * @first: which extent to begin with, counted from 0
 * @max: how many capabilities the initiator has room for; 0 asks for the numbers
 *	 only
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
 * @size: bytes of the region, which are those of all its extents
 * @total: extents of the region; they cover it in their order, without a gap
 * @nr: capabilities that follow: those of extents @first, @first + 1, ...; as many as
 *	@max and the port's recv_size allow, at least one if @max is not 0
 * @cap: the capabilities; the access is the region's
 */
struct rtgt_extents {
	__be64 size;
	__be32 total;
	__be32 nr;
	struct rtgt_cap cap[];
} RTGT_PACKED;

/**
 * struct rtgt_imm_ack - body of the reply to an immediate with RTGT_IMM_ACK
 * @byte_len: bytes the WRITE carried, as the target's completion says
 */
struct rtgt_imm_ack {
	__be32 byte_len;
} RTGT_PACKED;

/*
 * An immediate: four bits of operation, 28 of argument.  A client that knows
 * nothing of it sends small numbers, which are RTGT_IMM_NOTIFY.
 */
#define RTGT_IMM_NOTIFY		0	/* counted */
#define RTGT_IMM_ACK		1	/* counted and answered by a RTGT_MSG_IMM reply */
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
