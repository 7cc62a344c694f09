// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * flow_conn_test: as flow_test, of connections: those whose beginning nobody captured, that use a
 * number again, of other transports, and more of them than there is room for.
 */
#include "roce_flow.h"

/* A REJ of the client, for want of a REP, crosses the REP; one of the server ends it */
TEST_F(flow, rej_crosses)
{
	cm(self, 0, PKT_CM_REQ, 5, 0, 17, PSN_S);
	cm(self, 0, PKT_CM_REJ, 5, 6, 0, 0);
	cm(self, 1, PKT_CM_REP, 6, 5, 18, PSN_C);
	EXPECT_STREQ("", self->rules);
	cm(self, 0, PKT_CM_REQ, 7, 0, 19, PSN_S);
	cm(self, 1, PKT_CM_REJ, 8, 7, 0, 0);
	cm(self, 1, PKT_CM_REP, 8, 7, 20, PSN_C);
	EXPECT_STREQ("cm-sequence@6 ", self->rules);
}

/* Without a REQ the path MTU is that of the first data, and a READ takes what it takes */
TEST_F(flow, unknown_mtu)
{
	self->f->complete = false;
	/* the next request tells how many PSNs the READ takes, and data the MTU */
	read_request(self, 100, 2500);
	write_packet(self, 103, 8, 0);
	read_data(self, PKT_READ_FIRST, 100, MTU, 1);
	read_data(self, PKT_READ_MIDDLE, 101, MTU, 1);
	read_data(self, PKT_READ_LAST, 102, 452, 1);
	ack(self, 103, ACK_OK, 2);
	EXPECT_EQ(2, self->ok);
	EXPECT_EQ(MTU, self->seen.conn->mtu);
	read_request(self, 104, 3000);
	read_data(self, PKT_READ_FIRST, 104, MTU, 3);
	read_data(self, PKT_READ_MIDDLE, 105, MTU, 3);
	read_data(self, PKT_READ_LAST, 106, 952, 3);
	EXPECT_EQ(3, self->ok);
	EXPECT_STREQ("", self->rules);
	EXPECT_EQ(0, self->doubtful);
	EXPECT_EQ(1, flow_totals(self->f)->connections);
}

/* The same, by the last packet of the data alone; and a READ that is not all that is missing */
TEST_F(flow, unknown_length)
{
	self->f->complete = false;
	read_request(self, 100, 2500);
	read_data(self, PKT_READ_LAST, 102, 452, 1);
	write_packet(self, 103, 8, 0);
	EXPECT_EQ(FLOW_NEW, self->seen.class);
	read_request(self, 104, 600);
	/* at most 3 packets */
	write_packet(self, 120, 8, 0);
	EXPECT_EQ(FLOW_NEW, self->seen.class);
	ack(self, 120, ACK_OK, 9);
	EXPECT_STREQ("", self->rules);
}

/* A READ may take one PSN, whatever it takes at the smallest MTU; its answer says so, too */
TEST_F(flow, unknown_length_one)
{
	self->f->complete = false;
	read_request(self, 100, 2500);
	write_packet(self, 101, 8, 0);
	EXPECT_EQ(FLOW_NEW, self->seen.class);
	EXPECT_FALSE(self->seen.conn->half[0].gap);
	EXPECT_EQ(102, self->seen.conn->half[0].next);
	EXPECT_EQ(2, self->seen.conn->half[0].nr);
	EXPECT_EQ(2, self->seen.conn->half[0].msg[0].needed);
}

/* Two that may have sent a request are none: an answer is nobody's */
TEST_F(flow, candidates)
{
	self->f->complete = false;
	write_packet(self, 100, 8, 0);
	bth(self, 0, PKT_WRITE_ONLY, 100, 8)->qpn = 33;
	give(self);
	ack(self, 100, ACK_OK, 5);
	EXPECT_EQ(NULL, self->seen.conn);
	EXPECT_EQ(1, flow_totals(self->f)->unjudged[FLOW_NO_REQUEST]);
	EXPECT_EQ(2, flow_totals(self->f)->judged);
	/* the next one is only one's */
	write_packet(self, 101, 8, 0);
	ack(self, 101, ACK_OK, 6);
	ASSERT_NE(NULL, self->seen.conn);
	EXPECT_EQ(18, self->seen.conn->end[1].qpn);
	EXPECT_STREQ("", self->rules);
}

