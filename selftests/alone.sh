#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# alone.sh: a program of the suite that nobody has set up for: started by hand, by "make
# run_tests" or by kselftest's runner.
#
# A case starts another program in an empty environment, and with a file of its own for the
# state that the machine must return to.
#
# weight 1.0 1.9

# $ is that of another shell
# shellcheck disable=SC2016
. "${0%/*}/lib.sh"

# Its status and a line of its output.
alone() { # STATUS TEXT CMD...
	local rc=0
	env -i PATH="$PATH" RTGT_DEVICE="$RTGT_DEVICE" RTGT_BOOKS="$WORK/books" "${@:3}" >"$WORK/alone" 2>&1 || rc=$?
	same "the status of ${*:3}" "$rc" "$1"
	grep -qxF -- "$2" "$WORK/alone" || fail "wanted \"$2\" in: $(<"$WORK/alone")"
}

unprivileged() {
	setpriv --reuid 65534 --clear-groups test -x "$HERE/configfs.sh" || skip "$HERE is root's alone"
	alone 4 "1..0 # SKIP must run as root" setpriv --reuid 65534 --clear-groups "$HERE/configfs.sh"
}

netns() {
	alone 4 "1..0 # SKIP runs in the first network namespace only" unshare --net "$HERE/configfs.sh"
}

# To a shell that does not see what shows it, the module is not there; nor is its file.
no_module() {
	alone 4 "1..0 # SKIP no module rtgt: modprobe does not find it, and RTGT_KO does not name its file" \
		unshare --mount bash -c 'for dir in /sys/module /sys/kernel/config /lib/modules; do
				mount -t tmpfs none "$dir" || exit
			done
			exec "$0"' "$HERE/configfs.sh"
}

no_tool() {
	local dir
	dir=$(type -P rtgt) || skip "rtgt is not installed"
	dir=${dir%/*}
	[[ $dir != /bin && $dir != /usr/* ]] || skip "rtgt is in $dir, where all else is"
	alone 0 "# reason: rtgt is not installed" \
		unshare --mount bash -c 'mount -t tmpfs none "$0" && exec "$@"' "$dir" "$HERE/ops.sh" write-1
	grep -qxF "ok 1 write-1 # SKIP" "$WORK/alone" || fail "$(<"$WORK/alone")"
}

passes() {
	alone 0 "# Totals: pass:1 fail:0 xfail:0 xpass:0 skip:0 error:0" "$HERE/connect.sh" two-ports
	same "a file left" "$(ls "$WORK/books" 2>/dev/null)" ""
}

tcase unprivileged --more "a program that root has not started is skipped, with the reason" unprivileged
tcase netns --more "a program in a network namespace is skipped, with the reason" netns
tcase no-module --more "a program that finds no module is skipped, with the reason" no_module
tcase no-tool --more "a case that needs a command which is not installed is skipped, with its name" no_tool
tcase passes --more "a program that is started by hand passes" passes
tmain "$@"
