// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A timeline as tables: when, how long after what is above, who, what.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "timeline.h"

const char *tl_end_name(enum tl_end end)
{
	static const char *const name[] = { "client", "target", "wire" };

	return name[end];
}

static void print_events(const struct timeline *t, const struct tl_events *e)
{
	const int64_t zero = tl_wire_us(t, t->first_ns);

	printf("%12s %10s  %-6s  %s\n", "time us", "+ us", "who", "what");
	for (unsigned int i = 0; i < e->nr; i++) {
		const struct tl_event *ev = &e->event[i];

		printf("%12" PRId64 " %10" PRId64 "  %-6s  ", ev->us - zero,
		       i ? ev->us - e->event[i - 1].us : 0, tl_end_name(ev->end));
		if (ev->packet)
			printf("%s %s, packet %" PRIu64 "\n", ev->to_target ? "-->" : "<--",
			       ev->what, ev->packet);
		else
			puts(ev->what);
	}
}

static void print_conn(const struct timeline *t, const struct tl_conn *c)
{
	printf("connection %" PRIu64 ":", c->seen.id);
	for (unsigned int end = 0; end < 2; end++) {
		printf("%s %s %s%s%s", end ? ";" : "", tl_end_name(end ? TL_TARGET : TL_CLIENT),
		       c->iwarp ? c->name[end] : c->addr[end],
		       c->device[end] ? " on " : "", c->device[end] ? c->device[end] : "");
		if (c->has_qpn[end])
			printf(", queue pair %u", c->qpn[end]);
	}
	puts("");
	print_events(t, &c->events);
	puts("");
}

static void print_op(const struct timeline *t, const struct tl_msg *m)
{
	struct tl_events e;
	int64_t us;

	tl_op_events(t, m, &e);
	printf("operation %" PRIu64 ": %s of %" PRIu64, m->seen.id, flow_op_name(&m->seen),
	       m->seen.bytes);
	printf(" bytes, requested by the %s, connection %" PRIu64 "\n",
	       tl_end_name(m->seen.from ? TL_TARGET : TL_CLIENT), m->conn);
	print_events(t, &e);
	puts("");
	for (const struct tl_span *s = tl_spans; s->what; s++)
		if (tl_span_us(&e, s, &us))
			printf("%23" PRId64 "  %s\n", us, s->what);
	puts("");
	free(e.event);
}

/**
 * tl_print() - all of it
 * @t: joined
 * @limit: operations that are told at most
 */
void tl_print(const struct timeline *t, uint64_t limit)
{
	uint64_t told = 0, left = 0;

	for (unsigned int i = 0; i < t->conns; i++)
		print_conn(t, &t->conn[i]);
	for (unsigned int i = 0; i < t->msgs; i++) {
		if (t->msg[i].is_reply)
			continue;
		if (told == limit) {
			left++;
			continue;
		}
		print_op(t, &t->msg[i]);
		told++;
	}
	if (left)
		printf("and %" PRIu64 " more operations (-n)\n", left);
	for (unsigned int i = 0; i < t->trace.nr_missing; i++)
		printf("not in this kernel: %s\n", t->trace.missing[i]);
	if (t->trace.lost || t->trace.dropped)
		printf("%" PRIu64 " events and %" PRIu64
		       " packets were lost: posts and completions cannot be told apart and are left out\n",
		       t->trace.lost, t->trace.dropped);
	if (!t->conns && !t->msgs) {
		puts("no RDMA connection is in the capture: was it made on the interface of the client's device?");
		return;
	}
	printf("times are microseconds since the first packet; the two clocks were joined to within %.1f us\n",
	       (double)t->trace.error_ns / 1e3);
	if (llabs(t->trace.moved_ns) > 1000)
		printf("and ran apart by %.1f us meanwhile\n", (double)t->trace.moved_ns / 1e3);
}
