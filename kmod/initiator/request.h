/* SPDX-License-Identifier: GPL-2.0 */
/* The requests of a run: preallocated, posted again and again. */
#ifndef _RTGT_INI_REQUEST_H
#define _RTGT_INI_REQUEST_H

#include <linux/scatterlist.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "initiator/initiator.h"

struct rtgt_mem;
struct rtgt_run;

/* Of requests that the target replies to, one in 16 requests a completion */
#define RTGT_INI_SIGNAL_EVERY	16

/**
 * struct rtgt_ini_buf - local memory of one-sided operations
 * @mem: memory
 * @sgt: its DMA mapping
 * @mapped: @sgt is mapped
 * @mr: covers @sgt where the device sends the address to the target (a READ over iWARP);
 *	otherwise NULL
 */
struct rtgt_ini_buf {
	struct rtgt_mem *mem;
	struct sg_table sgt;
	bool mapped;
	struct ib_mr *mr;
};

/**
 * struct rtgt_ini_req - the work request of one outstanding operation, and its buffers
 * @run: the run it belongs to
 * @send_cqe: completion of the work request, when that completes the operation
 * @idle_cqe: completion of the work request, when a reply completes the operation
 * @recv_cqe: completion of the receive that holds a reply
 * @wr: the work request, prepared once
 * @bytes: local memory of a one-sided operation; NULL for a SEND
 * @own: @bytes, unless the first request's memory is used
 * @sge: @bytes or @tx, as the device addresses it
 * @recv_sge: @rx, as the device addresses it
 * @tx: the message of a SEND
 * @rx: the reply
 * @tx_dma: DMA address of @tx
 * @rx_dma: DMA address of @rx
 * @tx_mapped: @tx_dma is mapped
 * @rx_mapped: @rx_dma is mapped
 * @tag: tag of the outstanding operation; no earlier one of the last 2^21 had it
 * @waiting: the target must reply to @tag
 * @ran: the request was posted
 * @index: number of the outstanding operation
 * @at: offset, in the operation, of the segment that @wr moves
 * @start: when the operation was posted
 */
struct rtgt_ini_req {
	struct rtgt_run *run;
	struct ib_cqe send_cqe;
	struct ib_cqe idle_cqe;
	struct ib_cqe recv_cqe;
	union {
		struct ib_send_wr send;
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
	} wr;
	struct rtgt_ini_buf *bytes;
	struct rtgt_ini_buf own;
	struct ib_sge sge[RTGT_INI_SGES];
	struct ib_sge recv_sge;
	void *tx;
	void *rx;
	u64 tx_dma;
	u64 rx_dma;
	bool tx_mapped;
	bool rx_mapped;
	u32 tag;
	bool waiting;
	bool ran;
	u32 index;
	u32 at;
	u64 start;
};

/* request.c */
int rtgt_ini_req_post_recv(struct rtgt_ini_req *req, struct ib_cqe *cqe);
void rtgt_ini_req_init(struct rtgt_ini_req *req);
bool rtgt_word_has_crc(u64 value, u32 crc);
void rtgt_ini_reqs_start(struct rtgt_run *run);

/* request_make.c */
bool rtgt_op_is_atomic(enum rtgt_ini_op op);
bool rtgt_op_is_answered(enum rtgt_ini_op op);
u64 rtgt_run_region_len(const struct rtgt_run *run);
u64 rtgt_run_places(const struct rtgt_run *run);
u32 rtgt_ini_req_number(const struct rtgt_ini_req *req);
u64 rtgt_ini_req_place(const struct rtgt_ini_req *req);
u64 rtgt_ini_req_offset(const struct rtgt_ini_req *req);
u32 rtgt_ini_reqs_send_depth(const struct rtgt_ini_cfg *cfg);
void rtgt_ini_req_sync_for_cpu(struct rtgt_ini_req *req);
void rtgt_ini_req_sync_for_device(struct rtgt_ini_req *req);
u32 rtgt_run_shift(const struct rtgt_run *run, u32 index);
void rtgt_ini_req_cut(struct rtgt_ini_req *req, u32 at, u32 len);
int rtgt_ini_reqs_create(struct rtgt_run *run, void (*init)(struct rtgt_ini_req *req));
int rtgt_ini_reqs_make(struct rtgt_run *run);
void rtgt_ini_reqs_destroy(struct rtgt_run *run);

#endif /* _RTGT_INI_REQUEST_H */
