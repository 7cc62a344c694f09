// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt bridge: a wire between machines that loses, delays and changes the frames that rules name.
 *
 * It learns who is behind which port, as a switch does, and forwards.  With rules, libwire follows
 * all connections, so that a rule can name a packet as an engineer would: the third packet of
 * the second WRITE, the first time it is sent.  All events follow from the rules, the frames and
 * one seed.
 *
 * A frame is never waited for, and none waits for a port that does not take it.  The bridge ends
 * with SIGINT or SIGTERM, or when all QEMUs that were connected have gone.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bridge.h"
#include "tool/cli/interrupt.h"
#include "tool/cli/options.h"

#define MACS	4096	/* a power of two */
#define FRAMES_AT_ONCE	256

/* Who was seen behind which port: @port is counted from 1 */
struct bridge_mac {
	uint8_t addr[6];
	uint8_t port;
};

static const struct usage_option options[] = {
	{ OPT_RULES, "rules, one a line; - is standard input" },
	{ OPT_RULE, "one more rule; may be given again" },
	{ OPT_OUTPUT, "write a pcapng with both sides: frames as they came in and as they left" },
	{ OPT_SEED, "of all that is left to chance; default: a random one, which is printed" },
	{ OPT_QUIET, "do not print an event for each frame that a rule hits" },
	{ OPT_JSON, "print a JSON object a line: the begin, each event, the sums" },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "bridge",
	.synopsis = "bridge [OPTIONS] [NAME=]PORT [NAME=]PORT ...",
	.about =
"Forward frames between ports, and do to some of them what rules say.  A PORT is\n"
"  NETDEV                 a network interface that is up and has no addresses\n"
"  listen:PATH            a unix socket for QEMU's -netdev stream,addr.type=unix,addr.path=PATH\n"
"  stream:PATH            the same with server=on\n"
"  udp:LOCAL:REMOTE       UDP ports of this machine, for QEMU's -netdev dgram or socket,udp=\n"
"  tap:NAME               a TAP device\n"
"\n"
"A rule is [NAME:] ACTION[=N] PROPERTY=VALUE..., for example\n"
"  lost: drop op=write message=2 packet=3 tx=1\n"
"  delay=5ms-10ms is=ack after=lost\n"
"  drop chance=0.1% burst=4 port=client\n"
"  rate=100mbit queue=64K mark=32K port=client\n"
"Actions: drop, delay=TIME, dup[=N], reorder[=N], corrupt, forge[=FIELD:VALUE], truncate=BYTES,\n"
"mark, rate=BITS.\n"
"Properties: op, is, cm, mpa, from, port, conn, message, packet, psn, tx, size; then nth, every,\n"
"count, chance, burst and after.\n",
	.options = options,
	.notes =
"Exit status: 0 ended by SIGINT or SIGTERM, or all QEMUs have gone; 1 a port cannot be opened, or\n"
"the capture cannot be written; 2 a rule is wrong.  See rtgt-bridge(1).\n",
};

/* The command line; rules are read behind the ports and the seed */
struct request {
	struct bridge *b;
	const char *rules, *capture;
	char *rule[BRIDGE_RULES];
	unsigned int nr;
	bool seed;
};

static struct bridge_mac *slot(struct bridge *b, const uint8_t *addr)
{
	uint32_t h = 0;

	for (int i = 0; i < 6; i++)
		h = (h ^ addr[i]) * 16777619u;
	return &b->mac[(h ^ h >> 15) & (MACS - 1)];
}

/* The ports that a frame leaves by; its sender is behind the one it came in on */
static uint32_t ways(struct bridge *b, unsigned int from, const uint8_t *frame)
{
	const uint32_t all = (1u << b->ports) - 1;
	struct bridge_mac *m = slot(b, frame + 6);

	if (!(frame[6] & 1)) {
		memcpy(m->addr, frame + 6, 6);
		m->port = (uint8_t)(from + 1);
	}
	m = slot(b, frame);
	if (!(frame[0] & 1) && m->port && !memcmp(m->addr, frame, 6))
		return m->port == from + 1 ? 0 : 1u << (m->port - 1);
	return all & ~(1u << from);
}

/* For each rule, the packet of a frame that has its properties; valid until the next frame */
struct matches {
	struct bridge *b;
	const struct bridge_frame *f;
	const struct pkt *by[BRIDGE_RULES];
};

