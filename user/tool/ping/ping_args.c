// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The command line of rtgt ping.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "ping.h"

static const char help[] =
"Usage: rtgt ping [OPTIONS] HOST\n"
"\n"
"Connect to a target and do WRITE, READ, WRITE_WITH_IMM and SEND, or what else -o names, in\n"
"all sizes, one at a time.  Every byte is verified: here, and at the target through its\n"
"checksum.  Letters are rping's where they mean the same.\n"
"\n"
"  -a, --address HOST   where to; the same as HOST\n"
"  -p, --port PORT      port, 7471 by default\n"
"  -I, --source ADDR    connect from this address\n"
"  -o, --ops LIST       of write, read, write-imm, send (the default), send-imm, send-inv,\n"
"                       cas, faa, atomic-write, flush, pull, push; or all that are possible\n"
"      --transport T    rc (default), uc or ud, as the port has it\n"
"  -S, --size LIST      bytes: 64 or 1,4K,1M or 1-1M (doubling); 1 B to 1 MiB by default,\n"
"                       as far as the region and the port's recv_size reach\n"
"  -C, --count N        iterations of each operation and size; by default 100, and 10 above 64K\n"
"  -r, --region N       which of the port's regions, 0 by default\n"
"  -V, --verify         verify the data (default)\n"
"      --no-verify      only look at completions\n"
"      --inline         post data inline, up to what the device takes\n"
"      --sge N          data in N pieces, in a scatter-gather list\n"
"      --unsignaled N   WRITEs and READs as chains of N requests, only the last signaled\n"
"      --window         pull and push through a memory window of their own (type 2)\n"
"      --odp            register memory on demand instead of pinning it\n"
"      --fence          fenced requests; a READ is followed by a fenced WRITE of its data\n"
"      --poll           spin on the completion queue instead of sleeping: wants a CPU of its own\n"
"      --timeout SECS   bound of each step and operation, 10 by default\n"
"  -v, --verbose        show the first bytes of the data\n"
"  -q, --quiet          print errors only\n"
"  -d, --debug          connection, QP, MR, SGE, WR and WC facts on stderr\n"
"  -j, --json           one JSON document (also: rtgt -j [-p] ping)\n"
"  -h, --help           this text\n"
"\n"
"Exit status: 0 all verified, 1 something failed, 2 the command line is wrong.\n";

enum {
	OPT_NO_VERIFY = 256,
	OPT_POLL,
	OPT_TIMEOUT,
	OPT_TRANSPORT,
	OPT_INLINE,
	OPT_SGE,
	OPT_UNSIGNALED,
	OPT_FENCE,
	OPT_WINDOW,
	OPT_ODP,
};

