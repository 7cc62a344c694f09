#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# explain.sh: rtgt explain, of what is on the wire while the client does something, and of
# captures that are not as they should be.
#
# weight 2.7 0.5

. "${0%/*}/lib.sh"
. "$HERE/capture_fixtures.sh"

# Listens to the client's device; what it sees is in $WORK/live.out.
listen() { # ARG...
	local dev
	dev=$(netdev "$RTGT_CLIENT_DEV")
	rdma_packets
	background live rtgt explain -i "$dev" -f "$FILTER" "$@"
	wait_until 10 grep -q listening "$WORK/live.err" || fail "it does not listen: $(<"$WORK/live.err")"
}

# It has seen TEXT, and is told to end.
heard() { # TEXT
	wait_line live "$1"
	kill -INT "${BG_PID[live]}"
	finish live || fail "it ends with status $?: $(<"$WORK/live.err")"
}

# What comes faster than it is read is missing, and that is said.
dropped() {
	local rc=0
	target_port region mem size=8M
	listen
	kill -STOP "${BG_PID[live]}"
	defer resume "${BG_PID[live]}"
	has "$(probe access op=write len=8388608)" wc=success
	resume "${BG_PID[live]}"
	kill -INT "${BG_PID[live]}"
	finish live || rc=$?
	same "exit status" "$rc" 1
	grep -Eqx 'rtgt: explain: the kernel dropped [1-9][0-9]* packets before .*' "$WORK/live.err" || fail "$(<"$WORK/live.err")"
}

resume() { # PID
	kill -CONT "$1" 2>/dev/null || :
}

# A connection, 3000 bytes written and read, as JSON: every packet with the right ICRC.
live_json() {
	local text filter
	target_port region mem size=4096
	listen --json --headers
	text=$(probe access op=write len=3000)
	has "$text" wc=success
	if is_iwarp; then
		live_iwarp
		return
	fi
	heard "CM DREP"
	document "$WORK/live.out"
	# shellcheck disable=SC2016 # jq's variables
	filter='[.[] | select(.type == "packet")] as $p | {
		wrong: [$p[] | select(.icrc != "ok" or .fault) | .number],
		cm: [$p[] | select(.kind == "cm") | .line | split(" ")[1]] | unique,
		rkeys: [$p[].headers[].fields[] | select(.name == "infiniband.reth.r_key" or .name == "rtgt.rep.rkey") | .value] |
			unique | length,
		bytes: [$p[].headers[].fields[] | select(.name == "infiniband.reth.dmalen") | .value] | unique,
		bth: [$p[].headers[] | select(.name == "BTH").fields | first.name, last.name, (map(.bits) | add)] | unique,
		counted: (.[-1].packets == ($p | length)) }'
	same "packets" "$(jq -sc "$filter" "$WORK/live.out")" \
		'{"wrong":[],"cm":["DREP","DREQ","REP","REQ","RTU"],"rkeys":1,"bytes":["3000"],"bth":[90,"infiniband.bth.opcode","infiniband.bth.psn"],"counted":true}'
}

# Over TCP: the connection, the rkey that is requested, the WRITE, and a message behind it.
live_iwarp() {
	local filter
	heard "SEND msn=2 "
	document "$WORK/live.out"
	# shellcheck disable=SC2016 # jq's variables
	filter='[.[] | select(.type == "packet")] as $p | [$p[].iwarp[]?.line] as $l | {
		wrong: [$p[] | select(.fault) | .number],
		mpa: [$l[] | select(startswith("MPA ")) | split(" ")[1]],
		bytes: ([$l[] | select(startswith("RDMA WRITE ")) | capture("payload=(?<n>[0-9]+)").n | tonumber] | add),
		counted: (.[-1].packets == ($p | length)) }'
	same "packets" "$(jq -sc "$filter" "$WORK/live.out")" \
		'{"wrong":[],"mpa":["Request","Reply"],"bytes":3000,"counted":true}'
}

# What the port has: an SRQ, so that the client's credits say nothing.
rep() { # SRQ
	target_port "srq=$1"
	listen -T fields -e infiniband.cm.rep.srq
	has "$(probe connect)" result=established
	heard 0x
	same "SRQ of the REP" "$(grep . "$WORK/live.out")" "0x0$1"
}

