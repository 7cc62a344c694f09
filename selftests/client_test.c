// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * client_test: librtgt's ownership.  What open, resolve or create made, close or destroy releases,
 * also after a failure, and also twice.
 *
 * The verbs and the connection manager are functions of this file.  They count what is open; one
 * of the calls that can fail does, and each gets its turn.  No device is needed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rtgt/client.h>

#include "kselftest_harness.h"

/* What is open, by kind: a second close makes it negative */
static int channels, ids, pds, comp_channels, cqs, qps, mrs, mws, events;
/* Calls that can fail, counted; which of them does, 0 for none */
static unsigned int calls, bad_call;

static struct ibv_device device;
static struct rdma_cm_event event;
/* Of an event that is bad */
static int bad_status = -EIO;
/* Calls of rdma_connect(), and how many more of them fail with @port_errno */
static unsigned int connects, ports_in_use;
static int port_errno;

static bool fails(int code)
{
	if (++calls != bad_call)
		return false;
	errno = code;
	return true;
}

static void *zeros(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		abort();
	return p;
}

/* 0 if nothing is open, otherwise @call, so that a failure tells it */
static unsigned int left_by(unsigned int call)
{
	bool open = channels || ids || pds || comp_channels || cqs || qps || mrs || mws || events;

	return open ? call : 0;
}

/* ------------------------------------------------------------ the connection manager */

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *c;

	if (fails(ENODEV))
		return NULL;
	c = zeros(sizeof(*c));
	/* a file descriptor that takes fcntl() and epoll_ctl() */
	c->fd = eventfd(0, 0);
	channels++;
	return c;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	channels--;
	close(channel->fd);
	free(channel);
}

static int post_only(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	(void)wr;
	(void)bad;
	return 0;
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw;

	(void)pd;
	(void)type;
	if (fails(ENOMEM))
		return NULL;
	mw = zeros(sizeof(*mw));
	mw->context = pd->context;
	mws++;
	return mw;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	mws--;
	free(mw);
	return 0;
}

static struct ibv_context verbs = {
	.device = &device,
	.ops = { .post_recv = post_only, .alloc_mw = alloc_mw, .dealloc_mw = dealloc_mw },
};

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	(void)context;
	(void)ps;
	if (fails(ENOMEM))
		return -1;
	*id = zeros(sizeof(**id));
	(*id)->channel = channel;
	(*id)->verbs = &verbs;
	(*id)->port_num = 1;
	ids++;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	ids--;
	free(id);
	return 0;
}

static int answer(enum rdma_cm_event_type type)
{
	if (fails(EHOSTUNREACH))
		return -1;
	event = (struct rdma_cm_event){ .event = type };
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst, int ms)
{
	(void)id;
	(void)src;
	(void)dst;
	(void)ms;
	return answer(RDMA_CM_EVENT_ADDR_RESOLVED);
}

int rdma_resolve_route(struct rdma_cm_id *id, int ms)
{
	(void)id;
	(void)ms;
	return answer(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	(void)id;
	return htons(41000);
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	static const struct rtgt_rep_info rep = {
		.nr = 1, .recv_depth = 4, .recv_size = 4096,
		.region = { { .addr = 4096, .rkey = 1, .len = 4096 } },
	};
	static uint8_t data[RTGT_REP_MAX];

	(void)id;
	(void)param;
	connects++;
	if (ports_in_use) {
		ports_in_use--;
		errno = port_errno;
		return -1;
	}
	if (answer(RDMA_CM_EVENT_ESTABLISHED))
		return -1;
	event.param.conn.private_data = data;
	event.param.conn.private_data_len = (uint8_t)rtgt_encode_rep(data, sizeof(data), &rep);
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	(void)id;
	event = (struct rdma_cm_event){ .event = RDMA_CM_EVENT_DISCONNECTED };
	return 0;
}

/* Each call above has one event, which may as well be bad */
int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **ev)
{
	(void)channel;
	if (event.event != RDMA_CM_EVENT_DISCONNECTED && fails(0))
		event.status = bad_status;
	*ev = &event;
	events++;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *ev)
{
	(void)ev;
	events--;
	return 0;
}

