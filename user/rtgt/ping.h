/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One run of rtgt ping, shared by its three files:
 *
 *	ping.c		the command line, the connection, the order of things
 *	ping_ops.c	the operations and their verification
 *	ping_out.c	the table, the JSON document
 */
#ifndef RTGT_PING_H
#define RTGT_PING_H

#include <stdbool.h>
#include <stdint.h>

#include "../lib/client.h"
#include "../lib/facts.h"
#include "../lib/histogram.h"
#include "../lib/json.h"
#include "rtgt.h"

#define PING_SIZES	128
#define PING_OPS	4

/* Bytes around a range that are watched, where the region has room */
#define PING_MARGIN	RTGT_GUARD

struct ping;

/**
 * struct ping_op - an operation
 * @name: on the command line and in results
 * @access: what the region must grant
 * @rtgt: needs a target that speaks rtgt
 * @run: does it once, verified
 */
struct ping_op {
	const char *name;
	uint32_t access;
	bool rtgt;
	int (*run)(struct ping *p, struct rtgt_err *err);
};

extern const struct ping_op ping_ops[PING_OPS];
#define PING_SEND	(PING_OPS - 1)

/*
 * struct ping - a run
 *
 * As the command line says:
 * @host, @service, @source: where to, from where
 * @count: iterations; 0 leaves it to the size
 * @size: sizes
 * @nr_sizes: how many
 * @sweep: the sizes are the default ones
 * @asked: bit per operation named with -o; 0 for all that are possible
 * @region: index
 * @timeout: seconds
 * @verify, @show, @debug, @quiet, @poll, @json, @pretty: options
 *
 * While it runs:
 * @client: the connection
 * @mem: the region
 * @region_len: its length, or what is taken for it when the target did not say
 * @tx: what the target should hold: margin, data, margin
 * @rx: what READs bring
 * @completion, @reply: samples of the current operation and size
 * @seed: changes with every run
 * @serial: counts patterns
 *
 * The current operation and size:
 * @op: which
 * @len: bytes
 * @at: its first byte in the region
 * @before, @behind: margins around it
 * @iteration: counts from 0
 *
 * Results:
 * @results, @skipped: for the JSON document
 * @total_iterations, @total_bytes: of what was verified
 */
struct ping {
	const char *host, *service, *source;
	uint64_t count;
	uint32_t size[PING_SIZES];
	unsigned int nr_sizes;
	bool sweep;
	unsigned int asked;
	uint32_t region;
	unsigned int timeout;
	bool verify, show, debug, quiet, poll, json, pretty;

	struct rtgt_client client;
	const struct rtgt_mem *mem;
	uint64_t region_len;
	struct rtgt_mr tx, rx;
	struct rtgt_hist completion, reply;
	uint64_t seed, serial;

	const struct ping_op *op;
	uint32_t len;
	uint64_t at;
	uint32_t before, behind;
	uint64_t iteration;

	struct json_object *results, *skipped;
	uint64_t total_iterations, total_bytes;
};

int ping_prepare(struct ping *p, struct rtgt_err *err);
int ping_once(struct ping *p, struct rtgt_err *err);

void ping_out_head(const struct ping *p, const struct rtgt_facts *facts);
void ping_out_result(struct ping *p, uint64_t iterations);
void ping_out_skip(struct ping *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ping_out_data(const struct ping *p, const void *data, uint32_t len);
void ping_out_end(const struct ping *p);
int ping_out_json(struct ping *p, const struct rtgt_facts *facts, const struct rtgt_err *err);

#endif /* RTGT_PING_H */
