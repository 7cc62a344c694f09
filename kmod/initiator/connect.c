// SPDX-License-Identifier: GPL-2.0
/*
 * How a run of the kernel's initiator connects, step by step, each step timed and
 * bounded; and whether the attributes fit what the target offers.
 *
 * The connection manager only records its events and wakes the run.  A failure releases
 * nothing here: initiator.c does that, however far the run came.
 */
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "initiator/request.h"

/* the requests of the verification, and of the drain */
#define RUN_MORE_WRS		3

static int run_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rtgt_run *run = id->context;
	const struct rdma_conn_param *conn = &ev->param.conn;
	u32 arg;

	switch (ev->event) {
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	case RDMA_CM_EVENT_DISCONNECTED:
		WRITE_ONCE(run->disconnected, true);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		WRITE_ONCE(run->removed, true);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		run->misfit = rtgt_decode_rep(conn->private_data, conn->private_data_len,
					      &run->peer);
		break;
	case RDMA_CM_EVENT_REJECTED:
		if (rtgt_decode_rej(conn->private_data, conn->private_data_len, &run->reject, &arg))
			run->reject = 0;
		/* of a connection that stands: a target that has no RTU yet can send no DREQ */
		WRITE_ONCE(run->disconnected, true);
		break;
	default:
		break;
	}
	run->event = ev->event;
	run->status = ev->status;
	/* pairs with run_come(): publishes the event and its status */
	smp_store_release(&run->come, true);
	wake_up(&run->ini->wake);
	return 0;
}

static bool run_come(struct rtgt_run *run)
{
	/* pairs with run_event() */
	return smp_load_acquire(&run->come);
}

/*
 * Wait for the event that ends a step of connecting, and time the step.  The device's
 * removal waits for the run, so it must end this wait.
 */
static int run_step(struct rtgt_run *run, enum rtgt_ini_step step, enum rdma_cm_event_type want,
		    const char *what, u64 start)
{
	struct rtgt_initiator *ini = run->ini;
	bool come;

	wait_event_idle_timeout(ini->wake, run_come(run) || READ_ONCE(ini->stop) ||
				READ_ONCE(run->removed), msecs_to_jiffies(run->cfg.timeout_ms));
	come = run_come(run);
	run->result.step_ns[step] = ktime_get_ns() - start;
	if (READ_ONCE(ini->stop))
		return -EINTR;
	if (READ_ONCE(run->removed))
		return rtgt_run_fail(run, "%s: the device is being removed", what);
	if (!come)
		return rtgt_run_fail(run, "%s: nothing within %u ms", what,
				     run->cfg.timeout_ms);
	run->come = false;
	if (run->event == want)
		return 0;
	if (run->event == RDMA_CM_EVENT_REJECTED && run->reject)
		return rtgt_run_fail(run, "%s: refused by the target: %s", what,
				     rtgt_rej_name(run->reject));
	if (run->event == RDMA_CM_EVENT_REJECTED)
		return rtgt_run_fail(run, "%s: refused: %s", what,
				     rdma_reject_msg(run->id, run->status));
	return rtgt_run_fail(run, "%s: %s (%d)", what, rdma_event_msg(run->event),
			     run->status);
}

static int run_resolve(struct rtgt_run *run)
{
	struct rtgt_ini_cfg *cfg = &run->cfg;
	struct sockaddr *source = cfg->source.ss_family ? (struct sockaddr *)&cfg->source : NULL;
	u64 start = ktime_get_ns();
	int ret;

	run->id = rdma_create_id(run->ini->net, run_event, run,
				 cfg->uc ? RDMA_PS_IB : RDMA_PS_TCP,
				 cfg->uc ? IB_QPT_UC : IB_QPT_RC);
	if (IS_ERR(run->id)) {
		ret = PTR_ERR(run->id);
		run->id = NULL;
		return rtgt_run_fail(run, "no connection id: %d", ret);
	}
	ret = rdma_resolve_addr(run->id, source, (struct sockaddr *)&cfg->addr, cfg->timeout_ms);
	if (ret)
		return rtgt_run_fail(run, "resolving the address: %d: no route over an RDMA device",
				     ret);
	ret = run_step(run, RTGT_STEP_ADDR, RDMA_CM_EVENT_ADDR_RESOLVED, "resolving the address",
		       start);
	if (ret)
		return ret;
	start = ktime_get_ns();
	ret = rdma_resolve_route(run->id, cfg->timeout_ms);
	if (ret)
		return rtgt_run_fail(run, "resolving the route: %d", ret);
	return run_step(run, RTGT_STEP_ROUTE, RDMA_CM_EVENT_ROUTE_RESOLVED, "resolving the route",
			start);
}

static void run_gone(struct rtgt_dev_user *user)
{
	struct rtgt_run *run = container_of(user, struct rtgt_run, user);

	WRITE_ONCE(run->removed, true);
	wake_up(&run->ini->wake);
}

