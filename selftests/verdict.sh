#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# verdict.sh: what must turn a case, a program or a run red does so (lib.sh, machine.sh, look.c).
#
# A case starts this program again, as the inner program, whose cases do what no case may do, and
# compares the results with those it must have.  Every check of the verdict has a case here that
# only this check turns red.  Lines that the inner program logs contain "verdict-test", and the
# outer case tolerates these; the streams that scripts/ktap-verdict must reject are in
# scripts/ktap-verdict-test.
#
# weight 0.7 8.6

. "${0%/*}/lib.sh"

# Written by a program, so without the level of an error: the words must be found.
logs() { # TEXT
	printf '<14>%s verdict-test\n' "$1" >/dev/kmsg
}

# The module logs at level err that a port without a region cannot be enabled.
logs_error() {
	defer port_del verdict-test
	! port_add verdict-test "addr=$RTGT_TARGET_ADDR" port=20001
}

# --- the inner program: NAME RESULT [TEXT-BEFORE-IT] FUNCTION... ---------------------------

leaves_process() {
	tail -f /dev/null &
}

leaves_port() {
	port_add verdict-test enable=0
}

skips_and_leaves_port() {
	leaves_port
	skip "a reason"
}

tolerates() {
	tolerate_log "verdict-test"
	logs_error
	logs BUG:
}

# The counters of a port that is not there.
counters_of() { # LINE...
	DEBUGFS=$WORK PORT=made
	mkdir -p "$WORK/ports/made"
	printf '%s\n' "${@:2}" >"$WORK/ports/made/counters"
	wait_until() { "${@:2}"; }
	expect_counters "$1"
}

# A connection that was never closed, by its counters.
port_out_of_balance() {
	target_port
	# shellcheck disable=SC2317 # port_del calls it
	contents() {
		TEXT=$'conns_accepted 2\nconns_established 2\nconns_closed 1\nreplies 0\nrecv_msgs 0\nimms 0\nsend_flushed 0\n'
	}
}

slow_port() {
	target_port
	# shellcheck disable=SC2034 # machine.sh: port_del
	DISABLE_MS=0
}

holds_other_byte() {
	target_port region mem size=4096 fill=0x5a
	target_filled mem 0 4096 0x5b
}

has_connection() {
	target_port
	background client probe hold
	wait_line client ready=1
	has_no_connections
}

expected=()
inner() { # NAME RESULT TEXT [--limit N] FUNCTION [ARG...]
	local -a options=()
	if [[ $4 == --limit ]]; then
		options=("${@:4:2}")
		set -- "${@:1:3}" "${@:6}"
	fi
	expected+=("$1 $2" "$3")
	tcase "$1" --tier fast,wire "${options[@]}" "a case of the inner program" "${@:4}"
}

inner_cases() {
	inner passes ok "" true
	inner fails "not ok" "exit status 1" false
	inner exits-2 "not ok" "exit status 2" bash -c "exit 2"
	inner exits-4 "not ok" "exit status 4" bash -c "exit 4"
	inner hangs "not ok" "still running after" --limit 1 tail -f /dev/null
	inner skips "ok SKIP" "# reason: a reason" skip "a reason"
	inner xfails "ok XFAIL" "# reason: a-page: a reason" xfail a-page "a reason"
	inner foreign "ok SKIP" "# reason: rtgt-example-none is not installed" rtgt-example-none
	inner misspelt "not ok" "expect_countres: no such helper or program" expect_countres a=1
	inner misspelt-condition "not ok" "expect_countres: no such helper or program" eval "! expect_countres a=1"
	inner misspelt-skips "not ok" "expect_countres: no such helper or program" eval "expect_countres || skip 'a reason'"
	inner process "not ok" "it left processes behind" leaves_process
	inner port "not ok" "left behind: port verdict-test" leaves_port
	inner skip-port "not ok" "left behind: port verdict-test" skips_and_leaves_port
	inner bug "not ok" "BUG: verdict-test" logs BUG:
	inner warning "not ok" "WARNING: verdict-test" logs WARNING:
	inner error "not ok" "verdict-test: no region" logs_error
	inner tolerates ok "" tolerates
	# main_inner logs before the marker of the next case
	inner gap "not ok" "BUG: in the gap verdict-test" true
	inner after-gap ok "" true
	inner counters ok "" counters_of a=1 "a 1"
	inner counters-more "not ok" "wanted a=1, got a 10" counters_of a=1 "a 10"
	inner counters-less "not ok" "wanted a=10, got a 1" counters_of a=10 "a 1"
	inner counters-none "not ok" "wanted a=1, got xa 1" counters_of a=1 "xa 1"
	inner balance "not ok" "the counters of balance-1 contradict each other" port_out_of_balance
	inner slow-port "not ok" "enable=0 of slow-port-1 took" slow_port
	inner byte "not ok" "is 0x5a and not 0x5b" holds_other_byte
	inner connection "not ok" "connections of connection-1:" has_connection
	inner same "not ok" "what: got \"1\", wanted \"2\"" same what 1 2
	inner has "not ok" "wanted a=1 in:" has "a=10 b=1" b=1 a=1
	inner fails-not "not ok" "succeeded but should have failed" fails_with text true
	inner fails-otherwise "not ok" "failed, but with \"other\" instead of \"text\"" fails_with text eval "echo other; false"
	inner printed "not ok" "# | ok-7 printed" eval "echo ok 7 printed; false"
}

