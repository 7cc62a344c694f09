// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * iwarp_flow_test: what user/libwire/flow_iwarp.c makes of FPDUs, and the rules of
 * rules_iwarp.c.  Each rule is broken once, by one FPDU of a conversation that is right
 * otherwise.
 */
#include <endian.h>

#include <rtgt/proto.h>
#include "bytes.h"
#include "streams.h"
#include "libwire/flow.h"
#include "libwire/iwarp.h"

#include "kselftest_harness.h"

#define CLIENT	0
#define SERVER	1
#define LAST	0x40
#define TAGGED	0x80
#define PLACE	0x7f0000001000ull
#define STAG	0x100

FIXTURE(flow)
{
	struct iwarp *w;
	struct flow *f;
	struct stream_bytes dir[2];
	void *block;
	struct frame frame;
	uint64_t number;
	bool wrong_crc;
	/* what was told */
	struct flow_msg message[16];
	unsigned int messages, connections, rules;
	struct flow_conn conn;
	char rule[256];
	uint64_t packet;
	struct pkt_terminate said;
};

static void message(void *arg, const struct flow_conn *c, const struct flow_msg *m)
{
	struct _test_data_flow *self = arg;

	if (self->messages < 16)
		self->message[self->messages++] = *m;
}

static void connection(void *arg, const struct flow_conn *c)
{
	struct _test_data_flow *self = arg;

	self->connections++;
	self->conn = *c;
}

/* All that are broken, a word each */
static void broken(void *arg, const char *rule, uint64_t packet, const char *words)
{
	struct _test_data_flow *self = arg;
	const size_t len = strlen(self->rule);

	snprintf(self->rule + len, sizeof(self->rule) - len, "%s ", rule);
	self->packet = packet;
	self->rules++;
}

static const struct flow_ops ops = { message, connection, broken };

/* All bytes of @from's that are not sent yet, in one segment */
static void segment(struct _test_data_flow *self, int from, size_t begin, uint8_t flags)
{
	const struct pkt *u;
	struct flow_seen seen;
	struct pkt p = {};
	unsigned int nr;

	stream_segment(&self->frame, &self->dir[from], from, flags, 50000, begin,
		       self->dir[from].len);
	p.data = exact(&self->block, self->frame.b, self->frame.len);
	p.caplen = self->frame.len;
	p.len = self->frame.len;
	p.number = ++self->number;
	p.ns = self->number * 1000;
	pkt_parse(&p, DLT_EN10MB);
	u = iwarp_feed(self->w, &p, &nr);
	flow_packet(self->f, &p, &seen);
	for (unsigned int i = 0; i < nr; i++) {
		flow_packet(self->f, &u[i], &seen);
		if (u[i].at[PKT_RDMAP].variant == PKT_RDMAP_TERMINATE)
			pkt_terminate(&u[i], &self->said);
	}
}

/* At the end of @from's bytes, and not sent yet; returns where it begins */
static size_t build(struct _test_data_flow *self, int from, uint8_t flags, uint8_t op,
		    const uint8_t *head, size_t head_len, size_t payload)
{
	struct stream_bytes *s = &self->dir[from];
	const size_t begin = s->len, len = 2 + head_len + payload;
	uint32_t crc;

	s->b[s->len++] = (uint8_t)(len >> 8);
	s->b[s->len++] = (uint8_t)len;
	s->b[s->len++] = flags | 1;
	s->b[s->len++] = 0x40 | op;
	memcpy(s->b + s->len, head, head_len);
	memset(s->b + s->len + head_len, 0x5a, payload);
	s->len += head_len + payload;
	while ((s->len - begin) % 4)
		s->b[s->len++] = 0;
	crc = stream_crc(s->b + begin, s->len - begin) ^ self->wrong_crc;
	for (int i = 0; i < 4; i++)
		s->b[s->len++] = (uint8_t)(crc >> 8 * i);
	return begin;
}

static void fpdu(struct _test_data_flow *self, int from, uint8_t flags, uint8_t op,
		 const uint8_t *head, size_t head_len, size_t payload)
{
	segment(self, from, build(self, from, flags, op, head, head_len, payload), 0x10);
}

static void tagged(struct _test_data_flow *self, int from, uint8_t last, uint8_t op,
		   uint32_t stag, uint64_t to, size_t payload)
{
	uint8_t head[12];

	put(head, 0, 4, stag);
	put(head, 4, 8, to);
	fpdu(self, from, TAGGED | last, op, head, sizeof(head), payload);
}

static void untagged(struct _test_data_flow *self, int from, uint8_t last, uint8_t op,
		     uint32_t queue, uint32_t msn, uint32_t mo, size_t payload)
{
	uint8_t head[16] = {};

	put(head, 4, 4, queue);
	put(head, 8, 4, msn);
	put(head, 12, 4, mo);
	fpdu(self, from, last, op, head, sizeof(head), payload);
}

/* Of @size bytes at PLACE, into the sink at 0x40 of STag 7 */
static void read_request(struct _test_data_flow *self, int from, uint32_t msn, uint32_t size)
{
	uint8_t head[16 + 28] = {};

	put(head, 4, 4, 1);
	put(head, 8, 4, msn);
	put(head, 16, 4, 7);
	put(head, 20, 8, 0x40);
	put(head, 28, 4, size);
	put(head, 32, 4, STAG);
	put(head, 36, 8, PLACE);
	fpdu(self, from, LAST, PKT_RDMAP_READ_REQUEST, head, sizeof(head), 0);
}

