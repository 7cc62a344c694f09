#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# wire_faults.sh: what each fault of the wire does to each operation: a packet of the request or of
# the answer is lost, copied, late, out of order, corrupt, cut or forged, once or always, by
# rtgt bridge.  rtgt ping verifies every byte, and that an atomic is executed once.  What a device may
# not survive it has to report.
#
# A run without a fault tells which message of the connection the operation is.  Each cell is a line
# of the output; scripts/wire-faults-table makes a table of them.
#
# weight 1.0 8.9

# $ is jq's
# shellcheck disable=SC2016
. "${0%/*}/lib.sh"
. "$HERE/bridge_fixtures.sh"

# NAME OPERATIONS: RULE[; RULE].  AT is the message; of OPERATIONS those count that have such a packet: all,
# long (several packets), acked, answered (with data), read (several packets of data).
FAULTS=(
	"first-lost all: drop AT packet=1 tx=1"
	"middle-lost long: drop AT packet=3 tx=1"
	"last-lost long: drop AT packet=last tx=1"
	"lost-twice all: drop AT packet=last tx=1-2"
	"lost-always all: drop AT packet=last"
	"copied all: dup AT packet=1 tx=1"
	"late all: delay=5ms AT packet=1 tx=1"
	"swapped long: reorder=1 AT packet=2 tx=1"
	"corrupt all: corrupt AT packet=1 tx=1"
	"cut all: truncate=60 AT packet=1 tx=1"
	"marked all: mark AT packet=1 tx=1"
	"forged long: forge AT packet=2 tx=1"
	"nak-lost long: drop AT packet=2 tx=1; drop conn=1 is=nak count=1"
	"nak-copied long: drop AT packet=2 tx=1; dup conn=1 is=nak count=1"
	"nak-late long: drop AT packet=2 tx=1; delay=5ms conn=1 is=nak count=1"
	"ack-lost acked: drop AT is=ack tx=1"
	"ack-copied acked: dup AT is=ack tx=1"
	"ack-late acked: delay=5ms AT is=ack tx=1"
	"ack-lost-always acked: drop AT is=ack"
	"answer-lost answered: drop AT is=response packet=1 tx=1"
	"answer-copied answered: dup AT is=response packet=1 tx=1"
	"answer-late answered: delay=5ms AT is=response packet=1 tx=1"
	"answer-corrupt answered: corrupt AT is=response packet=1 tx=1"
	"answer-lost-always answered: drop AT is=response packet=1"
	"answer-middle-lost read: drop AT is=response packet=3 tx=1"
	"answer-last-lost read: drop AT is=response packet=last tx=1"
	"answer-swapped read: reorder=1 AT is=response packet=2 tx=1"
	"answer-forged read: forge AT is=response packet=2 tx=1"
)

declare -A BYTES=([write]=5000 [write-imm]=5000 [send]=4000 [read]=5000 [cas]=8 [faa]=8)

# Has the operation the packets that a fault needs?
affected() { # OPERATION WHICH
	case $2 in
	all) true ;;
	long) [[ $1 == write* || $1 == send ]] ;;
	acked) [[ $1 == write* || $1 == send ]] ;;
	answered) [[ $1 == read || $1 == cas || $1 == faa ]] ;;
	read) [[ $1 == read ]] ;;
	esac
}

# The messages of the first connection that the client sent, as the client's side has them; $all has
# the packets, too.
messages() { # JQ-FILTER
	rtgt explain --json -i client "$WORK/both.pcapng" |
		jq -s -rc ". as \$all | map(select(.type == \"message\" and .connection == 1 and .from == \"client\")) | sort_by(.id) | $1"
}

# Of a message: what became of it, its packets, and the microseconds from the first one to the answer, to
# the first NAK, and to the first packet that is sent again.
TOLD='. as $m | def us: if . then (.time - $m.time) * 1e6 | round else "-" end;
	[$all[] | select(.type == "packet" and .message == $m.id)] |
	"\($m.status) needed=\($m.needed) sent=\($m.sent) again=\($m.retransmitted) us=\($m.rtt_us // "-")" +
	" nak_us=\(map(select(.line | contains(" NAK "))) | first | us)" +
	" again_us=\(map(select(.class == "retransmitted" and .from == "client")) | first | us)"'

run() { # OPERATION SECONDS
	RC=0
	ping -o "$1" -S "${BYTES[$1]}" -C 1 --timeout "$2" >"$WORK/said" 2>&1 || RC=$?
	end_bridge
}

