// SPDX-License-Identifier: GPL-2.0
/*
 * rtgt_work: services for rtgt work, in a module of their own.
 *
 * The service "ps" (ps.h) is the service rtgt with one more function: what clients announce is not
 * answered before all have come.  So this file is also the example of a service of another module.
 *
 * The connections of a port are a group.  Its mutex protects all that the group and its connections
 * say of the round.  A request that waits is kept by its connection (rtgt_recv_park()), and dropped
 * with it.  When the round ends, each connection that waits is resumed, and announced() is called
 * again, now to answer.
 *
 * Peers write the region at any time, so what is read there is copied, and checked each time.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "include/uapi/rtgt.h"
#include "target/service.h"
#include "workload/ps.h"

/* What a worker's addition may take before others have their turn */
#define PS_STEP_BYTES	SZ_16K

/* A head that has been checked: all parts are inside the region */
struct ps_round {
	u32 workers, count, flags, number;
	unsigned long patience;		/* jiffies */
};

/* The connections of a port */
struct ps_group {
	struct list_head entry;		/* in groups, under groups_lock */
	const void *port;
	unsigned int users;		/* connections; under groups_lock */
	struct mutex lock;		/* all that follows, and that of the connections */
	struct list_head conns;
	u64 arrived;			/* a bit for each worker that waits for the round's end */
	struct ps_round round;		/* as they have found it */
	unsigned long due;		/* jiffies at which it ends in any case */
	struct delayed_work deadline;
};

/* A connection */
struct ps_conn {
	struct ps_group *group;
	struct rtgt_conn *conn;
	struct list_head entry;		/* in ps_group.conns */
	u32 worker;			/* whose request it keeps */
	bool waits;			/* it keeps one */
	bool ended;			/* the round of that has ended, with @status */
	u32 status;
};

static LIST_HEAD(groups);
static DEFINE_MUTEX(groups_lock);

/* ------------------------------------------------------------------------ memory */

/* Copy from or to region 0.  False: it is not inside */
static bool ps_copy(struct rtgt_conn *conn, u64 offset, void *bytes, u64 len, bool to_region)
{
	u64 here;
	void *at;

	while (len) {
		at = rtgt_service_memory(conn, 0, offset, len, &here);
		if (!at)
			return false;
		here = min(here, len);
		if (!to_region)
			rtgt_service_sync(conn, 0, offset, here, true);
		memcpy(to_region ? at : bytes, to_region ? bytes : at, here);
		if (to_region)
			rtgt_service_sync(conn, 0, offset, here, false);
		offset += here;
		bytes += here;
		len -= here;
	}
	return true;
}

static u32 ps_head(struct rtgt_conn *conn, struct ps_round *round)
{
	struct rtgt_ps_head head;
	u32 ms;
	u64 here;

	if (!ps_copy(conn, 0, &head, sizeof(head), false) ||
	    le32_to_cpu(head.magic) != RTGT_PS_MAGIC)
		return RTGT_ST_RANGE;
	round->workers = le32_to_cpu(head.workers);
	round->count = le32_to_cpu(head.count);
	round->flags = le32_to_cpu(head.flags);
	round->number = le32_to_cpu(head.round) + 1;
	ms = le32_to_cpu(head.deadline_ms);
	if (!round->workers || round->workers > RTGT_PS_WORKERS || !ms ||
	    ms > RTGT_PS_DEADLINE_MS ||
	    !rtgt_service_memory(conn, 0, 0, rtgt_ps_slot_at(round->count, round->workers), &here))
		return RTGT_ST_RANGE;
	round->patience = msecs_to_jiffies(ms);
	return RTGT_OK;
}

/* Find the slot of a connection */
static u32 ps_slot(struct rtgt_conn *conn, const struct ps_round *round, u32 *worker)
{
	struct rtgt_ps_slot slot;
	u32 i;

	for (i = 0; i < round->workers; i++) {
		if (!ps_copy(conn, rtgt_ps_slot_at(round->count, i), &slot, sizeof(slot), false))
			return RTGT_ST_RANGE;
		if (le32_to_cpu(slot.conn) != rtgt_service_conn_id(conn))
			continue;
		*worker = i;
		if (round->flags & RTGT_PS_ASYNC || le32_to_cpu(slot.round) == round->number)
			return RTGT_OK;
	}
	return RTGT_ST_RANGE;
}

