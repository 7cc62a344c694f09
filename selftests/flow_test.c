// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * flow_test: user/libwire/flow*.c and rules.c, under the address and the undefined
 * behaviour sanitizer: what is sent again, answered and refused on a reliable connection, in
 * conversations that captures of ours seldom hold.
 *
 * The comment above a test is its description in run.sh --list.
 */
#include <rtgt/proto.h>

#include "roce_flow.h"

/* A connection from REQ to DREP, PSNs that wrap: all answered, nothing broken */
TEST_F(flow, whole)
{
	up(self);
	for (unsigned int i = 0; i < 3; i++)
		write_packet(self, PSN_C + i, 2500, i);
	ack(self, PSN_C + 2, ACK_OK, 1);
	write_packet(self, PSN_C + 3, 5, 0);
	ack(self, PSN_C + 3, ACK_OK, 2);
	down(self);
	flow_end(self->f);
	EXPECT_STREQ("", self->rules);
	EXPECT_EQ(2, self->ok);
	EXPECT_EQ(1, self->connections);
	EXPECT_FALSE(self->conn.guessed);
	EXPECT_EQ(5, self->conn.steps);
	EXPECT_EQ(2505, self->conn.half[0].op_bytes[FLOW_WRITE]);
}

/* One ACK answers all before it */
TEST_F(flow, coalesced)
{
	up(self);
	for (unsigned int i = 0; i < 5; i++)
		write_packet(self, PSN_C + i, 8, 0);
	ack(self, PSN_C + 4, ACK_OK, 5);
	EXPECT_EQ(5, self->ok);
	EXPECT_STREQ("", self->rules);
}

/* A packet lost in front of the capture: gap, NAK, all sent again */
TEST_F(flow, lost_before)
{
	up(self);
	write_packet(self, PSN_C, 4000, 0);
	for (unsigned int i = 2; i < 4; i++) {
		write_packet(self, PSN_C + i, 4000, i);
		EXPECT_EQ(FLOW_BEYOND, self->seen.class);
	}
	ack(self, PSN_C + 1, NAK_SEQ, 0);
	for (unsigned int i = 1; i < 4; i++)
		write_packet(self, PSN_C + i, 4000, i);
	EXPECT_EQ(FLOW_RETRANSMITTED, self->seen.class);
	ack(self, PSN_C + 3, ACK_OK, 1);
	EXPECT_EQ(1, self->ok);
	EXPECT_EQ(4000, self->last.bytes);
	EXPECT_STREQ("", self->rules);
}

/* UC: the beginning of a message is lost: one gap, whatever is left of it */
TEST_F(flow, lost_first)
{
	static const uint8_t op[] = {
		PKT_WRITE_ONLY, PKT_WRITE_FIRST, PKT_WRITE_MIDDLE, PKT_WRITE_LAST, PKT_WRITE_ONLY
	};

	up(self);
	for (unsigned int i = 0; i < 5; i++) {
		if (op[i] == PKT_WRITE_FIRST)
			continue;
		bth(self, 0, PKT_UC | op[i], PSN_C + i, 8)->dma_len = 8;
		give(self);
	}
	EXPECT_EQ(1, flow_totals(self->f)->gaps);
}

/* A packet lost behind the capture: no gap here, but a NAK, and sent again */
TEST_F(flow, lost_behind)
{
	up(self);
	for (unsigned int i = 0; i < 3; i++)
		write_packet(self, PSN_C + i, 3000, i);
	ack(self, PSN_C + 1, NAK_SEQ, 0);
	for (unsigned int i = 1; i < 3; i++)
		write_packet(self, PSN_C + i, 3000, i);
	EXPECT_EQ(FLOW_RETRANSMITTED, self->seen.class);
	ack(self, PSN_C + 2, ACK_OK, 1);
	EXPECT_EQ(2, self->last.retransmitted);
	EXPECT_EQ(3, self->last.needed);
	EXPECT_EQ(5, self->last.sent);
	EXPECT_STREQ("", self->rules);
}

/* A missing packet that is answered is named by the one behind it */
TEST_F(flow, never_sent)
{
	up(self);
	write_packet(self, PSN_C, 3000, 0);
	write_packet(self, PSN_C + 2, 3000, 2);
	ack(self, PSN_C + 2, ACK_OK, 1);
	EXPECT_STREQ("psn-continuity@5 ", self->rules);
	/* and then it goes on */
	write_packet(self, PSN_C + 3, 8, 0);
	ack(self, PSN_C + 3, ACK_OK, 2);
	EXPECT_EQ(1, self->broken);
	EXPECT_EQ(1, self->ok);
}

