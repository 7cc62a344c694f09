// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The table of fields: a line a field, an array a header, or of a header that comes in
 * variants one for what they share and one for what each has beyond that.  Where tshark
 * has a field, name and format are its own: a test compares every value.
 */
#include <rtgt/uapi.h>
#include "fields.h"
#include "words.h"

#define SECOND(a, b, ...) b
/* name, label, first bit, bits, format without PKT_, and perhaps words_... */
#define F(n, l, first, count, form, ...) \
	{ .name = n, .label = l, .bit = first, .bits = count, .format = PKT_##form, \
	  .words = SECOND(NULL, ##__VA_ARGS__, NULL) }
/* A member of struct pkt: name, label, member, format, words_... */
#define M(name, label, member, format, ...) \
	F(name, label, 8 * offsetof(struct pkt, member), 8 * sizeof(((struct pkt *)0)->member), \
	  format, ##__VA_ARGS__)
/* A member of a structure of rtgt's own */
#define R(name, label, structure, member, format, ...) \
	F(name, label, 8 * offsetof(struct structure, member), \
	  8 * sizeof(((struct structure *)0)->member), format, ##__VA_ARGS__)

static const struct pkt_field frame[] = {
	M("frame.number", "packet", number, MEMBER),
	M("frame.time_epoch", "seconds since 1970", ns, TIME),
	M("frame.time_relative", "seconds since the first packet", ns, SINCE),
	M("frame.len", "bytes on the wire", len, MEMBER),
	M("frame.cap_len", "bytes captured", caplen, MEMBER),
	M("rtgt.kind", "what it is", kind, WORDS, words_kind),
	M("rtgt.icrc", "is the ICRC right", icrc, WORDS, words_icrc),
	M("rtgt.fault", "what is wrong with it", fault, WORDS, words_fault),
};

static const struct pkt_field eth[] = {
	F("eth.dst", "destination MAC", 0, 48, ETHER),
	F("eth.src", "source MAC", 48, 48, ETHER),
	F("eth.type", "type of what follows", 96, 16, HEX, words_ethertype),
};

static const struct pkt_field vlan[] = {
	F("vlan.priority", "priority", 0, 3, DEC),
	F("vlan.dei", "may be dropped first", 3, 1, BOOL),
	F("vlan.id", "VLAN", 4, 12, DEC),
	F("vlan.etype", "type of what follows", 16, 16, HEX, words_ethertype),
};

static const struct pkt_field sll[] = {
	F("sll.pkttype", "direction", 0, 16, DEC),
	F("sll.hatype", "type of device", 16, 16, DEC),
	F("sll.halen", "length of its address", 32, 16, DEC),
	F("sll.src.eth", "source MAC", 48, 48, ETHER),
	F("sll.unused", "unused", 96, 16, BYTES),
	F("sll.etype", "type of what follows", 112, 16, HEX, words_ethertype),
};

static const struct pkt_field sll2[] = {
	F("sll.etype", "type of what follows", 0, 16, HEX, words_ethertype),
	F("sll.ifindex", "interface", 32, 32, DEC),
	F("sll.hatype", "type of device", 64, 16, DEC),
	F("sll.pkttype", "direction", 80, 8, DEC),
	F("sll.halen", "length of its address", 88, 8, DEC),
	F("sll.src.eth", "source MAC", 96, 48, ETHER),
	F("sll.unused", "unused", 144, 16, BYTES),
};

static const struct pkt_field arp[] = {
	F("arp.hw.type", "type of hardware", 0, 16, DEC),
	F("arp.proto.type", "type of protocol", 16, 16, HEX, words_ethertype),
	F("arp.hw.size", "length of a hardware address", 32, 8, DEC),
	F("arp.proto.size", "length of a protocol address", 40, 8, DEC),
	F("arp.opcode", "1 asks, 2 answers", 48, 16, DEC),
	F("arp.src.hw_mac", "sender's MAC", 64, 48, ETHER),
	F("arp.src.proto_ipv4", "sender's address", 112, 32, IPV4),
	F("arp.dst.hw_mac", "MAC asked for", 144, 48, ETHER),
	F("arp.dst.proto_ipv4", "address asked for", 192, 32, IPV4),
};

static const struct pkt_field ip4[] = {
	F("ip.version", "version", 0, 4, DEC),
	F("ip.hdr_len", "bytes of this header", 4, 4, DEC4),
	F("ip.dsfield", "type of service", 8, 8, HEX),
	F("ip.dsfield.dscp", "service class", 8, 6, DEC),
	F("ip.dsfield.ecn", "explicit congestion notification", 14, 2, DEC),
	F("ip.len", "bytes from here on", 16, 16, DEC),
	F("ip.id", "number of the datagram", 32, 16, HEX),
	F("ip.flags", "flags", 48, 3, HEX),
	F("ip.flags.df", "must not be fragmented", 49, 1, BOOL),
	F("ip.flags.mf", "more fragments follow", 50, 1, BOOL),
	F("ip.frag_offset", "place in the datagram, in units of eight bytes", 51, 13, DEC),
	F("ip.ttl", "routers it may pass", 64, 8, DEC),
	F("ip.proto", "protocol of what follows", 72, 8, DEC, words_protocol),
	F("ip.checksum", "checksum of this header", 80, 16, HEX),
	F("ip.src", "source address", 96, 32, IPV4),
	F("ip.dst", "destination address", 128, 32, IPV4),
};

static const struct pkt_field ip6[] = {
	F("ipv6.version", "version", 0, 4, DEC),
	F("ipv6.tclass", "traffic class", 4, 8, HEX32),
	F("ipv6.tclass.dscp", "service class", 4, 6, DEC),
	F("ipv6.tclass.ecn", "explicit congestion notification", 10, 2, DEC),
	F("ipv6.flow", "flow label", 12, 20, HEX),
	F("ipv6.plen", "bytes behind this header", 32, 16, DEC),
	F("ipv6.nxt", "protocol of what follows", 48, 8, DEC, words_protocol),
	F("ipv6.hlim", "routers it may pass", 56, 8, DEC),
	F("ipv6.src", "source address", 64, 128, IPV6),
	F("ipv6.dst", "destination address", 192, 128, IPV6),
};

static const struct pkt_field icmp[] = {
	F("icmp.type", "type", 0, 8, DEC),
	F("icmp.code", "code", 8, 8, DEC),
	F("icmp.checksum", "checksum", 16, 16, HEX),
};

static const struct pkt_field icmp6[] = {
	F("icmpv6.type", "type", 0, 8, DEC),
	F("icmpv6.code", "code", 8, 8, DEC),
	F("icmpv6.checksum", "checksum", 16, 16, HEX),
};

static const struct pkt_field tcp[] = {
	F("tcp.srcport", "source port", 0, 16, DEC),
	F("tcp.dstport", "destination port", 16, 16, DEC),
	F("tcp.seq_raw", "place of the first byte in the stream", 32, 32, DEC),
	F("tcp.ack_raw", "next byte expected", 64, 32, DEC),
	F("tcp.hdr_len", "bytes of this header", 96, 4, DEC4),
	F("tcp.flags", "flags", 100, 12, HEX),
	F("tcp.flags.ack", "an acknowledgment", 107, 1, BOOL),
	F("tcp.flags.push", "deliver at once", 108, 1, BOOL),
	F("tcp.flags.reset", "reset", 109, 1, BOOL),
	F("tcp.flags.syn", "open", 110, 1, BOOL),
	F("tcp.flags.fin", "close", 111, 1, BOOL),
	F("tcp.window_size_value", "room for more bytes, scaled", 112, 16, DEC),
	F("tcp.checksum", "checksum", 128, 16, HEX),
	F("tcp.urgent_pointer", "end of urgent bytes", 144, 16, DEC),
};

static const struct pkt_field udp[] = {
	F("udp.srcport", "source port: one per flow, for load balancing", 0, 16, DEC),
	F("udp.dstport", "destination port: 4791 is RoCE v2", 16, 16, DEC),
	F("udp.length", "bytes from here on", 32, 16, DEC),
	F("udp.checksum", "checksum; 0: none, the ICRC covers it", 48, 16, HEX),
};

static const struct pkt_field bth[] = {
	F("infiniband.bth.opcode", "operation", 0, 8, DEC, words_opcode),
	F("infiniband.bth.se", "solicited event: the sender wants the receiver to be woken", 8, 1, BOOL),
	F("infiniband.bth.m", "migration state", 9, 1, BOOL),
	F("infiniband.bth.padcnt", "bytes that pad the payload to a multiple of four", 10, 2, DEC),
	F("infiniband.bth.tver", "version of the transport", 12, 4, DEC),
	F("infiniband.bth.p_key", "partition key", 16, 16, DEC),
	F("rtgt.bth.fecn", "congestion on the way here", 32, 1, BOOL),
	F("rtgt.bth.becn", "congestion on the way back", 33, 1, BOOL),
	F("infiniband.bth.destqp", "destination's queue pair", 40, 24, HEX),
	F("infiniband.bth.a", "requests an acknowledgment; no meaning in datagrams", 64, 1, BOOL),
	F("infiniband.bth.reserved7", "reserved", 65, 7, DEC),
	F("infiniband.bth.psn", "packet sequence number", 72, 24, DEC),
};

static const struct pkt_field lrh[] = {
	F("infiniband.lrh.vl", "virtual lane", 0, 4, HEX),
	F("infiniband.lrh.lver", "version of the link", 4, 4, DEC),
	F("infiniband.lrh.sl", "service level", 8, 4, DEC),
	F("infiniband.lrh.lnh", "what follows: 2 a BTH, 3 a GRH", 14, 2, HEX),
	F("infiniband.lrh.dlid", "destination's LID", 16, 16, DEC),
	F("infiniband.lrh.pktlen", "length up to the ICRC, in units of four bytes", 37, 11, DEC),
	F("infiniband.lrh.slid", "source's LID", 48, 16, DEC),
};

static const struct pkt_field grh[] = {
	F("infiniband.grh.ipver", "version", 0, 4, DEC),
	F("infiniband.grh.tclass", "traffic class", 4, 8, DEC),
	F("infiniband.grh.flowlabel", "flow label", 12, 20, DEC),
	F("infiniband.grh.paylen", "bytes behind this header", 32, 16, DEC),
	F("infiniband.grh.nxthdr", "protocol of what follows", 48, 8, DEC),
	F("infiniband.grh.hoplmt", "routers it may pass", 56, 8, DEC),
	F("infiniband.grh.sgid", "source's GID", 64, 128, IPV6),
	F("infiniband.grh.dgid", "destination's GID", 192, 128, IPV6),
};

static const struct pkt_field rdeth[] = {
	F("infiniband.rdeth.eecnxt", "end-to-end context", 8, 24, DEC),
};

static const struct pkt_field deth[] = {
	F("infiniband.deth.q_key", "queue key: that of the receiver's queue pair", 0, 32, HEX64),
	F("infiniband.deth.srcqp", "source's queue pair", 40, 24, HEX32),
};

static const struct pkt_field xrceth[] = {
	F("rtgt.xrceth.srq", "shared receive queue", 8, 24, HEX),
};

static const struct pkt_field feth[] = {
	F("infiniband.feth.reserved27", "reserved", 0, 27, DEC),
	F("infiniband.feth.sel", "what is flushed", 27, 2, DEC, words_flush),
	F("infiniband.feth.plt", "how far", 29, 3, DEC, words_placement),
};

static const struct pkt_field reth[] = {
	F("infiniband.reth.va", "address in the target's memory", 0, 64, HEX),
	F("infiniband.reth.r_key", "key to that memory", 64, 32, HEX),
	F("infiniband.reth.dmalen", "bytes of the whole message", 96, 32, DEC),
};

static const struct pkt_field atomiceth[] = {
	F("infiniband.reth.va", "address in the target's memory", 0, 64, HEX),
	F("infiniband.reth.r_key", "key to that memory", 64, 32, HEX),
	F("infiniband.atomiceth.swapdt", "what to swap in or to add", 96, 64, DEC),
	F("infiniband.atomiceth.cmpdt", "what to compare with", 160, 64, DEC),
};

static const struct pkt_field aeth[] = {
	F("infiniband.aeth.syndrome", "syndrome", 0, 8, DEC),
	F("infiniband.aeth.syndrome.opcode", "acknowledged or not", 1, 2, DEC, words_aeth),
	F("infiniband.aeth.msn", "messages completed so far", 8, 24, DEC),
};

static const struct pkt_field aeth_ack[] = {
	F("infiniband.aeth.syndrome.credit_count", "credits: receives that are posted", 3, 5, DEC, words_credits),
};

static const struct pkt_field aeth_rnr[] = {
	F("infiniband.aeth.syndrome.timer", "how long to wait", 3, 5, DEC, words_rnr),
};

static const struct pkt_field aeth_reserved[] = {
	F("infiniband.aeth.syndrome.reserved_value", "reserved", 3, 5, DEC),
};

static const struct pkt_field aeth_nak[] = {
	F("infiniband.aeth.syndrome.error_code", "why not", 3, 5, DEC, words_nak),
};

static const struct pkt_field atomicacketh[] = {
	F("infiniband.atomicacketh.origremdt", "what was there before", 0, 64, DEC),
};

static const struct pkt_field immdt[] = {
	F("infiniband.immdt", "immediate data", 0, 32, BYTES),
};

static const struct pkt_field ieth[] = {
	F("infiniband.ieth", "key to be made invalid", 0, 32, BYTES),
};

static const struct pkt_field icrc[] = {
	F("infiniband.invariant.crc", "checksum of all that routers leave alone", 0, 32, HEX),
};

static const struct pkt_field vcrc[] = {
	F("infiniband.variant.crc", "checksum of the link", 0, 16, HEX),
};

#include "table_cm.h"
#include "table_iwarp.h"

#define LAYOUT(header, variant, array) \
	{ PKT_##header, variant, array, sizeof(array) / sizeof((array)[0]) }
#define ANY(header, array)	LAYOUT(header, PKT_ANY_VARIANT, array)

const struct pkt_layout pkt_layouts[] = {
	ANY(FRAME, frame), ANY(ETH, eth), ANY(VLAN, vlan), ANY(SLL, sll), ANY(SLL2, sll2), ANY(ARP, arp),
	ANY(IP4, ip4), ANY(IP6, ip6), LAYOUT(ICMP, 4, icmp), LAYOUT(ICMP, 6, icmp6), ANY(TCP, tcp),
	ANY(UDP, udp), ANY(LRH, lrh), ANY(GRH, grh), ANY(BTH, bth), ANY(RDETH, rdeth), ANY(DETH, deth), ANY(XRCETH, xrceth),
	ANY(FETH, feth), ANY(RETH, reth), ANY(ATOMICETH, atomiceth), ANY(AETH, aeth),
	LAYOUT(AETH, PKT_AETH_ACK, aeth_ack), LAYOUT(AETH, PKT_AETH_RNR, aeth_rnr),
	LAYOUT(AETH, PKT_AETH_RESERVED, aeth_reserved), LAYOUT(AETH, PKT_AETH_NAK, aeth_nak),
	ANY(ATOMICACKETH, atomicacketh), ANY(IMMDT, immdt), ANY(IETH, ieth),
	CM_LAYOUTS
	IWARP_LAYOUTS
	ANY(ICRC, icrc), ANY(VCRC, vcrc),
	{ }
};
