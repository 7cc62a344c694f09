// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events in their order, and whose an event of the trace is: of which queue pair, and of which
 * connection.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timeline.h"

/**
 * tl_event() - one more
 * @to: where
 * @end: who
 * @us: when
 *
 * Return: the event, to be filled in; without memory one that nobody reads, and
 * @to->no_memory is set.
 */
struct tl_event *tl_event(struct tl_events *to, enum tl_end end, int64_t us)
{
	static struct tl_event nowhere;
	struct tl_event *all = tl_grow(to->event, to->nr, &to->room, sizeof(*all));

	if (!all) {
		to->no_memory = true;
		return &nowhere;
	}
	to->event = all;
	all += to->nr;
	*all = (struct tl_event) { .us = us, .end = end, .stage = TL_OTHER, .order = to->nr++ };
	return all;
}

static int by_time(const void *a, const void *b)
{
	const struct tl_event *x = a, *y = b;

	if (x->us != y->us)
		return x->us < y->us ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void tl_sort(struct tl_events *e)
{
	if (e->nr)
		qsort(e->event, e->nr, sizeof(*e->event), by_time);
}

/**
 * tl_conn_at() - whose queue pair was this?
 * @t: with its capture read
 * @end: of the connection
 * @qpn: number of the queue pair there
 * @us: when
 *
 * Return: the latest connection that had begun by then and has this end on a device of the machine
 * that was traced; NULL if there is none.
 */
struct tl_conn *tl_conn_at(const struct timeline *t, unsigned int end, int64_t qpn, int64_t us)
{
	for (unsigned int i = t->conns; i--; )
		if (t->conn[i].has_qpn[end] && t->conn[i].qpn[end] == qpn &&
		    t->conn[i].device[end] && t->conn[i].from_us <= us)
			return &t->conn[i];
	return NULL;
}

/**
 * tl_qp_event() - is this what happens to queue pairs?
 * @l: line of the trace
 * @what: event, without the "_user" that it may end with
 *
 * Return: whether it is.
 */
bool tl_qp_event(const struct tl_line *l, const char *what)
{
	const size_t len = strlen(what);

	return !strncmp(l->event, what, len) &&
	       (!l->event[len] || !strcmp(l->event + len, "_user"));
}

/**
 * tl_qp_at() - the queue pair of a number that lives
 * @t: its trace is read as far as @us
 * @device: of this machine
 * @qpn: its number
 * @us: when
 *
 * Return: the queue pair, until the next one is noted; NULL if there is none.
 */
struct tl_qp *tl_qp_at(const struct timeline *t, const char *device, int64_t qpn, int64_t us)
{
	for (unsigned int i = t->qps; i--; ) {
		struct tl_qp *q = &t->qp[i];

		if (q->qpn == qpn && !strcmp(q->device, device) && q->from_us <= us &&
		    q->to_us >= us)
			return q;
	}
	return NULL;
}

/**
 * tl_qp_is() - did this happen to that queue pair?
 * @l: line of the trace
 * @q: queue pair
 *
 * Return: whether it is an event of the recorder's probes, and names the queue pair.
 */
bool tl_qp_is(const struct tl_line *l, const struct tl_qp *q)
{
	char device[TL_NAME];
	int64_t qpn;

	return l->us >= q->from_us && l->us <= q->to_us && !strncmp(l->event, "rtgt_", 5) &&
	       tl_number(l->rest, "qpn", &qpn) && qpn == q->qpn &&
	       tl_text(l->rest, "dev", device, sizeof(device)) && !strcmp(device, q->device) &&
	       (!strncmp(l->event, "rtgt_qp_", 8) || !strncmp(l->event, "rtgt_siw_", 9));
}

/**
 * tl_conn_named() - the connection between two ends
 * @t: with its capture read
 * @local: an address with port, as rdma_cma's events spell it
 * @remote: the other one
 * @end: set to which end @local is
 *
 * Return: the first one that rdma_cm has not forgotten at that end; NULL if there is none.
 */
struct tl_conn *tl_conn_named(const struct timeline *t, const char *local, const char *remote,
			      unsigned int *end)
{
	for (unsigned int i = 0; i < t->conns; i++) {
		struct tl_conn *c = &t->conn[i];

		for (*end = 0; *end < 2; ++*end)
			if (c->name[0][0] && !c->gone[*end] && !strcmp(c->name[*end], local) &&
			    !strcmp(c->name[!*end], remote))
				return c;
	}
	return NULL;
}

/**
 * tl_iwarp_name() - an end of a connection with its TCP port
 * @c: of the capture
 * @end: which
 * @addr: its address as text
 * @buf: filled in, as rdma_cma's events spell it
 * @size: of @buf
 */
void tl_iwarp_name(const struct flow_conn *c, unsigned int end, const char *addr, char *buf,
		   size_t size)
{
	snprintf(buf, size, c->end[end].ip_version == 6 ? "[%s]:%u" : "%s:%u", addr,
		 c->end[end].qpn & 0xffff);
}
