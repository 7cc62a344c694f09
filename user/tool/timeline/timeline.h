/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rtgt timeline: what the kernel traced, joined with the packets of a capture.
 * See timeline.c.
 */
#ifndef RTGT_TIMELINE_H
#define RTGT_TIMELINE_H

#include <rtgt/log.h>
#include "libwire/flow.h"
#include "tool/cli/cli.h"
#include "tool/config/tracefs.h"

/* What a directory holds */
#define TL_TRACE	"trace.txt"
#define TL_CAPTURE	"capture.pcap"
#define TL_JSON		"timeline.json"

/* What the recorder writes into the trace about clock, devices and losses */
#define TL_MARK		"rtgt-timeline "

#define TL_ADDR		48	/* an address as text */
#define TL_NAME		64	/* a device's name, and what cannot be one */
#define TL_WHAT		96

struct json_object;

/**
 * struct tl_line - an event of the trace
 * @us: on the trace's clock
 * @nr: of the line, from 1
 * @pid: who ran
 * @event: its name
 * @rest: what it says
 */
struct tl_line {
	int64_t us;
	unsigned int nr;
	uint32_t pid;
	const char *event, *rest;
};

/* An address of a device of this machine */
struct tl_device {
	char name[TL_NAME], addr[TL_ADDR];
};

/**
 * struct tl_trace - a trace, read
 * @text: the file; all strings are in it
 * @line: events in the order of time
 * @lost: events the kernel had no room for
 * @offset_ns: what is added to the trace's clock to give the capture's
 * @has_offset: it was recorded
 * @error_ns: how far @offset_ns may be off
 * @moved_ns: how far it was another at the end
 * @missing: events the kernel did not have, as the recorder says
 */
struct tl_trace {
	char *text;
	struct tl_line *line;
	unsigned int lines, room;
	uint64_t lost, dropped;
	int64_t offset_ns, error_ns, moved_ns;
	bool has_offset;
	struct tl_device device[64];
	unsigned int devices;
	const char *missing[16];
	unsigned int nr_missing;
};

/* Who does it */
enum tl_end { TL_CLIENT, TL_TARGET, TL_WIRE };

/* What of an operation an event is; TL_OTHER is none of them */
enum tl_stage {
	TL_POST, TL_FIRST, TL_PACKET, TL_LAST, TL_ACK, TL_TARGET_WC, TL_TARGET_TAKES, TL_COMPLETION,
	TL_REPLY_POST, TL_REPLY_FIRST, TL_REPLY_LAST, TL_REPLY_ACK, TL_REPLY_WC, TL_OTHER
};

/**
 * struct tl_event - one thing that happened
 * @us: on the trace's clock
 * @packet: number in the capture; 0: it is no packet
 * @psn: of the packet, valid unless it is the CM's
 * @to_target: where the packet goes
 * @order: of those at the same time
 */
struct tl_event {
	int64_t us;
	unsigned int order;
	enum tl_end end;
	enum tl_stage stage;
	uint64_t packet;
	uint32_t psn;
	bool has_psn, to_target;
	char what[TL_WHAT];
};

struct tl_events {
	struct tl_event *event;
	unsigned int nr, room;
	bool no_memory;
};

/**
 * struct tl_packet - a packet, as far as it matters here
 * @number: in the capture
 * @psn: of iWARP the MSN of an untagged message, 0 of a tagged one
 * @opcode: of iWARP RDMAP's
 * @iwarp: it is an FPDU, of which a packet may have several
 */
struct tl_packet {
	uint64_t number, msg;
	int64_t us;
	uint32_t psn, payload;
	uint8_t opcode;
	bool answer, from_server, again, iwarp;
};

/* A TCP segment that opens or closes a connection */
struct tl_segment {
	uint64_t number;
	int64_t us;
	uint8_t src[16], dst[16], flags;
	uint16_t sport, dport;
};

/**
 * struct tl_msg - a message of the capture
 * @seen: its members of flow.h
 * @conn: number of its connection
 * @reply: 1 and the index of the message that answers it, 0 for none
 * @is_reply: it is one
 * @wr_id: of the work request, valid with @posted
 * @op: what the target was asked, with @tag, valid with @taken
 * @posted: line of the trace; NULL: unknown, and so the others
 * @completed: at its sender
 * @received: receive completion at the other end
 * @taken: the target has understood it
 */
struct tl_msg {
	struct flow_msg seen;
	uint64_t conn;
	unsigned int reply;
	bool is_reply;
	int64_t wr_id, op, tag;
	const struct tl_line *posted, *completed, *received, *taken;
};

/* A queue pair's life */
struct tl_qp {
	char device[TL_NAME];
	uint32_t qpn, pid;
	int64_t from_us, to_us;
};

/**
 * struct tl_conn - a connection of the capture
 * @seen: its members of flow.h; pointers in it are not valid
 * @from_us: its REQ
 * @to_us: its last packet
 * @addr: of its ends: 0 is the client
 * @name: what rdma_cma's events call the ends, with a port; "" while unknown
 * @gone: rdma_cm has forgotten this end
 * @iwarp: there is no queue pair number on the wire
 * @qpn: of the ends' queue pairs, valid with @has_qpn
 * @learned_us: iWARP: when the trace had that; @pid: of the process then
 * @device: of this machine, NULL if the end is another's
 * @qp: likewise
 */
