#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# hostile.sh: what one peer does to the other users of the target.
#
# A peer may send what it likes, as fast as it likes, and answer nothing.  In each
# case other clients are served meanwhile, and the administrator can disable the port.
# Each limit in time is one that a hang exceeds, not a measurement.
#
# weight 0.9 1.9 smp

. "${0%/*}/lib.sh"

# A client of another port is served.
serves() { # CM_PORT
	local CM_PORT=$1
	has "$(probe send msg_op=2 body=24 timeout=5)" wc=success status=ok alive=1
}

# Of that many requests some are outstanding: what the case tests is still going on.
outstanding() { # PORT REQUESTS
	local PORT=$1 replies
	replies=$(counter replies)
	((replies < $2)) || fail "the target has replied to all $2 requests"
}

# Of 300 connections each one's DISCONNECT arrives before its CHECKSUM, and all of them
# while the REVOKEs of another port are run one after the other.  With one work queue
# for all of that, each of its workers runs a teardown that waits for a CHECKSUM, for
# which no worker is left: nothing ends any more, and the hung-task detector of the guest
# has the last word.
stall() {
	local busy quiet n=300
	# a program has few queues over siw: Documentation/findings/siw-mmap-offset.rst
	! is_iwarp || n=40
	target_port scope=private mr_max=4K recv_depth=512 region mem size=1M
	busy=$PORT
	background revoker probe flood depth=400
	wait_line revoker ready=1
	target_port recv_depth=4 region mem size=4096
	background crowd probe flood "count=$n" depth=2 timeout=30
	wait_until 30 grep -q ready= "$WORK/crowd.out"
	wait_line crowd "ready=$n"
	quiet=$PORT
	send_line revoker "6 400"
	wait_line revoker posted=1
	send_line crowd "8 1"
	wait_line crowd "posted=$n op=8"
	send_line crowd "2 1"
	wait_line crowd "posted=$n op=2"
	outstanding "$busy" 400
	# neither says goodbye
	kill -KILL "${BG_PID[crowd]}" "${BG_PID[revoker]}"
	disables "$quiet"
	disables "$busy"
	target_port
	serves "$CM_PORT"
}

# Two REQs to a port that registers 4096 extents for each of its connections, and then one
# to another port: that one is answered first, whoever listens there.  A slow kernel takes as long
# for fewer extents, and siw waits for an MPA Reply no longer than 5 s.
overtaken() { # kernel|user
	local slow
	target_port scope=private mr_max=4K region mem "size=$((16384 / SLOW))K"
	slow=$CM_PORT
	case $1 in
	kernel)
		target_port
		# the first client of a port has its own costs
		has "$(probe connect)" result=established
		;;
	user)
		CM_PORT=$((CM_PORT + 8))
		background server rtgt serve addr "$RTGT_TARGET_ADDR" port $CM_PORT region mem size 4K
		wait_line server "listening on "
		;;
	esac
	at=$CM_PORT CM_PORT=$slow
	has "$(probe overtake count=2 at="$at" timeout=20)" before=0 established=2
}

# A peer that answers no REP and says in each REQ that it takes hours to answer holds the
# port's connections for its handshake_ms and no longer.
half_open() { # ATTRIBUTE...
	target_port max_conns=16 "handshake_ms=$((1000 * SLOW))" "$@"
	has "$(probe half count=20)" sent=20
	expect_counters conns_accepted=16
	wait_until 10 served || fail "still connected to $PORT: $(target connections "$PORT")"
	expect_no_connections
}

# The time is that of the handshake: a connection that is established and silent outlives it.
established() {
	target_port "handshake_ms=$((1000 * SLOW))"
	background holder probe hold
	wait_line holder ready=1
	has "$(probe half count=2)" sent=2
	wait_until 10 counters_are conns_closed=2 || fail "$COUNTERS"
	send_line holder echo
	wait_line holder alive=1
	expect_counters conns_closed=2 replies=1
}

# Half-open connections of one address have half of the backlog.
half_of_backlog() {
	target_port backlog=8 handshake_ms=60000
	has "$(probe half count=6)" sent=6
	expect_counters conns_accepted=4 rejects_full=2
	has "$(probe connect)" result=refused reason=full arg=4
}

