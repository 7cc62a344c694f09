// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many connections.
 *
 *	race	connect and WRITE at once, many times; with writes=N up to N times for each
 *		connection, until one fails: ok counts first WRITEs, failed connections
 *	hold	keep connections open until stdin ends; each line on it asks for an
 *		echo over every connection, one after the other, or, if it says
 *		"burst", all at once
 *	end	connect and disconnect, one after the other, and time each from the
 *		disconnect until the target has freed what the connection had
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rtgt/pattern.h>

#include "probe.h"

/* Enough for the numbers of the module's objects */
#define OBJECTS	256

struct race {
	const struct option *o;
	atomic_int left, ok, failed;
	atomic_int first;
};

static void *race_thread(void *arg)
{
	struct race *r = arg;
	struct rtgt_wr wr = { .id = SEND_ID, .opcode = IBV_WR_RDMA_WRITE,
			      .len = (uint32_t)r->o->len };
	struct rtgt_err err;
	struct ibv_wc wc = {};
	struct link l;
	long long i;

	while (atomic_fetch_sub(&r->left, 1) > 0) {
		err.text[0] = '\0';
		if (!open_link(&l, r->o, &err)) {
			l.watched = true;
			wr.mr = &l.buf;
			wr.remote_addr = l.peer.region[0].addr;
			wr.rkey = l.peer.region[0].rkey;
			for (i = 0; i < r->o->writes && !rtgt_qp_post(&l.qp, &wr, &err) &&
			     !wait_for(&l, SEND_ID, &wc, &err) &&
			     wc.status == IBV_WC_SUCCESS; i++)
				;
			if (i)
				atomic_fetch_add(&r->ok, 1);
			if (i < r->o->writes && !atomic_fetch_add(&r->failed, 1))
				fprintf(stderr, "probe: first failure: WC %s %s\n",
					wc_name(wc.status), err.text);
		} else if (!atomic_fetch_add(&r->failed, 1)) {
			complain("first failure", &err);
		}
		close_link(&l);
	}
	return NULL;
}

static int cmd_race(const struct option *o)
{
	struct race r = { .o = o, .left = (int)o->count };
	pthread_t thread[64];
	int n = 0;

	while (n < o->threads && n < 64 && !pthread_create(&thread[n], NULL, race_thread, &r))
		n++;
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	printf("ok=%d failed=%d threads=%d\n", r.ok, r.failed, n);
	return 0;
}

struct opening {
	const struct option *o;
	struct link *link;
	int ret;
};

static void *open_thread(void *arg)
{
	struct opening *op = arg;
	struct rtgt_err err;

	op->ret = open_link(op->link, op->o, &err);
	if (op->ret)
		complain("connection", &err);
	return NULL;
}

/* All at once: the target sees as many REQs as there are connections */
static int open_all(struct link *l, const struct option *o, int n)
{
	static struct opening op[MAX_LINKS];
	static pthread_t thread[MAX_LINKS];
	int started = 0, up = 0;

	for (; started < n; started++) {
		op[started] = (struct opening) { .o = o, .link = &l[started] };
		if (pthread_create(&thread[started], NULL, open_thread, &op[started]))
			break;
	}
	for (int i = 0; i < started; i++) {
		pthread_join(thread[i], NULL);
		up += !op[i].ret;
	}
	return up;
}

/* Ask over every connection before the first answer is taken */
static int burst(struct link *l, int n)
{
	struct rtgt_wr wr = {
		.id = SEND_ID, .opcode = IBV_WR_SEND, .len = sizeof(struct rtgt_msg),
	};
	struct rtgt_reply reply;
	struct rtgt_err err = {};
	struct ibv_wc wc;
	int alive = 0;

	for (int i = 0; i < n; i++) {
		rtgt_encode_msg((void *)l[i].buf.buf, RTGT_MSG_ECHO, (uint32_t)i, 0);
		wr.mr = &l[i].buf;
		if (!l[i].cm.connected || rtgt_qp_post(&l[i].qp, &wr, &err))
			complain("burst", &err);
	}
	for (int i = 0; i < n; i++) {
		if (!l[i].cm.connected)
			continue;
		if (wait_for(&l[i], SEND_ID, &wc, &err) || take_reply(&l[i], &reply, &err))
			complain("burst", &err);
		else
			alive += wc.status == IBV_WC_SUCCESS && reply.status == RTGT_OK &&
				 reply.tag == (uint32_t)i;
	}
	return alive;
}

