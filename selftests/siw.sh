#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# siw.sh: what siw does wrong whoever uses it (Documentation/findings/siw-*.rst).
#
# A case is an expected failure (XFAIL) where siw has the defect, and passes where it has not, for example with the
# finding's patch; but "listener" fails there and may crash the kernel, and "closed" tests what
# librtgt does about SIGPIPE.
#
# weight 0.9 2.1

. "${0%/*}/lib.sh"
# shellcheck source=siw_fixtures.sh
. "${0%/*}/siw_fixtures.sh"

# siw before any fix: Documentation/findings/siw-read-access.rst
read_not_granted() {
	local text
	target_port region mem size=4096 access=write
	text=$(probe access op=read len=64)
	[[ $text != *wc=success* ]] || xfail siw-read-access "siw does not check whether a region grants READs"
	expect_no_connections
}

# siw before any fix: Documentation/findings/siw-terminate-bits.rst
terminate() {
	local text
	target_port region mem size=4096
	record
	# siw sends none while it transmits
	for _ in {1..5}; do
		text=$(probe access op=read rkey_xor=1 len=64)
		[[ $text == *term=none* ]] || break
	done
	recorded Terminate
	text=$(rtgt explain --verbose "$WORK/wire.pcap")
	[[ $text == *"the server refuses what came to packet "*": invalid STag"* ]] || fail "$text"
	expect_no_connections
	[[ $text != *"in siw's order of layer and type"* ]] || xfail siw-terminate-bits "siw swaps the layer and the type of the error"
}

# A READ has one SGE (max_sge_rd): Documentation/findings/siw-read-sges.rst
read_sges() {
	local text
	target_port region mem size=4096 fill=counter
	text=$(probe chain op=read len=1000 sges=2)
	[[ $text == *wc=success* ]] || return 0
	[[ $text == *"crc=$(target look crc "$(data_of mem)" 0 1000)"* ]] || xfail siw-read-sges "siw reads into the first SGE only and reports success"
}

# What is sent with the header, 32 bytes at most, comes from two pages: Documentation/findings/siw-short-page.rst
short_reads() {
	local text len first wrong=''
	target_port region mem size=8192 fill=counter
	for len in 2 3 8 31 32 33; do
		for first in 1 $((len / 2)) $((len - 1)); do
			text=$(probe access op=read offset=$((4096 - first)) "len=$len")
			has "$text" wc=success
			[[ $text == *"crc=$(target look crc "$(data_of mem)" $((4096 - first)) "$len")"* ]] || wrong+=" $len/$first"
		done
	done
	note "READs with wrong bytes, length and how many of them on the first page:${wrong:- none}"
	[[ ! $wrong ]] || xfail siw-short-page "siw answers a short READ with bytes of the wrong place"
}

# Documentation/findings/siw-post-after-error.rst
posted_late() {
	local text
	target_port region mem
	text=$(probe late timeout=2)
	expect_no_connections
	[[ $text != *@(send|recv)=none* ]] ||
		xfail siw-post-after-error "siw does not flush what a program posts to a queue pair in error: ${text//$'\n'/ }"
	has "$text" send=flush recv=flush
}

# Documentation/findings/siw-mmap-offset.rst.  Each client has a completion queue, a send queue and a
# receive queue, of at least a page.
many_queues() {
	target_port region mem
	background many probe hold count=64 timeout=20
	wait_until "$PATIENCE" grep -q ready= "$WORK/many.out" || fail "$(cat "$WORK"/many.{out,err})"
	! grep -q "no queue pair: \|no completion queue of " "$WORK/many.err" ||
		xfail siw-mmap-offset "siw gives a queue the offset that stands for none"
	has "$(<"$WORK/many.out")" ready=64
	send_line many echo
	wait_line many alive=64
	finish many
	expect_no_connections
}

# Twenty connections to a peer that closes TCP during a WRITE; what the client prints is in TEXT.
closed() { # [handler=1]
	TEXT=$("$HERE/probe" "$RTGT_TARGET_ADDR" 20001 "source=$RTGT_CLIENT_ADDR" closed count=20 len=16384 "$@") ||
		fail "the client ends with status $?"
	has "$TEXT" failed=20
}

# Documentation/findings/siw-sigpipe.rst.  The peer must run when siw locks the socket for the next
# FPDU: a kernel that is preempted anywhere else as well (7.3) does not show the defect.
sigpipe() {
	local file=/sys/kernel/debug/sched/preempt before
	grep -qs voluntary $file || skip "the kernel has no voluntary preemption (CONFIG_PREEMPT_DYNAMIC)"
	before=$(sed 's/.*(\(.*\)).*/\1/' $file)
	defer attr_set $file "$before"
	attr_set $file voluntary
	closed handler=1
	[[ $TEXT == *signals=0* ]] || xfail siw-sigpipe "siw raises SIGPIPE in a program that posts to a closed connection"
}

