// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The user initiator of rtgt lat: one operation at a time over one connection.
 *
 * What is answered is posted unsignaled but for one in 16, and only the answer is
 * waited for: a completion that tells nothing new is not paid for.  Nothing is
 * allocated, printed or verified between two operations; bytes are compared when the
 * last one is done.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lat.h"

/* Of what is answered every so many asks for a completion of its own */
#define SIGNAL_EVERY	16

#define ID_SEND		1
#define ID_RECV		2

int lat_user_open(struct lat *l, struct rtgt_err *err)
{
	struct rtgt_client_param param = {
		.cm = {
			.host = l->host,
			.service = l->service,
			.source = l->source,
			.timeout_ms = (int)l->timeout * 1000,
		},
		.poll = l->poll,
		.chain = SIGNAL_EVERY + 2,
	};
	int ret;

	for (unsigned int i = 0; i < l->nr_sizes; i++)
		if (l->size[i] > param.payload)
			param.payload = l->size[i];
	ret = rtgt_client_open(&l->client, &param, err);
	if (ret)
		return ret;
	l->open = true;
	rtgt_facts_get(&l->facts, &l->client.qp);
	if (l->region < l->client.peer.nr_regions)
		return 0;
	return rtgt_fail(err, EINVAL, "region %u: the target has %u", l->region,
			 l->client.peer.nr_regions);
}

void lat_user_close(struct lat *l)
{
	if (l->open)
		rtgt_client_close(&l->client);
	l->open = false;
}

static bool is_atomic(const struct lat_op *op)
{
	return op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* What atomics leave at their place is known: each must find what the last one left */
struct atom {
	uint64_t value;
	bool known;
};

static int check_atomic(struct rtgt_wr *wr, const struct rtgt_mr *mr, struct atom *atom,
			struct rtgt_err *err)
{
	uint64_t old;

	memcpy(&old, mr->buf, sizeof(old));
	if (atom->known && old != atom->value)
		return rtgt_fail(err, EILSEQ, "an atomic found 0x%llx and not 0x%llx",
				 (unsigned long long)old, (unsigned long long)atom->value);
	atom->known = true;
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		atom->value = old + wr->compare_add;
		return 0;
	}
	atom->value = old == wr->compare_add ? wr->swap : old;
	wr->compare_add = atom->value;
	wr->swap = atom->value + 1;
	return 0;
}

/* One operation and, if it is answered, its answer; the time from post to end */
static int once(struct lat *l, const struct lat_run *run, struct rtgt_wr *wr, bool signaled,
		uint64_t *start, uint64_t *end, struct rtgt_err *err)
{
	struct rtgt_client *c = &l->client;
	struct rtgt_reply reply;
	struct ibv_wc wc;
	int ret = 0;

	wr->unsignaled = run->op->answered && !signaled;
	if (run->op->answered)
		ret = rtgt_qp_post_recv(&c->qp, ID_RECV, &c->rx, (uint32_t)c->rx.len, err);
	*start = rtgt_now_ns();
	if (!ret)
		ret = rtgt_qp_post(&c->qp, wr, err);
	if (!ret)
		ret = lat_wait(c, run->op->answered ? ID_RECV : ID_SEND, &wc, err);
	*end = rtgt_now_ns();
	if (!ret && run->op->answered)
		ret = rtgt_wire_reply(&reply, c->rx.buf, wc.byte_len, err);
	if (!ret && run->op->answered && reply.status != RTGT_OK)
		ret = rtgt_fail(err, EPROTO, "the target answered: %s",
				rtgt_status_str(reply.status));
	return ret;
}

static int loop(struct lat *l, struct lat_run *run, struct rtgt_wr *wr, const struct rtgt_mr *mr,
		struct rtgt_err *err)
{
	uint64_t total = l->warmup + l->count, start, end, begin = 0;
	struct atom atom = { };
	int ret;

