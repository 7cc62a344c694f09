// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's initiator: connects to a target, posts one operation many times and
 * records how long each took.
 *
 * A run is a work item without loops back: it resolves, connects, makes its requests
 * (request_make.c), posts them (request.c), verifies (verify.c), and releases in one
 * place what it has, however far it came.  The connection manager and the completions
 * only record what happened and wake the run.
 *
 * The reason of a failure is a line of the result.  Nothing that a target can cause is printed.
 */
#include <linux/debugfs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "initiator/request.h"
#include "main.h"

/* Local ports to try when TCP uses the one that rdma_cm chose (iWARP) */
#define RTGT_PORT_ATTEMPTS	8

static struct workqueue_struct *rtgt_run_wq;
static struct dentry *rtgt_initiators_dir;

const char *const rtgt_ini_state_names[] = {
	[RTGT_INI_IDLE] = "idle",
	[RTGT_INI_CONNECTING] = "connecting",
	[RTGT_INI_RUNNING] = "running",
	[RTGT_INI_DONE] = "done",
	[RTGT_INI_FAILED] = "failed",
	[RTGT_INI_STOPPED] = "stopped",
};

/* The last run's reason must not be taken for one of the new run. */
static void set_state(struct rtgt_initiator *ini, enum rtgt_ini_state state)
{
	mutex_lock(&ini->lock);
	ini->state = state;
	ini->result.why[0] = '\0';
	mutex_unlock(&ini->lock);
}

static int run_operations(struct rtgt_run *run)
{
	int ret;

	run->total = run->cfg.duration_ms ? S32_MAX : run->cfg.warmup + run->cfg.iters;
	run->result.sample = kvcalloc(run->cfg.iters, sizeof(u32), GFP_KERNEL);
	ret = run->result.sample ? 0 : -ENOMEM;
	ret = ret ?: rtgt_ini_reqs_create(run) ?: rtgt_run_capability(run) ?:
	      rtgt_run_check_region(run) ?: rtgt_ini_reqs_make(run) ?: rtgt_run_verify_begin(run);
	if (ret)
		return rtgt_run_fail(run, "depth %u, size %u: requests cannot be made: error %d",
				     run->cfg.depth, run->cfg.size, ret);
	set_state(run->ini, RTGT_INI_RUNNING);
	rtgt_ini_reqs_start(run);
	ret = rtgt_run_wait(run, &run->all_done);
	if (!ret)
		run->total = run->progress;
	return ret;
}

static int compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* The end of a run: whoever sees the state may start the next one. */
static void run_over(struct rtgt_initiator *ini, enum rtgt_ini_state state,
		     struct rtgt_ini_result *result)
{
	put_net(ini->net);
	mutex_lock(&ini->lock);
	if (result)
		swap(ini->result, *result);
	ini->state = state;
	/* pairs with rtgt_initiator_busy() */
	smp_store_release(&ini->busy, false);
	mutex_unlock(&ini->lock);
	wake_up(&ini->wake);
}

/* The initiator gets the results, none of a run that failed; run_once() frees those of before. */
static void run_publish(struct rtgt_run *run, int ret)
{
	struct rtgt_ini_result *r = &run->result;

	r->cfg = run->cfg;
	r->done = ret ? 0 : run->total - run->cfg.warmup;
	r->nr_samples = min(r->done, run->cfg.iters);
	r->begin_ns = run->begin;
	r->elapsed_ns = run->end - run->begin;
	sort(r->sample, r->nr_samples, sizeof(*r->sample), compare, NULL);
	run_over(run->ini, !ret ? RTGT_INI_DONE : READ_ONCE(run->ini->stop) ? RTGT_INI_STOPPED :
									      RTGT_INI_FAILED, r);
}

/* The only teardown.  It drains the QP: after that no completion runs. */
static void run_end(struct rtgt_run *run)
{
	if (run->id && run->id->qp) {
		rdma_disconnect(run->id);
		ib_drain_qp(run->id->qp);
	}
	rtgt_ini_reqs_destroy(run);
	kvfree(run->word);
	if (run->id && run->id->qp)
		rdma_destroy_qp(run->id);
	rtgt_cq_destroy(&run->cq);
	if (run->pd)
		ib_dealloc_pd(run->pd);
	if (run->attached)
		rtgt_dev_detach(&run->user);
	if (run->id)
		rdma_destroy_id(run->id);
}

static int run_all(struct rtgt_run *run)
{
	int ret = rtgt_run_connect(run) ?: run_operations(run);

	if (ret)
		return ret;
	ret = rtgt_run_verify(run);
	/* a reason that is recorded already is kept */
	return ret ? rtgt_run_fail(run, "verification: %d", ret) : 0;
}

/*
 * Returns true if TCP uses the local port that rdma_cm chose (iWARP): then the run has no result,
 * and another one gets another port.  The @last one has a result in any case.
 */
static bool run_once(struct rtgt_initiator *ini, bool last)
{
	struct rtgt_run *run = kzalloc(sizeof(*run), GFP_KERNEL);
	bool again;
	int ret;

	if (!run) {
		run_over(ini, RTGT_INI_FAILED, NULL);
		return false;
	}
	run->ini = ini;
	run->cfg = ini->cfg;
	if (rtgt_op_is_atomic(run->cfg.op))
		run->cfg.size = sizeof(u64);
	init_completion(&run->all_done);
	spin_lock_init(&run->post);
	ret = run_all(run);
	run_end(run);
	again = ret == -EADDRINUSE && !last;
	if (!again)
		run_publish(run, ret);
	kvfree(run->result.sample);
	kfree(run);
	return again;
}

