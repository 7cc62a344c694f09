#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# device_fixtures.sh: what the devices of the run can do, and what they count; sourced by
# fixtures.sh.

# What a case can need of the devices (tcase --needs), and why it is skipped if they lack that.
declare -A NEEDS=(
	[acks]="iWARP acknowledges no SEND: it completes when TCP has its bytes"
	[atomic]="the device has no atomics (atomic_cap)"
	[atomic-write]="the device has no ATOMIC_WRITE (device_cap_flags)"
	[cm]="MPA sets up a connection of iWARP, without the messages of the IB CM"
	[flush]="the device has no FLUSH (device_cap_flags)"
	[hw-counters]="the device has no hardware counters"
	[imm]="iWARP has no immediates"
	[odp]="the device registers nothing on demand (odp_caps)"
	[padding]="iWARP does not pad private data"
	[plain]="a plain client cannot request a capability, which the REP of iWARP lacks"
	[qp-states]="an iWARP queue pair needs rdma_cm to get to RTS"
	[read-depth]="MPA negotiates the READs that may be outstanding (IRD, ORD)"
	[rnr]="iWARP has no RNR: a SEND without a receive ends the connection"
	[set-up]="over iWARP a set-up registers nothing and is over at once"
	[tcp-port]="the RDMA port of iWARP is a TCP port, on which nothing else can listen"
	[uc]="iWARP has reliable connections only"
	[ud]="iWARP has reliable connections only"
	[windows]="the device has no type 2 memory windows (max_mw)"
)

# What the target's device reports in configfs, as words; read once for all cases.  The client's
# device is of the same driver.
read_features() {
	local TEXT line
	FEATURES=' '
	target_contents "$CONFIGFS/features"
	while IFS= read -r line; do
		[[ $line != "$RTGT_TARGET_DEV:"* ]] || FEATURES+="${line#*:} "
	done <<<"$TEXT"
}

has_feature() { # WORD
	[[ $FEATURES == *" $1 "* ]]
}

is_iwarp() {
	has_feature iwarp
}

# Is the target rtgt serve, and not the kernel's?
is_served() {
	[[ $DEBUGFS == /run/* ]]
}

# Do the devices have what a word of NEEDS says?
device_has() { # WORD
	case $1 in
	atomic | atomic-write | flush) has_feature "$1" ;;
	windows) has_feature memory-window ;;
	hw-counters) target test -e "/sys/class/infiniband/$RTGT_TARGET_DEV/ports/1/hw_counters" ;;
	odp) ibv_devinfo -v -d "$RTGT_CLIENT_DEV" | grep -w ODP_SUPPORT >/dev/null ;;
	# rtgt serve registers without the client, so its REP has the capability
	plain) is_served || ! is_iwarp ;;
	*) ! is_iwarp ;;
	esac
}

# Skip the case if the devices lack one of these; expected-skips has each word.
need() { # [WORD...]
	local word
	for word; do
		device_has "$word" || skip "needs $word: ${NEEDS[$word]}"
	done
}

# Do the devices have this operation of "rtgt ping"?
has_op() { # OP
	case $1 in
	*-imm) device_has imm ;;
	cas | faa) device_has atomic ;;
	esac
}

# Of these operations of "rtgt ping" those that the devices have: OPS.
device_ops() { # OP,OP...
	local op
	OPS=
	for op in ${1//,/ }; do
		! has_op "$op" || OPS+=,$op
	done
	OPS=${OPS#,}
}

# So many bytes, or as many as one MR of the target's device covers: MR_BYTES.  Only the kernel has
# max_fast_reg_page_list_len, so this registers a region; over iWARP its first client does that.
# shellcheck disable=SC2034 # cases use it
fit_mr() { # BYTES
	local PORT CM_PORT extent
	MR_BYTES=$1
	# those of RoCE reach far enough: 512 chunks of 2 MiB
	is_iwarp || return 0
	target_port region mem "size=$1"
	has "$(probe connect)" result=established
	extent=$(value_of "$(target first_line "$DEBUGFS/ports/$PORT/registrations")" extent_size)
	target port_del "$PORT"
	MR_BYTES=$(($1 < extent ? $1 : extent))
}

# Both devices' hardware counters: now, and since hw_mark.  siw counts nothing.
declare -A HW_BEFORE HW_NOW
hw_read() {
	local name value
	while read -r name value; do
		HW_NOW[client.$name]=$value
	done < <(hw_counters "$RTGT_CLIENT_DEV")
	while read -r name value; do
		HW_NOW[target.$name]=$value
	done < <(target hw_counters "$RTGT_TARGET_DEV")
}

hw_mark() {
	local name
	! is_iwarp || return 0
	hw_read
	for name in "${!HW_NOW[@]}"; do
		HW_BEFORE[$name]=${HW_NOW[$name]}
	done
}

# Since hw_mark the counters grew, or soon will have grown, by exactly so much.  A slow
# machine may send packets again.  Each such event, of those that the devices count, sends at
# most all packets of the connection again, so N of them allow N times as many packets more.
# Messages count once, except those of the connection manager, which counts what it repeats.
expect_hw() { # SIDE.NAME=VALUE... or SIDE.NAME=LEAST..MOST
	HW_WRONG=
	! is_iwarp || return 0
	wait_until 3 hw_grew "$@" || fail "hardware counters since the mark: $HW_WRONG"
}

hw_grew() {
	local want name grew least most repeated=0 cm=0
	hw_read
	for name in {client,target}.{duplicate_request,out_of_seq_request,rcvd_seq_err,completer_retry_err,rcvd_rnr_err}; do
		((repeated += HW_NOW[$name] - HW_BEFORE[$name]))
	done
	for name in {client,target}.cm_retries; do
		((cm += HW_NOW[$name] - HW_BEFORE[$name]))
	done
	HW_WRONG=
	for want; do
		name=${want%=*}
		[[ -v HW_NOW[$name] ]] || fail "no device has the counter $name"
		grew=$((HW_NOW[$name] - HW_BEFORE[$name]))
		want=${want#*=}
		least=${want%..*}
		most=$((${want#*..} + cm))
		[[ $name != *_pkts ]] || most=$((most * (1 + repeated)))
		((grew >= least && grew <= most)) || HW_WRONG+="$name $grew (wanted $want) "
	done
	((!repeated && !cm)) || HW_WRONG=${HW_WRONG:+"${HW_WRONG}after $repeated retransmissions and $cm messages of the CM sent again"}
	[[ -z $HW_WRONG ]]
}

# The target's interface takes no packet of the path MTU any more; MTU_OF is its name.
small_mtu() {
	MTU_OF=$(netdev "$RTGT_TARGET_DEV")
	MTU_WAS=$(target cat_contents "/sys/class/net/$MTU_OF/mtu")
	defer target ip link set "$MTU_OF" mtu "$MTU_WAS"
	target ip link set "$MTU_OF" mtu 600
}
