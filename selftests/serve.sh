#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# serve.sh: the target in user space, "rtgt serve".
#
# Here are the cases that are about it alone.  It speaks the kernel target's protocol, so many
# cases of other programs run against it as well: those declared with --serve (lib.sh), which
# the pattern '*.serve-*' selects.
#
# weight 0.8 2.7

. "${0%/*}/lib.sh"
KERNEL_DEBUGFS=$DEBUGFS
# shellcheck source=serve_fixtures.sh
. "$HERE/serve_fixtures.sh"

# --- its own -------------------------------------------------------------------------

# Both targets side by side, made of the same words, at CM_PORT and KERNEL_PORT.
both_targets() { # [ATTR=VALUE...] [region NAME [ATTR=VALUE...]]...
	target_port "$@"
	KERNEL_PORT=$((CM_PORT + 8))
	defer "$HERE/machine.sh" port_del "$PORT"
	"$HERE/machine.sh" port_add "$PORT" "addr=$RTGT_TARGET_ADDR" "port=$KERNEL_PORT" "$@"
}

# All a client is told, but for keys and addresses; and how many READs and atomics each
# side may have under way.
told() { # PORT
	local CM_PORT=$1 said
	said=$(probe connect)
	tr ' ' '\n' <<<"$said" | grep -Ev '^(addr|rkey|conn_id)'
	rtgt ping -d -o write -S 8 -C 1 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" 2>&1 |
		grep -o 'reads out [0-9]* in [0-9]*' | tail -1
}

# What is counted has the same names, in the same order.
alike() { # SCOPE
	! is_iwarp || skip "over iWARP the REP of rtgt serve has the capability, that of the kernel's target has not"
	both_targets scope="$1" recv_size=8K recv_depth=5 region mem size=5000 region big size=4M access=read \
		region atoms access=atomic
	told "$KERNEL_PORT" >"$WORK/kernel"
	told "$CM_PORT" >"$WORK/user"
	grep -q '^reads out [1-9]' "$WORK/kernel" || fail "$(<"$WORK/kernel")"
	diff "$WORK/kernel" "$WORK/user"
	same "names of the counters" "$(target counters "$PORT" | cut -d' ' -f1)" \
		"$(cut -d' ' -f1 "$KERNEL_DEBUGFS/ports/$PORT/counters")"
}

# Clients in the middle of their work: they are told, and it ends well.
ended_under_traffic() {
	target_port region mem size=64K
	background holder probe hold count=3
	wait_line holder ready=3
	background writer probe traffic len=4096 depth=8
	wait_line writer started=1
	port_del "$PORT"
	wait_line writer end=
	finish writer
	grep -Eqx "end=(disconnected|flush|rem-access|retry-exceeded|loc-qp-op|unposted)" "$WORK/writer.out" || fail "$(<"$WORK/writer.out")"
	send_line holder echo
	wait_line holder alive=0
	finish holder
	has "$(probe connect)" result=refused status=8 reason=untyped
}

counted() {
	SERVE=(--count 2)
	target_port
	background first probe hold
	wait_line first ready=1
	has "$(probe connect)" conn_id=2
	has "$(probe connect)" result=refused status=28 reason=stopping
	finish first
	server_ended "$PORT"
}

printed() {
	SERVE=(--stats --verbose)
	target_port
	has "$(probe send)" wc=success
	expect_counters conns_closed=1
	kill -USR1 "${SERVERS[$PORT]}"
	wait_until 5 grep -qx "conns_closed 1" "$WORK/$PORT.said" || fail "on SIGUSR1: $(<"$WORK/$PORT.said")"
	port_del "$PORT"
	same "times the counters were printed" "$(grep -cx "recv_msgs 2" "$WORK/$PORT.said")" 2
	grep -q "^connection 1 from $RTGT_CLIENT_ADDR:[0-9]* on $RTGT_TARGET_DEV: established, QP [0-9]*$" "$WORK/$PORT.said"
	grep -q "^connection 1 from .*: closed: disconnected$" "$WORK/$PORT.said" || fail "$(<"$WORK/$PORT.said")"
}

polled() {
	SERVE=(--poll)
	target_port region mem size=8K
	ping_ok write 4000 2
	ping_ok send 4000 2
	expect_counters qp_errors=0 malformed=0
}

