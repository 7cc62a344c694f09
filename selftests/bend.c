// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * bend IN OUT ACTION...: changes a capture, so that a test knows what is wrong in it.
 *
 *	drop=N			leaves packet N out
 *	dup=N			packet N is there twice
 *	set=N:FIELD=VALUE	a field of packet N; FIELD as in "rtgt explain --list-fields"
 *	grow=N:BYTES		BYTES more at the end of its payload; the padding stays as it is
 *	flip=N			a bit of its last byte in front of the ICRC is another
 *	terminate=N:M		the FPDU of packet N becomes a Terminate that quotes the one of
 *				packet M, which is before it; a "set" behind it tells the error
 *	late=N:M		packet N comes behind packet M
 *	again=N:M		packet N is sent once more behind packet M, and as soon: a copy with
 *				another IP identification
 *	other=N:FIELD=VALUE	a field of the copy that "again" makes of packet N; or "payload":
 *				bits of its first byte are others
 *	from=N			the capture begins with packet N
 *	until=N			and ends before packet N
 *	only=N			the packets of this IP protocol only: 6 is TCP, 17 is UDP
 *
 * Numbers are those of IN.  After a "set" or a "grow" lengths and the ICRC are right
 * again, so that nothing is wrong but what was asked for; after a "flip" the ICRC is
 * wrong.  Of a TCP segment the first FPDU counts that is all in it, and its CRC.
 * Takes what tcpdump and QEMU write: pcap of this machine's byte order, Ethernet, IPv4.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libwire/fields.h"
#include "libwire/iwarp.h"

#define SIZE_MAX_FRAME	65536
#define ACTIONS_MAX	32
#define QUOTE_MAX	46	/* DDP's and RDMAP's headers of a READ request */
#define TERMINATE_AT	20	/* in an FPDU, behind its length and DDP's header */

/* A capture's header and a packet's, as they are in the file */
struct file_header {
	uint32_t magic, version, zone, figures, size, linktype;
};

struct record {
	uint32_t sec, frac, caplen, len;
};

enum verb {
	DROP, DUP, SET, GROW, FLIP, TERMINATE, LATE, AGAIN, OTHER, FROM, UNTIL, ONLY, VERBS
};

static const char *const verbs[] = {
	[DROP] = "drop", [DUP] = "dup", [SET] = "set", [GROW] = "grow", [FLIP] = "flip",
	[TERMINATE] = "terminate", [LATE] = "late",
	[AGAIN] = "again", [OTHER] = "other", [FROM] = "from", [UNTIL] = "until", [ONLY] = "only",
};

/*
 * @value: SET, OTHER: of the field, GROW: bytes, TERMINATE, LATE and AGAIN: the other packet
 * @quote: TERMINATE: headers of that one's FPDU
 */
struct action {
	enum verb verb;
	unsigned long packet;
	char field[64];
	unsigned long long value;
	uint8_t quote[QUOTE_MAX];
	size_t quote_len;
	int done;
};

/* A packet that is written later */
struct held {
	struct record r;
	uint8_t *data;
	unsigned long long behind;
};

static int die(const char *what, const char *why)
{
	fprintf(stderr, "bend: %s: %s\n", what, why);
	return 1;
}

static int parse(struct action *a, const char *word)
{
	char verb[12], rest[160] = "";
	const char *equals;

	memset(a, 0, sizeof(*a));
	if (sscanf(word, "%11[a-z]=%lu%159s", verb, &a->packet, rest) < 2)
		return -1;
	while (strcmp(verb, verbs[a->verb]))
		if (++a->verb == VERBS)
			return -1;
	if (a->verb == DROP || a->verb == DUP || a->verb == FLIP || a->verb >= FROM)
		return rest[0] ? -1 : 0;
	if (rest[0] != ':')
		return -1;
	equals = strchr(rest, '=');
	if (a->verb == SET || a->verb == OTHER) {
		if (!equals || equals - rest - 1 >= (long)sizeof(a->field))
			return -1;
		memcpy(a->field, rest + 1, (size_t)(equals - rest - 1));
	}
	a->value = strtoull((a->field[0] ? equals : rest) + 1, NULL, 0);
	return 0;
}

static void take_apart(struct pkt *p, const uint8_t *data, const struct record *r)
{
	memset(p, 0, sizeof(*p));
	p->data = data;
	p->caplen = r->caplen;
	p->len = r->len;
	pkt_parse(p, 1);
}

