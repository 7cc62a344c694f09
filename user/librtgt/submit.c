// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Operations that are submitted.
 *
 * An operation has a slot from rtgt_client_submit() until it is taken (complete.c).  Where a range
 * crosses from one extent into the next, it has several work requests; if the send queue has no
 * room for all of them, the others are posted when some have completed, and no other operation is
 * begun until then.  An operation that asks for no completion may be done, and its slot used
 * again, while its work requests are still in the send queue.
 */
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>

#include "public.h"

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
	[RTGT_WORK_EXTENTS] = { "EXTENTS", IBV_WR_SEND, RTGT_MSG_EXTENTS,
				.answered = true, .message = true },
	[RTGT_WORK_REVOKE] = { "REVOKE", IBV_WR_SEND, RTGT_MSG_REVOKE,
			       .answered = true, .message = true },
	[RTGT_WORK_BIND] = { "BIND_MW", IBV_WR_BIND_MW, .bytes = true, .own = true },
	[RTGT_WORK_UNBIND] = { "LOCAL_INV", IBV_WR_LOCAL_INV, .own = true },
};

/**
 * rtgt_client_grace() - how long completions may follow the news of the end
 * @c: open; its timer becomes readable when that is over.  Where all is slow it is longer
 *
 * Return: when it is over, as rtgt_now_ns() counts.
 */
uint64_t rtgt_client_grace(const struct rtgt_client *c)
{
	const int part = c->cm.param.timeout_ms / 50, ms = part > 200 ? part : 200;
	const struct itimerspec at = {
		.it_value.tv_sec = ms / 1000, .it_value.tv_nsec = ms % 1000 * 1000000L,
	};

	if (c->timer >= 0)
		timerfd_settime(c->timer, 0, &at, NULL);
	return rtgt_now_ns() + (uint64_t)ms * 1000000u;
}

/**
 * rtgt_client_break() - note why a connection is of no use any more
 * @c: open; the first reason stays
 * @why: the reason
 */
void rtgt_client_break(struct rtgt_client *c, const struct rtgt_err *why)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (c->broken)
		return;
	c->broken = why->code;
	c->why = *why;
	/* what is under way is flushed: only then may its buffers be used for something else */
	ibv_modify_qp(c->qp.qp, &attr, IBV_QP_STATE);
	c->drained_ns = rtgt_client_grace(c);
}

/**
 * rtgt_client_failed() - say why a connection is of no use any more
 * @c: broken
 * @err: filled
 *
 * Return: a negative errno.
 */
int rtgt_client_failed(const struct rtgt_client *c, struct rtgt_err *err)
{
	*err = c->why;
	return -c->broken;
}

/**
 * rtgt_slot_detach() - let work requests complete without their operation
 * @c: open
 * @s: whose
 * @buffer: what the last of them holds until then, or NULL
 */
void rtgt_slot_detach(struct rtgt_client *c, struct rtgt_slot *s, struct rtgt_buffer *buffer)
{
	for (uint64_t i = c->sends; s->under_way; i--) {
		struct rtgt_sent *sent = &c->sent[(i - 1) % c->sent_max];

		if (sent->slot != s)
			continue;
		sent->slot = NULL;
		sent->buffer = buffer;
		buffer = NULL;
		s->under_way--;
	}
}

