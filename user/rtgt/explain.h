/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rtgt explain: packets of a capture, explained.  See explain.c.
 */
#ifndef RTGT_EXPLAIN_H
#define RTGT_EXPLAIN_H

#include "../packet/capture.h"
#include "../packet/fields.h"
#include "../packet/iwarp.h"
#include "rtgt.h"

#define EXPLAIN_FIELDS_MAX	512

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
 * struct explain - what is asked for, and what has been seen
 * @tool: the options in front of the command
 * @json: a JSON object a line
 * @headers: with every field of every header
 * @live: from an interface: every line is written at once
 * @limit: packets to look at; 0: all
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
	const struct tool *tool;
	bool json, headers, live;
	uint64_t limit;
	struct column column[EXPLAIN_FIELDS_MAX];
	unsigned int nr_columns;
	struct iwarp *iwarp;
	uint64_t packets, bytes;
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
void explain_json(const struct explain *x, const struct unit *u);
void explain_json_summary(const struct explain *x);

#endif /* RTGT_EXPLAIN_H */