static void put(uint8_t *to, unsigned int bits, unsigned int bit, unsigned long long value)
{
	for (unsigned int i = 0; i < bits; i++) {
		unsigned int at = bit + bits - 1 - i;
		uint8_t mask = (uint8_t)(0x80 >> at % 8);

		to[at / 8] = (uint8_t)((to[at / 8] & ~mask) | (value >> i & 1 ? mask : 0));
	}
}

/* The first FPDU or MPA frame that is all in this segment, in @u; where it is, or NULL */
static uint8_t *first_fpdu(struct iwarp *streams, const struct pkt *p, uint8_t *data,
			   struct pkt *u)
{
	const uint32_t off = p->at[PKT_PAYLOAD].off;
	const struct pkt *all;
	unsigned int nr;
	uint8_t *at;

	if (p->kind != PKT_TCP_SEGMENT)
		return NULL;
	all = iwarp_feed(streams, p, &nr);
	for (unsigned int i = 0; i < nr; i++) {
		at = memmem(data + off, p->at[PKT_PAYLOAD].len, all[i].data, all[i].len);
		if (at && all[i].at[PKT_MPA].len) {
			*u = all[i];
			return at;
		}
	}
	return NULL;
}

static void mend_fpdu(const struct pkt *u, uint8_t *fpdu)
{
	const uint32_t off = u->at[PKT_CRC].off, crc = mpa_crc(fpdu, off);

	for (int i = 0; u->at[PKT_CRC].variant && i < 4; i++)
		fpdu[off + (uint32_t)i] = (uint8_t)(crc >> 8 * i);
}

/* An FPDU after a change of its headers */
static void again(struct pkt *u, const uint8_t *fpdu)
{
	const uint8_t crc = u->at[PKT_CRC].variant;

	if (u->at[PKT_MPA].variant != PKT_MPA_FPDU)
		return;
	memset(u->at, 0, sizeof(u->at));
	u->data = fpdu;
	u->fault = PKT_WHOLE;
	mpa_parse(u, PKT_MPA_FPDU);
	u->at[PKT_CRC].variant = crc;
}

/* The headers of an FPDU, for a Terminate that comes later */
static void take_quote(struct action *a, const struct pkt *u, const uint8_t *fpdu)
{
	const bool read = u->at[PKT_RDMAP].variant == PKT_RDMAP_READ_REQUEST;

	a->quote_len = read ? QUOTE_MAX : u->at[PKT_DDP].len;
	memcpy(a->quote, fpdu + u->at[PKT_DDP].off, a->quote_len);
}

static int make_terminate(const struct action *a, struct pkt *u, uint8_t *fpdu)
{
	const size_t len = (size_t)(fpdu[0] << 8 | fpdu[1]) + 2;
	uint8_t *t = fpdu + TERMINATE_AT;

	if (!a->quote_len)
		return die("terminate", "the packet to quote has no FPDU, or is not before");
	if (len < TERMINATE_AT + 6 + a->quote_len)
		return die("terminate", "the FPDU is too short");
	memset(fpdu + 2, 0, len - 2);
	fpdu[2] = 0x41;		/* the last segment, to a queue */
	fpdu[3] = 0x40 | PKT_RDMAP_TERMINATE;
	fpdu[11] = 2;		/* the queue */
	fpdu[15] = 1;		/* MSN */
	/* With the length and the header of DDP, and RDMAP's if it is there */
	t[2] = a->quote_len == QUOTE_MAX ? 0xe0 : 0xc0;
	t[5] = (uint8_t)a->quote_len;
	memcpy(t + 6, a->quote, a->quote_len);
	again(u, fpdu);
	return 0;
}

static int set(const struct action *a, const struct pkt *p, uint8_t *data)
{
	for (const struct pkt_layout *l = pkt_layouts; l->nr; l++) {
		if (!pkt_has_layout(p, l))
			continue;
		for (unsigned int i = 0; i < l->nr; i++) {
			if (strcmp(l->field[i].name, a->field) ||
			    !pkt_has_field(p, l, &l->field[i]) ||
			    l->field[i].bits > 64)
				continue;
			put(data + p->at[l->header].off, l->field[i].bits, l->field[i].bit,
			    a->value);
			return 0;
		}
	}
	return die(a->field, "the packet has no such field");
}

/* IPv4 and UDP count what is behind them */
static void lengthen(uint8_t *data, uint32_t off, unsigned int at, unsigned long long by)
{
	unsigned int len = (unsigned int)(data[off + at] << 8 | data[off + at + 1]) +
		(unsigned int)by;

	data[off + at] = (uint8_t)(len >> 8);
	data[off + at + 1] = (uint8_t)len;
}

