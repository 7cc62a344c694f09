#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# regions.sh: what a region holds, who sees it, and how large it may be.
#
# The bytes are compared where they are, through debugfs at the target, and not
# by what the target or the tool say about them.

. "${0%/*}/lib.sh"

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

# Each client of a private port has its own copy, with its own key, gone with it.
private() {
	local text id
	target_port scope=private region mem fill=0x11
	background one probe hold
	said one ready=1
	id=$(target connections "$PORT" | sed 's/^id=\([0-9]*\) .*/\1/')
	echo "not for the others" >"$WORK/text"
	has "$(probe access op=write len=19 "file=$WORK/text")" wc=success
	target look filled "$DEBUGFS/ports/$PORT/conns/$id/mem/data" 0 4096 0x11
	target test ! -e "$(data_of mem)"
	text=$(probe connect)
	has "$text" features=1
	text+=$'\n'$(probe connect)
	same "different rkeys or addresses" "$(grep -o 'addr0=.* rkey0=[^ ]*' <<<"$text" | sort -u | wc -l)" 2
	finish one
	expect_no_connections
	target test ! -e "$DEBUGFS/ports/$PORT/conns/$id"
	expect_counters registrations=4
}

# The key of a live private connection is no use to another one.
private_key() {
	local id
	target_port scope=private region mem fill=0x11
	background victim probe hold show=1
	said victim ready=1
	id=$(target connections "$PORT" | sed 's/^id=\([0-9]*\) .*/\1/')
	tolerate_log "non-flush error status"
	has "$(probe access op=write len=8 "addr=$(value_of "$(<"$WORK/victim.out")" addr0)" \
		"rkey=$(value_of "$(<"$WORK/victim.out")" rkey0)")" wc=rem-access
	target look filled "$DEBUGFS/ports/$PORT/conns/$id/mem/data" 0 4096 0x11
	tell victim echo
	said victim alive=1
	finish victim
}

# Disabled and enabled again, a port's memory is new.
refilled() {
	target_port region mem fill=0x33
	has "$(probe access op=write len=4096)" wc=success
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	target test ! -e "$(data_of mem)"
	target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	target look filled "$(data_of mem)" 0 4096 0x33
}

large() { # SIZE
	local at text
	target_port region mem "size=$1" fill=counter
	for at in $(($1 - 5000)) $(((1 << 21) - 2500)); do
		text=$(probe access op=write "offset=$at" len=5000 "seed=$at")
		has "$text" wc=success
		same "CRC-32 at $at" "$(target look crc "$(data_of mem)" "$at" 5000)" "$(value_of "$text" crc)"
	done
	tolerate_log "non-flush error status"
	has "$(probe access op=write "offset=$(($1 - 4999))" len=5000)" wc=rem-access
}

tcase fill-counter "a region is filled with little-endian words that count" filled counter 10002
tcase above-page "a region of 4097 bytes ends there" odd_size 4097
tcase shared "clients of a shared port see one memory, registered once" shared
tcase private "clients of a private port have a copy each, gone with them" private
tcase private-key "a private connection's key is refused to any other" private_key

tier fast
tcase fill-zero "a region is zero where nothing else is said" filled zero 4096
tcase fill-byte "a region is filled with a byte" filled 0xa5 5000
tcase one-byte "a region of one byte is one byte" odd_size 1
tcase below-page "a region of 4095 bytes ends there" odd_size 4095
tcase six "six regions are six memories with six keys" six
tcase refilled "a port that is enabled again has new memory" refilled
tcase large "64 MiB are reached to the last byte, and across a chunk's end" large 67108864

tmain "$@"
