// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the target's device answered, taken from the wire and not from a
 * completion: the AETHs of the acknowledge packets that came in for a queue pair
 * (InfiniBand Architecture Specification 9.7.5.2.1: syndrome, 9.7.5.1.5 its
 * codes), or over iWARP the Terminate that came in on its TCP connection (RFC 5040, 4.8).
 *
 * A packet socket gets a frame before the protocol that will handle it, so when a
 * work request has completed, what completed it can be read here.  A WRITE over iWARP
 * completes before that: there the tap is read when the connection has ended.  A filter
 * keeps all else out, and with it the socket from overflowing.  IPv4 without options only.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probe.h"

/* From the IP header on: it has 20 bytes, UDP's has 8 */
#define AT_LENGTH	2
#define AT_PROTOCOL	9
#define AT_DEST		22	/* port of UDP or TCP */
#define AT_TCP_LEN	32	/* upper 4 bits: words of TCP's header */
#define AT_BTH		28
#define AT_QPN		(AT_BTH + 5)
#define AT_AETH		(AT_BTH + 12)
#define ROCE_PORT	4791
#define RC_ACKNOWLEDGE	0x11

/* The upper bits of a syndrome */
#define KIND(syndrome)	((syndrome) >> 5 & 3)
enum { ACK = 0, RNR = 1, NAK = 3 };

/*
 * An FPDU is its length (2), the DDP segment, a pad to 4 bytes and a CRC (4).  From its
 * length on: DDP's control byte, RDMAP's, and of an untagged segment a queue number.
 */
#define AT_RDMAP	3
#define AT_QUEUE	11	/* the number's last byte */
#define AT_TERM		20
#define OP_TERMINATE	7
#define QUEUE_TERMINATE	2

/* How long a Terminate may follow the end of a connection that it has ended, in ms */
#define TERM_MS		1000

static int open_socket(struct tap *t, struct sock_filter *filter, unsigned short len)
{
	const struct sock_fprog prog = { .len = len, .filter = filter };

	/*
	 * All protocols: who wants one of them may be given a packet after IP has had it, and then
	 * the completion that the packet makes may come before the packet (seen with 7.3).
	 */
	t->fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));
	if (t->fd < 0 || setsockopt(t->fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog))) {
		fprintf(stderr, "probe: no packet socket: %s\n", strerror(errno));
		return -1;
	}
	return 0;
}

static int open_acknowledges(struct tap *t)
{
	struct sock_filter acknowledges[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, SKF_AD_OFF + SKF_AD_PROTOCOL),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 7),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_PROTOCOL),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 5),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_DEST),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ROCE_PORT, 0, 3),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_BTH),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RC_ACKNOWLEDGE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, AT_AETH + 4),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};

	return open_socket(t, acknowledges, sizeof(acknowledges) / sizeof(acknowledges[0]));
}

static int open_stream(struct tap *t, uint16_t port)
{
	struct sock_filter stream[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, SKF_AD_OFF + SKF_AD_PROTOCOL),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 12),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_PROTOCOL),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 10),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_DEST),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 8),
		/* with bytes in it: the length of both headers is not the packet's */
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_TCP_LEN),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 2),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 20),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_LENGTH),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT16_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};

	return open_socket(t, stream, sizeof(stream) / sizeof(stream[0]));
}

/* For what the target answers to work requests that are posted from now on */
int tap_open(struct tap *t, const struct link *l)
{
	memset(t, 0, sizeof(*t));
	t->iwarp = l->qp.qp->context->device->transport_type == IBV_TRANSPORT_IWARP;
	t->term = "none";
	return t->iwarp ? open_stream(t, ntohs(rdma_get_src_port(l->cm.id))) :
			  open_acknowledges(t);
}

static void count(struct tap *t, uint8_t syndrome)
{
	switch (KIND(syndrome)) {
	case ACK:
		t->acks++;
		break;
	case RNR:
		t->rnrs++;
		t->rnr_timer = syndrome & 0x1f;
		break;
	case NAK:
		/* the first one is the verdict: each later one repeats it */
		if (!t->naks++)
			t->nak = syndrome & 0x1f;
		break;
	}
}