/* Not ready, asked again, done */
TEST_F(flow, not_ready)
{
	up(self);
	write_packet(self, PSN_C, 8, 0);
	ack(self, PSN_C, RNR, 0);
	write_packet(self, PSN_C, 8, 0);
	ack(self, PSN_C, ACK_OK, 1);
	EXPECT_EQ(1, self->ok);
	EXPECT_EQ(1, self->last.rnr);
	EXPECT_STREQ("", self->rules);
}

/* A refusal ends its message; what is answered behind it breaks a rule, once */
TEST_F(flow, refused)
{
	up(self);
	for (unsigned int i = 0; i < 4; i++)
		write_packet(self, PSN_C + i, 8, 0);
	ack(self, PSN_C, NAK_REM_ACCESS, 0);
	EXPECT_EQ(1, self->naks);
	EXPECT_STREQ("", self->rules);
	ack(self, PSN_C + 1, ACK_OK, 2);
	ack(self, PSN_C + 2, ACK_OK, 3);
	EXPECT_STREQ("after-nak@9 ", self->rules);
	flow_end(self->f);
	EXPECT_EQ(1, self->unanswered);
}

/* A refusal may overtake the rest of what is refused, but nothing else */
TEST_F(flow, refused_early)
{
	up(self);
	write_packet(self, PSN_C, 3 * MTU, 0);
	ack(self, PSN_C, NAK_REM_ACCESS, 0);
	write_packet(self, PSN_C + 1, 3 * MTU, 1);
	write_packet(self, PSN_C + 2, 3 * MTU, 2);
	EXPECT_STREQ("", self->rules);
	EXPECT_EQ(1, self->naks);
	write_packet(self, PSN_C + 3, 8, 0);
	write_packet(self, PSN_C + 4, 3 * MTU, 2);
	EXPECT_STREQ("opcode-sequence@9 ", self->rules);
}

/* What was whole when it was refused has no rest */
TEST_F(flow, refused_whole)
{
	up(self);
	write_packet(self, PSN_C, 8, 0);
	ack(self, PSN_C, NAK_REM_ACCESS, 0);
	write_packet(self, PSN_C + 1, 3 * MTU, 2);
	EXPECT_STREQ("opcode-sequence@6 ", self->rules);
}

/* The MSN: wrong once, then right; and a QP that began again from 0 */
TEST_F(flow, msn)
{
	up(self);
	write_packet(self, PSN_C, 8, 0);
	ack(self, PSN_C, ACK_OK, 9);
	EXPECT_STREQ("msn@5 ", self->rules);
	write_packet(self, PSN_C + 1, 8, 0);
	ack(self, PSN_C + 1, ACK_OK, 2);
	write_packet(self, PSN_C + 2, 8, 0);
	ack(self, PSN_C + 2, ACK_OK, 1);
	write_packet(self, PSN_C + 3, 8, 0);
	ack(self, PSN_C + 3, ACK_OK, 2);
	EXPECT_EQ(1, self->broken);
	EXPECT_EQ(1, flow_totals(self->f)->deviations);
}

/* READ: data in pieces, counted once; a WRITE behind it is answered only after */
TEST_F(flow, read)
{
	up(self);
	read_request(self, PSN_C, 2500);
	write_packet(self, PSN_C + 3, 8, 0);
	read_data(self, PKT_READ_FIRST, PSN_C, MTU, 1);
	read_data(self, PKT_READ_MIDDLE, PSN_C + 1, MTU, 0);
	read_data(self, PKT_READ_LAST, PSN_C + 2, 452, 1);
	EXPECT_EQ(FLOW_READ, self->last.op);
	EXPECT_EQ(4, self->last.needed);
	EXPECT_EQ(4, self->last.sent);
	ack(self, PSN_C + 3, ACK_OK, 2);
	EXPECT_EQ(2, self->ok);
	EXPECT_STREQ("", self->rules);
}

/* READ: data lost and asked for again from the middle, as rxe does it */
TEST_F(flow, read_again)
{
	up(self);
	read_request(self, PSN_C, 2500);
	read_data(self, PKT_READ_FIRST, PSN_C, MTU, 1);
	read_data(self, PKT_READ_LAST, PSN_C + 2, 452, 1);
	EXPECT_EQ(FLOW_BEYOND, self->seen.class);
	read_request(self, PSN_C + 1, 1476);
	EXPECT_EQ(FLOW_RETRANSMITTED, self->seen.class);
	read_data(self, PKT_READ_MIDDLE, PSN_C + 1, MTU, 0);
	read_data(self, PKT_READ_LAST, PSN_C + 2, 452, 1);
	EXPECT_EQ(1, self->ok);
	EXPECT_STREQ("", self->rules);
	EXPECT_EQ(1, flow_totals(self->f)->deviations);
}

