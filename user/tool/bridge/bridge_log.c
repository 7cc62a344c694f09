// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the bridge tells: an event for each frame that a rule hit, a capture, sums at the end.
 *
 * The capture is pcapng, with an interface for each port: a frame is in it when it comes in, as
 * its sender sent it, and when it leaves by a port, as its receiver gets it.  The first rule that
 * hits it is a comment on what came in.  An error ends the capture, not the bridge.
 */
#include <errno.h>
#include <inttypes.h>
#include <pcap/dlt.h>
#include <string.h>
#include <time.h>
#include <json-c/json.h>

#include "bridge.h"
#include "tool/out/json.h"

#define SECTION		0x0a0d0d0a
#define ORDER		0x1a2b3c4d
#define INTERFACE	1
#define PACKET		6
#define OPT_COMMENT	1
#define OPT_NAME	2	/* of an interface */
#define OPT_FLAGS	2	/* of a packet: 1 came in, 2 leaves */
#define OPT_TSRESOL	9

/* A block is put together in words of 32 bits, in this machine's order */
struct block {
	uint32_t word[64 + BRIDGE_FRAME / 4];
	size_t words;
};

static void add(struct block *k, uint32_t word)
{
	k->word[k->words++] = word;
}

/* Two of 16 bits */
static void add_two(struct block *k, uint16_t first, uint16_t second)
{
	const uint16_t both[2] = { first, second };

	memcpy(&k->word[k->words++], both, 4);
}

static void add_bytes(struct block *k, const void *bytes, size_t len)
{
	k->word[k->words + len / 4] = 0;
	memcpy(k->word + k->words, bytes, len);
	k->words += (len + 3) / 4;
}

static void add_option(struct block *k, uint16_t code, const void *value, size_t len)
{
	add_two(k, code, (uint16_t)len);
	add_bytes(k, value, len);
}

static void begin(struct block *k, uint32_t type)
{
	k->words = 0;
	add(k, type);
	add(k, 0);
}

static void end(struct bridge *b, struct block *k)
{
	k->word[1] = (uint32_t)(k->words + 1) * 4;
	add(k, k->word[1]);
	if (fwrite(k->word, 4, k->words, b->capture) == k->words)
		return;
	fprintf(stderr, "rtgt: bridge: the capture ends here: %s\n", strerror(errno));
	fclose(b->capture);
	b->capture = NULL;
	b->capture_failed = true;
}

/**
 * bridge_capture_begin() - write a capture from now on
 * @b: bridge with all its ports
 * @path: file
 *
 * Return: 0, or an exit status; the reason is printed.
 */
int bridge_capture_begin(struct bridge *b, const char *path)
{
	static const uint8_t ns = 9;
	static struct block k;

	b->capture = fopen(path, "we");
	if (!b->capture)
		return failed("%s: %s", path, strerror(errno));
	begin(&k, SECTION);
	add(&k, ORDER);
	add_two(&k, 1, 0);	/* version */
	add(&k, UINT32_MAX);	/* its length is not known */
	add(&k, UINT32_MAX);
	end(b, &k);
	for (unsigned int i = 0; b->capture && i < b->ports; i++) {
		begin(&k, INTERFACE);
		add_two(&k, DLT_EN10MB, 0);
		add(&k, BRIDGE_FRAME);
		add_option(&k, OPT_NAME, b->port[i].name, strlen(b->port[i].name));
		add_option(&k, OPT_TSRESOL, &ns, 1);
		add(&k, 0);
		end(b, &k);
	}
	return b->capture ? 0 : EXIT_FAILED;
}

/**
 * bridge_wall_ns() - nanoseconds since 1970
 */
uint64_t bridge_wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/**
 * bridge_capture() - a frame comes in or leaves
 * @b: bridge; without a capture, nothing is done
 * @f: frame
 * @port: where
 * @out: it leaves
 * @comment: what to say of it; NULL: nothing
 */
void bridge_capture(struct bridge *b, const struct bridge_frame *f, unsigned int port, bool out,
		    const char *comment)
{
	static struct block k;
	const uint32_t flags = out ? 2 : 1;
	const uint64_t ns = out ? bridge_wall_ns() : f->ns;

	if (!b->capture)
		return;
	begin(&k, PACKET);
	add(&k, port);
	add(&k, (uint32_t)(ns >> 32));
	add(&k, (uint32_t)ns);
	add(&k, f->len);
	add(&k, f->len);
	add_bytes(&k, f->data, f->len);
	if (comment)
		add_option(&k, OPT_COMMENT, comment, strlen(comment));
	add_option(&k, OPT_FLAGS, &flags, 4);
	add(&k, 0);
	end(b, &k);
}

/**
 * bridge_event() - a rule has hit a frame
 * @b: bridge
 * @r: rule
 * @f: frame
 * @p: what of it the rule is about
 */