# Objects of all kmalloc caches.
kmalloced() {
	awk '/^kmalloc-/ { n += $2 } END { print n }' /proc/slabinfo
}

# No TCP connection of CM_PORT waits for siw to accept it, or is left.
accepted() {
	ss -Htln "sport = :$CM_PORT" | awk '{ waiting += $2 } END { exit waiting }'
}

no_tcp() {
	! ss -Htn state established state close-wait "sport = :$CM_PORT" | grep -q .
}

# TCP remembers the ports of connections that this shell closes, for a minute: rdma_cm must not
# choose one of them for a later client.
ports_apart() {
	local file=/proc/sys/net/ipv4/ip_local_port_range
	defer sysctl -qw "net.ipv4.ip_local_port_range=$(tr '\t' ' ' <$file)"
	sysctl -qw net.ipv4.ip_local_port_range="10000 19999"
}

# N TCP connections that siw accepts, and that are closed without an MPA Request.
connect_tcp() { # N
	local i fd
	local -a fds=()
	for ((i = 0; i < $1; i++)); do
		exec {fd}<>"/dev/tcp/$RTGT_TARGET_ADDR/$CM_PORT"
		fds+=("$fd")
	done
	wait_until 10 accepted || fail "connections are not accepted: $(ss -Htln)"
	for fd in "${fds[@]}"; do
		exec {fd}>&-
	done
	wait_until 20 no_tcp || fail "connections are left: $(ss -Htn "sport = :$CM_PORT")"
}

# Documentation/findings/siw-mpa-leak.rst.  siw allocates an endpoint and four work items for each.
mpa_leak() {
	local i before
	[[ ! -e /sys/kernel/debug/kmemleak ]] || skip "kmemleak would report what siw leaks"
	target_port
	ports_apart
	connect_tcp 1
	before=$(kmalloced)
	for i in {1..5}; do
		connect_tcp 100
	done
	(($(kmalloced) - before < 1000)) || xfail siw-mpa-leak "siw leaks the endpoint of a TCP connection without an MPA Request"
}

# Documentation/findings/siw-mpa-flags.rst.  A Request of revision 1 with the reserved flags; the target
# rejects it, as it asks for nothing.
mpa_flags() {
	local fd reply
	target_port
	exec {fd}<>"/dev/tcp/$RTGT_TARGET_ADDR/$CM_PORT"
	printf 'MPA ID Req Frame\x07\x01\0\0' >&"$fd"
	reply=$(timeout "$PATIENCE" head -c 20 <&"$fd" | od -An -v -tx1 | tr -d ' \n')
	exec {fd}>&-
	[[ $reply == "$(printf 'MPA ID Rep Frame' | od -An -v -tx1 | tr -d ' \n')"* && ${#reply} == 40 ]] || fail "no MPA Reply: $reply"
	note "flags and revision of the Reply: ${reply:32:2} ${reply:34:2}"
	expect_counters rejects_ask=1
	((!(0x${reply:32:2} & 7))) || xfail siw-mpa-flags "siw sends the reserved flags of an MPA Request back in its Reply"
}

# Documentation/findings/siw-listener.rst: with the defect, the kernel may crash.
listener() {
	local i fd
	target_port
	ports_apart
	for ((i = 0; i < 1000; i++)); do
		exec {fd}<>"/dev/tcp/$RTGT_TARGET_ADDR/$CM_PORT" || fail "connection $i: siw does not listen any more"
		exec {fd}>&-
	done
	has "$(probe connect)" result=established
}

tcase read-not-granted "a READ of a region that grants WRITEs only is refused" on_siw read_not_granted
tcase terminate "a Terminate has layer and type of the error where RFC 5040 has them" on_siw terminate
tcase short-reads --more "a short READ across pages brings the bytes of both" on_siw short_reads
tcase read-sges --more "a READ into two SGEs brings all bytes, or is refused" on_siw read_sges
tcase late --more "a SEND and a receive that are posted to a queue pair in error are flushed" on_siw posted_late
tcase queues --more "a program has 64 connections, with queues of more than 144 pages" on_siw many_queues
tcase closed --more "a client whose peer closes TCP during a WRITE gets an error, and no signal ends it" on_siw closed
tcase sigpipe --more "siw raises no SIGPIPE when the peer closes TCP during a WRITE" on_siw sigpipe
tcase mpa-leak --more "TCP connections that are closed without an MPA Request leave nothing behind" on_siw mpa_leak
tcase mpa-flags --more "the reserved flags of an MPA Request are not in the Reply" on_siw mpa_flags
tcase listener --long "a TCP connection that is closed before siw accepts it does not end the listener" on_siw listener

main_on_siw "$@"
