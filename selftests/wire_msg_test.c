// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * wire_msg_test: user/librtgt/wire.c, as wire_test: the requests an initiator writes,
 * the replies it reads, and the words it has for them.
 */
#include <errno.h>

#include "bytes.h"
#include "types.h"
#include <rtgt/proto.h>
#include <rtgt/wire.h>

#include "kselftest_harness.h"

#define HEAD		16

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

/* Requests: each field of head and bodies at each of its ends is what the target reads */
TEST_F(wire, requests)
{
	struct rtgt_request rq;
	struct {
		struct rtgt_msg head;
		union {
			struct rtgt_range range;
			struct rtgt_xfer xfer;
			struct rtgt_extents_query query;
		};
	} RTGT_PACKED m;

	for (size_t i = 0; i < EDGES; i++) {
		u64 wide = edge(i, 8);
		u32 word = (u32)edge(i, 4);

		rtgt_encode_msg(&m.head, RTGT_MSG_CHECKSUM, word, sizeof(m.range));
		rtgt_encode_range(&m.range, word, wide, ~wide);
		ASSERT_EQ(RTGT_OK, rtgt_decode_msg(&m, HEAD + 24, &rq));
		ASSERT_EQ(word, rq.tag);
		ASSERT_EQ(word, rq.region);
		ASSERT_EQ(wide, rq.offset);
		ASSERT_EQ(~wide, rq.count);
		rtgt_encode_msg(&m.head, RTGT_MSG_PULL, ~word, sizeof(m.xfer));
		rtgt_encode_xfer(&m.xfer, word, wide, ~wide, wide ^ 0xff, ~word);
		ASSERT_EQ(RTGT_OK, rtgt_decode_msg(&m, HEAD + 32, &rq));
		ASSERT_EQ(~word, rq.tag);
		ASSERT_EQ(word, rq.region);
		ASSERT_EQ(wide, rq.offset);
		ASSERT_EQ(~wide, rq.count);
		ASSERT_EQ(wide ^ 0xff, rq.addr);
		ASSERT_EQ(~word, rq.rkey);
		rtgt_encode_msg(&m.head, RTGT_MSG_EXTENTS, word, sizeof(m.query));
		rtgt_encode_query(&m.query, word, ~word, word ^ 0xff);
		ASSERT_EQ(RTGT_OK, rtgt_decode_msg(&m, HEAD + 16, &rq));
		ASSERT_EQ(word, rq.region);
		ASSERT_EQ(~word, rq.offset);
		ASSERT_EQ(word ^ 0xff, rq.count);
	}
}

/* Requests: the bytes of one, from its version to its last */
TEST_F(wire, request_bytes)
{
	static const unsigned char want[] = {
		1, 5, 0, 0, 0xca, 0xfe, 0, 1, 0, 0, 0, 32, 0, 0, 0, 0,
		0, 0, 0, 3, 0xa0, 0xb0, 0xc0, 0xd0, 1, 2, 3, 4, 5, 6, 7, 8,
		0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
		0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
	};
	struct {
		struct rtgt_msg head;
		struct rtgt_xfer xfer;
	} RTGT_PACKED m;

	memset(&m, 0xff, sizeof(m));
	rtgt_encode_msg(&m.head, RTGT_MSG_PUSH, 0xcafe0001, sizeof(m.xfer));
	rtgt_encode_xfer(&m.xfer, 3, 0x0102030405060708, 0x1112131415161718, 0x2122232425262728,
			 0xa0b0c0d0);
	ASSERT_EQ(sizeof(want), sizeof(m));
	EXPECT_EQ(0, memcmp(want, &m, sizeof(want)));
}

#define AT(member)	offsetof(struct rtgt_reply, member)

static const struct field head_fields[] = {
	{ "status", 2, 2, AT(status), 2 },
	{ "tag", 4, 4, AT(tag), 4 },
	{ "arg", 12, 4, AT(arg), 4 },
};

static const struct field crc_fields[] = {
	{ "crc", 16, 4, AT(crc), 4 },
	{ "len", 24, 8, AT(covered), 8 },
};

static const struct field ack_fields[] = {
	{ "byte_len", 16, 4, AT(covered), 8 },
};

static const struct field region_fields[] = {
	{ "addr", 16, 8, AT(region.addr), 8 },
	{ "rkey", 24, 4, AT(region.rkey), 4 },
	{ "len", 28, 8, AT(region.len), 8 },
	{ "access", 36, 4, AT(region.access), 4 },
};

/* Without the number of entries, which must be there: see extents */
static const struct field extents_fields[] = {
	{ "size", 16, 8, AT(size), 8 },
	{ "total", 24, 4, AT(total), 4 },
};

