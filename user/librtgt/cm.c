// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connecting: rdma_cm's steps with a bound on each; cm_fail.c has its failures in words.
 *
 *	rtgt_cm_resolve()	address, device and route; then the caller makes
 *				its queue pair on cm->id
 *	rtgt_cm_connect()	REQ, REP, RTU; the REP's private data is kept
 *	rtgt_cm_disconnect()	DREQ, DREP; the queue pair is flushed
 *	rtgt_cm_close()		after the queue pair is destroyed
 *
 * An event's private data lives until rdma_ack_cm_event(), so it is copied
 * first.  On RoCE a receiver sees the whole field, padded with zeros, which is
 * why every structure of ours carries its own size.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>

#include "internal.h"

/*
 * The kernel may wait for an answer to ARP that has arrived already, until its time is over.
 * So an attempt to resolve an address is short, and is repeated as long as the caller allows.
 */
#define ATTEMPT_MS	1000
#define PAUSE_MS	100

static int wait_event(struct rtgt_cm *cm, struct rdma_cm_event **ev, int timeout_ms)
{
	uint64_t end = rtgt_now_ns() + (uint64_t)timeout_ms * 1000000u;
	struct pollfd pfd[2] = {
		{ .fd = cm->channel->fd, .events = POLLIN },
		{ .fd = rtgt_cm_cancel_fd(cm), .events = POLLIN },
	};

	for (;;) {
		uint64_t now = rtgt_now_ns();
		int left = now < end ? (int)((end - now + 999999u) / 1000000u) : 0;

		/* also where the event has come already: who cancels is not to get a connection */
		if (pfd[1].fd >= 0 && poll(&pfd[1], 1, 0) > 0)
			return -ECANCELED;
		if (!rdma_get_cm_event(cm->channel, ev))
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (!left)
			return -ETIMEDOUT;
		if (poll(pfd, 2, left) < 0)
			return -errno;
	}
}

/* Wait for @want; anything else is a failure, told in words */
static int expect(struct rtgt_cm *cm, enum rdma_cm_event_type want, struct rdma_cm_event **ev,
		  struct rtgt_err *err)
{
	int ret = wait_event(cm, ev, cm->param.timeout_ms);

	if (ret)
		return rtgt_cm_fail(cm, want, -ret, err);
	if ((*ev)->event == want && !(*ev)->status)
		return 0;
	ret = rtgt_cm_fail_event(cm, *ev, want, err);
	rdma_ack_cm_event(*ev);
	return ret;
}

/* Wait for @want, which carries nothing we need, and note how long it took */
static int step(struct rtgt_cm *cm, enum rtgt_cm_step step, enum rdma_cm_event_type want,
		uint64_t start, struct rtgt_err *err)
{
	struct rdma_cm_event *ev;
	int ret = expect(cm, want, &ev, err);

	if (ret)
		return ret;
	rdma_ack_cm_event(ev);
	cm->step_ns[step] = rtgt_now_ns() - start;
	return 0;
}

static int open_channel(struct rtgt_cm *cm, struct rtgt_err *err)
{
	cm->channel = rdma_create_event_channel();
	if (!cm->channel)
		return rtgt_cm_fail_channel(errno, err);
	if (fcntl(cm->channel->fd, F_SETFL, O_NONBLOCK))
		return rtgt_fail(err, errno, "no event channel: %s", strerror(errno));
	return 0;
}

static int make_id(struct rtgt_cm *cm, struct rtgt_err *err)
{
	bool ud = cm->param.transport == RTGT_UD;

	if (!rdma_create_id(cm->channel, &cm->id, cm, ud ? RDMA_PS_UDP : RDMA_PS_TCP))
		return 0;
	return rtgt_fail(err, errno, "cannot make an rdma_cm identifier: %s", strerror(errno));
}

static int lookup(const char *host, const char *service, int family, struct addrinfo **ai,
		  struct rtgt_err *err)
{
	struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM };
	int ret = getaddrinfo(host, service, &hints, ai);
	const char *colon;

	if (!ret)
		return 0;
	if (service && host[0] == '[')
		return rtgt_fail(err, EINVAL, "%s: give the address without the brackets", host);
	/* HOST:PORT, where an IPv6 address has more of them */
	colon = service ? strchr(host, ':') : NULL;
	if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1))
		return rtgt_fail(err, EINVAL, "%s: give the host without the port, and port %s by itself",
				 host, colon + 1);
	return rtgt_fail(err, EINVAL, "%s%s%s: %s", host, service ? ":" : "",
			 service ? service : "", gai_strerror(ret));
}

