/* SPDX-License-Identifier: GPL-2.0 */
/* A share: jobs that run one after the other. */
#ifndef _RTGT_SHARE_H
#define _RTGT_SHARE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

/* Jobs of which one runs at a time */
struct rtgt_share {
	spinlock_t lock;	/* @jobs, @nr, @running; also taken with rtgt_conn.lock held */
	struct list_head jobs;		/* that wait: struct rtgt_job */
	unsigned int nr;		/* number of @jobs */
	struct rtgt_job *running;	/* NULL if none; only compared, the job may be freed */
	struct work_struct work;	/* runs the first of @jobs, then queues itself again */
	struct workqueue_struct *queue;
	struct kref *owner;	/* of the object with the share; @work holds one while busy */
	void (*release)(struct kref *owner);	/* frees the owner; any context */
};

/* What a share runs */
struct rtgt_job {
	struct rtgt_share *share;	/* the job's owner has a reference to the share's owner */
	struct list_head entry;		/* in rtgt_share.jobs while the job waits */
	void (*run)(struct rtgt_job *job);	/* may free the job or queue it; process context */
};

void rtgt_share_init(struct rtgt_share *share, struct workqueue_struct *queue,
		     struct kref *owner, void (*release)(struct kref *owner));
void rtgt_share_work(struct work_struct *work);
void rtgt_job_init(struct rtgt_job *job, void (*run)(struct rtgt_job *job));
void rtgt_job_queue(struct rtgt_job *job);
void rtgt_job_cancel(struct rtgt_job *job);

#endif /* _RTGT_SHARE_H */
