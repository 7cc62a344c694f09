#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# messages.sh: SENDs, right and wrong.
#
# A message the target cannot take is answered with a typed status and its own
# tag, and counted; the connection goes on, which an echo behind it shows, and a
# neighbour on the same port does not notice.
#
# Every way in which a message can be wrong stands in a table below, by operation:
# a name, the status that answers it, and what probe is told.  The messages of a
# table go over one connection; one that is not answered as it should be is named.
#
# weight 0.3 0.9

. "${0%/*}/lib.sh"

MEM_SIZE=6000

answered() { # STATUS TAG PROBE-ARGUMENT...
	local status=$1 tag=$2
	shift 2
	target_port region mem size=$MEM_SIZE
	has "$(probe send "$@")" wc=success "status=$status" "tag=$tag" len=0 alive=1
	expect_counters recv_msgs=2 replies=2 malformed=1 qp_errors=0
}

# A table from stdin.  A message without a whole head is answered with tag 0.
refused() { # PROBE-ARGUMENT...
	local name status rest op want='' table='' n=0
	while read -r name status rest; do
		[[ $name ]] || continue
		op=1
		[[ " $rest" != *" msg_op="* ]] || op=${rest##*msg_op=}
		op=$((${op%% *} & 0x7f))
		case $status in
		cut) want+="$name status=length op=0 tag=0 len=0 arg=0"$'\n' ;;
		*) want+="$name status=$status op=$op tag=7 len=0 arg=0"$'\n' ;;
		esac
		table+="$name $rest"$'\n'
		n=$((n + 1))
	done
	probe messages neighbour=1 "$@" <<<"$table" >"$WORK/answers" || :
	want+=$'alive=1\nneighbour=alive'
	[[ $(<"$WORK/answers") == "$want" ]] ||
		fail "of $n messages, wanted and got:"$'\n'"$(diff <(echo "$want") "$WORK/answers")"
	expect_counters "recv_msgs=$((n + 2))" "replies=$((n + 2))" "malformed=$n" qp_errors=0
}

# Regions of each kind: 0 is MEM_SIZE long, 1 read-only, 2 write-only.
three_regions() { # [ATTR=VALUE...]
	target_port "$@" region mem size=$MEM_SIZE region ro size=4096 access=read region wo size=4096 access=write
}

bad_heads() {
	local n table
	three_regions
	for n in {0..15}; do
		table+="bytes-$n cut cut=$n"$'\n'
	done
	for n in 0 2 3 127 128 129 255; do
		table+="version-$n version msg_version=$n"$'\n'
	done
	for n in 0 3 10 11 127 128 129 130 137 255; do
		table+="op-$n op msg_op=$n"$'\n'
	done
	# of 10 bytes; the fifth is ten with its bytes reversed
	for n in 0 9 11 26 0x0a000000 0x7fffffff 0x80000000 0x8000000a 0xfffffff0 0xffffffff; do
		table+="len-$n length body=10 msg_len=$n"$'\n'
	done
	refused <<<"$table"
}

# Each body too short, and each range that is not in region 0.
ranges() { # OP BODY-SIZE
	local n
	for ((n = 0; n < $2; n++)); do
		echo "body-$n length msg_op=$1 body=$n"
	done
	for n in 3 4 0x01000000 0x7fffffff 0xffffffff; do
		echo "region-$n region msg_op=$1 body=$2 region=$n count=0"
	done
	for n in 1,$MEM_SIZE $MEM_SIZE,1 0,$((MEM_SIZE + 1)) $((MEM_SIZE - 1)),2 $((MEM_SIZE + 1)),0 \
		4096,-4096 1,-1 0,-1 -1,0 -1,1 -1,-1 -4096,4096 -$MEM_SIZE,$MEM_SIZE \
		0x100000000,0 0,0x100000001 0x7fffffffffffffff,0x7fffffffffffffff; do
		echo "range-$n range msg_op=$1 body=$2 offset=${n%,*} count=${n#*,}"
	done
}

bad_checksums() {
	three_regions
	{
		ranges 2 24
		echo "access access msg_op=2 body=24 region=2 count=4"
		echo "access-nothing access msg_op=2 body=24 region=2 count=0"
	} | refused
}