static void read_response(struct _test_data_flow *self, uint8_t last, uint64_t to, size_t payload)
{
	tagged(self, SERVER, last, PKT_RDMAP_READ_RESPONSE, 7, to, payload);
}

FIXTURE_SETUP(flow)
{
	self->w = iwarp_new();
	self->f = flow_new(&ops, self, 0, 0);
	ASSERT_NE(NULL, self->w);
	ASSERT_NE(NULL, self->f);
	stream_begin(&self->dir[CLIENT], "MPA ID Req Frame", 0x40, false);
	stream_begin(&self->dir[SERVER], "MPA ID Rep Frame", 0x40, false);
	/* no answer of the target's: an rping server says nothing of itself */
	memset(self->dir[SERVER].b + 24, 0, 16);
	segment(self, CLIENT, 0, 0x10);
	segment(self, SERVER, 0, 0x10);
}

FIXTURE_TEARDOWN(flow)
{
	flow_free(self->f);
	iwarp_free(self->w);
	free(self->block);
}

/* A WRITE of three segments, a SEND of two, a READ of three, and the reply */
static void talk(struct _test_data_flow *self)
{
	tagged(self, CLIENT, 0, PKT_RDMAP_WRITE, STAG, PLACE, 1000);
	tagged(self, CLIENT, 0, PKT_RDMAP_WRITE, STAG, PLACE + 1000, 1000);
	tagged(self, CLIENT, LAST, PKT_RDMAP_WRITE, STAG, PLACE + 2000, 5);
	untagged(self, CLIENT, 0, PKT_RDMAP_SEND, 0, 1, 0, 500);
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 1, 500, 40);
	read_request(self, CLIENT, 1, 2500);
	read_response(self, 0, 0x40, 1000);
	read_response(self, 0, 0x40 + 1000, 1000);
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND_INV, 0, 2, 0, 0);
	read_response(self, LAST, 0x40 + 2000, 500);
	untagged(self, SERVER, LAST, PKT_RDMAP_SEND, 0, 1, 0, 100);
}

/* No rule is broken; messages and their sizes are right */
TEST_F(flow, talk)
{
	static const struct {
		enum flow_op op;
		enum flow_status status;
		uint64_t bytes;
		uint32_t sent;
		uint8_t from;
	} want[] = {
		{ FLOW_WRITE, FLOW_SENT, 2005, 3, CLIENT },
		{ FLOW_SEND, FLOW_SENT, 540, 2, CLIENT },
		{ FLOW_SEND, FLOW_SENT, 0, 1, CLIENT },
		{ FLOW_READ, FLOW_OK, 2500, 4, CLIENT },
		{ FLOW_SEND, FLOW_SENT, 100, 1, SERVER },
	};

	talk(self);
	flow_end(self->f);
	EXPECT_STREQ("", self->rule);
	EXPECT_EQ(1, self->connections);
	EXPECT_EQ(FLOW_IWARP, self->conn.transport);
	EXPECT_FALSE(self->conn.guessed);
	ASSERT_EQ(5, self->messages);
	for (int i = 0; i < 5; i++) {
		EXPECT_EQ(want[i].op, self->message[i].op);
		EXPECT_EQ(want[i].status, self->message[i].status);
		EXPECT_EQ(want[i].bytes, self->message[i].bytes);
		EXPECT_EQ(want[i].sent, self->message[i].sent);
		EXPECT_EQ(want[i].from, self->message[i].from);
	}
	EXPECT_TRUE(self->message[2].has_inv);
}

#define EXPECT_BROKEN(name) do { \
	EXPECT_STREQ(name " ", self->rule); \
	EXPECT_EQ(self->number, self->packet); \
} while (0)

/* mpa-crc: the CRC is not that of the bytes */
TEST_F(flow, crc)
{
	talk(self);
	self->wrong_crc = true;
	untagged(self, SERVER, LAST, PKT_RDMAP_SEND, 0, 2, 0, 8);
	EXPECT_BROKEN("mpa-crc");
}

/* mpa-first: the server sends before the client does */
TEST_F(flow, server_first)
{
	untagged(self, SERVER, LAST, PKT_RDMAP_SEND, 0, 1, 0, 8);
	EXPECT_BROKEN("mpa-first");
}

/* iwarp-header: an operation that RDMAP does not have */
TEST_F(flow, no_operation)
{
	talk(self);
	untagged(self, CLIENT, LAST, 0xf, 0, 3, 0, 8);
	EXPECT_BROKEN("iwarp-header");
}

/* ddp-queue: a SEND on the queue of READ requests */
TEST_F(flow, queue)
{
	talk(self);
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 1, 2, 0, 8);
	EXPECT_BROKEN("ddp-queue");
}

/* ddp-queue: a SEND with an STag */
TEST_F(flow, send_with_stag)
{
	talk(self);
	tagged(self, CLIENT, LAST, PKT_RDMAP_SEND, STAG, PLACE, 8);
	EXPECT_BROKEN("ddp-queue");
}

/* ddp-msn: a message is left out */
TEST_F(flow, msn)
{
	talk(self);
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 4, 0, 8);
	EXPECT_BROKEN("ddp-msn");
}

