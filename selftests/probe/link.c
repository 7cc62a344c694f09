// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One connection: opened with any private data, waited on, closed.
 *
 * rtgt_client_open() would refuse much of what is wanted here, so this is made of
 * the parts below it.
 */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "probe.h"

/* A message, or a reply, with a body of the protocol's own */
#define SMALL	64
#define PORTS_TRIED	3

/* The REQ's private data as asked for; what is not asked for is right */
static uint8_t make_req(const struct option *o, uint8_t *data)
{
	struct rtgt_req req;

	if (o->plain)
		return 0;
	rtgt_encode_req(&req);
	if (o->magic >= 0)
		req.magic = htobe32((uint32_t)o->magic);
	if (o->version >= 0)
		req.version = htobe16((uint16_t)o->version);
	if (o->size >= 0)
		req.size = htobe16((uint16_t)o->size);
	memset(data, 0xee, RTGT_REQ_MAX);
	memcpy(data, &req, sizeof(req));
	return (uint8_t)(sizeof(req) + (size_t)o->extra);
}

/*
 * What was refused by the target's device moved its queue pair to error, and the target
 * will close the connection for that.  Let it: our own disconnect could come first, and
 * be taken for the reason.
 */
void leave_refused(struct link *l, enum ibv_wc_status status)
{
	if (status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR ||
	    status == IBV_WC_REM_OP_ERR)
		await_end(l);
}

/* Until the target closes the connection, which it must have a reason to do */
void await_end(struct link *l)
{
	struct pollfd pfd = { .fd = l->cm.channel->fd, .events = POLLIN };
	struct rtgt_err err;

	while (!rtgt_cm_check(&l->cm, &err) && poll(&pfd, 1, l->cm.param.timeout_ms) > 0)
		;
}

void close_link(struct link *l)
{
	rtgt_cm_disconnect(&l->cm);
	rtgt_mr_destroy(&l->buf);
	rtgt_mr_destroy(&l->recv);
	rtgt_qp_destroy(&l->qp);
	rtgt_cm_close(&l->cm);
}

/* What is in a receive before the message: a datagram's address header */
static uint32_t head_of(const struct link *l)
{
	return l->cm.param.transport == RTGT_UD ? RTGT_GRH : 0;
}

static int post_recv(struct link *l, struct rtgt_err *err)
{
	return rtgt_qp_post_recv(&l->qp, RECV_ID, &l->recv, (uint32_t)l->recv.len, err);
}

/* What the REP says, or as much of it as a client that knows less would read */
static int read_rep(struct link *l, const struct option *o, struct rtgt_err *err)
{
	size_t len = l->cm.rep_len;

	if (o->blind)
		return 0;
	if (o->plain > 1 && (size_t)o->plain < len)
		len = (size_t)o->plain;
	return rtgt_wire_rep(&l->peer, l->cm.rep, len, err);
}

/* For rtgt timeline, if the environment asks for it */
static struct rtgt_log log;

/* Where the REP has none: the capability of a region's first extent, as librtgt does it */
static int ask_capabilities(struct link *l, struct rtgt_err *err)
{
	struct rtgt_extents_query query;
	const bool watched = l->watched;
	struct rtgt_reply reply;

	/* rtgt_qp_wait() wakes a peer that siw has left asleep */
	l->watched = true;
	for (uint32_t i = 0; i < l->peer.nr; i++) {
		rtgt_encode_query(&query, i, 0, 1);
		if (ask(l, RTGT_MSG_EXTENTS, &query, sizeof(query), &reply, err))
			return -1;
		if (reply.status != RTGT_OK || reply.nr != 1)
			return rtgt_fail(err, EPROTO, "no capability of region %u", i);
		l->peer.region[i] = rtgt_decode_extent(&reply, 0, l->peer.region[i].access);
	}
	l->watched = watched;
	return 0;
}

