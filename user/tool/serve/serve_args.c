// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The command line of rtgt serve: options, then the keys of rtgt port add, then regions
 * with the keys of rtgt region add.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/config/attr.h"
#include "tool/cli/options.h"
#include "serve.h"

#define GIB	(1ull << 30)

static const struct usage_option options[] = {
	{ OPT_STATE, "keep in DIR, which must be on a tmpfs, what the kernel's target has in debugfs: "
		     "counters, connections, regions/NAME/data (the memory itself), "
		     "conns/ID/NAME/data of private connections" },
	{ OPT_STATS, "print the counters at the end; SIGUSR1 prints them at any time" },
	{ OPT_VERBOSE, "print a line for each connection: refused, established, closed" },
	{ OPT_ONCE, "end when one connection was served" },
	{ OPT_COUNT, "end when N connections were served" },
	{ OPT_WINDOWS, "with scope private: a client can invalidate its keys with "
		       "SEND_WITH_INVALIDATE and get new ones, as from the kernel's target.  For "
		       "trusted clients: one that invalidates a key twice crashes a kernel with "
		       "rxe" },
	{ OPT_FAULT, "misbehave, to test initiators: NAME, then any of every N, after N, for N "
		     "(times in all) and ms N, as in \"reply-tag every 3 after 10\".  The "
		     "option may be repeated.  --state has the counts in the file faults" },
	{ OPT_FAULTS, "list the names of the faults: name, the event at which it can be due, "
		      "whether it needs ms, what the server does" },
	{ OPT_POLL, NULL },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "serve",
	.synopsis = "serve [OPTIONS] [KEY VALUE]... [region NAME [KEY VALUE]...]...",
	.about =
"Serve the kernel target's protocol from user space, until SIGTERM or SIGINT: the same\n"
"clients, the same requests, the same answers.  Prints \"listening on ADDR port N\" when\n"
"clients can connect.\n"
"\n"
"Keys, as of rtgt port add:\n"
"  addr 0.0.0.0        IPv4 or IPv6 address to listen on\n"
"  port " STRING(RTGT_PORT) "           1 to 65535\n"
"  transport rc        rc; uc, which clients connect to with RDMA_PS_IB; ud, with RDMA_PS_UDP,\n"
"                      one endpoint for all clients of a device, and no memory\n"
"  scope shared        shared: one memory for all connections; private: each has its own\n"
"  srq 0               1: the connections of a shared port use one shared receive queue, of\n"
"                      recv_depth receives, for each device\n"
"  max_conns 1024      connections at a time, 1 to " STRING(RTGT_CONNS_MAX) "\n"
"  recv_size 4096      bytes of the largest SEND taken, " STRING(RTGT_RECV_SIZE_MIN)
" to 2M (K, M)\n"
"  recv_depth 16       SENDs held at a time, 1 to " STRING(RTGT_RECV_DEPTH_MAX) "\n"
"  withhold_max 0      receives that WITHHOLD may hold back at a time, up to "
STRING(RTGT_RECV_DEPTH_MAX) ";\n"
"                      0: half of those that clients share (srq, ud), all of others\n"
"  idle_ms 0           close a connection that sent no message and no immediate for this many\n"
"                      milliseconds, up to " STRING(RTGT_IDLE_MAX_MS) "; 0: never\n"
"  mr_max 0            bytes of the largest memory registration, whole pages; 0: no limit\n"
"\n"
"Keys of a region, as of rtgt region add; without any there is one, \"data\", of 1M:\n"
"  size 4096           bytes, 1 to " STRING(RTGT_REGION_MAX_GIB) "G (K, M, G)\n"
"  access read,write   what a peer may do: read, write, atomic, flush, separated by commas\n"
"  fill zero           what it holds at first: zero, counter or a byte as 0xNN\n",
	.options = options,
	.notes =
"Exit status: 0 ended by a signal or its count, 1 it could not serve, 2 the command line\n"
"is wrong.  See rtgt-serve(1).\n"
"Example:\n"
"  rtgt serve addr 192.0.2.1 scope private region data size 1M access read,write,atomic\n",
	.stop = true,
};

static_assert(RTGT_RECV_SIZE_MAX == 2 << 20, "the help says 2M");

static int words(const char *text, const char *first, const char *second)
{
	return !strcmp(text, first) ? 0 : second && !strcmp(text, second) ? 1 : -EINVAL;
}

static int bytes(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	const char *stop;

	if (read_size(text, &stop, value) || *stop || *value < min || *value > max)
		return -EINVAL;
	return 0;
}

static int number(const char *text, uint64_t min, uint64_t max, uint32_t *value)
{
	uint64_t n;

	if (bytes(text, min, max, &n))
		return -EINVAL;
	*value = (uint32_t)n;
	return 0;
}

