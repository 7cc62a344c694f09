#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# faults.sh: no memory.
#
# Each allocation of the module's fails in its turn, be it its own or one of what it
# calls: whoever asked for something is told, nothing stays behind (which is seen when
# the case ends), and then all is as ever.  Needs a kernel that injects faults.
#
# weight 12 12 where faults are injected

. "${0%/*}/lib.sh"
# shellcheck source=allocation_fixtures.sh
. "${0%/*}/allocation_fixtures.sh"

# ENOMEM, or of a device's socket ENFILE
NO_MEMORY="Cannot allocate memory|Too many open files in system"
# status: of the IB CM, or the errno of an iWARP connect
RESOURCES="result=refused status=(28|-104) reason=resources arg=(12|23)"
UNTYPED="result=refused status=(28|-104) reason=untyped"

NO_REGION="rtgt: .*(cannot be registered|no memory for its)"

# A command of the shell's own, with its first allocation failing, with its second and so
# on, up to the last.  It gets along without, or is refused for want of memory.
walk() { # COMMAND UNDO
	local n=0 refused=0 ours=/proc/$BASHPID
	inject_faults
	while
		fail_nth $((++n)) "$ours"
		"$1" 2>"$WORK/said" || {
			((++refused))
			[[ $(<"$WORK/said") =~ $NO_MEMORY ]] || fail "allocation $n: $(<"$WORK/said")"
		}
		nth_failed "$ours"
	do
		"$2"
	done
	((refused)) || fail "none of $((n - 1)) allocations was missed"
	note "$((n - 1)) allocations, without $refused of them it was refused"
}

enable_port() {
	echo 1 >"$CONFIGFS/ports/$PORT/enable"
}

disable_port() {
	echo 0 >"$CONFIGFS/ports/$PORT/enable"
}

enabling() {
	target_port enable=0 mr_max=1M region mem size=3M region two size=100
	tolerate_log "$NO_REGION|rtgt: .*cannot listen on"
	walk enable_port disable_port
	has "$(probe bulk len=1048576)" bytes=3145728 same_there=1 same_here=1
}

# insmod, whose n-th allocation for a module's code fails, until 20 in a row succeed: what debugfs
# lacks is done without.  Where modules are is the same in all kernels of x86-64.
loading() {
	local n=0 row=0 refused=0 dir
	[[ $(uname -m) == x86_64 ]] || skip "where are modules on $(uname -m)?"
	need_module_file
	inject_faults
	for dir in /sys/kernel/debug/{failslab,fail_page_alloc}; do
		attr_set "$dir/require-start" 0xffffffffa0000000
		attr_set "$dir/require-end" 0xffffffffff000000
	done
	tolerate_log "debugfs: out of free dentries"
	defer module_load
	module_unload
	while ((row < 20)); do
		if (
			fail_nth $((n + 1)) "/proc/$BASHPID"
			exec insmod "$RTGT_KO"
		) 2>"$WORK/said"; then
			module_unload
			((++row))
		else
			[[ $(<"$WORK/said") =~ $NO_MEMORY ]] || fail "allocation $((n + 1)): $(<"$WORK/said")"
			module_loaded && fail "allocation $((n + 1)) failed, and the module is there"
			((++refused))
			row=0
		fi
		((++n < 1000)) || fail "no end"
	done
	((refused)) || fail "none of $n allocations was missed"
	note "$((n - 20)) allocations, without $refused of them the module was not loaded"
}

make_item() {
	mkdir "$ITEM"
}

remove_item() {
	[[ ! -d $ITEM ]] || rmdir "$ITEM"
}

making() { # ports|initiators
	[[ $(type -t mkdir) == builtin ]] || skip "mkdir is a process of its own (bash-builtins)"
	ITEM=$CONFIGFS/$1/$CASE
	[[ $1 != ports ]] || PORT=$CASE
	defer remove_item
	walk make_item remove_item
}

