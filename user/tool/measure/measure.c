// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt lat and rtgt bw: what they share of a command line, and the matrix of what is
 * measured: operation by operation, size by size, over each transport, from each
 * initiator.
 *
 * A connection of the user initiator comes first in any case: it tells what the
 * target is and what its region grants.  A cell of the matrix that cannot be is told
 * as skipped; one that fails ends the command.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool/cli/interrupt.h"
#include "measure.h"

#define COUNT_MAX	(1u << 20)

#define LETTERS	":a:p:I:o:S:s:C:n:W:r:eh"

enum {
	OPT_FROM = 256,
	OPT_OVER,
	OPT_TCP_PORT,
	OPT_POLL,
	OPT_COMPLETION,
	OPT_TIMEOUT,
	OPT_PROGRESS,
};

static const struct option common[] = {
	{ "address", required_argument, NULL, 'a' },
	{ "port", required_argument, NULL, 'p' },
	{ "tcp-port", required_argument, NULL, OPT_TCP_PORT },
	{ "source", required_argument, NULL, 'I' },
	{ "from", required_argument, NULL, OPT_FROM },
	{ "over", required_argument, NULL, OPT_OVER },
	{ "ops", required_argument, NULL, 'o' },
	{ "size", required_argument, NULL, 'S' },
	{ "count", required_argument, NULL, 'C' },
	{ "iters", required_argument, NULL, 'n' },
	{ "warmup", required_argument, NULL, 'W' },
	{ "region", required_argument, NULL, 'r' },
	{ "events", no_argument, NULL, 'e' },
	{ "poll", no_argument, NULL, OPT_POLL },
	{ "completion", required_argument, NULL, OPT_COMPLETION },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "progress", no_argument, NULL, OPT_PROGRESS },
	{ "help", no_argument, NULL, 'h' },
};

#define NR_COMMON	(sizeof(common) / sizeof(common[0]))
#define OWN_MAX		16

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
 * measure_is_atomic() - is it of eight bytes, always?
 * @op: operation
 *
 * Return: true if it is.
 */
bool measure_is_atomic(const struct measure_op *op)
{
	return op->access == RTGT_ACCESS_ATOMIC;
}

/* -------------------------------------------------------------------- the command line */

/**
 * measure_words() - a list of words
 * @m: whose
 * @text: with commas between
 * @names: the words there are; ends with NULL
 * @bits: 1 << index of those that are in the list
 *
 * Return: an exit status.
 */
int measure_words(const struct measure *m, const char *text, const char *const *names,
		  unsigned int *bits)
{
	*bits = 0;
	for (size_t len; *text; text += len + (text[len] == ',')) {
		unsigned int i;

		len = strcspn(text, ",");
		for (i = 0; names[i] && (strncmp(text, names[i], len) || names[i][len]); i++)
			;
		if (!names[i])
			return misused("no \"%.*s\" (rtgt %s --help)", (int)len, text, m->command);
		*bits |= 1u << i;
	}
	return *bits ? EXIT_OK : misused("an empty list (rtgt %s --help)", m->command);
}

static int parse_ops(struct measure *m, const char *text)
{
	const char *names[32] = { };

	for (unsigned int i = 0; i < m->nr_ops; i++)
		names[i] = m->op[i].name;
	return measure_words(m, text, names, &m->ops);
}

static int parse_sizes(struct measure *m, const char *list)
{
	const char *text = list;
	uint64_t size;

	for (m->nr_sizes = 0; m->nr_sizes < MEASURE_SIZES; text++) {
		if (read_size(text, &text, &size) || !size || size > 1u << 24)
			break;
		m->size[m->nr_sizes++] = (uint32_t)size;
		if (!*text)
			return EXIT_OK;
		if (*text != ',')
			break;
	}
	return misused("-S: up to %d sizes of 1 byte to 16M, with commas between (%s)",
		       MEASURE_SIZES, text);
}

