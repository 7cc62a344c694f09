// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt why: evidence that is not in the connections themselves: who asked for a neighbour and got
 * no answer, what ICMP refused, which TCP connections were reset, a target's reason in its REJ.
 *
 * All of it is in rings of the latest.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <json-c/json.h>

#include "tool/out/json.h"
#include "why.h"

static bool same_addr(const uint8_t *a, const uint8_t *b)
{
	return !memcmp(a, b, 16);
}

static void ask(struct why *w, const uint8_t *addr, bool answer, const struct pkt *p)
{
	struct why_asked *a;

	for (unsigned int i = 0; i < WHY_KEPT; i++) {
		a = &w->asked[i];
		if (!a->packet || memcmp(a->addr, addr, 16))
			continue;
		if (answer) {
			a->answered = p->number;
			a->times = 0;
		} else {
			a->times++;
		}
		return;
	}
	if (answer)
		return;
	a = &w->asked[w->nr_asked++ % WHY_KEPT];
	*a = (struct why_asked) { .packet = p->number, .times = 1,
			      .version = p->at[PKT_ARP].len ? 4 : 6 };
	memcpy(a->addr, addr, 16);
}

/* ARP: operation, the sender's addresses, the target's (RFC 826) */
static void arp(struct why *w, const struct pkt *p)
{
	const uint8_t *h = pkt_bytes(p, PKT_ARP);
	uint8_t addr[16] = {};

	/* a sender shows where it is, whatever it says */
	memcpy(addr, h + 14, 4);
	ask(w, addr, true, p);
	memcpy(addr, h + 24, 4);
	if (h[7] == 1)
		ask(w, addr, false, p);
}

/* Neighbour discovery (RFC 4861, 4.3 and 4.4), and what could not be delivered (RFC 792, 4443) */
static void icmp(struct why *w, const struct pkt *p)
{
	const uint8_t *h = pkt_bytes(p, PKT_ICMP), *body = pkt_bytes(p, PKT_PAYLOAD);
	const uint32_t len = p->at[PKT_PAYLOAD].len;
	const bool v6 = p->ip_version == 6;
	struct why_refusal *r;

	if (v6 && (h[0] == 135 || h[0] == 136) && len >= 20)
		ask(w, body + 4, h[0] == 136, p);
	if (!(v6 ? h[0] == 1 || h[0] == 2 : h[0] == 3) || len < (v6 ? 44 : 24))
		return;
	r = &w->refused[w->nr_refused++ % WHY_KEPT];
	*r = (struct why_refusal) { .version = p->ip_version, .type = h[0], .code = h[1],
				.packet = p->number };
	memcpy(r->addr, body + 4 + (v6 ? 24 : 16), v6 ? 16 : 4);
	memcpy(r->by, p->src, 16);
}

void why_note(struct why *w, const struct pkt *p)
{
	struct why_refusal *r;

	if (p->at[PKT_ARP].len >= 28)
		arp(w, p);
	if (p->at[PKT_ICMP].len)
		icmp(w, p);
	if (p->kind == PKT_TCP_SEGMENT && pkt_bytes(p, PKT_TCP)[13] & 4) {
		r = &w->reset[w->nr_reset++ % WHY_KEPT];
		*r = (struct why_refusal) { .version = p->ip_version, .packet = p->number };
		memcpy(r->addr, p->dst, 16);
		memcpy(r->by, p->src, 16);
	}
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
		*said = (struct why_said) { p->number, terminate.name, terminate.cause };
	}
}

/* RFC 792 and RFC 4443, 3.1 */
static const char *refusal_name(const struct why_refusal *r)
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

/* What the capture has of the way to an end, if it is a cause: that is certain then */
bool why_on_the_way(struct why *w, struct json_object *o, const struct flow_conn *c,
		    unsigned int to, uint64_t from_packet)
{
	const uint8_t *addr = c->end[to].addr;
	char name[64], by[64], text[96];

	for (unsigned int i = 0; i < WHY_KEPT; i++) {
		const struct why_refusal *r = &w->refused[i];

		if (!r->packet || r->packet < from_packet || !same_addr(r->addr, addr))
			continue;
		why_seen(o, "packet %" PRIu64 ": ICMP from %s: %s", r->packet,
			 pkt_address(r->version, r->by, by, sizeof(by)), refusal_name(r));
		why_because(o, true, "the host that sent it: its firewall, its routes, the MTU of its interfaces",
			    "a host on the way, or the other end, refuses the packets: %s",
			    refusal_name(r));
		return true;
	}
	for (unsigned int i = 0; i < WHY_KEPT; i++) {
		struct why_asked *a = &w->asked[i];

		if (!a->packet || !a->times || a->answered > from_packet ||
		    !same_addr(a->addr, addr))
			continue;
		why_seen(o, "from packet %" PRIu64 " on: who has %s? asked %" PRIu64
			 " times without an answer", a->packet,
			 why_address(c, to, name, sizeof(name)), a->times);
		snprintf(text, sizeof(text), "ip neigh show %s; is the host up?", name);
		why_because(o, true, text, "no neighbour has the address %s", name);
		a->told = true;
		return true;
	}
	return false;
}

/* A TCP connection that was reset between two ends after a packet */
const struct why_refusal *why_reset(const struct why *w, const struct flow_conn *c,
				    uint64_t from_packet)
{
	for (unsigned int i = 0; i < WHY_KEPT; i++) {
		const struct why_refusal *r = &w->reset[i];
		const unsigned int by = same_addr(r->by, c->end[1].addr);

		if (r->packet > from_packet && same_addr(r->by, c->end[by].addr) &&
		    same_addr(r->addr, c->end[!by].addr))
			return r;
	}
	return NULL;
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

/* Asked for in vain, and no connection shows it: none was tried without that answer */
void why_neighbours(struct why *w)
{
	struct json_object *o;
	char name[64], text[96];

	for (unsigned int i = 0; i < WHY_KEPT; i++) {
		const struct why_asked *a = &w->asked[i];

		if (a->times < 2 || a->told)
			continue;
		pkt_address(a->version, a->addr, name, sizeof(name));
		snprintf(text, sizeof(text), "ip neigh show %s; is the host up?", name);
		o = why_problem("neighbour");
		rtgt_json_int(o, "packet", (int64_t)a->packet);
		why_say(o, "what", "packet %" PRIu64 ": who has %s? asked %" PRIu64
			" times without an answer", a->packet, name, a->times);
		why_because(o, true, text, "no neighbour has the address %s", name);
		why_found(w, o);
	}
}
