// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt work kv: many small lookups, with READ alone, while somebody changes the values.
 *
 * A key's record is a version and the value.  The writer, the only one, makes the version odd,
 * writes the value, and makes the version even again: a sequence lock.  A reader reads the version,
 * the value and the version again, and does so anew unless the two are one even number.
 *
 * Rules that this relies on:
 *
 *  - An acknowledged WRITE is what every READ that begins later gets, on whichever queue pair.
 *    Over iWARP a WRITE completes when TCP has it; so the writer reads back what it wrote.
 *  - WRITEs of one queue pair are executed in their order.  The writer does not wait between them,
 *    but over iWARP it does, for the READ that shows them to have been placed.
 *  - No order exists between the bytes of one READ.  So a version that was read with the value says
 *    nothing, and a reader waits for each of its three READs.
 *
 * Each value is made of the seed, the key and its version, so a reader can tell that all of its
 * bytes are of the version that it has read.  All run in one process: what the writer had finished
 * before a lookup began is the oldest that it may get, and what the writer had begun when it ended
 * the newest.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rtgt/log.h>
#include <rtgt/pattern.h>
#include "tool/cli/interrupt.h"
#include "work.h"

/* The record: its version, and where the value begins */
#define VERSION		8u
#define VALUE		64u

/* So many times --timeout may a lookup take, if the key changes all the time */
#define PATIENCE	10

/* struct work_pattern.counts */
enum { CHANGES, LOOKUPS, REPEATED, TORN };

/* --ignore */
enum { RULE_VERSION, RULE_ORDER };

/**
 * struct kv - of each key
 * @begun: version of the newest change that has begun
 * @done: version of the newest change that every READ must see now
 */
struct kv {
	atomic_ullong begun[WORK_KEYS], done[WORK_KEYS];
};

static uint64_t stride(const struct work *w)
{
	return VALUE + ((w->size + 63) & ~63ull);
}

static uint64_t need(const struct work *w)
{
	return w->keys * stride(w);
}

/* The record as it is written, and what is read back: two versions, a value */
static uint64_t buffer(const struct work *w)
{
	return 2 * stride(w);
}

static bool ignores(const struct work *w, unsigned int rule)
{
	return w->ignored >> rule & 1;
}

static uint64_t value_seed(const struct work *w, uint64_t key, uint64_t version)
{
	return work_mix(work_mix(w->seed, key), version);
}

static void put(struct worker *c, uint64_t at, uint64_t version)
{
	const uint64_t le = htole64(version);

	memcpy(work_bytes(c, at), &le, sizeof(le));
}

static uint64_t get(const struct worker *c, uint64_t at)
{
	uint64_t le;

	memcpy(&le, work_bytes(c, at), sizeof(le));
	return le64toh(le);
}

/* --------------------------------------------------------------------------- the writer */

/* What was written is what every READ gets now */
static int placed(struct worker *c, uint64_t remote)
{
	int ret = 0;

	if (c->iwarp)
		ret = work_post(c, RTGT_WORK_READ, remote, VERSION, stride(c->w));
	return ret ? ret : work_wait(c);
}

/* What is written now is seen by nobody before what was written */
static int in_order(struct worker *c, uint64_t remote)
{
	return c->iwarp ? placed(c, remote) : 0;
}

static int write_version(struct worker *c, uint64_t remote, uint64_t local, uint64_t version)
{
	put(c, local, version);
	return work_post(c, RTGT_WORK_WRITE, remote, VERSION, local);
}

static int write_value(struct worker *c, uint64_t remote)
{
	return work_post(c, RTGT_WORK_WRITE, remote + VALUE, c->w->size, VALUE);
}

