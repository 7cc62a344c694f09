/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One captured packet, taken apart.  No allocation, no I/O, no state: what needs the
 * packets before it (transactions, retransmissions, TCP streams) is not here.
 *
 * struct pkt holds what a program asks a packet for.  What a person asks for is in the
 * table of fields (fields.c): every field of every header by its place, its name (the
 * one tshark uses, where it has one), what it means and how its value reads.
 */
#ifndef RTGT_PACKET_H
#define RTGT_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Headers, in the order in which they may follow one another */
enum pkt_header {
	PKT_FRAME,	/* what the capture says of the packet: no bytes */
	PKT_ETH, PKT_VLAN, PKT_SLL, PKT_SLL2, PKT_ARP,
	PKT_IP4, PKT_IP6, PKT_IP6_EXT /* all extension headers */, PKT_ICMP, PKT_TCP, PKT_UDP,
	PKT_LRH, PKT_GRH,
	PKT_BTH, PKT_RDETH, PKT_DETH, PKT_XRCETH, PKT_FETH /* FLUSH */, PKT_RETH, PKT_ATOMICETH,
	PKT_AETH, PKT_ATOMICACKETH, PKT_IMMDT, PKT_IETH,
	PKT_MAD, PKT_CM /* variant: enum pkt_cm */,
	PKT_SERVICE /* the service ID of a REQ if it is rdma_cm's */,
	PKT_IP_CM /* rdma_cm's header of a REQ's private data */,
	/* private data of a CM message; variant: enum pkt_cm, 0 of a REQ without PKT_IP_CM */
	PKT_PRIVATE,
	PKT_RTGT_REQ, PKT_RTGT_REP, PKT_RTGT_REJ /* which these are, in PKT_PRIVATE */,
	PKT_CAP /* a plain capability there: address and rkey, perhaps a length */,
	PKT_MPA /* variant: enum pkt_mpa */, PKT_MPA_DEPTHS /* of READs */,
	PKT_DDP /* variant: 1 tagged */,
	PKT_RDMAP /* variant: opcode */,
	PKT_PAYLOAD, PKT_PAD, PKT_ICRC, PKT_VCRC, PKT_CRC /* MPA's; variant: 1 it is in use */,
	PKT_HEADERS
};

/* What the packet is for us */
enum pkt_kind { PKT_OTHER, PKT_ROCE, PKT_ROCE_CM, PKT_CNP, PKT_TCP_SEGMENT, PKT_IWARP };

enum pkt_icrc {
	PKT_ICRC_NONE,
	PKT_ICRC_OK,
	PKT_ICRC_BAD,
	PKT_ICRC_CUT	/* cannot be told: not all of the packet was captured */
};

/* What is wrong with a packet, the first of it; what is behind it may not be taken apart */
enum pkt_fault {
	PKT_WHOLE,
	PKT_CUT,	/* captured shorter than it was */
	PKT_SHORT,	/* a header reaches beyond the packet's end */
	PKT_LENGTH,	/* two lengths contradict one another */
	PKT_OPCODE,	/* no such operation */
	PKT_VERSION,	/* of a header */
	PKT_FRAGMENT,	/* a part of an IP datagram, not its beginning */
	PKT_LINK,	/* a link layer we do not know */
	PKT_FAULTS
};

enum pkt_mpa { PKT_MPA_REQUEST, PKT_MPA_REPLY, PKT_MPA_FPDU };

/* RDMAP's opcodes */
enum pkt_rdmap {
	PKT_RDMAP_WRITE, PKT_RDMAP_READ_REQUEST, PKT_RDMAP_READ_RESPONSE, PKT_RDMAP_SEND,
	PKT_RDMAP_SEND_INV,
	PKT_RDMAP_SEND_SE, PKT_RDMAP_SEND_SE_INV, PKT_RDMAP_TERMINATE, PKT_RDMAP_IMM,
	PKT_RDMAP_IMM_SE,
	PKT_RDMAP_ATOMIC_REQUEST, PKT_RDMAP_ATOMIC_RESPONSE
};

#define PKT_ANY_VARIANT	0xff

