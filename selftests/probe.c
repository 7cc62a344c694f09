// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe: does to a target what the rtgt tool must not be able to do.
 *
 *	probe HOST PORT source=ADDRESS COMMAND [KEY=VALUE...]
 *
 *	connect   connect with any private data, say what came of it
 *	access    one WRITE, READ or WRITE_WITH_IMM anywhere, with any rkey
 *	send      one SEND of any bytes, its reply, and an echo afterwards
 *	race      connect and WRITE at once, many times
 *	hold      keep connections open until stdin ends; each line on it asks for
 *		  an echo over every connection
 *	traffic   WRITE without pause until stdin ends or a WRITE fails
 *
 * Prints key=value words for the test to judge; a refusal by the target is a
 * result and exits 0.  Exits 1, with a line on stderr, when it could not do what
 * it was asked to.
 */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm.h"
#include "mr.h"
#include "pattern.h"
#include "qp.h"
#include "wire.h"

#define SEND_ID		1
#define RECV_ID		2
#define MAX_LINKS	1024

struct option {
	const char *host, *port, *source, *op, *file;
	long long offset, len, addr, rkey, rkey_xor, key_of, imm, seed, region;
	long long magic, version, size, plain, extra;
	long long msg_version, msg_op, tag, msg_len, body, cut, count;
	long long threads, timeout, show;
};

struct link {
	struct rtgt_cm cm;
	struct rtgt_qp qp;
	struct rtgt_mr buf, recv;
	struct rtgt_peer peer;
	bool answered, watched;
	struct ibv_wc answer;
};

static const struct {
	const char *name;
	size_t at;
} numbers[] = {
#define NUMBER(field) { #field, offsetof(struct option, field) }
	NUMBER(offset), NUMBER(len), NUMBER(addr), NUMBER(rkey), NUMBER(rkey_xor), NUMBER(key_of),
	NUMBER(imm), NUMBER(seed), NUMBER(region), NUMBER(show),
	NUMBER(magic), NUMBER(version), NUMBER(size), NUMBER(plain), NUMBER(extra),
	NUMBER(msg_version), NUMBER(msg_op), NUMBER(tag), NUMBER(msg_len), NUMBER(body),
	NUMBER(cut), NUMBER(count), NUMBER(threads), NUMBER(timeout),
#undef NUMBER
};

static int complain(const char *what, const struct rtgt_err *err)
{
	fprintf(stderr, "probe: %s: %s\n", what, err->text);
	return 1;
}

static int parse(struct option *o, char *arg)
{
	char *value = strchr(arg, '='), *end;

	if (!value)
		return -1;
	*value++ = '\0';
	if (!strcmp(arg, "source"))
		return o->source = value, 0;
	if (!strcmp(arg, "op"))
		return o->op = value, 0;
	if (!strcmp(arg, "file"))
		return o->file = value, 0;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strcmp(arg, numbers[i].name))
			continue;
		*(long long *)((char *)o + numbers[i].at) = strtoll(value, &end, 0);
		return *end || !*value ? -1 : 0;
	}
	return -1;
}

static const char *wc_name(int status)
{
	static char other[32];

	switch (status) {
	case IBV_WC_SUCCESS:
		return "success";
	case IBV_WC_REM_ACCESS_ERR:
		return "rem-access";
	case IBV_WC_REM_INV_REQ_ERR:
		return "rem-inv-req";
	case IBV_WC_REM_OP_ERR:
		return "rem-op";
	case IBV_WC_WR_FLUSH_ERR:
		return "flush";
	case IBV_WC_RETRY_EXC_ERR:
		return "retry-exceeded";
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return "rnr-exceeded";
	default:
		snprintf(other, sizeof(other), "%d", status);
		return other;
	}
}

static const char *word(const char *const *names, unsigned int n, unsigned int i)
{
	return i < n && names[i] ? names[i] : "unknown";
}