/* ddp-offset: a segment of a SEND is left out */
TEST_F(flow, offset)
{
	talk(self);
	untagged(self, CLIENT, 0, PKT_RDMAP_SEND, 0, 3, 0, 100);
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 3, 200, 8);
	EXPECT_BROKEN("ddp-offset");
}

/* ddp-offset: a SEND does not begin at 0 */
TEST_F(flow, begins_late)
{
	talk(self);
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 3, 4, 8);
	EXPECT_BROKEN("ddp-offset");
}

/* ddp-offset: a segment of a WRITE is left out */
TEST_F(flow, place)
{
	talk(self);
	tagged(self, CLIENT, 0, PKT_RDMAP_WRITE, STAG, PLACE, 100);
	tagged(self, CLIENT, LAST, PKT_RDMAP_WRITE, STAG, PLACE + 200, 8);
	EXPECT_BROKEN("ddp-offset");
}

/* ddp-last: a WRITE without a last segment */
TEST_F(flow, last)
{
	talk(self);
	tagged(self, CLIENT, 0, PKT_RDMAP_WRITE, STAG, PLACE, 100);
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 3, 0, 8);
	EXPECT_BROKEN("ddp-last");
}

/* read-response: nobody asked */
TEST_F(flow, response_to_nothing)
{
	talk(self);
	read_response(self, LAST, 0x40, 8);
	EXPECT_BROKEN("read-response");
}

/* read-response: to a place that the request did not name */
TEST_F(flow, response_elsewhere)
{
	talk(self);
	read_request(self, CLIENT, 2, 100);
	read_response(self, LAST, 0x48, 100);
	EXPECT_BROKEN("read-response");
}

/* read-response: less than was asked for */
TEST_F(flow, response_short)
{
	talk(self);
	read_request(self, CLIENT, 2, 100);
	read_response(self, LAST, 0x40, 96);
	EXPECT_BROKEN("read-response");
}

/* terminate: it has the header of the WRITE that it refuses, and nothing may follow */
TEST_F(flow, behind_terminate)
{
	uint8_t head[16 + 4 + 2 + 14] = {};

	talk(self);
	tagged(self, CLIENT, 0, PKT_RDMAP_WRITE, 0x999, PLACE, 100);
	put(head, 4, 4, 2);
	put(head, 8, 4, 1);
	head[16] = 0x11;	/* DDP, a tagged buffer */
	head[18] = 0xc0;	/* with length and DDP's header */
	put(head, 20, 2, 114);
	put(head, 22, 2, 0x8140);
	put(head, 24, 4, 0x999);
	put(head, 28, 8, PLACE);
	fpdu(self, SERVER, LAST, PKT_RDMAP_TERMINATE, head, sizeof(head), 0);
	EXPECT_STREQ("", self->rule);
	EXPECT_EQ(FLOW_TERMINATED, self->message[self->messages - 1].status);
	EXPECT_EQ(0x999, self->message[self->messages - 1].rkey);
	untagged(self, SERVER, LAST, PKT_RDMAP_SEND, 0, 2, 0, 8);
	EXPECT_BROKEN("terminate");
}

/* siw has layer and type in each other's place, and the header bits at the other end */
TEST_F(flow, terminate_of_siw)
{
	uint8_t head[16 + 4 + 2 + 18] = {};
	const struct flow_msg *m;

	talk(self);
	read_request(self, CLIENT, 2, 100);
	put(head, 4, 4, 2);
	put(head, 8, 4, 1);
	head[16] = 0x10;	/* RDMAP, remote protection */
	head[18] = 0x03;	/* with length and DDP's header */
	put(head, 20, 2, 46);
	put(head, 22, 2, 0x4141);
	put(head, 28, 4, 1);	/* the queue of READ requests */
	put(head, 32, 4, 2);	/* MSN */
	fpdu(self, SERVER, LAST, PKT_RDMAP_TERMINATE, head, sizeof(head), 0);
	EXPECT_STREQ("", self->rule);
	m = &self->message[self->messages - 1];
	EXPECT_EQ(FLOW_READ, m->op);
	EXPECT_EQ(FLOW_TERMINATED, m->status);
	EXPECT_TRUE(self->said.siw);
	ASSERT_NE(NULL, self->said.name);
	EXPECT_STREQ("invalid STag", self->said.name);
}

/* Of an error of its own a device may put any code into a Terminate */
TEST_F(flow, terminate_of_its_own)
{
	uint8_t head[16 + 4] = {};

	talk(self);
	put(head, 4, 4, 2);
	put(head, 8, 4, 1);
	head[17] = 0x42;
	fpdu(self, SERVER, LAST, PKT_RDMAP_TERMINATE, head, sizeof(head), 0);
	EXPECT_STREQ("", self->rule);
	ASSERT_NE(NULL, self->said.name);
	EXPECT_STREQ("error of the sender's own", self->said.name);
}

/* An rping client tells its memory; the server writes @at bytes behind its beginning and READs */
static void rping(struct _test_data_flow *self, uint64_t at)
{
	uint8_t head[16 + 16] = {};

	put(head, 8, 4, 1);
	put(head, 16, 8, PLACE);
	put(head, 24, 4, STAG);
	put(head, 28, 4, 100);
	fpdu(self, CLIENT, LAST, PKT_RDMAP_SEND, head, sizeof(head), 0);
	tagged(self, SERVER, LAST, PKT_RDMAP_WRITE, STAG, PLACE + at, 50);
	self->packet = self->number;
	read_request(self, SERVER, 1, 100);
	tagged(self, CLIENT, LAST, PKT_RDMAP_READ_RESPONSE, 7, 0x40, 100);
}

