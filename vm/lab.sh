# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Guests: started, watched, talked to and ended.  Sourced by the scripts that
# use them, after lib.sh.
#
#   lab_open OUT            a run; consoles and captures are in LAB_OUT while it
#                           goes on and in OUT, replaced as a whole, afterwards
#   lab_fast                boots the one guest of the fast tier, "fast"
#   lab_wire                boots "server" and "client" on one wire
#   lab_run NAME CMD...     runs a command in a guest, returns its status
#   lab_healthy NAME...     false, and says why, if a kernel is unwell
#   lab_close               ends all; also on exit of the script, however it ends
#
# Sockets live in a directory of the run with a short name (a unix socket's may
# have 107 bytes), and a run that was killed leaves nothing but that directory,
# which the next one removes: its lock is free.  The guests themselves die with
# the shell that started them.
#
# DEVICE is what the guests' RDMA devices are: rxe or siw.
#
# All guests have KERNEL, but with CLIENT_KERNEL the guest "client" has that one.  A guest's
# memory, processors and slowness are those of its kernel (vm/kernels); LAB_SLOW, the slowest's,
# multiplies all limits in time, outside and inside.  A machine of one processor gives a guest one:
# two would take turns, and wait for each other's locks while they do.  RTGT_CPUS gives each guest
# that many, RTGT_WORDS more words on its command line.
#
# A guest is unwell when QEMU ends before it is told to, when the agent does not
# answer in time, or when the console holds one of LAB_SPLAT.  A guest that does
# not answer gets an NMI, on which its kernel says where it hangs and panics.
#
# A script that fails with a guest whose processor had flags that none has (lab_impossible), or that died
# of a defect of rxe which any run on two processors may meet (lab_known), is run once more, as a whole,
# if it can be (LAB_REPEATS): the emulator or rxe has failed, and the cases behind that have no result.

LAB_SPLAT='Oops|BUG: ([^K]|K[^C])|Kernel panic|general protection fault|WARNING:|non-static key|KASAN|UBSAN|blocked for more than|self-detected stall|soft lockup|hard LOCKUP|refcount_t:|list_(add|del) corruption'
# shellcheck source=vm/kernels
. "$RTGT_TOP/vm/kernels"
LAB_SELF=$(realpath "$0") LAB_ARGS=("$@")
LAB_GUEST=$(kernel_guest "$KERNEL") || exit
LAB_CLIENT=$(kernel_guest "${CLIENT_KERNEL:-$KERNEL}") || exit
read -r _ _ LAB_SLOW _ <<<"$LAB_GUEST"
read -r _ _ LAB_CLIENT_SLOW _ <<<"$LAB_CLIENT"
((LAB_CLIENT_SLOW <= LAB_SLOW)) || LAB_SLOW=$LAB_CLIENT_SLOW
DEVICE=${DEVICE:-rxe}
[[ $DEVICE == @(rxe|siw) ]] || die "DEVICE=$DEVICE is neither rxe nor siw"
lab_boot_secs=60
# a CI's machine has more to do at once, and a guest that boots late has not failed
[[ ! ${CI:-} ]] || lab_boot_secs=180
LAB_BOOT_SECS=${LAB_BOOT_SECS:-$((lab_boot_secs * LAB_SLOW))}
# guest -> when, and how many processors it has
declare -A lab_started=() lab_cpus=()

lab_sweep() {
	local dir fd

	for dir in "$1"/rtgt.??????; do
		[[ -O $dir/lock ]] || continue
		exec {fd}<"$dir/lock"
		flock -n "$fd" && rm -rf "$dir"
		exec {fd}<&-
	done
}

# What runs left beside OUT that could not rename it.
lab_sweep_out() {
	local dir

	for dir in "$LAB_KEEP".*[0-9]; do
		kill -0 "${dir##*.}" 2>/dev/null || rm -rf "$dir"
	done
}

