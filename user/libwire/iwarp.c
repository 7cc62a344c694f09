// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * TCP streams put together, as far as iWARP is in them.
 *
 * A stream that does not begin with one of MPA's two frames is none of ours, and nothing
 * of it is kept.  Of one that does, the bytes behind the last thing that was whole are
 * kept, and segments that came too early, up to a bound; when that does not suffice the
 * capture lacks a part, and the rest of the stream cannot be told from data.
 *
 * Connections are in a table of fixed size; the one that was silent longest makes room, but none of
 * iWARP's while there is another.
 * What iwarp_feed() returns points into the streams' buffers until the next call.
 */
#include <stdlib.h>
#include <string.h>

#include "iwarp.h"
#include "parse.h"

#define CONNS		256
#define EARLY_MAX	64		/* segments */
#define EARLY_BYTES	(256u << 10)
#define MPA_FRAME	20
#define KEY_LEN		16
#define MARKER_EVERY	512
#define MARKER_LEN	4
#define TCP_FIN		0x01
#define TCP_SYN		0x02
#define TCP_RST		0x04

enum stream_state { STREAM_NEW, STREAM_BEGINS, STREAM_FPDU, STREAM_FOREIGN };

struct bytes {
	uint8_t *b;
	size_t len, room;
};

struct early {
	uint32_t seq;
	struct bytes bytes;
};

/* One direction */
struct stream {
	enum stream_state state;
	uint32_t next;			/* sequence number behind @bytes */
	struct bytes bytes;
	size_t used;			/* of @bytes, by what the last call returned */
	/* of the first byte that is not used, from the first FPDU on */
	uint64_t at;
	bool markers, crc;		/* what its frame asked for */
	struct early early[EARLY_MAX];
	unsigned int nr_early;
	size_t early_bytes;
};

struct conn {
	bool there;
	uint64_t last;			/* packet */
	uint8_t version, addr[2][16];	/* of who is first seen to send, and of the other */
	uint16_t port[2];
	struct stream *stream[2];
};

struct iwarp {
	struct conn conn[CONNS];
	uint64_t forgotten;		/* connections of iWARP's that were let go */
	struct pkt *unit;		/* what the last call returned */
	unsigned int nr, room;
	struct bytes plain;		/* FPDUs without their markers */
};

static const char keys[2][KEY_LEN + 1] = { "MPA ID Req Frame", "MPA ID Rep Frame" };

static bool reserve(struct bytes *to, size_t room)
{
	uint8_t *b;

	if (room <= to->room)
		return true;
	b = realloc(to->b, room);
	if (!b)
		return false;
	to->b = b;
	to->room = room;
	return true;
}

static bool append(struct bytes *to, const uint8_t *b, size_t len)
{
	if (!reserve(to, to->len + len))
		return false;
	if (len)
		memcpy(to->b + to->len, b, len);
	to->len += len;
	return true;
}

static void stream_clear(struct stream *s, enum stream_state state)
{
	while (s->nr_early)
		free(s->early[--s->nr_early].bytes.b);
	free(s->bytes.b);
	memset(s, 0, sizeof(*s));
	s->state = state;
}

static void conn_clear(struct conn *c)
{
	for (unsigned int i = 0; i < 2; i++) {
		if (c->stream[i])
			stream_clear(c->stream[i], STREAM_NEW);
		free(c->stream[i]);
	}
	memset(c, 0, sizeof(*c));
}

static bool has_mpa(const struct stream *s)
{
	return s->state == STREAM_FPDU || (s->state == STREAM_BEGINS && s->bytes.len);
}

/* Has MPA begun?  Until then, and where it never does, a connection loses nothing when it goes */
static bool is_ours(const struct conn *c)
{
	return c->there && (has_mpa(c->stream[0]) || has_mpa(c->stream[1]));
}

