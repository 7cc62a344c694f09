// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The operations of RDMA done over TCP: what a program without RDMA would do.
 *
 * A connection carries messages: a head of 32 bytes and, of some, bytes behind it.
 * The server (rtgt tcp-serve) puts what is written where it belongs, and answers
 * when it is there: the end of an operation is the application's acknowledgment
 * and not that of TCP, which says that the bytes are in some socket's buffer.
 * Answers come in the order of the requests.
 *
 * A client hands over one request, rtgt_tcp_send(), names where the next answer
 * goes, rtgt_tcp_expect(), and calls rtgt_tcp_step() until the one has gone and the
 * other has come.  Both directions move at once where they must: a server that
 * cannot get rid of its answers reads no more requests.
 *
 * Nagle's algorithm is off (TCP_NODELAY).  Nothing waits longer than the timeout of
 * the connection without a byte moving.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tcp.h"

/* How long recvmsg() waits before somebody looks whether to go on, in milliseconds */
#define LOOK_MS		100

/* Spins between two looks */
#define SPINS		1024

/**
 * rtgt_tcp_head() - begin a head
 * @head: filled; the rest of it is 0
 * @op: what it asks for, or answers
 * @flags: RTGT_TCP_*
 */
void rtgt_tcp_head(struct rtgt_tcp_head *head, enum rtgt_tcp_op op, unsigned int flags)
{
	memset(head, 0, sizeof(*head));
	head->magic = htonl(RTGT_TCP_MAGIC);
	head->version = RTGT_TCP_VERSION;
	head->op = op;
	head->flags = (uint8_t)flags;
}

/**
 * rtgt_tcp_head_ok() - is it one of ours?
 * @head: as it came
 *
 * Return: true if it is, of this version.
 */
bool rtgt_tcp_head_ok(const struct rtgt_tcp_head *head)
{
	return head->magic == htonl(RTGT_TCP_MAGIC) && head->version == RTGT_TCP_VERSION;
}

/**
 * rtgt_tcp_setup() - options both ends of a connection have
 * @fd: the socket
 * @timeout_ms: how long a call may take, to receive at most LOOK_MS; 0 for ever
 *
 * Return: 0, or a negative errno.
 */
int rtgt_tcp_setup(int fd, int timeout_ms)
{
	const struct timeval tv = { timeout_ms / 1000, timeout_ms % 1000 * 1000 };
	const struct timeval look = { 0, (timeout_ms < LOOK_MS ? timeout_ms : LOOK_MS) * 1000 };
	int on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &look, sizeof(look)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)))
		return -errno;
	return 0;
}

static int fail_io(const struct rtgt_tcp *t, int code, struct rtgt_err *err)
{
	switch (code) {
	case EAGAIN:
	case EINPROGRESS:
		return rtgt_fail(err, ETIMEDOUT,
				 "nothing from %s port %s (TCP) within %d s: is the link still up? (--timeout waits longer)",
				 t->param.host, t->param.service, t->param.timeout_ms / 1000);
	case EINTR:
		return rtgt_fail(err, EINTR, "interrupted");
	case ECONNREFUSED:
		return rtgt_fail(err, code,
				 "nothing listens on %s port %s (TCP): rtgt tcp-serve there serves it",
				 t->param.host, t->param.service);
	case EADDRNOTAVAIL:
		return rtgt_fail(err, code,
				 "the source address %s is not this machine's: see ip addr",
				 t->param.source ? t->param.source : "(none)");
	default:
		return rtgt_fail(err, code, "%s port %s (TCP): %s", t->param.host,
				 t->param.service, strerror(code));
	}
}

static int lookup(const char *host, const char *service, int family, struct addrinfo **ai,
		  struct rtgt_err *err)
{
	struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM };
	int ret = getaddrinfo(host, service, &hints, ai);

	return ret ? rtgt_fail(err, EINVAL, "%s: %s", host, gai_strerror(ret)) : 0;
}

static int bind_source(struct rtgt_tcp *t, int family, struct rtgt_err *err)
{
	struct addrinfo *src;
	int ret;

	if (!t->param.source)
		return 0;
	ret = lookup(t->param.source, NULL, family, &src, err);
	if (ret)
		return ret;
	if (bind(t->fd, src->ai_addr, src->ai_addrlen))
		ret = fail_io(t, errno, err);
	freeaddrinfo(src);
	return ret;
}

static int hello(struct rtgt_tcp *t, struct rtgt_err *err)
{
	int ret = 0;

	rtgt_tcp_send(t, RTGT_TCP_HELLO, 0, 0, 0, NULL, 0);
	rtgt_tcp_expect(t, NULL, 0);
	while (!ret && t->rx.busy)
		ret = rtgt_tcp_step(t, err);
	if (!ret)
		ret = rtgt_tcp_answer(t, RTGT_TCP_HELLO, 0, err);
	t->size = be64toh(t->rx.head.offset);
	return ret;
}

