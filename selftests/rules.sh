#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# rules.sh: what a case records of its own traffic, held against the rules of the
# protocol (rtgt explain --check) and against what client, target and devices counted
# (rtgt reconcile), and made a page of (rtgt report).  The capture is made at the target's
# end.
#
# weight 3.9 2.4

. "${0%/*}/lib.sh"
. "$HERE/capture_fixtures.sh"

# The rules find this, or nothing at all.
check() { # RULE-AND-PACKET|"" [FILE]
	local text rc=0
	text=$(rtgt explain --check --complete --profile rxe "${2:-$WORK/wire.pcap}") || rc=$?
	if [[ ! $1 ]]; then
		((rc == 0)) || fail "rtgt explain --check exits $rc: $text"
	else
		[[ $rc == 1 && $text == *"$1"* ]] || fail "exit $rc, and not \"$1\" but: $text"
	fi
	TEXT=$text
}

all_operations() { # [SIZES [ITERATIONS [OPTION...]]]
	rtgt -j ping -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" -S "${1:-1,64,5000}" -C "${2:-2}" "${@:3}" "$RTGT_TARGET_ADDR" >"$WORK/ping.json" ||
		fail "rtgt ping: $(<"$WORK/ping.json")"
}

every_operation() {
	target_port recv_size=8K recv_depth=4 region mem size=8K
	record
	all_operations
	recorded 1
	check ""
	has "$TEXT" "no rule is broken"
	[[ $TEXT == *" 0 gaps, "* ]] || fail "$TEXT"
	document "$WORK/ping.json"
	rtgt explain --json --headers "$WORK/wire.pcap" >"$WORK/explained"
	document "$WORK/explained"
	rtgt report "$WORK"
	page_data "$WORK/report.html" >"$WORK/data"
	document "$WORK/data"
}

# What is refused is as it should be.
refusals() { # RULE-THAT-IS-BROKEN|""
	target_port region mem size=4096
	record
	has "$(probe access op=write len=64 rkey=0x12345)" wc=rem-access nak=access
	has "$(probe access op=read len=64 offset=4090)" wc=rem-access nak=access
	recorded 2
	check "$1"
	if is_iwarp; then
		same "Terminates" "$(rtgt explain "$WORK/wire.pcap" | grep -c "Terminate ")" 2
	else
		has "$TEXT" "2 NAK"
	fi
}

# A request that is not received is sent again, when the time is over that the RNR NAK says.
not_ready() {
	local i
	target_port recv_depth=1 region mem
	record
	for i in {1..4}; do
		has "$(probe access op=send withhold=1 rnr_retry=6)" wc=rnr-exceeded nak=rnr
	done
	recorded 4
	check ""
	[[ $TEXT == *" 28 RNR, "* ]] || fail "$TEXT"
}

# The target closes without an RTU: it sends a REJ, and neither DREQ nor DREP follows.
refusals_without_rtu() {
	lose_mads 0x0014
	refusals ": rtu: "
}

# The first packet of the first message with such an operation, and the packet that answers it
packets_of() { # OP
	rtgt explain --json "$WORK/wire.pcap" | jq -rn --arg op "$1" \
		'[inputs | select(.type == "message" and .op == $op)][0] | "\(.first_packet) \(.answer_packet)"'
}

# With this change the rules find that.
bent() { # RULE-AND-PACKET ACTION...
	"$HERE/bend" "$WORK/wire.pcap" "$WORK/bad.pcap" "${@:2}"
	check "$1" "$WORK/bad.pcap"
}

# A key nobody gave, made out of a good one: it is served, so a rule is broken.
faults() {
	local write ack
	if is_iwarp; then
		faults_iwarp
		return
	fi
	target_port region mem size=4096
	record
	ping_ok write 64 2
	recorded 1
	read -r write ack < <(packets_of WRITE)
	bent "packet $write: capability: " "set=$write:infiniband.reth.r_key=0x12345"
	bent "packet $write: icrc: " "flip=$write"
	bent "packet $((ack - 1)): psn-continuity: " "drop=$write"
	bent "packet $ack: msn: " "set=$ack:infiniband.aeth.msn=99"
}

