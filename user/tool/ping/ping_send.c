// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The operations of rtgt ping that ask the target for something: an echo in its
 * variants, and transfers the target makes to and from our memory.
 */
#include <errno.h>

#include "ping.h"

static int do_echo(struct ping *p, const struct rtgt_echo *e, struct rtgt_err *err)
{
	struct rtgt_client *c = &p->client;
	uint64_t seed = ping_seed(p);
	size_t used = c->head + sizeof(struct rtgt_msg) + e->len;
	struct rtgt_took took;
	struct rtgt_diff diff;
	int ret;

	rtgt_pattern_fill(rtgt_client_tx(c), e->len, seed);
	rtgt_pattern_invert(c->rx.buf + used - e->len, e->len, seed);
	rtgt_mr_arm(&c->rx, used);
	ret = rtgt_client_echo(c, e, &took, err);
	if (ret)
		return ret;
	ping_sample(p, &took);
	if (p->show)
		ping_out_data(p, rtgt_client_rx(c), e->len);
	if (!p->verify)
		return 0;
	if (rtgt_pattern_verify(rtgt_client_rx(c), e->len, seed, &diff))
		return rtgt_fail(err, EILSEQ,
				 "%s of %u bytes, iteration %llu: byte %zu of the echo is 0x%02x, expected 0x%02x",
				 p->op->name, p->len, (unsigned long long)p->iteration,
				 diff.offset, diff.got, diff.expected);
	return ping_check_guards(p, &c->rx, used, err);
}

int ping_send(struct ping *p, struct rtgt_err *err)
{
	const struct rtgt_echo e = { .opcode = IBV_WR_SEND, .len = p->len };

	return do_echo(p, &e, err);
}

/* The target counts the immediate (imms in its counters) */
int ping_send_imm(struct ping *p, struct rtgt_err *err)
{
	const struct rtgt_echo e = {
		.opcode = IBV_WR_SEND_WITH_IMM, .len = p->len,
		.imm = rtgt_imm(RTGT_IMM_NOTIFY, (uint32_t)p->serial),
	};

	return do_echo(p, &e, err);
}

/* Kill the region's key, have a new one made, and WRITE with that */
int ping_send_inv(struct ping *p, struct rtgt_err *err)
{
	const struct rtgt_echo e = {
		.opcode = IBV_WR_SEND_WITH_INV, .len = p->len, .rkey = p->mem->rkey,
	};
	struct rtgt_took took;
	int ret = do_echo(p, &e, err);

	if (!ret)
		ret = rtgt_client_revoke(&p->client, p->region, err);
	if (ret)
		return ret;
	rtgt_pattern_fill(p->tx.buf + p->before, p->len, ping_seed(p));
	ret = ping_put(p, IBV_WR_RDMA_WRITE, &took, err);
	if (!ret && p->verify)
		ret = ping_check_target(p, err);
	/* what is reported as verified is the echo */
	p->blind = false;
	return ret;
}

/*
 * With --window the target gets the key of a window that covers the range and no
 * more, grants what the transfer needs and no more, and is gone after it.  There is
 * no window of nothing.
 */
static int move(struct ping *p, enum rtgt_op op, const struct rtgt_mr *mr, size_t local,
		struct rtgt_err *err)
{
	unsigned int access = op == RTGT_MSG_PULL ? IBV_ACCESS_REMOTE_READ :
						    IBV_ACCESS_REMOTE_WRITE;
	const struct rtgt_window *window = p->window && p->len ? &p->mw : NULL;
	const struct rtgt_move m = {
		.op = op, .region = p->region, .remote = p->at, .mr = mr, .local = local,
		.len = p->len, .window = window,
	};
	struct rtgt_client *c = &p->client;
	struct rtgt_took took;
	int ret = 0;

	if (window)
		ret = rtgt_client_bind(c, window, mr, local, p->len, access, err);
	if (!ret)
		ret = rtgt_client_move(c, &m, &took, err);
	if (!ret && window)
		ret = rtgt_client_unbind(c, window, err);
	if (ret)
		return ret;
	ping_sample(p, &took);
	if (p->show)
		ping_out_data(p, mr->buf + local, p->len);
	return 0;
}

/* The target READs the mirror's range into its region */
int ping_pull(struct ping *p, struct rtgt_err *err)
{
	int ret;

	rtgt_pattern_fill(p->tx.buf + p->before, p->len, ping_seed(p));
	ret = move(p, RTGT_MSG_PULL, &p->tx, p->before, err);
	return ret || !p->verify ? ret : ping_check_target(p, err);
}

/* The target WRITEs the region's range to us */
int ping_push(struct ping *p, struct rtgt_err *err)
{
	uint64_t seed = ping_seed(p);
	int ret = ping_expect(p, seed, err);

	if (ret)
		return ret;
	ret = move(p, RTGT_MSG_PUSH, &p->rx, 0, err);
	if (ret || !p->verify)
		return ret;
	ret = ping_check_rx(p, seed, err);
	return ret ? ret : ping_check_guards(p, &p->rx, p->len, err);
}
