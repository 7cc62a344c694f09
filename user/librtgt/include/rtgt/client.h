/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An initiator: one connection and the operations of the protocol.  See client.c.
 */
#ifndef RTGT_CLIENT_H
#define RTGT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rtgt/cm.h>
#include <rtgt/log.h>
#include <rtgt/mr.h>
#include <rtgt/qp.h>
#include <rtgt/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Completions that may arrive while another is waited for */
#define RTGT_KEPT	8

/**
 * struct rtgt_client_param - how to connect
 * @cm: where to
 * @poll: as in struct rtgt_qp_param
 * @payload: bytes of the largest echo wanted; the target's recv_size may allow less
 * @sges: pieces of a work request
 * @heads: as in struct rtgt_qp_param
 * @chain: one-sided operations of one rtgt_client_chain(); 0 is 1
 * @recvs: receives the caller posts itself
 * @flags: IBV_SEND_INLINE, IBV_SEND_FENCE for SENDs; inline makes the queue pair ask for it
 * @odp: register the message buffers on demand, where the device can (rtgt_qp.odp)
 * @pd: as in struct rtgt_qp_param
 */
struct rtgt_client_param {
	struct rtgt_cm_param cm;
	bool poll;
	uint32_t payload;
	unsigned int sges;
	bool heads;
	unsigned int chain;
	unsigned int recvs;
	unsigned int flags;
	bool odp;
	struct ibv_pd *pd;
};

/**
 * struct rtgt_layout - a region and the extents that cover it
 * @size: bytes; 0 when the target did not say
 * @nr: number of extents
 * @extent: in the order of what they cover; NULL when there is one, the peer's region
 */
struct rtgt_layout {
	uint64_t size;
	uint32_t nr;
	struct rtgt_region_info *extent;
};

/**
 * struct rtgt_client - a connected initiator
 * @cm: the connection
 * @qp: its queue pair; @qp.pd takes the caller's registrations
 * @peer: what the target said in its REP
 * @layout: its regions, whole
 * @depth: work requests the send queue holds
 * @payload: bytes of the largest echo this connection can do
 * @head: bytes in front of a message in @rx: the address header of a datagram
 * @sges: pieces of a SEND
 * @flags: of a SEND
 * @tx: the request message, header first
 * @rx: the reply message, header first
 * @wr_id: of the last work request
 * @tag: of the last request message
 * @kept: completions taken while another was waited for
 * @nr_kept: how many
 */
struct rtgt_client {
	struct rtgt_cm cm;
	struct rtgt_qp qp;
	struct rtgt_rep_info peer;
	struct rtgt_layout layout[RTGT_MAX_REGIONS];
	unsigned int depth;
	uint32_t payload;
	uint32_t head;
	unsigned int sges;
	unsigned int flags;
	struct rtgt_mr tx;
	struct rtgt_mr rx;
	uint64_t wr_id;
	uint32_t tag;
	struct ibv_wc kept[RTGT_KEPT];
	unsigned int nr_kept;
};

/**
 * struct rtgt_rdma - a one-sided operation
 * @opcode: a one-sided one of struct rtgt_wr
 * @region: index in rtgt_client.peer
 * @remote: first byte, counted from the region's beginning; where the range crosses
 *	    from one extent into the next, it becomes several work requests
 * @mr: local buffer, registered in rtgt_client.qp.pd
 * @local: first byte, counted from @mr->buf
 * @len: bytes; 8 of an atomic
 * @imm: of a WRITE_WITH_IMM, from rtgt_imm()
 * @sges: as in struct rtgt_wr
 * @gap: likewise
 * @compare_add: likewise
 * @swap: likewise
 * @flags: likewise
 */
struct rtgt_rdma {
	enum ibv_wr_opcode opcode;
	uint32_t region;
	uint64_t remote;
	const struct rtgt_mr *mr;
	size_t local;
	uint32_t len;
	uint32_t imm;
	unsigned int sges;
	uint32_t gap;
	uint64_t compare_add;
	uint64_t swap;
	unsigned int flags;
};

