// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt reconcile: which numbers count the same thing.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rtgt/qp.h>
#include "tool/config/model.h"
#include "reconcile.h"

__attribute__((format(printf, 4, 5)))
static struct row *compare(struct reconcile *r, uint64_t told, uint64_t wire, const char *fmt, ...)
{
	struct row *row = &r->row[r->rows];
	va_list ap;

	if (r->rows == ROWS_MAX)
		return NULL;
	r->rows++;
	va_start(ap, fmt);
	vsnprintf(row->what, sizeof(row->what), fmt, ap);
	va_end(ap);
	row->a = told;
	row->b = wire;
	row->ok = told == wire;
	r->wrong += !row->ok;
	return row;
}

/* A difference that is explained is none */
static void allow(struct reconcile *r, struct row *row, const char *why)
{
	if (!row || row->ok)
		return;
	row->ok = true;
	r->wrong--;
	snprintf(row->why, sizeof(row->why), "%s", why);
}

static uint64_t number(struct json_object *from, const char *key)
{
	return (uint64_t)json_object_get_int64(model_get(from, key));
}

/* The port that the client went to; 0 where nobody knows */
uint16_t reconcile_port(const struct reconcile *r)
{
	return (uint16_t)strtoul(r->file[PING] ? model_str(r->file[PING], "port") : "0", NULL, 10);
}

/* A difference that has words for it */
static void because(struct row *row, const char *why)
{
	if (row && !row->ok)
		snprintf(row->why, sizeof(row->why), "%s", why);
}

/* What rtgt ping calls its operations, and what they are on the wire */
static struct wire_op on_wire(const struct wire *w, const char *op)
{
	static const struct { const char *name; enum flow_op op; bool imm; } ops[] = {
		{ "write", FLOW_WRITE, false }, { "write-imm", FLOW_WRITE, true },
		{ "read", FLOW_READ, false },
		{ "cas", FLOW_CAS, false }, { "faa", FLOW_FAA, false },
		{ "flush", FLOW_FLUSH, false },
		{ "atomic-write", FLOW_ATOMIC_WRITE, false },
	};

	if (!strcmp(op, "send"))
		return w->echo[0];
	if (!strcmp(op, "send-imm"))
		return w->echo[1];
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (!strcmp(ops[i].name, op))
			return w->op[0][ops[i].op][ops[i].imm];
	return (struct wire_op) {};
}

/* All that the client posted, the pings and what it does to prepare and to verify them */
static void posted(struct reconcile *r)
{
	static const struct { enum ibv_wr_opcode wr; enum flow_op op; bool imm; } ops[] = {
		{ IBV_WR_RDMA_WRITE, FLOW_WRITE, false },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, FLOW_WRITE, true },
		{ IBV_WR_RDMA_READ, FLOW_READ, false }, { IBV_WR_SEND, FLOW_SEND, false },
		{ IBV_WR_SEND_WITH_IMM, FLOW_SEND, true },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, FLOW_CAS, false },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, FLOW_FAA, false },
		{ RTGT_WR_FLUSH, FLOW_FLUSH, false },
		{ RTGT_WR_ATOMIC_WRITE, FLOW_ATOMIC_WRITE, false },
	};
	struct json_object *client = r->file[PING] ? model_get(r->file[PING], "connection") : NULL;
	struct json_object *all = client ? model_list(client, "posted") : NULL;

	for (size_t i = 0; all && i < sizeof(ops) / sizeof(ops[0]); i++) {
		const struct wire_op *wire = &r->wire.op[0][ops[i].op][ops[i].imm];
		const char *name = rtgt_wr_opcode_str(ops[i].wr);
		uint64_t count = 0, bytes = 0;

		for (size_t k = 0; k < json_object_array_length(all); k++) {
			struct json_object *o = json_object_array_get_idx(all, k);

			if (strcmp(model_str(o, "op"), name))
				continue;
			count = number(o, "count");
			bytes = number(o, "bytes");
		}
		if (!count && !wire->count)
			continue;
		compare(r, count, wire->count, "client: posted %s", name);
		compare(r, bytes, wire->bytes, "client: posted %s, bytes", name);
	}
}

/* There are more than were asked for; what is posted tells whether all are there */
static void prepares(struct reconcile *r, struct row *row)
{
	if (row && row->a < row->b && r->file[PING] && model_get(r->file[PING], "connection"))
		allow(r, row, "the rest prepares and verifies; see posted");
}

/* PULL and PUSH: as many of the target's READs or WRITEs as it takes, and these bytes */
static bool moves(const struct wire *w, const char *op, uint64_t *bytes)
{
	if (!strcmp(op, "pull"))
		*bytes = w->op[1][FLOW_READ][0].bytes;
	else if (!strcmp(op, "push"))
		*bytes = w->op[1][FLOW_WRITE][0].bytes;
	else
		return false;
	return true;
}

/* A run that failed does not add up, though all numbers of it may agree */
static void client_errors(struct reconcile *r)
{
	struct json_object *errors = r->file[PING] ? model_list(r->file[PING], "errors") : NULL;
	size_t nr = errors ? json_object_array_length(errors) : 0;

	if (nr)
		because(compare(r, nr, 0, "client: errors"),
			model_str(json_object_array_get_idx(errors, 0), "text"));
}

