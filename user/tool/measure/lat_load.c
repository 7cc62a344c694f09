// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt lat --load: connections that move bytes while operations are timed.
 *
 * Each has a thread and keeps DEPTH messages under way, WRITEs or, where the region does not grant
 * those, READs, in a part of the region that what is measured does not use.  They begin before
 * the warm-up, and end behind the last operation.  Nothing of theirs is compared.  One that fails
 * fails the command.
 */
#include <errno.h>

#include "lat.h"

#define MESSAGE		(64u << 10)
#define DEPTH		16

static int submit(struct lat_load *b, struct rtgt_err *err)
{
	const struct rtgt_client *client = rtgt_conn_client(b->conn);
	const bool write = client->peer.region[b->l->m.region].access & RTGT_ACCESS_WRITE;
	const struct rtgt_work work = {
		.size = sizeof(work), .type = write ? RTGT_WORK_WRITE : RTGT_WORK_READ,
		.region = b->l->m.region, .remote = b->at, .len = b->size, .buffer = b->buffer,
	};

	return rtgt_submit(b->conn, &work, err);
}

static void *move(void *arg)
{
	struct lat_load *b = arg;
	struct rtgt_done done[DEPTH];
	int n;

	while (!b->ret && (!atomic_load(&b->stop) || rtgt_outstanding(b->conn))) {
		while (!b->ret && !atomic_load(&b->stop) && rtgt_outstanding(b->conn) < DEPTH)
			b->ret = submit(b, &b->err);
		if (b->ret || !rtgt_outstanding(b->conn))
			continue;
		n = measure_wait(&b->l->m, b->conn, done, DEPTH, false, &b->err);
		if (n < 0)
			b->ret = n;
		else
			b->bytes += (uint64_t)n * b->size;
	}
	if (b->ret)
		measure_stop(&b->l->m);
	return NULL;
}

static int start(struct lat *l, unsigned int i, uint64_t at, uint32_t size, struct rtgt_err *err)
{
	struct lat_load *b = &l->beside[i];
	int ret = measure_connect(&l->m, &b->conn, DEPTH, 1, err);

	b->l = l;
	b->at = at;
	b->size = size;
	b->bytes = 0;
	b->ret = 0;
	atomic_store(&b->stop, false);
	if (!ret)
		ret = rtgt_buffer_create(&b->buffer, l->m.domain, size, 0, err);
	if (ret)
		return ret;
	ret = pthread_create(&b->thread, NULL, move, b);
	if (ret)
		return rtgt_fail(err, ret, "no thread: %s", strerror(ret));
	b->runs = true;
	return 0;
}

/**
 * lat_load_begin() - move bytes from now on
 * @l: its cell is set
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno; lat_load_end() in either case.
 */
int lat_load_begin(struct lat *l, struct rtgt_err *err)
{
	const struct rtgt_region_info *mem;
	uint64_t at = ((uint64_t)l->m.at.size + 63) & ~63ull, share;
	int ret = 0;

	l->load_bytes = 0;
	if (!l->load)
		return 0;
	mem = &l->m.client->peer.region[l->m.region];
	if (!(mem->access & (RTGT_ACCESS_WRITE | RTGT_ACCESS_READ)))
		return rtgt_fail(err, EACCES, "--load: region %u grants neither WRITE nor READ",
				 l->m.region);
	if (!mem->len)
		return rtgt_fail(err, EINVAL, "--load: the server does not tell how much memory it has");
	if (mem->len < at + 64ull * l->load)
		return rtgt_fail(err, ERANGE,
				 "--load %u: region %u has %llu bytes%s, and what is measured uses the first %u",
				 l->load, l->m.region, (unsigned long long)mem->len,
				 measure_extent_str(&l->m), l->m.at.size);
	share = ((mem->len - at) / l->load) & ~63ull;
	if (share > MESSAGE)
		share = MESSAGE;
	for (unsigned int i = 0; i < l->load && !ret; i++)
		ret = start(l, i, at + i * share, (uint32_t)share, err);
	return ret;
}

/**
 * lat_load_end() - move no more
 * @l: lat_load_begin() was called
 * @ret: how what was measured ended
 * @err: says what is wrong, if a connection that moved bytes has failed first
 *
 * Return: @ret, or that connection's error.
 */
int lat_load_end(struct lat *l, int ret, struct rtgt_err *err)
{
	struct rtgt_err no;

	for (unsigned int i = 0; i < l->load; i++)
		atomic_store(&l->beside[i].stop, true);
	for (unsigned int i = 0; i < l->load; i++) {
		struct lat_load *b = &l->beside[i];

		if (b->runs)
			pthread_join(b->thread, NULL);
		if (b->runs && b->ret && b->ret != -ECANCELED && (!ret || ret == -ECANCELED)) {
			ret = b->ret;
			*err = b->err;
		}
		b->runs = false;
		l->load_bytes += b->bytes;
		rtgt_close(b->conn);
		b->conn = NULL;
		rtgt_buffer_destroy(b->buffer, &no);
		b->buffer = NULL;
	}
	return ret;
}
