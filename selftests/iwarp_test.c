// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * iwarp_test: user/libwire/iwarp.c, which puts TCP streams together, under the address and
 * the undefined behaviour sanitizer.
 */
#include "bytes.h"
#include "leaks.h"
#include "streams.h"
#include "libwire/iwarp.h"

#include "kselftest_harness.h"

FIXTURE(iwarp)
{
	struct iwarp *w;
	struct stream_bytes dir[2];
	void *block;			/* what exact() allocated last */
	struct frame f;
	uint64_t number;
	unsigned int frames, fpdus, good, bad, markers;
	size_t payload;
	uint16_t port;			/* the client's */
	uint8_t host;			/* the end of its address; 0: as it is */
	char lines[4096];		/* what the client's are */
};

FIXTURE_SETUP(iwarp)
{
	self->w = iwarp_new();
	ASSERT_NE(NULL, self->w);
	self->port = 50000;
}

FIXTURE_TEARDOWN(iwarp)
{
	iwarp_free(self->w);
	free(self->block);
	EXPECT_EQ(0, leaked());
}

static void feed(struct _test_data_iwarp *self, bool back, uint8_t flags, size_t from, size_t to)
{
	const struct pkt *u;
	struct pkt p = {};
	unsigned int nr;
	char line[256];
	size_t n;

	stream_segment(&self->f, &self->dir[back], back, flags, self->port, from, to);
	if (self->host)
		self->f.b[self->f.ip + (back ? 19 : 15)] = self->host;
	p.data = exact(&self->block, self->f.b, self->f.len);
	p.caplen = self->f.len;
	p.len = self->f.len;
	p.number = ++self->number;
	pkt_parse(&p, DLT_EN10MB);
	self->bad += p.fault != PKT_WHOLE;
	u = iwarp_feed(self->w, &p, &nr);
	for (unsigned int i = 0; i < nr; i++) {
		/* all that is said to be there can be read */
		for (uint32_t j = 0; j < u[i].caplen; j++)
			self->payload += u[i].data[j] * 0;
		self->frames += u[i].at[PKT_MPA].variant != PKT_MPA_FPDU;
		self->fpdus += u[i].at[PKT_MPA].variant == PKT_MPA_FPDU;
		self->good += u[i].icrc == PKT_ICRC_OK;
		self->markers += u[i].bad_marker;
		self->bad += u[i].icrc == PKT_ICRC_BAD || u[i].fault;
		if (back)
			continue;
		self->payload += u[i].at[PKT_PAYLOAD].len;
		pkt_line(&u[i], line, sizeof(line));
		n = strlen(self->lines);
		snprintf(self->lines + n, sizeof(self->lines) - n, "%s\n", line);
	}
}

/* The handshake, and the frames of both */
static void open_stream(struct _test_data_iwarp *self)
{
	self->number = 0;
	self->frames = 0;
	self->fpdus = 0;
	self->good = 0;
	self->bad = 0;
	self->markers = 0;
	self->payload = 0;
	/* a SYN counts one, so the first byte has the number behind */
	feed(self, false, 0x04, 0, 0);
	feed(self, false, 0x10, 0, 40);
	feed(self, true, 0x10, 0, 40);
}

/* What the client's operations carry: of a READ request nothing */
static size_t expected(void)
{
	size_t sum = 0;

	for (unsigned int n = 0; n < STREAM_FPDUS; n++)
		sum += n % 7 == 2 ? 0 : n * n * 11;
	return sum;
}

/* In segments of any size all comes out, and the CRCs are right */
TEST_F(iwarp, segments)
{
	for (unsigned int kind = 0; kind < 8; kind++) {
		stream_make(self->dir, kind);
		for (size_t size = kind ? 9 : 1; size < 400; size += 5 + size) {
			open_stream(self);
			for (int back = 0; back < 2; back++)
				for (size_t at = 40; at < self->dir[back].len; at += size)
					feed(self, back, 0x10, at, at + size < self->dir[back].len ?
					     at + size : self->dir[back].len);
			ASSERT_EQ(2, self->frames);
			ASSERT_EQ(2 * STREAM_FPDUS, self->fpdus) {
				TH_LOG("kind %u, segments of %zu", kind, size);
			}
			ASSERT_EQ(0, self->bad);
			ASSERT_EQ(0, self->markers);
			ASSERT_EQ(kind & 2 ? 2 * STREAM_FPDUS : 0, self->good);
			ASSERT_EQ(expected(), self->payload);
		}
	}
}

/* Other connections beside it: each has a place of its own */
TEST_F(iwarp, several)
{
	stream_make(self->dir, 2);
	open_stream(self);
	for (self->port = 50001; self->port < 50004; self->port++)
		feed(self, false, 0x10, 0, 40);
	self->port = 50000;
	for (size_t at = 40; at < self->dir[0].len; at += 100)
		feed(self, false, 0x10, at, at + 100 < self->dir[0].len ? at + 100 :
		     self->dir[0].len);
	EXPECT_EQ(STREAM_FPDUS, self->fpdus);
	EXPECT_EQ(0, self->bad);
}

