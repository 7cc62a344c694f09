// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of the kernel's initiator: posted, timed, posted again.
 *
 * A lane is one operation under way; a run has as many as its depth.  Lanes beside
 * each other form a chain (rtgt_ini_cfg.signal of them): they are posted together and
 * only the last asks for a completion, which posts them again from where it is; with a
 * segment it posts the next part of their bytes, until there is none.  So nothing is
 * woken, locked or allocated between two operations; work requests are made once
 * (lane_make.c).  Completions of a run's one CQ never run two at a time, so a lane
 * and the run's figures have one owner.
 *
 * What is answered by a message (SEND, WRITE_WITH_IMM) is timed until the answer is
 * here.  The answer's tag is the number of its lane: with several under way an
 * answer need not come in the receive its lane posted.  Here each lane is a chain.
 *
 * Any failure is noted once and ends the run: no lane posts again, and those under
 * way end when the QP is drained.
 */
#include "initiator/initiator.h"

/**
 * rtgt_op_is_atomic() - is it of eight bytes, always?
 * @op: operation
 *
 * Return: true if it is.
 */
bool rtgt_op_is_atomic(enum rtgt_ini_op op)
{
	return op == RTGT_INI_CAS || op == RTGT_INI_FAA;
}

/**
 * rtgt_op_is_answered() - is the target's answer waited for?
 * @op: operation
 *
 * Return: true if it is, false if the completion is all there is.
 */
bool rtgt_op_is_answered(enum rtgt_ini_op op)
{
	return op == RTGT_INI_SEND || op == RTGT_INI_WRITE_IMM;
}

/**
 * rtgt_lane_number() - which one it is
 * @lane: lane
 *
 * Return: counted from 0.
 */
u32 rtgt_lane_number(const struct rtgt_lane *lane)
{
	return lane - lane->run->lanes;
}

/* ---------------------------------------------------------------- under way */

static void lane_retire(struct rtgt_run *run)
{
	if (atomic_dec_and_test(&run->under_way)) {
		complete(&run->all_done);
		wake_up(&run->ini->wake);
	}
}

/* The first failure counts; whoever waits looks at it. */
static void run_fail(struct rtgt_run *run, int why)
{
	if (!cmpxchg(&run->failed, 0, why))
		wake_up(&run->ini->wake);
}

/**
 * rtgt_run_region_len() - how many bytes of the target's region can be used
 * @run: knows its peer, which has the region
 *
 * Return: bytes; if the target did not send them, at least what is asked for.
 */
u64 rtgt_run_region_len(const struct rtgt_run *run)
{
	const struct rtgt_ini_cfg *cfg = &run->cfg;

	return rtgt_region_len(&run->peer.region[cfg->region],
			       cfg->offset + (cfg->span ?: cfg->size));
}

/**
 * rtgt_lanes_places() - how many operations have room beside each other
 * @run: knows its peer; offset and span are inside the region
 *
 * Return: how many times the size fits into the part of the region that is used.
 */
u64 rtgt_lanes_places(const struct rtgt_run *run)
{
	const struct rtgt_ini_cfg *cfg = &run->cfg;

	return div_u64(cfg->span ?: rtgt_run_region_len(run) - cfg->offset, cfg->size);
}

/**
 * rtgt_lane_offset() - where its iteration takes place
 * @lane: lane
 *
 * Return: bytes from the region's first on.
 */
u64 rtgt_lane_offset(const struct rtgt_lane *lane)
{
	const struct rtgt_run *run = lane->run;
	u64 place = run->cfg.walk ? lane->index : rtgt_lane_number(lane);
	u64 nth;

	div64_u64_rem(place, rtgt_lanes_places(run), &nth);
	return run->cfg.offset + nth * run->cfg.size;
}

/**
 * rtgt_lane_post_recv() - post a receive for a reply
 * @lane: whose buffer; the CPU does not use it any more
 * @cqe: what takes the completion
 *
 * Any context.
 *
 * Return: 0 or the device's errno.
 */
int rtgt_lane_post_recv(struct rtgt_lane *lane, struct ib_cqe *cqe)
{
	struct ib_recv_wr wr = {
		.wr_cqe = cqe,
		.sg_list = &lane->recv_sge,
		.num_sge = 1,
	};

	ib_dma_sync_single_for_device(lane->run->id->device, lane->rx_dma, lane->recv_sge.length,
				      DMA_FROM_DEVICE);
	return ib_post_recv(lane->run->id->qp, &wr, NULL);
}

/* True if duration_ms is over; not before one operation was timed: a result has a sample. */
static bool run_is_over(const struct rtgt_run *run)
{
	return run->cfg.duration_ms && run->progress > run->cfg.warmup &&
	       ktime_get_ns() - run->begin >= (u64)run->cfg.duration_ms * NSEC_PER_MSEC;
}