/* Does @a go before @b, where one has to? */
static bool goes_first(const struct conn *a, const struct conn *b)
{
	if (a->there != b->there || !a->there)
		return !a->there;
	if (is_ours(a) != is_ours(b))
		return !is_ours(a);
	return a->last < b->last;
}

/* The connection of a segment, and which direction it has; NULL: no memory */
static struct conn *find(struct iwarp *w, const struct pkt *p, unsigned int *dir)
{
	struct conn *first = &w->conn[0], *c;

	for (unsigned int i = 0; i < CONNS; i++) {
		c = &w->conn[i];
		if (c->there && c->version == p->ip_version) {
			for (*dir = 0; *dir < 2; ++*dir)
				if (c->port[*dir] == p->sport && c->port[!*dir] == p->dport &&
				    !memcmp(c->addr[*dir], p->src, 16) &&
					!memcmp(c->addr[!*dir], p->dst, 16))
					return c;
		}
		if (goes_first(c, first))
			first = c;
	}
	c = first;
	w->forgotten += is_ours(c);
	conn_clear(c);
	for (unsigned int i = 0; i < 2; i++) {
		c->stream[i] = calloc(1, sizeof(*c->stream[i]));
		if (!c->stream[i]) {
			conn_clear(c);
			return NULL;
		}
	}
	c->there = true;
	c->version = p->ip_version;
	memcpy(c->addr[0], p->src, 16);
	memcpy(c->addr[1], p->dst, 16);
	c->port[0] = p->sport;
	c->port[1] = p->dport;
	*dir = 0;
	return c;
}

/* Kept until what belongs before has come; false: no more can be kept */
static bool keep(struct stream *s, uint32_t seq, const uint8_t *b, size_t len)
{
	struct early *e;

	for (unsigned int i = 0; i < s->nr_early; i++)
		if (s->early[i].seq == seq && s->early[i].bytes.len >= len)
			return true;
	if (s->nr_early == EARLY_MAX || s->early_bytes + len > EARLY_BYTES)
		return false;
	e = &s->early[s->nr_early];
	memset(e, 0, sizeof(*e));
	e->seq = seq;
	if (!append(&e->bytes, b, len))
		return false;
	s->nr_early++;
	s->early_bytes += len;
	return true;
}

/* Bytes at @seq, of which some may have come before.  1: they were appended, 0: too early */
static int take(struct stream *s, uint32_t seq, const uint8_t *b, size_t len, bool *ok)
{
	const int32_t before = (int32_t)(s->next - seq);

	if (before < 0)
		return 0;
	if ((size_t)before >= len)
		return 1;
	*ok = *ok && append(&s->bytes, b + before, len - (size_t)before);
	s->next = seq + (uint32_t)len;
	return 1;
}

/* A segment's bytes, and those that were kept and are next now */
static void assemble(struct stream *s, uint32_t seq, const uint8_t *b, size_t len)
{
	bool ok = true, again = true;

	if (!take(s, seq, b, len, &ok)) {
		if (!keep(s, seq, b, len))
			stream_clear(s, STREAM_FOREIGN);
		return;
	}
	while (again) {
		again = false;
		for (unsigned int i = 0; i < s->nr_early; i++) {
			struct early *e = &s->early[i];

			if (!take(s, e->seq, e->bytes.b, e->bytes.len, &ok))
				continue;
			s->early_bytes -= e->bytes.len;
			free(e->bytes.b);
			*e = s->early[--s->nr_early];
			again = true;
			break;
		}
	}
	if (!ok)
		stream_clear(s, STREAM_FOREIGN);
}

/* What was returned before goes now */
static void forget_used(struct stream *s)
{
	if (!s->used)
		return;
	memmove(s->bytes.b, s->bytes.b + s->used, s->bytes.len - s->used);
	s->bytes.len -= s->used;
	s->used = 0;
}

/* Something whole: as a packet of its own, at the segment that completed it */
static struct pkt *add_unit(struct iwarp *w, const struct pkt *segment, const uint8_t *b,
			    size_t len,
			    enum pkt_mpa what)
{
	struct pkt *more, *p;

