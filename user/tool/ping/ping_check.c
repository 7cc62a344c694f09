// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the verifications of rtgt ping have in common.
 *
 * ping.tx mirrors a piece of the target's region:
 *
 *	| margin before | the range operated on | margin behind |
 *
 * ping_prepare() writes all of it once; each operation then changes the range
 * only, and the target's checksum over the whole piece must be the mirror's, so a
 * byte missed and a byte too many both show.  A target without checksums is read
 * back instead.  What comes to us goes into a buffer that differs from the
 * expected bytes everywhere, with guards around it.  The bytes are new for every
 * operation, and from one run to the next: nothing left over from before can pass.
 *
 * When the sum is wrong the range is read back, where the region allows it, to
 * tell the first byte that differs.
 */
#include <errno.h>

#include "ping.h"

/* One operation without any of the options, as verification does it */
int ping_plain(struct ping *p, enum ibv_wr_opcode opcode, const struct rtgt_mr *mr, size_t local,
	       uint64_t remote, uint32_t len, struct rtgt_err *err)
{
	const struct rtgt_rdma op = {
		.opcode = opcode, .region = p->region, .remote = remote,
		.mr = mr, .local = local, .len = len,
	};
	struct rtgt_took took;

	return rtgt_client_rdma(&p->client, &op, &took, err);
}

uint64_t ping_seed(struct ping *p)
{
	return p->seed + ++p->serial * 0xd1342543de82ef95u;
}

uint32_t ping_piece(const struct ping *p)
{
	return p->before + p->len + p->behind;
}

static bool readable(const struct ping *p)
{
	return p->mem->access & RTGT_ACCESS_READ && p->transport == RTGT_RC;
}

bool ping_writable(const struct ping *p)
{
	return p->mem->access & RTGT_ACCESS_WRITE;
}

void ping_sample(struct ping *p, const struct rtgt_took *took)
{
	rtgt_hist_add(&p->completion, took->completion);
	if (took->reply)
		rtgt_hist_add(&p->reply, took->reply);
}

/* @offset counts from the piece's first byte, the margin before it included */
static int fail_data(struct ping *p, const struct rtgt_diff *diff, const char *where,
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
	for (uint32_t i = 0; i < ping_piece(p); i++) {
		if (p->tx.buf[i] == p->rx.buf[i])
			continue;
		*diff = (struct rtgt_diff) { i, p->tx.buf[i], p->rx.buf[i] };
		return true;
	}
	return false;
}

static int read_back(struct ping *p, struct rtgt_err *err)
{
	struct rtgt_diff diff;
	int ret;

	for (uint32_t i = 0; i < ping_piece(p); i++)
		p->rx.buf[i] = (uint8_t)~p->tx.buf[i];
	ret = ping_plain(p, IBV_WR_RDMA_READ, &p->rx, 0, p->at - p->before, ping_piece(p), err);
	if (ret)
		return ret;
	return differs(p, &diff) ? fail_data(p, &diff, "read back", err) : 0;
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
			 "%s of %u bytes, iteration %llu: the target's checksum of %s (region offset %llu, %u bytes) is 0x%08x, expected 0x%08x%s",
			 p->op->name, p->len, (unsigned long long)p->iteration, what,
			 (unsigned long long)(p->at - p->before + from), len, got, want,
			 p->transport == RTGT_UC ? ": lost? over uc nothing is repeated" : "");
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

/* Does the target hold what the mirror says?  Where nobody may READ, nobody is told */
int ping_check_target(struct ping *p, struct rtgt_err *err)
{
	int ret;

	p->blind = !(p->mem->access & RTGT_ACCESS_READ);
	p->unwatched |= p->blind;
	if (p->blind)
		return 0;
	if (!p->client.peer.rtgt)
		return read_back(p, err);
	ret = check_sum(p, 0, ping_piece(p), "the range and its neighbours", err);
	return ret == -EILSEQ ? narrow(p, err) : ret;
}

int ping_check_guards(struct ping *p, const struct rtgt_mr *mr, size_t used, struct rtgt_err *err)
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

/* Is what came into ping.rx the pattern @seed, or, if we could not write that, the region's? */
int ping_check_rx(struct ping *p, uint64_t seed, struct rtgt_err *err)
{
	struct rtgt_diff diff;
	uint32_t want, got;
	int ret;

	if (ping_writable(p)) {
		if (rtgt_pattern_verify(p->rx.buf, p->len, seed, &diff)) {
			diff.offset += p->before;
			return fail_data(p, &diff, "what was read", err);
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
