// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt explain --verbose, for iWARP: MPA's frames and each message of RDMAP in plain words.
 */
#include <inttypes.h>
#include <stdio.h>

#include "explain.h"
#include "libwire/parse.h"

static int mpa(const struct pkt *p, const struct flow_seen *seen, char *buf, size_t size)
{
	const uint8_t *b = pkt_bytes(p, PKT_MPA);
	const char *crc = b[16] & 0x40 ? "; FPDUs end with a CRC" : "";

	if (p->at[PKT_MPA].variant == PKT_MPA_REQUEST)
		return snprintf(buf, size,
				"the client asks for an iWARP connection on this TCP stream, to port %u%s%s",
				p->dport, crc, seen->conn->hello ?
				". Its private data is rtgt's" : "");
	if (b[16] & 0x20)
		return snprintf(buf, size, "the server refuses the connection");
	return snprintf(buf, size, "the server agrees%s. The client sends first", crc);
}

static int place(char *buf, size_t size, const struct flow_msg *m, const struct flow_seen *seen,
		 uint64_t at)
{
	if (!seen->payload)
		return snprintf(buf, size, "no bytes");
	return snprintf(buf, size, "bytes %" PRIu64 " to %" PRIu64 "%s", at,
			at + seen->payload - 1, m->whole ? ", the last" : "");
}

static int write_words(const uint8_t *ddp, const struct flow_seen *seen, char *buf, size_t size)
{
	const struct flow_msg *m = seen->msg;
	const uint64_t at = be64(ddp + 6) - m->va;
	char where[64];

	place(where, sizeof(where), m, seen, at);
	if (at)
		return snprintf(buf, size, "%s goes on with the WRITE of packet %" PRIu64 ": %s",
				who(seen->from), m->first_packet, where);
	if (!seen->payload && m->whole)
		return snprintf(buf, size, "%s writes nothing: this only shows that it is there",
				who(seen->from));
	return snprintf(buf, size,
			"%s writes into the memory of %s, at 0x%" PRIx64 " with STag 0x%x (%s): %s. Nobody acknowledges it but TCP",
			who(seen->from), who(!seen->from), m->va, m->rkey,
			flow_grant_words(m->grant), where);
}

static int send_words(const uint8_t *ddp, const struct flow_seen *seen, char *buf, size_t size)
{
	const struct flow_msg *m = seen->msg;
	const uint32_t at = be32(ddp + 14);
	char name[64], where[64], inv[96] = "";

	place(where, sizeof(where), m, seen, at);
	if (at)
		return snprintf(buf, size, "%s goes on with the message of packet %" PRIu64 ": %s",
				who(seen->from), m->first_packet, where);
	flow_message_name(m, name, sizeof(name));
	if (m->has_inv)
		snprintf(inv, sizeof(inv), ". The STag 0x%x of %s becomes invalid with it",
			 m->inv_rkey, who(!seen->from));
	return snprintf(buf, size,
			"%s sends message %u into the next receive that %s has posted%s%s: %s%s",
			who(seen->from), be32(ddp + 10), who(!seen->from),
			name[0] ? ", in the target's language " : "", name, where, inv);
}

static int terminate(const struct pkt *p, const struct flow_seen *seen, char *buf, size_t size)
{
	struct pkt_terminate t;
	char what[64] = "";

	if (seen->conn->terminated)
		snprintf(what, sizeof(what), " to packet %" PRIu64, seen->conn->terminated);
	pkt_terminate(p, &t);
	return snprintf(buf, size, "%s refuses what came%s: %s%s. The connection ends with it",
			who(seen->from), what, t.name ? t.name : "an unknown reason",
			t.siw ? " (in siw's order of layer and type)" : "");
}

/**
 * explain_iwarp_words() - an MPA frame or an FPDU in plain words
 * @p: unit
 * @seen: what it is to its connection
 * @buf: the words
 * @size: bytes there
 */
void explain_iwarp_words(const struct pkt *p, const struct flow_seen *seen, char *buf, size_t size)
{
	const uint8_t *ddp = pkt_bytes(p, PKT_DDP), *rdmap = pkt_bytes(p, PKT_RDMAP);
	const struct flow_msg *m = seen->msg;
	const unsigned int op = p->at[PKT_RDMAP].variant;
	char where[64];

	if (!seen->conn)
		return;
	if (p->at[PKT_MPA].variant != PKT_MPA_FPDU) {
		mpa(p, seen, buf, size);
		return;
	}
	if (!rdmap || p->fault)
		return;
	if (op == PKT_RDMAP_TERMINATE && p->at[PKT_RDMAP].len > 19) {
		terminate(p, seen, buf, size);
	} else if (!m) {
		snprintf(buf, size, "%s goes on with something that has no beginning",
			 who(seen->from));
	} else if (op == PKT_RDMAP_READ_REQUEST) {
		snprintf(buf, size,
			 "%s asks to read %" PRIu64 " bytes of the memory of %s, at 0x%" PRIx64
			 " with STag 0x%x (%s). They are to go to 0x%" PRIx64 " with STag 0x%x of its own",
			 who(seen->from), m->bytes, who(!seen->from), m->va, m->rkey,
			 flow_grant_words(m->grant), m->sink_va, m->sink_rkey);
	} else if (op == PKT_RDMAP_READ_RESPONSE) {
		place(where, sizeof(where), m, seen, be64(ddp + 6) - m->sink_va);
		snprintf(buf, size, "%s sends %s of the %" PRIu64 " that packet %" PRIu64
			 " asked for", who(seen->from), where, m->bytes, m->first_packet);
	} else if (op == PKT_RDMAP_WRITE) {
		write_words(ddp, seen, buf, size);
	} else {
		send_words(ddp, seen, buf, size);
	}
}
