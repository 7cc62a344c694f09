#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# timeline.sh: rtgt timeline: what the kernel traced, joined with the packets.
#
# No duration is asserted, only what comes before what: nothing can be on the wire
# before it was posted.
#
# weight 4.8 1.9

# $ is jq's
# shellcheck disable=SC2016
. "${0%/*}/lib.sh"

TRACING=/sys/kernel/tracing

# Records CMD into $WORK/tl.
record() { # CMD...
	[[ -d $TRACING/instances ]] || skip "there is no tracefs at $TRACING"
	rtgt timeline record -i "$(netdev "$RTGT_CLIENT_DEV")" "$WORK/tl" -- "$@" >"$WORK/tl.out" 2>&1 || fail "$(<"$WORK/tl.out")"
	document "$WORK/tl/timeline.json"
	same "lost" "$(told '"\(.lost_events) \(.lost_packets)"')" "0 0"
	nothing_left
}

nothing_left() {
	same "instances left" "$(ls "$TRACING/instances")" ""
	same "probes left" "$(grep rtgt_timeline "$TRACING/dynamic_events" || :)" ""
}

ping_of() { # OPTION...
	printf '%s\n' rtgt -j ping -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$@" "$RTGT_TARGET_ADDR"
}

record_ping() { # OPTION...
	local -a cmd
	mapfile -t cmd < <(ping_of "$@")
	record "${cmd[@]}"
}

told() { # JQ-FILTER
	jq -r "$1" "$WORK/tl/timeline.json"
}