static int change(struct worker *c, uint64_t key)
{
	struct kv *kv = c->w->own;
	const uint64_t remote = key * stride(c->w), next = atomic_load(&kv->done[key]) + 2;
	int ret = 0;

	atomic_store(&kv->begun[key], next);
	rtgt_pattern_fill(work_bytes(c, VALUE), c->w->size, value_seed(c->w, key, next));
	if (ignores(c->w, RULE_ORDER)) {
		/* the new version is announced before its value is there */
		ret = write_version(c, remote, 0, next);
	} else {
		ret = write_version(c, remote, VERSION, next - 1);
	}
	if (!ret)
		ret = in_order(c, remote);
	if (!ret)
		ret = write_value(c, remote);
	if (!ret)
		ret = in_order(c, remote + VALUE);
	if (!ret && !ignores(c->w, RULE_ORDER))
		ret = write_version(c, remote, 0, next);
	if (!ret)
		ret = placed(c, remote);
	if (ret)
		return ret;
	atomic_store(&kv->done[key], next);
	c->counts[CHANGES]++;
	return 0;
}

/* Every key has a value before anybody looks it up */
static int begin(struct worker *first)
{
	int ret = 0;

	first->w->own = calloc(1, sizeof(struct kv));
	if (!first->w->own)
		return rtgt_fail(&first->err, ENOMEM, "no memory");
	for (uint64_t key = 0; key < first->w->keys && !ret; key++)
		ret = change(first, key);
	first->counts[CHANGES] = 0;
	return ret;
}

static void end(struct work *w)
{
	free(w->own);
}

/* -------------------------------------------------------------------------- the readers */

/* What comes from @remote goes to bytes that differ from it in every one, if it is as expected */
static int read_value(struct worker *c, uint64_t remote, uint64_t seed)
{
	rtgt_pattern_invert(work_bytes(c, VALUE), c->w->size, seed);
	return work_do(c, RTGT_WORK_READ, remote + VALUE, c->w->size, VALUE);
}

static int read_version(struct worker *c, uint64_t remote, uint64_t *version)
{
	int ret;

	/* odd: if nothing comes, the key seems to be changed */
	put(c, 0, UINT64_MAX);
	*version = UINT64_MAX;
	ret = work_do(c, RTGT_WORK_READ, remote, VERSION, 0);
	if (!ret)
		*version = get(c, 0);
	return ret;
}

/* Is it time to give up?  @begun: the lookup; @start: since when the version is the same */
static int give_up(struct worker *c, uint64_t key, uint64_t begun, uint64_t start)
{
	const uint64_t now = rtgt_now_ns(), patience = c->w->to.timeout * 1000000000ull;

	if (interrupted)
		return -ECANCELED;
	if (atomic_load(&c->w->alone))
		return rtgt_fail(&c->err, EOWNERDEAD,
				 "key %llu was being changed when the writer ended",
				 (unsigned long long)key);
	if (now - begun > PATIENCE * patience)
		return rtgt_fail(&c->err, ETIMEDOUT,
				 "key %llu changes faster than it can be read: more --keys, or a smaller --size",
				 (unsigned long long)key);
	if (now - start > patience)
		return rtgt_fail(&c->err, ETIMEDOUT, "a change of key %llu has not ended for %u s",
				 (unsigned long long)key, c->w->to.timeout);
	return 0;
}

/* A value and the version that it must be of */
static int fetch(struct worker *c, uint64_t key, uint64_t seed, uint64_t *version)
{
	const uint64_t remote = key * stride(c->w);
	const uint64_t begun = rtgt_now_ns();
	uint64_t behind, start = begun, last = 0;
	int ret;

	for (;; last = *version) {
		ret = read_version(c, remote, version);
		if (!ret && *version != last)
			start = rtgt_now_ns();
		if (!ret && (ignores(c->w, RULE_VERSION) || *version % 2 == 0)) {
			ret = read_value(c, remote, seed);
			if (ret || ignores(c->w, RULE_VERSION))
				return ret;
			ret = read_version(c, remote, &behind);
			if (ret || behind == *version)
				return ret;
		}
		if (!ret)
			ret = give_up(c, key, begun, start);
		if (ret)
			return ret;
		c->counts[REPEATED]++;
	}
}

