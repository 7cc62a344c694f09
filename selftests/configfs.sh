#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# configfs.sh: every attribute, with what it takes, what it refuses, and when.
#
# A refused value must leave the old one and say which errno it is; nothing may
# change while the port listens.
#
# weight 0.3 1.0

. "${0%/*}/lib.sh"
LC_ALL=C

# A port that is not enabled, with one region: DIR, REGION.
disabled_port() {
	target_port enable=0
	DIR=$CONFIGFS/ports/$PORT
	REGION=$DIR/regions/mem
}

show() { # FILE
	local line
	read -r line <"$1" || :
	echo "$line"
}

# Of an attribute of the port or the region, whichever has it: FILE, and what it holds now, OLD.
attr() { # NAME
	FILE=$DIR/$1 OLD=
	[[ -e $FILE ]] || FILE=$REGION/$1
	{ read -r OLD <"$FILE"; } 2>/dev/null || :
}

# A store that is refused, and with which errno; without a process, as there are many.
refused() { # TEXT FILE VALUE
	! attr_set "$2" "$3" >"$WORK/said" 2>&1 || fail "${2##*/} takes \"$3\""
	contents "$WORK/said"
	[[ $TEXT == *"$1"* ]] || fail "${2##*/} refuses \"$3\", but with \"$TEXT\" instead of \"$1\""
}

# Values that are taken, as VALUE=SHOWN, then those that are refused: after
# "invalid" with EINVAL, after "range" with ERANGE.
attribute() { # NAME VALUE=SHOWN... invalid VALUE... [range VALUE...]
	local FILE OLD errno='' word
	disabled_port
	attr "$1"
	shift
	for word; do
		case $word in
		invalid) errno="Invalid argument" ;;
		range) errno="out of range" ;;
		*) "attribute_${errno:+not_}taken" ;;
		esac
	done
}

attribute_taken() {
	attr_set "$FILE" "${word%%=*}"
	read -r OLD <"$FILE"
	same "${FILE##*/} after \"${word%%=*}\"" "$OLD" "${word#*=}"
}

attribute_not_taken() {
	local now
	refused "$errno" "$FILE" "$word"
	read -r now <"$FILE"
	same "${FILE##*/} after the refused \"$word\"" "$now" "$OLD"
}

defaults() {
	local name
	CASE_DIR=$CONFIGFS/ports/$CASE
	mkdir "$CASE_DIR"
	defer port_del "$CASE"
	mkdir "$CASE_DIR/regions/r"
	while read -r name value; do
		same "$name" "$(show "$CASE_DIR/$name")" "$value"
	done <<-END
		addr 0.0.0.0
		port 7471
		service rtgt
		transport rc
		scope shared
		srq 0
		max_conns 1024
		backlog 512
		peer_conns_max 0
		conn_memory_max 0
		handshake_ms 10000
		recv_size 4096
		recv_depth 16
		withhold_max 0
		mr_max 0
		idle_ms 0
		keepalive_ms 0
		enable 0
		state disabled
		netns
		regions/r/index 0
		regions/r/size 4096
		regions/r/access read,write
		regions/r/fill zero
	END
}

busy_attributes() {
	local pair before FILE OLD
	target_port
	DIR=$CONFIGFS/ports/$PORT
	REGION=$DIR/regions/mem
	neighbour
	for pair in addr=192.0.2.99 port=1 service=sink transport=uc scope=private srq=1 max_conns=1 recv_size=64 \
		recv_depth=1 idle_ms=1 keepalive_ms=1 mr_max=4096 backlog=1 peer_conns_max=1 conn_memory_max=1M handshake_ms=1 withhold_max=1 \
		size=1 access=read fill=0x11; do
		attr "${pair%=*}"
		before=$OLD
		refused "Device or resource busy" "$FILE" "${pair#*=}"
		attr "${pair%=*}"
		same "${pair%=*} of an enabled port" "$OLD" "$before"
	done
	untouched
	attr_set "$DIR/enable" 0
	attr_set "$DIR/max_conns" 1
}

busy_directories() {
	target_port
	DIR=$CONFIGFS/ports/$PORT
	neighbour
	fails_with "Device or resource busy" mkdir "$DIR/regions/late"
	fails_with "Device or resource busy" rmdir "$DIR/regions/mem"
	fails_with "Device or resource busy" rmdir "$DIR"
	untouched
	has "$(probe connect)" result=established
}

