// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe access: one operation anywhere, with any rkey.
 *
 * Says how it completed, what the target's device answered on the wire, and what
 * the target answered.  What would be refused before it gets there can be had too.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

/* What an operation does with the local buffer */
enum use {
	OUT,		/* the bytes go out */
	IN,		/* they come in */
	MESSAGE,	/* a message of make_msg() goes out and is answered */
	NO_BYTES,
};

static const struct op {
	const char *name;
	enum ibv_wr_opcode opcode;
	enum use use;
} ops[] = {
	{ "write", IBV_WR_RDMA_WRITE, OUT },
	{ "imm", IBV_WR_RDMA_WRITE_WITH_IMM, OUT },
	{ "read", IBV_WR_RDMA_READ, IN },
	{ "cas", IBV_WR_ATOMIC_CMP_AND_SWP, IN },
	{ "faa", IBV_WR_ATOMIC_FETCH_AND_ADD, IN },
	{ "atomic-write", RTGT_WR_ATOMIC_WRITE, OUT },
	{ "flush", RTGT_WR_FLUSH, NO_BYTES },
	{ "send", IBV_WR_SEND, MESSAGE },
	{ "send-imm", IBV_WR_SEND_WITH_IMM, MESSAGE },
	{ "send-inv", IBV_WR_SEND_WITH_INV, MESSAGE },
};

static const struct op *find_op(const char *name)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (!strcmp(ops[i].name, name))
			return &ops[i];
	fprintf(stderr, "probe: no operation %s\n", name);
	return NULL;
}

static int load(struct link *l, const struct option *o)
{
	FILE *f;
	size_t n;

	if (!o->file) {
		rtgt_pattern_fill(l->buf.buf, (size_t)o->len, (uint64_t)o->seed);
		return 0;
	}
	f = fopen(o->file, "r");
	if (!f)
		return perror(o->file), 1;
	n = fread(l->buf.buf, 1, (size_t)o->len, f);
	fclose(f);
	if (n == (size_t)o->len)
		return 0;
	fprintf(stderr, "probe: %s holds %zu bytes, not %lld\n", o->file, n, o->len);
	return 1;
}

static int save(const struct link *l, const struct option *o)
{
	FILE *f = o->file ? fopen(o->file, "w") : NULL;

	if (!o->file)
		return 0;
	if (!f || fwrite(l->buf.buf, 1, (size_t)o->len, f) != (size_t)o->len || fclose(f))
		return perror(o->file), 1;
	return 0;
}

/* What must have happened before the operation */
static int prepare(struct link *l, const struct option *o, struct rtgt_err *err)
{
	const struct rtgt_withhold withhold = { .ms = htobe32((uint32_t)o->ms) };
	struct rtgt_range range;
	struct rtgt_reply reply;
	/* a queue pair of iWARP cannot be taken down and up again, and has no RNR */
	bool retries = o->rnr_retry >= 0 && !over_iwarp(l);
	int ret = 0;

	rtgt_encode_range(&range, (uint32_t)o->region, 0, 0);
	if (o->revoke)
		ret = ask(l, RTGT_MSG_REVOKE, &range, sizeof(range), &reply, err);
	for (long long i = 0; i < o->withhold && !ret; i++)
		ret = ask(l, RTGT_MSG_WITHHOLD, &withhold, sizeof(withhold), &reply, err);
	if (!ret && (!o->reads || retries))
		ret = remake(l, o, err);
	return ret;
}

/* The work request as asked for; the local bytes are ready when it is */
static int make_wr(struct link *l, const struct rtgt_rep_info *peer, const struct option *o,
		   const struct op *op, struct rtgt_wr *wr)
{
	const struct rtgt_region_info *mem = &peer->region[o->region];
	const struct rtgt_region_info *key = o->key_of < 0 ? mem : &peer->region[o->key_of];

	*wr = (struct rtgt_wr) {
		.id = SEND_ID, .opcode = op->opcode, .mr = &l->buf, .imm = (uint32_t)o->imm,
		.len = (uint32_t)o->len,
		.compare_add = (uint64_t)o->compare, .swap = (uint64_t)o->swap,
		.remote_addr = (o->addr ? (uint64_t)o->addr : mem->addr) + (uint64_t)o->offset,
		.rkey = (o->rkey ? (uint32_t)o->rkey : key->rkey) ^ (uint32_t)o->rkey_xor,
	};
	if (op->use == MESSAGE)
		wr->len = (uint32_t)make_msg(l, o);
	return op->use == OUT ? load(l, o) : 0;
}

/*
 * ibv_post_send() takes no misaligned atomic, but that is for the target to say; the
 * newer calls let it out, where the queue pair has them.
 */
