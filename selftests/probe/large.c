// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe extents, probe bulk: a region that may be larger than one capability
 * reaches, with the client library, which learns the rest.
 *
 *	extents		says what the region is made of
 *	  revoke=1	lets the target make new rkeys, and says those as well
 *	  wait=1	keeps the connection until stdin ends
 *
 *	bulk		WRITEs all of it, asks for the target's own checksum, READs all
 *			back and compares; says how long each took
 *	  len=N depth=N	in work requests of so many bytes, so many under way
 *	  offset=N bytes=N	a part of it
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rtgt/client.h>
#include "probe.h"

#define MAX_DEPTH	64

static int open_client(struct rtgt_client *c, const struct option *o, struct rtgt_err *err)
{
	const struct rtgt_client_param param = {
		.cm = {
			.host = o->host, .service = o->port, .source = o->source,
			.timeout_ms = (int)o->timeout * 1000,
		},
		.depth = (unsigned int)o->depth,
	};
	int ret = rtgt_client_open(c, &param, err);

	if (ret || o->region < c->peer.nr)
		return ret;
	rtgt_client_close(c);
	return rtgt_fail(err, ENOENT, "no region %lld", o->region);
}

/* addr0= rkey0= len0= and so on, as print_rep() has it for regions */
static void print_layout(const struct rtgt_client *c, const struct option *o, const char *prefix)
{
	const struct rtgt_layout *layout = &c->layout[o->region];
	const struct rtgt_region_info *mem = layout->extent ? layout->extent :
							      &c->peer.region[o->region];

	printf("%sextents=%u %ssize=%llu\n", prefix, layout->nr, prefix,
	       (unsigned long long)layout->size);
	for (uint32_t i = 0; i < layout->nr; i++)
		printf("%saddr%u=0x%llx %srkey%u=0x%x %slen%u=%llu\n", prefix, i,
		       (unsigned long long)mem[i].addr, prefix, i, mem[i].rkey, prefix, i,
		       (unsigned long long)mem[i].len);
	fflush(stdout);
}

static int cmd_extents(const struct option *o)
{
	struct rtgt_err err = {};
	struct rtgt_client c;
	int ret = open_client(&c, o, &err);

	if (ret)
		return complain("extents", &err);
	print_layout(&c, o, "");
	if (o->revoke)
		ret = rtgt_client_revoke(&c, (uint32_t)o->region, &err);
	if (ret)
		complain("extents", &err);
	else if (o->revoke)
		print_layout(&c, o, "new_");
	while (o->wait && getchar() != EOF)
		;
	rtgt_client_close(&c);
	return ret ? 1 : 0;
}

struct bulk {
	struct rtgt_client c;
	const struct option *o;
	struct rtgt_mr mr;
	uint64_t end;
	uint32_t crc;
};

static uint64_t seed_at(const struct bulk *b, uint64_t at)
{
	return (uint64_t)b->o->seed + at;
}

/* Fill, or compare, what lies at @at in the region and at @local in the buffer */
static int handle(struct bulk *b, enum ibv_wr_opcode opcode, uint64_t at, size_t local,
		  uint32_t len, struct rtgt_err *err)
{
	uint8_t *data = b->mr.buf + local;
	struct rtgt_diff diff;

	if (opcode == IBV_WR_RDMA_WRITE) {
		rtgt_pattern_fill(data, len, seed_at(b, at));
		b->crc = rtgt_crc32(b->crc, data, len);
		return 0;
	}
	if (!rtgt_pattern_verify(data, len, seed_at(b, at), &diff))
		return 0;
	return rtgt_fail(err, EILSEQ, "read back: byte %llu is 0x%02x, expected 0x%02x",
			 (unsigned long long)at + diff.offset, diff.got, diff.expected);
}

