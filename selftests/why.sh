#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# why.sh: rtgt why names the cause of a failure, from a capture at the target's end.  Each case
# makes something fail in one way, and the cause must be that one.
#
# weight 1.9 1.3

. "${0%/*}/lib.sh"
. "$HERE/capture_fixtures.sh"

# It exits with 1 and has each text.
because() { # TEXT...
	local rc=0 text want
	text=$(rtgt why "$WORK/wire.pcap") || rc=$?
	((rc == 1)) || fail "rtgt why exits $rc: $text"
	for want; do
		[[ $text == *"$want"* ]] || fail "not \"$want\" but: $text"
	done
	rtgt -j why "$WORK/wire.pcap" >"$WORK/why" || true
	document "$WORK/why"
	TEXT=$text
}

# One access is refused, for one reason, which is certain.
refused() { # CAUSE PROBE-ARG...
	target_port scope=private region mem size=4096 region ro size=4096 access=read
	record
	probe access "${@:2}" >"$WORK/said" || fail "$(<"$WORK/said")"
	has "$(<"$WORK/said")" wc=rem-access
	recorded 1
	if is_iwarp; then
		because "refused: Terminate, " "  cause: the STag is none of the other end's"
		return
	fi
	because "refused: " "  cause: $1"
	same "causes" "$(jq -s '[.[] | select(.what | test(": refused: ")) | .causes[].cause] | length' "$WORK/why")" 1
	# the same that the word for the status lists
	rtgt why "remote access error" >"$WORK/status" || fail "$(<"$WORK/status")"
	grep -q "^status 10, REM_ACCESS_ERR: " "$WORK/status" || fail "$(<"$WORK/status")"
}

invalid() { # CAUSE PROBE-ARG...
	target_port recv_size=256 region mem size=4096 access=read,write,atomic
	record
	probe "${@:2}" >"$WORK/said" || fail "$(<"$WORK/said")"
	[[ $(<"$WORK/said") != *wc=success* ]] || fail "$(<"$WORK/said")"
	recorded 1
	because "refused: NAK " "  cause: $1"
}

# The target's acknowledgments are lost on their way.
silent() {
	target_port region mem size=4096
	disturb_device "$(netdev "$RTGT_TARGET_DEV")" "u8 0x11 0xff at 28" loss 100%
	record
	fails_with "" rtgt ping -C 1 -S 64 -o write --timeout 3 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR"
	wait_until 20 is_in_capture DREQ || fail "$(rtgt explain "$WORK/wire.pcap")"
	end_record
	because "WRITE of " ": no answer" "of its packets were sent again" "perhaps: the other queue pair is in the error state"
}

# As rtgt timeline record and two looks at the counters leave it.
from_directory() {
	local line
	[[ -d /sys/kernel/tracing/instances ]] || skip "there is no tracefs"
	mkdir "$WORK/run"
	target_port recv_size=256 region mem size=4096 access=read
	rtgt -j show "$PORT" >"$WORK/run/target-before.json"
	rtgt timeline record -i "$(netdev "$RTGT_CLIENT_DEV")" "$WORK/run" -- \
		"$HERE/probe" "$RTGT_TARGET_ADDR" "$CM_PORT" "source=$RTGT_CLIENT_ADDR" access op=write len=64 >"$WORK/said" 2>&1 ||
		fail "$(<"$WORK/said")"
	expect_no_connections
	rtgt -j show "$PORT" >"$WORK/run/target-after.json"
	echo '[{"ifname":"x","port":1,"ack_deferred":1}]' >"$WORK/run/client-before.json"
	echo '[{"ifname":"x","port":1,"ack_deferred":121}]' >"$WORK/run/client-after.json"
	same "exit status" "$(why_status "$WORK/run")" 1
	! grep -q "ack_deferred" "$WORK/text" || fail "$(<"$WORK/text")"
	grep -q "refused: " "$WORK/text" || fail "$(<"$WORK/text")"
	grep -Eq "^  seen: after [0-9.]+ s, the target: (connection: live -> closing \(.*\)|QP RTS->ERR)$" "$WORK/text" || fail "$(<"$WORK/text")"
	grep -q "^target: counters of errors that rose meanwhile$" "$WORK/text" || fail "$(<"$WORK/text")"
	grep -q "^  seen: qp_errors rose by 1$" "$WORK/text" || fail "$(<"$WORK/text")"
	rtgt -j why "$WORK/run" >"$WORK/lines" || :
	while read -r line; do
		echo "$line" >"$WORK/json"
		document "$WORK/json"
	done <"$WORK/lines"
	# with a filter, or without a timeline, only the capture speaks
	same "exit status with a filter" "$(why_status -f "udp or tcp" "$WORK/run")" 1
	! grep -q "the target: " "$WORK/text" || fail "$(<"$WORK/text")"
	rm "$WORK/run/timeline.json"
	same "exit status without a timeline" "$(why_status "$WORK/run")" 1
	! grep -q "the target: " "$WORK/text" || fail "$(<"$WORK/text")"
	mkdir "$WORK/none"
	same "exit status without a capture" "$(why_status "$WORK/none")" 2
}

