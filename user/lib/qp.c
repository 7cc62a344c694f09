// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A queue pair, its completion queue, and what is posted to them.
 *
 * One completion queue serves both queues; every request is signalled, so a
 * caller that waits for what it posted never overruns it.  Waiting sleeps on
 * the completion channel and on the connection's event channel together: a peer
 * that goes away ends the wait.  With rtgt_qp_param.poll it spins instead, which
 * wants a processor of its own.
 *
 * The buffers belong to the caller and must stay until the completion is taken
 * or the queue pair destroyed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "qp.h"

/* Spins between two looks at the clock and the connection */
#define SPINS	256

static int make_queues(struct rtgt_qp *q, const struct rtgt_qp_param *param, struct rtgt_err *err)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = param->send_depth,
			.max_recv_wr = param->recv_depth,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct ibv_context *verbs = q->cm->id->verbs;
	int depth = (int)(param->send_depth + param->recv_depth);

	q->pd = ibv_alloc_pd(verbs);
	if (!q->pd)
		return rtgt_fail(err, errno, "no protection domain: %s", strerror(errno));
	if (!param->poll) {
		q->channel = ibv_create_comp_channel(verbs);
		if (!q->channel || fcntl(q->channel->fd, F_SETFL, O_NONBLOCK))
			return rtgt_fail(err, errno, "no completion channel: %s", strerror(errno));
	}
	q->cq = ibv_create_cq(verbs, depth, q, q->channel, 0);
	if (!q->cq)
		return rtgt_fail(err, errno, "no completion queue of %d entries: %s", depth,
				 strerror(errno));
	attr.send_cq = q->cq;
	attr.recv_cq = q->cq;
	if (rdma_create_qp(q->cm->id, q->pd, &attr))
		return rtgt_fail(err, errno, "no queue pair: %s", strerror(errno));
	q->qp = q->cm->id->qp;
	return 0;
}

/**
 * rtgt_qp_create() - make a queue pair on a resolved connection
 * @q: filled; to be destroyed when this succeeds
 * @cm: resolved; must outlive @q
 * @param: sizes
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_qp_create(struct rtgt_qp *q, struct rtgt_cm *cm, const struct rtgt_qp_param *param,
		   struct rtgt_err *err)
{
	int ret;

	memset(q, 0, sizeof(*q));
	q->cm = cm;
	ret = make_queues(q, param, err);
	if (ret) {
		rtgt_qp_destroy(q);
		return ret;
	}
	rtgt_qp_log(q);
	return 0;
}

/**
 * rtgt_qp_destroy() - release the queue pair, the queues and the domain
 * @q: created, or zero; what the caller registered in its domain is gone already
 */
void rtgt_qp_destroy(struct rtgt_qp *q)
{
	if (q->qp)
		rdma_destroy_qp(q->cm->id);
	if (q->cq) {
		ibv_ack_cq_events(q->cq, q->events);
		ibv_destroy_cq(q->cq);
	}
	if (q->channel)
		ibv_destroy_comp_channel(q->channel);
	if (q->pd)
		ibv_dealloc_pd(q->pd);
	memset(q, 0, sizeof(*q));
}

static const char *wr_opcode_str(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
		return "RDMA_WRITE";
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return "RDMA_WRITE_WITH_IMM";
	case IBV_WR_RDMA_READ:
		return "RDMA_READ";
	case IBV_WR_SEND:
		return "SEND";
	default:
		return "other";
	}
}

static const char *wc_opcode_str(enum ibv_wc_opcode opcode)
{
	switch (opcode) {
	case IBV_WC_SEND:
		return "SEND";
	case IBV_WC_RDMA_WRITE:
		return "RDMA_WRITE";
	case IBV_WC_RDMA_READ:
		return "RDMA_READ";
	case IBV_WC_RECV:
		return "RECV";
	case IBV_WC_RECV_RDMA_WITH_IMM:
		return "RECV_RDMA_WITH_IMM";
	default:
		return "other";
	}
}