/* The port stays */
static int addr_value(const char *text, struct sockaddr_storage *addr)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *ai;
	in_port_t port = ((struct sockaddr_in *)addr)->sin_port;

	/* of IPv4 it would take less than four numbers */
	if (!strchr(text, ':') && inet_pton(AF_INET, text, &(struct in_addr) { 0 }) != 1)
		return -EINVAL;
	if (getaddrinfo(text, NULL, &hints, &ai))
		return -EINVAL;
	memcpy(addr, ai->ai_addr, ai->ai_addrlen);
	((struct sockaddr_in *)addr)->sin_port = port;
	freeaddrinfo(ai);
	return 0;
}

static int access_value(const char *text, uint32_t *access)
{
	static const char *const right[] = { "read", "write", "atomic", "flush" };
	size_t len, i;

	*access = 0;
	for (;; text += len + 1) {
		len = strcspn(text, ",");
		for (i = 0; i < 4; i++)
			if (strlen(right[i]) == len && !strncmp(text, right[i], len))
				break;
		if (i == 4)
			return -EINVAL;
		*access |= 1u << i;
		if (!text[len])
			return 0;
	}
}

static int fill_value(const char *text, uint16_t *fill)
{
	unsigned long value;
	char *end;

	if (words(text, "zero", "counter") >= 0) {
		*fill = words(text, "zero", "counter") ? SERVE_FILL_COUNTER : 0;
		return 0;
	}
	value = strtoul(text, &end, 16);
	if (strncmp(text, "0x", 2) || !text[2] || *end || value > 255)
		return -EINVAL;
	*fill = (uint16_t)value;
	return 0;
}

/* -EOPNOTSUPP for an attribute that only a port of the kernel's target has */
static int port_value(struct serve_cfg *cfg, const char *key, const char *text)
{
	uint32_t port;
	int which;

	if (!strcmp(key, "addr"))
		return addr_value(text, &cfg->addr);
	if (!strcmp(key, "port")) {
		if (number(text, 1, 65535, &port))
			return -EINVAL;
		/* at the same place for both families */
		((struct sockaddr_in *)&cfg->addr)->sin_port = htons((uint16_t)port);
		return 0;
	}
	if (!strcmp(key, "scope")) {
		which = words(text, "shared", "private");
		cfg->private = which == 1;
		return which < 0 ? which : 0;
	}
	if (!strcmp(key, "service"))
		return words(text, "rtgt", NULL);
	if (!strcmp(key, "transport")) {
		which = words(text, "rc", "uc");
		if (which < 0)
			which = words(text, "ud", NULL) ? -EINVAL : SERVE_UD;
		cfg->transport = (enum serve_transport)which;
		return which < 0 ? which : 0;
	}
	if (!strcmp(key, "srq")) {
		which = words(text, "0", "1");
		cfg->srq = which == 1;
		return which < 0 ? which : 0;
	}
	if (!strcmp(key, "max_conns"))
		return number(text, 1, RTGT_CONNS_MAX, &cfg->max_conns);
	if (!strcmp(key, "recv_size"))
		return number(text, RTGT_RECV_SIZE_MIN, RTGT_RECV_SIZE_MAX, &cfg->recv_size);
	if (!strcmp(key, "recv_depth"))
		return number(text, 1, RTGT_RECV_DEPTH_MAX, &cfg->recv_depth);
	if (!strcmp(key, "withhold_max"))
		return number(text, 0, RTGT_RECV_DEPTH_MAX, &cfg->withhold_max);
	if (!strcmp(key, "idle_ms"))
		return number(text, 0, RTGT_IDLE_MAX_MS, &cfg->idle_ms);
	if (strcmp(key, "mr_max"))
		return -EOPNOTSUPP;
	if (bytes(text, 0, RTGT_EXTENT_MAX_GIB * GIB, &cfg->mr_max) ||
	    cfg->mr_max & ((uint64_t)sysconf(_SC_PAGESIZE) - 1))
		return -EINVAL;
	return 0;
}

static int region_value(struct serve_spec *spec, const char *key, const char *text)
{
	if (!strcmp(key, "size"))
		return bytes(text, 1, RTGT_REGION_MAX_GIB * GIB, &spec->size);
	if (!strcmp(key, "access"))
		return access_value(text, &spec->access);
	return fill_value(text, &spec->fill);
}

/* What is different from the kernel's target */
static const struct attr serve_attrs[] = {
	{ "service", false, "it speaks rtgt only; the other services are the kernel target's" },
	{ }
};

static int bad_value(const struct attr *attr, const char *text)
{
	for (const struct attr *a = serve_attrs; a->name; a++)
		if (!strcmp(a->name, attr->name))
			attr = a;
	return misused("%s \"%s\": %s", attr->name, text, attr->takes);
}

