// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The language of rules.  A line is a rule:
 *
 *	[NAME:] ACTION[=N] [PROPERTY=VALUE...]	# comment
 *
 * for example
 *
 *	lost: drop op=write message=2 packet=3 tx=1
 *	delay=5ms-10ms is=ack after=lost
 *
 * A rule acts on frames that have all its properties.  A number may be a range: 3, 3-5, 3-.
 * With op, message or packet, and without is, it acts on packets of the request; "is" asks for
 * those of the answer.
 * nth, every, count, chance and after do not describe a frame; they count those that all other
 * properties describe.  Each rule has random numbers of its own, from the seed and its place in the
 * list, so that the events of one do not depend on others.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "libwire/fields.h"

#define WORDS_MAX	24
#define BIT(property)	(1u << (property))

const char *const bridge_actions[] = {
	[BRIDGE_DROP] = "drop", [BRIDGE_DELAY] = "delay", [BRIDGE_DUP] = "dup",
	[BRIDGE_REORDER] = "reorder", [BRIDGE_CORRUPT] = "corrupt", [BRIDGE_FORGE] = "forge",
	[BRIDGE_TRUNCATE] = "truncate", [BRIDGE_MARK] = "mark", [BRIDGE_RATE] = "rate",
	[BRIDGE_ACTIONS] = NULL,
};

/* What stands behind "=" of an action */
static const struct {
	enum { NONE, TIME, NUMBER, RATE, FIELD } kind;
	uint64_t missing, max;
} takes[] = {
	[BRIDGE_DROP] = { .kind = NONE }, [BRIDGE_DELAY] = { TIME, 0, 3600000000000 },
	[BRIDGE_DUP] = { NUMBER, 1, 1000 }, [BRIDGE_REORDER] = { NUMBER, 1, 1000 },
	[BRIDGE_CORRUPT] = { .kind = NONE }, [BRIDGE_FORGE] = { .kind = FIELD },
	[BRIDGE_TRUNCATE] = { NUMBER, 0, BRIDGE_FRAME }, [BRIDGE_MARK] = { .kind = NONE },
	[BRIDGE_RATE] = { RATE, 0, 1000000000000 },
};

/* As enum flow_op */
static const char *const ops[] = {
	"send", "write", "read", "cas", "faa", "flush", "atomic-write", NULL
};

enum is { REQUEST, RESPONSE, ACK, NAK, RNR, CNP, TERMINATE, ROCE, IWARP, RDMA, OTHER };

static const char *const kinds[] = {
	[REQUEST] = "request", [RESPONSE] = "response", [ACK] = "ack", [NAK] = "nak",
	[RNR] = "rnr", [CNP] = "cnp", [TERMINATE] = "terminate", [ROCE] = "roce",
	[IWARP] = "iwarp", [RDMA] = "rdma", [OTHER] = "other", NULL
};

/* From PKT_CM_REQ on */
static const char *const cm[] = {
	"req", "mra", "rej", "rep", "rtu", "dreq", "drep", "sidr-req", "sidr-rep", "lap", "apr",
	NULL
};

/* As enum pkt_mpa */
static const char *const mpa[] = { "request", "reply", "fpdu", NULL };
static const char *const ends[] = { "client", "server", NULL };

/* @words: one of these; NULL: a range, but for PORT, CHANCE and AFTER */
static const struct { const char *name; const char *const *words; } properties[] = {
	[BRIDGE_OP] = { "op", ops }, [BRIDGE_IS] = { "is", kinds }, [BRIDGE_CM] = { "cm", cm },
	[BRIDGE_MPA] = { "mpa", mpa }, [BRIDGE_FROM] = { "from", ends },
	[BRIDGE_PORT] = { .name = "port" }, [BRIDGE_CONN] = { .name = "conn" },
	[BRIDGE_MESSAGE] = { .name = "message" }, [BRIDGE_PACKET] = { .name = "packet" },
	[BRIDGE_PSN] = { .name = "psn" }, [BRIDGE_TX] = { .name = "tx" },
	[BRIDGE_SIZE] = { .name = "size" }, [BRIDGE_NTH] = { .name = "nth" },
	[BRIDGE_EVERY] = { .name = "every" }, [BRIDGE_COUNT] = { .name = "count" },
	[BRIDGE_CHANCE] = { .name = "chance" }, [BRIDGE_BURST] = { .name = "burst" },
	[BRIDGE_AFTER] = { .name = "after" }, [BRIDGE_QUEUE] = { .name = "queue" },
	[BRIDGE_ABOVE] = { .name = "mark" },
};

