/* SPDX-License-Identifier: GPL-2.0 */
/* A share: jobs that run one after the other. */
#ifndef _RTGT_SHARE_H
#define _RTGT_SHARE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

/**
 * struct rtgt_share - jobs of which one runs at a time
 * @lock: protects @jobs, @nr and @running; also taken with rtgt_conn.lock held
 * @jobs: jobs that wait: struct rtgt_job
 * @nr: number of @jobs
 * @running: the job whose function runs, NULL if none; only compared, the job may be freed
 * @work: runs the first of @jobs, and queues itself again while there are others
 * @queue: work queue of @work
 * @owner: reference count of the object that contains the share.  @work, while it is queued or
 *	   runs, holds a reference
 * @release: frees the owner; any context
 */
struct rtgt_share {
	spinlock_t lock;	/* @jobs, @nr, @running */
	struct list_head jobs;
	unsigned int nr;
	struct rtgt_job *running;
	struct work_struct work;
	struct workqueue_struct *queue;
	struct kref *owner;
	void (*release)(struct kref *owner);
};

/**
 * struct rtgt_job - what a share runs
 * @share: the share; the owner of the job has a reference to the owner of the share
 * @entry: in rtgt_share.jobs while the job waits
 * @run: function; may free the job, or queue it again.  Process context
 */
struct rtgt_job {
	struct rtgt_share *share;
	struct list_head entry;
	void (*run)(struct rtgt_job *job);
};

void rtgt_share_init(struct rtgt_share *share, struct workqueue_struct *queue,
		     struct kref *owner, void (*release)(struct kref *owner));
void rtgt_share_work(struct work_struct *work);
void rtgt_job_init(struct rtgt_job *job, void (*run)(struct rtgt_job *job));
void rtgt_job_queue(struct rtgt_job *job);
void rtgt_job_cancel(struct rtgt_job *job);

#endif /* _RTGT_SHARE_H */
