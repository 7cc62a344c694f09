#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# observe.sh: what can be seen of the target from outside it.
#
# weight 0.9 1.5

. "${0%/*}/lib.sh"

# What a BTH begins with, InfiniBand 9.2.1
RC_ACKNOWLEDGE=0x11

TRACING=/sys/kernel/tracing

# Objects carry the module's name, so that a person finds out whose they are.
resources_named() {
	local kind
	target_port
	background holder probe hold
	wait_line holder ready=1
	for kind in pd cm_id qp; do
		on_target rdma resource show "$kind" >"$WORK/$kind"
		grep -q "\[rtgt\]" "$WORK/$kind" || fail "no $kind of [rtgt]: $(<"$WORK/$kind")"
	done
	same "listeners" "$(grep -c "state LISTEN .*\[rtgt\].* src-addr $RTGT_TARGET_ADDR:$CM_PORT " "$WORK/cm_id")" 1
	finish holder
}

# rdma(8) tells what sysfs tells, which the other tests go by.
statistic() {
	target_port
	has "$(probe access op=write len=4096)" wc=success
	on_target rdma -j statistic show link "$RTGT_TARGET_DEV/1" >"$WORK/json"
	hw_read HW_NOW
	same rcvd_pkts "$(jq '.[0].rcvd_pkts' "$WORK/json")" "${HW_NOW[target.rcvd_pkts]}"
	same rdma_recvs "$(jq '.[0].rdma_recvs' "$WORK/json")" "${HW_NOW[target.rdma_recvs]}"
	same duplicate_request "$(jq '.[0].duplicate_request' "$WORK/json")" "${HW_NOW[target.duplicate_request]}"
}

connection_line() {
	# over iWARP the client requests the rkey first
	local n=1
	! is_iwarp || n=2
	target_port
	background holder probe hold
	wait_line holder ready=1
	send_line holder echo
	wait_line holder alive=1
	target connections "$PORT" >"$WORK/line"
	grep -Eqx "id=1 state=live peer=${RTGT_CLIENT_ADDR//./\\.}:[0-9]+ dev=$RTGT_TARGET_DEV qpn=[0-9]+ client=rtgt recv_msgs=$n imms=0 replies=$n held=0" "$WORK/line" ||
		fail "$(<"$WORK/line")"
	same "the queue pair it names is there" "$(on_target rdma resource show qp lqpn "$(value_of "$(<"$WORK/line")" qpn)" | grep -c '\[rtgt\]')" 1
	target_contents "$DEBUGFS/ports/$PORT/peers"
	PEER=$TEXT
	has "$PEER" conns=1
	has "$(probe connect)" result=established
	wait_until 5 peer_is_as_before || fail "the peer was $PEER, and after another connection it is $TEXT"
	finish holder
}

peer_is_as_before() {
	target_contents "$DEBUGFS/ports/$PORT/peers" && [[ $TEXT == "$PEER" ]]
}

every_counter() {
	local name
	local -a zero=()
	target_port
	# what machine.sh compares before and after each case
	same "kinds of objects" "$(target cat_contents "$DEBUGFS/objects" | cut -d ' ' -f 1 | paste -sd ,)" \
		ports,conns,domains,mems,peers,initiators,promised
	for name in conns_accepted conns_established conns_closed conns_abandoned rejects_version rejects_size rejects_full \
		rejects_resources rejects_device rejects_stopping rejects_ask recv_msgs recv_bytes imms imm_bytes replies malformed over_depth \
		qp_errors recv_flushed send_errors send_flushed registrations invalidations rotations asks keepalives; do
		zero+=("$name=0")
	done
	expect_counters "${zero[@]}"
	same "number of counters" "$(target counters "$PORT" | wc -l)" "${#zero[@]}"
}

# The client has the replies and closes; what it acknowledges is lost.
flushed_replies() { # ATTRIBUTE...
	target_port "$@"
	lose "u8 $RC_ACKNOWLEDGE 0xff at 28"
	has "$(probe send)" status=ok alive=1
	expect_counters replies=2 send_flushed=2 send_errors=0 conns_closed=1
}

