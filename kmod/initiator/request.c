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
 * reply arrives.  If several are outstanding, a reply may arrive in the receive that another
 * request posted; its tag has the number of the request, and that of the operation.  Each
 * such request is a chain of its own.  Its work request may complete later than the reply arrives:
 * where the send queue is full, the next operation waits for that.
 *
 * What a completion brings is compared in its handler, after the time was taken: every reply and
 * every value that an atomic returns.  WRITEs and READs are compared after the run (verify.c).
 *
 * The first failure is recorded and ends the run: no request is posted again, and
 * outstanding ones complete when the QP is drained.
 */
#include <linux/crc32.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "initiator/request.h"

/* -------------------------------------------------------------- outstanding */

static void chain_retire(struct rtgt_run *run)
{
	if (atomic_dec_and_test(&run->under_way)) {
		complete(&run->all_done);
		wake_up(&run->ini->wake);
	}
}

static void run_fail_wc(struct rtgt_run *run, const struct ib_wc *wc)
{
	rtgt_run_fail(run, "an operation ended with \"%s\"", ib_wc_status_msg(wc->status));
}

static void run_fail_post(struct rtgt_run *run, u32 index, int ret)
{
	if (ret)
		rtgt_run_fail(run, "operation %u cannot be posted: %d", index, ret);
}

/**
 * rtgt_ini_req_post_recv() - post a receive for a reply
 * @req: its buffer is posted; the CPU does not use the buffer any more
 * @cqe: its handler gets the completion
 * Context: any.
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
	u32 end = run->next < run->cfg.warmup ? run->cfg.warmup : run->total, nr;

	if (READ_ONCE(run->failed) || READ_ONCE(run->ini->stop) || run_is_over(run))
		return 0;
	nr = min(most, end - run->next);
	*index = run->next;
	run->next += nr;
	return nr;
}

static u32 chain_len(const struct rtgt_run *run)
{
	return rtgt_op_is_answered(run->cfg.op) ? 1 : run->cfg.signal;
}

/* Make the operation differ from the ones before it in its reply's tag, and in its bytes. */
static void req_stamp(struct rtgt_ini_req *req)
{
	struct ib_device *ibdev = req->run->id->device;
	u32 size = min_t(u32, sizeof(__le32), req->run->cfg.size);
	__le32 index = cpu_to_le32(req->index);
	struct rtgt_msg *msg = req->tx;

	req->tag = (req->index * RTGT_INI_DEPTH_MAX + rtgt_ini_req_number(req)) & RTGT_IMM_ARG_MASK;
	req->waiting = true;
	if (req->run->cfg.op == RTGT_INI_WRITE_IMM) {
		req->wr.send.ex.imm_data = cpu_to_be32(rtgt_imm(RTGT_IMM_ACK, req->tag));
		return;
	}
	/* the target has replied to the operation before, so it has all its bytes */
	ib_dma_sync_single_for_cpu(ibdev, req->tx_dma, sizeof(*msg) + size, DMA_TO_DEVICE);
	msg->tag = cpu_to_be32(req->tag);
	memcpy(msg + 1, &index, size);
	ib_dma_sync_single_for_device(ibdev, req->tx_dma, sizeof(*msg) + size, DMA_TO_DEVICE);
}

static struct rtgt_ini_word *req_word(const struct rtgt_ini_req *req)
{
	return &req->run->word[rtgt_ini_req_place(req)];
}

/* Point the work request at the segment at @req->at. */
static void req_aim(struct rtgt_ini_req *req)
{
	struct rtgt_run *run = req->run;
	const struct rtgt_ini_cfg *cfg = &run->cfg;
	u32 len = cfg->size - req->at;

	if (cfg->op == RTGT_INI_SEND)
		return;
	if (cfg->op == RTGT_INI_CAS) {
		/* of a value that is not known yet, the comparison fails, most likely */
		req->wr.atomic.compare_add = READ_ONCE(req_word(req)->value);
		req->wr.atomic.swap = req->wr.atomic.compare_add + 1;
	} else if (cfg->op != RTGT_INI_FAA) {
		rtgt_ini_req_cut(req, rtgt_run_shift(run, req->index) + req->at,
				 cfg->segment ? min(cfg->segment, len) : len);
	}
	req->wr.rdma.remote_addr = run->peer.region[cfg->region].addr + rtgt_ini_req_offset(req) +
				    req->at;
}

static int chain_post(struct rtgt_ini_req *first, struct rtgt_ini_req *last)
{
	struct rtgt_run *run = first->run;
	struct rtgt_ini_req *req;

	for (req = first; req <= last; req++) {
		req_aim(req);
		req->wr.send.next = req < last ? &req[1].wr.send : NULL;
		req->wr.send.send_flags = (req < last ? 0 : IB_SEND_SIGNALED) |
					   (run->cfg.fence ? IB_SEND_FENCE : 0);
	}
	if (rtgt_op_is_answered(run->cfg.op) && first->index % RTGT_INI_SIGNAL_EVERY)
		first->wr.send.send_flags &= ~IB_SEND_SIGNALED;
	return ib_post_send(run->id->qp, &first->wr.send, NULL);
}

