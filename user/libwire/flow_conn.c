// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The connections of a capture, and when one is over.
 *
 * They are found by (address, QP) and, for the CM's messages, by (address,
 * communication ID).  QP numbers are used again: a REQ that names one ends what had
 * it.  A connection that has ended lingers for late packets and is then freed; where
 * there are too many the one that was silent longest goes, and is counted.
 */
#include <stdlib.h>
#include <string.h>

#include "flow_priv.h"

static struct flow_key **bucket(struct flow_key **table, const uint8_t *addr, uint32_t number)
{
	uint32_t h = number * 2654435761u;

	for (int i = 0; i < 16; i++)
		h = (h ^ addr[i]) * 16777619u;
	return &table[(h ^ h >> 15) % FLOW_BUCKETS];
}

struct flow_conn *flow_find_qp(struct flow *f, const uint8_t *addr, uint32_t qpn,
			       uint8_t *end)
{
	struct flow_key *k = *bucket(f->by_qp, addr, qpn);

	for (; k; k = k->next) {
		const struct flow_end *e = &k->conn->end[k->end];

		if (e->qpn == qpn && flow_same_addr(e->addr, addr)) {
			*end = k->end;
			return k->conn;
		}
	}
	return NULL;
}

/* That of iWARP between these two addresses and ports; @from: the end that sent @p */
struct flow_conn *flow_find_tcp(struct flow *f, const struct pkt *p, uint8_t *from)
{
	const uint8_t *addr[2] = { p->src, p->dst };
	const uint32_t port[2] = { FLOW_PORT(p->sport), FLOW_PORT(p->dport) };

	/* The table has the client's end alone, which may use its port with several servers */
	for (*from = 0; *from < 2; ++*from) {
		struct flow_key *k = *bucket(f->by_qp, addr[*from], port[*from]);

		for (; k; k = k->next)
			if (k->conn->iwarp && flow_is_end(k->conn, 0, addr[*from], port[*from]) &&
			    flow_is_end(k->conn, 1, addr[!*from], port[!*from]))
				return k->conn;
	}
	return NULL;
}

struct flow_conn *flow_find_comm(struct flow *f, const uint8_t *addr, uint32_t comm_id,
				 uint8_t *end)
{
	struct flow_key *k = *bucket(f->by_comm, addr, comm_id);

	for (; k; k = k->next) {
		const struct flow_end *e = &k->conn->end[k->end];

		if (e->comm_id == comm_id && flow_same_addr(e->addr, addr)) {
			*end = k->end;
			return k->conn;
		}
	}
	return NULL;
}

static void key_add(struct flow_key **head, struct flow_key *k, struct flow_conn *c, uint8_t end)
{
	k->conn = c;
	k->end = end;
	k->next = *head;
	*head = k;
}

static void key_remove(struct flow_key **head, struct flow_key *k)
{
	if (!k->conn)
		return;
	while (*head != k)
		head = &(*head)->next;
	*head = k->next;
	k->conn = NULL;
}

/* An end has this QP, or this TCP port, from now on; whoever had the QP has ended */
void flow_bind(struct flow *f, struct flow_conn *c, uint8_t end, uint32_t qpn)
{
	struct flow_end *e = &c->end[end];
	struct flow_conn *had;
	uint8_t had_end;

	key_remove(bucket(f->by_qp, e->addr, e->qpn), &c->qp[end]);
	e->qpn = qpn;
	while (!c->iwarp && (had = flow_find_qp(f, e->addr, qpn, &had_end)) && had != c)
		flow_conn_end(f, had);
	key_add(bucket(f->by_qp, e->addr, qpn), &c->qp[end], c, end);
}

void flow_name(struct flow *f, struct flow_conn *c, uint8_t end, uint32_t comm_id)
{
	struct flow_end *e = &c->end[end];

	key_remove(bucket(f->by_comm, e->addr, e->comm_id), &c->comm[end]);
	e->comm_id = comm_id;
	key_add(bucket(f->by_comm, e->addr, comm_id), &c->comm[end], c, end);
}

static void unlink_age(struct flow *f, struct flow_conn *c)
{
	*(c->newer ? &c->newer->older : &f->newest) = c->older;
	*(c->older ? &c->older->newer : &f->oldest) = c->newer;
}

static void link_newest(struct flow *f, struct flow_conn *c)
{
	c->newer = NULL;
	c->older = f->newest;
	*(c->older ? &c->older->newer : &f->oldest) = c;
	f->newest = c;
}

/* Nobody knows who answers this connection */
void flow_lone_add(struct flow *f, struct flow_conn *c)
{
	c->next_lone = f->lone;
	c->lone = &f->lone;
	if (f->lone)
		f->lone->lone = &c->next_lone;
	f->lone = c;
	f->lones++;
}

