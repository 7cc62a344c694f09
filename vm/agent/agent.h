/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the two sides of the agent share: a queue of bytes, and a channel that
 * carries frames.  agent.c tells the protocol.
 */
#ifndef AGENT_H
#define AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>

#define CHUNK		16384		/* bytes of a data frame */
#define CREDIT		(8 * CHUNK)	/* stdin on its way at a time */
#define QUEUE		(8 * CHUNK)	/* a source waits above this */
#define FRAME_MAX	(256 * 1024)	/* a command line fits into one */
#define WORDS_MAX	4095		/* of a command line */
#define BEAT_MS		2000
#define SILENCE_MS	30000

enum frame_type {
	F_HELLO,	/* a session begins: nothing but its number */
	F_READY,	/* it has: the channel is the requester's */
	F_EXEC,		/* struct winsize, TERM (empty: no terminal), arguments; NUL-ended */
	F_STDIN,
	F_STDIN_EOF,
	F_CREDIT,	/* uint32_t bytes of stdin are gone to the command */
	F_STDOUT,
	F_STDERR,
	F_SIGNAL,	/* uint8_t for the command's group */
	F_WINSIZE,	/* struct winsize */
	F_BEAT,		/* still there */
	F_EXIT,		/* int32_t, the last of a session */
};

struct head {
	uint32_t type;
	uint32_t session;
	uint32_t len;
};

/* Bytes waiting to be written somewhere. */
struct queue {
	uint8_t *data;
	size_t begin, end, size;
};

struct channel {
	int fd;
	uint32_t session;
	struct queue out;
	bool escaped, spoilt;
	size_t got;
	uint8_t frame[sizeof(struct head) + FRAME_MAX];
};

typedef void (*frame_fn)(void *ctx, uint32_t type, const uint8_t *data, size_t len);

int64_t now_ms(void);
int64_t silence_ms(void);
noreturn void fail(int status, const char *fmt, ...);

size_t queue_len(const struct queue *q);
void queue_add(struct queue *q, const void *data, size_t len);
void queue_drop(struct queue *q);
bool queue_write(struct queue *q, int fd, size_t max);

void channel_send(struct channel *c, uint32_t type, const void *data, size_t len);
int channel_read(struct channel *c, frame_fn fn, void *ctx);

noreturn void serve(char **ports, int n);

#endif /* AGENT_H */