# Each of these is there, and none is earlier than the one before it.
ordered() { # JQ-FILTER-OF-EVENTS EVENT...
	local text
	text=$(jq -r "$1"' as $e |
		[$ARGS.positional[] | . as $want | { $want, time: [$e[] | select(.stage == $want or "\(.end): \(.what)" == $want) | .time][0] }] |
		[(.[] | select(.time == null) | "no \(.want)"),
		(range(1; length) as $i | select(.[$i].time < .[$i - 1].time) | "\(.[$i].want) before \(.[$i - 1].want)")] |
		if . == [] then "in order" else join(", ") end' --args "${@:2}" <"$WORK/tl/timeline.json")
	[[ $text == "in order" ]] || fail "$text in $(jq -c "$1" "$WORK/tl/timeline.json")"
}

connection_order() { # EVENT...
	ordered '.connections[0].events' "$@"
}

# Packets that connect and disconnect, as rtgt explain has them.
connection_packets() {
	if [[ $RTGT_DEVICE == siw ]]; then
		rtgt explain --json "$WORK/tl/capture.pcap" |
			jq -r 'select(.type == "connection").steps[] | "\(.packet) \(.name)"'
	else
		rtgt explain "$WORK/tl/capture.pcap" | awk '$6 == "CM" { print $1, $7 }'
	fi
}

# TCP's segments with one of SYN, FIN and RST.
tcp_segments() {
	rtgt explain -T fields -e frame.number -e tcp.flags.syn -e tcp.flags.fin -e tcp.flags.reset \
		"$WORK/tl/capture.pcap" | awk '/True/ { print $1 }'
}

connection_iwarp() {
	connection_order "client: address resolved" "client: route resolved" "client: rdma_cm asks iw_cm to connect" \
		"wire: TCP SYN" "wire: TCP SYN, ACK" "wire: MPA request" \
		"target: the device reports CONNECT_REQUEST to iw_cm" "target: rdma_cm reports CONNECT_REQUEST" \
		"target: rdma_cm asks iw_cm to accept" "wire: MPA reply" \
		"client: the device reports CONNECT_REPLY to iw_cm" "client: rdma_cm reports ESTABLISHED" \
		"client: rdma_cm reports to the program: connected" "wire: the first FPDU: SEND" \
		"client: the device reports CLOSE to iw_cm" "wire: TCP FIN" \
		"target: the device reports DISCONNECT to iw_cm" "target: rdma_cm reports DISCONNECTED" \
		"target: connection: live -> closing (disconnected)" "target: rdma_cm asks iw_cm to disconnect" "target: rdma_cm id destroyed"
	connection_order "wire: MPA reply" "target: the device reports ESTABLISHED to iw_cm" \
		"target: rdma_cm reports ESTABLISHED" "target: connection: connecting -> live"
	connection_order "client: the device reports CLOSE to iw_cm" "client: rdma_cm reports DISCONNECTED" \
		"client: rdma_cm id destroyed"
	same "queue pairs that the trace has" "$(told '[.connections[0][] | objects | select(.qpn > 0)] | length')" 2
	same "segments that open and close" \
		"$(told '.connections[0].events[] | select(.what | startswith("TCP ")) | .packet')" "$(tcp_segments)"
}

# RTS is set by the device, and the rest mostly when TCP closes.
states_iwarp() {
	connection_order "client: QP created: IDLE" "client: rdma_cm asks iw_cm to connect" "wire: MPA request" \
		"target: QP created: IDLE" "target: rdma_cm asks iw_cm to accept" "target: QP IDLE->RTS" "wire: MPA reply" \
		"client: QP IDLE->RTS" "client: the device reports CONNECT_REPLY to iw_cm" "wire: the first FPDU: SEND" \
		"client: QP RTS->CLOSING" "client: the device reports CLOSE to iw_cm" "wire: TCP FIN" \
		"target: the device reports DISCONNECT to iw_cm" "target: QP RTS->ERROR" "target: QP destroyed"
	connection_order "client: QP RTS->CLOSING" "client: QP CLOSING->ERROR" "client: QP destroyed"
	connection_order "target: QP IDLE->RTS" "target: the device reports ESTABLISHED to iw_cm"
}

# The queue pairs: not on a kernel that cannot probe members of structures, which has no such events.
states() {
	if [[ $(told '.missing[]') == *rtgt_qp_* ]]; then
		[[ ${RTGT_KERNEL:-$(kernel_has)} != *probe-members* ]] || fail "$(told '.missing[]')"
		note "$(told '.missing[0]')"
		return
	fi
	same "devices" "$(told '.connections[0] | "\(.client.device) \(.target.device)"')" "$RTGT_CLIENT_DEV $RTGT_TARGET_DEV"
	if [[ $RTGT_DEVICE == siw ]]; then
		states_iwarp
		return
	fi
	connection_order "client: QP created: RESET" "client: QP RESET->INIT" "wire: REQ" "target: QP created: RESET" \
		"target: QP RESET->INIT" "target: QP INIT->RTR" "wire: REP" "client: QP INIT->RTR" "client: QP RTR->RTS" \
		"client: QP RTS->ERR" "wire: DREQ" "wire: DREP" \
		"client: rdma_cm reports to the program: disconnected" "client: QP destroyed"
	# the device may still have the RTU when the program closes the connection
	connection_order "wire: REP" "wire: RTU" "wire: DREQ"
	connection_order "client: rdma_cm sends RTU" "client: rdma_cm reports to the program: connected" "client: QP RTS->ERR"
	connection_order "target: QP INIT->RTR" "target: QP RTR->RTS" "target: connection: connecting -> live" "wire: DREQ" \
		"target: QP RTS->ERR" "target: QP destroyed"
}

connection() {
	target_port
	record_ping -o write -S 64 -C 1
	same "connections" "$(told '.connections | length')" 1
	same "packets are the right ones" \
		"$(told '.connections[0].events[] | select(.packet) | "\(.packet) \(.what)"' | grep -Ev ' TCP |first FPDU')" \
		"$(connection_packets)"
	states
	if [[ $RTGT_DEVICE == siw ]]; then
		connection_iwarp
		return
	fi
	connection_order "client: address resolved" "client: route resolved" "client: rdma_cm sends REQ" "wire: REQ" \
		"target: rdma_cm reports CONNECT_REQUEST" "target: rdma_cm sends REP" "wire: REP" \
		"client: rdma_cm reports CONNECT_RESPONSE" "client: rdma_cm sends RTU" "wire: RTU" \
		"target: rdma_cm reports ESTABLISHED" \
		"client: asks rdma_cm to disconnect" "wire: DREQ" "target: rdma_cm reports DISCONNECTED" \
		"target: connection: live -> closing (disconnected)" "wire: DREP" "client: rdma_cm reports DISCONNECTED"
	# by the RTU, or by the client's first message
	connection_order "target: rdma_cm sends REP" "target: connection: connecting -> live" \
		"target: connection: live -> closing (disconnected)"
}

# The same of a SEND: iWARP has no immediates, no PSN and no acknowledgments.
send_iwarp() {
	local op='.operations[] | select(.op == "SEND" and .bytes == 5016)'
	target_port recv_size=8K region mem size=8K
	record_ping -o send -S 5000 -C 1
	ordered "($op).events" post first last target-completion target-takes reply-post reply-first reply-completion
	ordered "($op).events" last completion
	same "stages" "$(told "[$op.stages[].us] | length >= 8 and all(. >= 0)")" true
	same "FPDUs needed" "$(told "$op"' | .needed as $n |
		([.events[] | select(.from == "client")] | length == $n) and $n > 1')" true
	same "packets of it, and of its reply" "$(told "[$op.events[].packet // empty] | unique | map(tostring) | join(\",\")")" \
		"$(rtgt explain --json "$WORK/tl/capture.pcap" | jq -rs --argjson id "$(told "$op.id")" '
			([.[] | select(.type == "message" and .id > $id and .from == "server")][0].id) as $reply |
			[.[] | select(.type == "packet") | select(any(.iwarp[]?; .message == $id or .message == $reply)).number] |
			map(tostring) | join(",")')"
}

# Its stages, and each packet's number, operation and PSN as rtgt explain has them.
write_imm() {
	if [[ $RTGT_DEVICE == siw ]]; then
		send_iwarp
		return
	fi
	local op='.operations[] | select(.op == "WRITE_WITH_IMM")'
	target_port region mem size=8K
	record_ping -o write-imm -S 5000 -C 1
	ordered "($op).events" post first last target-completion target-takes reply-post reply-first reply-completion
	ordered "($op).events" last ack completion
	ordered "($op).events" reply-first reply-ack
	same "stages" "$(told "[$op.stages[].us] | length >= 10 and all(. >= 0)")" true
	same "packets needed, in the order of their PSNs" \
		"$(told "$op"' | .first_psn as $p | .needed as $n |
			[.events[] | select(.stage == "first" or .stage == "packet" or .stage == "last") | .psn] ==
			[range($n) | ($p + .) % 16777216] and $n > 1')" true
	same "packets" "$(told "$op"'.events[] | select(.packet) | [.packet, .psn, (.what | split(",")[0])] | @tsv' | sort -n)" \
		"$(rtgt explain --json "$WORK/tl/capture.pcap" | jq -r --argjson n "$(told "[$op.events[].packet // empty]" | jq -c)" \
			'select(.type == "packet" and (.number | IN($n[]))) | [.number, .psn, .opcode] | @tsv')"
	same "the immediate the target took is the one that was sent" \
		"$(told "$op"' | .imm as $i | .events[] | select(.stage == "target-takes") | .what')" \
		"takes the immediate 0x$(printf %08x "$(told "$op.imm")")"
}

# Whatever a client posts has its packets, its completion and, if it asks, its answer.
every_operation() {
	local ops=(all --window) ends='index("first") and index("ack") and index("completion")'
	if [[ $RTGT_DEVICE == siw ]]; then
		# nothing acknowledges a WRITE or SEND
		ops=("write,read,send") ends='index("first") and index("completion")'
		# the first answer is late, so an empty WRITE that wakes the target is among them
		disturb_device "$(netdev "$RTGT_TARGET_DEV")" "u32 0 0" delay 150ms
	fi
	target_port recv_size=8K recv_depth=4 region mem size=8K
	# with work requests among them that never reach the wire
	record_ping -S 1,5000 -C 2 -o "${ops[@]}"
	same "operations, and those that were posted" "$(told '[.operations[] | select(.from == "client")] | length')" \
		"$(sed -n '/^{/p' "$WORK/tl.out" | jq '[.connection.posted[] | select(.op | IN("BIND_MW", "LOCAL_INV") | not) | .count] | add')"
	same "those without a post, a completion or an answer" "$(told '[.operations[] | select(.from == "client") |
		[.events[].stage] as $s | select($s | index("post") and '"$ends"' | not)] | length')" 0
	same "requests without a target" "$(told '[.operations[] | select(.from == "client" and (.op | startswith("SEND"))) |
		[.events[].stage] as $s | select($s | index("target-completion") and index("reply-post") and index("reply-completion") | not)] | length')" 0
	same "stages that take less than nothing" "$(told '[.operations[].stages[] | select(.us < 0)] | length')" 0
	same "completions before their posts" "$(told '[.operations[].events | map(select(.stage == "post" or .stage == "completion")) |
		select(length > 0 and .[0].stage != "post")] | length')" 0
}

