// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * proto_test: kmod/proto/proto.c in user space, under the address and the undefined
 * behaviour sanitizer: what travels with a connection's making.  Messages are
 * proto_msg_test's.
 *
 * Messages are written byte by byte, where the header's comments put them and not
 * where its structures do.  Each lies in an allocation that ends with it (exact()
 * in bytes.h): what is read beyond it is a finding.  The comment above a test is
 * its description in run.sh --list.
 */
#include "bytes.h"
#include "types.h"
#include <rtgt/proto.h>

#include "kselftest_harness.h"

#define SENTINEL	0xa5a5a5a5u

#define REQ_SIZE	16
#define REJ_SIZE	16
#define REP_SIZE	172
#define REP_SHORT	52	/* without further regions */

/* @block: what exact() allocated last */
FIXTURE(wire)
{
	void *block;
};

FIXTURE_SETUP(wire)
{
}

FIXTURE_TEARDOWN(wire)
{
	free(self->block);
}

static const unsigned char good_req[RTGT_REQ_MAX] = { 'R', 'T', 'G', 'T', 0, 1, 0, REQ_SIZE };

static int decode_req(void **block, const unsigned char *req, size_t len,
		      struct rtgt_req_info *hello, u32 *arg)
{
	memset(hello, 0xa5, sizeof(*hello));
	*arg = SENTINEL;
	return rtgt_decode_req(exact(block, req, len), len, hello, arg);
}

/* REQ: each feature word is taken as it is, the reserved one is not looked at */
TEST_F(wire, req_features)
{
	unsigned char req[RTGT_REQ_MAX];
	struct rtgt_req_info hello;
	u32 arg;

	for (size_t i = 0; i < EDGES * EDGES; i++) {
		memcpy(req, good_req, sizeof(req));
		put(req, 8, 4, edge(i % EDGES, 4));
		put(req, 12, 4, edge(i / EDGES, 4));
		ASSERT_EQ(0, decode_req(&self->block, req, sizeof(req), &hello, &arg));
		ASSERT_FALSE(hello.plain);
		ASSERT_EQ(edge(i % EDGES, 4), hello.features);
	}
}

/* REQ: without private data, or with less than the magic, the peer is a plain client */
TEST_F(wire, req_none)
{
	struct rtgt_req_info hello = { .features = SENTINEL };
	u32 arg;

	ASSERT_EQ(0, rtgt_decode_req(NULL, 0, &hello, &arg));
	EXPECT_TRUE(hello.plain);
	EXPECT_EQ(0, hello.features);
	for (size_t len = 0; len < 4; len++) {
		ASSERT_EQ(0, decode_req(&self->block, good_req, len, &hello, &arg));
		EXPECT_TRUE(hello.plain);
		EXPECT_EQ(0, hello.features);
	}
}

/* REQ: one wrong bit in the magic, or its bytes reversed, make a plain client */
TEST_F(wire, req_magic)
{
	unsigned char req[RTGT_REQ_MAX];
	struct rtgt_req_info hello;
	u32 arg;

	for (size_t bit = 0; bit <= 32; bit++) {
		memset(req, 0xff, sizeof(req));
		memcpy(req, bit < 32 ? "RTGT" : "TGTR", 4);
		if (bit < 32)
			req[bit / 8] ^= 1u << bit % 8;
		ASSERT_EQ(0, decode_req(&self->block, req, sizeof(req), &hello, &arg));
		ASSERT_TRUE(hello.plain);
		ASSERT_EQ(0, hello.features);
	}
}

/* REQ: every version but ours is refused with ours, whatever the size says */
TEST_F(wire, req_version)
{
	unsigned char req[RTGT_REQ_MAX];
	struct rtgt_req_info hello;
	u32 arg;

	memcpy(req, good_req, sizeof(req));
	for (u32 i = 0; i < MANY; i++) {
		u32 version = many(i, 2);

		put(req, 4, 2, version);
		put(req, 6, 2, i & 1 ? REQ_SIZE : 0);
		if (version == RTGT_VERSION)
			continue;
		ASSERT_EQ(RTGT_REJ_VERSION,
			  decode_req(&self->block, req, sizeof(req), &hello, &arg)) {
			TH_LOG("version %u", version);
		}
		ASSERT_EQ(RTGT_VERSION, arg);
		ASSERT_FALSE(hello.plain);
	}
}

