// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A capture as a whole: traffic over time, conversations, protocols.  One pass, in
 * memory that does not grow with the capture: columns of time are folded by two when they
 * run out, and what does not fit into a table is counted as left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/out/json.h"
#include "libwire/capture.h"
#include "report.h"
#include "tool/cli/cli.h"

#define COLUMNS		400
#define CONVERSATIONS	64
#define NODES		96
#define NODE_NAME	48

/* Of traffic, as the page colours it */
enum class { CM, WRITE, READ, SEND, ATOMIC, ACK, TCP, OTHER, CLASSES };

static const char *const class_names[CLASSES] = {
	"cm", "write", "read", "send", "atomic", "ack", "tcp", "other",
};

struct sum {
	uint64_t packets, bytes;
};

struct conversation {
	char a[48], b[48], what[NODE_NAME];
	struct sum sum[2];	/* from a, from b */
	uint64_t first, last;
};

/* Of the tree of protocols, in the order in which it is printed */
struct node {
	char name[NODE_NAME];
	unsigned int depth;
	struct sum sum;
};

struct wire {
	struct sum all;
	uint64_t last;			/* ns since the first packet */
	uint64_t width;			/* of a column, ns */
	struct sum column[COLUMNS][CLASSES];
	struct conversation conversation[CONVERSATIONS];
	unsigned int nr_conversations;
	struct node node[NODES];
	unsigned int nr_nodes;
	uint64_t left_out;		/* packets of conversations without a place */
};

static void count(struct sum *s, const struct pkt *p)
{
	s->packets++;
	s->bytes += p->len;
}

static enum class classify(const struct pkt *p)
{
	static const enum class ops[32] = {
		[PKT_SEND_FIRST ... PKT_SEND_ONLY_IMM] = SEND,
		[PKT_WRITE_FIRST ... PKT_WRITE_ONLY_IMM] = WRITE,
		[PKT_READ_REQUEST ... PKT_READ_ONLY] = READ,
		[PKT_ACK] = ACK,
		[PKT_ATOMIC_ACK ... PKT_FETCH_ADD] = ATOMIC,
		[PKT_RESYNC] = OTHER,
		[PKT_SEND_LAST_INV ... PKT_SEND_ONLY_INV] = SEND,
		[PKT_SEND_ONLY_INV + 1 ... PKT_FLUSH] = OTHER,
		[PKT_ATOMIC_WRITE] = ATOMIC,
		[PKT_ATOMIC_WRITE + 1 ... 31] = OTHER,
	};

	switch (p->kind) {
	case PKT_ROCE_CM:
		return CM;
	case PKT_ROCE:
		return ops[p->opcode & 0x1f];
	case PKT_TCP_SEGMENT:
	case PKT_IWARP:
		return TCP;
	default:
		return OTHER;
	}
}

/* Twice as wide, half as many */
static void fold(struct wire *w)
{
	for (unsigned int i = 0; i < COLUMNS; i++) {
		for (unsigned int c = 0; c < CLASSES; c++) {
			struct sum s = w->column[i][c];

			w->column[i][c] = (struct sum){ 0 };
			w->column[i / 2][c].packets += s.packets;
			w->column[i / 2][c].bytes += s.bytes;
		}
	}
	w->width *= 2;
}

static const char *roce(const struct pkt *p)
{
	return p->at[PKT_LRH].len ? "InfiniBand" : p->at[PKT_GRH].len ? "RoCE v1" : "RoCE v2";
}

/* The protocols of a packet, outermost first, at most @max */
static unsigned int protocols(const struct pkt *p, const char **names, unsigned int max)
{
	static const enum pkt_header outer[] = {
		PKT_ETH, PKT_VLAN, PKT_SLL, PKT_SLL2, PKT_ARP, PKT_IP4, PKT_IP6, PKT_ICMP, PKT_TCP,
		PKT_UDP, PKT_LRH, PKT_GRH,
	};
	unsigned int n = 0;

	for (unsigned int i = 0; i < sizeof(outer) / sizeof(outer[0]) && n < max - 3; i++)
		if (p->at[outer[i]].len)
			names[n++] = pkt_header_name(outer[i]);
	if (p->at[PKT_BTH].len) {
		names[n++] = roce(p);
		names[n++] = p->kind == PKT_ROCE_CM ? "connection manager" :
						      pkt_opcode_name(p->opcode);
		if (p->kind == PKT_ROCE_CM && pkt_cm_name(p->attr))
			names[n++] = pkt_cm_name(p->attr);
	} else if (p->kind == PKT_IWARP) {
		names[n++] = "iWARP";
	}
	if (!n)
		names[n++] = "unknown";
	return n;
}

