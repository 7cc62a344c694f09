// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * proto_test: kmod/proto.c, the decoding and judging of all that a peer sends,
 * in user space.
 *
 * Every buffer a function reads ends where an unmapped page begins, so that one
 * byte too many is a fault and not a coincidence, and starts where no alignment
 * helps.  The comment above a test is its description in run.sh --list.
 */
#include <endian.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto.h"

#include "kselftest_harness.h"

#define SENTINEL	0xa5a5a5a5u

FIXTURE(wire)
{
	char *map, *edge;
	size_t page;
};

FIXTURE_SETUP(wire)
{
	self->page = (size_t)sysconf(_SC_PAGESIZE);
	self->map = mmap(NULL, 2 * self->page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->map);
	self->edge = self->map + self->page;
	ASSERT_EQ(0, mprotect(self->edge, self->page, PROT_NONE));
}

FIXTURE_TEARDOWN(wire)
{
	munmap(self->map, 2 * self->page);
}

/* A copy whose last byte is the last of its page */
static void *at_edge(char *edge, const void *data, size_t len)
{
	return memcpy(edge - len, data, len);
}

static struct rtgt_req good_req(void)
{
	return (struct rtgt_req) {
		.magic = htobe32(RTGT_MAGIC),
		.version = htobe16(RTGT_VERSION),
		.size = htobe16(sizeof(struct rtgt_req)),
	};
}

/* What RoCE delivers for a REQ: the structure in RTGT_REQ_MAX bytes */
static int decode_req(char *edge, const struct rtgt_req *req, struct rtgt_hello *hello,
		      u32 *arg)
{
	char field[RTGT_REQ_MAX] = {};

	memcpy(field, req, sizeof(*req));
	return rtgt_decode_req(at_edge(edge, field, sizeof(field)), sizeof(field), hello, arg);
}

/* REQ: a right one is taken, with its features */
TEST_F(wire, req_good)
{
	struct rtgt_req req = good_req();
	struct rtgt_hello hello;
	u32 arg;

	req.features = htobe32(0x80000001);
	ASSERT_EQ(0, decode_req(self->edge, &req, &hello, &arg));
	EXPECT_FALSE(hello.plain);
	EXPECT_EQ(0x80000001, hello.features);
}

/* REQ: without private data, or with another magic, the peer is a plain client */
TEST_F(wire, req_plain)
{
	struct rtgt_req req = good_req();
	struct rtgt_hello hello;
	u32 arg;

	ASSERT_EQ(0, rtgt_decode_req(NULL, 0, &hello, &arg));
	EXPECT_TRUE(hello.plain);

	for (size_t len = 0; len < sizeof(req.magic); len++) {
		ASSERT_EQ(0, rtgt_decode_req(at_edge(self->edge, &req, len), len, &hello, &arg));
		EXPECT_TRUE(hello.plain);
	}

	req.magic ^= 1;
	ASSERT_EQ(0, decode_req(self->edge, &req, &hello, &arg));
	EXPECT_TRUE(hello.plain);
}

/* REQ: another version is refused with the version that is served */
TEST_F(wire, req_version)
{
	static const u16 bad[] = { 0, RTGT_VERSION + 1, RTGT_VERSION << 8, 0xffff };
	struct rtgt_req req = good_req();
	struct rtgt_hello hello;
	u32 arg;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		req.version = htobe16(bad[i]);
		arg = SENTINEL;
		EXPECT_EQ(RTGT_REJ_VERSION, decode_req(self->edge, &req, &hello, &arg));
		EXPECT_EQ(RTGT_VERSION, arg);
	}
}

/* REQ: every size from 16 to what arrived is taken, every other refused */
TEST_F(wire, req_size)
{
	struct rtgt_req req = good_req();
	struct rtgt_hello hello;
	u32 arg;

	for (u32 size = 0; size <= 0xffff; size++) {
		bool good = size >= sizeof(req) && size <= RTGT_REQ_MAX;

		req.size = htobe16((u16)size);
		arg = SENTINEL;
		ASSERT_EQ(good ? 0 : RTGT_REJ_SIZE, decode_req(self->edge, &req, &hello, &arg)) {
			TH_LOG("size %u", size);
		}
		if (!good)
			ASSERT_EQ(sizeof(req), arg);
	}
}

