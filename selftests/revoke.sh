#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# revoke.sh: rkeys that were given away are taken back, while they are in use.
#
# Clients stream WRITEs (probe traffic), each of which is its own number again and
# again.  So the target's bytes, read through debugfs, tell the last that landed,
# and the client tells the last that was acknowledged: no byte may land after the
# revocation has returned, and none that landed may be unknown to the client.
#
# weight 0.7 1.8 smp

. "${0%/*}/lib.sh"

# A client that streams, under a name; ID is its connection's number.
stream() { # NAME [KEY=VALUE...]
	local name=$1
	shift
	background "$name" probe traffic "$@"
	wait_line "$name" started=1
	ID=$(value_of "$(<"$WORK/$name.out")" conn_id)
}

revoke() { # ID or all
	target attr_set "$CONFIGFS/ports/$PORT/revoke" "$1"
}

# The same, and at once afterwards the numbers the target holds: WORDS.
revoke_and_look() { # ID FILE OFFSET...
	local id=$1
	shift
	read -r -a WORDS < <(target look after "$id" "$CONFIGFS/ports/$PORT/revoke" "$@")
	((${#WORDS[@]})) || fail "revoke of $id failed"
}

# Its next access was refused; ACKED is the last one that was not.  Over iWARP a WRITE completes
# when it is sent, so ACKED is the last one that was sent whole, and a client that WRITEs step by
# step is told of the refusal at one of the next.
expect_cut_off() { # NAME
	! is_iwarp || wait_until 10 gone "$1" || fail "$1 goes on: $(<"$WORK/$1.out")"
	wait_line "$1" end=
	finish "$1"
	has "$(<"$WORK/$1.out")" end=rem-access
	ACKED=$(value_of "$(<"$WORK/$1.out")" writes)
}

gone() { # NAME
	grep -q ^end= "$WORK/$1.out" && return
	echo go >&"${BG_STDIN[$1]}" || true
	return 1
}

# Its WRITEs go on, and it ends when it is told to.
expect_unharmed() { # NAME
	local before
	send_line "$1" "?"
	wait_line "$1" at=
	before=$(value_of "$(<"$WORK/$1.out")" at)
	wait_until 10 got_further "$1" "$before" || fail "$1 stopped at $before: $(cat "$WORK/$1.out")"
	finish "$1"
	has "$(<"$WORK/$1.out")" end=stdin
}

got_further() { # NAME NUMBER
	send_line "$1" "?"
	(($(sed -n 's/^at=//p' "$WORK/$1.out" | tail -n 1) > $2))
}

private_data() { # ID
	echo "$DEBUGFS/ports/$PORT/conns/$1/mem/data"
}

# Whatever another connection tries with them, address and key are of no use.
unreachable() {
	local op text said
	local -a ops=(write read imm cas faa)
	! is_iwarp || ops=(write read)
	target_port scope=private region mem size=4096 access=read,write,atomic fill=0x11
	background victim probe hold show=1
	wait_line victim ready=1
	text=$(<"$WORK/victim.out")
	for op in "${ops[@]}"; do
		said=$(probe access "op=$op" len=8 "addr=$(value_of "$text" addr0)" "rkey=$(value_of "$text" rkey0)")
		has "$said" wc=rem-access
		! is_iwarp || [[ $said == *term=@(pd|none)* ]] || fail "$said"
	done
	target look filled "$(private_data "$(value_of "$text" conn_id)")" 0 4096 0x11
	expect_counters conns_accepted=$((1 + ${#ops[@]})) "qp_errors=${#ops[@]}"
	send_line victim echo
	wait_line victim alive=1
	finish victim
}

wrote() { # ID NUMBER
	[[ $(target look words "$(private_data "$1")" 4088) == "$2" ]]
}

# A step at a time: what is there after the revocation is what was there before it.
private_bytes() {
	local victim
	target_port scope=private region mem size=4096
	stream other step=1 len=4096
	stream victim step=1 len=4096
	victim=$ID
	send_line victim go
	wait_line victim at=2
	wait_until 5 wrote "$victim" 2 || fail "the victim's second WRITE did not land"
	revoke_and_look "$victim" "$(private_data "$victim")" 4088
	same "what the victim wrote" "${WORDS[0]}" 2
	expect_counters rotations=1 qp_errors=0
	send_line other go
	wait_line other at=2
	send_line victim go
	expect_cut_off victim
	is_iwarp || same "what it thinks it wrote" "$ACKED" 2
	expect_counters qp_errors=1
	finish other
}

# While both stream.  The victim's memory goes with its connection, perhaps before
# we can look.
private_stream() {
	target_port scope=private region mem size=4096
	stream other depth=8
	stream victim depth=8
	revoke_and_look "$ID" "$(private_data "$ID")" 0
	expect_cut_off victim
	[[ ${WORDS[0]} == gone ]] || len=8 landed 0
	expect_unharmed other
	expect_counters rotations=1 qp_errors=1
}

private_all() {
	target_port scope=private region one size=4096 region two size=4096
	stream first depth=8
	stream second depth=8
	revoke all
	expect_cut_off first
	expect_cut_off second
	expect_counters rotations=4 qp_errors=2
	has "$(probe access op=write)" wc=success
}

# Two clients, each with a place of its own in one memory, which stays.
shared_stream() { # BYTES
	local len=$1 sum
	target_port region mem size=$((2 * len)) fill=0x77
	stream one depth=8 "len=$len"
	stream two depth=8 "len=$len" "offset=$len"
	revoke_and_look all "$(data_of mem)" 0 "$len"
	sum=$(target look crc "$(data_of mem)")
	expect_cut_off one
	landed 0
	expect_cut_off two
	landed 1
	expect_no_connections
	same "the numbers later" "$(target look words "$(data_of mem)" 0 "$len")" "${WORDS[*]}"
	same "the memory's CRC-32 later" "$(target look crc "$(data_of mem)")" "$sum"
	expect_counters rotations=1 qp_errors=2
	has "$(probe access op=write)" wc=success
}

# The last to land was the last to be acknowledged; of a WRITE of many packets that
# is refused the first may have landed.  Over iWARP those that were sent need not have landed, and
# the depth=8 that were posted may have landed and be flushed.
landed() { # INDEX
	! is_iwarp || ((WORDS[$1] <= ACKED + 8)) || fail "${WORDS[$1]} had landed, $ACKED WRITEs had completed in the end"
	is_iwarp || ((WORDS[$1] == ACKED || (len > 1024 && WORDS[$1] == ACKED + 1))) ||
		fail "${WORDS[$1]} had landed when the rkeys were revoked, $ACKED were acknowledged in the end"
}

# The client itself asks for a new key, and goes on with the old one.
by_peer() {
	target_port scope=private region mem size=4096
	stream other depth=8
	stream victim depth=8 revoke=50
	expect_cut_off victim
	((ACKED >= 50)) || fail "$ACKED of the 50 before the REVOKE were acknowledged"
	expect_unharmed other
	expect_counters rotations=1 qp_errors=1 malformed=0
}

# A key can be killed by whoever has it.  That cuts off all who use it, and those
# who come later get another.
by_invalidation() {
	target_port region mem size=4096
	stream other depth=8
	has "$(probe invalidate)" wc=success old=rem-access
	expect_cut_off other
	has "$(probe access op=write)" wc=success
	expect_counters invalidations=1 rotations=1 qp_errors=2
}

# Also a key that is dead already is made anew, and no two are the same.
again() {
	local i before keys=
	target_port region mem size=4096 fill=0x77
	has "$(probe invalidate)" old=rem-access
	revoke all
	for i in 1 2 3; do
		before=$(probe connect)
		keys+=$(value_of "$before" rkey0)$'\n'
		revoke all
		has "$(probe access op=write "rkey=$(value_of "$before" rkey0)")" wc=rem-access
	done
	target_filled mem 0 4096 0x77
	same "different keys" "$(sort -u <<<"$keys" | grep -c .)" 3
	expect_counters invalidations=1 rotations=4
	has "$(probe access op=write)" wc=success
}

# A transfer the target was asked for before is the target's own: it goes on.  rxe of 6.1
# loses a part of each MiB that it answers a READ with, and repeats it after two seconds.
during_pull() {
	local size=$((8 * 1048576))
	target_port scope=private region mem "size=$size"
	background mover probe move op=pull "len=$size" timeout=50
	wait_until 10 counters_are recv_msgs=1 || fail "$COUNTERS"
	revoke all
	expect_counters rotations=1 replies=0
	wait_until 50 grep -q status=ok "$WORK/mover.out" || fail "$(cat "$WORK/mover.out" "$WORK/mover.err")"
	finish mover
	expect_counters replies=1 malformed=0 qp_errors=0
}

# Keys change while connections come and go.  A client may be refused then; what
# must not be is a key that was never valid, or a target that is not whole.
during_connects() { # SCOPE
	local ok=0 failed=0 i
	target_port "scope=$1" region mem size=4096 region more size=4096
	# until a client has found its rkey valid, and one of a shared port has found it revoked
	for ((i = 0; i < 10; i++)); do
		: >"$WORK/clients.out"
		background clients probe race count=100 threads=4 writes=20
		while [[ ! -s $WORK/clients.out ]]; do
			revoke all
		done
		finish clients
		ok=$((ok + $(value_of "$(<"$WORK/clients.out")" ok)))
		failed=$((failed + $(value_of "$(<"$WORK/clients.out")" failed)))
		((ok == 0)) || [[ $1 == shared && $failed == 0 ]] || break
	done
	((i < 10)) || fail "$ok clients used their rkey, $failed had a revoked one"
	expect_no_connections
	has "$(probe access op=write)" wc=success
	has "$(probe access op=read region=1)" wc=success
}

wrong() {
	target_port region mem size=4096
	fails_with "Invalid argument" revoke 1
	fails_with "out of range" revoke 0
	fails_with "Invalid argument" revoke everybody
	target port_del "$PORT"
	target_port scope=private region mem size=4096
	fails_with "No such file" revoke 7
	revoke all
	background client probe hold show=1
	wait_line client ready=1
	revoke "$(value_of "$(<"$WORK/client.out")" conn_id)"
	finish client
	expect_no_connections
	fails_with "No such file" revoke 1
	expect_counters rotations=1
}

# A client of a shared port may replace an rkey only if it is not valid: here the administrator has
# revoked it, and nobody has registered the memory since.  What the client is given then works.
behind_administrator() {
	target_port region mem size=4096
	background client probe messages
	send_line client "before msg_op=6 body=24"
	wait_line client "before "
	revoke all
	send_line client "first msg_op=6 body=24"
	wait_line client "first "
	send_line client "second msg_op=6 body=24"
	wait_line client "second "
	finish client
	has "$(grep "^before " "$WORK/client.out")" status=shared len=0
	has "$(grep "^first " "$WORK/client.out")" status=ok len=24
	has "$(grep "^second " "$WORK/client.out")" status=shared len=0
	has "$(<"$WORK/client.out")" alive=1
	has "$(probe access op=write len=64)" wc=success
	expect_counters qp_errors=0
}

tcase private-stream --tier wire,fast "a client whose rkeys are revoked is disconnected, its neighbour's traffic continues" private_stream

tcase by-peer --more --tier fast,wire --serve-more "a client that asks for a new key is refused with the old one" by_peer
tcase shared-stream --tier fast,wire --more "no byte lands after all rkeys of a shared port were revoked" shared_stream 64

tcase unreachable --more --serve-more "a private connection's memory is out of every other one's reach" unreachable
tcase private-bytes --more "after a revocation the client's memory no longer changes, its neighbour's does" private_bytes
tcase private-all --more "all clients of a private port are cut off at once" private_all
tcase shared-long --more "no byte of long WRITEs lands after a revocation" shared_stream 65536
tcase by-invalidation "a shared rkey that a client invalidates is invalid for all clients, and is replaced" by_invalidation
tcase behind-administrator --more "of a shared port a client may replace only an rkey that was revoked" behind_administrator
tcase again --more "after repeated revocations, of valid and invalidated rkeys, the old rkeys stay invalid" again
tcase during-pull --more "revoking the rkeys does not interrupt a PULL in progress" during_pull
tcase during-connects-shared --more "a shared port's keys are revoked while clients come and go" during_connects shared
tcase during-connects-private --more "a private port's keys are revoked while clients come and go" during_connects private
tcase wrong "revoking with a wrong word or an unknown connection is refused and changes nothing" wrong

tmain "$@"
