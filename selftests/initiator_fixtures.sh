# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# initiator_fixtures.sh: what cases of the kernel's initiator are written with.
#
# The initiator runs on the client's machine, so the module is loaded there too.

# An initiator on this machine, INI, aimed at PORT; what is given is set.
initiator() { # [ATTR=VALUE...]
	local word
	if [[ -n $RTGT_PEER ]]; then
		defer module_unload
		module_load
	fi
	INI=$CONFIGFS/initiators/$CASE
	defer rmdir "$INI"
	mkdir "$INI"
	for word in "addr=$RTGT_TARGET_ADDR" "port=$CM_PORT" "source=$RTGT_CLIENT_ADDR" "timeout_ms=$((10000 * SLOW))" "$@"; do
		attr_set "$INI/${word%%=*}" "${word#*=}"
	done
}

await_run() {
	contents "$DEBUGFS/initiators/$CASE/wait"
}

# Run it to its end; RESULT is "key=value" words.
run() { # [ATTR=VALUE...]
	local word key value
	for word; do
		attr_set "$INI/${word%%=*}" "${word#*=}"
	done
	attr_set "$INI/run" 1
	await_run
	RESULT=
	while read -r key value; do
		RESULT+="$key=$value "
	done <"$INI/result"
}

value() { # KEY of RESULT
	[[ " $RESULT" == *" $1="* ]] || fail "no $1: $RESULT"
	local rest=" $RESULT"
	rest=${rest#*" $1="}
	echo "${rest%% *}"
}

not_there() { # PATH
	[[ ! -e $1 ]]
}
