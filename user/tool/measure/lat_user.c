// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The user initiator of rtgt lat over RDMA: one operation at a time over one connection.
 *
 * What is answered is posted unsignaled but for one in 16, and only the answer is
 * waited for: a completion that tells nothing new is not paid for.  Nothing is
 * allocated or printed between two operations.  What costs nothing to speak of is verified
 * there, outside of the time: each reply must be the one to its request, and each atomic must
 * find what the one before left.  Bytes are compared when the last operation is done, whose
 * bytes are new; what the others moved is reported as not compared.
 *
 * With one processor the kernel's workers, which do the work of an operation on rxe and
 * siw, take turns with this thread, and how often the processor changes hands is chance.
 * What the peer's device answers is waited for in a thread that lets them finish
 * first, outside of the time; see give_way_begin().
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lat.h"
#include "watch.h"

#define ID_SEND		(RTGT_CALLERS_ID | 1)
#define ID_RECV		(RTGT_CALLERS_ID | 2)

/* In ns: many of the workers' slices (0.7 ms).  Since 6.12; older kernels have one for all */
#define SLICE	30000000

/*
 * The kernel's struct sched_attr, in its first size.  <linux/sched/types.h> has it too, but
 * that of Linux 6.1 cannot be included beside the C library's <sched.h>.
 */
struct policy {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

/*
 * Let this thread be the last to run: it does not preempt when it wakes up, and its slice
 * seldom ends within an operation.  Who was started with a policy of their own keeps it,
 * and so does who has more than one processor, spins, or waits for a program at the other
 * end (that of 4 KiB took longer).
 */
static void give_way_begin(struct lat *l, struct policy *before)
{
	struct policy attr;
	cpu_set_t cpus;

	if (l->m.poll || l->m.at.op->answered)
		return;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) || CPU_COUNT(&cpus) != 1)
		return;
	if (syscall(SYS_sched_getattr, 0, before, sizeof(*before), 0) ||
	    before->policy != SCHED_OTHER)
		return;
	attr = *before;
	attr.policy = SCHED_BATCH;
	attr.runtime = SLICE;
	l->gives_way = !syscall(SYS_sched_setattr, 0, &attr, 0);
}

static void give_way_end(struct lat *l, struct policy *before)
{
	if (l->gives_way)
		syscall(SYS_sched_setattr, 0, before, 0);
}

/* ------------------------------------------------------------------------- atomics */

/* What is at the offset of the atomics: a READ tells, or, where that is not allowed, adding 0 */
static int learn(struct lat *l, const struct rtgt_mr *mr, uint64_t *value, struct rtgt_err *err)
{
	struct rtgt_client *c = &l->m.client;
	const bool readable = c->peer.region[l->m.region].access & RTGT_ACCESS_READ;
	const struct rtgt_rdma op = {
		.opcode = readable ? IBV_WR_RDMA_READ : IBV_WR_ATOMIC_FETCH_AND_ADD,
		.region = l->m.region, .mr = mr, .len = sizeof(*value),
	};
	struct rtgt_took took;
	int ret = rtgt_client_rdma(c, &op, &took, err);

	memcpy(value, mr->buf, sizeof(*value));
	return ret;
}

static int wrong_value(const char *what, uint64_t got, uint64_t want, struct rtgt_err *err)
{
	return rtgt_fail(err, EILSEQ, "%s 0x%llx and not 0x%llx", what, (unsigned long long)got,
			 (unsigned long long)want);
}

/* The result of an atomic must be @value, which then becomes what the atomic leaves */
static int check_atomic(const struct ibv_send_wr *wr, const struct rtgt_mr *mr, uint64_t *value,
			struct rtgt_err *err)
{
	uint64_t old;

	memcpy(&old, mr->buf, sizeof(old));
	if (old != *value)
		return wrong_value("an atomic found", old, *value, err);
	*value = wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? old + wr->wr.atomic.compare_add :
							     wr->wr.atomic.swap;
	return 0;
}

/* After the last atomic: did it leave what it should? */
static int check_left(struct lat *l, const struct rtgt_mr *mr, uint64_t value,
		      struct rtgt_err *err)
{
	struct rtgt_client *c = &l->m.client;
	uint64_t now;
	uint32_t crc;
	int ret;

	if (measure_no_checksum(&l->m, c)) {
		ret = learn(l, mr, &now, err);
		if (!ret && now != value)
			ret = wrong_value("the last atomic left", now, value, err);
		return ret;
	}
	ret = rtgt_client_checksum(c, l->m.region, 0, sizeof(value), &crc, err);
	if (!ret && crc != rtgt_crc32(0, &value, sizeof(value)))
		ret = rtgt_fail(err, EILSEQ,
				"the last atomic did not leave 0x%llx: the target's checksum is 0x%08x",
				(unsigned long long)value, crc);
	return ret;
}

