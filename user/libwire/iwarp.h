/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * iWARP: what is in TCP streams.  See iwarp.c.
 */
#ifndef RTGT_PACKET_IWARP_H
#define RTGT_PACKET_IWARP_H

#include "packet.h"

/* Flags of MPA's two frames (RFC 5044, 7.1.1); the depths of READs come first (RFC 6581) */
#define MPA_MARKERS	0x80
#define MPA_CRC		0x40
#define MPA_REJECT	0x20
#define MPA_ENHANCED	0x10
#define MPA_PRIVATE_MAX	512
#define MPA_DEPTH_MASK	0x3fff	/* IRD and ORD; all ones: nothing is agreed on */
/* The two bits above each (RFC 6581, 9): a message says that the client is ready, and which may */
#define MPA_READY	0x8
#define MPA_READY_SEND	0x4
#define MPA_READY_WRITE	0x2
#define MPA_READY_READ	0x1

struct iwarp;

struct iwarp *iwarp_new(void);
uint64_t iwarp_forgotten(const struct iwarp *w);
void iwarp_free(struct iwarp *w);
const struct pkt *iwarp_feed(struct iwarp *w, const struct pkt *segment, unsigned int *nr);

/* mpa.c: one of the things in a stream taken apart; @p as for pkt_parse() */
void mpa_parse(struct pkt *p, enum pkt_mpa what);
/* the CRC of @len bytes; on the wire its lowest byte is first */
uint32_t mpa_crc(const uint8_t *b, size_t len);
/* whether the CRC at the end of @len bytes is that of those before */
bool mpa_crc_ok(const uint8_t *b, size_t len);

#endif /* RTGT_PACKET_IWARP_H */
