/* SPDX-License-Identifier: GPL-2.0 */
/* The service of a port: the protocol it serves, and the transports for it. */
#ifndef _RTGT_SERVICE_H
#define _RTGT_SERVICE_H

#include <linux/types.h>

struct rtgt_conn;
struct rtgt_recv_ctx;

/**
 * enum rtgt_transport - transport of the QPs of a port
 * @RTGT_RC: reliable connected
 * @RTGT_UC: unreliable connected
 * @RTGT_UD: unreliable datagram: one QP for all clients of a device
 */
enum rtgt_transport {
	RTGT_RC,
	RTGT_UC,
	RTGT_UD,
};

/**
 * struct rtgt_service - a protocol that a port serves
 * @name: value of the attribute "service"
 * @transports: bits of enum rtgt_transport: the transports that the service supports
 * @conn_bytes: bytes that @setup allocates
 * @rws: number of rw contexts of a connection, 0 if the service transfers nothing
 * @needs_region: a port without a region cannot be enabled
 * @rep_only: clients get the capabilities of the regions in the REP and cannot request them, so
 *	      that a port with regions cannot serve iWARP devices
 * @request: validate the private data of a REQ and set the flags of @conn; returns 0, or an
 *	     rtgt_rej_reason with @arg set.  CM handler
 * @reply: write the private data of the REP, at most @size bytes; returns its length.
 *	   Process context
 * @setup: allocate rtgt_conn.service_priv; the QP and its contexts exist.  Returns 0 or a
 *	   negative errno.  May be NULL.  Process context
 * @teardown: free rtgt_conn.service_priv; the QP is destroyed, the device still exists.  Also
 *	      called if @setup failed or did not run.  May be NULL.  Process context
 * @message: a SEND arrived in @recv.  The service owns @recv until it calls one of
 *	     rtgt_recv_release(), rtgt_reply(), rtgt_send() and rtgt_recv_defer().
 *	     Completion context, or process context on a UD port
 * @imm: an immediate arrived in @recv, which the service owns as in @message.  Completion
 *	 context
 * @work: continue a request that was deferred.  The service owns @recv as in @message, and
 *	  may also call rtgt_rw_post().  NULL if the service defers nothing.  Process context
 * @moved: the transfer of a request has completed.  The service owns @recv as in @message.
 *	   NULL without @rws.  Completion context
 */
struct rtgt_service {
	const char *name;
	u32 transports;
	u32 conn_bytes;
	u32 rws;
	bool needs_region;
	bool rep_only;
	int (*request)(struct rtgt_conn *conn, const void *priv, size_t len, u32 *arg);
	size_t (*reply)(const struct rtgt_conn *conn, void *priv, size_t size);
	int (*setup)(struct rtgt_conn *conn);
	void (*teardown)(struct rtgt_conn *conn);
	void (*message)(struct rtgt_recv_ctx *recv);
	void (*imm)(struct rtgt_recv_ctx *recv);
	void (*work)(struct rtgt_recv_ctx *recv);
	void (*moved)(struct rtgt_recv_ctx *recv);
};

#endif /* _RTGT_SERVICE_H */
