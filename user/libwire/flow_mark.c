// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What is remembered of a packet, to know it again: who sends a request again sends the same bytes.
 */
#include <string.h>
#include <zlib.h>

#include "flow_priv.h"
#include "parse.h"

static uint32_t checksum(uint32_t crc, const void *bytes, size_t len)
{
	return (uint32_t)crc32(crc, bytes, (uInt)len);
}

/**
 * flow_mark_of() - what is remembered of a packet
 * @m: filled in
 * @p: a packet of RoCE
 */
void flow_mark_of(struct flow_mark *m, const struct pkt *p)
{
	const uint8_t *icrc = pkt_bytes(p, PKT_ICRC), *ip = pkt_bytes(p, PKT_IP4);
	const uint8_t *feth = pkt_bytes(p, PKT_FETH);
	/* a Fetch Add has that field, too, but nobody reads it (9.4.5.2): it may hold anything */
	const uint64_t compare = (p->opcode & 0x1f) == PKT_COMPARE_SWAP ? p->compare : 0;
	const uint64_t words[] = { p->va, p->swap, compare, p->at[PKT_PAYLOAD].len };
	const uint32_t halves[] = { p->rkey, p->dma_len, p->imm, p->inv_rkey };

	memset(m, 0, sizeof(*m));
	m->psn = p->psn;
	m->ns = p->ns;
	m->packet = p->number;
	m->opcode = p->opcode;
	m->orig = p->orig;
	if (icrc)
		memcpy(&m->icrc, icrc, 4);
	if (ip)
		m->ip_id = ip[4] << 8 | ip[5];
	m->headers = checksum(checksum(0, words, sizeof(words)), halves, sizeof(halves));
	if (feth)
		m->headers = checksum(m->headers, feth, p->at[PKT_FETH].len);
	m->whole = p->fault == PKT_WHOLE;
	if (m->whole && p->at[PKT_PAYLOAD].len)
		m->payload = checksum(0, pkt_bytes(p, PKT_PAYLOAD), p->at[PKT_PAYLOAD].len);
}