# That a WRITE is served shows with the next READ.  Where MPA agreed on no CRC, none is right.
faults_iwarp() {
	local mpa write read send
	target_port region mem size=4096
	record
	rtgt ping -o write,read -S 64 -C 1 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/ping"
	recorded 1
	mpa=$(rtgt explain --json "$WORK/wire.pcap" |
		jq -n '[inputs | select(.iwarp[]?.line | startswith("MPA Request")) | .number][0]')
	read -r write _ < <(packets_of WRITE)
	read -r read _ < <(packets_of READ)
	read -r send _ < <(packets_of SEND)
	bent "packet $write: stag: " "set=$write:iwarp_ddp.stag=0x12345600"
	bent "packet $read: capability: " "set=$read:iwarp_rdma.srcstag=0x12345600"
	bent "packet $send: ddp-msn: " "set=$send:iwarp_ddp.msn=77"
	bent ": mpa-first: " "drop=$send"
	bent "packet $send: mpa-crc: " "set=$mpa:iwarp_mpa.crc_flag=1"
}

# The field "compare" of a Fetch Add, which the target ignores: what the client's device puts there.
unused_field() {
	local values
	target_port region mem size=4096 access=read,write,atomic
	record
	rtgt ping -o faa -C 20 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/ping"
	recorded 1
	check ""
	rtgt explain -T fields -e infiniband.bth.opcode -e infiniband.atomiceth.cmpdt "$WORK/wire.pcap" | awk '$1 == 20 { print $2 }' >"$WORK/compare"
	same "Fetch Adds" "$(wc -l <"$WORK/compare")" 20
	values=$(sort -u "$WORK/compare" | tr '\n' ' ')
	[[ $values == "0 " ]] ||
		xfail rxe-faa-memory "the client's device $RTGT_CLIENT_DEV sends bytes of kernel memory in each Fetch Add"
}

one_story() { # RULE-THAT-IS-BROKEN|""
	target_port recv_size=8K recv_depth=4 region mem size=8K
	record
	tell_all before
	all_operations "1,64,5000" 5
	expect_counters conns_closed=1
	recorded 1
	tell_all after
	check "$1"
	rtgt reconcile "$WORK" >"$WORK/story" 2>"$WORK/missing_files" || fail "$(<"$WORK/story")"
	same "what is not compared" "$(grep -c "^rtgt: reconcile: no $WORK/\(client\|server\)-rdma-.*: not compared$" "$WORK/missing_files")" \
		"$(is_iwarp && echo 4 || echo 0)"
	note "$(tail -n 1 "$WORK/story")"
}

# SENDs of the three kinds, of which the device counts all as one.
one_story_sends() {
	target_port scope=private region mem size=8K
	record
	tell_all before
	all_operations 64 5 -o send,send-imm,send-inv
	expect_counters conns_closed=1
	recorded 1
	tell_all after
	rtgt reconcile "$WORK" >"$WORK/story" 2>&1 || fail "$(<"$WORK/story")"
	has "$(<"$WORK/story")" "client: send-inv, operations"
}

# Of the connection itself, which sends again what is lost.  The seed makes netem's choice of
# packets the same each time, with Linux 6.6 and iproute2 6.6 or later.
one_story_disturbed() { # SEED NETEM...
	local lost
	disturb "$(is_iwarp && echo "ip protocol 6 0xff" || echo "u8 0 0x60 at 28")" "${@:2}" seed "$1"
	one_story ""
	lost=$(tc -s qdisc show dev "$(netdev "$RTGT_CLIENT_DEV")" | sed -n '/^qdisc netem/,/dropped/s/.*(dropped \([0-9]*\),.*/\1/p')
	((lost > 0)) || fail "with the seed $1 netem loses nothing"
	note "seed $1: $lost packets lost"
}

# The RTU is sent once, whether it comes or not, and data are as good to who waits for it.
no_rtu() {
	lose_mads 0x0014
	one_story ": rtu: "
	has "$(<"$WORK/story")" "messages of the CM were lost"
}

lie() { # FILE:KEY NUMBER-TO-ADD
	cp "$WORK/${1%:*}" "$WORK/truth.${1%:*}"
	jq --arg key "${1#*:}" --argjson by "$2" '(.. | objects | select(has($key)) | .[$key]) += $by' \
		"$WORK/truth.${1%:*}" >"$WORK/${1%:*}"
}

