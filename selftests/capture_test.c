// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * capture_test: user/libwire/pcapng.c and capture.c, under the address and the undefined behaviour
 * sanitizer: files of several sections and interfaces, and files that lie.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "frames.h"
#include "leaks.h"
#include "libwire/capture.h"

#include "kselftest_harness.h"

/**
 * struct reading - a file, and what is read of it
 * @file: has no name but its number
 */
struct reading {
	FILE *file;
	struct block k;
	struct frame f;
	struct capture *c;
	struct rtgt_err err;
	struct pkt p;
};

FIXTURE(capture)
{
	struct reading r;
};

FIXTURE_SETUP(capture)
{
	self->r.file = tmpfile();
	ASSERT_NE(NULL, self->r.file);
	frame_make(&self->r.f, 0);
}

FIXTURE_TEARDOWN(capture)
{
	if (self->r.c)
		capture_close(self->r.c);
	fclose(self->r.file);
	EXPECT_EQ(0, leaked());
}

/* What was written is read from here on */
static int reading(struct reading *r)
{
	char path[64];

	fflush(r->file);
	snprintf(path, sizeof(path), "/dev/fd/%d", fileno(r->file));
	return capture_open_file(&r->c, path, &r->err);
}

static int next(struct reading *r)
{
	return capture_next(r->c, &r->p, &r->err);
}

static bool put_packet(struct reading *r, uint32_t interface, uint64_t time)
{
	return block_packet(&r->k, interface, time, r->f.b, (uint32_t)r->f.len,
			    (uint32_t)r->f.len, r->file);
}

/* Sections in both orders of bytes; interfaces of other link layers, units and times in each */
TEST_F(capture, sections)
{
	static const struct {
		bool big;
		uint16_t link;
		uint8_t resolution;
		int64_t offset;
		uint64_t time, ns;
	} want[] = {
		{ false, DLT_EN10MB, 0, 0, 1000001, 1000001000 },
		{ false, DLT_EN10MB, 9, 0, 1000000001, 1000000001 },
		{ true, DLT_LINUX_SLL, 3, 0, 5001, 5001000000 },
		{ true, 101, 0x8a, 7, 1024 + 512, 8500000000 },
		{ false, DLT_LINUX_SLL2, 12, 0, 1000000123456, 1000000123 },
		{ false, DLT_EN10MB, 6, -1, 3000000, 2000000000 },
		{ true, DLT_EN10MB, 0x80 | 63, 0, 1ull << 62, 500000000 },
		{ true, DLT_EN10MB, 19, 0, 10000000000000000000ull, 1000000000 },
		{ false, DLT_EN10MB, 0x80 | 35, 0, (11ull << 35) - 1, 10999999999 },
		{ false, DLT_EN10MB, 0x80 | 40, 0, (11ull << 40) - 1, 10999999999 },
	};
	const unsigned int nr = sizeof(want) / sizeof(want[0]);
	char text[64];

	for (unsigned int i = 0; i < nr; i++) {
		if (i % 2 == 0)
			ASSERT_TRUE(block_section(&self->r.k, want[i].big, self->r.file));
		frame_link(&self->r.f, want[i].link == 101 ? DLT_RAW : want[i].link, i & 1, 0);
		frame_ip(&self->r.f, 0);
		frame_op(&self->r.f, &frame_ops[0], 8);
		ASSERT_TRUE(block_interface(&self->r.k, want[i].link, 0, want[i].resolution,
					    want[i].offset, self->r.file));
		ASSERT_TRUE(put_packet(&self->r, i % 2, want[i].time));
	}
	ASSERT_EQ(0, reading(&self->r));
	for (unsigned int i = 0; i < nr; i++) {
		ASSERT_EQ(1, next(&self->r)) {
			TH_LOG("packet %u: %s", i + 1, self->r.err.text);
		}
		EXPECT_EQ(i + 1, self->r.p.number);
		EXPECT_EQ(PKT_ICRC_OK, self->r.p.icrc);
		EXPECT_EQ(want[i].ns, self->r.p.ns) {
			TH_LOG("packet %u", i + 1);
		}
		EXPECT_STREQ(i & 1 ? "2001:db8::2" : "192.0.2.2",
			     pkt_src(&self->r.p, text, sizeof(text)));
	}
	EXPECT_EQ(0, next(&self->r));
}