/* The CM's messages, as mad.attributeid tells them */
enum pkt_cm {
	PKT_CM_REQ = 0x10, PKT_CM_MRA, PKT_CM_REJ, PKT_CM_REP, PKT_CM_RTU, PKT_CM_DREQ, PKT_CM_DREP,
	PKT_CM_SIDR_REQ, PKT_CM_SIDR_REP, PKT_CM_LAP, PKT_CM_APR
};

/* The upper three bits of a BTH's opcode */
enum pkt_transport {
	PKT_RC = 0x00, PKT_UC = 0x20, PKT_RD = 0x40, PKT_UD = 0x60, PKT_CNP_OPCODE = 0x81,
	PKT_XRC = 0xa0
};

/* The lower five */
enum pkt_op {
	PKT_SEND_FIRST, PKT_SEND_MIDDLE, PKT_SEND_LAST, PKT_SEND_LAST_IMM, PKT_SEND_ONLY,
	PKT_SEND_ONLY_IMM,
	PKT_WRITE_FIRST, PKT_WRITE_MIDDLE, PKT_WRITE_LAST, PKT_WRITE_LAST_IMM, PKT_WRITE_ONLY,
	PKT_WRITE_ONLY_IMM, PKT_READ_REQUEST, PKT_READ_FIRST, PKT_READ_MIDDLE, PKT_READ_LAST,
	PKT_READ_ONLY,
	PKT_ACK, PKT_ATOMIC_ACK, PKT_COMPARE_SWAP, PKT_FETCH_ADD, PKT_RESYNC, PKT_SEND_LAST_INV,
	PKT_SEND_ONLY_INV, PKT_FLUSH = 0x1c, PKT_ATOMIC_WRITE = 0x1d
};

/* pkt.syndrome: what an AETH says, by its bits 6 and 5 */
#define PKT_SYNDROME(s)		((s) >> 5 & 3)
#define PKT_SYNDROME_VALUE(s)	((s) & 0x1f)
enum pkt_syndrome { PKT_AETH_ACK, PKT_AETH_RNR, PKT_AETH_RESERVED, PKT_AETH_NAK };

/**
 * struct pkt - a packet, taken apart
 * @data: the capture's bytes, valid until the next packet is read
 * @number: in the capture, from 1
 * @ns: since 1970
 * @first_ns: of the capture's first packet
 * @caplen: bytes captured
 * @len: bytes on the wire
 * @icrc_want: what the ICRC ought to be, where it could be computed
 * @payload: RoCE: bytes that it carries, padding left out; PKT_PAYLOAD is what was captured of them
 * @at: where each header is; len 0: there is none.  @variant tells layouts of the
 *	same header apart
 * @behind: iWARP: bytes of the stream after this unit that are no whole unit yet
 * @bad_marker: a marker of MPA in it is wrong
 * @ip_version: 4 or 6, also of GIDs; 0: the addresses are LIDs, or there are none
 * @src: IPv4 in the first four bytes, a LID in the last two
 */
struct pkt {
	const uint8_t *data;
	uint64_t number;
	uint64_t ns, first_ns;
	uint32_t caplen, len;
	enum pkt_kind kind;
	enum pkt_fault fault;
	enum pkt_icrc icrc;
	uint32_t icrc_want;
	uint32_t payload;
	struct {
		uint32_t off, len;
		uint8_t variant;
	} at[PKT_HEADERS];

	uint8_t ip_version;
	uint8_t src[16], dst[16];
	uint16_t sport, dport;
	bool fragment;			/* a part of a datagram */
	uint32_t behind;
	bool bad_marker;

	/* BTH */
	uint8_t opcode;			/* enum pkt_transport | enum pkt_op */
	bool solicited, ackreq, fecn, becn;
	uint8_t pad;
	uint16_t pkey;
	uint32_t qpn, psn;		/* the destination's QP */
	/* DETH */
	uint32_t qkey, src_qpn;
	/* RETH, AtomicETH */
	uint64_t va;
	uint32_t rkey, dma_len;
	uint64_t swap, compare;		/* of a FetchAdd swap is what is added */
	/* AETH, AtomicAckETH, ImmDt, IETH */
	uint8_t syndrome;
	uint32_t msn;
	uint64_t orig;
	uint32_t imm, inv_rkey;
	/* MAD of the CM */
	uint8_t mgmt_class;
	uint16_t attr;				/* enum pkt_cm */
	/* the sender's and the receiver's; a SIDR's request ID */
	uint32_t comm_id, remote_comm_id;
	/* REQ, REP: the sender's QP and starting PSN; DREQ: the remote QP */
	uint32_t cm_qpn, cm_psn;
	uint8_t path_mtu;			/* of a REQ: 1 is 256 bytes ... 5 is 4096 */
	/* as they are on the wire */
	uint8_t responder_resources, initiator_depth, retry, rnr_retry;
	uint16_t reason;			/* REJ; status of a SIDR_REP */
	uint64_t service_id;
};

