/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The connection manager's side of an initiator.  See cm.c.
 */
#ifndef RTGT_CM_H
#define RTGT_CM_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#include <rtgt/log.h>
#include <rtgt/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum rtgt_transport - what kind of queue pair
 * @RTGT_RC: reliable connection
 * @RTGT_UC: unreliable connection: what is lost is lost, there is no READ
 * @RTGT_UD: datagrams: SENDs only; what is connected is an address and a number
 */
enum rtgt_transport {
	RTGT_RC,
	RTGT_UC,
	RTGT_UD,
};

#define RTGT_CM_NONE	(-1)

/**
 * struct rtgt_cm_param - where to connect to, and how
 * @host: name or address
 * @service: port number, as text
 * @source: name or address to connect from; NULL leaves it to the routing table
 * @transport: RTGT_RC unless told otherwise
 * @timeout_ms: bound of each step
 * @initiator_depth: READs and atomics of ours that may be under way; 0 is as many as both
 *		     ends can, RTGT_CM_NONE none
 * @responder_resources: those of the peer, likewise
 * @cancel_fd: ends waiting with -ECANCELED while it is readable; 0 for none
 * @log: for facts; NULL for none
 */
struct rtgt_cm_param {
	const char *host;
	const char *service;
	const char *source;
	enum rtgt_transport transport;
	int timeout_ms;
	int initiator_depth;
	int responder_resources;
	int cancel_fd;
	const struct rtgt_log *log;
};

enum rtgt_cm_step {
	RTGT_CM_ADDR,
	RTGT_CM_ROUTE,
	RTGT_CM_CONNECT,
	RTGT_CM_STEPS,
};

/**
 * struct rtgt_cm - one connection
 * @channel: its own event channel, never blocking
 * @id: the identifier; @id->verbs is the device once the address is resolved
 * @param: copied; its strings must outlive the connection
 * @connected: established, and rdma_disconnect() not yet called
 * @ended: errno once the peer has closed the connection or the device goes
 * @ud: where a datagram target is
 * @attempts: attempts to resolve the address that failed
 * @step_ns: how long each step took
 * @rep: private data of the REP, copied before its event was acknowledged
 * @rep_len: bytes of @rep
 * @responder_resources: READs and atomics of the peer we can hold
 * @initiator_depth: READs and atomics of ours the peer can hold
 * @reject_status: what the REJECTED event said, while refused
 * @refusal: what the target said, while refused
 */
struct rtgt_cm {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct rtgt_cm_param param;
	bool connected;
	int ended;
	struct rdma_ud_param ud;
	unsigned int attempts;
	uint64_t step_ns[RTGT_CM_STEPS];
	uint8_t rep[256];
	uint8_t rep_len;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	int reject_status;
	struct rtgt_refusal refusal;
};

/* For poll(), which takes no notice of a descriptor below 0 */
static inline int rtgt_cm_cancel_fd(const struct rtgt_cm *cm)
{
	return cm->param.cancel_fd > 0 ? cm->param.cancel_fd : -1;
}

int rtgt_cm_resolve(struct rtgt_cm *cm, const struct rtgt_cm_param *param, struct rtgt_err *err);
int rtgt_cm_connect(struct rtgt_cm *cm, const void *req, uint8_t req_len, struct rtgt_err *err);
int rtgt_cm_check(struct rtgt_cm *cm, struct rtgt_err *err);
void rtgt_cm_disconnect(struct rtgt_cm *cm);
void rtgt_cm_close(struct rtgt_cm *cm);
const char *rtgt_transport_str(enum rtgt_transport transport);

#ifdef __cplusplus
}
#endif

#endif /* RTGT_CM_H */