take_back() { # FILE:KEY
	mv "$WORK/truth.${1%:*}" "$WORK/${1%:*}"
}

# A SEND less is right of a device whose target had one flushed.
flushed_is_no_lie() {
	lie server-rdma-after.json:rdma_sends -1
	same "exit status with a SEND missing" "$(status_of rtgt reconcile "$WORK")" 1
	lie target-after.json:send_flushed 1
	same "exit status with a SEND flushed" "$(status_of rtgt reconcile "$WORK")" 0
	take_back server-rdma-after.json
	take_back target-after.json
}

# Each of those who tell lies in its turn, by one.
lies() {
	local row rows=(target-after.json:recv_bytes server-rdma-after.json:rcvd_pkts client-rdma-after.json:sent_pkts
		client-rdma-after.json:rdma_sends)
	one_story ""
	if is_iwarp; then
		rows=(target-after.json:{conns_established,recv_msgs,recv_bytes,replies,imms})
	fi
	for row in "${rows[@]}"; do
		lie "$row" 1
		same "exit status with a wrong $row" "$(status_of rtgt reconcile "$WORK")" 1
		take_back "$row"
	done
	is_iwarp || flushed_is_no_lie
	jq '.results[-1].iterations += 1 | .connection.posted[0].count += 1' "$WORK/ping.json" >"$WORK/truth"
	mv "$WORK/truth" "$WORK/ping.json"
	rtgt -j reconcile "$WORK" >"$WORK/story" && fail "a client that counts wrong is believed"
	same "numbers that do not agree" "$(jq '[.rows[] | select(.ok | not)] | length' "$WORK/story")" 3
	document "$WORK/story"
	same "exit status with a full disk" "$(rtgt -j reconcile "$WORK" 2>&1 >/dev/full; echo $?)" \
		"rtgt: reconcile: standard output does not take it"$'\n'2
	not_compared
	shapes
}

# A pcap file without a packet
no_packets() {
	printf '\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\0\0\4\0\1\0\0\0'
}

# What was not counted is not said to agree.
not_compared() {
	local text
	lie target-after.json:recv_msgs -1000000
	text=$(rtgt reconcile "$WORK" 2>&1) && fail "a counter that was reset is believed: $text"
	has "$text" "was it reset in between?"
	take_back target-after.json
	mkdir "$WORK/truth.d"
	cp "$WORK"/target-*.json "$WORK/truth.d"
	for text in '{"ports":{}}' '{"ports":[{"name":"x"}]}'; do
		tee "$WORK/target-before.json" "$WORK/target-after.json" <<<"$text" >"$WORK/shape"
		has "$(rtgt reconcile "$WORK" 2>&1 || :)" "target has no counter recv_msgs: not compared"
	done
	cp "$WORK"/truth.d/target-*.json "$WORK"
	for text in client server; do
		tee "$WORK/$text-rdma-before.json" "$WORK/$text-rdma-after.json" <<<'[{"ifname":"x","port":1}]' >"$WORK/shape"
	done
	has "$(rtgt reconcile "$WORK" 2>&1 || :)" "client's device has no counter sent_pkts: not compared"
	mkdir "$WORK/wire"
	no_packets >"$WORK/wire/wire.pcap"
	same "what is said of a capture of nothing, alone" "$(rtgt -j reconcile "$WORK/wire" 2>/dev/null | jq -r ".schema + .errors[0].text")" \
		"rtgt-failure-1reconcile: there is nothing to compare the capture with"
	ln -s ping.json "$WORK/wire/ping.json"
	same "exit status with a file that cannot be opened" "$(status_of rtgt reconcile "$WORK/wire")" 2
}

# A document of another shape than ours is named, and nothing is compared with it.
shapes() {
	local shape
	for shape in '{"results":{}}' '{"results":"x"}' '[]' '7' '{}'; do
		echo "$shape" >"$WORK/ping.json"
		fails_with "ping.json has another shape" rtgt reconcile "$WORK"
	done
	for shape in '{"results":[7,null,[]],"errors":{},"connection":[]}' '{"results":[],"errors":7,"connection":{"posted":{}}}'; do
		echo "$shape" >"$WORK/ping.json"
		(($(status_of rtgt reconcile "$WORK") < 2)) || fail "$shape: status $(status_of rtgt reconcile "$WORK")"
	done
}

