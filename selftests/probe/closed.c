// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe closed: WRITEs over iWARP to a peer that closes the TCP connection meanwhile, with a FIN
 * and then a RST.  The peer is a child process with a TCP socket at HOST, so HOST is an address
 * of this machine.
 *
 * Both have real-time priorities.  So on a machine with one processor the peer reads an FPDU
 * before siw sends the next one of the WRITE, and siw's worker does not run.  siw then writes to
 * a socket that is closed, and raises SIGPIPE (Documentation/findings/siw-sigpipe.rst).  It does
 * so in about two of five rounds (6.1, preempted where it sleeps); count is the number of rounds.
 *
 * Prints in how many rounds a WRITE failed, which is all of them unless a signal ends the
 * program.  With handler=1, prints the number of signals as well.
 */
#include <errno.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

/* How many WRITEs the peer reads: it leaves the last one when half of it is there */
#define WRITES_READ	3

static atomic_int signals;

static void on_signal(int number)
{
	(void)number;
	signals++;
}

static int priority(int level, struct rtgt_err *err)
{
	const struct sched_param param = { .sched_priority = level };

	if (!sched_setscheduler(0, SCHED_FIFO, &param))
		return 0;
	return rtgt_fail(err, errno, "no real-time priority: %s", strerror(errno));
}

static int listen_on(const struct option *o, struct rtgt_err *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *ai;
	int s, on = 1, ret;

	if (getaddrinfo(o->host, o->port, &hints, &ai))
		return rtgt_fail(err, EINVAL, "%s:%s is no address", o->host, o->port);
	s = socket(ai->ai_family, SOCK_STREAM, 0);
	ret = s < 0 || setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	      bind(s, ai->ai_addr, ai->ai_addrlen) || listen(s, 1);
	freeaddrinfo(ai);
	return !ret ? s : rtgt_fail(err, errno, "cannot listen on %s:%s: %s", o->host, o->port,
				    strerror(errno));
}

/* Read the MPA Request and accept it: RFC 5044, 7.1, and RFC 6581, 9.1, with IRD and ORD 0 */
static int accept_mpa(int s)
{
	static const char reply[24] = { "MPA ID Rep Frame\x10\2\0\4" };
	unsigned char in[20], data[65535];
	size_t len;

	if (recv(s, in, sizeof(in), MSG_WAITALL) != sizeof(in))
		return -1;
	len = (size_t)in[18] << 8 | in[19];
	if (len && recv(s, data, len, MSG_WAITALL) != (ssize_t)len)
		return -1;
	return send(s, reply, sizeof(reply), 0) == sizeof(reply) ? 0 : -1;
}

static int be_peer(int listener, const struct option *o)
{
	const struct linger reset = { .l_onoff = 1 };
	ssize_t left = (ssize_t)o->len * (2 * WRITES_READ - 1) / 2, n = 1;
	struct rtgt_err err = {};
	char in[4096];
	int s = accept(listener, NULL, NULL);

	if (s < 0 || priority(2, &err) || accept_mpa(s))
		return 1;
	for (; left > 0 && n > 0; left -= n)
		n = recv(s, in, sizeof(in), 0);
	/* a RST alone sets ECONNRESET; after a FIN it sets EPIPE */
	shutdown(s, SHUT_WR);
	setsockopt(s, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	return close(s) ? 1 : 0;
}

/* Return 0 when a WRITE has failed, which it does sooner or later */
static int write_on(struct link *l, const struct option *o, struct rtgt_err *err)
{
	const struct rtgt_wr wr = {
		.id = SEND_ID, .opcode = IBV_WR_RDMA_WRITE, .mr = &l->buf, .len = (uint32_t)o->len,
	};
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };
	int ret = priority(1, err);

	if (ret)
		return ret;
	while (wc.status == IBV_WC_SUCCESS) {
		if (rtgt_qp_post(&l->qp, &wr, err))
			return 0;
		ret = rtgt_qp_wait(&l->qp, &wc, err);
		if (ret)
			return ret == -ECONNRESET ? 0 : ret;
	}
	return 0;
}

static int one_round(int listener, const struct option *o, struct rtgt_err *err)
{
	const struct sched_param ordinary = { .sched_priority = 0 };
	struct link l = {};
	int ret;
	pid_t pid = fork();

	if (!pid)
		_exit(be_peer(listener, o));
	if (pid < 0)
		return rtgt_fail(err, errno, "no process: %s", strerror(errno));
	ret = open_link(&l, o, err);
	if (!ret)
		ret = write_on(&l, o, err);
	sched_setscheduler(0, SCHED_OTHER, &ordinary);
	close_link(&l);
	waitpid(pid, NULL, 0);
	return ret;
}

static int cmd_closed(const struct option *o)
{
	struct rtgt_err err = {};
	int listener = listen_on(o, &err), failed = 0, ret = listener < 0;
	struct option blind = *o;

	/* the peer speaks MPA only */
	blind.plain = 1;
	blind.blind = 1;
	if (o->handler)
		signal(SIGPIPE, on_signal);
	while (!ret && failed < o->count) {
		ret = one_round(listener, &blind, &err);
		failed += !ret;
	}
	if (ret)
		return complain("closed", &err);
	printf("failed=%d signals=%d\n", failed, signals);
	return 0;
}

static const struct arg closed_args[] = {
	NUMBER(count, "rounds"),
	NUMBER(len, "bytes of a WRITE, some FPDUs"),
	NUMBER(handler, "1: handle SIGPIPE, and count the signals"),
	{ }
};

const struct command closed_command = {
	.name = "closed",
	.help = "WRITE to a TCP peer of its own that closes the connection meanwhile",
	.run = cmd_closed,
	.args = { closed_args, link_args },
};
