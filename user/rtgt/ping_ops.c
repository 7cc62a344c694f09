// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The operations of rtgt ping, and how each is verified.
 *
 * ping.tx mirrors a piece of the target's region:
 *
 *	| margin before | the range operated on | margin behind |
 *
 * ping_prepare() writes all of it once; each WRITE then changes the range only,
 * and the target's checksum over the whole piece must be the mirror's, so a byte
 * missed and a byte too many both show.  A target without checksums is read
 * back instead.  A READ goes into a buffer that differs from the expected bytes
 * everywhere, with guards around it.  The bytes are new for every operation, and
 * from one run to the next: nothing left over from before can pass.
 *
 * When the sum is wrong the range is read back, where the region allows it, to
 * tell the first byte that differs.
 */
#include <errno.h>
#include <string.h>

#include "ping.h"

/* Bytes around the range that are watched, where the region has room */
#define MARGIN		PING_MARGIN

/* How far from either end of the region a range begins or ends */
#define SPREAD		4096

static uint64_t next_seed(struct ping *p)
{
	return p->seed + ++p->serial * 0xd1342543de82ef95u;
}

static uint32_t piece_len(const struct ping *p)
{
	return p->before + p->len + p->behind;
}

static bool readable(const struct ping *p)
{
	return p->mem->access & RTGT_ACCESS_READ;
}

static bool writable(const struct ping *p)
{
	return p->mem->access & RTGT_ACCESS_WRITE;
}

static int rdma(struct ping *p, enum ibv_wr_opcode opcode, const struct rtgt_mr *mr, size_t local,
		uint64_t remote, uint32_t len, struct rtgt_took *took, struct rtgt_err *err)
{
	struct rtgt_rdma op = {
		.opcode = opcode, .region = p->region, .remote = remote,
		.mr = mr, .local = local, .len = len,
	};

	if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		op.imm = rtgt_imm(RTGT_IMM_ACK, (uint32_t)p->serial);
	return rtgt_client_rdma(&p->client, &op, took, err);
}

static void sample(struct ping *p, const struct rtgt_took *took)
{
	rtgt_hist_add(&p->completion, took->completion);
	if (took->reply)
		rtgt_hist_add(&p->reply, took->reply);
}

/* @offset counts from the piece's first byte, the margin before it included */
static int fail_byte(struct ping *p, const struct rtgt_diff *diff, const char *where,
		     struct rtgt_err *err)
{
	bool inside = diff->offset >= p->before && diff->offset < p->before + p->len;

	return rtgt_fail(err, EILSEQ,
			 "%s of %u bytes, iteration %llu: %s: byte %lld of the range (region offset %llu) is 0x%02x, expected 0x%02x%s",
			 p->op->name, p->len, (unsigned long long)p->iteration, where,
			 (long long)diff->offset - p->before,
			 (unsigned long long)(p->at - p->before + diff->offset), diff->got,
			 diff->expected, inside ? "" : ": it is outside, nobody was to touch it");
}

/* Compare what was read back with the mirror */
static bool differs(const struct ping *p, struct rtgt_diff *diff)
{
	for (uint32_t i = 0; i < piece_len(p); i++) {
		if (p->tx.buf[i] == p->rx.buf[i])
			continue;
		*diff = (struct rtgt_diff) { i, p->tx.buf[i], p->rx.buf[i] };
		return true;
	}
	return false;
}

static int read_back(struct ping *p, struct rtgt_err *err)
{
	struct rtgt_took took;
	struct rtgt_diff diff;
	int ret;

	for (uint32_t i = 0; i < piece_len(p); i++)
		p->rx.buf[i] = (uint8_t)~p->tx.buf[i];
	ret = rdma(p, IBV_WR_RDMA_READ, &p->rx, 0, p->at - p->before, piece_len(p), &took, err);
	if (ret)
		return ret;
	return differs(p, &diff) ? fail_byte(p, &diff, "read back", err) : 0;
}

/* The target's sum over part of the piece against the mirror's; -EILSEQ when they differ */
static int check_sum(struct ping *p, uint32_t from, uint32_t len, const char *what,
		     struct rtgt_err *err)
{
	uint32_t want = rtgt_crc32(0, p->tx.buf + from, len), got;
	int ret = rtgt_client_checksum(&p->client, p->region, p->at - p->before + from, len, &got,
				       err);

