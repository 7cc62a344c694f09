#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# run.sh [--tier fast|wire] [--set quick|more|rest|once] [--part I/N] [--list] [--expected] [--names]
# [PATTERN...]: run the suite on this machine.
#
# PATTERN is PROGRAM or PROGRAM.CASE, both may be shell globs; none means all.  What
# is listed as [long] takes minutes and runs only when PATTERN is its very name.
# --set quick leaves out what is listed as [more], and the unit tests, which need no
# guest; --set more takes only that; --set rest takes what quick runs in no tier, of two
# tiers in fast; --set once takes each case once, of two tiers in fast.
# Of N parts, which take about as long each, --part takes the I-th.
# --list only lists the cases, or with --expected those that must exist (cases-expected).
# --names prints what cases-expected must hold: tier, name, and [more] or [long] of all cases.
# Prints KTAP: a plan and a result per program, the program's own KTAP before it
# behind "# ".  Exits 0 only when every program said so.
#
#   fast  both ends here: brings the two devices up (topology.sh) and takes them
#         down again when it was us who brought them
#   wire  this is the client's machine, RTGT_PEER leads to the target's
#
# The module is loaded from RTGT_KO, or with modprobe, where it is not loaded yet,
# and removed again where it was not.  A debug kernel's own verdicts, kmemleak's and
# lockdep's, are asked for behind the last program.  RTGT_SLOW multiplies all limits
# in time.  RTGT_* of the environment say where things
# are; for a run on a machine without the lab they have defaults.

set -u

HERE=$(cd "${BASH_SOURCE[0]%/*}" && pwd)

# shellcheck source=machine.sh
. "$HERE/machine.sh"
# shellcheck source=setup.sh
. "$HERE/setup.sh"

give_up() {
	printf 'run.sh: %s\n' "$*" >&2
	exit 1
}

usage() {
	sed -n '4,14{s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
}

# The programs in the order they run: the Makefile's.
programs() {
	if [[ -r $HERE/../kselftest-list.txt ]]; then
		sed -n 's/^rtgt://p' "$HERE/../kselftest-list.txt"
	else
		make -s -C "$HERE" list-programs
	fi
}

