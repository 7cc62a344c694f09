// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A queue pair and its completion queue, and waiting for completions; posting is
 * in post.c.
 *
 * One completion queue serves both queues and holds a completion for all that
 * fits into them, so it is never overrun.  Waiting sleeps on
 * the completion channel and on the connection's event channel together: a peer
 * that goes away ends the wait.  With rtgt_qp_param.poll it spins instead, which
 * wants a processor of its own.
 *
 * The buffers belong to the caller and must stay until the completion is taken
 * or the queue pair destroyed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include <rtgt/qp.h>

/* Spins between two looks at the clock and the connection */
#define SPINS	256

/*
 * How long a completion may follow the news that the peer has closed the connection: at
 * least this, and a part of the timeout, which is longer where all is slow.
 */
#define GRACE_MS	200
#define GRACE_PART	50

/* What is asked for first, and halved until the device agrees */
#define INLINE_WISH	512

/* enum ib_uverbs_device_cap_flags, bits 38 and 40: verbs.h has no names for them */
#define DEVICE_FLUSH_GLOBAL	0x004000000000ull
#define DEVICE_ATOMIC_WRITE	0x010000000000ull

/* Flags of verbs.h, and two it has no names for */
static unsigned int device_can(const struct ibv_context *verbs,
			       const struct ibv_device_attr_ex *dev)
{
	const unsigned int windows = IBV_DEVICE_MEM_WINDOW_TYPE_2A |
				     IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	unsigned int can = 0;

	if (verbs->device->transport_type != IBV_TRANSPORT_IWARP)
		can |= RTGT_CAN_IMM;
	if (dev->orig_attr.atomic_cap != IBV_ATOMIC_NONE)
		can |= RTGT_CAN_ATOMIC;
	if (dev->device_cap_flags_ex & DEVICE_FLUSH_GLOBAL)
		can |= RTGT_CAN_FLUSH;
	if (dev->device_cap_flags_ex & DEVICE_ATOMIC_WRITE)
		can |= RTGT_CAN_ATOMIC_WRITE;
	if (dev->orig_attr.max_mw > 0 && dev->orig_attr.device_cap_flags & windows)
		can |= RTGT_CAN_WINDOW;
	if (dev->odp_caps.general_caps & IBV_ODP_SUPPORT)
		can |= RTGT_CAN_ODP;
	return can;
}

static unsigned int odp_caps(const struct rtgt_qp *q, const struct ibv_device_attr_ex *dev)
{
	if (!(q->can & RTGT_CAN_ODP))
		return 0;
	switch (q->cm->param.transport) {
	case RTGT_UC:
		return dev->odp_caps.per_transport_caps.uc_odp_caps;
	case RTGT_UD:
		return dev->odp_caps.per_transport_caps.ud_odp_caps;
	default:
		return dev->odp_caps.per_transport_caps.rc_odp_caps;
	}
}

static int ask_device(struct rtgt_qp *q, const struct rtgt_qp_param *param, struct rtgt_err *err)
{
	struct ibv_context *verbs = q->cm->id->verbs;
	struct ibv_device_attr_ex dev;
	struct ibv_port_attr port;

	if (ibv_query_device_ex(verbs, NULL, &dev) ||
	    ibv_query_port(verbs, q->cm->id->port_num, &port))
		return rtgt_fail(err, errno, "the device cannot be queried: %s", strerror(errno));
	if (param->sges + param->heads > (uint32_t)dev.orig_attr.max_sge || param->sges > RTGT_SGES)
		return rtgt_fail(err, EINVAL, "%u pieces for a work request: the device takes %d",
				 param->sges, dev.orig_attr.max_sge < RTGT_SGES ?
				 dev.orig_attr.max_sge : RTGT_SGES);
	q->can = device_can(verbs, &dev);
#ifndef RTGT_VERBS_FLUSH
	q->unbuilt = q->can & (RTGT_CAN_FLUSH | RTGT_CAN_ATOMIC_WRITE);
	q->can &= ~q->unbuilt;
#endif
	q->odp = odp_caps(q, &dev);
	q->max_sge_rd = (uint32_t)dev.orig_attr.max_sge_rd;
	q->mtu = 128u << port.active_mtu;
	return 0;
}

