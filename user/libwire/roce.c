// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RoCE v2 behind UDP: base transport header, the extension headers that its opcode
 * brings, payload, padding, ICRC.
 *
 * Two tables say what an operation has behind the BTH, of reliable connections and by
 * transport; the order of the headers is that of enum pkt_header.
 */
#include "parse.h"

#define BTH_LEN		12
#define ICRC_LEN	4
#define CNP_RESERVED	16
#define QP1		1

#define H(name)		(1ull << PKT_##name)

/* What follows the BTH; 0: nothing but payload, NOT: no such operation */
#define NOT		(1ull << 63)
static const uint64_t behind[32] = {
	[PKT_SEND_LAST_IMM] = H(IMMDT), [PKT_SEND_ONLY_IMM] = H(IMMDT),
	[PKT_WRITE_FIRST] = H(RETH), [PKT_WRITE_LAST_IMM] = H(IMMDT),
	[PKT_WRITE_ONLY] = H(RETH), [PKT_WRITE_ONLY_IMM] = H(RETH) | H(IMMDT),
	[PKT_READ_REQUEST] = H(RETH), [PKT_READ_FIRST] = H(AETH), [PKT_READ_LAST] = H(AETH),
	[PKT_READ_ONLY] = H(AETH), [PKT_ACK] = H(AETH), [PKT_ATOMIC_ACK] = H(AETH) |
	H(ATOMICACKETH),
	[PKT_COMPARE_SWAP] = H(ATOMICETH), [PKT_FETCH_ADD] = H(ATOMICETH),
	[PKT_SEND_LAST_INV] = H(IETH), [PKT_SEND_ONLY_INV] = H(IETH),
	[PKT_FLUSH] = H(FETH) | H(RETH), [PKT_ATOMIC_WRITE] = H(RETH),
	[0x18] = NOT, [0x19] = NOT, [0x1a] = NOT, [0x1b] = NOT, [0x1e] = NOT, [0x1f] = NOT,
};

static const uint32_t length[PKT_HEADERS] = {
	[PKT_RDETH] = 4, [PKT_DETH] = 8, [PKT_XRCETH] = 4, [PKT_FETH] = 4, [PKT_RETH] = 16,
	[PKT_ATOMICETH] = 28, [PKT_AETH] = 4, [PKT_ATOMICACKETH] = 8, [PKT_IMMDT] = 4,
	[PKT_IETH] = 4,
};

/* All header: READ requests, acknowledgments, atomics, FLUSH */
static bool has_no_payload(unsigned int op)
{
	return op == PKT_READ_REQUEST || op == PKT_ACK || op == PKT_ATOMIC_ACK ||
		op == PKT_COMPARE_SWAP ||
	       op == PKT_FETCH_ADD || op == PKT_FLUSH;
}

static bool is_response(unsigned int op)
{
	return op >= PKT_READ_FIRST && op <= PKT_ATOMIC_ACK;
}

/* The extension headers of an opcode, by their bits; NOT if there is no such opcode */
static uint64_t extensions(uint8_t opcode)
{
	const unsigned int op = opcode & 0x1f;

	switch (opcode & 0xe0) {
	case PKT_RC:
		return op == PKT_RESYNC ? NOT : behind[op];
	case PKT_UC:
		return op <= PKT_WRITE_ONLY_IMM ? behind[op] : NOT;
	case PKT_RD:
		if (op > PKT_RESYNC)
			return NOT;
		return behind[op] | H(RDETH) | (is_response(op) ? 0 : H(DETH));
	case PKT_UD:
		return op == PKT_SEND_ONLY || op == PKT_SEND_ONLY_IMM ? behind[op] | H(DETH) : NOT;
	case PKT_XRC:
		if (op == PKT_RESYNC)
			return NOT;
		return behind[op] | (is_response(op) ? 0 : H(XRCETH));
	}
	return NOT;
}

bool pkt_has_headers(const struct pkt *p)
{
	const uint64_t headers = extensions(p->opcode);

	if (p->kind == PKT_ROCE_CM || headers & NOT)
		return p->at[PKT_CM].len;
	for (enum pkt_header h = PKT_RDETH; h <= PKT_IETH; h++)
		if (headers & 1ull << h && !p->at[h].len)
			return false;
	return true;
}

