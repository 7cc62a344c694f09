// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: what a request, or an immediate, makes the target do.
 *
 * The module's own decoder (kmod/proto/proto.c) validates a message.  This file checks and
 * executes the request in the same order as the module (kmod/target/ops.c), so that both
 * targets answer alike.  A function gets a receive context whose @rq holds the decoded
 * request, and ends in a reply, or in the end of the connection.
 *
 * What takes long is done in steps, between which the others have their turn: a checksum
 * waits in the server's list of deferred contexts, a transfer for its completions.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>

#include <rtgt/pattern.h>
#include "serve.h"

/* One transfer's work request at most, as the module */
#define XFER_BYTES	(1024 * 1024)

/* One step of a checksum: a fraction of a millisecond */
#define CRC_BYTES	(256 * 1024)

static void *body_of(struct serve_recv *recv)
{
	return recv->buf + sizeof(struct rtgt_msg);
}

static struct serve_map *map_of(const struct serve_recv *recv)
{
	return &recv->conn->domain->map[recv->rq.region];
}

/* Send the reply to @recv->rq; the buffer holds @len bytes of body after the header */
static void reply(struct serve_recv *recv, uint32_t status, uint32_t len)
{
	struct serve_conn *c = recv->conn;

	if (recv->silent) {
		recv->silent = false;
		serve_recv_done(recv);
		return;
	}
	if (c->state == SERVE_CLOSING)
		return;
	rtgt_encode_reply(recv->buf, &recv->rq, status, len, recv->imm);
	if (status != RTGT_OK)
		serve_count(c->s, RTGT_MALFORMED, 1);
	len += (uint32_t)sizeof(struct rtgt_msg);
	if (c->s->cfg.faulty)
		len = serve_fault_reply(recv, len);
	if (len)
		serve_reply_send(recv, len);
}

/* The status a request's region and range deserve */
static uint32_t check_range(const struct serve_recv *recv)
{
	const struct rtgt_request *rq = &recv->rq;

	if (rq->region >= recv->conn->domain->nr)
		return RTGT_ST_REGION;
	if (!rtgt_range_ok(rq->offset, rq->count, map_of(recv)->mem->size))
		return RTGT_ST_RANGE;
	return RTGT_OK;
}

static void op_echo(struct serve_recv *recv)
{
	reply(recv, RTGT_OK, recv->rq.len);
}

static void checksum_step(struct serve_recv *recv)
{
	uint64_t left = recv->rq.count - recv->done;
	size_t here = left < CRC_BYTES ? left : CRC_BYTES;
	struct rtgt_crc *body = body_of(recv);

	recv->crc = rtgt_crc32(recv->crc, map_of(recv)->mem->base + recv->rq.offset + recv->done,
			       here);
	recv->done += here;
	if (here < left) {
		recv->then = checksum_step;
		serve_recv_move(recv, &recv->conn->s->deferred);
		return;
	}
	serve_recv_move(recv, NULL);
	body->crc = htobe32(recv->crc);
	body->rsvd = 0;
	body->len = htobe64(recv->rq.count);
	reply(recv, RTGT_OK, sizeof(*body));
}

static void op_checksum(struct serve_recv *recv)
{
	uint32_t status = check_range(recv);

	/* it tells of the bytes what a READ would */
	if (status == RTGT_OK && !(map_of(recv)->access & RTGT_ACCESS_READ))
		status = RTGT_ST_ACCESS;
	recv->crc = 0;
	recv->done = 0;
	if (status == RTGT_OK && recv->conn->s->cfg.faulty)
		serve_fault_checksum(recv->conn->s, map_of(recv)->mem->base + recv->rq.offset,
				     recv->rq.count);
	if (status == RTGT_OK)
		checksum_step(recv);
	else
		reply(recv, status, 0);
}

/* One work request of a transfer; its completion comes here for the next */
static void xfer_step(struct serve_recv *recv)
{
	struct rtgt_request *rq = &recv->rq;
	struct serve_map *map = map_of(recv);
	const struct rtgt_mr own = { .mr = map->own, .buf = map->mem->base };
	struct rtgt_wr wr = {
		.opcode = rq->op == RTGT_MSG_PULL ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		.mr = &own,
		.offset = rq->offset,
		.len = rq->count < XFER_BYTES ? (uint32_t)rq->count : XFER_BYTES,
		.remote_addr = rq->addr,
		.rkey = rq->rkey,
	};

	if (!rq->count) {
		reply(recv, RTGT_OK, 0);
		return;
	}
	rq->offset += wr.len;
	rq->count -= wr.len;
	rq->addr += wr.len;
	serve_xfer(recv, &wr, xfer_step);
}

/* What a peer may not write itself, the target does not write for it */
static void op_xfer(struct serve_recv *recv)
{
	bool pull = recv->rq.op == RTGT_MSG_PULL;
	uint32_t needs = pull ? RTGT_ACCESS_WRITE : RTGT_ACCESS_READ;
	uint32_t status = check_range(recv);

	if (status == RTGT_OK && !(map_of(recv)->access & needs))
		status = RTGT_ST_ACCESS;
	if (status == RTGT_OK && pull && !recv->conn->can_read)
		status = RTGT_ST_DEPTH;
	if (status == RTGT_OK &&
	    (!recv->conn->s->cfg.faulty ||
	     !serve_fault_move(recv, map_of(recv)->mem->size, xfer_step)))
		xfer_step(recv);
	else
		reply(recv, status, 0);
}

static void revoked(struct serve_recv *recv)
{
	struct serve_map *map = map_of(recv);

	serve_count(recv->conn->s, RTGT_ROTATIONS, map->nr);
	rtgt_encode_region(body_of(recv), map->iova[0], recv->rq.rkey, serve_extent_len(map, 0),
			   serve_map_access(map));
	reply(recv, RTGT_OK, sizeof(struct rtgt_region));
}

