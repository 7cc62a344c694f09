#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# kernel_initiator.sh: the kernel's own initiator, and rtgt lat, which compares it with user
# space.
#
# The initiator runs on the client's machine, so the module is loaded there too.
#
# weight 0.7 1.5 smp

. "${0%/*}/lib.sh"
. "$HERE/initiator_fixtures.sh"

# How many runs the cases do that repeat a run; by hand, do more
RUNS=${RTGT_RUNS:-25}

# Times of the run, in RESULT: none is missing, and all of them are within what passed since BEGAN
plausible_times() {
	local passed=$(((${EPOCHREALTIME/./} - BEGAN) * 1000)) sum=0 name
	for name in addr_ns route_ns qp_ns connect_ns elapsed_ns; do
		(($(value $name) > 0)) || fail "$name: $RESULT"
		sum=$((sum + $(value $name)))
	done
	((sum <= passed)) || fail "$sum ns of a run that took $passed ns: $RESULT"
	(($(value min_ns) <= $(value p50_ns) && $(value p50_ns) <= $(value max_ns) && $(value max_ns) <= $(value elapsed_ns))) ||
		fail "$RESULT"
}

# One operation, each way to take its completions, one and several at a time.
operation() { # OP SIZE VERIFIED-PER-DEPTH... of depth 1 and 4
	local op=$1 size=$2 poll BEGAN
	target_port recv_depth=8 recv_size=8192 region mem size=64K access=read,write,atomic fill=counter
	initiator "op=$op" "size=$size" iters=50 warmup=5
	for poll in softirq workqueue direct; do
		BEGAN=${EPOCHREALTIME/./}
		run "poll=$poll" depth=1
		has "$RESULT" state=done "op=$op" "poll=$poll" ops=50 "verified=$3"
		plausible_times
	done
	run poll=softirq depth=4
	has "$RESULT" state=done depth=4 ops=50 "verified=$4"
	same "samples" "$(wc -l <"$DEBUGFS/initiators/$CASE/samples")" 50
	sort -nc "$DEBUGFS/initiators/$CASE/samples"
	expect_counters conns_established=4 conns_closed=4 qp_errors=0 malformed=0
	expect_no_connections
}

# Each byte of the region, one operation behind the other.
walks() {
	target_port region mem size=1M fill=0x00
	initiator op=write size=64K walk=1 iters=16 warmup=0 depth=3
	run
	has "$RESULT" state=done "bytes=$((1 << 20))" "verified=$((1 << 20))"
	fails_with "byte" target_filled mem 0 65536 0
}

# Chains: not all as long as the others, the last cut short, over whatever was there.
chains() { # OP
	target_port region mem size=64K access=read,write,atomic fill=counter
	initiator "op=$1" size=1000 depth=7 signal=3 warmup=8 iters=41 walk="${2:-0}"
	run
	has "$RESULT" state=done ops=41
	same "samples" "$(wc -l <"$DEBUGFS/initiators/$CASE/samples")" 41
	run depth=128 signal=128 warmup=0 iters=1
	has "$RESULT" state=done ops=1
	run iters=300
	has "$RESULT" state=done ops=300
	expect_counters qp_errors=0
	expect_no_connections
}

# In parts that are not all alike, each with its own bytes at its own place, and nothing
# behind them; a chain goes on together.
segments() { # OP FILL
	local chunk=$((2 << 20))
	# an MR of siw, which the initiator uses one of, is 1 MiB
	! is_iwarp || chunk=$((1 << 19))
	target_port region mem size=8M "fill=$2"
	initiator "op=$1" size=10000 segment=3000 depth=6 iters=6 warmup=0 verify=all span=60000
	run
	has "$RESULT" state=done ops=6 bytes=60000 verified=60000
	[[ $2 != zero ]] || target_filled mem 60000 $(((8 << 20) - 60000)) 0
	run signal=4
	has "$RESULT" state=done ops=6 verified=60000
	# a part may lie across two pieces of the kernel's memory, or be all there is
	run size=$((chunk + 5000)) segment=$((chunk / 2 + 1)) depth=1 signal=1 iters=1 span=0 offset=7
	has "$RESULT" state=done ops=1 verified=$((chunk + 5000))
	run size=3000 segment=3000 depth=4 iters=20 verify=end walk=1
	has "$RESULT" state=done ops=20
	expect_counters qp_errors=0
	expect_no_connections
}

