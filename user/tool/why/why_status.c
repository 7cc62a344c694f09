// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt why STATUS: the statuses of completions (enum ibv_wc_status; IBA 11.6.2) and the reasons of
 * a REJ (IBA 12.6.7.2), what each says, and what usually causes it.
 *
 * Of what a status leaves open the likely causes stand first.  Where a capture shows which it is,
 * why.c says so instead.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <json-c/json.h>
#include <infiniband/verbs.h>

#include "tool/out/json.h"
#include "why.h"

static const char rd[] = "the device reports it of the reliable datagram service";
static const char no_rd[] =
	"no adapter has this service, and verbs cannot create its queue pairs: the driver's fault";
static const char driver[] = "vendor_err of the completion; dmesg; the driver's version";

static const struct why_status completions[] = {
	{
		IBV_WC_SUCCESS, "SUCCESS", "success",
		"the operation is done", { {
			"nothing failed",
			"of a WRITE: the other device has the data, its program knows nothing of it"
		} }
	}, {
		IBV_WC_LOC_LEN_ERR, "LOC_LEN_ERR", "local length error",
		"a message is longer than what it was to go into, or than the device allows", { {
			"a SEND came that is longer than the posted receive",
			"byte_len of the sender's WR, and the length of the receive's SGEs"
		}, {
			"a datagram is longer than the MTU of the port, or its receive has no 40 bytes for the GRH",
			"ibv_devinfo -v (active_mtu)"
		}, {
			"the WR is longer than max_msg_sz of the port, or than max_inline_data with IBV_SEND_INLINE",
			"ibv_devinfo -v; ibv_create_qp() returns max_inline_data"
		} }
	}, {
		IBV_WC_LOC_QP_OP_ERR, "LOC_QP_OP_ERR", "local QP operation error",
		"the local queue pair cannot process the request", { {
			"the operation does not go with the type of the queue pair (a READ on UC, a WRITE on UD)",
			"the table in ibv_post_send(3)"
		}, {
			"a READ or an atomic operation, and max_rd_atomic of the queue pair is 0",
			"initiator_depth in rdma_conn_param of both ends"
		}, {
			"the WR has more SGEs than max_send_sge",
			"ibv_query_qp()"
		}, {
			"rxe, of a receive: a SEND came that is longer",
			"byte_len of the sender's WR"
		} }
	}, {
		IBV_WC_LOC_PROT_ERR, "LOC_PROT_ERR", "local protection error",
		"an SGE of the WR does not name memory that it may use", { {
			"the lkey is of another PD, or its MR was deregistered before the completion",
			"rdma resource show mr; the order of ibv_dereg_mr() and ibv_poll_cq()"
		}, {
			"address and length reach beyond the MR",
			"addr and length of the MR and of the SGE"
		}, {
			"the device is to write (a receive, a READ, an atomic operation) and the MR lacks IBV_ACCESS_LOCAL_WRITE",
			"the flags of ibv_reg_mr()"
		} }
	}, {
		IBV_WC_WR_FLUSH_ERR, "WR_FLUSH_ERR", "Work Request Flushed Error",
		"the queue pair was in the error state before the device got to this WR", { {
			"an earlier WR of this queue pair failed",
			"the first completion that is no success: its status is the cause"
		}, {
			"the connection ended: a DREQ, or a DREP to our own",
			"the events of rdma_cm: RDMA_CM_EVENT_DISCONNECTED"
		}, {
			"the other end failed and closed",
			"there: dmesg, the first bad completion of its program"
		}, {
			"the device was removed, or its netdev went down",
			"dmesg; rdma link"
		} }
	}, {
		IBV_WC_MW_BIND_ERR, "MW_BIND_ERR", "memory bind operation error",
		"the memory window was not bound", { {
			"its MR lacks IBV_ACCESS_MW_BIND, or the window grants more than the MR",
			"the flags of ibv_reg_mr() and of the bind"
		}, {
			"it reaches beyond the MR",
			"addr and length of both"
		} }
	}, {
		IBV_WC_BAD_RESP_ERR, "BAD_RESP_ERR", "bad response error",
		"the responder sent something unexpected", { {
			"the other device or something between is broken",
			"rtgt explain --check CAPTURE names the rule"
		} }
	}, {
		IBV_WC_LOC_ACCESS_ERR, "LOC_ACCESS_ERR", "local access error",
		"what came in could not be placed in local memory", { {
			"a WRITE_WITH_IMM was refused here",
			"rkey, range and access of the MR"
		} }
	}, {
		IBV_WC_REM_INV_REQ_ERR, "REM_INV_REQ_ERR", "remote invalid request error",
		"the responder calls the request invalid (NAK: invalid request)", { {
			"the SEND is longer than the receive there",
			"there: the length of posted receives; of rtgt: recv_size"
		}, {
			"more READs and atomic operations were outstanding than the responder has resources for",
			"initiator_depth here is at most responder_resources there (REQ and REP in rtgt explain)"
		}, {
			"an atomic operation at an address that is not a multiple of 8",
			"remote_addr of the WR"
		}, {
			"the queue pair there does not allow the operation",
			"there: qp_access_flags (ibv_query_qp())"
		} }
	}, {
		IBV_WC_REM_ACCESS_ERR, "REM_ACCESS_ERR", "remote access error",
		"the responder refused the access (NAK: remote access error)", { {
			"the rkey is wrong, of another connection, or was revoked",
			"rtgt explain --verbose CAPTURE: which key was advertised; there: rdma resource show mr"
		}, {
			"the range reaches beyond the MR",
			"remote_addr and length, against addr and length that were advertised"
		}, {
			"the MR does not allow this: REMOTE_WRITE, REMOTE_READ or REMOTE_ATOMIC is missing",
			"there: the flags of the registration; of rtgt: access of the region"
		}, {
			"the MR is of another PD than the queue pair",
			"there: rdma resource show mr, show qp (pdn)"
		} }
	}, {
		IBV_WC_REM_OP_ERR, "REM_OP_ERR", "remote operation error",
		"the responder could not complete the request (NAK: remote operational error)", { {
			"the receive there has an SGE that it may not use",
			"there: its completion, probably LOC_PROT_ERR"
		}, {
			"rxe: the SEND is longer than the receive there, which other devices call an invalid request",
			"there: its completion, LOC_QP_OP_ERR; the length of posted receives"
		}, {
			"the device there failed",
			"there: dmesg"
		} }
	},
	/* unexplained() of why.c knows the order of these */
	{
		IBV_WC_RETRY_EXC_ERR, "RETRY_EXC_ERR", "transport retry counter exceeded",
		"no acknowledgment came, however often the packet was sent", { {
			"the other queue pair is in the error state, or is gone: it answers nothing then",
			"there: rdma resource show qp; dmesg"
		}, {
			"the other host or the link is down, or no neighbour has its address",
			"ping HOST; ip neigh show; rdma link at both ends"
		}, {
			"a firewall drops UDP port 4791",
			"a capture at both ends (tcpdump; of an adapter its own, or a mirror port); there: nft list ruleset"
		}, {
			"packets of full size do not get through: an MTU on the way is smaller than path MTU + 60",
			"ping -M do -s 1056 HOST (path MTU 1024), -s 4128 (4096)"
		}, {
			"the timeout is too short for the way: 4.096 us * 2^timeout, retry_cnt + 1 times",
			"ibv_query_qp(): timeout, retry_cnt"
		} }
	}, {
		IBV_WC_RNR_RETRY_EXC_ERR, "RNR_RETRY_EXC_ERR", "RNR retry counter exceeded",
		"the responder had no receive posted for too long (RNR NAKs)", { {
			"the program there posts fewer receives than messages come",
			"messages outstanding here, max_recv_wr there"
		}, {
			"the program there is stuck, or posts receives too late",
			"there: is it running? where? (cat /proc/PID/stack)"
		}, {
			"rnr_retry_count of the connection is less than 7, which means for ever",
			"rdma_conn_param at both ends"
		} }
	}, {
		IBV_WC_REM_ABORT_ERR, "REM_ABORT_ERR", "aborted error",
		"the operation was aborted by the other end", { {
			"the other program or device gave it up",
			"there: dmesg"
		} }
	}, {
		IBV_WC_LOC_EEC_OP_ERR, "LOC_EEC_OP_ERR", "local EE context operation error",
		rd, { { no_rd, driver } }
	}, {
		IBV_WC_LOC_RDD_VIOL_ERR, "LOC_RDD_VIOL_ERR", "local RDD violation error",
		rd, { { no_rd, driver } }
	}, {
		IBV_WC_REM_INV_RD_REQ_ERR, "REM_INV_RD_REQ_ERR", "remote invalid RD request",
		rd, { { no_rd, driver } }
	}, {
		IBV_WC_INV_EECN_ERR, "INV_EECN_ERR", "invalid EE context number",
		rd, { { no_rd, driver } }
	}, {
		IBV_WC_INV_EEC_STATE_ERR, "INV_EEC_STATE_ERR", "invalid EE context state",
		rd, { { no_rd, driver } }
	}, {
		IBV_WC_TM_ERR, "TM_ERR", "TM error",
		"an operation of tag matching failed", { {
			"the list of tags of the SRQ is full, or an entry is of another one",
			"max_num_tags of ibv_query_device_ex(); ibv_post_srq_ops(3)"
		} }
	}, {
		IBV_WC_TM_RNDV_INCOMPLETE, "TM_RNDV_INCOMPLETE", "TM software rendezvous",
		"tag matching found the receive, and the program must fetch the data itself", { {
			"the sender's rendezvous request cannot be done by the device: no error",
			"the request is in the receive: ibv_create_srq_ex(3)"
		} }
	}, {
		IBV_WC_FATAL_ERR, "FATAL_ERR", "fatal error",
		"the device or its driver failed", { {
			"the device needs a reset",
			"dmesg; ibv_devinfo"
		} }
	}, {
		IBV_WC_RESP_TIMEOUT_ERR, "RESP_TIMEOUT_ERR", "response timeout error",
		"no response came in time", { {
			"the other end is gone",
			"see RETRY_EXC_ERR (rtgt why 12)"
		} }
	}, {
		IBV_WC_GENERAL_ERR, "GENERAL_ERR", "general error",
		"the driver has no better word", { {
			"the driver's own",
			"vendor_err of the completion; dmesg"
		} }
	},
	{ .name = NULL }
};

