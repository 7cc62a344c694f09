// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * bridge_fuzz: libFuzzer's way into the rules of rtgt bridge: user/tool/bridge/bridge_rule.c,
 * bridge_frame.c and bridge_act.c.
 *
 * The input is rules, a line each, then a zero, then a frame, in an allocation that ends with it.
 * The frame comes three times, as one that is sent again does.  A rule is refused with words, or
 * does something to frames that have its properties; a frame is never longer than it came.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tool/bridge/bridge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t longest;

static int said(const char *fmt, va_list args)
{
	char text[600];

	if (vsnprintf(text, sizeof(text), fmt, args) <= 0)
		abort();
	return EXIT_USAGE;
}

int misused(const char *fmt, ...)
{
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = said(fmt, args);
	va_end(args);
	return ret;
}

int failed(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	said(fmt, args);
	va_end(args);
	return EXIT_FAILED;
}

int read_size(const char *text, const char **end, uint64_t *value)
{
	char *behind;

	*value = strtoull(text, &behind, 10);
	*end = behind;
	return behind == text;
}

bool bridge_port_send(struct bridge_port *p, const struct bridge_frame *f)
{
	uint8_t sum = 0;

	(void)p;
	/* what is sent is read */
	for (uint32_t i = 0; i < f->len; i++)
		sum ^= f->data[i];
	if (f->len > longest || (sum && !f->len))
		abort();
	return true;
}

void bridge_capture(struct bridge *b, const struct bridge_frame *f, unsigned int port, bool out,
		    const char *comment)
{
	(void)b;
	(void)f;
	(void)port;
	(void)out;
	(void)comment;
}

struct matches {
	struct bridge *b;
	const struct bridge_frame *f;
	bool has[BRIDGE_RULES];
};

static void match(void *arg, const struct bridge_what *w)
{
	struct matches *m = arg;

	for (unsigned int i = 0; i < m->b->rules; i++)
		m->has[i] |= bridge_rule_has(&m->b->rule[i], w, m->f);
}

static void come(struct bridge *b, const uint8_t *data, uint32_t len)
{
	struct bridge_frame *f = malloc(sizeof(*f) + len);
	struct matches m = { .b = b, .f = f };
	struct pkt p;

	if (!f)
		abort();
	*f = (struct bridge_frame){ .number = ++b->frames, .ns = b->frames * 1000, .to = 2,
				    .len = len };
	memcpy(f->data, data, len);
	longest = len;
	bridge_see(b->seer, f, &p, match, &m);
	for (unsigned int i = 0; i < b->rules && f->to; i++)
		if (m.has[i] && bridge_rule_takes(&b->rule[i]))
			bridge_act(b, &b->rule[i], f, &p);
	bridge_leave(b, f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = memchr(data, 0, size);
	struct bridge *b = calloc(1, sizeof(*b));
	char *rules, *line, *save;

	if (!b || !zero) {
		free(b);
		return -1;
	}
	b->ports = 2;
	strcpy(b->port[0].name, "a");
	strcpy(b->port[1].name, "b");
	rules = strdup((const char *)data);
	b->seer = bridge_seer_new();
	if (!rules || !b->seer)
		abort();
	for (line = strtok_r(rules, "\n", &save); line && b->rules < 8;
	     line = strtok_r(NULL, "\n", &save))
		bridge_rule_add(b, "rule", line);
	/* a copy for each is not what is looked for here */
	for (unsigned int i = 0; i < b->rules; i++)
		if (b->rule[i].action == BRIDGE_DUP) {
			b->rule[i].arg.min = 1;
			b->rule[i].arg.max = 3;
		}
	for (int i = 0; i < 3; i++)
		come(b, zero + 1, (uint32_t)(size - (size_t)(zero + 1 - data)));
	bridge_due(b, UINT64_MAX);
	if (b->first || b->held || b->overtaken)
		abort();
	free(rules);
	bridge_seer_free(b->seer);
	free(b);
	return 0;
}
