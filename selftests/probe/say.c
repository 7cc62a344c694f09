// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The words probe prints.
 */
#include <stdio.h>

#include "probe.h"

int complain(const char *what, const struct rtgt_err *err)
{
	fprintf(stderr, "probe: %s: %s\n", what, err->text);
	return 1;
}

const char *wc_name(int status)
{
	static char other[32];

	switch (status) {
	case IBV_WC_SUCCESS:
		return "success";
	case IBV_WC_LOC_QP_OP_ERR:
		return "loc-qp-op";
	case IBV_WC_REM_ACCESS_ERR:
		return "rem-access";
	case IBV_WC_REM_INV_REQ_ERR:
		return "rem-inv-req";
	case IBV_WC_REM_OP_ERR:
		return "rem-op";
	case IBV_WC_WR_FLUSH_ERR:
		return "flush";
	case IBV_WC_RETRY_EXC_ERR:
		return "retry-exceeded";
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return "rnr-exceeded";
	case UNPOSTED:
		return "unposted";
	default:
		snprintf(other, sizeof(other), "%d", status);
		return other;
	}
}

static const char *word(const char *const *names, unsigned int n, unsigned int i)
{
	return i < n && names[i] ? names[i] : "unknown";
}

const char *status_name(unsigned int status)
{
	static const char *const names[] = {
		"ok", "version", "op", "length", "region", "range",
		"shared", "depth", "limit", "failed", "access",
	};

	return word(names, sizeof(names) / sizeof(names[0]), status);
}

const char *reason_name(unsigned int reason)
{
	static const char *const names[] = {
		NULL, "version", "size", "full", "resources", "device", "stopping", "ask",
	};

	return word(names, sizeof(names) / sizeof(names[0]), reason);
}

void print_rep(const struct link *l)
{
	const struct rtgt_rep_info *p = &l->peer;

	printf("rtgt=%d features=%u regions=%u recv_depth=%u recv_size=%u conn_id=%u rep_len=%u\n",
	       p->rtgt, p->features, p->nr, p->recv_depth, p->recv_size, p->conn_id,
	       l->cm.rep_len);
	for (uint32_t i = 0; i < p->nr; i++)
		printf("addr%u=0x%llx rkey%u=0x%x len%u=%llu access%u=%u\n", i,
		       (unsigned long long)p->region[i].addr, i, p->region[i].rkey, i,
		       (unsigned long long)p->region[i].len, i, p->region[i].access);
}
