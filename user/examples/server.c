// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The smallest server: expose some memory to one client and show what it wrote.
 *
 *	server [-a ADDRESS] [PORT] [--loop] [--no-len]
 *
 * It registers a buffer for remote READ and WRITE and gives the client, in the
 * private data of its answer to the connect, what reaches it:
 *
 *	{ be64 addr, be32 rkey, be64 len }	20 bytes; 12 with --no-len
 *
 * From then on it does nothing: no receive, no completion, no copy.  The client
 * says it is done by disconnecting.
 *
 * The rkey is valid when the answer leaves because ibv_reg_mr() has returned by
 * then.  (A kernel server registers through its queue pair, which has to be
 * connected first, and must take care not to lose that race.)
 *
 * examples/client is the other side; rtgt ping can take its place.
 */
#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#define DEFAULT_PORT	"7471"
#define BUFFER_LEN	4096

/* Network byte order, no padding */
struct capability {
	uint64_t addr;
	uint32_t rkey;
	uint64_t len;
} __attribute__((packed));

/* One client's queue pair and what it needs */
struct conn {
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
};

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "server: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* A request to connect brings an identifier of its own: build everything on it */
static void make_conn(struct conn *c, struct rdma_cm_id *id, void *buffer)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	c->id = id;
	c->pd = ibv_alloc_pd(id->verbs);
	if (!c->pd)
		die("allocating a protection domain");
	/* The client's access is checked against the domain, the key, the range and these bits */
	c->mr = ibv_reg_mr(c->pd, buffer, BUFFER_LEN, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	if (!c->mr)
		die("registering memory");
	c->cq = ibv_create_cq(id->verbs, 2, NULL, NULL, 0);
	if (!c->cq)
		die("creating a completion queue");
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	if (rdma_create_qp(id, c->pd, &attr))
		die("creating a queue pair");
}

static void destroy_conn(struct conn *c)
{
	rdma_destroy_qp(c->id);
	ibv_destroy_cq(c->cq);
	ibv_dereg_mr(c->mr);
	ibv_dealloc_pd(c->pd);
	rdma_destroy_id(c->id);
	memset(c, 0, sizeof(*c));
}

/*
 * @reads: READs the client wants to have outstanding, from its request
 * @cap_len: bytes of the capability to send
 */
static void accept_conn(struct conn *c, uint8_t reads, uint8_t cap_len)
{
	struct capability cap = {
		.addr = htobe64((uintptr_t)c->mr->addr),
		.rkey = htobe32(c->mr->rkey),
		.len = htobe64(c->mr->length),
	};
	struct rdma_conn_param param = {
		.private_data = &cap, .private_data_len = cap_len,
		.responder_resources = reads, .rnr_retry_count = 7,
	};

	if (rdma_accept(c->id, &param))
		die("accepting");
	printf("client connected: gave it addr %p rkey 0x%x len %zu\n", c->mr->addr, c->mr->rkey,
	       c->mr->length);
}

static void show(const char *buffer)
{
	printf("client gone, the buffer begins with \"");
	for (int i = 0; i < 64 && buffer[i]; i++)
		putchar(isprint((unsigned char)buffer[i]) ? buffer[i] : '.');
	printf("\"\n");
}

/* Serve until a client was there from connect to disconnect */
static void serve_one(struct rdma_event_channel *channel, char *buffer, uint8_t cap_len)
{
	struct rdma_cm_event *ev;
	struct conn c = { };
	bool done = false;

	while (!done) {
		struct rdma_cm_id *id;
		enum rdma_cm_event_type event;
		uint8_t reads;

		if (rdma_get_cm_event(channel, &ev))
			die("waiting for an event");
		/* Take what is needed: acknowledging the event frees it */
		event = ev->event;
		id = ev->id;
		reads = event == RDMA_CM_EVENT_CONNECT_REQUEST ?
			ev->param.conn.responder_resources : 0;
		rdma_ack_cm_event(ev);

		if (event == RDMA_CM_EVENT_CONNECT_REQUEST && c.id) {
			/* One at a time */
			rdma_reject(id, NULL, 0);
			rdma_destroy_id(id);
		} else if (event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			memset(buffer, 0, BUFFER_LEN);
			make_conn(&c, id, buffer);
			accept_conn(&c, reads, cap_len);
		} else if (id == c.id && event != RDMA_CM_EVENT_ESTABLISHED) {
			/* DISCONNECTED, or an error before: both end this client's visit */
			done = event == RDMA_CM_EVENT_DISCONNECTED;
			if (done) {
				rdma_disconnect(id);
				show(buffer);
			} else {
				fprintf(stderr, "server: %s\n", rdma_event_str(event));
			}
			destroy_conn(&c);
		}
	}
}

static struct rdma_cm_id *listen_on(struct rdma_event_channel *channel, const char *address,
				    const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *ai;
	struct rdma_cm_id *listener;
	int ret = getaddrinfo(address, port, &hints, &ai);

	if (ret) {
		fprintf(stderr, "server: %s: %s\n", port, gai_strerror(ret));
		exit(1);
	}
	if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP))
		die("creating an identifier");
	if (rdma_bind_addr(listener, ai->ai_addr))
		die("binding (is there an RDMA device for this address? rdma link)");
	if (rdma_listen(listener, 1))
		die("listening");
	freeaddrinfo(ai);
	return listener;
}

int main(int argc, char **argv)
{
	static const char usage[] = "Usage: server [-a ADDRESS] [PORT] [--loop] [--no-len]\n";
	static char buffer[BUFFER_LEN] __attribute__((aligned(4096)));
	const char *address = "0.0.0.0", *port = DEFAULT_PORT;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	uint8_t cap_len = sizeof(struct capability);
	bool loop = false;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--loop")) {
			loop = true;
		} else if (!strcmp(argv[i], "--no-len")) {
			cap_len = offsetof(struct capability, len);
		} else if (!strcmp(argv[i], "-a") && i + 1 < argc) {
			address = argv[++i];
		} else if (argv[i][0] != '-') {
			port = argv[i];
		} else {
			bool asked = !strcmp(argv[i], "-h") || !strcmp(argv[i], "--help");

			fputs(usage, asked ? stdout : stderr);
			return asked ? 0 : 2;
		}
	}

	setlinebuf(stdout);
	channel = rdma_create_event_channel();
	if (!channel)
		die("opening rdma_cm (modprobe rdma_ucm? a device in rdma link?)");
	listener = listen_on(channel, address, port);
	printf("listening on %s port %s\n", address, port);
	do {
		serve_one(channel, buffer, cap_len);
	} while (loop);
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(channel);
	return 0;
}
