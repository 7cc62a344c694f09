// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets that no device of ours sends: written byte by byte to a raw socket, from any
 * source address.  IPv4 only.
 *
 *	half	count=N requests of the connection manager, op=req, sidr-req or dreq: REQs, each for
 *		a connection of its own, with the largest response timeout (over two hours) and 15
 *		retries.  Nobody answers the REP: no RTU, no REJ.  With "file", rdma_cm's header
 *		claims that they come from a hundred addresses from that one on
 *	lost	count=N datagrams to the endpoint that the target names to a client at the
 *		address "file", from a hundred addresses from "source" on, which need not
 *		exist
 *	guess	a SEND to the queue pair qpn=N, with the number psn=N.  Nobody acknowledges the
 *		reply
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pcap/dlt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../frames.h"
#include "probe.h"

#define CM_QKEY		0x80010000u
#define UDP_QKEY	0x01234567u	/* RDMA_UDP_QKEY */
#define SEND_ONLY_UD	0x64
#define SEND_ONLY_RC	0x04

/* Offsets in a REQ, from its first byte behind the MAD header */
enum {
	CM_BYTES	= 232,
	REQ_SERVICE	= 8,
	REQ_GUID	= 16,
	REQ_QPN		= 32,
	REQ_DEPTH	= 39,
	REQ_REMOTE	= 43,	/* remote response timeout, transport, flow control */
	REQ_PSN		= 44,
	REQ_LOCAL	= 47,	/* local response timeout, retries */
	REQ_PKEY	= 48,
	REQ_MTU		= 50,
	REQ_RETRIES	= 51,
	REQ_LIDS	= 52,
	REQ_GIDS	= 56,
	REQ_RATE	= 91,
	REQ_HOPS	= 93,
	REQ_SL		= 94,
	REQ_ACK		= 95,
	REQ_PRIVATE	= 140,
	PRIVATE_RTGT	= 36,	/* behind rdma_cm's own */
};

/* Of a request: host byte order; the source, the target, and the source in rdma_cm's header */
struct origin {
	uint32_t from, to, claimed;
	uint16_t port;
};

static void put_at(struct frame *f, size_t at, uint64_t value, size_t bytes)
{
	const size_t end = f->len;

	f->len = at;
	frame_put(f, value, bytes);
	f->len = end;
}

static void put_zeros(struct frame *f, size_t n)
{
	memset(f->b + f->len, 0, n);
	f->len += n;
}

/* From the IP header to the BTH */
static void begin_packet(struct frame *f, uint32_t from, uint32_t to, uint8_t opcode, uint32_t qpn,
			 uint32_t psn)
{
	static uint16_t id = 1;

	frame_link(f, DLT_RAW, false, 0);
	frame_mask_ip4(f, f->ip);
	frame_put(f, 0x45000000, 4);
	frame_put(f, id++, 2);
	frame_put(f, 0x4000, 2);
	frame_put(f, 0x40110000, 4);
	frame_put(f, from, 4);
	frame_put(f, to, 4);
	frame_udp(f);
	frame_bth(f, opcode, 0, qpn);
	put_at(f, f->bth + 1, 0, 1);
	put_at(f, f->bth + 2, 0xffff, 2);
	put_at(f, f->bth + 8, psn & 0xffffff, 4);
}

/* To the datagram's own header */
static void begin(struct frame *f, uint32_t from, uint32_t to, uint32_t qpn, uint32_t qkey,
		  uint32_t psn)
{
	begin_packet(f, from, to, SEND_ONLY_UD, qpn, psn);
	frame_put(f, qkey, 4);
	frame_put(f, 1, 4);
}

static void put_gid(struct frame *f, size_t at, uint32_t addr)
{
	put_at(f, at + 10, 0xffff, 2);
	put_at(f, at + 12, addr, 4);
}

/* rdma_cm's header in the private data, and our own behind it */
static void put_private(struct frame *f, size_t at, uint32_t claimed, uint32_t to)
{
	struct rtgt_req own;

	put_at(f, at + 1, 0x40, 1);
	put_at(f, at + 2, 0xc000, 2);
	put_at(f, at + 16, claimed, 4);
	put_at(f, at + 32, to, 4);
	rtgt_encode_req(&own);
	memcpy(f->b + at + PRIVATE_RTGT, &own, sizeof(own));
}

