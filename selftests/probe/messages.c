// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe messages: many SENDs over one connection, each with its reply.
 *
 * A line of stdin is a message: a name and what "probe send" takes.  Prints the
 * name and the answer; behind the last whether the connection lives.  A message
 * that is not answered is the last.  With blind=1 the target need not be rtgt's.
 */
#include <stdio.h>
#include <string.h>

#include "probe.h"

/* 0 when there is an answer */
static int one(struct link *l, const struct option *defaults, char *line, struct rtgt_err *err)
{
	struct option o = *defaults;
	struct rtgt_reply reply;
	struct ibv_wc wc;
	char *rest, *word, *name = strtok_r(line, "\n ", &rest);

	if (!name)
		return 0;
	while ((word = strtok_r(NULL, "\n ", &rest)))
		if (parse_option(&send_command, &o, word))
			return rtgt_fail(err, 22, "%s: what is \"%s\"?", name, word);
	if (o.body < 0 || o.body + sizeof(struct rtgt_msg) > l->buf.len)
		return rtgt_fail(err, 22, "%s: no room for such a body", name);
	if (exchange(l, make_msg(l, &o), &wc, &reply, err))
		return -1;
	if (wc.status != IBV_WC_SUCCESS)
		return rtgt_fail(err, 5, "%s ended with %s", name, wc_name(wc.status));
	printf("%s ", name);
	print_reply(&reply, &o);
	fflush(stdout);
	return 0;
}

static int cmd_messages(const struct option *o)
{
	struct neighbour next = {};
	struct rtgt_err err = {};
	char line[256];
	struct link l;
	int ret = -1;

	if (open_link(&l, o, &err) || neighbour_open(&next, o, &err))
		goto out;
	l.watched = true;
	ret = 0;
	while (!ret && fgets(line, sizeof(line), stdin))
		ret = one(&l, o, line, &err);
	printf("alive=%d\n", !ret && echo(&l, 4711));
	neighbour_print(&next);
out:
	if (ret)
		complain("messages", &err);
	close_link(&l);
	neighbour_close(&next);
	return ret ? 1 : 0;
}

static const struct arg messages_args[] = {
	NUMBER(neighbour, "1: another connection watches; print whether it is alive"),
	{ }
};

const struct command messages_command = {
	.name = "messages",
	.help = "many SENDs over one connection: a line of stdin is a name and options of send",
	.run = cmd_messages,
	.args = { messages_args, message_args, link_args },
};