# Keys a client can kill: once each, because of rxe (--help).
windows() {
	local said
	SERVE=(--windows)
	target_port scope=private recv_size=8192 region mem size=8192 access=read,write,atomic region ro access=read
	has "$(probe invalidate rotate=1 len=300)" wc=success status=ok other=1 same_addr=1 new=success old=rem-access
	has "$(probe invalidate len=300)" wc=success status=ok old=rem-access
	expect_counters invalidations=2 rotations=1 qp_errors=2 registrations=4 malformed=0
	said=$(rtgt ping -o all -S 1,5000 -C 2 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR") || fail "$said"
	[[ $said == *$'\nsend-inv '*" verified at both ends"* ]] || fail "$said"
	expect_counters invalidations=6 rotations=5 qp_errors=2
	tolerate_log "non-flush error status"
}

# How many objects of each kind the server has.
objects() { # PID
	local kind
	for kind in pd qp cq mr; do
		rdma resource show "$kind" | grep -c " pid $1 " || true
	done | paste -sd ' '
}

# A connection of a private port has a domain, regions and queues of its own.
leaves_nothing() {
	local before
	target_port scope=private region mem size=8K region other size=8K
	before=$(objects "${SERVERS[$PORT]}")
	background holder probe hold count=2
	wait_line holder ready=2
	[[ $(objects "${SERVERS[$PORT]}") != "$before" ]] || fail "two clients take no objects: $before"
	finish holder
	expect_counters conns_closed=2
	wait_until 10 has_objects "$before" || fail "before: $before, afterwards: $(objects "${SERVERS[$PORT]}")"
}

has_objects() { # WANTED
	[[ $(objects "${SERVERS[$PORT]}") == "$1" ]]
}

# One that asks and does not take the answers: its neighbours get theirs, those who come
# get theirs, and the server ends although it is there.
sick_client() {
	local closed=3
	# there is no RNR over iWARP: the device of the sick client ends its connection
	! is_iwarp || closed=4
	target_port recv_depth=4
	background sick probe unheard wait=1
	wait_line sick heard=1
	background holder probe hold count=2
	wait_line holder ready=2
	expect_counters recv_msgs=3 replies=3
	send_line holder echo
	wait_line holder alive=2
	has "$(probe send)" wc=success status=ok alive=1
	finish holder
	expect_counters recv_msgs=7 replies=7 conns_closed=$closed
	port_del "$PORT"
	finish sick
}

# More clients than there are receive contexts (2 * recv_depth + 8) have used one: clients
# whose receive failed, and clients that got their reply and now send nothing.
srq_contexts() {
	target_port srq=1 recv_depth=2 withhold_max=2 recv_size=256
	tolerate_log "non-flush error status"
	background silent probe hold count=16
	wait_line silent ready=16
	send_line silent burst
	wait_line silent alive=16
	for _ in {1..12}; do
		probe access op=send body=241 >/dev/null
	done
	expect_counters conns_closed=12 recv_msgs=16
	srq_has 2
	finish silent
}

# A server that runs before all others sees the refused receive's completion, or the event,
# before the device has sent the NAK: it leaves the device the time for it.
nak_first() { # ARG...
	local file=/sys/kernel/debug/sched/preempt before said
	[[ -e $file ]] || skip "the kernel's preemption is fixed (CONFIG_PREEMPT_DYNAMIC)"
	before=$(sed 's/.*(\(.*\)).*/\1/' $file)
	defer attr_set $file "$before"
	attr_set $file full
	target_port "$@" recv_size=256 region mem size=4096 access=read
	chrt --fifo --pid 50 "${SERVERS[$PORT]}"
	tolerate_log "non-flush error status"
	for _ in {1..4}; do
		said=$(probe access op=send body=241 timeout=5) || :
		[[ $said == wc=rem-* ]] || fail "a SEND that is too long: ${said:-no answer}"
		has "$(probe access op=write timeout=5)" wc=rem-access
	done
	expect_counters conns_accepted=8 conns_closed=8
}

# A long checksum is done in steps: others are served between them.
long_checksum() {
	# so many that the test has time to look: the sum takes longer than the echo
	local bytes=$((SLOW > 1 ? 1 << 29 : 1 << 28))
	[[ $SLOW != 1 || ${RTGT_ACCEL:-} != tcg ]] || bytes=$((1 << 26))
	target_port region mem "size=$bytes" fill=counter
	background other probe hold
	wait_line other ready=1
	background summer probe send msg_op=2 body=24 "count=$bytes" timeout=60
	wait_until 30 counters_are recv_msgs=1 || fail "$COUNTERS"
	send_line other echo
	wait_line other alive=1
	expect_counters recv_msgs=2 replies=1
	wait_until 60 grep -q "crc=" "$WORK/summer.out" || fail "$(cat "$WORK/summer.out" "$WORK/summer.err")"
	has "$(<"$WORK/summer.out")" status=ok "crc=$(target look crc "$(data_of mem)")"
	finish summer
	finish other
}

# Bad words are told before anything is made, with what would be taken.
refused_words() {
	local words said
	while IFS='|' read -r words said; do
		# shellcheck disable=SC2086 # several words
		fails_with "$said" rtgt serve $words
		# shellcheck disable=SC2086
		rtgt serve $words >"$WORK/out" 2>&1 || same "exit status of $words" $? 2
		same "lines about $words" "$(wc -l <"$WORK/out")" 1
	done <<-END
		port 0|1 to 65535
		port 65536|1 to 65535
		addr 198.51.100|an IPv4 or IPv6 address
		service rping|the other services are the kernel target's
		transport xrc|rc, uc or ud
		--once transport ud|transport ud has none
		--windows scope private transport uc|needs transport rc
		srq 2|0 or 1
		idle_ms 86400001|0 to 86400000
		scope both|shared or private
		recv_size 63|64 to 2097152
		recv_depth 4097|1 to 4096
		withhold_max 4097|0 to 4096
		mr_max 5000|whole pages
		handshake_ms 8192|rtgt serve has no handshake_ms
		backlog 7|rtgt serve has no backlog
		max_conns|needs a value
		frobnicate 1|is no key of the port
		region|region which?
		region a/b|is no name for a region: letters, digits, _ . - and at most 31 of them
		region a region a|two regions a
		region a size 0|1 to 16G
		region a size 17G|1 to 16G
		region a access read,|one or more of
		region a fill 0x100|zero, counter, or a byte
		region a port 1|is no key of a region
		region a region b region c region d region e region f region g|one too many
		--count 0|1 to
		--frobnicate|unknown option
	END
}

cannot_serve() {
	fails_with "no RDMA device has the address 203.0.113.1" rtgt serve addr 203.0.113.1
	fails_with "cannot make the directory" rtgt serve --state /proc/nowhere addr "$RTGT_TARGET_ADDR"
	fails_with "no RDMA device has the address 203.0.113.1" rtgt serve addr 203.0.113.1 transport uc
	target_port
	fails_with "is in use" rtgt serve addr "$RTGT_TARGET_ADDR" port "$CM_PORT"
	has "$(probe connect)" result=established
}

tcase alike-shared --more "rtgt serve sends clients the same values, and counts the same, as the kernel's target, shared" alike shared
tcase alike-private --more "rtgt serve sends clients the same values, and counts the same, as the kernel's target, private" alike private
tcase ended --more "SIGTERM under full traffic ends rtgt serve and all its connections" ended_under_traffic
tcase count "with --count N, rtgt serve exits after N connections" counted
tcase printed "counters are printed on SIGUSR1 and at the end, connections with -v" printed
tcase poll --more "rtgt serve works with --poll" polled
tcase windows --more --needs windows "with --windows, a client can invalidate its rkeys and get new ones" windows
tcase leaves-nothing --more "the objects of a private port's connections go with them" leaves_nothing
tcase sick --more "a client that receives no replies does not block the others" sick_client
tcase srq-contexts --needs rnr --more "with srq, clients that failed or send nothing keep no receive context" srq_contexts
tcase nak-first --needs acks --more "rtgt serve does not close a connection before the device has sent its NAK" nak_first
tcase nak-first-srq --more --needs acks "with srq, rtgt serve does not close a connection before the device has sent its NAK" nak_first srq=1
tcase long-checksum --limit 60 --more "others are served while a long checksum is made" long_checksum
tcase refused-words --more "for a wrong word on the command line, rtgt serve prints the possible ones" refused_words
tcase cannot "if rtgt serve cannot serve, it prints the reason" cannot_serve

tmain "$@"
