// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * iwarp_mpa_test: the rules of user/libwire/rules_iwarp.c for MPA: Request and Reply, the first
 * message behind them, and markers.  What is behind an FPDU that nobody can read, and which
 * connection an FPDU belongs to.
 */
#include "iwarp_flow.h"

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
		/* ORD of the Reply and IRD of the Request; with 0x3fff an end names no number */
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

/* One end has IRD and ORD, the other has not: nothing is compared but that */
TEST_F(flow, one_has_depths)
{
	static const struct {
		uint8_t flags[2], revision;
		uint32_t depths[2];
		const char *rule;
	} all[] = {
		/* an older server: it need not answer the flag A, nor has it an ORD */
		{ { 0x10, 0 }, 1, { 0x80048004, 0 }, "" },
		{ { 0, 0x10 }, 2, { 0, 0x00000005 }, "mpa-revision " },
		{ { 0, 0x10 }, 2, { 0, 0x80048004 }, "mpa-revision " },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		hang_up(self);
		mpa(self, CLIENT, all[i].flags[0], 2, all[i].flags[0] ? 4 : 0, all[i].depths[0]);
		mpa(self, SERVER, all[i].flags[1], all[i].revision, all[i].flags[1] ? 4 : 0,
		    all[i].depths[1]);
		EXPECT_STREQ(all[i].rule, self->rule) {
			TH_LOG("row %zu", i);
		}
	}
}

/* What follows an FPDU that nobody may believe is not judged by what was before that */
TEST_F(flow, behind_corrupt)
{
	talk(self);
	self->wrong_crc = true;
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 3, 0, 8);
	self->wrong_crc = false;
	EXPECT_BROKEN("mpa-crc");
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 4, 0, 8);
	EXPECT_STREQ("mpa-crc ", self->rule);
}

/* A READ request that nobody may believe may have been right: its response is no stranger */
TEST_F(flow, behind_corrupt_read)
{
	talk(self);
	self->wrong_crc = true;
	read_request(self, CLIENT, 2, 100);
	self->wrong_crc = false;
	read_response(self, LAST, 0x40, 100);
	EXPECT_STREQ("mpa-crc ", self->rule);
}

/* An FPDU whose headers are wrong has a number all the same */
TEST_F(flow, behind_no_operation)
{
	talk(self);
	untagged(self, CLIENT, LAST, 0xf, 0, 3, 0, 8);
	EXPECT_BROKEN("iwarp-header");
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 4, 0, 8);
	EXPECT_STREQ("iwarp-header ", self->rule);
}

/* A client may use one port for two servers */
TEST_F(flow, two_servers)
{
	struct _test_data_flow *other = calloc(1, sizeof(*other));

	ASSERT_NE(NULL, other);
	talk(self);
	for (int from = 0; from < 2; from++) {
		stream_begin(&other->dir[from], from ? "MPA ID Rep Frame" : "MPA ID Req Frame",
			     0x40, false);
		stream_segment(&self->frame, &other->dir[from], from, 0x10, 50000, 0, 40);
		self->frame.b[self->frame.ip + (from ? 15 : 19)] = 9;
		captured(self, 0);
	}
	free(other);
	EXPECT_EQ(0, self->connections);
	/* the first connection is judged still */
	untagged(self, CLIENT, LAST, PKT_RDMAP_SEND, 0, 9, 0, 8);
	EXPECT_BROKEN("ddp-msn");
}

/* A server that fails in the middle of a response says so at once */
TEST_F(flow, terminate_in_response)
{
	uint8_t head[16 + 4] = {};

	talk(self);
	read_request(self, CLIENT, 2, 2000);
	read_response(self, 0, 0x40, 1000);
	put(head, 4, 4, 2);
	put(head, 8, 4, 1);
	fpdu(self, SERVER, LAST, PKT_RDMAP_TERMINATE, head, sizeof(head), 0);
	EXPECT_STREQ("", self->rule);
}

TEST_HARNESS_MAIN
