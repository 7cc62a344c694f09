// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: the kernel target's protocol, served from user space.
 *
 * One thread and one loop, which waits for rdma_cm's events, completions of all
 * connections, the devices' events and signals together.  A turn of the loop gives each
 * connection that has completions a bounded share, one deferred request a step, and what
 * is withheld its time; ends whoever was silent for too long, and releases what has ended.
 * With --poll it does not wait.
 *
 * SIGTERM and SIGINT end it: no new connection, the old ones disconnected, everything
 * released, exit status 0.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tool/cli/options.h"
#include "tool/cli/interrupt.h"
#include "serve.h"

#define BACKLOG	128	/* ignored by RoCE, where max_conns does the work */
#define EVENTS	16
#define CM_EVENTS	64	/* before the others have their turn */

/* With --poll: turns between two looks at everything but completions */
#define SPINS	64

/* ------------------------------------------------------------------------ the loop */

static void on_signal(struct server *s, void *arg)
{
	struct signalfd_siginfo info;

	(void)arg;
	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			serve_print_stats(s);
		else
			s->stop = true;
	}
}

/*
 * An event is acknowledged before its connection can be released, which waits for that.
 * The private data live until then as well.
 */
static void on_cm_event(struct server *s, void *arg)
{
	struct rdma_cm_event *ev;

	(void)arg;
	for (int i = 0; i < CM_EVENTS && !rdma_get_cm_event(s->channel, &ev); i++) {
		enum rdma_cm_event_type event = ev->event;
		struct rdma_cm_id *id = ev->id;
		struct rdma_conn_param req = { };
		uint8_t priv[256];

		if (s->cfg.transport == SERVE_UD) {
			req.private_data = ev->param.ud.private_data;
			req.private_data_len = ev->param.ud.private_data_len;
		} else {
			req = ev->param.conn;
		}

		if (event == RDMA_CM_EVENT_CONNECT_REQUEST && req.private_data_len) {
			memcpy(priv, req.private_data, req.private_data_len);
			req.private_data = priv;
		}
		rdma_ack_cm_event(ev);
		if (event == RDMA_CM_EVENT_CONNECT_REQUEST && s->cfg.transport == SERVE_UD)
			serve_ud_request(s, id, req.private_data, req.private_data_len);
		else if (event == RDMA_CM_EVENT_CONNECT_REQUEST)
			serve_conn_request(s, id, &req);
		else if (id->context)
			serve_conn_event(id->context, event);
		else if (event == RDMA_CM_EVENT_DEVICE_REMOVAL)
			serve_fail(s, ENODEV, "the RDMA device of the address is being removed");
	}
}

/* Those with completions, each one turn: whoever has more comes again behind the others */
static void run_ready(struct server *s)
{
	struct serve_conn *c, *last = TAILQ_LAST(&s->ready, serve_conns);

	while ((c = TAILQ_FIRST(&s->ready))) {
		TAILQ_REMOVE(&s->ready, c, ready_entry);
		c->ready = serve_io_poll(c);
		if (c->ready)
			TAILQ_INSERT_TAIL(&s->ready, c, ready_entry);
		if (c == last)
			break;
	}
}

static void run_deferred(struct server *s)
{
	struct serve_recv *recv = TAILQ_FIRST(&s->deferred);

	if (recv)
		recv->then(recv);
}

static void run_later(struct server *s)
{
	struct serve_recv *recv;

	while ((recv = TAILQ_FIRST(&s->later)) && recv->due_ns <= rtgt_now_ns()) {
		recv->pool->withheld--;
		serve_recv_done(recv);
	}
}

static uint64_t idle_ns(const struct server *s)
{
	return s->cfg.idle_ms * UINT64_C(1000000);
}

/* Whose last message came before all others' is the first; it may just not be taken yet */
static void run_timed(struct server *s)
{
	struct serve_conn *c;
	uint64_t active;

	while ((c = TAILQ_FIRST(&s->timed)) && c->active_ns + idle_ns(s) <= rtgt_now_ns()) {
		active = c->active_ns;
		serve_io_poll(c);
		if (c->active_ns == active)
			serve_close(c, "idle");
	}
}

static void run_all(struct server *s)
{
	struct serve_conn *c;

	for (c = TAILQ_FIRST(&s->conns); c; c = TAILQ_NEXT(c, entry))
		serve_io_poll(c);
}

