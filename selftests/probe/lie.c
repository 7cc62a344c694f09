// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe lie: a target that lies, for initiators to detect.
 *
 * It listens at HOST and PORT, both on this machine, and serves one client at a time: a region of
 * 64 KiB, and replies to ECHO, CHECKSUM, EXTENTS and immediates.  "lie" names the one thing that
 * is not true, below.  "after" counts from 0 which reply it is, for lies about one reply.  It
 * prints "listening", and ends when stdin does.
 *
 * One thread polls, so a client's WRITE is seen soon after it has changed the region.
 */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "probe.h"

#define REGION		65536
#define MESSAGE		4096
#define MESSAGES	64

static const char *const lies[] = {
#define LIE_NONE	0
	"none",
#define LIE_ASK		1	/* the REP has no capability; EXTENTS returns the true one */
	"ask",
#define LIE_ASK_SHORT	2	/* EXTENTS returns a capability of one byte */
	"ask-short",
#define LIE_ASK_DEAF	3	/* EXTENTS gets no reply, and later packets no acknowledgment */
	"ask-deaf",
#define LIE_WRAP	4	/* the region ends beyond the highest address */
	"wrap",
#define LIE_TAG		5	/* each reply has the tag of the first request */
	"tag",
#define LIE_TWICE	6	/* each reply is sent twice */
	"twice",
#define LIE_FLIP	7	/* byte 12 of the body of reply "after" is wrong */
	"flip",
#define LIE_STALE	8	/* each echo has the bytes of the one before */
	"stale",
#define LIE_IMM_LEN	9	/* reply "after" to an immediate has a wrong length of the WRITE */
	"imm-len",
#define LIE_IMM_ARG	10	/* reply "after" to an immediate has another immediate */
	"imm-arg",
#define LIE_FIRST	11	/* only the first WRITE of a place is done, says each CHECKSUM */
	"first",
#define LIE_BEFORE	12	/* byte "at" changes before CHECKSUM "after" is computed */
	"change-before",
#define LIE_AFTER	13	/* byte "at" changes after CHECKSUM "after" was computed */
	"change-after",
#define LIE_COVERED	14	/* CHECKSUM covers one byte less, and says so */
	"covered",
#define LIE_UNDO	15	/* the first eight bytes become 0 soon after they have changed */
	"undo",
	NULL
};

struct liar {
	const struct option *o;
	int lie;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_mr *region, *messages;
	long long replies;
	uint32_t first_tag;
	bool copied;
};

static uint8_t memory[REGION] __attribute__((aligned(4096)));
static uint8_t copy[REGION], stale[MESSAGE];
/* the first half are receives, and the second half their replies */
static uint8_t buffer[2 * MESSAGES][MESSAGE] __attribute__((aligned(4096)));

static int post_recv(struct liar *l, uint64_t n)
{
	struct ibv_sge sge = { (uintptr_t)buffer[n], MESSAGE, l->messages->lkey };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(l->id->qp, &wr, &bad);
}

static int post_reply(struct liar *l, uint64_t n, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)buffer[n + MESSAGES], len, l->messages->lkey };
	struct ibv_send_wr wr = {
		.wr_id = n, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	return ibv_post_send(l->id->qp, &wr, &bad);
}

static uint32_t checksum(struct liar *l, const struct rtgt_request *rq, void *body)
{
	const bool now = l->replies == l->o->after;
	struct rtgt_crc *crc = body;
	uint64_t len = rq->count - (l->lie == LIE_COVERED);

	memory[l->o->at] ^= now && l->lie == LIE_BEFORE;
	*crc = (struct rtgt_crc){
		.crc = htobe32((uint32_t)crc32(0, (l->copied ? copy : memory) + rq->offset,
					       (uInt)len)),
		.len = htobe64(len),
	};
	memory[l->o->at] ^= now && l->lie == LIE_AFTER;
	return sizeof(*crc);
}

static uint32_t echo_back(struct liar *l, const uint8_t *request, uint32_t len, uint8_t *body)
{
	memcpy(body, l->lie == LIE_STALE && l->replies ? stale : request, len);
	memcpy(stale, request, len);
	return len;
}

static uint32_t extents(struct liar *l, void *body)
{
	rtgt_encode_extents(body, REGION, 1, 1);
	rtgt_encode_extent(body, 0, (uintptr_t)memory, l->region->rkey,
			   l->lie == LIE_ASK_SHORT ? 1 : REGION);
	return sizeof(struct rtgt_extents) + sizeof(struct rtgt_cap);
}