# With a DREP, or with a FIN from both ends of TCP
disconnected() {
	if is_iwarp; then
		rtgt explain -f 'tcp[13] & 1 != 0' -T fields -e tcp.srcport "$WORK/pcap" 2>/dev/null | sort -u >"$WORK/fins"
		(($(wc -l <"$WORK/fins") == 2))
	else
		rtgt explain "$WORK/pcap" 2>/dev/null | grep "CM DREP" >"$WORK/drep"
	fi
}

# What one program says of a file, another says of the same bytes that come through a pipe.
captured() {
	local dev
	target_port
	dev=$(netdev "$RTGT_CLIENT_DEV")
	rdma_packets
	background dump tcpdump -U --immediate-mode -i "$dev" -w "$WORK/pcap" "$FILTER"
	wait_until 10 grep -q listening "$WORK/dump.err" || fail "tcpdump: $(<"$WORK/dump.err")"
	has "$(probe access op=write len=64)" wc=success
	wait_until 10 disconnected || fail "no end of the connection in $(rtgt explain "$WORK/pcap")"
	kill -INT "${BG_PID[dump]}"
	finish dump
	rtgt explain "$WORK/pcap" >"$WORK/lines"
	if is_iwarp; then
		grep -q " RDMA WRITE stag=0x.* payload=64 last" "$WORK/lines" || fail "$(<"$WORK/lines")"
		same "filtered" "$(rtgt explain -f 'tcp[13] = 2' -T fields -e tcp.flags "$WORK/pcap")" 0x0002
	else
		grep -q "RC RDMA WRITE Only qp=.* dmalen=64 payload=64 ackreq" "$WORK/lines" || fail "$(<"$WORK/lines")"
		same "filtered" "$(rtgt explain -f 'udp[8] = 10' -T fields -e infiniband.bth.opcode "$WORK/pcap")" 10
	fi
	rtgt explain - <"$WORK/pcap" | cmp - "$WORK/lines" || fail "through a pipe it is another"
	# the last packet is cut: all before it, a line, and the status
	head -c -7 "$WORK/pcap" >"$WORK/short"
	fails_with "what was before it is explained" rtgt explain "$WORK/short"
	! rtgt explain "$WORK/short" >"$WORK/some" 2>"$WORK/err" || fail "status 0"
	cmp "$WORK/some" <(head -n -1 "$WORK/lines") || fail "packets before the end are missing"
	same "lines on stderr" "$(wc -l <"$WORK/err")" 1
	is_iwarp || wrong_icrc
}

# One bit is wrong.  siw requests no CRCs.
wrong_icrc() {
	local size
	size=$(stat -c %s "$WORK/pcap")
	printf '\x5a' | dd of="$WORK/pcap" bs=1 seek=$((size - 12)) conv=notrunc status=none
	same "ICRCs that are wrong" "$(rtgt explain "$WORK/pcap" | grep -c "ICRC WRONG")" 1
}

# A WRITE of three packets, and on another connection a READ that is refused
record_two() {
	target_port region mem size=4096
	record
	has "$(probe access op=write len=2500 offset=1000)" wc=success
	has "$(probe access op=read len=64 rkey=0x12345)" wc=rem-access
	recorded 2
	mv "$WORK/wire.pcap" "$WORK/pcap"
}

# Without what is of no order: an RTU comes when it comes, and either end may end a connection.
ordered() {
	grep -v "got the ConnectReply\|ends the connection\|that the connection has ended\|refuses the connection\|CM RTU\|CM DRE\|CM REJ"
}