static int chain_begin(struct rtgt_ini_req *first, u32 index, u32 nr)
{
	struct rtgt_ini_req *last = first + nr - 1, *req;
	u64 now = ktime_get_ns();

	for (req = first; req <= last; req++) {
		req->index = index++;
		req->at = 0;
		req->ran = true;
		req->start = now;
		if (rtgt_op_is_answered(req->run->cfg.op))
			req_stamp(req);
	}
	if (!first->index)
		first->run->begin = now;
	return chain_post(first, last);
}

/*
 * If the send queue has no room, the request waits.  Some work request of those in the queue
 * requests a completion then, because they are more than RTGT_INI_SIGNAL_EVERY.
 */
static bool chain_park(struct rtgt_ini_req *first, struct rtgt_ini_req *got)
{
	struct rtgt_run *run = first->run;

	lockdep_assert_held(&run->post);
	if (!rtgt_op_is_answered(run->cfg.op) ||
	    run->next - run->wrs_done < run->cfg.depth + RTGT_INI_SIGNAL_EVERY)
		return false;
	first->got = got;
	first->parked = run->parked;
	run->parked = first;
	return true;
}

/* Post the next operations, if any are left; a reply may arrive in @got's receive. */
static void chain_start(struct rtgt_ini_req *first, struct rtgt_ini_req *got)
{
	struct rtgt_run *run = first->run;
	u32 room = run->cfg.depth - rtgt_ini_req_number(first), index, nr;
	int ret = 0;

	spin_lock_bh(&run->post);
	if (chain_park(first, got)) {
		spin_unlock_bh(&run->post);
		return;
	}
	nr = run_take(run, min(chain_len(run), room), &index);
	if (nr && rtgt_op_is_answered(run->cfg.op))
		ret = rtgt_ini_req_post_recv(got, &got->recv_cqe);
	if (nr && !ret)
		ret = chain_begin(first, index, nr);
	spin_unlock_bh(&run->post);
	if (!nr)
		chain_retire(run);
	else
		run_fail_post(run, index, ret);
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
	WRITE_ONCE(run->heard, jiffies);
	/* of any operation: a target that changes their order could end before @begin */
	run->end = now;
	/* of several outstanding operations, the first timed one was posted long before */
	if (run->progress == run->cfg.warmup)
		run->begin = now;
	if (req->index < run->cfg.warmup)
		return;
	if (nth < run->cfg.iters)
		run->result.sample[nth] = min_t(u64, now - req->start, U32_MAX);
}

/**
 * rtgt_word_has_crc() - compare a word with a checksum of the target
 * @value: the word; the order of its bytes is that of the target's CPU, which is not known
 * @crc: CRC-32 of its eight bytes
 * Context: any.
 * Return: true if it is the checksum of the word.
 */
bool rtgt_word_has_crc(u64 value, u32 crc)
{
	__le64 le = cpu_to_le64(value);
	__be64 be = cpu_to_be64(value);

	return crc == ~crc32_le(~0, (u8 *)&le, sizeof(le)) ||
	       crc == ~crc32_le(~0, (u8 *)&be, sizeof(be));
}

/*
 * An atomic must return the value that the one before it left in its word; atomics of a queue
 * pair are executed, and complete, in the order in which they were posted.  What the first atomic
 * of a word returns is compared with the target's checksum, if it could be asked for that.
 */
static void req_check_atomic(struct rtgt_ini_req *req)
{
	struct ib_device *ibdev = req->run->id->device;
	struct rtgt_ini_word *word = req_word(req);
	struct ib_atomic_wr *wr = &req->wr.atomic;
	u64 dma = req->sge[0].addr, old;

	ib_dma_sync_single_for_cpu(ibdev, dma, sizeof(old), DMA_BIDIRECTIONAL);
	old = ((u64 *)page_address(req->bytes->mem->chunk[0]))[rtgt_ini_req_number(req)];
	ib_dma_sync_single_for_device(ibdev, dma, sizeof(old), DMA_BIDIRECTIONAL);
	if (word->known ? old != word->value : word->asked && !rtgt_word_has_crc(old, word->crc))
		rtgt_run_fail(req->run, "atomic %u at offset %llu returned 0x%llx, %s",
			      req->index, rtgt_ini_req_offset(req), old, word->known ?
			      "not what the one before it left" :
			      "not what the target had there");
	else if (!word->known && !word->asked)
		req->run->result.not_compared += sizeof(old);
	if (req->run->cfg.op == RTGT_INI_FAA)
		old += wr->compare_add;
	else if (old == wr->compare_add)
		old = wr->swap;
	WRITE_ONCE(word->value, old);
	word->known = true;
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
	WRITE_ONCE(run->heard, jiffies);
	for (req = first; req <= last; req++)
		req->at += cfg->segment;
	if (READ_ONCE(run->failed) || READ_ONCE(run->ini->stop)) {
		chain_retire(run);
		return true;
	}
	run_fail_post(run, first->index, chain_post(first, last));
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
		run_fail_wc(run, wc);
		return;
	}
	if (chain_continue(first, last))
		return;
	for (req = first; req <= last; req++) {
		req_done(req, now);
		if (rtgt_op_is_atomic(run->cfg.op))
			req_check_atomic(req);
	}
	chain_next(first, first);
}

