// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt tcp-serve: the TCP counterpart of an RDMA target, for rtgt lat and rtgt bw
 * with --over tcp.
 *
 * A thread for each connection takes one message after the other; user/tool/tcp/tcp.c
 * tells what they are.  All of a message has come before it is answered.  The bytes
 * of a WRITE are received where they belong, those of a READ are sent from there:
 * nothing is copied but by the socket.  What is not a message of ours, or reaches
 * beyond the memory, is answered with a status, and the connection is closed.
 *
 * Whoever can connect can read and write the memory, which is nobody else's.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rtgt/log.h>
#include <rtgt/pattern.h>
#include "tcp.h"
#include "tool/cli/interrupt.h"
#include "tool/cli/options.h"

#define SIZE_DEFAULT	(64ull << 20)
#define SIZE_MAX_MEM	(64ull << 30)

/* One more is hung up on */
#define CONNECTIONS_MAX	256u
#define ACCEPT_AGAIN_MS	100

static const struct usage_option options[] = {
	{ OPT_ADDRESS, "listen on this address; default all" },
	{ OPT_PORT, "listen on this port; default " STRING(RTGT_TCP_PORT) },
	{ OPT_SIZE, "of the memory that clients write and read; default 64M" },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "tcp-serve",
	.synopsis = "tcp-serve [OPTIONS]",
	.about =
"Serve WRITE, READ and echoes over TCP, for rtgt lat and rtgt bw with --over tcp.\n",
	.options = options,
	.notes =
"Prints \"listening\" when it listens, and ends with a signal.  There is no authentication.\n"
"Exit status: 0 ended by a signal, 1 failed, 2 the command line is wrong.\n",
};

/*
 * A listener and the memory behind it.
 * @mem: what clients write and read; all of them the same @size bytes
 * @connections: there are
 */
struct tcp_server {
	int fd;
	uint8_t *mem;
	uint64_t size;
	atomic_uint connections;
};

/* What the options say */
struct tcp_options {
	const char *address;
	const char *service;
	uint64_t size;
};

/* One connection's */
struct served {
	struct tcp_server *server;
	int fd;
	uint8_t *echo;
	size_t echo_size;
};

static bool take(int fd, void *buf, size_t len)
{
	return !len || recv(fd, buf, len, MSG_WAITALL) == (ssize_t)len;
}

static bool give(int fd, struct rtgt_tcp_head *head, void *body, size_t len)
{
	struct iovec iov[2] = { { head, sizeof(*head) }, { body, len } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = len ? 2 : 1 };
	size_t left = sizeof(*head) + len;

	while (left) {
		ssize_t n = sendmsg(fd, &msg, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		left -= (size_t)n;
		while (msg.msg_iovlen && (size_t)n >= msg.msg_iov->iov_len) {
			n -= (ssize_t)msg.msg_iov->iov_len;
			msg.msg_iov++;
			msg.msg_iovlen--;
		}
		if (msg.msg_iovlen) {
			msg.msg_iov->iov_base = (uint8_t *)msg.msg_iov->iov_base + n;
			msg.msg_iov->iov_len -= (size_t)n;
		}
	}
	return true;
}

/* A buffer as large as the largest echo so far */
static bool grow(struct served *c, size_t len)
{
	uint8_t *more;

	if (len <= c->echo_size)
		return true;
	more = realloc(c->echo, len);
	if (!more)
		return false;
	c->echo = more;
	c->echo_size = len;
	return true;
}

static enum rtgt_tcp_status judge(const struct tcp_server *s, const struct rtgt_tcp_head *head)
{
	uint64_t offset = be64toh(head->offset), len = ntohl(head->len);

	if (!rtgt_tcp_head_ok(head) || head->flags & RTGT_TCP_REPLY || head->op < RTGT_TCP_HELLO ||
	    head->op > RTGT_TCP_CHECKSUM)
		return RTGT_TCP_BAD;
	if (head->op == RTGT_TCP_ECHO)
		return len > RTGT_TCP_ECHO_MAX ? RTGT_TCP_RANGE : RTGT_TCP_OK;
	return offset > s->size || len > s->size - offset ? RTGT_TCP_RANGE : RTGT_TCP_OK;
}

/* One message; false when the connection is to be closed */
static bool serve_one(struct served *c)
{
	const struct tcp_server *s = c->server;
	struct rtgt_tcp_head head, reply;
	uint8_t *mem;
	uint32_t len;

	if (!take(c->fd, &head, sizeof(head)))
		return false;
	rtgt_tcp_head(&reply, head.op, RTGT_TCP_REPLY);
	reply.tag = head.tag;
	reply.len = head.len;
	reply.status = judge(s, &head);
	if (reply.status != RTGT_TCP_OK) {
		give(c->fd, &reply, NULL, 0);
		return false;
	}
	mem = s->mem + be64toh(head.offset);
	len = ntohl(head.len);
	switch (head.op) {
	case RTGT_TCP_HELLO:
		reply.offset = htobe64(s->size);
		break;
	case RTGT_TCP_WRITE:
		if (!take(c->fd, mem, len))
			return false;
		return !(head.flags & RTGT_TCP_ACK) || give(c->fd, &reply, NULL, 0);
	case RTGT_TCP_READ:
		return give(c->fd, &reply, mem, len);
	case RTGT_TCP_ECHO:
		return grow(c, len) && take(c->fd, c->echo, len) &&
		       give(c->fd, &reply, c->echo, len);
	default:
		reply.crc = htonl(rtgt_crc32(0, mem, len));
	}
	return give(c->fd, &reply, NULL, 0);
}

static void *serve(void *arg)
{
	struct served *c = arg;

	while (serve_one(c))
		;
	/* a refusal is read before the end is: what lies unread would reset it away */
	shutdown(c->fd, SHUT_WR);
	close(c->fd);
	atomic_fetch_sub(&c->server->connections, 1);
	free(c->echo);
	free(c);
	return NULL;
}

/* Whoever cannot be served finds the connection closed */
static void start(struct tcp_server *s, int fd)
{
	struct served *c = calloc(1, sizeof(*c));
	pthread_t thread;

	if (c && atomic_fetch_add(&s->connections, 1) < CONNECTIONS_MAX) {
		c->server = s;
		c->fd = fd;
		if (!rtgt_tcp_setup(fd, 0) && !pthread_create(&thread, NULL, serve, c)) {
			pthread_detach(thread);
			return;
		}
	}
	if (c)
		atomic_fetch_sub(&s->connections, 1);
	free(c);
	close(fd);
}

static bool has_ipv6(void)
{
	const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static int listen_at(const char *address, const char *service, struct rtgt_err *err)
{
	/* on :: also IPv4 is listened to */
	struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM,
				  .ai_family = address || !has_ipv6() ? AF_UNSPEC : AF_INET6 };
	struct addrinfo *ai;
	int on = 1, off = 0, ret, fd;

	ret = getaddrinfo(address, service, &hints, &ai);
	if (ret)
		return rtgt_fail(err, EINVAL, "%s: %s", address ? address : service,
				 gai_strerror(ret));
	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    (!address && ai->ai_family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off))) ||
	    bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, SOMAXCONN)) {
		ret = rtgt_fail(err, errno, "cannot listen at %s port %s: %s",
				address ? address : "any address", service, strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = ret;
	}
	freeaddrinfo(ai);
	return fd;
}

