// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a packet is, in one line, without its addresses.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "packet.h"
#include "parse.h"
#include "words.h"

struct line {
	char *buf;
	size_t size, at;
};

__attribute__((format(printf, 2, 3)))
static void add(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (l->at >= l->size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(l->buf + l->at, l->size - l->at, fmt, ap);
	va_end(ap);
	l->at += n > 0 ? (size_t)n : 0;
	if (l->at >= l->size)
		l->at = l->size ? l->size - 1 : 0;
}

const char *pkt_address(uint8_t ip_version, const uint8_t *addr, char *buf, size_t size)
{
	if (!ip_version && (addr[14] || addr[15]))
		snprintf(buf, size, "lid-%u", be16(addr + 14));
	else if (!ip_version || !inet_ntop(ip_version == 4 ? AF_INET : AF_INET6, addr, buf,
					   (socklen_t)size))
		snprintf(buf, size, "-");
	return buf;
}

const char *pkt_src(const struct pkt *p, char *buf, size_t size)
{
	return pkt_address(p->ip_version, p->src, buf, size);
}

const char *pkt_dst(const struct pkt *p, char *buf, size_t size)
{
	return pkt_address(p->ip_version, p->dst, buf, size);
}

static void add_aeth(struct line *l, const struct pkt *p)
{
	switch (PKT_SYNDROME(p->syndrome)) {
	case PKT_AETH_ACK:
		add(l, " ACK");
		break;
	case PKT_AETH_RNR:
		add(l, " RNR NAK wait=%s", words_rnr(PKT_SYNDROME_VALUE(p->syndrome)));
		break;
	case PKT_AETH_NAK:
		add(l, " NAK %s", pkt_nak_name(p->syndrome));
		break;
	default:
		add(l, " syndrome=0x%02x", p->syndrome);
	}
	add(l, " msn=%u", p->msn);
}

static void add_roce(struct line *l, const struct pkt *p)
{
	add(l, "%s qp=%u psn=%u", pkt_opcode_name(p->opcode), p->qpn, p->psn);
	if (p->at[PKT_DETH].len)
		add(l, " from_qp=%u", p->src_qpn);
	if (p->at[PKT_RETH].len)
		add(l, " va=0x%" PRIx64 " rkey=0x%08x dmalen=%u", p->va, p->rkey, p->dma_len);
	if (p->at[PKT_ATOMICETH].len) {
		add(l, " va=0x%" PRIx64 " rkey=0x%08x", p->va, p->rkey);
		if ((p->opcode & 0x1f) == PKT_FETCH_ADD)
			add(l, " add=%" PRIu64, p->swap);
		else
			add(l, " compare=%" PRIu64 " swap=%" PRIu64, p->compare, p->swap);
	}
	if (p->at[PKT_AETH].len)
		add_aeth(l, p);
	if (p->at[PKT_ATOMICACKETH].len)
		add(l, " was=%" PRIu64, p->orig);
	if (p->at[PKT_IMMDT].len)
		add(l, " imm=0x%08x", p->imm);
	if (p->at[PKT_IETH].len)
		add(l, " invalidates=0x%08x", p->inv_rkey);
	if (p->at[PKT_PAYLOAD].len)
		add(l, " payload=%u", p->at[PKT_PAYLOAD].len);
	if (p->ackreq)
		add(l, " ackreq");
	if (p->solicited)
		add(l, " solicited");
}

static void add_private(struct line *l, const struct pkt *p)
{
	const uint8_t *b = pkt_bytes(p, PKT_PRIVATE);

	if (p->at[PKT_RTGT_REQ].len)
		add(l, " rtgt");
	if (p->at[PKT_RTGT_REP].len || p->at[PKT_CAP].len)
		add(l, "%s va=0x%" PRIx64 " rkey=0x%08x", p->at[PKT_CAP].len ? "" : " rtgt",
		    be64(b), be32(b + 8));
	if (p->at[PKT_RTGT_REP].len || p->at[PKT_CAP].len == 20)
		add(l, " len=%" PRIu64, be64(b + 12));
	else if (p->at[PKT_CAP].len == 16)
		add(l, " len=%u", be32(b + 12));
	if (p->at[PKT_RTGT_REJ].len)
		add(l, " rtgt: %s", words_rtgt_reason(be16(b + 8)));
}

static void add_cm(struct line *l, const struct pkt *p)
{
	add(l, "CM %s id=0x%08x", pkt_cm_name(p->attr), p->comm_id);
	if (p->remote_comm_id)
		add(l, " remote_id=0x%08x", p->remote_comm_id);
	switch (p->attr) {
	case PKT_CM_REQ:
		add(l, " service=0x%016" PRIx64 " qp=%u psn=%u mtu=%u", p->service_id, p->cm_qpn,
		    p->cm_psn, p->path_mtu - 1u < 5 ? 128u << p->path_mtu : 0);
		break;
	case PKT_CM_REP:
		add(l, " qp=%u psn=%u", p->cm_qpn, p->cm_psn);
		break;
	case PKT_CM_REJ:
		add(l, " reason=%u: %s", p->reason, pkt_reject_name(p->reason));
		break;
	case PKT_CM_DREQ:
		add(l, " remote_qp=%u", p->cm_qpn);
		break;
	case PKT_CM_SIDR_REQ:
		add(l, " service=0x%016" PRIx64, p->service_id);
		break;
	case PKT_CM_SIDR_REP:
		add(l, " status=%u qp=%u qkey=0x%08x", p->reason, p->cm_qpn, p->qkey);
		break;
	}
	add_private(l, p);
}

static void add_iwarp(struct line *l, const struct pkt *p)
{
	const uint8_t *mpa = pkt_bytes(p, PKT_MPA), *ddp = pkt_bytes(p, PKT_DDP),
		*rdmap = pkt_bytes(p, PKT_RDMAP);
	const char *name;

	if (p->at[PKT_MPA].variant != PKT_MPA_FPDU) {
		add(l, "MPA %s rev=%u%s%s%s", p->at[PKT_MPA].variant == PKT_MPA_REQUEST
		    ? "Request" : "Reply",
		    mpa[17], mpa[16] & 0x80 ? " markers" : "", mpa[16] & 0x40 ? " crc" : "",
		    mpa[16] & 0x20 ? " rejected" : "");
		add_private(l, p);
		return;
	}
	if (!rdmap) {
		add(l, "FPDU");
		return;
	}
	name = pkt_rdmap_name(p->at[PKT_RDMAP].variant);
	add(l, "%s", name ? name : "unknown opcode");
	if (p->at[PKT_DDP].variant)
		add(l, " stag=0x%08x to=0x%" PRIx64, be32(ddp + 2), be64(ddp + 6));
	else
		add(l, " msn=%u", be32(ddp + 10));
	if (p->at[PKT_RDMAP].variant == PKT_RDMAP_READ_REQUEST && p->at[PKT_RDMAP].len > 17)
		add(l, " size=%u stag=0x%08x to=0x%" PRIx64, be32(rdmap + 29), be32(rdmap + 33),
		    be64(rdmap + 37));
	if (p->at[PKT_PAYLOAD].len)
		add(l, " payload=%u", p->at[PKT_PAYLOAD].len);
	if (ddp[0] & 0x40)
		add(l, " last");
}

/* IEEE 802.1Q 36: a port asks its neighbour to send nothing for a while */
static void add_mac_control(struct line *l, const struct pkt *p)
{
	const uint8_t *b = pkt_bytes(p, PKT_PAYLOAD);
	const uint32_t len = p->at[PKT_PAYLOAD].len;

	if (len >= 4 && be16(b) == 1) {
		add(l, "PAUSE quanta=%u", be16(b + 2));
	} else if (len >= 20 && be16(b) == 0x101) {
		add(l, "PFC");
		for (unsigned int priority = 0; priority < 8; priority++)
			if (b[3] & 1u << priority)
				add(l, " priority%u=%u", priority, be16(b + 4 + 2 * priority));
	} else {
		add(l, "MAC control");
	}
}

static void add_other(struct line *l, const struct pkt *p)
{
	const char *name = NULL;

	if (p->at[PKT_ETH].len && be16(pkt_bytes(p, PKT_ETH) + 12) == ETHERTYPE_MAC_CONTROL) {
		add_mac_control(l, p);
	} else if (p->at[PKT_TCP].len || p->at[PKT_UDP].len) {
		add(l, "%s %u > %u", p->at[PKT_TCP].len ? "TCP" : "UDP", p->sport, p->dport);
	} else if (p->at[PKT_ICMP].len) {
		add(l, "ICMP%s type=%u", p->ip_version == 6 ? "v6" : "", pkt_bytes(p, PKT_ICMP)[0]);
	} else if (p->at[PKT_ARP].len) {
		add(l, "ARP %s", pkt_bytes(p, PKT_ARP)[7] == 1 ? "who has" : "answer");
	} else if (p->ip_version == 4) {
		name = words_protocol(pkt_bytes(p, PKT_IP4)[9]);
		add(l, "IPv4 %s", name ? name : "");
	} else if (p->ip_version == 6) {
		add(l, "IPv6");
	} else {
		if (p->at[PKT_ETH].len)
			name = words_ethertype(be16(pkt_bytes(p, PKT_ETH) + 12));
		add(l, "%s", name ? name : "not IP");
	}
	if (p->at[PKT_PAYLOAD].len)
		add(l, " payload=%u", p->at[PKT_PAYLOAD].len);
}

/**
 * pkt_line() - a packet in one line
 * @p: parsed
 * @buf: where to; ends with a NUL
 * @size: room there; 256 bytes are enough
 *
 * Return: bytes written without the NUL.
 */
size_t pkt_line(const struct pkt *p, char *buf, size_t size)
{
	struct line l = { buf, size, 0 };

	if (p->kind == PKT_ROCE_CM)
		add_cm(&l, p);
	else if (p->kind == PKT_ROCE || p->kind == PKT_CNP)
		add_roce(&l, p);
	else if (p->kind == PKT_IWARP)
		add_iwarp(&l, p);
	else
		add_other(&l, p);
	if (p->icrc == PKT_ICRC_BAD)
		add(&l, p->kind == PKT_IWARP ? " CRC WRONG" : " ICRC WRONG");
	if (p->fault)
		add(&l, " (%s)", pkt_fault_name(p->fault));
	return l.at;
}
