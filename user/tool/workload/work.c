// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt work: patterns that programs make of the verbs, each with a result that can be checked.
 *
 * A pattern is one file (work_kv.c) and a row of the table below.  Each connection has a thread.
 * One that fails is told of, and the others finish.
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
#include "work.h"

static const struct work_pattern *const patterns[] = {
	&work_kv, &work_ckpt, &work_ps, &work_meet,
};

/* As the messages list them */
#define NAMES		"kv, checkpoint, ps or rendezvous"
#define PATTERNS	(sizeof(patterns) / sizeof(*patterns))

static const struct usage_option options[] = {
	{ OPT_ADDRESS, NULL },
	{ OPT_PORT, NULL },
	{ OPT_SOURCE, NULL },
	{ OPT_COUNT, "lookups, checkpoints or rounds of each worker; default 1000, 10, 20 for ps, "
		     "100 for rendezvous" },
	{ OPT_DURATION, "run for so long instead" },
	{ OPT_QPS, "workers, each with a connection, at most " STRING(WORK_WORKERS)
		   "; default 3" },
	{ OPT_SIZE, "bytes of a value, a checkpoint or the weights; default 4096, 1M or 64K, at "
		    "most 64M" },
	{ OPT_KEYS, "kv: keys, 2 to " STRING(WORK_KEYS) "; default 16.  With few, a "
		    "lookup often meets a change" },
	{ OPT_IGNORE, "break a rule that the pattern relies on, to see what comes of it: of kv "
		      "version or order, of checkpoint order, of ps reply or order, of rendezvous "
		      "reply" },
	{ OPT_SATURATE, "ps: a weight stays in the range of 32 bits; default: it wraps" },
	{ OPT_ASYNC, "ps: no rounds; each gradient is added when it comes" },
	{ OPT_CHECK, "checkpoint: write nothing, and judge what is there" },
	{ OPT_REGION, NULL },
	{ OPT_SEED, NULL },
	{ OPT_TIMEOUT, NULL },
	{ OPT_PROGRESS, NULL },
	{ OPT_QUIET, NULL },
	{ OPT_JSON, NULL },
	{ OPT_PRETTY, NULL },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "work",
	.synopsis = "[-j] [-p] work [OPTIONS] PATTERN HOST",
	.about =
"Do with a region of a target what a kind of program does, and check the result exactly.\n"
"\n"
"Patterns:\n"
"  kv          READ values by key, while a writer changes them under a version word\n"
"  checkpoint  WRITE large states whose record comes last, and crash in the middle\n"
"  ps          WRITE gradients, announce them, and READ the weights that the target makes of them\n"
"  rendezvous  wait for one another\n"
"The port of the last two has the service ps, of the module rtgt_work.\n",
	.options = options,
	.notes =
"Exit status: 0 all results are right, 1 one is wrong or something failed, 2 the command line is\n"
"wrong, 130 interrupted.  See rtgt-work(1).\n",
};

/* ---------------------------------------------------------------------- the command line */

/* What --ignore names, before the pattern is known */
struct given {
	struct work *w;
	const char *ignore;
};

static int set_option(void *arg, enum opt opt, char *text)
{
	struct given *given = arg;
	struct work *w = given->w;
	int ret = where_option(&w->to, opt, text);

	if (ret != NOT_WHERE)
		return ret;
	switch (opt) {
	case OPT_COUNT:
		return opt_int(opt, text, 1, 4000000000, &w->count);
	case OPT_DURATION:
		return opt_uint(opt, text, 1, 1000000, &w->seconds);
	case OPT_QPS:
		return opt_uint(opt, text, 1, WORK_WORKERS, &w->workers);
	case OPT_SIZE:
		return opt_bytes(opt, text, 1, WORK_SIZE, &w->size);
	case OPT_KEYS:
		return opt_uint(opt, text, 2, WORK_KEYS, &w->keys);
	case OPT_IGNORE:
		given->ignore = text;
		return EXIT_OK;
	case OPT_SATURATE:
		w->saturate = true;
		return EXIT_OK;
	case OPT_ASYNC:
		w->async = true;
		return EXIT_OK;
	case OPT_CHECK:
		w->check = true;
		return EXIT_OK;
	case OPT_REGION:
		return opt_uint(opt, text, 0, RTGT_MAX_REGIONS - 1, &w->region);
	case OPT_SEED:
		return opt_seed(text, &w->seed);
	case OPT_PROGRESS:
		w->progress.on = true;
		return EXIT_OK;
	default:
		w->quiet = true;
		return EXIT_OK;
	}
}

