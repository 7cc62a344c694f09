#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# soak.sh: rtgt soak, whose model of the memory must agree with a target that is honest, whatever
# becomes of its connections, and not with one that lies.
#
# The long case is "make soak": everything at once, for RTGT_MINUTES, with the seed RTGT_SEED.
#
# weight 1.0 1.5

. "${0%/*}/lib.sh"

# Where the long case says how far it is: to whoever reads the results
exec {PROGRESS}>&1

ACCESS=access=read,write,atomic

# Bytes of operations: siw answers short READs across the end of a page with other bytes
# (siw-short-page).
sizes() {
	SIZES=1-16K
	! is_iwarp || SIZES=33-16K
}

# Run rtgt soak against PORT, return its status, and keep its document in $WORK/json.
soak() { # [OPTION...]
	local rc=0
	sizes
	rtgt -j soak -s "$SIZES" -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$@" "$RTGT_TARGET_ADDR" >"$WORK/json" 2>"$WORK/err" || rc=$?
	document "$WORK/json"
	return "$rc"
}

# What the document says
said() { # FILTER
	jq -r "$1" "$WORK/json"
}

soaks() { # [OPTION...]
	soak "$@" || fail "rtgt soak: $(<"$WORK/err")"
	same ok "$(said .ok)" true
}

# All operations of the device; the target has counted as many replies as rtgt soak has.
honest() {
	local messages
	target_port recv_size=8K region mem size=1M "$ACCESS"
	soaks -n 250 -q 4 -t 8
	same "operations" "$(said '.operations | add')" 1000
	# more than the region, which is read as a whole at the beginning and at the end
	(($(said .verified_bytes) > 2 * 1048576)) || fail "too little is verified: $(said .verified_bytes)"
	device_ops write,read,write-imm,send,checksum,pull,push,cas,faa
	same "kinds" "$(said '.operations | keys_unsorted | join(",")')" "$OPS"
	same "connections" "$(said '[.connections, .connected, .renewed, (.failures | length)] | join(" ")')" "4 4 0 0"
	messages=$(said '.operations | .send + .checksum + .pull + .push + (."write-imm" // 0)')
	# over iWARP a connection requests its rkey with a message, which expect_counters knows of the kernel's
	! is_iwarp || ! is_served || ((messages += 4))
	expect_counters conns_accepted=4 "replies=$messages" malformed=0
}

# Of a region with a range that no WRITE reaches
one_kind() {
	target_port region mem size=64K access=read
	soaks -n 50 -q 2
	same "kinds" "$(said '.operations | keys_unsorted | join(",")')" "read,send,checksum,push"
	same "bytes not compared" "$(said '.not_compared | length')" 0
}

# The same seed gives the same operations, another one others.
seeds() {
	local first
	target_port region mem size=256K
	soaks -n 200 -q 2 --seed 7
	first=$(said '.operations')
	soaks -n 200 -q 2 --seed 7
	same "the operations of the same seed" "$(said '.operations')" "$first"
	soaks -n 200 -q 2 --seed 8
	[[ $(said '.operations') != "$first" ]] || fail "another seed gives the same operations"
}

# One lie of the target, to one operation in 50; the first reply over iWARP has the capability.
lied() { # FAULT OPERATION TEXT
	target_port region mem size=64K
	target attr_set "$CONFIGFS/ports/$PORT/faults" "$1 after 1 every 50"
	! soak -n 2000 -q 1 -t 4 -o "read,write,$2" --timeout $((5 * SLOW)) || fail "$1 is not noticed: $(said .operations)"
	grep -Eq "^rtgt: .*($3)" "$WORK/err" || fail "$1: $(<"$WORK/err")"
	same "ok" "$(said .ok)" false
	same "lines on stderr" "$(wc -l <"$WORK/err")" 1
	faulty=$(target cat_contents "$CONFIGFS/ports/$PORT/faults")
	note "$faulty"
	target port_del "$PORT"
}

lies() {
	lied reply-bit send "connection 0, operation [0-9]*, send of [0-9]* bytes at region offset [0-9]*: byte [0-9]* came back as"
	lied reply-stale send "came back as|answers for|the echo has"
	lied region-bit checksum "checksum of .*: the target's checksum is|read of .*: byte [0-9]* of [0-9]* is 0x"
	lied move-range pull "(read|write) of .*: byte|all of its part, .*: byte"
	lied move-never push "push of .*: byte"
	# it may be that of another request under way
	lied reply-tag send "tag|came back as|the echo has"
}

# While the region's rkeys are revoked, connections fail and are made again, and the memory stays.
revoked() {
	local i ended
	target_port region mem size=256K
	begin_soak -q 3
	for i in 1 2 3 4; do
		wait_until 20 three_stand || fail "no three connections: $(target connections "$PORT")"
		ended=$(counter conns_closed)
		target attr_set "$CONFIGFS/ports/$PORT/revoke" all
		wait_until 20 counters_grew_to conns_closed $((ended + 3)) || fail "they do not end"
	done
	goes_on
	(($(said .connected) >= 12)) || fail "they are not made again: $(said .)"
}

