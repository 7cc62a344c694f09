// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt why: connections that were refused, or did not come about.
 */
#include <inttypes.h>
#include <stdio.h>
#include <json-c/json.h>

#include "tool/out/json.h"
#include "why.h"

#define REJ_TIMEOUT	4	/* IBA 12.6.7.2 */

/* What was told of a connection */
struct why_conn *why_conn_of(struct why *w, const struct flow_conn *c)
{
	struct why_conn *note = &w->conn[c->id % WHY_CONNS];

	if (note->id != c->id)
		*note = (struct why_conn) { .id = c->id };
	return note;
}

static struct json_object *connection_problem(const struct flow_conn *c, const char *text)
{
	struct json_object *o = why_problem("connection");
	char from[64], to[64];

	rtgt_json_int(o, "connection", (int64_t)c->id);
	rtgt_json_int(o, "packet", (int64_t)c->first_packet);
	why_say(o, "what", "connection %" PRIu64 ", packet %" PRIu64 ": %s to port %u of %s: %s",
		c->id, c->first_packet, why_address(c, 0, from, sizeof(from)),
		(unsigned int)(c->service_id & 0xffff), why_address(c, 1, to, sizeof(to)), text);
	return o;
}

static void rejected(struct why *w, const struct flow_conn *c)
{
	const struct why_status *s = why_reject(c->reject);
	uint8_t who = 0;
	const uint64_t packet = flow_step_packet(c, c->iwarp ? FLOW_STEP_MPA_REPLY :
						 FLOW_STEP_REJ, &who);
	struct json_object *o;
	char text[256];

	snprintf(text, sizeof(text), "%s refused: %s%s", why_end(c->rej_from),
		 c->iwarp ? "MPA Reply with the reject bit" : "REJ, ",
		 c->iwarp ? "" : pkt_reject_name(c->reject));
	o = connection_problem(c, text);
	why_seen(o, "packet %" PRIu64 ": it refuses", packet);
	if (why_typed(w, packet, text, sizeof(text)))
		why_because(o, true, "there: rtgt show, dmesg, the limits of the port",
			    "the target's reason: %s", text);
	else if (c->iwarp)
		why_perhaps(o, why_reject(28));
	else if (s)
		why_perhaps(o, s);
	else
		why_because(o, false, "there: dmesg", "%s", pkt_reject_name(c->reject));
	why_found(w, o);
}

/* The client has the REP, or it got lost; or the server has the REQ, or not */
static void not_connected(struct why *w, const struct flow_conn *c)
{
	const unsigned int silent = c->rep ? 0 : 1;
	uint8_t who = 0;
	const uint64_t mra = flow_step_packet(c, FLOW_STEP_MRA, &who);
	struct json_object *o;

	if (mra && who == 1 && silent) {
		o = connection_problem(c, "the server asked for patience (MRA), and did not answer");
		why_seen(o, "packet %" PRIu64 ": the MRA", mra);
		why_because(o, true, "the program there: does it take RDMA_CM_EVENT_CONNECT_REQUEST?",
			    "the program there has neither accepted nor rejected");
		why_found(w, o);
		return;
	}
	o = connection_problem(c, silent ? "nobody answered the REQ" :
			       "the client did not answer the REP");
	why_seen(o, "%u messages of the CM were sent again", c->repeated_steps);
	if (why_on_the_way(w, o, c, silent, c->first_packet)) {
		why_found(w, o);
		return;
	}
	if (silent)
		why_because(o, false, "there: rdma link (state ACTIVE, and the netdev of this address)",
			    "the host has no RDMA device on this address, or its driver is not loaded");
	else
		why_because(o, false, "the program there: is it running, does it take events?",
			    "the client's program has ended, or does not take its events");
	why_because(o, false, "a capture at the other end; RoCE v2: nft list ruleset, UDP port 4791",
		    silent ? "a firewall drops the packets on their way there, or back" :
		    "the REP, or the RTU, is lost on its way each time");
	why_because(o, false, "ping; rdma link", "the host or the link is down");
	if (silent)
		why_because(o, false, "there: ip netns; rdma system (netns shared or exclusive)",
			    "the address is in a network namespace in which its driver does not receive");
	why_found(w, o);
}

/**
 * why_terminate_causes() - what a Terminate says, as a cause
 * @o: gets it
 * @said: the Terminate; NULL: not known
 *
 * Return: whether it names one.
 */
bool why_terminate_causes(struct json_object *o, const struct why_said *said)
{
	static const struct why_cause causes[] = {
		[PKT_CAUSE_STAG] = {
			"the STag is none of the other end's: it was revoked, or is of another connection",
			"rtgt explain --verbose CAPTURE: which STag was advertised"
		},
		[PKT_CAUSE_BOUNDS] = {
			"the range reaches beyond the memory of the STag",
			"address and length against those that were advertised"
		},
		[PKT_CAUSE_ACCESS] = {
			"the memory was advertised without the right to do this",
			"there: access of the region, the flags of the registration"
		},
		[PKT_CAUSE_STREAM] = {
			"the STag is of another connection, or of another PD",
			"there: rdma resource show mr, show qp (pdn)"
		},
		[PKT_CAUSE_CRC] = {
			"a byte was changed on the way, or the sender is wrong",
			"rtgt explain --check CAPTURE"
		},
	};
	if (said && said->cause < sizeof(causes) / sizeof(causes[0]) && causes[said->cause].cause) {
		why_because(o, true, causes[said->cause].check, "%s", causes[said->cause].cause);
		return true;
	}
	why_because(o, false, "there: dmesg, the first bad completion; of rtgt: recv_size, recv_depth",
		    "%s", why_said_name(said));
	return false;
}

/* A WRITE of iWARP is over for its sender when it is sent: then no message is refused */
static void terminated(struct why *w, const struct flow_conn *c)
{
	const struct why_said *said = why_terminate(w, c->terminate);
	struct json_object *o;
	char text[128];

	snprintf(text, sizeof(text), "refused: Terminate, %s", why_said_name(said));
	o = connection_problem(c, text);
	why_seen(o, "packet %" PRIu64 ": the Terminate, with which the connection ends",
		 c->terminate);
	if (c->terminated)
		why_seen(o, "packet %" PRIu64 ": what it refuses", c->terminated);
	why_terminate_causes(o, said);
	why_found(w, o);
}

/* A connection has ended */
void why_connection(void *arg, const struct flow_conn *c)
{
	struct why *w = arg;
	const struct why_conn *note = why_conn_of(w, c);
	/* a client that gives up says so in a REJ (ib_cm) */
	const bool gave_up = c->rej && !c->rej_from && !c->rep && c->reject == REJ_TIMEOUT;
	const bool waited = c->repeated_steps || flow_since(w->last_ns, c->last_ns) > FLOW_LONG_NS;

	if (note->behind || note->more) {
		struct json_object *o = why_problem("more");

		rtgt_json_int(o, "connection", (int64_t)c->id);
		rtgt_json_int(o, "unanswered", (int64_t)note->behind);
		rtgt_json_int(o, "delayed", (int64_t)note->more);
		why_say(o, "what", "connection %" PRIu64 ": %" PRIu64
			" messages behind the one that failed were not answered, and %" PRIu64
			" more took long", c->id, note->behind, note->more);
		w->problems += note->behind + note->more;
		why_put(w->tool, o);
	}
	if (gave_up || (c->req && !c->rtu && !c->data && !c->ended && !c->iwarp && waited))
		not_connected(w, c);
	else if (c->rej)
		rejected(w, c);
	else if (c->terminate && !note->terminated)
		terminated(w, c);
}
