#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# fixtures.sh: what the cases are written with; sourced by lib.sh.
#
# Everything here runs inside a case's subshell.  What a fixture makes, it also
# removes when the case ends, however it ends.
#
# device_fixtures.sh and background_fixtures.sh belong to it.

# shellcheck source=device_fixtures.sh
. "$HERE/device_fixtures.sh"
# shellcheck source=background_fixtures.sh
. "$HERE/background_fixtures.sh"

# --- verdicts -------------------------------------------------------------------

fail() { # MESSAGE
	printf '%s\n' "$*" >&2
	exit 1
}

skip() { # REASON
	printf '%s' "$*" >"$WORK/skip"
	exit "$KSFT_SKIP"
}

# The device or the kernel has a defect, with a page in Documentation/findings/, and this case has
# shown it: it fails, as is expected.  Where the defect is not there the case must pass.
xfail() { # PAGE WHAT
	printf '%s: %s' "$1" "$2" >"$WORK/xfail"
	exit "$KSFT_XFAIL"
}

need_command() { # COMMAND...
	local cmd
	for cmd; do
		type -P "$cmd" >/dev/null || skip "$cmd is not installed"
	done
}

# The module can be unloaded and loaded again only when it has a file.
need_module_file() {
	[[ -r ${RTGT_KO:-} || $(modinfo -F filename rtgt 2>/dev/null) == /* ]] ||
		skip "modprobe does not find the module, and RTGT_KO does not name its file"
}

same() { # WHAT GOT WANTED
	[[ $2 == "$3" ]] || fail "$1: got \"$2\", wanted \"$3\""
}

# A JSON document that rtgt printed, or several: scripts/schema-check compares it with its
# schema when the tier has ended, outside of the guest, where the validator is.
document() { # FILE
	jq -c --arg case "$PROGRAM.$CASE" '{ case: $case, document: . }' "$1" >>"${RTGT_DOCUMENTS:-/dev/null}" ||
		fail "$1 is no JSON: $(<"$1")"
}

# In a "key=value ..." text, as probe prints it.  A case names the words of RoCE; in_iwarp has those
# that probe prints over iWARP.
has() { # TEXT KEY=VALUE...
	local text=" ${1//$'\n'/ } " want
	shift
	for want; do
		! is_iwarp || in_iwarp "$text"
		[[ ! $want || $text == *" $want "* ]] || fail "wanted $want in:$text"
	done
}

# Replaces "want", a word that probe prints over RoCE, by the word it prints over iWARP.  A reject's
# status is the errno of the connect.  The REP of the kernel's target is shorter, and asks the client
# to request the capability.  The completion does not show that the target's device refused an
# operation; the end of the connection does: "want" is empty if TEXT has that.
in_iwarp() { # TEXT
	case $want in
	status=28) want=status=-104 ;;
	status=8) want=status=-111 ;;
	rep_len=196) want=rep_len=172 ;;
	features=[01]) is_served || want=features=$((${want#*=} + 2)) ;;
	wc=rem-* | old=rem-* | end=rem-* | wc=rnr-exceeded | \
		nak=access | nak=inv-req | nak=op | nak=rnr)
		! was_refused "$1" || want=
		;;
	esac
}

# Over iWARP: did the connection end with the operation?  The target's device says why with a
# Terminate, unless it is transmitting (siw_send_terminate()).
was_refused() { # TEXT
	[[ $1 == *own=dead* || $1 == *reply=none* || $1 == *wc=loc-qp-op* ||
		$1 == *end=@(flush|loc-qp-op|unposted|disconnected)* ]]
}

# Did probe's operation end with that completion, and the NAK on the wire?  iWARP has no NAKs.
ended() { # TEXT WC NAK
	local text=" ${1//$'\n'/ } "
	if ! is_iwarp; then
		[[ $text == *" wc=$2 "* && $text == *" nak=$3 "* ]]
	elif [[ $2 == success ]]; then
		[[ $text == *" wc=success "* ]]
	else
		was_refused "$text"
	fi
}

value_of() { # TEXT KEY
	local text=" ${1//$'\n'/ } "
	[[ $text == *" $2="* ]] || fail "no $2= in:$text"
	text=${text#*" $2="}
	echo "${text%% *}"
}

# What probe was built without, although the device has it, is no failure of the target.
need_built() { # TEXT
	[[ " ${1//$'\n'/ }" != *" unbuilt=1 "* ]] ||
		skip "probe was built with an rdma-core before 45, whose queue pairs cannot FLUSH or ATOMIC_WRITE"
}

# CMD must fail and say TEXT.
fails_with() { # TEXT CMD...
	local text=$1 said
	shift
	if said=$("$@" 2>&1); then
		fail "succeeded but should have failed with \"$text\": $*"
	fi
	[[ $said == *"$text"* ]] || fail "$* failed, but with \"$said\" instead of \"$text\""
}

# A line the case provokes on purpose and the kernel log may hold.
tolerate_log() { # EXTENDED-REGEX
	echo "$1" >>"$WORK/tolerate"
}

# What stands before the result of a case that passes: figures, say.
note() { # LINE...
	printf '%s\n' "$@" >>"$WORK/notes"
}

defer() { # CMD...
	local cmd
	printf -v cmd '%q ' "$@"
	DEFERRED=("$cmd" "${DEFERRED[@]}")
}

# The EXIT trap: everything is tried, the case's own status wins.  A "return" without a
# number, in a function that runs here, would be the status from before the trap.
run_deferred() {
	local rc=$? cmd
	set +eE
	for cmd in "${DEFERRED[@]}"; do
		# what a case leaves behind fails it, also where it was skipped
		eval "$cmd" || { ((rc && rc != KSFT_SKIP && rc != KSFT_XFAIL)) || rc=1; }
	done
	exit "$rc"
}

# --- the target -----------------------------------------------------------------

# Run CMD on the target's machine.
on_target() { # CMD...
	# shellcheck disable=SC2086 # a prefix of several words, or of none
	$RTGT_PEER "$@"
}

# Run one of machine.sh's functions, or any command, there; its stdin is empty and
# its stderr is in its stdout.  One shell serves all of them (machine.sh, serve).
target() { # FUNCTION [ARG...]
	local rc=0
	if [[ -z ${RTGT_PEER:-} ]]; then
		"$@"
		return "$?"
	fi
	ask_target "$@" || rc=$?
	printf '%s' "$ANSWER"
	return "$rc"
}

# Likewise of another machine, and what it says is in ANSWER.
ask_target() { # FUNCTION [ARG...]
	local token=$BASHPID.$EPOCHREALTIME cmd said
	printf -v cmd '%q ' "$@"
	printf '%s %s\n' "$token" "$cmd" >&"$TO_TARGET"
	while IFS= read -r -t $((120 * SLOW)) -d $'\1' -u "$FROM_TARGET" ANSWER; do
		IFS= read -r -u "$FROM_TARGET" said || break
		# or else the answer to somebody who was not there any more to take it
		[[ $said == "$token "* ]] || continue
		[[ $ANSWER != *": $NO_SUCH"* ]] || printf '%s\n' "$ANSWER" >>"$WORK/unknown"
		return "${said##* }"
	done
	ANSWER=
	complain "the target's machine answers no more"
}

# What a file there holds, in TEXT, without a process.
target_contents() { # FILE
	if [[ -z ${RTGT_PEER:-} ]]; then
		contents "$1"
		return
	fi
	ask_target cat_contents "$1" || return
	TEXT=$ANSWER
}

serve_target() {
	[[ -n ${RTGT_PEER:-} ]] || return 0
	mkfifo "$WORK/to" "$WORK/from"
	# shellcheck disable=SC2086 # a prefix of several words
	$RTGT_PEER "$HERE/machine.sh" serve <"$WORK/to" >"$WORK/from" &
	SERVER=$!
	exec {TO_TARGET}>"$WORK/to" {FROM_TARGET}<"$WORK/from"
}

# It ends with its input; a machine that hangs does not keep us.
leave_target() {
	[[ -n ${SERVER:-} ]] || return 0
	exec {TO_TARGET}>&- {FROM_TARGET}<&-
	wait_until 2 process_gone "$SERVER" || kill "$SERVER"
}

# The module and the devices, for the next cases, whatever becomes of this one.
bring_back() {
	target module_load || return
	# shellcheck disable=SC2153 # run.sh sets it
	if [[ $RTGT_TIER == fast ]]; then
		{ device_active "$RTGT_TARGET_DEV" && device_active "$RTGT_CLIENT_DEV"; } || "$HERE/topology.sh" up
	else
		target device_add "$RTGT_TARGET_DEV" "$RTGT_TARGET_NETDEV"
	fi
}

# A listening port under a name and a CM port nobody else uses: PORT, CM_PORT.
# Region "mem" of 4 KiB unless regions are given.  Where the device has no atomics, a region that
# grants them as well is made without, for its READs and WRITEs.
target_port() { # [ATTR=VALUE...] [region NAME [ATTR=VALUE...]]...
	PORTS_MADE=$((${PORTS_MADE:-0} + 1))
	PORT=$CASE-$PORTS_MADE
	CM_PORT=$((20000 + CASE_INDEX * 16 + PORTS_MADE))
	[[ " $* " == *" region "* ]] || set -- "$@" region mem
	has_feature atomic || set -- "${@/#access=read,write,atomic/access=read,write}"
	defer target port_del "$PORT"
	target port_add "$PORT" "addr=$RTGT_TARGET_ADDR" "port=$CM_PORT" "$@"
}

# probe against PORT, from the client's address; see probe/main.c.  Over iWARP it may send another
# message (own=, probe/send.c).  The client's siw may see the end of the stream before the reject
# (Documentation/findings/not-pursued.rst): then this connects again.  counters_are allows for both.
# In a subshell of the case nothing may follow it.
probe() { # COMMAND [KEY=VALUE...]
	local rc tries=0 text
	set -- "$HERE/probe" "$RTGT_TARGET_ADDR" "$CM_PORT" "source=$RTGT_CLIENT_ADDR" "$@"
	if ! is_iwarp; then
		# of a "$(probe ...)" the process becomes probe
		((BASH_SUBSHELL != CASE_LEVEL + 1)) || exec "$@"
		"$@"
		return
	fi
	while
		rc=0
		text=$("$@") || rc=$?
		[[ $text == *"status=-104 reason=untyped"* ]] && ((tries++ < 3))
	do
		printf . >>"$WORK/retries.$PORT"
	done
	[[ $text != *own=alive* ]] || printf . >>"$WORK/echoes.$PORT"
	[[ -z $text ]] || printf '%s\n' "$text"
	return "$rc"
}

# One operation with "rtgt ping", all of it verified.
ping_ok() { # OP BYTES ITERATIONS
	rtgt ping -o "$1" -S "$2" -C "$3" -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/ping" 2>&1 ||
		fail "rtgt ping: $(<"$WORK/ping")"
	[[ $(<"$WORK/ping") == *"$3 operations, $(($2 * $3)) bytes verified at both ends"* ]] ||
		fail "rtgt ping exits 0, but says: $(<"$WORK/ping")"
}

# user/examples/server.c on the target's machine, at CM_PORT.
example_server() { # [OPTION...]
	CM_PORT=$((20000 + CASE_INDEX * 32))
	background server on_target "$HERE/machine.sh" hold rtgt-example-server -a "$RTGT_TARGET_ADDR" "$CM_PORT" "$@"
	wait_until 10 server_listens
}

# Or a client ends the server: Documentation/findings/siw-sigpipe.rst
ignores_sigpipe() { # /PROC/PID/STATUS
	local SIGPIPE=13 ignored=${1#*SigIgn:$'\t'}
	((16#${ignored%%$'\n'*} >> (SIGPIPE - 1) & 1)) || fail "SIGPIPE would end the server"
}

server_listens() {
	on_target rdma resource show cm_id >"$WORK/cm_id"
	grep -q "state LISTEN .* src-addr $RTGT_TARGET_ADDR:$CM_PORT " "$WORK/cm_id"
}

# Asked once for all cases.
netdev() { # DEVICE
	local name file=${WORK:-}/netdev.$1
	if [[ -s $file ]]; then
		read -r name <"$file"
	else
		# kernel 6.1 has no file for siw: /sys/class/infiniband/$1/ports/1/gid_attrs/ndevs/0
		name=$(rdma link show "$1/1" | sed -n 's/.* netdev \([^ ]*\).*/\1/p') || return
		[[ ! $name || -z ${WORK:-} ]] || echo "$name" >"$file"
	fi
	echo "$name"
}

# Where peers send while their connections are closed, rxe may use a queue pair that is gone, unless its
# workers have one processor: Documentation/findings/rxe-packet-reference.rst
workers_on_one_processor() {
	local mask=/sys/devices/virtual/workqueue/cpumask
	defer attr_set $mask "$(<$mask)"
	attr_set $mask 1
}

# Disable the port, in the background: one that hangs is to fail the case only.
disables() { # PORT
	background "disable-$1" target attr_set "$CONFIGFS/ports/$1/enable" 0
	wait_until 15 process_gone "${BG_PID[disable-$1]}" || fail "enable=0 of $1 does not end"
	finish "disable-$1"
}

# tcpdump's filter for the packets of RDMA: FILTER.  Those of iWARP are TCP's; of PORT, if there
# is one.
# shellcheck disable=SC2034 # cases use it
rdma_packets() {
	FILTER="udp port 4791"
	! is_iwarp || FILTER="tcp port $CM_PORT"
}

# What netem does is done to packets of IPv4 that leave a device and match.  netem tells the
# sender nothing of a loss, as a wire does; a filter that drops would.
disturb_device() { # NETDEV U32-MATCH NETEM...
	need_command tc
	defer tc qdisc del dev "$1" root
	begin_disturbing "$@"
}

# Likewise, and who calls it ends it.
begin_disturbing() { # NETDEV U32-MATCH NETEM...
	tc -batch - <<-END || skip "the kernel has no netem, prio or u32"
		qdisc add dev $1 root handle 1: prio
		qdisc add dev $1 parent 1:3 netem ${*:3}
		filter add dev $1 parent 1: protocol ip u32 match $2 flowid 1:3
	END
}

# Those from the client: at 28 is the BTH, whose first byte is the opcode.
disturb() { # U32-MATCH NETEM...
	local dev
	dev=$(netdev "$RTGT_CLIENT_DEV")
	disturb_device "$dev" "$@"
}

lose() { # U32-MATCH
	disturb "$1" loss 100%
}

# Those for QP 1, the number at 32 in the BTH, whose MAD at 48 has this attribute: elsewhere the
# two bytes may be data.
lose_mads() { # ATTRIBUTE
	lose "u32 1 0xffffff at 32 match u16 $1 0xffff at 64"
}

# The bytes of a region, as the target sees them.
data_of() { # REGION [PORT]
	echo "$DEBUGFS/ports/${2:-$PORT}/regions/$1/data"
}

# At the target, OFFSET and LENGTH of a region are all BYTE; or have that CRC-32, and
# all around them is BYTE.
target_filled() { # REGION OFFSET LENGTH BYTE
	target look filled "$DEBUGFS/ports/$PORT/regions/$1/data" "${@:2}"
}

# Over iWARP a WRITE completes when TCP has its bytes, before they are there.
target_holds() { # REGION OFFSET LENGTH CRC BYTE
	local -a later=()
	! is_iwarp || later=(wait_until 5)
	"${later[@]}" target look holds "$DEBUGFS/ports/$PORT/regions/$1/data" "${@:2}"
}

# The port's counters must be or become these: the target counts when its
# completions arrive, which may be after the client's.
expect_counters() { # NAME=VALUE...
	# shellcheck disable=SC2034 # wait_until uses it
	local POLL=0.02
	wait_until 5 counters_are "$@" || fail "counters of $PORT: wanted $*, got ${COUNTERS//$'\n'/, }"
}

counters_are() { # NAME=VALUE...
	local want
	target_contents "$DEBUGFS/ports/$PORT/counters"
	COUNTERS=${TEXT%$'\n'}
	for want; do
		! is_iwarp || count_iwarp "${want%%=*}" "${want#*=}"
		[[ $'\n'$COUNTERS$'\n' == *$'\n'"${want/=/ }"$'\n'* ]] || return
	done
}

# Of a counter over iWARP, what it must be: in "want".  The requests for capabilities are not the
# case's messages: they have 32 bytes each, and each has a reply.  Nor is the message that probe sends
# after an operation.  For an error siw raises no event (for an unknown STag), one, or in 7.3 two.
count_iwarp() { # NAME VALUE
	local more=0
	case $1 in
	recv_msgs | replies) more=$(($(last_counter asks) + $(noted echoes))) ;;
	recv_bytes) more=$((32 * $(last_counter asks) + 16 * $(noted echoes))) ;;
	rejects_*) (($2 == 0)) || more=$(noted retries) ;;
	qp_errors | send_errors)
		more=$(($(last_counter "$1") - $2))
		(($2 && more <= $2)) || more=0
		;;
	esac
	want=$1=$(($2 + more))
}