/* A WRITE inside what was advertised is not refused */
TEST_F(flow, advertised)
{
	rping(self, 50);
	EXPECT_STREQ("", self->rule);
	ASSERT_EQ(3, self->messages);
	EXPECT_EQ(FLOW_GRANT_CLAIMED, self->message[1].grant);
	EXPECT_EQ(FLOW_GRANT_CLAIMED, self->message[2].grant);
}

/* stag: a WRITE beyond what was advertised is not refused: a READ behind it is answered */
TEST_F(flow, not_advertised)
{
	rping(self, 51);
	EXPECT_STREQ("stag ", self->rule);
	EXPECT_EQ(self->number - 2, self->packet);
}

static void say(struct _test_data_flow *self, int from, const void *bytes, size_t len)
{
	uint8_t head[16 + 128] = {};

	put(head, 8, 4, 1);
	memcpy(head + 16, bytes, len);
	fpdu(self, from, LAST, PKT_RDMAP_SEND, head, 16 + len, 0);
}

/*
 * Another connection, to a target that grants @access to a region of 4096 bytes.  Its REP has
 * no rkey; the reply to EXTENTS has.  Then the client READs 100 bytes, and gets them.
 */
static void target(struct _test_data_flow *self, uint32_t access)
{
	const struct rtgt_rep rep = {
		.cap.len = htobe64(4096), .magic = htobe32(RTGT_MAGIC),
		.version = htobe16(RTGT_VERSION), .size = htobe16(sizeof(rep)),
		.features = htobe32(RTGT_F_ASK), .access = htobe32(access),
		.nr_regions = htobe16(1), .recv_depth = htobe16(16), .recv_size = htobe32(4096),
	};
	const struct {
		struct rtgt_msg msg;
		struct rtgt_extents_query query;
	} request = {
		.msg = { .version = RTGT_VERSION, .op = RTGT_MSG_EXTENTS, .len = htobe32(16) },
		.query.max = htobe32(1),
	};
	const struct {
		struct rtgt_msg msg;
		struct rtgt_extents head;
		struct rtgt_cap cap;
	} reply = {
		.msg = { .version = RTGT_VERSION, .op = RTGT_MSG_EXTENTS | RTGT_MSG_REPLY,
			 .len = htobe32(16 + 20) },
		.head = { .size = htobe64(4096), .total = htobe32(1), .nr = htobe32(1) },
		.cap = { .addr = htobe64(PLACE), .rkey = htobe32(STAG), .len = htobe64(4096) },
	};
	struct stream_bytes *s = &self->dir[SERVER];

	for (int from = 0; from < 2; from++)
		segment(self, from, self->dir[from].len, 0x04);
	stream_begin(&self->dir[CLIENT], "MPA ID Req Frame", 0x40, false);
	stream_begin(s, "MPA ID Rep Frame", 0x40, false);
	s->b[19] = 4 + sizeof(rep);
	memcpy(s->b + 24, &rep, sizeof(rep));
	s->len = 24 + sizeof(rep);
	s->start = s->len;
	segment(self, CLIENT, 0, 0x10);
	segment(self, SERVER, 0, 0x10);
	say(self, CLIENT, &request, sizeof(request));
	say(self, SERVER, &reply, sizeof(reply));
	self->packet = self->number;
	read_request(self, CLIENT, 1, 100);
	read_response(self, LAST, 0x40, 100);
}

TEST_F(flow, read_granted)
{
	target(self, RTGT_ACCESS_READ);
	EXPECT_STREQ("", self->rule);
	ASSERT_EQ(3, self->messages);
	EXPECT_EQ(FLOW_GRANT_INSIDE, self->message[2].grant);
}

/* capability: a READ of a region that grants WRITEs only is answered */
TEST_F(flow, read_not_granted)
{
	target(self, RTGT_ACCESS_WRITE);
	EXPECT_STREQ("capability ", self->rule);
	EXPECT_EQ(self->number - 1, self->packet);
}

/* Both ends are gone; what comes is another connection */
static void hang_up(struct _test_data_flow *self)
{
	for (int from = 0; from < 2; from++)
		segment(self, from, self->dir[from].len, 0x04);
	self->rule[0] = 0;
}

/* A request of the client, and the reply to one */
static void ask(struct _test_data_flow *self, uint32_t msn)
{
	const struct rtgt_msg request = { .version = RTGT_VERSION, .op = RTGT_MSG_ECHO };
	uint8_t head[16 + sizeof(request)] = {};

	put(head, 8, 4, msn);
	memcpy(head + 16, &request, sizeof(request));
	fpdu(self, CLIENT, LAST, PKT_RDMAP_SEND, head, sizeof(head), 0);
}

static void answer(struct _test_data_flow *self, uint32_t msn)
{
	const struct rtgt_msg reply = { .version = RTGT_VERSION,
					.op = RTGT_MSG_ECHO | RTGT_MSG_REPLY };
	uint8_t head[16 + sizeof(reply)] = {};

	put(head, 8, 4, msn);
	memcpy(head + 16, &reply, sizeof(reply));
	fpdu(self, SERVER, LAST, PKT_RDMAP_SEND, head, sizeof(head), 0);
}

