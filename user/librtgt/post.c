// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting work requests.
 *
 * A request's local bytes may lie in several pieces, with a gap between each two
 * of them; rtgt_piece() says how they are cut.  FLUSH and ATOMIC_WRITE have no
 * place in struct ibv_send_wr: they go through the calls of ibv_wr_start(3).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <rtgt/qp.h>

static bool is_send(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV;
}

/* Done by our own device, nothing leaves */
static bool is_local(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_BIND_MW || opcode == IBV_WR_LOCAL_INV;
}

static bool has_imm(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_WRITE_WITH_IMM || opcode == IBV_WR_SEND_WITH_IMM;
}

static void log_wr(const struct rtgt_log *log, uint32_t qpn, const struct rtgt_wr *wr,
		   unsigned int flags, const struct ibv_sge *sge, int nr)
{
	char remote[64] = "", more[32] = "";

	for (int i = 0; i < nr; i++)
		rtgt_log(log, "sge", "addr 0x%llx len %u lkey 0x%x",
			 (unsigned long long)sge[i].addr, sge[i].length, sge[i].lkey);
	if (wr->opcode == IBV_WR_BIND_MW)
		snprintf(remote, sizeof(remote), " access 0x%x rkey 0x%x", wr->access,
			 ibv_inc_rkey(wr->window->mw->rkey));
	else if (!is_send(wr->opcode) && !is_local(wr->opcode))
		snprintf(remote, sizeof(remote), " remote 0x%llx rkey 0x%x",
			 (unsigned long long)wr->remote_addr, wr->rkey);
	if (has_imm(wr->opcode))
		snprintf(more, sizeof(more), " imm 0x%08x", wr->imm);
	else if (wr->opcode == IBV_WR_SEND_WITH_INV || wr->opcode == IBV_WR_LOCAL_INV)
		snprintf(more, sizeof(more), " invalidates rkey 0x%x", wr->rkey);
	rtgt_log(log, "wr", "id %llu %s sges %d%s%s%s%s%s qp %u", (unsigned long long)wr->id,
		 rtgt_wr_opcode_str(wr->opcode), nr, remote, more,
		 flags & IBV_SEND_SIGNALED ? "" : " unsignaled",
		 flags & IBV_SEND_INLINE ? " inline" : "", flags & IBV_SEND_FENCE ? " fence" : "",
		 qpn);
}

/* Of inline data the post makes a copy: it must do without a key */
static struct ibv_sge one_sge(const struct rtgt_wr *wr, bool copied, size_t at, uint32_t len)
{
	return (struct ibv_sge) {
		.addr = (uintptr_t)wr->mr->buf + wr->offset + at,
		.length = len,
		.lkey = copied ? 0 : wr->mr->mr->lkey,
	};
}

/* In a scatter-gather entry a length of 0 can mean 2 GiB: zero bytes have none */
static int fill_sges(const struct rtgt_wr *wr, bool copied, struct ibv_sge *sge)
{
	unsigned int n = wr->sges ? wr->sges : 1;
	uint32_t all = wr->all ? wr->all : wr->len;
	int nr = 0;

	if (wr->head)
		sge[nr++] = (struct ibv_sge) {
			.addr = (uintptr_t)wr->head->buf, .length = wr->head_len,
			.lkey = wr->head->mr->lkey,
		};
	/* the usual one, which is measured */
	if (n == 1 && !wr->all && wr->len) {
		sge[nr] = one_sge(wr, copied, 0, wr->len);
		return nr + 1;
	}
	for (unsigned int i = 0; i < n; i++) {
		uint32_t at, end = rtgt_piece(all, n, i, &at);

		/* what this request has of the piece */
		end += at;
		if (at < wr->at)
			at = wr->at;
		if (end > wr->at + wr->len)
			end = wr->at + wr->len;
		if (at >= end)
			continue;
		sge[nr++] = one_sge(wr, copied, at + (size_t)i * wr->gap, end - at);
	}
	return nr;
}

#ifdef RTGT_VERBS_FLUSH
static int post_ex(struct rtgt_qp *q, const struct rtgt_wr *wr, unsigned int flags)
{
	if (!q->ex)
		return -EOPNOTSUPP;
	ibv_wr_start(q->ex);
	q->ex->wr_id = wr->id;
	q->ex->wr_flags = flags;
	if (wr->opcode == RTGT_WR_FLUSH)
		ibv_wr_flush(q->ex, wr->rkey, wr->remote_addr, wr->len, IBV_FLUSH_GLOBAL,
			     IBV_FLUSH_RANGE);
	else
		ibv_wr_atomic_write(q->ex, wr->rkey, wr->remote_addr, wr->mr->buf + wr->offset);
	return -ibv_wr_complete(q->ex);
}
#else
static int post_ex(struct rtgt_qp *q, const struct rtgt_wr *wr, unsigned int flags)
{
	(void)q;
	(void)wr;
	(void)flags;
	return -EOPNOTSUPP;
}
#endif

/* The library of some devices notes the window's new key, that of others does not */
static int post_bind(struct rtgt_qp *q, const struct rtgt_wr *wr, unsigned int flags)
{
	struct ibv_mw *mw = wr->window->mw;
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct ibv_send_wr bind = {
		.wr_id = wr->id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = flags,
		.bind_mw = {
			.mw = mw,
			.rkey = rkey,
			.bind_info = {
				.mr = wr->mr->mr,
				.addr = (uintptr_t)wr->mr->buf + wr->offset,
				.length = wr->len,
				.mw_access_flags = wr->access,
			},
		},
	};
	struct ibv_send_wr *bad;
	int ret = ibv_post_send(q->qp, &bind, &bad);

	if (!ret)
		mw->rkey = rkey;
	return ret;
}

