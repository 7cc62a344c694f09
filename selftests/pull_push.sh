#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# pull_push.sh: transfers the target makes: PULL, it READs the client's memory into
# a region, and PUSH, it WRITEs a region to the client's memory.
#
# The bytes are compared at both ends: those of the region through debugfs, those
# of the client by probe, which also watches what surrounds them.  What the
# *target* asks for in vain is answered with a typed status.  What the *client's*
# device refuses ends this connection, as the transport has it: the target counts
# a send error, and the neighbour on the same port does not notice.
#
# weight 0.4 1.7

. "${0%/*}/lib.sh"
# shellcheck source=rping_fixtures.sh
. "$HERE/rping_fixtures.sh"

OFFSET=37
FILL=0xa5

path_mtu() {
	if [[ ! -s $WORK/mtu ]]; then
		ibv_devinfo -d "$RTGT_CLIENT_DEV" | awk '$1 == "active_mtu:" { print $2 }' >"$WORK/mtu"
	fi
	read -r MTU <"$WORK/mtu"
}

# One transfer, held against the bytes at the other end.
moved() { # OP BYTES [KEY=VALUE...]
	local op=$1 n=$2 text
	shift 2
	text=$(probe move "op=$op" "len=$n" "offset=$OFFSET" "seed=$((n + 1))" "$@")
	has "$text" status=ok guards=0
	if [[ $op == pull ]]; then
		target_holds mem "$OFFSET" "$n" "$(value_of "$text" crc)" "$FILL"
	else
		has "$text" "crc=$(target look crc "$(data_of mem)" "$OFFSET" "$n")"
	fi
}

region_for() { # OP BYTES
	if [[ $1 == pull ]]; then
		target_port region mem "size=$2" "fill=$FILL"
	else
		target_port region mem "size=$2" fill=counter
	fi
}

# A request has 48 bytes.
sizes() { # OP
	local n
	path_mtu
	region_for "$1" 1100000
	for n in 0 1 $((MTU - 1)) "$MTU" $((MTU + 1)) 1048576; do
		moved "$1" "$n"
	done
	expect_counters recv_msgs=6 recv_bytes=288 replies=6 malformed=0 imms=0 qp_errors=0 send_errors=0
	rtgt ping -o "$1" -S "0,1,$((MTU - 1)),$MTU,$((MTU + 1)),1M" -C 2 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" \
		"$RTGT_TARGET_ADDR" >"$WORK/ping" || fail "$(<"$WORK/ping")"
	grep -q "^12 operations, .* verified at both ends" "$WORK/ping"
}

# Beyond 1 MiB it takes several work requests, beyond 2 MiB several chunks of memory.
large() { # OP
	local n=$((9 * 1048576 / 2 + 3))
	region_for "$1" $((n + 100))
	moved "$1" "$n"
	expect_counters replies=1 malformed=0 qp_errors=0 send_errors=0
}

# Sixteen under way on one connection.
many() { # OP
	region_for "$1" 170000
	moved "$1" 160000 count=16
	expect_counters recv_msgs=16 replies=16 malformed=0 qp_errors=0
}

# --- what the target refuses to do ----------------------------------------------------

answered() { # STATUS MOVE-ARGUMENT...
	local status=$1
	shift
	target_port region mem size=4096 "fill=$FILL" region ro size=4096 access=read "fill=$FILL"
	has "$(probe move len=64 "$@")" "status=$status" changed=0 guards=0
	target_filled mem 0 4096 "$FILL"
	target_filled ro 0 4096 "$FILL"
	expect_counters recv_msgs=1 replies=1 malformed=1 qp_errors=0 send_errors=0
}

# The client's REQ allowed no READ towards it; what it may be sent is WRITEs.
no_depth() {
	region_for push 4096
	has "$(probe move op=pull len=64 holds=0)" status=depth
	moved push 64 holds=0
	expect_counters recv_msgs=2 replies=2 malformed=1 qp_errors=0 send_errors=0
}

# Nothing is read or written, so nobody looks at keys.
nothing_at_all() {
	target_port region mem size=4096 "fill=$FILL"
	has "$(probe move op=pull len=0 rkey_xor=0x1000 offset=4096)" status=ok
	has "$(probe move op=push len=0 rkey_xor=0x1000 offset=4096)" status=ok
	expect_counters replies=2 malformed=0 send_errors=0
}

# --- what the client's device refuses ---------------------------------------------------

# The connection ends, the target lives.
guarded_port() {
	target_port region mem size=4096 "fill=$FILL"
	background neighbour probe hold
	wait_line neighbour ready=1
}

expect_refused() { # TEXT
	has "$1" end=disconnected guards=0
	target_filled mem 0 4096 "$FILL"
	expect_counters conns_accepted=2 conns_closed=1 send_errors=1 malformed=0 qp_errors=0
	# over iWARP the target's WRITE completes, and the target replies, before the client's device refuses
	is_iwarp || expect_counters replies=0
	send_line neighbour echo
	wait_line neighbour alive=1
	finish neighbour
}

