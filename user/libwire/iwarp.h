/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * iWARP: what is in TCP streams.  See iwarp.c.
 */
#ifndef RTGT_PACKET_IWARP_H
#define RTGT_PACKET_IWARP_H

#include "packet.h"

struct iwarp;

struct iwarp *iwarp_new(void);
void iwarp_free(struct iwarp *w);
const struct pkt *iwarp_feed(struct iwarp *w, const struct pkt *segment, unsigned int *nr);

/* mpa.c: one of the things in a stream taken apart; @p as for pkt_parse() */
void mpa_parse(struct pkt *p, enum pkt_mpa what);
/* the CRC of @len bytes; on the wire its lowest byte is first */
uint32_t mpa_crc(const uint8_t *b, size_t len);
/* whether the CRC at the end of @len bytes is that of those before */
bool mpa_crc_ok(const uint8_t *b, size_t len);

#endif /* RTGT_PACKET_IWARP_H */