# As the target has it: those that have been closed leave the list
three_stand() {
	(($(target connections "$PORT" | grep -c "state=live") == 3))
}

counters_grew_to() { # NAME LEAST
	(($(counter "$1") >= $2))
}

# Packets are lost, which RoCE and TCP repeat: nothing fails, and each byte is right.
lost() {
	local dev dropped
	target_port region mem size=256K "$ACCESS"
	disturb "u32 0 0" loss 3%
	soaks -n 500 -q 4
	dev=$(netdev "$RTGT_CLIENT_DEV")
	dropped=$(tc -s qdisc show dev "$dev" | sed -n '/netem/,$s/.*dropped \([0-9]*\).*/\1/p' | head -n 1)
	((dropped > 0)) || fail "no packet was lost: $(tc -s qdisc show dev "$dev")"
}

# In the middle of transfers the target ends all connections: what the teardown finds, complete or
# not, is released, and the kernel does not complain (siw loses completions of transfers then).
disabled() {
	local i
	target_port region mem size=1M
	begin_soak -q 4 -t 16 -o pull,push --new-memory
	for i in 1 2 3 4 5 6; do
		wait_until 20 counters_grew_to replies $(($(counter replies) + 100)) || fail "it does nothing: $(<"$WORK/soak.err")"
		target attr_set "$CONFIGFS/ports/$PORT/enable" 0
		target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	done
	goes_on
}

# The module goes, and its memory with it: a new one is all 0.
reloaded() {
	need_module_file
	defer bring_back
	target_port region mem size=256K
	begin_soak -q 2 --new-memory
	reload
	goes_on
	(($(said .renewed) >= 1)) || fail "no connection found new memory: $(said .)"
}

reload() {
	target port_del "$PORT"
	target module_unload
	target module_load
	target port_add "$PORT" "addr=$RTGT_TARGET_ADDR" "port=$CM_PORT" region mem size=256K
}

# Without --new-memory, memory that is all 0 is an error: the model notices that the target's is new.
reloaded_seen() {
	need_module_file
	defer bring_back
	target_port region mem size=256K
	begin_soak -q 2
	reload
	wait_until 40 process_gone "${BG_PID[soak]}" || fail "it goes on with other memory"
	! finish soak || fail "other memory is not noticed"
	grep -q "all of its part, from region offset [0-9]*: byte [0-9]* of [0-9]* is 0x00" "$WORK/soak.err" || fail "$(<"$WORK/soak.err")"
}

# In the background, until goes_on; when its connections do operations.
begin_soak() { # [OPTION...]
	sizes
	background soak rtgt -j soak -s "$SIZES" -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" -D 600 --reconnect $((30 * SLOW)) --timeout $((2 * SLOW)) "$@" "$RTGT_TARGET_ADDR"
	wait_until 20 replied 50 || fail "it does nothing: $(<"$WORK/soak.err")"
}

# After what has just been done to it, connections do operations again, and then it is ended.
goes_on() {
	wait_until 40 replied $(($(counter replies) + 50)) || fail "it does nothing any more: $(<"$WORK/soak.err")"
	kill -INT "${BG_PID[soak]}"
	made_again
}

replied() { # LEAST
	! process_gone "${BG_PID[soak]}" || fail "it has ended: $(<"$WORK/soak.err")"
	counters_grew_to replies "$1"
}

# The run in the background was interrupted, and some of its connections have failed.
made_again() {
	local rc=0
	wait_until 60 process_gone "${BG_PID[soak]}" || fail "it does not end"
	finish soak || rc=$?
	same "the exit status ($(<"$WORK/soak.err"))" "$rc" 130
	cp "$WORK/soak.out" "$WORK/json"
	document "$WORK/json"
	same "the error" "$(said '.errors[0].text')" interrupted
	(($(said .connected) > $(said .connections))) || fail "no connection was made again: $(said .)"
	note "$(said '.failures[] | "\(.count) x \(.text)"')"
}

# --- everything at once ----------------------------------------------------------------

# What happens to the connections, in an order that the seed decides.
EVENTS=(revoke disable lose lose-no-more disconnect client-device target-device reload)