/* REQ: every size from 16 to what arrived is taken, every other refused with 16 */
TEST_F(wire, req_size)
{
	static const size_t arrived[] = { REQ_SIZE, REQ_SIZE + 1, RTGT_REQ_MAX - 1, RTGT_REQ_MAX };
	struct rtgt_req_info hello;
	unsigned char *req;
	u32 arg;

	for (size_t i = 0; i < ARRAY_SIZE(arrived); i++) {
		req = exact(&self->block, good_req, arrived[i]);
		for (u32 j = 0; j < MANY; j++) {
			u32 size = many(j, 2);
			bool good = size >= REQ_SIZE && size <= arrived[i];

			put(req, 6, 2, size);
			arg = SENTINEL;
			ASSERT_EQ(good ? 0 : RTGT_REJ_SIZE,
				  rtgt_decode_req(req, arrived[i], &hello, &arg)) {
				TH_LOG("size %u of %zu", size, arrived[i]);
			}
			if (!good)
				ASSERT_EQ(REQ_SIZE, arg);
		}
	}
}

/* REQ: cut short on the way (iWARP delivers what was sent) it is refused with 16 */
TEST_F(wire, req_cut)
{
	struct rtgt_req_info hello;
	u32 arg;

	for (size_t len = 4; len < REQ_SIZE; len++) {
		ASSERT_EQ(RTGT_REJ_SIZE, decode_req(&self->block, good_req, len, &hello, &arg));
		ASSERT_EQ(REQ_SIZE, arg);
	}
	ASSERT_EQ(0, decode_req(&self->block, good_req, REQ_SIZE, &hello, &arg));
	EXPECT_FALSE(hello.plain);
}

static const unsigned char good_rej[REJ_SIZE] = {
	'R', 'T', 'G', 'T', 0, 1, 0, REJ_SIZE, 0, 3, 0, 0, 0x12, 0x34, 0x56, 0x78,
};

/* REJ: reason and argument are written byte for byte, and come back */
TEST_F(wire, rej)
{
	unsigned char want[REJ_SIZE], *buf;
	u32 reason, arg;

	for (size_t i = 0; i < EDGES * EDGES; i++) {
		memcpy(want, good_rej, sizeof(want));
		put(want, 8, 2, edge(i % EDGES, 2));
		put(want, 12, 4, edge(i / EDGES, 4));
		buf = exact(&self->block, want, REJ_SIZE);
		memset(buf, 0xff, REJ_SIZE);
		ASSERT_EQ(REJ_SIZE, rtgt_encode_rej(buf, REJ_SIZE, (u32)edge(i % EDGES, 2),
						    (u32)edge(i / EDGES, 4)));
		ASSERT_EQ(0, memcmp(want, buf, REJ_SIZE));
		ASSERT_EQ(0, rtgt_decode_rej(buf, REJ_SIZE, &reason, &arg));
		ASSERT_EQ(edge(i % EDGES, 2), reason);
		ASSERT_EQ(edge(i / EDGES, 4), arg);
	}
}

/* REJ: with too little room nothing is written; more is left alone */
TEST_F(wire, rej_room)
{
	unsigned char filled[REJ_SIZE + 1], *buf;

	memset(filled, 0x77, sizeof(filled));
	for (size_t room = 0; room < REJ_SIZE; room++) {
		buf = exact(&self->block, filled, room);
		ASSERT_EQ(0, rtgt_encode_rej(buf, room, RTGT_REJ_FULL, 1));
		ASSERT_EQ(0, memcmp(buf, filled, room));
	}
	buf = exact(&self->block, filled, sizeof(filled));
	ASSERT_EQ(REJ_SIZE, rtgt_encode_rej(buf, sizeof(filled), RTGT_REJ_FULL, 1));
	EXPECT_EQ(0x77, buf[REJ_SIZE]);
}

/* REJ: cut short, with a wrong bit in the magic, or of a size below 16 it is not ours */
TEST_F(wire, rej_bad)
{
	unsigned char rej[REJ_SIZE];
	u32 reason = SENTINEL, arg = SENTINEL;

	EXPECT_EQ(-1, rtgt_decode_rej(NULL, 0, &reason, &arg));
	for (size_t len = 0; len < REJ_SIZE; len++)
		ASSERT_EQ(-1, rtgt_decode_rej(exact(&self->block, good_rej, len), len,
					      &reason, &arg));
	memcpy(rej, good_rej, sizeof(rej));
	for (size_t bit = 0; bit < 32; bit++) {
		rej[bit / 8] ^= 1u << bit % 8;
		ASSERT_EQ(-1, rtgt_decode_rej(rej, sizeof(rej), &reason, &arg));
		rej[bit / 8] ^= 1u << bit % 8;
	}
	ASSERT_EQ(SENTINEL, reason);
	ASSERT_EQ(SENTINEL, arg);
	for (u32 i = 0; i < MANY; i++) {
		u32 size = many(i, 2);

		put(rej, 6, 2, size);
		ASSERT_EQ(size < REJ_SIZE ? -1 : 0,
			  rtgt_decode_rej(rej, sizeof(rej), &reason, &arg)) {
			TH_LOG("size %u", size);
		}
	}
}

