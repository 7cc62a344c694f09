// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Operations that are done.
 *
 * An operation that the target answers is done when both have come, its own completion and the
 * reply, in either order.  A reply is found by its tag, which names the slot and how often it was
 * used, not by the receive that it arrives in: an operation whose waiter gave up stays in its slot,
 * and a reply that comes late is still its own.
 *
 * Whatever ends the connection ends all operations: each gets a struct rtgt_done, most with an
 * error.  After that the functions return the error of the connection; it has to be closed.
 */
#include <errno.h>
#include <string.h>

#include "public.h"

#define COMPLETIONS	16
#define SPINS		256

/* Events that are left in the completion channel: each is memory of the kernel's */
#define UNREAD_MAX	1024

static void release(struct rtgt_buffer *buffer)
{
	if (buffer)
		__atomic_sub_fetch(&buffer->users, 1, __ATOMIC_RELEASE);
}

/* Done: nothing of it is awaited any more */
static void end_slot(struct rtgt_client *c, struct rtgt_slot *s)
{
	if (s->awaited)
		c->messages--;
	if (rtgt_kind_of(s)->message)
		c->free_tx[c->nr_free_tx++] = s->tx;
	s->awaited = false;
	s->ready = true;
	c->ready[c->nr_ready++] = (unsigned int)(s - c->slot);
	/* what is still in the send queue holds the buffer */
	if (s->under_way)
		rtgt_slot_detach(c, s, s->work.buffer);
	else
		release(s->work.buffer);
	s->work.buffer = NULL;
	if (s->done.error)
		s->done.len = 0;
	if (c->partial == s)
		c->partial = NULL;
}

/*
 * The connection is of no use any more, and the first that failed tells why.  What the device
 * still works on ends later.
 */
static void fail_slot(struct rtgt_client *c, struct rtgt_slot *s, const struct rtgt_err *why)
{
	rtgt_client_break(c, why);
	if (!s->done.error) {
		s->done.error = -why->code;
		s->done.wc_status = why->wc_status;
		s->done.vendor_err = why->vendor_err;
		s->done.target_status = why->target_status;
	}
	if (!s->under_way)
		end_slot(c, s);
}

/* @what: failed, if it was not an operation that is outstanding */
static void fail_wc(struct rtgt_client *c, struct rtgt_slot *s, const char *what,
		    const struct ibv_wc *wc)
{
	struct rtgt_err why = { };

	rtgt_fail(&why, EIO, "%s failed: %s (status %d, vendor error 0x%x): %s",
		  s ? rtgt_kind_of(s)->name : what,
		  ibv_wc_status_str(wc->status), wc->status, wc->vendor_err,
		  rtgt_wc_meaning(wc->status));
	why.wc_status = wc->status;
	why.vendor_err = wc->vendor_err;
	if (s)
		fail_slot(c, s, &why);
	else
		rtgt_client_break(c, &why);
}

/* @wc: NULL for one that asked for no completion, and is done since a later one is */
static void take_sent(struct rtgt_client *c, struct rtgt_slot *s, const struct ibv_wc *wc)
{
	const bool failed = wc && wc->status != IBV_WC_SUCCESS;

	s->under_way--;
	/* after the first that failed the others are flushed, or done as they would have been */
	if (c->broken && (failed || s->moved < s->work.len))
		return;
	if (failed) {
		fail_wc(c, s, NULL, wc);
		return;
	}
	if (s->under_way || s->moved < s->work.len)
		return;
	s->done.completion_ns = rtgt_now_ns() - s->start;
	s->done.len = s->work.len;
	if (!s->awaited)
		end_slot(c, s);
}

/* What depends on the operation; the rest of the reply is right */
static int use_reply(struct rtgt_slot *s, const struct rtgt_reply *r, struct rtgt_err *err)
{
	const struct rtgt_work *w = &s->work;

	if (s->order)
		s->order->reply = *r;
	switch (w->type) {
	case RTGT_WORK_EXTENTS:
	case RTGT_WORK_REVOKE:
		return 0;
	case RTGT_WORK_ECHO:
		if (r->len != w->len)
			return rtgt_fail(err, EPROTO, "the echo has %u bytes, %llu were sent",
					 r->len, (unsigned long long)w->len);
		if (s->mr)
			memcpy(s->mr->buf + w->back, r->body, r->len);
		return 0;
	case RTGT_WORK_CHECKSUM:
		s->done.crc = r->crc;
		if (r->covered != w->len)
			return rtgt_fail(err, EPROTO, "the checksum covers %llu bytes, not %llu",
					 (unsigned long long)r->covered,
					 (unsigned long long)w->len);
		return 0;
	case RTGT_WORK_WRITE_IMM:
		if (r->covered != s->last_len)
			return rtgt_fail(err, EPROTO,
					 "the target's completion tells %llu bytes, %u were written",
					 (unsigned long long)r->covered, s->last_len);
		return 0;
	default:
		if (r->len)
			return rtgt_fail(err, EPROTO,
					 "the reply to op %u has %u bytes, it should have none",
					 r->op, r->len);
		return 0;
	}
}

