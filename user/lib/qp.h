/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A queue pair with its completion queue.  See qp.c.
 */
#ifndef RTGT_QP_H
#define RTGT_QP_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "cm.h"
#include "log.h"
#include "mr.h"

/**
 * struct rtgt_qp_param - what queue pair to make
 * @send_depth: work requests outstanding on the send queue
 * @recv_depth: receives posted
 * @poll: spin on the completion queue rather than sleep until an event
 */
struct rtgt_qp_param {
	uint32_t send_depth;
	uint32_t recv_depth;
	bool poll;
};

/**
 * struct rtgt_qp - a reliable connection's queue pair
 * @cm: the connection it belongs to
 * @pd: its protection domain, for the caller's registrations too
 * @channel: where completion events come from; NULL when polling
 * @cq: completions of both queues
 * @qp: the queue pair; owned by @cm->id
 * @events: completion events taken and not yet acknowledged
 */
struct rtgt_qp {
	struct rtgt_cm *cm;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	unsigned int events;
};

/**
 * struct rtgt_wr - a work request
 * @id: comes back in the completion
 * @opcode: IBV_WR_*
 * @mr: local buffer
 * @offset: first byte, counted from @mr->buf
 * @len: bytes; 0 makes a request without a scatter-gather entry
 * @remote_addr: for READ and WRITE
 * @rkey: for READ and WRITE
 * @imm: for the opcodes with an immediate, host order
 */
struct rtgt_wr {
	uint64_t id;
	enum ibv_wr_opcode opcode;
	const struct rtgt_mr *mr;
	size_t offset;
	uint32_t len;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t imm;
};

int rtgt_qp_create(struct rtgt_qp *q, struct rtgt_cm *cm, const struct rtgt_qp_param *param,
		   struct rtgt_err *err);
void rtgt_qp_destroy(struct rtgt_qp *q);
int rtgt_qp_post(struct rtgt_qp *q, const struct rtgt_wr *wr, struct rtgt_err *err);
int rtgt_qp_post_recv(struct rtgt_qp *q, uint64_t id, const struct rtgt_mr *mr, uint32_t len,
		      struct rtgt_err *err);
int rtgt_qp_wait(struct rtgt_qp *q, struct ibv_wc *wc, struct rtgt_err *err);
void rtgt_qp_log(const struct rtgt_qp *q);

const char *rtgt_wc_meaning(enum ibv_wc_status status);
const char *rtgt_mtu_str(enum ibv_mtu mtu);

#endif /* RTGT_QP_H */
