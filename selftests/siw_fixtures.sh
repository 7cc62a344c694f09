#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# siw_fixtures.sh: programs that are about iWARP whatever the devices of the run are.  In a run
# with RoCE devices these give way to siw devices on the same interfaces until the program ends,
# on both machines.  A case is declared with "on_siw FUNCTION", and may record what is on the wire.
#
# Sourced after lib.sh; the program ends with "main_on_siw "$@"" instead of tmain.

RUN_DEVICE=${RTGT_DEVICE:-rxe}

# On the target's machine, which may be this one.
there() { # FUNCTION-OF-MACHINE.SH|CMD...
	# shellcheck disable=SC2086 # a prefix of several words, or of none
	$RTGT_PEER "$HERE/machine.sh" "$@" </dev/null
}

# The devices of the run are of the other driver from now on, on the same interfaces.
devices() { # OLD-DRIVER NEW-DRIVER
	RTGT_DEVICE=$2
	there rdma link del "$RTGT_TARGET_DEV"
	[[ ! -e /sys/class/infiniband/$RTGT_CLIENT_DEV ]] || rdma link del "$RTGT_CLIENT_DEV"
	RTGT_TARGET_DEV=$2${RTGT_TARGET_DEV#"$1"} RTGT_CLIENT_DEV=$2${RTGT_CLIENT_DEV#"$1"}
	there device_add "$RTGT_TARGET_DEV" "$RTGT_TARGET_NETDEV"
	device_add "$RTGT_CLIENT_DEV" "$CLIENT_NETDEV"
}

# Without siw nothing is changed, and each case is skipped.
LOADED_HERE='' LOADED_THERE=''
siw_devices() {
	[[ $RUN_DEVICE != siw ]] || return 0
	there test -d /sys/module/siw || LOADED_THERE=1
	[[ -d /sys/module/siw || -z $RTGT_PEER ]] || LOADED_HERE=1
	there modprobe -q siw && modprobe -q siw || return 0
	CLIENT_NETDEV=$(netdev "$RTGT_CLIENT_DEV")
	devices rxe siw
}

devices_of_the_run() {
	[[ $RUN_DEVICE != siw && $RTGT_DEVICE == siw && -n ${RTGT_READY:-} ]] || return 0
	devices siw rxe
	[[ -z $LOADED_THERE ]] || there modprobe -qr siw
	[[ -z $LOADED_HERE ]] || modprobe -qr siw
}

on_siw() { # FUNCTION [ARG...]
	[[ $RTGT_DEVICE == siw ]] || skip "no siw, the software iWARP device"
	"$@"
}

# From here on all that goes to or from CM_PORT is in $WORK/wire.pcap.
record() {
	need_command tcpdump
	background dump tcpdump -i "$RTGT_TARGET_NETDEV" --immediate-mode -U -w "$WORK/wire.pcap" tcp port "$CM_PORT"
	wait_until 10 grep -q "listening on" "$WORK/dump.err" || fail "tcpdump: $(<"$WORK/dump.err")"
}

# Ends when the capture explains TEXT; all of it is in TEXT.
recorded() { # TEXT
	wait_until 10 explains "$1" || fail "not in the capture: $1: $TEXT"
	kill -INT "${BG_PID[dump]}"
	finish dump || true
}

explains() { # TEXT
	TEXT=$(rtgt explain "$WORK/wire.pcap" 2>&1) || true
	[[ $TEXT == *"$1"* ]]
}

# tmain exits: in a subshell, so that the devices are those of the run again.
with_siw() { # ARG...
	local rc=0
	if [[ ${RTGT_READY:-} ]]; then
		siw_devices
	else
		export RTGT_DEVICE=siw
	fi
	(tmain "$@") || rc=$?
	devices_of_the_run || rc=$((rc ? rc : 1))
	return "$rc"
}

# The last line of the program.
main_on_siw() { # ARG...
	if [[ ${1:-} == --list ]]; then
		tmain "$@"
	else
		with_siw "$@"
	fi
}