/* The bodies a reply needs; those of all other operations are taken as they are */
static const struct {
	size_t need;
	const struct field *field;
	size_t nr;
} replies[0x80] = {
	[2] = { 16, crc_fields, ARRAY_SIZE(crc_fields) },
	[3] = { 4, ack_fields, ARRAY_SIZE(ack_fields) },
	[6] = { 24, region_fields, ARRAY_SIZE(region_fields) },
	[9] = { 16, extents_fields, ARRAY_SIZE(extents_fields) },
};

#define REPLY_MAX	(HEAD + 25)

static size_t make_reply(unsigned char *msg, u32 op, size_t body)
{
	memset(msg, 0, REPLY_MAX);
	put(msg, 0, 1, RTGT_VERSION);
	put(msg, 1, 1, op | 0x80);
	put(msg, 8, 4, body);
	return HEAD + body;
}

static int decode_reply(void **block, const unsigned char *msg, size_t len,
			struct rtgt_reply *reply, struct rtgt_err *err)
{
	memset(reply, 0xa5, sizeof(*reply));
	memset(err, 0, sizeof(*err));
	return rtgt_wire_reply(reply, exact(block, msg, len), len, err);
}

/* Reply: each field of the head and of each body at each of its ends */
TEST_F(wire, reply_fields)
{
	unsigned char msg[REPLY_MAX];
	struct rtgt_reply reply;

	for (u32 op = 0; op < ARRAY_SIZE(replies); op++) {
		const size_t heads = ARRAY_SIZE(head_fields), need = replies[op].need;

		for (size_t i = 0; i < (heads + replies[op].nr) * EDGES; i++) {
			const struct field *f = i / EDGES < heads ? &head_fields[i / EDGES] :
						&replies[op].field[i / EDGES - heads];
			u64 value = edge(i % EDGES, f->bytes);
			size_t len = make_reply(msg, op, need);

			put(msg, f->at, f->bytes, value);
			ASSERT_EQ(0, decode_reply(&self->block, msg, len, &reply, &self->err));
			ASSERT_EQ(value, host(&reply, f)) {
				TH_LOG("operation %u, %s", op, f->name);
			}
			ASSERT_EQ(op, reply.op);
			ASSERT_EQ(need, reply.len);
			ASSERT_EQ((char *)self->block + 1 + HEAD, (char *)reply.body);
		}
	}
}

/* Reply: each operation with each body; one that failed needs none */
TEST_F(wire, reply_body)
{
	unsigned char msg[REPLY_MAX];
	struct rtgt_reply reply;

	for (u32 op = 0; op < ARRAY_SIZE(replies); op++) {
		for (size_t body = 0; body <= REPLY_MAX - HEAD; body++) {
			size_t len = make_reply(msg, op, body);
			int ret = decode_reply(&self->block, msg, len, &reply, &self->err);

			ASSERT_TRUE(body < replies[op].need ? told(&self->err, ret) : !ret) {
				TH_LOG("operation %u, %zu bytes: %d", op, body, ret);
			}
			put(msg, 2, 2, RTGT_ST_FAILED);
			ASSERT_EQ(0, decode_reply(&self->block, msg, len, &reply, &self->err));
			ASSERT_EQ(RTGT_ST_FAILED, reply.status);
			ASSERT_EQ(0, reply.covered);
		}
	}
}

/* Reply: a list of extents has all the entries it says, and each is read where it lies */
TEST_F(wire, reply_extents)
{
	unsigned char msg[HEAD + 16 + 3 * 20];
	struct rtgt_reply reply;
	struct rtgt_region_info mem;

	for (size_t body = 16; body <= sizeof(msg) - HEAD; body++) {
		for (u32 i = 0; i < MANY; i++) {
			u32 nr = many(i, 4);
			int ret;

			memset(msg, 0, sizeof(msg));
			put(msg, 0, 1, RTGT_VERSION);
			put(msg, 1, 1, 0x89);
			put(msg, 8, 4, body);
			put(msg, 28, 4, nr);
			ret = decode_reply(&self->block, msg, HEAD + body, &reply, &self->err);
			ASSERT_TRUE(nr * 20ull > body - 16 ? told(&self->err, ret) : !ret) {
				TH_LOG("%u entries in %zu bytes: %d", nr, body, ret);
			}
			ASSERT_TRUE(ret || reply.nr == nr);
		}
	}
	put(msg, 28, 4, 3);
	for (u32 i = 0; i < 3 * EDGES; i++) {
		size_t at = 32 + i / EDGES * 20;

		put(msg, at, 8, edge(i % EDGES, 8));
		put(msg, at + 8, 4, edge(i % EDGES, 4));
		put(msg, at + 12, 8, ~edge(i % EDGES, 8));
		ASSERT_EQ(0, decode_reply(&self->block, msg, sizeof(msg), &reply, &self->err));
		mem = rtgt_decode_extent(&reply, i / EDGES, 7);
		ASSERT_EQ(edge(i % EDGES, 8), mem.addr);
		ASSERT_EQ(edge(i % EDGES, 4), mem.rkey);
		ASSERT_EQ(~edge(i % EDGES, 8), mem.len);
		ASSERT_EQ(7, mem.access);
	}
}