/* What no rule looks at is counted, by why */
TEST_F(flow, unjudged)
{
	const struct flow_totals *t = flow_totals(self->f);

	up(self);
	bth(self, 0, PKT_RD | PKT_SEND_ONLY, 5, 8);
	give(self);
	begin(self, 0)->kind = PKT_OTHER;
	give(self);
	begin(self, 0)->kind = PKT_TCP_SEGMENT;
	give(self);
	bth(self, 0, PKT_SEND_ONLY, 5, 8)->fault = PKT_OPCODE;
	give(self);
	bth(self, 0, PKT_WRITE_ONLY, 5, 8)->fault = PKT_CUT;
	give(self);
	EXPECT_EQ(3, t->judged);
	EXPECT_EQ(1, t->unjudged[FLOW_TRANSPORT]);
	EXPECT_EQ(1, t->unjudged[FLOW_FOREIGN]);
	EXPECT_EQ(1, t->unjudged[FLOW_NO_BEGINNING]);
	EXPECT_EQ(1, t->unjudged[FLOW_MALFORMED]);
	EXPECT_EQ(1, t->unjudged[FLOW_CUT]);
}

/* An ICRC of 0 may be one that the device puts in later; the packet is judged as any other */
TEST_F(flow, icrc_zero)
{
	struct flow *f = flow_new(&ops, self, 8, 16);

	bth(self, 0, PKT_SEND_ONLY, 100, 8)->icrc = PKT_ICRC_BAD;
	self->p.at[PKT_ICRC].len = 4;
	flow_packet(f, &self->p, &self->seen);
	EXPECT_EQ(1, self->doubtful);
	EXPECT_EQ(FLOW_NEW, self->seen.class);
	EXPECT_EQ(1, flow_totals(f)->judged);
	self->p.psn++;
	self->p.data = (const uint8_t *)"wrong";
	self->p.at[PKT_PAYLOAD].len = 0;
	flow_packet(f, &self->p, &self->seen);
	EXPECT_EQ(FLOW_CORRUPT, self->seen.class);
	EXPECT_EQ(1, self->broken);
	flow_free(f);
}

/* Without the CM: another queue pair of that number, with PSNs before the first or far ahead */
TEST_F(flow, second_run)
{
	const uint32_t psn[] = { 5000, 100, 1000000 };

	for (unsigned int i = 0; i < 9; i++) {
		write_packet(self, psn[i / 3] + i % 3, 8, 0);
		ack(self, psn[i / 3] + i % 3, ACK_OK, i % 3 + 1);
	}
	flow_end(self->f);
	EXPECT_EQ(3, self->connections);
	EXPECT_EQ(9, self->ok);
	EXPECT_EQ(0, flow_totals(self->f)->retransmitted);
	EXPECT_STREQ("", self->rules);
}

/* Requests only, of as many queue pairs as are kept: messages take no more memory than they may */
TEST_F_TIMEOUT(flow, memory, 120)
{
	struct flow *f = flow_new(&ops, self, 0, 0);
	uint64_t most = 0;

	for (uint32_t turn = 0; turn < 64; turn++) {
		for (uint32_t i = 0; i < FLOW_CONNS; i++) {
			bth(self, 0, PKT_SEND_ONLY, 1000 * i + turn, 8)->qpn = 0x100 + i;
			flow_packet(f, &self->p, &self->seen);
		}
		most = f->msg_bytes > most ? f->msg_bytes : most;
	}
	EXPECT_LT(FLOW_MSG_BYTES / 2, most);
	EXPECT_GE(FLOW_MSG_BYTES, most);
	EXPECT_LT(0, flow_totals(f)->forgotten_messages);
	EXPECT_EQ(0, flow_totals(f)->forgotten_connections);
	flow_end(f);
	EXPECT_EQ(0, f->msg_bytes);
	flow_free(f);
}

