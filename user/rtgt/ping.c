// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt ping: every operation against a target, every byte verified.
 *
 * One connection, one operation outstanding at a time, each size after the
 * other.  The first thing that goes wrong ends the run with exit status 1; what
 * was measured before it is still reported.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ping.h"

#define STRINGIFY(x)	#x
#define STRING(x)	STRINGIFY(x)

/* Sizes up to here get MANY iterations, larger ones FEW, unless -C says otherwise */
#define SMALL		(64u << 10)
#define MANY		100
#define FEW		10

/* What a server that does not tell its length is taken to have: the walkthrough's 4096 */
#define PLAIN_LEN	4096

static const char help[] =
"Usage: rtgt ping [OPTIONS] HOST\n"
"\n"
"Connect to a target and do WRITE, READ, WRITE_WITH_IMM and SEND, in all sizes, one at a\n"
"time.  Every byte is verified: here, and at the target through its checksum.  Letters are\n"
"rping's where they mean the same.\n"
"\n"
"  -a, --address HOST   where to; the same as HOST\n"
"  -p, --port PORT      port, 7471 by default\n"
"  -I, --source ADDR    connect from this address\n"
"  -o, --ops LIST       of write, read, write-imm, send; all that are possible by default\n"
"  -S, --size LIST      bytes: 64 or 1,4K,1M or 1-1M (doubling); 1 B to 1 MiB by default,\n"
"                       as far as the region and the port's recv_size reach\n"
"  -C, --count N        iterations of each operation and size; by default 100, and 10 above 64K\n"
"  -r, --region N       which of the port's regions, 0 by default\n"
"  -V, --verify         verify the data (default)\n"
"      --no-verify      only look at completions\n"
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
	{ "verbose", no_argument, NULL, 'v' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "debug", no_argument, NULL, 'd' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static atomic_bool interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = true;
}

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

	if (parse_size(text, &text, &first))
		return -EINVAL;
	last = first;
	if (*text == '-' && parse_size(text + 1, &text, &last))
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
		for (i = 0; i < PING_OPS && strcmp(item, ping_ops[i].name); i++)
			;
		if (i == PING_OPS)
			return misused("-o \"%s\": write, read, write-imm or send", item);
		p->asked |= 1u << i;
	}
	return p->asked ? EXIT_OK : misused("-o needs an operation");
}

