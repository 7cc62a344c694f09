// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt soak: random operations against a target, and a model of its memory.
 *
 * Each connection has a part of the region that no other one changes, and a thread
 * (soak_client.c), which alone knows what must be there.  The first that fails for good ends all.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rtgt/log.h>
#include <rtgt/uapi.h>
#include "tool/cli/interrupt.h"
#include "soak.h"

static const struct usage_option options[] = {
	{ OPT_ADDRESS, NULL },
	{ OPT_PORT, NULL },
	{ OPT_SOURCE, NULL },
	{ OPT_OPS, "write, read, write-imm, send, checksum, pull, push, cas, faa, atomic-write, "
		   "flush; default: what the region allows, without the last two" },
	{ OPT_COUNT, "operations of each connection; default 10000" },
	{ OPT_DURATION, "run for so long instead" },
	{ OPT_QPS, "connections, at most " STRING(SOAK_CONNS) "; default 4" },
	{ OPT_DEPTH, "operations that each keeps under way, at most " STRING(SOAK_DEPTH)
		     "; default 8" },
	{ OPT_SIZE, "largest operation, or smallest-largest; default 1-16K, at most 1M" },
	{ OPT_REGION, NULL },
	{ OPT_SEED, "seed of the operations and the data, to repeat a run; default: another one "
		    "each time, which is printed" },
	{ OPT_RECONNECT, "make a connection that fails again, for as long as it takes up to this; "
			 "default: fail" },
	{ OPT_NEW_MEMORY, "with --reconnect: a new connection may find memory that is all 0" },
	{ OPT_TIMEOUT, NULL },
	{ OPT_PROGRESS, NULL },
	{ OPT_QUIET, NULL },
	{ OPT_JSON, NULL },
	{ OPT_PRETTY, NULL },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "soak",
	.synopsis = "[-j] [-p] soak [OPTIONS] HOST",
	.about =
"Connect to a target and do random operations of all kinds and sizes on several connections at a\n"
"time.  A model of the region says what each byte must be, and everything that comes back is\n"
"compared.  With --reconnect it goes on when connections fail: while somebody loses packets,\n"
"revokes regions, or removes devices.\n",
	.options = options,
	.notes =
"Exit status: 0 all that came back was right, 1 something failed, 2 the command line is wrong,\n"
"130 interrupted.  See rtgt-soak(1).\n",
};

static int set_ops(struct soak *s, const char *text)
{
	const char *names[SOAK_OPS + 1] = { };

	for (unsigned int i = 0; i < SOAK_OPS; i++)
		names[i] = soak_ops[i].name;
	return opt_words(OPT_OPS, text, names, &s->asked);
}

/* MAX or MIN-MAX */
static int set_size(struct soak *s, char *text)
{
	char *to = strchr(text, '-');
	int ret;

	if (!to)
		return opt_bytes(OPT_SIZE, text, 8, SOAK_SIZE, &s->size);
	*to = '\0';
	ret = opt_bytes(OPT_SIZE, to + 1, 8, SOAK_SIZE, &s->size);
	return ret ? ret : opt_bytes(OPT_SIZE, text, 1, s->size, &s->least);
}

static int set_option(void *arg, enum opt opt, char *text)
{
	struct soak *s = arg;
	int ret = where_option(&s->to, opt, text);

	if (ret != NOT_WHERE)
		return ret;
	switch (opt) {
	case OPT_OPS:
		return set_ops(s, text);
	case OPT_COUNT:
		return opt_int(opt, text, 1, 4000000000, &s->count);
	case OPT_DURATION:
		return opt_uint(opt, text, 1, 1000000, &s->seconds);
	case OPT_QPS:
		return opt_uint(opt, text, 1, SOAK_CONNS, &s->conns);
	case OPT_DEPTH:
		return opt_uint(opt, text, 1, SOAK_DEPTH, &s->depth);
	case OPT_SIZE:
		return set_size(s, text);
	case OPT_REGION:
		return opt_uint(opt, text, 0, RTGT_MAX_REGIONS - 1, &s->region);
	case OPT_SEED:
		return opt_seed(text, &s->seed);
	case OPT_RECONNECT:
		return opt_uint(opt, text, 1, 1000000, &s->reconnect);
	case OPT_NEW_MEMORY:
		s->renews = true;
		return EXIT_OK;
	case OPT_PROGRESS:
		s->progress.on = true;
		return EXIT_OK;
	default:
		s->quiet = true;
		return EXIT_OK;
	}
}

