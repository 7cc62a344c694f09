/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames as they would be on a wire, of all operations and all ways to wrap them, for the
 * unit test, the fuzzer and the comparison with tshark: what captures of ours never hold.
 *
 * They are written byte by byte, and the CRC is computed bit by bit: nothing is shared
 * with the decoder under test.  Bytes without a meaning of their own count up, so that
 * none is like its neighbour.
 */
#ifndef RTGT_FRAMES_H
#define RTGT_FRAMES_H

#include <pcap/dlt.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FRAME_MAX	2048
#define FRAME_MASKED	16
/* The first byte of a fuzzer input: the rest is a capture file, or segments of a TCP stream */
#define FRAME_FUZZ_FILE		0x40
#define FRAME_FUZZ_STREAM	0x41

/**
 * struct frame - a frame while it is written
 * @b: bytes
 * @len: how many
 * @link: DLT_*
 * @v6: IPv6
 * @ip: where its IP header is; of RoCE v1 and InfiniBand, the first header that the ICRC covers
 * @udp: where its UDP header is; 0: it has none
 * @has_lrh: an LRH, at @lrh
 * @grh: where its GRH is; 0: it has none
 * @bth: where its BTH is
 * @masked: which bits the ICRC takes for ones
 * @count: the next byte without a meaning
 */
struct frame {
	uint8_t b[FRAME_MAX];
	size_t len;
	int link;
	bool v6;
	bool has_lrh;
	size_t ip, udp, lrh, grh, bth;
	struct {
		size_t at;
		uint8_t bits;
	} masked[FRAME_MASKED];
	unsigned int nr_masked;
	uint8_t count;
};

/* An operation: its opcode and the lengths of what is behind the BTH, as letters */
struct frame_op {
	uint8_t opcode;
	const char *ext;
};

/* i ImmDt, v IETH, a AETH: 4 bytes; d DETH, o AtomicAckETH: 8; r RETH: 16; t AtomicETH: 28;
 * f FETH, x XRCETH, e RDETH: 4
 */
static const struct frame_op frame_ops[] = {
	{ 0x00, "" }, { 0x01, "" }, { 0x02, "" }, { 0x03, "i" }, { 0x04, "" }, { 0x05, "i" },
	{ 0x06, "r" },
	{ 0x07, "" }, { 0x08, "" }, { 0x09, "i" }, { 0x0a, "r" }, { 0x0b, "ri" }, { 0x0c, "r" },
	{ 0x0d, "a" }, { 0x0e, "" }, { 0x0f, "a" }, { 0x10, "a" }, { 0x11, "a" }, { 0x12, "ao" },
	{ 0x13, "t" }, { 0x14, "t" }, { 0x16, "v" }, { 0x17, "v" }, { 0x1c, "fr" }, { 0x1d, "r" },
	{ 0x20, "" }, { 0x21, "" }, { 0x22, "" }, { 0x23, "i" }, { 0x24, "" }, { 0x25, "i" },
	{ 0x26, "r" },
	{ 0x27, "" }, { 0x28, "" }, { 0x29, "i" }, { 0x2a, "r" }, { 0x2b, "ri" },
	{ 0x64, "d" }, { 0x65, "di" },
};

#define FRAME_OPS	(sizeof(frame_ops) / sizeof(frame_ops[0]))

static inline void frame_put(struct frame *f, uint64_t value, size_t bytes)
{
	while (bytes--)
		f->b[f->len++] = (uint8_t)(value >> 8 * bytes);
}

static inline void frame_fill(struct frame *f, size_t bytes)
{
	while (bytes--)
		f->b[f->len++] = f->count++;
}

static inline uint32_t frame_crc(uint32_t crc, uint8_t byte)
{
	crc ^= byte;
	for (int i = 0; i < 8; i++)
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	return crc;
}

/* The ICRC of the bytes up to @f->len; RoCE has ones in the place of InfiniBand's LRH */
static inline uint32_t frame_icrc(const struct frame *f)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < 8 && !f->has_lrh; i++)
		crc = frame_crc(crc, 0xff);
	for (size_t i = f->ip; i < f->len; i++) {
		uint8_t byte = f->b[i];

		for (unsigned int m = 0; m < f->nr_masked; m++)
			if (f->masked[m].at == i)
				byte |= f->masked[m].bits;
		crc = frame_crc(crc, byte);
	}
	return ~crc;
}

