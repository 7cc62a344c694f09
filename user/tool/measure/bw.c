// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt bw: how many bytes and messages a second, from user space and from the kernel,
 * over RDMA and over TCP.
 *
 * A cell has connections of its own, each with a thread and a part of the region that
 * nobody else uses.  A thread keeps as many messages under way as the depth says, and
 * nothing is allocated, printed or verified meanwhile.  The time is that of a round:
 * from the first post to the end of the last message of all connections.  The warm-up
 * has ended before: what is still under way when the time begins would be counted and
 * not paid for.  What
 * is compared is compared behind a round, by the main thread.  Usually there is one
 * round; with --verify all as many as it takes, each of messages that do not overwrite
 * one another, and the time is the sum of the rounds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bw.h"

static const struct usage_option options[] = {
	{ OPT_PORT, NULL },
	{ OPT_TCP_PORT, "the port of rtgt tcp-serve; default " STRING(RTGT_TCP_PORT) },
	{ OPT_SOURCE, NULL },
	{ OPT_DEVICE, NULL },
	{ OPT_GID_INDEX, NULL },
	{ OPT_MTU, NULL },
	{ OPT_FROM, NULL },
	{ OPT_OVER, NULL },
	{ OPT_OPS, "write (default), read, send, write-imm, write+read" },
	{ OPT_BIDI, "-o write+read: WRITEs and READs at once, over -q connections each" },
	{ OPT_SIZE, "64K (default) or 1,4K,1M or 1-1M (doubling)" },
	{ OPT_ALL, NULL },
	{ OPT_COUNT, "messages of each connection that are timed; default 1000" },
	{ OPT_DURATION, "post messages for this many seconds instead" },
	{ OPT_WARMUP, "user: messages before the timed ones; default 100" },
	{ OPT_DEPTH, "outstanding messages of each connection; default 16, at most "
		     STRING(BW_DEPTH_MAX) },
	{ OPT_SIGNAL, "one message in N requests a completion, or an answer over TCP; default 1.  "
		      "The kernel posts N messages at once" },
	{ OPT_SEGMENT, "kernel: split a message into requests of this many bytes; each is posted "
		       "when the one before has completed" },
	{ OPT_QPS, "connections; default 1, at most " STRING(BW_QPS_MAX) },
	{ OPT_VERIFY, "end (default): the last bytes of each place; all: every message" },
	{ OPT_BULK, "1 GiB in messages of 4 MiB, all verified, over RDMA and TCP: the same as "
		    "-o write -S 4M -C 256 -W 0 --verify all --over rdma,tcp" },
	{ OPT_GBITS, NULL },
	{ OPT_FREQUENCY, NULL },
	{ OPT_REGION, NULL },
	{ OPT_EVENTS, NULL },
	{ OPT_POLL, "user: poll instead; needs a CPU for each connection" },
	{ OPT_COMPLETION, NULL },
	{ OPT_SEED, NULL },
	{ OPT_TIMEOUT, NULL },
	{ OPT_PROGRESS, NULL },
	{ OPT_JSON, NULL },
	{ OPT_PRETTY, NULL },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "bw",
	.synopsis = "[-j] [-p] bw [OPTIONS] HOST",
	.about =
"Bandwidth and message rate to a target, from user space and from this machine's kernel.\n",
	.options = options,
	.notes =
"A message counts once: send, which comes back, counts in one direction; write+read counts\n"
"both.  MiB are 2^20 bytes.  A message ends with its completion, or with the target's answer\n"
"if it answers the operation (send, write-imm); over TCP with the answer of rtgt tcp-serve\n"
"that it has all bytes.\n"
"\n"
"Exit status: 0 done, 1 failed, 2 the command line is wrong, 130 interrupted.\n"
"See rtgt-bw(1).\n",
};

static const struct measure_op bw_ops[NR_OPS] = {
	[OP_WRITE] = { .name = "write", .work = RTGT_WORK_WRITE, .tcp = RTGT_TCP_WRITE,
		       .access = RTGT_ACCESS_WRITE },
	[OP_READ] = { .name = "read", .work = RTGT_WORK_READ, .tcp = RTGT_TCP_READ,
		      .access = RTGT_ACCESS_READ },
	[OP_SEND] = { .name = "send", .work = RTGT_WORK_ECHO, .tcp = RTGT_TCP_ECHO,
		      .answered = true },
	[OP_WRITE_IMM] = { .name = "write-imm", .work = RTGT_WORK_WRITE_IMM,
			   .tcp = RTGT_TCP_WRITE, .answered = true,
			   .access = RTGT_ACCESS_WRITE },
	[OP_BOTH] = { .name = "write+read", .work = RTGT_WORK_WRITE, .tcp = RTGT_TCP_WRITE,
		      .access = RTGT_ACCESS_WRITE | RTGT_ACCESS_READ, .both = true },
};

