#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# lies.sh: a target that misbehaves, and what each initiator says about it.
#
# A cell is a fault of the target, an initiator, and one of its operations.  The target commits
# the fault at every opportunity and counts that.  The initiator must end by itself, with exit
# status 1, one line that names what was wrong, and no word of verified bytes; or, where the fault
# is one that an initiator can survive, with exit status 0 and the right numbers of bytes.
#
# Two more rows read what others tell.  "reconcile" records a run of rtgt ping: rtgt reconcile must
# name a difference, or find none if the fault changes no number.  "timeline" records one, too: the
# events must be those that the initiator has logged, and a reply is one only if it was sent as one.
#
# The matrix makes itself: the target lists its faults and the event at which each can be committed
# ("rtgt serve --faults"), the tools list their operations, and EVENTS below says which events an
# operation has.  A fault without a line in EXPECT must be caught by every operation that has its
# event.  A cell whose fault was not committed fails, too, unless EXPECT says that the operation
# gives the fault no opportunity.
#
# scripts/lies-table makes a table of the output.
#
# weight 0.8 1.9

. "${0%/*}/lib.sh"
. "$HERE/capture_fixtures.sh"

# --- what there is ---------------------------------------------------------------------

# What must happen, the first line that matches.  FAULT INITIATOR.OPERATION OUTCOME WORDS: globs;
# the outcome; an extended regular expression for the line on stderr.  Outcomes:
#	caught	exit status 1 and the words
#	late	caught when a time limit of the initiator has passed
#	stands	exit status 0: the bytes and the figures are right all the same
#	either	caught or stands, as the race between the two ends has it
#	never	the operation gives the fault no opportunity
#	apart	the cell is not run, for the reason given
EXPECT='
# rtgt reconcile names the numbers that differ, and otherwise what the run of ping failed with
reply-drop	reconcile.*		late	requests, and replies
reply-twice	reconcile.*		caught	target: replies
move-twice	reconcile.*		caught	pull, bytes
recv-none	reconcile.*		late	posted SEND
rtu-ignore	reconcile.*		late	target: recv_msgs
# a PULL that the target cannot begin has no reply to count: the wire has none
qp-sqd		reconcile.*		late	target: replies|wire: requests, and replies
disconnect	reconcile.*		caught	requests, and replies
# the smallest client sends one request, and says "the reply is not to this request"
reply-twice	messages.*		stands
reply-bit	messages.*		caught	other bytes
reply-stale	messages.*		never
reply-@(tag|op|len|short|status)	messages.*	caught	not to this request
region-bit	messages.*		caught	other bytes
rep-@(rkey|addr|ask)	messages.*	caught	WRITE
rep-short	messages.*		stands
recv-none	messages.*		late	no reply
dreq-ignore	messages.*		apart
disconnect	messages.*		late	no reply
qp-err		messages.*		late	no reply
reply-drop	*			late	no reply|no completion
reply-delay	*			stands
# the second reply comes to the next request, and these have none on their connection
reply-twice	klat.write		stands
reply-twice	klat.read		stands
reply-twice	k*			caught	tag
reply-twice	library.*		stands
reply-twice	*lat.cas		stands
reply-twice	*lat.faa		stands
reply-twice	*bw*.write		stands
reply-twice	*bw*.read		stands
reply-twice	*bw*.write+read	stands
reply-twice	*			caught	tag|answered op
# if no other reply follows, the target sends it after a second
reply-swap	*			stands
reply-tag	*			caught	tag
reply-op	k*			caught	is to a request
reply-op	*			caught	answered op|body of the reply to op
reply-len	*			caught	not a reply|malformed
# a PUSH has one reply, without a body
reply-short	ping.push		never
reply-short	*			caught	body of the reply|echo [0-9 ]*has|answers for|malformed
# it does not fit into the memory for it; what fits may be from a later version
reply-long	library.*		stands
reply-long	messages.*		caught	receive
# the target disconnects then, which the initiator in the kernel may see first
reply-long	k*			caught	local (length|QP operation) error|closed the connection
reply-long	*			caught	local (length|QP operation) error
reply-status	*			caught	refused|has the status failed
reply-bit	ping.push		never
# the bit is in the length that the reply to an immediate has
reply-bit	*.write-imm		caught	answers for|completion tells|is to [0-9]* bytes
reply-bit	*.send*			caught	echo
reply-bit	cost.*			caught	echo
reply-bit	*			caught	checksum|different|not ours|last atomic|not what the target had
reply-stale	ping.push		never
reply-stale	library.*		never
# one CHECKSUM; of an atomic one before the first and one after the last
reply-stale	klat.write		never
reply-stale	klat.read		never
reply-stale	k*			caught	.
reply-stale	*lat.cas		never
reply-stale	*lat.faa		never
reply-stale	*bw*.write		never
reply-stale	*bw*.read		never
reply-stale	*bw*.write+read	never
reply-stale	*			caught	checksum|echo|different|answers for|completion tells|covers|last atomic
region-bit	*			caught	checksum|different|read back|not ours|last atomic
move-twice	*			stands
move-*		ping.push		caught	what was read
move-*		*			caught	checksum|read back
cap-rkey	*			caught	remote access|invalid|is the old one
cap-addr	*			caught	remote access|invalid
cap-len		*			caught	capability|make no sense
# the initiator in the kernel may see first that the target disconnects; the tool tells it the lengths
rep-@(rkey|addr) k*.@(write|read|write-imm|cas|faa|write+read) caught remote access|closed the connection
rep-len		k*			stands
# and so may bw see that its other requests are flushed
rep-@(rkey|addr) *bw*.@(write|read|write+read) caught remote access|closed the connection|Flushed
# an address and an rkey that are not used do no harm
rep-rkey	*.send*			stands
rep-rkey	cost.*			stands
rep-rkey	*			caught	remote access
rep-addr	*.send*			stands
rep-addr	cost.*			stands
rep-addr	*			caught	remote access
# nor does memory that is not used: only ping and the second of several connections use the end of
# a region.  The target disconnects from a client that it refuses, which bw may see first.
rep-len		*bw*.write+read	caught	remote access|closed the connection|Flushed
rep-len		ping.send*		stands
rep-len		@(ping|reconcile|timeline).*		caught	remote access|range is not
rep-len		*			stands
# a client that does not speak rtgt cannot ask
rep-ask		client.*		caught	remote access
rep-ask		*			stands
rep-version	client.*		stands
rep-version	*			caught	version
rep-short	client.*		stands
rep-short	*			caught	REP|private data|too short|capability|bytes
rep-delay	*			stands
# without a time limit of its own it waits for the connection manager to give up: a minute and more
rep-never	client.*		apart
rep-never	*			late	.
rej-*		*			caught	refuse|reject|connecting
recv-none	ping.read		stands
recv-none	cost.connect		stands
recv-none	client.*		stands
recv-none	*			late	no completion|no reply
rtu-ignore	ping.read		stands
rtu-ignore	cost.connect		stands
rtu-ignore	client.*		stands
rtu-ignore	*			late	no reply|no completion
# nor has it one when it disconnects
dreq-ignore	client.*		apart
dreq-ignore	*			stands
disconnect	*			caught	disconnect|closed|ended|flush
qp-err		*			caught	disconnect|closed|ended|flush|retry|remote
qp-sqd		*			late	no reply|no completion
'

