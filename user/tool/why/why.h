/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rtgt why: what may have caused a failure.  See why.c, which reads captures, and why_status.c,
 * which knows statuses.
 */
#ifndef RTGT_WHY_H
#define RTGT_WHY_H

#include <stdbool.h>
#include <stdint.h>

#include <rtgt/wire.h>
#include "libwire/flow.h"
#include "libwire/iwarp.h"
#include "tool/cli/cli.h"

struct json_object;

#define WHY_KEPT	64		/* addresses asked for, refusals, resets */

/**
 * struct why_cause - what may be the cause, and what shows whether it is
 * @cause: a sentence without its period
 * @check: a command or what to look at; "there" is the other end
 */
struct why_cause {
	const char *cause, *check;
};

#define WHY_CAUSES	6

/**
 * struct why_status - a number that a program gets
 * @nr: the number
 * @name: its name without IBV_WC_, or in words
 * @string: what ibv_wc_status_str() says
 * @says: what it says
 * @cause: the likely ones first; ends with an empty one
 */
struct why_status {
	unsigned int nr;
	const char *name, *string, *says;
	struct why_cause cause[WHY_CAUSES + 1];
};

/* Somebody asked who has an address, and got no answer since: @times, the first is @packet */
struct why_asked {
	uint8_t version, addr[16], by[16];
	uint64_t packet, times;
};

/*
 * What ICMP of @by refused, of a datagram or segment from @from to @addr; a TCP connection that @by
 * reset.  @ports: of the refused packet, or of the RST, its source first
 */
struct why_refusal {
	uint8_t version, type, code, proto, addr[16], from[16], by[16];
	uint16_t ports[2];
	uint64_t packet;
};

/* A target's reason to refuse a connection */
struct why_typed {
	uint64_t packet;
	struct rtgt_refusal refusal;
};

/*
 * A request of a datagram service or of TCP: @packet is the first of @times, the last was at @ns.
 * @answer: the packet that answers it, or 0; with @refused, @status is that of a SIDR_REP.
 */
struct why_knock {
	bool sidr, refused;
	uint8_t version, status, from[16], to[16];
	uint16_t ports[2];
	uint32_t id;
	uint64_t packet, times, ns, answer;
};

/* A Terminate */
struct why_said {
	uint64_t packet;
	const char *name;
	enum pkt_cause cause;
};

/**
 * struct why_conn - what was told of a connection
 * @id: its number; 0: there is none
 * @told: messages that took long; @more: those of which only the number is told
 * @behind: messages that were not answered because one had failed
 * @failed: one of this end's messages failed
 * @terminated: the Terminate is told
 */
struct why_conn {
	uint64_t id, told, more, behind;
	bool failed[2], terminated;
};

#define WHY_CONNS	4096	/* two with one number modulo this make each other forgotten */

/**
 * struct why - a capture
 * @dir, @timeline: the directory that it is in, and what was traced; NULL: only the capture
 * @asked, @refused, @reset, @typed, @said, @knock: the latest, rings
 * @first_ns, @last_ns: of the first packet, of the latest
 * @conn: by the connection's number
 */
struct why {
	const struct tool *tool;
	const char *dir;
	struct json_object *timeline;
	struct flow *flow;
	struct iwarp *iwarp;
	struct why_asked asked[WHY_KEPT];
	struct why_refusal refused[WHY_KEPT], reset[WHY_KEPT];
	struct why_typed typed[WHY_KEPT];
	struct why_said said[WHY_KEPT];
	struct why_knock knock[WHY_KEPT];
	unsigned int nr_asked, nr_refused, nr_reset, nr_typed, nr_said, nr_knocks;
	uint64_t packets, problems, first_ns, last_ns, corrupt, first_corrupt;
	struct why_conn conn[WHY_CONNS];
};

static inline const char *why_end(unsigned int end)
{
	return end ? "the server" : "the client";
}

static inline const char *why_address(const struct flow_conn *c, unsigned int end, char *buf,
				      size_t size)
{
	return pkt_address(c->end[end].ip_version, c->end[end].addr, buf, size);
}

/* @said: of why_terminate() */
static inline const char *why_said_name(const struct why_said *said)
{
	return said ? said->name : "for a reason that is forgotten";
}

/* why_seen.c: evidence */
void why_note(struct why *w, const struct pkt *p);
bool why_on_the_way(struct why *w, struct json_object *o, const struct flow_conn *c,
		    unsigned int to, uint64_t from_packet);
const struct why_refusal *why_reset(const struct why *w, const struct flow_conn *c,
				    uint64_t from_packet);
bool why_typed(const struct why *w, uint64_t packet, char *buf, size_t size);
const struct why_said *why_terminate(const struct why *w, uint64_t packet);
const struct why_refusal *why_unreachable(const struct why *w, const struct why_knock *k);
const char *why_refusal_name(const struct why_refusal *r);
void why_neighbours(struct why *w);

/* why_knock.c: what led to no connection */
void why_knock(struct why *w, const struct pkt *p);
void why_knocks(struct why *w);

/* why_msg.c, why_conn.c: what failed or took long; for struct flow_ops */
void why_message(void *arg, const struct flow_conn *c, const struct flow_msg *m);
void why_connection(void *arg, const struct flow_conn *c);
struct why_conn *why_conn_of(struct why *w, const struct flow_conn *c);
bool why_terminate_causes(struct json_object *o, const struct why_said *said);

/* why_status.c */
const struct why_status *why_completion(unsigned int status);
const struct why_status *why_reject(unsigned int reason);
int why_word(struct tool *tool, const char *word);

/* why_out.c: a problem, which is an object whatever is printed */
struct json_object *why_problem(const char *type);
void why_say(struct json_object *o, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void why_seen(struct json_object *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void why_because(struct json_object *o, bool certain, const char *check, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void why_perhaps(struct json_object *o, const struct why_status *s);
void why_put(const struct tool *tool, struct json_object *o);

/* why_dir.c: evidence beside the capture */
bool why_dir_open(struct why *w, const char *dir, char *capture, size_t size);
void why_dir_counters(const struct why *w);
void why_found(struct why *w, struct json_object *o);

#endif /* RTGT_WHY_H */
