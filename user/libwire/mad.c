// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Management datagrams to QP 1, and of them the CM's messages whole: the fixed part,
 * rdma_cm's header in the private data of a REQ, and what the private data is if it is
 * one of rtgt's messages or a plain capability.
 */
#include <stddef.h>
#include <string.h>

#include <rtgt/proto.h>
#include "parse.h"

#define MAD_LEN		256
#define MAD_HEADER	24
#define CLASS_CM	0x07
#define IP_CM_LEN	36
#define CAP_SHORT	12	/* address and rkey */
#define CAP_RPING	16	/* and a length of 32 bits, as in rping's messages */
#define CAP_LONG	20	/* or of 64 */

/* Bytes before a message's private data; all are 232 bytes long with it */
static const uint8_t fixed[] = {
	[PKT_CM_REQ] = 140, [PKT_CM_MRA] = 10, [PKT_CM_REJ] = 84, [PKT_CM_REP] = 36,
	[PKT_CM_RTU] = 8,
	[PKT_CM_DREQ] = 12, [PKT_CM_DREP] = 8, [PKT_CM_SIDR_REQ] = 16, [PKT_CM_SIDR_REP] = 96,
	[PKT_CM_LAP] = 64, [PKT_CM_APR] = 84,
};

#define NR_FIXED	(sizeof(fixed) / sizeof(fixed[0]))

static void take_req(struct pkt *p, const uint8_t *h)
{
	p->remote_comm_id = 0;
	p->service_id = be64(h + 8);
	p->cm_qpn = be24(h + 32);
	p->responder_resources = h[35];
	p->initiator_depth = h[39];
	p->cm_psn = be24(h + 44);
	p->retry = h[47] & 7;
	p->path_mtu = h[50] >> 4;
	p->rnr_retry = h[50] & 7;
}

static void take_rep(struct pkt *p, const uint8_t *h)
{
	p->cm_qpn = be24(h + 12);
	p->cm_psn = be24(h + 20);
	p->responder_resources = h[24];
	p->initiator_depth = h[25];
	p->rnr_retry = h[27] >> 5;
}

static void take_cm(struct pkt *p, const uint8_t *h)
{
	p->comm_id = be32(h);
	p->remote_comm_id = be32(h + 4);
	switch (p->attr) {
	case PKT_CM_REQ:
		take_req(p, h);
		break;
	case PKT_CM_REP:
		take_rep(p, h);
		break;
	case PKT_CM_REJ:
		p->reason = be16(h + 10);
		break;
	case PKT_CM_DREQ:
		p->cm_qpn = be24(h + 8);
		break;
	case PKT_CM_SIDR_REQ:
		p->remote_comm_id = 0;
		p->service_id = be64(h + 8);
		break;
	case PKT_CM_SIDR_REP:
		p->remote_comm_id = 0;
		p->reason = h[4];
		p->cm_qpn = be24(h + 8);
		p->service_id = be64(h + 12);
		p->qkey = be32(h + 20);
		break;
	}
}

static bool all_zero(const uint8_t *b, uint32_t len)
{
	while (len && !*b++)
		len--;
	return !len;
}

static void overlay(struct pkt *p, enum pkt_header h, uint32_t len)
{
	p->at[h].off = p->at[PKT_PRIVATE].off;
	p->at[h].len = len;
}

/* A REP's: rtgt's has its magic behind the capability; a plain one has nothing there */
static void rep_kind(struct pkt *p, const uint8_t *b, uint32_t len)
{
	const uint32_t magic_at = offsetof(struct rtgt_rep, magic);
	uint32_t size = offsetof(struct rtgt_rep, more), said;

	if (len >= size && be32(b + magic_at) == RTGT_MAGIC) {
		said = be16(b + offsetof(struct rtgt_rep, size));
		if (said > size)
			size = said < sizeof(struct rtgt_rep) ? said :
				(uint32_t)sizeof(struct rtgt_rep);
		overlay(p, PKT_RTGT_REP, size < len ? size : len);
		return;
	}
	if (len < CAP_SHORT || all_zero(b, 8) || all_zero(b + 8, 4))
		return;
	if (all_zero(b + CAP_SHORT, len - CAP_SHORT))
		overlay(p, PKT_CAP, CAP_SHORT);
	else if (len >= CAP_RPING && all_zero(b + CAP_RPING, len - CAP_RPING))
		overlay(p, PKT_CAP, CAP_RPING);
	else if (len >= CAP_LONG && all_zero(b + CAP_LONG, len - CAP_LONG))
		overlay(p, PKT_CAP, CAP_LONG);
	p->at[PKT_CAP].variant = (uint8_t)p->at[PKT_CAP].len;
}

