#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# misbehave.sh: the faults that a port commits when it is told to.
#
# A client of no tool, which checks nothing, shows what the target really sent or did; the
# port's file "faults" must have counted it, every opportunity and every commitment.  The bytes
# of each kind of reply with each fault are faults_test's, without a wire.
#
# weight 0.6 1.1

. "${0%/*}/lib.sh"

FILL=0xa5

set_fault() { # LINE
	target attr_set "$CONFIGFS/ports/$PORT/faults" "$1"
}

faults_are() { # LINE...
	same "faults of $PORT" "$(target cat_contents "$CONFIGFS/ports/$PORT/faults")" "$(printf '%s\n' "$@")"
}

# The target counts when it commits, which may be after the client has seen it.
faults_become() { # LINE
	wait_until 5 fault_counted "$1" ||
		fail "wanted \"$1\", faults has: $(target cat_contents "$CONFIGFS/ports/$PORT/faults")"
}

fault_counted() { # LINE
	target_contents "$CONFIGFS/ports/$PORT/faults"
	[[ $TEXT == "$1"$'\n' ]]
}

# --- replies: an echo, as the bytes in hexadecimal ------------------------------------

# Twelve echoes of four bytes, which differ: REPLIES, a line each, and how it ended: END.  The client
# does not read the REP, or it would request the rkey over iWARP, and get a reply more.
echoes() { # [KEY=VALUE...]
	probe replies blind=1 count=12 expect=12 depth=4 body=4 "$@" >"$WORK/replies"
	END=$(sed -n 's/^replies=.* end=//p' "$WORK/replies")
	sed -n 's/^reply [0-9]* //p' "$WORK/replies" >"$WORK/lines"
	mapfile -t REPLIES <"$WORK/lines"
}

# What a fault makes of reply N of HONEST: LIE
lie() { # FAULT N
	local bytes=20 hex=${HONEST[$2]#*hex=} tag
	tag=$((16#${hex:8:8}))
	case $1 in
	reply-tag) printf -v hex '%s%08x%s' "${hex:0:8}" $((tag + 1)) "${hex:16}" ;;
	reply-op) hex=${hex:0:2}82${hex:4} ;;
	reply-len) hex=${hex:0:16}00000003${hex:24} ;;
	reply-short) hex=${hex:0:16}00000003${hex:24:14} bytes=19 ;;
	reply-long) printf -v hex '%s%08x%s%088d' "${hex:0:16}" 48 "${hex:24}" 0 && bytes=64 ;;
	reply-status) hex=${hex:0:4}0009${hex:8} ;;
	reply-bit) printf -v hex '%s%02x%s' "${hex:0:36}" $((16#${hex:36:2} ^ 1)) "${hex:38}" ;;
	reply-stale)
		(($2)) || fail "no reply before the first"
		hex=${hex:0:32}${HONEST[$2 - 1]:(-8)}
		;;
	*) fail "misbehave.sh has no test of $1" ;;
	esac
	LIE="bytes=$bytes hex=$hex"
}

# Of the twelve echoes, and of the one at the end, which has no body, those that are opportunities.
opportunities() { # FAULT
	FIRST=0 SEEN=13
	case $1 in
	reply-short | reply-bit) SEEN=12 ;;
	reply-stale) FIRST=1 SEEN=11 ;;
	esac
}

# Opportunities 2 and 5 and no others: those bytes are wrong in that way, all others right.
wrong_bytes() { # FAULT
	local i LIE
	local -a HONEST WANT
	target_port recv_size=64
	echoes
	same end "$END" alive
	HONEST=("${REPLIES[@]}")
	same replies "${#HONEST[@]}" 12
	WANT=("${HONEST[@]}")
	opportunities "$1"
	for i in $((FIRST + 2)) $((FIRST + 5)); do
		lie "$1" "$i"
		[[ $LIE != "${HONEST[$i]}" ]] || fail "the lie is the truth: $LIE"
		WANT[i]=$LIE
	done
	set_fault "$1 every 3 after 2 for 2"
	echoes
	same end "$END" alive
	same replies "$(printf '%s\n' "${REPLIES[@]}")" "$(printf '%s\n' "${WANT[@]}")"
	faults_are "$1 every 3 after 2 for 2 seen $SEEN done 2"
	honest_again
}