/* The ICRC takes @bits of so many bytes from here on for ones */
static inline void frame_mask(struct frame *f, size_t at, uint8_t bits, size_t bytes)
{
	while (bytes--) {
		f->masked[f->nr_masked].at = at++;
		f->masked[f->nr_masked++].bits = bits;
	}
}

static inline void frame_mask_ip4(struct frame *f, size_t at)
{
	frame_mask(f, at + 1, 0xff, 1);
	frame_mask(f, at + 8, 0xff, 1);
	frame_mask(f, at + 10, 0xff, 2);
}

static inline void frame_mask_ip6(struct frame *f, size_t at)
{
	frame_mask(f, at, 0x0f, 1);
	frame_mask(f, at + 1, 0xff, 3);
	frame_mask(f, at + 7, 0xff, 1);
}

static inline void frame_link(struct frame *f, int link, bool v6, unsigned int vlans)
{
	const unsigned int type = v6 ? 0x86dd : 0x0800;

	memset(f, 0, sizeof(*f));
	f->link = link;
	f->v6 = v6;
	f->count = 1;
	if (link == DLT_EN10MB) {
		frame_put(f, 0x020000000001, 6);
		frame_put(f, 0x020000000002, 6);
		for (unsigned int i = vlans; i--; ) {
			frame_put(f, i ? 0x88a8 : 0x8100, 2);
			frame_put(f, 0x7064 + i, 2);
		}
		frame_put(f, type, 2);
	} else if (link == DLT_LINUX_SLL) {
		frame_put(f, 4, 2);
		frame_put(f, 1, 2);
		frame_put(f, 6, 2);
		frame_put(f, 0x020000000002, 6);
		frame_put(f, 0, 2);
		frame_put(f, type, 2);
	} else if (link == DLT_LINUX_SLL2) {
		frame_put(f, type, 2);
		frame_put(f, 0, 2);
		frame_put(f, 7, 4);
		frame_put(f, 1, 2);
		frame_put(f, 4, 1);
		frame_put(f, 6, 1);
		frame_put(f, 0x020000000002, 6);
		frame_put(f, 0, 2);
	}
	f->ip = f->len;
}

/* @more: bytes of options, or of an extension header; a multiple of eight */
static inline void frame_ip(struct frame *f, unsigned int more)
{
	if (f->v6) {
		frame_mask_ip6(f, f->ip);
		frame_put(f, 0x6ab12345, 4);
		frame_put(f, 0, 2);
		frame_put(f, more ? 60 : 17, 1);
		frame_put(f, 64, 1);
		frame_put(f, 0x20010db800000000, 8);
		frame_put(f, 2, 8);
		frame_put(f, 0x20010db800000000, 8);
		frame_put(f, 1, 8);
		if (more) {
			frame_put(f, 17, 1);
			frame_put(f, more / 8 - 1, 1);
			frame_put(f, 1, 1);
			frame_put(f, more - 4, 1);
			frame_put(f, 0, more - 4);
		}
	} else {
		frame_mask_ip4(f, f->ip);
		frame_put(f, 0x45 + more / 4, 1);
		frame_put(f, 0x6a, 1);
		frame_put(f, 0, 2);
		frame_put(f, 0x12344000, 4);
		frame_put(f, 0x4011beef, 4);
		frame_put(f, 0xc0000202, 4);
		frame_put(f, 0xc0000201, 4);
		for (unsigned int i = 0; i < more; i++)
			frame_put(f, i + 1 < more, 1);
	}
}

static inline void frame_udp(struct frame *f)
{
	f->udp = f->len;
	frame_mask(f, f->udp + 6, 0xff, 2);
	frame_put(f, 0xc001, 2);
	frame_put(f, 4791, 2);
	frame_put(f, 0, 4);
}

static inline void frame_bth(struct frame *f, uint8_t opcode, unsigned int pad, uint32_t qpn)
{
	f->bth = f->len;
	frame_mask(f, f->bth + 4, 0xff, 1);
	frame_put(f, opcode, 1);
	frame_put(f, 0x80 | pad << 4, 1);
	frame_put(f, 0x8123, 2);
	frame_put(f, 0xc0, 1);
	frame_put(f, qpn, 3);
	frame_put(f, 0x80, 1);
	frame_put(f, 0xfedcba, 3);
}

