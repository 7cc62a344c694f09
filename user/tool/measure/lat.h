/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rtgt lat: what its files share.  lat.c is the command, lat_out.c what it prints,
 * lat_user.c and lat_tcp.c the user initiator over RDMA and over TCP, lat_load.c what moves
 * beside it.
 */
#ifndef RTGT_LAT_H
#define RTGT_LAT_H

#include <stdio.h>

#include "measure.h"

/* Changes when a field of the JSON changes its meaning or goes */
#define LAT_SCHEMA	"rtgt-lat-1"

/* Operations that are timed, and connections beside them */
#define LAT_SAMPLES_MAX	(1u << 20)
#define LAT_LOAD_MAX	16

/**
 * struct lat_load - a connection that moves bytes beside what is measured
 * @l: whose
 * @conn: it; NULL for none
 * @buffer: what it moves
 * @at: first byte in the region
 * @size: bytes of a message
 * @bytes: moved so far
 * @stop: it shall end
 * @thread: moves them, if @runs
 * @runs: it was started
 * @ret: how it ended
 * @err: why
 */
struct lat_load {
	struct lat *l;
	struct rtgt_conn *conn;
	struct rtgt_buffer *buffer;
	uint64_t at;
	uint32_t size;
	uint64_t bytes;
	atomic_bool stop;
	pthread_t thread;
	bool runs;
	int ret;
	struct rtgt_err err;
};

/**
 * struct lat - rtgt lat
 * @m: what it shares with rtgt bw
 * @half: what is answered is told as half of the round trip
 * @list: the times are printed one by one
 * @seconds: so long instead of so many; 0 for so many
 * @load: connections beside that move bytes
 * @beside: them
 * @load_bytes: what they moved in the cell
 * @begin_ns: when the time began
 * @samples: where each operation's time is written, @samples_file; NULL for nowhere
 * @gives_way: the thread that measures let the kernel's workers go first
 * @ns: how long each operation took, in rising order when the cell is done
 * @nr: how many
 * @elapsed_ns: from the first to the end of the last
 */
struct lat {
	struct measure m;
	bool half;
	bool list;
	unsigned int seconds;
	unsigned int load;
	struct lat_load beside[LAT_LOAD_MAX];
	uint64_t load_bytes;
	uint64_t begin_ns;
	const char *samples_file;
	FILE *samples;
	bool gives_way;
	uint64_t *ns;
	uint64_t nr;
	uint64_t elapsed_ns;
};

bool lat_is_last(const struct lat *l, uint64_t i);
int lat_load_begin(struct lat *l, struct rtgt_err *err);
int lat_load_end(struct lat *l, int ret, struct rtgt_err *err);
int lat_user_run(struct lat *l, struct rtgt_err *err);
int lat_tcp_run(struct lat *l, struct rtgt_err *err);

int lat_out_samples(const struct lat *l, struct rtgt_err *err);
void lat_out_row(struct lat *l);
int lat_out_end(struct lat *l);

#endif /* RTGT_LAT_H */