/* The first word behind the options */
static int set_pattern(struct work *w, struct words *words)
{
	if (!words->argc)
		return misused("work does what? " NAMES " (rtgt work --help)");
	for (unsigned int i = 0; i < PATTERNS; i++)
		if (*words->argv[0] && is_prefix(words->argv[0], patterns[i]->name))
			w->pattern = patterns[i];
	if (!w->pattern)
		return misused("work knows no \"%s\": " NAMES " (rtgt work --help)",
			       words->argv[0]);
	words->argc--;
	words->argv++;
	return EXIT_OK;
}

/* What depends on the pattern */
static int fit(struct work *w, const char *ignore)
{
	int ret = ignore ? opt_words(OPT_IGNORE, ignore, w->pattern->rules, &w->ignored) : EXIT_OK;

	if (ret)
		return ret;
	if (w->count && w->seconds)
		return misused("work: -n says how many, and -D how long: take one");
	if (w->keys && w->pattern != &work_kv)
		return misused("work: --keys is kv's");
	if (w->check && w->pattern != &work_ckpt)
		return misused("work: --check is checkpoint's");
	if ((w->async || w->saturate) && w->pattern != &work_ps)
		return misused("work: --async and --saturate are of ps");
	if (w->async && (w->saturate || w->ignored))
		return misused("work: the sum of --async depends on no order: without --saturate and --ignore");
	if (w->seconds && w->pattern->rounds && !w->async)
		return misused("work: the workers of %s have the same number of rounds: -n says it",
			       w->pattern->name);
	if (w->pattern->rounds && w->region)
		return misused("work: the service of %s takes the first region: without --region",
			       w->pattern->name);
	if (w->size && w->pattern == &work_meet)
		return misused("work: a rendezvous has no bytes: without --size");
	if (w->pattern->unit && w->size % w->pattern->unit)
		return misused("work: a weight has %llu bytes: take a multiple with --size",
			       (unsigned long long)w->pattern->unit);
	if (!w->count && !w->seconds)
		w->count = w->pattern->count;
	if (!w->size)
		w->size = w->pattern->size;
	if (!w->keys)
		w->keys = 16;
	return EXIT_OK;
}

static int parse(struct work *w, struct tool *tool, int argc, char **argv)
{
	struct words words = { argc, argv };
	struct given given = { .w = w };
	int ret;

	w->to.service = STRING(RTGT_PORT);
	w->to.timeout = default_timeout();
	w->seed = new_seed();
	w->workers = 3;
	w->progress.on = isatty(STDERR_FILENO);
	ret = options_parse(&usage, tool, &words, set_option, &given);
	if (!ret)
		ret = set_pattern(w, &words);
	if (!ret)
		ret = where_host(&w->to, usage.name, &words);
	if (!ret)
		ret = fit(w, given.ignore);
	w->json = tool->json;
	w->pretty = tool->pretty;
	return ret;
}

/* --------------------------------------------------------------------------- the threads */

static void *work_thread(void *arg)
{
	struct worker *c = arg;
	const bool helps = c->index < c->w->pattern->helpers;

	if (!c->conn)
		c->ret = work_connect(c);
	if (!c->ret)
		c->ret = c->w->pattern->run(c);
	work_drop(c);
	if (helps)
		atomic_store(&c->w->alone, true);
	else
		atomic_fetch_sub(&c->w->working, 1);
	return NULL;
}

