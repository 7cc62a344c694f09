// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The smallest server: expose some memory to one client and show what it wrote.
 *
 *	server [-a ADDRESS] [PORT] [--loop] [--no-len]
 *
 * It registers a buffer for remote READ and WRITE and sends the client, in the private data of the
 * REP, the capability: { be64 addr, be32 rkey, be64 len }, 20 bytes; 12 with --no-len.  From then
 * on it does nothing: no receive, no completion, no copy.  The client disconnects when it is done.
 * The rkey is valid when the REP leaves because ibv_reg_mr() has returned by then.
 */
#include <endian.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/rdma_cma.h>

struct capability { /* network byte order, no padding */
	uint64_t addr;
	uint32_t rkey;
	uint64_t len;
} __attribute__((packed));

static char buffer[4096] __attribute__((aligned(4096)));

static void check(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "server: %s: %s\n", what, strerror(errno));
		exit(1);
	}
}

/*
 * A REQ brings an identifier of its own, with a device: make a queue pair there and accept.
 * librdmacm makes the protection domain and the completion queues.
 */
static struct ibv_mr *serve(struct rdma_cm_id *id, uint8_t reads, uint8_t cap_len)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct capability cap;
	/* reads: the READs that the client wants to have outstanding */
	struct rdma_conn_param param = {
		.private_data = &cap, .private_data_len = cap_len,
		.responder_resources = reads, .rnr_retry_count = 7,
	};
	struct ibv_mr *mr;

	memset(buffer, 0, sizeof(buffer));
	check(!rdma_create_qp(id, NULL, &attr), "creating a queue pair");
	/* The device checks each access: protection domain, key, range and these bits */
	mr = ibv_reg_mr(id->pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	check(!!mr, "registering memory");
	cap = (struct capability){ htobe64((uintptr_t)buffer), htobe32(mr->rkey),
				   htobe64(sizeof(buffer)) };
	check(!rdma_accept(id, &param), "accepting");
	printf("client connected: gave it addr %p rkey 0x%x len %zu\n", mr->addr, mr->rkey,
	       mr->length);
	return mr;
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP }, *ai;
	const char *address = "0.0.0.0", *port = "7471";
	struct rdma_cm_id *listener, *client = NULL;
	uint8_t cap_len = sizeof(struct capability);
	struct rdma_event_channel *channel;
	struct rdma_cm_event *ev;
	struct ibv_mr *mr = NULL;
	bool loop = false;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--loop"))
			loop = true;
		else if (!strcmp(argv[i], "--no-len"))
			cap_len = offsetof(struct capability, len);
		else if (!strcmp(argv[i], "-a") && i + 1 < argc)
			address = argv[++i];
		else
			port = argv[i];
	}
	setlinebuf(stdout);
	/* siw sends inside the system call: once the peer has gone, that would end the program */
	signal(SIGPIPE, SIG_IGN);
	channel = rdma_create_event_channel();
	check(channel && !rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), "opening rdma_cm");
	check(!rdma_getaddrinfo(address, port, &hints, &ai), address);
	check(!rdma_bind_addr(listener, ai->ai_src_addr), "binding (a device in rdma link?)");
	check(!rdma_listen(listener, 1), "listening");
	printf("listening on %s port %s\n", address, port);

	while (!rdma_get_cm_event(channel, &ev)) {
		enum rdma_cm_event_type event = ev->event;
		uint8_t reads = ev->param.conn.responder_resources;
		struct rdma_cm_id *id = ev->id;

		rdma_ack_cm_event(ev); /* frees it: take what is needed before */
		if (event == RDMA_CM_EVENT_CONNECT_REQUEST && client) {
			rdma_reject(id, NULL, 0); /* one at a time */
			rdma_destroy_id(id);
		} else if (event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			mr = serve(id, reads, cap_len);
			client = id;
		} else if (id == client && event != RDMA_CM_EVENT_ESTABLISHED) {
			/* DISCONNECTED, or an error before: both end this client's visit */
			rdma_disconnect(id);
			printf("client gone, the buffer begins with \"%.64s\"\n", buffer);
			rdma_destroy_qp(id);
			ibv_dereg_mr(mr);
			rdma_destroy_id(id);
			client = NULL;
			if (!loop && event == RDMA_CM_EVENT_DISCONNECTED)
				return 0;
		}
	}
	check(0, "waiting for an event");
}
