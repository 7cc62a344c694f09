// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What rules do to frames, and frames that wait.
 *
 * A frame that waits is in a list, in the order in which they leave.  One that others have to
 * overtake waits for these, or for HELD_NS, if they do not come: a rule delays, and only "drop"
 * loses a frame.
 *
 * After a "forge" the ICRC is right again, so that only the program at the other end can notice
 * another byte of the data, and the device judges another value of a field.  After a "mark" IPv4's
 * checksum is right.  "corrupt" leaves the sums as they are.
 */
#include <pcap/dlt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bridge.h"
#include "libwire/fields.h"

#define HELD_NS		1000000000ull
#define HELD_BYTES	(256u << 20)
#define CE		3	/* ECN: congestion experienced */

/**
 * bridge_now() - CLOCK_MONOTONIC in nanoseconds
 */
uint64_t bridge_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void put_behind(struct bridge *b, struct bridge_frame *f, struct bridge_frame *prev)
{
	f->prev = prev;
	f->next = prev ? prev->next : b->first;
	*(f->next ? &f->next->prev : &b->last) = f;
	*(prev ? &prev->next : &b->first) = f;
}

/* Those of one moment keep their order */
static void hold(struct bridge *b, struct bridge_frame *f)
{
	struct bridge_frame *prev = b->last;

	if (b->held + f->len > HELD_BYTES) {
		b->port[f->from].lost++;
		free(f);
		return;
	}
	f->at = f->due;
	if (f->behind)
		f->at = (f->due ? f->due : bridge_now()) + HELD_NS;
	b->held += f->len;
	b->overtaken += f->behind > 0;
	while (prev && prev->at > f->at)
		prev = prev->prev;
	put_behind(b, f, prev);
}

static void take_out(struct bridge *b, struct bridge_frame *f)
{
	b->held -= f->len;
	b->overtaken -= f->behind > 0;
	*(f->prev ? &f->prev->next : &b->first) = f->next;
	*(f->next ? &f->next->prev : &b->last) = f->prev;
}

static void send_to_all(struct bridge *b, struct bridge_frame *f)
{
	for (unsigned int i = 0; i < b->ports; i++)
		if (f->to & 1u << i && bridge_port_send(&b->port[i], f))
			bridge_capture(b, f, i, true, NULL);
}

/*
 * @f has left.  Those that waited for it, and for no more, leave behind @last, or when they are
 * due.  Return: the last one that leaves.
 */
static struct bridge_frame *overtaken(struct bridge *b, const struct bridge_frame *f,
				      struct bridge_frame *last)
{
	struct bridge_frame *h, *next;

	for (h = b->first; h; h = next) {
		next = h->next;
		if (!h->behind || h->from != f->from || h->number >= f->number)
			continue;
		if (h->behind > 1) {
			h->behind--;
			continue;
		}
		take_out(b, h);
		h->behind = 0;
		if (h->due > bridge_now()) {
			hold(b, h);
			continue;
		}
		h->next = NULL;
		last->next = h;
		last = h;
	}
	return last;
}

/**
 * bridge_leave() - a frame leaves now, or when it may
 * @b: bridge
 * @f: frame, which is not the caller's any more
 */
void bridge_leave(struct bridge *b, struct bridge_frame *f)
{
	struct bridge_frame *last = f, *next;

	if (f->due || f->behind) {
		hold(b, f);
		return;
	}
	/* each that leaves may be what others waited for */
	for (f->next = NULL; f; f = next) {
		send_to_all(b, f);
		if (b->overtaken && !f->copy)
			last = overtaken(b, f, last);
		next = f->next;
		free(f);
	}
}

/**
 * bridge_due() - let those go that are due
 * @b: bridge
 * @now: CLOCK_MONOTONIC; UINT64_MAX: all
 */
void bridge_due(struct bridge *b, uint64_t now)
{
	struct bridge_frame *f;

	while ((f = b->first) && f->at <= now) {
		take_out(b, f);
		f->due = 0;
		f->behind = 0;
		bridge_leave(b, f);
	}
}

static void mend_ip4(uint8_t *ip)
{
	uint32_t sum = 0;

	memset(ip + 10, 0, 2);
	for (int i = 0; i < (ip[0] & 0xf) * 4; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	ip[10] = (uint8_t)(~sum >> 8);
	ip[11] = (uint8_t)~sum;
}

/* UDP's checksum, where there is one, after a 16-bit word became another (RFC 1624) */
static void mend_udp(const struct pkt *p, uint8_t *data, uint32_t at, uint8_t was)
{
	uint8_t *c = data + p->at[PKT_UDP].off + 6;
	const bool low = (at - p->at[PKT_UDP].off) & 1;
	uint32_t sum;

	if (p->at[PKT_UDP].len < 8 || !(c[0] | c[1]))
		return;
	sum = (uint32_t)c[0] << 8 | c[1];
	sum = (~sum & 0xffff) + (~((uint32_t)was << (low ? 0 : 8)) & 0xffff) +
	      ((uint32_t)data[at] << (low ? 0 : 8));
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	sum = ~sum & 0xffff;
	sum = sum ? sum : 0xffff;
	c[0] = (uint8_t)(sum >> 8);
	c[1] = (uint8_t)sum;
}

static void set_byte(const struct pkt *p, uint8_t *data, uint32_t at, uint8_t value)
{
	const uint8_t was = data[at];

	data[at] = value;
	mend_udp(p, data, at, was);
}

/* Where a bit is to be another one: the last byte of the data, or of the last header */
static uint32_t last_byte(const struct pkt *p)
{
	static const enum pkt_header data[] = { PKT_PAYLOAD, PKT_PRIVATE, PKT_TCP, PKT_UDP };

	for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++)
		if ((!p->at[PKT_ICRC].len || i < 2) && p->at[data[i]].len)
			return p->at[data[i]].off + p->at[data[i]].len - 1;
	return p->at[PKT_ICRC].len ? p->at[PKT_ICRC].off - 1 : p->len - 1;
}