/* stag: a request that was sent behind a WRITE with no STag is answered; it is told once */
TEST_F(flow, write_before_request)
{
	uint64_t packet;

	target(self, RTGT_ACCESS_READ | RTGT_ACCESS_WRITE);
	ask(self, 2);
	tagged(self, CLIENT, LAST, PKT_RDMAP_WRITE, 0x999, PLACE, 8);
	packet = self->number;
	ask(self, 3);
	answer(self, 2);
	/* the answer may be the one to what was sent before */
	EXPECT_STREQ("", self->rule);
	answer(self, 3);
	EXPECT_STREQ("stag ", self->rule);
	EXPECT_EQ(packet, self->packet);
	ask(self, 4);
	answer(self, 4);
	read_request(self, CLIENT, 2, 100);
	read_response(self, LAST, 0x40, 100);
	EXPECT_STREQ("stag ", self->rule);
}

/* What a Terminate quotes */
static const uint8_t *quote_write(uint8_t *q, uint32_t stag, uint64_t to)
{
	put(q, 0, 2, 0xc140);
	put(q, 2, 4, stag);
	put(q, 6, 8, to);
	return q;
}

static const uint8_t *quote_send(uint8_t *q, uint32_t msn)
{
	memset(q, 0, 18);
	put(q, 0, 2, 0x4143);
	put(q, 10, 4, msn);
	return q;
}

static const uint8_t *quote_read(uint8_t *q, uint32_t msn, uint32_t size)
{
	memset(q, 0, 46);
	put(q, 0, 2, 0x4141);
	put(q, 6, 4, 1);
	put(q, 10, 4, msn);
	put(q, 18, 4, 7);
	put(q, 22, 8, 0x40);
	put(q, 30, 4, size);
	put(q, 34, 4, STAG);
	put(q, 38, 8, PLACE);
	return q;
}

/* @bits: 0xe0 where RFC 5040 has them, 7 where siw has them */
static void refuse(struct _test_data_flow *self, uint8_t layer_type, uint8_t code, uint8_t bits,
		   const uint8_t *quoted, size_t len)
{
	uint8_t head[16 + 4 + 2 + 46] = {};

	put(head, 4, 4, 2);
	put(head, 8, 4, 1);
	head[16] = layer_type;
	head[17] = code;
	head[18] = bits;
	put(head, 20, 2, len);
	memcpy(head + 22, quoted, len);
	fpdu(self, SERVER, LAST, PKT_RDMAP_TERMINATE, head, 22 + len, 0);
}

/* terminate-reason: errors that an FPDU has, and errors that it has not */
TEST_F(flow, refused)
{
	static const struct {
		char what;		/* w WRITE, r READ, s SEND, m with a wrong MSN */
		uint8_t layer_type, code, bits;
		uint32_t access, size;	/* of the READ; of the WRITE how far from PLACE */
		const char *rule;
	} all[] = {
		/* RDMAP, remote protection: bounds, rights, stream, wrap */
		{ 'r', 0x01, 1, 0xe0, RTGT_ACCESS_READ, 100, "terminate-reason " },
		{ 'r', 0x10, 1, 0x07, RTGT_ACCESS_READ, 100, "terminate-reason " },
		{ 'r', 0x01, 1, 0xe0, RTGT_ACCESS_READ, 5000, "" },
		{ 'r', 0x01, 2, 0xe0, RTGT_ACCESS_READ, 100, "terminate-reason " },
		{ 'r', 0x01, 2, 0xe0, RTGT_ACCESS_WRITE, 100, "" },
		{ 'r', 0x01, 3, 0xe0, RTGT_ACCESS_READ, 100, "terminate-reason " },
		{ 'r', 0x01, 4, 0xe0, RTGT_ACCESS_READ, 5000, "terminate-reason " },
		/* an STag may be invalid by now */
		{ 'r', 0x01, 0, 0xe0, RTGT_ACCESS_READ, 100, "" },
		/* RDMAP, remote operation: version, operation, catastrophic */
		{ 's', 0x02, 5, 0xc0, RTGT_ACCESS_READ, 0, "terminate-reason " },
		{ 's', 0x02, 6, 0xc0, RTGT_ACCESS_READ, 0, "terminate-reason " },
		{ 'r', 0x02, 6, 0xc0, RTGT_ACCESS_READ, 100, "" },
		{ 's', 0x02, 7, 0xc0, RTGT_ACCESS_READ, 0, "" },
		/* DDP, tagged buffer: bounds */
		{ 'w', 0x11, 1, 0xc0, RTGT_ACCESS_WRITE, 50, "terminate-reason " },
		{ 'w', 0x11, 1, 0x03, RTGT_ACCESS_WRITE, 50, "terminate-reason " },
		{ 'w', 0x11, 1, 0xc0, RTGT_ACCESS_WRITE, 4000, "" },
		{ 'w', 0x11, 0, 0xc0, RTGT_ACCESS_WRITE, 50, "" },
		{ 's', 0x11, 1, 0xc0, RTGT_ACCESS_WRITE, 0, "terminate-reason " },
		/* DDP, untagged buffer: queue, no receive, MSN, offset, version */
		{ 's', 0x12, 1, 0xc0, RTGT_ACCESS_READ, 0, "terminate-reason " },
		{ 's', 0x12, 2, 0xc0, RTGT_ACCESS_READ, 0, "" },
		{ 's', 0x12, 3, 0xc0, RTGT_ACCESS_READ, 0, "terminate-reason " },
		{ 'm', 0x12, 3, 0xc0, RTGT_ACCESS_READ, 0, "ddp-msn " },
		{ 's', 0x12, 4, 0xc0, RTGT_ACCESS_READ, 0, "terminate-reason " },
		{ 's', 0x12, 6, 0xc0, RTGT_ACCESS_READ, 0, "terminate-reason " },
		{ 'w', 0x12, 3, 0xc0, RTGT_ACCESS_WRITE, 50, "terminate-reason " },
		/* MPA: CRCs are in use here */
		{ 's', 0x20, 2, 0xc0, RTGT_ACCESS_READ, 0, "" },
	};
	uint8_t q[46];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const uint32_t msn = all[i].what == 'm' ? 9 : 2;

		target(self, all[i].access);
		self->rule[0] = 0;
		if (all[i].what == 'w') {
			tagged(self, CLIENT, LAST, PKT_RDMAP_WRITE, STAG, PLACE + all[i].size,
			       100);
			refuse(self, all[i].layer_type, all[i].code, all[i].bits,
			       quote_write(q, STAG, PLACE + all[i].size), 14);
		} else if (all[i].what == 'r') {
			read_request(self, CLIENT, 2, all[i].size);
			refuse(self, all[i].layer_type, all[i].code, all[i].bits,
			       quote_read(q, 2, all[i].size), 46);
		} else {
			untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, msn, 0, 8);
			refuse(self, all[i].layer_type, all[i].code, all[i].bits,
			       quote_send(q, msn), 18);
		}
		EXPECT_STREQ(all[i].rule, self->rule) {
			TH_LOG("row %zu", i);
		}
		if (!strcmp(all[i].rule, "terminate-reason "))
			EXPECT_EQ(self->number, self->packet);
	}
}

