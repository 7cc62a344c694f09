#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# tools.sh: the rtgt command and the examples, as a person uses them.

. "${0%/*}/lib.sh"

# The tool's own port, made by the tool.
tool_port() {
	PORT=$CASE
	CM_PORT=$((20000 + CASE_INDEX * 32))
	defer target port_del "$PORT"
	on_target rtgt port add "$PORT" addr "$RTGT_TARGET_ADDR" port "$CM_PORT"
}

made_by_hand() {
	tool_port
	on_target rtgt region add "$PORT/data" size 64K fill counter
	on_target rtgt region add "$PORT/log" size 100 access read
	on_target rtgt port enable "$PORT"
	has "$(probe connect)" result=established regions=2 len0=65536 access0=3 len1=100 access1=1
	on_target rtgt port disable "$PORT"
	on_target rtgt region del "$PORT/log"
	on_target rtgt region set "$PORT/data" size 1M
	on_target rtgt port set "$PORT" scope private max_conns 3
	on_target rtgt port enable "$PORT"
	has "$(probe connect)" regions=1 len0=1048576 features=1
	on_target rtgt port del "$PORT"
	target test ! -e "$CONFIGFS/ports/$PORT"
}

# Each key gets a value that it does not have, and the file must have it then.
every_key() {
	local key value keys=()
	tool_port
	for key in $(target ls "$CONFIGFS/ports/$PORT"); do
		case $key in
		enable | state | netns | regions | revoke) continue ;;
		addr) value=0.0.0.0 ;;
		service) value=sink ;;
		transport) value=uc ;;
		scope) value=private ;;
		mr_max) value=4096 ;;
		faults) value="reply-drop every 2" ;;
		srq) value=1 ;;
		*)
			target_contents "$CONFIGFS/ports/$PORT/$key"
			value=$((TEXT + 1))
			;;
		esac
		target_contents "$CONFIGFS/ports/$PORT/$key"
		[[ ${TEXT%$'\n'} != "$value" ]] || fail "$key is $value already"
		on_target rtgt port set "$PORT" "$key" "$value"
		[[ $key != faults ]] || value+=" seen 0 done 0"
		target_contents "$CONFIGFS/ports/$PORT/$key"
		same "$key" "${TEXT%$'\n'}" "$value"
		keys+=("$key")
	done
	has "${keys[*]}" addr backlog conn_memory_max withhold_max faults
}

shown_as_json() {
	local json
	tool_port
	on_target rtgt region add "$PORT/data" size 64K fill 0x5a access write
	on_target rtgt port enable "$PORT"
	background holder probe hold
	wait_line holder ready=1
	on_target rtgt -j show "$PORT" >"$WORK/show"
	document "$WORK/show"
	json=$(<"$WORK/show")
	same "what JSON tells" "$(jq -r '.ports[0] | [.name, .addr, .port, .state, .scope, .regions[0].name, .regions[0].size,
		.regions[0].fill, (.connections | length), .connections[0].client, .counters.conns_established] | @csv' <<<"$json")" \
		"\"$PORT\",\"$RTGT_TARGET_ADDR\",$CM_PORT,\"listening\",\"shared\",\"data\",65536,\"0x5a\",1,\"rtgt\",1"
	on_target rtgt show "$PORT" >"$WORK/text"
	grep -q "$RTGT_TARGET_ADDR:$CM_PORT" "$WORK/text"
	on_target rtgt -j port show "$PORT" >"$WORK/json"
	same "the port in the list" "$(jq -r '.ports[0].name' "$WORK/json")" "$PORT"
	document "$WORK/json"
	on_target rtgt -j region show "$PORT" >"$WORK/json"
	same "the region in the list" "$(jq -r '.regions[0] | .port + "/" + .name' "$WORK/json")" "$PORT/data"
	document "$WORK/json"
	finish holder
}

