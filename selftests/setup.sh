#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# setup.sh: what a run needs, whoever starts it; sourced by run.sh, which sets up for
# all programs, and by lib.sh, in a program that somebody else runs: kselftest's
# run_kselftest.sh, "make run_tests", or a person.
#
# The sourcing file defines target(), which runs a function of machine.sh on the target's
# machine.

# The marker in the kernel log after which no case runs: before the first case of a program, and
# after the last one.  What is logged there fails the program that comes next, or the run.
export RTGT_OUTSIDE=${RTGT_OUTSIDE:-"rtgt-selftest[$$] outside of cases"}

# From the environment, or as the tier has them
environment() { # [TIER]
	export RTGT_TIER=${1:-${RTGT_TIER:-fast}} RTGT_DEVICE=${RTGT_DEVICE:-rxe}
	case $RTGT_TIER in
	fast)
		export RTGT_PEER=
		export RTGT_TARGET_ADDR=${RTGT_TARGET_ADDR:-198.51.100.1} RTGT_CLIENT_ADDR=${RTGT_CLIENT_ADDR:-198.51.100.2}
		export RTGT_TARGET_ADDR6=${RTGT_TARGET_ADDR6:-2001:db8::1} RTGT_CLIENT_ADDR6=${RTGT_CLIENT_ADDR6:-2001:db8::2}
		export RTGT_TARGET_DEV=${RTGT_DEVICE}_t RTGT_CLIENT_DEV=${RTGT_DEVICE}_c RTGT_TARGET_NETDEV=va
		;;
	wire)
		: "${RTGT_PEER:?the wire tier needs RTGT_PEER, a way to the target}"
		export RTGT_TARGET_ADDR6=${RTGT_TARGET_ADDR6:-} RTGT_CLIENT_ADDR6=${RTGT_CLIENT_ADDR6:-}
		export RTGT_PEER RTGT_TARGET_ADDR RTGT_CLIENT_ADDR RTGT_TARGET_DEV RTGT_CLIENT_DEV RTGT_TARGET_NETDEV
		;;
	*)
		printf 'no tier "%s": fast or wire\n' "$RTGT_TIER" >&2
		exit 1
		;;
	esac
	export RTGT_KO=${RTGT_KO:-}
}

# What is missing on this machine, in WHY.
lacks() {
	local command
	WHY=
	if ((EUID != 0)); then
		WHY="must run as root"
	elif [[ ! -f $TESTDIR/look || ! -f $TESTDIR/probe ]]; then
		WHY="look and probe are not built"
	elif [[ $RTGT_TIER == fast && $(readlink /proc/self/ns/net) != "$(readlink /proc/1/ns/net)" ]]; then
		WHY="runs in the first network namespace only"
	else
		for command in ip rdma modprobe; do
			type -P "$command" >/dev/null || WHY=${WHY:-"$command is not installed"}
		done
	fi
	[[ -n $WHY ]]
}

# Both machines, the target's first.
machines() { # FUNCTION [ARG...]
	local rc=0
	target "$@" || rc=1
	[[ -z $RTGT_PEER ]] || "$@" || rc=1
	return "$rc"
}

# Both devices are there, and the module is loaded.  Otherwise the reason, a line, is in
# WHY; the status is KSFT_SKIP (4) if the machine lacks something, and 1 if something failed.
LOADED='' TOOK_UP=''
set_up() {
	set_up_devices && set_up_module
}

set_up_devices() {
	local skip=4 addr

	! lacks || return "$skip"
	machines log_mark "$RTGT_OUTSIDE" || {
		WHY="the kernel log cannot be written (/dev/kmsg)"
		return 1
	}
	if [[ $RTGT_TIER == fast ]]; then
		[[ -e /run/rtgt-topology ]] || TOOK_UP=1
		if ! WHY=$("$TESTDIR/topology.sh" up 2>&1); then
			WHY=${WHY##*$'\n'}
			return "$skip"
		fi
	else
		# as topology.sh does: let rdma_cm find the neighbour resolved
		for addr in "$RTGT_TARGET_ADDR" $RTGT_TARGET_ADDR6; do
			ping -q -c 1 -W 10 "$addr" >&2 && continue
			WHY="$addr does not answer a ping"
			return 1
		done
	fi
}

set_up_module() {
	local skip=4 rc=0

	target module_loaded || LOADED=1
	WHY=$(target module_load 2>&1) || rc=$?
	WHY=${WHY##*$'\n'}
	((rc == 0)) || return "$rc"
	if [[ -n $(target ports) ]]; then
		WHY="the target has ports configured; remove them (rtgt port del NAME)"
		return "$skip"
	fi
}

# What set_up did is undone, also after one that failed.
tear_down() {
	local rc=0
	if [[ -n $LOADED ]]; then
		target module_unload || rc=1
	fi
	if [[ -n $TOOK_UP ]]; then
		"$TESTDIR/topology.sh" down || rc=1
	fi
	LOADED='' TOOK_UP=''
	return "$rc"
}
