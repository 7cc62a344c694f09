#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# lifetime.sh: the module, the device and the network interface go while the
# target is in use, and come back.
#
# A client that is in the way (it holds the device open) is ended first where
# the kernel itself would wait for it: "ip link del" waits for every process that
# has the device open, whosever listener is on it.
#
# weight 0.9 1.2 smp

. "${0%/*}/lib.sh"

writer() {
	background writer probe traffic len=4096
	wait_line writer started=1
}

writer_ended() {
	wait_line writer writes=
	finish writer
	grep -Eqx "end=(disconnected|flush|rem-access|retry-exceeded|loc-qp-op|unposted)" "$WORK/writer.out" || fail "$(cat "$WORK/writer.out")"
}

port_state() {
	target cat "$CONFIGFS/ports/$PORT/state"
}

# The device of a deleted interface goes in a work item of its own.
gone() { # DEVICE
	wait_until 10 target test ! -e "/sys/class/infiniband/$1" || fail "$1 does not go"
}

unload_refused() {
	target_port
	fails_with "in use" target module_unload
	has "$(probe connect)" result=established
	target port_del "$PORT"
	target port_add "$PORT" enable=0
	fails_with "in use" target module_unload
}

unload_idle() {
	need_module_file
	defer bring_back
	target_port
	has "$(probe access op=write)" wc=success
	target port_del "$PORT"
	target module_unload
	target test ! -e "$CONFIGFS" -a ! -e "$DEBUGFS"
	target module_load
	target_port
	has "$(probe access op=write)" wc=success
}

unload_traffic() {
	need_module_file
	defer bring_back
	target_port scope=private
	writer
	background holder probe hold count=8
	wait_line holder ready=8
	target port_del "$PORT"
	target module_unload
	writer_ended
	finish holder
	target module_load
	target_port scope=private
	has "$(probe access op=write)" wc=success
}

listens() {
	[[ $(port_state) == listening ]]
}

# The listener is bound to the device: it dies with it, says so, and is there again with it.
device_deleted_bound() {
	defer bring_back
	target_port
	writer
	on_target rdma link delete "$RTGT_TARGET_DEV"
	gone "$RTGT_TARGET_DEV"
	same state "$(port_state)" device-removed
	has_no_connections
	writer_ended
	bring_back
	wait_until 10 listens || fail "state: $(port_state)"
	has "$(probe access op=write)" wc=success
}

# A listener bound to no device outlives it, and serves the next one.
device_deleted_wildcard() {
	defer bring_back
	target_port addr=0.0.0.0 scope=private
	writer
	on_target rdma link delete "$RTGT_TARGET_DEV"
	gone "$RTGT_TARGET_DEV"
	has_no_connections
	writer_ended
	bring_back
	same state "$(port_state)" listening
	has "$(probe access op=write)" wc=success
}

# The active port of a bond changes, and with it the MAC address to which the listener was bound.
bond_failover() {
	local dev=${RTGT_DEVICE}_bond addr=198.51.100.129
	modprobe -q bonding 2>/dev/null || skip "the kernel has no bonding (CONFIG_BONDING)"
	defer modprobe -r bonding
	defer ip link delete rtgt_b1
	defer ip link delete rtgt_b2
	defer ip link delete rtgt_bond
	ip link add rtgt_bond type bond mode active-backup fail_over_mac active miimon 100
	ip link add rtgt_b1 type dummy
	ip link add rtgt_b2 type dummy
	ip link set rtgt_b1 master rtgt_bond
	ip link set rtgt_b2 master rtgt_bond
	ip addr add "$addr/32" dev rtgt_bond
	ip link set rtgt_bond up
	defer rdma link delete "$dev"
	device_add "$dev" rtgt_bond
	target_port "addr=$addr"
	tolerate_log "rtgt: .* $dev changed its address, not listening until it is back"
	ip link set rtgt_bond type bond active_slave rtgt_b2
	wait_until 10 logged "$PORT: $dev changed its address" || fail "no event of the listener"
	wait_until 10 listens || fail "state: $(port_state)"
	rtgt ping -o write -C 1 -p "$CM_PORT" -I "$addr" "$addr"
}

device_deleted_idle() {
	defer bring_back
	target_port
	on_target rdma link delete "$RTGT_TARGET_DEV"
	same state "$(port_state)" device-removed
	target port_del "$PORT"
}

no_device() {
	defer bring_back
	on_target rdma link delete "$RTGT_TARGET_DEV"
	tolerate_log "rtgt: .*cannot listen on .*error -19"
	PORT=$CASE CM_PORT=20000
	defer target port_del "$PORT"
	fails_with "No such device" target port_add "$PORT" "addr=$RTGT_TARGET_ADDR" "port=$CM_PORT" region mem
	same state "$(port_state)" disabled
	bring_back
	target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	has "$(probe connect)" result=established
}

netdev_deleted() {
	defer bring_back
	target_port
	background holder probe hold count=3
	wait_line holder ready=3
	kill -KILL "${BG_PID[holder]}"
	ip link del va
	gone "$RTGT_TARGET_DEV"
	gone "$RTGT_CLIENT_DEV"
	same state "$(port_state)" device-removed
	has_no_connections
	bring_back
	wait_until 10 listens || fail "state: $(port_state)"
	has "$(probe access op=write)" wc=success
}

# MRs of the target's device, without a process.
mrs() {
	look_at resources "$RTGT_TARGET_DEV"
	[[ $LOOKED =~ " mr "([0-9]+) ]] && MRS=${BASH_REMATCH[1]}
}

more_mrs_than() { # NUMBER
	mrs && ((MRS > $1))
}

