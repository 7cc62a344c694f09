// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe revoked: WRITE with rkeys that may have been revoked.
 *
 * Lines of stdin say what to do:
 *
 *	open	open count=N connections, unless they are open, and request over each the capability
 *		of another extent of region 0, from extent at=N on.  "ready" is the number of these
 *	N	over each connection, send N REVOKEs, then WRITE to the extent with the rkey of
 *		"open", and close the connection.  "revoked" is the number of REVOKEs with the
 *		status OK, "written" the number of WRITEs that the target's device executed
 *
 * An ECHO after the WRITE shows whether it was executed: if the target's device refuses it, the
 * connection ends.  Over iWARP the completion of the WRITE does not show that.
 */
#include <stdio.h>
#include <stdlib.h>

#include "probe.h"

#define CLIENTS	16

struct client {
	struct link l;
	bool open;
	struct rtgt_region_info at;
};

static int open_client(struct client *c, const struct option *o, uint32_t extent,
		       struct rtgt_err *err)
{
	struct rtgt_extents_query query;
	struct rtgt_reply reply;

	if (!c->open && open_link(&c->l, o, err))
		return -1;
	c->open = true;
	c->l.watched = true;
	rtgt_encode_query(&query, 0, extent, 1);
	if (ask(&c->l, RTGT_MSG_EXTENTS, &query, sizeof(query), &reply, err))
		return -1;
	c->at = rtgt_decode_extent(&reply, 0, 0);
	return 0;
}

static void open_clients(struct client *c, const struct option *o, int n)
{
	struct rtgt_err err = {};
	int up = 0;

	for (int i = 0; i < n; i++) {
		if (open_client(&c[i], o, (uint32_t)o->at + (uint32_t)i, &err))
			complain("revoked", &err);
		else
			up++;
	}
	printf("ready=%d\n", up);
}

static bool writes(struct client *c)
{
	const struct rtgt_wr wr = {
		.id = SEND_ID, .opcode = IBV_WR_RDMA_WRITE, .mr = &c->l.buf, .len = 8,
		.remote_addr = c->at.addr, .rkey = c->at.rkey,
	};
	struct rtgt_err err;
	struct ibv_wc wc;

	return !rtgt_qp_post(&c->l.qp, &wr, &err) && !wait_for(&c->l, SEND_ID, &wc, &err) &&
	       wc.status == IBV_WC_SUCCESS && echo(&c->l, 1);
}

static void use_clients(struct client *c, int n, int asks)
{
	int revoked = 0, written = 0;
	struct rtgt_range range;
	struct rtgt_reply reply;
	struct rtgt_err err;

	rtgt_encode_range(&range, 0, 0, 0);
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < asks; j++)
			revoked += !ask(&c[i].l, RTGT_MSG_REVOKE, &range, sizeof(range), &reply,
					&err);
		written += writes(&c[i]);
		close_link(&c[i].l);
		c[i].open = false;
	}
	printf("revoked=%d written=%d\n", revoked, written);
}

static int cmd_revoked(const struct option *o)
{
	static struct client c[CLIENTS];
	int n = o->count < CLIENTS ? (int)o->count : CLIENTS, asks;
	char line[16], *end;

	for (int i = 1; fgets(line, sizeof(line), stdin); i++) {
		printf("line=%d ", i);
		asks = (int)strtol(line, &end, 10);
		if (end != line)
			use_clients(c, n, asks);
		else
			open_clients(c, o, n);
		fflush(stdout);
	}
	return 0;
}

static const struct arg revoked_args[] = {
	NUMBER(count, "connections"),
	NUMBER(at, "extent of the first connection"),
	{ }
};

const struct command revoked_command = {
	.name = "revoked",
	.help = "WRITE with rkeys that may have been revoked, as lines of stdin say (open, N)",
	.run = cmd_revoked,
	.args = { revoked_args, link_args },
};
