// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What numbers mean: names and a few plain words, constant strings all.
 */
#include <rtgt/proto.h>
#include "packet.h"
#include "words.h"

#define PICK(array, i) ((i) < sizeof(array) / sizeof((array)[0]) ? (array)[i] : NULL)

const char *pkt_header_name(enum pkt_header h)
{
	static const char *const names[PKT_HEADERS] = {
		[PKT_FRAME] = "Frame", [PKT_ETH] = "Ethernet", [PKT_VLAN] = "VLAN", [PKT_SLL] = "SLL",
		[PKT_SLL2] = "SLL2", [PKT_ARP] = "ARP", [PKT_IP4] = "IPv4", [PKT_IP6] = "IPv6",
		[PKT_IP6_EXT] = "IPv6 extensions", [PKT_ICMP] = "ICMP", [PKT_TCP] = "TCP", [PKT_UDP] = "UDP",
		[PKT_LRH] = "LRH", [PKT_GRH] = "GRH",
		[PKT_BTH] = "BTH", [PKT_RDETH] = "RDETH", [PKT_DETH] = "DETH", [PKT_XRCETH] = "XRCETH",
		[PKT_FETH] = "FETH", [PKT_RETH] = "RETH", [PKT_ATOMICETH] = "AtomicETH",
		[PKT_AETH] = "AETH", [PKT_ATOMICACKETH] = "AtomicAckETH", [PKT_IMMDT] = "ImmDt",
		[PKT_IETH] = "IETH", [PKT_MAD] = "MAD", [PKT_CM] = "CM", [PKT_SERVICE] = "service ID",
		[PKT_IP_CM] = "RDMA IP CM",
		[PKT_PRIVATE] = "private data", [PKT_RTGT_REQ] = "rtgt REQ", [PKT_RTGT_REP] = "rtgt REP",
		[PKT_RTGT_REJ] = "rtgt REJ", [PKT_CAP] = "capability", [PKT_MPA] = "MPA",
		[PKT_MPA_DEPTHS] = "MPA depths",
		[PKT_DDP] = "DDP", [PKT_RDMAP] = "RDMAP", [PKT_PAYLOAD] = "payload", [PKT_PAD] = "padding",
		[PKT_ICRC] = "ICRC", [PKT_VCRC] = "VCRC", [PKT_CRC] = "CRC",
	};

	return PICK(names, h);
}

const char *pkt_kind_name(enum pkt_kind kind)
{
	static const char *const names[] = {
		[PKT_OTHER] = "other", [PKT_ROCE] = "roce", [PKT_ROCE_CM] = "cm", [PKT_CNP] = "cnp",
		[PKT_TCP_SEGMENT] = "tcp", [PKT_IWARP] = "iwarp",
	};

	return PICK(names, kind);
}

const char *pkt_icrc_name(enum pkt_icrc icrc)
{
	static const char *const names[] = {
		[PKT_ICRC_NONE] = "none", [PKT_ICRC_OK] = "ok", [PKT_ICRC_BAD] = "bad", [PKT_ICRC_CUT] = "cut",
	};

	return PICK(names, icrc);
}

const char *pkt_fault_name(enum pkt_fault fault)
{
	static const char *const names[PKT_FAULTS] = {
		[PKT_CUT] = "not all of it was captured",
		[PKT_SHORT] = "a header reaches beyond its end",
		[PKT_LENGTH] = "its lengths contradict one another",
		[PKT_OPCODE] = "there is no such operation",
		[PKT_VERSION] = "a header is of a version that does not exist",
		[PKT_FRAGMENT] = "a fragment of an IP datagram",
		[PKT_LINK] = "a link layer that is not known here",
	};

	return PICK(names, fault);
}

