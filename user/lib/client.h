/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An initiator: one connection and the operations of the protocol.  See client.c.
 */
#ifndef RTGT_CLIENT_H
#define RTGT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm.h"
#include "log.h"
#include "mr.h"
#include "qp.h"
#include "wire.h"

/* Completions that may arrive while another is waited for */
#define RTGT_KEPT	8

/**
 * struct rtgt_client_param - how to connect
 * @cm: where to
 * @poll: as in struct rtgt_qp_param
 * @payload: bytes of the largest echo wanted; the target's recv_size may allow less
 */
struct rtgt_client_param {
	struct rtgt_cm_param cm;
	bool poll;
	uint32_t payload;
};

/**
 * struct rtgt_client - a connected initiator
 * @cm: the connection
 * @qp: its queue pair; @qp.pd takes the caller's registrations
 * @peer: what the target said
 * @payload: bytes of the largest echo this connection can do
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
	struct rtgt_peer peer;
	uint32_t payload;
	struct rtgt_mr tx;
	struct rtgt_mr rx;
	uint64_t wr_id;
	uint32_t tag;
	struct ibv_wc kept[RTGT_KEPT];
	unsigned int nr_kept;
};

/**
 * struct rtgt_rdma - a one-sided operation
 * @opcode: IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM or IBV_WR_RDMA_READ
 * @region: index in rtgt_client.peer
 * @remote: first byte, counted from the region's beginning
 * @mr: local buffer, registered in rtgt_client.qp.pd
 * @local: first byte, counted from @mr->buf
 * @len: bytes
 * @imm: of a WRITE_WITH_IMM, from rtgt_imm()
 */
struct rtgt_rdma {
	enum ibv_wr_opcode opcode;
	uint32_t region;
	uint64_t remote;
	const struct rtgt_mr *mr;
	size_t local;
	uint32_t len;
	uint32_t imm;
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

int rtgt_client_open(struct rtgt_client *c, const struct rtgt_client_param *param,
		     struct rtgt_err *err);
void rtgt_client_close(struct rtgt_client *c);
int rtgt_client_rdma(struct rtgt_client *c, const struct rtgt_rdma *op, struct rtgt_took *took,
		     struct rtgt_err *err);
int rtgt_client_echo(struct rtgt_client *c, uint32_t len, struct rtgt_took *took,
		     struct rtgt_err *err);
int rtgt_client_checksum(struct rtgt_client *c, uint32_t region, uint64_t offset, uint64_t len,
			 uint32_t *crc, struct rtgt_err *err);

/* Where an echo's bytes go out from, and where they come back to */
static inline uint8_t *rtgt_client_tx(const struct rtgt_client *c)
{
	return c->tx.buf + sizeof(struct rtgt_msg);
}

static inline const uint8_t *rtgt_client_rx(const struct rtgt_client *c)
{
	return c->rx.buf + sizeof(struct rtgt_msg);
}

#endif /* RTGT_CLIENT_H */