# A reply that a fault sends twice counts once, and both are flushed.
flushed_copies() {
	target_port
	target attr_set "$CONFIGFS/ports/$PORT/faults" "reply-twice every 1"
	lose "u8 $RC_ACKNOWLEDGE 0xff at 28"
	has "$(probe send)" status=ok
	expect_counters replies=2 send_flushed=4 conns_closed=1
}

# The receives that a connection has posted, at its end.
flushed_receives() {
	target_port recv_depth=8
	has "$(probe connect)" result=established
	expect_counters conns_closed=1 recv_flushed=8
}

trace_off() {
	target attr_set "$TRACING/events/rtgt/enable" 0
	target attr_set "$TRACING/trace" ""
}

traced() { # EVENT-REGEX...
	local want
	target cat "$TRACING/trace" >"$WORK/trace"
	for want; do
		grep -Eq "$want" "$WORK/trace" || fail "no \"$want\" in: $(<"$WORK/trace")"
	done
}

# The device says of each QP with an SRQ that it uses no receive any more, and the module hears it.
# That the teardown waits for this is not shown: rxe says it before.
last_wqe() {
	local i
	target_port srq=1
	trace_off
	defer trace_off
	target attr_set "$TRACING/events/rtgt/rtgt_qp_event/enable" 1
	for ((i = 0; i < 10; i++)); do
		has "$(probe send)" status=ok
	done
	has "$(probe connect)" result=established
	expect_no_connections
	target cat "$TRACING/trace" >"$WORK/trace"
	same "QPs that gave them up" "$(sed -n 's/.*rtgt_qp_event: conn=\([0-9]*\) .*LAST_WQE_REACHED.*/\1/p' "$WORK/trace" | sort -u | wc -l)" \
		"$(counter conns_closed)"
}

# A connection's life in the trace, each line with its number.
tracepoints() {
	target test -d "$TRACING/events/rtgt" || fail "there is no trace system rtgt"
	target_port region mem size=4096
	trace_off
	defer trace_off
	target attr_set "$TRACING/events/rtgt/enable" 1
	# both bring 100 bytes, and have a reply
	if has_op write-imm; then
		has "$(probe access op=imm imm=0x10000005 len=100)" wc=success
	else
		has "$(probe send body=84)" status=ok
	fi
	has "$(probe send msg_op=10)" status=op
	has "$(probe connect version=9)" reason=version
	expect_no_connections
	traced "rtgt_conn_state: conn=1 .*connecting -> live" "rtgt_conn_state: conn=1 .*live -> closing" \
		"rtgt_wc: conn=1 .*recv status=SUCCESS .*byte_len=100" \
		"rtgt_reply: conn=1 " "rtgt_cm_event: conn=2 .*ESTABLISHED" "rtgt_request: conn=2 .*op=10 tag=7 .*status=2" \
		"rtgt_reject: dev=$RTGT_TARGET_DEV reason=version arg=1"
	! has_op write-imm || traced "rtgt_imm: conn=1 .*imm=0x10000005 byte_len=100"
}