#define OPERATIONS(t) \
	[PKT_SEND_FIRST] = t " SEND First", [PKT_SEND_MIDDLE] = t " SEND Middle", \
	[PKT_SEND_LAST] = t " SEND Last", [PKT_SEND_LAST_IMM] = t " SEND Last with Immediate", \
	[PKT_SEND_ONLY] = t " SEND Only", [PKT_SEND_ONLY_IMM] = t " SEND Only with Immediate", \
	[PKT_WRITE_FIRST] = t " RDMA WRITE First", [PKT_WRITE_MIDDLE] = t " RDMA WRITE Middle", \
	[PKT_WRITE_LAST] = t " RDMA WRITE Last", \
	[PKT_WRITE_LAST_IMM] = t " RDMA WRITE Last with Immediate", \
	[PKT_WRITE_ONLY] = t " RDMA WRITE Only", [PKT_WRITE_ONLY_IMM] = t " RDMA WRITE Only with Immediate"
#define ANSWERED(t) \
	[PKT_READ_REQUEST] = t " RDMA READ Request", [PKT_READ_FIRST] = t " RDMA READ Response First", \
	[PKT_READ_MIDDLE] = t " RDMA READ Response Middle", \
	[PKT_READ_LAST] = t " RDMA READ Response Last", [PKT_READ_ONLY] = t " RDMA READ Response Only", \
	[PKT_ACK] = t " Acknowledge", [PKT_ATOMIC_ACK] = t " Atomic Acknowledge", \
	[PKT_COMPARE_SWAP] = t " Compare Swap", [PKT_FETCH_ADD] = t " Fetch Add"
#define RELIABLE(t) \
	OPERATIONS(t), ANSWERED(t), [PKT_SEND_LAST_INV] = t " SEND Last with Invalidate", \
	[PKT_SEND_ONLY_INV] = t " SEND Only with Invalidate", [PKT_FLUSH] = t " FLUSH", \
	[PKT_ATOMIC_WRITE] = t " ATOMIC WRITE"

const char *pkt_opcode_name(uint8_t opcode)
{
	static const char *const names[8][32] = {
		[PKT_RC >> 5] = { RELIABLE("RC") },
		[PKT_UC >> 5] = { OPERATIONS("UC") },
		[PKT_RD >> 5] = { OPERATIONS("RD"), ANSWERED("RD"), [PKT_RESYNC] = "RD Resync" },
		[PKT_UD >> 5] = { [PKT_SEND_ONLY] = "UD SEND Only",
				  [PKT_SEND_ONLY_IMM] = "UD SEND Only with Immediate" },
		[PKT_CNP_OPCODE >> 5] = { [PKT_CNP_OPCODE & 0x1f] = "CNP" },
		[PKT_XRC >> 5] = { RELIABLE("XRC") },
	};
	const char *name = names[opcode >> 5][opcode & 0x1f];

	return name ? name : "unknown opcode";
}

const char *pkt_cm_name(unsigned int attr)
{
	static const char *const names[] = {
		[PKT_CM_REQ] = "REQ", [PKT_CM_MRA] = "MRA", [PKT_CM_REJ] = "REJ", [PKT_CM_REP] = "REP",
		[PKT_CM_RTU] = "RTU", [PKT_CM_DREQ] = "DREQ", [PKT_CM_DREP] = "DREP",
		[PKT_CM_SIDR_REQ] = "SIDR_REQ", [PKT_CM_SIDR_REP] = "SIDR_REP", [PKT_CM_LAP] = "LAP",
		[PKT_CM_APR] = "APR",
	};

	return PICK(names, attr);
}

const char *pkt_nak_name(uint8_t syndrome)
{
	static const char *const names[] = {
		"PSN sequence error", "invalid request", "remote access error", "remote operational error",
		"invalid RD request",
	};
	const char *name = PICK(names, PKT_SYNDROME_VALUE(syndrome));

	return name ? name : "unknown error";
}

