// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * proto_fuzz: libFuzzer's way into kmod/proto/proto.c and user/librtgt/wire.c, the decoders
 * of what a peer, or a target, sends.
 *
 * The first byte chooses the decoder, the rest is what arrived, in an allocation
 * that ends with it.  Beyond what the sanitizers see, the decoders' promises are
 * checked here: what is accepted, encoded again, is what arrived; both sides
 * understand the same; no range that is accepted lies outside.
 *
 * "make fuzz" (scripts/fuzz) runs it from the seeds in fuzz-seeds.
 */
#include <errno.h>
#include <stdio.h>

#include "bytes.h"
#include "types.h"
#include <rtgt/proto.h>
#include <rtgt/wire.h>

#define HEAD	sizeof(struct rtgt_msg)

/* Says what was broken; the reproducer is kept by libFuzzer */
#define CHECK(cond)									\
	do {										\
		if (!(cond)) {								\
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);	\
			abort();							\
		}									\
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_req(const uint8_t *data, size_t size)
{
	struct rtgt_req_info hello, again;
	struct rtgt_req req;
	u32 arg = 0;
	int why = rtgt_decode_req(data, size, &hello, &arg);

	CHECK(hello.plain == (size < 4 || memcmp(data, "RTGT", 4)));
	CHECK(!hello.plain || (!why && !hello.features));
	/* a reject says what would have been taken */
	CHECK(!why || (why == RTGT_REJ_VERSION && arg == RTGT_VERSION) ||
	      (why == RTGT_REJ_SIZE && arg == sizeof(req)));
	if (why || hello.plain)
		return;
	CHECK(size >= sizeof(req) && data[6] * 256u + data[7] >= sizeof(req) &&
	      data[6] * 256u + data[7] <= size);
	rtgt_encode_req(&req);
	put(&req, 8, 4, hello.features);
	CHECK(!memcmp(data, &req, 6) && !memcmp(data + 8, (char *)&req + 8, 4));
	CHECK(!rtgt_decode_req(&req, sizeof(req), &again, &arg));
	CHECK(!again.plain && again.features == hello.features);
}

static void fuzz_rej(const uint8_t *data, size_t size)
{
	struct rtgt_refusal refusal;
	struct rtgt_rej rej;
	u32 reason = 0, arg = 0;
	char text[256];
	int ret = rtgt_decode_rej(data, size, &reason, &arg);

	rtgt_wire_rej(&refusal, data, size);
	CHECK(refusal.typed == !ret);
	CHECK(refusal.reason == reason && refusal.arg == arg);
	CHECK(rtgt_refusal_str(&refusal, text, sizeof(text)) == (int)strlen(text));
	CHECK(rtgt_rej_name(reason)[0]);
	if (ret)
		return;
	CHECK(rtgt_encode_rej(&rej, sizeof(rej), reason, arg) == sizeof(rej));
	CHECK(!memcmp(data, &rej, 4) && !memcmp(data + 8, &rej.reason, 2) &&
	      !memcmp(data + 12, &rej.arg, 4));
}

/* What an initiator would have written to ask for this */
static size_t write_request(uint8_t *buf, const struct rtgt_request *rq)
{
	void *body = buf + HEAD;
	size_t len = 0;

	rtgt_encode_msg((void *)buf, (enum rtgt_op)rq->op, rq->tag, rq->len);
	switch (rq->op) {
	case RTGT_MSG_CHECKSUM:
	case RTGT_MSG_REVOKE:
		rtgt_encode_range(body, rq->region, rq->offset, rq->count);
		len = sizeof(struct rtgt_range);
		break;
	case RTGT_MSG_PULL:
	case RTGT_MSG_PUSH:
		rtgt_encode_xfer(body, rq->region, rq->offset, rq->count, rq->addr, rq->rkey);
		len = sizeof(struct rtgt_xfer);
		break;
	case RTGT_MSG_EXTENTS:
		rtgt_encode_query(body, rq->region, (u32)rq->offset, (u32)rq->count);
		len = sizeof(struct rtgt_extents_query);
		break;
	case RTGT_MSG_WITHHOLD:
		CHECK(rq->ms <= RTGT_WITHHOLD_MAX_MS);
		put(body, 0, 4, rq->ms);
		len = sizeof(struct rtgt_withhold);
		break;
	}
	return HEAD + len;
}

/* The data is the caller's own copy: what is not looked at is made 0 in it */
static void fuzz_msg(uint8_t *data, size_t size)
{
	uint8_t again[HEAD + sizeof(struct rtgt_xfer)], head[HEAD];
	struct rtgt_reply reply;
	struct rtgt_request rq;
	struct rtgt_err err;
	u32 status = rtgt_decode_msg(data, size, &rq);
	size_t len;

	CHECK(strcmp(rtgt_status_name(status), "unknown"));
	CHECK(strcmp(rtgt_status_str((uint16_t)status), "unknown status"));
	CHECK(size >= HEAD || (status == RTGT_ST_LENGTH && !rq.tag));
	/* any request gets a reply its sender understands */
	rtgt_encode_reply(head, &rq, status ? status : RTGT_ST_FAILED, 0, 0);
	CHECK(!rtgt_wire_reply(&reply, head, sizeof(head), &err));
	CHECK(reply.tag == rq.tag && reply.op == (rq.op & 0x7f) && !reply.len && reply.status);
	if (status != RTGT_OK)
		return;
	CHECK(rq.op != RTGT_MSG_IMM && rq.op < RTGT_MSG_REPLY && rq.len == size - HEAD);
	put(data, 2, 2, 0);
	put(data, 12, 4, 0);
	if (rq.op == RTGT_MSG_CHECKSUM || rq.op == RTGT_MSG_REVOKE)
		put(data, 20, 4, 0);
	if (rq.op == RTGT_MSG_EXTENTS)
		put(data, 28, 4, 0);
	len = write_request(again, &rq);
	CHECK(!memcmp(data, again, len));
}

