// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt monitor: what happens at the ports of the kernel's target, a line for each event, until it
 * is interrupted.
 *
 * The module has tracepoints for that.  An instance of tracefs records them for this process alone,
 * and its trace_pipe gives each line once.  A line is text that the kernel has written, and a line
 * that is not understood is passed on as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include <json-c/json.h>

#include "tool/cli/interrupt.h"
#include "tool/cli/options.h"
#include "tool/out/json.h"
#include "tracefs.h"
#include "tree.h"

static const struct usage_option options[] = {
	{ OPT_JSON, "print a JSON object a line" },
	NO_MORE_OPTIONS
};

static const struct usage usage = {
	.name = "monitor",
	.synopsis = "[-j] monitor [OPTIONS] [PORT]",
	.about =
"Print what happens at the ports of the kernel's target, or at one of them, until interrupted: a\n"
"port that listens or stops; a connection that is established, closed, or rejected, and why.\n",
	.options = options,
	.notes =
"It takes root and the module: the events are tracepoints.\n"
"Exit status: 0 ended by a signal, 1 failed, 2 the command line is wrong.  See rtgt(1).\n",
};

#define TEXT(key, before)	{ key, before, false }
#define NUMBER(key, before)	{ key, before, true }

/* What the events of the module say, which is in kmod/target/trace.h */
static const struct event {
	const char *name, *type;
	/* the members of the object, and what stands in front of each in the line */
	struct {
		const char *key, *before;
		bool number;
	} member[6];
} events[] = {
	{ "rtgt_port_state", "port", { TEXT("state", "state="), TEXT("port", " port=") } },
	{ "rtgt_conn_state", "connection",
	  { NUMBER("connection", "conn="), NUMBER("qpn", " qpn="), TEXT("state", " -> "),
	    TEXT("port", " port="), TEXT("peer", " peer="), TEXT("why", " why=") } },
	{ "rtgt_reject", "reject",
	  { TEXT("device", "dev="), TEXT("reason", " reason="), NUMBER("argument", " arg="),
	    TEXT("port", " port="), TEXT("peer", " peer=") } },
};

/* Beside the errnos of the trace */
#define NO_OUTPUT	1

/**
 * struct monitor - what a run knows
 * @tool: the options
 * @only: a port's name; NULL for all
 * @offset_ns: from the clock of the events to the real time
 * @buf: what was read
 * @len: of it
 */
struct monitor {
	const struct tool *tool;
	const char *only;
	int64_t offset_ns;
	char buf[16384];
	size_t len;
};

static const char *text_of(struct json_object *o, const char *key)
{
	return json_object_get_string(json_object_object_get(o, key));
}

static void print_text(struct json_object *o, const char *type, int64_t ns)
{
	const time_t at = (time_t)(ns / 1000000000);
	const unsigned int us = (unsigned int)(ns / 1000 % 1000000);
	char clock[16];
	struct tm tm;

	strftime(clock, sizeof(clock), "%T", localtime_r(&at, &tm));
	printf("%s.%06u %s ", clock, us, text_of(o, "port"));
	if (!strcmp(type, "port"))
		printf("%s\n", text_of(o, "state"));
	else if (!strcmp(type, "reject"))
		printf("%s rejected: %s (%s)\n", text_of(o, "peer"), text_of(o, "reason"),
		       text_of(o, "argument"));
	else
		printf("connection %s from %s: %s%s%s\n", text_of(o, "connection"),
		       text_of(o, "peer"), text_of(o, "state"), *text_of(o, "why") ? ": " : "",
		       text_of(o, "why"));
}

/* Takes the members out of @text, each up to the text before the next; false if one is missing */
static bool take_members(struct json_object *o, const struct event *e, const char *text)
{
	for (unsigned int i = 0; i < 6 && e->member[i].key; i++) {
		const char *next = i < 5 ? e->member[i + 1].before : NULL, *from, *end;
		char value[256];

		from = strstr(text, e->member[i].before);
		if (!from)
			return false;
		from += strlen(e->member[i].before);
		end = next ? strstr(from, next) : NULL;
		/* between the queue pair's number and the new state stands the old one */
		if (e->member[i].number)
			end = from + strspn(from, "0123456789");
		snprintf(value, sizeof(value), "%.*s",
			 (int)(end ? end - from : (ptrdiff_t)strlen(from)), from);
		if (e->member[i].number)
			rtgt_json_int(o, e->member[i].key, strtoll(value, NULL, 10));
		else
			rtgt_json_str(o, e->member[i].key, value);
		text = end ? end : from;
	}
	return true;
}

