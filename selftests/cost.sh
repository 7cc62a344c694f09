#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# cost.sh: rtgt cost, and what the target tells of its own part (debugfs setups).
#
# weight 0.7 0.2

. "${0%/*}/lib.sh"

cost() { # OPTION...
	rtgt -j cost -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$@" "$RTGT_TARGET_ADDR" >"$WORK/cost.json" || return
	document "$WORK/cost.json"
}

# The rows of the document, "what number count" each
rows() {
	jq -r '.results[] | "\(.what) \(.number) \(.count)"' "$WORK/cost.json" | paste -sd,
}

registrations() {
	target_port
	cost --what mr -S 4K,64K -C 3
	same rows "$(rows)" "register 4096 3,deregister 4096 3,register 65536 3,deregister 65536 3"
	expect_counters conns_established=1 conns_closed=1
}

# The first connection opens the device and is not counted.
connects() {
	target_port
	cost --what connect -C 3
	same rows "$(rows)" "address 1 3,route 1 3,queue pair 1 3,connect 1 3,in all 1 3,close 1 3"
	# A connection takes as long as its steps together, so the shortest one takes at least as long
	# as the shortest of each step.  Of medians that does not hold.  The figures are rounded.
	jq -e '[.results[].us.min] | .[4] + 0.05 >= (.[0:4] | add)' "$WORK/cost.json" >/dev/null ||
		fail "all is shorter than its steps: $(jq -c '[.results[].us.min]' "$WORK/cost.json")"
	jq -e '[.results[].us.max] | .[4] + 0.05 >= (.[0:4] | max)' "$WORK/cost.json" >/dev/null ||
		fail "a step is longer than all: $(jq -c '[.results[].us.max]' "$WORK/cost.json")"
	expect_counters conns_established=4 conns_closed=4 qp_errors=0
}

held() {
	target_port max_conns=20 recv_size=256 recv_depth=4
	cost --what held --held 1,4,20 -C 5
	same rows "$(rows)" "connect 1 1,SEND 1 5,connect 4 3,SEND 4 5,connect 20 16,SEND 20 5"
	expect_counters conns_established=20 conns_closed=20 recv_msgs=15 replies=15 qp_errors=0
}

# More than there may be: it says so, and leaves nothing.
full() {
	target_port max_conns=3
	fails_with "bound of 3 connections is reached" cost --what held --held 1,4
	expect_counters conns_established=3 conns_closed=3 rejects_full=1
	expect_no_connections
}

# The target's own account: four receive contexts and two send contexts, 256 bytes each
setups() {
	local file=$DEBUGFS/ports/$CASE-1/setups text step
	target_port recv_size=256 recv_depth=4
	background client probe hold
	wait_line client ready=1
	wait_until 5 counters_are conns_established=1
	target_contents "$file"
	text=$TEXT
	has "$text" id=1 message_bytes=$((6 * 256))
	for step in domain_ns qp_ns accept_ns live_ns bytes; do
		(($(value_of "$text" $step) > 0)) || fail "no $step: $text"
	done
	finish client
	expect_no_connections
	target_contents "$file"
	same "setups of none" "$TEXT" ""
}

says_why() {
	target_port
	fails_with "where to" rtgt cost
	fails_with "mr, connect or held" rtgt cost --what nothing "$RTGT_TARGET_ADDR"
	fails_with "must grow" rtgt cost --held 4,1 "$RTGT_TARGET_ADDR"
	fails_with "numbers of 1 to" rtgt cost -S 0 "$RTGT_TARGET_ADDR"
	fails_with "numbers of 1 to" rtgt cost --held 100000 "$RTGT_TARGET_ADDR"
	fails_with "what is \"twice\"" rtgt cost "$RTGT_TARGET_ADDR" twice
	fails_with "nothing listens" rtgt cost -p 19999 -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR"
}

tcase mr "rtgt cost measures registration and deregistration" registrations
tcase connect "the steps of a connection are timed, one after the other" connects
tcase held --more "many connections, of which one is in use" held
tcase full --more "rtgt cost reports that max_conns is reached and leaves no connection behind" full
tcase setups "the target reports how long it took to set up a connection" setups
tcase why --more "rtgt cost says what is wrong with its command line" says_why

tmain "$@"