# "tier program.case description" of all cases of all tiers: the Makefile's list,
# or the programs' own.  A C program's come from the comments in its source.
list_all() {
	local program
	if ((expected)); then
		cat "$HERE/cases-expected"
		return
	fi
	if [[ -r $HERE/cases ]]; then
		cat "$HERE/cases"
		return
	fi
	for program in $(programs); do
		case $program in
		*.sh) "$HERE/$program" --list || give_up "$program --list failed" ;;
		*)
			awk -v program="$program" '
				/^\/\* .* \*\/$/ { text = substr($0, 4, length($0) - 6) }
				/^TEST_F(_TIMEOUT)?\(/ { split($0, part, /[(,) ]+/); print "fast", program "." part[2] "." part[3], text }
				/^TEST\(/ { split($0, part, /[(,) ]+/); print "fast", program ".global." part[2], text }
				' "$HERE/$program.c"
			;;
		esac
	done
}

# Lines of list_all that match a pattern.  Not read one by one: from a pipe the shell reads
# each byte by itself.
matching() { # PATTERN...
	local line id pattern
	local -a lines
	if ((!$#)); then
		cat
		return
	fi
	mapfile -t lines
	for line in "${lines[@]}"; do
		id=${line#* }
		id=${id%% *}
		for pattern; do
			# shellcheck disable=SC2053 # a glob is what it is
			if [[ $id == $pattern || $id == $pattern.* ]]; then
				printf '%s\n' "$line"
				break
			fi
		done
	done
}

# Lines of it that are to be run: a [long] case only by its own name.
runnable() { # PATTERN...
	awk -v named=" $* " '$3 != "[long]" || index(named, " " $2 " ")'
}

# Lines of it that are of the set.
set_of() { # SET
	# shellcheck disable=SC2016 # awk's variables
	case $1 in
	once)
		awk '
			{ line[NR] = $0; tier[NR] = $1; id[NR] = $2 }
			$1 == "fast" { fast[$2] = 1 }
			END {
				for (k = 1; k <= NR; k++)
					if (tier[k] == "fast" || !fast[id[k]])
						print line[k]
			}'
		;;
	rest)
		awk '
			$2 ~ /_test\./ { next }
			$3 != "[more]" { quick[$2] = 1; next }
			{ line[++n] = $0; tier[n] = $1; id[n] = $2 }
			$1 == "fast" { fast[$2] = 1 }
			END {
				for (k = 1; k <= n; k++)
					if (!quick[id[k]] && (tier[k] == "fast" || !fast[id[k]]))
						print line[k]
			}'
		;;
	*)
		awk -v set="$1" 'set == "" || ($3 == "[more]" || $2 ~ /_test\./) == (set == "more")'
		;;
	esac
}

# "./PROGRAM.sh:# weight N M", from the head of those of which a case takes as long as N ordinary
# ones, and one of the second look as M.  Another line counts where faults are injected.  With "smp"
# behind it, it is run where there are two processors (vm/lab.sh: the first part).
weights() {
	local line='^# weight [0-9.]* [0-9.]*\( smp\)*$'
	[[ ! -d /sys/kernel/debug/failslab ]] || line='^# weight [0-9.]* [0-9.]*\( smp\| where faults are injected\)*$'
	(cd "$HERE" && grep -Hm 1 "$line" ./*.sh)
}

# Lines of it that are this part's: programs, those for two processors to the first, and then from
# the heaviest on, each to the part with the least so far.
part_of_all() { # I/N
	if [[ $1 == 1/1 ]]; then
		cat
		return
	fi
	# shellcheck disable=SC2016 # awk's variables
	awk -v i="${1%/*}" -v n="${1#*/}" -v weights="$(weights)" '
		BEGIN {
			for (k = split(weights, heads, "\n"); k; k--) {
				split(heads[k], word, /(\.\/|\.sh:# weight | )/)
				weight[word[2]] = word[3]
				second[word[2]] = word[4]
				smp[word[2]] = word[5] == "smp"
			}
		}
		{ split($2, name, "."); program = name[1]; line[NR] = $0; of[NR] = program }
		!(program in cost) { order[++programs] = program }
		!(program in weight) { cost[program]++ }
		program in weight { cost[program] += $3 ~ /^\[/ ? second[program] : weight[program] }
		END {
			for (k = 1; k <= programs; k++)
				others += !smp[order[k]]
			# or another part would be empty
			for (k = 1; k <= programs && others >= n - 1; k++)
				if (smp[order[k]]) {
					part[order[k]] = 1
					sum[1] += cost[order[k]]
					cost[order[k]] = 0
				}
			for (;;) {
				heaviest = ""
				for (k = 1; k <= programs; k++)
					if (cost[order[k]] > cost[heaviest])
						heaviest = order[k]
				if (heaviest == "")
					break
				least = 1
				for (k = 2; k <= n; k++)
					if (sum[k] < sum[least])
						least = k
				part[heaviest] = least
				sum[least] += cost[heaviest]
				cost[heaviest] = 0
			}
			for (k = 1; k <= NR; k++)
				if (part[of[k]] == i)
					print line[k]
		}'
}

# On the target's machine
target() {
	if [[ -n $RTGT_PEER ]]; then
		# shellcheck disable=SC2086 # a prefix of several words
		$RTGT_PEER "$HERE/machine.sh" "$@"
	else
		"$@"
	fi
}

# What no case is judged by: the last unloading, what was logged since the last case, and what
# the kernels found by themselves.
end() {
	local rc=0
	tear_down || rc=1
	machines log_clean_since "$RTGT_OUTSIDE" || rc=1
	machines debug_verdict || rc=1
	return "$rc"
}

# Passes a KTAP stream on, a line at a time, and fails when it is not a complete
# success.
judge() {
	local -a awk=(awk)
	[[ $(awk -W version 2>/dev/null </dev/null) != mawk* ]] || awk+=(-W interactive)
	# shellcheck disable=SC2016 # awk's variables
	"${awk[@]}" '
		{ print; fflush() }
		/^1\.\.[0-9]+/ { plan = substr($1, 4) + 0 }
		/^(not )?ok / { seen++ }
		/^not ok / || /^Bail out!/ { bad = 1 }
		END { exit bad || !plan || seen != plan }'
}

tier='' set='' part=1/1 list=0 expected=0
while (($#)); do
	case $1 in
	--tier) tier=${2:?--tier fast or wire}; shift 2 ;;
	--set)
		[[ ${2:-} =~ ^(quick|more|rest|once)$ ]] ||
			give_up "--set quick, more, rest or once, not \"${2:-}\""
		set=$2
		shift 2
		;;
	--part)
		[[ ${2:-} =~ ^[1-9]/[1-9]$ ]] || give_up "--part I/N, not \"${2:-}\""
		part=$2
		shift 2
		;;
	--list) list=1; shift ;;
	--expected) expected=1; shift ;;
	--names)
		set -o pipefail
		list_all | awk '{ print $1, $2 ($3 ~ /^\[(more|long)\]$/ ? " " $3 : "") }' | LC_ALL=C sort
		exit
		;;
	-h | --help) usage; exit ;;
	-*) usage >&2; exit 2 ;;
	*) break ;;
	esac
done

# A program that cannot be listed lists nothing, and must not be left out
set -o pipefail
if ((list)); then
	list_all | set_of "$set" | matching "$@" | sed -n "/^${tier:-[a-z]*} /p" | part_of_all "$part"
	exit
fi

environment "$tier"
chosen=$(list_all | set_of "$set" | matching "$@" | runnable "$@" | sed -n "/^$RTGT_TIER /p" | part_of_all "$part")
# A program may take so long
limit=$(sed -n 's/^timeout=//p' "$HERE/settings")
[[ $chosen != *" [long] "* ]] || limit=7200
chosen=$(cut -d ' ' -f 2 <<<"$chosen")
[[ -n $chosen ]] || give_up "no case of tier $RTGT_TIER matches: $* (run.sh --list shows them all; a [long] one wants its full name)"
export RTGT_CASES=${chosen//$'\n'/ }

# A shell program picks its cases from RTGT_CASES, a C program gets kselftest's
# harness's options for them.
args=()
for program in $(programs); do
	[[ " $RTGT_CASES" == *" ${program%.sh}."* ]] || continue
	args+=(-t "rtgt:$program")
	[[ $program == *.sh ]] || export "KSELFTEST_${program^^}_ARGS=$(sed -n "s/^$program\..*\./-t /p" <<<"$chosen" | tr '\n' ' ')"
done

# whoever runs something on the target's machine would read our input there
exec </dev/null
trap tear_down EXIT
set_up_devices || give_up "$WHY"
machines debug_start || give_up "the kernel would find nothing; boot again"
set_up_module || give_up "$WHY"
# for the programs: nothing of it is theirs to do
export RTGT_READY=1
RTGT_KERNEL=$(kernel_has)
export RTGT_KERNEL
echo "# $RTGT_KERNEL"
[[ -z $RTGT_PEER ]] || target kernel_has | sed 's/^/# /'
args+=(-o $((SLOW * limit)))
"$HERE/../run_kselftest.sh" "${args[@]}" | judge
rc=$?
trap - EXIT
end 2>&1 | sed 's/^/# | /'
exit $((rc || PIPESTATUS[0]))
