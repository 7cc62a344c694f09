#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# bridge.sh: rtgt bridge between the two devices: each action does to exactly the packet that a rule
# names what it says, and the operations, the counters and the events show it.  A wrong rule is
# refused with its line.
#
# weight 3.0 3.4

. "${0%/*}/lib.sh"
. "$HERE/bridge_fixtures.sh"

# So many events, and of the one rule no other count.
hit() { # EVENTS RULE ACTION TEXT
	[[ $(grep -c "frame [0-9]*: $2: $3: .*$4" <<<"$SAID") == "$1" ]] || fail "$SAID"
	[[ $SAID == *$'\n'"$2: $3: $1 of "* ]] || fail "$SAID"
}

told() { # PORT
	rtgt explain -i "$1" "$WORK/both.pcapng"
}

fields() { # PORT FIELD
	rtgt explain -i "$1" -T fields -e "$2" "$WORK/both.pcapng"
}

writes() { # PORT
	told "$1" | grep -c "RDMA WRITE "
}

# Packets of WRITEs with the PSN before that of the one in front of them
steps_back() { # PORT
	told "$1" | sed -n 's/.*RDMA WRITE .*psn=\([0-9]*\).*/\1/p' | awk 'NR > 1 && $1 == last - 1 { n++ } { last = $1 } END { print n + 0 }'
}

forwards() {
	local side
	bridged
	ping -S 1,64,5000 -C 2 >"$WORK/said" || fail "$(<"$WORK/said")"
	end_bridge
	[[ $SAID == *" 0 dropped by rules" ]] || fail "$SAID"
	[[ $SAID != *" lost: "* ]] || fail "$SAID"
	# both sides are in the capture; of TCP a copy says nothing new
	rtgt explain "$WORK/both.pcapng" >"$WORK/said"
	same "REQs in the capture" "$(grep -c -e "CM REQ " -e "MPA Request" "$WORK/said")" "$(is_iwarp && echo 1 || echo 2)"
	for side in client target; do
		rtgt explain --check --complete --profile rxe -i "$side" "$WORK/both.pcapng" >"$WORK/said" || fail "$side: $(<"$WORK/said")"
	done
	fails_with "the file has no interface wa" rtgt explain -i wa "$WORK/both.pcapng"
}

# The third packet of one WRITE, as often as it is not sent again.
dropped() {
	bridged "lost: drop op=write packet=3 tx=1 count=1"
	ping -o write -S 5000 -C 3 >"$WORK/said" || fail "$(<"$WORK/said")"
	end_bridge
	hit 1 lost drop "RDMA WRITE Middle"
	[[ $SAID == *" 1 dropped by rules" ]] || fail "$SAID"
	# the client's side has it twice, the target's as often as it arrived
	rtgt explain --check --complete --profile rxe -i client "$WORK/both.pcapng" >"$WORK/said" || fail "$(<"$WORK/said")"
	grep -q ", 1 NAK" "$WORK/said" || fail "$(<"$WORK/said")"
	same "packets of WRITEs" "$(writes client)" "$(($(writes target) + 1))"
}

dropped_answers() {
	bridged "ack: drop is=ack count=1" "data: drop is=response packet=last tx=1 count=1"
	ping -o write,read -S 5000 -C 3 >"$WORK/said" || fail "$(<"$WORK/said")"
	end_bridge
	hit 1 ack drop "RC Acknowledge"
	hit 1 data drop "READ Response Last"
}

changed() {
	bridged "twice: dup op=write packet=2 count=1" "late: reorder op=write packet=3 nth=2" \
		"bad: corrupt op=write packet=4 tx=1 nth=3" "short: truncate=60 op=write packet=5 tx=1 nth=4" \
		"ecn: mark op=write packet=1 nth=5"
	ping -o write -S 5000 -C 8 >"$WORK/said" || fail "$(<"$WORK/said")"
	end_bridge
	hit 1 twice dup "RDMA WRITE Middle"
	hit 1 late reorder "RDMA WRITE Middle"
	hit 1 bad corrupt "RDMA WRITE Middle"
	hit 1 short truncate "RDMA WRITE Last"
	hit 1 ecn mark "RDMA WRITE First"
	# and so it left
	same "packets of WRITEs" "$(writes target)" "$(($(writes client) + 1))"
	same "wrong ICRCs" "$(told client | grep -c "Middle .*ICRC WRONG") $(told target | grep -c "Middle .*ICRC WRONG")" "0 1"
	same "short frames" "$(fields client frame.len | grep -cx 60) $(fields target frame.len | grep -cx 60)" "0 1"
	same "marks" "$(fields client ip.dsfield.ecn | grep -cx 3) $(fields target ip.dsfield.ecn | grep -cx 3)" "0 1"
	same "steps back by one" "$(steps_back target)" "$(($(steps_back client) + 1))"
}