static inline void frame_set16(struct frame *f, size_t at, size_t value)
{
	f->b[at] = (uint8_t)(value >> 8);
	f->b[at + 1] = (uint8_t)value;
}

/* The lengths of what encloses, and the ICRC */
static inline void frame_end(struct frame *f)
{
	const size_t end = f->len + 4;

	if (f->udp) {
		frame_set16(f, f->udp + 4, end - f->udp);
		frame_set16(f, f->ip + (f->v6 ? 4 : 2), end - f->ip - (f->v6 ? 40 : 0));
	}
	if (f->grh)
		frame_set16(f, f->grh + 4, end - f->grh - 40);
	if (f->has_lrh)
		frame_set16(f, f->lrh + 4, (end - f->lrh) / 4);
	/* the low byte first */
	frame_put(f, __builtin_bswap32(frame_icrc(f)), 4);
}

static inline size_t frame_ext_len(char ext)
{
	return ext == 'd' || ext == 'o' ? 8 : ext == 'r' ? 16 : ext == 't' ? 28 : 4;
}

/* An operation, from the BTH on; @payload and @pad make a multiple of four */
static inline void frame_op(struct frame *f, const struct frame_op *op, unsigned int payload)
{
	const unsigned int pad = -payload & 3;

	if (!f->grh && !f->has_lrh)
		frame_udp(f);
	frame_bth(f, op->opcode, pad, 0x123456);
	for (const char *ext = op->ext; *ext; ext++)
		frame_fill(f, frame_ext_len(*ext));
	frame_fill(f, payload);
	frame_put(f, 0, pad);
	frame_end(f);
}

/* Two GIDs that carry IPv4 addresses */
static inline void frame_gids(uint8_t *b)
{
	for (size_t i = 0; i < 32; i++)
		if (i % 16 < 12)
			b[i] = i % 16 < 10 ? 0 : 0xff;
}

/* A message of the CM, its bytes counting up behind the IDs */
static inline void frame_cm(struct frame *f, unsigned int attr, uint64_t service)
{
	size_t cm;

	frame_udp(f);
	frame_bth(f, 0x64, 0, 1);
	frame_put(f, 0x80010000, 4);
	frame_put(f, 1, 4);
	frame_put(f, 0x01070203, 4);
	frame_put(f, 0, 4);
	frame_put(f, 0x1122334455667788, 8);
	frame_put(f, attr, 2);
	frame_put(f, 0, 6);
	cm = f->len;
	frame_fill(f, 232);
	if (attr == 0x10 && !f->v6)
		frame_gids(f->b + cm + 56);
	if (service) {
		f->len = cm + 8;
		frame_put(f, service, 8);
		f->b[cm + (attr == 0x10 ? 141 : 17)] = f->v6 ? 0x60 : 0x40;
		f->len = cm + 232;
	}
	frame_end(f);
}

/* Requests and answers that are all header */
static inline bool frame_no_payload(const struct frame_op *op)
{
	return op->opcode == 0x0c || op->opcode == 0x11 || strpbrk(op->ext, "otf");
}

/* The n-th of all frames; false: there are no more */
static inline bool frame_make(struct frame *f, unsigned int n)
{
	static const int links[] = { DLT_EN10MB, DLT_LINUX_SLL, DLT_LINUX_SLL2, DLT_RAW };
	static const struct frame_op only = { 0x0a, "r" };
	const unsigned int ops = 2 * FRAME_OPS, wraps = 4 * 2 * 2 * 3, cms = 2 * 14;

	if (n < ops) {
		frame_link(f, DLT_EN10MB, n & 1, 0);
		frame_ip(f, 0);
		/* what is acknowledged, and what not, with each syndrome */
		f->count = (uint8_t)(1 + 32 * (n % 4));
		frame_op(f, &frame_ops[n / 2], frame_no_payload(&frame_ops[n / 2]) ? 0 :
			 n / 2 % 3 * 5);
		return true;
	}
	n -= ops;
	if (n < wraps) {
		const unsigned int vlans = n / 16;

		frame_link(f, links[n & 3], n & 4, vlans);
		frame_ip(f, n & 8);
		frame_op(f, &only, n);
		return true;
	}
	n -= wraps;
	if (n >= cms)
		return false;
	frame_link(f, DLT_EN10MB, n & 1, 0);
	frame_ip(f, 0);
	/* REQ to APR, a REQ and a SIDR_REQ of rdma_cm, and what there is not */
	if (n / 2 < 11)
		frame_cm(f, 0x10 + n / 2, 0);
	else if (n / 2 < 13)
		frame_cm(f, n / 2 < 12 ? 0x10 : 0x17, 0x0000000001061d2f);
	else
		frame_cm(f, 0x7f, 0);
	return true;
}

