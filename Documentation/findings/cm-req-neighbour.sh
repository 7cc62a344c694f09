#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# cm-req-neighbour.sh: 30 REQs, SIDR_REQs or DREQs from an address that does not exist, and a client
# of another address beside them.  Exits 1 if a client waits for more than five seconds.
#
#	vm/lab fast bash -s <Documentation/findings/cm-req-neighbour.sh

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

"$suite/topology.sh" up
timeout 200 rping -s -P -a 198.51.100.1 >/dev/null 2>&1 &
until rdma resource show cm_id | grep -q LISTEN; do wait_ms 20; done
connects "a client" || exit
status=0
for op in req sidr-req dreq; do
	"$suite/probe" 198.51.100.1 7174 source=198.51.100.99 half op=$op count=30
	connects "a client behind 30 ${op}s of 198.51.100.99" && ((MS < 5000)) || status=1
done
exit "$status"
