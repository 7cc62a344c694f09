// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The life of an operation, from the post of its work request to the last completion.
 *
 * A queue pair keeps the order: the n-th work request of a client is its n-th message on
 * the wire, and the n-th message that takes a receive is the target's n-th receive
 * completion.  So both sides are counted, beginning with the connection; where the
 * operation is then not the same, counting ends, and nothing is joined any more.  What was
 * lost cannot be counted: then nothing is joined from the first.  A reply is found by what its
 * header repeats of the request.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rtgt/qp.h>
#include "timeline.h"

/**
 * struct cursor - how far a connection has been counted
 * @begin: index of its first message
 * @end: behind its last
 * @post: behind the last that was posted, and so on
 */
struct cursor {
	unsigned int begin, end, post, wc, reply, reply_wc;
	bool mismatch;
};

const struct tl_span tl_spans[] = {
	{ TL_POST, TL_FIRST, "the client's device takes the work request" },
	{ TL_FIRST, TL_LAST, "its packets go out" },
	{ TL_LAST, TL_TARGET_WC, "the target's device, until the target sees the completion" },
	{ TL_LAST, TL_ACK, "until the acknowledgment, or the last data, is on the wire" },
	{ TL_ACK, TL_COMPLETION, "the client's device, until the client sees the completion" },
	{ TL_TARGET_WC, TL_REPLY_POST, "the target's work" },
	{ TL_REPLY_POST, TL_REPLY_FIRST, "the target's device takes the reply" },
	{ TL_REPLY_LAST, TL_REPLY_WC, "the client's device, until the client sees the reply" },
	{ TL_POST, TL_COMPLETION, "from the post to the client's completion" },
	{ TL_POST, TL_REPLY_WC, "from the post to the reply" },
	{ TL_OTHER, TL_OTHER, NULL }
};

/* What a log calls the operation of a message */
static bool same_op(const struct flow_msg *m, const char *op, size_t len)
{
	static const enum ibv_wr_opcode opcode[FLOW_OPS] = {
		[FLOW_SEND] = IBV_WR_SEND, [FLOW_WRITE] = IBV_WR_RDMA_WRITE,
		[FLOW_READ] = IBV_WR_RDMA_READ, [FLOW_CAS] = IBV_WR_ATOMIC_CMP_AND_SWP,
		[FLOW_FAA] = IBV_WR_ATOMIC_FETCH_AND_ADD, [FLOW_FLUSH] = RTGT_WR_FLUSH,
		[FLOW_ATOMIC_WRITE] = RTGT_WR_ATOMIC_WRITE,
	};
	char want[32];

	snprintf(want, sizeof(want), "%s%s", rtgt_wr_opcode_str(opcode[m->op]),
		 m->has_imm ? "_WITH_IMM" : m->has_inv ? "_WITH_INV" : "");
	return strlen(want) == len && !strncmp(want, op, len);
}

static bool takes_receive(const struct flow_msg *m)
{
	return m->op == FLOW_SEND || m->has_imm;
}

/* The next message of an end behind @at, which moves; NULL if there is none */
static struct tl_msg *next(struct timeline *t, const struct cursor *c, unsigned int *at,
			   unsigned int from, bool (*fits)(const struct flow_msg *))
{
	while (*at < c->end) {
		struct tl_msg *m = &t->msg[(*at)++];

		if (m->seen.from == from && (!fits || fits(&m->seen)))
			return m;
	}
	return NULL;
}

/* "id 7 RDMA_WRITE sges 1 remote ... qp 17" */
static void posted(struct timeline *t, struct cursor *c, const struct tl_line *l, int64_t id,
		   const char *op)
{
	const size_t len = strcspn(op, " ");
	struct tl_msg *m;

	if (!strncmp(op, "RECV", len) || !strncmp(op, "BIND_MW", len) ||
	    !strncmp(op, "LOCAL_INV", len) ||
	    c->mismatch)
		return;
	m = next(t, c, &c->post, 0, NULL);
	if (!m || !same_op(&m->seen, op, len)) {
		c->mismatch = true;
		return;
	}
	m->posted = l;
	m->wr_id = id;
}

static void completed(struct timeline *t, struct cursor *c, const struct tl_line *l, int64_t id,
		      const char *op)
{
	struct tl_msg *m;

	if (!strncmp(op, "RECV", 4)) {
		m = next(t, c, &c->reply_wc, 1, takes_receive);
		if (m)
			m->received = l;
		return;
	}
	for (unsigned int i = c->post; i-- > c->begin; ) {
		m = &t->msg[i];
		if (!m->posted || m->wr_id != id || m->completed)
			continue;
		m->completed = l;
		return;
	}
}

