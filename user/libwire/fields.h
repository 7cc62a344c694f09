/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The table of fields: every field of every header by its place, its name and how its
 * value reads.  table.c holds it, fields.c reads by it; all that shows fields goes by it.
 */
#ifndef RTGT_PACKET_FIELDS_H
#define RTGT_PACKET_FIELDS_H

#include "packet.h"

/* How a value is printed; what tshark prints where it knows the field */
enum pkt_format {
	PKT_DEC,
	PKT_DEC4,	/* in units of four */
	/* 0x and as many digits as the 8, 16, 24, 32 or 64 bits take that hold it */
	PKT_HEX,
	PKT_HEX32,	/* 0x and 8 digits, however few bits it has */
	PKT_HEX64,	/* likewise 16 */
	PKT_BOOL,	/* True or False */
	PKT_ETHER, PKT_IPV4, PKT_IPV6,
	PKT_GID4,	/* the IPv4 address in a GID; there is no such field in other GIDs */
	PKT_GID6,	/* the other GIDs */
	PKT_BYTES,	/* hexadecimal digits */
	PKT_REST,	/* the same, to the end of the header; bits is 0 */
	PKT_MEMBER,	/* not in the bytes: a member of struct pkt, a decimal number */
	PKT_TIME,	/* likewise: nanoseconds, as seconds with nine decimals */
	PKT_SINCE,	/* likewise, from the capture's first packet on */
	PKT_WORDS,	/* likewise: what @words makes of it */
};

/**
 * struct pkt_field - a field of a header
 * @name: tshark's, or one that begins with "rtgt."
 * @label: what it is, in a few words
 * @bit: from the header's first bit on; of a member, its offset in struct pkt, in bits
 * @bits: how many
 * @format: how its value is printed
 * @words: what a value means, NULL if it speaks for itself; may return NULL
 */
struct pkt_field {
	const char *name, *label;
	uint16_t bit, bits;
	enum pkt_format format;
	const char *(*words)(uint64_t value);
};

/**
 * struct pkt_layout - a header, or what one of its variants has beyond the others
 * @header: which
 * @variant: PKT_ANY_VARIANT, or the pkt.at[].variant it is for
 * @field: in the order of the bits
 * @nr: how many
 */
struct pkt_layout {
	enum pkt_header header;
	uint8_t variant;
	const struct pkt_field *field;
	unsigned int nr;
};

extern const struct pkt_layout pkt_layouts[];	/* the last has no fields */

/* Room for any field but bytes */
#define PKT_FIELD_MIN 64

bool pkt_has_layout(const struct pkt *p, const struct pkt_layout *l);
bool pkt_has_field(const struct pkt *p, const struct pkt_layout *l, const struct pkt_field *f);
uint64_t pkt_field_value(const struct pkt *p, const struct pkt_layout *l,
			 const struct pkt_field *f);
size_t pkt_field_print(const struct pkt *p, const struct pkt_layout *l, const struct pkt_field *f,
		       char *buf, size_t size);

#endif /* RTGT_PACKET_FIELDS_H */