/* REQ: cut short on the way (iWARP delivers what was sent) it is refused */
TEST_F(wire, req_cut)
{
	struct rtgt_req req = good_req();
	struct rtgt_hello hello;
	u32 arg;

	for (size_t len = sizeof(req.magic); len < sizeof(req); len++)
		EXPECT_EQ(RTGT_REJ_SIZE,
			  rtgt_decode_req(at_edge(self->edge, &req, len), len, &hello, &arg));
	EXPECT_EQ(0, rtgt_decode_req(at_edge(self->edge, &req, sizeof(req)), sizeof(req), &hello,
				     &arg));
}

/* REJ: what is encoded is decoded again, byte for byte where the header says */
TEST_F(wire, rej)
{
	static const unsigned char want[] = {
		0x52, 0x54, 0x47, 0x54, 0, 1, 0, 16, 0, 3, 0, 0, 0x12, 0x34, 0x56, 0x78,
	};
	unsigned char buf[RTGT_REJ_MAX] = {};
	u32 reason, arg;

	ASSERT_EQ(16, rtgt_encode_rej(buf, sizeof(buf), RTGT_REJ_FULL, 0x12345678));
	EXPECT_EQ(0, memcmp(want, buf, sizeof(want)));
	ASSERT_EQ(0, rtgt_decode_rej(at_edge(self->edge, buf, 16), 16, &reason, &arg));
	EXPECT_EQ(RTGT_REJ_FULL, reason);
	EXPECT_EQ(0x12345678, arg);
}

/* REJ: no room, too short, another magic or a size too small is not ours */
TEST_F(wire, rej_bad)
{
	struct rtgt_rej rej;
	u32 reason, arg;

	EXPECT_EQ(0, rtgt_encode_rej(at_edge(self->edge, "", 0), 0, RTGT_REJ_SIZE, 0));
	EXPECT_EQ(0, rtgt_encode_rej(self->edge - 15, 15, RTGT_REJ_SIZE, 0));
	ASSERT_EQ(16, rtgt_encode_rej(&rej, sizeof(rej), RTGT_REJ_SIZE, 0));
	for (size_t len = 0; len < sizeof(rej); len++)
		EXPECT_EQ(-1, rtgt_decode_rej(at_edge(self->edge, &rej, len), len, &reason, &arg));

	rej.size = htobe16(15);
	EXPECT_EQ(-1, rtgt_decode_rej(&rej, sizeof(rej), &reason, &arg));
	rej.size = htobe16(16);
	rej.magic = 0;
	EXPECT_EQ(-1, rtgt_decode_rej(&rej, sizeof(rej), &reason, &arg));
}

static void some_regions(struct rtgt_welcome *w, u16 nr)
{
	memset(w, 0, sizeof(*w));
	w->nr = nr;
	w->features = RTGT_F_PRIVATE;
	w->recv_size = 0x01020304;
	w->recv_depth = 0x0506;
	w->conn_id = 0x0708090a;
	for (u32 i = 0; i < nr; i++) {
		w->region[i].addr = 0x1122334455660000ull + i;
		w->region[i].rkey = 0xa0b0c000u + i;
		w->region[i].len = 0x100000000ull + i;
		w->region[i].access = 1 + i;
	}
}

static void expect_cap(struct __test_metadata *_metadata, const struct rtgt_cap *cap, u32 i)
{
	EXPECT_EQ(0x1122334455660000ull + i, be64toh(cap->addr));
	EXPECT_EQ(0xa0b0c000u + i, be32toh(cap->rkey));
	EXPECT_EQ(0x100000000ull + i, be64toh(cap->len));
}

