// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe connect: connect with any private data and say what came of it.
 */
#include <stdio.h>

#include "probe.h"

static int cmd_connect(const struct option *o)
{
	struct neighbour next = {};
	struct rtgt_err err = {};
	struct link l;
	int ret;

	if (neighbour_open(&next, o, &err)) {
		neighbour_close(&next);
		return complain("neighbour", &err);
	}
	ret = open_link(&l, o, &err);
	if (!ret) {
		puts("result=established");
		print_rep(&l);
	} else if (l.cm.refusal.typed) {
		printf("result=refused status=%d reason=%s arg=%u\n", l.cm.reject_status,
		       reason_name(l.cm.refusal.reason), l.cm.refusal.arg);
		ret = 0;
	} else if (l.cm.reject_status) {
		printf("result=refused status=%d reason=untyped\n", l.cm.reject_status);
		ret = 0;
	} else {
		complain("connect", &err);
	}
	neighbour_print(&next);
	close_link(&l);
	neighbour_close(&next);
	return ret ? 1 : 0;
}

static const struct arg connect_args[] = {
	NUMBER(neighbour, "1: another connection watches; print whether it is alive"),
	{ }
};

const struct command connect_command = {
	.name = "connect",
	.help = "connect, and print what came of it",
	.run = cmd_connect,
	.args = { connect_args, link_args },
};
