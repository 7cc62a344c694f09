// SPDX-License-Identifier: GPL-2.0
/*
 * The queue pair of a connection: create it, bring it to RTS, drain it, destroy it.
 *
 * On InfiniBand and RoCE, rtgt_qp_create() brings the QP to RTS before rdma_accept(), which then
 * only sends the REP.  So receives are posted before a message can arrive, "rdma resource show"
 * names this module as the owner, and the QP of a datagram endpoint, which belongs to no client's
 * id, is created in the same way.  An iWARP QP stays in INIT, with its receives posted, until
 * rdma_accept() gives it the TCP stream.
 *
 * Draining, in the state CLOSING.  The send and the receive queue share one CQ, whose completions
 * run one after the other.  A completion that begins in CLOSING posts nothing to the QP and defers
 * nothing.  qp_drain() and rtgt_qp_destroy() do this:
 *
 * 1. move the QP to error and send a marker through the CQ (ib_drain_rq(); ib_drain_sq() with an
 *    SRQ, which keeps its receives): no completion that began before CLOSING still runs.  With an
 *    SRQ, wait for IB_EVENT_QP_LAST_WQE_REACHED, if the device raises it: then the QP uses none of
 *    its receives any more
 * 2. drop the requests that faults hold, wait for the workers, and drop the deferred and the parked
 *    requests
 * 3. nothing posts a send any more: send a second marker through the send queue, which completes
 *    after the last send.  A datagram endpoint, whose replies are all signaled, waits for those
 * 4. drop the requests that wait for a send or rw context, delete the timer of withheld receives,
 *    destroy the QP
 * 5. poll the CQ until it is empty, since receives of an SRQ may have completed meanwhile and none
 *    must be lost, and free it
 */
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "registration/region.h"
#include "target/conn.h"
#include "target/fault.h"
#include "target/port.h"
#include "target/qp.h"
#include "target/recv.h"
#include "target/rw.h"
#include "target/send.h"
#include "target/service.h"
#include "target/trace.h"

/* Bytes of the largest packet, IB_MTU_4096 */
#define RTGT_MTU_MAX	4096

/*
 * A device that never raises IB_EVENT_QP_LAST_WQE_REACHED (IBA 10.3.1) must not keep the QP.  One
 * QP waits for so long; the others of a device that never raised one do not
 */
#define RTGT_LAST_WQE_MS	1000

static void qp_event(struct ib_event *ev, void *context)
{
	struct rtgt_conn *conn = context;

	/* a device may call this with interrupts off */
	trace_rtgt_qp_event(conn, ev->event);
	switch (ev->event) {
	case IB_EVENT_COMM_EST:
		rtgt_conn_live(conn);
		break;
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		/* rxe in 7.3 raises it before it sends the NAK */
		rtgt_conn_failing(conn, RTGT_WHY_REFUSED);
		break;
	case IB_EVENT_QP_LAST_WQE_REACHED:
		WRITE_ONCE(conn->last_wqe, true);
		WRITE_ONCE(conn->user.dev->last_wqe, true);
		wake_up(&conn->quiet);
		fallthrough;
	case IB_EVENT_QP_FATAL:
		/* the only notice with an SRQ: none of its receives is flushed */
		rtgt_conn_fail(conn, RTGT_WHY_REFUSED);
		break;
	default:
		break;
	}
}

/* By default, half of the receives that clients share stay posted. */
static unsigned int qp_withhold_max(const struct rtgt_conn *conn)
{
	const struct rtgt_port_cfg *cfg = &conn->port->cfg;
	bool shared = cfg->srq || conn->transport == RTGT_UD;

	return cfg->withhold_max ?: shared ? conn->recv_depth / 2 : conn->recv_depth;
}

/*
 * Size of the message buffers; @head: bytes that the device writes before a message.  The buffers
 * of a datagram endpoint hold the largest packet, because a device may move the QP to error when a
 * datagram is longer than its receive (rxe before 6.12), and all clients share the QP; recv.c drops
 * a datagram longer than recv_size.
 */
