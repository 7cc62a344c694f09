// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The options that rtgt lat and rtgt bw share.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"

#define COUNT_MAX	(1u << 20)
#define SIZE_MAX_OP	(1u << 24)

static const char *const from_names[] = {
	[FROM_USER] = "user", [FROM_KERNEL] = "kernel", [NR_FROM] = NULL,
};

static const char *const over_names[] = {
	[OVER_RDMA] = "rdma", [OVER_TCP] = "tcp", [NR_OVER] = NULL,
};

/**
 * measure_from_str() - an initiator as a word
 * @from: which
 *
 * Return: a static string.
 */
const char *measure_from_str(enum measure_from from)
{
	return from_names[from];
}

/**
 * measure_over_str() - a transport as a word
 * @over: which
 *
 * Return: a static string.
 */
const char *measure_over_str(enum measure_over over)
{
	return over_names[over];
}

/**
 * measure_completions() - how the present cell waits, as a word
 * @m: its cell is set
 *
 * Return: a static string.
 */
const char *measure_completions(const struct measure *m)
{
	if (m->at.from == FROM_KERNEL)
		return m->completion;
	return m->poll ? "polling" : "events";
}

/**
 * measure_largest() - the largest size
 * @m: parsed
 *
 * Return: bytes.
 */
uint32_t measure_largest(const struct measure *m)
{
	uint64_t max = 0;

	for (unsigned int i = 0; i < m->sizes.nr; i++)
		if (m->sizes.at[i] > max)
			max = m->sizes.at[i];
	return (uint32_t)max;
}

static int set_ops(struct measure *m, const char *text)
{
	const char *names[32] = { };

	for (unsigned int i = 0; i < m->nr_ops; i++)
		names[i] = m->op[i].name;
	return opt_words(OPT_OPS, text, names, &m->ops);
}

static int set_completion(struct measure *m, const char *text)
{
	static const char *const words[] = { "softirq", "workqueue", "direct", NULL };
	unsigned int which;
	int ret = opt_word(OPT_COMPLETION, text, words, &which);

	if (!ret)
		m->completion = words[which];
	return ret;
}

static int set_number(struct measure *m, enum opt opt, char *text)
{
	unsigned int gid;
	uint64_t port;
	int ret;

	switch (opt) {
	case OPT_GID_INDEX:
		ret = opt_uint(opt, text, 0, 65535, &gid);
		m->gid = (int)gid;
		return ret;
	case OPT_MTU:
		return opt_uint(opt, text, 256, 4096, &m->mtu);
	case OPT_TCP_PORT:
		m->tcp_service = text;
		return opt_int(opt, text, 1, 65535, &port);
	case OPT_COUNT:
		return opt_int(opt, text, 1, COUNT_MAX, &m->count);
	case OPT_WARMUP:
		return opt_int(opt, text, 0, COUNT_MAX, &m->warmup);
	case OPT_SEED:
		return opt_seed(text, &m->seed);
	case OPT_REGION:
		return opt_uint(opt, text, 0, RTGT_MAX_REGIONS - 1, &m->region);
	default:
		return m->own(m, opt, text);
	}
}

static int set_option(void *arg, enum opt opt, char *text)
{
	struct measure *m = arg;
	int ret = where_option(&m->to, opt, text);

	if (ret != NOT_WHERE)
		return ret;
	switch (opt) {
	case OPT_FROM:
		return opt_words(opt, text, from_names, &m->from);
	case OPT_OVER:
		return opt_words(opt, text, over_names, &m->over);
	case OPT_OPS:
		return set_ops(m, text);
	case OPT_SIZE:
		return opt_sizes(opt, text, 1, SIZE_MAX_OP, &m->sizes);
	case OPT_EVENTS:
	case OPT_POLL:
		m->poll = opt == OPT_POLL;
		return EXIT_OK;
	case OPT_COMPLETION:
		return set_completion(m, text);
	case OPT_ALL:
		return opt_sizes(opt, "2-8M", 1, SIZE_MAX_OP, &m->sizes);
	case OPT_DEVICE:
		m->device = text;
		return EXIT_OK;
	case OPT_FREQUENCY:
		return EXIT_OK;
	case OPT_PROGRESS:
		m->progress.on = true;
		return EXIT_OK;
	default:
		return set_number(m, opt, text);
	}
}

/**
 * measure_parse() - the command line
 * @m: holds the defaults
 * @tool: what --json and --pretty set
 * @argc: words behind the command
 * @argv: the words
 *
 * Return: EXIT_OK to go on, OPTIONS_HELP, or another exit status.
 */
int measure_parse(struct measure *m, struct tool *tool, int argc, char **argv)
{
	struct words words = { argc, argv };
	int ret;

	m->seed = new_seed();
	m->gid = -1;
	ret = options_parse(m->usage, tool, &words, set_option, m);
	if (!ret)
		ret = where_host(&m->to, m->usage->name, &words);
	if (!ret && m->from == 1u << FROM_KERNEL && m->over == 1u << OVER_TCP)
		ret = misused("the kernel has no TCP initiator: --from user, or --over rdma");
	if (!ret && m->mtu && !(m->over & 1u << OVER_RDMA))
		ret = misused("-m is the path MTU of RDMA: --over rdma");
	if (!ret)
		ret = measure_source(m);
	m->progress.on |= isatty(STDERR_FILENO);
	return ret;
}