/* "a, b or c" */
static const char *choice(char *buf, size_t size, const char *const *words)
{
	size_t at = 0;

	buf[0] = 0;
	for (; *words && at < size; words++)
		at += (size_t)snprintf(buf + at, size - at, "%s%s", !at ? "" : words[1] ? ", " :
				       " or ", *words);
	return buf;
}

static int find(const char *const *words, const char *word)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], word))
			return i;
	return -1;
}

struct unit {
	const char *name;
	double times;
};

/* Nanoseconds; bits per second, spelt as tc(8) does */
static const struct unit times[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { } };
static const struct unit rates[] = { { "kbit", 1e3 }, { "mbit", 1e6 }, { "gbit", 1e9 }, { } };

static bool read_unit(const char *text, char **end, const struct unit *units, uint64_t *value)
{
	double n = strtod(text, end);

	if (*end == text || !(n >= 0))
		return false;
	for (; units->name; units++) {
		const size_t len = strlen(units->name);

		if (strncasecmp(*end, units->name, len))
			continue;
		*end += len;
		if (n * units->times > 1e18)
			return false;
		*value = (uint64_t)(n * units->times);
		return true;
	}
	return false;
}

static bool read_one(const char *text, char **end, const struct unit *units, uint64_t *value)
{
	if (units)
		return read_unit(text, end, units, value);
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*value = strtoull(text, end, strncmp(text, "0x", 2) ? 10 : 16);
	return !errno;
}

/* 3, 3-5, 3- */
static bool read_range(const char *text, const struct unit *units, uint64_t *min, uint64_t *max)
{
	char *end;

	if (!read_one(text, &end, units, min))
		return false;
	*max = *min;
	if (!*end)
		return true;
	if (*end != '-')
		return false;
	*max = UINT64_MAX;
	if (!end[1])
		return true;
	return read_one(end + 1, &end, units, max) && !*end && *max >= *min;
}

/* An error of a rule names where it stands */
static int __attribute__((format(printf, 2, 3))) bad(const char *where, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return misused("%s: %s", where, text);
}

static int read_property(struct bridge *b, struct bridge_rule *r, const char *where, char *word)
{
	const char *names[BRIDGE_PROPERTIES + 1] = { };
	char *value = strchr(word, '='), list[256], *end;
	double percent;
	int i, is;

	for (i = 0; i < BRIDGE_PROPERTIES; i++)
		names[i] = properties[i].name;
	if (!value)
		return bad(where, "%s: a property is written NAME=VALUE", word);
	*value++ = 0;
	i = find(names, word);
	if (i < 0)
		return bad(where, "there is no property %s: %s", word,
			   choice(list, sizeof(list), names));
	if (r->has & BIT(i))
		return bad(where, "%s is there twice", word);
	r->has |= BIT(i);
	if (properties[i].words) {
		is = find(properties[i].words, value);
		if (is < 0)
			return bad(where, "%s=%s: %s", word, value,
				   choice(list, sizeof(list), properties[i].words));
		r->at[i].min = (uint64_t)is;
	} else if (i == BRIDGE_PORT) {
		for (is = 0; is < (int)b->ports && strcmp(b->port[is].name, value); is++)
			;
		if (is == (int)b->ports)
			return bad(where, "port=%s: the bridge has no port of that name", value);
		r->at[i].min = (uint64_t)is;
	} else if (i == BRIDGE_AFTER) {
		for (is = 0; is < (int)b->rules && strcmp(b->rule[is].name, value); is++)
			;
		if (is == (int)b->rules)
			return bad(where, "after=%s: no rule before this one has that name", value);
		r->after = &b->rule[is];
	} else if (i == BRIDGE_CHANCE) {
		percent = strtod(value, &end);
		if (end == value || strcmp(end, "%") || !(percent >= 0.0001) || percent > 100)
			return bad(where, "chance=%s: from 0.0001%% to 100%%, as 0.1%%", value);
		r->at[i].min = (uint64_t)(percent * 10000 + 0.5);
	} else if (i == BRIDGE_PACKET && !strcmp(value, "last")) {
		r->at[i].min = BRIDGE_LAST;
	} else if (i == BRIDGE_QUEUE || i == BRIDGE_ABOVE) {
		const char *rest;

		if (r->action != BRIDGE_RATE)
			return bad(where, "%s is a property of the action rate", word);
		if (read_size(value, &rest, &r->at[i].min) || *rest)
			return bad(where, "%s=%s: bytes, as 64K", word, value);
		return 0;
	} else if (!read_range(value, NULL, &r->at[i].min, &r->at[i].max) ||
		   (i != BRIDGE_SIZE && i != BRIDGE_PSN && !r->at[i].min)) {
		return bad(where, "%s=%s: a number from 1 on, or a range: 3, 3-5 or 3-", word,
			   value);
	}
	if ((i == BRIDGE_EVERY || i == BRIDGE_COUNT || i == BRIDGE_BURST) &&
	    r->at[i].min != r->at[i].max)
		return bad(where, "%s=%s: one number", word, value);
	return 0;
}

