// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * flow_rules_test: what breaks the rules of a connection, beside what only looks so: lengths,
 * sequences of PSNs and opcodes, what comes again, MSNs.
 */
#include "roce_flow.h"

/* A READ that is refused when its answer has begun was counted then */
TEST_F(flow, read_refused_late)
{
	up(self);
	read_request(self, PSN_C, 2500);
	read_data(self, PKT_READ_FIRST, PSN_C, MTU, 1);
	ack(self, PSN_C + 1, NAK_REM_ACCESS, 1);
	EXPECT_STREQ("", self->rules);
}

/* segments: a WRITE of as many packets as it takes, of one less, and of one more */
TEST_F(flow, segments)
{
	up(self);
	for (unsigned int i = 0; i < 2; i++)
		write_packet(self, PSN_C + i, 2 * MTU, i);
	ack(self, PSN_C + 1, ACK_OK, 1);
	EXPECT_STREQ("", self->rules);
	bth(self, 0, PKT_WRITE_ONLY, PSN_C + 2, MTU)->dma_len = 2 * MTU;
	give(self);
	EXPECT_STREQ("segments@7 ", self->rules);
	write_packet(self, PSN_C + 3, 2 * MTU, 0);
	bth(self, 0, PKT_WRITE_MIDDLE, PSN_C + 4, MTU);
	give(self);
	EXPECT_STREQ("segments@7 segments@9 ", self->rules);
}

/* psn-continuity: a NAK may have the next PSN, but no later one; an ACK may not have it */
TEST_F(flow, not_sent)
{
	up(self);
	write_packet(self, PSN_C, 8, 0);
	ack(self, PSN_C + 1, NAK_SEQ, 1);
	EXPECT_EQ(1, self->ok);
	EXPECT_STREQ("", self->rules);
	ack(self, PSN_C + 1, ACK_OK, 2);
	EXPECT_STREQ("psn-continuity@6 ", self->rules);
	/* the requester goes on with the PSN behind it; the earlier requests have been answered */
	write_packet(self, PSN_C + 2, 8, 0);
	EXPECT_EQ(FLOW_NEW, self->seen.class);
	ack(self, PSN_C + 4, NAK_SEQ, 3);
	EXPECT_STREQ("psn-continuity@6 psn-continuity@8 ", self->rules);
	EXPECT_EQ(2, self->ok);
	EXPECT_EQ(0, self->incomplete);
}

/* A packet of which the capture has the headers only has the length that it had on the wire */
TEST_F(flow, cut_short)
{
	up(self);
	for (unsigned int i = 0; i < 2; i++) {
		struct pkt *p = bth(self, 0, PKT_WRITE_ONLY, PSN_C + i, 8);

		p->fault = PKT_CUT;
		p->at[PKT_RETH].len = 16;
		p->dma_len = 100;
		p->payload = i ? 96 : 100;
		give(self);
		EXPECT_EQ(FLOW_NEW, self->seen.class);
		EXPECT_STREQ(i ? "length@5 " : "", self->rules);
	}
}

/* length: the path MTU is that of the REQ, even if a First has another length */
TEST_F(flow, other_mtu)
{
	up(self);
	bth(self, 0, PKT_WRITE_FIRST, PSN_C, MTU / 2)->dma_len = MTU + 8;
	give(self);
	EXPECT_STREQ("length@4 ", self->rules);
	bth(self, 0, PKT_WRITE_LAST, PSN_C + 1, 8);
	give(self);
	bth(self, 0, PKT_SEND_FIRST, PSN_C + 2, MTU / 2);
	give(self);
	EXPECT_STREQ("length@4 length@6 ", self->rules);
	EXPECT_EQ(MTU, self->seen.conn->mtu);
}

/* opcode-sequence: a packet goes on with a message of another operation, open or refused */
TEST_F(flow, other_operation)
{
	up(self);
	bth(self, 0, PKT_SEND_FIRST, PSN_C, MTU);
	give(self);
	bth(self, 0, PKT_WRITE_LAST, PSN_C + 1, 8);
	give(self);
	EXPECT_STREQ("opcode-sequence@5 ", self->rules);
	bth(self, 0, PKT_SEND_LAST, PSN_C + 2, 8);
	give(self);
	ack(self, PSN_C + 2, ACK_OK, 1);
	write_packet(self, PSN_C + 3, 3 * MTU, 0);
	ack(self, PSN_C + 3, NAK_REM_ACCESS, 1);
	bth(self, 0, PKT_SEND_LAST, PSN_C + 4, 8);
	give(self);
	EXPECT_STREQ("opcode-sequence@5 opcode-sequence@10 ", self->rules);
}