/* REJ: any version is understood, and the reserved field is not looked at */
TEST_F(wire, rej_ignored)
{
	unsigned char rej[REJ_SIZE];
	u32 reason, arg;

	for (size_t i = 0; i < EDGES; i++) {
		memcpy(rej, good_rej, sizeof(rej));
		put(rej, 4, 2, edge(i, 2));
		put(rej, 10, 2, edge(i, 2));
		ASSERT_EQ(0, rtgt_decode_rej(rej, sizeof(rej), &reason, &arg));
		ASSERT_EQ(3, reason);
		ASSERT_EQ(0x12345678, arg);
	}
}

#define AT(member)	offsetof(struct rtgt_rep_info, member)

/* What does not depend on the number of regions, then four of region 0, four of region 1 ... */
#define REP_FIELDS	(4 + 4 * RTGT_MAX_REGIONS)

static struct field rep_field(size_t i)
{
	static const struct field head[] = {
		{ "features", 28, 4, AT(features), 4 },
		{ "recv_depth", 38, 2, AT(recv_depth), 2 },
		{ "recv_size", 40, 4, AT(recv_size), 4 },
		{ "conn_id", 44, 4, AT(conn_id), 4 },
	};
	static const struct field region[] = {
		{ "addr", 0, 8, AT(region[0].addr), 8 },
		{ "rkey", 8, 4, AT(region[0].rkey), 4 },
		{ "len", 12, 8, AT(region[0].len), 8 },
		{ "access", 20, 4, AT(region[0].access), 4 },
	};
	size_t nr = i / 4 - 1;
	struct field f;

	if (i < 4)
		return head[i];
	f = region[i % 4];
	f.in += nr * (AT(region[1]) - AT(region[0]));
	if (nr)
		f.at += 52 + 24 * (nr - 1);
	else if (i % 4 == 3)
		f.at = 32;
	return f;
}

/* A REP with @nr regions, all else 0, as bytes */
static void empty_rep(unsigned char *rep, u32 nr, size_t size)
{
	memset(rep, 0, REP_SIZE);
	memcpy(rep + 20, "RTGT", 4);
	put(rep, 24, 2, RTGT_VERSION);
	put(rep, 26, 2, size);
	put(rep, 36, 2, nr);
}

/* REP: each field at each of its ends is where it belongs, and changes nothing else */
TEST_F(wire, rep_fields)
{
	unsigned char want[REP_SIZE], *buf;
	struct rtgt_rep_info w;

	for (size_t i = 0; i < REP_FIELDS * EDGES; i++) {
		const struct field f = rep_field(i / EDGES);

		memset(&w, 0, sizeof(w));
		w.nr = RTGT_MAX_REGIONS;
		set_host(&w, &f, edge(i % EDGES, f.bytes));
		empty_rep(want, w.nr, REP_SIZE);
		put(want, f.at, f.bytes, edge(i % EDGES, f.bytes));
		buf = exact(&self->block, want, REP_SIZE);
		memset(buf, 0xff, REP_SIZE);
		ASSERT_EQ(REP_SIZE, rtgt_encode_rep(buf, REP_SIZE, &w));
		ASSERT_EQ(0, memcmp(want, buf, REP_SIZE)) {
			TH_LOG("%s, value %zu", f.name, i % EDGES);
		}
	}
}

/* All that fits between none and six regions, each field another value */
static void full_rep(unsigned char *rep, struct rtgt_rep_info *w, u16 nr, size_t size)
{
	memset(w, 0, sizeof(*w));
	w->nr = nr;
	empty_rep(rep, nr, size);
	for (size_t i = 0; i < REP_FIELDS; i++) {
		const struct field f = rep_field(i);
		u64 value = edge(EDGES - 1, f.bytes) - i;

		/* also what is not to be told */
		set_host(w, &f, value);
		if (i < 4 + 4u * nr)
			put(rep, f.at, f.bytes, value);
	}
}

/* REP: none to six regions; what is beyond them is not told */
TEST_F(wire, rep_regions)
{
	unsigned char want[REP_SIZE], buf[REP_SIZE];
	struct rtgt_rep_info w;

	for (u16 nr = 0; nr <= RTGT_MAX_REGIONS; nr++) {
		full_rep(want, &w, nr, REP_SIZE);
		memset(buf, 0xff, sizeof(buf));
		ASSERT_EQ(REP_SIZE, rtgt_encode_rep(buf, sizeof(buf), &w));
		ASSERT_EQ(0, memcmp(want, buf, sizeof(want))) {
			TH_LOG("%u regions", nr);
		}
	}
}