static u32 qp_buf_size(const struct rtgt_conn *conn, u32 *head)
{
	bool ud = conn->transport == RTGT_UD;

	*head = ud ? sizeof(struct ib_grh) : 0;
	return ud ? max_t(u32, conn->recv_size, RTGT_MTU_MAX) : conn->recv_size;
}

/* With an SRQ, the first connection of a domain creates the receive contexts for all. */
static int qp_create_pool(struct rtgt_conn *conn)
{
	struct rtgt_domain *dom = conn->domain;
	/* a datagram endpoint has one QP for all clients, so it needs no SRQ */
	bool srq = conn->port->cfg.srq && conn->transport != RTGT_UD;
	u32 head, size = qp_buf_size(conn, &head);
	struct rtgt_recv_pool *pool = NULL;
	int ret = 0;

	/* a pool of the connection's own may be large, and nobody waits for its allocation */
	if (srq) {
		mutex_lock(&dom->lock);
		pool = dom->pool;
	}
	if (!pool)
		pool = rtgt_recv_pool_create(conn, conn->recv_depth, size, head, srq,
					     qp_withhold_max(conn), rtgt_recv_completed);
	if (IS_ERR(pool)) {
		ret = PTR_ERR(pool);
	} else if (srq && !dom->pool) {
		ret = rtgt_recv_pool_post(pool);
		if (ret) {
			rtgt_recv_pool_destroy(pool);
		} else {
			dom->pool = pool;
			dom->release_pool = rtgt_recv_pool_destroy;
		}
	}
	if (!ret)
		conn->pool = pool;
	if (srq)
		mutex_unlock(&dom->lock);
	return ret;
}

/*
 * Bytes that a connection takes besides its contexts and message buffers: of the device's driver,
 * the CM and the socket of a QP, then for each entry of a queue.
 *
 * Measured on the target's machine (rxe in 6.12.117, 1,000 connections held, MemAvailable before
 * and after): 146.4 KiB each with the default attributes, of which the terms of rtgt_qp_needs()
 * other than RTGT_QP_BYTES are 109.9 KiB; 35.0 KiB with one receive of 128 bytes, of which they are
 * 4.6 KiB.  So 36.5 and 30.4 KiB are left: 17.5 KiB of slab, the rest pages of the queues, which
 * are rounded up.
 */
#define RTGT_QP_BYTES		(37 * SZ_1K)
#define RTGT_SEND_WQE_BYTES	512
#define RTGT_RECV_WQE_BYTES	64
#define RTGT_CQE_BYTES		64
/* On iWARP the core has an MR for each READ or WRITE of a transfer; siw's has 256 entries of 24 */
#define RTGT_RW_MR_BYTES	SZ_8K

/* Bytes that queues and contexts will take, without the receives of an SRQ of a shared port. */
u64 rtgt_qp_needs(const struct rtgt_conn *conn)
{
	const struct rtgt_port_cfg *cfg = &conn->port->cfg;
	bool srq = cfg->srq && conn->transport != RTGT_UD;
	u64 depth = conn->recv_depth, nr_sends = rtgt_sends_of(depth, srq);
	u64 nr_rws = conn->port->cfg.service->rws, wrs = nr_sends + nr_rws;
	u32 head, size = qp_buf_size(conn, &head);
	u64 bytes = sizeof(*conn) + nr_rws * sizeof(struct rtgt_rw_ctx) +
		    nr_sends * (sizeof(struct rtgt_send_ctx) + rtgt_buf_needs(size + head));

	if (conn->iwarp)
		bytes += nr_rws * rtgt_rw_wrs(conn->cm_id->device) * RTGT_RW_MR_BYTES;
	bytes += RTGT_QP_BYTES + wrs * RTGT_SEND_WQE_BYTES + (depth + wrs) * RTGT_CQE_BYTES;

	if (srq)
		bytes += rtgt_recv_pool_needs(rtgt_recvs_own(conn), size, head);
	if (srq && !cfg->private)
		return bytes;
	return bytes + depth * RTGT_RECV_WQE_BYTES + rtgt_recv_pool_needs(depth, size, head);
}

