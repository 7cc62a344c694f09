#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# core-addr-wakeup.sh: connect six times with the neighbours forgotten before each.
# Exits 1 if a connection waited for a timer instead of the neighbour.
#
#	vm/lab fast bash -s <Documentation/findings/core-addr-wakeup.sh

suite=/opt/rtgt/selftests/rtgt

wait_ms() {
	read -r -t "$(($1 / 1000)).$(($1 % 1000))" <> <(:)
}

connects() { # WHAT
	local start=$EPOCHREALTIME rc=0

	timeout 60 rping -c -a 198.51.100.1 -I 198.51.100.2 -C 1 >/dev/null 2>&1 || rc=$?
	MS=$(((${EPOCHREALTIME/./} - ${start/./}) / 1000))
	echo "$1: status $rc after $MS ms"
	return "$rc"
}

bad=0
"$suite/topology.sh" up
timeout 100 rping -s -P -a 198.51.100.1 >/dev/null 2>&1 &
until rdma resource show cm_id | grep -q LISTEN; do wait_ms 20; done
connects "neighbours known" || exit
for i in 1 2 3 4 5 6; do
	ip neigh del 198.51.100.1 dev vb
	ip neigh del 198.51.100.2 dev va
	connects "neighbours forgotten, $i" || bad=1
	# rping's timeout for the resolution is 2000 ms, ib_core's own 1000 ms
	((MS < 1000)) || bad=1
done
exit "$bad"
