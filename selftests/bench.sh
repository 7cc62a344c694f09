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

TARGET=${RTGT_TARGET_ADDR:-198.51.100.1}
CLIENT=${RTGT_CLIENT_ADDR:-198.51.100.2}
COUNT=${BENCH_COUNT:-1000}
PORT=7480
PERFTEST_PORT=18515

# What rtgt lat measured, from its JSON; over TCP it is "tcp" and not "user"
lat() { # OPTION...
	rtgt -j lat -p "$PORT" -I "$CLIENT" -C "$COUNT" "$@" "$TARGET" |
		jq -r '.results[] | select(.skipped | not) | [(if .over == "tcp" then .over else .from end) + "." + .op + "." +
			(.size | tostring) + (if .trip == "half" then ".half" else "" end), .us.min, .us.p50, .us.p99] | @tsv'
}

# What rtgt bw measured: MiB a second of 16 MiB
bw() { # BYTES OPTION...
	rtgt -j bw -p "$PORT" -I "$CLIENT" -S "$1" -C $(((16 << 20) / $1)) -W 16 "${@:2}" "$TARGET" |
		jq -r '.results[] | select(.skipped | not) | [(if .over == "tcp" then .over else .from end) + "." + .op + "-bw." +
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
# measure on one processor, so there are none of its WRITEs here.

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
perftest_bw() { # NAME BYTES PROGRAM
	local out
	"$3" -d rxe_t -p $PERFTEST_PORT -F -e -s "$2" -n $(((16 << 20) / $2)) >/dev/null 2>&1 &
	wait_until 20 listens $PERFTEST_PORT
	out=$("$3" -d rxe_c -p $PERFTEST_PORT -F -e -s "$2" -n $(((16 << 20) / $2)) "$TARGET" 2>/dev/null)
	wait $!
	awk -v name="$1" -v size="$2" '$1 == size && NF >= 4 { printf "%s\t%s\t%s\t%s\n", name, $4, $4, $4 }' <<<"$out"
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
port_add bench "addr=$TARGET" "port=$PORT" recv_size=64K region mem size=1M access=read,write,atomic

lat --from user,kernel -S 64 -o write,read,cas,faa
lat --from user,kernel -S 64 -o send,write-imm --half
lat --over tcp -S 64,4K -o write,read
lat --over tcp -S 64,4K -o send --half
lat --from user,kernel -S 4K -o write,read
lat --from user,kernel -S 4K -o send --half
perftest perftest.send.64.half 64 ib_send_lat -s 64
perftest perftest.read.64 64 ib_read_lat -s 64
perftest perftest.atomic.8 8 ib_atomic_lat
perftest perftest.send.4096.half 4096 ib_send_lat -s 4096
perftest perftest.read.4096 4096 ib_read_lat -s 4096
for size in 65536 1048576; do
	bw "$size" --from user,kernel --over rdma,tcp -o write,read
	perftest_bw "perftest.send-bw.$size" "$size" ib_send_bw
	perftest_bw "perftest.read-bw.$size" "$size" ib_read_bw
done
