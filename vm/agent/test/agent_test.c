// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * agent_test: the protocol of the guests' control channel, which carries every verdict of the
 * suite out of a guest.
 *
 * The frames (channel.c) are linked in.  The program's two sides are started as they are: "agent
 * run" with this test as the guest, behind a unix socket, and "agent serve" with this test as the
 * requester, behind a pseudo-terminal.  AGENT names the program, ./agent beside this one if unset.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
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

static void take(void *ctx, uint32_t type, const uint8_t *data, size_t len)
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

/* ------------------------------------------------------------------------------- frames */

FIXTURE(frames)
{
	int end[2];
	struct channel *from, *to;
	struct seen *seen;
};

FIXTURE_SETUP(frames)
{
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, self->end));
	self->from = calloc(1, sizeof(*self->from));
	self->to = calloc(1, sizeof(*self->to));
	self->seen = calloc(1, sizeof(*self->seen));
	self->from->session = SESSION;
	self->to->session = SESSION;
	self->to->fd = self->end[1];
}

FIXTURE_TEARDOWN(frames)
{
	free(self->from->out.data);
	free(self->seen->out.data);
	free(self->from);
	free(self->to);
	free(self->seen);
	close(self->end[0]);
	close(self->end[1]);
}

/* The receiver gets @len bytes of what the sender has queued, from @at on, @step at a time */
static void carry(struct channel *from, struct channel *to, struct seen *seen, int fd, size_t at,
		  size_t len, size_t step)
{
	const uint8_t *p = from->out.data + from->out.begin + at;

	while (len) {
		size_t n = len < step ? len : step;
		ssize_t done = write(fd, p, n);

		if (done > 0) {
			p += done;
			len -= done;
		}
		while (channel_read(to, take, seen) > 0)
			;
	}
}

#define CARRY(at, len, step) carry(self->from, self->to, self->seen, self->end[0], at, len, step)
#define QUEUED queue_len(&self->from->out)

/* Each byte arrives as it was sent, those that stand for frames' ends and for escapes as well */
TEST_F(frames, every_byte)
{
	uint8_t data[512];

	for (int i = 0; i < 512; i++)
		data[i] = i;
	channel_send(self->from, F_STDOUT, data, sizeof(data));
	CARRY(0, QUEUED, CHUNK);
	ASSERT_EQ(1, self->seen->frames);
	EXPECT_EQ(sizeof(data), self->seen->len);
	EXPECT_EQ(0, memcmp(data, self->seen->data, sizeof(data)));
}

/* A frame that arrives byte by byte is a whole one */
TEST_F(frames, byte_by_byte)
{
	channel_send(self->from, F_STDOUT, "\xc0\xdb\xdc\xdd", 4);
	CARRY(0, QUEUED, 1);
	ASSERT_EQ(1, self->seen->frames);
	EXPECT_EQ(0, memcmp("\xc0\xdb\xdc\xdd", self->seen->data, 4));
}

/* The largest frame arrives */
TEST_F(frames, largest)
{
	uint8_t *data = malloc(FRAME_MAX);

	ASSERT_NE(NULL, data);
	memset(data, 0xc0, FRAME_MAX);
	channel_send(self->from, F_STDOUT, data, FRAME_MAX);
	CARRY(0, QUEUED, CHUNK);
	EXPECT_EQ(1, self->seen->frames);
	EXPECT_EQ(FRAME_MAX, self->seen->len);
	free(data);
}

/* A frame that is too large is dropped, and the next one arrives */
TEST_F(frames, oversized)
{
	uint8_t *data = calloc(1, 4 * FRAME_MAX);

	channel_send(self->from, F_STDOUT, data, FRAME_MAX + 1);
	channel_send(self->from, F_STDERR, data, 4 * FRAME_MAX);
	channel_send(self->from, F_EXIT, "1234", 4);
	CARRY(0, QUEUED, CHUNK);
	EXPECT_EQ(1, self->seen->frames);
	EXPECT_EQ(F_EXIT, self->seen->type);
	free(data);
}

