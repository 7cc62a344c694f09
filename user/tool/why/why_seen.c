// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt why: evidence that is not in the connections themselves: who asked for a neighbour and got
 * no answer, what ICMP refused, which TCP connections were reset, a target's reason in its REJ.
 *
 * All of it is in rings of the latest.
 */
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <json-c/json.h>

#include "tool/out/json.h"
#include "why.h"

#define ROCE_PORT	4791

static bool same_addr(const uint8_t *a, const uint8_t *b)
{
	return !memcmp(a, b, 16);
}

static bool is_none(const uint8_t *addr)
{
	static const uint8_t none[16];

	return same_addr(addr, none);
}

/* @addr has sent something: nobody asks for it in vain */
static void alive(struct why *w, const uint8_t *addr)
{
	for (unsigned int i = 0; i < WHY_KEPT; i++)
		if (w->asked[i].times && same_addr(w->asked[i].addr, addr))
			w->asked[i].times = 0;
}

/* Whoever looks whether its own address is free asks for it, or has none yet */
static void ask(struct why *w, uint8_t version, const uint8_t *by, const uint8_t *addr,
		uint64_t packet)
{
	struct why_asked *a;

	if (is_none(by) || same_addr(by, addr))
		return;
	for (unsigned int i = 0; i < WHY_KEPT; i++) {
		a = &w->asked[i];
		if (!same_addr(a->addr, addr) || !same_addr(a->by, by))
			continue;
		if (!a->times++)
			a->packet = packet;
		return;
	}
	a = &w->asked[w->nr_asked++ % WHY_KEPT];
	*a = (struct why_asked) { .version = version, .packet = packet, .times = 1 };
	memcpy(a->addr, addr, 16);
	memcpy(a->by, by, 16);
}

/* ARP of Ethernet and IPv4: operation, the sender's addresses, the target's (RFC 826) */
static void arp(struct why *w, const struct pkt *p)
{
	static const uint8_t kind[] = { 0, 1, 8, 0, 6, 4 };
	const uint8_t *h = pkt_bytes(p, PKT_ARP);
	uint8_t by[16] = {}, addr[16] = {};

	if (memcmp(h, kind, sizeof(kind)))
		return;
	memcpy(by, h + 14, 4);
	memcpy(addr, h + 24, 4);
	if (!is_none(by))
		alive(w, by);
	if (h[7] == 1)
		ask(w, 4, by, addr, p->number);
}

/* The packet that ICMP quotes: its addresses, its protocol, its ports */
static bool quoted(struct why_refusal *r, const uint8_t *b, uint32_t len)
{
	const bool v6 = r->version == 6;
	const uint32_t head = v6 ? 40 : (b[0] & 0xf) * 4u;

	if (head < 20 || len < head + 4)
		return false;
	r->proto = v6 ? b[6] : b[9];
	memcpy(r->from, b + (v6 ? 8 : 12), v6 ? 16 : 4);
	memcpy(r->addr, b + (v6 ? 24 : 16), v6 ? 16 : 4);
	r->ports[0] = (uint16_t)(b[head] << 8 | b[head + 1]);
	r->ports[1] = (uint16_t)(b[head + 2] << 8 | b[head + 3]);
	return true;
}

/* Neighbour discovery (RFC 4861, 4.3 and 4.4), and what could not be delivered (RFC 792, 4443) */
static void icmp(struct why *w, const struct pkt *p)
{
	const uint8_t *h = pkt_bytes(p, PKT_ICMP), *body = pkt_bytes(p, PKT_PAYLOAD);
	const uint32_t len = p->at[PKT_PAYLOAD].len;
	const bool v6 = p->ip_version == 6;
	struct why_refusal r = { .version = p->ip_version, .type = h[0], .code = h[1],
				 .packet = p->number };

	if (v6 && h[0] == 135 && len >= 20)
		ask(w, 6, p->src, body + 4, p->number);
	if (v6 && h[0] == 136 && len >= 20)
		alive(w, body + 4);
	if (!(v6 ? h[0] == 1 || h[0] == 2 : h[0] == 3) || len < 24)
		return;
	memcpy(r.by, p->src, 16);
	if (quoted(&r, body + 4, len - 4))
		w->refused[w->nr_refused++ % WHY_KEPT] = r;
}