int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	(void)attr;
	if (fails(ENOMEM))
		return -1;
	id->qp = zeros(sizeof(*id->qp));
	id->qp->context = &verbs;
	qps++;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	qps--;
	free(id->qp);
	id->qp = NULL;
}

const char *rdma_event_str(enum rdma_cm_event_type type)
{
	(void)type;
	return "event";
}

/* Of UC, which is not opened here */
int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **res)
{
	(void)node;
	(void)service;
	(void)hints;
	(void)res;
	abort();
}

void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	(void)res;
	abort();
}

int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *attr)
{
	(void)id;
	(void)res;
	(void)pd;
	(void)attr;
	abort();
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	(void)id;
	(void)channel;
	abort();
}

/* ------------------------------------------------------------------------- the verbs */

struct ibv_device **ibv_get_device_list(int *nr)
{
	*nr = 1;
	return NULL;
}

void ibv_free_device_list(struct ibv_device **list)
{
	(void)list;
}

const char *ibv_get_device_name(struct ibv_device *dev)
{
	(void)dev;
	return "fake";
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	if (fails(EIO))
		return EIO;
	*attr = (struct ibv_device_attr){ .max_sge = 4, .max_sge_rd = 4, .max_mw = 1 };
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	(void)context;
	(void)port;
	(void)attr;
	return fails(EIO) ? EIO : 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd;

	if (fails(ENOMEM))
		return NULL;
	pd = zeros(sizeof(*pd));
	pd->context = context;
	pds++;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	pds--;
	free(pd);
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	(void)qp;
	(void)attr;
	(void)mask;
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *c;

	if (fails(ENOMEM))
		return NULL;
	c = zeros(sizeof(*c));
	c->context = context;
	c->fd = eventfd(0, 0);
	comp_channels++;
	return c;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	comp_channels--;
	close(channel->fd);
	free(channel);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq;

	(void)cqe;
	(void)cq_context;
	(void)channel;
	(void)vector;
	if (fails(ENOMEM))
		return NULL;
	cq = zeros(sizeof(*cq));
	cq->context = context;
	cqs++;
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	cqs--;
	free(cq);
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nr)
{
	(void)cq;
	(void)nr;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	(void)channel;
	(void)cq;
	(void)context;
	return -1;
}

static struct ibv_mr *make_mr(void)
{
	if (fails(ENOMEM))
		return NULL;
	mrs++;
	return zeros(sizeof(struct ibv_mr));
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	(void)pd;
	(void)addr;
	(void)len;
	(void)access;
	return make_mr();
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
				unsigned int access)
{
	(void)pd;
	(void)addr;
	(void)len;
	(void)iova;
	(void)access;
	return make_mr();
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	mrs--;
	free(mr);
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	(void)pd;
	(void)attr;
	return NULL;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	(void)ah;
	abort();
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	(void)qp;
	(void)attr;
	(void)mask;
	(void)init;
	return EIO;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	(void)qp;
	return NULL;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	(void)status;
	return "status";
}

/* ------------------------------------------------------------------------- the tests */

/* More calls than any open makes */
#define MANY	64

static const struct rtgt_client_param param = {
	.cm = { .host = "127.0.0.1", .service = "7471", .timeout_ms = 1 },
};

static void begin(unsigned int call)
{
	calls = 0;
	bad_call = call;
}

