// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt soak: which operation is next, to which bytes, with which data.
 *
 * The seed and the connection's number decide, and not what is done already: the same seed gives
 * the same operations in the same order, as long as no connection fails.
 */
#include "soak.h"

const struct soak_op soak_ops[SOAK_OPS] = {
	{ "write", RTGT_WORK_WRITE, RTGT_REGION_WRITE, .writes = true },
	{ "read", RTGT_WORK_READ, RTGT_REGION_READ },
	{ "write-imm", RTGT_WORK_WRITE_IMM, RTGT_REGION_WRITE, .writes = true },
	{ "send", RTGT_WORK_ECHO, 0 },
	{ "checksum", RTGT_WORK_CHECKSUM, RTGT_REGION_READ },
	{ "pull", RTGT_WORK_PULL, RTGT_REGION_WRITE, .writes = true },
	{ "push", RTGT_WORK_PUSH, RTGT_REGION_READ },
	{ "cas", RTGT_WORK_CAS, RTGT_REGION_ATOMIC, .writes = true },
	{ "faa", RTGT_WORK_FAA, RTGT_REGION_ATOMIC, .writes = true },
	{ "atomic-write", RTGT_WORK_ATOMIC_WRITE, RTGT_REGION_WRITE, .writes = true,
	  .extra = true },
	{ "flush", RTGT_WORK_FLUSH, RTGT_REGION_FLUSH, .extra = true },
};

/* The next number of the connection: splitmix64 */
uint64_t soak_random(struct soak_client *c)
{
	uint64_t x = c->random += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static bool eight(const struct soak_op *op)
{
	return op->type == RTGT_WORK_CAS || op->type == RTGT_WORK_FAA ||
	       op->type == RTGT_WORK_ATOMIC_WRITE;
}

/* Small sizes are as likely as large ones: first how many bits it has */
static uint64_t draw_len(struct soak_client *c, uint64_t max)
{
	const uint64_t more = max > c->s->least ? max - c->s->least : 0;
	unsigned int bits = 0;

	while (1ull << bits <= more)
		bits++;
	bits = (unsigned int)(soak_random(c) % (bits + 1));
	return max - more + soak_random(c) % (1ull << bits) % (more + 1);
}

/**
 * soak_draw() - choose an operation
 * @c: the connection; operations under way do not influence the choice
 * @cell: what is drawn, but for the data
 *
 * Return: the same as @cell->op.
 */
const struct soak_op *soak_draw(struct soak_client *c, struct soak_cell *cell)
{
	uint64_t max = c->s->size;

	do {
		cell->op = &soak_ops[soak_random(c) % SOAK_OPS];
	} while (!(c->ops & 1u << (cell->op - soak_ops)));
	if (cell->op->type == RTGT_WORK_ECHO && max > c->payload)
		max = c->payload;
	if (max > c->model.len)
		max = c->model.len;
	cell->len = draw_len(c, max);
	if (eight(cell->op))
		cell->len = 8;
	cell->at = soak_random(c) % (c->model.len - cell->len + 1);
	if (eight(cell->op))
		cell->at &= ~7ull;
	return cell->op;
}