# At the client alone: its posts, the packets, its completions.
one_end() {
	target_port
	if [[ $RTGT_DEVICE == siw ]]; then
		record_ping -o read -S 64 -C 1
		connection_order "client: address resolved" "client: rdma_cm asks iw_cm to connect" "wire: TCP SYN" "wire: TCP SYN, ACK" \
			"wire: MPA request" "wire: MPA reply" "client: the device reports CONNECT_REPLY to iw_cm" \
			"client: rdma_cm reports ESTABLISHED" "wire: the first FPDU: SEND" "client: the device reports CLOSE to iw_cm" \
			"wire: TCP FIN" "client: rdma_cm id destroyed"
		ordered '.operations[] | select(.op == "READ").events' post first ack completion
	else
		record_ping -o write-imm -S 64 -C 1
		connection_order "client: address resolved" "wire: REQ" "wire: REP" "wire: RTU" "wire: DREQ" "wire: DREP"
		ordered '.operations[] | select(.op == "WRITE_WITH_IMM").events' post first ack completion
	fi
	same "events of the target's machine" "$(told '[.connections[].events[] | select(.end == "target")] | length')" 0
}

# A client is killed, and the target, which ignores the DREQ, destroys its queue pair later: the
# recording waits for that.
settled() {
	target_port idle_ms=900
	target attr_set "$CONFIGFS/ports/$PORT/faults" dreq-ignore
	record "$BASH" -c 'coproc exec "$@"
		until [[ ${line:-} == *ready=1* ]]; do read -r line <&"${COPROC[0]}" || exit; done
		kill -KILL "$COPROC_PID"' - \
		"$HERE/probe" "$RTGT_TARGET_ADDR" "$CM_PORT" "source=$RTGT_CLIENT_ADDR" hold
	same "queue pairs that were made" "$(grep -c ": rtgt_qp_create" "$WORK/tl/trace.txt")" 2
	same "queue pairs that were destroyed" "$(grep -c ": rtgt_qp_destroy: " "$WORK/tl/trace.txt")" 2
}