# What has a right ICRC only the programs can notice.
forged() {
	local rc
	# the first WRITE fills the region
	bridged "lie: forge op=write packet=2 tx=1 nth=3"
	rc=0
	ping -o write -S 5000 -C 3 >"$WORK/said" 2>&1 || rc=$?
	end_bridge
	((rc == 1)) || fail "nobody noticed: $(<"$WORK/said") $SAID"
	grep -q "read back: byte 2047 of the range" "$WORK/said" || fail "$(<"$WORK/said")"
	hit 1 lie forge "RDMA WRITE Middle"
}

# A field of a header: an acknowledgment becomes a NAK of a lost packet, which is sent again.
forged_field() {
	bridged "nak: forge=infiniband.aeth.syndrome:0x60 is=ack count=1" "psn: forge=infiniband.bth.psn:0x123456 op=write packet=2 tx=1 count=1"
	ping -o write -S 5000 -C 3 >"$WORK/said" 2>&1 || fail "$(<"$WORK/said")"
	end_bridge
	hit 1 nak forge "Acknowledge"
	hit 1 psn forge "RDMA WRITE Middle"
	same "NAKs that were sent" "$(fields target infiniband.aeth.syndrome.error_code | grep -c .)" 1
	same "and that came" "$(fields client infiniband.aeth.syndrome.error_code | grep -c .)" 2
	same "PSNs" "$(fields client infiniband.bth.psn | grep -c 1193046) $(fields target infiniband.bth.psn | grep -c 1193046)" "0 1"
	same "wrong ICRCs" "$({ told client && told target; } | grep -c "ICRC WRONG")" 0
	bridge "any: forge=infiniband.reth.va:0- op=write packet=1 count=1"
	fails_with "WRITE failed: remote access error" ping -o write -S 5000 -C 3
	end_bridge
	hit 1 any forge "RDMA WRITE First"
}

# A burst is always four frames long, and the same seed loses the same frames.
bursts() {
	local seed again=''
	for seed in 5 5 6; do
		background bridge rtgt -j bridge --seed "$seed" --rule "drop chance=2% burst=4" "listen:$WORK/a" "listen:$WORK/b"
		wait_line bridge begin
		python3 - "$WORK/a" "$WORK/b" <<-'END'
			import socket, struct, sys
			ends = [socket.socket(socket.AF_UNIX) for _ in range(2)]
			for end, path in zip(ends, sys.argv[1:]):
			    end.connect(path)
			frame = b"\x02" * 11 + b"\x01\x88\xb5" + bytes(46)
			ends[0].sendall((struct.pack(">I", 60) + frame) * 3000)
			ends[0].shutdown(socket.SHUT_WR)
			while ends[0].recv(1):
			    pass
		END
		finish bridge
		jq -c 'select(.type == "event") | .frame' "$WORK/bridge.out" >"$WORK/$seed$again"
		again=+
	done
	same "the same seed" "$(<"$WORK/5+")" "$(<"$WORK/5")"
	[[ $(<"$WORK/6+") != "$(<"$WORK/5")" ]] || fail "another seed, and the same losses"
	# no run of losses is shorter
	awk 'NR > 1 && $1 != last + 1 { if (n % 4) exit 1; n = 0 } { n++; last = $1 } END { exit NR < 100 || NR > 500 }' "$WORK/5" ||
		fail "lost: $(tr '\n' ' ' <"$WORK/5")"
}

# A slow link drops frames that do not fit into its queue and marks those that wait long.  Only
# these two are events.
slow_link() {
	bridged "link: rate=1mbit queue=6K mark=3K port=client is=roce"
	ping -o write -S 8000 -C 4 >"$WORK/said" || fail "$(<"$WORK/said")"
	end_bridge
	grep -q ": link: drop: RC RDMA WRITE" <<<"$SAID" || fail "nothing is dropped: $SAID"
	grep -q ": link: mark: RC RDMA WRITE" <<<"$SAID" || fail "nothing is marked: $SAID"
	! grep -q ": link: rate" <<<"$SAID" || fail "$SAID"
}

