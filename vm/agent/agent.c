// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The control channel of a guest: runs commands and carries their input,
 * output and status, over a virtio-serial port, so that the RDMA wire and the
 * console stay what they are.
 *
 *   agent serve PORT...                      in a guest, also as its init
 *   agent run [-t SECS] [-w SECS] WHERE -- CMD ARGS...
 *   agent shell [-w SECS] WHERE [-- CMD ARGS...]       on a terminal of its own
 *
 * WHERE is the unix socket QEMU made of a guest's port or, in another guest, a
 * port that leads there.  A port serves one requester at a time; of a port
 * there may be several, named WHERE, WHERE1, ...: the first free one is taken.
 *
 * Frames (channel.c) carry it.  Each request draws a session number; frames of
 * any other are dropped, and HELLO of a new session ends the one before, so that
 * an interrupted requester leaves nothing behind that could disturb the next.
 * The command dies with its requester: told by the port where the requester is
 * the host, otherwise by the requester's silence for AGENT_SILENCE seconds, half a
 * minute by default.  Data for stdin is sent against credit, so that a command that does
 * not read it holds up nothing else.
 *
 * run exits with the command's status (128 + n after signal n), 124 after -t,
 * 125 when the channel fails, 126 or 127 when the command cannot be run.
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
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#define HELLO_MS	200
#define GRACE_MS	3000		/* between asking a command to end and SIGKILL */

struct client {
	struct channel chan;
	bool ready, done, raw, in_eof, limited;
	int status;			/* what to exit with when there is no other word */
	int64_t heard, told, hello, silence, limit, kill_at, leave_at;
	uint32_t credit;
	struct queue std[2];
	struct termios saved;
	const uint8_t *exec;
	size_t exec_len;
};

static struct client client = { .credit = CREDIT };

static void client_restore(void)
{
	if (client.raw)
		tcsetattr(0, TCSADRAIN, &client.saved);
	client.raw = false;
}

static void client_raw(struct client *c)
{
	struct termios t;

	if (tcgetattr(0, &c->saved) < 0)
		return;
	t = c->saved;
	cfmakeraw(&t);
	c->raw = true;
	atexit(client_restore);
	tcsetattr(0, TCSADRAIN, &t);
}

static void client_frame(void *ctx, uint32_t type, const uint8_t *data, size_t len)
{
	struct client *c = ctx;
	uint32_t credit;
	int32_t status;

	c->heard = now_ms();
	switch (type) {
	case F_READY:
		if (!c->ready)
			channel_send(&c->chan, F_EXEC, c->exec, c->exec_len);
		c->ready = true;
		break;
	case F_CREDIT:
		if (len != sizeof(credit))
			break;
		memcpy(&credit, data, sizeof(credit));
		c->credit += credit;
		break;
	case F_STDOUT:
	case F_STDERR:
		queue_add(&c->std[type == F_STDERR], data, len);
		break;
	case F_EXIT:
		if (len != sizeof(status))
			break;
		memcpy(&status, data, sizeof(status));
		c->done = true;
		if (!c->limited)
			c->status = status;
		break;
	}
}

/* Asks the command to end; if it does not, it is killed, and then left. */
static void client_signal(struct client *c, uint8_t sig, int status)
{
	if (!c->ready || c->kill_at)
		exit(status);
	channel_send(&c->chan, F_SIGNAL, &sig, 1);
	c->status = status;
	c->kill_at = now_ms() + GRACE_MS;
}

static void client_signals(struct client *c, int fd)
{
	struct signalfd_siginfo si;
	struct winsize ws;

	while (read(fd, &si, sizeof(si)) > 0) {
		if (si.ssi_signo != SIGWINCH)
			client_signal(c, si.ssi_signo, 128 + si.ssi_signo);
		else if (!ioctl(0, TIOCGWINSZ, &ws))
			channel_send(&c->chan, F_WINSIZE, &ws, sizeof(ws));
	}
}

