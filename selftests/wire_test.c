// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * wire_test: user/librtgt/wire.c, with which an initiator reads what a target says,
 * under the address and the undefined behaviour sanitizer: what travels with a
 * connection's making.  A target is not trusted either.
 *
 * As in proto_test, messages are written byte by byte and lie in allocations that
 * end with them.  What one side writes the other must read: kmod/proto/proto.c is the
 * other side here.
 */
#include <errno.h>

#include "bytes.h"
#include "types.h"
#include <rtgt/proto.h>
#include <rtgt/wire.h>

#include "kselftest_harness.h"

#define REP_SIZE	172
#define REP_SHORT	52	/* without further regions */
#define REP_MAGIC	24	/* the bytes up to the magic, with it */
#define REP_STEP	24	/* of each further one */
#define REJ_SIZE	16

FIXTURE(wire)
{
	void *block;		/* what exact() allocated last */
	struct rtgt_err err;
};

FIXTURE_SETUP(wire)
{
}

FIXTURE_TEARDOWN(wire)
{
	free(self->block);
}

/* The error has its number and a sentence, since the tools print nothing else */
static bool told(const struct rtgt_err *err, int ret)
{
	return ret == -EPROTO && err->code == EPROTO && err->text[0];
}

/* REQ: 16 bytes that the target takes */
TEST_F(wire, make_req)
{
	static const unsigned char want[16] = { 'R', 'T', 'G', 'T', 0, 1, 0, 16 };
	struct rtgt_req_info hello;
	struct rtgt_req req;
	u32 arg;

	memset(&req, 0xff, sizeof(req));
	rtgt_encode_req(&req);
	ASSERT_EQ(sizeof(want), sizeof(req));
	EXPECT_EQ(0, memcmp(want, &req, sizeof(want)));
	EXPECT_EQ(0, rtgt_decode_req(&req, sizeof(req), &hello, &arg));
	EXPECT_FALSE(hello.plain);
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

static void empty_rep(unsigned char *rep, u32 nr, size_t size)
{
	memset(rep, 0, RTGT_REP_MAX);
	memcpy(rep + 20, "RTGT", 4);
	put(rep, 24, 2, RTGT_VERSION);
	put(rep, 26, 2, size);
	put(rep, 36, 2, nr);
}

static int decode_rep(void **block, const unsigned char *rep, size_t len,
		      struct rtgt_rep_info *peer, struct rtgt_err *err)
{
	memset(peer, 0xa5, sizeof(*peer));
	memset(err, 0, sizeof(*err));
	return rtgt_wire_rep(peer, exact(block, rep, len), len, err);
}

/* REP: each field at each of its ends, and no other field with it */
TEST_F(wire, rep_fields)
{
	unsigned char rep[RTGT_REP_MAX];
	struct rtgt_rep_info peer;

	for (size_t i = 0; i < REP_FIELDS * EDGES; i++) {
		const struct field f = rep_field(i / EDGES);
		u64 value = edge(i % EDGES, f.bytes);

		empty_rep(rep, RTGT_MAX_REGIONS, REP_SIZE);
		put(rep, f.at, f.bytes, value);
		ASSERT_EQ(0, decode_rep(&self->block, rep, REP_SIZE, &peer, &self->err));
		ASSERT_EQ(value, host(&peer, &f)) {
			TH_LOG("%s", f.name);
		}
		set_host(&peer, &f, 0);
		for (size_t j = 0; j < REP_FIELDS; j++) {
			const struct field other = rep_field(j);

			ASSERT_EQ(0, host(&peer, &other)) {
				TH_LOG("%s came with %s", other.name, f.name);
			}
		}
		ASSERT_TRUE(peer.rtgt);
		ASSERT_EQ(RTGT_VERSION, peer.version);
		ASSERT_EQ(RTGT_MAX_REGIONS, peer.nr);
	}
}

/* REP: any number of regions in any size is taken if it holds them and has arrived */
TEST_F(wire, rep_regions)
{
	static const size_t arrived[] = {
		REP_SHORT, REP_SHORT + 1, REP_SHORT + REP_STEP - 1, REP_SHORT + REP_STEP,
		REP_SIZE - 1, REP_SIZE, RTGT_REP_MAX,
	};
	unsigned char rep[RTGT_REP_MAX];
	struct rtgt_rep_info peer;

	for (size_t i = 0; i < ARRAY_SIZE(arrived); i++) {
		for (u32 n = 0; n < 16 * (RTGT_REP_MAX + 2); n++) {
			u32 nr = n % 16, size = n / 16;
			size_t need = REP_SHORT + (nr > 1 ? (nr - 1) * REP_STEP : 0);
			bool good = nr <= RTGT_MAX_REGIONS && size >= need && size <= arrived[i];
			int ret;

			empty_rep(rep, nr, size);
			ret = decode_rep(&self->block, rep, arrived[i], &peer, &self->err);
			ASSERT_TRUE(good ? !ret : told(&self->err, ret)) {
				TH_LOG("%u regions in %u of %zu: %d", nr, size, arrived[i], ret);
			}
			ASSERT_EQ(good, peer.rtgt);
			ASSERT_EQ(good ? nr : 0, peer.nr);
		}
	}
}

/* REP: the largest numbers of regions and sizes wrap nowhere */
TEST_F(wire, rep_huge)
{
	unsigned char rep[RTGT_REP_MAX];
	struct rtgt_rep_info peer;

	for (u32 i = 0; i < MANY; i++) {
		u32 n = many(i, 2);

		empty_rep(rep, n, REP_SIZE);
		ASSERT_EQ(n <= RTGT_MAX_REGIONS ? 0 : -EPROTO,
			  rtgt_wire_rep(&peer, rep, REP_SIZE, &self->err));
		empty_rep(rep, 1, n);
		ASSERT_EQ(n >= REP_SHORT && n <= REP_SIZE ? 0 : -EPROTO,
			  rtgt_wire_rep(&peer, rep, REP_SIZE, &self->err));
	}
}

/* REP: every version but ours is an error that names both */
TEST_F(wire, rep_version)
{
	unsigned char rep[RTGT_REP_MAX];
	struct rtgt_rep_info peer;
	char text[16];

	for (u32 i = 0; i < MANY; i++) {
		u32 version = many(i, 2);

		empty_rep(rep, 1, REP_SIZE);
		put(rep, 24, 2, version);
		if (version == RTGT_VERSION)
			continue;
		ASSERT_EQ(-EPROTO, rtgt_wire_rep(&peer, rep, REP_SIZE, &self->err));
		ASSERT_FALSE(peer.rtgt);
		snprintf(text, sizeof(text), "version %u ", version);
		ASSERT_NE(NULL, strstr(self->err.text, text));
	}
}

/* REP: cut anywhere it is what is left: nothing, address and rkey, length too, or malformed */
TEST_F(wire, rep_cut)
{
	unsigned char rep[RTGT_REP_MAX];
	struct rtgt_rep_info peer;

	for (size_t len = 0; len <= REP_SIZE; len++) {
		int ret;

		empty_rep(rep, RTGT_MAX_REGIONS, REP_SIZE);
		put(rep, 0, 8, 0x1122334455667788);
		put(rep, 8, 4, 0xa0b0c0d0);
		put(rep, 12, 8, 0x0102030405060708);
		ret = decode_rep(&self->block, rep, len, &peer, &self->err);
		if (len < 12 || (len >= REP_MAGIC && len < REP_SIZE)) {
			ASSERT_TRUE(told(&self->err, ret)) {
				TH_LOG("%zu bytes", len);
			}
			ASSERT_EQ(0, peer.nr);
			continue;
		}
		ASSERT_EQ(0, ret);
		ASSERT_EQ(len == REP_SIZE, peer.rtgt);
		ASSERT_EQ(len == REP_SIZE ? RTGT_MAX_REGIONS : 1, peer.nr);
		ASSERT_EQ(0x1122334455667788, peer.region[0].addr);
		ASSERT_EQ(0xa0b0c0d0, peer.region[0].rkey);
		ASSERT_EQ(len < 20 ? 0 : 0x0102030405060708, peer.region[0].len) {
			TH_LOG("%zu bytes", len);
		}
	}
}

/* REP: of a plain server address, rkey and length are taken, and what came without is an error */
TEST_F(wire, rep_plain)
{
	unsigned char rep[RTGT_REP_MAX] = {};
	struct rtgt_rep_info peer;

	EXPECT_EQ(-EPROTO, rtgt_wire_rep(&peer, NULL, 0, &self->err));
	EXPECT_EQ(-EPROTO, decode_rep(&self->block, rep, RTGT_REP_MAX, &peer, &self->err));
	EXPECT_EQ(-EPROTO, decode_rep(&self->block, rep, 12, &peer, &self->err));
	for (size_t bit = 0; bit < 12 * 8; bit++) {
		rep[bit / 8] = (unsigned char)(1u << bit % 8);
		ASSERT_EQ(0, decode_rep(&self->block, rep, 12, &peer, &self->err));
		ASSERT_FALSE(peer.rtgt);
		ASSERT_EQ(1, peer.nr);
		ASSERT_EQ(RTGT_ACCESS_READ | RTGT_ACCESS_WRITE, peer.region[0].access);
		rep[bit / 8] = 0;
	}
	/* one wrong bit in the magic: somebody else's bytes */
	for (size_t bit = 0; bit < 32; bit++) {
		empty_rep(rep, 6, REP_SIZE);
		put(rep, 0, 8, 1);
		rep[20 + bit / 8] ^= 1u << bit % 8;
		ASSERT_EQ(0, decode_rep(&self->block, rep, RTGT_REP_MAX, &peer, &self->err));
		ASSERT_FALSE(peer.rtgt);
		ASSERT_EQ(1, peer.nr);
		ASSERT_EQ(0, peer.features);
	}
}

/* REP: what the target writes for none to six regions is what comes out */
TEST_F(wire, rep_round)
{
	unsigned char rep[RTGT_REP_MAX];
	struct rtgt_rep_info w = {};
	struct rtgt_rep_info peer;

	for (u16 nr = 0; nr <= RTGT_MAX_REGIONS; nr++) {
		w = (struct rtgt_rep_info) {
			.features = 0x80000001, .recv_size = 0x80000002, .conn_id = 0x80000003,
			.recv_depth = 0x8004, .nr = nr,
		};
		for (u32 i = 0; i < nr; i++) {
			w.region[i].addr = ~0ull - i;
			w.region[i].len = 1ull << 63 | i;
			w.region[i].rkey = ~i;
			w.region[i].access = i;
		}
		ASSERT_EQ(REP_SIZE, rtgt_encode_rep(rep, sizeof(rep), &w));
		ASSERT_EQ(0, decode_rep(&self->block, rep, REP_SIZE, &peer, &self->err));
		ASSERT_EQ(w.features, peer.features);
		ASSERT_EQ(w.recv_size, peer.recv_size);
		ASSERT_EQ(w.conn_id, peer.conn_id);
		ASSERT_EQ(w.recv_depth, peer.recv_depth);
		ASSERT_EQ(nr, peer.nr);
		for (u32 i = 0; i < nr; i++) {
			ASSERT_EQ(w.region[i].addr, peer.region[i].addr);
			ASSERT_EQ(w.region[i].len, peer.region[i].len);
			ASSERT_EQ(w.region[i].rkey, peer.region[i].rkey);
			ASSERT_EQ(w.region[i].access, peer.region[i].access);
		}
		if (nr > 1)
			continue;
		ASSERT_EQ(REP_SHORT, rtgt_encode_rep(rep, RTGT_REP_UD_MAX, &w));
		ASSERT_EQ(0, decode_rep(&self->block, rep, REP_SHORT, &peer, &self->err));
		ASSERT_EQ(nr, peer.nr);
	}
}

/* REJ: reason and argument at each of their ends; the target's own REJ */
TEST_F(wire, rej)
{
	struct rtgt_refusal refusal;
	unsigned char rej[REJ_SIZE];

	for (size_t i = 0; i < EDGES * EDGES; i++) {
		u32 reason = (u32)edge(i % EDGES, 2), arg = (u32)edge(i / EDGES, 4);

		memset(rej, 0xff, sizeof(rej));
		memcpy(rej, "RTGT", 4);
		put(rej, 6, 2, REJ_SIZE + i);
		put(rej, 8, 2, reason);
		put(rej, 12, 4, arg);
		memset(&refusal, 0xa5, sizeof(refusal));
		rtgt_wire_rej(&refusal, exact(&self->block, rej, REJ_SIZE), REJ_SIZE);
		ASSERT_TRUE(refusal.typed);
		ASSERT_EQ(reason, refusal.reason);
		ASSERT_EQ(arg, refusal.arg);
		ASSERT_EQ(REJ_SIZE, rtgt_encode_rej(rej, sizeof(rej), reason, arg));
		rtgt_wire_rej(&refusal, rej, sizeof(rej));
		ASSERT_TRUE(refusal.typed);
		ASSERT_EQ(reason, refusal.reason);
		ASSERT_EQ(arg, refusal.arg);
	}
}

/* REJ: cut short, with a wrong bit in the magic, or of a size below 16 it is untyped */
TEST_F(wire, rej_bad)
{
	struct rtgt_refusal refusal;
	unsigned char rej[REJ_SIZE];

	rtgt_encode_rej(rej, sizeof(rej), RTGT_REJ_FULL, 17);
	rtgt_wire_rej(&refusal, NULL, 0);
	EXPECT_FALSE(refusal.typed);
	for (size_t len = 0; len < REJ_SIZE; len++) {
		memset(&refusal, 0xa5, sizeof(refusal));
		rtgt_wire_rej(&refusal, exact(&self->block, rej, len), len);
		ASSERT_FALSE(refusal.typed);
		ASSERT_EQ(0, refusal.reason);
		ASSERT_EQ(0, refusal.arg);
	}
	for (size_t bit = 0; bit < 32; bit++) {
		rej[bit / 8] ^= 1u << bit % 8;
		rtgt_wire_rej(&refusal, rej, sizeof(rej));
		ASSERT_FALSE(refusal.typed);
		rej[bit / 8] ^= 1u << bit % 8;
	}
	for (u32 i = 0; i < MANY; i++) {
		u32 size = many(i, 2);

		put(rej, 6, 2, size);
		rtgt_wire_rej(&refusal, rej, sizeof(rej));
		ASSERT_EQ(size >= REJ_SIZE, refusal.typed);
	}
}

TEST_HARNESS_MAIN
