/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What rtgt lat and rtgt bw share: the options they have in common, the matrix of
 * what is measured, and the frame of the JSON document.  From the lowest to the highest:
 *
 *   progress.c     how far it is
 *   kernel.c       the kernel's initiators, through configfs
 *   measure_out.c  the JSON document and its facts
 *   measure_args.c the options
 *   measure_from.c the device or the entry of a GID table to connect from
 *   measure_rdma.c connections, and what nobody times
 *   measure.c      targets, the matrix
 *   lat, bw, cost  the commands
 */
#ifndef RTGT_MEASURE_H
#define RTGT_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <netinet/in.h>
#include <stdatomic.h>

#include <rtgt/client.h>
#include <rtgt/rtgt.h>
#include "tool/out/facts.h"
#include "tool/out/json.h"
#include "tool/tcp/tcp.h"
#include "tool/cli/options.h"
#include "kernel.h"
#include "progress.h"

enum measure_from {
	FROM_USER,
	FROM_KERNEL,
	NR_FROM,
};

enum measure_over {
	OVER_RDMA,
	OVER_TCP,
	NR_OVER,
};

/**
 * struct measure_op - an operation that can be measured
 * @name: as on the command line and in the kernel initiator's "op"
 * @work: what librtgt calls it
 * @tcp: enum rtgt_tcp_op that does the same; 0 for none
 * @answered: ends with the target's answer, otherwise with the completion
 * @access: the region must grant it
 * @both: WRITEs and READs at once, over as many connections again
 */
struct measure_op {
	const char *name;
	enum rtgt_work_type work;
	uint8_t tcp;
	bool answered;
	uint32_t access;
	bool both;
};

/**
 * struct cell - one cell of the matrix
 * @op: operation
 * @from: initiator
 * @over: transport
 * @size: bytes; 8 of an atomic
 */
struct cell {
	const struct measure_op *op;
	enum measure_from from;
	enum measure_over over;
	uint32_t size;
};

/* Reasons why bytes of a cell, and of all cells, were not compared */
#define NOT_COMPARED_MAX	8

#define OVERWRITTEN	"a later operation overwrote them"
#define NOT_LAST	"only the last echoes are compared"
#define NO_CHECKSUM	"the target does not speak rtgt, so it sends no checksum"
#define NO_READ		"the region does not allow READ, so the target sends no checksum"

/**
 * struct not_compared - bytes that were moved and not compared
 * @bytes: how many
 * @why: a constant string
 */
struct not_compared {
	uint64_t bytes;
	const char *why;
};

/**
 * struct measure - a command line, and what comes of it
 * @tool: options in front of the command
 * @usage: of the command
 * @own: takes an option of the command's own
 * @schema: of its JSON
 * @op: the operations there are
 * @nr_ops: how many
 * @to: the target
 * @tcp_service: the port of the TCP server there, as text
 * @from: bits 1 << enum measure_from
 * @over: bits 1 << enum measure_over
 * @ops: bits 1 << index in @op
 * @sizes: bytes of an operation
 * @count: operations timed
 * @timed: there is a time instead, and @count is the most there can be
 * @warmup: operations before them
 * @region: which of the target's
 * @completion: how the kernel initiator takes completions
 * @poll: the user initiator spins
 * @device: where to connect from; NULL for wherever the way is
 * @gid: entry of its GID table whose address is to be used; negative for none
 * @mtu: what the path MTU has to be; 0 for whatever it is
 * @address: of @device or @gid, as text
 * @seed: of all data
 * @serial: patterns made of it
 * @verified: bytes of the cell that were compared
 * @not_compared: bytes of the cell that were not
 * @all_verified: bytes of all cells that were compared
 * @all_not_compared: bytes of all cells that were not
 * @at: the cell being measured
 * @progress: of it
 * @results: for JSON
 * @rows: printed so far
 * @error: what ended the command; its code is 0 if nothing did
 * @facts: of this machine and the way to the target
 * @cancel: an eventfd: readable when all shall end
 * @stopped: a connection has failed: all others shall end
 * @domain: of the RDMA connections; NULL for none
 * @conn: the first of them; NULL for none
 * @client: what there is to know of it
 * @tcp: the TCP connection, open while @tcp_open
 * @tcp_open: it is
 * @kernel: the kernel's initiators
 */
