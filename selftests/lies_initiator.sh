#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# lies_initiator.sh: targets that lie ("probe lie"), and the kernel's initiator: it must not
# crash, and must not report bytes as verified that are not what they should be.
#
# weight 0.4 0.8

. "${0%/*}/lib.sh"
. "$HERE/initiator_fixtures.sh"

# A lying target at CM_PORT, and an initiator for it.
liar() { # "LIE [PROBE-OPTION...]" [INITIATOR-ATTRIBUTE...]
	CM_PORT=$((20000 + CASE_INDEX * 16))
	# shellcheck disable=SC2086 # several words
	background liar probe lie lie=$1
	wait_line liar listening
	initiator "${@:2}"
}

# A run of the initiator fails, and its error has the text.
caught() { # TEXT "LIE [PROBE-OPTION...]" op=OP INITIATOR-ATTRIBUTE...
	case $3 in
	op=*-imm) need imm ;;
	op=cas | op=faa) need atomic ;;
	esac
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

tcase honest --more "an initiator and the lying target, while it does not lie" honest none
tcase honest-ask --more "an initiator and the lying target, whose REP has no capability" honest ask
tcase extent-short --more "a capability that is shorter than an operation ends the run" \
	caught "region 0 has 1 bytes" ask-short op=write
tcase extent-short-walk --more "a capability that is shorter than an operation ends a run that walks" \
	caught "region 0 has 1 bytes" ask-short op=write walk=1
tcase wrap --more "a region that ends beyond the highest address ends the run" \
	caught "region 0: the address" wrap op=read
tcase deaf --more "a target that neither replies nor acknowledges ends the run after timeout_ms" deaf

NOT_OUTSTANDING="the target replied to a request that is not outstanding"
tcase tag "echoes that all have the tag of the first request end the run, at once" \
	caught "$NOT_OUTSTANDING" tag op=send depth=2 iters=2 warmup=0 timeout_ms=600000
tcase tag-imm --more "replies to immediates that all have the tag of the first request" \
	caught "$NOT_OUTSTANDING" tag op=write-imm depth=2 iters=2 warmup=0
tcase twice --more "each reply to an immediate arrives twice" \
	caught "$NOT_OUTSTANDING" twice op=write-imm depth=4 iters=8 warmup=0
tcase twice-checksum --more "each reply to a CHECKSUM arrives twice" \
	caught "$NOT_OUTSTANDING" twice op=write depth=8 iters=8 warmup=0
tcase echo --more "one wrong bit in one of 1,000 echoes" \
	caught "echo 900 differs at byte 12" "flip after=900" op=send size=100 iters=1000 warmup=0
tcase echo-deep --more "one wrong bit in one of 1,000 echoes, of which several are outstanding" \
	caught "differs at byte 12" "flip after=900" op=send size=100 iters=1000 warmup=0 depth=8
tcase echo-duration --more "one wrong bit in one echo of a run that has a duration" \
	caught "echo 30 differs at byte 12" "flip after=30" op=send warmup=0 iters=1 duration_ms=60000
tcase echo-stale --more "each echo has the bytes of the one before" \
	caught "echo 1 differs at byte 0" stale op=send iters=10 warmup=0
tcase imm-len "the reply to an immediate has the length of another WRITE" \
	caught "the reply to WRITE 5 is to 65 bytes instead of 64" "imm-len after=5" op=write-imm
tcase imm-arg --more "the reply to a WRITE has another immediate" \
	caught "the reply to WRITE 5 is to the immediate" "imm-arg after=5" op=write-imm
tcase first-write --more "of 20,000 WRITEs the target keeps the first" \
	caught "different bytes at offset 0" first op=write iters=20000 warmup=0
tcase read "the bytes of a region are not those that the READ after the run returns" \
	caught "different bytes at offset 0" change-before op=read iters=10
tcase read-all --more "the bytes of a region are not those that one READ returned" \
	caught "different bytes at offset 64" "change-before after=1 at=64" op=read iters=4 warmup=0 depth=4 verify=all
tcase atomic-first "the first FETCH_AND_ADD returns another value than the target had" \
	caught "atomic 0 at offset 0 returned" change-after op=faa iters=1 warmup=0
tcase atomic-last --more "the last FETCH_AND_ADD leaves another value than it should" \
	caught "does not hold 0x1, which the last atomic left" "change-before after=1" op=faa iters=1 warmup=0
tcase atomic-undone --more "FETCH_AND_ADD adds nothing" \
	caught "returned 0x0, not what the one before it left" undo op=faa iters=20000 warmup=0
tcase covered --more "a checksum of fewer bytes than were requested" \
	caught "a checksum is of 63 bytes instead of 64" covered op=write

tmain "$@"
