// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * pingpong: what a message costs without RDMA, for bench.sh.
 *
 *	pingpong udp|tcp SERVER CLIENT PORT BYTES COUNT
 *
 * A child serves at the address SERVER and sends back what comes; this end sends BYTES
 * from the address CLIENT, COUNT times and a tenth of that before, and waits for each.
 * Prints the smallest, the median and the 99th percentile of half a round trip in
 * microseconds, with tabs between.  Both ends block, and TCP does not wait for more to
 * send.  Exits 1 with a line on stderr when anything fails.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES_MAX	65000

static void __attribute__((noreturn)) give_up(const char *what)
{
	fprintf(stderr, "pingpong: %s: %m\n", what);
	exit(1);
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static struct sockaddr_in address(const char *text, int port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (inet_pton(AF_INET, text, &sin.sin_addr) != 1)
		give_up(text);
	return sin;
}

static int bound(bool tcp, const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0), one = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (const struct sockaddr *)at, sizeof(*at)))
		give_up("bind");
	return fd;
}

static void no_delay(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		give_up("TCP_NODELAY");
}

/* All of it, for TCP may cut it up; a datagram is whole.  False at the end. */
static bool receive(int fd, char *buf, size_t len)
{
	for (size_t got = 0; got < len;) {
		ssize_t n = recv(fd, buf + got, len - got, 0);

		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

static void serve(int fd, bool tcp, const struct sockaddr_in *client, size_t len)
{
	static char buf[BYTES_MAX];

	if (tcp) {
		fd = accept(fd, NULL, NULL);
		if (fd < 0)
			give_up("accept");
		no_delay(fd);
	} else if (connect(fd, (const struct sockaddr *)client, sizeof(*client))) {
		give_up("connect");
	}
	while (receive(fd, buf, len))
		if (send(fd, buf, len, 0) != (ssize_t)len)
			give_up("send");
	exit(0);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void measure(int fd, size_t len, int count, int64_t *ns)
{
	static char sent[BYTES_MAX], got[BYTES_MAX];

	for (int i = -count / 10; i < count; i++) {
		int64_t start;

		memset(sent, i, len);
		start = now_ns();
		if (send(fd, sent, len, 0) != (ssize_t)len || !receive(fd, got, len))
			give_up("no answer");
		if (i >= 0)
			ns[i] = now_ns() - start;
		if (memcmp(sent, got, len)) {
			fputs("pingpong: other bytes came back\n", stderr);
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	bool tcp = argc == 7 && !strcmp(argv[1], "tcp");
	int port = argc == 7 ? atoi(argv[4]) : 0, len = argc == 7 ? atoi(argv[5]) : 0;
	int count = argc == 7 ? atoi(argv[6]) : 0, server, fd;
	struct sockaddr_in at, from;
	int64_t *ns;
	pid_t child;

	if (port < 1 || port > 65534 || len < 1 || len > BYTES_MAX || count < 1 ||
	    (!tcp && strcmp(argv[1], "udp"))) {
		fputs("usage: pingpong udp|tcp SERVER CLIENT PORT BYTES COUNT\n", stderr);
		return 2;
	}
	at = address(argv[2], port);
	from = address(argv[3], port + 1);
	ns = calloc((size_t)count, sizeof(*ns));
	server = bound(tcp, &at);
	if (!ns || (tcp && listen(server, 1)))
		give_up("listen");
	child = fork();
	if (child < 0)
		give_up("fork");
	if (!child) {
		/* a datagram has no end: the server goes with this end */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(server, tcp, &from, (size_t)len);
	}
	close(server);
	fd = bound(tcp, &from);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)))
		give_up("connect");
	if (tcp)
		no_delay(fd);
	measure(fd, (size_t)len, count, ns);
	close(fd);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	qsort(ns, (size_t)count, sizeof(*ns), compare);
	printf("%.2f\t%.2f\t%.2f\n", (double)ns[0] / 2e3, (double)ns[count / 2] / 2e3,
	       (double)ns[(count - 1) * 99 / 100] / 2e3);
	free(ns);
	return 0;
}