/* An RNR NAK's time: in microseconds, and as text */
#define RNR_TIMES(X) \
	X(655360, "655.36 ms"), X(10, "0.01 ms"), X(20, "0.02 ms"), X(30, "0.03 ms"), X(40, "0.04 ms"), \
	X(60, "0.06 ms"), X(80, "0.08 ms"), X(120, "0.12 ms"), X(160, "0.16 ms"), X(240, "0.24 ms"), \
	X(320, "0.32 ms"), X(480, "0.48 ms"), X(640, "0.64 ms"), X(960, "0.96 ms"), X(1280, "1.28 ms"), \
	X(1920, "1.92 ms"), X(2560, "2.56 ms"), X(3840, "3.84 ms"), X(5120, "5.12 ms"), \
	X(7680, "7.68 ms"), X(10240, "10.24 ms"), X(15360, "15.36 ms"), X(20480, "20.48 ms"), \
	X(30720, "30.72 ms"), X(40960, "40.96 ms"), X(61440, "61.44 ms"), X(81920, "81.92 ms"), \
	X(122880, "122.88 ms"), X(163840, "163.84 ms"), X(245760, "245.76 ms"), X(327680, "327.68 ms"), \
	X(491520, "491.52 ms")

unsigned int pkt_rnr_us(uint8_t syndrome)
{
#define US(us, text) us
	static const unsigned int times[32] = { RNR_TIMES(US) };

	return times[PKT_SYNDROME_VALUE(syndrome)];
}

const char *words_rnr(uint64_t value)
{
#define TEXT(us, text) text
	static const char *const times[32] = { RNR_TIMES(TEXT) };

	return PICK(times, value);
}

const char *pkt_reject_name(unsigned int reason)
{
	static const char *const names[] = {
		[1] = "no QP available", [2] = "no end-to-end context available", [3] = "no resources available",
		[4] = "timeout", [5] = "unsupported request", [6] = "invalid communication ID",
		[7] = "invalid communication instance", [8] = "invalid service ID",
		[9] = "invalid transport service type", [10] = "stale connection",
		[11] = "no such reliable datagram channel", [12] = "primary remote GID rejected",
		[13] = "primary remote LID rejected", [14] = "invalid primary service level",
		[15] = "invalid primary traffic class", [16] = "invalid primary hop limit",
		[17] = "invalid primary packet rate", [18] = "alternate remote GID rejected",
		[19] = "alternate remote LID rejected", [20] = "invalid alternate service level",
		[21] = "invalid alternate traffic class", [22] = "invalid alternate hop limit",
		[23] = "invalid alternate packet rate", [24] = "port and CM redirection",
		[25] = "port redirection", [26] = "invalid path MTU",
		[27] = "insufficient responder resources", [28] = "consumer reject",
		[29] = "RNR retry count rejected", [30] = "duplicate local communication ID",
		[31] = "invalid class version", [32] = "invalid flow label",
		[33] = "invalid alternate flow label", [65] = "vendor option not supported",
	};
	const char *name = PICK(names, reason);

	return name ? name : "unknown reason";
}

const char *words_ethertype(uint64_t value)
{
	switch (value) {
	case 0x0800: return "IPv4";
	case 0x0806: return "ARP";
	case 0x8100: return "VLAN";
	case 0x86dd: return "IPv6";
	case 0x8808: return "MAC control";
	case 0x88a8: return "service VLAN";
	case 0x8915: return "RoCE v1";
	case 0x9100: return "VLAN of 0x9100";
	}
	return NULL;
}

const char *words_protocol(uint64_t value)
{
	static const char *const names[] = {
		[0] = "hop-by-hop options", [1] = "ICMP", [2] = "IGMP", [6] = "TCP", [17] = "UDP",
		[43] = "routing header", [44] = "fragment header", [51] = "authentication header",
		[58] = "ICMPv6", [60] = "destination options",
	};

	return PICK(names, value);
}

const char *words_opcode(uint64_t value)
{
	return pkt_opcode_name((uint8_t)value);
}

const char *words_aeth(uint64_t value)
{
	static const char *const names[] = { "ACK", "RNR NAK: no receive posted", "reserved", "NAK" };

	return PICK(names, value);
}

