#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# regions.sh: what a region holds, who sees it, and how large it may be.
#
# The bytes are compared where they are, through debugfs at the target, and not
# by what the target or the tool say about them.
#
# weight 0.4 2.0

. "${0%/*}/lib.sh"
# shellcheck source=allocation_fixtures.sh
. "${0%/*}/allocation_fixtures.sh"

# The bytes a fill makes, by other means.
expected() { # FILL SIZE
	case $1 in
	counter)
		seq 0 $((($2 + 3) / 4 - 1)) | awk '{ printf "%08x\n", $1 }' |
			sed 's/\(..\)\(..\)\(..\)\(..\)/\4\3\2\1/' | xxd -r -p | head -c "$2"
		;;
	zero) head -c "$2" /dev/zero ;;
	*) head -c "$2" /dev/zero | tr '\0' "\\$(printf %o "$1")" ;;
	esac
}

filled() { # FILL SIZE
	target_port region mem "size=$2" "fill=$1"
	has "$(probe access op=read "len=$2" "file=$WORK/got")" wc=success
	expected "$1" "$2" >"$WORK/want"
	cmp "$WORK/want" "$WORK/got"
	same "CRC-32 at the target" "$(target look crc "$(data_of mem)")" "$(look crc "$WORK/want")"
}

# To the last byte, and the debugfs file ends there too.
odd_size() { # SIZE
	local text
	target_port region mem "size=$1" fill=0x5a
	text=$(probe access op=write "len=$1")
	has "$text" wc=success
	same "CRC-32 at the target" "$(target look crc "$(data_of mem)" 0 "$1")" "$(value_of "$text" crc)"
	fails_with "range" target look crc "$(data_of mem)" 0 $(($1 + 1))
	tolerate_log "non-flush error status"
	has "$(probe access op=read offset=1 "len=$1")" wc=rem-access
}

six() {
	local i rep
	target_port region r0 region r1 region r2 region r3 region r4 region r5
	rep=$(probe connect)
	for i in 0 1 2 3 4 5; do
		echo "this is region $i" >"$WORK/text"
		has "$(probe access op=write "region=$i" len=17 "file=$WORK/text")" wc=success
	done
	for i in 0 1 2 3 4 5; do
		same "region $i at the target" "$(target head -c 17 "$(data_of "r$i")")" "this is region $i"
		value_of "$rep" "rkey$i"
	done >"$WORK/rkeys"
	same "different rkeys" "$(sort -u "$WORK/rkeys" | wc -l)" 6
}

# What one client of a shared port writes the next one reads, and no connection
# costs a registration.
shared() {
	local first second
	target_port region mem
	echo "from the first" >"$WORK/text"
	first=$(probe connect)
	has "$(probe access op=write offset=100 len=15 "file=$WORK/text")" wc=success
	has "$(probe access op=read offset=100 len=15 "file=$WORK/back")" wc=success
	cmp "$WORK/text" "$WORK/back"
	second=$(probe connect)
	same "rkey of the second" "$(value_of "$second" rkey0)" "$(value_of "$first" rkey0)"
	has "$first" features=0
	expect_counters registrations=1 conns_accepted=4
}

# The target lists a connection, rtgt serve a little later than its client is ready: sets ID
is_listed() {
	ID=$(target connections "$PORT" | sed -n 's/^id=\([0-9]*\) .*/\1/p')
	[[ $ID ]]
}

# Each client of a private port has its own copy, with its own key, gone with it.
private() {
	local text ID
	target_port scope=private region mem fill=0x11
	background one probe hold
	wait_line one ready=1
	wait_until 10 is_listed || fail "no connection is listed"
	echo "not for the others" >"$WORK/text"
	has "$(probe access op=write len=19 "file=$WORK/text")" wc=success
	target look filled "$DEBUGFS/ports/$PORT/conns/$ID/mem/data" 0 4096 0x11
	target test ! -e "$(data_of mem)"
	text=$(probe connect)
	has "$text" features=1
	text+=$'\n'$(probe connect)
	same "different rkeys or addresses" "$(grep -o 'addr0=.* rkey0=[^ ]*' <<<"$text" | sort -u | wc -l)" 2
	finish one
	expect_no_connections
	target test ! -e "$DEBUGFS/ports/$PORT/conns/$ID"
	expect_counters registrations=4
}