# What ends the recorder ends the command, and nothing stays.
interrupted() {
	[[ -d $TRACING/instances ]] || skip "there is no tracefs at $TRACING"
	background tl rtgt timeline record -i "$(netdev "$RTGT_CLIENT_DEV")" "$WORK/tl" -- sh -c 'echo "rtgt hello" >"$RTGT_TRACE_MARKER"; echo here; exec sleep 1000'
	wait_line tl here
	[[ $(ls "$TRACING/instances") == rtgt_timeline_* ]] || fail "no instance: $(ls "$TRACING/instances")"
	kill -INT "${BG_PID[tl]}"
	finish tl && fail "exit status 0"
	nothing_left
	grep -q "rtgt hello" "$WORK/tl/trace.txt" || fail "$(<"$WORK/tl/trace.txt")"
	rtgt timeline "$WORK/tl" || fail "the files are not whole"
}

wrong() { # TEXT SED-SCRIPT
	mkdir -p "$WORK/bad"
	cp "$WORK/tl/capture.pcap" "$WORK/bad"
	sed "$2" "$WORK/tl/trace.txt" >"$WORK/bad/trace.txt"
	fails_with "$1" rtgt timeline "$WORK/bad"
}

# Events that are missing could be anybody's: nobody is given another's.
lost() {
	mkdir "$WORK/lost"
	cp "$WORK/tl/capture.pcap" "$WORK/lost"
	sed 's|^# entries-in-buffer/entries-written: \([0-9]*\)/[0-9]*|# entries-in-buffer/entries-written: \1/99999|' "$WORK/tl/trace.txt" >"$WORK/lost/trace.txt"
	rtgt -j timeline "$WORK/lost" >"$WORK/json" || fail "it fails"
	same "stages that were joined all the same" "$(jq '[.operations[].events[] | select(.end != "wire")] | length' "$WORK/json")" 0
	((0 < $(jq .lost_events "$WORK/json"))) || fail "it is not told"
}

