// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How rtgt lat and rtgt bw wait: with as few system calls as can be.
 *
 * rtgt_qp_wait() looks at the connection and at the clock each time, which costs as
 * much as a third of a small operation.  Here who measures only reads the next event,
 * and blocks there; something else sees to it that it does not block for ever, when a
 * peer is gone, nothing has moved for as long as --timeout says, another thread has
 * failed, or somebody presses ^C.
 *
 * One connection is waited on by the thread that looks after it: a signal ten times a
 * second ends its system call.  A second thread would make each of the others dearer
 * (1 us of 88, an emulated processor's).  Several connections, and none, have a thread
 * beside them, the watcher, which moves the queue pairs to the error state, or shuts the
 * sockets down: what is under way ends, and that wakes whoever waits.
 *
 * Either also tells how far it is, if somebody wants to know.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tool/cli/interrupt.h"
#include "watch.h"

/* How often the watcher looks, in milliseconds */
#define TICK	100

/* How long a completion may follow the news that the target has closed the connection */
#define GRACE_MS	200

static atomic_bool ticked;

static void on_tick(int sig)
{
	(void)sig;
	atomic_store_explicit(&ticked, true, memory_order_relaxed);
}

/* Without SA_RESTART: it ends a system call */
static void hear_ticks(void)
{
	const struct sigaction act = { .sa_handler = on_tick };

	sigaction(SIGALRM, &act, NULL);
}

/* 0 ends it */
static void set_ticks(unsigned int ms)
{
	const struct itimerval every = { { 0, ms * 1000 }, { 0, ms * 1000 } };

	if (ms)
		hear_ticks();
	setitimer(ITIMER_REAL, &every, NULL);
	atomic_store_explicit(&ticked, false, memory_order_relaxed);
}

static int look(struct watch *w, struct watched *one)
{
	unsigned long long now = atomic_load_explicit(&one->progress, memory_order_relaxed);

	if (atomic_load(&one->idle) || now != one->seen)
		one->idle_ms = 0;
	else
		one->idle_ms += TICK;
	one->seen = now;
	/* after 100 ms, 200, 400: a peer that is slow to accept may not be listening yet */
	if (one->idle_ms && !(one->idle_ms / TICK & (one->idle_ms / TICK - 1)) && one->client &&
	    rtgt_qp_unheard(&one->client->qp))
		rtgt_qp_wake(&one->client->qp);
	if (one->idle_ms >= w->timeout * 1000)
		return rtgt_fail(&w->why, ETIMEDOUT,
				 "no completion within %u s: is the link still up, and its MTU the same at both ends? (--timeout waits longer)",
				 w->timeout);
	if (!one->client || !rtgt_cm_check(&one->client->cm, &w->why))
		return 0;
	/* the DREQ of a target that refuses an access may overtake the NAK, which says why */
	one->ended_ms += TICK;
	return one->ended_ms > GRACE_MS ? -w->why.code : 0;
}

static void abort_all(struct watch *w)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	/* flushed with the rest: it wakes whoever waits where nothing else is under way */
	struct ibv_recv_wr last = { }, *bad;

	for (unsigned int i = 0; i < w->nr; i++) {
		struct rtgt_client *c = w->list[i]->client;

		if (c) {
			ibv_post_recv(c->qp.qp, &last, &bad);
			ibv_modify_qp(c->qp.qp, &attr, IBV_QP_STATE);
		} else {
			shutdown(w->list[i]->tcp->fd, SHUT_RDWR);
		}
	}
}

/*
 * A device may flush nothing that was posted to a queue pair in error (siw): the thread that waits
 * for it is woken by a signal, again and again, since it may be just about to sleep.
 */
static void wake_all(struct watch *w)
{
	for (unsigned int i = 0; i < w->nr; i++) {
		struct watched *one = w->list[i];

		atomic_store(&one->aborted, true);
		if (atomic_load(&one->asleep))
			pthread_kill(one->owner, SIGALRM);
	}
}