void bridge_event(struct bridge *b, const struct bridge_rule *r, const struct bridge_frame *f,
		  const struct pkt *p)
{
	/* the clock may have been set */
	const uint64_t ns = flow_since(f->ns, p->first_ns);
	/* of a slow link, only drops and marks are events */
	const char *what = bridge_actions[r->action != BRIDGE_RATE ? r->action :
					  f->to ? BRIDGE_MARK : BRIDGE_DROP];
	struct json_object *o;
	char line[256];

	if (b->quiet)
		return;
	pkt_line(p, line, sizeof(line));
	if (!b->json) {
		printf("%5" PRIu64 ".%09" PRIu64 " frame %" PRIu64 ": %s: %s: %s\n",
		       ns / 1000000000, ns % 1000000000, f->number, r->name, what, line);
		return;
	}
	o = rtgt_json_document("rtgt-bridge-1");
	rtgt_json_str(o, "type", "event");
	rtgt_json_int(o, "ns", (int64_t)ns);
	rtgt_json_int(o, "frame", (int64_t)f->number);
	rtgt_json_str(o, "port", b->port[f->from].name);
	rtgt_json_str(o, "rule", r->name);
	rtgt_json_str(o, "action", what);
	rtgt_json_str(o, "packet", line);
	rtgt_json_print(o, false, stdout);
}

/**
 * bridge_began() - all ports are open
 * @b: bridge
 */
void bridge_began(const struct bridge *b)
{
	struct json_object *o;

	if (b->json) {
		o = rtgt_json_document("rtgt-bridge-1");
		rtgt_json_str(o, "type", "begin");
		rtgt_json_int(o, "seed", (int64_t)b->seed);
		rtgt_json_int(o, "rules", b->rules);
		rtgt_json_print(o, false, stdout);
	} else {
		printf("%u ports, %u rules, seed %" PRIu64 "\n", b->ports, b->rules, b->seed);
	}
	fflush(stdout);
}

static void sums_json(const struct bridge *b)
{
	struct json_object *o = rtgt_json_document("rtgt-bridge-1"), *e;
	struct json_object *list = json_object_new_array();

	rtgt_json_str(o, "type", "summary");
	rtgt_json_int(o, "seed", (int64_t)b->seed);
	rtgt_json_int(o, "frames", (int64_t)b->frames);
	rtgt_json_int(o, "dropped", (int64_t)b->dropped);
	for (unsigned int i = 0; i < b->rules; i++) {
		e = json_object_new_object();
		rtgt_json_str(e, "rule", b->rule[i].name);
		rtgt_json_str(e, "action", bridge_actions[b->rule[i].action]);
		rtgt_json_int(e, "matched", (int64_t)b->rule[i].seen);
		rtgt_json_int(e, "acted", (int64_t)b->rule[i].acted);
		rtgt_json_int(e, "not_possible", (int64_t)b->rule[i].failed);
		json_object_array_add(list, e);
	}
	json_object_object_add(o, "rules", list);
	list = json_object_new_array();
	for (unsigned int i = 0; i < b->ports; i++) {
		e = json_object_new_object();
		rtgt_json_str(e, "port", b->port[i].name);
		rtgt_json_int(e, "frames_in", (int64_t)b->port[i].frames_in);
		rtgt_json_int(e, "bytes_in", (int64_t)b->port[i].bytes_in);
		rtgt_json_int(e, "frames_out", (int64_t)b->port[i].frames_out);
		rtgt_json_int(e, "bytes_out", (int64_t)b->port[i].bytes_out);
		rtgt_json_int(e, "lost", (int64_t)b->port[i].lost);
		json_object_array_add(list, e);
	}
	json_object_object_add(o, "ports", list);
	rtgt_json_print(o, false, stdout);
}

/**
 * bridge_ended() - tell the sums, and end the capture
 * @b: bridge
 *
 * Return: exit status.
 */
int bridge_ended(struct bridge *b)
{
	int ret = b->capture_failed ? EXIT_FAILED : EXIT_OK;

	for (unsigned int i = 0; i < b->ports; i++)
		bridge_port_count_lost(&b->port[i]);
	if (b->capture && fclose(b->capture))
		ret = failed("the capture: %s", strerror(errno));
	b->capture = NULL;
	if (b->json) {
		sums_json(b);
		return ret;
	}
	for (unsigned int i = 0; i < b->rules; i++) {
		const struct bridge_rule *r = &b->rule[i];

		printf("%s: %s: %" PRIu64 " of %" PRIu64 " frames", r->name,
		       bridge_actions[r->action], r->acted, r->seen);
		if (r->failed)
			printf("; not possible with %" PRIu64, r->failed);
		putchar('\n');
	}
	for (unsigned int i = 0; i < b->ports; i++) {
		const struct bridge_port *p = &b->port[i];

		printf("%s: %" PRIu64 " frames in, %" PRIu64 " out", p->name, p->frames_in,
		       p->frames_out);
		if (p->lost)
			printf(", %" PRIu64 " lost: nobody was there, or took them", p->lost);
		putchar('\n');
	}
	printf("%" PRIu64 " frames, %" PRIu64 " dropped by rules\n", b->frames, b->dropped);
	return ret;
}
