#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# connect.sh: connections come, are refused, and go.
#
# Refusals are typed (enum rtgt_rej_reason in the REJ's private data) and counted.
# However a connection ends, nothing of it stays at the target.
#
# weight 0.6 1.7 smp

. "${0%/*}/lib.sh"

rtgt_client() {
	local rep
	target_port recv_size=8192 recv_depth=7 region a size=5000 access=read region b size=4096
	rep=$(probe connect)
	has "$rep" result=established rtgt=1 features=0 regions=2 recv_depth=7 recv_size=8192 conn_id=1 rep_len=196 \
		len0=5000 access0=1 len1=4096 access1=3
	expect_counters conns_accepted=1 conns_established=1 conns_closed=1
	has "$(probe connect)" conn_id=2
}

# The capability must not tell where the kernel keeps the memory.
iova_tells_nothing() {
	local rep addr i log keys=
	target_port region a region b size=1M region c size=100
	rep=$(probe connect)
	for i in 0 1 2; do
		addr=$(value_of "$rep" "addr$i")
		((addr > 0 && addr < 1 << 47)) || fail "region $i is at $addr, which a kernel address may be"
	done
	[[ $(value_of "$rep" addr0) != "$(value_of "$rep" addr1)" ]] || fail "two regions at one address: $rep"
	# serve has siw register at the address of its memory
	if [[ $DEBUGFS != /run/* ]]; then
		(($(value_of "$rep" addr0) >> 30 != $(value_of "$rep" addr1) >> 30)) || fail "two regions in one GiB: $rep"
		target_port scope=private
		for i in 1 2 3 4; do
			keys+=$(($(value_of "$(probe connect)" rkey0) & 255))$'\n'
		done
		(($(sort -u <<<"$keys" | grep -c .) > 1)) || fail "the rkeys of four clients end alike: $keys"
	fi
	# a line of our own shows that the log was read, whichever target serves
	target log_mark "$PORT was probed"
	log=$(target look since "$MARK$CASE")
	[[ $log == *"$PORT was probed"* ]] || fail "the log has no line of $PORT: $log"
	[[ ! $log =~ ffff[89a-f][0-9a-f]{11} ]] || fail "a kernel address is in the log: $log"
}

plain_client() { # PROBE-ARGUMENT
	target_port region mem size=4096
	has "$(probe connect "$1")" result=established rtgt=1
	has "$(probe access "$1" op=write len=100)" wc=success
	expect_counters conns_established=2 conns_closed=2 rejects_version=0 rejects_size=0
}

lists_plain() {
	grep -q <<<"$(target connections "$PORT")" "^id=1 state=live peer=$RTGT_CLIENT_ADDR:[0-9]* dev=$RTGT_TARGET_DEV qpn=[0-9]* client=plain "
}

plain_in_connections() {
	target_port
	background holder probe hold plain=1
	wait_line holder ready=1
	# the target learns of the RTU later than the client is ready
	wait_until 10 lists_plain || fail "connections: $(target connections "$PORT")"
	finish holder
	expect_no_connections
}

refused() { # REASON ARG PROBE-ARGUMENT...
	local reason=$1 arg=$2 counter=rejects_$1
	shift 2
	target_port
	has "$(probe connect neighbour=1 "$@")" result=refused status=28 "reason=$reason" "arg=$arg" neighbour=alive
	expect_counters "$counter=1" conns_accepted=1
	has "$(probe connect)" result=established
}

# Each way in which private data that claims to be rtgt's can be wrong.  RoCE pads
# what is cut short with zeros.
bad_reqs() {
	local name reason arg rest
	local -A n=([version]=0 [size]=0)
	target_port
	background neighbour probe hold
	wait_line neighbour ready=1
	while read -r name reason arg rest; do
		# shellcheck disable=SC2086 # several words
		has "$name: $(probe connect $rest </dev/null)" result=refused status=28 "reason=$reason" "arg=$arg"
		n[$reason]=$((n[$reason] + 1))
	done <<-END
		version-0 version 1 version=0
		version-swapped version 1 version=256
		version-max version 1 version=65535
		version-before-size version 1 version=2 size=0
		size-0 size 16 size=0
		size-57 size 16 size=57
		size-swapped size 16 size=4096
		size-max size 16 size=65535
		magic-alone version 1 extra=-12
		magic-and-version size 16 extra=-10
	END
	expect_counters rejects_version="${n[version]}" rejects_size="${n[size]}" conns_accepted=1
	send_line neighbour echo
	wait_line neighbour alive=1
	finish neighbour
}

# Sizes beyond the structure are a newer client's: what is known of it is read.
longer_req() {
	target_port
	has "$(probe connect size=56 extra=40)" result=established rtgt=1
	has "$(probe connect size=17 extra=1)" result=established
	expect_counters conns_established=2 rejects_size=0
}

port_full() {
	target_port max_conns=2
	background two probe hold count=2
	wait_line two ready=2
	has "$(probe connect)" result=refused status=28 reason=full arg=2
	has "$(probe connect plain=1)" result=refused reason=full
	expect_counters rejects_full=2 conns_accepted=2
	send_line two echo
	wait_line two alive=2
	finish two
	expect_no_connections
	has "$(probe connect)" result=established
}

nobody_listens() {
	target_port
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	has "$(probe connect)" result=refused status=8 reason=untyped
	target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	has "$(probe connect)" result=established
}

# The rkey must be valid before the REP leaves: a client that WRITEs at once after
# ESTABLISHED must never lose.  A slow kernel gets fewer clients.
race() { # SCOPE COUNT THREADS
	local count=$(($2 / SLOW))
	target_port "scope=$1" recv_depth=2 max_conns=64
	has "$(probe race "count=$count" "threads=$3" len=8 timeout=20)" "ok=$count" failed=0
	# not conns_established: ib_cm may handle the client's DREQ on one CPU before the RTU on another
	expect_counters "conns_accepted=$count" "conns_closed=$count" qp_errors=0
	expect_no_connections
}

live() { # HOW-MANY
	(($(target connections "$PORT" | grep -c " state=live ") == $1))
}

parallel() { # SCOPE
	local clients=64
	# a program has few queues over siw: Documentation/findings/siw-mmap-offset.rst
	! is_iwarp || clients=40
	target_port "scope=$1" recv_depth=4
	background many probe hold count=$clients timeout=20
	wait_line many "ready=$clients"
	# when the client has the REP its RTU is only on its way
	wait_until 10 live $clients || fail "not $clients live connections: $(target connections "$PORT")"
	same "different ids" "$(target connections "$PORT" | cut -d' ' -f1 | sort -u | wc -l)" $clients
	send_line many echo
	wait_line many "alive=$clients"
	finish many
	expect_no_connections
	expect_counters "conns_established=$clients" "conns_closed=$clients" "recv_msgs=$clients" "replies=$clients"
}

client_killed() {
	target_port
	background doomed probe hold count=4
	wait_line doomed ready=4
	kill -KILL "${BG_PID[doomed]}"
	expect_no_connections
	expect_counters conns_closed=4
	has "$(probe connect)" result=established
}

disabled_under_clients() {
	target_port
	background holder probe hold count=3
	wait_line holder ready=3
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	has_no_connections
	send_line holder echo
	wait_line holder alive=0
	finish holder
	expect_counters conns_closed=3 qp_errors=0
	target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	has "$(probe connect)" result=established
}

# The last one is siw's, when TCP has ended
disabled_under_traffic() {
	target_port
	background writer probe traffic len=4096
	wait_line writer started=1
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	wait_line writer writes=
	finish writer
	grep -Eqx "end=(disconnected|flush|rem-access|retry-exceeded|loc-qp-op|unposted)" "$WORK/writer.out" || fail "$(cat "$WORK/writer.out")"
}

# Two ports side by side: what befalls one does not touch the other.
two_ports() {
	local first first_cm
	target_port
	first=$PORT first_cm=$CM_PORT
	background holder probe hold
	wait_line holder ready=1
	target_port
	has "$(probe connect)" result=established
	target port_del "$PORT"
	send_line holder echo
	wait_line holder alive=1
	finish holder
	PORT=$first CM_PORT=$first_cm
	expect_counters conns_established=1 recv_msgs=1
}

# The RTU is sent once.  The CM would notice when it sends the REP again, in seconds.
rtu_lost() {
	target_port
	lose_mads 0x0014
	background holder probe hold
	wait_line holder ready=1
	expect_counters conns_accepted=1 conns_established=0
	[[ $(tc -s qdisc show dev "$(netdev "$RTGT_CLIENT_DEV")") == *netem*"(dropped "[1-9]* ]] || fail "no RTU was lost"
	send_line holder echo
	wait_line holder alive=1
	expect_counters conns_established=1 recv_msgs=1 replies=1
	finish holder
	expect_counters conns_established=1 conns_closed=1
	# to the CM it is still none, and ends all the same
	background other probe hold
	wait_line other ready=1
	send_line other echo
	wait_line other alive=1
	target port_del "$PORT"
	send_line other echo
	wait_line other alive=0
	finish other
}

# The client's machine has forgotten the target's MAC address, and asks for it by ARP first.
neighbour_forgotten() {
	local i dev
	target_port
	dev=$(netdev "$RTGT_CLIENT_DEV")
	for i in {1..6}; do
		ip neigh flush dev "$dev"
		ping_ok write 64 1
	done
	expect_counters conns_established=6 conns_closed=6
}

tcase rtgt-client --tier wire,fast --serve-more "the REP has regions, sizes, access and number of receives" rtgt_client
tcase plain --needs plain --tier wire,fast --serve "a client without private data is served" plain_client plain=1
tcase disable-idle --more --tier wire,fast "disabling a port ends its connections" disabled_under_clients
tcase disable-traffic --tier wire,fast "disabling a port ends a client in full traffic" disabled_under_traffic
tcase version-2 --tier fast,wire "a REQ of version 2 is refused with the version served" refused version 1 version=2
tcase size-15 --tier fast,wire "a REQ of size 15 is refused with the smallest size" refused size 16 size=15
tcase full --more --needs plain --tier fast,wire --serve-more "a connection beyond max_conns is rejected until another one closes" port_full
tcase killed --tier fast,wire --serve-more "a client that is killed leaves nothing" client_killed

tcase parallel-shared --tier fast,wire --limit 60 --more "64 connections at once, shared" parallel shared
tcase parallel-private --tier fast,wire --limit 60 --more "64 connections at once, private" parallel private

tcase iova-shared --limit 60 --serve-more "a region's address is not a kernel address" iova_tells_nothing
tcase other-magic --needs plain --limit 60 "a client with private data of another protocol is served" plain_client magic=0x52544755
tcase plain-listed --more --needs plain --limit 60 --serve-more "the file connections marks plain clients" plain_in_connections
tcase bad-reqs --more --needs padding --limit 60 --serve-more "each malformed REQ is rejected, and the REJ has the accepted value" bad_reqs
tcase size-longer --limit 60 --serve-more "a longer REQ of a newer client is taken" longer_req
tcase nobody --limit 60 "a disabled port rejects clients as if it did not exist" nobody_listens
tcase rtu-lost --more --needs cm --limit 60 --serve-more "a client whose RTU is lost is established with its first message" rtu_lost
tcase two-ports --more --limit 60 --serve-more "two ports do not affect each other" two_ports
tcase race-shared --limit 60 --more "100 clients WRITE at once after ESTABLISHED, none is refused, shared" race shared 100 4
tcase race-private --limit 60 --more "300 clients WRITE at once after ESTABLISHED, none is refused, private" race private 300 4

tcase race-wire-private --tier wire --limit 60 --serve-more "100 clients WRITE at once after ESTABLISHED, none is refused, private" race private 100 4

tcase neighbour-forgotten --tier wire "a client that has to ask for the target's MAC address first connects" neighbour_forgotten

tmain "$@"