	if (w->nr == w->room) {
		more = realloc(w->unit, sizeof(*more) * (w->room + 16));
		if (!more)
			return NULL;
		w->unit = more;
		w->room += 16;
	}
	p = &w->unit[w->nr++];
	*p = *segment;
	memset(p->at, 0, sizeof(p->at));
	p->data = b;
	p->caplen = (uint32_t)len;
	p->len = (uint32_t)len;
	p->fault = PKT_WHOLE;
	mpa_parse(p, what);
	return p;
}

/* The frame a stream begins with; false: there is not enough */
static bool begin(struct iwarp *w, const struct pkt *segment, struct stream *s)
{
	const uint8_t *b = s->bytes.b;
	const size_t have = s->bytes.len, known = have < KEY_LEN ? have : KEY_LEN;
	enum pkt_mpa what = PKT_MPA_REQUEST;
	size_t len;

	if (memcmp(b, keys[what], known))
		what = PKT_MPA_REPLY;
	if (memcmp(b, keys[what], known)) {
		stream_clear(s, STREAM_FOREIGN);
		return false;
	}
	if (have < MPA_FRAME)
		return false;
	len = be16(b + 18);
	/* The frame alone, which a rule names; what follows it is not looked at */
	if (len > MPA_PRIVATE_MAX) {
		s->state = STREAM_FOREIGN;
		add_unit(w, segment, b, MPA_FRAME, what);
		return false;
	}
	if (have < MPA_FRAME + len)
		return false;
	s->markers = b[16] & MPA_MARKERS;
	s->crc = b[16] & MPA_CRC;
	s->state = STREAM_FPDU;
	s->used = MPA_FRAME + len;
	s->at = 0;
	add_unit(w, segment, b, s->used, what);
	return true;
}

/*
 * A marker, @at bytes behind the beginning of its FPDU: how many these are, counted from the
 * FPDU's length, which is behind the marker that the FPDU begins with (RFC 5044, 4.3).  Some may
 * count that marker as well.
 */
static bool marker_ok(const uint8_t *marker, size_t at, bool begins)
{
	const size_t back = be16(marker + 2);

	return !be16(marker) && (back == at || (begins && back + MARKER_LEN == at));
}

/*
 * Bytes of a stream without markers: @want of them into w->plain; 0: there are not so many.
 * @ok: cleared if a marker is wrong
 */
static size_t unmark(struct iwarp *w, const struct stream *s, size_t want, bool *ok)
{
	const uint8_t *b = s->bytes.b + s->used;
	const size_t have = s->bytes.len - s->used;
	size_t i = 0;

	while (want) {
		size_t next = MARKER_EVERY - (s->at + i) % MARKER_EVERY;

		if (next == MARKER_EVERY) {
			if (i + MARKER_LEN > have)
				return 0;
			*ok = *ok && marker_ok(b + i, i, s->at % MARKER_EVERY == 0);
			i += MARKER_LEN;
			next -= MARKER_LEN;
		}
		if (next > want)
			next = want;
		if (i + next > have || !append(&w->plain, b + i, next))
			return 0;
		i += next;
		want -= next;
	}
	return i;
}

/* The next FPDU; false: it is not all there */
static bool next_fpdu(struct iwarp *w, const struct pkt *segment, struct stream *s, bool markers,
		      bool crc)
{
	const uint8_t *b = s->bytes.b + s->used, *head = b;
	const size_t have = s->bytes.len - s->used, start = w->plain.len;
	bool marked = true;
	size_t len, raw;
	struct pkt *p;

	if (markers) {
		if (!unmark(w, s, 2, &marked))
			return false;
		head = w->plain.b + start;
	} else if (have < 2) {
		return false;
	}
	len = 2 + be16(head);
	len = (len + 3) / 4 * 4 + 4;
	raw = len;
	if (markers) {
		w->plain.len = start;
		raw = unmark(w, s, len, &marked);
		if (!raw) {
			w->plain.len = start;
			return false;
		}
		head = w->plain.b + start;
	} else if (have < len) {
		return false;
	}
	p = add_unit(w, segment, head, len, PKT_MPA_FPDU);
	if (p)
		p->bad_marker = !marked;
	if (p && crc) {
		p->at[PKT_CRC].variant = 1;
		p->icrc = mpa_crc_ok(b, raw) ? PKT_ICRC_OK : PKT_ICRC_BAD;
	}
	s->used += raw;
	s->at += raw;
	return true;
}

