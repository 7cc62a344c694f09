/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rtgt bridge: what its files share.
 *
 * bridge.c	the command line, the loop, and the way of a frame
 * bridge_port.c	where frames come from and go to
 * bridge_frame.c	what a frame is to its connection
 * bridge_rule.c	the language of rules
 * bridge_act.c	what a rule does to a frame, and frames that are held
 * bridge_log.c	events, the capture, the sums at the end
 *
 * One thread owns all of it.  A frame is a copy of its own from the port it came in on until it
 * has left, or was dropped.
 */
#ifndef RTGT_BRIDGE_H
#define RTGT_BRIDGE_H

#include <stdio.h>

#include "libwire/flow.h"
#include "tool/cli/cli.h"

#define BRIDGE_PORTS	16
#define BRIDGE_RULES	256
/* The longest frame: what a TCP sender leaves to its device to cut, with all headers */
#define BRIDGE_FRAME	(65536 + 64)
#define BRIDGE_NAME	16

struct bridge;

enum bridge_kind { BRIDGE_LISTEN, BRIDGE_STREAM, BRIDGE_UDP, BRIDGE_INTERFACE, BRIDGE_TAP };

/**
 * struct bridge_port - where frames come from and go to
 * @listener: BRIDGE_LISTEN: the socket, -1: there is none
 * @fd: -1: nobody is there
 * @in: of a stream, @in_len bytes of which those from @in_at on are no whole frame yet
 * @out: of a stream, likewise the bytes that its reader has not taken yet
 * @gso: it was said that a frame of this interface is too long for others
 */
struct bridge_port {
	struct bridge *bridge;
	unsigned int index;
	enum bridge_kind kind;
	char name[BRIDGE_NAME];
	const char *where;
	int listener, fd;
	bool gso;
	uint8_t *in, *out;
	size_t in_at, in_len, out_at, out_len;
	uint64_t frames_in, frames_out, bytes_in, bytes_out, lost;
};

/* A frame that has come; @vnet: of an interface, what its sender left to the device, or NULL */
struct bridge_got {
	const uint8_t *vnet, *data;
	uint32_t len;
};

/**
 * struct bridge_frame - a frame on its way
 * @number: of all that came in, from 1; a copy has that of its original
 * @ns: when it came in, since 1970
 * @due: CLOCK_MONOTONIC: it leaves no earlier; 0: at once
 * @at: its place among those that wait: it leaves no later
 * @from: port it came in on
 * @to: ports it leaves by, a bit each
 * @behind: so many frames of the same way have to leave before it
 * @copy: of one that leaves, too
 * @vnet: of an interface: struct virtio_net_hdr of what its sender left to the device
 */
struct bridge_frame {
	struct bridge_frame *prev, *next;
	uint64_t number, ns, due, at;
	unsigned int from, behind;
	bool copy;
	uint32_t to, len;
	uint8_t vnet[10];
	uint8_t data[];
};

/* What a frame is: packets of a TCP segment are its units, in their order */
struct bridge_what {
	const struct pkt *p;
	struct flow_seen seen;
	uint32_t message;	/* of its direction, from 1; 0: it is of none, as are these: */
	enum flow_op op;
	uint32_t packet;	/* of its message, from 1 */
	bool last;		/* of its message */
	bool iwarp;		/* a TCP segment of iWARP */
	uint32_t tx;		/* transmissions of it so far, from 1 */
};

enum bridge_action {
	BRIDGE_DROP, BRIDGE_DELAY, BRIDGE_DUP, BRIDGE_REORDER, BRIDGE_CORRUPT, BRIDGE_FORGE,
	BRIDGE_TRUNCATE, BRIDGE_MARK, BRIDGE_RATE, BRIDGE_ACTIONS
};

/* What a rule may ask for; see bridge_rule.c for their names */
enum bridge_property {
	BRIDGE_OP, BRIDGE_IS, BRIDGE_CM, BRIDGE_MPA, BRIDGE_FROM, BRIDGE_PORT, BRIDGE_CONN,
	BRIDGE_MESSAGE, BRIDGE_PACKET, BRIDGE_PSN, BRIDGE_TX, BRIDGE_SIZE,
	/* these count what has all properties above */
	BRIDGE_NTH, BRIDGE_EVERY, BRIDGE_COUNT, BRIDGE_CHANCE, BRIDGE_BURST, BRIDGE_AFTER,
	/* of the action rate */
	BRIDGE_QUEUE, BRIDGE_ABOVE, BRIDGE_PROPERTIES
};

