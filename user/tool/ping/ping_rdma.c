// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The one-sided operations of rtgt ping.
 *
 * A WRITE or READ is a chain of ping.chain requests, each for a part of the range,
 * of which only the last is signaled.  With ping.sges above 1 the local side of
 * each lies in so many pieces with gaps between them, in ping.list, and the gaps
 * are guards: they must stay as they are.
 */
#include <errno.h>
#include <string.h>

#include "ping.h"

/* Bytes between two pieces, and what is in them */
#define GAP		64
#define GAP_BYTE	0x3c

/* Bytes all gaps together may take */
uint32_t ping_list_room(const struct ping *p)
{
	return p->chain * p->sges * GAP;
}

/* Put the range's chain into ping.wr; @local is its first byte in @mr */
static unsigned int make_chain(struct ping *p, enum ibv_wr_opcode opcode, const struct rtgt_mr *mr,
			       size_t local)
{
	unsigned int n = p->len < p->chain ? p->len : p->chain;

	n = n ? n : 1;
	for (unsigned int i = 0; i < n; i++) {
		struct rtgt_rdma *op = &p->wr[i];
		uint32_t at, len = rtgt_piece(p->len, n, i, &at);

		*op = (struct rtgt_rdma) {
			.opcode = opcode, .region = p->region, .remote = p->at + at, .mr = mr,
			.local = local + at, .len = len, .flags = p->flags,
		};
		if (p->sges > 1) {
			op->mr = &p->list;
			op->local = at + (size_t)i * p->sges * GAP;
			op->sges = p->sges;
			op->gap = GAP;
		}
	}
	return n;
}

/* Lay the bytes of the range out as the chain of @n has it, or take them from there */
static void copy_list(struct ping *p, unsigned int n, uint8_t *data, bool out)
{
	uint8_t *range = data;

	for (unsigned int i = 0; i < n; i++) {
		const struct rtgt_rdma *op = &p->wr[i];

		for (unsigned int k = 0; k < p->sges; k++) {
			uint32_t at, len = rtgt_piece(op->len, p->sges, k, &at);
			uint8_t *piece = p->list.buf + op->local + at + (size_t)k * GAP;

			if (out)
				memcpy(piece, range, len);
			else
				memcpy(range, piece, len);
			range += len;
		}
	}
}

static void fill_list(struct ping *p, unsigned int n, uint8_t *data)
{
	if (p->sges == 1)
		return;
	memset(p->list.buf, GAP_BYTE, p->list.len);
	copy_list(p, n, data, true);
}

/* What a READ brought into the list goes to where it would have been without one */
static int take_list(struct ping *p, unsigned int n, uint8_t *data, struct rtgt_err *err)
{
	struct rtgt_diff diff;

	if (p->sges == 1)
		return 0;
	copy_list(p, n, data, false);
	for (unsigned int i = 0; i < n; i++) {
		const struct rtgt_rdma *op = &p->wr[i];

		for (unsigned int k = 0; k < p->sges; k++) {
			uint32_t at, len = rtgt_piece(op->len, p->sges, k, &at);
			const uint8_t *gap = p->list.buf + op->local + at + (size_t)k * GAP + len;

			if (rtgt_bytes_verify(gap, GAP, GAP_BYTE, &diff))
				return rtgt_fail(err, EILSEQ,
						 "%s of %u bytes, iteration %llu: byte %zu behind piece %u of the local buffer changed to 0x%02x",
						 p->op->name, p->len,
						 (unsigned long long)p->iteration, diff.offset, k,
						 diff.got);
		}
	}
	return 0;
}

/* Put the mirror's range to the target */
int ping_put(struct ping *p, enum ibv_wr_opcode opcode, struct rtgt_took *took,
	     struct rtgt_err *err)
{
	unsigned int n = make_chain(p, IBV_WR_RDMA_WRITE, &p->tx, p->before);

	p->wr[n - 1].opcode = opcode == RTGT_WR_FLUSH ? IBV_WR_RDMA_WRITE : opcode;
	if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		p->wr[n - 1].imm = rtgt_imm(RTGT_IMM_ACK, (uint32_t)p->serial);
	fill_list(p, n, p->tx.buf + p->before);
	if (opcode == RTGT_WR_FLUSH)
		p->wr[n++] = (struct rtgt_rdma) {
			.opcode = opcode, .region = p->region, .remote = p->at, .len = p->len,
			.flags = p->flags,
		};
	return rtgt_client_chain(&p->client, p->wr, n, took, err);
}

