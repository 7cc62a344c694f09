// SPDX-License-Identifier: GPL-2.0
/*
 * What the operations of a run moved, compared at both ends.
 *
 * The initiator requests from the target the checksum of a range, one at a time on the run's
 * queue pair, while no operation of the run is outstanding.
 *
 *   WRITE  after the run, the bytes of the last WRITE to each place.  Each WRITE has other bytes,
 *	    so a place that holds those of an earlier one differs.  WRITEs that a later one
 *	    overwrote are not compared ("overwritten").
 *   READ   with verify=all what each READ returned, which has its own memory.  Otherwise one more
 *	    READ of each place after the run; the READs of the run shared one memory and are not
 *	    compared ("buffer-reused").
 *   SEND   each echo, when it arrives (request.c).
 *   atomic each value that an atomic returned, when it completes (request.c); the first of a
 *	    word with the checksum from before the run, or not at all ("first-result").  After the
 *	    run, what the last one left.
 *
 * A target that does not speak rtgt, or whose region does not grant READ, has no checksum
 * ("no-checksum").
 */
#include <linux/minmax.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "initiator/request.h"

/* Words that atomics may use: one structure each */
#define WORDS_MAX		65536

/* The target's CRC-32 of a range of the region. */
static int ask_checksum(struct rtgt_run *run, u64 offset, u32 *crc)
{
	struct rtgt_reply reply;
	int ret;

	rtgt_encode_range(rtgt_run_ask_body(run), run->cfg.region, offset, run->cfg.size);
	ret = rtgt_run_ask(run, RTGT_MSG_CHECKSUM, sizeof(struct rtgt_range), &reply);
	if (!ret && reply.covered != run->cfg.size)
		ret = rtgt_run_fail(run,
				    "verification: a checksum is of %llu bytes instead of %u",
				    reply.covered, run->cfg.size);
	*crc = ret ? 0 : reply.crc;
	return ret;
}

/* Let no byte be what it was, so that a READ that returns nothing is seen. */
static void poison(struct rtgt_ini_req *req)
{
	struct rtgt_mem *mem = req->bytes->mem;
	size_t here;
	u64 at;

	rtgt_ini_req_sync(req, true);
	for (at = 0; at < req->run->cfg.size; at += here) {
		u8 *p = rtgt_mem_at(mem, at, req->run->cfg.size - at, &here);

		memset(p, ~*p, here);
	}
	rtgt_ini_req_sync(req, false);
}

/* One more READ, of bytes from @offset on: all READs of a run have one buffer. */
static int read_once(struct rtgt_run *run, u64 offset)
{
	struct rtgt_ini_req *req = &run->reqs[0];

	poison(req);
	rtgt_ini_req_cut(req, 0, run->cfg.size);
	req->wr.rdma.remote_addr = run->peer.region[run->cfg.region].addr + offset;
	return rtgt_run_post_once(run, &req->wr.send);
}

/* The CRC-32 of the local bytes of a request, from @shift on. */
static u32 req_checksum(struct rtgt_ini_req *req, u32 shift)
{
	rtgt_ini_req_sync(req, true);
	return rtgt_mem_crc32_more(req->bytes->mem, 0, shift, req->run->cfg.size);
}

/*
 * Compare the local bytes with the target's.  If they differ, both checksums once more: bytes that
 * differed for a moment only are another fault than bytes that are wrong.
 */
static int compare(struct rtgt_run *run, u64 offset, struct rtgt_ini_req *req, u32 shift)
{
	u32 mine = req_checksum(req, shift), crc, again;
	int ret = ask_checksum(run, offset, &crc);

	if (!ret && crc == mine) {
		run->result.verified += run->cfg.size;
		return 0;
	}
	if (!ret)
		ret = ask_checksum(run, offset, &again);
	if (ret)
		return ret;
	return rtgt_run_fail(run,
			     "verification: different bytes at offset %llu: CRC-32 %08x here, %08x at the target; again %08x and %08x",
			     offset, mine, crc, req_checksum(req, shift), again);
}

/* The places that operations can have used are the first ones. */
static u32 places_most(const struct rtgt_run *run)
{
	return min_t(u64, rtgt_run_places(run),
		     run->cfg.walk || run->cfg.verify_all ? run->total : run->cfg.depth);
}

/* The number of the last operation of a place, below places_most(); -1 if there was none. */
static s64 place_last(const struct rtgt_run *run, u32 place)
{
	u64 places = rtgt_run_places(run), i;
	s64 last = -1;

	if (run->cfg.walk || run->cfg.verify_all)
		return places >= run->total ? place :
			run->total - 1 - (run->total - 1 - place) % (u32)places;
	/* the target chose the length of the region, hence places: the sum must not wrap */
	for (i = place; i < run->cfg.depth; i += min_t(u64, places, run->cfg.depth))
		if (run->reqs[i].ran)
			last = max_t(s64, last, run->reqs[i].index);
	return last;
}