/* A frame that was cut short anywhere is dropped, and the next one arrives */
TEST_F(frames, truncated)
{
	size_t whole;

	channel_send(self->from, F_STDOUT, "\xc0 0123456789 \xdb", 14);
	whole = QUEUED;
	channel_send(self->from, F_EXIT, "1234", 4);
	for (size_t cut = 0; cut < whole - 1; cut++) {
		memset(self->seen, 0, sizeof(*self->seen));
		CARRY(0, cut, CHUNK);
		EXPECT_EQ(0, self->seen->frames);
		CARRY(whole, QUEUED - whole, CHUNK);
		EXPECT_EQ(1, self->seen->frames) {
			TH_LOG("cut after %zu bytes", cut);
		}
		EXPECT_EQ(F_EXIT, self->seen->type);
	}
}

/* A frame whose beginning is missing is dropped, and the next one arrives */
TEST_F(frames, beheaded)
{
	size_t whole;

	channel_send(self->from, F_STDOUT, "0123456789", 10);
	whole = QUEUED;
	channel_send(self->from, F_EXIT, "1234", 4);
	for (size_t cut = 2; cut < whole; cut++) {
		memset(self->seen, 0, sizeof(*self->seen));
		CARRY(cut, QUEUED - cut, CHUNK);
		EXPECT_EQ(1, self->seen->frames) {
			TH_LOG("%zu bytes are missing", cut);
		}
		EXPECT_EQ(F_EXIT, self->seen->type);
	}
}

/* A frame whose length is not what its head says is dropped */
TEST_F(frames, wrong_length)
{
	uint8_t raw[] = { 0xc0, F_EXIT, 0, 0, 0, 0x44, 0x33, 0x22, 0x11, 4, 0, 0, 0,
			  1, 2, 3, 4, 0xc0 };

	for (int len = 0; len < 256; len++) {
		memset(self->seen, 0, sizeof(*self->seen));
		raw[9] = len;
		self->from->out.begin = self->from->out.end;
		queue_add(&self->from->out, raw, sizeof(raw));
		CARRY(0, sizeof(raw), CHUNK);
		EXPECT_EQ(len == 4, self->seen->frames) {
			TH_LOG("length %d", len);
		}
	}
}

/* A frame with an escape that stands for nothing is dropped */
TEST_F(frames, bad_escape)
{
	static const uint8_t raw[] = { 0xc0, F_STDOUT, 0, 0, 0, 0x44, 0x33, 0x22, 0x11, 1, 0, 0, 0,
				       0xdb, 0x41, 0xc0 };

	queue_add(&self->from->out, raw, sizeof(raw));
	CARRY(0, sizeof(raw), CHUNK);
	EXPECT_EQ(0, self->seen->frames);
}

/* Frames of another session are dropped, but for the HELLO of a new one */
TEST_F(frames, other_session)
{
	self->from->session = SESSION + 1;
	for (uint32_t type = 0; type <= F_EXIT; type++)
		channel_send(self->from, type, "1234", 4);
	CARRY(0, QUEUED, CHUNK);
	EXPECT_EQ(1, self->seen->frames);
	EXPECT_EQ(1, self->seen->of[F_HELLO]);
	EXPECT_EQ(SESSION + 1, self->seen->session);
}

/* The line's end is told, and so is that there is nothing */
TEST_F(frames, line_end)
{
	EXPECT_EQ(0, channel_read(self->to, take, self->seen));
	shutdown(self->end[0], SHUT_WR);
	EXPECT_EQ(-1, channel_read(self->to, take, self->seen));
}

/* ------------------------------------------------------------------ both sides' other end */

/* This end of a channel to a process that is under test, and the process */
struct peer {
	struct channel chan;
	struct seen seen;
	pid_t pid;
	int out;
};

static const char *agent_path(void)
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

static void start(struct peer *p, const char *const *argv)
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

static void put(struct peer *p)
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

static void say(struct peer *p, uint32_t type, const void *data, size_t len)
{
	channel_send(&p->chan, type, data, len);
	put(p);
}

/* Until so many frames of a type have come; a session begins with its HELLO */
static bool await(struct peer *p, uint32_t type, unsigned int number)
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
static int ended(struct peer *p)
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

static void gone(struct peer *p)
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

/* ------------------------------------------------------------- agent run: the requester */

FIXTURE(run)
{
	char path[64];
	int listener;
	struct peer *p;
};

FIXTURE_SETUP(run)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	self->p = calloc(1, sizeof(*self->p));
	snprintf(self->path, sizeof(self->path), "/tmp/agent-test.%d", getpid());
	strcpy(addr.sun_path, self->path);
	unlink(self->path);
	self->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ASSERT_EQ(0, bind(self->listener, (struct sockaddr *)&addr, sizeof(addr)));
	ASSERT_EQ(0, listen(self->listener, 1));
	setenv("AGENT_SILENCE", "2", 1);
}