static int parse_completion(struct measure *m, const char *text)
{
	if (strcmp(text, "softirq") && strcmp(text, "workqueue") && strcmp(text, "direct"))
		return misused("--completion \"%s\": softirq, workqueue or direct", text);
	m->completion = text;
	return EXIT_OK;
}

static int set_number(struct measure *m, int opt, const char *text)
{
	uint64_t value = 0;
	int ret;

	switch (opt) {
	case 'p':
		m->service = text;
		return parse_int("-p", text, 1, 65535, &value);
	case OPT_TCP_PORT:
		m->tcp_service = text;
		return parse_int("--tcp-port", text, 1, 65535, &value);
	case 'C':
		return parse_int("-C", text, 1, COUNT_MAX, &m->count);
	case 'W':
		return parse_int("-W", text, 0, COUNT_MAX, &m->warmup);
	case 'r':
		ret = parse_int("-r", text, 0, RTGT_MAX_REGIONS - 1, &value);
		m->region = (uint32_t)value;
		return ret;
	default:
		ret = parse_int("--timeout", text, 1, 3600, &value);
		m->timeout = (unsigned int)value;
		return ret;
	}
}

static int set_option(struct measure *m, int opt, const char *text)
{
	switch (opt) {
	case 'a':
		m->host = text;
		return EXIT_OK;
	case 'I':
		m->source = text;
		return EXIT_OK;
	case OPT_FROM:
		return measure_words(m, text, from_names, &m->from);
	case OPT_OVER:
		return measure_words(m, text, over_names, &m->over);
	case 'o':
		return parse_ops(m, text);
	case 's':
	case 'S':
		return parse_sizes(m, text);
	case 'e':
	case OPT_POLL:
		m->poll = opt == OPT_POLL;
		return EXIT_OK;
	case OPT_COMPLETION:
		return parse_completion(m, text);
	case OPT_PROGRESS:
		m->progress.on = true;
		return EXIT_OK;
	default:
		return set_number(m, opt == 'n' ? 'C' : opt, text);
	}
}

/**
 * measure_parse() - the command line
 * @m: holds the defaults
 * @argc: words, the command itself in front
 * @argv: the words
 * @letters: the command's own
 * @own_options: the command's own, an empty one behind the last
 * @help: for --help
 * @own: takes an option of the command's own
 *
 * Return: EXIT_OK to go on, another exit status, or -1 when --help was the whole of it.
 */
int measure_parse(struct measure *m, int argc, char **argv, const char *letters,
		  const struct option *own_options, const char *help,
		  int (*own)(struct measure *m, int opt, const char *text))
{
	struct option options[NR_COMMON + OWN_MAX] = { };
	size_t n = NR_COMMON;
	char all[64];
	int opt, ret;

	memcpy(options, common, sizeof(common));
	for (; own_options->name && n < NR_COMMON + OWN_MAX - 1; own_options++)
		options[n++] = *own_options;
	snprintf(all, sizeof(all), "%s%s", LETTERS, letters);
	/* main() used getopt() on other words and with other rules: begin anew */
	optind = 0;
	while ((opt = getopt_long(argc, argv, all, options, NULL)) != -1) {
		if (opt == 'h')
			return print_help(help) ? EXIT_FAILED : -1;
		if (opt == ':')
			return misused("%s needs a value (rtgt %s --help)", argv[optind - 1],
				       m->command);
		if (opt == '?')
			return misused("unknown option %s (rtgt %s --help)", argv[optind - 1],
				       m->command);
		if (opt >= OPT_OWN || (opt < OPT_FROM && !strchr(LETTERS, opt)))
			ret = own(m, opt, optarg);
		else
			ret = set_option(m, opt, optarg);
		if (ret)
			return ret;
	}
	if (optind < argc && !m->host)
		m->host = argv[optind++];
	if (optind < argc)
		return misused("one HOST is enough: %s, %s", m->host, argv[optind]);
	if (!m->host)
		return misused("%s to which HOST? (rtgt %s --help)", m->command, m->command);
	if (m->from == 1u << FROM_KERNEL && m->over == 1u << OVER_TCP)
		return misused("the kernel has no TCP initiator: --from user, or --over rdma");
	m->progress.on |= isatty(STDERR_FILENO);
	return EXIT_OK;
}