/* Bytes of the contexts, @messages: of the message buffers; without the receives of an SRQ. */
size_t rtgt_qp_bytes(const struct rtgt_conn *conn, size_t *messages)
{
	size_t bytes = 0;

	*messages = 0;
	if (!conn->pool->srq || conn->own)
		bytes = rtgt_recv_pool_bytes(conn->own ?: conn->pool, messages);
	*messages += (size_t)conn->nr_sends * conn->pool->size;
	return bytes + conn->nr_sends * sizeof(*conn->sends) + conn->nr_rws * sizeof(*conn->rws);
}

static int qp_create(struct rtgt_conn *conn)
{
	struct ib_device *ibdev = conn->domain->ibdev;
	/* all receives of an SRQ may complete on this CQ */
	unsigned int depth = conn->recv_depth;
	unsigned int ctxs = conn->nr_rws * rtgt_rw_wrs(ibdev);
	static const enum ib_qp_type types[] = {
		[RTGT_RC] = IB_QPT_RC,
		[RTGT_UC] = IB_QPT_UC,
		[RTGT_UD] = IB_QPT_UD,
	};
	struct ib_qp_init_attr init = {
		.event_handler = qp_event,
		.qp_context = conn,
		.qp_type = types[conn->transport],
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.srq = conn->pool->srq,
		.port_num = conn->port_num,
		.cap = {
			/* for the markers and a probe; the core adds those of rw contexts */
			.max_send_wr = conn->nr_sends + 2,
			.max_recv_wr = conn->pool->srq ? 0 : depth + 1,
			.max_send_sge = min(RTGT_RW_SGS, ibdev->attrs.max_send_sge),
			.max_recv_sge = 1,
			.max_rdma_ctxs = ctxs,
		},
	};
	struct ib_qp *qp;
	int ret;

	/* a transfer may be three work requests: registration, READ or WRITE, invalidation */
	ret = rtgt_cq_create(&conn->cq, ibdev, depth + conn->nr_sends + 3 * ctxs + 4,
			     IB_POLL_SOFTIRQ);
	if (ret)
		return ret;
	init.send_cq = conn->cq.ib;
	init.recv_cq = conn->cq.ib;
	qp = ib_create_qp(conn->domain->pd, &init);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	conn->qp = qp;
	conn->qpn = qp->qp_num;
	if (!conn->pool->srq)
		conn->pool->qp = qp;
	return 0;
}

static int qp_modify(struct rtgt_conn *conn, struct rdma_cm_id *id, enum ib_qp_state state,
		     const struct rdma_conn_param *param)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask, ret;

	/* rdma_init_qp_attr() supports only INIT for a UD QP */
	if (conn->transport == RTGT_UD && state != IB_QPS_INIT) {
		mask = IB_QP_STATE | (state == IB_QPS_RTS ? IB_QP_SQ_PSN : 0);
		return ib_modify_qp(conn->qp, &attr, mask);
	}
	ret = rdma_init_qp_attr(id, &attr, &mask);
	/* the id expects no REP any more */
	if (ret)
		return ret == -EINVAL ? -ECONNABORTED : ret;
	/* rdma_init_qp_attr() has these two only after rdma_accept() */
	if (state == IB_QPS_RTR)
		attr.max_dest_rd_atomic = param->responder_resources;
	else if (state == IB_QPS_RTS)
		attr.max_rd_atomic = param->initiator_depth;
	return ib_modify_qp(conn->qp, &attr, mask);
}

