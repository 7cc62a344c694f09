// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe: does to a target what the rtgt tool must not be able to do.
 *
 *	probe HOST PORT source=ADDRESS COMMAND [KEY=VALUE...]
 *	probe help [COMMAND]
 *
 * Each command is in the file of its name or, as the list below says, in another; what it takes
 * is told there, and by help.  Prints key=value words for the test to judge; a refusal by
 * the target is a result and exits 0.  Exits 1, with a line on stderr, when it
 * could not do what it was asked to, and 2 when that made no sense.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

static const struct command *const commands[] = {
	&connect_command, &access_command, &send_command, &unheard_command, &rping_command,
	&sync_command, &messages_command, &chain_command, &move_command, &invalidate_command,
	&contend_command, &traffic_command, &late_command, &closed_command, &revoked_command,
	&replies_command, &lie_command,
	/* many.c */
	&race_command, &hold_command, &end_command,
	/* large.c */
	&extents_command, &bulk_command,
	/* flood.c */
	&flood_command, &storm_command, &overtake_command,
	/* forge.c */
	&half_command, &lost_command, &guess_command,
	NULL
};

/* What is not said */
static const struct option defaults = {
	.op = "write", .len = 64, .seed = 1, .count = 1, .threads = 1, .writes = 1, .timeout = 10,
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

static const struct command *find_command(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp(name, (*c)->name))
			return *c;
	fprintf(stderr, "probe: no command %s: probe help lists them\n", name);
	return NULL;
}

static const struct arg *find_arg(const struct command *c, const char *name)
{
	for (const struct arg *const *list = c->args; *list; list++)
		for (const struct arg *a = *list; a->name; a++)
			if (!strcmp(name, a->name))
				return a;
	return NULL;
}

static int set_arg(struct option *o, const struct arg *a, const char *value)
{
	char *end, *at = (char *)o + a->at;

	if (a->text)
		return *(const char **)at = value, 0;
	if (!strcmp(a->name, "transport"))
		return set_transport(o, value);
	*(long long *)at = strtoll(value, &end, 0);
	return *end || !*value ? -1 : 0;
}

/* KEY=VALUE, of those that the command takes; the caller keeps the text */
int parse_option(const struct command *c, struct option *o, char *arg)
{
	char *value = strchr(arg, '=');
	const struct arg *a;

	if (!value)
		return -1;
	*value++ = '\0';
	a = find_arg(c, arg);
	return a ? set_arg(o, a, value) : -1;
}

static int help(const char *name)
{
	const struct command *c = name ? find_command(name) : NULL;

	if (name && !c)
		return 2;
	puts("probe HOST PORT source=ADDRESS COMMAND [KEY=VALUE...]");
	for (const struct command *const *k = commands; !name && *k; k++)
		printf("  %-14s %s\n", (*k)->name, (*k)->help);
	if (!name)
		return 0;
	printf("%s: %s\n", c->name, c->help);
	for (const struct arg *const *list = c->args; *list; list++)
		for (const struct arg *a = *list; a->name; a++)
			/* an option of two lists means what the first says */
			if (find_arg(c, a->name) == a)
				printf("  %-14s %s\n", a->name, a->help);
	return 0;
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
	const struct command *c;
	struct option o = defaults;

	if (argc >= 2 && !strcmp(argv[1], "help"))
		return help(argv[2]);
	if (argc < 5) {
		fputs("usage: probe HOST PORT source=ADDRESS COMMAND [KEY=VALUE...]\n"
		      "       probe help [COMMAND]\n", stderr);
		return 2;
	}
	c = find_command(argv[4]);
	if (!c)
		return 2;
	o.host = argv[1];
	o.port = argv[2];
	for (int i = 3; i < argc; i++) {
		if (i == 4)
			continue;
		if (parse_option(c, &o, argv[i])) {
			fprintf(stderr, "probe: what is \"%s\"? probe help %s\n", argv[i], c->name);
			return 2;
		}
	}
	o.timeout *= slowness();
	return c->run(&o);
}
