// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt work checkpoint: large states in the target's memory, and clients that crash.
 *
 * Each worker has two slots and two records in the region.  A checkpoint goes to the slot that does
 * not hold the last one, in many WRITEs; what makes it valid is its record, one small WRITE behind
 * all of them.  Half of the time the worker crashes: it closes its connection in the middle.
 * Then, as a new client, it looks for the record with the highest generation, and the checkpoint
 * must be the last one, or if all of it had been posted the new one, in every byte.
 *
 * Rules that this relies on:
 *
 *  - WRITEs of one queue pair are executed in their order: who finds the record finds the data.
 *    Over iWARP WRITEs may be placed in any order, so the record waits for a READ behind the data.
 *  - Not even a small WRITE is atomic: a record is valid only if its own CRC is right.
 *  - No order exists between queue pairs: the last WRITEs of the old connection may still arrive
 *    when somebody writes to the slot again.  work_drop() waits until the target has heard that it
 *    is closed; what a WRITE still left would be found, since no two attempts write the same bytes.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include <rtgt/log.h>
#include <rtgt/pattern.h>
#include "work.h"

#define MAGIC		0x52544754434b5054u	/* "RTGTCKPT" */
#define RECORD		64u
#define SLOTS		2u

/* Of one WRITE or READ */
#define CHUNK		(64u << 10)

/* struct work_pattern.counts */
enum { COMMITTED, CRASHED, OLD, NEW, MIXED };

/* --ignore */
enum { RULE_ORDER };

/**
 * struct record - what makes a slot valid; little-endian
 * @magic: MAGIC
 * @generation: counts from 1; in slot @generation % SLOTS
 * @len: bytes
 * @content: of what the bytes are made
 * @reserved: 0
 * @crc: of all in front of it
 */
struct record {
	uint64_t magic;
	uint64_t generation;
	uint64_t len;
	uint64_t content;
	uint64_t reserved[3];
	uint64_t crc;
};

_Static_assert(sizeof(struct record) == RECORD, "");

static uint64_t slot_size(const struct work *w)
{
	return (w->size + RECORD - 1) & ~(uint64_t)(RECORD - 1);
}

static uint64_t part_size(const struct work *w)
{
	return SLOTS * (RECORD + slot_size(w));
}

static uint64_t need(const struct work *w)
{
	return w->workers * part_size(w);
}

/* A slot as it is written or read, and the records */
static uint64_t buffer(const struct work *w)
{
	return (slot_size(w) < SLOTS * RECORD ? SLOTS * RECORD : slot_size(w)) + SLOTS * RECORD;
}

static uint64_t records(const struct worker *c)
{
	return c->index * part_size(c->w);
}

static uint64_t slot(const struct worker *c, uint64_t generation)
{
	return records(c) + SLOTS * RECORD + generation % SLOTS * slot_size(c->w);
}

static uint64_t crc_of(const struct record *r)
{
	return htole64(rtgt_crc32(0, r, offsetof(struct record, crc)));
}

/* ------------------------------------------------------------------------------ writing */

static uint64_t chunks(const struct work *w)
{
	return (w->size + CHUNK - 1) / CHUNK;
}

static int write_chunk(struct worker *c, uint64_t generation, uint64_t i)
{
	const uint64_t at = i * CHUNK, left = c->w->size - at;

	return work_post(c, RTGT_WORK_WRITE, slot(c, generation) + at, left < CHUNK ? left : CHUNK,
			 at);
}

static int write_record(struct worker *c, uint64_t generation, uint64_t content)
{
	const uint64_t local = slot_size(c->w);
	struct record r = {
		.magic = htole64(MAGIC), .generation = htole64(generation),
		.len = htole64(c->w->size), .content = htole64(content),
	};

	r.crc = crc_of(&r);
	memcpy(work_bytes(c, local), &r, sizeof(r));
	return work_post(c, RTGT_WORK_WRITE, records(c) + generation % SLOTS * RECORD, RECORD,
			 local);
}