static int do_write(struct ping *p, enum ibv_wr_opcode opcode, struct rtgt_err *err)
{
	struct rtgt_took took;
	int ret;

	rtgt_pattern_fill(p->tx.buf + p->before, p->len, ping_seed(p));
	ret = ping_put(p, opcode, &took, err);
	if (ret)
		return ret;
	ping_sample(p, &took);
	if (p->show)
		ping_out_data(p, p->tx.buf + p->before, p->len);
	return p->verify ? ping_check_target(p, err) : 0;
}

int ping_write(struct ping *p, struct rtgt_err *err)
{
	return do_write(p, IBV_WR_RDMA_WRITE, err);
}

int ping_write_imm(struct ping *p, struct rtgt_err *err)
{
	return do_write(p, IBV_WR_RDMA_WRITE_WITH_IMM, err);
}

/* WRITEs and one FLUSH of all of them: it completes when they are where all can see them */
int ping_flush(struct ping *p, struct rtgt_err *err)
{
	return do_write(p, RTGT_WR_FLUSH, err);
}

/*
 * With --fence the READ's chain is followed by WRITEs of what it brings, to where
 * it came from.  A device that starts those too early writes what was in the
 * buffer before, which differs in every byte, and the target's checksum tells.
 */
static unsigned int add_fenced(struct ping *p, unsigned int n)
{
	if (!(p->flags & IBV_SEND_FENCE) || !p->verify || !ping_writable(p))
		return n;
	for (unsigned int i = 0; i < n; i++) {
		p->wr[n + i] = p->wr[i];
		p->wr[n + i].opcode = IBV_WR_RDMA_WRITE;
		/* inline data would be copied before there is any */
		p->wr[n + i].flags = IBV_SEND_FENCE;
	}
	return 2 * n;
}

/*
 * Before the region's range comes to @rx: write there what is to come, if we may, and make
 * every byte of @rx another one
 */
int ping_expect(struct ping *p, uint64_t seed, struct rtgt_err *err)
{
	int ret = 0;

	if (p->verify && ping_writable(p)) {
		rtgt_pattern_fill(p->tx.buf + p->before, p->len, seed);
		ret = ping_plain(p, IBV_WR_RDMA_WRITE, &p->tx, p->before, p->at, p->len, err);
	}
	if (ret)
		return ret;
	rtgt_pattern_invert(p->rx.buf, p->len, seed);
	rtgt_mr_arm(&p->rx, p->len);
	return 0;
}

int ping_read(struct ping *p, struct rtgt_err *err)
{
	uint64_t seed = ping_seed(p);
	unsigned int n, all;
	struct rtgt_took took;
	int ret;

	ret = ping_expect(p, seed, err);
	if (ret)
		return ret;
	n = make_chain(p, IBV_WR_RDMA_READ, &p->rx, 0);
	fill_list(p, n, p->rx.buf);
	all = add_fenced(p, n);
	ret = rtgt_client_chain(&p->client, p->wr, all, &took, err);
	if (!ret)
		ret = take_list(p, n, p->rx.buf, err);
	if (ret)
		return ret;
	ping_sample(p, &took);
	if (p->show)
		ping_out_data(p, p->rx.buf, p->len);
	if (!p->verify)
		return 0;
	ret = ping_check_rx(p, seed, err);
	if (!ret)
		ret = ping_check_guards(p, &p->rx, p->len, err);
	if (!ret && all > n)
		ret = ping_check_target(p, err);
	return ret;
}

/* Eight bytes of the range as the number they are to both ends, if both order bytes alike */
static uint64_t number(const uint8_t *buf)
{
	uint64_t value;

	memcpy(&value, buf, sizeof(value));
	return value;
}

