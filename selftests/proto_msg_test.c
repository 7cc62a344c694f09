// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * proto_msg_test: kmod/proto/proto.c in user space, as proto_test: the messages of a
 * connection, the judging of ranges, immediates, names.
 */
#include <endian.h>

#include "bytes.h"
#include "types.h"
#include <rtgt/proto.h>

#include "kselftest_harness.h"

#define HEAD		16	/* of a message */
#define BODY_MAX	32	/* of a request the target knows */

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

#define AT(member)	offsetof(struct rtgt_request, member)

static const struct field range_fields[] = {
	{ "region", 16, 4, AT(region), 4 },
	{ "offset", 24, 8, AT(offset), 8 },
	{ "len", 32, 8, AT(count), 8 },
};

static const struct field xfer_fields[] = {
	{ "region", 16, 4, AT(region), 4 },
	{ "rkey", 20, 4, AT(rkey), 4 },
	{ "offset", 24, 8, AT(offset), 8 },
	{ "len", 32, 8, AT(count), 8 },
	{ "addr", 40, 8, AT(addr), 8 },
};

static const struct field extents_fields[] = {
	{ "region", 16, 4, AT(region), 4 },
	{ "first", 20, 4, AT(offset), 8 },
	{ "max", 24, 4, AT(count), 8 },
};

static const struct field withhold_fields[] = {
	{ "ms", 16, 4, AT(ms), 4 },
};

/* What a body holds decoded, of all operations */
static const struct field body_fields[] = {
	{ "region", 0, 4, AT(region), 4 },
	{ "offset", 0, 8, AT(offset), 8 },
	{ "count", 0, 8, AT(count), 8 },
	{ "addr", 0, 8, AT(addr), 8 },
	{ "rkey", 0, 4, AT(rkey), 4 },
	{ "ms", 0, 4, AT(ms), 4 },
};

/* The requests there are, and the shortest body of each */
static const struct request {
	bool known;
	size_t need;
	const struct field *field;
	size_t nr;
} requests[0x100] = {
	[1] = { true },
	[2] = { true, 24, range_fields, ARRAY_SIZE(range_fields) },
	[4] = { true, 32, xfer_fields, ARRAY_SIZE(xfer_fields) },
	[5] = { true, 32, xfer_fields, ARRAY_SIZE(xfer_fields) },
	[6] = { true, 24, range_fields, ARRAY_SIZE(range_fields) },
	[7] = { true, 4, withhold_fields, ARRAY_SIZE(withhold_fields) },
	[8] = { true },
	[9] = { true, 16, extents_fields, ARRAY_SIZE(extents_fields) },
};

#define TAG	0xcafe0001

/* A message of operation @op whose body of zeros is as long as it says */
static size_t make_msg(unsigned char *msg, u32 op, size_t body)
{
	memset(msg, 0, HEAD + body);
	put(msg, 0, 1, RTGT_VERSION);
	put(msg, 1, 1, op);
	put(msg, 4, 4, TAG);
	put(msg, 8, 4, body);
	return HEAD + body;
}

static u32 decode_msg(void **block, const unsigned char *msg, size_t len, struct rtgt_request *rq)
{
	memset(rq, 0xa5, sizeof(*rq));
	return rtgt_decode_msg(exact(block, msg, len), len, rq);
}

static bool no_body(const struct rtgt_request *rq)
{
	for (size_t i = 0; i < ARRAY_SIZE(body_fields); i++)
		if (host(rq, &body_fields[i]))
			return false;
	return true;
}

/* SEND: each field of each request at each of its ends, and no other field with it */
TEST_F(wire, msg_fields)
{
	unsigned char msg[HEAD + BODY_MAX];
	struct rtgt_request rq;

	for (u32 op = 0; op < ARRAY_SIZE(requests); op++) {
		const struct request *r = &requests[op];

		for (size_t i = 0; i < r->nr * EDGES; i++) {
			const struct field *f = &r->field[i / EDGES];
			u64 value = edge(i % EDGES, f->bytes);
			size_t len = make_msg(msg, op, r->need);
			bool beyond = op == 7 && value > RTGT_WITHHOLD_MAX_MS;

			put(msg, f->at, f->bytes, value);
			ASSERT_EQ(beyond ? RTGT_ST_LIMIT : RTGT_OK,
				  decode_msg(&self->block, msg, len, &rq)) {
				TH_LOG("operation %u, %s, value %zu", op, f->name, i % EDGES);
			}
			ASSERT_EQ(op, rq.op);
			ASSERT_EQ(TAG, rq.tag);
			ASSERT_EQ(r->need, rq.len);
			ASSERT_EQ(value, host(&rq, f)) {
				TH_LOG("operation %u, %s", op, f->name);
			}
			set_host(&rq, f, 0);
			ASSERT_TRUE(no_body(&rq)) {
				TH_LOG("operation %u, %s", op, f->name);
			}
		}
	}
}