# One cell.  A message that is forged is noticed by the program; one that is always lost fails.
cell() { # OPERATION FAULT RULE MESSAGE
	local told side limit rule from=client
	local -a rules=()
	while IFS= read -r -d ';' rule; do
		# an answer comes from the other end
		[[ $rule != *AT*is=* ]] || from=server
		rules+=("fault${#rules[@]}: ${rule/AT/conn=1 message=$4 from=$from}")
	done <<<"$3;"
	bridge "${rules[@]}"
	[[ $2 == *-always ]] && limit=3 || limit=30
	run "$1" "$limit"
	for ((rule = 0; rule < ${#rules[@]}; rule++)); do
		[[ $SAID == *$'\n'"fault$rule: "*": "[1-9]*" of "* ]] || fail "$1, $2: the fault has hit nothing: $SAID"
	done
	case $2 in
	*forged)
		((RC == 1)) || fail "$1, $2: nobody noticed: $(<"$WORK/said")"
		grep -q "is 0x[0-9a-f]*, expected 0x\|CRC" "$WORK/said" || fail "$1, $2: $(<"$WORK/said")"
		;;
	*lost-always)
		((RC == 1)) || fail "$1, $2: $(<"$WORK/said")"
		# rxe takes the largest retry_cnt for "for ever" (Documentation/findings/not-pursued.rst)
		grep -q -e "no completion within 3 s" -e "retry counter exceeded" "$WORK/said" || fail "$1, $2: $(<"$WORK/said")"
		;;
	*)
		((RC == 0)) || fail "$1, $2: exit $RC: $(<"$WORK/said") $SAID"
		;;
	esac
	# the side of the end whose packets are hit has them as they were sent
	[[ $from == client ]] && side=client || side=target
	rtgt explain --check --complete --profile rxe -i "$side" "$WORK/both.pcapng" >"$WORK/judged" || fail "$1, $2: $(<"$WORK/judged")"
	told=$(messages ".[$4 - 1] | $TOLD")
	note "wire $1 $2: $told $(sed -n 's/.* \([0-9]*\) RNR, \([0-9]*\) NAK.*/naks=\2/p' "$WORK/judged")"
}

# The cells whose faults have a name like this.
matrix() { # OPERATION PATTERN
	local fault name which at
	two_devices
	target_port recv_size=8K recv_depth=16 region mem size=8K access=read,write,atomic
	bridge
	run "$1" 30
	((RC == 0)) || fail "$(<"$WORK/said")"
	case $1 in
	write-imm) at='map(.op | startswith("WRITE_WITH_IMM")) | index(true)' ;;
	write) at='map(.op == "WRITE") | rindex(true)' ;;
	*) at="map(.op == \"${1^^}\") | index(true)" ;;
	esac
	at=$(($(messages "$at") + 1))
	((at > 0)) || fail "no such message: $(messages 'map(.op)')"
	for fault in "${FAULTS[@]}"; do
		name=${fault%%:*}
		which=${name#* }
		# shellcheck disable=SC2053 # a pattern
		if [[ ${name% *} == $2 ]] && affected "$1" "$which"; then
			cell "$1" "${name% *}" "${fault#*: }" "$at"
		fi
	done
}

# Messages that are measured, by their size
declare -A MESSAGES=([1K]=400 [8K]=200 [64K]=60)

# Packets with data of the client's are lost at random.  What it sends then, and how long that takes.
loss() { # rxe|siw|tcp
	local RTGT_DEVICE=$1 over=rdma size rate told
	[[ $1 != tcp ]] || RTGT_DEVICE=rxe over=tcp
	modprobe -q "$RTGT_DEVICE" || modprobe -q "rdma_$RTGT_DEVICE" || skip "no siw, the software iWARP device"
	two_devices
	target_port recv_size=8K region mem size=1M
	if [[ $over == tcp ]]; then
		TCP_PORT=$((30000 + CASE_INDEX))
		background server rtgt tcp-serve -a "$RTGT_TARGET_ADDR" -p "$TCP_PORT"
		wait_line server listening
	fi
	for size in 1K 8K 64K; do
		for rate in 0 0.1 1 5; do
			local -a rule=(--rule "drop port=client size=1000- chance=$rate%")
			[[ $rate != 0 ]] || rule=()
			background bridge rtgt -j bridge --quiet --seed 1 "${rule[@]}" target=wa client=wb
			wait_line bridge begin
			rtgt -j bw --over "$over" -o write -S "$size" -C "${MESSAGES[$size]}" -t 4 -W 0 -p "$CM_PORT" ${TCP_PORT:+--tcp-port "$TCP_PORT"} \
				--timeout 60 -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/json" || fail "$1 $size $rate%: $(<"$WORK/json")"
			end_bridge
			told=$(jq -r 'select(.type == "summary") | "bytes=\(.ports[] | select(.port == "client") | .bytes_in) lost=\(.dropped)"' "$WORK/bridge.out")
			[[ $rate == 0 || $rate == 0.1 || $told != *lost=0 ]] || fail "nothing was lost: $told"
			note "loss $1 $size $rate: $told $(jq -r '.results[0] | "messages=\(.messages) us=\(.elapsed_us)"' "$WORK/json")"
		done
	done
}

for what in rxe siw tcp; do
	tcase "loss-$what" --long --limit 900 --needs cm "what random loss costs, over $what" loss "$what"
done
for op in write write-imm send read cas faa; do
	tcase "$op" --more --limit 120 --needs cm "each fault of the wire, at a packet of ${op^^}" matrix "$op" "!(*-always)"
	tcase "$op-always" --long --limit 300 --needs cm "each fault that lasts, at a packet of ${op^^}" matrix "$op" "*-always"
done

tmain "$@"
