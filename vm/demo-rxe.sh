# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2086 # TARGET and CLIENT are addresses
#
# demo-rxe.sh: the chapters of "make demo" that are about RoCE; vm/demo sources it.

the_wire() {
	chapter "Two machines and a wire" <<-EOT
	Two virtual machines, server and client, share one Ethernet wire and nothing
	else.  Neither has RDMA hardware: rdma_rxe makes a RoCE v2 device of eth0 in
	software, with the same verbs as an adapter.
	EOT
	on server ip -br -4 address show eth0
	on server rdma link
	on client rdma link
}

# statistic WHEN: the counters of both devices and of the target, as JSON
statistic() {
	local guest

	quietly server rtgt -j show >"$LAB_OUT/target-$1.json"
	for guest in server client; do
		quietly $guest rdma -j statistic show link rxe0/1 >"$LAB_OUT/$guest-statistic-$1.json"
	done
}

one_of_each() {
	chapter "One of each, step by step" <<-EOT
	cm   the connection: address, route, REQ, REP.  The REP carries the capability
	qp   the queue pair and its state        mr   memory registered here
	sge  where the data is, here             wr   a work request, posted
	rep  the capability: where the data goes there, and the key (rkey) to it
	wc   a work completion: how it ended     msg  the target's reply to a SEND

	Before every operation the client fills the memory around the place, and afterwards it
	asks the target for a checksum: that is how both ends are verified.  From here to
	chapter 6 both machines record what their kernels do (rtgt timeline record).
	EOT
	watched rtgt ping -d -S 64 -C 1 $TARGET
	cp "$LAB_OUT/wire.pcap" "$LAB_OUT/one-of-each.pcap"
}

the_packets() {
	local file=one-of-each.pcap columns=(
		-e frame.number -e frame.time_relative -e ip.src -e ip.dst
		-e infiniband.bth.psn -e _ws.col.info
	)

	chapter "The same on the wire" <<-EOT
	Recorded outside of both machines, a line a packet: number, time, from, to,
	packet sequence number, what it is.  CM packets connect and disconnect, "Write
	Only" carries data, "Read Request" asks for data, Acknowledge says that the other
	device has a packet, Send carries requests for checksums and their replies.  QP is
	the queue pair a packet goes to, in base 16: 0x000012 is 18.
	EOT
	printf 'host$ tshark -r %s -T fields %s infiniband\n' "$file" "${columns[*]}"
	cd "$RTGT_TOP" || exit
	calm vm/root run tshark --disable-heuristic rpcrdma_infiniband \
		-r "${LAB_OUT#"$RTGT_TOP/"}/$file" -T fields "${columns[@]}" infiniband \
		</dev/null >"$LAB_OUT/packets.txt" 2>"$LAB_OUT/tshark.log" ||
		fail $? "tshark; see ${LAB_KEEP#"$RTGT_TOP/"}/tshark.log"
	awk -F '\t' '{ printf "%3d %9.6f  %-9s -> %-9s  %8s  %s\n", $1, $2, $3, $4, $5, $6 }' \
		"$LAB_OUT/packets.txt"
}

the_bytes() {
	chapter "The bytes themselves" <<-EOT
	The smallest client there is (user/examples/client.c) writes a text and reads it
	back.  The server's own view of its memory shows the same bytes.
	EOT
	on client rtgt-example-client $TARGET
	printf 'server# xxd -l 32 %s\n' $DEBUGFS/regions/mem/data
	quietly server xxd -l 32 $DEBUGFS/regions/mem/data
	cat <<-EOT

	4096 bytes do not fit into a packet of this wire: the report shows the four they
	become, in both directions.

	EOT
	watched rtgt ping --no-verify -o write,read -S 4K -C 1 $TARGET
}

