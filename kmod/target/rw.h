/* SPDX-License-Identifier: GPL-2.0 */
/* READs and WRITEs of the peer's memory, and registrations that a client requests */
#ifndef _RTGT_RW_H
#define _RTGT_RW_H

#include <linux/dma-direction.h>
#include <linux/list.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/rw.h>

#include "registration/region.h"
#include "target/recv.h"

/* Maximum number of contiguous memory ranges of one transfer */
#define RTGT_RW_SGS		4

/* Maximum of one transfer.  Where the core registers it, one MR of at most 256 pages covers it. */
#define RTGT_RW_BYTES		SZ_1M
#define RTGT_RW_PAGES		256

/* A READ or WRITE of the peer's memory, or a registration */
struct rtgt_rw_ctx {
	struct ib_cqe cqe;		/* of the last work request */
	bool posted;		/* as a whole or in part, and not completed: has a mapping */
	struct list_head entry;		/* in rtgt_conn.rw_free */
	struct rtgt_recv_ctx *recv;	/* request that it belongs to */
	struct rtgt_mr *mr;	/* of a registration, owned; NULL for a transfer, which uses: */
	struct rdma_rw_ctx ctx;		/* of the core: DMA mapping, registrations, work requests */
	enum dma_data_direction dir;	/* DMA_FROM_DEVICE for a READ, DMA_TO_DEVICE for a WRITE */
	unsigned int nr;		/* number of used elements of @sg */
	struct scatterlist sg[RTGT_RW_SGS];	/* local memory */
};

int rtgt_rws_create(struct rtgt_conn *conn);
void rtgt_rws_destroy(struct rtgt_conn *conn);
void rtgt_rws_release(struct rtgt_conn *conn);
unsigned int rtgt_rw_wrs(const struct ib_device *ibdev);
u32 rtgt_rw_bytes(const struct rtgt_conn *conn, u64 offset, u64 len);
struct rtgt_rw_ctx *rtgt_rw_get(struct rtgt_recv_ctx *recv);
u32 rtgt_rw_add(struct rtgt_rw_ctx *rw, void *at, u32 len);
int rtgt_rw_post(struct rtgt_rw_ctx *rw, enum dma_data_direction dir, u64 addr, u32 rkey);
int rtgt_rw_register(struct rtgt_recv_ctx *recv, u32 at);
int rtgt_rw_registered(struct rtgt_recv_ctx *recv);

#endif /* _RTGT_RW_H */