static int echo_all(struct link *l, int n)
{
	int alive = 0;

	for (int i = 0; i < n; i++)
		alive += l[i].cm.connected && echo(&l[i], (uint32_t)i);
	return alive;
}

static int cmd_hold(const struct option *o)
{
	static struct link l[MAX_LINKS];
	int n = o->count < MAX_LINKS ? (int)o->count : MAX_LINKS;
	char line[16];

	printf("ready=%d\n", open_all(l, o, n));
	for (int i = 0; o->show && i < n; i++)
		print_rep(&l[i]);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 0; i < n; i++)
			l[i].watched = true;
		printf("alive=%d\n", strcmp(line, "burst\n") ? echo_all(l, n) : burst(l, n));
		fflush(stdout);
	}
	for (int i = 0; i < n; i++)
		close_link(&l[i]);
	puts("closed=1");
	return 0;
}

static int read_objects(int fd, char *text, struct rtgt_err *err)
{
	ssize_t n = pread(fd, text, OBJECTS - 1, 0);

	if (n < 0)
		return rtgt_fail(err, errno, "the objects cannot be read: %s", strerror(errno));
	text[n] = '\0';
	return 0;
}

/* Until the objects are again what they were; the kernel's workers go first on one processor */
static int await_objects(int fd, const char *before, int timeout, struct rtgt_err *err)
{
	uint64_t end = rtgt_now_ns() + (uint64_t)timeout * 1000000000u;
	char now[OBJECTS];
	int ret;

	for (;;) {
		ret = read_objects(fd, now, err);
		if (ret || !strcmp(now, before))
			return ret;
		if (rtgt_now_ns() > end)
			return rtgt_fail(err, ETIMEDOUT, "the target does not free the connection");
		sched_yield();
	}
}

static int time_end(struct link *l, const struct option *o, int fd, struct rtgt_err *err)
{
	char before[OBJECTS];
	uint64_t start;
	int ret = read_objects(fd, before, err);

	if (!ret)
		ret = open_link(l, o, err);
	start = rtgt_now_ns();
	if (!ret) {
		rtgt_cm_disconnect(&l->cm);
		ret = await_objects(fd, before, (int)o->timeout, err);
	}
	if (!ret)
		printf("teardown_us=%.2f\n", (double)(rtgt_now_ns() - start) / 1e3);
	close_link(l);
	return ret;
}

static int cmd_end(const struct option *o)
{
	int fd = o->file ? open(o->file, O_RDONLY | O_CLOEXEC) : -1, ret = 0;
	struct rtgt_err err = {};
	struct link l = {};

	if (fd < 0) {
		fprintf(stderr, "probe: end: file=%s cannot be opened\n", o->file ? o->file : "");
		return 1;
	}
	for (long long i = 0; i < o->count && !ret; i++)
		ret = time_end(&l, o, fd, &err);
	close(fd);
	return ret ? complain("end", &err) : 0;
}

static const struct arg race_args[] = {
	NUMBER(count, "connections in all"),
	NUMBER(threads, "connections at a time"),
	NUMBER(writes, "WRITEs of each, until one fails"),
	{ }
};

const struct command race_command = {
	.name = "race",
	.help = "connect and WRITE at once, many times",
	.run = cmd_race,
	.args = { race_args, wr_args, link_args },
};

static const struct arg hold_args[] = {
	NUMBER(count, "connections"),
	NUMBER(show, "1: print what each REP says"),
	{ }
};

const struct command hold_command = {
	.name = "hold",
	.help = "keep connections open until stdin ends; a line on it asks for an echo over each",
	.run = cmd_hold,
	.args = { hold_args, message_args, link_args },
};

static const struct arg end_args[] = {
	NUMBER(count, "connections, one after the other"),
	TEXT(file, "the module's objects in debugfs: they tell what is freed"),
	{ }
};

const struct command end_command = {
	.name = "end",
	.help = "time disconnects, until the target has freed what each connection had",
	.run = cmd_end,
	.args = { end_args, link_args },
};