/* The device had its time for the NAK; which error came first was said then */
static void run_failing(struct server *s)
{
	struct serve_conn *c;

	while ((c = TAILQ_FIRST(&s->failing)) && c->failing_ns + SERVE_NAK_NS <= rtgt_now_ns())
		serve_qp_failed(c, c->failing);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void write_state(struct server *s)
{
	serve_state_write(s);
	if (s->cfg.state && s->cfg.faulty)
		serve_state_file(s, "faults", serve_fault_print);
}

/* When something is to be done though nothing happens; UINT64_MAX for never */
static uint64_t next_due(const struct server *s)
{
	const struct serve_recv *recv = TAILQ_FIRST(&s->later);
	const struct serve_conn *idle = TAILQ_FIRST(&s->timed);
	const struct serve_conn *failing = TAILQ_FIRST(&s->failing);
	uint64_t due = UINT64_MAX;

	if (recv)
		due = earlier(due, recv->due_ns);
	recv = TAILQ_FIRST(&s->delayed);
	if (recv)
		due = earlier(due, recv->due_ns);
	if (idle)
		due = earlier(due, idle->active_ns + idle_ns(s));
	if (failing)
		due = earlier(due, failing->failing_ns + SERVE_NAK_NS);
	return due;
}

/* In milliseconds, rounded up, -1 for as long as it takes */
static int how_long(struct server *s)
{
	uint64_t now = rtgt_now_ns(), due = next_due(s);

	if (serve_state_due(s, now))
		write_state(s);
	if (s->cfg.poll || s->stop || !TAILQ_EMPTY(&s->ready) || !TAILQ_EMPTY(&s->deferred))
		return 0;
	if (s->cfg.state && s->dirty)
		due = earlier(due, now + 10000000u);
	if (due == UINT64_MAX)
		return -1;
	return due > now ? (int)((due - now + 999999u) / 1000000u) : 0;
}

static void look_around(struct server *s)
{
	struct epoll_event ev[EVENTS];
	int n = epoll_wait(s->epoll, ev, EVENTS, how_long(s));

	for (int i = 0; i < n; i++) {
		struct serve_source *source = ev[i].data.ptr;

		source->run(s, source->arg);
	}
}

static bool served_enough(const struct server *s)
{
	return s->cfg.count && s->next_id - s->lost >= s->cfg.count && !s->nr_conns;
}

static void loop(struct server *s)
{
	for (unsigned int turn = 0; !s->stop && !served_enough(s); turn++) {
		if (s->cfg.poll)
			run_all(s);
		if (!s->cfg.poll || !(turn % SPINS) || !TAILQ_EMPTY(&s->dying))
			look_around(s);
		run_ready(s);
		run_deferred(s);
		run_later(s);
		serve_fault_run(s);
		run_timed(s);
		run_failing(s);
		serve_reap(s);
	}
}

/* --------------------------------------------------------------------- begin and end */

static int fail(struct server *s, int code, const char *what)
{
	return rtgt_fail(&s->err, code, "%s: %s", what, strerror(code));
}

static int open_loop(struct server *s)
{
	int ret;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->signals = interrupt_fd(SIGUSR1, SFD_NONBLOCK | SFD_CLOEXEC);
	if (s->epoll < 0 || s->signals < 0)
		return fail(s, errno, "cannot wait for events");
	s->on_signal.run = on_signal;
	ret = serve_watch(s, s->signals, &s->on_signal);
	return ret ? fail(s, -ret, "cannot wait for signals") : 0;
}

static int open_memory(struct server *s)
{
	int ret = serve_state_open(&s->cfg);

	if (ret)
		return rtgt_fail(&s->err, -ret, "cannot make the directory %s: %s", s->cfg.state,
				 strerror(-ret));
	for (unsigned int i = 0; i < s->cfg.nr_regions && !s->cfg.private; i++) {
		const struct serve_spec *spec = &s->cfg.region[i];

		ret = serve_mem_create(&s->mem[i], &s->cfg, i, 0);
		if (ret)
			return rtgt_fail(&s->err, -ret, "no memory for region %s of %llu bytes: %s",
					 spec->name, (unsigned long long)spec->size,
					 strerror(-ret));
	}
	return 0;
}

static int fail_listen(struct server *s, int code, const char *text)
{
	switch (code) {
	case EADDRINUSE:
		return rtgt_fail(&s->err, code,
				 "%s port %u is in use: another rtgt serve, or a port of the kernel's target? (rdma resource show cm_id)",
				 text, ntohs(((struct sockaddr_in *)&s->cfg.addr)->sin_port));
	case ENODEV:
	case EADDRNOTAVAIL:
		return rtgt_fail(&s->err, code,
				 "no RDMA device has the address %s: see ip addr and rdma link; rdma link add rxe0 type rxe netdev NETDEV makes one",
				 text);
	default:
		return rtgt_fail(&s->err, code, "cannot listen on %s: %s", text, strerror(code));
	}
}

/* The domain of a device that is known already: what fails is told here and not to a client */
static int open_device(struct server *s)
{
	int ret = 0;

	if (!s->listener->verbs || serve_device_get(s, s->listener->verbs, &ret))
		return 0;
	if (ret == -EOPNOTSUPP)
		return rtgt_fail(&s->err, EOPNOTSUPP,
				 "the device %s will not do: it has no queue pairs of this transport, or no SRQ and srq is 1, or cannot FLUSH and a region's access has that",
				 ibv_get_device_name(s->listener->verbs->device));
	if (ret == -ENOMEM)
		return rtgt_fail(&s->err, ENOMEM,
				 "the regions cannot be registered: no memory, or too little may be locked (ulimit -l)");
	return rtgt_fail(&s->err, -ret,
			 "the regions cannot be registered: %s%s", strerror(-ret),
			 s->cfg.state ? " (is the state directory on a tmpfs, as /dev/shm?)" : "");
}

static const char *address(const struct server *s, char *buf, size_t size)
{
	const struct sockaddr_in6 *in6 = (const void *)&s->cfg.addr;
	const struct sockaddr_in *in = (const void *)&s->cfg.addr;
	bool v6 = s->cfg.addr.ss_family == AF_INET6;

	return inet_ntop(s->cfg.addr.ss_family, v6 ? (const void *)&in6->sin6_addr :
			 (const void *)&in->sin_addr, buf, (socklen_t)size);
}

/* "::" serves IPv6 only, as the kernel's target */
static void one_family(struct server *s)
{
	int on = 1;

	rdma_set_option(s->listener, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof(on));
}

/* librdmacm has an identifier for UC only like this: bound, and with a channel of its own */
static int bind_uc(struct server *s, const char *text)
{
	struct rdma_addrinfo where = {
		.ai_flags = RAI_PASSIVE,
		.ai_family = s->cfg.addr.ss_family,
		.ai_qp_type = IBV_QPT_UC,
		.ai_port_space = RDMA_PS_IB,
		.ai_src_addr = (struct sockaddr *)&s->cfg.addr,
		.ai_src_len = s->cfg.addr.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
								 sizeof(struct sockaddr_in),
	};

	if (rdma_create_ep(&s->listener, &where, NULL, NULL)) {
		s->listener = NULL;
		return fail_listen(s, errno, text);
	}
	one_family(s);
	return rdma_migrate_id(s->listener, s->channel) ? fail_listen(s, errno, text) : 0;
}

static int bind_id(struct server *s, const char *text)
{
	bool ud = s->cfg.transport == SERVE_UD;

	if (rdma_create_id(s->channel, &s->listener, NULL, ud ? RDMA_PS_UDP : RDMA_PS_TCP)) {
		s->listener = NULL;
		return fail(s, errno, "no rdma_cm identifier");
	}
	one_family(s);
	if (rdma_bind_addr(s->listener, (struct sockaddr *)&s->cfg.addr))
		return fail_listen(s, errno, text);
	return 0;
}

static int open_listener(struct server *s)
{
	unsigned int port = ntohs(((struct sockaddr_in *)&s->cfg.addr)->sin_port);
	char text[INET6_ADDRSTRLEN];
	int ret;

	address(s, text, sizeof(text));
	s->channel = rdma_create_event_channel();
	if (!s->channel)
		return rtgt_fail(&s->err, errno,
				 "no rdma_cm: modprobe rdma_ucm; is there a device (rdma link)?");
	fcntl(s->channel->fd, F_SETFL, O_NONBLOCK);
	s->on_cm.run = on_cm_event;
	ret = serve_watch(s, s->channel->fd, &s->on_cm);
	if (ret)
		return fail(s, -ret, "cannot wait for connections");
	ret = s->cfg.transport == SERVE_UC ? bind_uc(s, text) : bind_id(s, text);
	if (!ret)
		ret = open_device(s);
	if (ret)
		return ret;
	if (rdma_listen(s->listener, BACKLOG))
		return fail_listen(s, errno, text);
	/* whoever reads this line may look there */
	write_state(s);
	printf("listening on %s port %u\n", text, port);
	if (s->cfg.faulty)
		printf("on purpose, this server commits these faults:\n");
	serve_fault_print(s, stdout);
	fflush(stdout);
	return 0;
}

static int begin(struct server *s)
{
	int ret = open_loop(s);

	if (!ret)
		ret = open_memory(s);
	return ret ? ret : open_listener(s);
}

/* At whatever stage begin() stopped */
static void end(struct server *s)
{
	serve_close_all(s);
	serve_devices_close(s);
	if (s->listener)
		rdma_destroy_id(s->listener);
	if (s->channel)
		rdma_destroy_event_channel(s->channel);
	for (unsigned int i = 0; i < s->cfg.nr_regions; i++)
		serve_mem_destroy(s->mem[i]);
	write_state(s);
	if (s->signals >= 0)
		close(s->signals);
	if (s->epoll >= 0)
		close(s->epoll);
}

int cmd_serve(struct tool *tool, int argc, char **argv)
{
	static struct server server;
	struct server *s = &server;
	int ret = serve_args(&s->cfg, tool, argc, argv);

	if (ret)
		return ret == OPTIONS_HELP ? EXIT_OK : ret;
	s->epoll = -1;
	s->signals = -1;
	TAILQ_INIT(&s->devices);
	TAILQ_INIT(&s->conns);
	TAILQ_INIT(&s->dying);
	TAILQ_INIT(&s->ready);
	TAILQ_INIT(&s->timed);
	TAILQ_INIT(&s->failing);
	TAILQ_INIT(&s->deferred);
	TAILQ_INIT(&s->later);
	TAILQ_INIT(&s->delayed);
	if (!begin(s))
		loop(s);
	end(s);
	if (s->err.code)
		return failed("%s", s->err.text);
	if (s->cfg.stats)
		serve_print_stats(s);
	return EXIT_OK;
}