/* A refusal is the operation's own error: the connection stays */
static void take_reply(struct rtgt_client *c, const struct rtgt_reply *r)
{
	const unsigned int i = r->tag & (RTGT_DEPTH_MAX - 1);
	struct rtgt_slot *s = &c->slot[i % c->depth];
	struct rtgt_err why = { };
	uint32_t imm;

	if (i >= c->depth || !s->busy || !s->awaited || s->tag != r->tag) {
		rtgt_fail(&why, EPROTO, "a reply with the tag %u, for which nobody waits", r->tag);
		rtgt_client_break(c, &why);
		return;
	}
	imm = s->order ? s->order->imm : 0;
	if (s->work.type == RTGT_WORK_WRITE_IMM)
		imm = rtgt_imm(RTGT_IMM_ACK, s->tag);
	s->done.reply_ns = rtgt_now_ns() - s->start;
	if (r->status != RTGT_OK) {
		s->done.error = -EREMOTEIO;
		s->done.target_status = r->status;
	} else if (s->moved < s->work.len) {
		rtgt_fail(&why, EPROTO, "a reply came before all of the operation was sent");
		fail_slot(c, s, &why);
		return;
	} else if (rtgt_wire_match(r, rtgt_kind_of(s)->op, s->tag, imm, &why) ||
		   use_reply(s, r, &why)) {
		fail_slot(c, s, &why);
		return;
	}
	s->awaited = false;
	c->messages--;
	if (!s->under_way || s->quiet) {
		s->done.len = s->work.len;
		end_slot(c, s);
	}
}

/* Receives complete in the order in which they were posted */
static void take_received(struct rtgt_client *c, const struct ibv_wc *wc)
{
	const struct rtgt_mr m = rtgt_message_of(&c->rx, c->rx_stride,
						 (unsigned int)((wc->wr_id >> 1) % c->nr_messages));
	struct rtgt_err why = { };
	struct rtgt_reply reply;
	int ret = 0;

	c->nr_recvs--;
	if (wc->status != IBV_WC_SUCCESS) {
		fail_wc(c, NULL, "the receive of a reply", wc);
		return;
	}
	if (wc->byte_len < c->head)
		ret = rtgt_fail(&why, EPROTO, "a datagram of %u bytes has no address header",
				wc->byte_len);
	if (!ret)
		ret = rtgt_wire_reply(&reply, m.buf + c->head, wc->byte_len - c->head, &why);
	if (ret) {
		rtgt_client_break(c, &why);
		return;
	}
	rtgt_log(c->cm.param.log, "msg", "reply to op %u: %s, tag %u, %u bytes", reply.op,
		 rtgt_status_str(reply.status), reply.tag, reply.len);
	take_reply(c, &reply);
}

/* @wc: as of take_sent() */
static void end_sent(struct rtgt_client *c, struct rtgt_sent *sent, const struct ibv_wc *wc)
{
	struct rtgt_slot *s = sent->slot;

	release(sent->buffer);
	*sent = (struct rtgt_sent) { .done = true };
	if (s)
		take_sent(c, s, wc);
	else if (wc && wc->status != IBV_WC_SUCCESS)
		fail_wc(c, NULL, "an operation that had its reply", wc);
}

/*
 * A completion tells of those before it that asked for none, too: they were done in their order.
 * One that was flushed does not.  A READ over iWARP asks for one, because it is done later.  Of
 * those that asked for a completion it tells nothing: siw may flush a request and not the READ
 * before it, whose bytes never came.
 */