/* REP: one to six regions, each field where the header says, the rest zero */
TEST_F(wire, rep)
{
	struct rtgt_welcome w;
	struct rtgt_rep rep;

	for (u16 nr = 1; nr <= RTGT_MAX_REGIONS; nr++) {
		some_regions(&w, nr);
		memset(&rep, 0xff, sizeof(rep));
		ASSERT_EQ(sizeof(rep), rtgt_encode_rep(&rep, sizeof(rep), &w));
		expect_cap(_metadata, &rep.cap, 0);
		EXPECT_EQ(RTGT_MAGIC, be32toh(rep.magic));
		EXPECT_EQ(RTGT_VERSION, be16toh(rep.version));
		EXPECT_EQ(sizeof(rep), be16toh(rep.size));
		EXPECT_EQ(RTGT_F_PRIVATE, be32toh(rep.features));
		EXPECT_EQ(1, be32toh(rep.access));
		EXPECT_EQ(nr, be16toh(rep.nr_regions));
		EXPECT_EQ(0x0506, be16toh(rep.recv_depth));
		EXPECT_EQ(0x01020304, be32toh(rep.recv_size));
		EXPECT_EQ(0x0708090a, be32toh(rep.conn_id));
		EXPECT_EQ(0, rep.rsvd);
		for (u32 i = 1; i < nr; i++) {
			expect_cap(_metadata, &rep.more[i - 1].cap, i);
			EXPECT_EQ(1 + i, be32toh(rep.more[i - 1].access));
		}
		for (const char *p = (char *)&rep.more[nr - 1]; p < (char *)(&rep + 1); p++)
			EXPECT_EQ(0, *p);
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
	unsigned char buf[RTGT_REP_MAX];
	struct rtgt_welcome w;

	some_regions(&w, 1);
	ASSERT_NE(0, rtgt_encode_rep(buf, sizeof(buf), &w));
	EXPECT_EQ(0, memcmp(want, buf, sizeof(want)));
}

/* REP: without a region the capability is zero, and the rest is there */
TEST_F(wire, rep_no_region)
{
	const struct rtgt_cap none = {};
	struct rtgt_welcome w;
	struct rtgt_rep rep;

	some_regions(&w, 0);
	ASSERT_EQ(sizeof(rep), rtgt_encode_rep(&rep, sizeof(rep), &w));
	EXPECT_EQ(0, memcmp(&none, &rep.cap, sizeof(none)));
	EXPECT_EQ(RTGT_MAGIC, be32toh(rep.magic));
	EXPECT_EQ(0, rep.nr_regions);
	EXPECT_EQ(0, rep.access);
}

/* REP: where further regions have no room, one region still has */
TEST_F(wire, rep_room)
{
	const size_t shortest = offsetof(struct rtgt_rep, more);
	struct rtgt_welcome w;
	struct rtgt_rep rep;

	for (size_t room = 0; room < sizeof(rep); room++) {
		void *buf = self->edge - room;
		size_t want = room < shortest ? 0 : shortest;

		some_regions(&w, 1);
		ASSERT_EQ(want, rtgt_encode_rep(buf, room, &w));
		some_regions(&w, 2);
		ASSERT_EQ(0, rtgt_encode_rep(buf, room, &w));
		if (!want)
			continue;
		memcpy(&rep, buf, shortest);
		expect_cap(_metadata, &rep.cap, 0);
		EXPECT_EQ(shortest, be16toh(rep.size));
	}
}

/* REP: more regions than it can hold give nothing */
TEST_F(wire, rep_bad)
{
	struct rtgt_welcome w;
	struct rtgt_rep rep;

	some_regions(&w, 1);
	w.nr = RTGT_MAX_REGIONS + 1;
	EXPECT_EQ(0, rtgt_encode_rep(&rep, sizeof(rep), &w));
	w.nr = 0xffff;
	EXPECT_EQ(0, rtgt_encode_rep(&rep, sizeof(rep), &w));
}

/* A request with the longest body there is */
struct message {
	struct rtgt_msg head;
	union {
		struct rtgt_range range;
		struct rtgt_xfer xfer;
		struct rtgt_withhold withhold;
	};
} RTGT_PACKED;

static const size_t body_size[] = {
	[RTGT_MSG_ECHO] = 0,
	[RTGT_MSG_CHECKSUM] = sizeof(struct rtgt_range),
	[RTGT_MSG_PULL] = sizeof(struct rtgt_xfer),
	[RTGT_MSG_PUSH] = sizeof(struct rtgt_xfer),
	[RTGT_MSG_REVOKE] = sizeof(struct rtgt_range),
	[RTGT_MSG_WITHHOLD] = sizeof(struct rtgt_withhold),
	[RTGT_MSG_DISCONNECT] = 0,
};

static bool is_request(u32 op)
{
	return op && op != RTGT_MSG_IMM && op < ARRAY_SIZE(body_size);
}

static struct message request(u8 op, size_t body)
{
	return (struct message) {
		.head = {
			.version = RTGT_VERSION,
			.op = op,
			.tag = htobe32(0xcafe0001),
			.len = htobe32((u32)body),
		},
		.range = {
			.region = htobe32(3),
			.offset = htobe64(0x100000002ull),
			.len = htobe64(0xffffffffffffffffull),
		},
	};
}

static struct message checksum(void)
{
	return request(RTGT_MSG_CHECKSUM, sizeof(struct rtgt_range));
}

/* As much of it as its head announces */
static u32 decode(char *edge, const struct message *m, struct rtgt_request *rq)
{
	size_t len = sizeof(m->head) + be32toh(m->head.len);

	return rtgt_decode_msg(at_edge(edge, m, len), len, rq);
}

/* SEND: a checksum request is taken, field by field */
TEST_F(wire, msg_checksum)
{
	struct message m = checksum();
	struct rtgt_request rq;

	ASSERT_EQ(RTGT_OK, decode(self->edge, &m, &rq));
	EXPECT_EQ(RTGT_MSG_CHECKSUM, rq.op);
	EXPECT_EQ(0xcafe0001, rq.tag);
	EXPECT_EQ(sizeof(m.range), rq.len);
	EXPECT_EQ(3, rq.region);
	EXPECT_EQ(0x100000002ull, rq.offset);
	EXPECT_EQ(0xffffffffffffffffull, rq.count);
}

/* SEND: the target's own transfers are taken, field by field */
TEST_F(wire, msg_xfer)
{
	static const u8 op[] = { RTGT_MSG_PULL, RTGT_MSG_PUSH };
	struct rtgt_request rq;

	for (size_t i = 0; i < ARRAY_SIZE(op); i++) {
		struct message m = request(op[i], sizeof(struct rtgt_xfer));

		m.xfer = (struct rtgt_xfer) {
			.region = htobe32(5),
			.rkey = htobe32(0xa0b0c0d0),
			.offset = htobe64(0x200000003ull),
			.len = htobe64(0x300000004ull),
			.addr = htobe64(0x7fff00001111ull),
		};
		ASSERT_EQ(RTGT_OK, decode(self->edge, &m, &rq));
		EXPECT_EQ(op[i], rq.op);
		EXPECT_EQ(5, rq.region);
		EXPECT_EQ(0xa0b0c0d0, rq.rkey);
		EXPECT_EQ(0x200000003ull, rq.offset);
		EXPECT_EQ(0x300000004ull, rq.count);
		EXPECT_EQ(0x7fff00001111ull, rq.addr);
	}
}

/* SEND: receives are withheld up to the limit, and no longer */
TEST_F(wire, msg_withhold)
{
	struct message m = request(RTGT_MSG_WITHHOLD, sizeof(struct rtgt_withhold));
	struct rtgt_request rq;

	m.withhold.ms = htobe32(RTGT_WITHHOLD_MAX_MS);
	ASSERT_EQ(RTGT_OK, decode(self->edge, &m, &rq));
	EXPECT_EQ(RTGT_WITHHOLD_MAX_MS, rq.ms);
	m.withhold.ms = htobe32(RTGT_WITHHOLD_MAX_MS + 1);
	EXPECT_EQ(RTGT_ST_LIMIT, decode(self->edge, &m, &rq));
	m.withhold.ms = htobe32(0xffffffff);
	EXPECT_EQ(RTGT_ST_LIMIT, decode(self->edge, &m, &rq));
}

/* SEND: an echo is taken with a body of any length, also none */
TEST_F(wire, msg_echo)
{
	struct rtgt_request rq;

	for (u32 body = 0; body <= sizeof(struct rtgt_xfer); body++) {
		struct message m = request(RTGT_MSG_ECHO, body);

		ASSERT_EQ(RTGT_OK, decode(self->edge, &m, &rq));
		EXPECT_EQ(body, rq.len);
	}
}

/* SEND: shorter than its head it is a length error with tag 0, and not read beyond */
TEST_F(wire, msg_short)
{
	struct message m = checksum();
	struct rtgt_request rq;

	for (size_t len = 0; len < sizeof(m.head); len++) {
		rq.tag = SENTINEL;
		EXPECT_EQ(RTGT_ST_LENGTH, rtgt_decode_msg(at_edge(self->edge, &m, len), len, &rq));
		EXPECT_EQ(0, rq.tag);
	}
}

/* SEND: a length that disagrees with what arrived is refused, with the tag */
TEST_F(wire, msg_length)
{
	static const u32 bad[] = { 0, 1, 23, 25, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0 };
	const size_t len = sizeof(struct rtgt_msg) + sizeof(struct rtgt_range);
	struct message m = checksum();
	struct rtgt_request rq;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		m.head.len = htobe32(bad[i]);
		EXPECT_EQ(RTGT_ST_LENGTH, rtgt_decode_msg(at_edge(self->edge, &m, len), len, &rq));
		EXPECT_EQ(0xcafe0001, rq.tag);
	}
}

