// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt why: requests that lead to no connection: of a datagram service (SIDR), and of TCP, over
 * which iWARP would have been.
 *
 * TCP also has connections of other programs: a request is reported if its port is rtgt's, or if
 * the capture has no connection at all.
 */
#include <inttypes.h>
#include <string.h>
#include <json-c/json.h>

#include <rtgt/uapi.h>
#include "libwire/words.h"
#include "tool/out/json.h"
#include "why.h"

#define TCP_SYN		0x02
#define TCP_RST		0x04
#define TCP_ACK		0x10

#define SIDR_UNSUPPORTED	1	/* IBA 12.11.2: no such service ID */

/* Within this time a packet and the same again are one that was captured twice */
#define TWICE_NS	1000000

static uint32_t be32(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* One that has no answer yet; NULL: there is none */
static struct why_knock *waiting(struct why *w, bool sidr, const uint8_t *from, const uint8_t *to,
				 uint32_t id)
{
	for (unsigned int i = 0; i < WHY_KEPT; i++) {
		struct why_knock *k = &w->knock[i];

		if (k->times && !k->answer && k->sidr == sidr && k->id == id &&
		    !memcmp(k->from, from, sizeof(k->from)) && !memcmp(k->to, to, sizeof(k->to)))
			return k;
	}
	return NULL;
}

/* A packet that was captured twice is one request */
static void knocked(struct why *w, const struct pkt *p, bool sidr, uint32_t id, uint16_t port)
{
	struct why_knock *k = waiting(w, sidr, p->src, p->dst, id);

	if (!k) {
		k = &w->knock[w->nr_knocks++ % WHY_KEPT];
		*k = (struct why_knock) { .sidr = sidr, .version = p->ip_version, .id = id,
					  .ports = { p->sport, port }, .packet = p->number };
		memcpy(k->from, p->src, sizeof(k->from));
		memcpy(k->to, p->dst, sizeof(k->to));
	}
	if (!k->times || flow_since(p->ns, k->ns) > TWICE_NS)
		k->times++;
	k->ns = p->ns;
}

static void answered(struct why_knock *k, const struct pkt *p, bool refused, unsigned int status)
{
	if (!k)
		return;
	k->answer = p->number;
	k->refused = refused;
	k->status = (uint8_t)status;
}

/**
 * why_knock() - note a request for a connection, or the answer to one
 * @w: capture
 * @p: packet
 */
void why_knock(struct why *w, const struct pkt *p)
{
	const uint8_t *tcp = p->kind == PKT_TCP_SEGMENT ? pkt_bytes(p, PKT_TCP) : NULL;
	const uint8_t flags = tcp ? tcp[13] & (TCP_SYN | TCP_RST | TCP_ACK) : 0;

	if (p->kind == PKT_ROCE_CM && p->attr == PKT_CM_SIDR_REQ)
		knocked(w, p, true, p->comm_id, (uint16_t)p->service_id);
	else if (p->kind == PKT_ROCE_CM && p->attr == PKT_CM_SIDR_REP)
		answered(waiting(w, true, p->dst, p->src, p->comm_id), p, p->reason, p->reason);
	/* the number behind a SYN, which its answer acknowledges */
	else if (flags == TCP_SYN)
		knocked(w, p, false, be32(tcp + 4) + 1, p->dport);
	else if (flags == (TCP_SYN | TCP_ACK) || flags == (TCP_RST | TCP_ACK))
		answered(waiting(w, false, p->dst, p->src, be32(tcp + 8)), p, flags & TCP_RST, 0);
	/* the client continues: the answer is not in the capture */
	else if (flags == TCP_ACK)
		answered(waiting(w, false, p->src, p->dst, be32(tcp + 4)), p, false, 0);
}

static void refused(struct why *w, const struct why_knock *k, struct json_object *o)
{
	const char *status = words_sidr(k->status);
	char text[256];

	why_seen(o, "packet %" PRIu64 ": %s", k->answer, !k->sidr ? "RST" : status ? status :
		 "a SIDR_REP with an unknown status");
	if (why_typed(w, k->answer, text, sizeof(text))) {
		why_because(o, true, "there: rtgt show, dmesg, the limits of the port",
			    "the target's reason: %s", text);
	} else if (k->sidr && k->status == SIDR_UNSUPPORTED) {
		why_because(o, true, "there: rtgt show: a port with transport ud?",
			    "nobody listens on this port there");
	} else if (k->sidr) {
		why_because(o, false, "there: dmesg; the program that has the service",
			    "the program there refuses, or the device has no queue pair left");
	} else {
		why_because(o, false, "there: rtgt show, ss -ltn; the port number here",
			    "nobody listens on this port there");
		why_because(o, false, "there, and on the way: nft list ruleset",
			    "a firewall refuses the connection with a RST");
	}
}

static void silence(struct why *w, const struct why_knock *k, struct json_object *o)
{
	const struct why_refusal *r = why_unreachable(w, k);
	char by[64];

	why_seen(o, "it was sent %" PRIu64 " times", k->times);
	if (r) {
		why_seen(o, "packet %" PRIu64 ": ICMP from %s: %s", r->packet,
			 pkt_address(r->version, r->by, by, sizeof(by)), why_refusal_name(r));
		why_because(o, true,
			    "the host that sent it: its firewall, its routes, what listens there",
			    "a host on the way, or the other end, refuses the packets: %s",
			    why_refusal_name(r));
		return;
	}
	why_because(o, false, "ping; there: nft list ruleset",
		    "a firewall drops the packets on their way there, or back");
	if (k->sidr)
		why_because(o, false,
			    "there: rdma link (state ACTIVE, and the netdev of this address)",
			    "the host has no RDMA device on this address, or it is down");
	else
		why_because(o, false, "there: ip -br address; ip route get",
			    "the host is down, or does not know the way back");
}

static bool is_problem(const struct why *w, const struct why_knock *k, bool connections)
{
	if (!k->packet || (!k->sidr && connections && k->ports[1] != RTGT_PORT))
		return false;
	if (k->answer)
		return k->refused;
	/* the client has waited, or was told not to; a SIDR_REP may have gone another way */
	return k->times > 1 || why_unreachable(w, k) ||
	       (!k->sidr && flow_since(w->last_ns, k->ns) > FLOW_LONG_NS);
}

/**
 * why_knocks() - tell the requests that led to no connection
 * @w: capture, which has been read
 */
void why_knocks(struct why *w)
{
	const bool connections = flow_totals(w->flow)->connections;
	char from[64], to[64];

	for (unsigned int i = 0; i < WHY_KEPT; i++) {
		/* the oldest first */
		const struct why_knock *k = &w->knock[(w->nr_knocks + i) % WHY_KEPT];
		struct json_object *o;

		if (!is_problem(w, k, connections))
			continue;
		o = why_problem("connection");
		rtgt_json_int(o, "packet", (int64_t)k->packet);
		why_say(o, "what", "packet %" PRIu64 ": %s to port %u of %s: %s", k->packet,
			pkt_address(k->version, k->from, from, sizeof(from)), k->ports[1],
			pkt_address(k->version, k->to, to, sizeof(to)),
			k->answer ? k->sidr ? "the datagram service is refused: SIDR_REP" :
			"TCP refuses the connection" : k->sidr ? "nobody answered the SIDR_REQ" :
			"nobody answered the SYN");
		if (k->answer)
			refused(w, k, o);
		else
			silence(w, k, o);
		why_found(w, o);
	}
}
