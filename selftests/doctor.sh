#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# doctor.sh: rtgt doctor names what a host, or the way to another one, lacks, and finds nothing on a
# host that is as it should be.  Each case breaks one thing, and the line for it must be there.
#
# weight 3.8 2.1

. "${0%/*}/lib.sh"

# It exits with 1, and has a line for each text that is wrong.
finds() { # TEXT... -- CMD...
	local rc=0 said text
	local -a texts=()
	while [[ $1 != -- ]]; do
		texts+=("$1")
		shift
	done
	said=$("${@:2}" 2>&1) || rc=$?
	((rc == 1)) || fail "${*:2} exits $rc: $said"
	for text in "${texts[@]}"; do
		grep -q "^wrong: .*$text" <<<"$said" || fail "no line \"wrong: ...$text\" but: $said"
	done
	SAID=$said
}

# The same, with nothing else wrong.
finds_only() { # TEXT -- CMD...
	finds "$@"
	[[ $(grep -c "^wrong: " <<<"$SAID") == 1 && $SAID == *", 1 wrong" ]] || fail "more is wrong: $SAID"
}

# A device that lacks something beside others that do not: nothing is wrong.
notes() { # TEXT
	rtgt doctor >"$WORK/said" || fail "$(<"$WORK/said")"
	grep -q "^note: $1" "$WORK/said" || fail "no line \"note: $1\" but: $(<"$WORK/said")"
}

# To the target.
doctor() { # ARG...
	rtgt doctor -I "$RTGT_CLIENT_ADDR" -p "$CM_PORT" --timeout 3 "$@" "$RTGT_TARGET_ADDR"
}

healthy() {
	local dev=$RTGT_CLIENT_DEV
	target_port region mem size=4096
	rtgt doctor -v >"$WORK/said" || fail "$(<"$WORK/said")"
	grep -q "^ok: port: $dev/1 is ACTIVE" "$WORK/said" || fail "$(<"$WORK/said")"
	grep -q "^ok: memory: $dev registers" "$WORK/said" || fail "$(<"$WORK/said")"
	doctor -v >"$WORK/said" || fail "$(<"$WORK/said")"
	for word in name route way target path-mtu bytes; do
		grep -q "^ok: $word: " "$WORK/said" || fail "no $word: $(<"$WORK/said")"
	done
	[[ $(tail -n 1 "$WORK/said") == *" checks, 0 wrong" ]] || fail "$(<"$WORK/said")"
	same "without -v" "$(doctor | wc -l)" 1
	rtgt -j doctor -I "$RTGT_CLIENT_ADDR" -p "$CM_PORT" "$RTGT_TARGET_ADDR" >"$WORK/json"
	document "$WORK/json"
	expect_counters conns_established=3 conns_closed=3 qp_errors=0
}

# A server of another program answers, and has nothing that could be compared.
other_server() {
	example_server --loop
	doctor -v >"$WORK/said" || fail "$(<"$WORK/said")"
	grep -q "^ok: target: .* answers; it is not an rtgt target" "$WORK/said" || fail "$(<"$WORK/said")"
	[[ $(tail -n 1 "$WORK/said") == *" checks, 0 wrong" ]] || fail "$(<"$WORK/said")"
	finish server || :
}

# A user who may do little
nobody() { # CMD...
	setpriv --reuid 65534 --clear-groups "$@"
}

permissions() {
	local file
	tolerate_log "rxe_reg_user_mr: returned err = -1"
	finds "memory: .* and only 0 KiB may be locked: ulimit -l" -- prlimit --memlock=0:0 setpriv --reuid 65534 --clear-groups rtgt doctor
	for file in /dev/infiniband/{rdma_cm,uverbs*}; do
		defer chmod "$(stat -c %a "$file")" "$file"
		chmod 600 "$file"
	done
	finds "file: no permission for /dev/infiniband/rdma_cm .*chgrp" "file: no permission for /dev/infiniband/uverbs" -- nobody rtgt doctor
	rtgt -j doctor >"$WORK/json"
	document "$WORK/json"
}