static int try_link(struct link *l, const struct option *o, struct rtgt_err *err)
{
	const struct rtgt_cm_param to = {
		.host = o->host,
		.service = o->port,
		.source = o->source,
		.transport = (enum rtgt_transport)o->transport,
		.timeout_ms = (int)o->timeout * 1000,
		.initiator_depth = o->reads ? 0 : RTGT_CM_NONE,
		.responder_resources = o->holds ? 0 : RTGT_CM_NONE,
		.log = &log,
	};
	const struct rtgt_qp_param queues = {
		.send_depth = 4 + 2 * (uint32_t)o->depth, .recv_depth = 3 + (uint32_t)o->depth,
		.sges = (uint32_t)o->sges, .inline_data = o->inline_data,
	};
	const int access = IBV_ACCESS_LOCAL_WRITE | (o->odp ? IBV_ACCESS_ON_DEMAND : 0);
	size_t reply = (size_t)o->body + SMALL;
	size_t room = (size_t)o->len > reply ? (size_t)o->len : reply;
	uint8_t data[RTGT_REQ_MAX] = {};
	int ret;

	memset(l, 0, sizeof(*l));
	ret = log.marker ? 0 : rtgt_log_marker(&log, err);
	if (!ret)
		ret = rtgt_cm_resolve(&l->cm, &to, err);
	if (!ret)
		ret = rtgt_qp_create(&l->qp, &l->cm, &queues, err);
	if (!ret)
		ret = rtgt_mr_create(&l->buf, l->qp.pd, "buffer", room, access, NULL, err);
	if (!ret)
		ret = rtgt_mr_create(&l->recv, l->qp.pd, "receive", head_of(l) + reply, access,
				     NULL, err);
	if (!ret)
		ret = post_recv(l, err);
	if (!ret)
		ret = rtgt_cm_connect(&l->cm, data, make_req(o, data), err);
	if (!ret)
		ret = rtgt_qp_address(&l->qp, err);
	if (!ret)
		ret = read_rep(l, o, err);
	return ret || !(l->peer.features & RTGT_F_ASK) ? ret : ask_capabilities(l, err);
}

/*
 * 0, or a negative errno; to be closed either way.  rdma_cm chooses the client's port.  Over iWARP
 * it may be one of which TCP remembers an earlier connection to the same target (TIME_WAIT).
 */
int open_link(struct link *l, const struct option *o, struct rtgt_err *err)
{
	int ret = try_link(l, o, err);

	for (int i = 0; i < PORTS_TRIED && ret == -EADDRNOTAVAIL; i++) {
		close_link(l);
		ret = try_link(l, o, err);
	}
	return ret;
}

bool over_iwarp(const struct link *l)
{
	return l->qp.qp->context->device->transport_type == IBV_TRANSPORT_IWARP;
}

static int to_state(struct link *l, struct ibv_qp_attr *attr, enum ibv_qp_state state, int mask,
		    struct rtgt_err *err)
{
	int ret;

	attr->qp_state = state;
	ret = ibv_modify_qp(l->qp.qp, attr, IBV_QP_STATE | mask);
	return ret ? rtgt_fail(err, ret, "QP to state %d: %s", state, strerror(ret)) : 0;
}

/*
 * Take the queue pair down to RESET and up again as it was, but with other limits
 * than the two sides agreed on: a READ more than the target holds, or fewer
 * retries than it asks for.  Nothing may be under way.
 */
int remake(struct link *l, const struct option *o, struct rtgt_err *err)
{
	const int init = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	const int rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const int rts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			IBV_QP_MAX_QP_RD_ATOMIC;
	struct ibv_qp_init_attr made;
	struct ibv_qp_attr attr;
	int ret = ibv_query_qp(l->qp.qp, &attr, init | rtr | rts, &made);

	if (ret)
		return rtgt_fail(err, ret, "QP cannot be queried: %s", strerror(ret));
	if (!o->reads)
		attr.max_rd_atomic = 1;
	if (o->rnr_retry >= 0)
		attr.rnr_retry = (uint8_t)o->rnr_retry;
	ret = to_state(l, &attr, IBV_QPS_RESET, 0, err);
	if (!ret)
		ret = to_state(l, &attr, IBV_QPS_INIT, init, err);
	if (!ret)
		ret = to_state(l, &attr, IBV_QPS_RTR, rtr, err);
	if (!ret)
		ret = to_state(l, &attr, IBV_QPS_RTS, rts, err);
	/* RESET took the receives */
	return ret ? ret : post_recv(l, err);
}

