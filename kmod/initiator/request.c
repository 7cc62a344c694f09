// SPDX-License-Identifier: GPL-2.0
/*
 * The requests of a run: posted, timed, posted again.
 *
 * A run has one request for each outstanding operation (rtgt_ini_cfg.depth).
 * rtgt_ini_cfg.signal adjacent requests form a chain: they are posted together and only
 * the last one requests a completion, whose handler posts the chain again.  With a
 * segment, the handler posts the next segment of their bytes first, until none is left.
 * So nothing is woken, locked or allocated between two operations, and work requests
 * are prepared once (request_make.c).  Completions of the run's only CQ never run in
 * parallel, so a request and the results of the run have one owner.
 *
 * An operation that the target replies to (SEND, WRITE_WITH_IMM) is timed until the
 * reply arrives.  The tag of the reply is the number of the request: if several are
 * outstanding, a reply may arrive in the receive that another request posted.  Each
 * such request is a chain of its own.
 *
 * The first failure is recorded and ends the run: no request is posted again, and
 * outstanding ones complete when the QP is drained.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "core/mem.h"
#include "initiator/initiator.h"
#include "initiator/request.h"
#include "initiator/run.h"
#include "proto/proto.h"

/* -------------------------------------------------------------- outstanding */

static void chain_retire(struct rtgt_run *run)
{
	if (atomic_dec_and_test(&run->under_way)) {
		complete(&run->all_done);
		wake_up(&run->ini->wake);
	}
}

/* Only the first failure is kept; rtgt_run_wait() reports it. */
static void run_fail(struct rtgt_run *run, int why)
{
	if (!cmpxchg(&run->failed, 0, why))
		wake_up(&run->ini->wake);
}

/**
 * rtgt_ini_req_post_recv() - post a receive for a reply
 * @req: its buffer is posted; the CPU does not use the buffer any more
 * @cqe: its handler gets the completion
 *
 * Any context.
 *
 * Return: 0 or the device's errno.
 */
int rtgt_ini_req_post_recv(struct rtgt_ini_req *req, struct ib_cqe *cqe)
{
	struct ib_recv_wr wr = {
		.wr_cqe = cqe,
		.sg_list = &req->recv_sge,
		.num_sge = 1,
	};

	ib_dma_sync_single_for_device(req->run->id->device, req->rx_dma, req->recv_sge.length,
				      DMA_FROM_DEVICE);
	return ib_post_recv(req->run->id->qp, &wr, NULL);
}

/* True if duration_ms is over and one operation was timed: a result has a sample. */
static bool run_is_over(const struct rtgt_run *run)
{
	return run->cfg.duration_ms && run->progress > run->cfg.warmup &&
	       ktime_get_ns() - run->begin >= (u64)run->cfg.duration_ms * NSEC_PER_MSEC;
}

/*
 * Take the next operations, at most @most.  A chain ends at the end of the warm-up,
 * because the time begins there, and at the end of the run.
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

static u32 chain_len(const struct rtgt_run *run)
{
	return rtgt_op_is_answered(run->cfg.op) ? 1 : run->cfg.signal;
}

/* Point the work request at the segment at @req->at. */
static void req_aim(struct rtgt_ini_req *req)
{
	struct rtgt_run *run = req->run;
	const struct rtgt_ini_cfg *cfg = &run->cfg;

	if (cfg->segment)
		rtgt_ini_req_cut(req, req->at, min(cfg->segment, cfg->size - req->at));
	if ((cfg->walk || cfg->segment) && cfg->op != RTGT_INI_SEND)
		req->wr.rdma.remote_addr = run->peer.region[cfg->region].addr +
					    rtgt_ini_req_offset(req) + req->at;
}

