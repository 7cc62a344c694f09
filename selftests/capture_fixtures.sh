# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# capture_fixtures.sh: what rtgt reconcile compares: a capture at the target's end, and what target
# and devices count.

# From here on all packets of the device, of iWARP those of PORT, go to $WORK/wire.pcap.
record() {
	need_command tcpdump
	rdma_packets
	background dump tcpdump -i "$(netdev "$RTGT_TARGET_DEV")" -B 32768 --immediate-mode -U -w "$WORK/wire.pcap" "$FILTER"
	wait_until 10 grep -q "listening on" "$WORK/dump.err" || fail "tcpdump: $(<"$WORK/dump.err")"
}

# Ends when so many connections have.
recorded() { # CONNECTIONS
	wait_until 20 capture_has_ended "$1" || fail "no end of $1 connections in the capture: $(rtgt explain "$WORK/wire.pcap" | grep -v " ACK ")"
	end_record
}

end_record() {
	kill -INT "${BG_PID[dump]}"
	finish dump || true
	grep -q "^0 packets dropped by kernel" "$WORK/dump.err" || fail "tcpdump lost packets: $(<"$WORK/dump.err")"
}

capture_has_ended() { # CONNECTIONS
	if is_iwarp; then
		tcp_has_ended "$1"
	else
		cm_has_ended "$1"
	fi
}

# A connection ends with a DREQ and its DREP, with a DREQ from each end if both close at once,
# or with a REJ if the target closes it before it has processed the RTU.  The two ends' numbers
# of the connection, in either order, tell which one.
cm_has_ended() { # CONNECTIONS
	local message number
	local -a fields=(-e infiniband.mad.attributeid)
	for message in rej dreq drsp; do
		for number in localcommid remotecommid; do
			fields+=(-e "infiniband.cm.$message.$number")
		done
	done
	# the last packet in the file may be cut short still
	rtgt explain -T fields "${fields[@]}" "$WORK/wire.pcap" 2>/dev/null | awk -F '\t' -v wanted="$1" '
		function conn(a, b) { return a < b ? a " " b : b " " a }
		$1 == "0x0012" { closed[conn($2, $3)] = 2 }
		$1 == "0x0015" { closed[conn($4, $5)]++ }
		$1 == "0x0016" { closed[conn($6, $7)]++ }
		END { for (c in closed) ended += closed[c] >= 2; exit ended < wanted }'
}

# Over TCP with a FIN from each end, or with a RST.  A client's connection has a port of its own.
tcp_has_ended() { # CONNECTIONS
	rtgt explain -T fields -e tcp.flags -e tcp.srcport -e tcp.dstport "$WORK/wire.pcap" 2>/dev/null |
		awk -F '\t' -v wanted="$1" -v port="$CM_PORT" '
		{ client = $2 == port ? $3 : $2 }
		$1 ~ /[13579bdf]$/ && !fin[$2, $3]++ { closed[client]++ }
		$1 ~ /[4-7c-f]$/ { closed[client] = 2 }
		END { for (c in closed) ended += closed[c] >= 2; exit ended < wanted }'
}

tell_all() { # before|after
	on_target rtgt -j show "$PORT" >"$WORK/target-$1.json"
	# a siw device counts nothing
	! is_iwarp || return 0
	rdma -j statistic show link "$RTGT_CLIENT_DEV/1" >"$WORK/client-rdma-$1.json"
	on_target rdma -j statistic show link "$RTGT_TARGET_DEV/1" >"$WORK/server-rdma-$1.json"
}