/* Over iWARP: all that was written has been placed */
static int placed(struct worker *c, uint64_t remote)
{
	return c->iwarp ? work_do(c, RTGT_WORK_READ, remote, 1, slot_size(c->w) + RECORD) : 0;
}

/* Which WRITE of a checkpoint is its record: the last one, unless the order is ignored */
static uint64_t record_at(const struct work *w)
{
	return w->ignored >> RULE_ORDER & 1 ? 0 : chunks(w);
}

/* Post the first @posts WRITEs of a checkpoint; all are chunks() + 1 */
static int stage(struct worker *c, uint64_t generation, uint64_t content, uint64_t posts)
{
	const uint64_t record = record_at(c->w);
	int ret = 0;

	rtgt_pattern_fill(work_bytes(c, 0), c->w->size, content);
	for (uint64_t i = 0; i < posts && !ret; i++) {
		if (i == record && i)
			ret = placed(c, slot(c, generation));
		if (ret)
			break;
		ret = i == record ? write_record(c, generation, content) :
			write_chunk(c, generation, i - (i > record));
	}
	return ret;
}

/* ---------------------------------------------------------------------------- recovering */

static bool is_valid(const struct record *r)
{
	return r->magic == htole64(MAGIC) && r->crc == crc_of(r);
}

/* The newest valid record; its generation is 0 if there is none */
static int newest(struct worker *c, struct record *found)
{
	const uint64_t local = slot_size(c->w);
	struct record r;
	int ret;

	memset(work_bytes(c, local), 0xff, SLOTS * RECORD);
	ret = work_do(c, RTGT_WORK_READ, records(c), SLOTS * RECORD, local);
	memset(found, 0, sizeof(*found));
	for (unsigned int i = 0; i < SLOTS && !ret; i++) {
		memcpy(&r, work_bytes(c, local + i * RECORD), sizeof(r));
		if (is_valid(&r) && le64toh(r.generation) > found->generation) {
			*found = r;
			found->generation = le64toh(r.generation);
			found->len = le64toh(r.len);
			found->content = le64toh(r.content);
		}
	}
	return ret;
}

/* Is the checkpoint that a record speaks of there, in every byte? */
static int compare(struct worker *c, const struct record *r, bool *whole)
{
	struct rtgt_diff diff;
	int ret = 0;

	if (r->len != c->w->size)
		return rtgt_fail(&c->err, ERANGE,
				 "worker %u's checkpoint has %llu bytes: take --size %llu",
				 c->index, (unsigned long long)r->len, (unsigned long long)r->len);
	rtgt_pattern_invert(work_bytes(c, 0), c->w->size, r->content);
	for (uint64_t at = 0, len; at < c->w->size && !ret; at += len) {
		len = c->w->size - at < CHUNK ? c->w->size - at : CHUNK;
		ret = work_post(c, RTGT_WORK_READ, slot(c, r->generation) + at, len, at);
	}
	if (!ret)
		ret = work_wait(c);
	if (ret)
		return ret;
	*whole = !rtgt_pattern_verify(work_bytes(c, 0), c->w->size, r->content, &diff);
	if (*whole)
		c->verified += c->w->size;
	else
		work_wrong(c, "worker %u: generation %llu is committed, but byte %zu of its %llu is 0x%02x instead of 0x%02x",
			   c->index, (unsigned long long)r->generation, diff.offset,
			   (unsigned long long)r->len, diff.got, diff.expected);
	return 0;
}

/* What a client finds that knows nothing; nothing at all is whole, too */
static int recover(struct worker *c, struct record *found, bool *whole)
{
	int ret = newest(c, found);

	*whole = true;
	return ret || !found->generation ? ret : compare(c, found, whole);
}

/* ---------------------------------------------------------------------------- the worker */

