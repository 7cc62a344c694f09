// SPDX-License-Identifier: GPL-2.0
/*
 * The queue pair of a connection, from nothing to RTS and back.
 *
 * It is brought to RTS by hand, before rdma_accept() (which then only sends the
 * REP): so receives are posted in time, the QP carries this module's name in
 * "rdma resource show", and a datagram endpoint's QP, which belongs to no one
 * client's id, is made the same way.
 *
 * The end, in the state CLOSING.  Completions of one CQ run one after the other, in
 * its order, and send and receive queue share it.  One that begins in CLOSING posts to
 * the QP nothing and defers nothing.  So
 *
 * 1. the QP is moved to error and a marker goes through the CQ (ib_drain_rq() does both;
 *    with an SRQ, which keeps its receives, the send queue's marker is used).  When that
 *    has completed, no completion that began before CLOSING is still running
 * 2. what such a completion deferred is waited for, and nothing is deferred any more
 * 3. nothing posts a send now: a second marker, in the send queue, comes out behind the last
 * 4. the timers of receives that are held back are ended; the QP is destroyed
 * 5. receives of an SRQ may have completed meanwhile: the CQ is polled until it is empty,
 *    so that none is lost, and freed
 */
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "registration/region.h"
#include "target/conn.h"
#include "target/port.h"
#include "target/qp.h"
#include "target/recv.h"
#include "target/service.h"
#include "target/trace.h"

/* IB_MTU_4096 in bytes */
#define RTGT_MTU_MAX	4096

static void qp_event(struct ib_event *ev, void *context)
{
	struct rtgt_conn *conn = context;

	/* may run with interrupts off */
	trace_rtgt_qp_event(conn, ev->event);
	switch (ev->event) {
	case IB_EVENT_COMM_EST:
		rtgt_conn_live(conn);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
	case IB_EVENT_QP_LAST_WQE_REACHED:
		/* with an SRQ no receive is flushed that would tell */
		rtgt_conn_fail(conn, "the device refused what the peer did");
		break;
	default:
		break;
	}
}

/*
 * Own receives, unless the domain has an SRQ: then the first who comes makes that.
 * Those of a datagram endpoint hold the largest packet there is, because a device
 * may take its QP down for one that is too long (rxe before 6.12), and it serves
 * others; slot.c drops what is longer than it shall be.
 */
static int qp_create_pool(struct rtgt_conn *conn)
{
	struct rtgt_domain *dom = conn->domain;
	bool ud = conn->transport == RTGT_UD;
	u32 size = ud ? max_t(u32, conn->recv_size, RTGT_MTU_MAX) : conn->recv_size;
	u32 head = ud ? sizeof(struct ib_grh) : 0;
	/* the one QP of a datagram endpoint has nobody to share with */
	bool srq = conn->port->cfg.srq && !ud;
	struct rtgt_pool *pool;
	int ret = 0;

	mutex_lock(&dom->lock);
	pool = dom->pool;
	if (!pool) {
		pool = rtgt_pool_create(dom->pd, conn->nr_slots, size, head, srq,
					rtgt_slot_init);
		if (IS_ERR(pool)) {
			ret = PTR_ERR(pool);
			goto unlock;
		}
		if (srq)
			ret = rtgt_pool_post_all(pool, NULL);
		if (ret) {
			rtgt_pool_destroy(pool);
			goto unlock;
		}
		if (srq) {
			dom->pool = pool;
			dom->release_pool = rtgt_pool_destroy;
		}
	}
	conn->pool = pool;
unlock:
	mutex_unlock(&dom->lock);
	return ret;
}

/*
 * What a device's driver takes for each request in a queue, about (rxe: a quarter more, less
 * in the receive queue).
 */
#define RTGT_SEND_WQE_BYTES	512
#define RTGT_RECV_WQE_BYTES	64
#define RTGT_CQE_BYTES		64

/**
 * rtgt_qp_needs() - the memory that the queues and receives of a connection will take
 * @conn: not built yet
 *
 * Receives in an SRQ are the domain's.
 *
 * Return: bytes.
 */
u64 rtgt_qp_needs(const struct rtgt_conn *conn)
{
	u64 depth = conn->nr_slots, sends = depth + RTGT_SPARES;
	u64 bytes = sizeof(*conn) + sends * RTGT_SEND_WQE_BYTES +
		    (depth + sends) * RTGT_CQE_BYTES;

	if (conn->port->cfg.srq)
		return bytes;
	return bytes + depth * RTGT_RECV_WQE_BYTES + rtgt_pool_needs(depth, conn->recv_size);
}

