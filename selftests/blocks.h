/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Files in the format pcapng as other programs write them, for the unit test and the comparison
 * with tshark: block by block, in both orders of bytes.
 */
#ifndef RTGT_BLOCKS_H
#define RTGT_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BLOCKS_MAX	4096

/* A block while it is written: @big is the order of its section's bytes */
struct block {
	uint8_t b[BLOCKS_MAX];
	size_t len;
	bool big;
};

static inline void block_put(struct block *k, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		k->b[k->len++] = (uint8_t)(value >> 8 * (k->big ? bytes - 1 - i : i));
}

static inline void block_begin(struct block *k, uint32_t type)
{
	k->len = 0;
	block_put(k, type, 4);
	block_put(k, 0, 4);
}

/* Pads it, and puts its length at both ends; false: it could not be written */
static inline bool block_end(struct block *k, FILE *to)
{
	size_t len;

	while (k->len % 4)
		k->b[k->len++] = 0;
	len = k->len + 4;
	block_put(k, len, 4);
	k->len = 4;
	block_put(k, len, 4);
	return fwrite(k->b, 1, len, to) == len;
}

static inline void block_option(struct block *k, uint16_t code, uint64_t value, uint16_t bytes)
{
	block_put(k, code, 2);
	block_put(k, bytes, 2);
	block_put(k, value, bytes);
	while (k->len % 4)
		k->b[k->len++] = 0;
}

static inline bool block_section(struct block *k, bool big, FILE *to)
{
	k->big = big;
	block_begin(k, 0x0a0d0d0a);
	block_put(k, 0x1a2b3c4d, 4);
	block_put(k, 1, 2);
	block_put(k, 0, 2);
	block_put(k, UINT64_MAX, 8);
	return block_end(k, to);
}

/* @resolution: if_tsresol, 0: the default; @offset: if_tsoffset in seconds, 0: none */
static inline bool block_interface(struct block *k, uint16_t link, uint32_t snaplen,
				   uint8_t resolution, int64_t offset, FILE *to)
{
	block_begin(k, 1);
	block_put(k, link, 2);
	block_put(k, 0, 2);
	block_put(k, snaplen, 4);
	/* a comment, which nobody needs */
	block_option(k, 1, 0x61626364, 3);
	if (resolution)
		block_option(k, 9, resolution, 1);
	if (offset)
		block_option(k, 14, (uint64_t)offset, 8);
	block_option(k, 0, 0, 0);
	return block_end(k, to);
}

/* A packet of @len bytes of which @caplen were captured, @time in its interface's unit */
static inline bool block_packet(struct block *k, uint32_t interface, uint64_t time,
				const uint8_t *bytes, uint32_t caplen, uint32_t len, FILE *to)
{
	block_begin(k, 6);
	block_put(k, interface, 4);
	block_put(k, time >> 32, 4);
	block_put(k, (uint32_t)time, 4);
	block_put(k, caplen, 4);
	block_put(k, len, 4);
	memcpy(k->b + k->len, bytes, caplen);
	k->len += caplen;
	return block_end(k, to);
}

#endif /* RTGT_BLOCKS_H */