counters_have() { # NAME LEAST
	target_contents "$DEBUGFS/ports/$PORT/counters"
	COUNTERS=${TEXT%$'\n'}
	(($(sed -n "s/^$1 //p" <<<"$COUNTERS") >= $2))
}

# Connections of one address, whose port number differs.
peer_share() { # IP-VERSION
	if [[ $1 == 6 ]]; then
		RTGT_TARGET_ADDR=$RTGT_TARGET_ADDR6 RTGT_CLIENT_ADDR=$RTGT_CLIENT_ADDR6
	fi
	target_port peer_conns_max=2
	background two probe hold count=2
	wait_line two ready=2
	has "$(probe connect)" result=refused reason=full arg=2
	finish two
	expect_counters conns_accepted=2 conns_closed=2 rejects_full=1
	has "$(probe connect)" result=established
}

served() {
	[[ $(probe connect) == result=established* ]]
}

# Receives that a peer has held back are half of those it shares with others.
withheld() {
	target_port srq=1 recv_depth=4
	background peer probe flood depth=8
	wait_line peer ready=1
	send_line peer "7 4"
	wait_line peer posted=1
	expect_counters recv_msgs=4 malformed=2
	has "$(probe send timeout=4)" wc=success status=ok
	finish peer
}

# A client with a message finds a receive at once, without a retry.
finds_receive() {
	has "$(probe access op=send rnr_retry=0)" wc=success rnrs=0 status=ok
}

# Requests of one peer that the target cannot finish: the peer has nine receives for the replies to
# ECHOs, and the kernel's target posts two more replies; to PULLs there is no reply.  At least four
# wait, as many as there are shared receives, which others find nevertheless.  More requests than
# the REP allows close the connection.
srq_held() { # OP COUNT
	local text i
	target_port srq=1 recv_depth=4 region mem
	# the requests of the target's READs
	disturb_device "$(netdev "$RTGT_TARGET_DEV")" "u8 0x0c 0xff at 28" loss 100%
	background peer probe flood depth=8
	wait_line peer ready=1
	# one by one those that are replied to: all at once would be more than the REP allows
	for ((i = 1; i <= $2 - 6; i++)); do
		send_line peer "$1 1"
		wait_until 10 counters_are recv_msgs="$i" replies="$i" || fail "$COUNTERS"
	done
	send_line peer "$1 $(($2 < 6 ? $2 : 6))"
	wait_until 10 counters_are recv_msgs="$2" || fail "$COUNTERS"
	finds_receive
	text=$(target connections "$PORT")
	[[ $text == *"id=1 "*" held="[4-8]* ]] || fail "the peer's requests do not wait: $text"
	send_line peer "$1 5"
	expect_counters over_depth=1 conns_closed=2
	finds_receive
}

# A client that always has as many requests outstanding as the REP allows.
srq_depth() {
	target_port srq=1 recv_depth=64 region mem
	rtgt bw -o send -S 64 -t 16 -C 400 -W 0 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" \
		>"$WORK/said" 2>&1 || fail "$(<"$WORK/said")"
	# the client has its last reply before the target has the completion that it counts
	wait_until 5 replied_to 400 || fail "$COUNTERS"
	counters_are over_depth=0 || fail "$COUNTERS"
}

replied_to() { # REQUESTS
	counters_are
	(($(last_counter replies) >= $1))
}

