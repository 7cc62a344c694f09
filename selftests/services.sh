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
# weight 3.4

. "${0%/*}/lib.sh"

# A port without regions.
service_port() { # SERVICE [ATTR=VALUE...]
	PORTS_MADE=$((${PORTS_MADE:-0} + 1))
	PORT=$CASE-$PORTS_MADE
	CM_PORT=$((20000 + CASE_INDEX * 16 + PORTS_MADE))
	defer target port_del "$PORT"
	target port_add "$PORT" "addr=$RTGT_TARGET_ADDR" "port=$CM_PORT" "service=$1" "${@:2}"
}

# --- rping ------------------------------------------------------------------------

# The command line of "rping -c" against PORT: RPING.
rping_args() { # SIZE COUNT [ARG...]
	need_command rping
	RPING=(rping -c -a "$RTGT_TARGET_ADDR" -I "$RTGT_CLIENT_ADDR" -p "$CM_PORT" -V -v -S "$1" -C "$2" "${@:3}")
}

# What -v shows of a ping: its number, and letters that begin one further each time.
rping_line() { # SIZE NUMBER
	local text="rdma-ping-$2: " letters='' all='' c
	for c in {65..122}; do
		printf -v c '\\x%x' "$c"
		all+=$c
	done
	printf -v all '%b' "$all"
	while ((${#letters} < $1 + ${#all})); do
		letters+=$all
	done
	text+=${letters:$2 % ${#all}:$1}
	printf 'ping data: %s\n' "${text:0:$1 - 1}"
}

# In $WORK/NAME.out COUNT lines of SIZE bytes, the first and the last as they must be,
# and in NAME.err nothing to complain of.  An rping that ends may report the DREP, the
# end of TIMEWAIT if it takes long, or that it closed the file another thread of it waits on.
rping_said() { # NAME SIZE COUNT
	local line=$((11 + $2)) out=$WORK/$1.out
	same "what rping complains of" "$(grep -vx -e "client DISCONNECT EVENT\.\.\." \
		-e "unhandled event: RDMA_CM_EVENT_TIMEWAIT_EXIT, ignoring" \
		-e "rdma_get_cm_event: Bad file descriptor" "$WORK/$1.err" || :)" ""
	same "bytes rping shows" "$(stat -c %s "$out")" $(($3 * line))
	same "the first ping" "$(head -n 1 "$out")" "$(rping_line "$2" 0)"
	same "the last ping" "$(tail -c "$line" "$out")" "$(rping_line "$2" $(($3 - 1)))"
}

rping_ok() { # SIZE COUNT [ARG...]
	rping_args "$@"
	"${RPING[@]}" >"$WORK/rping.out" 2>"$WORK/rping.err" || fail "rping exits $?: $(<"$WORK/rping.err")"
	rping_said rping "$1" "$2"
}

# So many connections made so many pings in all: 2 messages of 16 bytes each, and
# as many answers.
expect_pings() { # CONNECTIONS PINGS
	expect_counters "conns_established=$1" "conns_closed=$1" "recv_msgs=$((2 * $2))" \
		"recv_bytes=$((32 * $2))" "replies=$((2 * $2))" imms=0 malformed=0 qp_errors=0 send_errors=0
	expect_no_connections
}

rping_sizes() { # COUNT SIZE...
	local size
	service_port rping
	for size in "${@:2}"; do
		rping_ok "$size" "$1"
	done
	expect_pings $(($# - 1)) $(($1 * ($# - 1)))
}

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
	said doomed rdma-ping-2
	kill -KILL "${BG_PID[doomed]}"
	expect_no_connections
	rping_ok 64 10
	expect_counters conns_established=2 conns_closed=2 malformed=0
}

# rping sends no private data, which makes it a plain client of the service rtgt:
# its messages are counted and not answered.  It waits for ever; idle_ms ends that.
rping_of_rtgt() {
	target_port idle_ms=300
	rping_args 64 10
	"${RPING[@]}" >"$WORK/rping.out" 2>"$WORK/rping.err" || :
	same "what rping shows" "$(<"$WORK/rping.out")" ""
	grep -q "wait for RDMA_WRITE_ADV state" "$WORK/rping.err" || fail "rping says: $(<"$WORK/rping.err")"
	expect_counters conns_established=1 conns_closed=1 recv_msgs=1 recv_bytes=16 replies=0 malformed=0 qp_errors=0
	has "$(probe send)" alive=1
}

# 64 KiB are too much for rping itself.
rping_refuses() {
	service_port rping
	rping_args 65536 1
	fails_with "Invalid size" "${RPING[@]}"
	expect_counters conns_accepted=0
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
	local text
	service_port rping
	tolerate_log "non-flush error status"
	background neighbour probe hold plain=1 blind=1
	said neighbour ready=1
	text=$(probe rping "count=$2" "${@:4}")
	[[ $text == "pings=$2 end="@(disconnected|flush) ]] || fail "$text"
	# shellcheck disable=SC2086 # several words
	expect_counters $1 conns_accepted=2 conns_closed=1 "recv_msgs=$(($3 + 1))" "replies=$3"
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
# "connect" and "disconnect" of each.
cmtime_() { # CONNECTIONS
	local all=$((2 * $1 + 1)) before
	need_command cmtime
	service_port sink recv_depth=2
	before=$(objects)
	background oob on_target "$HERE/machine.sh" hold "$HERE/probe" "$RTGT_TARGET_ADDR" "$CM_PORT" source=- sync
	said oob listening=1
	cmtime -s "$RTGT_TARGET_ADDR" -b "$RTGT_CLIENT_ADDR" -p "$CM_PORT" -c "$1" >"$WORK/cmtime" 2>&1 ||
		fail "cmtime exits $?: $(<"$WORK/cmtime")"
	same "connections cmtime tells of" "$(grep -Ec "^(qp|cm)_conn +$1\$" "$WORK/cmtime")" 2
	expect_counters "conns_accepted=$all" "conns_established=$all" "conns_closed=$all" recv_msgs=0 qp_errors=0
	wait_until 5 objects_are "$before" || fail "left of $all connections: $(objects), where there was $before"
	said oob synced=9
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
	service_port rping idle_ms=1000
	rping_args 64 0
	background busy "${RPING[@]}"
	said busy rdma-ping-2
	background idle probe hold plain=1 blind=1
	said idle ready=1
	wait_until 10 counters_are conns_closed=1 || fail "$COUNTERS"
	[[ $(target connections "$PORT") == "id=1 state=live "* ]] || fail "connections: $(target connections "$PORT")"
	tell idle echo
	said idle alive=0
	finish idle
	kill -KILL "${BG_PID[busy]}"
	expect_no_connections
	expect_counters conns_established=2 conns_closed=2 malformed=0
}

# Whoever asks something is not idle, however long it goes on with that.
idle_requests() {
	target_port idle_ms=$((1000 * SLOW))
	background busy probe hold
	said busy ready=1
	background idle probe hold
	said idle ready=1
	wait_until 10 asked_until_closed || fail "$COUNTERS"
	[[ $(target connections "$PORT") == "id=1 state=live "* ]] || fail "connections: $(target connections "$PORT")"
	tell idle echo
	said idle alive=0
	finish idle
	expect_counters conns_established=2 conns_closed=2 malformed=0 qp_errors=0
	finish busy
}

asked_until_closed() {
	tell busy echo
	counters_are conns_closed=1
}

# What the target's processor does not see is not traffic to it.
idle_writes() {
	target_port idle_ms=200
	background writer probe traffic len=64
	said writer end=
	finish writer
	grep -Eqx "end=(disconnected|flush)" "$WORK/writer.out" || fail "$(<"$WORK/writer.out")"
	expect_counters conns_established=1 conns_closed=1 recv_msgs=0 qp_errors=0
}

tcase rping-packet "20 pings of a packet and of a byte more or less come back as they went" rping_sizes 20 1023 1024 1025
tcase ucmatose "ucmatose makes 20 connections to a port with service sink" ucmatose_ 20
tier fast wire
more tcase rping-64 "1,000 pings of 64 bytes by rping come back as they went" rping_sizes 1000 64
tcase rping-killed "an rping that is killed leaves nothing" rping_killed

limit 60
tcase cmtime "cmtime makes 201 connections to a port with service sink" cmtime_ 100

tier fast
more tcase rping-23 "1,000 pings of 23 bytes by rping come back as they went" rping_sizes 1000 23
limit 30
more tcase rping-powers "5 pings of each power of two by rping come back as they went" rping_sizes 5 128 256 512 1024 2048 4096 8192 16384 32768 65535
more tcase rping-odd "5 pings of each odd size by rping come back as they went" rping_sizes 5 24 65 127 1000 2047 4097 65534
tcase rping-q "rping with a queue pair it made by itself" rping_self_made
limit 60
more tcase rping-two "two rpings at once" rping_two
limit 30
tcase rping-of-rtgt "an rping of a port with service rtgt gets no answer, and ends with idle_ms" rping_of_rtgt
tcase rping-65536 "rping itself refuses 64 KiB" rping_refuses
tcase rping-lenient "an empty, a larger and the largest buffer are served" lenient
tcase rping-short "a message of 15 bytes ends its rping's connection only" malformed 1 2 cut=15
more tcase rping-long "a message of 17 bytes ends its rping's connection only" malformed 1 2 cut=17
more tcase rping-empty "an empty message ends its rping's connection only" malformed 1 2 cut=0
more tcase rping-65537 "a buffer of 64 KiB and one byte ends its rping's connection only" malformed 1 2 len=65537
more tcase rping-4G "a buffer of 4 GiB ends its rping's connection only" malformed 1 2 len=0xffffffff
more tcase rping-narrow "a sink that is smaller than the source ends its rping's connection only" malformed 1 3 sink=1 len=63
more tcase rping-no-reads "a client that lets nobody READ is not served by rping" malformed 0 0 holds=0
tcase rping-rkey "a READ with a wrong key ends its rping's connection only" unreachable 1 2 rkey_xor=0x1000
more tcase rping-addr "a READ from nowhere ends its rping's connection only" unreachable 1 2 addr=4096
more tcase rping-sink-rkey "a WRITE with a wrong key ends its rping's connection only" unreachable 1 3 sink=1 rkey_xor=0x1000

tcase sink "service sink takes all and answers nothing" sink_takes
more tcase udaddy "udaddy: three datagram clients" udaddy_ 3
more tcase plain-12 "a client that reads 12 bytes of the REP WRITEs and READs" plain_bytes 12
tcase plain-20 "a client that reads 20 bytes of the REP WRITEs and READs" plain_bytes 20
tcase idle "idle_ms closes a connection without traffic, and no other" idle
more tcase idle-requests "idle_ms closes a connection that asks for nothing, and none that does" idle_requests
more tcase idle-writes "idle_ms closes a connection that only WRITEs" idle_writes

# What rping-powers does, as often as the others.
long
tier fast wire
limit 120
for size in 128 256 512 1024 2048 4096 8192 16384 32768 65535; do
	tcase "rping-$size" "1,000 pings of $size bytes by rping come back as they went" rping_sizes 1000 "$size"
done

tmain "$@"
