#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# background_fixtures.sh: commands that run beside a case; sourced by fixtures.sh.

# Start CMD with a pipe as its stdin; its output goes to $WORK/NAME.out.  Ends with
# "finish NAME", at the latest when the case does.
declare -A BG_PID BG_STDIN
background() { # NAME CMD...
	local name=$1 fd
	shift
	# not the function: the process is to be the command itself, for kill
	[[ $1 != probe ]] || set -- "$HERE/probe" "$RTGT_TARGET_ADDR" "$CM_PORT" "source=$RTGT_CLIENT_ADDR" "${@:2}"
	[[ ! -p $WORK/$name.in ]] || unlink "$WORK/$name.in"
	mkfifo "$WORK/$name.in"
	# here, too: the command may be slower to do it than wait_line is to read what one before it said
	: >"$WORK/$name.out"
	"$@" <"$WORK/$name.in" >"$WORK/$name.out" 2>"$WORK/$name.err" &
	BG_PID[$name]=$!
	exec {fd}>"$WORK/$name.in"
	BG_STDIN[$name]=$fd
	defer abandon "$name"
}

send_line() { # NAME TEXT
	echo "$2" >&"${BG_STDIN[$1]}" || fail "$1 has ended: $(cat "$WORK/$1.out" "$WORK/$1.err")"
}

# Wait for a line in a background command's output.  PATIENCE is half of the case's time limit:
# a command that takes longer hangs, most likely, and the case fails with what it printed.
wait_line() { # NAME TEXT
	# shellcheck disable=SC2034 # wait_until uses it
	local POLL=0.02
	wait_until "$PATIENCE" said "$@" || hung "$1" "did not say \"$2\" but" "${BG_PID[$1]-}"
}

said() { # NAME TEXT
	local TEXT
	contents "$WORK/$1.out" && [[ $TEXT == *"$2"* ]]
}

hung() { # NAME WHAT-IT-DID PID
	local what
	what=$(cat "$WORK/$1.out" "$WORK/$1.err")
	became_of "$3"
	fail "$1 $2: $what"$'\n'"$BECAME"
}

# Where a program in the background waits in the kernel, or how it ended: BECAME.  A worker that is
# at work, and not idle, may be what it waits for.
became_of() { # PID
	local pid=$1 rc=0 dir
	if [[ -r /proc/$pid/stack ]]; then
		BECAME=$(grep ^State: "/proc/$pid/status" || :)
		for dir in /proc/"$pid"/task/* $(grep -ls process_one_work /proc/[0-9]*/stack | xargs -r dirname); do
			BECAME+=$'\n'"$(cat "$dir/comm" || :) waits in: $(head -n 6 "$dir/stack" | tr '\n' ' ' || :)"
		done
	else
		wait "$pid" || rc=$?
		BECAME="it has ended with status $rc"
	fi
}

# Has the kernel log of the target's machine such a line since the case began? (grep -q would leave
# before "look" has written all, and a SIGPIPE is a failure in lib.sh's shell.)
logged() { # REGEX
	target look since "$MARK$CASE" | grep -E "$1" >/dev/null
}

# Of the lines about PORT that the case has logged and that match: the most within so many seconds.
most_logged() { # REGEX SECONDS
	target look since "$MARK$CASE" | sed -n "s/^\[ *\([0-9.]*\)\] rtgt: $PORT: $1/\1/p" |
		awk -v within="$2" '{ at[NR] = $1; while ($1 - at[from + 1] > within) from++; if (NR - from > most) most = NR - from }
			END { print most + 0 }'
}

# Close its stdin, wait for its end and return its status.
finish() { # NAME
	# shellcheck disable=SC2034 # wait_until uses it
	local fd=${BG_STDIN[$1]} pid=${BG_PID[$1]} POLL=0.02
	exec {fd}>&-
	unset "BG_PID[$1]"
	wait_until "$PATIENCE" process_gone "$pid" || hung "$1" "does not end" "$pid"
	wait "$pid"
}

# Has it ended?  A child of this shell is a zombie until bash reaps it, and while this is polled
# bash starts no other process and may not do so.
process_gone() { # PID
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	[[ ${stat##*) } == Z* ]]
}

abandon() { # NAME
	local fd=${BG_STDIN[$1]}
	[[ -n ${BG_PID[$1]:-} ]] || return 0
	exec {fd}>&-
	kill "${BG_PID[$1]}" 2>/dev/null
	wait "${BG_PID[$1]}" 2>/dev/null
	return 0
}
