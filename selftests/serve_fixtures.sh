#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# serve_fixtures.sh: ports of "rtgt serve" instead of the kernel's target.
#
# serve.sh sources it, and so does the subshell of each case that was declared with --serve
# (lib.sh).  Afterwards port_add starts a server, and port_del ends it with SIGTERM: the server
# must exit with status 0 and print no error.  What the kernel's target has in debugfs, the
# regions' memory included, is in the server's state directory.

DEBUGFS=/run/rtgt-serve
# -g: lib.sh sources this file in a function
declare -gA SERVERS

# Options of rtgt serve that a case wants
SERVE=()

port_add() { # NAME [ATTR=VALUE...] [region NAME [ATTR=VALUE...]]...
	local name=$1 word
	local -a words=()
	shift
	for word; do
		words+=("${word%%=*}")
		[[ $word != *=* ]] || words+=("${word#*=}")
	done
	mkdir -p "$DEBUGFS/ports"
	rtgt serve "${SERVE[@]}" --state "$DEBUGFS/ports/$name" "${words[@]}" >"$WORK/$name.said" 2>"$WORK/$name.err" &
	SERVERS[$name]=$!
	# the memory of a large region is filled and registered first
	if ! wait_until "$PATIENCE" server_spoke "$name" || ! grep -q "^listening on " "$WORK/$name.said"; then
		complain "rtgt serve does not listen: $(<"$WORK/$name.err")"
	fi
}

server_spoke() { # NAME
	[[ -s $WORK/$1.said ]] || process_gone "${SERVERS[$1]}"
}

port_del() { # NAME
	[[ -z ${SERVERS[$1]:-} ]] || kill "${SERVERS[$1]}"
	server_ended "$1"
}

# By itself or because it was told to.
server_ended() { # NAME
	local pid=${SERVERS[$1]:-} rc=0
	[[ -n $pid ]] || return 0
	unset "SERVERS[$1]"
	wait_until 10 process_gone "$pid" || kill -KILL "$pid"
	wait "$pid" || rc=$?
	counters_add_up "$1" || rc=1
	rm -rf "${DEBUGFS:?}/ports/$1"
	[[ $rc == 0 && ! -s $WORK/$1.err ]] || complain "rtgt serve ended with status $rc: $(<"$WORK/$1.err")"
}
