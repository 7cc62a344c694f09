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

#include "tool/cli/interrupt.h"
#include "bw.h"

static const char help[] =
"Usage: rtgt [-j] [-p] bw [OPTIONS] HOST\n"
"\n"
"Bandwidth and message rate to a target, from user space and from this machine's kernel.\n"
"\n"
MEASURE_HELP_WHERE
"  -o, --ops LIST       of write (the default), read, send, write-imm, write+read\n"
"  -b, --bidi           -o write+read: WRITEs and READs at once, over -q connections each\n"
"  -S, -s, --size LIST  bytes: 64K (the default) or 1,4K,1M\n"
"  -C, -n, --count N    messages of each connection that are timed, 1000 by default\n"
"  -D, --duration S     so many seconds instead\n"
"  -W, --warmup N       user: messages before them, 100 by default\n"
"  -t, --depth N        messages under way on each connection, 16 by default\n"
"  -Q, --signal N       one in N asks for a completion, or over TCP for an answer; 1 by\n"
"                       default.  The kernel posts N together\n"
"      --segment BYTES  kernel: cut a message into requests of so many bytes, each when\n"
"                       the one before has ended\n"
"  -q, --qps N          connections, 1 by default\n"
"      --verify WHAT    end (the default): the last bytes of each place; all: every message\n"
"      --bulk           1 GiB in chunks of 4 MiB, all verified, over RDMA and TCP: the same\n"
"                       as -o write -S 4M -C 256 -W 0 --verify all --over rdma,tcp\n"
MEASURE_HELP_HOW
"\n"
"A message counts once, whichever way it goes: send comes back, write+read counts both.\n"
"MiB are 2^20 bytes.  The end is the completion, or the target's answer of what is answered\n"
"(send, write-imm); over TCP the answer of rtgt tcp-serve that all bytes are there.\n"
"\n"
"Exit status: 0 done, 1 failed, 2 the command line is wrong.  See rtgt-bw(1).\n";

enum {
	OPT_VERIFY = OPT_OWN,
	OPT_BULK,
	OPT_SEGMENT,
};

static const struct option options[] = {
	{ "bidi", no_argument, NULL, 'b' },
	{ "duration", required_argument, NULL, 'D' },
	{ "depth", required_argument, NULL, 't' },
	{ "signal", required_argument, NULL, 'Q' },
	{ "qps", required_argument, NULL, 'q' },
	{ "verify", required_argument, NULL, OPT_VERIFY },
	{ "segment", required_argument, NULL, OPT_SEGMENT },
	{ "bulk", no_argument, NULL, OPT_BULK },
	{ }
};

static const struct measure_op bw_ops[NR_OPS] = {
	[OP_WRITE] = { .name = "write", .opcode = IBV_WR_RDMA_WRITE, .tcp = RTGT_TCP_WRITE,
		       .access = RTGT_ACCESS_WRITE },
	[OP_READ] = { .name = "read", .opcode = IBV_WR_RDMA_READ, .tcp = RTGT_TCP_READ,
		      .access = RTGT_ACCESS_READ },
	[OP_SEND] = { .name = "send", .opcode = IBV_WR_SEND, .tcp = RTGT_TCP_ECHO,
		      .answered = true },
	[OP_WRITE_IMM] = { .name = "write-imm", .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
			   .tcp = RTGT_TCP_WRITE, .answered = true,
			   .access = RTGT_ACCESS_WRITE },
	[OP_BOTH] = { .name = "write+read", .opcode = IBV_WR_RDMA_WRITE, .tcp = RTGT_TCP_WRITE,
		      .access = RTGT_ACCESS_WRITE | RTGT_ACCESS_READ, .both = true },
};

static struct bw *to_bw(struct measure *m)
{
	return (struct bw *)((char *)m - offsetof(struct bw, m));
}

/* -------------------------------------------------------------------- the command line */

static int set_small(const char *opt, const char *text, unsigned int max, unsigned int *value)
{
	uint64_t wide = 0;
	int ret = parse_int(opt, text, 1, max, &wide);

	*value = (unsigned int)wide;
	return ret;
}

static int set_segment(const char *text, unsigned int *value)
{
	const char *end = text;
	uint64_t wide = 0;

	if (read_size(text, &end, &wide) || *end || !wide || wide > BW_SEGMENT_MAX)
		return misused("--segment \"%s\": 1 to 16M bytes", text);
	*value = (unsigned int)wide;
	return EXIT_OK;
}

static void set_bulk(struct bw *b)
{
	b->m.ops = 1u << OP_WRITE;
	b->m.size[0] = 4u << 20;
	b->m.nr_sizes = 1;
	b->m.count = 256;
	b->m.warmup = 0;
	b->m.over = 1u << OVER_RDMA | 1u << OVER_TCP;
	b->verify_all = true;
}

