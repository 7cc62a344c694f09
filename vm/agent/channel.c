// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Frames on a byte stream, stuffed as in SLIP (RFC 1055): END stands between
 * frames and never inside, so a frame that was cut short spoils no other.  Its
 * length is in its head and must be right.  What the length of a frame's type must be, the
 * receiver checks: a status that was cut short must not pass for 0.
 */
#include "agent.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { END = 0xc0, ESC = 0xdb, ESC_END = 0xdc, ESC_ESC = 0xdd };

int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/*
 * For how long the other side may say nothing.  A guest whose clock counts instructions beats
 * as slowly as it runs, and while it waits its clock runs on without the host.
 */
int64_t silence_ms(void)
{
	const char *secs = getenv("AGENT_SILENCE");

	return secs && atoi(secs) > 0 ? atoi(secs) * 1000LL : SILENCE_MS;
}

void fail(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("agent: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(status);
}

size_t queue_len(const struct queue *q)
{
	return q->end - q->begin;
}

/* Room for len more bytes behind the queue's end. */
static uint8_t *queue_room(struct queue *q, size_t len)
{
	if (q->begin == q->end) {
		q->begin = 0;
		q->end = 0;
	}
	if (q->size - q->end < len) {
		if (q->begin)
			memmove(q->data, q->data + q->begin, queue_len(q));
		q->end -= q->begin;
		q->begin = 0;
		if (q->size - q->end < len) {
			q->size = q->end + len + CHUNK;
			q->data = realloc(q->data, q->size);
			if (!q->data)
				fail(125, "out of memory");
		}
	}
	return q->data + q->end;
}

void queue_add(struct queue *q, const void *data, size_t len)
{
	memcpy(queue_room(q, len), data, len);
	q->end += len;
}

void queue_drop(struct queue *q)
{
	q->begin = q->end;
}

/* Writes at most max bytes; false when nobody will ever read them. */
bool queue_write(struct queue *q, int fd, size_t max)
{
	size_t len = queue_len(q) < max ? queue_len(q) : max;
	ssize_t n = len ? write(fd, q->data + q->begin, len) : 0;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	q->begin += n;
	return true;
}

static size_t stuff(uint8_t *to, const void *from, size_t len)
{
	const uint8_t *p = from;
	const uint8_t *start = to;

	for (; len; p++, len--) {
		if (*p == END || *p == ESC) {
			*to++ = ESC;
			*to++ = *p == END ? ESC_END : ESC_ESC;
		} else {
			*to++ = *p;
		}
	}
	return to - start;
}

void channel_send(struct channel *c, uint32_t type, const void *data, size_t len)
{
	struct head head = { type, c->session, len };
	uint8_t *p = queue_room(&c->out, 2 * (sizeof(head) + len) + 2);
	uint8_t *start = p;

	*p++ = END;
	p += stuff(p, &head, sizeof(head));
	p += stuff(p, data, len);
	*p++ = END;
	c->out.end += p - start;
}

static void channel_frame(struct channel *c, frame_fn fn, void *ctx)
{
	struct head head;

	if (c->got < sizeof(head) || c->spoilt || c->escaped)
		return;
	memcpy(&head, c->frame, sizeof(head));
	if (head.len != c->got - sizeof(head))
		return;
	if (head.type == F_HELLO)
		fn(ctx, F_HELLO, (uint8_t *)&head.session, sizeof(head.session));
	else if (head.session == c->session)
		fn(ctx, head.type, c->frame + sizeof(head), head.len);
}

/* Hands over whole frames; 1 if there was something, 0 if not, -1 at the line's end. */
int channel_read(struct channel *c, frame_fn fn, void *ctx)
{
	uint8_t data[4 * CHUNK];
	ssize_t n = read(c->fd, data, sizeof(data));

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
	for (uint8_t *p = data; p < data + n; p++) {
		uint8_t byte = *p;

		if (byte == END) {
			channel_frame(c, fn, ctx);
			c->got = 0;
			c->escaped = false;
			c->spoilt = false;
			continue;
		}
		if (byte == ESC && !c->escaped) {
			c->escaped = true;
			continue;
		}
		if (c->escaped) {
			c->spoilt |= byte != ESC_END && byte != ESC_ESC;
			byte = byte == ESC_END ? END : ESC;
		}
		c->escaped = false;
		if (c->got < sizeof(c->frame))
			c->frame[c->got++] = byte;
		else
			c->spoilt = true;
	}
	return 1;
}
