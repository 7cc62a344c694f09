// SPDX-License-Identifier: GPL-2.0
/*
 * How a run waits for its operations, and how it records a failure.
 *
 * A run waits at most timeout_ms without progress, so a silent target is an error and
 * not a hang.  A stop and the removal of the device end each wait immediately.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <rdma/ib_verbs.h>

#include "initiator/run.h"

/**
 * rtgt_run_fail() - record why a run fails, which ends it
 * @run: run
 * @fmt: one line; only the first reason is kept
 * Context: any.
 * Return: -EIO: the line is all that anybody reads.
 */
int rtgt_run_fail(struct rtgt_run *run, const char *fmt, ...)
{
	va_list args;

	if (cmpxchg(&run->failing, 0, 1))
		return -EIO;
	va_start(args, fmt);
	vscnprintf(run->result.why, sizeof(run->result.why), fmt, args);
	va_end(args);
	/* pairs with rtgt_run_wait(): the reason is complete */
	smp_store_release(&run->failed, true);
	wake_up(&run->ini->wake);
	return -EIO;
}

/* Must the wait for operations end?  Does not sleep. */
static bool run_ends(struct rtgt_run *run, struct completion *done)
{
	return completion_done(done) || READ_ONCE(run->failed) ||
	       READ_ONCE(run->disconnected) || READ_ONCE(run->removed) ||
	       READ_ONCE(run->ini->stop);
}

/* Wait for an event, @timeout jiffies at most; or poll once, if nothing else polls. */
static void run_wait(struct rtgt_run *run, struct completion *done, unsigned long timeout)
{
	if (run->cfg.poll != RTGT_POLL_DIRECT) {
		wait_event_idle_timeout(run->ini->wake, run_ends(run, done), timeout);
		return;
	}
	/* not -1: with many requests the queue need not become empty */
	ib_process_cq_direct(run->cq.ib, RTGT_INI_DEPTH_MAX);
	cond_resched();
}

/**
 * rtgt_run_wait_briefly() - wait for outstanding operations, without an error if they do not end
 * @run: connected
 * @done: completed when all of them have succeeded
 * @ms: maximum time in milliseconds
 * Context: may sleep.
 * Return: false if rtgt_run_wait() would wait further.
 */
bool rtgt_run_wait_briefly(struct rtgt_run *run, struct completion *done, unsigned int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);

	while (!run_ends(run, done) && time_before(jiffies, end))
		run_wait(run, done, msecs_to_jiffies(ms));
	return run_ends(run, done);
}

/**
 * rtgt_run_wait() - wait for outstanding operations
 * @run: connected
 * @done: completed when all of them have succeeded
 * Context: may sleep; polls the completion queue if nothing else does.
 * Return: 0; -EINTR when stopped; -EIO, with the reason recorded, when an operation failed, the
 * target disconnected, the device is being removed, or nothing happened for timeout_ms.
 */
int rtgt_run_wait(struct rtgt_run *run, struct completion *done)
{
	unsigned long patience = msecs_to_jiffies(run->cfg.timeout_ms);
	long left;

	WRITE_ONCE(run->heard, jiffies);
	while (!run_ends(run, done)) {
		left = READ_ONCE(run->heard) + patience - jiffies;
		if (left > 0)
			run_wait(run, done, left);
		else if (!run_ends(run, done))
			return rtgt_run_fail(run, "no completion within %u ms",
					     run->cfg.timeout_ms);
	}
	/* pairs with rtgt_run_fail() */
	if (smp_load_acquire(&run->failed))
		return -EIO;
	/* a stop ends the chains: @done may be complete although operations are left */
	if (READ_ONCE(run->ini->stop))
		return -EINTR;
	if (completion_done(done))
		return 0;
	if (READ_ONCE(run->removed))
		return rtgt_run_fail(run, "the device is being removed");
	return rtgt_run_fail(run, "the target closed the connection");
}
