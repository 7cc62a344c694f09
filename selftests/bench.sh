#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# bench.sh: how fast is it, beside perftest, on this machine and in this boot?
#
# Prints a line for each measurement:
#
#	NAME MIN P50 P99
#
# in microseconds; of what has no percentiles, the one figure three times.  NAME is
# WHO.OPERATION.BYTES, and ends in .half where a round trip was halved.  vm/bench runs
# this in a guest whose clock counts instructions; elsewhere the figures hold for as
# long as nothing else runs.  Both devices are this machine's (topology.sh).

set -eu

HERE=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
# shellcheck source=machine.sh
. "$HERE/machine.sh"

# A port that is slow to stop is a figure here, and no failure
# shellcheck disable=SC2034 # for machine.sh
DISABLE_MS=1000000000

TARGET=${RTGT_TARGET_ADDR:-198.51.100.1}
CLIENT=${RTGT_CLIENT_ADDR:-198.51.100.2}
COUNT=${BENCH_COUNT:-1000}
PORT=7480
PERFTEST_PORT=18515
PINGPONG_PORT=7482
CMTIME_PORT=7484
SINK_PORT=7486
SERVE_PORT=7488
QUIET_PORT=7490
CONNECTIONS=100
# Connections of a peer beside which another client is measured
CROWD=${BENCH_CROWD:-1000}
HELD=${BENCH_HELD:-1,64,1024,4096}
# Connections that a port or a device has when it is disabled or removed
ENDED=16
# Prefix of the figures of another device than rxe
DEVICE=

# What rtgt lat measured, from its JSON; over TCP it is "tcp" and not "user"
lat() { # OPTION...  (TO: "-to-user" for that target)
	rtgt -j lat -p "$PORT" -I "$CLIENT" -C "$COUNT" "$@" "$TARGET" |
		jq -r --arg device "$DEVICE" --arg to "${TO:-}" '.results[] | select(.skipped | not) |
			[(if .over == "tcp" then .over else $device + .from + $to end) + "." + .op + "." +
			(.size | tostring) + (if .trip == "half" then ".half" else "" end), .us.min, .us.p50, .us.p99] | @tsv'
}

# What rtgt bw measured: MiB a second of 16 MiB
bw() { # BYTES OPTION...  (HOW: "-one" where one request is under way)
	rtgt -j bw -p "$PORT" -I "$CLIENT" -S "$1" -C $(((16 << 20) / $1)) -W 16 "${@:2}" "$TARGET" |
		jq -r --arg device "$DEVICE" --arg how "${HOW:-}" '.results[] | select(.skipped | not) |
			[(if .over == "tcp" then .over else $device + .from end) + "." + .op + "-bw" + $how + "." +
			(.size | tostring), .mib_per_s, .mib_per_s, .mib_per_s] | @tsv'
}

# The same 4 MiB over so many connections, each with as many messages under way
bw_qps() { # CONNECTIONS
	rtgt -j bw -p "$PORT" -I "$CLIENT" -S 16K -C $(((4 << 20) / 16384 / $1)) -q "$1" -W 16 -o write,read "$TARGET" |
		jq -r --arg qps "$1" '.results[] | [.from + "." + .op + "-bw-" + $qps + "qp." +
			(.size | tostring), .mib_per_s, .mib_per_s, .mib_per_s] | @tsv'
}

listens() { # TCP-PORT
	local hex line
	printf -v hex ':%04X 00000000:0000 0A' "$1"
	line=$(</proc/net/tcp)
	[[ $line == *"$hex"* ]] || {
		line=$(</proc/net/tcp6)
		[[ $line == *"$(printf ':%04X 00000000000000000000000000000000:0000 0A' "$1")"* ]]
	}
}

# perftest takes no completion events for WRITEs, and a program that polls is no
# measure on one processor, so there are none of its latencies of WRITEs here.  What its
# programs come to as they are, polling, is told last, and nothing is held against it.