# What is different over iWARP: FAULT TARGET:INITIATOR.OPERATION OUTCOME WORDS.  The REP of the kernel's
# target has no capability: the first message of each connection requests it.  A SEND that finds no
# receive ends the connection, and so does an access that is refused; QPs have no SQD.  What the
# initiator does next then fails: ENDED.
ENDED='no completion|no reply|closed|[Ff]lush|QP operation|posting|receive:|WRITE:|SEND:'
EXPECT_IWARP="
reply-twice	kernel:*		caught	tag|answered|is longer|$ENDED
# the second reply ends the connection, which the initiator may not need any more
reply-twice	serve:@(library.run|messages.run|bw*.@(write|read|write+read)) either $ENDED
reply-twice	serve:*			caught	tag|answered|is longer|$ENDED
reply-short	kernel:ping.push	caught	body of the reply|extents
# its first request is an echo without a body, here
reply-long	serve:library.*		caught	echo
reply-bit	kernel:k*		caught	extents|differ
reply-bit	kernel:*		caught	extents
reply-stale	kernel:ping.push	never
reply-stale	kernel:*		caught	.
cap-@(rkey|addr) *			caught	$ENDED
rep-@(rkey|addr|ask) kernel:*		never
rep-@(rkey|addr) serve:@(*.send*|cost.*) stands
rep-@(rkey|addr) serve:*		caught	$ENDED
rep-ask		serve:@(client|messages).* caught	$ENDED
rep-len		kernel:*		stands
rep-len		serve:ping.send*	stands
rep-len		serve:@(ping.*|*bw*.write+read) caught	range is not|$ENDED
recv-none	serve:@(ping.read|cost.connect|client.run) stands
recv-none	*			caught	$ENDED
rtu-ignore	kernel:*		late	no reply|no completion
@(disconnect|qp-err) serve:*		caught	$ENDED
qp-sqd		*			caught	$ENDED
"