/* A Terminate that quotes what is not in the capture */
TEST_F(flow, refused_unknown)
{
	uint8_t q[46];

	target(self, RTGT_ACCESS_WRITE);
	self->rule[0] = 0;
	tagged(self, CLIENT, LAST, PKT_RDMAP_WRITE, STAG, PLACE, 100);
	refuse(self, 0x11, 1, 0xc0, quote_write(q, STAG, PLACE + 100), 14);
	EXPECT_STREQ("", self->rule);
	target(self, RTGT_ACCESS_WRITE);
	self->rule[0] = 0;
	tagged(self, CLIENT, LAST, PKT_RDMAP_WRITE, STAG, PLACE, 100);
	refuse(self, 0x11, 1, 0xc0, quote_write(q, 0x999, PLACE), 14);
	EXPECT_STREQ("", self->rule);
	target(self, RTGT_ACCESS_WRITE);
	self->rule[0] = 0;
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 2, 0, 8);
	refuse(self, 0x12, 3, 0xc0, quote_send(q, 7), 18);
	EXPECT_STREQ("", self->rule);
}

/* An FPDU of which the capture has only the beginning may be what is refused */
TEST_F(flow, refused_early)
{
	uint8_t head[12], q[46];
	size_t begin, end;

	target(self, RTGT_ACCESS_READ | RTGT_ACCESS_WRITE);
	self->rule[0] = 0;
	tagged(self, CLIENT, LAST, PKT_RDMAP_WRITE, STAG, PLACE, 100);
	put(head, 0, 4, STAG);
	put(head, 4, 8, PLACE);
	begin = build(self, CLIENT, TAGGED | LAST, PKT_RDMAP_WRITE, head, sizeof(head), 5000);
	self->dir[CLIENT].len = begin + 40;
	segment(self, CLIENT, begin, 0x10);
	refuse(self, 0x11, 1, 0xc0, quote_write(q, STAG, PLACE), 14);
	EXPECT_STREQ("", self->rule);
	/* so may one that came with another that is whole */
	target(self, RTGT_ACCESS_READ | RTGT_ACCESS_WRITE);
	self->rule[0] = 0;
	begin = build(self, CLIENT, TAGGED | LAST, PKT_RDMAP_WRITE, head, sizeof(head), 100);
	end = self->dir[CLIENT].len;
	build(self, CLIENT, TAGGED | LAST, PKT_RDMAP_WRITE, head, sizeof(head), 5000);
	self->dir[CLIENT].len = end + 40;
	segment(self, CLIENT, begin, 0x10);
	refuse(self, 0x11, 1, 0xc0, quote_write(q, STAG, PLACE), 14);
	EXPECT_STREQ("", self->rule);
}

/* terminate-reason: nobody asked for CRCs */
TEST_F(flow, refused_for_no_crc)
{
	hang_up(self);
	for (int from = 0; from < 2; from++) {
		stream_begin(&self->dir[from], from ? "MPA ID Rep Frame" : "MPA ID Req Frame", 0,
			     false);
		memset(self->dir[from].b + 24, 0, 16);
		segment(self, from, 0, 0x10);
	}
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 1, 0, 8);
	/* as siw has it, which the header bits do not tell */
	refuse(self, 0x02, 2, 0, (const uint8_t *)"", 0);
	EXPECT_BROKEN("terminate-reason");
	EXPECT_TRUE(self->said.siw);
}