static int left_ms(const struct rtgt_cm *cm, uint64_t start)
{
	uint64_t passed = (rtgt_now_ns() - start) / 1000000u;

	return passed < (uint64_t)cm->param.timeout_ms ? cm->param.timeout_ms - (int)passed : 0;
}

/* After an attempt that failed with @status: is another one allowed? */
static bool try_again(struct rtgt_cm *cm, int status, uint64_t start)
{
	cm->attempts++;
	/* ETIMEDOUT: no answer in time; EHOSTUNREACH: the kernel gave up asking by ARP */
	if ((status != ETIMEDOUT && status != EHOSTUNREACH) || !left_ms(cm, start))
		return false;
	rtgt_log(cm->param.log, "cm", "no answer from %s: attempt %u", cm->param.host,
		 cm->attempts + 1);
	if (status == EHOSTUNREACH)
		poll(NULL, 0, PAUSE_MS);
	return true;
}

/*
 * An identifier for UC comes from rdma_create_ep() only, which resolves address
 * and route by itself, waiting at most two seconds for each, and then hands over.
 */
static int resolve_uc(struct rtgt_cm *cm, struct addrinfo *src, struct rtgt_err *err)
{
	const struct rtgt_cm_param *p = &cm->param;
	struct rdma_addrinfo hints = {
		.ai_qp_type = IBV_QPT_UC, .ai_port_space = RDMA_PS_IB,
		.ai_src_addr = src ? src->ai_addr : NULL,
		.ai_src_len = src ? src->ai_addrlen : 0,
		.ai_family = src ? src->ai_family : 0,
	};
	uint64_t start = rtgt_now_ns();
	struct rdma_addrinfo *dst;
	int ret = 0;

	if (rdma_getaddrinfo(p->host, p->service, &hints, &dst))
		return rtgt_fail(err, EINVAL, "%s:%s: %s", p->host, p->service, strerror(errno));
	do {
		ret = rdma_create_ep(&cm->id, dst, NULL, NULL) ? errno : 0;
	} while (ret && try_again(cm, ret, start));
	if (ret) {
		ret = rtgt_cm_fail(cm, RDMA_CM_EVENT_ADDR_RESOLVED, ret, err);
		cm->id = NULL;
	} else if (rdma_migrate_id(cm->id, cm->channel)) {
		ret = rtgt_fail(err, errno, "cannot move the rdma_cm identifier: %s",
				strerror(errno));
	}
	rdma_freeaddrinfo(dst);
	cm->step_ns[RTGT_CM_ADDR] = rtgt_now_ns() - start;
	return ret;
}