# A directory is where the module makes one, once, and goes when it is empty.
impossible_directories() {
	target_port
	DIR=$CONFIGFS/ports/$PORT
	neighbour
	fails_with "File exists" mkdir "$DIR"
	fails_with "File exists" mkdir "$DIR/regions/mem"
	fails_with "Operation not permitted" mkdir "$CONFIGFS/late"
	fails_with "Operation not permitted" mkdir "$DIR/late"
	fails_with "Operation not permitted" mkdir "$DIR/regions/mem/late"
	fails_with "Operation not permitted" rmdir "$DIR/regions"
	fails_with "Operation not permitted" ln -s "$DIR" "$DIR/regions/late"
	untouched
	attr_set "$DIR/enable" 0
	fails_with "Directory not empty" rmdir "$DIR"
}

odd_names() {
	local name=$'%s%n a\tb"\'\\'
	port_add "$name" "addr=$RTGT_TARGET_ADDR" "port=$((CM_PORT = 20001))" region "$name"
	defer port_del "$name"
	has "$(probe connect)" result=established regions=1
	same "its first counter" "$(counters "$name" | head -n 1)" "conns_accepted 1"
	look filled "$(data_of "$name" "$name")" 0 4096 0
}

# A connection that what is refused must not touch.
neighbour() {
	background neighbour probe hold
	wait_line neighbour ready=1
}

untouched() {
	send_line neighbour echo
	wait_line neighbour alive=1
	finish neighbour
}

# What no attribute takes, alone or behind the value it has, as printf's formats: the
# shell writes what ends with a line by itself, so two lines take a process.
nonsense() {
	local name text before long FILE OLD
	printf -v long '%04000d' 0
	local -a alone=('\n' ' \n' '-' '+' ',' '0x\n' '1e3' '1.0' '\xff\xfe' '%%s%%n' "${long//0/9}" "${long//0/a}")
	disabled_port
	for name in addr port service transport scope srq max_conns recv_size recv_depth idle_ms keepalive_ms mr_max enable \
		backlog peer_conns_max conn_memory_max handshake_ms withhold_max faults revoke size access fill; do
		attr "$name"
		before=all
		[[ $name == revoke ]] || before=$OLD
		for text in "${alone[@]}" "$before"{' x','\0','\0x',';','%%'}; do
			# shellcheck disable=SC2059 # it is a format
			! { printf "$text" >"$FILE"; } 2>/dev/null || fail "$name takes \"${text:0:99}\""
		done
		! { cat <<<"$before"$'\n'"$before" >"$FILE"; } 2>/dev/null || fail "$name takes two lines"
		attr "$name"
		[[ $name == revoke ]] || same "$name afterwards" "$OLD" "$before"
	done
	# and all of it left a port that works
	attr_set "$DIR/enable" 1
	has "$(probe connect)" result=established
}

# revoke cannot be read, so that what was refused shows at a connection.
revocations() { # SCOPE
	local word
	target_port "scope=$1"
	DIR=$CONFIGFS/ports/$PORT
	neighbour
	fails_with "Permission denied" cat "$DIR/revoke"
	for word in "" none "all 1" "1 all" 1x -1 0x; do
		refused "Invalid argument" "$DIR/revoke" "$word"
	done
	for word in 0 4294967296 4294967297; do
		refused "out of range" "$DIR/revoke" "$word"
	done
	if [[ $1 == private ]]; then
		fails_with "No such file or directory" attr_set "$DIR/revoke" 2
		fails_with "No such file or directory" attr_set "$DIR/revoke" 4294967295
	else
		fails_with "Invalid argument" attr_set "$DIR/revoke" 1
	fi
	expect_counters rotations=0
	untouched
}

read_only_state() {
	disabled_port
	fails_with "Permission denied" attr_set "$DIR/state" listening
	fails_with "Permission denied" attr_set "$REGION/index" 1
	same state "$(show "$DIR/state")" disabled
}

states() {
	disabled_port
	attr_set "$DIR/enable" 1
	same "state when enabled" "$(show "$DIR/state")" listening
	same enable "$(show "$DIR/enable")" 1
	same "network namespace" "$(show "$DIR/netns")" "$(readlink /proc/self/ns/net)"
	attr_set "$DIR/enable" 1
	same "state when enabled twice" "$(show "$DIR/state")" listening
	attr_set "$DIR/enable" 0
	attr_set "$DIR/enable" 0
	same "state when disabled twice" "$(show "$DIR/state")" disabled
	same "network namespace then" "$(show "$DIR/netns")" ""
}

