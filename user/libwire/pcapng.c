// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Files in the format pcapng (IETF draft-ietf-opsawg-pcapng), which libpcap reads only if all
 * packets are of one link layer, snap length and section; files that mergecap and Wireshark wrote
 * are often not such.
 *
 * A file is blocks, each with its type and, twice, its length.  A section header tells the order
 * of bytes of what follows and forgets the interfaces before it; an interface description tells
 * link layer and unit of time; the three kinds of blocks with a packet are read, and all others
 * (statistics, names, comments, keys) are passed over.  One block is in memory at a time.
 *
 * Nothing in a file is believed: a length that is too large or odd, a packet of an interface that
 * was not described, or one that is longer than its block ends the reading with an error.
 */
#include <errno.h>
#include <pcap/dlt.h>
#include <stdlib.h>
#include <string.h>

#include "pcapng.h"

#define SECTION		0x0a0d0d0a	/* the same in both orders of bytes */
#define INTERFACE	1
#define PACKET_OLD	2
#define PACKET_SIMPLE	3
#define PACKET		6

#define ORDER		0x1a2b3c4d
#define LINKTYPE_RAW	101
#define OPT_END		0
#define OPT_NAME	2
#define OPT_TSRESOL	9
#define OPT_TSOFFSET	14

/* A block of a packet of 256 KiB, the largest that captures have, with options */
#define BLOCK_MAX	(1u << 24)
#define INTERFACES_MAX	65536
#define NS_PER_S	1000000000ull

struct interface {
	int link;
	uint32_t snaplen;	/* 0: none */
	uint64_t per_s;		/* ticks of its clock */
	int64_t offset_s;
	bool unwanted;		/* pcapng_only() */
};

struct pcapng {
	FILE *file;
	bool big;		/* this section's order of bytes */
	unsigned int sections;
	struct interface *interface;
	uint32_t nr, room;
	uint8_t *block;		/* what is behind type and length */
	uint32_t len, block_room;
	const char *only;	/* NULL: all interfaces */
	bool has_only;
};

static uint32_t get32(const struct pcapng *ng, const uint8_t *b)
{
	return ng->big ? (uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3] :
			 (uint32_t)b[3] << 24 | b[2] << 16 | b[1] << 8 | b[0];
}

static uint16_t get16(const struct pcapng *ng, const uint8_t *b)
{
	return (uint16_t)(ng->big ? b[0] << 8 | b[1] : b[1] << 8 | b[0]);
}

static uint64_t get64(const struct pcapng *ng, const uint8_t *b)
{
	const uint64_t first = get32(ng, b), second = get32(ng, b + 4);

	return ng->big ? first << 32 | second : second << 32 | first;
}

/* Read exactly so much: 1; 0 at the file's end, if nothing was read; or -EIO */
static int get(struct pcapng *ng, void *to, size_t len, struct rtgt_err *err)
{
	const size_t done = fread(to, 1, len, ng->file);

	if (done == len)
		return 1;
	if (ferror(ng->file))
		return rtgt_fail(err, EIO, "%s", strerror(errno));
	return done ? rtgt_fail(err, EIO, "the file ends within a block") : 0;
}

static int get_all(struct pcapng *ng, void *to, size_t len, struct rtgt_err *err)
{
	int ret = get(ng, to, len, err);

	return ret ? ret : rtgt_fail(err, EIO, "the file ends within a block");
}

/* The order of bytes stands behind the length, which is in that order */
static int section_order(struct pcapng *ng, uint8_t *head, struct rtgt_err *err)
{
	int ret = get_all(ng, head + 8, 4, err);

	if (ret < 0)
		return ret;
	ng->big = false;
	if (get32(ng, head + 8) == ORDER)
		return 1;
	ng->big = true;
	if (get32(ng, head + 8) == ORDER)
		return 1;
	return rtgt_fail(err, EINVAL, "a section header without the byte-order magic 1a2b3c4d");
}

