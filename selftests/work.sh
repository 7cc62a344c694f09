#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# work.sh: rtgt work.  A pattern that keeps its rules gives right results, and what it guards against
# has happened meanwhile; one that breaks a rule is found out.
#
# weight 1.0 1.2

. "${0%/*}/lib.sh"

# Run a pattern against PORT, return its status, and keep its document in $WORK/json.
work() { # PATTERN [OPTION...]
	local rc=0
	rtgt -j work -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "${@:2}" "$1" "$RTGT_TARGET_ADDR" >"$WORK/json" 2>"$WORK/err" || rc=$?
	document "$WORK/json"
	return "$rc"
}

# What the document says
said() { # FILTER
	jq -r "$1" "$WORK/json"
}

works() { # PATTERN [OPTION...]
	work "$@" || fail "rtgt work $*: $(<"$WORK/err")"
	same ok "$(said .ok)" true
	note "$(said '.counts | tojson')"
}

# The run says what is wrong, in one line, and its document says the same.
found_out() { # TEXT PATTERN [OPTION...]
	local rc=0
	work "${@:2}" || rc=$?
	((rc != 0)) || fail "rtgt work ${*:2} found nothing wrong: $(said '.counts | tojson')"
	same "the exit status" "$rc" 1
	grep -Eq "^rtgt: .*($1)" "$WORK/err" || fail "$(<"$WORK/err")"
	same "lines on stderr" "$(wc -l <"$WORK/err")" 1
	same ok "$(said .ok)" false
	note "$(said '.counts | tojson')"
}

# --- kv --------------------------------------------------------------------------------

# Values of several packets, so that a READ may meet a WRITE half done, and few keys
KV=(-s 16K --keys 4)

# No value is torn, although lookups met changes; the target has served at least three READs for each.
kv() {
	target_port region mem size=256K
	works kv "${KV[@]}" -q 3 -n 80
	same lookups "$(said .counts.lookups)" 240
	(($(said .counts.repeated) > 0)) || fail "no lookup met a change: $(said .counts)"
	same torn "$(said .counts.torn)" 0
	# and each key once more at the end
	same "bytes verified" "$(said .verified_bytes)" $((244 * 16384))
	expect_counters conns_accepted=4 malformed=0
}

# One of two keys always changes, by a WRITE of 512 packets, of which rxe sends at most 128 before it
# waits for an acknowledgment: also on one processor a READ meets one half done, and about a third
# of the values is torn.
kv_version() {
	target_port region mem size=2M
	found_out "reader [0-9]+, lookup [0-9]+: key [01] has version [0-9]+, and of the 524288 bytes of its value the first [0-9]+ are of version" kv -s 512K --keys 2 -q 3 -n 20 --ignore version
	(($(said .counts.torn) > 0)) || fail "no value is torn"
	same ignored "$(said '.ignored[]')" version
}

kv_order() {
	local lookups=20
	# there a READ behind each WRITE makes the time short in which the two differ
	! is_iwarp || lookups=100
	target_port region mem size=2M
	found_out "key [01] has version" kv -s 512K --keys 2 -q 3 -n "$lookups" --ignore order
	(($(said .counts.torn) > 0)) || fail "no value is torn"
}

# Its rkey is gone in the middle: each worker tells of it, and none hangs.
kv_revoked() {
	local rc=0
	target_port region mem size=256K
	background work rtgt -j work -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "${KV[@]}" -q 3 -D 600 --timeout $((5 * SLOW)) kv "$RTGT_TARGET_ADDR"
	wait_until 20 three_and_writer || fail "no four connections: $(target connections "$PORT")"
	target attr_set "$CONFIGFS/ports/$PORT/revoke" all
	wait_until 40 process_gone "${BG_PID[work]}" || fail "it does not end"
	finish work || rc=$?
	same "the exit status" "$rc" 1
	cp "$WORK/work.out" "$WORK/json"
	document "$WORK/json"
	same "errors" "$(said '.errors | length')" 4
	same torn "$(said .counts.torn)" 0
}

three_and_writer() {
	(($(target connections "$PORT" | grep -c "state=live") == 4))
}

# --- checkpoint ------------------------------------------------------------------------

CKPT=(-s 200K -q 3)

# Every client that comes after a crash finds all of the last checkpoint, or all of the new one.
checkpoint() {
	target_port region mem size=2M
	works checkpoint "${CKPT[@]}" -n 6 --seed 1
	same committed "$(said .counts.committed)" 18
	(($(said .counts.crashed) > 0)) || fail "nobody crashed: $(said .counts)"
	(($(said .counts.old) > 0)) || fail "no client was too early: $(said .counts)"
	(($(said .counts.new) > 0)) || fail "no crash came too late: $(said .counts)"
	same "crashes, and what was found" "$(said .counts.crashed)" "$(said '.counts.old + .counts.new')"
	same mixed "$(said .counts.mixed)" 0
	same "bytes verified" "$(said .verified_bytes)" "$(said '(.counts | .committed + .old + .new) * .size')"
	# who knows nothing of all that finds the same
	works checkpoint "${CKPT[@]}" --check
	same "checkpoints found" "$(said .counts.old)" 3
	same "bytes verified" "$(said .verified_bytes)" $((3 * 200 * 1024))
}

