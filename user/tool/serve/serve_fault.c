// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: faults that it commits on demand (--fault), to test initiators.
 *
 * kmod/proto/faults.c has the names, the rules, and what a fault does to the bytes of a reply or
 * of a REP; the kernel's target has the same faults.  This file decides when a fault is due and
 * does the rest: what is not sent, sent late, or done to memory and queue pairs.  All functions
 * are called by the loop's thread, from the place where the opportunity arises, and return
 * without effect if no fault is due.
 *
 * A reply or a REP that is late waits in the server's list of delayed contexts; the loop runs
 * serve_fault_run().
 */
#include <string.h>

#include "serve.h"

/* How long reply-swap waits for another reply, as the kernel's target */
#define SWAP_MS	1000

/* Events at which faults can be due */
static const char *const opportunities[] = {
	"reply", "checksum", "move", "capability", "rep", "request", "connection", "message",
};

/* The event at which a fault can be due, as an index in opportunities[] */
static unsigned int opportunity_of(unsigned int fault)
{
	static const unsigned int first[] = {
		RTGT_FAULT_REPLY_DROP, RTGT_FAULT_REGION_BIT, RTGT_FAULT_MOVE_RANGE,
		RTGT_FAULT_CAP_RKEY, RTGT_FAULT_REP_RKEY, RTGT_FAULT_REJ_VERSION,
		RTGT_FAULT_RECV_NONE, RTGT_FAULT_DISCONNECT,
	};
	unsigned int i = sizeof(first) / sizeof(first[0]) - 1;

	while (fault < first[i])
		i--;
	return i;
}

/* The list of faults, a line each: name, opportunity, whether it takes "ms", what it does */
void serve_fault_list(FILE *to)
{
	for (unsigned int f = 0; f < RTGT_NR_FAULTS; f++)
		fprintf(to, "%-14s %-10s %-2s %s\n", rtgt_fault_name(f),
			opportunities[opportunity_of(f)], rtgt_fault_has_ms(f) ? "ms" : "-",
			rtgt_fault_about(f));
}

/* The faults that are set, as the kernel's target prints them */
void serve_fault_print(const struct server *s, FILE *to)
{
	char line[RTGT_FAULT_LINE_MAX];

	for (unsigned int f = 0; f < RTGT_NR_FAULTS; f++) {
		const struct serve_fault *fault = &s->cfg.fault[f];

		if (!fault->rule.every)
			continue;
		rtgt_fault_print(line, sizeof(line), f, &fault->rule);
		fprintf(to, "%s seen %u done %u\n", line, fault->seen, fault->done);
	}
}

/* An opportunity of a fault: is it due? */
static bool due(struct server *s, unsigned int f)
{
	struct serve_fault *fault = &s->cfg.fault[f];

	if (!fault->rule.every)
		return false;
	s->dirty = true;
	if (!rtgt_fault_due(&fault->rule, fault->seen++))
		return false;
	fault->done++;
	return true;
}

static uint32_t ms_of(const struct server *s, unsigned int f)
{
	return s->cfg.fault[f].rule.ms;
}

/* It was due and could not be committed after all */
static void undone(struct server *s, unsigned int f)
{
	s->cfg.fault[f].done--;
}

/* -------------------------------------------------------------------------- delays */

/* Have the loop run @then in @ms milliseconds */
static void delay(struct serve_recv *recv, uint32_t ms, void (*then)(struct serve_recv *recv))
{
	struct server *s = recv->conn->s;
	struct serve_recv *before = TAILQ_LAST(&s->delayed, serve_recvs);

	recv->due_ns = rtgt_now_ns() + ms * UINT64_C(1000000);
	recv->then = then;
	serve_recv_move(recv, NULL);
	recv->list = &s->delayed;
	while (before && before->due_ns > recv->due_ns)
		before = TAILQ_PREV(before, serve_recvs, entry);
	if (before)
		TAILQ_INSERT_AFTER(&s->delayed, before, recv, entry);
	else
		TAILQ_INSERT_HEAD(&s->delayed, recv, entry);
}