# What a timeline must have, or with "!" may not have: FAULT GLOBS, and an extended regular expression.
SHOWN='
reply-drop|reply-tag|reply-op|recv-none|rtu-ignore|disconnect|qp-*	!	the reply
rej-*		.	<-- (REJ|MPA reply)
rep-never	!	<-- REP
dreq-ignore	!	<-- DREP
'

# The events of an operation, the first line that matches: INITIATOR.OPERATION EVENT...
EVENTS='
*.extents	capability
extents.*	capability
ping.send-inv	capability
ping.read	rep request connection
ping.send*	rep request connection message reply
ping.push	rep request connection message reply move
*.pull		rep request connection message reply checksum move
*.send		rep request connection message reply
cost.connect	rep request connection
cost.held	rep request connection message reply
client.*	rep request connection
*		rep request connection message reply checksum
'

# Their lines: from the text itself the shell would read each byte by itself, for each cell.
mapfile -t EXPECT_LINES <<<"$EXPECT"
mapfile -t IWARP_LINES <<<"$EXPECT_IWARP"
mapfile -t EVENT_LINES <<<"$EVENTS"

# "ms" of faults that delay: longer than the initiator takes to compare
MS=150

# Operations of an initiator as the tool itself lists them: OPS.  Asked once for all cases.
ops_of() { # INITIATOR
	local said
	case $1 in
	ping | lat | bw)
		if [[ ! -s $WORK/ops.$1 ]]; then
			said=$(rtgt "$1" -o nothing 192.0.2.1 2>&1) || :
			said=${said##*one or more of }
			said=${said// or / }
			said=${said// all/}
			echo "${said//,/}" >"$WORK/ops.$1"
		fi
		read -r OPS <"$WORK/ops.$1"
		;;
	klat) ops_of lat ;;
	kbw | bw1) ops_of bw ;;
	cost) OPS="connect held" ;;
	extents) OPS="write" ;;
	reconcile | timeline) OPS="write pull extents" ;;
	*) OPS="run" ;;
	esac
}

events_of() { # INITIATOR.OPERATION
	local line
	for line in "${EVENT_LINES[@]}"; do
		# shellcheck disable=SC2053 # a glob is what it is
		[[ $1 == ${line%%[[:blank:]]*} ]] || continue
		read -r _ EVENTS_HERE <<<"$line"
		return
	done
}

# OUTCOME and WORDS of a cell.
expect_of() { # FAULT INITIATOR.OPERATION
	! is_iwarp || ! expected "$1" "$TARGET:$2" "${IWARP_LINES[@]}" || return 0
	! expected "$1" "$2" "${EXPECT_LINES[@]}" || return 0
	OUTCOME=caught WORDS=.
}

expected() { # FAULT CELL LINE...
	local line fault cell
	for line in "${@:3}"; do
		# shellcheck disable=SC2053 # globs are what they are
		[[ $1 == ${line%%[[:blank:]]*} ]] || continue
		read -r fault cell OUTCOME WORDS <<<"$line"
		# shellcheck disable=SC2053
		[[ $2 != $cell ]] || return 0
	done
	return 1
}