struct measure {
	const struct tool *tool;
	const struct usage *usage;
	int (*own)(struct measure *m, enum opt opt, const char *text);
	const char *schema;
	const struct measure_op *op;
	unsigned int nr_ops;
	struct where to;
	const char *tcp_service;
	unsigned int from;
	unsigned int over;
	unsigned int ops;
	struct sizes sizes;
	uint64_t count;
	bool timed;
	uint64_t warmup;
	uint32_t region;
	const char *completion;
	bool poll;
	const char *device;
	int gid;
	unsigned int mtu;
	char address[INET6_ADDRSTRLEN];
	uint64_t seed;
	uint64_t serial;
	uint64_t verified;
	struct not_compared not_compared[NOT_COMPARED_MAX];
	uint64_t all_verified;
	struct not_compared all_not_compared[NOT_COMPARED_MAX];
	struct cell at;
	struct progress progress;
	struct json_object *results;
	unsigned int rows;
	struct rtgt_err error;
	struct rtgt_facts facts;
	int cancel;
	atomic_bool stopped;
	struct rtgt_domain *domain;
	struct rtgt_conn *conn;
	const struct rtgt_client *client;
	struct rtgt_tcp tcp;
	bool tcp_open;
	struct kernel kernel;
};

/* measure_args.c */
uint32_t measure_largest(const struct measure *m);
int measure_parse(struct measure *m, struct tool *tool, int argc, char **argv);
const char *measure_completions(const struct measure *m);
const char *measure_from_str(enum measure_from from);
const char *measure_over_str(enum measure_over over);

/* measure_from.c */
int measure_source(struct measure *m);

/* measure_rdma.c */
int measure_domain(struct measure *m, struct rtgt_err *err);
int measure_connect(const struct measure *m, struct rtgt_conn **conn, unsigned int depth,
		    uint32_t payload, struct rtgt_err *err);
void measure_stop(struct measure *m);
int measure_goes_on(const struct measure *m, struct rtgt_err *err);
int measure_wait(const struct measure *m, struct rtgt_conn *conn, struct rtgt_done *done,
		 uint32_t max, bool answered, struct rtgt_err *err);
int measure_do(const struct measure *m, struct rtgt_conn *conn, struct rtgt_work *work,
	       struct rtgt_done *done, struct rtgt_err *err);
int measure_checksum(const struct measure *m, struct rtgt_conn *conn, uint64_t offset,
		     uint32_t len, uint32_t *crc, struct rtgt_err *err);

/* measure.c */
int measure_tcp_open(const struct measure *m, struct rtgt_tcp *tcp, struct rtgt_err *err);
int measure_run(struct measure *m, int (*cell)(struct measure *m, struct rtgt_err *err),
		unsigned int kernels);
const char *measure_extent_str(const struct measure *m);
int measure_can(const struct measure *m, uint64_t room, struct rtgt_err *err);
uint64_t measure_seed(struct measure *m);
void measure_stamp(uint8_t *buf, uint32_t len, int by);
const char *measure_no_checksum(const struct measure *m);
void measure_not_compared(struct measure *m, uint64_t bytes, const char *why);
bool measure_is_atomic(const struct measure_op *op);

/* measure_out.c */
struct json_object *measure_json_row(const struct measure *m);
void measure_out_compared(struct measure *m, struct json_object *row);
void measure_out_end(const struct measure *m);
void measure_out_skip(struct measure *m, const char *why);
int measure_out_json(struct measure *m);
struct json_object *out_document(const struct tool *tool, const char *schema,
				 const struct rtgt_facts *facts, struct json_object *results,
				 struct json_object *error);
int out_print(const struct tool *tool, struct json_object *doc);

#endif /* RTGT_MEASURE_H */