# PULL writes into the region, PUSH reads from it.
bad_transfers() { # OP REGION-WITHOUT-THE-RIGHT
	three_regions
	{
		ranges "$1" 32
		echo "access access msg_op=$1 body=32 region=$2 count=1"
		echo "access-nothing access msg_op=$1 body=32 region=$2 count=0"
		echo "range-before-access range msg_op=$1 body=32 region=$2 count=4097"
	} | refused
}

# Each region here has one extent; first and max are offset and count.
bad_extents() {
	local n
	three_regions
	{
		for n in {0..15}; do
			echo "body-$n length msg_op=9 body=$n"
		done
		for n in 3 4 0x01000000 0x7fffffff 0xffffffff; do
			echo "region-$n region msg_op=9 body=16 region=$n offset=1"
		done
		for n in 1,1 1,0 2,1 0x80000000,1 0xffffffff,1 0xffffffff,0xffffffff; do
			echo "first-$n range msg_op=9 body=16 region=2 offset=${n%,*} count=${n#*,}"
		done
	} | refused
}

# What both agreed on when they connected
pull_without_reads() {
	three_regions
	refused holds=0 <<-END
		pull depth msg_op=4 body=32 count=1
		pull-nothing depth msg_op=4 body=32 count=0
		access-before-depth access msg_op=4 body=32 region=1 count=1
	END
}

bad_revokes() { # SCOPE STATUS-OF-A-GOOD-ONE
	local n
	three_regions scope="$1"
	{
		for n in {0..23}; do
			echo "body-$n length msg_op=6 body=$n"
		done
		for n in 3 4 0x01000000 0xffffffff; do
			echo "region-$n region msg_op=6 body=24 region=$n"
		done
		# what others use, too, is not a client's to take: their rkeys stay as they are
		[[ $1 == private ]] || printf 'shared-%d shared msg_op=6 body=24 region=%d\n' 0 0 1 1 2 2
	} | refused
	counters_are rotations=0 || fail "$COUNTERS"
}

bad_waits() {
	three_regions
	refused <<-END
		withhold-0 length msg_op=7 body=0
		withhold-1 length msg_op=7 body=1
		withhold-3 length msg_op=7 body=3
		withhold-most limit msg_op=7 body=4 ms=10001
		withhold-max limit msg_op=7 body=4 ms=0xffffffff
		withhold-sign limit msg_op=7 body=4 ms=0x80000000
		disconnect-less length msg_op=8 body=4 msg_len=3
		disconnect-more length msg_op=8 msg_len=1
		disconnect-cut cut msg_op=8 cut=15
		disconnect-version version msg_op=8 msg_version=2
	END
}

# To a datagram only what needs no connection makes sense.
bad_datagrams() {
	target_port transport=ud
	refused transport=ud <<-END
		empty cut cut=0
		short cut cut=15
		version version msg_version=0
		op op msg_op=10
		length length body=10 msg_len=9
		region region msg_op=2 body=24 region=1
		range range msg_op=2 body=24 count=4097
		pull op msg_op=4 body=32
		pull-short length msg_op=4 body=31
		push op msg_op=5 body=32
		revoke op msg_op=6 body=24
		extents op msg_op=9 body=16
		disconnect op msg_op=8
		withhold limit msg_op=7 body=4 ms=10001
	END
}

# What the client's own device does not grant: it refuses and ends the connection,
# perhaps before it knows that the message itself has arrived.
not_granted() { # OP
	local args text
	three_regions
	tolerate_log "non-flush error status"
	for args in "count=64 rkey=0x1000" "count=1 rkey=-1 addr=-1" "count=$MEM_SIZE rkey=1 addr=0x1000"; do
		# shellcheck disable=SC2086 # several words
		text=$(probe access op=send "msg_op=$1" body=32 $args neighbour=1)
		# iWARP: the connection may end while the message still is in the client's device
		[[ $text == *"wc=flush "* ]] || { is_iwarp && was_refused "$text"; } ||
			has "$text" wc=success reply=none
		has "$text" neighbour=alive
		expect_no_connections
	done
	target_filled mem 0 $MEM_SIZE 0
	expect_counters conns_accepted=6 conns_closed=6 malformed=0
}