# What happens at the ports as JSON, and at one of them as text; the instances of tracefs are
# removed at the end.
monitored() {
	local port
	background all rtgt -j monitor
	wait_until 10 grep -qs "^rtgt: monitoring" "$WORK/all.err" || fail "$(cat "$WORK"/all.*)"
	target_port region mem size=4096
	port=$PORT
	background one rtgt monitor "$port"
	wait_until 10 grep -qs "^rtgt: monitoring" "$WORK/one.err" || fail "$(cat "$WORK"/one.*)"
	has "$(probe send body=84)" status=ok
	has "$(probe connect version=9)" reason=version
	expect_no_connections
	target_port region mem size=4096
	target port_del "$PORT"
	target port_del "$port"
	wait_line one "$port disabled"
	wait_until 10 grep -q "\"$port\",\"state\":\"disabled\"\|\"disabled\",\"port\":\"$port\"" "$WORK/all.out" || fail "$(<"$WORK/all.out")"
	kill -TERM "${BG_PID[all]}" "${BG_PID[one]}"
	finish all
	finish one
	document "$WORK/all.out"
	same "events" "$(jq -r --arg port "$port" 'select(.port == $port) | "\(.type) \(.state // .reason)"' "$WORK/all.out" | paste -sd ,)" \
		"port starting,port listening,connection live,connection closing,reject version,port stopping,port disabled"
	same "events of the other port" "$(jq -r --arg port "$PORT" 'select(.port == $port).state' "$WORK/all.out" | paste -sd ,)" \
		"starting,listening,stopping,disabled"
	same "peer and reason" "$(jq -r 'select(.state == "closing") | "\(.connection) \(.peer) \(.why != "")"' "$WORK/all.out" | sed 's/:[0-9]* / /')" \
		"1 $RTGT_CLIENT_ADDR true"
	jq -se --argjson now "${EPOCHREALTIME/./}" 'all(.[]; $now - .time > 0 and $now - .time < 3600e6)' "$WORK/all.out" >/dev/null ||
		fail "times at ${EPOCHREALTIME/./}: $(<"$WORK/all.out")"
	same "as text" "$(cut -d ' ' -f 2- "$WORK/one.out" | sed 's/ from .*: \(live\|closing\)/ \1/; s/ [0-9].* rejected/ rejected/; s/closing: .*/closing: why/' | paste -sd ,)" \
		"$port connection 1 live,$port connection 1 closing: why,$port rejected: version (1),$port stopping,$port disabled"
	same "instances that are left" "$(find "$TRACING/instances" -maxdepth 1 -name 'rtgt_monitor_*')" ""
}

crowd_is_logged() {
	has "$(probe race count=60 len=8)" ok=60
	[[ $(target look since "$MARK$CASE") == *"rtgt: $PORT: connection "* ]]
}

# The log says what an administrator did; what peers do is told as well, but not
# more often than the kernel's rate limit lets it.
# Each of the two lines a connection may log comes ten times in 5 s at most, and the
# log's own clock tells: on a slow kernel clients come too slowly to be limited.  Earlier
# cases may have used the limit up, so clients connect until the log has a line of one.
log_lines() {
	local line most
	target_port
	wait_until 20 crowd_is_logged || fail "no connection is in the log"
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	# not $WORK/log, which has what this case prints
	target look since "$MARK$CASE" >"$WORK/kernel"
	for line in "rtgt: $PORT: listening on $RTGT_TARGET_ADDR:$CM_PORT" "rtgt: $PORT: disabled"; do
		grep -q "$line" "$WORK/kernel" || fail "no \"$line\" in: $(<"$WORK/kernel")"
	done
	most=$(most_logged "connection .*" 5)
	((most <= 40)) || fail "a peer can flood the log, $most lines in 5 s: $(<"$WORK/kernel")"
}

tcase last-wqe --more --needs rnr "with an SRQ, LAST_WQE_REACHED is raised for each QP that is closed" last_wqe
tcase tracepoints --tier fast,wire "states, completions, requests and rejects are traced" tracepoints
tcase monitor "rtgt monitor prints what happens at the ports, and why connections end" monitored
tcase resources --more --tier fast,wire "rdma resource shows PD, CM_ID and QP under the module's name" resources_named
tcase connection-line --tier fast,wire "the file connections has peer, device, queue pair and messages" connection_line

tcase statistic --needs hw-counters "rdma statistic and sysfs show the same counters" statistic
tcase counters "all counters are there and a new port's are zero" every_counter
tcase send-flushed --needs acks "replies that are not acknowledged when their connection closes are counted, not failures" flushed_replies
tcase send-flushed-twice --more --needs acks "a reply that a fault sends twice is flushed twice" flushed_copies
tcase send-flushed-srq --needs acks --serve-more "with an SRQ, replies that are not acknowledged are counted, not failures" flushed_replies srq=1
tcase recv-flushed "the posted receives of a connection that closes are counted as flushed" flushed_receives
tcase log --more "the kernel log has when a port listens and stops, and a peer cannot flood it" log_lines

tmain "$@"
