// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which memory may be reached: what REPs, messages and their replies advertise.
 *
 * The target's memory: the REP, the replies to EXTENTS and REVOKE.  The client's: its
 * PULL and PUSH requests, and the 16 bytes of an rping client.  What a client says is
 * taken for a claim: its device may refuse what the client itself has named.
 *
 * A key dies with a REVOKE or a remote invalidation.  Between the request and its
 * answer nobody on the wire can tell whether it lives, and neither do we.  Ports that
 * are not private share their keys among connections, and rxe lets a client invalidate
 * those of another: both make a verdict uncertain, which is none.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include <rtgt/proto.h>
#include <rtgt/wire.h>
#include "flow_priv.h"

_Static_assert(FLOW_REGIONS == RTGT_MAX_REGIONS, "flow.h does not include the uapi header");

#define ANY_REGION	0xffff
#define RPING_INFO	16

/* There may be none, and no memory for any */
static struct flow_cap *caps_end(const struct flow_half *h)
{
	return h->caps ? h->cap + h->caps : h->cap;
}

static struct flow_cap *cap_of(const struct flow_half *h, uint64_t addr, uint32_t rkey)
{
	for (struct flow_cap *cap = h->cap; cap < caps_end(h); cap++)
		if (cap->rkey == rkey && cap->addr == addr)
			return cap;
	return NULL;
}

/* The slot for a key: the one that has it, a free one, or the oldest, which is lost */
static struct flow_cap *slot_of(struct flow *f, struct flow_half *h, uint64_t addr, uint32_t rkey)
{
	const uint16_t room = h->caps_room ? 2 * h->caps_room : FLOW_CAPS_LEAST;
	/* the first ones of each end are free */
	const size_t bytes = h->caps_room ? (room - h->caps_room) * sizeof(*h->cap) : 0;
	struct flow_cap *cap = cap_of(h, addr, rkey);

	if (cap)
		return cap;
	if (h->caps == h->caps_room && h->caps < FLOW_CAPS &&
	    f->cap_bytes + bytes <= FLOW_CAP_BYTES) {
		cap = realloc(h->cap, room * sizeof(*cap));
		if (!cap)
			return NULL;
		f->cap_bytes += bytes;
		h->cap = cap;
		h->caps_room = room;
	}
	if (h->caps < h->caps_room)
		return &h->cap[h->caps++];
	h->caps_lost = true;
	memmove(h->cap, h->cap + 1, (h->caps - 1u) * sizeof(*h->cap));
	return &h->cap[h->caps - 1];
}

static void learn(struct flow *f, struct flow_conn *c, uint8_t end, const struct flow_cap *cap)
{
	struct flow_cap *slot = slot_of(f, &c->half[end], cap->addr, cap->rkey);

	if (slot)
		*slot = *cap;
	if (cap->source == 'c' || c->is_private)
		return;
	f->shared[f->shareds % FLOW_SHARED].cap = *cap;
	memcpy(f->shared[f->shareds++ % FLOW_SHARED].addr, c->end[end].addr, 16);
}

/**
 * flow_cap_rep() - what a REP advertises
 * @p: the REP
 */
void flow_cap_rep(struct flow *f, struct flow_conn *c, const struct pkt *p)
{
	const uint8_t *data = pkt_bytes(p, PKT_PRIVATE);
	struct rtgt_rep_info peer;
	struct rtgt_err err;

	memset(&peer, 0, sizeof(peer));
	if (!data || rtgt_wire_rep(&peer, data, p->at[PKT_PRIVATE].len, &err) || !peer.rtgt)
		return;
	c->rtgt = true;
	c->is_private = peer.features & RTGT_F_PRIVATE;
	c->recv_size = peer.recv_size;
	c->conn_id = peer.conn_id;
	for (unsigned int i = 0; i < peer.nr && i < FLOW_REGIONS; i++)
		c->region_access[i] = peer.region[i].access;
	/* The keys come with the replies to EXTENTS */
	if (peer.features & RTGT_F_ASK)
		return;
	for (unsigned int i = 0; i < peer.nr; i++) {
		struct flow_cap cap = {
			.addr = peer.region[i].addr, .len = peer.region[i].len,
			.rkey = peer.region[i].rkey, .access = peer.region[i].access,
			.region = i, .source = 'r',
		};

		learn(f, c, 1, &cap);
	}
}

static void dying(struct flow_half *h, uint16_t region, bool is_dying)
{
	for (struct flow_cap *cap = h->cap; cap < caps_end(h); cap++)
		if (cap->region == region && cap->source != 'c' && !cap->dead)
			cap->dying = is_dying;
}