# EVENT of a fault, and RULE, a line for the target.
declare -A FAULT_EVENT FAULT_MS
faults_of_target() {
	local name event ms
	[[ -s $WORK/faults ]] || rtgt serve --faults >"$WORK/faults"
	while read -r name event ms _; do
		FAULT_EVENT[$name]=$event
		FAULT_MS[$name]=$ms
	done <"$WORK/faults"
	((${#FAULT_EVENT[@]} > 30)) || fail "rtgt serve --faults lists ${#FAULT_EVENT[@]} faults"
}

# --- a cell ----------------------------------------------------------------------------

# Enough operations that a second reply is awaited, and little else; moves so many bytes: BYTES.
command_of() { # INITIATOR OPERATION
	local at=(-p "$CM_PORT" -I "$RTGT_CLIENT_ADDR" --timeout "$LIMIT" "$RTGT_TARGET_ADDR") from=() depth=4
	[[ $1 != bw1 ]] || depth=1
	[[ $1 != k* ]] || from=(--from kernel)
	BYTES=0
	case $1 in
	ping | extents | reconcile | timeline)
		COMMAND=(rtgt ping -o "${2/extents/write}" -S 24 -C 2 "${at[@]}")
		BYTES=$((2 * 24))
		[[ $2 != @(cas|faa|atomic-write) ]] || BYTES=$((2 * 8))
		[[ $1 != reconcile ]] || COMMAND=(reconciled "${COMMAND[@]}")
		[[ $1 != timeline ]] || COMMAND=(rtgt timeline record -n 99 -i "$(netdev "$RTGT_CLIENT_DEV")" "$WORK/tl" -- "${COMMAND[@]}")
		;;
	lat | klat)
		COMMAND=(rtgt lat "${from[@]}" -o "$2" -S "24,40" -C 3 -W 0 "${at[@]}")
		BYTES=$((3 * (24 + 40)))
		[[ $2 != @(cas|faa) ]] || BYTES=$((3 * 8))
		;;
	bw | bw1 | kbw)
		COMMAND=(rtgt bw "${from[@]}" -o "$2" -S "24,40" -C 6 -W 0 -t "$depth" "${at[@]}")
		BYTES=$((6 * (24 + 40)))
		[[ $2 != write+read ]] || BYTES=$((2 * BYTES))
		;;
	cost) COMMAND=(rtgt cost --what "$2" --held 1 -C 2 "${at[@]}") ;;
	library) COMMAND=(rtgt-example-library "$RTGT_TARGET_ADDR" "$CM_PORT" "$RTGT_CLIENT_ADDR") ;;
	messages) COMMAND=(rtgt-example-messages "$RTGT_TARGET_ADDR" "$CM_PORT" "$RTGT_CLIENT_ADDR" "$LIMIT") ;;
	client) COMMAND=(rtgt-example-client -I "$RTGT_CLIENT_ADDR" "$RTGT_TARGET_ADDR" "$CM_PORT") ;;
	esac
}

# How often the target has committed a fault so far: DONE_NOW.
committed() { # FAULT MORE-THAN
	target_contents "$FAULTS_FILE"
	[[ $'\n'$TEXT =~ $'\n'"$1 "[^$'\n']*" done "([0-9]+) ]] || return
	DONE_NOW=${BASH_REMATCH[1]}
	((DONE_NOW > $2))
}

# All bytes that were moved were compared, or it is said that they were not.
accounted() {
	local sum=0 n
	while read -r n; do
		((sum += n))
	done < <(sed -n 's/^\(.* operations, \)\{0,1\}\([0-9]*\) bytes \(verified\|not compared\).*/\2/p' "$WORK/said")
	((sum == BYTES)) || complain "$sum bytes verified or not compared, $BYTES were moved: $(<"$WORK/said")"
}

# What rtgt reconcile makes of a run of rtgt ping.
reconciled() { # rtgt ping OPTION...
	record
	tell_all before
	rtgt -j "${@:2}" >"$WORK/ping.json" 2>"$WORK/ping.err" || :
	# the counters of a run that ended well are read at its end
	[[ $OUTCOME != stands ]] || wait_until 3 capture_has_ended 1 || :
	tell_all after
	end_record
	rtgt reconcile "$WORK" 2>"$WORK/missing_files"
}

# The differences that it names are those of the fault.
reconcile_right() { # EXIT-STATUS
	local wrong
	wrong=$(grep "^NOT " "$WORK/said")
	if [[ $OUTCOME == stands ]]; then
		[[ $1 == 0 && -z $wrong ]] || complain "differences: $wrong"
		return
	fi
	[[ $1 == 1 ]] || complain "all agrees: $(<"$WORK/said")" || return
	grep -Eq -- "$WORDS" <<<"$wrong" || complain "does not name what was wrong ($WORDS): $wrong"
}

# The initiator's completions that are in the trace, each once: what succeeded, and what failed on
# the wire.
logged_completions() {
	awk '
		$0 ~ /: rtgt w[rc] id / { for (i = 1; $i != "id"; i++); id = $(i + 1); op = $(i + 2) }
		/: rtgt wr id / && op !~ /^(RECV|BIND_MW|LOCAL_INV)/ { sent[id] = 1 }
		/: rtgt wc id / && op != "-" { good += op ~ /^RECV/ || id in sent }
		/: rtgt wc id / && op == "-" { bad += id in sent && !/Flushed/ }
		END { print good + 0, bad + 0 }' "$WORK/tl/trace.txt"
}