static struct bw *to_bw(struct measure *m)
{
	return (struct bw *)((char *)m - offsetof(struct bw, m));
}

/* -------------------------------------------------------------------- the command line */

static void set_bulk(struct bw *b)
{
	b->m.ops = 1u << OP_WRITE;
	b->m.sizes.at[0] = 4u << 20;
	b->m.sizes.nr = 1;
	b->m.count = 256;
	b->m.warmup = 0;
	b->m.over = 1u << OVER_RDMA | 1u << OVER_TCP;
	b->verify_all = true;
}

static int set_verify(struct bw *b, const char *text)
{
	static const char *const words[] = { "end", "all", NULL };
	unsigned int which = 0;
	int ret = opt_word(OPT_VERIFY, text, words, &which);

	b->verify_all = which;
	return ret;
}

static int own_option(struct measure *m, enum opt opt, const char *text)
{
	struct bw *b = to_bw(m);

	switch (opt) {
	case OPT_BIDI:
		m->ops = 1u << OP_BOTH;
		return EXIT_OK;
	case OPT_DURATION:
		return opt_uint(opt, text, 1, 3600, &b->seconds);
	case OPT_DEPTH:
		return opt_uint(opt, text, 1, BW_DEPTH_MAX, &b->depth);
	case OPT_SIGNAL:
		return opt_uint(opt, text, 1, BW_DEPTH_MAX, &b->signal);
	case OPT_QPS:
		return opt_uint(opt, text, 1, BW_QPS_MAX, &b->qps);
	case OPT_SEGMENT:
		return opt_bytes(opt, text, 1, BW_SEGMENT_MAX, &b->segment);
	case OPT_GBITS:
		b->gbits = true;
		return EXIT_OK;
	case OPT_BULK:
		set_bulk(b);
		return EXIT_OK;
	default:
		return set_verify(b, text);
	}
}

static int check_options(struct bw *b)
{
	if (b->signal > b->depth)
		return misused("-Q %u: with -t %u under way there would never be a completion",
			       b->signal, b->depth);
	if (b->segment && b->m.from != 1u << FROM_KERNEL)
		return misused("--segment is for the kernel's initiator: --from kernel");
	if (b->verify_all && b->seconds)
		return misused("--verify all takes a count (-C), no duration (-D)");
	/* nobody looks at what is overwritten before it is compared */
	if (b->verify_all)
		b->m.warmup = 0;
	return EXIT_OK;
}

/* ---------------------------------------------------------------------------- rounds */

/* From an idle connection to an idle connection */
static int transfer(struct bw_stream *s, uint64_t messages)
{
	s->total = messages;
	s->posted = 0;
	s->done = 0;
	s->begin = rtgt_now_ns();
	s->end = s->begin;
	return s->by->transfer(s, &s->err);
}

static void *stream_thread(void *arg)
{
	struct bw_stream *s = arg;

	if (s->b->m.warmup)
		s->ret = transfer(s, s->b->m.warmup);
	if (!s->ret)
		s->ret = transfer(s, s->messages);
	if (s->ret)
		measure_stop(&s->b->m);
	return NULL;
}

/*
 * Which of two failures tells more: that of an operation, any other, or that of a stream that ended
 * since another one had failed.
 */
static unsigned int tells(int ret, const struct rtgt_err *err)
{
	if (!ret)
		return 0;
	if (ret == -ECANCELED)
		return 1;
	return err->wc_status && err->wc_status != IBV_WC_WR_FLUSH_ERR ? 3 : 2;
}

/* All streams at once; this thread moves the first */
static int move(struct bw_stream *s, unsigned int nr, struct rtgt_err *err)
{
	unsigned int started = 1;
	int ret = 0;

	while (started < nr && !ret) {
		ret = pthread_create(&s[started].thread, NULL, stream_thread, &s[started]);
		started += !ret;
	}
	if (ret) {
		measure_stop(&s->b->m);
		ret = rtgt_fail(err, ret, "no thread: %s", strerror(ret));
	} else {
		stream_thread(&s[0]);
	}
	for (unsigned int i = 0; i < started; i++) {
		if (i)
			pthread_join(s[i].thread, NULL);
		if (tells(s[i].ret, &s[i].err) > tells(ret, err)) {
			ret = s[i].ret;
			*err = s[i].err;
		}
	}
	return ret;
}

static bool is_send(const struct bw_stream *s)
{
	return s->op->work == RTGT_WORK_ECHO;
}

static int a_round(struct bw *b, struct bw_stream *s, unsigned int nr, uint64_t messages,
		   struct rtgt_err *err)
{
	uint64_t begin = UINT64_MAX, end = 0;
	int ret;