static void take_sends(struct rtgt_client *c, const struct ibv_wc *wc)
{
	const uint64_t oldest = c->sends - c->nr_sent, which = wc->wr_id >> 1;
	struct rtgt_err why = { };

	if (which < oldest || which >= c->sends || c->sent[which % c->sent_max].done)
		return;
	for (uint64_t i = oldest; i < which && wc->status != IBV_WC_WR_FLUSH_ERR; i++)
		if (c->sent[i % c->sent_max].quiet)
			end_sent(c, &c->sent[i % c->sent_max], NULL);
	end_sent(c, &c->sent[which % c->sent_max], wc);
	while (c->nr_sent && c->sent[(c->sends - c->nr_sent) % c->sent_max].done)
		c->nr_sent--;
	if (c->partial && !c->broken && c->nr_sent < c->sent_max) {
		struct rtgt_slot *s = c->partial;

		if (rtgt_slot_post(c, s, &why))
			fail_slot(c, s, &why);
	}
}

static void take_wc(struct rtgt_client *c, const struct ibv_wc *wc)
{
	if (wc->wr_id & 1)
		take_received(c, wc);
	else
		take_sends(c, wc);
}

/* Return: how many completions there were, or a negative errno when the queue is of no use */
static int take_wcs(struct rtgt_client *c, struct rtgt_err *err)
{
	const unsigned int looks = c->waits < 0 ? SPINS : 1;
	struct ibv_wc wc[COMPLETIONS];
	int n = 0;

	for (unsigned int i = 0; i < looks && !n; i++)
		n = rtgt_qp_poll(&c->qp, wc, COMPLETIONS, err);
	for (int i = 0; i < n; i++)
		take_wc(c, &wc[i]);
	return n;
}

/**
 * rtgt_client_arm() - let the next completion raise an event
 * @c: open; its completions have been taken, and are to be looked for again
 * @err: says what is wrong
 *
 * Return: 1 if it was armed, 0 if it was before, or a negative errno.
 */
int rtgt_client_arm(struct rtgt_client *c, struct rtgt_err *err)
{
	struct rtgt_qp *q = &c->qp;
	int ret;

	if (!q->channel)
		return 0;
	/* to take each would be a system call */
	if (c->readable || c->unread >= UNREAD_MAX) {
		while (rtgt_qp_event(q))
			c->armed = false;
		c->readable = false;
		c->unread = 0;
	}
	if (c->armed)
		return 0;
	ret = rtgt_qp_arm(q, err);
	c->armed = !ret;
	return ret ? ret : 1;
}

/* Nothing there: let the next one raise an event, and look whether it came in between */
static int arm(struct rtgt_client *c, struct rtgt_err *err)
{
	int ret = rtgt_client_arm(c, err);

	return ret > 0 ? take_wcs(c, err) : ret;
}

/* Does the device still work on something?  A device may not flush all of it: siw */
static bool is_draining(const struct rtgt_client *c)
{
	return c->nr_sent && rtgt_now_ns() < c->drained_ns;
}

/* Forget the send queue */
static void drop_sent(struct rtgt_client *c)
{
	for (; c->nr_sent; c->nr_sent--) {
		const struct rtgt_sent *sent = &c->sent[(c->sends - c->nr_sent) % c->sent_max];

		if (sent->slot)
			sent->slot->under_way = 0;
		release(sent->buffer);
	}
}

/**
 * rtgt_slots_drop() - forget all operations, and what they hold
 * @c: its queue pair is gone; nothing happens where there was none
 */
void rtgt_slots_drop(struct rtgt_client *c)
{
	drop_sent(c);
	for (unsigned int i = 0; c->slot && i < c->depth; i++)
		if (c->slot[i].busy)
			release(c->slot[i].work.buffer);
	c->busy = 0;
}

/* All that is outstanding ends with the connection; what ended it is another operation's */
static void fail_all(struct rtgt_client *c)
{
	const bool other = c->broken == EIO || c->broken == EPROTO;
	const struct rtgt_err ended = { .code = other ? ECONNRESET : c->broken };

	drop_sent(c);
	for (struct rtgt_slot *s = c->slot; s < c->slot + c->depth; s++)
		if (s->busy && !s->ready)
			fail_slot(c, s, &ended);
}

static uint32_t hand_over(struct rtgt_client *c, struct rtgt_done *done, uint32_t max)
{
	const uint32_t n = c->nr_ready < max ? c->nr_ready : max;

	for (uint32_t i = 0; i < n; i++) {
		struct rtgt_slot *s = &c->slot[c->ready[i]];

		done[i] = s->done;
		s->busy = false;
		s->ready = false;
	}
	c->busy -= n;
	c->nr_ready -= n;
	memmove(c->ready, c->ready + n, c->nr_ready * sizeof(*c->ready));
	return n;
}

