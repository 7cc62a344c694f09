#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# findings.sh: what devices do wrong whoever uses them (Documentation/findings/).
#
# Mostly without a port and a connection manager: "pair" has two queue pairs in one process. A case is an
# expected failure (XFAIL) where the device has the defect, and passes where it has not, for example
# with the finding's patch.
#
# weight 1.0 1.2

. "${0%/*}/lib.sh"
. "$HERE/bridge_fixtures.sh"

# Runs a case of pair; PAIR is what it printed.
pair() { # CASE
	PAIR=$(timeout -k 1 $((20 * SLOW)) "$HERE/pair" "$1" "$RTGT_CLIENT_DEV" "$RTGT_TARGET_DEV" 2>&1) || fail "pair $1: $PAIR"
	tolerate_log "non-flush error status"
}

srq_lost() {
	pair srq
	[[ $PAIR != wc=none ]] || xfail rxe-srq-receive-lost "device $RTGT_TARGET_DEV loses the receive that an incomplete message took from an SRQ"
	same "status of the receive" "$PAIR" wc=flush
}

uc_cut_short() { # OPCODE
	pair "uc-$1"
	same "messages" "${PAIR%=*}" arrived
	((${PAIR#*=} == 3)) ||
		xfail rxe-uc-cut-short "device $RTGT_TARGET_DEV accepts ${PAIR#*=} of three ${1^^}s on a UC queue pair after an incomplete one"
}

flushed_init() {
	pair flush-init
	has "$PAIR" wc=flush
}

flushed_rtr() {
	local dir=/sys/kernel/debug/failslab
	[[ -d $dir ]] || skip "the kernel injects no faults (CONFIG_FAILSLAB)"
	attr_set $dir/probability 0
	attr_set $dir/times -1
	attr_set $dir/verbose 0
	attr_set $dir/ignore-gfp-wait N
	attr_set $dir/task-filter Y
	attr_set $dir/require-start 0
	attr_set $dir/require-end 0xffffffffffffffff
	tolerate_log "rxe_[tc]: .*returned err = -12$"
	pair flush-rtr
	note "$(grep -c '^refused' <<<"$PAIR") transitions to RTR failed"
	[[ $PAIR != *wc=none* ]] || xfail rxe-rtr-no-flush "device $RTGT_TARGET_DEV flushes no receive after a transition to RTR that failed"
	has "$PAIR" wc=flush
}

# The responder's consumer runs before rxe's worker goes on: it has a real-time priority, and
# the kernel is preempted.
nak_late() { # CASE
	local file=/sys/kernel/debug/sched/preempt before
	[[ -e $file ]] || skip "the kernel's preemption is fixed (CONFIG_PREEMPT_DYNAMIC)"
	before=$(sed 's/.*(\(.*\)).*/\1/' $file)
	defer attr_set $file "$before"
	attr_set $file full
	pair "$1"
	[[ $PAIR != wc=retry-exceeded ]] || xfail rxe-nak-late "device $RTGT_TARGET_DEV reports an access error before it sends the NAK"
	same "status of the WRITE" "$PAIR" wc=rem-access
}

local_error() {
	pair local
	[[ $PAIR != wc=flush ]] || xfail rxe-local-flushed "device $RTGT_CLIENT_DEV completes a request with an lkey that is nobody's as flushed"
	# rxe's copy_data() does not tell an lkey that is not valid from other errors
	[[ $PAIR == wc=loc-prot || $PAIR == wc=loc-qp-op ]] || fail "status of the SEND: $PAIR"
}

# By the functions of an extended queue pair
in_list() { # sge-list|inline-list BYTES
	pair "$1"
	[[ $PAIR != "wc=success arrived=$2" ]] || xfail rdma-core-lists "rdma-core sends $2 of 60 bytes ($1) on device $RTGT_CLIENT_DEV"
	same "the WRITE" "$PAIR" "wc=success arrived=60"
}

not_sent() {
	target cat_contents "/sys/class/infiniband/$RTGT_TARGET_DEV/ports/1/hw_counters/send_err"
}

more_not_sent() { # THAN
	(($(not_sent) > $1))
}

read_mtu() {
	pair read
	same "a READ that fits" "$PAIR" "wc=success arrived=1"
	small_mtu
	pair read
	[[ $PAIR != wc=rnr-retry-exceeded* ]] || xfail rxe-read-mtu "device $RTGT_TARGET_DEV answers a READ whose response it cannot send with RNR NAKs"
	same "a READ that does not fit" "$PAIR" "wc=retry-exceeded arrived=0"
}

# The response fits in the end; whatever the responder makes of that, no READ without its bytes
# may succeed.
read_mtu_late() {
	local before
	small_mtu
	before=$(not_sent)
	background pair "$HERE/pair" read-patient "$RTGT_CLIENT_DEV" "$RTGT_TARGET_DEV"
	wait_until 10 more_not_sent "$before" || fail "no response failed: $(<"$WORK/pair.err")"
	target ip link set "$MTU_OF" mtu "$MTU_WAS"
	wait_until 20 process_gone "${BG_PID[pair]}" || fail "the READ does not end: $(<"$WORK/pair.out")"
	PAIR=$(<"$WORK/pair.out")
	[[ $PAIR != "wc=bad-response arrived=0" ]] || xfail rxe-read-mtu "device $RTGT_TARGET_DEV begins the response of a READ with its end, after one that it could not send"
	same "the READ" "$PAIR" "wc=success arrived=1"
}

# An AETH of the reserved kind in a READ's response
bad_response() {
	bridged "kind: forge=infiniband.aeth.syndrome:0x40 is=response op=read count=1"
	fails_with "READ failed: bad response" ping -o read -S 5000 -C 1
}

odp_iova() {
	pair odp-iova
	has "$PAIR" wc=success arrived=1 behind=0
}

invalidated_twice() {
	tolerate_log "rxe_invalidate_mw"
	pair invalidated
	has "$PAIR" wc1=success wc2=rem-inv-req
}

outlived() {
	tolerate_log "returned err = -16"
	pair outlived
	has "$PAIR" errno=16 again=0
}

tcase srq-lost --needs qp-states --more "the receive that an incomplete message took from an SRQ is flushed with its queue pair" srq_lost
tcase uc-send --needs qp-states --more "UC: an incomplete SEND costs no later SEND" uc_cut_short send
tcase uc-write --needs qp-states --more "UC: an incomplete WRITE costs no later WRITE" uc_cut_short write
tcase nak --needs qp-states --more "a consumer that sees the error of a bad WRITE_WITH_IMM cannot prevent the NAK" nak_late nak
tcase nak-event --needs qp-states --more "a consumer that gets the event of a bad WRITE cannot prevent the NAK" nak_late nak-event
tcase local --needs qp-states --more "a request with an lkey that is nobody's completes with a local error" local_error
tcase sge-list --needs qp-states --more "a request of three SGEs, by ibv_wr_set_sge_list(), sends all of them" in_list sge-list 30
tcase inline-list --needs qp-states --more "a request of three pieces of inline data sends all of them" in_list inline-list 0
tcase read-mtu --needs qp-states --more "a READ whose response does not fit through the responder's interface fails like one without a response" read_mtu
tcase flush-init --needs qp-states --more "a queue pair that goes from INIT to error flushes its receives" flushed_init
tcase flush-rtr --needs qp-states --limit 60 --more "a queue pair whose transition to RTR failed for lack of memory flushes its receives" flushed_rtr

# On rxe without the patch this warns in the kernel log
tcase read-mtu-late --needs qp-states --long "a READ whose response fits through the responder's interface in the end has its bytes" read_mtu_late
tcase bad-response --needs cm --long --limit 60 "a READ whose response cannot be used completes with an error" bad_response

# On rxe without the patch these take the kernel down
tcase window-twice --needs qp-states --limit 60 --long "a memory window is invalidated once, the second SEND_WITH_INV fails" invalidated_twice
tcase odp-iova --needs qp-states,odp --limit 60 --long "a WRITE to memory registered on demand with an I/O virtual address of its own" odp_iova
tcase window-outlives --needs qp-states --limit 90 --long "a queue pair with a memory window bound to it is not destroyed" outlived

tmain "$@"
