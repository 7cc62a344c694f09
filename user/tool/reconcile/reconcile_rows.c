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

/* A difference that has words for it */
static void because(struct row *row, const char *why)
{
	if (row && !row->ok)
		snprintf(row->why, sizeof(row->why), "%s", why);
}

/* A difference that is explained is none */
static void allow(struct reconcile *r, struct row *row, const char *why)
{
	because(row, why);
	if (row && !row->ok)
		r->wrong--;
	if (row)
		row->ok = true;
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

/* What rtgt ping calls its operations, what it posts for them, and what they are on the wire */
static const struct op {
	const char *name;
	enum ibv_wr_opcode wr;
	enum flow_op op;
	unsigned int kind;
} ops[] = {
	{ "write", IBV_WR_RDMA_WRITE, FLOW_WRITE, PLAIN },
	{ "write-imm", IBV_WR_RDMA_WRITE_WITH_IMM, FLOW_WRITE, IMM },
	{ "read", IBV_WR_RDMA_READ, FLOW_READ, PLAIN },
	{ "send", IBV_WR_SEND, FLOW_SEND, PLAIN },
	{ "send-imm", IBV_WR_SEND_WITH_IMM, FLOW_SEND, IMM },
	{ "send-inv", IBV_WR_SEND_WITH_INV, FLOW_SEND, INV },
	{ "cas", IBV_WR_ATOMIC_CMP_AND_SWP, FLOW_CAS, PLAIN },
	{ "faa", IBV_WR_ATOMIC_FETCH_AND_ADD, FLOW_FAA, PLAIN },
	{ "flush", RTGT_WR_FLUSH, FLOW_FLUSH, PLAIN },
	{ "atomic-write", RTGT_WR_ATOMIC_WRITE, FLOW_ATOMIC_WRITE, PLAIN },
};

#define OPS	(sizeof(ops) / sizeof(ops[0]))

/* Of the SENDs, the pings only */
static struct wire_op on_wire(const struct wire *w, const char *name)
{
	for (size_t i = 0; i < OPS; i++)
		if (!strcmp(ops[i].name, name))
			return ops[i].op == FLOW_SEND ? w->echo[ops[i].kind] :
							w->op[0][ops[i].op][ops[i].kind];
	return (struct wire_op) {};
}

/* All that the client posted, the pings and what it does to prepare and to verify them */
static void posted(struct reconcile *r)
{
	struct json_object *client = r->file[PING] ? model_get(r->file[PING], "connection") : NULL;
	struct json_object *all = client ? model_list(client, "posted") : NULL;

	for (size_t i = 0; all && i < OPS; i++) {
		const struct wire_op *wire = &r->wire.op[0][ops[i].op][ops[i].kind];
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

/* The counters of a file: of the target's first port; of a device, as rdma -j statistic has them */
static struct json_object *counters(const struct reconcile *r, unsigned int file)
{
	struct json_object *doc = r->file[file];
	struct json_object *list = json_object_is_type(doc, json_type_array) ? doc :
		model_list(doc, "ports");
	struct json_object *first = list ? json_object_array_get_idx(list, 0) : NULL;

	return file == TARGET_BEFORE || file == TARGET_AFTER ? model_get(first, "counters") : first;
}

/* By how much a counter grew, between the file @before and the one behind it; or false */
static bool grew(const struct reconcile *r, unsigned int before, const char *name, int64_t *by)
{
	struct json_object *was = model_get(counters(r, before), name);
	struct json_object *is = model_get(counters(r, before + 1), name);

	*by = is && was ? json_object_get_int64(is) - json_object_get_int64(was) : 0;
	return is && was;
}

/* One that nobody needs for more than an explanation */
static uint64_t rose(const struct reconcile *r, unsigned int before, const char *name)
{
	int64_t by;

	grew(r, before, name, &by);
	return by > 0 ? (uint64_t)by : 0;
}

/* Compare how a counter grew, where both files have it */
static struct row *told(struct reconcile *r, unsigned int before, const char *whose,
			const char *name, uint64_t wire)
{
	struct row *row;
	int64_t by;

	if (!r->file[before] || !r->file[before + 1])
		return NULL;
	if (!grew(r, before, name, &by)) {
		fprintf(stderr, "rtgt: reconcile: %s has no counter %s: not compared\n", whose,
			name);
		return NULL;
	}
	row = compare(r, by > 0 ? (uint64_t)by : 0, wire, "%s: %s", whose, name);
	if (!row || by >= 0)
		return row;
	r->wrong += row->ok;
	row->ok = false;
	because(row, "it became smaller: was it reset in between?");
	return NULL;
}

/* The target's counters of its port */
void reconcile_target(struct reconcile *r)
{
	const struct wire *w = &r->wire;
	const struct wire_op *send = w->op[0][FLOW_SEND], *write = w->op[0][FLOW_WRITE];
	const struct { const char *name; uint64_t wire; } all[] = {
		{ "conns_established", w->connections },
		{ "recv_msgs", send[PLAIN].count + send[IMM].count + send[INV].count },
		{ "recv_bytes", send[PLAIN].bytes + send[IMM].bytes + send[INV].bytes },
		{ "imms", send[IMM].count + write[IMM].count },
		{ "imm_bytes", write[IMM].bytes },
		{ "replies", w->replies },
	};

	if (w->requests || w->answers)
		compare(r, w->requests, w->answers, "wire: requests, and replies to them");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		told(r, TARGET_BEFORE, "target", all[i].name, all[i].wire);
}

static void device(struct reconcile *r, unsigned int end)
{
	const struct wire *w = &r->wire;
	const unsigned int file = end ? SERVER_BEFORE : CLIENT_BEFORE;
	const char *name = end ? "target's device" : "client's device";
	uint64_t retried = rose(r, CLIENT_BEFORE, "completer_retry_err") +
		rose(r, CLIENT_BEFORE, "rcvd_seq_err") + w->totals.gaps + w->again[0];
	const uint64_t sent = rose(r, file, "sent_pkts"), sends = rose(r, file, "rdma_sends");
	const uint64_t seen = w->packets[end] - w->copies[end];
	const struct wire_op *op = w->op[end][FLOW_SEND];
	const uint64_t sends_seen = op[PLAIN].count + op[IMM].count + op[INV].count +
		w->mads[end] - w->mad_copies[end];
	struct row *row;

	/*
	 * Behind the client's device packets may be lost before they come to the capture.  What
	 * is lost of a connection is sent again.  What is lost of the connection manager may not
	 * be, but it is a SEND as well, counted when it was sent and not when it was acknowledged.
	 */
	row = told(r, file, name, "sent_pkts", seen);
	if (!end && row && sent > seen && (retried || sent - seen == sends - sends_seen))
		allow(r, row, retried ? "lost on the way to the capture, and sent again" :
		      "lost on the way to the capture");
	told(r, file, name, "rcvd_pkts", w->packets[!end] - w->corrupt[!end]);
	/* SENDs are counted when they complete */
	row = told(r, file, name, "rdma_sends", sends_seen);
	if (end && sends < sends_seen &&
	    sends_seen - sends <= rose(r, TARGET_BEFORE, "send_flushed"))
		allow(r, row, "replies were flushed when their connection closed");
	if (!end && sends > sends_seen && sent > seen && sends - sends_seen <= sent - seen)
		allow(r, row, "messages of the CM were lost on the way to the capture");
	told(r, file, name, "duplicate_request", w->again[!end]);
	told(r, file, name, "send_rnr_err", w->rnr[!end]);
}

void reconcile_devices(struct reconcile *r)
{
	device(r, 0);
	device(r, 1);
}