refused_values() {
	tool_port
	fails_with "port \"70000\" is refused" on_target rtgt port set "$PORT" port 70000
	fails_with "size" on_target rtgt region add "$PORT/data" size huge
	fails_with "region" on_target rtgt port enable "$PORT"
	fails_with "nowhere" on_target rtgt port enable nowhere
	same "exit status of a wrong command line" "$(status_of on_target rtgt port frobnicate)" 2
	same "exit status of a wrong option" "$(status_of rtgt ping --frobnicate)" 2
	tolerate_log "rtgt: $PORT: no region"
}

# Each word that is wrong, and each state in which it cannot be done: status and text.  @ is the port,
# which is enabled and has the region data.
refused_config() {
	local status text command rc
	tool_port
	on_target rtgt region add "$PORT/data" size 64K
	on_target rtgt port enable "$PORT"
	while IFS='|' read -r status text command; do
		rc=0
		# shellcheck disable=SC2086 # words
		on_target rtgt ${command//@/$PORT} >"$WORK/said" 2>&1 || rc=$?
		contents "$WORK/said"
		[[ $rc == "$status" && $TEXT == *"${text//@/$PORT}"* && ${TEXT%$'\n'} != *$'\n'* ]] ||
			fail "rtgt ${command//@/$PORT} exits $rc: $TEXT"
	done <<-'END'
		2|".a" is no name for a port|port add .a
		2|"--all" is no name for a port|port add --all
		2|"a/b" is no name for a port|port set a/b srq 1
		2|a region is written PORT/NAME, not "data"|region add data
		2|"" is no name for a port|region add /data
		2|"." is no name for a region|region add @/.
		2|which port?|port set
		2|which region?|region set
		2|"frobnicate" is no attribute of a port|port set @ frobnicate 1
		2|"recv_" is no attribute of a port, or not only one|port set @ recv_ 1
		2|srq needs a value|port set @ srq
		2|set what? KEY VALUE of port @|port set @
		2|enable takes one port, "b" is too much|port enable @ b
		2|show takes one port, "b" is too much|port show @ b
		2|show takes one port, "b" is too much|region show @ b
		2|show takes one port, "b" is too much|show @ b
		2|del takes one region, "b" is too much|region del @/data b
		2|del takes one port, or --all|port del
		2|revoke takes a port and a connection, "2" is too much|port revoke @ 1 2
		1|no port nowhere: rtgt port show lists them|show nowhere
		1|no port nowhere: rtgt port show lists them|port set nowhere srq 1
		1|no region @/nothing|region set @/nothing size 1
		1|port @ exists already: rtgt port set changes it|port add @
		1|region @/data exists already: rtgt region set changes it|region add @/data
		1|no port nowhere: rtgt port add nowhere makes it|region add nowhere/data
		1|port @ is enabled: rtgt port disable @ first|port set @ srq 1
		1|port @ is enabled: rtgt port disable @ first|region set @/data size 1
		1|port @ is enabled: rtgt port disable @ first|region del @/data
		1|port @ is enabled: rtgt port disable @ first|region add @/more
		1|revoke "77": give the number of a connection of a private port, or all: rtgt show|port revoke @ 77
	END
	same "state" "$(target cat "$CONFIGFS/ports/$PORT/state")" listening
}

# Enabling fails, and the tool says what to do.
refused_enable() {
	local device
	tool_port
	tolerate_log "rtgt: "
	on_target rtgt region add "$PORT/data" size 64K
	on_target rtgt port set "$PORT" addr 203.0.113.9
	fails_with "203.0.113.9 is no address of this machine: ip addr" on_target rtgt port enable "$PORT"
	device=$PORT
	target_port
	on_target rtgt port set "$device" addr "$RTGT_TARGET_ADDR" port "$CM_PORT"
	fails_with "$RTGT_TARGET_ADDR port $CM_PORT is in use: see rdma resource show cm_id" on_target rtgt port enable "$device"
	on_target rtgt port set "$device" port 1
	on_target rtgt region set "$device/data" size 16G
	fails_with "no memory for its regions" on_target rtgt port enable "$device"
	on_target rtgt region del "$device/data"
	fails_with "port $device has no region: rtgt region add $device/NAME" on_target rtgt port enable "$device"
}

# The tables that a person reads: without what differs from run to run.
shown_as_text() {
	tool_port
	on_target rtgt region add "$PORT/data" size 64K access write
	on_target rtgt region add "$PORT/log" size 100 access read
	on_target rtgt port enable "$PORT"
	[[ $(on_target rtgt port show "$PORT" | tr -s ' ') == "NAME STATE ADDRESS"*$'\n'"$PORT listening $RTGT_TARGET_ADDR:$CM_PORT "*" 2 " ]] ||
		[[ $(on_target rtgt port show "$PORT" | tr -s ' ') == "NAME STATE ADDRESS"*$'\n'"$PORT listening $RTGT_TARGET_ADDR:$CM_PORT "*" 2" ]] ||
		fail "$(on_target rtgt port show "$PORT")"
	same "regions" "$(on_target rtgt region show "$PORT" | tr -s ' ' | cut -d ' ' -f 1-3)" \
		"REGION INDEX SIZE"$'\n'"$PORT/data 0 65536"$'\n'"$PORT/log 1 100"
	background holder probe hold
	wait_line holder ready=1
	send_line holder echo
	wait_line holder alive=1
	on_target rtgt show >"$WORK/all"
	finish holder
	# over iWARP the client requests the rkey first
	grep -q "client rtgt: $(is_iwarp && echo "2 messages, 0 immediates, 2" || echo "1 messages, 0 immediates, 1") replies$" "$WORK/all" || fail "$(<"$WORK/all")"
	grep -q "^features op-write" "$WORK/all" || fail "$(<"$WORK/all")"
	grep -q " $RTGT_TARGET_DEV:" "$WORK/all" || fail "$(<"$WORK/all")"
	grep -q "^port $PORT listening $RTGT_TARGET_ADDR:$CM_PORT, service rtgt, transport rc, scope shared$" "$WORK/all" || fail "$(<"$WORK/all")"
	grep -q "^  region 1    log: 100 bytes, access read, fill zero$" "$WORK/all" || fail "$(<"$WORK/all")"
	on_target rtgt port revoke "$PORT"
	on_target rtgt port del "$PORT"
	same "what is left" "$(on_target rtgt port show | grep -c "^$PORT ")" 0
}

status_of() { # CMD...
	local rc=0
	"$@" >/dev/null 2>&1 || rc=$?
	echo "$rc"
}

ping_poll_interrupted() {
	target_port
	target attr_set "$CONFIGFS/ports/$PORT/faults" "reply-drop after 1"
	background pinger rtgt ping --poll --timeout 100 -o send -S 8 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR"
	wait_until 10 counters_are replies=1 recv_msgs=2 || fail "$COUNTERS"
	kill -TERM "${BG_PID[pinger]}"
	wait_until 10 process_gone "${BG_PID[pinger]}" || fail "it goes on"
	same "what it says" "$(<"$WORK/pinger.err")" "rtgt: interrupted"
}

# Those it names itself, and has in its help.
helps() {
	local cmd all
	all=$(rtgt 2>&1 || :)
	has "${all//, / }" explain ping
	same "version" "$(rtgt -V | grep -Ecx 'rtgt [0-9]+\.[0-9.]+')" 1
	same "help" "$(rtgt help)" "$(rtgt --help)"
	same "help of a command" "$(rtgt help port add)$(rtgt help explain)" "$(rtgt port add --help)$(rtgt explain --help)"
	all=${all#*: *: }
	rtgt --help >"$WORK/all"
	for cmd in ${all%% (*}; do
		cmd=${cmd%,}
		grep -q "^  $cmd " "$WORK/all" || fail "rtgt --help does not know $cmd"
		rtgt "$cmd" --help >"$WORK/help"
		grep -Eq "^Usage: rtgt .*\b$cmd\b" "$WORK/help" || fail "rtgt $cmd --help: $(<"$WORK/help")"
	done
}

# rtgt without rtgt-wire beside it; the capture has no packets.
two_programs() {
	local bin
	bin=$(type -P rtgt)
	printf '\324\303\262\241\2\0\4\0\0\0\0\0\0\0\0\0\0\0\4\0\1\0\0\0' >"$WORK/pcap"
	same "packets, as JSON" "$(rtgt -j expl "$WORK/pcap" | jq -c '[.type, .packets]')" '["summary",0]'
	mkdir "$WORK/bin"
	cp "$bin" "$WORK/bin/rtgt"
	"$WORK/bin/rtgt" explain "$WORK/pcap"
	PATH=$WORK/bin fails_with "explain needs the program rtgt-wire" "$WORK/bin/rtgt" explain "$WORK/pcap"
}

# All operations, all sizes, as one JSON document.
ping_all() {
	local ops="read send write write-imm" imms=32
	! is_iwarp || ops="read send write" imms=0
	target_port recv_size=64K recv_depth=2 region mem size=64K
	rtgt -j ping -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" -S 1-32K -C 2 "$RTGT_TARGET_ADDR" >"$WORK/json"
	same "results" "$(jq -r '[.ok, (.results | length), ([.results[].op] | unique | join(" ")), (.errors | length),
		(.results | map(.iterations == 2 and .verified_bytes == 2 * .size) | all)] | join(",")' "$WORK/json")" \
		"true,$((16 * $(wc -w <<<"$ops"))),$ops,0,true"
	document "$WORK/json"
	expect_counters imms=$imms malformed=0 qp_errors=0
}

# What every kernel must do: the module goes and comes, all operations the device has
# are done and verified, it goes again.
smoke() {
	local features json word lacks='' access=read,write,atomic
	need_module_file
	defer target module_load
	target module_unload
	target test ! -e "$CONFIGFS"
	target module_load
	features=$(target cat "$CONFIGFS/features")
	has_op write-imm || lacks="write-imm send-imm "
	for word in atomic:cas atomic:faa atomic-write:atomic-write flush:flush; do
		grep -qx "$RTGT_TARGET_DEV:${word%:*}" <<<"$features" || lacks+="${word#*:} "
	done
	[[ $lacks == *flush* ]] || access+=,flush
	target_port scope=private recv_size=8K region mem size=64K "access=$access"
	rtgt -j ping -o all -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" -S 1,5000 -C 3 "$RTGT_TARGET_ADDR" >"$WORK/json"
	document "$WORK/json"
	json=$(<"$WORK/json")
	# beside what an rdma-core before 45 cannot post
	same "what the device lacks" \
		"$(jq -r '[.skipped[] | select(.reason | contains("rdma-core before 45") | not).op + " "] | join("")' <<<"$json")" "$lacks"
	same "ok, errors, at least the twelve" "$(jq -r '[.ok, (.errors | length), ([.results[].op, .skipped[].op] | unique |
		length >= 12)] | join(",")' <<<"$json")" "true,0,true"
	target port_del "$PORT"
	target module_unload
	target test ! -e "$CONFIGFS"
}

