// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A connected initiator waits: for one completion, whatever others come before it, and for the
 * answer to a message.  client.c and request.c are above this.
 */
#include <errno.h>

#include "internal.h"

static int take_kept(struct rtgt_client *c, uint64_t id, struct ibv_wc *wc)
{
	for (unsigned int i = 0; i < c->nr_kept; i++) {
		if (c->kept[i].wr_id != id)
			continue;
		*wc = c->kept[i];
		c->kept[i] = c->kept[--c->nr_kept];
		return 1;
	}
	return 0;
}

/**
 * rtgt_client_wait() - wait for a completion
 * @c: open
 * @id: of the work request
 * @what: its name in the sentence about a failure
 * @wc: filled
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno; -EIO with @err->wc_status for a failed
 * completion.
 */
int rtgt_client_wait(struct rtgt_client *c, uint64_t id, const char *what, struct ibv_wc *wc,
		     struct rtgt_err *err)
{
	while (!take_kept(c, id, wc)) {
		int ret;

		if (c->nr_kept == RTGT_KEPT)
			return rtgt_fail(err, EPROTO, "completions nobody waits for arrive");
		ret = rtgt_qp_wait(&c->qp, &c->kept[c->nr_kept], err);
		if (ret)
			return ret;
		c->nr_kept++;
	}
	if (wc->status == IBV_WC_SUCCESS)
		return 0;
	rtgt_fail(err, EIO, "%s failed: %s (status %d, vendor error 0x%x): %s", what,
		  ibv_wc_status_str(wc->status), wc->status, wc->vendor_err,
		  rtgt_wc_meaning(wc->status));
	err->wc_status = wc->status;
	err->vendor_err = wc->vendor_err;
	return -EIO;
}

/**
 * rtgt_client_expect() - post a receive for a reply
 * @c: open
 * @id: for rtgt_client_reply()
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_client_expect(struct rtgt_client *c, uint64_t *id, struct rtgt_err *err)
{
	*id = ++c->wr_id;
	return rtgt_qp_post_recv(&c->qp, *id, &c->rx, (uint32_t)c->rx.len, err);
}

/**
 * rtgt_client_reply() - wait for a reply and understand it
 * @c: open
 * @id: from rtgt_client_expect()
 * @op: of the request
 * @tag: of the request
 * @arg: immediate of the request, or 0
 * @reply: filled
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno; -EPROTO for a reply that is not to this request, or has a
 * status other than RTGT_OK.
 */
int rtgt_client_reply(struct rtgt_client *c, uint64_t id, enum rtgt_op op, uint32_t tag,
		      uint32_t arg, struct rtgt_reply *reply, struct rtgt_err *err)
{
	struct ibv_wc wc;
	int ret = rtgt_client_wait(c, id, "the receive of the reply", &wc, err);

	/* the request has completed: over RC the target's device has it */
	if (ret == -ETIMEDOUT && c->cm.param.transport == RTGT_RC)
		rtgt_fail(err, ETIMEDOUT,
			  "the target got request %u and sent no reply within %d s (--timeout waits longer)",
			  op, c->cm.param.timeout_ms / 1000);
	if (!ret && wc.byte_len < c->head)
		ret = rtgt_fail(err, EPROTO, "a datagram of %u bytes has no address header",
				wc.byte_len);
	if (!ret)
		ret = rtgt_wire_reply(reply, c->rx.buf + c->head, wc.byte_len - c->head, err);
	if (ret)
		return ret;
	rtgt_log(c->cm.param.log, "msg", "reply to op %u: %s, tag %u, %u bytes", reply->op,
		 rtgt_status_str(reply->status), reply->tag, reply->len);
	return rtgt_wire_match(reply, op, tag, arg, err);
}
