#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# hostile.sh: what one peer does to the other users of the target.
#
# A peer may send what it likes, as fast as it likes, and answer nothing.  In each
# case other clients are served meanwhile, and the administrator can disable the port.
# Each limit in time is one that a hang exceeds, not a measurement.
#
# weight 3

. "${0%/*}/lib.sh"

# A client of another port is served.
serves() { # CM_PORT
	local CM_PORT=$1
	has "$(probe send msg_op=2 body=24 timeout=5)" wc=success status=ok alive=1
}

# Disable the port, in the background: one that hangs is to fail the case only.
disables() { # PORT
	background "disable-$1" target attr_set "$CONFIGFS/ports/$1/enable" 0
	wait_until 15 process_gone "${BG_PID[disable-$1]}" || fail "enable=0 of $1 does not end"
	finish "disable-$1"
}

# Of 300 connections each one's DISCONNECT arrives before its CHECKSUM, and all of them
# while the REVOKEs of another port are run one after the other.  With one work queue
# for all of that, each of its workers runs a teardown that waits for a CHECKSUM, for
# which no worker is left: nothing ends any more, and the hung-task detector of the guest
# has the last word.
stall() {
	local busy quiet
	target_port scope=private mr_max=4K recv_depth=512 region mem size=1M
	busy=$PORT
	background revoker probe flood depth=400
	said revoker ready=1
	target_port recv_depth=4 region mem size=4096
	background crowd probe flood count=300 depth=2 timeout=30
	wait_until 30 grep -q ready= "$WORK/crowd.out"
	said crowd ready=300
	quiet=$PORT
	tell revoker "6 400"
	said revoker posted=1
	tell crowd "8 1"
	said crowd "posted=300 op=8"
	tell crowd "2 1"
	said crowd "posted=300 op=2"
	# neither says goodbye
	kill -KILL "${BG_PID[crowd]}" "${BG_PID[revoker]}"
	disables "$quiet"
	disables "$busy"
	target_port
	serves "$CM_PORT"
}

# Two REQs to a port that registers 4096 extents for each of its connections, and then one
# to another port: that one is answered first, whoever listens there.
overtaken() { # kernel|user
	local slow
	target_port scope=private mr_max=4K region mem size=16M
	slow=$CM_PORT
	case $1 in
	kernel)
		target_port
		# the first client of a port has its own costs
		has "$(probe connect)" result=established
		;;
	user)
		CM_PORT=$((CM_PORT + 8))
		background server rtgt serve addr "$RTGT_TARGET_ADDR" port $CM_PORT region mem size 4K
		said server "listening on "
		;;
	esac
	at=$CM_PORT CM_PORT=$slow
	has "$(probe overtake count=2 at="$at" timeout=20)" before=0 established=2
}

# A peer that answers no REP and says in each REQ that it takes hours to answer holds the
# port's connections for its handshake_ms and no longer.
half_open() { # ATTRIBUTE...
	target_port max_conns=16 handshake_ms=1000 "$@"
	has "$(probe half count=20)" sent=20
	expect_counters conns_accepted=16
	wait_until 10 served || fail "still connected to $PORT: $(target connections "$PORT")"
	expect_no_connections
}

served() {
	[[ $(probe connect) == result=established* ]]
}

tier fast
limit 60
tcase stall "300 connections that close with a request under way, and a queue of REVOKEs, stall no teardown" stall
tcase build-kernel "connections that take long to build do not delay one to another port" overtaken kernel
tcase build-user "connections that take long to build do not delay one to a server in user space" overtaken user
tcase half-open "half-open connections end by the target's clock, whatever the REQ says" half_open
tcase half-open-private "half-open connections of a private port end too, and their memory is freed" half_open \
	scope=private region mem size=1M

tmain "$@"