/* SEND: a body cut short is a length error for each operation, and not read beyond */
TEST_F(wire, msg_body_cut)
{
	struct rtgt_request rq;

	for (u32 op = 0; op < ARRAY_SIZE(body_size); op++) {
		for (u32 body = 0; is_request(op) && body < body_size[op]; body++) {
			struct message m = request((u8)op, body);

			ASSERT_EQ(RTGT_ST_LENGTH, decode(self->edge, &m, &rq));
		}
	}
}

/* SEND: every version but ours is refused, with the tag */
TEST_F(wire, msg_version)
{
	struct message m = checksum();
	struct rtgt_request rq;

	for (u32 version = 0; version <= 0xff; version++) {
		m.head.version = (u8)version;
		ASSERT_EQ(version == RTGT_VERSION ? RTGT_OK : RTGT_ST_VERSION,
			  decode(self->edge, &m, &rq));
		EXPECT_EQ(0xcafe0001, rq.tag);
	}
}

/* SEND: every operation that is no request is refused, replies too */
TEST_F(wire, msg_op)
{
	struct rtgt_request rq;

	for (u32 op = 0; op <= 0xff; op++) {
		struct message m = request((u8)op, sizeof(struct rtgt_xfer));

		ASSERT_EQ(is_request(op) ? RTGT_OK : RTGT_ST_OP, decode(self->edge, &m, &rq)) {
			TH_LOG("operation %u", op);
		}
	}
}