static void take_reth(struct pkt *p, const uint8_t *h)
{
	p->va = be64(h);
	p->rkey = be32(h + 8);
	p->dma_len = be32(h + 12);
}

static void take_atomic(struct pkt *p, const uint8_t *h)
{
	p->va = be64(h);
	p->rkey = be32(h + 8);
	p->swap = be64(h + 12);
	p->compare = be64(h + 20);
}

static void take_extension(struct pkt *p, enum pkt_header header, const uint8_t *h)
{
	switch (header) {
	case PKT_DETH:
		p->qkey = be32(h);
		p->src_qpn = be24(h + 5);
		break;
	case PKT_RETH:
		take_reth(p, h);
		break;
	case PKT_ATOMICETH:
		take_atomic(p, h);
		break;
	case PKT_AETH:
		p->syndrome = h[0];
		p->msn = be24(h + 1);
		p->at[PKT_AETH].variant = PKT_SYNDROME(h[0]);
		break;
	case PKT_ATOMICACKETH:
		p->orig = be64(h);
		break;
	case PKT_IMMDT:
		p->imm = be32(h);
		break;
	case PKT_IETH:
		p->inv_rkey = be32(h);
		break;
	default:
		break;
	}
}

static bool parse_bth(struct parse *s)
{
	const uint8_t *h = parse_take(s, PKT_BTH, BTH_LEN);
	struct pkt *p = s->p;

	if (!h)
		return false;
	p->kind = PKT_ROCE;
	p->opcode = h[0];
	p->solicited = h[1] & 0x80;
	p->pad = h[1] >> 4 & 3;
	p->pkey = be16(h + 2);
	p->fecn = h[4] & 0x80;
	p->becn = h[4] & 0x40;
	p->qpn = be24(h + 5);
	p->ackreq = h[8] & 0x80;
	p->psn = be24(h + 9);
	if (h[1] & 0x0f)
		pkt_wrong(p, PKT_VERSION);
	return true;
}

/* Padding and ICRC, from the end; what is between is left.  False: they are not there */
static bool parse_tail(struct parse *s)
{
	struct pkt *p = s->p;
	uint32_t tail = ICRC_LEN + p->pad;

	if (p->fragment) {
		pkt_wrong(p, PKT_FRAGMENT);
		return true;
	}
	if (s->end - s->at < tail) {
		pkt_wrong(p, PKT_SHORT);
		return false;
	}
	s->end -= ICRC_LEN;
	if (s->end + ICRC_LEN > p->caplen) {
		p->icrc = PKT_ICRC_CUT;
		pkt_wrong(p, PKT_CUT);
	} else {
		p->at[PKT_ICRC].off = s->end;
		p->at[PKT_ICRC].len = ICRC_LEN;
		if (p->pad) {
			p->at[PKT_PAD].off = s->end - p->pad;
			p->at[PKT_PAD].len = p->pad;
		}
		pkt_check_icrc(p, s->end);
	}
	s->end -= p->pad;
	return true;
}

void parse_roce(struct parse *s)
{
	struct pkt *p = s->p;
	uint64_t headers;

	if (!parse_bth(s) || !parse_tail(s))
		return;
	if (p->opcode == PKT_CNP_OPCODE) {
		p->kind = PKT_CNP;
		if (s->end - s->at != CNP_RESERVED)
			pkt_wrong(p, PKT_LENGTH);
		parse_rest(s);
		return;
	}
	headers = extensions(p->opcode);
	if (headers & NOT) {
		pkt_wrong(p, PKT_OPCODE);
		parse_rest(s);
		return;
	}
	for (enum pkt_header h = PKT_RDETH; h <= PKT_IETH; h++) {
		const uint8_t *bytes;

		if (!(headers & 1ull << h))
			continue;
		bytes = parse_take(s, h, length[h]);
		if (!bytes)
			return;
		take_extension(p, h, bytes);
	}
	p->payload = s->end - s->at;
	if (has_no_payload(p->opcode & 0x1f) && s->end != s->at && !p->fragment)
		pkt_wrong(p, PKT_LENGTH);
	if (p->qpn == QP1 && (p->opcode & 0xe0) == PKT_UD)
		parse_mad(s);
	else
		parse_rest(s);
}