# The tool must notice what it is there to notice: a byte that another client
# changes behind its back is found by the next checksum.
ping_fails() {
	target_port region mem size=4096 access=read
	fails_with "write" rtgt ping -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" -o write "$RTGT_TARGET_ADDR"
	target port_del "$PORT"
	fails_with "nothing listens" rtgt ping -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR"
	! rtgt ping -j -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/json" 2>/dev/null || fail "ping succeeds"
	document "$WORK/json"
	fails_with "nobody.invalid" rtgt ping nobody.invalid
}

# With -j there is a document in every case, also of a command that knows of none.
failures_as_json() {
	local command rc said
	while read -r -a command; do
		rc=0
		rtgt -j "${command[@]}" >"$WORK/json" 2>"$WORK/said" </dev/null || rc=$?
		[[ $rc == [12] && -s $WORK/json ]] || fail "rtgt -j ${command[*]}: exit status $rc"
		contents "$WORK/json"
		printf %s "$TEXT" >>"$WORK/documents"
		mapfile -t said <"$WORK/said"
		echo "${said[-1]}" >>"$WORK/all-said"
	done <<-'EOT'
	show no-such-port
	port enable no-such-port
	region add no-such-port/mem
	port add a"b\c
	ping --no-such-option
	doctor a b
	lat
	timeline /nowhere
	reconcile /nowhere
	explain /nowhere/wire.pcap
	why no-status
	EOT
	document "$WORK/documents"
	same "what they say" "$(jq -r '"rtgt: \(.errors[0].text)"' "$WORK/documents")" "$(<"$WORK/all-said")"
	same "without -j" "$(rtgt port enable no-such-port 2>/dev/null)" ""
}