/* Another bit.  What is cut is gone, and what its device is to cut gets new checksums. */
static bool flip(const struct pkt *p, struct bridge_frame *f)
{
	const uint32_t at = last_byte(p);

	if (at >= f->len || f->vnet[1])
		return false;
	set_byte(p, f->data, at, f->data[at] ^ 1);
	return true;
}

/* Another value of a field, all of which is there; false: the packet has no such field */
static bool set_field(const struct pkt *p, uint8_t *data, const char *name, uint64_t value)
{
	for (const struct pkt_layout *l = pkt_layouts; l->nr; l++)
		for (const struct pkt_field *f = l->field; f < l->field + l->nr; f++) {
			if (strcmp(f->name, name) || !pkt_has_layout(p, l) ||
			    !pkt_has_field(p, l, f))
				continue;
			for (uint32_t i = f->bits, bit, at; i--; value >>= 1) {
				bit = 0x80u >> ((f->bit + i) & 7);
				at = p->at[l->header].off + (f->bit + i) / 8;
				set_byte(p, data, at, (uint8_t)(value & 1 ? data[at] | bit :
								data[at] & ~bit));
			}
			return true;
		}
	return false;
}

/* The same, or a field, and the ICRC is right again */
static bool forge(const struct bridge_rule *r, const struct pkt *p, struct bridge_frame *f,
		  uint64_t value)
{
	const uint32_t icrc = p->at[PKT_ICRC].off;
	struct pkt q;

	if (p->icrc != PKT_ICRC_OK || icrc + 4 > f->len || f->vnet[1])
		return false;
	if (r->field ? !set_field(p, f->data, r->field, value) :
		       !p->at[PKT_PAYLOAD].len || !flip(p, f))
		return false;
	/* by its places as they were: what it is now may be no packet any more */
	q = *p;
	q.data = f->data;
	pkt_check_icrc(&q, icrc);
	for (unsigned int i = 0; i < 4 && q.icrc == PKT_ICRC_BAD; i++)
		set_byte(p, f->data, icrc + i, (uint8_t)(q.icrc_want >> 8 * i));
	return true;
}

static bool mark(const struct pkt *p, uint8_t *data)
{
	if (p->at[PKT_IP4].len) {
		data[p->at[PKT_IP4].off + 1] |= CE;
		mend_ip4(data + p->at[PKT_IP4].off);
		return true;
	}
	if (!p->at[PKT_IP6].len)
		return false;
	data[p->at[PKT_IP6].off + 1] |= CE << 4;
	return true;
}

/* A copy leaves first, as the original will; what is done to that later is not done to it */
static bool duplicate(struct bridge *b, const struct bridge_frame *f)
{
	struct bridge_frame *copy = malloc(sizeof(*f) + f->len);

	if (!copy)
		return false;
	memcpy(copy, f, sizeof(*f) + f->len);
	copy->copy = true;
	bridge_leave(b, copy);
	return true;
}

/*
 * A link of so many bits per second: a frame leaves when those before it have.  What waits is a
 * queue: a frame that finds more than @queue bytes in it is dropped, more than @mark, marked.
 */
static int pace(struct bridge_rule *r, struct bridge_frame *f, const struct pkt *p, uint64_t rate)
{
	const uint64_t now = bridge_now();
	const uint64_t waits = r->busy > now ? r->busy - now : 0;
	const uint64_t bytes = (uint64_t)((double)waits * (double)rate / 8e9);

	if (r->has & 1u << BRIDGE_QUEUE && bytes + f->len > r->at[BRIDGE_QUEUE].min) {
		f->to = 0;
		return 1;
	}
	r->busy = now + waits + (uint64_t)((double)f->len * 8e9 / (double)rate);
	/* behind another delay */
	f->due = (f->due ? f->due : now) + (r->busy - now);
	return r->has & 1u << BRIDGE_ABOVE && bytes > r->at[BRIDGE_ABOVE].min && mark(p, f->data);
}

/**
 * bridge_act() - do what a rule says
 * @b: bridge
 * @r: rule
 * @f: frame; it may be shorter afterwards
 * @p: taken apart, as it was
 *
 * Return: 1; 0 if there is nothing to tell of it; -1 if it cannot be done to such a frame.
 */
int bridge_act(struct bridge *b, struct bridge_rule *r, struct bridge_frame *f,
	       const struct pkt *p)
{
	uint64_t n = bridge_random(r, r->arg.min, r->arg.max);

	switch (r->action) {
	case BRIDGE_DROP:
		f->to = 0;
		return 1;
	case BRIDGE_DELAY:
		/* delays add up */
		f->due = (f->due ? f->due : bridge_now()) + n;
		return 1;
	case BRIDGE_DUP:
		while (n--)
			if (!duplicate(b, f))
				return -1;
		return 1;
	case BRIDGE_REORDER:
		f->behind = (unsigned int)n;
		return 1;
	case BRIDGE_CORRUPT:
		return flip(p, f) ? 1 : -1;
	case BRIDGE_FORGE:
		return forge(r, p, f, n) ? 1 : -1;
	case BRIDGE_TRUNCATE:
		if (n >= f->len)
			return -1;
		f->len = (uint32_t)n;
		return 1;
	case BRIDGE_RATE:
		return pace(r, f, p, n);
	default:
		return mark(p, f->data) ? 1 : -1;
	}
}