/* The same as the specification has it: what is requested again has a First, or an Only */
TEST_F(flow, read_again_first)
{
	up(self);
	read_request(self, PSN_C, 2500);
	read_data(self, PKT_READ_FIRST, PSN_C, MTU, 1);
	read_data(self, PKT_READ_LAST, PSN_C + 2, 452, 1);
	read_request(self, PSN_C + 1, 1476);
	read_data(self, PKT_READ_FIRST, PSN_C + 1, MTU, 1);
	read_request(self, PSN_C + 2, 452);
	read_data(self, PKT_READ_ONLY, PSN_C + 2, 452, 1);
	EXPECT_EQ(1, self->ok);
	EXPECT_STREQ("", self->rules);
	EXPECT_EQ(0, flow_totals(self->f)->deviations);
	/* where nobody is seen to request it again, the capture may lack that */
	self->f->complete = false;
	read_request(self, PSN_C + 3, 2500);
	read_data(self, PKT_READ_FIRST, PSN_C + 3, MTU, 2);
	read_data(self, PKT_READ_FIRST, PSN_C + 4, MTU, 2);
	EXPECT_STREQ("", self->rules);
	EXPECT_EQ(1, self->doubtful);
	/* a Middle where the last packet has to be is wrong in any case */
	read_data(self, PKT_READ_MIDDLE, PSN_C + 5, 452, 2);
	EXPECT_STREQ("read-sequence@14 ", self->rules);
}

/* rxe counts a SEND with Invalidate one message later; that, and no more, is accepted */
TEST_F(flow, invalidation_msn)
{
	for (unsigned int msn = 0; msn < 3; msn++) {
		self->rules[0] = '\0';
		self->number = 0;
		up(self);
		bth(self, 0, PKT_SEND_ONLY_INV, PSN_C, 64);
		give(self);
		ack(self, PSN_C, ACK_OK, msn);
		EXPECT_STREQ(msn < 2 ? "" : "msn@5 ", self->rules);
		down(self);
	}
	EXPECT_EQ(1, flow_totals(self->f)->deviations);
}

/* The server has advertised 1 MiB with the key of our requests */
static void advertised(FIXTURE_DATA(flow) * self)
{
	struct flow_half *h = &self->seen.conn->half[1];

	h->cap = calloc(8, sizeof(*h->cap));
	h->caps_room = 8;
	h->caps = 1;
	h->cap[0] = (struct flow_cap) { .addr = 0x1000, .len = 1 << 20, .rkey = 0x42,
					.access = UINT32_MAX, .source = 'r' };
}

/* nak-invalid: a request of which all is right; and it may be one READ more than there may be */
TEST_F(flow, nak_invalid)
{
	for (unsigned int reads = 4; reads <= 5; reads++) {
		self->rules[0] = '\0';
		up(self);
		advertised(self);
		for (unsigned int i = 0; i < reads; i++)
			read_request(self, PSN_C + i, 8);
		EXPECT_EQ(reads, self->seen.msg->outstanding);
		for (unsigned int i = 0; i + 1 < reads; i++)
			read_data(self, PKT_READ_ONLY, PSN_C + i, 8, i + 1);
		ack(self, PSN_C + reads - 1, NAK_REM_INVALID, reads - 1);
		EXPECT_STREQ(reads == 4 ? "nak-invalid@11 " : "", self->rules);
		down(self);
		self->number = 0;
	}
}

/* A request that breaks a rule is invalid, also if nobody wants to hear of that rule */
TEST_F(flow, nak_of_invalid)
{
	struct pkt *p;

	ASSERT_TRUE(flow_ignore(self->f, "length"));
	up(self);
	advertised(self);
	p = bth(self, 0, PKT_WRITE_ONLY, PSN_C, 50);
	p->dma_len = 100;
	p->va = 0x1000;
	p->rkey = 0x42;
	give(self);
	ack(self, PSN_C, NAK_REM_INVALID, 0);
	EXPECT_EQ(FLOW_GRANT_INSIDE, self->last.grant);
	EXPECT_STREQ("", self->rules);
}

/* What another request cut off is not done, so the MSN does not count it */
TEST_F(flow, cut_off)
{
	up(self);
	advertised(self);
	write_packet(self, PSN_C, 2 * MTU, 0);
	write_packet(self, PSN_C + 1, 100, 0);
	EXPECT_STREQ("opcode-sequence@5 ", self->rules);
	ack(self, PSN_C + 1, NAK_REM_INVALID, 0);
	EXPECT_EQ(1, self->broken);
}