/* Return: 0, an errno that an event of rdma_cm had, or a negative errno */
static int attempt_addr(struct rtgt_cm *cm, struct addrinfo *src, struct addrinfo *dst, int ms)
{
	struct rdma_cm_event *ev;
	int ret;

	if (rdma_resolve_addr(cm->id, src ? src->ai_addr : NULL, dst->ai_addr,
			      ms < ATTEMPT_MS ? ms : ATTEMPT_MS))
		return -errno;
	ret = wait_event(cm, &ev, cm->param.timeout_ms);
	if (ret)
		return ret;
	if (ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		ret = -ENODEV;
	else if (ev->event != RDMA_CM_EVENT_ADDR_RESOLVED || ev->status)
		ret = ev->status < 0 ? -ev->status : EIO;
	rdma_ack_cm_event(ev);
	return ret;
}

static int resolve_id(struct rtgt_cm *cm, struct addrinfo *src, struct addrinfo *dst,
		      struct rtgt_err *err)
{
	uint64_t start = rtgt_now_ns();
	int ret = make_id(cm, err);

	if (ret)
		return ret;
	do {
		ret = attempt_addr(cm, src, dst, left_ms(cm, start));
	} while (ret > 0 && try_again(cm, ret, start));
	if (ret)
		return rtgt_cm_fail(cm, RDMA_CM_EVENT_ADDR_RESOLVED, ret < 0 ? -ret : ret, err);
	cm->step_ns[RTGT_CM_ADDR] = rtgt_now_ns() - start;
	return 0;
}

/* Of a name that has several addresses, the first on the way to which there is a device counts */
static int resolve_any(struct rtgt_cm *cm, struct addrinfo *src, struct addrinfo *dst,
		       struct rtgt_err *err)
{
	struct rtgt_err why = { 0 };
	int ret = 0;

	for (; dst; dst = dst->ai_next) {
		if (src && src->ai_family != dst->ai_family)
			continue;
		ret = resolve_id(cm, src, dst, &why);
		if (!ret)
			return 0;
		if (ret == -EINTR || ret == -ECANCELED)
			break;
		if (cm->id)
			rdma_destroy_id(cm->id);
		cm->id = NULL;
	}
	if (!ret)
		return rtgt_fail(err, EADDRNOTAVAIL,
				 "%s has no address of the kind of the source address %s",
				 cm->param.host, cm->param.source);
	*err = why;
	return ret;
}

static int resolve_addr(struct rtgt_cm *cm, struct rtgt_err *err)
{
	const struct rtgt_cm_param *p = &cm->param;
	struct addrinfo *dst, *src = NULL;
	int ret;

	ret = lookup(p->host, p->service, AF_UNSPEC, &dst, err);
	if (ret)
		return ret;
	/* a source address has one family, and the name may have several */
	if (p->source)
		ret = lookup(p->source, NULL, dst->ai_next ? AF_UNSPEC : dst->ai_family, &src,
			     err);
	if (!ret) {
		rtgt_log(p->log, "cm", "resolve the address %s port %s%s%s", p->host, p->service,
			 p->source ? " from " : "", p->source ? p->source : "");
		ret = p->transport == RTGT_UC ? resolve_uc(cm, src, err) :
						resolve_any(cm, src, dst, err);
	}
	if (src)
		freeaddrinfo(src);
	freeaddrinfo(dst);
	if (!ret)
		rtgt_log(p->log, "cm", "address resolved: device %s, port %u",
			 ibv_get_device_name(cm->id->verbs->device), cm->id->port_num);
	return ret;
}

static int resolve_route(struct rtgt_cm *cm, struct rtgt_err *err)
{
	uint64_t start = rtgt_now_ns();
	int ret;

	if (rdma_resolve_route(cm->id, cm->param.timeout_ms))
		return rtgt_cm_fail(cm, RDMA_CM_EVENT_ADDR_RESOLVED, errno, err);
	ret = step(cm, RTGT_CM_ROUTE, RDMA_CM_EVENT_ROUTE_RESOLVED, start, err);
	if (!ret)
		rtgt_log(cm->param.log, "cm", "route resolved");
	return ret;
}

/**
 * rtgt_cm_resolve() - from a name to a device and a route
 * @cm: filled; closed already when this fails
 * @param: where to
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno; ENODEV without an RDMA device, EHOSTUNREACH
 * when nobody answers for the address.
 */
int rtgt_cm_resolve(struct rtgt_cm *cm, const struct rtgt_cm_param *param, struct rtgt_err *err)
{
	int ret;

	memset(cm, 0, sizeof(*cm));
	cm->param = *param;
	ret = open_channel(cm, err);
	if (!ret)
		ret = resolve_addr(cm, err);
	if (!ret && param->transport != RTGT_UC)
		ret = resolve_route(cm, err);
	if (ret)
		rtgt_cm_close(cm);
	return ret;
}

/* Of a datagram target an address handle's attributes come with it */
static void take_rep(struct rtgt_cm *cm, const struct rdma_cm_event *ev)
{
	const void *data = ev->param.conn.private_data;

	cm->rep_len = ev->param.conn.private_data_len;
	if (cm->param.transport == RTGT_UD) {
		data = ev->param.ud.private_data;
		cm->rep_len = ev->param.ud.private_data_len;
		cm->ud = ev->param.ud;
		cm->ud.private_data = NULL;
	} else {
		cm->responder_resources = ev->param.conn.responder_resources;
		cm->initiator_depth = ev->param.conn.initiator_depth;
	}
	if (cm->rep_len)
		memcpy(cm->rep, data, cm->rep_len);
}

static uint8_t depth(int wanted, uint8_t max)
{
	if (wanted == RTGT_CM_NONE)
		return 0;
	return wanted && wanted < max ? (uint8_t)wanted : max;
}

/**
 * rtgt_cm_connect() - from a route to a connection
 * @cm: resolved, with a queue pair on @cm->id
 * @req: private data of the REQ; NULL for none
 * @req_len: bytes of @req, at most RTGT_REQ_MAX
 * @err: says what is wrong
 *
 * Asks, unless told otherwise, for as many outstanding READs as the device can,
 * and for endless RNR retries: a target that is slow to post receives is not an
 * error.
 *
 * Return: 0, or a negative errno; ECONNREFUSED with @cm->reject_status and
 * @cm->refusal when refused, ETIMEDOUT when nobody answered, EADDRINUSE when TCP uses the local
 * port that rdma_cm chose (iWARP): another identifier gets another port.
 */
int rtgt_cm_connect(struct rtgt_cm *cm, const void *req, uint8_t req_len, struct rtgt_err *err)
{
	struct rdma_conn_param conn = {
		.private_data = req,
		.private_data_len = req_len,
		.responder_resources = depth(cm->param.responder_resources, RDMA_MAX_RESP_RES),
		.initiator_depth = depth(cm->param.initiator_depth, RDMA_MAX_INIT_DEPTH),
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	uint64_t start = rtgt_now_ns();
	struct rdma_cm_event *ev;
	int ret;

	rtgt_log(cm->param.log, "cm", "connect: REQ with %u bytes of private data", req_len);
	if (rdma_connect(cm->id, &conn))
		return rtgt_cm_fail(cm, RDMA_CM_EVENT_ESTABLISHED, errno, err);
	ret = expect(cm, RDMA_CM_EVENT_ESTABLISHED, &ev, err);
	if (ret)
		return ret;

	take_rep(cm, ev);
	rdma_ack_cm_event(ev);

	cm->connected = true;
	cm->step_ns[RTGT_CM_CONNECT] = rtgt_now_ns() - start;
	rtgt_log(cm->param.log, "cm", "established: REP with %u bytes of private data",
		 cm->rep_len);
	return 0;
}

/**
 * rtgt_cm_check() - did the connection end?
 * @cm: connected
 * @err: says how it ended
 *
 * Never blocks.  The queue pair is left as it is: why the peer closed may be in a
 * completion that is still to come.
 *
 * Return: 0 while it stands, -ECONNRESET when the peer closed it, -ENODEV when
 * the device is being removed.
 */
int rtgt_cm_check(struct rtgt_cm *cm, struct rtgt_err *err)
{
	struct rdma_cm_event *ev;

	while (!rdma_get_cm_event(cm->channel, &ev)) {
		const enum rdma_cm_event_type type = ev->event;

		rdma_ack_cm_event(ev);
		/* the first one counts */
		if (cm->ended)
			continue;
		/* who closes before our RTU has reached it does not disconnect but rejects */
		if (type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_REJECTED)
			cm->ended = ECONNRESET;
		else if (type == RDMA_CM_EVENT_DEVICE_REMOVAL)
			cm->ended = ENODEV;
	}
	if (cm->ended == ECONNRESET)
		return rtgt_fail(err, ECONNRESET,
				 "the target closed the connection: port disabled, idle for too long, or an access refused before? see its dmesg");
	if (cm->ended)
		return rtgt_fail(err, cm->ended, "the RDMA device is being removed");
	return 0;
}

/**
 * rtgt_cm_disconnect() - end the connection
 * @cm: resolved or connected; nothing happens when it is not connected
 *
 * Waits for the peer's answer, at most one second: a peer that is gone does not
 * keep us.
 */
void rtgt_cm_disconnect(struct rtgt_cm *cm)
{
	struct rdma_cm_event *ev;
	bool done = cm->ended;

	if (!cm->connected)
		return;
	cm->connected = false;
	if (cm->param.transport == RTGT_UD || rdma_disconnect(cm->id))
		return;
	while (!done && !wait_event(cm, &ev, 1000)) {
		done = ev->event == RDMA_CM_EVENT_DISCONNECTED ||
		       ev->event == RDMA_CM_EVENT_REJECTED ||
		       ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
		rdma_ack_cm_event(ev);
	}
	rtgt_log(cm->param.log, "cm", "disconnected");
}

/**
 * rtgt_cm_close() - release the identifier and the channel
 * @cm: resolved, at any stage; closed, or zero; its queue pair is destroyed
 */
void rtgt_cm_close(struct rtgt_cm *cm)
{
	if (cm->id)
		rdma_destroy_id(cm->id);
	if (cm->channel)
		rdma_destroy_event_channel(cm->channel);
	cm->id = NULL;
	cm->channel = NULL;
}
