// SPDX-License-Identifier: GPL-2.0
/*
 * The service "rtgt": the capability in the REP, requests in SEND messages,
 * operations in immediates.  A client whose REQ does not speak rtgt is served as
 * a plain client: it gets the same REP and reads as much of it as it knows.
 */
#include "rtgt.h"

static int rtgt_request(struct rtgt_conn *conn, const void *priv, size_t len, u32 *arg)
{
	struct rtgt_hello hello;
	int why;

	why = rtgt_decode_req(priv, len, &hello, arg);
	conn->plain = hello.plain;
	return why;
}

static size_t rtgt_reply(const struct rtgt_conn *conn, void *priv, size_t size)
{
	const struct rtgt_domain *dom = conn->domain;
	struct rtgt_welcome welcome = {
		.features = conn->port->cfg.private ? RTGT_F_PRIVATE : 0,
		.recv_size = conn->recv_size,
		.recv_depth = conn->nr_slots,
		.conn_id = conn->id,
		.nr = dom->nr,
	};
	unsigned int i;

	for (i = 0; i < dom->nr; i++) {
		welcome.region[i].addr = dom->map[i].iova;
		welcome.region[i].len = dom->map[i].mem->size;
		welcome.region[i].rkey = dom->map[i].mr->rkey;
		welcome.region[i].access = dom->map[i].access;
	}
	return rtgt_encode_rep(priv, size, &welcome);
}

const struct rtgt_service rtgt_service_rtgt = {
	.name = "rtgt",
	.request = rtgt_request,
	.reply = rtgt_reply,
	.message = rtgt_slot_message,
	.imm = rtgt_slot_imm,
};
