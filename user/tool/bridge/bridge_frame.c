// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a frame is to its connection, as libwire follows it: rules ask for that.
 *
 * libwire sees each frame as it comes in, so also what a rule drops afterwards: what its sender
 * sends again is a retransmission.  Of a message that was answered libwire keeps nothing, although
 * the answer may not have arrived.  So here is a table of packets, by their connection and PSN,
 * with their message and how often each was sent, in which a new one takes the place of another
 * after some ten thousand.
 */
#include <pcap/dlt.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "libwire/iwarp.h"

#define PACKETS		65536	/* a power of two */
#define CONNS		4096
#define MSGS		4096

struct packet {
	uint64_t key;
	uint32_t tx, message, first_psn;
	enum flow_op op;
};

struct bridge_seer {
	struct flow *flow;
	struct iwarp *iwarp;
	struct packet packet[PACKETS];
	uint64_t first_ns;
};

static const struct flow_ops nobody;

/**
 * bridge_seer_new() - begin to follow connections
 *
 * Return: what bridge_seer_free() frees, or NULL.
 */
struct bridge_seer *bridge_seer_new(void)
{
	struct bridge_seer *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->flow = flow_new(&nobody, NULL, CONNS, MSGS);
	s->iwarp = iwarp_new();
	if (s->flow && s->iwarp)
		return s;
	bridge_seer_free(s);
	return NULL;
}

/**
 * bridge_seer_free() - forget all connections
 * @s: may be NULL
 */
void bridge_seer_free(struct bridge_seer *s)
{
	if (!s)
		return;
	if (s->flow)
		flow_free(s->flow);
	if (s->iwarp)
		iwarp_free(s->iwarp);
	free(s);
}

/* Counts one more of what has this key */
static struct packet *one_more(struct bridge_seer *s, uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull;
	struct packet *k = &s->packet[h >> 48 & (PACKETS - 1)];

	if (k->key != key)
		*k = (struct packet){ .key = key };
	k->tx++;
	return k;
}

/* A CM message that is sent again has the transaction of the first one */
static uint64_t cm_key(const struct pkt *p)
{
	const uint8_t *mad = pkt_bytes(p, PKT_MAD);
	uint64_t tid = 0;

	for (int i = 8; mad && i < 16; i++)
		tid = tid << 8 | mad[i];
	return (tid << 8 | p->attr) * 0xff51afd7ed558ccdull | 1;
}

static void place(struct bridge_seer *s, struct bridge_what *w)
{
	const struct pkt *p = w->p;
	const uint8_t op = p->opcode & 0x1f;
	const struct flow_msg *m = w->seen.msg;
	struct packet *k;
	uint64_t kind = 0;

	w->tx = 1;
	if (m) {
		w->message = m->nth;
		w->op = m->op;
	}
	if (p->kind == PKT_ROCE_CM) {
		w->tx = one_more(s, cm_key(p))->tx;
		return;
	}
	if (p->kind == PKT_IWARP) {
		w->packet = m ? m->sent : 0;
		w->last = p->at[PKT_DDP].len && pkt_bytes(p, PKT_DDP)[0] & 0x40;
		return;
	}
	if (p->kind != PKT_ROCE || !w->seen.conn)
		return;
	/* a NAK and an ACK of one PSN are two packets */
	if (op == PKT_ACK)
		kind = (uint64_t)(PKT_SYNDROME(p->syndrome) + 1) << 60;
	k = one_more(s, kind ^ (w->seen.conn->id << 26 | (uint64_t)w->seen.from << 25 |
				(uint64_t)w->seen.answer << 24 | p->psn));
	if (m) {
		k->message = m->nth;
		k->op = m->op;
		k->first_psn = m->first_psn;
	}
	w->tx = k->tx;
	w->message = k->message;
	w->op = k->op;
	w->packet = k->message ? ((p->psn - k->first_psn) & FLOW_PSN_MASK) + 1 : 0;
	w->last = !(op == PKT_SEND_FIRST || op == PKT_SEND_MIDDLE || op == PKT_WRITE_FIRST ||
		    op == PKT_WRITE_MIDDLE || op == PKT_READ_FIRST || op == PKT_READ_MIDDLE);
}

/**
 * bridge_see() - look at a frame
 * @s: what was seen before
 * @f: frame
 * @p: taken apart
 * @each: told what it is, and of a TCP segment also each unit of iWARP that becomes whole with
 *	it
 * @arg: for @each
 */
void bridge_see(struct bridge_seer *s, const struct bridge_frame *f, struct pkt *p,
		void (*each)(void *arg, const struct bridge_what *w), void *arg)
{
	const struct pkt *inner = NULL;
	unsigned int nr = 0;

	memset(p, 0, sizeof(*p));
	if (!s->first_ns)
		s->first_ns = f->ns;
	p->data = f->data;
	p->number = f->number;
	p->ns = f->ns;
	p->first_ns = s->first_ns;
	p->caplen = f->len;
	p->len = f->len;
	pkt_parse(p, DLT_EN10MB);
	if (p->kind == PKT_TCP_SEGMENT)
		inner = iwarp_feed(s->iwarp, p, &nr);
	for (unsigned int i = 0; i <= nr; i++) {
		struct bridge_what w = { .p = i ? &inner[i - 1] : p };

		flow_packet(s->flow, w.p, &w.seen);
		place(s, &w);
		w.iwarp = nr || (p->kind == PKT_TCP_SEGMENT && w.seen.conn);
		each(arg, &w);
	}
}