static int chain_post(struct rtgt_ini_req *first, struct rtgt_ini_req *last)
{
	struct rtgt_run *run = first->run;
	struct rtgt_ini_req *req;

	for (req = first; req <= last; req++) {
		req_aim(req);
		req->wr.send.next = req < last ? &req[1].wr.send : NULL;
		req->wr.send.send_flags = req < last ? 0 : IB_SEND_SIGNALED;
	}
	if (rtgt_op_is_answered(run->cfg.op) && first->index % RTGT_INI_SIGNAL_EVERY)
		first->wr.send.send_flags = 0;
	return ib_post_send(run->id->qp, &first->wr.send, NULL);
}

static int chain_begin(struct rtgt_ini_req *first, u32 index, u32 nr)
{
	struct rtgt_ini_req *last = first + nr - 1, *req;
	u64 now = ktime_get_ns();

	for (req = first; req <= last; req++) {
		req->index = index++;
		req->at = 0;
		req->start = now;
	}
	if (!first->index)
		first->run->begin = now;
	return chain_post(first, last);
}

/* Post the next operations, if any are left; a reply may arrive in @got's receive. */
static void chain_start(struct rtgt_ini_req *first, struct rtgt_ini_req *got)
{
	struct rtgt_run *run = first->run;
	u32 room = run->cfg.depth - rtgt_ini_req_number(first), index, nr;
	int ret = 0;

	nr = run_take(run, min(chain_len(run), room), &index);
	if (!nr) {
		chain_retire(run);
		return;
	}
	if (rtgt_op_is_answered(run->cfg.op))
		ret = rtgt_ini_req_post_recv(got, &got->recv_cqe);
	if (!ret)
		ret = chain_begin(first, index, nr);
	if (ret)
		run_fail(run, -1);
}

/* An operation that is verified must not be overwritten by the next one. */
static void chain_next(struct rtgt_ini_req *first, struct rtgt_ini_req *got)
{
	if (first->run->cfg.verify_all)
		chain_retire(first->run);
	else
		chain_start(first, got);
}

static void req_done(struct rtgt_ini_req *req, u64 now)
{
	struct rtgt_run *run = req->run;
	u32 nth = req->index - run->cfg.warmup;

	WRITE_ONCE(run->progress, run->progress + 1);
	/* of several outstanding operations, the first timed one was posted long before */
	if (run->progress == run->cfg.warmup)
		run->begin = now;
	if (req->index < run->cfg.warmup)
		return;
	if (nth < run->cfg.iters)
		run->sample[nth] = min_t(u64, now - req->start, U32_MAX);
	run->end = now;
}

/*
 * The value that an atomic returns must be the one that this request left there: no
 * other request uses the address.  The first atomic learns the value.
 */
static bool req_atomic_ok(struct rtgt_ini_req *req)
{
	struct ib_device *ibdev = req->run->id->device;
	struct ib_atomic_wr *wr = &req->wr.atomic;
	u64 dma = req->sge[0].addr, old;
	bool ok;

	ib_dma_sync_single_for_cpu(ibdev, dma, sizeof(old), DMA_BIDIRECTIONAL);
	old = ((u64 *)page_address(req->bytes->mem->chunk[0]))[rtgt_ini_req_number(req)];
	ib_dma_sync_single_for_device(ibdev, dma, sizeof(old), DMA_BIDIRECTIONAL);
	ok = !req->known || old == req->value;
	if (req->run->cfg.op == RTGT_INI_FAA) {
		req->value = old + wr->compare_add;
	} else {
		/* the first comparison fails, most likely */
		req->value = old == wr->compare_add ? wr->swap : old;
		wr->compare_add = req->value;
		wr->swap = req->value + 1;
	}
	req->known = true;
	return ok;
}

/*
 * Is a segment of these operations left?  Then it is outstanding on return, unless the run
 * ends.
 */
static bool chain_continue(struct rtgt_ini_req *first, struct rtgt_ini_req *last)
{
	struct rtgt_run *run = first->run;
	const struct rtgt_ini_cfg *cfg = &run->cfg;
	struct rtgt_ini_req *req;

	if (!cfg->segment || cfg->segment >= cfg->size - last->at)
		return false;
	WRITE_ONCE(run->parts, run->parts + 1);
	for (req = first; req <= last; req++)
		req->at += cfg->segment;
	if (READ_ONCE(run->failed) || READ_ONCE(run->ini->stop))
		chain_retire(run);
	else if (chain_post(first, last))
		run_fail(run, -1);
	return true;
}