# Sixteen CHECKSUMs of one peer, as many as there are shared receives, take turns.  A neighbour's
# ECHO is answered before the first of them.
srq_busy() {
	local text
	! is_iwarp || [[ $DEBUGFS == /run/* ]] || skip "siw has extents of 1 MiB, whose CHECKSUM is soon done"
	target_port srq=1 recv_depth=16 region mem size=64M
	background neighbour probe hold
	wait_line neighbour ready=1
	background peer probe flood depth=16
	wait_line peer ready=1
	send_line peer "2 16"
	wait_line peer "posted=1 op=2"
	wait_until 10 counters_are recv_msgs=16 replies=0 || fail "$COUNTERS"
	send_line neighbour echo
	wait_line neighbour alive=1
	text=$(target connections "$PORT")
	[[ $text == *"id=2 "*"replies=0 held=16"* ]] || fail "the neighbour had to wait: $text"
	wait_until 25 srq_served || fail "connections: $(target connections "$PORT")"
}

srq_served() {
	[[ $(target connections "$PORT") == *"id=2 "*"replies=16 held=0"* ]]
}

# The completion of the reply is the last thing that happens, and the file connections tells of it.
srq_replied() {
	target_port srq=1 region mem size=1M
	disturb "u8 0x11 0xff at 28" delay 300ms
	background peer probe flood depth=4
	wait_line peer ready=1
	send_line peer "2 1"
	# the kernel's target replies from another context
	[[ $DEBUGFS != /run/* ]] || wait_until 10 holds_of_replied 1 || fail "connections: $(target connections "$PORT")"
	wait_until 10 holds_of_replied 0 || fail "connections: $(target connections "$PORT")"
	finish peer
}

holds_of_replied() { # NUMBER
	[[ $(target connections "$PORT") == *" replies=1 held=$1"* ]]
}

# Another peer has its own share.  Its address need not be one that answers.
peer_limit() {
	local stranger=${RTGT_CLIENT_ADDR%.*}.99
	target_port max_conns=8 peer_conns_max=4
	defer ip neigh del "$stranger" dev va
	ip neigh replace "$stranger" lladdr "$(</sys/class/net/vb/address)" dev va nud permanent
	has "$(probe half source="$stranger" count=10)" sent=10
	expect_counters conns_accepted=4 rejects_full=6
	has "$(probe connect)" result=established
}

# What a peer says of its address changes nothing: replies go where its packets come from.
peer_claims() {
	local stranger=${RTGT_CLIENT_ADDR%.*}.99
	target_port max_conns=8 peer_conns_max=4
	defer ip neigh del "$stranger" dev va
	ip neigh replace "$stranger" lladdr "$(</sys/class/net/vb/address)" dev va nud permanent
	has "$(probe half source="$stranger" file="${RTGT_CLIENT_ADDR%.*}.100" count=10)" sent=10
	expect_counters conns_accepted=4 rejects_full=6
	has "$(target connections "$PORT")" "peer=$stranger:49152"
	has "$(probe connect)" result=established
}

# With an SRQ, what completes while the connection is torn down must find it there.  A slow
# kernel gets fewer connections: that is the debug kernel, where KASAN reports the first fault.
# On two processors rxe may use a queue pair that is freed (findings/rxe-packet-reference.rst), so
# its workers have one, which is also the one that receives for them; storm-smp is without that.
storm() { # COUNT [smp]
	local count=$(($1 / SLOW))
	[[ ${2:-} ]] || workers_on_one_processor
	target_port srq=1 recv_depth=256 region mem size=1M
	has "$(probe storm threads=24 count=$count depth=2)" "established=$count"
	expect_no_connections
	serves "$CM_PORT"
}

# A peer invalidates its rkey once.  After 256 more the low eight bits of the key, which are
# all that changes, are again those: then, too, it can be revoked.
reused_key() {
	target_port scope=private region mem size=4096
	background peer probe invalidate rotate=256 wait=1 depth=2
	wait_line peer new=success
	target attr_set "$CONFIGFS/ports/$PORT/revoke" all
	send_line peer go
	finish peer || fail "$(cat "$WORK"/peer.{out,err})"
	has "$(<"$WORK/peer.out")" new=success old=rem-access
	expect_counters invalidations=1 rotations=257
}

# The same on a shared port, where the administrator revokes: clients come after it.
reused_key_shared() {
	local i
	target_port
	background peer probe invalidate wait=1
	wait_line peer status=ok
	for ((i = 0; i < 257; i++)); do
		target attr_set "$CONFIGFS/ports/$PORT/revoke" all
		# a client has the region registered again
		has "$(probe connect)" result=established
	done
	has "$(probe access op=write)" wc=success
	send_line peer go
	finish peer
	expect_counters invalidations=1 rotations=257
}

# REVOKEs of one peer, half a minute of them, delay no other one's requests and teardown.
revokes() {
	local busy quiet
	target_port scope=private mr_max=4K recv_depth=512 region mem size=4M
	busy=$PORT
	background peer probe flood depth=400
	wait_line peer ready=1
	target_port
	quiet=$PORT
	send_line peer "6 400"
	wait_line peer posted=1
	serves "$CM_PORT"
	disables "$quiet"
	outstanding "$busy" 400
	kill -KILL "${BG_PID[peer]}"
}

# A peer has 320 MiB to checksum on 20 connections, and a client of another port 32 on one.  They
# take turns, so the client is served when the peer has had about as much.  If the connections took
# turns, all of the peer's requests would be replied to by then.
share_requests() {
	local busy replies
	target_port region mem size=1M
	busy=$PORT
	background crowd probe flood count=20 depth=16 timeout=30
	wait_line crowd ready=20
	target_port recv_depth=32 region mem size=1M
	background neighbour probe flood depth=32
	wait_line neighbour ready=1
	send_line crowd "2 16"
	wait_line crowd "posted=20 op=2"
	send_line neighbour "2 32"
	wait_until 20 counters_are replies=32 || fail "$COUNTERS"
	PORT=$busy
	replies=$(counter replies)
	((replies < 160)) || fail "the peer had $replies of 320 replies before the client had its 32"
	same "jobs of the peer that wait" "$(target first_line "$DEBUGFS/ports/$PORT/peers" | sed 's/memory=[1-9][0-9]* /memory /; s/requests=[12][0-9]$/requests/')" \
		"peer=$RTGT_CLIENT_ADDR conns=20 half_open=0 memory setups=0 closes=0 requests"
	kill -KILL "${BG_PID[crowd]}"
}

# Likewise twenty set-ups of 4 MiB in pages to one port, which begin earlier, and one of 8 to another.
share_setups() {
	local slow before
	target_port scope=private mr_max=4K region mem "size=$((4096 / SLOW))K"
	slow=$CM_PORT
	target_port scope=private mr_max=4K region mem "size=$((8192 / SLOW))K"
	at=$CM_PORT CM_PORT=$slow
	before=$(value_of "$(probe overtake count=20 at="$at" timeout=30)" before)
	((before <= 14)) || fail "$before of 20 connections of a peer were set up before the client's"
}

# Datagrams whose senders do not exist: for each, the target waits a second for a neighbour
# that does not answer.  Requests to other ports do not wait for that.
lost_datagrams() {
	local lost lost_port
	target_port transport=ud recv_depth=2048 recv_size=256
	lost=$CM_PORT
	lost_port=$PORT
	target_port
	background crowd "$HERE/probe" "$RTGT_TARGET_ADDR" "$lost" "source=${RTGT_CLIENT_ADDR%.*}.100" \
		lost file="$RTGT_CLIENT_ADDR" count=2000
	wait_line crowd sent=2000
	serves "$CM_PORT"
	finish crowd
	# the device has delivered what probe forged: its ICRC is right
	PORT=$lost_port
	wait_until 10 counters_have recv_msgs 1000 || fail "the datagrams did not arrive: $COUNTERS"
}

# The same on the client's own port: the datagrams wait in front of the client's.  Few of their
# sources are resolved at a time, the rest are dropped, so that the client is served.
unresolved_sources() {
	target_port transport=ud recv_depth=2048 recv_size=256
	has "$("$HERE/probe" "$RTGT_TARGET_ADDR" "$CM_PORT" "source=${RTGT_CLIENT_ADDR%.*}.100" lost \
		file="$RTGT_CLIENT_ADDR" count=1000)" sent=1000
	has "$(probe send transport=ud timeout=5)" wc=success same=1 alive=1
	wait_until 10 none_waits || fail "$COUNTERS"
}

# A stranger's datagram occupies one worker, and a client's next one gets another: the reply comes while
# the stranger's address is being looked for, unless the machine stands still for that second.
unresolved_one() {
	local try
	target_port transport=ud
	has "$(probe send transport=ud)" wc=success same=1
	for try in 0 1 2 3 4; do
		has "$("$HERE/probe" "$RTGT_TARGET_ADDR" "$CM_PORT" "source=${RTGT_CLIENT_ADDR%.*}.$((100 + try))" lost \
			file="$RTGT_CLIENT_ADDR" count=1)" sent=1
		has "$(probe send transport=ud)" wc=success same=1
		! counters_are "send_errors=$try" || return 0
		expect_counters "send_errors=$((try + 1))"
	done
	fail "each time the client waited for the stranger"
}

# Likewise if a request for the endpoint has named each of these sources.
unresolved_claims() {
	local strangers=${RTGT_CLIENT_ADDR%.*}.100
	target_port transport=ud recv_depth=2048 recv_size=256
	has "$(probe half op=sidr-req file="$strangers" count=100)" sent=100
	has "$("$HERE/probe" "$RTGT_TARGET_ADDR" "$CM_PORT" "source=$strangers" lost \
		file="$RTGT_CLIENT_ADDR" count=1000)" sent=1000
	has "$(probe send transport=ud timeout=5)" wc=success same=1 alive=1
	wait_until 10 counters_have send_errors 900 || fail "the datagrams were not dropped: $COUNTERS"
}

# A private port that registers an extent for each page is not ready with a connection at once.  What
# ends that is seen before the REP.
build_slowly() {
	target_port scope=private mr_max=4K region mem "size=$((16384 / SLOW))K"
	background client probe connect
	wait_until 10 counters_are conns_accepted=1 || fail "$COUNTERS"
}

# Somebody guesses the number of a queue pair that is being set up, and the PSN that it expects, and
# acknowledges no reply: in front of the registrations it would be there for ever, and with it all who
# wait for these.  The case does not guess: it reads both, and tries again if the set-up was faster.
build_guessed() {
	local try
	target_port handshake_ms=2000 scope=private mr_max=4K region mem size=32M
	for try in 1 2 3 4 5; do
		has "$(probe half count=1)" sent=1
		wait_until 10 building_qp || fail "no queue pair: $(target rdma resource show qp)"
		has "$(probe guess "qpn=${BASH_REMATCH[1]}" "psn=${BASH_REMATCH[2]}")" sent=1
		wait_until 15 counters_are "conns_closed=$try" || fail "it is not closed: $COUNTERS"
		! logged "$PORT: .*a message came before the REP" || break
	done
	logged "$PORT: .*a message came before the REP" || fail "each set-up was faster: $(target look since "$MARK$CASE")"
	disables "$PORT"
}

# The number and the PSN of a queue pair of the module that is ready to receive: BASH_REMATCH
building_qp() {
	[[ $(target rdma resource show qp link "$RTGT_TARGET_DEV") =~ lqpn\ ([0-9]+)[^$'\n']*\ RC\ state\ RTS\ rq-psn\ ([0-9]+)[^$'\n']*\[rtgt\] ]]
}

build_abandoned() {
	build_slowly
	kill -KILL "${BG_PID[client]}"
	expect_counters conns_abandoned=1 conns_established=0 conns_closed=1 rejects_resources=0 rejects_stopping=0
}

build_stopped() {
	build_slowly
	disables "$PORT"
	finish client
	has "$(<"$WORK/client.out")" result=refused reason=stopping
	expect_counters rejects_stopping=1 conns_abandoned=0
}

# Each datagram that was received was replied to, or dropped and counted.
none_waits() {
	counters_are replies=2 && (($(last_counter recv_msgs) == $(last_counter send_errors) + 2 && $(last_counter send_errors) >= 500))
}

counted() { # NAME
	sed -n "s/^$1 //p" <<<"$COUNTERS"
}

# Four messages that are wrong, as many as there are shared receives.
rping_receives() {
	local i
	target_port service=rping srq=1 recv_depth=4
	for i in 1 2 3 4; do
		has "$(probe rping count=0 len=131072)" pings=0
	done
	expect_counters malformed=4
	has "$(timeout $((10 * SLOW)) "$HERE/probe" "$RTGT_TARGET_ADDR" "$CM_PORT" "source=$RTGT_CLIENT_ADDR" \
		rping count=2 len=131072)" pings=2
}

# It READs and WRITEs, which takes a reliable connection.
rping_transport() { # uc|ud
	PORT=$CASE
	defer target port_del "$PORT"
	fails_with "Invalid argument" target port_add "$PORT" "addr=$RTGT_TARGET_ADDR" port=$((20000 + CASE_INDEX * 16)) \
		service=rping transport="$1" region mem
}

# What a client may not READ it is not told a checksum of, which of four bytes is as good.
checksum_access() {
	target_port region mem access=write fill=0x5a
	has "$(probe send msg_op=2 body=24 count=4)" wc=success status=access len=0 alive=1
	expect_counters malformed=1
}

# Ordinary closings, which fill the log's limit, and one that has a reason.
log_reason() {
	local wrong=rkey_xor=0x5000 i most
	# siw raises no event for an rkey that is none
	! is_iwarp || wrong=offset=4080
	target_port
	background crowd probe hold count=20
	wait_line crowd ready=20
	finish crowd
	expect_counters conns_closed=20
	tolerate_log "non-flush error status"
	has "$(probe access op=write $wrong)" wc=rem-access
	expect_counters conns_closed=21
	wait_until 5 logged "$PORT: connection 21 .*refused what the peer did" ||
		fail "the log does not say why connection 21 was closed: $(target look since "$MARK$CASE" | grep "$PORT")"
	# of those there may be ten in five seconds
	for ((i = 0; i < 20; i++)); do
		has "$(probe access op=write $wrong)" wc=rem-access
	done
	expect_counters conns_closed=41
	most=$(most_logged ".*refused what the peer did.*" 4.9)
	((most >= 1 && most <= 10)) || fail "$most lines in five seconds say why a connection was closed"
}

# What fills the limit of one port's lines leaves another's: a neighbour cannot hide them.
log_neighbour() {
	target_port
	background crowd probe hold count=20
	wait_line crowd ready=20
	finish crowd
	expect_counters conns_closed=20
	(($(target look since "$MARK$CASE" | grep -c "$PORT: connection .*: closing: ") < 20)) || fail "the limit is not reached"
	target_port
	has "$(probe send)" wc=success
	wait_until 5 logged "$PORT: connection 1 .*: closing: " || fail "the log does not say that it is closed"
}

# Each connection's receives take 16 MiB; the fourth would be beyond the ceiling.
pools() {
	target_port conn_memory_max=64M recv_depth=4096 recv_size=4096
	refused_beyond 3
}

# Nor those of private SRQs: each connection has its own.
pools_srq() {
	target_port conn_memory_max=64M scope=private srq=1 recv_depth=4096 recv_size=4096
	refused_beyond 3
}

# What a buffer takes counts, not what was asked for: a receive for a datagram holds the largest
# packet and its GRH, and beyond a page the allocator gives powers of two.
pools_counted() { # ATTRIBUTE...
	target_port "$@"
	has "$(probe connect)" result=refused reason=resources arg=12
	expect_counters rejects_resources=1 conns_accepted=0
}

pools_ud() {
	target_port transport=ud recv_depth=4096 recv_size=64 conn_memory_max=32M
	has "$(probe connect transport=ud)" result=refused
	expect_counters rejects_resources=1 conns_accepted=0
}

# Likewise private regions.
private_memory() {
	target_port conn_memory_max=64M scope=private region mem size=20M
	refused_beyond 3
}

# So many clients are served, the next one is refused with the reason, and can come when
# one has left.
refused_beyond() { # CLIENTS
	background crowd probe hold count="$1"
	wait_line crowd "ready=$1"
	has "$(probe connect)" result=refused reason=resources arg=12
	finish crowd
	expect_no_connections
	has "$(probe connect)" result=established
}

# One client at a time until one is refused, where the administrator set no ceiling: the
# target leaves an eighth of the memory to others.  The clients, which run in the same
# guest, take some of that: a tenth must remain.  Where nothing limits the sum, the OOM
# killer ends another process.  Of what the target may use, half is left to clients of other ports.
out_of_memory() { # ATTRIBUTE...
	local left busy at
	# a program has few queues over siw: Documentation/findings/siw-mmap-offset.rst
	! is_iwarp || set -- "${@/size=8M/size=64M}"
	target_port "$@"
	background crowd probe flood count=600 depth=1 timeout=20
	wait_until 60 grep -q ready= "$WORK/crowd.out" || fail "$(cat "$WORK"/crowd.{out,err})"
	# the client's own words tell why, if there was no typed reject
	has "$(cat "$WORK"/crowd.{out,err})" refused=resources arg=12
	left=$(target memory_left)
	((left >= 100)) || fail "only $left per mille of the memory is left"
	busy=$PORT at=$CM_PORT
	target_port scope=private region mem size=64M
	has "$(probe connect)" result=established
	PORT=$busy CM_PORT=$at
	finish crowd
	expect_no_connections
	has "$(probe connect)" result=established
}

# As many such datagrams as there are receives: each gives its own back.
unresolved_receives() {
	target_port transport=ud recv_depth=16 recv_size=256
	has "$("$HERE/probe" "$RTGT_TARGET_ADDR" "$CM_PORT" "source=${RTGT_CLIENT_ADDR%.*}.100" lost \
		file="$RTGT_CLIENT_ADDR" count=16)" sent=16
	expect_counters recv_msgs=16 send_errors=16
	has "$(probe send transport=ud)" wc=success same=1 alive=1
}

# The request that is refused gives its shared receive back.
srq_refused() {
	target_port srq=1 recv_depth=4 withhold_max=4 region mem
	# the requests of the target's READs
	disturb_device "$(netdev "$RTGT_TARGET_DEV")" "u8 0x0c 0xff at 28" loss 100%
	background peer probe flood depth=8
	wait_line peer ready=1
	send_line peer "4 4"
	wait_until 10 counters_are recv_msgs=4 || fail "$COUNTERS"
	# no more than this one: none is in progress when the connection closes
	send_line peer "4 1"
	expect_counters over_depth=1 conns_closed=1
	srq_has 4
}

# One half-open connection of another peer is all of this backlog.  What is refused, and what has ended,
# takes nothing of it and of conn_memory_max.
whole_backlog() {
	local stranger=${RTGT_CLIENT_ADDR%.*}.99
	target_port backlog=1 handshake_ms=60000 conn_memory_max=1M
	defer ip neigh del "$stranger" dev va
	ip neigh replace "$stranger" lladdr "$(</sys/class/net/vb/address)" dev va nud permanent
	has "$(probe half source="$stranger" count=20)" sent=20
	expect_counters conns_accepted=1 rejects_full=19 rejects_resources=0
	has "$(probe connect)" result=refused status=28 reason=full arg=1
	disables "$PORT"
	target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	has "$(probe connect)" result=established
}

# Clients that wait for the endpoint have the backlog; a disable waits for them, and no longer.
endpoint_backlog() {
	target_port transport=ud backlog=4
	has "$(probe half op=sidr-req file="${RTGT_CLIENT_ADDR%.*}.100" count=10)" sent=10
	expect_counters conns_accepted=1 rejects_full=6
	disables "$PORT"
	has_no_connections
	target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	has "$(probe send transport=ud)" wc=success same=1 alive=1
}

# What counts for a connection is no less than what its contexts and buffers take.
memory_counted() { # ATTRIBUTE...
	local setup
	target_port "$@"
	background holder probe hold
	wait_line holder ready=1
	wait_until 5 is_set_up || fail "$(target connections "$PORT")"
	setup=$TEXT
	target_contents "$DEBUGFS/ports/$PORT/peers"
	(($(value_of "$TEXT" memory) >= $(value_of "$setup" bytes) + $(value_of "$setup" message_bytes))) || fail "$TEXT: $setup"
	finish holder
}

is_set_up() {
	target_contents "$DEBUGFS/ports/$PORT/setups" && [[ $TEXT == *message_bytes=* ]]
}

tcase stall --limit 60 --more "300 connections that close with a request under way, and a queue of REVOKEs, stall no teardown" stall
tcase build-kernel --more --limit 60 "connections that take long to build do not delay one to another port" overtaken kernel
tcase build-guessed --more --needs set-up --limit 60 "a message to a queue pair that is being set up ends it, and holds up nobody" build_guessed
tcase build-abandoned --more --needs set-up --limit 60 "a client that gives up before it is accepted is counted as that" build_abandoned
tcase build-stopped --more --needs set-up --limit 60 "a connection that is not accepted yet when its port is disabled is rejected as such" build_stopped
tcase build-user --limit 60 --more "connections that take long to build do not delay one to a server in user space" overtaken user
tcase half-open --needs cm --limit 60 "half-open connections end by the target's clock, whatever the REQ says" half_open
tcase half-open-private --needs cm --limit 60 --more "half-open connections of a private port end too, and their memory is freed" half_open \
	scope=private region mem size=1M
tcase established --needs cm --limit 60 --more "an established connection that sends nothing outlives handshake_ms" established
tcase backlog --needs cm --limit 60 "half-open connections of one address take half of the backlog" half_of_backlog
tcase peer-limit --needs cm --limit 60 "half-open connections of one peer leave the others their share" peer_limit
tcase peer-claims --needs cm --limit 60 "the bounds of a peer do not depend on the address that it claims" peer_claims
tcase peer-share "connections of one IPv4 address are bounded by peer_conns_max" peer_share 4
tcase peer-share-6 --more "connections of one IPv6 address are bounded by peer_conns_max" peer_share 6
tcase storm --limit 60 --more "closing connections with an SRQ and outstanding requests causes no use after free" storm 1500
tcase storm-smp --limit 60 --long "... on all processors, where rxe may cause one (rxe-packet-reference)" storm 1500 smp
tcase reused-key --more --limit 60 "an rkey can be revoked if its number was invalidated remotely before" reused_key
tcase reused-key-shared --limit 60 --more "clients are served if the number of an invalidated rkey is used again" reused_key_shared
tcase revokes --more --limit 60 "a peer's REVOKEs delay neither others' requests nor their teardown" revokes
tcase share-requests --more --limit 60 "a peer's requests on 20 connections take turns with another port's as those of one" share_requests
tcase share-setups --more --limit 60 "... and so do the set-ups of its connections" share_setups
tcase lost-datagrams --needs ud --limit 60 --more "datagrams that cannot be answered delay no other port's requests" lost_datagrams
tcase unresolved --more --needs ud --limit 60 "a client of a datagram port is served next to 1000 datagrams whose sources do not exist" unresolved_sources
tcase unresolved-one --needs ud --more "... and next to one" unresolved_one
tcase unresolved-claims --more --needs ud --limit 60 "... and when requests for the endpoint have named these sources" unresolved_claims
tcase rping-receives --limit 60 --more "messages that no rping client sends occupy no shared receive" rping_receives
tcase withheld --limit 60 --serve-more "receives that one peer has withheld are half of a shared receive queue" withheld
tcase srq-silent --more --needs rnr --limit 60 --serve-more "a peer that takes no replies holds no shared receive" srq_held 1 15
tcase srq-pull --more --needs rnr --limit 60 --serve-more "a peer that answers no READs holds no shared receive" srq_held 4 4
tcase srq-checksum --more --limit 60 --serve-more "CHECKSUMs of one peer hold no shared receive" srq_busy
tcase srq-replied --more --needs acks --serve-more "a reply holds its context until its completion, as connections says" srq_replied
tcase srq-depth --more --limit 60 --serve-more "with an SRQ, a client has as many requests outstanding as the REP allows" srq_depth
tcase rping-uc --limit 60 "the service rping cannot be enabled with UC" rping_transport uc
tcase rping-ud --more --limit 60 "the service rping cannot be enabled with UD" rping_transport ud
tcase pools --limit 60 "the receives of all connections stay below conn_memory_max" pools
tcase pools-srq --more --limit 60 "the receives of connections with an SRQ of their own stay below conn_memory_max" pools_srq
tcase pools-ud --needs ud "the receives of a datagram endpoint count as what they take" pools_ud
tcase pools-rounded --more "receives count as what the allocator takes for them" pools_counted recv_depth=512 recv_size=8193 conn_memory_max=8M
tcase private-memory --limit 60 "the private regions of all connections stay below conn_memory_max" private_memory
tcase oom-pools --limit 60 --more "receives for which there is no memory are refused, and no process is killed" out_of_memory \
	recv_depth=4096 recv_size=8192
tcase oom-private --limit 60 --more "private regions for which there is no memory are refused, and no process is killed" out_of_memory \
	scope=private region mem size=8M
tcase checksum-access --limit 60 "a checksum of a region that grants no read is refused" checksum_access
tcase log-reason --limit 60 "twenty ordinary closings do not hide the reason of the next one" log_reason
tcase log-neighbour --more "... nor that a connection to another port ends" log_neighbour
tcase unresolved-receives --more --needs ud "datagrams whose sources do not exist occupy no receive" unresolved_receives
tcase srq-refused --more --needs rnr --limit 60 "a request beyond the REP's number occupies no shared receive" srq_refused
tcase backlog-whole --more --needs cm --limit 60 "half-open connections of all addresses take the backlog, and nothing else, and give it back" whole_backlog
tcase endpoint-backlog --more --needs ud --limit 60 "clients that wait for a datagram endpoint are as many as the backlog, and leave it" endpoint_backlog
tcase memory --more "no less counts for a connection than its contexts and buffers take" memory_counted
tcase memory-srq --more "... with an SRQ, too" memory_counted srq=1

tmain "$@"