static const struct why_status rejects[] = {
	{
		3, "no resources", "",
		"the other end lacks something to make a connection with", { {
			"memory, a queue pair or a completion queue is missing there",
			"there: dmesg; rdma resource show"
		} }
	}, {
		4, "timeout", "",
		"the other end gave up waiting for an answer to its own message", { {
			"its REP, or the RTU, was lost on the way each time",
			"tcpdump -n udp port 4791 at both ends"
		}, {
			"the program here did not answer in time",
			"does it take events of rdma_cm while it connects?"
		} }
	}, {
		8, "invalid service ID", "",
		"nothing listens there", { {
			"the port is another, or is not enabled",
			"there: rdma resource show cm_id; of rtgt: rtgt port show"
		}, {
			"the listener is of another port space: RC and UC (RDMA_PS_TCP), UD (RDMA_PS_UDP)",
			"there: rdma resource show cm_id (ps)"
		}, {
			"it listens on another address of the host",
			"there: rdma resource show cm_id (src-addr)"
		} }
	}, {
		10, "stale connection", "",
		"the other end still holds a connection with this queue pair's number", { {
			"the host or program here was restarted without a DREQ",
			"connect again: it lets the old one go"
		} }
	}, {
		28, "consumer reject", "",
		"the program there refused", { {
			"its own reason: private data of the REJ may have it",
			"rtgt explain CAPTURE; of rtgt: the counters rejects_* and dmesg"
		}, {
			"it listens on another address of the device, or its backlog is full",
			"there: rdma resource show cm_id (src-addr)"
		}, {
			"it wants other private data, or another version",
			"there: its log"
		} }
	}, {
		30, "duplicate local communication ID", "",
		"the REQ has a communication ID that is in use", { {
			"communication IDs were reused too soon",
			"connect again"
		} }
	},
	{ .name = NULL }
};