/* Clients that advertise without end: capabilities take no more memory than they may */
TEST_F_TIMEOUT(flow, memory_of_capabilities, 120)
{
	struct flow *f = flow_new(&ops, self, 0, 0);
	struct flow_seen *seen = &self->seen;
	const struct flow_half *h = NULL;

	for (uint32_t i = 0; i < 320; i++) {
		cm(self, 0, PKT_CM_REQ, 1000 + i, 0, 2000 + i, PSN_S);
		flow_packet(f, &self->p, seen);
		cm(self, 1, PKT_CM_REP, 5000 + i, 1000 + i, 3000 + i, PSN_C);
		flow_packet(f, &self->p, seen);
		for (uint32_t n = 0; n < 1024; n++) {
			uint64_t info[] = { n, n };
			struct pkt *p = bth(self, 0, PKT_SEND_ONLY, PSN_C + n, 16);

			p->qpn = 3000 + i;
			p->data = (const uint8_t *)info;
			flow_packet(f, p, seen);
		}
		/* what is kept is the latest */
		h = &seen->conn->half[0];
		EXPECT_EQ(1023, htobe64(h->cap[h->caps - 1].addr));
	}
	EXPECT_TRUE(h->caps_lost);
	EXPECT_LT(FLOW_CAP_BYTES / 2, f->cap_bytes);
	EXPECT_GE(FLOW_CAP_BYTES, f->cap_bytes);
	flow_end(f);
	EXPECT_EQ(0, f->cap_bytes);
	flow_free(f);
}

/* Answers that may be of many queue pairs: not each of them gets a look at all */
TEST_F(flow, many_candidates)
{
	struct flow *f = flow_new(&ops, self, 0, 0);
	const struct flow_try *t = &f->tries[0x9000 % FLOW_BUCKETS];
	unsigned int looks = 0;

	for (uint32_t i = 0; i < 2 * FLOW_GUESSES; i++) {
		bth(self, 0, PKT_SEND_ONLY, 500, 8)->qpn = 0x100 + i;
		flow_packet(f, &self->p, &self->seen);
	}
	for (uint32_t i = 0; i < 5000; i++) {
		bth(self, 1, PKT_ACK, 500, 0)->qpn = 0x9000;
		flow_packet(f, &self->p, &self->seen);
		looks += !t->left || t->left == t->wait;
	}
	EXPECT_GE(40, looks);
	EXPECT_EQ(5000, flow_totals(f)->unjudged[FLOW_NO_REQUEST]);
	flow_free(f);
}

/* XRC has the rules of RC */
TEST_F(flow, xrc)
{
	up(self);
	bth(self, 0, PKT_XRC | PKT_SEND_FIRST, PSN_C, MTU);
	give(self);
	bth(self, 0, PKT_XRC | PKT_SEND_LAST, PSN_C + 1, 8);
	give(self);
	bth(self, 1, PKT_XRC | PKT_ACK, PSN_C + 1, 0)->at[PKT_AETH].len = 4;
	self->p.syndrome = ACK_OK;
	self->p.msn = 1;
	give(self);
	EXPECT_EQ(1, self->ok);
	EXPECT_STREQ("", self->rules);
	bth(self, 0, PKT_XRC | PKT_SEND_LAST, PSN_C + 2, 8);
	give(self);
	EXPECT_STREQ("opcode-sequence@7 ", self->rules);
}

/* A datagram queue pair that sends to two has two conversations */
TEST_F(flow, datagrams)
{
	for (unsigned int i = 0; i < 10; i++) {
		struct pkt *p = bth(self, 0, PKT_UD | PKT_SEND_ONLY, i, 8);

		p->src_qpn = 17;
		p->dst[3] = 1 + 2 * (i & 1);
		give(self);
	}
	EXPECT_EQ(2, flow_totals(self->f)->connections);
	EXPECT_EQ(10, self->sent);
}

/* The network's copy has the same identification, what is sent again a new one */
TEST_F(flow, copies)
{
	static uint8_t frame[64];
	struct pkt *p;

	up(self);
	for (unsigned int i = 0; i < 3; i++) {
		p = bth(self, 0, PKT_WRITE_ONLY, PSN_C, 8);
		p->dma_len = 8;
		p->data = frame;
		p->at[PKT_IP4].off = 4;
		p->at[PKT_IP4].len = 20;
		frame[9] = i < 2 ? 1 : 2;
		give(self);
		EXPECT_EQ(!i ? FLOW_NEW : i == 1 ? FLOW_DUPLICATE : FLOW_RETRANSMITTED,
			  self->seen.class);
	}
	EXPECT_EQ(1, flow_totals(self->f)->duplicates);
	EXPECT_EQ(1, flow_totals(self->f)->retransmitted);
	ack(self, PSN_C, ACK_OK, 1);
	ack(self, PSN_C, ACK_OK, 1);
	EXPECT_STREQ("", self->rules);
}

