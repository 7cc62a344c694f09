/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A queue pair with its completion queue.  See qp.c.
 */
#ifndef RTGT_QP_H
#define RTGT_QP_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include <rtgt/cm.h>
#include <rtgt/log.h>
#include <rtgt/mr.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Pieces a work request may have, if the device takes as many: more than any does */
#define RTGT_SGES	128

/* The address header in front of what a datagram brings */
#define RTGT_GRH	40

/* When a peer over iWARP that did not answer yet is woken, and the wr_id of what does it */
#define RTGT_WAKE_MS	100
#define RTGT_WAKES_MAX	8
#define RTGT_WAKE_ID	UINT64_MAX

/*
 * IBV_WR_FLUSH and IBV_WR_ATOMIC_WRITE of rdma-core 45 and later; with an older
 * one no queue pair has RTGT_CAN_FLUSH or RTGT_CAN_ATOMIC_WRITE.
 */
#define RTGT_WR_FLUSH		((enum ibv_wr_opcode)14)
#define RTGT_WR_ATOMIC_WRITE	((enum ibv_wr_opcode)15)
#define RTGT_WC_FLUSH		((enum ibv_wc_opcode)8)
#define RTGT_WC_ATOMIC_WRITE	((enum ibv_wc_opcode)9)

/* rtgt_qp.can: what not every device can */
#define RTGT_CAN_ATOMIC		0x1U
#define RTGT_CAN_FLUSH		0x2U
#define RTGT_CAN_ATOMIC_WRITE	0x4U
#define RTGT_CAN_WINDOW		0x8U	/* memory windows of type 2 */
#define RTGT_CAN_ODP		0x10U	/* registrations on demand, see rtgt_qp.odp */
#define RTGT_CAN_IMM		0x20U	/* immediates; no attribute tells: iWARP has none */

/**
 * struct rtgt_qp_param - what queue pair to make
 * @send_depth: work requests outstanding on the send queue
 * @recv_depth: receives posted
 * @sges: pieces of a work request, at most RTGT_SGES; 0 is 1
 * @heads: what is sent may have a head of its own, see struct rtgt_wr
 * @inline_data: ask for as much inline data as the device gives
 * @poll: spin on the completion queue rather than sleep until an event
 * @pd: a protection domain of the caller's, which outlives the queue pair; NULL makes one
 */
struct rtgt_qp_param {
	uint32_t send_depth;
	uint32_t recv_depth;
	uint32_t sges;
	bool heads;
	bool inline_data;
	bool poll;
	struct ibv_pd *pd;
};

#define RTGT_OPCODES	16

/**
 * struct rtgt_qp - a connection's queue pair
 * @cm: the connection it belongs to
 * @pd: its protection domain, for the caller's registrations too
 * @borrowed_pd: @pd is the caller's
 * @channel: where completion events come from; NULL when polling
 * @cq: completions of both queues
 * @qp: the queue pair; owned by @cm->id
 * @ex: the same, to post what needs the newer calls; NULL when there is no such operation
 * @ah: where a datagram goes; NULL when connected
 * @can: RTGT_CAN_* of the device and the library
 * @unbuilt: those of the device this was built without, for want of a newer rdma-core
 * @odp: what may use memory registered on demand: enum ibv_odp_transport_cap_bits
 * @recv_sges: pieces a receive is cut into
 * @max_sge_rd: pieces a READ may have
 * @max_inline: bytes that may be posted inline
 * @mtu: bytes of the largest packet of our own port
 * @events: completion events taken and not yet acknowledged
 * @made_ns: how long it took to make domain, queues and queue pair
 * @heard: the peer has sent something
 * @wakes: what rtgt_qp_wake() posted and has not completed
 * @posted: work requests by their opcode, which are all below RTGT_OPCODES
 */
struct rtgt_qp {
	struct rtgt_cm *cm;
	struct ibv_pd *pd;
	bool borrowed_pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
	struct ibv_ah *ah;
	unsigned int can;
	unsigned int unbuilt;
	unsigned int odp;
	uint32_t recv_sges;
	uint32_t max_sge_rd;
	uint32_t max_inline;
	uint32_t mtu;
	unsigned int events;
	uint64_t made_ns;
	bool heard;
	unsigned int wakes;
	struct {
		uint64_t count, bytes;
	} posted[RTGT_OPCODES];
};

