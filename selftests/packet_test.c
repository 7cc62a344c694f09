// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * packet_test: user/libwire, which takes captured packets apart, under the address and the
 * undefined behaviour sanitizer.
 *
 * The frames come from frames.h, where they are written byte by byte with a CRC of its
 * own, and lie in allocations that end with them.
 */
#include "bytes.h"
#include "frames.h"
#include "libwire/fields.h"

#include "kselftest_harness.h"

FIXTURE(packet)
{
	void *block;		/* what exact() allocated last */
	struct frame f;
	struct pkt p;
};

FIXTURE_SETUP(packet)
{
}

FIXTURE_TEARDOWN(packet)
{
	free(self->block);
}

/* The frame as if @caplen bytes of it had been captured */
static void parse(void **block, struct pkt *p, const struct frame *f, size_t caplen)
{
	memset(p, 0xa5, sizeof(*p));
	p->data = exact(block, f->b, caplen);
	p->caplen = caplen;
	p->len = f->len;
	pkt_parse(p, f->link);
}

/* All that is there is shown, and fits */
static void show(const struct pkt *p)
{
	static char buf[8192];
	size_t n;

	pkt_line(p, buf, 256);
	for (const struct pkt_layout *l = pkt_layouts; l->nr; l++)
		for (unsigned int i = 0; i < l->nr; i++) {
			const struct pkt_field *f = &l->field[i];

			if (!pkt_has_layout(p, l) || !pkt_has_field(p, l, f))
				continue;
			n = pkt_field_print(p, l, f, buf, sizeof(buf));
			if (n > sizeof(buf) || (f->bits && f->bits <= 64 && n > PKT_FIELD_MIN))
				abort();
			if (f->words)
				f->words(pkt_field_value(p, l, f));
		}
}

static bool masked(const struct frame *f, size_t at, uint8_t bit)
{
	for (unsigned int m = 0; m < f->nr_masked; m++)
		if (f->masked[m].at == at && f->masked[m].bits & bit)
			return true;
	return false;
}

/* All frames are whole, and their ICRC is right */
TEST_F(packet, whole)
{
	unsigned int n;

	for (n = 0; frame_make(&self->f, n); n++) {
		parse(&self->block, &self->p, &self->f, self->f.len);
		show(&self->p);
		ASSERT_EQ(PKT_WHOLE, self->p.fault) {
			TH_LOG("frame %u: %s", n, pkt_fault_name(self->p.fault));
		}
		ASSERT_EQ(PKT_ICRC_OK, self->p.icrc) {
			TH_LOG("frame %u", n);
		}
		ASSERT_EQ(self->f.bth, self->p.at[PKT_BTH].off);
		ASSERT_EQ(self->f.b[self->f.bth], self->p.opcode);
		ASSERT_EQ(0xfedcba, self->p.psn);
		ASSERT_EQ(self->f.v6 ? 6 : 4, self->p.ip_version);
		ASSERT_NE(0, strcmp("unknown opcode", pkt_opcode_name(self->p.opcode)));
	}
	EXPECT_LT(100, n);
}