/* What each of them is, in a line */
TEST_F(iwarp, lines)
{
	stream_make(self->dir, 2);
	open_stream(self);
	for (size_t at = 40; at < self->dir[0].len; at += 100)
		feed(self, false, 0x10, at, at + 100 < self->dir[0].len ? at + 100 :
		     self->dir[0].len);
	EXPECT_STREQ("MPA Request rev=2 crc rtgt\n"
		     "SEND msn=1 last\n"
		     "RDMA WRITE stag=0x03040506 to=0x708090a0b0c0d0e payload=11 last\n"
		     "RDMA READ Request msn=3 size=539042339 stag=0x24252627 to=0x28292a2b2c2d2e2f last\n"
		     "RDMA READ Response stag=0x05060708 to=0x90a0b0c0d0e0f10 payload=99 last\n"
		     "SEND with Invalidate msn=5 payload=176 last\n"
		     "SEND with Solicited Event msn=6 payload=275 last\n"
		     "SEND with Solicited Event and Invalidate msn=7 payload=396 last\n"
		     "SEND msn=8 payload=539 last\n"
		     "RDMA WRITE stag=0x0a0b0c0d to=0xe0f101112131415 payload=704 last\n"
		     "RDMA READ Request msn=10 size=656943402 stag=0x2b2c2d2e to=0x2f30313233343536 last\n"
		     "RDMA READ Response stag=0x0c0d0e0f to=0x1011121314151617 payload=1100 last\n"
		     "SEND with Invalidate msn=12 payload=1331 last\n", self->lines);
}

/* Out of order, twice, and overlapping: the same */
TEST_F(iwarp, disorder)
{
	const size_t size = 100;

	stream_make(self->dir, 3);
	open_stream(self);
	for (size_t at = 40; at < self->dir[0].len; at += 3 * size) {
		for (size_t i = 3; i--; ) {
			const size_t from = at + i * size, to = from + size + 13;

			if (from < self->dir[0].len)
				feed(self, false, 0x10, from, to < self->dir[0].len ? to :
				     self->dir[0].len);
			if (from < self->dir[0].len && i == 1)
				feed(self, false, 0x10, from, from + 7);
		}
	}
	EXPECT_EQ(STREAM_FPDUS, self->fpdus);
	EXPECT_EQ(STREAM_FPDUS, self->good);
	EXPECT_EQ(expected(), self->payload);
}

/* A damaged byte is one wrong CRC */
TEST_F(iwarp, crc)
{
	stream_make(self->dir, 3);
	self->dir[0].b[self->dir[0].len - 30] ^= 4;
	open_stream(self);
	for (size_t at = 40; at < self->dir[0].len; at += 400)
		feed(self, false, 0x10, at, at + 400 < self->dir[0].len ? at + 400 :
		     self->dir[0].len);
	EXPECT_EQ(STREAM_FPDUS - 1, self->good);
	EXPECT_EQ(1, self->bad);
}

/* A marker that points elsewhere, or has a reserved bit, is wrong, but can be removed */
TEST_F(iwarp, marker)
{
	static const uint8_t flip[] = { 0x80, 1, 2, 0x10 };

	for (unsigned int i = 0; i < sizeof(flip); i++) {
		/* the second one of the client's, since its FPDUs begin with one */
		stream_make(self->dir, 1);
		self->dir[0].b[40 + 512 + i] ^= flip[i];
		open_stream(self);
		for (size_t at = 40; at < self->dir[0].len; at += 400)
			feed(self, false, 0x10, at, at + 400 < self->dir[0].len ? at + 400 :
			     self->dir[0].len);
		EXPECT_EQ(STREAM_FPDUS, self->fpdus);
		EXPECT_EQ(1, self->markers);
	}
}

/* What is missing ends it, and memory with it; what does not begin as MPA is not looked at */
TEST_F(iwarp, gap)
{
	stream_make(self->dir, 0);
	open_stream(self);
	feed(self, false, 0x10, 50, 60);
	for (unsigned int i = 0; i < 1000; i++)
		feed(self, false, 0x10, 400 + i % 100, 800);
	EXPECT_EQ(0, self->fpdus);
	memset(self->dir[0].b, 'x', 40);
	open_stream(self);
	for (size_t at = 40; at < 4000; at += 400)
		feed(self, false, 0x10, at, at + 400);
	EXPECT_EQ(0, self->fpdus);
	EXPECT_EQ(1, self->frames);
}