# Without faults it is as it was, and nothing counts any more.
honest_again() {
	set_fault off
	faults_are
	echoes
	same end "$END" alive
	same "replies without faults" "$(printf '%s\n' "${REPLIES[@]}")" "$(printf '%s\n' "${HONEST[@]}")"
	faults_are
}

# Likewise, of a fault that changes which replies arrive and in which order: those of WANT.
wrong_order() { # SEEN EXPECT LINE WANT...
	local seen=$1 expect=$2 line=$3 i
	local -a HONEST WANT=()
	shift 3
	target_port recv_depth=32
	echoes depth=12
	HONEST=("${REPLIES[@]}")
	for i; do
		WANT+=("${HONEST[i]}")
	done
	set_fault "$line"
	echoes depth=12 "expect=$expect"
	same end "$END" alive
	same replies "$(printf '%s\n' "${REPLIES[@]}")" "$(printf '%s\n' "${WANT[@]}")"
	faults_are "$line seen $seen done 2"
	# a reply that is sent twice counts once
	expect_counters "replies=$((13 + (expect < 12 ? expect : 12) + 1))" malformed=0 qp_errors=0
	honest_again
}

# What is held is not in the way of a connection's end, nor of the port's.
held_at_the_end() { # LINE
	target_port "${@:2}"
	set_fault "$1"
	echoes count=3 expect=3 timeout=1
	same end "$END" silent
	expect_no_connections
	background holder probe replies blind=1 count=2 expect=2 timeout=20
	expect_counters conns_established=2 recv_msgs=5
	disables "$PORT"
	has_no_connections
	finish holder
}

# --- requests ---------------------------------------------------------------------------

checksum() { # OFFSET LENGTH
	local text
	text=$(probe send msg_op=2 body=24 "offset=$1" "count=$2")
	has "$text" status=ok "covered=$2"
	value_of "$text" crc
}

# The bit flips in the memory, before the CRC: the reply is true of what the memory holds then.
region_flips() {
	local before
	target_port region mem size=4096 "fill=$FILL"
	before=$(target look crc "$(data_of mem)" 100 1000)
	set_fault "region-bit after 1 for 1"
	same "first CRC" "$(checksum 100 1000)" "$before"
	has "$(probe send msg_op=2 body=24 offset=100 count=0)" status=ok covered=0
	same "second CRC" "$(checksum 100 1000)" "$(target look crc "$(data_of mem)" 100 1000)"
	[[ $(checksum 100 1000) != "$before" ]] || fail "no bit was flipped"
	faults_are "region-bit every 1 after 1 for 1 seen 3 done 1"
	target_filled mem 0 100 "$FILL"
	target_filled mem 100 1 $((FILL ^ 1))
	target_filled mem 101 3995 "$FILL"
}

region_for() { # OP
	if [[ $1 == pull ]]; then
		target_port region mem size=4096 "fill=$FILL"
	else
		target_port region mem size=4096 fill=counter
	fi
}

move() { # OP [KEY=VALUE...]
	MOVED=$(probe move "op=$1" len=100 offset=200 seed=9 "${@:2}")
	has "$MOVED" status=ok guards=0
}

# The first request is served, the second is not, the third is.
move_fault() { # OP FAULT CHECK
	region_for "$1"
	set_fault "$2 after 1 for 1"
	move "$1"
	same_bytes "$1" 200
	probe move "op=$1" len=0 offset=200 >"$WORK/nothing" || fail "$(<"$WORK/nothing")"
	[[ $1 != pull ]] || wipe
	move "$1"
	"$3" "$1"
	move "$1"
	same_bytes "$1" 200
	faults_become "$2 every 1 after 1 for 1 seen 3 done 1"
}

wipe() {
	has "$(probe access op=write len=4096 seed=77)" wc=success
	WIPED=$(target look crc "$(data_of mem)" 200 100)
}

same_bytes() { # OP OFFSET
	same "$1: CRC of the region at $2" "$(target look crc "$(data_of mem)" "$2" 100)" "$(value_of "$MOVED" crc)"
}

differ() { # OP
	[[ $(target look crc "$(data_of mem)" 200 100) != "$(value_of "$MOVED" crc)" ]] ||
		fail "$1: both ends have the same bytes"
	[[ $1 != pull ]] || same "region" "$(target look crc "$(data_of mem)" 200 100)" "$WIPED"
}

neighbours() { # OP
	differ "$1"
	same_bytes "$1" 300
}