/* The ACK of a later message answers a SEND with Invalidate, too, and then the key is dead */
TEST_F(flow, invalidated)
{
	up(self);
	advertised(self);
	bth(self, 0, PKT_SEND_ONLY_INV, PSN_C, 16)->inv_rkey = 0x42;
	give(self);
	bth(self, 0, PKT_SEND_ONLY, PSN_C + 1, 16);
	give(self);
	ack(self, PSN_C + 1, ACK_OK, 2);
	EXPECT_EQ(2, self->ok);
	write_packet(self, PSN_C + 2, 8, 0);
	EXPECT_EQ(FLOW_GRANT_DEAD, self->seen.msg->grant);
}

/* capability: a key is dead with the ACK of the SEND that invalidates it, and is served */
TEST_F(flow, served_with_dead_key)
{
	up(self);
	advertised(self);
	bth(self, 0, PKT_SEND_ONLY_INV, PSN_C, 8)->inv_rkey = 0x42;
	give(self);
	write_packet(self, PSN_C + 1, 8, 0);
	EXPECT_EQ(FLOW_GRANT_UNCERTAIN, self->seen.msg->grant);
	ack(self, PSN_C, ACK_OK, 1);
	write_packet(self, PSN_C + 2, 8, 0);
	EXPECT_EQ(FLOW_GRANT_DEAD, self->seen.msg->grant);
	ack(self, PSN_C + 2, ACK_OK, 3);
	EXPECT_STREQ("capability@7 ", self->rules);
}

/* A client's SEND of 16 bytes */
static void say(FIXTURE_DATA(flow) * self, uint32_t psn, const void *bytes)
{
	bth(self, 0, PKT_SEND_ONLY, psn, 16)->data = bytes;
	give(self);
}

/* The server writes 8 bytes */
static enum flow_grant write_back(FIXTURE_DATA(flow) * self, uint32_t psn, uint64_t va)
{
	struct pkt *p = bth(self, 1, PKT_WRITE_ONLY, psn, 8);

	p->va = va;
	p->rkey = 0x42;
	p->dma_len = 8;
	give(self);
	return self->seen.msg->grant;
}

/* Whether 16 bytes are rping's advertisement, an access inside of it shows, and nothing else */
TEST_F(flow, not_rping)
{
	const struct { uint64_t addr; uint32_t rkey, size; } info = {
		htobe64(0x1000), htobe32(0x42), htobe32(100),
	};
	const uint64_t other[] = { 0x1000, 0x800000042 };

	up(self);
	say(self, PSN_C, other);
	EXPECT_EQ(FLOW_GRANT_UNKNOWN, write_back(self, PSN_S, 0x1000));
	say(self, PSN_C + 1, &info);
	EXPECT_EQ(FLOW_GRANT_UNKNOWN, write_back(self, PSN_S + 1, 0x1060));
	EXPECT_EQ(FLOW_GRANT_CLAIMED, write_back(self, PSN_S + 2, 0x1000));
	EXPECT_EQ(FLOW_GRANT_RANGE, write_back(self, PSN_S + 3, 0x1060));
}

static void ask(FIXTURE_DATA(flow) * self, bool read)
{
	if (read) {
		read_request(self, PSN_C, 2500);
		return;
	}
	bth(self, 0, PKT_FETCH_ADD, PSN_C, 0)->va = 0x1000;
	give(self);
}

/* read-continuity: a READ or an atomic has no response, and a later message has one */
TEST_F(flow, never_asked_again)
{
	for (unsigned int i = 0; i < 4; i++) {
		const bool read = i & 1;

		self->rules[0] = '\0';
		self->number = 0;
		up(self);
		ask(self, read);
		write_packet(self, PSN_C + (read ? 3 : 1), 8, 0);
		ack(self, PSN_C + (read ? 3 : 1), ACK_OK, 2);
		EXPECT_EQ(1, self->seen.conn->half[0].gaps);
		if (i >= 2)
			ask(self, read);
		down(self);
		/* the DREQ says that its answer comes no more */
		EXPECT_TRUE(flow_is_lost(self->seen.conn, self->seen.conn->half[0].msg, self->ns));
		/* another connection ends this one */
		up(self);
		EXPECT_STREQ(i < 2 ? "read-continuity@6 " : "", self->rules);
	}
}

/* A FLUSH that comes again with another type */
TEST_F(flow, flushed)
{
	static uint8_t feth[4];

	up(self);
	for (unsigned int i = 0; i < 3; i++) {
		struct pkt *p = bth(self, 0, PKT_FLUSH, PSN_C, 0);

		p->data = feth;
		p->at[PKT_FETH].len = 4;
		feth[3] = i < 2 ? 1 : 2;
		give(self);
		EXPECT_STREQ(i < 2 ? "" : "repeat@6 ", self->rules);
	}
}

