// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A packet from the link layer to UDP, TCP and the headers before a BTH.
 *
 * Each layer takes its header, sets how far the packet reaches by it and calls the next
 * one.  A length that promises more than there are bytes is noted and not believed; padding
 * behind a shorter one is none of ours.
 */
#include <string.h>
#include <pcap/dlt.h>

#include "parse.h"

#define ETHERTYPE_IP4	0x0800
#define ETHERTYPE_ARP	0x0806
#define ETHERTYPE_VLAN	0x8100
#define ETHERTYPE_QINQ	0x88a8
#define ETHERTYPE_9100	0x9100		/* of switches from before 802.1ad */
#define ETHERTYPE_IP6	0x86dd
#define ETHERTYPE_ROCE	0x8915		/* v1 */

#define PROTO_HOPOPTS	0
#define PROTO_ICMP	1
#define PROTO_TCP	6
#define PROTO_UDP	17
#define PROTO_ROUTING	43
#define PROTO_FRAGMENT	44
#define PROTO_AH	51
#define PROTO_ICMP6	58
#define PROTO_DSTOPTS	60

#define ROCE_PORT	4791
#define IP6_HEADER	40
#define UDP_HEADER	8

/* InfiniBand's own link layer */
#define LRH_HEADER	8
#define LNH_BTH		2		/* what is behind it */
#define LNH_GRH		3
#define GRH_HEADER	40
#define GRH_BTH		0x1b
#define VCRC_LEN	2

/* Endace's records */
#define ERF_HEADER	16
#define ERF_MORE	0x80
#define ERF_ETH		2
#define ERF_INFINIBAND	21

/* From here on the packet is @len bytes long */
static void limit(struct parse *s, uint32_t len)
{
	if (len > s->end - s->at)
		pkt_wrong(s->p, s->p->fragment ? PKT_FRAGMENT : PKT_LENGTH);
	else
		s->end = s->at + len;
}

/* What is left, as far as it was captured, is payload */
void parse_rest(struct parse *s)
{
	uint32_t end = s->end < s->p->caplen ? s->end : s->p->caplen;

	if (end < s->end)
		pkt_wrong(s->p, PKT_CUT);
	if (s->at < end)
		parse_take(s, PKT_PAYLOAD, end - s->at);
}

static void parse_udp(struct parse *s)
{
	const uint8_t *h = parse_take(s, PKT_UDP, UDP_HEADER);
	uint32_t len;

	if (!h)
		return;
	s->p->sport = be16(h);
	s->p->dport = be16(h + 2);
	len = be16(h + 4);
	/* 0 in a jumbogram */
	if (len >= UDP_HEADER)
		limit(s, len - UDP_HEADER);
	else if (len)
		pkt_wrong(s->p, PKT_LENGTH);
	if (s->p->dport == ROCE_PORT)
		parse_roce(s);
	else
		parse_rest(s);
}

static void parse_tcp(struct parse *s)
{
	const uint8_t *h = parse_peek(s, 20);
	uint32_t len;

	if (!h)
		return;
	s->p->sport = be16(h);
	s->p->dport = be16(h + 2);
	len = (h[12] >> 4) * 4u;
	if (len < 20) {
		pkt_wrong(s->p, PKT_LENGTH);
		return;
	}
	if (!parse_take(s, PKT_TCP, len))
		return;
	s->p->kind = PKT_TCP_SEGMENT;
	parse_rest(s);
}

static void parse_transport(struct parse *s, uint8_t proto)
{
	switch (proto) {
	case PROTO_UDP:
		parse_udp(s);
		break;
	case PROTO_TCP:
		parse_tcp(s);
		break;
	case PROTO_ICMP:
	case PROTO_ICMP6:
		if (parse_take(s, PKT_ICMP, 4)) {
			s->p->at[PKT_ICMP].variant = s->p->ip_version;
			parse_rest(s);
		}
		break;
	default:
		parse_rest(s);
	}
}