/* RoCE v1 and InfiniBand: whole, with their addresses; every bit that is covered breaks the ICRC */
TEST_F(packet, infiniband)
{
	char text[64];
	unsigned int n;

	for (n = 0; frame_make_ib(&self->f, n); n++) {
		const struct frame good = self->f;
		uint32_t payload;
		size_t end;

		ASSERT_TRUE(pkt_knows_link(good.link));
		parse(&self->block, &self->p, &self->f, good.len);
		show(&self->p);
		ASSERT_EQ(PKT_WHOLE, self->p.fault) {
			TH_LOG("frame %u: %s", n, pkt_fault_name(self->p.fault));
		}
		ASSERT_EQ(PKT_ICRC_OK, self->p.icrc) {
			TH_LOG("frame %u", n);
		}
		ASSERT_EQ(PKT_ROCE, self->p.kind);
		ASSERT_EQ(good.bth, self->p.at[PKT_BTH].off);
		ASSERT_EQ(0xfedcba, self->p.psn);
		ASSERT_STREQ(good.grh ? "fe80::200:0:0:2" : "lid-772", pkt_src(&self->p, text, 64));
		ASSERT_STREQ(good.grh ? "fe80::200:0:0:1" : "lid-258", pkt_dst(&self->p, text, 64));
		ASSERT_EQ(good.has_lrh ? 2 : 0, self->p.at[PKT_VCRC].len);
		payload = self->p.at[PKT_PAYLOAD].len;
		end = self->p.at[PKT_ICRC].off;
		for (size_t i = good.ip; i < end; i++) {
			for (uint8_t bit = 1; bit; bit <<= 1) {
				self->f.b[i] = good.b[i] ^ bit;
				parse(&self->block, &self->p, &self->f, good.len);
				ASSERT_TRUE(masked(&good, i, bit) ==
					    (self->p.icrc == PKT_ICRC_OK)) {
					TH_LOG("frame %u, byte %zu, bit 0x%02x", n, i, bit);
				}
			}
			self->f.b[i] = good.b[i];
		}
		for (size_t len = 0; len < end + 4; len++) {
			parse(&self->block, &self->p, &self->f, len);
			show(&self->p);
			ASSERT_EQ(PKT_CUT, self->p.fault) {
				TH_LOG("frame %u, %zu of %zu bytes", n, len, good.len);
			}
			/* the bytes behind the ICRC are no payload */
			if (self->p.kind != PKT_ROCE || !pkt_has_headers(&self->p))
				continue;
			ASSERT_EQ(payload, self->p.payload) {
				TH_LOG("frame %u, %zu of %zu bytes", n, len, good.len);
			}
		}
	}
	EXPECT_EQ(FRAME_IBS * FRAME_OPS, n);
}

/* What switches ask for is named: to send nothing, or nothing of some priorities */
TEST_F(packet, pause)
{
	char line[256];

	memset(&self->f, 0, sizeof(self->f));
	self->f.link = DLT_EN10MB;
	frame_put(&self->f, 0x0180c2000001, 6);
	frame_put(&self->f, 0x020000000002, 6);
	frame_put(&self->f, 0x88080001, 4);
	frame_put(&self->f, 0x1234, 2);
	self->f.len += 42;
	parse(&self->block, &self->p, &self->f, self->f.len);
	pkt_line(&self->p, line, sizeof(line));
	EXPECT_STREQ("PAUSE quanta=4660 payload=46", line);
	self->f.b[14] = 1;
	self->f.b[17] = 0x12;
	self->f.b[21] = 7;
	parse(&self->block, &self->p, &self->f, self->f.len);
	pkt_line(&self->p, line, sizeof(line));
	EXPECT_STREQ("PFC priority1=7 priority4=0 payload=46", line);
	self->f.b[14] = 9;
	parse(&self->block, &self->p, &self->f, self->f.len);
	pkt_line(&self->p, line, sizeof(line));
	EXPECT_STREQ("MAC control payload=46", line);
}

/* Every bit that the ICRC covers breaks it, and only those */
TEST_F(packet, icrc)
{
	for (unsigned int n = 0; frame_make(&self->f, n); n += 13) {
		const struct frame good = self->f;

		for (size_t i = self->f.bth; i < good.len; i++) {
			for (uint8_t bit = 1; bit; bit <<= 1) {
				const bool pad = i == good.bth + 1 && bit & 0x30;

				self->f.b[i] = good.b[i] ^ bit;
				parse(&self->block, &self->p, &self->f, good.len);
				/* what the padding takes may leave no room for the rest */
				ASSERT_TRUE(pad ||
					    (self->p.icrc == PKT_ICRC_BAD) == (i != good.bth + 4)) {
					TH_LOG("frame %u, byte %zu, bit 0x%02x", n, i, bit);
				}
			}
			self->f.b[i] = good.b[i];
		}
		/* routers change these */
		self->f.b[good.ip + (good.v6 ? 7 : 8)] ^= 0xff;
		self->f.b[good.ip + 1] ^= 0xff;
		self->f.b[good.udp + 6] ^= 0xff;
		parse(&self->block, &self->p, &self->f, good.len);
		ASSERT_EQ(PKT_ICRC_OK, self->p.icrc);
	}
}