/* UC: a message that loses a packet is incomplete, the next one is not */
TEST_F(flow, uc)
{
	up(self);
	for (unsigned int i = 0; i < 7; i++) {
		if (i == 1)
			continue;
		bth(self, 0, PKT_UC | (i % 3 == 0 ? PKT_SEND_FIRST : i % 3 == 1 ?
				       PKT_SEND_MIDDLE : PKT_SEND_LAST),
		    PSN_C + i, i % 3 == 2 ? 8 : MTU);
		give(self);
	}
	EXPECT_EQ(1, self->incomplete);
	EXPECT_EQ(1, self->sent);
	EXPECT_EQ(2 * MTU + 8, self->last.bytes);
	EXPECT_STREQ("", self->rules);
}

/* A corrupt packet is named and believed by nobody */
TEST_F(flow, corrupt)
{
	struct pkt *p;

	up(self);
	p = bth(self, 0, PKT_WRITE_ONLY, PSN_C, 8);
	p->icrc = PKT_ICRC_BAD;
	p->icrc_want = 0x04030201;
	p->data = (const uint8_t *)"\x11\x12\x13\x14";
	p->at[PKT_ICRC].len = 4;
	p->at[PKT_PAYLOAD].len = 0;
	give(self);
	EXPECT_EQ(FLOW_CORRUPT, self->seen.class);
	EXPECT_STREQ("icrc@4 ", self->rules);
	EXPECT_STREQ("the ICRC is 11 12 13 14, of these bytes it is 01 02 03 04: the packet was changed on its way",
		     self->words);
	/* the same bytes, the other way round */
	self->p.icrc_want = 0x11121314;
	self->p.number++;
	give(self);
	EXPECT_STREQ("the ICRC is 11 12 13 14, of these bytes it is 14 13 12 11: its bytes are in reverse order, as rxe sends them on a big-endian machine",
		     self->words);
	self->rules[0] = 0;
	self->broken = 1;
	write_packet(self, PSN_C, 8, 0);
	ack(self, PSN_C, ACK_OK, 1);
	EXPECT_EQ(1, self->broken);
}

/* A capture that begins in the middle: the connection is guessed, both directions found */
TEST_F(flow, middle)
{
	write_packet(self, 500, 3000, 1);
	write_packet(self, 501, 3000, 2);
	ack(self, 501, ACK_OK, 40);
	EXPECT_EQ(FLOW_NEW, self->seen.class);
	write_packet(self, 502, 8, 0);
	ack(self, 502, ACK_OK, 41);
	write_packet(self, 503, 8, 0);
	ack(self, 503, ACK_OK, 42);
	EXPECT_STREQ("", self->rules);
	EXPECT_EQ(2, self->ok);
	flow_end(self->f);
	EXPECT_TRUE(self->conn.guessed);
	EXPECT_EQ(1, self->connections);
}

/* A QP number is used again: the old connection has ended, the new one is another */
TEST_F(flow, used_again)
{
	up(self);
	write_packet(self, PSN_C, 8, 0);
	cm(self, 0, PKT_CM_REQ, 9, 0, 17, 1000);
	EXPECT_EQ(1, self->connections);
	EXPECT_EQ(1, self->unanswered);
	cm(self, 1, PKT_CM_REP, 10, 9, 18, 2000);
	cm(self, 0, PKT_CM_RTU, 9, 10, 0, 0);
	write_packet(self, 2000, 8, 0);
	ack(self, 2000, ACK_OK, 1);
	EXPECT_EQ(1, self->ok);
	EXPECT_STREQ("", self->rules);
}

