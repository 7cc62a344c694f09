// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The packets of a timeline: what libwire/flow.c makes of a capture, kept whole, since
 * a timeline is of a few connections and not of a day.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libwire/capture.h"
#include "libwire/iwarp.h"
#include "libwire/parse.h"
#include "timeline.h"

#define PACKETS_MAX	(1u << 20)
#define TCP_OPENS_OR_CLOSES	0x07	/* FIN, SYN, RST */

/**
 * tl_wire_us() - a packet's time on the trace's clock
 * @t: with its trace read
 * @ns: on the capture's
 *
 * Rounded as the kernel rounds what it prints, so that of two events the earlier one is
 * never the later one here.
 */
int64_t tl_wire_us(const struct timeline *t, uint64_t ns)
{
	return ((int64_t)ns - t->trace.offset_ns + 500) / 1000;
}

static void on_message(void *arg, const struct flow_conn *c, const struct flow_msg *m)
{
	struct timeline *t = arg;
	struct tl_msg *all;

	/* of a connection that is not told of, see on_connection() */
	if (c->transport == PKT_UD || !c->steps)
		return;
	all = tl_grow(t->msg, t->msgs, &t->msg_room, sizeof(*all));
	if (!all) {
		t->no_memory = true;
		return;
	}
	t->msg = all;
	t->msg[t->msgs++] = (struct tl_msg) { .seen = *m, .conn = c->id };
}

static void name(const struct flow_conn *c, unsigned int end, char *buf)
{
	pkt_address(c->end[end].ip_version, c->end[end].addr, buf, TL_ADDR);
}

static void on_connection(void *arg, const struct flow_conn *c)
{
	struct timeline *t = arg;
	struct tl_conn *all;

	/* datagrams have no states to go through */
	if (c->transport == PKT_UD || !c->steps)
		return;
	all = tl_grow(t->conn, t->conns, &t->conn_room, sizeof(*all));
	if (!all) {
		t->no_memory = true;
		return;
	}
	t->conn = all;
	all += t->conns++;
	*all = (struct tl_conn) { .seen = *c, .from_us = tl_wire_us(t, c->first_ns),
				   .to_us = tl_wire_us(t, c->last_ns) };
	all->iwarp = c->transport == FLOW_IWARP;
	for (unsigned int end = 0; end < 2; end++) {
		name(c, end, all->addr[end]);
		if (all->iwarp) {
			tl_iwarp_name(c, end, all->addr[end], all->name[end],
				      sizeof(all->name[end]));
		} else {
			all->qpn[end] = c->end[end].qpn;
			all->has_qpn[end] = true;
		}
		all->seen.half[end].msg = NULL;
		all->seen.half[end].cap = NULL;
	}
}

static bool keep(struct timeline *t, const struct pkt *p, const struct flow_seen *seen)
{
	struct tl_packet *all = tl_grow(t->packet, t->packets, &t->packet_room, sizeof(*all));
	const uint8_t *ddp = pkt_bytes(p, PKT_DDP);

	if (!all)
		return false;
	t->packet = all;
	all += t->packets++;
	*all = (struct tl_packet) {
		.number = p->number, .us = tl_wire_us(t, p->ns), .psn = p->psn,
		.msg = seen->msg ? seen->msg->id : 0, .payload = seen->payload,
		.opcode = p->opcode, .answer = seen->answer, .from_server = seen->from,
		.again = seen->class != FLOW_NEW,
	};
	if (p->kind == PKT_IWARP) {
		all->iwarp = true;
		all->opcode = p->at[PKT_RDMAP].variant;
		all->psn = ddp && !p->at[PKT_DDP].variant ? be32(ddp + 10) : 0;
	}
	return true;
}

/* A SYN comes before anything shows that the connection is one of iWARP */
static bool keep_segment(struct timeline *t, const struct pkt *p)
{
	const uint8_t *tcp = pkt_bytes(p, PKT_TCP);
	struct tl_segment *all;

	if (!tcp || !(tcp[13] & TCP_OPENS_OR_CLOSES))
		return true;
	all = tl_grow(t->segment, t->segments, &t->segment_room, sizeof(*all));
	if (!all)
		return false;
	t->segment = all;
	all += t->segments++;
	*all = (struct tl_segment) {
		.number = p->number, .us = tl_wire_us(t, p->ns), .flags = tcp[13],
		.sport = p->sport, .dport = p->dport,
	};
	memcpy(all->src, p->src, sizeof(all->src));
	memcpy(all->dst, p->dst, sizeof(all->dst));
	return true;
}

static int by_id(const void *a, const void *b)
{
	const struct tl_conn *x = a, *y = b;

	return x->seen.id < y->seen.id ? -1 : x->seen.id > y->seen.id;
}

static int by_first(const void *a, const void *b)
{
	const struct tl_msg *x = a, *y = b;

	if (x->conn != y->conn)
		return x->conn < y->conn ? -1 : 1;
	return x->seen.id < y->seen.id ? -1 : x->seen.id > y->seen.id;
}

/* A packet, or what a TCP segment has completed of iWARP */
static void read_one(struct timeline *t, struct flow *f, const struct pkt *p)
{
	struct flow_seen seen;

	flow_packet(f, p, &seen);
	if (p->kind == PKT_TCP_SEGMENT ? !keep_segment(t, p) : seen.conn && !keep(t, p, &seen))
		t->no_memory = true;
}

static int read_all(struct timeline *t, struct capture *c, struct flow *f, struct iwarp *w,
		    struct rtgt_err *err)
{
	const struct pkt *inner;
	unsigned int nr;
	struct pkt p;
	int ret;

	while ((ret = capture_next(c, &p, err)) == 1) {
		t->first_ns = p.first_ns;
		if (t->packets >= PACKETS_MAX)
			return rtgt_fail(err, EFBIG, "more than %u packets: record less",
					 PACKETS_MAX);
		nr = 0;
		inner = p.kind == PKT_TCP_SEGMENT ? iwarp_feed(w, &p, &nr) : NULL;
		read_one(t, f, &p);
		for (unsigned int i = 0; i < nr; i++)
			read_one(t, f, &inner[i]);
	}
	if (ret)
		return ret;
	flow_end(f);
	return t->no_memory ? rtgt_fail(err, ENOMEM, "no memory") : 0;
}

/**
 * tl_wire_read() - read a capture
 * @t: its trace is read; packets, connections and messages are filled in
 * @path: of the file
 * @err: filled in when not 0 is returned
 *
 * Return: 0 or a negative errno.
 */
int tl_wire_read(struct timeline *t, const char *path, struct rtgt_err *err)
{
	static const struct flow_ops ops = { .message = on_message, .connection = on_connection };
	struct capture *c;
	struct iwarp *w;
	struct flow *f;
	int ret = capture_open_file(&c, path, err);

	if (ret)
		return ret;
	f = flow_new(&ops, t, 0, 0);
	w = iwarp_new();
	ret = f && w ? read_all(t, c, f, w, err) : rtgt_fail(err, ENOMEM, "no memory");
	iwarp_free(w);
	flow_free(f);
	capture_close(c);
	if (ret)
		return ret;
	qsort(t->conn, t->conns, sizeof(*t->conn), by_id);
	qsort(t->msg, t->msgs, sizeof(*t->msg), by_first);
	return 0;
}
