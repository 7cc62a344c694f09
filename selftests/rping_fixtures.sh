#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# rping_fixtures.sh: ports of a service, and rdma-core's rping as a client of the service "rping".
# The programs with such cases source it after lib.sh.

# A port without regions.
service_port() { # SERVICE [ATTR=VALUE...]
	PORTS_MADE=$((${PORTS_MADE:-0} + 1))
	PORT=$CASE-$PORTS_MADE
	CM_PORT=$((20000 + CASE_INDEX * 16 + PORTS_MADE))
	defer target port_del "$PORT"
	target port_add "$PORT" "addr=$RTGT_TARGET_ADDR" "port=$CM_PORT" "service=$1" "${@:2}"
}

# The command line of "rping -c" against PORT: RPING.
rping_args() { # SIZE COUNT [ARG...]
	need_command rping
	RPING=(rping -c -a "$RTGT_TARGET_ADDR" -I "$RTGT_CLIENT_ADDR" -p "$CM_PORT" -V -v -S "$1" -C "$2" "${@:3}")
}

# What -v shows of a ping: its number, and letters that begin one further each time.
rping_line() { # SIZE NUMBER
	local text="rdma-ping-$2: " letters='' all='' c
	for c in {65..122}; do
		printf -v c '\\x%x' "$c"
		all+=$c
	done
	printf -v all '%b' "$all"
	while ((${#letters} < $1 + ${#all})); do
		letters+=$all
	done
	text+=${letters:$2 % ${#all}:$1}
	printf 'ping data: %s\n' "${text:0:$1 - 1}"
}

# In $WORK/NAME.out COUNT lines of SIZE bytes, the first and the last as they must be,
# and in NAME.err nothing to complain of.  An rping that ends may report the DREP, the
# end of TIMEWAIT if it takes long, or that it closed the file another thread of it waits on.
rping_said() { # NAME SIZE COUNT
	local line=$((11 + $2)) out=$WORK/$1.out
	same "what rping complains of" "$(grep -vx -e "client DISCONNECT EVENT\.\.\." \
		-e "unhandled event: RDMA_CM_EVENT_TIMEWAIT_EXIT, ignoring" \
		-e "rdma_get_cm_event: Bad file descriptor" "$WORK/$1.err" || :)" ""
	same "bytes rping shows" "$(stat -c %s "$out")" $(($3 * line))
	same "the first ping" "$(head -n 1 "$out")" "$(rping_line "$2" 0)"
	same "the last ping" "$(tail -c "$line" "$out")" "$(rping_line "$2" $(($3 - 1)))"
}

rping_ok() { # SIZE COUNT [ARG...]
	rping_args "$@"
	"${RPING[@]}" >"$WORK/rping.out" 2>"$WORK/rping.err" || fail "rping exits $?: $(<"$WORK/rping.err")"
	rping_said rping "$1" "$2"
}

# So many connections made so many pings in all: 2 messages of 16 bytes each, and
# as many answers.
expect_pings() { # CONNECTIONS PINGS
	expect_counters "conns_established=$1" "conns_closed=$1" "recv_msgs=$((2 * $2))" \
		"recv_bytes=$((32 * $2))" "replies=$((2 * $2))" imms=0 malformed=0 qp_errors=0 send_errors=0
	expect_no_connections
}

rping_sizes() { # COUNT SIZE...
	local size
	service_port rping
	for size in "${@:2}"; do
		rping_ok "$size" "$1"
	done
	expect_pings $(($# - 1)) $(($1 * ($# - 1)))
}