/* All of the range, depth work requests at a time */
static int run(struct bulk *b, enum ibv_wr_opcode opcode, struct rtgt_err *err)
{
	struct rtgt_rdma op[MAX_DEPTH];
	uint64_t at = (uint64_t)b->o->offset;
	struct rtgt_took took;
	int ret = 0;

	while (at < b->end && !ret) {
		unsigned int n = 0;

		for (; n < b->o->depth && at < b->end && !ret; n++) {
			uint64_t left = b->end - at, len = (uint64_t)b->o->len;

			op[n] = (struct rtgt_rdma) {
				.opcode = opcode, .region = (uint32_t)b->o->region, .remote = at,
				.mr = &b->mr, .local = n * len,
				.len = (uint32_t)(left < len ? left : len),
			};
			if (opcode == IBV_WR_RDMA_WRITE)
				ret = handle(b, opcode, at, op[n].local, op[n].len, err);
			at += op[n].len;
		}
		if (!ret)
			ret = rtgt_client_chain(&b->c, op, n, &took, err);
		for (unsigned int i = 0; opcode == IBV_WR_RDMA_READ && i < n && !ret; i++)
			ret = handle(b, opcode, op[i].remote, op[i].local, op[i].len, err);
	}
	return ret;
}

static unsigned long long ms_since(uint64_t *from)
{
	uint64_t now = rtgt_now_ns(), was = *from;

	*from = now;
	return (now - was) / 1000000;
}

static int run_bulk(struct bulk *b, struct rtgt_err *err)
{
	uint64_t offset = (uint64_t)b->o->offset, from = rtgt_now_ns();
	uint32_t crc;
	int ret;

	ret = run(b, IBV_WR_RDMA_WRITE, err);
	if (ret)
		return ret;
	printf("bytes=%llu crc=%u write_ms=%llu\n", (unsigned long long)(b->end - offset), b->crc,
	       ms_since(&from));
	ret = rtgt_client_checksum(&b->c, (uint32_t)b->o->region, offset, b->end - offset, &crc,
				   err);
	if (!ret && crc != b->crc)
		ret = rtgt_fail(err, EILSEQ, "the target's checksum is %u, expected %u", crc,
				b->crc);
	if (ret)
		return ret;
	printf("same_there=1 sum_ms=%llu\n", ms_since(&from));
	ret = run(b, IBV_WR_RDMA_READ, err);
	if (!ret)
		printf("same_here=1 read_ms=%llu\n", ms_since(&from));
	return ret;
}

static int cmd_bulk(const struct option *o)
{
	struct bulk b = { .o = o };
	struct rtgt_err err = {};
	int ret;

	if (o->depth < 1 || o->depth > MAX_DEPTH || o->len < 1) {
		rtgt_fail(&err, EINVAL, "depth is 1 to %d, len is not 0", MAX_DEPTH);
		return complain("bulk", &err);
	}
	ret = open_client(&b.c, o, &err);
	if (ret)
		return complain("bulk", &err);
	b.end = o->bytes ? (uint64_t)(o->offset + o->bytes) : b.c.layout[o->region].size;
	ret = rtgt_mr_create(&b.mr, b.c.qp.pd, "buffer", (size_t)(o->len * o->depth),
			     IBV_ACCESS_LOCAL_WRITE, NULL, &err);
	if (!ret)
		ret = run_bulk(&b, &err);
	if (ret)
		complain("bulk", &err);
	rtgt_mr_destroy(&b.mr);
	rtgt_client_close(&b.c);
	return ret ? 1 : 0;
}

static const struct arg extents_args[] = {
	NUMBER(revoke, "1: have the target rotate the rkeys, and print those as well"),
	NUMBER(wait, "1: keep the connection until stdin ends"),
	{ }
};

const struct command extents_command = {
	.name = "extents",
	.help = "what a region is made of",
	.run = cmd_extents,
	.args = { extents_args, wr_args, link_args },
};

static const struct arg bulk_args[] = {
	NUMBER(bytes, "so many bytes of it, all if 0; len is the size of a work request"),
	{ }
};

const struct command bulk_command = {
	.name = "bulk",
	.help = "WRITE a region, ask for the target's checksum, READ it back and compare",
	.run = cmd_bulk,
	.args = { bulk_args, wr_args, link_args },
};
