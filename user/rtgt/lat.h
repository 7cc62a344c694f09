/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rtgt lat: what its files share.  lat.c is the command, lat_out.c what it prints,
 * lat_user.c and lat_kernel.c the two initiators, lat_wait.c how the first one waits.
 */
#ifndef RTGT_LAT_H
#define RTGT_LAT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lib/client.h"
#include "../lib/facts.h"
#include "../lib/json.h"
#include "rtgt.h"

#define LAT_SIZES	32
#define LAT_OPS		6

/* Changes when a field of the JSON changes its meaning or goes */
#define LAT_SCHEMA	"rtgt-lat-1"

enum lat_from {
	LAT_USER,
	LAT_KERNEL,
	LAT_FROMS,
};

/**
 * struct lat_op - an operation that can be timed
 * @name: as on the command line and in the kernel initiator's "op"
 * @opcode: for verbs
 * @answered: timed until the target's answer, otherwise until the completion
 * @access: the region must grant it
 */
struct lat_op {
	const char *name;
	enum ibv_wr_opcode opcode;
	bool answered;
	uint32_t access;
};

/**
 * struct lat - a command line, and what comes of it
 * @tool: options in front of the command
 * @host: where to
 * @service: its port, as text
 * @source: where from; NULL leaves it to the routing table
 * @from: bits 1 << enum lat_from
 * @ops: bits 1 << index in lat_ops; 0 for those the target grants
 * @size: bytes of an operation
 * @nr_sizes: how many sizes
 * @count: operations timed
 * @warmup: operations before them
 * @region: which of the target's
 * @timeout: bound of each step, in seconds
 * @completion: how the kernel initiator takes completions
 * @poll: the user initiator spins
 * @half: what is answered is told as half of the round trip
 * @results: for JSON
 * @rows: printed so far
 * @facts: of the user initiator's connection
 * @client: likewise, open while it is wanted
 * @open: it is
 */
struct lat {
	const struct tool *tool;
	const char *host;
	const char *service;
	const char *source;
	unsigned int from;
	unsigned int ops;
	uint32_t size[LAT_SIZES];
	unsigned int nr_sizes;
	uint64_t count;
	uint64_t warmup;
	uint32_t region;
	unsigned int timeout;
	const char *completion;
	bool poll;
	bool half;
	struct json_object *results;
	unsigned int rows;
	struct rtgt_facts facts;
	struct rtgt_client client;
	bool open;
};

/**
 * struct lat_run - one cell of the matrix
 * @op: operation
 * @from: initiator
 * @size: bytes; 8 of an atomic
 * @ns: how long each took, in rising order when the run is over
 * @nr: how many
 * @elapsed_ns: from the first to the end of the last
 * @verified: bytes of which it was made sure that both ends hold the same
 */
struct lat_run {
	const struct lat_op *op;
	enum lat_from from;
	uint32_t size;
	uint64_t *ns;
	uint64_t nr;
	uint64_t elapsed_ns;
	uint64_t verified;
};

extern const struct lat_op lat_ops[LAT_OPS];
extern sig_atomic_t lat_interrupted;

int lat_user_open(struct lat *l, struct rtgt_err *err);
void lat_user_close(struct lat *l);
int lat_user_run(struct lat *l, struct lat_run *run, struct rtgt_err *err);

int lat_wait_begin(struct rtgt_client *c, struct rtgt_err *err);
int lat_wait(struct rtgt_client *c, uint64_t id, struct ibv_wc *wc, struct rtgt_err *err);
int lat_wait_end(int ret, struct rtgt_err *err);

int lat_kernel_open(struct lat *l, struct rtgt_err *err);
void lat_kernel_close(void);
int lat_kernel_run(struct lat *l, struct lat_run *run, struct rtgt_err *err);

void lat_out_row(struct lat *l, const struct lat_run *run);
void lat_out_skip(struct lat *l, const struct lat_run *run, const char *why);
int lat_out_end(struct lat *l, int argc, char **argv);

#endif /* RTGT_LAT_H */
