// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The user initiator of rtgt lat over RDMA: one operation at a time over one connection.
 *
 * What is answered is posted unsignaled but for one in 16, and only the answer is
 * waited for: a completion that tells nothing new is not paid for.  Nothing is
 * allocated, printed or verified between two operations; bytes are compared when the
 * last one is done.
 *
 * With one processor the kernel's workers, which do the work of an operation on rxe and
 * siw, take turns with this thread, and how often the processor changes hands is chance.
 * What the peer's device answers is waited for in a thread that lets them finish
 * first, outside of the time; see give_way_begin().
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lat.h"
#include "watch.h"

#define ID_SEND		1
#define ID_RECV		2

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

/* What atomics leave at their place is known: each must find what the last one left */
struct atom {
	uint64_t value;
	bool known;
};

static int check_atomic(struct ibv_send_wr *wr, const struct rtgt_mr *mr, struct atom *atom,
			struct rtgt_err *err)
{
	uint64_t old;

	memcpy(&old, mr->buf, sizeof(old));
	if (atom->known && old != atom->value)
		return rtgt_fail(err, EILSEQ, "an atomic found 0x%llx and not 0x%llx",
				 (unsigned long long)old, (unsigned long long)atom->value);
	atom->known = true;
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		atom->value = old + wr->wr.atomic.compare_add;
		return 0;
	}
	atom->value = old == wr->wr.atomic.compare_add ? wr->wr.atomic.swap : old;
	wr->wr.atomic.compare_add = atom->value;
	wr->wr.atomic.swap = atom->value + 1;
	return 0;
}

/* One operation and, if it is answered, its answer; the time from post to end */
static int once(struct watched *w, const struct measure_op *op, struct ibv_send_wr *wr,
		bool signaled, uint64_t *start, uint64_t *end, struct rtgt_err *err)
{
	struct rtgt_client *c = w->client;
	struct rtgt_reply reply;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int ret = 0;

	wr->send_flags = op->answered && !signaled ? 0 : IBV_SEND_SIGNALED;
	if (op->answered)
		ret = rtgt_qp_post_recv(&c->qp, ID_RECV, &c->rx, (uint32_t)c->rx.len, err);
	if (!ret)
		ret = watch_arm(w, err);
	*start = rtgt_now_ns();
	if (!ret && ibv_post_send(c->qp.qp, wr, &bad))
		ret = rtgt_fail(err, EIO, "posting a %s failed", op->name);
	if (!ret)
		ret = watch_wait(w, op->answered ? ID_RECV : ID_SEND, &wc, err);
	*end = rtgt_now_ns();
	if (!ret && op->answered)
		ret = rtgt_wire_reply(&reply, c->rx.buf, wc.byte_len, err);
	if (!ret && op->answered && reply.status != RTGT_OK)
		ret = rtgt_fail(err, EPROTO, "the target answered: %s",
				rtgt_status_str(reply.status));
	return ret;
}

static int loop(struct lat *l, struct watched *w, struct ibv_send_wr *wr, const struct rtgt_mr *mr,
		struct rtgt_err *err)
{
	const struct measure *m = &l->m;
	const struct measure_op *op = m->at.op;
	uint64_t total = m->warmup + m->count, start, end, begin = 0;
	struct atom atom = { };
	int ret;

	for (uint64_t i = 0; i < total; i++) {
		/* what the last one left to do is not of this one's time */
		if (l->gives_way)
			sched_yield();
		ret = once(w, op, wr, i % LAT_SIGNAL_EVERY == 0, &start, &end, err);
		if (!ret && measure_is_atomic(op))
			ret = check_atomic(wr, mr, &atom, err);
		if (ret)
			return ret;
		if (i < m->warmup)
			continue;
		if (i == m->warmup)
			begin = start;
		l->ns[l->nr++] = end - start;
		l->elapsed_ns = end - begin;
	}
	return 0;
}

/* Do both ends hold the same? */
static int verify(struct lat *l, const struct rtgt_mr *mr, struct rtgt_err *err)
{
	struct rtgt_client *c = &l->m.client;
	const struct measure_op *op = l->m.at.op;
	const uint32_t size = l->m.at.size;
	uint32_t crc;
	int ret;

	if (measure_is_atomic(op)) {
		l->verified = 8 * (l->m.warmup + l->m.count);
		return 0;
	}
	if (op->opcode == IBV_WR_SEND) {
		if (memcmp(rtgt_client_tx(c), rtgt_client_rx(c), size))
			return rtgt_fail(err, EILSEQ, "the last echo differs from what was sent");
		l->verified = size;
		return 0;
	}
	/* a plain target cannot be asked */
	if (!c->peer.rtgt)
		return 0;
	ret = rtgt_client_checksum(c, l->m.region, 0, size, &crc, err);
	if (!ret && crc != rtgt_crc32(0, mr->buf, size))
		ret = rtgt_fail(err, EILSEQ, "the two ends hold different bytes");
	if (!ret)
		l->verified = size;
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
		.imm = rtgt_imm(RTGT_IMM_ACK, 1), .compare_add = 1,
	};
	struct watched watched = { .client = c };
	struct watch w = { .nr = 1, .list = { &watched } };
	struct policy before = { };
	struct ibv_send_wr send;
	struct ibv_sge sge;
	struct rtgt_mr mr;
	int ret = measure_can(&l->m, c, mem->len, err);

	if (ret)
		return ret;
	ret = rtgt_mr_create(&mr, c->qp.pd, "buffer", size, IBV_ACCESS_LOCAL_WRITE, NULL, err);
	if (ret)
		return ret;
	rtgt_pattern_fill(mr.buf, size, rtgt_now_ns());
	wr.mr = &mr;
	if (wr.opcode == IBV_WR_SEND) {
		wr.mr = &c->tx;
		wr.len += (uint32_t)sizeof(struct rtgt_msg);
		rtgt_pattern_fill(rtgt_client_tx(c), size, rtgt_now_ns());
		rtgt_encode_msg((struct rtgt_msg *)c->tx.buf, RTGT_MSG_ECHO, 1, size);
	}
	rtgt_wr_prepare(&c->qp, &wr, &sge, &send);
	give_way_begin(l, &before);
	ret = watch_begin(&w, &l->m.progress, l->m.to.timeout, err);
	if (!ret)
		ret = watch_end(&w, loop(l, &watched, &send, &mr, err), err);
	give_way_end(l, &before);
	if (!ret)
		ret = verify(l, &mr, err);
	rtgt_mr_destroy(&mr);
	return ret;
}
