// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe: does to a target what the rtgt tool must not be able to do.
 *
 *	probe HOST PORT source=ADDRESS COMMAND [KEY=VALUE...]
 *
 * timeout=SECONDS, 10 if not told, bounds each step; RTGT_SLOW multiplies it.
 *
 * The commands are in the table below, each in the file of its name or, where it
 * says so, another.  Prints key=value words for the test to judge; a refusal by
 * the target is a result and exits 0.  Exits 1, with a line on stderr, when it
 * could not do what it was asked to, and 2 when that made no sense.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

static const struct {
	const char *name;
	int (*run)(const struct option *o);
} commands[] = {
	{ "connect", cmd_connect },
	{ "access", cmd_access },
	{ "send", cmd_send },
	{ "unheard", cmd_unheard },
	{ "rping", cmd_rping },
	{ "sync", cmd_sync },
	{ "messages", cmd_messages },
	{ "chain", cmd_chain },
	{ "move", cmd_move },
	{ "invalidate", cmd_invalidate },
	{ "contend", cmd_contend },
	{ "traffic", cmd_traffic },
	/* many.c */
	{ "race", cmd_race },
	{ "hold", cmd_hold },
	/* large.c */
	{ "extents", cmd_extents },
	{ "bulk", cmd_bulk },
	/* flood.c */
	{ "flood", cmd_flood },
	{ "storm", cmd_storm },
	{ "overtake", cmd_overtake },
	/* forge.c */
	{ "half", cmd_half },
	{ "lost", cmd_lost },
};

static const struct {
	const char *name;
	size_t at;
} numbers[] = {
#define NUMBER(field) { #field, offsetof(struct option, field) }
	NUMBER(offset), NUMBER(len), NUMBER(addr), NUMBER(rkey), NUMBER(rkey_xor), NUMBER(key_of),
	NUMBER(imm), NUMBER(seed), NUMBER(region), NUMBER(show),
	NUMBER(magic), NUMBER(version), NUMBER(size), NUMBER(plain), NUMBER(extra),
	NUMBER(msg_version), NUMBER(msg_op), NUMBER(tag), NUMBER(msg_len), NUMBER(body),
	NUMBER(cut), NUMBER(count), NUMBER(threads), NUMBER(timeout),
	NUMBER(compare), NUMBER(swap), NUMBER(reads), NUMBER(holds), NUMBER(rnr_retry),
	NUMBER(withhold), NUMBER(revoke), NUMBER(neighbour), NUMBER(other),
	NUMBER(wait), NUMBER(bytes), NUMBER(depth),
	NUMBER(blind), NUMBER(qkey_xor), NUMBER(sink), NUMBER(ms), NUMBER(arg),
	NUMBER(sges), NUMBER(inline_data), NUMBER(fence), NUMBER(to), NUMBER(step),
	NUMBER(rotate), NUMBER(elsewhere), NUMBER(odp),
	NUMBER(at), NUMBER(rights), NUMBER(bindable), NUMBER(window), NUMBER(window_at),
	NUMBER(window_len), NUMBER(window_rights), NUMBER(kill), NUMBER(leave),
#undef NUMBER
};

/* What is not said */
static const struct option defaults = {
	.op = "write", .len = 64, .seed = 1, .count = 1, .threads = 1, .timeout = 10,
	.magic = -1, .version = -1, .size = -1, .key_of = -1, .reads = -1, .holds = -1,
	.rnr_retry = -1, .msg_version = RTGT_VERSION, .msg_op = RTGT_MSG_ECHO, .msg_len = -1,
	.tag = 7, .cut = -1, .depth = 8, .ms = RTGT_WITHHOLD_MAX_MS,
	.sges = 1, .rights = 3, .bindable = 1, .window_len = -1, .window_rights = 3,
};

static int set_transport(struct option *o, const char *name)
{
	for (o->transport = RTGT_RC; o->transport <= RTGT_UD; o->transport++)
		if (!strcmp(name, rtgt_transport_str((enum rtgt_transport)o->transport)))
			return 0;
	return -1;
}

/* KEY=VALUE; the caller keeps the text */
int parse_option(struct option *o, char *arg)
{
	char *value = strchr(arg, '='), *end;

	if (!value)
		return -1;
	*value++ = '\0';
	if (!strcmp(arg, "source"))
		return o->source = value, 0;
	if (!strcmp(arg, "op"))
		return o->op = value, 0;
	if (!strcmp(arg, "file"))
		return o->file = value, 0;
	if (!strcmp(arg, "transport"))
		return set_transport(o, value);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strcmp(arg, numbers[i].name))
			continue;
		*(long long *)((char *)o + numbers[i].at) = strtoll(value, &end, 0);
		return *end || !*value ? -1 : 0;
	}
	return -1;
}

/* How many times slower than usual this kernel is */
static long long slowness(void)
{
	const char *text = getenv("RTGT_SLOW");
	long long slow = text ? strtoll(text, NULL, 10) : 1;

	return slow > 1 ? slow : 1;
}

int main(int argc, char **argv)
{
	struct option o = defaults;

	if (argc < 5) {
		fputs("usage: probe HOST PORT source=ADDRESS COMMAND [KEY=VALUE...]\n", stderr);
		return 2;
	}
	o.host = argv[1];
	o.port = argv[2];
	for (int i = 3; i < argc; i++) {
		if (i != 4 && parse_option(&o, argv[i])) {
			fprintf(stderr, "probe: what is \"%s\"?\n", argv[i]);
			return 2;
		}
	}
	o.timeout *= slowness();
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[4], commands[i].name))
			return commands[i].run(&o);
	fprintf(stderr, "probe: no command %s\n", argv[4]);
	return 2;
}