static void segment(struct why *w, const struct pkt *p)
{
	struct why_refusal *r;

	if (!(pkt_bytes(p, PKT_TCP)[13] & 4))
		return;
	r = &w->reset[w->nr_reset++ % WHY_KEPT];
	*r = (struct why_refusal) { .version = p->ip_version, .packet = p->number,
				    .ports = { p->sport, p->dport } };
	memcpy(r->addr, p->dst, 16);
	memcpy(r->by, p->src, 16);
}

void why_note(struct why *w, const struct pkt *p)
{
	if (p->at[PKT_ARP].len >= 28)
		arp(w, p);
	else if (p->ip_version)
		alive(w, p->src);
	if (p->at[PKT_ICMP].len)
		icmp(w, p);
	if (p->kind == PKT_TCP_SEGMENT)
		segment(w, p);
	if (p->at[PKT_RTGT_REJ].len) {
		struct why_typed *t = &w->typed[w->nr_typed++ % WHY_KEPT];

		t->packet = p->number;
		rtgt_wire_rej(&t->refusal, pkt_bytes(p, PKT_PRIVATE), p->at[PKT_PRIVATE].len);
	}
	if (p->kind == PKT_IWARP && p->at[PKT_RDMAP].len &&
	    p->at[PKT_RDMAP].variant == PKT_RDMAP_TERMINATE) {
		struct why_said *said = &w->said[w->nr_said++ % WHY_KEPT];
		struct pkt_terminate terminate;

		pkt_terminate(p, &terminate);
		*said = (struct why_said) { p->number, terminate.name ? terminate.name :
					    "no known reason", terminate.cause };
	}
}

/* RFC 792 and RFC 4443, 3.1 */
const char *why_refusal_name(const struct why_refusal *r)
{
	static const char *const v4[] = {
		"network unreachable", "host unreachable", "protocol unreachable",
		"port unreachable", "packet too big", [9] = "prohibited", [10] = "prohibited",
		[13] = "prohibited",
	};
	static const char *const v6[] = {
		"no route", "prohibited", "beyond the scope", "address unreachable",
		"port unreachable", "prohibited", "no route",
	};
	const char *name = NULL;

	if (r->version == 6 && r->type == 2)
		return "packet too big";
	if (r->version == 6)
		name = r->code < sizeof(v6) / sizeof(v6[0]) ? v6[r->code] : NULL;
	else
		name = r->code < sizeof(v4) / sizeof(v4[0]) ? v4[r->code] : NULL;
	return name ? name : "unreachable";
}

/* Is what ICMP refused of this connection, on its way to an end? */
static bool is_of(const struct why_refusal *r, const struct flow_conn *c, unsigned int to)
{
	if (!r->packet || !same_addr(r->addr, c->end[to].addr) ||
	    !same_addr(r->from, c->end[!to].addr))
		return false;
	if (!c->iwarp)
		return r->proto == IPPROTO_UDP && r->ports[1] == ROCE_PORT;
	return r->proto == IPPROTO_TCP && FLOW_PORT(r->ports[0]) == c->end[!to].qpn &&
	       FLOW_PORT(r->ports[1]) == c->end[to].qpn;
}

/**
 * why_on_the_way() - what the capture has of the way to an end, if it is a cause
 * @w: capture
 * @o: gets the cause, which is certain then
 * @c: connection
 * @to: the end
 * @from_packet: before this one all was well
 *
 * Return: whether there is one.
 */