/*
 * Take the next iterations, at most so many.  A chain ends with the warm-up, for the
 * time begins there, and with the run.
 */
static u32 run_take(struct rtgt_run *run, u32 most, u32 *index)
{
	int next = atomic_read(&run->next);
	u32 end, nr;

	if (READ_ONCE(run->failed) || READ_ONCE(run->ini->stop) || run_is_over(run))
		return 0;
	do {
		end = next < run->cfg.warmup ? run->cfg.warmup : run->total;
		nr = min(most, end - next);
	} while (nr && !atomic_try_cmpxchg(&run->next, &next, next + nr));
	*index = next;
	return nr;
}

static u32 lane_chain(const struct rtgt_run *run)
{
	return rtgt_op_is_answered(run->cfg.op) ? 1 : run->cfg.signal;
}

/* The next request moves what lies at @lane->at. */
static void lane_aim(struct rtgt_lane *lane)
{
	struct rtgt_run *run = lane->run;
	const struct rtgt_ini_cfg *cfg = &run->cfg;

	if (cfg->segment)
		rtgt_lane_cut(lane, lane->at, min(cfg->segment, cfg->size - lane->at));
	if ((cfg->walk || cfg->segment) && cfg->op != RTGT_INI_SEND)
		lane->wr.rdma.remote_addr = run->peer.region[cfg->region].addr +
					    rtgt_lane_offset(lane) + lane->at;
}

static int lane_post(struct rtgt_lane *first, struct rtgt_lane *last)
{
	struct rtgt_run *run = first->run;
	struct rtgt_lane *lane;

	for (lane = first; lane <= last; lane++) {
		lane_aim(lane);
		lane->wr.send.next = lane < last ? &lane[1].wr.send : NULL;
		lane->wr.send.send_flags = lane < last ? 0 : IB_SEND_SIGNALED;
	}
	if (rtgt_op_is_answered(run->cfg.op) && first->index % RTGT_LANE_SIGNAL_EVERY)
		first->wr.send.send_flags = 0;
	return ib_post_send(run->id->qp, &first->wr.send, NULL);
}

static int lane_begin(struct rtgt_lane *first, u32 index, u32 nr)
{
	struct rtgt_lane *last = first + nr - 1, *lane;
	u64 now = ktime_get_ns();

	for (lane = first; lane <= last; lane++) {
		lane->index = index++;
		lane->at = 0;
		lane->start = now;
	}
	if (!first->index)
		first->run->begin = now;
	return lane_post(first, last);
}

/* Post the next chain, if there is one; an answer may come into @got's receive. */
static void lane_go(struct rtgt_lane *first, struct rtgt_lane *got)
{
	struct rtgt_run *run = first->run;
	u32 room = run->cfg.depth - rtgt_lane_number(first), index, nr;

	nr = run_take(run, min(lane_chain(run), room), &index);
	if (!nr)
		lane_retire(run);
	else if ((rtgt_op_is_answered(run->cfg.op) && rtgt_lane_post_recv(got, &got->recv_cqe)) ||
		 lane_begin(first, index, nr))
		run_fail(run, -1);
}

/* What is verified by itself must not be overwritten by the next. */
static void lane_next(struct rtgt_lane *first, struct rtgt_lane *got)
{
	if (first->run->cfg.verify_all)
		lane_retire(first->run);
	else
		lane_go(first, got);
}

static void lane_done(struct rtgt_lane *lane, u64 now)
{
	struct rtgt_run *run = lane->run;
	u32 nth = lane->index - run->cfg.warmup;

	WRITE_ONCE(run->progress, run->progress + 1);
	/* with several under way, the first that counts was posted long before */
	if (run->progress == run->cfg.warmup)
		run->begin = now;
	if (lane->index < run->cfg.warmup)
		return;
	if (nth < run->cfg.iters)
		run->sample[nth] = min_t(u64, now - lane->start, U32_MAX);
	run->end = now;
}

/*
 * The value an atomic found must be the one this lane left there: nobody else has
 * been told the place.  The first one finds out.
 */
static bool lane_atomic_ok(struct rtgt_lane *lane)
{
	struct ib_device *ibdev = lane->run->id->device;
	struct ib_atomic_wr *wr = &lane->wr.atomic;
	u64 dma = lane->sge[0].addr, old;
	bool ok;

	ib_dma_sync_single_for_cpu(ibdev, dma, sizeof(old), DMA_BIDIRECTIONAL);
	old = ((u64 *)page_address(lane->bytes->mem->chunk[0]))[rtgt_lane_number(lane)];
	ib_dma_sync_single_for_device(ibdev, dma, sizeof(old), DMA_BIDIRECTIONAL);
	ok = !lane->known || old == lane->value;
	if (lane->run->cfg.op == RTGT_INI_FAA) {
		lane->value = old + wr->compare_add;
	} else {
		/* the first comparison fails, most likely */
		lane->value = old == wr->compare_add ? wr->swap : old;
		wr->compare_add = lane->value;
		wr->swap = lane->value + 1;
	}
	lane->known = true;
	return ok;
}

