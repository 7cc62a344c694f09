// SPDX-License-Identifier: GPL-2.0
/*
 * The requests of the service "rtgt": what a message or an immediate makes the target do.
 *
 * A request gets a receive context with the decoded request in recv->rq and its body after the
 * header in recv->buf.  It ends in a reply, or closes the connection.  A new request needs its
 * number and its body in include/uapi/rtgt.h, its decoding in proto.c, and a function and a line of
 * the table in this file.
 *
 * If the target cannot serve a request, the status of the reply names the reason, and the reply is
 * counted.  Nothing that a peer sends is logged.
 */
#include <rdma/ib_verbs.h>

#include "core/mem.h"
#include "core/stats.h"
#include "proto/proto.h"
#include "registration/region.h"
#include "target/conn.h"
#include "target/fault.h"
#include "target/ops.h"
#include "target/port.h"
#include "target/recv.h"
#include "target/rw.h"
#include "target/send.h"
#include "target/trace.h"

/*
 * What a worker does of a CHECKSUM before other connections have their turn: 0.1 ms in the guest of
 * make bench, where a reply to a client of another port takes 0.13 ms.
 */
#define RTGT_STEP_BYTES		(16 * 1024)

static void *recv_body(struct rtgt_recv_ctx *recv)
{
	return rtgt_recv_msg(recv) + sizeof(struct rtgt_msg);
}

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

/* A client says, by an immediate or an ECHO, that it has written: tell the service, if it asks */
static void announce(struct rtgt_recv_ctx *recv, u32 len)
{
	recv->reply_len = len;
	if (recv->conn->port->cfg.service->announced)
		rtgt_recv_defer(recv);
	else
		rtgt_reply(recv, RTGT_OK, len);
}

static void announce_work(struct rtgt_recv_ctx *recv)
{
	recv->conn->port->cfg.service->announced(recv);
}

static void op_echo(struct rtgt_recv_ctx *recv)
{
	announce(recv, recv->rq.len);
}

/* CHECKSUM needs READ access: the CRC of four bytes can be inverted, so it reveals them. */
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
	if (rtgt_faulty(&recv->conn->port->faults) && recv->rq.count &&
	    rtgt_fault_commit(recv->conn->port, RTGT_FAULT_REGION_BIT, NULL))
		recv->faults |= RTGT_FAULT_DO_FLIP;
	rtgt_recv_defer(recv);
}

static void checksum_work(struct rtgt_recv_ctx *recv)
{
	struct rtgt_request *rq = &recv->rq;
	u64 here = min_t(u64, rq->count, RTGT_STEP_BYTES);
	struct rtgt_crc *body = recv_body(recv);

	rtgt_map_sync_for_cpu(recv->conn->domain, rq->region, rq->offset, here);
	if (unlikely(recv->faults & RTGT_FAULT_DO_FLIP))
		rtgt_fault_flip(recv);
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

/* PULL needs WRITE access and PUSH needs READ access, as if the peer accessed the region itself. */
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
	else if (!rtgt_faulty(&recv->conn->port->faults) || !rtgt_fault_move(recv))
		rtgt_recv_defer(recv);
}

static void xfer_end(struct rtgt_recv_ctx *recv, u32 status)
{
	if (likely(!recv->faults) || !rtgt_fault_moved(recv))
		rtgt_reply(recv, status, 0);
}

/*
 * Post one transfer.  The core maps the memory for it, in addition to the mapping of the region's
 * MR, and with bounce buffers these two have different ones.  So a PUSH first syncs the MR's
 * mapping for the CPU, to get what peers wrote through the MR, and a PULL syncs it for the device
 * after the READ.
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
		xfer_end(recv, RTGT_ST_FAILED);
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
		xfer_end(recv, RTGT_OK);
}

/* UC: all that no peer reaches, without posts to the QP.  False: the request has its reply. */
static bool register_uc(struct rtgt_recv_ctx *recv)
{
	struct rtgt_conn *conn = recv->conn;

	if (!rtgt_domain_register_uc(conn->domain, conn->qp))
		return true;
	rtgt_reply(recv, RTGT_ST_FAILED, 0);
	return false;
}

/*
 * Register the extents from recv->extent to before @end through the connection: those that no peer
 * reaches, or all.  Returns true if all are registered; otherwise the request goes on in a worker
 * when the device has registered one, or has its reply.
 */
static bool register_extents(struct rtgt_recv_ctx *recv, u32 end, bool only_unreachable)
{
	struct rtgt_domain *dom = recv->conn->domain;

	/* another connection may have been faster */
	if (recv->rw && !rtgt_rw_registered(recv)) {
		recv->extent++;
		recv->done++;
	}
	while (only_unreachable && recv->extent < end &&
	       rtgt_domain_reaches(dom, recv->rq.region, recv->extent))
		recv->extent++;
	if (recv->extent >= end)
		return true;
	if (rtgt_rw_register(recv, recv->extent)) {
		/* a revocation ends the old rkeys also if there are no new ones */
		if (!only_unreachable)
			rtgt_domain_revoke(dom, recv->rq.region);
		rtgt_reply(recv, RTGT_ST_FAILED, 0);
	}
	return false;
}

