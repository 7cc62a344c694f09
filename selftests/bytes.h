/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the unit tests and the fuzzer of the wire's decoders share: buffers that
 * end where they say, and fields by their place in a message instead of by the
 * structure under test.
 */
#ifndef RTGT_BYTES_H
#define RTGT_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct field - a number in a message and where it stands decoded
 * @name: for whoever reads a failure
 * @at: its first byte on the wire
 * @bytes: of it on the wire, the most significant first
 * @in: its place in the decoded structure
 * @size: bytes of it there
 */
struct field {
	const char *name;
	size_t at;
	size_t bytes;
	size_t in;
	size_t size;
};

/**
 * exact() - a copy whose last byte is the last of its allocation
 * @block: the allocation; what it was before is freed
 * @data: what to copy
 * @len: bytes, perhaps none
 *
 * One byte more is a finding of the address sanitizer.  The byte in front gives
 * nothing an allocation and the copy an odd address.
 *
 * Return: the copy.
 */
static inline void *exact(void **block, const void *data, size_t len)
{
	unsigned char *buf;

	free(*block);
	buf = malloc(len + 1);
	*block = buf;
	if (!buf)
		abort();
	return len ? memcpy(buf + 1, data, len) : buf + 1;
}

/**
 * put() - write a number, the most significant byte first
 * @buf: message
 * @at: first byte
 * @bytes: of the number
 * @value: the number; what does not fit is cut off
 */
static inline void put(void *buf, size_t at, size_t bytes, uint64_t value)
{
	unsigned char *p = buf;

	for (size_t i = 0; i < bytes; i++)
		p[at + i] = (unsigned char)(value >> (8 * (bytes - 1 - i)));
}

/**
 * host() - a number of a decoded structure
 * @from: structure
 * @f: its field
 *
 * Return: the number.
 */
static inline uint64_t host(const void *from, const struct field *f)
{
	const char *p = (const char *)from + f->in;
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;

	switch (f->size) {
	case 1:
		return *(const uint8_t *)p;
	case 2:
		return memcpy(&u16, p, sizeof(u16)), u16;
	case 4:
		return memcpy(&u32, p, sizeof(u32)), u32;
	default:
		return memcpy(&u64, p, sizeof(u64)), u64;
	}
}

/**
 * set_host() - the other way round
 * @to: structure
 * @f: its field
 * @value: the number
 */
static inline void set_host(void *to, const struct field *f, uint64_t value)
{
	char *p = (char *)to + f->in;
	uint32_t u32 = (uint32_t)value;
	uint16_t u16 = (uint16_t)value;

	switch (f->size) {
	case 1:
		*p = (char)value;
		break;
	case 2:
		memcpy(p, &u16, sizeof(u16));
		break;
	case 4:
		memcpy(p, &u32, sizeof(u32));
		break;
	default:
		memcpy(p, &value, sizeof(value));
	}
}

/* The numbers a field is tried with: its ends, its sign bit, and one in which every byte differs */
#define EDGES	7

/**
 * edge() - one of them
 * @i: 0 to EDGES - 1
 * @bytes: of the field
 *
 * Return: the number.
 */
static inline uint64_t edge(size_t i, size_t bytes)
{
	const uint64_t max = ~0ull >> (64 - 8 * bytes);
	const uint64_t edges[EDGES] = {
		0, 1, max / 2, max / 2 + 1, max - 1, max, 0xf1e2d3c4b5a69788ull & max,
	};

	return edges[i];
}

/* Where small numbers matter as well: those first, then the edges */
#define SMALL	256
#define MANY	(SMALL + EDGES)

/**
 * many() - one of them
 * @i: 0 to MANY - 1
 * @bytes: of the field
 *
 * Return: the number.
 */
static inline uint32_t many(uint32_t i, size_t bytes)
{
	return i < SMALL ? i : (uint32_t)edge(i - SMALL, bytes);
}

#endif /* RTGT_BYTES_H */