static int run_create_qp(struct rtgt_run *run)
{
	static const enum ib_poll_context polls[] = {
		[RTGT_POLL_SOFTIRQ] = IB_POLL_SOFTIRQ,
		[RTGT_POLL_WORKQUEUE] = IB_POLL_WORKQUEUE,
		[RTGT_POLL_DIRECT] = IB_POLL_DIRECT,
	};
	struct ib_device *ibdev = run->id->device;
	u32 recvs = run->cfg.depth + RUN_MORE_WRS;
	struct ib_qp_init_attr init = {
		.qp_type = run->cfg.uc ? IB_QPT_UC : IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr = recvs + (rtgt_op_is_answered(run->cfg.op) ?
						RTGT_INI_SIGNAL_EVERY : 0),
			.max_recv_wr = recvs,
			.max_send_sge = min_t(u32, RTGT_INI_SGES, ibdev->attrs.max_send_sge),
			.max_recv_sge = 1,
		},
	};
	u64 start = ktime_get_ns();
	int ret, cqes = init.cap.max_send_wr + recvs;

	if (run->cfg.uc && rdma_protocol_iwarp(ibdev, run->id->port_num))
		return rtgt_run_fail(run, "transport uc: iWARP has only rc");
	run->user.gone = run_gone;
	ret = rtgt_dev_attach(ibdev, &run->user);
	if (ret)
		return rtgt_run_fail(run, "the device is being removed");
	run->attached = true;
	run->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(run->pd)) {
		ret = PTR_ERR(run->pd);
		run->pd = NULL;
		return rtgt_run_fail(run, "no protection domain: %d", ret);
	}
	ret = rtgt_cq_create(&run->cq, ibdev, cqes, polls[run->cfg.poll]);
	if (ret)
		return rtgt_run_fail(run, "no completion queue of %d entries: %d", cqes, ret);
	init.send_cq = run->cq.ib;
	init.recv_cq = run->cq.ib;
	ret = rdma_create_qp(run->id, run->pd, &init);
	if (ret)
		return rtgt_run_fail(run, "no queue pair: %d", ret);
	strscpy(run->result.dev, dev_name(&ibdev->dev), sizeof(run->result.dev));
	run->result.step_ns[RTGT_STEP_QP] = ktime_get_ns() - start;
	return 0;
}