/* ---------------------------------------------------------------------- an operation */

/* The bytes of the next operation, and what tells its reply from others: outside of the time */
static void prepare(struct lat *l, struct ibv_send_wr *wr, const struct rtgt_mr *mr, uint64_t i,
		    uint64_t value)
{
	const bool last = i + 1 == l->m.warmup + l->m.count;
	struct rtgt_client *c = &l->m.client;
	const uint32_t size = l->m.at.size;
	uint8_t *bytes = mr->buf;

	if (measure_is_atomic(l->m.at.op)) {
		/* what an atomic that does nothing leaves here is wrong */
		memset(mr->buf, (uint8_t)~value, sizeof(value));
		wr->wr.atomic.compare_add = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? value : 1;
		wr->wr.atomic.swap = value + 1;
		return;
	}
	if (wr->opcode == IBV_WR_SEND) {
		bytes = rtgt_client_tx(c);
		rtgt_encode_msg((struct rtgt_msg *)c->tx.buf, RTGT_MSG_ECHO, (uint32_t)i, size);
	} else if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		wr->imm_data = htonl(rtgt_imm(RTGT_IMM_ACK, (uint32_t)i));
	}
	if (!last) {
		measure_stamp(bytes, size);
		return;
	}
	rtgt_pattern_fill(bytes, size, measure_seed(&l->m));
	if (wr->opcode == IBV_WR_SEND)
		rtgt_pattern_fill(c->rx.buf, c->rx.len, measure_seed(&l->m));
}

/* The reply to operation @i */
static int check_reply(struct lat *l, const struct ibv_send_wr *wr, uint64_t i, uint32_t len,
		       struct rtgt_err *err)
{
	const bool echo = wr->opcode == IBV_WR_SEND;
	const uint32_t imm = echo ? 0 : ntohl(wr->imm_data);
	struct rtgt_reply reply;
	int ret = rtgt_wire_reply(&reply, l->m.client.rx.buf, len, err);

	if (!ret)
		ret = rtgt_wire_match(&reply, echo ? RTGT_MSG_ECHO : RTGT_MSG_IMM,
				      echo ? (uint32_t)i : rtgt_imm_arg(imm), imm, err);
	if (!ret && (echo ? reply.len : reply.covered) != l->m.at.size)
		ret = rtgt_fail(err, EPROTO, "the target answers for %llu bytes, %u were sent",
				(unsigned long long)(echo ? reply.len : reply.covered),
				l->m.at.size);
	return ret;
}

/*
 * One operation and, if it is answered, its answer; the time from post to end.  @owed: sends that
 * are still to complete, which they may do behind the answer.
 */
static int once(struct watched *w, const struct measure_op *op, struct ibv_send_wr *wr,
		bool signaled, unsigned int *owed, uint64_t *start, uint64_t *end, uint32_t *len,
		struct rtgt_err *err)
{
	unsigned int before = 0;
	struct rtgt_client *c = w->client;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int ret = 0;

	wr->send_flags = op->answered && !signaled ? 0 : IBV_SEND_SIGNALED;
	if (op->answered && signaled)
		*owed += 1;
	if (op->answered)
		ret = rtgt_qp_post_recv(&c->qp, ID_RECV, &c->rx, (uint32_t)c->rx.len, err);
	if (!ret)
		ret = watch_arm(w, err);
	*start = rtgt_now_ns();
	if (!ret && ibv_post_send(c->qp.qp, wr, &bad))
		ret = rtgt_fail(err, EIO, "posting a %s failed", op->name);
	if (!ret)
		ret = watch_wait(w, op->answered ? ID_RECV : ID_SEND, &wc, &before, err);
	*end = rtgt_now_ns();
	*owed -= before;
	watch_count(w, !ret);
	*len = ret ? 0 : wc.byte_len;
	return ret;
}

