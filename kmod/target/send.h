/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Send contexts: replies.
 */
#ifndef _RTGT_SEND_H
#define _RTGT_SEND_H

#include <linux/list.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "target/recv.h"

/* Replies of a connection that can be outstanding, at most; with an SRQ */
#define RTGT_SENDS_MAX		8
#define RTGT_SENDS_SRQ		2

/**
 * enum rtgt_send_state - where a send context is, and so who owns it
 * @RTGT_SEND_FREE: in rtgt_conn.send_free
 * @RTGT_SEND_POSTED: the device owns it; its completion frees it
 * @RTGT_SEND_CHAINED: the same, in rtgt_conn.send_chain: it completes with the first one
 *		       behind it that is signaled
 */
enum rtgt_send_state {
	RTGT_SEND_FREE,
	RTGT_SEND_POSTED,
	RTGT_SEND_CHAINED,
};

/**
 * struct rtgt_send_ctx - a reply on its way
 * @cqe: completion of the SEND
 * @state: where it is
 * @entry: in the list that @state names
 * @buf: the reply
 * @ah: UD: where it goes to.  Stays until the next reply, since only a worker destroys it
 */
struct rtgt_send_ctx {
	struct ib_cqe cqe;
	enum rtgt_send_state state;
	struct list_head entry;
	struct rtgt_buf buf;
	struct ib_ah *ah;
};

unsigned int rtgt_sends_of(unsigned int depth, bool srq);
int rtgt_sends_create(struct rtgt_conn *conn);
void rtgt_sends_destroy(struct rtgt_conn *conn);
bool rtgt_sends_idle(struct rtgt_conn *conn);
void rtgt_send(struct rtgt_recv_ctx *recv, u32 len);
void rtgt_reply(struct rtgt_recv_ctx *recv, u32 status, u32 len);
bool rtgt_wc_sent(struct rtgt_conn *conn, const struct ib_wc *wc);

#endif /* _RTGT_SEND_H */