why_status() { # ARG...
	local rc=0
	rtgt why "$@" >"$WORK/text" 2>&1 || rc=$?
	echo "$rc"
}

is_in_capture() { # TEXT
	rtgt explain "$WORK/wire.pcap" 2>/dev/null | grep -q -e "$1"
}

# All that the target's CM says is lost.
unheard() {
	target_port
	disturb_device "$(netdev "$RTGT_TARGET_DEV")" "u32 1 0xffffff at 32" loss 100%
	record
	fails_with "timed out" rtgt ping -C 1 -o write --timeout 3 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR"
	wait_until 20 is_in_capture "CM REJ" || fail "$(rtgt explain "$WORK/wire.pcap")"
	end_record
	because "nobody answered the REQ" "perhaps: a firewall drops the packets on their way there"
	refused_by_icmp
}

# The same, and the target's kernel says that it has no such port: as if rxe were not there.
refused_by_icmp() {
	local time
	# the time of the last record
	time=$(rtgt explain -T fields -e frame.time_epoch "$WORK/wire.pcap" | tail -n 1)
	{
		printf '%08x%08x%08x%08x' "${time%.*}" 0 70 70 | hex_words
		# Ethernet; IPv4 from the target to the client; ICMP 3, 3; the header of what was sent
		hex 020000000001 020000000002 0800
		hex 450000380000000040010000 "$(address_hex "$RTGT_TARGET_ADDR")" "$(address_hex "$RTGT_CLIENT_ADDR")"
		hex 0303000000000000
		hex 450000380000000040110000 "$(address_hex "$RTGT_CLIENT_ADDR")" "$(address_hex "$RTGT_TARGET_ADDR")"
		hex c00012b700240000
	} >>"$WORK/wire.pcap"
	because "ICMP from $RTGT_TARGET_ADDR: port unreachable" "  cause: a host on the way"
}

hex() { # DIGITS...
	local digits
	digits=$(printf '%s' "$@")
	# shellcheck disable=SC2059 # the digits are the format
	printf "${digits//??/\\x&}"
}

# Numbers of eight digits, the lowest byte first, as pcap of this machine has them
hex_words() {
	local text
	read -rn 32 text || [[ $text ]]
	while [[ $text ]]; do
		hex "${text:6:2}${text:4:2}${text:2:2}${text:0:2}"
		text=${text:8}
	done
}