refused() { # MOVE-ARGUMENT...
	local text
	guarded_port
	text=$(probe move len=2000 "$@")
	# Documentation/findings/siw-read-access.rst
	! is_iwarp || [[ $* != *rights=2* || $text != *status=ok* ]] ||
		skip "siw does not check whether a region grants READs"
	expect_refused "$text"
}

# A key of another connection: its domain, and its window, are not those of this one.
elsewhere() {
	local text
	guarded_port
	text=$(probe move op=push len=2000 elsewhere=1 window=1)
	has "$text" end=disconnected guards=0 alive=1
	target_filled mem 0 4096 "$FILL"
	expect_counters conns_accepted=3 conns_closed=2 send_errors=1 malformed=0 qp_errors=0
	is_iwarp || expect_counters replies=1
	send_line neighbour echo
	wait_line neighbour alive=1
	finish neighbour
}

# --- memory windows -----------------------------------------------------------------------

# The registration itself grants nothing to a pull.
through_window() { # OP
	local n
	local -a through=(window=1 rights=0 window_rights=1)
	[[ $1 == pull ]] || through=(window=1 rights=2 window_rights=2)
	path_mtu
	region_for "$1" 70000
	for n in 1 $((MTU - 1)) "$MTU" $((MTU + 1)) 65536; do
		moved "$1" "$n" "${through[@]}"
	done
	expect_counters replies=5 malformed=0 qp_errors=0 send_errors=0
	rtgt ping -o "$1" -S "0,1,$((MTU - 1)),$MTU,$((MTU + 1)),64K" -C 2 --window -p "$CM_PORT" \
		-I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/ping" || fail "$(<"$WORK/ping")"
	grep -q "^12 operations, .* verified at both ends" "$WORK/ping"
}

window_refused() { # MOVE-ARGUMENT...
	local text
	guarded_port
	text=$(probe move len=2000 window=1 "$@")
	has "$text" window=success
	expect_refused "$text"
}

# Inside the registration, but not inside the window.
window_bounds() { # MOVE-ARGUMENT...
	local text
	guarded_port
	text=$(probe move len=1000 window=1 window_at=300 window_len=500 "$@")
	has "$text" window=success
	[[ $text != *status=ok* ]] ||
		xfail rxe-window-bounds "the client's device $RTGT_CLIENT_DEV checks the bounds of the registration instead of the window's"
	expect_refused "$text"
}

# A window that cannot be is not bound, and its key opens nothing.
unbound() { # MOVE-ARGUMENT...
	local text
	target_port region mem size=4096 "fill=$FILL"
	text=$(probe move op=push len=2000 window=1 "$@")
	# rxe flushes the request that was at fault like those behind it
	[[ $text == window=bind* || $text == window=flush* || $text == window=unposted* ]] || fail "bound: $text"
	expect_counters conns_accepted=1 recv_msgs=0 send_errors=0
	expect_no_connections
}

# --- memory that the core registers -----------------------------------------------------------

# Load ib_core with parameters: first remove the modules that use it.
reload_core() { # PARAMETER...
	local name
	module_unload || return
	for name in "$RTGT_TARGET_DEV" "$RTGT_CLIENT_DEV"; do
		[[ ! -e /sys/class/infiniband/$name ]] || rdma link delete "$name" || return
	done
	for name in rdma_ucm rdma_cm iw_cm ib_cm rdma_rxe siw ib_uverbs ib_uverbs_support ib_core; do
		[[ ! -d /sys/module/$name ]] || rmmod "$name" || return
	done
	modprobe ib_core "$@" && devices_back
}

devices_back() {
	"$HERE/topology.sh" up && module_load
}

# The rkeys of the MRs on the target's device that are no region's.
core_rkeys() {
	rdma -j resource show mr dev "$RTGT_TARGET_DEV" | jq -r ".[] | select(.mrlen != $1) | .rkey" | sort
}

core_rkeys_are_many() { # NUMBER REGION-BYTES
	RKEYS=$(core_rkeys "$2")
	(($(wc -w <<<"$RKEYS") == $1))
}

core_rkeys_changed() { # REGION-BYTES
	[[ $(core_rkeys "$1") != "$RKEYS" ]]
}