static void start(struct worker *c)
{
	/* the thread may set c->ret before this returns */
	int ret = pthread_create(&c->thread, NULL, work_thread, c);

	c->runs = !ret;
	if (c->runs)
		return;
	c->ret = rtgt_fail(&c->err, ret, "no thread: %s", strerror(ret));
	work_drop(c);
	if (c->index >= c->w->pattern->helpers)
		atomic_fetch_sub(&c->w->working, 1);
	else
		atomic_store(&c->w->alone, true);
}

/* The first connection prepares the region, and then all begin */
static void work_all(struct work *w)
{
	struct worker *first = &w->worker[0];

	for (unsigned int i = 0; i < work_conns(w); i++) {
		w->worker[i].w = w;
		w->worker[i].index = i;
		rtgt_hist_reset(&w->worker[i].took);
	}
	first->ret = work_connect(first);
	if (!first->ret && w->pattern->begin)
		first->ret = w->pattern->begin(first);
	if (first->ret) {
		work_drop(first);
	} else {
		w->end_ns = rtgt_now_ns() + w->seconds * 1000000000ull;
		for (unsigned int i = 0; i < work_conns(w); i++)
			start(&w->worker[i]);
		for (unsigned int i = 0; i < work_conns(w); i++)
			if (w->worker[i].runs)
				pthread_join(w->worker[i].thread, NULL);
	}
	if (w->pattern->end)
		w->pattern->end(w);
}

/* What was wrong, and what failed; how many */
static unsigned int collect(const struct work *w, struct rtgt_err *errors)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < work_conns(w); i++)
		if (w->worker[i].wrong.code)
			errors[nr++] = w->worker[i].wrong;
	for (unsigned int i = 0; i < work_conns(w); i++)
		if (w->worker[i].ret && !(interrupted && (w->worker[i].ret == -ECANCELED ||
							  w->worker[i].ret == -EINTR)))
			errors[nr++] = w->worker[i].err;
	if (interrupted)
		rtgt_fail(&errors[nr++], EINTR, "interrupted");
	return nr;
}

static int run(struct work *w)
{
	struct rtgt_err *errors = calloc(2 * WORK_CONNS + 1, sizeof(*errors));
	unsigned int nr;
	int ret = EXIT_OK;

	if (!errors)
		return failed("no memory");
	work_out_head(w);
	atomic_store(&w->working, w->workers);
	snprintf(w->progress.what, sizeof(w->progress.what), "work %s, %s", w->pattern->name,
		 w->pattern->each);
	progress_begin(&w->progress, w->count * w->workers);
	work_all(w);
	progress_end(&w->progress);
	nr = collect(w, errors);
	if (work_out(w, errors, nr) && !nr)
		rtgt_fail(&errors[nr++], EIO, "cannot write to standard output");
	if (nr)
		ret = errors[0].code == EINTR ? EXIT_INTERRUPTED : EXIT_FAILED;
	if (nr > 1 && errors[0].code != EINTR)
		failed("%s (and %u more)", errors[0].text, nr - 1);
	else if (nr)
		failed("%s", errors[0].text);
	free(errors);
	return ret;
}

int cmd_work(struct tool *tool, int argc, char **argv)
{
	struct work *w = calloc(1, sizeof(*w));
	int ret;

	if (!w)
		return failed("no memory");
	ret = parse(w, tool, argc, argv);
	if (!ret) {
		w->cancel = interrupt_event((int)SA_RESETHAND);
		ret = w->cancel < 0 ? failed("no eventfd: %s", strerror(errno)) : run(w);
	} else if (ret == OPTIONS_HELP) {
		ret = EXIT_OK;
	}
	free(w);
	return ret;
}