# The timeline has what the initiator saw, each effect after its cause, and not what never was.
timeline_right() { # FAULT
	local globs sign regex
	same "completions that succeeded, and failed" "$(jq -r '[.operations[].events[] |
		select(.stage == "completion" or .stage == "reply-completion")] |
		[.[].what | if startswith("completion of") and contains(": ") then contains("Flushed") else "good" end] |
		"\(map(select(. == "good")) | length) \(map(select(. == false)) | length)"' "$WORK/tl/timeline.json")" "$(logged_completions)"
	same "lost, and stages that take less than nothing" "$(jq -c '[.lost_events, .lost_packets,
		([.operations[].stages[] | select(.us < 0)] | length)]' "$WORK/tl/timeline.json")" "[0,0,0]"
	while read -r globs sign regex; do
		[[ -n $globs && $1 == @($globs) ]] || continue
		if grep -Eq -- "$regex" "$WORK/said"; then
			[[ $sign != ! ]] || fail "the timeline has \"$regex\": $(<"$WORK/said")"
		else
			[[ $sign == ! ]] || fail "the timeline has no \"$regex\": $(<"$WORK/said")"
		fi
	done <<<"$SHOWN"
}

# Run one; the verdict is the return value, and what was wrong is on stderr.
cell() { # FAULT INITIATOR OPERATION
	local rc=0 before=$DONE_NOW line lines words=()
	LIMIT=$((10 * SLOW))
	[[ $OUTCOME != late ]] || LIMIT=$SLOW
	command_of "$2" "$3"
	"${COMMAND[@]}" >"$WORK/said" 2>"$WORK/complaint" || rc=$?
	[[ $rc == [01] ]] || complain "exit status $rc: $(<"$WORK/complaint")" || return
	[[ $OUTCOME != either || $rc == 0 ]] || OUTCOME=caught
	[[ $OUTCOME != either ]] || OUTCOME=stands
	if [[ $OUTCOME == never ]]; then
		! committed "$1" "$before" || complain "the fault was committed, so it has an opportunity: correct EXPECT"
		return
	fi
	wait_until 2 committed "$1" "$before" || complain "the fault was not committed: $TEXT; $(<"$WORK/complaint")" || return
	case $2 in
	reconcile)
		reconcile_right "$rc"
		return
		;;
	# what ends a case is to fail the cell only
	timeline) (timeline_right "$1") || return ;;
	esac
	if [[ $OUTCOME == stands ]]; then
		((rc == 0)) || complain "fails: $(<"$WORK/complaint")" || return
		[[ $2 != @(ping|extents|lat|bw|bw1|timeline) ]] || accounted
		return
	fi
	((rc == 1)) || complain "succeeds: $(<"$WORK/said")" || return
	mapfile -t lines <"$WORK/complaint"
	for line in "${lines[@]}"; do
		[[ $line == progress* ]] || words+=("$line")
	done
	((${#words[@]} == 1)) || complain "${#words[@]} lines: ${lines[*]}" || return
	[[ ${lines[*]} =~ $WORDS ]] || complain "does not name what was wrong ($WORDS): ${lines[*]}" || return
	contents "$WORK/said"
	[[ $TEXT != *"bytes verified"* ]] || complain "fails, and claims to have verified: $TEXT"
}

# --- rows ------------------------------------------------------------------------------

# A target that commits the fault at every opportunity: PORT, FAULTS_FILE, RULE.
fault_port() { # FAULT [ATTR=VALUE...]
	RULE="$1 every 1"
	[[ ${FAULT_MS[$1]} == - ]] || RULE+=" ms $MS"
	# shellcheck disable=SC2034 # port_add uses it
	SERVE=(--fault "$RULE")
	[[ ${2:-} != scope=private ]] || SERVE+=(--windows)
	FAULTS_FILE=$CONFIGFS/ports
	[[ $TARGET == kernel ]] || FAULTS_FILE=$DEBUGFS/ports
	local access=read,write
	is_iwarp || access+=,atomic
	# a region that allows FLUSH has no memory windows
	[[ ${2:-} == scope=private ]] || ! has_feature flush || access+=,flush
	local -a attrs=("${@:2}")
	# over iWARP, a client that gives up connecting still waits until the target does
	[[ $1 != rep-never || $TARGET != kernel ]] || ! is_iwarp || attrs+=("handshake_ms=$((2000 * SLOW))")
	target_port "${attrs[@]}" region mem size=16K "access=$access"
	FAULTS_FILE+=/$PORT/faults
	[[ $TARGET != kernel ]] || target attr_set "$FAULTS_FILE" "$RULE"
	DONE_NOW=0
}

# With "--from kernel" the tool connects before the kernel's initiator does, and over iWARP requests a
# capability.  The fault is for the initiator.
spare_tool() { # FAULT
	[[ ${FAULT_EVENT[$1]} == @(rep|request|connection) ]] || is_iwarp || return 0
	target attr_set "$FAULTS_FILE" "$RULE after 1"
	DONE_NOW=0
}

# The cells of a fault and these initiators; with "some" only the next operation of each, in turn.
# There is one at least: RUN.  LACKING has the operations that device or target have not.
row() { # FAULT some|all INITIATOR...
	local fault=$1 which=$2 who op line='' bad=0 turn sum=0 events
	shift 2
	RUN=0 LACKING=
	[[ -n ${FAULT_EVENT[$fault]:-} ]] || fail "the target has no fault $fault"
	for ((turn = 0; turn < ${#fault}; turn++)); do
		printf -v op %d "'${fault:turn:1}"
		((sum += op))
	done
	turn=$sum
	for who; do
		ops_of "$who"
		local -a mine=()
		for op in $OPS; do
			events_of "$who.$op"
			events=" $EVENTS_HERE "
			[[ $events == *" ${FAULT_EVENT[$fault]} "* ]] || continue
			if can "$who" "$op"; then
				mine+=("$op")
			else
				LACKING+=" $who.$op"
			fi
		done
		((${#mine[@]})) || continue
		[[ $which == all ]] || mine=("${mine[turn % ${#mine[@]}]}")
		line=
		for op in "${mine[@]}"; do
			expect_of "$fault" "$who.$op"
			if [[ $OUTCOME == apart ]]; then
				line+=" $op=apart"
				continue
			fi
			RUN=$((RUN + 1))
			serve_for "$fault" "$who" "$op"
			[[ $who != k* ]] || spare_tool "$fault"
			if cell "$fault" "$who" "$op" 2>"$WORK/wrong"; then
				line+=" $op=$OUTCOME"
			else
				line+=" $op=FAILED"
				echo "$fault, ${COMMAND[*]}: $(<"$WORK/wrong")"
				bad=1
			fi
		done
		note "lies $TARGET $fault $who$line"
		# and if the case fails, in its log
		echo "lies $TARGET $fault $who$line"
	done
	if ((!RUN)); then
		echo "$fault: no cell was run: no operation of $* has an event \"${FAULT_EVENT[$fault]}\"${LACKING:+, but$LACKING}"
		return 1
	fi
	return "$bad"
}

# Do the device and the target have it?  Over iWARP, the REP of the kernel's target has no capability,
# which these clients need; what reconcile and timeline read, only the kernel's target tells.
can() { # INITIATOR OPERATION
	[[ $1 != @(client|messages) || $TARGET == serve ]] || ! is_iwarp || return
	[[ $1 != @(reconcile|timeline) || $TARGET == kernel ]] || return
	[[ $1 == @(extents|cost|library|client) ]] || case $2 in
	cas | faa | write-imm | send-imm | send-inv) ! is_iwarp ;;
	atomic-write | flush) has_feature "$2" ;;
	esac
}

# One target for all cells of a row, unless an operation needs another kind of it.
serve_for() { # FAULT INITIATOR OPERATION
	local kind=shared
	[[ $3 != send-inv ]] || kind=private
	[[ $2 != extents && $3 != extents ]] || kind=extents
	[[ $kind != "${SERVING:-}" ]] || return 0
	SERVING=$kind
	case $kind in
	shared) fault_port "$1" ;;
	private) fault_port "$1" scope=private ;;
	extents) fault_port "$1" mr_max=4K ;;
	esac
}

# bw1 is rtgt bw with one message at a time
USERS=(ping extents lat bw bw1 cost library client messages reconcile timeline)

# What rxe logs of refused accesses, and of SQD for a QP that is in error already (qp-sqd).
tolerate_refusals() {
	tolerate_log "non-flush error status|rxe_modify_qp: returned err = -22$"
}

# The target is rtgt serve.
serving() {
	TARGET=serve
	tolerate_refusals
	# shellcheck source=serve_fixtures.sh
	. "$HERE/serve_fixtures.sh"
	faults_of_target
}

lie() { # serve|kernel FAULT some|all INITIATOR...
	if [[ $1 == serve ]]; then
		serving
	else
		TARGET=kernel
		tolerate_refusals
		faults_of_target
	fi
	row "${@:2}" && return
	((RUN)) || [[ ! $LACKING ]] || skip "device or target have none of:$LACKING"
	fail "see above"
}

# Every fault of an event, with one initiator each, in turn.
lie_about() { # EVENT
	local fault nr=0 bad=0
	local -a who=(ping lat bw)
	serving
	[[ $1 != move ]] || who=(ping)
	[[ $1 != capability ]] || who=(extents)
	for fault in $FAULTS; do
		[[ ${FAULT_EVENT[$fault]:-} == "$1" ]] || continue
		SERVING=
		row "$fault" some "${who[nr++ % ${#who[@]}]}" || bad=1
	done
	((nr && !bad)) || fail "see above"
}

# Every fault that the target has and no case is about.
others() {
	local fault known=" $* " bad=0
	serving
	for fault in "${!FAULT_EVENT[@]}"; do
		SERVING=
		[[ $known == *" $fault "* ]] || row "$fault" all "${USERS[@]}" || bad=1
	done
	((bad == 0)) || fail "see above"
}

# --- the opposite ----------------------------------------------------------------------

# Random parameters against a target that is honest: nothing may fail.  RTGT_SEED is the seed of
# the parameters.
honest() { # INITIATOR RUNS
	local runs=$2 seed=${RTGT_SEED:-$((RANDOM * 32768 + RANDOM))} i op args least=1
	local access=read,write TARGET=kernel
	is_iwarp || access+=,atomic
	! has_feature flush || access+=,flush
	# short READs across pages: Documentation/findings/siw-short-page.rst
	! is_iwarp || least=33
	target_port recv_size=64K region mem size=256K "access=$access"
	RANDOM=$seed
	LIMIT=$((10 * SLOW))
	ops_of "$1"
	for ((i = 0; i < runs; i++)); do
		local -a all=()
		for op in $OPS; do
			[[ $op == send-inv ]] || ! can "$1" "$op" || all+=("$op")
		done
		op=${all[RANDOM % ${#all[@]}]}
		args=(-S "$((least + RANDOM % (RANDOM % 2 ? 200 : 30000)))" -C "$((1 + RANDOM % 30))" --seed "$RANDOM")
		case $1 in
		ping)
			# max_sge_rd of siw is 1
			((RANDOM % 2)) || { is_iwarp && [[ $op == @(read|push|pull) ]]; } || args+=(--sge "$((1 + RANDOM % 4))")
			((RANDOM % 2)) || args+=(--unsignaled "$((1 + RANDOM % 8))")
			;;
		bw) args+=(-t "$((1 + RANDOM % 16))" -q "$((1 + RANDOM % 3))" -W "$((RANDOM % 20))") ;;
		lat) args+=(-W "$((RANDOM % 20))") ;;
		esac
		((RANDOM % 4)) || args+=(--poll)
		command_of "$1" "$op"
		case $1 in
		cost) COMMAND=(rtgt cost --what "mr,$op" "${args[@]:0:4}" --held "$((1 + RANDOM % 3)),$((4 + RANDOM % 3))" "${COMMAND[@]: -7}") ;;
		ping | lat | bw) COMMAND=(rtgt "$1" -o "$op" "${args[@]}" "${COMMAND[@]: -7}") ;;
		esac
		"${COMMAND[@]}" >"$WORK/said" 2>"$WORK/complaint" ||
			fail "run $i of RTGT_SEED=$seed: ${COMMAND[*]}: $(<"$WORK/complaint")"
		[[ $1 != @(ping|lat|bw) ]] || grep -q "bytes verified" "$WORK/said" || fail "${COMMAND[*]}: $(<"$WORK/said")"
	done
	note "honest $1: $runs runs, seed $seed"
}

# The tables here name what there is: a glob that matches nothing is a mistake.
tables() {
	local fault cell
	faults_of_target
	while read -r fault cell _; do
		[[ -n $fault && $fault != \#* ]] || continue
		# shellcheck disable=SC2053 # a glob is what it is
		for name in "${!FAULT_EVENT[@]}"; do
			[[ $name != $fault ]] || continue 2
		done
		fail "the expectations have $fault, and the target has no such fault"
	done <<<"$EXPECT$EXPECT_IWARP"
	for fault in $LEFT_OUT $INITIATOR_LEFT_OUT; do
		[[ -n ${FAULT_EVENT[$fault]:-} ]] || fail "$fault is left out, and the target has no such fault"
	done
}

FAULTS="reply-drop reply-delay reply-twice reply-swap reply-tag reply-op reply-len reply-short
	reply-long reply-status reply-bit reply-stale region-bit move-range move-twice move-late move-never
	cap-rkey cap-addr cap-len rep-rkey rep-addr rep-len rep-ask rep-version rep-short rep-delay
	rep-never rej-version rej-size rej-full rej-resources rej-device rej-stopping rej-ask
	recv-none rtu-ignore dreq-ignore disconnect qp-err qp-sqd"

# A target that misbehaves is found out in one of these ways, each a branch of the initiators, and a
# fault of each is run by make check-more (of QUICK by make check): what does not come (reply-drop,
# recv-none), comes twice, is of another request (reply-tag, reply-op), is too short or too long, says "failed", or
# has other bytes (reply-bit of an echo, region-bit of a checksum, reply-stale of before); a device that
# refuses (cap-rkey, rep-rkey), or would (cap-len, rep-len); a REP that cannot be read (rep-short), a
# REJ, the end of the connection.  A fault that is left out here is found in the same way as one of
# those, or found by nobody since it does no harm; the cases of an event (below) run each of them.
LEFT_OUT=" reply-delay reply-swap reply-len move-range move-twice move-late move-never cap-addr rep-addr
	rep-ask rep-version rep-delay rep-never rej-version rej-size rej-resources rej-device rej-stopping
	rej-ask rtu-ignore dreq-ignore qp-err qp-sqd "
# The initiator in the kernel: it waits in vain (reply-drop, rep-never), and a reply is not to a request
# of its own (reply-tag), to another one (reply-op), or not one at all (reply-len); wrong bytes are in a
# reply or in the region; a device refuses; the REP is of another version or too short; a REJ; the end
# of the connection, and no DREP.  It asks for no transfer and for no capability (move-*, cap-*).
INITIATOR_LEFT_OUT=" reply-delay reply-twice reply-swap reply-short reply-status rep-addr rep-len rep-ask
	rep-delay rej-version rej-size rej-resources rej-device rej-stopping rej-ask recv-none rtu-ignore
	qp-err qp-sqd "

# make check runs these faults, and make check-more those of READ with the tools that read captures
QUICK=" reply-tag cap-rkey "
READ=" reply-tag reply-bit cap-rkey rep-short rej-full "
for fault in $FAULTS; do
	more=--more long=--long
	[[ $QUICK != *" $fault "* ]] || more=''
	[[ $READ != *" $fault "* ]] || long=--more
	[[ ${LEFT_OUT//[[:space:]]/ } == *" $fault "* ]] ||
		tcase "$fault" ${more:+"$more"} "initiators are right about a target with the fault $fault" lie kernel "$fault" some ping extents lat bw cost
	tcase "serve-$fault" --long --limit 120 "initiators are right about rtgt serve with the fault $fault" lie serve "$fault" some "${USERS[@]}"
	tcase "all-$fault" --long --limit 300 "all operations of all initiators are right about a target with the fault $fault" \
		lie kernel "$fault" all "${USERS[@]}"
	tcase "all-serve-$fault" --long --limit 300 "all operations of all initiators are right about rtgt serve with the fault $fault" \
		lie serve "$fault" all "${USERS[@]}"
	tcase "readers-$fault" "$long" --limit 60 "the smallest client, rtgt reconcile and rtgt timeline are right about a target with the fault $fault" \
		lie kernel "$fault" some messages reconcile timeline
	[[ $fault != @(move|cap)-* ]] || continue
	[[ ${INITIATOR_LEFT_OUT//[[:space:]]/ } == *" $fault "* ]] ||
		tcase "initiator-$fault" --more "the kernel's initiator is right about a target with the fault $fault" lie kernel "$fault" some klat kbw
	tcase "all-initiator-$fault" --long --limit 300 "all operations of the kernel's initiator are right about a target with the fault $fault" \
		lie kernel "$fault" all klat kbw
done
for event in reply checksum move capability rep request connection message; do
	tcase "serve-$event" --more "an initiator is right about rtgt serve with each fault of a $event" lie_about "$event"
done
tcase tables "the tables of expectations have no fault that the target lacks" tables
# shellcheck disable=SC2086 # words
tcase others "initiators are right about faults that no case names" others $FAULTS
for who in ping lat bw cost messages library client; do
	name="rtgt $who with random parameters" needs=()
	[[ $who != @(messages|library|client) ]] || name=rtgt-example-$who
	[[ $who != @(messages|client) ]] || needs=(--needs plain)
	[[ $who == @(cost|bw) ]] && more=--more || more=''
	tcase "honest-$who" "${needs[@]}" ${more:+"$more"} "$name succeeds against an honest target" honest "$who" 3
	tcase "honest-$who-1000" "${needs[@]}" --long --limit 900 "$name succeeds 1000 times against an honest target" honest "$who" 1000
done

tmain "$@"
