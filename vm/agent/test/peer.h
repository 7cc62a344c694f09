/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The other end of the guests' control channel, for the tests of it: the frames that arrive, and
 * a process of ours that is under test, "agent run" with the test as the guest, behind a unix
 * socket, or "agent serve" with the test as the requester, behind a pseudo-terminal.  AGENT names
 * the program, ./agent beside the test if unset.
 */
#ifndef PEER_H
#define PEER_H

#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../agent.h"

#include "kselftest_harness.h"

#define SESSION		0x11223344
#define PATIENCE_MS	20000

/* What arrived: the last frame, all there were of each type, and the output's bytes */
struct seen {
	unsigned int frames, of[F_EXIT + 1];
	uint32_t type, session, credit;
	int32_t status;
	size_t len;
	uint8_t data[FRAME_MAX];
	struct queue out, exec;
};

static inline void take(void *ctx, uint32_t type, const uint8_t *data, size_t len)
{
	struct seen *s = ctx;

	s->frames++;
	s->type = type;
	s->len = len;
	memcpy(s->data, data, len);
	if (type <= F_EXIT)
		s->of[type]++;
	if (type == F_HELLO)
		memcpy(&s->session, data, sizeof(s->session));
	else if (type == F_STDOUT)
		queue_add(&s->out, data, len);
	else if (type == F_EXEC)
		queue_add(&s->exec, data, len);
	else if (type == F_EXIT && len == sizeof(s->status))
		memcpy(&s->status, data, len);
}

/* This end of a channel to a process that is under test, and the process */
struct peer {
	struct channel chan;
	struct seen seen;
	pid_t pid;
	int out;
};

static inline const char *agent_path(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);
	const char *name = getenv("AGENT");

	if (name || n < 0)
		return name ? name : "agent";
	path[n] = '\0';
	strcpy(strrchr(path, '/'), "/agent");
	return path;
}

static inline void start(struct peer *p, const char *const *argv)
{
	int end[2];

	if (pipe2(end, O_CLOEXEC) < 0)
		abort();
	/* writing to one that has ended is no failure of the test */
	signal(SIGPIPE, SIG_IGN);
	p->pid = fork();
	if (!p->pid) {
		int nothing = open("/dev/null", O_RDWR);

		setpgid(0, 0);
		dup2(nothing, 0);
		dup2(end[1], 1);
		dup2(nothing, 2);
		execv(agent_path(), (char *const *)argv);
		_exit(99);
	}
	close(end[1]);
	p->out = end[0];
}

static inline void put(struct peer *p)
{
	struct pollfd pfd = { p->chan.fd, POLLOUT, 0 };

	while (queue_len(&p->chan.out)) {
		if (!queue_write(&p->chan.out, p->chan.fd, CHUNK))
			return;
		poll(&pfd, 1, 10);
		while (channel_read(&p->chan, take, &p->seen) > 0)
			;
	}
}

static inline void say(struct peer *p, uint32_t type, const void *data, size_t len)
{
	channel_send(&p->chan, type, data, len);
	put(p);
}

/* Until so many frames of a type have come; a session begins with its HELLO */
static inline bool await(struct peer *p, uint32_t type, unsigned int number)
{
	int64_t end = now_ms() + PATIENCE_MS;

	while (p->seen.of[type] < number && now_ms() < end) {
		struct pollfd pfd = { p->chan.fd, POLLIN, 0 };

		poll(&pfd, 1, 100);
		if (channel_read(&p->chan, take, &p->seen) < 0)
			break;
		if (!p->chan.session)
			p->chan.session = p->seen.session;
	}
	return p->seen.of[type] >= number;
}

/* Its exit status, -1 if it does not end */
static inline int ended(struct peer *p)
{
	int64_t end = now_ms() + PATIENCE_MS;
	int status;

	while (waitpid(p->pid, &status, WNOHANG) != p->pid) {
		if (now_ms() > end)
			return -1;
		poll(NULL, 0, 10);
	}
	p->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

static inline void gone(struct peer *p)
{
	if (p->pid) {
		kill(-p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	close(p->out);
	close(p->chan.fd);
	free(p->chan.out.data);
	free(p->seen.out.data);
	free(p->seen.exec.data);
}

#endif
