/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rtgt reconcile: numbers that count the same thing, side by side.  See reconcile.c.
 */
#ifndef RTGT_RECONCILE_H
#define RTGT_RECONCILE_H

#include <json-c/json.h>

#include <rtgt/uapi.h>
#include "libwire/flow.h"
#include "tool/cli/cli.h"

#define ROWS_MAX	64

enum {
	TARGET_BEFORE, TARGET_AFTER, CLIENT_BEFORE, CLIENT_AFTER, SERVER_BEFORE, SERVER_AFTER,
	PING, FILES
};

struct wire_op {
	uint64_t count, bytes;
};

/* What a SEND or a WRITE has besides its bytes */
enum { PLAIN, IMM, INV, KINDS };

/**
 * struct wire - what the capture came to; [0] is the client's, [1] the server's
 * @port: only messages to this port of the target; 0: all
 * @op: messages that were answered, indexed by sender, operation and kind
 * @echo: of the client's SENDs the pings
 * @replies: the server's SENDs that were all sent, answered or not
 * @requests: of the client, those that a target that speaks rtgt replies to; @answers: its replies
 * @packets: RoCE, the CM's (@mads) among them
 * @mad_copies: those of them the network copied
 * @copies: packets the network made a copy of
 * @again: requests that came twice, from their sender or from the network
 */
struct wire {
	uint16_t port;
	bool has_client;
	uint8_t client[16];
	struct wire_op op[2][FLOW_OPS][KINDS], echo[KINDS];
	uint64_t packets[2], mads[2], mad_copies[2], copies[2], corrupt[2], rnr[2], again[2],
		connections;
	uint64_t replies, requests, answers;
	struct flow_totals totals;
};

/**
 * struct row - two numbers that ought to be one
 * @a: what was told
 * @b: what was on the wire
 * @why: why they may differ, or what the difference is, if they do
 */
struct row {
	char what[80], why[256];
	uint64_t a, b;
	bool ok;
};

struct reconcile {
	const struct tool *tool;
	struct wire wire;
	struct json_object *file[FILES];
	struct row row[ROWS_MAX];
	unsigned int rows, wrong;
};

/* reconcile_rows.c */
uint16_t reconcile_port(const struct reconcile *r);
void reconcile_client(struct reconcile *r);
void reconcile_target(struct reconcile *r);
void reconcile_devices(struct reconcile *r);

#endif /* RTGT_RECONCILE_H */