/* A capture may lack packets: then what is missing breaks no rule, and what is there still may */
TEST_F(flow, doubtful)
{
	self->f->complete = false;
	up(self);
	write_packet(self, PSN_C, 3000, 0);
	write_packet(self, PSN_C + 2, 3000, 2);
	ack(self, PSN_C + 2, ACK_OK, 1);
	EXPECT_EQ(1, self->doubtful);
	/* the MSN counts what is missing */
	write_packet(self, PSN_C + 3, 8, 0);
	ack(self, PSN_C + 3, ACK_OK, 7);
	write_packet(self, PSN_C + 4, 8, 0);
	ack(self, PSN_C + 4, ACK_OK, 9);
	EXPECT_STREQ("", self->rules);
	self->p.pad = 2;
	write_packet(self, PSN_C + 5, 5000, 0);
	begin(self, 0)->opcode = PKT_WRITE_MIDDLE;
	self->p.qpn = 18;
	self->p.psn = (PSN_C + 6) & FLOW_PSN_MASK;
	self->p.at[PKT_PAYLOAD].len = 100;
	give(self);
	EXPECT_STREQ("length@12 ", self->rules);
}

/* Atomics carry no bytes, and their response answers them */
TEST_F(flow, atomics)
{
	up(self);
	for (unsigned int i = 0; i < 2; i++) {
		bth(self, 0, i ? PKT_FETCH_ADD : PKT_COMPARE_SWAP, PSN_C + i, 0)->va = 0x1000;
		give(self);
		bth(self, 1, PKT_ATOMIC_ACK, PSN_C + i, 0)->at[PKT_AETH].len = 4;
		self->p.msn = i + 1;
		give(self);
	}
	EXPECT_EQ(2, self->ok);
	EXPECT_EQ(8, self->last.bytes);
	/* a misaligned one has to be refused, and a payload is none of theirs */
	bth(self, 0, PKT_FETCH_ADD, PSN_C + 2, 8)->va = 0x1004;
	give(self);
	EXPECT_STREQ("length@8 ", self->rules);
	bth(self, 1, PKT_ATOMIC_ACK, PSN_C + 2, 0)->at[PKT_AETH].len = 4;
	self->p.msn = 3;
	give(self);
	EXPECT_STREQ("length@8 alignment@8 ", self->rules);
}

/* RNR: sent again too early; in time; and what crosses the refusal */
TEST_F(flow, rnr_timer)
{
	up(self);
	write_packet(self, PSN_C, 8, 0);
	self->ns -= 999000;
	/* 0.64 ms */
	ack(self, PSN_C, 0x20 | 12, 0);
	self->ns -= 800000;
	write_packet(self, PSN_C, 8, 0);
	EXPECT_STREQ("rnr-timer@6 ", self->rules);
	self->ns -= 999000;
	ack(self, PSN_C, 0x20 | 12, 0);
	write_packet(self, PSN_C, 8, 0);
	ack(self, PSN_C, 0x20 | 31, 0);
	self->ns += 4000000;
	write_packet(self, PSN_C, 8, 0);
	EXPECT_EQ(1, self->broken);
}

/* Sent again with another address, with other bytes; a packet of other bytes is one of "memory" */
TEST_F(flow, repeated)
{
	up(self);
	write_packet(self, PSN_C, 8, 0);
	write_packet(self, PSN_C, 8, 0);
	EXPECT_STREQ("", self->rules);
	bth(self, 0, PKT_WRITE_ONLY, PSN_C, 8)->dma_len = 8;
	self->p.va = 0x1008;
	self->p.rkey = 0x42;
	give(self);
	EXPECT_STREQ("repeat@6 ", self->rules);
	icrc_bytes[0] = 1;
	give(self);
	EXPECT_EQ(1, self->broken);
	EXPECT_TRUE(flow_profile(self->f, "memory"));
	EXPECT_FALSE(flow_profile(self->f, "memories"));
	icrc_bytes[0] = 0;
	self->p.ns += 200000;
	give(self);
	EXPECT_EQ(2, self->broken);
}

/* An atomic operation that is answered twice, with another value */
TEST_F(flow, replayed)
{
	up(self);
	for (unsigned int i = 0; i < 3; i++) {
		bth(self, 0, PKT_FETCH_ADD, PSN_C, 0)->va = 0x1000;
		give(self);
		bth(self, 1, PKT_ATOMIC_ACK, PSN_C, 0)->at[PKT_AETH].len = 4;
		self->p.orig = i / 2;
		self->p.syndrome = ACK_OK;
		self->p.msn = 1;
		give(self);
		EXPECT_STREQ(i < 2 ? "" : "atomic-replay@9 ", self->rules);
	}
	EXPECT_EQ(1, self->ok);
}