static void extract(struct iwarp *w, const struct pkt *segment, const struct conn *c,
		    unsigned int dir)
{
	struct stream *s = c->stream[dir];
	const struct stream *other = c->stream[!dir];

	if (s->state == STREAM_BEGINS && !begin(w, segment, s))
		return;
	if (s->state != STREAM_FPDU)
		return;
	/* Markers are put in for who asked for them, CRCs if one did; no byte may move now */
	if (other->markers && !reserve(&w->plain, s->bytes.len))
		return;
	while (next_fpdu(w, segment, s, other->markers, s->crc || other->crc))
		;
	if (w->nr)
		w->unit[w->nr - 1].behind = (uint32_t)(s->bytes.len - s->used + s->early_bytes);
}

/**
 * iwarp_feed() - a segment of some stream
 * @w: the streams
 * @segment: parsed, of the kind PKT_TCP_SEGMENT
 * @nr: set to how many there are
 *
 * Return: what of iWARP became whole with this segment, each as a packet that is taken
 * apart, until the next call.
 */
const struct pkt *iwarp_feed(struct iwarp *w, const struct pkt *segment, unsigned int *nr)
{
	const uint8_t *tcp = pkt_bytes(segment, PKT_TCP), *b = pkt_bytes(segment, PKT_PAYLOAD);
	const size_t len = segment->at[PKT_PAYLOAD].len;
	uint32_t seq = be32(tcp + 4);
	struct stream *s;
	unsigned int dir;
	struct conn *c;

	*nr = 0;
	w->nr = 0;
	w->plain.len = 0;
	c = find(w, segment, &dir);
	if (!c)
		return NULL;
	c->last = segment->number;
	s = c->stream[dir];
	if (tcp[13] & TCP_RST) {
		conn_clear(c);
		return NULL;
	}
	if (tcp[13] & TCP_SYN) {
		stream_clear(s, STREAM_BEGINS);
		s->next = ++seq;
	} else if (s->state == STREAM_NEW && len) {
		s->state = STREAM_BEGINS;
		s->next = seq;
	}
	if (!len || s->state == STREAM_NEW || s->state == STREAM_FOREIGN)
		return NULL;
	/* Not all of it was captured: what follows cannot be found again */
	if (segment->fault == PKT_CUT) {
		stream_clear(s, STREAM_FOREIGN);
		return NULL;
	}
	forget_used(s);
	assemble(s, seq, b, len);
	if (s->bytes.len)
		extract(w, segment, c, dir);
	*nr = w->nr;
	return w->unit;
}

/**
 * iwarp_new() - no streams yet
 *
 * Return: what iwarp_free() frees, or NULL: no memory.
 */
struct iwarp *iwarp_new(void)
{
	return calloc(1, sizeof(struct iwarp));
}

/* How many connections of iWARP's were let go for others, for want of room */
uint64_t iwarp_forgotten(const struct iwarp *w)
{
	return w->forgotten;
}

/**
 * iwarp_free() - forget all streams
 * @w: what iwarp_new() made
 */
void iwarp_free(struct iwarp *w)
{
	if (!w)
		return;
	for (unsigned int i = 0; i < CONNS; i++)
		conn_clear(&w->conn[i]);
	free(w->unit);
	free(w->plain.b);
	free(w);
}