/* repeat: a request that is sent again must have the same operands */
TEST_F(flow, operands)
{
	for (unsigned int i = 0; i < 7; i++) {
		self->rules[0] = '\0';
		self->number = 0;
		up(self);
		for (unsigned int n = 0; n < 2; n++) {
			struct pkt *p = bth(self, 0, i < 2 ? PKT_COMPARE_SWAP : i < 5 ?
					    PKT_WRITE_ONLY_IMM : PKT_SEND_ONLY_INV, PSN_C,
					    i < 2 ? 0 : i == 6 ? 8 + 4 * n : 8);

			p->dma_len = i < 2 || i > 4 ? 0 : 8;
			*(i == 0 ? &p->swap : &p->compare) += i < 2 ? n : 0;
			*(i == 2 ? &p->rkey : i == 3 ? &p->dma_len : i == 4 ? &p->imm :
			  &p->inv_rkey) += i >= 2 && i < 6 ? n : 0;
			give(self);
		}
		EXPECT_STREQ("repeat@5 ", self->rules) {
			TH_LOG("operand %u", i);
		}
		down(self);
	}
}

/* What a Fetch Add has in the place of the other operand of a Compare Swap is no operand */
TEST_F(flow, no_operand)
{
	struct pkt *p;

	up(self);
	for (unsigned int n = 0; n < 2; n++) {
		p = bth(self, 0, PKT_FETCH_ADD, PSN_C, 0);
		p->swap = 5;
		p->compare = n;
		give(self);
	}
	EXPECT_STREQ("", self->rules);
}

/* msn: a refusal counts what is before it, and so does an ACK inside of a message */
TEST_F(flow, msn_of_refused)
{
	up(self);
	for (unsigned int i = 0; i < 4; i++) {
		write_packet(self, PSN_C + i, 4000, i);
		ack(self, PSN_C + i, ACK_OK, i / 3);
	}
	EXPECT_STREQ("", self->rules);
	write_packet(self, PSN_C + 4, 8, 0);
	ack(self, PSN_C + 4, RNR, 2);
	EXPECT_STREQ("msn@13 ", self->rules);
	ack(self, PSN_C + 4, NAK_REM_ACCESS, 2);
	EXPECT_STREQ("msn@13 msn@14 ", self->rules);
}

/* psn-continuity names the first packet behind a gap, once, also where that is a READ */
TEST_F(flow, gap_named)
{
	up(self);
	write_packet(self, PSN_C, 8, 0);
	read_request(self, PSN_C + 2, 2500);
	EXPECT_EQ(FLOW_BEYOND, self->seen.class);
	read_data(self, PKT_READ_FIRST, PSN_C + 2, MTU, 3);
	read_data(self, PKT_READ_MIDDLE, PSN_C + 3, MTU, 0);
	read_data(self, PKT_READ_LAST, PSN_C + 4, 452, 3);
	EXPECT_STREQ("psn-continuity@5 ", self->rules);
	EXPECT_EQ(1, self->ok);
	write_packet(self, PSN_C + 5, 8, 0);
	EXPECT_EQ(FLOW_NEW, self->seen.class);
	ack(self, PSN_C + 5, ACK_OK, 4);
	/* a gap that was filled is none, and the next one is another */
	write_packet(self, PSN_C + 7, 8, 0);
	write_packet(self, PSN_C + 6, 8, 0);
	write_packet(self, PSN_C + 7, 8, 0);
	write_packet(self, PSN_C + 9, 8, 0);
	write_packet(self, PSN_C + 10, 8, 0);
	EXPECT_EQ(3, flow_totals(self->f)->gaps);
	ack(self, PSN_C + 10, ACK_OK, 9);
	EXPECT_STREQ("psn-continuity@5 psn-continuity@14 ", self->rules);
}

