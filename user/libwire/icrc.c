// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The invariant CRC: the CRC-32 of Ethernet and zlib over the packet from InfiniBand's local
 * routing header on (InfiniBand Architecture Specification, volume 1, 7.8.1), with all ones in
 * the place of what switches and routers change.  RoCE, which has none, puts eight bytes of ones
 * there; behind it is a GRH, or an IP header (annexes A16 and A17).  On the wire the low byte
 * comes first.
 */
#include <string.h>
#include <zlib.h>

#include "parse.h"

/* The longest headers with something masked: extension headers are not limited */
#define MASKED_MAX	256

/* IPv6, or a GRH: traffic class, flow label, hop limit */
static void mask_ip6(uint8_t *h)
{
	h[0] |= 0x0f;
	memset(h + 1, 0xff, 3);
	h[7] = 0xff;
}

/* Type of service, time to live, checksum */
static void mask_ip4(uint8_t *h)
{
	h[1] = 0xff;
	h[8] = 0xff;
	memset(h + 10, 0xff, 2);
}

/**
 * pkt_check_icrc() - is the ICRC the one it should be?
 * @p: taken apart up to the payload; icrc and icrc_want are set
 * @end: behind the last byte that it covers, which was captured
 */
void pkt_check_icrc(struct pkt *p, uint32_t end)
{
	const uint32_t lrh = p->at[PKT_LRH].off, grh = p->at[PKT_GRH].off;
	const uint32_t ip = p->at[PKT_IP4].len ? p->at[PKT_IP4].off : p->at[PKT_IP6].off;
	const uint32_t begin = p->at[PKT_LRH].len ? lrh : p->at[PKT_GRH].len ? grh : ip;
	const uint32_t masked = p->at[PKT_BTH].off + p->at[PKT_BTH].len - begin;
	uint8_t head[8 + MASKED_MAX], *h = head + 8;
	const uint8_t *icrc = pkt_bytes(p, PKT_ICRC);
	uLong crc = 0;

	if (masked > MASKED_MAX)
		return;
	memset(head, 0xff, 8);
	memcpy(h, p->data + begin, masked);
	if (p->at[PKT_LRH].len)
		h[0] |= 0xf0;				/* virtual lane */
	else
		crc = crc32(0, head, 8);
	if (p->at[PKT_GRH].len)
		mask_ip6(h + (grh - begin));
	else if (p->at[PKT_IP6].len)
		mask_ip6(h);
	else if (p->at[PKT_IP4].len)
		mask_ip4(h);
	if (p->at[PKT_UDP].len)				/* checksum */
		memset(h + (p->at[PKT_UDP].off - begin) + 6, 0xff, 2);
	h[p->at[PKT_BTH].off - begin + 4] = 0xff;	/* FECN, BECN, reserved */
	crc = crc32(crc, h, masked);
	crc = crc32(crc, p->data + begin + masked, end - begin - masked);
	p->icrc_want = (uint32_t)crc;
	p->icrc = icrc[0] == (crc & 0xff) && icrc[1] == (crc >> 8 & 0xff) &&
		  icrc[2] == (crc >> 16 & 0xff) && icrc[3] == (crc >> 24 & 0xff) ?
		  PKT_ICRC_OK : PKT_ICRC_BAD;
}
