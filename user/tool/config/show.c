// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt show, and the lists of the port and region commands.
 */
#include <stdio.h>
#include <string.h>

#include "tool/cli/options.h"
#include "tool/out/json.h"
#include "model.h"
#include "show.h"
#include "tree.h"

static const struct usage_option options[] = {
	{ OPT_JSON, NULL },
	{ OPT_PRETTY, NULL },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "show",
	.synopsis = "[-j] [-p] show [OPTIONS] [PORT]",
	.about =
"Everything about the kernel target, or one of its ports: state, address, limits,\n"
"regions, connections and counters.\n",
	.options = options,
	.notes =
"Connections and counters are in debugfs, which only root can read.\n"
"Exit status: 0 done, 1 failed, 2 the command line is wrong.  See rtgt(1).\n",
};

static int print_document(const struct tool *tool, struct json_object *doc)
{
	int ret = rtgt_json_print(doc, tool->pretty, stdout);

	json_object_put(doc);
	return ret ? failed("standard output does not take it") : EXIT_OK;
}

/* A document with one list, which it takes over */
static int print_list(const struct tool *tool, const char *schema, const char *name,
		      struct json_object *list)
{
	struct json_object *doc = rtgt_json_document(schema);

	json_object_object_add(doc, name, list);
	return print_document(tool, doc);
}

static size_t length(struct json_object *array)
{
	return array ? json_object_array_length(array) : 0;
}

/* ADDRESS:PORT, an IPv6 address in brackets */
static const char *address(struct json_object *port, char *buf, size_t size)
{
	const char *addr = model_str(port, "addr");

	snprintf(buf, size, strchr(addr, ':') ? "[%s]:%s" : "%s:%s", addr,
		 model_str(port, "port"));
	return buf;
}

/* The table of rtgt port show */
int show_ports(const struct tool *tool, const char *only)
{
	struct json_object *ports = model_ports(only, false);
	char where[64];

	if (tool->json)
		return print_list(tool, "rtgt-ports-1", "ports", ports);
	printf("%-12s %-14s %-22s %-8s %-9s %-8s %9s %9s %10s %7s\n", "NAME", "STATE", "ADDRESS",
	       "SERVICE", "TRANSPORT", "SCOPE", "MAX_CONNS", "RECV_SIZE", "RECV_DEPTH", "REGIONS");
	for (size_t i = 0; i < length(ports); i++) {
		struct json_object *p = json_object_array_get_idx(ports, i);

		printf("%-12s %-14s %-22s %-8s %-9s %-8s %9s %9s %10s %7zu\n",
		       model_str(p, "name"), model_str(p, "state"),
		       address(p, where, sizeof(where)), model_str(p, "service"),
		       model_str(p, "transport"), model_str(p, "scope"), model_str(p, "max_conns"),
		       model_str(p, "recv_size"), model_str(p, "recv_depth"),
		       length(model_get(p, "regions")));
	}
	json_object_put(ports);
	return EXIT_OK;
}

/* The regions of all ports in one array, each with the name of its port */
static struct json_object *flatten(struct json_object *ports)
{
	struct json_object *all = json_object_new_array();

	for (size_t i = 0; i < length(ports); i++) {
		struct json_object *p = json_object_array_get_idx(ports, i);
		struct json_object *regions = model_get(p, "regions");

		for (size_t k = 0; k < length(regions); k++) {
			struct json_object *r = json_object_array_get_idx(regions, k);

			rtgt_json_str(r, "port", model_str(p, "name"));
			json_object_array_add(all, json_object_get(r));
		}
	}
	return all;
}

/* A region's registration on the first device, or for the first connection; NULL without one */
static struct json_object *registration(struct json_object *region)
{
	struct json_object *all = model_get(region, "registrations");

	return length(all) ? json_object_array_get_idx(all, 0) : NULL;
}

/* The table of rtgt region show */
int show_regions(const struct tool *tool, const char *only)
{
	struct json_object *ports = model_ports(only, false);
	struct json_object *all = flatten(ports);
	char name[128];

	json_object_put(ports);
	if (tool->json)
		return print_list(tool, "rtgt-regions-1", "regions", all);
	printf("%-24s %5s %11s %7s  %-23s %s\n", "REGION", "INDEX", "SIZE", "EXTENTS", "ACCESS",
	       "FILL");
	for (size_t i = 0; i < length(all); i++) {
		struct json_object *r = json_object_array_get_idx(all, i);

		snprintf(name, sizeof(name), "%s/%s", model_str(r, "port"), model_str(r, "name"));
		printf("%-24s %5s %11s %7s  %-23s %s\n", name, model_str(r, "index"),
		       model_str(r, "size"), model_str(registration(r), "extents"),
		       model_str(r, "access"), model_str(r, "fill"));
	}
	json_object_put(all);
	return EXIT_OK;
}

static double ms(struct json_object *from, const char *key)
{
	struct json_object *value = model_get(from, key);

	return value ? (double)json_object_get_int64(value) / 1e6 : 0;
}

