#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# refuse.sh: what a capability does not grant is refused by the target's device.
#
# The client sees IBV_WC_REM_ACCESS_ERR and its queue pair is dead; the target
# counts one queue pair in error and takes the connection down; the memory keeps
# its bytes, and the neighbour on the same port does not notice.

. "${0%/*}/lib.sh"

# A port with a region of each kind between two plain ones, and a neighbour.
guarded_port() {
	target_port region mem size=8000 fill=0x77 region ro size=4096 access=read fill=0x77 \
		region wo size=4096 access=write fill=0x77
	background neighbour probe hold
	said neighbour ready=1
	# rxe tells that it completed a queue pair's request with an error
	tolerate_log "non-flush error status"
}

untouched() {
	target look filled "$(data_of mem)" 0 8000 0x77
	target look filled "$(data_of ro)" 0 4096 0x77
	target look filled "$(data_of wo)" 0 4096 0x77
	tell neighbour echo
	said neighbour alive=1
	finish neighbour
}

refused() { # PROBE-ARGUMENT...
	guarded_port
	has "$(probe access "$@")" wc=rem-access
	expect_counters conns_accepted=2 qp_errors=1
	untouched
	expect_no_connections
}

# Zero bytes touch nothing, so the specification has nothing checked.
nothing_at_all() {
	guarded_port
	has "$(probe access op=write len=0 rkey_xor=0x5a00)" wc=success
	has "$(probe access op=read len=0 region=2)" wc=success
	expect_counters qp_errors=0
	untouched
}

granted() { # PROBE-ARGUMENT...
	guarded_port
	has "$(probe access "$@")" wc=success
	expect_counters qp_errors=0
	tell neighbour echo
	said neighbour alive=1
	finish neighbour
}

# Many bad ones at a time: each goes, the good one stays.
many() {
	local i
	guarded_port
	for i in 1 2 3 4 5; do
		has "$(probe access op=write "rkey_xor=$((i << 8))")" wc=rem-access
	done
	expect_counters conns_accepted=6 conns_closed=5 qp_errors=5
	untouched
}

# A key from before the port was disabled is dead.
stale_key() {
	local before
	target_port region mem fill=0x77
	before=$(probe connect)
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	tolerate_log "non-flush error status"
	has "$(probe access op=write "addr=$(value_of "$before" addr0)" "rkey=$(value_of "$before" rkey0)")" wc=rem-access
	target look filled "$(data_of mem)" 0 4096 0x77
}

tcase write-rkey "a WRITE with a wrong key is refused" refused op=write rkey_xor=0x1000
tcase read-rkey "a READ with a wrong key is refused" refused op=read rkey_xor=0x1000
tcase imm-rkey "a WRITE_WITH_IMM with a wrong key is refused" refused op=imm imm=1 rkey_xor=0x1000
tcase write-end "a WRITE one byte beyond the end is refused" refused op=write offset=7937 len=64
tcase read-end "a READ one byte beyond the end is refused" refused op=read offset=7937 len=64
tcase write-read-only "a WRITE to a read-only region is refused" refused op=write region=1
tcase read-write-only "a READ of a write-only region is refused" refused op=read region=2
tcase zero-bytes "zero bytes need no capability" nothing_at_all

tier fast
tcase write-key-part "a WRITE whose key differs in its low byte only is refused" refused op=write rkey_xor=1
tcase imm-end "a WRITE_WITH_IMM one byte beyond the end is refused" refused op=imm imm=1 offset=7937 len=64
tcase write-long-end "a WRITE of many packets, the last byte beyond the end, is refused" refused op=write offset=1 len=8000
tcase write-before "a WRITE one byte before the start is refused" refused op=write offset=-1 len=64
tcase read-before "a READ one byte before the start is refused" refused op=read offset=-1 len=64
tcase write-wrap "a WRITE whose end wraps around the address space is refused" refused op=write addr=-32 len=64
tcase write-other "a WRITE to one region with the key of another is refused" refused op=write region=0 key_of=2
tcase imm-read-only "a WRITE_WITH_IMM to a read-only region is refused" refused op=imm imm=1 region=1
tcase read-only-read "a READ of a read-only region is granted" granted op=read region=1 len=4096
tcase write-only-written "a WRITE to a write-only region is granted" granted op=write region=2 len=4096
tcase last-byte "a WRITE of the last byte is granted" granted op=write offset=7999 len=1
tcase many "five refused clients, one after the other, and the sixth lives" many
tcase stale-key "a key from before the port was disabled is refused" stale_key

tmain "$@"