/* The body of the reply; the request is what an immediate looks like, too */
static uint32_t answer(struct liar *l, const struct rtgt_request *rq, const uint8_t *request,
		       uint8_t *body)
{
	const bool now = l->replies == l->o->after;

	switch (rq->op) {
	case RTGT_MSG_IMM:
		*(struct rtgt_imm_ack *)body = (struct rtgt_imm_ack){
			htobe32(rq->len ^ (now && l->lie == LIE_IMM_LEN))
		};
		return sizeof(struct rtgt_imm_ack);
	case RTGT_MSG_CHECKSUM:
		return checksum(l, rq, body);
	case RTGT_MSG_EXTENTS:
		return extents(l, body);
	default:
		return echo_back(l, request, rq->len, body);
	}
}

/* A queue pair in error acknowledges nothing.  Over iWARP it would close the stream instead. */
static int be_deaf(struct liar *l)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	return l->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP ? 0 :
	       ibv_modify_qp(l->id->qp, &attr, IBV_QP_STATE);
}

static int reply(struct liar *l, const struct ibv_wc *wc)
{
	uint8_t *body = buffer[wc->wr_id + MESSAGES] + sizeof(struct rtgt_msg);
	const uint8_t *msg = buffer[wc->wr_id];
	const bool now = l->replies == l->o->after;
	struct rtgt_request rq = { .op = RTGT_MSG_IMM, .len = wc->byte_len };
	uint32_t len, imm = 0;

	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
		imm = be32toh(wc->imm_data);
		rq.tag = rtgt_imm_arg(imm);
	} else if (rtgt_decode_msg(msg, wc->byte_len, &rq) != RTGT_OK) {
		return -1;
	}
	if (rq.op == RTGT_MSG_EXTENTS && l->lie == LIE_ASK_DEAF)
		return be_deaf(l);
	if (!l->replies)
		l->first_tag = rq.tag;
	if (l->lie == LIE_TAG)
		rq.tag = l->first_tag;
	len = answer(l, &rq, msg + sizeof(struct rtgt_msg), body);
	body[12] ^= now && l->lie == LIE_FLIP;
	rtgt_encode_reply(body - sizeof(struct rtgt_msg), &rq, RTGT_OK, len,
			  imm ^ (now && l->lie == LIE_IMM_ARG));
	l->replies++;
	len += sizeof(struct rtgt_msg);
	return post_recv(l, wc->wr_id) || post_reply(l, wc->wr_id, len) ||
	       (l->lie == LIE_TWICE && post_reply(l, wc->wr_id, len));
}

/*
 * Keep the region as it is after the first WRITE to it, which fills its first "len" bytes; or undo
 * what an atomic did.
 */
static void watch_region(struct liar *l)
{
	if (l->lie == LIE_UNDO)
		memset(memory, 0, sizeof(uint64_t));
	if (l->lie != LIE_FIRST || l->copied || !memory[0] || !memory[l->o->len - 1])
		return;
	memcpy(copy, memory, sizeof(copy));
	l->copied = true;
}

static int poll_queues(struct liar *l)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(l->id->recv_cq, 1, &wc) > 0)
		if (wc.status == IBV_WC_SUCCESS && reply(l, &wc))
			return -1;
	while (ibv_poll_cq(l->id->send_cq, 1, &wc) > 0)
		;
	watch_region(l);
	return 0;
}

static void make_rep(struct liar *l, struct rtgt_rep_info *rep)
{
	const bool ask = l->lie >= LIE_ASK && l->lie <= LIE_ASK_DEAF;

	*rep = (struct rtgt_rep_info){
		.recv_depth = MESSAGES, .nr = 1, .features = ask ? RTGT_F_ASK : 0,
		.recv_size = MESSAGE, .conn_id = 1,
		.region = { {
			.addr = ask ? 0 : l->lie == LIE_WRAP ? UINT64_MAX - REGION + 2 :
							      (uintptr_t)memory,
			.len = REGION, .rkey = ask ? 0 : l->region->rkey,
			.access = RTGT_ACCESS_READ | RTGT_ACCESS_WRITE | RTGT_ACCESS_ATOMIC,
		} },
	};
}

