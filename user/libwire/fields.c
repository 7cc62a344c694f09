// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reading by the table of fields: is a field there, its value as a number and as text.
 *
 * The texts are what tshark prints for the same field.  They are written digit by digit,
 * since printf() would take most of the time of "explain -T fields".
 */
#include <arpa/inet.h>
#include <string.h>

#include "fields.h"

/* ::ffff:0:0/96, in which a GID carries an IPv4 address */
static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

/**
 * pkt_has_layout() - does a packet have a header, in this variant?
 * @p: parsed
 * @l: of pkt_layouts
 *
 * Return: true if it does.
 */
bool pkt_has_layout(const struct pkt *p, const struct pkt_layout *l)
{
	if (l->header == PKT_FRAME)
		return true;
	return p->at[l->header].len &&
	       (l->variant == PKT_ANY_VARIANT || l->variant == p->at[l->header].variant);
}

static const uint8_t *first_byte(const struct pkt *p, const struct pkt_layout *l,
				 const struct pkt_field *f)
{
	return p->data + p->at[l->header].off + f->bit / 8;
}

/**
 * pkt_has_field() - is a field in a packet?
 * @p: parsed, pkt_has_layout()
 * @l: of pkt_layouts
 * @f: of @l
 *
 * Return: true if it is.
 */
bool pkt_has_field(const struct pkt *p, const struct pkt_layout *l, const struct pkt_field *f)
{
	if (l->header == PKT_FRAME)
		return true;
	if (((uint32_t)f->bit + f->bits + 7) / 8 > p->at[l->header].len)
		return false;
	if (f->format == PKT_GID4 || f->format == PKT_GID6)
		return !memcmp(first_byte(p, l, f), mapped,
			       sizeof(mapped)) == (f->format == PKT_GID4);
	return true;
}

static uint64_t member(const struct pkt *p, const struct pkt_field *f)
{
	const char *at = (const char *)p + f->bit / 8;
	uint64_t v64;
	uint32_t v32;

	if (f->bits == 64) {
		memcpy(&v64, at, sizeof(v64));
		return v64;
	}
	memcpy(&v32, at, sizeof(v32));
	return v32;
}

/**
 * pkt_field_value() - a field as a number
 * @p: parsed, pkt_has_field()
 * @l: of pkt_layouts
 * @f: of @l
 *
 * Return: the bits; of those that are longer than 64 bits, the last 64.
 */
uint64_t pkt_field_value(const struct pkt *p, const struct pkt_layout *l, const struct pkt_field *f)
{
	const uint32_t end = (uint32_t)f->bit + f->bits, left = -end & 7;
	const uint8_t *b, *last;
	uint64_t v = 0;

	if (l->header == PKT_FRAME)
		return member(p, f);
	b = p->data + p->at[l->header].off + f->bit / 8;
	last = p->data + p->at[l->header].off + (end + 7) / 8;
	/* The bits of the first byte in front of the field go, then those behind it */
	if (b < last)
		v = *b++ & 0xffu >> (f->bit & 7);
	while (b < last - 1)
		v = v << 8 | *b++;
	if (b < last)
		v = v << (8 - left) | *b >> left;
	else
		v >>= left;
	return f->format == PKT_DEC4 ? v * 4 : v;
}

static size_t print_dec(char *buf, uint64_t v)
{
	char digits[20];
	size_t n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	for (size_t i = 0; i < n; i++)
		buf[i] = digits[n - 1 - i];
	return n;
}

static size_t print_digits(char *buf, uint64_t v, unsigned int digits)
{
	for (unsigned int i = digits; i--; v >>= 4)
		buf[i] = "0123456789abcdef"[v & 0xf];
	return digits;
}

static size_t print_hex(char *buf, uint64_t v, unsigned int digits)
{
	memcpy(buf, "0x", 2);
	return 2 + print_digits(buf + 2, v, digits);
}

static unsigned int digits_of(unsigned int bits)
{
	return bits <= 32 ? (bits + 7) / 8 * 2 : 16;
}

