// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of the service "rtgt": what a request message or an immediate
 * makes the target do.
 *
 * An operation gets a receive context with the request decoded in recv->rq and its body
 * behind the head in recv->buf, and ends in a reply (or in the end of the
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
#include "target/ops.h"
#include "target/port.h"
#include "target/recv.h"
#include "target/rw.h"
#include "target/send.h"
#include "target/trace.h"

/* What a request does before it lets others have their turn: milliseconds of work */
#define RTGT_STEP_BYTES		(4 * 1024 * 1024)
#define RTGT_STEP_KEYS		32

static void *recv_body(struct rtgt_recv_ctx *recv)
{
	return rtgt_recv_msg(recv) + sizeof(struct rtgt_msg);
}

/* The status a request's region and range deserve. */
static u32 check_range(const struct rtgt_recv_ctx *recv)
{
	const struct rtgt_domain *dom = recv->conn->domain;
	const struct rtgt_request *rq = &recv->rq;

	if (rq->region >= dom->nr)
		return RTGT_ST_REGION;
	if (!rtgt_range_ok(rq->offset, rq->count, dom->map[rq->region].mem->size))
		return RTGT_ST_RANGE;
	return RTGT_OK;
}

static void op_echo(struct rtgt_recv_ctx *recv)
{
	rtgt_reply(recv, RTGT_OK, recv->rq.len);
}

/* It tells of the bytes what a READ would: of four as much. */
static void checksum_start(struct rtgt_recv_ctx *recv)
{
	struct rtgt_crc *body = recv_body(recv);
	u32 status = check_range(recv);

	if (status == RTGT_OK &&
	    !(recv->conn->domain->map[recv->rq.region].access & RTGT_ACCESS_READ))
		status = RTGT_ST_ACCESS;
	if (status != RTGT_OK) {
		rtgt_reply(recv, status, 0);
		return;
	}
	body->rsvd = 0;
	body->len = cpu_to_be64(recv->rq.count);
	recv->done = 0;
	rtgt_recv_defer(recv);
}

static void checksum_work(struct rtgt_recv_ctx *recv)
{
	struct rtgt_request *rq = &recv->rq;
	u64 here = min_t(u64, rq->count, RTGT_STEP_BYTES);
	struct rtgt_crc *body = recv_body(recv);

	rtgt_map_sync_for_cpu(recv->conn->domain, rq->region, rq->offset, here);
	recv->done = rtgt_mem_crc32_more(recv->conn->domain->map[rq->region].mem, recv->done,
					 rq->offset, here);
	rq->offset += here;
	rq->count -= here;
	if (rq->count) {
		rtgt_recv_defer(recv);
		return;
	}
	body->crc = cpu_to_be32(recv->done);
	rtgt_reply(recv, RTGT_OK, sizeof(*body));
}

/* What a peer may not write itself, the target does not write for it. */
static void xfer_start(struct rtgt_recv_ctx *recv)
{
	bool pull = recv->rq.op == RTGT_MSG_PULL;
	u32 needs = pull ? RTGT_ACCESS_WRITE : RTGT_ACCESS_READ;
	u32 status = check_range(recv);

	if (status == RTGT_OK && !(recv->conn->domain->map[recv->rq.region].access & needs))
		status = RTGT_ST_ACCESS;
	if (status == RTGT_OK && pull && !recv->conn->can_read)
		status = RTGT_ST_DEPTH;
	if (status != RTGT_OK || !recv->rq.count)
		rtgt_reply(recv, status, 0);
	else
		rtgt_recv_defer(recv);
}

/*
 * One transfer.  The core maps the memory for it, besides the mapping that the region's MR
 * has.  Where these are bounce buffers, each mapping has its own, and the memory itself is
 * between them: what peers wrote through the MR is brought there before a WRITE takes it, and
 * what a READ brought there goes to the MR's bounce buffer after it (xfer_moved()).
 */
static void xfer_work(struct rtgt_recv_ctx *recv)
{
	struct rtgt_request *rq = &recv->rq;
	struct rtgt_conn *conn = recv->conn;
	struct rtgt_mem *mem = conn->domain->map[rq->region].mem;
	bool pull = rq->op == RTGT_MSG_PULL;
	struct rtgt_rw_ctx *rw;
	u32 len = 0, most, added;
	size_t here;
	void *at;

	rw = rtgt_rw_get(recv);
	if (!rw)
		return;
	most = rtgt_rw_bytes(conn, rq->offset, rq->count);
	while (len < most) {
		at = rtgt_mem_at(mem, rq->offset + len, most - len, &here);
		added = rtgt_rw_add(rw, at, here);
		if (!added)
			break;
		len += added;
	}
	if (!pull)
		rtgt_map_sync_for_cpu(conn->domain, rq->region, rq->offset, len);
	recv->done = len;
	if (rtgt_rw_post(rw, pull ? DMA_FROM_DEVICE : DMA_TO_DEVICE, rq->addr, rq->rkey))
		rtgt_reply(recv, RTGT_ST_FAILED, 0);
}

static void xfer_moved(struct rtgt_recv_ctx *recv)
{
	struct rtgt_request *rq = &recv->rq;

	if (rq->op == RTGT_MSG_PULL)
		rtgt_map_sync_for_device(recv->conn->domain, rq->region, rq->offset, recv->done);
	rq->offset += recv->done;
	rq->addr += recv->done;
	rq->count -= recv->done;
	if (rq->count)
		rtgt_recv_defer(recv);
	else
		rtgt_reply(recv, RTGT_OK, 0);
}

static void revoke_start(struct rtgt_recv_ctx *recv)
{
	if (recv->rq.region >= recv->conn->domain->nr) {
		rtgt_reply(recv, RTGT_ST_REGION, 0);
		return;
	}
	recv->rq.offset = 0;
	recv->done = 0;
	rtgt_recv_defer(recv);
}

/* The keys of a few extents; rq->offset is the next one. */
static void revoke_work(struct rtgt_recv_ctx *recv)
{
	struct rtgt_conn *conn = recv->conn;
	struct rtgt_domain *dom = conn->domain;
	struct rtgt_request *rq = &recv->rq;
	struct rtgt_map *map = &dom->map[rq->region];
	struct ib_mr *mr;
	int ret;

	ret = rtgt_domain_rotate(dom, rq->region, rq->offset, RTGT_STEP_KEYS,
				 !conn->port->cfg.private);
	if (ret < 0) {
		rtgt_reply(recv, RTGT_ST_FAILED, 0);
		return;
	}
	rtgt_count(conn->port->stats, RTGT_ROTATIONS, ret);
	recv->done += ret;
	rq->offset += RTGT_STEP_KEYS;
	if (rq->offset < map->nr) {
		rtgt_recv_defer(recv);
		return;
	}
	if (!recv->done) {
		rtgt_reply(recv, RTGT_ST_SHARED, 0);
		return;
	}
	mutex_lock(&dom->lock);
	mr = map->extent[0].mr;
	rtgt_encode_region(recv_body(recv), mr->iova, mr->rkey, rtgt_extent_len(map, 0),
			   rtgt_map_access(map));
	mutex_unlock(&dom->lock);
	rtgt_reply(recv, RTGT_OK, sizeof(struct rtgt_region));
}

/* As many capabilities as the reply and the initiator have room for. */
static void extents_work(struct rtgt_recv_ctx *recv)
{
	u32 room = recv->conn->recv_size - sizeof(struct rtgt_msg) - sizeof(struct rtgt_extents);
	struct rtgt_domain *dom = recv->conn->domain;
	struct rtgt_request *rq = &recv->rq;
	void *body = recv_body(recv);
	struct rtgt_map *map;
	u32 nr, i;

	if (rq->region >= dom->nr) {
		rtgt_reply(recv, RTGT_ST_REGION, 0);
		return;
	}
	map = &dom->map[rq->region];
	if (rq->offset >= map->nr) {
		rtgt_reply(recv, RTGT_ST_RANGE, 0);
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
	rtgt_reply(recv, RTGT_OK, sizeof(struct rtgt_extents) + nr * sizeof(struct rtgt_cap));
}

static void op_withhold(struct rtgt_recv_ctx *recv)
{
	rtgt_reply(recv, rtgt_recv_withhold(recv, recv->rq.ms) ? RTGT_OK : RTGT_ST_LIMIT, 0);
}

static void op_disconnect(struct rtgt_recv_ctx *recv)
{
	struct rtgt_conn *conn = recv->conn;

	rtgt_recv_release(recv);
	rtgt_conn_close(conn, "asked for by the peer");
}

/*
 * What a request runs: "start" when it has arrived, in completion context; "work" in a
 * worker, whenever it was deferred; "moved" when its transfer is complete, in completion
 * context.  "connected" is set for what makes no sense to a datagram.
 */
static const struct {
	void (*start)(struct rtgt_recv_ctx *recv);
	void (*work)(struct rtgt_recv_ctx *recv);
	void (*moved)(struct rtgt_recv_ctx *recv);
	bool connected;
} ops[] = {
	[RTGT_MSG_ECHO]		= { op_echo },
	[RTGT_MSG_CHECKSUM]	= { checksum_start, checksum_work },
	[RTGT_MSG_PULL]		= { xfer_start, xfer_work, xfer_moved, .connected = true },
	[RTGT_MSG_PUSH]		= { xfer_start, xfer_work, xfer_moved, .connected = true },
	[RTGT_MSG_REVOKE]	= { revoke_start, revoke_work, .connected = true },
	[RTGT_MSG_WITHHOLD]	= { op_withhold },
	[RTGT_MSG_DISCONNECT]	= { op_disconnect, .connected = true },
	[RTGT_MSG_EXTENTS]	= { rtgt_recv_defer, extents_work, .connected = true },
};

/**
 * rtgt_ops_message() - run the request a SEND brought
 * @recv: the caller owns it
 *
 * Completion context, or process context on a UD port.  A plain client's SENDs
 * are only counted: it would not know what to do with an answer.
 */
void rtgt_ops_message(struct rtgt_recv_ctx *recv)
{
	struct rtgt_conn *conn = recv->conn;
	u32 status;

	if (conn->plain) {
		rtgt_recv_release(recv);
		return;
	}
	status = rtgt_decode_msg(rtgt_recv_msg(recv), recv->len, &recv->rq);
	if (status == RTGT_OK && ops[recv->rq.op].connected && conn->transport == RTGT_UD)
		status = RTGT_ST_OP;
	trace_rtgt_request(conn, &recv->rq, status);
	if (status != RTGT_OK)
		rtgt_reply(recv, status, 0);
	else
		ops[recv->rq.op].start(recv);
}

/**
 * rtgt_ops_work() - go on with a request
 * @recv: the caller owns it; it was deferred
 *
 * Process context.
 */
void rtgt_ops_work(struct rtgt_recv_ctx *recv)
{
	ops[recv->rq.op].work(recv);
}

/**
 * rtgt_ops_moved() - go on with a request whose transfer is complete
 * @recv: the caller owns it
 *
 * Completion context.
 */
void rtgt_ops_moved(struct rtgt_recv_ctx *recv)
{
	ops[recv->rq.op].moved(recv);
}

/**
 * rtgt_ops_imm() - act on the immediate a WRITE brought
 * @recv: the caller owns it
 *
 * Completion context.
 */
void rtgt_ops_imm(struct rtgt_recv_ctx *recv)
{
	struct rtgt_imm_ack *body = recv_body(recv);

	trace_rtgt_imm(recv->conn, recv->imm, recv->len);
	if (recv->conn->plain || rtgt_imm_op(recv->imm) != RTGT_IMM_ACK) {
		rtgt_recv_release(recv);
		return;
	}
	recv->rq = (struct rtgt_request){
		.op = RTGT_MSG_IMM,
		.tag = rtgt_imm_arg(recv->imm),
	};
	body->byte_len = cpu_to_be32(recv->len);
	rtgt_reply(recv, RTGT_OK, sizeof(*body));
}