	if (ret || got == want)
		return ret;
	return rtgt_fail(err, EILSEQ,
			 "%s of %u bytes, iteration %llu: the target's checksum of %s (region offset %llu, %u bytes) is 0x%08x, expected 0x%08x",
			 p->op->name, p->len, (unsigned long long)p->iteration, what,
			 (unsigned long long)(p->at - p->before + from), len, got, want);
}

/* Say where the difference check_sum() found is, as exactly as the region's access allows */
static int narrow(struct ping *p, struct rtgt_err *err)
{
	struct rtgt_err detail;
	int ret = 0;

	if (readable(p)) {
		ret = read_back(p, &detail);
	} else {
		ret = check_sum(p, p->before, p->len, "the range", &detail);
		if (!ret)
			ret = check_sum(p, 0, p->before, "the bytes before the range", &detail);
		if (!ret)
			ret = check_sum(p, p->before + p->len, p->behind,
					"the bytes behind the range", &detail);
	}
	if (ret)
		*err = detail;
	return -EILSEQ;
}

/* Does the target hold what the mirror says? */
static int check_target(struct ping *p, struct rtgt_err *err)
{
	int ret;

	if (!p->client.peer.rtgt)
		return read_back(p, err);
	ret = check_sum(p, 0, piece_len(p), "the range and its neighbours", err);
	return ret == -EILSEQ ? narrow(p, err) : ret;
}

static int check_guards(struct ping *p, const struct rtgt_mr *mr, size_t used, struct rtgt_err *err)
{
	struct rtgt_diff diff;
	int side = rtgt_mr_check(mr, used, &diff);

	if (!side)
		return 0;
	return rtgt_fail(err, EILSEQ,
			 "%s of %u bytes, iteration %llu: byte %zu %s the local buffer changed to 0x%02x: nobody was to touch it",
			 p->op->name, p->len, (unsigned long long)p->iteration, diff.offset,
			 side < 0 ? "of the guard before" : "behind the end of", diff.got);
}

static int do_write(struct ping *p, enum ibv_wr_opcode opcode, struct rtgt_err *err)
{
	struct rtgt_took took;
	int ret;

	rtgt_pattern_fill(p->tx.buf + p->before, p->len, next_seed(p));
	ret = rdma(p, opcode, &p->tx, p->before, p->at, p->len, &took, err);
	if (ret)
		return ret;
	sample(p, &took);
	if (p->show)
		ping_out_data(p, p->tx.buf + p->before, p->len);
	return p->verify ? check_target(p, err) : 0;
}

static int run_write(struct ping *p, struct rtgt_err *err)
{
	return do_write(p, IBV_WR_RDMA_WRITE, err);
}

static int run_write_imm(struct ping *p, struct rtgt_err *err)
{
	return do_write(p, IBV_WR_RDMA_WRITE_WITH_IMM, err);
}

/* What the READ is to bring, when we may write it there first */
static int read_written(struct ping *p, uint64_t seed, struct rtgt_err *err)
{
	struct rtgt_took took;

	rtgt_pattern_fill(p->tx.buf + p->before, p->len, seed);
	rtgt_pattern_invert(p->rx.buf, p->len, seed);
	return rdma(p, IBV_WR_RDMA_WRITE, &p->tx, p->before, p->at, p->len, &took, err);
}

static int check_read(struct ping *p, uint64_t seed, struct rtgt_err *err)
{
	struct rtgt_diff diff;
	uint32_t want, got;
	int ret;

	if (writable(p)) {
		if (rtgt_pattern_verify(p->rx.buf, p->len, seed, &diff)) {
			diff.offset += p->before;
			return fail_byte(p, &diff, "what was read", err);
		}
		return 0;
	}
	got = rtgt_crc32(0, p->rx.buf, p->len);
	ret = rtgt_client_checksum(&p->client, p->region, p->at, p->len, &want, err);
	if (ret || got == want)
		return ret;
	return rtgt_fail(err, EILSEQ,
			 "%s of %u bytes, iteration %llu: what was read from region offset %llu has checksum 0x%08x, the target says 0x%08x",
			 p->op->name, p->len, (unsigned long long)p->iteration,
			 (unsigned long long)p->at, got, want);
}