/* Whichever call fails, an rtgt_client_open() that fails leaves nothing behind */
TEST(client)
{
	unsigned int call = 0;
	int ret;

	do {
		struct rtgt_client c;
		struct rtgt_err err = { };

		begin(++call);
		ret = rtgt_client_open(&c, &param, &err);
		ASSERT_LT(call, MANY);
		if (ret) {
			EXPECT_EQ(-err.code, ret);
			EXPECT_EQ(0, left_by(call));
		}
		rtgt_client_close(&c);
		EXPECT_EQ(0, left_by(call));
		rtgt_client_close(&c);
		EXPECT_EQ(0, left_by(call));
	} while (ret);
	/* channel, id, address, route, queue pair, REQ, buffers, and the events between */
	EXPECT_GE(call, 14);
}

/* rdma_cm chose a port that TCP uses: another attempt gets another port, but not for ever */
TEST(port_in_use)
{
	struct rtgt_client c;
	struct rtgt_err err;

	for (int code = EADDRINUSE; code; code = code == EADDRINUSE ? EADDRNOTAVAIL : 0) {
		begin(0);
		connects = 0;
		ports_in_use = 3;
		port_errno = code;
		EXPECT_EQ(0, rtgt_client_open(&c, &param, &err));
		EXPECT_EQ(4, connects);
		rtgt_client_close(&c);
		ports_in_use = 1000;
		EXPECT_EQ(-EADDRINUSE, rtgt_client_open(&c, &param, &err));
		EXPECT_NE(NULL, strstr(err.text, "local TCP port 41000 is in use"));
		EXPECT_EQ(12, connects);
		EXPECT_EQ(0, left_by(MANY));
	}
	ports_in_use = 0;
}

/* Whichever call fails, an rtgt_cm_resolve() that fails leaves nothing behind */
TEST(connection)
{
	unsigned int call = 0;
	int ret;

	do {
		struct rtgt_cm cm;
		struct rtgt_err err;

		begin(++call);
		ret = rtgt_cm_resolve(&cm, &param.cm, &err);
		ASSERT_LT(call, MANY);
		if (ret)
			EXPECT_EQ(0, left_by(call));
		rtgt_cm_close(&cm);
		rtgt_cm_close(&cm);
		EXPECT_EQ(0, left_by(call));
	} while (ret);
}

/* An address that is not resolved in time is asked for again; what else fails is not */
TEST(attempts)
{
	struct rtgt_cm_param patient = param.cm;
	struct rtgt_err err;
	struct rtgt_cm cm;

	/* the event of the address: after the channel, the identifier and the call */
	patient.timeout_ms = 60000;
	begin(4);
	bad_status = -ETIMEDOUT;
	EXPECT_EQ(0, rtgt_cm_resolve(&cm, &patient, &err));
	EXPECT_EQ(1, cm.attempts);
	rtgt_cm_close(&cm);
	begin(4);
	bad_status = -EIO;
	EXPECT_EQ(-EIO, rtgt_cm_resolve(&cm, &patient, &err));
	EXPECT_EQ(1, cm.attempts);
	EXPECT_EQ(0, left_by(MANY));
}

/* Whichever call fails, an rtgt_qp_create() that fails leaves nothing behind */
TEST(queue_pair)
{
	const struct rtgt_qp_param qp = { .send_depth = 1, .recv_depth = 1 };
	unsigned int call = 0;
	struct rtgt_err err;
	struct rtgt_cm cm;
	int ret;

	begin(0);
	ASSERT_EQ(0, rtgt_cm_resolve(&cm, &param.cm, &err));
	do {
		struct rtgt_qp q;

		begin(++call);
		ret = rtgt_qp_create(&q, &cm, &qp, &err);
		ASSERT_LT(call, MANY);
		if (ret)
			EXPECT_FALSE(pds || comp_channels || cqs || qps);
		rtgt_qp_destroy(&q);
		rtgt_qp_destroy(&q);
		EXPECT_FALSE(pds || comp_channels || cqs || qps);
	} while (ret);
	rtgt_cm_close(&cm);
	EXPECT_EQ(0, left_by(MANY));
}

