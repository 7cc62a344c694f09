/* SPDX-License-Identifier: GPL-2.0 */
/* What a port speaks, and over which queue pairs. */
#ifndef _RTGT_SERVICE_H
#define _RTGT_SERVICE_H

#include <linux/types.h>

struct rtgt_conn;
struct rtgt_recv_ctx;

/**
 * enum rtgt_transport - what QPs a port's connections have
 * @RTGT_RC: reliable connections
 * @RTGT_UC: unreliable connections
 * @RTGT_UD: datagrams: one QP for all clients of a device
 */
enum rtgt_transport {
	RTGT_RC,
	RTGT_UC,
	RTGT_UD,
};

/**
 * struct rtgt_service - what a port speaks
 * @name: as written to the port's service attribute
 * @transports: bits of enum rtgt_transport it works over
 * @conn_bytes: what @setup allocates
 * @rws: rw contexts of a connection, 0 if it transfers nothing
 * @needs_region: a port without a region makes no sense
 * @request: judges a REQ's private data; 0, or a rtgt_rej_reason with @arg set.
 *	     May set @conn's flags.  Process context
 * @reply: writes the REP's private data, at most @size bytes; returns its
 *	   length.  Process context
 * @setup: makes rtgt_conn.service_priv when the QP and its contexts are there; 0 or a
 *	   negative errno.  May be NULL.  Process context
 * @teardown: frees it; the QP is gone, the device is not.  Called also when
 *	      @setup failed or never ran.  May be NULL.  Process context
 * @message: a SEND arrived in @recv, which the service owns until it hands it on, by
 *	     rtgt_recv_release(), rtgt_reply(), rtgt_send() or rtgt_recv_defer().
 *	     Completion context, or process context on a UD port
 * @imm: an immediate arrived; the same.  Completion context
 * @work: go on with a request that was deferred; the same, or rtgt_rw_post().  NULL if
 *	  none is.  Process context
 * @moved: the transfer of a request is complete; as @message.  NULL without @rws.
 *	   Completion context
 */
struct rtgt_service {
	const char *name;
	u32 transports;
	u32 conn_bytes;
	u32 rws;
	bool needs_region;
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
