// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The public library: operations that are submitted.
 *
 * An operation has a slot from rtgt_submit() until its struct rtgt_done is taken (complete.c).  A
 * slot has one work request under way at a time: where a range crosses from one extent into the
 * next, the next work request is posted when the one before has completed.  An operation that asks
 * for no completion may be done, and its slot used again, while its work request is still in the
 * send queue.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"
#include "public.h"

#define LEN_MAX		2147483648u

#define FLAGS	(RTGT_WORK_F_UNCHECKED | RTGT_WORK_F_FENCE | RTGT_WORK_F_UNSIGNALED)

/* A tag: the slot, and above it how often it was used.  All of it fits into an immediate */
#define TAG_SLOT_BITS	10

const struct rtgt_kind rtgt_kinds[RTGT_KINDS] = {
	[RTGT_WORK_WRITE] = { "WRITE", IBV_WR_RDMA_WRITE, .bytes = true },
	[RTGT_WORK_READ] = { "READ", IBV_WR_RDMA_READ, .bytes = true },
	[RTGT_WORK_WRITE_IMM] = { "WRITE_WITH_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, RTGT_MSG_IMM,
				  .answered = true, .bytes = true, .needs = RTGT_CAN_IMM },
	[RTGT_WORK_ECHO] = { "SEND", IBV_WR_SEND, RTGT_MSG_ECHO,
			     .answered = true, .message = true, .bytes = true },
	[RTGT_WORK_CAS] = { "COMPARE_AND_SWAP", IBV_WR_ATOMIC_CMP_AND_SWP,
			    .atomic = true, .bytes = true, .needs = RTGT_CAN_ATOMIC },
	[RTGT_WORK_FAA] = { "FETCH_AND_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD,
			    .atomic = true, .bytes = true, .needs = RTGT_CAN_ATOMIC },
	[RTGT_WORK_ATOMIC_WRITE] = { "ATOMIC_WRITE", RTGT_WR_ATOMIC_WRITE, .atomic = true,
				     .bytes = true, .needs = RTGT_CAN_ATOMIC_WRITE },
	[RTGT_WORK_FLUSH] = { "FLUSH", RTGT_WR_FLUSH, .needs = RTGT_CAN_FLUSH },
	[RTGT_WORK_CHECKSUM] = { "CHECKSUM", IBV_WR_SEND, RTGT_MSG_CHECKSUM,
				 .answered = true, .message = true },
	[RTGT_WORK_PULL] = { "PULL", IBV_WR_SEND, RTGT_MSG_PULL,
			     .answered = true, .message = true, .bytes = true,
			     .access = RTGT_BUFFER_PULL },
	[RTGT_WORK_PUSH] = { "PUSH", IBV_WR_SEND, RTGT_MSG_PUSH,
			     .answered = true, .message = true, .bytes = true,
			     .access = RTGT_BUFFER_PUSH },
};

/**
 * rtgt_conn_break() - note why a connection is of no use any more
 * @c: open; the first reason stays
 * @why: the reason
 */
void rtgt_conn_break(struct rtgt_conn *c, const struct rtgt_err *why)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (c->broken)
		return;
	c->broken = why->code;
	c->why = *why;
	/* what is under way is flushed: only then may its buffers be used for something else */
	ibv_modify_qp(c->client.qp.qp, &attr, IBV_QP_STATE);
	c->drained_ns = rtgt_conn_grace(c);
}

/**
 * rtgt_conn_failed() - say why a connection is of no use any more
 * @c: broken
 * @err: filled
 *
 * Return: a negative errno.
 */
int rtgt_conn_failed(const struct rtgt_conn *c, struct rtgt_err *err)
{
	*err = c->why;
	return -c->broken;
}

