#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# lies_initiator.sh: targets that lie ("probe lie"), and the kernel's initiator: it must not
# crash, and must not report bytes as verified that are not what they should be.

. "${0%/*}/lib.sh"
. "$HERE/initiator_fixtures.sh"

# A lying target at CM_PORT, and an initiator for it.
liar() { # "LIE [PROBE-OPTION...]" [INITIATOR-ATTRIBUTE...]
	CM_PORT=$((20000 + CASE_INDEX * 16))
	# shellcheck disable=SC2086 # several words
	background liar probe lie lie=$1
	said liar listening
	initiator "${@:2}"
}

# A run of the initiator fails, and its error has the text.
caught() { # TEXT "LIE [PROBE-OPTION...]" op=OP INITIATOR-ATTRIBUTE...
	has_op "${3#op=}" || skip "the devices have no ${3#op=}"
	liar "${@:2}"
	run
	has "$RESULT" state=failed
	[[ $RESULT == *"$1"* ]] || fail "wanted an error with \"$1\": $RESULT"
	tolerate_log "non-flush error status"
	gone
}

# Nothing is left of the run: its directory can be removed, and made again.
gone() {
	background delete rmdir "$INI"
	wait_until 10 not_there "$INI" || fail "rmdir of the initiator does not end"
	finish delete
	mkdir "$INI"
}

# The liar is no liar: what the other cases see is the lie.
honest() {
	local op
	liar "$1"
	device_ops write,read,write-imm,send,cas,faa
	for op in ${OPS//,/ }; do
		run "op=$op" iters=20 warmup=2
		has "$RESULT" state=done ops=20
	done
}

# The WRITE that wakes the peer is outstanding when timeout_ms is over.
deaf() {
	liar ask-deaf op=write timeout_ms=$((1000 * SLOW))
	run
	has "$RESULT" state=failed
	[[ $RESULT == *"no completion within"* ]] || fail "$RESULT"
	gone
}

tcase honest "an initiator and the lying target, while it does not lie" honest none
tcase honest-ask "an initiator and the lying target, whose REP has no capability" honest ask
tcase extent-short "a capability that is shorter than an operation ends the run" \
	caught "region 0 has 1 bytes" ask-short op=write
tcase extent-short-walk "a capability that is shorter than an operation ends a run that walks" \
	caught "region 0 has 1 bytes" ask-short op=write walk=1
tcase wrap "a region that ends beyond the highest address ends the run" \
	caught "region 0: the address" wrap op=read
tcase deaf "a target that neither replies nor acknowledges ends the run after timeout_ms" deaf

tmain "$@"