/* Reply: the head says what the request was, and the body is not touched */
TEST_F(wire, reply)
{
	static const unsigned char want[] = {
		1, 0x82, 0, 5, 0xca, 0xfe, 0, 1, 0, 0, 0, 16, 0, 0, 0, 9, 0x77,
	};
	const struct rtgt_request rq = { .op = RTGT_MSG_CHECKSUM, .tag = 0xcafe0001 };
	unsigned char buf[17];

	memset(buf, 0x77, sizeof(buf));
	rtgt_encode_reply(buf, &rq, RTGT_ST_RANGE, 16, 9);
	EXPECT_EQ(0, memcmp(want, buf, sizeof(want)));
}

/* Range: inside is inside, also at the very end, and no sum wraps */
TEST_F(wire, range)
{
	const u64 max = ~0ull;

	EXPECT_TRUE(rtgt_range_ok(0, 0, 0));
	EXPECT_TRUE(rtgt_range_ok(0, 4096, 4096));
	EXPECT_TRUE(rtgt_range_ok(4095, 1, 4096));
	EXPECT_TRUE(rtgt_range_ok(4096, 0, 4096));
	EXPECT_TRUE(rtgt_range_ok(max, 0, max));
	EXPECT_FALSE(rtgt_range_ok(0, 1, 0));
	EXPECT_FALSE(rtgt_range_ok(0, 4097, 4096));
	EXPECT_FALSE(rtgt_range_ok(4095, 2, 4096));
	EXPECT_FALSE(rtgt_range_ok(4097, 0, 4096));
	EXPECT_FALSE(rtgt_range_ok(1, max, 4096));
	EXPECT_FALSE(rtgt_range_ok(max, 1, 4096));
	EXPECT_FALSE(rtgt_range_ok(max, max, 4096));
	EXPECT_FALSE(rtgt_range_ok(2048, max - 2047, 4096));
}

/* Immediate: four bits of operation, 28 of argument, in both directions */
TEST_F(wire, immediate)
{
	EXPECT_EQ(0x1abcdef0, rtgt_imm(RTGT_IMM_ACK, 0xfabcdef0));
	EXPECT_EQ(RTGT_IMM_ACK, rtgt_imm_op(0x1abcdef0));
	EXPECT_EQ(0x0abcdef0, rtgt_imm_arg(0x1abcdef0));
	EXPECT_EQ(RTGT_IMM_NOTIFY, rtgt_imm_op(17));
	EXPECT_EQ(15, rtgt_imm_op(0xffffffff));
}

/* Names: every reason and status has one, and what lies beyond is "unknown" */
TEST_F(wire, names)
{
	for (u32 i = RTGT_REJ_VERSION; i <= RTGT_REJ_STOPPING; i++)
		EXPECT_STRNE("unknown", rtgt_rej_name(i));
	EXPECT_STREQ("unknown", rtgt_rej_name(0));
	EXPECT_STREQ("unknown", rtgt_rej_name(RTGT_REJ_STOPPING + 1));
	EXPECT_STREQ("unknown", rtgt_rej_name(~0u));
	for (u32 i = RTGT_OK; i <= RTGT_ST_ACCESS; i++)
		EXPECT_STRNE("unknown", rtgt_status_name(i));
	EXPECT_STREQ("unknown", rtgt_status_name(RTGT_ST_ACCESS + 1));
	EXPECT_STREQ("unknown", rtgt_status_name(~0u));
}

TEST_HARNESS_MAIN
