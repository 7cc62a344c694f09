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
	/* a new one may be there, which its reply will tell; the client's own memory has none */
	EXPECT_EQ(FLOW_GRANT_UNCERTAIN, granted(self, 0x222, PLACE));
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

/* Another connection of the same two; @flags: what each wants of MPA */
static void reconnect(struct _test_data_flow *self, uint8_t request, uint8_t reply)
{
	hang_up(self);
	stream_begin(&self->dir[CLIENT], "MPA ID Req Frame", request, false);
	stream_begin(&self->dir[SERVER], "MPA ID Rep Frame", reply, false);
	memset(self->dir[SERVER].b + 24, 0, 16);
	segment(self, CLIENT, 0, 0x10);
	segment(self, SERVER, 0, 0x10);
}

/* As segment(), with all of the other end's bytes acknowledged and @more; @cut: not captured */
static void acked(struct _test_data_flow *self, int from, size_t begin, int more, size_t cut)
{
	stream_segment(&self->frame, &self->dir[from], from, 0x10, 50000, begin,
		       self->dir[from].len);
	put(self->frame.b, self->frame.ip + 20 + 8, 4,
	    STREAM_SEQ + self->dir[!from].len + (size_t)more);
	captured(self, cut);
}

/* A capture may lack a segment: what it follows, or what is acknowledged, shows that */
TEST_F(flow, lacking)
{
	static const struct {
		const char *what;
		size_t skip[2], cut;
		int more;
		bool lacks;
	} all[] = {
		{ "nothing", { 0, 0 }, 0, 0, false },
		{ "a byte of the client's", { 1, 0 }, 0, 0, true },
		{ "a byte of the server's", { 0, 1 }, 0, 0, true },
		{ "the end of a segment", { 0, 0 }, 5, -5, true },
		{ "what is acknowledged", { 0, 0 }, 0, 2, true },
		{ "nothing, a FIN is acknowledged", { 0, 0 }, 0, 1, false },
	};
	struct stream_bytes *client = &self->dir[CLIENT], *server = &self->dir[SERVER];
	uint8_t head[16] = {};
	size_t begin[3];

	flow_free(self->f);
	self->f = flow_new(&ops, self, 0, 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const uint64_t broken = flow_totals(self->f)->broken;
		const uint64_t doubtful = flow_totals(self->f)->doubtful;

		hang_up(self);
		stream_begin(client, "MPA ID Req Frame", 0x40, false);
		stream_begin(server, "MPA ID Rep Frame", 0x40, false);
		memset(server->b + 24, 0, 16);
		/* nothing of the server's is there yet */
		server->len = 0;
		acked(self, CLIENT, 0, 0, 0);
		server->len = 40;
		acked(self, SERVER, 0, 0, 0);
		for (uint32_t n = 0; n < 2; n++) {
			put(head, 8, 4, n + 1);
			begin[n] = build(self, CLIENT, LAST, PKT_RDMAP_SEND, head, 16, 8);
			acked(self, CLIENT, begin[n], 0, 0);
		}
		/* the first one once more, which changes nothing */
		begin[2] = client->len;
		client->len = begin[1];
		acked(self, CLIENT, begin[0], 0, 0);
		client->len = begin[2];
		put(head, 8, 4, 3);
		build(self, CLIENT, LAST, PKT_RDMAP_SEND, head, 16, 8);
		acked(self, CLIENT, begin[2] + all[i].skip[CLIENT], 0, all[i].cut);
		/* a READ response that nobody asked for */
		memset(head, 0, sizeof(head));
		put(head, 0, 4, 7);
		begin[0] = build(self, SERVER, TAGGED | LAST, PKT_RDMAP_READ_RESPONSE, head, 12,
				 8);
		acked(self, SERVER, begin[0] + all[i].skip[SERVER], all[i].more, 0);
		flow_end(self->f);
		EXPECT_EQ(all[i].lacks, self->conn.lacking) {
			TH_LOG("%s is missing", all[i].what);
		}
		if (all[i].skip[SERVER])
			continue;
		EXPECT_EQ(!all[i].lacks, flow_totals(self->f)->broken - broken);
		EXPECT_EQ(all[i].lacks, flow_totals(self->f)->doubtful - doubtful);
	}
}