# What is missing is covered, for this command only.
files() {
	mkdir "$WORK/empty"
	finds_only "device: there is no RDMA device: modprobe rdma_rxe" -- unshare -m sh -c "mount --bind '$WORK/empty' /sys/class/infiniband; rtgt doctor"
	finds "file: /dev/infiniband/rdma_cm is missing: modprobe rdma_ucm" -- unshare -m sh -c "mount --bind '$WORK/empty' /dev/infiniband; rtgt doctor"
}

# A device of its own, on a netdev that leads nowhere
own_device() {
	ip link add rtgt_d type dummy || skip "the kernel has no dummy netdev"
	defer ip link del rtgt_d
	ip link set rtgt_d up
	defer rdma link del rtgt_doc
	rdma link add rtgt_doc type rxe netdev rtgt_d
	wait_until 10 device_active rtgt_doc || fail "$(rdma link)"
}

netdevs() {
	own_device
	notes "address: rtgt_d, the netdev of rtgt_doc, has no address: ip addr add"
	ip addr add 203.0.113.1/24 dev rtgt_d
	rtgt doctor >"$WORK/said" || fail "$(<"$WORK/said")"
	ip link set rtgt_d mtu 300
	finds "mtu: the MTU of rtgt_d is 300, and rtgt_doc needs 352: ip link set rtgt_d mtu" -- rtgt doctor
	ip link set rtgt_d mtu 1500
	ip link set rtgt_d down
	notes "port: the port of rtgt_doc is DOWN: ip link set rtgt_d up"
	# and without the others
	only_device rtgt_doc
	finds_only "port: the port of rtgt_doc is DOWN: ip link set rtgt_d up" -- "${ALONE[@]}"
	ip link set rtgt_d up
	ip addr del 203.0.113.1/24 dev rtgt_d
	wait_until 10 device_active rtgt_doc || fail "$(rdma link)"
	finds_only "address: rtgt_d, the netdev of rtgt_doc, has no address: ip addr add" -- "${ALONE[@]}"
}

# ALONE: rtgt doctor where only this device is
only_device() { # DEVICE
	local link
	link=$(readlink -f "/sys/class/infiniband/$1")
	mkdir "$WORK/one"
	ln -s "$link" "$WORK/one/$1"
	ALONE=(unshare -m sh -c "mount --bind '$WORK/one' /sys/class/infiniband; exec rtgt doctor")
}

ways() {
	finds_only "name: no-host.invalid: .*/etc/hosts" -- rtgt doctor no-host.invalid
	finds_only "route: no route to 203.0.113.9: " -- rtgt doctor 203.0.113.9
	finds_only "source: 203.0.113.7 is no address of this host" -- rtgt doctor -I 203.0.113.7 "$RTGT_TARGET_ADDR"
	ip link add rtgt_d type dummy || skip "the kernel has no dummy netdev"
	defer ip link del rtgt_d
	ip link set rtgt_d up
	ip addr add 203.0.113.1/24 dev rtgt_d
	finds_only "way: the route to 203.0.113.9 leaves through rtgt_d, which has no RDMA device: rdma link add" -- rtgt doctor 203.0.113.9
}

# In the client's network, but nobody has it
neighbour() {
	finds_only "neighbour: no neighbour has the address ${RTGT_TARGET_ADDR%.*}.213: ip neigh" -- \
		rtgt doctor --timeout 3 -I "$RTGT_CLIENT_ADDR" "${RTGT_TARGET_ADDR%.*}.213"
}

# Another host, without an RDMA device: a network namespace, whose kernel refuses UDP 4791
no_roce() {
	own_netns
	defer rdma link del rtgt_doc
	rdma link add rtgt_doc type rxe netdev rtgt_v
	wait_until 10 device_active rtgt_doc || fail "$(rdma link)"
	finds_only "roce: nothing at 203.0.113.2 takes UDP port 4791: .*: there: modprobe rdma_rxe" -- rtgt doctor --timeout 3 203.0.113.2
}