address_hex() { # IPV4
	# shellcheck disable=SC2086 # four words
	printf '%02x%02x%02x%02x' ${1//./ }
}

nobody_listens() {
	target_port
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	record
	if is_iwarp; then
		probe connect >"$WORK/said" 2>&1 || true
		wait_until 20 has_reset || fail "$(rtgt explain "$WORK/wire.pcap")"
		end_record
		because "TCP refuses the connection" "  perhaps: nobody listens on this port there"
		return
	fi
	has "$(probe connect)" result=refused status=8
	probe connect transport=ud >"$WORK/said" 2>&1 || true
	wait_until 20 is_in_capture "CM SIDR_REP" || fail "$(rtgt explain "$WORK/wire.pcap")"
	end_record
	because "the server refused: REJ, invalid service ID" "perhaps: the port is another, or is not enabled" \
		"the datagram service is refused: SIDR_REP" "  cause: nobody listens on this port there"
}

has_reset() {
	rtgt explain -f 'tcp[13] & 4 != 0' "$WORK/wire.pcap" 2>/dev/null | grep -q .
}

full() {
	target_port max_conns=1
	background one probe hold count=1
	wait_line one ready=1
	record
	has "$(probe connect)" result=refused reason=full
	wait_until 20 is_in_capture "rtgt: full" || fail "$(rtgt explain "$WORK/wire.pcap")"
	end_record
	send_line one echo
	finish one
	because "the server refused: " "  cause: the target's reason: "
}

not_ready() {
	target_port recv_depth=2 region mem
	record
	has "$(probe access op=send withhold=2 rnr_retry=1)" wc=rnr-exceeded
	recorded 1
	because "RNR NAKs" "perhaps: the program there posts fewer receives"
}

ready_later() {
	target_port recv_depth=2 region mem
	record
	has "$(probe access op=send withhold=2 ms=200)" wc=success
	recorded 1
	because "SEND of " ": took " " RNR NAKs" "  cause: the other end had no receive posted, and it was asked again later"
}

# Packets of WRITEs are lost on their way.
lost() {
	target_port region mem size=64K
	# the first one of its packets
	disturb "u8 0x06 0xff at 28" loss 20% seed 7
	record
	rtgt ping -C 20 -S 5000 -o write -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/said" ||
		fail "$(<"$WORK/said")"
	recorded 1
	because "WRITE of 5000 bytes" ": took " "the other end missed a packet (NAK)" "  cause: a packet did not come in its turn: lost"
}

# The client disconnects before it has an answer.
abandoned() {
	target_port region mem
	record
	has "$(probe access op=write)" wc=success
	recorded 1
	mv "$WORK/wire.pcap" "$WORK/whole.pcap"
	# without acknowledgments
	tcpdump -r "$WORK/whole.pcap" -w "$WORK/wire.pcap" "not (udp port 4791 and udp[8] = 17)" 2>"$WORK/err" || fail "$(<"$WORK/err")"
	because ": no answer" ": DREQ of the client" "perhaps: the client ended the connection before it was answered" \
		"perhaps: the requests are lost on their way, or the answers are"
}

# A healthy connection: nothing but time, of a slow machine.
healthy() {
	local rc=0
	target_port recv_size=8K region mem size=8K
	record
	rtgt ping -C 2 -S 1,5000 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/said" || fail "$(<"$WORK/said")"
	recorded 1
	rtgt why "$WORK/wire.pcap" >"$WORK/why" || rc=$?
	grep -q "^[0-9]* packets, 1 connections, [1-9][0-9]* messages: " "$WORK/why" || fail "exit $rc: $(<"$WORK/why")"
	((rc == 0)) || ! grep -E "^[a-z].*: (refused|no answer|nobody)" "$WORK/why" || fail "exit $rc: $(<"$WORK/why")"
}

words() {
	local rc word
	for word in 12 RETRY_EXC_ERR IBV_WC_RETRY_EXC_ERR IB_WC_RETRY_EXC_ERR "transport retry counter exceeded"; do
		same "of $word" "$(rtgt why "$word" | head -n 1)" \
			"status 12, RETRY_EXC_ERR: no acknowledgment came, however often the packet was sent"
	done
	rtgt -j why 5 >"$WORK/why"
	document "$WORK/why"
	for word in {0..23}; do
		rtgt why "$word" >"$WORK/status" || fail "why $word: $(<"$WORK/status")"
		grep -q "^status $word, [A-Z_]*: ." "$WORK/status" || fail "why $word: $(<"$WORK/status")"
	done
	for word in 24 "no such status" IBV_WC_; do
		fails_with "neither a file nor a status" rtgt why "$word"
	done
	fails_with "-f is for a CAPTURE" rtgt why -f udp 12
	rc=0
	rtgt why 12 >/dev/full 2>"$WORK/err" || rc=$?
	same "exit status of a full disk" "$rc" 2
	fails_with "give one CAPTURE" rtgt why
	fails_with "give one CAPTURE" rtgt why 1 2
	echo "no capture" >"$WORK/text"
	rc=0
	rtgt why "$WORK/text" 2>"$WORK/err" || rc=$?
	same "exit status of a text" "$rc" 2
	# a pcap file without a packet
	printf '\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\0\0\4\0\1\0\0\0' >"$WORK/none.pcap"
	rc=0
	rtgt why "$WORK/none.pcap" >"$WORK/said" || rc=$?
	same "exit status of nothing" "$rc" 3
}

tcase key "an rkey that nobody advertised" refused "nobody advertised this rkey" op=write rkey=0x12345
tcase range --needs cm --more "a range beyond the memory" refused "the range is not all inside" op=read len=64 offset=4090
tcase right --needs cm --more "a right that the region does not grant" refused "the memory was advertised without the right" op=write region=1
tcase revoked --needs cm --more "an rkey that was revoked" refused "the rkey was revoked before" op=write revoke=1
tcase long --needs cm "a SEND that is longer than the receive" invalid "the message is longer than the receives there" access op=send body=257
tcase depth --needs cm "a READ for which no resources were agreed on" invalid "1 READs and atomic operations are outstanding" access op=read reads=0
tcase misaligned --needs cm,atomic --more "an atomic operation at an odd address" invalid "the address 0x" access op=faa offset=4
tcase silent --more --needs acks "requests that nobody acknowledges" silent
tcase unheard --more --needs cm "a REQ that nobody answers, and what ICMP says of it" unheard
tcase nobody-listens "a port where nobody listens" nobody_listens
tcase dir "with a directory, what was traced and counted beside the capture is evidence, too" from_directory
tcase full "a target that is full" full
tcase ready-later --needs rnr --more "a receiver that is ready after a while" ready_later
tcase not-ready --needs rnr --more "a receiver that is not ready" not_ready
tcase lost --tier fast,wire --needs cm "a packet that was lost on its way" lost
tcase abandoned --more --needs cm "a client that disconnects before it has an answer" abandoned
tcase healthy --more "a connection on which nothing failed" healthy
tcase words --more "the statuses of completions, and what is none" words

tmain "$@"