static void parse_ip4(struct parse *s)
{
	const uint8_t *h = parse_peek(s, 20);
	uint32_t len, total, fragment;

	if (!h)
		return;
	if (h[0] >> 4 != 4) {
		pkt_wrong(s->p, PKT_VERSION);
		return;
	}
	len = (h[0] & 0xf) * 4u;
	total = be16(h + 2);
	fragment = be16(h + 6) & 0x3fff;
	s->p->fragment = fragment;
	if (len < 20) {
		pkt_wrong(s->p, PKT_LENGTH);
		return;
	}
	if (!parse_take(s, PKT_IP4, len))
		return;
	s->p->ip_version = 4;
	memcpy(s->p->src, h + 12, 4);
	memcpy(s->p->dst, h + 16, 4);
	/* 0: a segment larger than that, which the card will cut */
	if (total && total < len)
		pkt_wrong(s->p, PKT_LENGTH);
	else if (total)
		limit(s, total - len);
	if (fragment & 0x1fff) {
		pkt_wrong(s->p, PKT_FRAGMENT);
		parse_rest(s);
		return;
	}
	parse_transport(s, h[9]);
}

/* The extension headers; false: what is behind them is no beginning of anything */
static bool parse_ip6_ext(struct parse *s, uint8_t *proto)
{
	uint32_t first = s->at, len;
	bool begins = true;
	const uint8_t *h;

	for (;;) {
		switch (*proto) {
		case PROTO_HOPOPTS:
		case PROTO_ROUTING:
		case PROTO_DSTOPTS:
		case PROTO_FRAGMENT:
		case PROTO_AH:
			break;
		default:
			return begins;
		}
		h = parse_peek(s, 8);
		if (!h)
			return false;
		len = 8;
		if (*proto == PROTO_FRAGMENT) {
			s->p->fragment = be16(h + 2) & 0xfff9;
			begins = begins && !(be16(h + 2) & 0xfff8);
		} else {
			len = *proto == PROTO_AH ? (h[1] + 2) * 4u : (h[1] + 1) * 8u;
		}
		*proto = h[0];
		if (!parse_peek(s, len))
			return false;
		s->at += len;
		s->p->at[PKT_IP6_EXT].off = first;
		s->p->at[PKT_IP6_EXT].len = s->at - first;
	}
}

static void parse_ip6(struct parse *s)
{
	const uint8_t *h = parse_peek(s, IP6_HEADER);
	uint8_t proto;

	if (!h)
		return;
	if (h[0] >> 4 != 6) {
		pkt_wrong(s->p, PKT_VERSION);
		return;
	}
	parse_take(s, PKT_IP6, IP6_HEADER);
	s->p->ip_version = 6;
	memcpy(s->p->src, h + 8, 16);
	memcpy(s->p->dst, h + 24, 16);
	/* 0: a jumbogram */
	if (be16(h + 4))
		limit(s, be16(h + 4));
	proto = h[6];
	if (parse_ip6_ext(s, &proto)) {
		parse_transport(s, proto);
	} else {
		if (s->p->fragment)
			pkt_wrong(s->p, PKT_FRAGMENT);
		parse_rest(s);
	}
}

/* The addresses of RoCE v1, and of InfiniBand beyond a subnet: a header like that of IPv6 */
static void parse_grh(struct parse *s)
{
	const uint8_t *h = parse_take(s, PKT_GRH, GRH_HEADER);

	if (!h)
		return;
	s->p->ip_version = 6;
	memcpy(s->p->src, h + 8, 16);
	memcpy(s->p->dst, h + 24, 16);
	if (h[0] >> 4 != 6)
		pkt_wrong(s->p, PKT_VERSION);
	limit(s, be16(h + 4));
	if (h[6] == GRH_BTH)
		parse_roce(s);
	else
		parse_rest(s);
}

static void parse_infiniband(struct parse *s)
{
	const uint8_t *h = parse_take(s, PKT_LRH, LRH_HEADER);
	uint32_t words, end;

	if (!h)
		return;
	words = be16(h + 4) & 0x7ff;
	end = s->at - LRH_HEADER + 4 * words;
	if (4 * words < LRH_HEADER || end > s->end) {
		pkt_wrong(s->p, PKT_LENGTH);
		return;
	}
	if (s->end - end >= VCRC_LEN && end + VCRC_LEN <= s->p->caplen) {
		s->p->at[PKT_VCRC].off = end;
		s->p->at[PKT_VCRC].len = VCRC_LEN;
	}
	s->end = end;
	memcpy(s->p->src + 14, h + 6, 2);
	memcpy(s->p->dst + 14, h + 2, 2);
	if ((h[1] & 3) == LNH_GRH)
		parse_grh(s);
	else if ((h[1] & 3) == LNH_BTH)
		parse_roce(s);
	else
		parse_rest(s);
}