static int server_open(struct tcp_server *s, const char *address, const char *service,
		       uint64_t size, struct rtgt_err *err)
{
	memset(s, 0, sizeof(*s));
	s->size = size;
	s->mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->mem == MAP_FAILED)
		return rtgt_fail(err, errno, "no memory of %llu bytes", (unsigned long long)size);
	s->fd = listen_at(address, service, err);
	if (s->fd >= 0)
		return 0;
	munmap(s->mem, s->size);
	return s->fd;
}

/* Serves whoever connects, until @stop can be read from */
static int server_run(struct tcp_server *s, int stop, struct rtgt_err *err)
{
	struct pollfd pfd[2] = {
		{ .fd = s->fd, .events = POLLIN }, { .fd = stop, .events = POLLIN },
	};

	for (;;) {
		int fd;

		if (poll(pfd, 2, -1) < 0 && errno != EINTR)
			return rtgt_fail(err, errno, "poll: %s", strerror(errno));
		if (pfd[1].revents)
			return 0;
		if (!pfd[0].revents)
			continue;
		fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			start(s, fd);
		else if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK)
			return rtgt_fail(err, errno, "accept: %s", strerror(errno));
		else if (errno != ECONNABORTED && errno != EINTR)
			/* no file or no memory is left: some connection will end */
			poll(NULL, 0, ACCEPT_AGAIN_MS);
	}
}

static int serve_all(const char *address, const char *service, uint64_t size)
{
	struct tcp_server s;
	struct rtgt_err err;
	int stop = interrupt_fd(0, SFD_CLOEXEC);

	if (stop < 0)
		return failed("tcp-serve: no signalfd: %s", strerror(errno));
	if (server_open(&s, address, service, size, &err))
		return failed("tcp-serve: %s", err.text);
	printf("listening at %s port %s (TCP), %llu bytes\n", address ? address : "any address",
	       service, (unsigned long long)size);
	fflush(stdout);
	if (server_run(&s, stop, &err))
		return failed("tcp-serve: %s", err.text);
	/* Connections that are still there keep the memory until the process ends */
	close(s.fd);
	close(stop);
	return EXIT_OK;
}

static int set_option(void *arg, enum opt opt, char *text)
{
	struct tcp_options *o = arg;
	uint64_t port;

	switch (opt) {
	case OPT_ADDRESS:
		o->address = text;
		return EXIT_OK;
	case OPT_PORT:
		o->service = text;
		return opt_int(opt, text, 1, 65535, &port);
	default:
		return opt_bytes(opt, text, 1, SIZE_MAX_MEM, &o->size);
	}
}

int cmd_tcp_serve(struct tool *tool, int argc, char **argv)
{
	struct tcp_options o = { .service = STRING(RTGT_TCP_PORT), .size = SIZE_DEFAULT };
	struct words words = { argc, argv };
	int ret = options_parse(&usage, tool, &words, set_option, &o);

	if (ret)
		return ret == OPTIONS_HELP ? EXIT_OK : ret;
	if (words.argc)
		return misused("tcp-serve takes no \"%s\" (rtgt tcp-serve --help)", words.argv[0]);
	return serve_all(o.address, o.service, o.size);
}
