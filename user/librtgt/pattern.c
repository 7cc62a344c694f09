// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Patterns: every eight bytes are a hash of the seed and their own position, so
 * data that is stale, shifted, swapped or from another run does not pass for
 * the one expected.
 */
#include <endian.h>
#include <string.h>
#include <zlib.h>

#include <rtgt/pattern.h>
#include <rtgt/rtgt.h>

/* The finaliser of splitmix64: every bit of the input reaches every bit of the output */
static uint64_t word(uint64_t seed, uint64_t index)
{
	uint64_t x = seed + (index + 1) * 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return htole64(x ^ (x >> 31));
}

static void fill(uint8_t *buf, size_t len, uint64_t seed, uint64_t flip)
{
	for (size_t at = 0; at < len; at += 8) {
		uint64_t w = word(seed, at / 8) ^ flip;

		memcpy(buf + at, &w, len - at < 8 ? len - at : 8);
	}
}

/**
 * rtgt_pattern_fill() - write a pattern
 * @buf: where to
 * @len: bytes
 * @seed: which pattern
 */
void rtgt_pattern_fill(void *buf, size_t len, uint64_t seed)
{
	fill(buf, len, seed, 0);
}

/**
 * rtgt_pattern_invert() - write what differs from a pattern in every byte
 * @buf: where to
 * @len: bytes
 * @seed: which pattern
 */
void rtgt_pattern_invert(void *buf, size_t len, uint64_t seed)
{
	fill(buf, len, seed, ~0ull);
}

/**
 * rtgt_pattern_verify() - is it that pattern?
 * @buf: to look at
 * @len: bytes
 * @seed: which pattern
 * @diff: filled when it is not
 *
 * Return: true when a byte differs.
 */
bool rtgt_pattern_verify(const void *buf, size_t len, uint64_t seed, struct rtgt_diff *diff)
{
	const uint8_t *bytes = buf;

	for (size_t at = 0; at < len; at += 8) {
		size_t n = len - at < 8 ? len - at : 8;
		uint64_t w = word(seed, at / 8);
		const uint8_t *want = (const uint8_t *)&w;

		if (!memcmp(bytes + at, want, n))
			continue;
		for (size_t i = 0; i < n; i++) {
			if (bytes[at + i] == want[i])
				continue;
			*diff = (struct rtgt_diff) { at + i, want[i], bytes[at + i] };
			return true;
		}
	}
	return false;
}

/**
 * rtgt_bytes_verify() - are they all that byte?
 * @buf: to look at
 * @len: bytes
 * @byte: the one expected
 * @diff: filled when one is not
 *
 * Return: true when a byte differs.
 */
bool rtgt_bytes_verify(const void *buf, size_t len, uint8_t byte, struct rtgt_diff *diff)
{
	const uint8_t *bytes = buf;

	for (size_t at = 0; at < len; at++) {
		if (bytes[at] == byte)
			continue;
		*diff = (struct rtgt_diff) { at, byte, bytes[at] };
		return true;
	}
	return false;
}

/**
 * rtgt_crc32() - the checksum of RTGT_MSG_CHECKSUM
 * @crc: of what came before; 0 at the beginning
 * @buf: bytes
 * @len: how many
 *
 * Return: the CRC-32 of zlib and Ethernet.
 */
uint32_t rtgt_crc32(uint32_t crc, const void *buf, size_t len)
{
	/* zlib takes a buffer that is NULL as the question for the first value */
	return len ? (uint32_t)crc32_z(crc, buf, len) : crc;
}