/* The gradients of some workers are added to weights that follow one another. */
static void ps_add(__le32 *weight, __le32 *const gradient[], u32 nr, u64 count, u32 flags)
{
	s64 sum;
	u64 k;
	u32 i;

	for (k = 0; k < count; k++) {
		sum = (s32)le32_to_cpu(weight[k]);
		for (i = 0; i < nr; i++)
			sum += (s32)le32_to_cpu(gradient[i][k]);
		if (flags & RTGT_PS_SATURATE)
			sum = clamp_t(s64, sum, S32_MIN, S32_MAX);
		weight[k] = cpu_to_le32((u32)sum);
	}
}

/* Add the gradients of the workers from @first to before @end to the weights. */
static void ps_reduce(struct rtgt_conn *conn, const struct ps_round *round, u32 first, u32 end)
{
	u64 bytes = (u64)round->count * sizeof(__le32), done, here, n;
	u64 step = max_t(u64, PS_STEP_BYTES / (end - first) & ~63, 64);
	__le32 *gradient[RTGT_PS_WORKERS], *weight;
	u64 head = sizeof(struct rtgt_ps_head);
	u32 i;

	rtgt_service_sync(conn, 0, 0, rtgt_ps_slot_at(round->count, round->workers), true);
	for (done = 0; done < bytes; done += here) {
		weight = rtgt_service_memory(conn, 0, head + done, bytes - done, &here);
		here = min3(here, bytes - done, step);
		for (i = first; i < end; i++) {
			u64 at = rtgt_ps_slot_at(round->count, i) + sizeof(struct rtgt_ps_slot);

			gradient[i - first] = rtgt_service_memory(conn, 0, at + done, here, &n);
			here = min(here, n);
		}
		ps_add(weight, gradient, end - first, here / sizeof(__le32), round->flags);
		cond_resched();
	}
	if (bytes)
		rtgt_service_sync(conn, 0, head, bytes, false);
}

/* ------------------------------------------------------------------------ rounds */

/* The request of a connection gets its answer. */
static void ps_release(struct ps_conn *pc, u32 status)
{
	lockdep_assert_held(&pc->group->lock);
	pc->ended = true;
	pc->status = status;
	pc->group->arrived &= ~BIT_ULL(pc->worker);
	rtgt_conn_resume(pc->conn);
}

static bool ps_waits(const struct ps_conn *pc)
{
	return pc->waits && !pc->ended;
}

static void ps_end(struct ps_group *group, u32 status)
{
	struct ps_conn *pc;

	list_for_each_entry(pc, &group->conns, entry)
		if (ps_waits(pc))
			ps_release(pc, status);
}

static void ps_deadline(struct work_struct *work)
{
	struct ps_group *group = container_of(work, struct ps_group, deadline.work);
	long left;

	mutex_lock(&group->lock);
	/* a round may have ended, and another one begun, since this was queued */
	left = group->due - jiffies;
	if (group->arrived && left > 0)
		schedule_delayed_work(&group->deadline, left);
	else if (group->arrived)
		ps_end(group, RTGT_ST_ABSENT);
	mutex_unlock(&group->lock);
}

/* The last worker has come. */
static void ps_complete(struct ps_conn *pc, const struct ps_round *round)
{
	__le32 number = cpu_to_le32(round->number);

	ps_reduce(pc->conn, round, 0, round->workers);
	ps_copy(pc->conn, offsetof(struct rtgt_ps_head, round), &number, sizeof(number), true);
	ps_end(pc->group, RTGT_OK);
}

/* The same worker, on a connection of which nobody has told us that it is gone */
static void ps_replace(struct ps_group *group, u32 worker)
{
	struct ps_conn *pc;

	list_for_each_entry(pc, &group->conns, entry)
		if (ps_waits(pc) && pc->worker == worker)
			ps_release(pc, RTGT_ST_LIMIT);
}

/* Those that have found another head wait for somebody who will not come. */
static void ps_join(struct ps_group *group, const struct ps_round *round)
{
	if (group->arrived && memcmp(&group->round, round, sizeof(*round)))
		ps_end(group, RTGT_ST_ABSENT);
	if (group->arrived)
		return;
	group->round = *round;
	group->due = jiffies + round->patience;
	/* one of an earlier round may be queued, for later */
	cancel_delayed_work(&group->deadline);
	schedule_delayed_work(&group->deadline, round->patience);
}