# A client that waits for the bytes gets them.
late() { # OP
	region_for "$1"
	set_fault "move-late ms 3000"
	move "$1"
	differ_now "$1"
	faults_become "move-late every 1 ms 3000 seen 1 done 1"
	expect_no_connections
	set_fault "move-late ms 200"
	has "$(probe move "op=push" len=100 offset=200 seed=9 leave=1)" asked=1 left=1
	expect_counters replies=2 malformed=0 send_errors=0
}

differ_now() { # OP
	[[ $(target look crc "$(data_of mem)" 200 100) != "$(value_of "$MOVED" crc)" ]] ||
		fail "$1: the bytes were moved before the reply"
}

# As a device counts packets, not the client.
twice() { # OP
	local -a sent
	need hw-counters
	region_for "$1"
	sent=("$(target_sent)")
	move "$1" len=1000 count=10
	sent+=("$(target_sent)")
	set_fault "move-twice"
	move "$1" len=1000 count=10
	same "CRC of the region" "$(target look crc "$(data_of mem)" 200 1000)" "$(value_of "$MOVED" crc)"
	sent+=("$(target_sent)")
	faults_are "move-twice every 1 seen 10 done 10"
	((sent[2] - sent[1] >= sent[1] - sent[0] + 10)) || fail "packets sent: ${sent[*]}: not twice"
}

target_sent() {
	target cat_contents "/sys/class/infiniband/$RTGT_TARGET_DEV/ports/1/hw_counters/sent_pkts"
}

# The capability in a reply: EXTENTS.
cap() { # FAULT
	local honest wrong
	target_port region mem size=4096
	honest=$(extents)
	set_fault "$1"
	wrong=$(extents)
	case $1 in
	cap-rkey) printf -v honest '%s%08x%s' "${honest:0:80}" $((16#${honest:80:8} ^ 1)) "${honest:88}" ;;
	cap-addr) printf -v honest '%s%016x%s' "${honest:0:64}" $((16#${honest:64:16} + 4096)) "${honest:80}" ;;
	cap-len) honest=${honest:0:88}0000000000000001 ;;
	*) fail "misbehave.sh has no test of $1" ;;
	esac
	same reply "$wrong" "$honest"
	# nor is the echo afterwards one of its opportunities
	faults_are "$1 every 1 seen 1 done 1"
}

extents() {
	probe replies blind=1 msg_op=9 body=16 count=1 expect=1 | sed -n 's/^reply 0 .*hex=//p'
}

# --- connections ------------------------------------------------------------------------

rep() { # FAULT
	local honest text
	target_port region mem size=4096
	honest=$(probe connect)
	set_fault "$1 every 2"
	text=$(probe connect 2>&1) || :
	if is_iwarp && [[ $1 == rep-@(rkey|addr|ask) ]]; then
		# the REP has no capability
		faults_are "$1 every 2 seen 0 done 0"
		return
	fi
	case $1 in
	rep-rkey) has "$text" "rkey0=$(printf 0x%x $(($(value_of "$honest" rkey0) ^ 1)))" ;;
	rep-addr) has "$text" "addr0=$(printf 0x%x $(($(value_of "$honest" addr0) + 4096)))" ;;
	# over iWARP the client replaces it with the length that it requests
	rep-len) is_iwarp || has "$text" len0=8192 ;;
	rep-ask)
		# the client requests what the REP lacks, and gets it
		has "$text" features=2 "rkey0=$(value_of "$honest" rkey0)" "addr0=$(value_of "$honest" addr0)"
		expect_counters recv_msgs=1 replies=1
		;;
	rep-version) [[ $text == *"speaks version 2 of the protocol"* ]] || fail "$text" ;;
	# over iWARP so few bytes do not have the magic
	rep-short) [[ $text == *"REP is malformed"* || $text == *"gave no capability"* ]] || fail "$text" ;;
	*) fail "misbehave.sh has no test of $1" ;;
	esac
	text=$(probe connect)
	same "second REP" "${text%%conn_id=*}${text#* rep_len}" "${honest%%conn_id=*}${honest#* rep_len}"
	faults_are "$1 every 2 seen 2 done 1"
	expect_no_connections
}

