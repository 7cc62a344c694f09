/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * iWARP on TCP, as siw does not send it: with markers, with CRCs, cut into segments of any
 * size.  Byte by byte like frames.h, on which it is built.
 */
#ifndef RTGT_STREAMS_H
#define RTGT_STREAMS_H

#include "frames.h"

#define STREAM_MAX	32768
#define STREAM_FPDUS	12
#define STREAM_SEQ	0xfffff000u	/* wraps on the way */

/**
 * struct stream_bytes - one direction's bytes
 * @b: bytes
 * @len: how many
 * @start: where the first FPDU begins
 * @markers: every 512 bytes from there
 * @end: of each FPDU
 * @nr: how many there are
 */
struct stream_bytes {
	uint8_t b[STREAM_MAX];
	size_t len, start;
	bool markers;
	size_t end[STREAM_FPDUS];
	unsigned int nr;
};

static inline void stream_put(struct stream_bytes *s, size_t fpdu, uint8_t byte)
{
	if (s->markers && s->start && (s->len - s->start) % 512 == 0) {
		const size_t back = s->len - fpdu;

		s->b[s->len++] = 0;
		s->b[s->len++] = 0;
		s->b[s->len++] = (uint8_t)(back >> 8);
		s->b[s->len++] = (uint8_t)back;
	}
	s->b[s->len++] = byte;
}

static inline uint32_t stream_crc(const uint8_t *b, size_t len)
{
	uint32_t crc = 0xffffffff;

	while (len--) {
		crc ^= *b++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

/* MPA's first frame, with IRD and ORD; @flags: 0x80 wants markers, 0x40 wants CRCs */
static inline void stream_begin(struct stream_bytes *s, const char *key, uint8_t flags,
				bool markers)
{
	memset(s, 0, sizeof(*s));
	memcpy(s->b, key, 16);
	s->b[16] = flags | 0x10;
	s->b[17] = 2;
	s->b[19] = 20;
	memcpy(s->b + 20, "\0\3\0\3RTGT\0\1\0\20", 12);
	s->len = 40;
	s->start = 40;
	s->markers = markers;
}

/* The n-th operation of RDMAP, with @payload bytes */
static inline void stream_fpdu(struct stream_bytes *s, unsigned int n, unsigned int payload)
{
	static const uint8_t ops[] = { 3, 0, 1, 2, 4, 5, 6 };
	const uint8_t op = ops[n % sizeof(ops)];
	const bool tagged = op == 0 || op == 2;
	const unsigned int head = tagged ? 14 : 18, len = head + (op == 1 ? 28 : payload);
	const size_t fpdu = s->len;
	uint32_t crc;

	stream_put(s, fpdu, (uint8_t)(len >> 8));
	stream_put(s, fpdu, (uint8_t)len);
	stream_put(s, fpdu, tagged ? 0xc1 : 0x41);
	stream_put(s, fpdu, 0x40 | op);
	for (unsigned int i = 2; i < len; i++) {
		/* queue, number and place of an untagged one are small numbers */
		const uint8_t number = i == 9 ? op == 1 : i == 13 ? (uint8_t)(n + 1) : 0;

		stream_put(s, fpdu, !tagged && i >= 6 && i < 18 ? number : (uint8_t)(i + n));
	}
	for (unsigned int pad = (0u - len - 2) & 3; pad; pad--)
		stream_put(s, fpdu, 0);
	/* a marker in front of the CRC is covered; none can be within: all is in units of four */
	if (s->markers && (s->len - s->start) % 512 == 0) {
		stream_put(s, fpdu, 0);
		s->len--;
	}
	crc = stream_crc(s->b + fpdu, s->len - fpdu);
	for (int i = 0; i < 4; i++)
		s->b[s->len++] = (uint8_t)(crc >> 8 * i);
	s->end[s->nr++] = s->len;
}

/* Bytes @from to @to of a direction as a segment; @back: from the server */
static inline void stream_segment(struct frame *f, const struct stream_bytes *s, bool back,
				  uint8_t flags,
				  uint16_t port, size_t from, size_t to)
{
	size_t len;

	frame_link(f, DLT_EN10MB, false, 0);
	frame_ip(f, 0);
	f->b[f->ip + 9] = 6;
	if (back)
		memcpy(f->b + f->ip + 12, "\xc0\0\2\1\xc0\0\2\2", 8);
	frame_put(f, back ? 7471 : port, 2);
	frame_put(f, back ? port : 7471, 2);
	frame_put(f, STREAM_SEQ + from, 4);
	frame_put(f, 0, 4);
	frame_put(f, 0x5000 | flags, 2);
	frame_put(f, 0xffff, 2);
	frame_put(f, 0, 4);
	memcpy(f->b + f->len, s->b + from, to - from);
	f->len += to - from;
	len = f->len - f->ip;
	f->b[f->ip + 2] = (uint8_t)(len >> 8);
	f->b[f->ip + 3] = (uint8_t)len;
}

/* Both directions; @kind: 1 the server wants markers, 2 both want CRCs, 4 the client wants
 * markers
 */
static inline void stream_make(struct stream_bytes dir[2], unsigned int kind)
{
	const uint8_t flags = kind & 2 ? 0x40 : 0;

	stream_begin(&dir[0], "MPA ID Req Frame", flags | (kind & 4 ? 0x80 : 0), kind & 1);
	stream_begin(&dir[1], "MPA ID Rep Frame", flags | (kind & 1 ? 0x80 : 0), kind & 4);
	for (unsigned int n = 0; n < STREAM_FPDUS; n++) {
		stream_fpdu(&dir[0], n, n * n * 11);
		stream_fpdu(&dir[1], n + 3, n * 7);
	}
}

#endif /* RTGT_STREAMS_H */
