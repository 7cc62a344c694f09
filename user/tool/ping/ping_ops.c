// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The operations of rtgt ping: what each needs, and the place in the region it is
 * done at.
 */
#include <errno.h>
#include <string.h>

#include "ping.h"

/* How far from either end of the region a range begins or ends */
#define SPREAD		4096

#define ON(transport)	(1u << (transport))
#define RC		ON(RTGT_RC)
#define UC		ON(RTGT_UC)
#define UD		ON(RTGT_UD)

#define READ		RTGT_ACCESS_READ
#define WRITE		RTGT_ACCESS_WRITE
#define ATOMIC		RTGT_ACCESS_ATOMIC
#define FLUSH		RTGT_ACCESS_FLUSH

#define ASK		(PING_TARGET | PING_MSG)
#define MOVE		(PING_TARGET | PING_EXTRA | PING_MOVE)

/* In the order they run */
const struct ping_op ping_ops[PING_OPS] = {
	{ "write", WRITE, 0, RC | UC, 0, 0, ping_write },
	{ "read", READ, 0, RC, 0, 0, ping_read },
	{ "write-imm", WRITE, PING_TARGET, RC | UC, RTGT_CAN_IMM, 0, ping_write_imm },
	{ "send", 0, ASK, RC | UC | UD, 0, 0, ping_send },
	{ "send-imm", 0, ASK | PING_EXTRA, RC | UC | UD, RTGT_CAN_IMM, 0, ping_send_imm },
	{ "send-inv", WRITE, ASK | PING_PRIVATE | PING_EXTRA, RC, 0, 0, ping_send_inv },
	{ "cas", ATOMIC, PING_EXTRA, RC, RTGT_CAN_ATOMIC, 8, ping_cas },
	{ "faa", ATOMIC, PING_EXTRA, RC, RTGT_CAN_ATOMIC, 8, ping_faa },
	{ "atomic-write", WRITE, PING_EXTRA, RC, RTGT_CAN_ATOMIC_WRITE, 8, ping_atomic_write },
	{ "flush", WRITE | FLUSH, PING_EXTRA, RC, RTGT_CAN_FLUSH, 0, ping_flush },
	{ "pull", WRITE, MOVE, RC, 0, 0, ping_pull },
	{ "push", READ, MOVE, RC, 0, 0, ping_push },
};

/* Put in front what was being done; a difference in the data says so itself */
static int told(const struct ping *p, int ret, struct rtgt_err *err)
{
	char text[sizeof(err->text)];

	if (!ret || ret == -EILSEQ || ret == -EINTR)
		return ret;
	memcpy(text, err->text, sizeof(text));
	snprintf(err->text, sizeof(err->text), "%s of %u bytes, iteration %llu: %.*s", p->op->name,
		 p->len, (unsigned long long)p->iteration, (int)sizeof(text) - 80, text);
	return ret;
}

/**
 * ping_prepare() - choose a place in the region and write what surrounds it
 * @p: with op and len set
 * @err: says what is wrong
 *
 * The place is a random one near either end of the region, so that unaligned and
 * page-crossing ones occur; an atomic's is a multiple of its size.  The first range of an
 * operation ends with the region, so that a length that the target does not have is noticed.
 *
 * Return: 0, or a negative errno.
 */
int ping_prepare(struct ping *p, struct rtgt_err *err)
{
	uint64_t room = p->region_len > p->len ? p->region_len - p->len : 0;
	uint64_t place = ping_seed(p) >> 32;
	uint64_t align;
	int ret;

	p->at = p->first ? 0 : place % (room < SPREAD ? room + 1 : SPREAD);
	if (p->first || place & 1u << 31)
		p->at = room - p->at;
	if (p->op->size) {
		align = (p->mem->addr + p->at) % p->op->size;
		p->at = p->at < align ? p->at + p->op->size - align : p->at - align;
		if (p->at > room)
			return rtgt_fail(err, ERANGE, "%s: region %u has no aligned place",
					 p->op->name, p->region);
	}
	p->before = p->at < PING_MARGIN ? (uint32_t)p->at : PING_MARGIN;
	room -= p->at;
	p->behind = room < PING_MARGIN ? (uint32_t)room : PING_MARGIN;
	/* what may not be written is not known either */
	if (!ping_writable(p)) {
		p->before = 0;
		p->behind = 0;
	}
	if (!p->verify || !p->op->access || !ping_writable(p))
		return 0;
	rtgt_pattern_fill(p->tx.buf, ping_piece(p), ping_seed(p));
	ret = ping_plain(p, IBV_WR_RDMA_WRITE, &p->tx, 0, p->at - p->before, ping_piece(p), err);
	return told(p, ret, err);
}

/**
 * ping_once() - one iteration
 * @p: prepared
 * @err: says what is wrong
 *
 * Return: 0, -EILSEQ when bytes are not what they should be, or another
 * negative errno.
 */
int ping_once(struct ping *p, struct rtgt_err *err)
{
	return told(p, p->op->run(p, err), err);
}