/* A line that the client's library wrote: "rtgt wr ..." or "rtgt wc ..." */
static void client_line(struct timeline *t, struct cursor *cursors, const struct tl_line *l)
{
	const bool wr = !strncmp(l->rest, "rtgt wr id ", 11);
	const char *qp = strstr(l->rest, " qp ");
	struct tl_conn *c;
	int64_t id;
	char *op;

	if ((!wr && strncmp(l->rest, "rtgt wc id ", 11)) || !qp)
		return;
	id = strtoll(l->rest + 11, &op, 10);
	c = tl_conn_at(t, 0, strtoll(qp + 4, NULL, 10), l->us);
	if (!c || *op != ' ')
		return;
	if (wr)
		posted(t, &cursors[c - t->conn], l, id, op + 1);
	else
		completed(t, &cursors[c - t->conn], l, id, op + 1);
}

/* What a receive brought is taken at once: nothing of the connection comes between */
static void taken(struct timeline *t, const struct cursor *c, const struct tl_line *l)
{
	struct tl_msg *m = c->wc > c->begin ? &t->msg[c->wc - 1] : NULL;

	if (!m || !m->received || m->taken)
		return;
	m->taken = l;
	if (!tl_number(l->rest, "op", &m->op))
		m->op = RTGT_MSG_IMM;
	if (!tl_number(l->rest, "tag", &m->tag) && tl_number(l->rest, "imm", &m->tag))
		m->tag = rtgt_imm_arg((uint32_t)m->tag);
}

/*
 * The SEND of the target that is the reply to @op with @tag.  A target that misbehaves sends some
 * replies never, twice or in another order, and says that it posts each once.
 */
static struct tl_msg *sent_reply(struct timeline *t, struct cursor *c, int64_t op, int64_t tag)
{
	for (unsigned int i = c->reply; i < c->end; i++) {
		struct tl_msg *m = &t->msg[i];

		if (m->seen.from != 1 || m->seen.op != FLOW_SEND || m->posted) {
			c->reply += i == c->reply;
			continue;
		}
		/* of datagrams the capture does not tell */
		if (!m->seen.rtgt_op ||
		    (m->seen.rtgt_op == (op | RTGT_MSG_REPLY) && m->seen.rtgt_tag == tag))
			return m;
	}
	return NULL;
}

static void replied(struct timeline *t, struct cursor *c, const struct tl_line *l)
{
	struct tl_msg *r;
	int64_t op, tag;

	if (!tl_number(l->rest, "op", &op) || !tl_number(l->rest, "tag", &tag))
		return;
	r = sent_reply(t, c, op, tag);
	if (!r)
		return;
	r->posted = l;
	for (unsigned int i = c->begin; i < c->wc; i++) {
		struct tl_msg *m = &t->msg[i];

		if (!m->taken || m->reply || m->op != op || m->tag != tag)
			continue;
		m->reply = (unsigned int)(r - t->msg) + 1;
		r->is_reply = true;
		return;
	}
}

static void target_line(struct timeline *t, struct cursor *cursors, const struct tl_line *l)
{
	struct cursor *cursor;
	struct tl_conn *c;
	struct tl_msg *m;
	int64_t qpn;

	if (!tl_number(l->rest, "qpn", &qpn))
		return;
	c = tl_conn_at(t, 1, qpn, l->us);
	if (!c)
		return;
	cursor = &cursors[c - t->conn];
	if (!strcmp(l->event, "rtgt_wc") && strstr(l->rest, " recv status=SUCCESS ")) {
		m = next(t, cursor, &cursor->wc, 0, takes_receive);
		if (m)
			m->received = l;
	} else if (!strcmp(l->event, "rtgt_imm") || !strcmp(l->event, "rtgt_request")) {
		taken(t, cursor, l);
	} else if (!strcmp(l->event, "rtgt_reply")) {
		replied(t, cursor, l);
	}
}

/* Both are in the order of the connections */
static void find_messages(const struct timeline *t, struct cursor *cursors)
{
	unsigned int m = 0;

	for (unsigned int i = 0; i < t->conns; i++) {
		struct cursor *c = &cursors[i];

		while (m < t->msgs && t->msg[m].conn < t->conn[i].seen.id)
			m++;
		c->begin = m;
		while (m < t->msgs && t->msg[m].conn == t->conn[i].seen.id)
			m++;
		c->end = m;
		c->post = c->begin;
		c->wc = c->begin;
		c->reply = c->begin;
		c->reply_wc = c->begin;
	}
}

