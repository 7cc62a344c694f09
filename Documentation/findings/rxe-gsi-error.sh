#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# rxe-gsi-error.sh: two ways in which one connection management message cannot be sent,
# and a connection after each.  Exits 1 if that one fails.
#
#	vm/lab fast bash -s <Documentation/findings/rxe-gsi-error.sh

suite=/opt/rtgt/selftests/rtgt

connects() {
	timeout 6 rping -c -a 198.51.100.1 -I 198.51.100.2 -C 1 >/dev/null 2>&1
}

wait_ms() {
	read -r -t "$(($1 / 1000)).$(($1 % 1000))" <> <(:)
}

# after WHAT: print the state of the GSI QPs, and whether a client can connect.
after() {
	echo "$1: GSI QPs $(rdma resource show qp | awk '/type GSI/ { print $2, $8 }' | paste -s -d ,)"
	if connects; then
		echo "$1: a client connects"
	else
		echo "$1: no client can connect"
		bad=1
	fi
}

bad=0
"$suite/topology.sh" up
timeout 100 rping -s -P -a 198.51.100.1 >/dev/null 2>&1 &
until rdma resource show cm_id | grep -q LISTEN; do wait_ms 20; done
connects || exit

# A filter that drops: rxe's send returns NET_XMIT_DROP
tc qdisc add dev vb clsact
tc filter add dev vb egress protocol ip u32 match ip protocol 17 0xff action drop
connects
tc qdisc del dev vb clsact
after "filter"

# A link that is down for a moment while a REQ is repeated: there is no route
for dev in rxe_t rxe_c; do rdma link del "$dev"; done
kill %1
"$suite/topology.sh" up
timeout 100 rping -s -P -a 198.51.100.1 >/dev/null 2>&1 &
until rdma resource show cm_id | grep -q LISTEN; do wait_ms 20; done
tc qdisc add dev va root netem loss 100%
connects &
wait_ms 1500
ip link set vb down
wait %3
ip link set vb up
tc qdisc del dev va root
"$suite/topology.sh" up
after "link"
exit "$bad"