/* REP: the first 20 bytes are the founding walkthrough's address, rkey, length */
TEST_F(wire, rep_first_bytes)
{
	static const unsigned char want[] = {
		0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0, 0,
		0xa0, 0xb0, 0xc0, 0,
		0, 0, 0, 1, 0, 0, 0, 0,
	};
	const struct rtgt_rep_info w = {
		.nr = 1,
		.region[0] = { .addr = 0x1122334455660000, .rkey = 0xa0b0c000, .len = 1ull << 32 },
	};
	unsigned char buf[RTGT_REP_MAX];

	ASSERT_EQ(REP_SIZE, rtgt_encode_rep(buf, sizeof(buf), &w));
	EXPECT_EQ(0, memcmp(want, buf, sizeof(want)));
}

/* REP: where further regions have no room, one region still has; otherwise nothing is written */
TEST_F(wire, rep_room)
{
	unsigned char filled[REP_SIZE + 1], want[REP_SIZE], *buf;
	struct rtgt_rep_info w;

	memset(filled, 0x77, sizeof(filled));
	for (size_t room = 0; room <= sizeof(filled); room++) {
		for (u16 nr = 0; nr <= RTGT_MAX_REGIONS; nr++) {
			size_t len = room >= REP_SIZE ? REP_SIZE :
				     room >= REP_SHORT && nr <= 1 ? REP_SHORT : 0;

			full_rep(want, &w, nr, len);
			buf = exact(&self->block, filled, room);
			ASSERT_EQ(len, rtgt_encode_rep(buf, room, &w)) {
				TH_LOG("room %zu, %u regions", room, nr);
			}
			ASSERT_EQ(0, memcmp(want, buf, len));
			ASSERT_EQ(0, memcmp(filled, buf + len, room - len));
		}
	}
}

/* REP: more regions than it can hold give nothing */
TEST_F(wire, rep_bad)
{
	struct rtgt_rep_info w = {};
	unsigned char buf[RTGT_REP_MAX];

	for (u32 i = RTGT_MAX_REGIONS + 1; i < MANY; i++) {
		w.nr = (u16)many(i, 2);
		if (w.nr <= RTGT_MAX_REGIONS)
			continue;
		ASSERT_EQ(0, rtgt_encode_rep(buf, sizeof(buf), &w));
	}
}

/* REVOKE's reply: address, rkey, length and access, each at each of its ends */
TEST_F(wire, region)
{
	static const struct { size_t at, bytes; } field[] = {
		{ 0, 8 }, { 8, 4 }, { 12, 8 }, { 20, 4 },
	};
	unsigned char want[24], *buf;
	u64 v[4];

	for (size_t i = 0; i < ARRAY_SIZE(field) * EDGES; i++) {
		memset(v, 0, sizeof(v));
		v[i / EDGES] = edge(i % EDGES, field[i / EDGES].bytes);
		memset(want, 0, sizeof(want));
		put(want, field[i / EDGES].at, field[i / EDGES].bytes, v[i / EDGES]);
		buf = exact(&self->block, want, sizeof(want));
		memset(buf, 0xff, sizeof(want));
		rtgt_encode_region(buf, v[0], (u32)v[1], v[2], (u32)v[3]);
		ASSERT_EQ(0, memcmp(want, buf, sizeof(want)));
	}
}

/* EXTENTS' reply: its head and each entry of a list, each field at each of its ends */
TEST_F(wire, extents)
{
	static const struct { size_t at, bytes; } field[] = {
		{ 0, 8 }, { 8, 4 }, { 12, 4 }, { 16, 8 }, { 24, 4 }, { 28, 8 },
		{ 36, 8 }, { 44, 4 }, { 48, 8 },
	};
	unsigned char want[56], *buf;
	u64 v[9];

	for (size_t i = 0; i < ARRAY_SIZE(field) * EDGES; i++) {
		memset(v, 0, sizeof(v));
		v[i / EDGES] = edge(i % EDGES, field[i / EDGES].bytes);
		memset(want, 0, sizeof(want));
		put(want, field[i / EDGES].at, field[i / EDGES].bytes, v[i / EDGES]);
		buf = exact(&self->block, want, sizeof(want));
		memset(buf, 0xff, sizeof(want));
		rtgt_encode_extents(buf, v[0], (u32)v[1], (u32)v[2]);
		rtgt_encode_extent(buf, 1, v[6], (u32)v[7], v[8]);
		rtgt_encode_extent(buf, 0, v[3], (u32)v[4], v[5]);
		ASSERT_EQ(0, memcmp(want, buf, sizeof(want)));
	}
}

TEST_HARNESS_MAIN