static int parse_int(const char *option, const char *text, uint64_t min, uint64_t max,
		     uint64_t *value)
{
	if (!parse_number(text, max, value) && *value >= min)
		return EXIT_OK;
	return misused("%s \"%s\": a number from %llu to %llu", option, text,
		       (unsigned long long)min, (unsigned long long)max);
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
	case 'p':
	case 'C':
	case 'r':
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

/* EXIT_OK to go on; -1 when --help was the whole of it */
static int parse(struct ping *p, int argc, char **argv)
{
	int opt, ret;

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

static uint32_t largest(const struct ping *p)
{
	uint32_t max = 0;

	for (unsigned int i = 0; i < p->nr_sizes; i++)
		if (p->size[i] > max)
			max = p->size[i];
	return max;
}

/* One operation and size */
static int run_size(struct ping *p, uint32_t len, struct rtgt_err *err)
{
	uint64_t count = p->count ? p->count : len <= SMALL ? MANY : FEW;
	int ret;

	p->len = len;
	p->iteration = 0;
	rtgt_hist_reset(&p->completion);
	rtgt_hist_reset(&p->reply);
	ret = ping_prepare(p, err);
	while (!ret && p->iteration < count) {
		ret = interrupted ? rtgt_fail(err, EINTR, "interrupted") : ping_once(p, err);
		if (!ret)
			p->iteration++;
	}
	if (p->iteration)
		ping_out_result(p, p->iteration);
	return ret;
}

/* The largest size an operation can have here, and in words what limits it */
static uint64_t limit(const struct ping *p, uint32_t wanted, char *why, size_t size)
{
	if (!p->client.peer.rtgt) {
		snprintf(why, size, "the server's buffer has %llu bytes",
			 (unsigned long long)p->region_len);
		return p->region_len;
	}
	if (p->op->access) {
		snprintf(why, size,
			 "region %u has %llu bytes (there: rtgt region set PORT/NAME size %u)",
			 p->region, (unsigned long long)p->region_len, wanted);
		return p->region_len;
	}
	snprintf(why, size,
		 "the port takes SENDs of %u bytes, %zu of them header (there: rtgt port set PORT recv_size %zu)",
		 p->client.peer.recv_size, sizeof(struct rtgt_msg),
		 wanted + sizeof(struct rtgt_msg));
	return p->client.peer.recv_size - sizeof(struct rtgt_msg);
}

static int run_sizes(struct ping *p, bool asked, struct rtgt_err *err)
{
	uint32_t wanted = largest(p), done = 0;
	bool cut = false;
	int ret = 0;
	char why[192];
	uint64_t max = limit(p, wanted, why, sizeof(why));

	/* A size somebody asked for is not quietly left out */
	if (wanted > max && !p->sweep && (asked || p->op->access))
		return rtgt_fail(err, EMSGSIZE, "%s of %u bytes is not possible: %s", p->op->name,
				 wanted, why);
	for (unsigned int i = 0; i < p->nr_sizes && !ret; i++) {
		if (p->size[i] > max) {
			cut = true;
			continue;
		}
		ret = run_size(p, p->size[i], err);
		done = p->size[i];
	}
	/* The sweep ends with the largest there is */
	if (!ret && cut && p->sweep && done < max)
		ret = run_size(p, (uint32_t)max, err);
	if (!ret && cut)
		ping_out_skip(p, "sizes above %llu: %s", (unsigned long long)max, why);
	return ret;
}

static int run_op(struct ping *p, bool asked, struct rtgt_err *err)
{
	char why[128] = "", access[32];

	if (p->op->rtgt && !p->client.peer.rtgt) {
		snprintf(why, sizeof(why),
			 "it needs a target that speaks rtgt, this server gave a plain capability");
	} else if (p->op->access & ~p->mem->access) {
		rtgt_access_str(p->mem->access, access, sizeof(access));
		snprintf(why, sizeof(why), "region %u grants %s only", p->region, access);
	}
	if (!why[0])
		return run_sizes(p, asked, err);
	if (asked)
		return rtgt_fail(err, EOPNOTSUPP, "%s is not possible: %s", p->op->name, why);
	ping_out_skip(p, "%s", why);
	return 0;
}

static int run_ops(struct ping *p, struct rtgt_err *err)
{
	int ret = 0;

	for (unsigned int i = 0; i < PING_OPS && !ret; i++) {
		p->op = &ping_ops[i];
		p->len = 0;
		p->iteration = 0;
		if (!p->asked || p->asked & 1u << i)
			ret = run_op(p, p->asked & 1u << i, err);
	}
	if (!ret && !json_object_array_length(p->results))
		ret = rtgt_fail(err, EOPNOTSUPP, "nothing of what was asked is possible here");
	return ret;
}

static int choose_region(struct ping *p, struct rtgt_err *err)
{
	const struct rtgt_peer *peer = &p->client.peer;

	if (p->region >= peer->nr_regions)
		return rtgt_fail(err, ENOENT, "no region %u: the port has %u, counted from 0",
				 p->region, peer->nr_regions);
	p->mem = &peer->region[p->region];
	p->region_len = p->mem->len;
	if (!p->region_len)
		p->region_len = p->sweep ? PLAIN_LEN : largest(p);
	return 0;
}

static int make_buffers(struct ping *p, struct rtgt_err *err)
{
	const struct rtgt_log *log = p->client.cm.param.log;
	struct ibv_pd *pd = p->client.qp.pd;
	size_t len = largest(p);
	int ret;

	if (len > p->region_len)
		len = p->region_len;
	len += 2 * PING_MARGIN;
	ret = rtgt_mr_create(&p->tx, pd, "data to write", len, 0, log, err);
	if (ret)
		return ret;
	return rtgt_mr_create(&p->rx, pd, "data read", len, IBV_ACCESS_LOCAL_WRITE, log, err);
}

/* Connected: choose the region, run, release; @facts is filled */
static int run_connected(struct ping *p, struct rtgt_facts *facts, struct rtgt_err *err)
{
	int ret = choose_region(p, err);

	rtgt_facts_get(facts, &p->client.qp);
	if (!ret)
		ret = make_buffers(p, err);
	if (!ret) {
		ping_out_head(p, facts);
		ret = run_ops(p, err);
	}
	if (!ret)
		ping_out_end(p);
	rtgt_mr_destroy(&p->tx);
	rtgt_mr_destroy(&p->rx);
	return ret;
}

static int run(struct ping *p)
{
	struct rtgt_log log = { .to = stderr, .start = rtgt_now_ns() };
	const struct rtgt_client_param param = {
		.cm = {
			.host = p->host, .service = p->service, .source = p->source,
			.timeout_ms = (int)p->timeout * 1000, .log = p->debug ? &log : NULL,
		},
		.poll = p->poll,
		.payload = largest(p),
	};
	struct rtgt_err err = { };
	struct rtgt_facts facts;
	bool connected;
	int ret;

	/* Beside the facts of -d each result is to stand where it belongs */
	if (p->debug)
		setlinebuf(stdout);
	p->seed = rtgt_now_ns() ^ (uint64_t)getpid() << 32;
	p->results = json_object_new_array();
	p->skipped = json_object_new_array();
	ret = rtgt_client_open(&p->client, &param, &err);
	connected = !ret;
	if (connected)
		ret = run_connected(p, &facts, &err);
	if (p->json && ping_out_json(p, connected ? &facts : NULL, &err))
		ret = rtgt_fail(&err, EIO, "cannot write to standard output");
	if (ret)
		failed("%s", err.text);
	if (connected)
		rtgt_client_close(&p->client);
	json_object_put(p->results);
	json_object_put(p->skipped);
	return ret ? EXIT_FAILED : EXIT_OK;
}

int cmd_ping(const struct tool *tool, int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
	struct ping *p;
	int ret;

	if (argc && !strcmp(argv[0], "help"))
		return print_help(help);
	p = calloc(1, sizeof(*p));
	if (!p)
		return failed("no memory");
	p->service = STRING(RTGT_PORT);
	p->timeout = 10;
	p->verify = true;
	p->json = tool->json;
	p->pretty = tool->pretty;
	for (uint32_t size = 1; size <= 1u << 20; size *= 4)
		add_size(p, size);
	p->sweep = true;

	/* argv[-1] is the word "ping": what getopt() takes for the program's name */
	ret = parse(p, argc + 1, argv - 1);
	if (!ret) {
		sigaction(SIGINT, &sa, NULL);
		sigaction(SIGTERM, &sa, NULL);
		ret = run(p);
	} else if (ret < 0) {
		ret = EXIT_OK;
	}
	free(p);
	return ret;
}
