/* SPDX-License-Identifier: GPL-2.0 */
/* Send contexts: replies */
#ifndef _RTGT_SEND_H
#define _RTGT_SEND_H

#include <linux/list.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "target/recv.h"

/* Maximum number of outstanding replies of a connection; the same with an SRQ */
#define RTGT_SENDS_MAX		8
#define RTGT_SENDS_SRQ		2

/* Where a send context is, which determines its owner */
enum rtgt_send_state {
	RTGT_SEND_FREE,			/* in rtgt_conn.send_free */
	RTGT_SEND_POSTED,		/* owned by the device; its completion frees it */
	RTGT_SEND_CHAINED,	/* posted, in rtgt_conn.send_chain until a signaled reply ends */
};

/* A reply that is being sent */
struct rtgt_send_ctx {
	struct ib_cqe cqe;
	enum rtgt_send_state state;
	struct list_head entry;		/* in the list that @state names */
	struct rtgt_buf buf;
	struct ib_ah *ah;	/* UD; kept until the next reply: only a worker can destroy it */
};

unsigned int rtgt_sends_of(unsigned int depth, bool srq);
int rtgt_sends_create(struct rtgt_conn *conn);
void rtgt_sends_destroy(struct rtgt_conn *conn);
bool rtgt_sends_idle(struct rtgt_conn *conn);
void rtgt_send(struct rtgt_recv_ctx *recv, u32 len);
void rtgt_send_inv(struct rtgt_recv_ctx *recv, u32 len);
void rtgt_reply(struct rtgt_recv_ctx *recv, u32 status, u32 len);

#endif /* _RTGT_SEND_H */