/* Is there another part of these operations?  Then it is under way, or nothing is any more. */
static bool lane_continue(struct rtgt_lane *first, struct rtgt_lane *last)
{
	struct rtgt_run *run = first->run;
	const struct rtgt_ini_cfg *cfg = &run->cfg;
	struct rtgt_lane *lane;

	if (!cfg->segment || cfg->segment >= cfg->size - last->at)
		return false;
	WRITE_ONCE(run->parts, run->parts + 1);
	for (lane = first; lane <= last; lane++)
		lane->at += cfg->segment;
	if (READ_ONCE(run->failed) || READ_ONCE(run->ini->stop))
		lane_retire(run);
	else if (lane_post(first, last))
		run_fail(run, -1);
	return true;
}

/* The last operation of a chain has ended, and so have those before it. */
static void lane_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_lane *last = container_of(wc->wr_cqe, struct rtgt_lane, send_cqe);
	struct rtgt_run *run = last->run;
	struct rtgt_lane *first = last - rtgt_lane_number(last) % lane_chain(run), *lane;
	u64 now = ktime_get_ns();

	if (wc->status != IB_WC_SUCCESS) {
		run_fail(run, wc->status);
		return;
	}
	if (lane_continue(first, last))
		return;
	for (lane = first; lane <= last; lane++) {
		lane_done(lane, now);
		if (rtgt_op_is_atomic(run->cfg.op) && !lane_atomic_ok(lane))
			run_fail(run, -1);
	}
	lane_next(first, first);
}

/* The request of something that will be answered. */
static void lane_idle_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_lane *lane = container_of(wc->wr_cqe, struct rtgt_lane, idle_cqe);

	if (wc->status != IB_WC_SUCCESS)
		run_fail(lane->run, wc->status);
}

/* Is it the answer to a request under way?  The first and the last echo are compared, or all. */
static struct rtgt_lane *lane_answered(struct rtgt_lane *got, u32 len)
{
	struct rtgt_run *run = got->run;
	bool echo = run->cfg.op == RTGT_INI_SEND, look = run->cfg.verify_all;
	struct rtgt_reply reply;
	struct rtgt_lane *lane;

	if (rtgt_decode_reply(got->rx, len, &reply) || reply.status != RTGT_OK ||
	    reply.op != (echo ? RTGT_MSG_ECHO : RTGT_MSG_IMM) || reply.tag >= run->cfg.depth ||
	    (echo && reply.len != run->cfg.size))
		return NULL;
	lane = &run->lanes[reply.tag];
	look |= !lane->index || lane->index == run->total - 1;
	if (echo && look &&
	    memcmp(reply.body, lane->tx + sizeof(struct rtgt_msg), run->cfg.size))
		return NULL;
	return lane;
}

static void lane_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_lane *got = container_of(wc->wr_cqe, struct rtgt_lane, recv_cqe);
	struct rtgt_run *run = got->run;
	u64 now = ktime_get_ns();
	struct rtgt_lane *lane;

	if (wc->status != IB_WC_SUCCESS) {
		/* what failed before says more */
		if (wc->status != IB_WC_WR_FLUSH_ERR)
			run_fail(run, wc->status);
		return;
	}
	ib_dma_sync_single_for_cpu(cq->device, got->rx_dma, got->recv_sge.length, DMA_FROM_DEVICE);
	lane = lane_answered(got, wc->byte_len);
	if (!lane) {
		run_fail(run, -1);
		return;
	}
	lane_done(lane, now);
	lane_next(lane, got);
}

/**
 * rtgt_lane_init() - who takes its completions
 * @lane: zeroed
 */
void rtgt_lane_init(struct rtgt_lane *lane)
{
	lane->send_cqe.done = lane_send_done;
	lane->idle_cqe.done = lane_idle_done;
	lane->recv_cqe.done = lane_recv_done;
}

/**
 * rtgt_lanes_start() - post the first operations of all lanes
 * @run: with lanes
 *
 * @run->all_done is completed when no lane is under way any more.  An answer that
 * never comes keeps its lane: the caller bounds the time and drains the QP.
 */
void rtgt_lanes_start(struct rtgt_run *run)
{
	u32 chain = lane_chain(run), i;

	atomic_set(&run->under_way, DIV_ROUND_UP(run->cfg.depth, chain) + 1);
	for (i = 0; i < run->cfg.depth; i += chain)
		lane_go(&run->lanes[i], &run->lanes[i]);
	lane_retire(run);
}