/* How many bytes at the beginning are of this version */
static uint64_t bytes_of(const struct worker *c, uint64_t key, uint64_t version)
{
	struct rtgt_diff diff;

	return rtgt_pattern_verify(work_bytes(c, VALUE), c->w->size,
				   value_seed(c->w, key, version), &diff) ? diff.offset :
		c->w->size;
}

/* The value must be whole, of the version that was read, and neither too old nor too new */
static void judge(struct worker *c, uint64_t key, uint64_t version, uint64_t oldest,
		  uint64_t newest)
{
	uint64_t most = 0, of = version;

	if (bytes_of(c, key, version) == c->w->size && version >= oldest && version <= newest) {
		c->verified += c->w->size;
		return;
	}
	for (uint64_t v = oldest; v <= newest; v += 2) {
		const uint64_t n = bytes_of(c, key, v);

		if (n > most) {
			most = n;
			of = v;
		}
	}
	/* a reader that does not look at the version takes whatever is whole */
	if (most == c->w->size && ignores(c->w, RULE_VERSION))
		c->verified += c->w->size;
	else
		work_wrong(c, "reader %u, lookup %llu: key %llu has version %llu, and of the %llu bytes of its value the first %llu are of version %llu; versions %llu to %llu are possible",
			   c->index, (unsigned long long)c->counts[LOOKUPS],
			   (unsigned long long)key, (unsigned long long)version,
			   (unsigned long long)c->w->size, (unsigned long long)most,
			   (unsigned long long)of, (unsigned long long)oldest,
			   (unsigned long long)newest);
}

static int look_up(struct worker *c)
{
	struct kv *kv = c->w->own;
	const uint64_t key = work_random(c) % c->w->keys;
	const uint64_t oldest = atomic_load(&kv->done[key]), start = rtgt_now_ns();
	uint64_t version;
	int ret = fetch(c, key, value_seed(c->w, key, oldest), &version);

	if (ret)
		return ret;
	rtgt_hist_add(&c->took, rtgt_now_ns() - start);
	judge(c, key, version, oldest, atomic_load(&kv->begun[key]));
	c->counts[LOOKUPS]++;
	progress_count(&c->w->progress, 1);
	return 0;
}

/* When all is over, each record must be as the writer has left it */
static int look_at_all(struct worker *c)
{
	struct kv *kv = c->w->own;
	uint64_t version;
	int ret = 0;

	for (uint64_t key = 0; key < c->w->keys && !ret; key++) {
		const uint64_t last = atomic_load(&kv->done[key]);

		ret = read_version(c, key * stride(c->w), &version);
		if (!ret)
			ret = read_value(c, key * stride(c->w), value_seed(c->w, key, last));
		if (!ret)
			judge(c, key, version, last, last);
	}
	return ret;
}

static int run(struct worker *c)
{
	int ret = 0;

	if (c->index) {
		while (!ret && !work_is_enough(c, c->counts[LOOKUPS]))
			ret = look_up(c);
		return ret;
	}
	while (!ret && atomic_load(&c->w->working))
		ret = change(c, work_random(c) % c->w->keys);
	return ret ? ret : look_at_all(c);
}

const struct work_pattern work_kv = {
	.name = "kv",
	.each = "lookups",
	.counts = {
		[CHANGES] = { "changes", "values changed" },
		[LOOKUPS] = { "lookups", "lookups" },
		[REPEATED] = { "repeated", "read again, as the value changed" },
		[TORN] = { "torn", "torn or wrong values" },
	},
	.wrong = TORN,
	.rules = { [RULE_VERSION] = "version", [RULE_ORDER] = "order" },
	.size = 4096,
	.count = 1000,
	.helpers = 1,
	.need = need,
	.buffer = buffer,
	.begin = begin,
	.run = run,
	.end = end,
};