/* The child of that name of the node before @at; made if there is room.  Its place, or NODES */
static unsigned int child(struct wire *w, unsigned int at, unsigned int depth, const char *name)
{
	for (; at < w->nr_nodes && w->node[at].depth >= depth; at++)
		if (w->node[at].depth == depth && !strcmp(w->node[at].name, name))
			return at;
	if (w->nr_nodes == NODES)
		return NODES;
	memmove(&w->node[at + 1], &w->node[at], (w->nr_nodes - at) * sizeof(w->node[0]));
	w->nr_nodes++;
	w->node[at] = (struct node){ .depth = depth };
	snprintf(w->node[at].name, NODE_NAME, "%s", name);
	return at;
}

static void add_protocols(struct wire *w, const struct pkt *p)
{
	const char *names[12];
	unsigned int n = protocols(p, names, 12), at = 0;

	for (unsigned int depth = 0; depth < n; depth++) {
		at = child(w, at, depth, names[depth]);
		if (at == NODES)
			return;
		count(&w->node[at++].sum, p);
	}
}

/* A port below the first that systems give away by themselves is the service's */
static void what_of(const struct pkt *p, char *what, size_t size)
{
	unsigned int port = p->sport < p->dport ? p->sport : p->dport;

	if (p->at[PKT_BTH].len)
		snprintf(what, size, "%s", roce(p));
	else if (p->at[PKT_TCP].len)
		snprintf(what, size, "TCP port %u", port);
	else if (p->at[PKT_UDP].len)
		snprintf(what, size, "UDP port %u", port);
	else
		snprintf(what, size, "%s", p->at[PKT_ICMP].len ? "ICMP" : "IP");
}

static void add_conversation(struct wire *w, const struct pkt *p, uint64_t ns)
{
	char src[48], dst[48], what[NODE_NAME];
	struct conversation *c;

	if (!p->ip_version)
		return;
	pkt_src(p, src, sizeof(src));
	pkt_dst(p, dst, sizeof(dst));
	what_of(p, what, sizeof(what));
	for (unsigned int i = 0; i < w->nr_conversations; i++) {
		bool there, back;

		c = &w->conversation[i];
		there = !strcmp(c->a, src) && !strcmp(c->b, dst);
		back = !strcmp(c->a, dst) && !strcmp(c->b, src);
		if ((there || back) && !strcmp(c->what, what)) {
			count(&c->sum[!there], p);
			/* a clock may jump back */
			if (ns > c->last)
				c->last = ns;
			return;
		}
	}
	if (w->nr_conversations == CONVERSATIONS) {
		w->left_out++;
		return;
	}
	c = &w->conversation[w->nr_conversations++];
	memcpy(c->a, src, sizeof(src));
	memcpy(c->b, dst, sizeof(dst));
	memcpy(c->what, what, sizeof(what));
	c->first = ns;
	c->last = ns;
	count(&c->sum[0], p);
}

static void add_packet(struct wire *w, const struct pkt *p)
{
	/* a clock that went back counts as standing still */
	uint64_t ns = p->ns > p->first_ns ? p->ns - p->first_ns : 0;

	while (ns / w->width >= COLUMNS)
		fold(w);
	count(&w->column[ns / w->width][classify(p)], p);
	count(&w->all, p);
	if (ns > w->last)
		w->last = ns;
	add_conversation(w, p, ns);
	add_protocols(w, p);
}

static void add_double(struct json_object *to, const char *key, double value)
{
	json_object_object_add(to, key, json_object_new_double(value));
}

static struct json_object *pair(uint64_t a, uint64_t b)
{
	struct json_object *array = json_object_new_array();