static const struct option options[] = {
	{ "address", required_argument, NULL, 'a' },
	{ "port", required_argument, NULL, 'p' },
	{ "source", required_argument, NULL, 'I' },
	{ "ops", required_argument, NULL, 'o' },
	{ "size", required_argument, NULL, 'S' },
	{ "count", required_argument, NULL, 'C' },
	{ "region", required_argument, NULL, 'r' },
	{ "verify", no_argument, NULL, 'V' },
	{ "no-verify", no_argument, NULL, OPT_NO_VERIFY },
	{ "poll", no_argument, NULL, OPT_POLL },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "transport", required_argument, NULL, OPT_TRANSPORT },
	{ "inline", no_argument, NULL, OPT_INLINE },
	{ "sge", required_argument, NULL, OPT_SGE },
	{ "unsignaled", required_argument, NULL, OPT_UNSIGNALED },
	{ "fence", no_argument, NULL, OPT_FENCE },
	{ "window", no_argument, NULL, OPT_WINDOW },
	{ "odp", no_argument, NULL, OPT_ODP },
	{ "verbose", no_argument, NULL, 'v' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "debug", no_argument, NULL, 'd' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static int add_size(struct ping *p, uint64_t size)
{
	if (p->nr_sizes == PING_SIZES)
		return -E2BIG;
	p->size[p->nr_sizes++] = (uint32_t)size;
	return 0;
}

/* One item of -S: a number, or FIRST-LAST */
static int parse_range(struct ping *p, const char *text)
{
	uint64_t first, last, size;

	if (read_size(text, &text, &first))
		return -EINVAL;
	last = first;
	if (*text == '-' && read_size(text + 1, &text, &last))
		return -EINVAL;
	if (*text || last < first || last > 1u << 30)
		return -EINVAL;
	for (size = first; size < last; size = size ? 2 * size : 1)
		if (add_size(p, size))
			return -EINVAL;
	return add_size(p, last);
}

static int parse_sizes(struct ping *p, char *text)
{
	char *save;

	p->nr_sizes = 0;
	p->sweep = false;
	for (char *item = strtok_r(text, ",", &save); item; item = strtok_r(NULL, ",", &save))
		if (parse_range(p, item))
			return misused("-S \"%s\": BYTES or FIRST-LAST, with K, M or G, up to 1G",
				       item);
	return p->nr_sizes ? EXIT_OK : misused("-S needs a size");
}

static int parse_ops(struct ping *p, char *text)
{
	unsigned int i;
	char *save;

	for (char *item = strtok_r(text, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		if (!strcmp(item, "all")) {
			p->all = true;
			continue;
		}
		for (i = 0; i < PING_OPS && strcmp(item, ping_ops[i].name); i++)
			;
		if (i == PING_OPS)
			return misused("-o \"%s\": no such operation (rtgt ping --help)", item);
		p->asked |= 1u << i;
	}
	return p->asked || p->all ? EXIT_OK : misused("-o needs an operation");
}

static int parse_transport(struct ping *p, const char *text)
{
	for (p->transport = RTGT_RC; p->transport <= RTGT_UD; p->transport++)
		if (!strcmp(text, rtgt_transport_str(p->transport)))
			return EXIT_OK;
	return misused("--transport \"%s\": rc, uc or ud", text);
}

static int set_number(struct ping *p, int opt, const char *text)
{
	uint64_t value;
	int ret;

	switch (opt) {
	case 'p':
		p->service = text;
		return parse_int("-p", text, 1, 65535, &value);
	case 'C':
		return parse_int("-C", text, 1, 1000000000, &p->count);
	case 'r':
		ret = parse_int("-r", text, 0, RTGT_MAX_REGIONS - 1, &value);
		p->region = (uint32_t)value;
		return ret;
	case OPT_SGE:
		ret = parse_int("--sge", text, 1, RTGT_SGES, &value);
		p->sges = (unsigned int)value;
		return ret;
	case OPT_UNSIGNALED:
		ret = parse_int("--unsignaled", text, 1, PING_CHAIN / 2, &value);
		p->chain = (unsigned int)value;
		return ret;
	default:
		ret = parse_int("--timeout", text, 1, 3600, &value);
		p->timeout = (unsigned int)value;
		return ret;
	}
}

static int set_flag(struct ping *p, int opt)
{
	switch (opt) {
	case 'V':
		p->verify = true;
		return EXIT_OK;
	case OPT_NO_VERIFY:
		p->verify = false;
		return EXIT_OK;
	case OPT_POLL:
		p->poll = true;
		return EXIT_OK;
	case OPT_INLINE:
		p->flags |= IBV_SEND_INLINE;
		return EXIT_OK;
	case OPT_FENCE:
		p->flags |= IBV_SEND_FENCE;
		return EXIT_OK;
	case OPT_WINDOW:
		p->window = true;
		return EXIT_OK;
	case OPT_ODP:
		p->odp = true;
		return EXIT_OK;
	case 'v':
		p->show = true;
		return EXIT_OK;
	case 'q':
		p->quiet = true;
		return EXIT_OK;
	case 'd':
		p->debug = true;
		return EXIT_OK;
	default:
		p->json = true;
		return EXIT_OK;
	}
}

static int set_option(struct ping *p, int opt, char **argv)
{
	switch (opt) {
	case 'a':
		p->host = optarg;
		return EXIT_OK;
	case 'I':
		p->source = optarg;
		return EXIT_OK;
	case 'o':
		return parse_ops(p, optarg);
	case 'S':
		return parse_sizes(p, optarg);
	case OPT_TRANSPORT:
		return parse_transport(p, optarg);
	case 'p':
	case 'C':
	case 'r':
	case OPT_SGE:
	case OPT_UNSIGNALED:
	case OPT_TIMEOUT:
		return set_number(p, opt, optarg);
	case ':':
		return misused("%s needs a value (rtgt ping --help)", argv[optind - 1]);
	case '?':
		return misused("unknown option %s (rtgt ping --help)", argv[optind - 1]);
	default:
		return set_flag(p, opt);
	}
}

static void set_defaults(struct ping *p)
{
	p->service = STRING(RTGT_PORT);
	p->timeout = default_timeout();
	p->verify = true;
	p->sges = 1;
	p->chain = 1;
	for (uint32_t size = 1; size <= 1u << 20; size *= 4)
		add_size(p, size);
	p->sweep = true;
}

/* EXIT_OK to go on; -1 when --help was the whole of it */
int ping_parse(struct ping *p, int argc, char **argv)
{
	int opt, ret;

	set_defaults(p);
	if (argc > 1 && !strcmp(argv[1], "help"))
		return print_help(help) ? EXIT_FAILED : -1;
	/* main() used getopt() on other words and with other rules: begin anew */
	optind = 0;
	while ((opt = getopt_long(argc, argv, ":a:p:I:o:S:C:r:Vvqdjh", options, NULL)) != -1) {
		if (opt == 'h')
			return print_help(help) ? EXIT_FAILED : -1;
		ret = set_option(p, opt, argv);
		if (ret)
			return ret;
	}
	if (optind < argc && !p->host)
		p->host = argv[optind++];
	if (optind < argc)
		return misused("one HOST is enough: %s, %s", p->host, argv[optind]);
	if (!p->host)
		return misused("ping which HOST? (rtgt ping --help)");
	return EXIT_OK;
}