/* The next block: 1 with its @type, 0 at the end, or a negative errno */
static int next_block(struct pcapng *ng, uint32_t *type, struct rtgt_err *err)
{
	uint8_t head[12], tail[4];
	uint32_t len, have;
	int ret = get(ng, head, 8, err);

	if (ret <= 0)
		return ret;
	*type = get32(ng, head);
	have = *type == SECTION ? 4 : 0;
	if (have) {
		ret = section_order(ng, head, err);
		if (ret < 0)
			return ret;
	}
	len = get32(ng, head + 4);
	if (len < 12 + have || len % 4 || len > BLOCK_MAX)
		return rtgt_fail(err, EINVAL, "a block of %u bytes", len);
	ng->len = len - 12;
	if (ng->len > ng->block_room) {
		uint8_t *block = realloc(ng->block, ng->len);

		if (!block)
			return rtgt_fail(err, ENOMEM, "no memory for a block of %u bytes", len);
		ng->block = block;
		ng->block_room = ng->len;
	}
	if (have)
		memcpy(ng->block, head + 8, have);
	if (ng->len > have)
		ret = get_all(ng, ng->block + have, ng->len - have, err);
	if (ret >= 0)
		ret = get_all(ng, tail, 4, err);
	if (ret >= 0 && get32(ng, tail) != len)
		return rtgt_fail(err, EINVAL, "a block has two lengths, %u and %u", len,
				 get32(ng, tail));
	return ret;
}

static int section(struct pcapng *ng, struct rtgt_err *err)
{
	if (ng->len < 16)
		return rtgt_fail(err, EINVAL, "a section header of %u bytes", ng->len + 12);
	if (get16(ng, ng->block + 4) != 1)
		return rtgt_fail(err, EPROTONOSUPPORT, "version %u of pcapng is not known here",
				 get16(ng, ng->block + 4));
	ng->nr = 0;
	ng->sections++;
	return 1;
}

/* Ticks in a second: a power of ten or, with the upper bit, of two; 0: more than there can be */
static uint64_t ticks(uint8_t tsresol)
{
	const unsigned int power = tsresol & 0x7f;
	uint64_t n = 1;

	if (tsresol & 0x80)
		return power < 64 ? n << power : 0;
	for (unsigned int i = 0; i < power; i++) {
		if (n > UINT64_MAX / 10)
			return 0;
		n *= 10;
	}
	return n;
}

static int interface_options(struct pcapng *ng, struct interface *new, struct rtgt_err *err)
{
	uint32_t at = 8;

	while (ng->len - at >= 4) {
		const uint8_t *b = ng->block + at;
		const uint16_t code = get16(ng, b), len = get16(ng, b + 2);
		const uint32_t padded = (len + 3u) & ~3u;

		if (code == OPT_END)
			break;
		if (padded > ng->len - at - 4)
			return rtgt_fail(err, EINVAL, "an option of %u bytes in a block of %u",
					 len, ng->len + 12);
		if (code == OPT_NAME && ng->only && len == strlen(ng->only) &&
		    !memcmp(b + 4, ng->only, len)) {
			new->unwanted = false;
			ng->has_only = true;
		}
		if (code == OPT_TSRESOL && len == 1)
			new->per_s = ticks(b[4]);
		if (code == OPT_TSOFFSET && len == 8)
			new->offset_s = (int64_t)get64(ng, b + 4);
		at += 4 + padded;
	}
	if (!new->per_s)
		return rtgt_fail(err, EINVAL, "an interface's unit of time is too small");
	return 1;
}

static int interface(struct pcapng *ng, struct rtgt_err *err)
{
	struct interface *new;
	int ret;

	if (ng->len < 8)
		return rtgt_fail(err, EINVAL, "an interface description of %u bytes",
				 ng->len + 12);
	if (ng->nr == INTERFACES_MAX)
		return rtgt_fail(err, EINVAL, "more than %u interfaces", INTERFACES_MAX);
	if (ng->nr == ng->room) {
		const uint32_t room = ng->room ? 2 * ng->room : 8;

		new = realloc(ng->interface, room * sizeof(*new));
		if (!new)
			return rtgt_fail(err, ENOMEM, "no memory");
		ng->interface = new;
		ng->room = room;
	}
	new = &ng->interface[ng->nr];
	*new = (struct interface) { .link = get16(ng, ng->block), .per_s = 1000000,
				    .snaplen = get32(ng, ng->block + 4), .unwanted = ng->only };
	ret = interface_options(ng, new, err);
	if (ret > 0)
		ng->nr++;
	return ret;
}

static uint64_t nanoseconds(const struct interface *i, uint64_t t)
{
	const uint64_t s = t / i->per_s + (uint64_t)i->offset_s, rest = t % i->per_s;

	return s * NS_PER_S + (uint64_t)((__uint128_t)rest * NS_PER_S / i->per_s);
}

