#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# services.sh: what a port speaks besides rtgt, to clients that know nothing of us.
#
# The clients are rdma-core's own, as the distribution packages them: rping,
# cmtime, ucmatose, udaddy.  They say little of what goes wrong, and rping exits 0
# when it is disconnected, so a case holds all that they print against what they
# must, and the port's counters, exactly.  What such a client cannot do wrong,
# probe does.
#
# weight 0.4 1.9 smp

. "${0%/*}/lib.sh"
# shellcheck source=rping_fixtures.sh
. "$HERE/rping_fixtures.sh"

# --- rping ------------------------------------------------------------------------

rping_self_made() {
	service_port rping
	rping_ok 1000 100 -q
	expect_pings 1 100
}

rping_two() {
	service_port rping
	rping_args 4096 200
	background first "${RPING[@]}"
	rping_args 777 200
	background second "${RPING[@]}"
	finish first
	finish second
	rping_said first 4096 200
	rping_said second 777 200
	expect_pings 2 400
}

rping_killed() {
	service_port rping
	rping_args 5000 0
	background doomed "${RPING[@]}"
	wait_line doomed rdma-ping-2
	kill -KILL "${BG_PID[doomed]}"
	expect_no_connections
	rping_ok 64 10
	expect_counters conns_established=2 conns_closed=2 malformed=0
}

# rping sends no private data, which makes it a plain client of the service rtgt:
# its messages are counted and not answered.  It waits for ever; idle_ms ends that.
rping_of_rtgt() {
	target_port idle_ms=$((1000 * SLOW))
	rping_args 64 10
	"${RPING[@]}" >"$WORK/rping.out" 2>"$WORK/rping.err" || :
	same "what rping shows" "$(<"$WORK/rping.out")" ""
	grep -q "wait for RDMA_WRITE_ADV state" "$WORK/rping.err" || fail "rping says: $(<"$WORK/rping.err")"
	expect_counters conns_established=1 conns_closed=1 recv_msgs=1 recv_bytes=16 replies=0 malformed=0 qp_errors=0
	has "$(probe send)" alive=1
}

# What the service cannot tell wrong from right: nothing to READ, room for more than
# there is.
lenient() {
	service_port rping
	has "$(probe rping len=0)" pings=1 end=answered
	has "$(probe rping sink=1 len=65536)" pings=1 end=answered
	has "$(probe rping len=65536)" pings=1 end=answered
	expect_counters conns_closed=3 recv_msgs=10 replies=10 malformed=0
}

# A client that is wrong once, after PINGS right pings and ANSWERED right messages in
# all; who else is there does not notice.
hostile() { # COUNTERS PINGS ANSWERED PROBE-ARGUMENT...
	local text replies="replies=$3"
	# over iWARP the WRITE may complete, and the target go on, before the client's device refuses it
	[[ $1 != *send_errors=1* || " $* " != *" sink=1 "* ]] || ! is_iwarp || replies=
	service_port rping
	tolerate_log "non-flush error status"
	background neighbour probe hold plain=1 blind=1
	wait_line neighbour ready=1
	text=$(probe rping "count=$2" "${@:4}")
	[[ $text == "pings=$2 end="@(disconnected|flush) ]] || fail "$text"
	# shellcheck disable=SC2086 # several words
	expect_counters $1 conns_accepted=2 conns_closed=1 "recv_msgs=$(($3 + 1))" $replies
	[[ $(target connections "$PORT") == "id=1 state=live "* ]] || fail "connections: $(target connections "$PORT")"
	rping_ok 64 3
	finish neighbour
}

malformed() { # PINGS ANSWERED PROBE-ARGUMENT...
	hostile "malformed=1 send_errors=0" "$@"
}

# Well formed, but the client's own device refuses what the target then does.
unreachable() { # PINGS ANSWERED PROBE-ARGUMENT...
	hostile "malformed=0 send_errors=1" "$@"
}

# The target invalidates each rkey that it was told: probe compares what the completions of the
# answers say, and announces an invalidated rkey last.
inv() { # ANSWERED PROBE-ARGUMENT...
	local text answered="replies=$((40 + $1)) send_errors=1"
	# over iWARP the WRITE may complete, and the target go on, before the client's device refuses it
	(($1 == 0)) || ! is_iwarp || answered=
	service_port rping-inv
	tolerate_log "non-flush error status"
	text=$(probe rping inv=1 count=20 "${@:2}")
	[[ $text == "pings=20 end="@(disconnected|flush) ]] || fail "$text"
	# shellcheck disable=SC2086 # several words
	expect_counters conns_established=1 conns_closed=1 "recv_msgs=$((40 + $1 + 1))" $answered malformed=0
}