rep_delay() {
	target_port
	# jiffies may lag behind the clock that measures it
	set_fault "rep-delay for 2 ms 700"
	background holder probe hold
	wait_line holder ready=1
	(($(value_of "$(target first_line "$DEBUGFS/ports/$PORT/setups")" accept_ns) >= 600000000)) ||
		fail "$(target first_line "$DEBUGFS/ports/$PORT/setups")"
	finish holder
	expect_no_connections
	# and one that the port's end finds
	set_fault "rep-delay ms 10000"
	background waiting probe connect timeout=20
	faults_become "rep-delay every 1 ms 10000 seen 1 done 1"
	disables "$PORT"
	has_no_connections
	finish waiting
	has "$(<"$WORK/waiting.out")" result=refused reason=untyped
}

rep_never() {
	target_port handshake_ms=1000
	set_fault "rep-never for 1"
	if is_iwarp; then
		# librtgt tries again
		has "$(probe connect timeout=20)" result=established conn_id=2
	else
		has "$(probe connect timeout=20)" result=refused reason=untyped
		expect_counters conns_accepted=1 conns_established=0 conns_closed=1
		has "$(probe connect)" result=established
	fi
	faults_are "rep-never every 1 for 1 seen 2 done 1"
}

rejected() { # FAULT
	target_port
	set_fault "$1 after 1 for 1"
	has "$(probe connect)" result=established
	has "$(probe connect)" result=refused "reason=${1#rej-}"
	has "$(probe connect)" result=established
	faults_are "$1 every 1 after 1 for 1 seen 3 done 1"
	expect_counters conns_accepted=2 "rejects_${1#rej-}=1"
}

rtu_ignore() {
	target_port handshake_ms=1000
	set_fault "rtu-ignore for 1"
	probe replies blind=1 count=1 expect=1 timeout=20 >"$WORK/replies"
	grep -Eqx "replies=0 end=(disconnected|flush)" "$WORK/replies" || fail "$(<"$WORK/replies")"
	expect_counters conns_accepted=1 conns_established=0 conns_closed=1 replies=0
	has "$(probe send)" status=ok alive=1
	faults_are "rtu-ignore every 1 for 1 seen 2 done 1"
}

# The connection stays until the port ends it.
dreq_ignore() {
	target_port
	set_fault "dreq-ignore for 1"
	has "$(probe connect)" result=established
	faults_become "dreq-ignore every 1 for 1 seen 1 done 1"
	has "$(probe send)" status=ok alive=1
	expect_counters conns_established=2 conns_closed=1
	same "connections left" "$(target connections "$PORT" | grep -c "^id=1 state=live ")" 1
	disables "$PORT"
	has_no_connections
}

recv_none() {
	target_port
	set_fault "recv-none for 1"
	if is_iwarp; then
		probe replies blind=1 count=1 expect=1 >"$WORK/replies"
		has "$(<"$WORK/replies")" replies=0
	else
		tolerate_log "non-flush error status"
		has "$(probe access op=send rnr_retry=0)" wc=rnr-exceeded nak=rnr
	fi
	has "$(probe send)" status=ok alive=1
	faults_are "recv-none every 1 for 1 seen 2 done 1"
}

# Two replies, then the end.
third_message() { # FAULT END [KEY=VALUE...]
	target_port
	set_fault "$1 after 2 for 1"
	echoes depth=1 "${@:3}"
	same replies "${#REPLIES[@]}" 2
	[[ " $2 " == *" $END "* ]] || fail "it ended with $END, not $2"
	faults_are "$1 every 1 after 2 for 1 seen 3 done 1"
	expect_no_connections
	has "$(probe send)" status=ok alive=1
}

# An immediate is one of the opportunities.
third_imm() { # FAULT
	need imm
	target_port
	set_fault "$1 after 1 for 1"
	has "$(probe access op=imm imm=0x10000001)" wc=success
	probe access op=imm imm=0x10000001 >"$WORK/imm" 2>&1 || :
	faults_become "$1 every 1 after 1 for 1 seen 2 done 1"
	expect_no_connections
	has "$(probe access op=imm imm=0x10000001)" wc=success
}

# --- the file ------------------------------------------------------------------------------

