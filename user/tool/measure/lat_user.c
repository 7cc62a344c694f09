// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The user initiator of rtgt lat over RDMA: one operation of librtgt at a time over one connection.
 *
 * What is answered asks for no completion of its own but for the last, and only the answer is
 * waited for: a completion that tells nothing new is not paid for.  rtgt_wait() arms the completion
 * queue before an operation begins, so that no system call for it is in the time, which is from the
 * post to the completion or to the answer.  Nothing is allocated or printed between two operations.
 * What costs nothing to speak of is verified there, outside of the time: the library compares each
 * reply with its request, and each atomic must find what the one before left.  Bytes are compared
 * when the last operation is done, whose bytes are new; what the others moved is reported as not
 * compared.
 *
 * With one processor the kernel's workers, which do the work of an operation on rxe and
 * siw, take turns with this thread, and how often the processor changes hands is chance.
 * What the peer's device answers is waited for in a thread that lets them finish
 * first, outside of the time; see give_way_begin().
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lat.h"

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

/**
 * lat_is_last() - is it the last operation?
 * @l: in a cell
 * @i: which, counted from 0, the warm-up's included
 *
 * Return: true if it is: the last that was asked for, or the first behind the end of the time.
 */
bool lat_is_last(const struct lat *l, uint64_t i)
{
	if (i + 1 == l->m.warmup + l->m.count)
		return true;
	return l->seconds && i > l->m.warmup &&
	       rtgt_now_ns() - l->begin_ns >= l->seconds * 1000000000ull;
}

/* ------------------------------------------------------------------------- atomics */

/* What is at the offset of the atomics: a READ tells, or, where that is not allowed, adding 0 */
static int learn(struct lat *l, struct rtgt_buffer *b, uint64_t *value, struct rtgt_err *err)
{
	const bool readable = l->m.client->peer.region[l->m.region].access & RTGT_ACCESS_READ;
	struct rtgt_work work = {
		.type = readable ? RTGT_WORK_READ : RTGT_WORK_FAA,
		.region = l->m.region, .buffer = b, .len = sizeof(*value),
	};
	struct rtgt_done done;
	int ret = measure_do(&l->m, l->m.conn, &work, &done, err);

	memcpy(value, rtgt_buffer_bytes(b), sizeof(*value));
	return ret;
}

static int wrong_value(const char *what, uint64_t got, uint64_t want, struct rtgt_err *err)
{
	return rtgt_fail(err, EILSEQ, "%s 0x%llx and not 0x%llx", what, (unsigned long long)got,
			 (unsigned long long)want);
}

/* The result of an atomic must be @value, which then becomes what the atomic leaves */
static int check_atomic(const struct rtgt_work *work, uint64_t *value, struct rtgt_err *err)
{
	uint64_t old;

	memcpy(&old, rtgt_buffer_bytes(work->buffer), sizeof(old));
	if (old != *value)
		return wrong_value("an atomic found", old, *value, err);
	*value = work->type == RTGT_WORK_FAA ? old + work->compare_add : work->swap;
	return 0;
}

/* After the last atomic: did it leave what it should? */
static int check_left(struct lat *l, struct rtgt_buffer *b, uint64_t value, struct rtgt_err *err)
{
	uint64_t now;
	uint32_t crc;
	int ret;

	if (measure_no_checksum(&l->m)) {
		ret = learn(l, b, &now, err);
		if (!ret && now != value)
			ret = wrong_value("the last atomic left", now, value, err);
		return ret;
	}
	ret = measure_checksum(&l->m, l->m.conn, 0, sizeof(value), &crc, err);
	if (!ret && crc != rtgt_crc32(0, &value, sizeof(value)))
		ret = rtgt_fail(err, EILSEQ,
				"the last atomic did not leave 0x%llx: the target's checksum is 0x%08x",
				(unsigned long long)value, crc);
	return ret;
}

/* ---------------------------------------------------------------------- an operation */

/* The bytes of the next operation: outside of the time */
static void prepare(struct lat *l, struct rtgt_work *work, bool last, uint64_t value)
{
	uint8_t *bytes = rtgt_buffer_bytes(work->buffer);
	const uint32_t size = l->m.at.size;

	if (measure_is_atomic(l->m.at.op)) {
		/* what an atomic that does nothing leaves here is wrong */
		memset(bytes, (uint8_t)~value, sizeof(value));
		work->compare_add = work->type == RTGT_WORK_CAS ? value : 1;
		work->swap = value + 1;
		return;
	}
	work->flags = l->m.at.op->answered && !last ? RTGT_WORK_F_UNSIGNALED : 0;
	if (!last) {
		measure_stamp(bytes, size, 1);
		return;
	}
	rtgt_pattern_fill(bytes, size, measure_seed(&l->m));
	if (work->type == RTGT_WORK_ECHO)
		rtgt_pattern_fill(bytes + work->back, size, measure_seed(&l->m));
}

