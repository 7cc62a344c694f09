/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's active side.  What its files share, upper layer first:
 *
 *   configfs_initiator -> initiator -> (initiator_connect, verify) ->
 *   lane_make -> lane -> core
 *
 * It shares the headers of core/ and proto.h with the target and knows nothing else of it.
 */
#ifndef _RTGT_INITIATOR_H
#define _RTGT_INITIATOR_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "core/cq.h"
#include "core/device.h"
#include "core/mem.h"
#include "proto/proto.h"

/* Of requests that are answered every so many asks for a completion */
#define RTGT_LANE_SIGNAL_EVERY	16

/* pieces of up to 2 MiB an operation's bytes may lie in */
#define RTGT_LANE_SGES		8
#define RTGT_INI_SIZE_MAX	(RTGT_LANE_SGES * SZ_2M)
#define RTGT_INI_ITERS_MAX	1048576
#define RTGT_INI_DEPTH_MAX	128
#define RTGT_INI_TIMEOUT_MAX_MS	(3600 * 1000)

/**
 * enum rtgt_ini_op - what an initiator does, and until when it is timed
 * @RTGT_INI_WRITE: RDMA WRITE, until it is acknowledged
 * @RTGT_INI_READ: RDMA READ, until the bytes are here
 * @RTGT_INI_WRITE_IMM: WRITE with an immediate, until the target's answer
 * @RTGT_INI_SEND: a SEND the target sends back, until it is back
 * @RTGT_INI_CAS: COMPARE_AND_SWAP of eight bytes, until the old value is here
 * @RTGT_INI_FAA: FETCH_AND_ADD, likewise
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
 * enum rtgt_ini_state - what became of the last run
 * @RTGT_INI_IDLE: there was none
 * @RTGT_INI_CONNECTING: on the way to the target
 * @RTGT_INI_RUNNING: operations are under way
 * @RTGT_INI_DONE: all went well
 * @RTGT_INI_FAILED: rtgt_initiator.why says what went wrong
 * @RTGT_INI_STOPPED: by the administrator
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
 * struct rtgt_ini_cfg - what the administrator asked for
 * @addr: of the target, port included; family 0 until it is set
 * @source: where from; family 0 leaves it to the routing table
 * @op: which operation
 * @poll: where completions are taken: in softirq, in a workqueue, or by the run
 *	  itself, which polls (IB_POLL_DIRECT)
 * @size: bytes of an operation
 * @iters: operations that are timed
 * @warmup: operations before them
 * @depth: operations under way at a time
 * @segment: a WRITE or a READ is done by requests of at most so many bytes, each when the
 *	     one before has ended; 0 for one request
 * @signal: of one-sided operations one in so many asks for a completion
 * @duration_ms: how long operations are posted, instead of @iters of them, which are
 *		 the first to leave a sample; 0 for @iters
 * @region: index of the target's region
 * @offset: where the part of it begins that is used
 * @span: bytes of that part; 0 for all behind @offset
 * @walk: each operation goes behind the one before, around that part; otherwise
 *	  each lane stays where it is
 * @verify_all: each operation is verified; there are no more of them than places, and
 *		than @depth
 * @timeout_ms: bound of each step of connecting, and of a time without a completion
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
 * @cfg: what it was asked for
 * @done: operations timed
 * @nr_samples: of them have left a sample
 * @begin_ns: when the time began, by the monotonic clock
 * @elapsed_ns: from the end of the warm-up to that of the last of them
 * @step_ns: of connecting
 * @verified: bytes of which it was made sure that both ends hold the same
 * @dev: name of the device
 * @sample: in rising order, in nanoseconds
 */
struct rtgt_ini_result {
	struct rtgt_ini_cfg cfg;
	u32 done;
	u32 nr_samples;
	u64 begin_ns;
	u64 elapsed_ns;
	u64 step_ns[RTGT_NR_STEPS];
	u64 verified;
	char dev[IB_DEVICE_NAME_MAX];
	u32 *sample;
};

/**
 * struct rtgt_initiator - a directory below initiators/
 * @name: its name
 * @config: protects @cfg, @runs and @stop; nobody waits for a run under it
 * @cfg: for the next run
 * @net: network namespace of whoever started the run
 * @work: the run
 * @runs: number of runs started; may wrap
 * @busy: a run is in progress
 * @stop: it must end
 * @wake: whoever waits inside the run
 * @lock: protects what follows, which readers may ask for at any time
 * @state: of the last run
 * @why: one line about a failure
 * @result: of the last run that ended
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

struct rtgt_run;

/**
 * struct rtgt_lane_bytes - the local bytes of one-sided operations
 * @mem: memory
 * @sgt: its DMA mapping
 * @mapped: @sgt is
 */
struct rtgt_lane_bytes {
	struct rtgt_mem *mem;
	struct sg_table sgt;
	bool mapped;
};