static const struct why_status *number(const struct why_status *table, unsigned int nr)
{
	for (; table->name; table++)
		if (table->nr == nr)
			return table;
	return NULL;
}

/**
 * why_completion() - a completion's status
 * @status: enum ibv_wc_status
 *
 * Return: what is known of it; NULL: nothing.
 */
const struct why_status *why_completion(unsigned int status)
{
	return number(completions, status);
}

/* Likewise the reason of a REJ */
const struct why_status *why_reject(unsigned int reason)
{
	return number(rejects, reason);
}

static const struct why_status *named(const char *word)
{
	const char *name = !strncasecmp(word, "IBV_WC_", 7) ? word + 7 :
			   !strncasecmp(word, "IB_WC_", 6) ? word + 6 : word;

	for (const struct why_status *s = completions; s->name; s++)
		if (!strcasecmp(s->name, name) || !strcasecmp(s->string, word))
			return s;
	return NULL;
}

/**
 * why_word() - rtgt why STATUS
 * @tool: how to print
 * @word: a number, or a name as in verbs.h
 *
 * Return: an exit status; EXIT_NOTHING if it is no status.
 */
int why_word(struct tool *tool, const char *word)
{
	const struct why_status *s;
	struct json_object *o;
	uint64_t nr;

	s = parse_number(word, 255, &nr) ? named(word) : why_completion((unsigned int)nr);
	if (!s)
		return EXIT_NOTHING;
	o = why_problem("status");
	rtgt_json_int(o, "status", s->nr);
	rtgt_json_str(o, "name", s->name);
	why_say(o, "what", "status %u, %s: %s", s->nr, s->name, s->says);
	why_perhaps(o, s);
	why_put(tool, o);
	if (!fflush(stdout))
		return EXIT_OK;
	failed("why: standard output does not take it");
	return EXIT_USAGE;
}
