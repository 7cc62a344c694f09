// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe traffic: WRITE without pause until stdin ends or a WRITE fails.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "probe.h"

static bool stdin_ended(void)
{
	struct pollfd pfd = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&pfd, 1, 0) > 0;
}

int cmd_traffic(const struct option *o)
{
	struct rtgt_wr wr = { .id = SEND_ID, .opcode = IBV_WR_RDMA_WRITE, .len = (uint32_t)o->len };
	unsigned long writes = 0;
	struct rtgt_err err = {};
	const char *end = NULL;
	struct ibv_wc wc;
	struct link l;

	if (open_link(&l, o, &err)) {
		close_link(&l);
		return complain("traffic", &err);
	}
	wr.mr = &l.buf;
	wr.remote_addr = l.peer.region[0].addr;
	wr.rkey = l.peer.region[0].rkey;
	while (!end) {
		if (rtgt_qp_post(&l.qp, &wr, &err) || rtgt_qp_wait(&l.qp, &wc, &err))
			end = err.code == ETIMEDOUT ? "timeout" : "disconnected";
		else if (wc.status != IBV_WC_SUCCESS)
			end = wc_name(wc.status);
		else if (stdin_ended())
			end = "stdin";
		else if (!writes++)
			puts("started=1"), fflush(stdout);
	}
	printf("writes=%lu\nend=%s\n", writes, end);
	close_link(&l);
	return 0;
}