/* A client that sends and never sent its RTU; one whose REP had to be sent again is forgiven */
TEST_F(flow, rtu)
{
	for (unsigned int again = 0; again < 2; again++) {
		self->rules[0] = '\0';
		cm(self, 0, PKT_CM_REQ, 5, 0, 17, PSN_S);
		cm(self, 1, PKT_CM_REP, 6, 5, 18, PSN_C);
		write_packet(self, PSN_C, 8, 0);
		ack(self, PSN_C, ACK_OK, 1);
		if (again)
			cm(self, 1, PKT_CM_REP, 6, 5, 18, PSN_C);
		down(self);
		self->ns += 10000000000ull;
		cm(self, 0, PKT_CM_REQ, 50, 0, 170, PSN_S);
		EXPECT_STREQ(again ? "" : "rtu@3 ", self->rules);
	}
	/* the REP is named, also behind an MRA */
	self->number = 0;
	cm(self, 0, PKT_CM_REQ, 51, 0, 171, PSN_S);
	cm(self, 1, PKT_CM_MRA, 0, 51, 0, 0);
	cm(self, 1, PKT_CM_REP, 61, 51, 181, PSN_C);
	bth(self, 0, PKT_SEND_ONLY, PSN_C, 8)->qpn = 181;
	give(self);
	cm(self, 0, PKT_CM_DREQ, 51, 61, 181, 0);
	flow_end(self->f);
	EXPECT_NE(NULL, strstr(self->words, "(REP: packet 3)")) {
		TH_LOG("%s", self->words);
	}
}

/* More connections than there is room for: the silent ones go, and that is said */
TEST_F(flow, too_many_connections)
{
	for (unsigned int i = 0; i < 1000; i++) {
		cm(self, 0, PKT_CM_REQ, 1000 + i, 0, 2000 + i, PSN_S);
		cm(self, 1, PKT_CM_REP, 5000 + i, 1000 + i, 3000 + i, PSN_C);
	}
	EXPECT_EQ(992, flow_totals(self->f)->forgotten_connections);
	EXPECT_EQ(992, self->connections);
	EXPECT_STREQ("", self->rules);
}

/* More open messages than there is room for: the oldest go, and the MSN is right still */
TEST_F(flow, too_many_messages)
{
	up(self);
	for (unsigned int i = 0; i < 100; i++)
		write_packet(self, PSN_C + i, 8, 0);
	EXPECT_EQ(84, flow_totals(self->f)->forgotten_messages);
	EXPECT_FALSE(self->seen.conn->lacking);
	ack(self, PSN_C + 99, ACK_OK, 100);
	EXPECT_EQ(16, self->ok);
	EXPECT_STREQ("", self->rules);
	/* but what is said of the answers to READs that are gone may be wrong */
	for (unsigned int i = 0; i < 17; i++)
		read_request(self, PSN_C + 100 + i, 8);
	EXPECT_TRUE(self->seen.conn->lacking);
}

/* Any packets in any order: nothing crashes, and flow reports each connection that it saw */
TEST_F(flow, anything)
{
	uint32_t r = 12345;

	for (unsigned int i = 0; i < 50000; i++) {
		struct pkt *p;

		r = r * 1103515245 + 12345;
		if ((r >> 8) % 16 == 0) {
			cm(self, r >> 12 & 1, 0x10 + (r >> 13) % 8, r >> 16 & 7, r >> 19 & 7,
			   17 + (r >> 22 & 3), r >> 4);
			continue;
		}
		p = bth(self, r >> 12 & 1, (r >> 13 & 0x1f) | (r >> 18 & 7 ? 0 : r >> 21 & 0x60),
			r >> 9 & 0x3f, r >> 5 & 0x7ff);
		p->qpn = 17 + (r >> 22 & 3);
		p->at[PKT_AETH].len = r >> 24 & 1 ? 4 : 0;
		p->syndrome = r >> 25;
		p->msn = r & 3;
		p->dma_len = r >> 3;
		give(self);
	}
	flow_end(self->f);
	EXPECT_EQ(flow_totals(self->f)->connections, self->connections);
	EXPECT_EQ(flow_totals(self->f)->messages, self->messages);
}