struct tl_conn {
	struct flow_conn seen;
	int64_t from_us, to_us;
	char addr[2][TL_ADDR], name[2][TL_ADDR + 8];
	bool gone[2], iwarp, has_qpn[2];
	uint32_t qpn[2], pid[2];
	int64_t learned_us[2];
	const char *device[2];
	const struct tl_qp *qp[2];
	struct tl_events events;
};

struct timeline {
	const struct tool *tool;
	struct tl_trace trace;
	uint64_t first_ns;
	struct tl_packet *packet;
	struct tl_segment *segment;
	struct tl_conn *conn;
	struct tl_msg *msg;
	struct tl_qp *qp;
	unsigned int packets, packet_room, segments, segment_room, conns, conn_room;
	unsigned int msgs, msg_room, qps, qp_room;
	bool no_memory;
};

/* timeline_trace.c */
int tl_trace_read(struct tl_trace *t, const char *path, struct rtgt_err *err);
void tl_trace_free(struct tl_trace *t);
bool tl_text(const char *rest, const char *key, char *buf, size_t size);
bool tl_number(const char *rest, const char *key, int64_t *value);
void *tl_grow(void *array, unsigned int nr, unsigned int *room, size_t size);

/* timeline_wire.c */
int tl_wire_read(struct timeline *t, const char *path, struct rtgt_err *err);

/* timeline_find.c, timeline_conn.c, timeline_op.c: the joining */
struct tl_event *tl_event(struct tl_events *to, enum tl_end end, int64_t us)
	__attribute__((returns_nonnull));
void tl_sort(struct tl_events *e);
struct tl_conn *tl_conn_at(const struct timeline *t, unsigned int end, int64_t qpn, int64_t us);
struct tl_qp *tl_qp_at(const struct timeline *t, const char *device, int64_t qpn, int64_t us);
struct tl_conn *tl_conn_named(const struct timeline *t, const char *local, const char *remote,
			      unsigned int *end);
void tl_iwarp_name(const struct flow_conn *c, unsigned int end, const char *addr, char *buf,
		   size_t size);
bool tl_qp_is(const struct tl_line *l, const struct tl_qp *q);
bool tl_qp_event(const struct tl_line *l, const char *what);
int tl_join_conns(struct timeline *t, struct rtgt_err *err);
int tl_join_ops(struct timeline *t, struct rtgt_err *err);
void tl_op_events(const struct timeline *t, const struct tl_msg *m, struct tl_events *e);
int64_t tl_wire_us(const struct timeline *t, uint64_t ns);

/* timeline_iwarp.c */
void tl_iwarp_learn(struct timeline *t, const struct tl_line *l);
void tl_iwarp_segments(const struct timeline *t, struct tl_conn *c);
void tl_iwarp_states(const struct timeline *t, struct tl_conn *c, unsigned int end);
void tl_iwarp_event(struct timeline *t, const struct tl_line *l);

/**
 * struct tl_span - two stages of an operation, and what happens between them
 * @from: begins with the first of these
 * @to: ends with the last of these
 */
struct tl_span {
	enum tl_stage from, to;
	const char *what;
};

extern const struct tl_span tl_spans[];	/* what is NULL in the last */
bool tl_span_us(const struct tl_events *e, const struct tl_span *s, int64_t *us);

/* timeline_out.c, timeline_json.c */
void tl_print(const struct timeline *t, uint64_t limit);
const char *tl_end_name(enum tl_end end);
struct json_object *tl_json(const struct timeline *t);

/* timeline_record.c, timeline_capture.c, timeline_tracefs.c */

#define TL_PROBES	15

/* What the devices of this machine speak */
#define TL_ROCE		1
#define TL_IWARP	2

/**
 * struct tl_tracefs - what was made in tracefs
 * @tracefs: the instance, whose name is that of the group of the probes, too
 * @probe: which of them there are
 * @marker: open trace_marker of the instance
 * @offset_ns: from the trace's clock to the real time, as it was last
 */
struct tl_tracefs {
	struct tracefs tracefs;
	bool probe[TL_PROBES];
	FILE *marker;
	int64_t offset_ns;
};

/**
 * struct tl_capture - a process that writes packets to a file
 * @pid: 0 while there is none
 * @said: what it says when it ends: packets that were lost
 */
struct tl_capture {
	int pid, said;
};

unsigned int tl_transports(void);
int tl_tracefs_open(struct tl_tracefs *f, unsigned int transports, struct rtgt_err *err);
int tl_tracefs_save(const struct tl_tracefs *f, const char *path, struct rtgt_err *err);
void tl_tracefs_clock(struct tl_tracefs *f);
int tl_tracefs_close(struct tl_tracefs *f, struct rtgt_err *err);
int tl_devices(FILE *marker, char *interface, size_t size);
int tl_capture_start(struct tl_capture *c, const char *interface, unsigned int transports,
		     const char *path, int64_t offset_ns, struct rtgt_err *err);
int tl_capture_end(struct tl_capture *c, uint64_t *dropped, struct rtgt_err *err);
int tl_record(const char *dir, const char *interface, char **cmd, bool *recorded);

#endif /* RTGT_TIMELINE_H */
