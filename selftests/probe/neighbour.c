// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A second connection to the same port, which must not notice what becomes of the
 * first: afterwards it is still answered, and the bytes it READs are what they
 * were.
 */
#include <stdio.h>
#include <string.h>

#include "probe.h"

/* CRC-32 of the first bytes of its first region; 0 is not to be had */
static int look_at(struct link *l, uint32_t *crc, struct rtgt_err *err)
{
	const struct rtgt_region_info *mem = &l->peer.region[0];
	struct rtgt_wr wr = {
		.id = SEND_ID, .opcode = IBV_WR_RDMA_READ, .mr = &l->buf,
		.remote_addr = mem->addr, .rkey = mem->rkey,
	};
	struct ibv_wc wc;

	wr.len = (uint32_t)(l->buf.len < mem->len ? l->buf.len : mem->len);
	if (rtgt_qp_post(&l->qp, &wr, err) || wait_for(l, SEND_ID, &wc, err))
		return -1;
	if (wc.status != IBV_WC_SUCCESS)
		return rtgt_fail(err, 5, "the neighbour's READ ended with %s",
				 wc_name(wc.status));
	*crc = rtgt_crc32(0, l->buf.buf, wr.len);
	return 0;
}

int neighbour_open(struct neighbour *n, const struct option *o, struct rtgt_err *err)
{
	struct option plain = *o;

	memset(n, 0, sizeof(*n));
	if (!o->neighbour)
		return 0;
	plain.reads = -1;
	plain.holds = -1;
	plain.plain = 0;
	plain.magic = -1;
	plain.version = -1;
	plain.size = -1;
	plain.extra = 0;
	n->open = true;
	if (open_link(&n->link, &plain, err))
		return -1;
	n->link.watched = true;
	return o->transport == RTGT_UD ? 0 : look_at(&n->link, &n->crc, err);
}

void neighbour_print(struct neighbour *n)
{
	struct rtgt_err err;
	uint32_t crc;

	if (!n->open)
		return;
	if (!echo(&n->link, 4711))
		puts("neighbour=dead");
	else if (n->link.cm.param.transport == RTGT_UD)
		puts("neighbour=alive");
	else if (look_at(&n->link, &crc, &err))
		complain("neighbour", &err), puts("neighbour=refused");
	else
		puts(crc == n->crc ? "neighbour=alive" : "neighbour=changed");
}

void neighbour_close(struct neighbour *n)
{
	if (n->open)
		close_link(&n->link);
}