static int atomic(struct ping *p, enum ibv_wr_opcode opcode, uint64_t compare_add, uint64_t swap,
		  uint64_t *old, struct rtgt_took *took, struct rtgt_err *err)
{
	const struct rtgt_rdma op = {
		.opcode = opcode, .region = p->region, .remote = p->at, .mr = &p->rx,
		.len = sizeof(*old), .compare_add = compare_add, .swap = swap, .flags = p->flags,
	};
	int ret;

	rtgt_pattern_fill(p->rx.buf, sizeof(*old), ping_seed(p));
	rtgt_mr_arm(&p->rx, sizeof(*old));
	ret = rtgt_client_rdma(&p->client, &op, took, err);
	*old = number(p->rx.buf);
	return ret;
}

static int check_old(struct ping *p, uint64_t got, uint64_t want, struct rtgt_err *err)
{
	if (got != want)
		return rtgt_fail(err, EILSEQ,
				 "%s, iteration %llu: the value before it at region offset %llu is told as 0x%016llx, expected 0x%016llx",
				 p->op->name, (unsigned long long)p->iteration,
				 (unsigned long long)p->at, (unsigned long long)got,
				 (unsigned long long)want);
	return ping_check_guards(p, &p->rx, sizeof(got), err);
}

/* An unequal comparison must tell the value and leave it */
static int cas_unequal(struct ping *p, uint64_t value, struct rtgt_err *err)
{
	struct rtgt_took took;
	uint64_t old;
	int ret = atomic(p, IBV_WR_ATOMIC_CMP_AND_SWP, ~value, ping_seed(p), &old, &took, err);

	return ret ? ret : check_old(p, old, value, err);
}

/* What an atomic left: the checksum of the range, or, where nobody may READ, a sum of it and 0 */
static int check_left(struct ping *p, uint64_t value, struct rtgt_err *err)
{
	struct rtgt_took took;
	uint64_t now;
	int ret;

	if (p->mem->access & RTGT_ACCESS_READ)
		return ping_check_target(p, err);
	p->unwatched = true;
	ret = atomic(p, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0, &now, &took, err);
	return ret ? ret : check_old(p, now, value, err);
}

static int do_atomic(struct ping *p, enum ibv_wr_opcode opcode, struct rtgt_err *err)
{
	bool cas = opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	uint8_t *mirror = p->tx.buf + p->before;
	uint64_t operand = ping_seed(p), value, old;
	struct rtgt_took took;
	int ret = 0;

	/* what is there, where we could not write it: the sum of it and nothing */
	if (!p->iteration && !(p->verify && ping_writable(p))) {
		ret = atomic(p, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0, &old, &took, err);
		memcpy(mirror, &old, sizeof(old));
	}
	if (ret)
		return ret;
	value = number(mirror);
	ret = atomic(p, opcode, cas ? value : operand, operand, &old, &took, err);
	if (ret)
		return ret;
	ping_sample(p, &took);
	if (p->show)
		ping_out_data(p, p->rx.buf, sizeof(old));
	if (p->verify)
		ret = check_old(p, old, value, err);
	value = cas ? operand : value + operand;
	memcpy(mirror, &value, sizeof(value));
	if (!ret && p->verify && cas)
		ret = cas_unequal(p, value, err);
	return ret || !p->verify ? ret : check_left(p, value, err);
}

int ping_cas(struct ping *p, struct rtgt_err *err)
{
	return do_atomic(p, IBV_WR_ATOMIC_CMP_AND_SWP, err);
}

int ping_faa(struct ping *p, struct rtgt_err *err)
{
	return do_atomic(p, IBV_WR_ATOMIC_FETCH_AND_ADD, err);
}

int ping_atomic_write(struct ping *p, struct rtgt_err *err)
{
	const struct rtgt_rdma op = {
		.opcode = RTGT_WR_ATOMIC_WRITE, .region = p->region, .remote = p->at,
		.mr = &p->tx, .local = p->before, .len = p->len, .flags = p->flags,
	};
	struct rtgt_took took;
	int ret;

	rtgt_pattern_fill(p->tx.buf + p->before, p->len, ping_seed(p));
	ret = rtgt_client_rdma(&p->client, &op, &took, err);
	if (ret)
		return ret;
	ping_sample(p, &took);
	if (p->show)
		ping_out_data(p, p->tx.buf + p->before, p->len);
	return p->verify ? ping_check_target(p, err) : 0;
}