eval "plain_$(declare -f log_mark)"
eval "patient_$(declare -f wait_until)"
main_inner() { # CASE...
	# what is left behind is not waited for as long as in a real program
	wait_until() {
		patient_wait_until 1 "${@:2}"
	}
	case $VERDICT_INNER in
	cases)
		log_mark() {
			[[ $1 != *.after-gap ]] || logs "BUG: in the gap"
			plain_log_mark "$@"
		}
		;;
	# objects of the module that no port lists: the next case cannot begin
	objects)
		DEBUGFS=$VERDICT_DIR
		;;
	set-up)
		set_up_module() { logs "BUG: in set-up"; }
		;;
	# to which there is no route, of a target that is this machine
	neighbour)
		RTGT_TIER=wire RTGT_PEER=env RTGT_TARGET_ADDR=203.0.113.1 RTGT_TARGET_ADDR6=
		;;
	unload)
		set_up_module() { LOADED=1; }
		module_unload() { false; }
		;;
	tear-down)
		tear_down() { logs "BUG: in tear-down"; }
		;;
	esac
	tmain "$@"
}

# --- the outer cases ----------------------------------------------------------------------

# Run the inner program; what it printed is in OUTPUT.
run_inner() { # STATUS WHAT [--alone] CASE...
	local rc=0 ready=1 status=$1 what=$2
	shift 2
	if [[ $1 == --alone ]]; then
		ready=
		shift
	fi
	tolerate_log verdict-test
	env RTGT_READY="$ready" RTGT_OUTSIDE="verdict-test outside" RTGT_BOOKS="$WORK/books" TMPDIR="$WORK" \
		VERDICT_INNER="$what" VERDICT_DIR="$WORK" "$HERE/verdict.sh" "$@" >"$WORK/inner" 2>&1 || rc=$?
	OUTPUT=$(<"$WORK/inner")
	((rc == status)) || fail "the inner program ended with status $rc, not $status: $OUTPUT"
}

