// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What rtgt lat and rtgt bw do with librtgt beside what they measure: connections, operations that
 * nobody times, and what is said when one fails.
 *
 * All connections of a command use one domain.  Any wait ends when somebody presses ^C, or when
 * another connection has failed: measure.cancel is readable then.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "tool/cli/interrupt.h"
#include "measure.h"

static struct rtgt_params params_of(const struct measure *m)
{
	return (struct rtgt_params) {
		.size = sizeof(struct rtgt_params), .flags = m->poll ? RTGT_PARAM_BUSY_POLL : 0,
		.host = m->to.host, .port = m->to.service, .source = m->to.source,
		.timeout_ms = (int)m->to.timeout * 1000, .cancel_fd = m->cancel,
	};
}

/**
 * measure_domain() - open the device on the way to the target
 * @m: parsed
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int measure_domain(struct measure *m, struct rtgt_err *err)
{
	const struct rtgt_params params = params_of(m);

	return rtgt_domain_open(&m->domain, &params, err);
}

/**
 * measure_connect() - connect over RDMA
 * @m: its domain is open
 * @conn: set, NULL when this fails; rtgt_close() releases it
 * @depth: operations that may be outstanding
 * @payload: bytes of the largest SEND
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int measure_connect(const struct measure *m, struct rtgt_conn **conn, unsigned int depth,
		    uint32_t payload, struct rtgt_err *err)
{
	struct rtgt_params params = params_of(m);

	params.depth = depth;
	params.payload = payload < RTGT_PAYLOAD_MAX ? payload : RTGT_PAYLOAD_MAX;
	return rtgt_connect(conn, m->domain, &params, err);
}

/**
 * measure_stop() - end all waits
 * @m: running
 */
void measure_stop(struct measure *m)
{
	atomic_store(&m->stopped, true);
	eventfd_write(m->cancel, 1);
}

/**
 * measure_goes_on() - is there a reason to end?
 * @m: running
 * @err: says which
 *
 * For who may never have to wait.
 *
 * Return: 0, or a negative errno.
 */
int measure_goes_on(const struct measure *m, struct rtgt_err *err)
{
	if (interrupted)
		return rtgt_fail(err, EINTR, "interrupted");
	if (atomic_load_explicit(&m->stopped, memory_order_relaxed))
		return rtgt_fail(err, ECANCELED, "another connection has failed");
	return 0;
}

static int no_completion(const struct measure *m, bool answered, struct rtgt_err *err)
{
	if (answered)
		return rtgt_fail(err, ETIMEDOUT,
				 "the target sent no reply within %u s: see dmesg there (--timeout waits longer)",
				 m->to.timeout);
	return rtgt_fail(err, ETIMEDOUT,
			 "no completion within %u s: is the link still up, and its MTU the same at both ends? (--timeout waits longer)",
			 m->to.timeout);
}

/**
 * measure_wait() - take what is done, at least one operation
 * @m: running
 * @conn: something is outstanding
 * @done: filled
 * @max: how many fit there
 * @answered: it waits for replies
 * @err: says what is wrong
 *
 * Return: how many, or a negative errno; of the first that failed its own.
 */
int measure_wait(const struct measure *m, struct rtgt_conn *conn, struct rtgt_done *done,
		 uint32_t max, bool answered, struct rtgt_err *err)
{
	int n;

	do {
		n = rtgt_wait(conn, done, max, (int)m->to.timeout * 1000, err);
	} while (n == -EINTR && !interrupted);
	if (n == -ETIMEDOUT)
		return no_completion(m, answered, err);
	if (n == -ECANCELED || n == -EINTR)
		return measure_goes_on(m, err);
	for (int i = 0; i < n; i++)
		if (done[i].error)
			return rtgt_done_error(conn, &done[i], err);
	return n;
}

/**
 * measure_do() - one operation that nobody times
 * @m: running
 * @conn: nothing is outstanding
 * @work: what; its size is set
 * @done: filled
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int measure_do(const struct measure *m, struct rtgt_conn *conn, struct rtgt_work *work,
	       struct rtgt_done *done, struct rtgt_err *err)
{
	int ret;

	work->size = sizeof(*work);
	ret = rtgt_submit(conn, work, err);
	if (!ret)
		ret = measure_wait(m, conn, done, 1, work->type == RTGT_WORK_CHECKSUM, err);
	return ret < 0 ? ret : 0;
}

/**
 * measure_checksum() - let the target read its region
 * @m: running
 * @conn: nothing is outstanding
 * @offset: first byte, counted from the region's beginning
 * @len: bytes
 * @crc: filled; rtgt_crc32() computes the same here
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int measure_checksum(const struct measure *m, struct rtgt_conn *conn, uint64_t offset,
		     uint32_t len, uint32_t *crc, struct rtgt_err *err)
{
	struct rtgt_work work = {
		.type = RTGT_WORK_CHECKSUM, .region = m->region, .remote = offset, .len = len,
	};
	struct rtgt_done done = { };
	int ret = measure_do(m, conn, &work, &done, err);

	*crc = done.crc;
	return ret;
}
