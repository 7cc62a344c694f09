/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Bytes that can be told apart.  See pattern.c.
 */
#ifndef RTGT_PATTERN_H
#define RTGT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rtgt_diff - the first byte that differs
 * @offset: where
 * @expected: what should be there
 * @got: what is there
 */
struct rtgt_diff {
	size_t offset;
	uint8_t expected;
	uint8_t got;
};

void rtgt_pattern_fill(void *buf, size_t len, uint64_t seed);
void rtgt_pattern_invert(void *buf, size_t len, uint64_t seed);
bool rtgt_pattern_verify(const void *buf, size_t len, uint64_t seed, struct rtgt_diff *diff);
bool rtgt_bytes_verify(const void *buf, size_t len, uint8_t byte, struct rtgt_diff *diff);

#ifdef __cplusplus
}
#endif

#endif /* RTGT_PATTERN_H */