static int check_range(const struct rtgt_conn *c, const struct rtgt_work *w,
		       const struct rtgt_kind *k, struct rtgt_err *err)
{
	const uint64_t size = c->client.layout[w->region].size;

	if (w->flags & RTGT_WORK_F_UNCHECKED || w->type == RTGT_WORK_ECHO || !size ||
	    rtgt_range_ok(w->remote, w->len, size))
		return 0;
	return rtgt_fail(err, ERANGE, "%s of %llu bytes at %llu: the region has %llu", k->name,
			 (unsigned long long)w->len, (unsigned long long)w->remote,
			 (unsigned long long)size);
}

static int check_local(const struct rtgt_conn *c, const struct rtgt_work *w,
		       const struct rtgt_kind *k, struct rtgt_err *err)
{
	const struct rtgt_buffer *b = w->buffer;

	if (!k->bytes)
		return 0;
	if (!b)
		return rtgt_fail(err, EINVAL, "a %s without a buffer", k->name);
	if (b->domain != c->domain)
		return rtgt_fail(err, EXDEV, "the buffer belongs to another domain");
	if (k->access & ~b->flags)
		return rtgt_fail(err, EACCES, "%s: the buffer was not made with RTGT_BUFFER_%s",
				 k->name, k->name);
	if (!rtgt_range_ok(w->local, w->len, b->mr.len) ||
	    (w->type == RTGT_WORK_ECHO && !rtgt_range_ok(w->back, w->len, b->mr.len)))
		return rtgt_fail(err, ERANGE, "%s of %llu bytes at %llu of a buffer of %zu",
				 k->name, (unsigned long long)w->len, (unsigned long long)w->local,
				 b->mr.len);
	return 0;
}

static int check_work(const struct rtgt_conn *c, const struct rtgt_work *w, struct rtgt_err *err)
{
	const uint64_t max = w->type == RTGT_WORK_ECHO ? c->client.payload : LEN_MAX;
	const struct rtgt_kind *k;
	int ret;

	if (w->size < offsetof(struct rtgt_work, swap) + sizeof(w->swap))
		return rtgt_fail(err, EINVAL, "work.size is not sizeof(struct rtgt_work)");
	if (!rtgt_tail_is_clear(w, w->size, sizeof(*w)))
		return rtgt_fail(err, E2BIG, "work: this version knows %zu bytes, and more is set",
				 sizeof(*w));
	if (!w->type || w->type >= RTGT_KINDS)
		return rtgt_fail(err, EINVAL, "work.type is %u: this version knows 1 to %u",
				 w->type, RTGT_KINDS - 1);
	k = &rtgt_kinds[w->type];
	if (w->flags & ~FLAGS)
		return rtgt_fail(err, EINVAL, "work.flags 0x%x: this version knows 0x%x",
				 w->flags, FLAGS);
	if (w->region >= c->client.peer.nr)
		return rtgt_fail(err, EINVAL, "region %u: the target has %u", w->region,
				 c->client.peer.nr);
	if (k->atomic && w->len != 8)
		return rtgt_fail(err, EINVAL, "%s of %llu bytes: it has 8", k->name,
				 (unsigned long long)w->len);
	if (k->needs & ~c->client.qp.can)
		return rtgt_fail(err, EOPNOTSUPP, "the device has no %s", k->name);
	if (k->answered && !c->client.peer.rtgt)
		return rtgt_fail(err, EOPNOTSUPP,
				 "the server gave a plain capability: it does not answer a %s",
				 k->name);
	if (w->len > max)
		return rtgt_fail(err, ERANGE, "%s of %llu bytes: at most %llu", k->name,
				 (unsigned long long)w->len, (unsigned long long)max);
	ret = check_range(c, w, k, err);
	return ret ? ret : check_local(c, w, k, err);
}

