/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults that the target commits on demand; see fault.c.
 */
#ifndef _RTGT_FAULT_H
#define _RTGT_FAULT_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>

#include "proto/faults.h"

struct rdma_conn_param;
struct rtgt_conn;
struct rtgt_fault_rep;
struct rtgt_port;
struct rtgt_recv_ctx;

/* The faults of a port */
struct rtgt_port_faults {
	u64 set;		/* bits of enum rtgt_fault that have a rule; written under @lock */
	spinlock_t lock;	/* protects all of it, and rtgt_conn_faults.stale */
	struct {
		struct rtgt_fault_rule rule;
		u64 seen;	/* opportunities since the rule was set */
		u64 done;	/* how often the fault was committed */
	} of[RTGT_NR_FAULTS];
};

/* What faults keep for a connection */
struct rtgt_conn_faults {
	struct list_head held;	/* receive contexts that a fault holds, under rtgt_conn.lock */
	struct timer_list timer; /* for @held; started under rtgt_conn.lock, not in CLOSING */
	struct rtgt_fault_stale stale;	/* the last reply, kept while reply-stale is set */
	struct rtgt_fault_rep *rep;	/* of rep-delay, until the teardown; or NULL */
	bool deaf;			/* rtu-ignore: the connection never becomes LIVE */
};

/* What rtgt_recv_ctx.faults says will be done with a request; cleared when it was done */
#define RTGT_FAULT_DO_COPY	BIT(0)	/* reply-twice: send the reply again */
#define RTGT_FAULT_DO_FLIP	BIT(1)	/* region-bit: flip before the CRC */
#define RTGT_FAULT_DO_AGAIN	BIT(2)	/* move-twice: transfer once more */
#define RTGT_FAULT_DO_LATE	BIT(3)	/* move-late: the transfer follows the reply */
#define RTGT_FAULT_DO_REPLIED	BIT(4)	/* move-late: the reply was sent */
#define RTGT_FAULT_DO_SWAP	BIT(5)	/* reply-swap: the reply waits for another */
#define RTGT_FAULT_DO_IMM	BIT(6)	/* qp-*: it is an immediate */
#define RTGT_FAULT_DO_ERR	BIT(7)	/* qp-err: in a worker */
#define RTGT_FAULT_DO_SQD	BIT(8)	/* qp-sqd: in a worker */

void rtgt_faults_init(struct rtgt_port_faults *faults);
int rtgt_faults_set(struct rtgt_port *port, const char *line);
ssize_t rtgt_faults_show(struct rtgt_port *port, char *page);
ssize_t rtgt_faults_features(char *page, ssize_t len);

bool rtgt_fault_commit(struct rtgt_port *port, enum rtgt_fault fault, u32 *ms);
u32 rtgt_fault_reject(struct rtgt_port *port, u32 *arg);
bool rtgt_fault_accept(struct rtgt_conn *conn, struct rdma_conn_param *param, void *priv);
bool rtgt_fault_arrival(struct rtgt_recv_ctx *recv, bool imm);
void rtgt_fault_work(struct rtgt_recv_ctx *recv);
void rtgt_fault_flip(struct rtgt_recv_ctx *recv);
bool rtgt_fault_move(struct rtgt_recv_ctx *recv);
bool rtgt_fault_moved(struct rtgt_recv_ctx *recv);
void rtgt_fault_send(struct rtgt_recv_ctx *recv, u32 len);
void rtgt_fault_sent(struct rtgt_recv_ctx *recv);
void rtgt_fault_conn_init(struct rtgt_conn *conn);
void rtgt_fault_cancel(struct rtgt_conn *conn);
void rtgt_fault_cancel_rep(struct rtgt_conn *conn);

/* Has a port faults?  Hooks test this first, so a port without faults pays for nothing else. */
static inline bool rtgt_faulty(const struct rtgt_port_faults *faults)
{
	return unlikely(READ_ONCE(faults->set));
}

#endif /* _RTGT_FAULT_H */
