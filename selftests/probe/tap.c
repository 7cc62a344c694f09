// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the target's device answered, taken from the wire and not from a
 * completion: the AETHs of the acknowledge packets that came in for a queue pair
 * (InfiniBand Architecture Specification 9.7.5.2.1: syndrome, 9.7.5.1.5 its
 * codes).
 *
 * A packet socket gets a frame before the protocol that will handle it, so when a
 * work request has completed, what completed it can be read here.  A filter keeps
 * all else out, and with it the socket from overflowing.  IPv4 without options
 * only.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probe.h"

/* From the IP header on: it has 20 bytes, UDP's has 8 */
#define AT_PROTOCOL	9
#define AT_UDP_DEST	22
#define AT_BTH		28
#define AT_QPN		(AT_BTH + 5)
#define AT_AETH		(AT_BTH + 12)
#define ROCE_PORT	4791
#define RC_ACKNOWLEDGE	0x11

/* The upper bits of a syndrome */
#define KIND(syndrome)	((syndrome) >> 5 & 3)
enum { ACK = 0, RNR = 1, NAK = 3 };

int tap_open(struct tap *t)
{
	struct sock_filter acknowledges[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_PROTOCOL),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 5),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_UDP_DEST),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ROCE_PORT, 0, 3),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_BTH),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RC_ACKNOWLEDGE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, AT_AETH + 4),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog prog = {
		.len = sizeof(acknowledges) / sizeof(acknowledges[0]),
		.filter = acknowledges,
	};

	memset(t, 0, sizeof(*t));
	t->fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP));
	if (t->fd < 0 || setsockopt(t->fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog))) {
		fprintf(stderr, "probe: no packet socket: %s\n", strerror(errno));
		return -1;
	}
	return 0;
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
void tap_close(struct tap *t, uint32_t qpn)
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
