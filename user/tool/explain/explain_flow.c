// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt explain, where it takes more than one packet: --json, --verbose, --ladder and
 * --check.  What follows connections is libwire/flow.c; here is who prints.
 */
#include <inttypes.h>
#include <stdio.h>
#include <json-c/json.h>

#include "libwire/rules.h"
#include "explain.h"

static void put(const struct explain *x, struct json_object *o)
{
	x->out(x->arg, o);
	json_object_put(o);
}

static void message(void *arg, const struct flow_conn *c, const struct flow_msg *m)
{
	const struct explain *x = arg;

	if (x->json && !x->check && explain_selects(&x->select, c, m))
		put(x, explain_json_message(x, c, m));
}

static void connection(void *arg, const struct flow_conn *c)
{
	const struct explain *x = arg;

	if (x->json && !x->check && explain_selects(&x->select, c, NULL))
		put(x, explain_json_connection(x, c));
}

static void broken(void *arg, const char *rule, uint64_t packet, const char *words)
{
	const struct explain *x = arg;

	/* of which connection it is nobody says */
	if (x->select.any)
		return;
	if (x->json)
		put(x, explain_json_broken("broken", rule, packet, words));
	else
		printf("packet %" PRIu64 ": %s: %s\n", packet, rule, words);
}

static void doubtful(void *arg, const char *rule, uint64_t packet, const char *words)
{
	const struct explain *x = arg;

	if (x->select.any)
		return;
	if (x->json)
		put(x, explain_json_broken("doubtful", rule, packet, words));
	else if (x->check)
		printf("packet %" PRIu64 ": %s, unless the capture lacks a packet: %s\n", packet,
		       rule, words);
}

static const struct flow_ops ops = { message, connection, broken, doubtful };

/**
 * explain_flow_open() - begin, if anything of this is asked for
 * @x: what is asked for; @x->flow is set
 * @ignored: rules that are left out
 * @nr_ignored: how many
 *
 * Return: an exit status.
 */
int explain_flow_open(struct explain *x, char *const *ignored, unsigned int nr_ignored)
{
	if (!x->json && !x->check && !x->ladder && !x->verbose && !x->select.any)
		return EXIT_OK;
	x->flow = flow_new(&ops, x, 0, 0);
	if (!x->flow)
		return failed("no memory");
	if (x->complete)
		flow_complete(x->flow);
	for (unsigned int i = 0; i < x->nr_profiles; i++)
		if (!flow_profile(x->flow, x->profile[i]))
			return misused("explain: no profile \"%s\": there are rxe and memory",
				       x->profile[i]);
	for (unsigned int i = 0; i < nr_ignored; i++)
		if (!flow_ignore(x->flow, ignored[i]))
			return misused("explain: no rule \"%s\" (rtgt explain --list-rules)",
				       ignored[i]);
	return EXIT_OK;
}

static void print_words(const struct pkt *p, const struct flow_seen *seen)
{
	const uint64_t ns = explain_since(p);
	char src[64], dst[64], line[512], words[1024];

	pkt_line(p, line, sizeof(line));
	printf("%" PRIu64 "  %s%" PRIu64 ".%06" PRIu64 " s  %s > %s  %s\n", p->number,
	       p->ns < p->first_ns ? "-" : "", ns / 1000000000,
	       ns % 1000000000 / 1000, pkt_src(p, src, sizeof(src)),
		       pkt_dst(p, dst, sizeof(dst)), line);
	explain_words(p, seen, words, sizeof(words));
	if (words[0])
		printf("    %s\n", words);
}

/* What became whole with a segment stands below it */
static void print_inner(const struct pkt *p, const struct flow_seen *seen)
{
	char line[512], words[1024];

	pkt_line(p, line, sizeof(line));
	explain_words(p, seen, words, sizeof(words));
	printf("    %s\n", line);
	if (words[0])
		printf("        %s\n", words);
}

/* Print a packet, without the FPDUs that it completed.  With --json: return its object instead */
static struct json_object *tell(struct explain *x, const struct unit *u,
				const struct flow_seen *seen)
{
	if (x->check)
		return NULL;
	if (x->json)
		return explain_json(x, u, seen);
	if (!x->ladder)
		print_words(u->p, seen);
	else if (u->p->kind != PKT_TCP_SEGMENT)
		explain_ladder(x, u->p, seen);
	return NULL;
}

/* What became whole; @o: with the segment's object */
static void tell_inner(struct explain *x, struct json_object *o, const struct pkt *p,
		       const struct flow_seen *seen)
{
	if (o)
		explain_json_inner(x, o, p, seen);
	else if (x->ladder)
		explain_ladder(x, p, seen);
	else if (x->verbose)
		print_inner(p, seen);
}

/**
 * explain_flow_one() - a packet
 * @x: what is asked for
 * @u: packet
 */
