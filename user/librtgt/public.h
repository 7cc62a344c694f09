/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is behind the handles of rtgt/rtgt.h.  See domain.c, conn.c, submit.c and complete.c.
 */
#ifndef RTGT_PUBLIC_H
#define RTGT_PUBLIC_H

#include <rtgt/client.h>
#include <rtgt/rtgt.h>

/**
 * struct rtgt_where - parameters of a connection whose strings are our own
 * @cm: points to the strings
 * @host: copy, or NULL
 * @port: copy, or NULL
 * @source: copy, or NULL
 */
struct rtgt_where {
	struct rtgt_cm_param cm;
	char *host, *port, *source;
};

/**
 * struct rtgt_domain - a device and a protection domain
 * @where: the host on the way to which the device is
 * @cm: resolved, never connected
 * @pd: of all connections and buffers
 * @users: connections and buffers; atomic
 */
struct rtgt_domain {
	struct rtgt_where where;
	struct rtgt_cm cm;
	struct ibv_pd *pd;
	unsigned int users;
};

/**
 * struct rtgt_buffer - registered memory
 * @domain: where it is registered
 * @mr: @mr.base is NULL if the memory is the caller's
 * @flags: RTGT_BUFFER_*
 * @users: operations; atomic
 */
struct rtgt_buffer {
	struct rtgt_domain *domain;
	struct rtgt_mr mr;
	uint32_t flags;
	unsigned int users;
};

/* wr_id: what has completed, a work request or a receive, and its index */
#define RTGT_ID_SENT		(1ull << 61)
#define RTGT_ID_RECV		(1ull << 60)
#define RTGT_ID_INDEX(id)	((unsigned int)((id) & 0xffffu))

/**
 * struct rtgt_kind - what the operations of one enum rtgt_work_type have in common
 * @name: as a person calls it
 * @opcode: of its work requests
 * @op: of the reply
 * @answered: there is a reply
 * @message: it is a SEND to the target, which does what is to be done
 * @atomic: it has 8 bytes
 * @bytes: it uses a buffer
 * @needs: RTGT_CAN_* that the device must have
 * @access: RTGT_BUFFER_* that the buffer must have
 */
struct rtgt_kind {
	const char *name;
	enum ibv_wr_opcode opcode;
	enum rtgt_op op;
	bool answered, message, atomic, bytes;
	unsigned int needs;
	uint32_t access;
};

/* What is copied into a message: more costs more than a second entry in the list of its bytes */
#define RTGT_COPY_MAX	256

#define RTGT_KINDS	(RTGT_WORK_PUSH + 1)

extern const struct rtgt_kind rtgt_kinds[RTGT_KINDS];

struct rtgt_slot;

/**
 * struct rtgt_sent - a work request in the send queue
 * @slot: whose; NULL if the operation was done before this completes
 * @buffer: what it holds then; NULL for none
 */
struct rtgt_sent {
	struct rtgt_slot *slot;
	struct rtgt_buffer *buffer;
};

/**
 * struct rtgt_slot - an operation from submit to done
 * @work: as submitted; @work.buffer is NULL if none is used any more
 * @done: as far as it is known
 * @start: rtgt_now_ns() of the post
 * @moved: bytes for which work requests were posted
 * @last_len: those of the last work request
 * @tag: of the request, or the argument of the immediate
 * @sent: its work request that is under way; NULL for none
 * @busy: submitted and not yet taken
 * @quiet: it asks for no completion
 * @awaited: the reply has not come
 * @ready: done, to be taken
 */
struct rtgt_slot {
	struct rtgt_work work;
	struct rtgt_done done;
	uint64_t start;
	uint64_t moved;
	uint32_t last_len;
	uint32_t tag;
	struct rtgt_sent *sent;
	bool busy, quiet, awaited, ready;
};

/**
 * struct rtgt_conn - a connection
 * @domain: of its buffers
 * @where: parameters
 * @client: the connection itself
 * @tx: requests, one for each slot
 * @rx: replies, likewise
 * @tx_stride: bytes of a request: large bodies are not copied there
 * @stride: bytes of a reply
 * @depth: slots
 * @busy: slots in use
 * @next: where to look for a free one
 * @ready: slots that are done, in the order in which they were
 * @nr_ready: how many
 * @messages: operations that await a reply
 * @messages_max: receives that the target has for them
 * @free_recv: messages of @rx that are not posted
 * @nr_free_recv: how many
 * @slot: @depth of them
 * @sent: the send queue, a ring: work requests complete in the order in which they were posted
 * @sent_max: how many fit there
 * @nr_sent: how many are there
 * @oldest: the first of them
 * @nr_quiet: how many at the end of it ask for no completion
 * @armed: the next completion raises an event, or one has come that was not taken
 * @readable: one has
 * @epoll: of the completion channel, of the connection's events and of @timer; -1 for none
 * @timer: makes @epoll readable when a connection that has ended is given up
 * @ending_ns: when that is; 0 while the connection stands
 * @partial: an operation of which a piece is still to be posted; NULL for none
 * @broken: errno: it is of no use any more, and its queue pair in the error state
 * @drained_ns: when what the device may not have flushed is given up
 * @why: the same in words
 */
struct rtgt_conn {
	struct rtgt_domain *domain;
	struct rtgt_where where;
	struct rtgt_client client;
	struct rtgt_mr tx;
	struct rtgt_mr rx;
	uint32_t tx_stride;
	uint32_t stride;
	unsigned int depth;
	unsigned int busy;
	unsigned int next;
	unsigned int *ready;
	unsigned int nr_ready;
	unsigned int messages;
	unsigned int messages_max;
	unsigned int *free_recv;
	unsigned int nr_free_recv;
	struct rtgt_slot *slot;
	struct rtgt_sent *sent;
	unsigned int sent_max;
	unsigned int nr_sent;
	unsigned int oldest;
	unsigned int nr_quiet;
	bool armed;
	bool readable;
	int epoll;
	int timer;
	uint64_t ending_ns;
	const struct rtgt_slot *partial;
	int broken;
	uint64_t drained_ns;
	struct rtgt_err why;
};

static inline const struct rtgt_kind *rtgt_kind_of(const struct rtgt_slot *s)
{
	return &rtgt_kinds[s->work.type];
}

/* A message of @all */
static inline struct rtgt_mr rtgt_message_of(const struct rtgt_mr *all, uint32_t stride,
					     unsigned int i)
{
	return (struct rtgt_mr) {
		.mr = all->mr, .buf = all->buf + (size_t)i * stride, .len = stride,
	};
}

bool rtgt_tail_is_clear(const void *structure, uint32_t size, size_t known);
int rtgt_slot_post(struct rtgt_conn *c, struct rtgt_slot *s, struct rtgt_err *err);
void rtgt_conn_break(struct rtgt_conn *c, const struct rtgt_err *why);
uint64_t rtgt_conn_grace(const struct rtgt_conn *c);
int rtgt_conn_failed(const struct rtgt_conn *c, struct rtgt_err *err);
int rtgt_conn_arm(struct rtgt_conn *c, struct rtgt_err *err);
int rtgt_sent_room(struct rtgt_conn *c, struct rtgt_err *err);
void rtgt_sent_drop(struct rtgt_conn *c);

int rtgt_where_make(struct rtgt_where *where, const struct rtgt_params *params,
		    struct rtgt_err *err);
void rtgt_where_free(struct rtgt_where *where);

#endif /* RTGT_PUBLIC_H */
