/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fixture of the tests of user/libwire/flow*.c and rules.c: the packets of a client and a
 * server, and what was told of them.  Packets are made as structures, as pkt_parse() would leave
 * them; payloads have a length and no bytes.
 */
#ifndef RTGT_ROCE_FLOW_H
#define RTGT_ROCE_FLOW_H

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "libwire/flow_priv.h"

#include "words.h"
#include "leaks.h"
#include "kselftest_harness.h"

#define MTU	1024
#define PSN_C	0xfffffeu	/* the client's first PSN: it wraps soon */
#define PSN_S	77

static uint8_t icrc_bytes[4096];

FIXTURE(flow)
{
	struct flow *f;
	struct flow_seen seen;
	struct pkt p;
	uint64_t number, ns;
	unsigned int messages, ok, naks, unanswered, incomplete, sent, connections;
	unsigned int broken, doubtful;
	char rules[256], words[256];
	struct flow_msg last;
	struct flow_conn conn;
};

static void on_message(void *arg, const struct flow_conn *c, const struct flow_msg *m)
{
	FIXTURE_DATA(flow) * self = arg;

	(void)c;
	self->messages++;
	self->ok += m->status == FLOW_OK;
	self->naks += m->status == FLOW_NAK;
	self->unanswered += m->status == FLOW_UNANSWERED;
	self->incomplete += m->status == FLOW_INCOMPLETE;
	self->sent += m->status == FLOW_SENT;
	self->last = *m;
}

static void on_connection(void *arg, const struct flow_conn *c)
{
	FIXTURE_DATA(flow) * self = arg;

	self->connections++;
	self->conn = *c;
}

static void on_broken(void *arg, const char *rule, uint64_t packet, const char *words)
{
	FIXTURE_DATA(flow) * self = arg;
	size_t n = strlen(self->rules);

	self->broken++;
	snprintf(self->rules + n, sizeof(self->rules) - n, "%s@%llu ", rule,
		 (unsigned long long)packet);
	snprintf(self->words, sizeof(self->words), "%s", words);
	note_words(rule, packet, words);
	if (!words[0])
		abort();
}

static void on_doubtful(void *arg, const char *rule, uint64_t packet, const char *words)
{
	FIXTURE_DATA(flow) * self = arg;

	self->doubtful++;
	note_words(rule, packet, words);
	if (!words[0])
		abort();
}

static const struct flow_ops ops = { on_message, on_connection, on_broken, on_doubtful };

FIXTURE_SETUP(flow)
{
	self->f = flow_new(&ops, self, 8, 16);
	flow_complete(self->f);
	self->ns = 1000;
}

FIXTURE_TEARDOWN(flow)
{
	flow_free(self->f);
	EXPECT_EQ(0, leaked());
}

/* A packet of the client's (0) or the server's (1) */
static struct pkt *begin(FIXTURE_DATA(flow) * self, unsigned int from)
{
	struct pkt *p = &self->p;

	memset(p, 0, sizeof(*p));
	p->kind = PKT_ROCE;
	p->icrc = PKT_ICRC_OK;
	p->ip_version = 4;
	p->src[3] = from ? 1 : 2;
	p->dst[3] = from ? 2 : 1;
	p->data = icrc_bytes;
	p->number = ++self->number;
	self->ns += 1000000;
	p->ns = self->ns;
	p->len = 100;
	p->caplen = 100;
	return p;
}

static void give(FIXTURE_DATA(flow) * self)
{
	flow_packet(self->f, &self->p, &self->seen);
}

static void cm(FIXTURE_DATA(flow) * self, unsigned int from, uint16_t attr, uint32_t comm,
	       uint32_t remote,
	       uint32_t qpn, uint32_t psn)
{
	struct pkt *p = begin(self, from);

	p->kind = PKT_ROCE_CM;
	p->at[PKT_CM].len = 100;
	p->attr = attr;
	p->comm_id = comm;
	p->remote_comm_id = remote;
	p->cm_qpn = qpn;
	p->cm_psn = psn;
	p->path_mtu = 3;
	p->responder_resources = 4;
	p->initiator_depth = 4;
	give(self);
}

/* Client: QP 17, communication ID 5; server: QP 18 and 6 */
static void up(FIXTURE_DATA(flow) * self)
{
	cm(self, 0, PKT_CM_REQ, 5, 0, 17, PSN_S);
	cm(self, 1, PKT_CM_REP, 6, 5, 18, PSN_C);
	cm(self, 0, PKT_CM_RTU, 5, 6, 0, 0);
}

static void down(FIXTURE_DATA(flow) * self)
{
	cm(self, 0, PKT_CM_DREQ, 5, 6, 18, 0);
	cm(self, 1, PKT_CM_DREP, 6, 5, 0, 0);
}

static struct pkt *bth(FIXTURE_DATA(flow) * self, unsigned int from, uint8_t opcode, uint32_t psn,
		       uint32_t payload)
{
	struct pkt *p = begin(self, from);

	p->opcode = opcode;
	p->qpn = from ? 17 : 18;
	p->psn = psn & FLOW_PSN_MASK;
	p->at[PKT_PAYLOAD].len = payload;
	p->pad = -payload & 3;
	p->ackreq = true;
	return p;
}

/* A WRITE's packet: i of n, of a message of @bytes */
static void write_packet(FIXTURE_DATA(flow) * self, uint32_t psn, uint32_t bytes, unsigned int i)
{
	unsigned int n = flow_packets(bytes, MTU);
	const uint8_t op = n == 1 ? PKT_WRITE_ONLY : !i ? PKT_WRITE_FIRST :
			   i == n - 1 ? PKT_WRITE_LAST : PKT_WRITE_MIDDLE;
	struct pkt *p = bth(self, 0, op, psn, i == n - 1 ? bytes - i * MTU : MTU);

	p->dma_len = bytes;
	p->va = 0x1000;
	p->rkey = 0x42;
	give(self);
}

static void ack(FIXTURE_DATA(flow) * self, uint32_t psn, uint8_t syndrome, uint32_t msn)
{
	struct pkt *p = bth(self, 1, PKT_ACK, psn, 0);

	p->at[PKT_AETH].len = 4;
	p->ackreq = false;
	p->syndrome = syndrome;
	p->msn = msn;
	give(self);
}

static void read_request(FIXTURE_DATA(flow) * self, uint32_t psn, uint32_t bytes)
{
	struct pkt *p = bth(self, 0, PKT_READ_REQUEST, psn, 0);

	p->dma_len = bytes;
	p->va = 0x1000;
	p->rkey = 0x42;
	give(self);
}

static void read_data(FIXTURE_DATA(flow) * self, uint8_t op, uint32_t psn, uint32_t payload,
		      uint32_t msn)
{
	struct pkt *p = bth(self, 1, op, psn, payload);

	p->at[PKT_AETH].len = op == PKT_READ_MIDDLE ? 0 : 4;
	p->msn = msn;
	give(self);
}

#define ACK_OK		0x1f
#define RNR		0x21
#define NAK_SEQ		0x60
#define NAK_REM_INVALID	0x61
#define NAK_REM_ACCESS	0x62

#endif /* RTGT_ROCE_FLOW_H */
