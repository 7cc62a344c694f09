/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the commands of probe share.  A command is a file and a line in main.c's
 * table.
 */
#ifndef RTGT_PROBE_H
#define RTGT_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include <rtgt/cm.h>
#include <rtgt/mr.h>
#include <rtgt/pattern.h>
#include <rtgt/qp.h>
#include <rtgt/wire.h>

#define SEND_ID		1
#define RECV_ID		2
#define MAX_LINKS	1024

/* For a status: the library did not take the work request */
#define UNPOSTED	((enum ibv_wc_status)255)

/* The words of the command line; what is a number stands in main.c's table */
struct option {
	const char *host, *port, *source, *op, *file;
	long long offset, len, addr, rkey, rkey_xor, key_of, imm, seed, region;
	long long magic, version, size, plain, extra;
	long long msg_version, msg_op, tag, msg_len, body, cut, count;
	long long threads, timeout, show;
	long long compare, swap, reads, holds, rnr_retry, withhold, revoke;
	long long neighbour, other, wait, bytes, depth;
	long long transport, blind, qkey_xor, sink, ms, arg;
	/* how work requests are made */
	long long sges, inline_data, fence, to, step, rotate;
	/* the client's own memory, for the target to reach */
	long long at, rights, bindable, window, window_at, window_len, window_rights, kill, leave;
	long long elsewhere, odp;
};

struct link {
	struct rtgt_cm cm;
	struct rtgt_qp qp;
	struct rtgt_mr buf, recv;
	struct rtgt_rep_info peer;
	bool answered, watched;
	struct ibv_wc answer;
};

/* What came back for one queue pair, as the wire had it; see tap.c */
struct tap {
	int fd;
	unsigned int acks, rnrs, naks;
	uint8_t rnr_timer, nak;
};

/* See neighbour.c */
struct neighbour {
	struct link link;
	bool open;
	uint32_t crc;
};

int cmd_connect(const struct option *o);
int cmd_access(const struct option *o);
int cmd_send(const struct option *o);
int cmd_unheard(const struct option *o);
int cmd_rping(const struct option *o);
int cmd_sync(const struct option *o);
int cmd_messages(const struct option *o);
int cmd_race(const struct option *o);
int cmd_hold(const struct option *o);
int cmd_traffic(const struct option *o);
int cmd_extents(const struct option *o);
int cmd_bulk(const struct option *o);
int cmd_chain(const struct option *o);
int cmd_move(const struct option *o);
int cmd_invalidate(const struct option *o);
int cmd_contend(const struct option *o);
int cmd_flood(const struct option *o);
int cmd_storm(const struct option *o);
int cmd_overtake(const struct option *o);
int cmd_half(const struct option *o);
int cmd_lost(const struct option *o);

/* main.c */
int parse_option(struct option *o, char *arg);

/* say.c */
int complain(const char *what, const struct rtgt_err *err);
const char *wc_name(int status);
const char *status_name(unsigned int status);
const char *reason_name(unsigned int reason);
void print_rep(const struct link *l);

/* link.c */
int open_link(struct link *l, const struct option *o, struct rtgt_err *err);
void close_link(struct link *l);
void leave_refused(struct link *l, enum ibv_wc_status status);
void await_end(struct link *l);
int next_wc(struct link *l, struct ibv_wc *wc, struct rtgt_err *err);
int wait_for(struct link *l, uint64_t id, struct ibv_wc *wc, struct rtgt_err *err);
int take_reply(struct link *l, struct rtgt_reply *reply, struct rtgt_err *err);
int remake(struct link *l, const struct option *o, struct rtgt_err *err);

/* send.c */
size_t make_msg(const struct link *l, const struct option *o);
void print_reply(const struct rtgt_reply *r, const struct option *o);
int exchange(struct link *l, size_t len, struct ibv_wc *wc, struct rtgt_reply *reply,
	     struct rtgt_err *err);
int ask(struct link *l, enum rtgt_op op, const void *body, uint32_t len, struct rtgt_reply *reply,
	struct rtgt_err *err);
bool echo(struct link *l, uint32_t tag);

/* neighbour.c */
int neighbour_open(struct neighbour *n, const struct option *o, struct rtgt_err *err);
void neighbour_print(struct neighbour *n);
void neighbour_close(struct neighbour *n);

/* tap.c */
int tap_open(struct tap *t);
void tap_close(struct tap *t, uint32_t qpn);
void tap_print(const struct tap *t);

#endif /* RTGT_PROBE_H */