static int qp_create(struct rtgt_conn *conn)
{
	struct ib_device *ibdev = conn->domain->ibdev;
	unsigned int depth = conn->nr_slots;
	/* each slot's own reply or transfer, and replies from spares */
	unsigned int sends = depth + conn->pool->nr_spares;
	unsigned int max_sge = min(RTGT_XFER_SGES, ibdev->attrs.max_send_sge);
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
		.cap = {
			/* one more of each for the drain */
			.max_send_wr = sends + 1,
			.max_recv_wr = conn->pool->srq ? 0 : depth + 1,
			.max_recv_sge = 1,
		},
	};
	struct ib_qp *qp;
	int ret;

	init.cap.max_send_sge = max_sge;
	conn->max_sge = max_sge;
	ret = rtgt_cq_create(&conn->cq, ibdev, depth + sends + 2, IB_POLL_SOFTIRQ);
	if (ret)
		return ret;
	init.send_cq = conn->cq.ib;
	init.recv_cq = conn->cq.ib;
	qp = ib_create_qp(conn->domain->pd, &init);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	conn->qp = qp;
	conn->qpn = qp->qp_num;
	return 0;
}

static int qp_modify(struct rtgt_conn *conn, struct rdma_cm_id *id, enum ib_qp_state state,
		     const struct rdma_conn_param *param)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask, ret;

	/* of a UD QP rdma_cm knows INIT only */
	if (conn->transport == RTGT_UD && state != IB_QPS_INIT) {
		mask = IB_QP_STATE | (state == IB_QPS_RTS ? IB_QP_SQ_PSN : 0);
		return ib_modify_qp(conn->qp, &attr, mask);
	}
	ret = rdma_init_qp_attr(id, &attr, &mask);
	if (ret)
		return ret;
	/* rdma_cm learns these two only with the REP */
	if (state == IB_QPS_RTR)
		attr.max_dest_rd_atomic = param->responder_resources;
	else if (state == IB_QPS_RTS)
		attr.max_rd_atomic = param->initiator_depth;
	return ib_modify_qp(conn->qp, &attr, mask);
}

/* As far as messages can arrive. */
static int qp_to_rtr(struct rtgt_conn *conn, struct rdma_cm_id *id,
		     const struct rdma_conn_param *param)
{
	const struct rtgt_service *service = conn->port->cfg.service;
	int ret;

	ret = qp_modify(conn, id, IB_QPS_INIT, param);
	if (!ret && service->setup)
		ret = service->setup(conn);
	if (!ret && !conn->pool->srq)
		ret = rtgt_pool_post_all(conn->pool, conn->qp);
	if (!ret)
		ret = qp_modify(conn, id, IB_QPS_RTR, param);
	return ret;
}

/**
 * rtgt_qp_create() - give a connection its receives, its CQ and its QP, in RTS
 * @conn: with a domain
 * @id: tells the QP's addresses; not kept
 * @param: what the REP will say of READs and atomics
 *
 * Process context, may sleep.  What was made before a failure is taken back by
 * rtgt_qp_destroy().
 *
 * Return: 0 or a negative errno.
 */
int rtgt_qp_create(struct rtgt_conn *conn, struct rdma_cm_id *id,
		   const struct rdma_conn_param *param)
{
	struct ib_qp *qp;
	int ret;

	ret = qp_create_pool(conn);
	if (ret)
		return ret;
	ret = qp_create(conn);
	if (ret)
		return ret;
	/*
	 * A QP that never was in RTR has completed nothing, and cannot always be drained:
	 * not before INIT, and not when rxe could not allocate what RTR takes, because it
	 * then flushes nothing any more (6.12.117, rxe_qp_from_attr).
	 */
	ret = qp_to_rtr(conn, id, param);
	if (ret) {
		qp = conn->qp;
		conn->qp = NULL;
		ib_destroy_qp(qp);
		return ret;
	}
	return qp_modify(conn, id, IB_QPS_RTS, param);
}

static void qp_drain(struct rtgt_conn *conn)
{
	unsigned int i;

	if (conn->qp->srq)
		ib_drain_sq(conn->qp);
	else
		ib_drain_rq(conn->qp);
	wait_event(conn->quiet, !atomic_read(&conn->busy));
	for (i = 0; i < conn->nr_workers; i++)
		cancel_work_sync(&conn->workers[i].work);
	/* the drain posts a WRITE; what a UD QP sends is busy until it completes */
	if (conn->transport != RTGT_UD)
		ib_drain_sq(conn->qp);
	if (!conn->qp->srq)
		rtgt_pool_quiet(conn->pool);
}

/**
 * rtgt_qp_destroy() - wait for all that is under way, destroy QP and CQ
 * @conn: connection; rtgt_qp_create() may have failed half way or not have run
 *
 * May sleep.  The pool stays: it belongs to the domain or is freed with it.
 */
void rtgt_qp_destroy(struct rtgt_conn *conn)
{
	if (conn->qp) {
		qp_drain(conn);
		ib_destroy_qp(conn->qp);
	}
	rtgt_cq_destroy(&conn->cq);
}