FIXTURE_TEARDOWN(run)
{
	gone(self->p);
	close(self->listener);
	unlink(self->path);
	free(self->p);
}

/* It runs "true one two", with options, and has said HELLO */
static bool requested(struct peer *p, int listener, const char *path, const char *option,
		      const char *value)
{
	const char *const argv[] = {
		"agent", "run", option, value, path, "--", "true", "one", "two", NULL
	};
	const char *const plain[] = { "agent", "run", path, "--", "true", "one", "two", NULL };

	start(p, option ? argv : plain);
	p->chan.fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	return await(p, F_HELLO, 1);
}

#define REQUESTED(option, value) \
	ASSERT_TRUE(requested(self->p, self->listener, self->path, option, value))

/* And it was let begin: its request is here */
#define BEGUN(option, value) do { \
	REQUESTED(option, value); \
	say(self->p, F_READY, NULL, 0); \
	ASSERT_TRUE(await(self->p, F_EXEC, 1)); \
} while (0)

static void say_exit(struct peer *p, int32_t status)
{
	say(p, F_EXIT, &status, sizeof(status));
}

/* The command is asked for as it was named, and its status is the requester's */
TEST_F(run, status)
{
	static const char want[] = "\0true\0one\0two";
	size_t head = sizeof(struct winsize);

	BEGUN(NULL, NULL);
	ASSERT_EQ(head + sizeof(want), queue_len(&self->p->seen.exec));
	EXPECT_EQ(0, memcmp(want, self->p->seen.exec.data + head, sizeof(want)));
	say_exit(self->p, 7);
	EXPECT_EQ(7, ended(self->p));
}

/* What was written before the end is passed on, all of it */
TEST_F(run, output)
{
	static char data[CHUNK], got[CHUNK];
	size_t total = 0;
	ssize_t n;

	BEGUN(NULL, NULL);
	memset(data, 'x', sizeof(data));
	for (int i = 0; i < 3; i++)
		say(self->p, F_STDOUT, data, sizeof(data));
	say_exit(self->p, 0);
	while ((n = read(self->p->out, got, sizeof(got))) > 0)
		total += n;
	EXPECT_EQ(3 * sizeof(data), total);
	EXPECT_EQ(0, ended(self->p));
}

/* A status that is cut short, or too long, or another session's, is none */
TEST_F(run, bad_status)
{
	static const uint8_t zeros[8];
	uint32_t session;

	BEGUN(NULL, NULL);
	for (size_t len = 0; len <= sizeof(zeros); len++)
		if (len != 4)
			say(self->p, F_EXIT, zeros, len);
	session = self->p->chan.session;
	self->p->chan.session++;
	say_exit(self->p, 0);
	self->p->chan.session = session;
	say_exit(self->p, 9);
	EXPECT_EQ(9, ended(self->p));
}

/* Credit that is cut short gives none, and harms nothing */
TEST_F(run, bad_credit)
{
	BEGUN(NULL, NULL);
	say(self->p, F_CREDIT, NULL, 0);
	say(self->p, F_CREDIT, "123", 3);
	say(self->p, F_EXIT + 1, "what", 4);
	say_exit(self->p, 5);
	EXPECT_EQ(5, ended(self->p));
}

/* A guest that is gone before the status, or in the middle of it, is a failure */
TEST_F(run, guest_gone)
{
	uint8_t half[9] = { 0xc0, F_EXIT };

	BEGUN(NULL, NULL);
	ASSERT_EQ(sizeof(half), write(self->p->chan.fd, half, sizeof(half)));
	shutdown(self->p->chan.fd, SHUT_RDWR);
	EXPECT_EQ(125, ended(self->p));
}

/* A guest that says nothing any more hangs */
TEST_F(run, guest_silent)
{
	setenv("AGENT_SILENCE", "1", 1);
	BEGUN(NULL, NULL);
	EXPECT_EQ(125, ended(self->p));
}

/* A guest that never lets it begin is not up */
TEST_F(run, not_ready)
{
	REQUESTED("-w", "1");
	EXPECT_EQ(125, ended(self->p));
	EXPECT_EQ(0, self->p->seen.of[F_EXEC]);
}