static void revoke_start(struct rtgt_recv_ctx *recv)
{
	if (recv->rq.region >= recv->conn->domain->nr) {
		rtgt_reply(recv, RTGT_ST_REGION, 0);
		return;
	}
	recv->extent = 0;
	recv->done = 0;
	rtgt_recv_defer(recv);
}

/* On a shared port only the invalid rkeys are replaced: the others are in use. */
static void revoke_work(struct rtgt_recv_ctx *recv)
{
	struct rtgt_domain *dom = recv->conn->domain;
	struct rtgt_map *map = &dom->map[recv->rq.region];
	bool shared = !recv->conn->port->cfg.private;

	if (recv->conn->transport == RTGT_UC) {
		if (!shared)
			rtgt_domain_revoke(dom, recv->rq.region);
		for (; recv->extent < map->nr; recv->extent++)
			recv->done += !rtgt_domain_reaches(dom, recv->rq.region, recv->extent);
		if (!register_uc(recv))
			return;
	} else if (!register_extents(recv, map->nr, shared)) {
		return;
	}
	if (!recv->done) {
		rtgt_reply(recv, RTGT_ST_SHARED, 0);
		return;
	}
	mutex_lock(&dom->lock);
	rtgt_encode_region(recv_body(recv), map->extent[0].iova, rtgt_extent_rkey(&map->extent[0]),
			   map->extent[0].len, rtgt_map_access(map));
	mutex_unlock(&dom->lock);
	rtgt_reply(recv, RTGT_OK, sizeof(struct rtgt_region));
}

static void extents_start(struct rtgt_recv_ctx *recv)
{
	recv->extent = recv->rq.offset;
	recv->done = 0;
	rtgt_recv_defer(recv);
}

/* Reply with as many capabilities as fit into the reply and into the client's buffer. */
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
	if (recv->conn->transport == RTGT_UC ? !register_uc(recv) :
					       !register_extents(recv, rq->offset + nr, true))
		return;
	/* where the REP has no capability; a client lists several extents anyway */
	if (recv->conn->iwarp && (map->nr == 1 || rq->count == 1))
		rtgt_count(recv->conn->port->stats, RTGT_ASKS, 1);
	rtgt_encode_extents(body, map->mem->size, map->nr, nr);
	mutex_lock(&dom->lock);
	for (i = 0; i < nr; i++) {
		u32 at = rq->offset + i;

		rtgt_encode_extent(body, i, map->extent[at].iova,
				   rtgt_extent_rkey(&map->extent[at]), map->extent[at].len);
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
 * The functions of a request: "start" and "moved" (its transfer or registration has completed) run
 * in completion context, "work" in a worker each time it was deferred.  "connected": datagrams get
 * RTGT_ST_OP.
 */
static const struct {
	void (*start)(struct rtgt_recv_ctx *recv);
	void (*work)(struct rtgt_recv_ctx *recv);
	void (*moved)(struct rtgt_recv_ctx *recv);
	bool connected;
} ops[] = {
	[RTGT_MSG_ECHO]		= { op_echo, announce_work },
	[RTGT_MSG_IMM]		= { NULL, announce_work },	/* no message */
	[RTGT_MSG_CHECKSUM]	= { checksum_start, checksum_work },
	[RTGT_MSG_PULL]		= { xfer_start, xfer_work, xfer_moved, .connected = true },
	[RTGT_MSG_PUSH]		= { xfer_start, xfer_work, xfer_moved, .connected = true },
	[RTGT_MSG_REVOKE]	= { revoke_start, revoke_work, rtgt_recv_defer,
				    .connected = true },
	[RTGT_MSG_WITHHOLD]	= { op_withhold },
	[RTGT_MSG_DISCONNECT]	= { op_disconnect, .connected = true },
	[RTGT_MSG_EXTENTS]	= { extents_start, extents_work, rtgt_recv_defer,
				    .connected = true },
};

static_assert(ARRAY_SIZE(ops) == RTGT_MSG_NR);

/* A plain client gets no reply.  Completion context, or process context on a UD port. */
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

/* Continue a deferred request; process context. */
void rtgt_ops_work(struct rtgt_recv_ctx *recv)
{
	ops[recv->rq.op].work(recv);
}

/* Continue a request whose transfer or registration has completed; completion context. */
void rtgt_ops_moved(struct rtgt_recv_ctx *recv)
{
	ops[recv->rq.op].moved(recv);
}

/* Handle the immediate of a WRITE; completion context. */
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
	announce(recv, sizeof(*body));
}
