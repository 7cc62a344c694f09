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

#define RTGT_INI_SIZE_MAX	SZ_16M	/* bytes of an operation */
#define RTGT_INI_CUTS_MAX	8	/* pieces that the administrator may cut the bytes into */
/* SGEs of an operation: memory of up to 2 MiB each, the first may begin anywhere; and cuts */
#define RTGT_INI_SGES		(RTGT_INI_SIZE_MAX / SZ_2M + RTGT_INI_CUTS_MAX)
/* Private data of a REQ: what rdma_cm leaves of ib_cm's 92 bytes (cma_hdr) */
#define RTGT_INI_PRIVATE_MAX	56
#define RTGT_INI_ITERS_MAX	1048576
#define RTGT_INI_DEPTH_MAX	128
#define RTGT_INI_TIMEOUT_MAX_MS	(3600 * 1000)

/* What an initiator does, and what ends the time of an operation */
enum rtgt_ini_op {
	RTGT_INI_WRITE,		/* RDMA WRITE; its acknowledgment */
	RTGT_INI_READ,		/* RDMA READ; its response */
	RTGT_INI_WRITE_IMM,	/* WRITE with an immediate; the target's reply */
	RTGT_INI_SEND,		/* SEND that the target echoes; the echo */
	RTGT_INI_CAS,		/* COMPARE_AND_SWAP of eight bytes; its response */
	RTGT_INI_FAA,		/* FETCH_AND_ADD of eight bytes; its response */
};

/* enum ib_poll_context, which has gaps that differ between kernels */
enum rtgt_ini_poll {
	RTGT_POLL_SOFTIRQ,
	RTGT_POLL_WORKQUEUE,
	RTGT_POLL_DIRECT,	/* the run itself polls */
};

/* What the target gets in the REQ instead of struct rtgt_req */
struct rtgt_ini_private {
	u8 data[RTGT_INI_PRIVATE_MAX];
	u8 len;				/* 0 for struct rtgt_req */
};

/* Of the last run */
enum rtgt_ini_state {
	RTGT_INI_IDLE,		/* there was none */
	RTGT_INI_CONNECTING,
	RTGT_INI_RUNNING,	/* operations are outstanding */
	RTGT_INI_DONE,		/* it succeeded */
	RTGT_INI_FAILED,	/* rtgt_ini_result.why has the reason */
	RTGT_INI_STOPPED,	/* the administrator stopped it */
};

struct rtgt_ini_cfg {
	struct sockaddr_storage addr;	/* of the target; family 0 until it is set */
	struct sockaddr_storage source;	/* with family 0 the routing table chooses it */
	struct rtgt_ini_private private;
	bool uc;			/* the queue pair is UC instead of RC */
	enum rtgt_ini_op op;
	enum rtgt_ini_poll poll;	/* what polls completions */
	u32 sges;			/* the bytes of a request are in so many SGEs, or more */
	bool fence;	/* each waits for the READs and atomics before it (IB_SEND_FENCE) */
	u32 size;			/* bytes of an operation */
	u32 iters;			/* operations that are timed */
	u32 warmup;			/* operations before them */
	u32 depth;			/* outstanding operations at a time */
	u32 segment;	/* bytes of each request of a WRITE or READ, one at a time; 0 for all */
	u32 signal;	/* of this many one-sided operations, one requests a completion */
	u32 duration_ms; /* bounds the run instead of @iters, which then bounds the samples; or 0 */
	u32 region;			/* index of the target's region */
	u64 offset;			/* first byte of the region that operations use */
	u64 span;			/* number of bytes they use; 0 for all after @offset */
	bool walk;	/* each uses the next bytes of the span; otherwise the same @depth places */
	bool verify_all; /* verify each operation: at most @depth, all with a place in the span */
	u32 timeout_ms;	/* bound of each step of connecting, and of the time without a completion */
};

/* Steps of connecting that are timed, in order */
enum rtgt_ini_step {
	RTGT_STEP_ADDR,
	RTGT_STEP_ROUTE,
	RTGT_STEP_QP,
	RTGT_STEP_CONNECT,
	RTGT_NR_STEPS,
};

/* What a run measured, or why it failed */
struct rtgt_ini_result {
	struct rtgt_ini_cfg cfg;	/* attributes of the run */
	u32 done;			/* number of timed operations */
	u32 nr_samples;			/* how many of them left a sample */
	u64 begin_ns;	/* when the timed operations began, by the monotonic clock */
	u64 elapsed_ns;	/* from the end of the warm-up to the completion of the last operation */
	u64 step_ns[RTGT_NR_STEPS];	/* time of each step of connecting */
	u64 verified;			/* bytes that were compared, all of them with success */
	u64 not_compared;	/* bytes of operations, warm-up included, that were not compared */
	const char *why_not;		/* why they were not, one word; NULL if all were */
	char dev[IB_DEVICE_NAME_MAX];
	u32 *sample;			/* times of operations in nanoseconds, in rising order */
	char why[128];			/* one line; empty without memory for the run */
};

/* A directory below initiators/ */
struct rtgt_initiator {
	struct mutex config;	/* protects @cfg, @runs and @stop; no holder waits for a run */
	struct rtgt_ini_cfg cfg;	/* for the next run */
	struct net *net;		/* network namespace of the process that started the run */
	struct work_struct work;	/* the run */
	u32 runs;			/* number of runs started; may wrap */
	bool busy;			/* a run is in progress */
	bool stop;			/* the run must end */
	wait_queue_head_t wake;	/* woken by each event that the run, or a process, waits for */
	struct mutex lock;	/* protects @state and @result, which readers use at any time */
	enum rtgt_ini_state state;
	struct rtgt_ini_result result;	/* of the last run that is over */
	struct dentry *debugfs;		/* holds the files "samples" and "wait" */
};

/* Eight bytes at a time, and the completion of the work request has what was there */
static inline bool rtgt_op_is_atomic(enum rtgt_ini_op op)
{
	return op == RTGT_INI_CAS || op == RTGT_INI_FAA;
}

/* A reply of the target completes the operation, and not the completion of the work request */
static inline bool rtgt_op_is_answered(enum rtgt_ini_op op)
{
	return op == RTGT_INI_SEND || op == RTGT_INI_WRITE_IMM;
}

extern const char *const rtgt_ini_state_names[];

int rtgt_initiators_init(struct dentry *debugfs);
void rtgt_initiators_exit(void);
struct rtgt_initiator *rtgt_initiator_create(const char *name);
void rtgt_initiator_destroy(struct rtgt_initiator *ini);
bool rtgt_initiator_busy(struct rtgt_initiator *ini);
int rtgt_initiator_start(struct rtgt_initiator *ini, struct net *net);
int rtgt_initiator_stop(struct rtgt_initiator *ini);

#endif /* _RTGT_INITIATOR_H */
