// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of the service "rtgt": what a request message or an immediate
 * makes the target do.
 *
 * An operation gets a slot with the request decoded in slot->rq and its body
 * behind the head in slot->buf, and ends in a reply (or in the end of the
 * connection).  To add one: its number and body in include/uapi/rtgt.h, its
 * decoding in proto.c, a function and a line in the table here.
 *
 * A request that cannot be served is answered with a typed status and counted.
 * What a peer sends never reaches the log.
 */
#include <rdma/ib_verbs.h>

#include "core/mem.h"
#include "core/stats.h"
#include "proto/proto.h"
#include "registration/region.h"
#include "target/conn.h"
#include "target/port.h"
#include "target/recv.h"
#include "target/trace.h"

/* One transfer's work request at most; far below any device's max_msg_sz. */
#define RTGT_XFER_BYTES		(1024 * 1024)

/* What a request does before it lets others have their turn: milliseconds of work */
#define RTGT_STEP_BYTES		(4 * 1024 * 1024)
#define RTGT_STEP_KEYS		32

static void *slot_body(struct rtgt_slot *slot)
{
	return rtgt_slot_msg(slot) + sizeof(struct rtgt_msg);
}

/* The status a request's region and range deserve. */
static u32 slot_check_range(const struct rtgt_slot *slot)
{
	const struct rtgt_domain *dom = slot->conn->domain;
	const struct rtgt_request *rq = &slot->rq;

	if (rq->region >= dom->nr)
		return RTGT_ST_REGION;
	if (!rtgt_range_ok(rq->offset, rq->count, dom->map[rq->region].mem->size))
		return RTGT_ST_RANGE;
	return RTGT_OK;
}

static void op_echo(struct rtgt_slot *slot)
{
	rtgt_slot_reply(slot, RTGT_OK, slot->rq.len);
}

/* A part of it; then others have their turn, or the connection may be closing. */
static void checksum_step(struct rtgt_slot *slot)
{
	struct rtgt_request *rq = &slot->rq;
	u64 here = min_t(u64, rq->count, RTGT_STEP_BYTES);
	struct rtgt_crc *body = slot_body(slot);

	rtgt_map_sync_for_cpu(slot->conn->domain, rq->region, rq->offset, here);
	slot->done = rtgt_mem_crc32_more(slot->conn->domain->map[rq->region].mem, slot->done,
					 rq->offset, here);
	rq->offset += here;
	rq->count -= here;
	if (rq->count) {
		rtgt_slot_defer(slot, checksum_step);
		return;
	}
	body->crc = cpu_to_be32(slot->done);
	rtgt_slot_reply(slot, RTGT_OK, sizeof(*body));
}

/* It tells of the bytes what a READ would: of four as much. */
static void op_checksum(struct rtgt_slot *slot)
{
	struct rtgt_crc *body = slot_body(slot);
	u32 status = slot_check_range(slot);

	if (status == RTGT_OK &&
	    !(slot->conn->domain->map[slot->rq.region].access & RTGT_ACCESS_READ))
		status = RTGT_ST_ACCESS;
	if (status != RTGT_OK) {
		rtgt_slot_reply(slot, status, 0);
		return;
	}
	body->rsvd = 0;
	body->len = cpu_to_be64(slot->rq.count);
	slot->done = 0;
	checksum_step(slot);
}

/* One work request of a transfer; its completion comes here for the next. */
static void xfer_step(struct rtgt_slot *slot)
{
	struct rtgt_request *rq = &slot->rq;
	bool pull = rq->op == RTGT_MSG_PULL;
	unsigned int max = slot->conn->max_sge;
	struct ib_sge sge[RTGT_XFER_SGES];
	unsigned int nr;
	u64 addr = rq->addr;
	u32 len;

	if (!rq->count) {
		rtgt_slot_reply(slot, RTGT_OK, 0);
		return;
	}
	/* a READ may take fewer than a WRITE */
	if (pull && slot->conn->domain->ibdev->attrs.max_sge_rd)
		max = min_t(unsigned int, max, slot->conn->domain->ibdev->attrs.max_sge_rd);
	len = rtgt_map_sges(slot->conn->domain, rq->region, rq->offset,
			    min_t(u64, rq->count, RTGT_XFER_BYTES), sge, max, &nr);
	rq->offset += len;
	rq->count -= len;
	rq->addr += len;
	rtgt_slot_xfer(slot, pull ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE, addr, rq->rkey, sge, nr,
		       xfer_step);
}

