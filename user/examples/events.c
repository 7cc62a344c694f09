// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * librtgt in an event loop: two connections of one domain WRITE at the same time, and one poll()
 * waits for both and for whoever wants to end the program (SIGINT, SIGTERM).
 *
 *	events HOST [PORT [SOURCE [WRITEs]]]
 *
 *	cc $(pkg-config --cflags librtgt) -o events events.c $(pkg-config --libs librtgt)
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <rtgt/rtgt.h>

#define CONNS	2
#define LEN	4096
#define STOP	CONNS

static unsigned long wanted[CONNS], taken[CONNS];

/* As many as there is room for */
static int submit_all(struct rtgt_conn *conn, unsigned int i, struct rtgt_buffer *buffer,
		      struct rtgt_err *err)
{
	struct rtgt_work work = {
		.size = sizeof(work), .type = RTGT_WORK_WRITE, .id = i,
		.buffer = buffer, .len = LEN,
	};
	int ret = 0;

	while (wanted[i] && !ret) {
		ret = rtgt_submit(conn, &work, err);
		wanted[i] -= !ret;
	}
	return ret == -EAGAIN ? 0 : ret;
}

/* Until nothing is done: only then does the next completion make the descriptor readable */
static int take_all(struct rtgt_conn *conn, unsigned int i, struct rtgt_buffer *buffer,
		    struct rtgt_err *err)
{
	struct rtgt_done done[8];
	int n;

	while ((n = rtgt_complete(conn, done, 8, err)) > 0) {
		for (int d = 0; d < n; d++) {
			if (done[d].error)
				return rtgt_done_error(conn, &done[d], err);
			taken[i]++;
		}
		n = submit_all(conn, i, buffer, err);
		if (n)
			return n;
	}
	return n;
}

static int loop(struct rtgt_conn **conn, struct rtgt_buffer *buffer, int stop, struct rtgt_err *err)
{
	struct pollfd fd[CONNS + 1] = { [STOP] = { .fd = stop, .events = POLLIN } };
	int ret = 0;

	for (unsigned int i = 0; i < CONNS && !ret; i++) {
		fd[i] = (struct pollfd) { .fd = rtgt_fd(conn[i]), .events = POLLIN };
		if (fd[i].fd < 0)
			return snprintf(err->text, sizeof(err->text), "no descriptor: %s",
					strerror(errno));
		ret = submit_all(conn[i], i, buffer, err);
		if (!ret)
			ret = take_all(conn[i], i, buffer, err);
	}
	while (!ret && (rtgt_outstanding(conn[0]) || rtgt_outstanding(conn[1]))) {
		if (poll(fd, CONNS + 1, -1) < 0)
			return snprintf(err->text, sizeof(err->text), "poll: %s", strerror(errno));
		if (fd[STOP].revents)
			return snprintf(err->text, sizeof(err->text), "interrupted");
		for (unsigned int i = 0; i < CONNS && !ret; i++)
			if (fd[i].revents)
				ret = take_all(conn[i], i, buffer, err);
	}
	return ret;
}

int main(int argc, char **argv)
{
	struct rtgt_params params = {
		.size = sizeof(params),
		.host = argc > 1 ? argv[1] : "localhost",
		.port = argc > 2 ? argv[2] : NULL,
		.source = argc > 3 ? argv[3] : NULL,
	};
	const unsigned long writes = argc > 4 ? strtoul(argv[4], NULL, 0) : 1000;
	struct rtgt_conn *conn[CONNS] = { NULL };
	struct rtgt_domain *domain = NULL;
	struct rtgt_buffer *buffer = NULL;
	struct rtgt_err err = { 0 }, ignored;
	sigset_t set;
	int ret;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* it ends rtgt_connect(), too */
	params.cancel_fd = signalfd(-1, &set, SFD_CLOEXEC);
	ret = rtgt_domain_open(&domain, &params, &err);
	if (!ret)
		ret = rtgt_buffer_create(&buffer, domain, LEN, 0, &err);
	for (unsigned int i = 0; i < CONNS && !ret; i++) {
		wanted[i] = writes;
		ret = rtgt_connect(&conn[i], domain, &params, &err);
	}
	if (!ret)
		ret = loop(conn, buffer, params.cancel_fd, &err);
	if (ret)
		fprintf(stderr, "events: %s\n", err.text);
	else
		printf("%lu and %lu WRITEs of %d bytes\n", taken[0], taken[1], LEN);
	for (unsigned int i = 0; i < CONNS; i++)
		rtgt_close(conn[i]);
	rtgt_buffer_destroy(buffer, &ignored);
	rtgt_domain_close(domain, &ignored);
	return ret ? 1 : 0;
}