/* Of what the capture lacks the beginning, or a message of the CM, it may lack more */
TEST_F(flow, lacking)
{
	self->f->complete = false;
	for (unsigned int i = 0; i < 2; i++) {
		write_packet(self, 100 + i, 8, 0);
		ack(self, 100 + i, ACK_OK, 5 + 2 * i);
	}
	EXPECT_STREQ("", self->rules);
	EXPECT_EQ(1, self->doubtful);
	up(self);
	EXPECT_FALSE(self->seen.conn->lacking);
	/* no DREQ */
	cm(self, 1, PKT_CM_DREP, 6, 5, 0, 0);
	EXPECT_TRUE(self->seen.conn->lacking);
	/* no REP */
	for (unsigned int i = 0; i < 2; i++) {
		cm(self, 0, PKT_CM_REQ, 7, 0, 19 + i, PSN_S);
		EXPECT_FALSE(self->seen.conn->lacking);
		cm(self, 0, i ? PKT_CM_DREQ : PKT_CM_RTU, 7, 8, 0, 0);
		EXPECT_TRUE(self->seen.conn->lacking);
	}
}

/* An answer to a request shows which queue pair answers; then packets of others are ignored */
TEST_F(flow, strangers)
{
	static const struct {
		uint8_t src, dst, transport;
		uint32_t psn;
	} other[] = {
		{ 3, 2, PKT_RC, 100 }, { 1, 4, PKT_RC, 100 }, { 1, 2, PKT_XRC, 100 },
		{ 1, 2, PKT_RC, 98 }, { 1, 2, PKT_RC, 101 },
	};

	self->f->complete = false;
	write_packet(self, 100, 8, 0);
	for (unsigned int i = 0; i < 5; i++) {
		struct pkt *p = bth(self, 1, other[i].transport | PKT_ACK, other[i].psn, 0);

		p->src[3] = other[i].src;
		p->dst[3] = other[i].dst;
		p->at[PKT_AETH].len = 4;
		give(self);
		EXPECT_EQ(NULL, self->seen.conn);
	}
	ack(self, 100, ACK_OK, 1);
	EXPECT_EQ(1, self->ok);
	/* the same answer to another queue pair, and a request of another host */
	bth(self, 1, PKT_ACK, 100, 0)->qpn = 33;
	give(self);
	EXPECT_EQ(NULL, self->seen.conn);
	bth(self, 0, PKT_SEND_ONLY, 300, 8)->src[3] = 9;
	give(self);
	EXPECT_EQ(NULL, self->seen.conn);
	write_packet(self, 101, 8, 0);
	EXPECT_EQ(FLOW_NEW, self->seen.class);
	ack(self, 101, ACK_OK, 2);
	EXPECT_EQ(2, self->ok);
	EXPECT_EQ(0, self->doubtful);
}

/* Without the CM: a queue pair with an open request is not a new one; an answer begins none */
TEST_F(flow, same_run)
{
	write_packet(self, 500, 8, 0);
	ack(self, 500, ACK_OK, 1);
	/* the server asks, too, and its answers have PSNs of the client's */
	bth(self, 1, PKT_SEND_ONLY, 7000, 8);
	give(self);
	bth(self, 0, PKT_ACK, 7000, 0)->at[PKT_AETH].len = 4;
	self->p.msn = 1;
	give(self);
	EXPECT_EQ(2, self->ok);
	write_packet(self, 501, 8, 0);
	ack(self, 501, ACK_OK, 2);
	EXPECT_EQ(3, self->ok);
	write_packet(self, 502, 8, 0);
	write_packet(self, 400, 8, 0);
	EXPECT_EQ(FLOW_RETRANSMITTED, self->seen.class);
	write_packet(self, 900000, 8, 0);
	EXPECT_EQ(FLOW_BEYOND, self->seen.class);
	EXPECT_EQ(1, flow_totals(self->f)->connections);
	/* nor is one whose REQ is known */
	up(self);
	write_packet(self, PSN_C, 8, 0);
	ack(self, PSN_C, ACK_OK, 1);
	write_packet(self, PSN_C + 2 * FLOW_AHEAD, 8, 0);
	EXPECT_EQ(FLOW_BEYOND, self->seen.class);
	EXPECT_EQ(2, flow_totals(self->f)->connections);
}

