// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe sync: what cmtime's client wants of its server besides RDMA.
 *
 * It connects by TCP to the address and port it will connect to by RDMA, and from
 * then on sends a byte after each phase and waits until the same byte comes from
 * the server, whose phase it tells.  A target has no phases, so the byte goes
 * back as it came.
 *
 * HOST and PORT are our own.  Serves one client and ends with it.
 */
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probe.h"

static int listen_on(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM }, *ai;
	int one = 1, fd, ret = getaddrinfo(host, port, &hints, &ai);

	if (ret) {
		fprintf(stderr, "probe: %s:%s: %s\n", host, port, gai_strerror(ret));
		return -1;
	}
	fd = socket(ai->ai_family, ai->ai_socktype, ai->ai_protocol);
	/* what an earlier one left in TIME_WAIT is no obstacle */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, 1)) {
		perror("probe: listen");
		fd = -1;
	}
	freeaddrinfo(ai);
	return fd;
}

static int cmd_sync(const struct option *o)
{
	int listener = listen_on(o->host, o->port), fd, bytes = 0;
	char c;

	if (listener < 0)
		return 1;
	puts("listening=1");
	fflush(stdout);
	fd = accept(listener, NULL, NULL);
	while (fd >= 0 && read(fd, &c, 1) == 1 && write(fd, &c, 1) == 1)
		bytes++;
	printf("synced=%d\n", bytes);
	return fd < 0;
}

const struct command sync_command = {
	.name = "sync",
	.help = "the TCP server that cmtime's client wants; HOST and PORT are ours",
	.run = cmd_sync,
	.args = { link_args },
};
