#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# allocation_fixtures.sh: allocations of the module's that fail, each in its turn; sourced by the
# programs that need it, after lib.sh.

# The addresses of a module's text: FROM, TO.
text_of() { # MODULE
	local at
	FROM=$(<"/sys/module/$1/sections/.text")
	TO=$((FROM + $(<"/sys/module/$1/coresize")))
	# of which the text is a part: what lies behind it may be another module's
	while read -r _ _ _ _ _ at _; do
		((at <= FROM || at >= TO)) || TO=$at
	done </proc/modules
	TO=$(printf '%#x' "$TO")
}

# From here on allocations can be made to fail on this machine: those of the module,
# and of what it calls, and no others.  Allocations of siw do not fail, because siw then leaks
# memory and frees some of it twice (Documentation/findings/siw-no-memory.rst).
inject_faults() {
	local dir FROM TO reject=(0 0)
	[[ -d /sys/kernel/debug/failslab && -d /sys/kernel/debug/fail_page_alloc ]] ||
		skip "the kernel injects no faults (CONFIG_FAILSLAB, CONFIG_FAIL_PAGE_ALLOC)"
	if is_iwarp; then
		text_of siw
		reject=("$FROM" "$TO")
	fi
	text_of rtgt
	for dir in /sys/kernel/debug/{failslab,fail_page_alloc}; do
		attr_set "$dir/probability" 0
		attr_set "$dir/times" -1
		attr_set "$dir/verbose" 0
		attr_set "$dir/ignore-gfp-wait" N
		attr_set "$dir/task-filter" Y
		attr_set "$dir/stacktrace-depth" 32
		attr_set "$dir/require-start" "$FROM"
		attr_set "$dir/require-end" "$TO"
		attr_set "$dir/reject-start" "${reject[0]}"
		attr_set "$dir/reject-end" "${reject[1]}"
	done
	attr_set /sys/kernel/debug/fail_page_alloc/min-order 0
	# what the device says of it (of a socket it has none of, ENFILE), and vmalloc
	tolerate_log "rxe_[tc]: .*(returned err = -(12|23)$|Unable to allocate )|vmalloc error: |^Call Trace:$"
}

# The n-th allocation that each of these threads makes for the module fails.
fail_nth() { # N /proc/PID...
	local n=$1 task
	shift
	for task; do
		{ echo "$n" >"$task/fail-nth"; } 2>/dev/null || :
	done
}

# No more; has any of them come that far?
nth_failed() { # /proc/PID...
	local task left rc=1
	for task; do
		{ read -r left <"$task/fail-nth" && echo 0 >"$task/fail-nth"; } 2>/dev/null || continue
		((left)) || rc=0
	done
	return "$rc"
}

# Threads of the kernel, by name: WORKERS.  The names are read once: what changes in a worker's is
# only what it works for, behind its number.
declare -A THREAD_NAME
workers() { # GLOB
	local dir name
	WORKERS=()
	for dir in /proc/[0-9]*; do
		if [[ -z ${THREAD_NAME[$dir]:-} ]]; then
			{ read -r name <"$dir/comm"; } 2>/dev/null || continue
			# a new thread has its parent's name for a moment
			[[ $name != kthreadd ]] || continue
			THREAD_NAME[$dir]=$name
		fi
		# shellcheck disable=SC2053 # a glob is what it is
		[[ ${THREAD_NAME[$dir]} != $1 ]] || WORKERS+=("$dir")
	done
}