# Every name that features has: set, shown, ended.
names() {
	local name ms
	local -a lines=()
	target_port
	while read -r name; do
		ms=
		[[ $name != *-delay && $name != move-late ]] || ms=" ms 5"
		set_fault "$name every 4000000000 after 3$ms"
		lines+=("$name every 4000000000 after 3$ms seen 0 done 0")
	done < <(target sed -n 's/^fault-//p' "$CONFIGFS/features")
	((${#lines[@]} >= 40)) || fail "features names ${#lines[@]} faults"
	faults_are "${lines[@]}"
	has "$(probe access op=write)" wc=success
	for name in "${!lines[@]}"; do
		set_fault "${lines[name]%% *} off"
	done
	faults_are
}

# Every name has a case of its own in this program.
covered() {
	local name
	while read -r name; do
		[[ -n ${CASE_CMD[$name]:-} || -n ${CASE_CMD[$name-push]:-} ]] || fail "misbehave.sh has no case of $name"
	done < <(target sed -n 's/^fault-//p' "$CONFIGFS/features")
}

bad_lines() {
	local text wrong
	target_port
	set_fault "reply-tag every 3 after 10 for 5"
	while IFS='|' read -r text wrong; do
		fails_with "$wrong" set_fault "$text"
		faults_are "reply-tag every 3 after 10 for 5 seen 0 done 0"
	done <<-END
		|Invalid argument
		on|Invalid argument
		reply|Invalid argument
		reply-tag 3|Invalid argument
		reply-tag every|Invalid argument
		reply-tag every x|Invalid argument
		reply-tag every 2 every 2|Invalid argument
		reply-tag ms 5|Invalid argument
		reply-delay|Invalid argument
		off reply-tag|Invalid argument
		reply-tag off now|Invalid argument
		reply-tag every 0|Numerical result out of range
		reply-tag for 0|Numerical result out of range
		reply-tag after 4294967296|Numerical result out of range
		reply-delay ms 10001|Numerical result out of range
	END
	fails_with "it takes NAME [every N]" rtgt_port_set "reply-tag every 0"
	has "$(probe send)" status=ok alive=1
	faults_are "reply-tag every 3 after 10 for 5 seen $(is_iwarp && echo 3 || echo 2) done 0"
}

rtgt_port_set() { # LINE
	on_target rtgt port set "$PORT" faults "$1"
}

# What a service, a transport or an SRQ has no opportunity for.
# Those behind a "+" it has.
unsupported() { # ATTRIBUTES [+]FAULT...
	local name ms
	# shellcheck disable=SC2086 # several words
	target_port enable=0 $1
	for name in "${@:2}"; do
		ms=
		[[ $name != *-delay && $name != move-late ]] || ms=" ms 5"
		if [[ $name == +* ]]; then
			set_fault "${name#+}$ms"
			set_fault "${name#+} off"
			continue
		fi
		fails_with "Operation not supported" set_fault "$name$ms"
		set_fault "$name off"
	done
	faults_are
}

tool() {
	target_port
	rtgt_port_set "reply-tag every 3 after 10 for 5"
	faults_are "reply-tag every 3 after 10 for 5 seen 0 done 0"
	logged "rtgt: $PORT: will misbehave: reply-tag every 3 after 10 for 5" || fail "the kernel log does not say so"
	on_target rtgt show "$PORT" >"$WORK/show"
	grep -qx "  fault       reply-tag every 3 after 10 for 5 seen 0 done 0" "$WORK/show" || fail "$(<"$WORK/show")"
	on_target rtgt -j show "$PORT" >"$WORK/json"
	document "$WORK/json"
	same faults "$(jq -c '.ports[0].faults' "$WORK/json")" '["reply-tag every 3 after 10 for 5 seen 0 done 0"]'
	rtgt_port_set off
	faults_are
}

# As Documentation/misbehave.rst has it.
example() {
	local rc=0
	target_port
	rtgt_port_set "reply-tag every 3 after 3"
	rtgt ping -o send -C 10 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/ping" 2>&1 || rc=$?
	same "exit status" "$rc" 1
	grep -qi tag "$WORK/ping" || fail "$(<"$WORK/ping")"
	faults_are "reply-tag every 3 after 3 seen 4 done 1"
	rtgt_port_set off
	ping_ok send 64 10
}

# --- all of them at once ----------------------------------------------------------------

everything() { # ATTRIBUTE...
	local name ms
	while read -r name; do
		ms=
		[[ $name != *-delay && $name != move-late ]] || ms=" ms 300"
		[[ $name != recv-none || " $* " != *" srq=1 "* ]] || continue
		case $name in
		rej-* | rep-never | recv-none) set_fault "$name every 7 after 3$ms" ;;
		disconnect | qp-*) set_fault "$name every 13 after 9$ms" ;;
		*) set_fault "$name every 3$ms" ;;
		esac
	done < <(target sed -n 's/^fault-//p' "$CONFIGFS/features")
}