static void dead(struct flow_half *h, uint16_t region)
{
	for (struct flow_cap *cap = h->cap; cap < caps_end(h); cap++)
		if (cap->region == region && cap->source != 'c')
			cap->dead = true;
}

static void pend(struct flow_conn *c, const struct rtgt_request *rq)
{
	unsigned int i = c->pendings++ % FLOW_PENDING;

	c->pending[i].tag = rq->tag;
	c->pending[i].op = rq->op;
	c->pending[i].region = rq->region < ANY_REGION ? rq->region : ANY_REGION;
	c->pending[i].used = true;
}

static void request(struct flow *f, struct flow_conn *c, const struct rtgt_request *rq)
{
	struct flow_cap cap = {
		.addr = rq->addr, .len = rq->count, .rkey = rq->rkey, .region = ANY_REGION,
		.source = 'c',
		.access = rq->op == RTGT_MSG_PULL ? RTGT_ACCESS_READ : RTGT_ACCESS_WRITE,
	};
	const struct flow_cap *had;

	switch (rq->op) {
	case RTGT_MSG_PULL:
	case RTGT_MSG_PUSH:
		had = cap_of(&c->half[0], cap.addr, cap.rkey);
		if (had) {
			cap.access |= had->access;
			cap.len = had->len > cap.len ? had->len : cap.len;
		}
		learn(f, c, 0, &cap);
		break;
	case RTGT_MSG_REVOKE:
		pend(c, rq);
		if (rq->region < ANY_REGION)
			dying(&c->half[1], rq->region, true);
		break;
	case RTGT_MSG_EXTENTS:
		pend(c, rq);
		break;
	}
}

/* As many entries of an EXTENTS reply as have arrived; the rest comes with the next packet */
static void list(struct flow *f, struct flow_conn *c, struct flow_half *h, const uint8_t *data,
		 size_t len)
{
	while (len && h->list.left) {
		size_t n = sizeof(h->list.part) - h->list.have;
		struct flow_cap cap = { .region = h->list.region, .access = h->list.access,
			.source = 'm' };
		struct rtgt_cap wire;

		n = n < len ? n : len;
		memcpy(h->list.part + h->list.have, data, n);
		h->list.have += n;
		data += n;
		len -= n;
		if (h->list.have < sizeof(h->list.part))
			return;
		memcpy(&wire, h->list.part, sizeof(wire));
		cap.addr = be64toh(wire.addr);
		cap.rkey = be32toh(wire.rkey);
		cap.len = be64toh(wire.len);
		learn(f, c, 1, &cap);
		h->list.have = 0;
		h->list.left--;
	}
}

static void extents(struct flow *f, struct flow_conn *c, uint16_t region, const uint8_t *body,
		    size_t len)
{
	struct flow_half *h = &c->half[1];
	struct rtgt_extents head;

	if (len < sizeof(head))
		return;
	memcpy(&head, body, sizeof(head));
	h->list.left = be32toh(head.nr);
	h->list.region = region;
	h->list.have = 0;
	h->list.access = region < FLOW_REGIONS ? c->region_access[region] : 0;
	list(f, c, h, body + sizeof(head), len - sizeof(head));
}

static void revoked(struct flow *f, struct flow_conn *c, uint16_t region, const uint8_t *body,
		    size_t len)
{
	struct rtgt_region wire;
	struct flow_cap cap = { .region = region, .source = 'm' };

	if (len < sizeof(wire))
		return;
	memcpy(&wire, body, sizeof(wire));
	dead(&c->half[1], region);
	cap.addr = be64toh(wire.cap.addr);
	cap.rkey = be32toh(wire.cap.rkey);
	cap.len = be64toh(wire.cap.len);
	cap.access = be32toh(wire.access);
	learn(f, c, 1, &cap);
}

static void reply(struct flow *f, struct flow_conn *c, const uint8_t *data, size_t len)
{
	struct rtgt_msg msg;
	unsigned int i;

	memcpy(&msg, data, sizeof(msg));
	for (i = 0; i < FLOW_PENDING; i++)
		if (c->pending[i].used && c->pending[i].tag == be32toh(msg.tag) &&
		    c->pending[i].op == (msg.op & ~RTGT_MSG_REPLY))
			break;
	if (i == FLOW_PENDING)
		return;
	c->pending[i].used = false;
	if (c->pending[i].op == RTGT_MSG_REVOKE) {
		dying(&c->half[1], c->pending[i].region, false);
		if (be16toh(msg.status) == RTGT_OK)
			revoked(f, c, c->pending[i].region, data + sizeof(msg), len - sizeof(msg));
	} else if (be16toh(msg.status) == RTGT_OK) {
		extents(f, c, c->pending[i].region, data + sizeof(msg), len - sizeof(msg));
	}
}

