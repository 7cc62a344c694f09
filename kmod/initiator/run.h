/* SPDX-License-Identifier: GPL-2.0 */
/* One run of an initiator, and what its files offer each other. */
#ifndef _RTGT_RUN_H
#define _RTGT_RUN_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "core/cq.h"
#include "core/device.h"
#include "initiator/initiator.h"
#include "proto/proto.h"

struct rtgt_ini_req;

/* Eight bytes of the target that atomics change */
struct rtgt_ini_word {
	u64 value;	/* what the last atomic left there, valid if @known */
	u32 crc;	/* of the target, from before the first atomic; valid if @asked */
	bool known;	/* an atomic has returned what was there */
	bool asked;	/* the target was asked for @crc */
};

/*
 * The completion of a work request that is posted once (ask.c).  It is part of the run, and not on
 * a stack, because a wait may end before the completion arrives; then the run ends, too, and
 * run_end() drains the queue pair before it frees the run.
 */
struct rtgt_once {
	struct ib_cqe cqe;
	struct completion done;
	struct ib_wc wc;	/* valid once @done is complete */
};

/* From connecting to the last free */
struct rtgt_run {
	struct rtgt_initiator *ini;
	struct rtgt_ini_cfg cfg;	/* a copy of the initiator's */
	struct rtgt_ini_result result;	/* the initiator gets it at the end */
	struct rtgt_dev_user user;	/* hold on the device */
	bool attached;			/* @user is in use */
	struct rdma_cm_id *id;
	enum rdma_cm_event_type event;	/* the last one of the connection manager */
	int status;			/* of @event */
	bool come;			/* @event has arrived, and no step has consumed it yet */
	bool disconnected;		/* the target closed the connection */
	bool removed;	/* the device is being removed; rtgt_dev_remove() waits for this run */
	struct rtgt_rep_info peer;	/* the REP, decoded */
	enum rtgt_misfit misfit;	/* why the run cannot use @peer */
	u32 reject;			/* reason in the target's REJ, 0 if there is none */
	struct ib_pd *pd;
	struct rtgt_cq cq;		/* of @id's queue pair */
	struct rtgt_ini_req *reqs;	/* as many as the depth, and one more for ask.c */
	struct rtgt_once sent;		/* a request that asks the target, or another single one */
	struct rtgt_once got;		/* the receive for its reply */
	struct rtgt_once woken;		/* the WRITE that wakes the target */
	u32 asked;	/* number of requests that asked the target; their tags count it */
	/*
	 * Held from taking a number until the operation is posted, so that operations are posted
	 * in the order of their numbers: the last one of a place is the one with the largest
	 */
	spinlock_t post;
	u32 next;			/* number of the next operation */
	/*
	 * Of operations that a reply completes.  The reply may arrive before the work request
	 * completes, as long as the target likes, so that the send queue may be full.
	 */
	u32 wrs_done;		/* operations whose work requests have completed */
	struct rtgt_ini_req *parked;	/* requests that wait until more have */
	u32 total;			/* operations of the run, warm-up included */
	atomic_t under_way;	/* outstanding chains, and one more until all have been started */
	struct completion all_done;	/* no chain is outstanding */
	u32 progress;			/* operations that have completed */
	unsigned long heard;	/* jiffies of the last completion, if only of a segment */
	int failing;	/* a failure was found; only the first one writes the result's why */
	bool failed;			/* the result's why is complete */
	struct rtgt_ini_word *word;	/* by place; NULL unless operations are atomics */
	u64 begin;	/* when the last one of the warm-up completed, or the first was posted */
	u64 end;			/* when the last operation completed */
};

/* run.c */
bool rtgt_run_wait_briefly(struct rtgt_run *run, struct completion *done, unsigned int ms);
int rtgt_run_wait(struct rtgt_run *run, struct completion *done);
int __printf(2, 3) rtgt_run_fail(struct rtgt_run *run, const char *fmt, ...);

/* ask.c */
int rtgt_run_post_once(struct rtgt_run *run, struct ib_send_wr *wr);
void *rtgt_run_ask_body(struct rtgt_run *run);
int rtgt_run_ask(struct rtgt_run *run, u32 op, u32 len, struct rtgt_reply *reply);
int rtgt_run_capability(struct rtgt_run *run);

/* connect.c */
int rtgt_run_check_region(struct rtgt_run *run);
int rtgt_run_connect(struct rtgt_run *run);

/* verify.c */
int rtgt_run_verify_begin(struct rtgt_run *run);
int rtgt_run_verify(struct rtgt_run *run);

#endif /* _RTGT_RUN_H */
