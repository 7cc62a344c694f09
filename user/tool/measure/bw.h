/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rtgt bw: what its files share.  bw.c is the command and the rounds, bw_rdma.c and
 * bw_tcp.c a stream of messages over either, bw_stream.c what the two share, bw_kernel.c the
 * kernel's initiators, bw_out.c what is printed.
 */
#ifndef RTGT_BW_H
#define RTGT_BW_H

#include <assert.h>

#include "measure.h"

/* Changes when a field of the JSON changes its meaning or goes */
#define BW_SCHEMA	"rtgt-bw-1"

/* What the kernel's initiator takes */
#define BW_SEGMENT_MAX	(16u << 20)

/* Outstanding messages of a connection */
#define BW_DEPTH_MAX	128

#define BW_QPS_MAX	16
static_assert(2 * BW_QPS_MAX <= KERNEL_MAX, "write+read has two connections for each of -q");

/**
 * struct bw - rtgt bw
 * @m: what it shares with rtgt lat
 * @depth: messages under way on a connection
 * @signal: one in so many asks for a completion
 * @segment: the kernel's WRITEs and READs are cut into requests of so many bytes, each
 *	     when the one before has ended; 0 for one request
 * @qps: connections, or of what goes both ways pairs of them
 * @seconds: so long instead of so many; 0 for so many
 * @verify_all: every byte of every message is compared
 * @gbits: the text has Gbit/s
 * @messages: of the cell, all connections
 * @elapsed_ns: for them
 */
struct bw {
	struct measure m;
	unsigned int depth;
	unsigned int signal;
	uint64_t segment;
	unsigned int qps;
	unsigned int seconds;
	bool verify_all;
	bool gbits;
	uint64_t messages;
	uint64_t elapsed_ns;
};

/* The operations there are: indices in measure.op */
enum {
	OP_WRITE,
	OP_READ,
	OP_SEND,
	OP_WRITE_IMM,
	OP_BOTH,
	NR_OPS,
};

struct bw_stream;

/**
 * struct bw_transport - how a stream moves its messages
 * @open: connects and makes what a message needs
 * @close: undoes it, however far @open came
 * @refresh: new bytes, or where bytes come to: others than will come
 * @transfer: moves messages 0 to bw_stream.total - 1
 * @check: do both ends hold the same?  Adds to bw_stream.verified
 */
struct bw_transport {
	int (*open)(struct bw_stream *s, struct rtgt_err *err);
	void (*close)(struct bw_stream *s);
	void (*refresh)(struct bw_stream *s);
	int (*transfer)(struct bw_stream *s, struct rtgt_err *err);
	int (*check)(struct bw_stream *s, struct rtgt_err *err);
};

/**
 * struct bw_stream - messages of one kind over one connection
 * @b: whose
 * @by: its transport
 * @op: what it does, in one direction
 * @base: first byte of its own part of the region
 * @slots: messages that have a place there, beside each other; message i has place
 *	   i % @slots, at either end
 * @conn: its connection over RDMA; NULL for none
 * @buffer: the local bytes; of an echo behind all messages there is room for as many that come
 * @busy: over RDMA, places of echoes that are to come
 * @tcp: its connection over TCP
 * @open: it has one
 * @out: over TCP, bytes that are sent
 * @in: bytes that come
 * @messages: to move in this round, behind the warm-up
 * @total: of these, or of the warm-up; UINT64_MAX until the time is up
 * @posted: messages that have been handed over
 * @done: messages that have ended
 * @begin: when the first was posted
 * @end: when the last message ended
 * @verified: bytes compared so far
 * @unseen: bytes moved and not compared so far
 * @why: the reason for that
 * @thread: moves the messages of a round
 * @ret: how it ended
 * @err: why
 */
struct bw_stream {
	struct bw *b;
	const struct bw_transport *by;
	const struct measure_op *op;
	uint64_t base;
	unsigned int slots;
	struct rtgt_conn *conn;
	struct rtgt_buffer *buffer;
	bool busy[BW_DEPTH_MAX];
	struct rtgt_tcp tcp;
	bool open;
	uint8_t *out;
	uint8_t *in;
	uint64_t messages;
	uint64_t total;
	uint64_t posted;
	uint64_t done;
	uint64_t begin;
	uint64_t end;
	uint64_t verified;
	uint64_t unseen;
	const char *why;
	pthread_t thread;
	int ret;
	struct rtgt_err err;
};

extern const struct bw_transport bw_rdma;
extern const struct bw_transport bw_tcp;

/* bw_stream.c */
bool bw_may_post(const struct bw_stream *s);
bool bw_signaled(const struct bw_stream *s);
void bw_done(struct bw_stream *s, uint64_t done);
uint64_t bw_touched(const struct bw_stream *s);
int bw_compare(struct bw_stream *s, const uint8_t *mine,
	       int (*checksum)(struct bw_stream *s, uint64_t offset, uint32_t len, uint32_t *crc,
			       struct rtgt_err *err),
	       struct rtgt_err *err);
const struct measure_op *bw_stream_op(const struct bw *b, unsigned int i);
int bw_share(const struct bw *b, uint64_t size, uint64_t *share, struct rtgt_err *err);
unsigned int bw_connections(const struct bw *b);

int bw_kernel_run(struct bw *b, struct rtgt_err *err);

void bw_out_row(struct bw *b);
int bw_out_end(struct bw *b);

#endif /* RTGT_BW_H */