/* "  task-7 [000] ...  12.345678: rtgt_reject: dev=...": from the time on it matters */
static void take_line(struct monitor *m, const char *line)
{
	for (unsigned int i = 0; i < sizeof(events) / sizeof(*events); i++) {
		const struct event *e = &events[i];
		struct json_object *o;
		const char *at, *digits;
		unsigned long long s;
		unsigned int us;
		int64_t ns;
		char name[32];

		snprintf(name, sizeof(name), ": %s: ", e->name);
		at = strstr(line, name);
		if (!at)
			continue;
		for (digits = at; digits > line && digits[-1] != ' '; digits--)
			;
		o = rtgt_json_document("rtgt-monitor-1");
		rtgt_json_str(o, "type", e->type);
		if (sscanf(digits, "%llu.%6u", &s, &us) != 2 ||
		    !take_members(o, e, at + strlen(name))) {
			json_object_put(o);
			break;
		}
		ns = (int64_t)s * 1000000000 + (int64_t)us * 1000 + m->offset_ns;
		rtgt_json_us(o, "time", (uint64_t)ns);
		if (!m->only || !strcmp(m->only, text_of(o, "port"))) {
			if (m->tool->json)
				rtgt_json_print(o, false, stdout);
			else
				print_text(o, e->type, ns);
		}
		json_object_put(o);
		return;
	}
	/* "CPU:0 [LOST 12 EVENTS]", or another kernel's way of writing */
	fprintf(stderr, "rtgt: %s\n", line);
}

/* Reads and prints lines.  Return: 0, or the negative errno of read() */
static int take(struct monitor *m, int pipe)
{
	ssize_t n = read(pipe, m->buf + m->len, sizeof(m->buf) - 1 - m->len);
	char *line = m->buf, *end;

	if (n <= 0)
		return n && errno != EAGAIN && errno != EINTR ? -errno : 0;
	m->len += (size_t)n;
	m->buf[m->len] = '\0';
	for (; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		take_line(m, line);
	}
	m->len -= (size_t)(line - m->buf);
	memmove(m->buf, line, m->len);
	/* a line that fills all of it is none of ours */
	if (m->len == sizeof(m->buf) - 1)
		m->len = 0;
	return fflush(stdout) || ferror(stdout) ? NO_OUTPUT : 0;
}

static int follow(struct monitor *m, const struct tracefs *t, int signals)
{
	struct pollfd fds[2] = { { .events = POLLIN }, { .fd = signals, .events = POLLIN } };
	char path[256];
	int ret = 0;

	snprintf(path, sizeof(path), "%s/trace_pipe", t->instance);
	fds[0].fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fds[0].fd < 0)
		ret = -errno;
	else
		/* nothing is missed from here on */
		fprintf(stderr, "rtgt: monitoring\n");
	while (!ret && !(fds[1].revents & POLLIN)) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			ret = -errno;
		else if (fds[0].revents)
			ret = take(m, fds[0].fd);
	}
	close(fds[0].fd);
	if (ret == NO_OUTPUT)
		return failed("monitor: standard output does not take it");
	return ret ? failed("monitor: %s: %s", path, strerror(-ret)) : EXIT_OK;
}

int cmd_monitor(struct tool *tool, int argc, char **argv)
{
	struct words words = { argc, argv };
	struct monitor m = { .tool = tool };
	struct rtgt_err err = { };
	struct tracefs t;
	int64_t error;
	int signals, rc = options_parse(&usage, tool, &words, NULL, NULL);

	if (rc)
		return rc == OPTIONS_HELP ? EXIT_OK : rc;
	if (words.argc > 1)
		return misused("monitor: give one PORT, or none for all (rtgt monitor --help)");
	rc = tree_need_module();
	if (rc)
		return rc;
	m.only = words.argc ? words.argv[0] : NULL;
	/* whatever ends this, the instance is to be removed */
	signals = interrupt_fd(SIGHUP, SFD_CLOEXEC);
	signal(SIGPIPE, SIG_IGN);
	if (signals < 0)
		return failed("monitor: no signalfd: %s", strerror(errno));
	if (tracefs_open(&t, "monitor", &err)) {
		rc = failed("monitor: %s", err.text);
	} else {
		m.offset_ns = tracefs_offset(&error);
		for (unsigned int i = 0; !rc && i < sizeof(events) / sizeof(*events); i++) {
			char name[64];

			snprintf(name, sizeof(name), "rtgt/%s", events[i].name);
			if (tracefs_enable(&t, name))
				rc = failed("monitor: the module does not have the event %s: is it another version?",
					    name);
		}
		if (!rc)
			rc = follow(&m, &t, signals);
	}
	if (tracefs_close(&t, &err) && !rc)
		rc = failed("monitor: %s", err.text);
	close(signals);
	return rc;
}
