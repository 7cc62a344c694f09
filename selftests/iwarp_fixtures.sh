#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# iwarp_fixtures.sh: the fixtures where the devices are iWARP ones.  The subshell of each case
# sources it there (lib.sh), after fixtures.sh.
#
# A case is written for RoCE.  What it asks for, or expects, and iWARP lacks is noted here, as a
# reason in $WORK/missing: if the case fails then, it is skipped with that reason (lib.sh,
# run_case).  So this file decides, and not each case; a case that passes all the same has passed.

# Of these, by what each word asks for or expects.
iwarp_lacks() { # WORD...
	local word why=
	for word; do
		case $word in
		op=imm* | op=*-imm | imm=*) why="iWARP has no immediates" ;;
		op=cas | op=faa | access=*atomic*) why="the device has no atomics (atomic_cap)" ;;
		op=flush* | access=*flush*) why="the device has no FLUSH (device_cap_flags)" ;;
		op=atomic-write) why="the device has no ATOMIC_WRITE (device_cap_flags)" ;;
		transport=uc | transport=ud) why="iWARP has reliable connections only" ;;
		plain=* | magic=*) why="a plain client cannot request a capability, which the REP of iWARP lacks" ;;
		window=*) why="the device has no memory windows (max_mw)" ;;
		odp=1) why="the device registers nothing on demand" ;;
		rnr_retry=* | rnrs=[1-9]* | *=rnr-exceeded | nak=rnr) why="iWARP has no RNR: a SEND without a receive ends the connection" ;;
		reads=* | holds=*) why="MPA negotiates the READs that may be under way (IRD, ORD)" ;;
		nak=none) ;;
		nak=* | naks=[1-9]* | acks=[1-9]*) why="iWARP has no acknowledgments of its own" ;;
		send_errors=[1-9]* | *=rem-* | *=retry-exceeded | step=1)
			why="iWARP refuses an access with a Terminate: a WRITE completes before that, what follows is flushed" ;;
		threads=[2-9]* | threads=1[0-9]*) why="rdma-core's library for siw fails where several threads open connections" ;;
		reason=version) why="iWARP does not pad private data" ;;
		4791) why="the case records RoCE" ;;
		half) why="the REQs are forged for the CM of RoCE" ;;
		--no-len) why="iWARP refuses an access with a Terminate: a WRITE completes before that, what follows is flushed" ;;
		size=*[MG] | size=[1-9]??????* | len0=*) why="an MR of the device has 256 pages (max_fast_reg_page_list_len)" ;;
		extents=*) why="the device registers 256 pages (max_fast_reg_page_list_len)" ;;
		srq=1) why="iWARP has no RNR: a SEND without a receive ends the connection" ;;
		statistic) why="the device has no hardware counters" ;;
		listen) why="the RDMA port is a TCP port, on which nothing else can listen" ;;
		fence=1 | --fence) why="siw cannot fence a READ" ;;
		recv_msgs=* | replies=*) why="the client's request for the capability is counted, too" ;;
		rtgt-example-client) why="a plain client cannot request a capability, which the REP of iWARP lacks" ;;
		sges=[2-9]* | sges=1?*) why="a READ of iWARP has one SGE (max_sge_rd)" ;;
		qkey_xor=*) why="iWARP has no Q_Keys" ;;
		esac
		[[ -z $why ]] || echo "$why" >>"$WORK/missing"
		why=
	done
}

eval "roce_$(declare -f background)"
background() { # NAME CMD...
	iwarp_lacks "$@"
	# not the function: the process is to be the command itself, for kill
	[[ $2 != rtgt ]] || set -- "$1" "$(type -P rtgt)" "${@:3}"
	roce_background "$@"
}

# A port that the device cannot serve is not made: it would leave an error in the log.
iwarp_port() { # [ATTR=VALUE...]
	local word
	iwarp_lacks "$@"
	for word; do
		case $word in
		transport=u[cd] | access=*atomic* | access=*flush*) skip "$(first_line "$WORK/missing")" ;;
		esac
	done
}

eval "roce_$(declare -f port_add)"
port_add() { # NAME [ATTR=VALUE...] [region NAME [ATTR=VALUE...]]...
	iwarp_port "$@"
	roce_port_add "$@"
}

# A SEND that is too long has left its queue when the target refuses it.
eval "roce_$(declare -f probe)"
probe() { # COMMAND [KEY=VALUE...]
	local rc=0
	iwarp_lacks "$@"
	roce_probe "$@" || rc=$?
	((rc == 0)) || [[ "$1 $*" != send*body=* ]] ||
		echo "iWARP refuses a message with a Terminate, after the SEND has completed" >>"$WORK/missing"
	return "$rc"
}

# What "rtgt" is told to do.  A server in the background is to be the process that is killed.
IWARP_SHELL=$BASHPID
rtgt() { # ARG...
	local word
	[[ $1 != serve || $BASHPID == "$IWARP_SHELL" ]] || exec rtgt "$@"
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
	connections) iwarp_lacks recv_msgs=1 ;;
	port_add) iwarp_port "$@" ;;
	esac
	roce_target "$@"
}

# What a program that is no fixture says of a reject.
eval "roce_$(declare -f fail)"
fail() { # MESSAGE
	[[ "$*" != *"REJECTED, error -104"* && "$*" != *"with the reply to an EXTENTS request"* ]] || iwarp_lacks plain=1
	roce_fail "$@"
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
	roce_ping_ok "$@"
}

# The requests for capabilities are no messages of the case: 32 bytes, each answered.
counters_are() { # NAME=VALUE...
	local want name asks
	target_contents "$DEBUGFS/ports/$PORT/counters"
	# shellcheck disable=SC2153 # contents() assigns TEXT
	COUNTERS=${TEXT%$'\n'}
	asks=$(sed -n 's/^asks //p' <<<"$COUNTERS")
	for want; do
		name=${want%%=*} want=${want#*=}
		iwarp_lacks "$name=$want"
		case $name in
		recv_msgs | replies) want=$((want + asks)) ;;
		recv_bytes) want=$((want + 32 * asks)) ;;
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

disturb() { # U32-MATCH NETEM...
	skip "the match is for a header of RoCE"
}