/* A REQ that comes again is of the same connection; one of another PSN or queue pair is not */
TEST_F(flow, req_again)
{
	const struct flow_totals *t = flow_totals(self->f);

	cm(self, 0, PKT_CM_REQ, 5, 0, 17, PSN_S);
	cm(self, 0, PKT_CM_REQ, 5, 0, 17, PSN_S);
	EXPECT_EQ(1, t->connections);
	EXPECT_EQ(1, self->seen.conn->repeated_steps);
	cm(self, 0, PKT_CM_REQ, 5, 0, 17, PSN_S + 1);
	EXPECT_EQ(2, t->connections);
	cm(self, 0, PKT_CM_REQ, 5, 0, 19, PSN_S + 1);
	EXPECT_EQ(3, t->connections);
	cm(self, 1, PKT_CM_REP, 6, 5, 18, PSN_C);
	down(self);
	cm(self, 0, PKT_CM_REQ, 5, 0, 19, PSN_S + 1);
	EXPECT_EQ(4, t->connections);
	EXPECT_EQ(3, self->connections);
}

/* A connection that has ended is found for two seconds, and then let go */
TEST_F(flow, lingers)
{
	up(self);
	write_packet(self, PSN_C, 8, 0);
	down(self);
	ack(self, PSN_C, ACK_OK, 1);
	EXPECT_EQ(1, self->ok);
	self->ns += FLOW_LINGER_NS - 1000000;
	cm(self, 0, PKT_CM_REQ, 7, 0, 19, PSN_S);
	EXPECT_EQ(0, self->connections);
	cm(self, 0, PKT_CM_REQ, 8, 0, 20, PSN_S);
	EXPECT_EQ(1, self->connections);
	/* which an open one is not */
	self->ns += 10 * FLOW_LINGER_NS;
	cm(self, 0, PKT_CM_REQ, 9, 0, 21, PSN_S);
	EXPECT_EQ(1, self->connections);
	EXPECT_EQ(0, flow_totals(self->f)->guessed);
}

/* A full table drops a connection that has ended, or else the one that was silent longest */
TEST_F(flow, makes_room)
{
	for (unsigned int i = 0; i < 8; i++) {
		cm(self, 0, PKT_CM_REQ, 1000 + i, 0, 2000 + i, PSN_S);
		cm(self, 1, PKT_CM_REP, 5000 + i, 1000 + i, 3000 + i, PSN_C);
	}
	bth(self, 0, PKT_SEND_ONLY, PSN_C, 8)->qpn = 3000;
	give(self);
	cm(self, 0, PKT_CM_DREQ, 1003, 5003, 3003, 0);
	cm(self, 1, PKT_CM_DREP, 5003, 1003, 0, 0);
	for (unsigned int i = 0; i < 2; i++) {
		cm(self, 0, PKT_CM_REQ, 1100 + i, 0, 2100 + i, PSN_S);
		EXPECT_EQ(i, flow_totals(self->f)->forgotten_connections);
		EXPECT_EQ(i + 1, self->connections);
		EXPECT_EQ(i ? 2001 : 2003, self->conn.end[0].qpn);
		EXPECT_EQ(i, self->conn.forgotten);
	}
}

/* An answer to a PSN that nobody has sent does not belong to a message that is incomplete */
TEST_F(flow, answers_far)
{
	self->f->complete = false;
	bth(self, 0, PKT_SEND_FIRST, 100, MTU);
	give(self);
	bth(self, 1, PKT_ACK, 5000000, 0)->qpn = 33;
	self->p.at[PKT_AETH].len = 4;
	give(self);
	EXPECT_EQ(NULL, self->seen.conn);
	EXPECT_EQ(0, self->doubtful);
	bth(self, 0, PKT_SEND_LAST, 101, 8);
	give(self);
	ack(self, 101, ACK_OK, 1);
	EXPECT_EQ(1, self->ok);
}

/* cm-sequence: an RTU without a REP, a DREP without a DREQ */
TEST_F(flow, cm_sequence)
{
	cm(self, 0, PKT_CM_REQ, 5, 0, 17, PSN_S);
	cm(self, 0, PKT_CM_RTU, 5, 6, 0, 0);
	EXPECT_STREQ("cm-sequence@2 ", self->rules);
	cm(self, 1, PKT_CM_REP, 6, 5, 18, PSN_C);
	cm(self, 0, PKT_CM_RTU, 5, 6, 0, 0);
	cm(self, 1, PKT_CM_DREP, 6, 5, 0, 0);
	EXPECT_STREQ("cm-sequence@2 cm-sequence@5 ", self->rules);
}

TEST_HARNESS_MAIN
