// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * iwarp_flow_test: what user/libwire/flow_iwarp.c makes of FPDUs, and the rules of
 * rules_iwarp.c for FPDUs: CRCs, who sends first, DDP, RDMAP, and what a target has granted.  Each
 * rule is broken once, by one FPDU of a conversation that is right otherwise.
 */
#include "iwarp_flow.h"

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

/* An rping client tells its memory; the server writes @at bytes behind its beginning and READs */
static void rping(struct _test_data_flow *self, uint64_t at)
{
	uint8_t head[16 + 16] = {};

	put(head, 8, 4, 1);
	put(head, 16, 8, PLACE);
	put(head, 24, 4, STAG);
	put(head, 28, 4, 100);
	fpdu(self, CLIENT, LAST, PKT_RDMAP_SEND, head, sizeof(head), 0);
	/* that it is rping's shows the first access inside */
	tagged(self, SERVER, LAST, PKT_RDMAP_WRITE, STAG, PLACE, 50);
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
	ASSERT_EQ(4, self->messages);
	for (unsigned int i = 1; i < 4; i++)
		EXPECT_EQ(FLOW_GRANT_CLAIMED, self->message[i].grant);
}

/* stag: a WRITE beyond what was advertised is not refused: a READ behind it is answered */
TEST_F(flow, not_advertised)
{
	rping(self, 51);
	EXPECT_STREQ("stag ", self->rule);
	EXPECT_EQ(self->number - 2, self->packet);
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

/* The grant of a WRITE of 8 bytes with an STag */
static enum flow_grant granted(struct _test_data_flow *self, uint32_t stag, uint64_t to)
{
	self->rule[0] = 0;
	self->messages = 0;
	tagged(self, CLIENT, LAST, PKT_RDMAP_WRITE, stag, to, 8);
	return self->message[0].grant;
}

/* While a region is being revoked its STag may live or not; then the reply tells the new one */
TEST_F(flow, revoked)
{
	const uint32_t rw = RTGT_ACCESS_READ | RTGT_ACCESS_WRITE;
	struct {
		struct rtgt_msg msg;
		struct rtgt_range range;
	} request = {
		.msg = { .version = RTGT_VERSION, .op = RTGT_MSG_REVOKE, .tag = htobe32(7),
			 .len = htobe32(sizeof(request.range)) },
		.range.len = htobe64(4096),
	};
	struct {
		struct rtgt_msg msg;
		struct rtgt_region region;
	} reply = {
		.msg = { .version = RTGT_VERSION, .op = RTGT_MSG_REVOKE | RTGT_MSG_REPLY,
			 .status = htobe16(RTGT_ST_FAILED), .tag = htobe32(7),
			 .len = htobe32(sizeof(reply.region)) },
		.region.cap = { .addr = htobe64(PLACE), .rkey = htobe32(0x222),
				.len = htobe64(100) },
		.region.access = htobe32(RTGT_ACCESS_WRITE),
	};

	target(self, rw);
	EXPECT_EQ(FLOW_GRANT_INSIDE, granted(self, STAG, PLACE));
	say_nth(self, CLIENT, 2, &request, sizeof(request));
	EXPECT_EQ(FLOW_GRANT_UNCERTAIN, granted(self, STAG, PLACE));
	/* it failed: all is as before; another reply is none to it */
	say_nth(self, SERVER, 2, &reply, sizeof(reply));
	EXPECT_EQ(FLOW_GRANT_INSIDE, granted(self, STAG, PLACE));
	reply.msg.status = 0;
	say_nth(self, SERVER, 3, &reply, sizeof(reply));
	EXPECT_EQ(FLOW_GRANT_INSIDE, granted(self, STAG, PLACE));
	EXPECT_EQ(FLOW_GRANT_KEY, granted(self, 0x222, PLACE));
	/* and now it succeeds */
	request.msg.tag = htobe32(8);
	say_nth(self, CLIENT, 3, &request, sizeof(request));
	reply.msg.tag = htobe32(8);
	say_nth(self, SERVER, 4, &reply, sizeof(reply));
	EXPECT_EQ(FLOW_GRANT_DEAD, granted(self, STAG, PLACE));
	EXPECT_EQ(FLOW_GRANT_INSIDE, granted(self, 0x222, PLACE + 92));
	EXPECT_EQ(FLOW_GRANT_RANGE, granted(self, 0x222, PLACE + 93));
}

/* A PULL names one key, and none beside it */
TEST_F(flow, pulled)
{
	const struct {
		struct rtgt_msg msg;
		struct rtgt_xfer xfer;
	} request = {
		.msg = { .version = RTGT_VERSION, .op = RTGT_MSG_PULL, .tag = htobe32(7),
			 .len = htobe32(sizeof(request.xfer)) },
		.xfer = { .rkey = htobe32(5), .len = htobe64(100) },
	};

	target(self, RTGT_ACCESS_READ);
	say_nth(self, CLIENT, 2, &request, sizeof(request));
	self->messages = 0;
	tagged(self, SERVER, LAST, PKT_RDMAP_WRITE, 0, 0, 8);
	EXPECT_EQ(FLOW_GRANT_KEY, self->message[0].grant);
	flow_end(self->f);
	EXPECT_EQ(1, self->conn.half[0].caps);
}

/* An open READ is kept, however many WRITEs are behind it */
TEST_F(flow, read_among_writes)
{
	talk(self);
	read_request(self, CLIENT, 2, 100);
	for (unsigned int i = 0; i < 1100; i++)
		tagged(self, CLIENT, LAST, PKT_RDMAP_WRITE, STAG, PLACE, 1);
	read_response(self, LAST, 0x40, 100);
	EXPECT_STREQ("", self->rule);
	EXPECT_EQ(0, flow_totals(self->f)->forgotten_messages);
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
