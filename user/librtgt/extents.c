// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions that one capability does not cover.
 *
 * The REP holds a region's first extent; the client learns the others when it
 * connects, and a caller need not know: it counts from the region's beginning.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/**
 * rtgt_layout_free() - forget it
 * @layout: learnt, or zero
 */
void rtgt_layout_free(struct rtgt_layout *layout)
{
	free(layout->extent);
	memset(layout, 0, sizeof(*layout));
}

/**
 * rtgt_layout_piece() - where a range of a region is reached, and how far that goes
 * @c: open
 * @region: index in @c->peer
 * @remote: first byte, counted from the region's beginning
 * @len: bytes
 * @addr: for the work request
 * @rkey: for the work request
 *
 * A range that is not inside the region belongs to its last extent: to refuse it is
 * the target's business.
 *
 * Return: bytes that can be had there in one piece: @len, or as many as are left of
 * the extent.
 */
uint32_t rtgt_layout_piece(const struct rtgt_client *c, uint32_t region, uint64_t remote,
			   uint32_t len, uint64_t *addr, uint32_t *rkey)
{
	const struct rtgt_layout *layout = &c->layout[region];
	const struct rtgt_region_info *mem = layout->extent ? layout->extent :
							      &c->peer.region[region];
	const struct rtgt_region_info *last = mem + (layout->extent ? layout->nr - 1 : 0);

	while (mem < last && remote >= mem->len)
		remote -= mem++->len;
	*addr = mem->addr + remote;
	*rkey = mem->rkey;
	return mem < last && len > mem->len - remote ? (uint32_t)(mem->len - remote) : len;
}
