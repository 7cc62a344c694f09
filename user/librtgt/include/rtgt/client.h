/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An initiator: one connection and the operations of the protocol.  client.c opens it; submit.c
 * and complete.c begin operations and take what is done; request.c does one at a time and waits.
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
#include <rtgt/rtgt.h>
#include <rtgt/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Operations of one rtgt_client_chain() */
#define RTGT_CHAIN_MAX	160u

/* Operations that rtgt.h does not have */
enum {
	RTGT_WORK_EXTENTS = RTGT_WORK_PUSH + 1,
	RTGT_WORK_REVOKE,
	RTGT_WORK_BIND,
	RTGT_WORK_UNBIND,
	RTGT_KINDS,
};

/**
 * struct rtgt_client_param - how to connect
 * @cm: where to
 * @poll: as in struct rtgt_qp_param
 * @payload: bytes of the largest echo wanted; the target's recv_size may allow less
 * @sges: pieces of a work request
 * @depth: operations that may be outstanding; 0 is 1
 * @messages: those of them that the target answers; 0 is 1
 * @copies: the bytes of an echo are the caller's, and only small ones are copied into a message;
 *	    otherwise the caller puts them at rtgt_client_tx()
 * @flags: IBV_SEND_INLINE, IBV_SEND_FENCE for SENDs; inline makes the queue pair ask for it
 * @odp: register the message buffers on demand, where the device can (rtgt_qp.odp)
 * @pd: as in struct rtgt_qp_param
 */
struct rtgt_client_param {
	struct rtgt_cm_param cm;
	bool poll;
	uint32_t payload;
	unsigned int sges;
	unsigned int depth;
	unsigned int messages;
	bool copies;
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
 * struct rtgt_order - what an operation has that rtgt.h does not let anybody ask for
 * @opcode: of its work requests
 * @imm: of a SEND_WITH_IMM, or of a WRITE_WITH_IMM that is not answered
 * @rkey: to be invalidated
 * @sges: as in struct rtgt_wr
 * @gap: likewise
 * @flags: likewise
 * @window: likewise
 * @access: likewise
 * @body: bytes of a message behind its header; they are at rtgt_client_tx()
 * @reply: filled; its body points into rtgt_client.rx
 */
struct rtgt_order {
	enum ibv_wr_opcode opcode;
	uint32_t imm;
	uint32_t rkey;
	unsigned int sges;
	uint32_t gap;
	unsigned int flags;
	const struct rtgt_window *window;
	unsigned int access;
	uint32_t body;
	struct rtgt_reply reply;
};

/**
 * struct rtgt_slot - an operation from submit to done
 * @work: as submitted; @work.buffer is NULL if none is used any more
 * @mr: its local bytes
 * @order: what else there is to it, or NULL
 * @done: as far as it is known
 * @start: rtgt_now_ns() of the first post; 0 before
 * @moved: bytes for which work requests were posted
 * @last_len: those of the last work request
 * @tag: of the request, or the argument of the immediate
 * @tx: which message of rtgt_client.tx it uses
 * @under_way: its work requests in the send queue
 * @busy: submitted and not yet taken
 * @quiet: it asks for no completion
 * @awaited: the reply has not come
 * @ready: done, to be taken
 */
struct rtgt_slot {
	struct rtgt_work work;
	const struct rtgt_mr *mr;
	struct rtgt_order *order;
	struct rtgt_done done;
	uint64_t start;
	uint64_t moved;
	uint32_t last_len;
	uint32_t tag;
	unsigned int tx;
	unsigned int under_way;
	bool busy, quiet, awaited, ready;
};

/**
 * struct rtgt_sent - a work request in the send queue
 * @slot: whose; NULL if the operation was done before this completes, or this has
 * @buffer: what it holds then; NULL for none
 * @quiet: it asks for no completion
 * @done: it has completed
 */
struct rtgt_sent {
	struct rtgt_slot *slot;
	struct rtgt_buffer *buffer;
	bool quiet, done;
};

/**
 * struct rtgt_client - a connected initiator
 * @cm: the connection
 * @qp: its queue pair; @qp.pd takes the caller's registrations
 * @peer: what the target said in its REP
 * @layout: its regions, whole
 * @payload: bytes of the largest echo this connection can do
 * @head: bytes in front of a message in @rx: the address header of a datagram
 * @sges: pieces of a SEND
 * @flags: of a SEND
 * @copies: as in struct rtgt_client_param
 * @tx: request messages, header first
 * @tx_stride: bytes of each
 * @free_tx: those that are not in use
 * @nr_free_tx: how many
 * @rx: reply messages, header first
 * @rx_stride: bytes of each
 * @recvs: receives posted so far; they use the messages of @rx in turn
 * @nr_recvs: those of them that have not completed
 * @depth: operations that may be outstanding
 * @slot: @depth of them
 * @busy: slots in use
 * @next: where to look for a free one
 * @ready: slots that are done, in the order in which they were
 * @nr_ready: how many
 * @nr_messages: messages of @tx and of @rx
 * @messages: operations that await a reply
 * @messages_max: how many may
 * @sent: the send queue, a ring, in the order in which work requests were posted
 * @sent_max: how many fit there
 * @sends: posted so far
 * @nr_sent: those of them that have not completed
 * @nr_quiet: how many of the last ask for no completion
 * @partial: an operation of which a piece is still to be posted; NULL for none
 * @armed: the next completion raises an event, or one has come that was not waited for
 * @unread: events that were waited for and not taken
 * @readable: all that are there shall be
 * @waits: epoll of the events of both kinds and of the caller's descriptor; -1 where it polls
 * @timer: becomes readable when a connection that has ended is given up; -1 for none
 * @ending_ns: when that is; 0 while the connection stands
 * @broken: errno: it is of no use any more, and its queue pair in the error state
 * @drained_ns: when what the device may not have flushed is given up
 * @why: the same in words
 */
struct rtgt_client {
	struct rtgt_cm cm;
	struct rtgt_qp qp;
	struct rtgt_rep_info peer;
	struct rtgt_layout layout[RTGT_MAX_REGIONS];
	uint32_t payload;
	uint32_t head;
	unsigned int sges;
	unsigned int flags;
	bool copies;
	struct rtgt_mr tx;
	uint32_t tx_stride;
	unsigned int *free_tx;
	unsigned int nr_free_tx;
	struct rtgt_mr rx;
	uint32_t rx_stride;
	uint64_t recvs;
	unsigned int nr_recvs;
	unsigned int depth;
	struct rtgt_slot *slot;
	unsigned int busy;
	unsigned int next;
	unsigned int *ready;
	unsigned int nr_ready;
	unsigned int nr_messages;
	unsigned int messages;
	unsigned int messages_max;
	struct rtgt_sent *sent;
	unsigned int sent_max;
	uint64_t sends;
	unsigned int nr_sent;
	unsigned int nr_quiet;
	struct rtgt_slot *partial;
	bool armed;
	unsigned int unread;
	bool readable;
	int waits;
	int timer;
	uint64_t ending_ns;
	int broken;
	uint64_t drained_ns;
	struct rtgt_err why;
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
 * @imm: of a WRITE_WITH_IMM to a target that does not speak rtgt; the library chooses others
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
