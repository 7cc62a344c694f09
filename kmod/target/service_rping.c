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
 * The client compares what it gets back.  A message has 16 bytes.  rping checks the length of
 * the target's messages but not their contents, so the target sends the client's message back.
 * The READ and the WRITE alternate, so a connection needs one buffer and one rw context.
 *
 * The service "rping-inv" is the same, but its SENDs invalidate the rkey that the client's last
 * message announced (SEND_WITH_INV), so that the client need not.  krping, the kernel's rping,
 * expects that of its server when it was told server_inv.
 *
 * A message of another length, a buffer larger than RPING_MAX, or a client that does not allow
 * READs is counted as malformed and closes the connection, because rping has no message for an
 * error.
 */
#include <linux/slab.h>

#include "core/stats.h"
#include "registration/region.h"
#include "target/conn.h"
#include "target/port.h"
#include "target/recv.h"
#include "target/rw.h"
#include "target/send.h"
#include "target/service.h"

/* The limit of rping itself, in bytes */
#define RPING_MAX	(64 * 1024)

/* Message of an rping client */
struct rping_info {
	__be64 addr;	/* address of its buffer */
	__be32 rkey;	/* rkey of its buffer */
	__be32 size;	/* bytes of its buffer */
} __packed;

/* The state of a connection */
struct rping {
	void *buf;	/* bytes that the target read; the CPU does not access them */
	u32 len;	/* number of bytes in @buf */
	bool have;	/* the source was read; the next message names the sink */
};

static void rping_moved(struct rtgt_recv_ctx *recv)
{
	struct rping *rping = recv->conn->service_priv;

	rping->have = !rping->have;
	if (recv->conn->port->cfg.service == &rtgt_service_rping_inv)
		rtgt_send_inv(recv, sizeof(struct rping_info));
	else
		rtgt_send(recv, sizeof(struct rping_info));
}

/* Completions of a connection run one at a time, so nothing else changes @rping. */
static void rping_message(struct rtgt_recv_ctx *recv)
{
	struct rping *rping = recv->conn->service_priv;
	const struct rping_info *info = rtgt_recv_msg(recv);
	u32 size = be32_to_cpu(info->size);
	u32 len = rping->have ? rping->len : size;

	if (recv->len != sizeof(*info) || size > RPING_MAX || size < len ||
	    !recv->conn->can_read) {
		rtgt_count(recv->conn->port->stats, RTGT_MALFORMED, 1);
		rtgt_conn_close(recv->conn, "not an rping client's message");
		/* the receive may belong to an SRQ, which other connections use */
		rtgt_recv_release(recv);
		return;
	}
	rping->len = len;
	recv->rq = (struct rtgt_request){
		.op = rping->have ? RTGT_MSG_PUSH : RTGT_MSG_PULL,
		.addr = be64_to_cpu(info->addr),
		.rkey = be32_to_cpu(info->rkey),
		.count = len,
	};
	if (len)
		rtgt_recv_defer(recv);
	else
		rping_moved(recv);
}

static void rping_work(struct rtgt_recv_ctx *recv)
{
	struct rping *rping = recv->conn->service_priv;
	struct rtgt_rw_ctx *rw = rtgt_rw_get(recv);
	enum dma_data_direction dir;

	if (!rw)
		return;
	dir = recv->rq.op == RTGT_MSG_PULL ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	rtgt_rw_add(rw, rping->buf, recv->rq.count);
	if (!rtgt_rw_post(rw, dir, recv->rq.addr, recv->rq.rkey))
		return;
	rtgt_conn_close(recv->conn, "a transfer could not be posted");
	rtgt_recv_drop(recv);
}

static int rping_setup(struct rtgt_conn *conn)
{
	struct rping *rping = kzalloc(sizeof(*rping), GFP_KERNEL);

	if (!rping)
		return -ENOMEM;
	conn->service_priv = rping;
	rping->buf = kzalloc(RPING_MAX, GFP_KERNEL);
	return rping->buf ? 0 : -ENOMEM;
}

static void rping_teardown(struct rtgt_conn *conn)
{
	struct rping *rping = conn->service_priv;

	if (!rping)
		return;
	kfree(rping->buf);
	kfree(rping);
}

static size_t rping_reply(const struct rtgt_conn *conn, void *priv, size_t size)
{
	return 0;
}

#define RPING_SERVICE(_name)				\
{							\
	.name = _name,					\
	.transports = BIT(RTGT_RC),			\
	.conn_bytes = RPING_MAX,			\
	.rws = 1,					\
	.request = rtgt_service_accept_any,		\
	.reply = rping_reply,				\
	.setup = rping_setup,				\
	.teardown = rping_teardown,			\
	.message = rping_message,			\
	.imm = rtgt_recv_release,			\
	.work = rping_work,				\
	.moved = rping_moved,				\
}

const struct rtgt_service rtgt_service_rping = RPING_SERVICE("rping");
const struct rtgt_service rtgt_service_rping_inv = RPING_SERVICE("rping-inv");