/* FIELD:VALUE of a header of RoCE, as rtgt explain names it */
static int read_field(struct bridge_rule *r, const char *where, char *name)
{
	char *value = strchr(name, ':');
	unsigned int bits = 0, here;
	uint64_t most;

	if (value)
		*value++ = 0;
	for (const struct pkt_layout *l = pkt_layouts; l->nr; l++)
		for (unsigned int i = 0; i < l->nr && l->header >= PKT_BTH &&
		     l->header < PKT_MPA; i++)
			if (!strcmp(l->field[i].name, name) && l->field[i].bits <= 64 &&
			    l->field[i].format <= PKT_BOOL && l->field[i].format != PKT_DEC4) {
				r->field = l->field[i].name;
				here = l->field[i].bits;
				/* two headers may have it, of different sizes */
				bits = bits && bits < here ? bits : here;
			}
	if (!bits)
		return bad(where, "forge=%s: no field of a RoCE header with a number has this name (rtgt explain --list-fields)",
			   name);
	most = UINT64_MAX >> (64 - bits);
	if (!value || !read_range(value, NULL, &r->arg.min, &r->arg.max) || r->arg.min > most ||
	    (r->arg.max > most && r->arg.max != UINT64_MAX))
		return bad(where, "forge=%s:VALUE: a number of %u bits, or a range: 3, 0x1f, 3-5, 3-",
			   name, bits);
	if (r->arg.max > most)
		r->arg.max = most;
	return 0;
}

static int read_action(struct bridge_rule *r, const char *where, char *word)
{
	char *value = strchr(word, '='), list[128];
	const struct unit *units;
	int i;

	if (value)
		*value++ = 0;
	i = find(bridge_actions, word);
	if (i < 0)
		return bad(where, "there is no action %s: %s", word,
			   choice(list, sizeof(list), bridge_actions));
	r->action = (enum bridge_action)i;
	r->arg.min = takes[i].missing;
	r->arg.max = r->arg.min;
	if (value && takes[i].kind == FIELD)
		return read_field(r, where, value);
	if (!value)
		return takes[i].kind == NONE || takes[i].kind == FIELD || takes[i].missing ? 0 :
		       bad(where, "%s", takes[i].kind == TIME ? "delay=TIME: how long?" :
			   takes[i].kind == RATE ? "rate=BITS: how many per second, as 100mbit?" :
			   "truncate=BYTES: how many?");
	if (takes[i].kind == NONE)
		return bad(where, "%s takes no value", word);
	units = takes[i].kind == TIME ? times : takes[i].kind == RATE ? rates : NULL;
	if (!read_range(value, units, &r->arg.min, &r->arg.max) || r->arg.max > takes[i].max ||
	    (takes[i].kind != TIME && !r->arg.min))
		return bad(where, "%s=%s: %s", word, value, units == rates ?
			   "bits per second with their unit: kbit, mbit or gbit" : units ?
			   "a time with its unit (ns, us, ms, s), or a range: 5ms, 5ms-10ms" :
			   "a number from 1 on, or a range: 3, 3-5");
	return 0;
}