cases() {
	local i=0 number=0 line block='' result
	inner_cases
	log_mark "verdict-test outside"
	run_inner 1 cases "*"
	[[ $OUTPUT == *$'\n'"1..$((${#expected[@]} / 2))"$'\n'* ]] || fail "not the plan: $OUTPUT"
	while IFS= read -r line; do
		if [[ ! $line =~ ^(not )?ok\ ([0-9]+)\ ([^\ ]+)(\ # (SKIP|XFAIL))?$ ]]; then
			block+=$line$'\n'
			continue
		fi
		result="${BASH_REMATCH[3]} ${BASH_REMATCH[1]}ok${BASH_REMATCH[5]:+ ${BASH_REMATCH[5]}}"
		same "result $((++number))" "${BASH_REMATCH[2]} $result" "$number ${expected[i]}"
		[[ $block == *"${expected[i + 1]}"* ]] || fail "$result, but not for \"${expected[i + 1]}\": $block"
		[[ $block == *$'\n'"# ${BASH_REMATCH[3]}: a case of the inner program"$'\n'* ||
			$block == "# ${BASH_REMATCH[3]}: a case of the inner program"$'\n'* ]] || fail "$result has no description: $block"
		block=
		i=$((i + 2))
	done <<<"$OUTPUT"
	same "results" "$i" "${#expected[@]}"
}

objects() {
	echo "conns 0" >"$WORK/objects"
	log_mark "verdict-test outside"
	run_inner 1 objects object passes
	[[ $OUTPUT == *"ok 1 passes"*"left behind: conns 1"*"not ok 2 object"*"Bail out!"* ]] || fail "$OUTPUT"
}

leaves_object() {
	echo "conns 1" >"$VERDICT_DIR/objects"
}

# A line between programs: nothing that a case does.
before_first() {
	log_mark "verdict-test outside"
	logs "BUG: between programs"
	run_inner 1 none passes
	[[ $OUTPUT == *"BUG: between programs verdict-test"*"ok 1 passes"*"not clean before the first case"* ]] || fail "$OUTPUT"
}

# The program that comes next judges only what was logged after the last case of this one, as run.sh
# does after the last program.
after_last() {
	log_mark "verdict-test outside"
	run_inner 0 none passes
	run_inner 0 none passes
	logs "BUG: between programs"
	fails_with "BUG: between programs" log_clean_since "verdict-test outside"
	run_inner 1 none passes
	log_clean_since "verdict-test outside"
}

during() { # set-up|tear-down
	run_inner 1 "$1" --alone passes
	[[ $OUTPUT == *"BUG: in $1 verdict-test"* && $OUTPUT == *$'\n'"ok 1 passes"* ]] || fail "$OUTPUT"
}

stays_loaded() {
	run_inner 1 unload --alone passes
	[[ $OUTPUT == *$'\n'"ok 1 passes"* ]] || fail "$OUTPUT"
}

no_neighbour() {
	run_inner 1 neighbour --alone passes
	[[ $OUTPUT == *"203.0.113.1 does not answer a ping"* ]] || fail "$OUTPUT"
}

# A log that does not hold the whole case is no clean one.
overwritten() {
	fails_with "no longer holds" "$HERE/look" log "verdict-test never" "" "$HERE/kernel-log"
	log_mark "verdict-test begin"
	fails_with "no longer holds" "$HERE/look" log "verdict-test begin" "verdict-test never" "$HERE/kernel-log"
	log_mark "verdict-test end"
	logs BUG:
	"$HERE/look" log "verdict-test begin" "verdict-test end" "$HERE/kernel-log"
	tolerate_log verdict-test
	# a marker is a line and not the beginning of one
	log_mark "verdict-test from"
	log_mark "verdict-test to2"
	logs BUG:
	log_mark "verdict-test to"
	fails_with "BUG: verdict-test" "$HERE/look" log "verdict-test from" "verdict-test to" "$HERE/kernel-log"
	log_mark "verdict-test end2"
	fails_with "BUG: verdict-test" "$HERE/look" log "verdict-test end" "verdict-test end2" "$HERE/kernel-log"
}

if [[ -n ${VERDICT_INNER:-} ]]; then
	inner_cases
	[[ $VERDICT_INNER != objects ]] || tcase object "leaves an object of the module" leaves_object
	main_inner "$@"
else
	tcase cases --more --limit 120 "every case that breaks a rule of the suite fails, with the reason" cases
	tcase objects --more "an object of the module that is left fails the case, and ends the program if it stays" objects
	tcase before-first "a bad line of the kernel log between two programs fails the second one" before_first
	tcase after-last --more "what a program has judged does not fail the next one; what comes later does" after_last
	tcase set-up --more "a bad line of the kernel log during set-up fails the program" during set-up
	tcase tear-down --more "a bad line of the kernel log during tear-down fails the program" during tear-down
	tcase unload --more "a module that cannot be unloaded fails the program" stays_loaded
	tcase neighbour "a neighbour that does not answer fails the program before its first case" no_neighbour
	tcase overwritten "a kernel log that does not hold both markers of a case fails it" overwritten
	tmain "$@"
fi
