// SPDX-License-Identifier: GPL-2.0
/*
 * Faults: the target misbehaves on demand, to test initiators.
 *
 * The administrator sets a rule per fault and port (proto/faults.c has names and rules).  Other
 * files have hooks at the events of proto/faults.h, each behind rtgt_faulty(): they do nothing on a
 * port without faults.  A hook that finds an opportunity calls rtgt_fault_commit(), which counts it
 * and decides; the rule and its counts change together, so exactly every N-th opportunity is met.
 *
 * What faults hold belongs to a connection and is bounded by what the connection has anyway:
 *
 *   - a reply that is delayed or swapped, and a PULL or PUSH that follows its reply, keep their
 *     receive context in rtgt_conn_faults.held, until a timer or another reply takes it.  Its
 *     receive is not posted meanwhile
 *   - reply-twice sends the reply from the receive context again, after a copy of it has been
 *     posted: it needs no send context more than any other reply
 *   - a REP that is delayed is one work item of the connection
 *
 * Nothing is added in CLOSING.  The teardown calls rtgt_fault_cancel_rep() before it
 * disconnects, and rtgt_fault_cancel() when it drains the QP, before its last marker.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "core/mem.h"
#include "main.h"
#include "proto/proto.h"
#include "registration/region.h"
#include "target/conn.h"
#include "target/fault.h"
#include "target/port.h"
#include "target/recv.h"
#include "target/send.h"
#include "target/service.h"
#include "target/setup.h"

/* How long reply-swap waits for another reply, in milliseconds */
#define RTGT_FAULT_SWAP_MS	1000

static_assert(RTGT_NR_FAULTS <= 64);

/* ------------------------------------------------------------------ rules */

void rtgt_faults_init(struct rtgt_port_faults *faults)
{
	spin_lock_init(&faults->lock);
}

/* Can connections of a port commit a fault, as the port is configured? */
static bool fault_supported(const struct rtgt_port *port, unsigned int fault)
{
	const struct rtgt_port_cfg *cfg = &port->cfg;
	bool rtgt = rtgt_service_speaks_rtgt(cfg->service);

	/* reply-twice: the address handle leaves the receive context with the first reply */
	if (cfg->transport == RTGT_UD)
		return rtgt && fault <= RTGT_FAULT_REGION_BIT && fault != RTGT_FAULT_REPLY_TWICE;
	if (fault < RTGT_FAULT_SERVICE || fault == RTGT_FAULT_QP_SQD)
		return rtgt;
	if (fault <= RTGT_FAULT_REP_SHORT)
		return cfg->service->reply == rtgt_service_capability;
	return fault != RTGT_FAULT_RECV_NONE || !cfg->srq;
}

static void fault_set(struct rtgt_port_faults *faults, unsigned int fault,
		      const struct rtgt_fault_rule *rule)
{
	lockdep_assert_held(&faults->lock);
	faults->of[fault].rule = *rule;
	faults->of[fault].seen = 0;
	faults->of[fault].done = 0;
	WRITE_ONCE(faults->set, rule->every ? faults->set | BIT_ULL(fault) :
					      faults->set & ~BIT_ULL(fault));
}

/**
 * rtgt_faults_set() - set or end a fault of a port
 * @port: port; enabled or not.  The caller holds rtgt_port.config
 * @line: text for rtgt_fault_parse()
 *
 * A rule that is set anew counts from 0.
 * Return: 0; -EINVAL or -ERANGE as rtgt_fault_parse(); -EOPNOTSUPP if the service or the transport
 * of the port has no opportunity for the fault.
 */