checkpoint_order() {
	target_port region mem size=2M
	found_out "worker [0-2]: generation [0-9]+ is committed, but byte [0-9]+ of its 204800 is 0x" checkpoint "${CKPT[@]}" -n 6 --ignore order
	(($(said .counts.mixed) > 0)) || fail "none is mixed"
}

# --- rounds that the target ends -------------------------------------------------------

# A port with the service ps
ps_port() { # [ATTR=VALUE...] [region NAME [ATTR=VALUE...]]...
	local rc=0
	defer target work_unload
	target work_load || rc=$?
	((rc != 4)) || skip "no module rtgt_work"
	((rc == 0)) || fail "rtgt_work cannot be loaded"
	target_port service=ps "$@"
}

# Every weight of every round is what the worker has computed, with sums that wrap and that do not.
ps() {
	local how workers
	ps_port region mem size=1M
	for how in "" --saturate; do
		# shellcheck disable=SC2086 # an option or none
		works ps -q 3 -n 10 $how
		same "rounds and gradients" "$(said '.counts | "\(.rounds) \(.gradients) \(.wrong)"')" "10 30 0"
		same "bytes verified" "$(said .verified_bytes)" $((30 * 65536))
	done
	for workers in 1 8; do
		works ps -q "$workers" -n 3 -s 12000
		same "bytes verified" "$(said .verified_bytes)" $((workers * 3 * 12000))
	done
	expect_counters conns_accepted=15 malformed=0
}

# Requests that wait keep no receive of a shared receive queue.
ps_srq() {
	ps_port srq=1 recv_depth=4 region mem size=1M
	works ps -q 8 -n 10 -s 4096
	same "gradients" "$(said .counts.gradients)" 80
	expect_counters conns_accepted=8 malformed=0 over_depth=0
}

# While a service keeps a request, the connection is not idle, and it has not been when it goes on.
ps_idle() {
	ps_port idle_ms=$((1000 * SLOW)) region mem size=1M
	target attr_set "$CONFIGFS/ports/$PORT/faults" "disconnect after 12 for 1"
	found_out "others did not come in time|the target closed|[Ff]lush" ps -q 3 -n 100 --timeout $((8 * SLOW))
	same "workers that were told" "$(said '[.errors[].text | select(test("others did not come in time"))] | length')" 2
}

# The sum of all gradients does not depend on the order in which they came.
ps_async() {
	ps_port region mem size=1M "$ACCESS"
	works ps -q 4 -n 25 --async -s 4096
	same "gradients" "$(said .counts.gradients)" 100
	same "bytes verified" "$(said .verified_bytes)" 4096
}

ACCESS=access=read,write,atomic

ps_rules() { # RULE
	ps_port region mem size=1M
	found_out "worker [0-2], round [0-9]+: weight [0-9]+ is -?[0-9]+ instead of" ps -q 3 -n 10 --ignore "$1"
	(($(said .counts.wrong) > 0)) || fail "no weight is wrong"
}

# One worker's connection ends: the others learn it when the time is over, and end.
ps_absent() {
	ps_port region mem size=1M
	target attr_set "$CONFIGFS/ports/$PORT/faults" "disconnect after 12 for 1"
	found_out "others did not come in time|the target closed|[Ff]lush" ps -q 3 -n 100 --timeout $((4 * SLOW))
	same "workers that were told" "$(said '[.errors[].text | select(test("others did not come in time"))] | length')" 2
	same "errors" "$(said '.errors | length')" 3
	same wrong "$(said .counts.wrong)" 0
}

# Requests wait for a worker that does not come, and the port is disabled: nothing holds it up.
ps_disabled() {
	local rc=0
	need_module_file
	ps_port region mem size=1M
	target attr_set "$CONFIGFS/ports/$PORT/faults" "disconnect after 12 for 1"
	background work rtgt -j work -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" -q 3 -n 100 --timeout $((60 * SLOW)) ps "$RTGT_TARGET_ADDR"
	wait_until 20 two_wait || fail "no two connections: $(target connections "$PORT")"
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	wait_until 20 process_gone "${BG_PID[work]}" || fail "it does not end"
	finish work || rc=$?
	same "the exit status" "$rc" 1
	same "connections" "$(target connections "$PORT" | grep -c "state=")" 0
}

