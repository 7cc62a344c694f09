// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cm-notify-destroy ADDRESS COMMAND: a server whose client sends no RTU runs COMMAND, calls
 * rdma_notify() as if a message had arrived, disconnects and destroys its id.  Prints how
 * long that took, and exits 1 if it was more than five seconds.
 */
#include <rdma/rdma_cma.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct rdma_cm_id *await(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(ch, &ev))
		return NULL;
	id = ev->event == type ? ev->id : NULL;
	if (!id)
		printf("%s, status %d\n", rdma_event_str(ev->event), ev->status);
	return rdma_ack_cm_event(ev), id;
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *s = rdma_create_event_channel(), *c = rdma_create_event_channel();
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1, .qp_num = 99 };
	struct rdma_cm_id *listener, *client, *server;
	struct addrinfo *a;
	double start;

	if (argc != 3 || !s || !c || getaddrinfo(argv[1], "7599", NULL, &a) ||
	    rdma_create_id(s, &listener, NULL, RDMA_PS_TCP) || rdma_bind_addr(listener, a->ai_addr) ||
	    rdma_listen(listener, 1) || rdma_create_id(c, &client, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(client, NULL, a->ai_addr, 2000) ||
	    !await(c, RDMA_CM_EVENT_ADDR_RESOLVED) || rdma_resolve_route(client, 2000) ||
	    !await(c, RDMA_CM_EVENT_ROUTE_RESOLVED) || rdma_connect(client, &param))
		return perror("cm-notify-destroy"), 2;
	server = await(s, RDMA_CM_EVENT_CONNECT_REQUEST);
	/* without a QP of rdma_cm's, the RTU comes with rdma_establish(), which nobody calls */
	if (!server || rdma_accept(server, &param) || !await(c, RDMA_CM_EVENT_CONNECT_RESPONSE))
		return perror("cm-notify-destroy"), 2;
	printf("%s: %d\n", argv[2], system(argv[2]));
	start = now();
	printf("rdma_notify: %d, ", rdma_notify(server, IBV_EVENT_COMM_EST));
	printf("rdma_disconnect: %d, ", rdma_disconnect(server));
	rdma_destroy_id(server);
	printf("rdma_destroy_id: after %.3f s\n", now() - start);
	return now() - start > 5;
}
