#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# machine.sh: what a test does to, or asks of, one machine.
#
# lib.sh sources it for the machine it runs on.  When the target's machine is
# another one, "machine.sh serve" runs there and is told what to do, so a test
# never cares which it is.  Everything here goes through configfs, debugfs and
# sysfs directly and not through the rtgt tool, which is itself under test.
#
# A function prints what it was asked for on stdout and returns nonzero, with
# one line on stderr, when it could not do it.  It starts as few processes as it
# can: in an emulated guest each costs as much as a hundred RDMA operations.

# From the package bash-builtins, where it is: no process for these
enable -f mkdir mkdir 2>/dev/null || :
enable -f rmdir rmdir 2>/dev/null || :
enable -f mkfifo mkfifo 2>/dev/null || :
enable -f unlink unlink 2>/dev/null || :

CONFIGFS=/sys/kernel/config/rtgt
DEBUGFS=/sys/kernel/debug/rtgt
KMEMLEAK=/sys/kernel/debug/kmemleak
LOCKDEP=/proc/lockdep_stats
WAS_AT=/run/rtgt-selftest.at
# What all limits in time are multiplied by, here and in lib.sh (bounded): how many
# times slower than usual this kernel is.  KSFT_MACHINE_SLOW is how the CI of netdev
# marks a debug kernel.
SLOW=${RTGT_SLOW:-${KSFT_MACHINE_SLOW:+8}}
SLOW=${SLOW:-1}
# Far beyond what enable=0 takes, and less than what a timeout adds to it
DISABLE_MS=4000
# and what the tool waits for, where the command line does not say
export RTGT_TIMEOUT=$((10 * SLOW))
TESTDIR=${BASH_SOURCE[0]%/*}
[[ $TESTDIR == /* ]] || TESTDIR=$PWD/$TESTDIR

complain() {
	printf '%s\n' "$*" >&2
	return 1
}

# A command that is neither a function of the suite nor a program of the machine is most likely
# misspelt: no case passes or is skipped with it (lib.sh).
NO_SUCH="no such helper or program"
command_not_found_handle() { # COMMAND [ARG...]
	printf '%s: %s\n' "$1" "$NO_SUCH" >&2
	return 127
}

# Poll a condition, 20 times a second, or each POLL seconds; "read -t" on a pipe nobody writes to
# waits without a process.
wait_until() { # SECONDS CMD...
	local end=$((SECONDS + $1 * SLOW))
	shift
	until "$@"; do
		((SECONDS <= end)) || return
		[[ -n ${NEVER:-} ]] || exec {NEVER}<> <(:)
		read -r -t "${POLL:-0.05}" -u "$NEVER" || :
	done
	return 0
}

# First line of a file, without a process.
first_line() { # FILE
	local line=
	read -r line <"$1" || [[ -n $line ]]
	printf '%s\n' "$line"
}

# What a file of the kernel's holds, in TEXT, without a process.
contents() { # FILE
	TEXT=
	IFS= read -r -d '' TEXT <"$1" || [[ -r $1 ]]
}

cat_contents() { # FILE
	contents "$1" && printf '%s' "$TEXT"
}

# look.c; what serves, once begun, does it without starting a program.
look() { # WHAT...
	if [[ -z ${LOOK_TO:-} || $1 == since ]]; then
		"$TESTDIR/look" "$@"
		return
	fi
	local rc=0
	look_at "$@" || rc=$?
	printf '%s' "$LOOKED"
	return "$rc"
}

# Likewise, and what it says is in LOOKED.
look_at() { # WHAT...
	local token=$BASHPID.$EPOCHREALTIME said
	printf '%s\0' "$token" $# "$@" >&"$LOOK_TO"
	while IFS= read -r -t $((60 * SLOW)) -d $'\1' -u "$LOOK_FROM" LOOKED; do
		IFS= read -r -t $((60 * SLOW)) -u "$LOOK_FROM" said || break
		# or else the answer to somebody who was not there any more to take it
		[[ $said != "$token "* ]] || return "${said##* }"
	done
	LOOKED="look does not answer"
	return 2
}

look_begin() {
	coproc LOOK {
		# or the target's machine never sees its end (leave_target)
		[[ -z ${TO_TARGET:-} ]] || exec {TO_TARGET}>&- {FROM_TARGET}<&-
		exec "$TESTDIR/look" serve "$TESTDIR/kernel-log"
	}
	# subshells do not get those of the coprocess
	local to=${LOOK[1]} from=${LOOK[0]}
	exec {LOOK_TO}>&"$to" {LOOK_FROM}<&"$from"
	exec {to}>&- {from}<&-
}

# --- the kernel log ---------------------------------------------------------

log_mark() { # MARKER
	printf '<14>%s\n' "$1" >/dev/kmsg
}

# --- ports ------------------------------------------------------------------

# port_add NAME [ATTR=VALUE...] [region NAME [ATTR=VALUE...]]...
# "enable" is written last.  Fails with the attribute that was refused; what was
# made until then stays, port_del removes it.
port_add() {
	local dir=$CONFIGFS/ports/$1 at enable=1 word region=
	local -a dirs=("$dir")
	shift
	for word; do
		[[ $region != region ]] || dirs+=("$dir/regions/$word")
		region=$word
	done
	mkdir "${dirs[@]}" || return
	at=$dir
	while (($#)); do
		case $1 in
		region)
			at=$dir/regions/$2
			shift
			;;
		enable=*)
			enable=${1#*=}
			;;
		*=*)
			attr_set "$at/${1%%=*}" "${1#*=}" || return
			;;
		*)
			complain "port_add: not ATTR=VALUE: $1"
			return
			;;
		esac
		shift
	done
	((enable == 0)) || attr_set "$dir/enable" 1
}

# A store that is refused must be seen: the shell's own message names the errno.
attr_set() { # FILE VALUE
	{ printf '%s\n' "$2" >"$1"; } 2>&1 || complain "$1: \"$2\" was refused"
}

# Of a port without connections: what the counters of all must add up to.  A count that goes on
# after a case has seen the value that it wanted is found here.  A reply that the fault reply-twice
# sends again counts once, and may be flushed twice.
counters_add_up() { # NAME
	local TEXT='' name value copies=0
	local -A n=()
	{ contents "$CONFIGFS/ports/$1/faults" || contents "$DEBUGFS/ports/$1/faults"; } 2>/dev/null || :
	[[ ! $TEXT =~ reply-twice[^$'\n']*' done '([0-9]+) ]] || copies=${BASH_REMATCH[1]}
	contents "$DEBUGFS/ports/$1/counters" || return 0
	while read -r name value; do
		[[ -z $name ]] || n[$name]=$value
	done <<<"$TEXT"
	((n[conns_accepted] == n[conns_closed] && n[conns_established] <= n[conns_accepted] &&
		n[replies] <= n[recv_msgs] + n[imms] && n[send_flushed] <= n[replies] + copies)) ||
		complain "the counters of $1 contradict each other: ${TEXT//$'\n'/, }"
}

# One that was slow to stop is removed, too, and the case fails: nothing that a port
# waits for may take seconds.
port_del() { # NAME
	local dir=$CONFIGFS/ports/$1 region began=$EPOCHREALTIME took rc=0
	local -a dirs=()
	[[ -d $dir ]] || return 0
	echo 0 >"$dir/enable" || return 1
	took=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
	for region in "$dir"/regions/*/; do
		[[ ! -d $region ]] || dirs+=("$region")
	done
	counters_add_up "$1" || rc=1
	rmdir "${dirs[@]}" "$dir" || return
	((rc == 0)) || return "$rc"
	((took < DISABLE_MS * SLOW)) || complain "enable=0 of $1 took $took ms"
}

