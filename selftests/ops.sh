#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# ops.sh: every operation in every class of size.
#
# A case does its operation twice.  First with probe, once, at an odd offset, and
# holds against it what can be counted: the target's bytes inside and around the
# range, the port's counters, the messages and packets both devices counted.
# Then with "rtgt ping", which is what people run and which verifies by itself.
#
# Sizes around the path MTU are where a message becomes two packets.
#
# weight 0.7 1.1 smp

. "${0%/*}/lib.sh"

OFFSET=37
MARGIN=64

# Path MTU of the client's device in bytes; the device is asked once for all cases.
path_mtu() {
	if [[ ! -s $WORK/mtu ]]; then
		ibv_devinfo -d "$RTGT_CLIENT_DEV" | awk '$1 == "active_mtu:" { print $2 }' >"$WORK/mtu"
	fi
	read -r MTU <"$WORK/mtu"
}

bytes() { # SIZE-CLASS
	case $1 in
	mtu*) echo $((${1/mtu/$MTU})) ;;
	*M) echo $((${1%M} << 20)) ;;
	*) echo "$1" ;;
	esac
}

packets() { # BYTES
	echo $((($1 + MTU - 1) / MTU + ($1 == 0)))
}

# Acknowledgements of a message of so many packets: rxe asks for one with the last
# packet and with every 66th (RXE_MAX_PKT_PER_ACK).
acks() { # PACKETS
	echo $((($1 - 1) / 66 + 1))
}

# What each device sent and received in messages and in packets, from one connect to
# its disconnect.  The client sends REQ, RTU and DREQ and gets REP and DREP: their
# SENDs on queue pair 1 count like any other.  A SEND counts when its acknowledgment
# is processed, which for the target's last reply the disconnect may forestall.  The client, too,
# may disconnect before its device has sent that acknowledgment: seen with two processors, and with
# one under KCSAN.
expect_traffic() { # SENDS PACKETS-OF-CLIENT REPLIES PACKETS-OF-TARGET IMMEDIATES
	local unsent=$(($3 > 0))
	expect_hw "client.rdma_sends=$((3 + $1))" "client.sent_pkts=$((3 + $2 - unsent))..$((3 + $2))" \
		"client.rdma_recvs=$((2 + $3))" "client.rcvd_pkts=$((2 + $4))" \
		"target.rdma_sends=$((2 + $3 - ($3 > 0)))..$((2 + $3))" "target.sent_pkts=$((2 + $4))" \
		"target.rdma_recvs=$((3 + $1 + $5))" "target.rcvd_pkts=$((3 + $2 - unsent))..$((3 + $2))"
}

# The data are other ones for each size, and the CRC-32 is probe's own.
write() { # BYTES
	local n=$1 p text
	p=$(packets "$n")
	hw_mark
	text=$(probe access op=write "offset=$OFFSET" "len=$n" "seed=$((n + 1))")
	has "$text" wc=success
	target_holds mem "$OFFSET" "$n" "$(value_of "$text" crc)" "$FILL"
	expect_counters imms=0 replies=0 recv_msgs=0 qp_errors=0
	expect_traffic 0 "$p" 0 "$(acks "$p")" 0
}

write_imm() { # BYTES
	local n=$1 p text
	p=$(packets "$n")
	hw_mark
	text=$(probe access op=imm "imm=$((1 << 28 | n))" "offset=$OFFSET" "len=$n" "seed=$((n + 1))")
	has "$text" wc=success ack_op=3 "ack_tag=$n" "ack_imm=$((1 << 28 | n))" "ack_bytes=$n"
	target_holds mem "$OFFSET" "$n" "$(value_of "$text" crc)" "$FILL"
	expect_counters imms=1 "imm_bytes=$n" replies=1 recv_msgs=0 qp_errors=0
	expect_traffic 0 $((p + 1)) 1 $(($(acks "$p") + 1)) 1
}

read_() { # BYTES
	local n=$1 text
	hw_mark
	text=$(probe access op=read "offset=$OFFSET" "len=$n")
	has "$text" wc=success "crc=$(target look crc "$(data_of mem)" "$OFFSET" "$n")"
	expect_counters imms=0 replies=0 recv_msgs=0 qp_errors=0
	expect_traffic 0 1 0 "$(packets "$n")" 0
}