/* A SYN takes a sequence number, and what comes behind one is another connection */
TEST_F(iwarp, syn)
{
	for (unsigned int again = 0; again < 2; again++) {
		stream_make(self->dir, 2);
		for (int back = 0; back < 2; back++) {
			struct stream_bytes *s = &self->dir[back];

			/* the SYN's number is that of a byte in front */
			memmove(s->b + 1, s->b, s->len);
			s->len++;
			feed(self, back, 0x02, 0, 0);
			for (size_t at = 1; at < s->len; at += 500)
				feed(self, back, 0x10, at, at + 500 < s->len ? at + 500 : s->len);
		}
		EXPECT_EQ(2 * (again + 1), self->frames);
		EXPECT_EQ(2 * (again + 1) * STREAM_FPDUS, self->fpdus);
		EXPECT_EQ(0, self->bad);
	}
}

/* Two clients may have the same port */
TEST_F(iwarp, hosts)
{
	stream_make(self->dir, 2);
	open_stream(self);
	self->host = 3;
	feed(self, false, 0x10, 0, 40);
	EXPECT_EQ(3, self->frames);
	for (self->host = 2; self->host < 4; self->host++) {
		for (size_t at = 40; at < self->dir[0].len; at += 400)
			feed(self, false, 0x10, at, at + 400 < self->dir[0].len ? at + 400 :
			     self->dir[0].len);
		EXPECT_EQ((self->host - 1) * STREAM_FPDUS, self->fpdus);
	}
	EXPECT_EQ(0, self->bad);
}

/* Request and Reply may come in pieces, as FPDUs do */
TEST_F(iwarp, pieces)
{
	for (size_t size = 1; size < 45; size++) {
		stream_make(self->dir, 2);
		self->frames = 0;
		self->fpdus = 0;
		feed(self, false, 0x04, 0, 0);
		for (int back = 0; back < 2; back++)
			for (size_t at = 0; at < self->dir[back].end[0]; at += size)
				feed(self, back, 0x10, at, at + size < self->dir[back].end[0] ?
				     at + size : self->dir[back].end[0]);
		EXPECT_EQ(2, self->frames) {
			TH_LOG("pieces of %zu", size);
		}
		EXPECT_EQ(2, self->fpdus);
		EXPECT_EQ(0, self->bad);
	}
}

/* A marker counts from the FPDU's length, or from the marker in front of that */
TEST_F(iwarp, marker_from)
{
	static const struct { unsigned int ahead, back, wrong; } all[] = {
		{ 0, 512, 0 }, { 0, 508, 0 }, { 0, 504, 1 }, { 0, 516, 1 },
		/* an FPDU that begins behind another */
		{ 1, 480, 0 }, { 1, 476, 1 },
	};

	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		stream_begin(&self->dir[0], "MPA ID Req Frame", 0, true);
		stream_begin(&self->dir[1], "MPA ID Rep Frame", 0x80, false);
		if (all[i].ahead)
			stream_fpdu(&self->dir[0], 0, 4);
		stream_fpdu(&self->dir[0], 0, 1000);
		if (!all[i].wrong && all[i].ahead)
			EXPECT_EQ(all[i].back, self->dir[0].b[40 + 512 + 3] +
				  256u * self->dir[0].b[40 + 512 + 2]);
		put(self->dir[0].b, 40 + 512 + 2, 2, all[i].back);
		open_stream(self);
		feed(self, false, 0x10, 40, self->dir[0].len);
		EXPECT_EQ(1 + all[i].ahead, self->fpdus);
		EXPECT_EQ(all[i].wrong, self->markers) {
			TH_LOG("row %u", i);
		}
	}
}

/* As many connections as are kept: those that are not iWARP's go first, then the silent one */
TEST_F(iwarp, room)
{
	stream_make(self->dir, 2);
	open_stream(self);
	/* one of which only the beginning of its frame is there */
	self->port = 50001;
	feed(self, false, 0x10, 0, 10);
	for (self->port = 51000; self->port < 51600; self->port++) {
		if (self->port % 2)
			feed(self, false, 0x02, 0, 0);
		else
			feed(self, false, 0x10, 100, 110);
	}
	EXPECT_EQ(0, iwarp_forgotten(self->w));
	self->port = 50001;
	feed(self, false, 0x10, 10, 40);
	EXPECT_EQ(3, self->frames);
	for (self->port = 52000; self->port < 52254; self->port++)
		feed(self, false, 0x10, 0, 40);
	EXPECT_EQ(3 + 254, self->frames);
	EXPECT_EQ(0, iwarp_forgotten(self->w));
	/* the first is not silent */
	self->port = 50000;
	feed(self, false, 0x10, 40, self->dir[0].end[0]);
	EXPECT_EQ(1, self->fpdus);
	self->port = 53000;
	feed(self, false, 0x10, 0, 40);
	EXPECT_EQ(1, iwarp_forgotten(self->w));
	self->port = 50001;
	feed(self, false, 0x10, 40, self->dir[0].end[0]);
	EXPECT_EQ(1, self->fpdus);
	self->port = 50000;
	feed(self, false, 0x10, self->dir[0].end[0], self->dir[0].end[1]);
	EXPECT_EQ(2, self->fpdus);
}

TEST_HARNESS_MAIN