# The service "rping" has no way to say no: it closes.  It sends back what it was sent
# when it has done its part, which for a message of no bytes is nothing: a message
# that looks like a reply is one then.
bad_rpings() {
	local args text
	target_port service=rping
	background neighbour probe messages blind=1 msg_op=0x81
	send_line neighbour before
	wait_line neighbour "before status=ok"
	for args in cut=0 cut=15 body=1 arg=65537 arg=0xffffffff holds=0; do
		text=$(probe messages blind=1 "$args" <<<message 2>/dev/null) || :
		same "the answer to $args" "$text" alive=0
	done
	expect_counters malformed=6 conns_accepted=7 conns_closed=6
	send_line neighbour after
	wait_line neighbour "after status=ok"
	finish neighbour
}

echoed() { # BYTES
	target_port
	has "$(probe send "body=$1" seed=99 tag=0xfffffffe)" wc=success status=ok op=1 tag=4294967294 "len=$1" same=1 alive=1
	expect_counters recv_msgs=2 "recv_bytes=$((16 + $1 + 16))" replies=2 malformed=0
}

# The target's sum of a range against one made of the same bytes by other means.
summed() { # OFFSET LENGTH
	target_port region first region mem "size=$MEM_SIZE" fill=counter
	has "$(probe send msg_op=2 body=24 region=1 "offset=$1" "count=$2")" status=ok op=2 len=16 alive=1 \
		"crc=$(target look crc "$(data_of mem)" "$1" "$2")" "covered=$2"
	expect_counters malformed=0
}

# Longer than the target's receives: the device refuses, the target drops.  The
# specification calls it an invalid request; rxe takes the receive for malformed
# (copy_data: -EINVAL) and answers with an operational error.
too_long() {
	local text
	target_port recv_size=256
	has "$(probe send body=240)" wc=success status=ok len=240 alive=1
	tolerate_log "non-flush error status"
	text=$(probe access op=send body=241)
	if is_iwarp; then
		# the Terminate comes when the SEND has completed; siw's says that there is no receive
		was_refused "$text" || fail "$text"
		[[ $text == *term=@(too-long|no-receive|none)* ]] || fail "$text"
	else
		[[ $text == "wc=rem-inv-req "* || $text == "wc=rem-op "* ]] || fail "$text"
	fi
	expect_counters recv_msgs=2 qp_errors=1
	expect_no_connections
	has "$(probe send)" alive=1
}

# A plain client's SENDs are counted and not answered, however wrong.
plain() {
	target_port
	background holder probe hold plain=1
	wait_line holder ready=1
	fails_with "no completion" probe send plain=1 timeout=1
	expect_counters recv_msgs=1 recv_bytes=16 replies=0 malformed=0
	finish holder
}

# A immediate that asks for nothing is counted only; it must not be answered.
notify() {
	target_port region mem size=4096
	has "$(probe access op=imm imm=17 len=100)" wc=success
	expect_counters imms=1 imm_bytes=100 recv_msgs=0 replies=0
	has "$(probe access op=imm imm=0x20000000 len=0)" wc=success
	expect_counters imms=2 imm_bytes=100 replies=0 malformed=0
}

# All the receives there are, and then some, which an RNR NAK holds back: none may be lost.
burst() {
	local each=8
	! is_iwarp || each=2
	target_port recv_depth=2
	background many probe flood count=8 depth=$each
	wait_line many ready=8
	send_line many "1 $each"
	wait_until 10 counters_are "recv_msgs=$((8 * each))" "replies=$((8 * each))" || fail "$COUNTERS"
	finish many
	expect_counters conns_closed=8 malformed=0 qp_errors=0
}

# Neither keeps its receive: there are more of each than shared receives.
unanswered() {
	local i
	target_port srq=1 recv_depth=2 region mem size=4096
	for i in 1 2 3; do
		has "$i: $(probe access op=imm imm=17 len=8 rnr_retry=0)" wc=success rnrs=0
	done
	background peer probe flood plain=1 depth=8
	wait_line peer ready=1
	send_line peer "1 5"
	expect_counters imms=3 recv_msgs=5 replies=0 malformed=0
	finish peer
}