# Clients come while the threads that answer them miss their n-th allocation: those of the
# CM, which admit a connection, then those that set it up.  The allocation of
# the REP itself makes rdma_cm refuse, which knows no reasons of ours.
# Over iWARP siw's own allocations do not fail, so there are fewer, and some belong to the request
# for the capability, which the target answers with FAILED.
connecting() { # PORT-ATTRIBUTE...
	local -A came=([established]=0 [resources]=0 [untyped]=0 [asked]=0)
	local refused=10
	inject_faults
	tolerate_log "$NO_REGION"
	target_port recv_depth=2 "$@"
	# the workers of iw_cm are unbound, too; of a shared port's allocations four or five refuse
	if is_iwarp; then
		refused=3
	else
		connecting_without "kworker/[0-9]*"
		((came[resources] > 0)) || fail "${came[@]@A}"
	fi
	connecting_without "kworker/u*"
	# where the memory for the REJ itself is refused, it has no reason
	((came[resources] > refused && (came[untyped] < 5 || came[untyped] * 2 < came[resources]))) ||
		fail "${came[@]@A}"
	expect_counters "rejects_resources=$((came[resources] + came[untyped]))"
	same "its last bytes" "$(value_of "$(probe access op=write len=4096)" wc)" success
	note "without ${came[resources]} allocations the client was refused for want of resources, \
without ${came[untyped]} for no reason"
}

is_unasked() { # TEXT
	is_iwarp && [[ $1 == *"request 9 was answered failed"* ]]
}

# Each allocation of these threads in turn; counts in "came" what became of the clients.
connecting_without() { # THREADS
	local n=1 misses=0 others=0 text told
	while ((misses < 3)); do
		workers "$1"
		told=${WORKERS[*]}
		fail_nth "$n" "${WORKERS[@]}"
		text=$(probe connect 2>&1) || is_unasked "$text" || fail "allocation $n: the client was not answered: $text"
		# a thread that did not live yet when they were told has its own count: that is no miss
		if nth_failed "${WORKERS[@]}"; then
			n=$((n + 1)) misses=0
		else
			has "$text" result=established
			workers "$1"
			if [[ $told == "${WORKERS[*]}" ]] || ((++others > 50)); then
				((++misses))
			fi
		fi
		if [[ $text == result=established* ]]; then
			text=established
		elif [[ $text =~ ^$RESOURCES$ ]]; then
			text=resources
		elif [[ $text =~ ^$UNTYPED$ ]]; then
			text=untyped
		elif is_unasked "$text"; then
			text=asked
		else
			fail "allocation $n: $text"
		fi
		came[$text]=$((came[$text] + 1))
		expect_no_connections
	done
}

# What the client does for a line, and what it prints of that.
LINES=0
peer_does() { # LINE TEXT
	send_line peer "$1"
	wait_line peer "line=$((++LINES)) "
	has "$(grep "^line=$LINES " "$WORK/peer.out")" "$2"
}

revoke_all() {
	echo all >"$CONFIGFS/ports/$PORT/revoke"
}

# Revocations by the administrator, the first without its first allocation, and so on: what allocates
# can do without (kfree_rcu()).  A revocation cannot fail: no rkey that a client had reaches an extent
# afterwards, and clients that connect get rkeys that do.  Where an allocation is needed, the same
# thread does miss it.
revoking() { # PORT-ATTRIBUTE...
	local n=0 missed=1 ours=/proc/$BASHPID
	inject_faults
	tolerate_log "non-flush error status|cannot listen on .*error -12|$NO_REGION"
	target_port mr_max=4K "$@" region mem size=12K
	background peer probe revoked count=3
	while ((missed)); do
		peer_does open ready=3
		peer_does 0 written=3
		peer_does open ready=3
		fail_nth $((++n)) "$ours"
		revoke_all || fail "allocation $n: the revocation failed"
		nth_failed "$ours" || missed=0
		peer_does 0 written=0
	done
	finish peer
	missed=1
	for ((n = 1; missed; n++)); do
		echo 0 >"$CONFIGFS/ports/$PORT/enable"
		fail_nth $n "$ours"
		! echo 1 >"$CONFIGFS/ports/$PORT/enable" 2>"$WORK/said" || { nth_failed "$ours" && continue; }
		missed=0
	done
	[[ $(<"$WORK/said") =~ $NO_MEMORY ]] || fail "enabling misses no allocation"
}

