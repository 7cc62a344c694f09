// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt explain: which packets are printed: those of one connection, queue pair or message, or of
 * the connections on which something failed.
 *
 * What failed is known when a message or a connection ends, and the server's queue pair behind the
 * REQ.  So --failed reads the file twice, and --qp if it is one: the numbers that the flow gives to
 * connections are the same each time.
 */
#include <errno.h>
#include <stdlib.h>

#include "libwire/capture.h"
#include "tool/cli/interrupt.h"
#include "explain.h"

static bool has_qp(const struct explain_select *s, const struct flow_conn *c)
{
	return !s->has_qp || c->end[0].qpn == s->qp || c->end[1].qpn == s->qp;
}

/* Connections that are asked for; more are in the next power of two */
static void note(struct explain_select *s, const struct flow_conn *c)
{
	uint64_t *more;

	if (!has_qp(s, c) || (s->nr && s->conns[s->nr - 1] == c->id))
		return;
	if (!(s->nr & (s->nr - 1))) {
		more = reallocarray(s->conns, s->nr ? 2 * s->nr : 1, sizeof(*more));
		if (!more) {
			s->lost = true;
			return;
		}
		s->conns = more;
	}
	s->conns[s->nr++] = c->id;
}

static void message(void *arg, const struct flow_conn *c, const struct flow_msg *m)
{
	struct explain_select *s = arg;

	if (m->status == FLOW_NAK || m->status == FLOW_TERMINATED ||
	    (m->status == FLOW_UNANSWERED && !c->forgotten && flow_is_lost(c, m, s->last_ns)))
		note(s, c);
}

static void connection(void *arg, const struct flow_conn *c)
{
	struct explain_select *s = arg;

	if (!s->failed || c->rej || c->terminate ||
	    (c->req && !c->rtu && !c->data && c->repeated_steps))
		note(s, c);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int read_once(struct capture *c, struct explain_select *s, uint64_t limit,
		     struct rtgt_err *err)
{
	static const struct flow_ops ops = { .message = message, .connection = connection };
	struct flow *flow = flow_new(&ops, s, 0, 0);
	struct iwarp *iwarp = iwarp_new();
	uint64_t packets = 0;
	struct flow_seen seen;
	struct pkt p;
	int ret = flow && iwarp ? 0 : rtgt_fail(err, ENOMEM, "no memory");

	while (!ret && packets++ != (limit ? limit : UINT64_MAX) && !interrupted &&
	       capture_next(c, &p, err) == 1) {
		const struct pkt *inner = NULL;
		unsigned int nr = 0;

		if (p.kind == PKT_TCP_SEGMENT)
			inner = iwarp_feed(iwarp, &p, &nr);
		if (p.ns > s->last_ns)
			s->last_ns = p.ns;
		flow_packet(flow, &p, &seen);
		for (unsigned int i = 0; i < nr; i++)
			flow_packet(flow, &inner[i], &seen);
	}
	if (!ret)
		flow_end(flow);
	flow_free(flow);
	iwarp_free(iwarp);
	return !ret && s->lost ? rtgt_fail(err, ENOMEM, "no memory") : ret;
}

/**
 * explain_find() - find the connections of a queue pair, or on which something failed
 * @s: gets them
 * @path: of the capture
 * @filter: as for the second time
 * @limit: packets to look at; 0: all
 * @err: filled in when not 0 is returned
 *
 * Return: 0, or a negative errno.  Of a damaged capture what comes before the damage counts.
 */
int explain_find(struct explain_select *s, const char *path, const char *filter, uint64_t limit,
		 struct rtgt_err *err)
{
	struct capture *c;
	int ret = capture_open_file(&c, path, err);

	s->twice = true;
	if (ret)
		return ret;
	if (filter)
		ret = capture_filter(c, filter, err);
	if (!ret)
		ret = read_once(c, s, limit, err);
	capture_close(c);
	if (s->nr)
		qsort(s->conns, s->nr, sizeof(*s->conns), by_number);
	return ret;
}

/* A connection, or none; what is not asked for does not count */
static bool has_conn(const struct explain_select *s, const struct flow_conn *c)
{
	if (s->conn && c->id != s->conn)
		return false;
	if (!s->twice)
		return has_qp(s, c);
	return s->nr && bsearch(&c->id, s->conns, s->nr, sizeof(c->id), by_number);
}

/**
 * explain_selects() - is a packet asked for, or an object?
 * @s: what is asked for
 * @c: its connection; NULL: it has none
 * @m: its message; NULL likewise
 */
bool explain_selects(const struct explain_select *s, const struct flow_conn *c,
		     const struct flow_msg *m)
{
	if (!s->any)
		return true;
	return c && has_conn(s, c) && (!s->message || (m && m->id == s->message));
}
