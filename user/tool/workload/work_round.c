// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt work: rounds with the service "ps" of the target (kmod/workload/ps.h), for the patterns that
 * have them.
 *
 * To announce is to WRITE the slot with an immediate, and the target's reply ends the round.  Over
 * iWARP, which may have no immediates, a SEND follows the WRITE: it is delivered behind it.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include <rtgt/log.h>
#include <rtgt/uapi.h>
#include "work.h"

/* Of one WRITE */
#define CHUNK		(64u << 10)

/* WRITE zeroes; the buffer's first bytes are used for them */
static int clear(struct worker *c, uint64_t remote, uint64_t len)
{
	const uint64_t most = len < CHUNK ? len : CHUNK;
	int ret = 0;

	memset(work_bytes(c, 0), 0, most);
	for (uint64_t at = 0, n; at < len && !ret; at += n) {
		n = len - at < most ? len - at : most;
		ret = work_post(c, RTGT_WORK_WRITE, remote + at, n, 0);
	}
	return ret ? ret : work_wait(c);
}

/**
 * work_round_announce() - post the announcement of a round; work_wait() waits for its end
 * @c: a worker
 * @count: weights
 * @round: counted from 1
 * @local: where the buffer has room for a slot
 */
int work_round_announce(struct worker *c, uint32_t count, uint32_t round, uint64_t local)
{
	const uint64_t remote = rtgt_ps_slot_at(count, c->index);
	const struct rtgt_ps_slot slot = {
		.conn = htole32(rtgt_conn_number(c->conn)), .round = htole32(round),
	};
	int ret;

	memcpy(work_bytes(c, local), &slot, sizeof(slot));
	if (!c->iwarp)
		return work_post(c, RTGT_WORK_WRITE_IMM, remote, sizeof(slot), local);
	ret = work_post(c, RTGT_WORK_WRITE, remote, sizeof(slot), local);
	return ret ? ret : work_post(c, RTGT_WORK_ECHO, 0, 0, local);
}

/* Read back: over iWARP it has been placed then */
static int write_head(struct worker *c, const struct rtgt_ps_head *head)
{
	int ret;

	memcpy(work_bytes(c, 0), head, sizeof(*head));
	ret = work_do(c, RTGT_WORK_WRITE, 0, sizeof(*head), 0);
	return ret ? ret : work_do(c, RTGT_WORK_READ, 0, sizeof(*head), 0);
}

/* A worker that is alone has its round ended by the service ps, and counted */
static int find_service(struct worker *c, struct rtgt_ps_head head)
{
	int ret;

	head.workers = htole32(1);
	head.count = 0;
	head.flags = 0;
	ret = write_head(c, &head);
	if (!ret)
		ret = work_round_announce(c, 0, 1, 0);
	if (!ret)
		ret = work_wait(c);
	if (!ret)
		ret = work_do(c, RTGT_WORK_READ, 0, sizeof(head), 0);
	if (ret)
		return ret;
	memcpy(&head, work_bytes(c, 0), sizeof(head));
	return head.round == htole32(1) ? 0 :
		rtgt_fail(&c->err, EOPNOTSUPP,
			  "the port does not have the service ps (there: modprobe rtgt_work, rtgt port set PORT service ps)");
}

/**
 * work_round_begin() - prepare the region: no weights, no slots, and then the head
 * @first: before the others are connected; its buffer has room for a chunk
 * @count: weights
 * @flags: RTGT_PS_*
 */
int work_round_begin(struct worker *first, uint32_t count, uint32_t flags)
{
	const struct rtgt_ps_head head = {
		.magic = htole32(RTGT_PS_MAGIC), .workers = htole32(first->w->workers),
		.count = htole32(count), .flags = htole32(flags),
		.deadline_ms = htole32(first->w->to.timeout * 1000 / 2),
	};
	int ret = find_service(first, head);

	if (!ret)
		ret = clear(first, 0, rtgt_ps_slot_at(count, first->w->workers));
	return ret ? ret : write_head(first, &head);
}