# Disabled and enabled again, a port's memory is new.
refilled() {
	target_port region mem fill=0x33
	has "$(probe access op=write len=4096)" wc=success
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	target test ! -e "$(data_of mem)"
	target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	target_filled mem 0 4096 0x33
}

# One MR, or as many as the device needs: siw's have 256 pages.
large() { # SIZE
	local at text
	target_port region mem "size=$1" fill=counter
	is_iwarp || has "$(probe connect)" "len0=$1"
	for at in 0 $(((1 << 21) - 2500)) $(($1 / 2 - 2500)) $(($1 - 5000)); do
		if is_iwarp; then
			text=$(probe bulk "offset=$at" bytes=5000 len=5000)
			has "$text" same_there=1 same_here=1
		else
			text=$(probe access op=write "offset=$at" len=5000 "seed=$at")
			has "$text" wc=success
		fi
		same "CRC-32 at $at" "$(target look crc "$(data_of mem)" "$at" 5000)" "$(value_of "$text" crc)"
	done
	tolerate_log "non-flush error status"
	beyond_last 4999 5000
}

# A WRITE that begins so many bytes before the region's end and is longer is refused.
beyond_last() { # BEFORE LENGTH
	local last
	# the number of extents, and the last one: bash is slow with a long text
	EXTENTS=$(probe extents | sed -n '1p; $p')
	last=$(($(value_of "$EXTENTS" extents) - 1))
	raw rem-access "$last" "$last" $(($(value_of "$EXTENTS" "len$last") - $1)) "$2"
}

# --- regions of several extents -------------------------------------------------------

# As few as there can be.
two_extents() {
	target_port mr_max=4096 region mem size=8192
	rtgt ping -C 1 -S 64 -o write -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" >"$WORK/said"
	grep -q "region 0 of 1: 8192 bytes in 2 extents, access " "$WORK/said" || fail "$(<"$WORK/said")"
}

# A region of 4 MiB in as many extents, and what a client learns about it: EXTENTS.
MIB=1048576
extents_port() { # [ATTR=VALUE...]
	target_port "$@" mr_max=1M region mem size=4M fill=0x5a
	EXTENTS=$(probe extents)
	has "$EXTENTS" extents=4 size=$((4 * MIB)) len0=$MIB len1=$MIB len2=$MIB len3=$MIB
}

# A raw operation on an extent, wherever its key and address say.
raw() { # WC KEY-OF ADDRESS-OF OFFSET LENGTH [KEY=VALUE...]
	has "$(probe access op=write "rkey=$(value_of "$EXTENTS" "rkey$2")" "addr=$(value_of "$EXTENTS" "addr$3")" \
		"offset=$4" "len=$5" "${@:6}")" "wc=$1"
}

# The REP tells the first one and that there are more; each has a key; what is
# written across their borders is in one piece at the target.
extents() {
	local i text
	extents_port
	[[ $(target first_line "$DEBUGFS/ports/$PORT/registrations") == "region=mem dev=$RTGT_TARGET_DEV bytes="* ]] ||
		fail "registrations: $(target cat "$DEBUGFS/ports/$PORT/registrations")"
	has "$(probe connect)" len0=$MIB access0=$((1 << 31 | 3))
	for i in 0 1 2 3; do
		value_of "$EXTENTS" "rkey$i"
	done >"$WORK/rkeys"
	same "different rkeys" "$(sort -u "$WORK/rkeys" | wc -l)" 4
	text=$(probe bulk offset=1000 bytes=$((4 * MIB - 2000)) len=700000 depth=2)
	has "$text" same_there=1 same_here=1
	same "CRC-32 at the target" "$(target look crc "$(data_of mem)" 1000 $((4 * MIB - 2000)))" "$(value_of "$text" crc)"
	target_filled mem 0 1000 0x5a
	target_filled mem $((4 * MIB - 1000)) 1000 0x5a
	expect_counters registrations=4
	text=$(target first_line "$DEBUGFS/ports/$PORT/registrations")
	has "$text" region=mem "dev=$RTGT_TARGET_DEV" bytes=$((4 * MIB)) extents=4 extent_size=$MIB entries=1024 entry_size=4096
	for i in alloc dma mr reg; do
		# nothing is registered before a REP of iWARP
		[[ $i != reg ]] || ! is_iwarp || continue
		(($(value_of "$text" "${i}_ns") > 0)) || fail "no ${i}_ns in: $text"
	done
}