/* SEND: every tag comes back; status, argument and reserved fields are not looked at */
TEST_F(wire, msg_head)
{
	static const struct { size_t at, bytes; } ignored[] = { { 2, 2 }, { 12, 4 }, { 20, 4 } };
	unsigned char msg[HEAD + BODY_MAX];
	struct rtgt_request rq;

	for (size_t i = 0; i < EDGES; i++) {
		size_t len = make_msg(msg, RTGT_MSG_CHECKSUM, 24);

		put(msg, 4, 4, edge(i, 4));
		for (size_t j = 0; j < ARRAY_SIZE(ignored); j++)
			put(msg, ignored[j].at, ignored[j].bytes, edge(i, ignored[j].bytes));
		ASSERT_EQ(RTGT_OK, decode_msg(&self->block, msg, len, &rq));
		ASSERT_EQ(edge(i, 4), rq.tag);
		ASSERT_TRUE(no_body(&rq));
	}
}

/* SEND: each of 256 operations with each body from none to one byte more than any needs */
TEST_F(wire, msg_op)
{
	unsigned char msg[HEAD + BODY_MAX + 1];
	struct rtgt_request rq;

	for (u32 op = 0; op < ARRAY_SIZE(requests); op++) {
		for (size_t body = 0; body <= BODY_MAX + 1; body++) {
			size_t len = make_msg(msg, op, body);
			u32 want = !requests[op].known ? RTGT_ST_OP :
				   body < requests[op].need ? RTGT_ST_LENGTH : RTGT_OK;

			/* what must not be taken from a request that is refused */
			memset(msg + HEAD, want == RTGT_OK ? 0 : 0xff, body);
			ASSERT_EQ(want, decode_msg(&self->block, msg, len, &rq)) {
				TH_LOG("operation %u with %zu bytes", op, body);
			}
			ASSERT_EQ(TAG, rq.tag);
			ASSERT_EQ(op, rq.op);
			ASSERT_EQ(body, rq.len);
			ASSERT_TRUE(no_body(&rq));
		}
	}
}

/* SEND: shorter than its head it is a length error with tag 0 */
TEST_F(wire, msg_short)
{
	unsigned char msg[HEAD];
	struct rtgt_request rq;

	make_msg(msg, RTGT_MSG_ECHO, 0);
	ASSERT_EQ(RTGT_ST_LENGTH, rtgt_decode_msg(NULL, 0, &rq));
	for (size_t len = 0; len < HEAD; len++) {
		ASSERT_EQ(RTGT_ST_LENGTH, decode_msg(&self->block, msg, len, &rq));
		ASSERT_EQ(0, rq.tag);
		ASSERT_EQ(0, rq.op);
		ASSERT_EQ(0, rq.len);
	}
}

/* SEND: a length that disagrees with what arrived is refused, with the tag */
TEST_F(wire, msg_length)
{
	unsigned char msg[HEAD + BODY_MAX];
	struct rtgt_request rq;

	for (u32 body = 0; body <= BODY_MAX; body++) {
		const u32 bad[] = {
			body - 1, body + 1, body - HEAD, body + HEAD, ~body, body ^ 0x80000000,
			0x7fffffff, 0x80000000, 0xffffffff, 0xffffffff - HEAD, body << 24 | 1,
		};

		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			size_t len = make_msg(msg, RTGT_MSG_ECHO, body);

			put(msg, 8, 4, bad[i]);
			if (bad[i] == body)
				continue;
			ASSERT_EQ(RTGT_ST_LENGTH, decode_msg(&self->block, msg, len, &rq)) {
				TH_LOG("%u bytes that say they are %u", body, bad[i]);
			}
			ASSERT_EQ(TAG, rq.tag);
			ASSERT_EQ(bad[i], rq.len);
		}
	}
}

/* SEND: every version but ours is refused, with the tag, whatever else is wrong */
TEST_F(wire, msg_version)
{
	unsigned char msg[HEAD];
	struct rtgt_request rq;

	for (u32 version = 0; version <= 0xff; version++) {
		size_t len = make_msg(msg, version & 1 ? RTGT_MSG_ECHO : 0xff, 0);

		put(msg, 0, 1, version);
		put(msg, 8, 4, version & 2);
		ASSERT_EQ(version == RTGT_VERSION ? RTGT_OK : RTGT_ST_VERSION,
			  decode_msg(&self->block, msg, len, &rq)) {
			TH_LOG("version %u", version);
		}
		ASSERT_EQ(TAG, rq.tag);
	}
}

/* SEND: receives are withheld up to the limit, and not a millisecond longer */
TEST_F(wire, msg_withhold)
{
	unsigned char msg[HEAD + 4];
	struct rtgt_request rq;

	for (u32 ms = 0; ms <= RTGT_WITHHOLD_MAX_MS + 1; ms++) {
		size_t len = make_msg(msg, RTGT_MSG_WITHHOLD, 4);

		put(msg, HEAD, 4, ms);
		ASSERT_EQ(ms <= RTGT_WITHHOLD_MAX_MS ? RTGT_OK : RTGT_ST_LIMIT,
			  decode_msg(&self->block, msg, len, &rq));
		ASSERT_EQ(ms, rq.ms);
	}
}

