#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In the client's guest of the wire tier.  Twenty pings of rping over siw, each on a connection of
# its own; exits with 1 if one of them was not answered within five seconds.

# shellcheck disable=SC2016 # the server's shell expands what is in single quotes
for where in "" "$RTGT_PEER"; do
	$where sh -c 'rdma link delete rxe0; modprobe siw; rdma link add siw0 type siw netdev eth0' </dev/null
done
ping -q -c 1 192.0.2.1 >/dev/null
hung=0
for ((i = 1; i <= 20; i++)); do
	$RTGT_PEER sh -c 'rping -s -C 1 -S 64 >/dev/null 2>&1 & echo $! >/run/rping' </dev/null
	until $RTGT_PEER sh -c 'ss -tln | grep -q :7174' </dev/null; do :; done
	timeout 5 rping -c -a 192.0.2.1 -C 1 -S 64 >/dev/null || hung=$((hung + 1))
	$RTGT_PEER sh -c 'kill "$(cat /run/rping)"' </dev/null 2>/dev/null
done
echo "$hung of 20 pings were not answered"
exit $((hung > 0))
