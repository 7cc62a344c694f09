// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The smallest client: WRITE a text into the server's memory, READ it back.
 *
 *	client [-I SOURCE] HOST [PORT]
 *
 * The server's processor takes part in the connect only.  The capability in its REP, an address
 * and a key (the rkey), gives the client access to memory that the server has registered.
 *
 *	client						server
 *	  | connect ----- REQ --------------------------> | accept
 *	  | <------------ REP + { addr, rkey, len } ----- |
 *	  | WRITE --- data -----------------------------> | (its device stores it)
 *	  | <------------------------- acknowledgment --- |
 *	  | READ --- request ---------------------------> |
 *	  | <----------------------------------- data --- | (its device fetches it)
 *
 * Any failure exits: the kernel releases what the process held.
 */
#include <endian.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#define TIMEOUT_MS	5000

struct capability { /* what the server sends: network byte order, no padding */
	uint64_t addr;
	uint32_t rkey;
	uint64_t len;
} __attribute__((packed));

static void check(int ok, const char *what, const char *why)
{
	if (!ok) {
		fprintf(stderr, "client: %s: %s\n", what, why ? why : strerror(errno));
		exit(1);
	}
}

/* Post one request and wait until it is done: the data is there, or here */
static void transfer(struct rdma_cm_id *id, enum ibv_wr_opcode opcode, struct ibv_mr *mr,
		     const struct capability *cap)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)mr->addr, .length = (uint32_t)mr->length, .lkey = mr->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = opcode, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = { .remote_addr = be64toh(cap->addr), .rkey = be32toh(cap->rkey) },
	}, *bad;
	const time_t end = time(NULL) + 1 + TIMEOUT_MS / 1000;
	struct ibv_wc wc;
	int n;

	errno = ibv_post_send(id->qp, &wr, &bad);
	check(!errno, "posting a request", NULL);
	/*
	 * Busy-polling is simple; completion events are the way to sleep instead.  siw does not
	 * flush what is posted after an error (Documentation/findings/siw-post-after-error.rst).
	 */
	while (!(n = ibv_poll_cq(id->send_cq, 1, &wc)))
		check(time(NULL) < end, "the request", "no completion");
	check(n > 0, "polling the completion queue", NULL);
	check(wc.status == IBV_WC_SUCCESS, "the request failed", ibv_wc_status_str(wc.status));
}

int main(int argc, char **argv)
{
	const char *source = NULL;
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *dst, *src = NULL;
	/* No completion queue named: librdmacm makes one for each direction */
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	/* initiator_depth: READs that may be outstanding; 0 would forbid them */
	struct rdma_conn_param param = {
		.initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7,
	};
	char text[] = "client-wrote-this", back[sizeof(text)] = "";
	struct ibv_mr *mr_text, *mr_back;
	struct capability cap;
	struct rdma_cm_id *id;
	int opt;

	/* siw sends inside the system call: once the peer has gone, that would end the program */
	signal(SIGPIPE, SIG_IGN);
	while ((opt = getopt(argc, argv, "I:")) == 'I')
		source = optarg;
	check(opt == -1 && optind < argc, "usage", "client [-I SOURCE] HOST [PORT]");
	check(!rdma_getaddrinfo(argv[optind], argv[optind + 1] ? argv[optind + 1] : "7471", &hints,
				&dst), argv[optind], NULL);
	check(!source || !rdma_getaddrinfo(source, NULL, &hints, &src), "-I", NULL);

	/* Without an event channel, each call returns when its step is done */
	check(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), "rdma_cm (modprobe rdma_ucm?)", NULL);
	/* From an address to a device: the route decides which device is used */
	check(!rdma_resolve_addr(id, src ? src->ai_dst_addr : NULL, dst->ai_dst_addr, TIMEOUT_MS),
	      "resolving the address (is there an RDMA device? rdma link)", NULL);
	check(!rdma_resolve_route(id, TIMEOUT_MS), "resolving the route", NULL);
	check(!rdma_create_qp(id, NULL, &attr), "creating a queue pair", NULL);
	/* Memory that a device accesses is registered: pinned, and known to it by a key */
	mr_text = ibv_reg_mr(id->pd, text, sizeof(text), 0);
	mr_back = ibv_reg_mr(id->pd, back, sizeof(back), IBV_ACCESS_LOCAL_WRITE);
	check(mr_text && mr_back, "registering memory", NULL);

	check(!rdma_connect(id, &param), "connecting", NULL);
	check(id->event->param.conn.private_data_len >= sizeof(cap), "the server",
	      "sent no capability");
	memcpy(&cap, id->event->param.conn.private_data, sizeof(cap));
	printf("connected: remote addr %p rkey 0x%x len %zu\n", (void *)be64toh(cap.addr),
	       be32toh(cap.rkey), (size_t)be64toh(cap.len));

	transfer(id, IBV_WR_RDMA_WRITE, mr_text, &cap);
	printf("WRITE done: %zu bytes\n", sizeof(text));
	transfer(id, IBV_WR_RDMA_READ, mr_back, &cap);
	printf("READ done: \"%s\"\n", back);

	rdma_disconnect(id);
	ibv_dereg_mr(mr_text);
	ibv_dereg_mr(mr_back);
	rdma_destroy_ep(id);
	check(!strcmp(text, back), "the bytes that came back", "differ from those written");
	return 0;
}