/* ----------------------------------------------------------------------- the targets */

/**
 * measure_cm_param() - where to connect to over RDMA
 * @m: parsed
 *
 * Return: parameters that live as long as @m.
 */
struct rtgt_cm_param measure_cm_param(const struct measure *m)
{
	return (struct rtgt_cm_param) {
		.host = m->host, .service = m->service, .source = m->source,
		.timeout_ms = (int)m->timeout * 1000,
	};
}

/**
 * measure_tcp_open() - connect over TCP
 * @m: parsed
 * @tcp: filled; to be closed when this succeeds
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int measure_tcp_open(const struct measure *m, struct rtgt_tcp *tcp, struct rtgt_err *err)
{
	const struct rtgt_tcp_param param = {
		.host = m->host, .service = m->tcp_service, .source = m->source,
		.timeout_ms = (int)m->timeout * 1000, .poll = m->poll,
	};

	return rtgt_tcp_open(tcp, &param, err);
}

/**
 * measure_open() - connect to what the command line names, and take the facts
 * @m: parsed
 * @param: of the RDMA connection; where to is filled in
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int measure_open(struct measure *m, const struct rtgt_client_param *param, struct rtgt_err *err)
{
	struct rtgt_client_param to = *param;
	int ret = 0;

	rtgt_facts_host(&m->facts);
	if (m->over & 1u << OVER_RDMA) {
		to.cm = measure_cm_param(m);
		to.poll = m->poll;
		ret = rtgt_client_open(&m->client, &to, err);
		if (ret)
			return ret;
		m->open = true;
		rtgt_facts_qp(&m->facts, &m->client.qp);
		if (m->region >= m->client.peer.nr)
			ret = rtgt_fail(err, EINVAL, "region %u: the target has %u", m->region,
					m->client.peer.nr);
	}
	if (!ret && m->over & 1u << OVER_TCP) {
		ret = measure_tcp_open(m, &m->tcp, err);
		m->tcp_open = !ret;
		if (!ret)
			rtgt_facts_tcp(&m->facts, m->tcp.fd);
	}
	return ret;
}

static void measure_close(struct measure *m)
{
	kernel_close(&m->kernel);
	if (m->open)
		rtgt_client_close(&m->client);
	if (m->tcp_open)
		rtgt_tcp_close(&m->tcp);
}

/**
 * measure_can() - can the present cell be?
 * @m: its cell is set
 * @c: the RDMA connection it is for
 * @room: bytes of the region it has
 * @err: says why not
 *
 * What cannot be done is said before it is tried.
 *
 * Return: 0, or a negative errno measure_cannot_be() knows.
 */
int measure_can(const struct measure *m, const struct rtgt_client *c, uint64_t room,
		struct rtgt_err *err)
{
	const struct rtgt_region_info *mem = &c->peer.region[m->region];
	const struct measure_op *op = m->at.op;

	if (op->answered && !c->peer.rtgt)
		return rtgt_fail(err, EOPNOTSUPP, "the target does not speak rtgt");
	if (measure_is_atomic(op) && !(c->qp.can & RTGT_CAN_ATOMIC))
		return rtgt_fail(err, EOPNOTSUPP, "the device has no atomics");
	if (op->opcode == IBV_WR_SEND)
		return m->at.size <= c->payload ? 0 :
			rtgt_fail(err, EMSGSIZE, "the target takes SENDs of %u bytes (recv_size)",
				  c->payload);
	if ((mem->access & op->access) != op->access)
		return rtgt_fail(err, EACCES, "region %u does not grant it (access)", m->region);
	/* a plain target may not say how much it has */
	if (mem->len && m->at.size > room)
		return rtgt_fail(err, ERANGE, "region %u has %llu bytes", m->region,
				 (unsigned long long)mem->len);
	return 0;
}