/* A packet whose bytes begin at @at of the block */
static int packet(struct pcapng *ng, struct pkt *p, uint32_t index, uint32_t at, int *link,
		  struct rtgt_err *err)
{
	if (index >= ng->nr)
		return rtgt_fail(err, EINVAL, "it is of interface %u, which is not described",
				 index);
	if (p->caplen > ng->len - at)
		return rtgt_fail(err, EINVAL, "%u bytes of it in a block of %u", p->caplen,
				 ng->len + 12);
	p->data = ng->block + at;
	*link = ng->interface[index].link == LINKTYPE_RAW ? DLT_RAW : ng->interface[index].link;
	return 1;
}

static int packet_full(struct pcapng *ng, struct pkt *p, uint32_t index, int *link,
		       struct rtgt_err *err)
{
	const uint8_t *b = ng->block;

	p->caplen = get32(ng, b + 12);
	p->len = get32(ng, b + 16);
	if (index < ng->nr)
		p->ns = nanoseconds(&ng->interface[index],
				    (uint64_t)get32(ng, b + 4) << 32 | get32(ng, b + 8));
	return packet(ng, p, index, 20, link, err);
}

/* Of the first interface, without a time, and as long as that keeps of a packet */
static int packet_simple(struct pcapng *ng, struct pkt *p, int *link, struct rtgt_err *err)
{
	const uint32_t snaplen = ng->nr ? ng->interface[0].snaplen : 0;

	p->len = get32(ng, ng->block);
	p->caplen = snaplen && snaplen < p->len ? snaplen : p->len;
	p->ns = 0;
	return packet(ng, p, 0, 4, link, err);
}

static bool unwanted(const struct pcapng *ng, uint32_t index)
{
	return index < ng->nr && ng->interface[index].unwanted;
}

/**
 * pcapng_next() - the next packet
 * @ng: open
 * @p: data, caplen, len and ns are set when 1 is returned; the bytes are there until the next call
 * @link: DLT_* of its interface
 * @err: filled in when the return value is negative
 *
 * The number of a link layer in a file is a LINKTYPE_*, which is equal to the DLT_* of all that
 * libwire knows but raw IP.
 *
 * Return: 1, 0 at the end, or a negative errno.
 */
int pcapng_next(struct pcapng *ng, struct pkt *p, int *link, struct rtgt_err *err)
{
	static const uint32_t shortest[] = { [PACKET_OLD] = 20, [PACKET_SIMPLE] = 4,
					     [PACKET] = 20 };
	uint32_t type;
	int ret;

	while ((ret = next_block(ng, &type, err)) > 0) {
		if (!ng->sections && type != SECTION)
			return rtgt_fail(err, EINVAL, "no section header");
		if (type <= PACKET && ng->len < shortest[type])
			return rtgt_fail(err, EINVAL, "a packet's block of %u bytes",
					 ng->len + 12);
		if ((type == PACKET && unwanted(ng, get32(ng, ng->block))) ||
		    (type == PACKET_OLD && unwanted(ng, get16(ng, ng->block))) ||
		    (type == PACKET_SIMPLE && unwanted(ng, 0)))
			continue;
		if (type == PACKET)
			return packet_full(ng, p, get32(ng, ng->block), link, err);
		if (type == PACKET_OLD)
			return packet_full(ng, p, get16(ng, ng->block), link, err);
		if (type == PACKET_SIMPLE)
			return packet_simple(ng, p, link, err);
		ret = type == SECTION ? section(ng, err) :
		      type == INTERFACE ? interface(ng, err) : 1;
		if (ret < 0)
			return ret;
	}
	if (!ret && ng->only && !ng->has_only)
		return rtgt_fail(err, ENODEV, "the file has no interface %s", ng->only);
	return ret;
}

/**
 * pcapng_only() - read the packets of one interface
 * @ng: open, nothing was read
 * @interface: its name in the file, which stays valid
 */
void pcapng_only(struct pcapng *ng, const char *interface)
{
	ng->only = interface;
}

/**
 * pcapng_open() - read a file
 * @file: at its beginning; pcapng_close() closes it
 *
 * Return: the reader; NULL without memory, and then the caller still owns @file.
 */
struct pcapng *pcapng_open(FILE *file)
{
	struct pcapng *ng = calloc(1, sizeof(*ng));

	if (ng)
		ng->file = file;
	return ng;
}

/**
 * pcapng_close() - end reading
 * @ng: what pcapng_open() made, or NULL
 */
void pcapng_close(struct pcapng *ng)
{
	if (!ng)
		return;
	fclose(ng->file);
	free(ng->interface);
	free(ng->block);
	free(ng);
}