/* @wr, of @s, is the next in the send queue */
static int post(struct rtgt_conn *c, struct rtgt_slot *s, struct rtgt_wr *wr, struct rtgt_err *err)
{
	const unsigned int i = (c->oldest + c->nr_sent) % c->sent_max;
	int ret;

	/* some ask for a completion all the same: it shows that there is room again */
	wr->unsignaled = s->quiet && c->nr_quiet + 1 < c->sent_max / 2;
	wr->id = RTGT_ID_SENT | i;
	s->start = s->start ? s->start : rtgt_now_ns();
	ret = rtgt_qp_post(&c->client.qp, wr, err);
	if (ret)
		return ret;
	s->sent = &c->sent[i];
	*s->sent = (struct rtgt_sent) { .slot = s };
	c->nr_sent++;
	c->nr_quiet = wr->unsignaled ? c->nr_quiet + 1 : 0;
	return 0;
}

/**
 * rtgt_slot_post() - post the work request for what is left of an operation, within an extent
 * @c: open
 * @s: busy, with nothing under way
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_slot_post(struct rtgt_conn *c, struct rtgt_slot *s, struct rtgt_err *err)
{
	const struct rtgt_work *w = &s->work;
	struct rtgt_wr wr = {
		.opcode = rtgt_kind_of(s)->opcode,
		.mr = w->buffer ? &w->buffer->mr : NULL, .offset = (size_t)(w->local + s->moved),
		.imm = rtgt_imm(RTGT_IMM_ACK, s->tag), .compare_add = w->compare_add,
		.swap = w->swap, .flags = w->flags & RTGT_WORK_F_FENCE ? IBV_SEND_FENCE : 0,
	};
	int ret;

	wr.len = rtgt_layout_piece(&c->client, w->region, w->remote + s->moved,
				   (uint32_t)(w->len - s->moved), &wr.remote_addr, &wr.rkey);
	if (w->type == RTGT_WORK_WRITE_IMM && s->moved + wr.len < w->len)
		wr.opcode = IBV_WR_RDMA_WRITE;
	s->last_len = wr.len;
	s->moved += wr.len;
	s->quiet &= s->moved == w->len;
	ret = post(c, s, &wr, err);
	c->partial = !ret && s->moved < w->len ? s : NULL;
	return ret;
}

/* What a request has behind its header: its length.  The bytes of a large echo stay where they are */
static uint32_t fill_body(const struct rtgt_slot *s, void *body)
{
	const struct rtgt_work *w = &s->work;

	switch (w->type) {
	case RTGT_WORK_ECHO:
		if (w->len <= RTGT_COPY_MAX)
			memcpy(body, w->buffer->mr.buf + w->local, (size_t)w->len);
		return (uint32_t)w->len;
	case RTGT_WORK_CHECKSUM:
		rtgt_encode_range(body, w->region, w->remote, w->len);
		return sizeof(struct rtgt_range);
	default:
		rtgt_encode_xfer(body, w->region, w->remote, w->len,
				 (uintptr_t)w->buffer->mr.buf + w->local, w->buffer->mr.mr->rkey);
		return sizeof(struct rtgt_xfer);
	}
}

static int post_message(struct rtgt_conn *c, struct rtgt_slot *s, struct rtgt_err *err)
{
	const struct rtgt_mr m = rtgt_message_of(&c->tx, c->tx_stride, (unsigned int)(s - c->slot));
	const uint32_t len = fill_body(s, m.buf + sizeof(struct rtgt_msg));
	struct rtgt_wr wr = {
		.opcode = IBV_WR_SEND, .mr = &m,
		.len = (uint32_t)sizeof(struct rtgt_msg) + len,
		.flags = s->work.flags & RTGT_WORK_F_FENCE ? IBV_SEND_FENCE : 0,
	};

	if (s->work.type == RTGT_WORK_ECHO && len > RTGT_COPY_MAX) {
		wr.head = &m;
		wr.head_len = sizeof(struct rtgt_msg);
		wr.mr = &s->work.buffer->mr;
		wr.offset = (size_t)s->work.local;
		wr.len = len;
	}
	rtgt_encode_msg((struct rtgt_msg *)m.buf, rtgt_kind_of(s)->op, s->tag, len);
	s->moved = s->work.len;
	return post(c, s, &wr, err);
}

