// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One operation at a time: begin it, wait until it is done.
 *
 * What is asked of the target is put together in rtgt_client.tx, the answer comes into
 * rtgt_client.rx, behind the address header if it is a datagram.  Each reply is checked as far as
 * the protocol goes: operation, tag, length, status.  What the bytes should be is the caller's
 * business.
 *
 * After a failure, a refusal of the target excepted, the queue pair is in the error state: close.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static int no_completion(const struct rtgt_client *c, struct rtgt_err *err)
{
	const int s = c->cm.param.timeout_ms / 1000;

	if (c->cm.param.transport != RTGT_RC)
		return rtgt_fail(err, ETIMEDOUT,
				 "no completion within %d s: a message was lost, or the peer is gone: over %s nothing is repeated",
				 s, rtgt_transport_str(c->cm.param.transport));
	/* the requests have completed: the target's device has them */
	if (c->messages && !c->nr_sent)
		return rtgt_fail(err, ETIMEDOUT,
				 "the target got the request and sent no reply within %d s: see dmesg there, or set a longer timeout",
				 s);
	return rtgt_fail(err, ETIMEDOUT,
			 "no completion within %d s: is the link still up, and its MTU the same at both ends? (or set a longer timeout)",
			 s);
}

static int refused(const struct rtgt_done *done, struct rtgt_err *err)
{
	rtgt_fail(err, EPROTO, "the target refused the %s: %s (status %d)",
		  rtgt_kinds[done->type].name, rtgt_status_str((uint16_t)done->target_status),
		  done->target_status);
	err->target_status = done->target_status;
	return -EPROTO;
}

/*
 * Take one that is done.  Return: 0, or a negative errno: then the connection is of no use any
 * more, but for a refusal of what was the last, and -EDEADLK
 */
static int take(struct rtgt_client *c, struct rtgt_done *done, struct rtgt_err *err)
{
	int ret = rtgt_client_wait(c, done, 1, c->cm.param.timeout_ms, err);

	if (ret == -ETIMEDOUT)
		ret = no_completion(c, err);
	else if (ret == -EINTR)
		rtgt_fail(err, EINTR, "interrupted");
	if (ret > 0 && done->target_status)
		ret = refused(done, err);
	else if (ret > 0)
		ret = rtgt_client_why(c, done, err);
	if (ret && ret != -EDEADLK && (c->busy || !done->target_status))
		rtgt_client_break(c, err);
	return ret;
}

/* Wait for all that is outstanding; @done is the last */
static int take_all(struct rtgt_client *c, struct rtgt_done *done, struct rtgt_err *err)
{
	int ret = 0;

	memset(done, 0, sizeof(*done));
	while (!ret && c->busy)
		ret = take(c, done, err);
	return ret;
}

/* What is submitted next waits for room first, if it must; @at is when it was submitted */
static int submit(struct rtgt_client *c, const struct rtgt_work *work, const struct rtgt_mr *mr,
		  struct rtgt_order *order, uint64_t *at, struct rtgt_err *err)
{
	struct rtgt_done done = { };
	int ret;

	for (;;) {
		*at = rtgt_now_ns();
		ret = rtgt_client_submit(c, work, mr, order, err);
		if (ret != -EAGAIN)
			break;
		ret = c->busy ? take(c, &done, err) : rtgt_sent_room(c, err);
		if (ret && ret != -EDEADLK)
			break;
	}
	/* what is outstanding has orders of the caller's, which returns */
	if (ret && c->busy)
		rtgt_client_break(c, err);
	return ret;
}

static int run(struct rtgt_client *c, const struct rtgt_work *work, const struct rtgt_mr *mr,
	       struct rtgt_order *order, struct rtgt_took *took, struct rtgt_err *err)
{
	struct rtgt_done done;
	uint64_t at;
	int ret = submit(c, work, mr, order, &at, err);

	if (!ret)
		ret = take_all(c, &done, err);
	if (ret)
		return ret;
	took->completion = done.completion_ns;
	took->reply = done.reply_ns;
	return 0;
}