/* The client's port with another server is none of this connection's */
TEST_F(flow, another_server)
{
	const uint64_t before = flow_totals(self->f)->unjudged[FLOW_NO_BEGINNING];
	struct flow_seen seen;
	struct pkt p = {};

	talk(self);
	stream_segment(&self->frame, &self->dir[CLIENT], 0, 0x11, 50000, 0, 0);
	self->frame.b[self->frame.ip + 19] = 9;
	p.data = exact(&self->block, self->frame.b, self->frame.len);
	p.caplen = self->frame.len;
	p.len = self->frame.len;
	p.number = ++self->number;
	pkt_parse(&p, DLT_EN10MB);
	flow_packet(self->f, &p, &seen);
	EXPECT_EQ(NULL, seen.conn);
	EXPECT_EQ(before + 1, flow_totals(self->f)->unjudged[FLOW_NO_BEGINNING]);
}

/* A FIN or an RST ends a connection; it is reported after two seconds of silence */
TEST_F(flow, over)
{
	static const uint8_t flags[] = { 0, 0x01, 0x04 };

	for (size_t i = 0; i < sizeof(flags); i++) {
		reconnect(self, 0x40, 0x40);
		self->connections = 0;
		segment(self, CLIENT, self->dir[CLIENT].len, 0x10 | flags[i]);
		EXPECT_EQ(0, self->connections);
		self->number += 3000000;
		segment(self, SERVER, self->dir[SERVER].len, 0x10);
		EXPECT_EQ(flags[i] != 0, self->connections);
	}
}

/* CRCs are in use if one end wants them, whichever */
TEST_F(flow, one_wants_crc)
{
	for (unsigned int wants = 0; wants < 4; wants++) {
		reconnect(self, wants & 1 ? 0x40 : 0, wants & 2 ? 0x40 : 0);
		self->wrong_crc = true;
		untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 1, 0, 8);
		EXPECT_STREQ(wants ? "mpa-crc " : "", self->rule);
		self->wrong_crc = false;
	}
}

/* What a wrong CRC covers is counted, and believed by nobody */
TEST_F(flow, crc_believed)
{
	talk(self);
	self->wrong_crc = true;
	read_request(self, CLIENT, 9, 100);
	EXPECT_BROKEN("mpa-crc");
	EXPECT_EQ(1, flow_totals(self->f)->corrupt);
	flow_end(self->f);
	EXPECT_EQ(5, self->messages);
}

/* iwarp-header: DDP has version 1, RDMAP 1 or 0; no READ request has an STag or is short */
TEST_F(flow, versions)
{
	static const struct {
		uint8_t ddp, rdmap;
		const char *rule;
	} all[] = {
		{ 1, 1, "" }, { 1, 0, "" }, { 1, 2, "iwarp-header " }, { 1, 3, "iwarp-header " },
		{ 0, 1, "iwarp-header " }, { 2, 1, "iwarp-header " },
	};
	struct stream_bytes *s = &self->dir[CLIENT];
	uint8_t head[16] = {};
	size_t begin;

	put(head, 8, 4, 1);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		/* no CRC, so that a byte may be changed */
		reconnect(self, 0, 0);
		begin = build(self, CLIENT, LAST, PKT_RDMAP_SEND, head, sizeof(head), 8);
		s->b[begin + 2] = LAST | all[i].ddp;
		s->b[begin + 3] = (uint8_t)(all[i].rdmap << 6 | PKT_RDMAP_SEND);
		segment(self, CLIENT, begin, 0x10);
		EXPECT_STREQ(all[i].rule, self->rule) {
			TH_LOG("row %zu", i);
		}
	}
	reconnect(self, 0, 0);
	tagged(self, CLIENT, LAST, PKT_RDMAP_READ_REQUEST, STAG, PLACE, 28);
	EXPECT_BROKEN("iwarp-header");
	reconnect(self, 0, 0);
	untagged(self, CLIENT, LAST, PKT_RDMAP_READ_REQUEST, 1, 1, 0, 27);
	EXPECT_BROKEN("iwarp-header");
	/* nothing but two bytes */
	reconnect(self, 0, 0);
	fpdu(self, CLIENT, LAST, PKT_RDMAP_SEND, head, 0, 0);
	EXPECT_BROKEN("iwarp-header");
	/* not even those: an FPDU without a ULPDU */
	reconnect(self, 0, 0);
	memset(s->b + s->len, 0, 8);
	s->len += 8;
	segment(self, CLIENT, s->len - 8, 0x10);
	EXPECT_BROKEN("iwarp-header");
}