/* Count what came in, not what went out of the other device of the same machine */
static void count_acknowledges(struct tap *t, uint32_t qpn)
{
	uint8_t p[128];
	struct sockaddr_ll from;
	socklen_t size = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(t->fd, p, sizeof(p), MSG_DONTWAIT, (void *)&from, &size)) >= 0) {
		uint32_t to = (uint32_t)p[AT_QPN] << 16 | (uint32_t)p[AT_QPN + 1] << 8 |
			      p[AT_QPN + 2];

		if (n >= AT_AETH + 4 && from.sll_pkttype != PACKET_OUTGOING && to == qpn)
			count(t, p[AT_AETH]);
		size = sizeof(from);
	}
}

/*
 * A word for what a Terminate says.  RFC 5040 has the layer in the upper half of the byte and
 * the type in the lower one, siw the other way round; it also has the bits of @has, by which it
 * is known, at the other end of their byte (Documentation/findings/siw-terminate-bits.rst).
 */
static const char *term_word(uint8_t layer_type, uint8_t code, uint8_t has)
{
	static const struct {
		uint8_t layer_type, code;
		const char *word;
	} all[] = {
		{ 0x01, 0, "stag" }, { 0x01, 1, "bounds" }, { 0x01, 2, "access" },
		{ 0x01, 3, "pd" },
		{ 0x01, 4, "wrap" }, { 0x01, 9, "no-inv" }, { 0x02, 9, "no-inv" },
		{ 0x02, 7, "stream" },
		{ 0x10, 0, "ddp" },
		{ 0x11, 0, "stag" }, { 0x11, 1, "bounds" }, { 0x11, 2, "pd" }, { 0x11, 3, "wrap" },
		{ 0x12, 2, "no-receive" }, { 0x12, 3, "msn" }, { 0x12, 5, "too-long" },
	};

	if (!(has & 0xe0) && has & 7)
		layer_type = (uint8_t)(layer_type << 4 | layer_type >> 4);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].layer_type == layer_type && all[i].code == code)
			return all[i].word;
	fprintf(stderr, "probe: a Terminate of 0x%02x 0x%02x\n", layer_type, code);
	return "unknown";
}

/* A segment of siw begins with an FPDU */
static void look_for_terminate(struct tap *t, const uint8_t *p, size_t len)
{
	while (len >= AT_TERM + 4) {
		size_t fpdu = ((size_t)(p[0] << 8 | p[1]) + 2 + 3) / 4 * 4 + 4;

		if ((p[AT_RDMAP] & 0xf) == OP_TERMINATE && p[AT_QUEUE] == QUEUE_TERMINATE)
			t->term = term_word(p[AT_TERM], p[AT_TERM + 1], p[AT_TERM + 2]);
		if (fpdu > len)
			return;
		p += fpdu;
		len -= fpdu;
	}
}

static void read_stream(struct tap *t)
{
	static uint8_t p[UINT16_MAX];
	struct sockaddr_ll from;
	socklen_t size = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(t->fd, p, sizeof(p), MSG_DONTWAIT, (void *)&from, &size)) >= 0) {
		size_t at = 20 + (size_t)(p[AT_TCP_LEN] >> 4) * 4;

		if (from.sll_pkttype != PACKET_OUTGOING && (size_t)n > at)
			look_for_terminate(t, p + at, (size_t)n - at);
		size = sizeof(from);
	}
}

/*
 * What completed a work request.  Over iWARP nothing did; "ended" is whether the target has ended
 * the connection, with a Terminate perhaps.
 */
void tap_acknowledges(struct tap *t, uint32_t qpn)
{
	if (!t->iwarp)
		count_acknowledges(t, qpn);
}

void tap_close(struct tap *t, bool ended)
{
	struct pollfd pfd = { .fd = t->fd, .events = POLLIN };

	if (t->iwarp)
		read_stream(t);
	while (t->iwarp && ended && !strcmp(t->term, "none") && poll(&pfd, 1, TERM_MS) > 0)
		read_stream(t);
	if (t->iwarp)
		printf("term=%s\n", t->term);
	close(t->fd);
}

void tap_print(const struct tap *t)
{
	static const char *const codes[] = { "psn", "inv-req", "access", "op", "inv-rd" };

	if (t->naks)
		printf("nak=%s ", t->nak < 5 ? codes[t->nak] : "unknown");
	else if (t->rnrs)
		printf("nak=rnr rnr_timer=%u ", t->rnr_timer);
	else
		printf("nak=none ");
	printf("acks=%u rnrs=%u naks=%u\n", t->acks, t->rnrs, t->naks);
}