/* Run what is delayed no longer */
void serve_fault_run(struct server *s)
{
	struct serve_recv *recv;

	while ((recv = TAILQ_FIRST(&s->delayed)) && recv->due_ns <= rtgt_now_ns()) {
		serve_recv_move(recv, NULL);
		recv->then(recv);
	}
}

/* ------------------------------------------------------------------------- replies */

/* Change the bytes of a reply; returns how many there are now */
static uint32_t tamper(struct serve_conn *c, void *buf, uint32_t len)
{
	static const unsigned int all[] = {
		RTGT_FAULT_REPLY_TAG, RTGT_FAULT_REPLY_OP, RTGT_FAULT_REPLY_LEN,
		RTGT_FAULT_REPLY_SHORT, RTGT_FAULT_REPLY_LONG, RTGT_FAULT_REPLY_STATUS,
		RTGT_FAULT_REPLY_BIT, RTGT_FAULT_REPLY_STALE, RTGT_FAULT_CAP_RKEY,
		RTGT_FAULT_CAP_ADDR, RTGT_FAULT_CAP_LEN,
	};
	const struct rtgt_fault_stale stale = c->stale;
	struct server *s = c->s;

	rtgt_fault_keep(&c->stale, buf, len);
	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (s->cfg.fault[all[i]].rule.every &&
		    rtgt_fault_reply_fits(all[i], buf, len, c->recv_size, &stale) &&
		    due(s, all[i]))
			len = rtgt_fault_reply(all[i], buf, len, c->recv_size, &stale);
	return len;
}

static void send_late(struct serve_recv *recv)
{
	if (recv->conn->swapped == recv)
		recv->conn->swapped = NULL;
	serve_reply_send(recv, recv->len);
}

/*
 * A reply of @len bytes, its header included, is ready.  Returns the bytes to send, or 0 if it is
 * not to be sent now.
 */
uint32_t serve_fault_reply(struct serve_recv *recv, uint32_t len)
{
	struct serve_conn *c = recv->conn;
	struct server *s = c->s;

	len = tamper(c, recv->buf, len);
	if (due(s, RTGT_FAULT_REPLY_DROP)) {
		if (recv->later_ms)
			recv->pool->withheld--;
		recv->later_ms = 0;
		serve_recv_done(recv);
		return 0;
	}
	recv->len = len;
	if (due(s, RTGT_FAULT_REPLY_DELAY)) {
		delay(recv, ms_of(s, RTGT_FAULT_REPLY_DELAY), send_late);
		return 0;
	}
	if (!c->swapped && due(s, RTGT_FAULT_REPLY_SWAP)) {
		c->swapped = recv;
		delay(recv, SWAP_MS, send_late);
		return 0;
	}
	recv->twice = due(s, RTGT_FAULT_REPLY_TWICE);
	return len;
}

/* ------------------------------------------------------------------------ requests */

/* A CHECKSUM of these bytes is to be computed */
void serve_fault_checksum(struct server *s, uint8_t *bytes, uint64_t len)
{
	if (len && due(s, RTGT_FAULT_REGION_BIT))
		bytes[len / 2] ^= 1;
}

/* The same transfer in a context of its own, which nothing follows; NULL if none is free */
static struct serve_recv *copy_of(struct serve_recv *recv)
{
	struct serve_recv *copy = TAILQ_FIRST(&recv->pool->free);

	if (!copy)
		return NULL;
	serve_recv_move(copy, NULL);
	copy->conn = recv->conn;
	copy->rq = recv->rq;
	copy->silent = true;
	return copy;
}

/*
 * A PULL or a PUSH is to be executed by @step, which changes recv->rq as it goes.  Returns true if
 * the reply is to be sent now, instead.
 */