/* ddp-last: a READ request of more than one segment */
TEST_F(flow, read_request_goes_on)
{
	uint8_t head[16 + 28] = {};

	talk(self);
	put(head, 4, 4, 1);
	put(head, 8, 4, 2);
	put_read(head + 16, 100);
	fpdu(self, CLIENT, 0, PKT_RDMAP_READ_REQUEST, head, sizeof(head), 0);
	EXPECT_BROKEN("ddp-last");
}

/* ddp-last: a Terminate of more than one segment */
TEST_F(flow, terminate_goes_on)
{
	talk(self);
	untagged(self, SERVER, 0, PKT_RDMAP_TERMINATE, 2, 1, 0, 4);
	EXPECT_BROKEN("ddp-last");
}

/* ddp-msn: the first Terminate is the second */
TEST_F(flow, terminate_msn)
{
	talk(self);
	untagged(self, SERVER, LAST, PKT_RDMAP_TERMINATE, 2, 2, 0, 4);
	EXPECT_BROKEN("ddp-msn");
}

/* ddp-last: a SEND begins, but the one before it has not ended */
TEST_F(flow, send_in_send)
{
	talk(self);
	untagged(self, CLIENT, 0, PKT_RDMAP_SEND, 0, 3, 0, 100);
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 4, 0, 8);
	EXPECT_BROKEN("ddp-last");
	EXPECT_EQ(6, self->messages);
	EXPECT_EQ(8, self->message[5].bytes);
}

/* RFC 7306: atomics ask on queue 1 and are answered on queue 3, immediate data has queue 0 */
TEST_F(flow, rfc7306)
{
	talk(self);
	for (uint32_t msn = 1; msn < 3; msn++) {
		untagged(self, CLIENT, LAST, PKT_RDMAP_ATOMIC_REQUEST, 1, msn + 1, 0, 52);
		untagged(self, SERVER, LAST, PKT_RDMAP_ATOMIC_RESPONSE, 3, msn, 0, 12);
		untagged(self, CLIENT, LAST, PKT_RDMAP_IMM, 0, msn + 2, 0, 8);
	}
	EXPECT_STREQ("", self->rule);
	untagged(self, SERVER, LAST, PKT_RDMAP_ATOMIC_RESPONSE, 2, 1, 0, 12);
	EXPECT_BROKEN("ddp-queue");
}

/* A SEND with Invalidate kills the key that it names; of a SEND these bits say nothing */
TEST_F(flow, invalidated)
{
	static const uint8_t sends[] = { PKT_RDMAP_SEND_INV, PKT_RDMAP_SEND_SE_INV };

	for (size_t i = 0; i < sizeof(sends); i++) {
		uint8_t head[16] = {};

		target(self, RTGT_ACCESS_READ | RTGT_ACCESS_WRITE);
		put(head, 0, 4, STAG);
		put(head, 8, 4, 2);
		fpdu(self, CLIENT, LAST, PKT_RDMAP_SEND, head, sizeof(head), 8);
		EXPECT_EQ(FLOW_GRANT_INSIDE, granted(self, STAG, PLACE));
		put(head, 0, 4, STAG + 1);
		put(head, 8, 4, 3);
		fpdu(self, CLIENT, LAST, sends[i], head, sizeof(head), 8);
		EXPECT_EQ(FLOW_GRANT_INSIDE, granted(self, STAG, PLACE));
		put(head, 0, 4, STAG);
		put(head, 8, 4, 4);
		fpdu(self, CLIENT, LAST, sends[i], head, sizeof(head), 8);
		EXPECT_EQ(FLOW_GRANT_DEAD, granted(self, STAG, PLACE));
	}
}