static uint32_t work_type(enum ibv_wr_opcode opcode)
{
	for (uint32_t type = RTGT_WORK_WRITE; type <= RTGT_WORK_FLUSH; type++)
		if (type != RTGT_WORK_ECHO && rtgt_kinds[type].opcode == opcode)
			return type;
	return 0;
}

/* What would be read out of bounds here; what the target refuses is not checked */
static int check_rdma(const struct rtgt_rdma *op, struct rtgt_err *err)
{
	const uint64_t gaps = (uint64_t)op->gap * (op->sges ? op->sges - 1 : 0);

	if (!work_type(op->opcode))
		return rtgt_fail(err, EINVAL, "opcode %d is not one-sided", (int)op->opcode);
	if (op->region >= RTGT_MAX_REGIONS)
		return rtgt_fail(err, EINVAL, "region %u: there are at most %u",
				 op->region, RTGT_MAX_REGIONS);
	if (op->sges > RTGT_SGES)
		return rtgt_fail(err, EINVAL, "%u pieces: at most %u", op->sges, RTGT_SGES);
	/* they touch nothing here */
	if (!op->len || op->opcode == RTGT_WR_FLUSH)
		return 0;
	if (!op->mr)
		return rtgt_fail(err, EINVAL, "%s without a buffer",
				 rtgt_wr_opcode_str(op->opcode));
	if (op->local > op->mr->len || op->len + gaps > op->mr->len - op->local)
		return rtgt_fail(err, EINVAL, "%u bytes at %zu of a buffer of %zu", op->len,
				 op->local, op->mr->len);
	return 0;
}

/**
 * rtgt_client_chain() - several one-sided operations, of which the last is waited for
 * @c: open
 * @op: what; not checked against the regions: a refusal is the target's business
 * @n: how many, at most rtgt_client_param.depth
 * @took: filled, from the first post
 * @err: says what is wrong
 *
 * Only the last asks for a completion; that tells of all, since they complete in
 * order.  If the last is a WRITE_WITH_IMM the target's answer is waited for.  Where operations
 * cross from one extent into the
 * next there may be more work requests than the send queue holds; then the rest
 * is posted when those have completed.
 *
 * Return: 0, or a negative errno; -EINVAL for a value out of range, -EIO with
 * @err->wc_status for a failed completion.
 */
int rtgt_client_chain(struct rtgt_client *c, const struct rtgt_rdma *op, unsigned int n,
		      struct rtgt_took *took, struct rtgt_err *err)
{
	struct rtgt_order order[RTGT_CHAIN_MAX];
	struct rtgt_done done;
	uint64_t start, last = 0;
	int ret = 0;

	memset(took, 0, sizeof(*took));
	if (!n || n > RTGT_CHAIN_MAX)
		return rtgt_fail(err, EINVAL, "a chain of %u operations: 1 to %u", n,
				 RTGT_CHAIN_MAX);
	for (unsigned int i = 0; i < n && !ret; i++)
		ret = check_rdma(&op[i], err);
	if (ret)
		return ret;
	start = rtgt_now_ns();
	for (unsigned int i = 0; i < n && !ret; i++) {
		const struct rtgt_work work = {
			.type = work_type(op[i].opcode), .region = op[i].region,
			.flags = i + 1 < n ? RTGT_WORK_F_UNSIGNALED : 0,
			.remote = op[i].remote, .len = op[i].len, .local = op[i].local,
			.compare_add = op[i].compare_add, .swap = op[i].swap,
		};

		order[i] = (struct rtgt_order) {
			.opcode = op[i].opcode, .imm = op[i].imm, .sges = op[i].sges,
			.gap = op[i].gap, .flags = op[i].flags,
		};
		ret = submit(c, &work, op[i].mr, &order[i], &last, err);
	}
	if (!ret)
		ret = take_all(c, &done, err);
	if (ret)
		return ret;
	took->completion = last - start + done.completion_ns;
	took->reply = done.reply_ns ? last - start + done.reply_ns : 0;
	return 0;
}

