// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Names of what verbs have numbers for, and what a failed completion means.
 *
 * Pure functions that call no library: a program that reads what another one wrote uses them, too.
 */
#include <stddef.h>

#include <rtgt/qp.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* A work request and its completion; those of a SEND and of a WRITE have one for all kinds */
static const struct {
	int wr, wc;
	const char *name;
} opcodes[] = {
	{ IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, "RDMA_WRITE" },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE, "RDMA_WRITE_WITH_IMM" },
	{ IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, "RDMA_READ" },
	{ IBV_WR_SEND, IBV_WC_SEND, "SEND" },
	{ IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, "SEND_WITH_IMM" },
	{ IBV_WR_SEND_WITH_INV, IBV_WC_SEND, "SEND_WITH_INV" },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP, "COMPARE_AND_SWAP" },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD, "FETCH_AND_ADD" },
	{ RTGT_WR_FLUSH, RTGT_WC_FLUSH, "FLUSH" },
	{ RTGT_WR_ATOMIC_WRITE, RTGT_WC_ATOMIC_WRITE, "ATOMIC_WRITE" },
	{ IBV_WR_BIND_MW, IBV_WC_BIND_MW, "BIND_MW" },
	{ IBV_WR_LOCAL_INV, IBV_WC_LOCAL_INV, "LOCAL_INV" },
	{ -1, IBV_WC_RECV, "RECV" },
	{ -1, IBV_WC_RECV_RDMA_WITH_IMM, "RECV_RDMA_WITH_IMM" },
};

/**
 * rtgt_wr_opcode_str() - what a work request does
 * @opcode: as in struct rtgt_wr
 *
 * Return: a constant string.
 */
const char *rtgt_wr_opcode_str(enum ibv_wr_opcode opcode)
{
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++)
		if (opcodes[i].wr == (int)opcode)
			return opcodes[i].name;
	return "other";
}

/**
 * rtgt_wc_opcode_str() - what a completion is of
 * @opcode: of a completion that succeeded
 *
 * Return: a constant string.
 */
const char *rtgt_wc_opcode_str(enum ibv_wc_opcode opcode)
{
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++)
		if (opcodes[i].wc == (int)opcode)
			return opcodes[i].name;
	return "other";
}

/**
 * rtgt_qp_state_str() - the name of a queue pair's state
 * @state: which
 *
 * Return: a constant string.
 */
const char *rtgt_qp_state_str(enum ibv_qp_state state)
{
	static const char *const name[] = {
		[IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT", [IBV_QPS_RTR] = "RTR",
		[IBV_QPS_RTS] = "RTS", [IBV_QPS_SQD] = "SQD", [IBV_QPS_SQE] = "SQE",
		[IBV_QPS_ERR] = "ERR",
	};

	return (unsigned int)state < ARRAY_SIZE(name) ? name[state] : "unknown";
}

/**
 * rtgt_mtu_str() - a path MTU in bytes
 * @mtu: as verbs encode it
 *
 * Return: a static string; "none" for a value that is not an MTU.
 */
const char *rtgt_mtu_str(enum ibv_mtu mtu)
{
	static const char *const name[] = { "none", "256", "512", "1024", "2048", "4096" };

	return mtu <= IBV_MTU_4096 ? name[mtu] : "none";
}

/**
 * rtgt_transport_str() - a transport's name
 * @transport: which
 *
 * Return: a static string, in small letters.
 */
const char *rtgt_transport_str(enum rtgt_transport transport)
{
	static const char *const name[] = { "rc", "uc", "ud" };

	return name[transport];
}

static const struct meaning {
	enum ibv_wc_status status;
	const char *text;
} meanings[] = {
	{
		IBV_WC_REM_ACCESS_ERR,
		"the target's device refused the access: wrong rkey, out of range, or not granted by the region"
	}, {
		IBV_WC_REM_INV_REQ_ERR,
		"the target's device found the request invalid: longer than its receive, a misaligned atomic, or not allowed on its queue pair"
	}, {
		IBV_WC_REM_OP_ERR,
		"the target's device could not complete the request: see its dmesg"
	}, {
		IBV_WC_RETRY_EXC_ERR,
		"no acknowledgment after all retries: is the target gone, or the link, or does a firewall or a smaller MTU stop packets? rtgt why 12"
	}, {
		IBV_WC_RNR_RETRY_EXC_ERR,
		"the target had no receive posted for longer than the retries lasted"
	}, {
		IBV_WC_WR_FLUSH_ERR,
		"the queue pair had failed or been disconnected before: an earlier completion or the target's dmesg has the cause"
	}, {
		IBV_WC_LOC_PROT_ERR,
		"the local buffer is not registered for this access"
	}, {
		IBV_WC_LOC_LEN_ERR,
		"the message is longer than the local receive or the device's limit"
	}, {
		IBV_WC_LOC_QP_OP_ERR,
		"the local queue pair could not process the request"
	}, {
		IBV_WC_MW_BIND_ERR,
		"the local device did not bind the memory window: what it covers, or grants, is more than its registration allows"
	},
	{ }
};

/**
 * rtgt_wc_meaning() - what a failed completion means
 * @status: its status
 *
 * Return: a static string, what happened and where to look.
 */
const char *rtgt_wc_meaning(enum ibv_wc_status status)
{
	for (const struct meaning *m = meanings; m->text; m++)
		if (m->status == status)
			return m->text;
	return "see ibv_poll_cq(3)";
}