# The rkey of plain memory, which rxe does not invalidate for a peer.
inv_plain() {
	! is_iwarp || skip "siw invalidates the rkey of any memory"
	service_port rping-inv
	tolerate_log "non-flush error status"
	fails_with "a right message is" probe rping count=1
	expect_counters conns_closed=1 recv_msgs=1 replies=1 malformed=0
}

# --- sink -------------------------------------------------------------------------

# The target's RDMA objects, while its port listens.
objects() {
	target look resources "$RTGT_TARGET_DEV"
}

objects_are() { # TEXT
	[[ $(objects) == "$1" ]]
}

# cmtime connects once, then N at a time with queue pairs, then N without any of its
# own, and between these wants to hear of its server by TCP (probe sync): "start",
# "connect" and "disconnect" of each.  The latter's queue pairs have made-up numbers, which -q keeps away
# from those that devices give: one such connection was rejected as stale once (reason 10).
cmtime_() { # CONNECTIONS
	local all=$((2 * $1 + 1)) before
	need_command cmtime
	service_port sink recv_depth=2
	before=$(objects)
	background oob on_target "$HERE/machine.sh" hold "$HERE/probe" "$RTGT_TARGET_ADDR" "$CM_PORT" source=- sync
	wait_line oob listening=1
	cmtime -s "$RTGT_TARGET_ADDR" -b "$RTGT_CLIENT_ADDR" -p "$CM_PORT" -c "$1" -q 1000000 >"$WORK/cmtime" 2>&1 ||
		fail "cmtime exits $?: $(<"$WORK/cmtime")"
	same "connections cmtime tells of" "$(grep -Ec "^(qp|cm)_conn +$1\$" "$WORK/cmtime")" 2
	expect_counters "conns_accepted=$all" "conns_established=$all" "conns_closed=$all" recv_msgs=0 qp_errors=0
	wait_until 5 objects_are "$before" || fail "left of $all connections: $(objects), where there was $before"
	wait_line oob synced=9
	finish oob || :
}

# This one waits for its server to disconnect, which idle_ms does.
ucmatose_() { # CONNECTIONS
	need_command ucmatose
	service_port sink idle_ms=300
	ucmatose -s "$RTGT_TARGET_ADDR" -b "$RTGT_CLIENT_ADDR" -p "$CM_PORT" -C 0 -c "$1" >"$WORK/ucmatose" 2>&1 ||
		fail "ucmatose exits $?: $(<"$WORK/ucmatose")"
	grep -qx "return status 0" "$WORK/ucmatose" || fail "$(<"$WORK/ucmatose")"
	expect_counters "conns_established=$1" "conns_closed=$1" recv_msgs=0 qp_errors=0
	expect_no_connections
}

# All that can be sent is taken and none of it answered.
sink_takes() {
	if is_iwarp; then
		# nobody could get a region's capability (iwarp.no-sink), and there are no immediates
		service_port sink
		fails_with "no completion" probe send plain=1 blind=1 body=100 timeout=1
		expect_counters conns_established=1 conns_closed=1 recv_msgs=1 recv_bytes=116 replies=0 malformed=0
		return
	fi
	target_port service=sink region mem size=1000 fill=0x33
	has "$(probe access plain=1 op=write offset=10 len=100)" wc=success
	has "$(probe access plain=1 op=imm imm=0x10000007 len=100 timeout=1)" wc=success
	expect_counters imms=1 imm_bytes=100
	fails_with "no completion" probe send plain=1 body=100 timeout=1
	expect_counters conns_established=3 conns_closed=3 recv_msgs=1 recv_bytes=116 replies=0 malformed=0 qp_errors=0
}

# --- datagrams --------------------------------------------------------------------

# udaddy knows one port only.  Each of its clients sends ten datagrams and waits for as
# many, whatever they say.
udaddy_() { # CLIENTS
	local sent=$((10 * $1))
	need_command udaddy
	target_port transport=ud port=7174 "recv_depth=$sent"
	udaddy -s "$RTGT_TARGET_ADDR" -b "$RTGT_CLIENT_ADDR" -c "$1" -C 10 -S 100 >"$WORK/udaddy" 2>&1 ||
		fail "udaddy exits $?: $(<"$WORK/udaddy")"
	grep -qx "data transfers complete" "$WORK/udaddy" || fail "$(<"$WORK/udaddy")"
	expect_counters conns_accepted=1 "recv_msgs=$sent" "recv_bytes=$((100 * sent))" "imms=$sent" "replies=$sent"
}