/* The other two kinds of packets, and blocks that hold none */
TEST_F(capture, blocks)
{
	struct block *k = &self->r.k;
	const uint32_t len = (uint32_t)self->r.f.len;

	ASSERT_TRUE(block_section(k, false, self->r.file));
	ASSERT_TRUE(block_interface(k, DLT_EN10MB, 44, 0, 0, self->r.file));
	/* statistics, names, keys, one's own */
	for (unsigned int i = 0; i < 4; i++) {
		static const uint32_t types[] = { 5, 4, 10, 0x80000123 };

		block_begin(k, types[i]);
		block_put(k, 0, 8);
		ASSERT_TRUE(block_end(k, self->r.file));
	}
	block_begin(k, 3);
	block_put(k, len, 4);
	memcpy(k->b + k->len, self->r.f.b, 44);
	k->len += 44;
	ASSERT_TRUE(block_end(k, self->r.file));
	/* of two bytes an interface, of two bytes the packets that were dropped before */
	block_begin(k, 2);
	block_put(k, 0, 2);
	block_put(k, 0xffff, 2);
	block_put(k, 0, 4);
	block_put(k, 3, 4);
	block_put(k, len, 4);
	block_put(k, len, 4);
	memcpy(k->b + k->len, self->r.f.b, len);
	k->len += len;
	ASSERT_TRUE(block_end(k, self->r.file));
	ASSERT_EQ(0, reading(&self->r));
	ASSERT_EQ(1, next(&self->r));
	EXPECT_EQ(44, self->r.p.caplen);
	EXPECT_EQ(len, self->r.p.len);
	EXPECT_EQ(PKT_CUT, self->r.p.fault);
	ASSERT_EQ(1, next(&self->r));
	EXPECT_EQ(3000, self->r.p.ns);
	EXPECT_EQ(PKT_WHOLE, self->r.p.fault);
	EXPECT_EQ(0, next(&self->r));
}

/* A filter holds for each link layer */
TEST_F(capture, filtered)
{
	ASSERT_TRUE(block_section(&self->r.k, true, self->r.file));
	for (uint32_t i = 0; i < 6; i++) {
		const int link = i % 3 == 1 ? DLT_LINUX_SLL : DLT_EN10MB;

		ASSERT_TRUE(block_interface(&self->r.k, (uint16_t)link, 0, 0, 0, self->r.file));
		frame_link(&self->r.f, link, i > 2, 0);
		frame_ip(&self->r.f, 0);
		frame_op(&self->r.f, &frame_ops[0], 8);
		ASSERT_TRUE(put_packet(&self->r, i, i));
	}
	ASSERT_EQ(0, reading(&self->r));
	ASSERT_EQ(-EINVAL, capture_filter(self->r.c, "no such", &self->r.err));
	capture_close(self->r.c);
	rewind(self->r.file);
	ASSERT_EQ(0, reading(&self->r));
	ASSERT_EQ(0, capture_filter(self->r.c, "ip6", &self->r.err));
	for (uint64_t i = 3; i < 6; i++) {
		ASSERT_EQ(1, next(&self->r));
		EXPECT_EQ(i * 1000, self->r.p.ns);
		EXPECT_EQ(i - 2, self->r.p.number);
	}
	EXPECT_EQ(0, next(&self->r));
}

/* No packet of a link layer that libpcap has no filters for matches one */
TEST_F(capture, not_filtered)
{
	ASSERT_TRUE(block_section(&self->r.k, false, self->r.file));
	for (uint32_t i = 0; i < 6; i++) {
		ASSERT_TRUE(block_interface(&self->r.k, i & 1 ? DLT_EN10MB : 220, 0, 0, 0,
					    self->r.file));
		ASSERT_TRUE(put_packet(&self->r, i, i));
	}
	ASSERT_EQ(0, reading(&self->r));
	ASSERT_EQ(0, capture_filter(self->r.c, "udp port 4791", &self->r.err));
	for (uint64_t i = 1; i < 6; i += 2) {
		ASSERT_EQ(1, next(&self->r));
		EXPECT_EQ(i * 1000, self->r.p.ns);
	}
	EXPECT_EQ(0, next(&self->r));
}