/* READ: data missing and not asked for again, and too much of it */
TEST_F(flow, read_wrong)
{
	up(self);
	read_request(self, PSN_C, 2500);
	read_data(self, PKT_READ_FIRST, PSN_C, MTU, 1);
	read_data(self, PKT_READ_LAST, PSN_C + 2, 452, 1);
	read_request(self, PSN_C + 3, 100);
	read_data(self, PKT_READ_ONLY, PSN_C + 3, 104, 2);
	EXPECT_STREQ("read-length@8 ", self->rules);
	flow_end(self->f);
	EXPECT_STREQ("read-length@8 read-continuity@6 ", self->rules);
}

/* Each operation has its right */
TEST_F(flow, rights)
{
	static const struct { uint8_t op; uint32_t right; } all[] = {
		{ PKT_WRITE_ONLY, RTGT_ACCESS_WRITE }, { PKT_READ_REQUEST, RTGT_ACCESS_READ },
		{ PKT_COMPARE_SWAP, RTGT_ACCESS_ATOMIC }, { PKT_FETCH_ADD, RTGT_ACCESS_ATOMIC },
		{ PKT_FLUSH, RTGT_ACCESS_FLUSH }, { PKT_ATOMIC_WRITE, RTGT_ACCESS_WRITE },
	};

	up(self);
	advertised(self);
	for (unsigned int i = 0; i < 2 * sizeof(all) / sizeof(all[0]); i++) {
		const uint32_t right = all[i / 2].right;
		struct pkt *p;

		self->seen.conn->half[1].cap[0].access = i & 1 ? ~right : right;
		p = bth(self, 0, all[i / 2].op, PSN_C + i, i / 2 == 0 || i / 2 == 5 ? 8 : 0);
		p->va = 0x1000;
		p->rkey = 0x42;
		p->dma_len = 8;
		give(self);
		EXPECT_EQ(i & 1 ? FLOW_GRANT_RIGHT : FLOW_GRANT_INSIDE, self->seen.msg->grant) {
			TH_LOG("row %u", i);
		}
	}
}

/* A connection to an rtgt target, whose REP has a key; @nth makes its numbers; 0: QPs 17 and 18 */
static void up_rtgt(FIXTURE_DATA(flow) * self, unsigned int nth, uint32_t rkey, uint32_t features)
{
	const struct rtgt_rep rep = {
		.cap = { .addr = htobe64(0x1000), .rkey = htobe32(rkey), .len = htobe64(4096) },
		.magic = htobe32(RTGT_MAGIC), .version = htobe16(RTGT_VERSION),
		.size = htobe16(sizeof(rep)), .features = htobe32(features),
		.access = htobe32(RTGT_ACCESS_READ), .nr_regions = htobe16(2),
		.recv_depth = htobe16(16), .recv_size = htobe32(4096),
		.more[0] = {
			.cap = { .addr = htobe64(0x9000), .rkey = htobe32(rkey + 0x100),
				 .len = htobe64(4096) },
			.access = htobe32(RTGT_ACCESS_WRITE),
		},
	};
	struct pkt *p;

	cm(self, 0, PKT_CM_REQ, 5 + 10 * nth, 0, 17 + 10 * nth, PSN_S);
	p = begin(self, 1);
	p->kind = PKT_ROCE_CM;
	p->at[PKT_CM].len = 100;
	p->attr = PKT_CM_REP;
	p->comm_id = 6 + 10 * nth;
	p->remote_comm_id = 5 + 10 * nth;
	p->cm_qpn = 18 + 10 * nth;
	p->cm_psn = PSN_C;
	p->data = (const uint8_t *)&rep;
	p->at[PKT_PRIVATE].len = sizeof(rep);
	give(self);
	cm(self, 0, PKT_CM_RTU, 5 + 10 * nth, 6 + 10 * nth, 0, 0);
}

/* The grant of a client's WRITE of 8 bytes on QPs 17 and 18 */
static enum flow_grant write_with(FIXTURE_DATA(flow) * self, uint32_t psn, uint32_t rkey,
				  uint64_t va)
{
	struct pkt *p = bth(self, 0, PKT_WRITE_ONLY, psn, 8);

	p->va = va;
	p->rkey = rkey;
	p->dma_len = 8;
	give(self);
	return self->seen.msg->grant;
}