# In plain words, without the numbers that differ
words() {
	local text
	record_two
	text=$(rtgt explain --verbose "$WORK/pcap" | sed -n 's/^    //p' | sed 's/0x[0-9a-f]*/HEX/g; s/\(queue pair\|PSN\|port\|packet\) [0-9]\+/\1 N/g; s/, [0-9]* us after/, N us after/' | ordered)
	diff -u - <(echo "$text") <<-'END' >"$WORK/diff" || fail "$(<"$WORK/diff")"
		the client asks for a connection to port N. It has queue pair N, and the server shall begin with PSN N; packets carry up to 1024 bytes. Its private data is rtgt's
		the server agrees. It has queue pair N, and the client shall begin with PSN N. It says which memory may be reached: 4096 bytes at address HEX with the key HEX
		the client asks to write 2500 bytes into the memory of the server at address HEX, which is 1000 bytes after the one it got in the ConnectReply, and carries the key that came with it (rkey HEX). This packet has the first 1024 bytes
		the client goes on with what packet N began: bytes 1024 to 2047
		the client goes on with what packet N began: bytes 2048 to 2499, the last. It requests an acknowledgment
		the server has all of packet N and those that go on with it and all before it: the WRITE of 2500 bytes is done, N us after it was sent. It has done 1 message on this connection
		the client asks for a connection to port N. It has queue pair N, and the server shall begin with PSN N; packets carry up to 1024 bytes. Its private data is rtgt's
		the server agrees. It has queue pair N, and the client shall begin with PSN N. It says which memory may be reached: 4096 bytes at address HEX with the key HEX
		the client asks to read 64 bytes of the memory of the server at address HEX (rkey HEX: no such key was advertised). The answer takes one packet and one PSN
		the server refuses PSN N: remote access error. It was packet N, a READ: no such key was advertised. The connection is lost with it: both queue pairs fail
	END
}

# The same as arrows
ladder() {
	local text
	record_two
	text=$(rtgt explain --ladder "$WORK/pcap" | sed 's/^ *[0-9]* *-*[0-9.]*  //; s/-\+/-/g; s/  / /g; s/PSN [0-9]*/PSN N/; s/client [0-9.]*, server [0-9.]*/A, B/' | ordered)
	diff -u - <(echo "$text") <<-'END' >"$WORK/diff" || fail "$(<"$WORK/diff")"

		connection 1: A, B
		1|- CM REQ ->|
		1|<- CM REP -|
		1|- RC RDMA WRITE First PSN N 1024 bytes ->| WRITE 1
		1|- RC RDMA WRITE Middle PSN N 1024 bytes ->| WRITE 1
		1|- RC RDMA WRITE Last PSN N 452 bytes ->| WRITE 1
		1|<- RC Acknowledge PSN N -| WRITE 1

		connection 2: A, B
		2|- CM REQ ->|
		2|<- CM REP -|
		2|- RC RDMA READ Request PSN N ->| READ 2
		2|<- RC Acknowledge PSN N -| NAK remote access error
	END
}

# Selects the packets of a connection, a queue pair, a message and a failed connection.
selection() {
	local all second qp
	record_two
	all=$(rtgt explain "$WORK/pcap" | wc -l)
	second=$(rtgt explain --conn 2 "$WORK/pcap")
	qp=$(rtgt explain -T fields -e infiniband.cm.req.localqpn "$WORK/pcap" | grep . | tail -n 1)
	grep -q "dmalen=64" <<<"$second" || fail "$second"
	same "packets of both connections" "$(($(rtgt explain --conn 1 "$WORK/pcap" | wc -l) + $(wc -l <<<"$second")))" "$all"
	same "what failed" "$(rtgt explain --failed "$WORK/pcap")" "$second"
	same "of the queue pair" "$(rtgt explain --qp $((qp)) --conn 2 "$WORK/pcap")" "$second"
	qp=$(rtgt explain -T fields -e infiniband.cm.rep.localqpn "$WORK/pcap" | grep . | tail -n 1)
	same "of the server's queue pair" "$(rtgt explain --qp $((qp)) --conn 2 "$WORK/pcap")" "$second"
	same "of another queue pair" "$(rtgt explain --qp 16777214 "$WORK/pcap" 2>"$WORK/err" || :)" ""
	same "of no connection" "$(rtgt explain --conn 3 "$WORK/pcap" 2>"$WORK/err"; echo $?)" 1
	grep -q -e "--conn, --qp and --message select no packet" "$WORK/err" || fail "$(<"$WORK/err")"
	same "of the first message" "$(rtgt explain --message 1 "$WORK/pcap" | grep -o "RC [A-Za-z ]* qp" | paste -sd ,)" \
		"RC RDMA WRITE First qp,RC RDMA WRITE Middle qp,RC RDMA WRITE Last qp,RC Acknowledge qp"
	same "as columns" "$(rtgt explain --conn 2 -T fields -e frame.number "$WORK/pcap" | wc -l)" "$(wc -l <<<"$second")"
	rtgt explain --json --failed "$WORK/pcap" >"$WORK/json"
	document "$WORK/json"
	same "objects" "$(jq -s '[.[] | select(.type != "summary") | .connection // .id] | unique' -c "$WORK/json")" "[2]"
	fails_with "reads a FILE twice" rtgt explain --failed - </dev/null
	fails_with "judges all packets" rtgt explain --check --conn 1 "$WORK/pcap"
	fails_with "--conn" rtgt explain --conn 0 "$WORK/pcap"
}