# Revocations by a client: whatever the reply, the rkey it had of the last extent is invalid.
revoking_own() {
	local n=1 misses=0 failed=0
	inject_faults
	tolerate_log "non-flush error status"
	target_port scope=private mr_max=4K region mem size=12K
	background peer probe revoked count=1 at=2
	while ((misses < 3)); do
		peer_does open ready=1
		workers "kworker/u*"
		fail_nth "$n" "${WORKERS[@]}"
		peer_does 1 written=0
		if nth_failed "${WORKERS[@]}"; then
			n=$((n + 1)) misses=0
		else
			((++misses))
		fi
		grep -q "^line=$LINES revoked=1 " "$WORK/peer.out" || ((++failed))
	done
	((failed)) || fail "none of $((n - 1)) allocations was missed"
	note "$((n - 1)) allocations, without $failed of them the revocation failed"
}

# The kernel's initiator says why it failed, or gets along.
initiating() { # OP
	local n=1 misses=0 failed=0 state ini=$CONFIGFS/initiators/$CASE word
	inject_faults
	# one whose DREQ could not be sent is not waited for
	target_port idle_ms=500
	defer rmdir "$ini"
	mkdir "$ini"
	for word in "addr=$RTGT_TARGET_ADDR" "port=$CM_PORT" "source=$RTGT_CLIENT_ADDR" "op=$1" iters=2 warmup=0; do
		attr_set "$ini/${word%%=*}" "${word#*=}"
	done
	while ((misses < 3)); do
		workers "kworker/u*"
		fail_nth "$n" "${WORKERS[@]}"
		attr_set "$ini/run" 1
		contents "$DEBUGFS/initiators/$CASE/wait"
		state=${TEXT%$'\n'}
		if nth_failed "${WORKERS[@]}"; then
			n=$((n + 1)) misses=0
		else
			((++misses))
			same "state when nothing failed" "$state" "done"
		fi
		if [[ $state == failed ]]; then
			((++failed))
			grep -q "^error [a-z]" "$ini/result" || fail "allocation $n: $(<"$ini/result")"
		else
			same state "$state" "done"
		fi
		expect_no_connections
	done
	((failed > 10)) || fail "only $failed of $((n - 1)) allocations were missed"
	note "$((n - 1)) allocations, without $failed of them the run failed"
}

tcase port --limit 120 "whichever allocation fails, making a port leaves nothing behind" making ports
tcase initiator --limit 120 "whichever allocation fails, making an initiator leaves nothing behind" making initiators
tcase load --limit 120 "whichever allocation fails, the module loads, or nothing of it is left" loading
tcase enable --limit 120 "whichever allocation fails, enabling a port leaves nothing behind" enabling
tcase connect-private --limit 120 "whichever allocation fails, a client of a private port is answered" connecting scope=private
tcase connect-shared --limit 120 "whichever allocation fails, a client of a shared port with an SRQ is answered" connecting srq=1
tcase revoke-shared --limit 120 "whichever allocation fails, a revocation succeeds, and leaves no old rkey valid" revoking
tcase revoke-private --limit 120 "the same on a private port" revoking scope=private
tcase revoke-own --limit 120 "whichever allocation fails, a client's own revocation leaves no old rkey valid" revoking_own
tcase initiator-write --limit 120 "whichever allocation fails, the kernel's initiator says so: write" initiating write
tcase initiator-send --limit 120 "whichever allocation fails, the kernel's initiator says so: send" initiating send

tmain "$@"