static const char *status_name(unsigned int status)
{
	static const char *const names[] = { "ok", "version", "op", "length", "region", "range" };

	return word(names, 6, status);
}

static const char *reason_name(unsigned int reason)
{
	static const char *const names[] = {
		NULL, "version", "size", "full", "resources", "device", "stopping",
	};

	return word(names, 7, reason);
}

/* The REQ's private data as asked for; what is not asked for is right */
static uint8_t make_req(const struct option *o, uint8_t *data)
{
	struct rtgt_req req;

	if (o->plain)
		return 0;
	rtgt_wire_req(&req);
	if (o->magic >= 0)
		req.magic = htobe32((uint32_t)o->magic);
	if (o->version >= 0)
		req.version = htobe16((uint16_t)o->version);
	if (o->size >= 0)
		req.size = htobe16((uint16_t)o->size);
	memset(data, 0xee, RTGT_REQ_MAX);
	memcpy(data, &req, sizeof(req));
	return (uint8_t)(sizeof(req) + (size_t)o->extra);
}

static void close_link(struct link *l)
{
	rtgt_cm_disconnect(&l->cm);
	rtgt_mr_destroy(&l->buf);
	rtgt_mr_destroy(&l->recv);
	rtgt_qp_destroy(&l->qp);
	rtgt_cm_close(&l->cm);
}

static int post_recv(struct link *l, struct rtgt_err *err)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)l->recv.buf,
		.length = (uint32_t)l->recv.len,
		.lkey = l->recv.mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = RECV_ID, .sg_list = &sge, .num_sge = 1 }, *bad;
	int ret = ibv_post_recv(l->qp.qp, &wr, &bad);

	return ret ? rtgt_fail(err, ret, "posting a receive: %s", strerror(ret)) : 0;
}

/* 0, or a negative errno; to be closed either way */
static int open_link(struct link *l, const struct option *o, struct rtgt_err *err)
{
	const struct rtgt_cm_param to = {
		.host = o->host,
		.service = o->port,
		.source = o->source,
		.timeout_ms = (int)o->timeout * 1000,
	};
	const struct rtgt_qp_param queues = { .send_depth = 4, .recv_depth = 4 };
	size_t reply = (size_t)o->body + 2 * sizeof(struct rtgt_msg);
	size_t room = (size_t)o->len > reply ? (size_t)o->len : reply;
	uint8_t data[RTGT_REQ_MAX] = {};
	int ret;

	memset(l, 0, sizeof(*l));
	ret = rtgt_cm_resolve(&l->cm, &to, err);
	if (!ret)
		ret = rtgt_qp_create(&l->qp, &l->cm, &queues, err);
	if (!ret)
		ret = rtgt_mr_create(&l->buf, l->qp.pd, "buffer", room, IBV_ACCESS_LOCAL_WRITE,
				     NULL, err);
	if (!ret)
		ret = rtgt_mr_create(&l->recv, l->qp.pd, "receive", reply, IBV_ACCESS_LOCAL_WRITE,
				     NULL, err);
	if (!ret)
		ret = post_recv(l, err);
	if (!ret)
		ret = rtgt_cm_connect(&l->cm, data, make_req(o, data), err);
	if (!ret)
		ret = rtgt_wire_rep(&l->peer, l->cm.rep, l->cm.rep_len, err);
	return ret;
}

/*
 * The next completion.  Not rtgt_qp_wait(): that also looks at the connection,
 * and a target that was made to refuse something disconnects about when the
 * refusal's completion comes.
 */