static int post(struct link *l, const struct rtgt_wr *wr, struct rtgt_err *err)
{
	struct ibv_qp_ex *ex = l->qp.ex;
	bool cas = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	if (!ex || wr->remote_addr % 8 == 0 ||
	    !(cas || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD))
		return rtgt_qp_post(&l->qp, wr, err);
	ibv_wr_start(ex);
	ex->wr_id = wr->id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	if (cas)
		ibv_wr_atomic_cmp_swp(ex, wr->rkey, wr->remote_addr, wr->compare_add, wr->swap);
	else
		ibv_wr_atomic_fetch_add(ex, wr->rkey, wr->remote_addr, wr->compare_add);
	ibv_wr_set_sge(ex, wr->mr->mr->lkey, (uintptr_t)wr->mr->buf, wr->len);
	return -ibv_wr_complete(ex);
}

/* What a success brought; @dead when it was none in the end */
static int print_success(struct link *l, const struct option *o, const struct op *op,
			 bool *dead, struct rtgt_err *err)
{
	bool imm = op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM &&
		   rtgt_imm_op((uint32_t)o->imm) == RTGT_IMM_ACK;
	struct rtgt_reply reply;
	uint64_t old;

	memcpy(&old, l->buf.buf, sizeof(old));
	if (op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		printf("old=%llu\n", (unsigned long long)old);
	else if (op->use == IN && save(l, o))
		return rtgt_fail(err, 5, "the bytes cannot be saved");
	if (op->use != MESSAGE && !imm)
		return 0;
	/* a target that took offence closes the connection instead, and so does our own device */
	l->watched = true;
	if (take_reply(l, &reply, err)) {
		*dead = err->code == ECONNRESET || l->answer.status != IBV_WC_SUCCESS;
		return *dead ? puts("reply=none") < 0 : -1;
	}
	if (imm)
		printf("ack_op=%u ack_tag=%u ack_imm=%u ack_bytes=%llu\n", reply.op, reply.tag,
		       reply.arg, (unsigned long long)reply.covered);
	else
		print_reply(&reply, o);
	return 0;
}

static int cmd_access(const struct option *o)
{
	const struct op *op = find_op(o->op);
	struct neighbour next = {};
	struct rtgt_err err = { .text = "no such region, or its file cannot be read" };
	struct ibv_wc wc;
	struct rtgt_wr wr;
	struct link l;
	struct tap tap;
	bool dead;
	int ret = -1;

	if (!op)
		return 1;
	if (open_link(&l, o, &err) || neighbour_open(&next, o, &err) || prepare(&l, o, &err) ||
	    o->region >= l.peer.nr || o->key_of >= (long long)l.peer.nr ||
	    make_wr(&l, o->other ? &next.link.peer : &l.peer, o, op, &wr) || tap_open(&tap, &l))
		goto out;
	ret = post(&l, &wr, &err);
	if (!ret)
		ret = wait_for(&l, SEND_ID, &wc, &err);
	tap_acknowledges(&tap, l.qp.qp->qp_num);
	if (ret == -EINVAL || ret == -EOPNOTSUPP)
		wc.status = UNPOSTED;
	else if (ret)
		goto out;
	ret = 0;
	printf("wc=%s crc=%u ", wc_name(wc.status), rtgt_crc32(0, l.buf.buf, (size_t)o->len));
	/* why it was not posted, perhaps: the device has what this rdma-core has not */
	if (wc.status == UNPOSTED && l.qp.unbuilt)
		printf("unbuilt=1 ");
	tap_print(&tap);
	dead = wc.status != IBV_WC_SUCCESS;
	if (!dead)
		ret = print_success(&l, o, op, &dead, &err);
	if (op->opcode == IBV_WR_RDMA_WRITE || op->opcode == IBV_WR_RDMA_READ)
		dead = !survived(&l, o, wc.status);
	tap_close(&tap, dead);
	neighbour_print(&next);
	leave_refused(&l, wc.status);
out:
	if (ret)
		complain("access", &err);
	close_link(&l);
	neighbour_close(&next);
	return ret ? 1 : 0;
}

/* A range of a region, and the key for it */
const struct arg wr_args[] = {
	NUMBER(region, "number of the region"),
	NUMBER(offset, "from its address"),
	NUMBER(len, "bytes"),
	NUMBER(addr, "address instead of the region's"),
	NUMBER(rkey, "rkey instead of the region's"),
	NUMBER(rkey_xor, "bits of the rkey to change"),
	NUMBER(seed, "of the bytes"),
	{ }
};

static const struct arg access_args[] = {
	TEXT(op, "write, read, imm, send, send-imm, send-inv, cas, faa, atomic-write or flush"),
	NUMBER(imm, "immediate"),
	NUMBER(compare, "value that CAS compares with and FAA adds"),
	NUMBER(swap, "value that CAS swaps in"),
	TEXT(file, "file with the bytes to WRITE, or for those that were READ"),
	NUMBER(key_of, "use the rkey of that region"),
	NUMBER(revoke, "1: the target rotates the rkey first; use the old one"),
	NUMBER(withhold, "the target's next N receives are not posted"),
	NUMBER(other, "1: use the address and the rkey that the neighbour was given"),
	NUMBER(neighbour, "1: another connection watches; print whether it is alive"),
	{ }
};

const struct command access_command = {
	.name = "access",
	.help = "one operation on the target's memory, with any address and rkey",
	.run = cmd_access,
	.args = { access_args, wr_args, message_args, link_args },
};