# Those that are interrupted before they have a document, and ping, which has one.
interrupted_as_json() {
	local command rc established=0
	mkdir "$WORK/dir"
	mkfifo "$WORK/dir/wire.pcap"
	target_port region mem size=64K
	for command in "reconcile $WORK/dir" "why $WORK/dir/wire.pcap" \
		"ping -C 1000000 -o write -S 64 -p $CM_PORT -I $RTGT_CLIENT_ADDR $RTGT_TARGET_ADDR" \
		"cost -C 100000 -p $CM_PORT -I $RTGT_CLIENT_ADDR $RTGT_TARGET_ADDR"; do
		rc=0
		# shellcheck disable=SC2086 # several words
		background ended rtgt -j $command
		if [[ $command == *"$RTGT_TARGET_ADDR" ]]; then
			established=$((established + 1))
			wait_until 20 counters_are "conns_established=$established" || fail "$COUNTERS"
		else
			wait_until 10 opens_fifo "${BG_PID[ended]}" || fail "$command: it does not open the capture"
		fi
		kill -TERM "${BG_PID[ended]}"
		finish ended || rc=$?
		same "exit status of $command" "$rc" 130
		document "$WORK/ended.out"
		same "errors of $command" "$(jq -r '.errors[0].text' "$WORK/ended.out")" interrupted
	done
	expect_no_connections
}