# A request whose receive is not in the trace.
unreceived() {
	grep -q ": rtgt_request: " "$WORK/tl/trace.txt" || fail "the trace has no request"
	grep -q ": rtgt_wc: " "$WORK/tl/trace.txt" || fail "the trace has no completion"
	sed '/: rtgt_wc: /d' "$WORK/tl/trace.txt" >"$WORK/lost/trace.txt"
	rtgt -j timeline "$WORK/lost" >"$WORK/json" || fail "it fails without receives"
	same "requests without a receive" "$(jq '[.operations[].events[] | select(.stage == "target-completion")] | length' "$WORK/json")" 0
}

refused() {
	target_port
	record_ping -o write,send -S 64 -C 1
	lost
	unreceived
	wrong "line 20 is no event" '20s/: .*//'
	wrong "line 13 is no event" '13s/.*/[[[[ - [/'
	wrong "how its clock and the capture's go together" /offset_ns/d
	head -c -5 "$WORK/tl/trace.txt" >"$WORK/bad/trace.txt"
	fails_with "cut short" rtgt timeline "$WORK/bad"
	printf '\0\n' >"$WORK/bad/trace.txt"
	fails_with "no text" rtgt timeline "$WORK/bad"
	fails_with "trace.txt: No such file" rtgt timeline "$WORK/none"
	rm "$WORK/tl/capture.pcap"
	fails_with "capture.pcap: No such file" rtgt timeline "$WORK/tl"
	fails_with "give one DIR" rtgt timeline
	fails_with "needs DIR -- COMMAND" rtgt timeline record "$WORK/x"
	fails_with "rtgt-none" rtgt timeline record -i rtgt-none "$WORK/x" -- true
	fails_with "No such file" rtgt timeline record -i "$(netdev "$RTGT_CLIENT_DEV")" "$WORK/x" -- "$WORK/none"
	nothing_left
}

tcase connection "the events of rdma_cm and, over iWARP, iw_cm at both ends, and the states of both queue pairs, between the packets that connect and disconnect" connection
tcase write-imm --more "a WRITE_WITH_IMM, or over iWARP a SEND, from its post to both completions and the reply" write_imm
tcase every-operation --more "every operation has its post, its packets, its completions" every_operation
tcase settled --more "a recording ends when the queue pairs that were made are destroyed" settled
tcase interrupted --more "after a signal the command ends, the files are complete, nothing is left behind" interrupted
tcase refused --more "for a file that is no trace, or a wrong option, rtgt timeline prints one line, and it invents no event that was lost" refused

tcase one-end --tier wire "at the client's machine: its end and the wire" one_end

tmain "$@"