/* Keys of a REP, with their rights; ports that are not private share theirs among connections */
TEST_F(flow, keys_of_rep)
{
	static const struct { uint32_t features[2]; enum flow_grant other; } all[] = {
		{ { 0, 0 }, FLOW_GRANT_UNCERTAIN },
		{ { RTGT_F_PRIVATE, RTGT_F_PRIVATE }, FLOW_GRANT_KEY },
		{ { RTGT_F_PRIVATE, 0 }, FLOW_GRANT_KEY },
		{ { 0, RTGT_F_PRIVATE }, FLOW_GRANT_KEY },
	};

	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		up_rtgt(self, 1 + i, 0x60 + i, all[i].features[0]);
		up_rtgt(self, 0, 0x42, all[i].features[1]);
		EXPECT_EQ(FLOW_GRANT_RIGHT, write_with(self, PSN_C, 0x42, 0x1000));
		EXPECT_EQ(FLOW_GRANT_INSIDE, write_with(self, PSN_C + 1, 0x142, 0x9ff8));
		EXPECT_EQ(FLOW_GRANT_RANGE, write_with(self, PSN_C + 2, 0x142, 0x9ff9));
		EXPECT_EQ(FLOW_GRANT_KEY, write_with(self, PSN_C + 3, 0x52, 0x1000));
		EXPECT_EQ(all[i].other, write_with(self, PSN_C + 4, 0x60 + i, 0x1000)) {
			TH_LOG("row %u", i);
		}
		down(self);
	}
}

/* Another connection invalidates a key of this one, which an rxe target lets it do */
TEST_F(flow, killed_by_another)
{
	up_rtgt(self, 1, 0x62, 0);
	up_rtgt(self, 0, 0x42, 0);
	bth(self, 0, PKT_SEND_ONLY_INV, PSN_C, 64)->inv_rkey = 0x142;
	self->p.qpn = 28;
	give(self);
	EXPECT_EQ(FLOW_GRANT_UNCERTAIN, write_with(self, PSN_C, 0x142, 0x9000));
	/* a key of before this connection is a new one */
	down(self);
	up_rtgt(self, 0, 0x42, 0);
	EXPECT_EQ(FLOW_GRANT_INSIDE, write_with(self, PSN_C, 0x142, 0x9000));
}

/* nak-reason: a key that was refused is served in another connection, for the same operation */
TEST_F(flow, refused_and_served)
{
	up(self);
	advertised(self);
	write_packet(self, PSN_C, 8, 0);
	ack(self, PSN_C, NAK_REM_ACCESS, 0);
	down(self);
	up(self);
	advertised(self);
	read_request(self, PSN_C, 8);
	read_data(self, PKT_READ_ONLY, PSN_C, 8, 1);
	EXPECT_STREQ("", self->rules);
	write_packet(self, PSN_C + 1, 8, 0);
	ack(self, PSN_C + 1, ACK_OK, 2);
	EXPECT_STREQ("nak-reason@5 ", self->rules);
	/* once */
	write_packet(self, PSN_C + 2, 8, 0);
	ack(self, PSN_C + 2, ACK_OK, 3);
	EXPECT_EQ(1, self->broken);
}

/* capability: the rule judges a server's access to client memory when the connection has ended */
TEST_F(flow, late)
{
	const struct { uint64_t addr; uint32_t rkey, size; } info = {
		htobe64(0x1000), htobe32(0x42), htobe32(100),
	};

	self->f->complete = false;
	for (unsigned int lacks = 0; lacks < 2; lacks++) {
		self->number = 0;
		up(self);
		say(self, PSN_C, &info);
		EXPECT_EQ(FLOW_GRANT_CLAIMED, write_back(self, PSN_S, 0x1000));
		EXPECT_EQ(FLOW_GRANT_RANGE, write_back(self, PSN_S + 1, 0x1060));
		EXPECT_EQ(FLOW_GRANT_RANGE, write_back(self, PSN_S + 2, 0x1060));
		bth(self, 0, PKT_ACK, PSN_S + 2, 0)->at[PKT_AETH].len = 4;
		self->p.syndrome = ACK_OK;
		self->p.msn = 3;
		give(self);
		EXPECT_EQ(lacks, self->broken);
		self->seen.conn->lacking = lacks;
		down(self);
		flow_end(self->f);
		/* the first of them */
		EXPECT_STREQ("capability@6 ", self->rules);
		EXPECT_EQ(1, self->broken);
		EXPECT_EQ(lacks, self->doubtful);
	}
}