/* What a region cost: of a private port, for the first connection */
static void print_registration(struct json_object *r)
{
	if (!r)
		return;
	printf("              on %s: extents %s, entries %s of %s bytes; ms: allocate %.3f, fill %.3f, map %.3f, register %.3f\n",
	       model_str(r, "dev"), model_str(r, "extents"), model_str(r, "entries"),
	       model_str(r, "entry_size"), ms(r, "alloc_ns"), ms(r, "fill_ns"),
	       ms(r, "dma_ns") + ms(r, "mr_ns"), ms(r, "reg_ns"));
}

static void print_connections(struct json_object *all)
{
	for (size_t i = 0; i < length(all); i++) {
		struct json_object *c = json_object_array_get_idx(all, i);

		printf("  connection  %s %s, %s on %s qpn %s, client %s: ", model_str(c, "id"),
		       model_str(c, "state"), model_str(c, "peer"), model_str(c, "dev"),
		       model_str(c, "qpn"), model_str(c, "client"));
		printf("%s messages, %s immediates, %s replies\n", model_str(c, "recv_msgs"),
		       model_str(c, "imms"), model_str(c, "replies"));
	}
}

/* Those that moved, a few to a line */
static void print_counters(struct json_object *all)
{
	size_t column = 0;

	json_object_object_foreach(all, name, value) {
		if (!json_object_get_int64(value))
			continue;
		if (column && column + strlen(name) > 72) {
			putchar('\n');
			column = 0;
		}
		column += (size_t)printf(column ? "  %s %s" : "  counters    %s %s", name,
					 json_object_get_string(value));
	}
	puts(column ? "" : "  counters    all zero");
}

static void print_port(struct json_object *p)
{
	struct json_object *regions = model_get(p, "regions"), *counters;
	struct json_object *faults = model_get(p, "faults");
	char where[64];

	printf("port %s %s %s, service %s, transport %s, scope %s\n", model_str(p, "name"),
	       model_str(p, "state"), address(p, where, sizeof(where)), model_str(p, "service"),
	       model_str(p, "transport"), model_str(p, "scope"));
	printf("  limits      max_conns %s, recv_size %s, recv_depth %s, srq %s, idle_ms %s, keepalive_ms %s, mr_max %s\n",
	       model_str(p, "max_conns"), model_str(p, "recv_size"), model_str(p, "recv_depth"),
	       model_str(p, "srq"), model_str(p, "idle_ms"), model_str(p, "keepalive_ms"),
	       model_str(p, "mr_max"));
	for (size_t i = 0; i < length(faults); i++)
		printf("  fault       %s\n",
		       json_object_get_string(json_object_array_get_idx(faults, i)));
	for (size_t i = 0; i < length(regions); i++) {
		struct json_object *r = json_object_array_get_idx(regions, i);

		printf("  region %s    %s: %s bytes, access %s, fill %s\n", model_str(r, "index"),
		       model_str(r, "name"), model_str(r, "size"), model_str(r, "access"),
		       model_str(r, "fill"));
		print_registration(registration(r));
	}
	print_connections(model_get(p, "connections"));
	counters = model_get(p, "counters");
	if (counters)
		print_counters(counters);
	else
		puts("  counters    not readable: be root, and mount debugfs");
}

/* What module and devices can, a few words to a line */
static void print_features(void)
{
	struct json_object *all = model_features();
	int column = 0;

	for (size_t i = 0; i < length(all); i++) {
		const char *word = json_object_get_string(json_object_array_get_idx(all, i));

		if (!i || column + (int)strlen(word) > 90)
			column = printf(i ? "\n         %s" : "features %s", word);
		else
			column += printf(" %s", word);
	}
	puts("");
	json_object_put(all);
}

int cmd_show(struct tool *tool, int argc, char **argv)
{
	struct words words = { argc, argv };
	struct json_object *doc, *ports;
	const char *only;
	int ret = options_parse(&usage, tool, &words, NULL, NULL);

	if (ret)
		return ret == OPTIONS_HELP ? EXIT_OK : ret;
	if (words.argc > 1)
		return misused("show takes one port, \"%s\" is too much", words.argv[1]);
	only = words.argc ? words.argv[0] : NULL;
	ret = tree_need_module();
	if (ret)
		return ret;
	ports = model_ports(only, true);
	if (only && !length(ports)) {
		json_object_put(ports);
		return failed("no port %s: rtgt port show lists them", only);
	}
	if (tool->json) {
		doc = rtgt_json_document("rtgt-show-1");
		json_object_object_add(doc, "features", model_features());
		json_object_object_add(doc, "ports", ports);
		return print_document(tool, doc);
	}
	if (!only)
		print_features();
	if (!length(ports))
		puts("no ports (rtgt port help)");
	for (size_t i = 0; i < length(ports); i++)
		print_port(json_object_array_get_idx(ports, i));
	json_object_put(ports);
	return EXIT_OK;
}
