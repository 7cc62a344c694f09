// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * channel_test: the frames of the guests' control channel (channel.c), which carries every verdict
 * of the suite out of a guest: what is cut short or changed is dropped, and the next one arrives.
 */
#include "peer.h"

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

/* Gives the receiver @len of the bytes in the sender's queue, from byte @at, @step at a time */
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

/* channel_read() returns 0 if nothing has arrived, and -1 if the sender has closed the line */
TEST_F(frames, line_end)
{
	EXPECT_EQ(0, channel_read(self->to, take, self->seen));
	shutdown(self->end[0], SHUT_WR);
	EXPECT_EQ(-1, channel_read(self->to, take, self->seen));
}

TEST_HARNESS_MAIN