int rtgt_faults_set(struct rtgt_port *port, const char *line)
{
	struct rtgt_port_faults *faults = &port->faults;
	char text[RTGT_FAULT_LINE_MAX];
	struct rtgt_fault_rule rule;
	unsigned int fault, i;
	int ret;

	lockdep_assert_held(&port->config);
	ret = rtgt_fault_parse(line, &fault, &rule);
	if (ret)
		return ret;
	if (rule.every && !fault_supported(port, fault))
		return -EOPNOTSUPP;
	spin_lock_irq(&faults->lock);
	for (i = 0; i < RTGT_NR_FAULTS; i++)
		if (i == fault || fault == RTGT_NR_FAULTS)
			fault_set(faults, i, &rule);
	spin_unlock_irq(&faults->lock);
	if (rule.every) {
		rtgt_fault_print(text, sizeof(text), fault, &rule);
		pr_info("%s: will misbehave: %s\n", port->name, text);
	}
	return 0;
}

/**
 * rtgt_faults_show() - print the faults of a port, a line each, with their counts
 * @port: port
 * @page: a page
 * Return: number of bytes printed.
 */
ssize_t rtgt_faults_show(struct rtgt_port *port, char *page)
{
	struct rtgt_port_faults *faults = &port->faults;
	char text[RTGT_FAULT_LINE_MAX];
	ssize_t len = 0;
	unsigned int i;

	spin_lock_irq(&faults->lock);
	for (i = 0; i < RTGT_NR_FAULTS; i++) {
		if (!faults->of[i].rule.every)
			continue;
		rtgt_fault_print(text, sizeof(text), i, &faults->of[i].rule);
		len += sysfs_emit_at(page, len, "%s seen %llu done %llu\n", text,
				     faults->of[i].seen, faults->of[i].done);
	}
	spin_unlock_irq(&faults->lock);
	return len;
}

/* Print the names of all faults after @len bytes of a page; returns its bytes. */
ssize_t rtgt_faults_features(char *page, ssize_t len)
{
	unsigned int i;

	for (i = 0; i < RTGT_NR_FAULTS; i++)
		len += sysfs_emit_at(page, len, "fault-%s\n", rtgt_fault_name(i));
	return len;
}

static bool fault_due(struct rtgt_port *port, unsigned int fault, u32 *ms)
{
	struct rtgt_port_faults *faults = &port->faults;
	bool due;

	lockdep_assert_held(&faults->lock);
	if (!(faults->set & BIT_ULL(fault)) || !fault_supported(port, fault))
		return false;
	due = rtgt_fault_due(&faults->of[fault].rule,
			     min_t(u64, faults->of[fault].seen++, U32_MAX));
	faults->of[fault].done += due;
	if (ms)
		*ms = faults->of[fault].rule.ms;
	return due;
}

/**
 * rtgt_fault_commit() - count an opportunity, and decide whether to commit the fault
 * @port: port
 * @fault: the fault
 * @ms: set to the milliseconds of its rule; may be NULL
 * Context: any.
 * Return: true if the caller must commit it.
 */
bool rtgt_fault_commit(struct rtgt_port *port, enum rtgt_fault fault, u32 *ms)
{
	unsigned long flags;
	bool due;

	spin_lock_irqsave(&port->faults.lock, flags);
	due = fault_due(port, fault, ms);
	spin_unlock_irqrestore(&port->faults.lock, flags);
	return due;
}

/* The device refused what the fault needs, so it was not committed. */
static void fault_undo(struct rtgt_port *port, enum rtgt_fault fault, int err)
{
	unsigned long flags;

	spin_lock_irqsave(&port->faults.lock, flags);
	if (port->faults.of[fault].done)
		port->faults.of[fault].done--;
	spin_unlock_irqrestore(&port->faults.lock, flags);
	pr_info_ratelimited("%s: %s: the device cannot: %d\n", port->name,
			    rtgt_fault_name(fault), err);
}

/* ------------------------------------------------------- what is held: replies */

/* Let the timer expire when a held receive context is due, if not before. */
static void fault_arm(struct rtgt_conn *conn, const struct rtgt_recv_ctx *recv)
{
	struct timer_list *timer = &conn->faults.timer;

	lockdep_assert_held(&conn->lock);
	if (!timer_pending(timer) || time_before(recv->due, timer->expires))
		mod_timer(timer, recv->due);
}

