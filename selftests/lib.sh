#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# lib.sh: what every test program of rtgt sources.
#
# A program registers its cases and hands over:
#
#	. ./lib.sh
#	echo_once() { ... }
#	tcase echo "a SEND comes back as it went" echo_once
#	tmain "$@"
#
# tmain runs each selected case in its own subshell and process group, with
# "set -e": a command that fails fails the case, unless it stands in a condition; a command
# that does not exist fails it there, too.
# A case has a time limit of its own.  Its verdict is the subshell's, and that
# - the kernel of neither machine logged what it must not (kernel-log); what is logged outside of
#   cases fails the program, or the run,
# - both machines are again as they were: ports, module, devices, queue pairs,
#   connection ids, memory regions,
# - no process of it is left.
# What a case left is put right before the next one starts.  What it printed is
# shown when it fails.
#
# A result is "ok N NAME" or "not ok N NAME", with nothing behind it but "# SKIP" or "# XFAIL":
# a tracker of results that takes the whole line as the name finds the same name every time.  The
# lines before it have the description, "# NAME: ...", and why the case is skipped or was expected
# to fail, "# reason: ...".
#
# fixtures.sh holds what cases are written with, machine.sh what is done on one
# machine.  Documentation/testing.rst tells how to write one.
#
# run.sh has made the devices and loaded the module for all programs (RTGT_READY).  A
# program that is run by itself, or by kselftest's own runner, does that and undoes it, and
# is skipped, with the reason, on a machine that lacks something.  What it runs then, if no
# case is named, is all cases of the tier that are not marked [more] or [long].

# kselftest's runner wraps a program with stdbuf, which every process we start
# would load again
unset LD_PRELOAD _STDBUF_O

HERE=${BASH_SOURCE[0]%/*}
[[ $HERE == /* ]] || HERE=$PWD/$HERE
# The tool, where it was built with the tests, before any that is installed; and a user's
# path may lack the directories of ip, rdma and modprobe
PATH=$HERE/bin:$PATH:/usr/sbin:/sbin
PROGRAM=${0##*/}
PROGRAM=${PROGRAM%.sh}

# shellcheck source=machine.sh
. "$HERE/machine.sh"
# shellcheck source=setup.sh
. "$HERE/setup.sh"
# shellcheck source=fixtures.sh
. "$HERE/fixtures.sh"

CASES=()
declare -A CASE_DESC CASE_TIERS CASE_LIMIT CASE_CMD CASE_MARK CASE_TARGET CASE_NEEDS
TIMED_OUT=124
# The process group of what runs bounded in time
BOUNDED=

# With a case's name, what stands in the kernel log where it begins
MARK="rtgt-selftest[$$] $PROGRAM."
# All cases have run, so what the kernel logged since the last one is to be judged
COMPLETE=
# Programs that a machine may lack, as shell globs: a case that fails for one of them is skipped.
# "No such helper or program" is the verdict about any other command that does not exist.
FOREIGN=(rtgt rtgt-wire rtgt-example-\* chrt cmtime ibv_\* ib_\* jq perl ping prlimit python3 rping setpriv ss
	taskset tc tcpdump ucmatose udaddy unshare)

# --- declaring ----------------------------------------------------------------

# Declare a case.  NAME is one word, unique in its program.
#
#	--tier fast|wire|fast,wire|wire,fast
#			the tiers the case runs in, fast if not given.  "make check" runs it in
#			the first one, "make check-more" in the second one.
#	--limit N	its time limit in seconds, 30 if not given
#	--more		only "make check-more" runs it, and whoever names it
#	--long		it takes minutes, or may crash the kernel: only its full name selects it
#	--serve		declare a second case, serve-NAME: the same against "rtgt serve", in the
#			fast tier (serve_fixtures.sh)
#	--serve-more	likewise, and only "make check-more" runs the second case
#	--needs WORD,...
#			what the devices must have: the case is skipped if they lack it.  NEEDS in
#			device_fixtures.sh has the words
tcase() { # NAME [OPTION...] DESCRIPTION FUNCTION [ARG...]
	local name=$1 tiers=fast limit=30 mark='' serve='' need needs=''
	shift
	while [[ $1 == --* ]]; do
		case $1 in
		--tier)
			tiers=${2/,/ }
			shift
			;;
		--limit)
			limit=$2
			shift
			;;
		--more | --long) mark="[${1#--}] " ;;
		--serve) serve=yes ;;
		--serve-more) serve="[more] " ;;
		--needs)
			needs=${2//,/ }
			shift
			;;
		*)
			echo "$PROGRAM: case $name: no option $1" >&2
			exit 2
			;;
		esac
		shift
	done
	for need in $needs; do
		[[ ${NEEDS[$need]:-} ]] || {
			echo "$PROGRAM: case $name: no need $need: NEEDS in device_fixtures.sh has them" >&2
			exit 2
		}
	done
	CASE_NEEDS[$name]=$needs
	[[ -z $serve ]] || CASE_NEEDS[serve-$name]=$needs
	add_case "$name" kernel "$tiers" "$limit" "$mark" "$@"
	[[ -z $serve ]] || add_case "serve-$name" serve fast "$limit" "${serve#yes}" "$1 (rtgt serve)" "${@:2}"
}