/**
 * rtgt_client_take() - take completions from the queue
 * @c: open
 * @err: says what is wrong
 *
 * Until an operation is done, or there is nothing and the next completion raises an event.
 *
 * Return: 0 or more, or a negative errno when the queue is of no use.
 */
int rtgt_client_take(struct rtgt_client *c, struct rtgt_err *err)
{
	int n;

	do {
		n = take_wcs(c, err);
		if (!n)
			n = arm(c, err);
	} while (n > 0 && !c->nr_ready);
	return n;
}

/**
 * rtgt_client_look() - has the connection ended?
 * @c: open; broken afterwards, if it has
 *
 * A target that refuses an access closes the connection at once, and its DREQ may overtake the
 * NAK that says why.  So a completion has a moment to arrive behind the news of the end.
 */
void rtgt_client_look(struct rtgt_client *c)
{
	struct rtgt_err why = { };

	if (!rtgt_cm_check(&c->cm, &why))
		return;
	if (!c->ending_ns)
		c->ending_ns = rtgt_client_grace(c);
	if (rtgt_now_ns() >= c->ending_ns || !c->busy)
		rtgt_client_break(c, &why);
}

/**
 * rtgt_client_complete() - take what is done
 * @c: open
 * @done: filled
 * @max: how many fit there, at least 1
 * @look: whether the connection has ended
 * @err: says what is wrong
 *
 * Return: see rtgt_complete().
 */
int rtgt_client_complete(struct rtgt_client *c, struct rtgt_done *done, uint32_t max, bool look,
			 struct rtgt_err *err)
{
	struct rtgt_err why = { };

	if (!max)
		return rtgt_fail(err, EINVAL, "no room for a completion");
	if (!c->nr_ready && rtgt_client_take(c, &why) < 0)
		rtgt_client_break(c, &why);
	if (!c->broken && !c->nr_ready && (look || c->ending_ns))
		rtgt_client_look(c);
	/* the news is taken, so that it wakes nobody again */
	if (c->broken && look)
		rtgt_cm_check(&c->cm, &why);
	if (c->broken && !is_draining(c))
		fail_all(c);
	if (c->broken && c->busy && !c->nr_ready)
		return 0;
	if (c->broken && !c->nr_ready)
		return rtgt_client_failed(c, err);
	return (int)hand_over(c, done, max);
}

/**
 * rtgt_done_text() - an operation's end in words
 * @done: from rtgt_complete() or rtgt_wait()
 * @text: filled, with a 0 at the end
 * @size: bytes there
 *
 * Return: as snprintf().
 */
int rtgt_done_text(const struct rtgt_done *done, char *text, size_t size)
{
	const char *name = done->type < RTGT_KINDS ? rtgt_kinds[done->type].name : NULL;

	const enum ibv_wc_status wc = (enum ibv_wc_status)done->wc_status;

	if (!name)
		name = "operation";
	if (wc)
		return snprintf(text, size, "%s failed: %s (status %d, vendor error 0x%x): %s",
				name, ibv_wc_status_str(wc), wc, done->vendor_err,
				rtgt_wc_meaning(wc));
	if (done->target_status)
		return snprintf(text, size, "the target refused the %s: %s (status %d)", name,
				rtgt_status_str((uint16_t)done->target_status),
				done->target_status);
	if (done->error == -ECONNRESET)
		return snprintf(text, size, "%s did not end: the connection was closed", name);
	if (done->error)
		return snprintf(text, size, "%s did not end: %s", name, strerror(-done->error));
	return snprintf(text, size, "%s of %llu bytes done", name,
			(unsigned long long)done->len);
}

/**
 * rtgt_client_why() - why an operation failed
 * @c: open
 * @done: it
 * @err: filled, if it did
 *
 * Return: see rtgt_done_error().
 */
int rtgt_client_why(const struct rtgt_client *c, const struct rtgt_done *done,
		    struct rtgt_err *err)
{
	if (!done->error)
		return 0;
	if (!done->wc_status && !done->target_status && c->broken)
		return rtgt_client_failed(c, err);
	rtgt_fail(err, -done->error, "%s", "");
	rtgt_done_text(done, err->text, sizeof(err->text));
	err->wc_status = done->wc_status;
	err->vendor_err = done->vendor_err;
	err->target_status = done->target_status;
	return done->error;
}