/* A message of the connection manager, without its bytes: they begin there */
static size_t begin_cm(struct frame *f, uint32_t from, uint32_t to, uint16_t attribute, uint32_t nr)
{
	size_t at;

	begin(f, from, to, 1, CM_QKEY, nr);
	frame_put(f, 0x01070203, 4);
	frame_put(f, 0, 4);
	frame_put(f, 0xbad00000ull << 32 | nr, 8);
	frame_put(f, attribute, 2);
	put_zeros(f, 6);
	at = f->len;
	put_zeros(f, CM_BYTES);
	put_at(f, at, nr, 4);
	return at;
}

/* InfiniBand Architecture Specification 12.6.10 */
static void make_dreq(struct frame *f, const struct origin *o, uint32_t nr)
{
	size_t dreq = begin_cm(f, o->from, o->to, 0x15, nr);

	put_at(f, dreq + 4, nr, 4);
	put_at(f, dreq + 8, (nr & 0xffffff) << 8, 4);
	frame_end(f);
}

/* 12.11.1 */
static void make_sidr_req(struct frame *f, const struct origin *o, uint32_t nr)
{
	size_t req = begin_cm(f, o->from, o->to, 0x17, nr);

	put_at(f, req + 4, 0xffff, 2);
	put_at(f, req + REQ_SERVICE, 0x01110000ull | o->port, 8);
	put_private(f, req + 16, o->claimed, o->to);
	frame_end(f);
}

/* 12.6.5 */
static void make_req(struct frame *f, const struct origin *o, uint32_t nr)
{
	const uint32_t from = o->from, to = o->to;
	size_t req = begin_cm(f, from, to, 0x10, nr);

	put_at(f, req + REQ_SERVICE, 0x01060000ull | o->port, 8);
	put_at(f, req + REQ_GUID, 0xbad0000000000000ull | from, 8);
	put_at(f, req + REQ_QPN, (nr & 0xffffff) << 8 | 4, 4);
	put_at(f, req + REQ_DEPTH, 4, 1);
	put_at(f, req + REQ_REMOTE, 31 << 3, 1);
	put_at(f, req + REQ_PSN, nr & 0xffffff, 3);
	put_at(f, req + REQ_LOCAL, 31 << 3 | 7, 1);
	put_at(f, req + REQ_PKEY, 0xffff, 2);
	put_at(f, req + REQ_MTU, 3 << 4 | 7, 1);
	put_at(f, req + REQ_RETRIES, 15 << 4, 1);
	put_at(f, req + REQ_LIDS, 0xffffffff, 4);
	put_gid(f, req + REQ_GIDS, from);
	put_gid(f, req + REQ_GIDS + 16, to);
	put_at(f, req + REQ_RATE, 3, 1);
	put_at(f, req + REQ_HOPS, 64, 1);
	put_at(f, req + REQ_ACK, 18 << 3, 1);
	put_private(f, req + REQ_PRIVATE, o->claimed, to);
	frame_end(f);
}

static void put_echo(struct frame *f, uint32_t tag)
{
	struct rtgt_msg msg;

	rtgt_encode_msg(&msg, RTGT_MSG_ECHO, tag, 0);
	memcpy(f->b + f->len, &msg, sizeof(msg));
	f->len += sizeof(msg);
	frame_end(f);
}

static void make_datagram(struct frame *f, uint32_t from, uint32_t to, uint32_t qpn, uint32_t nr)
{
	begin(f, from, to, qpn, UDP_QKEY, nr);
	put_echo(f, nr);
}

static int send_frame(int fd, const struct frame *f, uint32_t to)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(to) };

	if (sendto(fd, f->b, f->len, 0, (struct sockaddr *)&addr, sizeof(addr)) >= 0)
		return 0;
	perror("probe: raw packet");
	return -1;
}

