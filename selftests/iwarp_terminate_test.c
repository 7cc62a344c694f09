// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * iwarp_terminate_test: what user/libwire makes of a Terminate: which message it ends, that nothing
 * follows it, and whether what it says is true of that message.
 */
#include "iwarp_flow.h"

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
	head[19] = 0xe0;	/* reserved, and says nothing */
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
	put_read(q + 18, size);
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

/* The first message of all may be refused */
TEST_F(flow, refused_first)
{
	uint8_t q[46];

	target(self, RTGT_ACCESS_READ);
	self->rule[0] = 0;
	refuse(self, 0x12, 1, 0xc0, quote_send(q, 1), 18);
	EXPECT_STREQ("terminate-reason ", self->rule);
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

/* A Terminate that names what its FPDU has: a wrong queue, a wrong place, a message cut off */
TEST_F(flow, refused_rightly)
{
	static const struct {
		uint32_t queue, mo;
		bool open;
		uint8_t code;
		const char *rule;
	} all[] = {
		{ 1, 0, false, 1, "ddp-queue " },
		{ 0, 4, false, 4, "ddp-offset " },
		/* of these the receiver may say what it likes */
		{ 0, 0, true, 1, "ddp-last " },
		{ 0, 0, true, 3, "ddp-last " },
		{ 0, 0, true, 4, "ddp-last " },
		/* what one has is not what another has */
		{ 0, 4, false, 1, "ddp-offset terminate-reason " },
		{ 1, 0, false, 4, "ddp-queue terminate-reason " },
	};
	uint8_t q[46];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		target(self, RTGT_ACCESS_READ | RTGT_ACCESS_WRITE);
		if (all[i].open)
			tagged(self, CLIENT, 0, PKT_RDMAP_WRITE, STAG, PLACE, 100);
		self->rule[0] = 0;
		untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, all[i].queue, 2, all[i].mo, 8);
		quote_send(q, 2);
		put(q, 6, 4, all[i].queue);
		put(q, 14, 4, all[i].mo);
		refuse(self, 0x12, all[i].code, 0xc0, q, 18);
		EXPECT_STREQ(all[i].rule, self->rule) {
			TH_LOG("row %zu", i);
		}
	}
}

/* RDMAP of version 0 may be refused, though it breaks no rule */
TEST_F(flow, refused_old_version)
{
	struct stream_bytes *s = &self->dir[CLIENT];
	uint8_t head[16] = {}, q[46];
	size_t begin;

	hang_up(self);
	for (int from = 0; from < 2; from++) {
		stream_begin(&self->dir[from], from ? "MPA ID Rep Frame" : "MPA ID Req Frame", 0,
			     false);
		memset(self->dir[from].b + 24, 0, 16);
		segment(self, from, 0, 0x10);
	}
	put(head, 8, 4, 1);
	begin = build(self, CLIENT, LAST, PKT_RDMAP_SEND, head, sizeof(head), 8);
	s->b[begin + 3] = PKT_RDMAP_SEND;
	segment(self, CLIENT, begin, 0x10);
	quote_send(q, 1);
	put(q, 0, 2, 0x4103);
	refuse(self, 0x02, 5, 0xc0, q, 18);
	EXPECT_STREQ("", self->rule);
}

/* CRCs are in use if one end wants them, so a Terminate may name a wrong one */
TEST_F(flow, refused_for_crc)
{
	for (int wants = 0; wants < 2; wants++) {
		hang_up(self);
		for (int from = 0; from < 2; from++) {
			stream_begin(&self->dir[from],
				     from ? "MPA ID Rep Frame" : "MPA ID Req Frame",
				     from == wants ? 0x40 : 0, false);
			memset(self->dir[from].b + 24, 0, 16);
			segment(self, from, 0, 0x10);
		}
		untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 1, 0, 8);
		refuse(self, 0x02, 2, 0, (const uint8_t *)"", 0);
		EXPECT_STREQ("", self->rule);
	}
}