const char *words_credits(uint64_t value)
{
	static const char *const names[] = {
		"0", "1", "2", "3", "4", "6", "8", "12", "16", "24", "32", "48", "64", "96", "128", "192", "256",
		"384", "512", "768", "1024", "1536", "2048", "3072", "4096", "6144", "8192", "12288", "16384",
		"24576", "32768", "credits are not used",
	};

	return PICK(names, value);
}

const char *words_nak(uint64_t value)
{
	return pkt_nak_name((uint8_t)value);
}

const char *words_class(uint64_t value)
{
	switch (value) {
	case 0x01: return "subnet management";
	case 0x03: return "subnet administration";
	case 0x04: return "performance management";
	case 0x07: return "communication management";
	}
	return NULL;
}

const char *words_attribute(uint64_t value)
{
	return pkt_cm_name((unsigned int)value);
}

const char *words_mtu(uint64_t value)
{
	static const char *const names[] = {
		NULL, "256 bytes", "512 bytes", "1024 bytes", "2048 bytes", "4096 bytes",
	};

	return PICK(names, value);
}

const char *words_service(uint64_t value)
{
	static const char *const names[] = { "RC", "UC", "RD", "extended" };

	return PICK(names, value);
}

/* 4.096 us times two to the power of the value */
const char *words_timeout(uint64_t value)
{
	static const char *const names[] = {
		"none", "8.2 us", "16.4 us", "32.8 us", "65.5 us", "131 us", "262 us", "524 us", "1.05 ms",
		"2.1 ms", "4.19 ms", "8.39 ms", "16.8 ms", "33.6 ms", "67.1 ms", "134 ms", "268 ms", "537 ms",
		"1.07 s", "2.15 s", "4.29 s", "8.59 s", "17.2 s", "34.4 s", "68.7 s", "137 s", "275 s",
		"550 s", "1100 s", "2199 s", "4398 s", "8796 s",
	};

	return PICK(names, value);
}

const char *words_retry(uint64_t value)
{
	return value == 7 ? "for ever" : NULL;
}

const char *words_rejected(uint64_t value)
{
	/* Linux says 2 in a REJ of a side that gave up */
	static const char *const names[] = { "REQ", "REP", "no message" };

	return PICK(names, value);
}

const char *words_mraed(uint64_t value)
{
	static const char *const names[] = { "REQ", "REP", "LAP" };

	return PICK(names, value);
}

const char *words_reason(uint64_t value)
{
	return pkt_reject_name((unsigned int)value);
}

const char *words_sidr(uint64_t value)
{
	static const char *const names[] = {
		"valid", "service ID not supported", "rejected by the service", "no QP available",
		"redirected", "version not supported",
	};

	return PICK(names, value);
}

const char *words_rtgt_reason(uint64_t value)
{
	return rtgt_rej_name((uint32_t)value);
}

const char *words_features(uint64_t value)
{
	return value & RTGT_F_PRIVATE ? "regions of this connection's own" : NULL;
}

const char *words_access(uint64_t value)
{
	static const char *const names[] = {
		"nothing", "READ", "WRITE", "READ, WRITE", "ATOMIC", "READ, ATOMIC", "WRITE, ATOMIC",
		"READ, WRITE, ATOMIC", "FLUSH", "READ, FLUSH", "WRITE, FLUSH", "READ, WRITE, FLUSH",
		"ATOMIC, FLUSH", "READ, ATOMIC, FLUSH", "WRITE, ATOMIC, FLUSH", "READ, WRITE, ATOMIC, FLUSH",
	};

	return names[value & 0xf];
}

const char *words_flush(uint64_t value)
{
	static const char *const names[] = { "a range", "a memory region" };

	return PICK(names, value);
}

const char *words_placement(uint64_t value)
{
	static const char *const names[] = {
		NULL, "until all see it", "until it is persistent", "until all see it and it is persistent",
	};

	return PICK(names, value);
}

