// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The invariant CRC of RoCE v2: the CRC-32 of Ethernet and zlib over the packet from the
 * IP header on, with all ones in the place of what routers change, and behind eight
 * bytes of ones which stand for InfiniBand's local routing header.  On the wire the low
 * byte comes first.
 */
#include <string.h>
#include <zlib.h>

#include "parse.h"

/* The longest headers with something masked: extension headers are not limited */
#define MASKED_MAX	256

/**
 * pkt_check_icrc() - is the ICRC the one it should be?
 * @p: taken apart up to the payload; icrc and icrc_want are set
 * @end: behind the last byte that it covers, which was captured
 */
void pkt_check_icrc(struct pkt *p, uint32_t end)
{
	const uint32_t ip = p->ip_version == 4 ? p->at[PKT_IP4].off : p->at[PKT_IP6].off;
	const uint32_t udp = p->at[PKT_UDP].off, bth = p->at[PKT_BTH].off;
	const uint32_t masked = bth + p->at[PKT_BTH].len - ip;
	uint8_t head[8 + MASKED_MAX], *h = head + 8;
	const uint8_t *icrc = pkt_bytes(p, PKT_ICRC);
	uLong crc;

	if (masked > MASKED_MAX)
		return;
	memset(head, 0xff, 8);
	memcpy(h, p->data + ip, masked);
	if (p->ip_version == 4) {
		h[1] = 0xff;			/* type of service */
		h[8] = 0xff;			/* time to live */
		memset(h + 10, 0xff, 2);	/* checksum */
	} else {
		h[0] |= 0x0f;			/* traffic class, flow label */
		memset(h + 1, 0xff, 3);
		h[7] = 0xff;			/* hop limit */
	}
	memset(h + (udp - ip) + 6, 0xff, 2);	/* checksum */
	h[bth - ip + 4] = 0xff;			/* FECN, BECN, reserved */
	crc = crc32(0, head, 8 + masked);
	crc = crc32(crc, p->data + ip + masked, end - ip - masked);
	p->icrc_want = (uint32_t)crc;
	p->icrc = icrc[0] == (crc & 0xff) && icrc[1] == (crc >> 8 & 0xff) &&
		  icrc[2] == (crc >> 16 & 0xff) && icrc[3] == (crc >> 24 & 0xff) ?
		  PKT_ICRC_OK : PKT_ICRC_BAD;
}
