/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A packet while it is taken apart: link.c begins, roce.c, mad.c and iwarp.c go on.
 */
#ifndef RTGT_PACKET_PARSE_H
#define RTGT_PACKET_PARSE_H

#include "packet.h"

#define ETHERTYPE_MAC_CONTROL	0x8808

/**
 * struct parse - how far it is
 * @p: the packet
 * @at: the next byte
 * @end: behind the last byte there is according to the headers so far; not all of
 *	 them need have been captured
 */
struct parse {
	struct pkt *p;
	uint32_t at, end;
};

/* The first thing that is wrong counts */
static inline void pkt_wrong(struct pkt *p, enum pkt_fault fault)
{
	if (!p->fault)
		p->fault = fault;
}

/* The next @len bytes, or NULL: there are not so many */
static inline const uint8_t *parse_peek(struct parse *s, uint32_t len)
{
	if (s->at > s->end || len > s->end - s->at) {
		pkt_wrong(s->p, PKT_SHORT);
		return NULL;
	}
	if (s->at > s->p->caplen || len > s->p->caplen - s->at) {
		pkt_wrong(s->p, PKT_CUT);
		return NULL;
	}
	return s->p->data + s->at;
}

/* The same as a header, which is noted and done with */
static inline const uint8_t *parse_take(struct parse *s, enum pkt_header header, uint32_t len)
{
	const uint8_t *bytes = parse_peek(s, len);

	if (bytes) {
		s->p->at[header].off = s->at;
		s->p->at[header].len = len;
		s->at += len;
	}
	return bytes;
}

static inline uint16_t be16(const uint8_t *b)
{
	return (uint16_t)(b[0] << 8 | b[1]);
}

static inline uint32_t be24(const uint8_t *b)
{
	return (uint32_t)b[0] << 16 | be16(b + 1);
}

static inline uint32_t be32(const uint8_t *b)
{
	return (uint32_t)be16(b) << 16 | be16(b + 2);
}

static inline uint64_t be64(const uint8_t *b)
{
	return (uint64_t)be32(b) << 32 | be32(b + 4);
}

void parse_roce(struct parse *s);
void parse_mad(struct parse *s);
void parse_rest(struct parse *s);
void pkt_private_kind(struct pkt *p, unsigned int attr);

#endif /* RTGT_PACKET_PARSE_H */