static void client_input(struct client *c)
{
	uint8_t data[CHUNK];
	ssize_t n = read(0, data, c->credit < CHUNK ? c->credit : CHUNK);

	if (n > 0) {
		channel_send(&c->chan, F_STDIN, data, n);
		c->credit -= n;
	} else if (n == 0 || errno != EINTR) {
		channel_send(&c->chan, F_STDIN_EOF, NULL, 0);
		c->in_eof = true;
	}
}

static void client_time(struct client *c, const char *where)
{
	int64_t now = now_ms();
	uint8_t sig = SIGKILL;

	if (!c->ready && now - c->heard > c->hello)
		fail(125, "no answer at %s for %d s: not up, hung, or the channel is in use",
		     where, (int)(c->hello / 1000));
	if (c->ready && now - c->heard > c->silence)
		fail(125, "nothing heard from %s for %d s: the guest hangs", where,
		     (int)(c->silence / 1000));
	if (now - c->told >= (c->ready ? BEAT_MS : HELLO_MS)) {
		channel_send(&c->chan, c->ready ? F_BEAT : F_HELLO, NULL, 0);
		c->told = now;
	}
	if (c->limit && now >= c->limit && !c->kill_at) {
		fprintf(stderr, "agent: the command's time is over\n");
		c->limited = true;
		client_signal(c, SIGTERM, 124);
	}
	if (c->leave_at && now >= c->leave_at)
		exit(c->status);
	if (c->kill_at && now >= c->kill_at && !c->leave_at) {
		channel_send(&c->chan, F_SIGNAL, &sig, 1);
		c->leave_at = now + GRACE_MS;
	}
}

static void client_output(struct client *c, const struct pollfd *p)
{
	for (int i = 0; i < 2; i++) {
		if (!p[i].revents)
			continue;
		/* What poll calls writable is writable for as much as this. */
		if (!queue_write(&c->std[i], i + 1, 4096)) {
			queue_drop(&c->std[i]);
			client_signal(c, SIGPIPE, 128 + SIGPIPE);
		}
	}
}

static int client_loop(struct client *c, const char *where)
{
	sigset_t set;
	int sigs;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	sigs = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	client_time(c, where);

	while (!c->done || queue_len(&c->std[0]) || queue_len(&c->std[1])) {
		bool full = queue_len(&c->std[0]) > QUEUE || queue_len(&c->std[1]) > QUEUE;
		bool feed = c->ready && !c->in_eof && c->credit && !c->done;
		struct pollfd p[] = {
			{ sigs, POLLIN, 0 },
			{ c->done || full ? -1 : c->chan.fd,
			  POLLIN | (queue_len(&c->chan.out) ? POLLOUT : 0), 0 },
			{ feed && queue_len(&c->chan.out) < QUEUE ? 0 : -1, POLLIN, 0 },
			{ queue_len(&c->std[0]) ? 1 : -1, POLLOUT, 0 },
			{ queue_len(&c->std[1]) ? 2 : -1, POLLOUT, 0 },
		};

		poll(p, 5, HELLO_MS);
		if (p[0].revents)
			client_signals(c, sigs);
		if (full)
			c->heard = now_ms();
		if (p[1].revents & POLLIN && channel_read(&c->chan, client_frame, c) < 0)
			fail(125, "%s closed: the guest is gone", where);
		if (!(p[1].revents & POLLIN) && p[1].revents & (POLLHUP | POLLERR) && c->ready)
			fail(125, "%s hung up: the guest is gone", where);
		if (p[2].revents)
			client_input(c);
		client_output(c, p + 3);
		if (!c->done) {
			client_time(c, where);
			queue_write(&c->chan.out, c->chan.fd, QUEUE);
		}
	}
	return c->status;
}

static int connect_socket(const char *where)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(where) >= sizeof(addr.sun_path))
		fail(125, "%s: longer than a socket's name may be (107 bytes)", where);
	memcpy(addr.sun_path, where, strlen(where));
	if (fd < 0)
		fail(125, "socket: %m");
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		close(fd);
		return -1;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

