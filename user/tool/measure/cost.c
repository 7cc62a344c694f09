// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt cost: what has to be paid before the first byte is moved: memory registrations,
 * the steps of a connection, and connections that are held.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "tool/out/json.h"
#include "cost.h"
#include "measure.h"

#define COUNT_MAX	100000
#define SIZE_MAX_REG	(1ull << 32)
#define HELD_MAX	65536

static const char help[] =
"Usage: rtgt [-j] [-p] cost [OPTIONS] HOST\n"
"\n"
"Time what comes before the first operation, from user space.\n"
"\n"
"  -a, --address HOST   where to; the same as HOST\n"
"  -p, --port PORT      port, " STRING(RTGT_PORT) " by default\n"
"  -I, --source ADDR    connect from this address\n"
"      --what LIST      of mr (registrations), connect (the steps of a connection) and held\n"
"                       (many connections); by default mr,connect\n"
"  -S, --size LIST      mr: bytes, up to 4G; by default 4K,64K,1M,16M\n"
"      --held LIST      held: how many connections, growing; by default 1,16,64.  The port's\n"
"                       max_conns must allow them\n"
"  -C, --count N        how often, 20 by default\n"
"      --timeout S      bound of each step, 10 seconds by default\n"
"  -h, --help           this text\n"
"\n"
"Times are in microseconds.  Of what is held: the last 16 connects before there were so\n"
"many, SENDs of 64 bytes to the answer over the first connection while the others are\n"
"idle, and by how much the memory that this machine has available shrank for each.\n"
"\n"
"Exit status: 0 done, 1 failed, 2 the command line is wrong.  See rtgt-cost(1).\n";

enum {
	OPT_WHAT = 256,
	OPT_HELD,
	OPT_TIMEOUT,
};

static const struct option options[] = {
	{ "address", required_argument, NULL, 'a' },
	{ "port", required_argument, NULL, 'p' },
	{ "source", required_argument, NULL, 'I' },
	{ "what", required_argument, NULL, OPT_WHAT },
	{ "size", required_argument, NULL, 'S' },
	{ "held", required_argument, NULL, OPT_HELD },
	{ "count", required_argument, NULL, 'C' },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "help", no_argument, NULL, 'h' },
	{ }
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

/**
 * cost_out() - a line of what was found
 * @c: where
 * @row: what
 */
void cost_out(struct cost *c, const struct cost_row *row)
{
	struct json_object *o = json_object_new_object(), *us = json_object_new_object();
	const struct rtgt_hist *h = row->ns;
	uint64_t p50 = rtgt_hist_percentile(h, 500), p99 = rtgt_hist_percentile(h, 990);
	char kib[32] = "";

	if (!c->tool->json) {
		if (!c->rows++)
			printf("%-12s %12s %-12s %7s %10s %10s %10s %10s %6s\n", "what", "number", "",
			       "count", "min us", "p50", "p99", "max", "KiB");
		if (row->kib >= 0)
			snprintf(kib, sizeof(kib), "%.1f", row->kib);
		printf("%-12s %12llu %-12s %7llu %10.1f %10.1f %10.1f %10.1f %6s\n", row->what,
		       (unsigned long long)row->number, row->unit, (unsigned long long)h->count,
		       (double)h->min / 1e3, (double)p50 / 1e3, (double)p99 / 1e3,
		       (double)h->max / 1e3, kib);
		fflush(stdout);
	}
	rtgt_json_str(o, "what", row->what);
	rtgt_json_int(o, "number", (int64_t)row->number);
	rtgt_json_str(o, "unit", row->unit);
	rtgt_json_int(o, "count", (int64_t)h->count);
	rtgt_json_us(us, "min", h->min);
	rtgt_json_us(us, "p50", p50);
	rtgt_json_us(us, "p99", p99);
	rtgt_json_us(us, "max", h->max);
	json_object_object_add(o, "us", us);
	if (row->kib >= 0)
		json_object_object_add(o, "kib_per_connection", json_object_new_double(row->kib));
	json_object_array_add(c->results, o);
}

