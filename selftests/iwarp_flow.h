/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fixture of the tests of user/libwire/flow_iwarp.c and rules_iwarp.c: a connection, whose
 * MPA Request and Reply are sent, the FPDUs of both ends, and the rules that they broke.
 */
#ifndef RTGT_IWARP_FLOW_H
#define RTGT_IWARP_FLOW_H

#include <endian.h>

#include <rtgt/proto.h>
#include "words.h"
#include "leaks.h"
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
	unsigned int messages, connections;
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
	note_words(rule, packet, words);
}

static const struct flow_ops ops = { message, connection, broken, NULL };

/* The frame that was built last is captured, without its last @cut bytes */
static inline void captured(struct _test_data_flow *self, size_t cut)
{
	const struct pkt *u;
	struct flow_seen seen;
	struct pkt p = {};
	unsigned int nr;

	p.data = exact(&self->block, self->frame.b, self->frame.len - cut);
	p.caplen = self->frame.len - cut;
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

/* All bytes of @from's that are not sent yet, in one segment */
static inline void segment(struct _test_data_flow *self, int from, size_t begin, uint8_t flags)
{
	stream_segment(&self->frame, &self->dir[from], from, flags, 50000, begin,
		       self->dir[from].len);
	captured(self, 0);
}

/* At the end of @from's bytes, and not sent yet; returns where it begins */
static inline size_t build(struct _test_data_flow *self, int from, uint8_t flags, uint8_t op,
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

static inline void fpdu(struct _test_data_flow *self, int from, uint8_t flags, uint8_t op,
			const uint8_t *head, size_t head_len, size_t payload)
{
	segment(self, from, build(self, from, flags, op, head, head_len, payload), 0x10);
}

static inline void tagged(struct _test_data_flow *self, int from, uint8_t last, uint8_t op,
			  uint32_t stag, uint64_t to, size_t payload)
{
	uint8_t head[12];

	put(head, 0, 4, stag);
	put(head, 4, 8, to);
	fpdu(self, from, TAGGED | last, op, head, sizeof(head), payload);
}

static inline void untagged(struct _test_data_flow *self, int from, uint8_t last, uint8_t op,
			    uint32_t queue, uint32_t msn, uint32_t mo, size_t payload)
{
	uint8_t head[16] = {};

	put(head, 4, 4, queue);
	put(head, 8, 4, msn);
	put(head, 12, 4, mo);
	fpdu(self, from, last, op, head, sizeof(head), payload);
}

/* A READ request behind its DDP header: @size bytes at PLACE, into the sink at 0x40 of STag 7 */
static inline void put_read(uint8_t *at, uint32_t size)
{
	put(at, 0, 4, 7);
	put(at, 4, 8, 0x40);
	put(at, 12, 4, size);
	put(at, 16, 4, STAG);
	put(at, 20, 8, PLACE);
}

static inline void read_request(struct _test_data_flow *self, int from, uint32_t msn,
				uint32_t size)
{
	uint8_t head[16 + 28] = {};

	put(head, 4, 4, 1);
	put(head, 8, 4, msn);
	put_read(head + 16, size);
	fpdu(self, from, LAST, PKT_RDMAP_READ_REQUEST, head, sizeof(head), 0);
}

static inline void read_response(struct _test_data_flow *self, uint8_t last, uint64_t to,
				 size_t payload)
{
	tagged(self, SERVER, last, PKT_RDMAP_READ_RESPONSE, 7, to, payload);
}

FIXTURE_SETUP(flow)
{
	self->w = iwarp_new();
	self->f = flow_new(&ops, self, 0, 0);
	flow_complete(self->f);
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
	EXPECT_EQ(0, leaked());
}

/* A WRITE of three segments, a SEND of two, a READ of three, and the reply */
static inline void talk(struct _test_data_flow *self)
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

/* In the SEND of @from's with this MSN */
static inline void say_nth(struct _test_data_flow *self, int from, uint32_t msn, const void *bytes,
			   size_t len)
{
	uint8_t head[16 + 128] = {};

	put(head, 8, 4, msn);
	memcpy(head + 16, bytes, len);
	fpdu(self, from, LAST, PKT_RDMAP_SEND, head, 16 + len, 0);
}

static inline void say(struct _test_data_flow *self, int from, const void *bytes, size_t len)
{
	say_nth(self, from, 1, bytes, len);
}

/*
 * Another connection, to a target that grants @access to a region of 4096 bytes.  Its REP has
 * no rkey; the reply to EXTENTS has.  Then the client READs 100 bytes, and gets them.
 */
static inline void target(struct _test_data_flow *self, uint32_t access)
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

/* Both ends are gone; what comes is another connection */
static inline void hang_up(struct _test_data_flow *self)
{
	for (int from = 0; from < 2; from++)
		segment(self, from, self->dir[from].len, 0x04);
	self->rule[0] = 0;
}

/* The packet that was sent last has broken this rule, and no other rule is broken */
#define EXPECT_BROKEN(name) do { \
	EXPECT_STREQ(name " ", self->rule); \
	EXPECT_EQ(self->number, self->packet); \
} while (0)

#endif