/* Reply: each field of the head at each of its ends, byte for byte, and no body touched */
TEST_F(wire, reply)
{
	static const struct { size_t at, bytes; } field[] = {
		{ 4, 4 }, { 2, 2 }, { 8, 4 }, { 12, 4 },
	};
	unsigned char want[HEAD + 1], *buf;
	u64 v[4];

	for (size_t i = 0; i < ARRAY_SIZE(field) * EDGES; i++) {
		struct rtgt_request rq = { .op = RTGT_MSG_CHECKSUM };

		memset(v, 0, sizeof(v));
		v[i / EDGES] = edge(i % EDGES, field[i / EDGES].bytes);
		memset(want, 0, sizeof(want));
		want[0] = 1;
		want[1] = 0x82;
		want[HEAD] = 0x77;
		put(want, field[i / EDGES].at, field[i / EDGES].bytes, v[i / EDGES]);
		buf = exact(&self->block, want, sizeof(want));
		memset(buf, 0xff, HEAD);
		rq.tag = (u32)v[0];
		rtgt_encode_reply(buf, &rq, (u32)v[1], (u32)v[2], (u32)v[3]);
		ASSERT_EQ(0, memcmp(want, buf, sizeof(want)));
	}
	buf = exact(&self->block, want, HEAD);
	for (u32 op = 0; op <= 0xff; op++) {
		const struct rtgt_request rq = { .op = (u8)op };

		rtgt_encode_reply(buf, &rq, 0, 0, 0);
		ASSERT_EQ(op | 0x80, buf[1]);
	}
}

/* Reply: the bodies the target fills in by itself, byte for byte */
TEST_F(wire, reply_bodies)
{
	static const unsigned char crc_bytes[] = {
		0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8,
	};
	static const unsigned char ack_bytes[] = { 0xfe, 0xdc, 0xba, 0x98 };
	struct rtgt_imm_ack ack;
	struct rtgt_crc crc;

	crc.crc = htobe32(0x12345678);
	crc.rsvd = 0;
	crc.len = htobe64(0x0102030405060708);
	ack.byte_len = htobe32(0xfedcba98);
	ASSERT_EQ(sizeof(crc_bytes), sizeof(crc));
	EXPECT_EQ(0, memcmp(crc_bytes, &crc, sizeof(crc)));
	ASSERT_EQ(sizeof(ack_bytes), sizeof(ack));
	EXPECT_EQ(0, memcmp(ack_bytes, &ack, sizeof(ack)));
}

/* Range: for each three of the numbers at which something wraps, as 128 bits have it */
TEST_F(wire, range)
{
	static const u64 v[] = {
		0, 1, 2, 4095, 4096, 4097, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
		0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffff000, 0xfffffffffffffffe,
		0xffffffffffffffff,
	};
	const size_t n = ARRAY_SIZE(v);

	for (size_t i = 0; i < n * n * n; i++) {
		u64 offset = v[i % n], len = v[i / n % n], size = v[i / n / n];

		ASSERT_EQ((__uint128_t)offset + len <= size,
			  rtgt_range_ok(offset, len, size)) {
			TH_LOG("%llu bytes at %llu of %llu", (unsigned long long)len,
			       (unsigned long long)offset, (unsigned long long)size);
		}
	}
}

/* Immediate: each of 16 operations with each end of the argument, in both directions */
TEST_F(wire, immediate)
{
	EXPECT_EQ(0x1abcdef0, rtgt_imm(RTGT_IMM_ACK, 0xfabcdef0));
	EXPECT_EQ(RTGT_IMM_NOTIFY, rtgt_imm_op(17));
	EXPECT_EQ(17, rtgt_imm_arg(17));
	for (u32 op = 0; op < 16; op++) {
		for (size_t i = 0; i < EDGES; i++) {
			u32 arg = (u32)edge(i, 4);

			ASSERT_EQ(op, rtgt_imm_op(rtgt_imm(op, arg)));
			ASSERT_EQ(arg & 0x0fffffff, rtgt_imm_arg(rtgt_imm(op, arg)));
		}
	}
}

/* Names: each reason and status has its own, and what is none is "unknown" */
TEST_F(wire, names)
{
	static const char *const reason[] = {
		"unknown", "version", "size", "full", "resources", "device", "stopping", "ask",
		"unknown",
	};
	static const char *const status[] = {
		"ok", "version", "op", "length", "region", "range", "shared", "depth", "limit",
		"failed", "access", "absent", "unknown",
	};

	for (u32 i = 0; i < ARRAY_SIZE(reason); i++)
		EXPECT_STREQ(reason[i], rtgt_rej_name(i));
	for (u32 i = 0; i < ARRAY_SIZE(status); i++)
		EXPECT_STREQ(status[i], rtgt_status_name(i));
	for (size_t i = 2; i < EDGES; i++) {
		EXPECT_STREQ("unknown", rtgt_rej_name((u32)edge(i, 4)));
		EXPECT_STREQ("unknown", rtgt_status_name((u32)edge(i, 4)));
	}
}

TEST_HARNESS_MAIN