/**
 * pkt_parse() - take a packet apart
 * @p: filled in; number, ns, first_ns, data, caplen and len are the caller's to set
 * @linktype: DLT_* of the capture
 *
 * Reads nothing beyond @p->caplen; whatever the bytes are it ends, with @p->fault
 * telling what it stumbled over first.
 */
void pkt_parse(struct pkt *p, int linktype);
void pkt_check_icrc(struct pkt *p, uint32_t end);

/* Does pkt_parse() know a link layer (DLT_*)? */
bool pkt_knows_link(int linktype);

/* Does the capture have all headers that its opcode announces?  Of a RoCE packet */
bool pkt_has_headers(const struct pkt *p);

/* Bytes of a header, NULL if there is none */
static inline const uint8_t *pkt_bytes(const struct pkt *p, enum pkt_header h)
{
	return p->at[h].len ? p->data + p->at[h].off : NULL;
}

/* words.c: names and plain words */
const char *pkt_header_name(enum pkt_header h);		/* "BTH" */
const char *pkt_kind_name(enum pkt_kind kind);		/* "roce" */
const char *pkt_icrc_name(enum pkt_icrc icrc);		/* "ok" */
const char *pkt_fault_name(enum pkt_fault fault);	/* "cut short by the capture" */
/* "RC RDMA WRITE First"; "unknown opcode" */
const char *pkt_opcode_name(uint8_t opcode);
const char *pkt_rdmap_name(unsigned int opcode);	/* "SEND"; NULL if there is none */
/* The error that a Terminate names, whichever layer found it */
enum pkt_cause {
	PKT_CAUSE_OTHER, PKT_CAUSE_STAG, PKT_CAUSE_BOUNDS, PKT_CAUSE_ACCESS, PKT_CAUSE_STREAM,
	PKT_CAUSE_WRAP, PKT_CAUSE_VERSION, PKT_CAUSE_QUEUE, PKT_CAUSE_MSN, PKT_CAUSE_OFFSET,
	PKT_CAUSE_OPERATION, PKT_CAUSE_CRC
};

/**
 * struct pkt_terminate - what a Terminate says
 * @name: why: "invalid STag"; NULL if there is no such code
 * @cause: the same for programs
 * @buffer: the error is one of a tagged (1) or an untagged (2) buffer of DDP; 0: it is neither
 * @ddp: the DDP header of the message that it refuses; NULL if there is none
 * @len: bytes from there on
 * @siw: layer and type are in each other's place, and the header bits in the lowest three,
 *	as siw sends them (Documentation/findings/siw-terminate-bits.rst)
 */
struct pkt_terminate {
	const char *name;
	enum pkt_cause cause;
	unsigned int buffer;
	const uint8_t *ddp;
	uint32_t len;
	bool siw;
};

void pkt_terminate(const struct pkt *p, struct pkt_terminate *t);
const char *pkt_cm_name(unsigned int attr);		/* "REQ"; NULL if there is none */
const char *pkt_nak_name(uint8_t syndrome);		/* "remote access error" */
/* what an RNR NAK asks to wait, in microseconds */
unsigned int pkt_rnr_us(uint8_t syndrome);
const char *pkt_reject_name(unsigned int reason);	/* "consumer reject" */
/* An address as text, @buf; "-" if there is none: see struct pkt */
const char *pkt_address(uint8_t ip_version, const uint8_t *addr, char *buf, size_t size);
const char *pkt_src(const struct pkt *p, char *buf, size_t size);
const char *pkt_dst(const struct pkt *p, char *buf, size_t size);
/* what the packet is, in one line */
size_t pkt_line(const struct pkt *p, char *buf, size_t size);

#endif /* RTGT_PACKET_H */
