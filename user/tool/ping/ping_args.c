// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The command line of rtgt ping.
 */
#include "tool/cli/options.h"
#include "ping.h"

static const struct usage_option options[] = {
	{ OPT_ADDRESS, NULL },
	{ OPT_PORT, NULL },
	{ OPT_SOURCE, NULL },
	{ OPT_OPS, "write, read, write-imm, send (the default), send-imm, send-inv, cas, faa, "
		   "atomic-write, flush, pull, push; or all: every operation that is possible" },
	{ OPT_TRANSPORT, "rc (default), uc or ud, as the port has it" },
	{ OPT_SIZE, "64 or 1,4K,1M or 1-1M (doubling); default 1 B to 1 MiB, as far as the region "
		    "and the port's recv_size reach" },
	{ OPT_COUNT, "iterations of each operation and size; default 100, and 10 above 64K" },
	{ OPT_REGION, NULL },
	{ OPT_SEED, NULL },
	{ OPT_NO_VERIFY, "only look at completions" },
	{ OPT_INLINE, "post data inline, up to what the device takes" },
	{ OPT_SGE, "data in N pieces, in a scatter-gather list; at most " STRING(RTGT_SGES) },
	{ OPT_UNSIGNALED, "WRITEs and READs as chains of N requests, only the last signaled; at "
			  "most " STRING(PING_CHAIN_MAX) },
	{ OPT_WINDOW, "pull and push through a memory window of their own (type 2)" },
	{ OPT_ODP, "register memory on demand instead of pinning it" },
	{ OPT_FENCE, "fence the requests; a fenced WRITE of its data follows each READ" },
	{ OPT_POLL, NULL },
	{ OPT_TIMEOUT, NULL },
	{ OPT_VERBOSE, "show the first bytes of the data" },
	{ OPT_QUIET, NULL },
	{ OPT_DEBUG, "connection, QP, MR, SGE, WR and WC facts on stderr" },
	{ OPT_JSON, NULL },
	{ OPT_PRETTY, NULL },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "ping",
	.synopsis = "[-j] [-p] ping [OPTIONS] HOST",
	.about =
"Connect to a target and do WRITE, READ, WRITE_WITH_IMM and SEND, or the operations that -o\n"
"names, in all sizes, one at a time.  Every byte is verified: here, and at the target through\n"
"its checksum.\n",
	.options = options,
	.notes =
"Exit status: 0 all verified, 1 something failed, 2 the command line is wrong, 130\n"
"interrupted.  See rtgt-ping(1).\n",
};

static int set_ops(struct ping *p, const char *text)
{
	const char *names[PING_OPS + 2] = { };
	unsigned int bits;
	int ret;

	for (unsigned int i = 0; i < PING_OPS; i++)
		names[i] = ping_ops[i].name;
	names[PING_OPS] = "all";
	ret = opt_words(OPT_OPS, text, names, &bits);
	if (!ret) {
		p->all |= bits >> PING_OPS & 1;
		p->asked |= bits & ~(1u << PING_OPS);
	}
	return ret;
}

static int set_sizes(struct ping *p, const char *text)
{
	p->sweep = false;
	return opt_sizes(OPT_SIZE, text, 0, 1u << 30, &p->sizes);
}

static int set_transport(struct ping *p, const char *text)
{
	static const char *words[RTGT_UD + 2];
	unsigned int which = 0;
	int ret;

	for (unsigned int i = RTGT_RC; i <= RTGT_UD; i++)
		words[i] = rtgt_transport_str((enum rtgt_transport)i);
	ret = opt_word(OPT_TRANSPORT, text, words, &which);
	p->transport = (enum rtgt_transport)which;
	return ret;
}

static int set_flag(struct ping *p, enum opt opt)
{
	switch (opt) {
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
	case OPT_VERBOSE:
		p->show = true;
		return EXIT_OK;
	case OPT_QUIET:
		p->quiet = true;
		return EXIT_OK;
	default:
		p->debug = true;
		return EXIT_OK;
	}
}

static int set_option(void *arg, enum opt opt, char *text)
{
	struct ping *p = arg;
	int ret = where_option(&p->to, opt, text);

	if (ret != NOT_WHERE)
		return ret;
	switch (opt) {
	case OPT_OPS:
		return set_ops(p, text);
	case OPT_SIZE:
		return set_sizes(p, text);
	case OPT_TRANSPORT:
		return set_transport(p, text);
	case OPT_COUNT:
		return opt_int(opt, text, 1, 1000000000, &p->count);
	case OPT_REGION:
		return opt_uint(opt, text, 0, RTGT_MAX_REGIONS - 1, &p->region);
	case OPT_SEED:
		return opt_seed(text, &p->seed);
	case OPT_SGE:
		return opt_uint(opt, text, 1, RTGT_SGES, &p->sges);
	case OPT_UNSIGNALED:
		return opt_uint(opt, text, 1, PING_CHAIN_MAX, &p->chain);
	default:
		return set_flag(p, opt);
	}
}

static void set_defaults(struct ping *p)
{
	p->to.service = STRING(RTGT_PORT);
	p->to.timeout = default_timeout();
	p->seed = new_seed();
	p->verify = true;
	p->sges = 1;
	p->chain = 1;
	for (uint64_t size = 1; size <= 1u << 20; size *= 4)
		p->sizes.at[p->sizes.nr++] = size;
	p->sweep = true;
}

/* EXIT_OK to go on; OPTIONS_HELP when --help was the whole of it */
int ping_parse(struct ping *p, struct tool *tool, int argc, char **argv)
{
	struct words words = { argc, argv };
	int ret;

	set_defaults(p);
	ret = options_parse(&usage, tool, &words, set_option, p);
	if (!ret)
		ret = where_host(&p->to, usage.name, &words);
	p->json = tool->json;
	p->pretty = tool->pretty;
	return ret;
}
