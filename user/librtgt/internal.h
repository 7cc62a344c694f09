/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of the library share and no other program needs.  From the lowest to the
 * highest: log, names, pattern, wire; mr, cm, qp, post; extents, wait, request, client.
 */
#ifndef RTGT_INTERNAL_H
#define RTGT_INTERNAL_H

#include <rtgt/client.h>

/* wait.c: one receive, one reply */
int rtgt_client_expect(struct rtgt_client *c, uint64_t *id, struct rtgt_err *err);
int rtgt_client_reply(struct rtgt_client *c, uint64_t id, enum rtgt_op op, uint32_t tag,
		      uint32_t arg, struct rtgt_reply *reply, struct rtgt_err *err);

/* extents.c */
void rtgt_layout_free(struct rtgt_layout *layout);
uint32_t rtgt_layout_piece(const struct rtgt_client *c, uint32_t region, uint64_t remote,
			   uint32_t len, uint64_t *addr, uint32_t *rkey);

#endif /* RTGT_INTERNAL_H */