# The bytes of a request are in several SGEs, which are not all alike, and lie where one would put
# them.  A READ over iWARP has one.
in_sges() {
	local op chunk=$((2 << 20)) less=1
	# there, of the first extent; and no short segment (Documentation/findings/siw-short-page.rst)
	! is_iwarp || { chunk=$((1 << 18)) && less=1000; }
	target_port region mem size=8M fill=zero
	initiator depth=3 iters=3 warmup=0 verify=all
	for op in write read; do
		run "op=$op" sges=4 size=10001 segment=0
		has "$RESULT" state=done verified=30003
		run sges=3 size=2
		has "$RESULT" state=done verified=6
		# two pieces of the kernel's memory, each cut
		run sges=2 size=$((chunk + 9)) segment=$((chunk - less))
		has "$RESULT" state=done verified=$((3 * chunk + 27))
	done
	expect_counters qp_errors=0
	expect_no_connections
}

# Each request waits for the READs and atomics before it.  siw refuses a READ that would wait.
fenced() {
	local op
	target_port recv_depth=8 recv_size=8K region mem size=64K access=read,write,atomic
	initiator fence=1 size=1000 depth=5 iters=20 warmup=0
	device_ops write,read,send,faa
	for op in ${OPS//,/ }; do
		run "op=$op"
		if is_iwarp && [[ $op == read ]]; then
			has "$RESULT" state=failed
			[[ $RESULT == *"error=operation 0 cannot be posted: -22"* ]] || fail "$RESULT"
			continue
		fi
		has "$RESULT" state=done "op=$op" ops=20
		accounted
	done
}

# Over UC there is nothing that acknowledges.
over_uc() {
	local op
	target_port transport=uc recv_depth=8 recv_size=8K region mem size=64K
	initiator transport=uc size=3000 depth=4 iters=4 warmup=0 verify=all
	for op in write write-imm send; do
		run "op=$op"
		has "$RESULT" state=done "op=$op" ops=4 verified=12000
	done
	run op=read
	has "$RESULT" state=failed
	[[ $RESULT == *"transport uc: it has no READs"* ]] || fail "$RESULT"
	expect_counters conns_established=4 conns_closed=4 imms=4 malformed=0
}

# The REQ carries the private data that the administrator chose: another version, other bytes, rtgt's.
private_data() {
	local next=52544754000900100000000000000000
	target_port
	initiator "private_data=$next"
	same "private_data" "$(<"$INI/private_data")" "$next"
	run
	[[ $RESULT == *"error=connecting: refused by the target: version"* ]] || fail "$RESULT"
	run private_data=00 op=write
	if is_iwarp; then
		[[ $RESULT == *"refused by the target: ask"* ]] || fail "$RESULT"
	else
		has "$RESULT" state=done verified=0 not_compared_why=no-checksum
		run op=send
		[[ $RESULT == *"error=not with a target that does not speak rtgt"* ]] || fail "$RESULT"
	fi
	run private_data=rtgt op=send
	has "$RESULT" state=done
	expect_counters rejects_version=1 malformed=0
}

# The segments of one message take longer than timeout_ms: each of them counts as progress.  A
# slow kernel needs fewer segments for that, a fast machine more.
long_segments() {
	local segment=256 size ms=$((1000 * SLOW))
	! is_iwarp || segment=32
	size=$((32768 * segment / SLOW))
	target_port region mem "size=$size"
	initiator op=write "size=$size" iters=1 warmup=0 "timeout_ms=$ms"
	run segment=$segment
	if (($(value elapsed_ns) <= ms * 1000000)); then
		run "segment=$((segment / 4))"
	fi
	has "$RESULT" state=done ops=1 "verified=$size"
	(($(value elapsed_ns) > ms * 1000000)) || fail "it shows nothing here: $RESULT"
}

# So long, whatever it takes; the first of them are told one by one.
duration() {
	target_port recv_depth=8 region mem size=64K
	initiator "op=$1" duration_ms=300 iters=5 warmup=3 depth=4 signal="$2"
	run
	has "$RESULT" state=done
	(($(value elapsed_ns) >= 300000000 && $(value ops) > 5)) || fail "$RESULT"
	same "samples" "$(wc -l <"$DEBUGFS/initiators/$CASE/samples")" 5
	same "bytes" "$(value bytes)" $((64 * $(value ops)))
}

# The first operation takes longer than duration_ms.
duration_over() {
	target_port recv_size=2M
	initiator op=send size=$(((2 << 20) - 16)) duration_ms=1 warmup=1 iters=10
	run
	has "$RESULT" state=done
	(($(value ops) >= 1 && $(value min_ns) >= 1 && $(value max_ns) >= $(value min_ns))) || fail "$RESULT"
}

# Each operation has bytes of its own at both ends.
every_one() {
	local op
	target_port recv_depth=8 recv_size=8K region mem size=32000 access=read,write,atomic fill=counter
	initiator size=4000 depth=8 iters=8 warmup=0 verify=all
	device_ops write,read,write-imm,send
	for op in ${OPS//,/ }; do
		run "op=$op"
		has "$RESULT" state=done "op=$op" ops=8 verified=32000
	done
	run op=write iters=3 depth=5 signal=2
	has "$RESULT" state=done ops=3 verified=12000
	run iters=6
	has "$RESULT" state=failed
	[[ $RESULT == *"verify all:"*"depth 5"* ]] || fail "$RESULT"
	run iters=3 warmup=1
	[[ $RESULT == *"verify all: warmup 1 is not a multiple of signal 2"* ]] || fail "$RESULT"
	run op=read depth=9 iters=9 signal=1 warmup=0
	[[ $RESULT == *"verify all: room for 8 operations"* ]] || fail "$RESULT"
}

# The reply to the operation that is timed comes before those to the warm-up, at whose end the time
# begins.
reordered() {
	local faults="reply-delay for 2 ms 200"
	! is_iwarp || faults="reply-delay after 1 for 2 ms 200"
	target_port
	target attr_set "$CONFIGFS/ports/$PORT/faults" "$faults"
	initiator op=send size=64 depth=3 warmup=2 iters=1
	run
	has "$RESULT" state=done ops=1
	(($(value_of "$RESULT" elapsed_ns) >= 0 && $(value_of "$RESULT" elapsed_ns) < 10000000000 * SLOW)) || fail "$RESULT"
	has "$(target cat_contents "$CONFIGFS/ports/$PORT/faults")" "done 2"
}

# The eight WRITEs of a run do not hold the same bytes.
own_bytes() {
	local i
	local -A seen=()
	target_port region mem size=32000
	initiator op=write size=4000 depth=8 iters=8 warmup=0 verify=all
	run
	has "$RESULT" state=done
	for ((i = 0; i < 8; i++)); do
		seen[$(target look crc "$(data_of mem)" $((i * 4000)) 4000)]=1
	done
	same "different places" "${#seen[@]}" 8
}

# Nothing outside of the part that was named.
part() {
	target_port region mem size=64K fill=0x00
	initiator op=write size=1000 offset=5000 span=3999 iters=20 warmup=0 depth=8
	run
	has "$RESULT" state=done verified=3000 not_compared=17000 not_compared_why=overwritten
	target look filled "$(data_of mem)" 0 5000 0
	target look filled "$(data_of mem)" 8000 57536 0
	fails_with "byte" target look filled "$(data_of mem)" 7000 1000 0
	run op=read walk=1
	has "$RESULT" state=done verified=3000 not_compared=20000 not_compared_why=buffer-reused
}

# Requests that never ran have no place, and an atomic has the place of others: none of this is a
# failure of an honest target.  Bytes that were compared and bytes that were not are all there are.
adds_up() { # INITIATOR-ATTRIBUTE...
	target_port recv_depth=128 recv_size=8K region mem size=1M access=read,write,atomic fill=counter
	initiator "$@"
	run
	has "$RESULT" state=done
	accounted
}

# Of a READ after the run, "verified" counts bytes that are no operation's.
accounted() {
	local not=0 all=$((($(<"$INI/warmup") + $(value ops)) * $(value size)))
	[[ " $RESULT" != *" not_compared="* ]] || not=$(value not_compared)
	[[ $(value op) == read && $(<"$INI/verify") == end ]] || not=$((not + $(value verified)))
	same "bytes compared and not compared" "$not" "$all"
}

# Where the start loop and the completions of its first WRITEs run on two processors, some requests
# never run.
near_depth() {
	local i
	target_port region mem size=64K
	initiator op=write size=3000 depth=8 iters=9 warmup=0
	for ((i = 0; i < RUNS; i++)); do
		run "depth=$((1 + i % 9))"
		has "$RESULT" state=done
		accounted
	done
}

# One of the words, by SEED, in ONE; "$(...)" would start a process
one_of() { # WORD...
	SEED=$(((SEED * 1103515245 + 12345) % 2147483648))
	# its low bits repeat soon
	shift $(((SEED >> 8) % $#))
	ONE=$1
}

# RTGT_RUNS runs with parameters that RTGT_SEED makes: none may fail.
random_runs() {
	local i words
	local -a set
	SEED=${RTGT_SEED:-$RANDOM}
	echo "RTGT_SEED=$SEED"
	target_port recv_depth=128 recv_size=8K region mem size=512K access=read,write,atomic fill=counter
	device_ops write,read,write-imm,send,cas,faa
	initiator
	for ((i = 0; i < RUNS; i++)); do
		set=()
		# shellcheck disable=SC2086 # several words
		one_of ${OPS//,/ } && set+=("op=$ONE")
		one_of 1 7 8 64 999 4096 8000 && set+=("size=$ONE")
		one_of 1 2 3 8 31 128 && set+=("depth=$ONE")
		one_of 1 "$ONE" $(((ONE + 1) / 2)) && set+=("signal=$ONE")
		one_of 1 2 7 28 100 300 && set+=("iters=$ONE")
		one_of 0 1 9 100 && set+=("warmup=$ONE")
		one_of 0 1 && set+=("walk=$ONE")
		one_of 0 0 0 8000 20000 && set+=("span=$ONE")
		one_of 0 0 8 4096 && set+=("offset=$ONE")
		one_of softirq workqueue direct && set+=("poll=$ONE")
		one_of 0 0 0 20 && set+=("duration_ms=$ONE")
		one_of 1 1 2 4 && set+=("sges=$ONE")
		is_iwarp || { one_of 0 0 1 && set+=("fence=$ONE"); }
		words=${set[*]}
		# short READs across pages: Documentation/findings/siw-short-page.rst
		! is_iwarp || set=("${set[@]/#size=7/size=8}")
		run "${set[@]}"
		[[ " $RESULT" == *" state=done "* ]] || fail "run $i: $words: $RESULT"
		accounted
	done
}

# What cannot be is one line, not a hang, and leaves nothing.
fails() { # TEXT PORT-ATTRIBUTES -- INITIATOR-ATTRIBUTES
	local text=$1 word
	local -a port=()
	shift
	while [[ $1 != -- ]]; do
		port+=("$1")
		shift
	done
	shift
	target_port "${port[@]}"
	initiator "$@"
	run
	has "$RESULT" state=failed
	[[ $RESULT == *"$text"* ]] || fail "wanted an error with \"$text\": $RESULT"
	same "samples of a run that failed" "$(<"$DEBUGFS/initiators/$CASE/samples")" ""
	tolerate_log "non-flush error status"
}

nobody() {
	target_port
	initiator
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	run
	has "$RESULT" state=failed
	# as the IB CM says it, or the errno of iWARP's connect
	[[ $RESULT =~ "error=connecting: refused: "("invalid service ID"|"no listener") ]] || fail "$RESULT"
	target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	run
	has "$RESULT" state=done
}

# A server that sends address and rkey only: 4096 bytes are assumed, or what is asked for.
no_length() {
	example_server --loop --no-len
	initiator op=write size=1024 walk=1 iters=8 warmup=0
	run
	has "$RESULT" state=done ops=8 verified=0 not_compared=8192 not_compared_why=no-checksum
	if is_iwarp; then
		# a WRITE completes before the other end refuses it, so one run of a few would be over by then
		run size=4097 iters=20000
		[[ $RESULT == *error=@("the target closed"|'an operation ended with "'@("local QP operation error"|"WR flushed")'"')* ]] ||
			fail "$RESULT"
	else
		run size=4097
		[[ $RESULT == *"error=an operation ended with \"remote access error\""* ]] || fail "$RESULT"
	fi
	tolerate_log "non-flush error status"
	rtgt ping -v -o write -S 1024 -C 3 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/ping" 2>&1 ||
		fail "rtgt ping: $(<"$WORK/ping")"
	grep -q "4096 bytes" "$WORK/ping" || fail "ping assumes another length: $(<"$WORK/ping")"
}

running() {
	[[ $(<"$INI/state") == running ]]
}

# The target replies, but what acknowledges the requests is lost: work requests fill the send queue,
# which has room for 16 more than there are operations.  The run goes on when it is acknowledged.
send_queue_full() { # OP REPLIES
	local room=24 dev
	target_port
	initiator depth=8 iters=200 warmup=0 "op=$1"
	dev=$(netdev "$RTGT_TARGET_DEV")
	# RC Acknowledge
	disturb_device "$dev" "u8 0x11 0xff at 28" loss 100%
	attr_set "$INI/run" 1
	wait_until 20 counters_are replies=$room || fail "$(<"$INI/state"): $(<"$INI/result"): $COUNTERS"
	same "state" "$(<"$INI/state")" running
	tc qdisc change dev "$dev" parent 1:3 netem loss 0%
	await_run
	same "result" "$(head -n 1 "$INI/result")" "state done"
	expect_counters "replies=$2" qp_errors=0
}

# A run that would take minutes.
endless() {
	target_port
	initiator iters=1000000 op=write
	attr_set "$INI/run" 1
	wait_until 10 running || fail "it does not run: $(<"$INI/result")"
}

stopped() {
	endless
	attr_set "$INI/run" 0
	same "state" "$(<"$INI/state")" stopped
	same "run" "$(<"$INI/run")" 0
	expect_no_connections
	run iters=10
	has "$RESULT" state=done ops=10
}

# The run and the stop race, so stop many runs.
stopped_early() {
	local i
	target_port
	initiator op=send warmup=1000000 iters=10 depth=4 poll=workqueue
	for ((i = 0; i < 50; i++)); do
		attr_set "$INI/run" 1
		wait_until 10 running || fail "it does not run: $(<"$INI/result")"
		attr_set "$INI/run" 0
		same "result $i" "$(<"$INI/result")" "state stopped"
	done
}

busy() {
	local attr
	endless
	for attr in transport=uc private_data=00 sges=2 fence=1 addr=192.0.2.77 port=1 source=192.0.2.78 op=read poll=direct size=1 iters=1 warmup=0 \
		depth=2 segment=5 signal=2 duration_ms=5 region=1 offset=1 span=1 walk=1 verify=all timeout_ms=5 run=1; do
		fails_with "busy" attr_set "$INI/${attr%%=*}" "${attr#*=}"
	done
	attr_set "$INI/run" 0
}

removed() {
	endless
	rmdir "$INI"
	expect_no_connections
	mkdir "$INI"
}

port_goes() {
	endless
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	await_run
	same "state" "$(<"$INI/state")" failed
	tolerate_log "non-flush error status"
}

device_goes() {
	endless
	rdma link del "$RTGT_CLIENT_DEV"
	await_run
	same "state" "$(<"$INI/state")" failed
	"$HERE/topology.sh" up
	run iters=10
	has "$RESULT" state=done
	expect_no_connections
}

# The client's device is removed while no REP comes, or no MPA Reply: the MPA Request is the first
# TCP segment with PSH.
device_goes_connecting() {
	need_command tc
	target_port
	initiator timeout_ms=$((60000 * SLOW))
	NETDEV=$(netdev "$RTGT_CLIENT_DEV")
	lose "$(is_iwarp && echo "ip protocol 6 0xff match u8 8 8 at 33" || echo "ip dport 4791 0xffff")"
	attr_set "$INI/run" 1
	wait_until 10 req_lost || fail "no REQ was sent: $(<"$INI/result")"
	background delete rdma link del "$RTGT_CLIENT_DEV"
	wait_until 10 no_client_device || fail "the removal waits for the run, in state $(<"$INI/state")"
	finish delete
	await_run
	[[ $(<"$INI/result") == "state failed"*"error connecting: the device is being removed" ]] || fail "$(<"$INI/result")"
	tc qdisc change dev "$NETDEV" parent 1:3 netem loss 0%
	"$HERE/topology.sh" up
	run iters=10
	has "$RESULT" state=done
	expect_no_connections
}

req_lost() {
	[[ $(tc -s qdisc show dev "$NETDEV") == *netem*"(dropped "[1-9]* ]]
}

no_client_device() {
	[[ ! -e /sys/class/infiniband/$RTGT_CLIENT_DEV ]]
}

# The target disconnects before it has got the RTU: then its CM has no DREQ to send but a REJ.
closed_early() {
	target_port region mem
	attr_set "$CONFIGFS/ports/$PORT/faults" "disconnect every 1"
	# RTU
	lose_mads 0x14
	initiator op=send size=64 iters=10 warmup=0
	run
	has "$RESULT" state=failed
	[[ $RESULT == *"the target closed the connection"* || $RESULT == *"flush"* ]] || fail "$RESULT"
	fails_with "" rtgt lat -o send -C 10 -W 0 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR"
}

# A port that has nothing to do with the run.
other_port() {
	endless
	mkdir "$CONFIGFS/ports/$CASE-other"
	background delete rmdir "$CONFIGFS/ports/$CASE-other"
	wait_until 5 not_there "$CONFIGFS/ports/$CASE-other" || fail "rmdir waits for the run"
	finish delete
	same "state" "$(<"$INI/state")" running
	attr_set "$INI/run" 0
}

waits() {
	endless
	background waiter cat "$DEBUGFS/initiators/$CASE/wait"
	wait_until 10 waiting || fail "nobody waits"
	same "state" "$(<"$INI/state")" running
	attr_set "$INI/run" 0
	finish waiter
	same "state the waiter read" "$(<"$WORK/waiter.out")" stopped
	attr_set "$INI/run" 1
	background waiter cat "$DEBUGFS/initiators/$CASE/wait"
	wait_until 10 waiting || fail "nobody waits for the second run"
	background delete rmdir "$INI"
	wait_until 5 not_there "$INI" || fail "rmdir waits for the waiter"
	finish delete
	# the read returns; the next one, if it comes after the removal, fails
	finish waiter || :
	same "state the second waiter read" "$(<"$WORK/waiter.out")" stopped
	mkdir "$INI"
	background waiter cat "$DEBUGFS/initiators/$CASE/wait"
	finish waiter
	same "state without a run" "$(<"$WORK/waiter.out")" idle
}

waiting() {
	[[ $(<"/proc/${BG_PID[waiter]}/wchan") == @(initiator_wait|wait_show)* ]]
}

# A signal ends the wait, and nothing else.
wait_killed() {
	endless
	background waiter cat "$DEBUGFS/initiators/$CASE/wait"
	wait_until 10 waiting || fail "nobody waits"
	kill -TERM "${BG_PID[waiter]}"
	wait_until 5 process_gone "${BG_PID[waiter]}" || fail "it cannot be killed"
	same "state" "$(<"$INI/state")" running
	attr_set "$INI/run" 0
}

refused_values() {
	local pair said
	target_port
	initiator
	for pair in transport=ud private_data=0 private_data=0g "private_data=$(printf '00%.0s' {1..57})" sges=0 sges=9 fence=2 addr=nonsense addr=192.0.2.1:5 port=0 port=65536 source=x op=frob poll=never size=0 size=17M \
		iters=0 iters=1048577 warmup=-1 depth=0 depth=129 segment=-1 segment=17M region=6 offset=-1 offset=17G span=17G walk=maybe walk=1x signal=0 signal=129 duration_ms=-1 duration_ms=3600001 verify=most timeout_ms=0 run=2 run=0x run=wait \
		addr=::1%lo size=18446744073709551617 iters=4294967297; do
		# the errno of the write, which a file that does not exist has not
		said=$(attr_set "$INI/${pair%%=*}" "${pair#*=}" 2>&1) && fail "$pair is taken"
		[[ $said == *"write error: "@("Invalid argument"|"Numerical result out of range")* ]] || fail "$pair: $said"
	done
	for pair in transport private_data sges fence addr port source op poll size iters warmup depth segment signal duration_ms region offset span walk verify timeout_ms run; do
		! { printf '1\0' >"$INI/$pair"; } 2>/dev/null || fail "$pair takes a NUL"
	done
	run
	has "$RESULT" state=done
	rmdir "$INI"
	mkdir "$INI"
	fails_with "estination address" attr_set "$INI/run" 1
}

# One command, kernel and user side by side, as JSON.
lat() {
	local json
	target_port recv_size=8192 region mem size=64K access=read,write,atomic
	initiator
	rtgt -j lat -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" --from user,kernel -C 20 -W 2 -S 1,4K \
		-o write,read,send,write-imm,cas,faa "$RTGT_TARGET_ADDR" >"$WORK/json"
	document "$WORK/json"
	json=$(<"$WORK/json")
	same "rows" "$(jq -r '.results | length' <<<"$json")" 20
	device_ops write,read,send,write-imm,cas,faa
	# shellcheck disable=SC2016 # jq's variables
	same "rows that lack something" "$(jq -c --arg ops "$OPS" '[.results[] | select(if .op | IN($ops | split(",")[]) then
		.skipped or .count != 20 or .verified_bytes == 0 or
		.us.min > .us.p50 or .us.p50 > .us.p99 or .us.p99 > .us.max or
		([.histogram[].count] | add) != 20 or .trip != "full"
		else .skipped | startswith("the device has no ") | not end)]' <<<"$json")" "[]"
	same "transport" "$(jq -r .facts.transport <<<"$json")" "$(is_iwarp && echo iWARP || echo RoCE)"
	same "facts" "$(jq -r '.facts | has("kernel", "device", "topology", "path_mtu", "cpus")' <<<"$json" | sort -u)" true
	same "left in configfs" "$(cd "$CONFIGFS/initiators" && echo *)" "$CASE"
}

lat_says_why() {
	target_port recv_size=1K region mem size=64K access=read
	initiator
	rtgt lat -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" --from user -C 5 -o write,send,read -S 2K "$RTGT_TARGET_ADDR" >"$WORK/lat"
	grep -q "^user *rdma *write *2048 skipped: .*does not grant" "$WORK/lat" || fail "$(<"$WORK/lat")"
	grep -q "^user *rdma *send *2048 skipped: .*recv_size" "$WORK/lat" || fail "$(<"$WORK/lat")"
	grep -q "^user *rdma *read *2048 *5 full" "$WORK/lat" || fail "$(<"$WORK/lat")"
	fails_with "nothing listens" rtgt lat -p 1 -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR"
	fails_with "no \"frob\"" rtgt lat --from frob "$RTGT_TARGET_ADDR"
}

# A run uses the network namespace of the process that started it, and puts it at its end.
netns_put() {
	target_port
	initiator
	defer no_veth
	# shellcheck disable=SC2016 # for the shell in there
	unshare --net "$BASH" -c 'ip link add rtgt-in type veth peer name rtgt-out netns "$1" && echo 1 >"$0/run"' "$INI" "$BASHPID"
	await_run
	[[ $(<"$INI/result") == "state failed"*"resolving the address"* ]] || fail "it ran here: $(<"$INI/result")"
	wait_until 10 not_there /sys/class/net/rtgt-out || fail "the network namespace is still there"
}

no_veth() {
	[[ ! -e /sys/class/net/rtgt-out ]] || ip link del rtgt-out
}

# A run that gets no reply stops when it is told to, and not after timeout_ms.
stopped_waiting() { # FAULT
	target_port
	target attr_set "$CONFIGFS/ports/$PORT/faults" "$1"
	initiator op=send "timeout_ms=$((20000 * SLOW))"
	attr_set "$INI/run" 1
	wait_until 10 fault_committed || fail "$(<"$INI/state"): $TEXT"
	background stop attr_set "$INI/run" 0
	wait_until 5 process_gone "${BG_PID[stop]}" || fail "the stop waits for the run, in state $(<"$INI/state")"
	finish stop
	same "state" "$(<"$INI/state")" stopped
}

fault_committed() {
	target_contents "$CONFIGFS/ports/$PORT/faults" && [[ $TEXT == *" done 1"* ]]
}

# Each operation counts as progress, so the run may take longer than timeout_ms.
longer() { # OP
	target_port recv_depth=8 region mem size=64K
	initiator "op=$1" "timeout_ms=$((1000 * SLOW))" "duration_ms=$((2500 * SLOW))" iters=5 depth=4
	run
	has "$RESULT" state=done "op=$1"
	(($(value elapsed_ns) >= 2500000000 * SLOW)) || fail "it shows nothing here: $RESULT"
}

# The warm-up takes two seconds, none of them the run's.
untimed() {
	local faults="reply-delay for 1 ms 2000"
	! is_iwarp || faults="reply-delay after 1 for 1 ms 2000"
	target_port
	target attr_set "$CONFIGFS/ports/$PORT/faults" "$faults"
	initiator op=send warmup=1 iters=1
	run
	has "$RESULT" state=done ops=1
	has "$(target cat_contents "$CONFIGFS/ports/$PORT/faults")" "done 1"
	(($(value elapsed_ns) < 2000000000)) || fail "the time includes the warm-up: $RESULT"
}

tcase lat --more --tier fast,wire "rtgt lat compares user and kernel, operation by operation" lat
tcase write --tier fast,wire "kernel WRITE: all ways to complete, verified" operation write 3000 3000 12000
tcase send --more --tier fast,wire "kernel SEND and its echo: all ways to complete, verified" operation send 3000 165000 165000

tcase read "kernel READ: all ways to complete, verified" operation read 3000 3000 12000
tcase walk "the kernel WRITEs a whole region, verified" walks
tcase part "the kernel WRITEs a part of a region and nothing else" part
tcase chains --more "the kernel WRITEs in chains with one completion each" chains write 1
tcase chains-faa --more --needs atomic "the kernel executes FETCH_AND_ADD in chains, every old value as expected" chains faa
tcase segment-write "the kernel WRITEs in segments, each after the previous one has completed" segments write zero
tcase segment-read "the kernel READs in segments, each after the previous one has completed" segments read counter
tcase sges --more "the kernel WRITEs and READs with several SGEs" in_sges
tcase fence --more "fenced requests" fenced
tcase uc --needs uc "the kernel's operations over UC, verified" over_uc
tcase private-data --more "private data of a REQ as the administrator chooses" private_data
tcase segment-long --more "each of 32,768 or more segments of one message counts as progress: no timeout" long_segments
tcase segment-send "only WRITE and READ can be split into segments" fails "segment 32: only a WRITE or a READ" -- op=send segment=32
tcase duration "the kernel WRITEs for a given time, in chains" duration write 2
tcase send-queue-full --more --needs acks "SENDs whose replies come before their acknowledgments wait for room in the send queue" send_queue_full send 200
tcase duration-send --more "the kernel SENDs for a given time, one by one" duration send 1
tcase duration-over --more "a run times one operation even if its warm-up takes longer than duration_ms" duration_over
tcase verify-all --more "every operation is verified" every_one
tcase reordered --more "a target that answers the warm-up last makes no time less than none" reordered
tcase verify-own "every WRITE has different bytes" own_bytes
tcase unused "requests that never ran leave no place to compare" adds_up op=write depth=128 signal=8 warmup=100 iters=28
tcase near-depth --more "runs with about as many WRITEs as requests" near_depth
tcase faa-walk --needs atomic "FETCH_AND_ADD of one word after the other" adds_up op=faa walk=1 span=64 iters=100
tcase faa-shared --more --needs atomic "FETCH_AND_ADD of two words, with 16 outstanding" adds_up op=faa span=16 depth=16 iters=100
tcase cas-shared --more --needs atomic "COMPARE_AND_SWAP of two words, with 16 outstanding" adds_up op=cas span=16 depth=16 iters=100 signal=3
tcase write-shared --more "WRITEs to two places, with 16 outstanding" adds_up op=write size=1000 span=2000 depth=16 iters=100
tcase random --more --limit $((60 + RUNS * 2)) "runs with random parameters: no failure, and all bytes are accounted for" random_runs
tcase signal "a chain longer than the depth" fails "signal 3: no operation of depth 2" -- depth=2 signal=3
tcase nobody "if no target listens, the result has the reason, and the next run works" nobody
tcase no-region "a region that the target does not have" fails "the target has 1" -- region=3 op=write
tcase no-access "a region that does not grant the access" fails "does not grant" region mem access=read -- op=write
tcase too-large "more bytes than the region has" fails "has 4096 bytes" -- op=write size=4097
tcase extents --more "more bytes than the region's first extent has" fails "has 4096 bytes in its first extent" mr_max=4K region mem size=64K -- op=write size=4097
tcase no-room --more "an offset that leaves too few bytes for one operation" fails "has 4096 bytes" -- op=write size=4000 offset=97
tcase no-span --more "a span that ends beyond the region" fails "has 4096 bytes" -- op=write size=64 offset=64 span=4033
tcase recv-size "a SEND larger than the target's receives" fails "recv_size" recv_size=64 -- size=49
tcase recv-depth "more SENDs than the target has receives" fails "recv_depth" recv_depth=2 -- depth=3
tcase no-length "kernel and ping assume the same length if a server sends none" no_length
tcase stop "a run can be stopped" stopped
tcase stop-early --more "a run that is stopped during its warm-up has no result" stopped_early
tcase busy --more "no attribute changes during a run" busy
tcase rmdir "rmdir stops the run" removed
tcase port-goes "the target disappears" port_goes
tcase closed-early --needs cm "the target disconnects before the RTU has reached it" closed_early
tcase device-goes --more "the client's device disappears" device_goes
tcase device-goes-connecting --more "the client's device is removed while the run connects" device_goes_connecting
tcase other-port --more "rmdir of a port does not wait for a run" other_port
tcase wait --more "waiting for the end of a run blocks neither its stop nor rmdir" waits
tcase wait-killed "a signal interrupts the wait" wait_killed
tcase refused --more "values that make no sense are refused" refused_values
tcase lat-why --more "rtgt lat prints which operations are impossible, and why" lat_says_why
tcase netns-put --more "a run that is over keeps no network namespace" netns_put
tcase stop-unanswered --more "a run that gets no reply can be stopped" stopped_waiting reply-drop
tcase stop-connecting --more --needs cm "a run that gets no REP can be stopped" stopped_waiting rep-never
tcase longer-write --more "a run that makes progress may take longer than timeout_ms" longer write
tcase untimed --more "the time of a run begins when its warm-up has ended" untimed
tcase span-rest --more "a span that ends with the region" adds_up op=write size=64 offset=64 span=$(((1 << 20) - 64)) iters=20

tmain "$@"