	for (unsigned int i = 0; i < nr; i++) {
		s[i].by->refresh(&s[i]);
		s[i].messages = b->seconds ? UINT64_MAX : messages;
		s[i].ret = 0;
	}
	ret = move(s, nr, err);
	for (unsigned int i = 0; i < nr && !ret; i++) {
		begin = s[i].begin < begin ? s[i].begin : begin;
		end = s[i].end > end ? s[i].end : end;
		const uint64_t before = s[i].verified;

		b->messages += s[i].done;
		s[i].why = is_send(&s[i]) ? NOT_LAST : OVERWRITTEN;
		ret = s[i].by->check(&s[i], err);
		s[i].unseen += (b->m.warmup + s[i].done) * b->m.at.size -
			       (s[i].verified - before);
	}
	b->elapsed_ns += end - begin;
	return ret ? ret : measure_goes_on(&b->m, err);
}

static int rounds(struct bw *b, struct bw_stream *s, unsigned int nr, struct rtgt_err *err)
{
	uint64_t at_once = b->verify_all ? s->slots : b->m.count;
	int ret = 0;

	progress_begin(&b->m.progress, b->seconds ? 0 : (b->m.warmup + b->m.count) * nr);
	for (uint64_t left = b->m.count; left && !ret; left -= at_once) {
		if (at_once > left)
			at_once = left;
		ret = a_round(b, s, nr, at_once, err);
	}
	for (unsigned int i = 0; i < nr; i++) {
		b->m.verified += s[i].verified;
		measure_not_compared(&b->m, s[i].unseen, s[i].why);
	}
	return ret;
}

static unsigned int slots(const struct bw *b, const struct measure_op *op, uint64_t share)
{
	uint64_t room = share / b->m.at.size;

	return op->work == RTGT_WORK_ECHO || room > b->depth ? b->depth : (unsigned int)room;
}

static int user_run(struct bw *b, struct rtgt_err *err)
{
	const bool tcp = b->m.at.over == OVER_TCP;
	const unsigned int nr = bw_connections(b);
	struct bw_stream *s;
	uint64_t share;
	int ret = bw_share(b, tcp ? b->m.tcp.size : b->m.client->peer.region[b->m.region].len,
			   &share, err);

	if (!ret && !tcp)
		ret = measure_can(&b->m, share, err);
	if (ret)
		return ret;
	s = calloc(nr, sizeof(*s));
	if (!s)
		return rtgt_fail(err, ENOMEM, "no memory for %u connections", nr);
	for (unsigned int i = 0; i < nr && !ret; i++) {
		s[i].b = b;
		s[i].by = tcp ? &bw_tcp : &bw_rdma;
		s[i].op = bw_stream_op(b, i);
		s[i].base = i * share;
		s[i].slots = slots(b, s[i].op, share);
		ret = s[i].by->open(&s[i], err);
	}
	if (!ret)
		ret = rounds(b, s, nr, err);
	for (unsigned int i = 0; i < nr && s[i].by; i++)
		s[i].by->close(&s[i]);
	free(s);
	return ret;
}

static int cell(struct measure *m, struct rtgt_err *err)
{
	struct bw *b = to_bw(m);
	int ret;

	b->messages = 0;
	b->elapsed_ns = 0;
	ret = m->at.from == FROM_KERNEL ? bw_kernel_run(b, err) : user_run(b, err);
	if (!ret)
		bw_out_row(b);
	return ret;
}

int cmd_bw(struct tool *tool, int argc, char **argv)
{
	struct bw b = {
		.m = {
			.tool = tool, .usage = &usage, .own = own_option,
			.schema = BW_SCHEMA, .op = bw_ops, .nr_ops = NR_OPS,
			.to = { .service = STRING(RTGT_PORT), .timeout = default_timeout() },
			.tcp_service = STRING(RTGT_TCP_PORT),
			.from = 1u << FROM_USER, .over = 1u << OVER_RDMA, .ops = 1u << OP_WRITE,
			.sizes = { { 65536 }, 1 }, .count = 1000, .warmup = 100,
			.completion = "softirq",
		},
		.depth = 16, .signal = 1, .qps = 1,
	};
	int end, ret = measure_parse(&b.m, tool, argc, argv);

	if (!ret)
		ret = check_options(&b);
	if (ret)
		return ret == OPTIONS_HELP ? EXIT_OK : ret;
	ret = measure_run(&b.m, cell, b.qps * (b.m.ops & 1u << OP_BOTH ? 2 : 1));
	end = !ret || tool->json ? bw_out_end(&b) : EXIT_OK;
	ret = ret ? ret : end;
	json_object_put(b.m.results);
	return ret;
}