/**
 * pkt_private_kind() - see what the private data is
 * @p: with PKT_PRIVATE; one of PKT_RTGT_REQ, PKT_RTGT_REP, PKT_RTGT_REJ, PKT_CAP may be set
 * @attr: whose: of a REQ, a REP or a REJ, or of the message that does the same
 */
void pkt_private_kind(struct pkt *p, unsigned int attr)
{
	const uint8_t *b = pkt_bytes(p, PKT_PRIVATE);
	uint32_t len = p->at[PKT_PRIVATE].len;
	struct rtgt_req_info hello;
	uint32_t reason, arg;

	if (!b)
		return;
	switch (attr) {
	case PKT_CM_REQ:
	case PKT_CM_SIDR_REQ:
		rtgt_decode_req(b, len, &hello, &arg);
		if (!hello.plain && len >= sizeof(struct rtgt_req))
			overlay(p, PKT_RTGT_REQ, sizeof(struct rtgt_req));
		break;
	case PKT_CM_REP:
		rep_kind(p, b, len);
		break;
	case PKT_CM_SIDR_REP:
		if (!p->reason) {
			rep_kind(p, b, len);
			break;
		}
		__attribute__((fallthrough));
	case PKT_CM_REJ:
		if (!rtgt_decode_rej(b, len, &reason, &arg))
			overlay(p, PKT_RTGT_REJ, sizeof(struct rtgt_rej));
		break;
	}
}

static bool is_request(const struct pkt *p)
{
	return p->attr == PKT_CM_REQ || p->attr == PKT_CM_SIDR_REQ;
}

/* If the service is rdma_cm's, the header it puts in front of the private data */
static bool parse_service(struct parse *s)
{
	struct pkt *p = s->p;
	const uint8_t *h;

	/* Its service IDs begin so; a port space and a port follow */
	if (p->service_id >> 24 != 1)
		return true;
	if (p->attr == PKT_CM_REQ) {
		p->at[PKT_SERVICE].off = p->at[PKT_CM].off + 8;
		p->at[PKT_SERVICE].len = 8;
	}
	h = parse_take(s, PKT_IP_CM, IP_CM_LEN);
	if (!h)
		return false;
	p->at[PKT_IP_CM].variant = h[1] >> 4;
	return true;
}

static void parse_cm(struct parse *s)
{
	struct pkt *p = s->p;
	const uint8_t *h;

	if (p->attr >= NR_FIXED || !fixed[p->attr]) {
		parse_rest(s);
		return;
	}
	h = parse_take(s, PKT_CM, fixed[p->attr]);
	if (!h)
		return;
	p->at[PKT_CM].variant = (uint8_t)p->attr;
	p->kind = PKT_ROCE_CM;
	take_cm(p, h);
	if (is_request(p) && !parse_service(s))
		return;
	if (!parse_take(s, PKT_PRIVATE, s->end - s->at))
		return;
	p->at[PKT_PRIVATE].variant = p->attr == PKT_CM_REQ && !p->at[PKT_IP_CM].len ? 0 :
		(uint8_t)p->attr;
	pkt_private_kind(p, p->attr);
}

void parse_mad(struct parse *s)
{
	struct pkt *p = s->p;
	const uint8_t *h;

	if (s->end - s->at != MAD_LEN)
		pkt_wrong(p, PKT_LENGTH);
	h = parse_take(s, PKT_MAD, MAD_HEADER);
	if (!h)
		return;
	p->mgmt_class = h[1];
	p->attr = be16(h + 16);
	if (p->mgmt_class == CLASS_CM)
		parse_cm(s);
	else
		parse_rest(s);
}