/**
 * tl_join_ops() - find who posted and who completed each message
 * @t: trace and capture are read
 * @err: filled in when not 0 is returned
 *
 * Return: 0 or a negative errno.
 */
int tl_join_ops(struct timeline *t, struct rtgt_err *err)
{
	struct cursor *cursors;

	if (t->trace.lost || t->trace.dropped || !t->conns)
		return 0;
	cursors = calloc(t->conns, sizeof(*cursors));
	if (!cursors)
		return rtgt_fail(err, ENOMEM, "no memory");
	find_messages(t, cursors);
	for (unsigned int i = 0; i < t->trace.lines; i++) {
		const struct tl_line *l = &t->trace.line[i];

		if (!strcmp(l->event, "tracing_mark_write"))
			client_line(t, cursors, l);
		else if (!strncmp(l->event, "rtgt_", 5))
			target_line(t, cursors, l);
	}
	free(cursors);
	return 0;
}

static const struct tl_packet *packet_at(const struct timeline *t, uint64_t number)
{
	unsigned int low = 0, high = t->packets;

	while (low < high) {
		const unsigned int mid = (low + high) / 2;

		if (t->packet[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low < t->packets ? &t->packet[low] : NULL;
}

/* "SEND, message 2, 32 bytes": an FPDU has no PSN, and only some have the number of a message */
static int fpdu_words(const struct tl_packet *p, char *buf, size_t size)
{
	const char *name = pkt_rdmap_name(p->opcode);

	if (!p->psn)
		return snprintf(buf, size, "%s", name ? name : "unknown");
	return snprintf(buf, size, "%s, message %u", name ? name : "unknown", p->psn);
}

static void add_packet(struct tl_events *e, const struct tl_packet *p, enum tl_stage stage)
{
	struct tl_event *ev = tl_event(e, TL_WIRE, p->us);
	int n;

	ev->stage = stage;
	ev->packet = p->number;
	ev->psn = p->psn;
	ev->has_psn = !p->iwarp;
	ev->to_target = !p->from_server;
	if (p->iwarp)
		n = fpdu_words(p, ev->what, sizeof(ev->what));
	else
		n = snprintf(ev->what, sizeof(ev->what), "%s, PSN %u", pkt_opcode_name(p->opcode),
			     p->psn);
	if (p->payload)
		n += snprintf(ev->what + n, sizeof(ev->what) - (size_t)n, ", %u bytes", p->payload);
	if (p->again)
		snprintf(ev->what + n, sizeof(ev->what) - (size_t)n, ", again");
}

/*
 * FPDUs of a message: nothing answers a WRITE or SEND, and a TCP segment may have several.  So the
 * last one counts, and the last of a READ's response.
 */
static void add_fpdus(const struct timeline *t, const struct tl_packet *p,
		      const struct flow_msg *m, bool reply, struct tl_events *e)
{
	const struct tl_packet *last[2] = { NULL, NULL }, *first = NULL;
	const struct tl_packet *end = t->packet + t->packets;
	const uint64_t until = m->end_packet > m->last_packet ? m->end_packet : m->last_packet;

	for (const struct tl_packet *q = p; q && q < end && q->number <= until; q++)
		if (q->msg == m->id)
			last[q->answer] = q;
	for (; p && p < end && p->number <= until; p++) {
		if (p->msg != m->id)
			continue;
		if (!first)
			add_packet(e, p, reply ? TL_REPLY_FIRST : TL_FIRST);
		else if (p == last[0])
			add_packet(e, p, reply ? TL_REPLY_LAST : TL_LAST);
		else if (p == last[1] && m->end_packet)
			add_packet(e, p, reply ? TL_REPLY_ACK : TL_ACK);
		else
			add_packet(e, p, TL_PACKET);
		first = first ? first : p;
	}
}

/* Packets of a message and its answer; what is a reply's has stages of its own */
static void add_message(const struct timeline *t, const struct tl_msg *m, bool reply,
			struct tl_events *e)
{
	const struct tl_packet *p = packet_at(t, m->seen.first_packet);
	const struct tl_packet *end = t->packet + t->packets;
	uint64_t last = m->seen.last_packet;

	if (p && p->iwarp) {
		add_fpdus(t, p, &m->seen, reply, e);
		return;
	}
	if (m->seen.end_packet > last)
		last = m->seen.end_packet;
	for (; p && p < end && p->number <= last; p++) {
		/* one that acknowledges several is said to be of one of them */
		if (p->msg != m->seen.id && p->number != m->seen.end_packet)
			continue;
		if (p->number == m->seen.first_packet)
			add_packet(e, p, reply ? TL_REPLY_FIRST : TL_FIRST);
		else if (p->number == m->seen.end_packet)
			add_packet(e, p, reply ? TL_REPLY_ACK : TL_ACK);
		else if (p->number == m->seen.last_packet)
			add_packet(e, p, reply ? TL_REPLY_LAST : TL_LAST);
		else
			add_packet(e, p, TL_PACKET);
	}
}

static struct tl_event *add_line(struct tl_events *e, const struct tl_line *l, enum tl_end end,
				 enum tl_stage stage)
{
	struct tl_event *ev = tl_event(e, end, l->us);

	ev->stage = stage;
	return ev;
}

/* A completion, and of one that failed the status: "rtgt wc id 7 - remote access error bytes 0" */
static void add_completion(const struct tl_msg *m, struct tl_events *e)
{
	struct tl_event *ev = add_line(e, m->completed, TL_CLIENT, TL_COMPLETION);
	const char *failed = strstr(m->completed->rest, " - ");
	const char *end = failed ? strstr(failed, " bytes ") : NULL;

	snprintf(ev->what, sizeof(ev->what), "completion of work request %lld%s%.*s",
		 (long long)m->wr_id, end ? ": " : "", end ? (int)(end - failed - 3) : 0,
		 end ? failed + 3 : "");
}

static void add_lines(const struct tl_msg *m, struct tl_events *e)
{
	struct tl_event *ev;

	if (m->posted && !m->seen.from) {
		ev = add_line(e, m->posted, TL_CLIENT, TL_POST);
		snprintf(ev->what, sizeof(ev->what), "posts %s, work request %lld",
			 flow_op_name(&m->seen), (long long)m->wr_id);
	}
	if (m->received && !m->seen.from) {
		ev = add_line(e, m->received, TL_TARGET, TL_TARGET_WC);
		snprintf(ev->what, sizeof(ev->what), "receive completion");
	}
	if (m->taken) {
		ev = add_line(e, m->taken, TL_TARGET, TL_TARGET_TAKES);
		if (m->seen.op == FLOW_SEND)
			snprintf(ev->what, sizeof(ev->what), "takes the request, tag %lld",
				 (long long)m->tag);
		else
			snprintf(ev->what, sizeof(ev->what), "takes the immediate 0x%08x",
				 m->seen.imm);
	}
	if (m->completed)
		add_completion(m, e);
	/* of a SEND that is no reply to anything */
	if (m->received && m->seen.from) {
		ev = add_line(e, m->received, TL_CLIENT, TL_REPLY_WC);
		snprintf(ev->what, sizeof(ev->what), "receive completion");
	}
}

/**
 * tl_op_events() - what happened to an operation and its reply
 * @t: joined
 * @m: its message
 * @e: filled in, in the order of time; the caller frees @e->event
 */
void tl_op_events(const struct timeline *t, const struct tl_msg *m, struct tl_events *e)
{
	const struct tl_msg *r = m->reply ? &t->msg[m->reply - 1] : NULL;
	struct tl_event *ev;

	memset(e, 0, sizeof(*e));
	add_lines(m, e);
	add_message(t, m, false, e);
	if (r) {
		ev = add_line(e, r->posted, TL_TARGET, TL_REPLY_POST);
		snprintf(ev->what, sizeof(ev->what), "posts the reply");
		add_message(t, r, true, e);
		if (r->received) {
			ev = add_line(e, r->received, TL_CLIENT, TL_REPLY_WC);
			snprintf(ev->what, sizeof(ev->what), "receive completion: the reply");
		}
	}
	tl_sort(e);
}

/* What has one packet has no last one */
static const struct tl_event *stage_at(const struct tl_events *e, enum tl_stage stage)
{
	for (unsigned int i = 0; i < e->nr; i++)
		if (e->event[i].stage == stage)
			return &e->event[i];
	if (stage == TL_LAST)
		return stage_at(e, TL_FIRST);
	return stage == TL_REPLY_LAST ? stage_at(e, TL_REPLY_FIRST) : NULL;
}

/**
 * tl_span_us() - how long something took
 * @e: events of an operation
 * @s: what
 * @us: set when true is returned
 *
 * Return: whether both ends of it were seen, and are not one.
 */
bool tl_span_us(const struct tl_events *e, const struct tl_span *s, int64_t *us)
{
	const struct tl_event *from = stage_at(e, s->from), *to = stage_at(e, s->to);

	if (!from || !to || from == to)
		return false;
	*us = to->us - from->us;
	return true;
}
