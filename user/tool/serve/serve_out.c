// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: what can be seen of it.
 *
 * A state directory holds what the kernel's target has in debugfs, under the same names:
 *
 *	counters			"name value" a line
 *	connections			one line a connection
 *	regions/NAME/data		the memory all share
 *	conns/ID/NAME/data		a private connection's
 *	faults				with --fault, "RULE seen N done N" a line
 *
 * Those that are no memory are written anew, and put in place as a whole, when something changed,
 * at most a hundred times a second.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "serve.h"

#define WRITE_NS	10000000u

void serve_count(struct server *s, enum rtgt_counter counter, uint64_t n)
{
	s->counts[counter] += n;
	s->dirty = true;
}

/* A line for who asked for them with -v */
void serve_say(const struct server *s, const char *fmt, ...)
{
	va_list ap;

	if (!s->cfg.verbose)
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static const char *state_name(const struct serve_conn *c)
{
	static const char *const name[] = { "connecting", "live", "closing" };

	return name[c->state];
}

static void print_counters(const struct server *s, FILE *to)
{
	for (unsigned int i = 0; i < RTGT_NR_COUNTERS; i++)
		fprintf(to, "%s %llu\n", rtgt_counter_name(i), (unsigned long long)s->counts[i]);
}

static void print_connections(const struct server *s, FILE *to)
{
	const struct serve_conn *c;
	const struct serve_recv *recv;

	for (c = TAILQ_FIRST(&s->conns); c; c = TAILQ_NEXT(c, entry)) {
		unsigned int held = c->own ? c->own->nr : 0;

		for (recv = held ? TAILQ_FIRST(&c->own->free) : NULL; recv;
		     recv = TAILQ_NEXT(recv, entry))
			held--;
		fprintf(to,
			"id=%u state=%s peer=%s dev=%s qpn=%u client=%s recv_msgs=%llu imms=%llu replies=%llu held=%u\n",
			c->id, state_name(c), c->peer,
			ibv_get_device_name(c->dev->verbs->device), c->qp ? c->qp->qp_num : 0,
			c->plain ? "plain" : "rtgt", (unsigned long long)c->recv_msgs,
			(unsigned long long)c->imms, (unsigned long long)c->replies, held);
	}
}

void serve_print_stats(const struct server *s)
{
	print_counters(s, stdout);
	fflush(stdout);
}

/* A file of the state directory, which no reader sees half of */
void serve_state_file(const struct server *s, const char *name,
		      void (*print)(const struct server *s, FILE *to))
{
	char path[PATH_MAX], new[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", s->cfg.state, name);
	snprintf(new, sizeof(new), "%s/.%s", s->cfg.state, name);
	f = fopen(new, "w");
	if (!f)
		return;
	print(s, f);
	if (!fclose(f))
		rename(new, path);
}

/* Is it time to write? */
bool serve_state_due(struct server *s, uint64_t now)
{
	return s->cfg.state && s->dirty && now - s->written_ns >= WRITE_NS;
}

void serve_state_write(struct server *s)
{
	if (!s->cfg.state)
		return;
	s->dirty = false;
	s->written_ns = rtgt_now_ns();
	serve_state_file(s, "counters", print_counters);
	serve_state_file(s, "connections", print_connections);
}

static int make_dir(const char *dir, const char *name)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s%s", dir, name) >= sizeof(path) - 64)
		return -ENAMETOOLONG;
	return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

/* Make the state directory; 0 or a negative errno */
int serve_state_open(const struct serve_cfg *cfg)
{
	int ret = cfg->state ? make_dir(cfg->state, "") : 0;

	return ret || !cfg->state ? ret : make_dir(cfg->state, "/conns");
}