# rxe needs no registration for a READ or a WRITE, iWARP does for a READ.  With its parameter
# force_mr, ib_core registers the memory of each transfer: a connection has an MR for each of its
# three rw contexts, and each use of an MR changes its rkey.
registered() {
	local RKEYS
	! is_iwarp || skip "over iWARP the core registers the memory of each READ anyway"
	if ! reload_core force_mr=1 2>"$WORK/reload"; then
		devices_back
		skip "ib_core cannot be loaded again: $(<"$WORK/reload")"
	fi
	defer reload_core
	region_for push 70001
	background pinger rtgt ping -o push -S 64K -C 1000000 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR"
	wait_until 10 core_rkeys_are_many 3 70001 || fail "not three MRs but: $RKEYS"
	wait_until 10 core_rkeys_changed 70001 || fail "no transfer uses an MR: $RKEYS"
	kill "${BG_PID[pinger]}"
	expect_no_connections
	large pull
	many push
	refused op=pull rkey_xor=0x1000
	refused op=push at=65
	rping_sizes 20 1023 65535
}

# --- the end in the middle -------------------------------------------------------------------

HUGE=$((32 * 1048576))

# No reply: the transfer had not ended.
left_in_the_middle() {
	expect_no_connections
	expect_counters recv_msgs=1 replies=0 qp_errors=0
	target port_del "$PORT"
}

leaves_push() {
	target_port region mem "size=$HUGE"
	has "$(probe move op=push "len=$HUGE" leave=1)" asked=1 left=1
	left_in_the_middle
}

landed() {
	local word
	word=$(target look words "$(data_of mem)" 0) && [[ $word == +([0-9]) && $word != "$ALL_FILL" ]]
}

killed_in_pull() {
	# shellcheck disable=SC2034 # wait_until uses it
	local ALL_FILL=11936128518282651045 POLL=0.002
	target_port region mem "size=$HUGE" "fill=$FILL"
	background mover probe move op=pull "len=$HUGE"
	wait_until 10 landed || fail "nothing arrives: $(cat "$WORK/mover.err")"
	kill -KILL "${BG_PID[mover]}"
	left_in_the_middle
}

tcase pull --tier wire,fast --more --serve-more "the target READs 0 bytes to 1 MiB of the client's memory" sizes pull
tcase push --tier wire,fast --serve-more "the target WRITEs 0 bytes to 1 MiB to the client's memory" sizes push
tcase pull-rkey --tier wire,fast "a PULL with a wrong key of the client's ends this connection only" refused op=pull rkey_xor=0x1000
tcase push-rkey --tier wire,fast --serve-more "a PUSH with a wrong key of the client's ends this connection only" refused op=push rkey_xor=0x1000

tcase pull-large --more --serve-more "a PULL of several work requests" large pull
tcase push-large --more "a PUSH of several work requests" large push
tcase pull-many --more "sixteen PULLs at a time" many pull
tcase push-many --serve-more "sixteen PUSHes at a time" many push
tcase pull-range "a PULL one byte beyond the region is a range error" answered range op=pull offset=4033
tcase push-range "a PUSH one byte beyond the region is a range error" answered range op=push offset=4033
tcase pull-region "a PULL into a region that is not there is a region error" answered region op=pull region=3
tcase push-region "a PUSH of a region that is not there is a region error" answered region op=push region=3
tcase pull-read-only "a PULL into a region the client may only read is an access error" answered access op=pull region=1
tcase no-depth --more --serve-more "a PULL of a client that allows no READ is a depth error" no_depth
tcase zero-bytes --more "a PULL or PUSH of zero bytes succeeds with any rkey" nothing_at_all
tcase pull-right --more "a PULL of memory nobody may READ ends this connection only" refused op=pull rights=2
tcase window-pull --needs windows --more "a PULL through a memory window" through_window pull
tcase window-push --more --needs windows "a PUSH through a memory window" through_window push
tcase window-pull-right --needs windows --more "a PULL through a window for writing is refused" window_refused op=pull window_rights=2
tcase window-push-right --needs windows --more "a PUSH through a window for reading is refused" window_refused op=push window_rights=1
tcase window-end --needs windows --more "a PUSH beyond a window that ends with its registration is refused" window_refused op=push at=65
tcase window-killed --more --needs windows "a PUSH through a window that was invalidated is refused" window_refused op=push kill=1
tcase window-elsewhere --more --needs windows "a PUSH through a window of another connection is refused" elsewhere
tcase window-bounds --more --needs windows "a PUSH beyond a window, inside its registration, is refused" window_bounds op=push
tcase window-more --needs windows "a window larger than its registration cannot be bound" unbound window_len=3000
tcase window-read-only --needs windows "a window for writing cannot be bound to memory that is read-only" unbound rights=1
tcase window-unbindable --needs windows "a window cannot be bound to memory that was registered without MW_BIND" unbound bindable=0
tcase registered --limit 60 --more "PULL, PUSH and rping work where the core registers the memory of each transfer" registered
tcase leaves-push --more "a client that disconnects in the middle of a PUSH leaves nothing" leaves_push
tcase killed-pull --more --serve-more "a client that is killed in the middle of a PULL leaves nothing" killed_in_pull

tmain "$@"