/* FLUSH and ATOMIC_WRITE are for a queue pair that was made for them */
static void want_ops(const struct rtgt_qp *q, struct ibv_qp_init_attr_ex *attr)
{
#ifdef RTGT_VERBS_FLUSH
	if (q->can & RTGT_CAN_FLUSH)
		attr->send_ops_flags |= IBV_QP_EX_WITH_FLUSH;
	if (q->can & RTGT_CAN_ATOMIC_WRITE)
		attr->send_ops_flags |= IBV_QP_EX_WITH_ATOMIC_WRITE;
	/* whoever wants these unchecked by ibv_post_send() */
	if (attr->send_ops_flags && q->can & RTGT_CAN_ATOMIC)
		attr->send_ops_flags |= IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
					IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
#endif
	if (attr->qp_type == IBV_QPT_RC && attr->send_ops_flags)
		attr->comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
}

/* The library of siw fails so when the program has all queues that it can have */
static const char *no_queue(int code)
{
	return code ? strerror(code) :
		      "the library gives no reason; a program has at most 48 connections over siw";
}

static int make_qp(struct rtgt_qp *q, const struct rtgt_qp_param *param, struct rtgt_err *err)
{
	static const enum ibv_qp_type type[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	uint32_t sges = param->sges ? param->sges : 1;
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type[q->cm->param.transport],
		.send_cq = q->cq,
		.recv_cq = q->cq,
		.pd = q->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	uint32_t wish = param->inline_data ? INLINE_WISH : 0;

	want_ops(q, &attr);
	for (;;) {
		attr.cap = (struct ibv_qp_cap) {
			.max_send_wr = param->send_depth, .max_recv_wr = param->recv_depth,
			.max_send_sge = sges + param->heads, .max_recv_sge = sges,
			.max_inline_data = wish,
		};
		errno = 0;
		if (!rdma_create_qp_ex(q->cm->id, &attr) && q->cm->id->qp)
			break;
		if (!wish)
			return rtgt_fail(err, errno, "no queue pair: %s", no_queue(errno));
		wish /= 2;
	}
	q->qp = q->cm->id->qp;
	q->recv_sges = sges;
	q->max_inline = param->inline_data ? attr.cap.max_inline_data : 0;
	if (attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		q->ex = ibv_qp_to_qp_ex(q->qp);
	return 0;
}

static int make_queues(struct rtgt_qp *q, const struct rtgt_qp_param *param, struct rtgt_err *err)
{
	struct ibv_context *verbs = q->cm->id->verbs;
	int depth = (int)(param->send_depth + param->recv_depth);
	int ret = ask_device(q, param, err);

	if (ret)
		return ret;
	if (param->pd && param->pd->context != verbs)
		return rtgt_fail(err, EXDEV, "the way to %s is by %s, and the domain is on %s",
				 q->cm->param.host, ibv_get_device_name(verbs->device),
				 ibv_get_device_name(param->pd->context->device));
	q->borrowed_pd = param->pd;
	q->pd = param->pd ? param->pd : ibv_alloc_pd(verbs);
	if (!q->pd)
		return rtgt_fail(err, errno, "no protection domain: %s", strerror(errno));
	if (!param->poll) {
		q->channel = ibv_create_comp_channel(verbs);
		if (!q->channel || fcntl(q->channel->fd, F_SETFL, O_NONBLOCK))
			return rtgt_fail(err, errno, "no completion channel: %s", strerror(errno));
	}
	errno = 0;
	q->cq = ibv_create_cq(verbs, depth, q, q->channel, 0);
	if (!q->cq)
		return rtgt_fail(err, errno, "no completion queue of %d entries: %s", depth,
				 no_queue(errno));
	return make_qp(q, param, err);
}

/**
 * rtgt_qp_address() - note where datagrams go
 * @q: its connection is established; nothing happens unless it is a datagram one
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_qp_address(struct rtgt_qp *q, struct rtgt_err *err)
{
	if (q->cm->param.transport != RTGT_UD)
		return 0;
	q->ah = ibv_create_ah(q->pd, &q->cm->ud.ah_attr);
	if (!q->ah)
		return rtgt_fail(err, errno, "no address handle: %s", strerror(errno));
	rtgt_log(q->cm->param.log, "cm", "datagrams go to qp %u, qkey 0x%x", q->cm->ud.qp_num,
		 q->cm->ud.qkey);
	return 0;
}

/**
 * rtgt_ignore_sigpipe() - ignore SIGPIPE, unless the program has a handler of its own
 *
 * siw writes to its TCP socket in the system call of the thread that posts, connects or accepts.
 * If the peer has closed the connection, that raises SIGPIPE, and a peer could end the process
 * (Documentation/findings/siw-sigpipe.rst).  A program that has a handler gets the signal.
 */
void rtgt_ignore_sigpipe(void)
{
	struct sigaction old;

	if (!sigaction(SIGPIPE, NULL, &old) && old.sa_handler == SIG_DFL)
		signal(SIGPIPE, SIG_IGN);
}

/**
 * rtgt_qp_create() - make a queue pair on a resolved connection
 * @q: filled; zero when this fails
 * @cm: resolved; must outlive @q
 * @param: sizes
 * @err: says what is wrong
 *
 * Over iWARP it calls rtgt_ignore_sigpipe().
 *
 * Return: 0, or a negative errno.
 */
int rtgt_qp_create(struct rtgt_qp *q, struct rtgt_cm *cm, const struct rtgt_qp_param *param,
		   struct rtgt_err *err)
{
	uint64_t start = rtgt_now_ns();
	int ret;

	memset(q, 0, sizeof(*q));
	q->cm = cm;
	if (cm->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP)
		rtgt_ignore_sigpipe();
	ret = make_queues(q, param, err);
	q->made_ns = rtgt_now_ns() - start;
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
	if (q->ah)
		ibv_destroy_ah(q->ah);
	if (q->qp)
		rdma_destroy_qp(q->cm->id);
	if (q->cq) {
		ibv_ack_cq_events(q->cq, q->events);
		ibv_destroy_cq(q->cq);
	}
	if (q->channel)
		ibv_destroy_comp_channel(q->channel);
	if (q->pd && !q->borrowed_pd)
		ibv_dealloc_pd(q->pd);
	memset(q, 0, sizeof(*q));
}

static void log_wc(const struct rtgt_qp *q, const struct ibv_wc *wc)
{
	rtgt_log(q->cm->param.log, "wc", "id %llu %s %s bytes %u qp %u",
		 (unsigned long long)wc->wr_id,
		 wc->status == IBV_WC_SUCCESS ? rtgt_wc_opcode_str(wc->opcode) : "-",
		 ibv_wc_status_str(wc->status), wc->byte_len, wc->qp_num);
}

/**
 * rtgt_qp_poll() - take the completions that are there
 * @q: created
 * @wc: filled; their status is the caller's to judge
 * @max: how many fit there
 * @err: says what is wrong
 *
 * A completion of rtgt_qp_wake() is nobody's: it may come at any time, and is dropped here.
 *
 * Return: how many, 0 if there is none, or a negative errno.
 */
int rtgt_qp_poll(struct rtgt_qp *q, struct ibv_wc *wc, int max, struct rtgt_err *err)
{
	int n, kept = 0;

	/* what lies behind one that is dropped may raise no event: so look again */
	do {
		n = ibv_poll_cq(q->cq, max, wc);
		for (int i = 0; i < n; i++) {
			if (q->cm->param.log)
				log_wc(q, &wc[i]);
			if (wc[i].wr_id == RTGT_WAKE_ID) {
				q->wakes--;
				continue;
			}
			q->heard |= wc[i].opcode & IBV_WC_RECV;
			wc[kept++] = wc[i];
		}
	} while (n > 0 && !kept);
	if (n < 0)
		return rtgt_fail(err, EIO, "the completion queue failed");
	return kept;
}

/**
 * rtgt_qp_wake() - post an empty WRITE with the wr_id RTGT_WAKE_ID
 * @q: connected, over iWARP
 *
 * siw may leave the first message of a connection in the peer's socket until more comes
 * (Documentation/findings/siw-first-fpdu.rst).  An empty WRITE is more.  It is counted and
 * logged as any other work request is; rtgt_qp_poll() drops its completion.  If it cannot be
 * posted, the wait for the peer ends as it would have ended without it.
 */
void rtgt_qp_wake(struct rtgt_qp *q)
{
	const struct rtgt_wr wr = { .id = RTGT_WAKE_ID, .opcode = IBV_WR_RDMA_WRITE };
	struct rtgt_err err = { };

	/* the send queue has room for so many, and others had no effect */
	if (q->wakes == RTGT_WAKES_MAX || rtgt_qp_post(q, &wr, &err))
		return;
	q->wakes++;
	rtgt_log(q->cm->param.log, "qp", "no answer yet: an empty WRITE wakes the peer");
}

/**
 * rtgt_qp_unheard() - may the peer have to be woken?
 * @q: connected
 *
 * Return: true over iWARP, while nothing has come from the peer: see rtgt_qp_wake().
 */
bool rtgt_qp_unheard(const struct rtgt_qp *q)
{
	return q->qp->context->device->transport_type == IBV_TRANSPORT_IWARP && !q->heard;
}

/**
 * rtgt_qp_event() - take an event, if one is there
 * @q: created, not polling
 *
 * Return: true if there was one.
 */
bool rtgt_qp_event(struct rtgt_qp *q)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(q->channel, &cq, &context))
		return false;
	q->events++;
	return true;
}