enable_without_region() {
	PORT=$CASE
	defer port_del "$PORT"
	mkdir "$CONFIGFS/ports/$PORT"
	attr_set "$CONFIGFS/ports/$PORT/addr" "$RTGT_TARGET_ADDR"
	tolerate_log "rtgt: $PORT: "
	fails_with "Invalid argument" attr_set "$CONFIGFS/ports/$PORT/enable" 1
	same state "$(show "$CONFIGFS/ports/$PORT/state")" disabled
	logged "rtgt: $PORT: .*region" || fail "the log does not say that a region is missing"
}

seven_regions() {
	local i
	disabled_port
	for i in 1 2 3 4 5; do
		mkdir "$DIR/regions/r$i"
	done
	fails_with "No space left on device" mkdir "$DIR/regions/r6"
	attr_set "$DIR/enable" 1
	has "$(probe connect)" result=established regions=6
}

# A region that goes makes room, and the order stays that of their creation.
region_order() {
	local text
	disabled_port
	mkdir "$DIR/regions/b" "$DIR/regions/a"
	attr_set "$DIR/regions/b/size" 8192
	attr_set "$DIR/regions/a/size" 12288
	rmdir "$REGION"
	attr_set "$DIR/enable" 1
	text=$(probe connect)
	has "$text" regions=2 len0=8192 len1=12288
}

port_in_use() {
	local first
	target_port
	first=$PORT
	tolerate_log "rtgt: .*cannot listen on .*error -98"
	defer port_del "$CASE-again"
	fails_with "Address already in use" port_add "$CASE-again" "addr=$RTGT_TARGET_ADDR" "port=$CM_PORT" region mem
	same "state of the second" "$(show "$CONFIGFS/ports/$CASE-again/state")" disabled
	has "$(probe connect)" result=established
	same "state of the first" "$(show "$CONFIGFS/ports/$first/state")" listening
}

address_not_here() {
	tolerate_log "rtgt: .*cannot listen on .*error -99"
	defer port_del "$CASE"
	fails_with "Cannot assign requested address" port_add "$CASE" addr=203.0.113.7 port=20001 region mem
	same state "$(show "$CONFIGFS/ports/$CASE/state")" disabled
}

address_without_rdma() {
	tolerate_log "rtgt: .*cannot listen on .*error -19"
	defer port_del "$CASE"
	ip link add rtgt-dummy type dummy
	defer ip link del rtgt-dummy
	ip addr add 203.0.113.7/32 dev rtgt-dummy
	ip link set rtgt-dummy up
	fails_with "No such device" port_add "$CASE" addr=203.0.113.7 port=20001 region mem
	same state "$(show "$CONFIGFS/ports/$CASE/state")" disabled
}

wildcard() { # ADDRESS
	target_port "addr=$1"
	has "$(probe connect)" result=established
	expect_counters conns_established=1
}

long_name() {
	local name=n234567890123456789012345678901
	fails_with "File name too long" mkdir "$CONFIGFS/ports/${name}2"
	defer port_del "$name"
	port_add "$name" enable=0 region "$name"
	fails_with "File name too long" mkdir "$CONFIGFS/ports/$name/regions/${name}2"
}

features() {
	local words=(op-write op-read op-write-imm op-send op-send-imm op-send-inv op-atomic
		scope-shared scope-private transport-rc transport-uc transport-ud srq
		msg-echo msg-checksum msg-pull msg-push msg-revoke msg-withhold msg-disconnect msg-extents
		service-rtgt service-rping service-rping-inv service-sink)
	# all but those of the devices and those of the faults, for which misbehave.names looks
	same "features" "$(grep -v -e : -e ^fault- "$CONFIGFS/features" | sort)" "$(printf '%s\n' "${words[@]}" | sort)"
	fails_with "Permission denied" attr_set "$CONFIGFS/features" x
}

only_root_writes() {
	local found
	disabled_port
	found=$(find "$CONFIGFS" "$DEBUGFS" -perm /0022)
	same "writable by others" "$found" ""
	found=$(find "$DEBUGFS" -type f -perm /0377)
	same "debugfs files that are more than root's to read" "$found" ""
}