static int grow(const struct action *a, const struct pkt *p, uint8_t *data, struct record *r)
{
	uint32_t icrc = p->at[PKT_ICRC].off;

	if (!p->at[PKT_IP4].len || !icrc || r->caplen + a->value > SIZE_MAX_FRAME)
		return die("grow", "not this packet, or not by so much");
	memmove(data + icrc + a->value, data + icrc, r->caplen - icrc);
	memset(data + icrc, 0x42, a->value);
	r->caplen += (uint32_t)a->value;
	r->len += (uint32_t)a->value;
	lengthen(data, p->at[PKT_IP4].off, 2, a->value);
	lengthen(data, p->at[PKT_UDP].off, 4, a->value);
	return 0;
}

static void mend_ip(uint8_t *ip)
{
	unsigned long sum = 0;

	ip[10] = 0;
	ip[11] = 0;
	for (int i = 0; i < (ip[0] & 0xf) * 4; i += 2)
		sum += (unsigned long)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	ip[10] = (uint8_t)(~sum >> 8);
	ip[11] = (uint8_t)~sum;
}

/* Makes right again what a change of the bytes made wrong */
static void mend(uint8_t *data, const struct record *r)
{
	struct pkt p;

	take_apart(&p, data, r);
	if (p.at[PKT_IP4].len)
		mend_ip(data + p.at[PKT_IP4].off);
	take_apart(&p, data, r);
	for (int i = 0; i < 4 && p.icrc == PKT_ICRC_BAD; i++)
		data[p.at[PKT_ICRC].off + i] = (uint8_t)(p.icrc_want >> 8 * i);
}

static unsigned long protocol(const struct pkt *p, const uint8_t *data)
{
	if (p->at[PKT_IP4].len)
		return data[p->at[PKT_IP4].off + 9];
	return p->at[PKT_IP6].len ? data[p->at[PKT_IP6].off + 6] : 0;
}

/* One packet; returns how often it is to be written, negative for an error */
static int bend(struct action *all, int nr, unsigned long number, uint8_t *data, struct record *r,
		struct iwarp *streams)
{
	struct pkt u = {}, segment;
	uint8_t *fpdu;
	int times = 1;

	take_apart(&segment, data, r);
	fpdu = first_fpdu(streams, &segment, data, &u);
	for (struct action *a = all; a < all + nr; a++) {
		struct pkt p;
		int ret = 0;

		if (a->verb == FROM && number < a->packet)
			return 0;
		if (a->verb == UNTIL && number >= a->packet) {
			a->done = 1;
			return 0;
		}
		if (a->verb == ONLY) {
			a->done = 1;
			if (protocol(&segment, data) != a->packet)
				return 0;
		}
		if (a->verb == TERMINATE && a->value == number && fpdu && u.at[PKT_DDP].len)
			take_quote(a, &u, fpdu);
		if (a->verb == ONLY || a->packet != number)
			continue;
		take_apart(&p, data, r);
		a->done = 1;
		if (a->verb == DROP)
			return 0;
		if (a->verb == DUP)
			times = 2;
		else if (a->verb == TERMINATE)
			ret = fpdu ? make_terminate(a, &u, fpdu) : die("terminate", "no FPDU");
		else if (a->verb == SET && fpdu)
			ret = set(a, &u, fpdu);
		else if (a->verb == SET)
			ret = set(a, &p, data);
		else if (a->verb == GROW)
			ret = grow(a, &p, data, r);
		else if (a->verb == FLIP && fpdu && u.at[PKT_CRC].len)
			fpdu[u.at[PKT_CRC].off - 1] ^= 1;
		else if (a->verb == FLIP && p.at[PKT_ICRC].len)
			data[p.at[PKT_ICRC].off - 1] ^= 1;
		if (ret)
			return -1;
		if (a->verb == SET && fpdu)
			again(&u, fpdu);
		if ((a->verb == SET || a->verb == TERMINATE) && fpdu && u.at[PKT_CRC].len)
			mend_fpdu(&u, fpdu);
		else if ((a->verb == SET && !fpdu) || a->verb == GROW)
			mend(data, r);
	}
	return times;
}

static void put_packet(FILE *out, const struct record *r, const uint8_t *data)
{
	fwrite(r, sizeof(*r), 1, out);
	fwrite(data, 1, r->caplen, out);
}