bool serve_fault_move(struct serve_recv *recv, uint64_t size, void (*step)(struct serve_recv *recv))
{
	struct server *s = recv->conn->s;
	struct rtgt_request *rq = &recv->rq;
	uint64_t offset = rq->offset;
	struct serve_recv *copy;

	if (!rq->count)
		return false;
	if (rtgt_fault_range(&offset, rq->count, size) && due(s, RTGT_FAULT_MOVE_RANGE))
		rq->offset = offset;
	if (due(s, RTGT_FAULT_MOVE_TWICE)) {
		copy = copy_of(recv);
		if (copy)
			step(copy);
		else
			undone(s, RTGT_FAULT_MOVE_TWICE);
	}
	if (due(s, RTGT_FAULT_MOVE_NEVER))
		return true;
	if (!due(s, RTGT_FAULT_MOVE_LATE))
		return false;
	copy = copy_of(recv);
	if (!copy) {
		undone(s, RTGT_FAULT_MOVE_LATE);
		return false;
	}
	delay(copy, ms_of(s, RTGT_FAULT_MOVE_LATE), step);
	return true;
}

/* --------------------------------------------------------------------- connections */

/* A REQ could be accepted: the reason to reject it with, or 0 */
uint32_t serve_fault_request(struct server *s, uint32_t *arg)
{
	for (unsigned int f = RTGT_FAULT_REJ_VERSION; f <= RTGT_FAULT_REJ_ASK; f++)
		if (due(s, f))
			return rtgt_fault_rej(f, arg);
	return 0;
}

/* A REP is ready: how many bytes it has, or 0 if none is to be sent */
uint32_t serve_fault_rep(struct serve_conn *c, void *priv, uint32_t len)
{
	struct server *s = c->s;

	if (due(s, RTGT_FAULT_REP_NEVER))
		return 0;
	for (unsigned int f = RTGT_FAULT_REP_RKEY; f <= RTGT_FAULT_REP_SHORT; f++)
		if (s->cfg.fault[f].rule.every && rtgt_fault_rep_fits(f, priv, len) && due(s, f))
			len = rtgt_fault_rep(f, priv, len);
	c->ignored = due(s, RTGT_FAULT_RTU_IGNORE);
	return len;
}

/* A REP is about to be made: true if @then is to make it later */
bool serve_fault_accept(struct serve_conn *c, void (*then)(struct serve_recv *recv))
{
	struct serve_recv *recv = TAILQ_FIRST(c->own ? &c->own->free : &c->pool->free);

	if (!recv || !due(c->s, RTGT_FAULT_REP_DELAY))
		return false;
	recv->conn = c;
	delay(recv, ms_of(c->s, RTGT_FAULT_REP_DELAY), then);
	return true;
}

/* The first receives of a connection are to be posted: true if none are */
bool serve_fault_receives(struct serve_conn *c)
{
	return due(c->s, RTGT_FAULT_RECV_NONE);
}

/* The peer disconnects: true if that is ignored */
bool serve_fault_dreq(struct serve_conn *c)
{
	return due(c->s, RTGT_FAULT_DREQ_IGNORE);
}

static bool move_qp(struct serve_conn *c, unsigned int f, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	if (!due(c->s, f))
		return false;
	if (!ibv_modify_qp(c->qp, &attr, IBV_QP_STATE))
		return true;
	undone(c->s, f);
	return false;
}

/* A message or an immediate arrived: true if it is not to be served */
bool serve_fault_message(struct serve_conn *c)
{
	if (c->ignored)
		return true;
	if (due(c->s, RTGT_FAULT_DISCONNECT)) {
		serve_close(c, "the fault \"disconnect\"");
		return true;
	}
	move_qp(c, RTGT_FAULT_QP_SQD, IBV_QPS_SQD);
	return move_qp(c, RTGT_FAULT_QP_ERR, IBV_QPS_ERR);
}