# A port keeps the namespace that it listens in, but no longer than it is enabled.
netns_put() {
	disabled_port
	defer no_veth
	attr_set "$DIR/addr" 0.0.0.0
	# shellcheck disable=SC2016 # for the shell in there
	unshare --net "$BASH" -c 'ip link add rtgt-in type veth peer name rtgt-out netns "$1" && echo 1 >"$0/enable"' "$DIR" "$BASHPID"
	[[ $(show "$DIR/netns") == net:* && $(show "$DIR/netns") != "$(readlink /proc/self/ns/net)" ]] || fail "$(show "$DIR/netns")"
	[[ -e /sys/class/net/rtgt-out ]] || fail "the port does not keep its network namespace"
	attr_set "$DIR/enable" 0
	wait_until 10 veth_gone || fail "the network namespace is still there"
}

veth_gone() {
	[[ ! -e /sys/class/net/rtgt-out ]]
}

no_veth() {
	veth_gone || ip link del rtgt-out
}

tcase defaults "a new port and a new region have the documented defaults" defaults

# To register 16,384 pages one by one takes longer than a mkdir, for which all others wait.
mkdir_while_enabling() {
	disabled_port
	attr_set "$DIR/mr_max" 4096
	attr_set "$DIR/regions/mem/size" "$((65536 / SLOW))K"
	mkdir "$DIR/regions/more"
	attr_set "$DIR/regions/more/size" "$((65536 / SLOW))K"
	background enabling "$BASH" -c "echo 1 >'$DIR/enable'"
	wait_until 10 is_changing || fail "state: $(show "$DIR/state")"
	fails_with "Device or resource busy" mkdir "$DIR/regions/late"
	is_changing || fail "mkdir waited until the port was enabled"
	same "enable meanwhile" "$(show "$DIR/enable")" 1
	is_changing || fail "reading enable waited until the port was enabled"
	background store "$BASH" -c "echo 1 >'$DIR/port'"
	wait_until 5 grep -q _store "/proc/${BG_PID[store]}/stack"
	kill -KILL "${BG_PID[store]}"
	wait_until 5 process_gone "${BG_PID[store]}"
	is_changing || fail "a store that waits cannot be killed"
	finish enabling
	same "state in the end" "$(show "$DIR/state")" listening
}

is_changing() {
	[[ $(show "$DIR/state") == starting ]]
}

tcase addr --more "addr takes IPv4 and IPv6 literals and nothing else" attribute addr \
	192.0.2.1=192.0.2.1 ::=:: 2001:db8::1=2001:db8::1 0.0.0.0=0.0.0.0 \
	invalid "" host 1.2.3 1.2.3.4.5 256.1.1.1 1.2.3.4:5 "1.2.3.4 x" 1.2.3.4/24 ::g "[::1]" ::1% 2001:db8::1%lo \
	fe80::1%nosuch 0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000
tcase port "port takes 1 to 65535" attribute port 1=1 65535=65535 7471=7471 \
	invalid "" x 12x -1 1.5 "1 2" range 0 65536 4294967295 4294967297 18446744073709551617
tcase service "service takes what features lists" attribute service sink=sink rping=rping rtgt=rtgt invalid "" none RTGT rtgtx "rtgt sink" \
	rtgtrtgtrtgtrtgtrtgtrtgtrtgtrtgtrtgt
tcase transport "transport takes rc, uc and ud" attribute transport uc=uc ud=ud rc=rc invalid "" RC xrc rcx 1 "rc uc" rcrcrcrcrc
tcase scope "scope takes shared and private" attribute scope private=private shared=shared invalid "" both Shared 1 sharedprivateshared
tcase srq "srq takes 0 and 1" attribute srq 1=1 0=0 invalid "" maybe yes 1x "1 0" range 2 10
tcase max_conns "max_conns takes 1 to 65536" attribute max_conns 1=1 65536=65536 17=17 invalid "" many -1 1K range 0 65537 4294967297
tcase recv_size "recv_size takes 64 bytes to 2 MiB, with suffix" attribute recv_size 64=64 1K=1024 2M=2097152 4096=4096 \
	invalid "" big -64 64x 1KK K 1T range 0 63 2097153 1G 18446744073709551680 18014398509482048K
tcase recv_depth "recv_depth takes 1 to 4096" attribute recv_depth 1=1 4096=4096 9=9 invalid "" deep -1 range 0 4097 4294967297
tcase withhold_max "withhold_max takes 0 to 4096" attribute withhold_max 0=0 4096=4096 9=9 invalid "" half -1 \
	range 4097 4294967297