/* Behind what is missing, a message may go on whose beginning is; behind its end none may */
TEST_F(flow, goes_on)
{
	up(self);
	write_packet(self, PSN_C, 8, 0);
	ack(self, PSN_C + 5, ACK_OK, 6);
	EXPECT_STREQ("psn-continuity@5 ", self->rules);
	write_packet(self, PSN_C + 6, 3 * MTU, 1);
	write_packet(self, PSN_C + 7, 3 * MTU, 2);
	EXPECT_EQ(1, self->broken);
	write_packet(self, PSN_C + 8, 8, 0);
	write_packet(self, PSN_C + 9, 3 * MTU, 2);
	EXPECT_STREQ("psn-continuity@5 opcode-sequence@9 ", self->rules);
}

/* An empty response answers a FLUSH and an atomic WRITE, and an ACK does not */
TEST_F(flow, own_answers)
{
	up(self);
	for (unsigned int i = 0; i < 2; i++) {
		struct pkt *p = bth(self, 0, i ? PKT_FLUSH : PKT_ATOMIC_WRITE, PSN_C + i,
				    i ? 0 : 8);

		p->va = 0x1000;
		p->dma_len = 8;
		give(self);
		ack(self, PSN_C + i, ACK_OK, i + 1);
		EXPECT_EQ(i, self->ok);
		read_data(self, PKT_READ_ONLY, PSN_C + i, 0, i + 1);
		EXPECT_EQ(i + 1, self->ok);
		EXPECT_EQ(8, self->last.bytes);
		EXPECT_EQ(2, self->last.needed);
	}
	EXPECT_STREQ("", self->rules);
}

/* Outstanding are READs, and none that was answered, nor a WRITE */
TEST_F(flow, outstanding)
{
	up(self);
	write_packet(self, PSN_C, 8, 0);
	read_request(self, PSN_C + 1, 8);
	EXPECT_EQ(1, self->seen.msg->outstanding);
	read_request(self, PSN_C + 2, 8);
	EXPECT_EQ(2, self->seen.msg->outstanding);
	read_data(self, PKT_READ_ONLY, PSN_C + 2, 8, 3);
	read_request(self, PSN_C + 3, 8);
	EXPECT_EQ(2, self->seen.msg->outstanding);
}

/* Figures: what is not ready, asked for again, refused; and where each message ended */
TEST_F(flow, figures)
{
	struct flow_half *h;

	up(self);
	write_packet(self, PSN_C, 8, 0);
	ack(self, PSN_C, RNR, 0);
	write_packet(self, PSN_C, 8, 0);
	ack(self, PSN_C, ACK_OK, 1);
	EXPECT_EQ(self->number, self->last.end_packet);
	EXPECT_EQ(self->ns, self->last.end_ns);
	write_packet(self, PSN_C + 1, 4, 0);
	ack(self, PSN_C + 1, ACK_OK, 2);
	write_packet(self, PSN_C + 2, 16, 0);
	h = &self->seen.conn->half[0];
	ack(self, PSN_C + 2, NAK_SEQ, 2);
	EXPECT_EQ(self->number, h->sequence_packet);
	EXPECT_EQ((PSN_C + 2) & FLOW_PSN_MASK, h->sequence_psn);
	write_packet(self, PSN_C + 2, 16, 0);
	write_packet(self, PSN_C + 3, 16, 0);
	ack(self, PSN_C + 2, NAK_REM_ACCESS, 2);
	EXPECT_GT(self->number, h->sequence_packet);
	EXPECT_EQ(1, h->rnr);
	EXPECT_EQ(2, h->naks);
	EXPECT_EQ(1, flow_totals(self->f)->rnr);
	EXPECT_EQ(2, flow_totals(self->f)->naks);
	EXPECT_EQ(2, h->ops[FLOW_WRITE]);
	EXPECT_EQ(12, h->op_bytes[FLOW_WRITE]);
	EXPECT_EQ(8, h->most);
	flow_end(self->f);
	EXPECT_EQ(FLOW_UNANSWERED, self->last.status);
	EXPECT_EQ(0, self->last.end_packet);
	EXPECT_EQ(self->last.sent_ns, self->last.end_ns);
	EXPECT_STREQ("", self->rules);
}

