// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Waiting until an operation is done, or until the send queue has room.
 *
 * One epoll_wait() is for completions, for the connection's events and for the caller's descriptor.
 * A connection that polls spins instead.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

#include "internal.h"

#define HOUR_NS		3600000000000u

/**
 * struct nap - a wait
 * @timeout_ms: how long; negative for as long as it takes
 * @end: when it is over; 0 before the first sleep
 * @wake: when a peer that was not heard is woken
 * @wake_ns: how long that waits, longer each time: it may be slow to accept
 * @look: something came for the connection, which may be its end
 */
struct nap {
	int timeout_ms;
	uint64_t end, wake, wake_ns;
	bool look;
};

/* Return: 0, or -ECANCELED */
static int spin(struct rtgt_client *c, struct nap *n, struct rtgt_err *err)
{
	struct pollfd fd = { .fd = rtgt_cm_cancel_fd(&c->cm), .events = POLLIN };

	n->look = true;
	if (fd.fd >= 0 && poll(&fd, 1, 0) > 0)
		return rtgt_fail(err, ECANCELED, "canceled: %u operations are outstanding",
				 c->busy);
	return 0;
}

/* Nothing is there: sleep until something may be.  Return: 0, or a negative errno */
static int sleep_until(struct rtgt_client *c, struct nap *n, uint64_t left, struct rtgt_err *err)
{
	/* an hour at a time: epoll_wait() takes no more than an int of milliseconds */
	const int ms = (int)((left < HOUR_NS ? left : HOUR_NS) / 1000000u) + 1;
	struct epoll_event event[3];
	bool canceled = false;
	int nr;

	n->look = false;
	nr = epoll_wait(c->waits, event, 3, ms);
	if (nr < 0)
		return rtgt_fail(err, errno, "waiting for a completion: %s", strerror(errno));
	/* look at all of them: epoll reports the edge of a completion once */
	for (int i = 0; i < nr; i++) {
		canceled |= event[i].data.u32 == RTGT_WAITS_CANCEL;
		n->look |= event[i].data.u32 == RTGT_WAITS_CM;
		if (event[i].data.u32 == RTGT_WAITS_COMPLETION) {
			c->armed = false;
			c->unread++;
		}
	}
	if (canceled)
		return rtgt_fail(err, ECANCELED, "canceled: %u operations are outstanding",
				 c->busy);
	return 0;
}

/* Return: 0 after a while, or a negative errno: -ETIMEDOUT, -ECANCELED, -EINTR */
static int nap(struct rtgt_client *c, struct nap *n, struct rtgt_err *err)
{
	const uint64_t now = rtgt_now_ns();
	uint64_t until;

	if (!n->end) {
		n->end = n->timeout_ms < 0 ? UINT64_MAX : now + (uint64_t)n->timeout_ms * 1000000u;
		n->wake_ns = RTGT_WAKE_MS * 1000000u;
		n->wake = now + n->wake_ns;
	}
	if (now >= n->end)
		return rtgt_fail(err, ETIMEDOUT,
				 "no completion within %d ms: %u operations are outstanding",
				 n->timeout_ms, c->busy);
	until = n->end;
	if (rtgt_qp_unheard(&c->qp)) {
		if (now >= n->wake) {
			rtgt_qp_wake(&c->qp);
			n->wake_ns *= 2;
			n->wake = now + n->wake_ns;
		}
		until = n->wake < until ? n->wake : until;
	}
	if (c->ending_ns && c->ending_ns < until)
		until = c->ending_ns;
	if (c->broken && c->drained_ns < until)
		until = c->drained_ns;
	if (c->waits < 0)
		return spin(c, n, err);
	return sleep_until(c, n, until > now ? until - now : 0, err);
}

/**
 * rtgt_sent_room() - make room for one more work request
 * @c: open
 * @err: says what is wrong
 *
 * If the send queue is full, and nothing is outstanding any more that will be taken, this waits.
 *
 * Return: 0 where rtgt_client_submit() may be called; or a negative errno.
 */
int rtgt_sent_room(struct rtgt_client *c, struct rtgt_err *err)
{
	struct nap n = { .timeout_ms = c->cm.param.timeout_ms };

	while (c->nr_sent == c->sent_max) {
		struct rtgt_err why = { };
		int ret = rtgt_client_take(c, &why);

		if (ret < 0)
			rtgt_client_break(c, &why);
		if (c->broken)
			return rtgt_client_failed(c, err);
		if (c->nr_sent < c->sent_max || c->busy)
			return 0;
		ret = nap(c, &n, err);
		if (ret)
			return ret;
		if (n.look || c->ending_ns)
			rtgt_client_look(c);
	}
	return 0;
}

/**
 * rtgt_client_wait() - take what is done, and wait until something is
 * @c: open
 * @done: filled
 * @max: how many fit there, at least 1
 * @timeout_ms: how long to wait; 0 does not, a negative one waits as long as it takes
 * @err: says what is wrong
 *
 * Return: see rtgt_wait().
 */
int rtgt_client_wait(struct rtgt_client *c, struct rtgt_done *done, uint32_t max, int timeout_ms,
		     struct rtgt_err *err)
{
	/* who does not sleep is not told that the connection has ended.  To arm costs no look */
	struct nap n = { .timeout_ms = timeout_ms, .look = !timeout_ms == !!c->busy };

	for (;;) {
		int ret = rtgt_client_complete(c, done, max, n.look, err);

		if (ret)
			return ret;
		if (!c->busy)
			return rtgt_fail(err, ENOENT, "nothing is outstanding");
		if (!c->broken && !c->messages && !c->partial && c->nr_quiet == c->nr_sent)
			return rtgt_fail(err, EDEADLK,
					 "the %u operations that are outstanding ask for no completion: submit one that does",
					 c->busy);
		ret = nap(c, &n, err);
		if (ret)
			return ret;
	}
}
