// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * proto_fuzz: libFuzzer's way into kmod/proto.c.
 *
 * The first byte chooses the decoder, the rest is what a peer sent.  Beyond what
 * the sanitizers see, the decoders' promises are checked here: a request that is
 * accepted is one the module can act on without looking at the bytes again.
 *
 * "make fuzz" runs it from the seeds in fuzz-seeds for a bounded number of
 * inputs; an input that breaks something is kept in build/fuzz/.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto.h"

#define CHECK(cond)	do { if (!(cond)) abort(); } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_req(const uint8_t *data, size_t size)
{
	struct rtgt_hello hello;
	u32 arg = 0xffffffff;
	int why = rtgt_decode_req(data, size, &hello, &arg);

	CHECK(why == 0 || why == RTGT_REJ_VERSION || why == RTGT_REJ_SIZE);
	/* a reject says what would have been taken, a plain client asks for nothing */
	CHECK(!why || arg != 0xffffffff);
	CHECK(!hello.plain || (!why && !hello.features));
	CHECK(hello.plain || why || size >= sizeof(struct rtgt_req));
}

static void fuzz_rej(const uint8_t *data, size_t size)
{
	u32 reason = 0, arg = 0;

	if (rtgt_decode_rej(data, size, &reason, &arg))
		return;
	CHECK(size >= sizeof(struct rtgt_rej));
	CHECK(rtgt_rej_name(reason));
}

static void fuzz_msg(const uint8_t *data, size_t size)
{
	uint8_t reply[sizeof(struct rtgt_msg)];
	struct rtgt_request rq;
	u32 status = rtgt_decode_msg(data, size, &rq);

	CHECK(strcmp(rtgt_status_name(status), "unknown"));
	if (status == RTGT_OK) {
		CHECK(rq.len == size - sizeof(struct rtgt_msg));
		CHECK(rq.op && rq.op != RTGT_MSG_IMM && rq.op < RTGT_MSG_REPLY);
		CHECK(rq.ms <= RTGT_WITHHOLD_MAX_MS);
	}
	/* an accepted range lies inside, computed where nothing can wrap */
	if (rtgt_range_ok(rq.offset, rq.count, 1 << 20))
		CHECK(rq.offset <= 1 << 20 && rq.count <= 1 << 20 &&
		      rq.offset + rq.count <= 1 << 20);
	rtgt_encode_reply(reply, &rq, status, 0, 0);
	CHECK(reply[1] & RTGT_MSG_REPLY);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (!size)
		return 0;
	/* a buffer of its own, so that one byte too many is seen */
	copy = malloc(size - 1 ? size - 1 : 1);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	switch (data[0] % 3) {
	case 0:
		fuzz_req(copy, size - 1);
		break;
	case 1:
		fuzz_rej(copy, size - 1);
		break;
	case 2:
		fuzz_msg(copy, size - 1);
		break;
	}
	free(copy);
	return 0;
}
