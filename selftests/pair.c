// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * pair: two queue pairs of one process, connected without a connection manager, for findings.sh.
 *
 *	pair CASE REQUESTER RESPONDER
 *
 * REQUESTER and RESPONDER are RDMA devices. A case is a function below; its comment says what
 * it does and what it prints. What cannot be set up is said on stderr, and the exit status is 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MTU	1024
#define PSN	0x1000
#define SIZE	8192

/* RNR retries, too; 7 of these are without end, and rxe takes 7 of the others for that, too */
static uint8_t retries = 3;

/* What ibv_wr_*() may post on queue pairs; 0: nothing, as where the device has none of them */
static uint64_t extended;

struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	union ibv_gid gid;
	int gid_index;
	char *buf;
};

static void __attribute__((noreturn)) give_up(const char *what)
{
	fprintf(stderr, "pair: %s: %m\n", what);
	exit(1);
}

/* A byte that the device may write meanwhile */
static char byte(const struct side *s, size_t offset)
{
	return __atomic_load_n(s->buf + offset, __ATOMIC_ACQUIRE);
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* Finds the GID of the device's IPv4 address */
static void find_gid(struct side *s)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	for (s->gid_index = 0; !ibv_query_gid(s->ctx, 1, s->gid_index, &s->gid); s->gid_index++)
		if (!memcmp(s->gid.raw, mapped, sizeof(mapped)))
			return;
	give_up("no IPv4 GID");
}

static void open_device(struct side *s, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			s->ctx = ibv_open_device(list[i]);
	if (!s->ctx)
		give_up(name);
	ibv_free_device_list(list);
	find_gid(s);
}

static struct ibv_qp *create_extended(struct side *s, const struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex more = {
		.qp_type = init->qp_type, .sq_sig_all = init->sq_sig_all, .cap = init->cap,
		.send_cq = init->send_cq, .recv_cq = init->recv_cq, .pd = s->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = extended,
	};

	more.cap.max_send_sge = 3;
	more.cap.max_inline_data = 64;
	return ibv_create_qp_ex(s->ctx, &more);
}

static void open_side(struct side *s, const char *name, enum ibv_qp_type type, bool srq)
{
	struct ibv_srq_init_attr with_srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .qp_type = type, .sq_sig_all = 1,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2,
			 .max_recv_sge = 1 } };

	open_device(s, name);
	s->buf = aligned_alloc(4096, SIZE);
	s->pd = ibv_alloc_pd(s->ctx);
	if (!s->buf || !s->pd)
		give_up("memory");
	memset(s->buf, 0, SIZE);
	s->mr = ibv_reg_mr(s->pd, s->buf, SIZE, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	s->channel = ibv_create_comp_channel(s->ctx);
	s->cq = ibv_create_cq(s->ctx, 32, NULL, s->channel, 0);
	s->srq = srq ? ibv_create_srq(s->pd, &with_srq) : NULL;
	init.send_cq = s->cq;
	init.recv_cq = s->cq;
	init.srq = s->srq;
	if (s->mr && s->cq)
		s->qp = extended ? create_extended(s, &init) : ibv_create_qp(s->pd, &init);
	if (!s->qp)
		give_up("queue pair");
}

static int to_init(struct side *s)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				 .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						    IBV_ACCESS_REMOTE_READ };

	return ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(struct side *s, const struct side *peer)
{
	bool rc = s->qp->qp_type == IBV_QPT_RC;
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp->qp_num,
		.rq_psn = PSN, .max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = peer->gid, .hop_limit = 64,
				      .sgid_index = (uint8_t)s->gid_index } },
	};

	return ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
}

static int to_rts(struct side *s)
{
	bool rc = s->qp->qp_type == IBV_QPT_RC;
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = retries,
				 .rnr_retry = retries, .sq_psn = PSN, .max_rd_atomic = 1 };

	return ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN |
			     (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				   IBV_QP_MAX_QP_RD_ATOMIC : 0));
}

static int to_state(struct side *s, enum ibv_qp_state state)
{
	return ibv_modify_qp(s->qp, &(struct ibv_qp_attr){ .qp_state = state }, IBV_QP_STATE);
}

static void bring_up(struct side *s, const struct side *peer)
{
	if (to_init(s) || to_rtr(s, peer) || to_rts(s))
		give_up("modify");
}

static void open_pair(struct side *a, struct side *b, char **devices, enum ibv_qp_type type,
		      bool srq)
{
	open_side(a, devices[0], type, false);
	open_side(b, devices[1], type, srq);
	bring_up(a, b);
	bring_up(b, a);
}

