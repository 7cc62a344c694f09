// SPDX-License-Identifier: GPL-2.0
/*
 * A share of the processors: jobs that run one after the other, in the order of their queueing.
 *
 * All connections of one peer to one port have three shares: for their set-ups, their teardowns and
 * their requests (admission.c).  So, however many connections a peer has and whatever it sends on
 * them, it occupies at most three workers for each port, and a client of another port competes with
 * these and not with a thousand.  A set-up does not wait for the teardowns of earlier connections.
 *
 * A job that waits delays the other jobs of its share, and nothing else.  So a job may wait for the
 * device, for memory and for locks, but not for a peer, nor for another job of its share.
 */
#include <linux/sched.h>

#include "main.h"
#include "target/share.h"

/* So many jobs of one peer are no start of a program any more */
#define RTGT_CROWD	256

/* The work cannot end, and put the reference, before the caller releases the lock. */
static void share_kick(struct rtgt_share *share)
{
	lockdep_assert_held(&share->lock);
	if (queue_work(share->queue, &share->work))
		kref_get(share->owner);
}

static void share_take(struct rtgt_share *share, struct rtgt_job *job)
{
	lockdep_assert_held(&share->lock);
	list_del_init(&job->entry);
	share->nr--;
}

/**
 * rtgt_share_work() - run one job of a share, so that other shares have their turn in between
 * @work: rtgt_share.work
 *
 * Between requests the worker yields the processor, which it would otherwise keep until the next
 * timer tick.  A client of another port waits for several threads in turn, and a job may be due
 * before each of them.  Measured with make bench T=neighbour, jobs of 0.4 ms: one reply in a
 * hundred took 2.7 ms, and 0.6 ms with yield().  Between set-ups only if RTGT_CROWD wait: a hundred
 * connections at once took 0.60 ms each with yield(), and 0.42 ms without (sink.connect).
 */
void rtgt_share_work(struct work_struct *work)
{
	struct rtgt_share *share = container_of(work, struct rtgt_share, work);
	struct rtgt_job *job;
	unsigned int more;

	spin_lock_irq(&share->lock);
	job = list_first_entry_or_null(&share->jobs, struct rtgt_job, entry);
	if (job)
		share_take(share, job);
	share->running = job;
	spin_unlock_irq(&share->lock);
	if (job)
		job->run(job);
	spin_lock_irq(&share->lock);
	share->running = NULL;
	more = share->nr;
	if (more)
		share_kick(share);
	spin_unlock_irq(&share->lock);
	if (more >= (share->queue == rtgt_req_wq ? 1 : RTGT_CROWD))
		yield();
	kref_put(share->owner, share->release);
}

/**
 * rtgt_share_init() - initialize a share, except @share->work
 * @share: share; the caller calls INIT_WORK(), which gives each kind of share its lockdep class: a
 *	teardown waits for a request (rtgt_job_cancel())
 * @queue: work queue on which its jobs run
 * @owner: reference count of the object that contains @share
 * @release: frees that object; called in any context
 */
void rtgt_share_init(struct rtgt_share *share, struct workqueue_struct *queue,
		     struct kref *owner, void (*release)(struct kref *owner))
{
	spin_lock_init(&share->lock);
	INIT_LIST_HEAD(&share->jobs);
	share->queue = queue;
	share->owner = owner;
	share->release = release;
}

/* The caller sets rtgt_job.share before it queues the job. */
void rtgt_job_init(struct rtgt_job *job, void (*run)(struct rtgt_job *job))
{
	INIT_LIST_HEAD(&job->entry);
	job->run = run;
}

/* Does nothing if the job waits already; one that runs will run once more.  Any context. */
void rtgt_job_queue(struct rtgt_job *job)
{
	struct rtgt_share *share = job->share;
	unsigned long flags;

	spin_lock_irqsave(&share->lock, flags);
	if (list_empty(&job->entry)) {
		list_add_tail(&job->entry, &share->jobs);
		share->nr++;
		share_kick(share);
	}
	spin_unlock_irqrestore(&share->lock, flags);
}

/**
 * rtgt_job_cancel() - wait until a job does not run, and will not, for at most one other job
 * @job: job that nothing queues any more, not even its own function
 * Context: may sleep.
 */
void rtgt_job_cancel(struct rtgt_job *job)
{
	struct rtgt_share *share = job->share;
	bool running;

	spin_lock_irq(&share->lock);
	if (!list_empty(&job->entry))
		share_take(share, job);
	running = share->running == job;
	spin_unlock_irq(&share->lock);
	if (running)
		flush_work(&share->work);
}