static void fill_send(const struct rtgt_qp *q, const struct rtgt_wr *wr, unsigned int flags,
		      struct ibv_sge *sge, int nr, struct ibv_send_wr *send)
{
	*send = (struct ibv_send_wr) {
		.wr_id = wr->id,
		.opcode = wr->opcode,
		.send_flags = flags,
		.sg_list = sge,
		.num_sge = nr,
	};
	if (has_imm(wr->opcode))
		send->imm_data = htonl(wr->imm);
	else if (wr->opcode == IBV_WR_SEND_WITH_INV || wr->opcode == IBV_WR_LOCAL_INV)
		send->invalidate_rkey = wr->rkey;
	if (q->ah) {
		send->wr.ud.ah = q->ah;
		send->wr.ud.remote_qpn = q->cm->ud.qp_num;
		send->wr.ud.remote_qkey = q->cm->ud.qkey;
	} else if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		send->wr.atomic.remote_addr = wr->remote_addr;
		send->wr.atomic.rkey = wr->rkey;
		send->wr.atomic.compare_add = wr->compare_add;
		send->wr.atomic.swap = wr->swap;
	} else if (!is_send(wr->opcode)) {
		send->wr.rdma.remote_addr = wr->remote_addr;
		send->wr.rdma.rkey = wr->rkey;
	} else if (wr->opcode == IBV_WR_SEND_WITH_INV) {
		/* where rdma-core's library for siw looks for it (seen with version 56) */
		send->wr.rdma.rkey = wr->rkey;
	}
}

static int post_plain(struct rtgt_qp *q, const struct rtgt_wr *wr, unsigned int flags,
		      struct ibv_sge *sge, int nr)
{
	struct ibv_send_wr send, *bad;

	fill_send(q, wr, flags, sge, nr, &send);
	return ibv_post_send(q->qp, &send, &bad);
}

static bool can_inline(const struct rtgt_qp *q, const struct rtgt_wr *wr)
{
	return wr->head_len + wr->len <= q->max_inline &&
	       (is_send(wr->opcode) || wr->opcode == IBV_WR_RDMA_WRITE ||
		wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
}

/* A library is to return the errno; that of siw returns its negative */
static int post_errno(int ret)
{
	return ret < 0 ? -ret : ret;
}

/**
 * rtgt_qp_post() - post to the send queue
 * @q: connected
 * @wr: the request
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_qp_post(struct rtgt_qp *q, const struct rtgt_wr *wr, struct rtgt_err *err)
{
	unsigned int flags = wr->flags | (wr->unsignaled ? 0 : IBV_SEND_SIGNALED);
	bool ex = wr->opcode == RTGT_WR_FLUSH || wr->opcode == RTGT_WR_ATOMIC_WRITE;
	struct ibv_sge sge[RTGT_SGES + 1];
	int ret, nr = 0;

	if (wr->sges > RTGT_SGES)
		return rtgt_fail(err, EINVAL, "%u pieces: at most %u", wr->sges, RTGT_SGES);
	/* what is used of the others is set: to clear them all costs a microsecond */
	sge[0] = (struct ibv_sge) { };
	if (!can_inline(q, wr))
		flags &= ~(unsigned int)IBV_SEND_INLINE;
	if (!ex && !is_local(wr->opcode))
		nr = fill_sges(wr, flags & IBV_SEND_INLINE, sge);
	if (q->cm->param.log)
		log_wr(q->cm->param.log, q->qp->qp_num, wr, flags, sge, nr);
	if (wr->opcode == IBV_WR_BIND_MW)
		ret = post_bind(q, wr, flags);
	else
		ret = ex ? -post_ex(q, wr, flags) : post_plain(q, wr, flags, sge, nr);
	ret = post_errno(ret);
	if (ret)
		return rtgt_fail(err, ret, "posting a %s of %u bytes failed: %s",
				 rtgt_wr_opcode_str(wr->opcode), wr->len, strerror(ret));
	q->posted[wr->opcode % RTGT_OPCODES].count++;
	q->posted[wr->opcode % RTGT_OPCODES].bytes += wr->head_len + wr->len;
	return 0;
}

/**
 * rtgt_qp_post_recv() - post a receive
 * @q: created
 * @id: comes back in the completion
 * @mr: buffer, used from its beginning
 * @len: bytes of it
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_qp_post_recv(struct rtgt_qp *q, uint64_t id, const struct rtgt_mr *mr, uint32_t len,
		      struct rtgt_err *err)
{
	const struct rtgt_wr all = { .mr = mr, .len = len, .sges = q->recv_sges };
	struct ibv_sge sge[RTGT_SGES];
	struct ibv_recv_wr recv = { .wr_id = id, .sg_list = sge };
	struct ibv_recv_wr *bad;
	int ret;

	if (len > mr->len)
		return rtgt_fail(err, EINVAL, "a receive of %u bytes in a buffer of %zu", len,
				 mr->len);
	recv.num_sge = fill_sges(&all, false, sge);
	ret = post_errno(ibv_post_recv(q->qp, &recv, &bad));
	rtgt_log(q->cm->param.log, "wr", "id %llu RECV of up to %u bytes", (unsigned long long)id,
		 len);
	if (ret)
		return rtgt_fail(err, ret, "posting a receive failed: %s", strerror(ret));
	return 0;
}