/* Connect to one address of the server; what failed is closed */
static int connect_to(struct rtgt_tcp *t, const struct addrinfo *dst, struct rtgt_err *err)
{
	int ret = 0;

	t->fd = socket(dst->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (t->fd < 0)
		return fail_io(t, errno, err);
	ret = bind_source(t, dst->ai_family, err);
	if (!ret && rtgt_tcp_setup(t->fd, t->param.timeout_ms))
		ret = fail_io(t, errno, err);
	if (!ret && connect(t->fd, dst->ai_addr, dst->ai_addrlen))
		ret = fail_io(t, errno, err);
	if (ret)
		rtgt_tcp_close(t);
	return ret;
}

/**
 * rtgt_tcp_open() - connect to a server
 * @t: filled; to be closed when this succeeds
 * @param: where to, and how
 * @err: says what is wrong
 *
 * Of a name that has several addresses, the first that can be connected to counts.
 *
 * Return: 0, or a negative errno.
 */
int rtgt_tcp_open(struct rtgt_tcp *t, const struct rtgt_tcp_param *param, struct rtgt_err *err)
{
	struct rtgt_err why = { 0 };
	struct addrinfo *dst;
	int ret;

	memset(t, 0, sizeof(*t));
	t->param = *param;
	t->fd = -1;
	ret = lookup(param->host, param->service, AF_UNSPEC, &dst, err);
	if (ret)
		return ret;
	ret = -ENOENT;
	for (struct addrinfo *at = dst; at && ret; at = at->ai_next)
		ret = connect_to(t, at, &why);
	freeaddrinfo(dst);
	if (ret)
		*err = why;
	if (!ret)
		ret = hello(t, err);
	if (ret)
		rtgt_tcp_close(t);
	return ret;
}

/**
 * rtgt_tcp_close() - hang up
 * @t: opened, or closed already
 */
void rtgt_tcp_close(struct rtgt_tcp *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

/**
 * rtgt_tcp_send() - hand over a request
 * @t: open, and the last request has gone
 * @op: what
 * @flags: RTGT_TCP_ACK of a WRITE that is to be answered
 * @tag: comes back in the answer
 * @offset: in the server's memory
 * @body: bytes of a WRITE or an ECHO; NULL otherwise
 * @len: how many; of a READ or a CHECKSUM how many are wanted
 */
void rtgt_tcp_send(struct rtgt_tcp *t, enum rtgt_tcp_op op, unsigned int flags, uint32_t tag,
		   uint64_t offset, void *body, uint32_t len)
{
	rtgt_tcp_head(&t->tx.head, op, flags);
	t->tx.head.tag = htonl(tag);
	t->tx.head.len = htonl(len);
	t->tx.head.offset = htobe64(offset);
	t->tx.body = body;
	t->tx.len = body ? len : 0;
	t->tx.at = 0;
	t->tx.busy = true;
}

/**
 * rtgt_tcp_expect() - say where the next answer goes
 * @t: open, and the last answer has come
 * @body: bytes of it; NULL for none
 * @len: how many
 */
void rtgt_tcp_expect(struct rtgt_tcp *t, void *body, uint32_t len)
{
	t->rx.body = body;
	t->rx.len = body ? len : 0;
	t->rx.at = 0;
	t->rx.busy = true;
}

static size_t rest(struct rtgt_tcp_io *io, struct iovec iov[2])
{
	size_t n = 0;

	if (io->at < sizeof(io->head))
		iov[n++] = (struct iovec) {
			(uint8_t *)&io->head + io->at, sizeof(io->head) - io->at
		};
	if (io->len) {
		size_t done = io->at > sizeof(io->head) ? io->at - sizeof(io->head) : 0;

		iov[n++] = (struct iovec) { (uint8_t *)io->body + done, io->len - done };
	}
	return n;
}

static void moved(struct rtgt_tcp *t, struct rtgt_tcp_io *io, size_t n)
{
	io->at += n;
	io->busy = io->at < sizeof(io->head) + io->len;
	t->idle_ns = 0;
}

/* Nothing has moved: is there a reason to end? */
static int idle(struct rtgt_tcp *t, struct rtgt_err *err)
{
	struct pollfd pfd = { .fd = t->param.cancel_fd, .events = POLLIN };
	const uint64_t now = rtgt_now_ns();

	if (pfd.fd > 0 && poll(&pfd, 1, 0) > 0)
		return rtgt_fail(err, ECANCELED, "canceled");
	if (!t->idle_ns)
		t->idle_ns = now;
	if (now - t->idle_ns >= (uint64_t)t->param.timeout_ms * 1000000u)
		return fail_io(t, EAGAIN, err);
	return 0;
}

/* 1 when something went, 0 when nothing can */
static int push(struct rtgt_tcp *t, struct rtgt_err *err)
{
	struct iovec iov[2];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = rest(&t->tx, iov) };
	ssize_t n = sendmsg(t->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return fail_io(t, errno, err);
	moved(t, &t->tx, (size_t)n);
	return 1;
}

static int pull(struct rtgt_tcp *t, int flags, struct rtgt_err *err)
{
	struct iovec iov[2];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = rest(&t->rx, iov) };
	ssize_t n = recvmsg(t->fd, &msg, flags);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return flags & MSG_DONTWAIT ? 0 : idle(t, err);
	if (n < 0)
		return fail_io(t, errno, err);
	moved(t, &t->rx, (size_t)n);
	/* a refusal has no body: what is wrong comes before the end of the connection */
	if (t->rx.at >= sizeof(t->rx.head) && t->rx.head.status != RTGT_TCP_OK)
		t->rx.busy = false;
	else if (!n)
		return rtgt_fail(err, ECONNRESET, "the server at %s port %s (TCP) hung up: did rtgt tcp-serve there end?",
				 t->param.host, t->param.service);
	return 1;
}

static int sleep_both(struct rtgt_tcp *t, struct rtgt_err *err)
{
	struct pollfd pfd = {
		.fd = t->fd, .events = (short)(POLLOUT | (t->rx.busy ? POLLIN : 0)),
	};
	int n = poll(&pfd, 1, LOOK_MS);

	if (n > 0)
		return 0;
	return n && errno != EINTR ? fail_io(t, errno, err) : idle(t, err);
}

/**
 * rtgt_tcp_step() - move bytes of the request and of the answer
 * @t: open; @t->tx.busy or @t->rx.busy is set
 * @err: says what is wrong
 *
 * Sleeps until something moves, unless it polls.  A request that has gone returns at
 * once, so that there can be another.
 *
 * Return: 0, also when nothing has moved for a while, or a negative errno; -ETIMEDOUT when nothing
 * moved in time, -ECANCELED.
 */
int rtgt_tcp_step(struct rtgt_tcp *t, struct rtgt_err *err)
{
	int ret;

	if (!t->tx.busy) {
		ret = pull(t, t->param.poll ? MSG_DONTWAIT : MSG_WAITALL, err);
	} else {
		ret = push(t, err);
		/* the socket is full: make room for the server's answers, or wait for either */
		if (!ret && t->rx.busy)
			ret = pull(t, MSG_DONTWAIT, err);
		if (!ret && !t->param.poll)
			ret = sleep_both(t, err);
	}
	if (!ret && t->param.poll && ++t->spins % SPINS == 0)
		ret = idle(t, err);
	return ret < 0 ? ret : 0;
}

/**
 * rtgt_tcp_answer() - is it the answer that is due?
 * @t: an answer has come
 * @op: what was asked for
 * @tag: with it
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno; -ERANGE when the server has not as much memory.
 */
int rtgt_tcp_answer(const struct rtgt_tcp *t, enum rtgt_tcp_op op, uint32_t tag,
		    struct rtgt_err *err)
{
	const struct rtgt_tcp_head *head = &t->rx.head;

	if (!rtgt_tcp_head_ok(head) || !(head->flags & RTGT_TCP_REPLY))
		return rtgt_fail(err, EPROTO, "%s port %s (TCP) does not speak as rtgt tcp-serve: give its port (--tcp-port)",
				 t->param.host, t->param.service);
	if (head->status == RTGT_TCP_RANGE)
		return rtgt_fail(err, ERANGE, "the server's memory has %llu bytes: smaller -S, or there: rtgt tcp-serve --size",
				 (unsigned long long)t->size);
	if (head->status != RTGT_TCP_OK)
		return rtgt_fail(err, EPROTO, "the server refused the request (status %u)",
				 head->status);
	if (head->op != op || ntohl(head->tag) != tag)
		return rtgt_fail(err, EPROTO, "the server answered op %u tag %u, not %u and %u",
				 head->op, ntohl(head->tag), op, tag);
	return 0;
}

/**
 * rtgt_tcp_checksum() - let the server read its own memory
 * @t: open, nothing is under way
 * @offset: first byte
 * @len: bytes
 * @crc: CRC-32 of the range; rtgt_crc32() computes the same here
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_tcp_checksum(struct rtgt_tcp *t, uint64_t offset, uint32_t len, uint32_t *crc,
		      struct rtgt_err *err)
{
	int ret = 0;

	rtgt_tcp_send(t, RTGT_TCP_CHECKSUM, 0, 0, offset, NULL, len);
	rtgt_tcp_expect(t, NULL, 0);
	while (!ret && t->rx.busy)
		ret = rtgt_tcp_step(t, err);
	if (!ret)
		ret = rtgt_tcp_answer(t, RTGT_TCP_CHECKSUM, 0, err);
	*crc = ntohl(t->rx.head.crc);
	return ret;
}