/**
 * struct rtgt_wr - a work request
 * @id: comes back in the completion
 * @opcode: IBV_WR_*, RTGT_WR_FLUSH or RTGT_WR_ATOMIC_WRITE (of the 8 bytes at @offset).
 *	    IBV_WR_BIND_MW gives @window the bytes at @offset and a new key
 * @mr: local buffer
 * @offset: first byte, counted from @mr->buf
 * @len: bytes; 0 makes a request without a scatter-gather entry
 * @head: bytes in front of those, in one piece; NULL for none.  See rtgt_qp_param.heads
 * @head_len: how many
 * @sges: pieces the local bytes are cut into by rtgt_piece(); 0 is 1
 * @gap: bytes between each two pieces
 * @all: of a request that is a part of a larger range, the bytes of that: it is the
 *	 range that lies at @offset and is cut into pieces; otherwise 0
 * @at: the request's first byte in it
 * @remote_addr: for what is one-sided
 * @rkey: likewise; for SEND_WITH_INV and IBV_WR_LOCAL_INV the key to invalidate
 * @imm: for the opcodes with an immediate, host order
 * @compare_add: for atomics, what to compare with or to add
 * @swap: for COMPARE_AND_SWAP
 * @flags: IBV_SEND_FENCE, IBV_SEND_INLINE; inline is ignored where it cannot be
 * @unsignaled: no completion unless it fails
 * @window: what is bound
 * @access: what it grants, IBV_ACCESS_REMOTE_*
 */
struct rtgt_wr {
	uint64_t id;
	enum ibv_wr_opcode opcode;
	const struct rtgt_mr *mr;
	size_t offset;
	uint32_t len;
	const struct rtgt_mr *head;
	uint32_t head_len;
	unsigned int sges;
	uint32_t gap;
	uint32_t all;
	uint32_t at;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t imm;
	uint64_t compare_add;
	uint64_t swap;
	unsigned int flags;
	bool unsignaled;
	const struct rtgt_window *window;
	unsigned int access;
};

/**
 * rtgt_piece() - cut bytes into pieces of about the same size
 * @len: bytes
 * @n: pieces
 * @i: which
 * @at: its first byte
 *
 * Return: its bytes; 0 is possible when @len is below @n.
 */
static inline uint32_t rtgt_piece(uint32_t len, unsigned int n, unsigned int i, uint32_t *at)
{
	*at = (uint32_t)((uint64_t)len * i / n);
	return (uint32_t)((uint64_t)len * (i + 1) / n) - *at;
}

void rtgt_ignore_sigpipe(void);
int rtgt_qp_create(struct rtgt_qp *q, struct rtgt_cm *cm, const struct rtgt_qp_param *param,
		   struct rtgt_err *err);
void rtgt_qp_destroy(struct rtgt_qp *q);
int rtgt_qp_address(struct rtgt_qp *q, struct rtgt_err *err);
int rtgt_qp_post(struct rtgt_qp *q, const struct rtgt_wr *wr, struct rtgt_err *err);
int rtgt_qp_post_recv(struct rtgt_qp *q, uint64_t id, const struct rtgt_mr *mr, uint32_t len,
		      struct rtgt_err *err);
bool rtgt_qp_unheard(const struct rtgt_qp *q);
void rtgt_qp_wake(struct rtgt_qp *q);
int rtgt_qp_poll(struct rtgt_qp *q, struct ibv_wc *wc, int max, struct rtgt_err *err);
bool rtgt_qp_event(struct rtgt_qp *q);
int rtgt_qp_arm(struct rtgt_qp *q, struct rtgt_err *err);
int rtgt_qp_wait(struct rtgt_qp *q, struct ibv_wc *wc, struct rtgt_err *err);
void rtgt_qp_log(const struct rtgt_qp *q);

/* names.c */
const char *rtgt_wr_opcode_str(enum ibv_wr_opcode opcode);
const char *rtgt_wc_opcode_str(enum ibv_wc_opcode opcode);
const char *rtgt_qp_state_str(enum ibv_qp_state state);
const char *rtgt_wc_meaning(enum ibv_wc_status status);
const char *rtgt_mtu_str(enum ibv_mtu mtu);

#ifdef __cplusplus
}
#endif

#endif /* RTGT_QP_H */