/* The first free one of where, where1, where2, ... */
static int open_port(const char *where)
{
	char name[256];
	int fd = open(where, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	for (int i = 1; fd < 0 && errno == EBUSY && i < 16; i++) {
		snprintf(name, sizeof(name), "%s%d", where, i);
		fd = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			errno = EBUSY;
		if (fd < 0 && errno == EBUSY && access(name, F_OK))
			break;
	}
	return fd;
}

/* Opens the channel as soon as it is there and free, before the deadline. */
static int open_channel(const char *where, int64_t deadline)
{
	struct stat st;
	int fd;

	for (;;) {
		if (stat(where, &st) < 0)
			fd = -1;
		else
			fd = S_ISSOCK(st.st_mode) ? connect_socket(where) : open_port(where);
		if (fd >= 0)
			return fd;
		if (now_ms() > deadline)
			fail(125, "no guest at %s: %m", where);
		poll(NULL, 0, 50);
	}
}

static int request(char **argv, bool shell, const char *where, int limit, int wait_s)
{
	static char *const shell_argv[] = { "bash", NULL };
	struct client *c = &client;
	struct queue exec = { 0 };
	struct winsize ws = { .ws_row = 24, .ws_col = 80 };
	const char *term = getenv("TERM") ?: "";

	if (!*argv)
		argv = (char **)shell_argv;
	ioctl(0, TIOCGWINSZ, &ws);
	queue_add(&exec, &ws, sizeof(ws));
	term = !shell ? "" : *term ? term : "dumb";
	queue_add(&exec, term, strlen(term) + 1);
	for (int words = 0; *argv; argv++) {
		if (words++ == WORDS_MAX)
			fail(125, "the command line has more than %d words", WORDS_MAX);
		queue_add(&exec, *argv, strlen(*argv) + 1);
	}
	if (queue_len(&exec) > FRAME_MAX)
		fail(125, "the command line is longer than %d bytes", FRAME_MAX);
	c->exec = exec.data;
	c->exec_len = queue_len(&exec);

	c->heard = now_ms();
	c->hello = wait_s * 1000LL;
	c->silence = silence_ms();
	c->limit = limit ? c->heard + limit * 1000LL : 0;
	c->chan.fd = open_channel(where, c->heard + c->hello);
	do {
		if (getrandom(&c->chan.session, sizeof(c->chan.session), 0) < 0)
			fail(125, "getrandom: %m");
	} while (!c->chan.session);
	if (shell)
		client_raw(c);
	return client_loop(c, where);
}

static noreturn void misused(void)
{
	fprintf(stderr,
		"usage: agent serve PORT...\n"
		"       agent run [-t SECS] [-w SECS] WHERE -- CMD ARGS...\n"
		"       agent shell [-w SECS] WHERE [-- CMD ARGS...]\n"
		"-t ends the command after SECS seconds, -w waits for the guest (10 s);\n"
		"a guest that is silent for AGENT_SILENCE seconds (30) hangs\n");
	exit(2);
}

int main(int argc, char **argv)
{
	int limit = 0, wait_s = 10, opt;
	bool shell;
	char *where;

	if (argc < 3)
		misused();
	if (!strcmp(argv[1], "serve"))
		serve(argv + 2, argc - 2);
	shell = !strcmp(argv[1], "shell");
	if (!shell && strcmp(argv[1], "run"))
		misused();
	argc--;
	argv++;
	while ((opt = getopt(argc, argv, "+t:w:")) != -1) {
		if (opt != 't' && opt != 'w')
			misused();
		*(opt == 't' ? &limit : &wait_s) = atoi(optarg);
	}
	if (optind >= argc)
		misused();
	where = argv[optind++];
	if (optind < argc && !strcmp(argv[optind], "--"))
		optind++;
	if (!shell && optind >= argc)
		misused();
	return request(argv + optind, shell, where, limit, wait_s);
}