/* An error names the packet behind those that were read, and what is wrong */
#define REFUSED(n, words) do { \
	EXPECT_GT(0, next(&self->r)); \
	EXPECT_NE(NULL, strstr(self->r.err.text, "packet " #n ": ")); \
	EXPECT_NE(NULL, strstr(self->r.err.text, words)) { \
		TH_LOG("%s", self->r.err.text); \
	} \
} while (0)

/* It ends anywhere: what is before is read, and the end is an error unless a block ends there */
TEST_F_TIMEOUT(capture, short_file, 120)
{
	long whole, blocks[3];
	static uint8_t all[8192];

	ASSERT_TRUE(block_section(&self->r.k, false, self->r.file));
	blocks[0] = ftell(self->r.file);
	ASSERT_TRUE(block_interface(&self->r.k, DLT_EN10MB, 0, 0, 0, self->r.file));
	blocks[1] = ftell(self->r.file);
	ASSERT_TRUE(put_packet(&self->r, 0, 1));
	blocks[2] = ftell(self->r.file);
	ASSERT_TRUE(put_packet(&self->r, 0, 2));
	whole = ftell(self->r.file);
	rewind(self->r.file);
	ASSERT_EQ((size_t)whole, fread(all, 1, sizeof(all), self->r.file));
	for (long len = 1; len <= whole; len++) {
		const bool at_end = len == blocks[0] || len == blocks[1] || len == blocks[2] ||
				    len == whole;
		int ret, nr = 0;

		fclose(self->r.file);
		self->r.file = tmpfile();
		fwrite(all, 1, (size_t)len, self->r.file);
		ASSERT_EQ(0, reading(&self->r));
		while ((ret = next(&self->r)) == 1)
			nr++;
		ASSERT_EQ(at_end ? 0 : -EIO, ret) {
			TH_LOG("%ld of %ld bytes", len, whole);
		}
		ASSERT_EQ(len == whole ? 2 : len >= blocks[2] ? 1 : 0, nr);
		capture_close(self->r.c);
		self->r.c = NULL;
	}
}

/* What no writer writes */
static void lie(struct reading *r, unsigned int n)
{
	struct block *k = &r->k;

	block_section(k, false, r->file);
	block_interface(k, DLT_EN10MB, 0, 0, 0, r->file);
	switch (n) {
	case 0:		/* an interface that is not described */
		put_packet(r, 1, 0);
		break;
	case 1:		/* longer than its block */
		block_packet(k, 0, 0, r->f.b, 16, 16, r->file);
		fseek(r->file, -28, SEEK_CUR);
		block_begin(k, 0);
		block_put(k, 1 << 20, 4);
		fwrite(k->b + 8, 1, 4, r->file);
		break;
	case 2:		/* two lengths */
		put_packet(r, 0, 0);
		fseek(r->file, -4, SEEK_CUR);
		fputc(1, r->file);
		break;
	case 3:		/* a block of 16 MiB and more */
	case 4:		/* of an odd length */
	case 5:		/* of less than its lengths */
		k->len = 0;
		block_put(k, 6, 4);
		block_put(k, n == 3 ? (1 << 24) + 4 : n == 4 ? 33 : 8, 4);
		fwrite(k->b, 1, 8, r->file);
		break;
	case 6:		/* a packet without room for its lengths */
		block_begin(k, 6);
		block_put(k, 0, 8);
		block_end(k, r->file);
		break;
	case 7:		/* an option that reaches out of its block */
		block_begin(k, 1);
		block_put(k, DLT_EN10MB, 8);
		block_put(k, 9, 2);
		block_put(k, 100, 2);
		block_end(k, r->file);
		break;
	case 8:		/* time in units of nothing */
		block_interface(k, DLT_EN10MB, 0, 20, 0, r->file);
		break;
	case 9:
		block_begin(k, 0x0a0d0d0a);
		block_put(k, 0x12345678, 4);
		block_put(k, 1, 4);
		block_put(k, UINT64_MAX, 8);
		block_end(k, r->file);
		break;
	case 10:	/* version 2 */
		block_begin(k, 0x0a0d0d0a);
		block_put(k, 0x1a2b3c4d, 4);
		block_put(k, 2, 4);
		block_put(k, UINT64_MAX, 8);
		block_end(k, r->file);
		break;
	case 11:	/* the next section knows nothing of the interfaces of this one */
		block_section(k, true, r->file);
		put_packet(r, 0, 0);
		break;
	}
}

TEST_F(capture, lies)
{
	static const char *const words[] = {
		"interface 1, which is not described", "1048576 bytes of it", "two lengths",
		"a block of 16777220 bytes", "a block of 33 bytes", "a block of 8 bytes",
		"a packet's block of 20 bytes", "an option of 100 bytes", "unit of time",
		"byte-order magic", "version 2", "interface 0, which is not described",
	};

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		fclose(self->r.file);
		self->r.file = tmpfile();
		lie(&self->r, i);
		ASSERT_EQ(0, reading(&self->r));
		REFUSED(1, words[i]);
		capture_close(self->r.c);
		self->r.c = NULL;
	}
}

