// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * agent_serve_test: "agent serve", which runs commands in a guest, with this test as the requester.
 */
#include "peer.h"

#include <pty.h>
#include <termios.h>

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