static int run_connect(struct rtgt_run *run)
{
	struct rtgt_req req;
	struct rdma_conn_param param = {
		.private_data = &req,
		.private_data_len = sizeof(req),
		.initiator_depth = min_t(u32, run->cfg.depth,
					 run->id->device->attrs.max_qp_init_rd_atom),
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	u64 start = ktime_get_ns();
	int ret;

	rtgt_encode_req(&req);
	if (run->cfg.private.len) {
		param.private_data = run->cfg.private.data;
		param.private_data_len = run->cfg.private.len;
	}
	ret = rdma_connect(run->id, &param);
	/* on iWARP this connects TCP, and waits for that */
	if (ret == -ECONNREFUSED)
		return rtgt_run_fail(run, "connecting: refused: no listener");
	/* iWARP: rdma_cm chose a port that TCP still uses, perhaps in TIME_WAIT */
	if (ret == -EADDRINUSE || ret == -EADDRNOTAVAIL) {
		rtgt_run_fail(run, "connecting: %pISpc is in use: run again",
			      &run->id->route.addr.src_addr);
		return -EADDRINUSE;
	}
	if (ret)
		return rtgt_run_fail(run, "connecting: %d", ret);
	return run_step(run, RTGT_STEP_CONNECT, RDMA_CM_EVENT_ESTABLISHED, "connecting", start);
}

/* Do the attributes fit each other? */
static int check_cfg(struct rtgt_run *run)
{
	const struct rtgt_ini_cfg *cfg = &run->cfg;

	if (cfg->uc && (cfg->op == RTGT_INI_READ || rtgt_op_is_atomic(cfg->op)))
		return rtgt_run_fail(run, "transport uc: it has no READs and no atomics");
	if (cfg->signal > cfg->depth)
		return rtgt_run_fail(run, "signal %u: no operation of depth %u would complete",
				     cfg->signal, cfg->depth);
	if (cfg->segment && cfg->op != RTGT_INI_WRITE && cfg->op != RTGT_INI_READ)
		return rtgt_run_fail(run,
				     "segment %u: only a WRITE or a READ can be cut into parts",
				     cfg->segment);
	if (cfg->verify_all && (cfg->duration_ms || cfg->warmup + cfg->iters > cfg->depth))
		return rtgt_run_fail(run,
				     "verify all: no duration_ms, and iters and warmup within depth %u",
				     cfg->depth);
	/* a chain ends with the warm-up, and no other chain would use the rest of its requests */
	if (cfg->verify_all && !rtgt_op_is_answered(cfg->op) && cfg->warmup % cfg->signal)
		return rtgt_run_fail(run, "verify all: warmup %u is not a multiple of signal %u",
				     cfg->warmup, cfg->signal);
	return 0;
}

/* Does the target reply to such requests? */
static int check_answered(struct rtgt_run *run)
{
	const struct rtgt_rep_info *peer = &run->peer;
	const struct rtgt_ini_cfg *cfg = &run->cfg;

	if (!rtgt_op_is_answered(cfg->op))
		return 0;
	if (!peer->rtgt)
		return rtgt_run_fail(run, "not with a target that does not speak rtgt");
	if (cfg->depth > peer->recv_depth)
		return rtgt_run_fail(run, "depth %u: the target's recv_depth is %u",
				     cfg->depth, peer->recv_depth);
	if (cfg->op == RTGT_INI_SEND && cfg->size + sizeof(struct rtgt_msg) > peer->recv_size)
		return rtgt_run_fail(run, "size %u, head %zu: above recv_size %u",
				     cfg->size, sizeof(struct rtgt_msg), peer->recv_size);
	return 0;
}

/**
 * rtgt_run_check_region() - check that the target's region allows the run
 * @run: connected
 *
 * The numbers are the target's, from the REP or from the reply to EXTENTS, so each of both is
 * checked before it is used.  May sleep.
 * Return: 0, which it always is for SENDs; or a negative errno, with the reason recorded.
 */
int rtgt_run_check_region(struct rtgt_run *run)
{
	static const u32 needs[] = {
		[RTGT_INI_WRITE] = RTGT_ACCESS_WRITE,
		[RTGT_INI_READ] = RTGT_ACCESS_READ,
		[RTGT_INI_WRITE_IMM] = RTGT_ACCESS_WRITE,
		[RTGT_INI_CAS] = RTGT_ACCESS_ATOMIC,
		[RTGT_INI_FAA] = RTGT_ACCESS_ATOMIC,
	};
	const struct rtgt_ini_cfg *cfg = &run->cfg;
	const struct rtgt_rep_info *peer = &run->peer;
	const struct rtgt_region_info *region = &peer->region[cfg->region];
	u64 len;

	if (cfg->op == RTGT_INI_SEND)
		return 0;
	if (cfg->region >= peer->nr)
		return rtgt_run_fail(run, "region %u: the target has %u", cfg->region,
				     peer->nr);
	if ((region->access & needs[cfg->op]) != needs[cfg->op])
		return rtgt_run_fail(run, "region %u does not grant it (access)",
				     cfg->region);
	if (region->len && region->len - 1 > U64_MAX - region->addr)
		return rtgt_run_fail(run, "region %u: the address 0x%llx and the length %llu wrap",
				     cfg->region, region->addr, region->len);
	len = rtgt_run_region_len(run);
	if (cfg->offset > len || cfg->span > len - cfg->offset || !rtgt_run_places(run))
		return rtgt_run_fail(run, "size %u, offset %llu: region %u has %llu bytes%s",
				     cfg->size, cfg->offset, cfg->region, len,
				     region->access & RTGT_ACCESS_MORE ?
				     " in its first extent" : "");
	if (cfg->verify_all && !rtgt_op_is_atomic(cfg->op) &&
	    rtgt_run_places(run) < cfg->warmup + cfg->iters)
		return rtgt_run_fail(run, "verify all: room for %llu operations (span, region %u)",
				     rtgt_run_places(run), cfg->region);
	return 0;
}

/* Does the device have the operation?  No attribute tells that iWARP has no immediates. */
static int check_device(struct rtgt_run *run)
{
	struct ib_device *ibdev = run->id->device;

	if (run->cfg.op == RTGT_INI_WRITE_IMM && rdma_protocol_iwarp(ibdev, run->id->port_num))
		return rtgt_run_fail(run, "%s has no immediates: it is iWARP",
				     run->result.dev);
	if (rtgt_op_is_atomic(run->cfg.op) && ibdev->attrs.atomic_cap == IB_ATOMIC_NONE)
		return rtgt_run_fail(run, "%s has no atomics", run->result.dev);
	return 0;
}

/* Is the target told that it talks to a plain client, to which it does not reply? */
static bool run_is_plain(const struct rtgt_run *run)
{
	const struct rtgt_ini_private *private = &run->cfg.private;
	struct rtgt_req_info info = {};
	u32 arg;

	if (private->len)
		rtgt_decode_req(private->data, private->len, &info, &arg);
	return info.plain;
}

/* Do the attributes fit what the target offers? */
static int run_check(struct rtgt_run *run)
{
	if (run->misfit == RTGT_MISFIT_VERSION)
		return rtgt_run_fail(run, "the target speaks version %u, this is %u",
				     run->peer.version, RTGT_VERSION);
	if (run->misfit == RTGT_MISFIT_SIZE)
		return rtgt_run_fail(run, "the target's REP is malformed");
	if (run_is_plain(run))
		run->peer.rtgt = false;
	return check_device(run) ?: check_cfg(run) ?: check_answered(run) ?:
	       rtgt_run_check_region(run);
}

/**
 * rtgt_run_connect() - connect to the target, and check that the run can begin
 * @run: zeroed, but for the initiator and its attributes
 *
 * May sleep, and waits no longer than timeout_ms for each step.
 * Return: 0; -EINTR when the run was stopped; -EADDRINUSE when TCP uses the local port that rdma_cm
 * chose (iWARP); another negative errno, with the reason recorded.
 */
int rtgt_run_connect(struct rtgt_run *run)
{
	return run_resolve(run) ?: run_create_qp(run) ?: run_connect(run) ?: run_check(run);
}