# A QP that one fault has moved to ERR another one cannot move to SQD.
tolerate_amid() {
	tolerate_log "non-flush error status|rxe_modify_qp: returned err = -22$"
}

disabled_amid() { # ATTRIBUTE...
	tolerate_amid
	target_port handshake_ms=2000 recv_depth=8 "$@"
	everything "$@"
	clients 6
	disables "$PORT"
	has_no_connections
	crowd_ends
	target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	set_fault off
	has "$(probe send)" status=ok alive=1
}

# So many rounds of clients in the background, until the target has committed enough.
clients() { # FAULTS
	local i
	rm -f "$WORK/enough"
	for i in 1 2 3; do
		background "client-$i" bash -c "while [[ ! -e $WORK/enough ]]; do
			\"\$@\" replies blind=1 count=12 expect=12 depth=6 body=40 timeout=1
			\"\$@\" move op=push len=5000 count=4 timeout=1
			\"\$@\" move op=pull len=5000 count=4 timeout=1
			\"\$@\" send msg_op=2 body=24 count=1000 timeout=1
		done >/dev/null 2>&1; :" client "$HERE/probe" "$RTGT_TARGET_ADDR" "$CM_PORT" "source=$RTGT_CLIENT_ADDR"
	done
	wait_until "$PATIENCE" committed "$1" || fail "faults: $(target cat_contents "$CONFIGFS/ports/$PORT/faults")"
}

# So many of the faults were committed, among them those that hold something.
committed() { # NUMBER
	target_contents "$CONFIGFS/ports/$PORT/faults"
	[[ $TEXT =~ reply-delay[^$'\n']*" done "[1-9] && $TEXT =~ rep-delay[^$'\n']*" done "[1-9] &&
		$TEXT =~ move-late[^$'\n']*" done "[1-9] && $TEXT =~ dreq-ignore[^$'\n']*" done "[1-9] ]] &&
		(($(grep -c " done [1-9]" <<<"$TEXT") >= $1))
}

crowd_ends() {
	local i
	: >"$WORK/enough"
	for i in 1 2 3; do
		finish "client-$i"
	done
}

removed_amid() {
	defer bring_back
	tolerate_amid
	target_port handshake_ms=2000 recv_depth=8
	everything
	clients 6
	background deleter on_target rdma link delete "$RTGT_TARGET_DEV"
	wait_until 15 process_gone "${BG_PID[deleter]}" || fail "rdma link delete does not end"
	finish deleter
	has_no_connections
	crowd_ends
	bring_back
}

unloaded_amid() {
	need_module_file
	defer bring_back
	tolerate_amid
	target_port handshake_ms=2000 recv_depth=8
	everything
	clients 6
	target port_del "$PORT"
	target module_unload
	crowd_ends
	target module_load
	target_port
	has "$(probe send)" status=ok alive=1
}

# Sets MORE
second() { # FAULT
	MORE=--more
	[[ $QUICK != *" $1 "* ]] || MORE=
}

# What is held of an SRQ is back when its connection ends, and does not count as withheld any more.
held_srq() {
	target_port srq=1 recv_depth=2 withhold_max=2
	set_fault "reply-delay ms 10000"
	echoes msg_op=7 count=2 expect=2 timeout=1
	same end "$END" silent
	expect_no_connections
	set_fault off
	srq_has 2
}

# What make check runs of those that are alike
QUICK=" reply-tag cap-rkey rep-rkey rep-short rej-full "
for fault in reply-tag reply-op reply-len reply-short reply-long reply-status reply-bit reply-stale; do
	second "$fault"
	tcase "$fault" ${MORE:+"$MORE"} "the two replies that are due are wrong in this way, all others are right" wrong_bytes "$fault"
