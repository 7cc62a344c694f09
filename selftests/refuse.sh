#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# refuse.sh: what a capability does not grant is refused by the target's device.
#
# The table "refusals" says of each operation and condition how the client's work
# request ends, which NAK is on the wire and what the target counts.  Beside that,
# in every case: the memory keeps its bytes, the connection goes, and a neighbour
# on the same port does not notice.
#
# weight 0.4 0.6

. "${0%/*}/lib.sh"

# The first region's; what lies behind its last byte is still its last page.
MEM_SIZE=8000

# condition -> what it is called, and what probe does for it
declare -A SAYS=(
	[rkey]="with a key that is none"
	[rkey-low]="with a key wrong in its low byte only"
	[rkey-of]="with the key of another region"
	[stale]="with a key that was rotated away"
	[other]="to another connection's private memory"
	[before]="of the first byte before the region"
	[beyond]="of the first byte beyond the region"
	[long]="of many packets, the last byte beyond the region"
	[wrap]="whose end wraps around the address space"
	[access]="to a region with every right but that one"
	[only]="to a region with that right only"
	[misaligned]="at an address that is no multiple of 8"
	[depth]="although no responder resources were agreed on"
	[zero]="of no bytes"
	[short]="one byte longer than the receive"
	[rnr]="when no receive is posted"
)
declare -A DOES=(
	[rkey]="rkey_xor=0x5000"
	[rkey-low]="rkey_xor=1"
	[rkey-of]="key_of=1"
	[stale]="revoke=1"
	[other]="other=1"
	[before]="offset=-1"
	[beyond]="offset=$((MEM_SIZE - 63))"
	[long]="offset=1 len=$MEM_SIZE"
	[wrap]="addr=-32"
	[access]="region=1"
	[only]="region=1"
	[misaligned]="offset=4"
	[depth]="reads=0"
	[zero]="len=0 cut=0 rkey_xor=0x5000"
	[short]="body=241"
	[rnr]="withhold=2 rnr_retry=1"
)

# Those that are eight bytes long go by eights
declare -A DOES_8=([beyond]="offset=$MEM_SIZE")

# Over iWARP: what the Terminate says, a word of probe's tap, where the specifications have one
# (RFC 5040, 4.8; RFC 5041, 7.2) and siw says that.
declare -A TERM=(
	[rkey]=stag [rkey-low]=stag [stale]=stag [other]=pd
	# the key's region has neither the address nor the right
	[rkey-of]="@(bounds|stag)"
	[before]=bounds [beyond]=bounds [long]=bounds
	# DDP, which checks a WRITE, has no word for rights
	[access]=stag
	[rnr]=no-receive
	[send-inv-rkey]=no-inv [send-inv-stale]=no-inv [send-inv-other]=no-inv
	# siw says something else, or nothing: Documentation/findings/not-pursued.rst
	[write-wrap]="@(wrap|ddp)" [read-wrap]="@(wrap|none)" [short]="@(too-long|no-receive)"
)

# Of the table's cases those that run in the wire tier as well: one for each NAK
# and each kind of operation
WIRE=" write-rkey read-rkey imm-rkey cas-rkey write-beyond read-beyond write-access read-access
faa-misaligned read-depth write-zero send-short send-rnr "

# And against "rtgt serve"
SERVED=" write-stale read-access faa-misaligned read-depth send-rnr "

# The right an operation takes, if it is not its own
declare -A RIGHT_OF=([imm]=write [atomic-write]=write [cas]=atomic [faa]=atomic)

# What it needs of the devices
declare -A NEED_OF=([imm]=imm [send-imm]=imm [cas]=atomic [faa]=atomic [flush]=flush
	[atomic-write]=atomic-write)

# Two regions: one with all rights, one with what the condition leaves.
guarded_port() { # OP CONDITION
	local right=${RIGHT_OF[$1]:-$1} r all=read,write left=read
	SCOPE=shared
	for r in atomic flush; do
		! has_feature $r || all+=,$r
	done
	case $2 in
	stale | other) SCOPE=private ;;
	only) left=$right ;;
	access)
		left=,$all
		left=${left/,$right/}
		left=${left#,}
		;;
	esac
	target_port "scope=$SCOPE" recv_depth=2 recv_size=256 \
		region mem size=$MEM_SIZE fill=0x77 "access=$all" \
		region left size=4096 fill=0x77 "access=$left"
	# rxe tells that it completed a queue pair's request with an error, and 6.1's
	# that there was nothing to invalidate
	tolerate_log "non-flush error status"
	[[ $1 != send-inv ]] || tolerate_log "rxe_invalidate_mr:"
}