# It waits for somebody who opens the other end.
opens_fifo() { # PID
	grep -q "wait_for_partner\|fifo_open" "/proc/$1/stack"
}

# A host on which something is missing or too small: the message says what, and what to do.
ping_why() {
	local dev
	local -a ping
	target_port region mem size=4096
	ping=(rtgt ping -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" -C 1 -o write)
	fails_with "and port $CM_PORT by itself" rtgt ping "$RTGT_TARGET_ADDR:$CM_PORT"
	fails_with "without the brackets" rtgt ping "[2001:db8::1]"
	tolerate_log "rxe_reg_user_mr: returned err = -1"
	fails_with "ulimit -l" prlimit --memlock=0:0 setpriv --reuid 65534 --clear-groups "${ping[@]}" "$RTGT_TARGET_ADDR"
	closed_device
	! is_iwarp || return 0
	dev=$(netdev "$RTGT_CLIENT_DEV")
	defer ip link set "$dev" mtu "$(</sys/class/net/"$dev"/mtu)"
	ip link set "$dev" mtu 351
	fails_with "MTU" "${ping[@]}" "$RTGT_TARGET_ADDR"
	ip link set "$dev" mtu 352
	"${ping[@]}" "$RTGT_TARGET_ADDR" >/dev/null || fail "RoCE works with an MTU of 352"
}

# A device that only root may open
closed_device() {
	local file mode
	for file in /dev/infiniband/uverbs*; do
		mode=$(stat -c %a "$file")
		defer chmod "$mode" "$file"
		chmod 600 "$file"
	done
	fails_with "/dev/infiniband/uverbs" setpriv --reuid 65534 --clear-groups "${ping[@]}" "$RTGT_TARGET_ADDR"
}

ping_debug() {
	target_port
	rtgt ping -d -o write -S 64 -C 1 -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/text" 2>&1
	for what in "cm " "qp " "mr " "wr " "wc " "sge "; do
		grep -q "$what" "$WORK/text" || fail "-d does not send_line of \"$what\": $(<"$WORK/text")"
	done
}

example_client() {
	target_port region mem size=4096
	rtgt-example-client "$RTGT_TARGET_ADDR" "$CM_PORT" -I "$RTGT_CLIENT_ADDR" >"$WORK/text" 2>&1 ||
		fail "$(<"$WORK/text")"
	grep -q "client-wrote-this" "$WORK/text" || fail "$(<"$WORK/text")"
	same "text at the target" "$(target head -c 17 "$(data_of mem)")" "client-wrote-this"
	expect_counters conns_established=1 conns_closed=1 qp_errors=0
}

example_library() {
	target_port region mem size=4096
	rtgt-example-library "$RTGT_TARGET_ADDR" "$CM_PORT" "$RTGT_CLIENT_ADDR" >"$WORK/text" 2>&1 ||
		fail "$(<"$WORK/text")"
	grep -q "4096 bytes written and read back" "$WORK/text" || fail "$(<"$WORK/text")"
	expect_counters conns_established=1 conns_closed=1 qp_errors=0 recv_msgs=1
}

# The server's siw has not read what the client sent: Documentation/findings/siw-first-fpdu.rst.
# Neither program of this case makes it read on.
left_in_socket() {
	on_target ss -Htn "sport = :$CM_PORT" >"$WORK/socket"
	awk '$1 == "ESTAB" && $2 > 0 { unread = 1 } END { exit !unread }' "$WORK/socket"
}

examples() {
	local rc=0
	# shellcheck disable=SC2119 # the options are its own
	example_server
	ignores_sigpipe "$(on_target cat "/proc/$(on_target pidof rtgt-example-server)/status")"
	background client "$(type -P rtgt-example-client)" "$RTGT_TARGET_ADDR" "$CM_PORT" -I "$RTGT_CLIENT_ADDR"
	if ! wait_until 10 process_gone "${BG_PID[client]}"; then
		! is_iwarp || ! left_in_socket || xfail siw-first-fpdu "siw left the client's first message in the socket"
		fail "the client does not end: $(cat "$WORK/client.out" "$WORK/client.err")"
	fi
	finish client || rc=$?
	same "the client's exit status" "$rc" 0
	cat "$WORK/client.out" "$WORK/client.err" >"$WORK/text"
	grep -q "client-wrote-this" "$WORK/text" || fail "$(<"$WORK/text")"
	wait_line server "client-wrote-this"
	finish server || :
}

tcase json --tier wire,fast "rtgt -j show prints ports, regions, connections and counters" shown_as_json
tcase ping-all --tier wire,fast --more --serve-more "rtgt ping does every operation and size, each byte verified" ping_all
tcase example-client --needs plain --tier wire,fast "the example client works against the kernel target" example_client
tcase example-library --tier wire,fast "the smallest program with librtgt works against the kernel target" example_library

tcase made-by-hand --tier fast,wire "rtgt port and rtgt region make, change and remove a target" made_by_hand
tcase examples --tier fast,wire "the example client works against the example server" examples

tcase smoke "the module is loaded, does all operations of the device, is unloaded" smoke
tcase every-key --more "rtgt port set takes every attribute that configfs has" every_key
tcase refused-config --more "rtgt says which word of a port or a region is wrong, and what it cannot do now" refused_config
tcase refused-enable "rtgt says why a port cannot be enabled" refused_enable
tcase shown-as-text "rtgt shows ports, regions and features as tables" shown_as_text
tcase refused "rtgt says what was wrong, and exits 1 or 2" refused_values
tcase ping-fails "rtgt ping fails, and says why, where it cannot work" ping_fails
tcase failures-as-json "with -j a command that fails prints a document with the error" failures_as_json
tcase interrupted-as-json "with -j a command that is interrupted prints a document, and exits with 130" interrupted_as_json
tcase ping-poll-interrupted --more "rtgt ping --poll ends with a signal while the target does not answer" ping_poll_interrupted
tcase ping-why "rtgt ping says what a host lacks: permissions, locked memory, MTU, a port" ping_why
tcase ping-debug "rtgt ping -d prints QP, MR, SGE, WR and WC" ping_debug
tcase two-programs "rtgt finds rtgt-wire beside it or in PATH, passes all on, or says what is missing" two_programs
tcase help --more "every command has --help" helps

tmain "$@"