/* A list of extents may come in two segments, and two extents may have one key */
TEST_F(flow, extents)
{
	const struct {
		struct rtgt_msg msg;
		struct rtgt_extents_query query;
	} request = {
		.msg = { .version = RTGT_VERSION, .op = RTGT_MSG_EXTENTS, .tag = htobe32(9),
			 .len = htobe32(16) },
		.query.max = htobe32(3),
	};
	const struct {
		struct rtgt_msg msg;
		struct rtgt_extents head;
		struct rtgt_cap cap[4];
	} reply = {
		.msg = { .version = RTGT_VERSION, .op = RTGT_MSG_EXTENTS | RTGT_MSG_REPLY,
			 .tag = htobe32(9), .len = htobe32(16 + 4 * 20) },
		.head = { .size = htobe64(4096), .total = htobe32(3), .nr = htobe32(3) },
		.cap = {
			{ .addr = htobe64(PLACE + 8192), .rkey = htobe32(STAG),
			  .len = htobe64(100) },
			{ .addr = htobe64(PLACE), .rkey = htobe32(0x200), .len = htobe64(100) },
			{ .addr = htobe64(PLACE), .rkey = htobe32(0x300), .len = htobe64(100) },
			/* which the head does not count */
			{ .addr = htobe64(PLACE), .rkey = htobe32(0x400), .len = htobe64(100) },
		},
	};

	/* the list breaks within a key */
	for (size_t first = 16 + 16; first < sizeof(reply); first += 13) {
		uint8_t head[16 + sizeof(reply)] = {};

		target(self, RTGT_ACCESS_WRITE | RTGT_ACCESS_READ);
		say_nth(self, CLIENT, 2, &request, sizeof(request));
		put(head, 8, 4, 2);
		memcpy(head + 16, &reply, first);
		fpdu(self, SERVER, 0, PKT_RDMAP_SEND, head, 16 + first, 0);
		/* what the client says meanwhile ends no list */
		untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 3, 0, 8);
		put(head, 12, 4, first);
		memcpy(head + 16, (const uint8_t *)&reply + first, sizeof(reply) - first);
		fpdu(self, SERVER, LAST, PKT_RDMAP_SEND, head, 16 + sizeof(reply) - first, 0);
		EXPECT_EQ(FLOW_GRANT_INSIDE, granted(self, STAG, PLACE));
		EXPECT_EQ(FLOW_GRANT_INSIDE, granted(self, STAG, PLACE + 8192 + 92));
		EXPECT_EQ(FLOW_GRANT_INSIDE, granted(self, 0x200, PLACE + 92));
		EXPECT_EQ(FLOW_GRANT_INSIDE, granted(self, 0x300, PLACE + 92));
		EXPECT_STREQ("", self->rule);
		EXPECT_EQ(FLOW_GRANT_RANGE, granted(self, 0x300, PLACE + 93));
		EXPECT_EQ(FLOW_GRANT_KEY, granted(self, 0x400, PLACE));
	}
}

/* What a PULL names the server may READ, what a PUSH names it may WRITE, and both add up */
TEST_F(flow, pull_and_push)
{
	struct {
		struct rtgt_msg msg;
		struct rtgt_xfer xfer;
	} request = {
		.msg = { .version = RTGT_VERSION, .op = RTGT_MSG_PULL, .tag = htobe32(7),
			 .len = htobe32(sizeof(request.xfer)) },
		.xfer = { .addr = htobe64(PLACE), .rkey = htobe32(STAG), .len = htobe64(100) },
	};

	for (unsigned int push = 0; push < 2; push++) {
		target(self, RTGT_ACCESS_READ);
		request.msg.op = RTGT_MSG_PULL;
		request.xfer.len = htobe64(100);
		say_nth(self, CLIENT, 2, &request, sizeof(request));
		if (push) {
			request.msg.op = RTGT_MSG_PUSH;
			request.xfer.len = htobe64(50);
			say_nth(self, CLIENT, 3, &request, sizeof(request));
		}
		self->messages = 0;
		read_request(self, SERVER, 1, 100);
		tagged(self, CLIENT, LAST, PKT_RDMAP_READ_RESPONSE, 7, 0x40, 100);
		tagged(self, SERVER, LAST, PKT_RDMAP_WRITE, STAG, PLACE + 92, 8);
		EXPECT_STREQ("", self->rule);
		ASSERT_EQ(2, self->messages);
		EXPECT_EQ(FLOW_GRANT_CLAIMED, self->message[0].grant);
		EXPECT_EQ(push ? FLOW_GRANT_CLAIMED : FLOW_GRANT_RIGHT, self->message[1].grant);
	}
}

/* An access that breaks the rule capability does not break the rule stag as well */
TEST_F(flow, told_once)
{
	target(self, RTGT_ACCESS_WRITE);
	EXPECT_STREQ("capability ", self->rule);
	ask(self, 2);
	answer(self, 2);
	read_request(self, CLIENT, 2, 0);
	read_response(self, LAST, 0x40, 0);
	EXPECT_STREQ("capability ", self->rule);
}

TEST_HARNESS_MAIN