/*
 * Of a shared region a key is the others' too.  The module makes it anew if a peer has
 * killed it; here the device lets no peer do that.
 */
static void op_revoke(struct serve_recv *recv)
{
	struct serve_conn *c = recv->conn;
	struct serve_map *map;
	int ret;

	if (recv->rq.region >= c->domain->nr) {
		reply(recv, RTGT_ST_REGION, 0);
		return;
	}
	if (!c->s->cfg.private) {
		reply(recv, RTGT_ST_SHARED, 0);
		return;
	}
	map = map_of(recv);
	if (map->mw) {
		/* its own key, whatever REVOKE comes behind it */
		serve_bind(recv, &map, 1, revoked);
		recv->rq.rkey = serve_key(map, 0);
		return;
	}
	ret = serve_domain_rotate(c->domain, recv->rq.region);
	if (ret == -EBUSY) {
		serve_close(c, "an rkey could not be revoked");
	} else if (ret) {
		reply(recv, RTGT_ST_FAILED, 0);
	} else {
		recv->rq.rkey = serve_key(map, 0);
		revoked(recv);
	}
}

static uint32_t min3(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* As many capabilities as the reply and the initiator have room for */
static void op_extents(struct serve_recv *recv)
{
	const struct rtgt_request *rq = &recv->rq;
	uint32_t room = recv->conn->s->cfg.recv_size - (uint32_t)sizeof(struct rtgt_msg) -
			(uint32_t)sizeof(struct rtgt_extents);
	struct serve_map *map;
	uint32_t nr, at;

	if (rq->region >= recv->conn->domain->nr) {
		reply(recv, RTGT_ST_REGION, 0);
		return;
	}
	map = map_of(recv);
	if (rq->offset >= map->nr) {
		reply(recv, RTGT_ST_RANGE, 0);
		return;
	}
	at = (uint32_t)rq->offset;
	nr = min3((uint32_t)rq->count, room / (uint32_t)sizeof(struct rtgt_cap), map->nr - at);
	rtgt_encode_extents(body_of(recv), map->mem->size, map->nr, nr);
	for (uint32_t i = 0; i < nr; i++)
		rtgt_encode_extent(body_of(recv), i, map->iova[at + i], serve_key(map, at + i),
				   serve_extent_len(map, at + i));
	reply(recv, RTGT_OK,
	      (uint32_t)(sizeof(struct rtgt_extents) + nr * sizeof(struct rtgt_cap)));
}

/* Its receive was not replaced when it came: serve_message() */
static void op_withhold(struct serve_recv *recv)
{
	reply(recv, RTGT_OK, 0);
}

static void op_disconnect(struct serve_recv *recv)
{
	serve_close(recv->conn, "asked for by the peer");
}

static void (*const ops[])(struct serve_recv *recv) = {
	[RTGT_MSG_ECHO]		= op_echo,
	[RTGT_MSG_CHECKSUM]	= op_checksum,
	[RTGT_MSG_PULL]		= op_xfer,
	[RTGT_MSG_PUSH]		= op_xfer,
	[RTGT_MSG_REVOKE]	= op_revoke,
	[RTGT_MSG_WITHHOLD]	= op_withhold,
	[RTGT_MSG_DISCONNECT]	= op_disconnect,
	[RTGT_MSG_EXTENTS]	= op_extents,
};

static_assert(sizeof(ops) / sizeof(ops[0]) == RTGT_MSG_NR, "a request without a function");

/* A datagram client gets RTGT_ST_OP for these */
static const bool connected[sizeof(ops) / sizeof(ops[0])] = {
	[RTGT_MSG_PULL]		= true,
	[RTGT_MSG_PUSH]		= true,
	[RTGT_MSG_REVOKE]	= true,
	[RTGT_MSG_DISCONNECT]	= true,
	[RTGT_MSG_EXTENTS]	= true,
};

/* A SEND arrived.  A plain client's is only counted: it would not know an answer */
void serve_message(struct serve_recv *recv)
{
	struct serve_conn *c = recv->conn;
	uint32_t status;

	if (c->plain) {
		serve_recv_done(recv);
		return;
	}
	status = rtgt_decode_msg(recv->buf, recv->len, &recv->rq);
	if (status == RTGT_OK && connected[recv->rq.op] && c->s->cfg.transport == SERVE_UD)
		status = RTGT_ST_OP;
	if (status == RTGT_OK && recv->rq.op == RTGT_MSG_WITHHOLD && recv->rq.ms) {
		if (recv->pool->withheld < recv->pool->withhold_max) {
			recv->later_ms = recv->rq.ms;
			recv->pool->withheld++;
		} else {
			status = RTGT_ST_LIMIT;
		}
	}
	recv = serve_recv_keep(recv);
	if (!recv)
		return;
	if (status == RTGT_OK)
		ops[recv->rq.op](recv);
	else
		reply(recv, status, 0);
}

/* A WRITE of @recv->len bytes brought an immediate */
void serve_imm(struct serve_recv *recv)
{
	struct rtgt_imm_ack *body;

	if (recv->conn->plain || rtgt_imm_op(recv->imm) != RTGT_IMM_ACK) {
		serve_recv_done(recv);
		return;
	}
	recv = serve_recv_keep(recv);
	if (!recv)
		return;
	body = body_of(recv);
	recv->rq = (struct rtgt_request) {
		.op = RTGT_MSG_IMM,
		.tag = rtgt_imm_arg(recv->imm),
	};
	body->byte_len = htobe32(recv->len);
	reply(recv, RTGT_OK, sizeof(*body));
}
