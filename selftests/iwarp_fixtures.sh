#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# iwarp_fixtures.sh: the fixtures where the devices are iWARP ones.  The subshell of each case
# sources it there (lib.sh), after fixtures.sh.
#
# A case is written for RoCE.  What it asks for, or expects, and iWARP lacks is noted here, in
# $WORK/missing: the reason, and what the case's log says if it fails for that.  A case that has
# failed, and whose log says so, is skipped with that reason (lib.sh, run_case): so this file
# decides, and not each case.  A case that passes all the same has passed, and one that fails
# otherwise has failed.

# siw of 6.1 limits the memory that root registers, too (Documentation/findings/not-pursued.rst)
ulimit -l unlimited 2>/dev/null || :

PLAIN="a plain client cannot request a capability, which the REP of iWARP lacks"

# Of these, by what each word asks for or expects.  "shows" is an extended regular expression; a
# word that was expected, and was something else, is in the log as it is here.
iwarp_lacks() { # WORD...
	local word why shows
	for word; do
		why=
		shows="wanted ([^ ]* )*${word//[^[:alnum:]_=,:-]/.}[ ,]"
		case $word in
		op=imm* | op=*-imm | imm=*)
			why="iWARP has no immediates"
			shows="wc=unposted|_WITH_IMM|no immediates|write-imm|$shows"
			;;
		op=cas | op=faa | access=*atomic*)
			why="the device has no atomics (atomic_cap)"
			shows="wc=unposted|COMPARE_AND_SWAP|FETCH_AND_ADD|no atomics|\<(cas|faa)\>"
			;;
		op=flush* | access=*flush*)
			why="the device has no FLUSH (device_cap_flags)"
			shows="wc=unposted|FLUSH|no flush"
			;;
		op=atomic-write)
			why="the device has no ATOMIC_WRITE (device_cap_flags)"
			shows="wc=unposted|ATOMIC_WRITE|no atomic-write"
			;;
		transport=uc | transport=ud)
			why="iWARP has reliable connections only"
			shows="transport[ =]u[cd]"
			;;
		plain=* | magic=*)
			why=$PLAIN
			shows="reason=ask|the capability comes with the reply to an EXTENTS request|REJECTED, error -104"
			;;
		window=*)
			why="the client's device $RTGT_CLIENT_DEV has no type 2 memory windows (max_mw)"
			shows="window=none|no type 2"
			;;
		odp=1)
			why="the device registers nothing on demand"
			shows="on demand"
			;;
		rnr_retry=* | rnrs=[1-9]* | nak=rnr)
			why="iWARP has no RNR: a SEND without a receive ends the connection"
			;;
		reads=* | holds=*) why="MPA negotiates the READs that may be under way (IRD, ORD)" ;;
		nak=none) ;;
		nak=* | naks=[1-9]* | acks=[1-9]*) why="iWARP has no acknowledgments of its own" ;;
		reason=version) why="iWARP does not pad private data" ;;
		half)
			why="the REQs are forged for the CM of RoCE"
			shows="conns_accepted"
			;;
		sync)
			why="the RDMA port is a TCP port, on which nothing else can listen"
			shows="Address already in use"
			;;
		fence=1 | --fence)
			why="siw cannot fence a READ"
			shows="wc=unposted|posting a RDMA_READ|read is not possible"
			;;
		sges=[2-9]* | sges=1?*)
			why="a READ of iWARP has one SGE (max_sge_rd)"
			shows="wanted crc="
			;;
		rights=2)
			why="siw does not look whether a region grants READs"
			shows="wanted end="
			;;
		qkey_xor=*) why="iWARP has no Q_Keys" ;;
		rtgt-example-client)
			why=$PLAIN
			shows="client: connecting: Connection refused"
			;;
		esac
		[[ -z $why ]] || lack "$why" "$shows"
	done
}

lack() { # REASON PATTERN
	printf '%s\t%s\n' "$2" "$1" >>"$WORK/missing"
}

eval "roce_$(declare -f background)"
background() { # NAME CMD...
	iwarp_lacks "$@"
	if [[ $2 == probe ]]; then
		watched "${@:3}"
		set -- "$1" probe "${WATCHED[@]}"
	fi
	# not the function: the process is to be the command itself, for kill
	[[ $2 != rtgt ]] || set -- "$1" "$(type -P rtgt)" "${@:3}"
	roce_background "$@"
}

