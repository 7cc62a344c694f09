// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The smallest client: WRITE a text into the server's memory, READ it back.
 *
 *	client HOST [PORT] [-I SOURCE]
 *
 * The server's processor takes part in the connect only.  What lets us at its
 * memory is the capability it puts into its answer: an address and a key (the
 * rkey), made when the server registered that memory.
 *
 *	client						server
 *	  | resolve the address, then the route		  | listen
 *	  | connect ----- REQ --------------------------> | accept
 *	  | <------------ REP + { addr, rkey, len } ----- |
 *	  | --- RTU ------------------------------------> |
 *	  | WRITE --- data -----------------------------> | (its device stores it)
 *	  | <------------------------- acknowledgment --- |
 *	  | READ --- request ---------------------------> |
 *	  | <----------------------------------- data --- | (its device fetches it)
 *
 * It works against examples/server and against the kernel target.  Any failure
 * ends the program: the kernel releases what it held.
 */
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#define DEFAULT_PORT	"7471"
#define TIMEOUT_MS	5000
#define TEXT		"client-wrote-this"

/* What the server sends: network byte order, no padding */
struct capability {
	uint64_t addr;
	uint32_t rkey;
	uint64_t len;
} __attribute__((packed));

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	int code = errno;
	va_list ap;

	va_start(ap, fmt);
	fputs("client: ", stderr);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, ": %s\n", strerror(code));
	exit(1);
}

/*
 * Every step of connecting is asynchronous: a call starts it, an event ends it.
 * The caller acknowledges the event, after reading what it needs from it.
 */
static struct rdma_cm_event *expect(struct rdma_event_channel *channel,
				    enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *ev;

	if (rdma_get_cm_event(channel, &ev))
		die("waiting for %s", rdma_event_str(wanted));
	if (ev->event != wanted) {
		fprintf(stderr, "client: %s (status %d) instead of %s\n",
			rdma_event_str(ev->event), ev->status, rdma_event_str(wanted));
		exit(1);
	}
	return ev;
}

/* From a name to a device: the route decides which one we use */
static void resolve(struct rdma_event_channel *channel, struct rdma_cm_id *id, const char *host,
		    const char *port, const char *source)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *dst, *src = NULL;
	int ret = getaddrinfo(host, port, &hints, &dst);

	if (!ret && source) {
		hints.ai_family = dst->ai_family;
		ret = getaddrinfo(source, NULL, &hints, &src);
	}
	if (ret) {
		fprintf(stderr, "client: %s port %s: %s\n", host, port, gai_strerror(ret));
		exit(1);
	}
	if (rdma_resolve_addr(id, src ? src->ai_addr : NULL, dst->ai_addr, TIMEOUT_MS))
		die("resolving %s (is there an RDMA device? rdma link)", host);
	rdma_ack_cm_event(expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	if (rdma_resolve_route(id, TIMEOUT_MS))
		die("resolving the route to %s", host);
	rdma_ack_cm_event(expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
	if (src)
		freeaddrinfo(src);
	freeaddrinfo(dst);
}

/* A queue pair whose completions go to one queue */
static struct ibv_cq *make_qp(struct rdma_cm_id *id, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_cq *cq = ibv_create_cq(id->verbs, 2, NULL, NULL, 0);

	if (!cq)
		die("creating a completion queue");
	attr.send_cq = cq;
	attr.recv_cq = cq;
	if (rdma_create_qp(id, pd, &attr))
		die("creating a queue pair");
	return cq;
}

static struct capability get_capability(struct rdma_event_channel *channel, struct rdma_cm_id *id)
{
	/* initiator_depth: READs we may have under way; 0 would forbid them */
	struct rdma_conn_param param = {
		.initiator_depth = 1, .responder_resources = 1,
		.retry_count = 7, .rnr_retry_count = 7,
	};
	struct rdma_cm_event *ev;
	struct capability cap;

	if (rdma_connect(id, &param))
		die("connecting");
	ev = expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	if (ev->param.conn.private_data_len < sizeof(cap)) {
		fprintf(stderr, "client: the server sent no capability\n");
		exit(1);
	}
	/* The private data goes with the event: copy first, acknowledge then */
	memcpy(&cap, ev->param.conn.private_data, sizeof(cap));
	rdma_ack_cm_event(ev);
	cap.addr = be64toh(cap.addr);
	cap.rkey = be32toh(cap.rkey);
	cap.len = be64toh(cap.len);
	return cap;
}

/* Post one request and wait until it is done: the data is there, or here */
static void transfer(struct rdma_cm_id *id, struct ibv_cq *cq, enum ibv_wr_opcode opcode,
		     struct ibv_mr *mr, const struct capability *cap)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)mr->addr, .length = (uint32_t)mr->length, .lkey = mr->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = opcode, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = { .remote_addr = cap->addr, .rkey = cap->rkey },
	}, *bad;
	struct ibv_wc wc;
	int n;

	errno = ibv_post_send(id->qp, &wr, &bad);
	if (errno)
		die("posting a request");
	/* Spinning is simple; completion events are the way to sleep instead */
	do {
		n = ibv_poll_cq(cq, 1, &wc);
	} while (!n);
	if (n < 0)
		die("polling the completion queue");
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "client: the request failed: %s\n", ibv_wc_status_str(wc.status));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static const char usage[] = "Usage: client HOST [PORT] [-I SOURCE]\n";
	char text[] = TEXT, back[sizeof(text)] = "";
	const char *source = NULL;
	struct rdma_event_channel *channel;
	struct ibv_mr *mr_text, *mr_back;
	struct rdma_cm_id *id;
	struct capability cap;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	int opt;

	while ((opt = getopt(argc, argv, "I:h")) != -1) {
		if (opt != 'I') {
			fputs(usage, opt == 'h' ? stdout : stderr);
			return opt == 'h' ? 0 : 2;
		}
		source = optarg;
	}
	if (argc - optind < 1 || argc - optind > 2) {
		fputs(usage, stderr);
		return 2;
	}

	channel = rdma_create_event_channel();
	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		die("opening rdma_cm (modprobe rdma_ucm? a device in rdma link?)");
	resolve(channel, id, argv[optind], argc - optind == 2 ? argv[optind + 1] : DEFAULT_PORT,
		source);

	/* Memory a device touches is registered: pinned, and known to it by a key */
	pd = ibv_alloc_pd(id->verbs);
	if (!pd)
		die("allocating a protection domain");
	mr_text = ibv_reg_mr(pd, text, sizeof(text), 0);
	mr_back = ibv_reg_mr(pd, back, sizeof(back), IBV_ACCESS_LOCAL_WRITE);
	if (!mr_text || !mr_back)
		die("registering memory");
	cq = make_qp(id, pd);

	cap = get_capability(channel, id);
	printf("connected: remote addr 0x%llx rkey 0x%x len %llu\n", (unsigned long long)cap.addr,
	       cap.rkey, (unsigned long long)cap.len);

	transfer(id, cq, IBV_WR_RDMA_WRITE, mr_text, &cap);
	printf("WRITE done: %zu bytes\n", sizeof(text));
	transfer(id, cq, IBV_WR_RDMA_READ, mr_back, &cap);
	printf("READ done: \"%s\"\n", back);

	rdma_disconnect(id);
	rdma_destroy_qp(id);
	ibv_dereg_mr(mr_text);
	ibv_dereg_mr(mr_back);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	if (strcmp(text, back)) {
		fprintf(stderr, "client: what came back is not what was written\n");
		return 1;
	}
	return 0;
}