# Each key reaches its own extent, to the byte.
extent_borders() {
	tolerate_log "non-flush error status"
	extents_port
	raw success 0 0 $((MIB - 1)) 1
	raw success 1 1 0 $MIB
	raw rem-access 0 0 $((MIB - 1)) 2
	raw rem-access 0 0 $MIB 1
	raw rem-access 1 1 -1 1
	raw rem-access 3 3 $((MIB - 8)) 9
	raw rem-access 0 1 0 8
	raw rem-access 1 0 0 8
	raw rem-access 0 0 $((MIB - 1)) 2 op=read
	target_filled mem 0 $((MIB - 1)) 0x5a
	target_filled mem $((2 * MIB)) $((2 * MIB)) 0x5a
}

# The last extent is what is left, and a reply with room for one capability tells
# them one by one.
extent_rest() {
	target_port recv_size=64 mr_max=8K region mem size=41001
	EXTENTS=$(probe extents)
	has "$EXTENTS" extents=6 size=41001 len0=8192 len4=8192 len5=41
	has "$(probe bulk)" bytes=41001 same_there=1 same_here=1
	tolerate_log "non-flush error status"
	raw success 5 5 0 41
	raw rem-access 5 5 1 41
}

# Every operation of the tool, each of them across borders.
extents_ping() {
	extents_port
	device_ops write,write-imm
	extents_pinged "$OPS" 5
	# a READ of iWARP has one SGE (max_sge_rd)
	extents_pinged read,pull,push "$(is_iwarp && echo 1 || echo 5)"
}