static void post_recv(struct side *s)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, SIZE, s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (s->srq ? ibv_post_srq_recv(s->srq, &wr, &bad) : ibv_post_recv(s->qp, &wr, &bad))
		give_up("post a receive");
}

/* The first packet's bytes are the registration's; with half, a second packet's are nobody's */
static void post(struct side *s, const struct side *peer, enum ibv_wr_opcode opcode,
		 size_t offset, bool half)
{
	struct ibv_sge sge[2] = { { (uintptr_t)s->buf, half ? MTU : 100, s->mr->lkey },
				  { (uintptr_t)s->buf, 100, ~s->mr->lkey } };
	struct ibv_send_wr wr = { .opcode = opcode, .sg_list = sge, .num_sge = half ? 2 : 1,
		.wr.rdma = { (uintptr_t)peer->buf + offset, peer->mr->rkey } }, *bad;

	if (ibv_post_send(s->qp, &wr, &bad))
		give_up("post");
}

static const char *status_of(struct side *s, int ms)
{
	static const char *const words[] = {
		[IBV_WC_SUCCESS] = "success", [IBV_WC_WR_FLUSH_ERR] = "flush",
		[IBV_WC_REM_INV_REQ_ERR] = "rem-inv-req", [IBV_WC_LOC_PROT_ERR] = "loc-prot",
		[IBV_WC_LOC_QP_OP_ERR] = "loc-qp-op",
		[IBV_WC_REM_ACCESS_ERR] = "rem-access", [IBV_WC_RETRY_EXC_ERR] = "retry-exceeded",
		[IBV_WC_RNR_RETRY_EXC_ERR] = "rnr-retry-exceeded",
		[IBV_WC_BAD_RESP_ERR] = "bad-response",
	};
	struct ibv_wc wc;

	for (; ms > 0; ms--) {
		int n = ibv_poll_cq(s->cq, 1, &wc);

		if (n < 0)
			give_up("poll");
		if (n)
			return wc.status < sizeof(words) / sizeof(*words) && words[wc.status] ?
			       words[wc.status] : "other";
		nap();
	}
	return "none";
}

static bool arrives(const struct side *s, size_t offset, int ms)
{
	for (; ms > 0 && !byte(s, offset); ms--)
		nap();
	return byte(s, offset);
}

static void half_of(struct side *a, struct side *b, enum ibv_wr_opcode opcode)
{
	const char *status;

	post(a, b, opcode, 0, true);
	status = status_of(a, 5000);
	if (!arrives(b, 0, 5000) || !strcmp(status, "success") || !strcmp(status, "none"))
		give_up("half a message");
}

/* srq: the responder has half of a SEND when its QP goes to error. Prints the status with which
 * the SRQ's receive completes, or none.
 */
static void srq(char **devices)
{
	struct side a = {}, b = {};

	open_pair(&a, &b, devices, IBV_QPT_RC, true);
	memset(a.buf, 1, SIZE);
	post_recv(&b);
	half_of(&a, &b, IBV_WR_SEND);
	if (to_state(&b, IBV_QPS_ERR))
		give_up("modify");
	printf("wc=%s\n", status_of(&b, 2000));
}

/* uc: the last packet of a UC message is never sent. Prints how many of the next three arrive. */
static void uc(char **devices, enum ibv_wr_opcode opcode)
{
	struct side a = {}, b = {};
	int arrived = 0;

	open_pair(&a, &b, devices, IBV_QPT_UC, false);
	memset(a.buf, 1, SIZE);
	post_recv(&b);
	half_of(&a, &b, opcode);
	if (to_state(&a, IBV_QPS_RESET))
		give_up("modify");
	bring_up(&a, &b);
	for (int i = 0; i < 3; i++) {
		size_t at = opcode == IBV_WR_SEND ? 0 : 2048 + 100 * i;

		b.buf[at] = 0;
		post(&a, &b, opcode, at, false);
		if (strcmp(status_of(&a, 5000), "success"))
			give_up("send");
		if (arrives(&b, at, 500)) {
			arrived++;
			post_recv(&b);
		}
	}
	printf("arrived=%d\n", arrived);
}

static struct ibv_mw *bind(struct side *s)
{
	struct ibv_mw *mw = ibv_alloc_mw(s->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW }, *bad;

	if (!mw)
		give_up("memory window");
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = s->mr, .addr = (uintptr_t)s->buf, .length = 1000,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	if (ibv_post_send(s->qp, &wr, &bad) || strcmp(status_of(s, 5000), "success"))
		give_up("bind");
	mw->rkey = wr.bind_mw.rkey;
	return mw;
}