	for (uint64_t i = 0; i < total; i++) {
		ret = once(l, run, wr, i % SIGNAL_EVERY == 0, &start, &end, err);
		if (!ret && is_atomic(run->op))
			ret = check_atomic(wr, mr, &atom, err);
		if (ret)
			return ret;
		if (i < l->warmup)
			continue;
		if (i == l->warmup)
			begin = start;
		run->ns[run->nr++] = end - start;
		run->elapsed_ns = end - begin;
	}
	return 0;
}

/* Do both ends hold the same? */
static int verify(struct lat *l, struct lat_run *run, const struct rtgt_mr *mr,
		  struct rtgt_err *err)
{
	struct rtgt_client *c = &l->client;
	uint32_t crc;
	int ret;

	if (is_atomic(run->op)) {
		run->verified = 8 * (l->warmup + l->count);
		return 0;
	}
	if (run->op->opcode == IBV_WR_SEND) {
		if (memcmp(rtgt_client_tx(c), rtgt_client_rx(c), run->size))
			return rtgt_fail(err, EILSEQ, "the last echo differs from what was sent");
		run->verified = run->size;
		return 0;
	}
	/* a plain target cannot be asked */
	if (!c->peer.rtgt)
		return 0;
	ret = rtgt_client_checksum(c, l->region, 0, run->size, &crc, err);
	if (!ret && crc != rtgt_crc32(0, mr->buf, run->size))
		ret = rtgt_fail(err, EILSEQ, "the two ends hold different bytes");
	if (!ret)
		run->verified = run->size;
	return ret;
}

/* What cannot be done is said before it is tried */
static int check(const struct lat *l, const struct lat_run *run, struct rtgt_err *err)
{
	const struct rtgt_client *c = &l->client;
	const struct rtgt_mem *mem = &c->peer.region[l->region];

	if (run->op->answered && !c->peer.rtgt)
		return rtgt_fail(err, EOPNOTSUPP, "the target does not speak rtgt");
	if (is_atomic(run->op) && !(c->qp.can & RTGT_CAN_ATOMIC))
		return rtgt_fail(err, EOPNOTSUPP, "the device has no atomics");
	if (run->op->opcode == IBV_WR_SEND)
		return run->size <= c->payload ? 0 :
			rtgt_fail(err, EMSGSIZE, "the target takes SENDs of %u bytes (recv_size)",
				  c->payload);
	if ((mem->access & run->op->access) != run->op->access)
		return rtgt_fail(err, EACCES, "region %u does not grant it (access)", l->region);
	if (mem->len && run->size > mem->len)
		return rtgt_fail(err, ERANGE, "region %u has %llu bytes", l->region,
				 (unsigned long long)mem->len);
	return 0;
}

int lat_user_run(struct lat *l, struct lat_run *run, struct rtgt_err *err)
{
	struct rtgt_client *c = &l->client;
	const struct rtgt_mem *mem = &c->peer.region[l->region];
	struct rtgt_wr wr = {
		.id = ID_SEND, .opcode = run->op->opcode, .len = run->size,
		.remote_addr = mem->addr, .rkey = mem->rkey,
		.imm = rtgt_imm(RTGT_IMM_ACK, 1), .compare_add = 1,
	};
	struct rtgt_mr mr;
	int ret = check(l, run, err);

	if (ret)
		return ret;
	ret = rtgt_mr_create(&mr, c->qp.pd, "buffer", run->size, IBV_ACCESS_LOCAL_WRITE, NULL, err);
	if (ret)
		return ret;
	rtgt_pattern_fill(mr.buf, run->size, rtgt_now_ns());
	wr.mr = &mr;
	if (run->op->opcode == IBV_WR_SEND) {
		wr.mr = &c->tx;
		wr.len += (uint32_t)sizeof(struct rtgt_msg);
		rtgt_pattern_fill(rtgt_client_tx(c), run->size, rtgt_now_ns());
		rtgt_wire_msg((struct rtgt_msg *)c->tx.buf, RTGT_MSG_ECHO, 1, run->size);
	}
	ret = lat_wait_begin(c, err);
	if (!ret)
		ret = lat_wait_end(loop(l, run, &wr, &mr, err), err);
	if (!ret)
		ret = verify(l, run, &mr, err);
	rtgt_mr_destroy(&mr);
	return ret;
}