/* @value: what atomics find, then what they have left */
static int loop(struct lat *l, struct watched *w, struct ibv_send_wr *wr, const struct rtgt_mr *mr,
		uint64_t *value, struct rtgt_err *err)
{
	const struct measure *m = &l->m;
	const struct measure_op *op = m->at.op;
	uint64_t total = m->warmup + m->count, start, end, begin = 0;
	unsigned int owed = 0, before = 0;
	struct ibv_wc wc;
	uint32_t len;
	int ret = 0;

	for (uint64_t i = 0; i < total; i++) {
		/* what the last one left to do is not of this one's time */
		if (l->gives_way)
			sched_yield();
		/* replies may come before the sends complete, and the send queue has an end */
		for (; !ret && owed && i % LAT_SIGNAL_EVERY == 0; owed--)
			ret = watch_wait(w, ID_SEND, &wc, &before, err);
		if (ret)
			return ret;
		prepare(l, wr, mr, i, *value);
		ret = once(w, op, wr, i % LAT_SIGNAL_EVERY == 0, &owed, &start, &end, &len, err);
		if (!ret && op->answered)
			ret = check_reply(l, wr, i, len, err);
		if (!ret && measure_is_atomic(op))
			ret = check_atomic(wr, mr, value, err);
		if (ret)
			return ret;
		if (i < m->warmup)
			continue;
		if (i == m->warmup)
			begin = start;
		l->ns[l->nr++] = end - start;
		l->elapsed_ns = end - begin;
	}
	for (; !ret && owed; owed--)
		ret = watch_wait(w, ID_SEND, &wc, &before, err);
	return ret;
}

/* Do both ends hold the same? */
static int verify(struct lat *l, const struct rtgt_mr *mr, uint64_t value, struct rtgt_err *err)
{
	struct rtgt_client *c = &l->m.client;
	const struct measure_op *op = l->m.at.op;
	const uint32_t size = l->m.at.size;
	const uint64_t total = l->m.warmup + l->m.count;
	const char *why = measure_no_checksum(&l->m, c);
	uint32_t crc;
	int ret;

	if (measure_is_atomic(op)) {
		ret = check_left(l, mr, value, err);
		/* the result of each */
		l->m.verified = ret ? 0 : size * total;
		return ret;
	}
	measure_not_compared(&l->m, size * (total - 1),
			     op->opcode == IBV_WR_SEND ? NOT_LAST : OVERWRITTEN);
	if (op->opcode == IBV_WR_SEND) {
		if (memcmp(rtgt_client_tx(c), rtgt_client_rx(c), size))
			return rtgt_fail(err, EILSEQ, "the last echo differs from what was sent");
		l->m.verified = size;
		return 0;
	}
	if (why) {
		measure_not_compared(&l->m, size, why);
		return 0;
	}
	ret = rtgt_client_checksum(c, l->m.region, 0, size, &crc, err);
	if (!ret && crc != rtgt_crc32(0, mr->buf, size))
		ret = rtgt_fail(err, EILSEQ, "the two ends hold different bytes");
	if (!ret)
		l->m.verified = size;
	return ret;
}

int lat_user_run(struct lat *l, struct rtgt_err *err)
{
	struct rtgt_client *c = &l->m.client;
	const struct rtgt_region_info *mem = &c->peer.region[l->m.region];
	const uint32_t size = l->m.at.size;
	struct rtgt_wr wr = {
		.id = ID_SEND, .opcode = l->m.at.op->opcode, .len = size,
		.remote_addr = mem->addr, .rkey = mem->rkey,
	};
	struct watched watched = { .client = c };
	struct watch w = { .nr = 1, .list = { &watched } };
	struct policy before = { };
	struct ibv_send_wr send;
	struct ibv_sge sge;
	uint64_t value = 0;
	struct rtgt_mr mr;
	int ret = measure_can(&l->m, c, mem->len, err);

	if (ret)
		return ret;
	ret = rtgt_mr_create(&mr, c->qp.pd, "buffer", size, IBV_ACCESS_LOCAL_WRITE, NULL, err);
	if (ret)
		return ret;
	rtgt_pattern_fill(mr.buf, size, measure_seed(&l->m));
	wr.mr = &mr;
	if (wr.opcode == IBV_WR_SEND) {
		wr.mr = &c->tx;
		wr.len += (uint32_t)sizeof(struct rtgt_msg);
		rtgt_pattern_fill(rtgt_client_tx(c), size, measure_seed(&l->m));
	}
	rtgt_wr_prepare(&c->qp, &wr, &sge, &send);
	if (measure_is_atomic(l->m.at.op))
		ret = learn(l, &mr, &value, err);
	give_way_begin(l, &before);
	if (!ret)
		ret = watch_begin(&w, &l->m.progress, l->m.to.timeout, err);
	if (!ret)
		ret = watch_end(&w, loop(l, &watched, &send, &mr, &value, err), err);
	give_way_end(l, &before);
	measure_no_reply(&l->m, ret, err);
	if (!ret)
		ret = verify(l, &mr, value, err);
	rtgt_mr_destroy(&mr);
	return ret;
}