/* Cut anywhere, it says so, and nothing behind is read */
TEST_F_TIMEOUT(packet, cut, 120)
{
	for (unsigned int n = 0; frame_make(&self->f, n); n++) {
		for (size_t len = 0; len < self->f.len; len++) {
			parse(&self->block, &self->p, &self->f, len);
			show(&self->p);
			ASSERT_EQ(PKT_CUT, self->p.fault) {
				TH_LOG("frame %u, %zu of %zu bytes", n, len, self->f.len);
			}
			ASSERT_NE(PKT_ICRC_OK, self->p.icrc);
			ASSERT_NE(PKT_ICRC_BAD, self->p.icrc);
		}
	}
}

/* Shorter on the wire than its headers say: their lengths are not believed */
TEST_F(packet, short_frame)
{
	for (unsigned int n = 0; frame_make(&self->f, n); n++) {
		struct frame f = self->f;

		for (f.len = 0; f.len < self->f.len; f.len++) {
			parse(&self->block, &self->p, &f, f.len);
			show(&self->p);
			ASSERT_NE(PKT_WHOLE, self->p.fault);
			ASSERT_NE(PKT_CUT, self->p.fault);
		}
	}
}

/* Padding behind the datagram is none of it */
TEST_F(packet, trailer)
{
	for (unsigned int n = 0; frame_make(&self->f, n); n++) {
		if (self->f.link != DLT_EN10MB || self->f.len + 6 > FRAME_MAX)
			continue;
		frame_put(&self->f, 0, 6);
		parse(&self->block, &self->p, &self->f, self->f.len);
		ASSERT_EQ(PKT_WHOLE, self->p.fault);
		ASSERT_EQ(PKT_ICRC_OK, self->p.icrc);
	}
}

/* Every value of every byte: nothing is read that is not there */
TEST_F(packet, bytes)
{
	for (unsigned int n = 0; frame_make(&self->f, n); n += 17) {
		const struct frame good = self->f;
		const size_t end = good.len < 120 ? good.len : 120;

		for (size_t i = 0; i < end; i++) {
			for (unsigned int value = 0; value < 256; value += 15) {
				self->f.b[i] = (uint8_t)value;
				parse(&self->block, &self->p, &self->f, good.len);
				show(&self->p);
			}
			self->f.b[i] = good.b[i];
		}
	}
}

static void make_op(struct frame *f, uint8_t opcode, unsigned int payload)
{
	for (size_t i = 0; i < FRAME_OPS; i++) {
		if (frame_ops[i].opcode != opcode)
			continue;
		frame_link(f, DLT_EN10MB, false, 0);
		frame_ip(f, 0);
		frame_op(f, &frame_ops[i], payload);
	}
}

/* What a program asks for, of a WRITE with everything */
TEST_F(packet, write)
{
	const struct pkt *p = &self->p;

	make_op(&self->f, PKT_WRITE_ONLY_IMM, 5);
	parse(&self->block, &self->p, &self->f, self->f.len);
	EXPECT_EQ(PKT_ROCE, p->kind);
	EXPECT_EQ(0x123456, p->qpn);
	EXPECT_EQ(0x0102030405060708, p->va);
	EXPECT_EQ(0x090a0b0c, p->rkey);
	EXPECT_EQ(0x0d0e0f10, p->dma_len);
	EXPECT_EQ(0x11121314, p->imm);
	EXPECT_EQ(5, p->at[PKT_PAYLOAD].len);
	EXPECT_EQ(3, p->pad);
	EXPECT_EQ(3, p->at[PKT_PAD].len);
	EXPECT_TRUE(p->ackreq && p->solicited && p->fecn && p->becn);
	EXPECT_EQ(0x8123, p->pkey);
	EXPECT_EQ(4791, p->dport);
	EXPECT_EQ(0, memcmp(p->src, "\xc0\x00\x02\x02", 4));
}

