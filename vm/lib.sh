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

# The caller's environment ends here: a script that sources this starts again with
# the variables below and no others, and so does all that it calls.  What a login shell
# exports (USER, CDPATH, BASH_ENV, GREP_OPTIONS, MAKEFLAGS, functions, a locale, a PATH
# without sbin) decides nothing.  Documentation/vm.rst has the same list; vm/root passes
# fewer of them into a root, and none reaches a guest.
RTGT_PASSED=(
	KERNEL CLIENT_KERNEL DEVICE MODULES PATCH SOURCE DEBUG MATRIX T V LOCAL WALL RUNS FUZZ_RUNS KDIR LAB_BOOT_SECS DEBIAN_MIRROR CI
	http_proxy https_proxy ftp_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
	TERM COLUMNS LINES DISPLAY WAYLAND_DISPLAY XAUTHORITY
	HOME TMPDIR XDG_CACHE_HOME XDG_RUNTIME_DIR
)

# rtgt_restart CMD...: replaces this process by CMD in the clean environment.
rtgt_restart() {
	local name keep=()

	# A home that cannot hold the cache is none: the one of the user database is taken.
	[[ ${HOME:-} == /* && -d $HOME && -w $HOME ]] || HOME=$(unset HOME && echo ~)
	# Relative ones are to be ignored (XDG Base Directory Specification)
	[[ ${XDG_CACHE_HOME:-/} == /* ]] || unset XDG_CACHE_HOME
	[[ -d ${TMPDIR:-/tmp} && -w ${TMPDIR:-/tmp} ]] || unset TMPDIR
	for name in "${RTGT_PASSED[@]}" "${!RTGT_@}"; do
		[[ ! -v $name || $name == RTGT_@(PASSED|ENVIRONMENT) ]] || keep+=("$name=${!name}")
	done
	exec /usr/bin/env -i "${keep[@]}" RTGT_ENVIRONMENT=clean LC_ALL=C.UTF-8 \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

[[ ${RTGT_ENVIRONMENT:-} == clean ]] || rtgt_restart "$BASH" "$0" "$@"
umask 022

RTGT_TOP=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd -P)
RTGT_OUT=$RTGT_TOP/build
# Where a root shows the checkout, wherever it lies here
# shellcheck disable=SC2034 # for those that source this
RTGT_INSIDE=/rtgt
RTGT_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/rtgt
# A user without a home of their own
[[ -w $RTGT_CACHE ]] || mkdir -p "$RTGT_CACHE" 2>/dev/null || RTGT_CACHE=$RTGT_OUT/cache
KERNEL=${KERNEL:-6.12}

# absolute VARIABLE...: of those that hold a path, the one without links, which is the same
# in a root (vm/root) and here
rtgt_absolute() {
	local name path

	for name; do
		[[ ${!name:-} == */* ]] || continue
		path=$(cd "${!name/#\~\//$HOME/}" 2>/dev/null && pwd -P) || die "$name=${!name}: there is no such directory"
		printf -v "$name" %s "$path"
	done
}

say() {
	printf 'rtgt: %s\n' "$*" >&2
}

die() {
	say "$@"
	exit 1
}

rtgt_absolute KERNEL CLIENT_KERNEL SOURCE

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

# step_progress WHAT LOG START ABOUT: one line over itself on a terminal, otherwise
# a line after 3 seconds and every 15.
step_progress() {
	local last secs usual=${4:+ (usually about $4 s)}

	secs=$(since "$3")
	secs=${secs%.*}
	if [[ -t 2 ]]; then
		last=$(tail -c 400 "$2" | tr -d '\r' | sed -n '$p')
		printf '\r\033[Krtgt: %s ... %d s%s  %.50s' "$1" "$secs" "$usual" "$last" >&2
	elif ((secs == 3 || (secs > 0 && secs % 15 == 0))); then
		last=$(tail -c 400 "$2" | tr -d '\r' | tail -n 1)
		say "$1 ... $secs s$usual  ${last:0:60}"
	fi
}

# mirror_changed LOG: did the mirror answer, but lack what its own lists name?  That is so
# while it takes in new packages, for some minutes.
mirror_changed() {
	grep -qE 'Failed to fetch .*( 404 | 50[0-9] |unexpected size|Hash Sum mismatch)' "$1"
}

# step_reason LOG: what a user can do about a failure, in a line, where the log shows a
# cause that is not ours.
step_reason() {
	local tail

	tail=$(tail -n 400 "$1" | tr -d '\0')
	if [[ $tail == *"No space left on device"* || $tail == *"have enough free space"* ]]; then
		echo "no space left: make room in $RTGT_CACHE, $RTGT_OUT and ${TMPDIR:-/var/tmp}, and run the same again"
	elif [[ $tail == *"no pubkey"* || $tail == *NO_PUBKEY* || $tail == *"Missing key"* ]]; then
		echo "the host's debian-archive-keyring is older than this Debian release: install a newer one, and run the same again"
	elif [[ $tail == *"dpkg was interrupted"* ]]; then
		echo "an earlier installation was interrupted; run: sudo dpkg --configure -a, and then the same again"
	elif mirror_changed "$1"; then
		echo "Debian's mirror changes while it is read: run the same again in some minutes"
	elif [[ $tail =~ (Could not resolve|Temporary failure resolving|Could not connect|Unable to connect|Connection (failed|refused|timed out)|Failed to fetch|Network is unreachable) ]]; then
		echo "Debian's mirror cannot be reached (network, proxy, DEBIAN_MIRROR): when it can, run the same again"
	else
		return 1
	fi
}

# step_log WHAT: the file with the output of a step
step_log() {
	echo "$RTGT_OUT/log/${1//[^a-zA-Z0-9._-]/-}.log"
}

# step WHAT [--about SECONDS] CMD...: runs a command or function, says how it went and
# returns its status.  V=1 shows its output as well.
step() {
	local what=$1 about='' start=$EPOCHREALTIME log pid tick reason rc=0

	shift
	if [[ $1 == --about ]]; then
		about=$2
		shift 2
	fi
	if ! mkdir -p "$RTGT_OUT/log"; then
		say "cannot write to $RTGT_OUT: clone into a directory of your own"
		return 1
	fi
	log=$(step_log "$what")
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
		[[ ${V:-} ]] || step_progress "$what" "$log" "$start" "$about"
	done
	wait "$pid" || rc=$?
	STEP_PIDS=("${STEP_PIDS[@]/#$pid/}")
	exec {tick}<&-
	[[ -t 2 && ! ${V:-} ]] && printf '\r\033[K' >&2
	if ((rc)); then
		if reason=$(step_reason "$log"); then
			say "$what: failed after $(since "$start") s: $reason (all of it: $log)"
			return "$rc"
		fi
		say "$what: failed after $(since "$start") s (status $rc); the end of $log:"
		tail -n 30 "$log" | sed 's/^/    /' >&2
		return "$rc"
	fi
	say "$what: $(since "$start") s"
}
