# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What every script of the lab needs: where things are, how a step is told and
# how a run ends.  Sourced, never run.
#
# A step is one command whose output goes to a log of its own: a person sees
# what is being done and for how long, and of a step that fails the end of its
# log and where the whole of it lies.  Each step is a process group, so that
# what it started ends with it when the script is interrupted.

RTGT_TOP=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd -P)
RTGT_OUT=$RTGT_TOP/build
# shellcheck disable=SC2034 # for those that source this
RTGT_CACHE=${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/rtgt
KERNEL=${KERNEL:-6.12}

say() {
	printf 'rtgt: %s\n' "$*" >&2
}

die() {
	say "$@"
	exit 1
}

# Seconds since $1 (an EPOCHREALTIME) with one decimal.
since() {
	local us=$((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}))

	printf '%d.%d' $((us / 1000000)) $((us / 100000 % 10))
}

CALM_PID=

# calm CMD...: runs a command, but in the background, so that a signal to this
# script is handled at once and not when the command has ended.
calm() {
	local rc=0

	"$@" <&0 &
	CALM_PID=$!
	wait "$CALM_PID" || rc=$?
	CALM_PID=
	return $rc
}

STEP_PIDS=()

# Ends what is still running of this script's steps.  Call it from an EXIT trap.
steps_end() {
	local pid

	for pid in "${STEP_PIDS[@]}"; do
		kill -TERM -- "-$pid" 2>/dev/null
	done
	for pid in "${STEP_PIDS[@]}"; do
		wait "$pid" 2>/dev/null
	done
	STEP_PIDS=()
}

# step_progress WHAT LOG START: one line over itself on a terminal, otherwise
# a line every 15 seconds.
step_progress() {
	local last secs

	secs=$(since "$3")
	secs=${secs%.*}
	if [[ -t 2 ]]; then
		last=$(tail -c 400 "$2" | tr -d '\r' | sed -n '$p')
		printf '\r\033[Krtgt: %s ... %d s  %.50s' "$1" "$secs" "$last" >&2
	elif ((secs > 0 && secs % 15 == 0)); then
		last=$(tail -n 1 "$2")
		say "$1 ... $secs s  ${last:0:60}"
	fi
}

# step WHAT CMD...: runs a command or function, tells how it went, returns its
# status.  V=1 shows its output as well.
step() {
	local what=$1 start=$EPOCHREALTIME log pid tick rc=0

	shift
	mkdir -p "$RTGT_OUT/log"
	log=$RTGT_OUT/log/${what//[^a-zA-Z0-9._-]/-}.log
	: >"$log"
	exec {tick}<> <(:)
	set -m
	{
		if [[ ${V:-} ]]; then
			"$@" 2>&1 | tee "$log" >&2
			rc=${PIPESTATUS[0]}
		else
			"$@" >"$log" 2>&1
			rc=$?
		fi
		echo >&"$tick"
		exit "$rc"
	} </dev/null &
	pid=$!
	set +m
	STEP_PIDS+=("$pid")
	until read -r -t 1 -u "$tick" || ! kill -0 "$pid" 2>/dev/null; do
		[[ ${V:-} ]] || step_progress "$what" "$log" "$start"
	done
	wait "$pid" || rc=$?
	STEP_PIDS=("${STEP_PIDS[@]/#$pid/}")
	exec {tick}<&-
	[[ -t 2 && ! ${V:-} ]] && printf '\r\033[K' >&2
	if ((rc)); then
		say "$what: failed after $(since "$start") s (status $rc); the end of $log:"
		tail -n 30 "$log" | sed 's/^/    /' >&2
		return "$rc"
	fi
	say "$what: $(since "$start") s"
}