static void *watcher(void *arg)
{
	struct watch *w = arg;
	struct pollfd pfd = { .fd = w->wake, .events = POLLIN };

	while (!atomic_load(&w->stop)) {
		unsigned long long done = 0;

		poll(&pfd, 1, TICK);
		if (interrupted)
			w->code = rtgt_fail(&w->why, EINTR, "interrupted");
		for (unsigned int i = 0; i < w->nr && !w->code; i++) {
			w->code = look(w, w->list[i]);
			done += w->list[i]->seen;
		}
		if (w->code || atomic_load(&w->broken)) {
			abort_all(w);
			while (!atomic_load(&w->stop)) {
				wake_all(w);
				poll(&pfd, 1, TICK);
			}
		}
		progress_tell(w->progress, done);
	}
	return NULL;
}

static void set_blocking(struct rtgt_client *c, bool blocking)
{
	if (c && c->qp.channel)
		fcntl(c->qp.channel->fd, F_SETFL, blocking ? 0 : O_NONBLOCK);
}

/**
 * watch_begin() - look after connections from now on
 * @w: its list is filled; nothing is under way
 * @progress: who wants to know how far they are
 * @timeout: so many seconds nothing may move
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int watch_begin(struct watch *w, struct progress *progress, unsigned int timeout,
		struct rtgt_err *err)
{
	int ret;

	w->progress = progress;
	w->timeout = timeout;
	w->code = 0;
	atomic_store(&w->stop, false);
	atomic_store(&w->broken, false);
	for (unsigned int i = 0; i < w->nr; i++) {
		w->list[i]->seen = 0;
		w->list[i]->alone = w->nr == 1 ? w : NULL;
		w->list[i]->idle_ms = 0;
		w->list[i]->ended_ms = 0;
		atomic_store(&w->list[i]->progress, 0);
		w->list[i]->armed = false;
		atomic_store(&w->list[i]->aborted, false);
		atomic_store(&w->list[i]->asleep, false);
		set_blocking(w->list[i]->client, true);
	}
	if (w->nr == 1) {
		set_ticks(TICK);
		return 0;
	}
	hear_ticks();
	w->wake = eventfd(0, EFD_CLOEXEC);
	if (w->wake < 0)
		return rtgt_fail(err, errno, "no eventfd: %s", strerror(errno));
	ret = pthread_create(&w->thread, NULL, watcher, w);
	if (!ret)
		return 0;
	close(w->wake);
	return rtgt_fail(err, ret, "no thread: %s", strerror(ret));
}

/**
 * watch_end() - look after them no more
 * @w: begun
 * @ret: how what was watched ended
 * @err: as the watcher saw it, if that is why
 *
 * Return: what the watcher saw, or @ret.
 */
int watch_end(struct watch *w, int ret, struct rtgt_err *err)
{
	if (w->nr == 1) {
		set_ticks(0);
	} else {
		atomic_store(&w->stop, true);
		eventfd_write(w->wake, 1);
		pthread_join(w->thread, NULL);
		close(w->wake);
	}
	for (unsigned int i = 0; i < w->nr; i++)
		set_blocking(w->list[i]->client, false);
	/*
	 * A flush is not why, it is what the watcher did about it; and where all went well
	 * until then, nothing more can be done with what it has aborted.  Another completion
	 * that failed tells more than that the connection has ended.
	 */
	if (w->code && !(ret == -EIO && err->wc_status && err->wc_status != IBV_WC_WR_FLUSH_ERR)) {
		*err = w->why;
		return w->code;
	}
	return ret;
}

/**
 * watch_tick() - look after the connection, if it is time to
 * @w: its owner calls this between two system calls
 * @ret: what the last one said; -EINTR asks to look
 * @err: says what is wrong
 *
 * Return: 0 to go on, or a negative errno; @ret if that is another error.
 */