# Is that what probe printed? WANTED is what it should have been, COUNTED the counters.
is_row() { # TEXT WC NAK [neighbour=STATE] COUNTER=VALUE...
	local neighbour=alive text=$1 wc=$2 nak=$3
	shift 3
	if [[ $1 == neighbour=* ]]; then
		neighbour=${1#*=}
		shift
	fi
	COUNTED=("$@")
	WANTED="wc=$wc nak=$nak neighbour=$neighbour"
	ended "$text" "$wc" "$nak" && [[ " ${text//$'\n'/ } " == *" neighbour=$neighbour "* ]]
}

row() { # OP CONDITION WC NAK COUNTER=VALUE...
	local op=$1 condition=$2 does=${DOES[$2]} text defect=
	shift 2
	if [[ $op == @(cas|faa|atomic-write) ]]; then
		does="len=8 ${DOES_8[$condition]:-$does}"
	fi
	guarded_port "$op" "$condition"
	[[ $op != *imm ]] || does+=" imm=1"
	# shellcheck disable=SC2086 # several words
	text=$(probe access neighbour=1 "op=$op" $does)
	need_built "$text"
	[[ ! ${DEFECTS["$op $condition"]:-} ]] || is_row "$text" "$@" || defect=1
	if [[ $defect ]]; then
		defect=${DEFECTS["$op $condition"]%% *}
		# shellcheck disable=SC2086 # several words
		set -- ${DEFECTS["$op $condition"]#* }
	fi
	is_row "$text" "$@" || fail "wanted $WANTED in: $text"
	if is_iwarp && ! terminated "$op" "$condition" "$text" "$2"; then
		# siw sends no Terminate while it transmits
		[[ $text == *term=none* && ! ${again:-} ]] || fail "wanted term=$TERMINATE in: $text"
		again=1 row "$op" "$condition" "$@"
		return
	fi
	expect_counters conns_accepted=2 conns_closed=2 "${COUNTED[@]}"
	expect_no_connections
	if [[ $SCOPE != private ]]; then
		[[ $WANTED == *neighbour=changed ]] || target_filled mem 0 $MEM_SIZE 0x77
		[[ $condition == only ]] || target_filled left 0 4096 0x77
	fi
	[[ ! $defect ]] || xfail "$defect" "device $RTGT_TARGET_DEV has the defect that the table describes: $WANTED"
}

# The target's device says why it ends the connection, and says nothing where it does not.
terminated() { # OP CONDITION TEXT NAK
	local want=${TERM[$1-$2]:-${TERM[$2]:-}} text=" ${3//$'\n'/ } "
	[[ $4 != none || $1-$2 == send-inv-* ]] || want=none
	TERMINATE=$want
	[[ $text == *\ term=$want\ * ]]
}

# A key from before the port was disabled is dead.
stale_key() {
	local before
	target_port region mem fill=0x77
	before=$(probe connect)
	target attr_set "$CONFIGFS/ports/$PORT/enable" 0
	target attr_set "$CONFIGFS/ports/$PORT/enable" 1
	tolerate_log "non-flush error status"
	has "$(probe access op=write "addr=$(value_of "$before" addr0)" "rkey=$(value_of "$before" rkey0)")" \
		wc=rem-access nak=access
	target_filled mem 0 4096 0x77
}

# The last byte there is belongs to it.
last_byte() { # OP
	target_port region mem size=$MEM_SIZE fill=0x77
	has "$(probe access op="$1" offset=$((MEM_SIZE - 1)) len=1)" wc=success nak=none
	expect_counters qp_errors=0
}

# One case a line of the table; a line for kernels like this one wins, and the list is the same on all
# of them.  The device checks key, place and right of all operations in one way, so the table has each
# with WRITE and READ, those of atomics with CAS, and with others what they check by themselves; a SEND
# with an immediate or an rkey takes a receive as any SEND does.  What WRITE and READ show of where a
# region begins, CAS of alignment, WRITE of keys that are nearly right is a second look with others.
declare -A ROWS DEFECTS
order=()
[[ ${1:-} == --list ]] || kernel=${RTGT_KERNEL:-$(kernel_has)}
while read -r a b c rest; do
	case $a in
	'#'* | '') ;;
	defect) DEFECTS["$b $c"]=$rest ;;
	on)
		[[ ! ${kernel:-} || "$kernel " == *" ${b#no-} "* ]] || ROWS["$c ${rest%% *}"]=${rest#* }
		;;
	*)
		order+=("$a $b")
		: "${ROWS["$a $b"]:=$c $rest}"
		;;
	esac
done <"$HERE/refusals"
for key in "${order[@]}"; do
	read -r op condition <<<"$key"
	read -r -a expected <<<"${ROWS[$key]}"
	options=()
	[[ " ${WIRE//$'\n'/ } " != *" $op-$condition "* ]] || options+=(--tier "wire,fast")
	[[ $SERVED != *" $op-$condition "* ]] || options+=(--serve-more)
	need=${NEED_OF[$op]:-}
	[[ $condition != depth ]] || need+=${need:+,}read-depth
	[[ ! $need ]] || options+=(--needs "$need")
	case $op-$condition in
	*-before | *-wrap | *-other | write-rkey-low | read-long | read-zero | cas-misaligned | imm-access) options+=(--more) ;;
	send-inv-rkey | send-inv-stale | write-rkey-of | write-stale | flush-rkey | atomic-write-rkey) options+=(--more) ;;
	read-stale | read-only | atomic-write-access | flush-access | flush-beyond) options+=(--more) ;;
	write-*) ;;
	read-rkey-*) options+=(--more) ;;
	read-*) ;;
	faa-* | atomic-write-misaligned | atomic-write-depth | flush-depth) options+=(--more) ;;
	imm-only | cas-only | atomic-write-only | flush-only | imm-zero | flush-zero | send-imm-*) options+=(--more) ;;
	esac
	tcase "$op-$condition" "${options[@]}" "${op^^} ${SAYS[$condition]}: ${expected[0]}, NAK ${expected[1]}" \
		row "$op" "$condition" "${expected[@]}"
done

tcase write-last "a WRITE of the last byte is granted" last_byte write
tcase read-last "a READ of the last byte is granted" last_byte read
tcase write-disabled "a WRITE with a key from before the port was disabled is refused" stale_key

tmain "$@"