/* Keeps a packet if it is to come late; its time stays, which a file may have out of order */
static bool hold(struct held *held, const struct action *all, int nr, unsigned long number,
		 const struct record *r, const uint8_t *data)
{
	for (const struct action *a = all; a < all + nr; a++) {
		if (a->verb != LATE || a->packet != number || a->value <= number)
			continue;
		held->data = malloc(r->caplen);
		if (!held->data)
			return false;
		memcpy(held->data, data, r->caplen);
		held->r = *r;
		held->behind = a->value;
		return true;
	}
	return false;
}

/* What is sent once more, by AGAIN: written behind another packet */
struct copy {
	struct record r;
	uint8_t data[SIZE_MAX_FRAME];
	unsigned long long behind;
};

static int change(const struct action *a, const struct pkt *p, uint8_t *data)
{
	if (strcmp(a->field, "payload"))
		return set(a, p, data);
	if (!p->at[PKT_PAYLOAD].len)
		return die("other", "the packet has no payload");
	data[p->at[PKT_PAYLOAD].off] ^= (uint8_t)a->value;
	return 0;
}

static int keep_copy(struct copy *c, const struct action *all, int nr, unsigned long number,
		     const struct record *r, const uint8_t *data)
{
	const struct action *of = NULL;
	struct pkt p;

	for (const struct action *a = all; a < all + nr; a++)
		if (a->verb == AGAIN && a->packet == number)
			of = a;
	if (!of)
		return 0;
	memcpy(c->data, data, r->caplen);
	c->r = *r;
	c->behind = of->value;
	take_apart(&p, c->data, &c->r);
	if (!p.at[PKT_IP4].len || !p.at[PKT_BTH].len)
		return die("again", "not a packet of RoCE over IPv4");
	c->data[p.at[PKT_IP4].off + 5] ^= 0x55;
	for (const struct action *a = all; a < all + nr; a++)
		if (a->verb == OTHER && a->packet == number && change(a, &p, c->data))
			return -1;
	mend(c->data, &c->r);
	return 0;
}

static int copy(FILE *in, FILE *out, struct action *all, int nr)
{
	static uint8_t data[2 * SIZE_MAX_FRAME];
	static struct copy kept;
	struct iwarp *streams = iwarp_new();
	struct file_header head;
	struct held held = {};
	struct record r;

	if (fread(&head, sizeof(head), 1, in) != 1 ||
	    (head.magic != 0xa1b2c3d4 && head.magic != 0xa1b23c4d) ||
	    head.linktype != 1)
		return die("input", "no pcap of Ethernet in this machine's byte order");
	fwrite(&head, sizeof(head), 1, out);
	for (unsigned long number = 1; fread(&r, sizeof(r), 1, in) == 1; number++) {
		int times;

		if (r.caplen > SIZE_MAX_FRAME || fread(data, 1, r.caplen, in) != r.caplen)
			return die("input", "cut short");
		times = bend(all, nr, number, data, &r, streams);
		if (times < 0)
			return 1;
		if (times && hold(&held, all, nr, number, &r, data))
			continue;
		if (keep_copy(&kept, all, nr, number, &r, data))
			return 1;
		while (times--)
			put_packet(out, &r, data);
		if (kept.behind == number) {
			kept.r.sec = r.sec;
			kept.r.frac = r.frac;
			put_packet(out, &kept.r, kept.data);
		}
		if (held.data && held.behind == number) {
			put_packet(out, &held.r, held.data);
			free(held.data);
			held.data = NULL;
		}
	}
	if (held.data) {
		free(held.data);
		return die("late", "there is no packet to come behind");
	}
	iwarp_free(streams);
	for (int i = 0; i < nr; i++)
		if (!all[i].done)
			return die(verbs[all[i].verb], "there is no packet of that number");
	return 0;
}

int main(int argc, char **argv)
{
	struct action all[ACTIONS_MAX];
	FILE *in, *out;
	int rc;

	if (argc < 4 || argc > 3 + ACTIONS_MAX)
		return die("usage", "bend IN OUT ACTION...");
	for (int i = 3; i < argc; i++)
		if (parse(&all[i - 3], argv[i]))
			return die(argv[i], "not an action");
	in = fopen(argv[1], "rb");
	if (!in)
		return die(argv[1], strerror(errno));
	out = fopen(argv[2], "wb");
	if (!out)
		return die(argv[2], strerror(errno));
	rc = copy(in, out, all, argc - 3);
	if (fclose(out) && !rc)
		rc = die(argv[2], strerror(errno));
	fclose(in);
	return rc;
}