/* Atomics have to be aligned, the atomic WRITE, too, and nothing else: a NAK of them is right */
TEST_F(flow, aligned)
{
	static const struct { uint8_t op, answer; uint32_t bytes; const char *rules; } all[] = {
		{ PKT_WRITE_ONLY, PKT_ACK, 8, "" },
		{ PKT_READ_REQUEST, PKT_READ_ONLY, 0, "" },
		{ PKT_ATOMIC_WRITE, PKT_READ_ONLY, 8, "alignment@4 " },
		{ PKT_COMPARE_SWAP, PKT_ATOMIC_ACK, 0, "alignment@4 " },
		{ PKT_FETCH_ADD, 0, 0, "" },
		{ PKT_ATOMIC_WRITE, 0, 8, "" },
		{ PKT_READ_REQUEST, 0, 0, "nak-invalid@5 " },
	};

	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct pkt *p;

		self->rules[0] = '\0';
		self->number = 0;
		up(self);
		advertised(self);
		p = bth(self, 0, all[i].op, PSN_C, all[i].bytes);
		p->va = 0x1004;
		p->rkey = 0x42;
		p->dma_len = 8;
		give(self);
		if (all[i].answer) {
			bth(self, 1, all[i].answer, PSN_C,
			    all[i].op == PKT_READ_REQUEST ? 8 : 0)->at[PKT_AETH].len = 4;
			self->p.syndrome = ACK_OK;
			self->p.msn = 1;
			give(self);
			EXPECT_EQ(FLOW_OK, self->last.status);
		} else {
			ack(self, PSN_C, NAK_REM_INVALID, 0);
			EXPECT_EQ(FLOW_NAK, self->last.status);
			EXPECT_EQ(FLOW_GRANT_INSIDE, self->last.grant);
		}
		EXPECT_STREQ(all[i].rules, self->rules) {
			TH_LOG("row %u", i);
		}
		down(self);
	}
}

/* What is wrong with a packet by itself: padding, size, how many there are */
TEST_F(flow, wrong_alone)
{
	const struct rule *r = rules_list();

	up(self);
	bth(self, 0, PKT_SEND_ONLY, PSN_C, 5)->pad = 2;
	give(self);
	bth(self, 0, PKT_SEND_ONLY, PSN_C + 1, 8)->pad = 1;
	give(self);
	EXPECT_STREQ("pad@4 pad@5 ", self->rules);
	self->rules[0] = '\0';
	bth(self, 0, PKT_SEND_ONLY, PSN_C + 2, MTU + 4);
	give(self);
	bth(self, 0, PKT_SEND_FIRST, PSN_C + 3, MTU);
	give(self);
	bth(self, 0, PKT_SEND_LAST, PSN_C + 4, 0);
	give(self);
	EXPECT_STREQ("length@6 length@8 ", self->rules);
	self->rules[0] = '\0';
	bth(self, 0, PKT_WRITE_ONLY, PSN_C + 5, MTU)->dma_len = 2 * MTU;
	give(self);
	bth(self, 0, PKT_WRITE_FIRST, PSN_C + 6, MTU)->dma_len = MTU;
	give(self);
	EXPECT_STREQ("segments@9 segments@10 ", self->rules);
	self->rules[0] = '\0';
	/* the WRITE has not ended */
	read_request(self, PSN_C + 7, 5);
	EXPECT_STREQ("opcode-sequence@11 ", self->rules);
	bth(self, 1, PKT_READ_ONLY, PSN_C + 7, 5)->pad = 0;
	self->p.at[PKT_AETH].len = 4;
	self->p.msn = 6;
	give(self);
	EXPECT_STREQ("opcode-sequence@11 read-pad@12 ", self->rules);
	while (strcmp(r->name, "read-pad"))
		r++;
	EXPECT_EQ(1, flow_applied(self->f, r));
}

/* ackreq, of the profile "rxe": the last packet of a SEND or WRITE, and of nothing else */
TEST_F(flow, ackreq)
{
	static const struct { uint8_t op; uint32_t payload, bytes; } all[] = {
		{ PKT_SEND_FIRST, MTU, 0 }, { PKT_SEND_LAST, 8, 0 }, { PKT_WRITE_ONLY, 8, 8 },
		{ PKT_READ_REQUEST, 0, 8 }, { PKT_FETCH_ADD, 0, 8 },
	};

	ASSERT_TRUE(flow_profile(self->f, "rxe"));
	up(self);
	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		bth(self, 0, all[i].op, PSN_C + i, all[i].payload)->dma_len = all[i].bytes;
		self->p.ackreq = false;
		give(self);
	}
	EXPECT_STREQ("ackreq@5 ackreq@6 ", self->rules);
	/* it is no rule of the specification's, so nothing is wrong with the message */
	EXPECT_FALSE(self->seen.conn->half[0].msg[0].wrong);
	/* with a request for an acknowledgment, and of UC, all is well */
	write_packet(self, PSN_C + 5, 8, 0);
	EXPECT_EQ(2, self->broken);
	down(self);
	up(self);
	bth(self, 0, PKT_UC | PKT_SEND_ONLY, PSN_C, 8)->ackreq = false;
	give(self);
	EXPECT_EQ(2, self->broken);
}

TEST_HARNESS_MAIN