static int next_wc(struct link *l, struct ibv_wc *wc, struct rtgt_err *err)
{
	struct pollfd pfd = { .fd = l->qp.channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;
	int n = 0;

	while (!n) {
		if (ibv_req_notify_cq(l->qp.cq, 0))
			return rtgt_fail(err, EIO, "the completion queue cannot be armed");
		n = ibv_poll_cq(l->qp.cq, 1, wc);
		if (n < 0)
			return rtgt_fail(err, EIO, "the completion queue failed");
		if (!n && poll(&pfd, 1, l->cm.param.timeout_ms) <= 0)
			return rtgt_fail(err, ETIMEDOUT, "no completion");
		while (!ibv_get_cq_event(l->qp.channel, &cq, &context))
			l->qp.events++;
	}
	return 0;
}

/*
 * Wait until what was posted is done; an answer that comes before it is kept.  Of
 * a link that is watched, the target's disconnect ends the wait as well.
 */
static int wait_for(struct link *l, uint64_t id, struct ibv_wc *wc, struct rtgt_err *err)
{
	int ret;

	do {
		ret = l->watched ? rtgt_qp_wait(&l->qp, wc, err) : next_wc(l, wc, err);
		if (!ret && wc->wr_id == RECV_ID) {
			l->answered = true;
			l->answer = *wc;
		}
	} while (!ret && wc->wr_id != id);
	return ret;
}

/* The target's answer; the next one has a receive again when this returns */
static int take_reply(struct link *l, struct rtgt_reply *reply, struct rtgt_err *err)
{
	struct ibv_wc wc;

	if (!l->answered && wait_for(l, RECV_ID, &wc, err))
		return -1;
	l->answered = false;
	if (l->answer.status != IBV_WC_SUCCESS)
		return rtgt_fail(err, EIO, "a receive ended with status %s",
				 wc_name(l->answer.status));
	if (rtgt_wire_reply(reply, l->recv.buf, l->answer.byte_len, err))
		return -1;
	return post_recv(l, err);
}

static int load(struct link *l, const struct option *o)
{
	FILE *f;
	size_t n;

	if (!o->file) {
		rtgt_pattern_fill(l->buf.buf, (size_t)o->len, (uint64_t)o->seed);
		return 0;
	}
	f = fopen(o->file, "r");
	if (!f)
		return perror(o->file), 1;
	n = fread(l->buf.buf, 1, (size_t)o->len, f);
	fclose(f);
	if (n == (size_t)o->len)
		return 0;
	fprintf(stderr, "probe: %s holds %zu bytes, not %lld\n", o->file, n, o->len);
	return 1;
}

static int save(const struct link *l, const struct option *o)
{
	FILE *f = o->file ? fopen(o->file, "w") : NULL;

	if (!o->file)
		return 0;
	if (!f || fwrite(l->buf.buf, 1, (size_t)o->len, f) != (size_t)o->len || fclose(f))
		return perror(o->file), 1;
	return 0;
}

static void print_rep(const struct link *l)
{
	const struct rtgt_peer *p = &l->peer;

	printf("rtgt=%d features=%u regions=%u recv_depth=%u recv_size=%u conn_id=%u rep_len=%u\n",
	       p->rtgt, p->features, p->nr_regions, p->recv_depth, p->recv_size, p->conn_id,
	       l->cm.rep_len);
	for (uint32_t i = 0; i < p->nr_regions; i++)
		printf("addr%u=0x%llx rkey%u=0x%x len%u=%llu access%u=%u\n", i,
		       (unsigned long long)p->region[i].addr, i, p->region[i].rkey, i,
		       (unsigned long long)p->region[i].len, i, p->region[i].access);
}

static int cmd_connect(const struct option *o)
{
	struct link l;
	struct rtgt_err err = {};
	int ret = open_link(&l, o, &err);

	if (!ret) {
		puts("result=established");
		print_rep(&l);
	} else if (l.cm.refusal.typed) {
		printf("result=refused status=%d reason=%s arg=%u\n", l.cm.reject_status,
		       reason_name(l.cm.refusal.reason), l.cm.refusal.arg);
		ret = 0;
	} else if (l.cm.reject_status) {
		printf("result=refused status=%d reason=untyped\n", l.cm.reject_status);
		ret = 0;
	} else {
		complain("connect", &err);
	}
	close_link(&l);
	return ret ? 1 : 0;
}

static int access_op(const char *op, enum ibv_wr_opcode *opcode)
{
	if (!strcmp(op, "write"))
		*opcode = IBV_WR_RDMA_WRITE;
	else if (!strcmp(op, "read"))
		*opcode = IBV_WR_RDMA_READ;
	else if (!strcmp(op, "imm"))
		*opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	else
		return 1;
	return 0;
}

static int cmd_access(const struct option *o)
{
	struct rtgt_wr wr = { .id = SEND_ID, .len = (uint32_t)o->len, .imm = (uint32_t)o->imm };
	const struct rtgt_mem *mem, *key;
	struct rtgt_reply reply;
	struct rtgt_err err = {};
	struct ibv_wc wc;
	struct link l;
	int ret = 1;

	if (access_op(o->op, &wr.opcode) || open_link(&l, o, &err)) {
		complain("access", &err);
		goto out;
	}
	if (o->region >= l.peer.nr_regions || (wr.opcode != IBV_WR_RDMA_READ && load(&l, o)))
		goto out;

	mem = &l.peer.region[o->region];
	key = o->key_of < 0 ? mem : &l.peer.region[o->key_of % RTGT_MAX_REGIONS];
	wr.mr = &l.buf;
	wr.remote_addr = (o->addr ? (uint64_t)o->addr : mem->addr) + (uint64_t)o->offset;
	wr.rkey = (o->rkey ? (uint32_t)o->rkey : key->rkey) ^ (uint32_t)o->rkey_xor;
	if (rtgt_qp_post(&l.qp, &wr, &err) || wait_for(&l, SEND_ID, &wc, &err)) {
		complain("access", &err);
		goto out;
	}
	printf("wc=%s crc=%u\n", wc_name(wc.status),
	       rtgt_crc32(0, l.buf.buf, (size_t)o->len));
	if (wc.status == IBV_WC_SUCCESS && wr.opcode == IBV_WR_RDMA_READ && save(&l, o))
		goto out;
	if (wc.status == IBV_WC_SUCCESS && wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM &&
	    rtgt_imm_op(wr.imm) == RTGT_IMM_ACK) {
		if (take_reply(&l, &reply, &err)) {
			complain("answer to the immediate", &err);
			goto out;
		}
		printf("ack_op=%u ack_tag=%u ack_imm=%u ack_bytes=%llu\n", reply.op, reply.tag,
		       reply.arg, (unsigned long long)reply.covered);
	}
	ret = 0;
out:
	close_link(&l);
	return ret;
}

/* Send what the buffer holds and, when that went well, take the reply */
static int exchange(struct link *l, size_t len, struct ibv_wc *wc, struct rtgt_reply *reply,
		    struct rtgt_err *err)
{
	const struct rtgt_wr wr = {
		.id = SEND_ID, .opcode = IBV_WR_SEND, .mr = &l->buf, .len = (uint32_t)len,
	};

	if (rtgt_qp_post(&l->qp, &wr, err) || wait_for(l, SEND_ID, wc, err))
		return -1;
	return wc->status == IBV_WC_SUCCESS ? take_reply(l, reply, err) : 0;
}

/* An echo that must come back as it went */
static bool echo(struct link *l, uint32_t tag)
{
	struct rtgt_msg *msg = (void *)l->buf.buf;
	struct rtgt_reply reply;
	struct rtgt_err err;
	struct ibv_wc wc;

	rtgt_wire_msg(msg, RTGT_MSG_ECHO, tag, 0);
	if (exchange(l, sizeof(*msg), &wc, &reply, &err))
		return complain("echo", &err), false;
	return wc.status == IBV_WC_SUCCESS && reply.op == RTGT_MSG_ECHO &&
	       reply.status == RTGT_OK && reply.tag == tag && !reply.len;
}

static size_t make_msg(const struct link *l, const struct option *o)
{
	struct rtgt_msg *msg = (void *)l->buf.buf;
	struct rtgt_range range;
	size_t len = sizeof(*msg) + (size_t)o->body;

	rtgt_pattern_fill(msg + 1, (size_t)o->body, (uint64_t)o->seed);
	if (o->msg_op == RTGT_MSG_CHECKSUM && (size_t)o->body >= sizeof(range)) {
		rtgt_wire_range(&range, (uint32_t)o->region, (uint64_t)o->offset,
				(uint64_t)o->count);
		memcpy(msg + 1, &range, sizeof(range));
	}
	rtgt_wire_msg(msg, (enum rtgt_op)o->msg_op, (uint32_t)o->tag, (uint32_t)o->body);
	msg->version = (uint8_t)o->msg_version;
	if (o->msg_len >= 0)
		msg->len = htobe32((uint32_t)o->msg_len);
	return o->cut >= 0 ? (size_t)o->cut : len;
}

static void print_reply(const struct rtgt_reply *r, const struct option *o)
{
	struct rtgt_diff diff;

	printf("status=%s op=%u tag=%u len=%u", status_name(r->status), r->op, r->tag, r->len);
	if (r->op == RTGT_MSG_CHECKSUM && r->status == RTGT_OK)
		printf(" crc=%u covered=%llu", r->crc, (unsigned long long)r->covered);
	if (r->op == RTGT_MSG_ECHO && r->status == RTGT_OK)
		printf(" same=%d", r->len == o->body &&
		       !rtgt_pattern_verify(r->body, r->len, (uint64_t)o->seed, &diff));
	putchar('\n');
}

static int cmd_send(const struct option *o)
{
	struct rtgt_reply reply = {};
	struct rtgt_err err = {};
	struct ibv_wc wc;
	struct link l;
	int ret = 1;

	if (open_link(&l, o, &err) || exchange(&l, make_msg(&l, o), &wc, &reply, &err)) {
		complain("send", &err);
		goto out;
	}
	printf("wc=%s\n", wc_name(wc.status));
	if (wc.status == IBV_WC_SUCCESS) {
		print_reply(&reply, o);
		printf("alive=%d\n", echo(&l, 4711));
	}
	ret = 0;
out:
	close_link(&l);
	return ret;
}

struct race {
	const struct option *o;
	atomic_int left, ok, failed;
	atomic_int first;
};

static void *race_thread(void *arg)
{
	struct race *r = arg;
	struct rtgt_wr wr = { .id = SEND_ID, .opcode = IBV_WR_RDMA_WRITE,
			      .len = (uint32_t)r->o->len };
	struct rtgt_err err;
	struct ibv_wc wc;
	struct link l;

	while (atomic_fetch_sub(&r->left, 1) > 0) {
		err.text[0] = '\0';
		if (!open_link(&l, r->o, &err)) {
			wr.mr = &l.buf;
			wr.remote_addr = l.peer.region[0].addr;
			wr.rkey = l.peer.region[0].rkey;
			if (!rtgt_qp_post(&l.qp, &wr, &err) &&
			    !wait_for(&l, SEND_ID, &wc, &err) &&
			    wc.status == IBV_WC_SUCCESS)
				atomic_fetch_add(&r->ok, 1);
			else if (!atomic_fetch_add(&r->failed, 1))
				fprintf(stderr, "probe: first failure: WC %s %s\n",
					wc_name(wc.status), err.text);
		} else if (!atomic_fetch_add(&r->failed, 1)) {
			complain("first failure", &err);
		}
		close_link(&l);
	}
	return NULL;
}

static int cmd_race(const struct option *o)
{
	struct race r = { .o = o, .left = (int)o->count };
	pthread_t thread[64];
	int n = 0;

	while (n < o->threads && n < 64 && !pthread_create(&thread[n], NULL, race_thread, &r))
		n++;
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	printf("ok=%d failed=%d threads=%d\n", r.ok, r.failed, n);
	return 0;
}

struct opening {
	const struct option *o;
	struct link *link;
	int ret;
};

static void *open_thread(void *arg)
{
	struct opening *op = arg;
	struct rtgt_err err;

	op->ret = open_link(op->link, op->o, &err);
	if (op->ret)
		complain("connection", &err);
	return NULL;
}

/* All at once: the target sees as many REQs as there are connections */
static int open_all(struct link *l, const struct option *o, int n)
{
	static struct opening op[MAX_LINKS];
	static pthread_t thread[MAX_LINKS];
	int started = 0, up = 0;

	for (; started < n; started++) {
		op[started] = (struct opening) { .o = o, .link = &l[started] };
		if (pthread_create(&thread[started], NULL, open_thread, &op[started]))
			break;
	}
	for (int i = 0; i < started; i++) {
		pthread_join(thread[i], NULL);
		up += !op[i].ret;
	}
	return up;
}

static int cmd_hold(const struct option *o)
{
	static struct link l[MAX_LINKS];
	int n = o->count < MAX_LINKS ? (int)o->count : MAX_LINKS;
	char line[16];
	int alive;

	printf("ready=%d\n", open_all(l, o, n));
	for (int i = 0; o->show && i < n; i++)
		print_rep(&l[i]);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		alive = 0;
		for (int i = 0; i < n; i++) {
			l[i].watched = true;
			alive += l[i].cm.connected && echo(&l[i], (uint32_t)i);
		}
		printf("alive=%d\n", alive);
		fflush(stdout);
	}
	for (int i = 0; i < n; i++)
		close_link(&l[i]);
	puts("closed=1");
	return 0;
}