static int parse_what(struct cost *c, const char *text)
{
	c->what = 0;
	for (size_t len, i; *text; text += len + (text[len] == ',')) {
		len = strcspn(text, ",");
		for (i = 0; i < NR_TABLE; i++)
			if (!strncmp(text, table[i].name, len) && !table[i].name[len])
				break;
		if (i == NR_TABLE)
			return misused("no \"%.*s\": mr, connect or held", (int)len, text);
		c->what |= 1u << i;
	}
	return c->what ? EXIT_OK : misused("--what: an empty list");
}

static int parse_list(struct cost_list *list, const char *option, const char *text, uint64_t max)
{
	uint64_t value;

	for (list->nr = 0; list->nr < COST_LIST; text++) {
		if (read_size(text, &text, &value) || !value || value > max)
			break;
		list->value[list->nr++] = value;
		if (!*text)
			return EXIT_OK;
		if (*text != ',')
			break;
	}
	return misused("%s: up to %d numbers of 1 to %llu, with commas between (%s)", option,
		       COST_LIST, (unsigned long long)max, text);
}

static int parse_held(struct cost *c, const char *text)
{
	int ret = parse_list(&c->held, "--held", text, HELD_MAX);

	for (unsigned int i = 1; !ret && i < c->held.nr; i++)
		if (c->held.value[i] <= c->held.value[i - 1])
			return misused("--held: the numbers must grow (%s)", text);
	return ret;
}

static int set_option(struct cost *c, int opt, char **argv)
{
	uint64_t value;
	int ret;

	switch (opt) {
	case 'a':
		c->cm.host = optarg;
		return EXIT_OK;
	case 'p':
		c->cm.service = optarg;
		return parse_int("-p", optarg, 1, 65535, &value);
	case 'I':
		c->cm.source = optarg;
		return EXIT_OK;
	case OPT_WHAT:
		return parse_what(c, optarg);
	case 'S':
		return parse_list(&c->size, "-S", optarg, SIZE_MAX_REG);
	case OPT_HELD:
		return parse_held(c, optarg);
	case 'C':
		return parse_int("-C", optarg, 1, COUNT_MAX, &c->count);
	case OPT_TIMEOUT:
		ret = parse_int("--timeout", optarg, 1, 3600, &value);
		c->cm.timeout_ms = (int)value * 1000;
		return ret;
	case ':':
		return misused("%s needs a value (rtgt cost --help)", argv[optind - 1]);
	default:
		return misused("unknown option %s (rtgt cost --help)", argv[optind - 1]);
	}
}

/* Return: an exit status, or -1 when --help was the whole of it */
static int parse(struct cost *c, int argc, char **argv)
{
	int opt, ret;

	/* main() used getopt() on other words and with other rules: begin anew */
	optind = 0;
	while ((opt = getopt_long(argc, argv, ":a:p:I:S:C:h", options, NULL)) != -1) {
		if (opt == 'h') {
			print_help(help);
			return -1;
		}
		ret = set_option(c, opt, argv);
		if (ret)
			return ret;
	}
	if (optind < argc && !c->cm.host)
		c->cm.host = argv[optind++];
	if (optind < argc)
		return misused("what is \"%s\"? (rtgt cost --help)", argv[optind]);
	return c->cm.host ? EXIT_OK : misused("rtgt cost HOST: where to? (rtgt cost --help)");
}

int cmd_cost(const struct tool *tool, int argc, char **argv)
{
	struct cost c = {
		.tool = tool,
		.cm = { .service = STRING(RTGT_PORT), .timeout_ms = (int)default_timeout() * 1000 },
		.what = DEFAULT_WHAT,
		.size = { { 4096, 65536, 1 << 20, 16 << 20 }, 4 },
		.held = { { 1, 16, 64 }, 3 },
		.count = 20,
	};
	struct rtgt_err err = { };
	/* the command itself stands in front, where getopt() expects it */
	int ret = parse(&c, argc + 1, argv - 1);

	if (ret)
		return ret < 0 ? EXIT_OK : ret;
	c.results = json_object_new_array();
	for (unsigned int i = 0; !ret && i < NR_TABLE; i++)
		if (c.what & 1u << i)
			ret = table[i].run(&c, &err);
	if (ret)
		ret = failed("%s", err.text);
	else if (tool->json)
		ret = out_document(tool, COST_SCHEMA, &c.facts, c.results);
	json_object_put(c.results);
	return ret;
}
