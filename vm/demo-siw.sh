# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2086,SC2154 # addresses, and what vm/demo sets
#
# demo-siw.sh: the chapters of "make demo DEVICE=siw" that are about iWARP; vm/demo sources it.

the_wire() {
	chapter "Two machines and a wire" <<-EOT
	Two virtual machines, server and client, share one Ethernet wire and nothing
	else.  Neither has RDMA hardware: siw makes an iWARP device of eth0 in software,
	which carries RDMA over TCP.  Programs use the same verbs as over RoCE.
	EOT
	on server ip -br -4 address show eth0
	on server rdma link
	on client rdma link
}

one_of_each() {
	chapter "One of each, step by step" <<-EOT
	cm   the connection: TCP first, then an MPA request and reply.  The reply says how
	     large the region is, but has no rkey: an iWARP queue pair works only when it is
	     connected, so the target registers memory when a client asks for it (EXTENTS)
	qp   the queue pair and its state        mr   memory registered here
	sge  where the data is, here             wr   a work request, posted
	wc   a work completion: how it ended     msg  the target's reply to a SEND

	There are no immediates and no atomics: RDMAP has none that siw serves.  A client that
	wants to announce a WRITE sends a message behind it; TCP keeps the order.  From here to
	chapter 6 both machines record what their kernels do (rtgt timeline record).
	EOT
	watched rtgt ping -d -S 64 -C 1 $TARGET
	cp "$LAB_OUT/wire.pcap" "$LAB_OUT/one-of-each.pcap"
}

# explained FILE: the messages on the wire, with what each means
explained() {
	local file=${LAB_KEEP#"$RTGT_TOP/"}/$1

	printf 'host$ build/bin/rtgt explain %s\n' "$file"
	"$RTGT_OUT/bin/rtgt" explain "$LAB_OUT/$1" >"$LAB_OUT/packets.txt" || fail $? rtgt explain
	# without the segments that only acknowledge
	grep -A 1 'TCP .* payload=' --no-group-separator "$LAB_OUT/packets.txt"
}

the_packets() {
	chapter "The same on the wire" <<-EOT
	Recorded outside of both machines: TCP segments, and what of MPA, DDP and RDMAP is in
	them.  A WRITE carries the rkey (STag) and the address in each segment.  A READ request
	names both memories, where the data is and where it goes.  Nothing acknowledges a
	WRITE: TCP does that, and a WRITE is complete for its sender when TCP has it.
	EOT
	explained one-of-each.pcap
}

the_bytes() {
	chapter "The bytes themselves" <<-EOT
	4096 bytes do not fit into a segment of this wire: the report shows the segments that
	they become, in both directions.
	EOT
	watched rtgt ping --no-verify -o write,read -S 4K -C 1 $TARGET
	cat <<-EOT

	The smallest program with librtgt (user/examples/library.c) writes 4096 bytes and reads
	them back.  The server's own view of its memory shows the same bytes.

	EOT
	watched rtgt-example-library $TARGET
	printf 'server# xxd -l 32 %s\n' $DEBUGFS/regions/mem/data
	quietly server xxd -l 32 $DEBUGFS/regions/mem/data
	cat <<-EOT

	This client knows rdma_cm only, and expects address and rkey in the reply.  The target
	rejects it, with the reason ASK:

	EOT
	watched sh -c "rtgt-example-client $TARGET || echo status \$?"
}

what_goes_wrong() {
	chapter "What goes wrong" <<-EOT
	The server loses every third packet that comes in.  TCP sends again, and neither
	device nor program notices:
	EOT
	on server tc qdisc add dev eth0 clsact
	on server tc filter add dev eth0 ingress protocol ip u32 match ip protocol 6 0xff \
		action pass random determ drop 3
	watched rtgt ping --no-verify -o write -S 4K -C 1 $TARGET
	on server tc qdisc del dev eth0 clsact
	on client nstat -az TcpRetransSegs
	cat <<-EOT

	A key that nobody was given, then the right key and one byte too many.  The WRITE
	is complete for its sender before the target has seen it.  The target's device then
	sends a Terminate, and both queue pairs end in the state error:

	EOT
	watched $PROBE $TARGET 7471 source=$CLIENT access op=write rkey_xor=0x5a00
	watched $PROBE $TARGET 7471 source=$CLIENT access op=write offset=$((0x100000 - 63))
	cp "$LAB_OUT/wire.pcap" "$LAB_OUT/steps.pcap"
}

the_rules() {
	chapter "Was all of it as it should be?" <<-EOT
	The rules for MPA, DDP and RDMAP, held against every packet of this demo.
	EOT
	printf 'host$ build/bin/rtgt explain --check --complete %s/wire.pcap\n' "$kept_in"
	"$RTGT_OUT/bin/rtgt" explain --check --complete "$LAB_OUT/wire.pcap" || fail $? rtgt explain --check
	on server rtgt show
}

telling() {
	the_wire
	the_target
	record
	one_of_each
	the_packets
	the_bytes
	what_goes_wrong
	record_end
	the_sizes
	the_latency
	the_rules
	the_end
}

kept() {
	cat <<-EOT
	one-of-each.pcap       chapter 3 for Wireshark; packets.txt is chapter 4
	wire.pcap              the whole wire from power-on
	steps.pcap             chapters 3 to 6, which the report steps through
	timeline-*             the same as each machine's kernel saw it, from post to completion:
	                       build/bin/rtgt timeline build/demo-siw/timeline-client
	lat.json               all of chapter 8
	EOT
}
