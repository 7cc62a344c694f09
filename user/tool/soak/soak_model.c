// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt soak: what a connection's part of the region must hold.
 *
 * A byte is what the last operation that succeeded made it.  Of an operation that failed nobody
 * knows how much the target has done: until the part has been read once more, each of its bytes
 * may be the old or the new one (doubt), and then it is what was read (learn).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rtgt/log.h>
#include "soak.h"

/* -ENOMEM; soak_model_destroy() in either case */
int soak_model_create(struct soak_model *m, uint64_t len)
{
	m->len = len;
	m->now = calloc(len, 1);
	m->other = calloc(len, 1);
	m->fresh = calloc(len, sizeof(*m->fresh));
	m->by = calloc(len / 8 + 1, sizeof(*m->by));
	return m->now && m->other && m->fresh && m->by ? 0 : -ENOMEM;
}

void soak_model_destroy(struct soak_model *m)
{
	free(m->now);
	free(m->other);
	free(m->fresh);
	free(m->by);
}

/* An operation has succeeded: the range holds @bytes */
void soak_model_set(struct soak_model *m, uint64_t at, const uint8_t *bytes, uint64_t len,
		    uint32_t number, struct soak_counts *counts)
{
	for (uint64_t i = 0; i < len; i++) {
		counts->overwritten += m->fresh[at + i];
		m->now[at + i] = bytes[i];
		m->other[at + i] = bytes[i];
		m->fresh[at + i] = true;
		m->by[(at + i) / 8] = number;
	}
}

/* One has failed: each byte of the range is what it was, or that of @bytes */
void soak_model_doubt(struct soak_model *m, uint64_t at, const uint8_t *bytes, uint64_t len)
{
	memcpy(m->other + at, bytes, len);
}

/**
 * soak_model_compare() - look whether a range is as it must be
 * @m: the part
 * @at: first byte
 * @bytes: what was read
 * @len: bytes
 * @counts: those that are right are verified
 * @err: says which one is not
 *
 * Return: 0 or -EILSEQ.
 */
int soak_model_compare(struct soak_model *m, uint64_t at, const uint8_t *bytes, uint64_t len,
		       struct soak_counts *counts, struct rtgt_err *err)
{
	for (uint64_t i = 0; i < len; i++) {
		const uint64_t k = at + i;
		char or[24] = "", by[48] = "the first WRITE of all";

		if (bytes[i] == m->now[k] || bytes[i] == m->other[k]) {
			m->fresh[k] = false;
			continue;
		}
		if (m->other[k] != m->now[k])
			snprintf(or, sizeof(or), " or 0x%02x", m->other[k]);
		if (m->by[k / 8])
			snprintf(by, sizeof(by), "its operation %u", m->by[k / 8]);
		return rtgt_fail(err, EILSEQ,
				 "byte %llu of %llu is 0x%02x instead of 0x%02x%s; %s changed it last",
				 (unsigned long long)i, (unsigned long long)len, bytes[i],
				 m->now[k], or, by);
	}
	counts->verified += len;
	return 0;
}

/* All of it is 0, and was not: the memory is new */
bool soak_model_renewed(struct soak_model *m, const uint8_t *bytes)
{
	static const uint8_t zero[4096];

	for (uint64_t i = 0; i < m->len; i += sizeof(zero))
		if (memcmp(bytes + i, zero, m->len - i < sizeof(zero) ? m->len - i : sizeof(zero)))
			return false;
	return memcmp(m->now, bytes, m->len);
}

/* How many bytes were changed and have not been compared since? */
uint64_t soak_model_fresh(const struct soak_model *m)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < m->len; i++)
		n += m->fresh[i];
	return n;
}

/* The range has been read, and there is no doubt any more */
void soak_model_learn(struct soak_model *m, uint64_t at, const uint8_t *bytes, uint64_t len)
{
	memcpy(m->now + at, bytes, len);
	memcpy(m->other + at, bytes, len);
	memset(m->fresh + at, 0, len * sizeof(*m->fresh));
}