/* invalidated: two SENDs invalidate the same memory window. Prints how the two receives end. */
static void invalidated(char **devices)
{
	struct side a = {}, b = {};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_INV }, *bad;

	open_pair(&a, &b, devices, IBV_QPT_RC, false);
	wr.invalidate_rkey = bind(&b)->rkey;
	for (int i = 1; i <= 2; i++) {
		post_recv(&b);
		if (ibv_post_send(a.qp, &wr, &bad))
			give_up("post");
		printf("wc%d=%s\n", i, status_of(&b, 5000));
	}
}

/* outlived: a queue pair is destroyed while a memory window is bound to it. Prints the errno
 * of that, and of a second try when the window is gone.
 */
static void outlived(char **devices)
{
	struct side a = {}, b = {};
	struct ibv_mw *mw;
	int err;

	open_pair(&a, &b, devices, IBV_QPT_RC, false);
	mw = bind(&b);
	err = ibv_destroy_qp(b.qp);
	printf("errno=%d\n", err);
	if (ibv_dealloc_mw(mw))
		give_up("free the window");
	printf("again=%d\n", err ? ibv_destroy_qp(b.qp) : 0);
}

/* INIT to error, or, with fail, after an RTR whose n-th allocation failed: prints what became of
 * the receive, and at the end how many times that was tried.
 */
static void flushed(char **devices, bool fail)
{
	struct side a = {}, b = {};
	int fd = fail ? open("/proc/thread-self/fail-nth", O_RDWR) : -1, n = 0, err;
	char text[16] = "";

	open_pair(&a, &b, devices, IBV_QPT_RC, false);
	do {
		err = to_state(&b, IBV_QPS_RESET) ?: to_init(&b);
		if (err || (fail && fd < 0))
			give_up("modify");
		post_recv(&b);
		if (fail) {
			snprintf(text, sizeof(text), "%d", ++n);
			if (pwrite(fd, text, strlen(text), 0) < 0)
				give_up("fail-nth");
			err = to_rtr(&b, &a);
			if (pread(fd, text, sizeof(text), 0) < 0 || pwrite(fd, "0", 1, 0) < 0)
				give_up("fail-nth");
		}
		if (to_state(&b, IBV_QPS_ERR))
			give_up("modify");
		printf("%swc=%s\n", err ? "refused " : "", status_of(&b, 2000));
		fflush(stdout);
	} while (fail && text[0] == '0' && n < 50);
	printf("tries=%d\n", n);
}

/* Moves the QP to error when its device tells of an error, at once: before the device goes on */
static void *hurry(void *arg)
{
	const struct sched_param first = { .sched_priority = 50 };
	struct side *s = arg;
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *context;
	int err;

	if (sched_setscheduler(0, SCHED_FIFO, &first))
		give_up("SCHED_FIFO");
	err = s->srq ? ibv_get_async_event(s->ctx, &event) :
		       ibv_get_cq_event(s->channel, &cq, &context);
	if (err)
		return NULL;
	to_state(s, IBV_QPS_ERR);
	if (s->srq)
		ibv_ack_async_event(&event);
	else
		ibv_ack_cq_events(cq, 1);
	return NULL;
}

/* nak: a WRITE_WITH_IMM, or with event a WRITE, has an rkey that is none, and the responder's
 * QP goes to error as soon as its device tells of that. Prints the requester's status.
 */
static void nak(char **devices, bool event)
{
	struct side a = {}, b = {};
	pthread_t thread;

	open_pair(&a, &b, devices, IBV_QPT_RC, event);
	post_recv(&b);
	if (ibv_req_notify_cq(b.cq, 0) || pthread_create(&thread, NULL, hurry, &b))
		give_up("thread");
	for (int i = 0; i < 20; i++)
		nap();
	b.mr->rkey ^= 0x500000;
	post(&a, &b, event ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM, 0, false);
	printf("wc=%s\n", status_of(&a, 5000));
	fflush(stdout);
	_exit(0);
}

/* local: a SEND from memory that is nobody's; the receive is there */
static void local(char **devices)
{
	struct side a = {}, b = {};

	open_pair(&a, &b, devices, IBV_QPT_RC, false);
	post_recv(&b);
	a.mr->lkey = ~a.mr->lkey;
	post(&a, &b, IBV_WR_SEND, 0, false);
	printf("wc=%s\n", status_of(&a, 5000));
}

/* read: a READ of one packet of the path MTU, which the responder's interface may be too small
 * for. A patient requester tries for ever. Prints the status, and whether the bytes are there.
 */