everything() {
	local minutes=${RTGT_MINUTES:-1} seed=${RTGT_SEED:-$RANDOM} event began=$SECONDS
	AGAIN="make soak MINUTES=$minutes SEED=$seed DEVICE=$RTGT_DEVICE"
	RANDOM=$seed
	need_module_file
	need_command tc
	tolerate_log "rxe_reg_user_mr: returned err|ib_query_port failed"
	defer bring_back
	defer lose_no_more
	PORT_WORDS=(recv_size=8K recv_depth=64 region mem size=1M "access=read,write")
	! has_feature atomic || PORT_WORDS[-1]=$ACCESS
	target_port "${PORT_WORDS[@]}"
	DONE=0
	begin_for $((60 * minutes))
	while ! process_gone "${BG_PID[soak]}"; do
		event=${EVENTS[RANDOM % ${#EVENTS[@]}]}
		printf '# %d s: %s, after %d replies of this port\n' $((SECONDS - began)) "$event" "$(counter replies)" >&"$PROGRESS"
		happen "$event" || fail "$event fails; again: $AGAIN"
		wait_until 120 recovered $(($(counter replies) + 100 + RANDOM % 400)) ||
			fail "after $event it does nothing: $(<"$WORK/soak.err"); again: $AGAIN$(what_is_there)"
	done
	end_soak 0
	note "seed $seed, $minutes min: $DONE operations"
}

begin_for() { # SECONDS
	begin_soak -D "$1" --reconnect 120 --seed "$seed" --new-memory -q 4 -t 16
}

# It has ended, well or interrupted: what it did
end_soak() { # STATUS
	local rc=0
	wait_until 60 process_gone "${BG_PID[soak]}" || fail "it does not end; again: $AGAIN"
	finish soak || rc=$?
	((rc == $1)) || fail "$(<"$WORK/soak.err"); again: $AGAIN"
	cp "$WORK/soak.out" "$WORK/json"
	document "$WORK/json"
	((DONE += $(said '.operations | add // 0')))
	note "$(said '"\(.operations | add // 0) operations, \(.verified_bytes) bytes verified, \(.connected) connections, \(.renewed) with new memory"')"
	note "$(said '.failures[] | "\(.count) x \(.text)"')"
}

# For whoever looks for the cause
what_is_there() {
	printf '\n'
	target cat_contents "$DEBUGFS/ports/$PORT/connections"
	target counters "$PORT"
	rdma link show
	rdma resource show
	rdma resource show cm_id
	# RoCE's port, 4791
	grep -i ":12B7 " /proc/net/udp /proc/net/udp6
	tc -s qdisc show dev "$(netdev "$RTGT_CLIENT_DEV")"
}

# It does operations, or has ended
recovered() { # REPLIES
	process_gone "${BG_PID[soak]}" || counters_grew_to replies "$1"
}

happen() { # EVENT
	local netdev
	case $1 in
	revoke) target attr_set "$CONFIGFS/ports/$PORT/revoke" all ;;
	disable)
		target attr_set "$CONFIGFS/ports/$PORT/enable" 0 &&
			target attr_set "$CONFIGFS/ports/$PORT/enable" 1
		;;
	lose)
		netdev=$(netdev "$RTGT_CLIENT_DEV")
		lose_no_more
		begin_disturbing "$netdev" "u32 0 0" loss $((1 + RANDOM % 3))%
		;;
	lose-no-more) lose_no_more ;;
	disconnect) target attr_set "$CONFIGFS/ports/$PORT/faults" "disconnect after $((RANDOM % 100)) for 2" ;;
	client-device)
		# which waits for programs that have it open, and does not tell each of them
		kill -INT "${BG_PID[soak]}"
		end_soak 130
		goes_and_comes "$RTGT_CLIENT_DEV" && begin_for $((60 * minutes + 1 > SECONDS - began ? 60 * minutes + 1 - SECONDS + began : 1))
		;;
	target-device) goes_and_comes "$RTGT_TARGET_DEV" ;;
	reload)
		target port_del "$PORT" && target module_unload && target module_load &&
			target port_add "$PORT" "addr=$RTGT_TARGET_ADDR" "port=$CM_PORT" "${PORT_WORDS[@]}"
		;;
	esac
}

lose_no_more() {
	tc qdisc del dev "$(netdev "$RTGT_CLIENT_DEV")" root 2>/dev/null || :
}

goes_and_comes() { # DEVICE
	rdma link delete "$1" && wait_until 60 test ! -e "/sys/class/infiniband/$1" && bring_back
}

tcase honest --tier fast,wire --serve-more "random operations of four connections agree with a model of the memory" honest
tcase read-only --more "... of a region that grants READ only" one_kind
tcase seeds --more "a seed gives the same operations again" seeds
tcase lies --limit 60 "a target that lies once in 50 operations is caught" lies
tcase revoked --limit 90 "connections that a revocation ends are made again, and the memory is as it must be" revoked
tcase lost --more --limit 90 "packets that are lost change nothing that is read" lost
tcase disabled --more --limit 90 "a port that is disabled in the middle of transfers leaves nothing behind" disabled
tcase reloaded --more --limit 120 "connections outlive the target's module, whose memory is new" reloaded
tcase reloaded-seen --more --limit 120 "new memory that nobody allowed is an error" reloaded_seen
tcase everything --long --limit 4000 "random operations while devices, the module, packets and connections go and come" everything

tmain "$@"