/* What a peer may not write itself, the target does not write for it. */
static void op_xfer(struct rtgt_slot *slot)
{
	bool pull = slot->rq.op == RTGT_MSG_PULL;
	u32 needs = pull ? RTGT_ACCESS_WRITE : RTGT_ACCESS_READ;
	u32 status = slot_check_range(slot);

	if (status == RTGT_OK && !(slot->conn->domain->map[slot->rq.region].access & needs))
		status = RTGT_ST_ACCESS;
	if (status == RTGT_OK && pull && !slot->conn->can_read)
		status = RTGT_ST_DEPTH;
	if (status != RTGT_OK)
		rtgt_slot_reply(slot, status, 0);
	else
		xfer_step(slot);
}

/* The same for the keys of a few extents; rq->offset is the next one. */
static void revoke_step(struct rtgt_slot *slot)
{
	struct rtgt_conn *conn = slot->conn;
	struct rtgt_domain *dom = conn->domain;
	struct rtgt_request *rq = &slot->rq;
	struct rtgt_map *map = &dom->map[rq->region];
	struct ib_mr *mr;
	int ret;

	ret = rtgt_domain_rotate(dom, rq->region, rq->offset, RTGT_STEP_KEYS,
				 !conn->port->cfg.private);
	if (ret < 0) {
		rtgt_slot_reply(slot, RTGT_ST_FAILED, 0);
		return;
	}
	rtgt_count(conn->port->stats, RTGT_ROTATIONS, ret);
	slot->done += ret;
	rq->offset += RTGT_STEP_KEYS;
	if (rq->offset < map->nr) {
		rtgt_slot_defer(slot, revoke_step);
		return;
	}
	if (!slot->done) {
		rtgt_slot_reply(slot, RTGT_ST_SHARED, 0);
		return;
	}
	mutex_lock(&dom->lock);
	mr = map->extent[0].mr;
	rtgt_encode_region(slot_body(slot), mr->iova, mr->rkey, rtgt_extent_len(map, 0),
			   rtgt_map_access(map));
	mutex_unlock(&dom->lock);
	rtgt_slot_reply(slot, RTGT_OK, sizeof(struct rtgt_region));
}

static void op_revoke(struct rtgt_slot *slot)
{
	if (slot->rq.region >= slot->conn->domain->nr) {
		rtgt_slot_reply(slot, RTGT_ST_REGION, 0);
		return;
	}
	slot->rq.offset = 0;
	slot->done = 0;
	revoke_step(slot);
}

/* As many capabilities as the reply and the initiator have room for. */
static void op_extents(struct rtgt_slot *slot)
{
	u32 room = slot->conn->recv_size - sizeof(struct rtgt_msg) - sizeof(struct rtgt_extents);
	struct rtgt_domain *dom = slot->conn->domain;
	struct rtgt_request *rq = &slot->rq;
	void *body = slot_body(slot);
	struct rtgt_map *map;
	u32 nr, i;

	if (rq->region >= dom->nr) {
		rtgt_slot_reply(slot, RTGT_ST_REGION, 0);
		return;
	}
	map = &dom->map[rq->region];
	if (rq->offset >= map->nr) {
		rtgt_slot_reply(slot, RTGT_ST_RANGE, 0);
		return;
	}
	nr = min3((u32)rq->count, room / (u32)sizeof(struct rtgt_cap), map->nr - (u32)rq->offset);
	rtgt_encode_extents(body, map->mem->size, map->nr, nr);
	mutex_lock(&dom->lock);
	for (i = 0; i < nr; i++) {
		u32 at = rq->offset + i;
		struct ib_mr *mr = map->extent[at].mr;

		rtgt_encode_extent(body, i, mr->iova, mr->rkey, rtgt_extent_len(map, at));
	}
	mutex_unlock(&dom->lock);
	rtgt_slot_reply(slot, RTGT_OK, sizeof(struct rtgt_extents) + nr * sizeof(struct rtgt_cap));
}