/**
 * rtgt_client_rdma() - one one-sided operation
 * @c: open
 * @op: what
 * @took: filled
 * @err: says what is wrong
 *
 * A chain of one, see rtgt_client_chain().
 *
 * Return: 0, or a negative errno.
 */
int rtgt_client_rdma(struct rtgt_client *c, const struct rtgt_rdma *op, struct rtgt_took *took,
		     struct rtgt_err *err)
{
	return rtgt_client_chain(c, op, 1, took, err);
}

/**
 * rtgt_client_bind() - give a window a part of a buffer, and a new key
 * @c: open
 * @window: bound to nothing
 * @mr: registered with IBV_ACCESS_MW_BIND
 * @local: first byte, counted from @mr->buf
 * @len: bytes, at least 1
 * @access: what the window grants, IBV_ACCESS_REMOTE_*
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_client_bind(struct rtgt_client *c, const struct rtgt_window *window,
		     const struct rtgt_mr *mr, size_t local, uint32_t len, unsigned int access,
		     struct rtgt_err *err)
{
	const struct rtgt_work work = { .type = RTGT_WORK_BIND, .local = local, .len = len };
	struct rtgt_order order = { .window = window, .access = access };
	struct rtgt_took took;

	return run(c, &work, mr, &order, &took, err);
}

/**
 * rtgt_client_unbind() - invalidate a window's key
 * @c: open
 * @window: bound
 * @err: says what is wrong
 *
 * Return: 0 when nobody can use it any more, or a negative errno.
 */
int rtgt_client_unbind(struct rtgt_client *c, const struct rtgt_window *window,
		       struct rtgt_err *err)
{
	const struct rtgt_work work = { .type = RTGT_WORK_UNBIND };
	struct rtgt_order order = { .rkey = window->mw->rkey };
	struct rtgt_took took;

	return run(c, &work, NULL, &order, &took, err);
}

/* A SEND that asks the target for something; its body is in place behind the header of c->tx */
static int ask(struct rtgt_client *c, const struct rtgt_work *work, struct rtgt_order *order,
	       struct rtgt_took *took, struct rtgt_err *err)
{
	if (!c->peer.rtgt)
		return rtgt_fail(err, EOPNOTSUPP,
				 "the server gave a plain capability: it does not answer SENDs");
	return run(c, work, NULL, order, took, err);
}

/* Likewise with a body of a few bytes */
static int ask_small(struct rtgt_client *c, uint32_t type, uint64_t len, const void *body,
		     uint32_t bytes, struct rtgt_reply *reply, struct rtgt_took *took,
		     struct rtgt_err *err)
{
	const struct rtgt_work work = { .type = type, .len = len };
	struct rtgt_order order = { .opcode = IBV_WR_SEND, .body = bytes };
	int ret;

	if (c->peer.rtgt)
		memcpy(rtgt_client_tx(c), body, bytes);
	ret = ask(c, &work, &order, took, err);
	*reply = order.reply;
	return ret;
}

/**
 * rtgt_client_echo() - SEND bytes and get them back
 * @c: open; the bytes are at rtgt_client_tx()
 * @echo: how many, and what goes with them
 * @took: filled
 * @err: says what is wrong
 *
 * What came back is at rtgt_client_rx() until the next operation.  The echo tells
 * the immediate the target got, which is checked.  After a SEND_WITH_INV the key
 * in it is dead: rtgt_client_revoke() gets a new one.
 *
 * Return: 0, or a negative errno.
 */
int rtgt_client_echo(struct rtgt_client *c, const struct rtgt_echo *echo, struct rtgt_took *took,
		     struct rtgt_err *err)
{
	const struct rtgt_work work = { .type = RTGT_WORK_ECHO, .len = echo->len };
	struct rtgt_order order = {
		.opcode = echo->opcode, .imm = echo->imm, .rkey = echo->rkey, .body = echo->len,
	};