# One of perftest's latency programs; its "typical" is the median
perftest() { # NAME BYTES PROGRAM [OPTION...]
	local name=$1 size=$2 program=$3 out
	shift 3
	"$program" -d rxe_t -p $PERFTEST_PORT -e -F -n "$COUNT" "$@" >/dev/null 2>&1 &
	wait_until 20 listens $PERFTEST_PORT
	out=$("$program" -d rxe_c -p $PERFTEST_PORT -e -F -n "$COUNT" "$@" "$TARGET" 2>/dev/null)
	wait $!
	awk -v name="$name" -v size="$size" '$1 == size && NF >= 9 { printf "%s\t%s\t%s\t%s\n", name, $3, $5, $8 }' <<<"$out"
}

# Of perftest, MiB a second likewise
perftest_bw() { # NAME BYTES PROGRAM [OPTION...]
	local out
	"$3" -d rxe_t -p $PERFTEST_PORT -F -s "$2" -n $(((16 << 20) / $2)) "${@:4}" >/dev/null 2>&1 &
	wait_until 20 listens $PERFTEST_PORT
	out=$("$3" -d rxe_c -p $PERFTEST_PORT -F -s "$2" -n $(((16 << 20) / $2)) "${@:4}" "$TARGET" 2>/dev/null)
	wait $!
	awk -v name="$1" -v size="$2" '$1 == size && NF >= 4 { printf "%s\t%s\t%s\t%s\n", name, $4, $4, $4 }' <<<"$out"
}

# The same against the target in user space
user_target() {
	local PORT=$SERVE_PORT TO=-to-user line
	coproc SERVE { exec rtgt serve addr "$TARGET" port "$PORT" recv_size 64K region mem size 1M access read,write,atomic; }
	until read -r line && [[ $line == "listening on "* ]]; do :; done <&"${SERVE[0]}"
	lat --from user,kernel -S 64 -o write,read,faa
	lat --from user,kernel -S 64 -o send,write-imm --half
	kill "$SERVE_PID"
	wait "$SERVE_PID" || :
}

# A client, beside another one whose requests keep the target at work all the time
beside() { # NAME OPERATION (enum rtgt_msg_op) NUMBER
	local TO=-beside-$1 line text
	coproc FLOOD { exec "$HERE/probe" "$TARGET" "$PORT" "source=$CLIENT" flood "depth=$3"; }
	local flood=$FLOOD_PID
	until read -r line && [[ $line == *ready=1* ]]; do :; done <&"${FLOOD[0]}"
	echo "$2 $3" >&"${FLOOD[1]}"
	until read -r line && [[ $line == *posted=* ]]; do :; done <&"${FLOOD[0]}"
	lat --from user,kernel -S 64 -o read
	lat --from user,kernel -S 64 -o send --half
	text=$(counters bench)
	[[ $text =~ recv_msgs\ +([0-9]+).*replies\ +([0-9]+) ]]
	((BASH_REMATCH[1] > BASH_REMATCH[2])) || complain "beside $1: all $3 requests were done too early"
	kill "$flood"
	wait "$flood" 2>/dev/null || :
}

# A message and its answer without RDMA
pingpong() { # udp|tcp BYTES
	printf '%s.pingpong.%s.half\t' "$1" "$2"
	"$HERE/pingpong" "$1" "$TARGET" "$CLIENT" $PINGPONG_PORT "$2" "$COUNT"
}

# A connection's share of a phase of cmtime's that makes N at once, with queue pairs
# and without.  It is one figure, which moved by up to 5 % from boot to boot: the middle of three
cmtime_client() { # NAME TCP-AND-CM-PORT
	wait_until 20 listens "$2"
	cmtime -s "$TARGET" -b "$CLIENT" -p "$2" -c "$CONNECTIONS" | awk -v name="$1" '
		/^(qp|cm)_conn / { what = $1 == "qp_conn" ? "connect-qp" : "connect" }
		/^cm connect / { printf "%s.%s.1\t%s\t%s\t%s\n", name, what, $3, $3, $3 }'
}

