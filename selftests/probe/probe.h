/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the commands of probe share.  A command is a struct command in a file of its own, named
 * here and in main.c's list.
 */
#ifndef RTGT_PROBE_H
#define RTGT_PROBE_H

#include <stdbool.h>
#include <stddef.h>
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

/* The values of all options; each command says which it takes */
struct option {
	const char *host, *port, *source, *op, *file, *lie;
	long long offset, len, addr, rkey, rkey_xor, key_of, imm, seed, region;
	long long magic, version, size, plain, extra;
	long long msg_version, msg_op, tag, msg_len, body, cut, count;
	long long threads, timeout, show, writes;
	long long compare, swap, reads, holds, rnr_retry, withhold, revoke;
	long long neighbour, other, wait, bytes, depth;
	long long transport, blind, qkey_xor, sink, inv, ms, arg;
	/* how work requests are made */
	long long sges, inline_data, fence, to, step, rotate;
	/* the client's own memory, for the target to reach */
	long long at, rights, bindable, window, window_at, window_len, window_rights, kill, leave;
	long long elsewhere, odp, after, handler, expect;
	long long qpn, psn;
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
	bool iwarp;
	const char *term;
	unsigned int acks, rnrs, naks;
	uint8_t rnr_timer, nak;
};

/* See neighbour.c */
struct neighbour {
	struct link link;
	bool open;
	uint32_t crc;
};

/* What a command takes as KEY=VALUE */
struct arg {
	const char *name;
	size_t at;			/* in struct option */
	bool text;
	const char *help;
};

#define NUMBER(field, text)	{ #field, offsetof(struct option, field), false, text }
#define TEXT(field, text)	{ #field, offsetof(struct option, field), true, text }

/* A command; the options of @args, each ended by one without a name, in the order of the help */
struct command {
	const char *name, *help;
	int (*run)(const struct option *o);
	const struct arg *args[5];
};

/* Those of many commands: link.c, access.c, send.c */
extern const struct arg link_args[], wr_args[], message_args[];

extern const struct command connect_command;
extern const struct command access_command;
extern const struct command send_command;
extern const struct command unheard_command;
extern const struct command rping_command;
extern const struct command sync_command;
extern const struct command messages_command;
extern const struct command chain_command;
extern const struct command move_command;
extern const struct command invalidate_command;
extern const struct command contend_command;
extern const struct command traffic_command;
extern const struct command late_command;
extern const struct command closed_command;
extern const struct command revoked_command;
extern const struct command race_command;
extern const struct command hold_command;
extern const struct command end_command;
extern const struct command extents_command;
extern const struct command bulk_command;
extern const struct command flood_command;
extern const struct command storm_command;
extern const struct command overtake_command;
extern const struct command half_command;
extern const struct command guess_command;
extern const struct command lost_command;
extern const struct command replies_command;
extern const struct command lie_command;

/* main.c */
int parse_option(const struct command *c, struct option *o, char *arg);

/* say.c */
int complain(const char *what, const struct rtgt_err *err);
const char *wc_name(int status);
const char *status_name(unsigned int status);
const char *reason_name(unsigned int reason);
void print_rep(const struct link *l);

/* link.c */
bool over_iwarp(const struct link *l);
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
bool survived(struct link *l, const struct option *o, enum ibv_wc_status status);

/* neighbour.c */
int neighbour_open(struct neighbour *n, const struct option *o, struct rtgt_err *err);
void neighbour_print(struct neighbour *n);
void neighbour_close(struct neighbour *n);

/* tap.c */
int tap_open(struct tap *t, const struct link *l);
void tap_acknowledges(struct tap *t, uint32_t qpn);
void tap_print(const struct tap *t);
void tap_close(struct tap *t, bool ended);

#endif /* RTGT_PROBE_H */
