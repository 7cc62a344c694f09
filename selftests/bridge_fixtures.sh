#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# bridge_fixtures.sh: two devices of this machine with rtgt bridge between them.
#
#	ba |======| wa   rtgt bridge   wb |======| bb
#
# Sourced after lib.sh.

. "$HERE/background_fixtures.sh"

# Another pair of devices on this machine, as topology.sh makes it, but with the bridge between.
two_devices() {
	local dev table=7481
	modprobe -q veth || :
	for dev in a b; do
		defer ip link delete "b$dev"
		ip link add "b$dev" type veth peer name "w$dev"
		echo 1 >"/proc/sys/net/ipv4/conf/b$dev/accept_local"
		echo 0 >"/proc/sys/net/ipv4/conf/b$dev/rp_filter"
		ip link set "w$dev" up
		# a packet of TCP is a frame here, too
		ip link set "b$dev" gso_max_segs 1
		[[ ! -e /proc/sys/net/ipv6/conf/w$dev/disable_ipv6 ]] || echo 1 >"/proc/sys/net/ipv6/conf/w$dev/disable_ipv6"
		ip link set "b$dev" up
	done
	RTGT_TARGET_ADDR=203.0.113.1 RTGT_CLIENT_ADDR=203.0.113.2
	RTGT_TARGET_DEV=${RTGT_DEVICE}_ba RTGT_CLIENT_DEV=${RTGT_DEVICE}_bb
	ip addr add "$RTGT_TARGET_ADDR/24" dev ba
	ip addr add "$RTGT_CLIENT_ADDR/24" dev bb
	for dev in "$RTGT_TARGET_ADDR ba bb $RTGT_CLIENT_ADDR" "$RTGT_CLIENT_ADDR bb ba $RTGT_TARGET_ADDR"; do
		# shellcheck disable=SC2086 # words
		set -- $dev
		defer ip rule del pref 5 to "$1" iif lo lookup "$table"
		ip rule add pref 5 to "$1" iif lo lookup "$table"
		ip neigh replace "$1" lladdr "$(<"/sys/class/net/$2/address")" dev "$3" nud permanent
		ip route replace "$1" dev "$3" src "$4" table "$((table++))"
	done
	defer rdma link delete "$RTGT_TARGET_DEV"
	device_add "$RTGT_TARGET_DEV" ba
	defer rdma link delete "$RTGT_CLIENT_DEV"
	device_add "$RTGT_CLIENT_DEV" bb
}

# The bridge between the two, with rules.
bridge() { # RULE...
	local rule
	local -a rules=()
	for rule; do
		rules+=(--rule "$rule")
	done
	background bridge rtgt bridge "${rules[@]}" -w "$WORK/both.pcapng" target=wa client=wb
	wait_line bridge "2 ports, $# rules, seed "
}

# The devices, the bridge, and a port of the target.
bridged() { # RULE...
	two_devices
	bridge "$@"
	target_port recv_size=8K region mem size=8K
}

ping() { # OPTION...
	rtgt ping -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$@" "$RTGT_TARGET_ADDR"
}

# The bridge ends, and says what it did.
end_bridge() {
	kill -INT "${BG_PID[bridge]}"
	finish bridge
	# shellcheck disable=SC2034 # of whoever calls
	SAID=$(<"$WORK/bridge.out")
}