middle_of_three() {
	sort -k1,1 -k2,2n | awk 'NR % 3 == 2'
}

# Against its own server, and against our sink
cmtimes() {
	for _ in 1 2 3; do
		cmtime -b "$TARGET" -p $CMTIME_PORT -c "$CONNECTIONS" >/dev/null 2>&1 &
		cmtime_client cmtime $CMTIME_PORT
		wait $!
	done | middle_of_three
	port_add sink "addr=$TARGET" "port=$SINK_PORT" service=sink recv_depth=2
	for _ in 1 2 3; do
		"$HERE/probe" "$TARGET" "$SINK_PORT" source=- sync >/dev/null 2>&1 &
		cmtime_client sink $SINK_PORT
		wait $! || :
	done | middle_of_three
	port_del sink
}

# What rtgt cost measured, from its JSON
cost() { # OPTION...
	rtgt -j cost -p "$PORT" -I "$CLIENT" "$@" "$TARGET" |
		jq -r '.results[] | ["cost." + (.what | gsub(" "; "-")) + (if .unit == "held" then "-held." else "." end) + (.number | tostring),
			.us.min, .us.p50, .us.p99], (select(.kib_per_connection) | ["cost.KiB-held." + (.number | tostring)] +
			[.kib_per_connection | range(3) as $i | .]) | @tsv'
}

# A line for percentiles: the time in which the kernel registers a region, which is to map it for
# DMA and to register it.  A single registration differs from another one by up to 15 %.
kernel_registration() { # BYTES
	port_add "mr$1" "addr=$TARGET" "port=$SINK_PORT" region mem "size=$1"
	# the first client has it registered
	"$HERE/probe" "$TARGET" "$SINK_PORT" "source=$CLIENT" connect >/dev/null
	awk -v bytes="$1" '{
		for (i = 1; i <= NF; i++)
			if ($i ~ /^(dma|mr|reg)_ns=/)
				ns += substr($i, index($i, "=") + 1)
		printf "kernel.register.%s %.2f\n", bytes, ns / 1e3
		exit
	}' "$DEBUGFS/ports/mr$1/registrations"
	port_del "mr$1"
}

# Connections that stay until they are ended
hold() { # NUMBER
	local line
	coproc MANY { ulimit -n 8192; exec "$HERE/probe" "$TARGET" "$PORT" "source=$CLIENT" hold "count=$1"; }
	HELD_PID=$MANY_PID
	until read -r line && [[ $line == *ready=* ]]; do :; done <&"${MANY[0]}"
	[[ $line == "ready=$1" ]] || complain "$line: not $1 connections"
}

end_held() {
	kill "$HELD_PID"
	wait "$HELD_PID" 2>/dev/null || :
}

# The target's part of a connection, of 16 held ones the medians
target_setup() {
	hold 16
	awk '{
		for (i = 2; i <= NF; i++) {
			split($i, part, "=")
			v[part[1], NR] = part[2]
			if (NR == 1)
				name[++names] = part[1]
		}
	}
	END {
		for (k = 1; k <= names; k++) {
			for (i = 1; i <= NR; i++)
				for (j = i + 1; j <= NR; j++)
					if (v[name[k], j] < v[name[k], i]) { t = v[name[k], i]; v[name[k], i] = v[name[k], j]; v[name[k], j] = t }
			what = name[k]
			by = sub(/_ns$/, "", what) ? 1e3 : 1
			printf "target.setup-%s.1\t%.2f\t%.2f\t%.2f\n", what, v[name[k], 1] / by, v[name[k], int((NR + 1) / 2)] / by, v[name[k], NR] / by
		}
	}' "$DEBUGFS/ports/bench/setups"
	end_held
}

