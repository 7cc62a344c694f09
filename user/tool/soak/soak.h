/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One run of rtgt soak, shared by its files:
 *
 *	soak.c		the command line, the threads
 *	soak_client.c	a connection: its operations, its failures
 *	soak_draw.c	which operation is next
 *	soak_model.c	what the memory must hold
 *	soak_out.c	what is printed
 */
#ifndef RTGT_SOAK_H
#define RTGT_SOAK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rtgt/rtgt.h>
#include "tool/cli/options.h"
#include "tool/measure/progress.h"

#define SOAK_OPS	11
#define SOAK_CONNS	64
#define SOAK_DEPTH	64
#define SOAK_SIZE	(1u << 20)

/* Different failures that are counted separately, and bytes of their texts */
#define SOAK_FAILURES	24
#define SOAK_TEXT	256

/**
 * struct soak_op - an operation
 * @name: on the command line and in results
 * @type: enum rtgt_work_type
 * @access: RTGT_REGION_* that the region must grant
 * @writes: it changes the region
 * @extra: only when it is named
 */
struct soak_op {
	const char *name;
	uint32_t type;
	uint32_t access;
	bool writes, extra;
};

extern const struct soak_op soak_ops[SOAK_OPS];

/**
 * struct soak_model - what a part of the region must hold
 * @len: bytes
 * @now: each of them
 * @other: likewise, where it may also be this: a failed operation may have changed it, or not
 * @fresh: it was changed and has not been compared since
 * @by: number of the operation that changed a word of 8 bytes last
 */
struct soak_model {
	uint64_t len;
	uint8_t *now, *other;
	bool *fresh;
	uint32_t *by;
};

/**
 * struct soak_counts - what has been done
 * @done: operations that succeeded, by kind
 * @verified: bytes that were compared
 * @overwritten: bytes that were changed again before anybody compared them
 * @unread: bytes that were changed and that nobody has compared since
 * @connected: connections that were made
 * @renewed: connections that found the memory new
 */
struct soak_counts {
	uint64_t done[SOAK_OPS];
	uint64_t verified, overwritten, unread;
	uint64_t connected, renewed;
};

/**
 * struct soak_cell - an operation that is under way
 * @busy: there is one
 * @op: which
 * @number: how many of the connection were before it
 * @at: first byte, counted from the connection's part
 * @len: bytes
 * @tx: of the connection's buffer: what goes to the target; of an atomic 8 bytes for the old value
 * @rx: what comes back
 * @written: a WRITE over iWARP has completed: its bytes are to be read back
 * @back: and this has begun
 * @want: of an atomic, the old value
 * @value: and the new one
 */
struct soak_cell {
	bool busy;
	const struct soak_op *op;
	uint32_t number;
	uint64_t at, len, tx, rx;
	bool written, back;
	uint64_t want, value;
};

/**
 * struct soak_client - a connection and its part of the region
 * @s: the run
 * @index: counts from 0
 * @thread: does all of it
 * @runs: it has been started
 * @random: state of the generator
 * @at: first byte of its part
 * @domain, @buffer, @conn: as long as it is connected
 * @payload: bytes of the largest echo
 * @iwarp: a WRITE that has completed need not have arrived
 * @ops: bit per operation that is possible
 * @cell: @s->depth of them
 * @stride: bytes of the buffer for each
 * @number: operations that have begun
 * @model: of its part
 * @counts: of its own
 * @ret: how it ended
 * @err: why, if it failed
 */
struct soak_client {
	struct soak *s;
	unsigned int index;
	pthread_t thread;
	bool runs;
	uint64_t random;
	uint64_t at;
	struct rtgt_domain *domain;
	struct rtgt_buffer *buffer;
	struct rtgt_conn *conn;
	uint32_t payload;
	bool iwarp;
	unsigned int ops;
	struct soak_cell cell[SOAK_DEPTH];
	uint64_t stride;
	uint32_t number;
	struct soak_model model;
	struct soak_counts counts;
	int ret;
	struct rtgt_err err;
};

/**
 * struct soak - a run
 * @to: the target
 * @count: operations of each connection; 0 while @seconds says how long
 * @seconds: or how long
 * @conns, @depth, @least, @size, @region, @seed: options
 * @asked: bit per operation that was named; 0 for the usual ones
 * @reconnect: seconds for which a connection that failed is tried again; 0 for not at all
 * @renews: memory that a new connection finds may be new
 * @json, @pretty, @quiet: options
 * @cancel: readable when the command is to end
 * @end_ns: rtgt_now_ns() of the end, with @seconds
 * @stop: a connection has failed for good, or none is to go on
 * @failed: the first one that has
 * @progress: operations that have ended
 * @lock: protects the two members behind it
 * @failure: what connections failed of, and how often
 * @nr_failures: how many different ones
 * @client: @conns of them
 */
struct soak {
	struct where to;
	uint64_t count;
	unsigned int seconds;
	unsigned int conns, depth, region;
	uint64_t least, size, seed;
	unsigned int asked;
	unsigned int reconnect;
	bool renews;
	bool json, pretty, quiet;
	int cancel;
	uint64_t end_ns;
	atomic_bool stop;
	struct soak_client *failed;
	struct progress progress;
	pthread_mutex_t lock;
	struct soak_failure {
		char text[SOAK_TEXT];
		uint64_t count;
	} failure[SOAK_FAILURES];
	unsigned int nr_failures;
	struct soak_client client[SOAK_CONNS];
};

/* soak_client.c */
void *soak_client_run(void *arg);

/* soak_draw.c */
uint64_t soak_random(struct soak_client *c);
const struct soak_op *soak_draw(struct soak_client *c, struct soak_cell *cell);

/* soak_model.c */
int soak_model_create(struct soak_model *m, uint64_t len);
void soak_model_destroy(struct soak_model *m);
void soak_model_set(struct soak_model *m, uint64_t at, const uint8_t *bytes, uint64_t len,
		    uint32_t number, struct soak_counts *counts);
void soak_model_doubt(struct soak_model *m, uint64_t at, const uint8_t *bytes, uint64_t len);
int soak_model_compare(struct soak_model *m, uint64_t at, const uint8_t *bytes, uint64_t len,
		       struct soak_counts *counts, struct rtgt_err *err);
bool soak_model_renewed(struct soak_model *m, const uint8_t *bytes);
uint64_t soak_model_fresh(const struct soak_model *m);
void soak_model_learn(struct soak_model *m, uint64_t at, const uint8_t *bytes, uint64_t len);

/* soak_out.c */
void soak_failed(struct soak *s, const char *text);
void soak_out_head(const struct soak *s);
int soak_out(struct soak *s, const struct rtgt_err *err);

#endif /* RTGT_SOAK_H */
