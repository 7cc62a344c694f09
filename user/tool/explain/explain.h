/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rtgt explain: packets of a capture, explained.  See explain.c.
 */
#ifndef RTGT_EXPLAIN_H
#define RTGT_EXPLAIN_H

#include "libwire/capture.h"
#include "libwire/fields.h"
#include "libwire/flow.h"
#include "libwire/iwarp.h"
#include "tool/cli/cli.h"

struct json_object;

#define EXPLAIN_FIELDS_MAX	512
#define EXPLAIN_PROFILES_MAX	8

/**
 * struct column - a field asked for with -e
 * @place: where in pkt_layouts it is; several headers may have it
 * @nr: how many
 */
struct column {
	struct {
		const struct pkt_layout *layout;
		const struct pkt_field *field;
	} place[8];
	unsigned int nr;
};

/**
 * struct explain_select - which packets
 * @any: not all
 * @failed: of connections on which something failed
 * @has_qp: of connections that have the queue pair @qp
 * @twice: the file was read before: these are @nr @conns, by their numbers
 * @conn: of this one; 0: any
 * @message: of this one; 0: any
 * @lost: there was no memory for one of @conns
 * @found: a packet is one of these
 * @last_ns: of the latest packet, while @conns are looked for
 */
struct explain_select {
	bool any, failed, has_qp, twice, lost, found;
	uint32_t qp;
	uint64_t conn, message, last_ns;
	uint64_t *conns;
	size_t nr;
};

/**
 * struct explain - what is asked for, and what has been seen
 * @out: with @json, gets each object, which it may keep with json_object_get()
 * @arg: for @out
 * @json: objects instead of lines
 * @headers: with every field of every header
 * @check: judge by the rules; nothing else is printed
 * @complete: the capture lacks no packet
 * @profile: check what these devices and programs do as well; @nr_profiles
 * @verbose: explain causes, in plain words
 * @ladder: draw connections
 * @headlines: connections up to this one have a headline
 * @flow: what follows connections, if any of this is asked for
 * @live: from an interface: every line is written at once
 * @limit: packets to look at; 0: all
 * @select: which of them are printed
 * @column: fields to print, with @nr_columns
 * @iwarp: the TCP streams
 * @packets: how many there were
 * @bytes: on the wire
 * @seen: packets by kind
 * @icrc: by what their ICRC was
 * @crc: FPDUs of iWARP by what their CRC was
 * @fault: packets by what was wrong with them
 */
struct explain {
	void (*out)(void *arg, struct json_object *o);
	void *arg;
	bool json, headers, live, check, complete, verbose, ladder;
	const char *profile[EXPLAIN_PROFILES_MAX];
	unsigned int nr_profiles;
	struct flow *flow;
	uint64_t limit;
	struct explain_select select;
	struct column column[EXPLAIN_FIELDS_MAX];
	unsigned int nr_columns;
	struct iwarp *iwarp;
	uint64_t packets, bytes, first_ns, headlines;
	uint64_t seen[PKT_IWARP + 1], icrc[PKT_ICRC_CUT + 1], crc[PKT_ICRC_CUT + 1],
		fault[PKT_FAULTS];
};

/**
 * struct unit - a packet, and what it completed
 * @p: the packet
 * @inner: what of iWARP is whole with it: each as a packet of its own
 * @nr: how many
 */
struct unit {
	const struct pkt *p, *inner;
	unsigned int nr;
};

int explain_add_column(struct explain *x, const char *name);
int explain_list_fields(void);
void explain_columns(const struct explain *x, const struct unit *u);

/* explain.c, for whoever wants the objects */
int explain_file(const char *path, uint64_t limit, void (*out)(void *arg, struct json_object *o),
		 void *arg);

void explain_line(const struct unit *u);

/* explain_select.c: which packets */
int explain_find(struct explain_select *s, const char *path, const char *filter, uint64_t limit,
		 struct rtgt_err *err);
bool explain_selects(const struct explain_select *s, const struct flow_conn *c,
		     const struct flow_msg *m);

/* explain_json.c: objects, the caller's */
struct json_object *explain_json(const struct explain *x, const struct unit *u,
				 const struct flow_seen *seen);
void explain_json_inner(const struct explain *x, struct json_object *to, const struct pkt *p,
			const struct flow_seen *seen);
struct json_object *explain_json_summary(const struct explain *x);
struct json_object *explain_object(const char *type);
void explain_json_time(struct json_object *to, const char *key, uint64_t ns, uint64_t first_ns);

/* explain_flow.c: what needs more than one packet */
int explain_flow_open(struct explain *x, char *const *ignored, unsigned int nr_ignored);
void explain_flow_one(struct explain *x, const struct unit *u);
int explain_flow_close(struct explain *x);
int explain_list_rules(void);
/* explain_flow_json.c: likewise */
struct json_object *explain_json_message(const struct explain *x, const struct flow_conn *c,
					 const struct flow_msg *m);
struct json_object *explain_json_connection(const struct explain *x, const struct flow_conn *c);
/* Nanoseconds between the capture's first packet and this one, whichever has the earlier time */
static inline uint64_t explain_since(const struct pkt *p)
{
	return p->ns < p->first_ns ? p->first_ns - p->ns : p->ns - p->first_ns;
}

struct json_object *explain_json_broken(const char *type, const char *rule, uint64_t packet,
					const char *words);
void explain_json_totals(struct json_object *to, const struct flow *f);
static inline const char *who(unsigned int end)
{
	return end ? "the server" : "the client";
}

/* explain_iwarp.c */
void explain_iwarp_words(const struct pkt *p, const struct flow_seen *seen, char *buf, size_t size);
/* explain_ladder.c, explain_words.c */
void explain_ladder(struct explain *x, const struct pkt *p, const struct flow_seen *seen);
void explain_words(const struct pkt *p, const struct flow_seen *seen, char *buf, size_t size);

#endif /* RTGT_EXPLAIN_H */