static int add_region(struct serve_cfg *cfg, const char *name)
{
	struct serve_spec *spec = &cfg->region[cfg->nr_regions];

	if (!name)
		return misused("region which? a name, then its keys (rtgt serve --help)");
	if (!tree_name_ok(name) || strlen(name) >= sizeof(spec->name))
		return misused("\"%s\" is no name for a region: letters, digits, _ . - and at most %zu of them",
			       name, sizeof(spec->name) - 1);
	if (cfg->nr_regions == RTGT_MAX_REGIONS)
		return misused("region %s is one too many: at most %d", name, RTGT_MAX_REGIONS);
	for (unsigned int i = 0; i < cfg->nr_regions; i++)
		if (!strcmp(cfg->region[i].name, name))
			return misused("there are two regions %s", name);
	*spec = (struct serve_spec) {
		.size = 4096,
		.access = RTGT_ACCESS_READ | RTGT_ACCESS_WRITE,
	};
	snprintf(spec->name, sizeof(spec->name), "%s", name);
	cfg->nr_regions++;
	return EXIT_OK;
}

static int add_pair(struct serve_cfg *cfg, const char *key, const char *value)
{
	struct serve_spec *spec = cfg->nr_regions ? &cfg->region[cfg->nr_regions - 1] : NULL;
	const struct attr *attr = attr_find(spec ? region_attrs : port_attrs, key);
	int ret;

	if (!attr)
		return misused("\"%s\" is no key of %s, or not only one (rtgt serve --help)", key,
			       spec ? "a region" : "the port");
	if (!value)
		return misused("%s needs a value", attr->name);
	ret = spec ? region_value(spec, attr->name, value) : port_value(cfg, attr->name, value);
	if (ret == -EOPNOTSUPP)
		return misused("rtgt serve has no %s: only a port of the kernel's target has it",
			       attr->name);
	return ret ? bad_value(attr, value) : EXIT_OK;
}

static int take_words(struct serve_cfg *cfg, int argc, char **argv)
{
	int ret = EXIT_OK;

	for (int i = 0; i < argc && !ret; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(argv[i], "region"))
			ret = add_region(cfg, value);
		else
			ret = add_pair(cfg, argv[i], value);
	}
	if (!ret && cfg->windows && !cfg->private)
		ret = misused("--windows needs scope private: of a shared region a key is everybody's");
	if (!ret && cfg->windows && cfg->transport != SERVE_RC)
		ret = misused("--windows needs transport rc: nobody else has SEND_WITH_INVALIDATE");
	if (!ret && cfg->count && cfg->transport == SERVE_UD)
		ret = misused("--once and --count need connections: transport ud has none");
	if (!ret && !cfg->nr_regions) {
		ret = add_region(cfg, "data");
		cfg->region[0].size = 1u << 20;
	}
	return ret;
}

static int add_fault(struct serve_cfg *cfg, const char *text)
{
	struct rtgt_fault_rule rule;
	unsigned int fault;

	if (rtgt_fault_parse(text, &fault, &rule) || fault == RTGT_NR_FAULTS)
		return misused("--fault \"%s\": a name of rtgt serve --faults, then any of every N, after N, for N; ms N, at most %d, if the fault needs it, and only then",
			       text, RTGT_FAULT_MAX_MS);
	cfg->fault[fault].rule = rule;
	cfg->faulty = true;
	return EXIT_OK;
}

static int set_option(void *arg, enum opt opt, char *text)
{
	struct serve_cfg *cfg = arg;

	switch (opt) {
	case OPT_STATE:
		cfg->state = text;
		return EXIT_OK;
	case OPT_ONCE:
		cfg->count = 1;
		return EXIT_OK;
	case OPT_COUNT:
		return opt_int(opt, text, 1, UINT32_MAX, &cfg->count);
	case OPT_POLL:
		cfg->poll = true;
		return EXIT_OK;
	case OPT_WINDOWS:
		cfg->windows = true;
		return EXIT_OK;
	case OPT_FAULT:
		return add_fault(cfg, text);
	case OPT_FAULTS:
		cfg->list = true;
		return EXIT_OK;
	case OPT_STATS:
		cfg->stats = true;
		return EXIT_OK;
	default:
		cfg->verbose = true;
		return EXIT_OK;
	}
}

/* EXIT_OK to go on; OPTIONS_HELP when --help was the whole of it */
int serve_args(struct serve_cfg *cfg, struct tool *tool, int argc, char **argv)
{
	struct words words = { argc, argv };
	int ret;

	*cfg = (struct serve_cfg) { .max_conns = 1024, .recv_size = 4096, .recv_depth = 16 };
	cfg->addr.ss_family = AF_INET;
	((struct sockaddr_in *)&cfg->addr)->sin_port = htons(RTGT_PORT);
	ret = options_parse(&usage, tool, &words, set_option, cfg);
	if (!ret && cfg->list) {
		serve_fault_list(stdout);
		return fflush(stdout) ? EXIT_FAILED : OPTIONS_HELP;
	}
	return ret ? ret : take_words(cfg, words.argc, words.argv);
}
