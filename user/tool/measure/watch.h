/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Waiting for what user space measures.  See watch.c.
 */
#ifndef RTGT_WATCH_H
#define RTGT_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rtgt/client.h>
#include "tool/tcp/tcp.h"
#include "progress.h"

/* Connections watched at a time */
#define WATCH_MAX	32

/**
 * struct watched - a connection somebody waits on
 * @client: over RDMA
 * @tcp: over TCP, when @client is NULL
 * @progress: operations that have ended
 * @idle: nothing is under way on it: it may be silent
 * @alone: there is no watcher: who waits looks itself, whenever the clock ticks
 * @armed: the queue was empty when it was armed: an event is bound to come
 * @aborted: the watcher has given up
 * @asleep: @owner waits for a completion event
 * @owner: the thread that waits, if @asleep
 * @seen: the watcher's
 * @idle_ms: likewise
 * @ended_ms: likewise, since the target closed the connection
 */
struct watched {
	struct rtgt_client *client;
	struct rtgt_tcp *tcp;
	atomic_ullong progress;
	atomic_bool idle;
	struct watch *alone;
	bool armed;
	atomic_bool aborted;
	atomic_bool asleep;
	pthread_t owner;
	unsigned long long seen;
	unsigned int idle_ms, ended_ms;
};

/**
 * struct watch - connections that are waited on, and who looks after them
 * @progress: who wants to know how far they are
 * @timeout: so many seconds nothing may move
 * @nr: connections
 * @list: them
 * @thread: the watcher, unless there is one connection only
 * @wake: an eventfd, for it to see @stop at once
 * @stop: it shall end
 * @broken: somebody has given up: all others shall
 * @code: what the watcher saw, or 0
 * @why: in words
 */
struct watch {
	struct progress *progress;
	unsigned int timeout;
	unsigned int nr;
	struct watched *list[WATCH_MAX];
	pthread_t thread;
	int wake;
	atomic_bool stop;
	atomic_bool broken;
	int code;
	struct rtgt_err why;
};

int watch_begin(struct watch *w, struct progress *progress, unsigned int timeout,
		struct rtgt_err *err);
int watch_end(struct watch *w, int ret, struct rtgt_err *err);
int watch_tick(struct watched *w, int ret, struct rtgt_err *err);
int watch_arm(struct watched *w, struct rtgt_err *err);
int watch_poll(struct watched *w, struct ibv_wc *wc, int max, struct rtgt_err *err);
int watch_wait(struct watched *w, uint64_t id, struct ibv_wc *wc, unsigned int *before,
	       struct rtgt_err *err);

static inline void watch_count(struct watched *w, unsigned long long n)
{
	atomic_fetch_add_explicit(&w->progress, n, memory_order_relaxed);
}

#endif /* RTGT_WATCH_H */