/* nak-reason: an STag that was called invalid is served in another connection */
TEST_F(flow, refused_and_served)
{
	uint64_t packet;
	uint8_t q[46];

	target(self, RTGT_ACCESS_READ | RTGT_ACCESS_WRITE);
	tagged(self, CLIENT, LAST, PKT_RDMAP_WRITE, STAG, PLACE, 100);
	refuse(self, 0x11, 0, 0xc0, quote_write(q, STAG, PLACE), 14);
	packet = self->number;
	EXPECT_STREQ("", self->rule);
	target(self, RTGT_ACCESS_READ | RTGT_ACCESS_WRITE);
	EXPECT_STREQ("nak-reason ", self->rule);
	EXPECT_EQ(packet, self->packet);
}

/* MPA's Request or Reply, with @len bytes of private data */
static void mpa(struct _test_data_flow *self, int from, uint8_t flags, uint8_t revision,
		unsigned int len, uint32_t depths)
{
	struct stream_bytes *s = &self->dir[from];

	stream_begin(s, from ? "MPA ID Rep Frame" : "MPA ID Req Frame", 0, false);
	memset(s->b + 20, 0, 20);
	s->b[16] = flags;
	s->b[17] = revision;
	put(s->b, 18, 2, len);
	put(s->b, 20, 4, depths);
	s->len = 20 + len;
	s->start = s->len;
	segment(self, from, 0, 0x10);
}

/* mpa-frame, mpa-revision, mpa-depths; @depths: IRD and ORD */
TEST_F(flow, mpa)
{
	static const struct {
		struct { uint8_t flags, revision; uint16_t len; uint32_t depths; } end[2];
		const char *rule;
	} all[] = {
		{ { { 0x10, 2, 20, 0x00040004 }, { 0x10, 2, 20, 0x00040004 } }, "" },
		{ { { 0xd0, 2, 4, 0x80048004 }, { 0x50, 2, 4, 0x80048004 } }, "" },
		{ { { 0, 1, 512, 0 }, { 0, 1, 0, 0 } }, "" },
		{ { { 0, 2, 0, 0 }, { 0, 2, 0, 0 } }, "" },
		{ { { 0x10, 2, 4, 0 }, { 0, 1, 0, 0 } }, "" },
		{ { { 0x10, 2, 4, 0 }, { 0x30, 2, 4, 0 } }, "" },
		{ { { 0x10, 2, 4, 0 }, { 0x20, 2, 0, 0 } }, "mpa-revision " },
		{ { { 0x12, 2, 4, 0 }, { 0x10, 2, 4, 0 } }, "mpa-frame " },
		{ { { 0x10, 2, 4, 0 }, { 0x18, 2, 4, 0 } }, "mpa-frame " },
		{ { { 0x30, 2, 4, 0 }, { 0x10, 2, 4, 0 } }, "mpa-frame " },
		{ { { 0x10, 1, 4, 0 }, { 0, 1, 0, 0 } }, "mpa-frame " },
		{ { { 0x10, 2, 2, 0 }, { 0x10, 2, 4, 0 } }, "mpa-frame " },
		{ { { 0, 1, 513, 0 }, { 0, 1, 0, 0 } }, "mpa-frame " },
		{ { { 0, 1, 0, 0 }, { 0, 2, 0, 0 } }, "mpa-revision " },
		{ { { 0x10, 2, 4, 0 }, { 0, 2, 0, 0 } }, "mpa-revision " },
		{ { { 0, 2, 0, 0 }, { 0x10, 2, 4, 0 } }, "mpa-revision " },
		/* ORD of the Reply and IRD of the Request; 0x3fff: none is told */
		{ { { 0x10, 2, 4, 0x00040000 }, { 0x10, 2, 4, 0x00000005 } }, "mpa-depths " },
		{ { { 0x10, 2, 4, 0x3fff0000 }, { 0x10, 2, 4, 0x00000005 } }, "" },
		{ { { 0x10, 2, 4, 0x00040000 }, { 0x10, 2, 4, 0x00003fff } }, "" },
		{ { { 0x10, 2, 4, 0x00040000 }, { 0x30, 2, 4, 0x00000005 } }, "" },
		{ { { 0x10, 2, 4, 0x00040009 }, { 0x10, 2, 4, 0x00050004 } }, "" },
		/* A, and B, C, D: which message says that the client is ready */
		{ { { 0x10, 2, 4, 0xc004c004 }, { 0x10, 2, 4, 0x80044004 } }, "" },
		{ { { 0x10, 2, 4, 0x00048004 }, { 0x10, 2, 4, 0x00040004 } }, "mpa-ready " },
		{ { { 0x10, 2, 4, 0x40040004 }, { 0x10, 2, 4, 0x00040004 } }, "mpa-ready " },
		{ { { 0x10, 2, 4, 0x80048004 }, { 0x10, 2, 4, 0x80040004 } }, "mpa-ready " },
		{ { { 0x10, 2, 4, 0x80048004 }, { 0x10, 2, 4, 0x00040004 } }, "mpa-ready " },
		{ { { 0x10, 2, 4, 0x00040004 }, { 0x10, 2, 4, 0x80048004 } }, "mpa-ready " },
		/* without the flag these are private data */
		{ { { 0, 2, 4, 0x00040000 }, { 0, 2, 4, 0x00000005 } }, "" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		hang_up(self);
		for (int from = 0; from < 2; from++)
			mpa(self, from, all[i].end[from].flags, all[i].end[from].revision,
			    all[i].end[from].len, all[i].end[from].depths);
		EXPECT_STREQ(all[i].rule, self->rule) {
			TH_LOG("row %zu", i);
		}
	}
}

/* mpa-ready-first: what says that the client is ready; @depths: those of both ends */
TEST_F(flow, ready)
{
	static const struct {
		uint32_t depths;
		enum pkt_rdmap op;
		uint32_t size;
		const char *rule;
	} all[] = {
		{ 0xc0040004, PKT_RDMAP_SEND, 0, "" },
		{ 0xc0040004, PKT_RDMAP_SEND, 8, "mpa-ready-first " },
		{ 0xc0040004, PKT_RDMAP_WRITE, 0, "mpa-ready-first " },
		{ 0x80048004, PKT_RDMAP_WRITE, 0, "" },
		{ 0x80048004, PKT_RDMAP_WRITE, 8, "mpa-ready-first " },
		{ 0x80048004, PKT_RDMAP_READ_REQUEST, 0, "mpa-ready-first " },
		{ 0x80044004, PKT_RDMAP_READ_REQUEST, 0, "" },
		{ 0x80044004, PKT_RDMAP_READ_REQUEST, 8, "mpa-ready-first " },
		{ 0x80044004, PKT_RDMAP_SEND, 0, "mpa-ready-first " },
		{ 0xc004c004, PKT_RDMAP_SEND_INV, 0, "mpa-ready-first " },
		{ 0x00040004, PKT_RDMAP_SEND, 8, "" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		hang_up(self);
		for (int from = 0; from < 2; from++)
			mpa(self, from, 0x10, 2, 4, all[i].depths);
		for (uint32_t msn = 1; msn < 3; msn++) {
			if (all[i].op == PKT_RDMAP_WRITE)
				tagged(self, CLIENT, LAST, all[i].op, STAG, PLACE, all[i].size);
			else if (all[i].op == PKT_RDMAP_READ_REQUEST)
				read_request(self, CLIENT, msn, all[i].size);
			else
				untagged(self, CLIENT, LAST, all[i].op, 0, msn, 0, all[i].size);
		}
		EXPECT_STREQ(all[i].rule, self->rule) {
			TH_LOG("row %zu", i);
		}
	}
}

/* A client that ends the connection is not ready; one that is rejected breaks another rule */
TEST_F(flow, not_ready)
{
	uint8_t head[16 + 4] = {};

	put(head, 4, 4, 2);
	put(head, 8, 4, 1);
	for (int rejects = 0; rejects < 2; rejects++) {
		hang_up(self);
		mpa(self, CLIENT, 0x10, 2, 4, 0xc0040004);
		mpa(self, SERVER, rejects ? 0x30 : 0x10, 2, 4, 0xc0040004);
		if (rejects)
			untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 1, 0, 8);
		else
			fpdu(self, CLIENT, LAST, PKT_RDMAP_TERMINATE, head, sizeof(head), 0);
		EXPECT_STREQ(rejects ? "mpa-reject " : "", self->rule);
	}
}

/* mpa-marker: a marker points elsewhere */
TEST_F(flow, marker)
{
	for (int wrong = 0; wrong < 2; wrong++) {
		struct stream_bytes *s = &self->dir[SERVER];

		hang_up(self);
		mpa(self, CLIENT, 0x80, 1, 0, 0);
		mpa(self, SERVER, 0, 1, 0, 0);
		untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 1, 0, 8);
		/* the server's first FPDU begins with one */
		s->b[s->len++] = 0;
		s->b[s->len++] = 0;
		s->b[s->len++] = 0;
		s->b[s->len++] = wrong * 8;
		segment(self, SERVER, s->len - 4, 0x10);
		untagged(self, SERVER, LAST, PKT_RDMAP_SEND, 0, 1, 0, 8);
		if (!wrong)
			EXPECT_STREQ("", self->rule);
	}
	EXPECT_BROKEN("mpa-marker");
}

