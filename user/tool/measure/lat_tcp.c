// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The user initiator of rtgt lat over TCP: one operation at a time over one
 * connection to rtgt tcp-serve, timed until its answer is here: of what is written,
 * that all bytes are in the server's memory; of what is read or echoed, the bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lat.h"

static int once(struct measure *m, uint32_t tag, uint8_t *tx, uint8_t *rx, struct rtgt_err *err)
{
	const enum rtgt_tcp_op op = m->at.op->tcp;
	struct rtgt_tcp *t = &m->tcp;
	int ret = 0;

	rtgt_tcp_send(t, op, RTGT_TCP_ACK, tag, 0, op == RTGT_TCP_READ ? NULL : tx, m->at.size);
	rtgt_tcp_expect(t, op == RTGT_TCP_WRITE ? NULL : rx, m->at.size);
	while (!ret && (t->tx.busy || t->rx.busy))
		ret = rtgt_tcp_step(t, err);
	return ret;
}

static int loop(struct lat *l, uint8_t *tx, uint8_t *rx, struct rtgt_err *err)
{
	struct measure *m = &l->m;
	uint64_t start, end;
	bool last = false;
	int ret;

	for (uint64_t i = 0; !last; i++) {
		last = lat_is_last(l, i);
		start = rtgt_now_ns();
		ret = once(m, (uint32_t)i, tx, rx, err);
		end = rtgt_now_ns();
		if (!ret)
			ret = measure_goes_on(m, err);
		if (!ret)
			ret = rtgt_tcp_answer(&m->tcp, m->at.op->tcp, (uint32_t)i, err);
		if (ret)
			return ret;
		progress_count(&m->progress, 1);
		progress_tell(&m->progress);
		if (i < m->warmup)
			continue;
		if (i == m->warmup)
			l->begin_ns = start;
		l->ns[l->nr++] = end - start;
		l->elapsed_ns = end - l->begin_ns;
	}
	return 0;
}

/* Do both ends hold the same? */
static int verify(struct lat *l, const uint8_t *tx, const uint8_t *rx, struct rtgt_err *err)
{
	const uint32_t size = l->m.at.size;
	const uint8_t *mine = l->m.at.op->tcp == RTGT_TCP_READ ? rx : tx;
	uint32_t crc;
	int ret = 0;

	if (l->m.at.op->tcp == RTGT_TCP_ECHO) {
		if (memcmp(tx, rx, size))
			ret = rtgt_fail(err, EILSEQ, "the last echo differs from what was sent");
	} else {
		ret = rtgt_tcp_checksum(&l->m.tcp, 0, size, &crc, err);
		if (!ret && crc != rtgt_crc32(0, mine, size))
			ret = rtgt_fail(err, EILSEQ, "the two ends hold different bytes: does another client use the server?");
	}
	if (ret)
		return ret;
	l->m.verified = size;
	measure_not_compared(&l->m, (l->m.warmup + l->nr - 1) * size,
			     l->m.at.op->tcp == RTGT_TCP_ECHO ? NOT_LAST : OVERWRITTEN);
	return 0;
}

int lat_tcp_run(struct lat *l, struct rtgt_err *err)
{
	const uint32_t size = l->m.at.size;
	uint8_t *tx, *rx;
	int ret;

	if (!l->m.at.op->tcp)
		return rtgt_fail(err, EOPNOTSUPP, "TCP has no atomics");
	if (l->m.at.op->tcp != RTGT_TCP_ECHO && size > l->m.tcp.size)
		return rtgt_fail(err, ERANGE, "the server's memory has %llu bytes: smaller -S, or there: rtgt tcp-serve --size",
				 (unsigned long long)l->m.tcp.size);
	tx = malloc(size);
	rx = malloc(size);
	if (tx && rx) {
		rtgt_pattern_fill(tx, size, measure_seed(&l->m));
		/* what does not come is not there */
		rtgt_pattern_fill(rx, size, measure_seed(&l->m));
		ret = loop(l, tx, rx, err);
		if (!ret)
			ret = verify(l, tx, rx, err);
	} else {
		ret = rtgt_fail(err, ENOMEM, "no memory for %u bytes", size);
	}
	free(tx);
	free(rx);
	return ret;
}