# The JSON in the page's script element
page_data() {
	sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' "$1"
}

page() {
	target_port recv_size=8K region mem size=8K
	record
	all_operations
	recorded 1
	echo '{ "text": "</script><!--" }' >"$WORK/hostile.json"
	echo '{ "text": ' >"$WORK/cut.json"
	rtgt report "$WORK" 2>"$WORK/said" || fail "$(<"$WORK/said")"
	[[ $(<"$WORK/said") == *"cut.json is no JSON, left out" ]] || fail "$(<"$WORK/said")"
	page_data "$WORK/report.html" >"$WORK/data"
	! grep -q "<" "$WORK/data" || fail "the data could end the element it is in"
	document "$WORK/data"
	same "text of a document" "$(jq -r '.docs["hostile.json"].text' "$WORK/data")" "</script><!--"
	# of a TCP segment, what it completes of iWARP
	rtgt explain --json "$WORK/wire.pcap" | jq -cS 'select(.type == "packet") | [.number] +
		if .iwarp then [([.iwarp[].line] | join("; ")), ([.iwarp[].words] | join(". "))] else [.line, .words] end' >"$WORK/want"
	jq -cS '.steps.list[] | [.n, .x, .w]' "$WORK/data" | cmp - "$WORK/want" || fail "the page has other packets"
	same "packets over time" "$(jq '[.wire.io[][2]] | add' "$WORK/data")" "$(wc -l <"$WORK/want")"
	same "bytes of conversations" "$(jq '[.wire.conversations[].bytes[]] | add' "$WORK/data")" "$(jq .wire.bytes "$WORK/data")"
	[[ $(jq '[.steps.list[].h[] | select(.[0] | IN("BTH", "DDP"))] | length' "$WORK/data") -ge 10 ]] || fail "no headers"
}

page_of_little() {
	mkdir "$WORK/empty"
	rtgt report "$WORK/empty"
	same "what an empty directory holds" "$(page_data "$WORK/empty/report.html" | jq -c '[.docs, .steps, .wire]')" \
		"[{},null,null]"
	fails_with "is no directory" rtgt report "$WORK/nothing"
	fails_with "one directory is wanted" rtgt report
	fails_with "unknown option --x" rtgt report --x "$WORK"
	fails_with "cannot" rtgt report -w "$WORK/nothing/x.html" "$WORK/empty"
	mkdir "$WORK/steps"
	no_packets >"$WORK/steps/steps.pcap"
	rtgt report "$WORK/steps"
	same "captures of the steps and of the wire section" \
		"$(page_data "$WORK/steps/report.html" | jq -c '[.steps.file, .wire.file]')" '["steps.pcap","steps.pcap"]'
	echo "no capture" >"$WORK/empty/wire.pcap"
	fails_with "wire.pcap" rtgt report "$WORK/empty"
}

status_of() { # CMD...
	local rc=0
	"$@" >/dev/null 2>&1 || rc=$?
	echo "$rc"
}

tcase every-operation --limit 90 "the packets of every operation break no rule" every_operation
tcase not-ready --tier wire --needs rnr --limit 90 "requests are sent again when the time of the RNR NAK is over" not_ready
tcase refusals --limit 90 "accesses that are refused break no rule" refusals ""
tcase refusals-rtu --needs cm --limit 90 --more "connections that the target rejects because the RTU is lost are seen to end" refusals_without_rtu
tcase unused-field --more --needs atomic --limit 90 "a Fetch Add has zeros in the field that it does not use" unused_field
tcase faults --limit 90 "a forged key, a corrupt, a missing packet and a wrong count are named" faults
tcase one-story-sends --limit 90 --more "the counts agree with SENDs of all kinds" one_story_sends
tcase one-story-loss --limit 90 --more "the counts agree with packets lost and duplicated" one_story_disturbed 7 loss 3% duplicate 10%
tcase one-story-rtu --more --needs cm --limit 90 "the counts agree with the RTU lost" no_rtu
tcase lies --limit 90 "a wrong count of the client, the target or a device is detected" lies
tcase page --limit 90 --more "the report has the description of every packet that rtgt explain prints" page
tcase page-of-little --limit 90 "the report of a directory with few or no files, and of a path that is no directory" page_of_little
tmain "$@"