#define BRIDGE_LAST	UINT64_MAX	/* packet=last */

/**
 * struct bridge_rule - a line of the rules
 * @has: properties that it has, a bit each
 * @at: range of each that is a number; of others @min is their index in a list of words, and
 *	of BRIDGE_CHANCE it is in millionths
 * @arg: range of what the action takes: nanoseconds, frames, bytes, bits per second, or values
 *	of @field
 * @field: BRIDGE_FORGE: name of the field that is set; NULL: the last bit of the data is flipped
 * @after: the rule of BRIDGE_AFTER
 * @burst: so many frames are still to be hit
 * @busy: BRIDGE_RATE: CLOCK_MONOTONIC until which the link is busy with frames before
 * @seen: frames that have all properties
 * @acted: those that something was done to
 */
struct bridge_rule {
	char name[BRIDGE_NAME];
	enum bridge_action action;
	uint32_t has;
	struct { uint64_t min, max; } at[BRIDGE_PROPERTIES], arg;
	const struct bridge_rule *after;
	const char *field;
	uint64_t random, burst, busy, seen, acted, failed;
};

struct bridge {
	struct bridge_port port[BRIDGE_PORTS];
	unsigned int ports;
	struct bridge_rule rule[BRIDGE_RULES];
	unsigned int rules;
	uint64_t seed, frames, dropped, held;
	bool json, quiet, capture_failed;
	FILE *capture;
	/* frames that wait, @held bytes, in the order of @at; @overtaken of them have @behind */
	struct bridge_frame *first, *last;
	unsigned int overtaken;
	struct bridge_seer *seer;
	struct bridge_mac *mac;
};

/* bridge_port.c */
int bridge_port_add(struct bridge *b, char *word);
int bridge_port_open(struct bridge_port *p);
int bridge_port_accept(struct bridge_port *p);
int bridge_port_next(struct bridge_port *p, struct bridge_got *got);
bool bridge_port_has(const struct bridge_port *p);
int bridge_port_flush(struct bridge_port *p);
bool bridge_port_send(struct bridge_port *p, const struct bridge_frame *f);
void bridge_port_count_lost(struct bridge_port *p);
void bridge_port_close(struct bridge_port *p);

/* bridge_frame.c */
struct bridge_seer *bridge_seer_new(void);
void bridge_seer_free(struct bridge_seer *s);
void bridge_see(struct bridge_seer *s, const struct bridge_frame *f, struct pkt *p,
		void (*each)(void *arg, const struct bridge_what *w), void *arg);

/* bridge_rule.c */
extern const char *const bridge_actions[];
int bridge_rule_add(struct bridge *b, const char *where, char *line);
int bridge_rules_read(struct bridge *b, const char *path);
bool bridge_rule_has(const struct bridge_rule *r, const struct bridge_what *w,
		     const struct bridge_frame *f);
bool bridge_rule_takes(struct bridge_rule *r);
uint64_t bridge_random(struct bridge_rule *r, uint64_t min, uint64_t max);

/* bridge_act.c */
int bridge_act(struct bridge *b, struct bridge_rule *r, struct bridge_frame *f,
	       const struct pkt *p);
uint64_t bridge_now(void);
void bridge_leave(struct bridge *b, struct bridge_frame *f);
void bridge_due(struct bridge *b, uint64_t now);

/* bridge_log.c */
uint64_t bridge_wall_ns(void);
int bridge_capture_begin(struct bridge *b, const char *path);
void bridge_capture(struct bridge *b, const struct bridge_frame *f, unsigned int port, bool out,
		    const char *comment);
void bridge_event(struct bridge *b, const struct bridge_rule *r, const struct bridge_frame *f,
		  const struct pkt *p);
void bridge_began(const struct bridge *b);
int bridge_ended(struct bridge *b);

#endif /* RTGT_BRIDGE_H */