# Two echoes: one of the size, and a short one that shows that the connection lives.
send() { # BYTES
	local n=$1 p
	p=$(packets $((n + 16)))
	p=$((p + 1 + $(acks "$p") + 1))
	hw_mark
	has "$(probe send "body=$n" "seed=$((n + 1))")" wc=success status=ok "len=$n" same=1 alive=1
	expect_counters recv_msgs=2 "recv_bytes=$((n + 16 + 16))" replies=2 imms=0 malformed=0
	expect_traffic 2 "$p" 2 "$p" 0
}

no_read() {
	target_port region mem size=4096 access=write,atomic
	rtgt ping -o cas,faa -C 3 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/ping" || fail "$(<"$WORK/ping")"
	has "$(<"$WORK/ping")" "bytes beside them not compared: the region does not allow READ"
	[[ $(<"$WORK/ping") != *"nothing else touched"* ]] || fail "$(<"$WORK/ping")"
}

# One packet that was sent again excuses no number of others: eight more connections show.
surplus() {
	local i copies=target.duplicate_request
	target_port region mem
	disturb "u8 0 0x60 at 28" duplicate 100%
	hw_mark
	has "$(probe access op=write len=8)" wc=success
	expect_traffic 0 1 0 1 0
	((HW_NOW[$copies] > HW_BEFORE[$copies])) || fail "no packet was sent twice"
	tc qdisc replace dev "$(netdev "$RTGT_CLIENT_DEV")" parent 1:3 netem limit 1000
	for i in {1..8}; do
		has "$i: $(probe access op=write len=8)" wc=success
	done
	! hw_grew client.sent_pkts=4 || fail "nine connections are taken for one: ${HW_NOW[client.sent_pkts]} packets sent"
}

op() { # FUNCTION PING-NAME SIZE-CLASS FILL
	local n times=3
	path_mtu
	n=$(bytes "$3")
	if [[ $3 == *M ]]; then
		# probe uses one rkey
		fit_mr $((OFFSET + n + MARGIN))
		n=$((MR_BYTES - OFFSET - MARGIN))
	fi
	FILL=$4
	target_port "recv_size=$((n + 16 < 64 ? 64 : n + 16))" recv_depth=2 \
		region mem "size=$((OFFSET + n + MARGIN))" "fill=$FILL"
	"$1" "$n"
	# siw fails one of several READs of zero bytes (Documentation/findings/siw-read-zero.rst)
	! is_iwarp || [[ $2-$n != read-0 ]] || times=1
	ping_ok "$2" "$n" "$times"
}

# Those of the cases below that are for "rtgt serve" as well
declare -A SERVED=([write-imm-mtu+1]=1 [read-mtu+1]=1)

each() { # SIZE-CLASS [OPTION...]
	local size=$1
	shift
	tcase "write-$size" "$@" "WRITE of $size bytes: bytes, counters, packets at both ends" op write write "$size" 0xa5
	tcase "read-$size" "$@" ${SERVED[read-$size]:+"--serve-more"} "READ of $size bytes: bytes, counters, packets at both ends" op read_ read "$size" counter
	tcase "write-imm-$size" "$@" --needs imm ${SERVED[write-imm-$size]:+"--serve-more"} "WRITE_WITH_IMM of $size bytes: bytes, counters, packets at both ends" op write_imm write-imm "$size" 0xa5
	tcase "send-$size" "$@" "SEND of $size bytes and its echo: bytes, counters, packets at both ends" op send send "$size" 0xa5
}

each 1 --tier wire,fast
each mtu+1 --tier wire,fast
each 0 --tier fast,wire
each mtu --tier fast,wire --more
each 1M --tier fast,wire --more
tcase atomics-no-read --needs atomic --more "rtgt ping claims nothing of bytes beside an atomic that it may not READ" no_read
tcase surplus --needs hw-counters --more "retransmissions do not hide additional packets from the check of the counters" surplus

tmain "$@"
