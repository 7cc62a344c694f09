/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What rtgt lat and rtgt bw share: the options they have in common, the matrix of
 * what is measured, and the frame of the JSON document.  From the lowest to the highest:
 *
 *   progress.c     how far it is
 *   watch.c        waiting with as few system calls as can be
 *   kernel.c       the kernel's initiators, through configfs
 *   measure_out.c  the JSON document and its facts
 *   measure.c      options, targets, the matrix
 *   lat, bw, cost  the commands
 */
#ifndef RTGT_MEASURE_H
#define RTGT_MEASURE_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rtgt/client.h>
#include "tool/out/facts.h"
#include "tool/out/json.h"
#include "tool/tcp/tcp.h"
#include "tool/cli/cli.h"
#include "kernel.h"
#include "progress.h"

#define MEASURE_SIZES	32

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
 * @opcode: for verbs
 * @tcp: enum rtgt_tcp_op that does the same; 0 for none
 * @answered: ends with the target's answer, otherwise with the completion
 * @access: the region must grant it
 * @both: WRITEs and READs at once, over as many connections again
 */
struct measure_op {
	const char *name;
	enum ibv_wr_opcode opcode;
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

/**
 * struct measure - a command line, and what comes of it
 * @tool: options in front of the command
 * @command: its name
 * @schema: of its JSON
 * @op: the operations there are
 * @nr_ops: how many
 * @host: where to
 * @service: the RDMA target's port, as text
 * @tcp_service: the TCP server's
 * @source: where from; NULL leaves it to the routing table
 * @from: bits 1 << enum measure_from
 * @over: bits 1 << enum measure_over
 * @ops: bits 1 << index in @op
 * @size: bytes of an operation
 * @nr_sizes: how many sizes
 * @count: operations timed
 * @warmup: operations before them
 * @region: which of the target's
 * @timeout: bound of each step, in seconds
 * @completion: how the kernel initiator takes completions
 * @poll: the user initiator spins
 * @at: the cell being measured
 * @progress: of it
 * @results: for JSON
 * @rows: printed so far
 * @facts: of this machine and the way to the target
 * @client: the RDMA connection, open while @open
 * @tcp: the TCP connection, open while @tcp_open
 * @open: @client is
 * @tcp_open: @tcp is
 * @kernel: the kernel's initiators
 */
struct measure {
	const struct tool *tool;
	const char *command;
	const char *schema;
	const struct measure_op *op;
	unsigned int nr_ops;
	const char *host;
	const char *service;
	const char *tcp_service;
	const char *source;
	unsigned int from;
	unsigned int over;
	unsigned int ops;
	uint32_t size[MEASURE_SIZES];
	unsigned int nr_sizes;
	uint64_t count;
	uint64_t warmup;
	uint32_t region;
	unsigned int timeout;
	const char *completion;
	bool poll;
	struct cell at;
	struct progress progress;
	struct json_object *results;
	unsigned int rows;
	struct rtgt_facts facts;
	struct rtgt_client client;
	struct rtgt_tcp tcp;
	bool open;
	bool tcp_open;
	struct kernel kernel;
};

/* A command's own options have numbers from here on, or letters */
#define OPT_OWN		512

#define MEASURE_HELP_WHERE								\
"  -a, --address HOST   where to; the same as HOST\n"					\
"  -p, --port PORT      the RDMA target's port, " STRING(RTGT_PORT) " by default\n"	\
"      --tcp-port PORT  that of rtgt tcp-serve, " STRING(RTGT_TCP_PORT) " by default\n"	\
"  -I, --source ADDR    connect from this address\n"					\
"      --from LIST      user (the default), kernel, or both: user,kernel.  The kernel's\n" \
"                       needs root and the module loaded here\n"			\
"      --over LIST      rdma (the default), tcp, or both: rdma,tcp\n"

#define MEASURE_HELP_HOW								\
"  -r, --region N       which of the port's regions, 0 by default\n"			\
"  -e, --events         user: sleep until something comes (default)\n"			\
"      --poll           user: spin instead\n"						\
"      --completion C   kernel: softirq (default), workqueue or direct, which polls\n"	\
"      --timeout S      bound of each step, 10 seconds by default\n"			\
"      --progress       tell on stderr how far it is, also where that is no terminal\n"	\
"  -h, --help           this text\n"

/* measure.c */
int measure_parse(struct measure *m, int argc, char **argv, const char *letters,
		  const struct option *own_options, const char *help,
		  int (*own)(struct measure *m, int opt, const char *text));
int measure_words(const struct measure *m, const char *text, const char *const *names,
		  unsigned int *bits);
int measure_open(struct measure *m, const struct rtgt_client_param *param, struct rtgt_err *err);
int measure_tcp_open(const struct measure *m, struct rtgt_tcp *tcp, struct rtgt_err *err);
int measure_matrix(struct measure *m, int (*cell)(struct measure *m, struct rtgt_err *err),
		   struct rtgt_err *err);
int measure_run(struct measure *m, const struct rtgt_client_param *param,
		int (*cell)(struct measure *m, struct rtgt_err *err), unsigned int kernels);
int measure_can(const struct measure *m, const struct rtgt_client *c, uint64_t room,
		struct rtgt_err *err);
bool measure_cannot_be(int ret);
struct rtgt_cm_param measure_cm_param(const struct measure *m);
const char *measure_from_str(enum measure_from from);
const char *measure_over_str(enum measure_over over);
const char *measure_completions(const struct measure *m);
bool measure_is_atomic(const struct measure_op *op);

/* measure_out.c */
struct json_object *measure_json_row(const struct measure *m);
void measure_out_skip(struct measure *m, const char *why);
int measure_out_json(struct measure *m);
int out_document(const struct tool *tool, const char *schema, const struct rtgt_facts *facts,
		 struct json_object *results);

#endif /* RTGT_MEASURE_H */
