// SPDX-License-Identifier: GPL-2.0
/*
 * The service "rping": the passive side of rdma-core's rping, so that an
 * unmodified "rping -c" can be pointed at the kernel.
 *
 *   client                              target
 *     |-- SEND  { source buffer } ------->|
 *     |<- READ of the source -------------|
 *     |<- SEND  (go ahead) ---------------|
 *     |-- SEND  { sink buffer } --------->|
 *     |<- WRITE of what was read ---------|
 *     |<- SEND  (done) -------------------|   and again
 *
 * The client compares what comes back.  Its messages are 16 bytes; the contents of
 * the target's do not matter to it, their length does, so its own are sent back.
 * The two halves alternate, so one buffer for a connection is enough and is
 * touched by one slot at a time.
 *
 * A message of another length, a buffer beyond RPING_MAX, or a client that lets
 * nobody READ is counted as malformed and ends the connection: rping has no way
 * to say no.
 */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "core/stats.h"
#include "registration/region.h"
#include "target/conn.h"
#include "target/port.h"
#include "target/recv.h"
#include "target/service.h"
#include "target/services.h"

/* rping's own limit */
#define RPING_MAX	(64 * 1024)

/**
 * struct rping_info - what an rping client sends
 * @addr: of its buffer
 * @rkey: likewise
 * @size: bytes
 */
struct rping_info {
	__be64 addr;
	__be32 rkey;
	__be32 size;
} __packed;

/**
 * struct rping - a connection's state
 * @buf: what was read
 * @dma: its address for the device
 * @len: bytes of it
 * @have: the source was read, the sink comes next
 */
struct rping {
	void *buf;
	u64 dma;
	u32 len;
	bool have;
};

static void rping_done(struct rtgt_slot *slot)
{
	struct rping *rping = slot->conn->service_priv;

	rping->have = !rping->have;
	rtgt_slot_send(slot, sizeof(struct rping_info));
}

static void rping_message(struct rtgt_slot *slot)
{
	struct rping *rping = slot->conn->service_priv;
	const struct rping_info *info = rtgt_slot_msg(slot);
	u32 size = be32_to_cpu(info->size);
	struct ib_sge sge = {
		.addr = rping->dma,
		.length = rping->have ? rping->len : size,
		.lkey = slot->conn->domain->pd->local_dma_lkey,
	};

	if (slot->len != sizeof(*info) || size > RPING_MAX || size < sge.length ||
	    !slot->conn->can_read) {
		rtgt_count(slot->conn->port->stats, RTGT_MALFORMED, 1);
		rtgt_conn_close(slot->conn, "not an rping client's message");
		/* it may belong to an SRQ */
		rtgt_slot_repost(slot);
		return;
	}
	rping->len = sge.length;
	rtgt_slot_xfer(slot, rping->have ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ,
		       be64_to_cpu(info->addr), be32_to_cpu(info->rkey), &sge, 1, rping_done);
}

static void rping_imm(struct rtgt_slot *slot)
{
	rtgt_slot_repost(slot);
}

static int rping_setup(struct rtgt_conn *conn)
{
	struct ib_device *ibdev = conn->domain->ibdev;
	struct rping *rping;

	rping = kzalloc(sizeof(*rping), GFP_KERNEL);
	if (!rping)
		return -ENOMEM;
	rping->buf = kzalloc(RPING_MAX, GFP_KERNEL);
	if (!rping->buf)
		goto free_rping;
	rping->dma = ib_dma_map_single(ibdev, rping->buf, RPING_MAX, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(ibdev, rping->dma))
		goto free_buf;
	conn->service_priv = rping;
	return 0;

free_buf:
	kfree(rping->buf);
free_rping:
	kfree(rping);
	return -ENOMEM;
}

static void rping_teardown(struct rtgt_conn *conn)
{
	struct rping *rping = conn->service_priv;

	if (!rping)
		return;
	ib_dma_unmap_single(conn->domain->ibdev, rping->dma, RPING_MAX, DMA_BIDIRECTIONAL);
	kfree(rping->buf);
	kfree(rping);
}

static size_t rping_reply(const struct rtgt_conn *conn, void *priv, size_t size)
{
	return 0;
}

const struct rtgt_service rtgt_service_rping = {
	.name = "rping",
	.transports = BIT(RTGT_RC),
	.conn_bytes = RPING_MAX,
	.request = rtgt_service_accept_any,
	.reply = rping_reply,
	.setup = rping_setup,
	.teardown = rping_teardown,
	.message = rping_message,
	.imm = rping_imm,
};
