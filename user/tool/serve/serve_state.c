// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: the states of a connection, and what the loop waits for.
 *
 * A state only moves forwards.  Whoever learns that a connection is established, or ends, says so
 * here, from wherever that is: it is noted and counted, and the loop does what follows from it.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "serve.h"

/* ------------------------------------------------------------------------ the loop */

/* Have the loop run @source when there is something to read; it outlives the watching */
int serve_watch(struct server *s, int fd, struct serve_source *source)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = source };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/* Likewise when nothing is to be run any more; it need not have been watched */
void serve_unwatch(struct server *s, int fd)
{
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, fd, NULL);
}

/* The server cannot go on; cmd_serve() prints the first reason */
void serve_fail(struct server *s, int code, const char *text)
{
	if (!s->err.code)
		rtgt_fail(&s->err, code, "%s", text);
	s->stop = true;
}

/* --------------------------------------------------------------------- connections */

/* The peer knows, or, of an endpoint, peers may come to know */
void serve_established(struct serve_conn *c)
{
	if (c->state != SERVE_CONNECTING)
		return;
	c->state = SERVE_LIVE;
	if (c->s->cfg.idle_ms && c->cm_id) {
		c->timed = true;
		c->active_ns = rtgt_now_ns();
		TAILQ_INSERT_TAIL(&c->s->timed, c, timed_entry);
	}
	serve_count(c->s, RTGT_CONNS_ESTABLISHED, 1);
	serve_say(c->s, "connection %u from %s on %s: established, QP %u", c->id, c->peer,
		  ibv_get_device_name(c->dev->verbs->device), c->qp->qp_num);
}

/* Something was received from it, or a transfer has ended: its time begins anew */
void serve_active(struct serve_conn *c)
{
	if (!c->timed)
		return;
	c->active_ns = rtgt_now_ns();
	TAILQ_REMOVE(&c->s->timed, c, timed_entry);
	TAILQ_INSERT_TAIL(&c->s->timed, c, timed_entry);
}

/* All ends come here; only the first does something.  @why is a constant string */
void serve_close(struct serve_conn *c, const char *why)
{
	if (c->state == SERVE_CLOSING)
		return;
	c->state = SERVE_CLOSING;
	c->why = why;
	c->s->dirty = true;
	if (c->timed)
		TAILQ_REMOVE(&c->s->timed, c, timed_entry);
	c->timed = false;
	if (c->failing)
		TAILQ_REMOVE(&c->s->failing, c, failing_entry);
	TAILQ_INSERT_TAIL(&c->s->dying, c, dying_entry);
}

/* The device moved the queue pair to error */
void serve_qp_failed(struct serve_conn *c, const char *why)
{
	if (c->state != SERVE_CLOSING)
		serve_count(c->s, RTGT_QP_ERRORS, 1);
	serve_close(c, c->failing ? c->failing : why);
}

/*
 * The device refuses what the peer did, and will move the queue pair to error.  It may say so
 * before it sends the NAK, and sends none once the queue pair is in error.  So the connection
 * stays open until the device flushes a receive or reports by an event that the queue pair is in
 * error, for SERVE_NAK_NS at most.
 */
void serve_qp_failing(struct serve_conn *c, const char *why)
{
	if (c->state == SERVE_CLOSING || c->failing)
		return;
	c->failing = why;
	c->failing_ns = rtgt_now_ns();
	TAILQ_INSERT_TAIL(&c->s->failing, c, failing_entry);
}

/* The last completion there can be of its queue pair has come */
void serve_drained(struct serve_conn *c)
{
	TAILQ_INSERT_TAIL(&c->s->dying, c, dying_entry);
}