/* RoCE v1; InfiniBand with a GRH and without; what Endace's cards write of both links */
enum frame_ib { FRAME_ROCE1, FRAME_LRH_GRH, FRAME_LRH, FRAME_ERF_LRH, FRAME_ERF_ETH, FRAME_IBS };

static inline void frame_erf(struct frame *f, uint8_t type)
{
	frame_put(f, 0x1122334455667788, 8);
	/* and an extension header behind this one */
	frame_put(f, 0x80 | type, 1);
	frame_put(f, 0x04, 1);
	frame_put(f, 0, 2);
	frame_put(f, 0, 2);
	frame_put(f, 0, 2);
	frame_put(f, 0x0300000000000000, 8);
	if (type == 2)
		frame_put(f, 0, 2);
}

static inline void frame_lrh(struct frame *f, bool grh)
{
	f->has_lrh = true;
	f->lrh = f->len;
	f->ip = f->len;
	frame_mask(f, f->lrh, 0xf0, 1);
	frame_put(f, 0x70, 1);
	frame_put(f, 0x50 | (grh ? 3 : 2), 1);
	frame_put(f, 0x0102, 2);
	frame_put(f, 0, 2);
	frame_put(f, 0x0304, 2);
}

static inline void frame_grh(struct frame *f)
{
	f->grh = f->len;
	frame_mask_ip6(f, f->grh);
	frame_put(f, 0x6ab12345, 4);
	frame_put(f, 0, 2);
	frame_put(f, 0x1b40, 2);
	frame_put(f, 0xfe80000000000000, 8);
	frame_put(f, 0x0200000000000002, 8);
	frame_put(f, 0xfe80000000000000, 8);
	frame_put(f, 0x0200000000000001, 8);
}

/* The n-th of the frames without an IP header; false: there are no more */
static inline bool frame_make_ib(struct frame *f, unsigned int n)
{
	const struct frame_op *op = &frame_ops[n / FRAME_IBS];
	const enum frame_ib kind = n % FRAME_IBS;

	if (n / FRAME_IBS >= FRAME_OPS)
		return false;
	memset(f, 0, sizeof(*f));
	f->count = (uint8_t)(1 + 32 * (n % 4));
	f->link = kind < FRAME_LRH_GRH ? DLT_EN10MB :
		  kind < FRAME_ERF_LRH ? DLT_INFINIBAND : DLT_ERF;
	if (f->link == DLT_ERF)
		frame_erf(f, kind == FRAME_ERF_ETH ? 2 : 21);
	if (kind == FRAME_ROCE1 || kind == FRAME_ERF_ETH) {
		frame_put(f, 0x020000000001, 6);
		frame_put(f, 0x020000000002, 6);
		if (n & 1)
			frame_put(f, 0x91007064, 4);
		frame_put(f, 0x8915, 2);
		f->ip = f->len;
	} else {
		frame_lrh(f, kind == FRAME_LRH_GRH);
	}
	if (kind == FRAME_ROCE1 || kind == FRAME_ERF_ETH || kind == FRAME_LRH_GRH)
		frame_grh(f);
	frame_op(f, op, frame_no_payload(op) ? 0 : n % 3 * 5);
	/* the link's own checksum, which a network card keeps to itself */
	if (f->has_lrh)
		frame_put(f, 0xabcd, 2);
	if (kind == FRAME_ERF_ETH)
		frame_put(f, 0xabcdef01, 4);
	if (f->link == DLT_ERF) {
		frame_set16(f, 10, f->len);
		frame_set16(f, 14, f->len - (f->has_lrh ? 24 : 26));
	}
	return true;
}

#endif /* RTGT_FRAMES_H */
