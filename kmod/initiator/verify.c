// SPDX-License-Identifier: GPL-2.0
/*
 * After a run of the kernel's initiator: do both ends hold the same bytes?
 *
 * The initiator requests from the target the checksum of what was written or read, one
 * at a time on the run's queue pair, on which no request of the run is outstanding.
 */
#include <linux/minmax.h>
#include <rdma/ib_verbs.h>

#include "core/mem.h"
#include "initiator/ask.h"
#include "initiator/initiator.h"
#include "initiator/request.h"
#include "initiator/run.h"
#include "initiator/verify.h"
#include "proto/proto.h"

/* The target's CRC-32 of a range of the region. */
static int ask_checksum(struct rtgt_run *run, u64 offset, u32 *crc)
{
	struct rtgt_reply reply;
	int ret;

	rtgt_encode_range(rtgt_run_ask_body(run), run->cfg.region, offset, run->cfg.size);
	ret = rtgt_run_ask(run, RTGT_MSG_CHECKSUM, sizeof(struct rtgt_range), &reply);
	if (!ret && reply.covered != run->cfg.size)
		ret = -EPROTO;
	*crc = ret ? 0 : reply.crc;
	return ret;
}

/* One more READ, of bytes from @offset on: all READs of a run have one buffer. */
static int read_once(struct rtgt_run *run, u64 offset)
{
	struct rtgt_ini_req *req = &run->reqs[0];

	rtgt_ini_req_sync_for_device(req);
	rtgt_ini_req_cut(req, 0, run->cfg.size);
	req->wr.rdma.remote_addr = run->peer.region[run->cfg.region].addr + offset;
	return rtgt_run_post_once(run, &req->wr.send);
}

/* The CRC-32 of the local bytes of a request. */
static u32 req_checksum(struct rtgt_ini_req *req)
{
	rtgt_ini_req_sync_for_cpu(req);
	return rtgt_mem_crc32(req->bytes->mem, 0, req->run->cfg.size);
}

/*
 * Say where the ends differ.  Both checksums once more: bytes that differed for a moment only are
 * another fault than bytes that are wrong.
 */
static int differ(struct rtgt_run *run, u64 offset, struct rtgt_ini_req *req, u32 mine, u32 crc)
{
	u32 again;
	int ret = ask_checksum(run, offset, &again);

	if (ret)
		return ret;
	return rtgt_run_fail(run, -EILSEQ,
			     "verification: different bytes at offset %llu: CRC-32 %08x here, %08x at the target; again %08x and %08x",
			     offset, mine, crc, req_checksum(req), again);
}

/* How many different offsets the operations used. */
static u32 places_used(const struct rtgt_run *run)
{
	return min_t(u64, rtgt_run_places(run),
		     run->cfg.walk ? run->total : min(run->cfg.depth, run->total));
}

/**
 * rtgt_run_verify() - check that both ends hold the same bytes
 * @run: all its operations succeeded
 * @bytes: set to the number of bytes that were compared
 *
 * Compares each offset that WRITEs used.  Of READs it compares what each returned, if each
 * has its own memory, otherwise it READs each offset once more.  Echoes and atomics were
 * compared as they completed.  May sleep.
 *
 * Return: 0; -EILSEQ when bytes differ, with the reason recorded; another negative errno when
 * they could not be compared.
 */
int rtgt_run_verify(struct rtgt_run *run, u64 *bytes)
{
	enum rtgt_ini_op op = run->cfg.op;
	bool all = run->cfg.verify_all;
	u32 i, mine = 0, crc;
	int ret = 0;

	*bytes = 0;
	if (op == RTGT_INI_SEND || rtgt_op_is_atomic(op)) {
		*bytes = (u64)run->cfg.size *
			 (op == RTGT_INI_SEND && !all ? min(2U, run->total) : run->total);
		return 0;
	}
	/* a target without the rtgt protocol has no checksums */
	if (!run->peer.rtgt)
		return 0;
	for (i = 0; i < places_used(run) && !ret; i++) {
		struct rtgt_ini_req *req = &run->reqs[all ? i : 0];
		u64 offset = run->cfg.offset + (u64)i * run->cfg.size;

		if (op == RTGT_INI_READ && !all)
			ret = read_once(run, offset);
		/* all WRITEs have the same bytes, unless each request has its own memory */
		if (!i || op == RTGT_INI_READ || all)
			mine = req_checksum(req);
		if (!ret)
			ret = ask_checksum(run, offset, &crc);
		if (!ret && crc != mine)
			ret = differ(run, offset, req, mine, crc);
		if (!ret)
			*bytes += run->cfg.size;
	}
	return ret;
}