/* Somebody does now */
void flow_lone_remove(struct flow *f, struct flow_conn *c)
{
	if (!c->lone)
		return;
	*c->lone = c->next_lone;
	if (c->next_lone)
		c->next_lone->lone = c->lone;
	c->lone = NULL;
	f->lones--;
}

static void make_room(struct flow *f)
{
	struct flow_conn *c = f->oldest;

	for (unsigned int i = 0; c && !c->ended; i++)
		c = i < FLOW_OLDEST ? c->newer : NULL;
	if (!c) {
		c = f->oldest;
		c->forgotten = true;
		f->totals.forgotten_connections++;
	}
	flow_conn_end(f, c);
}

/**
 * flow_conn_new() - room for a connection
 * @f: flow
 * @p: its first packet: the sender is end 0
 *
 * Return: the connection; NULL without memory.
 */
struct flow_conn *flow_conn_new(struct flow *f, const struct pkt *p)
{
	struct flow_conn *c;

	if (f->conns >= f->max_conns)
		make_room(f);
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->id = ++f->next_conn;
	c->first_packet = p->number;
	c->first_ns = p->ns;
	c->last_ns = p->ns;
	c->end[0].ip_version = p->ip_version;
	c->end[1].ip_version = p->ip_version;
	memcpy(c->end[0].addr, p->src, 16);
	memcpy(c->end[1].addr, p->dst, 16);
	link_newest(f, c);
	f->conns++;
	f->totals.connections++;
	return c;
}

/* Tells of what is left of it, and frees it */
void flow_conn_end(struct flow *f, struct flow_conn *c)
{
	struct rule_case end = { .conn = c, .want = -1 };

	for (int i = 0; i < 2; i++) {
		struct flow_half *h = &c->half[i];

		for (uint32_t n = 0; n < h->nr; n++) {
			struct flow_msg *m = flow_msg_at(h, n);

			if (m->status == FLOW_OPEN)
				flow_msg_done(f, c, m, FLOW_UNANSWERED, NULL);
		}
	}
	if (c->guessed)
		f->totals.guessed++;
	rules_judge(f, AT_END, &end);
	rules_late(f, c);
	if (f->ops->connection)
		f->ops->connection(f->arg, c);
	for (uint8_t i = 0; i < 2; i++) {
		key_remove(bucket(f->by_qp, c->end[i].addr, c->end[i].qpn), &c->qp[i]);
		key_remove(bucket(f->by_comm, c->end[i].addr, c->end[i].comm_id), &c->comm[i]);
		if (c->half[i].room > FLOW_MSGS_LEAST)
			f->msg_bytes -= (c->half[i].room - FLOW_MSGS_LEAST) *
					sizeof(*c->half[i].msg);
		if (c->half[i].caps_room > FLOW_CAPS_LEAST)
			f->cap_bytes -= (c->half[i].caps_room - FLOW_CAPS_LEAST) *
					sizeof(*c->half[i].cap);
		free(c->half[i].msg);
		free(c->half[i].cap);
		flow_marks_free(f, &c->half[i]);
	}
	unlink_age(f, c);
	flow_lone_remove(f, c);
	f->conns--;
	free(c->iwarp);
	free(c);
}

/* Connections that have ended long ago */
void flow_let_go(struct flow *f, uint64_t ns)
{
	struct flow_conn *c = f->oldest;

	/* The oldest only: one that has not ended in front of it costs room, not truth */
	while (c && c->ended && c->last_ns + FLOW_LINGER_NS < ns) {
		struct flow_conn *next = c->newer;

		flow_conn_end(f, c);
		c = next;
	}
}

/* A packet of this connection: it is the newest now */
void flow_touch(struct flow *f, struct flow_conn *c, const struct pkt *p)
{
	c->packets++;
	c->bytes += p->len;
	c->last_ns = p->ns;
	c->last_packet = p->number;
	if (f->newest != c) {
		unlink_age(f, c);
		link_newest(f, c);
	}
}

/* Is this end of a conversation at this address and QP? */
bool flow_is_end(const struct flow_conn *c, uint8_t end, const uint8_t *addr, uint32_t qpn)
{
	return c->end[end].qpn == qpn && flow_same_addr(c->end[end].addr, addr);
}

/* UD: a conversation of two QPs, of which each may have others */
struct flow_conn *flow_find_datagrams(struct flow *f, const struct pkt *p)
{
	struct flow_key *k = *bucket(f->by_qp, p->dst, p->qpn);

	for (; k; k = k->next)
		if (k->conn->transport == PKT_UD && flow_is_end(k->conn, k->end, p->dst, p->qpn) &&
		    flow_is_end(k->conn, !k->end, p->src, p->src_qpn))
			return k->conn;
	return NULL;
}

/* Both ends have their QPs, and may have other conversations */
void flow_bind_datagrams(struct flow *f, struct flow_conn *c)
{
	for (uint8_t i = 0; i < 2; i++)
		key_add(bucket(f->by_qp, c->end[i].addr, c->end[i].qpn), &c->qp[i], c, i);
}