/* siw quotes the length of a READ where its MSN should be; the sink tells which READ it is */
TEST_F(flow, refused_read_of_siw)
{
	static const struct { uint64_t sink; uint32_t size; const char *rule; } reads[] = {
		{ 0x40, 100, "terminate-reason " }, { 0x80, 5000, "" },
	};
	uint8_t head[16 + 28], q[46];

	for (unsigned int which = 0; which < 2; which++) {
		target(self, RTGT_ACCESS_READ);
		self->rule[0] = 0;
		self->messages = 0;
		for (unsigned int i = 0; i < 2; i++) {
			memset(head, 0, sizeof(head));
			put(head, 4, 4, 1);
			put(head, 8, 4, 2 + i);
			put_read(head + 16, reads[i].size);
			put(head, 20, 8, reads[i].sink);
			fpdu(self, CLIENT, LAST, PKT_RDMAP_READ_REQUEST, head, sizeof(head), 0);
		}
		/* bounds, of which the second one is guilty */
		quote_read(q, reads[which].size, reads[which].size);
		put(q, 22, 8, reads[which].sink);
		refuse(self, 0x10, 1, 7, q, 46);
		EXPECT_STREQ(reads[which].rule, self->rule);
		ASSERT_EQ(1, self->messages);
		EXPECT_EQ(FLOW_TERMINATED, self->message[0].status);
		EXPECT_EQ(reads[which].sink, self->message[0].sink_va);
	}
	/* where only DDP's header is quoted, it is the MSN that tells */
	target(self, RTGT_ACCESS_READ);
	self->rule[0] = 0;
	read_request(self, CLIENT, 2, 100);
	read_request(self, CLIENT, 3, 200);
	self->messages = 0;
	refuse(self, 0x01, 1, 0xc0, quote_read(q, 3, 200), 18);
	EXPECT_STREQ("terminate-reason ", self->rule);
	ASSERT_EQ(1, self->messages);
	EXPECT_EQ(200, self->message[0].bytes);
}

/* terminate-reason: any segment of a WRITE may be quoted */
TEST_F(flow, refused_segment)
{
	uint8_t q[46];

	target(self, RTGT_ACCESS_READ | RTGT_ACCESS_WRITE);
	self->rule[0] = 0;
	tagged(self, CLIENT, 0, PKT_RDMAP_WRITE, STAG, PLACE, 100);
	tagged(self, CLIENT, LAST, PKT_RDMAP_WRITE, STAG, PLACE + 100, 100);
	refuse(self, 0x11, 1, 0xc0, quote_write(q, STAG, PLACE + 100), 14);
	EXPECT_STREQ("terminate-reason ", self->rule);
}

/* Segments in the wrong order leave nothing behind: the message is known that is refused */
TEST_F(flow, refused_after_disorder)
{
	uint8_t head[12], q[46];
	size_t begin, middle, end;

	target(self, RTGT_ACCESS_READ | RTGT_ACCESS_WRITE);
	self->rule[0] = 0;
	put(head, 0, 4, STAG);
	put(head, 4, 8, PLACE);
	begin = build(self, CLIENT, TAGGED | LAST, PKT_RDMAP_WRITE, head, sizeof(head), 100);
	middle = self->dir[CLIENT].len;
	build(self, CLIENT, TAGGED | LAST, PKT_RDMAP_WRITE, head, sizeof(head), 100);
	end = self->dir[CLIENT].len;
	segment(self, CLIENT, middle, 0x10);
	self->dir[CLIENT].len = middle;
	segment(self, CLIENT, begin, 0x10);
	self->dir[CLIENT].len = end;
	refuse(self, 0x11, 1, 0xc0, quote_write(q, STAG, PLACE), 14);
	EXPECT_STREQ("terminate-reason ", self->rule);
}