/* Memory and windows that cannot be made leave nothing behind; both are destroyed twice */
TEST(memory)
{
	struct ibv_pd pd = { .context = &verbs };
	struct rtgt_diff diff;
	struct rtgt_window w;
	struct rtgt_err err;
	struct rtgt_mr m;

	for (unsigned int call = 0; call <= 1; call++) {
		begin(call);
		EXPECT_EQ(call ? -ENOMEM : 0, rtgt_mr_create(&m, &pd, "m", 64, 0, NULL, &err));
		EXPECT_EQ(!call, mrs);
		rtgt_mr_destroy(&m);
		rtgt_mr_destroy(&m);
		begin(call);
		EXPECT_EQ(call ? -ENOMEM : 0, rtgt_window_create(&w, &pd, &err));
		EXPECT_EQ(!call, mws);
		rtgt_window_destroy(&w);
		rtgt_window_destroy(&w);
		EXPECT_EQ(0, left_by(MANY));
	}
	/* a byte before it, and a byte behind what is used */
	begin(0);
	ASSERT_EQ(0, rtgt_mr_create(&m, &pd, "m", 4096, 0, NULL, &err));
	rtgt_mr_arm(&m, 64);
	EXPECT_EQ(0, rtgt_mr_check(&m, 64, &diff));
	m.buf[64] ^= 1;
	EXPECT_EQ(1, rtgt_mr_check(&m, 64, &diff));
	m.buf[64] ^= 1;
	m.buf[-1] ^= 1;
	EXPECT_NE(0, rtgt_mr_check(&m, 64, &diff));
	rtgt_mr_destroy(&m);
	/* no memory at all */
	begin(0);
	EXPECT_GT(0, rtgt_mr_create(&m, &pd, "m", SIZE_MAX / 2, 0, NULL, &err));
	EXPECT_EQ(NULL, m.base);
	EXPECT_EQ(0, m.len);
	rtgt_mr_destroy(&m);
	EXPECT_EQ(0, left_by(MANY));
}

/* Values out of range are refused before anything is posted or read */
TEST(misuse)
{
	static const struct {
		struct rtgt_rdma op;
		const char *says;
	} wrong[] = {
		{ { .len = 200, .sges = RTGT_SGES + 1 }, "129 pieces" },
		{ { .region = RTGT_MAX_REGIONS }, "region " },
		{ { .len = 4097 }, "4097 bytes at 0 of a buffer of 4096" },
		{ { .len = 1, .local = 4096 }, "1 bytes at 4096" },
		{ { .len = 1, .local = SIZE_MAX }, "a buffer of 4096" },
		{ { .len = 4000, .sges = 3, .gap = 49 }, "4000 bytes at 0" },
		{ { .len = 4, .sges = RTGT_SGES, .gap = UINT32_MAX }, "a buffer of 4096" },
	};
	static struct rtgt_client c;
	struct rtgt_mr mr = { .len = 4096 };
	struct rtgt_took took;
	struct rtgt_err err;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct rtgt_rdma op = wrong[i].op;

		op.opcode = IBV_WR_RDMA_WRITE;
		op.mr = &mr;
		EXPECT_EQ(-EINVAL, rtgt_client_rdma(&c, &op, &took, &err));
		EXPECT_NE(NULL, strstr(err.text, wrong[i].says)) {
			TH_LOG("%zu: %s", i, err.text);
		}
	}
	EXPECT_EQ(-EINVAL, rtgt_client_rdma(&c, &(struct rtgt_rdma){ .len = 1 }, &took, &err));
	EXPECT_EQ(-EINVAL, rtgt_client_chain(&c, NULL, 0, &took, &err));
	EXPECT_EQ(-EINVAL, rtgt_qp_post(&c.qp, &(struct rtgt_wr){ .mr = &mr, .sges = 129 }, &err));
	EXPECT_EQ(-EINVAL, rtgt_qp_post_recv(&c.qp, 1, &mr, 4097, &err));
}

TEST_HARNESS_MAIN