/* mpa-order: the client does not wait for the Reply */
TEST_F(flow, before_reply)
{
	hang_up(self);
	mpa(self, CLIENT, 0x50, 2, 4, 0);
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 1, 0, 8);
	EXPECT_STREQ("", self->rule);
	mpa(self, SERVER, 0x50, 2, 4, 0);
	EXPECT_STREQ("mpa-order ", self->rule);
	EXPECT_EQ(self->number - 1, self->packet);
}

/* mpa-reject: the Reply says no, and the client sends */
TEST_F(flow, rejected)
{
	hang_up(self);
	mpa(self, CLIENT, 0x50, 2, 4, 0);
	mpa(self, SERVER, 0x70, 2, 4, 0);
	EXPECT_STREQ("", self->rule);
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 1, 0, 8);
	EXPECT_BROKEN("mpa-reject");
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 2, 0, 8);
	EXPECT_STREQ("mpa-reject ", self->rule);
}

/* A connection that is made anew with the same ports is another one, counted from 1 */
TEST_F(flow, again)
{
	talk(self);
	for (int from = 0; from < 2; from++)
		segment(self, from, self->dir[from].len, 0x04);
	stream_begin(&self->dir[CLIENT], "MPA ID Req Frame", 0x40, false);
	stream_begin(&self->dir[SERVER], "MPA ID Rep Frame", 0x40, false);
	segment(self, CLIENT, 0, 0x10);
	segment(self, SERVER, 0, 0x10);
	talk(self);
	flow_end(self->f);
	EXPECT_STREQ("", self->rule);
	EXPECT_EQ(2, self->connections);
	EXPECT_EQ(10, self->messages);
}

TEST_HARNESS_MAIN