# Somebody ends it: what was read is judged, and the exit status says that it is not all.
stopped_early() {
	local rc=0
	record_two
	mkfifo "$WORK/pipe"
	background judge rtgt explain --check "$WORK/pipe"
	exec 3>"$WORK/pipe"
	cat "$WORK/pcap" >&3
	wait_until 10 has_read "${BG_PID[judge]}" || fail "it does not read"
	kill -INT "${BG_PID[judge]}"
	finish judge || rc=$?
	exec 3>&-
	same "exit status" "$rc" 130
	grep -q "^rtgt: explain: interrupted behind packet [1-9]" "$WORK/judge.err" || fail "$(<"$WORK/judge.err")"
	grep -q "packets judged" "$WORK/judge.out" || fail "$(<"$WORK/judge.out")"
}

# It waits in read() for more.
has_read() { # PID
	grep -q "pipe_read\|anon_pipe_read" "/proc/$1/stack"
}

# The exit status of rtgt explain ARG... if OUTPUT gets what it prints
explain_status() { # OUTPUT ARG...
	local rc=0
	rtgt explain "${@:2}" >"$1" 2>"$WORK/err" || rc=$?
	echo "$rc"
}

refused() {
	echo "this is no capture" >"$WORK/text"
	: >"$WORK/empty"
	fails_with "neither a pcapng nor a capture that libpcap reads" rtgt explain "$WORK/text"
	fails_with "neither a pcapng nor a capture that libpcap reads" rtgt explain "$WORK/empty"
	fails_with "No such file" rtgt explain "$WORK/none"
	fails_with "rtgt-none" rtgt explain -i rtgt-none
	fails_with "give a FILE or -i" rtgt explain
	fails_with 'no field "bth.psn"' rtgt explain -T fields -e bth.psn "$WORK/text"
	fails_with "-T fields needs fields" rtgt explain -T fields "$WORK/text"
	fails_with "do not go together" rtgt explain --json -T fields -e ip.src "$WORK/text"
	fails_with "print a list, as text" rtgt explain -G "$WORK/text"
	fails_with "print a list, as text" rtgt -j explain --list-rules
	# a pcap file without a packet
	printf '\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\0\0\4\0\1\0\0\0' >"$WORK/none.pcap"
	same "exit status of what is no filter" "$(explain_status /dev/null -f bogus "$WORK/none.pcap")" 2
	# 1 says that a rule is broken
	same "exit status of a full disk" "$(explain_status /dev/full --check "$WORK/none.pcap")" 2
	same "exit status of two profiles" "$(explain_status /dev/null --check --profile no --profile memory "$WORK/none.pcap")" 2
	# no UTF-8, and still JSON
	! rtgt -j explain $'\xff\xc3\xa9' >"$WORK/json" 2>"$WORK/err" || fail "status 0"
	document "$WORK/json"
}

tcase live-json --tier wire,fast --more "on the wire, as JSON: CM, WRITE, right ICRCs, valid against the schema" live_json
tcase rep-srq --more --needs cm "the REP says whether the port has an SRQ" rep 1
tcase rep-no-srq --more --needs cm "and that it has none" rep 0
tcase dropped --more --needs cm "says how many packets of an interface the kernel dropped, and fails" dropped
tcase captured --more --tier fast,wire "from a file, through a pipe, filtered, cut, with a wrong ICRC" captured
tcase words --more --needs cm "in plain words: a connection, a WRITE, a READ that is refused" words
tcase ladder --needs cm "as a ladder: the same" ladder
tcase selected --needs cm "prints only the packets of a connection, a queue pair, a message or a failed connection" selection
tcase interrupted --needs cm --more "when interrupted, what was read is judged" stopped_early
tcase refused --tier fast,wire "for a file that is no capture, or a wrong option, rtgt explain prints one line" refused

tmain "$@"
