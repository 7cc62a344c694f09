/* SPDX-License-Identifier: GPL-2.0 */
/* One run of an initiator. */
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

/**
 * struct rtgt_ini_word - eight bytes of the target that atomics change
 * @value: what the last atomic left there, valid if @known
 * @crc: CRC-32 that the target computed before the first atomic, valid if @asked
 * @known: an atomic has returned what was there
 * @asked: the target was asked for @crc
 */
struct rtgt_ini_word {
	u64 value;
	u32 crc;
	bool known;
	bool asked;
};

/**
 * struct rtgt_once - the completion of a work request that is posted once (ask.c)
 * @cqe: its handler
 * @done: it has completed
 * @wc: how it completed
 *
 * Part of the run, and not of a stack: the wait for a completion may end before it arrives.  Then
 * the run ends, too, and initiator.c drains the queue pair before it frees the run.
 */
struct rtgt_once {
	struct ib_cqe cqe;
	struct completion done;
	struct ib_wc wc;
};

/**
 * struct rtgt_run - one run of an initiator, from connecting to the last free
 * @ini: the initiator
 * @cfg: a copy of its attributes
 * @user: hold on the device
 * @attached: @user is in use
 * @id: the connection
 * @event: the last event of the connection manager, for which a step waits
 * @status: status of @event
 * @come: @event has arrived, and no step has consumed it yet
 * @disconnected: the target closed the connection
 * @removed: the device is being removed; rtgt_dev_remove() waits for this run
 * @peer: the REP, decoded
 * @misfit: why the run cannot use @peer
 * @reject: reason in the target's REJ, 0 if there is none
 * @dev: name of the device
 * @pd: protection domain
 * @cq: completions of @id's queue pair
 * @reqs: rtgt_ini_cfg.depth requests, and one more for the verification
 * @sent: completion of a request that asks the target, or of another single work request
 * @got: completion of the receive for its reply
 * @woken: completion of the WRITE that wakes the target
 * @asked: number of requests that asked the target; their tags count it
 * @post: held from taking a number until the operation is posted, so that operations are posted
 *	  in the order of their numbers: the last one of a place is the one with the largest
 * @next: number of the next operation
 * @total: operations of the run, warm-up included
 * @under_way: outstanding chains of requests, and one more until all have been started
 * @all_done: no chain is outstanding
 * @progress: operations that have completed
 * @parts: segments that have completed, of operations that have not
 * @failing: the first failure was found; only who set it writes @what
 * @failed: @what is complete
 * @what: the first failure, in one line
 * @word: what atomics change, by place; NULL for other operations
 * @verified: bytes that were compared
 * @not_compared: bytes of operations that were not
 * @why_not: why they were not, one word; NULL if all were
 * @begin: when the last operation of the warm-up completed, or the first was posted
 * @end: when the last operation completed
 * @step_ns: time of each step of connecting
 * @sample: time of each timed operation, in nanoseconds
 */
struct rtgt_run {
	struct rtgt_initiator *ini;
	struct rtgt_ini_cfg cfg;
	struct rtgt_dev_user user;
	bool attached;
	struct rdma_cm_id *id;
	enum rdma_cm_event_type event;
	int status;
	bool come;
	bool disconnected;
	bool removed;
	struct rtgt_rep_info peer;
	enum rtgt_misfit misfit;
	u32 reject;
	char dev[IB_DEVICE_NAME_MAX];
	struct ib_pd *pd;
	struct rtgt_cq cq;
	struct rtgt_ini_req *reqs;
	struct rtgt_once sent;
	struct rtgt_once got;
	struct rtgt_once woken;
	u32 asked;
	spinlock_t post;	/* @next, and the order of posts */
	u32 next;
	u32 total;
	atomic_t under_way;
	struct completion all_done;
	u32 progress;
	u32 parts;
	int failing;
	bool failed;
	char what[128];
	struct rtgt_ini_word *word;
	u64 verified;
	u64 not_compared;
	const char *why_not;
	u64 begin;
	u64 end;
	u64 step_ns[RTGT_NR_STEPS];
	u32 *sample;
};

bool rtgt_run_wait_briefly(struct rtgt_run *run, struct completion *done, unsigned int ms);
int rtgt_run_wait(struct rtgt_run *run, struct completion *done);
int __printf(3, 4) rtgt_run_fail(struct rtgt_run *run, int err, const char *fmt, ...);

#endif /* _RTGT_RUN_H */