/* With -t the command is asked to end, and the status is 124 whatever it ends with */
TEST_F(run, time_over)
{
	BEGUN("-t", "1");
	ASSERT_TRUE(await(self->p, F_SIGNAL, 1));
	EXPECT_EQ(SIGTERM, self->p->seen.data[0]);
	say_exit(self->p, 0);
	EXPECT_EQ(124, ended(self->p));
}

/* One that is interrupted passes the signal on, then SIGKILL, and ends if the command does not */
TEST_F(run, interrupted)
{
	BEGUN(NULL, NULL);
	kill(self->p->pid, SIGINT);
	ASSERT_TRUE(await(self->p, F_SIGNAL, 1));
	EXPECT_EQ(SIGINT, self->p->seen.data[0]);
	/* the guest is there, and the command goes on */
	for (int64_t end = now_ms() + PATIENCE_MS; now_ms() < end;) {
		say(self->p, F_BEAT, NULL, 0);
		if (channel_read(&self->p->chan, take, &self->p->seen) < 0)
			break;
		poll(NULL, 0, 50);
	}
	EXPECT_EQ(2, self->p->seen.of[F_SIGNAL]);
	EXPECT_EQ(128 + SIGINT, ended(self->p));
}

/* --------------------------------------------------------------- agent serve: the guest */

FIXTURE(serve)
{
	struct peer *p;
};

static bool serves(struct peer *p)
{
	struct termios raw;
	char name[128];
	bool ready;
	int slave;

	memset(&raw, 0, sizeof(raw));
	cfmakeraw(&raw);
	if (openpty(&p->chan.fd, &slave, name, &raw, NULL))
		return false;
	fcntl(p->chan.fd, F_SETFD, FD_CLOEXEC);
	fcntl(p->chan.fd, F_SETFL, O_NONBLOCK);
	start(p, (const char *const []) { "agent", "serve", name, NULL });
	p->chan.session = SESSION;
	say(p, F_HELLO, NULL, 0);
	ready = await(p, F_READY, 1);
	close(slave);
	return ready;
}

FIXTURE_SETUP(serve)
{
	self->p = calloc(1, sizeof(*self->p));
	ASSERT_TRUE(serves(self->p));
}

FIXTURE_TEARDOWN(serve)
{
	gone(self->p);
	free(self->p);
}

/* A request for "sh -c SCRIPT", and its end if it is to run to it */
static void ask(struct peer *p, const char *script, struct queue *q)
{
	struct winsize ws = { 0 };

	q->end = 0;
	q->begin = 0;
	queue_add(q, &ws, sizeof(ws));
	queue_add(q, "\0sh\0-c", 7);
	queue_add(q, script, strlen(script) + 1);
	if (p)
		say(p, F_EXEC, q->data, queue_len(q));
}

#define ASK(script) do { \
	struct queue q = { 0 }; \
	ask(self->p, script, &q); \
	free(q.data); \
} while (0)

static bool wrote(const struct peer *p, const char *text)
{
	size_t len = queue_len(&p->seen.out);

	return len == strlen(text) && !memcmp(p->seen.out.data, text, len);
}

#define SAID(text) wrote(self->p, text)

/* A command's output and then its status arrive */
TEST_F(serve, status)
{
	ASK("echo this; exit 3");
	ASSERT_TRUE(await(self->p, F_EXIT, 1));
	EXPECT_EQ(3, self->p->seen.status);
	EXPECT_TRUE(SAID("this\n"));
}

/* A command that dies of a signal has a status that says so */
TEST_F(serve, killed)
{
	ASK("kill -KILL $$");
	ASSERT_TRUE(await(self->p, F_EXIT, 1));
	EXPECT_EQ(128 + SIGKILL, self->p->seen.status);
}

/* A request that is cut short runs nothing; a whole one behind it runs */
TEST_F(serve, truncated)
{
	struct queue q = { 0 };

	ask(NULL, "echo cut", &q);
	for (size_t len = 0; len < queue_len(&q); len++)
		/* at the end of a word it would be a whole request, for another command */
		if (!len || q.data[len - 1] || len <= sizeof(struct winsize) + 2)
			say(self->p, F_EXEC, q.data, len);
	free(q.data);
	ASK("echo whole");
	ASSERT_TRUE(await(self->p, F_EXIT, 1));
	EXPECT_EQ(0, self->p->seen.status);
	EXPECT_TRUE(SAID("whole\n"));
}