static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/**
 * bridge_random() - a random number of a rule
 * @r: rule
 * @min: at least this
 * @max: at most this
 */
uint64_t bridge_random(struct bridge_rule *r, uint64_t min, uint64_t max)
{
	const uint64_t values = max - min + 1;

	if (min == max)
		return min;
	return min + (values ? splitmix(&r->random) % values : splitmix(&r->random));
}

/**
 * bridge_rule_add() - add a rule
 * @b: bridge with all its ports; its seed is known
 * @where: of the line, for errors
 * @line: of the rule; it is cut
 *
 * Return: 0, also of a line without a rule, or an exit status; the reason is printed.
 */
int bridge_rule_add(struct bridge *b, const char *where, char *line)
{
	struct bridge_rule *r = &b->rule[b->rules];
	char *save, *word, *comment = strchr(line, '#');
	size_t len;
	int ret;

	if (comment)
		*comment = 0;
	word = strtok_r(line, " \t\r\n", &save);
	if (!word)
		return 0;
	if (b->rules == BRIDGE_RULES)
		return bad(where, "a bridge has at most %u rules", BRIDGE_RULES);
	*r = (struct bridge_rule){ .random = b->seed + b->rules };
	splitmix(&r->random);
	snprintf(r->name, sizeof(r->name), "r%u", b->rules + 1);
	len = strlen(word);
	if (word[len - 1] == ':') {
		word[--len] = 0;
		if (!len || len >= sizeof(r->name))
			return bad(where, "%s: the name of a rule has 1 to %zu letters", word,
				   sizeof(r->name) - 1);
		strcpy(r->name, word);
		word = strtok_r(NULL, " \t\r\n", &save);
		if (!word)
			return bad(where, "%s: without an action", r->name);
	}
	for (unsigned int i = 0; i < b->rules; i++)
		if (!strcmp(b->rule[i].name, r->name))
			return bad(where, "two rules have the name %s", r->name);
	ret = read_action(r, where, word);
	while (!ret && (word = strtok_r(NULL, " \t\r\n", &save)))
		ret = read_property(b, r, where, word);
	if (!ret)
		b->rules++;
	return ret;
}

/**
 * bridge_rules_read() - add the rules of a file
 * @b: as for bridge_rule_add()
 * @path: file; "-" is standard input
 *
 * Return: 0, or an exit status; the reason is printed.
 */
int bridge_rules_read(struct bridge *b, const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	char *line = NULL, where[512];
	size_t room = 0;
	int ret = 0;

	if (!file)
		return misused("%s: %s", path, strerror(errno));
	for (unsigned int n = 1; !ret && getline(&line, &room, file) >= 0; n++) {
		snprintf(where, sizeof(where), "%s:%u", path, n);
		ret = bridge_rule_add(b, where, line);
	}
	free(line);
	if (!ret && ferror(file))
		ret = failed("%s: %s", path, strerror(errno));
	if (file != stdin)
		fclose(file);
	return ret;
}

static bool is_of(const struct bridge_what *w, uint64_t is)
{
	const struct pkt *p = w->p;
	const uint8_t op = p->opcode & 0x1f;
	const bool roce = p->kind == PKT_ROCE, acks = roce && op == PKT_ACK;
	const unsigned int said = PKT_SYNDROME(p->syndrome);

	switch (is) {
	case REQUEST:
		return w->seen.conn && !w->seen.answer && (roce || p->at[PKT_DDP].len);
	case RESPONSE:
		return w->seen.answer && (roce ? op != PKT_ACK :
		       p->at[PKT_RDMAP].variant == PKT_RDMAP_READ_RESPONSE);
	case ACK:
		return acks && said == PKT_AETH_ACK;
	case NAK:
		return acks && said == PKT_AETH_NAK;
	case RNR:
		return acks && said == PKT_AETH_RNR;
	case CNP:
		return p->kind == PKT_CNP;
	case TERMINATE:
		return p->kind == PKT_IWARP && p->at[PKT_RDMAP].len &&
		       p->at[PKT_RDMAP].variant == PKT_RDMAP_TERMINATE;
	case ROCE:
		return roce || p->kind == PKT_ROCE_CM || p->kind == PKT_CNP;
	case IWARP:
		return w->iwarp;
	case RDMA:
		return w->iwarp || (p->kind != PKT_OTHER && p->kind != PKT_TCP_SEGMENT);
	default:
		return !w->iwarp && (p->kind == PKT_OTHER || p->kind == PKT_TCP_SEGMENT);
	}
}