# --- plain clients ----------------------------------------------------------------

# Who reads so much of the private data can WRITE and READ.
plain_bytes() { # BYTES
	local text
	target_port region mem size=4000 fill=0x33 region other
	text=$(probe access "plain=$1" op=write offset=17 len=333 seed=9)
	has "$text" wc=success
	target_holds mem 17 333 "$(value_of "$text" crc)" 0x33
	has "$(probe access "plain=$1" op=read offset=17 len=333)" wc=success "crc=$(value_of "$text" crc)"
	has "$(probe connect "plain=$1")" rtgt=0 regions=1
	expect_counters conns_established=3 conns_closed=3 recv_msgs=0 replies=0 qp_errors=0
}

# --- idle_ms ----------------------------------------------------------------------

idle() {
	service_port rping idle_ms=$((1000 * SLOW))
	rping_args 64 0
	background busy "${RPING[@]}"
	wait_line busy rdma-ping-2
	background idle probe hold plain=1 blind=1
	wait_line idle ready=1
	wait_until 10 counters_are conns_closed=1 || fail "$COUNTERS"
	[[ $(target connections "$PORT") == "id=1 state=live "* ]] || fail "connections: $(target connections "$PORT")"
	send_line idle echo
	wait_line idle alive=0
	finish idle
	kill -KILL "${BG_PID[busy]}"
	expect_no_connections
	expect_counters conns_established=2 conns_closed=2 malformed=0
}

# Whoever asks something is not idle, however long it goes on with that.
idle_requests() {
	target_port idle_ms=$((1000 * SLOW))
	background busy probe hold
	wait_line busy ready=1
	background idle probe hold
	wait_line idle ready=1
	wait_until 10 asked_until_closed || fail "$COUNTERS"
	[[ $(target connections "$PORT") == "id=1 state=live "* ]] || fail "connections: $(target connections "$PORT")"
	send_line idle echo
	wait_line idle alive=0
	finish idle
	expect_counters conns_established=2 conns_closed=2 malformed=0 qp_errors=0
	finish busy
}

asked_until_closed() {
	send_line busy echo
	counters_are conns_closed=1
}

# What the target's processor does not see is not traffic to it.
idle_writes() {
	target_port idle_ms=200
	background writer probe traffic len=64
	wait_line writer end=
	finish writer
	# siw takes no work request when the connection has ended, or completes it with an error
	grep -Eqx "end=(disconnected|flush$(is_iwarp && echo "|loc-qp-op|unposted"))" "$WORK/writer.out" || fail "$(<"$WORK/writer.out")"
	expect_counters conns_established=1 conns_closed=1 recv_msgs=0 qp_errors=0
}

# The target itself is busy for longer than that, with the client's data: a transfer of 1 MiB counts.
# It takes 140 ms; a packet that is sent again may take a second.
idle_transfer() {
	local size=$((32 * 1048576)) begin=$EPOCHREALTIME
	target_port idle_ms=$((3000 * SLOW)) region mem "size=$size"
	disturb "u32 0 0" rate "$((60 / SLOW))mbit" limit 100000
	has "$(probe move op=pull "len=$size" timeout=50)" status=ok ok=1
	begin=$((${EPOCHREALTIME/./} - ${begin/./}))
	((begin > 3000000 * SLOW)) || fail "the PULL took $begin us only, no longer than idle_ms"
	expect_counters conns_closed=1 replies=1 qp_errors=0 send_errors=0
}

# Over iWARP, a port with keepalive_ms waits for the client's first message.
silent_client() {
	background silent probe hold
	wait_line silent ready=1
	send_line silent echo
	wait_line silent alive=1
}

# A silent peer that is there stays, whose device answers empty messages.
keepalive() {
	target_port keepalive_ms=$((300 * SLOW))
	silent_client
	wait_until 15 kept_alive || fail "$COUNTERS"
	counters_are conns_closed=0 || fail "$COUNTERS"
	send_line silent echo
	finish silent
	same "answers" "$(grep -c alive=1 "$WORK/silent.out")" 2
	expect_counters conns_closed=1 send_errors=0 qp_errors=0
}

kept_alive() {
	counters_are conns_closed=0
	(($(last_counter keepalives) >= 3))
}