static int run_read(struct ping *p, struct rtgt_err *err)
{
	uint64_t seed = next_seed(p);
	struct rtgt_took took;
	int ret = 0;

	if (p->verify && writable(p))
		ret = read_written(p, seed, err);
	else
		rtgt_pattern_fill(p->rx.buf, p->len, seed);
	if (ret)
		return ret;
	rtgt_mr_arm(&p->rx, p->len);
	ret = rdma(p, IBV_WR_RDMA_READ, &p->rx, 0, p->at, p->len, &took, err);
	if (ret)
		return ret;
	sample(p, &took);
	if (p->show)
		ping_out_data(p, p->rx.buf, p->len);
	if (!p->verify)
		return 0;
	ret = check_read(p, seed, err);
	return ret ? ret : check_guards(p, &p->rx, p->len, err);
}

static int run_send(struct ping *p, struct rtgt_err *err)
{
	struct rtgt_client *c = &p->client;
	uint64_t seed = next_seed(p);
	size_t used = sizeof(struct rtgt_msg) + p->len;
	struct rtgt_took took;
	struct rtgt_diff diff;
	int ret;

	rtgt_pattern_fill(rtgt_client_tx(c), p->len, seed);
	rtgt_pattern_invert(c->rx.buf + sizeof(struct rtgt_msg), p->len, seed);
	rtgt_mr_arm(&c->rx, used);
	ret = rtgt_client_echo(c, p->len, &took, err);
	if (ret)
		return ret;
	sample(p, &took);
	if (p->show)
		ping_out_data(p, rtgt_client_rx(c), p->len);
	if (!p->verify)
		return 0;
	if (rtgt_pattern_verify(rtgt_client_rx(c), p->len, seed, &diff))
		return rtgt_fail(err, EILSEQ,
				 "%s of %u bytes, iteration %llu: byte %zu of the echo is 0x%02x, expected 0x%02x",
				 p->op->name, p->len, (unsigned long long)p->iteration,
				 diff.offset, diff.got, diff.expected);
	return check_guards(p, &c->rx, used, err);
}

/* In the order they run; send is the last (PING_SEND) */
const struct ping_op ping_ops[PING_OPS] = {
	{ "write", RTGT_ACCESS_WRITE, false, run_write },
	{ "read", RTGT_ACCESS_READ, false, run_read },
	{ "write-imm", RTGT_ACCESS_WRITE, true, run_write_imm },
	{ "send", 0, true, run_send },
};

/* Put in front what was being done; a difference in the data says so itself */
static int told(const struct ping *p, int ret, struct rtgt_err *err)
{
	char text[sizeof(err->text)];

	if (!ret || ret == -EILSEQ || ret == -EINTR)
		return ret;
	memcpy(text, err->text, sizeof(text));
	snprintf(err->text, sizeof(err->text), "%s of %u bytes, iteration %llu: %.*s", p->op->name,
		 p->len, (unsigned long long)p->iteration, (int)sizeof(text) - 80, text);
	return ret;
}

/**
 * ping_prepare() - choose a place in the region and write what surrounds it
 * @p: with op and len set
 * @err: says what is wrong
 *
 * The place is a random one near either end of the region, so that unaligned and
 * page-crossing ones and the last byte occur.
 *
 * Return: 0, or a negative errno.
 */
int ping_prepare(struct ping *p, struct rtgt_err *err)
{
	uint64_t room = p->region_len > p->len ? p->region_len - p->len : 0;
	uint64_t place = next_seed(p) >> 32;
	struct rtgt_took took;
	int ret;

	p->at = place % (room < SPREAD ? room + 1 : SPREAD);
	if (place & 1u << 31)
		p->at = room - p->at;
	p->before = p->at < MARGIN ? (uint32_t)p->at : MARGIN;
	room -= p->at;
	p->behind = room < MARGIN ? (uint32_t)room : MARGIN;
	if (!p->verify || !p->op->access || !writable(p))
		return 0;
	rtgt_pattern_fill(p->tx.buf, piece_len(p), next_seed(p));
	ret = rdma(p, IBV_WR_RDMA_WRITE, &p->tx, 0, p->at - p->before, piece_len(p), &took, err);
	return told(p, ret, err);
}

/**
 * ping_once() - one iteration
 * @p: prepared
 * @err: says what is wrong
 *
 * Return: 0, -EILSEQ when bytes are not what they should be, or another
 * negative errno.
 */
int ping_once(struct ping *p, struct rtgt_err *err)
{
	return told(p, p->op->run(p, err), err);
}