/* Reply: cut short, a request, another version, or a length that is wrong is an error */
TEST_F(wire, reply_bad)
{
	static const u32 bad[] = { 0, 1, 15, 17, 0x10000010, 0x80000010, 0xfffffff0, 0xffffffff };
	unsigned char msg[REPLY_MAX];
	struct rtgt_reply reply;
	int ret;

	EXPECT_EQ(-EPROTO, rtgt_wire_reply(&reply, NULL, 0, &self->err));
	for (size_t len = 0; len < HEAD + 16; len++) {
		make_reply(msg, RTGT_MSG_CHECKSUM, 16);
		ret = decode_reply(&self->block, msg, len, &reply, &self->err);
		ASSERT_TRUE(told(&self->err, ret));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		make_reply(msg, RTGT_MSG_ECHO, bad[i]);
		ret = decode_reply(&self->block, msg, HEAD + 16, &reply, &self->err);
		ASSERT_TRUE(told(&self->err, ret));
	}
	for (u32 n = 0; n <= 0xff; n++) {
		make_reply(msg, 0, 0);
		put(msg, 0, 1, n);
		ret = decode_reply(&self->block, msg, HEAD, &reply, &self->err);
		ASSERT_TRUE(n == RTGT_VERSION ? !ret : told(&self->err, ret));
		make_reply(msg, 0, 0);
		put(msg, 1, 1, n);
		put(msg, 2, 2, RTGT_ST_OP);
		ret = decode_reply(&self->block, msg, HEAD, &reply, &self->err);
		ASSERT_TRUE(n & 0x80 ? !ret : told(&self->err, ret));
	}
}

/* Words: each status, reason and access has its own, and they are cut where the room ends */
/* A reply matches one request only: with any field of its head changed it is another's */
TEST_F(wire, reply_match)
{
	const struct rtgt_reply good = { .op = RTGT_MSG_ECHO, .tag = 7, .arg = 9 };
	struct rtgt_reply bad[] = { good, good, good, good };
	struct rtgt_err *err = &self->err;

	bad[0].status = RTGT_ST_FAILED;
	bad[1].op = RTGT_MSG_CHECKSUM;
	bad[2].tag ^= 1U << 31;
	bad[3].arg = 0;
	EXPECT_EQ(0, rtgt_wire_match(&good, RTGT_MSG_ECHO, 7, 9, err));
	for (u32 i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EPROTO, rtgt_wire_match(&bad[i], RTGT_MSG_ECHO, 7, 9, err));
}

TEST_F(wire, words)
{
	const struct rtgt_refusal odd = { .typed = true, .reason = 0xffff, .arg = 0xffffffff };
	char all[256], *cut;
	int len;

	for (u32 i = 0; i <= 0xffff; i++)
		ASSERT_EQ(i > RTGT_ST_ABSENT, !strcmp("unknown status", rtgt_status_str((u16)i)));
	for (u16 i = 0; i <= RTGT_ST_ABSENT; i++)
		for (u16 j = 0; j < i; j++)
			ASSERT_STRNE(rtgt_status_str(j), rtgt_status_str(i));
	for (u32 i = 0; i <= RTGT_REJ_ASK + 1; i++) {
		const struct rtgt_refusal refusal = { .reason = (u16)i, .arg = 0xffffffff };

		len = rtgt_refusal_str(&refusal, all, sizeof(all));
		ASSERT_EQ(strlen(all), len);
		ASSERT_EQ(!i || i > RTGT_REJ_ASK, !!strstr(all, "does not know"));
	}
	len = rtgt_refusal_str(&odd, all, sizeof(all));
	for (size_t room = 0; room <= (size_t)len; room++) {
		cut = exact(&self->block, all, room);
		ASSERT_EQ(len, rtgt_refusal_str(&odd, cut, room));
		ASSERT_TRUE(!room || (strlen(cut) == room - 1 && !strncmp(cut, all, room - 1)));
	}
	for (u32 i = 0; i <= 0xff; i++) {
		rtgt_access_str(i | 0xffffff00, all, sizeof(all));
		ASSERT_EQ(i % 16 == 0, !strcmp(all, "none"));
	}
	EXPECT_EQ(23, rtgt_access_str(15, all, sizeof(all)));
	EXPECT_STREQ("read,write,atomic,flush", all);
}

TEST_HARNESS_MAIN
