// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: datagrams.
 *
 * A device has one endpoint for all its clients: a queue pair that lives like a connection
 * without a peer and without an identifier.  A client asks rdma_cm for it (SIDR), is told
 * its number or why not, and that is all there is between the two.
 */
#include <errno.h>

#include "serve.h"

/* Bytes of a path MTU */
static uint32_t mtu_bytes(enum ibv_mtu mtu)
{
	return 128u << mtu;
}

/* ------------------------------------------------------------------- the endpoint */

static struct serve_conn *find_endpoint(struct server *s, const struct ibv_context *verbs)
{
	struct serve_conn *c;

	for (c = TAILQ_FIRST(&s->conns); c; c = TAILQ_NEXT(c, entry))
		if (c->state == SERVE_LIVE && c->dev->verbs == verbs)
			break;
	return c;
}

/* Its queue pair is made with the first client's identifier, which it does not keep */
static int build_endpoint(struct serve_conn *c, struct rdma_cm_id *id)
{
	const struct rdma_conn_param none = { };
	struct ibv_port_attr attr;
	int ret = ibv_query_port(id->verbs, id->port_num, &attr);

	if (ret)
		return -ret;
	if (c->recv_size > mtu_bytes(attr.active_mtu))
		c->recv_size = mtu_bytes(attr.active_mtu);
	c->port = id->port_num;
	c->cm_id = id;
	ret = serve_build(c, &none);
	c->cm_id = NULL;
	return ret;
}

/* NULL with the reason */
static struct serve_conn *make_endpoint(struct server *s, struct rdma_cm_id *id, uint32_t *why,
					uint32_t *arg)
{
	struct serve_conn *c;
	int ret;

	*why = serve_full(s, arg);
	if (*why)
		return NULL;
	c = serve_conn_create(s);
	if (!c) {
		*why = serve_reject_reason(-ENOMEM, arg);
		return NULL;
	}
	serve_admit(c);
	ret = build_endpoint(c, id);
	if (!ret) {
		serve_established(c);
		return c;
	}
	serve_close(c, "the endpoint could not be made");
	*why = serve_reject_reason(ret, arg);
	return NULL;
}

static void answer(struct serve_conn *c, struct rdma_cm_id *id)
{
	uint8_t priv[RTGT_REP_UD_MAX];
	const struct rtgt_rep_info w = {
		.recv_size = c->recv_size,
		.recv_depth = (uint16_t)c->s->cfg.recv_depth,
		.conn_id = c->id,
	};
	struct rdma_conn_param param = {
		.private_data = priv,
		.private_data_len = (uint8_t)rtgt_encode_rep(priv, sizeof(priv), &w),
		.qp_num = c->qp->qp_num,
	};

	serve_way_expect(c, rdma_get_peer_addr(id));
	rdma_accept(id, &param);
}

/* A client asks for the endpoint of the device its request came through */
void serve_ud_request(struct server *s, struct rdma_cm_id *id, const void *priv, size_t len)
{
	struct serve_conn *c = NULL;
	struct rtgt_req_info hello;
	uint32_t why, arg = 0;

	why = (uint32_t)rtgt_decode_req(priv, len, &hello, &arg);
	if (!why)
		c = find_endpoint(s, id->verbs);
	if (!why && !c)
		c = make_endpoint(s, id, &why, &arg);
	if (c)
		answer(c, id);
	else
		serve_reject(s, id, why, arg);
	rdma_destroy_id(id);
}