/**
 * rtgt_qp_arm() - let the next completion raise an event
 * @q: created, not polling; look at the queue afterwards, since what is there raises none
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_qp_arm(struct rtgt_qp *q, struct rtgt_err *err)
{
	int ret = ibv_req_notify_cq(q->cq, 0);

	return ret ? rtgt_fail(err, ret, "cannot arm the completion queue: %s", strerror(ret)) : 0;
}

/* Arm, look again, sleep: an event is only raised for what arrives after arming */
static int sleep_cq(struct rtgt_qp *q, struct ibv_wc *wc, int timeout_ms, struct rtgt_err *err)
{
	struct pollfd pfd[3] = {
		{ .fd = q->channel->fd, .events = POLLIN },
		{ .fd = q->cm->channel->fd, .events = POLLIN },
		{ .fd = rtgt_cm_cancel_fd(q->cm), .events = POLLIN },
	};
	int n = rtgt_qp_arm(q, err);

	if (n)
		return n;
	n = rtgt_qp_poll(q, wc, 1, err);
	if (n)
		return n;
	if (poll(pfd, 3, timeout_ms) < 0)
		return rtgt_fail(err, errno, errno == EINTR ? "interrupted" : "poll failed");
	if (pfd[2].revents)
		return rtgt_fail(err, ECANCELED, "canceled");
	while (rtgt_qp_event(q))
		;
	return rtgt_qp_poll(q, wc, 1, err);
}