/* READ: data that come again, a copy of them, and data that come too early */
TEST_F(flow, read_data_again)
{
	up(self);
	read_request(self, PSN_C, 3 * MTU);
	read_data(self, PKT_READ_FIRST, PSN_C, MTU, 1);
	read_data(self, PKT_READ_FIRST, PSN_C, MTU, 1);
	EXPECT_EQ(FLOW_RETRANSMITTED, self->seen.class);
	self->p.ns += 1000;
	give(self);
	EXPECT_EQ(FLOW_DUPLICATE, self->seen.class);
	EXPECT_EQ(1, self->seen.msg->retransmitted);
	EXPECT_EQ(1, self->seen.msg->duplicates);
	read_data(self, PKT_READ_LAST, PSN_C + 2, MTU, 1);
	EXPECT_EQ(FLOW_BEYOND, self->seen.class);
	EXPECT_EQ(1, flow_totals(self->f)->gaps);
	EXPECT_EQ(self->number, self->seen.msg->answer_gap);
	read_data(self, PKT_READ_MIDDLE, PSN_C + 1, MTU, 0);
	EXPECT_EQ(FLOW_NEW, self->seen.class);
	EXPECT_EQ(0, self->seen.msg->answer_gap);
	read_data(self, PKT_READ_LAST, PSN_C + 2, MTU, 1);
	EXPECT_EQ(1, self->ok);
	EXPECT_STREQ("", self->rules);
}

/* What is done behind an open READ is done once; an ACK that comes late may have the MSN of now */
TEST_F(flow, answered_once)
{
	up(self);
	read_request(self, PSN_C, 8);
	for (unsigned int i = 1; i < 3; i++) {
		write_packet(self, PSN_C + i, 8, 0);
		ack(self, PSN_C + i, ACK_OK, i + 1);
	}
	EXPECT_EQ(2, self->messages);
	ack(self, PSN_C + 1, ACK_OK, 3);
	EXPECT_EQ(2, self->messages);
	EXPECT_STREQ("", self->rules);
	ack(self, PSN_C + 1, ACK_OK, 4);
	EXPECT_STREQ("msn@10 ", self->rules);
	read_request(self, PSN_C, 8);
	read_data(self, PKT_READ_ONLY, PSN_C, 8, 1);
	EXPECT_EQ(3, self->ok);
	EXPECT_EQ(1, self->broken);
}

/* The MSN of a late ACK counts no message that goes on */
TEST_F(flow, msn_of_whole)
{
	up(self);
	write_packet(self, PSN_C, 8, 0);
	write_packet(self, PSN_C + 1, 8, 0);
	ack(self, PSN_C + 1, ACK_OK, 2);
	write_packet(self, PSN_C + 2, 2 * MTU, 0);
	ack(self, PSN_C, ACK_OK, 2);
	EXPECT_STREQ("", self->rules);
	ack(self, PSN_C, ACK_OK, 3);
	EXPECT_STREQ("msn@9 ", self->rules);
}

/* Once all is answered that was sent again, the MSN is exact */
TEST_F(flow, msn_exact)
{
	up(self);
	write_packet(self, PSN_C, 8, 0);
	write_packet(self, PSN_C, 8, 0);
	write_packet(self, PSN_C + 1, 8, 0);
	ack(self, PSN_C, ACK_OK, 2);
	EXPECT_STREQ("", self->rules);
	ack(self, PSN_C + 1, ACK_OK, 2);
	write_packet(self, PSN_C + 2, 8, 0);
	write_packet(self, PSN_C + 3, 8, 0);
	ack(self, PSN_C + 2, ACK_OK, 4);
	EXPECT_STREQ("msn@11 ", self->rules);
}

/* Is a message lost?  Sent again, not ready, or the other end has been silent for long */
TEST_F(flow, lost_or_late)
{
	struct flow_conn *c;
	struct flow_msg *m;
	uint64_t long_ago;

	up(self);
	write_packet(self, PSN_C, 8, 0);
	c = self->seen.conn;
	m = flow_msg_at(&c->half[0], 0);
	long_ago = self->ns + FLOW_LONG_NS;
	c->half[1].last_packet = 0;
	EXPECT_FALSE(flow_is_lost(c, m, long_ago + 1));
	c->half[1].last_packet = 1;
	EXPECT_FALSE(flow_is_lost(c, m, long_ago));
	EXPECT_TRUE(flow_is_lost(c, m, long_ago + 1));
	c->half[1].last_ns = self->ns + 1;
	EXPECT_FALSE(flow_is_lost(c, m, long_ago + 1));
	m->rnr = 1;
	EXPECT_TRUE(flow_is_lost(c, m, self->ns));
	m->rnr = 0;
	m->retransmitted = 1;
	EXPECT_TRUE(flow_is_lost(c, m, self->ns));
	m->retransmitted = 0;
	/* a later message was acknowledged */
	c->half[0].has_answered = true;
	c->half[0].answered = m->last_psn;
	EXPECT_TRUE(flow_is_lost(c, m, long_ago + 2));
	c->half[0].answered = (m->last_psn + 1) & FLOW_PSN_MASK;
	EXPECT_FALSE(flow_is_lost(c, m, long_ago + 2));
}

