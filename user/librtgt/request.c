// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests to the target: a SEND and its reply, one at a time.
 *
 * What is asked for is put together in rtgt_client.tx, the answer comes into
 * rtgt_client.rx, behind the address header if it is a datagram.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Ask and take the answer; the body is in place behind the header of c->tx */
static int ask(struct rtgt_client *c, enum rtgt_op op, const struct rtgt_echo *as,
	       struct rtgt_reply *reply, struct rtgt_took *took, struct rtgt_err *err)
{
	struct rtgt_wr wr = {
		.opcode = as->opcode, .mr = &c->tx,
		.len = (uint32_t)sizeof(struct rtgt_msg) + as->len,
		.imm = as->imm, .rkey = as->rkey, .sges = c->sges, .flags = c->flags,
	};
	uint64_t start, recv;
	struct ibv_wc wc;
	int ret;

	if (!c->peer.rtgt)
		return rtgt_fail(err, EOPNOTSUPP,
				 "the server gave a plain capability: it does not answer SENDs");
	rtgt_encode_msg((struct rtgt_msg *)c->tx.buf, op, ++c->tag, as->len);
	ret = rtgt_client_expect(c, &recv, err);
	if (ret)
		return ret;
	wr.id = ++c->wr_id;
	start = rtgt_now_ns();
	ret = rtgt_qp_post(&c->qp, &wr, err);
	if (!ret)
		ret = rtgt_client_wait(c, wr.id, "SEND", &wc, err);
	if (ret)
		return ret;
	took->completion = rtgt_now_ns() - start;
	ret = rtgt_client_reply(c, recv, op, c->tag, as->imm, reply, err);
	took->reply = rtgt_now_ns() - start;
	return ret;
}

/* Likewise with a body of a few bytes */
static int ask_small(struct rtgt_client *c, enum rtgt_op op, const void *body, uint32_t len,
		     struct rtgt_reply *reply, struct rtgt_took *took, struct rtgt_err *err)
{
	const struct rtgt_echo as = { .opcode = IBV_WR_SEND, .len = len };

	if (c->peer.rtgt)
		memcpy(rtgt_client_tx(c), body, len);
	return ask(c, op, &as, reply, took, err);
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
	struct rtgt_reply reply;
	int ret = ask(c, RTGT_MSG_ECHO, echo, &reply, took, err);

	if (!ret && reply.len != echo->len)
		ret = rtgt_fail(err, EPROTO, "the echo has %u bytes, %u were sent", reply.len,
				echo->len);
	return ret;
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
	ret = ask_small(c, RTGT_MSG_CHECKSUM, &range, sizeof(range), &reply, &took, err);
	if (!ret && reply.covered != len)
		ret = rtgt_fail(err, EPROTO, "the checksum covers %llu bytes, not %llu",
				(unsigned long long)reply.covered, (unsigned long long)len);
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
	int ret;

	rtgt_encode_xfer(&xfer, move->region, move->remote, move->len,
			 (uintptr_t)move->mr->buf + move->local,
			 move->window ? move->window->mw->rkey : move->mr->mr->rkey);
	ret = ask_small(c, move->op, &xfer, sizeof(xfer), &reply, took, err);
	if (!ret && reply.len)
		ret = rtgt_fail(err, EPROTO, "the reply to op %u has %u bytes, it should have none",
				move->op, reply.len);
	return ret;
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
	const uint32_t max = (uint32_t)((c->rx.len - heads) / sizeof(struct rtgt_cap));
	struct rtgt_extents_query query;
	struct rtgt_reply reply;
	struct rtgt_took took;
	uint32_t at = 0;
	int ret;

	do {
		rtgt_encode_query(&query, region, at, max);
		ret = ask_small(c, RTGT_MSG_EXTENTS, &query, sizeof(query), &reply, &took, err);
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
	ret = ask_small(c, RTGT_MSG_REVOKE, &range, sizeof(range), &reply, &took, err);
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