static size_t print_bytes(char *buf, size_t size, const uint8_t *b, size_t len)
{
	if (len > size / 2)
		len = size / 2;
	for (size_t i = 0; i < len; i++)
		print_digits(buf + 2 * i, b[i], 2);
	return 2 * len;
}

static size_t print_ether(char *buf, const uint8_t *b)
{
	for (size_t i = 0; i < 6; i++) {
		print_digits(buf + 3 * i, b[i], 2);
		buf[3 * i + 2] = ':';
	}
	return 17;
}

static size_t print_ip4(char *buf, const uint8_t *b)
{
	size_t n = 0;

	for (size_t i = 0; i < 4; i++) {
		n += print_dec(buf + n, b[i]);
		buf[n++] = '.';
	}
	return n - 1;
}

static size_t print_ip6(char *buf, const uint8_t *b)
{
	char text[INET6_ADDRSTRLEN];
	size_t n;

	inet_ntop(AF_INET6, b, text, sizeof(text));
	n = strlen(text);
	memcpy(buf, text, n);
	return n;
}

static size_t print_time(char *buf, uint64_t ns)
{
	size_t n = print_dec(buf, ns / 1000000000);

	buf[n++] = '.';
	ns %= 1000000000;
	for (size_t i = 9; i--; ns /= 10)
		buf[n + i] = (char)('0' + ns % 10);
	return n + 9;
}

static size_t print_since(char *buf, const struct pkt *p)
{
	/* A capture need not be in the order of its times */
	if (p->ns >= p->first_ns)
		return print_time(buf, p->ns - p->first_ns);
	*buf = '-';
	return 1 + print_time(buf + 1, p->first_ns - p->ns);
}

static size_t print_words(char *buf, size_t size, const char *words)
{
	size_t n = words ? strlen(words) : 0;

	if (n > size)
		n = size;
	memcpy(buf, words ? words : "", n);
	return n;
}

/**
 * pkt_field_print() - a field as text
 * @p: parsed, pkt_has_field()
 * @l: of pkt_layouts
 * @f: of @l
 * @buf: where to; no NUL is written
 * @size: room there, at least PKT_FIELD_MIN; longer texts are cut
 *
 * Return: bytes written.
 */
size_t pkt_field_print(const struct pkt *p, const struct pkt_layout *l, const struct pkt_field *f,
		       char *buf, size_t size)
{
	const uint8_t *b = f->format < PKT_MEMBER ? first_byte(p, l, f) : NULL;

	switch (f->format) {
	case PKT_DEC:
	case PKT_DEC4:
	case PKT_MEMBER:
		return print_dec(buf, pkt_field_value(p, l, f));
	case PKT_BOOL:
		return print_words(buf, size, pkt_field_value(p, l, f) ? "True" : "False");
	case PKT_HEX:
		return print_hex(buf, pkt_field_value(p, l, f), digits_of(f->bits));
	case PKT_HEX32:
		return print_hex(buf, pkt_field_value(p, l, f), 8);
	case PKT_HEX64:
		return print_hex(buf, pkt_field_value(p, l, f), 16);
	case PKT_ETHER:
		return print_ether(buf, b);
	case PKT_IPV4:
		return print_ip4(buf, b);
	case PKT_GID4:
		return print_ip4(buf, b + sizeof(mapped));
	case PKT_IPV6:
	case PKT_GID6:
		return print_ip6(buf, b);
	case PKT_BYTES:
		return print_bytes(buf, size, b, f->bits / 8);
	case PKT_REST:
		return print_bytes(buf, size, b, p->at[l->header].len - f->bit / 8);
	case PKT_TIME:
		return print_time(buf, pkt_field_value(p, l, f));
	case PKT_SINCE:
		return print_since(buf, p);
	case PKT_WORDS:
		return print_words(buf, size, f->words(pkt_field_value(p, l, f)));
	}
	return 0;
}