static void match(void *arg, const struct bridge_what *w)
{
	struct matches *m = arg;

	for (unsigned int i = 0; i < m->b->rules; i++)
		if (!m->by[i] && bridge_rule_has(&m->b->rule[i], w, m->f))
			m->by[i] = w->p;
}

static void apply_rules(struct bridge *b, struct bridge_frame *f)
{
	struct matches m = { .b = b, .f = f };
	bool hit = false;
	struct pkt p;
	int done;

	bridge_see(b->seer, f, &p, match, &m);
	/* a frame that one has dropped is not there for the next */
	for (unsigned int i = 0; i < b->rules && f->to; i++) {
		struct bridge_rule *r = &b->rule[i];

		if (!m.by[i] || !bridge_rule_takes(r))
			continue;
		if (!hit)
			bridge_capture(b, f, f->from, false, r->name);
		hit = true;
		done = bridge_act(b, r, f, &p);
		*(done < 0 ? &r->failed : &r->acted) += 1;
		if (done > 0)
			bridge_event(b, r, f, m.by[i]);
	}
	if (!hit)
		bridge_capture(b, f, f->from, false, NULL);
}

static void frame_in(struct bridge_port *from, const struct bridge_got *got)
{
	struct bridge *b = from->bridge;
	struct bridge_frame *f;
	uint32_t to;

	from->frames_in++;
	from->bytes_in += got->len;
	b->frames++;
	/* it has no addresses; or a sender leaves more to its device to cut than we keep */
	if (got->len < 14 || got->len > BRIDGE_FRAME) {
		from->lost++;
		return;
	}
	to = ways(b, from->index, got->data);
	f = malloc(sizeof(*f) + got->len);
	if (!f) {
		from->lost++;
		return;
	}
	*f = (struct bridge_frame){ .number = b->frames, .ns = bridge_wall_ns(),
				    .from = from->index, .to = to, .len = got->len };
	if (got->vnet)
		memcpy(f->vnet, got->vnet, sizeof(f->vnet));
	memcpy(f->data, got->data, got->len);
	if (b->rules && to) {
		apply_rules(b, f);
		b->dropped += !f->to;
	} else {
		bridge_capture(b, f, f->from, false, NULL);
	}
	bridge_leave(b, f);
}

static int set(void *arg, enum opt opt, char *text)
{
	struct request *q = arg;

	switch (opt) {
	case OPT_RULES:
		q->rules = text;
		return 0;
	case OPT_RULE:
		if (q->nr == BRIDGE_RULES)
			return misused("at most %u rules", BRIDGE_RULES);
		q->rule[q->nr++] = text;
		return 0;
	case OPT_OUTPUT:
		q->capture = text;
		return 0;
	case OPT_SEED:
		q->seed = true;
		return opt_seed(text, &q->b->seed);
	case OPT_QUIET:
		q->b->quiet = true;
		return 0;
	default:
		return 0;
	}
}

static int begin(struct bridge *b, struct request *q, const struct words *words)
{
	char where[32];
	int ret = 0;

	if (words->argc < 2)
		return misused("bridge: at least two ports: NETDEV, listen:PATH, stream:PATH, udp:LOCAL:REMOTE or tap:NAME");
	if (!q->seed)
		b->seed = new_seed();
	for (int i = 0; !ret && i < words->argc; i++)
		ret = bridge_port_add(b, words->argv[i]);
	if (!ret && q->rules)
		ret = bridge_rules_read(b, q->rules);
	for (unsigned int i = 0; !ret && i < q->nr; i++) {
		snprintf(where, sizeof(where), "rule %u", i + 1);
		ret = bridge_rule_add(b, where, q->rule[i]);
	}
	if (ret)
		return ret;
	b->seer = bridge_seer_new();
	b->mac = calloc(MACS, sizeof(*b->mac));
	if (!b->seer || !b->mac)
		return failed("no memory");
	for (unsigned int i = 0; !ret && i < b->ports; i++)
		ret = bridge_port_open(&b->port[i]);
	if (!ret && q->capture)
		ret = bridge_capture_begin(b, q->capture);
	return ret;
}

/* All QEMUs that have sent something have gone; another bridge that knocks has not */
static bool alone(const struct bridge *b)
{
	bool was = false;

	for (unsigned int i = 0; i < b->ports; i++) {
		const struct bridge_port *p = &b->port[i];

		if (p->kind != BRIDGE_LISTEN && p->kind != BRIDGE_STREAM)
			continue;
		if (p->fd >= 0)
			return false;
		was |= p->frames_in > 0;
	}
	return was;
}