/* One operation and, if it is answered, its answer */
static int once(struct lat *l, const struct rtgt_work *work, struct rtgt_done *done,
		struct rtgt_err *err)
{
	struct rtgt_conn *conn = l->m.conn;
	int ret = 0;

	/* there is nothing, and the queue is armed */
	if (!l->m.poll)
		ret = rtgt_wait(conn, done, 1, 0, err);
	/* what the last one left to do is not of this one's time */
	if (l->gives_way)
		sched_yield();
	if (!ret || ret == -ENOENT)
		ret = rtgt_submit(conn, work, err);
	if (!ret)
		ret = measure_wait(&l->m, conn, done, 1, l->m.at.op->answered, err);
	progress_count(&l->m.progress, 1);
	return ret < 0 ? ret : 0;
}

/* @value: what atomics find, then what they have left */
static int loop(struct lat *l, struct rtgt_work *work, uint64_t *value, struct rtgt_err *err)
{
	const struct measure *m = &l->m;
	struct rtgt_done done;
	bool last = false;
	int ret = 0;

	for (uint64_t i = 0; !last && !ret; i++) {
		last = lat_is_last(l, i);
		prepare(l, work, last, *value);
		if (i == m->warmup)
			l->begin_ns = rtgt_now_ns();
		ret = once(l, work, &done, err);
		if (!ret)
			ret = measure_goes_on(m, err);
		if (!ret && measure_is_atomic(m->at.op))
			ret = check_atomic(work, value, err);
		if (!ret && i >= m->warmup)
			l->ns[l->nr++] = m->at.op->answered ? done.reply_ns : done.completion_ns;
		progress_tell(&l->m.progress);
	}
	l->elapsed_ns = rtgt_now_ns() - l->begin_ns;
	return ret;
}

/* Do both ends hold the same? */
static int verify(struct lat *l, const struct rtgt_work *work, uint64_t value,
		  struct rtgt_err *err)
{
	const uint8_t *bytes = rtgt_buffer_bytes(work->buffer);
	const uint32_t size = l->m.at.size;
	const uint64_t total = l->m.warmup + l->nr;
	const char *why = measure_no_checksum(&l->m);
	uint32_t crc;
	int ret;

	if (measure_is_atomic(l->m.at.op)) {
		ret = check_left(l, work->buffer, value, err);
		/* the result of each */
		l->m.verified = ret ? 0 : size * total;
		return ret;
	}
	measure_not_compared(&l->m, size * (total - 1),
			     work->type == RTGT_WORK_ECHO ? NOT_LAST : OVERWRITTEN);
	if (work->type == RTGT_WORK_ECHO) {
		if (memcmp(bytes, bytes + work->back, size))
			return rtgt_fail(err, EILSEQ, "the last echo differs from what was sent");
		l->m.verified = size;
		return 0;
	}
	if (why) {
		measure_not_compared(&l->m, size, why);
		return 0;
	}
	ret = measure_checksum(&l->m, l->m.conn, 0, size, &crc, err);
	if (!ret && crc != rtgt_crc32(0, bytes, size))
		ret = rtgt_fail(err, EILSEQ, "the two ends hold different bytes: does another client use the region?");
	if (!ret)
		l->m.verified = size;
	return ret;
}

static int run(struct lat *l, struct rtgt_buffer *b, struct rtgt_err *err)
{
	const uint32_t size = l->m.at.size;
	struct rtgt_work work = {
		.size = sizeof(work), .type = l->m.at.op->work, .region = l->m.region, .len = size,
		.buffer = b, .back = size,
	};
	struct policy before = { };
	uint64_t value = 0;
	int ret = 0;

	rtgt_pattern_fill(rtgt_buffer_bytes(b), rtgt_buffer_len(b), measure_seed(&l->m));
	if (measure_is_atomic(l->m.at.op))
		ret = learn(l, b, &value, err);
	give_way_begin(l, &before);
	if (!ret)
		ret = loop(l, &work, &value, err);
	give_way_end(l, &before);
	return ret ? ret : verify(l, &work, value, err);
}

int lat_user_run(struct lat *l, struct rtgt_err *err)
{
	const bool echo = l->m.at.op->work == RTGT_WORK_ECHO;
	const uint64_t len = (echo ? 2ull : 1ull) * l->m.at.size;
	int ret = measure_can(&l->m, l->m.client->peer.region[l->m.region].len, err);
	struct rtgt_buffer *b;
	struct rtgt_err why;

	if (!ret)
		ret = rtgt_buffer_create(&b, l->m.domain, len, 0, err);
	if (ret)
		return ret;
	ret = run(l, b, err);
	/* an operation that did not end holds it */
	if (ret) {
		rtgt_close(l->m.conn);
		l->m.conn = NULL;
	}
	rtgt_buffer_destroy(b, &why);
	return ret;
}