static int parse(struct soak *s, struct tool *tool, int argc, char **argv)
{
	struct words words = { argc, argv };
	int ret;

	s->to.service = STRING(RTGT_PORT);
	s->to.timeout = default_timeout();
	s->seed = new_seed();
	s->conns = 4;
	s->depth = 8;
	s->least = 1;
	s->size = 16384;
	s->progress.on = isatty(STDERR_FILENO);
	ret = options_parse(&usage, tool, &words, set_option, s);
	if (!ret)
		ret = where_host(&s->to, usage.name, &words);
	if (!ret && s->count && s->seconds)
		ret = misused("soak: -n says how many operations, and -D how long: take one");
	if (!ret && s->renews && !s->reconnect)
		ret = misused("soak: --new-memory wants --reconnect");
	if (!s->count && !s->seconds)
		s->count = 10000;
	s->json = tool->json;
	s->pretty = tool->pretty;
	return ret;
}

static int start(struct soak *s, unsigned int i)
{
	struct soak_client *c = &s->client[i];
	int ret;

	c->s = s;
	c->index = i;
	c->random = s->seed + i * 0xd1b54a32d192ed03u;
	ret = pthread_create(&c->thread, NULL, soak_client_run, c);
	if (ret)
		return rtgt_fail(&c->err, ret, "no thread: %s", strerror(ret));
	c->runs = true;
	return 0;
}

/* Returns the error of the first connection that failed for good, or one whose code is 0 */
static struct rtgt_err soak_all(struct soak *s)
{
	struct rtgt_err err = { };

	for (unsigned int i = 0; i < s->conns && !atomic_load(&s->stop); i++)
		if (start(s, i) && !atomic_exchange(&s->stop, true))
			s->failed = &s->client[i];
	for (unsigned int i = 0; i < s->conns; i++)
		if (s->client[i].runs)
			pthread_join(s->client[i].thread, NULL);
	if (s->failed)
		err = s->failed->err;
	else if (interrupted)
		rtgt_fail(&err, EINTR, "interrupted");
	return err;
}

static int run(struct soak *s)
{
	struct rtgt_err err;

	soak_out_head(s);
	pthread_mutex_init(&s->lock, NULL);
	s->end_ns = rtgt_now_ns() + s->seconds * 1000000000ull;
	snprintf(s->progress.what, sizeof(s->progress.what), "soak, seed %llu",
		 (unsigned long long)s->seed);
	progress_begin(&s->progress, s->count * s->conns);
	err = soak_all(s);
	progress_end(&s->progress);
	pthread_mutex_destroy(&s->lock);
	if (soak_out(s, &err) && !err.code)
		rtgt_fail(&err, EIO, "cannot write to standard output");
	if (err.code)
		failed("%s", err.text);
	return !err.code ? EXIT_OK : err.code == EINTR ? EXIT_INTERRUPTED : EXIT_FAILED;
}

int cmd_soak(struct tool *tool, int argc, char **argv)
{
	struct soak *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return failed("no memory");
	ret = parse(s, tool, argc, argv);
	if (!ret) {
		s->cancel = interrupt_event((int)SA_RESETHAND);
		ret = s->cancel < 0 ? failed("no eventfd: %s", strerror(errno)) : run(s);
	} else if (ret == OPTIONS_HELP) {
		ret = EXIT_OK;
	}
	free(s);
	return ret;
}