# What counters_are read of a counter
last_counter() { # NAME
	[[ $'\n'$COUNTERS$'\n' =~ $'\n'"$1 "([0-9]+)$'\n' ]]
	echo "${BASH_REMATCH[1]}"
}

# How often probe() noted FILE for PORT: a byte each time
noted() { # FILE
	local TEXT=
	[[ ! -e $WORK/$1.$PORT ]] || contents "$WORK/$1.$PORT"
	echo "${#TEXT}"
}

counter() { # NAME
	target counters "$PORT" | awk -v name="$1" '$1 == name { print $2 }'
}

# The port has none now.  A file that cannot be read does not say so.
has_no_connections() {
	target no_connections "$PORT" || fail "connections of $PORT: $(target connections "$PORT" 2>&1)"
}

expect_no_connections() {
	wait_until 5 target no_connections "$PORT" || fail "still connected to $PORT: $(target connections "$PORT")"
}

# So many receives and no more: with one left a message finds it at once, with none it
# does not.  They are gone for ten seconds, so this comes last.  The port's withhold_max is
# its recv_depth.
srq_has() { # RECEIVES
	tolerate_log "non-flush error status"
	has "$(probe access op=send "withhold=$(($1 - 1))" rnr_retry=0)" wc=success rnrs=0
	has "$(probe access op=send withhold=1 rnr_retry=0)" wc=rnr-exceeded nak=rnr
}
