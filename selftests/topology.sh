#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# topology.sh {up|down}: two RDMA devices on one machine, and a wire between them.
#
#	  target                                 client
#	  198.51.100.1                           198.51.100.2
#	  2001:db8::1                            2001:db8::2
#	+-------+   +----+      veth      +----+   +-------+
#	| rxe_t |---| va |================| vb |---| rxe_c |
#	+-------+   +----+                +----+   +-------+
#
# Both ends stay in the first network namespace: before 7.2 rxe serves no other.
# The kernel would deliver between two of its own addresses over lo, where rxe
# does not look, so two rules send what this machine originates for one address
# out of the device that holds the other.  For them to be seen, the rule that
# finds local addresses moves from preference 0 to 10.  The addresses share a
# prefix: with /32 ones rdma_cm finds no listener behind va.  And each end knows
# the other's MAC from the start: on a veth the answer to an ARP request can be
# there before rdma_cm waits for it, and then it waits until it times out.
#
# Of IPv6, where there is any, the same; but when rdma_cm asks whether a peer can be
# behind the device its request came through, it names the device and not who asks,
# which for IPv6 takes rules of its own.
#
# "up" notes what it finds in a file before it changes anything, and "down" goes
# by that file, so that sysctls, rules and modules are again as they were, also
# after an "up" that was interrupted.  Both can be repeated.

set -eu

NOTES=/run/rtgt-topology
TARGET=${RTGT_TARGET_ADDR:-198.51.100.1}
CLIENT=${RTGT_CLIENT_ADDR:-198.51.100.2}
TARGET6=${RTGT_TARGET_ADDR6:-2001:db8::1}
CLIENT6=${RTGT_CLIENT_ADDR6:-2001:db8::2}
TABLE_TARGET=7471
TABLE_CLIENT=7472
SYSCTLS=(all/rp_filter)
# With RTGT_DEVICE=siw they are siw_t and siw_c
DRIVER=rdma_rxe
[[ ${RTGT_DEVICE:-rxe} == rxe ]] || DRIVER=$RTGT_DEVICE

# shellcheck source=machine.sh
. "${BASH_SOURCE[0]%/*}/machine.sh"

have_netdev() {
	[[ -e /sys/class/net/$1 ]]
}

have_ipv6() {
	[[ -e /proc/sys/net/ipv6/conf/all/disable_ipv6 && $(</proc/sys/net/ipv6/conf/all/disable_ipv6) == 0 ]]
}

have_rule() { # FAMILY PREFERENCE
	[[ -n $(ip "$1" rule show pref "$2") ]]
}

note() {
	local name
	[[ ! -e $NOTES ]] || return 0
	if have_netdev va || have_netdev vb; then
		complain "topology.sh: va or vb exists and is not ours; remove it or run elsewhere"
		return
	fi
	{
		for name in "${SYSCTLS[@]}"; do
			echo "sysctl $name $(<"/proc/sys/net/ipv4/conf/$name")"
		done
		! have_rule -4 0 || echo "rule -4 0"
		! have_ipv6 || ! have_rule -6 0 || echo "rule -6 0"
		for name in rdma_ucm "$DRIVER" veth; do
			[[ -e /sys/module/$name ]] || echo "module $name"
		done
	} >"$NOTES.new"
	mv "$NOTES.new" "$NOTES"
}

# Each address is reached through the other's device.
rules() { # FAMILY TARGET CLIENT
	have_rule "$1" 10 || ip "$1" rule add pref 10 lookup local
	! have_rule "$1" 0 || ip "$1" rule del pref 0
	have_rule "$1" 5 || ip "$1" -batch - <<-END
		rule add pref 5 to $2 iif lo lookup $TABLE_TARGET
		rule add pref 5 to $3 iif lo lookup $TABLE_CLIENT
	END
	ip "$1" -batch - <<-END
		neigh replace $2 lladdr $(</sys/class/net/va/address) dev vb nud permanent
		neigh replace $3 lladdr $(</sys/class/net/vb/address) dev va nud permanent
		route replace $2 dev vb src $3 table $TABLE_TARGET
		route replace $3 dev va src $2 table $TABLE_CLIENT
	END
}

# nodad: an address is to be usable at once
up6() {
	ip -6 -batch - <<-END
		addr replace $TARGET6/64 dev va nodad
		addr replace $CLIENT6/64 dev vb nodad
	END
	have_rule -6 5 || ip -6 -batch - <<-END
		rule add pref 5 to $TARGET6 oif vb lookup $TABLE_TARGET
		rule add pref 5 to $CLIENT6 oif va lookup $TABLE_CLIENT
		rule add pref 5 to $TARGET6 iif lo lookup $TABLE_TARGET
		rule add pref 5 to $CLIENT6 iif lo lookup $TABLE_CLIENT
	END
	rules -6 "$TARGET6" "$CLIENT6"
}

up() {
	local dev
	note
	# they may be built in
	modprobe -qa veth "$DRIVER" rdma_ucm || :
	have_netdev va || ip link add va type veth peer name vb || complain "the kernel makes no veth (CONFIG_VETH)"
	for dev in va vb; do
		echo 1 >"/proc/sys/net/ipv4/conf/$dev/accept_local"
		echo 0 >"/proc/sys/net/ipv4/conf/$dev/rp_filter"
	done
	echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
	ip addr replace "$TARGET/24" dev va
	ip addr replace "$CLIENT/24" dev vb
	ip link set va up
	ip link set vb up
	rules -4 "$TARGET" "$CLIENT"
	! have_ipv6 || up6
	device_add "${RTGT_TARGET_DEV:-rxe_t}" va
	device_add "${RTGT_CLIENT_DEV:-rxe_c}" vb
	[[ -e /dev/infiniband/rdma_cm ]] || complain "there is no /dev/infiniband/rdma_cm (CONFIG_INFINIBAND_USER_ACCESS)"
}

down() {
	local what name value family
	local -a modules=()
	[[ -e $NOTES ]] || return 0
	for family in -4 -6; do
		[[ $family == -4 ]] || have_ipv6 || continue
		if grep -qx -e "rule $family 0" "$NOTES"; then
			have_rule "$family" 0 || ip "$family" rule add pref 0 lookup local
			! have_rule "$family" 10 || ip "$family" rule del pref 10 lookup local
		fi
		# More than there are: -force goes on behind the one that is not there
		printf 'rule del pref 5\n%.0s' {1..6} | ip "$family" -force -batch - 2>/dev/null || :
	done
	! have_netdev va || ip link del va
	while read -r what name value; do
		case $what in
		sysctl) echo "$value" >"/proc/sys/net/ipv4/conf/$name" ;;
		module) modules+=("$name") ;;
		esac
	done <"$NOTES"
	# one that is in use stays, which is no fault of ours
	((${#modules[@]} == 0)) || modprobe -qra "${modules[@]}" 2>/dev/null || :
	rm -f "$NOTES"
}

case ${1:-} in
up | down)
	"$1"
	;;
*)
	complain "usage: topology.sh {up|down}"
	exit 2
	;;
esac