static void parse_ethertype(struct parse *s, uint16_t type)
{
	const uint8_t *h;

	/* Of several tags the first is shown that is not a provider's */
	while (type == ETHERTYPE_VLAN || type == ETHERTYPE_QINQ || type == ETHERTYPE_9100) {
		h = parse_peek(s, 4);
		if (!h)
			return;
		if (s->p->at[PKT_VLAN].len || type == ETHERTYPE_QINQ)
			s->at += 4;
		else
			parse_take(s, PKT_VLAN, 4);
		type = be16(h + 2);
	}
	switch (type) {
	case ETHERTYPE_IP4:
		parse_ip4(s);
		break;
	case ETHERTYPE_IP6:
		parse_ip6(s);
		break;
	case ETHERTYPE_ARP:
		parse_take(s, PKT_ARP, 28);
		break;
	case ETHERTYPE_ROCE:
		parse_grh(s);
		break;
	default:
		parse_rest(s);
	}
}

static void parse_raw(struct parse *s)
{
	const uint8_t *h = parse_peek(s, 1);

	if (!h)
		return;
	if (h[0] >> 4 == 6)
		parse_ip6(s);
	else
		parse_ip4(s);
}

static void parse_ethernet(struct parse *s)
{
	const uint8_t *h = parse_take(s, PKT_ETH, 14);

	if (h)
		parse_ethertype(s, be16(h + 12));
}

/* The record's header and its extensions are passed over: the packet's time is known */
static void parse_erf(struct parse *s)
{
	const uint8_t *h = parse_peek(s, ERF_HEADER);
	uint8_t type, more;

	if (!h)
		return;
	type = h[8] & ~ERF_MORE;
	more = h[8];
	s->at += ERF_HEADER;
	while (more & ERF_MORE) {
		h = parse_peek(s, 8);
		if (!h)
			return;
		more = h[0];
		s->at += 8;
	}
	if (type == ERF_INFINIBAND) {
		parse_infiniband(s);
	} else if (type == ERF_ETH) {
		/* an offset and a byte without a meaning */
		if (!parse_peek(s, 2))
			return;
		s->at += 2;
		parse_ethernet(s);
	} else {
		parse_rest(s);
	}
}

bool pkt_knows_link(int linktype)
{
	switch (linktype) {
	case DLT_EN10MB:
	case DLT_LINUX_SLL:
	case DLT_LINUX_SLL2:
	case DLT_RAW:
	case DLT_IPV4:
	case DLT_IPV6:
	case DLT_INFINIBAND:
	case DLT_ERF:
		return true;
	}
	return false;
}

void pkt_parse(struct pkt *p, int linktype)
{
	const struct pkt given = *p;
	struct parse s = { .p = p, .end = given.len };
	const uint8_t *h;

	memset(p, 0, sizeof(*p));
	p->data = given.data;
	p->number = given.number;
	p->ns = given.ns;
	p->first_ns = given.first_ns;
	p->caplen = given.caplen;
	p->len = given.len;
	/* A capture that says more was captured than there was is not believed */
	if (s.end < p->caplen)
		s.end = p->caplen;

	switch (linktype) {
	case DLT_EN10MB:
		parse_ethernet(&s);
		break;
	case DLT_INFINIBAND:
		parse_infiniband(&s);
		break;
	case DLT_ERF:
		parse_erf(&s);
		break;
	case DLT_LINUX_SLL:
		h = parse_take(&s, PKT_SLL, 16);
		if (h)
			parse_ethertype(&s, be16(h + 14));
		break;
	case DLT_LINUX_SLL2:
		h = parse_take(&s, PKT_SLL2, 20);
		if (h)
			parse_ethertype(&s, be16(h));
		break;
	case DLT_RAW:
	case DLT_IPV4:
	case DLT_IPV6:
		parse_raw(&s);
		break;
	default:
		pkt_wrong(p, PKT_LINK);
	}
}