static void fuzz_range(const uint8_t *data, size_t size)
{
	u64 v[3];

	if (size < sizeof(v))
		return;
	memcpy(v, data, sizeof(v));
	CHECK(rtgt_range_ok(v[0], v[1], v[2]) == ((__uint128_t)v[0] + v[1] <= v[2]));
	/* folded, so that something is inside */
	CHECK(rtgt_range_ok(v[0] % 4096, v[1] % 4096, v[2] % 4096) ==
	      (v[0] % 4096 + v[1] % 4096 <= v[2] % 4096));
}

static void fuzz_rep(const uint8_t *data, size_t size)
{
	uint8_t rep[sizeof(struct rtgt_rep)];
	struct rtgt_rep_info w = {};
	struct rtgt_rep_info peer, again;
	struct rtgt_err err;
	char text[32];

	if (rtgt_wire_rep(&peer, data, size, &err)) {
		CHECK(err.code == EPROTO && err.text[0] && !peer.nr && !peer.rtgt);
		return;
	}
	CHECK(peer.nr <= RTGT_MAX_REGIONS && size >= 12);
	if (!peer.rtgt) {
		CHECK(peer.nr == 1 && (size >= 20 || !peer.region[0].len));
		return;
	}
	w.features = peer.features;
	w.recv_size = peer.recv_size;
	w.conn_id = peer.conn_id;
	w.recv_depth = (u16)peer.recv_depth;
	w.nr = (u16)peer.nr;
	for (u32 i = 0; i < peer.nr; i++) {
		w.region[i].addr = peer.region[i].addr;
		w.region[i].len = peer.region[i].len;
		w.region[i].rkey = peer.region[i].rkey;
		w.region[i].access = peer.region[i].access;
		CHECK(rtgt_access_str(peer.region[i].access, text, sizeof(text)) > 0);
	}
	CHECK(rtgt_encode_rep(rep, sizeof(rep), &w) == sizeof(rep));
	CHECK(!rtgt_wire_rep(&again, rep, sizeof(rep), &err));
	CHECK(again.rtgt && again.features == peer.features &&
	      again.recv_size == peer.recv_size && again.conn_id == peer.conn_id &&
	      again.recv_depth == peer.recv_depth && again.nr == peer.nr);
	CHECK(!memcmp(again.region, peer.region, sizeof(peer.region)));
	/* no bytes of the regions but those that arrived */
	for (u32 i = 1; i < peer.nr; i++)
		CHECK(!memcmp(data + 52 + 24 * (i - 1), rep + 52 + 24 * (i - 1), 24));
}

static void fuzz_reply(const uint8_t *data, size_t size)
{
	struct rtgt_request rq = {};
	struct rtgt_reply reply;
	struct rtgt_err err;
	uint8_t head[HEAD];

	if (rtgt_wire_reply(&reply, data, size, &err)) {
		CHECK(err.code == EPROTO && err.text[0]);
		return;
	}
	CHECK(reply.len == size - HEAD && (const uint8_t *)reply.body == data + HEAD);
	rq.op = reply.op;
	rq.tag = reply.tag;
	rtgt_encode_reply(head, &rq, reply.status, reply.len, reply.arg);
	CHECK(!memcmp(head, data, HEAD));
	if (reply.op != RTGT_MSG_EXTENTS || reply.status != RTGT_OK)
		reply.nr = 0;
	for (u32 i = 0; i < reply.nr; i++) {
		const struct rtgt_region_info mem = rtgt_decode_extent(&reply, i, 0);
		uint8_t cap[20];

		put(cap, 0, 8, mem.addr);
		put(cap, 8, 4, mem.rkey);
		put(cap, 12, 8, mem.len);
		CHECK(!memcmp(cap, data + HEAD + 16 + i * sizeof(cap), sizeof(cap)));
	}
	CHECK(rtgt_status_str(reply.status)[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void *block;
	uint8_t *copy;

	if (!size)
		return 0;
	copy = exact(&block, data + 1, size - 1);
	switch (data[0] % 6) {
	case 0:
		fuzz_req(copy, size - 1);
		break;
	case 1:
		fuzz_rej(copy, size - 1);
		break;
	case 2:
		fuzz_msg(copy, size - 1);
		break;
	case 3:
		fuzz_range(copy, size - 1);
		break;
	case 4:
		fuzz_rep(copy, size - 1);
		break;
	case 5:
		fuzz_reply(copy, size - 1);
		break;
	}
	return 0;
}