static void run_work(struct work_struct *work)
{
	struct rtgt_initiator *ini = container_of(work, struct rtgt_initiator, work);
	unsigned int attempts = 1;

	while (run_once(ini, attempts == RTGT_PORT_ATTEMPTS))
		attempts++;
}

/* Is a run in progress?  Any context. */
bool rtgt_initiator_busy(struct rtgt_initiator *ini)
{
	/* pairs with run_over() */
	return smp_load_acquire(&ini->busy);
}

/**
 * rtgt_initiator_start() - start a run
 * @ini: initiator; the caller holds @ini->config
 * @net: network namespace in which to look for the target
 * Return: 0; -EBUSY if a run is in progress, -EDESTADDRREQ without an address.
 */
int rtgt_initiator_start(struct rtgt_initiator *ini, struct net *net)
{
	lockdep_assert_held(&ini->config);
	if (rtgt_initiator_busy(ini))
		return -EBUSY;
	if (!ini->cfg.addr.ss_family)
		return -EDESTADDRREQ;
	set_state(ini, RTGT_INI_CONNECTING);
	ini->net = get_net(net);
	ini->stop = false;
	ini->busy = true;
	WRITE_ONCE(ini->runs, ini->runs + 1);
	queue_work(rtgt_run_wq, &ini->work);
	return 0;
}

/* Wait for the end of the run in progress, but not for a later one. */
static int initiator_wait(struct rtgt_initiator *ini)
{
	u32 nth = READ_ONCE(ini->runs);

	return wait_event_interruptible(ini->wake, !rtgt_initiator_busy(ini) ||
					READ_ONCE(ini->runs) != nth);
}

static void initiator_request_stop(struct rtgt_initiator *ini)
{
	/* with the lock, so that the flag is not lost to a start */
	mutex_lock(&ini->config);
	WRITE_ONCE(ini->stop, true);
	mutex_unlock(&ini->config);
	wake_up(&ini->wake);
}

/**
 * rtgt_initiator_stop() - stop the run in progress and wait for its end
 * @ini: initiator; the caller does not hold @ini->config
 * Context: may sleep.
 * Return: 0 when it is over; -ERESTARTSYS if a signal came first, then it ends later.
 */
int rtgt_initiator_stop(struct rtgt_initiator *ini)
{
	initiator_request_stop(ini);
	return initiator_wait(ini);
}

/* ----------------------------------------------------------------------- debugfs */

/*
 * A read waits for the end of the run in progress.  The file is not in configfs, because
 * there a reader of a file blocks rmdir of its directory, which blocks all other readers.
 */
static int wait_show(struct seq_file *m, void *v)
{
	struct rtgt_initiator *ini = m->private;
	int ret = initiator_wait(ini);

	if (ret)
		return ret;
	mutex_lock(&ini->lock);
	seq_printf(m, "%s\n", rtgt_ini_state_names[ini->state]);
	mutex_unlock(&ini->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(wait);

static int samples_show(struct seq_file *m, void *v)
{
	struct rtgt_initiator *ini = m->private;
	u32 i;

	mutex_lock(&ini->lock);
	for (i = 0; i < ini->result.nr_samples && !seq_has_overflowed(m); i++)
		seq_printf(m, "%u\n", ini->result.sample[i]);
	mutex_unlock(&ini->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(samples);

/**
 * rtgt_initiator_create() - make an initiator, idle
 * @name: of its directory
 * Return: for rtgt_initiator_destroy(), or NULL without memory.
 */
struct rtgt_initiator *rtgt_initiator_create(const char *name)
{
	struct rtgt_initiator *ini = kzalloc(sizeof(*ini), GFP_KERNEL);

	if (!ini)
		return NULL;
	atomic_inc(&rtgt_live.initiators);
	mutex_init(&ini->config);
	mutex_init(&ini->lock);
	init_waitqueue_head(&ini->wake);
	INIT_WORK(&ini->work, run_work);
	ini->cfg = (struct rtgt_ini_cfg){
		.op = RTGT_INI_SEND,
		.poll = RTGT_POLL_SOFTIRQ,
		.size = 64,
		.sges = 1,
		.iters = 1000,
		.warmup = 100,
		.depth = 1,
		.signal = 1,
		.timeout_ms = 10000,
	};
	ini->debugfs = debugfs_create_dir(name, rtgt_initiators_dir);
	debugfs_create_file("samples", 0400, ini->debugfs, ini, &samples_fops);
	debugfs_create_file("wait", 0400, ini->debugfs, ini, &wait_fops);
	return ini;
}

/**
 * rtgt_initiator_destroy() - stop the run of an initiator and free it
 * @ini: initiator; the caller has the only reference
 * Context: may sleep.
 */
void rtgt_initiator_destroy(struct rtgt_initiator *ini)
{
	initiator_request_stop(ini);
	flush_work(&ini->work);
	debugfs_remove_recursive(ini->debugfs);
	kvfree(ini->result.sample);
	kfree(ini);
	atomic_dec(&rtgt_live.initiators);
}

/**
 * rtgt_initiators_init() - make what all initiators need
 * @debugfs: parent of their directories; the caller removes it after
 *	     rtgt_initiators_exit()
 * Return: 0 or -ENOMEM.
 */
int __init rtgt_initiators_init(struct dentry *debugfs)
{
	rtgt_initiators_dir = debugfs;
	/* runs wait for targets; no other work must wait for runs */
	rtgt_run_wq = alloc_workqueue("rtgt_run", WQ_UNBOUND, WQ_MAX_ACTIVE);
	return rtgt_run_wq ? 0 : -ENOMEM;
}

/* No initiator is left. */
void rtgt_initiators_exit(void)
{
	destroy_workqueue(rtgt_run_wq);
}