tcase idle_ms "idle_ms takes 0 to a day" attribute idle_ms 1=1 86400000=86400000 0=0 invalid "" never -1 range 86400001 4294967296
tcase keepalive_ms "keepalive_ms takes 0 to a day" attribute keepalive_ms 1=1 86400000=86400000 0=0 invalid "" never -1 \
	range 86400001 4294967296
tcase backlog "backlog takes 1 to 65536" attribute backlog 1=1 65536=65536 17=17 invalid "" many -1 1K range 0 65537 4294967297
tcase peer_conns_max "peer_conns_max takes 0 to 65536" attribute peer_conns_max 0=0 65536=65536 17=17 invalid "" many -1 1K \
	range 65537 4294967297
tcase conn_memory_max "conn_memory_max takes bytes, with suffix" attribute conn_memory_max 1=1 64M=67108864 0=0 invalid "" all -1 1Mx 1T \
	range 9223372036854775808 18014398509481985K
tcase handshake_ms "handshake_ms takes 1 to a day" attribute handshake_ms 1=1 86400000=86400000 500=500 invalid "" never -1 \
	range 0 86400001 4294967296
tcase mr_max "mr_max takes 0 and whole pages up to 1 GiB, with suffix" attribute mr_max 4096=4096 1M=1048576 1G=1073741824 12K=12288 0=0 \
	invalid "" all -1 1 4095 4097 1Mx 1T range 1073741825 1073745920 2G 18446744073709555712 18014398509481988K
tcase enable "enable takes 0 and 1" attribute enable 0=0 invalid "" maybe 0x 1x "0 1" range 2 10
tcase size "a region's size takes 1 byte to 16 GiB, with suffix" attribute size 1=1 64K=65536 3M=3145728 16G=17179869184 4097=4097 \
	invalid "" huge -1 4096x 4KB K "4 K" 1T range 0 17179869185 17G 16384G 18446744073709551617 \
	18014398509481985K 17179869185G
tcase access "a region's access takes each right and lists of them" attribute access read=read write=write atomic=atomic \
	read,write,atomic=read,write,atomic write,read=read,write invalid "" all , read,, ,read READ read+write "read, write" \
	read,write,read,write,read,write,read,write,read,write,read,write,read,write
tcase fill "a region's fill takes zero, counter and a byte" attribute fill counter=counter 0xa5=0xa5 0xff=0xff zero=zero \
	invalid "" ones 5 165 0x a5 0xgg 0x-1 0X5 "0x5 0x6" range 0x100 0xffffffff

tcase mkdir-while-enabling --more "mkdir of a region refuses at once while its port is being enabled, and enable can be read" mkdir_while_enabling
tcase read-only "state and index cannot be written" read_only_state
tcase states "state follows enable, and writing the present value of enable is no error" states
tcase busy-attributes --more "every attribute refuses with EBUSY while the port is enabled" busy_attributes
tcase busy-directories --more "while a port is enabled, its regions cannot be added or removed, nor the port removed" busy_directories
tcase directories --more "a directory can be made only where one belongs, and not twice" impossible_directories
tcase odd-names "a name may have every character that a file name may have" odd_names
tcase nonsense --more "every attribute refuses nonsense, alone or after a valid value, and keeps its value" nonsense
tcase revoke-shared --more "revoke accepts only all or a number, and no single connection of a shared port" revocations shared
tcase revoke-private --more "revoke accepts only all or the number of an existing connection" revocations private
tcase enable-without-region "a port without a region cannot be enabled, and the log says why" enable_without_region
tcase seven-regions "a port has six regions, not seven" seven_regions
tcase region-order "regions are numbered in the order of their creation" region_order
tcase port-in-use "a second listener on the same port is refused with EADDRINUSE" port_in_use
tcase address-not-here "an address no interface has is refused with EADDRNOTAVAIL" address_not_here
tcase address-without-rdma --more "an address of an interface without RDMA is refused with ENODEV" address_without_rdma
tcase wildcard "a port on 0.0.0.0 serves the device's address" wildcard 0.0.0.0
tcase long-name "names are taken up to 31 characters" long_name
tcase features "features lists what the module can, one word a line" features
tcase only-root-writes "nothing is writable, and nothing in debugfs readable, but by root" only_root_writes
tcase netns-put --more --needs cm "a port that was disabled keeps no network namespace" netns_put

tmain "$@"