# Delete the device, which must not hang.  One that does stays so: the hung-task detector
# of the guest has the last word.
delete_device() {
	background deleter rdma link delete "$RTGT_TARGET_DEV"
	wait_until 15 process_gone "${BG_PID[deleter]}" || fail "rdma link delete does not end"
	finish deleter
	gone "$RTGT_TARGET_DEV"
}

# While the first client's REQ makes the registrations of a shared port; the second region
# is one too large for mr_max, so they fail in the end.
device_deleted_registering() {
	# as many as a region can have, where they do not take long
	local nr=$((SLOW > 1 ? 4096 : 16384))
	defer bring_back
	target_port addr=0.0.0.0 mr_max=4K region one "size=$((nr * 4))K" region two size=128M
	tolerate_log "rtgt: .*region two cannot be registered"
	background client probe connect timeout=30
	wait_until 10 more_mrs_than 50 || fail "nothing is registered"
	kill -KILL "${BG_PID[client]}"
	mrs
	((MRS < nr)) || fail "the registrations ended before the device was deleted"
	delete_device
	target port_del "$PORT"
	bring_back
	target_port addr=0.0.0.0
	has "$(probe access op=write)" wc=success
}

# While a port makes the extents of its region: it is not enabled then, or stays without a device.
device_deleted_enabling() {
	defer bring_back
	# shellcheck disable=SC2034 # wait_until uses it: 8192 are made in a moment
	local try POLL=0.002
	tolerate_log "rtgt: .*cannot listen on .*error -19"
	target_port mr_max=4K region mem size=32M
	# on a busy machine the extents may all be there before they are counted
	for try in 1 2 3 4 5; do
		target attr_set "$CONFIGFS/ports/$PORT/enable" 0
		mrs
		background "enabling$try" target attr_set "$CONFIGFS/ports/$PORT/enable" 1
		wait_until 10 more_mrs_than "$MRS" || fail "nothing is made"
		mrs
		((MRS >= 8192)) || break
		finish "enabling$try"
	done
	((MRS < 8192)) || fail "the extents were made before the device was deleted, five times"
	delete_device
	wait_until 15 process_gone "${BG_PID[enabling$try]}" || fail "enable=1 does not end"
	finish "enabling$try" || :
	[[ $(port_state) == @(disabled|device-removed) ]] || fail "state: $(port_state)"
	target port_del "$PORT"
	bring_back
	target_port
	has "$(probe access op=write)" wc=success
}

# While another device's port has more REVOKEs to run than a work queue has workers, a
# port that has many registrations to undo is disabled, and the device is deleted under it.
# What the removal queues for the port must not come after the port has freed it, which
# a debug kernel notices.
device_deleted_disabling() {
	# shellcheck disable=SC2034 # wait_until uses it
	local quiet POLL=0.002
	defer bring_back
	target_port mr_max=4K region mem size=32M
	quiet=$PORT
	target_port "addr=$RTGT_CLIENT_ADDR" scope=private mr_max=4K recv_depth=512 region mem size=1M
	background revoker "$HERE/probe" "$RTGT_CLIENT_ADDR" "$CM_PORT" "source=$RTGT_TARGET_ADDR" flood depth=400
	wait_line revoker ready=1
	send_line revoker "6 400"
	expect_counters recv_msgs=400
	# it would keep its device, which is the target's
	kill -KILL "${BG_PID[revoker]}"
	mrs
	background disable target attr_set "$CONFIGFS/ports/$quiet/enable" 0
	wait_until 10 fewer_mrs_than "$MRS" || fail "nothing is undone"
	! process_gone "${BG_PID[disable]}" || fail "the port was disabled before the device was deleted"
	delete_device
	wait_until 15 process_gone "${BG_PID[disable]}" || fail "enable=0 does not end"
	finish disable
	bring_back
	target_port
	has "$(probe access op=write)" wc=success
}

fewer_mrs_than() { # NUMBER
	mrs && ((MRS < $1))
}

# Again and again: nothing may pile up.
cycles() {
	local i
	workers_on_one_processor
	for i in 1 2 3 4 5; do
		target_port
		background writer probe traffic len=4096
		wait_line writer started=1
		target port_del "$PORT"
		wait_line writer writes=
		finish writer
	done
}

tcase unload-traffic-private --tier wire,fast --limit 60 "port removal and unload under full traffic, private" unload_traffic
tcase rdma-link-bound-shared --tier wire,fast --limit 60 "rdma link delete under a listener bound to it and full traffic, shared" device_deleted_bound
tcase rdma-link-wildcard-private --tier wire,fast --limit 60 --more "rdma link delete under a listener on 0.0.0.0 and full traffic, private" device_deleted_wildcard

tcase no-device --tier fast,wire --limit 60 "a port cannot be enabled without the device, and can with it" no_device

tcase unload-refused --limit 60 "the module cannot be unloaded while a port is configured" unload_refused
tcase unload-idle --limit 60 --more "the module unloads, loads and serves again" unload_idle
tcase bond-failover --more --limit 60 "the port listens again after the failover of a bond" bond_failover
tcase rdma-link-idle --more --limit 60 "rdma link delete under a listener nobody uses, then the port is removed" device_deleted_idle
tcase cycles --limit 60 --more "five ports removed under full traffic, one after the other" cycles
tcase rdma-link-enabling --more --limit 60 "rdma link delete while a port is being enabled" device_deleted_enabling
tcase rdma-link-registering --limit 60 --more "rdma link delete while a first client's regions are registered" device_deleted_registering
tcase rdma-link-disabling --limit 60 --more "rdma link delete while a port is disabled and the target is busy" device_deleted_disabling
tcase ip-link-bound --limit 60 --more "ip link del under a listener bound to the device" netdev_deleted

tmain "$@"