# One that has vanished with its network does not.
keepalive_gone() {
	target_port keepalive_ms=$((500 * SLOW))
	silent_client
	lose "u32 0 0"
	expect_no_connections
	counters_are conns_closed=1 send_errors=0 || fail "$COUNTERS"
	(($(last_counter keepalives) >= 1)) || fail "$COUNTERS"
	logged "connection 1 .*: closing: the peer's device does not answer" || fail "the log does not say why"
	kill -KILL "${BG_PID[silent]}"
}

keepalive_transport() {
	target_port transport=uc
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	target attr_set "$CONFIGFS/ports/$PORT/keepalive_ms" 1
	fails_with "Invalid argument" target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	logged "set transport to rc, or keepalive_ms to 0" || fail "the log does not say why"
}

# With both, a silent peer is asked again and again, and its answers are no traffic.
keepalive_idle() {
	target_port keepalive_ms=$((200 * SLOW)) idle_ms=$((1500 * SLOW))
	background silent probe hold
	wait_line silent ready=1
	wait_until 15 counters_are conns_closed=1 || fail "$COUNTERS"
	(($(last_counter keepalives) >= 2)) || fail "$COUNTERS"
	counters_are send_errors=0 qp_errors=0 || fail "$COUNTERS"
	finish silent
}

tcase rping-packet --tier wire,fast "20 pings of a packet and of a byte more or less come back as they went" rping_sizes 20 1023 1024 1025
tcase ucmatose --tier wire,fast "ucmatose makes 20 connections to a port with service sink" ucmatose_ 20
tcase rping-64 --tier fast,wire --more "1,000 pings of 64 bytes by rping come back as they went" rping_sizes 1000 64
tcase rping-killed --more --tier fast,wire "an rping that is killed leaves nothing" rping_killed

tcase cmtime --needs tcp-port --tier fast,wire --limit 60 --more "cmtime makes 201 connections to a port with service sink" cmtime_ 100

tcase rping-sizes --more "5 pings of the smallest and the largest size of rping, and of two between, come back as they went" rping_sizes 5 23 256 8192 65535
tcase rping-q --more --needs qp-states "rping with a queue pair that it creates without rdma_cm" rping_self_made
tcase rping-two --limit 60 --more "two rpings at once" rping_two
tcase rping-of-rtgt --more --needs plain --serve-more "an rping of a port with service rtgt gets no answer, and ends with idle_ms" rping_of_rtgt
tcase rping-lenient "an empty, a larger and the largest buffer are served" lenient
tcase rping-inv --tier wire,fast "SEND_WITH_INV: a client of rping-inv gets each rkey invalidated, and the target READs with none of them again" inv 0
tcase rping-inv-sink --more --tier wire,fast "SEND_WITH_INV: the target WRITEs with no rkey again that it has invalidated" inv 1 sink=1
tcase rping-inv-plain --more "rping-inv ends the connection of a client whose rkey cannot be invalidated" inv_plain
tcase rping-narrow --more "a sink that is smaller than the source ends its rping's connection only" malformed 1 3 sink=1 len=63
tcase rping-rkey --more "a READ with a wrong key ends its rping's connection only" unreachable 1 2 rkey_xor=0x1000
tcase rping-sink-rkey --more "a WRITE with a wrong key ends its rping's connection only" unreachable 1 3 sink=1 rkey_xor=0x1000

tcase sink --more "service sink accepts every message and replies to none" sink_takes
tcase udaddy --needs ud --more "udaddy: three datagram clients" udaddy_ 3
tcase plain-20 --needs plain "a client that reads 20 bytes of the REP WRITEs and READs" plain_bytes 20
tcase idle --more "idle_ms closes a connection without traffic, and no other" idle
tcase idle-requests --more --serve-more "idle_ms closes a connection without requests, and none with requests" idle_requests
tcase idle-writes --more --serve-more "idle_ms closes a connection that only WRITEs" idle_writes
tcase idle-transfer --more --serve-more "idle_ms closes no connection whose PULL takes longer" idle_transfer
tcase keepalive --more "keepalive_ms keeps the connection of a silent peer that is there" keepalive
tcase keepalive-gone --more "keepalive_ms closes the connection of a peer that has vanished" keepalive_gone
tcase keepalive-uc --needs uc "keepalive_ms needs a reliable connection" keepalive_transport

# Other sizes, as often as rping-64.
for size in 128 256 512 1024 2048 4096 8192 16384 32768 65535; do
	tcase "rping-$size" --tier fast,wire --limit 120 --long "1,000 pings of $size bytes by rping come back as they went" rping_sizes 1000 "$size"
done
tcase keepalive-idle --more "idle_ms closes a silent connection that keepalive_ms keeps" keepalive_idle

tmain "$@"
