#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# iwarp.sh: the target over iWARP: what is different there, and every operation once.
#
# weight 0.6 0.9

. "${0%/*}/lib.sh"
# shellcheck source=siw_fixtures.sh
. "${0%/*}/siw_fixtures.sh"

# --- fixtures -----------------------------------------------------------------------

# "rtgt ping" with operations that the device has, and what it says in TEXT.
ping_all() { # OPS SIZE
	TEXT=$(rtgt ping -o "$1" -S "$2" -C 2 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" 2>&1) ||
		fail "rtgt ping: $TEXT"
	[[ $TEXT == *"verified at both ends, nothing else touched"* ]] || fail "$TEXT"
}

# The target refuses that, and says why; siw sends no Terminate while it transmits.  REFUSED
# connections were needed.
refused_with() { # TERM PROBE-ARGUMENT...
	local text
	for REFUSED in {1..5}; do
		text=$(probe access "${@:2}")
		has "$text" own=dead
		[[ $text == *term=none* ]] || break
	done
	has "$text" "term=$1"
}

# rkey and address of region 0, as a client of PORT learns them: RKEY, ADDR.
learn() {
	local text
	text=$(probe connect)
	has "$text" result=established features=2
	RKEY=$(value_of "$text" rkey0)
	ADDR=$(value_of "$text" addr0)
	((RKEY && ADDR)) || fail "no capability: $text"
}

# --- cases --------------------------------------------------------------------------

features() {
	grep -qx "$RTGT_TARGET_DEV:iwarp" "$CONFIGFS/features" || fail "$(grep "$RTGT_TARGET_DEV" "$CONFIGFS/features")"
	! grep -qE "^$RTGT_TARGET_DEV:(roce|infiniband|atomic|flush)" "$CONFIGFS/features"
}

operations() {
	target_port region mem size=64K
	ping_all all 5000
	[[ $TEXT == *"write-imm"*"skipped: device $RTGT_CLIENT_DEV has no immediates"* ]] || fail "$TEXT"
	[[ $TEXT == *"cas"*"skipped: device $RTGT_CLIENT_DEV has no atomics"* ]] || fail "$TEXT"
	expect_counters qp_errors=0 send_errors=0 malformed=0
	expect_no_connections
}

# The port does not know the device before the REQ: no region can be advertised over iWARP.
rejected_device() {
	target_port addr=0.0.0.0 service=sink region mem
	has "$(probe connect)" result=refused reason=device
	expect_counters rejects_device=1 conns_accepted=0
}

# 3 MiB are three extents: siw registers 256 pages.
large() {
	target_port region mem size=3M
	ping_all write,read,pull,push 1536K
	[[ $TEXT == *"3145728 bytes in 3 extents"* ]] || fail "$TEXT"
	expect_counters registrations=3 asks=0 qp_errors=0
}

# The memory is registered once, by the first client that asks.
shared() {
	local first
	target_port
	learn
	first="$RKEY $ADDR"
	expect_no_connections
	learn
	same "what a second client learns" "$RKEY $ADDR" "$first"
	expect_counters conns_established=2 asks=2 registrations=1 rotations=0
}

# The REP names the regions, and neither address nor rkey of them.
capability() {
	target_port region mem size=8192 region other size=4096 access=read
	record
	ping_all write 64
	recorded "MPA Reply"
	[[ $TEXT == *"MPA Reply"*"va=0x0 rkey=0x00000000 len=8192"* ]] || fail "$TEXT"
	expect_counters asks=2
}

# By the administrator, with no client there: the old rkey is dead, the next client gets another.
revoked() {
	local old
	target_port region mem size=4096 fill=0x11
	learn
	old=$RKEY
	expect_no_connections
	target attr_set "$CONFIGFS/ports/$PORT/revoke" all
	learn
	((RKEY != old)) || fail "the rkey is still $old"
	refused_with stag "rkey=$old" "addr=$ADDR" len=8
	expect_counters rotations=1 "conns_closed=$((2 + REFUSED))"
	expect_no_connections
	target_filled mem 0 4096 0x11
}

# Of a shared port a client may replace an rkey that is not valid: here the administrator has
# revoked it, and nobody has registered the memory since.
revoke_after_revoke() {
	local old
	target_port region mem size=4096
	learn
	old=$RKEY
	target attr_set "$CONFIGFS/ports/$PORT/revoke" all
	has "$(probe send blind=1 msg_op=6 body=24)" wc=success status=ok len=24
	has "$(probe send blind=1 msg_op=6 body=24)" wc=success status=shared
	learn
	((RKEY != old)) || fail "the rkey is still $old"
	has "$(probe access len=64)" wc=success
}

# The Terminate says why; the client's WRITE had left its queue by then.  An rkey that is none
# ends the connection without a word from siw to the target.
forged() {
	target_port region mem size=4096 fill=0x11
	record
	# the Terminate may overtake the completion of the WRITE
	refused_with stag rkey_xor=1 len=64
	recorded Terminate
	expect_no_connections
	target_filled mem 0 4096 0x11
}

refused() {
	target_port region mem size=4096 fill=0x11
	record
	# siw may see the end of the stream first, and then looks at nothing that is left of it
	for _ in {1..5}; do
		refused_with bounds offset=4080 len=64
		expect_no_connections
		counters_are qp_errors=0 || break
	done
	expect_counters qp_errors=1
	recorded Terminate
	target_filled mem 0 4096 0x11
	logged "closing: the device refused what the peer did" ||
		fail "the log does not say that the device refused"
}

plain() {
	target_port
	has "$(probe connect plain=1)" result=refused reason=ask arg=9
	expect_counters rejects_ask=1 conns_accepted=0
}

lacking() { # TEXT WORD...
	local text=$1
	shift
	tolerate_log "rtgt: .*(cannot listen on .*error -95|cannot be registered|take that from the access)"
	defer port_del "$CASE"
	fails_with "Operation not supported" port_add "$CASE" "addr=$RTGT_TARGET_ADDR" port=20001 "$@"
	logged "$text" || fail "the log does not say: $text"
}

# What the target READs goes to a registered address; none of the kernel's is on the wire.
no_kernel_address() {
	target_port region mem size=64K
	record
	ping_all pull 5000
	initiated read
	no_kernel_sinks
}

no_kernel_sinks() {
	local sinks
	recorded "READ Response"
	# a response begins where the sink is
	sinks=$(awk '/READ Response/ && !seen[$4]++ { print $5 }' <<<"$TEXT" | cut -d = -f 2)
	[[ $sinks ]] || fail "no READ in the capture: $TEXT"
	[[ $sinks != *0xffff* ]] || fail "the sinks of READs are at $sinks"
}

# A client that has no RDMA device, but sockets and Documentation/protocol.rst.
sockets() { # [-c]
	need_command python3
	need_command rtgt-example-iwarp
	target_port region mem size=4096 fill=0x11
	TEXT=$(rtgt-example-iwarp "$@" "$RTGT_TARGET_ADDR" "$CM_PORT" 2>&1) || fail "$TEXT"
	[[ $TEXT == *"written 0102030405060708, read 0102030405060708"* ]] || fail "$TEXT"
	target_filled mem 8 4088 0x11
	expect_counters conns_established=1 qp_errors=0
	expect_no_connections
}

# One run of the kernel's initiator, in RESULT.
initiated() { # OP [ATTR=VALUE...]
	local word key value ini=$CONFIGFS/initiators/$CASE
	mkdir "$ini"
	defer no_initiator
	for word in "addr=$RTGT_TARGET_ADDR" "port=$CM_PORT" "source=$RTGT_CLIENT_ADDR" "op=$1" iters=20 warmup=2 "${@:2}"; do
		attr_set "$ini/${word%%=*}" "${word#*=}"
	done
	attr_set "$ini/run" 1
	contents "$DEBUGFS/initiators/$CASE/wait"
	RESULT=
	while read -r key value; do
		RESULT+="$key=$value "
	done <"$ini/result"
	rmdir "$ini"
}

no_initiator() {
	[[ ! -d $CONFIGFS/initiators/$CASE ]] || rmdir "$CONFIGFS/initiators/$CASE"
}

initiator() {
	target_port region mem size=64K fill=counter
	initiated write size=5000
	has "$RESULT" state=done ops=20 verified=5000
	initiated read size=5000 depth=4
	has "$RESULT" state=done ops=20 verified=20000
	initiated read size=4096 depth=10 iters=10 warmup=0 verify=all
	has "$RESULT" state=done ops=10 verified=40960
	initiated send size=64
	has "$RESULT" state=done ops=20
	initiated write-imm size=64
	has "$RESULT" state=failed
	[[ $RESULT == *"$RTGT_CLIENT_DEV has no immediates"* ]] || fail "$RESULT"
	initiated faa
	has "$RESULT" state=failed
}

# Of two local ports TCP has one.  rdma_cm takes the other one for the first connection, and does not
# take the same port twice in a row: the next connection begins with the port that TCP has.  Each
# goes to a port of its own, or else the first one, in TIME_WAIT, would be in the way.
port_in_use() {
	local range=/proc/sys/net/ipv4/ip_local_port_range
	background taken rtgt tcp-serve -a "$RTGT_CLIENT_ADDR" -p 40000
	wait_line taken listening
	contents "$range"
	defer write_file "$range" "$TEXT"
	write_file "$range" "40000 40001"
	target_port region mem
	ping_all write 64
	target_port region mem
	initiated write size=64
	has "$RESULT" state=done ops=20
	target_port region mem
	ping_all write 64
	kill "${BG_PID[taken]}"
	finish taken || true
}

write_file() { # FILE TEXT
	printf '%s' "$2" >"$1"
}

rping_client() {
	# shellcheck source=rping_fixtures.sh
	. "$HERE/rping_fixtures.sh"
	service_port rping
	record
	rping_ok 1000 5
	expect_pings 1 5
	no_kernel_sinks
}

served() {
	# shellcheck source=serve_fixtures.sh
	. "$HERE/serve_fixtures.sh"
	local crc
	target_port region mem size=64K fill=0x33
	crc=$(value_of "$(probe access plain=20 op=write offset=17 len=333 seed=9)" crc)
	target_holds mem 17 333 "$crc" 0x33
	has "$(probe access plain=20 op=read offset=17 len=333)" wc=success "crc=$crc"
	ping_all write,read,send,pull,push 4000
	expect_counters conns_established=3 qp_errors=0
	ignores_sigpipe "$(<"/proc/${SERVERS[$PORT]}/status")"
}

# What siw.queues tests, at a server whose clients are two programs: it refuses the connection that
# it has no queues for, and serves on.  Documentation/findings/siw-mmap-offset.rst
serve_queues() {
	# shellcheck source=serve_fixtures.sh
	. "$HERE/serve_fixtures.sh"
	local name
	target_port recv_depth=4 region mem size=4096
	for name in first second; do
		background $name probe flood count=40 depth=1 timeout=30
		wait_until "$PATIENCE" grep -q ready= "$WORK/$name.out" || fail "$(cat "$WORK/$name".{out,err})"
	done
	has "$(<"$WORK/first.out")" ready=40
	grep -q "ready=40\|refused=resources arg=12" "$WORK/second.out" || fail "$(cat "$WORK"/second.{out,err})"
	# the second program has inherited the write end of the first one's stdin
	finish second
	finish first
	expect_no_connections
	has "$(probe connect)" result=established
}

# A client that gets no reply to its first message sends an empty WRITE, since siw may not have
# read the message: Documentation/findings/siw-first-fpdu.rst.
woken() {
	# shellcheck source=serve_fixtures.sh
	. "$HERE/serve_fixtures.sh"
	target_port
	record
	background holder probe hold timeout=30
	wait_line holder ready=1
	kill -STOP "${SERVERS[$PORT]}"
	defer kill -CONT "${SERVERS[$PORT]}"
	send_line holder echo
	recorded "WRITE stag"
	kill -CONT "${SERVERS[$PORT]}"
	wait_line holder alive=1
	finish holder
}

# The target READs zero bytes from a plain client that sends nothing, and the connection stays: siw
# may have left the client's first message in the socket (Documentation/findings/siw-first-fpdu.rst).
target_wakes() {
	# shellcheck source=rping_fixtures.sh
	. "$HERE/rping_fixtures.sh"
	service_port sink
	record
	background holder probe hold plain=1 blind=1
	wait_line holder ready=1
	recorded "RDMA READ Response stag=0x00000000 to=0x0 last"
	finish holder
	expect_counters conns_established=1 recv_msgs=0 qp_errors=0 send_errors=0
}

# A client that speaks the protocol wakes siw itself, and may send its first message at any time: a
# READ would come between (Documentation/findings/siw-read-zero.rst).
spared() {
	target_port idle_ms=500
	record
	background holder probe hold blind=1
	wait_line holder ready=1
	wait_until 10 counters_are conns_closed=1 || fail "$COUNTERS"
	recorded "MPA Reply"
	[[ $TEXT != *"READ Request"* ]] || fail "the target READs: $TEXT"
	finish holder
}

# A device goes with clients on it, and a port is disabled with clients on it.
under_traffic() { # CMD...
	target_port region mem size=64K
	background writer probe traffic len=4096 depth=8
	wait_line writer started=1
	"$@"
	wait_line writer end=
	finish writer
}

# A client that has no rkey yet may ask for other ones: RTGT_MSG_REVOKE is 6.
never_registered() {
	target_port scope=private region mem size=4096
	has "$(probe send blind=1 msg_op=6 body=24)" wc=success status=ok len=24 alive=1
	expect_counters asks=0 qp_errors=0
	expect_no_connections
}

# A client that does not read: its replies fill the target's send buffer, and the registration that
# it asks for waits behind them.  Others connect and learn their rkeys meanwhile.
unread() {
	local peer dev
	defer sysctl -qw "net.ipv4.tcp_wmem=$(sysctl -n net.ipv4.tcp_wmem | tr '\t' ' ')"
	sysctl -qw net.ipv4.tcp_wmem="4096 4096 4096"
	target_port mr_max=4K recv_size=4K region mem size=512K
	# the client's is larger, so that its requests leave it
	sysctl -qw net.ipv4.tcp_wmem="4096 1048576 4096"
	background peer probe flood depth=16 body=4000
	wait_line peer ready=1
	peer=$(sed -n 's/.* peer=[^ ]*:\([0-9]*\) .*/\1/p' "$DEBUGFS/ports/$PORT/connections")
	dev=$(netdev "$RTGT_TARGET_DEV")
	disturb_device "$dev" "u16 $peer 0xffff at 22" loss 100%
	# but TCP's acknowledgments arrive, whatever is shorter than 256 bytes
	tc filter add dev "$dev" parent 1: protocol ip prio 1 u32 match u16 0 0xff00 at 2 flowid 1:1
	send_line peer "9 2"
	expect_counters recv_msgs=2
	attr_set "$CONFIGFS/ports/$PORT/revoke" all
	send_line peer "9 1"
	expect_counters recv_msgs=3
	learn
	grep -q "^id=1 state=live .* recv_msgs=4 .* replies=" "$DEBUGFS/ports/$PORT/connections" ||
		fail "the first client is gone: $(<"$DEBUGFS/ports/$PORT/connections")"
	disables "$PORT"
}

device_goes() {
	tolerate_log "rtgt: .*$RTGT_TARGET_DEV was removed"
	defer topology_again
	under_traffic rdma link del "$RTGT_TARGET_DEV"
}

topology_again() {
	target device_add "$RTGT_TARGET_DEV" "$RTGT_TARGET_NETDEV"
}

disable() {
	echo 0 >"$CONFIGFS/ports/$PORT/enable"
}

# A probe would be a READ: there is none before the client's first message, nor if it allows none.
unprobed() { # PROBE-ARGUMENT
	target_port keepalive_ms=200 idle_ms=1000
	record
	background holder probe hold "$1"
	wait_line holder ready=1
	wait_until 10 counters_are conns_closed=1 || fail "$COUNTERS"
	recorded "MPA Reply"
	[[ $TEXT != *"READ Request"* ]] || fail "the target READs: $TEXT"
	counters_are keepalives=0 qp_errors=0 send_errors=0 || fail "$COUNTERS"
	finish holder
}

tcase features "the features of an iWARP device" on_siw features
tcase capability "the REP has no address and no rkey: the reply to the first request has them" on_siw capability
tcase shared-5000 --tier wire,fast "every operation of 5000 bytes, and the reason why it is not there" on_siw operations
tcase large --more "a region of three extents is written, read, pulled and pushed as one" on_siw large
tcase shared --more "clients of a shared port see one memory, registered once" on_siw shared
tcase revoke-first --more "the first request of a private connection is REVOKE, and registers" on_siw never_registered
tcase revoke-after-revoke --more "of a shared port a client may replace an rkey that was revoked" on_siw revoke_after_revoke
tcase revoked "a revocation without a client invalidates the rkey, and the next client gets another" on_siw revoked
tcase forged --tier wire,fast "a WRITE with a forged rkey is answered with a Terminate" on_siw forged
tcase refused --more "a WRITE beyond the region is answered with a Terminate, and the log has the reason" on_siw refused
tcase plain "a plain client is rejected with the reason ASK" on_siw plain
tcase no-ud "a port with transport ud is refused" on_siw lacking "reliable connections only" transport=ud region mem
tcase rejected-device "a port on all addresses rejects a client whose device cannot serve it" on_siw rejected_device
tcase no-sink "a port with service sink and a region, whose capability nobody could get, is refused" on_siw lacking "remove the regions" service=sink region mem
tcase no-atomics --more "a region with access atomic is refused" on_siw lacking "no atomics" region mem access=read,atomic
tcase unread --more "a client that does not read delays no other" on_siw unread
tcase no-kernel-address --more "no address of the kernel is in a READ request" on_siw no_kernel_address
tcase sockets --tier wire,fast "a client over plain TCP sockets: WRITE, READ, CHECKSUM" on_siw sockets
tcase sockets-crc --tier wire,fast "the same with the CRCs of MPA, which both ends check" on_siw sockets -c
tcase initiator --more "the kernel's initiator, and what it refuses" on_siw initiator
tcase port-in-use "a client whose local port TCP uses tries another one" on_siw port_in_use
tcase rping --more "rdma-core's rping" on_siw rping_client
tcase serve --more "the target in user space, which serves plain clients as well" on_siw served
tcase serve-queues --more "a server that can make no further queues refuses the next connection and serves on" on_siw serve_queues
tcase target-wakes --more "if a plain client sends nothing, the target makes its own siw read the socket" on_siw target_wakes
tcase spared --more "the target READs nothing from a client that speaks its protocol" on_siw spared
tcase woken --more "a client whose first message gets no reply sends an empty WRITE" on_siw woken
tcase disable --more "a port is disabled under traffic" on_siw under_traffic disable
tcase device-goes --more "the device is removed under traffic" on_siw device_goes
tcase unprobed-early --more "keepalive_ms READs nothing before the client's first message" on_siw unprobed blind=1
tcase unprobed-denied --more "keepalive_ms READs nothing from a client that allows no READ" on_siw unprobed holds=0

main_on_siw "$@"