add_case() { # NAME kernel|serve TIERS LIMIT MARK DESCRIPTION FUNCTION [ARG...]
	if [[ -n ${CASE_CMD[$1]:-} ]]; then
		echo "$PROGRAM: case $1 is declared twice" >&2
		exit 2
	fi
	CASES+=("$1")
	CASE_TARGET[$1]=$2
	CASE_TIERS[$1]=$3
	CASE_LIMIT[$1]=$4
	CASE_MARK[$1]=$5
	CASE_DESC[$1]=$6
	printf -v "CASE_CMD[$1]" '%q ' "${@:7}"
}

# --- running --------------------------------------------------------------------

# In this program's tier, chosen by the arguments or by RTGT_CASES (run.sh):
# globs of case names, the latter with the program in front.
selected() { # NAME PATTERN...
	local name=$1 pattern
	[[ " ${CASE_TIERS[$name]} " == *" $RTGT_TIER "* ]] || return
	shift
	(($#)) || [[ -n ${CASE_MARK[$name]} ]] || return 0
	for pattern; do
		# shellcheck disable=SC2053 # a glob is what it is
		[[ $name == "$pattern" || (${CASE_MARK[$name]} != "[long] " && $name == $pattern) ]] && return
	done
	return 1
}

list_cases() {
	local name t mark
	for name in "${CASES[@]}"; do
		mark=${CASE_MARK[$name]}
		for t in ${CASE_TIERS[$name]}; do
			echo "$t $PROGRAM.$name $mark${CASE_DESC[$name]}"
			mark=${mark:-[more] }
		done
	done
}

tmain() {
	local -a chosen=() patterns=()
	local name word

	if [[ ${1:-} == --list ]]; then
		list_cases
		return
	fi
	set -f
	for word in ${RTGT_CASES:-}; do
		[[ ${word%%.*} != "$PROGRAM" ]] || patterns+=("${word#*.}")
	done
	set +f
	(($# == 0)) || patterns=("$@")

	environment ""
	for name in "${CASES[@]}"; do
		[[ ! -e ${RTGT_STOP:-} ]] || break
		if selected "$name" "${patterns[@]}"; then
			chosen+=("$name")
		fi
	done

	# shellcheck source=/dev/null
	. "$HERE/../kselftest/ktap_helpers.sh"
	# as that of kernels from 6.14 on, which counts these apart
	# shellcheck disable=SC2317 # run_case calls it
	declare -F ktap_test_xfail >/dev/null || ktap_test_xfail() {
		__ktap_test ok "$1" XFAIL
		KTAP_CNT_PASS=$((KTAP_CNT_PASS + 1))
	}
	ktap_print_header
	if ((${#chosen[@]} == 0)); then
		ktap_skip_all "no case for tier $RTGT_TIER"
		exit "$KSFT_SKIP"
	fi
	begin
	ktap_set_plan "${#chosen[@]}"
	run_cases "${chosen[@]}"
}

# What the cases need; all that is left of them ends with the program.
begin() {
	local rc=0

	WORK=$(mktemp -d "${TMPDIR:-/tmp}/rtgt-$PROGRAM.XXXXXX") || exit 1
	# siw in 6.1 limits the memory that root registers, too: Documentation/findings/not-pursued.rst
	ulimit -l unlimited 2>/dev/null || :
	trap end EXIT
	# by kselftest's runner, when its time is over
	trap 'exit 143' TERM
	trap 'exit 130' INT
	exec {DONE}<> <(:)
	serve_target
	if [[ -z ${RTGT_READY:-} ]]; then
		set_up >&2 || rc=$?
		case $rc in
		0) ;;
		"$KSFT_SKIP")
			ktap_skip_all "$WHY"
			exit "$KSFT_SKIP"
			;;
		*) ktap_exit_fail_msg "$PROGRAM: $WHY" ;;
		esac
	fi
	look_begin
	read_features
}

end() {
	local rc=$?

	trap '' TERM INT
	# a case that was interrupted: what it has deferred is still to be done
	if [[ -n $BOUNDED ]]; then
		kill -TERM -- "-$BOUNDED" 2>/dev/null
		wait_until 5 group_gone "$BOUNDED" || kill -KILL -- "-$BOUNDED"
	fi
	tear_down >&2 || rc=$((rc ? rc : 1))
	rm -f "$BOOKS"
	[[ -z ${RTGT_PEER:-} ]] || target rm -f "$BOOKS" || :
	# who has set up (run.sh) judges what is logged from now on
	if [[ -n $COMPLETE && -z ${RTGT_READY:-} ]] &&
		! machines log_clean_since "$RTGT_OUTSIDE" >"$WORK/outside" 2>&1; then
		indent <"$WORK/outside"
		rc=$((rc ? rc : 1))
	fi
	leave_target
	rm -rf "$WORK"
	exit "$rc"
}

run_cases() { # NAME...
	local i next first=0

	: >"$WORK/tolerate"
	bounded 30 on_machines first_case "$RTGT_OUTSIDE" "$MARK$1" >"$WORK/machines" 2>&1 || first=$?
	((first == 0)) || indent <"$WORK/machines"
	((first <= 1)) || ktap_exit_fail_msg "$PROGRAM: a machine does not answer"
	for ((i = 1; i <= $#; i++)); do
		next=$((i + 1))
		if ((i < $#)); then
			next=$MARK${!next}
		else
			next=$RTGT_OUTSIDE
		fi
		run_case "${!i}" "$i" "$next"
	done
	COMPLETE=1
	((first == 0)) || {
		echo "# $PROGRAM: the kernel's log was not clean before the first case"
		ktap_print_totals
		exit "$KSFT_FAIL"
	}
	ktap_finished
}

run_case() { # NAME INDEX NEXT-MARKER
	local name=$1 rc turned=0 result=fail file began=$EPOCHREALTIME
	local -a why=()

	for file in skip xfail notes absent unknown tolerate; do
		: >"$WORK/$file"
	done
	bounded "${CASE_LIMIT[$name]}" case_body "$name" "$2" >"$WORK/log" 2>&1
	rc=$?
	case $rc in
	0) result=pass ;;
	"$KSFT_SKIP") [[ ! -s $WORK/skip ]] || result=skip ;;
	"$KSFT_XFAIL") [[ ! -s $WORK/xfail ]] || result=xfail ;;
	"$TIMED_OUT") why+=("still running after $((CASE_LIMIT[$name] * SLOW)) s") ;;
	esac
	# a command may end with the status of a skip
	[[ $result != fail || -n ${why[*]} ]] || why+=("exit status $rc")
	((LEFT_OVER == 0)) || why+=("it left processes behind")
	if ! on_machines next_case_if_clean "$MARK$name" "$3" >"$WORK/machines" 2>&1; then
		bounded 60 on_machines next_case "$MARK$name" "$3" >"$WORK/machines" 2>&1
		turned=$?
	fi
	((turned == 0)) || why+=("the machine was not left as it was found")
	# it could not do better without a program
	if ((${#why[@]} && rc != TIMED_OUT && turned == 0)) && [[ -s $WORK/absent ]]; then
		indent <"$WORK/log"
		head -n 1 "$WORK/absent" >"$WORK/skip"
		result=skip
		why=()
	fi
	# also one in a condition, which the case does not notice
	[[ ! -s $WORK/unknown ]] || why+=("$(sort -u "$WORK/unknown")")

	if ((${#why[@]})); then
		result=fail
		printf '# | %s\n' "${why[@]/#/$name: }"
		indent <"$WORK/log"
		indent <"$WORK/machines"
		keep_work "$name"
	elif [[ $result == pass && -s $WORK/notes ]]; then
		indent <"$WORK/notes"
	fi
	printf '# %s: %s\n' "$name" "${CASE_DESC[$name]}"
	[[ $result != @(skip|xfail) ]] || printf '# reason: %s\n' "$(<"$WORK/$result")"
	"ktap_test_$result" "$name"
	[[ -z ${RTGT_TIMES:-} ]] || echo "# $name took $(((${EPOCHREALTIME/./} - ${began/./}) / 1000)) ms"
	# vm/coverage asks which lines each case executes
	[[ -z ${RTGT_AFTER_CASE:-} ]] || "$RTGT_AFTER_CASE" "$PROGRAM.$name"
	if ((turned > 1)); then
		ktap_exit_fail_msg "nothing after $PROGRAM.$name can be believed"
	fi
	# not "result": kselftest's function has changed it
	if [[ ${RTGT_STOP:-} ]] && ((${#why[@]})) || [[ -e ${RTGT_STOP:-} ]]; then
		: >"$RTGT_STOP"
		ktap_exit_fail_msg "one failure was asked for (RTGT_STOP)"
	fi
}

# What a case recorded, for whoever looks for the cause of its failure: RTGT_FAILED is a directory.
keep_work() { # NAME
	[[ -z ${RTGT_FAILED:-} ]] ||
		{ mkdir -p "$RTGT_FAILED" && tar -C "$WORK" -czf "$RTGT_FAILED/$PROGRAM.$1.tar.gz" .; }
}

# A command that does not exist: a program that is not installed excuses the case, anything else
# fails it.
command_not_found_handle() { # COMMAND [ARG...]
	local glob
	for glob in "${FOREIGN[@]}"; do
		# shellcheck disable=SC2053 # a glob is what it is
		[[ $1 == $glob ]] || continue
		printf '%s: command not found\n' "$1" >&2
		[[ ! -d ${WORK:-} ]] || echo "$1 is not installed" >>"$WORK/absent"
		return 127
	done
	printf '%s: %s\n' "$1" "$NO_SUCH" >&2
	[[ ! -d ${WORK:-} ]] || printf '%s: %s\n' "$1" "$NO_SUCH" >>"$WORK/unknown"
	return 127
}

# Diagnostics no KTAP parser takes for results, whatever they hold: one searches lines for "ok N ".
indent() {
	sed 's/\<ok \([0-9]\)/ok-\1/g; s/^/# | /'
}

# The ERR trap: says which line of the test failed, not which one of a fixture it called.
tell_failed() { # STATUS
	local i line
	for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do
		[[ ${BASH_SOURCE[i]##*/} == *fixtures.sh ]] || break
	done
	line=$(sed -n "${BASH_LINENO[i - 1]}{s/^[[:blank:]]*//p}" "${BASH_SOURCE[i]}")
	printf '%s:%s: "%s" failed with status %s\n' "${BASH_SOURCE[i]##*/}" "${BASH_LINENO[i - 1]}" "$line" "$1" >&2
}

# Inside the case's subshell.
case_body() { # NAME INDEX
	local -a cmd
	CASE=$1
	CASE_INDEX=$2
	CASE_LEVEL=$BASH_SUBSHELL
	PATIENCE=$((CASE_LIMIT[$1] / 2))
	DEFERRED=()
	set +m -euE -o pipefail
	trap 'exit 143' TERM
	# who writes to a command that has ended says so (tell); commands have the default
	trap : PIPE
	trap run_deferred EXIT
	trap 'tell_failed "$?"' ERR
	# shellcheck source=serve_fixtures.sh
	[[ ${CASE_TARGET[$CASE]} == kernel ]] || . "$HERE/serve_fixtures.sh"
	# shellcheck disable=SC2086 # several words
	need ${CASE_NEEDS[$CASE]}
	eval "${CASE_CMD[$CASE]}"
}

# Run CMD in a process group of its own.  Returns its status, or TIMED_OUT; no
# process of the group survives, and LEFT_OVER tells whether one had to be
# killed although CMD had ended.
bounded() { # SECONDS CMD...
	local limit=$(($1 * SLOW)) pid rc
	shift
	LEFT_OVER=0
	set -m
	{
		("$@")
		echo "$?" >&"$DONE"
	} </dev/null &
	pid=$!
	set +m
	BOUNDED=$pid
	if read -r -t "$limit" -u "$DONE" rc; then
		wait "$pid"
		# what writes into a pipe may end a moment after whoever reads it
		if ! group_gone "$pid" && ! wait_until 1 group_gone "$pid"; then
			LEFT_OVER=1
			kill -KILL -- "-$pid"
		fi
		BOUNDED=
		return "$rc"
	fi
	kill -TERM -- "-$pid"
	wait_until 5 group_gone "$pid" || kill -KILL -- "-$pid"
	# what ended while it was being killed has told so; nobody waits for it now
	while read -r -t 0.01 -u "$DONE" rc; do :; done
	BOUNDED=
	return "$TIMED_OUT"
}

group_gone() { # PID
	! kill -0 -- "-$1" 2>/dev/null
}

# --- both machines ----------------------------------------------------------------

# First on the target's machine, then on the client's when that is another one.
# Prints what is wrong; more than 1 means that a machine is beyond repair.
on_machines() { # first_case|next_case|next_case_if_clean OLD-MARKER NEW-MARKER
	local rc=0 client_rc=0 tolerated
	contents "$WORK/tolerate"
	tolerated=${TEXT%$'\n'}
	if [[ -z ${RTGT_PEER:-} ]]; then
		"$@" "$tolerated" "$RTGT_TARGET_DEV" "$RTGT_CLIENT_DEV"
		return
	fi
	target "$@" "$tolerated" "$RTGT_TARGET_DEV" || rc=$?
	"$@" "$tolerated" "$RTGT_CLIENT_DEV" || client_rc=$?
	return $((rc > client_rc ? rc : client_rc))
}