# The first REP is lost, and one is late.
set_up() {
	bridged "lost: drop cm=rep tx=1" "late: delay=100ms cm=rep tx=2"
	has "$(probe connect)" result=established
	end_bridge
	hit 1 lost drop "CM REP"
	hit 1 late delay "CM REP"
}

on_siw() {
	local RTGT_DEVICE=siw
	modprobe -q siw || skip "no siw, the software iWARP device"
	bridged "reply: delay=50ms mpa=reply" "lost: drop op=write count=1"
	ping -o write -S 5000 -C 3 >"$WORK/said" || fail "$(<"$WORK/said")"
	end_bridge
	hit 1 reply delay "MPA Reply"
	hit 1 lost drop "RDMA WRITE"
}

# Two that speak as QEMU does; the bridge ends when they have gone.
qemu() {
	background bridge rtgt -j bridge --seed 7 --rule "drop size=100" "listen:$WORK/a" "listen:$WORK/b"
	wait_line bridge begin
	# another one does not take the place of this one
	fails_with "Address already in use" rtgt bridge "listen:$WORK/a" "listen:$WORK/c"
	python3 - "$WORK/a" "$WORK/b" <<-'END'
		import socket, struct, sys
		ends = [socket.socket(socket.AF_UNIX) for _ in range(2)]
		for end, path in zip(ends, sys.argv[1:]):
		    end.settimeout(20)
		    end.connect(path)
		def send(end, size):
		    frame = b"\x02" * 5 + bytes([end ^ 1]) + b"\x02" * 5 + bytes([end]) + b"\x88\xb5"
		    frame += bytes(range(256)) * 300
		    ends[end].sendall(struct.pack(">I", size) + frame[:size])
		    return frame[:size]
		def receive(end):
		    data = b""
		    while len(data) < 4 or len(data) < 4 + struct.unpack(">I", data[:4])[0]:
		        more = ends[end].recv(4 if len(data) < 4 else 4 + struct.unpack(">I", data[:4])[0] - len(data))
		        assert more, "the bridge has closed"
		        data += more
		    return data[4:]
		for size in (60, 100, 1514, 65000):
		    for end in range(2):
		        sent = send(end, size)
		        if size != 100:
		            got = receive(end ^ 1)
		            assert got == sent, (size, len(got))
	END
	finish bridge
	document "$WORK/bridge.out"
	same "what it says" "$(jq -c '[.seed, .frames, .dropped, .rule, (.ports // [] | .[] | .frames_in, .frames_out, .lost)]' "$WORK/bridge.out")" \
		$'[7,null,null,null]\n[null,null,null,"r1"]\n[null,null,null,"r1"]\n[7,8,2,null,4,3,0,4,3,0]'
	[[ ! -e $WORK/a ]] || fail "the socket is still there"
}

# The kernel takes the tag of a VLAN out of a frame before a packet socket gets it.
vlan() {
	bridged "tagged: drop size=64"
	python3 - "$(<"/sys/class/net/ba/address")" "$(<"/sys/class/net/bb/address")" <<-'END'
		import socket, sys
		addr = [bytes.fromhex(a.replace(":", "")) for a in sys.argv[1:]]
		s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
		s.bind(("bb", 0))
		for size in (60, 46):
		    s.send(addr[0] + addr[1] + b"\x81\x00\x20\x05\x88\xb5" + bytes(size))
	END
	wait_line bridge "frame"
	end_bridge
	hit 1 tagged drop ""
	same "VLANs that came in" "$(fields client vlan.id | grep -cx 5)" 2
	same "VLANs that left" "$(fields target vlan.id | grep -cx 5)" 1
}

