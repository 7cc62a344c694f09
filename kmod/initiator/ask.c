// SPDX-License-Identifier: GPL-2.0
/*
 * What a run posts once and waits for: a request to the target and its reply, or a work request
 * by itself.  They are posted while no operation of the run is outstanding, so one of them is
 * outstanding at a time.
 *
 * Their completions are part of the run (struct rtgt_once).  After a failure a work request may
 * still be outstanding, so the caller must end the run.
 */
#include <linux/completion.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>

#include "initiator/request.h"

/* Longer than a reply takes, as a rule; what comes too early costs an FPDU of 24 bytes */
#define RTGT_INI_WAKE_MS	100

/* In the tag of a request; no operation's tag has it, see req_stamp() */
#define ASK_TAG			BIT(31)

static void once_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rtgt_once *once = container_of(wc->wr_cqe, struct rtgt_once, cqe);
	struct rtgt_run *run = container_of(cq->cq_context, struct rtgt_run, cq);

	once->wc = *wc;
	complete(&once->done);
	wake_up(&run->ini->wake);
}

static void once_init(struct rtgt_once *once)
{
	once->cqe.done = once_done;
	init_completion(&once->done);
}

static int once_wait(struct rtgt_run *run, struct rtgt_once *once)
{
	int ret = rtgt_run_wait(run, &once->done);

	if (!ret && once->wc.status != IB_WC_SUCCESS)
		ret = rtgt_run_fail(run, "an operation ended with \"%s\"",
				    ib_wc_status_msg(once->wc.status));
	return ret;
}

static int once_post(struct rtgt_run *run, struct ib_send_wr *wr, struct rtgt_once *once)
{
	once_init(once);
	wr->wr_cqe = &once->cqe;
	wr->next = NULL;
	wr->send_flags = IB_SEND_SIGNALED;
	return ib_post_send(run->id->qp, wr, NULL) ?: once_wait(run, once);
}

/**
 * rtgt_run_post_once() - post a work request and wait for its completion
 * @run: connected
 * @wr: filled in but for its completion and flags
 * Context: may sleep.
 * Return: 0; -EIO when it failed, or another negative errno.  Then the run must end.
 */
int rtgt_run_post_once(struct rtgt_run *run, struct ib_send_wr *wr)
{
	return once_post(run, wr, &run->sent);
}

/**
 * rtgt_run_ask_body() - return where the body of a request is written
 * @run: with requests
 *
 * The CPU owns the memory until rtgt_run_ask().
 * Return: the body, of at most sizeof(struct rtgt_range) bytes.
 */
void *rtgt_run_ask_body(struct rtgt_run *run)
{
	struct rtgt_ini_req *req = &run->reqs[run->cfg.depth];
	u32 size = sizeof(struct rtgt_msg) + sizeof(struct rtgt_range);

	ib_dma_sync_single_for_cpu(run->id->device, req->tx_dma, size, DMA_TO_DEVICE);
	return req->tx + sizeof(struct rtgt_msg);
}

/*
 * siw may leave the first message of a connection in the peer's socket until more comes
 * (Documentation/findings/siw-first-fpdu.rst).  An empty WRITE is more.
 */
static int wake_peer(struct rtgt_run *run)
{
	struct ib_rdma_wr wr = { .wr.opcode = IB_WR_RDMA_WRITE };

	if (rtgt_run_wait_briefly(run, &run->got.done, RTGT_INI_WAKE_MS))
		return 0;
	return once_post(run, &wr.wr, &run->woken);
}

/**
 * rtgt_run_ask() - send a request to the target and wait for its reply
 * @run: with requests, none of them outstanding
 * @op: enum rtgt_op
 * @len: bytes of the body at rtgt_run_ask_body()
 * @reply: filled in; valid until the next request
 * Context: may sleep.
 * Return: 0; -EIO, with the reason recorded, for a reply that is none to this request, or has
 * another status than RTGT_OK; or another negative errno.  Then the run must end.
 */
int rtgt_run_ask(struct rtgt_run *run, u32 op, u32 len, struct rtgt_reply *reply)
{
	struct rtgt_ini_req *req = &run->reqs[run->cfg.depth];
	u32 size = sizeof(struct rtgt_msg) + len;
	struct ib_sge sge = {
		.addr = req->tx_dma,
		.length = size,
		.lkey = run->pd->local_dma_lkey,
	};
	struct ib_send_wr send = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
	};
	int ret;

	once_init(&run->got);
	rtgt_encode_msg(req->tx, op, ASK_TAG | run->asked, len);
	ib_dma_sync_single_for_device(run->id->device, req->tx_dma, size, DMA_TO_DEVICE);
	ret = rtgt_ini_req_post_recv(req, &run->got.cqe) ?: once_post(run, &send, &run->sent);
	if (!ret && run->peer.features & RTGT_F_ASK)
		ret = wake_peer(run);
	ret = ret ?: once_wait(run, &run->got);
	if (ret)
		return ret;
	ib_dma_sync_single_for_cpu(run->id->device, req->rx_dma, req->recv_sge.length,
				   DMA_FROM_DEVICE);
	if (rtgt_decode_reply(req->rx, run->got.wc.byte_len, reply))
		return rtgt_run_fail(run, "a reply of %u bytes is malformed",
				     run->got.wc.byte_len);
	if (reply->tag != (ASK_TAG | run->asked++))
		return rtgt_run_fail(run,
				     "the target replied to a request that is not outstanding: tag %u",
				     reply->tag);
	if (reply->status != RTGT_OK || reply->op != op)
		return rtgt_run_fail(run,
				     "the reply to request %u is to a request %u and has the status %s",
				     op, reply->op, rtgt_status_name(reply->status));
	return 0;
}

/**
 * rtgt_run_capability() - request the capability of the run's region, if the REP has none
 * @run: with requests; run->peer is completed, and the caller checks it again
 * Context: may sleep.
 * Return: 0 or a negative errno, with the reason recorded.
 */
int rtgt_run_capability(struct rtgt_run *run)
{
	struct rtgt_region_info *region = &run->peer.region[run->cfg.region];
	struct rtgt_reply reply;
	int ret;

	/* for SENDs, too, which need none: the first message is one that waits for its reply */
	if (!(run->peer.features & RTGT_F_ASK))
		return 0;
	rtgt_encode_query(rtgt_run_ask_body(run), run->cfg.region, 0, 1);
	ret = rtgt_run_ask(run, RTGT_MSG_EXTENTS, sizeof(struct rtgt_extents_query), &reply);
	if (!ret && reply.nr != 1)
		ret = -EPROTO;
	if (ret)
		return rtgt_run_fail(run, "no capability of region %u: %d", run->cfg.region,
				     ret);
	*region = rtgt_decode_extent(&reply, 0, region->access);
	return 0;
}