extents_pinged() { # OP,OP... SGES
	local n=${1//[!,]/}
	n=$((${#n} + 1))
	rtgt ping -o "$1" -S 3M -C 1 --sge "$2" -p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" \
		"$RTGT_TARGET_ADDR" >"$WORK/ping" || fail "rtgt ping: $(<"$WORK/ping")"
	[[ $(<"$WORK/ping") == *" in 4 extents,"*"$n operations, $((3 * n * MIB)) bytes verified"* ]] || fail "$(<"$WORK/ping")"
}

# A copy for each client in extents of its own.
extents_private() {
	local ID
	extents_port scope=private
	background victim probe extents wait=1
	wait_line victim len3=
	EXTENTS=$(<"$WORK/victim.out")
	wait_until 10 is_listed || fail "no connection is listed"
	tolerate_log "non-flush error status"
	raw rem-access 1 1 0 8
	has "$(probe bulk len=$MIB)" same_there=1 same_here=1
	target look filled "$DEBUGFS/ports/$PORT/conns/$ID/mem/data" 0 $((4 * MIB)) 0x5a
	has "$(target first_line "$DEBUGFS/ports/$PORT/registrations")" region=mem "conn=$ID" extents=4
	finish victim
	expect_no_connections
	target test ! -e "$DEBUGFS/ports/$PORT/conns/$ID"
	# over iWARP what a client requests: the second one a single extent
	expect_counters "registrations=$(is_iwarp && echo 13 || echo 16)"
}

# A client invalidates the rkey of one extent: the others stay valid, and clients that connect
# later get a new rkey for this one.  The old rkey, sent again, invalidates nothing: the target
# finds an extent by its rkey.
extent_invalidated() {
	local i before text
	extents_port
	before=$EXTENTS
	has "$(probe access op=send-inv "rkey=$(value_of "$before" rkey2)")" wc=success
	expect_counters invalidations=1
	# rxe in 6.1 logs an rkey that no MR has
	tolerate_log "rxe_invalidate_mr:"
	text=$(probe access op=send-inv "rkey=$(value_of "$before" rkey2)")
	if is_iwarp && [[ $text != *reply=none* ]]; then
		# clients that connect later get a valid one even so
		EXTENTS=$(probe extents)
		raw success 2 2 0 8
		skip "siw does not compare the low byte of an STag that is invalidated"
	fi
	has "$text" wc=success reply=none
	expect_counters invalidations=1 rotations=1 qp_errors=1
	EXTENTS=$(probe extents)
	for i in 0 1 3; do
		same "rkey $i" "$(value_of "$EXTENTS" "rkey$i")" "$(value_of "$before" "rkey$i")"
	done
	raw success 2 2 0 8
	raw success 3 3 0 8
	EXTENTS=$before
	tolerate_log "non-flush error status"
	raw rem-access 2 2 0 8
}

# A client of one port invalidates the rkey of another port's region, as rxe lets it: clients
# that come to that port get a new one.
invalidated_from_elsewhere() {
	local port cm_port rkey
	target_port
	port=$PORT cm_port=$CM_PORT
	rkey=$(value_of "$(probe connect)" rkey0)
	target_port
	has "$(probe access op=send-inv "rkey=$rkey")" wc=success
	PORT=$port CM_PORT=$cm_port
	has "$(probe access op=write)" wc=success
	expect_counters invalidations=0 qp_errors=0
}

# The client of a private port asks for new keys, an administrator makes them for all.
extents_revoked() {
	local i text
	extents_port scope=private
	text=$(probe extents revoke=1)
	has "$text" new_extents=4
	for i in 0 1 2 3; do
		[[ $(value_of "$text" "rkey$i") != "$(value_of "$text" "new_rkey$i")" ]] || fail "rkey $i is the old one: $text"
		same "address $i" "$(value_of "$text" "new_addr$i")" "$(value_of "$text" "addr$i")"
	done
	expect_counters rotations=4
	extents_port
	target attr_set "$CONFIGFS/ports/$PORT/revoke" all
	expect_counters rotations=4
	tolerate_log "non-flush error status"
	raw rem-access 0 0 0 8
	raw rem-access 3 3 0 8
	EXTENTS=$(probe extents)
	raw success 3 3 0 8
}

# Requests for extents that are not there are told so, and the connection goes on.
query() { # STATUS REGION FIRST MAX [WORD...]
	has "$(probe send msg_op=9 body=16 "region=$2" "offset=$3" "count=$4")" "status=$1" alive=1 "${@:5}"
}

extents_asked() {
	extents_port
	query ok 0 0 2 extents=4 size=$((4 * MIB)) listed=2 len=56
	query ok 0 3 2 extents=4 listed=1 len=36
	query ok 0 0 0 extents=4 listed=0 len=16
	query range 0 4 1 len=0
	query range 0 0xffffffff 0xffffffff len=0
	query region 1 0 1 len=0
	query region 0xffffffff 0 1 len=0
	has "$(probe send msg_op=9 body=15)" status=length alive=1
	expect_counters malformed=5
	target_port
	query ok 0 0 2 extents=1 size=4096 listed=1
}

# MiB a region can have on the target's machine.
available() {
	local text kib
	text=$(target cat /proc/meminfo)
	read -r kib text <<<"${text#*MemAvailable:}"
	echo $((kib * 7 / 8 / 1024))
}

need_memory() { # MIB
	(($(available) > $1)) || skip "a region of $1 MiB needs more memory than is free"
}

# What PORT's region is made of; only where the memory is in pieces as large as they
# can be.
unfragmented() { # KEY=VALUE...
	local text
	text=$(target first_line "$DEBUGFS/ports/$PORT/registrations")
	(($(value_of "$text" chunk_size) == 2 * MIB)) || skip "the memory is fragmented: $text"
	has "$text" "$@"
}

# mr_max is what it says, down to a page and up to the whole region.
mr_max() { # VALUE EXTENTS ENTRIES ENTRY-SIZE
	fit_mr $((64 * MIB))
	# where the device's MRs have fewer bytes, its limit and not mr_max decides
	((MR_BYTES * $2 >= 64 * MIB)) || set -- "$1" $((64 * MIB / MR_BYTES)) 16384 4096
	target_port "mr_max=$1" region mem size=64M
	# over iWARP the first client has it registered
	has "$(probe connect)" result=established
	unfragmented "extents=$2" "entries=$3" "entry_size=$4"
}

# Enabling PORT fails with an error, and the log says why.
refused() { # ERROR LOG
	tolerate_log "rtgt: .*$2"
	tolerate_log "rtgt: .*cannot listen on"
	fails_with "$1" target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	target look since "$MARK$CASE" >"$WORK/kernel"
	grep -q "rtgt: .*$2" "$WORK/kernel" || fail "the log does not say \"$2\" but: $(<"$WORK/kernel")"
	same "state" "$(target first_line "$CONFIGFS/ports/$PORT/state")" disabled
}

too_many() {
	target_port enable=0 mr_max=4K region mem size=$((16384 * 4096 + 1))
	refused "Argument list too long" "region mem cannot be registered .67108865 bytes in MRs of 4096, 16384 at most"
}

# Told before anything is tried: nobody is killed for it.
# An eighth of the machine's memory stays free.
no_memory() {
	local mib
	mib=$(target cat /proc/meminfo |
		awk '{ kib[$1] = $2 } END { print int((kib["MemAvailable:"] - kib["MemTotal:"] / 8) / 1024) + 64 }')
	((mib <= 16384)) || skip "this machine has memory for the largest region"
	target_port enable=0 region mem "size=${mib}M"
	refused "Cannot allocate memory" "region mem: no memory for its $((mib * MIB)) bytes"
}

# --- a gibibyte -------------------------------------------------------------------------

# Registered whole in one MR, or in as many as the device needs; written and read back at its ends
# and in the middle.
gib() {
	local at extents=1 entries=512
	need_memory 1024
	fit_mr $((64 * MIB))
	((MR_BYTES == 64 * MIB)) || extents=$((1024 * MIB / MR_BYTES)) entries=262144
	target_port region mem size=1G
	for at in 0 512 1023; do
		has "$(probe bulk "offset=$((at * MIB))" bytes=$MIB len=65536)" same_there=1 same_here=1
	done
	has "$(probe connect)" len0=$((1024 * MIB / extents)) access0=$((extents > 1 ? 1 << 31 | 3 : 3))
	unfragmented "extents=$extents" extent_size=$((1024 * MIB / extents)) "entries=$entries" entry_size=$((1024 * MIB / entries))
	tolerate_log "non-flush error status"
	beyond_last 7 8
	expect_counters "registrations=$extents"
}

# An MR reaches no more than 512 chunks, and fewer where the device finds no memory to
# keep so many in: the region has several MRs, and they hold what is written.
in_small_chunks() { # MIB
	local text entry extent
	text=$(target first_line "$DEBUGFS/ports/$PORT/registrations")
	entry=$(value_of "$text" entry_size)
	extent=$(value_of "$text" extent_size)
	((entry < 65536)) || fail "the memory is in large chunks: $text"
	((extent <= 512 * entry)) || fail "an MR of more than 512 entries: $text"
	has "$text" extents=$((($1 * MIB + extent - 1) / extent)) entries=$(($1 * MIB / entry))
	# in such memory the client, too, has small buffers only
	has "$(probe bulk offset=$((($1 - 1) * MIB - 1000)) bytes=$MIB len=32768 depth=2)" same_there=1 same_here=1
}

# The memory in crumbs, for all the machine.
fragmented() {
	need_memory 1024
	background crumbs "$HERE/fragment" 64 256
	wait_until 120 grep -q ready=1 "$WORK/crumbs.out" || fail "$(<"$WORK/crumbs.err")"
	target_port region mem size=160M
	in_small_chunks 160
	finish crumbs
}

# No allocation of 16 pages or more succeeds.
small_chunks() {
	local dir=/sys/kernel/debug/fail_page_alloc text
	inject_faults
	target_port enable=0 region mem size=48M
	attr_set "$dir/min-order" 4
	defer attr_set "$dir/probability" 0
	attr_set "$dir/probability" 100
	attr_set "/proc/$BASHPID/make-it-fail" 1
	attr_set "$CONFIGFS/ports/$PORT/enable" 1
	attr_set "/proc/$BASHPID/make-it-fail" 0
	in_small_chunks 48
	# a transfer of the target's own has four ranges: these take many
	text=$(probe move op=pull len=$MIB offset=1000 seed=3)
	has "$text" status=ok guards=0 "crc=$(target look crc "$(data_of mem)" 1000 $MIB)"
	text=$(probe move op=push len=$MIB offset=$((2 * MIB + 7)))
	has "$text" status=ok guards=0 "crc=$(target look crc "$(data_of mem)" $((2 * MIB + 7)) $MIB)"
	expect_counters malformed=0 qp_errors=0 send_errors=0
}

# All of it, with bytes that are nowhere twice.
whole() { # [ATTR=VALUE...]
	local text
	need_memory 1024
	target_port "$@" region mem size=1G
	text=$(probe bulk len=$MIB timeout=120)
	has "$text" bytes=$((1024 * MIB)) same_there=1 same_here=1
	same "CRC-32 at the target" "$(target look crc "$(data_of mem)")" "$(value_of "$text" crc)"
	note "${text//$'\n'/ }" "$(target first_line "$DEBUGFS/ports/$PORT/registrations")"
}

tcase private --tier wire,fast --serve-more "each client of a private port has its own copy, which is freed when it disconnects" private
tcase extents --tier wire,fast "4 MiB in four extents are one region for a client of rtgt" extents

tcase fill-counter --more --tier fast,wire "a region is filled with little-endian words that count" filled counter 10002
tcase above-page --tier fast,wire "a region of 4097 bytes ends there" odd_size 4097
tcase shared --more --tier fast,wire "clients of a shared port see one memory, registered once" shared

tcase fill-zero "a region without a fill attribute is zero" filled zero 4096
tcase fill-byte --more "a region is filled with a byte" filled 0xa5 5000
tcase one-byte "a region of one byte is one byte" odd_size 1
tcase six --more "six regions are six memories with six keys" six
tcase refilled --more "a port that is enabled again has new memory" refilled
tcase large --more "64 MiB are reached to the last byte, and across a chunk's end" large 67108864
tcase extent-borders --more "an extent's rkey covers exactly that extent" extent_borders
tcase extent-rest --more --serve-more "the last extent ends with the region; EXTENTS reports them one by one" extent_rest
tcase extents-ping --more "operations across extents are verified at both ends" extents_ping
tcase extents-private --more "private copies have their own extents, which are freed with them" extents_private
tcase extent-invalidated --more "one extent's rkey is invalidated: it gets a new one, the others keep theirs" extent_invalidated
tcase invalidated-elsewhere --more "a region whose rkey a client of another port invalidates gets a new one" invalidated_from_elsewhere
tcase extents-revoked --more "revoked, all extents of a region have new keys and the old ones are refused" extents_revoked
tcase extents-asked --more "requests for extents are answered, or refused, as specified" extents_asked
tcase mr-max-0 "without mr_max 64 MiB are one MR, or the fewest of the device" mr_max 0 1 32 2097152
tcase mr-max-2M --more "with mr_max 2M 64 MiB are MRs of single pages" mr_max 2M 32 16384 4096
tcase mr-max-48M "mr_max of 48M leaves 16 MiB to the second" mr_max 48M 2 32 2097152
tcase too-many "a region with too many registrations is refused with E2BIG, and the log has the reason" too_many
tcase no-memory "a region larger than the memory is refused with ENOMEM, and the log has the reason" no_memory
tcase gib --limit 60 --more "1 GiB is registered in one MR, if the device has such, and reached to the last byte" gib
tcase two-extents --more "rtgt ping says that a region is in two extents" two_extents
tcase small-chunks "if only small pieces of memory are available, several MRs cover a region" small_chunks

tcase fragmented --limit 280 --long "several MRs cover a region if the machine's memory is fragmented" fragmented
tcase whole-1g --limit 280 --long "1 GiB written whole, read back whole, verified at both ends" whole
tcase whole-1g-extents --limit 280 --long "1 GiB in extents of 2 MiB written whole, read back whole, verified at both ends" whole mr_max=2M

tmain "$@"