/* A command line with too many words is not run with some of them */
TEST_F(serve, many_words)
{
	struct queue q = { 0 };

	ask(NULL, "echo $#", &q);
	for (int i = 0; i < 5000; i++)
		queue_add(&q, "w", 2);
	say(self->p, F_EXEC, q.data, queue_len(&q));
	free(q.data);
	ASK("echo next");
	ASSERT_TRUE(await(self->p, F_EXIT, 1));
	EXPECT_TRUE(SAID("next\n"));
}

/* Signals and sizes of a terminal that are cut short do nothing, and one of each type is no end */
TEST_F(serve, odd_frames)
{
	ASK("read line; echo $line; exit 4");
	for (uint32_t type = F_READY; type <= F_EXIT + 3; type++)
		if (type != F_STDIN && type != F_STDIN_EOF)
			say(self->p, type, "", 0);
	say(self->p, F_SIGNAL, "\x09\x09", 2);
	say(self->p, F_WINSIZE, "12345", 5);
	say(self->p, F_STDIN, "yes\n", 4);
	ASSERT_TRUE(await(self->p, F_EXIT, 1));
	EXPECT_EQ(4, self->p->seen.status);
	EXPECT_TRUE(SAID("yes\n"));
}

/* Ten times as much as there may be on its way goes in and comes out, in order */
TEST_F(serve, input)
{
	static char line[CHUNK];
	unsigned int frames = 10 * CREDIT / CHUNK;

	ASK("cat");
	for (unsigned int i = 0; i < frames; i++) {
		memset(line, 'a' + i % 26, sizeof(line));
		say(self->p, F_STDIN, line, sizeof(line));
	}
	say(self->p, F_STDIN_EOF, NULL, 0);
	ASSERT_TRUE(await(self->p, F_EXIT, 1));
	ASSERT_EQ(frames * sizeof(line), queue_len(&self->p->seen.out));
	for (unsigned int i = 0; i < frames; i++)
		EXPECT_EQ('a' + i % 26, self->p->seen.out.data[i * sizeof(line) + i]);
}

static bool dead(pid_t pid)
{
	int64_t end = now_ms() + PATIENCE_MS;

	while (!kill(pid, 0) && now_ms() < end)
		poll(NULL, 0, 10);
	return kill(pid, 0) < 0;
}

/* The pid of a command that runs on, as it told */
static pid_t told(struct peer *p)
{
	char text[32] = "";

	if (!await(p, F_STDOUT, 1))
		return 0;
	memcpy(text, p->seen.out.data, queue_len(&p->seen.out) < 31 ? queue_len(&p->seen.out) : 31);
	return atoi(text);
}

/* A new session ends the command of the one before, whose frames mean nothing any more */
TEST_F(serve, new_session)
{
	pid_t pid;

	ASK("echo $$; exec sleep 1000");
	pid = told(self->p);
	ASSERT_GT(pid, 0);
	self->p->chan.session++;
	say(self->p, F_HELLO, NULL, 0);
	ASSERT_TRUE(await(self->p, F_READY, 2));
	EXPECT_TRUE(dead(pid));
	EXPECT_EQ(0, self->p->seen.of[F_EXIT]);
	self->p->chan.session--;
	ASK("echo old");
	self->p->chan.session++;
	queue_drop(&self->p->seen.out);
	ASK("echo new");
	ASSERT_TRUE(await(self->p, F_EXIT, 1));
	EXPECT_TRUE(SAID("new\n"));
}

/* The command dies with its requester */
TEST_F(serve, requester_gone)
{
	pid_t pid;

	ASK("echo $$; exec sleep 1000");
	pid = told(self->p);
	ASSERT_GT(pid, 0);
	close(self->p->chan.fd);
	self->p->chan.fd = -1;
	EXPECT_TRUE(dead(pid));
}

FIXTURE(silence)
{
	struct peer *p;
};

FIXTURE_SETUP(silence)
{
	self->p = calloc(1, sizeof(*self->p));
}

FIXTURE_TEARDOWN(silence)
{
	gone(self->p);
	free(self->p);
}

/* The command dies when its requester has said nothing for AGENT_SILENCE seconds */
TEST_F(silence, ends)
{
	pid_t pid;

	setenv("AGENT_SILENCE", "1", 1);
	ASSERT_TRUE(serves(self->p));
	ASK("echo $$; exec sleep 1000");
	pid = told(self->p);
	ASSERT_GT(pid, 0);
	EXPECT_TRUE(dead(pid));
}

TEST_HARNESS_MAIN
