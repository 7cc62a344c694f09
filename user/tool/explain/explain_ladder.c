// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt explain --ladder: the client left, the server right, an arrow a packet.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "explain.h"

#define WIDTH	62	/* of an arrow */

static void headline(const struct flow_conn *c)
{
	char client[64], server[64];

	pkt_address(c->end[0].ip_version, c->end[0].addr, client, sizeof(client));
	pkt_address(c->end[1].ip_version, c->end[1].addr, server, sizeof(server));
	printf("\nconnection %" PRIu64 ": client %s, server %s%s\n", c->id, client, server,
	       c->guessed ? "; it began before the capture" : "");
}

/* Of iWARP: what pkt_line() says, and the message behind it */
static void iwarp_label(const struct pkt *p, const struct flow_seen *seen, char *on, size_t size,
			char *note, size_t room)
{
	const char *opcode = p->at[PKT_RDMAP].len ? pkt_rdmap_name(p->at[PKT_RDMAP].variant) :
						    "FPDU";
	char name[64] = "";

	if (p->at[PKT_MPA].variant == PKT_MPA_FPDU)
		snprintf(on, size, "%s  %u bytes", opcode ? opcode : "unknown opcode",
			 seen->payload);
	else
		snprintf(on, size, "MPA %s", p->at[PKT_MPA].variant == PKT_MPA_REQUEST ?
			 "request" : "reply");
	if (!seen->msg)
		return;
	flow_message_name(seen->msg, name, sizeof(name));
	snprintf(note, room, "%s %" PRIu64 "%s%s", flow_op_name(seen->msg), seen->msg->id,
		 name[0] ? ": " : "", name);
}

/* What stands on the arrow, and what behind it */
static void label(const struct pkt *p, const struct flow_seen *seen, char *on, size_t size,
		  char *note, size_t room)
{
	char name[64] = "";

	note[0] = '\0';
	if (p->kind == PKT_ROCE_CM) {
		snprintf(on, size, "CM %s", pkt_cm_name(p->attr) ? pkt_cm_name(p->attr) : "?");
		return;
	}
	if (p->kind == PKT_IWARP) {
		iwarp_label(p, seen, on, size, note, room);
		return;
	}
	snprintf(on, size, "%s  PSN %u", pkt_opcode_name(p->opcode), p->psn);
	if (seen->payload && strlen(on) + 16 < size)
		snprintf(on + strlen(on), size - strlen(on), "  %u bytes", seen->payload);
	if (seen->msg)
		flow_message_name(seen->msg, name, sizeof(name));
	if (p->at[PKT_AETH].len && PKT_SYNDROME(p->syndrome) == PKT_AETH_NAK)
		snprintf(note, room, "NAK %s", pkt_nak_name(p->syndrome));
	else if (p->at[PKT_AETH].len && PKT_SYNDROME(p->syndrome) == PKT_AETH_RNR)
		snprintf(note, room, "not ready: wait %u us", pkt_rnr_us(p->syndrome));
	else if (seen->msg)
		snprintf(note, room, "%s %" PRIu64 "%s%s", flow_op_name(seen->msg), seen->msg->id,
			 name[0] ? ": " : "", name);
	if (seen->class != FLOW_NEW && strlen(note) + 24 < room)
		snprintf(note + strlen(note), room - strlen(note), " (%s)",
			 flow_class_name(seen->class));
}

/**
 * explain_ladder() - a packet's rung
 * @x: knows which connections have a headline
 * @p: packet
 * @seen: what it is to its connection; without one there is no rung
 */
void explain_ladder(struct explain *x, const struct pkt *p, const struct flow_seen *seen)
{
	char on[96], note[160], dashes[WIDTH + 1], since[40];
	const uint64_t ns = explain_since(p);
	int len, left;

	if (!seen->conn)
		return;
	if (seen->conn->id > x->headlines) {
		x->headlines = seen->conn->id;
		headline(seen->conn);
	}
	label(p, seen, on, sizeof(on), note, sizeof(note));
	len = (int)strlen(on);
	left = len + 4 < WIDTH ? (WIDTH - len - 4) / 2 : 0;
	memset(dashes, '-', WIDTH);
	dashes[WIDTH] = '\0';
	snprintf(since, sizeof(since), "%s%" PRIu64 ".%06" PRIu64, p->ns < p->first_ns ? "-" : "",
		 ns / 1000000000, ns % 1000000000 / 1000);
	printf("%7" PRIu64 " %12s  %" PRIu64 "|%s%.*s %s %.*s%s|%s%s\n", p->number, since,
	       seen->conn->id, seen->from ? "<" : "-",
	       left, dashes, on,
	       WIDTH - 4 - len - left > 0 ? WIDTH - 4 - len - left : 0, dashes, seen->from ?
		       "-" : ">", note[0] ? "  " : "", note);
}