static int accept_client(struct liar *l, struct rdma_cm_id *id, uint8_t reads)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_WRITE;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .cap = { 2 * MESSAGES, MESSAGES, 1, 1, 0 },
	};
	struct rdma_conn_param param = { .responder_resources = reads, .rnr_retry_count = 7 };
	struct rtgt_rep_info rep;
	uint8_t data[RTGT_REP_MAX];

	l->id = id;
	l->replies = 0;
	l->copied = false;
	memset(memory, 0, sizeof(memory));
	if (rdma_create_qp(id, NULL, &attr))
		return -1;
	l->region = ibv_reg_mr(id->pd, memory, REGION, access | IBV_ACCESS_REMOTE_ATOMIC);
	if (!l->region)
		l->region = ibv_reg_mr(id->pd, memory, REGION, access);
	l->messages = ibv_reg_mr(id->pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
	if (!l->region || !l->messages)
		return -1;
	for (uint64_t n = 0; n < MESSAGES; n++)
		if (post_recv(l, n))
			return -1;
	make_rep(l, &rep);
	param.private_data = data;
	param.private_data_len = (uint8_t)rtgt_encode_rep(data, sizeof(data), &rep);
	return rdma_accept(id, &param);
}

static void drop_client(struct liar *l)
{
	rdma_disconnect(l->id);
	rdma_destroy_qp(l->id);
	ibv_dereg_mr(l->messages);
	ibv_dereg_mr(l->region);
	rdma_destroy_id(l->id);
	l->id = NULL;
}

static int take_event(struct liar *l)
{
	struct rdma_cm_event *ev;
	enum rdma_cm_event_type event;
	struct rdma_cm_id *id;
	uint8_t reads;

	if (rdma_get_cm_event(l->channel, &ev))
		return -1;
	event = ev->event;
	id = ev->id;
	reads = ev->param.conn.responder_resources;
	rdma_ack_cm_event(ev);
	if (event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return l->id ? rdma_reject(id, NULL, 0) : accept_client(l, id, reads);
	if (id == l->id && event != RDMA_CM_EVENT_ESTABLISHED)
		drop_client(l);
	return 0;
}

static int cmd_lie(const struct option *o)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP }, *ai;
	struct liar l = { .o = o, .channel = rdma_create_event_channel() };
	struct pollfd fds[2] = { { .events = POLLIN }, { .fd = 0, .events = POLLIN } };
	struct rtgt_err err = {};
	struct rdma_cm_id *listener;
	int ret = 0;

	while (lies[l.lie] && strcmp(lies[l.lie], o->lie ? o->lie : lies[0]))
		l.lie++;
	if (!lies[l.lie] || o->len < 1 || o->len > REGION || o->at < 0 || o->at >= REGION) {
		rtgt_fail(&err, EINVAL, "no lie %s, or len or at beyond %d", o->lie, REGION);
		return complain("lie", &err);
	}
	rtgt_ignore_sigpipe();
	if (!l.channel || rdma_create_id(l.channel, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_getaddrinfo(o->host, o->port, &hints, &ai) ||
	    rdma_bind_addr(listener, ai->ai_src_addr) || rdma_listen(listener, 1)) {
		rtgt_fail(&err, errno, "cannot listen on %s:%s: %s", o->host, o->port,
			  strerror(errno));
		return complain("lie", &err);
	}
	puts("listening");
	fflush(stdout);
	fds[0].fd = l.channel->fd;
	while (!ret && !fds[1].revents) {
		poll(fds, 2, l.id ? 0 : -1);
		if (fds[0].revents)
			ret = take_event(&l);
		if (!ret && l.id)
			ret = poll_queues(&l);
		sched_yield();
	}
	if (!ret)
		return 0;
	rtgt_fail(&err, errno, "cannot serve the client: %s", strerror(errno));
	return complain("lie", &err);
}

static const struct arg lie_args[] = {
	TEXT(lie, "none, ask, ask-short, ask-deaf, wrap, tag, twice, flip, stale, imm-len, imm-arg,\n"
		  "                 first, change-before, change-after, covered, undo:\n"
		  "                 see lie.c"),
	NUMBER(after, "which reply is wrong, counted from 0"),
	NUMBER(len, "bytes of a WRITE"),
	NUMBER(at, "which byte changes"),
	TEXT(source, "not used"),
	{ }
};

const struct command lie_command = {
	.name = "lie",
	.help = "be a target that lies",
	.run = cmd_lie,
	.args = { lie_args },
};