/* How long until there is something to do without anybody; NULL: there is nothing */
static struct timespec *patience(const struct bridge *b, struct timespec *wait)
{
	const uint64_t now = bridge_now();
	uint64_t ns = 0;

	for (unsigned int i = 0; i < b->ports; i++)
		if (bridge_port_has(&b->port[i]))
			return memset(wait, 0, sizeof(*wait));
	if (!b->first)
		return NULL;
	if (b->first->at > now)
		ns = b->first->at - now;
	*wait = (struct timespec){ .tv_sec = (time_t)(ns / 1000000000),
				   .tv_nsec = (long)(ns % 1000000000) };
	return wait;
}

static void serve_port(struct bridge_port *p)
{
	struct bridge_got got;
	int ret = 0;

	/* the others have their turn, too */
	for (unsigned int i = 0; !ret && i < FRAMES_AT_ONCE; i++) {
		ret = bridge_port_next(p, &got);
		if (ret <= 0)
			break;
		frame_in(p, &got);
		ret = 0;
	}
	if (ret >= 0)
		return;
	if (ret != -EPIPE && ret != -ECONNRESET)
		fprintf(stderr, "rtgt: bridge: %s: %s\n", p->where, strerror(-ret));
	bridge_port_close(p);
}

/* Nobody waits for a buffer to be full: neither the machines nor whoever reads the events */
static void flush(struct bridge *b)
{
	for (unsigned int i = 0; i < b->ports; i++)
		if (b->port[i].fd >= 0 && bridge_port_flush(&b->port[i]))
			bridge_port_close(&b->port[i]);
	fflush(stdout);
}

static int forward(struct bridge *b, int stop)
{
	struct pollfd fds[2 * BRIDGE_PORTS + 1] = { { .fd = stop, .events = POLLIN } };
	struct timespec wait;

	while (!interrupted && !alone(b)) {
		unsigned int nr = 1;

		for (unsigned int i = 0; i < b->ports; i++) {
			struct bridge_port *p = &b->port[i];

			/* the next one has its turn when the one that is there has gone */
			fds[nr++] = (struct pollfd){ .fd = p->fd < 0 ? p->listener : -1,
						     .events = POLLIN };
			fds[nr++] = (struct pollfd){ .fd = p->fd, .events = (short)
				(POLLIN | (p->out_len > p->out_at ? POLLOUT : 0)) };
		}
		if (ppoll(fds, nr, patience(b, &wait), NULL) < 0) {
			if (errno == EINTR)
				continue;
			return failed("bridge: poll: %s", strerror(errno));
		}
		bridge_due(b, bridge_now());
		/* who has come may be whom the first frame is for */
		for (unsigned int i = 0; i < b->ports; i++)
			if (fds[2 * i + 1].revents && bridge_port_accept(&b->port[i]))
				return EXIT_FAILED;
		for (unsigned int i = 0; i < b->ports; i++)
			if (b->port[i].fd >= 0 &&
			    (fds[2 * i + 2].revents || bridge_port_has(&b->port[i])))
				serve_port(&b->port[i]);
		flush(b);
	}
	/* only a rule loses a frame */
	bridge_due(b, UINT64_MAX);
	flush(b);
	return EXIT_OK;
}

static void release(struct bridge *b)
{
	for (unsigned int i = 0; i < b->ports; i++) {
		struct bridge_port *p = &b->port[i];

		bridge_port_close(p);
		if (p->listener >= 0) {
			close(p->listener);
			unlink(p->where);
		}
		free(p->in);
		free(p->out);
	}
	bridge_seer_free(b->seer);
	free(b->mac);
	free(b);
}

int cmd_bridge(struct tool *tool, int argc, char **argv)
{
	struct bridge *b = calloc(1, sizeof(*b));
	struct request q = { .b = b };
	struct words words = { argc, argv };
	int ret, stop, stop_rc;

	if (!b)
		return failed("no memory");
	ret = options_parse(&usage, tool, &words, set, &q);
	if (ret) {
		free(b);
		return ret == OPTIONS_HELP ? EXIT_OK : ret;
	}
	b->json = tool->json;
	stop = interrupt_event(SA_RESETHAND);
	ret = stop < 0 ? failed("eventfd: %s", strerror(errno)) : begin(b, &q, &words);
	if (!ret) {
		bridge_began(b);
		ret = forward(b, stop);
		stop_rc = bridge_ended(b);
		ret = ret ? ret : stop_rc;
	}
	release(b);
	if (stop >= 0) {
		interrupt_release();
		close(stop);
	}
	return ret;
}