/* rping: the client says where, the server reads and writes there */
static void rping(struct flow *f, struct flow_conn *c, const uint8_t *data)
{
	struct { __be64 addr; __be32 rkey, size; } info;
	struct flow_cap cap = { .region = ANY_REGION, .source = 'c',
				.access = RTGT_ACCESS_READ | RTGT_ACCESS_WRITE };

	memcpy(&info, data, sizeof(info));
	cap.addr = be64toh(info.addr);
	cap.rkey = be32toh(info.rkey);
	cap.len = be32toh(info.size);
	learn(f, c, 0, &cap);
}

/**
 * flow_cap_payload() - what a packet of a SEND advertises
 * @m: the SEND; rtgt_op and rtgt_tag are set with its first packet
 * @first: it is
 */
void flow_cap_payload(struct flow *f, struct flow_conn *c, struct flow_msg *m,
		      const struct pkt *p, bool first)
{
	const uint8_t *data = pkt_bytes(p, PKT_PAYLOAD);
	size_t len = p->at[PKT_PAYLOAD].len;
	struct rtgt_request rq;
	struct rtgt_msg msg;

	if (!data)
		return;
	if (!first) {
		if (m->from == 1 && m->rtgt_op == (RTGT_MSG_EXTENTS | RTGT_MSG_REPLY))
			list(f, c, &c->half[1], data, len);
		return;
	}
	c->half[1].list.left = m->from == 1 ? 0 : c->half[1].list.left;
	if (c->rep && !c->rtgt && !m->from && len == RPING_INFO &&
	    (p->kind == PKT_IWARP || (p->opcode & 0x1f) == PKT_SEND_ONLY))
		rping(f, c, data);
	/* A datagram's client says nothing before it asks */
	if (len < sizeof(msg) || !(c->rtgt && c->hello))
		return;
	memcpy(&msg, data, sizeof(msg));
	if (msg.version != RTGT_VERSION)
		return;
	m->rtgt_op = msg.op;
	m->rtgt_tag = be32toh(msg.tag);
	if (m->from == 1 && msg.op & RTGT_MSG_REPLY)
		reply(f, c, data, len);
	/* Of a longer request the beginning decides: its body is short */
	if (m->from == 0 && rtgt_decode_msg(data, len >= 64 ? sizeof(msg) + be32toh(msg.len) :
					    len, &rq) == RTGT_OK)
		request(f, c, &rq);
}

/**
 * flow_cap_inv() - a SEND_WITH_INVALIDATE
 * @m: the SEND
 * @done: it was answered
 */
void flow_cap_inv(struct flow *f, struct flow_conn *c, const struct flow_msg *m, bool done)
{
	struct flow_half *h = &c->half[!m->from];
	struct flow_killed *k = &f->killed[f->killeds++ % FLOW_KILLED];

	for (struct flow_cap *cap = h->cap; cap < caps_end(h); cap++) {
		if (cap->rkey == m->inv_rkey) {
			cap->dying = !done;
			cap->dead = done;
		}
	}
	memcpy(k->addr, c->end[!m->from].addr, 16);
	k->rkey = m->inv_rkey;
	k->ns = m->sent_ns;
}

/* Somebody killed this key since the connection was made */
static bool was_killed(const struct flow *f, const struct flow_conn *c, const uint8_t *addr,
		       uint32_t rkey)
{
	for (unsigned int i = 0; i < FLOW_KILLED; i++)
		if (f->killed[i].rkey == rkey && f->killed[i].ns >= c->first_ns &&
		    flow_same_addr(f->killed[i].addr, addr))
			return true;
	return false;
}

static bool is_shared(const struct flow *f, const uint8_t *addr, uint32_t rkey)
{
	for (unsigned int i = 0; i < FLOW_SHARED; i++)
		if (f->shared[i].cap.rkey == rkey && flow_same_addr(f->shared[i].addr, addr))
			return true;
	return false;
}

static uint32_t right_of(const struct flow_msg *m)
{
	switch (m->op) {
	case FLOW_READ:
		return RTGT_ACCESS_READ;
	case FLOW_CAS:
	case FLOW_FAA:
		return RTGT_ACCESS_ATOMIC;
	case FLOW_FLUSH:
		return RTGT_ACCESS_FLUSH;
	default:
		return RTGT_ACCESS_WRITE;
	}
}