/**
 * struct rtgt_lane - the preallocated work request of one outstanding operation
 * @run: it belongs to
 * @send_cqe: completion of the request, where that is what is waited for
 * @idle_cqe: of a request whose answer is waited for
 * @recv_cqe: completion of an answer
 * @wr: the request, made once
 * @bytes: what goes out or comes in; NULL of a SEND
 * @own: @bytes, unless those are the first lane's
 * @sge: the same for the device
 * @recv_sge: where an answer comes to
 * @tx: the message, SEND only
 * @rx: the answer
 * @tx_dma: for the device
 * @rx_dma: likewise
 * @tx_mapped: @tx_dma is
 * @rx_mapped: @rx_dma is
 * @value: what an atomic left at its place
 * @known: it is known
 * @index: of the iteration under way
 * @at: where the part begins that its request moves, in bytes of it
 * @start: when it was posted
 */
struct rtgt_lane {
	struct rtgt_run *run;
	struct ib_cqe send_cqe;
	struct ib_cqe idle_cqe;
	struct ib_cqe recv_cqe;
	union {
		struct ib_send_wr send;
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
	} wr;
	struct rtgt_lane_bytes *bytes;
	struct rtgt_lane_bytes own;
	struct ib_sge sge[RTGT_LANE_SGES];
	struct ib_sge recv_sge;
	void *tx;
	void *rx;
	u64 tx_dma;
	u64 rx_dma;
	bool tx_mapped;
	bool rx_mapped;
	u64 value;
	bool known;
	u32 index;
	u32 at;
	u64 start;
};

/**
 * struct rtgt_run - one run, from the first step of connecting to the last byte freed
 * @ini: whose
 * @cfg: what it was asked for, a copy
 * @user: hold on the device
 * @attached: @user is in use
 * @id: the connection
 * @event: the last event of the connection manager, waited for by a step
 * @status: its status
 * @come: it has come and was not waited for yet
 * @disconnected: the target closed the connection
 * @removed: the device is being removed; rtgt_dev_remove() waits for this run
 * @peer: the REP, decoded
 * @misfit: why that cannot be used
 * @reject: reason it gave for a reject, 0 if none
 * @dev: name of the device
 * @pd: protection domain
 * @cq: completions
 * @lanes: rtgt_ini_cfg.depth of them, and one more
 * @next: the next iteration
 * @total: iterations, warm-up included
 * @under_way: chains of lanes that are, and one until all have been started
 * @all_done: none is
 * @progress: operations that have ended
 * @parts: of those that have not, parts that have
 * @failed: the first failure: an enum ib_wc_status, -1 a bad answer, 0 none
 * @begin: when the last of the warm-up ended, or the first operation was posted
 * @end: when the last one ended
 * @step_ns: of connecting
 * @sample: how long each timed operation took, in nanoseconds
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
	struct rtgt_lane *lanes;
	atomic_t next;
	u32 total;
	atomic_t under_way;
	struct completion all_done;
	u32 progress;
	u32 parts;
	int failed;
	u64 begin;
	u64 end;
	u64 step_ns[RTGT_NR_STEPS];
	u32 *sample;
};

/* initiator.c */
int rtgt_initiators_init(struct dentry *debugfs);
void rtgt_initiators_exit(void);
struct rtgt_initiator *rtgt_initiator_create(const char *name);
void rtgt_initiator_destroy(struct rtgt_initiator *ini);
bool rtgt_initiator_busy(struct rtgt_initiator *ini);
int rtgt_initiator_start(struct rtgt_initiator *ini, struct net *net);
int rtgt_initiator_stop(struct rtgt_initiator *ini);
int rtgt_run_wait(struct rtgt_run *run, struct completion *done);
int __printf(3, 4) rtgt_run_fail(struct rtgt_run *run, int err, const char *fmt, ...);
const char *rtgt_ini_state_name(enum rtgt_ini_state state);

/* connect.c */
int rtgt_run_connect(struct rtgt_run *run);

/* lane.c */
bool rtgt_op_is_atomic(enum rtgt_ini_op op);
bool rtgt_op_is_answered(enum rtgt_ini_op op);
u32 rtgt_lane_number(const struct rtgt_lane *lane);
u64 rtgt_lane_offset(const struct rtgt_lane *lane);
int rtgt_lane_post_recv(struct rtgt_lane *lane, struct ib_cqe *cqe);
void rtgt_lane_init(struct rtgt_lane *lane);
void rtgt_lanes_start(struct rtgt_run *run);
u64 rtgt_run_region_len(const struct rtgt_run *run);
u64 rtgt_lanes_places(const struct rtgt_run *run);

/* lane_make.c */
u32 rtgt_lanes_send_depth(const struct rtgt_ini_cfg *cfg);
void rtgt_lane_bytes_to_cpu(struct rtgt_lane *lane);
void rtgt_lane_bytes_to_device(struct rtgt_lane *lane);
void rtgt_lane_cut(struct rtgt_lane *lane, u32 at, u32 len);
int rtgt_lanes_create(struct rtgt_run *run);
void rtgt_lanes_destroy(struct rtgt_run *run);

/* verify.c */
int rtgt_lanes_verify(struct rtgt_run *run, u64 *bytes);

#endif /* _RTGT_INITIATOR_H */
