#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# bw.sh: rtgt bw, and TCP as a transport of rtgt lat and rtgt bw.
#
# No case judges a speed: what is told is that all messages arrived, that the bytes
# were compared and that the document is valid.
#
# weight 1.9 2.7 smp

. "${0%/*}/lib.sh"

# A TCP server on the target's machine, TCP_PORT; it dies with the case.
tcp_server() { # [OPTION...]
	TCP_PORT=$((30000 + CASE_INDEX))
	background server on_target "$HERE/machine.sh" hold rtgt tcp-serve -a "$RTGT_TARGET_ADDR" -p "$TCP_PORT" "$@"
	wait_line server listening
}

# rtgt COMMAND to PORT and to the TCP server, if there are any.
measure() { # COMMAND [OPTION...]
	local command=$1
	shift
	rtgt -j "$command" ${CM_PORT:+-p "$CM_PORT"} ${TCP_PORT:+--tcp-port "$TCP_PORT"} -I "$RTGT_CLIENT_ADDR" "$@" \
		"$RTGT_TARGET_ADDR" >"$WORK/json"
}

# The document has so many rows, and FILTER is true of each.  The rows of an operation that the
# device lacks are skipped with that reason; over TCP it is there.
rows() { # NUMBER FILTER
	local lacks=null
	has_op write-imm || lacks='"write-imm"'
	document "$WORK/json"
	same "rows" "$(jq '.results | length' "$WORK/json")" "$1"
	same "rows that are wrong" "$(jq -c "[.results[] | select(if .over == \"rdma\" and .op == $lacks then
			.skipped != \"the device has no immediates (it is iWARP)\" else .skipped or ($2 | not) end)]" "$WORK/json")" "[]"
}

# expect_counters, and so many immediates if the device has them.
expect_imms() { # IMMEDIATES NAME=VALUE...
	local imms=$1
	has_op write-imm || imms=0
	expect_counters "imms=$imms" "${@:2}"
}

client_module() {
	[[ -z $RTGT_PEER ]] || {
		defer module_unload
		module_load
	}
}

# All operations, from either initiator, over either transport.
ops() {
	target_port recv_size=8K recv_depth=16 region mem size=256K
	client_module
	tcp_server -s 256K
	measure bw --from user,kernel --over rdma,tcp -o write,read,send,write-imm,write+read -S 1,4K -C 20 -W 0 -t 8
	# the kernel compares each echo, the rest compares every place, READs once more after the run; if the
	# first requests are done before the last ones have begun, the kernel uses fewer places
	rows 30 '.messages == 20 * .qps and .bytes == .messages * .size and .elapsed_us > 0 and
		.verified_bytes <= .size * (if .from == "kernel" and .op == "send" then 20 else 8 * .qps end) and
		.verified_bytes >= .size * (if .from != "kernel" then 8 * .qps elif .op == "send" then 20 else .qps end) and
		(.from != "kernel" or .verified_bytes + ([.not_compared[].bytes] | add // 0) >= .bytes) and
		(.from != "kernel" or (.op | test("read")) or .verified_bytes + ([.not_compared[].bytes] | add // 0) == .bytes)'
	same "transports" "$(jq -c '[.results[] | .from + .over] | unique' "$WORK/json")" '["kernelrdma","userrdma","usertcp"]'
	expect_imms 80 qp_errors=0 malformed=0
	expect_no_connections
}

# Several connections, a completion for one in four: the target counts all of it.
moderated() {
	local conns=10
	has_op write-imm || conns=7
	target_port recv_size=8K recv_depth=16 region mem size=256K
	tcp_server -s 256K
	measure bw --over rdma,tcp -o write-imm,write,read -S 3000 -C 30 -W 10 -q 3 -Q 4 -t 8
	rows 6 '.qps == 3 and .signal == 4 and .messages == 90 and .verified_bytes == 3 * 8 * 3000'
	# one to ask, three for each operation
	expect_imms 120 "conns_established=$conns" "conns_closed=$conns" qp_errors=0
}

sent_packets() {
	cat "/sys/class/infiniband/$RTGT_CLIENT_DEV/ports/1/hw_counters/sent_pkts"
}

# A READ is a packet that asks; in parts it is three.
reads_in_parts() {
	local -a sent
	sent=("$(sent_packets)")
	measure bw --from kernel -o read --verify all -S 5000 -C 7 -t 4
	sent+=("$(sent_packets)")
	measure bw --from kernel -o read --verify all -S 5000 -C 7 -t 4 --segment 1700
	sent+=("$(sent_packets)")
	((sent[2] - sent[1] >= sent[1] - sent[0] + 7 * 2)) || fail "packets sent: ${sent[*]}: not in parts"
}

# A siw device counts no packets, so the READ requests are counted on the wire.
reads_in_parts_iwarp() {
	background watch rtgt explain -i "$(netdev "$RTGT_CLIENT_DEV")" -f "tcp port $CM_PORT"
	wait_until 10 grep -q listening "$WORK/watch.err" || fail "it does not listen: $(<"$WORK/watch.err")"
	measure bw --from kernel -o read --verify all -S 5000 -C 7 -t 4
	wait_until 10 requested 7 || fail "READs: $REQUESTED instead of 7"
	measure bw --from kernel -o read --verify all -S 5000 -C 7 -t 4 --segment 1700
	wait_until 10 requested $((7 + 7 * 3)) || fail "READs: $REQUESTED: not in parts"
}

requested() { # READS
	REQUESTED=$(grep -c "READ Request" "$WORK/watch.out") || :
	((REQUESTED == $1))
}

# Each message, and no more than fit beside each other in between.
verified() {
	target_port recv_size=8K recv_depth=16 region mem size=40000
	tcp_server -s 40000
	measure bw --over rdma,tcp -o write,read,send,write-imm,write+read --verify all -S 5000 -C 7 -t 4
	rows 10 '.verify == "all" and .verified_bytes == .bytes and .messages == 7 * .qps'
	expect_imms 7 qp_errors=0
	client_module
	measure bw --from kernel -o write,read,send,write-imm,write+read --verify all -S 5000 -C 7 -t 4 -Q 3
	rows 5 '.verify == "all" and .verified_bytes == .bytes and .messages == 7 * .qps and
		.signal == (if .op == "send" or .op == "write-imm" then 1 else 3 end)'
	expect_imms 14 qp_errors=0
	measure bw --from kernel -o write,read --verify all -S 5000 -C 7 -t 4 --segment 1700
	rows 2 '.segment == 1700 and .verified_bytes == .bytes and .messages == 7'
	if is_iwarp; then
		reads_in_parts_iwarp
	else
		reads_in_parts
	fi
	measure bw --from kernel -o send -S 5000 -C 7 -t 4 --segment 1700
	same "why" "$(jq -r '.results[0].skipped' "$WORK/json")" "--segment cuts WRITEs and READs"
}

# The bulk case of the walkthrough, a part of it.
bulk() {
	local over
	local -a smaller=()
	# it uses one rkey
	fit_mr $((4 << 20))
	((MR_BYTES == 4 << 20)) || smaller=(-S "$MR_BYTES")
	target_port region mem size=8M
	tcp_server -s 8M
	rtgt bw --bulk "${smaller[@]}" -C 3 -p "$CM_PORT" --tcp-port "$TCP_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/text"
	for over in rdma tcp; do
		grep -q "^user *$over *write *$MR_BYTES *1 *16 *3 *$((3 * MR_BYTES)) " "$WORK/text" || fail "$(<"$WORK/text")"
	done
}

# So long, and somebody is told how far it is.
duration() {
	target_port region mem size=64K
	tcp_server
	measure bw --over rdma -D 3 -S 4K --progress 2>"$WORK/progress"
	rows 1 '.elapsed_us >= 3000000 and .messages > 0'
	# on a machine that stands still for seconds the line comes later
	grep -Eq "^rtgt: user write of 4096 bytes over rdma: [0-9]+ s(, [0-9]+ done)?$" "$WORK/progress" || fail "$(<"$WORK/progress")"
	measure bw --over tcp -D 1 -S 4K 2>"$WORK/progress"
	rows 1 '.elapsed_us >= 1000000 and .messages > 0'
	client_module
	measure bw --from kernel -D 1 -S 4K -q 2 -Q 4 2>>"$WORK/progress"
	rows 1 '.elapsed_us >= 1000000 and .messages > 0'
	same "told where nobody asked" "$(<"$WORK/progress")" ""
}

# RTGT_OPS messages (a million), each compared, from both initiators: as many as fit beside each
# other, a few less, and more.
million() {
	local wanted=${RTGT_OPS:-1000000} done=0 count n ops=write,read,send
	! has_op write-imm || ops+=,write-imm
	target_port recv_size=8K recv_depth=16 region mem size=1M
	client_module
	while ((done < wanted)); do
		for count in 9 16 4000; do
			measure bw --from user,kernel -o "$ops" -S 600 -C "$count" -t 8 -W 0 --verify all
			n=$(jq '[.results[] | select(.skipped | not) | .verified_bytes / .size] | add' "$WORK/json")
			((n >= count * 6)) || fail "of $count messages each, $n in all were compared: $(<"$WORK/json")"
			done=$((done + n))
		done
	done
	note "$done messages compared"
}

# The target replies, but what acknowledges the requests is lost: the send queue, which has room for
# more than one operation, is full, until the target's device is heard again.
send_queue_full() { # REPLIES COMMAND...
	local dev
	target_port region mem size=64K
	dev=$(netdev "$RTGT_TARGET_DEV")
	# RC Acknowledge
	disturb_device "$dev" "u8 0x11 0xff at 28" loss 100%
	background sender rtgt "${@:2}" -C 200 -W 0 -S 64 --timeout 30 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR"
	wait_until 20 counters_are replies="$1" || fail "$COUNTERS $(<"$WORK/sender.err")"
	counters_are conns_closed=0 || fail "$COUNTERS"
	tc qdisc change dev "$dev" parent 1:3 netem loss 0%
	finish sender
	expect_counters qp_errors=0 malformed=0
}

# A name with several addresses, of which the first leads nowhere: to no RDMA device, to no server.
names() {
	[[ -e /etc/hosts ]] || {
		defer rm /etc/hosts
		: >/etc/hosts || skip "/etc is read-only"
	}
	defer umount /etc/hosts
	printf '%s\n' "2001:db8::99 target.example" "$RTGT_TARGET_ADDR target.example" >"$WORK/hosts"
	mount --bind "$WORK/hosts" /etc/hosts
	target_port region mem size=64K
	tcp_server
	client_module
	rtgt lat --from user,kernel --over rdma,tcp -o write -S 64 -C 10 -W 0 -p "$CM_PORT" --tcp-port "$TCP_PORT" \
		-I "$RTGT_CLIENT_ADDR" target.example >"$WORK/said" 2>&1 || fail "$(<"$WORK/said")"
	rtgt ping -p "$CM_PORT" -o write -S 64 -C 1 target.example >"$WORK/said" 2>&1 || fail "$(<"$WORK/said")"
}

# The completion of the last WRITE_WITH_IMM comes before the reply or behind it, when the checksum
# has been asked for.
lat_last_send() {
	target_port region mem size=64K
	measure lat -o write-imm -C 1 -W 0 -S "$(seq -s , 101 140)"
}

# awk computes the figures of the JSON document once more, from the samples.
# From user space it takes nothing of the module's.
lat_no_module() {
	target_port region mem
	mkdir "$WORK/empty"
	# shellcheck disable=SC2016 # for the shell in there
	unshare --mount sh -c 'mount --bind "$0" /sys/kernel/config && exec "$@"' "$WORK/empty" rtgt lat -C 10 -S 64 \
		--over rdma -o write -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/text" 2>&1 || fail "$(<"$WORK/text")"
}

lat_samples() {
	local want
	target_port region mem size=64K
	measure lat -o write,read -S 64,128 -C 250 -W 5 --samples "$WORK/samples"
	rows 4 '.count == 250'
	same "samples" "$(cut -f 1-4 "$WORK/samples" | uniq -c | tr -s ' \t' ' ')" \
		" 250 user rdma write 64"$'\n'" 250 user rdma write 128"$'\n'" 250 user rdma read 64"$'\n'" 250 user rdma read 128"
	same "numbers" "$(cut -f 5 "$WORK/samples" | sort -n | uniq -c | awk '$1 != 4 || $2 != NR - 1' | wc -l)" 0
	# nearest rank: of 250 the 125th, the 225th, the 248th and, of 99.9 and 99.99 %, the last
	want=$(awk -F '\t' '$3 == "read" && $4 == 128 { print $6 }' "$WORK/samples" | sort -n | awk '
		{ v[NR] = $1; sum += $1 }
		END {
			for (i = 1; i <= NR; i++) squares += (v[i] - sum / NR) ^ 2
			printf "%.2f %.2f %.2f %.2f %.2f %.2f %.1f", v[1] / 1000, v[125] / 1000, v[225] / 1000, v[248] / 1000, v[250] / 1000, v[250] / 1000, sqrt(squares / NR) / 1000
		}')
	same "times" "$(jq -r '.results[3].us | [.min, .p50, .p90, .p99, .p99_9, .p99_99, .stdev] | @tsv' "$WORK/json" |
		awk '{ printf "%.2f %.2f %.2f %.2f %.2f %.2f %.1f", $1, $2, $3, $4, $5, $6, $7 }')" "$want"
	fails_with "none/x: No such file" rtgt lat --samples "$WORK/none/x" "$RTGT_TARGET_ADDR"
}

# What perftest's users type.
as_perftest() {
	local dev=$RTGT_CLIENT_DEV other mtu index
	local -a bytes
	target_port recv_size=8K recv_depth=16 region mem size=64K
	TO=(-p "$CM_PORT" "$RTGT_TARGET_ADDR")
	rtgt -j lat -a -F -n 3 -W 0 -o write "${TO[@]}" >"$WORK/json"
	document "$WORK/json"
	same "sizes" "$(jq -c '[.results[].size] == [range(1; 24) | pow(2; .)]' "$WORK/json")" true
	same "sizes that fit" "$(jq '[.results[] | select(.skipped | not)] | length' "$WORK/json")" 16
	rtgt -j bw -d "$dev" -s 4096 -n 20 -q 2 -t 8 -Q 4 -o read "${TO[@]}" >"$WORK/json"
	same "device" "$(jq -r .facts.device "$WORK/json")" "$dev"
	mtu=$(jq .facts.path_mtu "$WORK/json")
	# the entry of the GID table that is the client's address
	IFS=. read -ra bytes <<<"$RTGT_CLIENT_ADDR"
	other=$(printf '%02x%02x:%02x%02x' "${bytes[@]}")
	index=$(grep -lix "0000:0000:0000:0000:0000:ffff:$other" "/sys/class/infiniband/$dev/ports/1/gids/"* 2>/dev/null | head -n 1) || :
	if ! is_iwarp; then
		[[ $index ]] || fail "no GID of $dev is $RTGT_CLIENT_ADDR ($other)"
		rtgt -j lat -d "$dev" -x "${index##*/}" -m "$mtu" -n 3 -o write "${TO[@]}" >"$WORK/json"
		same "source" "$(jq -r .facts.source "$WORK/json")" "$RTGT_CLIENT_ADDR"
		fails_with "-m 256: the path MTU is $mtu" rtgt lat -m 256 -d "$dev" -n 3 -o write "${TO[@]}"
	fi
	rtgt bw --report_gbits -n 20 -o write -s 4096 -d "$dev" "${TO[@]}" >"$WORK/text"
	awk 'NR == 1 && $9 == "Gbit/s" { told++ } NR == 2 && $9 > 0 && $9 * 1e9 / 8 / 4096 / $10 > 0.5 && $9 * 1e9 / 8 / 4096 / $10 < 2 { told++ }
		END { exit told != 2 }' "$WORK/text" || fail "$(<"$WORK/text")"
	rtgt lat -H -n 7 -W 0 -o write -d "$dev" "${TO[@]}" >"$WORK/text"
	same "operations that are listed" "$(grep -cE '^[1-7], [0-9]+\.[0-9]{3}$' "$WORK/text")" 7
	rtgt -j lat -D 1 -W 0 -o write -d "$dev" "${TO[@]}" >"$WORK/json"
	rows 1 '.elapsed_us >= 1000000 and .count > 10 and .verified_bytes == 64'
	expect_counters qp_errors=0 malformed=0
	fails_with "no such RDMA device" rtgt lat -d none0 "${TO[@]}"
	fails_with "has no such entry" rtgt lat -d "$dev" -x 60000 "${TO[@]}"
	fails_with "one of them" rtgt lat -d "$dev" -I "$RTGT_CLIENT_ADDR" "${TO[@]}"
	fails_with "takes a count" rtgt lat -D 1 --from kernel "${TO[@]}"
}

# Operations beside others, of each initiator.
lat_load() {
	target_port region mem size=256K
	client_module
	tcp_server
	measure lat --from user,kernel --over rdma,tcp --load 2 -o write,read -C 30
	rows 6 '.load == 2 and .load_bytes > 0 and .verified_bytes >= .size'
	expect_counters qp_errors=0 malformed=0
	expect_no_connections
	measure lat --load 1 -o write -S 256K
	same "why" "$(jq -r '.results[0].skipped' "$WORK/json")" \
		"--load 1: region 0 has 262144 bytes, and what is measured uses the first 262144"
	fails_with "makes connections over RDMA" rtgt lat --load 1 --over tcp "$RTGT_TARGET_ADDR"
}

# rtgt lat prints its progress while an operation stalls; and a connection that moves bytes beside
# the operations fails in words of its own.
stalled() {
	local after=0
	target_port region mem size=256K
	local -a lat=(rtgt lat -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" --over rdma -o send -S 64 "$RTGT_TARGET_ADDR")
	# over iWARP the first reply has the capabilities
	! is_iwarp || after=1
	target attr_set "$CONFIGFS/ports/$PORT/faults" "reply-drop every 1 after $after"
	! "${lat[@]}" --progress --timeout 6 >"$WORK/text" 2>&1 || fail "it succeeded"
	grep -q "the target sent no reply within 6 s" "$WORK/text" || fail "$(<"$WORK/text")"
	grep -Eq "^rtgt: user send of 64 bytes over rdma: [2-5] s, 0 % " "$WORK/text" || fail "$(<"$WORK/text")"
	is_iwarp && return
	target attr_set "$CONFIGFS/ports/$PORT/faults" off
	# WRITEs are lost, and nothing else
	disturb "u8 0x06 0xfe at 28" loss 100%
	fails_with "no completion within 3 s" "${lat[@]}" --load 1 --timeout 3 -D 30
}

# A document in each case: nobody is there, it fails half way, somebody ends it.
documents() {
	local command rc
	for command in lat bw cost; do
		CM_PORT=$((20000 + CASE_INDEX))
		rc=0
		rtgt -j "$command" -p "$CM_PORT" --timeout 2 -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/json" 2>"$WORK/said" || rc=$?
		same "exit status" "$rc" 1
		document "$WORK/json"
		same "results" "$(jq -c '[.results, (.errors | length), (.errors[0].errno > 0)]' "$WORK/json")" "[[],1,true]"
		grep -qF "$(jq -r '.errors[0].text' "$WORK/json")" "$WORK/said" || fail "$(<"$WORK/said")"
	done
	target_port region mem size=64K
	for command in lat bw; do
		background ended rtgt -j "$command" -D 60 -o write -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR"
		wait_until 20 counters_are conns_established="$([[ $command == lat ]] && echo 1 || echo 3)" || fail "$COUNTERS"
		kill -TERM "${BG_PID[ended]}"
		rc=0
		finish ended || rc=$?
		same "exit status" "$rc" 130
		document "$WORK/ended.out"
		same "errors" "$(jq -c '[.errors[] | [.text, .op]]' "$WORK/ended.out")" '[["interrupted","write"]]'
	done
	expect_no_connections
}

# rtgt lat over TCP, beside RDMA.
lat_tcp() {
	target_port recv_size=8K region mem size=64K access=read,write,atomic
	tcp_server
	measure lat --over rdma,tcp -o write,read,send,write-imm -S 1,4K -C 20 -W 2 "$@"
	rows 16 '.count == 20 and .verified_bytes == .size and .us.min > 0'
	measure lat --over tcp -o cas,write -S 64 -C 5
	same "what TCP has not" "$(jq -r '.results[] | select(.op == "cas").skipped' "$WORK/json")" "TCP has no atomics"
	document "$WORK/json"
	same "device" "$(jq -r .facts.device "$WORK/json")" none
}

# With one processor rtgt lat lets the kernel's workers go first where they do all of it,
# unless it spins or was started with a policy of its own.
gives_way() {
	local want
	target_port recv_size=1K region mem size=64K access=read,write,atomic
	client_module
	tcp_server
	# what answers a SEND is a program, or the module
	device_ops write,read,cas
	want=$(if (($(nproc) == 1)); then echo "${OPS//,/ }"; fi)
	measure lat --from user,kernel --over rdma,tcp -o write,read,cas,send -C 20
	document "$WORK/json"
	same "who gives way" "$(jq -r '[.results[] | select(.gives_way) | if .from + .over == "userrdma" then .op else "other" end] | join(" ")' "$WORK/json")" "$want"
	measure lat --poll -C 20 -o read
	same "who spins gives way" "$(jq .results[0].gives_way "$WORK/json")" false
	chrt -b 0 rtgt -j lat -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" -C 20 -o read "$RTGT_TARGET_ADDR" >"$WORK/json"
	same "who has a policy of their own gives way" "$(jq .results[0].gives_way "$WORK/json")" false
}

# What the document says of the machine.
schema() {
	local command
	target_port region mem size=64K
	tcp_server
	for command in lat bw; do
		measure "$command" --over rdma,tcp -C 3 -W 0 -o write
		document "$WORK/json"
	done
	[[ -z ${RTGT_ACCEL:-} ]] || same "accelerator" "$(jq -r .facts.accelerator "$WORK/json")" "$RTGT_ACCEL"
	RTGT_TIME=virtual measure bw -C 5
	same "time" "$(jq -r .facts.time "$WORK/json")" virtual
}

# What cannot be is told, and why.
says_why() {
	target_port recv_depth=4 recv_size=1K region mem size=64K access=read
	measure bw -o write,read,send,write+read -S 1K,32K -q 2 -C 5 -W 0 -t 8
	document "$WORK/json"
	same "why" "$(jq -r '.results[] | "\(.op) \(.size) \(.skipped // "done")"' "$WORK/json")" \
		"write 1024 region 0 does not grant it (there: rtgt region set PORT/NAME access)
write 32768 region 0 does not grant it (there: rtgt region set PORT/NAME access)
read 1024 done
read 32768 done
send 1024 the target takes SENDs of 1008 bytes (there: rtgt port set PORT recv_size)
send 32768 the target takes SENDs of 1008 bytes (there: rtgt port set PORT recv_size)
write+read 1024 region 0 does not grant it (there: rtgt region set PORT/NAME access)
write+read 32768 the target's memory has 65536 bytes for 4 connections"
	measure bw -o send -S 64 -t 8
	same "why" "$(jq -r '.results[0].skipped' "$WORK/json")" "depth 8: the target's recv_depth is 4: smaller -t, or more there"
	fails_with "rtgt tcp-serve there serves it" measure bw --over tcp --tcp-port 1
	fails_with "never be a completion" rtgt bw -t 4 -Q 5 "$RTGT_TARGET_ADDR"
	fails_with "no TCP initiator" rtgt bw --from kernel --over tcp "$RTGT_TARGET_ADDR"
	fails_with "end or all" rtgt bw --verify some "$RTGT_TARGET_ADDR"
	fails_with "for the kernel's initiator" rtgt bw --segment 4K "$RTGT_TARGET_ADDR"
	fails_with "1 to 16M" rtgt bw --from kernel --segment 17M "$RTGT_TARGET_ADDR"
	fails_with "no \"cas\"" rtgt bw -o cas "$RTGT_TARGET_ADDR"
	fails_with "takes a count" rtgt bw -D 1 --verify all "$RTGT_TARGET_ADDR"
	target_port mr_max=4K region mem size=64K
	measure lat -o write -S 8K
	same "why" "$(jq -r '.results[0].skipped' "$WORK/json")" "region 0 has 4096 bytes in its first extent: smaller -S, or a larger region there"
	measure bw -o write -S 8K
	same "why" "$(jq -r '.results[0].skipped' "$WORK/json")" "the target's memory has 4096 bytes in its first extent for 1 connection"
}

one_connection() {
	# shellcheck disable=SC2119 # the options are its own
	example_server
	fails_with "accepts no further connection" \
		rtgt bw -o write -S 64 -C 10 --timeout 2 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR"
}

# The server goes while it is measured.
server_goes() {
	TCP_PORT=$((30000 + CASE_INDEX))
	background server rtgt tcp-serve -a "$RTGT_TARGET_ADDR" -p "$TCP_PORT"
	wait_line server listening
	background bw rtgt bw --over tcp -D 600 --tcp-port "$TCP_PORT" -q 2 -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR"
	wait_until 10 connected 3 || fail "it does not run: $(cat "$WORK/bw.err")"
	kill "${BG_PID[server]}"
	wait_until 10 process_gone "${BG_PID[bw]}" || fail "it goes on without a server"
	! finish bw || fail "it says that all went well"
	grep -q "^rtgt: bw write over tcp: .*\(hung up\|reset\|Broken pipe\)" "$WORK/bw.err" || fail "$(<"$WORK/bw.err")"
}

connected() { # NUMBER
	local hex
	printf -v hex ':%04X 01' "$TCP_PORT"
	(($(grep -c "$hex" /proc/net/tcp) >= $1))
}

# The port is disabled while it is measured: all connections end.
port_goes() {
	target_port region mem size=64K
	background bw rtgt bw -D 600 -p "$CM_PORT" -q 2 -S 4K -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR"
	wait_until 10 counters_are conns_established=3 || fail "it does not run: $(cat "$WORK/bw.err")"
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	wait_until 10 process_gone "${BG_PID[bw]}" || fail "it goes on without a target"
	! finish bw || fail "it says that all went well"
	grep -q "^rtgt: bw write over rdma: " "$WORK/bw.err" || fail "$(<"$WORK/bw.err")"
}

# Whoever sends something else is told so and hung up on; the others do not notice.
nonsense() {
	local answer head
	tcp_server -s 4096
	# printf writes line by line, and the server may have hung up after the first
	for head in 'GET / HTTP/1.0\r Host: 192.0.2.1\r' \
		'RTCP\x01\x02\x00\x00tag!\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00' \
		'RTCP\x01\x03\x00\x00tag!\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00' \
		'RTCP\x01\x09\x00\x00tag!\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00' \
		'RTCP\x02\x01\x00\x00tag!\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'; do
		exec {answer}<>"/dev/tcp/$RTGT_TARGET_ADDR/$TCP_PORT"
		# shellcheck disable=SC2059 # it is the bytes
		printf "$head" >&"$answer"
		# magic, version, the flag of an answer, a status, and the end
		od -An -tx1 <&"$answer" | tr -d ' \n' >"$WORK/answer"
		exec {answer}>&-
		grep -qx '5254435001..020[12].*' "$WORK/answer" || fail "to $head it answers $(<"$WORK/answer")"
		same "bytes" "$(wc -c <"$WORK/answer")" 64
	done
	unset CM_PORT
	measure lat --over tcp -C 5 -S 4K
	rows 3 '.count == 5'
}

tcase ops --more --tier fast,wire "all operations, user and kernel, RDMA and TCP, verified" ops

tcase moderated --more "three connections, a completion for one in four" moderated
tcase verify-all --more "every message is compared" verified
tcase bulk "rtgt bw --bulk: chunks of 4 MiB over RDMA and TCP, all verified" bulk
tcase duration --more "rtgt bw runs for a given time and prints its progress" duration
tcase names --more "the addresses of a name are tried one after the other" names
tcase lat-queue-full --needs acks "replies come before acknowledgments: rtgt lat waits for room in the send queue" send_queue_full 32 lat -o send
tcase bw-queue-full --needs acks --more "replies come before acknowledgments: rtgt bw waits for room in the send queue" send_queue_full 32 bw -o send -t 16 -Q 16
tcase lat-no-module --more "rtgt lat from user space works where the module is not" lat_no_module
tcase lat-samples "rtgt lat: percentiles and standard deviation are those of its samples" lat_samples
tcase lat-last-send --needs imm "rtgt lat waits for replies whenever its last send completes" lat_last_send
tcase as-perftest --more "rtgt lat and bw take perftest's options" as_perftest
tcase stalled --more "an operation, or a connection of --load, that stalls" stalled
tcase lat-load --more "rtgt lat --load: operations beside connections that move bytes" lat_load
tcase documents "rtgt -j lat, bw and cost print a document when they fail, and when they are interrupted" documents
tcase million --long --limit 7200 "a million messages from both initiators, each compared" million
tcase lat-tcp --more "rtgt lat over RDMA and TCP" lat_tcp
tcase lat-gives-way --more "rtgt lat yields the CPU to the kernel's workers" gives_way
tcase lat-tcp-poll --more "rtgt lat over RDMA and TCP, with busy-polling" lat_tcp --poll
tcase why --more "rtgt bw prints which operations are impossible, and why" says_why
tcase one-connection "rtgt bw names a server that accepts one connection only" one_connection
tcase server-goes --more "the TCP server disappears" server_goes
tcase port-goes --more "the target disappears" port_goes
tcase nonsense --more "rtgt tcp-serve refuses malformed messages" nonsense

# jq does a lot for an emulated processor
tcase schema --limit 60 --more "the JSON documents of lat and bw are valid, and have the accelerator and the clock" schema

tmain "$@"
