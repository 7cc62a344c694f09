// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt reconcile: compare the counts of client, target, devices and capture
 *
 * A directory holds what each of them said of one run, under fixed names.  Numbers that
 * count the same thing are put side by side; a difference is a failure.  What nobody
 * recorded is left out, and said.
 *
 * The capture is one of the target's end of the wire: what is lost on the way to it was
 * sent by the client and is not in it.  So the client's device may have sent more, but only
 * where it had to send again, or where what is missing are messages of the connection manager.
 * The target's device may have counted fewer SENDs, by the replies that the target knows to have
 * been flushed.  No other difference of the devices is allowed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libwire/capture.h"
#include "libwire/flow.h"
#include "libwire/iwarp.h"
#include "tool/cli/options.h"
#include "tool/out/json.h"
#include "tool/config/model.h"
#include "reconcile.h"

static const struct usage_option options[] = {
	{ OPT_JSON, NULL },
	{ OPT_PRETTY, NULL },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "reconcile",
	.synopsis = "[-j] [-p] reconcile [OPTIONS] DIR",
	.about =
"Compare what a client, its target, their devices and the wire say of one run of rtgt\n"
"ping.  DIR has these files:\n"
"\n"
"  wire.pcap             a capture at the target's end of the wire, from before the run\n"
"  ping.json             rtgt -j ping ...\n"
"  target-before.json, target-after.json    rtgt -j show PORT\n"
"  client-rdma-before.json, client-rdma-after.json, server-rdma-before.json,\n"
"  server-rdma-after.json    rdma -j statistic show link DEVICE/1\n"
"\n"
"The capture must be there; a number whose file is missing is not compared.\n",
	.options = options,
	.notes =
"Exit status: 0 all agree, 1 a difference, 2 a file cannot be read.\n"
"See rtgt-reconcile(1).\n",
};

/* Does the target reply to a message of the client? */
static bool is_request(const struct flow_msg *m)
{
	if (m->op == FLOW_SEND)
		return m->rtgt_op && !(m->rtgt_op & RTGT_MSG_REPLY);
	return m->has_imm && rtgt_imm_op(m->imm) == RTGT_IMM_ACK;
}

static void on_message(void *arg, const struct flow_conn *c, const struct flow_msg *m)
{
	struct wire *w = arg;
	const unsigned int kind = m->has_imm ? IMM : m->has_inv ? INV : PLAIN;
	struct wire_op *op = &w->op[m->from][m->op][kind];

	if (w->port && (c->service_id & 0xffff) != w->port)
		return;
	/* A client that has its reply may go before its acknowledge has arrived */
	if (m->from && m->op == FLOW_SEND && m->whole && m->status != FLOW_NAK) {
		w->replies++;
		w->answers += c->rtgt && c->hello;
	}
	if (m->status != FLOW_OK && m->status != FLOW_SENT)
		return;
	op->count++;
	op->bytes += m->bytes;
	w->requests += !m->from && c->rtgt && c->hello && is_request(m);
	/* what the client asks beside its pings, to verify, is no ping */
	if (m->op == FLOW_SEND && !m->from && m->rtgt_op == RTGT_MSG_ECHO) {
		w->echo[kind].count++;
		w->echo[kind].bytes += m->bytes - sizeof(struct rtgt_msg);
	}
}

static void on_connection(void *arg, const struct flow_conn *c)
{
	struct wire *w = arg;

	for (int i = 0; i < 2; i++) {
		w->rnr[i] += c->half[i].rnr;
		w->again[i] += c->half[i].stale;
	}
	if (c->rep && (!w->port || (c->service_id & 0xffff) == w->port))
		w->connections++;
}

/* A packet counts at the end that sent it; the client is who sends the first REQ */
static void count(struct wire *w, const struct pkt *p, const struct flow_seen *seen)
{
	int from;

	if (p->kind != PKT_ROCE && p->kind != PKT_ROCE_CM)
		return;
	if (!w->has_client && p->kind == PKT_ROCE_CM && p->attr == PKT_CM_REQ) {
		memcpy(w->client, p->src, sizeof(w->client));
		w->has_client = true;
	}
	from = !w->has_client || memcmp(p->src, w->client, sizeof(w->client));
	w->packets[from]++;
	w->mads[from] += p->kind == PKT_ROCE_CM && seen->class != FLOW_CORRUPT;
	w->mad_copies[from] += p->kind == PKT_ROCE_CM && seen->class == FLOW_DUPLICATE;
	w->copies[from] += seen->class == FLOW_DUPLICATE;
	w->corrupt[from] += seen->class == FLOW_CORRUPT;
}

static void read_packet(struct wire *w, struct flow *f, const struct pkt *p)
{
	struct flow_seen seen;

	flow_packet(f, p, &seen);
	count(w, p, &seen);
}

static int read_packets(struct wire *w, struct capture *c, struct flow *f, struct iwarp *iwarp,
			struct rtgt_err *err)
{
	const struct pkt *inner;
	unsigned int nr;
	struct pkt p;
	int ret;

	while ((ret = capture_next(c, &p, err)) == 1) {
		nr = 0;
		inner = p.kind == PKT_TCP_SEGMENT ? iwarp_feed(iwarp, &p, &nr) : NULL;
		read_packet(w, f, &p);
		for (unsigned int i = 0; i < nr; i++)
			read_packet(w, f, &inner[i]);
	}
	flow_end(f);
	w->totals = *flow_totals(f);
	return ret;
}