/*
 * The work request of an operation that a reply completes; and so have those before it: of the
 * operations 0, RTGT_INI_SIGNAL_EVERY, and so on, this is the next one.
 */
static void req_idle_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_ini_req *req = container_of(wc->wr_cqe, struct rtgt_ini_req, idle_cqe);
	struct rtgt_run *run = req->run;

	if (wc->status != IB_WC_SUCCESS) {
		run_fail_wc(run, wc);
		return;
	}
	spin_lock_bh(&run->post);
	run->wrs_done += run->wrs_done ? RTGT_INI_SIGNAL_EVERY : 1;
	req = run->parked;
	run->parked = NULL;
	spin_unlock_bh(&run->post);
	while (req) {
		struct rtgt_ini_req *next = req->parked;

		chain_start(req, req->got);
		req = next;
	}
}

/* The echo must have the bytes that were sent. */
static bool echo_ok(struct rtgt_ini_req *req, const struct rtgt_reply *reply)
{
	const u8 *sent = req->tx + sizeof(struct rtgt_msg), *got = reply->body;
	u32 size = req->run->cfg.size, at = 0;

	if (reply->len != size) {
		rtgt_run_fail(req->run, "echo %u has %u bytes instead of %u", req->index,
			      reply->len, size);
		return false;
	}
	if (!memcmp(got, sent, size))
		return true;
	while (got[at] == sent[at])
		at++;
	rtgt_run_fail(req->run, "echo %u differs at byte %u", req->index, at);
	return false;
}

/* The reply to a WRITE with an immediate must have its length, and the immediate. */
static bool imm_ok(struct rtgt_ini_req *req, const struct rtgt_reply *reply)
{
	u32 imm = rtgt_imm(RTGT_IMM_ACK, req->tag);

	if (reply->covered != req->run->cfg.size)
		rtgt_run_fail(req->run, "the reply to WRITE %u is to %llu bytes instead of %u",
			      req->index, reply->covered, req->run->cfg.size);
	else if (reply->arg != imm)
		rtgt_run_fail(req->run,
			      "the reply to WRITE %u is to the immediate 0x%x instead of 0x%x",
			      req->index, reply->arg, imm);
	return reply->covered == req->run->cfg.size && reply->arg == imm;
}

/* The outstanding request that the message replies to, or NULL if the reply is wrong. */
static struct rtgt_ini_req *req_answered(struct rtgt_ini_req *got, u32 len)
{
	struct rtgt_run *run = got->run;
	u32 op = run->cfg.op == RTGT_INI_SEND ? RTGT_MSG_ECHO : RTGT_MSG_IMM, nth;
	struct rtgt_reply reply;
	struct rtgt_ini_req *req;

	if (rtgt_decode_reply(got->rx, len, &reply)) {
		rtgt_run_fail(run, "a reply of %u bytes is malformed", len);
		return NULL;
	}
	nth = reply.tag % RTGT_INI_DEPTH_MAX;
	req = nth < run->cfg.depth ? &run->reqs[nth] : NULL;
	if (!req || !req->waiting || req->tag != reply.tag) {
		rtgt_run_fail(run,
			      "the target replied to a request that is not outstanding: tag %u",
			      reply.tag);
		return NULL;
	}
	req->waiting = false;
	if (reply.status != RTGT_OK || reply.op != op) {
		rtgt_run_fail(run,
			      "the reply to operation %u is to a request %u and has the status %s",
			      req->index, reply.op, rtgt_status_name(reply.status));
		return NULL;
	}
	return (op == RTGT_MSG_ECHO ? echo_ok(req, &reply) : imm_ok(req, &reply)) ? req : NULL;
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
			run_fail_wc(run, wc);
		return;
	}
	ib_dma_sync_single_for_cpu(cq->device, got->rx_dma, got->recv_sge.length, DMA_FROM_DEVICE);
	req = req_answered(got, wc->byte_len);
	if (!req)
		return;
	req_done(req, now);
	chain_next(req, got);
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

	for (i = 0; i < run->cfg.depth; i++) {
		run->reqs[i].send_cqe.done = req_send_done;
		run->reqs[i].idle_cqe.done = req_idle_done;
		run->reqs[i].recv_cqe.done = req_recv_done;
	}
	atomic_set(&run->under_way, DIV_ROUND_UP(run->cfg.depth, chain) + 1);
	for (i = 0; i < run->cfg.depth; i += chain)
		chain_start(&run->reqs[i], &run->reqs[i]);
	chain_retire(run);
}