/* From RTR on messages can arrive, so receives are posted before. */
static int qp_to_rtr(struct rtgt_conn *conn, struct rdma_cm_id *id,
		     const struct rdma_conn_param *param)
{
	const struct rtgt_service *service = conn->port->cfg.service;
	int ret;

	ret = qp_modify(conn, id, IB_QPS_INIT, param);
	if (!ret && service->setup)
		ret = service->setup(conn);
	if (!ret && !conn->pool->srq &&
	    !(rtgt_faulty(&conn->port->faults) &&
	      rtgt_fault_commit(conn->port, RTGT_FAULT_RECV_NONE, NULL)))
		ret = rtgt_recv_pool_post(conn->pool);
	if (!ret && !conn->iwarp)
		ret = qp_modify(conn, id, IB_QPS_RTR, param);
	return ret;
}

/**
 * rtgt_qp_create() - create the contexts, the CQ and the QP, in RTS or, on iWARP, in INIT
 * @conn: connection with a domain
 * @id: id with the addresses of the QP; not kept
 * @param: parameters of the REP: numbers of outstanding READs and atomics
 * Context: may sleep.
 * Return: 0, or a negative errno; then the teardown calls rtgt_qp_destroy().
 */
int rtgt_qp_create(struct rtgt_conn *conn, struct rdma_cm_id *id,
		   const struct rdma_conn_param *param)
{
	struct ib_qp *qp;
	int ret;

	conn->port_num = id->port_num;
	ret = qp_create_pool(conn);
	if (!ret)
		ret = rtgt_recvs_own_create(conn);
	if (!ret)
		ret = rtgt_sends_create(conn);
	if (!ret)
		ret = rtgt_rws_create(conn);
	if (!ret)
		ret = qp_create(conn);
	if (ret)
		return ret;
	/*
	 * A QP that was never in RTR needs no drain.  And a drain may hang: before INIT, and when
	 * rxe has failed to allocate memory for RTR, because it then flushes nothing any more
	 * (6.12.117, rxe_qp_from_attr).
	 */
	ret = qp_to_rtr(conn, id, param);
	if (ret) {
		qp = conn->qp;
		conn->qp = NULL;
		ib_destroy_qp(qp);
		return ret;
	}
	return conn->iwarp ? 0 : qp_modify(conn, id, IB_QPS_RTS, param);
}

/* With an SRQ: until the QP uses none of its receives any more, if the device says so. */
static void qp_await_last_wqe(struct rtgt_conn *conn)
{
	struct rtgt_dev *dev = conn->user.dev;

	/* siw never raises the event, nor does rxe in 6.1 */
	if (conn->iwarp || (READ_ONCE(dev->no_last_wqe) && !READ_ONCE(dev->last_wqe)))
		return;
	if (!wait_event_timeout(conn->quiet, READ_ONCE(conn->last_wqe),
				msecs_to_jiffies(RTGT_LAST_WQE_MS)))
		WRITE_ONCE(dev->no_last_wqe, true);
}

static void qp_drain(struct rtgt_conn *conn)
{
	if (!conn->qp->srq) {
		ib_drain_rq(conn->qp);
	} else {
		ib_drain_sq(conn->qp);
		qp_await_last_wqe(conn);
	}
	rtgt_fault_cancel(conn);
	rtgt_recv_cancel(conn);
	/* ib_drain_sq() posts a WRITE, which a UD QP does not support */
	if (conn->transport == RTGT_UD)
		wait_event(conn->quiet, rtgt_sends_idle(conn));
	else
		ib_drain_sq(conn->qp);
	rtgt_recv_drop_all(&conn->send_wait);
	rtgt_recv_drop_all(&conn->rw_wait);
	rtgt_rws_release(conn);
	if (!conn->qp->srq)
		rtgt_recv_pool_quiet(conn->pool);
}

/**
 * rtgt_qp_destroy() - drain a connection, free QP, CQ, send and rw contexts, not receive contexts
 * @conn: connection in CLOSING; rtgt_qp_create() may have failed, or not have run
 * Context: may sleep.
 */
void rtgt_qp_destroy(struct rtgt_conn *conn)
{
	if (conn->qp) {
		qp_drain(conn);
		ib_destroy_qp(conn->qp);
	}
	rtgt_cq_destroy(&conn->cq);
	rtgt_rws_destroy(conn);
	if (conn->pool)
		rtgt_sends_destroy(conn);
}