own_netns() {
	ip netns add rtgt_doc || skip "no network namespaces"
	defer ip netns del rtgt_doc
	ip link add rtgt_v type veth peer name rtgt_w netns rtgt_doc
	defer ip link del rtgt_v
	ip addr add 203.0.113.1/24 dev rtgt_v
	ip link set rtgt_v up
	ip -n rtgt_doc addr add 203.0.113.2/24 dev rtgt_w
	ip -n rtgt_doc link set rtgt_w up
}


disabled() {
	target_port
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	finds_only "target: nothing listens on $RTGT_TARGET_ADDR:$CM_PORT" -- doctor
}

full() {
	target_port max_conns=1
	background one probe hold count=1
	wait_line one ready=1
	finds_only "target: $RTGT_TARGET_ADDR:$CM_PORT refused the connection: " -- doctor
	send_line one echo
	finish one
}

# A firewall that drops what comes back
firewall() {
	target_port
	disturb_device "$(netdev "$RTGT_TARGET_DEV")" "u16 4791 0xffff at 22" loss 100%
	finds_only "answer: connecting to .*there: rdma link; nft list ruleset .UDP 4791" -- doctor
}

# Full-sized packets are dropped on their way, as by a smaller MTU between the ends.
path_mtu() {
	target_port recv_size=8K
	disturb "u16 0x0400 0xfc00 at 2" loss 100%
	finds_only "path-mtu: 16 bytes come back, [0-9]* do not: an MTU on the way .*ping -M do -s 1056" -- doctor
}

# The target's interface takes no full-sized packet: nobody else drops one.
target_mtu() {
	target_port recv_size=8K
	small_mtu
	finds_only "path-mtu: 16 bytes come back, [0-9]* do not: the connection ends, as with an MTU that is smaller .*ip link show at both ends" -- doctor
}

# A target whose replies, or whose memory, are not what they should be
lied() {
	local after=0
	# over iWARP the first reply has the capabilities
	! is_iwarp || after=1
	target_port region mem size=4096
	target attr_set "$CONFIGFS/ports/$PORT/faults" "reply-bit every 1 after $after"
	finds "messages: an echo of 16 bytes: byte [0-9]* was sent as 0x.. and came back as 0x" -- doctor
	target attr_set "$CONFIGFS/ports/$PORT/faults" off
	target attr_set "$CONFIGFS/ports/$PORT/faults" "region-bit every 1"
	finds_only "bytes: 4096 bytes of region 0: READ, they have the CRC-32 0x[0-9a-f]*, and the target says 0x" -- doctor
	! rtgt -j doctor -I "$RTGT_CLIENT_ADDR" -p "$CM_PORT" "$RTGT_TARGET_ADDR" >"$WORK/json" || fail "it found nothing"
	document "$WORK/json"
}

misused() {
	local rc
	for words in "doctor a b" "doctor --frobnicate" "doctor -p 0 a" "doctor -p 7000"; do
		rc=0
		# shellcheck disable=SC2086 # words
		rtgt $words >/dev/null 2>"$WORK/err" || rc=$?
		same "exit status of $words" "$rc" 2
		same "lines of $words" "$(wc -l <"$WORK/err")" 1
	done
}

tcase healthy "a host and a target that are as they should be" healthy
tcase other-server "a server that is not an rtgt target" other_server
tcase permissions "files that may not be opened, memory that may not be locked" permissions
tcase files --more "no device, no files" files
tcase netdevs --more --needs cm "a netdev that is down, has no address, or too small an MTU" netdevs
tcase ways "a name, a route, a source, a netdev without an RDMA device" ways
tcase neighbour --more "an address that nobody has" neighbour
tcase no-roce --more --needs cm "a host without an RDMA device" no_roce
tcase disabled --needs cm --more "a port that is disabled" disabled
tcase full --more "a target that is full" full
tcase firewall --more --needs cm "a firewall that drops UDP 4791" firewall
tcase path-mtu --more --needs cm "an MTU on the way that is too small" path_mtu
tcase target-mtu --more --needs qp-states "an MTU of the target's interface that is too small" target_mtu
tcase lied --more "replies and memory with a flipped bit" lied
tcase misused --more "a wrong command line" misused

tmain "$@"