static void read_packet(char **devices, bool patient)
{
	struct side a = {}, b = {};
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (patient)
		retries = 7;
	open_pair(&a, &b, devices, IBV_QPT_RC, false);
	memset(b.buf, 1, SIZE);
	sge = (struct ibv_sge){ (uintptr_t)a.buf, MTU, a.mr->lkey };
	wr.wr.rdma.remote_addr = (uintptr_t)b.buf;
	wr.wr.rdma.rkey = b.mr->rkey;
	if (ibv_post_send(a.qp, &wr, &bad))
		give_up("post");
	printf("wc=%s", status_of(&a, 5000));
	printf(" arrived=%d\n", byte(&a, 0) && byte(&a, MTU - 1));
}

/* odp-iova: a WRITE to memory registered on demand with an I/O virtual address of its own */
static void odp_iova(char **devices)
{
	struct side a = {}, b = {};
	struct ibv_mr *mr;
	const uint64_t iova = 0x100000;

	open_pair(&a, &b, devices, IBV_QPT_RC, false);
	memset(a.buf, 1, SIZE);
	mr = ibv_reg_mr_iova(b.pd, b.buf, SIZE, iova, IBV_ACCESS_LOCAL_WRITE |
			     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ON_DEMAND);
	if (!mr) {
		puts("odp=none");
		return;
	}
	b.mr->rkey = mr->rkey;
	post(&a, &b, IBV_WR_RDMA_WRITE, iova - (uintptr_t)b.buf, false);
	printf("wc=%s arrived=%d behind=%d\n", status_of(&a, 5000),
	       byte(&b, 99), byte(&b, 100));
}

/* sge-list, inline-list: a WRITE of 10, 20 and 30 bytes that lie one behind the other, by the
 * functions of an extended queue pair.  Prints the status, and how many bytes have arrived.
 */
static void in_list(char **devices, bool inline_data)
{
	static const uint32_t lens[] = { 10, 20, 30 };
	struct side a = {}, b = {};
	struct ibv_data_buf bufs[3];
	struct ibv_sge sges[3];
	struct ibv_qp_ex *qp;
	const char *status;
	uint32_t at = 0;

	extended = IBV_QP_EX_WITH_RDMA_WRITE;
	open_pair(&a, &b, devices, IBV_QPT_RC, false);
	memset(a.buf, 1, SIZE);
	for (int i = 0; i < 3; at += lens[i++]) {
		bufs[i] = (struct ibv_data_buf){ a.buf + at, lens[i] };
		sges[i] = (struct ibv_sge){ (uintptr_t)a.buf + at, lens[i], a.mr->lkey };
	}
	qp = ibv_qp_to_qp_ex(a.qp);
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED | (inline_data ? IBV_SEND_INLINE : 0);
	ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.buf);
	if (inline_data)
		ibv_wr_set_inline_data_list(qp, 3, bufs);
	else
		ibv_wr_set_sge_list(qp, 3, sges);
	errno = ibv_wr_complete(qp);
	if (errno)
		give_up("post");
	status = status_of(&a, 5000);
	for (at = 0; byte(&b, at); at++)
		;
	printf("wc=%s arrived=%u\n", status, at);
}

int main(int argc, char **argv)
{
	const char *what = argc == 4 ? argv[1] : "";

	if (!strcmp(what, "srq"))
		srq(argv + 2);
	else if (!strcmp(what, "uc-send"))
		uc(argv + 2, IBV_WR_SEND);
	else if (!strcmp(what, "uc-write"))
		uc(argv + 2, IBV_WR_RDMA_WRITE);
	else if (!strcmp(what, "invalidated"))
		invalidated(argv + 2);
	else if (!strcmp(what, "outlived"))
		outlived(argv + 2);
	else if (!strcmp(what, "flush-init"))
		flushed(argv + 2, false);
	else if (!strcmp(what, "nak"))
		nak(argv + 2, false);
	else if (!strcmp(what, "nak-event"))
		nak(argv + 2, true);
	else if (!strcmp(what, "local"))
		local(argv + 2);
	else if (!strcmp(what, "read"))
		read_packet(argv + 2, false);
	else if (!strcmp(what, "read-patient"))
		read_packet(argv + 2, true);
	else if (!strcmp(what, "sge-list"))
		in_list(argv + 2, false);
	else if (!strcmp(what, "inline-list"))
		in_list(argv + 2, true);
	else if (!strcmp(what, "odp-iova"))
		odp_iova(argv + 2);
	else if (!strcmp(what, "flush-rtr"))
		flushed(argv + 2, true);
	else
		return 2;
	return 0;
}
