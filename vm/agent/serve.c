// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The guest's side: a process for each port, which runs one command at a time
 * in a session of its own, with pipes or with a terminal.  A new requester, the
 * end of the one there is, or its silence kills the command's process group.
 */
#define _GNU_SOURCE
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define ENV_FILE	"/opt/rtgt/env"

/* One port and the command it runs, if any. */
struct server {
	struct channel chan;
	pid_t pid;			/* 0: none; the leader of its session */
	int in, out, err;		/* -1 when closed; a terminal is in and out */
	bool in_eof, ended;
	int status;
	struct queue input;
	uint32_t credit;		/* consumed, not yet told */
	int64_t heard, told, silence;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void server_kill(struct server *s, pid_t group, int sig)
{
	if (!s->pid || s->ended)
		return;
	/* Just forked, it leads no group yet. */
	if (kill(-group, sig) < 0)
		kill(s->pid, sig);
}

static void server_end(struct server *s)
{
	server_kill(s, s->pid, SIGKILL);
	if (s->in != s->out)
		close_fd(&s->in);
	s->in = -1;
	close_fd(&s->out);
	close_fd(&s->err);
	s->pid = 0;
	s->ended = false;
	s->in_eof = false;
	queue_drop(&s->input);
	s->credit = 0;
}

static void read_env(void)
{
	FILE *f = fopen(ENV_FILE, "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	while (f && (n = getline(&line, &size, f)) > 0) {
		char *value = strchr(line, '=');

		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		if (value && *line != '#') {
			*value++ = 0;
			setenv(line, value, 1);
		}
	}
	free(line);
	if (f)
		fclose(f);
}

static noreturn void child(char **argv, const char *term, int in, int out, int err)
{
	sigset_t none;

	setsid();
	if (*term) {
		ioctl(in, TIOCSCTTY, 0);
		setenv("TERM", term, 1);
	}
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setenv("HOME", "/root", 1);
	setenv("LANG", "C.UTF-8", 1);
	setenv("PATH", "/opt/rtgt/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", 1);
	read_env();
	if (chdir("/root") < 0)
		fprintf(stderr, "agent: /root: %m\n");
	execvp(argv[0], argv);
	fprintf(stderr, "agent: %s: %m\n", argv[0]);
	_exit(errno == ENOENT ? 127 : 126);
}

/* in, out, err for the command (ends[]) and for us (s->...). */
static bool open_ends(struct server *s, bool tty, const struct winsize *ws, int ends[3])
{
	int p[3][2];

	if (tty) {
		int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

		if (fd < 0 || grantpt(fd) || unlockpt(fd))
			return false;
		ioctl(fd, TIOCSWINSZ, ws);
		ends[0] = open(ptsname(fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
		ends[1] = ends[0];
		ends[2] = ends[0];
		s->in = fd;
		s->out = fd;
		s->err = -1;
		fcntl(fd, F_SETFL, O_NONBLOCK);
		return ends[0] >= 0;
	}
	for (int i = 0; i < 3; i++)
		if (pipe2(p[i], O_CLOEXEC) < 0)
			return false;
	ends[0] = p[0][0];
	s->in = p[0][1];
	for (int i = 1; i < 3; i++) {
		ends[i] = p[i][1];
		*(i == 1 ? &s->out : &s->err) = p[i][0];
		fcntl(p[i][0], F_SETFL, O_NONBLOCK);
	}
	fcntl(s->in, F_SETFL, O_NONBLOCK);
	return true;
}

static void server_exec(struct server *s, const uint8_t *data, size_t len)
{
	const char *term = (const char *)data + sizeof(struct winsize);
	const char *end = (const char *)data + len;
	struct winsize ws;
	char *argv[WORDS_MAX + 1];
	int argc = 0, ends[3];

	if (s->pid || len < sizeof(ws) + 3 || end[-1])
		return;
	memcpy(&ws, data, sizeof(ws));
	for (const char *p = term + strlen(term) + 1; p < end; p += strlen(p) + 1) {
		if (argc == WORDS_MAX)
			return;
		argv[argc++] = (char *)p;
	}
	argv[argc] = NULL;
	if (!argc)
		return;
	if (!open_ends(s, *term, &ws, ends))
		fail(1, "pipes or terminal for a command: %m");
	s->pid = fork();
	if (s->pid < 0)
		fail(1, "fork: %m");
	if (!s->pid)
		child(argv, term, ends[0], ends[1], ends[2]);
	close(ends[0]);
	if (ends[1] != ends[0]) {
		close(ends[1]);
		close(ends[2]);
	}
}

static void server_signal(struct server *s, int sig)
{
	pid_t group = s->in >= 0 && s->in == s->out ? tcgetpgrp(s->in) : s->pid;

	server_kill(s, group > 0 ? group : s->pid, sig);
}

static void server_frame(void *ctx, uint32_t type, const uint8_t *data, size_t len)
{
	struct server *s = ctx;
	uint32_t session;

	s->heard = now_ms();
	switch (type) {
	case F_HELLO:
		memcpy(&session, data, sizeof(session));
		if (session != s->chan.session) {
			server_end(s);
			queue_drop(&s->chan.out);
			s->chan.session = session;
		}
		if (!s->pid)
			channel_send(&s->chan, F_READY, NULL, 0);
		break;
	case F_EXEC:
		server_exec(s, data, len);
		break;
	case F_STDIN:
		if (s->in >= 0)
			queue_add(&s->input, data, len);
		else
			s->credit += len;
		break;
	case F_STDIN_EOF:
		s->in_eof = true;
		break;
	case F_SIGNAL:
		if (len == 1)
			server_signal(s, data[0]);
		break;
	case F_WINSIZE:
		if (s->in >= 0 && len == sizeof(struct winsize))
			ioctl(s->in, TIOCSWINSZ, data);
		break;
	}
}

/* Passes on what the command wrote; false when there is nothing (more). */
static bool server_output(struct server *s, int *fd, uint32_t type)
{
	uint8_t data[CHUNK];
	ssize_t n;

	if (*fd < 0 || queue_len(&s->chan.out) >= QUEUE)
		return false;
	n = read(*fd, data, sizeof(data));
	if (n > 0) {
		channel_send(&s->chan, type, data, n);
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (fd == &s->out && s->in == s->out)	/* the terminal hung up */
		s->in = -1;
	close_fd(fd);
	return false;
}

static void server_input(struct server *s)
{
	size_t before = queue_len(&s->input);

	if (s->in >= 0 && before && !queue_write(&s->input, s->in, before)) {
		queue_drop(&s->input);
		if (s->in != s->out)
			close_fd(&s->in);
	}
	s->credit += before - queue_len(&s->input);
	if (s->in_eof && !queue_len(&s->input) && s->in >= 0 && s->in != s->out)
		close_fd(&s->in);
	if (s->credit >= CHUNK || (s->credit && !queue_len(&s->input))) {
		channel_send(&s->chan, F_CREDIT, &s->credit, sizeof(s->credit));
		s->credit = 0;
	}
}

static void server_reap(struct server *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != s->pid)
			continue;
		s->ended = true;
		s->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
}

/*
 * One round for the running command.  When it has ended, what it wrote is
 * passed on and then its status; what it left behind in the background keeps
 * running and is not waited for.
 */
static void server_command(struct server *s)
{
	bool more;

	server_input(s);
	do {
		more = server_output(s, &s->out, F_STDOUT);
		more |= server_output(s, &s->err, F_STDERR);
	} while (more);
	if (s->ended && queue_len(&s->chan.out) < QUEUE) {
		int32_t status = s->status;

		channel_send(&s->chan, F_EXIT, &status, sizeof(status));
		server_end(s);
		s->chan.session = 0;
	}
}

static void server_time(struct server *s)
{
	int64_t now = now_ms();

	if (s->pid && now - s->heard > s->silence) {
		server_end(s);
		s->chan.session = 0;
	}
	if (s->pid && now - s->told >= BEAT_MS) {
		channel_send(&s->chan, F_BEAT, NULL, 0);
		s->told = now;
	}
}

/*
 * A port without a requester polls as hung up all the time, so it is watched
 * through an edge-triggered epoll, which tells each change once.
 */
static void serve_port(const char *port)
{
	static struct server s = { .in = -1, .out = -1, .err = -1 };
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLET };
	int epoll = epoll_create1(EPOLL_CLOEXEC), sigchld;
	sigset_t set;

	s.silence = silence_ms();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigchld = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	signal(SIGPIPE, SIG_IGN);
	s.chan.fd = open(port, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (s.chan.fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, s.chan.fd, &ev) < 0)
		fail(1, "%s: %m", port);

	for (;;) {
		bool room = queue_len(&s.chan.out) < QUEUE;
		struct pollfd p[] = {
			{ epoll, POLLIN, 0 },
			{ sigchld, POLLIN, 0 },
			{ queue_len(&s.input) ? s.in : -1, POLLOUT, 0 },
			{ room ? s.out : -1, POLLIN, 0 },
			{ room ? s.err : -1, POLLIN, 0 },
		};
		struct signalfd_siginfo si;
		size_t len;

		poll(p, 5, s.pid ? BEAT_MS : -1);
		/* First the end of the old requester, then what a new one says. */
		if (p[0].revents && epoll_wait(epoll, &ev, 1, 0) == 1 && ev.events & EPOLLHUP) {
			server_end(&s);
			s.chan.session = 0;
		}
		while (channel_read(&s.chan, server_frame, &s) > 0)
			;
		while (read(sigchld, &si, sizeof(si)) > 0)
			;
		server_reap(&s);
		if (s.pid) {
			server_command(&s);
			server_time(&s);
		}
		do {
			len = queue_len(&s.chan.out);
			queue_write(&s.chan.out, s.chan.fd, 2 * CHUNK);
		} while (queue_len(&s.chan.out) && queue_len(&s.chan.out) < len);
	}
}

/* A process for each port; this one starts them again and, as init, reaps. */
void serve(char **ports, int n)
{
	pid_t pids[16] = { 0 };
	pid_t dead = 0;

	if (n > 16)
		fail(2, "at most 16 ports");
	for (;;) {
		for (int i = 0; i < n; i++) {
			if (pids[i] != dead)
				continue;
			if (dead) {
				fprintf(stderr, "agent: serving %s again\n", ports[i]);
				poll(NULL, 0, 200);	/* should it fail each time */
			}
			pids[i] = fork();
			if (!pids[i])
				serve_port(ports[i]);
		}
		do {
			dead = wait(NULL);
		} while (dead < 0 && errno == EINTR);
		if (dead < 0)
			fail(1, "wait: %m");
	}
}