/* Atomics: FetchAdd adds what CompareSwap swaps in */
TEST_F(packet, atomic)
{
	make_op(&self->f, PKT_COMPARE_SWAP, 0);
	parse(&self->block, &self->p, &self->f, self->f.len);
	EXPECT_EQ(0x0d0e0f1011121314, self->p.swap);
	EXPECT_EQ(0x15161718191a1b1c, self->p.compare);
	make_op(&self->f, PKT_ATOMIC_ACK, 0);
	parse(&self->block, &self->p, &self->f, self->f.len);
	EXPECT_EQ(0x01, self->p.syndrome);
	EXPECT_EQ(0x020304, self->p.msn);
	EXPECT_EQ(0x05060708090a0b0c, self->p.orig);
}

/* What is no operation, and what has a payload that must not */
TEST_F(packet, opcodes)
{
	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		const bool named = strcmp("unknown opcode", pkt_opcode_name((uint8_t)opcode));
		const struct frame_op op = { (uint8_t)opcode, "r" };

		frame_link(&self->f, DLT_EN10MB, true, 0);
		frame_ip(&self->f, 0);
		frame_op(&self->f, &op, 32);
		parse(&self->block, &self->p, &self->f, self->f.len);
		ASSERT_EQ(named, self->p.fault != PKT_OPCODE) {
			TH_LOG("opcode 0x%02x", opcode);
		}
		ASSERT_EQ(PKT_ICRC_OK, self->p.icrc);
	}
	make_op(&self->f, PKT_ACK, 4);
	parse(&self->block, &self->p, &self->f, self->f.len);
	EXPECT_EQ(PKT_LENGTH, self->p.fault);
}

/* Fragments are told, and not taken for what they are not */
TEST_F(packet, fragment)
{
	make_op(&self->f, PKT_WRITE_ONLY, 64);
	self->f.b[self->f.ip + 6] = 0x20;
	parse(&self->block, &self->p, &self->f, self->f.len);
	EXPECT_EQ(PKT_FRAGMENT, self->p.fault);
	EXPECT_EQ(PKT_WRITE_ONLY, self->p.opcode);
	EXPECT_EQ(PKT_ICRC_NONE, self->p.icrc);
	self->f.b[self->f.ip + 7] = 1;
	parse(&self->block, &self->p, &self->f, self->f.len);
	EXPECT_EQ(PKT_FRAGMENT, self->p.fault);
	EXPECT_EQ(PKT_OTHER, self->p.kind);
}

/* rtgt's REP in a REP: which it is, and that the fields of all regions that it has are there */
TEST_F(packet, private_data)
{
	uint8_t *b;
	unsigned int regions = 0;

	frame_link(&self->f, DLT_EN10MB, false, 0);
	frame_ip(&self->f, 0);
	frame_cm(&self->f, PKT_CM_REP, 0);
	parse(&self->block, &self->p, &self->f, self->f.len);
	EXPECT_EQ(0, self->p.at[PKT_RTGT_REP].len);
	EXPECT_EQ(196, self->p.at[PKT_PRIVATE].len);
	b = self->f.b + self->p.at[PKT_PRIVATE].off;
	memcpy(b + 20, "RTGT\0\1\0\144", 8);
	parse(&self->block, &self->p, &self->f, self->f.len);
	ASSERT_EQ(100, self->p.at[PKT_RTGT_REP].len);
	for (const struct pkt_layout *l = pkt_layouts; l->nr; l++)
		for (unsigned int i = 0; i < l->nr; i++)
			regions += l->header == PKT_RTGT_REP &&
				pkt_has_field(&self->p, l, &l->field[i]) &&
				   strstr(l->field[i].label, "bytes") &&
					strstr(l->field[i].label, "region");
	EXPECT_EQ(3, regions);
	memset(b, 0, 196);
	memset(b, 7, 12);
	parse(&self->block, &self->p, &self->f, self->f.len);
	EXPECT_EQ(12, self->p.at[PKT_CAP].len);
	memset(b, 7, 20);
	parse(&self->block, &self->p, &self->f, self->f.len);
	EXPECT_EQ(20, self->p.at[PKT_CAP].len);
	b[20] = 1;
	parse(&self->block, &self->p, &self->f, self->f.len);
	EXPECT_EQ(0, self->p.at[PKT_CAP].len);
}

TEST_HARNESS_MAIN
