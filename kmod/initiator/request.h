/* SPDX-License-Identifier: GPL-2.0 */
/* The requests of a run: preallocated, posted again and again. */
#ifndef _RTGT_INI_REQUEST_H
#define _RTGT_INI_REQUEST_H

#include <linux/scatterlist.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "initiator/run.h"

/* Of requests that the target replies to, one in 16 requests a completion */
#define RTGT_INI_SIGNAL_EVERY	16

/* Local memory of one-sided operations */
struct rtgt_ini_buf {
	struct rtgt_mem *mem;
	struct sg_table sgt;	/* its DMA mapping */
	bool mapped;		/* @sgt is mapped */
	struct ib_mr *mr;	/* of @sgt, for a READ over iWARP; otherwise NULL */
};

/* The work request of one outstanding operation, and its buffers */
struct rtgt_ini_req {
	struct rtgt_run *run;
	struct ib_cqe send_cqe;	/* of the work request, when that completes the operation */
	struct ib_cqe idle_cqe;	/* of the work request, when a reply completes the operation */
	struct ib_cqe recv_cqe;	/* of the receive that holds a reply */
	union {
		struct ib_send_wr send;
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
	} wr;				/* prepared once */
	struct rtgt_ini_buf *bytes;	/* of a one-sided operation; NULL for a SEND */
	struct rtgt_ini_buf own;	/* @bytes, unless the first request's memory is used */
	struct ib_sge sge[RTGT_INI_SGES];	/* @bytes or @tx */
	struct ib_sge recv_sge;		/* @rx */
	void *tx;			/* the message of a SEND */
	void *rx;			/* the reply */
	u64 tx_dma;
	u64 rx_dma;
	bool tx_mapped;			/* @tx_dma is valid */
	bool rx_mapped;
	u32 tag;	/* of the outstanding operation; no earlier one of the last 2^21 had it */
	bool waiting;			/* the target must reply to @tag */
	bool ran;			/* the request was posted */
	struct rtgt_ini_req *parked;	/* the next one that waits for room in the send queue */
	struct rtgt_ini_req *got;	/* of a request that waits: its reply may arrive there */
	u32 index;			/* number of the outstanding operation */
	u32 at;			/* offset, in the operation, of the segment that @wr moves */
	u64 start;			/* when the operation was posted */
};

/* Counted from 0 in its run */
static inline u32 rtgt_ini_req_number(const struct rtgt_ini_req *req)
{
	return req - req->run->reqs;
}

/* request.c */
int rtgt_ini_req_post_recv(struct rtgt_ini_req *req, struct ib_cqe *cqe);
bool rtgt_word_has_crc(u64 value, u32 crc);
void rtgt_ini_reqs_start(struct rtgt_run *run);

/* request_make.c */
u64 rtgt_run_region_len(const struct rtgt_run *run);
u64 rtgt_run_places(const struct rtgt_run *run);
u64 rtgt_ini_req_place(const struct rtgt_ini_req *req);
u64 rtgt_ini_req_offset(const struct rtgt_ini_req *req);
void rtgt_ini_req_sync(struct rtgt_ini_req *req, bool cpu);
u32 rtgt_run_shift(const struct rtgt_run *run, u32 index);
void rtgt_ini_req_cut(struct rtgt_ini_req *req, u32 at, u32 len);
int rtgt_ini_reqs_create(struct rtgt_run *run);
int rtgt_ini_reqs_make(struct rtgt_run *run);
void rtgt_ini_reqs_destroy(struct rtgt_run *run);

#endif /* _RTGT_INI_REQUEST_H */