what_goes_wrong() {
	chapter "What goes wrong" <<-EOT
	The server loses the second packet Middle (BTH opcode 7) that comes in: "determ drop 2"
	drops every second one.  Its device sends a NAK, the client's device sends again from
	there, and no program notices:
	EOT
	on server tc qdisc add dev eth0 clsact
	on server tc filter add dev eth0 ingress protocol ip u32 match u8 7 0xff at 28 \
		action pass random determ drop 2
	watched rtgt ping --no-verify -o write -S 4K -C 1 $TARGET
	on server tc qdisc del dev eth0 clsact
	cat <<-EOT

	A port that posts one receive, and a client (probe, a program of the tests) that asks
	it to withhold that for a while and sends.  The device answers "receiver not ready" and
	the client's device sends the message again, until a receive is posted.  probe prints
	the status of the completion (wc), and how many acknowledgments (acks), RNR NAKs (rnrs)
	and other NAKs (naks) of this operation arrived:

	EOT
	on server rtgt port add busy addr $TARGET port 7472 recv_depth 1
	on server rtgt region add busy/mem size 4K access read
	on server rtgt port enable busy
	watched $PROBE $TARGET 7472 source=$CLIENT access op=send withhold=1 ms=30
	on server rtgt port del busy
	cat <<-EOT

	A key that nobody was given, then the right key and one byte too many.  Each time the
	target's device refuses, both queue pairs end in the state error, and nobody else
	notices:

	EOT
	watched $PROBE $TARGET 7471 source=$CLIENT access op=write rkey_xor=0x5a00
	watched $PROBE $TARGET 7471 source=$CLIENT access op=write offset=$((0x100000 - 63))
	cp "$LAB_OUT/wire.pcap" "$LAB_OUT/steps.pcap"
}

the_counters() {
	# shellcheck disable=SC2016 # these are jq's variables
	local table='map(.[0]) as $s | $s[1] | to_entries[] |
		select(.key != "port" and (.value | type) == "number") | .key |
		[., $s[0][.], $s[1][.], $s[2][.], $s[3][.]] | select(any(.[1:][]; . != 0)) | @tsv'

	chapter "What was counted" <<-EOT
	By the two devices before the first operation and now (rdma statistic), and by
	the target.
	EOT
	statistic after
	cat "$LAB_OUT"/{server,client}-statistic-{before,after}.json |
		lab_run client jq -rs "$table" >"$LAB_OUT/statistic.txt" || fail $? jq
	awk -F '\t' '
		function line(a, b, c, d, e) { printf "  %-20s %8s %8s   %8s %8s\n", a, b, c, d, e }
		BEGIN { line("", "server:", "", "client:", ""); line("", "before", "now", "before", "now") }
		{ line($1, $2, $3, $4, $5) }' "$LAB_OUT/statistic.txt"
	echo
	on server rtgt show
}

# What each of five observers counted before and after one run, for rtgt reconcile
count() { # WHEN
	local guest

	quietly server rtgt -j show demo >"$LAB_OUT/reconcile/target-$1.json"
	for guest in server client; do
		quietly $guest rdma -j statistic show link rxe0/1 >"$LAB_OUT/reconcile/$guest-rdma-$1.json"
	done
}

the_agreement() {
	local before

	chapter "Do they agree?" <<-EOT
	One more run.  rtgt reconcile compares what client, target and both devices counted
	with what was on the wire.  It runs on your machine, too: build/bin/rtgt.
	EOT
	mkdir "$LAB_OUT/reconcile"
	count before
	before=$(stat -c %s "$LAB_OUT/wire.pcap")
	printf 'client# rtgt -j ping -S 64,4K -C 5 %s >ping.json\n' $TARGET
	quietly client rtgt -j ping -S 64,4K -C 5 $TARGET >"$LAB_OUT/reconcile/ping.json"
	count after
	# the file's header of 24 bytes, and the packets of this run
	{
		head -c 24 "$LAB_OUT/wire.pcap"
		tail -c +$((before + 1)) "$LAB_OUT/wire.pcap"
	} >"$LAB_OUT/reconcile/wire.pcap"
	echo 'host$ build/bin/rtgt reconcile build/demo/reconcile'
	"$RTGT_OUT/bin/rtgt" reconcile "$LAB_OUT/reconcile" || fail $? rtgt reconcile
}

telling() {
	the_wire
	the_target
	statistic before
	record
	one_of_each
	the_packets
	the_bytes
	what_goes_wrong
	record_end
	the_sizes
	the_latency
	the_counters
	the_agreement
	the_end
}

kept() {
	cat <<-EOT
	one-of-each.pcap       chapter 3 for Wireshark; packets.txt is chapter 4
	wire.pcap              the whole wire from power-on
	steps.pcap             chapters 3 to 6, which the report steps through
	timeline-*             the same as each machine's kernel saw it, from post to completion:
	                       build/bin/rtgt timeline build/demo/timeline-client
	reconcile/             all of chapter 10
	lat.json               all of chapter 8
	*-before.json, *-after.json   counters of the devices and of the target
	EOT
}