static void log_wr(const struct rtgt_log *log, const struct ibv_send_wr *wr)
{
	char remote[64] = "", imm[32] = "";

	if (!log)
		return;
	if (wr->num_sge)
		rtgt_log(log, "sge", "addr 0x%llx len %u lkey 0x%x",
			 (unsigned long long)wr->sg_list->addr, wr->sg_list->length,
			 wr->sg_list->lkey);
	if (wr->opcode != IBV_WR_SEND)
		snprintf(remote, sizeof(remote), " remote 0x%llx rkey 0x%x",
			 (unsigned long long)wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
	if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		snprintf(imm, sizeof(imm), " imm 0x%08x", ntohl(wr->imm_data));
	rtgt_log(log, "wr", "id %llu %s sges %d%s%s", (unsigned long long)wr->wr_id,
		 wr_opcode_str(wr->opcode), wr->num_sge, remote, imm);
}

/**
 * rtgt_qp_post() - post to the send queue
 * @q: connected
 * @wr: the request
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_qp_post(struct rtgt_qp *q, const struct rtgt_wr *wr, struct rtgt_err *err)
{
	struct ibv_sge sge = { .length = wr->len };
	struct ibv_send_wr send = {
		.wr_id = wr->id,
		.opcode = wr->opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htonl(wr->imm),
		.wr.rdma = { .remote_addr = wr->remote_addr, .rkey = wr->rkey },
	};
	struct ibv_send_wr *bad;
	int ret;

	/* In a scatter-gather entry a length of 0 can mean 2 GiB: zero bytes have none */
	if (wr->len) {
		sge.addr = (uintptr_t)wr->mr->buf + wr->offset;
		sge.lkey = wr->mr->mr->lkey;
		send.sg_list = &sge;
		send.num_sge = 1;
	}
	log_wr(q->cm->param.log, &send);
	ret = ibv_post_send(q->qp, &send, &bad);
	if (ret)
		return rtgt_fail(err, ret, "posting a %s of %u bytes failed: %s",
				 wr_opcode_str(wr->opcode), wr->len, strerror(ret));
	return 0;
}

/**
 * rtgt_qp_post_recv() - post a receive
 * @q: created
 * @id: comes back in the completion
 * @mr: buffer, used from its beginning
 * @len: bytes of it
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_qp_post_recv(struct rtgt_qp *q, uint64_t id, const struct rtgt_mr *mr, uint32_t len,
		      struct rtgt_err *err)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->buf, .length = len, .lkey = mr->mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = id, .sg_list = &sge, .num_sge = len ? 1 : 0 };
	struct ibv_recv_wr *bad;
	int ret = ibv_post_recv(q->qp, &recv, &bad);

	rtgt_log(q->cm->param.log, "wr", "id %llu RECV of up to %u bytes", (unsigned long long)id,
		 len);
	if (ret)
		return rtgt_fail(err, ret, "posting a receive failed: %s", strerror(ret));
	return 0;
}

/* 1 with a completion, 0 without, or a negative errno */
static int poll_cq(struct rtgt_qp *q, struct ibv_wc *wc, struct rtgt_err *err)
{
	int n = ibv_poll_cq(q->cq, 1, wc);

	if (n < 0)
		return rtgt_fail(err, EIO, "the completion queue failed");
	return n;
}

/* Take the events that woke us; they are acknowledged when the queue goes */
static void drain_events(struct rtgt_qp *q)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(q->channel, &cq, &context))
		q->events++;
}

/* Arm, look again, sleep: an event is only raised for what arrives after arming */
static int sleep_cq(struct rtgt_qp *q, struct ibv_wc *wc, int timeout_ms, struct rtgt_err *err)
{
	struct pollfd pfd[2] = {
		{ .fd = q->channel->fd, .events = POLLIN },
		{ .fd = q->cm->channel->fd, .events = POLLIN },
	};
	int n = ibv_req_notify_cq(q->cq, 0);

	if (n)
		return rtgt_fail(err, n, "cannot arm the completion queue: %s", strerror(n));
	n = poll_cq(q, wc, err);
	if (n)
		return n;
	if (poll(pfd, 2, timeout_ms) < 0)
		return rtgt_fail(err, errno, errno == EINTR ? "interrupted" : "poll failed");
	drain_events(q);
	return poll_cq(q, wc, err);
}

static int spin_cq(struct rtgt_qp *q, struct ibv_wc *wc, struct rtgt_err *err)
{
	int n = 0;

	for (int i = 0; i < SPINS && !n; i++)
		n = poll_cq(q, wc, err);
	return n;
}

/**
 * rtgt_qp_wait() - take the next completion
 * @q: the queue pair
 * @wc: filled; its status is the caller's to judge
 * @err: says what is wrong
 *
 * A completion that is there wins over a connection that ended.
 *
 * Return: 0, -ETIMEDOUT after the connection's timeout, -EINTR after a signal,
 * -ECONNRESET when the peer closed the connection, or another negative errno.
 */
