// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * agent_run_test: "agent run", which asks a guest for a command, with this test as the guest.
 */
#include "peer.h"

#include <sys/un.h>

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

TEST_HARNESS_MAIN
