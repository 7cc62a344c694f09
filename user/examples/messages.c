// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The smallest client that speaks the target's protocol: WRITE eight bytes, request their CRC-32
 * with a SEND, compare.  It needs no librtgt, and was written from this page alone:
 * Documentation/protocol.rst
 *
 *	messages HOST [PORT [SOURCE [SECONDS]]]
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define MAGIC		0x52544754
#define VERSION		1
#define OP_CHECKSUM	2
#define OP_REPLY	0x80

struct capability {
	uint64_t addr;
	uint32_t rkey;
	uint64_t len;
} __attribute__((packed));

struct req {
	uint32_t magic;
	uint16_t version, size;
	uint32_t features, rsvd;
} __attribute__((packed));

struct rep { /* as far as this program needs it */
	struct capability cap;
	uint32_t magic;
	uint16_t version;
} __attribute__((packed));

struct msg {
	uint8_t version, op;
	uint16_t status;
	uint32_t tag, len, arg;
} __attribute__((packed));

struct checksum {
	struct msg head;
	uint32_t region, rsvd;
	uint64_t offset, len;
} __attribute__((packed));

struct checksum_reply {
	struct msg head;
	uint32_t crc, rsvd;
	uint64_t len;
} __attribute__((packed));

static void check(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "messages: %s: %s\n", what, strerror(errno));
		exit(1);
	}
}

/* rdma_cm and the verbs wait without a limit */
static void silent(int sig)
{
	static const char words[] = "messages: no reply: the time is over\n";

	(void)sig;
	_exit(write(STDERR_FILENO, words, sizeof(words) - 1) ? 1 : 2);
}

static void done(int n, const struct ibv_wc *wc, const char *what)
{
	errno = n == 1 ? EIO : errno;
	check(n == 1 && wc->status == IBV_WC_SUCCESS, what);
}

static uint32_t crc32(const uint8_t *p, size_t len)
{
	uint32_t crc = ~0U;

	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo from = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *src, *dst;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .cap = { 2, 1, 1, 1, 0 }, .sq_sig_all = 1,
	};
	struct req req = { htonl(MAGIC), htons(VERSION), htons(sizeof(req)), 0, 0 };
	struct rdma_conn_param param = {
		.private_data = &req, .private_data_len = sizeof(req), .rnr_retry_count = 7,
	};
	struct checksum ask = {
		{ VERSION, OP_CHECKSUM, 0, htonl(1), htonl(24), 0 }, 0, 0, 0, htobe64(8),
	};
	struct checksum_reply answer = { };
	uint8_t data[8] = "8 bytes";
	struct ibv_mr *mr_data, *mr_ask, *mr_answer;
	struct rdma_cm_id *id;
	struct ibv_wc wc;
	struct rep rep;

	/* siw sends inside the system call: once the peer has gone, that would end the program */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGALRM, silent);
	alarm(argc > 4 ? (unsigned int)atoi(argv[4]) : 10);
	if (argc > 3) {
		check(!rdma_getaddrinfo(argv[3], NULL, &from, &src), "SOURCE");
		hints.ai_src_addr = src->ai_src_addr;
		hints.ai_src_len = src->ai_src_len;
	}
	check(argc > 1 && !rdma_getaddrinfo(argv[1], argc > 2 ? argv[2] : "7471", &hints, &dst),
	      "HOST [PORT [SOURCE [SECONDS]]]");
	check(!rdma_create_ep(&id, dst, NULL, &attr), "resolving the address");
	mr_data = rdma_reg_msgs(id, data, sizeof(data));
	mr_ask = rdma_reg_msgs(id, &ask, sizeof(ask));
	mr_answer = rdma_reg_msgs(id, &answer, sizeof(answer));
	check(mr_data && mr_ask && mr_answer, "registering memory");
	/* the reply needs a receive, which must be there before the request goes out */
	check(!rdma_post_recv(id, NULL, &answer, sizeof(answer), mr_answer), "posting a receive");
	check(!rdma_connect(id, &param), "connecting");
	check(id->event->param.conn.private_data_len >= sizeof(rep), "no rtgt target");
	memcpy(&rep, id->event->param.conn.private_data, sizeof(rep));
	check(rep.magic == htonl(MAGIC) && rep.version == htons(VERSION),
	      "no rtgt target of this version");

	check(!rdma_post_write(id, NULL, data, 8, mr_data, 0, be64toh(rep.cap.addr),
			       ntohl(rep.cap.rkey)), "posting");
	done(rdma_get_send_comp(id, &wc), &wc, "WRITE");
	check(!rdma_post_send(id, NULL, &ask, sizeof(ask), mr_ask, 0), "posting");
	done(rdma_get_send_comp(id, &wc), &wc, "SEND");
	done(rdma_get_recv_comp(id, &wc), &wc, "receive");
	/* a peer's word is not proof: version, operation, status, tag and both lengths */
	errno = EPROTO;
	check(wc.byte_len == sizeof(answer) && answer.head.version == VERSION &&
	      answer.head.op == (OP_CHECKSUM | OP_REPLY) && !answer.head.status &&
	      answer.head.tag == ask.head.tag && answer.head.len == htonl(16) &&
	      answer.len == ask.len, "the reply is not to this request");
	printf("the target's CRC-32 is 0x%08x, mine 0x%08x\n", ntohl(answer.crc), crc32(data, 8));
	rdma_disconnect(id);
	rdma_destroy_ep(id);
	errno = EBADMSG;
	check(ntohl(answer.crc) == crc32(data, 8), "the target holds other bytes");
	return 0;
}