const char *pkt_rdmap_name(unsigned int opcode)
{
	static const char *const names[] = {
		[PKT_RDMAP_WRITE] = "RDMA WRITE", [PKT_RDMAP_READ_REQUEST] = "RDMA READ Request",
		[PKT_RDMAP_READ_RESPONSE] = "RDMA READ Response", [PKT_RDMAP_SEND] = "SEND",
		[PKT_RDMAP_SEND_INV] = "SEND with Invalidate", [PKT_RDMAP_SEND_SE] = "SEND with Solicited Event",
		[PKT_RDMAP_SEND_SE_INV] = "SEND with Solicited Event and Invalidate",
		[PKT_RDMAP_TERMINATE] = "Terminate", [PKT_RDMAP_IMM] = "Immediate Data",
		[PKT_RDMAP_IMM_SE] = "Immediate Data with Solicited Event",
		[PKT_RDMAP_ATOMIC_REQUEST] = "Atomic Request",
		[PKT_RDMAP_ATOMIC_RESPONSE] = "Atomic Response",
	};

	return PICK(names, opcode);
}

const char *words_rdmap(uint64_t value)
{
	return pkt_rdmap_name((unsigned int)value);
}

#define LAYER_DDP	1

struct terminate_error {
	uint8_t layer, type, code;
	enum pkt_cause cause;
	const char *name;
};

/* RFC 5040, 4.8 (RDMAP); RFC 5041, 7.2 (DDP); RFC 5044, 8 and RFC 6581, 8 (MPA) */
static const struct terminate_error *terminate_error(unsigned int layer, unsigned int type,
						     unsigned int code)
{
	static const struct terminate_error all[] = {
		/* this type has no codes: any may be there */
		{ 0, 0, 0x00, PKT_CAUSE_OTHER, "error of the sender's own" },
		{ 0, 1, 0x00, PKT_CAUSE_STAG, "invalid STag" },
		{ 0, 1, 0x01, PKT_CAUSE_BOUNDS, "base or bounds violation" },
		{ 0, 1, 0x02, PKT_CAUSE_ACCESS, "access rights violation" },
		{ 0, 1, 0x03, PKT_CAUSE_STREAM, "STag is not associated with this stream" },
		{ 0, 1, 0x04, PKT_CAUSE_WRAP, "tagged offset wraps" },
		{ 0, 1, 0x09, PKT_CAUSE_OTHER, "STag cannot be invalidated" },
		{ 0, 1, 0xff, PKT_CAUSE_OTHER, "remote protection error, unspecified" },
		{ 0, 2, 0x05, PKT_CAUSE_VERSION, "invalid version of RDMAP" },
		{ 0, 2, 0x06, PKT_CAUSE_OPERATION, "unexpected operation" },
		{ 0, 2, 0x07, PKT_CAUSE_OTHER, "catastrophic error of this stream" },
		{ 0, 2, 0x08, PKT_CAUSE_OTHER, "catastrophic error of the whole device" },
		{ 0, 2, 0x09, PKT_CAUSE_OTHER, "STag cannot be invalidated" },
		{ 0, 2, 0xff, PKT_CAUSE_OTHER, "remote operation error, unspecified" },
		{ 1, 0, 0x00, PKT_CAUSE_OTHER, "error of the sender's own" },
		{ 1, 1, 0x00, PKT_CAUSE_STAG, "invalid STag" },
		{ 1, 1, 0x01, PKT_CAUSE_BOUNDS, "base or bounds violation" },
		{ 1, 1, 0x02, PKT_CAUSE_STREAM, "STag is not associated with this stream" },
		{ 1, 1, 0x03, PKT_CAUSE_WRAP, "tagged offset wraps" },
		{ 1, 1, 0x04, PKT_CAUSE_VERSION, "invalid version of DDP" },
		{ 1, 2, 0x01, PKT_CAUSE_QUEUE, "invalid queue number" },
		{ 1, 2, 0x02, PKT_CAUSE_OTHER, "no receive is posted for this MSN" },
		{ 1, 2, 0x03, PKT_CAUSE_MSN, "MSN is out of range" },
		{ 1, 2, 0x04, PKT_CAUSE_OFFSET, "invalid message offset" },
		{ 1, 2, 0x05, PKT_CAUSE_OTHER, "message is too long for the receive" },
		{ 1, 2, 0x06, PKT_CAUSE_VERSION, "invalid version of DDP" },
		{ 2, 0, 0x01, PKT_CAUSE_OTHER, "TCP connection is lost" },
		{ 2, 0, 0x02, PKT_CAUSE_CRC, "CRC is wrong" },
		{ 2, 0, 0x03, PKT_CAUSE_OTHER, "marker and length do not match" },
		{ 2, 0, 0x04, PKT_CAUSE_OTHER, "invalid MPA request or reply" },
		{ 2, 0, 0x05, PKT_CAUSE_OTHER, "error of the sender's own" },
		{ 2, 0, 0x06, PKT_CAUSE_OTHER, "not enough READs at a time (IRD)" },
		{ 2, 0, 0x07, PKT_CAUSE_OTHER, "no common ready-to-receive message" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].layer == layer && all[i].type == type &&
		    (all[i].code == code || !(layer | type)))
			return &all[i];
	return NULL;
}

