// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * flow_test: user/libwire/flow*.c and rules.c, under the address and the undefined
 * behaviour sanitizer: conversations that captures of ours seldom hold.
 *
 * Packets are made as structures, as pkt_parse() would leave them; payloads have a
 * length and no bytes.  The comment above a test is its description in run.sh --list.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "libwire/flow_priv.h"

#include "words.h"
#include "kselftest_harness.h"

#define MTU	1024
#define PSN_C	0xfffffeu	/* the client's first PSN: it wraps soon */
#define PSN_S	77

static uint8_t icrc_bytes[4096];

FIXTURE(flow)
{
	struct flow *f;
	struct flow_seen seen;
	struct pkt p;
	uint64_t number, ns;
	unsigned int messages, ok, naks, unanswered, incomplete, sent, connections;
	unsigned int broken, doubtful;
	char rules[256], words[256];
	struct flow_msg last;
	struct flow_conn conn;
};

static void on_message(void *arg, const struct flow_conn *c, const struct flow_msg *m)
{
	FIXTURE_DATA(flow) * self = arg;

	(void)c;
	self->messages++;
	self->ok += m->status == FLOW_OK;
	self->naks += m->status == FLOW_NAK;
	self->unanswered += m->status == FLOW_UNANSWERED;
	self->incomplete += m->status == FLOW_INCOMPLETE;
	self->sent += m->status == FLOW_SENT;
	self->last = *m;
}

static void on_connection(void *arg, const struct flow_conn *c)
{
	FIXTURE_DATA(flow) * self = arg;

	self->connections++;
	self->conn = *c;
}

static void on_broken(void *arg, const char *rule, uint64_t packet, const char *words)
{
	FIXTURE_DATA(flow) * self = arg;
	size_t n = strlen(self->rules);

	self->broken++;
	snprintf(self->rules + n, sizeof(self->rules) - n, "%s@%llu ", rule,
		 (unsigned long long)packet);
	snprintf(self->words, sizeof(self->words), "%s", words);
	note_words(rule, packet, words);
	if (!words[0])
		abort();
}

static void on_doubtful(void *arg, const char *rule, uint64_t packet, const char *words)
{
	FIXTURE_DATA(flow) * self = arg;

	self->doubtful++;
	note_words(rule, packet, words);
	if (!words[0])
		abort();
}

static const struct flow_ops ops = { on_message, on_connection, on_broken, on_doubtful };

FIXTURE_SETUP(flow)
{
	self->f = flow_new(&ops, self, 8, 16);
	flow_complete(self->f);
	self->ns = 1000;
}

FIXTURE_TEARDOWN(flow)
{
	flow_free(self->f);
}

/* A packet of the client's (0) or the server's (1) */
static struct pkt *begin(FIXTURE_DATA(flow) * self, unsigned int from)
{
	struct pkt *p = &self->p;

	memset(p, 0, sizeof(*p));
	p->kind = PKT_ROCE;
	p->icrc = PKT_ICRC_OK;
	p->ip_version = 4;
	p->src[3] = from ? 1 : 2;
	p->dst[3] = from ? 2 : 1;
	p->data = icrc_bytes;
	p->number = ++self->number;
	self->ns += 1000000;
	p->ns = self->ns;
	p->len = 100;
	p->caplen = 100;
	return p;
}

static void give(FIXTURE_DATA(flow) * self)
{
	flow_packet(self->f, &self->p, &self->seen);
}

static void cm(FIXTURE_DATA(flow) * self, unsigned int from, uint16_t attr, uint32_t comm,
	       uint32_t remote,
	       uint32_t qpn, uint32_t psn)
{
	struct pkt *p = begin(self, from);

	p->kind = PKT_ROCE_CM;
	p->at[PKT_CM].len = 100;
	p->attr = attr;
	p->comm_id = comm;
	p->remote_comm_id = remote;
	p->cm_qpn = qpn;
	p->cm_psn = psn;
	p->path_mtu = 3;
	p->responder_resources = 4;
	p->initiator_depth = 4;
	give(self);
}

