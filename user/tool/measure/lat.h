/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rtgt lat: what its files share.  lat.c is the command, lat_out.c what it prints,
 * lat_user.c and lat_tcp.c the user initiator over RDMA and over TCP.
 */
#ifndef RTGT_LAT_H
#define RTGT_LAT_H

#include <stdio.h>

#include "measure.h"

/* Changes when a field of the JSON changes its meaning or goes */
#define LAT_SCHEMA	"rtgt-lat-1"

/**
 * struct lat - rtgt lat
 * @m: what it shares with rtgt bw
 * @half: what is answered is told as half of the round trip
 * @samples: where each operation's time is written; NULL for nowhere
 * @gives_way: the thread that measures let the kernel's workers go first
 * @ns: how long each operation took, in rising order when the cell is done
 * @nr: how many
 * @elapsed_ns: from the first to the end of the last
 */
struct lat {
	struct measure m;
	bool half;
	FILE *samples;
	bool gives_way;
	uint64_t *ns;
	uint64_t nr;
	uint64_t elapsed_ns;
};

int lat_user_run(struct lat *l, struct rtgt_err *err);
int lat_tcp_run(struct lat *l, struct rtgt_err *err);

int lat_out_samples(const struct lat *l, struct rtgt_err *err);
void lat_out_row(struct lat *l);
int lat_out_end(struct lat *l);

#endif /* RTGT_LAT_H */