static int open_raw(const struct option *o, uint32_t *from, uint32_t *to)
{
	struct in_addr source, host;
	int fd;

	if (!o->source || !inet_aton(o->source, &source) || !inet_aton(o->host, &host)) {
		fputs("probe: IPv4 addresses are needed\n", stderr);
		return -1;
	}
	*from = ntohl(source.s_addr);
	*to = ntohl(host.s_addr);
	fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	if (fd < 0)
		perror("probe: raw socket");
	return fd;
}

static void (*make_of(const char *op))(struct frame *f, const struct origin *o, uint32_t nr)
{
	if (!strcmp(op, "sidr-req"))
		return make_sidr_req;
	if (!strcmp(op, "dreq"))
		return make_dreq;
	/* "write" is what options say by default */
	return strcmp(op, "write") && strcmp(op, "req") ? NULL : make_req;
}

static int cmd_half(const struct option *o)
{
	void (*make)(struct frame *f, const struct origin *o, uint32_t nr) = make_of(o->op);
	struct origin origin = { .port = (uint16_t)strtoul(o->port, NULL, 10) };
	struct in_addr claimed;
	long long sent = 0;
	struct frame f;
	int fd;

	if (!make || (o->file && !inet_aton(o->file, &claimed))) {
		fputs("probe: op=req, sidr-req or dreq, and an IPv4 address as file\n", stderr);
		return 1;
	}
	fd = open_raw(o, &origin.from, &origin.to);
	if (fd < 0)
		return 1;
	for (; sent < o->count; sent++) {
		origin.claimed = origin.from;
		if (o->file)
			origin.claimed = ntohl(claimed.s_addr) + (uint32_t)sent % 100;
		/* the low bits of the process: another run is another set of connections */
		make(&f, &origin, (uint32_t)getpid() << 12 | (uint32_t)(sent + 1));
		if (send_frame(fd, &f, origin.to))
			break;
	}
	close(fd);
	printf("sent=%lld\n", sent);
	return sent < o->count;
}

static int cmd_lost(const struct option *o)
{
	struct option real = *o;
	uint32_t from, to;
	long long sent = 0;
	struct rtgt_err err;
	struct frame f;
	struct link l;
	int fd = open_raw(o, &from, &to);

	if (fd < 0)
		return 1;
	real.source = o->file;	/* what resolves is another address */
	real.transport = RTGT_UD;
	if (open_link(&l, &real, &err)) {
		complain("lost", &err);
	} else {
		for (; sent < o->count; sent++) {
			make_datagram(&f, from + (uint32_t)sent % 100, to, l.cm.ud.qp_num,
				      (uint32_t)sent);
			if (send_frame(fd, &f, to))
				break;
		}
	}
	close_link(&l);
	close(fd);
	printf("sent=%lld\n", sent);
	return sent < o->count;
}

static int cmd_guess(const struct option *o)
{
	uint32_t from, to;
	struct frame f;
	int ret, fd = open_raw(o, &from, &to);

	if (fd < 0)
		return 1;
	begin_packet(&f, from, to, SEND_ONLY_RC, (uint32_t)o->qpn, (uint32_t)o->psn);
	put_echo(&f, 1);
	ret = send_frame(fd, &f, to);
	close(fd);
	if (!ret)
		printf("sent=1\n");
	return ret;
}

static const struct arg guess_args[] = {
	NUMBER(qpn, "queue pair of the target"),
	NUMBER(psn, "the next one that it expects"),
	{ }
};

const struct command guess_command = {
	.name = "guess",
	.help = "a SEND from a raw socket to any queue pair",
	.run = cmd_guess,
	.args = { guess_args, link_args },
};

static const struct arg half_args[] = {
	NUMBER(count, "requests"),
	TEXT(op, "req, sidr-req or dreq"),
	TEXT(file, "address they claim to come from, and 99 behind it"),
	{ }
};

const struct command half_command = {
	.name = "half",
	.help = "requests of the connection manager from a raw socket, with nothing to follow",
	.run = cmd_half,
	.args = { half_args, link_args },
};

static const struct arg lost_args[] = {
	NUMBER(count, "datagrams"),
	TEXT(file, "address of a client whom the target tells its endpoint"),
	{ }
};

const struct command lost_command = {
	.name = "lost",
	.help = "datagrams from a raw socket, whose senders do not exist",
	.run = cmd_lost,
	.args = { lost_args, link_args },
};
