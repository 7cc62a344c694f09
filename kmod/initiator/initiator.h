/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's active side: an initiator, as its administrator sees it.
 *
 * Of the rest of the module, the initiator uses core/ and proto/ only.
 */
#ifndef _RTGT_INITIATOR_H
#define _RTGT_INITIATOR_H

#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "core/mem.h"

struct dentry;
struct net;

/* Bytes of an operation */
#define RTGT_INI_SIZE_MAX	SZ_16M
/* Segments of an operation's local bytes: of up to 2 MiB each, and the first may begin anywhere */
#define RTGT_INI_SGES		(RTGT_INI_SIZE_MAX / SZ_2M + 1)
#define RTGT_INI_ITERS_MAX	1048576
#define RTGT_INI_DEPTH_MAX	128
#define RTGT_INI_TIMEOUT_MAX_MS	(3600 * 1000)

/**
 * enum rtgt_ini_op - what an initiator does, and what ends the time of an operation
 * @RTGT_INI_WRITE: RDMA WRITE; its acknowledgment
 * @RTGT_INI_READ: RDMA READ; its response
 * @RTGT_INI_WRITE_IMM: WRITE with an immediate; the target's reply
 * @RTGT_INI_SEND: SEND that the target echoes; the echo
 * @RTGT_INI_CAS: COMPARE_AND_SWAP of eight bytes; its response
 * @RTGT_INI_FAA: FETCH_AND_ADD of eight bytes; its response
 */
enum rtgt_ini_op {
	RTGT_INI_WRITE,
	RTGT_INI_READ,
	RTGT_INI_WRITE_IMM,
	RTGT_INI_SEND,
	RTGT_INI_CAS,
	RTGT_INI_FAA,
};

/**
 * enum rtgt_ini_state - the state of the last run
 * @RTGT_INI_IDLE: there was none
 * @RTGT_INI_CONNECTING: it connects to the target
 * @RTGT_INI_RUNNING: operations are outstanding
 * @RTGT_INI_DONE: it succeeded
 * @RTGT_INI_FAILED: rtgt_initiator.why has the reason
 * @RTGT_INI_STOPPED: the administrator stopped it
 */
enum rtgt_ini_state {
	RTGT_INI_IDLE,
	RTGT_INI_CONNECTING,
	RTGT_INI_RUNNING,
	RTGT_INI_DONE,
	RTGT_INI_FAILED,
	RTGT_INI_STOPPED,
};

/**
 * struct rtgt_ini_cfg - the attributes of an initiator
 * @addr: address and port of the target; family 0 until it is set
 * @source: local address; with family 0 the routing table chooses it
 * @op: which operation
 * @poll: what polls completions: softirq, a workqueue, or the run itself
 *	  (IB_POLL_DIRECT)
 * @size: bytes of an operation
 * @iters: operations that are timed
 * @warmup: operations before them
 * @depth: outstanding operations at a time
 * @segment: split a WRITE or a READ into requests of at most this many bytes, one
 *	     outstanding at a time; 0 for one request
 * @signal: of this many one-sided operations, one requests a completion
 * @duration_ms: post operations for this time instead of @iters of them; the first
 *		 @iters leave a sample.  0 for @iters
 * @region: index of the target's region
 * @offset: first byte of the region that operations use
 * @span: number of bytes they use; 0 for all after @offset
 * @walk: each operation uses the next @size bytes of the span and wraps at its end;
 *	  otherwise each outstanding operation keeps its offset
 * @verify_all: verify each operation; there are at most @depth of them, and no more
 *		than have space in the span
 * @timeout_ms: bound of each step of connecting, and of the time without a completion
 */
struct rtgt_ini_cfg {
	struct sockaddr_storage addr;
	struct sockaddr_storage source;
	enum rtgt_ini_op op;
	enum ib_poll_context poll;
	u32 size;
	u32 iters;
	u32 warmup;
	u32 depth;
	u32 segment;
	u32 signal;
	u32 duration_ms;
	u32 region;
	u64 offset;
	u64 span;
	bool walk;
	bool verify_all;
	u32 timeout_ms;
};

/* Steps of connecting that are timed, in order */
enum rtgt_ini_step {
	RTGT_STEP_ADDR,
	RTGT_STEP_ROUTE,
	RTGT_STEP_QP,
	RTGT_STEP_CONNECT,
	RTGT_NR_STEPS,
};

/**
 * struct rtgt_ini_result - what a run measured
 * @cfg: attributes of the run
 * @done: number of timed operations
 * @nr_samples: how many of them left a sample
 * @begin_ns: when the timed operations began, by the monotonic clock
 * @elapsed_ns: from the end of the warm-up to the completion of the last operation
 * @step_ns: time of each step of connecting
 * @verified: bytes that were compared, all of them with success
 * @not_compared: bytes of operations, warm-up included, that were not compared
 * @why_not: why they were not, one word; NULL if all were
 * @dev: name of the device
 * @sample: times of operations in nanoseconds, in rising order
 */
struct rtgt_ini_result {
	struct rtgt_ini_cfg cfg;
	u32 done;
	u32 nr_samples;
	u64 begin_ns;
	u64 elapsed_ns;
	u64 step_ns[RTGT_NR_STEPS];
	u64 verified;
	u64 not_compared;
	const char *why_not;
	char dev[IB_DEVICE_NAME_MAX];
	u32 *sample;
};

/**
 * struct rtgt_initiator - a directory below initiators/
 * @name: its name
 * @config: protects @cfg, @runs and @stop; no holder waits for a run
 * @cfg: for the next run
 * @net: network namespace of the process that started the run
 * @work: the run
 * @runs: number of runs started; may wrap
 * @busy: a run is in progress
 * @stop: the run must end
 * @wake: woken by each event that the run, or a process, waits for
 * @lock: protects @state, @why and @result, which readers use at any time
 * @state: of the last run
 * @why: one line about a failure
 * @result: of the last run that is over
 * @debugfs: holds the files "samples" and "wait"
 */
struct rtgt_initiator {
	char name[RTGT_NAME_LEN];
	struct mutex config;	/* @cfg, @runs, @stop */
	struct rtgt_ini_cfg cfg;
	struct net *net;
	struct work_struct work;
	u32 runs;
	bool busy;
	bool stop;
	wait_queue_head_t wake;
	struct mutex lock;	/* @state, @why, @result */
	enum rtgt_ini_state state;
	char why[128];
	struct rtgt_ini_result result;
	struct dentry *debugfs;
};

int rtgt_initiators_init(struct dentry *debugfs);
void rtgt_initiators_exit(void);
struct rtgt_initiator *rtgt_initiator_create(const char *name);
void rtgt_initiator_destroy(struct rtgt_initiator *ini);
bool rtgt_initiator_busy(struct rtgt_initiator *ini);
int rtgt_initiator_start(struct rtgt_initiator *ini, struct net *net);
int rtgt_initiator_stop(struct rtgt_initiator *ini);
const char *rtgt_ini_state_name(enum rtgt_ini_state state);

#endif /* _RTGT_INITIATOR_H */
