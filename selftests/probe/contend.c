// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe contend: threads=N clients and one word of the target's.
 *
 *	op=faa	each adds "compare" to it count=M times.  Every value the word had is
 *		told to exactly one of them.
 *	op=cas	the word is a lock and the next one a number, which each READs,
 *		increments and WRITEs count=M times while it holds the lock.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

struct contest {
	const struct option *o;
	bool lock;
	atomic_int next, failed;
	atomic_ulong tries;
	uint64_t *old;
	pthread_barrier_t start;
};

/* One operation on the word at @offset from the first; what it brought */
static int do_word(struct link *l, const struct option *o, enum ibv_wr_opcode opcode,
		   uint64_t offset, uint64_t compare_add, uint64_t swap, uint64_t *word)
{
	const struct rtgt_wr wr = {
		.id = SEND_ID, .opcode = opcode, .mr = &l->buf, .len = sizeof(*word),
		.compare_add = compare_add, .swap = swap,
		.remote_addr = l->peer.region[0].addr + (uint64_t)o->offset + offset,
		.rkey = l->peer.region[0].rkey,
	};
	struct rtgt_err err;
	struct ibv_wc wc;

	memcpy(l->buf.buf, word, sizeof(*word));
	if (rtgt_qp_post(&l->qp, &wr, &err) || wait_for(l, SEND_ID, &wc, &err))
		return complain("contend", &err);
	memcpy(word, l->buf.buf, sizeof(*word));
	if (wc.status != IBV_WC_SUCCESS)
		fprintf(stderr, "probe: contend: %s\n", wc_name(wc.status));
	return wc.status != IBV_WC_SUCCESS;
}

static int add(struct link *l, struct contest *c, uint64_t *old)
{
	*old = 0;
	return do_word(l, c->o, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, (uint64_t)c->o->compare, 0, old);
}

/* Attempts at the lock after which it is taken for lost */
#define TRIES	20000

/* @me is what the lock holds while it is ours */
static int count_locked(struct link *l, struct contest *c, uint64_t me)
{
	uint64_t word, number = 0;
	int tries = 0;

	do {
		atomic_fetch_add(&c->tries, 1);
		if (tries++ == TRIES) {
			fputs("probe: contend: the lock is never free\n", stderr);
			return -1;
		}
		if (do_word(l, c->o, IBV_WR_ATOMIC_CMP_AND_SWP, 0, 0, me, &word))
			return -1;
	} while (word);
	if (do_word(l, c->o, IBV_WR_RDMA_READ, sizeof(word), 0, 0, &number))
		return -1;
	number++;
	if (do_word(l, c->o, IBV_WR_RDMA_WRITE, sizeof(word), 0, 0, &number) ||
	    do_word(l, c->o, IBV_WR_ATOMIC_CMP_AND_SWP, 0, me, 0, &word))
		return -1;
	if (word != me)
		fprintf(stderr, "probe: contend: the lock holds %llu instead of %llu\n",
			(unsigned long long)word, (unsigned long long)me);
	return word != me;
}

static void *client(void *arg)
{
	struct contest *c = arg;
	int me = atomic_fetch_add(&c->next, 1), ret;
	uint64_t *old = c->old + (size_t)me * (size_t)c->o->count;
	struct rtgt_err err;
	struct link l;

	ret = open_link(&l, c->o, &err);
	if (ret)
		complain("contend", &err);
	/* nobody begins before all are connected */
	pthread_barrier_wait(&c->start);
	for (long long i = 0; i < c->o->count && !ret; i++)
		ret = c->lock ? count_locked(&l, c, (uint64_t)me + 1) : add(&l, c, old + i);
	if (ret)
		c->failed++;
	close_link(&l);
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The values told are those of a counter, each once */
static void print_olds(struct contest *c, size_t n)
{
	size_t steps = 0;

	qsort(c->old, n, sizeof(*c->old), by_value);
	for (size_t i = 1; i < n; i++)
		steps += c->old[i] - c->old[i - 1] == (uint64_t)c->o->compare;
	printf("first=%llu steps=%zu\n", (unsigned long long)c->old[0], steps);
}

static int cmd_contend(const struct option *o)
{
	struct contest c = { .o = o, .lock = !strcmp(o->op, "cas") };
	size_t all = (size_t)o->threads * (size_t)o->count;
	pthread_t thread[64];
	int n = 0;

	c.old = calloc(all, sizeof(*c.old));
	if (!c.old || o->threads > 64 ||
	    pthread_barrier_init(&c.start, NULL, (unsigned int)o->threads))
		return 2;
	while (n < o->threads && !pthread_create(&thread[n], NULL, client, &c))
		n++;
	if (n < o->threads)
		exit(1);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	printf("clients=%d failed=%d tries=%lu\n", n, c.failed, c.tries);
	if (!c.lock && !c.failed)
		print_olds(&c, all);
	free(c.old);
	return c.failed ? 1 : 0;
}

static const struct arg contend_args[] = {
	TEXT(op, "faa: each adds to it; cas: it is a lock"),
	NUMBER(threads, "clients"),
	NUMBER(count, "operations of each"),
	NUMBER(compare, "what faa adds"),
	{ }
};

const struct command contend_command = {
	.name = "contend",
	.help = "many clients and one word of the target's memory",
	.run = cmd_contend,
	.args = { contend_args, wr_args, link_args },
};