ports() {
	local dir
	for dir in "$CONFIGFS"/ports/*/; do
		dir=${dir%/}
		[[ ! -d $dir ]] || echo "${dir##*/}"
	done
}

counters() { # PORT
	cat_contents "$DEBUGFS/ports/$1/counters"
}

connections() { # PORT
	cat_contents "$DEBUGFS/ports/$1/connections"
}

# Nothing is also what a failed read returns: each one accepted must have been closed.
no_connections() { # PORT
	contents "$DEBUGFS/ports/$1/connections" && [[ -z $TEXT ]] && contents "$DEBUGFS/ports/$1/counters" &&
		[[ $TEXT =~ conns_accepted\ ([0-9]+).*conns_closed\ ([0-9]+) ]] && ((BASH_REMATCH[1] == BASH_REMATCH[2]))
}

# Of a thousand parts of the memory, so many are there for who asks.
memory_left() {
	awk '{ kib[$1] = $2 } END { print int(1000 * kib["MemAvailable:"] / kib["MemTotal:"]) }' /proc/meminfo
}

# --- devices and the module ---------------------------------------------------

# Hardware counters, "name value" a line, and what the connection manager sent more
# than once.
hw_counters() { # DEVICE
	local f value retries=0 port=/sys/class/infiniband/$1/ports/1
	for f in "$port"/hw_counters/*; do
		[[ ${f##*/} != lifespan ]] && read -r value <"$f" && echo "${f##*/} $value"
	done
	for f in "$port"/cm_tx_retries/*; do
		read -r value <"$f" && retries=$((retries + value))
	done
	echo "cm_retries $retries"
}

device_active() { # DEVICE
	local state
	{ read -r state <"/sys/class/infiniband/$1/ports/1/state"; } 2>/dev/null && [[ $state == *ACTIVE ]]
}

# The names of rxe's and siw's devices begin with the driver's.
device_add() { # DEVICE NETDEV
	local type=${1:0:3}
	[[ -e /sys/class/infiniband/$1 ]] || rdma link add "$1" type "$type" netdev "$2" ||
		complain "the kernel makes no $type device on $2 (CONFIG_RDMA_${type^^})" || return
	wait_until 30 device_active "$1" || complain "$1 on $2 does not become ACTIVE; see rdma link and dmesg"
}

# Loaded, or built in.  The paths are the kernel's own: serve.sh has another DEBUGFS.
module_loaded() {
	[[ -d /sys/module/rtgt || -d /sys/kernel/config/rtgt ]]
}

# Returns 4, KSFT_SKIP, if there is no module.
module_load() {
	local name
	local -a needed=()
	if ! module_loaded; then
		# insmod loads nothing else
		for name in configfs rdma_cm; do
			[[ -d /sys/module/$name ]] || needed+=("$name")
		done
		((${#needed[@]} == 0)) || modprobe -qa "${needed[@]}" || :
		if [[ -r ${RTGT_KO:-} ]]; then
			insmod "$RTGT_KO" || return 1
		elif modprobe -nq rtgt; then
			modprobe rtgt || return 1
		else
			complain "no module rtgt: modprobe does not find it, and RTGT_KO does not name its file" || return 4
		fi
	fi
	# nobody has mounted these in a small system
	[[ -d /sys/kernel/config/rtgt ]] || mount -t configfs configfs /sys/kernel/config
	[[ -d /sys/kernel/debug/rtgt ]] || mount -t debugfs debugfs /sys/kernel/debug
}

# A report of kmemleak's has no names for a module that is gone.
module_unload() {
	[[ -d /sys/module/rtgt ]] || return 0
	[[ ! -e $KMEMLEAK ]] || echo "$(</sys/module/rtgt/sections/.text)" >"$WAS_AT"
	rmmod rtgt
}

# The services of rtgt_work, beside the module.  Returns 4 if they are not there.
work_load() {
	[[ ! -d /sys/module/rtgt_work ]] || return 0
	if [[ -r ${RTGT_KO:-} ]]; then
		insmod "${RTGT_KO%.ko}_work.ko"
	elif modprobe -nq rtgt_work; then
		modprobe rtgt_work
	else
		complain "no module rtgt_work: modprobe does not find it, and RTGT_KO does not name a file beside it" || return 4
	fi
}

work_unload() {
	[[ ! -d /sys/module/rtgt_work ]] || rmmod rtgt_work
}

# --- what a case must leave as it found it -------------------------------------

BOOKS=${RTGT_BOOKS:-/run/rtgt-selftest.state}

# The log is judged without gaps: the marker of what comes next is written first, then what lies
# between the two is read (look.c).
log_clean() { # OLD-MARKER NEW-MARKER TOLERATED
	log_mark "$2" && look_at log "$1" "$2" "$TESTDIR/kernel-log" ${3:+"$3"}
}

# What was logged since that marker, read by a process of its own: one that serves has passed it.
log_clean_since() { # MARKER [TOLERATED]
	local wrong
	wrong=$("$TESTDIR/look" log "$1" "" "$TESTDIR/kernel-log" ${2:+"$2"}) ||
		{ printf '%s, kernel log:\n%s\n' "$HOSTNAME" "$wrong" && return 1; }
}

# Save the present state as that which each case must return to, and begin the first case: the
# kernel's log must be clean since the marker OUTSIDE.  Prints what is wrong; more than 1 means
# that the machine cannot be used.
first_case() { # OUTSIDE-MARKER NEW-MARKER TOLERATED DEVICE...
	read_state "${@:4}" && printf '%s' "$STATE" >"$BOOKS" && log_mark "$2" || return 2
	log_clean_since "$1"
}

# As next_case, where all is as it should be, which is the usual case: nobody has to
# be bounded in time.
next_case_if_clean() { # OLD-MARKER NEW-MARKER TOLERATED DEVICE...
	wait_until 5 state_is_back "${@:4}" && log_clean "$1" "$2" "$3"
}

# Close the books of one case and open those of the next: the state must be the
# one that was found at first, now or soon, and the kernel's log clean since
# OLD-MARKER.  Prints what is wrong and returns 1 if it could be put
# right, 3 if not.
next_case() { # OLD-MARKER NEW-MARKER TOLERATED DEVICE...
	local old=$1 new=$2 tolerated=$3 rc=0
	shift 3
	if ! wait_until 5 state_is_back "$@"; then
		echo "$HOSTNAME:"
		diff "$BOOKS" <(printf '%s' "$STATE") | sed -n 's/^</    missing:/p; s/^>/    left behind:/p'
		stuck
		rc=1
		restore "$@"
		wait_until 5 state_is_back "$@" || rc=3
	fi
	log_mark "$new"
	log_clean_since "$old" "$tolerated" || rc=$((rc ? rc : 1))
	return "$rc"
}

# In STATE, one line a fact.
read_state() { # DEVICE...
	local port nl=$'\n'
	STATE=
	[[ ! -d /sys/module/rtgt ]] || STATE+="module rtgt$nl"
	for port in "$CONFIGFS"/ports/*; do
		[[ ! -d $port ]] || STATE+="port ${port##*/}$nl"
	done
	# what the module allocated and has not freed: what no port lists may be there still
	if [[ -r $DEBUGFS/objects ]] && contents "$DEBUGFS/objects"; then
		STATE+=$TEXT
	fi
	# a state like no other: what nobody can count may have been left behind
	[[ ! -d /sys/module/rtgt || -r /sys/kernel/debug/rtgt/objects ]] || STATE+="objects unknown, $SRANDOM$nl"
	look_at resources "$@" && STATE+=$LOOKED
}