# A message is without a reply: that of the connection that has been closed, and those of both others
two_wait() {
	(($(counter conns_closed) == 1 && $(counter recv_msgs) + $(counter imms) - $(counter replies) == 3))
}

# The module stays while a port has its service, and is gone with the port.
ps_module() {
	ps_port region mem size=1M
	works ps -n 2
	! target rmmod rtgt_work 2>/dev/null || fail "rtgt_work was removed under a port"
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	! target rmmod rtgt_work 2>/dev/null || fail "rtgt_work was removed, and the port has its service"
	target attr_set "$CONFIGFS/ports/$PORT/service" rtgt
	target rmmod rtgt_work || fail "rtgt_work stays without a port"
	! target attr_set "$CONFIGFS/ports/$PORT/service" ps 2>/dev/null || fail "a service that is not there was taken"
	target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	found_out "does not have the service ps .there: modprobe rtgt_work" ps -n 2
	target work_load || fail "rtgt_work cannot be loaded again"
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	target attr_set "$CONFIGFS/ports/$PORT/service" ps
	target attr_set "$CONFIGFS/ports/$PORT/scope" private
	! target attr_set "$CONFIGFS/ports/$PORT/enable" 1 2>/dev/null || fail "clients that share nothing were allowed"
	target attr_set "$CONFIGFS/ports/$PORT/scope" shared
	target attr_set "$CONFIGFS/ports/$PORT/enable" 1
}

# Nobody is released before all are there.
rendezvous() {
	ps_port region mem size=64K
	works rendezvous -q 8 -n 50
	same rounds "$(said '.counts | "\(.rounds) \(.early)"')" "50 0"
	# a round is one reply to each
	is_iwarp || expect_counters replies=$((8 * 50 + 1)) conns_accepted=8 malformed=0
}

# One is lost: the others are told so, and that is no early release.  Interrupted, it says only that.
rendezvous_lost() {
	local rc=0
	ps_port region mem size=64K
	target attr_set "$CONFIGFS/ports/$PORT/faults" "disconnect after 12 for 1"
	found_out "others did not come in time|the target closed|[Ff]lush" rendezvous -q 3 -n 100 --timeout $((4 * SLOW))
	same "workers that were told" "$(said '[.errors[].text | select(test("others did not come in time"))] | length')" 2
	same early "$(said .counts.early)" 0
	background work rtgt -j work -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" -q 3 -n 1000000 rendezvous "$RTGT_TARGET_ADDR"
	wait_until 20 counter_is_above replies 300 || fail "it does nothing: $(<"$WORK/work.err")"
	kill -INT "${BG_PID[work]}"
	wait_until 20 process_gone "${BG_PID[work]}" || fail "it does not end"
	finish work || rc=$?
	same "the exit status" "$rc" 130
	cp "$WORK/work.out" "$WORK/json"
	document "$WORK/json"
	same "errors" "$(said '[.errors[].text] | join(",")')" interrupted
}

counter_is_above() { # NAME NUMBER
	(($(counter "$1") > $2))
}

rendezvous_reply() {
	ps_port region mem size=64K
	found_out "worker [0-7] was released from round [0-9]+ when [0-7] of 8 were there" rendezvous -q 8 -n 50 --ignore reply
}

tcase kv --tier fast,wire --serve-more "lookups under a version word get whole values while a writer changes them" kv
tcase kv-version "... and torn ones if they do not look at the version" kv_version
tcase kv-order --more "... or if the writer announces a value before it is there" kv_order
tcase kv-revoked --more "... and each worker tells of an rkey that was revoked" kv_revoked
tcase checkpoint --tier fast,wire --serve-more "after a crash the last checkpoint is there, or the new one, in every byte" checkpoint
tcase checkpoint-order --more "... and a mixture if its record was written first" checkpoint_order
tcase ps --tier fast,wire "a parameter server's weights are those of every round, in every bit" ps
tcase ps-srq --more "... on a port whose connections share their receives" ps_srq
tcase ps-async --more "... and without rounds the sum of all gradients" ps_async
tcase ps-reply "... and wrong if a worker does not wait for the reply" ps_rules reply
tcase ps-order --more "... or announces its gradient before it is there" ps_rules order
tcase ps-absent --limit 60 "a worker that is lost ends the others' round when its time is over" ps_absent
tcase ps-idle --more --limit 60 "... also if the port closes idle connections" ps_idle
tcase ps-disabled "a port that is disabled drops the requests that wait for others" ps_disabled
tcase ps-module --more "the module of a service stays while a port has it" ps_module
tcase rendezvous --tier fast,wire "nobody leaves a rendezvous before all are there" rendezvous
tcase rendezvous-lost --more --limit 60 "... and is told if one does not come" rendezvous_lost
tcase rendezvous-reply --more "... unless it does not wait for the reply" rendezvous_reply

tmain "$@"