/* UC: the end of a message is lost, and the next one is whole; what comes twice is no message */
TEST_F(flow, uc_lost_end)
{
	static const uint32_t psn[] = { 0, 2, 2, 3 };

	up(self);
	for (unsigned int i = 0; i < 4; i++) {
		bth(self, 0, PKT_UC | (i ? PKT_SEND_ONLY : PKT_SEND_FIRST), PSN_C + psn[i],
		    i ? 8 : MTU);
		give(self);
		EXPECT_EQ(i == 2 ? FLOW_RETRANSMITTED : FLOW_NEW, self->seen.class);
	}
	EXPECT_EQ(1, self->incomplete);
	EXPECT_EQ(2, self->sent);
	EXPECT_EQ(1, flow_totals(self->f)->gaps);
	EXPECT_STREQ("", self->rules);
}

/* A datagram back is of the same conversation, a copy is no message, and RC has no part in it */
TEST_F(flow, datagrams_back)
{
	for (unsigned int i = 0; i < 3; i++) {
		bth(self, i > 0, PKT_UD | PKT_SEND_ONLY, i ? 9 : 5, 8)->src_qpn = i ? 18 : 17;
		/* 50 ns behind the one before it */
		self->p.ns -= i == 2 ? 999950 : 0;
		give(self);
		EXPECT_EQ(i > 0, self->seen.from);
		EXPECT_EQ(i == 2 ? FLOW_DUPLICATE : FLOW_NEW, self->seen.class);
	}
	EXPECT_EQ(1, flow_totals(self->f)->connections);
	EXPECT_EQ(2, self->sent);
	bth(self, 0, PKT_UD | PKT_SEND_ONLY, 6, 8)->src_qpn = 19;
	give(self);
	EXPECT_EQ(2, flow_totals(self->f)->connections);
	write_packet(self, 7, 8, 0);
	EXPECT_EQ(NULL, self->seen.conn);
}

/* Without a REQ, what cannot be a path MTU is taken for none */
TEST_F(flow, no_mtu)
{
	static const uint32_t bytes[] = { 128, 1000 };

	self->f->complete = false;
	for (unsigned int i = 0; i < 2; i++) {
		bth(self, 0, PKT_SEND_FIRST, 100 + 2 * i, bytes[i]);
		give(self);
		bth(self, 0, PKT_SEND_LAST, 101 + 2 * i, 8);
		give(self);
		EXPECT_EQ(0, self->seen.conn->mtu);
	}
	EXPECT_STREQ("", self->rules);
}

/* Without a path MTU: the data say how many PSNs a READ takes; what is behind them is missing */
TEST_F(flow, unknown_length_end)
{
	self->f->complete = false;
	read_request(self, 100, 2500);
	read_data(self, PKT_READ_ONLY, 100, 2500, 1);
	EXPECT_EQ(1, self->ok);
	write_packet(self, 102, 8, 0);
	EXPECT_EQ(FLOW_BEYOND, self->seen.class);
	write_packet(self, 101, 8, 0);
	write_packet(self, 102, 8, 0);
	/* as many as there can be */
	read_request(self, 103, 600);
	write_packet(self, 106, 8, 0);
	EXPECT_EQ(0, self->incomplete);
	read_request(self, 107, 2500);
	read_data(self, PKT_READ_LAST, 109, 452, 6);
	EXPECT_EQ(110, self->seen.conn->half[0].next);
	EXPECT_EQ(0, self->doubtful);
}

/* More than half of all PSNs, all refused or answered, are of one queue pair */
TEST_F(flow, long_run)
{
	self->f->complete = false;
	for (unsigned int i = 0; i < 2; i++)
		write_packet(self, 5 + i, 2 * MTU, i);
	ack(self, 6, ACK_OK, 1);
	/* 2^21 PSNs each */
	for (uint32_t i = 0; i < 5; i++) {
		read_request(self, 7 + (i << 21), 1u << 31);
		ack(self, 7 + (i << 21), NAK_REM_ACCESS, 1 + i);
	}
	EXPECT_EQ(1, flow_totals(self->f)->connections);
}

TEST_HARNESS_MAIN
