// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * iWARP on a TCP stream: MPA's request and reply with their private data, and FPDUs with
 * DDP and RDMAP inside (RFC 5040, 5041, 5044; the depths of RFC 6581).
 */
#include <string.h>

#include "iwarp.h"
#include "parse.h"

#define MPA_FRAME	20	/* key, flags, revision, length of the private data */
#define DEPTHS		4
#define DDP_TAGGED	14
#define DDP_UNTAGGED	18
#define CRC_LEN		4
#define READ_REQUEST	28
#define TERMINATE	4

/* CRC-32C, the polynomial of iSCSI */
uint32_t mpa_crc(const uint8_t *b, size_t len)
{
	static uint32_t table[256];
	uint32_t crc = ~0u;

	if (!table[1]) {
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;

			for (int bit = 0; bit < 8; bit++)
				c = c >> 1 ^ (c & 1 ? 0x82f63b78 : 0);
			table[i] = c;
		}
	}
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *b++) & 0xff];
	return ~crc;
}

bool mpa_crc_ok(const uint8_t *b, size_t len)
{
	const uint32_t crc = mpa_crc(b, len - CRC_LEN);

	b += len - CRC_LEN;
	return b[0] == (crc & 0xff) && b[1] == (crc >> 8 & 0xff) && b[2] == (crc >> 16 & 0xff) &&
	       b[3] == crc >> 24;
}

static void parse_frame(struct parse *s, enum pkt_mpa what)
{
	struct pkt *p = s->p;
	const uint8_t *h = parse_take(s, PKT_MPA, s->end);

	if (!h)
		return;
	p->at[PKT_MPA].variant = (uint8_t)what;
	s->at = MPA_FRAME;
	/* With the bit S of revision 2 the depths of READs come first */
	if (h[17] > 1 && h[16] & MPA_ENHANCED && !parse_take(s, PKT_MPA_DEPTHS, DEPTHS))
		return;
	if (s->end == s->at)
		return;
	parse_take(s, PKT_PRIVATE, s->end - s->at);
	p->at[PKT_PRIVATE].variant = PKT_ANY_VARIANT - 1;
	if (what == PKT_MPA_REQUEST)
		pkt_private_kind(p, PKT_CM_REQ);
	else
		pkt_private_kind(p, h[16] & MPA_REJECT ? PKT_CM_REJ : PKT_CM_REP);
}

/* Of RDMAP's header one byte is within DDP's; what it says of the rest is behind */
static void parse_rdmap(struct parse *s, const uint8_t *ddp, uint32_t ddp_len)
{
	struct pkt *p = s->p;
	const uint8_t op = ddp[1] & 0xf;
	uint32_t more = 0;

	if (op == PKT_RDMAP_READ_REQUEST)
		more = READ_REQUEST;
	else if (op == PKT_RDMAP_TERMINATE)
		more = TERMINATE;
	p->at[PKT_RDMAP].off = p->at[PKT_DDP].off + 1;
	p->at[PKT_RDMAP].len = ddp_len - 1;
	p->at[PKT_RDMAP].variant = op;
	if (op > PKT_RDMAP_ATOMIC_RESPONSE)
		pkt_wrong(p, PKT_OPCODE);
	if (!more)
		return;
	if (ddp[0] & 0x80) {
		pkt_wrong(p, PKT_OPCODE);
	} else if (parse_peek(s, more)) {
		p->at[PKT_RDMAP].len += more;
		s->at += more;
	}
}

static void parse_fpdu(struct parse *s)
{
	struct pkt *p = s->p;
	const uint32_t pad = (0u - be16(p->data) - 2) & 3;
	const uint8_t *ddp;
	uint32_t len;

	parse_take(s, PKT_MPA, 2);
	p->at[PKT_MPA].variant = PKT_MPA_FPDU;
	s->end -= CRC_LEN;
	p->at[PKT_CRC].off = s->end;
	p->at[PKT_CRC].len = CRC_LEN;
	s->end -= pad;
	p->at[PKT_PAD].off = s->end;
	p->at[PKT_PAD].len = pad;
	p->at[PKT_PAD].variant = 1;
	ddp = parse_peek(s, 2);
	if (!ddp)
		return;
	len = ddp[0] & 0x80 ? DDP_TAGGED : DDP_UNTAGGED;
	if (!parse_take(s, PKT_DDP, len))
		return;
	p->at[PKT_DDP].variant = ddp[0] >> 7;
	if ((ddp[0] & 3) != 1 || ddp[1] >> 6 > 1)
		pkt_wrong(p, PKT_VERSION);
	parse_rdmap(s, ddp, len);
	parse_rest(s);
}

void mpa_parse(struct pkt *p, enum pkt_mpa what)
{
	struct parse s = { .p = p, .end = p->len };

	p->kind = PKT_IWARP;
	if (what == PKT_MPA_FPDU)
		parse_fpdu(&s);
	else
		parse_frame(&s, what);
}