/*
 * The next completion.  Not rtgt_qp_wait(): that also looks at the connection,
 * and a target that was made to refuse something disconnects about when the
 * refusal's completion comes.
 */
int next_wc(struct link *l, struct ibv_wc *wc, struct rtgt_err *err)
{
	struct pollfd pfd = { .fd = l->qp.channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	int n = 0, left = l->cm.param.timeout_ms, step = left;
	void *context;

	if (over_iwarp(l) && !l->qp.heard)
		step = RTGT_WAKE_MS;
	while (!n) {
		if (ibv_req_notify_cq(l->qp.cq, 0))
			return rtgt_fail(err, EIO, "the completion queue cannot be armed");
		n = rtgt_qp_poll(&l->qp, wc, 1, err);
		if (n < 0)
			return n;
		if (!n && poll(&pfd, 1, step < left ? step : left) <= 0) {
			left -= step;
			if (left <= 0)
				return rtgt_fail(err, ETIMEDOUT, "no completion");
			rtgt_qp_wake(&l->qp);
			step *= 2;
		}
		while (!ibv_get_cq_event(l->qp.channel, &cq, &context))
			l->qp.events++;
	}
	rtgt_log(&log, "wc", "id %llu - %s bytes %u qp %u", (unsigned long long)wc->wr_id,
		 ibv_wc_status_str(wc->status), wc->byte_len, wc->qp_num);
	return 0;
}

/*
 * Wait until what was posted is done; an answer that comes before it is kept.  Of
 * a link that is watched, the target's disconnect ends the wait as well.
 */
int wait_for(struct link *l, uint64_t id, struct ibv_wc *wc, struct rtgt_err *err)
{
	int ret;

	do {
		ret = l->watched ? rtgt_qp_wait(&l->qp, wc, err) : next_wc(l, wc, err);
		if (!ret && wc->wr_id == RECV_ID) {
			l->answered = true;
			l->answer = *wc;
		}
	} while (!ret && wc->wr_id != id);
	return ret;
}

/* The target's answer; the next one has a receive again when this returns */
int take_reply(struct link *l, struct rtgt_reply *reply, struct rtgt_err *err)
{
	struct ibv_wc wc;

	if (!l->answered && wait_for(l, RECV_ID, &wc, err))
		return -1;
	l->answered = false;
	if (l->answer.status != IBV_WC_SUCCESS)
		return rtgt_fail(err, EIO, "a receive ended with status %s",
				 wc_name(l->answer.status));
	if (l->answer.byte_len < head_of(l))
		return rtgt_fail(err, EPROTO, "a datagram without an address header");
	if (rtgt_wire_reply(reply, l->recv.buf + head_of(l), l->answer.byte_len - head_of(l), err))
		return -1;
	return post_recv(l, err);
}

/* The connection, of all commands */
const struct arg link_args[] = {
	TEXT(source, "address to connect from"),
	NUMBER(timeout, "seconds each step may take, times RTGT_SLOW"),
	NUMBER(transport, "rc, uc or ud"),
	NUMBER(plain, "1: no private data; more: read that many bytes of the REP"),
	NUMBER(magic, "of the private data"),
	NUMBER(version, "of the private data"),
	NUMBER(size, "size that the private data says"),
	NUMBER(extra, "bytes of private data more"),
	NUMBER(reads, "0: no READ or atomic of ours was agreed on"),
	NUMBER(holds, "0: no READ of the target's was agreed on"),
	NUMBER(rnr_retry, "retries if no receive is posted"),
	NUMBER(blind, "1: the REP is not looked at"),
	NUMBER(depth, "requests under way"),
	NUMBER(sges, "pieces of a work request"),
	NUMBER(inline_data, "1: post inline as far as the device takes it"),
	NUMBER(odp, "1: register memory on demand"),
	{ }
};