/**
 * struct rtgt_echo - a SEND that is to come back
 * @opcode: IBV_WR_SEND, IBV_WR_SEND_WITH_IMM or IBV_WR_SEND_WITH_INV
 * @len: bytes at rtgt_client_tx(), at most rtgt_client.payload
 * @imm: of a SEND_WITH_IMM, from rtgt_imm()
 * @rkey: of a SEND_WITH_INV: the target's, dead afterwards
 */
struct rtgt_echo {
	enum ibv_wr_opcode opcode;
	uint32_t len;
	uint32_t imm;
	uint32_t rkey;
};

/**
 * struct rtgt_move - a transfer the target makes
 * @op: RTGT_MSG_PULL: from our memory to the region; RTGT_MSG_PUSH: the other way
 * @region: index in rtgt_client.peer
 * @remote: first byte, counted from the region's beginning
 * @mr: local buffer, registered for remote READ or WRITE, unless there is a @window
 * @local: first byte, counted from @mr->buf
 * @len: bytes
 * @window: bound to these bytes: the target gets its key; NULL for @mr's own
 */
struct rtgt_move {
	enum rtgt_op op;
	uint32_t region;
	uint64_t remote;
	const struct rtgt_mr *mr;
	size_t local;
	uint64_t len;
	const struct rtgt_window *window;
};

/**
 * struct rtgt_took - how long an operation took, in nanoseconds from the post
 * @completion: until its own completion: the acknowledgment or the data is here
 * @reply: until the target's answer; 0 for operations that have none
 */
struct rtgt_took {
	uint64_t completion;
	uint64_t reply;
};

/* For the tool: what the public functions do not tell of a connection.  See conn.c */
struct rtgt_conn;
const struct rtgt_client *rtgt_conn_client(const struct rtgt_conn *conn);

int rtgt_client_open(struct rtgt_client *c, const struct rtgt_client_param *param,
		     struct rtgt_err *err);
void rtgt_client_close(struct rtgt_client *c);
int rtgt_client_rdma(struct rtgt_client *c, const struct rtgt_rdma *op, struct rtgt_took *took,
		     struct rtgt_err *err);
int rtgt_client_chain(struct rtgt_client *c, const struct rtgt_rdma *op, unsigned int n,
		      struct rtgt_took *took, struct rtgt_err *err);
int rtgt_client_echo(struct rtgt_client *c, const struct rtgt_echo *echo, struct rtgt_took *took,
		     struct rtgt_err *err);
int rtgt_client_move(struct rtgt_client *c, const struct rtgt_move *move, struct rtgt_took *took,
		     struct rtgt_err *err);
int rtgt_client_bind(struct rtgt_client *c, const struct rtgt_window *window,
		     const struct rtgt_mr *mr, size_t local, uint32_t len, unsigned int access,
		     struct rtgt_err *err);
int rtgt_client_unbind(struct rtgt_client *c, const struct rtgt_window *window,
		       struct rtgt_err *err);
int rtgt_client_revoke(struct rtgt_client *c, uint32_t region, struct rtgt_err *err);
int rtgt_client_extents(struct rtgt_client *c, uint32_t region, struct rtgt_err *err);
int rtgt_client_checksum(struct rtgt_client *c, uint32_t region, uint64_t offset, uint64_t len,
			 uint32_t *crc, struct rtgt_err *err);
int rtgt_client_wait(struct rtgt_client *c, uint64_t id, const char *what, struct ibv_wc *wc,
		     struct rtgt_err *err);

/* Where an echo's bytes go out from, and where they come back to */
static inline uint8_t *rtgt_client_tx(const struct rtgt_client *c)
{
	return c->tx.buf + sizeof(struct rtgt_msg);
}

static inline const uint8_t *rtgt_client_rx(const struct rtgt_client *c)
{
	return c->rx.buf + c->head + sizeof(struct rtgt_msg);
}

#ifdef __cplusplus
}
#endif

#endif /* RTGT_CLIENT_H */