/* The last request of a chain has completed, and so have those before it. */
static void req_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_ini_req *last = container_of(wc->wr_cqe, struct rtgt_ini_req, send_cqe);
	struct rtgt_run *run = last->run;
	struct rtgt_ini_req *first = last - rtgt_ini_req_number(last) % chain_len(run), *req;
	u64 now = ktime_get_ns();

	if (wc->status != IB_WC_SUCCESS) {
		run_fail(run, wc->status);
		return;
	}
	if (chain_continue(first, last))
		return;
	for (req = first; req <= last; req++) {
		req_done(req, now);
		if (rtgt_op_is_atomic(run->cfg.op) && !req_atomic_ok(req))
			run_fail(run, -1);
	}
	chain_next(first, first);
}

/* The work request of an operation that a reply completes. */
static void req_idle_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_ini_req *req = container_of(wc->wr_cqe, struct rtgt_ini_req, idle_cqe);

	if (wc->status != IB_WC_SUCCESS)
		run_fail(req->run, wc->status);
}

/*
 * The outstanding request that the message replies to, or NULL.  The first and the last echo
 * are compared with what was sent, or all of them.
 */
static struct rtgt_ini_req *req_answered(struct rtgt_ini_req *got, u32 len)
{
	struct rtgt_run *run = got->run;
	bool echo = run->cfg.op == RTGT_INI_SEND, look = run->cfg.verify_all;
	struct rtgt_reply reply;
	struct rtgt_ini_req *req;

	if (rtgt_decode_reply(got->rx, len, &reply) || reply.status != RTGT_OK ||
	    reply.op != (echo ? RTGT_MSG_ECHO : RTGT_MSG_IMM) || reply.tag >= run->cfg.depth ||
	    (echo && reply.len != run->cfg.size))
		return NULL;
	req = &run->reqs[reply.tag];
	look |= !req->index || req->index == run->total - 1;
	if (echo && look &&
	    memcmp(reply.body, req->tx + sizeof(struct rtgt_msg), run->cfg.size))
		return NULL;
	return req;
}

static void req_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_ini_req *got = container_of(wc->wr_cqe, struct rtgt_ini_req, recv_cqe);
	struct rtgt_run *run = got->run;
	u64 now = ktime_get_ns();
	struct rtgt_ini_req *req;

	if (wc->status != IB_WC_SUCCESS) {
		/* a failure came before it, and is recorded */
		if (wc->status != IB_WC_WR_FLUSH_ERR)
			run_fail(run, wc->status);
		return;
	}
	ib_dma_sync_single_for_cpu(cq->device, got->rx_dma, got->recv_sge.length, DMA_FROM_DEVICE);
	req = req_answered(got, wc->byte_len);
	if (!req) {
		run_fail(run, -1);
		return;
	}
	req_done(req, now);
	chain_next(req, got);
}

/**
 * rtgt_ini_req_init() - set the handlers of a request's completions
 * @req: zeroed
 */
void rtgt_ini_req_init(struct rtgt_ini_req *req)
{
	req->send_cqe.done = req_send_done;
	req->idle_cqe.done = req_idle_done;
	req->recv_cqe.done = req_recv_done;
}

/**
 * rtgt_ini_reqs_start() - post the first operation of each request
 * @run: with requests
 *
 * @run->all_done is completed when no request is outstanding.  A request whose reply
 * never arrives stays outstanding: the caller bounds the time and drains the QP.
 */
void rtgt_ini_reqs_start(struct rtgt_run *run)
{
	u32 chain = chain_len(run), i;

	atomic_set(&run->under_way, DIV_ROUND_UP(run->cfg.depth, chain) + 1);
	for (i = 0; i < run->cfg.depth; i += chain)
		chain_start(&run->reqs[i], &run->reqs[i]);
	chain_retire(run);
}