# Of lines "NAME US" the least, the median and the 99th percentile of each name
percentiles() {
	sort -k1,1 -k2,2n | awk '
		function flush_name() {
			if (n)
				printf "%s\t%.2f\t%.2f\t%.2f\n", name, v[1], v[int((n + 1) / 2)], v[int((99 * n + 99) / 100)]
			n = 0
		}
		$1 != name { flush_name(); name = $1 }
		{ v[++n] = $2 }
		END { flush_name() }'
}

# A command and how long it took, as a line for percentiles
timed() { # NAME CMD...
	local began=$EPOCHREALTIME ended
	"${@:2}"
	ended=$EPOCHREALTIME
	printf '%s\t%s\n' "$1" $((${ended/./} - ${began/./}))
}

set_enable() { # 0|1
	echo "$1" >"$CONFIGFS/ports/bench/enable"
}

# A port is enabled, and disabled while it has no connection
enables() {
	for _ in {1..20}; do
		timed port.enable.0 set_enable 1
		timed port.disable.0 set_enable 0
	done
}

# A port is disabled while it has connections
disables() { # CONNECTIONS TIMES
	local i

	for ((i = 0; i < $2; i++)); do
		set_enable 1
		hold "$1"
		timed "port.disable.$1" set_enable 0
		end_held
	done
}

# A client disconnects: until the target has freed all that the connection had
teardowns() {
	"$HERE/probe" "$TARGET" "$PORT" "source=$CLIENT" end count=50 "file=$DEBUGFS/objects" |
		sed -n 's/^teardown_us=/conn.teardown.1\t/p'
}

# The target's device is removed while a port listens on it
removals() { # CONNECTIONS
	for _ in {1..5}; do
		set_enable 1
		((!$1)) || hold "$1"
		timed "device.remove.$1" rdma link del rxe_t
		((!$1)) || end_held
		set_enable 0
		device_add rxe_t va
	done
}

# Frames that the two interfaces sent and switches of the processor, for each of 4 messages of
# 1 MiB with all outstanding, or of 1000 operations of 64 bytes, one at a time
frames() { # SIZE NAME OPTION...
	local size=$1 tool=bw n=4
	shift
	((size > 64)) || tool=lat n=1000
	count_frames "$@"
}

count_frames() { # NAME OPTION...
	local before after
	local -a was is
	before=$(frame_counts)
	rtgt -j "$tool" -p "$PORT" -I "$CLIENT" -S "$size" -C "$n" -W 0 "${@:2}" "$TARGET" >/dev/null
	after=$(frame_counts)
	read -ra was <<<"$before"
	read -ra is <<<"$after"
	awk -v name="$1" -v size="$size" -v n="$n" -v frames=$((is[0] - was[0])) -v switches=$((is[1] - was[1])) '
	function row(what, x) {
		printf "%s-%s.%d\t%.2f\t%.2f\t%.2f\n", name, what, size, x / n, x / n, x / n
	}
	BEGIN {
		row("frames", frames)
		row("switches", switches)
	}'
}

frame_counts() {
	local word line va vb
	va=$(first_line /sys/class/net/va/statistics/tx_packets)
	vb=$(first_line /sys/class/net/vb/statistics/tx_packets)
	while read -r word line; do
		if [[ $word == ctxt ]]; then
			echo $((va + vb)) "$line"
		fi
	done </proc/stat
}

# --- the parts ---------------------------------------------------------------------