/**
 * measure_cannot_be() - is it no failure?
 * @ret: a negative errno of a cell
 *
 * Return: true if the cell is to be skipped.
 */
bool measure_cannot_be(int ret)
{
	return ret == -EOPNOTSUPP || ret == -EACCES || ret == -ERANGE || ret == -EMSGSIZE;
}

/* ------------------------------------------------------------------------ the matrix */

static int one(struct measure *m, int (*cell)(struct measure *m, struct rtgt_err *err),
	       struct rtgt_err *err)
{
	int ret;

	if (m->at.from == FROM_KERNEL && m->at.over == OVER_TCP)
		return 0;
	snprintf(m->progress.what, sizeof(m->progress.what), "%s %s of %u bytes over %s",
		 measure_from_str(m->at.from), m->at.op->name, m->at.size,
		 measure_over_str(m->at.over));
	progress_begin(&m->progress, m->warmup + m->count);
	ret = cell(m, err);
	progress_end(&m->progress);
	if (!measure_cannot_be(ret))
		return ret;
	measure_out_skip(m, err->text);
	return 0;
}

/**
 * measure_matrix() - measure each cell
 * @m: open
 * @cell: measures @m->at and tells the result
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno of the cell that failed, which is still in @m->at.
 */
int measure_matrix(struct measure *m, int (*cell)(struct measure *m, struct rtgt_err *err),
		   struct rtgt_err *err)
{
	struct cell *at = &m->at;
	int ret = 0;

	for (unsigned int op = 0; op < m->nr_ops && !ret; op++) {
		bool atomic = measure_is_atomic(&m->op[op]);

		if (!(m->ops & 1u << op))
			continue;
		at->op = &m->op[op];
		for (unsigned int i = 0; i < (atomic ? 1 : m->nr_sizes) && !ret; i++) {
			at->size = atomic ? 8 : m->size[i];
			for (unsigned int n = 0; n < NR_FROM * NR_OVER && !ret; n++) {
				at->from = (enum measure_from)(n / NR_OVER);
				at->over = (enum measure_over)(n % NR_OVER);
				if (m->from & 1u << at->from && m->over & 1u << at->over)
					ret = one(m, cell, err);
			}
		}
	}
	return ret;
}

/* The runs of the kernel's initiators have as much in common as those from here */
static int open_kernel(struct measure *m, unsigned int nr, struct rtgt_err *err)
{
	const struct kernel_param param = {
		.name = m->command, .host = m->host, .service = m->service, .source = m->source,
		.completion = m->completion, .count = m->count, .warmup = m->warmup,
		.region = m->region, .timeout = m->timeout, .progress = &m->progress,
	};

	return kernel_open(&m->kernel, &param, nr, err);
}

/**
 * measure_run() - connect, measure all cells, hang up
 * @m: parsed
 * @param: of the RDMA connection
 * @cell: measures @m->at and tells the result
 * @kernels: initiators the kernel needs, if it is asked
 *
 * Return: an exit status; an error has been told.
 */
int measure_run(struct measure *m, const struct rtgt_client_param *param,
		int (*cell)(struct measure *m, struct rtgt_err *err), unsigned int kernels)
{
	struct rtgt_err err = { };
	int ret;

	interrupt_catch(0, NULL);
	m->results = json_object_new_array();
	ret = measure_open(m, param, &err);
	if (!ret && m->from & 1u << FROM_KERNEL)
		ret = open_kernel(m, kernels, &err);
	if (!ret)
		ret = measure_matrix(m, cell, &err);
	measure_close(m);
	if (!ret)
		return EXIT_OK;
	if (m->at.op)
		return failed("%s %s over %s: %s", m->command, m->at.op->name,
			      measure_over_str(m->at.over), err.text);
	return failed("%s: %s", m->command, err.text);
}