	json_object_array_add(array, json_object_new_int64((int64_t)a));
	json_object_array_add(array, json_object_new_int64((int64_t)b));
	return array;
}

/* [column, class, packets, bytes] of those that are not empty */
static struct json_object *json_columns(const struct wire *w)
{
	struct json_object *all = json_object_new_array();

	for (unsigned int i = 0; i < COLUMNS; i++) {
		for (unsigned int c = 0; c < CLASSES; c++) {
			const struct sum *s = &w->column[i][c];
			struct json_object *row;

			if (!s->packets)
				continue;
			row = pair(i, c);
			json_object_array_add(row, json_object_new_int64((int64_t)s->packets));
			json_object_array_add(row, json_object_new_int64((int64_t)s->bytes));
			json_object_array_add(all, row);
		}
	}
	return all;
}

static struct json_object *json_conversations(const struct wire *w)
{
	struct json_object *all = json_object_new_array();

	for (unsigned int i = 0; i < w->nr_conversations; i++) {
		const struct conversation *c = &w->conversation[i];
		struct json_object *o = json_object_new_object();

		rtgt_json_str(o, "a", c->a);
		rtgt_json_str(o, "b", c->b);
		rtgt_json_str(o, "what", c->what);
		json_object_object_add(o, "packets", pair(c->sum[0].packets, c->sum[1].packets));
		json_object_object_add(o, "bytes", pair(c->sum[0].bytes, c->sum[1].bytes));
		add_double(o, "seconds", (double)(c->last - c->first) / 1e9);
		json_object_array_add(all, o);
	}
	return all;
}

static struct json_object *json_tree(const struct wire *w)
{
	struct json_object *all = json_object_new_array();

	for (unsigned int i = 0; i < w->nr_nodes; i++) {
		const struct node *n = &w->node[i];
		struct json_object *o = json_object_new_object();

		rtgt_json_str(o, "name", n->name);
		rtgt_json_int(o, "depth", n->depth);
		rtgt_json_int(o, "packets", (int64_t)n->sum.packets);
		rtgt_json_int(o, "bytes", (int64_t)n->sum.bytes);
		json_object_array_add(all, o);
	}
	return all;
}

static struct json_object *to_json(const struct wire *w, const char *path, const char *note)
{
	struct json_object *o = json_object_new_object(), *classes = json_object_new_array();
	const char *base = strrchr(path, '/');

	for (unsigned int c = 0; c < CLASSES; c++)
		json_object_array_add(classes, json_object_new_string(class_names[c]));
	rtgt_json_str(o, "file", base ? base + 1 : path);
	rtgt_json_int(o, "packets", (int64_t)w->all.packets);
	rtgt_json_int(o, "bytes", (int64_t)w->all.bytes);
	add_double(o, "seconds", (double)w->last / 1e9);
	add_double(o, "bin", (double)w->width / 1e9);
	json_object_object_add(o, "classes", classes);
	json_object_object_add(o, "io", json_columns(w));
	json_object_object_add(o, "conversations", json_conversations(w));
	rtgt_json_int(o, "conversations_left_out", (int64_t)w->left_out);
	json_object_object_add(o, "tree", json_tree(w));
	if (*note)
		rtgt_json_str(o, "note", note);
	return o;
}

/**
 * report_wire() - figures of a whole capture
 * @path: the capture
 *
 * A damaged capture counts up to the damage, which the result's "note" tells.
 *
 * Return: an object, the caller's, or NULL; then a line was printed.
 */
struct json_object *report_wire(const char *path)
{
	struct wire *w = calloc(1, sizeof(*w));
	struct json_object *o = NULL;
	struct rtgt_err err = { 0 };
	struct capture *from;
	struct pkt p;

	if (!w || capture_open_file(&from, path, &err)) {
		failed("report: %s", w ? err.text : "out of memory");
		free(w);
		return NULL;
	}
	w->width = 1000000;
	while (capture_next(from, &p, &err) > 0)
		add_packet(w, &p);
	o = to_json(w, path, err.text);
	capture_close(from);
	free(w);
	return o;
}
