/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One run of rtgt ping, shared by its files:
 *
 *	ping_args.c	the command line
 *	ping.c		the connection, the order of things
 *	ping_ops.c	the table of operations, the place each is done at
 *	ping_can.c	what stands in the way of one
 *	ping_rdma.c	the one-sided operations
 *	ping_send.c	those that ask the target for something
 *	ping_check.c	what verification has in common
 *	ping_out.c	the table, the JSON document
 */
#ifndef RTGT_PING_H
#define RTGT_PING_H

#include <stdbool.h>
#include <stdint.h>

#include <rtgt/client.h>
#include "tool/out/facts.h"
#include "tool/out/histogram.h"
#include "tool/out/json.h"
#include "tool/cli/options.h"

#define PING_OPS	12

/* Bytes around a range that are watched, where the region has room */
#define PING_MARGIN	RTGT_GUARD

/* Room for the reason why an operation is not possible */
#define PING_WHY	192

struct ping;

/* Requests of a chain, with --fence as many READs as WRITEs */
#define PING_CHAIN_MAX	64
#define PING_CHAIN	(2 * PING_CHAIN_MAX)

/* ping_op.needs */
#define PING_TARGET	0x1U	/* a target that speaks rtgt */
#define PING_MSG	0x2U	/* its bytes are in a message */
#define PING_PRIVATE	0x4U	/* a region nobody else uses */
#define PING_EXTRA	0x8U	/* only when it is asked for */
#define PING_MOVE	0x10U	/* the target reaches into our memory */

/**
 * struct ping_op - an operation
 * @name: on the command line and in results
 * @access: what the region must grant
 * @needs: PING_*
 * @on: bits of enum rtgt_transport
 * @can: RTGT_CAN_* of the device
 * @size: the only one it has, and then its place is a multiple of it; 0 for any
 * @run: does it once, verified
 */
struct ping_op {
	const char *name;
	uint32_t access;
	unsigned int needs;
	unsigned int on;
	unsigned int can;
	uint32_t size;
	int (*run)(struct ping *p, struct rtgt_err *err);
};

extern const struct ping_op ping_ops[PING_OPS];

/*
 * struct ping - a run
 *
 * As the command line says:
 * @to: the target
 * @count: iterations; 0 leaves it to the size
 * @sizes: bytes of an operation
 * @sweep: the sizes are the default ones
 * @asked: bit per operation named with -o; 0 for the usual ones
 * @all: -o all: whatever is possible
 * @transport: which
 * @sges, @chain, @flags: --sge, --unsignaled, --inline and --fence as IBV_SEND_*
 * @window, @odp: --window, --odp
 * @region: index
 * @seed: of all data, with --seed; otherwise another one in each run
 * @verify, @show, @debug, @quiet, @poll, @json, @pretty: options
 *
 * While it runs:
 * @client: the connection
 * @mem: the region
 * @region_len: its length, or what is taken for it when the target did not say
 * @tx: what the target should hold: margin, data, margin
 * @rx: what READs bring
 * @list: the same cut into pieces, with --sge
 * @mw: with --window, what the target gets the key of
 * @wr: a chain being put together
 * @completion, @reply: samples of the current operation and size
 * @serial: counts patterns
 *
 * The current operation and size:
 * @op: which
 * @len: bytes
 * @at: its first byte in the region
 * @before, @behind: margins around it
 * @iteration: counts from 0
 * @first: it is the first size of the operation
 * @blind: its bytes could not be compared: the region does not allow READ
 *
 * Results:
 * @results, @skipped: for the JSON document
 * @total_iterations, @total_bytes: of what was verified
 * @total_blind: bytes that were not compared
 * @unwatched: nor were those beside an operation's, at some time
 */
struct ping {
	struct where to;
	uint64_t count;
	struct sizes sizes;
	bool sweep;
	unsigned int asked;
	bool all;
	enum rtgt_transport transport;
	unsigned int sges, chain, flags;
	bool window, odp;
	uint32_t region;
	uint64_t seed;
	bool verify, show, debug, quiet, poll, json, pretty;

	struct rtgt_client client;
	const struct rtgt_region_info *mem;
	uint64_t region_len;
	struct rtgt_mr tx, rx, list;
	struct rtgt_window mw;
	struct rtgt_rdma wr[PING_CHAIN + 1];
	struct rtgt_hist completion, reply;
	uint64_t serial;

	const struct ping_op *op;
	uint32_t len;
	uint64_t at;
	uint32_t before, behind;
	uint64_t iteration;
	bool first, blind, unwatched;

	struct json_object *results, *skipped;
	uint64_t total_iterations, total_bytes, total_blind;
};

int ping_parse(struct ping *p, struct tool *tool, int argc, char **argv);

const char *ping_lacks(const struct ping *p, char *why);

int ping_prepare(struct ping *p, struct rtgt_err *err);
int ping_once(struct ping *p, struct rtgt_err *err);

uint64_t ping_seed(struct ping *p);
void ping_sample(struct ping *p, const struct rtgt_took *took);
uint32_t ping_piece(const struct ping *p);
bool ping_writable(const struct ping *p);
int ping_check_target(struct ping *p, struct rtgt_err *err);
int ping_check_rx(struct ping *p, uint64_t seed, struct rtgt_err *err);
int ping_check_guards(struct ping *p, const struct rtgt_mr *mr, size_t used,
		      struct rtgt_err *err);

uint32_t ping_list_room(const struct ping *p);
int ping_put(struct ping *p, enum ibv_wr_opcode opcode, struct rtgt_took *took,
	     struct rtgt_err *err);
int ping_plain(struct ping *p, enum ibv_wr_opcode opcode, const struct rtgt_mr *mr, size_t local,
	       uint64_t remote, uint32_t len, struct rtgt_err *err);
int ping_expect(struct ping *p, uint64_t seed, struct rtgt_err *err);
int ping_write(struct ping *p, struct rtgt_err *err);
int ping_write_imm(struct ping *p, struct rtgt_err *err);
int ping_read(struct ping *p, struct rtgt_err *err);
int ping_cas(struct ping *p, struct rtgt_err *err);
int ping_faa(struct ping *p, struct rtgt_err *err);
int ping_atomic_write(struct ping *p, struct rtgt_err *err);
int ping_flush(struct ping *p, struct rtgt_err *err);

int ping_send(struct ping *p, struct rtgt_err *err);
int ping_send_imm(struct ping *p, struct rtgt_err *err);
int ping_send_inv(struct ping *p, struct rtgt_err *err);
int ping_pull(struct ping *p, struct rtgt_err *err);
int ping_push(struct ping *p, struct rtgt_err *err);

void ping_out_head(const struct ping *p, const struct rtgt_facts *facts);
void ping_out_result(struct ping *p, uint64_t iterations);
void ping_out_skip(struct ping *p, const char *missing, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
const char *ping_out_first_skip(const struct ping *p);
void ping_out_data(const struct ping *p, const void *data, uint32_t len);
void ping_out_end(const struct ping *p);
int ping_out_json(struct ping *p, const struct rtgt_facts *facts, const struct rtgt_err *err);

#endif /* RTGT_PING_H */