int watch_tick(struct watched *w, int ret, struct rtgt_err *err)
{
	struct watch *all = w->alone;
	bool due = atomic_load_explicit(&ticked, memory_order_relaxed);

	if (!ret && atomic_load_explicit(&w->aborted, memory_order_relaxed))
		return rtgt_fail(err, ECONNABORTED, "the run was aborted");
	if (!all || (ret != -EINTR && (ret || !due)))
		return ret;
	atomic_store_explicit(&ticked, false, memory_order_relaxed);
	if (interrupted)
		return rtgt_fail(err, EINTR, "interrupted");
	ret = look(all, w);
	if (ret)
		*err = all->why;
	else
		progress_tell(all->progress, w->seen);
	return ret;
}

/**
 * watch_arm() - arm for what is posted next
 * @w: a connection over RDMA that is watched; its completions have been taken
 * @err: says what is wrong
 *
 * For who measures: it is a system call, and need not be made while the time runs.
 *
 * Return: 0, or a negative errno.
 */
int watch_arm(struct watched *w, struct rtgt_err *err)
{
	struct rtgt_qp *q = &w->client->qp;

	if (!q->channel || w->armed)
		return 0;
	if (ibv_req_notify_cq(q->cq, 0))
		return rtgt_fail(err, EIO, "cannot arm the completion queue");
	w->armed = true;
	return 0;
}

/* Sleep until a completion event, or a signal */
static int next_event(struct watched *w, struct rtgt_err *err)
{
	struct rtgt_qp *q = &w->client->qp;
	struct ibv_cq *cq;
	void *context;
	int ret;

	w->owner = pthread_self();
	atomic_store(&w->asleep, true);
	ret = ibv_get_cq_event(q->channel, &cq, &context);
	atomic_store(&w->asleep, false);
	if (ret)
		return rtgt_fail(err, errno, "no completion event: %s", strerror(errno));
	q->events++;
	w->armed = false;
	return 0;
}

/* An event comes only for what is there after arming: between the two comes a look */
static int take(struct watched *w, struct ibv_wc *wc, int max, struct rtgt_err *err)
{
	struct rtgt_qp *q = &w->client->qp;
	bool look = !w->armed;
	int n = 0, ret = 0;

	for (;;) {
		if (!look)
			ret = watch_tick(w, q->channel ? next_event(w, err) : 0, err);
		if (ret)
			return ret;
		n = rtgt_qp_poll(q, wc, max, err);
		if (n)
			break;
		look = q->channel && !w->armed;
		if (look)
			ret = watch_arm(w, err);
	}
	for (int i = 0; i < n; i++)
		if (wc[i].status != IBV_WC_SUCCESS) {
			rtgt_fail(err, EIO, "%s: %s", ibv_wc_status_str(wc[i].status),
				  rtgt_wc_meaning(wc[i].status));
			err->wc_status = wc[i].status;
			return -EIO;
		}
	return n;
}

/**
 * watch_poll() - take completions, at least one
 * @w: a connection over RDMA that is watched
 * @wc: filled; all of them succeeded
 * @max: how many fit there
 * @err: says what is wrong
 *
 * Return: how many, or a negative errno.
 */
int watch_poll(struct watched *w, struct ibv_wc *wc, int max, struct rtgt_err *err)
{
	int ret = watch_tick(w, 0, err);

	return ret ? ret : take(w, wc, max, err);
}

/**
 * watch_wait() - wait for the last completion that is under way
 * @w: a connection over RDMA that is watched; since the last call one work request was
 *	posted that completes, or two
 * @id: of the work request
 * @wc: filled
 * @before: incremented for each completion before it, which is dropped
 * @err: says what is wrong
 *
 * With watch_arm() before the post, its event comes first: to look before is in vain.
 *
 * Return: 0, or a negative errno.
 */
int watch_wait(struct watched *w, uint64_t id, struct ibv_wc *wc, unsigned int *before,
	       struct rtgt_err *err)
{
	for (;;) {
		int n = take(w, wc, 1, err);

		if (n < 0)
			return n;
		if (wc->wr_id == id)
			break;
		++*before;
	}
	return 0;
}