	return ask(c, &work, &order, took, err);
}

/**
 * rtgt_client_checksum() - let the target read its own memory
 * @c: open
 * @region: index in @c->peer
 * @offset: first byte, counted from the region's beginning
 * @len: bytes
 * @crc: CRC-32 of the range; rtgt_crc32() computes the same here
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_client_checksum(struct rtgt_client *c, uint32_t region, uint64_t offset, uint64_t len,
			 uint32_t *crc, struct rtgt_err *err)
{
	struct rtgt_range range;
	struct rtgt_reply reply;
	struct rtgt_took took;
	int ret;

	rtgt_encode_range(&range, region, offset, len);
	ret = ask_small(c, RTGT_WORK_CHECKSUM, len, &range, sizeof(range), &reply, &took, err);
	*crc = ret ? 0 : reply.crc;
	return ret;
}

/**
 * rtgt_client_move() - let the target READ or WRITE our memory
 * @c: open
 * @move: what
 * @took: filled; @took->reply is when the target says that it is done
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_client_move(struct rtgt_client *c, const struct rtgt_move *move, struct rtgt_took *took,
		     struct rtgt_err *err)
{
	struct rtgt_reply reply;
	struct rtgt_xfer xfer;

	rtgt_encode_xfer(&xfer, move->region, move->remote, move->len,
			 (uintptr_t)move->mr->buf + move->local,
			 move->window ? move->window->mw->rkey : move->mr->mr->rkey);
	return ask_small(c, move->op == RTGT_MSG_PULL ? RTGT_WORK_PULL : RTGT_WORK_PUSH, move->len,
			 &xfer, sizeof(xfer), &reply, took, err);
}

/* More extents than this are no answer but an attempt on our memory */
#define MANY_EXTENTS	(1u << 20)

/* The layout as far as the first reply tells it; and what is wrong with that */
static int start_layout(struct rtgt_layout *layout, const struct rtgt_reply *reply)
{
	if (!reply->total || reply->total > MANY_EXTENTS)
		return -EPROTO;
	layout->size = reply->size;
	layout->nr = reply->total;
	layout->extent = calloc(reply->total, sizeof(*layout->extent));
	return layout->extent ? 0 : -ENOMEM;
}

/* Take what a reply lists into the layout, from extent @at on; 0, or what is wrong */
static int take_extents(struct rtgt_layout *layout, uint32_t at, uint32_t access,
			const struct rtgt_reply *reply)
{
	if (!reply->nr || reply->total != layout->nr || reply->nr > layout->nr - at)
		return -EPROTO;
	for (uint32_t i = 0; i < reply->nr; i++) {
		layout->extent[at + i] = rtgt_decode_extent(reply, i, access);
		if (!layout->extent[at + i].len)
			return -EPROTO;
	}
	return 0;
}

static int check_layout(const struct rtgt_layout *layout)
{
	uint64_t left = layout->size;

	for (uint32_t i = 0; i < layout->nr; i++) {
		if (layout->extent[i].len > left)
			return -EPROTO;
		left -= layout->extent[i].len;
	}
	return left ? -EPROTO : 0;
}

static int ask_layout(struct rtgt_client *c, uint32_t region, struct rtgt_layout *layout,
		      struct rtgt_err *err)
{
	const size_t heads = c->head + sizeof(struct rtgt_msg) + sizeof(struct rtgt_extents);
	const uint32_t max = (uint32_t)((c->rx_stride - heads) / sizeof(struct rtgt_cap));
	struct rtgt_extents_query query;
	struct rtgt_reply reply;
	struct rtgt_took took;
	uint32_t at = 0;
	int ret;