static bool in_range(const struct bridge_rule *r, enum bridge_property i, uint64_t value)
{
	return value >= r->at[i].min && value <= r->at[i].max;
}

static bool has(const struct bridge_rule *r, enum bridge_property i, const struct bridge_what *w,
		const struct bridge_frame *f)
{
	const struct pkt *p = w->p;
	const struct flow_conn *c = w->seen.conn;

	switch (i) {
	case BRIDGE_OP:
		return w->message && w->op == r->at[i].min;
	case BRIDGE_IS:
		return is_of(w, r->at[i].min);
	case BRIDGE_CM:
		return p->kind == PKT_ROCE_CM && p->attr == PKT_CM_REQ + r->at[i].min;
	case BRIDGE_MPA:
		return p->kind == PKT_IWARP && p->at[PKT_MPA].len &&
		       p->at[PKT_MPA].variant == r->at[i].min;
	case BRIDGE_FROM:
		return c && w->seen.from == r->at[i].min;
	case BRIDGE_PORT:
		return f->from == r->at[i].min;
	case BRIDGE_CONN:
		return c && in_range(r, i, c->id);
	case BRIDGE_MESSAGE:
		return w->message && in_range(r, i, w->message);
	case BRIDGE_PACKET:
		return w->message && (r->at[i].min == BRIDGE_LAST ? w->last :
				      in_range(r, i, w->packet));
	case BRIDGE_PSN:
		return p->kind == PKT_ROCE && in_range(r, i, p->psn);
	case BRIDGE_TX:
		return in_range(r, i, w->tx);
	case BRIDGE_SIZE:
		return in_range(r, i, f->len);
	default:
		return true;
	}
}

/**
 * bridge_rule_has() - has a frame the properties of a rule?
 * @r: rule
 * @w: what the frame is, or a unit of it
 * @f: frame
 */
bool bridge_rule_has(const struct bridge_rule *r, const struct bridge_what *w,
		     const struct bridge_frame *f)
{
	const uint32_t request = BIT(BRIDGE_OP) | BIT(BRIDGE_MESSAGE) | BIT(BRIDGE_PACKET);

	if (w->seen.answer && r->has & request && !(r->has & BIT(BRIDGE_IS)))
		return false;
	for (enum bridge_property i = 0; i < BRIDGE_NTH; i++)
		if (r->has & BIT(i) && !has(r, i, w, f))
			return false;
	return true;
}

/**
 * bridge_rule_takes() - does a rule act on the frame that has its properties?
 * @r: rule; it counts the frame
 */
bool bridge_rule_takes(struct bridge_rule *r)
{
	if (r->after && !r->after->acted)
		return false;
	r->seen++;
	if (r->has & BIT(BRIDGE_COUNT) && r->acted >= r->at[BRIDGE_COUNT].min)
		return false;
	if (r->burst) {
		r->burst--;
		return true;
	}
	if (r->has & BIT(BRIDGE_NTH) && !in_range(r, BRIDGE_NTH, r->seen))
		return false;
	if (r->has & BIT(BRIDGE_EVERY) && r->seen % r->at[BRIDGE_EVERY].min)
		return false;
	if (r->has & BIT(BRIDGE_CHANCE) && bridge_random(r, 0, 999999) >= r->at[BRIDGE_CHANCE].min)
		return false;
	r->burst = r->has & BIT(BRIDGE_BURST) ? r->at[BRIDGE_BURST].min - 1 : 0;
	return true;
}