static int commit(struct worker *c, uint64_t generation, uint64_t content)
{
	const uint64_t start = rtgt_now_ns();
	int ret = stage(c, generation, content, chunks(c->w) + 1);

	if (!ret)
		ret = work_wait(c);
	if (!ret)
		ret = placed(c, records(c));
	if (ret)
		return ret;
	rtgt_hist_add(&c->took, rtgt_now_ns() - start);
	c->counts[COMMITTED]++;
	progress_count(&c->w->progress, 1);
	return 0;
}

/* The client is gone in the middle of a checkpoint, and another one comes */
static int crash(struct worker *c, uint64_t generation, uint64_t content, bool *announced,
		 bool *arrived)
{
	const uint64_t posts = work_random(c) % (chunks(c->w) + 2);
	int ret = stage(c, generation, content, posts);

	/* what was posted has arrived, or over iWARP has left, or all may still be under way */
	const bool waits = work_random(c) & 1;

	if (!ret && waits)
		ret = work_wait(c);
	if (ret)
		return ret;
	*announced = posts > record_at(c->w);
	*arrived = *announced && waits && !c->iwarp;
	c->counts[CRASHED]++;
	work_drop(c);
	return work_connect(c);
}

/*
 * What is found must be the new checkpoint if its record has @arrived, the last one if that was not
 * @announced, and otherwise one of the two.
 */
static int expect(struct worker *c, struct record *last, uint64_t content, bool crashed,
		  bool announced, bool arrived)
{
	const uint64_t next = last->generation + 1;
	struct record found;
	bool whole;
	int ret = recover(c, &found, &whole);

	if (ret)
		return ret;
	if (announced && found.generation == next && found.content == content)
		c->counts[NEW] += crashed && whole;
	else if (!arrived && found.generation == last->generation &&
		 found.content == last->content)
		c->counts[OLD] += whole;
	else if (whole)
		work_wrong(c, "worker %u: generation %llu is found, where %llu must be%s", c->index,
			   (unsigned long long)found.generation,
			   (unsigned long long)(announced ? next : last->generation),
			   announced && !arrived ? ", or the one before it" : "");
	*last = found;
	return 0;
}

static int one(struct worker *c, struct record *last)
{
	/* no two attempts write the same bytes, and the first one does not crash */
	const uint64_t next = last->generation + 1, content = work_mix(work_random(c), next);
	const bool crashes = work_random(c) & last->generation > 0;
	bool announced = true, arrived = true;
	int ret = crashes ? crash(c, next, content, &announced, &arrived) :
		commit(c, next, content);

	return ret ? ret : expect(c, last, content, crashes, announced, arrived);
}

/* A run with checkpoints of another size was here: its records are no more */
static int wipe(struct worker *c, struct record *last)
{
	memset(last, 0, sizeof(*last));
	memset(work_bytes(c, 0), 0, SLOTS * RECORD);
	return work_do(c, RTGT_WORK_WRITE, records(c), SLOTS * RECORD, 0);
}

static int run(struct worker *c)
{
	struct record last;
	bool whole;
	int ret = recover(c, &last, &whole);

	if (c->w->check && !ret) {
		c->counts[OLD] += last.generation && whole;
		return last.generation ? 0 :
			rtgt_fail(&c->err, ENOENT, "worker %u has no checkpoint", c->index);
	}
	if (ret == -ERANGE && !c->w->check)
		ret = wipe(c, &last);
	while (!ret && !work_is_enough(c, c->counts[COMMITTED]))
		ret = one(c, &last);
	return ret;
}

const struct work_pattern work_ckpt = {
	.name = "checkpoint",
	.each = "checkpoints",
	.counts = {
		[COMMITTED] = { "committed", "checkpoints committed" },
		[CRASHED] = { "crashed", "crashes in the middle of one" },
		[OLD] = { "old", "recovered the last one" },
		[NEW] = { "new", "recovered the crashed client's" },
		[MIXED] = { "mixed", "recovered neither" },
	},
	.wrong = MIXED,
	.rules = { [RULE_ORDER] = "order" },
	.size = 1 << 20,
	.count = 10,
	.need = need,
	.buffer = buffer,
	.run = run,
};