/* A client refuses a response: the READ was inside, but nobody knows the client's own memory */
TEST_F(flow, refused_response)
{
	uint8_t head[16 + 4 + 2 + 14] = {};

	target(self, RTGT_ACCESS_READ);
	self->rule[0] = 0;
	put(head, 4, 4, 2);
	put(head, 8, 4, 1);
	head[16] = 0x11;
	head[17] = 1;
	head[18] = 0xc0;
	put(head, 20, 2, 14);
	put(head, 22, 2, 0xc142);
	put(head, 24, 4, 7);
	put(head, 28, 8, 0x40);
	fpdu(self, CLIENT, LAST, PKT_RDMAP_TERMINATE, head, sizeof(head), 0);
	EXPECT_STREQ("", self->rule);
}

/* Of all that was sent, the one that is quoted is refused; what is on its way changes nothing */
TEST_F(flow, refused_among_others)
{
	uint64_t packet, terminate;
	uint8_t q[46];

	talk(self);
	read_request(self, CLIENT, 2, 100);
	tagged(self, CLIENT, LAST, PKT_RDMAP_WRITE, STAG, PLACE, 100);
	packet = self->number;
	tagged(self, CLIENT, LAST, PKT_RDMAP_WRITE, STAG + 1, PLACE, 100);
	ASSERT_EQ(7, self->messages);
	refuse(self, 0x11, 0, 0xc0, quote_write(q, STAG, PLACE), 14);
	terminate = self->number;
	EXPECT_EQ(7, self->messages);
	flow_end(self->f);
	ASSERT_EQ(8, self->messages);
	EXPECT_EQ(FLOW_READ, self->message[7].op);
	EXPECT_EQ(FLOW_UNANSWERED, self->message[7].status);
	EXPECT_EQ(terminate, self->conn.terminate);
	EXPECT_EQ(packet, self->conn.terminated);
	EXPECT_EQ(3, self->conn.steps);
	EXPECT_STREQ("", self->rule);
}

/* The rest of a WRITE that is refused is on its way already */
TEST_F(flow, refused_early_rest)
{
	uint64_t packet;
	uint8_t q[46];

	talk(self);
	tagged(self, CLIENT, 0, PKT_RDMAP_WRITE, 0x999, PLACE, 100);
	packet = self->number;
	refuse(self, 0x11, 0, 0xc0, quote_write(q, 0x999, PLACE), 14);
	ASSERT_EQ(6, self->messages);
	tagged(self, CLIENT, LAST, PKT_RDMAP_WRITE, 0x999, PLACE + 100, 8);
	flow_end(self->f);
	EXPECT_EQ(6, self->messages);
	EXPECT_EQ(FLOW_TERMINATED, self->message[5].status);
	EXPECT_EQ(packet, self->conn.terminated);
	EXPECT_STREQ("", self->rule);
}

/* "Invalid STag" that refuses a message which is not in the capture */
TEST_F(flow, refused_unknown_stag)
{
	uint8_t q[46];

	talk(self);
	refuse(self, 0x11, 0, 0xc0, quote_write(q, 0x999, PLACE), 14);
	EXPECT_STREQ("", self->rule);
}

/* A device without RFC 7306 may call immediate data, and atomics, unexpected */
TEST_F(flow, refused_rfc7306)
{
	uint8_t q[46];

	talk(self);
	untagged(self, CLIENT, LAST, PKT_RDMAP_IMM, 0, 3, 0, 8);
	quote_send(q, 3);
	put(q, 0, 2, 0x4148);
	refuse(self, 0x02, 6, 0xc0, q, 18);
	EXPECT_STREQ("", self->rule);
}

/* The rest of a WRITE that is refused, while a READ before it is open: it ends once */
TEST_F(flow, refused_ends_once)
{
	uint8_t q[46];

	talk(self);
	read_request(self, CLIENT, 2, 100);
	tagged(self, CLIENT, 0, PKT_RDMAP_WRITE, 0x999, PLACE, 100);
	refuse(self, 0x11, 0, 0xc0, quote_write(q, 0x999, PLACE), 14);
	ASSERT_EQ(6, self->messages);
	tagged(self, CLIENT, LAST, PKT_RDMAP_WRITE, 0x999, PLACE + 100, 8);
	EXPECT_EQ(6, self->messages);
}

TEST_HARNESS_MAIN