static int read_wire(struct wire *w, const char *path)
{
	static const struct flow_ops ops = { .message = on_message, .connection = on_connection };
	struct rtgt_err err = {};
	struct capture *c;
	struct iwarp *iwarp;
	struct flow *f;
	int ret;

	if (capture_open_file(&c, path, &err)) {
		failed("reconcile: %s", err.text);
		return EXIT_USAGE;
	}
	f = flow_new(&ops, w, 0, 0);
	iwarp = iwarp_new();
	if (f && iwarp)
		ret = read_packets(w, c, f, iwarp, &err);
	else
		ret = rtgt_fail(&err, ENOMEM, "no memory");
	iwarp_free(iwarp);
	flow_free(f);
	capture_close(c);
	if (ret) {
		failed("reconcile: %s", err.text);
		return EXIT_USAGE;
	}
	return EXIT_OK;
}

/* One of the files; NULL if there is none, and @broken if it cannot be read */
static struct json_object *read_json(const char *dir, const char *name, const char *list,
				     bool *broken)
{
	struct json_object *doc;
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	doc = json_object_from_file(path);
	if (doc && list && !model_list(doc, list)) {
		failed("reconcile: %s has another shape than what rtgt prints: no list \"%s\"",
		       path, list);
		*broken = true;
		json_object_put(doc);
		return NULL;
	}
	if (doc)
		return doc;
	f = fopen(path, "r");
	if (!f && errno == ENOENT) {
		fprintf(stderr, "rtgt: reconcile: no %s: not compared\n", path);
		return NULL;
	}
	*broken = true;
	if (f)
		failed("reconcile: %s is no JSON", path);
	else
		failed("reconcile: %s: %s", path, strerror(errno));
	if (f)
		fclose(f);
	return NULL;
}

static void read_all(struct reconcile *r, const char *dir, bool *broken)
{
	static const char *const names[] = {
		[TARGET_BEFORE] = "target-before.json", [TARGET_AFTER] = "target-after.json",
		[CLIENT_BEFORE] = "client-rdma-before.json", [CLIENT_AFTER] =
			"client-rdma-after.json",
		[SERVER_BEFORE] = "server-rdma-before.json", [SERVER_AFTER] =
			"server-rdma-after.json",
		[PING] = "ping.json",
	};

	for (unsigned int i = 0; i < FILES; i++)
		r->file[i] = read_json(dir, names[i], i == PING ? "results" : NULL, broken);
}

static void print_row(const struct row *row)
{
	const char *mark = !row->ok ? "NOT" : row->why[0] ? "part" : "ok";

	printf("%-4s %-52s %12" PRIu64 " %12" PRIu64 "%s%s\n", mark, row->what, row->a, row->b,
	       row->why[0] ? "  " : "", row->why);
}

static void print_json(const struct reconcile *r)
{
	struct json_object *doc = rtgt_json_document("rtgt-reconcile-1");
	struct json_object *rows = json_object_new_array();

	rtgt_json_bool(doc, "ok", !r->wrong);
	for (unsigned int i = 0; i < r->rows; i++) {
		struct json_object *o = json_object_new_object();

		rtgt_json_str(o, "what", r->row[i].what);
		rtgt_json_int(o, "told", (int64_t)r->row[i].a);
		rtgt_json_int(o, "wire", (int64_t)r->row[i].b);
		rtgt_json_bool(o, "ok", r->row[i].ok);
		if (r->row[i].why[0])
			rtgt_json_str(o, "why", r->row[i].why);
		json_object_array_add(rows, o);
	}
	json_object_object_add(doc, "rows", rows);
	rtgt_json_print(doc, r->tool->pretty, stdout);
	json_object_put(doc);
}

static int report(const struct reconcile *r)
{
	if (!r->rows)
		return failed("reconcile: there is nothing to compare the capture with"),
			EXIT_USAGE;
	if (r->tool->json) {
		print_json(r);
	} else {
		printf("     %-52s %12s %12s\n", "", "reported", "on the wire");
		for (unsigned int i = 0; i < r->rows; i++)
			print_row(&r->row[i]);
		if (r->wrong)
			printf("%u of %u numbers do not agree\n", r->wrong, r->rows);
		else
			printf("%u numbers agree\n", r->rows);
	}
	if (fflush(stdout) || ferror(stdout))
		return failed("reconcile: standard output does not take it"), EXIT_USAGE;
	return r->wrong ? EXIT_FAILED : EXIT_OK;
}

static int reconcile(struct reconcile *r, const char *dir)
{
	char path[4096];
	bool broken = false;
	int rc;

	snprintf(path, sizeof(path), "%s/wire.pcap", dir);
	read_all(r, dir, &broken);
	if (broken)
		return EXIT_USAGE;
	r->wire.port = reconcile_port(r);
	rc = read_wire(&r->wire, path);
	if (rc)
		return rc;
	reconcile_client(r);
	reconcile_target(r);
	reconcile_devices(r);
	return report(r);
}

int cmd_reconcile(struct tool *tool, int argc, char **argv)
{
	struct words words = { argc, argv };
	struct reconcile *r;
	int rc;

	rc = options_parse(&usage, tool, &words, NULL, NULL);
	if (rc)
		return rc == OPTIONS_HELP ? EXIT_OK : rc;
	if (words.argc != 1)
		return misused("reconcile: give one DIR (rtgt reconcile --help)");
	r = calloc(1, sizeof(*r));
	if (!r)
		return failed("no memory");
	r->tool = tool;
	rc = reconcile(r, words.argv[0]);
	for (unsigned int i = 0; i < FILES; i++)
		json_object_put(r->file[i]);
	free(r);
	return rc;
}