# From user space and from the kernel, to the kernel and (rtgt serve) to user space
part_operations() {
	local size qps
	port_add bench "addr=$TARGET" "port=$PORT" recv_size=64K region mem size=1M access=read,write,atomic
	lat --from user,kernel -S 64 -o write,read,cas,faa
	lat --from user,kernel -S 64 -o send,write-imm --half
	lat --over tcp -S 64,4K -o write,read
	lat --over tcp -S 64,4K -o send --half
	lat --from user,kernel -S 4K -o write,read
	lat --from user,kernel -S 4K -o send --half
	user_target
	perftest perftest.send.64.half 64 ib_send_lat -s 64
	perftest perftest.read.64 64 ib_read_lat -s 64
	perftest perftest.atomic.8 8 ib_atomic_lat
	perftest perftest.send.4096.half 4096 ib_send_lat -s 4096
	perftest perftest.read.4096 4096 ib_read_lat -s 4096
	for size in 65536 1048576; do
		bw "$size" --from user,kernel --over rdma,tcp -o write,read
		perftest_bw "perftest.send-bw.$size" "$size" ib_send_bw -e
		perftest_bw "perftest.read-bw.$size" "$size" ib_read_bw -e
		HOW=-one bw "$size" --from kernel -o write,read -t 1 --segment 64K
		perftest_bw "perftest.send-bw-one.$size" "$size" ib_send_bw -e -t 1
		perftest_bw "perftest.read-bw-one.$size" "$size" ib_read_bw -e -t 1
	done
	for qps in 1 2 4 8; do
		bw_qps $qps
	done
	for size in 65536 1048576; do
		perftest_bw "perftest.write-bw-polling.$size" "$size" ib_write_bw
		perftest_bw "perftest.read-bw-polling.$size" "$size" ib_read_bw
	done
	pingpong udp 64
	pingpong tcp 64
	pingpong tcp 4096
	cmtimes
	port_del bench
}

part_beside() {
	port_add bench "addr=$TARGET" "port=$PORT" region mem size=256M access=read,write,atomic
	beside checksum 2 100
	port_del bench
	port_add bench "addr=$TARGET" "port=$PORT" scope=private mr_max=4K region mem size=16M access=read,write,atomic
	beside revoke 6 100
	port_del bench
}

# How long a client waits for a reply and for a connection
neighbour() { # CONNECTIONS
	lat --from user -S 64 -o send --half
	connects "$1"
}

connects() { # NUMBER
	cost --what connect -C "$1" |
		sed -n "s/^cost\.\(connect\|in-all\)\./neighbour-cost$TO.\1./p"
}

# A client, alone and beside a peer with many connections to another port: each first has 256 MiB
# to checksum, then all are to be set up, and the peer says nothing more
part_neighbour() {
	local DEVICE=neighbour- TO='' line text flood
	port_add bench "addr=$TARGET" "port=$PORT" recv_size=256 recv_depth=4 max_conns=$((4 * CROWD)) \
		backlog=$((4 * CROWD)) region mem size=64M
	port_add quiet "addr=$TARGET" "port=$QUIET_PORT" region mem
	PORT=$QUIET_PORT neighbour 200
	coproc FLOOD { ulimit -n 8192; exec "$HERE/probe" "$TARGET" "$PORT" "source=$CLIENT" flood "count=$CROWD" depth=4; }
	flood=$FLOOD_PID
	until read -r line && [[ $line == *ready=* ]]; do :; done <&"${FLOOD[0]}"
	[[ $line == *"ready=$CROWD"* ]] || complain "$line: not $CROWD connections"
	echo "2 4" >&"${FLOOD[1]}"
	until read -r line && [[ $line == *posted=* ]]; do :; done <&"${FLOOD[0]}"
	TO=-beside-checksums PORT=$QUIET_PORT neighbour 200
	[[ $(counters bench) =~ replies\ +0 ]] || complain "beside checksums: requests were done too early"
	kill "$flood"
	wait "$flood" 2>/dev/null || :
	until text=$(<"$DEBUGFS/ports/bench/connections") && [[ ! $text ]]; do :; done
	port_del bench
	# each has sixteen extents to register
	port_add bench "addr=$TARGET" "port=$PORT" recv_size=256 recv_depth=4 max_conns=$((4 * CROWD)) \
		backlog=$((4 * CROWD)) scope=private mr_max=4K region mem size=64K
	"$HERE/probe" "$TARGET" "$PORT" "source=$CLIENT" half "count=$((2 * CROWD))" >/dev/null
	TO=-beside-setups PORT=$QUIET_PORT connects 100
	text=$(<"$DEBUGFS/ports/bench/peers")
	[[ $text == *" setups="[1-9]* ]] || complain "beside setups: all $((2 * CROWD)) connections were set up too early: $text"
	port_del bench
	port_del quiet
}