static int spin_cq(struct rtgt_qp *q, struct ibv_wc *wc, struct rtgt_err *err)
{
	struct pollfd cancel = { .fd = rtgt_cm_cancel_fd(q->cm), .events = POLLIN };
	int n = 0;

	for (int i = 0; i < SPINS && !n; i++)
		n = rtgt_qp_poll(q, wc, 1, err);
	if (!n && cancel.fd >= 0 && poll(&cancel, 1, 0) > 0)
		return rtgt_fail(err, ECANCELED, "canceled");
	return n;
}

/**
 * rtgt_qp_wait() - take the next completion
 * @q: the queue pair
 * @wc: filled; its status is the caller's to judge
 * @err: says what is wrong
 *
 * A completion wins over a connection that ended, and has a moment to arrive: a
 * target that refuses an access closes the connection at once, and its DREQ may
 * overtake the NAK that says why.
 *
 * Return: 0, -ETIMEDOUT after the connection's timeout, -EINTR after a signal,
 * -ECONNRESET when the peer closed the connection, or another negative errno.
 */
int rtgt_qp_wait(struct rtgt_qp *q, struct ibv_wc *wc, struct rtgt_err *err)
{
	int timeout = q->cm->param.timeout_ms, ended = 0;
	int grace = timeout / GRACE_PART > GRACE_MS ? timeout / GRACE_PART : GRACE_MS;
	uint64_t wake_ns = RTGT_WAKE_MS * 1000000u, wake = rtgt_now_ns() + wake_ns, until;
	uint64_t end = rtgt_now_ns() + (uint64_t)timeout * 1000000u;
	int n = rtgt_qp_poll(q, wc, 1, err);
	struct rtgt_err why = { };

	while (!n) {
		uint64_t now = rtgt_now_ns();

		/* the news may have come while an earlier completion was waited for */
		if (!ended && q->cm->ended) {
			ended = rtgt_cm_check(q->cm, &why);
			if (end > now + (uint64_t)grace * 1000000u)
				end = now + (uint64_t)grace * 1000000u;
		}
		if (now >= end && ended) {
			*err = why;
			return ended;
		}
		if (now >= end && q->cm->param.transport != RTGT_RC)
			return rtgt_fail(err, ETIMEDOUT,
					 "no completion within %d s: a message was lost, or the peer is gone: over %s nothing is repeated",
					 timeout / 1000,
					 rtgt_transport_str(q->cm->param.transport));
		if (now >= end)
			return rtgt_fail(err, ETIMEDOUT,
					 "no completion within %d s: is the link still up, and its MTU the same at both ends? (or set a longer timeout)",
					 timeout / 1000);
		if (rtgt_qp_unheard(q) && now >= wake) {
			rtgt_qp_wake(q);
			/* a peer that is slow to accept may not be listening yet */
			wake_ns *= 2;
			wake = now + wake_ns;
		}
		until = rtgt_qp_unheard(q) && wake < end ? wake : end;
		if (q->channel)
			n = sleep_cq(q, wc, (int)((until - now) / 1000000u) + 1, err);
		else
			n = spin_cq(q, wc, err);
		if (!n && !ended)
			rtgt_cm_check(q->cm, &why);
	}
	return n < 0 ? n : 0;
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
		 "number %u state %s path mtu %s sq_psn %u rq_psn %u dest qp %u",
		 q->qp->qp_num, rtgt_qp_state_str(attr.qp_state), rtgt_mtu_str(attr.path_mtu),
		 attr.sq_psn, attr.rq_psn, attr.dest_qp_num);
	rtgt_log(log, "qp",
		 "number %u caps: send_wr %u recv_wr %u send_sge %u recv_sge %u inline %u; retry %u rnr_retry %u timeout %u reads out %u in %u",
		 q->qp->qp_num, init.cap.max_send_wr, init.cap.max_recv_wr, init.cap.max_send_sge,
		 init.cap.max_recv_sge, init.cap.max_inline_data, attr.retry_cnt, attr.rnr_retry,
		 attr.timeout, attr.max_rd_atomic, attr.max_dest_rd_atomic);
}
