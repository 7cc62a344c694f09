#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# transports.sh: ports that are not RC over IPv4 with receives of each connection's
# own: UC, UD, SRQ, IPv6.
#
# Over UC and UD what is lost is lost, and nobody is told.  So that a case does not
# have to wait for what shall not come, it sends something else behind it (probe
# unheard), and the counters tell what the target got.
#
# weight 0.4 1.0

. "${0%/*}/lib.sh"

# Path MTU of the client's device in bytes; the device is asked once for all cases.
path_mtu() {
	if [[ ! -s $WORK/mtu ]]; then
		ibv_devinfo -d "$RTGT_CLIENT_DEV" | awk '$1 == "active_mtu:" { print $2 }' >"$WORK/mtu"
	fi
	read -r MTU <"$WORK/mtu"
}

# rtgt ping against PORT; what it prints goes to $WORK/ping.
ping_port() { # ARG...
	rtgt ping -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$@" "$RTGT_TARGET_ADDR" >"$WORK/ping" 2>&1
}

# So many times each operation and size, all of it verified: BYTES, in all.
ping_sizes() { # TRANSPORT OP,OP... COUNT SIZE...
	local transport=$1 ops count=$3 size n=0 sizes
	device_ops "$2"
	ops=$OPS
	shift 3
	printf -v sizes '%s,' "$@"
	BYTES=0
	for size; do
		((BYTES += count * size, n += count))
	done
	size=${ops//[!,]/}
	n=$((n * (${#size} + 1)))
	ping_port --transport "$transport" -o "$ops" -C "$count" -S "${sizes%,}" || fail "rtgt ping: $(<"$WORK/ping")"
	[[ $(<"$WORK/ping") == *"$n operations, $((BYTES * (${#size} + 1))) bytes verified at both ends"* ]] ||
		fail "rtgt ping exits 0, but says: $(<"$WORK/ping")"
}

ping_refused() { # TEXT ARG...
	fails_with "$1" rtgt ping -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "${@:2}" "$RTGT_TARGET_ADDR"
}

# --- UC -----------------------------------------------------------------------------

UC_SEND_MIDDLE=0x21
UC_WRITE_MIDDLE=0x27

uc_write() {
	path_mtu
	target_port transport=uc region mem size=70000
	ping_sizes uc write 3 0 1 $((MTU - 1)) "$MTU" $((MTU + 1)) 65536
	expect_counters conns_established=1 conns_closed=1 imms=0 malformed=0 qp_errors=0
}

uc_all() {
	path_mtu
	target_port transport=uc recv_size=$((65536 + 16)) recv_depth=2 region mem size=70000
	ping_sizes uc write,write-imm,send,send-imm 3 0 "$MTU" 65536
	expect_counters conns_established=1 conns_closed=1 imms=18 "imm_bytes=$BYTES" malformed=0 qp_errors=0
}

# rxe drops the message behind one that was not finished as well (do_class_d1e_error
# ends in CLEANUP, although that may be the start of a good one); a device need not.
uc_lost_send() {
	local text heard
	target_port transport=uc
	lose "u8 $UC_SEND_MIDDLE 0xff at 28"
	text=$(probe unheard transport=uc body=4000)
	has "$text" wc=success heard=0
	heard=$((2 - $(value_of "$text" behind)))
	expect_counters "recv_msgs=$heard" "recv_bytes=$((16 * heard))" "replies=$heard" malformed=0 qp_errors=0
	has "$(probe send transport=uc body=1000)" wc=success len=1000 same=1 alive=1
	expect_counters "recv_msgs=$((heard + 2))" "replies=$((heard + 2))" conns_closed=2 qp_errors=0
}

# The first packet's bytes are there, the immediate is not.
uc_lost_imm() {
	path_mtu
	target_port transport=uc region mem size=8192
	lose "u8 $UC_WRITE_MIDDLE 0xff at 28"
	has "$(probe access transport=uc op=imm imm=17 len=4000)" wc=success
	has "$(probe access transport=uc op=imm imm=17 len=1000)" wc=success
	expect_counters imms=1 imm_bytes=1000 conns_closed=2 qp_errors=0
	target_filled mem "$MTU" $((8192 - MTU)) 0
}

# The tool says that it waits in vain, and ends.
uc_lost_ping() {
	target_port transport=uc
	lose "u8 $UC_SEND_MIDDLE 0xff at 28"
	ping_refused "a message was lost, or the peer is gone: over uc nothing is repeated" --transport uc -o send -S 4000 -C 1 --timeout 1
	expect_counters recv_msgs=0 conns_closed=1 qp_errors=0
}

# There is no NAK: the sender learns nothing, the memory keeps its bytes, the connection
# goes on.
uc_rkey() {
	target_port transport=uc region mem size=4096 fill=0x77
	background neighbour probe hold transport=uc
	wait_line neighbour ready=1
	has "$(probe access transport=uc op=write rkey_xor=0x5000)" wc=success
	has "$(probe access transport=uc op=imm imm=1 rkey_xor=0x5000)" wc=success
	send_line neighbour echo
	wait_line neighbour alive=1
	expect_counters conns_accepted=3 conns_closed=2 imms=0 recv_msgs=1 qp_errors=0
	target_filled mem 0 4096 0x77
	finish neighbour
}

# The client asks for the capability after the administrator has revoked it, and for another one.
uc_revoke() {
	target_port transport=uc scope=private mr_max=4K region mem size=8K
	background peer probe revoked transport=uc count=1
	send_line peer open
	wait_line peer "line=1 ready=1"
	target attr_set "$CONFIGFS/ports/$PORT/revoke" all
	send_line peer open
	wait_line peer "line=2 ready=1"
	expect_counters registrations=2 rotations=2
	send_line peer 1
	wait_line peer "line=3 revoked=1"
	expect_counters rotations=4 malformed=0
	has "$(probe connect transport=uc)" result=established
}

# Nobody tells a UC client.  The target's queue pair has met a receive that does not do, and
# with it the connection goes; the neighbour's stays.
uc_too_long() {
	target_port transport=uc recv_size=256
	background neighbour probe hold transport=uc
	wait_line neighbour ready=1
	tolerate_log "non-flush error status"
	fails_with "no completion" probe send transport=uc body=241 timeout=1
	expect_counters conns_accepted=2 conns_closed=1 qp_errors=1
	send_line neighbour echo
	wait_line neighbour alive=1
	expect_counters replies=1
	finish neighbour
}

uc_no_such() {
	local op
	target_port transport=uc
	for op in read cas faa pull; do
		ping_refused "$op is not possible: transport uc does not have it" --transport uc -o "$op" -C 1
	done
	expect_counters conns_closed=4 qp_errors=0
}

# --- a client of another kind than the port -------------------------------------------

mixed() { # PORT-TRANSPORT CLIENT-TRANSPORT
	target_port "transport=$1"
	ping_refused "nothing listens on $RTGT_TARGET_ADDR:$CM_PORT with transport $2" --transport "$2" -o send -C 1
	expect_counters conns_accepted=0
	ping_sizes "$1" send 1 64
}

# RC, but in the port space of the UC port, which rdma_cm keeps apart all the same.
mixed_space() {
	need_command ucmatose
	target_port transport=uc
	fails_with "RDMA_CM_EVENT_REJECTED, error: 28" ucmatose -P ib -s "$RTGT_TARGET_ADDR" -b "$RTGT_CLIENT_ADDR" \
		-p "$CM_PORT" -C 0
	expect_counters conns_accepted=0
	ping_sizes uc send 1 64
}

# --- UD -----------------------------------------------------------------------------

ud_send() {
	path_mtu
	target_port transport=ud
	ping_sizes ud send,send-imm 3 0 1 $((MTU - 17)) $((MTU - 16))
	expect_counters conns_accepted=1 conns_closed=0 recv_msgs=24 "recv_bytes=$((24 * 16 + 2 * BYTES))" imms=12 replies=24 \
		malformed=0
	[[ $(target connections "$PORT") == "id=1 state=live "* ]] || fail "connections: $(target connections "$PORT")"
}

ud_too_large() {
	path_mtu
	target_port transport=ud
	ping_refused "a datagram is one packet of at most $MTU bytes, 16 of them header" --transport ud -o send -S $((MTU - 15))
	expect_counters recv_msgs=0
}

# Dropped, as datagrams are, and what comes behind it is served: at once, so there is a
# receive for each of the three, or a target that is slow would drop the last as well.
ud_dropped() { # MALFORMED PROBE-ARGUMENT...
	target_port transport=ud recv_size=256 recv_depth=3
	has "$(probe unheard transport=ud "${@:2}")" wc=success heard=0
	expect_counters conns_accepted=1 recv_msgs=2 recv_bytes=32 replies=2 "malformed=$1" qp_errors=0
	has "$(probe send transport=ud body=240)" wc=success len=240 same=1 alive=1
	expect_counters conns_accepted=1 recv_msgs=4 replies=4 qp_errors=0
}

# What needs a connection, or one with READs, is answered, with an error.
answered() { # TRANSPORT STATUS PROBE-ARGUMENT...
	target_port "transport=$1"
	has "$(probe send "transport=$1" "${@:3}")" wc=success "status=$2" alive=1
	expect_counters recv_msgs=2 replies=2 malformed=1
}

ud_many() {
	target_port transport=ud recv_depth=64
	background many probe hold transport=ud count=32
	wait_line many ready=32
	send_line many burst
	wait_line many alive=32
	same connections "$(target connections "$PORT" | wc -l)" 1
	expect_counters conns_accepted=1 recv_msgs=32 replies=32 malformed=0
	finish many
	expect_counters conns_accepted=1 conns_closed=0
}

# An endpoint for each device, and max_conns holds for those.
ud_full() {
	target_port addr=0.0.0.0 transport=ud max_conns=1
	has "$(probe send transport=ud)" alive=1
	fails_with "refused the address request (SIDR status 2)" rtgt ping --transport ud -o send -C 1 -p "$CM_PORT" \
		-I "$RTGT_TARGET_ADDR" "$RTGT_CLIENT_ADDR"
	expect_counters conns_accepted=1 rejects_full=1
	has "$(probe send transport=ud)" alive=1
}

ud_disabled() {
	target_port transport=ud
	background holder probe hold transport=ud timeout=1
	wait_line holder ready=1
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	has_no_connections
	ping_refused "nothing listens on" --transport ud -o send -C 1
	target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	ping_sizes ud send 1 64
	send_line holder echo
	wait_line holder alive=0
	finish holder
	expect_counters conns_accepted=2 conns_closed=1 recv_msgs=1
}

ud_version() {
	target_port transport=ud
	has "$(probe connect transport=ud version=2)" result=refused status=2
	expect_counters rejects_version=1 conns_accepted=0
}

# --- SRQ ------------------------------------------------------------------------------

# More connections than receives.
srq_many() {
	target_port srq=1 recv_depth=2 withhold_max=2
	background many probe hold count=24
	wait_line many ready=24
	send_line many burst
	wait_line many alive=24
	send_line many burst
	wait_until 10 counters_are recv_msgs=48 replies=48 || fail "$COUNTERS"
	finish many
	same "rounds in which all were answered" "$(grep -c "alive=24" "$WORK/many.out")" 2
	expect_counters conns_established=24 conns_closed=24 malformed=0 qp_errors=0
	srq_has 2
}

# The target's receives are all withheld: the device says so, the client's repeats.
# The second time who withheld them is gone before they are back.
srq_rnr() {
	target_port srq=1 recv_depth=3 withhold_max=3
	has "$(probe access op=send withhold=3 "ms=$((200 * SLOW))")" wc=success nak=rnr status=ok
	expect_counters recv_msgs=4 replies=4 qp_errors=0
	has "$(probe access op=write withhold=3 "ms=$((200 * SLOW))")" wc=success
	has "$(probe send)" alive=1
	expect_counters conns_established=3 conns_closed=3 recv_msgs=9 replies=9 qp_errors=0
	srq_has 3
}

# Each receive comes back when its own time is over, whichever was withheld last.
srq_withheld() {
	target_port srq=1 recv_depth=8 withhold_max=2
	withheld 3000 || fail "no receive is withheld: $(<"$WORK/said")"
	withheld 1000 || fail "no second receive is withheld: $(<"$WORK/said")"
	wait_until 6 withheld 10000 || fail "the receive withheld for one second is not back: $(<"$WORK/said")"
	wait_until 6 withheld 10000 || fail "the receive withheld for three seconds is not back: $(<"$WORK/said")"
}

withheld() { # MS
	probe send msg_op=7 body=4 "ms=$1" >"$WORK/said" && [[ $(<"$WORK/said") == *status=ok* ]]
}

# Clients that break in the middle of a receive of all.
srq_broken() {
	local i op ops="imm write" asked=burst
	# without RNR the requests of four clients have to find three receives one after the other
	! is_iwarp || ops=write asked=echo
	target_port srq=1 recv_depth=3 withhold_max=3 recv_size=256 region mem fill=0x77
	tolerate_log "non-flush error status|rxe_invalidate_mr:"
	background neighbours probe hold count=4
	wait_line neighbours ready=4
	for i in 1 2; do
		probe access op=send body=241 >/dev/null
		for op in $ops; do
			probe access op="$op" imm=1 rkey_xor=0x5000 >/dev/null
		done
	done
	send_line neighbours $asked
	wait_line neighbours alive=4
	i=$((2 + 2 * $(wc -w <<<"$ops")))
	expect_counters conns_accepted=$((4 + i)) conns_closed=$i recv_msgs=4 replies=4
	srq_has 3
	finish neighbours
}

# Other receives than a connection's own have other ways to go.
srq_with() { # ATTR=VALUE OP,OP...
	target_port srq=1 recv_depth=4 "$1"
	[[ $1 == transport=* ]] || set -- "transport=rc" "$2"
	ping_sizes "${1#*=}" "$2" 10 1 1000
	expect_counters conns_accepted=1 malformed=0 qp_errors=0
}

# --- the device goes --------------------------------------------------------------------

device_deleted() { # TRANSPORT ATTR=VALUE
	defer bring_back
	target_port addr=0.0.0.0 "transport=$1" "$2"
	background holder probe hold "transport=$1" count=3 timeout=1
	wait_line holder ready=3
	send_line holder burst
	wait_line holder alive=3
	rdma link delete "$RTGT_TARGET_DEV"
	wait_until 10 test ! -e "/sys/class/infiniband/$RTGT_TARGET_DEV" || fail "$RTGT_TARGET_DEV does not go"
	has_no_connections
	finish holder
	"$HERE/topology.sh" up
	has "$(probe send "transport=$1")" alive=1
}

# --- IPv6 -----------------------------------------------------------------------------

over_ipv6() {
	[[ -n ${RTGT_TARGET_ADDR6:-} && -n $(ip -6 addr show to "${RTGT_CLIENT_ADDR6:-}") ]] ||
		skip "the client's device has no IPv6 address"
	RTGT_TARGET_ADDR=$RTGT_TARGET_ADDR6 RTGT_CLIENT_ADDR=$RTGT_CLIENT_ADDR6
}

ipv6() { # TRANSPORT OP,OP... SIZE...
	over_ipv6
	target_port "transport=$1"
	ping_sizes "$1" "$2" 3 "${@:3}"
	expect_counters conns_established=1 malformed=0 qp_errors=0
	[[ $1 == ud ]] || expect_no_connections
}

ipv6_wildcard() {
	over_ipv6
	target_port addr=::
	background holder probe hold
	wait_line holder ready=1
	[[ $(target connections "$PORT") == *" peer=[$RTGT_CLIENT_ADDR]:"* ]] || fail "$(target connections "$PORT")"
	finish holder
	ping_sizes rc write 1 64
}

# Such an address is one with its interface; what is read back can be written again.
ipv6_link_local() {
	local va vb file
	over_ipv6
	va=$(link_local va) vb=$(link_local vb)
	# as topology.sh does for the others
	defer ip -6 neigh del "$va" dev vb
	defer ip -6 neigh del "$vb" dev va
	ip -6 neigh replace "$va" lladdr "$(</sys/class/net/va/address)" dev vb nud permanent
	ip -6 neigh replace "$vb" lladdr "$(</sys/class/net/vb/address)" dev va nud permanent
	target_port "addr=$va%va"
	RTGT_TARGET_ADDR=$va%vb RTGT_CLIENT_ADDR=$vb%vb
	ping_sizes rc write 1 64
	file=$CONFIGFS/ports/$PORT/addr
	same "addr" "$(<"$file")" "$va%$(</sys/class/net/va/ifindex)"
	attr_set "$CONFIGFS/ports/$PORT/enable" 0
	attr_set "$file" "$(<"$file")"
	attr_set "$CONFIGFS/ports/$PORT/enable" 1
	ping_sizes rc write 1 64
}

link_local() { # NETDEV
	ip -6 -o addr show dev "$1" scope link | sed -n 's,.* inet6 \([^/]*\)/.*,\1,p'
}

# --- what a device may lack -----------------------------------------------------------

xrc() {
	on_target ibv_devinfo -v -d "$RTGT_TARGET_DEV" >"$WORK/devinfo"
	grep -qw XRC "$WORK/devinfo" || skip "the device has no XRC (device_cap_flags, IBV_DEVICE_XRC)"
	target_port transport=xrc
}

# More of them than there are receives, three messages each time, of which two are echoes.
ud_too_long_often() {
	local i
	target_port transport=ud recv_size=256 recv_depth=6
	for i in {1..7}; do
		has "$i: $(probe unheard transport=ud body=241 timeout=5)" wc=success heard=0
	done
	expect_counters malformed=7 recv_msgs=14 replies=14
	has "$(probe send transport=ud body=240)" wc=success len=240 same=1 alive=1
}

# It was the only receive, so none is flushed: the target closes the connection all the same.
uc_last_receive() {
	target_port transport=uc recv_depth=1 recv_size=256
	tolerate_log "non-flush error status"
	background long probe replies transport=uc blind=1 count=1 expect=1 body=241 timeout=20
	expect_counters conns_accepted=1 conns_closed=1 qp_errors=1 recv_msgs=0
	finish long
	grep -Eqx "replies=0 end=(disconnected|flush)" "$WORK/long.out" || fail "$(cat "$WORK"/long.{out,err})"
}

# No receive of the connection's own is flushed.
srq_refused() {
	target_port srq=1 region mem fill=0x77
	tolerate_log "non-flush error status"
	has "$(probe access op=write rkey_xor=0x5000)" wc=rem-access
	expect_counters conns_accepted=1 conns_closed=1 qp_errors=1
	target_filled mem 0 4096 0x77
}

# The port's number over IPv4 is another port's.
ipv6_only() {
	local target=$RTGT_TARGET_ADDR client=$RTGT_CLIENT_ADDR
	over_ipv6
	target_port addr=::
	defer target port_del "$CASE-4"
	target port_add "$CASE-4" "addr=$target" "port=$CM_PORT" region mem
	ping_sizes rc write 1 64
	expect_counters conns_established=1
	RTGT_TARGET_ADDR=$target RTGT_CLIENT_ADDR=$client PORT=$CASE-4
	ping_sizes rc write 1 64
	expect_counters conns_established=1
}

# Of a shared port, once the administrator has revoked it, and not before.
uc_revoke_shared() {
	target_port transport=uc region mem
	background peer probe revoked transport=uc count=1
	send_line peer open
	wait_line peer "line=1 ready=1"
	send_line peer 1
	wait_line peer "line=2 revoked=0"
	send_line peer open
	wait_line peer "line=3 ready=1"
	target attr_set "$CONFIGFS/ports/$PORT/revoke" all
	send_line peer 1
	wait_line peer "line=4 revoked=1"
	finish peer
}

tcase uc --needs uc --tier wire,fast --serve-more "UC: WRITE, WRITE_WITH_IMM and SEND, verified at both ends" uc_all
tcase uc-lost-send --needs uc --tier wire,fast --serve-more "a SEND over UC that loses a packet is lost, the next is not" uc_lost_send
tcase ud-send --needs ud --tier wire,fast --serve-more "UD: SENDs up to the largest packet come back" ud_send
tcase ipv6 --tier wire,fast "every operation over IPv6" ipv6 rc write,read,write-imm,send 1 1024 4000

tcase srq-many --needs rnr --tier fast,wire --more --serve-more "24 connections share two receives" srq_many
tcase ud-many --needs ud --tier fast,wire --more --serve-more "UD: 32 clients of one endpoint, all at once" ud_many

tcase uc-write --needs uc "UC: WRITEs of all classes of size, verified at both ends" uc_write
tcase uc-lost-imm --more --needs uc --serve-more "a WRITE_WITH_IMM over UC that loses a packet brings no immediate" uc_lost_imm
tcase uc-lost-ping --needs uc --more "rtgt ping over UC says that a message was lost, and ends" uc_lost_ping
tcase uc-rkey --more --needs uc --serve-more "a UC WRITE with a wrong rkey changes no memory and causes no error at either end" uc_rkey
tcase uc-revoke --more --needs uc "UC: a client gets a new capability after the old one was revoked, or instead of it" uc_revoke
tcase uc-too-long --needs uc --more --serve-more "a SEND over UC longer than its receive ends its connection only" uc_too_long
tcase uc-no-such --more --needs uc --serve-more "rtgt ping refuses READ, atomics and PULL over UC" uc_no_such
tcase uc-pull --needs uc --serve-more "a PULL over UC is a depth error: there are no READs" answered uc depth msg_op=4 body=40
tcase mixed-uc-rc --needs uc --serve-more "a UC port rejects an RC client as if it did not exist" mixed uc rc
tcase mixed-ud-rc --needs ud --more --serve-more "a UD port rejects an RC client as if it did not exist" mixed ud rc
tcase mixed-space --more --needs uc --serve-more "an RC client in a UC port's port space is rejected" mixed_space
tcase ud-too-large --needs ud --serve-more "rtgt ping refuses a datagram of more than a packet" ud_too_large
tcase ud-qkey --needs ud --serve-more "a datagram with a wrong Q_Key is dropped" ud_dropped 0 qkey_xor=1
tcase ud-too-long --more --needs ud --serve-more "a datagram longer than the port takes is dropped" ud_dropped 1 body=241
tcase ud-pull --needs ud --serve-more "a PULL in a datagram is an op error" answered ud op msg_op=4 body=40
tcase ud-short --more --needs ud --serve-more "a datagram shorter than its head is a length error" answered ud length cut=15
tcase ud-full --more --needs ud --serve-more "UD: max_conns is the number of endpoints" ud_full
tcase ud-disabled --needs ud --more "UD: a disabled port is not there, and its endpoint silent" ud_disabled
tcase ud-version --more --needs ud --serve-more "UD: a request of version 2 is refused" ud_version
tcase srq-rnr --more --needs rnr --serve-more "a SENDer that finds no receive in the SRQ repeats until there is one" srq_rnr
tcase srq-withheld --more --serve-more "each withheld receive of an SRQ is back when its time is over" srq_withheld
tcase srq-broken --more --serve-more "connections that fail lose no receive of the SRQ" srq_broken
tcase srq-private --more --serve-more "an SRQ for each connection of a private port" srq_with scope=private write-imm,send
tcase srq-uc --needs uc --more --serve-more "an SRQ of UC connections" srq_with transport=uc write-imm,send
tcase srq-ud --needs ud --more --serve-more "an SRQ of a UD endpoint" srq_with transport=ud send
tcase device-srq --more "rdma link delete under connections with an SRQ" device_deleted rc srq=1
tcase device-ud --needs ud --more "rdma link delete under a UD endpoint" device_deleted ud srq=0
tcase ipv6-ud --needs ud --more --serve-more "UD over IPv6" ipv6 ud send 1 1000
tcase ipv6-wildcard --more "a port on :: serves the device's IPv6 address" ipv6_wildcard
tcase ipv6-link-local --more "a port on a link-local IPv6 address" ipv6_link_local
tcase xrc "a port with transport xrc" xrc
tcase ud-too-long-often --more --needs ud "datagrams longer than the port takes occupy no receive" ud_too_long_often
tcase uc-last-receive --more --needs uc "a SEND longer than the only receive ends its connection, whatever the client does" uc_last_receive
tcase srq-refused --more --needs rnr "with an SRQ, an access that is refused ends its connection, and is counted" srq_refused
tcase ipv6-only --more --needs cm "a port on :: leaves its number over IPv4 to another port" ipv6_only
tcase uc-revoke-shared --more --needs uc "UC: a client gets a new rkey of a shared region after a revocation, and not before" uc_revoke_shared

tmain "$@"