# Two frames wait for one that comes later: both leave behind it, before the next.
order() {
	background bridge rtgt bridge --rule "reorder=1 size=70" "listen:$WORK/a" "listen:$WORK/b"
	wait_line bridge "2 ports"
	python3 - "$WORK/a" "$WORK/b" >"$WORK/order" <<-'END'
		import socket, struct, sys
		ends = [socket.socket(socket.AF_UNIX) for _ in range(2)]
		for end, path in zip(ends, sys.argv[1:]):
		    end.connect(path)
		ends[1].settimeout(20)
		for name, size in ("A", 70), ("B", 70), ("C", 60), ("D", 60):
		    frame = b"\x02" * 11 + b"\x01\x88\xb5" + name.encode() + bytes(size - 15)
		    ends[0].sendall(struct.pack(">I", size) + frame)
		data = b""
		while len(data) < 4 * 4 + 260:
		    data += ends[1].recv(1000)
		while data:
		    size = struct.unpack(">I", data[:4])[0]
		    print(chr(data[18]), end="")
		    data = data[4 + size:]
	END
	finish bridge
	same "order" "$(<"$WORK/order")" CABD
}

misused() {
	printf '%s\n' "# nothing" "drop op=write" "drop opp=write" >"$WORK/rules"
	fails_with "rules:3: there is no property opp: op, is, cm," rtgt bridge --rules "$WORK/rules" a b
	fails_with "rule 1: there is no action loose: drop, delay," rtgt bridge --rule "loose op=write" a b
	fails_with "rule 1: op=put: send, write, read," rtgt bridge --rule "drop op=put" a b
	fails_with "rule 1: delay=TIME: how long?" rtgt bridge --rule "delay op=write" a b
	fails_with "rule 1: delay=5: a time with its unit" rtgt bridge --rule "delay=5 op=write" a b
	fails_with "rule 1: nth=0: a number from 1 on" rtgt bridge --rule "drop nth=0" a b
	fails_with "rule 1: nth=5-3: a number from 1 on" rtgt bridge --rule "drop nth=5-3" a b
	fails_with "rule 1: chance=2: from 0.0001% to 100%" rtgt bridge --rule "drop chance=2" a b
	fails_with "rule 1: after=x: no rule before this one has that name" rtgt bridge --rule "drop after=x" a b
	fails_with "rule 2: two rules have the name x" rtgt bridge --rule "x: drop" --rule "x: drop" a b
	fails_with "rule 1: port=c: the bridge has no port of that name" rtgt bridge --rule "drop port=c" a b
	fails_with "rule 1: forge=ip.src: no field of a RoCE header" rtgt bridge --rule "forge=ip.src:1" a b
	fails_with "rule 1: forge=infiniband.bth.psn:VALUE: a number of 24 bits" rtgt bridge --rule "forge=infiniband.bth.psn" a b
	fails_with "rule 1: forge=infiniband.bth.psn:VALUE: a number of 24 bits" rtgt bridge --rule "forge=infiniband.bth.psn:0x1000000" a b
	fails_with "at least two ports" rtgt bridge a
	fails_with "no such kind of port" rtgt bridge tcp:a b
	fails_with "two ports have the name x" rtgt bridge x=a x=b
	fails_with "none: no such interface" rtgt bridge none also-none
	echo precious >"$WORK/file"
	fails_with "Address already in use" rtgt bridge "listen:$WORK/file" "listen:$WORK/b"
	same "the file" "$(<"$WORK/file")" precious
}

tcase forwards --limit 60 "all operations pass, and nothing is lost" forwards
tcase dropped --limit 60 --needs cm "one packet of a WRITE is lost once" dropped
tcase dropped-answers --more --limit 60 --needs cm "an acknowledgment and a READ's last packet are lost once" dropped_answers
tcase changed --more --limit 60 --needs cm "a copy, another order, a wrong ICRC, a short frame, a mark" changed
tcase forged --limit 60 --needs cm "a changed byte with a right ICRC is noticed by the program" forged
tcase forged-field --more --limit 60 --needs cm "a field with another value and a right ICRC is taken by the device" forged_field
tcase set-up --more --limit 60 --needs cm "the first REP is lost, the second is late" set_up
tcase bursts --more "losses in bursts, and the same with the same seed" bursts
tcase slow-link --more --limit 60 --needs cm "a link of a rate with a queue" slow_link
tcase on-siw --more --limit 60 "iWARP: a Reply is late, a segment of a WRITE is lost once" on_siw
tcase qemu "QEMU's stream sockets" qemu
tcase order --more "frames that wait for the same one leave together" order
tcase vlan --more --limit 60 "tags of VLANs stay" vlan
tcase misused "a wrong rule, or a wrong port" misused

tmain "$@"