bool why_on_the_way(struct why *w, struct json_object *o, const struct flow_conn *c,
		    unsigned int to, uint64_t from_packet)
{
	char name[64], by[64], text[96];

	for (unsigned int i = 0; i < WHY_KEPT; i++) {
		const struct why_refusal *r = &w->refused[i];

		if (r->packet < from_packet || !is_of(r, c, to))
			continue;
		why_seen(o, "packet %" PRIu64 ": ICMP from %s: %s", r->packet,
			 pkt_address(r->version, r->by, by, sizeof(by)), why_refusal_name(r));
		why_because(o, true,
			    "the host that sent it: its firewall, its routes, the MTU of its interfaces",
			    "a host on the way, or the other end, refuses the packets: %s",
			    why_refusal_name(r));
		return true;
	}
	/* its own packets since then show that it is there */
	for (unsigned int i = 0; i < WHY_KEPT && c->half[to].last_packet < from_packet; i++) {
		const struct why_asked *a = &w->asked[i];

		if (a->times < 2 || a->packet < from_packet ||
		    !same_addr(a->addr, c->end[to].addr) || !same_addr(a->by, c->end[!to].addr))
			continue;
		why_seen(o, "from packet %" PRIu64 " on: who has %s? asked %" PRIu64
			 " times without an answer", a->packet,
			 why_address(c, to, name, sizeof(name)), a->times);
		snprintf(text, sizeof(text), "ip neigh show %s; is the host up?", name);
		why_because(o, true, text, "no neighbour has the address %s", name);
		return true;
	}
	return false;
}

/* What ICMP said of a request for a connection; NULL: nothing */
const struct why_refusal *why_unreachable(const struct why *w, const struct why_knock *k)
{
	for (unsigned int i = 0; i < WHY_KEPT; i++) {
		const struct why_refusal *r = &w->refused[i];

		if (r->packet > k->packet && same_addr(r->addr, k->to) &&
		    same_addr(r->from, k->from) && (k->sidr ?
		    r->proto == IPPROTO_UDP && r->ports[1] == ROCE_PORT :
		    r->proto == IPPROTO_TCP && r->ports[0] == k->ports[0] &&
		    r->ports[1] == k->ports[1]))
			return r;
	}
	return NULL;
}

/* A TCP connection that was reset between two ends after a packet */
const struct why_refusal *why_reset(const struct why *w, const struct flow_conn *c,
				    uint64_t from_packet)
{
	const struct why_refusal *first = NULL;

	for (unsigned int i = 0; i < WHY_KEPT; i++) {
		const struct why_refusal *r = &w->reset[i];

		for (unsigned int by = 0; by < 2; by++)
			if (r->packet > from_packet && (!first || r->packet < first->packet) &&
			    same_addr(r->by, c->end[by].addr) &&
			    same_addr(r->addr, c->end[!by].addr) &&
			    FLOW_PORT(r->ports[0]) == c->end[by].qpn &&
			    FLOW_PORT(r->ports[1]) == c->end[!by].qpn)
				first = r;
	}
	return first;
}

bool why_typed(const struct why *w, uint64_t packet, char *buf, size_t size)
{
	for (unsigned int i = 0; i < WHY_KEPT; i++)
		if (packet && w->typed[i].packet == packet && w->typed[i].refusal.typed)
			return rtgt_refusal_str(&w->typed[i].refusal, buf, size) >= 0;
	return false;
}

/* What the Terminate of this packet said; NULL: there is none, or it has been forgotten */
const struct why_said *why_terminate(const struct why *w, uint64_t packet)
{
	for (unsigned int i = 0; i < WHY_KEPT; i++)
		if (packet && w->said[i].packet == packet)
			return &w->said[i];
	return NULL;
}

/*
 * Asked for in vain, in a capture without a connection: the attempt to make one ended there.  The
 * answer may go past the machine that captures.
 */
void why_neighbours(struct why *w)
{
	struct json_object *o;
	char name[64], text[96];

	for (unsigned int i = 0; i < WHY_KEPT; i++) {
		const struct why_asked *a = &w->asked[i];

		if (a->times < 2)
			continue;
		pkt_address(a->version, a->addr, name, sizeof(name));
		snprintf(text, sizeof(text), "ip neigh show %s; is the host up?", name);
		o = why_problem("neighbour");
		rtgt_json_int(o, "packet", (int64_t)a->packet);
		why_say(o, "what", "packet %" PRIu64 ": who has %s? asked %" PRIu64
			" times without an answer", a->packet, name, a->times);
		why_because(o, false, text, "no neighbour has the address %s", name);
		why_found(w, o);
	}
}
