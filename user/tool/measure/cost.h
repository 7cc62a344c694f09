/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rtgt cost: what has to be paid before the first byte is moved.
 *
 *   cost.c       options, and what is printed
 *   cost_run.c   registrations, connections one after the other, and many held
 */
#ifndef RTGT_COST_H
#define RTGT_COST_H

#include <json-c/json.h>

#include <rtgt/client.h>
#include "tool/out/facts.h"
#include "tool/out/histogram.h"
#include "tool/cli/options.h"

#define COST_SCHEMA	"rtgt-cost-1"

/**
 * struct cost - a command line, and what comes of it
 * @tool: options in front of the command
 * @to: the target
 * @what: bits 1 << index in the table of cost.c
 * @size: bytes of registrations
 * @held: numbers of connections, growing
 * @count: how often each thing is done
 * @cancel: readable when all shall end
 * @rows: printed so far
 * @facts: of this machine and the way to the target
 * @results: for JSON
 */
struct cost {
	const struct tool *tool;
	struct where to;
	unsigned int what;
	struct sizes size;
	struct sizes held;
	uint64_t count;
	int cancel;
	unsigned int rows;
	struct rtgt_facts facts;
	struct json_object *results;
};

/**
 * struct cost_row - a line of the table
 * @what: what was done
 * @unit: what @number counts
 * @number: how large, or how many
 * @ns: how long it took, each time
 * @kib: memory this machine had less for each connection; negative when not known
 */
struct cost_row {
	const char *what;
	const char *unit;
	uint64_t number;
	const struct rtgt_hist *ns;
	double kib;
};

void cost_out(struct cost *c, const struct cost_row *row);
int cost_registrations(struct cost *c, struct rtgt_err *err);
int cost_connects(struct cost *c, struct rtgt_err *err);
int cost_held(struct cost *c, struct rtgt_err *err);

#endif /* RTGT_COST_H */