static bool has_checksums(const struct rtgt_run *run)
{
	return run->peer.rtgt && run->peer.region[run->cfg.region].access & RTGT_ACCESS_READ;
}

static u64 place_offset(const struct rtgt_run *run, u32 place)
{
	return run->cfg.offset + (u64)place * run->cfg.size;
}

/**
 * rtgt_run_verify_begin() - request what is needed to compare, before the first operation
 * @run: with the capability of its region
 *
 * For atomics, the checksums of the first RTGT_INI_DEPTH_MAX words.  May sleep.
 * Return: 0 or a negative errno; then the run must end.
 */
int rtgt_run_verify_begin(struct rtgt_run *run)
{
	u32 most, i;
	int ret = 0;

	if (!rtgt_op_is_atomic(run->cfg.op))
		return 0;
	most = places_most(run);
	if (most > WORDS_MAX)
		return rtgt_run_fail(run, "walk: atomics on %u words: lower span to %u bytes",
				     most, WORDS_MAX * (u32)sizeof(u64));
	run->word = kvcalloc(most, sizeof(*run->word), GFP_KERNEL);
	if (!run->word)
		return -ENOMEM;
	for (i = 0; i < min_t(u32, most, RTGT_INI_DEPTH_MAX) && has_checksums(run) && !ret; i++) {
		ret = ask_checksum(run, place_offset(run, i), &run->word[i].crc);
		run->word[i].asked = !ret;
	}
	return ret;
}

/* The values that the last atomics left. */
static int verify_words(struct rtgt_run *run)
{
	u32 i, crc;
	int ret = 0;

	run->result.verified = (u64)run->cfg.size * run->total - run->result.not_compared;
	if (run->result.not_compared)
		run->result.why_not = "first-result";
	for (i = 0; i < min_t(u32, places_most(run), RTGT_INI_DEPTH_MAX) && !ret; i++) {
		if (!run->word[i].asked || !run->word[i].known)
			continue;
		ret = ask_checksum(run, place_offset(run, i), &crc);
		if (!ret && !rtgt_word_has_crc(run->word[i].value, crc))
			ret = rtgt_run_fail(run,
					    "verification: offset %llu does not hold 0x%llx, which the last atomic left",
					    place_offset(run, i), run->word[i].value);
	}
	return ret;
}

/* What each READ returned, each in the memory of its request. */
static int verify_reads(struct rtgt_run *run)
{
	u32 i;
	int ret = 0;

	for (i = 0; i < run->cfg.depth && !ret; i++)
		if (run->reqs[i].ran)
			ret = compare(run, rtgt_ini_req_offset(&run->reqs[i]), &run->reqs[i], 0);
	return ret;
}

/* The last WRITE of each place, or one more READ of it. */
static int verify_places(struct rtgt_run *run)
{
	u32 most = places_most(run), place;
	int ret = 0;

	for (place = 0; place < most && !ret; place++) {
		u64 offset = place_offset(run, place);
		s64 last = place_last(run, place);

		if (last < 0)
			continue;
		if (run->cfg.op == RTGT_INI_READ)
			ret = read_once(run, offset);
		if (!ret)
			ret = compare(run, offset, &run->reqs[0], rtgt_run_shift(run, last));
	}
	return ret;
}

/**
 * rtgt_run_verify() - compare what the operations moved with what the target holds
 * @run: all its operations succeeded
 *
 * Sets the number of bytes that were compared, and of those that were not.  May sleep.
 * Return: 0; -EILSEQ when bytes differ, with the reason recorded; another negative errno when
 * they could not be compared.
 */
int rtgt_run_verify(struct rtgt_run *run)
{
	u64 all = (u64)run->cfg.size * run->total;
	int ret;

	if (run->cfg.op == RTGT_INI_SEND) {
		run->result.verified = all;
		return 0;
	}
	if (rtgt_op_is_atomic(run->cfg.op))
		return verify_words(run);
	if (!has_checksums(run)) {
		run->result.not_compared = all;
		run->result.why_not = "no-checksum";
		return 0;
	}
	if (run->cfg.op == RTGT_INI_READ && run->cfg.verify_all)
		return verify_reads(run);
	ret = verify_places(run);
	if (run->cfg.op == RTGT_INI_READ) {
		run->result.not_compared = all;
		run->result.why_not = "buffer-reused";
	} else if (run->result.verified < all) {
		run->result.not_compared = all - run->result.verified;
		run->result.why_not = "overwritten";
	}
	return ret;
}
