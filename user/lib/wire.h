/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The wire as an initiator sees it, in host order.  See wire.c.
 */
#ifndef RTGT_WIRE_H
#define RTGT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log.h"
#include "../../kmod/include/uapi/rtgt.h"

/**
 * struct rtgt_mem - memory of the target an initiator may reach
 * @addr: goes into a work request as it is
 * @len: bytes; 0 when the target did not say
 * @rkey: goes into a work request as it is
 * @access: RTGT_ACCESS_*; of a plain target not known, so READ and WRITE are assumed.
 *	    With RTGT_ACCESS_MORE this is a region's first extent
 */
struct rtgt_mem {
	uint64_t addr;
	uint64_t len;
	uint32_t rkey;
	uint32_t access;
};

/**
 * struct rtgt_peer - what the target said in its REP
 * @rtgt: it speaks rtgt; otherwise a bare capability (address, rkey and
 *	  perhaps a length) came, and everything but @region[0] is 0
 * @version: its protocol version
 * @features: RTGT_F_*
 * @nr_regions: valid entries of @region; 0 of a datagram target
 * @recv_depth: SENDs and immediates it can hold at a time
 * @recv_size: bytes of the largest SEND it takes, header included
 * @conn_id: its number for this connection
 * @region: its memory
 */
struct rtgt_peer {
	bool rtgt;
	uint16_t version;
	uint32_t features;
	uint32_t nr_regions;
	uint32_t recv_depth;
	uint32_t recv_size;
	uint32_t conn_id;
	struct rtgt_mem region[RTGT_MAX_REGIONS];
};

/**
 * struct rtgt_refusal - what the target said in its REJ
 * @typed: a struct rtgt_rej came; otherwise the rest is 0
 * @reason: enum rtgt_rej_reason
 * @arg: as the reason says
 */
struct rtgt_refusal {
	bool typed;
	uint16_t reason;
	uint32_t arg;
};

/**
 * struct rtgt_reply - a reply of the target, header and small bodies
 * @op: enum rtgt_op, RTGT_MSG_REPLY removed
 * @status: enum rtgt_status
 * @tag: of the request
 * @arg: the immediate, of RTGT_MSG_IMM
 * @body: the body, in the receive buffer
 * @len: bytes of @body
 * @crc: of RTGT_MSG_CHECKSUM
 * @covered: bytes @crc covers, or of RTGT_MSG_IMM the bytes the WRITE carried
 * @mem: the region's new capability, of RTGT_MSG_REVOKE
 * @size: bytes of the region, of RTGT_MSG_EXTENTS
 * @total: its extents, likewise
 * @nr: how many are in the body, likewise: rtgt_wire_extent() reads them
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
	struct rtgt_mem mem;
	uint64_t size;
	uint32_t total;
	uint32_t nr;
};

void rtgt_wire_req(struct rtgt_req *req);
int rtgt_wire_rep(struct rtgt_peer *peer, const void *data, size_t len, struct rtgt_err *err);
void rtgt_wire_rej(struct rtgt_refusal *refusal, const void *data, size_t len);
void rtgt_wire_msg(struct rtgt_msg *msg, enum rtgt_op op, uint32_t tag, uint32_t len);
void rtgt_wire_range(struct rtgt_range *range, uint32_t region, uint64_t offset, uint64_t len);
void rtgt_wire_xfer(struct rtgt_xfer *xfer, uint32_t region, uint64_t offset, uint64_t len,
		    uint64_t addr, uint32_t rkey);
void rtgt_wire_query(struct rtgt_extents_query *query, uint32_t region, uint32_t first,
		     uint32_t max);
int rtgt_wire_reply(struct rtgt_reply *reply, const void *data, size_t len, struct rtgt_err *err);
struct rtgt_mem rtgt_wire_extent(const struct rtgt_reply *reply, uint32_t i, uint32_t access);

const char *rtgt_status_str(uint16_t status);
int rtgt_refusal_str(const struct rtgt_refusal *refusal, char *buf, size_t size);
int rtgt_access_str(uint32_t access, char *buf, size_t size);

#endif /* RTGT_WIRE_H */