static bool stdin_ended(void)
{
	struct pollfd pfd = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&pfd, 1, 0) > 0;
}

static int cmd_traffic(const struct option *o)
{
	struct rtgt_wr wr = { .id = SEND_ID, .opcode = IBV_WR_RDMA_WRITE, .len = (uint32_t)o->len };
	unsigned long writes = 0;
	struct rtgt_err err = {};
	const char *end = NULL;
	struct ibv_wc wc;
	struct link l;

	if (open_link(&l, o, &err)) {
		close_link(&l);
		return complain("traffic", &err);
	}
	wr.mr = &l.buf;
	wr.remote_addr = l.peer.region[0].addr;
	wr.rkey = l.peer.region[0].rkey;
	while (!end) {
		if (rtgt_qp_post(&l.qp, &wr, &err) || rtgt_qp_wait(&l.qp, &wc, &err))
			end = err.code == ETIMEDOUT ? "timeout" : "disconnected";
		else if (wc.status != IBV_WC_SUCCESS)
			end = wc_name(wc.status);
		else if (stdin_ended())
			end = "stdin";
		else if (!writes++)
			puts("started=1"), fflush(stdout);
	}
	printf("writes=%lu\nend=%s\n", writes, end);
	close_link(&l);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const struct option *o);
	} commands[] = {
		{ "connect", cmd_connect }, { "access", cmd_access }, { "send", cmd_send },
		{ "race", cmd_race }, { "hold", cmd_hold }, { "traffic", cmd_traffic },
	};
	struct option o = {
		.op = "write", .len = 64, .seed = 1, .count = 1, .threads = 1, .timeout = 10,
		.magic = -1, .version = -1, .size = -1, .key_of = -1,
		.msg_version = RTGT_VERSION, .msg_op = RTGT_MSG_ECHO, .msg_len = -1,
		.tag = 7, .cut = -1,
	};

	if (argc < 5) {
		fputs("usage: probe HOST PORT source=ADDRESS COMMAND [KEY=VALUE...]\n", stderr);
		return 2;
	}
	o.host = argv[1];
	o.port = argv[2];
	for (int i = 3; i < argc; i++) {
		if (i != 4 && parse(&o, argv[i])) {
			fprintf(stderr, "probe: what is \"%s\"?\n", argv[i]);
			return 2;
		}
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[4], commands[i].name))
			return commands[i].run(&o);
	fprintf(stderr, "probe: no command %s\n", argv[4]);
	return 2;
}