/* It begins as a section header does, and is none */
TEST_F(capture, other_files)
{
	fputs("\n\r\r\n no pcapng at all, whatever it begins with", self->r.file);
	ASSERT_EQ(0, reading(&self->r));
	REFUSED(1, "byte-order magic");
	capture_close(self->r.c);
	self->r.c = NULL;
	rewind(self->r.file);
	fputs("\n#!/bin/sh, and no capture either, but long enough", self->r.file);
	ASSERT_EQ(0, reading(&self->r));
	EXPECT_GT(0, next(&self->r));
}

/* Of a link layer that is not known each packet says so; the others are read */
TEST_F(capture, unknown_link)
{
	ASSERT_TRUE(block_section(&self->r.k, false, self->r.file));
	ASSERT_TRUE(block_interface(&self->r.k, 147, 0, 0, 0, self->r.file));
	ASSERT_TRUE(block_interface(&self->r.k, DLT_EN10MB, 0, 0, 0, self->r.file));
	ASSERT_TRUE(put_packet(&self->r, 0, 1));
	ASSERT_TRUE(put_packet(&self->r, 1, 2));
	ASSERT_EQ(0, reading(&self->r));
	ASSERT_EQ(1, next(&self->r));
	EXPECT_EQ(PKT_LINK, self->r.p.fault);
	ASSERT_EQ(1, next(&self->r));
	EXPECT_EQ(PKT_WHOLE, self->r.p.fault);
	EXPECT_EQ(0, next(&self->r));
}

/* A call that waits ends, and so do those behind it */
TEST_F(capture, stopped)
{
	ASSERT_TRUE(block_section(&self->r.k, false, self->r.file));
	ASSERT_TRUE(block_interface(&self->r.k, DLT_EN10MB, 0, 0, 0, self->r.file));
	ASSERT_TRUE(put_packet(&self->r, 0, 1));
	ASSERT_TRUE(put_packet(&self->r, 0, 2));
	ASSERT_EQ(0, reading(&self->r));
	ASSERT_EQ(1, next(&self->r));
	capture_stop(self->r.c);
	EXPECT_EQ(0, next(&self->r));
}

/* The packets of one interface, by its name, in all three kinds of blocks and in each section */
TEST_F(capture, one_interface)
{
	static const char *const names[] = { "first", "second", "first " };
	struct block *k = &self->r.k;
	const uint32_t len = (uint32_t)self->r.f.len;

	for (uint64_t section = 0; section < 2; section++) {
		ASSERT_TRUE(block_section(k, section, self->r.file));
		for (unsigned int i = 0; i < 3; i++) {
			block_begin(k, 1);
			block_put(k, DLT_EN10MB, 2);
			block_put(k, 0, 6);
			block_put(k, 2, 2);
			block_put(k, strlen(names[i]), 2);
			memcpy(k->b + k->len, names[i], strlen(names[i]));
			k->len += (strlen(names[i]) + 3) / 4 * 4;
			block_option(k, 0, 0, 0);
			ASSERT_TRUE(block_end(k, self->r.file));
		}
		for (uint32_t i = 0; i < 3; i++)
			ASSERT_TRUE(put_packet(&self->r, i, i + 10 * section));
		/* simple: of the first one */
		block_begin(k, 3);
		block_put(k, len, 4);
		memcpy(k->b + k->len, self->r.f.b, len);
		k->len += len;
		ASSERT_TRUE(block_end(k, self->r.file));
		block_begin(k, 2);
		block_put(k, 1, 2);
		block_put(k, 0, 6);
		block_put(k, 5 + 10 * section, 4);
		block_put(k, len, 4);
		block_put(k, len, 4);
		memcpy(k->b + k->len, self->r.f.b, len);
		k->len += len;
		ASSERT_TRUE(block_end(k, self->r.file));
	}
	ASSERT_EQ(0, reading(&self->r));
	ASSERT_EQ(0, capture_only(self->r.c, "second", &self->r.err));
	for (uint64_t section = 0; section < 2; section++) {
		ASSERT_EQ(1, next(&self->r)) {
			TH_LOG("%s", self->r.err.text);
		}
		EXPECT_EQ((1 + 10 * section) * 1000, self->r.p.ns);
		ASSERT_EQ(1, next(&self->r));
		EXPECT_EQ((5 + 10 * section) * 1000, self->r.p.ns);
	}
	EXPECT_EQ(0, next(&self->r));
	capture_close(self->r.c);
	rewind(self->r.file);
	ASSERT_EQ(0, reading(&self->r));
	ASSERT_EQ(0, capture_only(self->r.c, "third", &self->r.err));
	EXPECT_EQ(-ENODEV, next(&self->r));
}

TEST_HARNESS_MAIN
