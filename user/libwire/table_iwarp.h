/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * iWARP's part of the table of fields, for table.c.  RDMAP's first byte is DDP's second;
 * what it has further is behind DDP's header.
 */
#define MPA_FRAME(key, label) \
	F(key, label, 0, 128, BYTES), \
	F("iwarp_mpa.marker_flag", "wants markers in what it receives", 128, 1, BOOL), \
	F("iwarp_mpa.crc_flag", "wants CRCs", 129, 1, BOOL), \
	F("iwarp_mpa.rej_flag", "rejected", 130, 1, BOOL), \
	F("iwarp_mpa.res", "reserved", 131, 5, HEX), \
	F("rtgt.mpa.enhanced", "IRD and ORD come first (revision 2)", 131, 1, BOOL), \
	F("iwarp_mpa.rev", "revision", 136, 8, DEC), \
	F("iwarp_mpa.pdlength", "bytes of private data", 144, 16, DEC), \
	F("iwarp_mpa.privatedata", "private data", 160, 0, REST)

static const struct pkt_field mpa_request[] = {
	MPA_FRAME("iwarp_mpa.key.req", "\"MPA ID Req Frame\""),
};

static const struct pkt_field mpa_reply[] = {
	MPA_FRAME("iwarp_mpa.key.rep", "\"MPA ID Rep Frame\""),
};

static const struct pkt_field mpa_depths[] = {
	F("rtgt.mpa.peer2peer", "who asks for it need not send first", 0, 1, BOOL),
	F("rtgt.mpa.zero_send", "by an empty SEND", 1, 1, BOOL),
	F("rtgt.mpa.ird", "READs the sender answers at a time", 2, 14, DEC),
	F("rtgt.mpa.zero_write", "by an empty WRITE", 16, 1, BOOL),
	F("rtgt.mpa.zero_read", "by an empty READ", 17, 1, BOOL),
	F("rtgt.mpa.ord", "READs the sender asks for at a time", 18, 14, DEC),
};

static const struct pkt_field mpa_fpdu[] = {
	F("iwarp_mpa.ulpdulength", "bytes that follow, without padding and CRC", 0, 16, DEC),
};

static const struct pkt_field mpa_pad[] = {
	F("iwarp_mpa.pad", "padding", 0, 0, REST),
};

static const struct pkt_field mpa_no_crc[] = {
	F("iwarp_mpa.crc", "room for a CRC that is not in use", 0, 32, HEX),
};

static const struct pkt_field mpa_crc[] = {
	F("iwarp_mpa.crc_check", "CRC-32C of the FPDU", 0, 32, HEX),
};

static const struct pkt_field ddp[] = {
	F("iwarp_ddp.tagged_flag", "goes where a key says", 0, 1, BOOL),
	F("iwarp_ddp.last_flag", "the last segment of its message", 1, 1, BOOL),
	F("iwarp_ddp.rsvd", "reserved", 2, 4, HEX),
	F("iwarp_ddp.dv", "version of DDP", 6, 2, DEC),
};

static const struct pkt_field ddp_tagged[] = {
	F("iwarp_ddp.stag", "key to the memory", 16, 32, HEX),
	F("iwarp_ddp.tagged_offset", "address there", 48, 64, HEX),
};

static const struct pkt_field ddp_untagged[] = {
	F("iwarp_ddp.rsvdulp", "for RDMAP", 8, 40, BYTES),
	F("iwarp_ddp.qn", "queue: 0 SENDs, 1 READ requests, 2 Terminate", 48, 32, DEC),
	F("iwarp_ddp.msn", "number of the message", 80, 32, DEC),
	F("iwarp_ddp.mo", "place in the message", 112, 32, DEC),
};

static const struct pkt_field rdmap[] = {
	F("iwarp_rdma.version", "version of RDMAP", 0, 2, DEC),
	F("iwarp_rdma.rsv", "reserved", 2, 2, HEX),
	F("iwarp_rdma.opcode", "operation", 4, 4, HEX, words_rdmap),
};

static const struct pkt_field rdmap_reserved[] = {
	F("iwarp_rdma.reserved", "reserved", 8, 32, BYTES),
};

static const struct pkt_field rdmap_inv[] = {
	F("iwarp_rdma.inval_stag", "key to be made invalid", 8, 32, DEC),
};

static const struct pkt_field rdmap_read[] = {
	F("iwarp_rdma.reserved", "reserved", 8, 32, BYTES),
	F("iwarp_rdma.sinkstag", "key to where the bytes go", 136, 32, HEX),
	F("iwarp_rdma.sinkto", "address there", 168, 64, HEX),
	F("iwarp_rdma.rdmardsz", "bytes", 232, 32, DEC),
	F("iwarp_rdma.srcstag", "key to where they are", 264, 32, HEX),
	F("iwarp_rdma.srcto", "address there", 296, 64, HEX),
};

static const struct pkt_field rdmap_terminate[] = {
	F("iwarp_rdma.reserved", "reserved", 8, 32, BYTES),
	F("iwarp_rdma.term_layer", "which layer found it", 136, 4, HEX, words_layer),
	F("rtgt.rdmap.term_type", "type of error", 140, 4, HEX),
	F("rtgt.rdmap.term_code", "error", 144, 8, HEX),
	F("iwarp_rdma.term_hdrct_m", "has the segment's length", 152, 1, BOOL),
	F("iwarp_rdma.hdrct_d", "has DDP's header", 153, 1, BOOL),
	F("iwarp_rdma.hdrct_r", "has RDMAP's header", 154, 1, BOOL),
	F("iwarp_rdma.term_rsvd", "reserved", 155, 13, HEX),
};

#define IWARP_LAYOUTS \
	LAYOUT(MPA, PKT_MPA_REQUEST, mpa_request), LAYOUT(MPA, PKT_MPA_REPLY, mpa_reply), \
	LAYOUT(MPA, PKT_MPA_FPDU, mpa_fpdu), ANY(MPA_DEPTHS, mpa_depths), ANY(DDP, ddp), \
	LAYOUT(DDP, 1, ddp_tagged), LAYOUT(DDP, 0, ddp_untagged), ANY(RDMAP, rdmap), \
	LAYOUT(RDMAP, PKT_RDMAP_SEND, rdmap_reserved), LAYOUT(RDMAP, PKT_RDMAP_SEND_SE, rdmap_reserved), \
	LAYOUT(RDMAP, PKT_RDMAP_SEND_INV, rdmap_inv), LAYOUT(RDMAP, PKT_RDMAP_SEND_SE_INV, rdmap_inv), \
	LAYOUT(RDMAP, PKT_RDMAP_READ_REQUEST, rdmap_read), \
	LAYOUT(RDMAP, PKT_RDMAP_TERMINATE, rdmap_terminate), LAYOUT(PAD, 1, mpa_pad), LAYOUT(CRC, 0, mpa_no_crc), \
	LAYOUT(CRC, 1, mpa_crc),