/**
 * pkt_terminate() - what a Terminate says, and what it refuses
 * @p: an FPDU with a Terminate, perhaps cut short
 * @t: what it says; points into the packet
 *
 * A device that puts the bits where RFC 5040 has them leaves the five below them 0.
 */
void pkt_terminate(const struct pkt *p, struct pkt_terminate *t)
{
	const uint8_t *rdmap = pkt_bytes(p, PKT_RDMAP), *quoted = pkt_bytes(p, PKT_PAYLOAD);
	uint32_t len = p->at[PKT_PAYLOAD].len;
	const struct terminate_error *error;
	unsigned int layer, type;
	bool has_length, has_ddp;

	*t = (struct pkt_terminate){ };
	if (p->at[PKT_RDMAP].len < 21)
		return;
	layer = rdmap[17] >> 4;
	type = rdmap[17] & 0xf;
	has_length = rdmap[19] & 0x80;
	has_ddp = rdmap[19] & 0x40;
	t->siw = !(rdmap[19] & 0xe0) && rdmap[19] & 0x07;
	if (t->siw) {
		has_length = rdmap[19] & 0x01;
		has_ddp = rdmap[19] & 0x02;
	}
	error = t->siw ? terminate_error(type, layer, rdmap[18]) :
			 terminate_error(layer, type, rdmap[18]);
	/* Without headers nothing tells the order, but often only one of the two is defined */
	if (!error && !(rdmap[19] & 0xe7)) {
		error = terminate_error(type, layer, rdmap[18]);
		t->siw = error;
	}
	if (error) {
		t->name = error->name;
		t->cause = error->cause;
		t->buffer = error->layer == LAYER_DDP ? error->type : 0;
	}
	if (!has_ddp || !quoted)
		return;
	if (has_length && len > 2) {
		quoted += 2;
		len -= 2;
	}
	if (len < (quoted[0] & 0x80 ? 14 : 18))
		return;
	t->ddp = quoted;
	t->len = len;
}

const char *words_layer(uint64_t value)
{
	static const char *const names[] = { "RDMAP", "DDP", "MPA" };

	return PICK(names, value);
}

const char *words_kind(uint64_t value)
{
	return pkt_kind_name((enum pkt_kind)value);
}

const char *words_icrc(uint64_t value)
{
	return pkt_icrc_name((enum pkt_icrc)value);
}

const char *words_fault(uint64_t value)
{
	return pkt_fault_name((enum pkt_fault)value);
}