/* Has the client asked for keys, without a reply that was seen? */
static bool awaited(const struct flow_conn *c)
{
	for (unsigned int i = 0; i < FLOW_PENDING; i++)
		if (c->pending[i].used)
			return true;
	return false;
}

/* What was taken for a capability is one */
static enum flow_grant inside(struct flow_half *h, const struct flow_cap *cap)
{
	h->caps_true = true;
	return cap->source == 'c' ? FLOW_GRANT_CLAIMED : FLOW_GRANT_INSIDE;
}

/**
 * flow_cap_grant() - is an access inside what was advertised?
 * @m: a message that has just begun
 * @p: its first packet
 *
 * Return: how it stands to what is known of the other end's memory.
 */
enum flow_grant flow_cap_grant(struct flow *f, struct flow_conn *c, const struct flow_msg *m,
			       const struct pkt *p)
{
	struct flow_half *h = &c->half[!m->from];
	const uint8_t *addr = c->end[!m->from].addr, *feth = pkt_bytes(p, PKT_FETH);
	enum flow_grant grant = FLOW_GRANT_KEY;
	/* A FLUSH of the whole registration has neither address nor length */
	bool whole = m->op == FLOW_FLUSH && feth && (feth[3] >> 4 & 3) == 1;

	if (m->op == FLOW_SEND || ((m->op == FLOW_WRITE || m->op == FLOW_READ) && !m->bytes))
		return FLOW_GRANT_NONE_NEEDED;
	if (!h->caps || c->guessed)
		return FLOW_GRANT_UNKNOWN;
	for (const struct flow_cap *cap = h->cap; cap < caps_end(h); cap++) {
		if (cap->rkey != m->rkey)
			continue;
		if (cap->dead)
			grant = FLOW_GRANT_DEAD;
		else if (!whole && (m->va < cap->addr || !rtgt_range_ok(m->va - cap->addr,
									m->bytes, cap->len)))
			grant = FLOW_GRANT_RANGE;
		else if (!(cap->access & right_of(m)))
			grant = FLOW_GRANT_RIGHT;
		else if (cap->dying || was_killed(f, c, addr, m->rkey))
			return FLOW_GRANT_UNCERTAIN;
		else
			return inside(h, cap);
	}
	/* 16 bytes of a client that is not ours may be rping's advertisement, or anything */
	if (!c->rtgt && !h->caps_true && grant != FLOW_GRANT_DEAD)
		return FLOW_GRANT_UNKNOWN;
	if (grant == FLOW_GRANT_KEY &&
	    (h->caps_lost || (!m->from && awaited(c)) ||
	     (!c->is_private && is_shared(f, addr, m->rkey))))
		return FLOW_GRANT_UNCERTAIN;
	return grant;
}

static void note(struct flow *f, const uint8_t *addr, enum flow_op op, uint32_t rkey,
		 uint64_t packet)
{
	struct flow_refused *r = &f->refused[f->refuseds++ % FLOW_KILLED];

	*r = (struct flow_refused) { .op = op, .packet = packet, .rkey = rkey };
	memcpy(r->addr, addr, 16);
}

/**
 * flow_cap_refuse_key() - a Terminate calls a key invalid that was advertised
 * @addr: of the end that advertised it
 * @packet: the Terminate
 *
 * A success of any operation with it belies that.
 */
void flow_cap_refuse_key(struct flow *f, const uint8_t *addr, uint32_t rkey, uint64_t packet)
{
	note(f, addr, FLOW_OPS, rkey, packet);
}

/*
 * A refusal of what was advertised is no mistake by itself: the target may have taken
 * the key away without telling anybody.  But then the key is dead.  Notes refusals, and
 * finds the one that a later success belies.
 */
void flow_cap_refused(struct flow *f, const struct flow_conn *c, struct flow_msg *m)
{
	const uint8_t *addr = c->end[!m->from].addr;
	struct flow_refused *r;

	if (m->grant != FLOW_GRANT_INSIDE)
		return;
	if (m->status == FLOW_NAK) {
		note(f, addr, m->op, m->rkey, m->end_packet);
		return;
	}
	for (r = f->refused; m->status == FLOW_OK && r < f->refused + FLOW_KILLED; r++) {
		if (r->packet && (r->op == m->op || r->op == FLOW_OPS) && r->rkey == m->rkey &&
		    r->packet < m->first_packet &&
		    flow_same_addr(r->addr, addr)) {
			m->refused_packet = r->packet;
			r->packet = 0;
			return;
		}
	}
}