done
tcase reply-drop --more "the two replies that are due do not come" wrong_order 13 10 "reply-drop every 3 after 2 for 2" 0 1 3 4 6 7 8 9 10 11
tcase reply-twice --more "the two replies that are due come twice" wrong_order 13 14 "reply-twice every 3 after 2 for 2" 0 1 2 2 3 4 5 5 6 7 8 9 10 11
tcase reply-swap --more "the two replies that are due come after the next ones" wrong_order 11 12 "reply-swap every 3 after 2 for 2" 0 1 3 2 4 5 7 6 8 9 10 11
tcase reply-delay --more "the two replies that are due come after all others" wrong_order 13 12 "reply-delay every 3 after 2 for 2 ms 2000" 0 1 3 4 6 7 8 9 10 11 2 5
tcase held-delay --more "replies that are delayed do not delay a connection's end" held_at_the_end "reply-delay ms 10000"
tcase held-delay-srq --more "nor those of an SRQ, whose receives are back" held_at_the_end "reply-delay ms 10000" srq=1
tcase region-bit --more "a bit of the region flips before the CRC, and no other" region_flips
for op in pull push; do
	tcase move-never-$op --more "the reply comes and the bytes do not" move_fault $op move-never differ
	tcase move-range-$op --more "the neighbouring bytes are moved" move_fault $op move-range neighbours
	tcase move-late-$op --more "the bytes come after the reply" late $op
	tcase move-twice-$op --more "the bytes are moved twice, with one reply" twice $op
done
for fault in cap-rkey cap-addr cap-len; do
	second "$fault"
	tcase "$fault" ${MORE:+"$MORE"} "the capability in a reply to EXTENTS is wrong in this way" cap "$fault"
done
for fault in rep-rkey rep-addr rep-len rep-ask rep-version rep-short; do
	second "$fault"
	tcase "$fault" ${MORE:+"$MORE"} "one REP is wrong in this way, the next is right" rep "$fault"
done
tcase rep-delay --more "the REP comes late, and not at all when the port is disabled" rep_delay
tcase rep-never --more "no REP comes, until handshake_ms ends" rep_never
for fault in rej-version rej-size rej-full rej-resources rej-device rej-stopping rej-ask; do
	second "$fault"
	tcase "$fault" ${MORE:+"$MORE"} "one of three clients is rejected with this reason" rejected "$fault"
done
tcase rtu-ignore --more "the target hears nothing, until handshake_ms ends" rtu_ignore
tcase dreq-ignore --more "the connection stays when the client disconnects" dreq_ignore
tcase recv-none "a SEND finds no receive" recv_none
tcase disconnect --more "the third message gets a disconnect" third_message disconnect "disconnected flush"
tcase disconnect-imm --more "an immediate gets a disconnect" third_imm disconnect
tcase qp-err --more "with the third message the QP is in error" third_message qp-err "disconnected flush"
tcase qp-err-imm --more "with an immediate the QP is in error" third_imm qp-err
tcase qp-sqd --more "from the third message on the QP sends nothing" third_message qp-sqd "silent disconnected flush" timeout=2
tcase names "features names the faults; each is set, shown and ended" names
tcase covered "each fault has a case" covered
tcase bad-lines --more "bad lines fail with their errno and change nothing" bad_lines
tcase tool "rtgt port set and rtgt show have the faults, the kernel log tells of them" tool
tcase example "rtgt ping notices the example of the documentation" example
tcase unsupported-sink "the service sink has no replies" unsupported service=sink reply-tag reply-delay region-bit move-late cap-rkey qp-sqd +recv-none +disconnect +rej-full +qp-err
tcase unsupported-rping --more "the REP of rping has no capability" unsupported service=rping reply-tag rep-rkey rep-ask rep-short +dreq-ignore +rtu-ignore
tcase unsupported-ud --more "datagrams have no connection" unsupported transport=ud reply-twice move-never cap-len rep-len rep-delay rej-full rtu-ignore dreq-ignore recv-none disconnect qp-err qp-sqd
tcase unsupported-srq "receives of an SRQ are posted for all" unsupported srq=1 recv-none +qp-sqd +rep-len
tcase disable-amid --more --limit 60 "the port is disabled while everything goes wrong" disabled_amid
tcase disable-amid-srq --limit 60 --more "the same with an SRQ and private regions" disabled_amid srq=1 scope=private
tcase remove-amid --more --limit 60 "rdma link delete while everything goes wrong" removed_amid
tcase unload-amid --more --limit 60 "port removal and unload while everything goes wrong" unloaded_amid
tcase held-srq --more --needs rnr "all receives of an SRQ are back, also those that were to be withheld" held_srq

tmain "$@"