static void op_withhold(struct rtgt_slot *slot)
{
	slot->later_ms = slot->rq.ms;
	rtgt_slot_reply(slot, RTGT_OK, 0);
}

static void op_disconnect(struct rtgt_slot *slot)
{
	struct rtgt_conn *conn = slot->conn;

	rtgt_slot_repost(slot);
	rtgt_conn_close(conn, "asked for by the peer");
}

/*
 * What a request runs.  "defer" is set for what sleeps or takes long; the rest
 * runs in the completion itself.  "connected" is set for what makes no sense to
 * a datagram.
 */
static const struct {
	void (*run)(struct rtgt_slot *slot);
	bool defer;
	bool connected;
} ops[] = {
	[RTGT_MSG_ECHO]		= { .run = op_echo },
	[RTGT_MSG_CHECKSUM]	= { .run = op_checksum, .defer = true },
	[RTGT_MSG_PULL]		= { .run = op_xfer, .connected = true },
	[RTGT_MSG_PUSH]		= { .run = op_xfer, .connected = true },
	[RTGT_MSG_REVOKE]	= { .run = op_revoke, .defer = true, .connected = true },
	[RTGT_MSG_WITHHOLD]	= { .run = op_withhold },
	[RTGT_MSG_DISCONNECT]	= { .run = op_disconnect, .connected = true },
	[RTGT_MSG_EXTENTS]	= { .run = op_extents, .defer = true, .connected = true },
};

/**
 * rtgt_ops_message() - run the request a SEND brought
 * @slot: the caller owns it
 *
 * Completion context, or process context on a UD port.  A plain client's SENDs
 * are only counted: it would not know what to do with an answer.
 */
void rtgt_ops_message(struct rtgt_slot *slot)
{
	struct rtgt_conn *conn = slot->conn;
	u32 status;

	if (conn->plain) {
		rtgt_slot_repost(slot);
		return;
	}
	status = rtgt_decode_msg(rtgt_slot_msg(slot), slot->len, &slot->rq);
	if (status == RTGT_OK && ops[slot->rq.op].connected && conn->transport == RTGT_UD)
		status = RTGT_ST_OP;
	trace_rtgt_request(conn, &slot->rq, status);
	if (status != RTGT_OK)
		rtgt_slot_reply(slot, status, 0);
	else if (ops[slot->rq.op].defer)
		rtgt_slot_defer(slot, ops[slot->rq.op].run);
	else
		ops[slot->rq.op].run(slot);
}

/**
 * rtgt_ops_imm() - act on the immediate a WRITE brought
 * @slot: the caller owns it
 *
 * Completion context.
 */
void rtgt_ops_imm(struct rtgt_slot *slot)
{
	struct rtgt_imm_ack *body = slot_body(slot);

	trace_rtgt_imm(slot->conn, slot->imm, slot->len);
	if (slot->conn->plain || rtgt_imm_op(slot->imm) != RTGT_IMM_ACK) {
		rtgt_slot_repost(slot);
		return;
	}
	slot->rq = (struct rtgt_request){
		.op = RTGT_MSG_IMM,
		.tag = rtgt_imm_arg(slot->imm),
	};
	body->byte_len = cpu_to_be32(slot->len);
	rtgt_slot_reply(slot, RTGT_OK, sizeof(*body));
}