static int own_option(struct measure *m, int opt, const char *text)
{
	struct bw *b = to_bw(m);

	switch (opt) {
	case 'b':
		m->ops = 1u << OP_BOTH;
		return EXIT_OK;
	case 'D':
		return set_small("-D", text, 3600, &b->seconds);
	case 't':
		return set_small("-t", text, 128, &b->depth);
	case 'Q':
		return set_small("-Q", text, 128, &b->signal);
	case 'q':
		return set_small("-q", text, BW_QPS_MAX, &b->qps);
	case OPT_SEGMENT:
		return set_segment(text, &b->segment);
	case OPT_BULK:
		set_bulk(b);
		return EXIT_OK;
	default:
		b->verify_all = !strcmp(text, "all");
		return b->verify_all || !strcmp(text, "end") ? EXIT_OK :
			misused("--verify \"%s\": end or all", text);
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
	s->sent = 0;
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
	/* the others are flushed, and have less to say */
	s->first = s->ret && !atomic_exchange(&s->watch->broken, true);
	atomic_store(&s->w.idle, true);
	return NULL;
}

/* All streams at once; this thread moves the first */
static int move(struct bw_stream *s, unsigned int nr, struct watch *w, struct rtgt_err *err)
{
	unsigned int started = 1;
	int ret = 0;

	while (started < nr && !ret) {
		ret = pthread_create(&s[started].thread, NULL, stream_thread, &s[started]);
		started += !ret;
	}
	if (ret) {
		atomic_store(&w->broken, true);
		ret = rtgt_fail(err, ret, "no thread: %s", strerror(ret));
	} else {
		stream_thread(&s[0]);
	}
	for (unsigned int i = 0; i < started; i++) {
		if (i)
			pthread_join(s[i].thread, NULL);
		if (s[i].first) {
			ret = s[i].ret;
			*err = s[i].err;
		} else if (s[i].ret && !ret) {
			ret = s[i].ret;
		}
	}
	return ret;
}

static int a_round(struct bw *b, struct bw_stream *s, unsigned int nr, uint64_t messages,
		   struct rtgt_err *err)
{
	uint64_t begin = UINT64_MAX, end = 0;
	struct watch w = { .nr = nr };
	int ret;

	for (unsigned int i = 0; i < nr; i++) {
		s[i].by->refresh(&s[i]);
		s[i].messages = b->seconds ? UINT64_MAX : messages;
		s[i].watch = &w;
		s[i].ret = 0;
		s[i].first = false;
		atomic_store(&s[i].w.idle, false);
		w.list[i] = &s[i].w;
	}
	ret = watch_begin(&w, &b->m.progress, b->m.timeout, err);
	if (!ret)
		ret = watch_end(&w, move(s, nr, &w, err), err);
	for (unsigned int i = 0; i < nr && !ret; i++) {
		begin = s[i].begin < begin ? s[i].begin : begin;
		end = s[i].end > end ? s[i].end : end;
		b->messages += s[i].done;
		ret = s[i].by->check(&s[i], err);
	}
	b->elapsed_ns += end - begin;
	b->m.progress.before += (b->m.warmup + messages) * nr;
	if (!ret && interrupted)
		ret = rtgt_fail(err, EINTR, "interrupted");
	return ret;
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
	for (unsigned int i = 0; i < nr; i++)
		b->verified += s[i].verified;
	return ret;
}

static unsigned int slots(const struct bw *b, const struct measure_op *op, uint64_t share)
{
	uint64_t room = share / b->m.at.size;

	return op->opcode == IBV_WR_SEND || room > b->depth ? b->depth : (unsigned int)room;
}

static int user_run(struct bw *b, struct rtgt_err *err)
{
	const bool tcp = b->m.at.over == OVER_TCP;
	const unsigned int nr = bw_connections(b);
	struct bw_stream *s;
	uint64_t share;
	int ret = bw_share(b, tcp ? b->m.tcp.size : b->m.client.peer.region[b->m.region].len,
			   &share, err);

	if (!ret && !tcp)
		ret = measure_can(&b->m, &b->m.client, share, err);
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
	b->verified = 0;
	ret = m->at.from == FROM_KERNEL ? bw_kernel_run(b, err) : user_run(b, err);
	if (!ret)
		bw_out_row(b);
	return ret;
}

int cmd_bw(const struct tool *tool, int argc, char **argv)
{
	struct bw b = {
		.m = {
			.tool = tool, .command = "bw", .schema = BW_SCHEMA, .op = bw_ops,
			.nr_ops = NR_OPS,
			.service = STRING(RTGT_PORT), .tcp_service = STRING(RTGT_TCP_PORT),
			.from = 1u << FROM_USER, .over = 1u << OVER_RDMA, .ops = 1u << OP_WRITE,
			.size = { 65536 }, .nr_sizes = 1, .count = 1000, .warmup = 100,
			.timeout = default_timeout(), .completion = "softirq",
		},
		.depth = 16, .signal = 1, .qps = 1,
	};
	struct rtgt_client_param param = { };
	int ret = measure_parse(&b.m, argc + 1, argv - 1, "bD:t:Q:q:", options,
				help, own_option);

	if (!ret)
		ret = check_options(&b);
	if (ret)
		return ret < 0 ? EXIT_OK : ret;
	for (unsigned int i = 0; i < b.m.nr_sizes; i++)
		if (b.m.size[i] > param.payload)
			param.payload = b.m.size[i];
	ret = measure_run(&b.m, &param, cell, b.qps * (b.m.ops & 1u << OP_BOTH ? 2 : 1));
	if (!ret)
		ret = bw_out_end(&b);
	json_object_put(b.m.results);
	return ret;
}