state_is_back() { # DEVICE...
	local books
	contents "$BOOKS" && books=$TEXT && read_state "$@" && [[ $STATE == "$books" ]]
}

# What "state" can tell is put back: surplus ports go, the module and the devices
# return.
restore() { # DEVICE...
	local port dev
	for port in $(ports); do
		grep -qx "port $port" "$BOOKS" || port_del "$port"
	done
	for dev; do
		if [[ -e /sys/class/infiniband/$dev ]]; then
			continue
		elif [[ $RTGT_TIER == fast ]]; then
			"$TESTDIR/topology.sh" up
		else
			device_add "$dev" "$RTGT_TARGET_NETDEV"
		fi
	done
	! grep -qx "module rtgt" "$BOOKS" || module_load
}

# Tasks that cannot be killed, with where they wait: why a machine hangs.
stuck() {
	local dir stat name
	for dir in /proc/[0-9]*/; do
		{ read -r stat <"${dir}stat" && read -r name <"${dir}comm"; } 2>/dev/null || continue
		stat=${stat##*) }
		[[ ${stat%% *} == D ]] || continue
		echo "task ${dir//[!0-9]/} ($name) is stuck in:"
		sed 's/^/    /' "${dir}stack" 2>/dev/null
	done
}

# --- what a debug kernel found by itself -------------------------------------------

# Before a run: its verdicts begin here, and need what would find something to be on.
debug_start() {
	lockdep_on || return
	[[ -e $KMEMLEAK ]] || return 0
	# refused where it is off, as "clear" is not
	tell_kmemleak stack=on && tell_kmemleak clear
}

# After a run, the module removed: prints what is wrong and returns 1, or prints what
# was looked at.  A kernel without these has nothing to say.
debug_verdict() {
	local rc=0
	lockdep_on || rc=1
	no_leaks || rc=1
	return "$rc"
}

# Lockdep turns itself off with its first report, and when it runs out of room.
lockdep_on() {
	[[ -e $LOCKDEP ]] || return 0
	grep -q '^ *debug_locks: *1$' "$LOCKDEP" ||
		complain "$HOSTNAME: lockdep is off, whatever turned it off (see dmesg): no verdict"
}

tell_kmemleak() { # COMMAND
	{ echo "$1" >"$KMEMLEAK"; } 2>/dev/null || complain "$HOSTNAME: kmemleak is off: no verdict"
}

# Kmemleak reports memory that nothing points to when it has not changed from one
# scan to the next and is five seconds old.
no_leaks() {
	local began=$SECONDS last n
	[[ -e $KMEMLEAK ]] || return 0
	for ((n = 0, last = began; n < 2 || last <= began + 5; n++)); do
		last=$SECONDS
		tell_kmemleak scan || return
	done
	if ! look leaks "$KMEMLEAK" "$TESTDIR/kernel-log"; then
		[[ ! -s $WAS_AT ]] || complain "rtgt was at $(<"$WAS_AT")"
		complain "$HOSTNAME: memory was leaked"
		return
	fi
	echo "$HOSTNAME: no leak, by $n scans in $((SECONDS - began)) s"
}

# What the running kernel and the driver of the run can do, as words; which cases may be skipped
# hangs on them (expected-skips, ktap-verdict).  Taken from what the kernel is built of and not from
# what a device reports, which is under test: a device that stops to report FLUSH
# although its driver has it makes a skip that nobody expects.
kernel_has() {
	local symbols='' names=/sys/kernel/btf/rdma_rxe can=()

	if [[ ${RTGT_DEVICE:-rxe} == rxe ]]; then
		can+=(roce)
		# the functions of the driver; the list of all of the kernel's takes most of a second
		[[ -r $names ]] || names=/proc/kallsyms
		symbols=$(grep -aoF -e rxe_flush_pmem_iova -e rxe_mr_do_atomic_write -e rxe_odp_mr_init_user "$names")
	fi
	[[ $symbols != *rxe_flush_pmem_iova* ]] || can+=(flush)
	[[ $symbols != *rxe_mr_do_atomic_write* ]] || can+=(atomic-write)
	[[ $symbols != *rxe_odp_mr_init_user* ]] || can+=(odp)
	[[ ! -d /sys/kernel/debug/failslab ]] || can+=(fault-injection)
	[[ ! -e /sys/kernel/debug/sched/preempt ]] || can+=(preempt-dynamic)
	[[ -z $(find "/lib/modules/$(uname -r)" -name 'siw.ko*' -print -quit 2>&1) ]] || can+=(siw)
	[[ -z $(find "/lib/modules/$(uname -r)" -name 'bonding.ko*' -print -quit 2>&1) ]] || can+=(bonding)
	# members of structures at a function's return (timeline)
	if [[ -e /sys/kernel/btf/vmlinux ]] && grep -qs 'return probes support:.*arg<N>' /sys/kernel/tracing/README; then
		can+=(probe-members)
	fi
	echo "kernel $(uname -r) has:${can[*]:+ ${can[*]}}"
}

# --- for another machine --------------------------------------------------------

# Take one command a line, quoted by the shell, with a token in front; answer with
# its output and what ends it: \1, token, status.  See fixtures.sh, target.
serve() {
	local token cmd
	look_begin
	while read -r token cmd; do
		(eval "$cmd") </dev/null 2>&1
		printf '\1%s %s\n' "$token" "$?"
	done
}

# Run a command until our own stdin ends, then end it: a background command on
# another machine dies with the case that started it.
hold() { # CMD...
	"$@" </dev/null &
	local pid=$!
	cat >/dev/null
	kill "$pid" 2>/dev/null
	wait "$pid"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
	if (($# == 0)); then
		complain "usage: machine.sh FUNCTION [ARG...]; the functions are in $0"
		exit 2
	fi
	"$@"
fi