	do {
		rtgt_encode_query(&query, region, at, max);
		ret = ask_small(c, RTGT_WORK_EXTENTS, 0, &query, sizeof(query), &reply, &took, err);
		if (ret)
			return ret;
		if (!at)
			ret = start_layout(layout, &reply);
		if (!ret)
			ret = take_extents(layout, at, c->peer.region[region].access, &reply);
		at += reply.nr;
	} while (!ret && at < layout->nr);
	if (!ret)
		ret = check_layout(layout);
	if (ret)
		return rtgt_fail(err, -ret, "the target's extents of region %u make no sense: %u of %u, %llu bytes",
				 region, at, reply.total, (unsigned long long)reply.size);
	return 0;
}

/**
 * rtgt_client_extents() - learn a region's extents, anew if they are known
 * @c: open; @c->layout is brought up to date
 * @region: index in @c->peer
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_client_extents(struct rtgt_client *c, uint32_t region, struct rtgt_err *err)
{
	const struct rtgt_log *log = c->cm.param.log;
	struct rtgt_layout layout = { };
	int ret = ask_layout(c, region, &layout, err);

	if (ret) {
		rtgt_layout_free(&layout);
		return ret;
	}
	rtgt_layout_free(&c->layout[region]);
	c->layout[region] = layout;
	rtgt_log(log, "rep", "region %u: %llu bytes in %u extents", region,
		 (unsigned long long)layout.size, layout.nr);
	for (uint32_t i = 0; i < layout.nr; i++)
		rtgt_log(log, "rep", "region %u extent %u: remote addr 0x%llx rkey 0x%x len %llu",
			 region, i, (unsigned long long)layout.extent[i].addr,
			 layout.extent[i].rkey, (unsigned long long)layout.extent[i].len);
	return 0;
}

/* Of several keys, those that were dead are new: any of them */
static int renew_extents(struct rtgt_client *c, uint32_t region, struct rtgt_err *err)
{
	struct rtgt_layout *now = &c->layout[region], old = *now;
	bool changed = false;
	int ret;

	now->extent = NULL;
	ret = rtgt_client_extents(c, region, err);
	if (ret)
		*now = old;
	if (ret)
		return ret;
	for (uint32_t i = 0; i < now->nr && !changed; i++)
		changed = i >= old.nr || now->extent[i].rkey != old.extent[i].rkey;
	rtgt_layout_free(&old);
	if (!changed)
		return rtgt_fail(err, EPROTO, "the target's new rkeys are all the old ones");
	return 0;
}

/**
 * rtgt_client_revoke() - let the target give a region a new key, or new keys
 * @c: open; @c->peer is brought up to date
 * @region: index in @c->peer
 * @err: says what is wrong
 *
 * Of a region others use too the target does that only when its key is dead.
 *
 * Return: 0, or a negative errno.
 */
int rtgt_client_revoke(struct rtgt_client *c, uint32_t region, struct rtgt_err *err)
{
	const struct rtgt_region_info *mem = &c->peer.region[region];
	const uint32_t old = mem->rkey;
	struct rtgt_range range;
	struct rtgt_reply reply;
	struct rtgt_took took;
	int ret;

	rtgt_encode_range(&range, region, 0, 0);
	ret = ask_small(c, RTGT_WORK_REVOKE, 0, &range, sizeof(range), &reply, &took, err);
	if (!ret && (reply.region.len != mem->len || reply.region.access != mem->access))
		ret = rtgt_fail(err, EPROTO,
				"the target's new capability of region %u has %llu bytes and access 0x%x, the old one %llu and 0x%x",
				region, (unsigned long long)reply.region.len, reply.region.access,
				(unsigned long long)mem->len, mem->access);
	if (ret)
		return ret;
	if (c->layout[region].extent) {
		c->peer.region[region] = reply.region;
		return renew_extents(c, region, err);
	}
	if (reply.region.rkey == old)
		return rtgt_fail(err, EPROTO, "the target's new rkey is the old one, 0x%x", old);
	c->peer.region[region] = reply.region;
	rtgt_log(c->cm.param.log, "rep", "region %u: rkey 0x%x instead of 0x%x", region,
		 reply.region.rkey, old);
	return 0;
}