/* What is sent behind a READ is done before its response is here */
static bool over_iwarp(const struct rtgt_client *c)
{
	return c->cm.id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* @wr, of @s, is the next in the send queue.  @quiet: it need ask for no completion */
static int post(struct rtgt_client *c, struct rtgt_slot *s, struct rtgt_wr *wr, bool quiet,
		struct rtgt_err *err)
{
	int ret;

	/* some ask for one all the same: it shows that there is room again */
	wr->unsignaled = quiet && c->nr_quiet + 1 < c->sent_max / 2;
	wr->id = c->sends << 1;
	s->start = s->start ? s->start : rtgt_now_ns();
	ret = rtgt_qp_post(&c->qp, wr, err);
	if (ret)
		return ret;
	c->sent[c->sends++ % c->sent_max] = (struct rtgt_sent) {
		.slot = s, .quiet = wr->unsignaled,
	};
	c->nr_sent++;
	c->nr_quiet = wr->unsignaled ? c->nr_quiet + 1 : 0;
	s->under_way++;
	return 0;
}

/* The work request for what is left of an operation, within an extent */
static struct rtgt_wr next_wr(const struct rtgt_client *c, const struct rtgt_slot *s)
{
	const struct rtgt_kind *k = rtgt_kind_of(s);
	const struct rtgt_work *w = &s->work;
	const struct rtgt_order *o = s->order;
	struct rtgt_wr wr = {
		.opcode = k->opcode, .mr = s->mr, .offset = (size_t)(w->local + s->moved),
		.imm = s->awaited ? rtgt_imm(RTGT_IMM_ACK, s->tag) : o ? o->imm : 0,
		.compare_add = w->compare_add, .swap = w->swap,
		.flags = w->flags & RTGT_WORK_F_FENCE ? IBV_SEND_FENCE : 0,
	};

	if (o) {
		wr.flags |= o->flags;
		wr.window = o->window;
		wr.access = o->access;
	}
	if (o && o->sges > 1) {
		wr.sges = o->sges;
		wr.gap = o->gap;
		wr.offset = (size_t)w->local;
		wr.all = (uint32_t)w->len;
		wr.at = (uint32_t)s->moved;
	}
	if (k->own) {
		wr.len = (uint32_t)w->len;
		wr.rkey = o->rkey;
		return wr;
	}
	wr.len = rtgt_layout_piece(c, w->region, w->remote + s->moved,
				   (uint32_t)(w->len - s->moved), &wr.remote_addr, &wr.rkey);
	/* the target is told when all is there */
	if (k->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && s->moved + wr.len < w->len)
		wr.opcode = IBV_WR_RDMA_WRITE;
	return wr;
}

/**
 * rtgt_slot_post() - post what is left of an operation, as far as there is room
 * @c: open, its send queue not full
 * @s: busy
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_slot_post(struct rtgt_client *c, struct rtgt_slot *s, struct rtgt_err *err)
{
	int ret;

	do {
		struct rtgt_wr wr = next_wr(c, s);

		s->last_len = wr.len;
		s->moved += wr.len;
		ret = post(c, s, &wr, s->quiet || s->moved < s->work.len, err);
	} while (!ret && s->moved < s->work.len && c->nr_sent < c->sent_max);
	c->partial = !ret && s->moved < s->work.len ? s : NULL;
	return ret;
}

/* What a request has behind its header: its length.  The bytes of a large echo stay in place */
static uint32_t fill_body(const struct rtgt_slot *s, void *body)
{
	const struct rtgt_work *w = &s->work;

	if (s->order)
		return s->order->body;
	switch (w->type) {
	case RTGT_WORK_ECHO:
		if (w->len && w->len <= RTGT_COPY_MAX)
			memcpy(body, s->mr->buf + w->local, (size_t)w->len);
		return (uint32_t)w->len;
	case RTGT_WORK_CHECKSUM:
		rtgt_encode_range(body, w->region, w->remote, w->len);
		return sizeof(struct rtgt_range);
	default:
		rtgt_encode_xfer(body, w->region, w->remote, w->len,
				 (uintptr_t)s->mr->buf + w->local, s->mr->mr->rkey);
		return sizeof(struct rtgt_xfer);
	}
}

static int post_message(struct rtgt_client *c, struct rtgt_slot *s, struct rtgt_err *err)
{
	const struct rtgt_mr m = rtgt_message_of(&c->tx, c->tx_stride, s->tx);
	const uint32_t len = fill_body(s, m.buf + sizeof(struct rtgt_msg));
	const struct rtgt_order *o = s->order;
	struct rtgt_wr wr = {
		.opcode = o ? o->opcode : IBV_WR_SEND, .mr = &m,
		.len = (uint32_t)sizeof(struct rtgt_msg) + len, .sges = c->sges,
		.imm = o ? o->imm : 0, .rkey = o ? o->rkey : 0,
		.flags = c->flags | (s->work.flags & RTGT_WORK_F_FENCE ? IBV_SEND_FENCE : 0),
	};

	if (!o && s->work.type == RTGT_WORK_ECHO && len > RTGT_COPY_MAX) {
		wr.head = &m;
		wr.head_len = sizeof(struct rtgt_msg);
		wr.mr = s->mr;
		wr.offset = (size_t)s->work.local;
		wr.len = len;
	}
	rtgt_encode_msg((struct rtgt_msg *)m.buf, rtgt_kind_of(s)->op, s->tag, len);
	s->moved = s->work.len;
	return post(c, s, &wr, s->quiet, err);
}

/* A receive for the reply: whichever comes first takes it */
static int post_receive(struct rtgt_client *c, struct rtgt_err *err)
{
	const struct rtgt_mr m = rtgt_message_of(&c->rx, c->rx_stride,
						 (unsigned int)(c->recvs % c->nr_messages));
	int ret = rtgt_qp_post_recv(&c->qp, c->recvs << 1 | 1, &m, c->rx_stride, err);

	if (!ret) {
		c->recvs++;
		c->nr_recvs++;
	}
	return ret;
}

static struct rtgt_slot *free_slot(struct rtgt_client *c)
{
	while (c->slot[c->next].busy)
		c->next = (c->next + 1) % c->depth;
	return &c->slot[c->next];
}

/* Is there room for one more of @k?  @answered: with a reply */
static int check_room(struct rtgt_client *c, const struct rtgt_kind *k, bool answered,
		      struct rtgt_err *err)
{
	if (c->broken)
		return rtgt_client_failed(c, err);
	if (c->partial)
		return rtgt_fail(err, EAGAIN,
				 "an operation over several extents is not posted as a whole: take completions first");
	if (c->busy == c->depth || (k->message && !c->nr_free_tx) ||
	    (answered && (c->nr_recvs == c->nr_messages || c->messages == c->messages_max)))
		return rtgt_fail(err, EAGAIN,
				 "%u operations are outstanding, %u of them with a reply: take a completion first",
				 c->busy, c->messages);
	if (c->nr_sent == c->sent_max)
		return rtgt_fail(err, EAGAIN,
				 "the send queue is full, and %u operations are outstanding: take completions first",
				 c->busy);
	return 0;
}

/* Nothing of it is to be awaited */
static void undo(struct rtgt_client *c, struct rtgt_slot *s, const struct rtgt_err *why)
{
	/* perhaps a receive is posted for a reply that will not come */
	if (s->awaited || s->under_way)
		rtgt_client_break(c, why);
	if (rtgt_kind_of(s)->message)
		c->free_tx[c->nr_free_tx++] = s->tx;
	/* what was posted holds the buffer until it is flushed */
	if (s->under_way && s->work.buffer)
		__atomic_add_fetch(&s->work.buffer->users, 1, __ATOMIC_RELAXED);
	rtgt_slot_detach(c, s, s->under_way ? s->work.buffer : NULL);
	*s = (struct rtgt_slot) { .tag = s->tag };
}

/**
 * rtgt_client_submit() - begin an operation
 * @c: open
 * @work: what; copied, and has been checked
 * @mr: its local bytes; stays until it is done, or NULL
 * @order: what else there is to it; stays until it is done, or NULL
 * @err: says what is wrong
 *
 * Context: does not wait.
 * Return: 0, -EAGAIN when something must be taken first, rtgt_sent_room() or completions; or
 * another negative errno.
 */
int rtgt_client_submit(struct rtgt_client *c, const struct rtgt_work *work,
		       const struct rtgt_mr *mr, struct rtgt_order *order, struct rtgt_err *err)
{
	const struct rtgt_kind *k = &rtgt_kinds[work->type];
	const bool answered = k->answered && c->peer.rtgt;
	int ret = check_room(c, k, answered, err);
	struct rtgt_slot *s;
	uint32_t used;

	if (ret)
		return ret;
	s = free_slot(c);
	used = (s->tag >> TAG_SLOT_BITS) + 1;
	*s = (struct rtgt_slot) {
		.work = *work, .mr = mr, .order = order, .awaited = answered,
		.done = { .id = work->id, .type = work->type },
		.tag = (used << TAG_SLOT_BITS | (unsigned int)(s - c->slot)) & RTGT_IMM_ARG_MASK,
		/* that of the last that fits tells of all; over iWARP it does not of a READ */
		.quiet = work->flags & RTGT_WORK_F_UNSIGNALED &&
			 (answered || c->busy + 1 < c->depth) &&
			 (work->type != RTGT_WORK_READ || !over_iwarp(c)),
	};
	if (k->message)
		s->tx = c->free_tx[--c->nr_free_tx];
	ret = answered ? post_receive(c, err) : 0;
	if (!ret)
		ret = k->message ? post_message(c, s, err) : rtgt_slot_post(c, s, err);
	if (ret) {
		undo(c, s, err);
		return ret;
	}
	s->busy = true;
	c->messages += answered;
	c->busy++;
	if (s->work.buffer)
		__atomic_add_fetch(&s->work.buffer->users, 1, __ATOMIC_RELAXED);
	return 0;
}