# A port that the device cannot serve is not made: it would leave an error in the log.  A region
# is made without the access that the device lacks, if that leaves any: the case's READs and WRITEs
# can be tested without it.  The words are in PORT_WORDS.
iwarp_port() { # [ATTR=VALUE...]
	local word
	PORT_WORDS=()
	for word; do
		case $word in
		transport=u[cd])
			# in a subshell the skip is not the case's
			iwarp_lacks "$word"
			skip "iWARP has reliable connections only"
			;;
		access=*)
			word=,${word#*=}
			word=${word/,atomic/}
			word=${word/,flush/}
			[[ -n $word ]] || skip "the device has no atomics (atomic_cap)"
			word=access=${word#,}
			;;
		esac
		PORT_WORDS+=("$word")
	done
	iwarp_lacks "${PORT_WORDS[@]}"
}

# An initiator's attribute "op" names the operation that its run requests.
eval "roce_$(declare -f attr_set)"
attr_set() { # FILE VALUE
	[[ $1 != */initiators/*/op ]] || iwarp_lacks "op=$2"
	roce_attr_set "$@"
}

eval "roce_$(declare -f port_add)"
port_add() { # NAME [ATTR=VALUE...] [region NAME [ATTR=VALUE...]]...
	iwarp_port "$@"
	roce_port_add "${PORT_WORDS[@]}"
}

# The arguments of probe in WATCHED.  What the target refuses has left the client's queue by then:
# a message behind it shows whether the connection is still alive.  And a queue pair of iWARP
# cannot be taken down and up again to have another rnr_retry.
watched() { # COMMAND [KEY=VALUE...]
	local word after=
	WATCHED=("$1")
	[[ $1 != access && $1 != invalidate ]] || after=1
	for word in "${@:2}"; do
		case $word in
		op=write | op=read) ;;
		op=* | plain=* | blind=* | withhold=*) after= ;;
		rnr_retry=*) continue ;;
		esac
		WATCHED+=("$word")
	done
	[[ -z $after ]] || WATCHED+=(after=1)
}

eval "roce_$(declare -f probe)"
probe() { # COMMAND [KEY=VALUE...]
	local rc=0 text
	iwarp_lacks "$@"
	watched "$@"
	text=$(roce_probe "${WATCHED[@]}") || rc=$?
	# the client's siw may see the end of the stream before the reject: not-pursued.rst
	while [[ $text == *"status=-104 reason=untyped"* && $(grep -csx "$PORT" "$WORK/retries") -lt 3 ]]; do
		echo "$PORT" >>"$WORK/retries"
		rc=0
		text=$(roce_probe "${WATCHED[@]}") || rc=$?
	done
	[[ -z $text ]] || printf '%s\n' "$text"
	# the message that showed it
	[[ ${WATCHED[-1]} != after=1 || $text != *own=alive* ]] || echo "$PORT" >>"$WORK/echoes"
	# findings/siw-read-zero.rst: IBV_WC_GENERAL_ERR
	[[ " $*" != *" op=read "*" len=0" ]] || lack "siw fails one of several READs of zero bytes" "wanted wc=success in: wc=21 "
	return "$rc"
}

# What "rtgt" is told to do.  A server in the background is to be the process that is killed.
IWARP_SHELL=$BASHPID
rtgt() { # ARG...
	local word
	[[ ${1:-} != serve || $BASHPID == "$IWARP_SHELL" ]] || exec rtgt "$@"
	for word; do
		case $word in
		all | *write-imm* | *send-imm*) iwarp_lacks op=write-imm ;;
		*cas* | *faa*) iwarp_lacks op=cas ;;
		uc | ud) iwarp_lacks "transport=$word" ;;
		--fence) iwarp_lacks fence=1 ;;
		esac
	done
	command rtgt "$@"
}

rtgt-example-client() { # ARG...
	iwarp_lacks rtgt-example-client
	command rtgt-example-client "$@"
}

eval "roce_$(declare -f on_target)"
on_target() { # CMD...
	iwarp_lacks "$@"
	roce_on_target "$@"
}

eval "roce_$(declare -f target)"
target() { # FUNCTION [ARG...]
	case $1 in
	port_add)
		iwarp_port "$@"
		set -- "${PORT_WORDS[@]}"
		;;
	esac
	roce_target "$@"
}

# What a program that is no fixture says of a reject.
eval "roce_$(declare -f fail)"
fail() { # MESSAGE
	[[ "$*" != *"REJECTED, error -104"* && "$*" != *"with the reply to an EXTENTS request"* ]] || iwarp_lacks plain=1
	roce_fail "$@"
}

# Of what the target refused, the connection is dead and not the completion's status wrong.  The
# target's device says why with a Terminate, unless it is transmitting (siw_send_terminate()):
# refuse.sh, iwarp.sh and siw.sh want to see it, and try again.
was_refused() { # TEXT
	[[ $1 == *own=dead* || $1 == *reply=none* || $1 == *wc=loc-qp-op* ||
		$1 == *end=@(flush|loc-qp-op|unposted|disconnected)* ]]
}

ended() { # TEXT WC NAK
	if [[ $2 == success ]]; then
		[[ $1 == *wc=success* ]]
	else
		was_refused "$1"
	fi
}

# A reject's status is the errno of the connect; and the REP says that the client is to ask.
eval "roce_$(declare -f has)"
has() { # TEXT KEY=VALUE...
	local text=$1 word
	local -a words=()
	shift
	for word; do
		case $word in
		status=28) word=status=-104 ;;
		status=8) word=status=-111 ;;
		rep_len=196) word=rep_len=172 ;;
		wc=rem-* | old=rem-* | end=rem-* | wc=rnr-exceeded | nak=access | nak=inv-req | nak=op | nak=rnr) ! was_refused "$text" || continue ;;
		features=[01]) [[ $DEBUGFS == /run/* ]] || word=features=$((${word#*=} + 2)) ;;
		esac
		words+=("$word")
	done
	iwarp_lacks "${words[@]}"
	roce_has "$text" "${words[@]}"
}

eval "roce_$(declare -f ping_ok)"
ping_ok() { # OP BYTES ITERATIONS
	iwarp_lacks "op=$1"
	# findings/siw-read-zero.rst
	[[ $1 != read || $2 != 0 ]] || lack "siw fails one of several READs of zero bytes" "\\<read\\>"
	roce_ping_ok "$@"
}

value_of_counter() { # NAME
	sed -n "s/^$1 //p" <<<"$COUNTERS"
}

# The requests for capabilities are no messages of the case: 32 bytes, each answered.
counters_are() { # NAME=VALUE...
	local want name asks echoes retries
	target_contents "$DEBUGFS/ports/$PORT/counters"
	# shellcheck disable=SC2153 # contents() assigns TEXT
	COUNTERS=${TEXT%$'\n'}
	asks=$(value_of_counter asks)
	echoes=$(grep -csx "$PORT" "$WORK/echoes") || echoes=0
	retries=$(grep -csx "$PORT" "$WORK/retries") || retries=0
	for want; do
		name=${want%%=*} want=${want#*=}
		iwarp_lacks "$name=$want"
		case $name in
		recv_msgs | replies) want=$((want + asks + echoes)) ;;
		recv_bytes) want=$((want + 32 * asks + 16 * echoes)) ;;
		rejects_*) ((want == 0)) || want=$((want + retries)) ;;
		# siw raises no event where the key is none or no receive is posted, and flushes what
		# the peer refused
		qp_errors | send_errors)
			if ((want)); then
				# once two events for one READ (7.3.4)
				(($(value_of_counter "$name") <= 2 * want)) || return
				continue
			fi
			;;
		esac
		[[ $'\n'$COUNTERS$'\n' == *$'\n'"$name $want"$'\n'* ]] || return
	done
}

# A WRITE completes when TCP has its bytes: those of the target follow.
eval "roce_$(declare -f target_holds)"
target_holds() { # REGION OFFSET LENGTH CRC BYTE
	wait_until 5 roce_target_holds "$@"
}

# A software iWARP device counts nothing.
hw_mark() { :; }
expect_hw() { :; }

lose_mads() { # ATTRIBUTE
	skip "MPA sets up a connection of iWARP, without the messages of the IB CM: it has no RTU"
}
