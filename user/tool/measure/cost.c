// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt cost: what has to be paid before the first byte is moved: memory registrations,
 * the steps of a connection, and connections that are held.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "tool/cli/interrupt.h"
#include "tool/out/json.h"
#include "cost.h"
#include "measure.h"

#define COUNT_MAX	100000
#define SIZE_MAX_REG	(1ull << 32)

static const struct usage_option options[] = {
	{ OPT_ADDRESS, NULL },
	{ OPT_PORT, NULL },
	{ OPT_SOURCE, NULL },
	{ OPT_WHAT, "mr (registrations), connect (the steps of a connection) and held (many "
		    "connections); default mr,connect" },
	{ OPT_SIZE, "mr: bytes, up to 4G; default 4K,64K,1M,16M" },
	{ OPT_HELD, "held: how many connections, growing, up to " STRING(RTGT_CONNS_MAX) "; default "
		    "1,16,64.  The port's max_conns must allow them" },
	{ OPT_COUNT, "how often each step is done; default 20" },
	{ OPT_TIMEOUT, NULL },
	{ OPT_JSON, NULL },
	{ OPT_PRETTY, NULL },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "cost",
	.synopsis = "[-j] [-p] cost [OPTIONS] HOST",
	.about =
"Time what comes before the first operation, from user space.\n",
	.options = options,
	.notes =
"Times are in microseconds.  For each number of held connections: the last 16 connects up to\n"
"that number; SENDs of 64 bytes to the answer over the first connection while the others are\n"
"idle; and how much less memory this machine has available for each connection.\n"
"\n"
"Exit status: 0 done, 1 failed, 2 the command line is wrong, 130 interrupted.\n"
"See rtgt-cost(1).\n",
};

static const struct {
	const char *name;
	int (*run)(struct cost *c, struct rtgt_err *err);
} table[] = {
	{ "mr", cost_registrations },
	{ "connect", cost_connects },
	{ "held", cost_held },
};

#define NR_TABLE	(sizeof(table) / sizeof(table[0]))
/* mr and connect */
#define DEFAULT_WHAT	0x3u

static int set_what(struct cost *c, const char *text)
{
	const char *names[NR_TABLE + 1] = { };

	for (unsigned int i = 0; i < NR_TABLE; i++)
		names[i] = table[i].name;
	return opt_words(OPT_WHAT, text, names, &c->what);
}

static int set_held(struct cost *c, const char *text)
{
	int ret = opt_sizes(OPT_HELD, text, 1, RTGT_CONNS_MAX, &c->held);

	for (unsigned int i = 1; !ret && i < c->held.nr; i++)
		if (c->held.at[i] <= c->held.at[i - 1])
			return misused("--held \"%s\": the numbers must grow", text);
	return ret;
}

static int set_option(void *arg, enum opt opt, char *text)
{
	struct cost *c = arg;
	int ret = where_option(&c->to, opt, text);

	if (ret != NOT_WHERE)
		return ret;
	switch (opt) {
	case OPT_WHAT:
		return set_what(c, text);
	case OPT_SIZE:
		return opt_sizes(opt, text, 1, SIZE_MAX_REG, &c->size);
	case OPT_HELD:
		return set_held(c, text);
	default:
		return opt_int(opt, text, 1, COUNT_MAX, &c->count);
	}
}

int cmd_cost(struct tool *tool, int argc, char **argv)
{
	struct cost c = {
		.tool = tool,
		.to = { .service = STRING(RTGT_PORT), .timeout = default_timeout() },
		.what = DEFAULT_WHAT,
		.size = { { 4096, 65536, 1 << 20, 16 << 20 }, 4 },
		.held = { { 1, 16, 64 }, 3 },
		.count = 20,
	};
	struct rtgt_err err = { };
	struct words words = { argc, argv };
	int ret = options_parse(&usage, tool, &words, set_option, &c);

	if (!ret)
		ret = where_host(&c.to, usage.name, &words);
	if (ret)
		return ret == OPTIONS_HELP ? EXIT_OK : ret;
	c.results = json_object_new_array();
	c.cancel = interrupt_event((int)SA_RESETHAND);
	if (c.cancel < 0)
		ret = rtgt_fail(&err, errno, "no eventfd: %s", strerror(errno));
	for (unsigned int i = 0; !ret && i < NR_TABLE; i++)
		if (c.what & 1u << i)
			ret = table[i].run(&c, &err);
	/* however it was noticed */
	if (ret && interrupted)
		rtgt_fail(&err, EINTR, "interrupted");
	if (ret)
		failed("%s", err.text);
	if (!c.facts.version)
		rtgt_facts_host(&c.facts);
	if (tool->json && out_print(tool, out_document(tool, COST_SCHEMA, &c.facts, c.results,
						       ret ? rtgt_json_error(&err) : NULL)))
		ret = -EIO;
	if (ret)
		ret = interrupted ? EXIT_INTERRUPTED : EXIT_FAILED;
	json_object_put(c.results);
	return ret;
}
