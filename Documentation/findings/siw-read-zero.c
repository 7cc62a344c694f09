// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * siw-read-zero ADDRESS: a server that WRITEs without pause, and a client that READs zero
 * bytes from it on the same connection.  Exits 1 if one of 2,000 READs fails.
 */
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>

#define BYTES 64
static char buf[BYTES];
/* Where the server WRITEs: the client sends its SEND when this is known. */
static struct {
	uint64_t addr;
	uint32_t rkey;
} to;

static void *server(void *listener)
{
	struct rdma_conn_param accept = { .responder_resources = 1, .initiator_depth = 1 };
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	if (rdma_get_request(listener, &id) || !(mr = rdma_reg_msgs(id, buf, BYTES)) ||
	    rdma_post_recv(id, NULL, buf, BYTES, mr) || rdma_accept(id, &accept) ||
	    rdma_get_recv_comp(id, &wc) != 1 || wc.status)
		return perror("server"), NULL;
	for (int i = 0; i < 16 || (rdma_get_send_comp(id, &wc) == 1 && !wc.status); i++)
		rdma_post_write(id, NULL, buf, BYTES, mr, IBV_SEND_SIGNALED, to.addr, to.rkey);
	return NULL;
}

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr attr = { .cap = { 32, 2, 1, 1 }, .sq_sig_all = 1 };
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP }, *a;
	struct rdma_conn_param connect = { .responder_resources = 1, .initiator_depth = 1 };
	struct rdma_cm_id *id;
	struct ibv_wc wc = { };
	struct ibv_mr *mr;
	pthread_t thread;
	int i;

	if (argc != 2 || rdma_getaddrinfo(argv[1], "7598", &hints, &a) ||
	    rdma_create_ep(&id, a, NULL, &attr) || rdma_listen(id, 1) ||
	    pthread_create(&thread, NULL, server, id))
		return perror("listen"), 2;
	hints.ai_flags = 0;
	if (rdma_getaddrinfo(argv[1], "7598", &hints, &a) || rdma_create_ep(&id, a, NULL, &attr) ||
	    !(mr = rdma_reg_write(id, buf, BYTES)) || rdma_connect(id, &connect))
		return perror("connect"), 2;
	to.addr = (uintptr_t)buf, to.rkey = mr->rkey;
	if (rdma_post_send(id, NULL, buf, BYTES, mr, 0) || rdma_get_send_comp(id, &wc) != 1)
		return perror("client"), 2;
	for (i = 0; !wc.status && i < 2000 && !rdma_post_read(id, NULL, buf, 0, mr, 0, 0, 1); i++)
		rdma_get_send_comp(id, &wc);
	printf("READ %d: %s\n", i, ibv_wc_status_str(wc.status));
	return !!wc.status;
}