void explain_flow_one(struct explain *x, const struct unit *u)
{
	const bool plain = !x->check && !x->json && !x->ladder && !x->verbose;
	struct json_object *o = NULL;
	struct flow_seen seen;
	bool wanted, told;

	x->first_ns = u->p->first_ns;
	flow_packet(x->flow, u->p, &seen);
	/* of which message a segment is, what became whole with it says */
	wanted = explain_selects(&x->select, seen.conn, seen.msg);
	told = wanted && !plain;
	if (told || (x->json && u->nr))
		o = tell(x, u, &seen);
	for (unsigned int i = 0; i < u->nr; i++) {
		flow_packet(x->flow, &u->inner[i], &seen);
		if (!explain_selects(&x->select, seen.conn, seen.msg))
			continue;
		if (!told && x->verbose)
			print_words(u->p, &(struct flow_seen){});
		told = true;
		wanted = true;
		if (!plain)
			tell_inner(x, o, &u->inner[i], &seen);
	}
	x->select.found |= wanted;
	if (o && wanted)
		put(x, o);
	else
		json_object_put(o);
	if (plain && wanted && x->nr_columns)
		explain_columns(x, u);
	else if (plain && wanted)
		explain_line(u);
}

static void print_limits(const struct explain *x, const struct flow_totals *t)
{
	const uint64_t conns = t->forgotten_connections + iwarp_forgotten(x->iwarp);

	if (conns || t->forgotten_messages)
		printf("too much at a time: %" PRIu64 " connections and %" PRIu64
		       " messages were let go before they had ended, and are not judged to the end\n",
		       conns, t->forgotten_messages);
	if (t->guessed)
		printf("%"
		       PRIu64 " connections began before the capture: what they advertised is not known\n",
		       t->guessed);
}

static void print_verdict(const struct explain *x, const struct flow_totals *t)
{
	const char *before = "; not: ";

	print_limits(x, t);
	printf("%" PRIu64 " of %" PRIu64 " packets judged", t->judged, x->packets);
	for (enum flow_unjudged why = 0; why < FLOW_UNJUDGED; why++) {
		if (!t->unjudged[why])
			continue;
		printf("%s%" PRIu64 " (%s)", before, t->unjudged[why], flow_unjudged_name(why));
		before = ", ";
	}
	printf("\n%" PRIu64 " packets, %" PRIu64 " connections, %" PRIu64 " messages; ", x->packets,
	       t->connections, t->messages);
	printf("%" PRIu64 " packets sent again, %" PRIu64 " duplicates, %" PRIu64 " gaps, %" PRIu64
	       " RNR, %" PRIu64 " NAK\n", t->retransmitted, t->duplicates, t->gaps, t->rnr,
	       t->naks);
	if (t->deviations)
		printf("%"
		       PRIu64 " times a device did what is known and let pass (rtgt explain --list-rules)\n",
		       t->deviations);
	if (t->doubtful)
		printf("%" PRIu64
		       " times either the capture lacks a packet or a rule is broken: --complete says that it lacks none\n",
		       t->doubtful);
	if (t->broken)
		printf("rules broken: %" PRIu64 "\n", t->broken);
	else
		puts(t->judged ? "no rule is broken" : "nothing was judged");
}

/**
 * explain_flow_close() - the capture is over
 * @x: what is asked for
 *
 * Return: an exit status.
 */
int explain_flow_close(struct explain *x)
{
	const struct flow_totals *t = flow_totals(x->flow);
	struct json_object *summary;

	flow_end(x->flow);
	if (x->json) {
		summary = explain_json_summary(x);
		explain_json_totals(summary, x->flow);
		put(x, summary);
	} else if (x->check) {
		print_verdict(x, t);
	} else {
		print_limits(x, t);
	}
	/* on none something failed: that is an answer */
	if (x->select.any && !x->select.failed && !x->select.found) {
		failed("explain: --conn, --qp and --message select no packet of this capture");
		return x->check ? EXIT_NOTHING : EXIT_FAILED;
	}
	if (!x->check)
		return EXIT_OK;
	return t->broken ? EXIT_FAILED : t->judged ? EXIT_OK : EXIT_NOTHING;
}

int explain_list_rules(void)
{
	static const char *const needs[] = {
		[NEEDS_PACKET] = "the packet", [NEEDS_BEFORE] = "what came before it",
		[NEEDS_ALL] = "all packets",
	};

	for (const struct rule *r = rules_list(); r->name; r++)
		printf("%s\t%s\t%s%s%s\t%s\n", r->name, r->says, r->why,
		       r->profile ? ". Only with --profile " : "", r->profile ? r->profile : "",
		       needs[r->needs]);
	for (const struct deviation *d = rules_deviations(); d->name; d++)
		printf("but %s\t%s\t%s\n", d->name, d->says, d->why);
	return fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}