# lab_built KERNEL: where what was built for it is, and its release
lab_built() {
	local release

	release=$(KERNEL=$1 "$RTGT_TOP/vm/root" release) || exit
	[[ -s $RTGT_OUT/${release#* }/payload.erofs ]] ||
		die "nothing is built for kernel ${release% *}: make build KERNEL=$1"
	echo "$RTGT_OUT/${release#* } ${release% *}"
}

# lab_payload NAME: a build may replace it while the guests run
lab_payload() {
	ln "$2/payload.erofs" "$LAB_OUT/$1" 2>/dev/null || cp "$2/payload.erofs" "$LAB_OUT/$1"
}

lab_open() {
	local built base=${XDG_RUNTIME_DIR:-/tmp}

	# virtual time is slow, and with it the beat of a guest's agent
	AGENT_SILENCE=$((30 * LAB_SLOW))
	[[ ! ${LAB_VIRTUAL:-} ]] || AGENT_SILENCE=$((20 * AGENT_SILENCE))
	export AGENT_SILENCE
	LAB_KEEP=$1
	LAB_OUT=$1.$$
	built=$(lab_built "$KERNEL") || exit
	LAB_BUILT=${built% *} LAB_RELEASE=${built##* } LAB_CLIENT_BUILT=${built% *}
	if [[ ${CLIENT_KERNEL:-} ]]; then
		built=$(lab_built "$CLIENT_KERNEL") || exit
		LAB_CLIENT_BUILT=${built% *} LAB_RELEASE+=", client ${built##* }"
	fi
	LAB_AGENT=$RTGT_OUT/agent
	declare -gA LAB_PID=()
	[[ -w $base && ${#base} -le 60 ]] || base=/tmp
	lab_sweep "$base"
	LAB_RUN=$(mktemp -d "$base/rtgt.XXXXXX") || die "no directory for sockets in $base"
	exec {LAB_LOCK}>"$LAB_RUN/lock"
	flock -n "$LAB_LOCK"
	trap 'lab_end $?' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	lab_sweep_out
	mkdir -p "$LAB_OUT"
	LAB_ROOT=$("$RTGT_TOP/vm/root" guest) || exit
	# Looked at: what runs from here on need not look again
	export RTGT_WHOLE=checked
	LAB_ACCEL=$("$RTGT_TOP/vm/accel" "$LAB_BUILT/boot/kernel") || exit
	lab_payload payload "$LAB_BUILT" && lab_payload payload.client "$LAB_CLIENT_BUILT" || exit
}

lab_close() {
	local pid

	trap '' INT TERM HUP
	[[ $CALM_PID ]] && kill -TERM "$CALM_PID" 2>/dev/null
	# it says what it did
	[[ ! ${LAB_PID[bridge]:-} ]] || kill -TERM "${LAB_PID[bridge]}" 2>/dev/null
	for pid in "${!LAB_PID[@]}"; do
		[[ $pid == bridge ]] || kill -KILL "${LAB_PID[$pid]}" 2>/dev/null
	done
	for pid in "${LAB_PID[@]}" $CALM_PID; do
		wait "$pid" 2>/dev/null
	done
	LAB_PID=()
	CALM_PID=
	rm -rf "$LAB_RUN" "$LAB_OUT"/payload*
	if [[ -d $LAB_OUT ]]; then
		rm -rf "$LAB_KEEP"
		mv "$LAB_OUT" "$LAB_KEEP"
	fi
	steps_end
}

# lab_impossible: says which guests' kernels printed flags that no x86 processor can have, and
# fails if none did: the bits 3, 5, 15 and from 22 on are always zero, bit 1 is always one (Intel
# SDM, volume 1, 3.4.3).  Registers that are all zero are none: a kernel prints them at the end of a
# thread's stack.
lab_impossible() {
	local console flags rc=1

	for console in "$LAB_KEEP"/*.console; do
		[[ -e $console ]] || continue
		while read -r flags; do
			((0x$flags & ~0x3f7fd7 || !(0x$flags & 2))) || continue
			console=${console##*/}
			say "guest ${console%.console}: EFLAGS $flags, which no processor can have, so the emulator failed"
			rc=0
			break
		done < <(grep -aoP 'RSP: (?!0000:)[0-9a-f]{4}:[0-9a-f]{16} EFLAGS: \K[0-9a-f]{8,16}\b' "$console")
	done
	return "$rc"
}

# lab_known: says which guests died of rxe-packet-reference, and fails if none did: rxe uses a queue pair
# that it has just freed.  A rxe of somebody's own (MODULES=) is not excused.
lab_known() {
	local console each rc=1

	[[ ! ${MODULES:-} ]] || return
	for console in "$LAB_KEEP"/*.console; do
		[[ -e $console ]] || continue
		for each in 'RIP: [0-9]*:rxe_sched_task+' ' rxe_udp_encap_recv+' 'Kernel panic'; do
			grep -q "$each" "$console" || continue 2
		done
		console=${console##*/}
		say "guest ${console%.console}: died of the kernel's defect rxe-packet-reference" \
			"(Documentation/findings/rxe-packet-reference.rst)"
		rc=0
	done
	return "$rc"
}

# lab_end STATUS: the end of the script, whatever ended it.  One that sets LAB_REPEATS, since it needs
# no input, runs once more if no case failed it; what the first run left is kept beside.
lab_end() {
	lab_close
	[[ $1 != @(0|130|143) && ${LAB_REPEATS:-} ]] && { lab_impossible || lab_known; } || exit "$1"
	[[ ! ${RTGT_AGAIN:-} ]] || exit "$1"
	rm -rf "$LAB_KEEP.first"
	mv "$LAB_KEEP" "$LAB_KEEP.first"
	say "once more, from the beginning; $LAB_KEEP.first has the first run"
	trap - INT TERM HUP
	RTGT_AGAIN=1 exec "$BASH" "$LAB_SELF" "${LAB_ARGS[@]}"
}

# A path as a value of one of QEMU's comma lists.
lab_q() {
	printf '%s' "${1//,/,,}"
}

# lab_start NAME TIER QEMU-ARGS...: starts a guest and does not wait for it.
lab_start() {
	local name=$1 tier=$2 i args words memory cpus more built=$LAB_BUILT payload=$LAB_OUT/payload

	shift 2
	lab_started[$name]=$EPOCHREALTIME
	read -r memory cpus _ more <<<"$LAB_GUEST"
	if [[ $name == client ]]; then
		read -r memory cpus _ more <<<"$LAB_CLIENT"
		built=$LAB_CLIENT_BUILT payload=$LAB_OUT/payload.client
	fi
	case $name in
	fast) cpus=${cpus%/*} ;;
	*) cpus=${cpus#*/} ;;
	esac
	(($(nproc) > 1)) || cpus=1
	cpus=${RTGT_CPUS:-$cpus}
	lab_cpus[$name]=$cpus
	words=(
		console=ttyS0 loglevel=5 log_buf_len=4M panic=-1 oops=panic unknown_nmi_panic
		hung_task_panic=1 "sysctl.kernel.hung_task_timeout_secs=$((30 * LAB_SLOW))"
		"rcupdate.rcu_cpu_stall_timeout=$((21 * LAB_SLOW))"
		mitigations=off tsc=reliable "lab.tier=$tier" "lab.role=$name" "lab.slow=$LAB_SLOW"
		"lab.accel=$LAB_ACCEL" "lab.time=wall" "lab.device=$DEVICE"
	)
	if [[ $LAB_ACCEL == kvm ]]; then
		args=(-accel kvm -cpu host)
	else
		# Without what a processor does at no cost and an emulator does not: strings a byte
		# at a time, access checks that end a block of code, a fifth level of page tables;
		# and without zeroing what will be written.
		args=(-accel "tcg,thread=multi" -cpu "max,-erms,-smap,-smep,-la57")
		# The guest's clock counts instructions, 2 ns each: figures do not
		# depend on what else the machine does.
		if [[ ${LAB_VIRTUAL:-} ]]; then
			args=(-accel "tcg,thread=single" -icount "shift=1,sleep=off" -cpu max)
			# While a guest waits for its disk the clock runs on without it:
			# on a host under load half a minute is nothing.
			words+=("lab.time=virtual" sysctl.kernel.hung_task_timeout_secs=0)
		else
			# A kernel that boots on a host under load may take the PIT's word for the rate
			# of the TSC, and its seconds are a quarter of a second then.  The HPET's rate
			# is known.
			words+=(init_on_alloc=0 clocksource=hpet)
			# To interpret ACPI's routing of PCI interrupts takes half a second, and a
			# debug kernel a minute; the guest's MP table says the same.  Not all of
			# ACPI: on a host under load only its timers calibrate the clock.  Self-tests
			# of generators of random numbers and keys that nothing here uses take a
			# quarter of a second.
			words+=(acpi=noirq cryptomgr.notests "initcall_blacklist=jent_mod_init,crypto_kdf108_init")
			# Half of an emulated guest's time is the kernel's, to start and end processes:
			# without accounts and hooks that nothing here looks at.
			words+=(psi=0 audit=0 cgroup_disable=memory lsm=capability randomize_kstack_offset=off)
		fi
		# Translated code is found by its virtual address: with each program at
		# an address of its own, every exec would be translated anew (5 times
		# slower).
		words+=(norandmaps)
		# A kernel panics when the timer does not tick a few times within a moment
		# of real time, which on a machine under load it may not.
		words+=(no_timer_check)
	fi
	# shellcheck disable=SC2206 # none or more words
	words+=($more ${RTGT_WORDS:-})
	mkfifo "$LAB_RUN/$name.monitor.in" "$LAB_RUN/$name.monitor.out"
	args+=(
		-name "rtgt-$name" -nodefaults -no-user-config -display none -no-reboot
		-machine pc -smp "$cpus" -m "$memory"
		-kernel "$built/boot/kernel" -initrd "$built/boot/initrd" -append "${words[*]}"
		-drive "if=none,id=root,format=raw,readonly=on,file=$(lab_q "$LAB_ROOT")"
		-device "virtio-blk-pci,drive=root"
		-drive "if=none,id=mods,format=raw,readonly=on,file=$(lab_q "$built/boot/modules.erofs")"
		-device "virtio-blk-pci,drive=mods"
		-drive "if=none,id=payload,format=raw,readonly=on,file=$(lab_q "$payload")"
		-device "virtio-blk-pci,drive=payload"
		-chardev "file,id=console,path=$(lab_q "$LAB_OUT/$name.console")" -serial chardev:console
		-chardev "pipe,id=monitor,path=$(lab_q "$LAB_RUN/$name.monitor")" -mon chardev=monitor
		-device virtio-serial-pci
	)
	for i in '' 1 2; do
		args+=(
			-chardev "socket,id=ctl$i,path=$LAB_RUN/$name$i,server=on,wait=off"
			-device "virtserialport,chardev=ctl$i,name=rtgt.ctl$i"
		)
	done
	setpriv --pdeathsig KILL qemu-system-x86_64 "${args[@]}" "$@" \
		</dev/null >"$LAB_OUT/$name.qemu" 2>&1 {LAB_LOCK}>&- &
	LAB_PID[$name]=$!
}

lab_alive() {
	[[ ${LAB_PID[$1]:-} ]] && kill -0 "${LAB_PID[$1]}" 2>/dev/null
}

# lab_stop NAME...: ends guests.
lab_stop() {
	local name

	for name; do
		kill -KILL "${LAB_PID[$name]}" 2>/dev/null
		wait "${LAB_PID[$name]}" 2>/dev/null
		unset "LAB_PID[$name]"
		# not those of fast-b with fast's
		rm -f "$LAB_RUN/$name"{,1,2,.monitor.in,.monitor.out} "$LAB_RUN/$name"-peer*
	done
}

# lab_until SECS CMD...: until the command succeeds, looked at every 20 ms.
lab_until() {
	local end=$((SECONDS + $1)) tick

	shift
	exec {tick}<> <(:)
	until "$@"; do
		((SECONDS < end)) || return 1
		read -r -t 0.02 -u "$tick"
	done
	exec {tick}<&-
}

# Says what ailed a guest, with the end of its console.
lab_tell() {
	local name=$1

	shift
	say "guest $name: $*; the end of $LAB_KEEP/$name.console:"
	tail -n 40 "$LAB_OUT/$name.console" | tr -d '\r' | sed 's/^/    /' >&2
	[[ -s $LAB_OUT/$name.qemu ]] && sed 's/^/    qemu: /' "$LAB_OUT/$name.qemu" >&2
	return 1
}

lab_dead() {
	! lab_alive "$1"
}

# A guest did not answer: what is it?
lab_diagnose() {
	local name=$1

	# A panic closes the channel a moment before QEMU is gone.
	if lab_until 2 lab_dead "$name"; then
		lab_tell "$name" "died"
	else
		echo nmi >"$LAB_RUN/$name.monitor.in"
		lab_until 10 lab_dead "$name"
		lab_tell "$name" "did not answer and was sent an NMI"
	fi
}

lab_healthy() {
	local name rc=0

	for name; do
		if lab_dead "$name"; then
			lab_tell "$name" "died" || rc=1
		elif grep -qE "$LAB_SPLAT" "$LAB_OUT/$name.console"; then
			lab_tell "$name" "its kernel complained" || rc=1
		fi
	done
	return $rc
}

lab_answers() {
	lab_alive "$1" && calm "$LAB_AGENT" run "$LAB_RUN/${1}1" -- true </dev/null 2>/dev/null
}

# lab_run NAME CMD...: NAME may be a guest or one of its further channels.
lab_run() {
	local name=$1 rc=0

	shift
	calm "$LAB_AGENT" run ${LAB_LIMIT:+-t "$LAB_LIMIT"} "$LAB_RUN/$name" -- "$@" || rc=$?
	if ((rc == 125)) && ! lab_answers "${name%[12]}"; then
		lab_diagnose "${name%[12]}"
	fi
	return $rc
}

# lab_boots NAME: waits until its agent answers, or it has died, which who waits for a socket does not
# see
lab_boots() {
	local pid rc=0

	"$LAB_AGENT" run -w "$LAB_BOOT_SECS" "$LAB_RUN/$1" -- true </dev/null 2>"$LAB_OUT/$1.boot" &
	pid=$!
	# lab_close ends it
	CALM_PID=$pid
	lab_until $((LAB_BOOT_SECS + 5)) lab_ended_or_dead "$pid" "$1"
	! kill -0 "$pid" 2>/dev/null || ! lab_dead "$1" || kill -TERM "$pid" 2>/dev/null
	wait "$pid" || rc=$?
	CALM_PID=
	return "$rc"
}

lab_ended_or_dead() { # PID NAME
	! kill -0 "$1" 2>/dev/null || lab_dead "$2"
}

# lab_up NAME...: waits until the agents answer.
lab_up() {
	local name

	for name; do
		lab_boots "$name" && continue
		lab_until 2 lab_dead "$name"
		grep -q 'Oops: int3' "$LAB_OUT/$name.console" && return 2
		lab_diagnose "$name"
		return 1
	done
}

# lab_settle START NAME...: waits for guests that START has started.  About one
# boot in eighty under TCG dies of an int3 before there is any user space: it is
# told, and booted once more.
lab_settle() {
	local how=$1 rc=0

	shift
	lab_up "$@" || rc=$?
	if ((rc == 2)); then
		say "early 'Oops: int3' in ${*}, a known fault of emulated boots: booting again"
		lab_stop "$@"
		rc=0
		$how
		lab_up "$@" || rc=$?
		((rc == 2)) && lab_diagnose "$1"
	fi
	((rc)) && return 1
	say "guest${2:+s} $*: up after $(since "${lab_started[$1]}") s ($LAB_RELEASE, $LAB_ACCEL, $(lab_processors "$1"))"
}

# lab_processors NAME: how many it has, in words
lab_processors() {
	echo "${lab_cpus[$1]} processor$( ((lab_cpus[$1] == 1)) || echo s)"
}

lab_start_fast() { # NAME
	lab_start "$1" fast
}

lab_fast() {
	lab_start_fast fast
	lab_settle "lab_start_fast fast" fast
}

# The two ends of the wire: -netdev stream from QEMU 7.2 on, a pair of UDP ports
# before (any TCP based one stalls for 22 ms a round trip).
lab_netdev() {
	local version wire=$LAB_RUN/wire

	version=$(qemu-system-x86_64 --version)
	[[ $version =~ version\ ([0-9]+)\.([0-9]+) ]]
	if [[ ${RTGT_WIRE:-} != udp ]] &&
		((BASH_REMATCH[1] * 100 + BASH_REMATCH[2] >= 702)); then
		if [[ ${RTGT_RULES:-} ]]; then
			echo "stream,id=n0,server=off,addr.type=unix,addr.path=$LAB_RUN/bridge-$1"
		elif [[ $1 == server ]]; then
			echo "stream,id=n0,server=on,addr.type=unix,addr.path=$wire"
		else
			echo "stream,id=n0,server=off,addr.type=unix,addr.path=$wire"
		fi
	elif [[ $1 == server ]]; then
		echo "socket,id=n0,udp=127.0.0.1:$((LAB_UDP + 1)),localaddr=127.0.0.1:$LAB_UDP"
	else
		echo "socket,id=n0,udp=127.0.0.1:$LAB_UDP,localaddr=127.0.0.1:$((LAB_UDP + 1))"
	fi
}

# With RTGT_RULES=FILE the wire is rtgt bridge: its events are in bridge.log, and both sides of
# it in both.pcapng.  A guest that is started again connects again.
lab_bridge() {
	local path=$LAB_RUN/bridge

	[[ ${RTGT_RULES:-} ]] || return 0
	[[ $(lab_netdev server) == *bridge-server ]] || die "RTGT_RULES wants QEMU 7.2, and no RTGT_WIRE=udp"
	# one that is still there is about to end, with the guests that it was for
	if [[ ${LAB_PID[bridge]:-} ]]; then
		kill -TERM "${LAB_PID[bridge]}" 2>/dev/null
		wait "${LAB_PID[bridge]}" 2>/dev/null
	fi
	setpriv --pdeathsig KILL "$RTGT_OUT/bin/rtgt" bridge --rules "$RTGT_RULES" -w "$LAB_OUT/both.pcapng" \
		"server=listen:$path-server" "client=listen:$path-client" \
		</dev/null >>"$LAB_OUT/bridge.log" 2>&1 {LAB_LOCK}>&- &
	LAB_PID[bridge]=$!
	lab_until 10 lab_bridge_ended_or test -S "$path-client"
	lab_alive bridge || die "$(<"$LAB_OUT/bridge.log")"
}

lab_bridge_ended_or() {
	! lab_alive bridge || "$@"
}

# Two neighbouring UDP ports nobody has.
lab_udp_ports() {
	local used

	used=$(cat /proc/net/udp /proc/net/udp6)
	for _ in {1..50}; do
		LAB_UDP=$((20000 + (RANDOM % 6000) * 2))
		[[ $used != *$(printf ':%04X ' "$LAB_UDP")* &&
			$used != *$(printf ':%04X ' "$((LAB_UDP + 1))")* ]] && return
	done
	die "no two free UDP ports between 20000 and 32000"
}

lab_start_wire() {
	local i mac peer=()

	lab_udp_ports
	for i in '' 1 2 3; do
		peer+=(
			-chardev "socket,id=peer$i,path=$LAB_RUN/server-peer$i,server=on,wait=off"
			-device "virtserialport,chardev=peer$i,name=rtgt.peer$i"
		)
	done
	mac=52:54:00:12:34
	lab_bridge
	lab_start server wire "${peer[@]}" -netdev "$(lab_netdev server)" \
		-device "virtio-net-pci,netdev=n0,mac=$mac:01" \
		-object "filter-dump,id=dump,netdev=n0,file=$(lab_q "$LAB_OUT/wire.pcap")"
	# The client connects to what the server listens at.
	lab_until 10 test -S "$LAB_RUN/server-peer3" || return
	[[ $(lab_netdev server) != *server=on* ]] || lab_until 10 test -S "$LAB_RUN/wire" || return
	lab_start client wire "${peer[@]/,server=on,wait=off/}" -netdev "$(lab_netdev client)" \
		-device "virtio-net-pci,netdev=n0,mac=$mac:02"
}

lab_wire() {
	lab_start_wire
	lab_settle lab_start_wire server client
}