/* Hold a receive context for a time, or drop it if the connection is closing. */
static void fault_hold(struct rtgt_recv_ctx *recv, u32 ms)
{
	struct rtgt_conn *conn = recv->conn;
	unsigned long flags;
	bool open;

	spin_lock_irqsave(&conn->lock, flags);
	open = conn->state != RTGT_CONN_CLOSING;
	if (open) {
		recv->due = jiffies + msecs_to_jiffies(ms);
		list_add_tail(&recv->entry, &conn->faults.held);
		fault_arm(conn, recv);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	if (!open)
		rtgt_recv_drop(recv);
}

/* Go on with a held receive context: move-late transfers, the others reply. */
static void fault_go_on(struct rtgt_recv_ctx *recv)
{
	/* not in the order of the completions: rtgt_conn.send_chain is theirs */
	recv->worker = true;
	recv->faults &= ~RTGT_FAULT_DO_SWAP;
	if (recv->faults & RTGT_FAULT_DO_REPLIED)
		rtgt_recv_defer(recv);
	else
		rtgt_send(recv, recv->reply_len);
}

/* rtgt_fault_cancel() waits for this. */
static void fault_timer(struct timer_list *timer)
{
	struct rtgt_conn *conn = container_of(timer, struct rtgt_conn, faults.timer);
	struct rtgt_recv_ctx *recv, *next;
	unsigned long flags;
	LIST_HEAD(due);

	spin_lock_irqsave(&conn->lock, flags);
	list_for_each_entry_safe(recv, next, &conn->faults.held, entry) {
		if (time_after_eq(jiffies, recv->due))
			list_move_tail(&recv->entry, &due);
		else if (conn->state != RTGT_CONN_CLOSING)
			fault_arm(conn, recv);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	list_for_each_entry_safe(recv, next, &due, entry) {
		list_del(&recv->entry);
		fault_go_on(recv);
	}
}

/* Take the reply that reply-swap holds, or return NULL. */
static struct rtgt_recv_ctx *fault_take_swapped(struct rtgt_conn *conn)
{
	struct rtgt_recv_ctx *recv, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	list_for_each_entry(recv, &conn->faults.held, entry) {
		if (recv->faults & RTGT_FAULT_DO_SWAP) {
			list_del(&recv->entry);
			found = recv;
			break;
		}
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	return found;
}

/* End a request without a reply, unless its transfer is still to come. */
static void fault_drop(struct rtgt_recv_ctx *recv)
{
	if (recv->faults & RTGT_FAULT_DO_LATE)
		rtgt_fault_sent(recv);
	else
		rtgt_recv_release(recv);
}

/* Change the bytes of a reply; returns how many are left. */
static u32 fault_bytes(struct rtgt_recv_ctx *recv, u32 len)
{
	struct rtgt_conn *conn = recv->conn;
	struct rtgt_port *port = conn->port;
	struct rtgt_fault_stale old;
	void *msg = rtgt_recv_msg(recv);
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&port->faults.lock, flags);
	old = conn->faults.stale;
	if (port->faults.set & BIT_ULL(RTGT_FAULT_REPLY_STALE))
		rtgt_fault_keep(&conn->faults.stale, msg, len);
	for (i = 0; i < RTGT_FAULT_SERVICE; i++)
		if (i >= RTGT_FAULT_REPLY_TAG &&
		    (i <= RTGT_FAULT_REPLY_STALE || i >= RTGT_FAULT_CAP_RKEY) &&
		    rtgt_fault_reply_fits(i, msg, len, conn->recv_size, &old) &&
		    fault_due(port, i, NULL))
			len = rtgt_fault_reply(i, msg, len, conn->recv_size, &old);
	spin_unlock_irqrestore(&port->faults.lock, flags);
	return len;
}

/**
 * rtgt_fault_send() - send a reply, with the faults that are due
 * @recv: as for rtgt_send()
 * @len: as for rtgt_send(); at least the header of a message
 *
 * A reply that reply-swap holds follows the next one.  If there is none for RTGT_FAULT_SWAP_MS, it
 * is sent alone.  Any context.
 */
void rtgt_fault_send(struct rtgt_recv_ctx *recv, u32 len)
{
	struct rtgt_conn *conn = recv->conn;
	struct rtgt_port *port = conn->port;
	struct rtgt_recv_ctx *swapped;
	u32 ms;

	if (rtgt_fault_commit(port, RTGT_FAULT_REPLY_DROP, NULL)) {
		fault_drop(recv);
		return;
	}
	len = fault_bytes(recv, len);
	recv->reply_len = len;
	recv->reply_inv = false;
	if (rtgt_fault_commit(port, RTGT_FAULT_REPLY_TWICE, NULL))
		recv->faults |= RTGT_FAULT_DO_COPY;
	if (rtgt_fault_commit(port, RTGT_FAULT_REPLY_DELAY, &ms)) {
		fault_hold(recv, ms);
		return;
	}
	swapped = fault_take_swapped(conn);
	if (!swapped && rtgt_fault_commit(port, RTGT_FAULT_REPLY_SWAP, NULL)) {
		recv->faults |= RTGT_FAULT_DO_SWAP;
		fault_hold(recv, RTGT_FAULT_SWAP_MS);
		return;
	}
	rtgt_send(recv, len);
	if (swapped)
		fault_go_on(swapped);
}

/**
 * rtgt_fault_sent() - go on with a receive context that was kept when its reply was posted
 * @recv: owned by the caller; reply-twice or move-late
 * Context: any.
 */
void rtgt_fault_sent(struct rtgt_recv_ctx *recv)
{
	if (READ_ONCE(recv->conn->state) == RTGT_CONN_CLOSING) {
		rtgt_recv_drop(recv);
	} else if (recv->faults & RTGT_FAULT_DO_COPY) {
		recv->faults &= ~RTGT_FAULT_DO_COPY;
		rtgt_send(recv, recv->reply_len);
	} else {
		recv->faults &= ~RTGT_FAULT_DO_LATE;
		recv->faults |= RTGT_FAULT_DO_REPLIED;
		fault_hold(recv, recv->late_ms);
	}
}

/* -------------------------------------------------------------------- requests */

/**
 * rtgt_fault_flip() - flip a bit in the first byte of the range of a CHECKSUM
 * @recv: owned by the caller, a worker; the range is synced for the CPU
 */
void rtgt_fault_flip(struct rtgt_recv_ctx *recv)
{
	struct rtgt_domain *dom = recv->conn->domain;
	const struct rtgt_request *rq = &recv->rq;
	size_t here;
	u8 *at;

	recv->faults &= ~RTGT_FAULT_DO_FLIP;
	at = rtgt_mem_at(dom->map[rq->region].mem, rq->offset, 1, &here);
	*at ^= 1;
	rtgt_map_sync_for_device(dom, rq->region, rq->offset, 1);
}

/**
 * rtgt_fault_move() - have a PULL or PUSH of at least one byte meet the faults that are due
 * @recv: owned by the caller, until this returns true
 * Context: any.
 * Return: true if the request goes on without the caller.
 */
bool rtgt_fault_move(struct rtgt_recv_ctx *recv)
{
	const struct rtgt_domain *dom = recv->conn->domain;
	struct rtgt_port *port = recv->conn->port;
	struct rtgt_request *rq = &recv->rq;
	u64 offset = rq->offset;

	if (rtgt_fault_commit(port, RTGT_FAULT_MOVE_NEVER, NULL)) {
		rtgt_reply(recv, RTGT_OK, 0);
		return true;
	}
	if (rtgt_fault_range(&offset, rq->count, dom->map[rq->region].mem->size) &&
	    rtgt_fault_commit(port, RTGT_FAULT_MOVE_RANGE, NULL))
		rq->offset = offset;
	recv->count = rq->count;
	if (rtgt_fault_commit(port, RTGT_FAULT_MOVE_TWICE, NULL))
		recv->faults |= RTGT_FAULT_DO_AGAIN;
	if (!rtgt_fault_commit(port, RTGT_FAULT_MOVE_LATE, &recv->late_ms))
		return false;
	recv->faults |= RTGT_FAULT_DO_LATE;
	rtgt_reply(recv, RTGT_OK, 0);
	return true;
}

/**
 * rtgt_fault_moved() - go on with a PULL or PUSH whose last byte was moved, or whose posting failed
 * @recv: owned by the caller, until this returns true; rtgt_recv_ctx.faults is not 0
 * Context: any.
 * Return: true if the request goes on, or has ended, without the caller.
 */
bool rtgt_fault_moved(struct rtgt_recv_ctx *recv)
{
	struct rtgt_request *rq = &recv->rq;

	if (recv->faults & RTGT_FAULT_DO_AGAIN && !rq->count) {
		recv->faults &= ~RTGT_FAULT_DO_AGAIN;
		rq->count = recv->count;
		rq->offset -= recv->count;
		rq->addr -= recv->count;
		rtgt_recv_defer(recv);
		return true;
	}
	if (!(recv->faults & RTGT_FAULT_DO_REPLIED))
		return false;
	rtgt_recv_release(recv);
	return true;
}

/**
 * rtgt_fault_arrival() - have a message or an immediate meet the faults of a connection
 * @recv: owned by the caller, until this returns true
 * @imm: it is an immediate
 * Context: any.
 * Return: true if the message goes on without the caller.
 */
bool rtgt_fault_arrival(struct rtgt_recv_ctx *recv, bool imm)
{
	struct rtgt_conn *conn = recv->conn;

	if (rtgt_fault_commit(conn->port, RTGT_FAULT_DISCONNECT, NULL)) {
		rtgt_recv_release(recv);
		rtgt_conn_close(conn, rtgt_fault_name(RTGT_FAULT_DISCONNECT));
		return true;
	}
	if (rtgt_fault_commit(conn->port, RTGT_FAULT_QP_ERR, NULL))
		recv->faults |= RTGT_FAULT_DO_ERR;
	else if (rtgt_fault_commit(conn->port, RTGT_FAULT_QP_SQD, NULL))
		recv->faults |= RTGT_FAULT_DO_SQD;
	else
		return false;
	if (imm)
		recv->faults |= RTGT_FAULT_DO_IMM;
	/* ib_modify_qp() may sleep */
	rtgt_recv_defer(recv);
	return true;
}

/**
 * rtgt_fault_work() - move the QP to ERR or SQD, as rtgt_fault_arrival() decided
 * @recv: owned by the caller, a worker; RTGT_FAULT_DO_ERR or RTGT_FAULT_DO_SQD
 *
 * In ERR the message is not served.  What is flushed closes the connection: receives, but with an
 * SRQ, or a reply; or the peer does.  In SQD the message is served, but the QP sends no reply.
 * Context: may sleep.
 */
void rtgt_fault_work(struct rtgt_recv_ctx *recv)
{
	bool imm = recv->faults & RTGT_FAULT_DO_IMM, err = recv->faults & RTGT_FAULT_DO_ERR;
	struct ib_qp_attr attr = { .qp_state = err ? IB_QPS_ERR : IB_QPS_SQD };
	struct rtgt_conn *conn = recv->conn;
	int ret;

	recv->faults = 0;
	ret = ib_modify_qp(conn->qp, &attr, IB_QP_STATE);
	if (ret)
		fault_undo(conn->port, err ? RTGT_FAULT_QP_ERR : RTGT_FAULT_QP_SQD, ret);
	if (err)
		rtgt_recv_release(recv);
	else if (imm)
		conn->port->cfg.service->imm(recv);
	else
		conn->port->cfg.service->message(recv);
}

/* ------------------------------------------------------------------ connections */

/* The REP of rep-delay */
struct rtgt_fault_rep {
	struct delayed_work work;	/* sends it */
	struct rtgt_conn *conn;
	struct rdma_conn_param param;	/* its private data is @priv */
	u8 priv[RTGT_REP_MAX];
};

/* Reject a REQ that the service accepts?  Returns the rtgt_rej_reason and sets @arg, or 0. */
u32 rtgt_fault_reject(struct rtgt_port *port, u32 *arg)
{
	unsigned int i;

	for (i = RTGT_FAULT_REJ_VERSION; i <= RTGT_FAULT_REJ_ASK; i++)
		if (rtgt_fault_commit(port, i, NULL))
			return rtgt_fault_rej(i, arg);
	return 0;
}

/* rtgt_fault_cancel_rep() waits for this. */
static void fault_rep_work(struct work_struct *work)
{
	struct rtgt_fault_rep *rep = container_of(work, struct rtgt_fault_rep, work.work);
	int ret;

	if (READ_ONCE(rep->conn->state) != RTGT_CONN_CONNECTING)
		return;
	ret = rtgt_conn_send_rep(rep->conn, &rep->param);
	if (ret)
		rtgt_conn_not_accepted(rep->conn, ret);
}

static bool fault_delay_rep(struct rtgt_conn *conn, const struct rdma_conn_param *param, u32 ms)
{
	struct rtgt_fault_rep *rep = kzalloc(sizeof(*rep), GFP_KERNEL);

	if (!rep) {
		fault_undo(conn->port, RTGT_FAULT_REP_DELAY, -ENOMEM);
		return false;
	}
	INIT_DELAYED_WORK(&rep->work, fault_rep_work);
	rep->conn = conn;
	rep->param = *param;
	rep->param.private_data = rep->priv;
	memcpy(rep->priv, param->private_data, param->private_data_len);
	conn->faults.rep = rep;
	queue_delayed_work(rtgt_conn_wq, &rep->work, msecs_to_jiffies(ms));
	return true;
}

/**
 * rtgt_fault_accept() - have a REP meet the faults that are due
 * @conn: connection whose set-up is in progress
 * @param: parameters of the REP; the length of the private data may change
 * @priv: the private data, which may change
 * Context: may sleep.
 * Return: true if the caller must not send it: a worker will, or nothing.
 */
bool rtgt_fault_accept(struct rtgt_conn *conn, struct rdma_conn_param *param, void *priv)
{
	struct rtgt_port *port = conn->port;
	u32 len = param->private_data_len, ms;
	unsigned int i;

	if (rtgt_fault_commit(port, RTGT_FAULT_REP_NEVER, NULL))
		return true;
	for (i = RTGT_FAULT_REP_RKEY; i <= RTGT_FAULT_REP_SHORT; i++)
		if (rtgt_fault_rep_fits(i, priv, len) && rtgt_fault_commit(port, i, NULL))
			len = rtgt_fault_rep(i, priv, len);
	param->private_data_len = len;
	conn->faults.deaf = rtgt_fault_commit(port, RTGT_FAULT_RTU_IGNORE, NULL);
	return rtgt_fault_commit(port, RTGT_FAULT_REP_DELAY, &ms) &&
	       fault_delay_rep(conn, param, ms);
}

void rtgt_fault_conn_init(struct rtgt_conn *conn)
{
	INIT_LIST_HEAD(&conn->faults.held);
	timer_setup(&conn->faults.timer, fault_timer, 0);
}

/* Cancel the REP of rep-delay of a connection in CLOSING, whose cm_id still exists.  May sleep. */
void rtgt_fault_cancel_rep(struct rtgt_conn *conn)
{
	if (!conn->faults.rep)
		return;
	cancel_delayed_work_sync(&conn->faults.rep->work);
	kfree(conn->faults.rep);
	conn->faults.rep = NULL;
}

/* Drop the requests that faults hold of a connection in CLOSING.  May sleep. */
void rtgt_fault_cancel(struct rtgt_conn *conn)
{
	timer_delete_sync(&conn->faults.timer);
	rtgt_recv_drop_all(&conn->faults.held);
}
