// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How rtgt lat waits for a completion: with as few system calls as can be.
 *
 * rtgt_qp_wait() looks at the connection and at the clock each time, which costs as
 * much as a third of a small operation.  Here the thread that measures only reads the
 * next event, and blocks there; another one, the watcher, sees to it that it does not
 * block for ever.  When the peer is gone, nothing has moved for as long as --timeout
 * says, or somebody presses ^C, the watcher moves the queue pair to the error state:
 * what is posted is flushed, and that wakes the first.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "lat.h"

/* How often the watcher looks, in milliseconds */
#define TICK	100

static struct {
	pthread_t thread;
	struct rtgt_client *client;
	atomic_bool stop;
	atomic_ullong progress;
	int code;
	struct rtgt_err why;
} watch;

static int look(struct rtgt_client *c, unsigned int idle_ms)
{
	if (lat_interrupted)
		return rtgt_fail(&watch.why, EINTR, "interrupted");
	if (idle_ms >= (unsigned int)c->cm.param.timeout_ms)
		return rtgt_fail(&watch.why, ETIMEDOUT,
				 "no completion within %d s: is the link still up? (--timeout waits longer)",
				 c->cm.param.timeout_ms / 1000);
	return rtgt_cm_check(&c->cm, &watch.why);
}

static void *watcher(void *arg)
{
	struct rtgt_client *c = arg;
	struct pollfd pfd = { .fd = c->cm.channel->fd, .events = POLLIN };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	unsigned long long seen = 0, now;
	unsigned int idle_ms = 0;

	while (!atomic_load(&watch.stop)) {
		poll(&pfd, 1, TICK);
		now = atomic_load_explicit(&watch.progress, memory_order_relaxed);
		idle_ms = now == seen ? idle_ms + TICK : 0;
		seen = now;
		watch.code = look(c, idle_ms);
		if (!watch.code)
			continue;
		ibv_modify_qp(c->qp.qp, &attr, IBV_QP_STATE);
		break;
	}
	return NULL;
}

int lat_wait_begin(struct rtgt_client *c, struct rtgt_err *err)
{
	int ret;

	memset(&watch, 0, sizeof(watch));
	watch.client = c;
	if (c->qp.channel) {
		fcntl(c->qp.channel->fd, F_SETFL, 0);
		if (ibv_req_notify_cq(c->qp.cq, 0))
			return rtgt_fail(err, EIO, "cannot arm the completion queue");
	}
	ret = pthread_create(&watch.thread, NULL, watcher, c);
	return ret ? rtgt_fail(err, ret, "no thread: %s", strerror(ret)) : 0;
}

/* Take the watcher back; what it saw, or @ret */
int lat_wait_end(int ret, struct rtgt_err *err)
{
	struct rtgt_client *c = watch.client;

	atomic_store(&watch.stop, true);
	pthread_join(watch.thread, NULL);
	if (c->qp.channel)
		fcntl(c->qp.channel->fd, F_SETFL, O_NONBLOCK);
	/* a flush is not why, it is what the watcher did about it */
	if (ret && watch.code) {
		*err = watch.why;
		return watch.code;
	}
	return ret;
}

/* The next completion with that id; all others before it are dropped */
int lat_wait(struct rtgt_client *c, uint64_t id, struct ibv_wc *wc, struct rtgt_err *err)
{
	struct ibv_cq *cq;
	void *context;
	int n;

	do {
		while (!(n = ibv_poll_cq(c->qp.cq, 1, wc))) {
			if (!c->qp.channel)
				continue;
			if (ibv_get_cq_event(c->qp.channel, &cq, &context))
				return rtgt_fail(err, errno, "no completion event: %s",
						 strerror(errno));
			c->qp.events++;
			if (ibv_req_notify_cq(c->qp.cq, 0))
				return rtgt_fail(err, EIO, "cannot arm the completion queue");
		}
		if (n < 0)
			return rtgt_fail(err, EIO, "the completion queue failed");
		if (wc->status != IBV_WC_SUCCESS)
			return rtgt_fail(err, EIO, "%s: %s", ibv_wc_status_str(wc->status),
					 rtgt_wc_meaning(wc->status));
	} while (wc->wr_id != id);
	atomic_fetch_add_explicit(&watch.progress, 1, memory_order_relaxed);
	return 0;
}