part_costs() {
	local size
	port_add bench "addr=$TARGET" "port=$PORT" region mem
	cost --what mr,connect -C 50
	for size in 4096 65536 1048576 16777216; do
		for _ in {1..15}; do
			kernel_registration "$size"
		done | percentiles
	done
	target_setup
	port_del bench
	port_add bench "addr=$TARGET" "port=$PORT" max_conns=4096 recv_size=256 recv_depth=4 region mem
	cost --what held --held "$HELD" -C 200
	port_del bench
}

# How long a port, its connections and its device take to come and to go
part_lifecycle() {
	port_add bench "addr=$TARGET" "port=$PORT" enable=0 region mem
	{
		enables
		disables $ENDED 10
		removals 0
		removals $ENDED
		set_enable 1
		teardowns
	} | percentiles
	port_del bench
	port_add bench "addr=$TARGET" "port=$PORT" recv_size=256 recv_depth=4 "max_conns=$CROWD" enable=0 region mem
	disables "$CROWD" 3 | percentiles
	port_del bench
}

# Larger messages, over rxe and TCP, beside which those over siw stand
larger() { # OVER
	lat --over "$1" -S 64K -C 50 -W 10 -o write,read
	lat --over "$1" -S 64K -C 50 -W 10 -o send --half
	lat --over "$1" -S 1M -C 10 -W 2 -o write,read
	lat --over "$1" -S 1M -C 10 -W 2 -o send --half
}

part_larger() {
	local op
	port_add bench "addr=$TARGET" "port=$PORT" recv_size=2M recv_depth=4 region mem size=1M
	larger rdma,tcp
	bw 4096 --over rdma,tcp -o write,read
	for op in write read; do
		frames 1048576 user.$op -o $op
		frames 1048576 tcp.$op --over tcp -o $op
	done
	for op in write read send; do
		frames 64 user.$op -o $op
		frames 64 tcp.$op --over tcp -o $op
	done
	port_del bench
}

# The same over siw, whose devices take the places of rxe's
part_siw() {
	local size op
	modprobe -q siw || {
		complain "there is no siw (CONFIG_RDMA_SIW): not measured" || return 0
	}
	rdma link del rxe_t
	rdma link del rxe_c
	device_add siw_t va
	device_add siw_c vb
	DEVICE=siw-
	port_add bench "addr=$TARGET" "port=$PORT" recv_size=2M recv_depth=16 region mem size=1M
	lat --from user,kernel -S 64,4K -o write,read
	lat --from user,kernel -S 64,4K -o send --half
	larger rdma
	for size in 4096 65536 1048576; do
		bw "$size" --from user,kernel -o write,read
	done
	for op in write read; do
		frames 1048576 siw-user.$op -o $op
	done
	for op in write read send; do
		frames 64 siw-user.$op -o $op
	done
	port_del bench
	DEVICE=
}

((EUID == 0)) || {
	complain "bench.sh: must run as root"
	exit 1
}
"$HERE/topology.sh" up
rtgt tcp-serve -a "$TARGET" >/dev/null &
SERVER=$!
trap 'kill "$SERVER"; port_del bench; module_unload; "$HERE/topology.sh" down' EXIT
wait_until 20 listens 7472
module_load

for part in operations beside neighbour costs lifecycle larger siw; do
	if [[ " ${BENCH_PARTS:-$part} " == *" $part "* ]]; then
		"part_$part"
	fi
done
