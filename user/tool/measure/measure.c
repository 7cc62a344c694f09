// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt lat and rtgt bw: the matrix of what is measured: operation by operation, size by
 * size, over each transport, from each initiator.
 *
 * A connection of the user initiator comes first in any case: it tells what the
 * target is and what its region grants.  A cell of the matrix that cannot be is told
 * as skipped; one that fails ends the command.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/cli/interrupt.h"
#include "measure.h"

/* Bytes of an operation that differ from those of the one before */
#define STAMP	8

/**
 * measure_is_atomic() - is it of eight bytes, always?
 * @op: operation
 *
 * Return: true if it is.
 */
bool measure_is_atomic(const struct measure_op *op)
{
	return op->access == RTGT_ACCESS_ATOMIC;
}

/**
 * measure_seed() - a seed of its own for a pattern
 * @m: parsed
 *
 * Return: another one with each call, the same ones in each run with the same --seed.
 */
uint64_t measure_seed(struct measure *m)
{
	return m->seed + ++m->serial * 0xd1342543de82ef95u;
}

/**
 * measure_stamp() - make the first bytes of an operation differ from those of the one before
 * @buf: bytes that will be moved, or that a READ will overwrite
 * @len: how many; up to STAMP of them change
 * @by: 1, or -1 to take it back
 *
 * It costs next to nothing, and shows whether the last operation to an offset did something.
 */
void measure_stamp(uint8_t *buf, uint32_t len, int by)
{
	for (uint32_t i = 0; i < len && i < STAMP; i++)
		buf[i] = (uint8_t)(buf[i] + by);
}

/**
 * measure_no_checksum() - why does the target send no checksum of the region?
 * @m: connected
 *
 * Return: a constant string; NULL if it sends one.
 */
const char *measure_no_checksum(const struct measure *m)
{
	if (!m->client->peer.rtgt)
		return NO_CHECKSUM;
	return m->client->peer.region[m->region].access & RTGT_ACCESS_READ ? NULL : NO_READ;
}

/* ----------------------------------------------------------------------- the targets */

/**
 * measure_tcp_open() - connect over TCP
 * @m: parsed
 * @tcp: filled; to be closed when this succeeds
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int measure_tcp_open(const struct measure *m, struct rtgt_tcp *tcp, struct rtgt_err *err)
{
	const struct rtgt_tcp_param param = {
		.host = m->to.host, .service = m->tcp_service, .source = m->to.source,
		.timeout_ms = (int)m->to.timeout * 1000, .poll = m->poll,
		.cancel_fd = m->cancel,
	};

	return rtgt_tcp_open(tcp, &param, err);
}

static int open_rdma(struct measure *m, struct rtgt_err *err)
{
	int ret = measure_domain(m, err);

	if (!ret)
		ret = measure_connect(m, &m->conn, 1, measure_largest(m), err);
	if (ret)
		return ret;
	m->client = rtgt_conn_client(m->conn);
	rtgt_facts_qp(&m->facts, &m->client->qp);
	if (m->region >= m->client->peer.nr)
		return rtgt_fail(err, EINVAL, "no region %u: the target has %u, counted from 0 (there: rtgt region show)",
				 m->region, m->client->peer.nr);
	if (m->mtu && (unsigned int)strtoul(m->facts.path_mtu, NULL, 10) != m->mtu)
		return rtgt_fail(err, EINVAL,
				 "-m %u: the path MTU is %s, which rdma_cm takes from the interface: ip link set %s mtu ...",
				 m->mtu, m->facts.path_mtu,
				 m->facts.netdev[0] ? m->facts.netdev : "DEV");
	return 0;
}

/* Connect to what the command line names, and take the facts */
static int open_all(struct measure *m, struct rtgt_err *err)
{
	int ret = 0;

	rtgt_facts_host(&m->facts);
	m->cancel = interrupt_event(0);
	if (m->cancel < 0)
		return rtgt_fail(err, errno, "no eventfd: %s", strerror(errno));
	if (m->over & 1u << OVER_RDMA)
		ret = open_rdma(m, err);
	if (!ret && m->over & 1u << OVER_TCP) {
		ret = measure_tcp_open(m, &m->tcp, err);
		m->tcp_open = !ret;
		if (!ret)
			rtgt_facts_tcp(&m->facts, m->tcp.fd);
	}
	return ret;
}

static void measure_close(struct measure *m)
{
	struct rtgt_err err;

	kernel_close(&m->kernel);
	rtgt_close(m->conn);
	rtgt_domain_close(m->domain, &err);
	if (m->tcp_open)
		rtgt_tcp_close(&m->tcp);
	interrupt_catch(0, NULL);
	if (m->cancel >= 0)
		close(m->cancel);
}

/**
 * measure_extent_str() - what of the region is measured?
 * @m: connected
 *
 * Return: words behind its number of bytes; none, if that is the whole region.
 */
const char *measure_extent_str(const struct measure *m)
{
	return m->client && m->client->layout[m->region].nr > 1 ? " in its first extent" : "";
}

/**
 * measure_can() - can the present cell be?
 * @m: its cell is set
 * @room: bytes of the region it has
 * @err: says why not
 *
 * What cannot be done is said before it is tried.
 *
 * Return: 0, or a negative errno cannot_be() knows.
 */