/* Client: QP 17, communication ID 5; server: QP 18 and 6 */
static void up(FIXTURE_DATA(flow) * self)
{
	cm(self, 0, PKT_CM_REQ, 5, 0, 17, PSN_S);
	cm(self, 1, PKT_CM_REP, 6, 5, 18, PSN_C);
	cm(self, 0, PKT_CM_RTU, 5, 6, 0, 0);
}

static void down(FIXTURE_DATA(flow) * self)
{
	cm(self, 0, PKT_CM_DREQ, 5, 6, 18, 0);
	cm(self, 1, PKT_CM_DREP, 6, 5, 0, 0);
}

static struct pkt *bth(FIXTURE_DATA(flow) * self, unsigned int from, uint8_t opcode, uint32_t psn,
		       uint32_t payload)
{
	struct pkt *p = begin(self, from);

	p->opcode = opcode;
	p->qpn = from ? 17 : 18;
	p->psn = psn & FLOW_PSN_MASK;
	p->at[PKT_PAYLOAD].len = payload;
	p->pad = -payload & 3;
	p->ackreq = true;
	return p;
}

/* A WRITE's packet: i of n, of a message of @bytes */
static void write_packet(FIXTURE_DATA(flow) * self, uint32_t psn, uint32_t bytes, unsigned int i)
{
	unsigned int n = flow_packets(bytes, MTU);
	const uint8_t op = n == 1 ? PKT_WRITE_ONLY : !i ? PKT_WRITE_FIRST :
			   i == n - 1 ? PKT_WRITE_LAST : PKT_WRITE_MIDDLE;
	struct pkt *p = bth(self, 0, op, psn, i == n - 1 ? bytes - i * MTU : MTU);

	p->dma_len = bytes;
	p->va = 0x1000;
	p->rkey = 0x42;
	give(self);
}

static void ack(FIXTURE_DATA(flow) * self, uint32_t psn, uint8_t syndrome, uint32_t msn)
{
	struct pkt *p = bth(self, 1, PKT_ACK, psn, 0);

	p->at[PKT_AETH].len = 4;
	p->ackreq = false;
	p->syndrome = syndrome;
	p->msn = msn;
	give(self);
}

static void read_request(FIXTURE_DATA(flow) * self, uint32_t psn, uint32_t bytes)
{
	struct pkt *p = bth(self, 0, PKT_READ_REQUEST, psn, 0);

	p->dma_len = bytes;
	p->va = 0x1000;
	p->rkey = 0x42;
	give(self);
}

static void read_data(FIXTURE_DATA(flow) * self, uint8_t op, uint32_t psn, uint32_t payload,
		      uint32_t msn)
{
	struct pkt *p = bth(self, 1, op, psn, payload);

	p->at[PKT_AETH].len = op == PKT_READ_MIDDLE ? 0 : 4;
	p->msn = msn;
	give(self);
}

#define ACK_OK		0x1f
#define RNR		0x21
#define NAK_SEQ		0x60
#define NAK_REM_INVALID	0x61
#define NAK_REM_ACCESS	0x62

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
	write_packet(self, PSN_C, 3000, 0);
	write_packet(self, PSN_C + 2, 3000, 2);
	EXPECT_EQ(FLOW_BEYOND, self->seen.class);
	ack(self, PSN_C + 1, NAK_SEQ, 0);
	write_packet(self, PSN_C + 1, 3000, 1);
	write_packet(self, PSN_C + 2, 3000, 2);
	EXPECT_EQ(FLOW_RETRANSMITTED, self->seen.class);
	ack(self, PSN_C + 2, ACK_OK, 1);
	EXPECT_EQ(1, self->ok);
	EXPECT_EQ(3000, self->last.bytes);
	EXPECT_STREQ("", self->rules);
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
	/* but not where nobody requested it again */
	read_request(self, PSN_C + 3, 2500);
	read_data(self, PKT_READ_FIRST, PSN_C + 3, MTU, 2);
	read_data(self, PKT_READ_FIRST, PSN_C + 4, MTU, 2);
	EXPECT_STREQ("read-sequence@13 ", self->rules);
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

/* Any packets in any order end somewhere, and every connection is told of */
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

TEST_HARNESS_MAIN
