#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# messages.sh: SENDs, right and wrong.
#
# A message the target cannot take is answered with a typed status and its own
# tag, and counted; the connection goes on, which an echo behind it shows.

. "${0%/*}/lib.sh"

MEM_SIZE=6000

answered() { # STATUS TAG PROBE-ARGUMENT...
	local status=$1 tag=$2
	shift 2
	target_port region mem size=$MEM_SIZE
	has "$(probe send "$@")" wc=success "status=$status" "tag=$tag" len=0 alive=1
	expect_counters recv_msgs=2 replies=2 malformed=1 qp_errors=0
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
	text=$(probe send body=241)
	[[ $text == wc=rem-inv-req || $text == wc=rem-op ]] || fail "$text"
	expect_counters recv_msgs=2 qp_errors=1
	expect_no_connections
	has "$(probe send)" alive=1
}

# A plain client's SENDs are counted and not answered, however wrong.
plain() {
	target_port
	background holder probe hold plain=1
	said holder ready=1
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

# All the receives there are, and then some: none may be lost.
burst() {
	target_port recv_depth=2
	background many probe hold count=8
	said many ready=8
	tell many echo
	said many alive=8
	tell many echo
	wait_until 10 counters_are recv_msgs=16 replies=16 || fail "$COUNTERS"
	finish many
	expect_counters recv_msgs=16 replies=16 recv_bytes=256 malformed=0
}

tcase echo-largest "an echo that fills a receive to the last byte" echoed 4080
tcase checksum "the checksum of a whole region is that of its bytes" summed 0 $MEM_SIZE
tcase version-2 "a SEND of version 2 is a version error" answered version 7 msg_version=2
tcase len-more "a SEND that announces more than it brings is a length error" answered length 7 body=10 msg_len=11
tcase too-long "a SEND longer than a receive ends its connection only" too_long
tcase burst "more SENDs than receives, from eight clients" burst

tier fast
tcase echo-0 "an echo of nothing" echoed 0
tcase echo-1 "an echo of one byte" echoed 1
tcase checksum-part "the checksum of a part is that of its bytes" summed 1234 567
tcase checksum-last "the checksum of the last byte is that of its byte" summed $((MEM_SIZE - 1)) 1
tcase checksum-empty "the checksum of nothing, at the very end, is 0" summed $MEM_SIZE 0
tcase empty "an empty SEND is a length error with tag 0" answered length 0 cut=0
tcase short "a SEND shorter than its head is a length error with tag 0" answered length 0 cut=15
tcase version-0 "a SEND of version 0 is a version error" answered version 7 msg_version=0
tcase op-0 "a SEND of operation 0 is an op error" answered op 7 msg_op=0
tcase op-imm "a SEND that is no request is an op error" answered op 7 msg_op=3
tcase op-unknown "a SEND of the first unknown operation is an op error" answered op 7 msg_op=10
tcase op-reply "a SEND that claims to be a reply is an op error" answered op 7 msg_op=0x81
tcase len-less "a SEND that announces less than it brings is a length error" answered length 7 body=10 msg_len=9
tcase len-huge "a SEND that announces 4 GiB is a length error" answered length 7 msg_len=0xffffffff
tcase checksum-short "a checksum without its range is a length error" answered length 7 msg_op=2 body=23
tcase checksum-region "a checksum of a region that is not there is a region error" answered region 7 msg_op=2 body=24 region=1 count=1
tcase checksum-region-max "a checksum of region 0xffffffff is a region error" answered region 7 msg_op=2 body=24 region=0xffffffff
tcase checksum-beyond "a checksum one byte beyond the end is a range error" answered range 7 msg_op=2 body=24 offset=1 count=$MEM_SIZE
tcase checksum-wrap "a checksum whose end wraps is a range error" answered range 7 msg_op=2 body=24 offset=4096 count=-4096
tcase notify "an immediate that asks for nothing gets nothing" notify
tcase plain "a plain client's SEND is counted and not answered" plain

tmain "$@"