int measure_can(const struct measure *m, uint64_t room, struct rtgt_err *err)
{
	const struct rtgt_client *c = m->client;
	const struct rtgt_region_info *mem = &c->peer.region[m->region];
	const struct measure_op *op = m->at.op;

	if (op->answered && !c->peer.rtgt)
		return rtgt_fail(err, EOPNOTSUPP, "the target does not speak rtgt");
	if (measure_is_atomic(op) && !(c->qp.can & RTGT_CAN_ATOMIC))
		return rtgt_fail(err, EOPNOTSUPP, "the device has no atomics");
	if (op->work == RTGT_WORK_WRITE_IMM && !(c->qp.can & RTGT_CAN_IMM))
		return rtgt_fail(err, EOPNOTSUPP, "the device has no immediates (it is iWARP)");
	if (op->work == RTGT_WORK_ECHO)
		return m->at.size <= c->payload ? 0 :
			rtgt_fail(err, EMSGSIZE, "the target takes SENDs of %u bytes (there: rtgt port set PORT recv_size)",
				  c->payload);
	if ((mem->access & op->access) != op->access)
		return rtgt_fail(err, EACCES, "region %u does not grant it (there: rtgt region set PORT/NAME access)",
				 m->region);
	/* a plain target may not say how much it has */
	if (mem->len && m->at.size > room)
		return rtgt_fail(err, ERANGE,
				 "region %u has %llu bytes%s: smaller -S, or a larger region there",
				 m->region, (unsigned long long)mem->len, measure_extent_str(m));
	return 0;
}

/* Is the errno of a cell no failure, and the cell to be skipped? */
static bool cannot_be(int ret)
{
	return ret == -EOPNOTSUPP || ret == -EACCES || ret == -ERANGE || ret == -EMSGSIZE;
}

/* ------------------------------------------------------------------------ the matrix */

static int one(struct measure *m, int (*cell)(struct measure *m, struct rtgt_err *err),
	       struct rtgt_err *err)
{
	int ret;

	if (m->at.from == FROM_KERNEL && m->at.over == OVER_TCP)
		return 0;
	snprintf(m->progress.what, sizeof(m->progress.what), "%s %s of %u bytes over %s",
		 measure_from_str(m->at.from), m->at.op->name, m->at.size,
		 measure_over_str(m->at.over));
	m->verified = 0;
	memset(m->not_compared, 0, sizeof(m->not_compared));
	progress_begin(&m->progress, m->timed ? 0 : m->warmup + m->count);
	ret = cell(m, err);
	progress_end(&m->progress);
	/* nor is it when it has begun */
	if (!cannot_be(ret) || atomic_load(&m->stopped) || (m->client && !m->conn))
		return ret;
	measure_out_skip(m, err->text);
	return 0;
}

/* Measures each cell; one that failed is still in @m->at */
static int matrix(struct measure *m, int (*cell)(struct measure *m, struct rtgt_err *err),
		  struct rtgt_err *err)
{
	struct cell *at = &m->at;
	int ret = 0;

	for (unsigned int op = 0; op < m->nr_ops && !ret; op++) {
		bool atomic = measure_is_atomic(&m->op[op]);

		if (!(m->ops & 1u << op))
			continue;
		at->op = &m->op[op];
		for (unsigned int i = 0; i < (atomic ? 1 : m->sizes.nr) && !ret; i++) {
			at->size = atomic ? 8 : (uint32_t)m->sizes.at[i];
			for (unsigned int n = 0; n < NR_FROM * NR_OVER && !ret; n++) {
				at->from = (enum measure_from)(n / NR_OVER);
				at->over = (enum measure_over)(n % NR_OVER);
				if (m->from & 1u << at->from && m->over & 1u << at->over)
					ret = one(m, cell, err);
			}
		}
	}
	return ret;
}

/* The runs of the kernel's initiators have as much in common as those from here */
static int open_kernel(struct measure *m, unsigned int nr, struct rtgt_err *err)
{
	const struct kernel_param param = {
		.name = m->usage->name, .host = m->to.host, .service = m->to.service,
		.source = m->to.source,
		.completion = m->completion, .count = m->count, .warmup = m->warmup,
		.region = m->region, .timeout = m->to.timeout,
	};

	return kernel_open(&m->kernel, &param, nr, err);
}

/**
 * measure_run() - connect, measure all cells, hang up
 * @m: parsed
 * @cell: measures @m->at and tells the result
 * @kernels: initiators the kernel needs, if it is asked
 *
 * Return: an exit status; an error has been told.
 */
int measure_run(struct measure *m, int (*cell)(struct measure *m, struct rtgt_err *err),
		unsigned int kernels)
{
	struct rtgt_err err = { };
	int ret;

	m->results = json_object_new_array();
	ret = open_all(m, &err);
	if (!ret && m->from & 1u << FROM_KERNEL)
		ret = open_kernel(m, kernels, &err);
	if (!ret)
		ret = matrix(m, cell, &err);
	measure_close(m);
	if (!ret)
		return EXIT_OK;
	/* however it was noticed */
	if (interrupted)
		rtgt_fail(&err, EINTR, "interrupted");
	m->error = err;
	if (m->at.op)
		failed("%s %s over %s: %s (seed %llu)", m->usage->name, m->at.op->name,
		       measure_over_str(m->at.over), err.text, (unsigned long long)m->seed);
	else
		failed("%s: %s", m->usage->name, err.text);
	return interrupted ? EXIT_INTERRUPTED : EXIT_FAILED;
}