/* A worker has come.  Returns the status of its reply; RTGT_OK with @pc->waits: later */
static u32 ps_arrive(struct ps_conn *pc, struct rtgt_recv_ctx *recv)
{
	struct ps_group *group = pc->group;
	struct ps_round round = { };
	u32 status, worker;

	lockdep_assert_held(&group->lock);
	if (pc->waits)
		return RTGT_ST_LIMIT;
	status = ps_head(pc->conn, &round);
	if (status == RTGT_OK)
		status = ps_slot(pc->conn, &round, &worker);
	if (status != RTGT_OK)
		return status;
	if (round.flags & RTGT_PS_ASYNC) {
		ps_reduce(pc->conn, &round, worker, worker + 1);
		return RTGT_OK;
	}
	ps_replace(group, worker);
	ps_join(group, &round);
	pc->worker = worker;
	pc->waits = true;
	group->arrived |= BIT_ULL(worker);
	rtgt_recv_park(recv);
	if (hweight64(group->arrived) == round.workers)
		ps_complete(pc, &round);
	return RTGT_OK;
}

static void ps_announced(struct rtgt_recv_ctx *recv)
{
	struct ps_conn *pc = *rtgt_service_priv(rtgt_service_conn(recv));
	bool answer = true;
	u32 status;

	mutex_lock(&pc->group->lock);
	if (rtgt_recv_parked(recv)) {
		status = pc->status;
		pc->waits = false;
		pc->ended = false;
	} else {
		bool waited = pc->waits;

		status = ps_arrive(pc, recv);
		answer = waited || !pc->waits;
	}
	mutex_unlock(&pc->group->lock);
	if (answer)
		rtgt_service_answer(recv, status);
}

/* ------------------------------------------------------------------- connections */

static struct ps_group *ps_group_get(const void *port)
{
	struct ps_group *group;

	lockdep_assert_held(&groups_lock);
	list_for_each_entry(group, &groups, entry)
		if (group->port == port)
			return group;
	group = kzalloc(sizeof(*group), GFP_KERNEL);
	if (!group)
		return NULL;
	group->port = port;
	mutex_init(&group->lock);
	INIT_LIST_HEAD(&group->conns);
	INIT_DELAYED_WORK(&group->deadline, ps_deadline);
	list_add(&group->entry, &groups);
	return group;
}

static int ps_setup(struct rtgt_conn *conn)
{
	struct ps_conn *pc = kzalloc(sizeof(*pc), GFP_KERNEL);

	if (!pc)
		return -ENOMEM;
	pc->conn = conn;
	mutex_lock(&groups_lock);
	pc->group = ps_group_get(rtgt_service_port(conn));
	if (pc->group)
		pc->group->users++;
	mutex_unlock(&groups_lock);
	if (!pc->group) {
		kfree(pc);
		return -ENOMEM;
	}
	mutex_lock(&pc->group->lock);
	list_add_tail(&pc->entry, &pc->group->conns);
	mutex_unlock(&pc->group->lock);
	*rtgt_service_priv(conn) = pc;
	return 0;
}

/* Nothing calls announced() for this connection any more. */
static void ps_teardown(struct rtgt_conn *conn)
{
	struct ps_conn *pc = *rtgt_service_priv(conn);
	struct ps_group *group;
	bool last;

	if (!pc)
		return;
	group = pc->group;
	mutex_lock(&group->lock);
	list_del(&pc->entry);
	if (ps_waits(pc))
		group->arrived &= ~BIT_ULL(pc->worker);
	mutex_unlock(&group->lock);
	kfree(pc);
	/* a long addition on one port must not hold up the others, so the locks are not nested */
	mutex_lock(&groups_lock);
	last = !--group->users;
	if (last)
		list_del(&group->entry);
	mutex_unlock(&groups_lock);
	if (!last)
		return;
	cancel_delayed_work_sync(&group->deadline);
	kfree(group);
}

static struct rtgt_service ps_service = {
	.name = "ps",
	.owner = THIS_MODULE,
	.transports = BIT(RTGT_RC),
	.conn_bytes = sizeof(struct ps_conn) + sizeof(struct ps_group),
	.shared = true,
	.setup = ps_setup,
	.teardown = ps_teardown,
	.announced = ps_announced,
};

static int __init work_init(void)
{
	return rtgt_service_register(&ps_service);
}
module_init(work_init);

static void __exit work_exit(void)
{
	rtgt_service_unregister(&ps_service);
}
module_exit(work_exit);

MODULE_DESCRIPTION("Services of rtgt for workloads: a parameter server");
MODULE_LICENSE("GPL");