int rtgt_qp_wait(struct rtgt_qp *q, struct ibv_wc *wc, struct rtgt_err *err)
{
	int timeout = q->cm->param.timeout_ms;
	uint64_t end = rtgt_now_ns() + (uint64_t)timeout * 1000000u;
	int n = poll_cq(q, wc, err);

	while (!n) {
		uint64_t now = rtgt_now_ns();

		if (now >= end)
			return rtgt_fail(err, ETIMEDOUT,
					 "no completion within %d s: is the link still up? (--timeout waits longer)",
					 timeout / 1000);
		if (q->channel)
			n = sleep_cq(q, wc, (int)((end - now) / 1000000u) + 1, err);
		else
			n = spin_cq(q, wc, err);
		if (!n)
			n = rtgt_cm_check(q->cm, err);
	}
	if (n < 0)
		return n;
	rtgt_log(q->cm->param.log, "wc", "id %llu %s %s bytes %u qp %u",
		 (unsigned long long)wc->wr_id,
		 wc->status == IBV_WC_SUCCESS ? wc_opcode_str(wc->opcode) : "-",
		 ibv_wc_status_str(wc->status), wc->byte_len, wc->qp_num);
	return 0;
}

static const char *qp_state_str(enum ibv_qp_state state)
{
	static const char *const name[] = {
		[IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT", [IBV_QPS_RTR] = "RTR",
		[IBV_QPS_RTS] = "RTS", [IBV_QPS_SQD] = "SQD", [IBV_QPS_SQE] = "SQE",
		[IBV_QPS_ERR] = "ERR",
	};

	return state <= IBV_QPS_ERR ? name[state] : "unknown";
}

/**
 * rtgt_mtu_str() - a path MTU in bytes
 * @mtu: as verbs encode it
 *
 * Return: a static string; "none" for a value that is not an MTU.
 */
const char *rtgt_mtu_str(enum ibv_mtu mtu)
{
	static const char *const name[] = { "none", "256", "512", "1024", "2048", "4096" };

	return mtu <= IBV_MTU_4096 ? name[mtu] : "none";
}

/**
 * rtgt_qp_log() - tell the queue pair's state, packet sequence numbers and sizes
 * @q: created
 */
void rtgt_qp_log(const struct rtgt_qp *q)
{
	const struct rtgt_log *log = q->cm->param.log;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (!log)
		return;
	if (ibv_query_qp(q->qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init)) {
		rtgt_log(log, "qp", "number %u cannot be queried: %s", q->qp->qp_num,
			 strerror(errno));
		return;
	}
	rtgt_log(log, "qp",
		 "number %u state %s path mtu %s sq_psn 0x%06x rq_psn 0x%06x dest qp %u",
		 q->qp->qp_num, qp_state_str(attr.qp_state), rtgt_mtu_str(attr.path_mtu),
		 attr.sq_psn, attr.rq_psn, attr.dest_qp_num);
	rtgt_log(log, "qp",
		 "number %u caps: send_wr %u recv_wr %u send_sge %u recv_sge %u inline %u; retry %u rnr_retry %u timeout %u reads out %u in %u",
		 q->qp->qp_num, init.cap.max_send_wr, init.cap.max_recv_wr, init.cap.max_send_sge,
		 init.cap.max_recv_sge, init.cap.max_inline_data, attr.retry_cnt, attr.rnr_retry,
		 attr.timeout, attr.max_rd_atomic, attr.max_dest_rd_atomic);
}

static const struct meaning {
	enum ibv_wc_status status;
	const char *text;
} meanings[] = {
	{
		IBV_WC_REM_ACCESS_ERR,
		"the target's device refused the access: wrong rkey, out of range, or not granted by the region"
	}, {
		IBV_WC_REM_INV_REQ_ERR,
		"the target's device found the request invalid: longer than its receive, a misaligned atomic, or not allowed on its queue pair"
	}, {
		IBV_WC_REM_OP_ERR,
		"the target's device could not complete the request: see its dmesg"
	}, {
		IBV_WC_RETRY_EXC_ERR,
		"no acknowledgment after all retries: the target or the link is gone"
	}, {
		IBV_WC_RNR_RETRY_EXC_ERR,
		"the target had no receive posted for longer than the retries lasted"
	}, {
		IBV_WC_WR_FLUSH_ERR,
		"the queue pair had failed or been disconnected before: an earlier completion or the target's dmesg has the cause"
	}, {
		IBV_WC_LOC_PROT_ERR,
		"the local buffer is not registered for this access"
	}, {
		IBV_WC_LOC_LEN_ERR,
		"the message is longer than the local receive or the device's limit"
	}, {
		IBV_WC_LOC_QP_OP_ERR,
		"the local queue pair could not process the request"
	},
	{ }
};

/**
 * rtgt_wc_meaning() - what a failed completion means
 * @status: its status
 *
 * Return: a static string, what happened and where to look.
 */
const char *rtgt_wc_meaning(enum ibv_wc_status status)
{
	for (const struct meaning *m = meanings; m->text; m++)
		if (m->status == status)
			return m->text;
	return "see ibv_poll_cq(3)";
}