/* The client's operations: of each all sizes together */
void reconcile_client(struct reconcile *r)
{
	struct json_object *results = r->file[PING] ? model_list(r->file[PING], "results") : NULL;
	size_t n = results ? json_object_array_length(results) : 0;

	for (size_t i = 0; i < n; i++) {
		const char *op = model_str(json_object_array_get_idx(results, i), "op");
		uint64_t count = 0, bytes = 0;
		struct wire_op wire = on_wire(&r->wire, op);
		uint64_t moved;
		bool done = false;

		for (size_t k = 0; k < n; k++) {
			struct json_object *o = json_object_array_get_idx(results, k);

			if (strcmp(model_str(o, "op"), op))
				continue;
			done |= k < i;
			count += number(o, "iterations");
			bytes += number(o, "iterations") * number(o, "size");
		}
		if (done)
			continue;
		if (moves(&r->wire, op, &moved)) {
			compare(r, bytes, moved, "client: %s, bytes", op);
			continue;
		}
		prepares(r, compare(r, count, wire.count, "client: %s, operations", op));
		prepares(r, compare(r, bytes, wire.bytes, "client: %s, bytes", op));
	}
	posted(r);
	client_errors(r);
}

static struct json_object *counters(struct json_object *doc)
{
	struct json_object *ports = doc ? model_get(doc, "ports") : NULL;
	struct json_object *port = ports ? json_object_array_get_idx(ports, 0) : NULL;

	return port ? model_get(port, "counters") : NULL;
}

/* By how much a counter of the target grew; 0 where its files are missing */
static uint64_t counted(const struct reconcile *r, const char *name)
{
	struct json_object *before = counters(r->file[TARGET_BEFORE]), *after =
		counters(r->file[TARGET_AFTER]);

	return before && after ? number(after, name) - number(before, name) : 0;
}

/* The target's counters of its port */
void reconcile_target(struct reconcile *r)
{
	const struct wire *w = &r->wire;
	const struct wire_op *send = w->op[0][FLOW_SEND], *write = w->op[0][FLOW_WRITE];
	const struct { const char *name; uint64_t wire; } all[] = {
		{ "conns_established", w->connections },
		{ "recv_msgs", send[0].count + send[1].count },
		{ "recv_bytes", send[0].bytes + send[1].bytes },
		{ "imms", send[1].count + write[1].count },
		{ "imm_bytes", write[1].bytes },
		{ "replies", w->replies },
	};

	if (w->requests || w->answers)
		compare(r, w->requests, w->answers, "wire: requests, and replies to them");
	if (!counters(r->file[TARGET_BEFORE]) || !counters(r->file[TARGET_AFTER]))
		return;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		compare(r, counted(r, all[i].name), all[i].wire, "target: %s", all[i].name);
}

/* rdma -j statistic: an array of one object */
static uint64_t grew(const struct reconcile *r, unsigned int before, const char *name)
{
	uint64_t n[2];

	for (unsigned int i = 0; i < 2; i++) {
		struct json_object *doc = r->file[before + i];

		if (json_object_is_type(doc, json_type_array))
			doc = json_object_array_get_idx(doc, 0);
		n[i] = doc ? number(doc, name) : 0;
	}
	return n[1] - n[0];
}

static void device(struct reconcile *r, unsigned int end)
{
	const struct wire *w = &r->wire;
	const unsigned int file = end ? SERVER_BEFORE : CLIENT_BEFORE;
	const char *name = end ? "target's device" : "client's device";
	uint64_t retried = grew(r, CLIENT_BEFORE, "completer_retry_err") +
		grew(r, CLIENT_BEFORE, "rcvd_seq_err") +
		w->totals.gaps + w->again[0];
	const uint64_t sent = grew(r, file, "sent_pkts"), sends = grew(r, file, "rdma_sends");
	const uint64_t seen = w->packets[end] - w->copies[end];
	const uint64_t sends_seen = w->op[end][FLOW_SEND][0].count +
		w->op[end][FLOW_SEND][1].count + w->mads[end] - w->mad_copies[end];
	struct row *row;

	if (!r->file[file] || !r->file[file + 1])
		return;
	/*
	 * Behind the client's device packets may be lost before they come to the capture.  What
	 * is lost of a connection is sent again.  What is lost of the connection manager may not
	 * be, but it is a SEND as well, counted when it was sent and not when it was acknowledged.
	 */
	row = compare(r, sent, seen, "%s: sent_pkts", name);
	if (!end && row && sent > seen && (retried || sent - seen == sends - sends_seen))
		allow(r, row, retried ? "lost on the way to the capture, and sent again" :
		      "lost on the way to the capture");
	compare(r, grew(r, file, "rcvd_pkts"), w->packets[!end] - w->corrupt[!end],
		"%s: rcvd_pkts", name);
	/* SENDs are counted when they complete */
	row = compare(r, sends, sends_seen, "%s: rdma_sends", name);
	if (end && sends < sends_seen && sends_seen - sends <= counted(r, "send_flushed"))
		allow(r, row, "replies were flushed when their connection closed");
	if (!end && row && sends > sends_seen && sent > seen &&
	    sends - sends_seen <= sent - seen)
		allow(r, row, "messages of the CM were lost on the way to the capture");
	compare(r, grew(r, file, "duplicate_request"), w->again[!end], "%s: duplicate_request",
		name);
	compare(r, grew(r, file, "send_rnr_err"), w->rnr[!end], "%s: send_rnr_err", name);
}

void reconcile_devices(struct reconcile *r)
{
	device(r, 0);
	device(r, 1);
}