/* A receive for the reply: whichever comes first takes it */
static int post_receive(struct rtgt_conn *c, struct rtgt_err *err)
{
	const unsigned int i = c->free_recv[c->nr_free_recv - 1];
	const struct rtgt_mr m = rtgt_message_of(&c->rx, c->stride, i);
	int ret = rtgt_qp_post_recv(&c->client.qp, RTGT_ID_RECV | i, &m, c->stride, err);

	if (!ret)
		c->nr_free_recv--;
	return ret;
}

static struct rtgt_slot *free_slot(struct rtgt_conn *c)
{
	while (c->slot[c->next].busy)
		c->next = (c->next + 1) % c->depth;
	return &c->slot[c->next];
}

/**
 * rtgt_submit() - begin an operation
 * @conn: open
 * @work: what; copied
 * @err: says what is wrong
 *
 * Operations of one connection begin in the order in which they are submitted, and may end in
 * another one.
 *
 * Context: does not wait, unless the send queue is full of work requests that asked for no
 * completion, and nothing is outstanding any more: then until one of them has completed.
 * Return: 0; -EAGAIN when as many operations are outstanding as the connection allows, or as many
 * messages as the target has receives, or while a range that crosses from one extent into the next
 * is not posted as a whole: take completions first; -EINVAL, -ERANGE, -EXDEV, -EACCES or -E2BIG for
 * a wrong value; -EOPNOTSUPP for what the device or the target cannot; or the error of the
 * connection, which has ended then.
 */
int rtgt_submit(struct rtgt_conn *conn, const struct rtgt_work *work, struct rtgt_err *err)
{
	const struct rtgt_kind *k;
	struct rtgt_slot *s;
	uint32_t used;
	int ret;

	if (conn->broken)
		return rtgt_conn_failed(conn, err);
	ret = check_work(conn, work, err);
	if (ret)
		return ret;
	k = &rtgt_kinds[work->type];
	if (conn->partial)
		return rtgt_fail(err, EAGAIN,
				 "an operation over several extents is not posted as a whole: take completions first");
	if (conn->busy == conn->depth ||
	    (k->answered && (!conn->nr_free_recv || conn->messages == conn->messages_max)))
		return rtgt_fail(err, EAGAIN,
				 "%u operations are outstanding, %u of them with a reply: take a completion first",
				 conn->busy, conn->messages);
	if (conn->nr_sent == conn->sent_max) {
		ret = rtgt_sent_room(conn, err);
		if (ret)
			return ret;
	}
	s = free_slot(conn);
	used = (s->tag >> TAG_SLOT_BITS) + 1;
	*s = (struct rtgt_slot) {
		.work = *work,
		.done = { .id = work->id, .type = work->type },
		.tag = (used << TAG_SLOT_BITS | (unsigned int)(s - conn->slot)) & RTGT_IMM_ARG_MASK,
		/* that of the last that fits tells of all */
		.quiet = work->flags & RTGT_WORK_F_UNSIGNALED &&
			 (k->answered || conn->busy + 1 < conn->depth),
	};
	ret = k->answered ? post_receive(conn, err) : 0;
	if (!ret)
		ret = k->message ? post_message(conn, s, err) : rtgt_slot_post(conn, s, err);
	/* perhaps a receive is posted for a reply that will not come */
	if (ret && k->answered)
		rtgt_conn_break(conn, err);
	if (ret)
		return ret;
	s->busy = true;
	s->awaited = k->answered;
	conn->messages += k->answered;
	conn->busy++;
	if (k->bytes)
		__atomic_add_fetch(&work->buffer->users, 1, __ATOMIC_RELAXED);
	else
		s->work.buffer = NULL;
	return 0;
}