# In four steps, and the reply goes to the source of the datagram.
summed_datagram() {
	target_port transport=ud region mem size=64K fill=counter
	has "$(probe send transport=ud msg_op=2 body=24 offset=1234 count=50000)" wc=success status=ok op=2 len=16 alive=1 \
		"crc=$(target look crc "$(data_of mem)" 1234 50000)" covered=50000
	has "$(probe send transport=ud msg_op=7 body=4)" wc=success status=ok len=0 alive=1
	expect_counters recv_msgs=4 replies=4 malformed=0 send_errors=0
}

# What a request before it has left in the receive is not taken for a new rkey.
revoke_after_checksum() {
	target_port recv_depth=1 region mem size=$MEM_SIZE
	probe messages <<-END >"$WORK/answers"
		sum msg_op=2 body=24 count=$MEM_SIZE
		revoke msg_op=6 body=24
	END
	has "$(grep "^revoke " "$WORK/answers")" status=shared len=0
	expect_counters rotations=0 malformed=1
}

tcase echo-largest --tier wire,fast --serve-more "an echo that fills a receive to the last byte" echoed 4080
tcase burst --more --tier wire,fast --serve-more "more SENDs than receives, from eight clients" burst

tcase checksum --tier fast,wire --serve-more "the checksum of a whole region is that of its bytes" summed 0 $MEM_SIZE
tcase version-2 --tier fast,wire "a SEND of version 2 is a version error" answered version 7 msg_version=2
tcase len-more --tier fast,wire "a SEND that announces more than it brings is a length error" answered length 7 body=10 msg_len=11
tcase too-long --more --tier fast,wire --serve-more "a SEND longer than a receive ends its connection only" too_long

tcase echo-0 "an echo of nothing" echoed 0
tcase echo-1 "an echo of one byte" echoed 1
tcase checksum-part "the checksum of a part is that of its bytes" summed 1234 567
tcase checksum-last "the checksum of the last byte is that of its byte" summed $((MEM_SIZE - 1)) 1
tcase checksum-empty "the checksum of nothing, at the very end, is 0" summed $MEM_SIZE 0
tcase bad-heads --more --serve-more "each length below a head, wrong version, operation and length is refused with its status" bad_heads
tcase bad-checksums --more --serve-more "each body too short, missing region and range outside is refused to a checksum" bad_checksums
tcase bad-pulls --more --serve-more "each body too short, missing region, range outside and region without write is refused to a PULL" bad_transfers 4 1
tcase bad-pushes --more --serve-more "each body too short, missing region, range outside and region without read is refused to a PUSH" bad_transfers 5 2
tcase bad-extents --serve-more "an EXTENTS request that is too short, names no region or is beyond the last extent is refused" bad_extents
tcase pull-depth --serve-more "a PULL is refused if client and target agreed on no READs towards the client" pull_without_reads
tcase bad-revokes-shared --serve-more "a REVOKE without a region, of an unknown or of a shared region is refused" bad_revokes shared
tcase bad-revokes-private --more --serve-more "a REVOKE without a region, or of an unknown region, is refused on a private port" bad_revokes private
tcase bad-withholds --more --serve-more "a WITHHOLD or DISCONNECT that is too short, too long or has too large a value is refused" bad_waits
tcase bad-datagrams --needs ud "a datagram that is malformed or needs a connection is refused" bad_datagrams
tcase bad-rpings --more "a message that no rping client sends ends its connection and no other" bad_rpings
tcase pull-not-granted --more "a PULL of memory that the client does not grant ends its connection only" not_granted 4
tcase push-not-granted --more "a PUSH to memory that the client does not grant ends its connection only" not_granted 5
tcase notify --more --needs imm --serve-more "an immediate that requests no reply gets none" notify
tcase plain --more --needs plain --serve-more "a plain client's SEND is counted and not answered" plain
tcase unanswered --more --needs imm "messages and immediates that get no reply occupy no receive" unanswered
tcase checksum-ud --needs ud "the checksum of a region that a datagram asks for is that of its bytes" summed_datagram
tcase revoke-after-checksum --more "a REVOKE of a shared region is refused behind a CHECKSUM, too" revoke_after_checksum

tmain "$@"
